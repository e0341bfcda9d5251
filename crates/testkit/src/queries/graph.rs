//! Small graphs with everything that a query can trip over: loops, parallel edges, further labels, properties with several values,
//! values of mixed types and null, indexes, ids of both kinds.

use std::collections::{HashMap, HashSet};
use std::fmt;

use mangrove_graph::{
    Cell, EdgeId, ElementId, ElementKind, ExternalId, GraphWrite, NewEdge, PropertyId, PropertyValue, Result, Value,
    VertexId,
};

use crate::Oracle;
use crate::graphs::Random;
use crate::random::{EDGE_LABELS, KEYS, VERTEX_LABELS};

#[derive(Clone, Debug)]
pub struct SmallGraph {
    vertices: Vec<SmallVertex>,
    edges: Vec<SmallEdge>,
    /// Positions of label and key.
    indexes: Vec<(ElementKind, usize, usize)>,
    /// Whether `at` is the time of edges of the first labels.
    timed: bool,
    /// Whether `id` is the key of the vertex labels.
    keyed: bool,
}

#[derive(Clone, Debug)]
struct SmallVertex {
    /// Identifies the vertex for its edges when other vertices are left out.
    number: usize,
    label: usize,
    id: ExternalId,
    further: Option<usize>,
    properties: Vec<(usize, Vec<Value>)>,
}

#[derive(Clone, Debug)]
struct SmallEdge {
    label: usize,
    source: usize,
    target: usize,
    id: Option<ExternalId>,
    properties: Vec<(usize, Value)>,
}

/// Positions in [`KEYS`]. Values under `AGE` are integers of one type per graph.
const NAME: usize = 0;
const AGE: usize = 1;
const TAGS: usize = 2;
const SCORE: usize = 3;
const NOTE: usize = 4;
const ID: usize = 5;
const AT: usize = 6;

impl SmallGraph {
    pub fn draw(random: &mut Random) -> Self {
        let size = match random.below(40) {
            0..4 => random.below(3),
            4..28 => 3 + random.below(10),
            28..35 => 12 + random.below(20),
            // More than a scan's first batch, and more than a block of the hot store.
            35..39 => 33 + random.below(60),
            _ => 150 + random.below(150),
        } as usize;
        let wanted = if size == 0 { 0 } else { random.below(2 * size as u64 + 1) as usize };
        Self::of_size(random, size, wanted)
    }

    /// A graph large enough that steps meet thousands of traversers.
    pub fn draw_large(random: &mut Random) -> Self {
        let size = 1000 + random.below(2000) as usize;
        let wanted = size + random.below(size as u64) as usize;
        Self::of_size(random, size, wanted)
    }

    fn of_size(random: &mut Random, size: usize, wanted: usize) -> Self {
        let ages = random.below(6);
        let vertices: Vec<SmallVertex> = (0..size).map(|number| vertex(random, number, ages)).collect();
        let edges = (0..wanted).map(|at| edge(random, at, size)).collect();
        let indexed = random.below(3) == 0;
        let index = |_| {
            let kind = if random.below(3) == 0 { ElementKind::Edge } else { ElementKind::Vertex };
            (kind, random.below(labels_of(kind).len() as u64) as usize, random.below(KEYS.len() as u64) as usize)
        };
        let mut indexes: Vec<_> = (0..if indexed { 7 } else { 0 }).map(index).collect();
        indexes.sort_unstable();
        indexes.dedup();
        Self { vertices, edges, indexes, timed: random.below(3) == 0, keyed: random.below(2) == 0 }
    }

