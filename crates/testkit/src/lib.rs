//! What tests and benchmarks of the other crates build on; nothing here ships.
//!
//! ```text
//! random  ---- operations --->  a store under test  and  the oracle  <--- samples
//!                                        \                 /
//!                                 compare::assert_same, after each commit
//! ```
//!
//! * [`Oracle`] — a graph in memory, too simple to be wrong.
//! * [`samples`] — TinkerPop's modern and crew graphs, for any writable graph.
//! * [`canonical`] — results of queries as text that is the same for the same results.
//! * [`compare`] — whether two graphs are the same, and whether one agrees with itself.
//! * [`suite`] — the conformance suite every store passes.
//! * [`random`] — random work, done in step on a store and on the oracle.
//! * [`ledger`] — a write load for processes that are killed, or read while another writes.
//! * [`graphs`] — large graphs by seed.
//! * [`interpreter`] — Gremlin run one traverser at a time, which the engine is compared with.
//! * [`queries`] — random small graphs, and random queries that have one right answer.

pub mod canonical;
pub mod compare;
pub mod graphs;
pub mod interpreter;
pub mod ledger;
pub mod oracle;
pub mod queries;
pub mod random;
pub mod samples;
pub mod suite;

pub use oracle::Oracle;
