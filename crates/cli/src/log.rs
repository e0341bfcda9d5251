//! The log of a graph on many nodes, and where its backups are, as options of a command.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use clap::Args;
use mangrove::cluster::{self, Log, Objects};
use mangrove::ingest::Topic;

use crate::Failure;

#[derive(Args, Clone)]
pub struct LogOptions {
    /// The log: kafka://host:port,host:port
    #[arg(long, value_name = "ADDRESS")]
    pub log: LogAddress,
    /// File with lines like ssl.ca.location=/etc/kafka/ca.pem, in the words of Kafka's C client: security.protocol, ssl.* and sasl.*. Brokers on other machines need it
    #[arg(long, value_name = "FILE")]
    pub log_config: Option<PathBuf>,
}

/// `kafka://host:port,host:port`.
#[derive(Clone, Debug)]
pub struct LogAddress(String);

impl FromStr for LogAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let brokers = text.strip_prefix("kafka://").ok_or("a log is kafka://host:port,host:port")?;
        Ok(Self(brokers.to_owned()))
    }
}

impl fmt::Display for LogAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kafka://{}", self.0)
    }
}

/// `s3://bucket/path`, or a directory.
#[derive(Clone, Debug)]
pub struct StorePlace(String);

impl FromStr for StorePlace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() { Err("a place is s3://bucket/path or a directory".into()) } else { Ok(Self(text.to_owned())) }
    }
}

impl fmt::Display for StorePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StorePlace {
    pub fn open(&self) -> Result<Arc<dyn Objects>, Failure> {
        cluster::objects(&self.0).map_err(|error| Failure::Request(error.to_string()))
    }
}

#[cfg(feature = "cluster")]
impl LogOptions {
    fn brokers(&self) -> Result<mangrove_kafka::Brokers, Failure> {
        let read = mangrove_kafka::Brokers::new(&self.log.0, self.log_config.as_deref());
        read.map_err(|error| Failure::Usage(error.to_string()))
    }

    /// The log of a graph.
    pub fn open(&self, graph: &str) -> Result<Arc<dyn Log>, Failure> {
        let opened = mangrove_kafka::KafkaLog::open(&self.brokers()?, graph);
        Ok(Arc::new(opened.map_err(|error| Failure::Request(error.to_string()))?))
    }

    /// Makes the topic of a graph, unless there is one. Returns whether there was none.
    pub fn create(&self, graph: &str, copies: usize) -> Result<bool, Failure> {
        let made = mangrove_kafka::KafkaLog::create(&self.brokers()?, graph, copies);
        made.map_err(|error| Failure::Request(error.to_string()))
    }
}

/// A topic of these brokers.
#[cfg(feature = "cluster")]
pub fn open_topic(brokers: &str, config: Option<&Path>, name: &str) -> Result<Box<dyn Topic>, Failure> {
    // The advice names the option of a log.
    let usage = |error: mangrove::GraphError| Failure::Usage(error.to_string().replace("--log-config", "--topic-config"));
    let brokers = mangrove_kafka::Brokers::new(brokers, config).map_err(usage)?;
    let topic = mangrove_kafka::KafkaTopic::open(&brokers, name);
    Ok(Box::new(topic.map_err(|error| Failure::Request(error.to_string()))?))
}

#[cfg(not(feature = "cluster"))]
pub fn open_topic(_: &str, _: Option<&Path>, _: &str) -> Result<Box<dyn Topic>, Failure> {
    Err(Failure::Request(MISSING.into()))
}

#[cfg(not(feature = "cluster"))]
pub const MISSING: &str =
    "this build of Mangrove has no client for Kafka, and makes no certificates: build it with the feature `cluster`";

#[cfg(not(feature = "cluster"))]
impl LogOptions {
    pub fn open(&self, _: &str) -> Result<Arc<dyn Log>, Failure> {
        Err(Failure::Request(MISSING.into()))
    }

    pub fn create(&self, _: &str, _: usize) -> Result<bool, Failure> {
        Err(Failure::Request(MISSING.into()))
    }
}
