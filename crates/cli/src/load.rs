//! `mangrove load`: loads files into a graph.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, ValueEnum};

use super::merging::MergeOptions;
use super::progress::Bar;
use super::relayout::{Order, worth};
use mangrove::is_description;

use super::{Failure, counted, grouped, query, say, warn};
use mangrove::graph::Schema;
use mangrove::ingest::{self, EdgeFiles, KeyColumn, Merged, NodeFiles};
use mangrove::readers::{Readers, read_files};
use mangrove::{Database, Durability, IdSpace, Layout, LayoutReport, LoadOptions, LoadReport, OpenOptions};

/// Load files into a database; create the database if it does not exist
#[derive(Args)]
pub struct Load {
    /// Directory of the database
    db: PathBuf,
    /// Load these files, globs or directories; the header of each file says what it holds. NAME.graph.yml loads a GraphAr directory
    files: Vec<PathBuf>,
    /// Read the files in this format; auto looks at the content, then at the extension
    #[arg(long, value_enum, default_value = "auto")]
    format: InputFormat,
    /// Load vertices of one label from a file, glob or list; the ids are in the column `id` or the one --key names
    #[arg(long, value_name = "LABEL=FILE")]
    nodes: Vec<String>,
    /// Load edges from SRC to DST vertices; the file has the columns src/source/from and dst/target/to
    #[arg(long, value_name = "SRC:LABEL:DST=FILE")]
    edges: Vec<String>,
    /// Take the ids of a label's vertices from this column; default: id
    #[arg(long, value_name = "LABEL:COLUMN")]
    key: Vec<String>,
    #[command(flatten)]
    merge: MergeOptions,
    /// Read the files as this mapping describes, for what headers and names do not say
    #[arg(long, value_name = "FILE.yaml")]
    mapping: Option<PathBuf>,
    /// Write how the files would be read to a mapping that you can edit; load nothing
    #[arg(long, value_name = "FILE.yaml")]
    write_mapping: Option<PathBuf>,
    /// Split the fields of CSV files at this character, or `tab`; default: detect it
    #[arg(long, value_name = "CHAR", value_parser = one_byte)]
    delimiter: Option<u8>,
    /// Treat this text in CSV files as no value unless it is in quotes, for example NA
    #[arg(long, value_name = "TEXT")]
    null: Vec<String>,
    /// Read text in this encoding, for example latin1; default: utf-8
    #[arg(long, value_name = "NAME")]
    encoding: Option<String>,
    /// Make ids unique in the graph or within their label; fixed when the database is created; default: graph
    #[arg(long, value_enum)]
    id_space: Option<Space>,
    /// Order the edges of a vertex by the value of this column
    #[arg(long, value_name = "COLUMN")]
    edge_time: Option<String>,
    /// If a row cannot be loaded: fail (stop, leave the database as it was) or skip (load the rest)
    #[arg(long, value_enum, default_value = "fail")]
    on_error: OnError,
    /// Write skipped rows, with the reasons, to this file; default: DB.rejects.csv
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,
    /// Fail after more than N skipped rows; default: no limit
    #[arg(long, value_name = "N")]
    max_rejects: Option<u64>,
    /// Do not wait for the disk: faster on slow disks, but a system crash may damage the database (a crash of the command cannot)
    #[arg(long)]
    relaxed: bool,
    /// Compress the loaded data into a segment; auto: if the database was empty and the load is larger than 16 MB
    #[arg(long, value_enum, default_value = "auto")]
    compact: WhenCompact,
    /// Store this text so that substring search needs no index: LABEL.KEY, or all
    #[arg(long, value_name = "LABEL.KEY")]
    searchable: Vec<String>,
    /// Create an index on this vertex property after the load: LABEL.KEY
    #[arg(long, value_name = "LABEL.KEY")]
    index: Vec<String>,
    #[command(flatten)]
    order: Order,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum InputFormat {
    Auto,
    Csv,
    Parquet,
    Jsonl,
    Graphml,
    Graphson,
    Edgelist,
}

#[derive(Clone, Copy, ValueEnum)]
enum WhenCompact {
    Auto,
    Yes,
    No,
}

#[derive(Clone, Copy, ValueEnum)]
enum Space {
    Graph,
    Label,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum OnError {
    Fail,
    Skip,
}

fn one_byte(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        b"tab" | b"\\t" => Ok(b'\t'),
        _ => Err("expected one character, or `tab`".into()),
    }
}

impl Load {
    pub fn run(&self, readers: &dyn Readers<String>) -> Result<(), Failure> {
        if let [file] = &self.files[..]
            && is_description(file)
        {
            return self.run_lake(file);
        }
        let mut options = self.options()?;
        read_files(&mut options, readers).map_err(Failure::Request)?;
        if let Some(path) = &self.write_mapping {
            return self.write(path, &options);
        }
        let id_space = options.id_space().map_err(mangrove::LoadError::from)?;
        let layout = self.order.options(Layout::None)?;
        self.load(id_space, |database, bar| database.load_in_order(&options, &layout, bar))
    }

