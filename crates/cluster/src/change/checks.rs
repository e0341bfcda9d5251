//! What a single shard cannot check: ends of edges, ids and values that other shards may have, and which shard would refuse a change.

use std::collections::BTreeMap;

use hashbrown::HashSet;
use mangrove_graph::{
    Cardinality, Cell, Comparison, EdgeId, ElementId, ElementKind, Elements, ExternalId, GraphError, GraphView, KeyId,
    LabelId, NewEdge, Predicate, PropertyId, Result, Scan, ScanCursor, ShardWrite, Value, ValueType, VertexId,
};

use super::{ClusterChange, Whole};

/// Elements that are looked at together.
const PAGE: usize = 8192;

impl<T: ShardWrite> ClusterChange<T> {
    /// Fails if one of these elements is not there.
    pub(super) fn exist(&self, elements: Elements<'_>) -> Result<()> {
        let there = self.view().contain(elements)?;
        match there.iter().position(|there| !there) {
            Some(at) => Err(GraphError::no_such(elements.get(at))),
            None => Ok(()),
        }
    }

    /// Fails if an id is taken, or given twice.
    pub(super) fn vertices_are_new(&self, label: LabelId, ids: &[ExternalId]) -> Result<()> {
        let mut found = Vec::with_capacity(ids.len());
        self.view().find_vertices(self.id_space(label), ids, &mut found)?;
        if let Some(at) = first_repeated(ids, |at| found[at].is_some()) {
            let label = self.id_space(label).map(|label| self.schema.label_name(ElementKind::Vertex, label).to_string());
            return Err(GraphError::DuplicateVertex { id: ids[at].clone(), label });
        }
        Ok(())
    }

    /// The same for ids that users give to edges.
    pub(super) fn edges_are_new(&self, edges: &[NewEdge]) -> Result<()> {
        let ids: Vec<ExternalId> = edges.iter().filter_map(|edge| edge.id.clone()).collect();
        if let Some(id) = ids.iter().find(|id| EdgeId::from_generated(id).is_some()) {
            return Err(GraphError::GeneratedId { id: id.clone() });
        }
        let mut found = Vec::with_capacity(ids.len());
        self.view().find_edges(&ids, &mut found)?;
        match first_repeated(&ids, |at| found[at].is_some()) {
            Some(at) => Err(GraphError::DuplicateEdge { id: ids[at].clone() }),
            None => Ok(()),
        }
    }

    /// Fails if an edge of another shard, or another vertex, has a value that may be there once.
    pub(super) fn stay_unique(&self, of: PropertyId, cells: &[(ElementId, Cell)]) -> Result<()> {
        if !self.schema.index(of).is_some_and(|index| index.unique) {
            return Ok(());
        }
        let (view, ours): (_, HashSet<ElementId>) = (self.view(), cells.iter().map(|(element, _)| *element).collect());
        let mut given: BTreeMap<Vec<u8>, Vec<(&Value, ElementId)>> = BTreeMap::new();
        for (element, cell) in cells {
            for value in cell.values().filter(|value| !value.is_null()) {
                let is_same = Predicate::Compare(Comparison::Eq, value.clone());
                let alike = given.entry(kind_of(value)).or_default();
                let among = alike.iter().find(|(other, by)| by != element && is_same.matches(other)).map(|(_, by)| *by);
                let before = view.search_all(of, &is_same)?;
                let before = Some(before.ok_or_else(|| GraphError::corrupt("a unique index that finds nothing"))?);
                let before = before.and_then(|found| found.iter().find(|other| !ours.contains(other)));
                if let Some(other) = among.or(before) {
                    return Err(self.not_unique(of, value, other));
                }
                alike.push((value, *element));
            }
        }
        Ok(())
    }

    fn not_unique(&self, of: PropertyId, value: &Value, other: ElementId) -> GraphError {
        let known_as = match other {
            ElementId::Vertex(vertex) => self.view().external_id(vertex),
            ElementId::Edge(edge) => self.view().edge_external_id(edge).map(|id| id.unwrap_or_else(|| edge.generated())),
        };
        match known_as {
            Ok(id) => GraphError::NotUnique {
                property: self.schema.property_name(of),
                value: value.to_string(),
                kind: of.kind,
                id,
            },
            Err(error) => error,
        }
    }

