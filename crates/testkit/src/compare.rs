//! Compares two graphs by everything that their views answer.
//!
//! Elements are identified by label and external id, edges also by their position among those of their source. So the two graphs
//! may use different internal ids. Values count with everything they carry: the offset of a date-time, the scale of a decimal, the
//! order of a set.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use mangrove_graph::{
    Adjacency, Cell, Comparison, Direction, EdgeRef, ElementId, ElementIds, ElementKind, Elements, ExternalId, Filter,
    GraphView, Hop, IndexSchema, KeyId, LabelId, LabelSchema, LabelTest, Latest, Predicate, PropertyColumn, PropertyId,
    PropertySchema, Scan, ScanCursor, Scanned, SearchCursor, TextTest, Value, VertexId, Wants,
};

/// Compares two graphs completely, schema and indexes included.
///
/// # Panics
/// On the first difference, and on the first contradiction within one graph.
pub fn assert_same(left: &dyn GraphView, right: &dyn GraphView) {
    assert_same_content(left, right);
    assert_equal("schema", &schema_picture(left), &schema_picture(right));
    for IndexSchema { of, .. } in &left.schema().indexes {
        let label = left.schema().label_name(of.kind, of.label);
        let key = left.schema().key_name(of.key);
        let known = |view: &dyn GraphView| {
            let label = view.schema().label(of.kind, &label)?;
            Some(PropertyId { kind: of.kind, label, key: view.schema().key(&key)? })
        };
        for predicate in telling_predicates(left, of.kind, of.label, &key).iter().filter(|p| must_be_answered(p)) {
            let what = format!("search of {:?} {label}.{key} for {predicate:?}", of.kind);
            let ours = searched(left, *of, predicate);
            let theirs = known(right).and_then(|of| searched(right, of, predicate));
            assert_equal(&what, &ours, &theirs);
        }
    }
}

/// Compares the contents of two graphs: vertices, edges and properties. Unused labels, keys and types do not count.
///
/// # Panics
/// As for [`assert_same`].
pub fn assert_same_content(left: &dyn GraphView, right: &dyn GraphView) {
    assert_same_elements(left, right, |_| ());
    assert_same_filters(left, right);
}

/// As [`assert_same_content`], for graphs that have the edges of a vertex in different orders.
///
/// # Panics
/// As for [`assert_same`].
pub fn assert_same_in_any_order(left: &dyn GraphView, right: &dyn GraphView) {
    assert_same_elements(left, right, |vertex| {
        let lists = vertex.out.values_mut().chain(vertex.incoming.values_mut());
        lists.for_each(|edges| edges.sort_by_cached_key(|edge| format!("{edge:?}")));
    });
    assert_same_filters(left, right);
}

fn assert_same_elements(left: &dyn GraphView, right: &dyn GraphView, arrange: impl Fn(&mut VertexPicture)) {
    assert_consistent(left);
    assert_consistent(right);
    assert_equal("id space", &left.schema().id_space, &right.schema().id_space);
    let [ours, theirs] = [left, right].map(|view| {
        let mut picture = picture(view);
        picture.values_mut().for_each(&arrange);
        picture
    });
    assert_equal("the vertices", &ours.keys().collect::<Vec<_>>(), &theirs.keys().collect::<Vec<_>>());
    for (name, vertex) in &ours {
        assert_equal(&format!("vertex {name:?}"), vertex, &theirs[name]);
    }
}

/// Checks that the answers of one view agree with each other: counts with scans, pages with whole scans, outgoing edges with
/// incoming ones, degrees and limits with hops, columns with cells, ids with look-ups, indexes with scans.
///
/// # Panics
/// If they do not.
pub fn assert_consistent(view: &dyn GraphView) {
    let vertices = scan_vertices(view, &Scan::default(), usize::MAX >> 1);
    let edges = scan_edges(view, &Scan::default(), usize::MAX >> 1);
    assert_scans_agree(view, &vertices, &edges);
    assert_ids_lead_back(view, &vertices, &edges);
    assert_hops_agree(view, &vertices, &edges);
    assert_columns_agree(view, &vertices, &edges);
    assert_batches_agree(view, &vertices, &edges);
    assert_projections_agree(view);
    assert_indexes_agree(view);
}

/// All vertices of a scan, read in pages.
pub fn scan_vertices(view: &dyn GraphView, scan: &Scan, page: usize) -> Vec<VertexId> {
    let (mut cursor, mut out) = (ScanCursor::default(), Vec::new());
    while !cursor.done {
        view.scan_vertices(scan, &mut cursor, page, &mut out).expect("scan of vertices");
    }
    out
}

