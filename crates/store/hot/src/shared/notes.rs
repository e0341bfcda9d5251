//! What readers learn of a graph that a commit left: snapshots of the same commit share it.

use std::sync::{Arc, Mutex, OnceLock};

use hashbrown::HashMap;
use mangrove_graph::{LabelId, Statistics};

use crate::format::key::Column;
use crate::system::lock::locked;

/// What a reader has learnt of a graph that does not change: above all, where the tables decide nothing that is sealed.
#[derive(Default)]
pub struct Clean {
    /// The tables have no columns at all.
    pub no_columns: OnceLock<bool>,
    /// They have no ids of vertices.
    pub no_ids: OnceLock<bool>,
    pub columns: Mutex<HashMap<Column, bool>>,
    /// By direction (outgoing) and label of the vertices.
    pub lists: Mutex<HashMap<(bool, LabelId), bool>>,
    /// By the column of the marks of removed elements.
    pub dead: Mutex<HashMap<Column, Dead>>,
    /// How many elements there are.
    pub statistics: OnceLock<Arc<Statistics>>,
}

/// Which elements of a label were removed, as far as a reader has asked.
pub enum Dead {
    /// How many elements were looked up in the tables.
    Asked(u64),
    /// All removed elements, by block.
    Known(Arc<DeadBlocks>),
}

pub type DeadBlocks = HashMap<u64, u128>;

/// What readers have learnt of the last commit that was read.
#[derive(Default)]
pub struct Notes(Mutex<(usize, Arc<Clean>)>);

impl Notes {
    /// What they have learnt of a commit. A late reader of an older one learns by itself.
    pub fn of(&self, commit: usize) -> Arc<Clean> {
        let mut last = locked(&self.0);
        if last.0 < commit {
            *last = (commit, Arc::default());
        }
        if last.0 == commit { last.1.clone() } else { Arc::default() }
    }
}
