//! What stands in the log, as bytes.
//!
//! ```text
//!   "MGLG" | version 1 | 0, and the record by postcard                    | XXH3 of all before 8
//!                        1, its length 4, and the same compressed by zstd
//! ```
//! The version of a record is that of the first Mangrove that can read it: 5 if its changes are of a routed index, 3 if they say how far a source
//! was read, 2 for a node that gives a shard away, 1 for all others. A record that says which versions a graph allows, and a base that does so,
//! have version 4 or the one that they allow. Such a base has one byte more behind it: that version.

use std::borrow::Cow;
use std::sync::Arc;

use mangrove_graph::{GraphError, Result};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::placement::Placement;

const MAGIC: &[u8; 4] = b"MGLG";
/// Records of later versions are refused: who cannot read a record must not go on.
pub const VERSION_NEWEST: u8 = VERSION_OF_ROUTES;
/// What every Mangrove can read.
pub const VERSION_FIRST: u8 = 1;
const VERSION_OF_DROPS: u8 = 2;
/// Changes may say how far a source was read.
pub const VERSION_OF_SOURCES: u8 = 3;
/// What a graph allows whose log says nothing of it: it was made before logs said so.
pub const VERSION_UNSAID: u8 = VERSION_OF_SOURCES;
const VERSION_OF_ALLOWING: u8 = 4;
/// Changes may say which shards may have a value.
pub const VERSION_OF_ROUTES: u8 = 5;
const SUM: usize = 8;
const PLAIN: u8 = 0;
const COMPRESSED: u8 = 1;
/// Records of so many bytes and more are compressed.
const COMPRESSED_FROM: usize = 1 << 10;
const LEVEL: i32 = 1;
/// The most bytes of a record before it is compressed.
pub const BYTES_MAX: usize = 60 << 20;

/// By this a client asks whether its transaction was made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct RequestId(pub u128);

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Record {
    /// What the graph is. Only the first one counts.
    Graph(GraphRecord),
    /// A process is there, and has these shards.
    Member(Member),
    /// A writer begins a term.
    Open {
        term: u64,
        /// Its process.
        writer: u64,
    },
    /// The writer gives the role up. Nobody needs to wait for it.
    Close {
        term: u64,
        writer: u64,
    },
    /// The writer is there, and has nothing to write. Here is a cut.
    Alive {
        term: u64,
        writer: u64,
    },
    Commit(Commit),
    /// The first changes of a transaction that is too large for one record. It does nothing by itself: a commit names it by where it stands.
    Part {
        /// Drawn for this part. By it, who sent it finds it in the log.
        id: u128,
        shard: u16,
        changes: Arc<[u8]>,
        /// As for a [`Section`].
        #[serde(skip, default = "first")]
        version: u8,
    },
    /// What all records before this one say. A log may begin here.
    Base(Base),
    /// A process has a shard no longer. It counts only if another node has it.
    Dropped {
        /// The name of its node.
        name: String,
        process: u64,
        shard: u16,
    },
    /// From here on, records may have this version: all nodes read it. An older Mangrove stops here.
    Allow {
        version: u8,
    },
}

/// What one who reads all records before a place knows there. It counts only if that is so, or if the log begins with it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Base {
    /// Drawn for this record. By it, who sent it finds it in the log.
    pub id: u128,
    pub graph: GraphRecord,
    pub standing: Standing,
    pub members: Vec<Member>,
    /// Offsets are so much larger than those of the carrier: the log before was lost, and this one goes on from a backup.
    pub shift: u64,
    /// The version of records that the graph allows, if the log has said so.
    #[serde(skip)]
    pub allowed: Option<u8>,
}

/// What never changes in the life of a graph.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct GraphRecord {
    /// Drawn when the graph was made; not 0.
    pub id: u64,
    pub name: String,
    pub placement: Placement,
}

/// What the records before say: who writes, and which commit was the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Standing {
    /// The id of the graph; 0 before its record.
    pub graph: u64,
    /// 0 before the first writer.
    pub term: u64,
    /// 0 if it gave the role up.
    pub writer: u64,
    /// That of the last commit; 0 before the first.
    pub number: u64,
}

/// A process that has shards, or had them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Member {
    /// What stays when it starts again. The last record of a name counts.
    pub name: String,
    /// Drawn anew at each start.
    pub process: u64,
    /// Where it listens.
    pub address: String,
    pub shards: Vec<u16>,
}

impl Member {
    /// Says that the node of a name is no member any more.
    pub fn gone(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    pub fn is_gone(&self) -> bool {
        self.process == 0
    }
}

/// A group of transactions: all of them, or none.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Commit {
    pub term: u64,
    /// Drawn anew whenever a writer starts.
    pub writer: u64,
    /// Whether every shard can be read as it is after this commit.
    pub is_cut: bool,
    /// 1 for the first commit of a graph. Snapshots are named by it.
    pub number: u64,
    /// Whose transactions it has.
    pub requests: Vec<RequestId>,
    /// What it does, shard by shard, in order of their numbers.
    pub sections: Vec<Section>,
}

