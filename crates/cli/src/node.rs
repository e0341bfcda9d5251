//! `mangrove node`: a node of a graph on many nodes.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use mangrove::cluster::{Log, NodeConfig, RunningNode};

use super::{Failure, interrupt, say};

/// Run a node of a graph on many nodes, until it is ended. `mangrove cluster create` makes the graph
#[derive(Args)]
pub struct Node {
    /// Name of the graph
    graph: String,
    /// Directory of its shards
    #[arg(long)]
    data: PathBuf,
    /// Its shards, as in 0-3,8
    #[arg(long, value_parser = shards)]
    shards: Shards,
    /// Where it listens, on this machine only
    #[arg(long, value_name = "ADDRESS")]
    listen: SocketAddr,
    /// The log: kafka://host:port,host:port
    #[arg(long)]
    log: LogAddress,
    /// Name of the node, which no other node of the graph has. It keeps it when it starts again
    #[arg(long = "as", value_name = "NAME")]
    name: String,
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
            Some((first, last)) => all.extend(number(first)?..=number(last)?),
            None => all.push(number(part)?),
        }
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// `kafka://host:port,host:port`: brokers on this machine.
#[derive(Clone, Debug)]
pub struct LogAddress {
    pub brokers: String,
}

impl FromStr for LogAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let brokers = text.strip_prefix("kafka://").ok_or("a log is kafka://host:port,host:port")?;
        for broker in brokers.split(',') {
            let host = broker.rsplit_once(':').map(|(host, _)| host).ok_or(format!("{broker} has no port"))?;
            let is_here = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
            if !is_here {
                return Err(format!("{host} is not this machine, and TLS to brokers is not there yet"));
            }
        }
        Ok(Self { brokers: brokers.to_owned() })
    }
}

impl fmt::Display for LogAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kafka://{}", self.brokers)
    }
}

impl Node {
    pub fn run(self) -> Result<(), Failure> {
        if !self.listen.ip().is_loopback() {
            let what = "a node listens on this machine only: TLS between nodes is not there yet";
            return Err(Failure::Usage(format!("{}: {what}", self.listen)));
        }
        interrupt::listen_to_end();
        let log = open_log(&self.log, &self.graph)?;
        let listener = TcpListener::bind(self.listen)
            .map_err(|error| Failure::Request(format!("cannot listen on {}: {error}", self.listen)))?;
        let address = listener.local_addr().map_err(|error| Failure::Request(error.to_string()))?.to_string();
        let Self { data, shards, name, attached, .. } = self;
        let input_ended = Arc::new(AtomicBool::new(false));
        if attached {
            watch_input(input_ended.clone()).map_err(|error| Failure::Request(error.to_string()))?;
        }
        let running = RunningNode::start(NodeConfig { name, data, shards, listener, address: address.clone(), log })?;
        say(&format!("listening on {address}"));
        while !interrupt::requested() && !running.is_asked_to_stop() && !input_ended.load(Ordering::Relaxed) {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        running.stop();
        Ok(())
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

#[cfg(feature = "cluster")]
pub fn open_log(log: &LogAddress, graph: &str) -> Result<Arc<dyn Log>, Failure> {
    let opened = mangrove_kafka::KafkaLog::open(&log.brokers, graph);
    Ok(Arc::new(opened.map_err(|error| Failure::Request(error.to_string()))?))
}

/// Makes the topic of a graph, unless there is one. Returns whether there was none.
#[cfg(feature = "cluster")]
pub fn create_log(log: &LogAddress, graph: &str, copies: usize) -> Result<bool, Failure> {
    mangrove_kafka::KafkaLog::create(&log.brokers, graph, copies).map_err(|error| Failure::Request(error.to_string()))
}

#[cfg(not(feature = "cluster"))]
const MISSING: &str = "this build of Mangrove has no client for Kafka: build it with the feature `cluster`";

#[cfg(not(feature = "cluster"))]
pub fn open_log(_: &LogAddress, _: &str) -> Result<Arc<dyn Log>, Failure> {
    Err(Failure::Request(MISSING.into()))
}

#[cfg(not(feature = "cluster"))]
pub fn create_log(_: &LogAddress, _: &str, _: usize) -> Result<bool, Failure> {
    Err(Failure::Request(MISSING.into()))
}
