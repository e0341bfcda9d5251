//! Which files a mapping means: a name, a folder, or a pattern.

use std::sync::Arc;

use glob::Pattern;

use super::tables::Tables;
use crate::error::{LakeError, Result};
use crate::files::Listing;

/// The most files of one graph.
const FILES_MAX: usize = 100_000;

/// Opens the files that each list of names means, and returns their paths. All files that are named by themselves are opened together.
pub fn open(tables: &Tables, named: &[Vec<String>]) -> Result<Vec<Vec<Arc<str>>>> {
    let plain: Vec<Arc<str>> =
        named.iter().flatten().filter(|name| !is_pattern(name)).map(|name| name.trim_end_matches('/').into()).collect();
    // Spark writes a table as a folder whose name is that of a file.
    let folders = if tables.files.is_far() { Vec::new() } else { folders_of(tables, &plain)? };
    let files: Vec<Arc<str>> = plain.into_iter().filter(|path| !folders.contains(path)).collect();
    let missing = tables.open(&files)?;
    let mut expanded = Vec::with_capacity(named.len());
    for names in named {
        let mut paths = Vec::new();
        for name in names {
            let path: Arc<str> = name.trim_end_matches('/').into();
            match files.contains(&path) && !missing.contains(&path) {
                true => paths.push(path),
                false => paths.append(&mut expand(tables, name)?),
            }
        }
        if paths.len() > FILES_MAX {
            return Err(LakeError::Unsupported(format!("{}: it means more than {FILES_MAX} files", names.join(", "))));
        }
        expanded.push(paths);
    }
    let all: Vec<Arc<str>> = expanded.iter().flatten().cloned().collect();
    tables.at(&all, None)?;
    Ok(expanded)
}

fn folders_of(tables: &Tables, paths: &[Arc<str>]) -> Result<Vec<Arc<str>>> {
    let mut folders = Vec::new();
    for path in paths {
        if tables.files.list(path)?.is_some() {
            folders.push(path.clone());
        }
    }
    Ok(folders)
}

fn is_parquet(name: &str) -> bool {
    [".parquet", ".pq", ".parq"].iter().any(|end| name.to_ascii_lowercase().ends_with(end))
}

fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// The files of a folder, or those that a pattern fits.
fn expand(tables: &Tables, name: &str) -> Result<Vec<Arc<str>>> {
    let name = name.trim_end_matches('/');
    let (folder, pattern) = match name.rsplit_once('/') {
        _ if !is_pattern(name) => (name, None),
        Some((folder, pattern)) => (folder, Some(pattern)),
        None => ("", Some(name)),
    };
    let file = tables.files.name(name);
    if is_pattern(folder) {
        return Err(LakeError::Unsupported(format!("{file}: only the last part of a name may be a pattern")));
    }
    let found = tables.files.list(folder)?;
    let found = found
        .ok_or_else(|| LakeError::Missing { file: tables.files.name(if pattern.is_some() { folder } else { name }) })?;
    let wanted =
        pattern.map(|pattern| Pattern::new(pattern).map_err(|error| LakeError::Unsupported(format!("{file}: {error}"))));
    let wanted = wanted.transpose()?;
    refuse_others(tables, &file, folder, &found)?;
    let is_wanted = |name: &&String| match &wanted {
        Some(pattern) => pattern.matches(name),
        // `_SUCCESS` and hidden files are notes of those who wrote the folder.
        None => is_parquet(name) && !name.starts_with(['_', '.']),
    };
    let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let paths: Vec<Arc<str>> = found.files.iter().filter(is_wanted).map(|name| format!("{folder}{name}").into()).collect();
    match paths.is_empty() {
        true => Err(LakeError::Unsupported(format!("{file}: there are no Parquet files (.parquet, .pq)"))),
        false => Ok(paths),
    }
}

/// Folders that say more than their files: those whose folders are called `month=05`, and tables of Delta and Iceberg, which also
/// hold files that no longer count.
fn refuse_others(tables: &Tables, file: &Arc<str>, folder: &str, found: &Listing) -> Result<()> {
    if let Some(one) = found.folders.iter().find(|name| name.contains('=')) {
        let hint = "name one such folder, or load the table: `mangrove load` reads the column in their names";
        return Err(LakeError::Unsupported(format!("{file} is partitioned into folders such as `{one}`: {hint}")));
    }
    let kind = match folder.rsplit_once('/').unwrap_or(("", folder)) {
        _ if is_delta(found) => "Delta",
        _ if is_iceberg(found) => "Iceberg",
        (above, "data") if is_iceberg(&tables.files.list(above)?.unwrap_or_default()) => "Iceberg",
        _ => return Ok(()),
    };
    let hint = "its library names the files that count: give these as `files:` (`mangrove docs lake`)";
    Err(LakeError::Unsupported(format!("{file} is a table of {kind}, which may hold files that no longer count; {hint}")))
}

/// Whether a folder is a table of Delta.
pub fn is_delta(found: &Listing) -> bool {
    found.folders.iter().any(|name| name == "_delta_log")
}

/// Whether a folder is a table of Iceberg.
pub fn is_iceberg(found: &Listing) -> bool {
    ["metadata", "data"].iter().all(|wanted| found.folders.iter().any(|name| name == wanted))
}
