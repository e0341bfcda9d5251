//! Verifies the invariants across the tables.
//!
//! The check walks each table once, and looks up what it says in the tables that should agree with it. This shows that the
//! entries of `out`, `in`, `ids` and `edge_ids` are right. Their numbers show that none is missing, because no two of them
//! can stand for the same element: adjacency is strictly ascending, and the others are maps whose entries were found to be
//! inverses.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use mangrove_graph::{
    Cell, EdgeId, ElementId, ElementKind, ExternalId, GraphError, IdSpace, LabelId, PropertyId, Result, VertexId,
};

use crate::format::adjacency::{AdjacencyBlock, EdgeEntry};
use crate::format::block::{Block, SLOTS, slots};
use crate::format::catalog::{self, Counter};
use crate::format::index;
use crate::format::key::{AdjacencyKey, Column, block_slot, element_at, place};
use crate::format::keys;
use crate::format::names;
use crate::lmdb::table::Table;
use crate::read::{HotSnapshot, Reader, external, further, word};
use crate::read::{columns, labels};
use crate::segments::segment::CHUNK;
use crate::segments::segment::Segment;
use crate::system::fault::lmdb;

/// The most violations a report lists. Further ones are only counted.
const LISTED_MAX: usize = 100;

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    /// The first hundred.
    pub violations: Vec<Violation>,
    /// How many there are in all.
    pub violations_total: u64,
    pub vertices: u64,
    pub edges: u64,
    /// Cells of properties.
    pub properties: u64,
    pub index_entries: u64,
}

/// Something that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The table it is in.
    pub table: &'static str,
    pub what: String,
}

impl CheckReport {
    pub fn is_clean(&self) -> bool {
        self.violations_total == 0
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.table, self.what)
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for violation in &self.violations {
            writeln!(f, "{violation}")?;
        }
        let unlisted = self.violations_total - self.violations.len() as u64;
        if unlisted > 0 {
            writeln!(f, "… and {unlisted} more")?;
        }
        write!(
            f,
            "{} vertices, {} edges, {} properties, {} index entries: {}",
            self.vertices,
            self.edges,
            self.properties,
            self.index_entries,
            if self.is_clean() { "no violations".into() } else { format!("{} violations", self.violations_total) }
        )
    }
}

/// Checks all that a snapshot sees. Fails only if the store cannot be read at all.
pub fn check(snapshot: &HotSnapshot) -> Result<CheckReport> {
    let mut check =
        Check { reader: snapshot.reader(), report: CheckReport::default(), live: BTreeMap::new(), named: BTreeMap::new() };
    check.columns()?;
    check.sealed_columns()?;
    check.counters()?;
    check.names()?;
    check.adjacency("out", check.reader.tables.out, true)?;
    check.adjacency("in", check.reader.tables.incoming, false)?;
    check.indexes()?;
    check.sealed_indexes()?;
    check.values_are_indexed()?;
    Ok(check.report)
}

struct Check<'t> {
    reader: Reader<'t>,
    report: CheckReport,
    /// How many elements were found alive.
    live: BTreeMap<(ElementKind, LabelId), u64>,
    /// How many elements were found to have an id in the tables.
    named: BTreeMap<ElementKind, u64>,
}

impl<'t> Check<'t> {
    fn violation(&mut self, table: &'static str, what: impl Into<String>) {
        self.report.violations_total += 1;
        if self.report.violations.len() < LISTED_MAX {
            self.report.violations.push(Violation { table, what: what.into() });
        }
    }

