//! The topic of a log: one partition that keeps all its records.

use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use mangrove_graph::{GraphError, Result};
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

use crate::{Brokers, PARTITION, PATIENCE, RECORD_BYTES_MAX, unavailable};

/// Without these, a topic loses records, or takes none that are large.
const KEEPING: [(&str, &str); 4] = [
    ("cleanup.policy", "delete"),
    ("retention.ms", "-1"),
    ("retention.bytes", "-1"),
    ("unclean.leader.election.enable", "false"),
];
const LARGEST: &str = "max.message.bytes";

fn admin(brokers: &Brokers) -> Result<(AdminClient<DefaultClientContext>, AdminOptions)> {
    let client = brokers.config().create().map_err(|error| unavailable("takes no client", error))?;
    Ok((client, AdminOptions::new().operation_timeout(Some(PATIENCE)).request_timeout(Some(PATIENCE))))
}

/// How many partitions a topic has: 0 if it is not there. A producer that asked this would have the brokers make the topic, with other settings than
/// a log needs.
pub fn partitions(brokers: &Brokers, topic: &str) -> Result<usize> {
    Ok(copies(brokers, topic)?.len())
}

/// How many copies each partition of a topic has.
fn copies(brokers: &Brokers, topic: &str) -> Result<Vec<usize>> {
    let asking: BaseConsumer = brokers.config().create().map_err(|error| unavailable("takes no client", error))?;
    let found = asking.fetch_metadata(Some(topic), PATIENCE).map_err(|error| unavailable("does not answer", error))?;
    brokers.must_all_be_safe(&found)?;
    let Some(told) = found.topics().first() else { return Ok(Vec::new()) };
    match told.error().map(RDKafkaErrorCode::from) {
        None | Some(RDKafkaErrorCode::UnknownTopicOrPartition | RDKafkaErrorCode::UnknownTopic) => {}
        Some(error) => return Err(GraphError::Invalid(format!("Kafka does not show the topic {topic}: {error}"))),
    }
    Ok(told.partitions().iter().map(|partition| partition.replicas().len()).collect())
}

/// Makes a topic, with so many copies. Returns whether there was none.
pub fn create(brokers: &Brokers, topic: &str, wanted: usize) -> Result<bool> {
    if let Some(there) = copies(brokers, topic)?.first() {
        must_keep_all(brokers, topic)?;
        return match *there >= wanted {
            true => Ok(false),
            false => Err(GraphError::Invalid(format!(
                "the topic {topic} has {there} of {wanted} copies: add brokers to it with the tools of Kafka"
            ))),
        };
    }
    let (admin, options) = admin(brokers)?;
    let (bytes, least) = (RECORD_BYTES_MAX.to_string(), (wanted / 2 + 1).to_string());
    let new = NewTopic::new(topic, 1, TopicReplication::Fixed(wanted as i32));
    let new = KEEPING.iter().fold(new, |new, (key, value)| new.set(key, value));
    let new = new.set(LARGEST, &bytes).set("min.insync.replicas", &least);
    let made = now(admin.create_topics([&new], &options)).map_err(|error| unavailable("does not answer", error))?;
    match made.into_iter().next() {
        Some(Ok(_)) => Ok(true),
        Some(Err((_, RDKafkaErrorCode::TopicAlreadyExists))) => must_keep_all(brokers, topic).map(|()| false),
        Some(Err((_, error))) => Err(GraphError::Invalid(format!("Kafka cannot make the topic {topic}: {error}"))),
        None => Err(unavailable("does not say", "whether it made the topic")),
    }
}

/// Deletes the records of a topic before an offset.
pub fn cut(brokers: &Brokers, topic: &str, before: u64) -> Result<()> {
    let (admin, options) = admin(brokers)?;
    let mut offsets = TopicPartitionList::new();
    let failed = |error: &dyn std::fmt::Display| unavailable("does not delete records", error);
    offsets.add_partition_offset(topic, PARTITION, Offset::Offset(before as i64)).map_err(|error| failed(&error))?;
    let deleted = now(admin.delete_records(&offsets, &options)).map_err(|error| failed(&error))?;
    deleted.elements().iter().try_for_each(|partition| partition.error()).map_err(|error| failed(&error))
}

/// Fails if a topic has settings by which it would lose records.
pub fn must_keep_all(brokers: &Brokers, topic: &str) -> Result<()> {
    let (admin, options) = admin(brokers)?;
    let told = now(admin.describe_configs([&ResourceSpecifier::Topic(topic)], &options));
    let told = told.map_err(|error| unavailable("does not tell the settings of the topic", error))?;
    let settings = match told.into_iter().next() {
        Some(Ok(settings)) => settings,
        Some(Err(error)) => return Err(unavailable("does not tell the settings of the topic", error)),
        None => return Err(unavailable("does not tell", "the settings of the topic")),
    };
    // Systems that speak the protocol of Kafka do not have all settings.
    let value = |key: &str| settings.get(key).and_then(|entry| entry.value.clone());
    let told = KEEPING.iter().filter_map(|(key, wanted)| Some((key, value(key)?, wanted)));
    let wrong = told.filter(|(_, value, wanted)| value != *wanted);
    let mut wrong: Vec<String> = wrong.map(|(key, value, wanted)| format!("{key}={value} and not {wanted}")).collect();
    if let Some(bytes) =
        value(LARGEST).and_then(|bytes| bytes.parse::<usize>().ok()).filter(|bytes| *bytes < RECORD_BYTES_MAX)
    {
        wrong.push(format!("{LARGEST}={bytes} and not {RECORD_BYTES_MAX}"));
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(GraphError::Invalid(format!(
        "the topic {topic} would lose records: it has {}. `mangrove cluster create` makes a right one, if there is none",
        wrong.join(", ")
    )))
}

/// Waits for an answer of the client's own threads.
fn now<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(std::sync::Arc::new(Unpark(std::thread::current())));
    let (mut context, mut future) = (Context::from_waker(&waker), std::pin::pin!(future));
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return done;
        }
        std::thread::park_timeout(Duration::from_millis(50));
    }
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.unpark();
    }
}
