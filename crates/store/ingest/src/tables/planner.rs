//! Plans how to read the columns of a table. Combines its header, its name, the options and a mapping.
//!
//! | | vertices | edges |
//! |---|---|---|
//! | Neo4j | `id:ID(Space)`, `:LABEL` | `:START_ID(Space)`, `:END_ID(Space)`, `:TYPE` |
//! | Neptune | `~id`, `~label` | `~id`, `~from`, `~to`, `~label` |
//! | plain | the key given, else the label's key, else `id` or `~id` | a pair of [`END_NAMES`], else the only two columns |
//!
//! The options give the key of a plain table. Taking the only two columns as ends gives a warning.
//!
//! The id column is the label's key, under its own name. Columns that start with `~`, and Neo4j's columns without a name, are no
//! properties.

use std::sync::Arc;

use mangrove_graph::{ElementKind, ValueType};

use crate::batches::column::ColumnType;
use crate::batches::rows::{IdType, PartFields, Scope};
use crate::error::{LoadError, Location};
use crate::tables::header::{self, Style};
use crate::tables::plan::{LabelRule, PropertyPlan, TableHints, TableMapping, TablePlan};
use crate::text::infer::Inferred;

/// Plans a table with these column names. Columns without a declared type start without an inferred type.
pub fn plan_table(names: &[String], hints: &TableHints, file: &Arc<str>) -> Result<TablePlan, LoadError> {
    let mut plan = match header::style(names) {
        Style::Neo4j => header::plan_neo4j(names, hints, file)?,
        Style::Neptune => header::plan_neptune(names, hints, file)?,
        Style::Plain => plan_plain(names, hints, file)?,
    };
    if let Some(mapping) = &hints.mapping {
        apply_mapping(&mut plan, mapping, names, file)?;
    }
    check_names(&plan, file)?;
    Ok(plan)
}

fn position(names: &[String], wanted: &[&str]) -> Option<usize> {
    wanted.iter().find_map(|w| names.iter().position(|name| name.trim().eq_ignore_ascii_case(w)))
}

const ID_NAMES: [&str; 2] = ["id", "~id"];
/// Names for the columns of an edge's two ends, in pairs.
const END_NAMES: [(&str, &str); 13] = [
    ("src", "dst"),
    ("source", "target"),
    ("from", "to"),
    ("~from", "~to"),
    ("src_id", "dst_id"),
    ("source_id", "target_id"),
    ("from_id", "to_id"),
    ("sourceid", "targetid"),
    ("fromid", "toid"),
    ("fromnodeid", "tonodeid"),
    ("start", "end"),
    ("start_id", "end_id"),
    ("u", "v"),
];

fn plan_plain(names: &[String], hints: &TableHints, file: &Arc<str>) -> Result<TablePlan, LoadError> {
    let typed: Vec<(String, Option<ColumnType>)> = names.iter().map(|name| header::plain_name(name)).collect();
    let bare: Vec<String> = typed.iter().map(|(name, _)| name.clone()).collect();
    let mapped = |column: &Option<String>| -> Result<Option<usize>, LoadError> {
        column.as_deref().map(|column| find_column(names, column, file)).transpose()
    };
    let mapping = hints.mapping.clone().unwrap_or_default();
    let named = named_ends(&bare);
    let source = mapped(&mapping.source)?.or(named.0);
    let target = mapped(&mapping.target)?.or(named.1);
    let kind = hints.kind.unwrap_or(match (source, target) {
        (Some(_), Some(_)) => ElementKind::Edge,
        _ => ElementKind::Vertex,
    });
    let property = |index: usize| -> Option<PropertyPlan> {
        let (name, column_type) = &typed[index];
        let column_type = column_type.clone().unwrap_or(ColumnType::Inferred(Inferred::Nothing));
        Some(PropertyPlan { name: name.as_str().into(), column_type })
    };
    let mut columns: Vec<_> = (0..names.len()).map(property).collect();
    let (mut key, mut warnings) = (None, Vec::new());
    let parts = match kind {
        ElementKind::Vertex => {
            let id = match mapped(&hints.key)?.map_or_else(|| mapped(&mapping.id), |told| Ok(Some(told)))? {
                Some(told) => told,
                None => id_column(&bare, hints, file)?,
            };
            columns[id] = None;
            key = (!bare[id].starts_with('~')).then(|| Arc::from(bare[id].as_str()));
            PartFields { id: Some(id), source: None, target: None }
        }
        ElementKind::Edge => {
            let (source, target) = ends(source, target, &bare, file, &mut warnings)?;
            (columns[source], columns[target]) = (None, None);
            let id = mapped(&mapping.id)?;
            if let Some(id) = id {
                columns[id] = None;
            }
            PartFields { id, source: Some(source), target: Some(target) }
        }
    };
    let label = match &hints.label {
        Some(label) if mapping.label_column.is_none() => LabelRule::Fixed(label.clone()),
        label => plain_label(names, label, &mapping, hints, file, &mut columns)?,
    };
    Ok(TablePlan {
        kind,
        label,
        parts,
        id_type: id_type(&mapping, parts.id.and_then(|id| typed[id].1.as_ref()), file)?,
        key,
        source_scope: hints.source.clone().map_or(Scope::Any, Scope::Label),
        target_scope: hints.target.clone().map_or(Scope::Any, Scope::Label),
        space: None,
        columns,
        names: bare.iter().map(|name| name.as_str().into()).collect(),
        array_delimiter: b';',
        edge_time: None,
        warnings,
    })
}

