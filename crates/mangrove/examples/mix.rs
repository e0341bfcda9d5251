//! Runs streams of TAO's operations through `mangrove::direct`, one thread a stream, and says how many were done in a second.
//!
//! ```text
//! cargo run --release -p mangrove --example mix -- DB STREAMS.json SECONDS
//! ```
//! The file has a list of streams. A stream is a list of operations: [name, edge type or "", parameters]. They are those of the
//! benchmark's suite `tao` (benches/compare/tao_mix.py), on its graph. It prints {"per_s": …, "refused": …}.

use std::error::Error;
use std::sync::Barrier;
use std::time::{Duration, Instant};
use std::{fs, thread};

use mangrove::direct::{DirectReads, tao};
use mangrove::{Database, StoreError, Value};
use serde_json::{Map, Value as Json};

const LABEL: &str = "User";
const LATEST: u64 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, streams, seconds] = &arguments[..] else {
        return Err("a database, a file of streams and seconds, please".into());
    };
    let (database, seconds) = (Database::open(path)?, Duration::from_secs_f64(seconds.parse()?));
    let streams: Vec<Vec<Drawn>> = serde_json::from_slice(&fs::read(streams)?)?;
    let streams: Vec<Vec<Operation>> =
        streams.into_iter().map(|stream| stream.into_iter().map(Operation::new).collect()).collect();
    let begin = Barrier::new(streams.len());
    let (mut done, mut refused, mut took) = (0, 0, Duration::ZERO);
    thread::scope(|scope| {
        let clients: Vec<_> =
            streams.iter().map(|stream| scope.spawn(|| client(&database, stream, &begin, seconds))).collect();
        for client in clients {
            let (more, failed, lasted) = client.join().expect("a client that ends");
            (done, refused, took) = (done + more, refused + failed, took.max(lasted));
        }
    });
    println!("{}", serde_json::json!({ "per_s": f64::from(done) / took.as_secs_f64(), "refused": refused }));
    Ok(())
}

/// The name of an operation, an edge type, and parameters.
type Drawn = (String, String, Map<String, Json>);

/// How many operations were done, how many were refused, and how long that took.
fn client(database: &Database, stream: &[Operation], begin: &Barrier, seconds: Duration) -> (u32, u32, Duration) {
    begin.wait();
    let (start, mut done, mut refused) = (Instant::now(), 0, 0);
    for operation in stream {
        match operation.run(database) {
            Ok(()) => done += 1,
            Err(_) => refused += 1,
        }
        if start.elapsed() > seconds {
            break;
        }
    }
    (done, refused, start.elapsed())
}

struct Operation {
    name: String,
    edge_type: String,
    user: Value,
    other: Value,
    others: Vec<Value>,
    low: Option<i64>,
    high: Option<i64>,
    time: Option<Value>,
    properties: Vec<(String, Value)>,
}

impl Operation {
    fn new((name, edge_type, mut with): Drawn) -> Self {
        let mut take = |key: &str| with.remove(key).map_or(Value::Null, |json| value(&json));
        let (user, other, time) = (take("x"), take("y"), take("ts"));
        let (low, high) = (take("lo").as_time(), take("hi").as_time());
        let others = with.remove("ids").and_then(|ids| ids.as_array().map(|ids| ids.iter().map(value).collect()));
        let properties = with.iter().map(|(key, json)| (key.clone(), value(json))).collect();
        let time = Some(time).filter(|time| *time != Value::Null);
        Self { name, edge_type, user, other, others: others.unwrap_or_default(), low, high, time, properties }
    }

    fn run(&self, database: &Database) -> Result<(), StoreError> {
        if ["obj_get", "assoc_range", "assoc_get", "assoc_count", "assoc_time_range"].contains(&&self.name[..]) {
            return database.read_directly(|reads| self.read(reads));
        }
        let properties: Vec<(&str, Value)> = self.properties.iter().map(|(key, value)| (&key[..], value.clone())).collect();
        let (user, other, edge_type) = (&self.user, &self.other, &self.edge_type[..]);
        let (_, _) = database.write_directly(|graph| match &self.name[..] {
            "obj_add" => tao::obj_add(graph, LABEL, Some(user.clone()), &properties).map(|_| true),
            "obj_update" => tao::obj_update(graph, user, &properties),
            "obj_del" => tao::obj_del(graph, user),
            "assoc_add" => tao::assoc_add(graph, user, edge_type, other, self.time.clone(), &properties),
            "assoc_update" => tao::assoc_update(graph, user, edge_type, other, &properties),
            _ => tao::assoc_del(graph, user, edge_type, other),
        })?;
        Ok(())
    }

    fn read(&self, reads: DirectReads<'_>) -> Result<(), StoreError> {
        let (user, edge_type) = (&self.user, &self.edge_type[..]);
        match &self.name[..] {
            "obj_get" => tao::obj_get(reads, user).map(drop),
            "assoc_range" => tao::assoc_range(reads, user, edge_type, 0, LATEST).map(drop),
            "assoc_get" => tao::assoc_get(reads, user, edge_type, &self.others, None, None).map(drop),
            "assoc_count" => tao::assoc_count(reads, user, edge_type).map(drop),
            _ => tao::assoc_time_range(reads, user, edge_type, self.low, self.high, LATEST).map(drop),
        }
    }
}

fn value(json: &Json) -> Value {
    match json {
        Json::Number(number) => number.as_i64().map_or_else(|| Value::Float64(number.as_f64().unwrap_or(0.0)), Value::Int64),
        Json::String(text) => text.as_str().into(),
        _ => Value::Null,
    }
}
