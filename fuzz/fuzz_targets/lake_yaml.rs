//! Descriptions of graphs in open files: the YAML of GraphAr, and mappings of tables.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        mangrove_lake::parse_descriptions(text);
    }
});