/// All edges of a scan, read in pages.
pub fn scan_edges(view: &dyn GraphView, scan: &Scan, page: usize) -> Vec<EdgeRef> {
    let (mut cursor, mut out) = (ScanCursor::default(), Vec::new());
    while !cursor.done {
        view.scan_edges(scan, &mut cursor, page, &mut out).expect("scan of edges");
    }
    out
}

/// All elements that an index finds, read in pages; `None` if it does not answer.
pub fn search(view: &dyn GraphView, of: PropertyId, predicate: &Predicate, page: usize) -> Option<ElementIds> {
    let (mut cursor, mut all) = (SearchCursor::default(), ElementIds::none(of.kind));
    while !cursor.done {
        let found = view.search(of, predicate, &mut cursor, page).expect("search")?;
        assert!(found.len() <= page, "a page of {} for {page} elements", found.len());
        all.append(found);
    }
    Some(all)
}

/// The result of a hop from these vertices that asks for everything.
pub fn hop(view: &dyn GraphView, from: &[VertexId], direction: Direction, labels: Option<Vec<LabelId>>) -> Adjacency {
    let mut out = Adjacency::default();
    view.neighbors(from, &whole_hop(direction, labels, None), &mut out).expect("neighbors");
    out
}

fn whole_hop(direction: Direction, labels: Option<Vec<LabelId>>, limit: Option<usize>) -> Hop {
    Hop { direction, labels, filter: None, limit, latest: None, wants: Wants { rows: true, neighbors: true, edges: true } }
}

fn assert_equal<T: PartialEq + Debug>(what: &str, left: &T, right: &T) {
    assert!(left == right, "the graphs differ in {what}\n left: {left:?}\nright: {right:?}");
}

// ---- a graph as seen from outside ----

type VertexName = (String, ExternalId);

#[derive(Debug, PartialEq)]
struct VertexPicture {
    further: BTreeSet<String>,
    properties: BTreeMap<String, Vec<EntryPicture>>,
    /// By edge label, in the order of a hop.
    out: BTreeMap<String, Vec<EdgePicture>>,
    incoming: BTreeMap<String, Vec<EdgePicture>>,
}

#[derive(Debug, PartialEq)]
struct EdgePicture {
    id: Option<ExternalId>,
    other_end: VertexName,
    properties: BTreeMap<String, Vec<EntryPicture>>,
}

/// Ordinal, value, and meta-properties by key.
type EntryPicture = (u32, String, BTreeMap<String, String>);

fn picture(view: &dyn GraphView) -> BTreeMap<VertexName, VertexPicture> {
    let vertices = scan_vertices(view, &Scan::default(), 1000);
    vertices.into_iter().map(|vertex| (name(view, vertex), vertex_picture(view, vertex))).collect()
}

fn name(view: &dyn GraphView, vertex: VertexId) -> VertexName {
    let label = view.schema().label_name(ElementKind::Vertex, vertex.label());
    (label.to_string(), view.external_id(vertex).expect("external id"))
}

fn vertex_picture(view: &dyn GraphView, vertex: VertexId) -> VertexPicture {
    let further = view.further_labels(vertex).expect("further labels");
    VertexPicture {
        further: further.iter().map(|label| view.schema().label_name(ElementKind::Vertex, *label).to_string()).collect(),
        properties: properties_picture(view, ElementId::Vertex(vertex)),
        out: edges_picture(view, vertex, Direction::Out),
        incoming: edges_picture(view, vertex, Direction::In),
    }
}

fn edges_picture(view: &dyn GraphView, vertex: VertexId, direction: Direction) -> BTreeMap<String, Vec<EdgePicture>> {
    let reached = hop(view, &[vertex], direction, None);
    let mut by_label: BTreeMap<String, Vec<EdgePicture>> = BTreeMap::new();
    for (edge, neighbor) in reached.edges.iter().zip(&reached.neighbors) {
        let label = view.schema().label_name(ElementKind::Edge, edge.id.label()).to_string();
        by_label.entry(label).or_default().push(EdgePicture {
            id: view.edge_external_id(edge.id).expect("edge id"),
            other_end: name(view, *neighbor),
            properties: properties_picture(view, ElementId::Edge(edge.id)),
        });
    }
    by_label
}

