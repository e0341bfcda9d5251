//! Which nodes there are, which shards each has, and which records all of them can read, as the log says.

use std::collections::BTreeMap;

use super::record::{Base, Member, Record, VERSION_UNSAID};

/// The members of a graph.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Members {
    /// By name.
    all: BTreeMap<String, Member>,
    /// The version of records that the log allows, if it has said so.
    allowed: Option<u8>,
}

impl Members {
    /// What a base says of them.
    pub fn of(base: &Base) -> Self {
        let all = base.members.iter().map(|member| (member.name.clone(), member.clone())).collect();
        Self { all, allowed: base.allowed }
    }

    /// The version of records that all of them can read. Nobody writes records of a higher one.
    pub fn allowed(&self) -> u8 {
        self.allowed.unwrap_or(VERSION_UNSAID)
    }

    /// The same, if the log has said so.
    pub fn allowed_by_the_log(&self) -> Option<u8> {
        self.allowed
    }

    /// Reads the next record. A node says what it has, and that always counts. One that gives a shard away, or that is taken off the list, is
    /// believed only if another member has what it had: all readers judge by the same order, so the last copy of a shard stays, whoever is faster.
    pub fn take(&mut self, record: &Record) {
        match record {
            Record::Member(gone) if gone.is_gone() => {
                let may_go = |member: &Member| member.shards.iter().all(|shard| self.is_elsewhere(*shard, &gone.name));
                if self.all.get(&gone.name).is_some_and(may_go) {
                    self.all.remove(&gone.name);
                }
            }
            Record::Member(member) => drop(self.all.insert(member.name.clone(), member.clone())),
            Record::Dropped { name, process, shard } if self.is_elsewhere(*shard, name) => {
                if let Some(member) = self.all.get_mut(name).filter(|member| member.process == *process) {
                    member.shards.retain(|own| own != shard);
                }
            }
            // The first one says where the graph begins.
            Record::Allow { version } => self.allowed = self.allowed.max(Some(*version)),
            _ => {}
        }
    }

    /// Whether a member other than that has a shard.
    pub fn is_elsewhere(&self, shard: u16, name: &str) -> bool {
        self.all.values().any(|member| member.name != name && member.shards.contains(&shard))
    }

    pub fn get(&self, name: &str) -> Option<&Member> {
        self.all.get(name)
    }

    /// In the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Member> {
        self.all.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: u8, process: u64, shards: &[u16]) -> Record {
        Record::Member(Member { name: name.to_string(), process, address: String::new(), shards: shards.to_vec() })
    }

    fn dropped(name: u8, process: u64, shard: u16) -> Record {
        Record::Dropped { name: name.to_string(), process, shard }
    }

    #[test]
    fn what_is_allowed_only_rises() {
        let mut members = Members::default();
        assert_eq!((members.allowed(), members.allowed_by_the_log()), (VERSION_UNSAID, None));
        for (said, allowed) in [(2, 2), (1, 2), (4, 4), (3, 4)] {
            members.take(&Record::Allow { version: said });
            assert_eq!((members.allowed(), members.allowed_by_the_log()), (allowed, Some(allowed)));
        }
    }

    fn gone(name: u8) -> Record {
        Record::Member(Member::gone(&name.to_string()))
    }

    fn shards(members: &Members, name: &str) -> Option<Vec<u16>> {
        members.get(name).map(|member| member.shards.clone())
    }

    #[test]
    fn the_last_copy_of_a_shard_stays() {
        let mut members = Members::default();
        let mut take = |record| {
            members.take(&record);
            [shards(&members, "1"), shards(&members, "2")]
        };
        take(member(1, 10, &[0, 1]));
        assert_eq!(take(member(2, 20, &[1])), [Some(vec![0, 1]), Some(vec![1])]);
        assert_eq!(take(dropped(1, 10, 0)), [Some(vec![0, 1]), Some(vec![1])], "nobody else has it");
        assert_eq!(take(dropped(1, 9, 1)), [Some(vec![0, 1]), Some(vec![1])], "it was said by a process before");
        assert_eq!(take(dropped(1, 10, 1)), [Some(vec![0]), Some(vec![1])]);
        assert_eq!(take(dropped(2, 20, 1)), [Some(vec![0]), Some(vec![1])], "it was slower");
        assert_eq!(take(gone(2)), [Some(vec![0]), Some(vec![1])]);
        take(member(1, 11, &[0, 1]));
        assert_eq!(take(gone(2)), [Some(vec![0, 1]), None]);
        assert_eq!(take(gone(2)), [Some(vec![0, 1]), None], "it is gone already");
    }

    /// Only a node itself can say that nobody has a shard any more: when it starts without it.
    #[test]
    fn nothing_that_is_given_away_is_lost() {
        let mut dice = 7_u64;
        let mut draw = |of: u64| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407); // Knuth, MMIX
            (dice >> 33) % of
        };
        let (mut members, mut given_away) = (Members::default(), 0);
        for _ in 0..100_000 {
            let (name, process, shard) = (draw(3) as u8, 1 + draw(2), draw(4) as u16);
            let record = match draw(8) {
                0 => member(name, process, &[shard, draw(4) as u16]),
                1 => gone(name),
                _ => dropped(name, process, shard),
            };
            let before = members.clone();
            members.take(&record);
            if matches!(&record, Record::Member(member) if !member.is_gone()) {
                continue;
            }
            given_away += u32::from(members != before);
            for shard in before.iter().flat_map(|member| &member.shards) {
                assert!(members.is_elsewhere(*shard, ""), "{before:?} {record:?}");
            }
        }
        assert!(given_away > 5_000, "{given_away}");
    }
}
