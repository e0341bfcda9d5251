//! The segments under the tables. They hold what was sealed.
//!
//! ```text
//!   <number>.seg    parts by key: what · kind · label · column or edge label · chunk of 65,536 places
//!     0 contents    for every kind and label, where its own places begin and end; how many chunks of names there are
//!     1 column      cells
//!     2, 3 lists    of edges that go out of, or come into, the vertices of a label
//!     4 names       elements by the ids users know them by
//!     5 patched     the cells of older segments that this one replaces: by block
//!     6 index       values of a key of elements of a label, and the places that had them when it was written
//!     7 keys        of a wide label: the keys under which its elements have something
//! ```
//! Segments are in order of age. Each has *places of its own*, which begin where those of older segments end. It also has
//! what changed later at places of older segments: cells, which replace older ones even if they are absent, and further
//! edges of vertices. A cell that the tables decide replaces all sealed ones. A sealed element that was removed is marked in
//! the column of removed elements (`Column::dead`). Places below the *end* of their label are sealed. Ends are multiples of
//! a block.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use mangrove_graph::{Direction, ElementKind, ExternalId, GraphError, KeyId, LabelId, PropertyId, Result};
use mangrove_segment::adjacency::Lists;
use mangrove_segment::column::{Chunk, POSITIONS};
use mangrove_segment::file::{Identity, PartKey, SegmentFile};
use mangrove_segment::index::Index;
use mangrove_segment::keys::Keys;
use mangrove_segment::names;
use uuid::Uuid;

use crate::format::block::SLOTS;
use crate::format::key::Column;
use crate::format::named::{Fingerprint, Named};
use crate::system::fault::corrupt;

const CONTENTS: u8 = 0;
const COLUMN: u8 = 1;
const OUT: u8 = 2;
const IN: u8 = 3;
const NAMES: u8 = 4;
const PATCHED: u8 = 5;
const INDEX: u8 = 6;
const KEYS: u8 = 7;

/// Places of a chunk.
pub const CHUNK: u64 = POSITIONS as u64;
/// Blocks of a chunk.
pub const BLOCKS: u64 = (POSITIONS / SLOTS) as u64;
/// The most places that a label has.
const PLACES_MAX: u64 = 1 << 48;
const EXTENSION: &str = "seg";
const UNFINISHED: &str = "unfinished";
const SCRATCH: &str = "load";

/// An open segment.
pub struct Segment {
    pub number: u64,
    file: SegmentFile,
    contents: Contents,
    /// The places that are its own, by kind and number of the label.
    own: [Vec<Range<u64>>; 2],
    /// Whether it replaces cells of older segments.
    is_patching: bool,
    /// How many chunks each index has.
    indexes: HashMap<PropertyId, u64>,
    /// The keys of each chunk, once they have been asked for.
    keys: OnceLock<KeysOfChunks>,
}

type KeysOfChunks = HashMap<(ElementKind, LabelId, u64), Vec<KeyId>>;

/// The segments under a snapshot, oldest first.
#[derive(Default)]
pub struct Segments {
    list: Vec<Arc<Segment>>,
    /// The first place that is not sealed, by kind and number of the label.
    ends: [Vec<u64>; 2],
}

/// A part of segments, and the room that it takes.
#[derive(Clone, PartialEq, Debug)]
pub struct PartStats {
    pub kind: ElementKind,
    /// The label of the elements; `None` for names, which are of all labels.
    pub label: Option<LabelId>,
    pub part: Part,
    pub bytes: u64,
    /// For columns, how the first chunk is kept.
    pub form: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    Property(KeyId),
    /// A column the store keeps for itself.
    BuiltIn(&'static str),
    /// Lists of edges of a label, outgoing or incoming.
    Lists(Direction, LabelId),
    Names,
    Index(KeyId),
}

/// How a segment describes itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contents {
    /// For every label with sealed places, those that are its own. Older segments have those before.
    places: BTreeMap<(ElementKind, LabelId), Range<u64>>,
    /// By kind, how many bits of a name's hash say its chunk. A kind without names has no entry.
    name_bits: BTreeMap<ElementKind, u32>,
}