fn properties_picture(view: &dyn GraphView, element: ElementId) -> BTreeMap<String, Vec<EntryPicture>> {
    let schema = view.schema();
    let records = mangrove_graph::record::properties(view, element).expect("properties");
    records
        .into_iter()
        .map(|record| {
            let entries = record.values.into_iter().map(|entry| {
                let meta = entry.meta.iter().map(|(key, value)| (schema.key_name(*key).to_string(), format!("{value:?}")));
                (entry.ordinal, format!("{:?}", entry.value), meta.collect())
            });
            (record.name.to_string(), entries.collect())
        })
        .collect()
}

/// Labels with their keys, by name, independent of ids.
fn schema_picture(view: &dyn GraphView) -> BTreeMap<(ElementKind, String), String> {
    let schema = view.schema();
    let mut all = BTreeMap::new();
    for kind in [ElementKind::Vertex, ElementKind::Edge] {
        for label in schema.labels(kind) {
            all.insert((kind, label.name.to_string()), label_picture(view, label));
        }
    }
    let index = |i: &IndexSchema| (i.of.kind, schema.property_name(i.of), i.unique, i.routed);
    let indexes: BTreeSet<_> = schema.indexes.iter().map(index).collect();
    all.insert((ElementKind::Vertex, "(indexes)".into()), format!("{indexes:?}"));
    let keys: BTreeSet<_> = schema.keys.iter().collect();
    all.insert((ElementKind::Vertex, "(keys)".into()), format!("{keys:?}"));
    all
}

fn label_picture(view: &dyn GraphView, label: &LabelSchema) -> String {
    let schema = view.schema();
    let vertex_label = |id: LabelId| schema.label_name(ElementKind::Vertex, id);
    let further: BTreeSet<_> = label.further.iter().map(|id| vertex_label(*id)).collect();
    let ends: BTreeSet<_> = label.ends.iter().map(|(from, to)| (vertex_label(*from), vertex_label(*to))).collect();
    let time = label.time.map(|key| schema.key_name(key));
    let own = label.key.map(|key| schema.key_name(key));
    let property = |p: &PropertySchema| {
        let types: Vec<_> = p.types.iter().map(|t| t.name()).collect();
        (schema.key_name(p.key), (types, p.cardinality, p.has_meta, p.declared, p.required, p.encoding))
    };
    let properties: BTreeMap<_, _> = label.properties.iter().map(property).collect();
    format!("further {further:?}, ends {ends:?}, time {time:?}, key {own:?}, properties {properties:?}")
}

// ---- filters and indexes ----

fn assert_same_filters(left: &dyn GraphView, right: &dyn GraphView) {
    for kind in [ElementKind::Vertex, ElementKind::Edge] {
        for (at, label) in left.schema().labels(kind).iter().enumerate() {
            for property in label.properties.iter() {
                let key = left.schema().key_name(property.key);
                for predicate in telling_predicates(left, kind, LabelId(at as u16), &key) {
                    let what = format!("scan of {kind:?} label {} where {key} is {predicate:?}", label.name);
                    let ours = filtered(left, kind, &label.name, &key, &predicate);
                    let theirs = filtered(right, kind, &label.name, &key, &predicate);
                    assert_equal(&what, &ours, &theirs);
                    assert_passes_agree(left, kind, &label.name, &key, &predicate);
                    assert_passes_agree(right, kind, &label.name, &key, &predicate);
                    let of = PropertyId { kind, label: LabelId(at as u16), key: property.key };
                    if let Some(found) = searched(left, of, &predicate) {
                        // Vertices that carry the label as a further one are found only by scans.
                        let is_own =
                            |name: &&String| kind == ElementKind::Edge || name.starts_with(&format!("({:?},", &*label.name));
                        let own: Vec<_> = theirs.iter().filter(is_own).cloned().collect();
                        assert_equal(&format!("search instead of a {what}"), &found, &own);
                    }
                }
            }
        }
    }
}

/// Which elements pass is what their cells say, in whatever order they come.
fn assert_passes_agree(view: &dyn GraphView, kind: ElementKind, label: &str, key: &str, predicate: &Predicate) {
    let (Some(label), Some(key)) = (view.schema().label(kind, label), view.schema().key(key)) else { return };
    let scan = Scan::of(label);
    let (mut vertices, mut edges) = (Vec::new(), Vec::new());
    match kind {
        ElementKind::Vertex => vertices = scan_vertices(view, &scan, 1000),
        ElementKind::Edge => edges = scan_edges(view, &scan, 1000),
    }
    for _ in 0..2 {
        let elements = match kind {
            ElementKind::Vertex => Elements::Vertices(&vertices),
            ElementKind::Edge => Elements::Edges(&edges),
        };
        let passes = view.pass(elements, key, predicate).expect("pass");
        let column = view.properties(elements, key).expect("properties");
        let by_cell = |at: usize| column.cell(at).values().any(|value| predicate.matches(value));
        let expected: Vec<bool> = (0..elements.len()).map(by_cell).collect();
        assert_eq!(passes, expected, "which {kind:?}s pass where key {} is {predicate:?}", key.0);
        vertices.reverse();
        edges.reverse();
    }
}

