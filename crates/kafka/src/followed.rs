//! A topic of a user, whose records a graph takes.
//!
//! The graph keeps the offsets, so no group is joined, and the brokers keep none. Records of transactions that were not committed are skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use mangrove_graph::{GraphError, Result};
use mangrove_ingest::{Offsets, OnLost, Topic, TopicRecord};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::Message;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

use crate::{ANSWERING, BATCH, BATCH_BYTES, Brokers, PATIENCE, is_cut, topic, unavailable};

/// How often to look for new partitions.
const LOOKING: Duration = Duration::from_secs(30);
/// How long brokers may be out of reach.
const MISSING: Duration = Duration::from_secs(60);

/// A topic with the records that a graph follows.
pub struct KafkaTopic {
    brokers: Brokers,
    name: String,
    cluster: String,
    consumer: BaseConsumer,
    /// The next record of each partition.
    next: Offsets,
    /// Where partitions ended at the start, until that was read.
    ends: Offsets,
    /// When partitions were counted last.
    looked: Instant,
    /// Since when the brokers are out of reach, and why.
    trouble: Option<(Instant, String)>,
}

impl KafkaTopic {
    /// # Errors
    /// If the brokers cannot be reached, or have no such topic.
    pub fn open(brokers: &Brokers, name: &str) -> Result<Self> {
        if topic::partitions(brokers, name)? == 0 {
            return Err(GraphError::Invalid(format!("Kafka at {brokers} has no topic {name}")));
        }
        let consumer: BaseConsumer = brokers
            .config()
            .set("group.id", "mangrove") // no group is joined
            .set("enable.auto.commit", "false")
            .set("enable.auto.offset.store", "false")
            .set("enable.partition.eof", "true")
            .set("auto.offset.reset", "error")
            .set("isolation.level", "read_committed")
            .set("check.crcs", "true")
            .set("fetch.wait.max.ms", "100")
            .set("queued.max.messages.kbytes", "65536")
            .create()
            .map_err(|error| unavailable("takes no consumer", error))?;
        let cluster = consumer.client().fetch_cluster_id(PATIENCE).unwrap_or_default();
        let (brokers, name, now) = (brokers.clone(), name.to_owned(), Instant::now());
        Ok(Self { brokers, name, cluster, consumer, next: Offsets::new(), ends: Offsets::new(), looked: now, trouble: None })
    }

    fn partitions(&self) -> Result<BTreeSet<i32>> {
        let told = self.consumer.fetch_metadata(Some(&self.name), ANSWERING);
        let told = told.map_err(|error| unavailable("does not answer", error))?;
        self.brokers.must_all_be_safe(&told)?;
        let found = told.topics().iter().flat_map(|topic| topic.partitions().iter().map(|partition| partition.id()));
        Ok(found.collect())
    }

    /// The first record of a partition, and where it ends.
    fn bounds(&self, partition: i32, patience: Duration) -> Result<(u64, u64)> {
        let told = self.consumer.fetch_watermarks(&self.name, partition, patience);
        let (first, end) = told.map_err(|error| unavailable("does not say where a partition ends", error))?;
        Ok((first.max(0) as u64, end.max(0) as u64))
    }

    /// Reads each partition from its next record on.
    fn assign(&self) -> Result<()> {
        let mut all = TopicPartitionList::new();
        let failed = |error: KafkaError| unavailable("does not let the topic be read", error);
        for (partition, offset) in &self.next {
            all.add_partition_offset(&self.name, *partition, Offset::Offset(*offset as i64)).map_err(failed)?;
        }
        self.consumer.assign(&all).map_err(failed)
    }

    /// Reads partitions that were added to the topic, too, from their beginning.
    fn look_for_partitions(&mut self) -> Result<()> {
        if self.looked.elapsed() < LOOKING {
            return Ok(());
        }
        self.looked = Instant::now();
        // Brokers that do not answer now are asked again.
        let Ok(there) = self.partitions() else { return Ok(()) };
        let new: Vec<i32> = there.into_iter().filter(|partition| !self.next.contains_key(partition)).collect();
        if new.is_empty() {
            return Ok(());
        }
        self.next.extend(new.into_iter().map(|partition| (partition, 0)));
        self.assign()
    }

    /// Notes an error of which the consumer may recover. Fails if it has not for long, and at once if records could be left out, or cannot be
    /// read at all.
    fn note(&mut self, error: &KafkaError) -> Result<()> {
        if is_final(error) {
            return Err(unavailable("cannot be read", error));
        }
        let (since, _) = self.trouble.get_or_insert_with(|| (Instant::now(), error.to_string()));
        let lasted = since.elapsed();
        let is_over = self.next.keys().next().is_some_and(|partition| self.bounds(*partition, ANSWERING).is_ok());
        match &self.trouble {
            _ if is_over => self.trouble = None,
            Some((_, why)) if lasted > MISSING => {
                return Err(unavailable("cannot be read", format!("since {} s: {why}", lasted.as_secs())));
            }
            _ => {}
        }
        Ok(())
    }

