//! Opens LMDB's environment: verifies its file, and puts in order what a killed writer left.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, io};

use heed::types::Bytes;
use heed::{AnyTls, CommitOrAbort, Env, EnvFlags, EnvOpenOptions, RoTxn, RwTxn, WithoutTls};
use mangrove_graph::{GraphError, Result};

use crate::lmdb::pages::{MAP_BYTES_MAX, Pages};
use crate::lmdb::readers::{LOCK, Readers};
use crate::lmdb::spare::ReadTxn;
use crate::lmdb::table::{self, NAMES, Tables};
use crate::options::{DATA, Durability, HotOptions};
use crate::system::fault::{self, corrupt, lmdb};

/// The least address space to reserve for the map. Only the part that holds data takes memory or disk. So the map never has
/// to move, and some hundred databases fit into one process.
const MAP_BYTES: u64 = 1 << 38;
/// Places for readers, for all processes together. Each process may have a thousand unfinished streams.
const READERS_MAX: u32 = 16_384;
/// How long an opening waits for a process that writes without the right to.
const INTRUDER_MAX: Duration = Duration::from_secs(5);
/// How long to wait for another thread to finish closing a store.
const CLOSING_MAX: Duration = Duration::from_secs(10);
/// How often verification starts again because a writer has overwritten the meta page that it began with.
const VERIFY_TRIES: u32 = 20;

/// Opens the environment in a directory, and verifies its file. It verifies the meta pages before LMDB reads them. It
/// verifies all other pages before LMDB follows them, if they take at most [`HotOptions::verify_bytes`] or the file is
/// shorter than they are.
///
/// # Errors
/// [`GraphError::Corrupt`] with what is damaged; [`GraphError::Storage`] if it cannot be opened.
pub fn open(dir: &Path, readers: &Readers, options: &HotOptions) -> Result<Env<WithoutTls>> {
    let data = dir.join(DATA);
    if fs::metadata(&data).is_ok_and(|found| found.len() > 0) {
        Pages::open(&data)?;
    }
    let env = open_env(dir, options)?;
    if !options.read_only {
        recover(&env)?;
        env.clear_stale_readers().map_err(lmdb)?;
    }
    verify(&env, readers, options.read_only, options.verify_bytes)?;
    Ok(env)
}

/// A transaction in which a store is opened. A writer takes one that writes, as that needs no place in the table of readers.
pub enum Opening<'e> {
    Reading(ReadTxn),
    Writing(RwTxn<'e>),
}

impl<'e> Opening<'e> {
    pub fn begin(env: &'e Env<WithoutTls>, readers: &Readers, read_only: bool) -> Result<Self> {
        match read_only {
            true => readers.begin(env).map(Self::Reading),
            false => env.write_txn().map(Self::Writing).map_err(lmdb),
        }
    }

    pub fn txn(&self) -> &RoTxn<'_, AnyTls> {
        match self {
            Self::Reading(txn) => txn,
            Self::Writing(txn) => txn,
        }
    }

    /// The commit it sees.
    fn commit(&self) -> u64 {
        match self {
            Self::Reading(txn) => txn.id() as u64,
            Self::Writing(txn) => txn.id() as u64 - 1,
        }
    }
}

/// Verifies the last commit if its pages take at most `bytes_max` bytes, or if the file is shorter than they are.
pub fn verify(env: &Env<WithoutTls>, readers: &Readers, read_only: bool, bytes_max: u64) -> Result<()> {
    let data = env.path().join(DATA);
    for _ in 0..VERIFY_TRIES {
        // No page of this commit is used again while the transaction lasts.
        let begun = Opening::begin(env, readers, read_only)?;
        let pages = Pages::open(&data)?;
        let Some(meta) = pages.meta_of(begun.commit()) else { continue };
        let is_wanted = meta.bytes() <= bytes_max || pages.is_short_of(&meta)?;
        match if is_wanted { table::verify(&pages, &meta) } else { Ok(()) } {
            // LMDB does not know a reader that may not write the lock file. Later commits may reuse the pages of such a
            // reader.
            Err(_) if Pages::open(&data)?.newest() != meta.transaction => {}
            verified => return verified,
        }
    }
    Err(GraphError::Invalid("cannot verify the database while others write to it so fast: try again".into()))
}

fn open_env(dir: &Path, options: &HotOptions) -> Result<Env<WithoutTls>> {
    let file_bytes = fs::metadata(dir.join(DATA)).map(|m| m.len() as usize).unwrap_or(0);
    let mut flags = EnvFlags::empty();
    if options.read_only {
        flags |= EnvFlags::READ_ONLY;
    }
    match options.durability {
        Durability::Full => {}
        Durability::Relaxed => flags |= EnvFlags::NO_SYNC,
        Durability::Replayed => flags |= EnvFlags::NO_META_SYNC,
    }
    let grown = (file_bytes as u64).saturating_mul(4).next_power_of_two();
    let mut map_bytes = grown.clamp(MAP_BYTES, MAP_BYTES_MAX) as usize;
    loop {
        match open_mapped(dir, flags, map_bytes) {
            Err(heed::Error::Io(error)) if error.kind() == io::ErrorKind::OutOfMemory => {
                map_bytes /= 2;
                if map_bytes < (2 * file_bytes).max(1 << 26) {
                    return Err(GraphError::storage(error));
                }
            }
            // The lock file cannot be written, so a writer cannot learn from LMDB which pages are being read. Only a user
            // with more rights can be that writer.
            Err(heed::Error::Io(error))
                if error.kind() == io::ErrorKind::PermissionDenied
                    && options.read_only
                    && !flags.contains(EnvFlags::NO_LOCK) =>
            {
                flags |= EnvFlags::NO_LOCK;
            }
            // The last handle is gone, but closing is not finished.
            Err(heed::Error::EnvAlreadyOpened)
                if heed::env_closing_event(dir).is_none_or(|closing| closing.wait_timeout(CLOSING_MAX)) => {}
            // Nobody is closing it: the thread of an opening that gave up still waits in it (see `recover`).
            Err(heed::Error::EnvAlreadyOpened) => return Err(is_intruded(dir)),
            Err(heed::Error::Io(error)) => return Err(fault::io(&unopened(dir, options.read_only))(error)),
            result => return result.map_err(lmdb),
        }
    }
}