/// A few predicates over values that occur under the key. If possible, each is true for some values and false for others.
fn telling_predicates(view: &dyn GraphView, kind: ElementKind, label: LabelId, key: &str) -> Vec<Predicate> {
    let Some(key) = view.schema().key(key) else { return Vec::new() };
    let scan = Scan::of(label);
    let elements: Vec<ElementId> = match kind {
        ElementKind::Vertex => scan_vertices(view, &scan, 1000).into_iter().map(ElementId::Vertex).collect(),
        ElementKind::Edge => scan_edges(view, &scan, 1000).into_iter().map(|edge| ElementId::Edge(edge.id)).collect(),
    };
    let samples = (4000 / elements.len().max(1)).clamp(1, 4);
    let step = elements.len() / samples + 1;
    let mut predicates = vec![Predicate::eq("no such text"), Predicate::eq(i64::MIN), Predicate::eq(Value::Null)];
    predicates.truncate(samples);
    for element in elements.into_iter().step_by(step) {
        let cell = view.cell(element, key).expect("cell");
        let Some(value) = cell.values().next().cloned() else { continue };
        for comparison in [Comparison::Eq, Comparison::Neq, Comparison::Lt, Comparison::Gte] {
            predicates.push(Predicate::Compare(comparison, value.clone()));
        }
        if let Some(text) = value.as_str() {
            let start: String = text.chars().take(2).collect();
            let end: String = text.chars().skip(1).collect();
            predicates.push(Predicate::Text(TextTest::StartsWith, start.as_str().into()));
            predicates.push(Predicate::Text(TextTest::EndsWith, end.as_str().into()));
            let part = Predicate::Text(TextTest::Contains, end.chars().take(2).collect::<String>().into());
            predicates.push(Predicate::And(vec![part.clone(), Predicate::Compare(Comparison::Neq, start.into())]));
            predicates.push(Predicate::Or(vec![part.clone(), Predicate::eq(value.clone())]));
            predicates.push(Predicate::Not(Box::new(part)));
            predicates.push(Predicate::Without(vec![value.clone()].into()));
        }
        predicates.push(Predicate::Within(vec![value, Value::Int64(1)].into()));
    }
    predicates
}

/// The elements that a filtered scan finds, by name, in order of internal ids. An edge is named by its ends and its id.
fn filtered(view: &dyn GraphView, kind: ElementKind, label: &str, key: &str, predicate: &Predicate) -> Vec<String> {
    let (Some(label), Some(key)) = (view.schema().label(kind, label), view.schema().key(key)) else { return Vec::new() };
    let scan =
        Scan { labels: Some(vec![label]), filters: vec![Filter { key, predicate: predicate.clone() }], ..Scan::default() };
    let mut found: Vec<String> = match kind {
        ElementKind::Vertex => {
            scan_vertices(view, &scan, 100).into_iter().map(|vertex| format!("{:?}", name(view, vertex))).collect()
        }
        ElementKind::Edge => scan_edges(view, &scan, 100).into_iter().map(|edge| edge_name(view, edge)).collect(),
    };
    found.sort();
    found
}

fn edge_name(view: &dyn GraphView, edge: EdgeRef) -> String {
    let id = view.edge_external_id(edge.id).expect("edge id");
    format!("{id:?} {:?} -> {:?}", name(view, edge.source), name(view, edge.target))
}

/// The elements that an index finds, by name and sorted; `None` if it does not answer.
fn searched(view: &dyn GraphView, of: PropertyId, predicate: &Predicate) -> Option<Vec<String>> {
    let mut found: Vec<String> = match search(view, of, predicate, 100)? {
        ElementIds::Vertices(ids) => ids.into_iter().map(|vertex| format!("{:?}", name(view, vertex))).collect(),
        ElementIds::Edges(edges) => edges.into_iter().map(|edge| edge_name(view, edge)).collect(),
    };
    found.sort();
    Some(found)
}

