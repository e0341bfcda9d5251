//! `mangrove cluster status`.

use std::time::Duration;

use clap::Args;
use mangrove::cluster::{self, GraphAddress, GraphRecord, LakeNodeFound, NodeAbout, NodeFound, NodeStatus, ShardStatus};
use serde_json::{Value, json};

use super::{Format, failed};
use crate::{Failure, output};

/// A node hears of the log several times a second. A writer that has not heard of it for so long lets nobody begin to write.
const SILENT: Duration = Duration::from_secs(3);

#[derive(Args)]
pub struct Status {
    /// Address of the graph: mangrove://host:port/NAME
    address: GraphAddress,
    /// Write the answer in this format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

impl Status {
    pub fn run(self) -> Result<(), Failure> {
        if let Some(nodes) = cluster::lake_nodes(&self.address).map_err(failed)? {
            return output::print_text(&match self.format {
                Format::Json => lake_as_json(&self.address.graph, &nodes).to_string(),
                Format::Table => lake_as_text(&self.address.graph, &nodes),
            });
        }
        let (graph, nodes) = cluster::nodes(&self.address).map_err(failed)?;
        if self.format == Format::Json {
            let (records, nodes) = (allowed(&nodes), nodes.iter().map(node_as_json).collect::<Vec<Value>>());
            let all = json!({ "graph": id(&graph), "shards": graph.placement.shards, "records": records, "nodes": nodes });
            return output::print_text(&all.to_string());
        }
        output::print_text(&as_text(&graph, &nodes))
    }
}

fn lake_as_json(graph: &str, nodes: &[LakeNodeFound]) -> Value {
    let node = |found: &LakeNodeFound| {
        let mut all = json!({ "name": found.node.name, "address": found.node.address });
        match &found.hello {
            Ok(hello) => {
                all["calls"] = json!(hello.calls);
                all["chunks"] = json!(hello.chunks);
            }
            Err(error) => all["error"] = json!(error.to_string()),
        }
        all
    };
    json!({ "lake": graph, "nodes": nodes.iter().map(node).collect::<Vec<_>>() })
}

fn lake_as_text(graph: &str, nodes: &[LakeNodeFound]) -> String {
    let node = |LakeNodeFound { node, hello, .. }: &LakeNodeFound| match hello {
        Ok(hello) => format!("{}  {}  {} calls, {} chunks\n", node.name, node.address, hello.calls, hello.chunks),
        Err(error) if node.name.is_empty() => format!("{}: {error}\n", node.address),
        Err(error) => format!("{}  {}: {error}\n", node.name, node.address),
    };
    format!("lake {graph}\n") + &nodes.iter().map(node).collect::<String>()
}

fn id(graph: &GraphRecord) -> String {
    format!("{:016x}", graph.id)
}

fn as_text(graph: &GraphRecord, nodes: &[NodeFound]) -> String {
    let statuses = || nodes.iter().filter_map(|node| node.status.as_ref().ok());
    let newest = statuses().map(|status| status.number).max().unwrap_or(0);
    let mut text = format!("graph {}, {} shards, commit {newest}\n", id(graph), graph.placement.shards);
    let least = statuses().map(|status| status.silent).min().filter(|silent| *silent >= SILENT);
    if let Some(silent) = least {
        text += &format!("the log has not been heard {}: writes wait. Is Kafka there?\n", since(silent));
    }
    text += &versions_as_text(nodes);
    nodes.iter().for_each(|node| text += &node_as_text(node, newest, least.is_none()));
    text
}

/// The version of records that the graph allows, as far as some node knows.
fn allowed(nodes: &[NodeFound]) -> Option<u8> {
    nodes.iter().filter_map(|node| Some(node.about.as_ref()?.allowed)).max()
}

/// What an upgrade still needs.
fn versions_as_text(nodes: &[NodeFound]) -> String {
    let abouts = || nodes.iter().filter_map(|node| node.about.as_ref());
    let (Some(allowed), Some(newest)) = (allowed(nodes), abouts().map(|about| about.reads).max()) else {
        return String::new();
    };
    let is_new = |node: &NodeFound| node.about.as_ref().is_some_and(|about| about.reads == newest);
    match newest > allowed {
        false => String::new(),
        true if nodes.iter().all(is_new) => format!(
            "all nodes read records of version {newest}, and the graph allows version {allowed}: type `mangrove cluster finalize`\n"
        ),
        true => format!(
            "the graph allows records of version {allowed}, and some nodes read version {newest}: upgrade the others, and type `mangrove \
             cluster finalize`\n"
        ),
    }
}

/// How long a node has heard nothing of the log.
fn since(silent: Duration) -> String {
    match silent {
        Duration::MAX => "since the node started".to_owned(),
        silent => format!("for {} s", silent.as_secs()),
    }
}

fn node_as_json(node: &NodeFound) -> Value {
    let member = &node.member;
    let mut all = json!({ "name": member.name, "address": member.address, "shards": member.shards });
    match &node.status {
        Ok(NodeStatus { process: _, number, term, is_writer, silent, shards }) => {
            let applied = |shard: &ShardStatus| {
                json!({
                    "shard": shard.shard, "applied": shard.number, "cuts": shard.cuts, "bytes": shard.bytes, "trouble": shard.trouble
                })
            };
            all["writer"] = json!(is_writer);
            all["commit"] = json!(number);
            all["term"] = json!(term);
            all["heard_seconds"] = json!((*silent < Duration::MAX).then_some(silent.as_secs_f64()));
            all["applied"] = shards.iter().map(applied).collect();
            if let Some(NodeAbout { software, reads, .. }) = &node.about {
                all["software"] = json!(software);
                all["records"] = json!(reads);
            }
        }
        Err(error) => {
            all["writer"] = json!(false);
            all["error"] = json!(error.to_string());
        }
    }
    all
}

fn node_as_text(node: &NodeFound, newest: u64, others_hear: bool) -> String {
    let member = &node.member;
    let shards: Vec<String> = member.shards.iter().map(u16::to_string).collect();
    let head = format!("{}  {}  shards {}", member.name, member.address, shards.join(","));
    let status = match &node.status {
        Ok(status) => status,
        Err(error) => return format!("{head}: {error}\n"),
    };
    let role = if status.is_writer { format!(", writes in term {}", status.term) } else { String::new() };
    let version = node.about.as_ref().map(|about| format!(", Mangrove {}", about.software)).unwrap_or_default();
    let mut text = format!("{head}{version}{role}\n");
    if others_hear && status.silent >= SILENT {
        text += &format!("  has not heard of the log {}\n", since(status.silent));
    }
    for shard in &status.shards {
        let behind = newest.saturating_sub(shard.number);
        match &shard.trouble {
            Some(trouble) => text += &format!("  shard {} at commit {}: {trouble}\n", shard.shard, shard.number),
            None if behind > 0 => text += &format!("  shard {} is {behind} commits behind\n", shard.shard),
            None => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use mangrove::cluster::Member;

    use super::*;

    fn node(name: &str, is_writer: bool, silent: Duration) -> NodeFound {
        let member = Member { name: name.into(), address: format!("{name}:7701"), shards: vec![0, 1], ..Member::default() };
        NodeFound {
            member,
            status: Ok(NodeStatus { process: 1, number: 9, term: 2, is_writer, silent, shards: Vec::new() }),
            about: None,
        }
    }

    fn of_version(name: &str, reads: u8, allowed: u8) -> NodeFound {
        let about = Some(NodeAbout { software: format!("0.{reads}"), reads, allowed });
        NodeFound { about, ..node(name, false, Duration::ZERO) }
    }

    #[test]
    fn it_says_what_an_upgrade_needs() {
        let all = [of_version("a", 7, 7), of_version("b", 7, 7)];
        assert_eq!(shown(&all), ["a  a:7701  shards 0,1, Mangrove 0.7", "b  b:7701  shards 0,1, Mangrove 0.7"]);
        let half = [of_version("a", 7, 6), node("b", false, Duration::ZERO)];
        assert!(
            shown(&half)[0].starts_with("the graph allows records of version 6, and some nodes read version 7: upgrade")
        );
        let ready = [of_version("a", 7, 6), of_version("b", 7, 6)];
        let said = "all nodes read records of version 7, and the graph allows version 6: type `mangrove cluster finalize`";
        assert_eq!(shown(&ready)[0], said);
        assert_eq!((allowed(&ready), node_as_json(&ready[0])["records"].as_u64()), (Some(6), Some(7)));
    }

    fn shown(nodes: &[NodeFound]) -> Vec<String> {
        let text = as_text(&GraphRecord { id: 7, ..GraphRecord::default() }, nodes);
        text.lines().skip(1).map(str::to_owned).collect()
    }

    #[test]
    fn a_log_that_nobody_hears_has_a_line_of_its_own() {
        let seconds = Duration::from_secs;
        let (one, other) = ("a  a:7701  shards 0,1, writes in term 2", "b  b:7701  shards 0,1");
        let heard = [node("a", true, seconds(0)), node("b", false, seconds(1))];
        assert_eq!(shown(&heard), [one, other]);
        let [first, _] = heard;
        let half = [first, node("b", false, seconds(40))];
        assert_eq!(shown(&half), [one, other, "  has not heard of the log for 40 s"]);
        let none = [node("a", true, seconds(12)), node("b", false, Duration::MAX)];
        assert_eq!(shown(&none), ["the log has not been heard for 12 s: writes wait. Is Kafka there?", one, other]);
        let never = [node("b", false, Duration::MAX)];
        assert_eq!(
            shown(&never),
            ["the log has not been heard since the node started: writes wait. Is Kafka there?", other]
        );
        assert_eq!(node_as_json(&never[0])["heard_seconds"], Value::Null);
    }
}
