//! `mangrove node`: a node of a graph on many nodes.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use mangrove::cluster::{self, LakeNodeConfig, Log, NodeConfig, NodeWatch, RunningLakeNode, RunningNode};
use mangrove::{GraphError, LakeOptions, OpenError};
use mangrove_server::{NodeMetrics, NodeTraces, ServerError};

use super::log::{LogAddress, LogOptions, StorePlace};
use super::{Failure, interrupt, say};

/// How often it looks whether it should end.
const PAUSE: Duration = Duration::from_millis(50);

/// Run a node of a graph on many nodes, until it is ended. `mangrove cluster create` makes the graph. With --lake, the graph is a lake, and needs no log
#[derive(Args)]
pub struct Node {
    /// Name of the graph
    graph: String,
    /// Its number, from 0 on: node 2 of 4 is called node-2, and has the shards 2, 6, 10 and so on
    #[arg(long, requires = "of", conflicts_with_all = ["name", "shards"])]
    number: Option<u16>,
    /// Nodes of the graph, with --number
    #[arg(long, value_name = "NODES", requires = "number")]
    of: Option<u16>,
    /// Nodes that have each shard, with --number
    #[arg(long, default_value_t = 1, requires = "number")]
    replicas: u16,
    /// The shards with which it begins, as in 0-3,8, instead of --number. None unless you say it: `mangrove cluster rebalance` gives it some
    #[arg(long, value_parser = shards, requires = "name")]
    shards: Option<Shards>,
    /// Its name, which no other node of the graph has. It keeps it when it starts again
    #[arg(long = "as", value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: Option<String>,
    /// Read a lake instead, and keep nothing: the file that describes it, NAME.graph.yml or a mapping, as a path or an address like s3://bucket/NAME.graph.yml
    #[arg(long, value_name = "FILE", requires = "name", conflicts_with_all = ["number", "shards", "data", "log", "log_config", "store", "metrics", "traces"])]
    lake: Option<PathBuf>,
    /// Where other nodes of the lake are: HOST:PORT, with commas between several. One that is there names all others
    #[arg(long, value_name = "ADDRESSES", requires = "lake", value_delimiter = ',', value_parser = host_and_port)]
    join: Vec<String>,
    /// Directory of its shards
    #[arg(long, required_unless_present = "lake")]
    data: Option<PathBuf>,
    /// Where it listens: IP:PORT. Beyond this machine, it needs --tls
    #[arg(long, value_name = "ADDRESS")]
    listen: SocketAddr,
    /// Where others reach it: HOST:PORT. Its certificate must name that host. Where it listens, unless you say it
    #[arg(long, value_name = "ADDRESS", value_parser = host_and_port)]
    advertise: Option<String>,
    /// Directory of its certificates, from `mangrove cluster certs`. Who connects needs some of the same authority
    #[arg(long, value_name = "DIRECTORY")]
    tls: Option<PathBuf>,
    /// The log: kafka://host:port,host:port
    #[arg(long, value_name = "ADDRESS", required_unless_present = "lake")]
    log: Option<LogAddress>,
    /// File with lines like ssl.ca.location=/etc/kafka/ca.pem, in the words of Kafka's C client: security.protocol, ssl.* and sasl.*. Brokers on other machines need it
    #[arg(long, value_name = "FILE", requires = "log")]
    log_config: Option<PathBuf>,
    /// Where it keeps backups: s3://bucket/path, gs://, az://, or a directory that all nodes reach. Shards that it does not have come from there
    #[arg(long, value_name = "PLACE")]
    store: Option<StorePlace>,
    /// Where it says how it is, over HTTP: IP:PORT. /metrics is for Prometheus. Beyond this machine, it needs --tls: then it speaks HTTPS, and whoever
    /// asks shows a certificate as clients of the node do
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<SocketAddr>,
    /// Send its part of the traces of requests to this collector of OpenTelemetry, by OTLP over HTTP: for `mangrove serve --traces`
    #[arg(long, value_name = "URL")]
    traces: Option<String>,
    /// End when the standard input ends: with the process that started it, even if that one is killed
    #[arg(long)]
    attached: bool,
}

type Shards = Vec<u16>;

/// `0-3,8` as numbers.
fn shards(text: &str) -> Result<Shards, String> {
    let number = |text: &str| text.parse::<u16>().map_err(|_| format!("{text:?} is no number of a shard"));
    let mut all = Vec::new();
    for part in text.split(',') {
        match part.split_once('-') {
            Some((first, last)) if number(first)? <= number(last)? => all.extend(number(first)?..=number(last)?),
            Some(_) => return Err(format!("{part:?} has no shards: write the smaller number first")),
            None => all.push(number(part)?),
        }
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

fn host_and_port(text: &str) -> Result<String, String> {
    match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0) => Ok(text.to_owned()),
        _ => Err("an address is HOST:PORT".into()),
    }
}

impl Node {
    pub fn run(self) -> Result<(), Failure> {
        self.must_be_reached_safely()?;
        interrupt::listen_to_end();
        let input_ended = Arc::new(AtomicBool::new(false));
        if self.attached {
            watch_input(input_ended.clone()).map_err(|error| Failure::Request(error.to_string()))?;
        }
        let is_cancelled = || interrupt::requested() || input_ended.load(Ordering::Relaxed);
        match self.lake.clone() {
            Some(lake) => self.run_over_lake(lake, &is_cancelled),
            None => self.run_with_shards(&is_cancelled),
        }
    }