/// Whether every index must answer the predicate: equality and ranges of text and numbers. An index may leave others to a scan.
fn must_be_answered(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Compare(Comparison::Neq, _) => false,
        Predicate::Compare(_, value) => value.as_f64().is_some_and(|number| !number.is_nan()) || value.as_str().is_some(),
        _ => false,
    }
}

// ---- one graph against itself ----

fn assert_scans_agree(view: &dyn GraphView, vertices: &[VertexId], edges: &[EdgeRef]) {
    assert!(vertices.is_sorted() && vertices.windows(2).all(|w| w[0] != w[1]), "vertices are scanned in order, each once");
    assert!(edges.windows(2).all(|w| w[0].id < w[1].id), "edges are scanned in order, each once");
    assert_eq!(scan_vertices(view, &Scan::default(), 7), vertices, "pages of vertices join up to the whole scan");
    assert_eq!(scan_edges(view, &Scan::default(), 7), edges, "pages of edges join up to the whole scan");
    let counts = view.statistics().expect("statistics");
    for (at, label) in view.schema().vertex_labels.iter().enumerate() {
        let id = LabelId(at as u16);
        let primary = vertices.iter().filter(|vertex| vertex.label() == id).count() as u64;
        assert_eq!(counts.count(ElementKind::Vertex, id), primary, "the count of vertices of {}", label.name);
        let has = |vertex: &&VertexId| vertex.label() == id || view.further_labels(**vertex).unwrap().contains(&id);
        let scan = Scan::of(id);
        assert_eq!(
            scan_vertices(view, &scan, 5),
            vertices.iter().filter(has).copied().collect::<Vec<_>>(),
            "the scan of vertex label {}",
            label.name
        );
        let (other, is_negated) = (LabelId((at / 2) as u16), at % 3 == 0);
        let has_other =
            |vertex: &&VertexId| vertex.label() == other || view.further_labels(**vertex).unwrap().contains(&other);
        let scan = Scan { also: vec![LabelTest { labels: vec![other], is_negated }], ..scan };
        assert_eq!(
            scan_vertices(view, &scan, 5),
            vertices.iter().filter(|v| has(v) && has_other(v) != is_negated).copied().collect::<Vec<_>>(),
            "the scan of vertex label {} that tests another",
            label.name
        );
    }
    for (at, label) in view.schema().edge_labels.iter().enumerate() {
        let id = LabelId(at as u16);
        let of_label: Vec<_> = edges.iter().filter(|edge| edge.id.label() == id).copied().collect();
        assert_eq!(counts.count(ElementKind::Edge, id), of_label.len() as u64, "the count of edges of {}", label.name);
        let scan = Scan::of(id);
        assert_eq!(scan_edges(view, &scan, 5), of_label, "the scan of edge label {}", label.name);
    }
}

fn assert_ids_lead_back(view: &dyn GraphView, vertices: &[VertexId], edges: &[EdgeRef]) {
    for vertex in vertices {
        let external = view.external_id(*vertex).expect("external id");
        let mut found = Vec::new();
        view.find_vertices(Some(vertex.label()), std::slice::from_ref(&external), &mut found).expect("find vertices");
        assert_eq!(found, [Some(*vertex)], "the look-up of vertex {external:?}");
        assert!(view.contains(ElementId::Vertex(*vertex)).expect("contains"), "vertex {external:?} is contained");
    }
    let supplied: Vec<Option<ExternalId>> =
        edges.iter().map(|edge| view.edge_external_id(edge.id).expect("edge id")).collect();
    let names: BTreeSet<&ExternalId> = supplied.iter().flatten().collect();
    assert_eq!(names.len(), supplied.iter().flatten().count(), "supplied edge ids are unique");
    for (edge, supplied) in edges.iter().zip(&supplied) {
        let id = supplied.clone().unwrap_or_else(|| edge.id.generated());
        assert!(view.contains(ElementId::Edge(edge.id)).expect("contains"), "edge {id:?} is contained");
        if supplied.is_none() && names.contains(&id) {
            continue; // another edge was given these bits for its name, and names come first
        }
        let mut found = Vec::new();
        view.find_edges(std::slice::from_ref(&id), &mut found).expect("find edges");
        assert_eq!(found, [Some(*edge)], "the look-up of edge {id:?}");
    }
}

