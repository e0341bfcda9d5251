//! What the tables `meta` and `schema` hold.
//!
//! ```text
//!   meta    "format" -> version 4          "space" -> 0 graph, 1 label      "schema" -> version 8      "database" -> its id 16
//!           "sums" -> the sums of the tables, see table.rs      "clock" -> when commits were made, see clock.rs
//!           "auto", label 2 -> of no meaning since format 8
//!           "segments" -> of each segment under the tables, oldest first: number 8 | its own id 16 | checksum of its directory 8
//!               (before format 6: only the number; in format 2: "segment" -> the number of the only one)
//!           "times" -> edge label 2 | place 8 ...: of labels with a time before format 5: first place whose time is its property
//!           "layout" -> the name of the order in which a bulk load gave its vertices their ids, if it chose one
//!           "sides" -> 1 if the sides of edges are apart, see options.rs
//!           "log" -> of a store that follows a log: how far it has applied it, in the words of who applies it
//!           "sources" -> of each source that the graph follows, by name: name | length 4 | how far it was read, in the words of who reads it
//!           "listed", kind 1, label 2, key 2, hash 8, shard 2 -> nothing: of a shard, that another one may have a value with this hash
//!           "count", kind 1, label 2 -> next local 8 | live 8 | [end of the places that are, or were to be, sealed 8]
//!   schema  0 kind 1 label 2 -> name | time or key | further | ends | 1 if dropped
//!               (before format 7: name | time | properties | further | ends)
//!           1 key 2 -> name | 1 if dropped
//!           2 number 2 -> label 2 | key 2 | 1 if unique | 1 if of edges | 1 if routed      the indexes, in the order they were made
//!           3 kind 1 label 2 key 2 -> a property of a label
//! ```
//! Keys are big-endian, values little-endian; a name is its length in two bytes, then UTF-8.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use heed::{AnyTls, RoTxn};
use mangrove_graph::names::HasName;
use mangrove_graph::{
    Cardinality, ElementKind, Encoding, GraphError, IdSpace, IndexSchema, KeyId, LabelId, LabelSchema, Names, PropertyId,
    PropertySchema, Result, Schema, TypeSet, ValueType, conform,
};
use uuid::Uuid;

use crate::format::named::{Fingerprint, Named};
use crate::lmdb::table::{Tables, Writing};
use crate::lmdb::version::{FORMAT, FORMAT_KEY, FORMAT_OF_LISTS, FORMAT_OF_SUMS};
use crate::options::Sides;
use crate::system::fault::{corrupt, lmdb};

const NO_KEY: u32 = u32::MAX;
const UNDECLARED: u8 = u8::MAX;

/// How many elements a label has had, and how many it has now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counter {
    /// The local id the next element gets.
    pub next: u64,
    pub live: u64,
    /// Places before this one are sealed, or were to be. There, removed elements are marked, and blocks that become empty
    /// are kept.
    pub sealed: u64,
}

const DATABASE: &[u8] = b"database";
const LAYOUT: &[u8] = b"layout";
const LISTED: &[u8] = b"listed";
const LOG: &[u8] = b"log";
const SIDES: &[u8] = b"sides";
const SOURCES: &[u8] = b"sources";

pub fn first_meta(id_space: IdSpace, sides: Sides) -> Vec<(&'static [u8], Vec<u8>)> {
    let space = match id_space {
        IdSpace::Graph => 0,
        IdSpace::Label => 1,
    };
    let database = Uuid::new_v4().into_bytes().to_vec();
    let (format, schema) = (FORMAT.to_le_bytes().to_vec(), 0u64.to_le_bytes().to_vec());
    let first: [(&[u8], _); 4] = [(FORMAT_KEY, format), (b"space", vec![space]), (b"schema", schema), (DATABASE, database)];
    let apart = (sides == Sides::Apart).then(|| (SIDES, vec![1]));
    first.into_iter().chain(apart).collect()
}

