//! `mangrove cluster up`: the nodes of a graph as processes on this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use mangrove::IdSpace;
use mangrove::cluster::{self, GraphAddress, GraphRecord, Member, NodeFound};
use serde_json::{Value, json};

use super::create::{Create, NewGraph};
use super::{failed, python, ray, up_lake};
use crate::log::{LogAddress, LogOptions, StorePlace};
use crate::{Failure, output, say};

/// How often it says that it still waits for nodes.
const SAYING: Duration = Duration::from_secs(10);
pub const PAUSE: Duration = Duration::from_millis(100);

#[derive(Args)]
pub struct Up {
    /// Name of the graph
    pub name: String,
    /// The log: kafka://host:port,host:port
    #[arg(long, value_name = "ADDRESS", required_unless_present = "lake")]
    log: Option<LogAddress>,
    /// File with lines like ssl.ca.location=/etc/kafka/ca.pem, in the words of Kafka's C client: security.protocol, ssl.* and sasl.*. Brokers on other machines need it
    #[arg(long, value_name = "FILE", requires = "log")]
    log_config: Option<PathBuf>,
    /// Read a lake instead, which needs no log: the file that describes it, NAME.graph.yml or a mapping, as a path or an address like s3://bucket/NAME.graph.yml
    #[arg(long, value_name = "FILE", conflicts_with_all = ["log", "log_config", "shards", "copies", "id_space", "replicas", "store"])]
    pub lake: Option<PathBuf>,
    #[command(flatten)]
    kind: NewGraph,
    /// Directory for the shards and the output of the nodes
    #[arg(long)]
    pub data: PathBuf,
    /// Number of nodes
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    pub nodes: u16,
    /// Nodes that have each shard. With two, reads go on when one of them has ended
    #[arg(long, default_value_t = 1)]
    replicas: u16,
    /// Directory of certificates for all nodes, which name 127.0.0.1. Who connects needs some of the same authority
    #[arg(long, value_name = "DIRECTORY")]
    pub tls: Option<PathBuf>,
    /// Where the nodes keep backups: s3://bucket/path, gs://, az://, or a directory. Shards that they do not have come from there
    #[arg(long, value_name = "PLACE")]
    store: Option<StorePlace>,
    /// What starts the nodes: this command, Ray, which starts them again whenever they end, or you, with the commands that are printed
    #[arg(long, value_enum, default_value = "processes")]
    launcher: Launcher,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Launcher {
    Processes,
    Ray,
    Print,
}

/// Nodes by their names.
type Members = BTreeMap<String, Member>;

/// A node that is to be started.
pub struct Planned {
    pub name: String,
    pub address: String,
    /// Those of its arguments. The log may say others.
    pub shards: Vec<u16>,
    pub arguments: Vec<String>,
}

/// The addresses of nodes, each in a file beside the directory of its shards. So they have the same ones when they start again.
pub struct Addresses<'a>(pub &'a Path);

impl Addresses<'_> {
    fn file(&self, node: &str) -> PathBuf {
        self.0.join(format!("{node}.address"))
    }

    /// Where a node listened last, if this command started it.
    pub fn last(&self, node: &str) -> Option<SocketAddr> {
        fs::read_to_string(self.file(node)).ok()?.trim().parse().ok()
    }

    fn lake_file(&self, node: &str) -> PathBuf {
        self.0.join(format!("{node}.lake"))
    }

    /// The lake of a node, if this command started it as one of a lake.
    pub fn lake(&self, node: &str) -> Option<String> {
        Some(fs::read_to_string(self.lake_file(node)).ok()?.trim_end_matches('\n').to_owned())
    }

    pub fn keep_lake(&self, node: &str, lake: &str) -> Result<(), Failure> {
        let file = self.lake_file(node);
        fs::write(&file, format!("{lake}\n")).map_err(|error| cannot("write", &file, &error))
    }

    pub fn keep(&self, node: &Planned) -> Result<(), Failure> {
        let file = self.file(&node.name);
        fs::write(&file, format!("{}\n", node.address)).map_err(|error| cannot("write", &file, &error))
    }
}

impl Up {
    pub fn run(self) -> Result<(), Failure> {
        if self.is_under_ray() {
            ray::must_run()?; // before there is a graph
        }
        match (self.lake.clone(), self.log.clone()) {
            (Some(lake), _) => up_lake::run(&self, &lake),
            (None, Some(log)) => self.run_with_log(&LogOptions { log, log_config: self.log_config.clone() }),
            (None, None) => Err(Failure::Usage("nodes need --log, or --lake".into())),
        }
    }

