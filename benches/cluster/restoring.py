"""A node without data: how fast it reads the log, and how long it takes from a backup with the log after it."""

import shutil
import sys
import time

from edges import Edges, answer
from nodes import Clock, command, line, running
from work import CLIENTS, QUERIES, write_together

import mangrovedb as mg

SCALE = 18
WANTED_EDGES, WANTED_S = 150_000, 60


def counted(nodes, starts):
    """What must be the same afterwards: how much there is, and what some queries give."""
    db = mg.connect(nodes.address)
    ask = [(query, x) for _, query, _ in QUERIES[:3] for x in starts]
    found = [db.query("g.V().count()").one(), db.query("g.E().count()").one(), *(answer(db, query, x) for query, x in ask)]
    db.close()
    return found


def started_empty(nodes):
    """Ends the node, deletes its data, and starts it: seconds until it answers, and its CPU seconds till then."""
    nodes.end(0)
    shutil.rmtree(nodes.data(0))
    began, clock = time.perf_counter(), Clock(nodes)
    nodes.begin(0)
    nodes.wait(0)
    return time.perf_counter() - began, clock.times()[2]


def must_be(wanted, nodes, starts, how):
    if counted(nodes, starts) != wanted:
        sys.exit(f"error: the node has another graph after it has {how}")


def run(options, home):
    graph = Edges(options.scale or SCALE)
    starts = graph.starts(20)
    print(f"{graph}; one node with one shard\n")
    line("work", "s", "CPU s", "edges/CPU s", "edges/s", width=14)
    with running(home, shards=1) as nodes:
        db = mg.connect(nodes.address)
        graph.put(db)
        db.close()
        wanted = counted(nodes, starts)
        replay_s, replay_cpu = started_empty(nodes)
        must_be(wanted, nodes, starts, "read the log")
        line("the whole log", f"{replay_s:.1f}", f"{replay_cpu:.1f}", f"{len(graph) / replay_cpu:,.0f}", f"{len(graph) / replay_s:,.0f}", width=14)
        nodes.end(0)
        nodes.commands[0] += ["--store", str(home / "backups")]
        nodes.begin(0)
        nodes.wait(0)
        began = time.perf_counter()
        said = command("cluster", "backup", nodes.address, "--keep-log").strip()
        line("a backup", f"{time.perf_counter() - began:.1f}", width=14)
        # What the log has when the node is lost, beside the backup.
        db, clock = mg.connect(nodes.address), Clock(nodes)
        written = write_together(db, clock, options.log_seconds)
        db.close()
        line(f"writes of {options.log_seconds} s, {CLIENTS} clients", f"{clock.wall:.1f}", f"{clock.of_nodes:.1f}", "", f"{written / clock.wall:,.0f}", width=14)
        wanted = counted(nodes, starts)
        restore_s, restore_cpu = started_empty(nodes)
        must_be(wanted, nodes, starts, "come from the backup")
        line("the backup, and this log", f"{restore_s:.1f}", f"{restore_cpu:.1f}", width=14)
        print(f"\nthe backup: {said}; then {written:,} edges, each in a transaction")
        print(f"it took {restore_cpu / replay_cpu:.2f} times the CPU of the whole log before those")
    print(f"wanted: {WANTED_EDGES:,} edges for each CPU second of the whole log, and at most {WANTED_S} s from the backup. The graph was the same both times.")
