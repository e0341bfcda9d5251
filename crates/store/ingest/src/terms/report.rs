//! What a load did.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::error::{BadRow, LoadError, Spot};
use crate::terms::merge::Merged;
use crate::text::csv;

/// What a load did.
#[derive(Clone, Debug, Default)]
pub struct LoadReport {
    pub vertices: BTreeMap<Arc<str>, u64>,
    pub edges: BTreeMap<Arc<str>, u64>,
    /// Vertices that existed already.
    pub merged_vertices: Merged,
    pub merged_edges: Merged,
    /// Property values set.
    pub properties: u64,
    /// Rows that were rejected.
    pub rejects: u64,
    /// The file of rejected rows; `None` if there are none.
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

    /// Adds the counts of another load.
    pub(crate) fn add(&mut self, other: LoadReport) {
        for (ours, theirs) in [(&mut self.vertices, other.vertices), (&mut self.edges, other.edges)] {
            for (label, count) in theirs {
                *ours.entry(label).or_default() += count;
            }
        }
        self.merged_vertices.add(other.merged_vertices);
        self.merged_edges.add(other.merged_edges);
        self.properties += other.properties;
        other.warnings.into_iter().for_each(|warning| self.warn(warning));
    }

    pub(crate) fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

/// What to do with rows that cannot be loaded.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum OnError {
    /// Stop at the first bad row. The caller rolls back.
    #[default]
    Fail,
    /// Load the other rows, and write bad ones to a CSV file: file, line, column, value, reason, row. An existing file is kept; the
    /// new file then gets a number in its name. The report names the file.
    Skip { rejects: PathBuf },
}

/// Handles bad rows as the options say.
pub(crate) struct Rejects {
    on_error: OnError,
    max: Option<u64>,
    /// The first few bad rows, if they are reported together at the end.
    collected: Option<Vec<BadRow>>,
    count: u64,
    file: Option<(PathBuf, BufWriter<File>)>,
}

const SHOWN: usize = 5;

impl Rejects {
    /// A collector for `on_error`. Fails once it has more than `max` bad rows, if `max` is given.
    pub fn new(on_error: OnError, max: Option<u64>) -> Self {
        Self { on_error, max, collected: None, count: 0, file: None }
    }

    /// A collector that fails at the end and shows the first few bad rows.
    pub fn collecting() -> Self {
        Self { on_error: OnError::Fail, max: None, collected: Some(Vec::new()), count: 0, file: None }
    }

    pub fn add(&mut self, bad: BadRow) -> Result<(), LoadError> {
        self.count += 1;
        if let Some(collected) = &mut self.collected {
            if collected.len() < SHOWN {
                collected.push(bad);
            }
            return Ok(());
        }
        let OnError::Skip { rejects: wished } = &self.on_error else { return Err(LoadError::BadRow(Box::new(bad))) };
        let failed = |path: &Path| {
            let path = path.to_owned();
            |source| LoadError::Rejects { path, source }
        };
        let (path, file) = match &mut self.file {
            Some(open) => open,
            none => none.insert(create(wished).map_err(failed(wished))?),
        };
        write(file, &bad).map_err(failed(path))?;
        if self.max.is_none_or(|max| self.count <= max) {
            return Ok(());
        }
        file.flush().map_err(failed(path))?;
        Err(LoadError::TooManyRejects { max: self.max.unwrap_or_default(), last: Box::new(bad), path: path.clone() })
    }

    /// Flushes the file and records the number of bad rows in the report. Fails if every row was bad.
    pub fn finish(self, report: &mut LoadReport, rows: u64) -> Result<(), LoadError> {
        if let Some(first) = self.collected.filter(|first| !first.is_empty()) {
            return Err(LoadError::BadRows { count: self.count, first });
        }
        report.rejects = self.count;
        if let Some((path, mut file)) = self.file {
            file.flush().map_err(|source| LoadError::Rejects { path: path.clone(), source })?;
            if rows == 0 {
                return Err(LoadError::AllRejected { count: self.count, path });
            }
            report.rejects_file = Some(path);
        }
        Ok(())
    }
}

/// Most files of one name.
const KEPT: usize = 10_000;

/// Creates a new file with the wished name, or with a number added to it. Never overwrites a file, which may hold an earlier load's
/// rejects or be the file that is being loaded.
fn create(wished: &Path) -> std::io::Result<(PathBuf, BufWriter<File>)> {
    let mut path = wished.to_owned();
    let mut number = 1;
    let file = loop {
        match File::create_new(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && number < KEPT => {
                number += 1;
                path = numbered(wished, number);
            }
            created => break created?,
        }
    };
    let mut file = BufWriter::new(file);
    file.write_all(b"file,line,column,value,reason,row\n")?;
    Ok((path, file))
}

/// `rejects.csv` becomes `rejects-2.csv`.
fn numbered(path: &Path, number: usize) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
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
        csv::put_field(field, &mut record);
    }
    record.push('\n');
    file.write_all(record.as_bytes())
}
