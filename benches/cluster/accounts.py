"""What TAO's operations and LDBC's short reads cost on nodes: CPU of all processes, messages and bytes, beside an embedded database."""

import os
import sys
import time

from nodes import Clock, figure, line, running
from questions import PERSONS, USERS, Data

SECONDS, LEAST = 1.5, 5
SHARDS = 4
WANTED = 3
OPS = {"is": [f"IS{number}" for number in range(1, 8)]}


def spent(run, params, clock):
    """How often a question was asked in a while."""
    count, end = 0, time.perf_counter() + SECONDS
    with clock:
        while time.perf_counter() < end or count < LEAST:
            run(params[count % len(params)])
            count += 1
    return count


def account(asked, there, here, nodes):
    """One line of the table. Returns by how much the CPU of all processes is more than that of the embedded database."""
    params = asked.question.params
    if wrong := [where for where, engine in (("nodes", there), ("embedded", here)) if asked.wrong(engine)]:
        sys.exit(f"error: wrong answers to {asked.op}: {', '.join(wrong)}")
    far, near = Clock(nodes), Clock()
    count, alone = spent(asked.prepared(there), params, far), spent(asked.prepared(here), params, near)
    times = (far.client + far.of_nodes) / count / (near.client / alone)
    each = [1e6 * far.client / count, 1e6 * far.of_nodes / count, 1e6 * (far.client + far.of_nodes) / count, 1e6 * near.client / alone]
    counted = [far.messages / count, far.bytes / count, *asked.sent(there)]
    line(asked.op, f"{count / far.wall:,.0f}", *map(figure, each), f"{times:.1f}", *map(figure, counted), width=11)
    return times


def run(options, home):
    data = Data.of("snb", options.persons or PERSONS) if options.name == "is" else Data.of("tao", options.users or USERS)
    count = options.nodes or 1
    here = data.embedded(home / "embedded.mg")
    with running(home, count, shards=max(SHARDS, count), more=data.of_nodes) as nodes:
        there = data.on(nodes)
        asked = data.asked(here, OPS.get(options.name, data.suite.data.OPS))
        print(f"{data.folder.name}; {count} nodes, {max(SHARDS, count)} shards, one client; {os.cpu_count()} cores. CPU in µs for each operation.")
        print("Messages are segments with data on all connections between processes, both ways. Those of profile are of steps that nodes run.\n")
        line("", "", "client", "nodes", "together", "embedded", "", "", "", "profile:", "", width=11)
        line("operation", "each second", "CPU", "CPU", "CPU", "CPU", "times", "messages", "bytes", "messages", "bytes", width=11)
        times = {one.op: account(one, there, here, nodes) for one in asked}
        there.close()
    here.close()
    over = [f"{op} {ratio:.1f}" for op, ratio in times.items() if ratio > WANTED]
    print(f"\nwanted: at most {WANTED} times the CPU of the embedded database. " + (f"Above it: {', '.join(over)}" if over else "All are below it."))
    print("all answers are right, on nodes and embedded")