pub fn check_format(tables: &Tables, txn: &RoTxn<'_, AnyTls>) -> Result<()> {
    match format(tables, txn)? {
        1..=FORMAT => Ok(()),
        version => Err(GraphError::Invalid(format!(
            "the tables have format {version}, but this Mangrove only reads formats up to {FORMAT}: use the version of Mangrove \
             that wrote them"
        ))),
    }
}

fn format(tables: &Tables, txn: &RoTxn<'_, AnyTls>) -> Result<u32> {
    let found = tables.meta.get(txn, FORMAT_KEY).map_err(lmdb)?.and_then(|bytes| bytes.try_into().ok());
    found.map(u32::from_le_bytes).ok_or_else(|| corrupt("it does not state its format"))
}

/// Whether an older version wrote the tables.
pub fn is_old(tables: &Tables, txn: &RoTxn<'_, AnyTls>) -> Result<bool> {
    Ok(format(tables, txn)? < FORMAT)
}

/// Whether the tables have no lists of keys.
pub fn has_no_lists(tables: &Tables, txn: &RoTxn<'_, AnyTls>) -> Result<bool> {
    Ok(format(tables, txn)? < FORMAT_OF_LISTS)
}

/// Brings tables of an older format to this one, except for the lists of keys. Returns the schema.
pub fn upgrade(tables: &Tables, t: &mut Writing<'_>, segments: &[(u64, Fingerprint)]) -> Result<Schema> {
    let schema = load_schema(tables, t)?;
    if format(tables, t)? < FORMAT_OF_SUMS {
        if !segments.is_empty() {
            put_segments(tables, t, segments)?;
        }
        tables.meta.put(t, DATABASE, Uuid::new_v4().as_bytes())?;
    }
    for record in Record::all(&schema) {
        record.put(tables, t, &schema)?;
    }
    tables.meta.put(t, FORMAT_KEY, &FORMAT.to_le_bytes())?;
    Ok(schema)
}

/// The places from which on the times of edges are kept as properties. Before them, times are in a column of their own.
#[derive(PartialEq)]
pub enum Times {
    /// No time is kept as a property.
    Old,
    /// All times are kept as properties, except before these places of these labels.
    From(Vec<(LabelId, u64)>),
}

impl Times {
    #[inline]
    pub fn first(&self, label: LabelId) -> u64 {
        match self {
            Times::Old => u64::MAX,
            Times::From(old) => old.iter().find(|(of, _)| *of == label).map_or(0, |(_, place)| *place),
        }
    }

    fn load(tables: &Tables, txn: &RoTxn<'_, AnyTls>) -> Result<Self> {
        let Some(bytes) = tables.meta.get(txn, b"times").map_err(lmdb)? else { return Ok(Times::Old) };
        let (entries, rest) = bytes.as_chunks::<10>();
        if !rest.is_empty() {
            return Err(corrupt("places of times of the wrong length"));
        }
        let mut old = Vec::with_capacity(entries.len());
        for entry in entries {
            let mut fields = Fields(entry);
            old.push((LabelId(fields.u16()?), u64::from_le_bytes(fields.array()?)));
        }
        Ok(Times::From(old))
    }
}

/// Stores from which places on times are properties.
pub fn put_times(tables: &Tables, t: &mut Writing<'_>, old: &[(LabelId, u64)]) -> Result<()> {
    let bytes: Vec<u8> =
        old.iter().flat_map(|(label, place)| [&label.0.to_le_bytes()[..], &place.to_le_bytes()].concat()).collect();
    tables.meta.put(t, b"times", &bytes)
}

/// Notes in which order the vertices of a bulk load have their ids.
pub fn put_layout(tables: &Tables, t: &mut Writing<'_>, name: &str) -> Result<()> {
    tables.meta.put(t, LAYOUT, name.as_bytes())
}

