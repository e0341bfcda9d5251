//! The log of a graph in shards under loss, copies, delay, other orders, pauses, crashes and restarts, by seed.
//!
//! A run has gateways that may all take themselves for the writer, shards that follow the log, and clients that ask again until they have an
//! answer. Each transaction adds an edge, with one half in each of two shards. After every run:
//!
//! 1. what was acknowledged is in the log, counts, and has the number that was told;
//! 2. no transaction counts twice;
//! 3. a shard holds what the commits that count do to it, up to its number, in order: nothing void, nothing twice;
//! 4. at every number, an edge has both halves or neither;
//! 5. a reader that names one number everywhere reads the graph of that number, or is told that it is gone.
//!
//! `MANGROVE_SIMULATION_RUNS` sets the number of runs and `MANGROVE_SIMULATION_SEED` the first seed. A run that fails says its seed.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use mangrove_cluster::log::{
    CutPace, Cuts, Event, Follower, Found, Output, Position, Record, RequestId, Section, Standing, Transaction, WriterCore,
    WriterPace, rank,
};
use mangrove_testkit::graphs::Random;

const RUNS: u64 = 3_000;
const GATEWAYS: usize = 3;
const SHARDS: u16 = 3;
const STEPS: usize = 700;
const CUTS: CutPace = CutPace { free: 40, spared: 80, held: 200, count: 8 };
const PACE: WriterPace =
    WriterPace { silence: 60, lapse: 15, again: 25, alive: 20, cut: 6, group: 3, remembered: 1_000_000 };

/// A part of the design that a run does without. The checks must notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Without {
    Nothing,
    /// An append is acknowledged when it is in the log, whether it counts or not.
    ReadBack,
    /// Any commit of the writer counts, whatever was before it.
    Number,
    /// A shard keeps its position apart from its changes.
    Position,
    /// A reader takes the newest cut of each shard.
    Naming,
}

struct Gateway {
    core: WriterCore,
    read: usize,
    paused_until: u64,
}

/// The changes of the commits that a shard has applied.
type Applied = Vec<(u64, Vec<u8>)>;

/// A shard as its disk has it, and its reader.
struct Shard {
    follower: Follower,
    applied: Applied,
    position: Position,
    /// What it has applied since its last cut.
    open: Applied,
    cuts: Cuts<Applied>,
}

struct World {
    random: Random,
    without: Without,
    now: u64,
    log: Vec<Record>,
    /// Which commits count is known from here.
    standing: Standing,
    network: Vec<Record>,
    gateways: Vec<Gateway>,
    shards: Vec<Shard>,
    made: u128,
    wanted: BTreeMap<RequestId, Transaction>,
    /// What readers got of each shard, and the number that they named.
    read: Vec<(u64, Vec<Applied>)>,
    acknowledged: BTreeMap<RequestId, Option<u64>>,
}

impl World {
    fn new(seed: u64, without: Without) -> Self {
        let mut random = Random::new(seed);
        let gateways = (0..GATEWAYS).map(|_| Gateway::new(&mut random, 0)).collect();
        let shard = |number| Shard {
            follower: Follower::new(number, Position::default()),
            applied: Vec::new(),
            position: Position::default(),
            open: Vec::new(),
            cuts: Cuts::new(0, Vec::new(), CUTS),
        };
        Self {
            random,
            without,
            now: 0,
            log: Vec::new(),
            standing: Standing::default(),
            network: Vec::new(),
            gateways,
            shards: (0..SHARDS).map(shard).collect(),
            made: 0,
            wanted: BTreeMap::new(),
            read: Vec::new(),
            acknowledged: BTreeMap::new(),
        }
    }

    /// True in so many of a hundred cases.
    fn chance(&mut self, of_hundred: u64) -> bool {
        self.random.below(100) < of_hundred
    }

    fn step(&mut self) {
        self.now += self.random.below(4);
        if self.chance(8) {
            self.want();
        }
        self.carry();
        let gateway = self.random.below(GATEWAYS as u64) as usize;
        self.run_gateway(gateway);
        let shard = self.random.below(SHARDS.into()) as usize;
        self.run_shard(shard);
        if self.chance(3) {
            self.read_graph();
        }
    }

    /// A reader asks all shards, one after the other. Meanwhile they go on.
    fn read_graph(&mut self) {
        let number = self.shards.iter().map(|shard| shard.cuts.applied()).min().unwrap_or(0);
        let mut graph = Vec::new();
        for at in 0..self.shards.len() {
            let cuts = &self.shards[at].cuts;
            let named = if self.without == Without::Naming { cuts.applied() } else { number };
            match cuts.at(named) {
                Found::At(shard) => graph.push(shard.clone()),
                Found::Gone => return, // it begins again
                Found::Later => panic!("a shard that has applied {named} and does not know it"),
            }
            for _ in 0..self.random.below(12) {
                self.now += 1;
                let shard = self.random.below(SHARDS.into()) as usize;
                self.run_shard(shard);
            }
        }
        self.read.push((number, graph));
    }

