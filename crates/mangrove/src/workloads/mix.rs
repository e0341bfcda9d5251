//! Draws operations in the shares of the papers.

use mangrove_analytics::algorithms::Random;
use mangrove_graph::{Adjacency, Direction, ElementKind, GraphView, Hop, LabelId, Scan, ScanCursor, Value, VertexId, Wants};

use super::data::{BEGIN, CITY, INTEREST, SPAN, TYPES, USER};
use super::operation::{Name, Operation, payload};
use super::skew::{Use, permutation};
use super::values::UserValues;
use super::workload::Workload;
use crate::direct::DirectReads;
use crate::error::StoreError;

/// The seconds that a window of times covers: ten days.
const WINDOW: i64 = 10 * 86_400;
const ROWS_AT_ONCE: usize = 8192;

impl Workload {
    /// The operations with their shares (ZipG, Table 2). With `joined`, GS2 and GS3 are joins.
    pub(super) fn shares(self, joined: bool) -> Vec<(Name, f64)> {
        let shares = |of: [f64; 11]| {
            let names = [
                Name::AssocRange,
                Name::ObjGet,
                Name::AssocGet,
                Name::AssocCount,
                Name::AssocTimeRange,
                Name::AssocAdd,
                Name::ObjUpdate,
                Name::ObjAdd,
                Name::AssocDel,
                Name::ObjDel,
                Name::AssocUpdate,
            ];
            names.into_iter().zip(of).collect()
        };
        match self {
            Workload::Tao => shares([40.8, 28.8, 15.7, 11.7, 2.8, 0.1, 0.04, 0.03, 0.02, 0.01, 0.01]),
            Workload::LinkBench => shares([50.6, 12.9, 0.52, 4.9, 0.15, 9.0, 7.4, 2.6, 3.0, 1.0, 8.0]),
            Workload::GraphSearch => {
                let (two, three) = if joined { (Name::Gs2Joined, Name::Gs3Joined) } else { (Name::Gs2, Name::Gs3) };
                [Name::Gs1, two, three, Name::Gs4, Name::Gs5].map(|name| (name, 20.0)).into()
            }
        }
    }
}

/// What streams of operations draw from.
pub struct Population<'v> {
    reads: DirectReads<'v>,
    view: &'v dyn GraphView,
    /// In the order of ids.
    users: Vec<VertexId>,
    /// Users with more edges first.
    by_degree: Vec<u32>,
    /// Users in an order that does not depend on their edges.
    by_fame: Vec<u32>,
    types: Vec<LabelId>,
    /// Above all ids of users.
    first_new: i64,
    values: UserValues,
    payload_bytes: usize,
}

/// New users of each client.
const NEW_EACH: i64 = 1 << 40;

impl<'v> Population<'v> {
    pub fn read(view: &'v dyn GraphView, workload: Workload, payload_bytes: usize) -> Result<Self, StoreError> {
        let reads = DirectReads::new(view);
        let user = reads.label(ElementKind::Vertex, USER)?;
        let mut types = Vec::with_capacity(TYPES.len());
        for name in TYPES {
            types.push(reads.label(ElementKind::Edge, name)?);
        }
        let (mut users, mut cursor) = (Vec::new(), ScanCursor::default());
        while !cursor.done {
            view.scan_vertices(&Scan::of(user), &mut cursor, ROWS_AT_ONCE, &mut users)?;
        }
        let (mut degrees, mut first_new) = (Vec::with_capacity(users.len()), 0);
        let hop = Hop::along(Direction::Out, Some(types.clone()), Wants::default());
        for some in users.chunks(ROWS_AT_ONCE) {
            view.degrees(some, &hop, &mut degrees)?;
            first_new = reads.ids(some)?.iter().filter_map(Value::as_i64).fold(first_new, i64::max);
        }
        let mut by_degree: Vec<u32> = (0..users.len() as u32).collect();
        by_degree.sort_by_key(|at| std::cmp::Reverse(degrees[*at as usize]));
        let by_fame = permutation(&mut Random::new(1), users.len() as u64);
        let values = workload.values();
        Ok(Self { reads, view, users, by_degree, by_fame, types, first_new: first_new + 1, values, payload_bytes })
    }