fn assert_hops_agree(view: &dyn GraphView, vertices: &[VertexId], edges: &[EdgeRef]) {
    let out = hop(view, vertices, Direction::Out, None);
    let incoming = hop(view, vertices, Direction::In, None);
    for (reached, from_end) in [(&out, true), (&incoming, false)] {
        let mut seen = reached.edges.clone();
        seen.sort_by_key(|edge| edge.id);
        assert_eq!(seen, edges, "edges met from their {}", if from_end { "sources" } else { "targets" });
        assert!(reached.rows.is_sorted(), "rows come in order");
        for ((row, edge), neighbor) in reached.rows.iter().zip(&reached.edges).zip(&reached.neighbors) {
            let ends = (vertices[*row as usize], *neighbor);
            let met = if from_end { ends } else { (ends.1, ends.0) };
            assert_eq!(met, (edge.source, edge.target), "the ends of edge {:?}", edge.id);
        }
    }
    let step = vertices.len() / 50 + 1;
    for vertex in vertices.iter().step_by(step) {
        assert_hops_of_one_agree(view, *vertex);
    }
    for (at, label) in view.schema().edge_labels.iter().enumerate() {
        if let Some(key) = label.time.or(label.properties.keys().next()) {
            let some: Vec<VertexId> = vertices.iter().step_by(step).copied().collect();
            assert_filtered_hops_agree(view, &some, LabelId(at as u16), key);
        }
    }
}

/// Checks that a hop with a filter gives the matching edges of the hop without it, and that degrees count them.
fn assert_filtered_hops_agree(view: &dyn GraphView, from: &[VertexId], label: LabelId, key: KeyId) {
    let name = view.schema().key_name(key).to_string();
    let mut predicates = telling_predicates(view, ElementKind::Edge, label, &name);
    let windows: Vec<Predicate> =
        predicates.iter().zip(predicates.iter().skip(5)).map(|(a, b)| Predicate::And(vec![a.clone(), b.clone()])).collect();
    predicates.extend(windows);
    for (direction, labels) in [(Direction::Out, Some(vec![label])), (Direction::Both, None)] {
        let whole = hop(view, from, direction, labels.clone());
        let cells = view.properties(Elements::Edges(&whole.edges), key).expect("properties");
        for predicate in &predicates {
            let filter = Filter { key, predicate: predicate.clone() };
            let filtered = Hop { filter: Some(filter), ..whole_hop(direction, labels.clone(), None) };
            let mut found = Adjacency::default();
            view.neighbors(from, &filtered, &mut found).expect("neighbors");
            let matching: Vec<usize> =
                (0..whole.edges.len()).filter(|at| cells.cell(*at).values().any(|value| predicate.matches(value))).collect();
            let edges: Vec<(u32, EdgeRef)> = matching.iter().map(|at| (whole.rows[*at], whole.edges[*at])).collect();
            let met: Vec<(u32, EdgeRef)> = found.rows.iter().copied().zip(found.edges.iter().copied()).collect();
            assert_eq!(met, edges, "{direction:?} edges whose {name} is {predicate}");
            let mut degrees = Vec::new();
            view.degrees(from, &filtered, &mut degrees).expect("degrees");
            let counted: Vec<u64> =
                (0..from.len()).map(|row| edges.iter().filter(|(of, _)| *of as usize == row).count() as u64).collect();
            assert_eq!(degrees, counted, "how many {direction:?} edges have a {name} that is {predicate}");
            let mut first = Adjacency::default();
            view.neighbors(from, &Hop { limit: Some(2), ..filtered.clone() }, &mut first).expect("neighbors");
            let mut taken = vec![0; from.len()];
            let firsts = edges.iter().filter(|(row, _)| {
                taken[*row as usize] += 1;
                taken[*row as usize] <= 2
            });
            assert_eq!(first.edges, firsts.map(|(_, edge)| *edge).collect::<Vec<_>>(), "the first two of each vertex");
            assert_latest_agree(view, from, &filtered, &edges, key);
        }
        let all: Vec<(u32, EdgeRef)> = whole.rows.iter().copied().zip(whole.edges.iter().copied()).collect();
        assert_latest_agree(view, from, &whole_hop(direction, labels, None), &all, key);
    }
}

