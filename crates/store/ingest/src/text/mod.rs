//! Reading text: files, their encodings, records, JSON, and types found in text.

pub mod csv;
pub mod decode;
pub mod feed;
pub mod format;
pub mod infer;
pub mod json;
pub mod mapping_text;
pub mod source;
pub mod yaml;
