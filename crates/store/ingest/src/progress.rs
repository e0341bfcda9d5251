//! How far a load has come, for whoever wants to show it. No terminal code here.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Phase {
    #[default]
    Planning,
    Vertices,
    Edges,
    /// Bringing columns whose type widened on the way to one type.
    Retyping,
    /// Compressing what was loaded.
    Compacting,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Status {
    pub phase: Phase,
    /// Of the files as they are on disk, compressed or not.
    pub bytes_done: u64,
    pub bytes_total: u64,
    /// Vertices and edges loaded.
    pub rows: u64,
}

/// Told now and then, from the thread that called the load, about once a batch.
pub trait Progress {
    fn update(&mut self, status: &Status);

    /// Whether to stop; asked with every update.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Shows nothing and never cancels.
pub struct Quiet;

impl Progress for Quiet {
    fn update(&mut self, _status: &Status) {}
}

/// Bytes read so far, counted by the reading thread.
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