/// Checks a hop that wants the latest edges. It may leave out an edge only if the vertex has enough later ones.
fn assert_latest_agree(view: &dyn GraphView, from: &[VertexId], whole: &Hop, edges: &[(u32, EdgeRef)], key: KeyId) {
    let value = |edge: &EdgeRef| view.cell(ElementId::Edge(edge.id), key).expect("a cell").values().next().cloned();
    for count in [1, 3] {
        let mut found = Adjacency::default();
        let latest = Some(Latest { key, count });
        view.neighbors(from, &Hop { latest, ..whole.clone() }, &mut found).expect("neighbors");
        let mut met = found.rows.iter().copied().zip(found.edges.iter().copied()).peekable();
        for of_vertex in edges.chunk_by(|(a, _), (b, _)| a == b) {
            let (given, left_out): (Vec<(u32, EdgeRef)>, Vec<_>) =
                of_vertex.iter().partition(|edge| met.next_if_eq(*edge).is_some());
            let mut given: Vec<Value> = given.iter().filter_map(|(_, edge)| value(edge)).collect();
            given.sort_by(|a, b| mangrove_graph::compare::order(b, a));
            for (_, edge) in left_out {
                let last = given.get(count - 1).unwrap_or_else(|| panic!("{edge:?} is left out, and too few are not"));
                let is_earlier = value(&edge).is_none_or(|value| mangrove_graph::compare::order(&value, last).is_lt());
                assert!(is_earlier, "{edge:?} is left out, and is not earlier than the latest {count}");
            }
        }
        assert_eq!(met.next(), None, "all of the latest are among the edges, in their order");
    }
}

fn assert_hops_of_one_agree(view: &dyn GraphView, vertex: VertexId) {
    let labels = || (0..view.schema().edge_labels.len()).map(|at| LabelId(at as u16));
    let mut both = Vec::new();
    for direction in [Direction::Out, Direction::In] {
        let whole = hop(view, &[vertex], direction, None).edges;
        let by_label: Vec<EdgeRef> = labels().flat_map(|l| hop(view, &[vertex], direction, Some(vec![l])).edges).collect();
        assert_eq!(whole, by_label, "{direction:?} edges come by label id");
        both.extend(whole);
    }
    assert_eq!(hop(view, &[vertex], Direction::Both, None).edges, both, "outgoing edges come before incoming");
    assert!(hop(view, &[vertex], Direction::Both, Some(Vec::new())).edges.is_empty(), "no labels, no edges");
    for labels in [None, Some(labels().take(2).collect::<Vec<_>>())] {
        let whole = hop(view, &[vertex], Direction::Both, labels.clone());
        let mut degrees = Vec::new();
        view.degrees(&[vertex], &whole_hop(Direction::Both, labels.clone(), Some(1)), &mut degrees).expect("degrees");
        assert_eq!(degrees, [whole.edges.len() as u64], "the degree of {vertex:?}");
        for limit in [0, 1, whole.edges.len() / 2, whole.edges.len()] {
            let mut some = Adjacency::default();
            let hop = whole_hop(Direction::Both, labels.clone(), Some(limit));
            view.neighbors(&[vertex], &hop, &mut some).expect("neighbors");
            assert_eq!(some.edges, whole.edges[..limit.min(whole.edges.len())], "a limit takes the first edges");
            assert_eq!(some.neighbors, whole.neighbors[..limit.min(whole.edges.len())]);
        }
    }
}

/// A call for a batch gives what calls for each of its elements give.
fn assert_batches_agree(view: &dyn GraphView, vertices: &[VertexId], edges: &[EdgeRef]) {
    let mut gone = vertices.to_vec();
    gone.extend(vertices.iter().map(|id| VertexId(id.0 + 1000)));
    for elements in [Elements::Vertices(&gone), Elements::Edges(edges)] {
        let all = (0..elements.len()).map(|at| elements.get(at));
        let are_there = view.contain(elements).expect("presence");
        let one_by_one = all.clone().map(|element| view.contains(element).expect("presence"));
        assert_eq!(are_there, one_by_one.collect::<Vec<_>>(), "the elements of a batch that are there");
        let ids = view.external_ids(elements).expect("external ids");
        assert_eq!(ids.len(), elements.len(), "a column of ids has a row for each element");
        for (at, element) in all.enumerate() {
            let id = match element {
                ElementId::Vertex(id) if are_there[at] => Some(view.external_id(id).expect("external id")),
                ElementId::Vertex(_) => None,
                ElementId::Edge(id) => view.edge_external_id(id).expect("edge id"),
            };
            let cell = id.map_or(Cell::Absent, |id| Cell::One(id.to_value()));
            assert_eq!(format!("{:?}", ids.cell(at)), format!("{cell:?}"), "the id of {element:?}");
        }
        assert_keys_agree(view, elements);
    }
    let mut further = Vec::new();
    view.all_further_labels(vertices, &mut further).expect("further labels");
    let one_by_one = vertices.iter().map(|vertex| view.further_labels(*vertex).expect("further labels"));
    assert_eq!(further, one_by_one.collect::<Vec<_>>(), "the further labels of a batch");
}

