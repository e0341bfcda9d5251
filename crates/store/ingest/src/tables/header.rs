//! The header dialects of Neo4j-admin and Amazon Neptune.

use std::sync::Arc;

use mangrove_graph::{Cardinality, ElementKind, ValueType};

use crate::batches::column::ColumnType;
use crate::batches::rows::{IdType, PartFields, Scope};
use crate::error::{LoadError, Location};
use crate::tables::plan::{LabelRule, PropertyPlan, TableHints, TablePlan};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    Neo4j,
    Neptune,
    Plain,
}

/// The dialect of a header.
pub fn style(names: &[String]) -> Style {
    if names.iter().any(|name| Special::of(name).is_some()) {
        Style::Neo4j
    } else if names.iter().any(|name| ["~id", "~from", "~to", "~label"].contains(&name.trim())) {
        Style::Neptune
    } else {
        Style::Plain
    }
}

/// A field of a Neo4j header that is not a property: `name:ID(Space){option}`.
struct Special<'a> {
    name: &'a str,
    role: &'a str,
    space: Option<&'a str>,
    options: &'a str,
}

impl<'a> Special<'a> {
    fn of(field: &'a str) -> Option<Self> {
        let (name, rest) = field.trim().split_once(':')?;
        let (rest, options) = rest.split_once('{').map_or((rest, ""), |(rest, o)| (rest, o.trim_end_matches('}')));
        let (role, space) = match rest.split_once('(') {
            Some((role, space)) => (role, Some(space.strip_suffix(')')?)),
            None => (rest, None),
        };
        let known = ["ID", "LABEL", "START_ID", "END_ID", "TYPE", "IGNORE", "EDGE_ID"];
        known.contains(&role).then_some(Special { name, role, space, options })
    }

    fn option(&self, key: &str) -> Option<&'a str> {
        self.options.split(',').filter_map(|o| o.split_once(':')).find(|(k, _)| k.trim() == key).map(|(_, v)| v.trim())
    }
}

struct Neo4jTable {
    plan: TablePlan,
    label: Option<usize>,
}

pub fn plan_neo4j(names: &[String], hints: &TableHints, file: &Arc<str>) -> Result<TablePlan, LoadError> {
    let is_edge =
        |name: &String| Special::of(name).is_some_and(|s| matches!(s.role, "START_ID" | "END_ID" | "TYPE" | "EDGE_ID"));
    let kind = if names.iter().any(is_edge) { ElementKind::Edge } else { ElementKind::Vertex };
    let fail = |reason: String| LoadError::format(Location::at(file, 1, 1), reason);
    if hints.kind.is_some_and(|given| given != kind) {
        let is = if kind == ElementKind::Edge { "edges" } else { "vertices" };
        return Err(fail(format!("the header is that of a table of {is}: load the file as {is}")));
    }
    let mut table = Neo4jTable { plan: empty_plan(kind, names, hints), label: None };
    for (at, name) in names.iter().enumerate() {
        match Special::of(name) {
            Some(special) => table.special(at, &special).map_err(fail)?,
            None => {
                if name.trim().ends_with("{time}") {
                    table.plan.edge_time = name.trim().rsplit_once(':').map(|(name, _)| name.to_owned());
                }
                let (name, column_type) = typed_name(name.trim(), neo4j_type).map_err(fail)?;
                let column_type = column_type.unwrap_or(ColumnType::Declared(ValueType::String));
                table.plan.columns[at] = Some(PropertyPlan { name: name.into(), column_type });
            }
        }
    }
    let Neo4jTable { mut plan, label } = table;
    let complete = match kind {
        ElementKind::Vertex => plan.parts.id.is_some(),
        ElementKind::Edge => plan.parts.source.is_some() && plan.parts.target.is_some(),
    };
    if !complete {
        let needed = if kind == ElementKind::Edge { ":START_ID and :END_ID" } else { ":ID" };
        return Err(fail(format!("the header has no {needed} column")));
    }
    let default = hints.label.clone().or(plan.space.clone()).unwrap_or_else(|| hints.stem.as_str().into());
    plan.label = label_rule(label, default);
    if let (LabelRule::Column { delimiter, .. }, ElementKind::Edge) = (&mut plan.label, kind) {
        *delimiter = '\0'; // an edge has one label, whatever characters it contains
    }
    Ok(plan)
}

