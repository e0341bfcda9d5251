//! Gremlin's written forms, and the tree they are read into.
//!
//! ```text
//!  gremlin-lang text ───── parse ────┐
//!  GraphSON 3 text ────┐             ├── syntax tree ── print ── canonical text (plan-cache key, explain)
//!                      ├ bytecode ───┘
//!  GraphBinary 1 bytes ┘
//! ```
//!
//! Invariants:
//! 1. Input is hostile: whatever it is, the readers give a tree or a [`error::SyntaxError`], in memory
//!    proportional to its length and with bounded recursion.
//! 2. A tree of the readers is bounded in depth too, so walking it recursively is safe.
//! 3. `parse(print(tree))` is `tree`, spans aside.
//! 4. Nothing here knows which steps the engine has; [`steps`] lists those of the language.

pub mod bytecode;
pub mod error;
mod habits;
mod lex;
mod literal;
pub mod names;
pub mod parse;
pub mod print;
pub mod steps;
pub mod syntax;
mod walk;

pub use bytecode::{read_bytecode, read_graphbinary};
pub use error::SyntaxError;
pub use parse::parse;
pub use print::print;
