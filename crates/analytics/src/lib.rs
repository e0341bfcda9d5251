//! Algorithms on whole graphs.
//!
//! ```text
//!   GraphView ── project ── Projection ── algorithms ── Outcome
//!                 (arrays of the edges of each vertex)    (one value for each vertex)
//! ```
//!
//! Vertices get dense numbers, and the edges of each become a slice of an array. An algorithm reads these arrays on several threads.
//! Its outcome does not depend on the number of threads, or on where the graph is kept.

mod algorithm;
pub mod algorithms;
pub mod divided;
pub mod engine;
mod error;
pub mod project;
pub mod registry;
mod run;

pub use algorithm::{Algorithm, Divided, Outcome, Values};
pub use error::{AnalyticsError, Result};
pub use project::{Adjacent, NONE, Needs, Projection, Reading, Selection, VERTICES_MAX};
pub use registry::{About, Argument, OptionKind};
pub use run::{Run, Stage, watched};
