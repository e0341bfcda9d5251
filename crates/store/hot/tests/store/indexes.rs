//! Indexes during and after the sealing of what they index.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use mangrove_graph::{
    Cell, ElementId, Elements, GraphView, GraphWrite, KeyId, LabelId, Predicate, PropertyColumn, PropertyId,
};
use mangrove_hot::{Hot, Patience, Writer};

use crate::*;

/// The vertices a label's index has for a value.
fn with_value(hot: &Hot, label: LabelId, key: KeyId, value: i64) -> Vec<u64> {
    let equal = Predicate::Compare(mangrove_graph::Comparison::Eq, value.into());
    let found =
        hot.snapshot().unwrap().search_all(PropertyId::of_vertices(label, key), &equal).unwrap().expect("there is an index");
    found.into_vertices().iter().map(|vertex| vertex.local()).collect()
}

/// Writes made while a segment is made stay in the tables and in the index, when the rest is removed from them.
#[test]
fn indexes_keep_what_is_written_while_they_are_sealed() {
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, .. } = names(&mut t);
    let number = t.ensure_key("number").unwrap();
    t.create_index(PropertyId::of_vertices(person, number)).unwrap();
    let ids = people(&mut t, person, 300);
    t.set_cell(ElementId::Vertex(ids[1]), number, Cell::One(1.into())).unwrap();
    t.set_cell(ElementId::Vertex(ids[2]), number, Cell::One(1.into())).unwrap();
    t.commit().unwrap();
    let done = std::cell::Cell::new(false);
    let write = || {
        if !done.replace(true) {
            let mut t = hot.begin().unwrap();
            t.set_cell(ElementId::Vertex(ids[2]), number, Cell::One(2.into())).unwrap();
            t.set_cell(ElementId::Vertex(ids[3]), number, Cell::One(1.into())).unwrap();
            t.commit().unwrap();
        }
        false
    };
    hot.seal(Writer::this_thread(), Patience { timeout: None, cancelled: &write }).unwrap();
    assert!(done.get());
    for _ in 0..2 {
        assert_eq!(with_value(&hot, person, number, 1), [1, 3]);
        assert_eq!(with_value(&hot, person, number, 2), [2]);
        assert_clean(&hot);
        hot.seal(Writer::this_thread(), Patience::ENDLESS).unwrap();
    }
}

#[test]
fn indexes_of_what_is_sealed_are_in_the_segments() {
    const PEOPLE: u64 = 70_000; // more pairs than a chunk has
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, .. } = names(&mut t);
    let number = t.ensure_key("number").unwrap();
    let ids = people(&mut t, person, PEOPLE as i64);
    let numbers: ArrayRef = Arc::new((0..PEOPLE as i64).map(|i| Some(i % 1000)).collect::<Int64Array>());
    t.set_properties(Elements::Vertices(&ids), number, &PropertyColumn::Typed(numbers)).unwrap();
    t.create_index(PropertyId::of_vertices(person, number)).unwrap();
    t.commit().unwrap();
    let in_table = || hot.stats().unwrap().tables.iter().find(|table| table.name == "index").unwrap().entries;
    let work = |what: &dyn Fn(Writer, Patience<'static>)| {
        what(Writer::this_thread(), Patience::ENDLESS);
        assert_clean(&hot);
    };
    let compact = || work(&|writer, patience| assert!(hot.compact(writer, patience).unwrap() > 0));
    assert_eq!(in_table(), PEOPLE);
    compact();
    assert_eq!(in_table(), 0);
    assert_eq!(hot.check().unwrap().index_entries, PEOPLE);
    for value in [0, 5, 499, 936, 999] {
        assert_eq!(with_value(&hot, person, number, value), (value as u64..PEOPLE).step_by(1000).collect::<Vec<_>>());
    }
    // Changed values are in the table, and replace sealed ones.
    let mut t = hot.begin().unwrap();
    t.set_cell(ElementId::Vertex(ids[5]), number, Cell::One(77_777.into())).unwrap();
    t.set_cell(ElementId::Vertex(ids[6]), number, Cell::Absent).unwrap();
    t.remove_vertices(&[ids[1005]]).unwrap();
    t.commit().unwrap();
    let is_right = || {
        assert_eq!(with_value(&hot, person, number, 5), (2005..PEOPLE).step_by(1000).collect::<Vec<_>>());
        assert_eq!(with_value(&hot, person, number, 6), (1006..PEOPLE).step_by(1000).collect::<Vec<_>>());
        assert_eq!(with_value(&hot, person, number, 7), (7..PEOPLE).step_by(1000).collect::<Vec<_>>());
        assert_eq!(with_value(&hot, person, number, 77_777), [5]);
    };
    assert_eq!(in_table(), 1);
    is_right();
    work(&|writer, patience| hot.seal(writer, patience).unwrap());
    assert_eq!(in_table(), 0);
    is_right();
    compact();
    assert_eq!(hot.check().unwrap().index_entries, PEOPLE - 2);
    is_right();
    // An index that is made anew ignores what segments have of the old one.
    let mut t = hot.begin().unwrap();
    t.drop_index(PropertyId::of_vertices(person, number)).unwrap();
    t.set_cell(ElementId::Vertex(ids[7]), number, Cell::One(5.into())).unwrap();
    t.commit().unwrap();
    let mut t = hot.begin().unwrap();
    t.create_index(PropertyId::of_vertices(person, number)).unwrap();
    t.commit().unwrap();
    assert_eq!(with_value(&hot, person, number, 5)[..2], [7, 2005]);
    assert_eq!(in_table(), PEOPLE - 2);
    work(&|writer, patience| hot.seal(writer, patience).unwrap());
    assert_eq!(in_table(), 0);
    assert_eq!(with_value(&hot, person, number, 5)[..2], [7, 2005]);
}
