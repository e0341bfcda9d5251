//! What a load did.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::error::{BadRow, LoadError, Spot};

/// What a load did.
#[derive(Clone, Debug, Default)]
pub struct LoadReport {
    pub vertices: BTreeMap<Arc<str>, u64>,
    pub edges: BTreeMap<Arc<str>, u64>,
    /// Property values set.
    pub properties: u64,
    /// Rows that were not loaded.
    pub rejects: u64,
    /// Where they were written; `None` if there are none.
    pub rejects_file: Option<PathBuf>,
    pub warnings: Vec<String>,
    pub duration: Duration,
}

impl LoadReport {
    pub fn vertex_count(&self) -> u64 {
        self.vertices.values().sum()
    }

    pub fn edge_count(&self) -> u64 {
        self.edges.values().sum()
    }

    /// Counts in what another load did.
    pub(crate) fn add(&mut self, other: LoadReport) {
        for (ours, theirs) in [(&mut self.vertices, other.vertices), (&mut self.edges, other.edges)] {
            for (label, count) in theirs {
                *ours.entry(label).or_default() += count;
            }
        }
        self.properties += other.properties;
        other.warnings.into_iter().for_each(|warning| self.warn(warning));
    }

    pub(crate) fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

/// What to do about rows that cannot be loaded.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum OnError {
    /// Stop at the first; the caller rolls back.
    #[default]
    Fail,
    /// Load the others, and write these to a CSV file: file, line, column, value, reason, row.
    Skip { rejects: PathBuf },
}

/// Takes bad rows as the options have it.
pub(crate) struct Rejects {
    on_error: OnError,
    /// The first few, if they are to be told all together at the end.
    collected: Option<Vec<BadRow>>,
    count: u64,
    file: Option<BufWriter<File>>,
}

const SHOWN: usize = 5;

impl Rejects {
    pub fn new(on_error: OnError) -> Self {
        Self { on_error, collected: None, count: 0, file: None }
    }

    /// Fails at the end, and names the first few.
    pub fn collecting() -> Self {
        Self { on_error: OnError::Fail, collected: Some(Vec::new()), count: 0, file: None }
    }

    pub fn add(&mut self, bad: BadRow) -> Result<(), LoadError> {
        self.count += 1;
        if let Some(collected) = &mut self.collected {
            if collected.len() < SHOWN {
                collected.push(bad);
            }
            return Ok(());
        }
        let OnError::Skip { rejects: path } = &self.on_error else { return Err(LoadError::BadRow(Box::new(bad))) };
        let failed = |source| LoadError::Rejects { path: path.clone(), source };
        let mut file = match self.file.take() {
            Some(file) => file,
            None => create(path).map_err(failed)?,
        };
        write(&mut file, &bad).map_err(failed)?;
        self.file = Some(file);
        Ok(())
    }

    /// Writes out what is left, and says in the report how many there were.
    pub fn finish(mut self, report: &mut LoadReport) -> Result<(), LoadError> {
        if let Some(first) = self.collected.filter(|first| !first.is_empty()) {
            return Err(LoadError::BadRows { count: self.count, first });
        }
        report.rejects = self.count;
        if let (Some(file), OnError::Skip { rejects: path }) = (&mut self.file, &self.on_error) {
            file.flush().map_err(|source| LoadError::Rejects { path: path.clone(), source })?;
            report.rejects_file = Some(path.clone());
        }
        Ok(())
    }
}

fn create(path: &Path) -> std::io::Result<BufWriter<File>> {
    let mut file = BufWriter::new(File::create(path)?);
    file.write_all(b"file,line,column,value,reason,row\n")?;
    Ok(file)
}

fn write(file: &mut impl Write, bad: &BadRow) -> std::io::Result<()> {
    let (line, column) = match bad.place.spot {
        Spot::Line { line, column } => (line.to_string(), column.to_string()),
        Spot::Row(row) => (row.to_string(), String::new()),
        Spot::File => Default::default(),
    };
    let value = bad.value.as_deref().unwrap_or_default();
    let fields = [&bad.place.file, &*line, &*column, value, &bad.fault.to_string(), &bad.raw];
    let mut record = String::new();
    for (at, field) in fields.into_iter().enumerate() {
        if at > 0 {
            record.push(',');
        }
        crate::export::csv_field(field, &mut record);
    }
    record.push('\n');
    file.write_all(record.as_bytes())
}
