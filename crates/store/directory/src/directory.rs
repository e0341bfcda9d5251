//! The file `mangrove.json`, which makes a directory a database.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use mangrove_graph::IdSpace;
use serde_json::{Value, json};

use crate::error::{OpenError, name};

/// The format of database directories that this code reads and writes.
const FORMAT: u64 = 1;
/// That of a shard of a graph. Older versions know only the first one, and refuse this.
const SHARD_FORMAT: u64 = 2;
pub const HOT: &str = "hot";
pub const LOCK: &str = "writer.lock";
/// The path of the lock, relative to the directory [`HOT`].
pub const LOCK_SEEN_FROM_HOT: &str = "../writer.lock";
/// Exists while a backup is written into the directory.
pub const UNFINISHED: &str = "backup.unfinished";
const MANIFEST: &str = "mangrove.json";
const NEW_MANIFEST: &str = "mangrove.json.new";

/// What a path holds.
pub enum Found {
    Nothing,
    /// A directory with nothing in it, or the remains of a database that was never completed.
    Empty,
    Database,
}

pub fn look(path: &Path) -> Result<Found, OpenError> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(OpenError::io("read", path)(error)),
        Ok(metadata) if !metadata.is_dir() => return Err(OpenError::NotADirectory { path: path.into() }),
        Ok(_) => {}
    }
    match fs::metadata(path.join(MANIFEST)) {
        Ok(_) => return Ok(Found::Database),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(OpenError::io("read", path.join(MANIFEST))(error)),
    }
    for entry in fs::read_dir(path).map_err(OpenError::io("read", path))? {
        let name = entry.map_err(OpenError::io("read", path))?.file_name();
        if name == MANIFEST {
            return Ok(Found::Database); // another process has just made the database
        }
        if ![HOT, LOCK, NEW_MANIFEST, UNFINISHED].iter().any(|ours| name == *ours) {
            return Err(not_ours(path, Path::new(&name)));
        }
    }
    Ok(Found::Empty)
}

/// The error for a directory that is no database but holds another file. The error names the file.
pub fn not_ours(path: &Path, found: &Path) -> OpenError {
    let why = format!("it has no {MANIFEST} but other files ({})", found.display());
    OpenError::NotADatabase { path: path.into(), why }
}

/// Which shard of which graph a directory holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShardOf {
    /// The id of the graph, as its log says it.
    pub graph: u64,
    pub number: u16,
    pub shards: u16,
}

impl fmt::Display for ShardOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shard {} of the {} of graph {:016x}", self.number, self.shards, self.graph)
    }
}

/// What `mangrove.json` says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Manifest {
    pub id_space: IdSpace,
    /// `None` for a whole graph.
    pub shard: Option<ShardOf>,
}

/// Reads the manifest. Refuses what this version cannot read.
pub fn read_manifest(path: &Path) -> Result<Manifest, OpenError> {
    let file = path.join(MANIFEST);
    let text = fs::read_to_string(&file).map_err(OpenError::io("read", &file))?;
    let damaged = |why: &str| OpenError::NotADatabase { path: path.into(), why: format!("{MANIFEST} {why}") };
    let manifest: Value = serde_json::from_str(&text).map_err(|error| damaged(&format!("is not JSON ({error})")))?;
    let found = manifest["format"].as_u64().ok_or_else(|| damaged("does not state its format"))?;
    if found > SHARD_FORMAT {
        let written_by = manifest["made_by"].as_str().map(str::to_owned);
        return Err(OpenError::NewerFormat { path: path.into(), found, supported: SHARD_FORMAT, written_by });
    }
    let id_space = [IdSpace::Graph, IdSpace::Label]
        .into_iter()
        .find(|space| manifest["id_space"] == name(*space))
        .ok_or_else(|| damaged("does not state a known id space"))?;
    let shard = (found == SHARD_FORMAT).then(|| shard_in(&manifest["shard"]));
    if shard == Some(None) {
        return Err(damaged("does not say which shard it is"));
    }
    Ok(Manifest { id_space, shard: shard.flatten() })
}

fn shard_in(manifest: &Value) -> Option<ShardOf> {
    let number = |key: &str| manifest[key].as_u64().and_then(|number| u16::try_from(number).ok());
    let graph = u64::from_str_radix(manifest["graph"].as_str()?, 16).ok()?;
    Some(ShardOf { graph, number: number("number")?, shards: number("shards")? })
}

/// Makes the directory a database. This is the last step of creating one.
pub fn write_manifest(path: &Path, of: Manifest) -> Result<(), OpenError> {
    let (file, new) = (path.join(MANIFEST), path.join(NEW_MANIFEST));
    let made_by = concat!("mangrove ", env!("CARGO_PKG_VERSION"));
    let mut manifest = json!({ "format": FORMAT, "id_space": name(of.id_space), "made_by": made_by });
    if let Some(ShardOf { graph, number, shards }) = of.shard {
        manifest["format"] = json!(SHARD_FORMAT);
        manifest["shard"] = json!({ "graph": format!("{graph:016x}"), "number": number, "shards": shards });
    }
    let write = || -> io::Result<()> {
        let mut out = File::create(&new)?;
        writeln!(out, "{manifest:#}")?;
        out.sync_all()?;
        fs::rename(&new, &file)?;
        sync(path)
    };
    write().map_err(OpenError::io("write", &file))
}

/// Makes a directory and its missing parents. Each is durable, so that a crash cannot lose its contents along with its name.
pub fn make(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    let above = match directory.parent() {
        Some(above) if !above.as_os_str().is_empty() => above,
        _ => Path::new("."),
    };
    make(above)?;
    match fs::create_dir(directory) {
        // Another process made it meanwhile.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && directory.is_dir() => {}
        made => made?,
    }
    sync(above)
}

/// Makes the entries of a directory durable.
pub fn sync(directory: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}
