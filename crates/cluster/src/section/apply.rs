//! Makes the changes of a section.

use mangrove_graph::{
    EdgeId, EdgeRef, ElementKind, Elements, GraphError, LabelId, NewEdge, PropertyColumn, PropertyId, Result, ShardWrite,
    VertexId, conform,
};

use super::operation::Operation;
use crate::log::VERSION_FIRST;

/// Applies a section to the store of its shard. On an error, drop the transaction: a part may have been applied.
///
/// # Errors
/// [`GraphError::Corrupt`] if the bytes are not a section, or if the store is not the one that the section follows.
pub fn apply<T: ShardWrite + ?Sized>(mut section: &[u8], store: &mut T) -> Result<()> {
    while !section.is_empty() {
        let (operation, rest) = Operation::read(section)?;
        run(operation, store)?;
        section = rest;
    }
    Ok(())
}

/// The first version of records that can have a section. Fails if bytes are not one.
pub fn version_of(mut section: &[u8]) -> Result<u8> {
    let mut version = VERSION_FIRST;
    while !section.is_empty() {
        let (operation, rest) = Operation::read(section)?;
        if let Operation::PutSource(name, _) = &operation {
            conform::room_for_a_name("sources", name, 0)?; // no shard could store it
        }
        version = version.max(operation.version());
        section = rest;
    }
    Ok(version)
}

/// A section in pieces of about so many bytes, each of which is a section. An operation that has more is a piece.
pub fn pieces(section: &[u8], bytes: usize) -> Result<Vec<&[u8]>> {
    let (mut pieces, mut first, mut rest) = (Vec::new(), 0, section);
    while !rest.is_empty() {
        rest = Operation::read(rest)?.1;
        let end = section.len() - rest.len();
        if end - first >= bytes || rest.is_empty() {
            pieces.push(&section[first..end]);
            first = end;
        }
    }
    Ok(pieces)
}

fn run<T: ShardWrite + ?Sized>(operation: Operation, store: &mut T) -> Result<()> {
    match operation {
        Operation::EnsureLabel(kind, name) => store.ensure_label(kind, &name).map(drop),
        Operation::EnsureKey(name) => store.ensure_key(&name).map(drop),
        Operation::AddVertices { label, first, ids } => {
            follows(store, ElementKind::Vertex, label, first)?;
            store.add_vertices(label, &ids, &mut Vec::new())
        }
        Operation::AddEdges { label, first, sources, targets, ids, times } => {
            follows(store, ElementKind::Edge, label, first)?;
            let is_whole = |len: usize| len == 0 || len == sources.len();
            if targets.len() != sources.len() || !is_whole(ids.len()) || !is_whole(times.len()) {
                return Err(GraphError::corrupt("a section with edges that lack an end"));
            }
            let edge = |at: usize| NewEdge {
                source: sources[at],
                target: targets[at],
                id: ids.get(at).cloned().flatten(),
                time: times.get(at).cloned().flatten(),
            };
            store.add_edges(label, &(0..sources.len()).map(edge).collect::<Vec<_>>(), &mut Vec::new())
        }
        Operation::SetCell(element, key, cell) => store.set_cell(element, key, cell),
        Operation::SetProperties(kind, key, elements, values) => {
            let cells = PropertyColumn::Cells(values.into_iter().map(mangrove_graph::Cell::One).collect());
            match kind {
                ElementKind::Vertex => {
                    let ids: Vec<VertexId> = elements.into_iter().map(VertexId).collect();
                    store.set_properties(Elements::Vertices(&ids), key, &cells)
                }
                ElementKind::Edge => {
                    let edges: Vec<EdgeRef> = elements.into_iter().map(|edge| named(EdgeId(edge))).collect();
                    store.set_properties(Elements::Edges(&edges), key, &cells)
                }
            }
        }
        Operation::SetFurtherLabels(vertex, labels) => store.set_further_labels(vertex, &labels),
        Operation::RemoveEdges(edges) => store.remove_edges(&edges),
        Operation::RemoveVertices(vertices) => store.remove_vertices(&vertices),
        Operation::PutSource(name, position) => store.put_source(&name, &position),
        Operation::ListShards(of, entries) => store.list_shards(of, &entries),
        declaration => declare(declaration, store),
    }
}

fn declare<T: ShardWrite + ?Sized>(declaration: Operation, store: &mut T) -> Result<()> {
    match declaration {
        Operation::DeclareProperty(PropertyId { kind, label, key }, value_type, cardinality) => {
            store.declare_property(kind, label, key, value_type, cardinality)
        }
        Operation::DeclareKey(label, key) => store.declare_key(label, key),
        Operation::DeclareTime(label, key) => store.declare_time(label, key),
        Operation::SetEncoding(PropertyId { kind, label, key }, encoding) => store.set_encoding(kind, label, key, encoding),
        Operation::CreateIndex(of) => store.create_index(of).map(drop),
        Operation::DeclareUnique(of) => store.declare_unique(of).map(drop),
        Operation::DeclareRouted(of) => store.declare_routed(of).map(drop),
        Operation::DeclareRequired(PropertyId { kind, label, key }, required) => {
            store.declare_required(kind, label, key, required)
        }
        Operation::DropIndex(of) => store.drop_index(of).map(drop),
        Operation::RenameLabel(kind, label, name) => store.rename_label(kind, label, &name),
        Operation::DropLabel(kind, label) => store.drop_label(kind, label),
        Operation::DropProperty(of) => store.drop_property(of),
        Operation::DropKey(key) => store.drop_key(key),
        Operation::EndLabels => store.end_labels(),
        other => Err(GraphError::corrupt(format!("{other:?} declares nothing"))),
    }
}

/// An edge by its id. Stores look at nothing else of it.
fn named(id: EdgeId) -> EdgeRef {
    EdgeRef { id, source: VertexId(0), target: VertexId(0) }
}

/// Fails if the store would give other ids than the section names.
fn follows<T: ShardWrite + ?Sized>(store: &T, kind: ElementKind, label: LabelId, first: u64) -> Result<()> {
    match store.next_local(kind, label)? {
        next if next == first => Ok(()),
        next => Err(GraphError::corrupt(format!(
            "a section adds a {} with the local id {first}, and the next one of the store is {next}: it does not follow the store",
            kind.name()
        ))),
    }
}
