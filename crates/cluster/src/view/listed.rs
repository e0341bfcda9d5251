//! Searches that need not ask every shard: for values that the directory lists, and for ids.

use std::collections::BTreeSet;
use std::sync::PoisonError;

use mangrove_graph::{GraphView, Predicate, PropertyId, Result, Scan, ScanCursor, VertexId};

use super::{Asking, ClusterView};
use crate::directory::{self, Entry};
use crate::split::Split;

/// Elements that are looked at together.
const PAGE: usize = 8192;

/// The shards that the directory names for some values of a property. It says the same as long as the view lives.
pub(super) struct Told {
    of: PropertyId,
    hashes: Vec<u64>,
    shards: Vec<u16>,
}

impl<V: GraphView, A: Asking<V>> ClusterView<V, A> {
    /// Whether the directory says which shards may have what a search looks for.
    pub(super) fn is_told_apart(&self, of: PropertyId, predicate: &Predicate) -> bool {
        directory::is_listed(&self.schema, self.placement, of) && directory::values(predicate).is_some()
    }

    /// The shards in which a search may find something, in order.
    pub(super) fn shards_with(&self, of: PropertyId, predicate: &Predicate) -> Result<Vec<u16>> {
        let every = || (0..self.placement.shards).collect();
        if self.schema.is_key(of.kind, of.label, of.key) {
            let Some(ids) = predicate.external_ids() else { return Ok(every()) };
            let homes: BTreeSet<u16> = ids.iter().flat_map(|id| self.placement.homes(Some(of.label), id)).collect();
            return Ok(homes.into_iter().collect());
        }
        match directory::values(predicate) {
            Some(values) if directory::is_listed(&self.schema, self.placement, of) => {
                let hashes = values.iter().map(|value| directory::hash(self.placement, of, value)).collect();
                Ok(self.told(of, hashes)?.unwrap_or_else(every))
            }
            _ => Ok(every()),
        }
    }

    /// The shards that the directory lists for some hashes; `None` if there is no directory.
    fn told(&self, of: PropertyId, hashes: Vec<u64>) -> Result<Option<Vec<u16>>> {
        let last = || self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = last().as_ref().filter(|known| (known.of, &known.hashes) == (of, &hashes)) {
            return Ok(Some(known.shards.clone()));
        }
        let Some(listed) = self.listed(of, &hashes)? else { return Ok(None) };
        let shards: BTreeSet<u16> = listed.into_iter().flatten().filter(|shard| *shard < self.placement.shards).collect();
        let shards: Vec<u16> = shards.into_iter().collect();
        *last() = Some(Told { of, hashes, shards: shards.clone() });
        Ok(Some(shards))
    }

    /// The shards that the directory lists for each of some hashes; `None` if there is no directory.
    fn listed(&self, of: PropertyId, hashes: &[u64]) -> Result<Option<Vec<Vec<u16>>>> {
        let split = Split::new(hashes.iter().map(|hash| self.placement.home_of_hash(*hash)), self.placement.shards);
        let asked = split.parts.iter().map(|(shard, rows)| {
            let some: Vec<u64> = rows.iter().map(|row| hashes[*row as usize]).collect();
            (self.shard(*shard), some)
        });
        let listed = A::each(asked.collect(), |shard, some| shard.listed_shards(of, &some))?;
        let listed: Option<Vec<Vec<Vec<u16>>>> = listed.into_iter().collect();
        Ok(listed.map(|listed| split.joined(listed)))
    }

    /// What the directory lacks. O(elements of labels with routed indexes).
    pub fn unlisted(&self) -> Result<Vec<String>> {
        let mut wrong = Vec::new();
        for of in self.schema.indexes.iter().map(|index| index.of) {
            if directory::is_listed(&self.schema, self.placement, of) {
                let count = self.unlisted_of(of)?;
                let name = self.schema.property_name(of);
                let what = || format!("values of {name} that the directory does not list with their shards: {count}");
                wrong.extend((count > 0).then(what));
            }
        }
        Ok(wrong)
    }

    /// How many values of a property are not listed with their shards.
    fn unlisted_of(&self, of: PropertyId) -> Result<usize> {
        let (mut cursor, mut missing) = (ScanCursor::default(), BTreeSet::<Entry>::new());
        while !cursor.done {
            let entries: Vec<Entry> = self.entries(of, &mut cursor)?.into_iter().collect();
            let hashes: Vec<u64> = entries.iter().map(|(hash, _)| *hash).collect();
            let listed = self.listed(of, &hashes)?.unwrap_or_else(|| vec![Vec::new(); hashes.len()]);
            let lacks = entries.into_iter().zip(listed).filter(|((_, shard), listed)| !listed.contains(shard));
            missing.extend(lacks.map(|(entry, _)| entry));
        }
        Ok(missing.len())
    }

    /// The entries that the next elements of a scan need.
    pub(crate) fn entries(&self, of: PropertyId, cursor: &mut ScanCursor) -> Result<BTreeSet<Entry>> {
        let scan = Scan { columns: vec![of.key], ..Scan::of(of.label) };
        let scanned = self.scan(of.kind, &scan, cursor, PAGE)?;
        let rows = scanned.elements.iter().enumerate().filter(|(_, element)| element.label() == of.label);
        let cells = rows.map(|(row, element)| (VertexId(element.raw()).shard(), scanned.columns[0].cell(row)));
        Ok(directory::entries(self.placement, of, cells))
    }
}