/// The name of the order that a bulk load chose.
pub fn layout(tables: &Tables, txn: &RoTxn<'_, AnyTls>) -> Result<Option<String>> {
    let Some(name) = tables.meta.get(txn, LAYOUT).map_err(lmdb)? else { return Ok(None) };
    std::str::from_utf8(name).map(|name| Some(name.to_owned())).map_err(|_| corrupt("the name of the layout is no text"))
}

/// Which sides of its edges the store lists.
pub fn sides(tables: &Tables, txn: &RoTxn<'_, AnyTls>) -> Result<Sides> {
    match tables.meta.get(txn, SIDES).map_err(lmdb)? {
        None => Ok(Sides::Together),
        Some([1]) => Ok(Sides::Apart),
        Some(_) => Err(corrupt("it does not state which sides of edges it lists")),
    }
}

/// Notes how far the store has applied the log that it follows.
pub fn put_log_position(tables: &Tables, t: &mut Writing<'_>, position: &[u8]) -> Result<()> {
    tables.meta.put(t, LOG, position)
}

/// How far the store has applied the log that it follows, if it follows one.
pub fn log_position(tables: &Tables, txn: &RoTxn<'_, AnyTls>) -> Result<Option<Vec<u8>>> {
    Ok(tables.meta.get(txn, LOG).map_err(lmdb)?.map(<[u8]>::to_vec))
}

/// How far each source that the graph follows was read, by name.
pub fn sources(tables: &Tables, txn: &RoTxn<'_, AnyTls>) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut fields = Fields(tables.meta.get(txn, SOURCES).map_err(lmdb)?.unwrap_or_default());
    let mut found = BTreeMap::new();
    while !fields.0.is_empty() {
        let name = fields.name()?.to_string();
        let length = fields.u32()? as usize;
        found.insert(name, fields.bytes(length)?.to_vec());
    }
    Ok(found)
}

/// Notes how far a source was read.
pub fn put_source(tables: &Tables, t: &mut Writing<'_>, name: &str, position: &[u8]) -> Result<()> {
    conform::room_for_a_name("sources", name, 0)?;
    let mut all = sources(tables, t)?;
    all.insert(name.to_owned(), position.to_vec());
    let mut bytes = Vec::new();
    for (name, position) in &all {
        put_name(&mut bytes, name);
        bytes.extend_from_slice(&(position.len() as u32).to_le_bytes());
        bytes.extend_from_slice(position);
    }
    tables.meta.put(t, SOURCES, &bytes)
}

/// The beginning of all entries of the directory for a property.
fn listed_prefix(of: PropertyId) -> Vec<u8> {
    [LISTED, &[of.kind as u8], &of.label.0.to_be_bytes(), &of.key.0.to_be_bytes()].concat()
}

/// Notes which shards may have values with some hashes.
pub fn list_shards(tables: &Tables, t: &mut Writing<'_>, of: PropertyId, entries: &[(u64, u16)]) -> Result<()> {
    let prefix = listed_prefix(of);
    entries.iter().try_for_each(|(hash, shard)| {
        tables.meta.put(t, &[&prefix[..], &hash.to_be_bytes(), &shard.to_be_bytes()].concat(), &[])
    })
}

/// The shards that may have a value with a hash, in order.
pub fn listed_shards(tables: &Tables, txn: &RoTxn<'_, AnyTls>, of: PropertyId, hash: u64) -> Result<Vec<u16>> {
    let first = [&listed_prefix(of)[..], &hash.to_be_bytes(), &[0; 2]].concat();
    let last = [&first[..first.len() - 2], &[u8::MAX; 2]].concat();
    let entries = tables.meta.range(txn, &(Bound::Included(&first[..]), Bound::Included(&last[..]))).map_err(lmdb)?;
    let shard = |key: &[u8]| key.last_chunk().map(|shard| u16::from_be_bytes(*shard));
    entries
        .map(|entry| shard(entry.map_err(lmdb)?.0).ok_or_else(|| corrupt("an entry of the directory ends early")))
        .collect()
}