impl Neo4jTable {
    fn special(&mut self, at: usize, field: &Special<'_>) -> Result<(), String> {
        let plan = &mut self.plan;
        let scope = |given: &Scope| field.space.map_or(given.clone(), |space| Scope::Space(space.into()));
        let slot = match field.role {
            "IGNORE" => return Ok(()),
            "LABEL" | "TYPE" => &mut self.label,
            "ID" => {
                plan.space = field.space.map(Arc::from);
                if let Some(name) = field.option("id-type") {
                    plan.id_type = IdType::from_name(name).ok_or(format!("`{name}` is not a type for ids"))?;
                }
                plan.key = (!field.name.is_empty()).then(|| field.name.into());
                &mut plan.parts.id
            }
            // An extension of this crate: ids that users gave their edges.
            "EDGE_ID" => &mut plan.parts.id,
            "START_ID" => {
                plan.source_scope = scope(&plan.source_scope);
                &mut plan.parts.source
            }
            _ => {
                plan.target_scope = scope(&plan.target_scope);
                &mut plan.parts.target
            }
        };
        if let ("START_ID" | "END_ID", Some(name)) = (field.role, field.option("id-type")) {
            plan.id_type = IdType::from_name(name).ok_or(format!("`{name}` is not a type for ids"))?;
        }
        match slot.replace(at) {
            None => Ok(()),
            Some(_) => Err(format!("two {} columns; ids made of several columns are not supported", field.role)),
        }
    }
}

pub fn plan_neptune(names: &[String], hints: &TableHints, file: &Arc<str>) -> Result<TablePlan, LoadError> {
    let at = |wanted: &str| names.iter().position(|name| name.trim() == wanted);
    let kind = if at("~from").is_some() || at("~to").is_some() { ElementKind::Edge } else { ElementKind::Vertex };
    let kind = hints.kind.unwrap_or(kind);
    let fail = |reason: String| LoadError::format(Location::at(file, 1, 1), reason);
    let mut plan = empty_plan(kind, names, hints);
    plan.parts = match kind {
        ElementKind::Vertex => PartFields { id: at("~id"), source: None, target: None },
        ElementKind::Edge => PartFields { id: at("~id"), source: at("~from"), target: at("~to") },
    };
    let needed: &[(&str, bool)] = match kind {
        ElementKind::Vertex => &[("~id", plan.parts.id.is_some())],
        ElementKind::Edge => &[("~from", plan.parts.source.is_some()), ("~to", plan.parts.target.is_some())],
    };
    if let Some((column, _)) = needed.iter().find(|(_, there)| !there) {
        return Err(fail(format!("the header has no {column} column")));
    }
    for (index, name) in names.iter().enumerate() {
        if !name.trim().starts_with('~') {
            let (name, column_type) = typed_name(name.trim(), neptune_type).map_err(fail)?;
            let column_type = column_type.unwrap_or(ColumnType::Declared(ValueType::String));
            plan.columns[index] = Some(PropertyPlan { name: name.into(), column_type });
        }
    }
    plan.label = label_rule(at("~label"), hints.label.clone().unwrap_or_else(|| hints.stem.as_str().into()));
    Ok(plan)
}

fn empty_plan(kind: ElementKind, names: &[String], hints: &TableHints) -> TablePlan {
    TablePlan {
        kind,
        label: LabelRule::Fixed("".into()),
        parts: PartFields::default(),
        id_type: hints.mapping.as_ref().and_then(|m| m.id_type).unwrap_or_default(),
        source_scope: hints.source.clone().map_or(Scope::Any, Scope::Label),
        target_scope: hints.target.clone().map_or(Scope::Any, Scope::Label),
        space: None,
        columns: vec![None; names.len()],
        names: names.iter().map(|name| name.trim().into()).collect(),
        array_delimiter: b';',
        edge_time: None,
        key: None,
        warnings: Vec::new(),
    }
}

fn label_rule(index: Option<usize>, default: Arc<str>) -> LabelRule {
    match index {
        Some(index) => LabelRule::Column { index, delimiter: ';', default },
        None => LabelRule::Fixed(default),
    }
}

/// Splits `name:type` at the last colon, so names may contain colons. The type may be missing.
fn typed_name(field: &str, types: fn(&str) -> Option<ColumnType>) -> Result<(&str, Option<ColumnType>), String> {
    let Some((name, written)) = field.rsplit_once(':') else { return Ok((field, None)) };
    let written = written.split('{').next().unwrap_or_default().trim();
    match types(written) {
        Some(column_type) => Ok((name, Some(column_type))),
        None => Err(format!("column `{field}`: `{written}` is not a type")),
    }
}

