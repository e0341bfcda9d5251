//! Input files: finds the files that a pattern names, and opens each as a decompressed stream.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use encoding_rs::{Encoding, UTF_8};

use crate::error::{LoadError, Location};
use crate::progress::Meter;
use crate::text::decode::Decoded;
use crate::text::format::Format;

/// One input file.
#[derive(Clone, Debug)]
pub struct Source {
    pub path: PathBuf,
    /// Its name in messages.
    pub name: Arc<str>,
    /// Its size on disk.
    pub bytes: u64,
    /// The encoding of its text. By default UTF-8, or UTF-16 if its first bytes say so.
    pub encoding: Option<&'static Encoding>,
}

impl Source {
    pub fn new(path: &Path) -> Result<Self, LoadError> {
        let name: Arc<str> = path.display().to_string().into();
        let found = std::fs::metadata(path).map_err(|source| LoadError::Read { file: name.clone(), source })?;
        if !found.is_file() {
            let reason = "not a regular file: a load reads it more than once, so a pipe does not work";
            return Err(LoadError::format(Location::file(&name), reason));
        }
        Ok(Self { path: path.to_owned(), name, bytes: found.len(), encoding: None })
    }

    /// The file name without directories, compression extension and format extension: `data/person.csv.gz` gives `person`.
    pub fn stem(&self) -> String {
        let name = self.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let plain = name.trim_end_matches(".gz").trim_end_matches(".zst");
        plain.rsplit_once('.').map_or(plain, |(stem, _)| stem).to_owned()
    }

    /// The extension that shows the format, in lower case: `csv` for `person.csv.gz`.
    pub fn extension(&self) -> String {
        let name = self.path.file_name().map(|n| n.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        let plain = name.trim_end_matches(".gz").trim_end_matches(".zst");
        plain.rsplit_once('.').map(|(_, extension)| extension.to_owned()).unwrap_or_default()
    }

    pub fn failed(&self, source: io::Error) -> LoadError {
        LoadError::Read { file: self.name.clone(), source }
    }

    /// The content as UTF-8 without a byte order mark. Decompresses it if its first bytes show gzip or zstd.
    pub(crate) fn open(&self, meter: Arc<Meter>) -> Result<Box<dyn Read + Send>, LoadError> {
        let mut file = File::open(&self.path).map_err(|e| self.failed(e))?;
        let mut magic = [0; 4];
        let read = read_some(&mut file, &mut magic).map_err(|e| self.failed(e))?;
        file.rewind().map_err(|e| self.failed(e))?;
        let counted = Counted { inner: file, meter };
        let mut content: Box<dyn Read + Send> = match &magic[..read] {
            [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(counted)),
            [0x28, 0xb5, 0x2f, 0xfd] => Box::new(zstd::stream::read::Decoder::new(counted).map_err(|e| self.failed(e))?),
            _ => Box::new(counted),
        };
        let mut mark = [0; 3];
        let read = read_some(&mut content, &mut mark).map_err(|e| self.failed(e))?;
        let marked = Encoding::for_bom(&mark[..read]);
        let kept = mark[marked.map_or(0, |(_, bytes)| bytes)..read].to_vec();
        let content = io::Cursor::new(kept).chain(content);
        let encoding = marked.map(|(encoding, _)| encoding).or(self.encoding).filter(|encoding| *encoding != UTF_8);
        Ok(match encoding {
            None => Box::new(content),
            Some(encoding) => Box::new(Decoded::new(content, encoding)),
        })
    }
}

/// Fills `buffer`, or as much of it as the input has.
pub(crate) fn read_some(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

struct Counted<R> {
    inner: R,
    meter: Arc<Meter>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.meter.add(n);
        Ok(n)
    }
}

/// The files that each pattern names, in order. A pattern is a file, a directory, a glob, or a comma-separated list of these.
pub fn expand(patterns: &[PathBuf]) -> Result<Vec<Source>, LoadError> {
    let mut sources = Vec::new();
    for pattern in patterns {
        expand_one(pattern, &mut sources)?;
    }
    Ok(sources)
}

fn expand_one(pattern: &Path, out: &mut Vec<Source>) -> Result<(), LoadError> {
    if pattern.is_dir() {
        return expand_directory(pattern, out);
    }
    let text = pattern.to_string_lossy();
    if text.contains("://") && !pattern.exists() {
        return Err(LoadError::options(format!(
            "{text}: Mangrove reads local files only. Copy the file, or read it with another library, such as DuckDB or polars, and \
             load the table"
        )));
    }
    if pattern.exists() || !text.contains(['*', '?', '[', ',']) {
        out.push(Source::new(pattern)?);
        return Ok(());
    }
    if text.contains(',') {
        return text.split(',').try_for_each(|part| expand_one(Path::new(part.trim()), out));
    }
    let matches = glob::glob(&text).map_err(|e| LoadError::options(format!("{text}: not a file pattern: {e}")))?;
    let before = out.len();
    for found in matches {
        let path = found.map_err(|e| LoadError::Read { file: text.as_ref().into(), source: e.into() })?;
        if path.is_file() {
            if let Some(partition) = path.ancestors().skip(1).find(|folder| is_partition(folder)) {
                return Err(LoadError::options(format!(
                    "{text}: {} says a column and its value, which a pattern of files would lose: give the folder that holds the \
                     partitions, as in --nodes LABEL=FILE",
                    partition.display()
                )));
            }
            out.push(Source::new(&path)?);
        }
    }
    match out.len() - before {
        0 => Err(LoadError::options(format!("{text}: no file matches"))),
        _ => Ok(()),
    }
}

/// Whether a folder is called `column=value`, as Hive calls partitions.
fn is_partition(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.to_string_lossy().contains('='))
}

