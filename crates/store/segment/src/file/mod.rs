//! A segment's file: parts, and a directory that finds each part by its key. It is written once, and mapped into memory.
//!
//! ```text
//!   magic 8 "MGRVSEG1" | its database 16 | its own id 16 | zeros 24 | parts, each filled up with zeros to a multiple of 64
//!   | directory | footer
//!
//!   part        its bytes | checksums of its pieces, 8 each. The pieces, of 64 kB each, are anywhere before it
//!   directory   for every part, by key: key 16 | offset 8 | length 8 | checksum 8 | offset of the pieces 8 | their length 8
//!   key         part 1 | kind 1 | label 2 | sub 4 | chunk 8; big-endian, so that the order of bytes is the order of keys
//!   footer      offset of the directory 8 | number of parts 8 | checksum of the first 64 bytes, the directory and the 16 bytes
//!               before 8 | format 4 | zeros 4 | magic 8
//! ```
//! Checksums are 64-bit XXH3. The checksum of a part also covers the checksums of its pieces and the zeros after it, and that of a last
//! piece covers the zeros after it, so some checksum covers every byte of a file. Opening a file verifies the checksum of the directory.
//! A process verifies the checksum of a part when it first reads the part, and that of a piece when it first reads a value in it.
//! Before format 6 no part has pieces, and the directory says nothing of them. Before format 4 the first 64 bytes hold no ids, and the
//! directory's checksum does not cover them. Integers outside keys are little-endian.

mod writer;

use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use mangrove_graph::{GraphError, Result};
use memmap2::Mmap;
use uuid::Uuid;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use crate::adjacency::Lists;
use crate::column::Chunk;
use crate::corrupt;
use crate::names::Names;
use crate::pieces::{PIECE, Pieces};

use writer::written;
pub use writer::{PiecesWriter, SegmentWriter};

const MAGIC: [u8; 8] = *b"MGRVSEG1";
/// The format that this code writes. It also reads all earlier formats.
pub const FORMAT: u32 = 6;
/// Since this format, a file names its database and itself.
const FORMAT_IDENTIFIED: u32 = 4;
/// Since this format, parts may have pieces.
const FORMAT_PIECES: u32 = 6;
const ALIGN: usize = 64;
const KEY: usize = 16;
const ENTRY: usize = 56;
/// The size of an entry without pieces.
const ENTRY_WHOLE: usize = 40;
const FOOTER: usize = 40;

/// Identifies a part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PartKey {
    pub part: u8,
    pub kind: u8,
    pub label: u16,
    /// The column or the edge label.
    pub sub: u32,
    pub chunk: u64,
}

/// Hashes two words: every read of a cell looks up a part.
impl Hash for PartKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let what = u64::from(self.part) << 56 | u64::from(self.kind) << 48;
        state.write_u64(what | u64::from(self.label) << 32 | u64::from(self.sub));
        state.write_u64(self.chunk);
    }
}

impl PartKey {
    fn bytes(self) -> [u8; KEY] {
        let mut bytes = [0; KEY];
        bytes[..2].copy_from_slice(&[self.part, self.kind]);
        bytes[2..4].copy_from_slice(&self.label.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.sub.to_be_bytes());
        bytes[8..].copy_from_slice(&self.chunk.to_be_bytes());
        bytes
    }
}

impl PartKey {
    fn parse(bytes: &[u8]) -> Self {
        let number = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        Self {
            part: bytes[0],
            kind: bytes[1],
            label: number(&bytes[2..4]) as u16,
            sub: number(&bytes[4..8]) as u32,
            chunk: number(&bytes[8..KEY]),
        }
    }
}

/// The ids of a segment's database and of the segment, both random. Files before format 4 have neither: both are nil.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Identity {
    pub database: Uuid,
    pub own: Uuid,
}

impl Identity {
    /// The first bytes of a file with this identity.
    fn header(self) -> [u8; ALIGN] {
        let mut header = [0; ALIGN];
        header[..8].copy_from_slice(&MAGIC);
        header[8..24].copy_from_slice(self.database.as_bytes());
        header[24..40].copy_from_slice(self.own.as_bytes());
        header
    }

