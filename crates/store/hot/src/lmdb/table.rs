//! The tables, and the sum of what each holds.
//!
//! The sum of a table adds up a hash of each of its entries, in whatever order they came. So it tells whether any entry is
//! missing, changed or one too many. A transaction keeps the sums as it writes. Its commit puts them into `meta`:
//!
//! ```text
//!   "sums" -> of every table, in the order of their names here, a sum 8 | checksum of these 8
//!   sum    the hashes of its entries, added with wrap-around; that of `meta` is without this entry
//!   hash   XXH3 of the value, seeded with XXH3 of the key, which is seeded with the number of the table
//! ```

use std::ops::{Deref, RangeBounds};

use hashbrown::HashMap;
use heed::types::Bytes;
use heed::{AnyTls, Database, Env, PutFlags, RoTxn, RwTxn, WithoutTls};
use mangrove_graph::Result;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::lmdb::clock;
use crate::lmdb::pages::{Meta, Pages};
use crate::lmdb::version;
use crate::system::fault::{corrupt, lmdb};

/// The tables by the names they have in LMDB.
pub const NAMES: [&str; 8] = ["meta", "schema", "ids", "edge_ids", "out", "in", "columns", "index"];
/// The entry of `meta` that has the sums.
pub const SUMS: &[u8] = b"sums";

/// The tables of a store.
#[derive(Clone, Copy)]
pub struct Tables {
    pub meta: Table,
    pub schema: Table,
    pub ids: Table,
    pub edge_ids: Table,
    pub out: Table,
    pub incoming: Table,
    pub columns: Table,
    pub index: Table,
}

