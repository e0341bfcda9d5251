//! Measures the speed of the readers, without a graph: `cargo run --release -p mangrove-ingest --example parse_speed [NAME]`.

use std::sync::Arc;
use std::time::Instant;

use mangrove_graph::Value;
use mangrove_ingest::{Table, TableInput, bytes};

fn main() {
    measure("edges.csv (src, dst, ts, weight)", || edges_csv(2_000_000), |text| bytes::csv(text).map(|r| r.edges));
    measure("people.csv (id, name, age)", || people_csv(500_000), |text| bytes::csv(text).map(|r| r.vertices));
    measure("quoted.csv (id, \"text, text\")", || quoted_csv(500_000), |text| bytes::csv(text).map(|r| r.vertices));
    measure("people.jsonl", || people_jsonl(300_000), |text| bytes::jsonl(text).map(|r| r.vertices));
    measure("graph.graphson, both passes", || graphson(100_000), |text| bytes::graphson(text).map(|r| r.vertices));
    measure("graph.graphml, both passes", || graphml(100_000), |text| bytes::graphml(text).map(|r| r.vertices));
    let rows = edge_rows(1_000_000);
    measure("rows of values (src, dst, weight)", || vec![0; 1_000_000 * 96], |_| bytes::table(&rows).map(|r| r.edges));
}

fn measure<E: std::fmt::Debug>(name: &str, make: impl Fn() -> Vec<u8>, read: impl Fn(&[u8]) -> Result<usize, E>) {
    let asked: Option<String> = std::env::args().nth(1);
    if asked.is_some_and(|asked| !name.contains(&asked)) {
        return;
    }
    let text = make();
    let best = (0..5).map(|_| {
        let start = cpu_seconds();
        let rows = read(&text).expect("the text is well formed");
        (cpu_seconds() - start, rows)
    });
    let (seconds, rows) = best.min_by(|a, b| a.0.total_cmp(&b.0)).expect("it ran");
    let megabytes = text.len() as f64 / 1e6;
    println!("{name:38} {megabytes:7.1} MB  {:6.0} MB/s  {:6.2} M rows/s", megabytes / seconds, rows as f64 / seconds / 1e6);
}

/// Processor time of this thread, which excludes other programs on the machine. Wall time on systems other than Linux.
fn cpu_seconds() -> f64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanos.map_or_else(|| START.get_or_init(Instant::now).elapsed().as_secs_f64(), |nanos| nanos / 1e9)
}

fn scrambled(i: u64) -> u64 {
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
}

fn edges_csv(n: u64) -> Vec<u8> {
    let line = |i: u64| {
        let r = scrambled(i);
        format!("{},{},{},0.{:06}\n", r % 262_144, (r >> 18) % 262_144, 1_600_000_000 + r % 100_000_000, r % 1_000_000)
    };
    std::iter::once("src,dst,ts,weight\n".to_owned()).chain((0..n).map(line)).collect::<String>().into_bytes()
}

/// Three values of 32 bytes a row, as language bindings provide them.
fn edge_rows(n: u64) -> TableInput {
    let row = |i: u64| {
        let r = scrambled(i);
        [Value::Int64((r % 262_144) as i64), Value::Int64(((r >> 18) % 262_144) as i64), Value::Float64(0.5)]
    };
    let names = ["src", "dst", "weight"].map(Arc::from).to_vec();
    TableInput::edges(None, "E", None, Table::Rows { names, values: (0..n).flat_map(row).collect() })
}

fn people_csv(n: u64) -> Vec<u8> {
    let line = |i: u64| format!("{i},name-{:026},{}\n", scrambled(i), scrambled(i) % 90);
    std::iter::once("id,name,age\n".to_owned()).chain((0..n).map(line)).collect::<String>().into_bytes()
}

fn quoted_csv(n: u64) -> Vec<u8> {
    let line = |i: u64| format!("{i},\"said \"\"{}\"\", and left\"\n", scrambled(i));
    std::iter::once("id,text\n".to_owned()).chain((0..n).map(line)).collect::<String>().into_bytes()
}

fn people_jsonl(n: u64) -> Vec<u8> {
    let line = |i: u64| format!("{{\"id\": {i}, \"name\": \"name-{}\", \"age\": {}}}\n", scrambled(i), i % 90);
    (0..n).map(line).collect::<String>().into_bytes()
}

fn graphson(n: u64) -> Vec<u8> {
    let line = |i: u64| {
        format!(
            "{{\"id\":{{\"@type\":\"g:Int64\",\"@value\":{i}}},\"label\":\"person\",\"outE\":{{\"knows\":[{{\"id\":\
             {{\"@type\":\"g:Int64\",\"@value\":{}}},\"inV\":{{\"@type\":\"g:Int64\",\"@value\":{}}},\"properties\":\
             {{\"weight\":{{\"@type\":\"g:Double\",\"@value\":0.5}}}}}}]}},\"properties\":{{\"name\":[{{\"value\":\
             \"name-{i}\"}}]}}}}\n",
            n + i,
            scrambled(i) % n
        )
    };
    (0..n).map(line).collect::<String>().into_bytes()
}

fn graphml(n: u64) -> Vec<u8> {
    let mut text = String::from(
        "<graphml><key id=\"name\" for=\"node\" attr.name=\"name\" attr.type=\"string\"/><graph edgedefault=\"directed\">\n",
    );
    for i in 0..n {
        text += &format!("<node id=\"{i}\"><data key=\"name\">name-{i}</data></node>\n");
    }
    for i in 0..n {
        text += &format!("<edge id=\"{}\" source=\"{i}\" target=\"{}\"/>\n", n + i, scrambled(i) % n);
    }
    (text + "</graph></graphml>").into_bytes()
}
