//! What was changed above a store, and not stored yet.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::{HashMap, HashSet};
use mangrove_graph::{Cell, EdgeId, EdgeRef, ElementId, ElementKind, ExternalId, LabelId, PropertyId, VertexId};

use crate::names::comes_in;

/// New elements of a label, with consecutive local ids.
pub struct Added<T> {
    /// The local id of the first.
    pub first: u64,
    /// `None` where an element was removed again, or where there never was one.
    pub rows: Vec<Option<T>>,
}

impl<T> Added<T> {
    pub fn next(&self) -> u64 {
        self.first + self.rows.len() as u64
    }

    fn row(&self, local: u64) -> Option<usize> {
        local.checked_sub(self.first).map(|row| row as usize)
    }
}

#[derive(Clone)]
pub struct AddedEdge {
    pub source: VertexId,
    pub target: VertexId,
    pub id: Option<ExternalId>,
    /// What orders it among the edges of its vertex; the least if its label has no time.
    pub time: i64,
}

/// The cells of a property that are not as in the store.
#[derive(Default)]
pub struct Column {
    /// Of new elements, in their order; those beyond the end are absent.
    new: Vec<Cell>,
    /// Of others, by local id.
    pub changed: HashMap<u64, Cell>,
}

/// Where an element is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In the store, unless that does not have it.
    Below,
    /// Among the new ones of its label.
    New(usize),
    Nowhere,
}

#[derive(Default)]
pub struct Delta {
    pub vertices: BTreeMap<LabelId, Added<ExternalId>>,
    pub edges: BTreeMap<LabelId, Added<AddedEdge>>,
    /// New vertices by their ids, with the label if ids are unique within labels.
    pub names: HashMap<(Option<LabelId>, ExternalId), VertexId>,
    pub edge_names: HashMap<ExternalId, EdgeId>,
    pub cells: HashMap<PropertyId, Column>,
    /// Of vertices that are new, or whose further labels were changed.
    pub further: HashMap<VertexId, Vec<LabelId>>,
    /// Elements of the store that were removed.
    pub gone: HashSet<ElementId>,
    /// The local ids of elements of the store that were changed or removed.
    pub touched: BTreeMap<(ElementKind, LabelId), BTreeSet<u64>>,
    /// Vertices that lost an edge which the store lists.
    pub thinned: HashSet<VertexId>,
    /// By how many elements each label has more than in the store.
    pub grown: BTreeMap<(ElementKind, LabelId), i64>,
    /// Roughly the bytes that all this takes.
    pub bytes: u64,
}

impl Delta {
    pub fn is_empty(&self) -> bool {
        self.vertices.is_empty() && self.edges.is_empty() && self.touched.is_empty()
    }

    /// The local id from which on elements of a label are new; none are if it is the greatest number.
    pub fn first_new(&self, kind: ElementKind, label: LabelId) -> u64 {
        let first = match kind {
            ElementKind::Vertex => self.vertices.get(&label).map(|added| added.first),
            ElementKind::Edge => self.edges.get(&label).map(|added| added.first),
        };
        first.unwrap_or(u64::MAX)
    }

    /// The local ids of new elements of a label that are there, from one on.
    pub fn new_ones(&self, kind: ElementKind, label: LabelId, from: u64) -> Vec<u64> {
        fn alive<T>(added: Option<&Added<T>>, from: u64) -> Vec<u64> {
            let Some(added) = added else { return Vec::new() };
            let start = from.max(added.first);
            let rows = added.rows.get((start - added.first) as usize..).unwrap_or_default();
            (start..).zip(rows).filter(|(_, row)| row.is_some()).map(|(local, _)| local).collect()
        }
        match kind {
            ElementKind::Vertex => alive(self.vertices.get(&label), from),
            ElementKind::Edge => alive(self.edges.get(&label), from),
        }
    }

    pub fn place(&self, element: ElementId) -> Place {
        let id = VertexId(element.raw());
        let row = |is_there: Option<bool>, row| if is_there == Some(true) { Place::New(row) } else { Place::Nowhere };
        let new = match element.kind() {
            _ if id.shard() != 0 => None,
            ElementKind::Vertex => self
                .vertices
                .get(&id.label())
                .and_then(|added| added.row(id.local()).map(|at| row(added.rows.get(at).map(Option::is_some), at))),
            ElementKind::Edge => self
                .edges
                .get(&id.label())
                .and_then(|added| added.row(id.local()).map(|at| row(added.rows.get(at).map(Option::is_some), at))),
        };
        let below = || if self.gone.contains(&element) { Place::Nowhere } else { Place::Below };
        new.unwrap_or_else(below)
    }