impl Tables {
    pub fn new(tables: [Database<'static, Bytes, Bytes>; NAMES.len()]) -> Self {
        let mut at = 0..;
        let [meta, schema, ids, edge_ids, out, incoming, columns, index] =
            tables.map(|database| Table { database, number: at.next().unwrap_or(0) });
        Self { meta, schema, ids, edge_ids, out, incoming, columns, index }
    }

    pub fn named(&self) -> [(&'static str, Table); NAMES.len()] {
        let tables = [self.meta, self.schema, self.ids, self.edge_ids, self.out, self.incoming, self.columns, self.index];
        std::array::from_fn(|at| (NAMES[at], tables[at]))
    }

    /// The tables that are asked for keys that they mostly lack.
    pub fn watched(&self) -> [Table; 4] {
        [self.ids, self.out, self.incoming, self.columns]
    }
}

/// The tables whose keys a [`bloom`](super::bloom) knows, and how many bytes of a key count at most: all, or those that name a vertex and
/// an edge label.
const WATCHED: [Option<usize>; NAMES.len()] =
    [None, None, Some(usize::MAX), None, Some(10), Some(10), Some(usize::MAX), None];

/// One of the tables. It is read as LMDB's database. Changes need a [`Writing`], which keeps its sum.
#[derive(Clone, Copy)]
pub struct Table {
    database: Database<'static, Bytes, Bytes>,
    number: usize,
}

impl Deref for Table {
    type Target = Database<'static, Bytes, Bytes>;

    fn deref(&self) -> &Self::Target {
        &self.database
    }
}

impl Table {
    /// What stands for a key in a Bloom filter; for keys of edges, it is the same for all of a vertex and an edge label.
    #[inline]
    pub fn hash_of(&self, key: &[u8]) -> u64 {
        let counts = WATCHED[self.number].unwrap_or(usize::MAX).min(key.len());
        key_hash(self.number, &key[..counts])
    }

    /// Puts an entry, in the place of the one with the same key, if there is one.
    pub fn put(&self, t: &mut Writing<'_>, key: &[u8], value: &[u8]) -> Result<()> {
        if t.sums.is_none() {
            t.large.put(self.number, key, value);
            return self.database.put(&mut t.txn, key, value).map_err(lmdb);
        }
        match self.database.get_or_put(&mut t.txn, key, value).map_err(lmdb)? {
            None => {
                t.large.put(self.number, key, value);
                t.add(self.number, key, value);
                t.note(*self, key);
                Ok(())
            }
            Some(old) if old == value => Ok(()),
            Some(old) => {
                let old = hash(self.number, key, old);
                self.replace(t, key, Some(old), value)
            }
        }
    }

    /// What an entry adds to the sum of the table, if there is a sum.
    pub fn share(&self, t: &Writing<'_>, key: &[u8], value: &[u8]) -> Option<u64> {
        t.sums.map(|_| hash(self.number, key, value))
    }

    /// Puts an entry in the place of the one with the same key, whose [`share`](Self::share) is `old`. Nothing may have changed that
    /// entry since it was read: the sum of the table would be wrong from then on.
    pub fn replace(&self, t: &mut Writing<'_>, key: &[u8], old: Option<u64>, value: &[u8]) -> Result<()> {
        debug_assert_eq!(old, self.database.get(&t.txn, key).ok().flatten().and_then(|old| self.share(t, key, old)));
        t.large.put(self.number, key, value);
        self.database.put(&mut t.txn, key, value).map_err(lmdb)?;
        old.into_iter().for_each(|old| t.subtract(self.number, old));
        t.add(self.number, key, value);
        Ok(())
    }

    /// Puts an entry whose key is behind all others.
    pub fn append(&self, t: &mut Writing<'_>, key: &[u8], value: &[u8]) -> Result<()> {
        t.large.append(value);
        self.database.put_with_flags(&mut t.txn, PutFlags::APPEND, key, value).map_err(lmdb)?;
        t.add(self.number, key, value);
        t.note(*self, key);
        Ok(())
    }

    /// Removes an entry. Returns whether there was one.
    pub fn delete(&self, t: &mut Writing<'_>, key: &[u8]) -> Result<bool> {
        let old = match t.sums {
            Some(_) => self.database.get(&t.txn, key).map_err(lmdb)?.map(|old| hash(self.number, key, old)),
            None => None,
        };
        old.into_iter().for_each(|old| t.subtract(self.number, old));
        self.database.delete(&mut t.txn, key).map_err(lmdb)
    }

    /// Removes the entries whose keys are in a range. Returns how many there were.
    pub fn delete_range(&self, t: &mut Writing<'_>, range: &impl RangeBounds<[u8]>) -> Result<usize> {
        if t.sums.is_some() {
            let mut gone = 0u64;
            for entry in self.database.range(&t.txn, range).map_err(lmdb)? {
                let (key, value) = entry.map_err(lmdb)?;
                gone = gone.wrapping_add(hash(self.number, key, value));
            }
            t.subtract(self.number, gone);
        }
        self.database.delete_range(&mut t.txn, range).map_err(lmdb)
    }

    /// Removes all entries.
    pub fn clear(&self, t: &mut Writing<'_>) -> Result<()> {
        t.sums.iter_mut().for_each(|sums| sums.0[self.number] = 0);
        self.database.clear(&mut t.txn).map_err(lmdb)
    }
}

fn hash(table: usize, key: &[u8], value: &[u8]) -> u64 {
    xxh3_64_with_seed(value, key_hash(table, key))
}

fn key_hash(table: usize, key: &[u8]) -> u64 {
    xxh3_64_with_seed(key, table as u64)
}

/// The sums of all tables.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Sums([u64; NAMES.len()]);

impl Sums {
    const BYTES: usize = 8 * NAMES.len();

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (sums, checksum) = bytes.split_at_checked(Self::BYTES)?;
        if checksum != xxh3_64(sums).to_le_bytes() {
            return None;
        }
        let (words, _) = sums.as_chunks::<8>();
        Some(Self(std::array::from_fn(|at| u64::from_le_bytes(words[at]))))
    }

    fn bytes(self) -> Vec<u8> {
        let mut bytes = self.0.map(u64::to_le_bytes).as_flattened().to_vec();
        bytes.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
        bytes
    }

    /// The sums that a transaction finds; `None` if the store was written before there were sums.
    fn load(tables: &Tables, txn: &RoTxn<'_, AnyTls>) -> Result<Option<Self>> {
        let found = tables.meta.get(txn, SUMS).map_err(lmdb)?;
        found.map(|bytes| Self::parse(bytes).ok_or_else(|| corrupt("the sums of its tables are damaged"))).transpose()
    }

    /// Adds up all that is in the tables. O(size of the tables).
    fn count(tables: &Tables, txn: &RoTxn<'_, AnyTls>) -> Result<Self, heed::Error> {
        let mut sums = Self::default();
        for (_, table) in tables.named() {
            for entry in table.iter(txn)? {
                let (key, value) = entry?;
                if (table.number, key) != (0, SUMS) {
                    sums.0[table.number] = sums.0[table.number].wrapping_add(hash(table.number, key, value));
                }
            }
        }
        Ok(sums)
    }
}

/// The large values a transaction has written. LMDB keeps changed pages in memory up to a number of entries. A value on
/// pages of its own counts as one entry, however large it is.
#[derive(Default)]
struct Large {
    values: u64,
    bytes: u64,
    /// How many pages each value that was put has, by the hash of its table and key. A value that fits is written over the
    /// old pages. A larger one gets new pages, and the old ones are kept until the commit (`mdb_cursor_put`,
    /// `mdb_ovpage_free`).
    pages: HashMap<u64, usize>,
}

/// A value of at least this many bytes gets pages of its own.
const LARGE_FROM: usize = 2000;
/// The size of the smallest pages there are.
const PAGE_BYTES: usize = 4096;
const PAGE_HEAD: usize = 16;
/// How many entries LMDB keeps before it writes some of them (`MDB_IDL_UM_MAX` for `mdb_idl_logn_14`).
const ENTRIES_KEPT: u64 = (1 << 15) - 1;
/// How many values have their pages remembered, which takes some 32 MB. Each value beyond them counts as a new one.
const REMEMBERED_MAX: usize = 1 << 20;

impl Large {
    fn put(&mut self, table: usize, key: &[u8], value: &[u8]) {
        if value.len() < LARGE_FROM {
            return;
        }
        let (key, pages) = (key_hash(table, key), (PAGE_HEAD + value.len()).div_ceil(PAGE_BYTES));
        if self.pages.get(&key).is_some_and(|known| *known >= pages) {
            return;
        }
        if self.pages.len() < REMEMBERED_MAX || self.pages.contains_key(&key) {
            self.pages.insert(key, pages);
        }
        self.append(value);
    }

