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
use crate::{Failure, output, say};

/// How long nodes may take to start.
const STARTING: Duration = Duration::from_secs(60);
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
    #[arg(long, default_value_t = 2)]
    nodes: u16,
    /// Nodes that have each shard. With two, reads go on when one of them has ended
    #[arg(long, default_value_t = 1)]
    replicas: u16,
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
    shards: String,
    arguments: Vec<String>,
}

impl Up {
    pub fn run(self) -> Result<(), Failure> {
        if self.replicas == 0 || self.replicas > self.nodes {
            return Err(Failure::Usage(format!("{} nodes have 1 to {0} replicas of a shard", self.nodes)));
        }
        let (graph, is_new) = self.create.found_or_made()?;
        if !is_new {
            say(&format!("the log has the graph already, with {} shards: going on with it", graph.placement.shards));
        }
        let shards = graph.placement.shards;
        if self.nodes == 0 || self.nodes > shards {
            return Err(Failure::Usage(format!("{shards} shards are for 1 to {shards} nodes")));
        }
        let planned = (0..self.nodes).map(|node| self.planned(node, &graph)).collect::<Result<Vec<_>, _>>()?;
        let address =
            GraphAddress { nodes: planned.iter().map(|node| node.address.clone()).collect(), graph: graph.name.clone() };
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

    fn planned(&self, node: u16, graph: &GraphRecord) -> Result<Planned, Failure> {
        // Shards go round the nodes, and the replicas of each are on the nodes behind its first.
        let is_here = |shard: &u16| (0..self.replicas).any(|replica| (shard + replica) % self.nodes == node);
        let own: Vec<String> = (0..graph.placement.shards).filter(is_here).map(|shard| shard.to_string()).collect();
        let (name, shards) = (format!("node-{node}"), own.join(","));
        let address = free_address().map_err(failed)?;
        let directory = self.data.join(&name).to_string_lossy().into_owned();
        let log = self.create.log.to_string();
        let arguments = [
            "node",
            &graph.name,
            "--as",
            &name,
            "--data",
            &directory,
            "--shards",
            &shards,
            "--listen",
            &address,
            "--log",
            &log,
        ];
        Ok(Planned { arguments: arguments.map(str::to_owned).to_vec(), name, address, shards })
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
        say(&format!("{}: process {}, {}, shards {}", node.name, child.id(), node.address, node.shards));
        self.nodes.push((child, log.to_owned()));
        Ok(())
    }

    fn wait_for(&mut self, address: &GraphAddress) -> Result<(), Failure> {
        let until = Instant::now() + STARTING;
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
            if Instant::now() >= until {
                return Err(Failure::Request(why));
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
