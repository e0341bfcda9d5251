//! A lake as a backend: a graph in open files, which is read and not written.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use mangrove_directory::{CheckReport, Patience, StoreStats, Violation, Writer};
use mangrove_graph::{ElementKind, GraphError, KeyId, LabelId, ReadContext, Result};
use mangrove_ingest::Progress;
use mangrove_lake::{Lake, LakeChanges, LakeError, LakeOptions, LakeView};

use crate::backend::{Backend, BackendTransaction, BackendView};

pub const READ_ONLY: &str = "a graph in open files is read, never written: load it into a database to change it";

pub struct LakeBackend {
    /// The files as they were when they were opened last.
    lake: RwLock<Arc<Lake>>,
    /// The file that names all others.
    path: String,
    options: LakeOptions,
}

impl LakeBackend {
    pub fn open(path: String, options: &LakeOptions) -> Result<Self, LakeError> {
        let lake = RwLock::new(Arc::new(Lake::open(&path, options)?));
        Ok(Self { lake, path, options: options.clone() })
    }

    fn lake(&self) -> Arc<Lake> {
        // A panic leaves a lake that is whole.
        self.lake.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Backend for LakeBackend {
    fn view(&self, limits: Option<ReadContext>) -> Result<Box<dyn BackendView>> {
        Ok(Box::new(LakeView::new(self.lake(), limits)))
    }

    fn refresh(&self) -> Result<LakeChanges> {
        let new = Arc::new(Lake::open(&self.path, &self.options)?);
        let mut kept = self.lake.write().unwrap_or_else(PoisonError::into_inner);
        let changes = new.changes_since(&kept);
        *kept = new;
        Ok(changes)
    }

    fn index_edges(&self, limits: Option<ReadContext>, progress: &mut dyn Progress) -> Result<u64> {
        Ok(self.lake().index_edges(limits.as_ref(), progress)?)
    }

    fn begin(&self, _: Writer, _: Patience<'_>) -> Result<Box<dyn BackendTransaction>> {
        Err(GraphError::Invalid(READ_ONLY.into()))
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn check(&self) -> Result<CheckReport> {
        // What is in memory may be older than the files. So they are all opened anew.
        let lake = Lake::open(&self.path, &self.options);
        let problems = match &lake {
            Ok(lake) => lake.check(),
            Err(error) => vec![error.to_string()],
        };
        let counted = lake.ok().and_then(|lake| lake.statistics(None).ok()).unwrap_or_default();
        Ok(CheckReport {
            violations_total: problems.len() as u64,
            violations: problems.into_iter().take(100).map(|what| Violation { table: "lake", what }).collect(),
            vertices: counted.of(ElementKind::Vertex).iter().sum(),
            edges: counted.of(ElementKind::Edge).iter().sum(),
            ..CheckReport::default()
        })
    }

    fn stats(&self) -> Result<StoreStats> {
        Ok(StoreStats { file_bytes: self.lake().disk_bytes()?, ..StoreStats::default() })
    }

    fn backup(&self, _: &Path) -> Result<()> {
        Err(refused("copy its directory for a backup"))
    }

    fn compact(&self, _: Writer, _: Patience<'_>) -> Result<u64> {
        Err(refused("it has nothing to compact"))
    }
}

fn refused(hint: &str) -> GraphError {
    GraphError::Invalid(format!("a lake is files that others may use too: {hint}"))
}

impl BackendView for LakeView {
    fn limit(&mut self, limits: Option<ReadContext>) {
        LakeView::limit(self, limits);
    }

    fn version(&self) -> Option<u64> {
        Some(self.opening())
    }

    fn noted_time(&self, label: LabelId) -> Option<KeyId> {
        self.time(label)
    }
}

/// The file that names the others of a lake, as an address or an absolute path: so it stays the same if the process changes its
/// directory.
pub fn lake_file(path: &Path) -> Result<String, LakeError> {
    let text = path.to_string_lossy();
    if text.contains("://") {
        return Ok(text.into_owned());
    }
    if path.is_dir() {
        let hint = match described(path) {
            Some(file) => format!("name the file {}", file.display()),
            None => format!(
                "a graph in open files has a file NAME.graph.yml, or a mapping; name that. `mangrove lake map {text} > map.yml` \
                 proposes a mapping of Parquet files. A database is opened with open()"
            ),
        };
        return Err(LakeError::Unsupported(format!("{text} is a directory: {hint}")));
    }
    if !is_description(path) && path.is_file() {
        let hint = "name a file NAME.graph.yml, or a mapping of tables (`mangrove lake map DIR > map.yml`)";
        return Err(LakeError::Unsupported(format!("{text} does not describe a graph in open files: {hint}")));
    }
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    Ok(absolute.to_string_lossy().into_owned())
}

/// The file in a directory that describes a graph in open files, if there is one.
fn described(directory: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(directory).ok()?;
    entries.filter_map(Result::ok).map(|entry| entry.path()).find(|path| is_graphar(path))
}

fn is_graphar(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.ends_with(".graph.yml") || path.ends_with(".graph.yaml"))
}

/// Whether a path names a file that describes a graph in open files: one of GraphAr, or a mapping of tables.
pub fn is_description(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("yml") || extension.eq_ignore_ascii_case("yaml"))
}

/// Whether a path names a directory with an export to GraphAr or with Parquet files, one such file, or an address.
pub fn is_files_of_others(path: &Path) -> bool {
    let is_parquet = |path: &Path| path.extension().is_some_and(|end| end == "parquet" || end == "pq");
    if path.is_dir() && !path.join("mangrove.json").exists() {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        return described(path).is_some() || entries.map(|entry| entry.path()).any(|path| is_parquet(&path));
    }
    is_parquet(path) || path.to_string_lossy().contains("://")
}

/// Refuses a graph in open files where tables are expected.
pub fn not_a_lake(path: &Path) -> Result<(), LakeError> {
    let file = if path.is_dir() { described(path) } else { Some(path.to_owned()).filter(|path| is_description(path)) };
    match file {
        Some(file) => {
            let hint = "load_lake() loads it, and `mangrove load DB FILE` with this file alone. A mapping for the loader goes to \
                        --mapping (mapping=)";
            Err(LakeError::Unsupported(format!("{} describes a graph in open files: {hint}", file.display())))
        }
        None => Ok(()),
    }
}
