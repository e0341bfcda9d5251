//! Writes a mapping that describes how a load would read its files, for the user to edit.

use std::collections::BTreeMap;
use std::path::Path;

use mangrove_graph::{ElementKind, IdSpace, Schema};

use super::{Job, TableReader, plan_files};
use crate::batches::rows::Scope;
use crate::error::LoadError;
use crate::terms::options::LoadOptions;
use crate::text::mapping_text::{TableText, put_tables, quoted};

/// Writes the mapping to a file that does not exist yet. Loads nothing. Paths below the mapping's directory are relative to it. What
/// cannot be read gets a comment that says why. Returns the number of files described.
pub fn write_mapping(options: &LoadOptions, schema: &Schema, path: &Path) -> Result<usize, LoadError> {
    if !options.tables.is_empty() {
        return Err(LoadError::options(
            "a mapping describes files that Mangrove reads itself, not tables in memory or files that another library reads",
        ));
    }
    let failed = |source| LoadError::Read { file: path.display().to_string().into(), source };
    let base = std::path::absolute(path).map_err(failed)?;
    let base = base.parent().unwrap_or(Path::new("/"));
    let (mut jobs, mut whole, mut tables, mut unread) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (file, planned) in plan_files(options, &options.mappings()?, schema)? {
        let file = std::path::absolute(&file).map_err(failed)?;
        let file = file.strip_prefix(base).unwrap_or(&file).to_string_lossy().into_owned();
        let job = match planned {
            Ok(job) => job,
            Err(error) => {
                unread.push(error.to_string());
                continue;
            }
        };
        match job.described(file) {
            Ok(table) => tables.push(table),
            Err(file) => whole.push(quoted(&file)),
        }
        jobs.push(job);
    }
    if jobs.is_empty() {
        return Err(LoadError::options(unread.into_iter().next().unwrap_or_else(|| "no files to describe".into())));
    }
    let mut text =
        String::from("# This is what was detected in the files. Edit it, then run: mangrove load DB --mapping THIS_FILE\n");
    for error in unread {
        let lines: Vec<&str> = error.lines().collect();
        text += &format!("# left out: {}\n", lines.join("\n#   "));
    }
    if !whole.is_empty() {
        text += &format!("files: [{}]\n", whole.join(", "));
    }
    put_tables(&tables, &mut text);
    put_declarations(options, schema, &jobs, &mut text);
    let mut new = std::fs::File::create_new(path).map_err(failed)?;
    std::io::Write::write_all(&mut new, text.as_bytes()).map_err(failed)?;
    Ok(jobs.len())
}

/// Writes what the options say about the graph itself: its id space, indexes and encodings.
fn put_declarations(options: &LoadOptions, schema: &Schema, jobs: &[Job], out: &mut String) {
    let mut labels: BTreeMap<(ElementKind, &str), BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for (wanted, what) in [(&options.indexes, "index: true"), (&options.searchable, "encoding: searchable")] {
        for (label, key) in wanted.iter().filter_map(|wanted| wanted.split_once('.')) {
            // A label that no file of edges has is one of vertices, which edges may create.
            let kind =
                if jobs.iter().any(|job| job.may_have_edges(label)) { ElementKind::Edge } else { ElementKind::Vertex };
            labels.entry((kind, label)).or_default().entry(key).or_default().push(what);
        }
    }
    if labels.is_empty() && schema.id_space == IdSpace::Graph {
        return;
    }
    out.push_str("schema:\n");
    if schema.id_space == IdSpace::Label {
        out.push_str("  id_space: label\n");
    }
    for kind in ElementKind::ALL {
        let mut of_kind = labels.iter().filter(|((of, _), _)| *of == kind).peekable();
        if of_kind.peek().is_some() {
            out.push_str(&format!("  {}:\n", kind.plural()));
        }
        for ((_, label), properties) in of_kind {
            out.push_str(&format!("    {}:\n      properties:\n", quoted(label)));
            for (key, what) in properties {
                out.push_str(&format!("        {}: {{{}}}\n", quoted(key), what.join(", ")));
            }
        }
    }
}

impl Job {
    /// Whether the file may have edges of a label.
    fn may_have_edges(&self, label: &str) -> bool {
        match &self.reader {
            TableReader::EdgeList(list) => *list.label == *label,
            _ => self.plan().is_some_and(|plan| plan.kind == ElementKind::Edge && plan.label.may_be(label)),
        }
    }

    /// The entry of the file in a mapping. Only its name if it is no table.
    fn described(&self, file: String) -> Result<TableText, String> {
        let (plan, csv) = match &self.reader {
            TableReader::Csv(table) => (&table.plan, Some(table)),
            TableReader::Parquet(plan) | TableReader::Jsonl(plan) => (&**plan, None),
            TableReader::Table(table) => (&table.1, None),
            TableReader::EdgeList(list) => return Ok(list.described(&file)),
            TableReader::GraphMl(_) | TableReader::GraphSon => return Err(file),
        };
        let mut entry = plan.described(&file);
        if let Some(csv) = csv {
            csv.describe(&mut entry);
        }
        if let TableReader::Jsonl(_) = &self.reader {
            entry.text("format", "jsonl");
        }
        if let Some(encoding) = self.source.encoding {
            entry.text("encoding", encoding.name());
        }
        if plan.kind == ElementKind::Edge {
            let has_column = |name: &&str| plan.columns.iter().flatten().any(|property| *property.name == **name);
            if let Some(time) = self.edge_time.as_deref().filter(has_column) {
                entry.text("time", time);
            }
            for (end, scope) in [("source_label", &plan.source_scope), ("target_label", &plan.target_scope)] {
                if *scope == Scope::Any {
                    entry.notes.push(format!("{end}: LABEL    # if ids are unique only within labels"));
                }
            }
        }
        Ok(entry)
    }
}
