//! One operation of a workload, with all it needs.

use mangrove_graph::Value;

use super::data::{CITY, INTEREST, PAYLOAD, TYPES, USER};
use crate::Database;
use crate::direct::{DirectReads, graph_search, tao};
use crate::error::StoreError;

/// How many of the latest edges a list shows.
const LATEST: u64 = 10;

/// An operation. Its names are the papers'.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Name {
    ObjGet,
    AssocRange,
    AssocGet,
    AssocCount,
    AssocTimeRange,
    ObjAdd,
    ObjUpdate,
    ObjDel,
    AssocAdd,
    AssocUpdate,
    AssocDel,
    Gs1,
    Gs2,
    Gs2Joined,
    Gs3,
    Gs3Joined,
    Gs4,
    Gs5,
}

impl Name {
    pub fn text(self) -> &'static str {
        match self {
            Name::ObjGet => "obj_get",
            Name::AssocRange => "assoc_range",
            Name::AssocGet => "assoc_get",
            Name::AssocCount => "assoc_count",
            Name::AssocTimeRange => "assoc_time_range",
            Name::ObjAdd => "obj_add",
            Name::ObjUpdate => "obj_update",
            Name::ObjDel => "obj_del",
            Name::AssocAdd => "assoc_add",
            Name::AssocUpdate => "assoc_update",
            Name::AssocDel => "assoc_del",
            Name::Gs1 => "GS1",
            Name::Gs2 => "GS2",
            Name::Gs2Joined => "GS2 joined",
            Name::Gs3 => "GS3",
            Name::Gs3Joined => "GS3 joined",
            Name::Gs4 => "GS4",
            Name::Gs5 => "GS5",
        }
    }

    pub fn is_write(self) -> bool {
        matches!(self, Name::ObjAdd | Name::ObjUpdate | Name::ObjDel | Name::AssocAdd | Name::AssocUpdate | Name::AssocDel)
    }
}

/// An operation with its arguments.
pub struct Operation {
    pub name: Name,
    /// The user that it is about.
    pub user: Value,
    /// A number of an edge type.
    pub edge_type: usize,
    /// The other ends of edges.
    pub others: Vec<Value>,
    pub from: i64,
    pub to: i64,
    /// New values, or those to look for.
    pub values: Vec<(&'static str, Value)>,
}

impl Operation {
    /// Runs it, and returns how much it found or changed.
    pub fn run(&self, database: &Database) -> Result<u64, StoreError> {
        match self.name.is_write() {
            true => self.write(database),
            false => database.read_directly(|reads| self.read(reads)),
        }
    }

    fn read(&self, reads: DirectReads<'_>) -> Result<u64, StoreError> {
        let (user, edge_type) = (&self.user, TYPES[self.edge_type]);
        let value = |key: &'static str| {
            let found = self.values.iter().find(|(name, _)| *name == key);
            (key, found.map_or(Value::Null, |(_, value)| value.clone()))
        };
        // The friends that a search finds come with the ids that users see.
        let ids = |found: Vec<mangrove_graph::VertexId>| Ok(reads.ids(&found)?.len() as u64);
        match self.name {
            Name::ObjGet => Ok(tao::obj_get(reads, user)?.map_or(0, |found| found.len() as u64)),
            Name::AssocRange => Ok(tao::assoc_range(reads, user, edge_type, 0, LATEST)?.len() as u64),
            Name::AssocGet => Ok(tao::assoc_get(reads, user, edge_type, &self.others, None, None)?.len() as u64),
            Name::AssocCount => tao::assoc_count(reads, user, edge_type),
            Name::AssocTimeRange => {
                Ok(tao::assoc_time_range(reads, user, edge_type, Some(self.from), Some(self.to), LATEST)?.len() as u64)
            }
            Name::Gs1 => ids(graph_search::gs1(reads, reads.node(user)?)?),
            Name::Gs2 => ids(graph_search::gs2(reads, reads.node(user)?, value(CITY))?),
            Name::Gs2Joined => ids(graph_search::gs2_joined(reads, reads.node(user)?, USER, value(CITY))?),
            Name::Gs3 => ids(graph_search::gs3(reads, USER, value(CITY), value(INTEREST))?),
            Name::Gs3Joined => ids(graph_search::gs3_joined(reads, USER, value(CITY), value(INTEREST))?),
            Name::Gs4 => ids(graph_search::gs4(reads, reads.node(user)?, edge_type)?),
            Name::Gs5 => Ok(graph_search::gs5(reads, reads.node(user)?, Some(edge_type))?.len() as u64),
            _ => Ok(0),
        }
    }

    fn write(&self, database: &Database) -> Result<u64, StoreError> {
        let (user, edge_type) = (&self.user, TYPES[self.edge_type]);
        let other = self.others.first().unwrap_or(&Value::Null);
        let (done, _) = database.write_directly(|graph| match self.name {
            Name::ObjAdd => tao::obj_add(graph, USER, Some(user.clone()), &self.values).map(|_| true),
            Name::ObjUpdate => tao::obj_update(graph, user, &self.values),
            Name::ObjDel => tao::obj_del(graph, user),
            Name::AssocAdd => {
                let time = Some(Value::Int64(self.from));
                // Others may have removed one of the two meanwhile.
                match graph.reads().find_node(user)?.is_some() && graph.reads().find_node(other)?.is_some() {
                    true => tao::assoc_add(graph, user, edge_type, other, time, &self.values),
                    false => Ok(false),
                }
            }
            Name::AssocUpdate => tao::assoc_update(graph, user, edge_type, other, &self.values),
            _ => tao::assoc_del(graph, user, edge_type, other),
        })?;
        Ok(done.into())
    }
}

/// The property that an edge carries.
pub fn payload(text: String) -> Vec<(&'static str, Value)> {
    vec![(PAYLOAD, text.into())]
}
