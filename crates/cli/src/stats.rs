//! `mangrove stats`: shows what a database holds.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use comfy_table::{Cell, CellAlignment};
use mangrove::about;
use mangrove::graph::{ElementKind, GraphView, IndexSchema, LabelSchema, PropertyId, PropertySchema};
use serde_json::{Value as Json, json};

use super::progress::Bar;
use super::{Failure, grouped, open_reading, output};
use mangrove::compressed::compressed;
use mangrove::{Database, Encoding, IdSpace, Layout, LayoutOptions, LayoutReport, OldSnapshot, StoreError};

/// Show counts by label, properties, indexes and sizes
#[derive(Args)]
pub struct Stats {
    /// Directory of the database
    db: PathBuf,
    /// Also measure what each other layout would give. For up to 200,000 vertices and edges this is done in any case. The order as it is
    /// is measured for up to 4,000,000
    #[arg(long)]
    layouts: bool,
    /// Write the answer in this format
    #[arg(long, value_enum, default_value = "table")]
    format: StatsFormat,
}

/// With more vertices and edges, what other layouts would give is measured only if asked for.
const COMPARED_MAX: u64 = 200_000;
/// The same for the order as it is.
const MEASURED_MAX: u64 = 4_000_000;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StatsFormat {
    Table,
    Json,
}

