//! All shards of a graph as one view. Every call is split by the owners of what it asks for, and their answers come in its order.

mod listed;
mod searched;

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

use mangrove_graph::{
    Adjacency, Catalog, Direction, Distance, EdgeId, EdgeRef, ElementIds, ElementKind, Elements, ExternalId, Filter,
    GraphView, Hop, IdSpace, KeyId, LabelId, Predicate, PropertyColumn, PropertyId, Reach, Result, Scan, ScanCursor,
    Scanned, Schema, SearchCursor, Statistics, Through, VertexId, Wants, id::LOCAL_MAX, scan_and_read,
};

use self::listed::Told;
use self::searched::Counted;
use crate::at_once::at_once;
use crate::placement::{Placement, SHARDS_MAX};
use crate::schema;
use crate::shard::ShardView;
use crate::split::{Split, rows_of};
use crate::walk;

/// A scan looks at so many shards before it returns, although it has found nothing.
const SHARDS_A_CALL: usize = 64;
const LOCAL_BITS: u32 = LOCAL_MAX.trailing_ones();

/// A graph in shards, as one. `A` says how several shards are asked.
pub struct ClusterView<V, A = InTurn> {
    /// By number.
    shards: Vec<V>,
    placement: Placement,
    schema: Arc<Schema>,
    /// What the directory said last.
    told: Mutex<Option<Told>>,
    /// How many candidates some searches have.
    counted: Mutex<Counted>,
    asking: PhantomData<A>,
}

/// How several shards are asked.
pub trait Asking<V> {
    /// Whether to ask several shards takes no longer than to ask one.
    const AT_ONCE: bool;

    /// Calls `f` for each shard with what it is asked, and gives the answers in order.
    fn each<Q: Send, T: Send>(asked: Vec<(&V, Q)>, f: impl Fn(&V, Q) -> Result<T> + Sync) -> Result<Vec<T>>;
}

/// One after the other: they are in this process.
pub struct InTurn;

/// All at the same time: they are in other processes.
pub struct AtOnce;

impl<V> Asking<V> for InTurn {
    const AT_ONCE: bool = false;

    fn each<Q: Send, T: Send>(asked: Vec<(&V, Q)>, f: impl Fn(&V, Q) -> Result<T> + Sync) -> Result<Vec<T>> {
        asked.into_iter().map(|(shard, question)| f(shard, question)).collect()
    }
}

impl<V: Sync> Asking<V> for AtOnce {
    const AT_ONCE: bool = true;

    fn each<Q: Send, T: Send>(asked: Vec<(&V, Q)>, f: impl Fn(&V, Q) -> Result<T> + Sync) -> Result<Vec<T>> {
        at_once(asked, |(shard, question)| f(shard, question))
    }
}

/// Where a scan stands within a label: in which shard, and at which local id there.
struct Position {
    shard: u16,
    local: u64,
}

impl Position {
    fn of(cursor: &ScanCursor) -> Self {
        Self { shard: (cursor.local >> LOCAL_BITS) as u16, local: cursor.local & LOCAL_MAX }
    }
}

impl<V: Deref<Target: GraphView>> ClusterView<ShardView<V>, InTurn> {
    /// The stores of all shards, by number.
    ///
    /// # Panics
    /// If there is not one for each shard.
    pub fn over_stores(stores: Vec<V>, placement: Placement) -> Self {
        let schema = schema::joined(stores.iter().map(|store| &**store.schema()));
        Self::with_schema(stores, placement, schema)
    }
}

impl<V: Deref<Target: GraphView>, A> ClusterView<ShardView<V>, A> {
    /// The same, if their schemas are known as one.
    pub(crate) fn with_schema(stores: Vec<V>, placement: Placement, schema: Arc<Schema>) -> Self {
        assert!(stores.len() == usize::from(placement.shards) && (1..=SHARDS_MAX).contains(&placement.shards));
        let shards = (0..)
            .zip(stores)
            .map(|(number, store)| ShardView::new(store, number, placement.shards, schema.clone()))
            .collect();
        let (told, counted) = (Mutex::default(), Mutex::default());
        Self { shards, placement, schema, told, counted, asking: PhantomData }
    }
}

impl<V: GraphView, A: Asking<V>> ClusterView<V, A> {
    /// A shard that the graph has.
    fn shard(&self, number: u16) -> &V {
        &self.shards[usize::from(number)]
    }