/// Splits the name of a plain column into name and type. If no type follows the last colon, all of it is the name.
pub fn plain_name(field: &str) -> (String, Option<ColumnType>) {
    match field.trim().rsplit_once(':') {
        Some((name, written)) if !name.is_empty() => match neo4j_type(written.trim()) {
            Some(column_type) => (name.to_owned(), Some(column_type)),
            None => (field.trim().to_owned(), None),
        },
        _ => (field.trim().to_owned(), None),
    }
}

/// Neo4j's types, and the names of our types that Neo4j lacks. Neo4j's times of day and points have no type here; they stay text.
fn neo4j_type(written: &str) -> Option<ColumnType> {
    if written == "graphson" {
        return Some(ColumnType::Cells);
    }
    if let Some(item) = written.strip_suffix("[]") {
        return Some(ColumnType::Array { item: scalar_type(item)?, cardinality: Cardinality::List });
    }
    scalar_type(written).map(ColumnType::Declared)
}

/// `T[]`, `T(single)`, `T(set)` or `T`.
fn neptune_type(written: &str) -> Option<ColumnType> {
    let written = written.trim_end_matches("(single)").trim_end_matches("(set)");
    match written.strip_suffix("[]") {
        Some(item) => Some(ColumnType::Array { item: scalar_type(item)?, cardinality: Cardinality::Set }),
        None => scalar_type(written).map(ColumnType::Declared),
    }
}

fn scalar_type(name: &str) -> Option<ValueType> {
    match name.to_ascii_lowercase().as_str() {
        "char" | "point" | "time" | "localtime" => Some(ValueType::String),
        other => ValueType::from_name(other),
    }
}

/// The type that a mapping names.
pub fn mapped_type(written: &str) -> Option<ColumnType> {
    neo4j_type(written.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::planner::plan_table;

    fn plan(header: &str) -> Result<TablePlan, String> {
        let names: Vec<String> = header.split(',').map(str::to_owned).collect();
        let hints = TableHints { stem: "file".into(), ..TableHints::default() };
        plan_table(&names, &hints, &"t.csv".into()).map_err(|e| e.to_string())
    }

    fn types(plan: &TablePlan) -> Vec<String> {
        let columns = plan.columns.iter().flatten();
        columns.map(|p| format!("{}:{}", p.name, p.column_type.name())).collect()
    }

    #[test]
    fn neo4j_vertices() {
        let made = plan("personId:ID(Person),name,age:int,tags:string[],junk:IGNORE,:LABEL").unwrap();
        assert_eq!((made.kind, made.parts.id, made.space.as_deref()), (ElementKind::Vertex, Some(0), Some("Person")));
        assert_eq!(made.label, LabelRule::Column { index: 5, delimiter: ';', default: "Person".into() });
        assert_eq!(types(&made), ["name:string", "age:int32", "tags:string[]"]);
        assert_eq!(made.key.as_deref(), Some("personId"));
        assert_eq!(plan(":ID{id-type:string},born:date").unwrap().id_type, IdType::String);
    }

    #[test]
    fn neo4j_edges() {
        let made = plan(":START_ID(A),since:datetime,:END_ID(B),:TYPE").unwrap();
        assert_eq!((made.kind, made.parts.source, made.parts.target), (ElementKind::Edge, Some(0), Some(2)));
        assert_eq!((made.source_scope, made.target_scope), (Scope::Space("A".into()), Scope::Space("B".into())));
        assert!(plan(":START_ID,:TYPE").unwrap_err().contains("no :START_ID and :END_ID column"));
        assert!(plan("a:ID,b:ID").unwrap_err().contains("two ID columns"));
        assert!(plan("a:ID,b:interger").unwrap_err().contains("`interger` is not a type"));
    }

    #[test]
    fn neptune_vertices_and_edges() {
        let vertices = plan("~id,~label,name:String,age:Int,tags:String[],city:String(single)").unwrap();
        assert_eq!(types(&vertices), ["name:string", "age:int32", "tags:string[]", "city:string"]);
        let set = ColumnType::Array { item: ValueType::String, cardinality: Cardinality::Set };
        assert_eq!(vertices.columns[4].as_ref().unwrap().column_type, set);
        let edges = plan("~id,~from,~to,~label,weight:Double").unwrap();
        let parts = (edges.parts.id, edges.parts.source, edges.parts.target);
        assert_eq!((edges.kind, parts), (ElementKind::Edge, (Some(0), Some(1), Some(2))));
        assert!(plan("~from,~label").unwrap_err().contains("no ~to column"));
    }

    #[test]
    fn a_colon_in_a_plain_name_is_a_type_only_if_it_names_one() {
        let made = plan("id,at:time of day,age:int").unwrap();
        assert_eq!(types(&made), ["at:time of day:string", "age:int32"]);
    }
}
