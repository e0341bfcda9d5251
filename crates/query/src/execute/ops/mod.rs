//! The operators: each family of steps is one file.

pub mod barrier;
pub mod branch;
pub mod call;
pub mod date;
pub mod element;
pub mod filter;
pub mod group;
pub mod hop;
pub mod init;
pub mod list;
pub mod map;
pub mod matching;
pub mod math;
pub mod merge;
pub mod mutate;
pub mod operand;
pub mod partial;
pub mod reduce;
pub mod repeat;
pub mod resource;
pub mod select;
pub mod semi_join;
pub mod set;
pub mod side_effect;
pub mod text;
pub mod tree;
