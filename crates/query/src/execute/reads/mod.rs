//! What a step needs of the graph, asked for a whole batch at once.

pub mod columns;
pub mod elements;
pub mod read;
pub mod texts;
