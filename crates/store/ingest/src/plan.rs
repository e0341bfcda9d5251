//! How the columns of a table are read: what its header, its name, the options and a mapping say, made one.
//!
//! | | vertices | edges |
//! |---|---|---|
//! | Neo4j | `id:ID(Space)`, `:LABEL` | `:START_ID(Space)`, `:END_ID(Space)`, `:TYPE` |
//! | Neptune | `~id`, `~label` | `~id`, `~from`, `~to`, `~label` |
//! | plain | `id`/`~id`, else the first; stays a property | `src`/`source`/`from`/`~from`, `dst`/`target`/`to`/`~to`, else the first two |

use std::sync::Arc;

use mangrove_graph::{ElementKind, LabelSchema, Schema};

use crate::column::ColumnType;
use crate::error::{LoadError, Place};
use crate::header::{self, Style};
use crate::infer::Inferred;
use crate::rows::{IdType, PartFields, Scope};

/// How one table is read.
#[derive(Clone, Debug)]
pub struct TablePlan {
    pub kind: ElementKind,
    pub label: LabelRule,
    /// The columns that hold ids.
    pub parts: PartFields,
    pub id_type: IdType,
    pub source_scope: Scope,
    pub target_scope: Scope,
    /// The Neo4j ID space of vertices.
    pub space: Option<Arc<str>>,
    /// What becomes of each column beside.
    pub columns: Vec<Option<PropertyPlan>>,
    pub names: Vec<Arc<str>>,
    pub array_delimiter: u8,
    /// The property the header marks as the time of edges.
    pub edge_time: Option<String>,
}

