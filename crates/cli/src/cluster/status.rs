//! `mangrove cluster status`.

use clap::{Args, ValueEnum};
use mangrove::cluster::{self, GraphAddress, NodeFound, NodeStatus, ShardStatus};
use serde_json::{Value, json};

use super::failed;
use crate::{Failure, output};

#[derive(Args)]
pub struct Status {
    /// Address of the graph: mangrove://host:port/NAME
    address: GraphAddress,
    /// Write the answer in this format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
}

impl Status {
    pub fn run(self) -> Result<(), Failure> {
        let (graph, nodes) = cluster::nodes(&self.address).map_err(failed)?;
        let id = format!("{:016x}", graph.id);
        let shards = graph.placement.shards;
        if self.format == Format::Json {
            let nodes: Vec<Value> = nodes.iter().map(node_as_json).collect();
            return output::print_text(&json!({ "graph": id, "shards": shards, "nodes": nodes }).to_string());
        }
        let newest = nodes.iter().filter_map(|node| Some(node.status.as_ref().ok()?.number)).max().unwrap_or(0);
        let mut text = format!("graph {id}, {shards} shards, commit {newest}\n");
        nodes.iter().for_each(|node| text += &node_as_text(node, newest));
        output::print_text(&text)
    }
}

fn node_as_json(node: &NodeFound) -> Value {
    let member = &node.member;
    let mut all = json!({ "name": member.name, "address": member.address, "shards": member.shards });
    match &node.status {
        Ok(NodeStatus { number, term, is_writer, silent, shards }) => {
            let applied = |shard: &ShardStatus| {
                json!({
                    "shard": shard.shard, "applied": shard.number, "cuts": shard.cuts, "bytes": shard.bytes, "trouble": shard.trouble
                })
            };
            all["writer"] = json!(is_writer);
            all["commit"] = json!(number);
            all["term"] = json!(term);
            all["heard_seconds"] = json!(silent.as_secs_f64());
            all["applied"] = shards.iter().map(applied).collect();
        }
        Err(error) => {
            all["writer"] = json!(false);
            all["error"] = json!(error.to_string());
        }
    }
    all
}

fn node_as_text(node: &NodeFound, newest: u64) -> String {
    let member = &node.member;
    let shards: Vec<String> = member.shards.iter().map(u16::to_string).collect();
    let head = format!("{}  {}  shards {}", member.name, member.address, shards.join(","));
    let status = match &node.status {
        Ok(status) => status,
        Err(error) => return format!("{head}: {error}\n"),
    };
    let role = if status.is_writer { format!(", writes in term {}", status.term) } else { String::new() };
    let mut text = format!("{head}{role}\n");
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