    /// A client wants an edge.
    fn want(&mut self) {
        let request = RequestId(self.made);
        let half = |kind: u8| [&[kind][..], &(self.made as u64).to_le_bytes()].concat();
        let (out, coming) = (half(b'o'), half(b'i'));
        self.made += 1;
        let (source, target) = (self.random.below(SHARDS.into()) as u16, self.random.below(SHARDS.into()) as u16);
        let section = |shard, changes: Vec<u8>| Section::new(shard, changes);
        let sections = vec![section(source, out), section(target, coming)];
        self.wanted.insert(request, Transaction { request, sections });
    }

    /// The network delivers a record, delivers it twice, or loses it; in any order.
    fn carry(&mut self) {
        if self.network.is_empty() || self.chance(40) {
            return;
        }
        let at = self.random.below(self.network.len() as u64) as usize;
        let record = if self.chance(85) { self.network.swap_remove(at) } else { self.network[at].clone() };
        if self.chance(90) {
            self.append(record);
        }
    }

    fn append(&mut self, mut record: Record) {
        if let (Without::Number, Record::Commit(commit)) = (self.without, &mut record) {
            commit.number = self.standing.number + 1;
        }
        if let (Without::ReadBack, Record::Commit(commit)) = (self.without, &record) {
            let told: Vec<RequestId> = commit.requests.clone();
            told.into_iter().for_each(|request| self.tell(request, None));
        }
        self.standing.take(&record);
        self.log.push(Record::from_bytes(&record.to_bytes().expect("bytes")).expect("a record"));
    }

    fn tell(&mut self, request: RequestId, number: Option<u64>) {
        self.wanted.remove(&request);
        self.acknowledged.entry(request).or_insert(number);
    }

    fn run_gateway(&mut self, at: usize) {
        if self.chance(1) {
            self.gateways[at] = Gateway::new(&mut self.random, self.now); // killed, and started again
        }
        if self.gateways[at].paused_until > self.now {
            return;
        }
        if self.chance(2) {
            self.gateways[at].paused_until = self.now + self.random.below(150);
            return;
        }
        let mut out = Vec::new();
        self.gateways[at].core.take(Event::Tick(self.now), &mut out);
        // It reads a part of what it has not read.
        let left = self.log.len() - self.gateways[at].read;
        let some = if self.chance(70) { left } else { self.random.below(left as u64 + 1) as usize };
        for _ in 0..some {
            let record = self.log[self.gateways[at].read].clone();
            self.gateways[at].read += 1;
            self.gateways[at].core.take(Event::Read(record), &mut out);
        }
        if some == left {
            self.gateways[at].core.take(Event::Ended(self.now), &mut out);
        }
        if self.chance(1) {
            self.gateways[at].core.take(Event::Leave, &mut out);
        }
        let asked: Vec<Transaction> = self.wanted.values().filter(|_| self.random.below(3) == 0).cloned().collect();
        asked.into_iter().for_each(|transaction| self.gateways[at].core.take(Event::Submit(transaction), &mut out));
        for output in out {
            match output {
                Output::Append(record) => self.network.push(record),
                Output::Done(request, number) => self.tell(request, Some(number)),
                Output::Refused(..) => {} // the client asks again
            }
        }
    }

    fn run_shard(&mut self, at: usize) {
        let read = self.shards[at].position.next.max(self.shards[at].follower.position().next) as usize;
        let some = self.random.below((self.log.len() - read) as u64 + 1) as usize;
        for offset in read..read + some {
            let crashes = self.chance(2);
            self.shards[at].read(at as u16, offset, &self.log[offset], crashes, self.without, self.now);
            if crashes {
                return;
            }
        }
    }

    /// Lets everything that can still happen do so.
    fn settle(&mut self) {
        let lost = std::mem::take(&mut self.network);
        lost.into_iter().for_each(|record| self.append(record));
        for shard in 0..self.shards.len() {
            let read = self.shards[shard].follower.position().next as usize;
            for offset in read..self.log.len() {
                self.shards[shard].read(shard as u16, offset, &self.log[offset], false, self.without, self.now);
            }
        }
    }