    pub fn vertex_at(&self, label: LabelId, row: usize) -> Option<&ExternalId> {
        self.vertices.get(&label)?.rows.get(row)?.as_ref()
    }

    pub fn edge_at(&self, label: LabelId, row: usize) -> Option<&AddedEdge> {
        self.edges.get(&label)?.rows.get(row)?.as_ref()
    }

    /// A new edge with its ends.
    pub fn new_edge(&self, id: EdgeId) -> Option<EdgeRef> {
        let Place::New(row) = self.place(ElementId::Edge(id)) else { return None };
        self.edge_at(id.label(), row).map(|edge| EdgeRef { id, source: edge.source, target: edge.target })
    }

    /// The cell of an element that is not as in the store. New elements have no other.
    pub fn cell(&self, of: PropertyId, local: u64, place: Place) -> Option<&Cell> {
        let column = self.cells.get(&of);
        match place {
            Place::New(row) => Some(column.and_then(|column| column.new.get(row)).unwrap_or(&Cell::Absent)),
            Place::Below => column?.changed.get(&local),
            Place::Nowhere => Some(&Cell::Absent),
        }
    }

    pub fn put_cell(&mut self, of: PropertyId, local: u64, place: Place, cell: Cell) {
        self.bytes += cell.values().map(|value| value.memory_bytes(usize::MAX) as u64).sum::<u64>();
        let column = self.cells.entry(of).or_default();
        match place {
            Place::New(row) => {
                if column.new.len() <= row {
                    column.new.resize(row + 1, Cell::Absent);
                }
                column.new[row] = cell;
            }
            Place::Below => {
                column.changed.insert(local, cell);
                self.touch(of.kind, of.label, local);
            }
            Place::Nowhere => {}
        }
    }

    pub fn touch(&mut self, kind: ElementKind, label: LabelId, local: u64) {
        if self.touched.entry((kind, label)).or_default().insert(local) {
            self.bytes += TOUCHED_BYTES;
        }
    }

    pub fn grow(&mut self, kind: ElementKind, label: LabelId, by: i64) {
        *self.grown.entry((kind, label)).or_default() += by;
    }

    /// The vertex in whose list an edge is.
    pub fn lister(edge: &EdgeRef) -> VertexId {
        if comes_in(edge.id.label()) { edge.target } else { edge.source }
    }
}

/// About what an element costs that is noted as changed.
const TOUCHED_BYTES: u64 = 64;

/// New edges by the vertices that list them.
#[derive(Default)]
pub struct Lists {
    of: HashMap<VertexId, BTreeMap<LabelId, Vec<(i64, u64)>>>,
    /// How many rows of each label are in it.
    listed: BTreeMap<LabelId, usize>,
}

impl Lists {
    /// Takes in the edges that were added since. Those that were removed stay.
    pub fn catch_up(&mut self, edges: &BTreeMap<LabelId, Added<AddedEdge>>) {
        for (label, added) in edges {
            let listed = self.listed.entry(*label).or_default();
            for (row, edge) in added.rows.iter().enumerate().skip(*listed) {
                let Some(edge) = edge else { continue };
                let lister = if comes_in(*label) { edge.target } else { edge.source };
                let list = self.of.entry(lister).or_default().entry(*label).or_default();
                let entry = (edge.time, added.first + row as u64);
                list.insert(list.partition_point(|other| *other <= entry), entry);
            }
            *listed = added.rows.len();
        }
    }

    pub fn has(&self, vertex: VertexId) -> bool {
        self.of.contains_key(&vertex)
    }

    /// The new edges of a vertex, by label: time and local id, in order.
    pub fn of(&self, vertex: VertexId) -> impl Iterator<Item = (LabelId, &[(i64, u64)])> {
        self.of.get(&vertex).into_iter().flatten().map(|(label, list)| (*label, &list[..]))
    }
}
