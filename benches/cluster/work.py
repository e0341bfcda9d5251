"""Loading, reads, searches and writes: rates, and the CPU time of every process. With --tls, all of them speak TLS."""

import os
import sys
import threading
import time

import numpy as np
from edges import Edges, answer, sent
from nodes import NAME, Clock, command, line, running

import mangrovedb as mg

SHARDS, SCALE = 4, 18
CLIENTS, SECONDS = 32, 8
QUERIES = [
    ("1 property by id", "g.V(x).values('age')", 2_000),
    ("1 hop by id", "g.V(x).out('e').count()", 2_000),
    ("3 hops, distinct", "g.V(x).out('e').out('e').out('e').dedup().count()", 5),
    ("BFS to depth 4", "g.V(x).repeat(out('e').dedup()).times(4).dedup().count()", 5),
]


def row(clock, what, where, count):
    parts = (f"{spent * 1e6 / count:,.1f}" for spent in (clock.client, clock.of_nodes, clock.of_brokers))
    line(what, where, f"{count / clock.wall:,.0f}", *parts)


def firehose(db, where, clock, graph):
    with clock:
        graph.put_vertices(db)
    row(clock, "vertices, 100,000 a batch", where, graph.vertices)
    with clock:
        graph.put_edges(db)
    row(clock, "edges, 100,000 a batch", where, len(graph))


def ask(db, where, clock, what, query, parameters, **options):
    """Runs a query with each of some parameters, and returns the answers."""
    answers = [answer(db, query, parameters[0], **options)]
    with clock:
        answers += [answer(db, query, x, **options) for x in parameters]
    row(clock, what, where, len(parameters))
    return answers


def write_alone(db, where, clock, vertices):
    query = "g.V(i).as('a').V(0).addE('by').from('a')"
    took, end = [], time.perf_counter() + SECONDS
    with clock:
        while time.perf_counter() < end:
            began = time.perf_counter()
            db.query(query, {"i": len(took) % vertices})
            took.append(time.perf_counter() - began)
    row(clock, "a durable edge, alone", where, len(took))
    p50, p95, p99 = np.percentile(np.array(took) * 1e3, [50, 95, 99])
    line("", where, f"   p50 {p50:.2f} ms, p95 {p95:.2f} ms, p99 {p99:.2f} ms")


def write_together(db, clock, seconds=SECONDS):
    """How many edges some clients write, each in a transaction."""
    counts, end = [0] * CLIENTS, time.perf_counter() + seconds

    def client(number):
        while time.perf_counter() < end:
            db.query("g.V(i).as('a').V(0).addE('by').from('a')", {"i": number})
            counts[number] += 1

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    with clock:
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    return sum(counts)


def measured(db, where, clock, graph):
    firehose(db, where, clock, graph)
    chosen = graph.starts(2_000)
    answers = [ask(db, where, clock, what, query, chosen[:count]) for what, query, count in QUERIES]
    if where == "nodes":
        # The same, with each hop by way of the client.
        for at, (what, query, count) in enumerate(QUERIES[2:], 2):
            if ask(db, "by client", clock, what, query, chosen[:count], rules_off="mesh") != answers[at]:
                sys.exit(f"error: other answers to {what} by way of the client")
        for what, query, _ in QUERIES[2:]:
            messages, size = sent(db, query, {"x": chosen[0]})
            line(what, where, f"   {messages} messages, {size:,} bytes")
    write_alone(db, where, clock, graph.vertices)
    row(clock, f"a durable edge, {CLIENTS} clients", where, write_together(db, clock))
    return answers


def log_bytes(directory):
    return sum(file.stat().st_size for file in directory.rglob(f"mangrove.{NAME}*/*.log"))


def certificates(home):
    """Certificates for all processes, the options of brokers and those of commands."""
    command("cluster", "certs", home / "certs", "all", "127.0.0.1")
    own, config = home / "certs" / "all", home / "kafka.conf"
    files = {"ca": "ca.pem", "certificate": "cert.pem", "key": "key.pem"}
    config.write_text("security.protocol=SSL\n" + "".join(f"ssl.{what}.location={own / file}\n" for what, file in files.items()))
    return {"of_brokers": {"tls": own}, "more": ["--tls", str(own), "--log-config", str(config)]}


def run(options, home):
    graph, count = Edges(options.scale or SCALE), options.nodes or 1
    print(f"{graph}; {count} nodes, {SHARDS} shards, {options.brokers} brokers; {os.cpu_count()} cores\n")
    line("work", "where", "each second", "client us", "nodes us", "brokers us")
    with running(home, count, options.brokers, shards=SHARDS, **(certificates(home) if options.tls else {})) as nodes:
        answers = measured(mg.connect(nodes.address), "nodes", Clock(nodes), graph)
        size = log_bytes(home / "kafka") / options.brokers / (len(graph) + graph.vertices)
        line("", "nodes", f"   the log has {size:.1f} bytes for each vertex and edge")
    embedded = measured(mg.open(home / "embedded.mg"), "embedded", Clock(), graph)
    for (what, _, _), ours, theirs in zip(QUERIES, answers, embedded):
        if ours != theirs:
            sys.exit(f"error: other answers to {what}")
    print("\nall answers are equal")
