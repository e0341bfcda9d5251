//! How a store is opened.

use mangrove_graph::{ElementKind, IdSpace, LabelId};

/// LMDB's file, within the directory of a store.
pub const DATA: &str = "data.mdb";

/// What a commit promises.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Durability {
    /// A commit is on the disk when it returns. It survives a crash of the process or of the system, and a power failure.
    #[default]
    Full,
    /// A commit is handed to the operating system, and does not wait for the disk. It survives a crash of the process.
    /// **After a crash of the system or a power failure the last commits may be lost. Pages reach the disk in any order, so
    /// the whole database may be damaged beyond use.** Use it for data that can be loaded again. [`Hot::sync`](crate::Hot::sync) makes all of
    /// it durable.
    Relaxed,
    /// A crash of the system or a power failure may undo the last commits, and damages nothing. For a store that follows a log, which
    /// brings them back.
    Replayed,
}

/// Which sides of its edges a store lists.
///
/// A store that is a shard of a larger graph keeps the two sides of an edge apart, because the source and the target may be in different
/// shards. There, each edge label of the graph is two labels: number 2k has the edges that leave vertices of the shard, and 2k + 1 those
/// that come into them. The vertex at the other end need not be in the store, and is in no list of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sides {
    /// Every edge is in the lists of its source and of its target.
    #[default]
    Together,
    /// Edges of even labels are in the lists of their sources, those of odd labels in the lists of their targets.
    Apart,
}

impl Sides {
    /// Whether edges of a label are in the lists of outgoing, or else incoming, edges.
    #[inline]
    pub(crate) fn lists(self, outgoing: bool, label: LabelId) -> bool {
        self == Sides::Together || label.0.is_multiple_of(2) == outgoing
    }

    /// Whether elements of a label are found by the ids that they were given. An edge that comes into a shard has its own id as such an id,
    /// and is found by its target.
    pub(crate) fn names(self, kind: ElementKind, label: LabelId) -> bool {
        self == Sides::Together || kind == ElementKind::Vertex || label.0.is_multiple_of(2)
    }
}

/// How a store is opened.
#[derive(Clone, Copy, Debug)]
pub struct HotOptions {
    /// Only read. Works beside a writing process, and where nothing may be written.
    pub read_only: bool,
    pub durability: Durability,
    /// Make no store: a missing one is damage.
    pub must_exist: bool,
    /// The id space of a new store. An existing store keeps its own.
    pub id_space: IdSpace,
    /// Which sides of its edges a new store lists. An existing store keeps its way.
    pub sides: Sides,
    /// Once the tables take this many bytes, they are sealed in the background; never if it is 0.
    pub seal_bytes: u64,
    /// Opening a store verifies the file of its tables if that has at most this many bytes.
    pub verify_bytes: u64,
    /// The file whose lock says which process writes, as seen from the store's directory. Writing fails once this file was
    /// deleted or replaced.
    pub lock: Option<&'static str>,
}

impl Default for HotOptions {
    fn default() -> Self {
        let (durability, id_space, sides) = (Durability::default(), IdSpace::default(), Sides::default());
        let (seal_bytes, verify_bytes) = (SEAL_BYTES, VERIFY_BYTES);
        Self { read_only: false, durability, must_exist: false, id_space, sides, seal_bytes, verify_bytes, lock: None }
    }
}

/// What the tables may take before they are sealed, by default.
pub const SEAL_BYTES: u64 = 64 << 20;

/// How large a file may be and still be verified whenever it is opened, by default.
pub const VERIFY_BYTES: u64 = 256 << 20;