    /// The answers of all owners of a batch, one for each row.
    fn asked<T: Clone + Default + Send>(
        &self,
        elements: Elements<'_>,
        ask: impl Fn(&V, Elements<'_>) -> Result<Vec<T>> + Sync,
    ) -> Result<Vec<T>> {
        let split = Split::of(elements, self.placement.shards);
        if let Some(only) = split.only() {
            return ask(self.shard(only), elements);
        }
        Ok(split.joined(self.owners(&split, elements, ask)?))
    }

    /// All shards, each with nothing to say beside the question.
    fn every(&self) -> Vec<(&V, ())> {
        self.shards.iter().map(|shard| (shard, ())).collect()
    }

    /// The answer of each owner of a batch.
    fn owners<T: Send>(
        &self,
        split: &Split,
        elements: Elements<'_>,
        ask: impl Fn(&V, Elements<'_>) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let asked = split.parts.iter().map(|(shard, rows)| (self.shard(*shard), rows_of(elements, rows)));
        A::each(asked.collect(), |shard, some: ElementIds| ask(shard, some.batch()))
    }

    /// Whether vertices of other labels may carry a label.
    fn is_carried(&self, kind: ElementKind, label: LabelId) -> bool {
        kind == ElementKind::Vertex && self.schema.are_carried_elsewhere(&[label])
    }

    fn label_at(&self, kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor) -> Option<LabelId> {
        walk::label_at(&self.schema, kind, scan, cursor)
    }

    /// Goes on with a scan in the next shard: calls `f` with it, its scan and its cursor. `None` at the end.
    fn go_on<T>(
        &self,
        kind: ElementKind,
        scan: &Scan,
        cursor: &mut ScanCursor,
        f: impl FnOnce(&V, &Scan, &mut ScanCursor, LabelId) -> Result<T>,
    ) -> Result<Option<T>> {
        let Some(label) = self.label_at(kind, scan, cursor) else { return Ok(None) };
        let mut at = Position::of(cursor);
        let Some(shard) = self.shards.get(usize::from(at.shard)) else {
            (cursor.label, cursor.local) = (cursor.label + 1, 0);
            return self.label_at(kind, scan, cursor).map_or(Ok(None), |_| self.go_on(kind, scan, cursor, f));
        };
        let mut within = ScanCursor { label: cursor.label, local: at.local, done: false };
        let given = f(shard, &walk::scan_of(scan, label), &mut within, label)?;
        // Behind the label come vertices of others that carry it beside their own.
        at = match within.done || within.label > cursor.label {
            true => Position { shard: at.shard + 1, local: 0 },
            false => Position { local: within.local, ..at },
        };
        if at.shard == self.placement.shards {
            (cursor.label, cursor.local) = (cursor.label + 1, 0);
        } else {
            cursor.local = u64::from(at.shard) << LOCAL_BITS | at.local;
        }
        self.label_at(kind, scan, cursor);
        Ok(Some(given))
    }

    /// A hop without what the shards of the targets cannot tell of edges, and what is left to do here. They know the time of an edge, and
    /// no other property.
    fn tellable<'h>(&self, hop: &'h Hop) -> (Hop, Option<&'h Filter>) {
        let is_time = |key: KeyId| match (&hop.labels, hop.direction) {
            (_, Direction::Out) => true,
            (Some(labels), _) => labels.iter().all(|label| self.time(*label) == Some(key)),
            (None, _) => (0..self.schema.edge_labels.len()).all(|label| self.time(LabelId(label as u16)) == Some(key)),
        };
        let latest = hop.latest.filter(|latest| is_time(latest.key));
        match &hop.filter {
            Some(filter) if !is_time(filter.key) => {
                let wants = Wants { rows: true, neighbors: true, edges: true };
                (Hop { filter: None, latest: None, limit: None, wants, ..hop.clone() }, Some(filter))
            }
            _ => (Hop { latest, ..hop.clone() }, None),
        }
    }

    fn time(&self, label: LabelId) -> Option<KeyId> {
        self.schema.label_schema(ElementKind::Edge, label)?.time
    }

    /// The edges of each row, of one shard or of several.
    fn gather(&self, from: &[VertexId], hop: &Hop, out: &mut Adjacency) -> Result<()> {
        let split = Split::new(from.iter().map(|vertex| vertex.shard()), self.placement.shards);
        if let Some(only) = split.only() {
            return self.shard(only).neighbors(from, hop, out);
        }
        let hop_with_rows = Hop { wants: Wants { rows: true, ..hop.wants }, ..hop.clone() };
        let found = self.owners(&split, Elements::Vertices(from), |shard, some| {
            let mut found = Adjacency::default();
            let Elements::Vertices(some) = some else { return Ok(found) };
            shard.neighbors(some, &hop_with_rows, &mut found).map(|()| found)
        })?;
        split.joined_hops(from.len(), hop.wants, &found, out);
        Ok(())
    }

    /// The edges of each row that pass a filter, which their own shards answer.
    fn filtered(&self, from: &[VertexId], hop: &Hop, filter: &Filter) -> Result<Adjacency> {
        let mut all = Adjacency::default();
        self.gather(from, hop, &mut all)?;
        let pass = self.pass(Elements::Edges(&all.edges), filter.key, &filter.predicate)?;
        let kept = |at: &usize| pass[*at];
        let rows = (0..all.rows.len()).filter(kept).map(|at| all.rows[at]).collect();
        let neighbors = (0..all.neighbors.len()).filter(kept).map(|at| all.neighbors[at]).collect();
        let edges = (0..all.edges.len()).filter(kept).map(|at| all.edges[at]).collect();
        Ok(Adjacency { rows, neighbors, edges })
    }
}

impl<V: GraphView, A: Asking<V>> Catalog for ClusterView<V, A> {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn statistics(&self) -> Result<Arc<Statistics>> {
        let mut all = Statistics::default();
        for shard in &self.shards {
            let of = shard.statistics()?;
            for (sums, counts) in [(&mut all.vertices, &of.vertices), (&mut all.edges, &of.edges)] {
                sums.resize(sums.len().max(counts.len()), 0);
                sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            }
        }
        Ok(Arc::new(all))
    }