impl Contents {
    pub fn new(places: BTreeMap<(ElementKind, LabelId), Range<u64>>) -> Self {
        Self { places, name_bits: BTreeMap::new() }
    }

    /// The places of a label that are its own. Neither this segment nor an older one has places from their end on.
    pub fn places(&self, kind: ElementKind, label: LabelId) -> Range<u64> {
        self.places.get(&(kind, label)).cloned().unwrap_or(0..0)
    }

    pub fn set_name_bits(&mut self, kind: ElementKind, bits: u32) {
        self.name_bits.insert(kind, bits);
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&(self.places.len() as u32).to_le_bytes());
        for ((kind, label), places) in &self.places {
            out.push(*kind as u8);
            out.extend_from_slice(&label.0.to_le_bytes());
            out.extend_from_slice(&places.start.to_le_bytes());
            out.extend_from_slice(&places.end.to_le_bytes());
        }
        for (kind, bits) in &self.name_bits {
            out.extend_from_slice(&[*kind as u8, *bits as u8]);
        }
        out
    }

    /// Format 1 has no beginnings: all places were a segment's own.
    fn parse(bytes: &[u8], format: u32) -> Option<Self> {
        let mut contents = Self::default();
        let (n, rest) = bytes.split_first_chunk()?;
        let entry = if format == 1 { 11 } else { 19 };
        let (labels, names) = rest.split_at_checked((u32::from_le_bytes(*n) as usize).checked_mul(entry)?)?;
        for label in labels.chunks_exact(entry) {
            let (kind, label) = label.split_first()?;
            let (label, places) = label.split_first_chunk()?;
            let (start, end) = places.split_at(places.len() - 8);
            let places =
                start.first_chunk().map_or(0, |start| u64::from_le_bytes(*start))..u64::from_le_bytes(*end.first_chunk()?);
            let are_blocks =
                places.start <= places.end && places.end <= PLACES_MAX && (places.start | places.end) % SLOTS as u64 == 0;
            if !are_blocks {
                return None;
            }
            contents.places.insert((kind_of(*kind)?, LabelId(u16::from_le_bytes(*label))), places);
        }
        for [kind, bits] in names.as_chunks::<2>().0 {
            contents.name_bits.insert(kind_of(*kind)?, u32::from(*bits).min(40));
        }
        Some(contents)
    }
}

fn kind_of(code: u8) -> Option<ElementKind> {
    [ElementKind::Vertex, ElementKind::Edge].into_iter().find(|kind| *kind as u8 == code)
}

pub fn path(directory: &Path, number: u64) -> PathBuf {
    directory.join(number.to_string()).with_extension(EXTENSION)
}

/// A new directory for the tables of a bulk load. No other process makes one of this name.
pub fn scratch(directory: &Path) -> PathBuf {
    directory.join(format!("{SCRATCH}{}", Uuid::new_v4().simple())).with_extension(UNFINISHED)
}

/// Whether a path is the directory of the tables of a bulk load.
pub fn is_scratch(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with(SCRATCH) && path.extension().is_some_and(|extension| extension == UNFINISHED)
}

/// A number greater than that of any segment there is. No other process gives it, because half of its bits are random. A
/// process whose lock was deleted may still write a segment, and must not meet another's file.
pub fn next_number(newest: u64) -> u64 {
    let ordinal = if newest >> 32 == 0 { newest } else { newest >> 32 };
    (ordinal + 1) << 32 | Uuid::new_v4().as_u128() as u64 & u64::from(u32::MAX)
}

/// Whether a file of this name is one of a segment, whole or not.
pub fn is_file_name(name: &Path) -> bool {
    name.extension().is_some_and(|extension| extension == EXTENSION || extension == UNFINISHED)
}

/// The files of segments, whole or not, except for the named ones. Also the tables of bulk loads.
pub fn others(directory: &Path, named: &[Named]) -> io::Result<Vec<PathBuf>> {
    let is_named = |number: u64| named.iter().any(|named| named.number == number);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let number = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok());
        // A named segment whose file is not whole was begun again, under a number that was given twice.
        let is_other = number.is_some_and(|number| !is_named(number) || path.extension() != Some(EXTENSION.as_ref()));
        if is_file_name(&path) && is_other || is_scratch(&path) {
            found.push(path);
        }
    }
    Ok(found)
}

