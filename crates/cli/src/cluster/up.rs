//! `mangrove cluster up`: the nodes of a graph as processes on this machine.

use std::fs::{self, File};
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use mangrove::cluster::{self, GraphAddress, GraphRecord};

use super::create::Create;
use super::failed;
use crate::log::StorePlace;
use crate::{Failure, output, say};

/// How often it says that it still waits for nodes.
const SAYING: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);
/// In a Python process, the module is the program. It says which Python runs it.
const PYTHON: &str = "MANGROVE_PYTHON";

#[derive(Args)]
pub struct Up {
    #[command(flatten)]
    create: Create,
    /// Directory for the shards and the output of the nodes
    #[arg(long)]
    data: PathBuf,
    /// Number of nodes
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    nodes: u16,
    /// Nodes that have each shard. With two, reads go on when one of them has ended
    #[arg(long, default_value_t = 1)]
    replicas: u16,
    /// Directory of certificates for all nodes, which name 127.0.0.1. Who connects needs some of the same authority
    #[arg(long, value_name = "DIRECTORY")]
    tls: Option<PathBuf>,
    /// Where the nodes keep backups: s3://bucket/path, gs://, az://, or a directory. Shards that they do not have come from there
    #[arg(long, value_name = "PLACE")]
    store: Option<StorePlace>,
    /// What starts the nodes: this command, or you, with the commands that it prints
    #[arg(long, value_enum, default_value = "processes")]
    launcher: Launcher,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Launcher {
    Processes,
    Print,
}

/// A node that is to be started.
struct Planned {
    name: String,
    address: String,
    shards: Vec<String>,
    arguments: Vec<String>,
}

impl Up {
    pub fn run(self) -> Result<(), Failure> {
        let (graph, is_new) = self.create.found_or_made()?;
        if !is_new {
            say(&format!("the log has the graph already, with {} shards: going on with it", graph.placement.shards));
        }
        let planned = (0..self.nodes).map(|node| self.planned(node, &graph)).collect::<Result<Vec<_>, _>>()?;
        let address = GraphAddress {
            nodes: planned.iter().map(|node| node.address.clone()).collect(),
            graph: graph.name.clone(),
            tls: self.tls.clone(),
        };
        if self.launcher == Launcher::Print {
            let commands = planned.iter().map(|node| format!("mangrove {}\n", shell_words(&node.arguments)));
            return output::print_text(&commands.collect::<String>());
        }
        fs::create_dir_all(&self.data).map_err(|error| cannot("make", &self.data, &error))?;
        let mut started = Started::default();
        for node in &planned {
            started.start(node, &self.data.join(format!("{}.log", node.name)))?;
        }
        started.wait_for(&address)?;
        started.nodes.clear(); // they go on without this command
        output::print_text(&format!("{address}\n"))
    }

    fn planned(&self, number: u16, graph: &GraphRecord) -> Result<Planned, Failure> {
        let shards = cluster::shards_of_node(number, self.nodes, self.replicas, graph.placement.shards);
        let shards = shards.map_err(|error| Failure::Usage(error.to_string()))?.iter().map(u16::to_string).collect();
        let (name, address) = (format!("node-{number}"), free_address().map_err(failed)?);
        let data = self.data.join(&name);
        let log = &self.create.log;
        let mut arguments = vec!["node".to_owned(), graph.name.clone()];
        let mut option = |name: &str, value: &dyn std::fmt::Display| arguments.extend([name.to_owned(), value.to_string()]);
        option("--number", &number);
        option("--of", &self.nodes);
        option("--replicas", &self.replicas);
        option("--data", &data.display());
        option("--listen", &address);
        option("--log", &log.log);
        log.log_config.iter().for_each(|file| option("--log-config", &file.display()));
        self.store.iter().for_each(|place| option("--store", place));
        self.tls.iter().for_each(|directory| option("--tls", &directory.display()));
        Ok(Planned { name, address, shards, arguments })
    }
}

/// Words as a shell reads them.
fn shell_words(words: &[String]) -> String {
    let is_plain = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c));
    let quoted = |word: &String| if is_plain(word) { word.clone() } else { format!("'{}'", word.replace('\'', r"'\''")) };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Nodes that this command has started, with their logs. Dropping them ends them.
#[derive(Default)]
struct Started {
    nodes: Vec<(Child, PathBuf)>,
}

impl Drop for Started {
    fn drop(&mut self) {
        for (node, _) in &mut self.nodes {
            let _ = node.kill().and_then(|()| node.wait()); // it may have ended by itself
        }
    }
}

impl Started {
    /// Starts this program again, as a node that goes on when this one ends.
    fn start(&mut self, node: &Planned, log: &Path) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::Request(format!("cannot start a node: {error}"));
        let out = File::options().create(true).append(true).open(log).map_err(|error| cannot("write", log, &error))?;
        let mut command = match std::env::var_os(PYTHON) {
            Some(python) => {
                let mut command = Command::new(python);
                command.args(["-m", "mangrovedb.cli"]);
                command
            }
            None => Command::new(std::env::current_exe().map_err(failed)?),
        };
        command.args(&node.arguments).stdin(Stdio::null()).stderr(out.try_clone().map_err(failed)?).stdout(out);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = command.spawn().map_err(failed)?;
        say(&format!("{}: process {}, {}, shards {}", node.name, child.id(), node.address, node.shards.join(",")));
        self.nodes.push((child, log.to_owned()));
        Ok(())
    }

    fn wait_for(&mut self, address: &GraphAddress) -> Result<(), Failure> {
        let mut said = Instant::now();
        loop {
            for (node, log) in &mut self.nodes {
                if let Ok(Some(status)) = node.try_wait() {
                    let said = fs::read_to_string(log).unwrap_or_default();
                    let last = said.trim_end().lines().last().unwrap_or("it has said nothing");
                    return Err(Failure::Request(format!("a node has ended ({status}): {last}")));
                }
            }
            let why = match cluster::nodes(address) {
                Ok((_, found)) => {
                    let is_there =
                        |address: &&String| found.iter().any(|node| node.member.address == **address && node.status.is_ok());
                    if address.nodes.iter().filter(is_there).count() == self.nodes.len() {
                        return Ok(());
                    }
                    "not all nodes have started; see their logs".to_owned()
                }
                Err(error) => error.to_string(),
            };
            if said.elapsed() >= SAYING {
                say(&format!("waiting for nodes that read the log (they go on if you stop this with Ctrl-C): {why}"));
                said = Instant::now();
            }
            std::thread::sleep(PAUSE);
        }
    }
}

fn cannot(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::Request(format!("cannot {what} {}: {error}", path.display()))
}

/// An address that was free just now.
fn free_address() -> io::Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}
