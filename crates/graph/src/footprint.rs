//! The memory that values take.

use arrow_array::Array;

use crate::cell::{Cell, PropertyColumn};
use crate::value::{Path, Tree, Value};

/// Bytes of an allocation besides its content: the counts of an `Arc`, the allocator's header, rounding.
const ALLOCATION: usize = 40;

impl Value {
    /// Roughly the bytes of the value and everything it refers to, in O(parts). A shared part counts once for every value that
    /// shares it, so the sum may exceed the machine's memory. Counting stops once it reaches `max`.
    #[inline]
    pub fn memory_bytes(&self, max: usize) -> usize {
        if let Value::Vertex(_) | Value::Edge(_) | Value::Int32(_) | Value::Int64(_) = self {
            return size_of::<Value>();
        }
        let mut sum = Sum { bytes: 0, max };
        sum.value(self);
        sum.bytes
    }
}

impl PropertyColumn {
    /// Roughly the bytes of the column. O(rows), O(1) for an array.
    pub fn memory_bytes(&self) -> usize {
        match self {
            PropertyColumn::Absent(_) => 0,
            PropertyColumn::Typed(array) => array.get_array_memory_size(),
            PropertyColumn::Cells(cells) => {
                let value = |value: &Value| value.memory_bytes(usize::MAX / 4);
                cells.iter().map(|cell| size_of::<Cell>() + cell.values().map(value).sum::<usize>()).sum()
            }
        }
    }
}

struct Sum {
    bytes: usize,
    max: usize,
}

impl Sum {
    fn add(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    fn value(&mut self, value: &Value) {
        self.add(size_of::<Value>());
        if self.bytes >= self.max {
            return;
        }
        match value {
            Value::String(text) => self.add(ALLOCATION + text.len()),
            Value::Bytes(bytes) => self.add(ALLOCATION + bytes.len()),
            Value::Vector(items) => self.add(ALLOCATION + size_of_val(&items[..])),
            Value::BigInt(number) => self.add(ALLOCATION + number.bits() as usize / 8),
            Value::Decimal(_) => self.add(2 * ALLOCATION),
            Value::List(items) | Value::Set(items) => self.values(items.iter()),
            Value::Map(map) => self.values(map.iter().flat_map(|(key, value)| [key, value])),
            Value::Entry(entry) => self.values([&entry.0, &entry.1]),
            Value::BulkSet(items) => {
                self.add(8 * items.len());
                self.values(items.iter().map(|(value, _)| value));
            }
            Value::Path(path) => self.path(path),
            Value::Tree(tree) => self.tree(tree),
            Value::Subgraph(graph) => {
                self.add(3 * ALLOCATION + size_of_val(&graph.vertices[..]) + size_of_val(&graph.edges[..]))
            }
            Value::VertexProperty(property) => self.values([&property.value]),
            Value::Property(property) => self.values([&property.value]),
            _ => {}
        }
    }

    /// A list and its items.
    fn values<'a>(&mut self, values: impl IntoIterator<Item = &'a Value>) {
        self.add(2 * ALLOCATION);
        for value in values {
            if self.bytes >= self.max {
                return;
            }
            self.value(value);
        }
    }

    fn path(&mut self, path: &Path) {
        let named = |labels: &Vec<_>| if labels.is_empty() { 0 } else { ALLOCATION + size_of_val(&labels[..]) };
        self.add(ALLOCATION + size_of_val(&path.labels[..]) + path.labels.iter().map(named).sum::<usize>());
        self.values(&path.objects);
    }

    /// Recurses as deep as the tree is nested.
    fn tree(&mut self, tree: &Tree) {
        self.add(ALLOCATION);
        for (value, below) in &tree.0 {
            if self.bytes >= self.max {
                return;
            }
            self.value(value);
            self.tree(below);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_count_and_shared_ones_count_each_time() {
        let text = Value::from("x".repeat(1000).as_str());
        let one = text.memory_bytes(usize::MAX);
        assert!((1000..1200).contains(&one), "{one}");
        let many = Value::list(vec![text; 10]).memory_bytes(usize::MAX);
        assert!((10 * one..10 * one + 200).contains(&many), "{many}");
    }

    #[test]
    fn counting_ends_where_it_has_to() {
        // 2^60 strings if none were shared.
        let deep = (0..60).fold(Value::from("x"), |value, _| Value::list(vec![value.clone(), value]));
        assert!((1000..2000).contains(&deep.memory_bytes(1000)));
    }

    #[test]
    fn a_column_takes_what_its_values_take() {
        let texts: Vec<Value> = (0..10).map(|n| Value::string("x".repeat(1000 + n))).collect();
        let typed = crate::column::array_of(&texts.iter().map(Some).collect::<Vec<_>>()).map(PropertyColumn::Typed);
        let cells = PropertyColumn::Cells(texts.into_iter().map(Cell::One).chain([Cell::Absent]).collect());
        for column in [typed.expect("an array"), cells] {
            assert!((10_000..12_000).contains(&column.memory_bytes()), "{}", column.memory_bytes());
        }
        assert_eq!(PropertyColumn::Absent(7).memory_bytes(), 0);
    }
}