/// Names of columns that hold no end of an edge, whatever the other column is called.
const NO_END_NAMES: [&str; 12] =
    ["weight", "w", "count", "n", "score", "value", "label", "type", "time", "timestamp", "date", "~label"];

/// The columns whose names are those of an edge's ends: a pair of names if possible, else each end by itself.
fn named_ends(bare: &[String]) -> (Option<usize>, Option<usize>) {
    let at = |name: &str| position(bare, &[name]);
    let pairs = END_NAMES.iter().map(|(source, target)| (at(source), at(target)));
    let whole = pairs.clone().find(|pair| matches!(pair, (Some(_), Some(_))));
    whole.unwrap_or_else(|| (pairs.clone().find_map(|pair| pair.0), pairs.clone().find_map(|pair| pair.1)))
}

/// The columns of an edge's two ends: by name, else the only two columns.
fn ends(
    source: Option<usize>,
    target: Option<usize>,
    names: &[String],
    file: &Arc<str>,
    warnings: &mut Vec<String>,
) -> Result<(usize, usize), LoadError> {
    match (source, target) {
        (Some(source), Some(target)) if source != target => return Ok((source, target)),
        (None, None) if names.len() == 2 && position(names, &NO_END_NAMES).is_none() => {
            warnings.push(format!(
                "{file}: no columns are called `src` and `dst`, so edges go from `{}` to `{}`; to change that, rename the columns, \
                 or name them as `source` and `target` in a mapping file (`mangrove docs load`)",
                names[0], names[1]
            ));
            return Ok((0, 1));
        }
        _ => {}
    }
    let missing = match (source, target) {
        (Some(_), None) => "a target column, such as `dst`",
        (None, Some(_)) => "a source column, such as `src`",
        _ => "a source and a target column, such as `src` and `dst`",
    };
    let reason = format!(
        "a table of edges needs {missing}; this one has {}. Rename the columns, or name them as `source` and `target` in a \
         mapping file (`mangrove docs load`)",
        listed(names)
    );
    Err(LoadError::format(Location::at(file, 1, 1), reason))
}

/// The column that names vertices: the key of their label, or a column with a usual name.
fn id_column(bare: &[String], hints: &TableHints, file: &Arc<str>) -> Result<usize, LoadError> {
    let label = hints.label.as_deref().unwrap_or(&hints.stem);
    if let Some(key) = &hints.known_key {
        return bare.iter().position(|name| **name == **key).ok_or_else(|| {
            let reason =
                format!("the key of {label} is `{key}`, but this table has no such column; it has {}", listed(bare));
            LoadError::format(Location::at(file, 1, 1), reason)
        });
    }
    position(bare, &ID_NAMES).ok_or_else(|| {
        let example = bare.iter().find(|name| !name.is_empty()).map_or("COLUMN", |name| name);
        let reason = format!(
            "a table of vertices needs a column of ids, and none is called `id`; it has {}. Say which it is: --key \
             {label}:{example}",
            match hints.kind {
                Some(_) => listed(bare),
                None => format!("{} (for edges: --edges A:{label}:B=FILE)", listed(bare)),
            }
        );
        LoadError::format(Location::at(file, 1, 1), reason)
    })
}

/// The type of ids: as the mapping states it, or the type of their column.
fn id_type(mapping: &TableMapping, column: Option<&ColumnType>, file: &Arc<str>) -> Result<IdType, LoadError> {
    match (mapping.id_type, column) {
        (Some(id_type), _) => Ok(id_type),
        (None, None) => Ok(IdType::default()),
        (None, Some(column_type)) => id_type_of(column_type, file),
    }
}

