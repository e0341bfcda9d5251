//! Opens a store: its environment, its tables and its segments.

use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use heed::{Env, WithoutTls};
use mangrove_graph::Result;

use crate::format::catalog::{self, Declared};
use crate::format::keys;
use crate::format::named::Named;
use crate::lmdb::bloom::Blooms;
use crate::lmdb::env;
use crate::lmdb::readers::Readers;
use crate::lmdb::table::{Tables, Writing};
use crate::options::{DATA, HotOptions};
use crate::read::HotSnapshot;
use crate::segments::segment::{self, Segment, Segments};
use crate::shared::notes::Notes;
use crate::shared::space;
use crate::shared::state::StoreState;
use crate::system::fault::{self, corrupt, lmdb};
use crate::system::identity::{FileId, Process};
use crate::turns::keeper::Keeper;
use crate::upkeep::compact;

/// Opens the store in a directory, or makes one there. `scratch` says that it is removed when it is closed.
pub fn open(dir: &Path, options: &HotOptions, scratch: bool) -> Result<Arc<StoreState>> {
    let shared = open_tables(dir, options, scratch)?;
    // Opening the segments now shows whether they are the ones that the tables name.
    match options.read_only {
        true => drop(HotSnapshot::new(&shared)?),
        false => {
            let txn = shared.env.write_txn().map_err(lmdb)?;
            let named = catalog::segments(&shared.tables, &txn)?;
            shared.segments(&named)?;
            drop(txn);
            // A killed writer leaves what it had not committed.
            space::cut_tail(&shared);
        }
    }
    Ok(shared)
}

fn open_tables(dir: &Path, options: &HotOptions, scratch: bool) -> Result<Arc<StoreState>> {
    let readers = Readers::map(dir);
    let env = env::open(dir, &readers, options)?;
    // A process that may write opens in write transactions. So opening needs no place in the table of readers, which may
    // be full.
    let opening = || env::Opening::begin(&env, &readers, options.read_only);
    let tables = match env::open_tables(&env, opening()?)? {
        Some(tables) => tables,
        None if options.read_only || options.must_exist => return Err(corrupt("its tables are missing")),
        None => env::create_tables(&env, &catalog::first_meta(options.id_space, options.sides))?,
    };
    catalog::check_format(&tables, opening()?.txn())?;
    if !options.read_only {
        upgrade(&env, &tables)?;
        sweep(&env, &tables)?;
    }
    let begun = opening()?;
    let catalog = Mutex::new(Declared::load(&tables, begun.txn())?);
    let sides = catalog::sides(&tables, begun.txn())?;
    let id = catalog::database(&tables, begun.txn())?;
    let newest = catalog::segments(&tables, begun.txn())?.into_iter().map(|named| named.number).max();
    drop(begun);
    let bound = |name: &str| {
        let path = env.path().join(name);
        FileId::at(&path).map(|id| (path.clone(), id)).map_err(fault::io(&path))
    };
    let lock = options.lock.filter(|_| !options.read_only).map(bound).transpose()?;
    let (data, file) = bound(DATA)?;
    let HotOptions { read_only, durability, seal_bytes, .. } = *options;
    Ok(Arc::new(StoreState {
        env,
        readers,
        tables,
        read_only,
        durability,
        scratch,
        file,
        files: [(data, file)].into_iter().chain(lock).collect(),
        id,
        sides,
        process: Process::this(),
        catalog,
        segments: Mutex::default(),
        notes: Notes::default(),
        blooms: Blooms::default(),
        newest_segment: Mutex::new(newest.unwrap_or(0)),
        handles: AtomicUsize::new(0),
        turn: Arc::default(),
        sealing: Arc::default(),
        keeper: Keeper::new(seal_bytes),
        upkeep: compact::keep_up,
        looked: Mutex::default(),
    }))
}

/// Brings tables that an older version wrote to the format of this one. O(size of the tables), once.
fn upgrade(env: &Env<WithoutTls>, tables: &Tables) -> Result<()> {
    let txn = env.write_txn().map_err(lmdb)?;
    if !catalog::is_old(tables, &txn)? {
        return Ok(());
    }
    let open = |named: Named| Segment::found(env.path(), named.number).map(Arc::new);
    let segments = catalog::segments(tables, &txn)?.into_iter().map(open).collect::<Result<_>>()?;
    let mut t = Writing::with_first_sums(txn, tables)?;
    let schema = catalog::upgrade(tables, &mut t, &Segments::new(segments).fingerprints())?;
    keys::list_all(tables, &mut t, &schema)?;
    t.commit(tables).map(drop)
}

/// Removes the files of segments that a crash left: those that the last commit does not name. docs/format/hot.md says why
/// this is safe, and why nothing less is.
fn sweep(env: &Env<WithoutTls>, tables: &Tables) -> Result<()> {
    let txn = env.write_txn().map_err(lmdb)?;
    let named = catalog::segments(tables, &txn)?;
    let left_over = segment::others(env.path(), &named).map_err(fault::io(env.path()))?;
    if left_over.is_empty() {
        return Ok(());
    }
    if env.info().last_txn_id + 1 != txn.id() {
        return Err(corrupt("LMDB uses another commit than the last one in its file"));
    }
    // A killed writer may not have waited for the disk. Its commit must be on disk before the files it replaced go.
    env.force_sync().map_err(lmdb)?;
    segment::remove_all(&left_over).map_err(fault::io(env.path()))
}