/// What a commit does to one shard.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Section {
    pub shard: u16,
    /// Parts before the commit that hold the first of the changes, in order.
    pub earlier: Vec<PartAt>,
    pub changes: Arc<[u8]>,
    /// The first version of records that can have these changes. It does not travel: who writes them to the log finds it out.
    #[serde(skip, default = "first")]
    pub version: u8,
}

/// What is not written says nothing.
fn first() -> u8 {
    VERSION_FIRST
}

/// Where a part stands in the log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct PartAt {
    pub offset: u64,
    /// The checksum of its record.
    pub sum: u64,
}

impl Section {
    /// Changes that are in one record.
    pub fn new(shard: u16, changes: impl Into<Arc<[u8]>>) -> Self {
        Self { shard, earlier: Vec::new(), changes: changes.into(), version: VERSION_FIRST }
    }
}

impl Commit {
    /// What it does to a shard.
    pub fn section(&self, shard: u16) -> Option<&Section> {
        self.sections.iter().find(|section| section.shard == shard)
    }
}

impl Record {
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let invalid = |error: String| GraphError::Invalid(format!("a record: {error}"));
        let plain = postcard::to_allocvec(self).map_err(|error| invalid(error.to_string()))?;
        if plain.len() > BYTES_MAX {
            return Err(GraphError::Limit {
                what: "a transaction is too large for the log".into(),
                limit: BYTES_MAX as u64,
            });
        }
        let plain = [plain, self.behind()].concat();
        let mut bytes = [MAGIC.as_slice(), &[self.version()]].concat();
        if plain.len() < COMPRESSED_FROM {
            bytes.push(PLAIN);
            bytes.extend_from_slice(&plain);
        } else {
            bytes.push(COMPRESSED);
            bytes.extend_from_slice(&(plain.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&zstd::bulk::compress(&plain, LEVEL).map_err(|error| invalid(error.to_string()))?);
        }
        bytes.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
        Ok(bytes)
    }

    /// The first version that can read it.
    pub fn version(&self) -> u8 {
        match self {
            Record::Dropped { .. } => VERSION_OF_DROPS,
            Record::Commit(commit) => commit.sections.iter().map(|section| section.version).max().unwrap_or(VERSION_FIRST),
            Record::Part { version, .. } => *version,
            Record::Allow { version } => VERSION_OF_ALLOWING.max(*version),
            Record::Base(Base { allowed: Some(version), .. }) => VERSION_OF_ALLOWING.max(*version),
            _ => VERSION_FIRST,
        }
    }

    /// What stands behind it.
    fn behind(&self) -> Vec<u8> {
        if let Record::Base(base) = self { base.allowed.into_iter().collect() } else { Vec::new() }
    }

    /// The record with what stands behind it; `None` if nothing may stand there.
    fn with_behind(self, version: u8, behind: &[u8]) -> Option<Self> {
        match (self, behind) {
            (record, []) => Some(record),
            (Record::Base(base), [allowed]) if version >= VERSION_OF_ALLOWING => {
                Some(Record::Base(Base { allowed: Some(*allowed), ..base }))
            }
            _ => None,
        }
    }

    /// The bytes of its changes.
    pub fn bytes(&self) -> usize {
        match self {
            Record::Commit(commit) => commit.sections.iter().map(|section| section.changes.len()).sum(),
            Record::Part { changes, .. } => changes.len(),
            _ => 0,
        }
    }

    /// The checksum at the end of the bytes of a record.
    pub fn sum_of(bytes: &[u8]) -> u64 {
        bytes.last_chunk::<SUM>().map_or(0, |sum| u64::from_le_bytes(*sum))
    }

    /// Reads a record. Takes a few times 60 MB of memory at most.
    ///
    /// # Errors
    /// [`GraphError::Corrupt`] if the bytes are not a record, [`GraphError::Invalid`] if another version wrote it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let damaged = || GraphError::corrupt("a damaged record in the log");
        let (body, sum) = bytes.split_last_chunk::<SUM>().ok_or_else(damaged)?;
        let (version, record) = body.strip_prefix(MAGIC).and_then(<[u8]>::split_first).ok_or_else(damaged)?;
        if xxh3_64(body) != u64::from_le_bytes(*sum) {
            return Err(damaged());
        }
        if !(1..=VERSION_NEWEST).contains(version) {
            return Err(GraphError::Invalid(format!(
                "the log has records of version {version}, and this Mangrove reads them up to version {VERSION_NEWEST}: use the version that wrote them"
            )));
        }
        let plain = match record.split_first().ok_or_else(damaged)? {
            (&PLAIN, plain) => Cow::Borrowed(plain),
            (&COMPRESSED, rest) => {
                let (length, compressed) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
                let length = Some(u32::from_le_bytes(*length) as usize).filter(|length| *length <= BYTES_MAX);
                zstd::bulk::decompress(compressed, length.ok_or_else(damaged)?).map_err(|_| damaged())?.into()
            }
            _ => return Err(damaged()),
        };
        let (record, behind) = postcard::take_from_bytes::<Self>(&plain).map_err(|_| damaged())?;
        record.with_behind(*version, behind).ok_or_else(damaged)
    }
}

