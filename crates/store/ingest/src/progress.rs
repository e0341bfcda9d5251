//! The progress of a load, for callers that want to show it. No terminal code here.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Phase {
    #[default]
    Planning,
    Vertices,
    Edges,
    /// Converting columns whose type widened during the load.
    Retyping,
    /// Finding an order of the vertices.
    Ordering,
    /// Compressing the loaded data.
    Compacting,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Status {
    pub phase: Phase,
    /// Bytes on disk, so compressed files count as compressed.
    pub bytes_done: u64,
    pub bytes_total: u64,
    /// Vertices and edges loaded.
    pub rows: u64,
}

/// Receives the progress of a load, about once for each batch. Runs on the thread that called the load.
pub trait Progress {
    fn update(&mut self, status: &Status);

    /// Whether to stop. Checked with every update.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Shows nothing and never cancels.
pub struct Quiet;

impl Progress for Quiet {
    fn update(&mut self, _status: &Status) {}
}

/// Bytes read so far. The reading thread counts them.
#[derive(Default, Debug)]
pub(crate) struct Meter(AtomicU64);

impl Meter {
    pub fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
