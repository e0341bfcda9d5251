//! `mangrove cluster backup`, `backups` and `restore`.

use std::time::{Duration, Instant};

use clap::Args;
use mangrove::cluster::{self, Backup, BackupFound, BackupStage, GraphAddress, GraphRecord};
use serde_json::{Value, json};

use super::{Format, failed};
use crate::log::{LogOptions, StorePlace};
use crate::{Failure, output, say};

/// How often it says how far it is.
const SAYING: Duration = Duration::from_secs(5);

#[derive(Args)]
pub struct GraphBackup {
    /// Address of the graph: mangrove://host:port/NAME. Its nodes were started with --store
    address: GraphAddress,
    /// Delete nothing of the log
    #[arg(long)]
    keep_log: bool,
}

#[derive(Args)]
pub struct Backups {
    /// Name of the graph
    name: String,
    /// Where its backups are: s3://bucket/path, gs://, az://, or a directory
    #[arg(long, value_name = "PLACE")]
    store: StorePlace,
    /// Write the answer in this format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

#[derive(Args)]
pub struct Restore {
    /// Name of the graph
    name: String,
    /// Where its backups are: s3://bucket/path, gs://, az://, or a directory
    #[arg(long, value_name = "PLACE")]
    store: StorePlace,
    /// Name of the backup. The newest unless you say it
    #[arg(long, value_name = "NAME")]
    backup: Option<String>,
    #[command(flatten)]
    log: LogOptions,
    /// Copies of the log, on as many brokers
    #[arg(long, default_value_t = 1)]
    copies: usize,
}

impl GraphBackup {
    pub fn run(self) -> Result<(), Failure> {
        let mut show = |stage| match stage {
            BackupStage::Shard(shard) => say(&format!("copying shard {shard}")),
            BackupStage::Log => say("copying the log"),
            BackupStage::Cut => say("reading the backup before this one, and cutting the log there"),
        };
        let (made, first) = cluster::backup(&self.address, self.keep_log, &mut show).map_err(failed)?;
        match first {
            Some(first) => say(&format!("the log begins at record {first} now, with the backup before this one")),
            None if self.keep_log => {}
            None => say("nothing of the log is deleted yet: that begins once it has two backups that are whole"),
        }
        let megabytes = made.bytes() as f64 / 1e6;
        output::print_text(&format!("{}: commit {}, {megabytes:.1} MB\n", made.name(), made.number))
    }
}

impl Backups {
    pub fn run(self) -> Result<(), Failure> {
        let listed = cluster::list_backups(&*self.store.open()?, &self.name).map_err(failed)?;
        if self.format == Format::Json {
            let all: Vec<Value> = listed.iter().map(|(name, found)| found_as_json(name, found)).collect();
            return output::print_text(&json!({ "graph": self.name, "backups": all }).to_string());
        }
        if listed.is_empty() {
            say(&format!("{} has no backups of {}", self.store, self.name));
            return Ok(());
        }
        let mut text = String::new();
        for (name, found) in listed {
            text += &match found {
                BackupFound::Whole(backup) => {
                    let (made, megabytes) = (when(&backup), backup.bytes() as f64 / 1e6);
                    format!("{name}  {made}  commit {}, {megabytes:.1} MB\n", backup.number)
                }
                BackupFound::Unfinished => format!("{name}  not finished, or being made\n"),
                BackupFound::Damaged(what) => format!("{name}  damaged: {what}\n"),
            };
        }
        output::print_text(&text)
    }
}

/// When a backup was made.
fn when(backup: &Backup) -> jiff::Timestamp {
    let made = i64::try_from(backup.made).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    made.unwrap_or_default()
}

fn found_as_json(name: &str, found: &BackupFound) -> Value {
    match found {
        BackupFound::Whole(backup) => json!({
            "name": name, "state": "whole", "made": when(backup).to_string(), "commit": backup.number, "bytes": backup.bytes()
        }),
        BackupFound::Unfinished => json!({ "name": name, "state": "unfinished" }),
        BackupFound::Damaged(what) => json!({ "name": name, "state": "damaged", "error": what }),
    }
}

impl Restore {
    pub fn run(self) -> Result<(), Failure> {
        let store = self.store.open()?;
        let backup = cluster::find_backup(&*store, &self.name, self.backup.as_deref()).map_err(failed)?;
        self.log.create(&self.name, self.copies)?;
        let log = self.log.open(&self.name)?;
        say(&format!("restoring the backup {}", backup.name()));
        let mut said = Instant::now();
        let mut show = |records| {
            if said.elapsed() >= SAYING {
                said = Instant::now();
                say(&format!("{records} records of the log are there"));
            }
        };
        cluster::restore(&*store, &backup, &*log, &mut show).map_err(failed)?;
        let GraphRecord { placement, .. } = backup.graph;
        say(&format!("the log has commit {}. Start the nodes with `mangrove node … --store {}`", backup.number, self.store));
        output::print_text(&format!("{}: {} shards\n", self.name, placement.shards))
    }
}
