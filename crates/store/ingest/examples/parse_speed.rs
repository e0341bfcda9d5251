//! How fast the readers are, without a graph behind them: `cargo run --release -p mangrove-ingest --example parse_speed
//! [NAME]`.

use std::time::Instant;

use mangrove_ingest::bytes;

fn main() {
    let edges = edges_csv(2_000_000);
    measure("edges.csv (src, dst, ts, weight)", &edges, || bytes::csv(&edges).map(|r| r.edges));
    let people = people_csv(500_000);
    measure("people.csv (id, name, age)", &people, || bytes::csv(&people).map(|r| r.vertices));
    let quoted = quoted_csv(500_000);
    measure("quoted.csv (id, \"text, text\")", &quoted, || bytes::csv(&quoted).map(|r| r.vertices));
    let json = people_jsonl(300_000);
    measure("people.jsonl", &json, || bytes::jsonl(&json).map(|r| r.vertices));
    let graphson = graphson(100_000);
    measure("graph.json (GraphSON, both passes)", &graphson, || bytes::graphson(&graphson).map(|r| r.vertices));
    let graphml = graphml(100_000);
    measure("graph.graphml (both passes)", &graphml, || bytes::graphml(&graphml).map(|r| r.vertices));
}

fn measure<E: std::fmt::Debug>(name: &str, text: &[u8], read: impl Fn() -> Result<usize, E>) {
    let asked: Option<String> = std::env::args().nth(1);
    if asked.is_some_and(|asked| !name.contains(&asked)) {
        return;
    }
    let best = (0..3).map(|_| {
        let start = cpu_seconds();
        let rows = read().expect("the text is well formed");
        (cpu_seconds() - start, rows)
    });
    let (seconds, rows) = best.min_by(|a, b| a.0.total_cmp(&b.0)).expect("it ran");
    let megabytes = text.len() as f64 / 1e6;
    println!("{name:38} {megabytes:7.1} MB  {:6.0} MB/s  {:6.2} M rows/s", megabytes / seconds, rows as f64 / seconds / 1e6);
}

/// Time this thread has run: other programs on the machine do not count. Wall time where Linux does not tell.
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
