//! Writes `mangrove.yaml`: the mapping that loads the files of an export back, and all declarations of the graph.
//!
//! See [`mapping_text`](crate::text::mapping_text).

use std::path::Path;

use mangrove_graph::{Cardinality, ElementKind, Encoding, IdSpace, LabelId, PropertyId, PropertySchema};

use super::walk::{ExportError, ExportFormat, ExportWalk};
use crate::terms::mapping::FILE_NAME;
use crate::text::mapping_text::{put_tables, quoted};

/// Writes the mapping after all other files.
pub fn write(walk: &mut ExportWalk<'_>, directory: &Path, format: ExportFormat) -> Result<(), ExportError> {
    let mut text = String::from(
        "# How `mangrove load` reads these files, and what the graph declares. The files stand on their own, too.\n",
    );
    if !format.is_of_tables() {
        let names: Vec<String> =
            walk.report.files.iter().filter_map(|path| path.file_name()?.to_str().map(quoted)).collect();
        text += &format!("files: [{}]\n", names.join(", "));
    }
    put_tables(&walk.tables, &mut text);
    put_schema(walk, format, &mut text);
    let mut output = walk.create(directory.join(FILE_NAME))?;
    output.write(&text)?;
    output.finish()
}

fn put_schema(walk: &ExportWalk<'_>, format: ExportFormat, out: &mut String) {
    let is_empty = ElementKind::ALL.iter().all(|kind| walk.labels(*kind).len() == 0);
    if is_empty && !format.is_of_tables() {
        return;
    }
    out.push_str("schema:\n");
    if format.is_of_tables() {
        let space = if walk.view.schema().id_space == IdSpace::Label { "label" } else { "graph" };
        out.push_str(&format!("  id_space: {space}\n"));
    }
    let keys: Vec<String> = walk.view.schema().known_keys().map(|key| quoted(key)).collect();
    if !keys.is_empty() {
        out.push_str(&format!("  keys: [{}]\n", keys.join(", ")));
    }
    for kind in ElementKind::ALL {
        let labels = walk.labels(kind);
        if labels.len() == 0 {
            continue;
        }
        out.push_str(&format!("  {}:\n", kind.plural()));
        labels.for_each(|label| put_label(walk, kind, label, format, out));
    }
}

fn put_label(walk: &ExportWalk<'_>, kind: ElementKind, id: LabelId, format: ExportFormat, out: &mut String) {
    let schema = walk.view.schema();
    let Some(label) = schema.label_schema(kind, id) else { return };
    let mut lines = String::new();
    // Ids that hold their label are not the values of the key.
    if let Some(key) = label.key.filter(|_| format.is_of_tables() || !walk.is_label_space()) {
        lines += &format!("      key: {}\n", quoted(&schema.key_name(key)));
    }
    if let Some(time) = label.time {
        lines += &format!("      time: {}\n", quoted(&schema.key_name(time)));
    }
    let declared = |property: &PropertySchema| {
        let what = declarations(walk, PropertyId { kind, label: id, key: property.key }, property);
        (!what.is_empty()).then(|| (schema.key_name(property.key), what))
    };
    let properties: Vec<_> = label.properties.iter().filter_map(declared).collect();
    if !properties.is_empty() {
        lines += "      properties:\n";
        for (name, what) in properties {
            lines += &format!("        {}: {{{}}}\n", quoted(&name), what.join(", "));
        }
    }
    let name = quoted(&label.name);
    match lines.is_empty() {
        true => out.push_str(&format!("    {name}: {{}}\n")),
        false => out.push_str(&format!("    {name}:\n{lines}")),
    }
}

fn declarations(walk: &ExportWalk<'_>, of: PropertyId, property: &PropertySchema) -> Vec<String> {
    let mut what = Vec::new();
    if let Some(declared) = property.declared {
        what.push(format!("type: {}", declared.name()));
    }
    // The data shows several values too, but a reader of single values would miss them.
    if property.cardinality != Cardinality::Single {
        what.push(format!("cardinality: {}", property.cardinality.name()));
    }
    if property.required {
        what.push("required: true".into());
    }
    match walk.view.schema().index(of) {
        Some(index) if index.unique => what.push("unique: true".into()),
        Some(_) => what.push("index: true".into()),
        None => {}
    }
    if walk.view.schema().index(of).is_some_and(|index| index.routed) {
        what.push("routed: true".into());
    }
    if property.encoding != Encoding::default() {
        what.push(format!("encoding: {}", quoted(&property.encoding.to_string())));
    }
    what
}
