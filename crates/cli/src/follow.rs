//! `mangrove follow`: takes the records of a topic into a graph, each once.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant};

use clap::{ArgGroup, Args, ValueEnum};
use mangrove::ingest::{IngestOptions, Offsets, OnLost};
use mangrove::{Database, FollowOptions, FollowReport, FollowedRows, SourcePosition};
use serde_json::json;

use super::log::open_topic;
use super::merging::MergeOptions;
use super::progress::Bar;
use super::{Failure, counted, interrupt, open_reading, output, query, say, warn};

/// Take the records of a Kafka topic into a graph, each once. The offsets are in the graph, so type the same command again to go on
#[derive(Args)]
#[command(group = ArgGroup::new("what").required(true).args(["nodes", "edges", "show"]))]
pub struct Follow {
    /// Directory of the database, or the address of a graph on many nodes
    db: PathBuf,
    /// The topic: kafka://host:port,host:port/NAME. Each record is a JSON object, and its members are the columns of a row
    #[arg(required_unless_present = "show")]
    topic: Option<TopicAddress>,
    /// File with lines like ssl.ca.location=/etc/kafka/ca.pem, in the words of Kafka's C client: security.protocol, ssl.* and sasl.*. Brokers on other machines need it
    #[arg(long, value_name = "FILE")]
    topic_config: Option<PathBuf>,
    /// Each record is a vertex of this label
    #[arg(long, value_name = "LABEL")]
    nodes: Option<String>,
    /// Each record is an edge of this label: SRC:LABEL:DST says which labels its ends have
    #[arg(long, value_name = "SRC:LABEL:DST")]
    edges: Option<EdgeLabels>,
    /// The member with the id of a vertex; default: the key of its label, or id
    #[arg(long, value_name = "MEMBER", conflicts_with = "edges")]
    key: Option<String>,
    /// The member with the id of the vertex where an edge starts
    #[arg(long, value_name = "MEMBER", default_value = "src", conflicts_with = "nodes")]
    from: String,
    /// The member with the id of the vertex where an edge ends
    #[arg(long, value_name = "MEMBER", default_value = "dst", conflicts_with = "nodes")]
    to: String,
    /// Order the edges of a vertex by the value of this member
    #[arg(long, value_name = "MEMBER", conflicts_with = "nodes")]
    edge_time: Option<String>,
    #[command(flatten)]
    merge: MergeOptions,
    /// Keep the offsets under this name; default: the name of the topic
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    source: Option<String>,
    /// End once the topic was read to where it ended at the start. Otherwise Ctrl-C ends it
    #[arg(long)]
    until_end: bool,
    /// Records of a transaction, at most
    #[arg(long, value_name = "RECORDS", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,
    /// How long a record waits for others of its transaction, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 1_000)]
    batch_wait_ms: u64,
    /// Leave out this record
    #[arg(long, value_name = "PARTITION:OFFSET")]
    skip: Vec<Skipped>,
    /// If the topic has deleted records before they were read: go on with the first one there
    #[arg(long)]
    skip_lost: bool,
    /// Show how far the graph has read each source, and do nothing else
    #[arg(long, conflicts_with = "topic")]
    show: bool,
    /// Write what --show gives in this format
    #[arg(long, value_enum, default_value = "table", requires = "show")]
    format: ShowFormat,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ShowFormat {
    Table,
    Json,
}

/// `kafka://host:port,host:port/NAME`.
#[derive(Clone, Debug, PartialEq)]
struct TopicAddress {
    brokers: String,
    name: String,
}

impl FromStr for TopicAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "a topic is kafka://host:port,host:port/NAME";
        let (brokers, name) = text.strip_prefix("kafka://").and_then(|rest| rest.split_once('/')).ok_or(FORM)?;
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c));
        let (brokers, name) = (brokers.to_owned(), name.to_owned());
        if is_name && !brokers.is_empty() { Ok(Self { brokers, name }) } else { Err(FORM.into()) }
    }
}

/// `SRC:LABEL:DST`, or `LABEL`.
#[derive(Clone, Debug, PartialEq)]
struct EdgeLabels {
    source: Option<String>,
    label: String,
    target: Option<String>,
}

impl FromStr for EdgeLabels {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let some = |end: &str| Some(end.to_owned()).filter(|end| !end.is_empty());
        let (source, label, target) = match text.split(':').collect::<Vec<_>>()[..] {
            [label] => (None, label, None),
            [source, label, target] => (some(source), label, some(target)),
            _ => (None, "", None),
        };
        let label = some(label).ok_or("expected SRC:LABEL:DST or LABEL, as in person:follows:person")?;
        Ok(Self { source, label, target })
    }
}

/// `PARTITION:OFFSET`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Skipped(i32, u64);

impl FromStr for Skipped {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (partition, offset) = text.split_once(':').ok_or("expected PARTITION:OFFSET, as in 0:17")?;
        let wrong = |part: &str| format!("{part:?} is no number");
        Ok(Self(partition.parse().map_err(|_| wrong(partition))?, offset.parse().map_err(|_| wrong(offset))?))
    }
}

