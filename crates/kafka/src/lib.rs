//! A topic of Kafka as the log of a graph, and topics of users as sources that a graph follows.
//!
//! ```text
//!   brokers    brokers, and how to speak to them
//!   topic      the topic of a log, and its settings
//!   followed   a topic of a user
//! ```
//! The log needs one thing of Kafka: that all readers of a partition see its records in the same order. It uses no transactions, no groups and no
//! offsets that the brokers keep. What an acknowledgement says does not matter, because the writer counts what it has read.

mod brokers;
mod followed;
mod topic;

use std::time::{Duration, Instant};

use mangrove_cluster::log::{Log, LogReader, was_cut};
use mangrove_graph::{GraphError, Result};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::Message;
use rdkafka::producer::{BaseRecord, DefaultProducerContext, ThreadedProducer};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

pub use brokers::Brokers;
pub use followed::KafkaTopic;

/// The most bytes of a record. A transaction has more before it is compressed.
pub const RECORD_BYTES_MAX: usize = 64 << 20;
const PARTITION: i32 = 0;
/// How long brokers may take to answer a question.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long to wait before the brokers are asked anew.
const REST: Duration = Duration::from_millis(300);
/// Records that are taken together, and about so many bytes of them.
const BATCH: usize = 1_000;
const BATCH_BYTES: usize = 8 << 20;
/// A reader that stands at the end asks the brokers again after so long whether it still does, and how long they may take.
const ASKING: Duration = Duration::from_secs(1);
const ANSWERING: Duration = Duration::from_secs(1);

/// The topic of a graph.
pub struct KafkaLog {
    brokers: Brokers,
    topic: String,
    producer: ThreadedProducer<DefaultProducerContext>,
}

fn unavailable(what: &str, error: impl std::fmt::Display) -> GraphError {
    GraphError::Unavailable(format!("Kafka {what}: {error}"))
}

impl KafkaLog {
    /// The log of the graph `name`.
    ///
    /// # Errors
    /// If the brokers cannot be reached, or have no such topic.
    pub fn open(brokers: &Brokers, name: &str) -> Result<Self> {
        let topic = topic_of(name);
        match topic::partitions(brokers, &topic)? {
            1 => topic::must_keep_all(brokers, &topic)?,
            0 => {
                return Err(GraphError::Invalid(format!(
                    "Kafka at {brokers} has no graph {name}: there is no topic {topic}"
                )));
            }
            many => {
                return Err(GraphError::Invalid(format!("the topic {topic} has {many} partitions, and a log has one")));
            }
        }
        let producer = brokers
            .config()
            .set("acks", "all")
            .set("enable.idempotence", "true")
            .set("linger.ms", "0")
            .set("request.timeout.ms", "2000")
            .set("message.timeout.ms", "10000")
            .set("message.max.bytes", RECORD_BYTES_MAX.to_string())
            .create()
            .map_err(|error| unavailable("takes no producer", error))?;
        Ok(Self { brokers: brokers.clone(), topic, producer })
    }

    /// Makes the topic of a new graph, with so many copies. Returns whether there was none.
    ///
    /// # Errors
    /// If there are fewer brokers, or if there is such a topic that would lose records.
    pub fn create(brokers: &Brokers, name: &str, copies: usize) -> Result<bool> {
        topic::create(brokers, &topic_of(name), copies)
    }
}

fn topic_of(name: &str) -> String {
    format!("mangrove.{name}.commit")
}

impl Log for KafkaLog {
    fn append(&self, record: Vec<u8>) -> Result<()> {
        if record.len() > RECORD_BYTES_MAX {
            return Err(GraphError::Limit {
                what: "a record is too large for Kafka".into(),
                limit: RECORD_BYTES_MAX as u64,
            });
        }
        let new = BaseRecord::<(), _>::to(&self.topic).payload(&record).partition(PARTITION);
        self.producer.send(new).map_err(|(error, _)| unavailable("does not take a record", error))
    }

    fn first(&self) -> Result<u64> {
        let asking: BaseConsumer = self.brokers.config().create().map_err(|error| unavailable("takes no client", error))?;
        let told = asking.fetch_watermarks(&self.topic, PARTITION, PATIENCE);
        let (first, _) = told.map_err(|error| unavailable("does not say where the log begins", error))?;
        Ok(first.max(0) as u64)
    }

