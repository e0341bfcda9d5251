//! Small graphs that everybody in the field knows, for any [`GraphWrite`].

use mangrove_graph::{
    Cell, ElementId, ElementKind, ExternalId, GraphWrite, NewEdge, PropertyValue, Result, Value, VertexId,
};

/// TinkerPop's "modern" graph: six vertices and six edges, with the ids the TinkerPop documentation shows (integers).
pub fn write_modern(graph: &mut dyn GraphWrite) -> Result<()> {
    let person = |name: &'static str, age: i32| vec![("name", Value::from(name)), ("age", age.into())];
    let software = |name: &'static str| vec![("name", Value::from(name)), ("lang", "java".into())];
    let marko = vertex(graph, "person", 1, person("marko", 29))?;
    let vadas = vertex(graph, "person", 2, person("vadas", 27))?;
    let lop = vertex(graph, "software", 3, software("lop"))?;
    let josh = vertex(graph, "person", 4, person("josh", 32))?;
    let ripple = vertex(graph, "software", 5, software("ripple"))?;
    let peter = vertex(graph, "person", 6, person("peter", 35))?;
    for (id, label, source, target, weight) in [
        (7, "knows", marko, vadas, 0.5),
        (8, "knows", marko, josh, 1.0),
        (9, "created", marko, lop, 0.4),
        (10, "created", josh, ripple, 1.0),
        (11, "created", josh, lop, 0.4),
        (12, "created", peter, lop, 0.2),
    ] {
        edge(graph, label, id, (source, target), vec![("weight", Value::Float64(weight))])?;
    }
    Ok(())
}

/// TinkerPop's "crew" graph: people who lived in several places, each with the years they lived there.
pub fn write_crew(graph: &mut dyn GraphWrite) -> Result<()> {
    let named = |name: &'static str| vec![("name", Value::from(name))];
    let marko = vertex(graph, "person", 1, named("marko"))?;
    let stephen = vertex(graph, "person", 7, named("stephen"))?;
    let matthias = vertex(graph, "person", 8, named("matthias"))?;
    let daniel = vertex(graph, "person", 9, named("daniel"))?;
    let gremlin = vertex(graph, "software", 10, named("gremlin"))?;
    let tinkergraph = vertex(graph, "software", 11, named("tinkergraph"))?;

    locations(graph, marko, &[("san diego", 1997), ("santa cruz", 2001), ("brussels", 2004), ("santa fe", 2005)])?;
    locations(graph, stephen, &[("centreville", 1990), ("dulles", 2000), ("purcellville", 2006)])?;
    locations(graph, matthias, &[("bremen", 2004), ("baltimore", 2007), ("oakland", 2011), ("seattle", 2014)])?;
    locations(graph, daniel, &[("spremberg", 1982), ("kaiserslautern", 2005), ("aachen", 2009)])?;

    for (id, label, source, target, property) in [
        (13, "develops", marko, gremlin, Some(("since", 2009))),
        (14, "develops", marko, tinkergraph, Some(("since", 2010))),
        (15, "uses", marko, gremlin, Some(("skill", 4))),
        (16, "uses", marko, tinkergraph, Some(("skill", 5))),
        (17, "develops", stephen, gremlin, Some(("since", 2010))),
        (18, "develops", stephen, tinkergraph, Some(("since", 2011))),
        (19, "uses", stephen, gremlin, Some(("skill", 5))),
        (20, "uses", stephen, tinkergraph, Some(("skill", 4))),
        (21, "develops", matthias, gremlin, Some(("since", 2012))),
        (22, "uses", matthias, gremlin, Some(("skill", 3))),
        (23, "uses", matthias, tinkergraph, Some(("skill", 3))),
        (24, "uses", daniel, gremlin, Some(("skill", 5))),
        (25, "uses", daniel, tinkergraph, Some(("skill", 3))),
        (26, "traverses", gremlin, tinkergraph, None),
    ] {
        let properties = property.map(|(key, value)| (key, Value::Int32(value)));
        edge(graph, label, id, (source, target), properties.into_iter().collect())?;
    }
    Ok(())
}