    /// Copies a graph in open files.
    fn run_lake(&self, file: &Path) -> Result<(), Failure> {
        let lists = [&self.nodes, &self.edges, &self.key, &self.null, &self.searchable, &self.index];
        let files = [&self.mapping, &self.write_mapping, &self.rejects];
        let is_default = lists.iter().all(|given| given.is_empty())
            && files.iter().all(|given| given.is_none())
            && matches!((self.format, self.compact), (InputFormat::Auto, WhenCompact::Auto))
            && self.merge.is_default()
            && self.on_error == OnError::Fail
            && [&self.edge_time, &self.encoding].iter().all(|given| given.is_none())
            && self.delimiter.is_none()
            && self.order.options(Layout::None)?.layout == Layout::None;
        if !is_default {
            let what = "a .yml file describes a graph in open files, and how to read them";
            let hint = "leave out all options but --id-space, --relaxed and --quiet";
            return Err(Failure::Usage(format!("{what}: {hint}")));
        }
        let id_space = Database::open_lake(file)?.schema()?.id_space;
        self.load(Some(id_space), |database, bar| Ok((database.load_lake(file, bar)?, None)))
    }

    /// Runs a load. `id_space` is what a new database gets unless the command names another.
    fn load(
        &self,
        id_space: Option<IdSpace>,
        load: impl FnOnce(&Database, &mut Bar) -> Result<(LoadReport, Option<LayoutReport>), mangrove::LoadError>,
    ) -> Result<(), Failure> {
        let made = !self.db.exists() && !super::is_address(&self.db);
        let database = self.open(id_space)?;
        let started = Instant::now();
        match load(&database, &mut Bar::new(self.quiet)) {
            Ok((report, ordered)) => {
                self.report(&report, started);
                ordered.iter().for_each(|ordered| say(&self.about(ordered)));
                Ok(())
            }
            Err(error) => {
                if made {
                    // An empty database would block another try. Remove it while this process holds its lock, so that nobody else
                    // can use it. An error here is ignored: why the load failed matters more than leftover files.
                    let _ = std::fs::remove_dir_all(&self.db);
                }
                drop(database);
                Err(error.into())
            }
        }
    }

    /// What an order is worth, or would be.
    fn about(&self, order: &LayoutReport) -> String {
        let Some(vertices) = order.sample else { return worth(order) };
        let (before, after) = (order.before.blocks_per_list(), order.after.blocks_per_list());
        let (layout, db) = (order.layout.name(), self.db.display());
        let vertices = counted(vertices as u64, "vertex", "vertices");
        format!(
            "another order would probably pay: on a sample of {vertices}, the neighbours of one are in {before:.1} blocks, and in {after:.1} \
             with --layout {layout}. Load with it, or run `mangrove relayout {db} DEST`"
        )
    }

    fn write(&self, path: &Path, options: &LoadOptions) -> Result<(), Failure> {
        let schema = match self.db.exists() {
            true => super::open_reading(&self.db)?.schema()?,
            false => Schema { id_space: self.id_space().unwrap_or_default(), ..Schema::default() }.into(),
        };
        let files = ingest::write_mapping(options, &schema, path).map_err(mangrove::LoadError::from)?;
        let how = format!("Edit it, then run: mangrove load {} --mapping {}", self.db.display(), path.display());
        say(&format!(
            "wrote a mapping of {} to {}; nothing was loaded. {how}",
            counted(files as u64, "file", "files"),
            path.display()
        ));
        Ok(())
    }