    fn cut(&self, before: u64) -> Result<()> {
        topic::cut(&self.brokers, &self.topic, before)
    }

    fn reader(&self, from: u64) -> Result<Box<dyn LogReader>> {
        let consumer: BaseConsumer = self
            .brokers
            .config()
            .set("group.id", "mangrove") // no group is joined
            .set("enable.auto.commit", "false")
            .set("enable.auto.offset.store", "false")
            .set("enable.partition.eof", "true")
            .set("auto.offset.reset", "error")
            .set("isolation.level", "read_uncommitted")
            .set("check.crcs", "true")
            .set("fetch.wait.max.ms", "100")
            .set("fetch.error.backoff.ms", "50")
            .set("fetch.message.max.bytes", RECORD_BYTES_MAX.to_string())
            .set("fetch.max.bytes", (RECORD_BYTES_MAX + (1 << 20)).to_string())
            .set("receive.message.max.bytes", (RECORD_BYTES_MAX + (2 << 20)).to_string())
            .set("queued.max.messages.kbytes", "131072")
            .create()
            .map_err(|error| unavailable("takes no consumer", error))?;
        let told = consumer.fetch_metadata(Some(&self.topic), ANSWERING);
        self.brokers.must_all_be_safe(&told.map_err(|error| unavailable("does not answer", error))?)?;
        let mut partition = TopicPartitionList::new();
        partition
            .add_partition_offset(&self.topic, PARTITION, Offset::Offset(from as i64))
            .and_then(|()| consumer.assign(&partition))
            .map_err(|error| unavailable("does not let the log be read", error))?;
        let ends = consumer.fetch_watermarks(&self.topic, PARTITION, ANSWERING);
        let (_, end) = ends.map_err(|error| unavailable("does not say where the log ends", error))?;
        let (topic, end) = (self.topic.clone(), Some(end.max(0) as u64));
        Ok(Box::new(KafkaReader { consumer, topic, next: from, end, at_end: false, asked: Instant::now() }))
    }
}

struct KafkaReader {
    consumer: BaseConsumer,
    topic: String,
    next: u64,
    /// Where the log ended at first, until that was read. While others write, the consumer may never stand at the end.
    end: Option<u64>,
    /// Whether all that there was has been read.
    at_end: bool,
    /// When the brokers have said so last.
    asked: Instant,
}

impl KafkaReader {
    /// Asks the brokers whether the end is still there. A consumer that cannot reach them says nothing for long.
    fn is_at_end(&mut self) -> bool {
        if !self.at_end || self.asked.elapsed() < ASKING {
            return self.at_end;
        }
        let end = self.consumer.fetch_watermarks(&self.topic, PARTITION, ANSWERING);
        let is_here = end.is_ok_and(|(_, high)| u64::try_from(high).is_ok_and(|high| high <= self.next));
        if is_here {
            self.asked = Instant::now();
        }
        is_here
    }
}

impl LogReader for KafkaReader {
    fn read(&mut self, patience: Duration, out: &mut Vec<(u64, Vec<u8>)>) -> Result<bool> {
        let (mut wait, mut bytes) = (patience, 0);
        for _ in 0..BATCH {
            if bytes >= BATCH_BYTES {
                break;
            }
            match self.consumer.poll(wait) {
                None => break,
                Some(Ok(message)) => {
                    let record = message.payload().unwrap_or_default().to_vec();
                    bytes += record.len();
                    out.push((message.offset() as u64, record));
                    self.next = message.offset() as u64 + 1;
                    (self.at_end, wait) = (false, Duration::ZERO);
                }
                Some(Err(KafkaError::PartitionEOF(_))) => {
                    (self.at_end, self.asked) = (true, Instant::now());
                    break;
                }
                Some(Err(error)) => {
                    if is_cut(&error) {
                        return Err(was_cut());
                    }
                    // A new consumer says it when it has read to the end. This one might not.
                    std::thread::sleep(REST);
                    return Err(unavailable("cannot be read", error));
                }
            }
        }
        if self.end.take_if(|end| *end <= self.next).is_some() {
            return Ok(true);
        }
        Ok(self.is_at_end())
    }
}

fn is_cut(error: &KafkaError) -> bool {
    matches!(error.rdkafka_error_code(), Some(RDKafkaErrorCode::OffsetOutOfRange | RDKafkaErrorCode::AutoOffsetReset))
}