impl Stats {
    pub fn run(self) -> Result<(), Failure> {
        let database = open_reading(&self.db)?;
        match self.format {
            StatsFormat::Json => output::print_text(&self.as_json(&database)?.to_string()),
            StatsFormat::Table => {
                let view = database.snapshot()?;
                let texts =
                    [counts(&*view)? + &sizes(&database)?, schema(&*view), segment(&database)?, self.layouts(&database)?];
                output::print_text(&texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n"))
            }
        }
    }

    /// What the order of vertices and each layout is worth; `None` if that was not asked for and takes long, or if there are no edges.
    fn measured(&self, database: &Database) -> Result<Option<Vec<LayoutReport>>, Failure> {
        let (schema, counts) = about::read(database)?;
        let [vertices, edges] = ElementKind::ALL.map(|kind| about::total(&schema, &counts, kind));
        let layouts = match vertices + edges {
            _ if edges == 0 => return Ok(None),
            all if all <= COMPARED_MAX || self.layouts => &Layout::ALL[..],
            all if all <= MEASURED_MAX => &[Layout::None],
            _ => return Ok(None),
        };
        Ok(Some(database.layouts(layouts, &LayoutOptions::default(), &mut Bar::new(false))?))
    }

    /// The order of vertices, and what each layout would give.
    fn layouts(&self, database: &Database) -> Result<String, Failure> {
        let name = database.stats()?.layout.map_or_else(|| "as loaded".to_owned(), |name| format!("{name}, at the load"));
        let Some(measured) = self.measured(database)? else {
            let hint = if self.layouts { "there are no edges to measure it by" } else { "--layouts measures it" };
            return Ok(format!("layout: {name}; {hint}\n"));
        };
        let hint = if measured.len() == 1 { "--layouts measures what others would give\n" } else { "" };
        let mut table = mangrove::show::drawing();
        table.set_header(["layout", "cost", "distance", "bits/edge", "blocks/list"]);
        for LayoutReport { layout, after, .. } in measured {
            table.add_row([
                Cell::new(if layout == Layout::None { "(now)" } else { layout.name() }),
                number(after.cost as u64),
                number(after.distance() as u64),
                Cell::new(format!("{:.2}", after.bits_per_entry())).set_alignment(CellAlignment::Right),
                Cell::new(format!("{:.2}", after.blocks_per_list())).set_alignment(CellAlignment::Right),
            ]);
        }
        Ok(format!("layout: {name}\n{table}\n{hint}"))
    }

    fn as_json(&self, database: &Database) -> Result<Json, Failure> {
        let mut json = about::about(database)?;
        json["layout"] = json!({
            "name": database.stats()?.layout,
            "measures": self.measured(database)?.map(|reports| {
                let measures = |report: &LayoutReport| {
                    let name = if report.layout == Layout::None { "now" } else { report.layout.name() };
                    let after = report.after;
                    (name.to_owned(), json!({
                        "cost": after.cost,
                        "distance": after.distance(),
                        "bitsPerEdge": after.bits_per_entry(),
                        "blocksPerList": after.blocks_per_list(),
                    }))
                };
                Json::Object(reports.iter().map(measures).collect())
            }),
        });
        Ok(json)
    }
}

/// Counts by label.
pub fn counts(view: &dyn GraphView) -> Result<String, Failure> {
    let (schema, counts) = (view.schema(), view.statistics().map_err(StoreError::from)?);
    let mut table = mangrove::show::drawing();
    table.set_header(["", "label", "count"]);
    for kind in ElementKind::ALL {
        for (label, count) in about::labels(schema, &counts, kind) {
            table.add_row([Cell::new(kind.name()), Cell::new(&label.name), number(count)]);
        }
        table.add_row([Cell::new(kind.name()), Cell::new("(all)"), number(about::total(schema, &counts, kind))]);
    }
    Ok(format!("{table}\n"))
}

/// The size of the database on disk, and the reader that prevents the reuse of pages.
pub fn sizes(database: &Database) -> Result<String, Failure> {
    let stats = database.stats()?;
    let disk = indicatif::HumanBytes(stats.disk_bytes());
    let sealed = indicatif::HumanBytes(stats.segment_bytes());
    let segments = match stats.segments.len() {
        0 | 1 => String::new(),
        n => format!(" in {n} segments"),
    };
    let free = indicatif::HumanBytes(stats.space.free_bytes);
    let oldest = stats.space.oldest.as_ref().map(old_snapshot).unwrap_or_default();
    Ok(format!("{disk} on disk, {sealed} of it compressed{segments}; {free} of the tables free\n{oldest}"))
}

/// Names the reader that prevents the reuse of pages.
fn old_snapshot(oldest: &OldSnapshot) -> String {
    let command = oldest.command.as_ref().map(|command| format!(" (`{command}`)")).unwrap_or_default();
    let age = indicatif::HumanDuration(oldest.age);
    let pinned = indicatif::HumanBytes(oldest.pinned_bytes);
    format!(
        "the oldest snapshot, in process {}{command}, has been outdated for {age} and keeps {pinned} from \
             reuse\n",
        oldest.process
    )
}

/// Properties by label, and indexes.
pub fn schema(view: &dyn GraphView) -> String {
    let schema = view.schema();
    let mut table = mangrove::show::drawing();
    table.set_header(["", "label", "property", "type", "values", "index"]);
    for kind in ElementKind::ALL {
        for (id, label) in schema.known_labels(kind) {
            for property in label.known_properties() {
                let of = PropertyId { kind, label: id, key: property.key };
                table.add_row([
                    kind.name().to_owned(),
                    label.name.to_string(),
                    schema.key_name(property.key).to_string(),
                    types(property),
                    notes(label, property),
                    schema.index(of).map_or("", index).to_owned(),
                ]);
            }
        }
    }
    let mut text = if table.is_empty() { "no properties\n".to_owned() } else { format!("{table}\n") };
    for label in &schema.edge_labels {
        for (source, target) in &label.ends {
            let end = |id| schema.label_name(ElementKind::Vertex, id);
            text.push_str(&format!("({})-[{}]->({})\n", end(*source), label.name, end(*target)));
        }
    }
    if schema.id_space == IdSpace::Label {
        text.push_str("ids are unique within a label; T.id is Label/id\n");
    }
    text
}

fn number(count: u64) -> Cell {
    Cell::new(grouped(count)).set_alignment(CellAlignment::Right)
}

/// What takes space in the compressed part, if there is one.
fn segment(database: &Database) -> Result<String, Failure> {
    let (schema, _) = about::read(database)?;
    let parts = database.stats()?.parts;
    if parts.is_empty() {
        return Ok(String::new());
    }
    let mut table = mangrove::show::drawing();
    table.set_header(["", "label", "compressed", "bytes", "as"]);
    for part in compressed(&schema, &parts) {
        table.add_row([
            Cell::new(part.of),
            Cell::new(part.label.unwrap_or_default()),
            Cell::new(part.part),
            number(part.bytes),
            Cell::new(part.form.unwrap_or_default()),
        ]);
    }
    Ok(format!("{table}\n"))
}

fn types(property: &PropertySchema) -> String {
    match property.declared {
        Some(declared) => format!("{declared} (declared)"),
        None => property.types.iter().map(|t| t.name()).collect::<Vec<_>>().join(", "),
    }
}

/// What the table says of an index.
fn index(index: &IndexSchema) -> &'static str {
    match (index.unique, index.routed) {
        (true, true) => "unique, routed",
        (true, false) => "unique",
        (false, true) => "routed",
        (false, false) => "yes",
    }
}

fn notes(label: &LabelSchema, property: &PropertySchema) -> String {
    let mut notes = vec![property.cardinality.name().to_owned()];
    if property.has_meta {
        notes.push("with properties".into());
    }
    if label.time == Some(property.key) {
        notes.push("orders the edges".into());
    }
    if property.encoding != Encoding::Auto {
        notes.push(format!("encoded as {}", property.encoding));
    }
    notes.join(", ")
}