    fn report(&self, report: &LoadReport, started: Instant) {
        warn(&report.warnings);
        let took = started.elapsed();
        let (vertices, edges) = (report.vertex_count(), report.edge_count());
        let rate = (vertices + edges) as f64 / took.as_secs_f64().max(1e-3);
        say(&format!(
            "loaded {} and {} into {} in {} ({}/s)",
            counted(vertices, "vertex", "vertices"),
            counted(edges, "edge", "edges"),
            self.db.display(),
            query::elapsed(took),
            grouped(rate as u64),
        ));
        for (one, many, merged) in [("vertex", "vertices", report.merged_vertices), ("edge", "edges", report.merged_edges)] {
            let Merged { updated, unchanged, skipped } = merged;
            if merged != Merged::default() {
                say(&format!(
                    "{} existed already: {} updated, {} unchanged, {} skipped",
                    counted(updated + unchanged + skipped, one, many),
                    grouped(updated),
                    grouped(unchanged),
                    grouped(skipped)
                ));
            }
        }
        if let Some(rejects) = &report.rejects_file {
            say(&format!("skipped {}, with reasons in {}", counted(report.rejects, "row", "rows"), rejects.display()));
        }
    }

    fn options(&self) -> Result<LoadOptions, Failure> {
        let wrong = |error: ingest::LoadError| Failure::Usage(error.to_string());
        if self.rejects.is_some() && self.on_error == OnError::Fail {
            return Err(Failure::Usage("--rejects needs --on-error skip".into()));
        }
        if self.max_rejects.is_some() && self.on_error == OnError::Fail {
            return Err(Failure::Usage("--max-rejects needs --on-error skip".into()));
        }
        Ok(LoadOptions {
            format: match self.format {
                InputFormat::Auto => ingest::Format::Auto,
                InputFormat::Csv => ingest::Format::Csv,
                InputFormat::Parquet => ingest::Format::Parquet,
                InputFormat::Jsonl => ingest::Format::Jsonl,
                InputFormat::Graphml => ingest::Format::GraphMl,
                InputFormat::Graphson => ingest::Format::GraphSon,
                InputFormat::Edgelist => ingest::Format::EdgeList,
            },
            files: self.files.clone(),
            nodes: self.nodes.iter().map(|text| NodeFiles::parse(text)).collect::<Result<_, _>>().map_err(wrong)?,
            edges: self.edges.iter().map(|text| EdgeFiles::parse(text)).collect::<Result<_, _>>().map_err(wrong)?,
            mapping: self.mapping.clone(),
            delimiter: self.delimiter,
            nulls: self.null.clone(),
            encoding: self.encoding.clone(),
            edge_time: self.edge_time.clone(),
            compact: match self.compact {
                WhenCompact::Auto => None,
                WhenCompact::Yes => Some(true),
                WhenCompact::No => Some(false),
            },
            keys: self.key.iter().map(|text| KeyColumn::parse(text)).collect::<Result<_, _>>().map_err(wrong)?,
            merge: self.merge.merging(),
            rejects_max: self.max_rejects,
            searchable: self.searchable.clone(),
            indexes: self.index.clone(),
            on_error: match self.on_error {
                OnError::Fail => ingest::OnError::Fail,
                OnError::Skip => ingest::OnError::Skip { rejects: self.rejects_file() },
            },
            ..LoadOptions::default()
        })
    }

    fn id_space(&self) -> Option<IdSpace> {
        self.id_space.map(|space| match space {
            Space::Graph => IdSpace::Graph,
            Space::Label => IdSpace::Label,
        })
    }

    fn rejects_file(&self) -> PathBuf {
        let beside = || {
            // Beside a graph on many nodes is here.
            if super::is_address(&self.db) {
                let graph = self.db.file_name().unwrap_or_default().to_string_lossy().into_owned();
                return PathBuf::from(format!("{graph}.rejects.csv"));
            }
            let mut name = self.db.as_os_str().to_owned();
            name.push(".rejects.csv");
            PathBuf::from(name)
        };
        self.rejects.clone().unwrap_or_else(beside)
    }

    fn open(&self, needed: Option<IdSpace>) -> Result<Database, Failure> {
        if let Some(database) = super::connected(&self.db, false) {
            return database;
        }
        // An export names the id space that it needs.
        let id_space = if self.db.exists() { self.id_space() } else { self.id_space().or(needed) };
        let durability = if self.relaxed { Durability::Relaxed } else { Durability::Full };
        Ok(Database::open_with(&self.db, &OpenOptions { durability, id_space, ..OpenOptions::default() })?)
    }
}
