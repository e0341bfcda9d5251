//! The published workloads.

/// A published workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Workload {
    /// Facebook's graph store: 0.2% of the operations are writes.
    Tao,
    /// Its benchmark: 31% of the operations are writes.
    LinkBench,
    /// Facebook's graph search: five queries in equal parts.
    GraphSearch,
}

impl Workload {
    pub const ALL: [Self; 3] = [Workload::Tao, Workload::LinkBench, Workload::GraphSearch];

    pub fn name(self) -> &'static str {
        match self {
            Workload::Tao => "tao",
            Workload::LinkBench => "linkbench",
            Workload::GraphSearch => "graphsearch",
        }
    }
}
