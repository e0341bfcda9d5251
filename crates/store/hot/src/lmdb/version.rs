//! The version of the format of tables.

/// The version of the tables' format. Mangrove reads older formats, and upgrades them when it opens them for writing:
///
/// * Format 1 has no segments, format 2 has one.
/// * In format 3 blocks over sealed ones decide all their slots.
/// * Before format 5 the times of edges have a column of their own.
/// * Before format 6 a segment is named by its number alone, and there are no sums and no id of the database.
/// * Before format 7 the record of a label contains its properties, and nothing lists the keys that a block of a wide label has.
/// * Before format 8 no label of vertices has a key, and generated ids are integers.
/// * Before format 9 no index is unique, and no property is required.
/// * Before format 10 no index is of edges, and no label or key is dropped.
/// * Before format 11 no store keeps the sides of edges apart.
/// * Before format 12 no index is routed.
pub const FORMAT: u32 = 12;
/// The first format in which each property of a label has a record, and keys of wide labels are listed.
pub const FORMAT_OF_LISTS: u32 = 7;
/// The first format that has sums, and that names segments by more than their number.
pub const FORMAT_OF_SUMS: u32 = 6;
/// Under this key the table `meta` has the version.
pub const FORMAT_KEY: &[u8] = b"format";

/// Whether the value of [`FORMAT_KEY`] names a format without sums.
pub fn is_before_sums(value: &[u8]) -> bool {
    value.try_into().is_ok_and(|bytes| u32::from_le_bytes(bytes) < FORMAT_OF_SUMS)
}
