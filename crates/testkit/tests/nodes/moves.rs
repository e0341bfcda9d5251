//! Shards go from node to node while clients read and write.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use mangrove_cluster::gateway::{Limits, Peer};
use mangrove_cluster::wire::{Call, Reply};
use mangrove_graph::{Catalog, ElementKind, GraphError, GraphView, IdSpace, ReadContext, Result, Scan, ScanCursor};
use mangrove_testkit::graphs::Random;
use mangrove_testkit::suite::StoreUnderTest;

use super::support::nodes::Nodes;
use super::{Ending, add_one, log_of, numbers, records};

fn take(nodes: &Nodes, at: usize, shard: u16) -> Result<()> {
    let reply = nodes.session(at).call(&Call::TakeShard { shard }, None)?;
    assert!(matches!(reply, Reply::ShardTaken), "{reply:?}");
    Ok(())
}

fn give_away(nodes: &Nodes, at: usize, shard: u16) -> Result<()> {
    let reply = nodes.session(at).call(&Call::DropShard { shard }, None)?;
    assert!(matches!(reply, Reply::ShardDropped), "{reply:?}");
    Ok(())
}

/// Fails if something does not become so.
fn wait_until(is_so: impl Fn() -> bool, what: &str) {
    let until = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A shard that was given away ends once nobody looks for it, and its files with it.
fn wait_until_gone(nodes: &Nodes, at: usize, stays: usize) {
    wait_until(|| nodes.on_disk(at) <= stays, &format!("node {at} has more than {stays} stores"));
}

/// How far a shard of a node has applied the log, if the node has it or takes it.
fn applied(nodes: &Nodes, at: usize, shard: u16) -> Option<u64> {
    let status = nodes.nodes[at].status().expect("a status");
    status.shards.iter().find(|own| own.shard == shard).map(|own| own.number)
}

/// Node 1 begins to take shard 0, which stands still. Then who wants it changes his mind.
fn cancel_a_take(nodes: &Nodes) {
    let limits = ReadContext::default();
    nodes.slow.store(60_000, Ordering::Relaxed);
    let taken = std::thread::scope(|scope| {
        let taking = scope.spawn(|| nodes.session(1).call(&Call::TakeShard { shard: 0 }, Some(&limits)));
        wait_until(|| applied(nodes, 1, 0).is_some(), "the shard does not arrive");
        limits.cancel.cancel();
        wait_until(|| applied(nodes, 1, 0).is_none(), "the shard still arrives");
        nodes.slow.store(0, Ordering::Relaxed);
        taking.join().expect("no panic")
    });
    assert!(matches!(taken, Err(GraphError::Cancelled)), "{taken:?}");
    assert_eq!((nodes.shards(0), nodes.shards(1)), (vec![0], vec![1]), "as the log says");
}

/// Each shard moves several times. Nobody who reads or writes notices. What was written is there after all nodes have started again, with the
/// shards that they had.
#[test]
fn shards_move_while_clients_write_and_read() {
    let mut nodes = Nodes::served(3, 4, IdSpace::Graph);
    add_one(&nodes.gateway, 1).expect("the first");
    let (stopped, acknowledged) = (AtomicBool::new(false), AtomicI64::new(1));
    let mut dice = Random::new(11);
    std::thread::scope(|scope| {
        let _ending = Ending(&stopped);
        let writer = nodes.client();
        scope.spawn(|| {
            let writer = writer;
            (2..).take_while(|_| !stopped.load(Ordering::Relaxed)).for_each(|number| {
                add_one(&writer, number).expect("a commit");
                acknowledged.store(number, Ordering::Relaxed);
            });
        });
        for reader in [nodes.client(), nodes.client()] {
            let stopped = &stopped;
            scope.spawn(move || {
                let mut last = BTreeSet::new();
                while !stopped.load(Ordering::Relaxed) {
                    let now = numbers(&reader).expect("a cut");
                    assert!(now.is_superset(&last), "something was there and is not");
                    last = now;
                }
            });
        }
        for _ in 0..25 {
            let shard = dice.below(4) as u16;
            let from = (0..3).find(|at| nodes.shards(*at).contains(&shard)).expect("a node");
            let to = (from + 1 + dice.below(2) as usize) % 3;
            take(&nodes, to, shard).expect("a copy");
            give_away(&nodes, from, shard).expect("another node has it");
        }
    });
    let (client, last) = (nodes.client(), acknowledged.load(Ordering::Relaxed) + 1);
    add_one(&client, last).expect("the last"); // from then on, it reads all that was before
    let written: BTreeSet<i64> = (0..=last).collect();
    assert_eq!(numbers(&client).expect("a cut"), written);
    let shards = |nodes: &Nodes| (0..3).map(|at| nodes.shards(at)).collect::<Vec<_>>();
    let had = shards(&nodes);
    assert_ne!(had, [vec![0, 3], vec![1], vec![2]], "something has moved");
    (0..3).for_each(|at| wait_until_gone(&nodes, at, had[at].len()));
    for at in 0..3 {
        nodes.restart(at);
    }
    assert_eq!(shards(&nodes), had);
    nodes.gateway = nodes.client();
    assert_eq!(numbers(&nodes.gateway).expect("a cut"), written);
    assert_eq!(nodes.check().expect("a check"), Vec::<String>::new());
}

/// Who has begun to read a shard goes on where it was, though the node has given it away.
#[test]
fn a_reader_goes_on_at_a_node_that_gives_its_shard_away() {
    let nodes = Nodes::served(2, 2, IdSpace::Graph);
    for number in 1..=20 {
        add_one(&nodes.gateway, number).expect("a commit");
    }
    let cut = nodes.gateway.cut(None).expect("a cut");
    let graph = cut.graph(nodes.gateway.placement(), &Limits::default());
    let person = graph.schema().label(ElementKind::Vertex, "person").expect("a label");
    take(&nodes, 1, 0).expect("a copy");
    give_away(&nodes, 0, 0).expect("another node has it");
    std::thread::sleep(Duration::from_secs(6)); // nobody begins there any more
    let (mut counted, mut cursor) = (0, ScanCursor::default());
    while !cursor.done {
        counted += graph.count(ElementKind::Vertex, &Scan::of(person), &mut cursor).expect("the same node");
    }
    assert_eq!(counted, 21);
    assert_eq!(nodes.on_disk(0), 1, "somebody reads it");
    drop((graph, cut));
    assert_eq!(numbers(&nodes.client()).expect("a cut").len(), 21);
    nodes.gateway.cut_from(0, Duration::ZERO, None).expect("another cut"); // the gateway keeps the last one
    wait_until_gone(&nodes, 0, 0);
    take(&nodes, 0, 0).expect("it comes back");
    give_away(&nodes, 1, 0).expect("another node has it");
    take(&nodes, 1, 0).expect("it comes back before it has gone");
    assert_eq!((nodes.shards(0), nodes.shards(1)), (vec![0], vec![0, 1]));
    give_away(&nodes, 0, 0).expect("another node has it");
    std::thread::sleep(Duration::from_secs(6));
    assert_eq!(numbers(&nodes.client()).expect("a cut").len(), 21, "the one that came back stays");
}

/// The last copy of a shard stays, also if its two nodes give it away at the same time.
#[test]
fn the_last_copy_of_a_shard_is_not_given_away() {
    let nodes = Nodes::replicated(2, 2, 2, IdSpace::Graph);
    add_one(&nodes.gateway, 1).expect("a commit");
    for shard in 0..2 {
        let given = std::thread::scope(|scope| {
            let both = [0, 1].map(|at| {
                scope.spawn({
                    let nodes = &nodes;
                    move || give_away(nodes, at, shard)
                })
            });
            both.map(|one| one.join().expect("no panic")).into_iter().filter(Result::is_ok).count()
        });
        let having = (0..2).filter(|at| nodes.shards(*at).contains(&shard)).count();
        assert_eq!((given, having), (1, 1), "shard {shard}");
    }
    for at in 0..2 {
        for shard in nodes.shards(at) {
            let refused = give_away(&nodes, at, shard).expect_err("it is the last");
            assert!(matches!(&refused, GraphError::Invalid(what) if what.contains("no other node has shard")), "{refused}");
            take(&nodes, at, shard).expect("nothing happens");
        }
    }
    let refused = take(&nodes, 0, 9).expect_err("there is none").to_string();
    assert!(refused.contains("the graph has the shards 0 to 1"), "{refused}");
    assert_eq!(numbers(&nodes.client()).expect("a cut").len(), 2);
}

/// A shard that comes to a node from a backup has what the log has no more.
#[test]
fn a_shard_moves_though_the_log_was_cut() {
    let nodes = Nodes::served(2, 2, IdSpace::Graph);
    let mut known = BTreeSet::from([0]);
    for round in 0..3 {
        for number in 1..=10 {
            add_one(&nodes.gateway, 100 * round + number).expect("a commit");
            known.insert(100 * round + number);
        }
        nodes.back_up();
    }
    take(&nodes, 1, 0).expect("a copy");
    give_away(&nodes, 0, 0).expect("another node has it");
    assert_eq!((nodes.shards(0), nodes.shards(1)), (vec![], vec![0, 1]));
    wait_until_gone(&nodes, 0, 0);
    assert_eq!(numbers(&nodes.client()).expect("a cut"), known);
    add_one(&nodes.client(), 1_000).expect("a commit");
    assert_eq!(nodes.check().expect("a check"), Vec::<String>::new());
}

/// Who cancels a take hears so. The node has nothing of the shard, and can take it again.
#[test]
fn a_take_is_cancelled() {
    let mut nodes = Nodes::served(2, 2, IdSpace::Graph);
    let known: BTreeSet<i64> = (0..=20).collect();
    for number in 1..=20 {
        add_one(&nodes.gateway, number).expect("a commit");
    }
    cancel_a_take(&nodes);
    nodes.restart(1);
    assert_eq!((nodes.shards(1), nodes.on_disk(1)), (vec![1], 1), "a node that starts deletes what it does not have");
    cancel_a_take(&nodes);
    take(&nodes, 1, 0).expect("nobody cancels it");
    assert_eq!(nodes.shards(1), [0, 1]);
    give_away(&nodes, 0, 0).expect("another node has it");
    nodes.gateway = nodes.client();
    assert_eq!(numbers(&nodes.gateway).expect("a cut"), known);
    assert_eq!(nodes.check().expect("a check"), Vec::<String>::new());
}

/// A log that lost its end does not say that a node has a shard. The node keeps the files, because they have what the log has lost.
#[test]
fn a_shard_that_has_what_the_log_lacks_stays_on_the_disk() {
    let mut nodes = Nodes::served(2, 2, IdSpace::Graph);
    for number in 1..=10 {
        add_one(&nodes.gateway, number).expect("a commit");
    }
    let before = records(&nodes.log);
    take(&nodes, 1, 0).expect("a copy");
    let mut last = None;
    for number in 11..=20 {
        last = Some(add_one(&nodes.gateway, number).expect("a commit"));
    }
    wait_until(|| applied(&nodes, 1, 0) >= last, "shard 0 is behind");
    nodes.stop(1);
    let whole = std::mem::replace(&mut nodes.log, log_of(&before));
    nodes.start(1);
    assert_eq!(nodes.shards(1), [1], "the log says no more");
    assert_eq!(nodes.on_disk(1), 2, "shard 0 stays");
    nodes.stop(1);
    nodes.log = whole;
    nodes.start(1);
    assert_eq!((nodes.shards(1), nodes.on_disk(1)), (vec![0, 1], 2), "the log is whole again");
    give_away(&nodes, 0, 0).expect("another node has it");
    nodes.gateway = nodes.client();
    assert_eq!(numbers(&nodes.gateway).expect("a cut"), (0..=20).collect());
    assert_eq!(nodes.check().expect("a check"), Vec::<String>::new());
}
