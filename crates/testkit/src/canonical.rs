//! Results of queries as canonical text: equal results give equal text. Each value has its type. The items of collections are
//! sorted, even of lists, because most lists that a query makes have no defined order.

use mangrove_graph::{Tree, Value};

/// The text of one result.
pub fn text(value: &Value) -> String {
    match value {
        Value::List(items) => format!("[{}]", sorted(items.iter().map(text))),
        Value::Set(items) => format!("{{{}}}", sorted(items.iter().map(text))),
        Value::BulkSet(items) => {
            let each = |(item, n): &(Value, u64)| std::iter::repeat_n(text(item), *n as usize);
            format!("bag[{}]", sorted(items.iter().flat_map(each)))
        }
        Value::Map(map) => format!("map{{{}}}", sorted(map.iter().map(|(key, value)| text(key) + "=" + &text(value)))),
        Value::Entry(entry) => format!("entry {}={}", text(&entry.0), text(&entry.1)),
        Value::Path(path) => {
            let stops = path.objects.iter().zip(&path.labels).map(|(object, labels)| {
                let labels = sorted(labels.iter().map(|label| label.to_string()));
                if labels.is_empty() { text(object) } else { format!("{}@{labels}", text(object)) }
            });
            format!("path[{}]", stops.collect::<Vec<_>>().join(" "))
        }
        Value::Tree(tree) => branches(tree),
        Value::Subgraph(graph) => {
            let vertices = sorted(graph.vertices.iter().map(|vertex| Value::Vertex(*vertex).to_string()));
            let edges = sorted(graph.edges.iter().map(|edge| Value::Edge(*edge).to_string()));
            format!("graph[{vertices}][{edges}]")
        }
        Value::VertexProperty(p) => {
            format!("vp {}.{}#{}:{}", Value::Vertex(p.vertex), p.name, p.ordinal, text(&p.value))
        }
        // The owner does not count: two properties with the same key and value are equal.
        Value::Property(p) => format!("p {}:{}", p.name, text(&p.value)),
        Value::Vertex(_) | Value::Edge(_) => value.to_string(),
        plain => format!("{plain}:{}", plain.value_type()),
    }
}

fn sorted(texts: impl Iterator<Item = String>) -> String {
    let mut texts: Vec<String> = texts.collect();
    texts.sort_unstable();
    texts.join(" ")
}

fn branches(tree: &Tree) -> String {
    format!("tree{{{}}}", sorted(tree.0.iter().map(|(key, below)| text(key) + branches(below).as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_count_and_the_order_of_items_does_not() {
        let list = |items: [Value; 2]| Value::list(items.to_vec());
        assert_eq!(text(&list([1.into(), "a".into()])), text(&list(["a".into(), 1.into()])));
        assert_ne!(text(&1i32.into()), text(&1i64.into()));
        assert_ne!(text(&list([1.into(), 1.into()])), text(&list([1.into(), 2.into()])));
    }
}