    /// Fails if elements of several shards share a value.
    pub(super) fn is_unique(&self, of: PropertyId) -> Result<()> {
        let (view, mut known) = (self.view(), BTreeMap::<Vec<u8>, Vec<(Value, ElementId)>>::new());
        let (scan, mut cursor) = (Scan { columns: vec![of.key], ..Scan::of(of.label) }, ScanCursor::default());
        while !cursor.done {
            let scanned = view.scan(of.kind, &scan, &mut cursor, PAGE)?;
            for (row, element) in scanned.elements.iter().enumerate().filter(|(_, element)| element.label() == of.label) {
                for value in scanned.columns[0].cell(row).values().filter(|value| !value.is_null()) {
                    let is_same = Predicate::Compare(Comparison::Eq, value.clone());
                    // Values that equal each other have the same kind of number or text in them.
                    let alike = known.entry(kind_of(value)).or_default();
                    if let Some((_, other)) = alike.iter().find(|(other, by)| *by != element && is_same.matches(other)) {
                        return Err(self.not_unique(of, value, *other));
                    }
                    alike.push((value.clone(), element));
                }
            }
        }
        Ok(())
    }

    /// The shard of an element that a test finds among those of a label, or of those that carry it.
    pub(super) fn shard_of(
        &self,
        kind: ElementKind,
        label: LabelId,
        test: impl Fn(&Whole<'_, T>, Elements<'_>) -> Result<Vec<bool>>,
    ) -> Result<Option<u16>> {
        let (view, mut cursor) = (self.view(), ScanCursor::default());
        while !cursor.done {
            let found = view.scan(kind, &Scan::of(label), &mut cursor, PAGE)?.elements;
            let passed = test(&view, found.batch())?;
            if let Some(at) = passed.iter().position(|passed| *passed) {
                return Ok(Some(VertexId(found.batch().get(at).raw()).shard()));
            }
        }
        Ok(None)
    }
}

/// The first id that is taken, or that an earlier one equals.
fn first_repeated(ids: &[ExternalId], is_taken: impl Fn(usize) -> bool) -> Option<usize> {
    let mut seen = HashSet::with_capacity(ids.len());
    (0..ids.len()).find(|at| is_taken(*at) || !seen.insert(&ids[*at]))
}

/// Which vertices have something under a key that is not their id, or an id of another type than the key is declared to have.
pub(super) fn cannot_be_ids<V: GraphView>(
    view: &V,
    elements: Elements<'_>,
    key: KeyId,
    declared: Option<ValueType>,
) -> Result<Vec<bool>> {
    let (ids, cells) = (view.external_ids(elements)?, view.properties(elements, key)?);
    let id_in = |cell: &Cell| cell.values().next().and_then(ExternalId::from_value);
    let cannot = |row| {
        let (id, cell) = (id_in(&ids.cell(row)), cells.cell(row));
        let is_of_type = declared.is_none_or(|declared| id.as_ref().is_some_and(|id| id.value_type() == declared));
        !is_of_type || !cell.is_absent() && id_in(&cell) != id
    };
    Ok((0..elements.len()).map(cannot).collect())
}

/// Which elements have something under a key that a declaration would forbid.
pub(super) fn do_not_conform<V: GraphView>(
    view: &V,
    elements: Elements<'_>,
    key: KeyId,
    value_type: Option<ValueType>,
    cardinality: Cardinality,
) -> Result<Vec<bool>> {
    let cells = view.properties(elements, key)?;
    let fits = |value: &Value| value.is_null() || value_type.is_none_or(|wanted| wanted == value.value_type());
    let conforms = |row| match cells.cell(row) {
        Cell::Absent => true,
        cell @ Cell::Many(_) => cardinality != Cardinality::Single && cell.values().all(fits),
        cell => cell.values().all(fits),
    };
    Ok((0..elements.len()).map(|row| !conforms(row)).collect())
}

/// Bytes that are the same for values that are equal.
fn kind_of(value: &Value) -> Vec<u8> {
    let number = || value.as_f64().map(|number| (number + 0.0).to_bits());
    match value.value_type() {
        ValueType::Date | ValueType::DateTime => value.as_time().map_or_else(Vec::new, |time| time.to_be_bytes().to_vec()),
        _ => number().map_or_else(|| value.to_string().into_bytes(), |number| number.to_be_bytes().to_vec()),
    }
}
