//! Shards that a node takes, and shards that it gives away.

use std::collections::BTreeSet;
use std::time::Instant;

use mangrove_graph::{GraphError, Result};

use super::host::Host;
use super::{LOOK, Node, PATIENCE};
use crate::log::{Member, Members, Record};

impl Node {
    /// Opens the shards that the node is to have, and ends the others, once it has read the log to its end. `asked` are those with which it was
    /// started. If it `was_asked` for the same before, the log knows better: shards may have come and gone since then. Otherwise it keeps
    /// what it had, and takes what is new.
    ///
    /// # Errors
    /// If the log says nothing new for a while, or if a shard cannot be opened. [`GraphError::Cancelled`] if it should not go on.
    pub fn place(&self, asked: &[u16], was_asked: bool, is_cancelled: &dyn Fn() -> bool) -> Result<()> {
        self.read_to_the_end(is_cancelled)?;
        let listed = self.role.member(&self.name).map(|member| member.shards);
        let of_arguments = asked.iter().filter(|_| !was_asked || listed.is_none());
        let wanted: BTreeSet<u16> = listed.iter().flatten().chain(of_arguments).copied().collect();
        for shard in self.hosts.numbers().into_iter().filter(|shard| !wanted.contains(shard)) {
            if listed.is_some() {
                // It was given away just before the process ended.
                self.compare(shard, is_cancelled)?;
                self.hosts.delete(shard);
            } else {
                self.hosts.end(shard);
            }
        }
        for shard in wanted {
            if !self.hosts.has(shard) {
                self.must_be_shard(shard)?;
                self.hosts.open(shard)?;
            }
        }
        Ok(())
    }

    /// Takes a shard: its store follows the log, and once it has come to its end, others read it here, too. Nothing happens if the node has it.
    ///
    /// # Errors
    /// If its store cannot be made, or does not come to the end of the log. Then the node does not have it.
    pub(super) fn take_shard(&self, shard: u16, is_cancelled: &dyn Fn() -> bool) -> Result<()> {
        let _alone = self.hosts.alone()?;
        self.must_be_shard(shard)?;
        let own = self.own()?;
        let host = match self.hosts.get(shard) {
            Ok(_) if own.shards.contains(&shard) => return Ok(()),
            Ok(leaving) => leaving, // it has followed the log
            Err(_) => self.hosts.open(shard)?,
        };
        let taken = self.arrived(&host, is_cancelled).and_then(|()| {
            let shards = own.shards.iter().copied().chain([shard]).collect::<BTreeSet<u16>>().into_iter().collect();
            let has_it = |members: &Members| members.get(&self.name).is_some_and(|own| own.shards.contains(&shard));
            self.say(&Record::Member(Member { shards, ..own.clone() }), has_it, is_cancelled)
        });
        taken.inspect(|()| self.hosts.have_arrived(&[shard])).inspect_err(|_| self.hosts.end(shard))
    }

    /// Gives a shard away that another node has. Who reads it goes on for a while; then its store is deleted.
    ///
    /// # Errors
    /// If no other node has it, or if the log does not say so in time.
    pub(super) fn drop_shard(&self, shard: u16, is_cancelled: &dyn Fn() -> bool) -> Result<()> {
        let _alone = self.hosts.alone()?;
        let own = self.own()?;
        if !own.shards.contains(&shard) {
            return Err(GraphError::Invalid(format!("{} does not have shard {shard}", self.name)));
        }
        let is_elsewhere = |members: &Members| members.is_elsewhere(shard, &self.name);
        let has_it = |members: &Members| members.get(&self.name).is_some_and(|own| own.shards.contains(&shard));
        // Another node may have taken it just now, and this one has not read so yet. Or that one may give it away at the same time, and be faster.
        if self.role.wait_until(is_elsewhere) {
            let given = Record::Dropped { name: own.name, process: own.process, shard };
            self.role.must_allow(given.version())?;
            self.say(&given, |members| !has_it(members) || !is_elsewhere(members), is_cancelled)?;
        }
        match self.own()?.shards.contains(&shard) {
            true => Err(GraphError::Invalid(format!("no other node has shard {shard}: copy it to one first"))),
            false => Ok(()),
        }
    }

    /// What the log says of this node.
    fn own(&self) -> Result<Member> {
        let own = self.role.member(&self.name).filter(|member| member.process == self.process);
        own.ok_or_else(|| GraphError::Unavailable(format!("the log does not say yet that {} is there", self.name)))
    }

    pub(super) fn must_be_shard(&self, shard: u16) -> Result<()> {
        let shards = self.graph.placement.shards;
        match shard < shards {
            true => Ok(()),
            false => {
                Err(GraphError::Invalid(format!("there is no shard {shard}: the graph has the shards 0 to {}", shards - 1)))
            }
        }
    }

    /// Waits until it is known whether the log has all that a shard has.
    fn compare(&self, shard: u16, is_cancelled: &dyn Fn() -> bool) -> Result<()> {
        let host = self.hosts.get(shard)?;
        while !host.is_ready() {
            if is_cancelled() {
                return Err(GraphError::Cancelled);
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Waits until a shard has come to where the log is now.
    fn arrived(&self, host: &Host, is_cancelled: &dyn Fn() -> bool) -> Result<()> {
        let number = self.role.status().number;
        loop {
            if is_cancelled() || self.tail.is_stopped() {
                return Err(GraphError::Cancelled);
            }
            if let Some(why) = host.has_failed() {
                return Err(GraphError::Unavailable(why));
            }
            match host.reached(number, Instant::now() + LOOK) {
                Ok(reached) if reached.number >= number => return Ok(()),
                Ok(_) => self.role.want_cut(),
                Err(_) => std::thread::sleep(LOOK), // it still reads the log
            }
        }
    }

    /// Writes a record about the members to the log, again and again, until the log says what it should then.
    pub(super) fn say(
        &self,
        record: &Record,
        says: impl Fn(&Members) -> bool,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<()> {
        let (bytes, until) = (record.to_bytes()?, Instant::now() + PATIENCE);
        loop {
            self.log.append(bytes.clone())?;
            if self.role.wait_until(&says) {
                return Ok(());
            }
            if is_cancelled() {
                return Err(GraphError::Cancelled);
            }
            if Instant::now() >= until {
                return Err(GraphError::Unavailable("the log takes no record about the nodes".into()));
            }
        }
    }

    /// Waits until the log was read to its end, as long as it says something new.
    pub(super) fn read_to_the_end(&self, is_cancelled: &dyn Fn() -> bool) -> Result<()> {
        let mut last = (0, Instant::now());
        loop {
            let (read, _) = self.tail.read_to();
            if self.tail.first_end().is_some_and(|end| self.role.has_read_to(end)) {
                return Ok(());
            }
            if read > last.0 {
                last = (read, Instant::now());
            }
            if is_cancelled() {
                return Err(GraphError::Cancelled);
            }
            if last.1.elapsed() >= PATIENCE {
                return Err(GraphError::Unavailable("the log says nothing new".into()));
            }
            std::thread::sleep(LOOK);
        }
    }
}
