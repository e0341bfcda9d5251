//! What queries work on, apart from any graph: batches of traversers by column, paths, numbers, collections, messages.

pub mod batch;
pub mod branches;
pub mod bytes;
pub mod effects;
pub mod entries;
pub mod frame;
pub mod items;
pub mod keys;
pub mod known;
pub mod maps;
pub mod message;
pub mod number;
pub mod path;
pub mod sent;
pub mod slots;
pub mod words;
