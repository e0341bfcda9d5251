//! Reading on after the disk failed.
//!
//! If the write of a meta page fails, LMDB gives its environment up: nothing begins there any more, not even reading. So a
//! writer takes a few read transactions before each commit. If LMDB gives up, snapshots read in these, one snapshot in each
//! at a time.

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use heed::{Env, MdbError, RoTxn, WithoutTls};
use mangrove_graph::Result;

use crate::system::fault::lmdb;
use crate::system::lock::locked;

type Txn = RoTxn<'static, WithoutTls>;

/// How many snapshots there can be at once after LMDB has given up.
const SPARE: usize = 4;

/// The transactions kept for readers. There are none while all is well.
#[derive(Default)]
pub struct Spare {
    /// The commit they see; 0 unless LMDB has given up.
    commit: AtomicUsize,
    kept: Mutex<Vec<Txn>>,
}

impl Spare {
    /// Takes transactions of the last commit. If it cannot take all, writing goes on without them.
    pub fn take(env: &Env<WithoutTls>) -> Vec<Txn> {
        (0..SPARE).map_while(|_| env.clone().static_read_txn().ok()).collect()
    }

    /// Call this when a commit failed after these were taken. It keeps them if LMDB has given up.
    pub fn keep(&self, taken: Vec<Txn>, env: &Env<WithoutTls>) {
        let has_given_up = matches!(env.clone().static_read_txn(), Err(heed::Error::Mdb(MdbError::Panic)));
        if let Some(first) = taken.first().filter(|_| has_given_up) {
            self.commit.store(first.id(), Ordering::SeqCst);
            locked(&self.kept).extend(taken);
        }
    }

    fn pop(&self) -> Option<Txn> {
        locked(&self.kept).pop()
    }
}

/// A read transaction. If LMDB has given up, it goes back to those kept when it is dropped.
pub struct ReadTxn {
    txn: Option<Txn>,
    spare: Arc<Spare>,
}

impl ReadTxn {
    /// Begins to read.
    ///
    /// # Errors
    /// Those of LMDB. When it has given up and no transaction is left, the error says so.
    pub fn begin(env: &Env<WithoutTls>, spare: &Arc<Spare>) -> heed::Result<Self> {
        let txn = match env.clone().static_read_txn() {
            Err(error @ heed::Error::Mdb(MdbError::Panic)) => spare.pop().ok_or(error)?,
            begun => begun?,
        };
        Ok(Self { txn: Some(txn), spare: spare.clone() })
    }

    /// The transaction alone.
    pub fn into_inner(mut self) -> Result<Txn> {
        self.txn.take().ok_or_else(|| lmdb(MdbError::BadTxn.into()))
    }
}

impl Deref for ReadTxn {
    type Target = Txn;

    fn deref(&self) -> &Txn {
        self.txn.as_ref().expect("it is taken by value only")
    }
}

impl Drop for ReadTxn {
    fn drop(&mut self) {
        let commit = self.spare.commit.load(Ordering::SeqCst);
        if let Some(txn) = self.txn.take().filter(|txn| txn.id() == commit) {
            locked(&self.spare.kept).push(txn);
        }
    }
}