    fn append(&mut self, value: &[u8]) {
        if value.len() >= LARGE_FROM {
            self.values += 1;
            self.bytes += value.len() as u64;
        }
    }

    fn absorb(&mut self, more: Self) {
        self.values += more.values;
        self.bytes += more.bytes;
        if self.pages.len() + more.pages.len() <= REMEMBERED_MAX {
            self.pages.extend(more.pages);
        }
    }

    /// How many of its bytes are in memory, if all values are of about the same size.
    fn bytes_kept(&self) -> u64 {
        let kept = u128::from(self.bytes) * u128::from(self.values.min(ENTRIES_KEPT)) / u128::from(self.values.max(1));
        kept as u64
    }
}

/// What a transaction wrote.
pub struct Changes {
    large: Large,
    puts: u64,
    /// What stands for the new keys of the tables that a Bloom filter knows; `None` if they are too many.
    pub keys: Option<Vec<u64>>,
    /// The number of the commit; `None` if it may have been an empty one, which gets none.
    pub commit: Option<usize>,
}

/// The most new keys that a transaction remembers.
const NEW_KEYS_MAX: usize = 1 << 16;

/// The most entries and the most bytes of large values that a light transaction has put.
const LIGHT_PUTS_MAX: u64 = 4096;
const LIGHT_BYTES_MAX: u64 = 16 << 20;

/// A write transaction, and the sums of the tables as it leaves them.
pub struct Writing<'e> {
    txn: RwTxn<'e>,
    /// `None` if sums are not kept.
    sums: Option<Sums>,
    first: Option<Sums>,
    large: Large,
    /// How many entries were put.
    puts: u64,
    keys: Option<Vec<u64>>,
    /// Whether the commit surely writes something.
    is_touched: bool,
}

impl<'e> Deref for Writing<'e> {
    type Target = RwTxn<'e>;

    fn deref(&self) -> &RwTxn<'e> {
        &self.txn
    }
}

impl<'e> Writing<'e> {
    pub fn new(txn: RwTxn<'e>, tables: &Tables) -> Result<Self> {
        let sums = Sums::load(tables, &txn)?.ok_or_else(|| corrupt("the sums of its tables are missing"))?;
        Ok(Self {
            txn,
            sums: Some(sums),
            first: Some(sums),
            large: Large::default(),
            puts: 0,
            keys: Some(Vec::new()),
            is_touched: false,
        })
    }

    /// Writes to tables without sums, which nobody will open again.
    pub fn without_sums(txn: RwTxn<'e>) -> Self {
        Self { txn, sums: None, first: None, large: Large::default(), puts: 0, keys: None, is_touched: false }
    }

    /// Writes to tables that have no sums yet, and gives them some. O(size of the tables).
    pub fn with_first_sums(txn: RwTxn<'e>, tables: &Tables) -> Result<Self> {
        let sums = Sums::count(tables, &txn).map_err(lmdb)?;
        Ok(Self {
            txn,
            sums: Some(sums),
            first: None,
            large: Large::default(),
            puts: 0,
            keys: Some(Vec::new()),
            is_touched: false,
        })
    }

    /// Begins a transaction inside this one. Its commit makes its changes a part of this one.
    pub fn nested<'n>(&'n mut self, env: &'n Env<WithoutTls>, tables: &Tables) -> Result<Writing<'n>> {
        Writing::new(env.nested_write_txn(&mut self.txn).map_err(lmdb)?, tables)
    }