    /// Fails if records are gone that are to be read.
    fn must_have_all(&self, from: &Offsets) -> Result<()> {
        let mut lost = Vec::new();
        for (partition, offset) in from {
            let (first, _) = self.bounds(*partition, PATIENCE)?;
            if first > *offset {
                lost.push(format!("partition {partition}, offsets {offset} to {}", first - 1));
            }
        }
        if lost.is_empty() {
            return Ok(());
        }
        Err(GraphError::Invalid(format!(
            "records of the topic {} are gone before they were read: {}. If the graph can do without them, add --skip-lost. Let the topic \
             keep its records for longer (retention.ms), or follow it all the time",
            self.name,
            lost.join("; ")
        )))
    }

    /// Fails if the topic cannot be the one that was read.
    fn must_be_the_same(&self, from: &Offsets, ends: &Offsets) -> Result<()> {
        for (partition, offset) in from {
            let wrong = match ends.get(partition) {
                None => format!("it has no partition {partition}"),
                Some(end) if end < offset => format!("partition {partition} ends at offset {end}"),
                Some(_) => continue,
            };
            return Err(GraphError::Invalid(format!(
                "the graph has read the topic {} up to offset {offset} of partition {partition}, but {wrong}: it seems to be another topic \
                 of that name. To read it from its beginning, name it with --source",
                self.name
            )));
        }
        Ok(())
    }
}

impl Topic for KafkaTopic {
    fn name(&self) -> &str {
        &self.name
    }

    fn cluster(&self) -> &str {
        &self.cluster
    }

    fn start(&mut self, from: &Offsets, on_lost: OnLost) -> Result<Offsets> {
        let mut bounds = BTreeMap::new();
        for partition in self.partitions()? {
            bounds.insert(partition, self.bounds(partition, PATIENCE)?);
        }
        self.ends = bounds.iter().map(|(partition, (_, end))| (*partition, *end)).collect();
        self.must_be_the_same(from, &self.ends)?;
        let wanted = |partition: &i32, first: u64| match from.get(partition) {
            Some(offset) => *offset,
            None if from.is_empty() => first,
            None => 0, // it was added to the topic
        };
        self.next = bounds.iter().map(|(partition, (first, _))| (*partition, wanted(partition, *first))).collect();
        match on_lost {
            OnLost::Fail => self.must_have_all(&self.next)?,
            OnLost::Skip => {
                self.next.iter_mut().for_each(|(partition, offset)| *offset = bounds[partition].0.max(*offset));
            }
        }
        self.ends.retain(|partition, end| self.next[partition] < *end);
        (self.looked, self.trouble) = (Instant::now(), None);
        self.assign()?;
        Ok(self.next.clone())
    }

    fn read(&mut self, patience: Duration, out: &mut Vec<TopicRecord>) -> Result<bool> {
        self.look_for_partitions()?;
        let (mut wait, mut bytes) = (patience, 0);
        for _ in 0..BATCH {
            if bytes >= BATCH_BYTES {
                break;
            }
            match self.consumer.poll(wait) {
                None => break,
                Some(Ok(message)) => {
                    let (partition, offset) = (message.partition(), message.offset() as u64);
                    let value = message.payload().map(<[u8]>::to_vec);
                    bytes += value.as_ref().map_or(0, Vec::len);
                    out.push(TopicRecord { partition, offset, value });
                    self.next.insert(partition, offset + 1);
                    if self.ends.get(&partition).is_some_and(|end| *end <= offset + 1) {
                        self.ends.remove(&partition);
                    }
                    (self.trouble, wait) = (None, Duration::ZERO);
                }
                Some(Err(KafkaError::PartitionEOF(partition))) => {
                    self.ends.remove(&partition);
                    (self.trouble, wait) = (None, Duration::ZERO);
                }
                Some(Err(error)) if is_cut(&error) => {
                    self.must_have_all(&self.next)?;
                    return Err(unavailable("cannot be read", error));
                }
                Some(Err(error)) => {
                    self.note(&error)?;
                    break;
                }
            }
        }
        Ok(self.ends.is_empty())
    }
}