/// Forgets which shards may have values of a property.
pub fn unlist_shards(tables: &Tables, t: &mut Writing<'_>, of: PropertyId) -> Result<()> {
    let first = listed_prefix(of);
    let last = [&first[..], &[u8::MAX; 10]].concat();
    tables.meta.delete_range(t, &(Bound::Included(&first[..]), Bound::Included(&last[..]))).map(|_| ())
}

pub fn count_key(kind: ElementKind, label: LabelId) -> [u8; 8] {
    let [a, b] = label.0.to_be_bytes();
    [b'c', b'o', b'u', b'n', b't', kind as u8, a, b]
}

pub fn counter(tables: &Tables, txn: &RoTxn<'_, AnyTls>, kind: ElementKind, label: LabelId) -> Result<Counter> {
    let Some(bytes) = tables.meta.get(txn, &count_key(kind, label)).map_err(lmdb)? else {
        return Ok(Counter::default());
    };
    let (words, []) = bytes.as_chunks::<8>() else { return Err(corrupt("a counter of the wrong length")) };
    let (next, live, sealed) = match words {
        [next, live] => (next, live, &[0; 8]),
        [next, live, sealed] => (next, live, sealed),
        _ => return Err(corrupt("a counter of the wrong length")),
    };
    let [next, live, sealed] = [next, live, sealed].map(|word| u64::from_le_bytes(*word));
    Ok(Counter { next, live, sealed })
}

pub fn put_counter(tables: &Tables, t: &mut Writing<'_>, kind: ElementKind, label: LabelId, counter: Counter) -> Result<()> {
    // While nothing is sealed, write the two words that formats before segments wrote.
    let words = [counter.next, counter.live, counter.sealed].map(u64::to_le_bytes);
    let words = if counter.sealed == 0 { &words[..2] } else { &words };
    tables.meta.put(t, &count_key(kind, label), words.as_flattened())
}

/// The segments under the tables, oldest first.
pub fn segments(tables: &Tables, txn: &RoTxn<'_, AnyTls>) -> Result<Vec<Named>> {
    let found = match tables.meta.get(txn, b"segments").map_err(lmdb)? {
        None => tables.meta.get(txn, b"segment").map_err(lmdb)?,
        found => found,
    };
    let entry = if format(tables, txn)? < FORMAT_OF_SUMS { 8 } else { 32 };
    let entries = found.unwrap_or_default().chunks(entry);
    entries.map(|entry| named(entry).ok_or_else(|| corrupt("names of segments of the wrong length"))).collect()
}

fn named(entry: &[u8]) -> Option<Named> {
    let (number, rest) = entry.split_first_chunk()?;
    let fingerprint = match rest.split_first_chunk() {
        Some((own, checksum)) => {
            Some(Fingerprint { own: Uuid::from_bytes(*own), checksum: u64::from_le_bytes(checksum.try_into().ok()?) })
        }
        None if rest.is_empty() => None,
        None => return None,
    };
    Some(Named { number: u64::from_le_bytes(*number), fingerprint })
}

pub fn put_segments(tables: &Tables, t: &mut Writing<'_>, named: &[(u64, Fingerprint)]) -> Result<()> {
    let mut bytes = Vec::new();
    for (number, Fingerprint { own, checksum }) in named {
        bytes.extend_from_slice(&number.to_le_bytes());
        bytes.extend_from_slice(own.as_bytes());
        bytes.extend_from_slice(&checksum.to_le_bytes());
    }
    tables.meta.put(t, b"segments", &bytes)?;
    tables.meta.delete(t, b"segment").map(|_| ())
}