    /// What the invariants of this module say of a run.
    fn judge(&self) -> Result<(), String> {
        let (mut standing, mut commits) = (Standing::default(), Vec::new());
        for record in &self.log {
            if let (true, Record::Commit(commit)) = (standing.take(record), record) {
                commits.push(commit);
            }
        }
        let mut numbers = BTreeMap::new();
        for commit in &commits {
            for request in &commit.requests {
                if numbers.insert(*request, commit.number).is_some() {
                    return Err(format!("{request:?} was made twice"));
                }
            }
        }
        for (request, told) in &self.acknowledged {
            match (numbers.get(request), told) {
                (None, _) => return Err(format!("{request:?} was acknowledged, and is not there")),
                (Some(number), Some(told)) if number != told => {
                    return Err(format!("{request:?} has number {number}, not {told}"));
                }
                _ => {}
            }
        }
        for (number, shard) in (0u16..).zip(&self.shards) {
            let wanted: Vec<(u64, Vec<u8>)> = commits
                .iter()
                .filter_map(|commit| Some((commit.number, commit.section(number)?.changes.to_vec())))
                .collect();
            let all = [&shard.applied[..], &shard.open].concat();
            if all != wanted {
                return Err(format!("shard {number} has applied {all:?}, not {wanted:?}"));
            }
        }
        for (n, graph) in &self.read {
            for (number, shard) in (0u16..).zip(graph) {
                let until_n = commits.iter().filter(|commit| commit.number <= *n);
                let wanted: Applied =
                    until_n.filter_map(|commit| Some((commit.number, commit.section(number)?.changes.to_vec()))).collect();
                if *shard != wanted {
                    return Err(format!("a reader at {n} got {shard:?} of shard {number}, not {wanted:?}"));
                }
            }
        }
        self.has_both_halves(commits.len() as u64)
    }

    fn has_both_halves(&self, last: u64) -> Result<(), String> {
        for n in 1..=last {
            let mut halves = [BTreeSet::new(), BTreeSet::new()];
            let all = self.shards.iter().flat_map(|shard| shard.applied.iter().chain(&shard.open));
            let until_n = all.filter(|(number, _)| *number <= n);
            for half in until_n.flat_map(|(_, changes)| changes.chunks(9)) {
                halves[usize::from(half[0] == b'o')].insert(half[1..].to_vec());
            }
            if halves[0] != halves[1] {
                return Err(format!("an edge has one half at {n}"));
            }
        }
        Ok(())
    }
}

impl Gateway {
    fn new(random: &mut Random, now: u64) -> Self {
        Self { core: WriterCore::new(random.below(u64::MAX), PACE, now), read: 0, paused_until: 0 }
    }
}

impl Shard {
    /// Reads a record. If it crashes, it goes on from its disk: changes and position are there, or neither.
    fn read(&mut self, number: u16, offset: usize, record: &Record, crashes: bool, without: Without, now: u64) {
        let mut step = self.follower.read(offset as u64, offset as u64, record).expect("the log is whole");
        step.is_cut &= !now.is_multiple_of(5); // a shard that is behind leaves cuts out
        let commit = self.follower.position().standing.number;
        self.open.extend(step.section.map(|section| (commit, section.changes.to_vec())));
        let mut changed = None;
        let is_kept = step.is_cut && (!crashes || without == Without::Position);
        if is_kept {
            changed = self.open.first().map(|(number, _)| *number);
            self.applied.append(&mut self.open);
        }
        if crashes {
            self.open.clear();
            self.follower = Follower::new(number, self.position);
            self.cuts = Cuts::new(self.position.standing.number, self.applied.clone(), CUTS);
        } else if step.is_cut {
            self.position = Position::from_bytes(&self.follower.position().to_bytes().expect("bytes")).expect("a position");
            self.cuts.made(
                commit,
                rank(self.cuts.applied(), commit),
                changed.map(|first| (first, self.applied.clone())),
                now,
            );
        }
    }
}

fn run(seed: u64, without: Without) -> (Result<(), String>, usize) {
    let mut world = World::new(seed, without);
    (0..STEPS).for_each(|_| world.step());
    world.settle();
    (world.judge(), world.acknowledged.len())
}

fn number_of_runs() -> (u64, u64) {
    let number = |name| support::number_from_env(name);
    (number("MANGROVE_SIMULATION_RUNS").unwrap_or(RUNS), number("MANGROVE_SIMULATION_SEED").unwrap_or(1))
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_is_made_twice() {
    let (runs, first) = number_of_runs();
    let mut acknowledged = 0;
    for seed in first..first + runs {
        let (outcome, count) = run(seed, Without::Nothing);
        acknowledged += count;
        assert_eq!(outcome, Ok(()), "seed {seed}");
    }
    println!("{runs} runs, {acknowledged} transactions acknowledged");
    assert!(acknowledged as u64 > 10 * runs, "{acknowledged} transactions in {runs} runs show little");
}

#[test]
fn a_run_replays() {
    let once = |seed| {
        let mut world = World::new(seed, Without::Nothing);
        (0..STEPS).for_each(|_| world.step());
        (world.log, world.acknowledged)
    };
    assert_eq!(once(7), once(7));
}

#[test]
fn the_checks_notice_what_is_missing() {
    for without in [Without::ReadBack, Without::Number, Without::Position, Without::Naming] {
        let failed = (0..300).filter(|seed| run(*seed, without).0.is_err()).count();
        println!("without {without:?}: {failed} of 300 runs fail");
        assert!(failed > 10, "without {without:?} only {failed} of 300 runs fail");
    }
}