    fn run_over_lake(self, place: PathBuf, is_cancelled: &dyn Fn() -> bool) -> Result<(), Failure> {
        let Self { graph, name, listen, advertise, tls, join, .. } = self;
        let name = name.ok_or_else(|| Failure::Usage("say with --as what this node is called".into()))?;
        let options = LakeOptions::default();
        let running = RunningLakeNode::start(LakeNodeConfig { graph, name, place, options, listen, advertise, tls, join })?;
        say(&format!("listening on {}", running.address()));
        while !is_cancelled() && !running.is_asked_to_stop() {
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn run_with_shards(self, is_cancelled: &dyn Fn() -> bool) -> Result<(), Failure> {
        let which = self.which()?;
        let (Some(log), Some(data)) = (self.log.clone(), self.data.clone()) else {
            return Err(Failure::Usage("a node with shards needs --log and --data".into()));
        };
        let log = LogOptions { log, log_config: self.log_config.clone() }.open(&self.graph)?;
        let (name, shards) = which.place(&log)?;
        let shown = Shown::of(&self, &name)?;
        let Self { tls, advertise, listen, store, .. } = self;
        let store = store.map(|place| place.open()).transpose()?;
        let config = NodeConfig { name, data, shards, listen, advertise, tls, log, store, is_cancelled };
        let running = match RunningNode::start_watched(config, |node| shown.show(&node)) {
            Err(OpenError::Cluster(GraphError::Cancelled)) => return Ok(()),
            started => started?,
        };
        say(&format!("listening on {}", running.address()));
        while !is_cancelled() && !running.is_asked_to_stop() && !running.is_replaced() && !running.has_missed() {
            std::thread::sleep(PAUSE);
        }
        let (is_replaced, has_missed) = (running.is_replaced(), running.has_missed());
        running.stop();
        shown.end();
        match (has_missed, is_replaced) {
            (true, _) => Err(Failure::Request(
                "the log was cut before this node had read it: start it again, with --store, and its shards come from a backup".into(),
            )),
            (_, true) => Err(Failure::Request("another process is this node now: each node needs a name of its own".into())),
            _ => Ok(()),
        }
    }

    /// Fails if it would listen beyond this machine without certificates, or where nobody finds it.
    fn must_be_reached_safely(&self) -> Result<(), Failure> {
        let (ip, wrong) = (self.listen.ip(), |what: &str| Err(Failure::Usage(format!("{}: {what}", self.listen))));
        if !ip.is_loopback() && self.tls.is_none() {
            return wrong("beyond this machine, a node needs certificates: --tls, and `mangrove cluster certs` makes them");
        }
        if let Some(address) = self.metrics.filter(|address| !address.ip().is_loopback() && self.tls.is_none()) {
            return Err(Failure::Usage(format!("{address}: beyond this machine, metrics need certificates: --tls")));
        }
        if ip.is_unspecified() && self.advertise.is_none() {
            return wrong("others cannot reach this address: say with --advertise which host and port they reach");
        }
        Ok(())
    }

    fn which(&self) -> Result<Which, Failure> {
        match (self.number, self.of, &self.name, &self.shards) {
            (Some(number), Some(nodes), ..) => Ok(Which::Numbered { number, nodes, replicas: self.replicas }),
            (_, _, Some(name), shards) => Ok(Which::Named(name.clone(), shards.clone().unwrap_or_default())),
            _ => Err(Failure::Usage("say which node it is: --number and --of, or --as and --shards".into())),
        }
    }
}

/// Where a node is watched.
struct Shown {
    metrics: Option<NodeMetrics>,
    traces: Option<Arc<NodeTraces>>,
}

impl Shown {
    fn of(node: &Node, name: &str) -> Result<Self, Failure> {
        let failed = |error: ServerError| Failure::Request(error.to_string());
        let metrics = node.metrics.map(|address| NodeMetrics::start(address, node.tls.as_deref()));
        let metrics = metrics.transpose().map_err(failed)?;
        if let Some(metrics) = &metrics {
            say(&format!("metrics at {}", metrics.url()));
        }
        let traces = node.traces.clone().map(|url| NodeTraces::to(url, name.to_owned()));
        Ok(Self { metrics, traces: traces.transpose().map_err(failed)?.map(Arc::new) })
    }

    /// The node follows the log now.
    fn show(&self, node: &NodeWatch) {
        if let Some(traces) = &self.traces {
            node.trace_with(traces.clone());
        }
        if let Some(metrics) = &self.metrics {
            metrics.show(node.clone());
        }
    }

    /// The node has ended.
    fn end(&self) {
        if let Some(traces) = &self.traces {
            traces.end();
        }
    }
}

/// Which node of a graph.
enum Which {
    Numbered { number: u16, nodes: u16, replicas: u16 },
    Named(String, Shards),
}

impl Which {
    /// Its name and its shards.
    fn place(self, log: &Arc<dyn Log>) -> Result<(String, Shards), Failure> {
        let (number, nodes, replicas) = match self {
            Which::Named(name, shards) => return Ok((name, shards)),
            Which::Numbered { number, nodes, replicas } => (number, nodes, replicas),
        };
        let graph = cluster::graph_of(log).map_err(|error| Failure::Request(error.to_string()))?;
        let own = cluster::shards_of_node(number, nodes, replicas, graph.placement.shards);
        Ok((format!("node-{number}"), own.map_err(|error| Failure::Usage(error.to_string()))?))
    }
}

/// Waits in another thread for the end of the standard input.
fn watch_input(ended: Arc<AtomicBool>) -> io::Result<()> {
    let watch = move || {
        // An input that cannot be read has ended, too.
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        ended.store(true, Ordering::Relaxed);
    };
    std::thread::Builder::new().name("mangrove input".into()).spawn(watch).map(drop)
}
