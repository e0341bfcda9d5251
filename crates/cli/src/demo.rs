//! `mangrove demo`: makes a small sample graph (islands, ferries and the people on them) to try queries on.

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::Args;

use super::{Failure, counted, output, say};
use mangrove::ingest::Quiet;
use mangrove::{Database, LoadOptions};

/// Create a small sample database and show queries to try on it
#[derive(Args)]
pub struct Demo {
    /// Create the database in this directory
    #[arg(default_value = "demo.mg")]
    dir: PathBuf,
}

const FILES: [(&str, &str); 4] = [
    ("islands.csv", include_str!("demo/islands.csv")),
    ("boats.csv", include_str!("demo/boats.csv")),
    ("people.csv", include_str!("demo/people.csv")),
    ("edges.csv", include_str!("demo/edges.csv")),
];

/// Queries, and the question that each answers.
const QUERIES: [(&str, &str); 6] = [
    (
        "the largest islands",
        "g.V().hasLabel('island').order().by('population', desc).limit(3).valueMap('name', 'population')",
    ),
    (
        "where ferries go from Arroyo",
        "g.V().has('island', 'name', 'Arroyo').outE('ferry').project('to', 'minutes').by(inV().values('name')).by('minutes')",
    ),
    (
        "who lives on the island of the harbour South Cove",
        "g.V().has('island', 'harbours', 'South Cove').in('lives_on').values('name')",
    ),
    (
        "people known to people Ana knows",
        "g.V().has('person', 'name', 'Ana').out('knows').out('knows').dedup().values('name')",
    ),
    ("how many people live where", "g.V().hasLabel('person').out('lives_on').groupCount().by('name').unfold()"),
    (
        "ferries from Jetsam to Coral Head",
        "g.V().has('name', 'Jetsam').repeat(out('ferry').simplePath()).until(has('name', 'Coral Head')).path().by('name').limit(1)",
    ),
];

impl Demo {
    pub fn run(self) -> Result<(), Failure> {
        let occupied = fs::read_dir(&self.dir).is_ok_and(|mut entries| entries.next().is_some());
        if occupied {
            return Err(Failure::Request(format!(
                "{} exists already and is not empty; name another directory, as in `mangrove demo other.mg`",
                self.dir.display()
            )));
        }
        let database = Database::open(&self.dir)?;
        let report = load(&database)?;
        say(&format!(
            "made {} of {} and {}: islands, ferries, boats and people",
            self.dir.display(),
            counted(report.vertex_count(), "vertex", "vertices"),
            counted(report.edge_count(), "edge", "edges")
        ));
        output::print_text(&suggestions(&self.dir))
    }
}

fn load(database: &Database) -> Result<mangrove::LoadReport, Failure> {
    // The name is unpredictable. Dropping the handle removes the directory.
    let directory = tempfile::Builder::new().prefix("mangrove-demo-").tempdir();
    let written = directory.and_then(|directory| Ok((write_files(directory.path())?, directory)));
    let (files, _directory) =
        written.map_err(|error| Failure::Request(format!("cannot write the demo's files: {error}")))?;
    Ok(database.load(&LoadOptions { files, ..LoadOptions::default() }, &mut Quiet)?)
}

fn write_files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::with_capacity(FILES.len());
    for (name, content) in FILES {
        paths.push(directory.join(name));
        fs::write(directory.join(name), content)?;
    }
    Ok(paths)
}

fn suggestions(path: &Path) -> String {
    let mut text = String::from("Try:\n");
    for (question, query) in QUERIES {
        text.push_str(&format!("\n# {question}\nmangrove query {} \"{query}\"\n", path.display()));
    }
    text.push_str(&format!("\n# your own queries\nmangrove shell {}\n", path.display()));
    text
}