    fn is_searchable(&self, of: PropertyId, predicate: &Predicate) -> bool {
        // All shards have the same declarations. A shard that does not answer fails in the search itself.
        self.schema.is_searchable(of, predicate).unwrap_or_else(|| {
            A::each(self.every(), |shard, ()| Ok(shard.is_searchable(of, predicate)))
                .is_ok_and(|all| all.into_iter().all(|is| is))
        })
    }

    fn candidates(&self, of: PropertyId, predicate: &Predicate) -> Result<u64> {
        self.schema.matches_max(of, predicate).map_or_else(|| self.counted(of, predicate), Ok)
    }

    fn reach(&self, of: PropertyId, predicate: &Predicate) -> Reach {
        match self.is_told_apart(of, predicate) {
            _ if self.placement.shards == 1 => Reach::Here,
            true => Reach::Directory,
            false => Reach::EveryShard,
        }
    }
}

impl<V: GraphView, A: Asking<V>> GraphView for ClusterView<V, A> {
    fn distance(&self) -> Distance {
        self.shards.first().map_or(Distance::HERE, V::distance)
    }

    /// The first shard keeps them.
    fn sources(&self) -> Result<Vec<(String, Vec<u8>)>> {
        self.shard(0).sources()
    }

    fn scan_vertices(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<VertexId>) -> Result<()> {
        let first = out.len();
        for _ in 0..SHARDS_A_CALL {
            let left = limit.saturating_sub(out.len() - first);
            if left == 0 || cursor.done {
                break;
            }
            self.go_on(ElementKind::Vertex, scan, cursor, |shard, scan, cursor, label| {
                let before = out.len();
                shard.scan_vertices(scan, cursor, left, out)?;
                let found = out.split_off(before);
                out.extend(found.into_iter().filter(|vertex| vertex.label() == label));
                Ok(())
            })?;
        }
        Ok(())
    }

    fn scan_edges(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<EdgeRef>) -> Result<()> {
        let first = out.len();
        for _ in 0..SHARDS_A_CALL {
            let left = limit.saturating_sub(out.len() - first);
            if left == 0 || cursor.done {
                break;
            }
            self.go_on(ElementKind::Edge, scan, cursor, |shard, scan, cursor, _| shard.scan_edges(scan, cursor, left, out))?;
        }
        Ok(())
    }

    fn scan(&self, kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor, limit: usize) -> Result<Scanned> {
        if self.label_at(kind, scan, cursor).is_none_or(|label| self.is_carried(kind, label)) {
            return scan_and_read(self, kind, scan, cursor, limit);
        }
        let scanned = self.go_on(kind, scan, cursor, |shard, scan, cursor, _| shard.scan(kind, scan, cursor, limit))?;
        Ok(scanned.unwrap_or(Scanned { elements: ElementIds::none(kind), columns: Vec::new() }))
    }

