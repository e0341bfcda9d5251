//! What a node has done, in the form of Prometheus (OpenMetrics 1.0).

use std::fmt::Error;
use std::time::Duration;

use mangrove::cluster::{CallsSeen, LogSeen, NodeSeen, NodeStatus, ShardStatus, WritesSeen};
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use crate::observe::{Labels, counter, counters, gauge, gauges, times};

/// All metrics of a node.
pub fn text(seen: &NodeSeen) -> Result<String, Error> {
    let mut registry = Registry::with_prefix("mangrove");
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let who: Labels = vec![("graph", seen.graph.clone()), ("node", seen.name.clone()), ("version", version)];
    registry.register("node", "The node, and its graph", Info::new(who));
    let of_node = registry.sub_registry_with_prefix("node");
    of_node.register("answers", "Whether the node answers clients", gauge(f64::from(u8::from(seen.answers))));
    role(of_node, &seen.status);
    shards(of_node, &seen.status);
    log(of_node, &seen.log);
    writes(of_node, &seen.writes);
    calls(of_node, &[("answered", &seen.answered), ("asked", &seen.asked)]);
    let parts = gauge(seen.parts_running as f64);
    of_node.register("parts_running", "Parts of work in rounds: of analyses, and of queries from node to node", parts);
    let mut text = String::new();
    encode_registry(&mut text, &registry)?;
    encode_registry(&mut text, &process())?;
    encode_eof(&mut text)?;
    Ok(text)
}

fn role(registry: &mut Registry, status: &NodeStatus) {
    let NodeStatus { number, term, is_writer, silent, .. } = status;
    registry.register("term", "The term of the writer, as the node has read the log", gauge(*term as f64));
    registry.register("writer", "Whether the node is the writer", gauge(f64::from(u8::from(*is_writer))));
    registry.register("commit", "The last commit that the node has read in the log", gauge(*number as f64));
    // One that has heard nothing yet has no time.
    if *silent < Duration::MAX {
        let about = "Time since the node has heard of the log";
        registry.register_with_unit("heard", about, Unit::Seconds, gauge(silent.as_secs_f64()));
    }
}

fn shards(registry: &mut Registry, status: &NodeStatus) {
    let of_each = |value: &dyn Fn(&ShardStatus) -> f64| {
        let shards = status.shards.iter();
        gauges(shards.map(|shard| (vec![("shard", shard.shard.to_string())], value(shard))).collect::<Vec<_>>())
    };
    let applied = of_each(&|shard| shard.number as f64);
    registry.register("shard_commit", "The last commit that a shard has applied", applied);
    let lag = of_each(&|shard| status.number.saturating_sub(shard.number) as f64);
    registry.register("shard_lag_commits", "Commits that the node has read and a shard has not applied", lag);
    registry.register("shard_cuts", "Points of the log at which a shard can be read", of_each(&|shard| shard.cuts as f64));
    let trouble = of_each(&|shard| f64::from(u8::from(shard.trouble.is_some())));
    registry.register("shard_in_trouble", "Whether a shard cannot follow the log", trouble);
    let bytes = of_each(&|shard| shard.bytes as f64);
    registry.register_with_unit("shard_disk", "Size of a shard on the disk", Unit::Bytes, bytes);
}

fn log(registry: &mut Registry, log: &LogSeen) {
    let LogSeen { records_read, bytes_read, records_written, bytes_written, records_held, commits_held } = *log;
    registry.register("log_records_read", "Records of the log that the node has read", counter(records_read));
    registry.register("log_records_written", "Records that the node has sent to the log", counter(records_written));
    registry.register_with_unit("log_read", "Bytes of the log that were read", Unit::Bytes, counter(bytes_read));
    registry.register_with_unit("log_written", "Bytes sent to the log", Unit::Bytes, counter(bytes_written));
    let of = |of: &str, bytes: u64| (vec![("of", of.to_owned())], bytes as f64);
    let held = gauges([of("records", records_held), of("commits", commits_held)]);
    registry.register_with_unit(
        "log_held",
        "The end of the log in memory: for shards, and for who writes",
        Unit::Bytes,
        held,
    );
}

fn writes(registry: &mut Registry, writes: &WritesSeen) {
    let WritesSeen { commits, made, refused } = *writes;
    registry.register("commits_written", "Commits that the node has sent to the log as the writer", counter(commits));
    let of = |outcome: &str, count| (vec![("outcome", outcome.to_owned())], count);
    let transactions = counters([of("made", made), of("refused", refused)]);
    registry.register("transactions", "Transactions that the node was to make as the writer", transactions);
}

/// The calls of others that it has answered, and its own calls of others.
fn calls(registry: &mut Registry, sides: &[(&'static str, &Vec<CallsSeen>)]) {
    let all = || sides.iter().flat_map(|(side, calls)| calls.iter().map(|calls| (*side, calls)));
    let labels = |side: &str, calls: &CallsSeen| vec![("side", side.to_owned()), ("call", calls.kind.name().to_owned())];
    let counted = |count: fn(&CallsSeen) -> u64| counters(all().map(|(side, calls)| (labels(side, calls), count(calls))));
    registry.register("calls", "Calls by their kind", counted(|calls| calls.calls));
    registry.register_with_unit("call", "Bytes of calls", Unit::Bytes, counted(|calls| calls.call_bytes));
    registry.register("replies", "Replies to calls", counted(|calls| calls.replies));
    registry.register_with_unit("reply", "Bytes of replies", Unit::Bytes, counted(|calls| calls.reply_bytes));
    registry.register("calls_failed", "Calls that failed", counted(|calls| calls.failed));
    let running = gauges(all().map(|(side, calls)| (labels(side, calls), calls.running as f64)));
    registry.register("calls_running", "Calls that run now", running);
    let time = times(all().map(|(side, calls)| (labels(side, calls), calls.time)));
    registry.register_with_unit("call_duration", "Time of the calls that have ended", Unit::Seconds, time);
}

/// The memory of the process, where the system tells it.
fn process() -> Registry {
    let mut registry = Registry::default();
    if let Some(bytes) = resident_bytes() {
        registry.register_with_unit("process_resident_memory", "Memory of the process", Unit::Bytes, gauge(bytes as f64));
    }
    registry
}

/// `VmRSS:  1234 kB` of Linux.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? * 1024)
}