    pub fn write(&self, graph: &mut dyn GraphWrite) -> Result<()> {
        let keys = KEYS.iter().map(|key| graph.ensure_key(key)).collect::<Result<Vec<_>>>()?;
        let labels =
            VERTEX_LABELS.iter().map(|name| graph.ensure_label(ElementKind::Vertex, name)).collect::<Result<Vec<_>>>()?;
        for (kind, label, key) in &self.indexes {
            let label = graph.ensure_label(*kind, labels_of(*kind)[*label])?;
            let of = PropertyId { kind: *kind, label, key: keys[*key] };
            // Queries give the same, whoever is asked.
            if *key % 2 == 0 {
                graph.declare_routed(of)?
            } else {
                graph.create_index(of)?
            };
        }
        for name in EDGE_LABELS.iter().take(if self.timed { 2 } else { 0 }) {
            let label = graph.ensure_label(ElementKind::Edge, name)?;
            graph.declare_time(label, keys[AT])?;
        }
        for label in labels.iter().filter(|_| self.keyed) {
            graph.declare_key(*label, keys[ID])?;
        }
        let mut made: Vec<VertexId> = Vec::new();
        for vertex in &self.vertices {
            graph.add_vertices(labels[vertex.label], &[Some(vertex.id.clone())], &mut made)?;
            let id = made[made.len() - 1];
            if let Some(further) = vertex.further {
                graph.set_further_labels(id, &[labels[further]])?;
            }
            for (key, values) in &vertex.properties {
                let entries = values.iter().zip(0u32..).map(|(value, ordinal)| PropertyValue {
                    ordinal,
                    value: value.clone(),
                    // Of several values, each except the first has a property of its own.
                    meta: if ordinal > 0 { vec![(keys[AT], Value::Int64(ordinal.into()))] } else { Vec::new() },
                });
                graph.set_cell(ElementId::Vertex(id), keys[*key], Cell::from_entries(entries.collect()))?;
            }
        }
        let ends: HashMap<usize, VertexId> = self.vertices.iter().map(|vertex| vertex.number).zip(made).collect();
        for edge in &self.edges {
            let (Some(source), Some(target)) = (ends.get(&edge.source), ends.get(&edge.target)) else { continue };
            let (source, target) = (*source, *target);
            let label = graph.ensure_label(ElementKind::Edge, EDGE_LABELS[edge.label])?;
            let mut edges: Vec<EdgeId> = Vec::new();
            let is_timed = graph.schema().edge_labels[usize::from(label.0)].time.is_some();
            let time = edge.properties.iter().find(|(key, _)| is_timed && *key == AT).map(|(_, value)| value.clone());
            graph.add_edges(label, &[NewEdge { source, target, id: edge.id.clone(), time }], &mut edges)?;
            for (key, value) in &edge.properties {
                graph.set_cell(ElementId::Edge(edges[0]), keys[*key], Cell::One(value.clone()))?;
            }
        }
        Ok(())
    }

    /// The same graph with an id for each edge. No store generates one then, so users see the same ids wherever it is kept.
    pub fn with_edge_ids(mut self) -> Self {
        for (at, edge) in (20_000..).zip(&mut self.edges) {
            edge.id.get_or_insert(ExternalId::Int(at));
        }
        self
    }

    /// # Panics
    /// If the oracle refuses it.
    pub fn oracle(&self) -> Oracle {
        let mut graph = Oracle::default();
        self.write(&mut graph).expect("an empty graph takes it");
        graph
    }

    /// The graphs with one vertex, edge, property or index less. For a large graph, those with a part less.
    pub fn smaller(&self) -> Vec<SmallGraph> {
        let mut smaller = self.without_parts();
        if self.vertices.len() + self.edges.len() > 400 {
            return smaller;
        }
        let mut without = |change: &dyn Fn(&mut SmallGraph)| {
            let mut graph = self.clone();
            change(&mut graph);
            smaller.push(graph);
        };
        (0..self.vertices.len()).for_each(|at| {
            without(&|graph| {
                let gone = graph.vertices.remove(at).number;
                graph.edges.retain(|edge| edge.source != gone && edge.target != gone);
            });
        });
        (0..self.edges.len()).for_each(|at| without(&|graph| drop(graph.edges.remove(at))));
        if self.timed {
            without(&|graph| graph.timed = false);
        }
        if self.keyed {
            without(&|graph| graph.keyed = false);
        }
        (0..self.indexes.len()).for_each(|at| {
            without(&|graph| {
                graph.indexes.remove(at);
            });
        });
        for (at, vertex) in self.vertices.iter().enumerate() {
            (0..vertex.properties.len()).for_each(|p| without(&|graph| drop(graph.vertices[at].properties.remove(p))));
            if vertex.further.is_some() {
                without(&|graph| graph.vertices[at].further = None);
            }
        }
        for (at, edge) in self.edges.iter().enumerate() {
            (0..edge.properties.len()).for_each(|p| without(&|graph| drop(graph.edges[at].properties.remove(p))));
        }
        smaller
    }
}

impl SmallGraph {
    /// The graphs without one half, quarter, and so on of the vertices or edges.
    fn without_parts(&self) -> Vec<SmallGraph> {
        let mut smaller = Vec::new();
        for parts in [2, 4, 8, 16, 32, 64] {
            for part in 0..parts {
                let within = |at: usize, all: usize| all >= 2 * parts && at * parts / all == part;
                let mut graph = self.clone();
                let gone = |at| within(at, self.vertices.len());
                let numbers: HashSet<usize> =
                    self.vertices.iter().enumerate().filter(|(at, _)| gone(*at)).map(|(_, vertex)| vertex.number).collect();
                graph.vertices.retain(|vertex| !numbers.contains(&vertex.number));
                graph.edges.retain(|edge| !numbers.contains(&edge.source) && !numbers.contains(&edge.target));
                smaller.extend((!numbers.is_empty()).then_some(graph));
                let edges = self.edges.iter().enumerate().filter(|(at, _)| !within(*at, self.edges.len()));
                let edges: Vec<SmallEdge> = edges.map(|(_, edge)| edge.clone()).collect();
                smaller.extend((edges.len() < self.edges.len()).then(|| SmallGraph { edges, ..self.clone() }));
            }
        }
        smaller
    }
}