/// Removes what [`others`] found.
pub fn remove_all(paths: &[PathBuf]) -> io::Result<()> {
    paths.iter().try_for_each(|path| if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) })
}

/// Removes the file of a segment that this process wrote, whole or not. If that fails, the next opening for writing does it.
pub fn remove(directory: &Path, number: u64) {
    let path = path(directory, number);
    let _ = std::fs::remove_file(path.with_extension(UNFINISHED));
    let _ = std::fs::remove_file(path);
}

impl Segment {
    /// Opens the segment that the tables of a database name. It does not compare nil ids of databases or segments: older
    /// formats have no ids.
    ///
    /// # Errors
    /// Those of [`SegmentFile::open`]. [`GraphError::Corrupt`] if the file is another database's, or another one of this
    /// database.
    pub fn open(directory: &Path, named: Named, database: Uuid) -> Result<Self> {
        let segment = Self::found(directory, named.number)?;
        let Identity { database: owner, .. } = segment.file.identity();
        let wrong = |what: &str| {
            let path = segment.file.path().display();
            GraphError::corrupt(format!("{path} {what}: put the right file back, or restore a backup"))
        };
        if !owner.is_nil() && !database.is_nil() && owner != database {
            return Err(wrong("belongs to another database"));
        }
        if named.fingerprint.is_some_and(|known| known != segment.fingerprint()) {
            return Err(wrong("is not the file that the database last wrote under this name, but an older or swapped one"));
        }
        Ok(segment)
    }

