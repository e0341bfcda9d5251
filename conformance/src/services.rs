//! The two services that TinkerPop's scenarios of `call()` expect, as in TinkerGraph.

use std::sync::{Arc, LazyLock};

use mangrove_graph::{Direction, ElementId, GraphView, Hop, PropertyOwner, Scan, ScanCursor, Token, Value, VertexProperty};
use mangrove_graph::{Property, VertexId, Wants, record};
use mangrove_query::procedure::{Failure, Invocation, Procedure, Procedures, Values};

/// Only these services. One scenario lists all that exist.
pub static SERVICES: LazyLock<Arc<Procedures>> = LazyLock::new(|| {
    let mut services = Procedures::none();
    named().into_iter().for_each(|(name, service)| services.insert(name, service));
    Arc::new(services)
});

/// The services, for a database to register.
pub fn named() -> [(&'static str, Procedure); 2] {
    [("tinker.search", Procedure::new(search)), ("tinker.degree.centrality", Procedure::new(degree))]
}

/// Whether a result names a service that each database has. The suite knows those of TinkerGraph only, and lists all.
pub fn is_own_of_database(result: &Value) -> bool {
    result.as_str().is_some_and(|name| name.starts_with("mangrove."))
}

/// Properties of vertices and edges whose text contains `search`. With `type`, only those of elements of that type.
fn search(call: &Invocation<'_>) -> Result<Values, Failure> {
    let wanted = call.parameter("search").and_then(Value::as_str).ok_or("`search` is a text")?;
    let of = call.parameter("type").and_then(Value::as_str);
    let mut found = Vec::new();
    if of.is_none_or(|of| of == "Vertex") {
        for vertex in vertices(call.graph)? {
            found.extend(of_vertex(call.graph, vertex)?);
        }
    }
    if of.is_none_or(|of| of == "Edge") {
        found.extend(of_edges(call.graph)?);
    }
    let contains = |value: &Value| match value {
        Value::VertexProperty(property) => property.value.to_string().contains(wanted),
        Value::Property(property) => property.value.to_string().contains(wanted),
        _ => false,
    };
    let found: Vec<Value> = found.into_iter().filter(contains).collect();
    Ok(Box::new(found.into_iter().map(Ok)))
}

fn vertices(graph: &dyn GraphView) -> Result<Vec<VertexId>, Failure> {
    let (mut vertices, mut cursor) = (Vec::new(), ScanCursor::default());
    while !cursor.done {
        graph.scan_vertices(&Scan::default(), &mut cursor, 1024, &mut vertices)?;
    }
    Ok(vertices)
}

/// The properties of a vertex.
pub fn of_vertex(graph: &dyn GraphView, vertex: VertexId) -> Result<Vec<Value>, Failure> {
    let properties = record::properties(graph, ElementId::Vertex(vertex))?;
    let values = properties.into_iter().flat_map(|property| {
        let (key, name) = (property.key, property.name);
        property.values.into_iter().map(move |entry| {
            let (ordinal, value) = (entry.ordinal, entry.value);
            Value::VertexProperty(Arc::new(VertexProperty { vertex, key, ordinal, name: name.clone(), value }))
        })
    });
    Ok(values.collect())
}

fn of_edges(graph: &dyn GraphView) -> Result<Vec<Value>, Failure> {
    let (mut edges, mut cursor) = (Vec::new(), ScanCursor::default());
    while !cursor.done {
        graph.scan_edges(&Scan::default(), &mut cursor, 1024, &mut edges)?;
    }
    let mut values = Vec::new();
    for edge in edges {
        for property in record::properties(graph, ElementId::Edge(edge.id))? {
            let (key, name, owner) = (property.key, property.name, PropertyOwner::Edge(edge));
            let value = property.values.into_iter().next().map(|entry| entry.value).unwrap_or_default();
            values.push(Value::Property(Arc::new(Property { owner, key, name, value })));
        }
    }
    Ok(values)
}

/// The number of edges of a vertex in a `direction`. Default: incoming.
fn degree(call: &Invocation<'_>) -> Result<Values, Failure> {
    let Some(Value::Vertex(vertex)) = call.input else { return Err("a degree is of a vertex".into()) };
    let direction = match call.parameter("direction") {
        Some(Value::Token(Token::Direction(direction))) => *direction,
        _ => Direction::In,
    };
    let mut degrees = Vec::new();
    call.graph.degrees(&[*vertex], &Hop::along(direction, None, Wants::default()), &mut degrees)?;
    Ok(Box::new(degrees.into_iter().map(|n| Ok(Value::Int64(n as i64)))))
}