/// The id of the database. It is nil if the database is older than such ids.
pub fn database(tables: &Tables, txn: &RoTxn<'_, AnyTls>) -> Result<Uuid> {
    let found = tables.meta.get(txn, DATABASE).map_err(lmdb)?;
    found.map_or(Ok(Uuid::nil()), |bytes| Uuid::from_slice(bytes).map_err(|_| corrupt("an id of the wrong length")))
}

fn schema_version(tables: &Tables, txn: &RoTxn<'_, AnyTls>) -> Result<u64> {
    let found = tables.meta.get(txn, b"schema").map_err(lmdb)?.and_then(|bytes| bytes.try_into().ok());
    found.map(u64::from_le_bytes).ok_or_else(|| corrupt("it has no schema version"))
}

/// The parts of a store's state that rarely change, with their version.
#[derive(Clone)]
pub struct Declared {
    version: u64,
    pub schema: Arc<Schema>,
    pub times: Arc<Times>,
}

impl Declared {
    pub fn new(version: u64, schema: Arc<Schema>, times: Arc<Times>) -> Self {
        Self { version, schema, times }
    }

    pub fn load(tables: &Tables, txn: &RoTxn<'_, AnyTls>) -> Result<Self> {
        let times = Arc::new(Times::load(tables, txn)?);
        Ok(Self { version: schema_version(tables, txn)?, schema: Arc::new(load_schema(tables, txn)?), times })
    }

    /// The catalog of a transaction: this one if its version is current, otherwise loaded anew.
    /// Takes over another one, unless it is older.
    pub fn advance(&mut self, to: Self) {
        if to.version > self.version {
            *self = to;
        }
    }

    pub fn refreshed(&self, tables: &Tables, txn: &RoTxn<'_, AnyTls>) -> Result<Self> {
        if schema_version(tables, txn)? == self.version { Ok(self.clone()) } else { Self::load(tables, txn) }
    }
}

fn load_schema(tables: &Tables, txn: &RoTxn<'_, AnyTls>) -> Result<Schema> {
    let id_space = match tables.meta.get(txn, b"space").map_err(lmdb)? {
        Some([0]) => IdSpace::Graph,
        Some([1]) => IdSpace::Label,
        _ => return Err(corrupt("it does not state a known id space")),
    };
    let mut schema = Schema { id_space, ..Schema::default() };
    let has_properties = has_no_lists(tables, txn)?;
    for record in tables.schema.iter(txn).map_err(lmdb)? {
        let (key, value) = record.map_err(lmdb)?;
        let mut fields = Fields(value);
        match key {
            [0, kind @ (0 | 1), at @ ..] => {
                let kind = if *kind == 0 { ElementKind::Vertex } else { ElementKind::Edge };
                let label = fields.label(kind, has_properties)?;
                push_at(schema.labels_mut(kind), at, label, fields.flag()?)?;
                fields.end()?;
            }
            [1, at @ ..] => {
                let name = fields.name()?;
                push_at(&mut schema.keys, at, name, fields.flag()?)?;
                fields.end()?;
            }
            [2, at @ ..] => {
                let (label, key) = (LabelId(fields.u16()?), KeyId(fields.u16()?));
                let unique = fields.flag()?;
                let kind = if fields.flag()? { ElementKind::Edge } else { ElementKind::Vertex };
                let index = IndexSchema { of: PropertyId { kind, label, key }, unique, routed: fields.flag()? };
                fields.end()?;
                must_be_next(at, schema.indexes.len())?;
                schema.indexes.push(index);
            }
            [3, kind, a, b, c, d] => {
                let kind = if *kind == 0 { ElementKind::Vertex } else { ElementKind::Edge };
                let labels = schema.labels_mut(kind);
                let label = usize::from(u16::from_be_bytes([*a, *b]));
                if label >= labels.len() {
                    return Err(corrupt("its schema has a property without a label"));
                }
                let mut property = fields.property(KeyId(u16::from_be_bytes([*c, *d])))?;
                property.required = fields.flag()?;
                fields.end()?;
                labels[label].properties.put(property);
            }
            _ => return Err(corrupt("a record of an unknown kind in its schema")),
        }
    }
    Ok(schema)
}

