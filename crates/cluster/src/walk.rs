//! Scans label by label.

use mangrove_graph::{ElementKind, LabelId, LabelTest, Scan, ScanCursor, Schema};

/// A scan of one label, which an element may also carry beside its own.
pub fn scan_of(scan: &Scan, label: LabelId) -> Scan {
    let own = scan.labels.as_ref().filter(|labels| !labels.contains(&label));
    let own = own.map(|labels| LabelTest { labels: labels.clone(), is_negated: false });
    Scan { labels: Some(vec![label]), also: scan.also.iter().cloned().chain(own).collect(), ..scan.clone() }
}

/// The label at which a scan stands; `None` at its end. Skips those of which no element passes.
pub fn label_at(schema: &Schema, kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor) -> Option<LabelId> {
    let labels = schema.labels(kind).len();
    while cursor.label < labels && scan.tests_of(schema, kind, LabelId(cursor.label as u16)).is_none() {
        (cursor.label, cursor.local) = (cursor.label + 1, 0);
    }
    cursor.done = cursor.label >= labels;
    (!cursor.done).then_some(LabelId(cursor.label as u16))
}
