use mangrove::*; use std::time::Instant;
fn main() {
    let dir = std::env::temp_dir().join(format!("mgb{}", std::process::id()));
    let db = Database::open(&dir).unwrap();
    let mut ing = db.ingest(Default::default()).unwrap();
    let n = 200_000i64;
    let values = (0..n).flat_map(|i| [Value::Int64(i), Value::string(format!("name{i}")), Value::Int64(i % 90)]).collect();
    ing.add(ingest::TableInput::vertices("p", ingest::Table::Rows { names: vec!["id".into(), "name".into(), "age".into()], values })).unwrap();
    ing.flush().unwrap();
    let o = QueryOptions::default();
    for q in ["g.V(x)", "g.V(x).values('name')", "g.V(x).valueMap()", "g.inject(x)"] {
        let mut p = Parameters::new();
        let t = Instant::now(); let m = 20000;
        for i in 0..m { p.insert("x".into(), Value::Int64((i * 7919) % n)); let mut r = db.query(q, &p, &o).unwrap(); let d = r.described().unwrap(); assert_eq!(d.len(), 1); }
        println!("{q}: {:.2} us", t.elapsed().as_secs_f64() * 1e6 / m as f64);
    }
    // the layer alone
    let query = mangrove_query::Query::parse("g.V(x).values('name')").unwrap();
    let mut p = Parameters::new(); let t = Instant::now(); let m = 20000;
    for i in 0..m { p.insert("x".into(), Value::Int64((i * 7919) % n)); let s = db.snapshot().unwrap(); let mut g = mangrove_query::Graph::Read(&s); let mut e = query.execute(&mut g, &p, &o).unwrap(); assert_eq!(e.collect(&mut g).unwrap().len(), 1); }
    println!("engine only: {:.2} us", t.elapsed().as_secs_f64() * 1e6 / m as f64);
    let t = Instant::now(); for _ in 0..m { let _s = db.snapshot().unwrap(); } println!("snapshot: {:.2} us", t.elapsed().as_secs_f64() * 1e6 / m as f64);
    std::fs::remove_dir_all(dir).unwrap();
}
