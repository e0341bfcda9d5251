use mangrove_graph::{BigDecimal, Encoding, KeyId, PropertyValue};
use proptest::prelude::*;

use super::*;

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i8>().prop_map(Value::Int8),
        any::<i64>().prop_map(Value::Int64),
        any::<f32>().prop_map(Value::Float32),
        any::<f64>().prop_map(Value::Float64),
        (-9999i32..9999).prop_map(|i| Value::Float64(f64::from(i) / 100.0)),
        (any::<i64>(), -40i64..40).prop_map(|(i, scale)| BigDecimal::new(i.into(), scale).into()),
        ".{0,12}".prop_map(Value::from),
        prop::collection::vec(any::<u8>(), 0..9).prop_map(|bytes| Value::Bytes(bytes.into())),
        any::<u128>().prop_map(|u| Uuid::from_u128(u).into()),
        any::<i32>().prop_map(|days| Date(days).into()),
        (any::<i64>(), 0u32..1_000_000_000, -3i32..3)
            .prop_map(|(seconds, nanos, offset)| { DateTime { seconds, nanos, offset_seconds: offset * 1800 }.into() }),
        any::<i64>().prop_map(|us| DateTime::from_micros(us).into()),
        (any::<i64>(), 0u32..1_000_000_000).prop_map(|(seconds, nanos)| Duration { seconds, nanos }.into()),
    ]
}

fn vary(sample: &Value, n: u16) -> Value {
    match sample {
        Value::Int8(v) => Value::Int8(v.wrapping_add(n as i8)),
        Value::Int64(v) => Value::Int64(v.wrapping_add(i64::from(n))),
        Value::Float64(v) => Value::Float64(v + f64::from(n % 100) / 4.0),
        Value::Float32(v) => Value::Float32(v + f32::from(n % 100) / 10.0),
        Value::String(s) if s.len() % 2 == 0 => Value::string(format!("{s}{}", n % 30)),
        Value::String(s) => Value::string(format!("lantern {s} of meadow {n}")),
        Value::Bool(_) => Value::Bool(n.is_multiple_of(2)),
        other => other.clone(),
    }
}

fn cells() -> impl Strategy<Value = Vec<Cell>> {
    let uniform =
        (value(), prop::collection::vec((any::<u16>(), prop::bool::weighted(0.8)), 0..300)).prop_map(|(sample, rows)| {
            let cell = |(n, is)| if is { Cell::One(vary(&sample, n)) } else { Cell::Absent };
            rows.into_iter().map(cell).collect()
        });
    let many = (any::<u32>(), value()).prop_map(|(ordinal, value)| {
        Cell::Many(vec![PropertyValue { ordinal, value, meta: vec![(KeyId(3), true.into())] }])
    });
    let any_cell = prop_oneof![2 => Just(Cell::Absent), 4 => value().prop_map(Cell::One), 1 => many];
    prop_oneof![2 => uniform, 1 => prop::collection::vec(any_cell, 0..100)]
}

fn encoding() -> impl Strategy<Value = Encoding> {
    const NAMES: [&str; 6] = ["auto", "plain", "dictionary", "symbols", "searchable", "searchable:4"];
    prop::sample::select(&NAMES[..]).prop_map(|name| Encoding::parse(name).unwrap())
}

/// Bitwise equal: NaN equals itself, and zero does not equal minus zero.
fn same(a: &Cell, b: &Cell) -> bool {
    value::cell_bytes(a) == value::cell_bytes(b)
}