fn id_type_of(column_type: &ColumnType, file: &Arc<str>) -> Result<IdType, LoadError> {
    Ok(match column_type {
        ColumnType::Declared(ValueType::String) => IdType::String,
        ColumnType::Declared(ValueType::Uuid) => IdType::Uuid,
        ColumnType::Declared(ValueType::Int8 | ValueType::Int16 | ValueType::Int32 | ValueType::Int64) => IdType::Int,
        ColumnType::Inferred(_) => IdType::Auto,
        other => {
            let reason = format!("an id is a string, an integer or a UUID, but this column has the type {}", other.name());
            return Err(LoadError::format(Location::at(file, 1, 1), reason));
        }
    })
}

/// The label rule of a table without a given label: its column `label` or `~label`, else the name of its file.
fn plain_label(
    names: &[String],
    given: &Option<Arc<str>>,
    mapping: &TableMapping,
    hints: &TableHints,
    file: &Arc<str>,
    columns: &mut [Option<PropertyPlan>],
) -> Result<LabelRule, LoadError> {
    let default = given.clone().unwrap_or_else(|| hints.stem.as_str().into());
    let index = match &mapping.label_column {
        Some(column) => Some(find_column(names, column, file)?),
        None => position(names, &["label", "~label"]),
    };
    let Some(index) = index else { return Ok(LabelRule::Fixed(default)) };
    columns[index] = None;
    Ok(LabelRule::Column { index, delimiter: ';', default })
}

fn find_column(names: &[String], column: &str, file: &Arc<str>) -> Result<usize, LoadError> {
    let bare = |name: &String| header::plain_name(name).0;
    names.iter().position(|name| name == column || bare(name) == column).ok_or_else(|| {
        let near = names.iter().max_by(|a, b| strsim::jaro(a, column).total_cmp(&strsim::jaro(b, column)));
        let hint = near.filter(|near| strsim::jaro(near, column) > 0.7).map(|near| format!(" (did you mean `{near}`?)"));
        let reason = format!("no column `{column}`{}; the table has {}", hint.unwrap_or_default(), listed(names));
        LoadError::format(Location::at(file, 1, 1), reason)
    })
}

fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn apply_mapping(plan: &mut TablePlan, mapping: &TableMapping, names: &[String], file: &Arc<str>) -> Result<(), LoadError> {
    if mapping.only_listed {
        let listed: Vec<usize> =
            mapping.properties.iter().map(|(column, _)| find_column(names, column, file)).collect::<Result<_, _>>()?;
        let time = mapping.time.as_deref().map(|column| find_column(names, column, file)).transpose()?;
        for (at, column) in plan.columns.iter_mut().enumerate() {
            if !listed.contains(&at) && time != Some(at) {
                *column = None;
            }
        }
        if plan.parts.id.is_none_or(|id| !listed.contains(&id)) {
            plan.key = None;
        }
    }
    for (column, wish) in &mapping.properties {
        let at = find_column(names, column, file)?;
        if plan.kind == ElementKind::Vertex && plan.parts.id == Some(at) {
            if let Some(column_type) = &wish.column_type {
                plan.id_type = id_type_of(column_type, file)?;
            }
            let name = wish.name.clone().or_else(|| plan.key.take());
            plan.key = name.filter(|_| !wish.ignore);
            continue;
        }
        if wish.ignore {
            plan.columns[at] = None;
            continue;
        }
        let property = plan.columns[at].get_or_insert_with(|| PropertyPlan {
            name: plan.names[at].clone(),
            column_type: ColumnType::Inferred(Inferred::Nothing),
        });
        if let Some(name) = &wish.name {
            property.name = name.clone();
        }
        if let Some(column_type) = &wish.column_type {
            property.column_type = column_type.clone();
        }
    }
    Ok(())
}

