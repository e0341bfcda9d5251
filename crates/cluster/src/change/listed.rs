//! The values of routed indexes, in the directory. What is there stays there, so a value is listed when it is set, and never again.

use std::collections::{BTreeMap, BTreeSet};

use mangrove_graph::{
    Cell, Elements, KeyId, LabelId, NewEdge, PropertyColumn, PropertyId, Result, ScanCursor, ShardWrite, VertexId,
};

use super::ClusterChange;
use crate::directory::{self, Entry};
use crate::names;

impl<T: ShardWrite> ClusterChange<T> {
    /// Lists what elements have now under a property. Each cell comes with the shard of its element.
    pub(super) fn list(&mut self, of: PropertyId, cells: impl IntoIterator<Item = (u16, Cell)>) -> Result<()> {
        match directory::is_listed(&self.schema, self.placement, of) {
            true => self.put_entries(of, directory::entries(self.placement, of, cells)),
            false => Ok(()),
        }
    }

    /// The same for one value of each element.
    pub(super) fn list_column(&mut self, elements: Elements<'_>, key: KeyId, values: &PropertyColumn) -> Result<()> {
        for label in elements.labels() {
            let rows = (0..elements.len()).filter(|row| elements.get(*row).label() == label && values.has(*row));
            let cells = rows.map(|row| (VertexId(elements.get(row).raw()).shard(), values.cell(row)));
            self.list(PropertyId { kind: elements.kind(), label, key }, cells)?;
        }
        Ok(())
    }

    /// The same for the times of new edges.
    pub(super) fn list_times(&mut self, label: LabelId, edges: &[NewEdge]) -> Result<()> {
        let Some(key) = self.schema.time_of(label) else { return Ok(()) };
        let times = edges.iter().filter_map(|edge| Some((edge.source.shard(), Cell::One(edge.time.clone()?))));
        self.list(PropertyId::of_edges(label, key), times)
    }

    /// Lists what all elements have. O(elements of the label).
    pub(super) fn list_all(&mut self, of: PropertyId) -> Result<()> {
        let mut cursor = ScanCursor::default();
        while directory::is_listed(&self.schema, self.placement, of) && !cursor.done {
            let entries = self.view().entries(of, &mut cursor)?;
            self.put_entries(of, entries)?;
        }
        Ok(())
    }

    fn put_entries(&mut self, of: PropertyId, entries: BTreeSet<Entry>) -> Result<()> {
        let mut by_home: BTreeMap<u16, Vec<Entry>> = BTreeMap::new();
        for entry in entries {
            by_home.entry(self.placement.home_of_hash(entry.0)).or_default().push(entry);
        }
        for (home, entries) in by_home {
            let outcome = self.stores[usize::from(home)].list_shards(names::property(of), &entries);
            self.spoilt |= outcome.is_err(); // the values are there already
            outcome?;
        }
        Ok(())
    }
}