    /// A stream of operations. Clients with other numbers draw others, and add other users. A stream removes only users that it has
    /// added.
    pub fn stream(
        &self,
        shares: &[(Name, f64)],
        count: usize,
        seed: u64,
        client: usize,
    ) -> Result<Vec<Operation>, StoreError> {
        let mut random = Random::of(&[seed, client as u64]);
        let total: f64 = shares.iter().map(|(_, share)| share).sum();
        let (mut added, mut next) = (Vec::new(), self.first_new + client as i64 * NEW_EACH);
        let mut stream = Vec::with_capacity(count);
        for at in 0..count {
            let mut left = random.share() * total;
            let drawn = shares.iter().find(|(_, share)| {
                left -= share;
                left < 0.0
            });
            let name = match drawn.or(shares.last()).map_or(Name::ObjGet, |(name, _)| *name) {
                Name::ObjDel if added.is_empty() => Name::ObjAdd,
                name => name,
            };
            let mut operation = self.draw(name, &mut random, at)?;
            match name {
                Name::ObjAdd => {
                    operation.user = Value::Int64(next);
                    added.push(next);
                    next += 1;
                }
                Name::ObjDel => operation.user = added.pop().map_or(Value::Null, Value::Int64),
                _ => {}
            }
            stream.push(operation);
        }
        Ok(stream)
    }

    fn draw(&self, name: Name, random: &mut Random, at: usize) -> Result<Operation, StoreError> {
        let vertex = self.user(uses(name), random);
        let edge_type = random.below(TYPES.len() as u64) as usize;
        let other = self.users[random.below(self.users.len() as u64) as usize];
        let from = BEGIN + random.below((SPAN - WINDOW) as u64) as i64;
        let user = self.id(vertex)?;
        let mut drawn = Operation { name, user, edge_type, others: Vec::new(), from, to: from + WINDOW, values: Vec::new() };
        match name {
            Name::AssocGet => {
                let there = self.ends(vertex, edge_type)?;
                drawn.others = self.reads.ids(&[&there[..there.len().min(3)], &[other]].concat())?;
            }
            Name::AssocAdd => {
                drawn.others = vec![self.id(other)?];
                drawn.from = BEGIN + SPAN + at as i64;
                drawn.values = payload(self.values.edge_payload(random, self.payload_bytes));
            }
            Name::AssocUpdate | Name::AssocDel => {
                let there = self.ends(vertex, edge_type)?;
                let end = if there.is_empty() { other } else { there[random.below(there.len() as u64) as usize] };
                drawn.others = vec![self.id(end)?];
                if name == Name::AssocUpdate {
                    drawn.values = payload(self.values.edge_payload(random, self.payload_bytes));
                }
            }
            Name::ObjAdd => {
                drawn.values = self.values.row(random).into_iter().filter(|(_, value)| !value.is_null()).collect();
            }
            Name::ObjUpdate => drawn.values = self.update(random),
            Name::Gs2 | Name::Gs2Joined => {
                let friends = self.reads.get_neighbor_ids(vertex, None, &[])?;
                let friend = if friends.is_empty() { other } else { friends[random.below(friends.len() as u64) as usize] };
                drawn.values = self.properties(friend, &[CITY])?;
            }
            Name::Gs3 | Name::Gs3Joined => drawn.values = self.properties(other, &[CITY, INTEREST])?,
            _ => {}
        }
        Ok(drawn)
    }

    /// What an update of a user changes: three of its 40 properties, or the payload of LinkBench.
    fn update(&self, random: &mut Random) -> Vec<(&'static str, Value)> {
        let row = self.values.row(random);
        let changed: Vec<_> =
            row.iter().filter(|(key, _)| ["status", "updated", "last_seen"].contains(key)).cloned().collect();
        if changed.is_empty() { row } else { changed }
    }

    fn user(&self, of: Use, random: &mut Random) -> VertexId {
        let rank = of.rank(random, self.users.len() as u64) as usize;
        self.users[if of.is_of_edges() { self.by_degree[rank] } else { self.by_fame[rank] } as usize]
    }

    fn id(&self, user: VertexId) -> Result<Value, StoreError> {
        Ok(self.reads.ids(&[user])?.pop().unwrap_or(Value::Null))
    }

    fn ends(&self, user: VertexId, edge_type: usize) -> Result<Vec<VertexId>, StoreError> {
        let wants = Wants { neighbors: true, ..Wants::default() };
        let mut found = Adjacency::default();
        self.view.neighbors(&[user], &Hop::along(Direction::Out, Some(vec![self.types[edge_type]]), wants), &mut found)?;
        Ok(found.neighbors)
    }

    fn properties(&self, user: VertexId, keys: &[&'static str]) -> Result<Vec<(&'static str, Value)>, StoreError> {
        let found = self.reads.get_node_property(user, Some(keys))?;
        let value = |key: &'static str| found.iter().find(|(name, _)| **name == *key).map(|(_, value)| value.clone());
        Ok(keys.iter().map(|key| (*key, value(key).unwrap_or(Value::Null))).collect())
    }
}

fn uses(name: Name) -> Use {
    match name {
        Name::ObjGet => Use::NodeRead,
        Name::ObjAdd | Name::ObjUpdate | Name::ObjDel => Use::NodeWrite,
        Name::AssocAdd | Name::AssocUpdate | Name::AssocDel => Use::EdgeWrite,
        _ => Use::EdgeRead,
    }
}