fn push_at<T: HasName>(list: &mut Names<T>, at: &[u8], item: T, is_dropped: bool) -> Result<()> {
    must_be_next(at, list.len())?;
    let number = list.push(item);
    if is_dropped {
        list.drop_name(number);
    }
    Ok(())
}

fn must_be_next(at: &[u8], next: usize) -> Result<()> {
    let at = at.try_into().map(u16::from_be_bytes).ok().map(usize::from);
    if at == Some(next) { Ok(()) } else { Err(corrupt("its schema has gaps")) }
}

/// A record of the table `schema`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Record {
    Label(ElementKind, LabelId),
    Key(KeyId),
    Index(u16),
    Property(ElementKind, LabelId, KeyId),
}

impl Record {
    /// All records of a schema.
    fn all(schema: &Schema) -> Vec<Self> {
        let mut all: Vec<Self> = (0..schema.keys.len()).map(|at| Record::Key(KeyId(at as u16))).collect();
        all.extend((0..schema.indexes.len()).map(|at| Record::Index(at as u16)));
        for kind in [ElementKind::Vertex, ElementKind::Edge] {
            for (at, label) in schema.labels(kind).iter().enumerate() {
                let id = LabelId(at as u16);
                all.push(Record::Label(kind, id));
                all.extend(label.properties.keys().map(|key| Record::Property(kind, id, key)));
            }
        }
        all
    }

    fn key(self) -> Vec<u8> {
        let (first, numbers) = match self {
            Record::Label(kind, label) => (vec![0, kind as u8], vec![label.0]),
            Record::Key(key) => (vec![1], vec![key.0]),
            Record::Index(at) => (vec![2], vec![at]),
            Record::Property(kind, label, key) => (vec![3, kind as u8], vec![label.0, key.0]),
        };
        first.into_iter().chain(numbers.into_iter().flat_map(u16::to_be_bytes)).collect()
    }

    /// The value of the record; `None` if the schema has no such thing.
    fn value(self, schema: &Schema) -> Option<Vec<u8>> {
        Some(match self {
            Record::Label(kind, label) => {
                let mut out = label_record(schema.label_schema(kind, label)?);
                out.push(u8::from(schema.labels(kind).is_dropped(label.0)));
                out
            }
            Record::Key(key) => {
                let mut out = Vec::new();
                put_name(&mut out, schema.keys.get(usize::from(key.0))?);
                out.push(u8::from(schema.keys.is_dropped(key.0)));
                out
            }
            Record::Index(at) => {
                let index = schema.indexes.get(usize::from(at))?;
                let IndexSchema { of, unique, routed } = *index;
                let flags = [unique, of.kind == ElementKind::Edge, routed].map(u8::from);
                [&of.label.0.to_le_bytes()[..], &of.key.0.to_le_bytes(), &flags].concat()
            }
            Record::Property(kind, label, key) => property_record(schema.label_schema(kind, label)?.property(key)?),
        })
    }

    fn put(self, tables: &Tables, t: &mut Writing<'_>, schema: &Schema) -> Result<()> {
        match self.value(schema) {
            Some(value) => tables.schema.put(t, &self.key(), &value),
            None => tables.schema.delete(t, &self.key()).map(|_| ()),
        }
    }
}

/// Writes these records of a schema, and its next version, which it returns.
pub fn store_schema(tables: &Tables, t: &mut Writing<'_>, records: &BTreeSet<Record>, schema: &Schema) -> Result<u64> {
    records.iter().try_for_each(|record| record.put(tables, t, schema))?;
    let version = schema_version(tables, t)? + 1;
    tables.meta.put(t, b"schema", &version.to_le_bytes())?;
    Ok(version)
}

