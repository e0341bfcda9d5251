//! Lists of the keys that elements have, for labels with many keys.
//!
//! A label with more than [`MANY`] properties is *wide*. The tables and segments list the keys of its elements. So the keys
//! of one element are found without a look at every key of the label. For every block and every 512 keys, the tables list
//! the keys of which they have a block, with the slots that are present in it:
//!
//! ```text
//!   columns   kind 1 | label 2 | a number behind all properties 3 | block · 128 + key / 512, 6
//!                 -> of each key, in order: key 2 | slots 16
//! ```
//! A segment has a part for every chunk ([`mangrove_segment::keys`]), if its label was wide when it was written. Otherwise
//! its directory tells the keys.

use std::collections::BTreeMap;

use heed::{AnyTls, RoTxn};
use mangrove_graph::{ElementKind, KeyId, LabelId, Result, Schema};

use crate::format::block::Block;
use crate::format::key::{Column, KINDS};
use crate::lmdb::table::{Tables, Writing};
use crate::system::fault::{corrupt, lmdb};

/// The most properties of a label that is not wide.
pub const MANY: usize = 64;

pub fn is_wide(schema: &Schema, kind: ElementKind, label: LabelId) -> bool {
    schema.label_schema(kind, label).is_some_and(|label| label.properties.len() > MANY)
}

/// One key of a list, and the slots that have it.
pub type Listed = (KeyId, u128);

const LISTED_BYTES: usize = 18;
/// How many keys one list covers.
const KEYS_A_LIST: u16 = 512;
pub const LISTS_A_BLOCK: u64 = (1 << 16) / KEYS_A_LIST as u64;

pub fn parse(bytes: &[u8]) -> Result<Vec<Listed>> {
    let (listed, []) = bytes.as_chunks::<LISTED_BYTES>() else { return Err(corrupt("a list of keys of the wrong length")) };
    let listed: Vec<Listed> = listed
        .iter()
        .map(|entry| {
            let [a, b, slots @ ..] = *entry;
            (KeyId(u16::from_le_bytes([a, b])), u128::from_le_bytes(slots))
        })
        .collect();
    if listed.is_sorted_by(|a, b| a.0 < b.0) { Ok(listed) } else { Err(corrupt("a list of keys that is out of order")) }
}

pub fn encode(listed: &[Listed]) -> Vec<u8> {
    let mut out = Vec::with_capacity(LISTED_BYTES * listed.len());
    for (key, slots) in listed {
        out.extend_from_slice(&key.0.to_le_bytes());
        out.extend_from_slice(&slots.to_le_bytes());
    }
    out
}

/// The column of lists, and the number of the list that covers a key in a block.
pub fn list_of(column: Column, block: u64, key: KeyId) -> (Column, u64) {
    (Column::keys(column.kind, column.label), block * LISTS_A_BLOCK + u64::from(key.0 / KEYS_A_LIST))
}

/// The block that a list is of.
pub fn block_of(list: u64) -> u64 {
    list / LISTS_A_BLOCK
}

/// Lists the keys of a label. O(blocks of its properties).
pub fn list(tables: &Tables, t: &mut Writing<'_>, kind: ElementKind, label: LabelId) -> Result<()> {
    for ((column, list), listed) in found(tables, t, kind, label)? {
        tables.columns.put(t, &column.key(list), &encode(&listed))?;
    }
    Ok(())
}

/// Lists the keys of all wide labels.
pub fn list_all(tables: &Tables, t: &mut Writing<'_>, schema: &Schema) -> Result<()> {
    for kind in KINDS {
        let mut labels = (0..schema.labels(kind).len()).map(|at| LabelId(at as u16));
        labels.try_for_each(|label| if is_wide(schema, kind, label) { list(tables, t, kind, label) } else { Ok(()) })?;
    }
    Ok(())
}

/// The lists that a label must have.
fn found(
    tables: &Tables,
    txn: &RoTxn<'_, AnyTls>,
    kind: ElementKind,
    label: LabelId,
) -> Result<BTreeMap<(Column, u64), Vec<Listed>>> {
    let mut found: BTreeMap<_, Vec<Listed>> = BTreeMap::new();
    let prefix = Column::keys(kind, label).key(0);
    for row in tables.columns.prefix_iter(txn, &prefix[..3]).map_err(lmdb)? {
        let (key, bytes) = row.map_err(lmdb)?;
        let Ok((column, block)) = Column::parse(key) else { continue }; // it is a far cell
        if let Some(key) = column.property_key() {
            found.entry(list_of(column, block, key)).or_default().push((key, Block::presence(bytes)?));
        }
    }
    Ok(found)
}
