//! TinkerPop's toy graphs, with TinkerPop's ids.
//!
//! Modern and crew come from the test kit. Classic and sink are small enough to write down. Grateful is read from TinkerPop's file.

use std::collections::HashMap;

use mangrove_graph::{GraphError, GraphWrite, Value, VertexId};
use mangrove_testkit::samples;
use regex::Regex;

/// The graphs that scenarios read but do not change.
pub const STATIC: [&str; 5] = ["modern", "classic", "crew", "grateful", "sink"];

/// Writes one of [`STATIC`] into an empty graph. `grateful` is the GraphML of that graph.
pub fn write(name: &str, graph: &mut dyn GraphWrite, grateful: &str) -> Result<(), GraphError> {
    match name {
        "modern" => samples::write_modern(graph),
        "crew" => samples::write_crew(graph),
        "classic" => classic(graph),
        "sink" => sink(graph),
        "grateful" => read_graphml(grateful, graph),
        _ => Err(GraphError::Invalid(format!("no toy graph is called {name}"))),
    }
}

/// Like modern, but with one vertex label and weights of single precision.
fn classic(graph: &mut dyn GraphWrite) -> Result<(), GraphError> {
    let mut made = Vec::new();
    for (id, name, key, value) in [
        (1, "marko", "age", Value::Int32(29)),
        (2, "vadas", "age", Value::Int32(27)),
        (3, "lop", "lang", "java".into()),
        (4, "josh", "age", Value::Int32(32)),
        (5, "ripple", "lang", "java".into()),
        (6, "peter", "age", Value::Int32(35)),
    ] {
        made.push(samples::vertex(graph, "vertex", id, vec![("name", name.into()), (key, value)])?);
    }
    for (id, label, source, target, weight) in [
        (7, "knows", 0, 1, 0.5f32),
        (8, "knows", 0, 3, 1.0),
        (9, "created", 0, 2, 0.4),
        (10, "created", 3, 4, 1.0),
        (11, "created", 3, 2, 0.4),
        (12, "created", 5, 2, 0.2),
    ] {
        samples::edge(graph, label, id, (made[source], made[target]), vec![("weight", weight.into())])?;
    }
    Ok(())
}

/// A graph with loops, for steps that meet the same vertex at both ends.
fn sink(graph: &mut dyn GraphWrite) -> Result<(), GraphError> {
    let named = |name: &str| vec![("name", Value::from(name))];
    let looping = samples::vertex(graph, "loops", 1000, named("loop"))?;
    let a = samples::vertex(graph, "message", 2000, named("a"))?;
    let b = samples::vertex(graph, "message", 2001, named("b"))?;
    samples::edge(graph, "self", 1001, (looping, looping), Vec::new())?;
    samples::edge(graph, "link", 2002, (a, b), Vec::new())?;
    samples::edge(graph, "link", 2003, (a, a), Vec::new())
}

/// Reads GraphML in the form of that one file: nodes before edges, labels under `labelV` and `labelE`, numbers int32.
fn read_graphml(text: &str, graph: &mut dyn GraphWrite) -> Result<(), GraphError> {
    let pattern = |p: &str| Regex::new(p).expect("the pattern is well-formed");
    let element = pattern(r#"<(?:node|edge) id="(\d+)"(?: source="(\d+)" target="(\d+)")?>(.*?)</(?:node|edge)>"#);
    let data = pattern(r#"<data key="(\w+)">([^<]*)</data>"#);
    let mut vertices: HashMap<String, VertexId> = HashMap::new();
    for found in element.captures_iter(text) {
        let id = found[1].parse().map_err(|_| GraphError::Invalid(format!("GraphML id {}", &found[1])))?;
        let mut label = String::new();
        let mut properties = Vec::new();
        let cells: Vec<(String, String)> =
            data.captures_iter(&found[4]).map(|c| (c[1].to_owned(), c[2].replace("&amp;", "&"))).collect();
        for (key, value) in &cells {
            match key.as_str() {
                "labelV" | "labelE" => label.clone_from(value),
                "performances" | "weight" => {
                    properties.push((key.as_str(), value.parse::<i32>().unwrap_or_default().into()))
                }
                _ => properties.push((key.as_str(), value.as_str().into())),
            }
        }
        match (found.get(2), found.get(3)) {
            (Some(source), Some(target)) => {
                let ends = (vertices[source.as_str()], vertices[target.as_str()]);
                samples::edge(graph, &label, id, ends, properties)?;
            }
            _ => {
                vertices.insert(found[1].to_owned(), samples::vertex(graph, &label, id, properties)?);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use mangrove_graph::{Catalog, record};
    use mangrove_testkit::Oracle;

    use super::*;

    #[test]
    fn the_graphs_written_down_here_have_the_size_they_should() {
        for (name, vertices, edges) in [("modern", 6, 6), ("classic", 6, 6), ("crew", 6, 14), ("sink", 3, 3)] {
            let mut graph = Oracle::default();
            write(name, &mut graph, "").unwrap();
            let counts = graph.statistics().unwrap();
            assert_eq!((counts.vertices.iter().sum::<u64>(), counts.edges.iter().sum::<u64>()), (vertices, edges), "{name}");
        }
    }

    #[test]
    fn graphml_is_read_with_its_labels_and_types() {
        let text = r#"<graph><node id="1"><data key="labelV">song</data><data key="name">A &amp; B</data></node>
            <edge id="0" source="1" target="1"><data key="labelE">followedBy</data><data key="weight">3</data></edge>"#;
        let mut graph = Oracle::default();
        read_graphml(text, &mut graph).unwrap();
        let song = record::find_vertex(&graph, &1.into()).unwrap().unwrap();
        let name = &record::properties(&graph, mangrove_graph::ElementId::Vertex(song)).unwrap()[0];
        assert_eq!((&*name.name, &name.values[0].value), ("name", &"A & B".into()));
        let edge = record::find_edge(&graph, &0.into()).unwrap().unwrap();
        let weight = &record::properties(&graph, mangrove_graph::ElementId::Edge(edge.id)).unwrap()[0];
        assert_eq!(weight.values[0].value, 3.into());
    }
}