    /// Opens the segment of this number, without comparing its ids.
    pub fn found(directory: &Path, number: u64) -> Result<Self> {
        let file = SegmentFile::open(&path(directory, number))?;
        let contents = file.get(contents_key())?;
        let contents = contents.and_then(|bytes| Contents::parse(bytes, file.format()));
        let contents = contents.ok_or_else(|| corrupt("a segment without its contents"))?;
        let is_possible = |key: PartKey| key.part == NAMES || key.chunk < PLACES_MAX / POSITIONS as u64;
        if !file.sizes().all(|(key, _)| is_possible(key)) {
            return Err(corrupt("a chunk of impossible places"));
        }
        let is_patching = file.sizes().any(|(key, _)| key.part == PATCHED);
        let mut own = [Vec::new(), Vec::new()];
        for ((kind, label), places) in &contents.places {
            let own: &mut Vec<Range<u64>> = &mut own[*kind as usize];
            own.resize(own.len().max(usize::from(label.0) + 1), 0..0);
            own[usize::from(label.0)] = places.clone();
        }
        let mut indexes = HashMap::new();
        for (key, _) in file.sizes().filter(|(key, _)| key.part == INDEX) {
            let kind = kind_of(key.kind).ok_or_else(|| corrupt("an index of an unknown kind"))?;
            let of = PropertyId { kind, label: LabelId(key.label), key: KeyId(key.sub as u16) };
            *indexes.entry(of).or_default() += 1;
        }
        Ok(Self { number, file, contents, own, is_patching, indexes, keys: OnceLock::new() })
    }

    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint { own: self.file.identity().own, checksum: self.file.checksum() }
    }

    /// Whether it is the segment that the tables name so.
    pub fn is(&self, named: &Named) -> bool {
        self.number == named.number && named.fingerprint.is_none_or(|known| known == self.fingerprint())
    }

    /// The name that the tables give it.
    pub fn named(&self) -> Named {
        Named { number: self.number, fingerprint: Some(self.fingerprint()) }
    }

    pub fn bytes(&self) -> u64 {
        self.file.bytes()
    }

    pub fn file(&self) -> &SegmentFile {
        &self.file
    }

    /// What each of its parts takes, except the contents.
    fn sizes(&self) -> Result<Vec<PartStats>> {
        let mut all: Vec<PartStats> = Vec::new();
        let mut last = None;
        for (key, bytes) in self.file.sizes().filter(|(key, _)| key.part != CONTENTS) {
            let first = (key.part, key.kind, key.label, key.sub);
            match all.last_mut() {
                Some(stats) if last == Some(first) => stats.bytes += bytes,
                _ => all.push(self.sized(key, bytes)?),
            }
            last = Some(first);
        }
        Ok(all)
    }

    fn sized(&self, key: PartKey, bytes: u64) -> Result<PartStats> {
        let kind = kind_of(key.kind).ok_or_else(|| corrupt("a part of an unknown kind"))?;
        let (label, edges) = (LabelId(key.label), LabelId(key.sub as u16));
        let part = match key.part {
            COLUMN => Column::named(kind, label, key.sub).map_or_else(Part::BuiltIn, Part::Property),
            OUT => Part::Lists(Direction::Out, edges),
            IN => Part::Lists(Direction::In, edges),
            PATCHED => Part::BuiltIn("changed cells"),
            KEYS => Part::BuiltIn("keys"),
            INDEX => Part::Index(KeyId(key.sub as u16)),
            _ => Part::Names,
        };
        let chunk = if key.part == COLUMN { self.file.column(key)? } else { None };
        let form = chunk.map(Chunk::form);
        Ok(PartStats { kind, label: (key.part != NAMES).then_some(label), part, bytes, form })
    }

    /// Writes a durable copy of the file into another directory.
    pub fn copy_to(&self, directory: &Path) -> Result<()> {
        self.file.copy_to(&path(directory, self.number))
    }

    /// The places of a label that are its own.
    #[inline]
    pub fn places(&self, kind: ElementKind, label: LabelId) -> Range<u64> {
        self.own[kind as usize].get(usize::from(label.0)).cloned().unwrap_or(0..0)
    }

    /// The slots of a block of a column that it decides: all at places of its own, and the cells it replaces at those of
    /// older segments.
    #[inline]
    pub fn says(&self, column: Column, block: u64) -> Result<u128> {
        let own = self.places(column.kind, column.label);
        let place = block * SLOTS as u64;
        if place >= own.start {
            return Ok(if place < own.end { u128::MAX } else { 0 });
        }
        if !self.is_patching {
            return Ok(0);
        }
        match self.file.get(patched_key(column, block / BLOCKS))? {
            Some(bytes) => Patched::parse(bytes, self.file.format())?.said((block % BLOCKS) as usize),
            None => Ok(0),
        }
    }

    /// Whether it replaces cells of older segments in a chunk of a column.
    pub fn is_patched(&self, column: Column, chunk: u64) -> bool {
        self.is_patching && self.file.find(patched_key(column, chunk)).is_some()
    }

    /// The chunk of a column that blocks from `chunk` × 512 on are in.
    #[inline]
    pub fn chunk(&self, column: Column, chunk: u64) -> Result<Option<&Chunk<'_>>> {
        self.file.column(column_key(column, chunk))
    }

    /// The chunks of a column in which it decides anything.
    pub fn column_chunks(&self, column: Column) -> impl Iterator<Item = u64> {
        self.file.chunks(column_key(column, 0)).chain(self.file.chunks(patched_key(column, 0)))
    }

    /// Adds the keys under which elements in these slots of a block of a label may have something.
    pub fn keys(
        &self,
        kind: ElementKind,
        label: LabelId,
        block: u64,
        slots: u128,
        out: &mut impl Extend<KeyId>,
    ) -> Result<()> {
        let chunk = block / BLOCKS;
        if let Some(keys) = self.file.get(keys_key(kind, label, chunk))? {
            return Keys::parse(keys)?.of_block((block % BLOCKS) as usize, slots, out);
        }
        let keys = self.keys.get_or_init(|| self.keys_of_chunks());
        out.extend(keys.get(&(kind, label, chunk)).into_iter().flatten().copied());
        Ok(())
    }

    fn keys_of_chunks(&self) -> KeysOfChunks {
        let mut keys = KeysOfChunks::new();
        for (part, _) in self.file.sizes().filter(|(part, _)| part.part == COLUMN) {
            let kind = if part.kind == ElementKind::Vertex as u8 { ElementKind::Vertex } else { ElementKind::Edge };
            let label = LabelId(part.label);
            if let Ok(key) = Column::named(kind, label, part.sub) {
                keys.entry((kind, label, part.chunk)).or_default().push(key);
            }
        }
        keys
    }

    /// The lists of edges of one label, of the vertices of a label from place `chunk` × 65,536 on.
    pub fn lists(&self, outgoing: bool, vertices: LabelId, edges: LabelId, chunk: u64) -> Result<Option<&Lists<'_>>> {
        self.file.lists(lists_key(outgoing, vertices, edges, chunk))
    }

    /// The chunks of such lists.
    pub fn list_chunks(&self, outgoing: bool, vertices: LabelId, edges: LabelId) -> impl Iterator<Item = u64> {
        self.file.chunks(lists_key(outgoing, vertices, edges, 0))
    }

    /// How many chunks an index has.
    pub fn index_chunks(&self, of: PropertyId) -> u64 {
        self.indexes.get(&of).copied().unwrap_or(0)
    }

    /// One of the chunks of an index.
    pub fn index(&self, of: PropertyId, chunk: u64) -> Result<Index<'_>> {
        let part = self.file.get(index_key(of, chunk))?;
        Index::parse(part.ok_or_else(|| corrupt("an index without one of its chunks"))?)
    }

    /// Appends the places that had an encoded value in `from..to` when the segment was written. O(log pairs + found).
    pub fn places_with(&self, of: PropertyId, from: &[u8], to: &[u8], out: &mut Vec<u64>) -> Result<()> {
        for chunk in self.first_index_chunk(of, from)?..self.index_chunks(of) {
            let index = self.index(of, chunk)?;
            if index.first()? >= to {
                break;
            }
            index.search(from, to, out)?;
        }
        Ok(())
    }

    /// Appends the first `limit` places behind `after` that had this encoded value when the segment was written, in order.
    /// O(log pairs · chunks + found).
    pub fn places_of(
        &self,
        of: PropertyId,
        value: &[u8],
        after: Option<u64>,
        limit: usize,
        out: &mut Vec<u64>,
    ) -> Result<()> {
        let most = out.len().saturating_add(limit);
        for chunk in self.first_index_chunk(of, value)?..self.index_chunks(of) {
            let index = self.index(of, chunk)?;
            if index.first()? > value || out.len() >= most {
                break;
            }
            index.search_one(value, after, most - out.len(), out)?;
        }
        Ok(())
    }

    /// How many pairs have an encoded value in `from..to`. O(log pairs · chunks).
    pub fn count_with(&self, of: PropertyId, from: &[u8], to: &[u8]) -> Result<u64> {
        let mut count = 0;
        for chunk in self.first_index_chunk(of, from)?..self.index_chunks(of) {
            let index = self.index(of, chunk)?;
            if index.first()? >= to {
                break;
            }
            count += index.count(from, to)? as u64;
        }
        Ok(count)
    }

    /// Whether a place had this encoded value when the segment was written. O(log pairs + chunks that begin with the value).
    pub fn had(&self, of: PropertyId, value: &[u8], place: u64) -> Result<bool> {
        for chunk in self.first_index_chunk(of, value)?..self.index_chunks(of) {
            let index = self.index(of, chunk)?;
            if index.first()? > value {
                break;
            }
            if index.contains(value, place)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The first chunk of an index that may have pairs from this value on.
    fn first_index_chunk(&self, of: PropertyId, from: &[u8]) -> Result<u64> {
        let (mut low, mut high) = (0, self.index_chunks(of));
        while low < high {
            let middle = low.midpoint(high);
            if self.index(of, middle)?.first()? < from { low = middle + 1 } else { high = middle }
        }
        Ok(low.saturating_sub(1)) // the chunk before may end with what is looked for
    }

    /// The raw id of the element with this name that `is_it` accepts.
    fn find(&self, kind: ElementKind, id: &ExternalId, is_it: impl FnMut(u64) -> Result<bool>) -> Result<Option<u64>> {
        let Some(bits) = self.contents.name_bits.get(&kind) else { return Ok(None) };
        let hash = names::hash(id);
        match self.file.names(names_key(kind, names::chunk_of(hash, *bits)))? {
            Some(names) => names.find(hash, is_it),
            None => Ok(None),
        }
    }
}

/// The cells of a chunk that replace those of older segments: a bit for every block, then the slots of each block that has
/// some.
pub struct Patched<'a> {
    blocks: &'a [u8; BLOCKS as usize / 8],
    /// `None` if whole blocks are replaced, as in formats before 3.
    slots: Option<&'a [[u8; 16]]>,
}

