//! Switches for what every plan does by itself. Turning one off shows what it is worth.

use super::{Rule, Way};

pub(super) const PATHS: Rule = Rule {
    name: "path-elimination",
    description: "traversers remember no more of their paths than the steps need",
    way: Way::Switch(|source| source.paths = true),
};

pub(super) const INDEX: Rule = Rule {
    name: "index",
    description: "a scan that filters by an indexed property looks it up",
    way: Way::Switch(|source| source.index_off = true),
};

pub(super) const FRAGMENTS: Rule = Rule {
    name: "fragments",
    description: "the nodes of a graph run steps that read several times what is stored with an element",
    way: Way::Switch(|source| source.fragments_off = true),
};

pub(super) const HOMES: Rule = Rule {
    name: "homes",
    description: "a query that begins with ids, or with values that an index finds, begins at the nodes that have the elements",
    way: Way::Switch(|source| source.homes_off = true),
};

pub(super) const MESH: Rule = Rule {
    name: "mesh",
    description: "if nobody can see their order, traversers go from node to node",
    way: Way::Switch(|source| source.mesh_off = true),
};
