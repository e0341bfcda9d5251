//! Segments: the compressed files under the tables, and writing them.

pub mod sealing;
pub mod segment;