    fn count(&self, kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor) -> Result<u64> {
        if let Some(label) =
            self.label_at(kind, scan, cursor).filter(|label| cursor.local == 0 && !self.is_carried(kind, *label))
        {
            let (of_label, at) = (walk::scan_of(scan, label), cursor.label);
            let counts = A::each(self.every(), |shard, ()| {
                let (mut count, mut within) = (0, ScanCursor { label: at, local: 0, done: false });
                while !within.done && within.label == at {
                    count += shard.count(kind, &of_label, &mut within)?;
                }
                Ok(count)
            })?;
            *cursor = ScanCursor { label: at + 1, local: 0, done: false };
            self.label_at(kind, scan, cursor);
            return Ok(counts.into_iter().sum());
        }
        let counted = self.go_on(kind, scan, cursor, |shard, scan, cursor, label| {
            if !self.is_carried(kind, label) {
                return shard.count(kind, scan, cursor);
            }
            let mut found = Vec::new();
            shard.scan_vertices(scan, cursor, 8192, &mut found)?;
            Ok(found.iter().filter(|vertex| vertex.label() == label).count() as u64)
        })?;
        Ok(counted.unwrap_or(0))
    }

    fn find_vertices(&self, label: Option<LabelId>, ids: &[ExternalId], out: &mut Vec<Option<VertexId>>) -> Result<()> {
        if self.placement.id_space == IdSpace::Label && label.is_none() {
            out.resize(out.len() + ids.len(), None);
            return Ok(());
        }
        let first = out.len();
        out.resize(first + ids.len(), None);
        let mut asked: Vec<Vec<u32>> = vec![Vec::new(); self.shards.len()];
        for (row, id) in ids.iter().enumerate() {
            self.placement.homes(label, id).for_each(|home| asked[usize::from(home)].push(row as u32));
        }
        let asked: Vec<_> = self.shards.iter().zip(asked).filter(|(_, rows)| !rows.is_empty()).collect();
        let found = A::each(asked, |shard, rows| {
            let some: Vec<ExternalId> = rows.iter().map(|row| ids[*row as usize].clone()).collect();
            let mut found = Vec::with_capacity(some.len());
            shard.find_vertices(label, &some, &mut found)?;
            Ok((rows, found))
        })?;
        for (row, found) in found.into_iter().flat_map(|(rows, found)| rows.into_iter().zip(found)) {
            let known = &mut out[first + row as usize];
            *known = known.or(found);
        }
        Ok(())
    }

    fn find_edges(&self, ids: &[ExternalId], out: &mut Vec<Option<EdgeRef>>) -> Result<()> {
        let first = out.len();
        out.resize(first + ids.len(), None);
        // A generated id says in which shard it is; of others, any shard may have the edge.
        let asked = (0..).zip(&self.shards).map(|(number, shard)| {
            let is_here = |id: &ExternalId| EdgeId::from_generated(id).is_none_or(|edge| edge.shard() == number);
            (shard, (0..ids.len()).filter(|row| is_here(&ids[*row])).collect::<Vec<_>>())
        });
        let found = A::each(asked.filter(|(_, rows)| !rows.is_empty()).collect(), |shard, rows| {
            let mut found = Vec::with_capacity(rows.len());
            shard.find_edges(&rows.iter().map(|row| ids[*row].clone()).collect::<Vec<_>>(), &mut found)?;
            Ok((rows, found))
        })?;
        for (row, found) in found.into_iter().flat_map(|(rows, found)| rows.into_iter().zip(found)) {
            let known = &mut out[first + row];
            *known = known.or(found);
        }
        Ok(())
    }

    fn external_ids(&self, elements: Elements<'_>) -> Result<PropertyColumn> {
        let split = Split::of(elements, self.placement.shards);
        if let Some(only) = split.only() {
            return self.shard(only).external_ids(elements);
        }
        Ok(split.joined_columns(&self.owners(&split, elements, |shard, some| shard.external_ids(some))?))
    }

    fn contain(&self, elements: Elements<'_>) -> Result<Vec<bool>> {
        self.asked(elements, |shard, elements| shard.contain(elements))
    }

    fn all_further_labels(&self, vertices: &[VertexId], out: &mut Vec<Vec<LabelId>>) -> Result<()> {
        let mut found = self.asked(Elements::Vertices(vertices), |shard, elements| {
            let mut found = Vec::with_capacity(elements.len());
            let Elements::Vertices(vertices) = elements else { return Ok(found) };
            shard.all_further_labels(vertices, &mut found).map(|()| found)
        })?;
        out.append(&mut found);
        Ok(())
    }