/// The keys of a batch are in order, and cover everything that its elements have.
fn assert_keys_agree(view: &dyn GraphView, elements: Elements<'_>) {
    let mut keys = Vec::new();
    view.keys(elements, &mut keys).expect("keys");
    assert!(keys.is_sorted_by(|a, b| a < b), "keys come in order, each once");
    let mut columns = Vec::new();
    view.columns(elements, &keys, &mut columns).expect("columns");
    for key in (0..view.schema().keys.len()).map(|at| mangrove_graph::KeyId(at as u16)) {
        let Ok(column) = keys.binary_search(&key).map(|at| &columns[at]) else {
            let have = view.have(elements, key).expect("presence");
            assert!(!have.contains(&true), "the keys of a batch lack key {}", key.0);
            continue;
        };
        for at in 0..elements.len() {
            let mut cells = Vec::new();
            view.cells(elements.get(at), &[key], &mut cells).expect("cells");
            assert_eq!(format!("{:?}", column.cell(at)), format!("{:?}", cells[0]), "{:?}, key {}", elements.get(at), key.0);
        }
    }
}

fn assert_columns_agree(view: &dyn GraphView, vertices: &[VertexId], edges: &[EdgeRef]) {
    for key in (0..view.schema().keys.len()).map(|at| mangrove_graph::KeyId(at as u16)) {
        for elements in [Elements::Vertices(vertices), Elements::Edges(edges)] {
            let column = view.properties(elements, key).expect("properties");
            let have = view.have(elements, key).expect("presence");
            assert_eq!(column.len(), elements.len(), "a column has a row an element");
            assert_eq!(have.len(), elements.len());
            for (at, has) in have.into_iter().enumerate() {
                let cell: Cell = view.cell(elements.get(at), key).expect("cell");
                assert_eq!(has, !cell.is_absent(), "{:?} has {cell:?} under key {}", elements.get(at), key.0);
                let same = format!("{:?}", column.cell(at)) == format!("{cell:?}");
                assert!(same, "{:?} has {cell:?} under key {}, its column {:?}", elements.get(at), key.0, column.cell(at));
            }
        }
    }
}

/// Scans return the columns that reading the elements gives.
fn assert_projections_agree(view: &dyn GraphView) {
    let keys = (0..view.schema().keys.len() as u16).map(KeyId).collect();
    let scan = Scan { columns: keys, ..Scan::default() };
    for kind in [ElementKind::Vertex, ElementKind::Edge] {
        let mut cursor = ScanCursor::default();
        while !cursor.done {
            let Scanned { elements, columns } = view.scan(kind, &scan, &mut cursor, 50).expect("scan");
            let mut read = Vec::new();
            view.columns(elements.batch(), &scan.columns, &mut read).expect("columns");
            for (at, element) in elements.iter().enumerate() {
                let cells =
                    |columns: &[PropertyColumn]| columns.iter().map(|c| format!("{:?}", c.cell(at))).collect::<Vec<_>>();
                assert_eq!(cells(&columns), cells(&read), "the columns of {element:?}");
            }
        }
    }
}

fn assert_indexes_agree(view: &dyn GraphView) {
    for IndexSchema { of, .. } in &view.schema().indexes {
        let key_name = view.schema().key_name(of.key);
        for predicate in telling_predicates(view, of.kind, of.label, &key_name) {
            let found = search(view, *of, &predicate, 3);
            assert!(found.is_some() || !must_be_answered(&predicate), "the index on {key_name} answers {predicate:?}");
            let filters = vec![Filter { key: of.key, predicate: predicate.clone() }];
            let scan = Scan { labels: Some(vec![of.label]), filters, ..Scan::default() };
            let mut scanned: Vec<ElementId> = match of.kind {
                ElementKind::Vertex => scan_vertices(view, &scan, 100).into_iter().map(ElementId::Vertex).collect(),
                ElementKind::Edge => scan_edges(view, &scan, 100).into_iter().map(|e| ElementId::Edge(e.id)).collect(),
            };
            scanned.retain(|element| element.label() == of.label);
            if let Some(found) = found {
                let found: Vec<ElementId> = found.iter().collect();
                assert_eq!(found, scanned, "the index on {key_name} and a scan agree on {predicate:?}");
            }
        }
    }
}
