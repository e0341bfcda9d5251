//! GraphML as TinkerPop writes it: labels under the keys `labelV` and `labelE`, typed keys for the properties.
//!
//! GraphML knows booleans, ints, longs, floats, doubles and strings. Other values become text, and the report warns of it. GraphML
//! has no place for several values of a key, or for properties of properties. The exporter refuses a graph with such, instead of
//! losing data.

use std::collections::BTreeMap;
use std::path::Path;

use mangrove_graph::{Cell, ElementKind, Elements, KeyId, LabelId, PropertyColumn, TypeSet, Value, ValueType};

use super::walk::{ExportError, ExportWalk, Output, PAGE, ends_of};

pub fn write(walk: &mut ExportWalk<'_>, directory: &Path) -> Result<(), ExportError> {
    let keys = [declared(walk, ElementKind::Vertex), declared(walk, ElementKind::Edge)];
    let shared = |name: &str| keys.iter().all(|keys| keys.iter().any(|key| key.name == name));
    let shared: Vec<String> = keys[0].iter().map(|key| key.name.clone()).filter(|name| shared(name)).collect();
    let [mut nodes, mut edges] = keys;
    nodes.iter_mut().filter(|key| shared.contains(&key.name)).for_each(|key| key.id.push('V'));
    edges.iter_mut().filter(|key| shared.contains(&key.name)).for_each(|key| key.id.push('E'));
    let mut output = walk.create(directory.join("graph.graphml"))?;
    output.write(&head(&nodes, &edges)?)?;
    for label in walk.labels(ElementKind::Vertex) {
        write_vertices(walk, label, &nodes, &mut output)?;
    }
    for label in walk.labels(ElementKind::Edge) {
        write_edges(walk, label, &edges, &mut output)?;
    }
    output.write("</graph>\n</graphml>\n")?;
    output.finish()
}

struct Key {
    id: String,
    name: String,
    key: KeyId,
    value_type: ValueType,
}

/// The keys of all labels of a kind. The type of a key is the type of all its values, or string if they differ.
fn declared(walk: &mut ExportWalk<'_>, kind: ElementKind) -> Vec<Key> {
    let mut types: BTreeMap<KeyId, TypeSet> = BTreeMap::new();
    for label in walk.view.schema().labels(kind) {
        for property in label.properties.iter() {
            types.entry(property.key).or_default().0 |= property.types.0;
        }
    }
    let key = |(key, types): (KeyId, TypeSet)| {
        let name = walk.view.schema().key_name(key).to_string();
        let value_type = types.single().filter(|t| type_name(*t).is_some()).unwrap_or(ValueType::String);
        if types.single() != Some(value_type) {
            walk.report.warn(format!("GraphML has no type for some values of `{name}`, so they are written as strings"));
        }
        Key { id: name.clone(), name, key, value_type }
    };
    types.into_iter().map(key).collect()
}

fn type_name(t: ValueType) -> Option<&'static str> {
    Some(match t {
        ValueType::Bool => "boolean",
        ValueType::Int32 => "int",
        ValueType::Int64 => "long",
        ValueType::Float32 => "float",
        ValueType::Float64 => "double",
        ValueType::String => "string",
        _ => return None,
    })
}

fn head(nodes: &[Key], edges: &[Key]) -> Result<String, ExportError> {
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n\
         <key id=\"labelV\" for=\"node\" attr.name=\"labelV\" attr.type=\"string\"/>\n\
         <key id=\"labelE\" for=\"edge\" attr.name=\"labelE\" attr.type=\"string\"/>\n",
    );
    for (of, keys) in [("node", nodes), ("edge", edges)] {
        for key in keys {
            let type_name = type_name(key.value_type).unwrap_or("string");
            let (id, name) = (escaped(&key.id)?, escaped(&key.name)?);
            text += &format!("<key id=\"{id}\" for=\"{of}\" attr.name=\"{name}\" attr.type=\"{type_name}\"/>\n");
        }
    }
    Ok(text + "<graph id=\"G\" edgedefault=\"directed\">\n")
}

fn write_vertices(walk: &mut ExportWalk<'_>, label: LabelId, keys: &[Key], output: &mut Output) -> Result<(), ExportError> {
    walk.vertices(label, PAGE, |walk, page| {
        let elements = Elements::Vertices(page);
        let (ids, labels) = (walk.user_ids(elements)?, walk.label_names(page)?);
        let columns = walk.columns(elements, keys.iter().map(|key| key.key))?;
        for (row, (id, labels)) in ids.iter().zip(&labels).enumerate() {
            let mut text = format!("<node id=\"{}\">{}", id_text(id)?, data("labelV", &labels.join(";"))?);
            write_data(walk, keys, &columns, row, &mut text)?;
            output.write(&(text + "</node>\n"))?;
        }
        Ok(())
    })
}

fn write_edges(walk: &mut ExportWalk<'_>, label: LabelId, keys: &[Key], output: &mut Output) -> Result<(), ExportError> {
    let name = walk.view.schema().label_name(ElementKind::Edge, label);
    walk.edges(label, |walk, page| {
        let elements = Elements::Edges(page);
        let (own_ids, end_ids) = (walk.user_ids(elements)?, walk.by_vertex(ends_of(page), ExportWalk::user_ids)?);
        let columns = walk.columns(elements, keys.iter().map(|key| key.key))?;
        for (row, edge) in page.iter().enumerate() {
            let id = id_text(&own_ids[row])?;
            let (source, target) = (id_text(&end_ids[&edge.source])?, id_text(&end_ids[&edge.target])?);
            let mut text = format!("<edge id=\"{id}\" source=\"{source}\" target=\"{target}\">{}", data("labelE", &name)?);
            write_data(walk, keys, &columns, row, &mut text)?;
            output.write(&(text + "</edge>\n"))?;
        }
        Ok(())
    })
}

fn id_text(id: &Value) -> Result<String, ExportError> {
    escaped(&id.to_string())
}

fn data(key: &str, text: &str) -> Result<String, ExportError> {
    Ok(format!("<data key=\"{}\">{}</data>", escaped(key)?, escaped(text)?))
}

fn write_data(
    walk: &mut ExportWalk<'_>,
    keys: &[Key],
    columns: &[PropertyColumn],
    row: usize,
    text: &mut String,
) -> Result<(), ExportError> {
    for (key, column) in keys.iter().zip(columns) {
        match column.cell(row) {
            Cell::Absent => {}
            Cell::One(Value::Null) => {
                walk.report.warn(format!("GraphML has no nulls, so those of `{}` are left out", key.name));
            }
            Cell::One(value) => *text += &data(&key.id, &value.to_string())?,
            Cell::Many(_) => {
                return Err(ExportError::Unwritable {
                    what: format!("several values of `{}`, or values with properties of their own,", key.name),
                    format: "GraphML",
                    hint: "GraphML has no form for them. Export GraphSON or CSV",
                });
            }
        }
    }
    Ok(())
}

/// Escapes text for XML. XML cannot express control characters.
fn escaped(text: &str) -> Result<String, ExportError> {
    if text.chars().any(|c| (c < ' ' && !matches!(c, '\t' | '\n' | '\r')) || matches!(c, '\u{fffe}' | '\u{ffff}')) {
        return Err(ExportError::Unwritable {
            what: format!("the control character in {text:?}"),
            format: "GraphML",
            hint: "XML has no form for it. Export GraphSON or CSV",
        });
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // An XML reader would change line ends and tabs in attributes, and carriage returns everywhere.
            '\r' => out.push_str("&#13;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            c => out.push(c),
        }
    }
    Ok(out)
}