    fn run_with_log(&self, log: &LogOptions) -> Result<(), Failure> {
        let create = Create { name: self.name.clone(), log: log.clone(), kind: self.kind };
        let (graph, is_new) = create.found_or_made()?;
        if !is_new {
            say(&format!("the log has the graph already, with {} shards: going on with it", graph.placement.shards));
        }
        if self.is_under_ray() {
            return self.run_under_ray(self.of_graph(&graph, log));
        }
        let addresses = Addresses(&self.data);
        let mut places = Places::default(); // no two nodes get the same one
        let planned = (0..self.nodes).map(|node| self.planned(node, &graph, log, &addresses, &mut places));
        let planned = planned.collect::<Result<Vec<_>, _>>()?;
        drop(places);
        if self.prints() {
            return print(&planned);
        }
        let (running, ended) = self.members(&graph, &addresses);
        let (missing, mut started) = (without(planned, &running, &ended, &graph)?, Started::default());
        for Member { name, address, shards, .. } in running.values() {
            say(&format!("{name} runs already: {address}, {}", in_words(shards)));
        }
        started.start_all(&missing, &self.data)?;
        let new = missing.iter().map(|node| (&node.name, &node.address));
        let all: BTreeMap<_, _> = running.iter().map(|(name, member)| (name, &member.address)).chain(new).collect();
        let address = self.address(&graph, all.into_values().cloned().collect());
        let there = started.wait_for(&address)?;
        for Member { name, shards, .. } in missing.iter().filter_map(|node| there.get(&node.name)) {
            say(&format!("{name} has started, with {}", in_words(shards)));
        }
        started.release();
        output::print_text(&format!("{address}\n"))
    }

    /// Whether it only says what starts the nodes.
    pub fn prints(&self) -> bool {
        self.launcher == Launcher::Print
    }

    /// Whether Ray starts the nodes.
    pub fn is_under_ray(&self) -> bool {
        self.launcher == Launcher::Ray
    }

    /// Starts the nodes under Ray, by what `mangrovedb.cluster` takes beyond what all nodes have.
    pub fn run_under_ray(&self, more: Value) -> Result<(), Failure> {
        let mut settings = json!({
            "name": self.name,
            "nodes": self.nodes,
            "data": self.data.display().to_string(),
            "tls": self.tls.as_ref().map(|path| path.display().to_string()),
        });
        if let (Value::Object(settings), Value::Object(more)) = (&mut settings, more) {
            settings.extend(more);
        }
        output::print_text(&format!("{}\n", ray::up(&settings)?))
    }

    /// What `mangrovedb.cluster` takes for a graph with a log.
    fn of_graph(&self, graph: &GraphRecord, log: &LogOptions) -> Value {
        json!({
            "shards": graph.placement.shards,
            "replicas": self.replicas,
            "copies": self.kind.copies,
            "id_space": if graph.placement.id_space == IdSpace::Label { "label" } else { "graph" },
            "log": log.log.to_string(),
            "log_config": log.log_config.as_ref().map(|path| path.display().to_string()),
            "store": self.store.as_ref().map(StorePlace::to_string),
        })
    }

    fn address(&self, graph: &GraphRecord, nodes: Vec<String>) -> GraphAddress {
        GraphAddress { nodes, graph: graph.name.clone(), tls: self.tls.clone() }
    }

    /// The nodes of the graph that run and those that have ended, as the nodes that this command started last say.
    fn members(&self, graph: &GraphRecord, addresses: &Addresses<'_>) -> (Members, Members) {
        let last = (0..self.nodes).filter_map(|node| addresses.last(&name_of(node)));
        let known: Vec<String> = last.map(|address| address.to_string()).collect();
        if known.is_empty() {
            return Default::default();
        }
        match cluster::nodes(&self.address(graph, known)) {
            Ok((found, nodes)) if found == *graph => {
                let (running, ended): (Vec<_>, Vec<_>) = nodes.into_iter().partition(|node| node.status.is_ok());
                (by_name(running), by_name(ended))
            }
            _ => Default::default(), // others listen there now, or nobody
        }
    }