impl TablePlan {
    /// What the graph knows of the label all rows have, if it is one.
    pub fn fixed_label<'s>(&self, schema: &'s Schema) -> Option<&'s LabelSchema> {
        let LabelRule::Fixed(label) = &self.label else { return None };
        schema.label(self.kind, label).and_then(|id| schema.label_schema(self.kind, id))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum LabelRule {
    Fixed(Arc<str>),
    /// The label column, the delimiter between several labels, and the label of rows that have none.
    Column {
        index: usize,
        delimiter: char,
        default: Arc<str>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct PropertyPlan {
    pub name: Arc<str>,
    pub column_type: ColumnType,
}

/// What is known of a table before its header is seen.
#[derive(Clone, Debug, Default)]
pub struct TableHints {
    /// From `--nodes` or `--edges`, a mapping, or the table's place in a call.
    pub kind: Option<ElementKind>,
    pub label: Option<Arc<str>>,
    pub source: Option<Arc<str>>,
    pub target: Option<Arc<str>>,
    /// The label of last resort.
    pub stem: String,
    pub mapping: Option<Arc<TableMapping>>,
}

/// What a mapping file says of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableMapping {
    pub id: Option<String>,
    pub id_type: Option<IdType>,
    pub label_column: Option<String>,
    pub source: Option<String>,
    pub target: Option<String>,
    pub time: Option<String>,
    pub properties: Vec<(String, ColumnMapping)>,
    /// The names of the columns of a file without a header line.
    pub columns: Option<Vec<String>>,
    /// Columns not listed among the properties are left out.
    pub only_listed: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnMapping {
    pub name: Option<Arc<str>>,
    pub column_type: Option<ColumnType>,
    pub ignore: bool,
}

/// The plan of a table with these column names. Columns without a declared type are inferred, starting from nothing.
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
const SOURCE_NAMES: [&str; 4] = ["src", "source", "from", "~from"];
const TARGET_NAMES: [&str; 4] = ["dst", "target", "to", "~to"];

fn plan_plain(names: &[String], hints: &TableHints, file: &Arc<str>) -> Result<TablePlan, LoadError> {
    let typed: Vec<(String, Option<ColumnType>)> = names.iter().map(|name| header::plain_name(name)).collect();
    let bare: Vec<String> = typed.iter().map(|(name, _)| name.clone()).collect();
    let mapped = |column: &Option<String>| -> Result<Option<usize>, LoadError> {
        column.as_deref().map(|column| find_column(names, column, file)).transpose()
    };
    let mapping = hints.mapping.clone().unwrap_or_default();
    let source = mapped(&mapping.source)?.or_else(|| position(&bare, &SOURCE_NAMES));
    let target = mapped(&mapping.target)?.or_else(|| position(&bare, &TARGET_NAMES));
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
    let parts = match kind {
        ElementKind::Vertex => {
            let id = mapped(&mapping.id)?.or_else(|| position(&bare, &ID_NAMES)).unwrap_or(0);
            PartFields { id: Some(id), source: None, target: None }
        }
        ElementKind::Edge => {
            let (source, target) = ends(source, target, names, file)?;
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
        id_type: mapping.id_type.unwrap_or_default(),
        source_scope: hints.source.clone().map_or(Scope::Any, Scope::Label),
        target_scope: hints.target.clone().map_or(Scope::Any, Scope::Label),
        space: None,
        columns,
        names: bare.iter().map(|name| name.as_str().into()).collect(),
        array_delimiter: b';',
        edge_time: None,
    })
}

/// The columns of an edge's two ends: those named so, else the first two that are left.
fn ends(
    source: Option<usize>,
    target: Option<usize>,
    names: &[String],
    file: &Arc<str>,
) -> Result<(usize, usize), LoadError> {
    let mut free = (0..names.len()).filter(|at| Some(*at) != source && Some(*at) != target);
    let source = source.or_else(|| free.next());
    match (source, target.or_else(|| free.next())) {
        (Some(source), Some(target)) if source != target => Ok((source, target)),
        _ => Err(LoadError::format(
            Place::at(file, 1, 1),
            format!("a table of edges needs a source and a target column; this one has {}", listed(names)),
        )),
    }
}

/// A table without a given label is labelled by its column `label` or `~label`, else after its file.
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
        let hint = near.filter(|near| strsim::jaro(near, column) > 0.7).map(|near| format!(", did you mean `{near}`?"));
        let reason = format!("no column `{column}`{}; there are {}", hint.unwrap_or_default(), listed(names));
        LoadError::format(Place::at(file, 1, 1), reason)
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
    }
    for (column, wish) in &mapping.properties {
        let at = find_column(names, column, file)?;
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

/// Two columns of one name would overwrite each other.
fn check_names(plan: &TablePlan, file: &Arc<str>) -> Result<(), LoadError> {
    let mut seen = hashbrown::HashSet::new();
    for property in plan.columns.iter().flatten() {
        let reason = if property.name.is_empty() {
            "a column without a name; name it in the header, or leave it out with a mapping".to_owned()
        } else if !seen.insert(property.name.clone()) {
            format!("two columns give the property `{}`; rename one, or leave it out with a mapping", property.name)
        } else {
            continue;
        };
        return Err(LoadError::format(Place::at(file, 1, 1), reason));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(header: &str, hints: TableHints) -> TablePlan {
        let names: Vec<String> = header.split(',').map(str::to_owned).collect();
        plan_table(&names, &hints, &"t.csv".into()).unwrap()
    }

    fn properties(plan: &TablePlan) -> Vec<&str> {
        plan.columns.iter().flatten().map(|p| &*p.name).collect()
    }

    #[test]
    fn a_plain_table_of_vertices_keeps_its_id_as_a_property() {
        let hints = TableHints { label: Some("Person".into()), ..TableHints::default() };
        let by_name = plan("name,id,label", hints.clone());
        assert_eq!((by_name.kind, by_name.parts.id), (ElementKind::Vertex, Some(1)));
        assert_eq!(properties(&by_name), ["name", "id", "label"]);
        assert_eq!(plan("code,name", hints).parts.id, Some(0));
        let unnamed = plan("id,label", TableHints { stem: "people".into(), ..TableHints::default() });
        assert_eq!(unnamed.label, LabelRule::Column { index: 1, delimiter: ';', default: "people".into() });
    }

    #[test]
    fn a_plain_table_of_edges_has_ends_by_name_or_by_place() {
        let ends = |header: &str, kind| {
            let plan = plan(header, TableHints { kind, stem: "knows".into(), ..TableHints::default() });
            (plan.kind, plan.parts.source, plan.parts.target)
        };
        assert_eq!(ends("since,to,from", None), (ElementKind::Edge, Some(2), Some(1)));
        assert_eq!(ends("a,b,w", Some(ElementKind::Edge)), (ElementKind::Edge, Some(0), Some(1)));
        assert_eq!(ends("a,b,source", Some(ElementKind::Edge)), (ElementKind::Edge, Some(2), Some(0)));
        assert_eq!(ends("a,b,w", None).0, ElementKind::Vertex);
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
        assert_eq!((made.parts.id, properties(&made)), (Some(2), vec!["year", "code"]));
        let missing = plan_table(&["x".into(), "codes".into()], &hints, &"t.csv".into()).unwrap_err().to_string();
        assert!(missing.contains("no column `code`, did you mean `codes`?"), "{missing}");
    }

    #[test]
    fn columns_of_one_name_are_refused() {
        let names = ["id".to_owned(), "a".into(), "a".into()];
        let error = plan_table(&names, &TableHints::default(), &"t.csv".into()).unwrap_err();
        assert!(error.to_string().contains("two columns give the property `a`"));
    }
}
