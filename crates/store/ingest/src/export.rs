//! Writes a graph as files.

/// Appends a field of CSV, in quotes where it needs them.
pub fn csv_field(text: &str, out: &mut String) {
    if text.is_empty() {
        return;
    }
    if !text.contains([',', '"', '\n', '\r']) && !text.starts_with([' ', '\t']) {
        return out.push_str(text);
    }
    out.push('"');
    for part in text.split_inclusive('"') {
        out.push_str(part);
        if part.ends_with('"') {
            out.push('"');
        }
    }
    out.push('"');
}