impl<'a> Patched<'a> {
    fn parse(bytes: &'a [u8], format: u32) -> Result<Self> {
        let (blocks, rest) = bytes.split_first_chunk().ok_or_else(|| corrupt("changed cells that end early"))?;
        Ok(Self { blocks, slots: (format >= 3).then_some(rest.as_chunks().0) })
    }

    pub fn encode(out: &mut Vec<u8>, said: &[(usize, u128)]) {
        let mut blocks = [0; BLOCKS as usize / 8];
        said.iter().for_each(|(at, _)| blocks[at / 8] |= 1 << (at % 8));
        out.extend_from_slice(&blocks);
        said.iter().for_each(|(_, slots)| out.extend_from_slice(&slots.to_le_bytes()));
    }

    fn said(&self, at: usize) -> Result<u128> {
        let words = self.blocks.as_chunks::<8>().0;
        let word = u64::from_le_bytes(words[at / 64]);
        if word >> (at % 64) & 1 == 0 {
            return Ok(0);
        }
        let Some(slots) = self.slots else { return Ok(u128::MAX) };
        let before: u32 = words[..at / 64].iter().map(|word| u64::from_le_bytes(*word).count_ones()).sum();
        let within = (word & ((1 << (at % 64)) - 1)).count_ones();
        let slots = slots.get((before + within) as usize).ok_or_else(|| corrupt("changed cells with wrong counts"))?;
        Ok(u128::from_le_bytes(*slots))
    }
}