fn vertex(random: &mut Random, number: usize, ages: u64) -> SmallVertex {
    let label = random.below(VERTEX_LABELS.len() as u64) as usize;
    let id = match random.below(8) {
        // Text that spells a number is an id of its own.
        0 => ExternalId::from(format!("{}", 1 + random.below(9) + 100 * number as u64).as_str()),
        1 => ExternalId::from(format!("v{number}").as_str()),
        _ => ExternalId::Int(1 + number as i64),
    };
    let further = (random.below(12) == 0).then(|| random.below(VERTEX_LABELS.len() as u64) as usize);
    let mut properties = Vec::new();
    for key in [NAME, AGE, TAGS, SCORE, NOTE] {
        if random.below(4) > 0 {
            let several = if key == TAGS { 1 + random.below(3) } else { 1 };
            properties.push((key, (0..several).map(|_| value(random, key, ages)).collect()));
        }
    }
    SmallVertex { number, label, id, further: further.filter(|further| *further != label), properties }
}

fn edge(random: &mut Random, at: usize, size: usize) -> SmallEdge {
    // Some ends are frequent, so that there are hubs, loops and parallel edges.
    let mut end =
        || if random.below(3) == 0 { random.below(1 + size as u64 / 4) } else { random.below(size as u64) } as usize;
    let (source, target) = (end(), end());
    let label = random.below(EDGE_LABELS.len() as u64) as usize;
    let id = (random.below(3) == 0).then(|| ExternalId::Int(10_000 + at as i64));
    let keys = [NAME, SCORE, NOTE, AT].into_iter().filter(|_| random.below(2) == 0).collect::<Vec<_>>();
    let properties = keys.into_iter().map(|key| (key, value(random, key, 0))).collect();
    SmallEdge { label, source, target, id, properties }
}

/// One of few values, so that equal ones meet. Fractions are quarters, which add up exactly in any order.
fn value(random: &mut Random, key: usize, ages: u64) -> Value {
    let n = random.below(7) as i32;
    let letter = |n: i32| Value::string(&"abcdef"[n as usize % 6..][..1]);
    match (key, ages) {
        (NAME, _) => letter(n),
        (TAGS, _) => Value::string(format!("t{}", n % 4)),
        (AGE, 0) => Value::Int8(n as i8),
        (AGE, 1) => Value::Int64(n.into()),
        (AGE, _) => Value::Int32(n),
        (SCORE, _) => Value::Float64(f64::from(n) / 4.0),
        (AT, _) => Value::Int64(n.into()),
        _ => match random.below(6) {
            0 => Value::Null,
            1 => Value::Bool(n % 2 == 0),
            2 => Value::Int64(n.into()),
            3 => Value::Float64(f64::from(n) / 2.0),
            4 => letter(n),
            _ => Value::Int32(n),
        },
    }
}

/// The labels of one kind of element.
fn labels_of(kind: ElementKind) -> &'static [&'static str] {
    match kind {
        ElementKind::Vertex => &VERTEX_LABELS,
        ElementKind::Edge => &EDGE_LABELS,
    }
}

/// One element per line, with the type of each value.
impl fmt::Display for SmallGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for vertex in &self.vertices {
            let further = vertex.further.map(|further| format!("+{}", VERTEX_LABELS[further])).unwrap_or_default();
            write!(f, "  ({:?} {}{further}", vertex.id, VERTEX_LABELS[vertex.label])?;
            vertex.properties.iter().try_for_each(|(key, values)| write!(f, " {}={values:?}", KEYS[*key]))?;
            f.write_str(")\n")?;
        }
        let id = |number| self.vertices.iter().find(|vertex| vertex.number == number).map(|vertex| &vertex.id);
        for edge in &self.edges {
            let (Some(source), Some(target)) = (id(edge.source), id(edge.target)) else { continue };
            write!(f, "  {source} -{}", EDGE_LABELS[edge.label])?;
            edge.id.iter().try_for_each(|id| write!(f, " {id:?}"))?;
            edge.properties.iter().try_for_each(|(key, value)| write!(f, " {}={value:?}", KEYS[*key]))?;
            writeln!(f, "-> {target}")?;
        }
        if self.timed {
            writeln!(f, "  time {} of {}", KEYS[AT], EDGE_LABELS[..2].join(", "))?;
        }
        if self.keyed {
            writeln!(f, "  key {} of all vertices", KEYS[ID])?;
        }
        for (kind, label, key) in &self.indexes {
            writeln!(f, "  index {}.{} of {}", labels_of(*kind)[*label], KEYS[*key], kind.plural())?;
        }
        Ok(())
    }
}
