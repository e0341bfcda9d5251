//! TinkerPop's own files: the features and the grateful graph, from its published test artifact.
//!
//! The repository contains nothing of TinkerPop. Maven fetches the artifact, verifies it, and unpacks the needed files into
//! `.cache` once.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use crate::gherkin::{self, Scenario};

const VERSION: &str = "3.8.1";
const PACKAGE: &str = "org/apache/tinkerpop/gremlin";

/// The unpacked artifact.
pub struct Suite {
    root: PathBuf,
}

/// Whether this machine has Maven.
pub fn has_maven() -> bool {
    Command::new("mvn").arg("--version").output().is_ok_and(|output| output.status.success())
}

impl Suite {
    /// The suite in `cache`. Fetches it if it is not there yet.
    pub fn open(cache: &Path) -> Result<Self, String> {
        let root = cache.join(format!("gremlin-test-{VERSION}"));
        if !root.exists() {
            eprintln!("fetching TinkerPop {VERSION}'s feature files with mvn …");
            fetch(cache, &root).or_else(|first| {
                eprintln!("{first}\ntrying once more …");
                fetch(cache, &root)
            })?;
        }
        Ok(Self { root })
    }

    /// Every scenario, by file name and position.
    pub fn scenarios(&self) -> Result<Vec<Scenario>, String> {
        let features = self.root.join(PACKAGE).join("test/features");
        let mut files = Vec::new();
        feature_files(&features, &mut files).map_err(|e| format!("{}: {e}", features.display()))?;
        let mut names: Vec<String> =
            files.iter().filter_map(|f| Some(f.strip_prefix(&features).ok()?.to_str()?.to_owned())).collect();
        names.sort();
        let mut scenarios = Vec::new();
        for name in names {
            scenarios.extend(gherkin::parse(&name, &read(&features.join(&name))?)?);
        }
        Ok(scenarios)
    }

    /// The grateful graph in GraphML.
    pub fn grateful(&self) -> Result<String, String> {
        read(&self.root.join(PACKAGE).join("structure/io/graphml/grateful-dead.xml"))
    }
}

/// Unpacks into a directory beside `root` first, so that `root` is always complete.
fn fetch(cache: &Path, root: &Path) -> Result<(), String> {
    let scratch = cache.join("fetching");
    let files = |e: io::Error| format!("{}: {e}", cache.display());
    if scratch.exists() {
        fs::remove_dir_all(&scratch).map_err(files)?;
    }
    fs::create_dir_all(&scratch).map_err(files)?;
    let output = Command::new("mvn")
        .args(["-q", "-B", "dependency:unpack", "-DoutputDirectory=unpacked"])
        .arg(format!("-Dartifact=org.apache.tinkerpop:gremlin-test:{VERSION}"))
        .arg("-Dmdep.unpack.includes=**/*.feature,**/graphml/grateful-dead.xml")
        .current_dir(&scratch)
        .output()
        .map_err(|e| format!("mvn cannot be run ({e}); install Maven"))?;
    if !output.status.success() {
        return Err(format!(
            "mvn could not fetch gremlin-test {VERSION}:\n{}",
            String::from_utf8_lossy(&output.stdout).trim()
        ));
    }
    fs::rename(scratch.join("unpacked"), root).map_err(files)?;
    fs::remove_dir_all(&scratch).map_err(files)
}

fn feature_files(directory: &Path, out: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            feature_files(&path, out)?;
        } else if path.extension().is_some_and(|e| e == "feature") {
            out.push(path);
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}
