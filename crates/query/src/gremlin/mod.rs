//! The written forms of Gremlin, and the tree that readers build from them.
//!
//! ```text
//!  gremlin-lang text ───── parse ────┐
//!  GraphSON 3 text ────┐             ├── syntax tree ── print ── canonical text (plan-cache key, explain)
//!                      ├ bytecode ───┘
//!  GraphBinary 1 bytes ┘
//! ```
//!
//! Invariants:
//! 1. Input is hostile. For any input, a reader returns a tree or a [`error::SyntaxError`]. Its memory is proportional to the
//!    input, and its recursion is bounded.
//! 2. The depth of a tree from a reader is bounded, so recursive walks over it are safe.
//! 3. `parse(print(tree))` is `tree`, except for spans.
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

pub use bytecode::{
    BadRequest, Outline, RequestSyntax, constant_code, read_binary_request, read_bytecode, read_graphbinary,
    read_json_request, read_parameters, read_plain,
};
pub use error::SyntaxError;
pub use habits::of_other_language;
pub use parse::{parse, statements};
pub use print::print;
