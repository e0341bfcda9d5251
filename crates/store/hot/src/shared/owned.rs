//! A write transaction that keeps alive what it needs.

use std::sync::Arc;
use std::time::Instant;

use heed::RwTxn;
use mangrove_graph::Result;

use crate::lmdb::spare::Spare;
use crate::lmdb::table::{Changes, Writing};
use crate::options::Durability;
use crate::shared::space;
use crate::shared::state::StoreState;
use crate::system::fault::{self, lmdb};
use crate::system::identity::Own;
use crate::turns::group::{Group, Lead, Member};
use crate::turns::turn::{MyTurn, Patience, Writer};

/// Nobody uses the transaction while it is renewed. If that fails, its holder is spoilt.
const ALWAYS: &str = "a transaction that was not lost";

/// When a transaction has ended, cuts off what it left behind the last commit.
struct Tail(Arc<StoreState>);

impl Drop for Tail {
    fn drop(&mut self) {
        space::cut_tail(&self.0);
    }
}

/// By what right a transaction writes.
enum Right {
    // Fields drop in this order.
    Turn { _tail: Tail, _turn: MyTurn<Group>, writer: Writer },
    Member(Member),
}

/// A write transaction. It keeps its environment alive, and its turn to write.
pub(crate) struct OwnedTxn {
    // Fields drop in this order: the transaction ends before the turn does, and before the environment can close.
    /// `None` only while the transaction is renewed.
    txn: Option<Own<Writing<'static>>>,
    right: Right,
    shared: Arc<StoreState>,
    /// LMDB binds a write transaction to its thread.
    _thread: std::marker::PhantomData<*const ()>,
}

impl OwnedTxn {
    pub fn begin(shared: &Arc<StoreState>, writer: Writer, patience: Patience<'_>) -> Result<Self> {
        shared.process().must_be_this()?;
        // Where a commit does not wait for the disk, there is no sync to share.
        let waits_for_disk = shared.durability == Durability::Full && !shared.is_scratch();
        let writer = Writer { is_brief: writer.is_brief && waits_for_disk, ..writer };
        let turn = MyTurn::wait(&shared.turn, writer.clone(), patience)?;
        let (txn, right) = match turn.joined() {
            Some(group) => {
                let (txn, member) = Member::begin(group, &shared.turn, &shared.env, &shared.tables)?;
                (txn, Right::Member(member))
            }
            None => {
                shared.must_be_in_place()?;
                let txn = Self::begin_alone(shared)?;
                shared.look_for_dead_readers();
                (txn, Right::Turn { _tail: Tail(shared.clone()), _turn: turn, writer })
            }
        };
        Ok(Self { txn: Some(txn), right, shared: shared.clone(), _thread: std::marker::PhantomData })
    }

    fn begin_alone(shared: &Arc<StoreState>) -> Result<Own<Writing<'static>>> {
        let txn = shared.env.write_txn().map_err(lmdb)?;
        // SAFETY: the transaction borrows the environment inside `shared`, whose address is that of the Arc's heap
        // allocation and does not change. The Arc is kept beside it and, by the order of the fields, dropped after it.
        let txn = unsafe { std::mem::transmute::<RwTxn<'_>, RwTxn<'static>>(txn) };
        let txn = if shared.is_scratch() { Writing::without_sums(txn) } else { Writing::new(txn, &shared.tables)? };
        Ok(Own::new(txn))
    }

    /// If the store is removed when it is closed, writes out what was changed, and goes on.
    pub fn write_out(&mut self) -> Result<()> {
        if !self.shared.is_scratch() {
            return Ok(());
        }
        if let Some(txn) = self.txn.take() {
            txn.take()?.commit(&self.shared.tables)?;
        }
        self.txn = Some(Self::begin_alone(&self.shared)?);
        Ok(())
    }

    pub fn txn(&self) -> &Writing<'static> {
        self.txn.as_deref().expect(ALWAYS)
    }

    pub fn txn_mut(&mut self) -> &mut Writing<'static> {
        self.txn.as_deref_mut().expect(ALWAYS)
    }

    /// What large values take in memory until the commit.
    pub fn large_bytes_kept(&self) -> u64 {
        self.txn.as_ref().map_or(0, |txn| txn.large_bytes_kept())
    }

    /// Whether others wait for this transaction to end, to commit together with it.
    pub fn is_waited_for(&self) -> bool {
        matches!(self.right, Right::Member(_))
    }

    pub fn shared(&self) -> &Arc<StoreState> {
        &self.shared
    }

    pub fn commit(self) -> Result<()> {
        // The last of these is dropped first.
        let Self { shared, right, txn, .. } = self;
        let txn = txn.expect(ALWAYS);
        let writer = match right {
            Right::Member(member) => return member.commit(txn, &shared.tables),
            Right::Turn { ref writer, .. } => writer,
        };
        let shares = writer.is_brief && txn.is_light() && txn.has_changed();
        let (txn, lead) =
            if shares { Lead::gather(txn, writer.clone(), &shared.turn, &shared.tables)? } else { (txn, None) };
        let (txn, spare) = (txn.take()?, Spare::take(&shared.env));
        let begun = Instant::now();
        let outcome = txn.commit(&shared.tables);
        if shares {
            shared.turn.synced(begun.elapsed());
        }
        let outcome = outcome.map_err(|error| {
            shared.readers.spare.keep(spare, &shared.env);
            fault::of_write(error, shared.env.path())
        });
        let outcome = outcome.map(|Changes { commit, keys, .. }| {
            commit.into_iter().for_each(|commit| shared.blooms.committed(commit, keys.as_deref()));
        });
        lead.into_iter().for_each(|lead| lead.end(&outcome));
        outcome
    }
}
