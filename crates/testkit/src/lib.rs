//! Tools for tests and benchmarks of the other crates. Nothing here ships.
//!
//! ```text
//! random  ---- operations --->  a store under test  and  the oracle  <--- samples
//!                                        \                 /
//!                                 compare::assert_same, after each commit
//! ```
//!
//! * [`Oracle`] — a graph in memory, too simple to be wrong.
//! * [`samples`] — TinkerPop's modern and crew graphs, for any writable graph.
//! * [`canonical`] — results of queries as canonical text: equal results give equal text.
//! * [`compare`] — compares two graphs, and checks that one agrees with itself.
//! * [`far`] — views that behave as if their graph were far away: slow ones, and ones that fail.
//! * [`suite`] — the conformance suite that every store passes.
//! * [`random`] — random work, run in step on a store and on the oracle.
//! * [`ledger`] — a write load for processes that are killed, or that read while another writes.
//! * [`graphs`] — large graphs by seed.
//! * [`interpreter`] — runs Gremlin one traverser at a time, for comparison with the engine.
//! * [`parts`] — parts of a graph among which the traversers of a query go.
//! * [`queries`] — random small graphs, and random queries with one right answer.

pub mod canonical;
pub mod compare;
pub mod far;
pub mod graphs;
pub mod interpreter;
pub mod ledger;
pub mod oracle;
pub mod parts;
pub mod queries;
pub mod random;
pub mod samples;
pub mod shapes;
pub mod suite;

pub use oracle::Oracle;