/// Fails if two columns have the same name: one would overwrite the other.
fn check_names(plan: &TablePlan, file: &Arc<str>) -> Result<(), LoadError> {
    let mut seen = hashbrown::HashSet::new();
    seen.extend(plan.key.clone());
    for property in plan.columns.iter().flatten() {
        let reason = if property.name.is_empty() {
            "a column has no name: name it in the header, or leave it out with a mapping".to_owned()
        } else if !seen.insert(property.name.clone()) {
            format!("two columns give the property `{}`; rename one, or leave it out with a mapping", property.name)
        } else {
            continue;
        };
        return Err(LoadError::format(Location::at(file, 1, 1), reason));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::plan::ColumnMapping;

    fn plan(header: &str, hints: TableHints) -> TablePlan {
        let names: Vec<String> = header.split(',').map(str::to_owned).collect();
        plan_table(&names, &hints, &"t.csv".into()).unwrap()
    }

    fn properties(plan: &TablePlan) -> Vec<&str> {
        plan.columns.iter().flatten().map(|p| &*p.name).collect()
    }

    fn refused(header: &str, hints: &TableHints) -> String {
        let names: Vec<String> = header.split(',').map(str::to_owned).collect();
        plan_table(&names, hints, &"t.csv".into()).unwrap_err().to_string()
    }

    #[test]
    fn the_id_of_a_plain_table_is_its_key() {
        let hints = TableHints { label: Some("Person".into()), ..TableHints::default() };
        let by_name = plan("name,id,label", hints.clone());
        assert_eq!((by_name.kind, by_name.parts.id, by_name.key.as_deref()), (ElementKind::Vertex, Some(1), Some("id")));
        assert_eq!(properties(&by_name), ["name", "label"], "it is stored once");
        let told = plan("code,id", TableHints { key: Some("code".into()), ..hints.clone() });
        assert_eq!((told.parts.id, told.key.as_deref(), properties(&told)), (Some(0), Some("code"), vec!["id"]));
        let known = TableHints { known_key: Some("code".into()), ..hints.clone() };
        assert_eq!(plan("id,code", known.clone()).parts.id, Some(1));
        assert!(refused("id,name", &known).contains("the key of Person is `code`, but this table has no such column"));
        let none = refused("code,name", &hints);
        assert!(none.contains("none is called `id`") && none.contains("--key Person:code"), "{none}");
        assert_eq!(plan("~id,name", hints.clone()).key, None, "that is no name of a property");
        assert_eq!(plan("id:string,name", hints.clone()).id_type, IdType::String);
        assert!(refused("id:double,name", &hints).contains("this column has the type double"));
        let unnamed = plan("id,label", TableHints { stem: "people".into(), ..TableHints::default() });
        assert_eq!(unnamed.label, LabelRule::Column { index: 1, delimiter: ';', default: "people".into() });
    }

    #[test]
    fn a_plain_table_of_edges_has_ends_by_name() {
        let hints = |kind| TableHints { kind, stem: "knows".into(), ..TableHints::default() };
        let ends = |header: &str, kind| {
            let plan = plan(header, hints(kind));
            (plan.kind, plan.parts.source, plan.parts.target)
        };
        let edge = Some(ElementKind::Edge);
        assert_eq!(ends("since,to,from", None), (ElementKind::Edge, Some(2), Some(1)));
        assert_eq!(ends("w,source_id,target_id", edge), (ElementKind::Edge, Some(1), Some(2)));
        assert_eq!(ends("FromNodeId,ToNodeId", None), (ElementKind::Edge, Some(0), Some(1)));
        assert_eq!(ends("from,dst,src", edge), (ElementKind::Edge, Some(2), Some(1)), "a whole pair goes first");
        let two = plan("user,follows", hints(edge));
        assert_eq!((two.parts.source, two.parts.target), (Some(0), Some(1)));
        assert!(two.warnings[0].contains("edges go from `user` to `follows`"), "{:?}", two.warnings);
        assert!(refused("a,b,w", &hints(edge)).contains("needs a source and a target column"));
        assert!(refused("a,b,source", &hints(edge)).contains("needs a target column"));
    }

    #[test]
    fn a_mapping_renames_types_and_leaves_out() {
        let typed = ColumnMapping { name: Some("year".into()), column_type: None, ignore: false };
        let out = ColumnMapping { ignore: true, ..ColumnMapping::default() };
        let mapping = TableMapping {
            id: Some("code".into()),
            properties: vec![("y".into(), typed), ("junk".into(), out)],
            ..TableMapping::default()
        };
        let hints = TableHints { mapping: Some(Arc::new(mapping)), stem: "t".into(), ..TableHints::default() };
        let made = plan("y,junk,code", hints.clone());
        assert_eq!((made.parts.id, made.key.as_deref(), properties(&made)), (Some(2), Some("code"), vec!["year"]));
        let missing = plan_table(&["x".into(), "codes".into()], &hints, &"t.csv".into()).unwrap_err().to_string();
        assert!(missing.contains("no column `code` (did you mean `codes`?)"), "{missing}");
    }

    #[test]
    fn columns_of_one_name_are_refused() {
        let names = ["id".to_owned(), "a".into(), "a".into()];
        let error = plan_table(&names, &TableHints::default(), &"t.csv".into()).unwrap_err();
        assert!(error.to_string().contains("two columns give the property `a`"));
    }
}