    /// Counts the large values of a nested transaction that was committed.
    pub fn absorb(&mut self, nested: Changes) {
        self.large.absorb(nested.large);
        self.puts += nested.puts;
        match (&mut self.keys, nested.keys) {
            (Some(keys), Some(more)) if keys.len() + more.len() <= NEW_KEYS_MAX => keys.extend(more),
            (keys, _) => *keys = None,
        }
    }

    /// What large values take in memory until the commit. All else takes at most [`ENTRIES_KEPT`] pages.
    pub fn large_bytes_kept(&self) -> u64 {
        self.large.bytes_kept()
    }

    fn add(&mut self, table: usize, key: &[u8], value: &[u8]) {
        self.puts += 1;
        if let Some(sums) = &mut self.sums {
            sums.0[table] = sums.0[table].wrapping_add(hash(table, key, value));
        }
    }

    /// Remembers a new key of a table.
    fn note(&mut self, table: Table, key: &[u8]) {
        if WATCHED[table.number].is_none() {
            return;
        }
        match &mut self.keys {
            Some(keys) if keys.len() < NEW_KEYS_MAX => keys.push(table.hash_of(key)),
            keys => *keys = None,
        }
    }

    fn subtract(&mut self, table: usize, hash: u64) {
        self.sums.iter_mut().for_each(|sums| sums.0[table] = sums.0[table].wrapping_sub(hash));
    }

    /// Makes the next commit write something, even if nothing changed.
    pub fn touch(&mut self, tables: &Tables) -> Result<()> {
        let sums = self.sums.unwrap_or_default();
        self.is_touched = true;
        tables.meta.database.put(&mut self.txn, SUMS, &sums.bytes()).map_err(lmdb)
    }

    /// Whether it has changed so little that others may go on in it. LMDB keeps the changes of nested transactions in memory, beside
    /// those of the transaction they are in.
    pub fn is_light(&self) -> bool {
        self.puts <= LIGHT_PUTS_MAX && self.large.bytes_kept() <= LIGHT_BYTES_MAX
    }

    pub fn has_changed(&self) -> bool {
        self.sums != self.first
    }

    /// Writes what goes with every commit.
    pub fn finish(&mut self, tables: &Tables) -> Result<()> {
        if self.has_changed() {
            let noted = tables.meta.get(self, clock::KEY).map_err(lmdb)?.unwrap_or_default();
            if let Some(noted) = clock::ticked(noted, self.id() as u64) {
                tables.meta.put(self, clock::KEY, &noted)?;
            }
            self.touch(tables)?;
            self.first = self.sums;
        }
        Ok(())
    }

    /// Commits. Returns what it wrote.
    pub fn commit(mut self, tables: &Tables) -> Result<Changes> {
        self.finish(tables)?;
        let commit = self.is_touched.then(|| self.id());
        self.txn.commit().map_err(lmdb)?;
        Ok(Changes { large: self.large, puts: self.puts, keys: self.keys, commit })
    }
}

/// The first value of [`SUMS`], where `meta` has these entries and all other tables are empty.
pub fn first_sums(meta: &[(&[u8], Vec<u8>)]) -> Vec<u8> {
    let mut sums = Sums::default();
    sums.0[0] = meta.iter().fold(0, |sum, (key, value)| sum.wrapping_add(hash(0, key, value)));
    sums.bytes()
}

/// Verifies the pages of LMDB's file as a commit left them, and the sums of the tables. O(size of the file).
///
/// # Errors
/// [`GraphError::Corrupt`](mangrove_graph::GraphError::Corrupt) with what is damaged.
pub fn verify(pages: &Pages, meta: &Meta) -> Result<()> {
    let (mut found, mut expected, mut is_old) = (Sums::default(), None, false);
    pages.verify(meta, &mut |table, entry| {
        let number = NAMES.iter().position(|name| name.as_bytes() == table);
        let number = number.ok_or_else(|| corrupt("it has an unknown table"))?;
        if (number, entry.key) == (0, SUMS) {
            expected = Some(Sums::parse(&entry.value()?));
        } else {
            is_old |= (number, entry.key) == (0, version::FORMAT_KEY) && version::is_before_sums(&entry.value()?);
            found.0[number] = found.0[number].wrapping_add(entry.hash(key_hash(number, entry.key))?);
        }
        Ok(())
    })?;
    if expected.is_none() && (is_old || meta.has_no_tables()) {
        return Ok(());
    }
    let damaged = || corrupt("the sums of its tables are damaged: restore a backup");
    let expected = expected.flatten().ok_or_else(damaged)?;
    match (0..NAMES.len()).find(|at| found.0[*at] != expected.0[*at]) {
        Some(at) => Err(corrupt(&format!("the table \"{}\" does not hold what was written: restore a backup", NAMES[at]))),
        None => Ok(()),
    }
}
