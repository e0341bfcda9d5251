//! What values take in memory.

use mangrove_graph::Value;

/// The approximate bytes of a value.
pub fn value_bytes(value: &Value) -> usize {
    value.memory_bytes(usize::MAX / 4)
}
