//! Files that the program around the database reads for it.
//!
//! The Python package reads GEXF, GML, Pajek and node-link JSON with networkx, and folders of partitions with pyarrow. A program in
//! Rust alone has no such readers.

use std::path::{Path, PathBuf};

use mangrove_ingest::{Format, LoadOptions, Table, TableInput};

/// Reads files that the loader does not read itself.
pub trait Readers<E> {
    /// The tables of the graph in a file. `None` leaves the file to the loader.
    ///
    /// # Errors
    /// The file is one that this reads, and cannot be read.
    fn graph(&self, path: &Path) -> Result<Option<Vec<TableInput>>, E>;

    /// The vertices or edges of one label: those of a graph in a file, or the rows of a folder of partitions. `None` leaves the file
    /// or folder to the loader.
    ///
    /// # Errors
    /// It is one that this reads, and cannot be read.
    fn table(&self, path: &Path, of_edges: bool) -> Result<Option<Table>, E>;
}

/// Leaves all files to the loader.
pub struct NoReaders;

impl<E> Readers<E> for NoReaders {
    fn graph(&self, _: &Path) -> Result<Option<Vec<TableInput>>, E> {
        Ok(None)
    }

    fn table(&self, _: &Path, _: bool) -> Result<Option<Table>, E> {
        Ok(None)
    }
}

/// Makes tables of the files of a load that `readers` read. Leaves all files to the loader if the load names their format.
///
/// # Errors
/// Those of the readers.
pub fn read_files<E>(options: &mut LoadOptions, readers: &dyn Readers<E>) -> Result<(), E> {
    if options.format != Format::Auto {
        return Ok(());
    }
    let LoadOptions { files, nodes, edges, tables, .. } = options;
    for file in std::mem::take(files) {
        match readers.graph(&file)? {
            Some(graph) => tables.extend(graph),
            None => files.push(file),
        }
    }
    let table = |files: &[PathBuf], of_edges| match files {
        [only] => readers.table(only, of_edges),
        _ => Ok(None),
    };
    for of_label in std::mem::take(nodes) {
        match table(&of_label.files, false)? {
            Some(table) => tables.push(TableInput::vertices(&of_label.label, table)),
            None => nodes.push(of_label),
        }
    }
    for of_label in std::mem::take(edges) {
        match table(&of_label.files, true)? {
            Some(table) => {
                let (source, target) = (of_label.source.as_deref(), of_label.target.as_deref());
                tables.push(TableInput::edges(source, &of_label.label, target, table));
            }
            None => edges.push(of_label),
        }
    }
    Ok(())
}
