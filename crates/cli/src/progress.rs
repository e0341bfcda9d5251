//! The progress of a load or an export: a bar on a terminal, nothing elsewhere. Ctrl-C stops the work.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{grouped, interrupt};
use mangrove::Progress;
use mangrove::analytics::Stage;
use mangrove::ingest::{Phase, Status};

/// How far an algorithm is. The bar disappears when this is dropped.
pub struct Stages(ProgressBar);

impl Stages {
    pub fn new() -> Self {
        let shown = io::stderr().is_terminal();
        Self(ProgressBar::with_draw_target(
            None,
            if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() },
        ))
    }

    pub fn show(&self, stage: Stage) {
        let template =
            if stage.of == 0 { "{prefix} {spinner} {pos}" } else { "{prefix} [{bar:30}] {pos}/{len}, {eta} left" };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.0.set_style(style.progress_chars("=> "));
        }
        self.0.set_prefix(stage.name);
        self.0.set_length(stage.of);
        self.0.set_position(stage.done);
    }
}

impl Drop for Stages {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// The bar disappears when this is dropped.
pub struct Bar {
    bar: ProgressBar,
    phase: Option<Phase>,
}

impl Bar {
    pub fn new(quiet: bool) -> Self {
        interrupt::listen();
        let shown = !quiet && io::stderr().is_terminal();
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Self { bar: ProgressBar::with_draw_target(None, target), phase: None }
    }

    /// Shows a percentage if the total is known.
    fn begin(&mut self, status: &Status) {
        let template = match status.bytes_total {
            0 => "{prefix} {spinner} {msg}",
            _ => "{prefix} [{bar:30}] {bytes}/{total_bytes} {msg}, {eta} left",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style.progress_chars("=> "));
        }
        self.bar.set_prefix(match status.phase {
            Phase::Planning => "reading headers",
            Phase::Vertices => "vertices",
            Phase::Edges => "edges",
            Phase::Retyping => "retyping columns",
            Phase::Ordering => "ordering vertices",
            Phase::Compacting => "compacting",
        });
        if status.bytes_total > 0 {
            self.bar.set_length(status.bytes_total);
        }
        self.phase = Some(status.phase);
    }
}

impl Progress for Bar {
    fn update(&mut self, status: &Status) {
        if self.phase != Some(status.phase) {
            self.begin(status);
        }
        self.bar.set_position(status.bytes_done);
        let per_second = status.rows as f64 / self.bar.elapsed().as_secs_f64().max(1e-3);
        self.bar.set_message(format!("{} rows, {}/s", grouped(status.rows), grouped(per_second as u64)));
    }

    fn cancelled(&self) -> bool {
        interrupt::requested()
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