impl Segments {
    /// Segments from the oldest to the newest.
    pub fn new(list: Vec<Arc<Segment>>) -> Self {
        let mut ends = [Vec::new(), Vec::new()];
        for ((kind, label), places) in list.iter().flat_map(|segment| &segment.contents.places) {
            let ends: &mut Vec<u64> = &mut ends[*kind as usize];
            ends.resize(ends.len().max(usize::from(label.0) + 1), 0);
            ends[usize::from(label.0)] = places.end.max(ends[usize::from(label.0)]);
        }
        Self { list, ends }
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn list(&self) -> &[Arc<Segment>] {
        &self.list
    }

    /// The names that the tables give them.
    pub fn named(&self) -> Vec<Named> {
        self.list.iter().map(|segment| segment.named()).collect()
    }

    /// Their numbers, and what identifies their files.
    pub fn fingerprints(&self) -> Vec<(u64, Fingerprint)> {
        self.list.iter().map(|segment| (segment.number, segment.fingerprint())).collect()
    }

    /// The greatest of their numbers.
    pub fn newest_number(&self) -> Option<u64> {
        self.list.iter().map(|segment| segment.number).max()
    }

    /// Whether these are the segments that the tables name so.
    pub fn are(&self, named: &[Named]) -> bool {
        self.list.len() == named.len() && self.list.iter().zip(named).all(|(segment, named)| segment.is(named))
    }

    pub fn bytes(&self) -> u64 {
        self.list.iter().map(|segment| segment.bytes()).sum()
    }

    /// What each part takes in all segments together, except the contents.
    pub fn sizes(&self) -> Result<Vec<PartStats>> {
        let mut all: Vec<PartStats> = Vec::new();
        for stats in self.list.iter().map(|segment| segment.sizes()) {
            for stats in stats? {
                match all
                    .iter_mut()
                    .find(|known| (known.kind, known.label, known.part) == (stats.kind, stats.label, stats.part))
                {
                    Some(known) => known.bytes += stats.bytes,
                    None => all.push(stats),
                }
            }
        }
        Ok(all)
    }

    /// The first place of a label that is not sealed.
    #[inline]
    pub fn end(&self, kind: ElementKind, label: LabelId) -> u64 {
        self.ends[kind as usize].get(usize::from(label.0)).copied().unwrap_or(0)
    }

    /// The labels that have sealed places, with their ends.
    pub fn labels(&self) -> impl Iterator<Item = (ElementKind, LabelId, u64)> {
        let of_kind = |kind: ElementKind| {
            self.ends[kind as usize].iter().enumerate().map(move |(at, end)| (kind, LabelId(at as u16), *end))
        };
        of_kind(ElementKind::Vertex).chain(of_kind(ElementKind::Edge)).filter(|(.., end)| *end > 0)
    }

    /// The newest of the first `n` segments that decides cells of a sealed block: its position, and the slots. O(segments).
    #[inline]
    pub fn newest(&self, column: Column, block: u64, n: usize) -> Result<Option<(usize, u128)>> {
        if self.list.len() == 1 && n == 1 {
            return Ok(Some((0, u128::MAX)));
        }
        for at in (0..n).rev() {
            let said = self.list[at].says(column, block)?;
            if said != 0 {
                return Ok(Some((at, said)));
            }
        }
        Ok(None)
    }

    /// The slots of a block of a column that the segments newer than the one at `at` decide.
    pub fn said_since(&self, at: usize, column: Column, block: u64) -> Result<u128> {
        self.list[at + 1..].iter().try_fold(0, |said, newer| Ok(said | newer.says(column, block)?))
    }

    /// Whether a segment has cells in a chunk of a column.
    pub fn has_chunk(&self, column: Column, chunk: u64) -> bool {
        self.list.iter().any(|segment| segment.file.find(column_key(column, chunk)).is_some())
    }

    /// The raw id of the element with this name that `is_it` accepts.
    pub fn find(
        &self,
        kind: ElementKind,
        id: &ExternalId,
        mut is_it: impl FnMut(u64) -> Result<bool>,
    ) -> Result<Option<u64>> {
        for segment in self.list.iter().rev() {
            if let Some(found) = segment.find(kind, id, &mut is_it)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

pub fn contents_key() -> PartKey {
    PartKey { part: CONTENTS, kind: 0, label: 0, sub: 0, chunk: 0 }
}

pub fn patched_key(column: Column, chunk: u64) -> PartKey {
    PartKey { part: PATCHED, ..column_key(column, chunk) }
}

pub fn column_key(column: Column, chunk: u64) -> PartKey {
    PartKey { part: COLUMN, kind: column.kind as u8, label: column.label.0, sub: column.number(), chunk }
}

pub fn lists_key(outgoing: bool, vertices: LabelId, edges: LabelId, chunk: u64) -> PartKey {
    PartKey { part: if outgoing { OUT } else { IN }, kind: 0, label: vertices.0, sub: edges.0.into(), chunk }
}

pub fn index_key(of: PropertyId, chunk: u64) -> PartKey {
    PartKey { part: INDEX, kind: of.kind as u8, label: of.label.0, sub: of.key.0.into(), chunk }
}

pub fn keys_key(kind: ElementKind, label: LabelId, chunk: u64) -> PartKey {
    PartKey { part: KEYS, kind: kind as u8, label: label.0, sub: 0, chunk }
}

pub fn names_key(kind: ElementKind, chunk: u64) -> PartKey {
    PartKey { part: NAMES, kind: kind as u8, label: 0, sub: 0, chunk }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_come_back() {
        let places = [((ElementKind::Vertex, LabelId(3)), 128..1 << 40), ((ElementKind::Edge, LabelId(0)), 0..128)];
        let mut contents = Contents::new(BTreeMap::from(places));
        contents.name_bits.insert(ElementKind::Vertex, 5);
        assert_eq!(Contents::parse(&contents.bytes(), 2), Some(contents));
        assert_eq!(Contents::parse(&[1, 0, 0, 0, 9], 2), None);
        let first = [&[1, 0, 0, 0, 1, 7, 0][..], &256u64.to_le_bytes()].concat();
        let places = [((ElementKind::Edge, LabelId(7)), 0..256)];
        assert_eq!(Contents::parse(&first, 1), Some(Contents::new(BTreeMap::from(places))));
    }
}