/// A warning for each directory among the patterns that holds files [`expand`] leaves out.
pub fn left_out(patterns: &[PathBuf]) -> Vec<String> {
    let is_known = |path: &PathBuf| Source::new(path).is_ok_and(|file| Format::of_extension(&file.extension()).is_some());
    let warning = |directory: &PathBuf| {
        let entries = std::fs::read_dir(directory).ok()?;
        let files = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).filter(|path| path.is_file());
        let name = |path: PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let mut names: Vec<String> = files.filter(|path| !is_known(path)).filter_map(name).collect();
        names.retain(|name| !name.starts_with('.'));
        names.sort_unstable();
        let (some, more) = names.split_at(names.len().min(5));
        let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        let what =
            format!("{}: the load leaves out {}{more}: give their names to load them", directory.display(), some.join(", "));
        (!names.is_empty()).then_some(what)
    };
    patterns.iter().filter(|pattern| pattern.is_dir()).filter_map(warning).collect()
}

fn expand_directory(directory: &Path, out: &mut Vec<Source>) -> Result<(), LoadError> {
    let failed = |source| LoadError::Read { file: directory.display().to_string().into(), source };
    let mut found: Vec<PathBuf> = std::fs::read_dir(directory)
        .and_then(|entries| entries.map(|entry| entry.map(|e| e.path())).collect())
        .map_err(failed)?;
    found.sort();
    let before = out.len();
    for path in found.iter().filter(|path| path.is_file()) {
        let source = Source::new(path)?;
        if Format::of_extension(&source.extension()).is_some() {
            out.push(source);
        }
    }
    match out.len() - before {
        0 if found.iter().any(|path| path.is_dir() && is_partition(path)) => Err(LoadError::options(format!(
            "{}: this is a folder of partitions: give its label, as in --nodes LABEL=FILE",
            directory.display()
        ))),
        0 => Err(LoadError::options(format!(
            "{}: no file in this directory has the extension of a known format (csv, tsv, parquet, jsonl, graphml, graphson …)",
            directory.display()
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn content(path: &Path) -> Vec<u8> {
        let mut bytes = Vec::new();
        Source::new(path).unwrap().open(Arc::default()).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn compression_is_known_by_content_and_a_byte_order_mark_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let (plain, gz, zst) = (dir.path().join("a.csv"), dir.path().join("b"), dir.path().join("c.dat"));
        std::fs::write(&plain, b"\xef\xbb\xbfid\n1\n").unwrap();
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(b"id\n1\n").unwrap();
        let member = encoder.finish().unwrap();
        std::fs::write(&gz, [&member[..], &member[..]].concat()).unwrap();
        std::fs::write(&zst, zstd::encode_all(&b"id\n1\n"[..], 1).unwrap()).unwrap();
        assert_eq!(content(&plain), b"id\n1\n");
        assert_eq!(content(&gz), b"id\n1\nid\n1\n");
        assert_eq!(content(&zst), b"id\n1\n");
    }

    #[test]
    fn patterns_expand_in_order_and_say_when_nothing_matches() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["part-2.csv", "part-1.csv", "notes.txt~"] {
            std::fs::write(dir.path().join(name), "id\n").unwrap();
        }
        let names = |pattern: &str| -> Vec<String> {
            let found = expand(&[dir.path().join(pattern)]).unwrap();
            found.iter().map(|s| s.path.file_name().unwrap().to_string_lossy().into_owned()).collect()
        };
        assert_eq!(names("part-*.csv"), ["part-1.csv", "part-2.csv"]);
        assert_eq!(names(""), ["part-1.csv", "part-2.csv"]);
        assert!(expand(&[dir.path().join("x-*.csv")]).unwrap_err().to_string().contains("no file matches"));
        assert!(matches!(expand(&[dir.path().join("gone.csv")]), Err(LoadError::Read { .. })));
    }

    #[test]
    fn stems_lose_every_extension_that_is_not_theirs() {
        let source = |name: &str| Source { path: name.into(), name: name.into(), bytes: 0, encoding: None };
        assert_eq!(source("d/person.csv.gz").stem(), "person");
        assert_eq!(source("d/person.csv.gz").extension(), "csv");
        assert_eq!(source("edges").stem(), "edges");
    }
}
