//! A topic as a load follows it: records in partitions. In each partition, they have an order and offsets.

use std::collections::BTreeMap;
use std::time::Duration;

use mangrove_graph::Result;

/// For each partition, the offset of the record that is read next.
pub type Offsets = BTreeMap<i32, u64>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicRecord {
    pub partition: i32,
    pub offset: u64,
    pub value: Option<Vec<u8>>,
}

/// What to do if records between the last one read and the first one there are gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnLost {
    /// Refuse to go on.
    #[default]
    Fail,
    /// Go on with the first one there.
    Skip,
}

pub trait Topic {
    fn name(&self) -> &str;

    /// Whose topic it is, to tell topics of one name apart; empty if nobody says.
    fn cluster(&self) -> &str;

    /// Begins to read each partition at its offset. If there are none at all, begins at the first record of each. Returns where it begins.
    ///
    /// # Errors
    /// If records that are to be read are gone, or if the topic ends before an offset.
    fn start(&mut self, from: &Offsets, on_lost: OnLost) -> Result<Offsets>;

    /// Appends the next records, those of a partition in order. Waits at most so long for the first. Returns whether each partition was
    /// read to where it ended at the start, or to an end that it had since.
    ///
    /// # Errors
    /// If records that are to be read are gone, or if the topic cannot be read for long.
    fn read(&mut self, patience: Duration, out: &mut Vec<TopicRecord>) -> Result<bool>;
}