/// Whether the consumer would go on behind records that it cannot read, or without an end.
fn is_final(error: &KafkaError) -> bool {
    use RDKafkaErrorCode::{
        BadCompression, BadMessage, InvalidMessage, NotImplemented, TopicAuthorizationFailed, UnsupportedCompressionType,
    };
    matches!(
        error.rdkafka_error_code(),
        Some(
            BadCompression
                | BadMessage
                | InvalidMessage
                | NotImplemented
                | TopicAuthorizationFailed
                | UnsupportedCompressionType
        )
    )
}

#[cfg(test)]
mod tests {
    use rdkafka::mocking::MockCluster;
    use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer};

    use super::*;

    type Cluster = MockCluster<'static, DefaultProducerContext>;

    fn cluster(partitions: i32) -> (Cluster, Brokers) {
        let cluster = MockCluster::new(1).unwrap();
        cluster.create_topic("events", partitions, 1).unwrap();
        let brokers = Brokers::new(&cluster.bootstrap_servers(), None).unwrap();
        (cluster, brokers)
    }

    /// Appends numbered records to a partition.
    fn produce(brokers: &Brokers, partition: i32, numbers: std::ops::Range<u64>, codec: &str) {
        let producer: ThreadedProducer<DefaultProducerContext> =
            brokers.config().set("compression.type", codec).create().unwrap();
        for number in numbers {
            let text = number.to_string();
            producer
                .send(BaseRecord::<(), _>::to("events").payload(&text).partition(partition))
                .map_err(|(e, _)| e)
                .unwrap();
        }
        producer.flush(PATIENCE).unwrap();
    }

    /// Reads to the end, or for a while.
    fn read(topic: &mut KafkaTopic) -> Vec<(i32, u64, String)> {
        let mut found = Vec::new();
        for _ in 0..300 {
            if topic.read(Duration::from_millis(100), &mut found).unwrap() {
                break;
            }
        }
        found.sort_by_key(|record| (record.partition, record.offset));
        let text = |value: Option<Vec<u8>>| String::from_utf8(value.unwrap()).unwrap();
        found.into_iter().map(|record| (record.partition, record.offset, text(record.value))).collect()
    }

    fn numbered(partition: i32, numbers: std::ops::Range<u64>) -> Vec<(i32, u64, String)> {
        numbers.map(|number| (partition, number, number.to_string())).collect()
    }

    #[test]
    fn all_partitions_are_read_from_their_offsets_on() {
        let (_cluster, brokers) = cluster(3);
        produce(&brokers, 0, 0..1500, "none");
        produce(&brokers, 2, 0..5, "none");
        let mut topic = KafkaTopic::open(&brokers, "events").unwrap();
        assert_eq!(topic.start(&Offsets::new(), OnLost::Fail).unwrap(), Offsets::from([(0, 0), (1, 0), (2, 0)]));
        assert_eq!(read(&mut topic), [numbered(0, 0..1500), numbered(2, 0..5)].concat());
        produce(&brokers, 1, 0..2, "none");
        let from = Offsets::from([(0, 1490), (1, 0), (2, 5)]);
        assert_eq!(topic.start(&from, OnLost::Fail).unwrap(), from);
        assert_eq!(read(&mut topic), [numbered(0, 1490..1500), numbered(1, 0..2)].concat());
        let end = Offsets::from([(0, 1500), (1, 2), (2, 5)]);
        topic.start(&end, OnLost::Fail).unwrap();
        assert_eq!(read(&mut topic), [], "there is nothing more");
    }

    #[test]
    fn records_are_read_however_they_are_compressed() {
        let (_cluster, brokers) = cluster(5);
        for (partition, codec) in ["none", "gzip", "snappy", "lz4", "zstd"].into_iter().enumerate() {
            produce(&brokers, partition as i32, 0..100, codec);
        }
        let mut topic = KafkaTopic::open(&brokers, "events").unwrap();
        topic.start(&Offsets::new(), OnLost::Fail).unwrap();
        assert_eq!(read(&mut topic), (0..5).flat_map(|partition| numbered(partition, 0..100)).collect::<Vec<_>>());
    }

    #[test]
    fn a_topic_that_was_not_read_before_is_refused() {
        let (_cluster, brokers) = cluster(2);
        produce(&brokers, 0, 0..10, "none");
        let mut topic = KafkaTopic::open(&brokers, "events").unwrap();
        let mut refused = |from: Offsets| topic.start(&from, OnLost::Skip).unwrap_err().to_string();
        let shorter = refused(Offsets::from([(0, 11), (1, 0)]));
        assert!(shorter.contains("up to offset 11 of partition 0, but partition 0 ends at offset 10"), "{shorter}");
        let fewer = refused(Offsets::from([(0, 10), (7, 3)]));
        assert!(fewer.contains("it has no partition 7") && fewer.contains("--source"), "{fewer}");
    }
}
