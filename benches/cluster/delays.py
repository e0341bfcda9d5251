"""Nodes that are far away: how many round trips a query takes, beside the messages that `profile` counts and those on the wire."""

import statistics
import sys
import time

from edges import Edges, answer, sent
from nodes import Nodes, kafka, line

import mangrovedb as mg

SCALE, NODES = 12, 4
# How often each query runs without a delay, and with it.
NEAR, FAR = 20, 5
BY_CLIENT = {"rules_off": "mesh"}
STEP_BY_STEP = {"rules_off": ["mesh", "fragments"]}


def hops(count):
    return "g.V(x)" + ".out('e')" * count + ".dedup().count()"


QUERIES = [
    ("1 property by id", "g.V(x).values('age')", {}),
    *((f"{count} hop{'s' * (count > 1)}, distinct", hops(count), how) for count in range(1, 5) for how in ({}, BY_CLIENT, STEP_BY_STEP)),
    ("2 hops, filter, properties", "g.V(x).out('e').out('e').dedup().has('age', gt(50)).values('age')", {}),
    ("2 hops, filter, properties", "g.V(x).out('e').out('e').dedup().has('age', gt(50)).values('age')", STEP_BY_STEP),
    ("BFS to depth 4", "g.V(x).repeat(out('e').dedup()).times(4).dedup().count()", {}),
    ("a durable edge", "g.V(x).as('a').V(0).addE('by').from('a').count()", {}),
]


def way(options):
    return {"": "as it is", "mesh": "no mesh"}.get(str(options.get("rules_off", "")), "each step")


def median_s(db, query, starts, options):
    """How long a query takes, once it is warm."""
    took = []
    answer(db, query, starts[0], **options)
    for x in starts:
        began = time.perf_counter()
        answer(db, query, x, **options)
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def measured(db, nodes, starts, query, options):
    """Seconds of a query, and its messages: what `profile` counts, and all on the wire."""
    took = median_s(db, query, starts, options)
    if "addE" in query:
        return took, 0, 0
    profiled, _ = sent(db, query, {"x": starts[0]}, **options)
    before = sum(nodes.traffic().values())
    for x in starts:
        answer(db, query, x, **options)
    return took, profiled, (sum(nodes.traffic().values()) - before)[0] / len(starts)


def run(options, home):
    graph, count, delay_s = Edges(options.scale or SCALE), options.nodes or NODES, options.delay_ms / 1e3
    starts = graph.starts(NEAR)
    print(f"{graph}; {count} nodes, each behind a proxy that holds up all by {options.delay_ms:g} ms in each direction, also what other nodes send.")
    print("A round trip takes twice that, and a little more (the proxy counts milliseconds). `each step`: nodes run no steps of their own.\n")
    line("query", "way", "near, ms", "far, ms", "round trips", "profile's", "on the wire", width=13)
    embedded = mg.open(home / "embedded.mg")
    graph.put(embedded)
    with kafka.Brokers(home / "kafka", 1) as brokers, Nodes(home, brokers, count, shards=count, is_delayed=True) as nodes:
        db = mg.connect(nodes.address)
        graph.put(db)
        for what, query, how in QUERIES:
            nodes.proxy.delay(0)
            near, profiled, wire = measured(db, nodes, starts, query, how)
            if "addE" not in query and any(answer(db, query, x, **how) != answer(embedded, query, x) for x in starts):
                sys.exit(f"error: other answers to {what}")
            nodes.proxy.delay(delay_s)
            far = median_s(db, query, starts[:FAR], how)
            cells = [f"{near * 1e3:.2f}", f"{far * 1e3:.1f}", f"{(far - near) / delay_s / 2:.1f}", profiled or "", f"{wire:,.0f}" if wire else ""]
            line(what, way(how), *cells, width=13)
        nodes.proxy.delay(0)
        db.close()
    print("\nall answers are equal")