#[cfg(test)]
mod tests {
    use mangrove_graph::IdSpace;

    use super::*;

    fn records() -> [Record; 11] {
        let section = |shard| {
            let earlier = vec![PartAt { offset: 3, sum: 1 << 40 }; usize::from(shard % 7)];
            Section { earlier, ..Section::new(shard, vec![7; 5 * usize::from(shard)]) }
        };
        let commit = Commit {
            term: 3,
            writer: 1 << 60,
            number: 9,
            is_cut: true,
            requests: vec![RequestId(5)],
            sections: vec![section(0), section(300)],
        };
        let graph =
            GraphRecord { id: 7, name: "air".into(), placement: Placement { shards: 4, seed: 1, id_space: IdSpace::Label } };
        let member = Member { name: "one".into(), process: 5, address: "127.0.0.1:7701".into(), shards: vec![0, 3] };
        let standing = Standing { graph: 7, term: 3, writer: 1 << 60, number: 9 };
        let base = Base {
            id: 1 << 90,
            graph: graph.clone(),
            standing,
            members: vec![member.clone()],
            shift: 1 << 40,
            allowed: None,
        };
        [
            Record::Base(Base { allowed: Some(VERSION_NEWEST), ..base.clone() }),
            Record::Base(base),
            Record::Graph(graph),
            Record::Member(member),
            Record::Open { term: 1, writer: 2 },
            Record::Close { term: 1, writer: 2 },
            Record::Alive { term: 1, writer: 2 },
            Record::Commit(commit),
            Record::Part { id: 1 << 100, shard: 3, changes: vec![9; 3000].into(), version: VERSION_FIRST },
            Record::Dropped { name: "one".into(), process: 5, shard: 3 },
            Record::Allow { version: VERSION_NEWEST },
        ]
    }

    #[test]
    fn records_come_back() {
        for record in records() {
            assert_eq!(Record::from_bytes(&record.to_bytes().unwrap()).unwrap(), record);
        }
    }

    #[test]
    fn a_record_says_from_which_version_on_it_can_be_read() {
        let section = |version| Section { version, ..Section::new(0, vec![1]) };
        let commit = |versions: &[u8]| {
            let sections = versions.iter().map(|version| section(*version)).collect();
            Record::Commit(Commit { term: 1, writer: 1, is_cut: false, number: 1, requests: Vec::new(), sections })
        };
        let part = |version| Record::Part { id: 1, shard: 0, changes: vec![1].into(), version };
        let said = |record: Record| record.to_bytes().unwrap()[MAGIC.len()];
        assert_eq!([commit(&[]), commit(&[1, 1]), part(1)].map(said), [1; 3]);
        assert_eq!([commit(&[1, VERSION_OF_SOURCES]), part(VERSION_OF_SOURCES)].map(said), [3; 2]);
        assert_eq!([commit(&[VERSION_OF_ROUTES, 1]), part(VERSION_OF_ROUTES)].map(said), [5; 2]);
        assert_eq!(said(Record::Dropped { name: "one".into(), process: 5, shard: 3 }), 2);
        let base = |allowed| Record::Base(Base { allowed, ..records().into_iter().find_map(base_of).unwrap() });
        assert_eq!([None, Some(2), Some(9)].map(base).map(said), [1, 4, 9]);
        assert_eq!([2, 4, 9].map(|version| Record::Allow { version }).map(said), [4, 4, 9]);
    }

    fn base_of(record: Record) -> Option<Base> {
        if let Record::Base(base) = record { Some(base) } else { None }
    }

    #[test]
    fn damaged_records_are_refused() {
        for record in records() {
            let bytes = record.to_bytes().unwrap();
            for at in 0..bytes.len() {
                let mut bent = bytes.clone();
                bent[at] ^= 4;
                assert!(Record::from_bytes(&bent).is_err(), "byte {at} of {record:?}");
                assert!(Record::from_bytes(&bytes[..at]).is_err());
            }
            assert!(Record::from_bytes(&[&bytes[..], b"x"].concat()).is_err());
        }
    }
}