impl Follow {
    pub fn run(self) -> Result<(), Failure> {
        let Some(address) = &self.topic else { return self.show_sources() };
        let options = self.options(&address.name)?;
        let mut topic = open_topic(&address.brokers, self.topic_config.as_deref(), &address.name)?;
        let database = self.database()?;
        let (mut bar, started) = (Bar::new(self.quiet), Instant::now());
        interrupt::listen_to_end();
        let report = database.follow(&mut *topic, &options, &mut bar)?;
        drop(bar);
        tell(&report, &address.name, started.elapsed());
        Ok(())
    }

    fn options(&self, topic: &str) -> Result<FollowOptions, Failure> {
        let rows = match (&self.nodes, &self.edges) {
            (Some(label), _) => FollowedRows::Vertices { label: label.clone(), key: self.key.clone() },
            (None, Some(EdgeLabels { source, label, target })) => FollowedRows::Edges {
                source: source.clone(),
                label: label.clone(),
                target: target.clone(),
                from: self.from.clone(),
                to: self.to.clone(),
            },
            (None, None) => return Err(Failure::Usage("say what the records are: --nodes or --edges".into())),
        };
        let edge_time = self.edge_time.as_deref().map(Into::into);
        Ok(FollowOptions {
            source: self.source.clone().unwrap_or_else(|| topic.to_owned()),
            rows,
            batch_rows: self.batch as usize,
            batch_wait: Duration::from_millis(self.batch_wait_ms),
            until_end: self.until_end,
            skip: self.skip.iter().map(|Skipped(partition, offset)| (*partition, *offset)).collect::<BTreeSet<_>>(),
            on_lost: if self.skip_lost { OnLost::Skip } else { OnLost::Fail },
            ingest: IngestOptions { edge_time, merge: self.merge.merging(), ..IngestOptions::default() },
        })
    }

    /// A directory that is not there becomes a database.
    fn database(&self) -> Result<Database, Failure> {
        super::connected(&self.db, false).unwrap_or_else(|| Ok(Database::open(&self.db)?))
    }

    fn show_sources(&self) -> Result<(), Failure> {
        let sources = open_reading(&self.db)?.sources()?;
        if self.format == ShowFormat::Json {
            let json = sources.into_iter().map(|(name, position)| {
                let SourcePosition { topic, cluster, offsets } = position;
                (name, json!({ "topic": topic, "cluster": cluster, "offsets": offsets }))
            });
            return output::print_text(&serde_json::Value::Object(json.collect()).to_string());
        }
        let mut table = mangrove::show::drawing();
        table.set_header(["source", "topic", "partition", "next offset"]);
        for (name, position) in sources {
            for (partition, offset) in position.offsets {
                table.add_row([name.clone(), position.topic.clone(), partition.to_string(), offset.to_string()]);
            }
        }
        let text = if table.is_empty() { "the graph follows no source".to_owned() } else { table.to_string() };
        output::print_text(&text)
    }
}

/// Says what was taken.
fn tell(report: &FollowReport, topic: &str, took: Duration) {
    let FollowReport { records, skipped, batches, loaded, offsets } = report;
    warn(&loaded.warnings);
    say(&format!(
        "took {} of {topic} in {} and {}: {} and {}",
        counted(*records, "record", "records"),
        counted(*batches, "transaction", "transactions"),
        query::elapsed(took),
        counted(loaded.vertex_count(), "vertex", "vertices"),
        counted(loaded.edge_count(), "edge", "edges"),
    ));
    if *skipped > 0 {
        say(&format!("left out {}", counted(*skipped, "record", "records")));
    }
    say(&format!("the graph has read {}", listed(offsets)));
}

/// `partition 0 up to offset 17, partition 1 up to offset 3`.
fn listed(offsets: &Offsets) -> String {
    let all = offsets.iter().map(|(partition, offset)| format!("partition {partition} up to offset {offset}"));
    all.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_has_brokers_and_a_name() {
        let topic = |text: &str| text.parse::<TopicAddress>();
        let events = TopicAddress { brokers: "one:9092,two:9092".into(), name: "app.events".into() };
        assert_eq!(topic("kafka://one:9092,two:9092/app.events"), Ok(events));
        for wrong in ["one:9092/events", "kafka://one:9092", "kafka://one:9092/", "kafka:///events", "kafka://one:9092/a/b"]
        {
            assert!(topic(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn labels_and_places_are_read() {
        let labels = |text: &str| text.parse::<EdgeLabels>();
        let ends = |source: &str, target: &str| EdgeLabels {
            source: Some(source.to_owned()).filter(|end| !end.is_empty()),
            label: "follows".into(),
            target: Some(target.to_owned()).filter(|end| !end.is_empty()),
        };
        assert_eq!(labels("person:follows:page"), Ok(ends("person", "page")));
        assert_eq!(labels("follows"), Ok(ends("", "")));
        assert_eq!(labels(":follows:page"), Ok(ends("", "page")));
        assert!(["", "a:b", "a::b", "a:b:c:d"].into_iter().all(|wrong| labels(wrong).is_err()));
        assert_eq!("3:17".parse::<Skipped>(), Ok(Skipped(3, 17)));
        assert!(["3", "a:1", "1:-1"].into_iter().all(|wrong| wrong.parse::<Skipped>().is_err()));
    }
}
