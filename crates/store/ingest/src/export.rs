//! Exports a graph as files, in formats that other systems read and this crate can load again.
//!
//! ```text
//! GraphView --labels, pages of elements, columns--> csv, parquet: a file a label | graphson, graphml: one file
//!           --schema, how each file is read-------> mangrove.yaml, by which the directory is loaded back
//! ```
//!
//! Memory is bounded by a page of elements (and, in GraphSON, the edges of one page's vertices).

mod csv;
mod graphml;
mod graphson;
mod manifest;
mod parquet;
mod walk;

use std::path::Path;

use mangrove_graph::{GraphView, Numbering};

pub use self::walk::{ExportError, ExportFormat, ExportReport};

use self::walk::ExportWalk;
use crate::progress::Progress;

/// Writes the whole graph into a new or empty directory.
pub fn export(
    view: &dyn GraphView,
    directory: &Path,
    format: ExportFormat,
    progress: &mut dyn Progress,
) -> Result<ExportReport, ExportError> {
    export_in_order(view, None, directory, format, progress)
}

/// The same, with vertices in another order than that of their ids, and edges in the order of their sources.
pub fn export_in_order(
    view: &dyn GraphView,
    order: Option<&Numbering>,
    directory: &Path,
    format: ExportFormat,
    progress: &mut dyn Progress,
) -> Result<ExportReport, ExportError> {
    let failed = |source| ExportError::Write { path: directory.to_owned(), source };
    let is_new = !directory.exists();
    std::fs::create_dir_all(directory).map_err(failed)?;
    if std::fs::read_dir(directory).map_err(failed)?.next().is_some() {
        return Err(ExportError::NotEmpty(directory.to_owned()));
    }
    let mut walk = ExportWalk { view, order, progress, report: ExportReport::default(), tables: Vec::new() };
    match write(&mut walk, directory, format) {
        Ok(()) => Ok(walk.report),
        Err(error) => {
            // A partial export would block another try. The cause of the failure matters more than errors of this clean-up.
            walk.report.files.iter().for_each(|file| drop(std::fs::remove_file(file)));
            if is_new {
                let _ = std::fs::remove_dir(directory);
            }
            Err(error)
        }
    }
}

fn write(walk: &mut ExportWalk<'_>, directory: &Path, format: ExportFormat) -> Result<(), ExportError> {
    match format {
        ExportFormat::Csv => csv::write(walk, directory)?,
        ExportFormat::GraphMl => graphml::write(walk, directory)?,
        ExportFormat::GraphSon => graphson::write(walk, directory)?,
        ExportFormat::Parquet => parquet::write(walk, directory)?,
    }
    if walk.is_label_space() && !format.is_of_tables() {
        let warning = "ids are unique only within labels, so these files hold them as `Label/id`: to load the graph back, export \
                       csv or parquet";
        walk.report.warn(warning.into());
    }
    manifest::write(walk, directory, format)
}
