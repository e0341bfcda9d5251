//! A log: one JSON object a line. A thread of its own writes it, so no request waits for a disk.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use jiff::Timestamp;
use prometheus_client::metrics::counter::Counter;
use serde_json::Value;

/// Where a log goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LogTo {
    /// The end of a file.
    File(PathBuf),
    StandardError,
}

/// The lines that wait to be written. More are lost, and counted.
const WAITING_MAX: usize = 16_384;

/// A way to the thread that writes.
#[derive(Clone)]
pub struct Log {
    lines: SyncSender<String>,
    lost: Counter,
}

impl Log {
    pub fn open(to: &LogTo, lost: Counter) -> io::Result<Self> {
        let out: Box<dyn Write + Send> = match to {
            LogTo::File(path) => Box::new(OpenOptions::new().create(true).append(true).open(path)?),
            LogTo::StandardError => Box::new(io::stderr()),
        };
        let (lines, waiting) = sync_channel(WAITING_MAX);
        let its = lost.clone();
        std::thread::Builder::new().name("log".into()).spawn(move || write(BufWriter::new(out), &waiting, &its))?;
        Ok(Self { lines, lost })
    }

    /// Adds a line with the present time.
    pub fn write(&self, mut line: Value) {
        // To the microsecond.
        line["time"] = format!("{:.6}", Timestamp::now()).into();
        if self.lines.try_send(line.to_string()).is_err() {
            self.lost.inc();
        }
    }
}

/// Writes lines until there is nobody left to send any. Those that wait together are written together.
fn write(mut out: BufWriter<Box<dyn Write + Send>>, lines: &Receiver<String>, lost: &Counter) {
    while let Ok(first) = lines.recv() {
        let mut count = 0;
        let written = std::iter::once(first).chain(lines.try_iter()).try_for_each(|line| {
            count += 1;
            writeln!(out, "{line}")
        });
        if let Err(error) = written.and_then(|()| out.flush()) {
            lost.inc_by(count);
            tracing::error!("the log cannot be written: {error}");
        }
    }
}
