//! What the crew needs to help a query.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use mangrove_graph::GraphView;

use crate::crew::Crew;
use crate::plan::SourceConfig;
use crate::plan::fragment::Reach;

/// Views of one snapshot. Any thread that needs one takes it from here.
pub type Views = Arc<Mutex<Vec<Box<dyn GraphView + Send>>>>;

/// What helpers of a query need.
pub struct Help {
    pub crew: Arc<Crew>,
    pub views: Views,
    pub source: Arc<SourceConfig>,
    /// The time that helpers have spent on the query. Crews compare it to find the query with the least help.
    pub helped_nanos: Arc<AtomicU64>,
}

impl Help {
    /// What helpers may read. Those that get bytes do as if they were far away.
    pub fn reach(&self) -> Reach {
        if self.crew.sends_bytes() { Reach::Element } else { Reach::Graph }
    }
}