    fn parse(header: &[u8; ALIGN]) -> Self {
        let id = |at: usize| Uuid::from_slice(&header[at..at + 16]).unwrap_or_default();
        Self { database: id(8), own: id(24) }
    }
}

/// An open segment file.
pub struct SegmentFile {
    /// Parsed parts, each added on its first use. They borrow from the map, and are dropped before it.
    parsed: Box<[OnceLock<Box<Parsed<'static>>>]>,
    path: Arc<Path>,
    map: Mmap,
    format: u32,
    identity: Identity,
    /// Where the directory begins.
    directory: usize,
    /// The index of each part in the directory.
    places: HashMap<PartKey, u32>,
    /// For each part, whether its checksum was verified.
    verified: Box<[AtomicBool]>,
}

/// A parsed part, and its pieces.
struct Parsed<'a> {
    content: Content<'a>,
    /// The content borrows from them.
    _pieces: Option<Arc<Pieces<'a>>>,
}

/// The content of a part, which is read in place.
#[derive(Debug)]
enum Content<'a> {
    Column(Chunk<'a>),
    Lists(Lists<'a>),
    Names(Names<'a>),
}

/// Reads a part with its pieces.
type Parse = fn(&'static [u8], Option<&'static Pieces<'static>>) -> Result<Content<'static>>;

impl SegmentFile {
    /// Opens a file and verifies its directory. O(parts).
    ///
    /// # Errors
    /// [`GraphError::Storage`] if it cannot be read, [`GraphError::Corrupt`] if it is damaged, [`GraphError::Invalid`] if a newer
    /// version wrote it.
    pub fn open(path: &Path) -> Result<Self> {
        let unreadable = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound => GraphError::corrupt(format!(
                "{} is missing, and it holds part of the graph: put it back, or restore a backup",
                path.display()
            )),
            _ => GraphError::Storage { message: format!("{}: {error}", path.display()), source: Some(Box::new(error)) },
        };
        let file = File::open(path).map_err(unreadable)?;
        // SAFETY: segment files never change once they have their name. If another program truncates or overwrites a mapped file,
        // that may end the process, as with any mapped file.
        let map = unsafe { Mmap::map(&file) }.map_err(unreadable)?;
        let damaged = |what: &str| GraphError::corrupt(format!("{}: {what}", path.display()));
        let body = map.len().checked_sub(FOOTER).ok_or_else(|| damaged("it is too short for a segment"))?;
        let footer = &map[body..];
        let zeros = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
        let header = map.first_chunk::<ALIGN>().filter(|header| header[..8] == MAGIC);
        let Some(header) = header.filter(|_| footer[32..] == MAGIC && zeros(&footer[28..32])) else {
            return Err(damaged("it is not a segment, or was cut short"));
        };
        let format = u32::from_le_bytes([footer[24], footer[25], footer[26], footer[27]]);
        if !(1..=FORMAT).contains(&format) {
            return Err(GraphError::Invalid(format!(
                "{} has segment format {format}, but this Mangrove only reads formats up to {FORMAT}: use the version that wrote \
                 it",
                path.display()
            )));
        }
        let directory = usize::try_from(word(&footer[..8])).unwrap_or(usize::MAX);
        let parts = usize::try_from(word(&footer[8..16])).unwrap_or(usize::MAX);
        let entry = if format < FORMAT_PIECES { ENTRY_WHOLE } else { ENTRY };
        let fits = parts.checked_mul(entry).and_then(|bytes| bytes.checked_add(directory)) == Some(body);
        let covered = if format < FORMAT_IDENTIFIED { &[] } else { &header[..] };
        let is_whole = |directory: &[u8]| checksum(&[covered, directory]) == word(&footer[16..24]);
        if !fits || !is_whole(&map[directory..body + 16]) || format < FORMAT_IDENTIFIED && !zeros(&header[8..]) {
            return Err(damaged("its directory is damaged"));
        }
        let identity = Identity::parse(header);
        let mut segment = Self {
            path: path.into(),
            map,
            format,
            identity,
            directory,
            places: HashMap::new(),
            verified: (0..parts).map(|_| AtomicBool::new(false)).collect(),
            parsed: (0..parts).map(|_| OnceLock::new()).collect(),
        };
        segment.places.reserve(parts);
        for at in 0..parts {
            segment.places.insert(PartKey::parse(&segment.entry(at)[..KEY]), at as u32);
            let is_beyond = |(start, len): (usize, usize)| {
                start.checked_add(len).and_then(|end| end.checked_next_multiple_of(ALIGN)).is_none_or(|end| end > directory)
            };
            if is_beyond(segment.pieces_range(at)) || is_beyond(segment.filled_range(at)) {
                return Err(damaged("a part beyond its end"));
            }
        }
        Ok(segment)
    }

    fn entry(&self, at: usize) -> &[u8] {
        let entry = if self.format < FORMAT_PIECES { ENTRY_WHOLE } else { ENTRY };
        &self.map[self.directory + at * entry..][..entry]
    }

    /// A number of an entry, by its offset there; 0 beyond the end of the entry.
    fn size(&self, at: usize, offset: usize) -> usize {
        self.entry(at).get(offset..).map_or(0, |bytes| usize::try_from(word(bytes)).unwrap_or(usize::MAX))
    }

    /// Where a part begins, and its length without the checksums of its pieces.
    fn range(&self, at: usize) -> (usize, usize) {
        (self.size(at, KEY), self.size(at, KEY + 8))
    }

    /// Where the pieces of a part begin, and their length.
    fn pieces_range(&self, at: usize) -> (usize, usize) {
        (self.size(at, KEY + 24), self.size(at, KEY + 32))
    }

    /// Where a part begins, and its length with the checksums of its pieces.
    fn filled_range(&self, at: usize) -> (usize, usize) {
        let ((start, len), (_, pieces)) = (self.range(at), self.pieces_range(at));
        (start, len.saturating_add(pieces.div_ceil(PIECE).saturating_mul(8)))
    }

    /// The keys of all parts, and the bytes that each takes.
    pub fn sizes(&self) -> impl Iterator<Item = (PartKey, u64)> {
        let filled = |(_, len): (usize, usize)| len.next_multiple_of(ALIGN) as u64;
        (0..self.parts()).map(move |at| {
            (PartKey::parse(&self.entry(at)[..KEY]), filled(self.filled_range(at)) + filled(self.pieces_range(at)))
        })
    }

    /// The number of parts.
    pub fn parts(&self) -> usize {
        self.verified.len()
    }

    /// The index of a part in the directory. O(1).
    #[inline]
    pub fn find(&self, key: PartKey) -> Option<usize> {
        self.places.get(&key).map(|at| *at as usize)
    }

    /// The first index in the directory whose key is not before this one.
    fn lower_bound(&self, key: &[u8; KEY]) -> usize {
        let (mut low, mut high) = (0, self.parts());
        while low < high {
            let middle = low.midpoint(high);
            if self.entry(middle)[..KEY] < key[..] { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The verified bytes of a part, without its pieces.
    ///
    /// # Errors
    /// [`GraphError::Corrupt`] if the bytes are not the ones written. The error names the file and the place.
    pub fn part(&self, at: usize) -> Result<&[u8]> {
        self.filled(at).map(|filled| &filled[..self.range(at).1])
    }

    /// The verified bytes of a part, the checksums of its pieces, and the zeros after them.
    fn filled(&self, at: usize) -> Result<&[u8]> {
        let (start, len) = self.filled_range(at);
        let filled = &self.map[start..(start + len).next_multiple_of(ALIGN)];
        if !self.verified[at].load(Ordering::Relaxed) {
            if xxh3_64(filled) != word(&self.entry(at)[KEY + 16..]) {
                let what = format!("{}: the {len} bytes from {start} on are damaged", self.path.display());
                return Err(GraphError::corrupt(what));
            }
            self.verified[at].store(true, Ordering::Relaxed);
        }
        Ok(filled)
    }

    /// The pieces of a part, not yet verified; `None` if it has none.
    fn pieces(&self, at: usize) -> Result<Option<Pieces<'_>>> {
        let (start, len) = self.pieces_range(at);
        if len == 0 {
            return Ok(None);
        }
        let sums = &self.filled(at)?[self.range(at).1..][..len.div_ceil(PIECE) * 8];
        let filled = &self.map[start..(start + len).next_multiple_of(ALIGN)];
        Ok(Some(Pieces::new(len, filled, sums.as_chunks().0, self.path.clone(), start)))
    }

    /// The chunk numbers of all parts that share the other fields of this key.
    pub fn chunks(&self, key: PartKey) -> impl Iterator<Item = u64> {
        let first = PartKey { chunk: 0, ..key };
        let at = self.lower_bound(&first.bytes());
        (at..self.parts())
            .map(|at| PartKey::parse(&self.entry(at)[..KEY]))
            .take_while(move |found| PartKey { chunk: 0, ..*found } == first)
            .map(|found| found.chunk)
    }

    /// The bytes of the part with this key, if there is one.
    pub fn get(&self, key: PartKey) -> Result<Option<&[u8]>> {
        self.find(key).map(|at| self.part(at)).transpose()
    }

    /// A chunk of a column; `None` if no part has this key.
    pub fn column(&self, key: PartKey) -> Result<Option<&Chunk<'_>>> {
        match self.parsed(key, |bytes, pieces| Chunk::parse(bytes, pieces).map(Content::Column))? {
            Some(Content::Column(chunk)) => Ok(Some(chunk)),
            found => found.map_or(Ok(None), |_| Err(other_form())),
        }
    }

    /// A chunk of lists of edges; `None` if no part has this key.
    pub fn lists(&self, key: PartKey) -> Result<Option<&Lists<'_>>> {
        match self.parsed(key, |bytes, _| Lists::parse(bytes).map(Content::Lists))? {
            Some(Content::Lists(lists)) => Ok(Some(lists)),
            found => found.map_or(Ok(None), |_| Err(other_form())),
        }
    }

    /// A chunk of names; `None` if no part has this key.
    pub fn names(&self, key: PartKey) -> Result<Option<&Names<'_>>> {
        match self.parsed(key, |bytes, _| Names::parse(bytes).map(Content::Names))? {
            Some(Content::Names(names)) => Ok(Some(names)),
            found => found.map_or(Ok(None), |_| Err(other_form())),
        }
    }

    /// The content of a part, from the cache. Without the cache, a reader of single cells would spend most of its time parsing headers.
    #[inline]
    fn parsed(&self, key: PartKey, parse: Parse) -> Result<Option<&Content<'_>>> {
        let Some(at) = self.find(key) else { return Ok(None) };
        match self.parsed[at].get() {
            Some(parsed) => Ok(Some(&parsed.content)),
            None => self.parse(at, parse).map(Some),
        }
    }

    #[cold]
    fn parse(&self, at: usize, parse: Parse) -> Result<&Content<'_>> {
        let (bytes, pieces) = (self.part(at)?, self.pieces(at)?.map(Arc::new));
        // SAFETY: the map stays in place, unchanged, until `self` is dropped, even if `self` moves. The pieces stay in place as long as
        // the parsed part is there, which keeps them. The parsed part is private to `self`. `self` lends its content for no longer than
        // `self` is borrowed, and drops it before the map.
        let parsed = unsafe {
            let bytes = std::mem::transmute::<&[u8], &'static [u8]>(bytes);
            let pieces = std::mem::transmute::<Option<Arc<Pieces<'_>>>, Option<Arc<Pieces<'static>>>>(pieces);
            let lent = pieces.as_deref().map(|pieces| &*std::ptr::from_ref(pieces));
            Parsed { content: parse(bytes, lent)?, _pieces: pieces }
        };
        Ok(&self.parsed[at].get_or_init(|| Box::new(parsed)).content)
    }

    /// Verifies every part and every piece.
    pub fn verify(&self) -> Result<()> {
        (0..self.parts()).try_for_each(|at| {
            self.part(at)?;
            self.pieces(at)?.map_or(Ok(()), |pieces| pieces.verify())
        })
    }

    /// Writes a durable copy of the file, as it was when it was opened, even if it has been removed since. Refuses to copy a
    /// damaged file.
    pub fn copy_to(&self, path: &Path) -> Result<()> {
        self.verify()?;
        let mut copy = File::create(path).map_err(written)?;
        copy.write_all(&self.map).and_then(|()| copy.sync_all()).map_err(written)
    }

    pub fn bytes(&self) -> u64 {
        self.map.len() as u64
    }

    /// The format it was written in.
    pub fn format(&self) -> u32 {
        self.format
    }

    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// The checksum of its directory, which covers the checksums of all parts.
    pub fn checksum(&self) -> u64 {
        word(&self.map[self.map.len() - FOOTER + 16..])
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The checksum of these byte strings, concatenated.
fn checksum(parts: &[&[u8]]) -> u64 {
    let mut checksum = Xxh3Default::new();
    parts.iter().for_each(|part| checksum.update(part));
    checksum.digest()
}

fn other_form() -> GraphError {
    corrupt("a part of another form than expected")
}

fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    const IDENTITY: Identity = Identity { database: Uuid::from_u128(7), own: Uuid::from_u128(11) };

    fn key(part: u8, chunk: u64) -> PartKey {
        PartKey { part, kind: 1, label: 3, sub: 77, chunk }
    }

    fn written_file(directory: &Path) -> PathBuf {
        let path = directory.join("1.seg");
        let mut writer = SegmentWriter::create(&path, IDENTITY).unwrap();
        for (key, bytes) in [(key(2, 5), &b"lists"[..]), (key(1, 300), b""), (key(1, 2), b"cells and more cells")] {
            writer.put(key, bytes).unwrap();
        }
        assert!(!path.exists(), "it has its name only when it is whole");
        writer.finish().unwrap();
        path
    }

    #[test]
    fn parts_are_found_by_their_keys() {
        let directory = tempfile::tempdir().unwrap();
        let path = written_file(directory.path());
        let file = SegmentFile::open(&path).unwrap();
        assert_eq!(file.parts(), 3);
        assert_eq!(file.identity(), IDENTITY);
        assert_eq!(file.get(key(1, 2)).unwrap(), Some(&b"cells and more cells"[..]));
        assert_eq!(file.get(key(1, 300)).unwrap(), Some(&b""[..]));
        assert_eq!(file.get(key(2, 5)).unwrap(), Some(&b"lists"[..]));
        assert_eq!(file.get(key(1, 3)).unwrap(), None);
        file.verify().unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    /// Pieces are verified when they are read, and not before.
    #[test]
    fn a_damaged_piece_leaves_the_others_readable() {
        let directory = tempfile::tempdir().unwrap();
        let (path, long) = (directory.path().join("1.seg"), "thistle ".repeat(2 * PIECE / 8 + 9));
        let mut writer = SegmentWriter::create(&path, IDENTITY).unwrap();
        writer.put_values(key(1, 0), format!("head{long}").as_bytes(), long.len()).unwrap();
        writer.put_values(key(1, 1), b"headshort", 5).unwrap();
        writer.finish().unwrap();
        let whole = std::fs::read(&path).unwrap();
        let file = SegmentFile::open(&path).unwrap();
        assert_eq!(file.sizes().map(|(_, bytes)| bytes).sum::<u64>() as usize, whole.len() - ALIGN - 2 * ENTRY - FOOTER);
        assert_eq!(file.get(key(1, 1)).unwrap(), Some(&b"headshort"[..]));
        assert_eq!(file.get(key(1, 0)).unwrap(), Some(&b"head"[..]));
        let pieces = file.pieces(file.find(key(1, 0)).unwrap()).unwrap().unwrap();
        assert_eq!(pieces.get(0..long.len()).unwrap(), long.as_bytes());
        assert!(pieces.get(0..long.len() + 1).is_err(), "zeros that fill the part are no value");

        // The pieces come first. Each flip damages one of them, the last one in the zeros after the values.
        for (at, damaged) in [(0, 0), (PIECE - 1, 0), (PIECE, 1), (2 * PIECE + 71, 2), (2 * PIECE + 72, 2)] {
            let mut bytes = whole.clone();
            bytes[ALIGN + at] ^= 1;
            std::fs::write(&path, &bytes).unwrap();
            let file = SegmentFile::open(&path).unwrap();
            let pieces = file.pieces(file.find(key(1, 0)).unwrap()).unwrap().unwrap();
            for piece in 0..3 {
                let range = piece * PIECE..long.len().min((piece + 1) * PIECE);
                assert_eq!(pieces.get(range).is_err(), piece == damaged, "byte {at}, piece {piece}");
            }
            assert!(pieces.get(0..long.len()).unwrap_err().to_string().contains("1.seg"));
            assert!(pieces.verify().is_err() && file.verify().is_err());
        }
        let of_pieces = (whole.windows(4).position(|bytes| bytes == b"head")).unwrap();
        for at in (of_pieces + 4..of_pieces + 4 + 3 * 8).chain([of_pieces + 63]) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            std::fs::write(&path, &bytes).unwrap();
            let file = SegmentFile::open(&path).unwrap();
            assert!(file.get(key(1, 0)).is_err() && file.verify().is_err(), "byte {at}");
            assert_eq!(file.get(key(1, 1)).unwrap(), Some(&b"headshort"[..]));
        }
    }

    /// Entries of earlier formats say nothing of pieces.
    #[test]
    fn files_of_earlier_formats_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = written_file(directory.path());
        let (whole, parts) = (std::fs::read(&path).unwrap(), 3);
        let end = whole.len() - FOOTER;
        for format in [FORMAT_IDENTIFIED, FORMAT_PIECES - 1] {
            let mut earlier = whole[..end - parts * ENTRY].to_vec();
            let directory = earlier.len() as u64;
            whole[end - parts * ENTRY..end].chunks(ENTRY).for_each(|entry| earlier.extend_from_slice(&entry[..ENTRY_WHOLE]));
            [directory, parts as u64].iter().for_each(|word| earlier.extend_from_slice(&word.to_le_bytes()));
            let sum = checksum(&[&earlier[..ALIGN], &earlier[directory as usize..]]);
            earlier.extend_from_slice(&sum.to_le_bytes());
            [format, 0].iter().for_each(|word| earlier.extend_from_slice(&word.to_le_bytes()));
            earlier.extend_from_slice(&MAGIC);
            std::fs::write(&path, &earlier).unwrap();
            let file = SegmentFile::open(&path).unwrap();
            file.verify().unwrap();
            assert_eq!((file.format(), file.parts(), file.identity()), (format, parts, IDENTITY));
            assert_eq!(file.get(key(1, 2)).unwrap(), Some(&b"cells and more cells"[..]));
            assert_eq!(file.get(key(2, 5)).unwrap(), Some(&b"lists"[..]));
            assert!(file.pieces(0).unwrap().is_none());
        }
    }

    #[test]
    fn every_flipped_byte_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let path = written_file(directory.path());
        let whole = std::fs::read(&path).unwrap();
        let damaged = directory.path().join("damaged.seg");
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            std::fs::write(&damaged, &bytes).unwrap();
            let opened = SegmentFile::open(&damaged).and_then(|file| file.verify());
            let error = opened.expect_err(&format!("byte {at} of {}", whole.len()));
            assert!(error.to_string().contains("damaged.seg"), "byte {at}: {error}");
        }
        for len in 0..whole.len() {
            std::fs::write(&damaged, &whole[..len]).unwrap();
            assert!(SegmentFile::open(&damaged).is_err(), "{len} bytes");
        }
    }
}