    fn planned(
        &self,
        number: u16,
        graph: &GraphRecord,
        log: &LogOptions,
        addresses: &Addresses<'_>,
        places: &mut Places,
    ) -> Result<Planned, Failure> {
        let shards = cluster::shards_of_node(number, self.nodes, self.replicas, graph.placement.shards);
        let shards = shards.map_err(|error| Failure::Usage(error.to_string()))?;
        let name = name_of(number);
        let address = places.take(addresses.last(&name)).map_err(failed)?;
        let data = self.data.join(&name);
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

/// Shows the commands that start nodes.
pub fn print(planned: &[Planned]) -> Result<(), Failure> {
    let commands = planned.iter().map(|node| format!("mangrove {}\n", shell_words(&node.arguments)));
    output::print_text(&commands.collect::<String>())
}

pub fn name_of(node: u16) -> String {
    format!("node-{node}")
}

fn by_name(nodes: Vec<NodeFound>) -> Members {
    nodes.into_iter().map(|node| (node.member.name.clone(), node.member)).collect()
}

fn in_words(shards: &[u16]) -> String {
    match shards {
        [] => "no shards".to_owned(),
        some => format!("shards {}", some.iter().map(u16::to_string).collect::<Vec<_>>().join(",")),
    }
}

/// Those of the planned nodes that do not run. One that has ended has the shards again that the log says.
///
/// # Errors
/// If some shard would be on no node: others have it if there are more nodes, or fewer.
fn without(
    mut planned: Vec<Planned>,
    running: &Members,
    ended: &Members,
    graph: &GraphRecord,
) -> Result<Vec<Planned>, Failure> {
    planned.retain(|node| !running.contains_key(&node.name));
    let again = planned.iter().filter_map(|node| ended.get(&node.name));
    let logged = running.values().chain(again).flat_map(|member| &member.shards);
    let all: BTreeSet<u16> = planned.iter().flat_map(|node| &node.shards).chain(logged).copied().collect();
    match (0..graph.placement.shards).find(|shard| !all.contains(shard)) {
        None => Ok(planned),
        Some(shard) => Err(Failure::Request(format!(
            "{} runs already with other shards, and no node would have shard {shard}: end all nodes first (`mangrove cluster down`), or start as many as before",
            running.keys().cloned().collect::<Vec<_>>().join(", ")
        ))),
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
pub struct Started {
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
    /// Starts nodes. Their output goes to a directory, and so do their addresses.
    pub fn start_all(&mut self, nodes: &[Planned], data: &Path) -> Result<(), Failure> {
        fs::create_dir_all(data).map_err(|error| cannot("make", data, &error))?;
        for node in nodes {
            self.start(node, &data.join(format!("{}.log", node.name)))?;
            Addresses(data).keep(node)?;
        }
        Ok(())
    }

    /// Lets the nodes go on without this command.
    pub fn release(&mut self) {
        self.nodes.clear();
    }

    /// Fails if a node has ended.
    pub fn must_run(&mut self) -> Result<(), Failure> {
        for (node, log) in &mut self.nodes {
            if let Ok(Some(status)) = node.try_wait() {
                let said = fs::read_to_string(log).unwrap_or_default();
                let last = said.trim_end().lines().last().unwrap_or("it has said nothing");
                return Err(Failure::Request(format!("a node has ended ({status}): {last}")));
            }
        }
        Ok(())
    }

    /// Starts this program again, as a node that goes on when this one ends.
    fn start(&mut self, node: &Planned, log: &Path) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::Request(format!("cannot start a node: {error}"));
        let out = File::options().create(true).append(true).open(log).map_err(|error| cannot("write", log, &error))?;
        let mut command = match python::module("mangrovedb.cli") {
            Some(command) => command,
            None => Command::new(std::env::current_exe().map_err(failed)?),
        };
        command.args(&node.arguments).stdin(Stdio::null()).stderr(out.try_clone().map_err(failed)?).stdout(out);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = command.spawn().map_err(failed)?;
        say(&format!("{}: process {}, {}", node.name, child.id(), node.address));
        self.nodes.push((child, log.to_owned()));
        Ok(())
    }

    /// Waits until there is a node at each address. Gives the nodes of the graph, with the shards that the log says.
    fn wait_for(&mut self, address: &GraphAddress) -> Result<Members, Failure> {
        let mut said = Instant::now();
        loop {
            self.must_run()?;
            let why = match cluster::nodes(address) {
                Ok((_, found)) => {
                    // At the address of the process before, a new one answers before the log names it.
                    let is_it =
                        |node: &NodeFound| node.status.as_ref().is_ok_and(|status| status.process == node.member.process);
                    let is_there =
                        |address: &String| found.iter().any(|node| node.member.address == *address && is_it(node));
                    if address.nodes.iter().all(is_there) {
                        return Ok(by_name(found));
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

/// Addresses of this machine that are free as long as this is there.
#[derive(Default)]
pub struct Places(Vec<TcpListener>);

impl Places {
    /// The address that a node had last, if it is free, or else any.
    pub fn take(&mut self, last: Option<SocketAddr>) -> io::Result<String> {
        let again = last.and_then(|last| TcpListener::bind(last).ok());
        let listener = again.map_or_else(|| TcpListener::bind("127.0.0.1:0"), Ok)?;
        let address = listener.local_addr()?.to_string();
        self.0.push(listener);
        Ok(address)
    }
}
