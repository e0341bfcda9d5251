//! `mangrove cluster`: graphs on many nodes.

use std::fs::{self, File};
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clap::{Args, Subcommand, ValueEnum};
use mangrove::IdSpace;
use mangrove::cluster::{self, GraphAddress, Member};
use serde_json::json;

use super::node::{LogAddress, open_log};
use super::{Failure, output, say};

/// How long nodes may take to start.
const STARTING: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(100);
/// In a Python process, the module is the program. It says which Python runs it.
const PYTHON: &str = "MANGROVE_PYTHON";

/// Make graphs on many nodes, and see how they are
#[derive(Subcommand)]
pub enum Cluster {
    /// Make a graph in an empty log. `mangrove node` starts each of its nodes
    Create(Create),
    /// Make a graph, and start its nodes as processes on this machine, to try it out. They are not started again if they end
    Up(Up),
    /// Show the nodes of a graph
    Status(Status),
}

#[derive(Args)]
pub struct Create {
    /// Name of the graph
    name: String,
    /// The log: kafka://host:port,host:port
    #[arg(long)]
    log: LogAddress,
    /// Number of shards, fixed for ever: about four for each node that you may ever have
    #[arg(long, default_value_t = 16)]
    shards: u16,
    /// Copies of the log, on as many brokers. With one, the graph is lost with its broker
    #[arg(long, default_value_t = 1)]
    copies: usize,
    /// Whether ids of vertices are unique in the graph, or within their label
    #[arg(long, value_enum, default_value = "graph")]
    id_space: Space,
}

#[derive(Clone, Copy, ValueEnum)]
enum Space {
    Graph,
    Label,
}

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
}

#[derive(Args)]
pub struct Status {
    /// Address of the graph: mangrove://host:port/NAME
    address: GraphAddress,
    /// Write the answer in this format
    #[arg(long, value_enum, default_value = "table")]
    format: StatusFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StatusFormat {
    Table,
    Json,
}

impl Cluster {
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Cluster::Create(create) => create.run().map(|()| say("the graph is made; start its nodes with `mangrove node`")),
            Cluster::Up(up) => up.run(),
            Cluster::Status(status) => status.run(),
        }
    }
}

impl Create {
    fn run(&self) -> Result<(), Failure> {
        if !(1..=cluster::SHARDS_MAX).contains(&self.shards) {
            return Err(Failure::Usage(format!("a graph has 1 to {} shards, not {}", cluster::SHARDS_MAX, self.shards)));
        }
        super::node::create_log(&self.log, &self.name, self.copies)?;
        let id_space = match self.id_space {
            Space::Graph => IdSpace::Graph,
            Space::Label => IdSpace::Label,
        };
        let log = open_log(&self.log, &self.name)?;
        cluster::make_graph(&*log, &self.name, self.shards, id_space)
            .map_err(|error| Failure::Request(error.to_string()))?;
        Ok(())
    }
}

impl Up {
    fn run(self) -> Result<(), Failure> {
        let Create { name, log, shards, .. } = &self.create;
        if self.nodes == 0 || self.nodes > *shards {
            return Err(Failure::Usage(format!("{shards} shards are for 1 to {shards} nodes")));
        }
        self.create.run()?;
        fs::create_dir_all(&self.data).map_err(|error| cannot("make", &self.data, &error))?;
        let (mut addresses, mut nodes) = (Vec::new(), Vec::new());
        for node in 0..self.nodes {
            // Shards go round the nodes.
            let own: Vec<String> = (node..*shards).step_by(self.nodes.into()).map(|shard| shard.to_string()).collect();
            let address = free_address().map_err(|error| Failure::Request(error.to_string()))?;
            let directory = self.data.join(format!("node-{node}"));
            let arguments = [
                "node",
                name,
                "--as",
                &format!("node-{node}"),
                "--data",
                &directory.to_string_lossy(),
                "--shards",
                &own.join(","),
                "--listen",
                &address,
                "--log",
                &log.to_string(),
            ]
            .map(str::to_owned);
            let log = self.data.join(format!("node-{node}.log"));
            let started = start(&arguments, &log)?;
            say(&format!("node-{node}: process {}, {address}, shards {}", started.id(), own.join(",")));
            addresses.push(address);
            nodes.push((started, log));
        }
        let address = GraphAddress { nodes: addresses, graph: name.clone() };
        wait_for(&address, &mut nodes)?;
        output::print_text(&format!("{address}\n"))
    }
}

/// Starts this program again, with other arguments, and leaves it running.
fn start(arguments: &[String], log: &Path) -> Result<Child, Failure> {
    let failed = |error: io::Error| Failure::Request(format!("cannot start a node: {error}"));
    let out = File::create(log).map_err(|error| cannot("write", log, &error))?;
    let mut command = match std::env::var_os(PYTHON) {
        Some(python) => {
            let mut command = Command::new(python);
            command.args(["-m", "mangrovedb.cli"]);
            command
        }
        None => Command::new(std::env::current_exe().map_err(failed)?),
    };
    command.args(arguments).stdin(Stdio::null()).stderr(out.try_clone().map_err(failed)?).stdout(out);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().map_err(failed)
}

fn cannot(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::Request(format!("cannot {what} {}: {error}", path.display()))
}

/// An address that was free just now.
fn free_address() -> io::Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

fn wait_for(address: &GraphAddress, nodes: &mut [(Child, PathBuf)]) -> Result<(), Failure> {
    let until = Instant::now() + STARTING;
    loop {
        for (node, log) in nodes.iter_mut() {
            if let Ok(Some(status)) = node.try_wait() {
                let said = fs::read_to_string(log).unwrap_or_default();
                return Err(Failure::Request(format!("a node has ended ({status}): {}", said.trim_end())));
            }
        }
        match cluster::members(address) {
            Ok((_, members, _)) if members.len() >= nodes.len() => return Ok(()),
            Err(error) if Instant::now() >= until => return Err(Failure::Request(error.to_string())),
            Ok(_) if Instant::now() >= until => {
                return Err(Failure::Request("not all nodes have started; see their logs".into()));
            }
            _ => std::thread::sleep(PAUSE),
        }
    }
}

impl Status {
    fn run(self) -> Result<(), Failure> {
        let (graph, members, writer) =
            cluster::members(&self.address).map_err(|error| Failure::Request(error.to_string()))?;
        let is_writer = |member: &Member| Some(member.process) == writer;
        if self.format == StatusFormat::Json {
            let nodes = members.iter().map(|member| {
                json!({ "name": member.name, "address": member.address, "shards": member.shards, "writer": is_writer(member) })
            });
            let nodes: Vec<_> = nodes.collect();
            let id = format!("{:016x}", graph.id);
            return output::print_text(
                &json!({ "graph": id, "shards": graph.placement.shards, "nodes": nodes }).to_string(),
            );
        }
        let mut text = format!("graph {:016x}, {} shards\n", graph.id, graph.placement.shards);
        for member in &members {
            let shards: Vec<String> = member.shards.iter().map(u16::to_string).collect();
            let role = if is_writer(member) { ", writes" } else { "" };
            text += &format!("{}  {}  shards {}{role}\n", member.name, member.address, shards.join(","));
        }
        output::print_text(&text)
    }
}
