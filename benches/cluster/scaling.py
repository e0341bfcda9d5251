"""Small equal machines: 1, 2, 4 and 8 nodes, each with a part of a core, and clients and the broker outside.

How much the nodes do each second with each number of them, and whether it was they that had no more time. Then a model of the time on a real network.
"""

import itertools
import json
import os
import random
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import limits
import model
from nodes import Clock, Nodes, kafka, line
from questions import Data

USERS, PERSONS = 10_000, 150
SHARDS = 8
PROCESSES, SECONDS = 4, 4
EDGES_PER_NODE = 30_000
MODELLED = (1, 2)
IDLE_S = 1.0
# The client processes are this program.
CLIENT = [sys.executable, str(Path(__file__).with_name("asking.py"))]


@dataclass
class Work:
    """Queries of one kind, and how many threads each client process has for them."""

    name: str
    questions: list  # of op, text, parameters, right answer, whether rows are ordered and sparse
    threads: int


def mixed(asked, shares, count=400):
    """Questions in some shares, in any order."""
    chance, found = random.Random(1), []
    for one in chance.choices(asked, [shares[one.op] for one in asked], k=count):
        at, question = chance.randrange(len(one.question.params)), one.question
        found.append((one.op, *one.plain(question.params[at]), question.answers[at], question.ordered, question.sparse))
    return found


def works_of(data, home):
    """The work on a data set, with the texts that an embedded database answers fastest."""
    engine = data.embedded(home / f"{data.suite.name}.mg")
    try:
        if data.suite.name == "tao":
            from tao_mix import CHANGES, MIXES

            shares = {op: share for op, share in MIXES["TAO"].items() if op not in CHANGES}
            return [Work("TAO's reads", mixed(data.asked(engine, list(shares)), shares), 8)]
        short, complex_ = ([f"IS{number}" for number in range(1, 8)], ["IC2", "IC9"])
        given = lambda ops: mixed(data.asked(engine, ops), dict.fromkeys(ops, 1))
        return [Work("IS1 to IS7", given(short), 8), Work("IC2, IC9: 2 and 3 hops", given(complex_), 2)]
    finally:
        engine.close()


@contextmanager
def clients(address, arguments):
    """Client processes, which are ready: one for each list of arguments."""
    started = []
    try:
        for words in arguments:
            command = [*CLIENT, address, *map(str, words)]
            started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        for process in started:
            if process.stdout.readline().strip() != "ready":
                sys.exit("error: a client does not begin")
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate()


def together(started):
    """Lets client processes work at the same time, and gives what they say."""
    for process in started:
        process.stdin.write("go\n")
        process.stdin.flush()
    return [json.loads(process.stdout.readline()) for process in started]


class Table:
    """The rates with each number of nodes."""

    def __init__(self, quota):
        self.quota, self.first = quota, {}
        line("work", "nodes", "each second", "times", "nodes' CPU", "of limits", "clients' CPU", "broker's CPU", width=13)

    def row(self, what, count, rate, clock, said):
        one = self.first.setdefault(what, rate / count)
        used, of_clients = clock.of_nodes / clock.wall, sum(client["cpu_s"] for client in said) / clock.wall
        cells = [f"{rate:,.0f}", f"{rate / one:.2f}" if rate else "", f"{used:.2f}", f"{used / count / self.quota:.0%}"]
        line(what, count, *cells, f"{of_clients:.2f}", f"{clock.of_brokers / clock.wall:.2f}", width=13)


def idle(nodes, table):
    with Clock(nodes) as clock:
        time.sleep(IDLE_S)
    table.row("nothing", len(nodes.pids), 0, clock, [])


def asked_by_many(work, nodes, table, home):
    file = home / "questions.json"
    file.write_text(json.dumps(work.questions))
    with clients(nodes.address, [("ask", file, seed, work.threads, SECONDS) for seed in range(PROCESSES)]) as started:
        with Clock(nodes) as clock:
            said = together(started)
    table.row(work.name, len(nodes.pids), sum(client["count"] for client in said) / SECONDS, clock, said)


def firehose(db, vertices, nodes, table):
    """Two processes ingest edges. They have ended once the nodes have applied them."""
    with db.ingest() as rows:
        rows.add_edges("saw", {"~from": [0], "~to": [1], "at": [-1]})
    each = EDGES_PER_NODE * len(nodes.pids) // 2
    with clients(nodes.address, [("write", at * each, each, vertices) for at in range(2)]) as started:
        with Clock(nodes) as clock:
            said = together(started)
    table.row("edges, 5,000 a batch", len(nodes.pids), 2 * each / clock.wall, clock, said)
    assert db.query("g.E().hasLabel('saw').count()").one() == 2 * each + 1


@contextmanager
def groups_of(count):
    """A control group for each node. They go once their nodes have ended."""
    made = []
    try:
        made += (limits.Group(f"node-{at}") for at in range(count))
        yield made
    finally:
        for group in made:
            group.remove()


def measured(count, data, works, brokers, table, home):
    """Rows of the table with so many nodes. Returns the paths of the queries, if the model is held against this number."""
    name, options = f"{data.suite.name}-{count}", {"shards": max(SHARDS, count), "more": data.of_nodes}
    with groups_of(count) as groups, Nodes(home, brokers, count, name=name, **options) as nodes:
        engine = data.on(nodes)
        ask = lambda question: engine.database.query(question[1], question[2]).to_list()
        modelled = works if count in MODELLED else []
        paths = [(work.name, count, model.path_of(nodes, ask, work.questions)) for work in modelled]
        try:
            for group, process in zip(groups, nodes.pids):
                group.take(process)
                group.limit(table.quota)
            idle(nodes, table)
            for work in works:
                asked_by_many(work, nodes, table, home)
            if data.suite.name == "tao":
                firehose(engine.database, data.users(), nodes, table)
        finally:
            for group in groups:
                group.free()
        engine.close()
    return paths


def run(options, home):
    if why := limits.missing():
        print(f"error: {why}")
        return 2
    sets = [Data.of("tao", options.users or USERS), Data.of("snb", options.persons or PERSONS)]
    works, counts, paths = [works_of(data, home) for data in sets], [int(count) for count in options.counts.split(",")], []
    print(f"{' and '.join(data.folder.name for data in sets)}; {SHARDS} shards; each node has {options.quota:g} of the {os.cpu_count()} cores, and clients and")
    print(f"the broker what is left. {PROCESSES} client processes with several threads. CPU in cores. If the nodes use much less than their limits, something")
    print("else has no more time: then take a smaller --quota.\n")
    table = Table(options.quota)
    with kafka.Brokers(home / "kafka", 1) as brokers:
        for count, (data, its) in itertools.product(counts, list(zip(sets, works))):
            paths += measured(count, data, its, brokers, table, home)
    network = model.Network(options.message_us / 1e6, 1e-9 / options.gb_per_s)
    print()
    here = model.loopback()
    model.heads(network)
    for what, count, path in paths:
        model.row(what, count, path, here, network)
    print(f"\nHere, a message takes {here.message_s * 1e6:.1f} us beside CPU time. All answers that were compared are right.")
    return 0