    fn neighbors(&self, from: &[VertexId], hop: &Hop, out: &mut Adjacency) -> Result<()> {
        let (told, Some(filter)) = self.tellable(hop) else {
            let (told, _) = self.tellable(hop);
            return self.gather(from, &told, out);
        };
        let found = self.filtered(from, &told, filter)?;
        let (mut last, mut of_row) = (None, 0);
        for (at, row) in found.rows.iter().enumerate() {
            of_row = if last.replace(*row) == Some(*row) { of_row + 1 } else { 0 };
            if hop.limit.is_some_and(|limit| of_row >= limit) {
                continue;
            }
            if hop.wants.rows {
                out.rows.push(*row);
            }
            if hop.wants.neighbors {
                out.neighbors.push(found.neighbors[at]);
            }
            if hop.wants.edges {
                out.edges.push(found.edges[at]);
            }
        }
        Ok(())
    }

    fn degrees(&self, from: &[VertexId], hop: &Hop, out: &mut Vec<u64>) -> Result<()> {
        let (told, left) = self.tellable(hop);
        if let Some(filter) = left {
            let first = out.len();
            out.resize(first + from.len(), 0);
            self.filtered(from, &told, filter)?.rows.iter().for_each(|row| out[first + *row as usize] += 1);
            return Ok(());
        }
        let mut found = self.asked(Elements::Vertices(from), |shard, elements| {
            let mut found = Vec::with_capacity(elements.len());
            let Elements::Vertices(from) = elements else { return Ok(found) };
            shard.degrees(from, &told, &mut found).map(|()| found)
        })?;
        out.append(&mut found);
        Ok(())
    }

    fn columns(&self, elements: Elements<'_>, keys: &[KeyId], out: &mut Vec<PropertyColumn>) -> Result<()> {
        let split = Split::of(elements, self.placement.shards);
        if let Some(only) = split.only() {
            return self.shard(only).columns(elements, keys, out);
        }
        let answers = self.owners(&split, elements, |shard, some| {
            let mut columns = Vec::with_capacity(keys.len());
            shard.columns(some, keys, &mut columns).map(|()| columns)
        })?;
        for key in 0..keys.len() {
            let of_key: Vec<PropertyColumn> = answers.iter().map(|columns| columns[key].clone()).collect();
            out.push(split.joined_columns(&of_key));
        }
        Ok(())
    }

    fn keys(&self, elements: Elements<'_>, out: &mut Vec<KeyId>) -> Result<()> {
        let of_owners = self.owners(&Split::of(elements, self.placement.shards), elements, |shard, some| {
            let mut keys = Vec::new();
            shard.keys(some, &mut keys).map(|()| keys)
        })?;
        let mut all = of_owners.concat();
        all.sort_unstable();
        all.dedup();
        out.append(&mut all);
        Ok(())
    }

    fn have(&self, elements: Elements<'_>, key: KeyId) -> Result<Vec<bool>> {
        self.asked(elements, |shard, elements| shard.have(elements, key))
    }

    fn pass(&self, elements: Elements<'_>, key: KeyId, predicate: &Predicate) -> Result<Vec<bool>> {
        self.asked(elements, |shard, elements| shard.pass(elements, key, predicate))
    }

    fn searched_shards(&self, of: PropertyId, predicate: &Predicate) -> Result<Option<Vec<u16>>> {
        self.shards_with(of, predicate).map(Some)
    }

    fn shard_view(&self, number: u16) -> Option<&dyn GraphView> {
        self.shards.get(usize::from(number)).map(|shard| shard as &dyn GraphView)
    }

    fn fork(&self) -> Result<Option<Box<dyn GraphView + Send>>> {
        let mut shards = Vec::with_capacity(self.shards.len());
        for shard in &self.shards {
            let Some(fork) = shard.fork()? else { return Ok(None) };
            shards.push(Forked(fork));
        }
        let (placement, schema) = (self.placement, self.schema.clone());
        let (told, counted) = (Mutex::default(), Mutex::default());
        Ok(Some(Box::new(ClusterView::<_, InTurn> { shards, placement, schema, told, counted, asking: PhantomData })))
    }

    fn search(
        &self,
        of: PropertyId,
        predicate: &Predicate,
        cursor: &mut SearchCursor,
        limit: usize,
    ) -> Result<Option<ElementIds>> {
        self.search_next(of, predicate, cursor, limit)
    }
}

/// A shard in another thread.
struct Forked(Box<dyn GraphView + Send>);

impl Through for Forked {
    type View<'a> = &'a (dyn GraphView + Send);

    fn through(&self) -> Result<Self::View<'_>> {
        Ok(&*self.0)
    }

    fn schema(&self) -> &Arc<Schema> {
        self.0.schema()
    }

    fn distance(&self) -> Distance {
        self.0.distance()
    }

    fn fork(&self) -> Result<Option<Box<dyn GraphView + Send>>> {
        self.0.fork()
    }
}