fn put_name(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(&(name.len() as u16).to_le_bytes());
    out.extend_from_slice(name.as_bytes());
}

fn label_record(label: &LabelSchema) -> Vec<u8> {
    let mut out = Vec::new();
    put_name(&mut out, &label.name);
    // Vertices have no time, and edges no key.
    out.extend_from_slice(&label.time.or(label.key).map_or(NO_KEY, |key| u32::from(key.0)).to_le_bytes());
    out.extend_from_slice(&(label.further.size() as u32).to_le_bytes());
    label.further.iter().for_each(|further| out.extend_from_slice(&further.0.to_le_bytes()));
    out.extend_from_slice(&(label.ends.size() as u32).to_le_bytes());
    for (source, target) in &label.ends {
        out.extend_from_slice(&source.0.to_le_bytes());
        out.extend_from_slice(&target.0.to_le_bytes());
    }
    out
}

fn property_record(property: &PropertySchema) -> Vec<u8> {
    let mut out = property.types.0.to_le_bytes().to_vec();
    out.push(property.cardinality as u8);
    out.push(u8::from(property.has_meta) | property.encoding.code() << 1);
    out.push(property.declared.map_or(UNDECLARED, |t| t as u8));
    out.push(u8::from(property.required));
    out
}

struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk().ok_or_else(|| corrupt("a schema record ends early"))?;
        self.0 = rest;
        Ok(*taken)
    }

    fn u8(&mut self) -> Result<u8> {
        self.array().map(|[byte]| byte)
    }

    /// A flag among the last bytes of a record. Older formats lack it, which means false.
    fn flag(&mut self) -> Result<bool> {
        let Some((flag, rest)) = self.0.split_first() else { return Ok(false) };
        self.0 = rest;
        match flag {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(corrupt("a schema record with an unknown flag")),
        }
    }

    fn end(&self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(corrupt("a schema record that goes on too long")) }
    }

    fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn bytes(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(|| corrupt("a schema record ends early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn name(&mut self) -> Result<Arc<str>> {
        let length = usize::from(self.u16()?);
        mangrove_segment::value::text(self.bytes(length)?).map(Arc::from)
    }

    fn label(&mut self, kind: ElementKind, has_properties: bool) -> Result<LabelSchema> {
        let mut label = LabelSchema::new(self.name()?);
        let key = match self.u32()? {
            NO_KEY => None,
            key => Some(KeyId(u16::try_from(key).map_err(|_| corrupt("the key of a label is out of range"))?)),
        };
        match kind {
            ElementKind::Vertex => label.key = key,
            ElementKind::Edge => label.time = key,
        }
        let properties = if has_properties { self.u32()? } else { 0 };
        for _ in 0..properties {
            let key = KeyId(self.u16()?);
            label.properties.put(self.property(key)?);
        }
        for _ in 0..self.u32()? {
            label.further.insert_mut(LabelId(self.u16()?));
        }
        for _ in 0..self.u32()? {
            label.ends.insert_mut((LabelId(self.u16()?), LabelId(self.u16()?)));
        }
        Ok(label)
    }

    fn property(&mut self, key: KeyId) -> Result<PropertySchema> {
        let mut property = PropertySchema::new(key);
        property.types = TypeSet(self.u32()?);
        property.cardinality = match self.u8()? {
            0 => Cardinality::Single,
            1 => Cardinality::List,
            2 => Cardinality::Set,
            _ => return Err(corrupt("an unknown cardinality")),
        };
        let flags = self.u8()?;
        property.has_meta = flags & 1 != 0;
        property.encoding = Encoding::from_code(flags >> 1).ok_or_else(|| corrupt("an unknown encoding"))?;
        property.declared = match self.u8()? {
            UNDECLARED => None,
            code => Some(ValueType::from_code(code).ok_or_else(|| corrupt("an unknown declared type"))?),
        };
        Ok(property)
    }
}
