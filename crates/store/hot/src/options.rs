//! How a store is opened.

use mangrove_graph::IdSpace;

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
        let (durability, id_space) = (Durability::default(), IdSpace::default());
        let (seal_bytes, verify_bytes) = (SEAL_BYTES, VERIFY_BYTES);
        Self { read_only: false, durability, must_exist: false, id_space, seal_bytes, verify_bytes, lock: None }
    }
}

/// What the tables may take before they are sealed, by default.
pub const SEAL_BYTES: u64 = 64 << 20;

/// How large a file may be and still be verified whenever it is opened, by default.
pub const VERIFY_BYTES: u64 = 256 << 20;