    /// The value of an outcome. Notes damage as a violation, and then returns `None`. Passes on other errors.
    fn noting<T>(&mut self, table: &'static str, what: &dyn fmt::Debug, outcome: Result<T>) -> Result<Option<T>> {
        match outcome {
            Ok(value) => Ok(Some(value)),
            Err(GraphError::Corrupt(damage)) => {
                self.violation(table, format!("{what:?}: {damage}"));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn each(&mut self, table: Table, mut f: impl FnMut(&mut Self, &'t [u8], &'t [u8]) -> Result<()>) -> Result<()> {
        for entry in table.iter(self.reader.txn).map_err(lmdb)? {
            let (key, value) = entry.map_err(lmdb)?;
            f(self, key, value)?;
        }
        Ok(())
    }

    /// Checks that every block is well-formed, is of a column that can exist, and has cells of living elements only.
    fn columns(&mut self) -> Result<()> {
        self.each(self.reader.tables.columns, |check, key, bytes| {
            if let Some((slot, block)) = key.split_last().filter(|(_, block)| block.len() == 12) {
                return check.far_cell(block, *slot);
            }
            let reader = check.reader;
            let parsed = Column::parse(key);
            if let Ok((column, list)) = parsed
                && column == Column::keys(column.kind, column.label)
            {
                return check.noting("columns", &(column, list), keys::parse(bytes)).map(|_| ());
            }
            let parsed =
                parsed.and_then(|(column, block)| reader.parse(column, block, bytes).map(|cells| ((column, block), cells)));
            let Some(((column, block), cells)) = check.noting("columns", &key, parsed)? else { return Ok(()) };
            let known = check.reader.schema.label_schema(column.kind, column.label);
            if known.is_none() {
                check.violation("columns", format!("{column:?} belongs to an unknown label"));
                return Ok(());
            }
            if check.reader.is_covered(column, block) && column.is_fixed() {
                return Ok(()); // it was sealed a moment ago, and readers ignore it
            }
            let may_be_sealed = block * (SLOTS as u64) < check.sealed_end(column.kind, column.label)?;
            let is_partial = cells.said != u128::MAX && !check.reader.is_covered(column, block);
            if cells.present == 0 && !may_be_sealed || is_partial {
                check.violation("columns", format!("{column:?} has a block {block} that must not be there"));
            }
            if column == Column::dead(column.kind, column.label) {
                return check.dead(column, block, &cells);
            }
            if check.has_names(column) {
                *check.named.entry(column.kind).or_default() += cells.len() as u64;
            }
            check.is_listed(column, block, &cells)?;
            check.living_cells(column, block, &cells)
        })
    }

    /// Checks that the list of keys of a wide label has the property of this block, with the slots that have it.
    fn is_listed(&mut self, column: Column, block: u64, cells: &Block) -> Result<()> {
        let reader = self.reader;
        let is_listed =
            keys::is_wide(reader.schema, column.kind, column.label) && !catalog::has_no_lists(reader.tables, reader.txn)?;
        let Some(key) = column.property_key().filter(|_| is_listed) else { return Ok(()) };
        let (lists, list) = keys::list_of(column, block, key);
        let listed = reader.block_bytes(lists, list)?.map_or(Ok(Vec::new()), keys::parse);
        let Some(listed) = self.noting("columns", &(lists, list), listed)? else { return Ok(()) };
        if cells.present != 0 && !listed.contains(&(key, cells.present)) {
            self.violation("columns", format!("{column:?} has a block {block} that its list of keys does not name"));
        }
        Ok(())
    }

    /// Verifies the files of segments. Checks that sealed cells can be read, unless the tables replace them, and that names
    /// find their elements.
    fn sealed_columns(&mut self) -> Result<()> {
        let segments = self.reader.segments;
        for segment in segments.list() {
            let verified = segment.file().verify();
            self.noting("segment", &segment.number, verified)?;
        }
        for (kind, label, end) in segments.labels() {
            if self.reader.schema.label_schema(kind, label).is_none() {
                self.violation("segment", format!("it holds the unknown label {label:?}"));
                continue;
            }
            for column in columns(&self.reader, kind, label) {
                for block in 0..end.div_ceil(SLOTS as u64) {
                    let found = self.reader.sealed_block(column, block, false);
                    let Some(found) = self.noting("segment", &(column, block), found)? else { continue };
                    let in_tables = self.reader.said_by_tables(column, block).unwrap_or(0); // damage was noted with the tables
                    let Some(cells) = found.and_then(|found| found.without(in_tables)) else { continue };
                    self.living_cells(column, block, &cells)?;
                    if self.has_names(column) {
                        self.sealed_names(column, block, &cells)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether it is a column of ids by which elements are found.
    fn has_names(&self, column: Column) -> bool {
        column == Column::external(column.kind, column.label) && self.reader.sides.names(column.kind, column.label)
    }

    fn sealed_names(&mut self, column: Column, block: u64, cells: &Block) -> Result<()> {
        for slot in slots(cells.present) {
            let element = element_at(column.kind, column.label, block * SLOTS as u64 + slot as u64);
            let Some(Some(id)) = self.noting("segment", &element, cells.cell(slot).and_then(external))? else { continue };
            let found = match element {
                ElementId::Vertex(vertex) => {
                    let space = (self.reader.schema.id_space == IdSpace::Label).then_some(vertex.label());
                    self.reader.sealed_vertex(space, &id).map(|found| found.map(ElementId::Vertex))
                }
                ElementId::Edge(_) => self.reader.sealed_edge(&id).map(|found| found.map(ElementId::Edge)),
            };
            if self.noting("segment", &element, found)?.flatten() != Some(element) {
                self.violation("segment", format!("a search for the id {id} does not find {element:?}"));
            }
        }
        Ok(())
    }

    /// The first place of a label that is neither sealed nor to be sealed.
    fn sealed_end(&self, kind: ElementKind, label: LabelId) -> Result<u64> {
        let counter = catalog::counter(self.reader.tables, self.reader.txn, kind, label)?;
        Ok(counter.sealed.max(self.reader.segments.end(kind, label)))
    }

    /// Checks that only elements that are sealed, or to be sealed, are marked as removed.
    fn dead(&mut self, column: Column, block: u64, cells: &Block) -> Result<()> {
        if block * SLOTS as u64 >= self.sealed_end(column.kind, column.label)? {
            for slot in slots(cells.present) {
                self.violation("columns", format!("{} is marked as removed, but was never sealed", at(column, block, slot)));
            }
        }
        Ok(())
    }

    /// Checks that the cells are of living elements only. In the column that says which elements live, it counts these.
    fn living_cells(&mut self, column: Column, block: u64, cells: &Block) -> Result<()> {
        if column == Column::alive(column.kind, column.label) {
            *self.live.entry((column.kind, column.label)).or_default() += u64::from(cells.present.count_ones());
        } else {
            let alive = self.reader.alive(column.kind, column.label, block).unwrap_or(0);
            for slot in slots(cells.present & !alive) {
                let what = format!("{} does not exist, but has a cell in {column:?}", at(column, block, slot));
                self.violation("columns", what);
            }
        }
        self.cells(column, block, cells)
    }

    /// Checks that the block of a far cell says that it has it.
    fn far_cell(&mut self, block: &[u8], slot: u8) -> Result<()> {
        let found = self.reader.tables.columns.get(self.reader.txn, block).map_err(lmdb)?;
        let far = found.map_or(Ok(0), |bytes| Block::parse(bytes, None).map(|block| block.far)).unwrap_or(0);
        if slot >= SLOTS as u8 || far >> slot & 1 == 0 {
            self.violation(
                "columns",
                format!("slot {slot} of {block:?} is stored as a far cell, but its block does not say so"),
            );
        }
        Ok(())
    }

    /// Checks that every cell can be read, and is of a type that the schema knows.
    fn cells(&mut self, column: Column, block: u64, cells: &Block) -> Result<()> {
        let holds_ends = cells.is_of_ends();
        if holds_ends != (column == Column::ends(column.label)) {
            self.violation("columns", format!("{column:?} has a block of the wrong form"));
            return Ok(());
        }
        if holds_ends {
            return Ok(());
        }
        let property = column.property_key().map(|key| {
            self.reader.schema.label_schema(column.kind, column.label).and_then(|label| label.property(key).cloned())
        });
        if property == Some(None) {
            self.violation("columns", format!("{column:?} holds a property that its label does not have"));
            return Ok(());
        }
        for slot in slots(cells.present) {
            let Some(cell) = self.noting("columns", &at(column, block, slot), cells.cell(slot))? else { continue };
            if let Some(Some(property)) = &property {
                self.report.properties += 1;
                if cell.values().any(|value| !property.types.contains(value.value_type())) {
                    self.violation(
                        "columns",
                        format!(
                            "{} holds a value of a type that the schema does not \
                                                       list",
                            at(column, block, slot)
                        ),
                    );
                }
            }
            if column == Column::further(column.label) {
                let labels = self.noting("columns", &at(column, block, slot), further(cell))?.unwrap_or_default();
                let known = &self.reader.schema.vertex_labels[usize::from(column.label.0)].further;
                if !labels.iter().all(|label| known.contains(label)) {
                    self.violation(
                        "columns",
                        format!(
                            "{} has a further label that the schema does not \
                                                       list",
                            at(column, block, slot)
                        ),
                    );
                }
            }
        }
        Ok(())
    }

    /// Checks that counters say how many elements are alive.
    fn counters(&mut self) -> Result<()> {
        let schema = self.reader.schema;
        for kind in [ElementKind::Vertex, ElementKind::Edge] {
            for (number, name) in schema.labels(kind).iter().enumerate() {
                let label = LabelId(number as u16);
                let counter = catalog::counter(self.reader.tables, self.reader.txn, kind, label);
                let Counter { next, live, .. } = self.noting("meta", &name.name, counter)?.unwrap_or_default();
                let found = self.live.get(&(kind, label)).copied().unwrap_or(0);
                match kind {
                    ElementKind::Vertex => self.report.vertices += found,
                    ElementKind::Edge => self.report.edges += found,
                }
                if live != found || next < live {
                    let what = format!(
                        "{kind:?} label {}: the counter says {live} of {next} elements are alive, but {found} were \
                                        found",
                        name.name
                    );
                    self.violation("meta", what);
                }
            }
        }
        Ok(())
    }

    /// Checks that names and the columns of external ids are inverses.
    fn names(&mut self) -> Result<()> {
        let tables = self.reader.tables;
        let vertices = self.names_of("ids", tables.ids, |check, raw| {
            let vertex = VertexId(raw);
            let space = (check.reader.schema.id_space == IdSpace::Label).then_some(vertex.label());
            Ok((ElementId::Vertex(vertex), space, check.reader.vertex_name(vertex)?))
        })?;
        let edges = self.names_of("edge_ids", tables.edge_ids, |check, raw| {
            Ok((ElementId::Edge(EdgeId(raw)), None, check.reader.edge_external_id(EdgeId(raw))?))
        })?;
        let named = |kind| self.named.get(&kind).copied().unwrap_or(0);
        let wanted = [("ids", vertices, named(ElementKind::Vertex)), ("edge_ids", edges, named(ElementKind::Edge))];
        for (table, found, wanted) in wanted {
            if found != wanted {
                self.violation(table, format!("{found} ids are listed, but {wanted} elements have one"));
            }
        }
        Ok(())
    }

    /// The number of names in a table. `owner` gives the element that an id belongs to, its id space, and its name.
    fn names_of(
        &mut self,
        name: &'static str,
        table: Table,
        owner: impl Fn(&Self, u64) -> Result<(ElementId, Option<LabelId>, Option<ExternalId>)>,
    ) -> Result<u64> {
        let mut n = 0;
        self.each(table, |check, key, value| {
            let found = word(value).and_then(|raw| owner(check, raw));
            // An element that was sealed a moment ago may still have a row here. `columns` did not count it either.
            let is_sealed = |of: ElementId| check.reader.is_sealed(of.kind(), of.label(), place(of.raw()));
            n += u64::from(!found.as_ref().is_ok_and(|(of, ..)| is_sealed(*of)));
            match check.noting(name, &key, found)? {
                Some((_, space, Some(id))) if names::key(space, &id) == key => {}
                Some((element, _, id)) => check.violation(name, format!("{key:?} leads to {element:?}, whose id is {id:?}")),
                None => {}
            }
            Ok(())
        })?;
        Ok(n)
    }

    /// Checks that blocks are sorted, and that every entry agrees with the ends and the time of its edge.
    fn adjacency(&mut self, name: &'static str, table: Table, outgoing: bool) -> Result<()> {
        let (mut counts, mut last) = (BTreeMap::<LabelId, u64>::new(), None);
        let mut entries = Vec::new();
        self.each(table, |check, key, value| {
            let parsed = AdjacencyKey::parse(key).and_then(|at| AdjacencyBlock::parse(key, value).map(|block| (at, block)));
            let Some((at, block)) = check.noting(name, &key, parsed)? else { return Ok(()) };
            entries.clear();
            block.entries(&mut entries);
            entries.retain(|entry| !check.reader.is_sealed(ElementKind::Edge, at.label, entry.edge));
            let Some(first) = entries.first() else { return Ok(()) };
            *counts.entry(at.label).or_default() += entries.len() as u64;
            let alive = check.reader.contains(ElementId::Vertex(at.vertex));
            if check.noting(name, &at, alive)? == Some(false) {
                check.violation(name, format!("{:?} does not exist, but has edges", at.vertex));
            }
            if first.order() < (at.time, at.edge) || entries.len() == block.len() && first.order() != (at.time, at.edge) {
                check.violation(name, format!("the block at {at:?} begins with another edge"));
            }
            for entry in &entries {
                let order = Some((at.vertex, at.label, entry.order()));
                if last >= order {
                    check.violation(name, format!("{entry:?} of {at:?} is out of order"));
                }
                last = order;
                check.entry(name, &at, entry, outgoing)?;
            }
            Ok(())
        })?;
        self.sealed_lists(name, outgoing, &mut counts)?;
        for number in 0..self.reader.schema.edge_labels.len() as u16 {
            let label = LabelId(number);
            let found = counts.remove(&label).unwrap_or(0);
            let is_listed = self.reader.sides.lists(outgoing, label);
            let wanted = self.live.get(&(ElementKind::Edge, label)).copied().filter(|_| is_listed).unwrap_or(0);
            if found != wanted {
                self.violation(name, format!("{found} entries are listed, but there are {wanted} edges of label {number}"));
            }
        }
        for (label, n) in counts {
            self.violation(name, format!("{n} entries belong to the unknown edge label {}", label.0));
        }
        Ok(())
    }

    /// Checks that sealed lists are of living vertices, are in order, and agree with the ends of their edges.
    fn sealed_lists(&mut self, name: &'static str, outgoing: bool, counts: &mut BTreeMap<LabelId, u64>) -> Result<()> {
        let reader = self.reader;
        for (_, vertices, _) in reader.segments.labels().filter(|(kind, ..)| *kind == ElementKind::Vertex) {
            for label in labels(&reader, ElementKind::Edge) {
                let of_segment = |segment: &'t Arc<Segment>| segment.list_chunks(outgoing, vertices, label);
                let chunks: BTreeSet<u64> = reader.segments.list().iter().flat_map(of_segment).collect();
                for place in chunks.into_iter().flat_map(|chunk| chunk * CHUNK..(chunk + 1) * CHUNK) {
                    let vertex = crate::format::key::vertex_at(vertices, place);
                    let living = reader.sealed_edges(outgoing, vertex, label);
                    let Some(living) = self.noting("segment", &vertex, living)? else { continue };
                    *counts.entry(label).or_default() += living.len() as u64;
                    if !living.is_empty() && self.reader.contains(ElementId::Vertex(vertex)).ok() == Some(false) {
                        self.violation(name, format!("{vertex:?} does not exist, but has edges"));
                    }
                    if !living.is_sorted_by(|a, b| a.order() < b.order()) {
                        self.violation(name, format!("the edges of {vertex:?} are out of order"));
                    }
                    for entry in &living {
                        self.entry(name, &entry.key(vertex, label), entry, outgoing)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn entry(&mut self, name: &'static str, at: &AdjacencyKey, entry: &EdgeEntry, outgoing: bool) -> Result<()> {
        let id = crate::format::key::edge_at(at.label, entry.edge);
        let (source, target) = if outgoing { (at.vertex, entry.neighbor) } else { (entry.neighbor, at.vertex) };
        let edge = self.reader.edge(id);
        match self.noting(name, &id, edge)? {
            Some(Some(edge)) if (edge.source, edge.target) == (source, target) => {}
            Some(Some(edge)) => {
                self.violation(name, format!("{id:?} is listed between {source:?} and {target:?}, but the edge is {edge:?}"))
            }
            Some(None) => {
                self.violation(name, format!("{id:?} is listed between {source:?} and {target:?}, but does not exist"))
            }
            None => {}
        }
        if entry.time.is_some() {
            let time = self.reader.time_of(at.label, place(id.0));
            if let Some(time) = self.noting("columns", &id, time)?.filter(|time| entry.time != Some(*time)) {
                self.violation(name, format!("{id:?} is listed at the time {:?}, but its time is {time}", entry.time));
            }
        }
        let ends = &self.reader.schema.edge_labels.get(usize::from(at.label.0));
        if ends.is_some_and(|label| !label.ends.contains(&(source.label(), target.label()))) {
            self.violation("schema", format!("{id:?} joins vertex labels that the schema does not list for its edge label"));
        }
        Ok(())
    }

    /// Checks that every entry of an index is of a value that its element has.
    fn indexes(&mut self) -> Result<()> {
        self.each(self.reader.tables.index, |check, entry, _| {
            check.report.index_entries += 1;
            let Some(index::IndexEntry { of, place, .. }) =
                check.noting("index", &entry, index::IndexEntry::parse(entry))?
            else {
                return Ok(());
            };
            if check.reader.schema.index(of).is_none() {
                check.violation("index", format!("{entry:?} belongs to an unknown index"));
                return Ok(());
            }
            let element = element_at(of.kind, of.label, place);
            let cell = check.reader.cell_at(Column::holding(check.reader.schema, of.kind, of.label, of.key), place);
            let Some(cell) = check.noting("columns", &element, cell)? else { return Ok(()) };
            if !index::entries(of, element.raw(), &cell).iter().any(|wanted| wanted == entry) {
                check.violation("index", format!("{entry:?} lists a value that {element:?} does not have"));
            }
            Ok(())
        })
    }

    /// Checks that every pair in a segment's index is of a value that its element has, unless something newer decides the
    /// cell.
    fn sealed_indexes(&mut self) -> Result<()> {
        for (at, segment) in self.reader.segments.list().iter().enumerate() {
            for indexed in &self.reader.schema.indexes {
                for chunk in 0..segment.index_chunks(indexed.of) {
                    let pairs = segment.index(indexed.of, chunk).and_then(|index| index.pairs());
                    let Some(pairs) = self.noting("index", &segment.number, pairs)? else { continue };
                    for (value, place) in pairs {
                        self.sealed_pair(at, indexed.of, place, &value)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn sealed_pair(&mut self, at: usize, of: PropertyId, place: u64, value: &[u8]) -> Result<()> {
        let (column, (block, slot)) = (Column::holding(self.reader.schema, of.kind, of.label, of.key), block_slot(place));
        let element = element_at(of.kind, of.label, place);
        let standing = self.reader.standing(at, column, block);
        if self.noting("index", &element, standing)?.unwrap_or(0) >> slot & 1 == 0 {
            return Ok(());
        }
        self.report.index_entries += 1;
        let cell = self.reader.cell_at(column, place);
        let Some(cell) = self.noting("columns", &element, cell)? else { return Ok(()) };
        if !index::encoded(&cell).iter().any(|now| now == value) {
            self.violation("index", format!("a segment lists the value {value:?} for {element:?}, which does not have it"));
        }
        Ok(())
    }

    /// Checks that every value of an indexed key has its entry.
    fn values_are_indexed(&mut self) -> Result<()> {
        for indexed in &self.reader.schema.indexes {
            let of = indexed.of;
            let mut column = self.reader.column(Column::holding(self.reader.schema, of.kind, of.label, of.key));
            let mut next = 0;
            // What cannot be read was noted with the columns.
            while let Ok(Some((block, cells))) = column.block_from(next) {
                next = block + 1;
                for slot in slots(cells.present) {
                    let place = block * SLOTS as u64 + slot as u64;
                    self.is_indexed(of, place, &cells.cell(slot).unwrap_or_default())?;
                }
            }
        }
        Ok(())
    }

    fn is_indexed(&mut self, of: PropertyId, place: u64, cell: &Cell) -> Result<()> {
        let element = element_at(of.kind, of.label, place);
        for value in index::encoded(cell) {
            let entry = index::entry(of, &value, element.raw());
            let mut is_there = self.reader.tables.index.get(self.reader.txn, &entry).map_err(lmdb)?.is_some();
            for segment in self.reader.segments.list() {
                // What cannot be read was noted with the segments' indexes.
                let had = segment.had(of, &value, place);
                is_there = is_there || had.unwrap_or(true);
            }
            if !is_there {
                self.violation(
                    "index",
                    format!("{element:?} has a value under key {} that the index does not list", of.key.0),
                );
            }
        }
        Ok(())
    }
}

/// Names a cell in messages.
fn at(column: Column, block: u64, slot: usize) -> String {
    format!("{:?}", element_at(column.kind, column.label, block * SLOTS as u64 + slot as u64))
}

#[cfg(test)]
mod tests {
    use mangrove_graph::{GraphWrite, NewEdge, Value};

    use super::*;
    use crate::options::HotOptions;
    use crate::store::Hot;
    use crate::write::HotTransaction;

    /// The report on a store with every kind of entry, after `damage` changed it behind the transaction's back.
    fn damaged(damage: impl FnOnce(&mut HotTransaction)) -> CheckReport {
        let dir = tempfile::tempdir().unwrap();
        let hot = Hot::open(dir.path(), &HotOptions::default()).unwrap();
        let mut t = hot.begin().unwrap();
        let person = t.ensure_label(ElementKind::Vertex, "person").unwrap();
        let knows = t.ensure_label(ElementKind::Edge, "knows").unwrap();
        let name = t.ensure_key("name").unwrap();
        t.create_index(PropertyId::of_vertices(person, name)).unwrap();
        let (mut ids, mut edges) = (Vec::new(), Vec::new());
        t.add_vertices(person, &[None, None, None], &mut ids).unwrap();
        t.set_cell(ElementId::Vertex(ids[0]), name, Cell::One("marko".into())).unwrap();
        t.set_cell(ElementId::Vertex(ids[1]), name, Cell::One(Value::string("far ".repeat(100)))).unwrap();
        let edge = |s: usize, t: usize| NewEdge { source: ids[s], target: ids[t], id: None, time: None };
        let named = NewEdge { id: Some("e".into()), ..edge(1, 2) };
        t.add_edges(knows, &[edge(0, 1), named, edge(2, 2)], &mut edges).unwrap();
        t.commit().unwrap();
        let mut t = hot.begin().unwrap();
        damage(&mut t);
        t.commit().unwrap();
        hot.check().unwrap()
    }

    /// Damages an entry of the table of this name: replaces its value by what `put` gives, or removes the entry if that is
    /// `None`.
    fn swap(
        t: &mut HotTransaction,
        name: &str,
        pick: impl Fn(&[u8]) -> bool,
        put: impl Fn(&[u8], &[u8]) -> Option<Vec<u8>>,
    ) {
        let table = t.table(name);
        let entries = table.iter(t.txn()).unwrap().map(Result::unwrap);
        let found: Vec<_> = entries.filter(|(key, _)| pick(key)).map(|(k, v)| (k.to_vec(), v.to_vec())).collect();
        let (key, value) = found.first().expect("an entry to damage").clone();
        match put(&key, &value) {
            Some(value) => table.put(t.txn_mut(), &key, &value).unwrap(),
            None => assert!(table.delete(t.txn_mut(), &key).unwrap()),
        }
    }

    #[test]
    fn a_sound_store_is_clean_and_counted() {
        let report = damaged(|_| {});
        assert!(report.is_clean(), "{report}");
        assert_eq!((report.vertices, report.edges, report.properties, report.index_entries), (3, 3, 2, 2));
    }

    #[test]
    fn whatever_is_missing_is_noticed_where_it_is() {
        for table in ["out", "in", "ids", "edge_ids", "index", "columns", "meta"] {
            let pick = |key: &[u8]| table != "meta" || key.starts_with(b"count");
            let report = damaged(|t| swap(t, table, pick, |_, _| None));
            assert!(!report.is_clean(), "an entry of {table} is gone, and nothing noticed");
        }
        let far = damaged(|t| swap(t, "columns", |key| key.len() == 13, |_, _| None));
        assert!(far.violations.iter().any(|v| v.table == "columns"), "{far}");
    }

    #[test]
    fn whatever_is_cut_short_or_altered_is_noticed() {
        for table in ["out", "in", "ids", "edge_ids", "columns"] {
            let cut = |_: &[u8], value: &[u8]| Some(value[..value.len() - 1].to_vec());
            assert!(!damaged(|t| swap(t, table, |_| true, cut)).is_clean(), "{table} cut short");
        }
        for table in ["out", "in"] {
            // The first byte of the neighbours' base.
            let bend = |_: &[u8], value: &[u8]| {
                let mut value = value.to_vec();
                value[2] ^= 1;
                Some(value)
            };
            let report = damaged(|t| swap(t, table, |_| true, bend));
            assert!(report.violations.iter().any(|v| v.table == table), "{report}");
        }
        let report = damaged(|t| {
            let schema = t.as_view().schema();
            let name = PropertyId::of_vertices(LabelId(0), schema.key("name").unwrap());
            let ghost = index::entries(name, 2, &Cell::One(7.into())).remove(0);
            let table = t.table("index");
            table.put(t.txn_mut(), &ghost, &[]).unwrap();
        });
        assert_eq!(report.violations[0].table, "index", "{report}");
    }
}