/// The file of the environment that cannot be opened, or the directory if both can. LMDB does not tell which. It has neither
/// file open.
fn unopened(dir: &Path, read_only: bool) -> PathBuf {
    let cannot = |path: &PathBuf| fs::File::options().read(true).write(!read_only).open(path).is_err();
    [DATA, LOCK].map(|name| dir.join(name)).into_iter().find(cannot).unwrap_or_else(|| dir.into())
}

fn open_mapped(dir: &Path, flags: EnvFlags, map_bytes: usize) -> heed::Result<Env<WithoutTls>> {
    let mut open = EnvOpenOptions::new().read_txn_without_tls();
    open.map_size(map_bytes).max_readers(READERS_MAX).max_dbs(NAMES.len() as u32);
    // SAFETY: the flags leave two promises to us. NO_LOCK is set only for read-only environments in places that this process
    // cannot write. Only LMDB changes the file: it is the database's own, as the description of its format says.
    unsafe { open.flags(flags).open(dir) }
}

/// Fails if there is no store to open: LMDB would make one, and so hide that the data is gone.
pub fn expect_data(dir: &Path) -> Result<()> {
    let path = dir.join(DATA);
    match fs::metadata(&path) {
        Ok(found) if found.len() > 0 => Ok(()),
        Ok(_) => Err(corrupt(&format!("{} is empty", path.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(corrupt(&format!("{} is missing", path.display()))),
        Err(error) => Err(fault::io(&path)(error)),
    }
}

/// Lets LMDB recover from a killed writer. Such a writer may have written a meta page without noting its commit in
/// `lock.mdb`, from where read transactions take the last commit. While another process has the store open, only the begin
/// of the next write transaction repairs that.
///
/// The caller holds `writer.lock`, so nobody else should be writing. A process whose lock was deleted may still write, and
/// LMDB would wait for it without end. So another thread waits.
///
/// # Errors
/// [`GraphError::Invalid`] if another process writes all the time.
fn recover(env: &Env<WithoutTls>) -> Result<()> {
    let (done, outcome) = mpsc::channel();
    let waiting = env.clone();
    let wait = move || {
        // If the opening has given up, nobody receives this.
        let _ = done.send(waiting.write_txn().map(drop).map_err(lmdb));
    };
    std::thread::Builder::new().name("mangrove opening".into()).spawn(wait).map_err(GraphError::storage)?;
    outcome.recv_timeout(INTRUDER_MAX).unwrap_or_else(|_| Err(is_intruded(env.path())))
}

fn is_intruded(dir: &Path) -> GraphError {
    GraphError::Invalid(format!(
        "another process is writing to {} without the lock of the database, so the lock file was probably deleted. End that \
         process, then open again",
        dir.display()
    ))
}

/// The tables, if there are any.
pub fn open_tables(env: &Env<WithoutTls>, begun: Opening<'_>) -> Result<Option<Tables>> {
    let opened = match begun {
        Opening::Reading(txn) => env.open_databases_and_commit(txn.into_inner()?, |open, txn| named(open, txn)),
        Opening::Writing(txn) => env.create_databases_and_commit(txn, |open, txn| named(open, txn)),
    };
    Ok(opened.map_err(lmdb)?.commit().map(Tables::new))
}

type OpenTables<'e> = [heed::Database<'e, Bytes, Bytes>; NAMES.len()];

fn named<'e>(
    open: &heed::DatabaseOpener<'e, WithoutTls>,
    txn: &RoTxn<'e>,
) -> heed::Result<CommitOrAbort<OpenTables<'e>, ()>> {
    let mut tables = Vec::with_capacity(NAMES.len());
    for name in NAMES {
        match open.open_database::<Bytes, Bytes>(txn, Some(name))? {
            Some(table) => tables.push(table),
            None => return Ok(CommitOrAbort::Abort(())),
        }
    }
    let tables: OpenTables = tables.try_into().map_err(|_| heed::MdbError::NotFound)?;
    Ok(CommitOrAbort::Commit(tables))
}

/// Makes the tables. The table `meta` gets these entries first.
pub fn create_tables(env: &Env<WithoutTls>, first: &[(&[u8], Vec<u8>)]) -> Result<Tables> {
    let txn = env.write_txn().map_err(lmdb)?;
    let created = env.create_databases_and_commit(txn, |create, txn| -> heed::Result<_> {
        let mut tables = Vec::with_capacity(NAMES.len());
        for name in NAMES {
            tables.push(create.create_database::<Bytes, Bytes>(txn, Some(name))?);
        }
        let tables: [_; NAMES.len()] = tables.try_into().map_err(|_| heed::MdbError::NotFound)?;
        for (key, value) in first {
            tables[0].put(txn, key, value)?;
        }
        tables[0].put(txn, table::SUMS, &table::first_sums(first))?;
        Ok(CommitOrAbort::<_, ()>::Commit(tables))
    });
    created.map_err(lmdb)?.commit().map(Tables::new).ok_or_else(|| corrupt("its tables could not be created"))
}
