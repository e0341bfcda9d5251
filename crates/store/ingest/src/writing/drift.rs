//! Warns if a load gives a property values of a kind that the graph did not hold there before, such as text among numbers.

use mangrove_graph::{ElementKind, KeyId, LabelId, TypeSet, Value, ValueType};

use crate::batches::rows::{Column, Part, Places, RawCell, Values};
use crate::writing::write::Writer;

impl Writer<'_> {
    /// Looks at a column before its first batch is written, and at each batch after that. Warns once for each property.
    pub(crate) fn warn_of_drift(&mut self, of: (ElementKind, LabelId, KeyId), column: &Column, places: &Places) {
        let (kind, label, key) = of;
        let schema = self.graph.schema();
        let known = schema.label_schema(kind, label).and_then(|label| label.property(key));
        let types = *self.types_before.entry(of).or_insert_with(|| known.map_or_else(TypeSet::default, |p| p.types));
        if types == TypeSet::default() {
            return;
        }
        let Some((row, value)) = first_of_another_kind(&column.values, types) else { return };
        self.types_before.insert(of, TypeSet::default());
        let (place, _) = places.locate(row, Part::Id);
        let held: Vec<&str> = types.iter().map(ValueType::name).collect();
        let (name, wanted) = (&column.name, held[0]);
        self.report.warn(format!(
            "{place}: `{name}` gets the {} {value}, but `{}` has only {} there so far. To reject such rows, declare the property, \
             or give the column a type, as in the header `{name}:{wanted}`",
            value.value_type(),
            self.graph.schema().label_name(kind, label),
            held.join(" and "),
        ));
    }
}

/// The first row with a value that compares with none of these types.
fn first_of_another_kind(values: &Values, types: TypeSet) -> Option<(usize, Value)> {
    let is_other = |value: &Value| {
        let t = value.value_type();
        t != ValueType::Null && !types.iter().any(|known| family(known) == family(t))
    };
    match values {
        Values::Absent(_) => None,
        Values::Typed(array) => {
            let row = (0..array.len()).find(|row| array.is_valid(*row))?;
            let value = mangrove_graph::column::value_at(array, row);
            is_other(&value).then_some((row, value))
        }
        Values::Cells(cells) => cells.iter().enumerate().find_map(|(row, cell)| match cell {
            RawCell::One(value) if is_other(value) => Some((row, value.clone())),
            _ => None,
        }),
    }
}

/// Types whose values compare with each other have one family.
fn family(t: ValueType) -> ValueType {
    match t {
        t if t.is_number() => ValueType::Decimal,
        ValueType::Date => ValueType::DateTime,
        t => t,
    }
}
