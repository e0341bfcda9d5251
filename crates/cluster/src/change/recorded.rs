//! A graph under change that knows what was done to each shard.

use mangrove_graph::{Result, ShardWrite};

use super::ClusterChange;
use crate::log::Section;
use crate::section::{Recorder, apply};

impl<T: ShardWrite> ClusterChange<Recorder<T>> {
    /// Makes what others did before. It is not recorded.
    pub fn catch_up(&mut self, sections: &[Section]) -> Result<()> {
        for section in sections {
            if let Some(store) = self.stores.get_mut(usize::from(section.shard)) {
                apply(&section.changes, store.unrecorded())?;
            }
        }
        self.learn();
        Ok(())
    }

    /// The bytes of what was done since.
    pub fn recorded_bytes(&self) -> usize {
        self.stores.iter().map(Recorder::section_bytes).sum()
    }

    /// What was done since the last call, shard by shard. Fails if a shard would refuse it.
    pub fn take_sections(&mut self) -> Result<Vec<Section>> {
        self.can_commit()?;
        let taken = (0..).zip(&mut self.stores).map(|(shard, store)| {
            let (version, changes) = (store.version(), store.take_section());
            Section { version, ..Section::new(shard, changes) }
        });
        Ok(taken.filter(|section| !section.changes.is_empty()).collect())
    }

    /// Lets all shards compress what they have.
    pub fn end_labels(&mut self) -> Result<()> {
        self.stores.iter_mut().try_for_each(Recorder::end_labels)
    }
}