pub fn vertex(graph: &mut dyn GraphWrite, label: &str, id: i64, properties: Vec<(&str, Value)>) -> Result<VertexId> {
    let label = graph.ensure_label(ElementKind::Vertex, label)?;
    let mut made = Vec::new();
    graph.add_vertices(label, &[Some(ExternalId::Int(id))], &mut made)?;
    set(graph, ElementId::Vertex(made[0]), properties)?;
    Ok(made[0])
}

pub fn edge(
    graph: &mut dyn GraphWrite,
    label: &str,
    id: i64,
    (source, target): (VertexId, VertexId),
    properties: Vec<(&str, Value)>,
) -> Result<()> {
    let label = graph.ensure_label(ElementKind::Edge, label)?;
    let mut made = Vec::new();
    graph.add_edges(label, &[NewEdge { source, target, id: Some(ExternalId::Int(id)), time: None }], &mut made)?;
    set(graph, ElementId::Edge(made[0]), properties)
}

fn set(graph: &mut dyn GraphWrite, element: ElementId, properties: Vec<(&str, Value)>) -> Result<()> {
    for (key, value) in properties {
        let key = graph.ensure_key(key)?;
        graph.set_cell(element, key, Cell::One(value))?;
    }
    Ok(())
}

/// Places with the year in which each began. A place ended when the next one began; the last one has not ended.
fn locations(graph: &mut dyn GraphWrite, vertex: VertexId, places: &[(&str, i32)]) -> Result<()> {
    let location = graph.ensure_key("location")?;
    let (start, end) = (graph.ensure_key("startTime")?, graph.ensure_key("endTime")?);
    let entries = places.iter().enumerate().map(|(at, (place, year))| {
        let mut meta = vec![(start, Value::Int32(*year))];
        meta.extend(places.get(at + 1).map(|(_, next)| (end, Value::Int32(*next))));
        PropertyValue { ordinal: at as u32, value: (*place).into(), meta }
    });
    graph.set_cell(ElementId::Vertex(vertex), location, Cell::Many(entries.collect()))
}

#[cfg(test)]
mod tests {
    use mangrove_graph::Catalog;
    use mangrove_graph::{GraphView, KeyId, LabelId, record};

    use crate::Oracle;

    #[test]
    fn the_modern_graph_reads_as_its_documentation_shows_it() {
        let graph = Oracle::modern();
        let counts = graph.statistics().unwrap();
        assert_eq!((&counts.vertices[..], &counts.edges[..]), (&[4, 2][..], &[2, 4][..]));
        let josh = record::find_vertex(&graph, &4.into()).unwrap().unwrap();
        assert_eq!(
            record::properties(&graph, mangrove_graph::ElementId::Vertex(josh)).unwrap()[1].values[0].value,
            32.into()
        );
        let edge = record::find_edge(&graph, &11i64.into()).unwrap().unwrap();
        assert_eq!((edge.source, edge.id.label()), (josh, LabelId(1)));
    }

    #[test]
    fn the_crew_keeps_what_its_values_carry() {
        let graph = Oracle::crew();
        let location = graph.schema().key("location").unwrap();
        let person = &graph.schema().vertex_labels[0];
        assert!(person.property(location).unwrap().has_meta);
        let marko = record::find_vertex(&graph, &1.into()).unwrap().unwrap();
        let places = graph.cell(mangrove_graph::ElementId::Vertex(marko), location).unwrap().into_entries();
        assert_eq!(places.iter().map(|p| p.meta.len()).collect::<Vec<_>>(), [2, 2, 2, 1]);
        assert_eq!(graph.schema().key_name(KeyId(0)).as_ref(), "name");
    }
}