proptest! {
    #[test]
    fn chunks_give_back_their_cells(cells in cells(), encoding in encoding()) {
        let mut bytes = Vec::new();
        encode(&mut bytes, &cells, encoding);
        let chunk = Chunk::parse(&bytes, None).unwrap();
        let last = cells.iter().rposition(|cell| !cell.is_absent()).map_or(0, |last| last + 1);
        prop_assert!((last..=cells.len()).contains(&chunk.positions()));
        prop_assert_eq!(chunk.len(), cells.iter().filter(|cell| !cell.is_absent()).count());
        for (position, cell) in cells.iter().enumerate() {
            let back = chunk.cell(position).unwrap();
            prop_assert!(same(&back, cell), "{:?} for {:?}", back, cell);
            prop_assert_eq!(chunk.present(position / 128) >> (position % 128) & 1 == 1, !cell.is_absent());
        }
        prop_assert!(chunk.cell(cells.len()).unwrap().is_absent());
    }

    #[test]
    fn cells_across_chunks_are_those_of_each(
        columns in prop::collection::vec(prop::option::of((cells(), encoding())), 0..6), position in 0usize..120,
    ) {
        let encoded: Vec<Option<Vec<u8>>> = columns
            .iter()
            .map(|column| column.as_ref().map(|(cells, encoding)| {
                let mut bytes = Vec::new();
                encode(&mut bytes, cells, *encoding);
                bytes
            }))
            .collect();
        let chunks: Vec<Option<Chunk>> =
            encoded.iter().map(|bytes| bytes.as_ref().map(|bytes| Chunk::parse(bytes, None).unwrap())).collect();
        let asked: Vec<Option<&Chunk>> = chunks.iter().map(Option::as_ref).collect();
        let mut found = vec![Cell::Absent; columns.len()];
        cells_across(&asked, position, |number, cell| found[number] = cell).unwrap();
        for (column, found) in columns.iter().zip(&found) {
            let cell = column.as_ref().and_then(|(cells, _)| cells.get(position)).unwrap_or(&Cell::Absent);
            prop_assert!(same(found, cell), "{:?} for {:?}", found, cell);
        }
    }

    #[test]
    fn ends_come_back(ends in prop::collection::vec(prop::option::of((any::<u64>(), any::<u64>())), 0..200)) {
        let edges: Vec<Option<EdgeRef>> = ends.iter().map(|ends| {
            ends.map(|(s, t)| EdgeRef { id: EdgeId(9), source: VertexId(s >> 20), target: VertexId(t) })
        }).collect();
        let mut bytes = Vec::new();
        encode_ends(&mut bytes, &edges);
        let chunk = Chunk::parse(&bytes, None).unwrap();
        for (position, edge) in edges.iter().enumerate() {
            prop_assert_eq!(&chunk.edge(EdgeId(9), position).unwrap(), edge);
            prop_assert_eq!(chunk.source_at(0), None);
        }
        let mut bytes = Vec::new();
        encode_sources(&mut bytes, &edges);
        let chunk = Chunk::parse(&bytes, None).unwrap();
        for (position, edge) in edges.iter().enumerate() {
            let source = chunk.rank(position).and_then(|rank| chunk.source_at(rank));
            prop_assert_eq!(source, edge.map(|edge| edge.source));
            prop_assert_eq!(chunk.edge(EdgeId(9), position).is_err(), edge.is_some());
        }
    }

    #[test]
    fn damaged_chunks_are_refused_or_read(
        cells in cells(), encoding in encoding(), flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = Vec::new();
        encode(&mut bytes, &cells, encoding);
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        if let Ok(chunk) = Chunk::parse(&bytes, None) {
            for position in 0..chunk.positions().min(400) {
                let _ = chunk.cell(position);
                let _ = (chunk.edge(EdgeId(0), position), chunk.rank(position).map(|rank| chunk.source_at(rank)));
            }
        }
    }
}

#[test]
fn the_form_is_what_takes_least() {
    let form = |values: &mut dyn Iterator<Item = Value>| {
        let mut bytes = Vec::new();
        encode(&mut bytes, &values.map(Cell::One).collect::<Vec<_>>(), Encoding::Auto);
        (Chunk::parse(&bytes, None).unwrap().form(), bytes.len())
    };
    let text = |n: u32| format!("the lantern of meadow {n}");
    let (kept, bytes) = form(&mut (0..2000).map(|n| Value::string(text(n))));
    let raw: usize = (0..2000).map(|n| text(n).len()).sum();
    assert!(kept == "symbols" && bytes * 3 < raw, "{kept}, {bytes} of {raw}");
    assert_eq!(form(&mut (0..2000).map(|n| Value::Bytes(text(n).into_bytes().into()))).0, "symbols");
    assert_eq!(form(&mut (0..2000).map(|n| Value::string(text(n % 5)))).0, "dictionary");
    assert_eq!(form(&mut (0..20).map(|n| Value::string(text(n)))).0, "bytes");
    assert_eq!(form(&mut (0..2000).map(|n| Value::from(i64::from(n)))).0, "integers");
}

#[test]
fn the_form_can_be_chosen() {
    let texts: Vec<Cell> = (0..300).map(|n| Cell::One(Value::string(format!("lantern {}", n % 200)))).collect();
    let numbers: Vec<Cell> = (0..300).map(|n| Cell::One(Value::from(n))).collect();
    for (encoding, of_texts, of_numbers) in [
        (Encoding::Auto, "bytes", "integers"),
        (Encoding::Plain, "bytes", "integers"),
        (Encoding::Dictionary, "dictionary", "dictionary"),
        (Encoding::Symbols, "symbols", "integers"),
        (Encoding::Searchable { sampling_log2: 5 }, "searchable", "integers"),
    ] {
        for (cells, form) in [(&texts, of_texts), (&numbers, of_numbers)] {
            let mut bytes = Vec::new();
            encode(&mut bytes, cells, encoding);
            assert_eq!(Chunk::parse(&bytes, None).unwrap().form(), form, "{encoding}");
        }
    }
}

