//! Scans label by label.

use mangrove_graph::{ElementKind, LabelId, LabelTest, Scan, ScanCursor, Schema};

/// A scan of one label, which an element may also carry beside its own.
pub fn scan_of(scan: &Scan, label: LabelId) -> Scan {
    let own = scan.labels.as_ref().filter(|labels| !labels.contains(&label));
    let own = own.map(|labels| LabelTest { labels: labels.clone(), is_negated: false });
    Scan { labels: Some(vec![label]), also: scan.also.iter().cloned().chain(own).collect(), ..scan.clone() }
}

/// The label at which a scan stands; `None` at its end. Skips those of which no element passes. Dropped labels have none.
pub fn label_at(schema: &Schema, kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor) -> Option<LabelId> {
    let labels = schema.labels(kind);
    let has_none = |label: u16| labels.is_dropped(label) || scan.tests_of(schema, kind, LabelId(label)).is_none();
    while cursor.label < labels.len() && has_none(cursor.label as u16) {
        (cursor.label, cursor.local) = (cursor.label + 1, 0);
    }
    cursor.done = cursor.label >= labels.len();
    (!cursor.done).then_some(LabelId(cursor.label as u16))
}

#[cfg(test)]
mod tests {
    use mangrove_graph::LabelSchema;

    use super::*;

    #[test]
    fn a_scan_does_not_stand_at_dropped_labels() {
        let mut schema = Schema::default();
        for name in ["a", "b", "c", "d"] {
            schema.vertex_labels.push(LabelSchema::new(name));
        }
        [0, 2, 3].into_iter().for_each(|number| schema.vertex_labels.drop_name(number));
        let (scan, mut cursor) = (Scan::default(), ScanCursor::default());
        assert_eq!(label_at(&schema, ElementKind::Vertex, &scan, &mut cursor), Some(LabelId(1)));
        (cursor.label, cursor.local) = (2, 7);
        assert_eq!(label_at(&schema, ElementKind::Vertex, &scan, &mut cursor), None);
        assert!(cursor.done);
    }
}