#[test]
fn parts_of_texts_are_found() {
    let text = |n: usize| (n % 3 != 1).then(|| format!("{} lantern {}", ["red", "green"][n % 2], n * n));
    let cells: Vec<Cell> = (0..1000).map(|n| text(n).map_or(Cell::Absent, |text| Cell::One(Value::string(text)))).collect();
    let mut bytes = Vec::new();
    encode(&mut bytes, &cells, Encoding::parse("searchable").unwrap());
    let chunk = Chunk::parse(&bytes, None).unwrap();
    type Test = fn(&str, &str) -> bool;
    let modes: [(Mode, Test); 4] = [
        (Mode::Equal, |text, part| text == part),
        (Mode::Prefix, |text, part| text.starts_with(part)),
        (Mode::Suffix, |text, part| text.ends_with(part)),
        (Mode::Contains, |text, part| text.contains(part)),
    ];
    for pattern in ["red", "lantern 4", "16", "red lantern 16", "green lantern 81", "blue", ""] {
        for (mode, test) in modes {
            let mut blocks = [0u128; 8];
            chunk.find_text(pattern.as_bytes(), mode, &mut blocks).unwrap();
            for n in 0..1000 {
                let expected = text(n).is_some_and(|text| test(&text, pattern));
                assert_eq!(blocks[n / 128] >> (n % 128) & 1 == 1, expected, "{pattern} {mode:?} {n}");
            }
        }
    }
}

#[test]
fn what_repeats_or_is_regular_takes_little() {
    let size = |cells: Vec<Cell>| {
        let mut bytes = Vec::new();
        encode(&mut bytes, &cells, Encoding::Auto);
        bytes.len()
    };
    let n = 10_000usize;
    let of = |value: &dyn Fn(usize) -> Value| (0..n).map(|at| Cell::One(value(at))).collect::<Vec<_>>();
    assert!(size(of(&|at| Value::Int64(at as i64))) < 100);
    assert!(size(of(&|at| ["red", "green", "blue"][at % 3].into())) < n / 4 + 200);
    assert!(size(of(&|at| Value::Float64(((at * 7919) % 10_000) as f64 / 10_000.0))) < 2 * n);
    let sparse = (0..n).map(|at| if at % 100 == 0 { Cell::One("rare".into()) } else { Cell::Absent }).collect();
    assert!(size(sparse) < n / 4);
}

/// Values of several pieces, encoded at once or one after the other.
#[test]
fn long_values_come_back_from_a_file() {
    use crate::file::{Identity, PartKey, SegmentFile, SegmentWriter};
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("1.seg");
    let key = |chunk| PartKey { part: 1, kind: 0, label: 0, sub: 0, chunk };
    let noise = |n: u64, len: usize| {
        (0..len as u64).map(|i| (i * i * 31 + n * 7919).wrapping_mul(0x9e37_79b9) as u8).collect::<Vec<_>>()
    };
    let text = |n: usize| Value::string(format!("{n} the lantern of meadow {} ", n * n).repeat(n * 7 % 600));
    let bytes = |n: usize| Value::Bytes(noise(n as u64, n * 13 % 5000).into());
    let list = |n: usize| Value::list(vec![text(n), Value::from(n as i64)]);
    type Column<'a> = (Option<ValueType>, Encoding, &'a str, &'a dyn Fn(usize) -> Value);
    let columns: [Column; 4] = [
        (Some(ValueType::String), Encoding::Auto, "symbols", &text),
        (Some(ValueType::String), Encoding::Plain, "bytes", &text),
        (Some(ValueType::Bytes), Encoding::Auto, "bytes", &bytes),
        (Some(ValueType::List), Encoding::Auto, "cells", &list),
    ];
    let cells = |value: &dyn Fn(usize) -> Value| -> Vec<Cell> {
        (0..400).map(|n| if n % 5 == 2 { Cell::Absent } else { Cell::One(value(n)) }).collect()
    };
    let mut writer = SegmentWriter::create(&path, Identity::default()).unwrap();
    for (column, (value_type, encoding, _, value)) in (0..).zip(&columns) {
        let (cells, mut out) = (cells(value), Vec::new());
        let values = encode(&mut out, &cells, *encoding);
        writer.put_values(key(2 * column), &out, values).unwrap();
        let mut long = LongValues::begin(&mut writer, *value_type, *encoding, &cells[..100]);
        cells.iter().try_for_each(|cell| long.put(cell)).unwrap();
        long.finish(key(2 * column + 1)).unwrap();
    }
    writer.finish().unwrap();
    let file = SegmentFile::open(&path).unwrap();
    file.verify().unwrap();
    for (column, (value_type, _, form, value)) in (0..).zip(&columns) {
        for chunk in [2 * column, 2 * column + 1].map(|chunk| file.column(key(chunk)).unwrap().unwrap()) {
            assert_eq!(chunk.form(), *form);
            assert_eq!(chunk.value_type(), value_type.filter(|t| *t != ValueType::List));
            for (position, cell) in cells(value).iter().enumerate() {
                assert!(same(&chunk.cell(position).unwrap(), cell), "{form} {position}");
            }
        }
    }
}
