#!/usr/bin/env python3
"""A graph on nodes beside the same graph in one embedded database, on this machine: rates, and the CPU time of every process.

    run.py [--scale N] [--nodes N] [--brokers N] [--tls]

One graph of RMAT edges goes into both, by `ingest()`. Both answer the same queries, and the answers must be equal. On two cores this says what a
call costs, not how fast many machines are. It needs Java and Maven, and a build with a client for Kafka (`make install CLUSTER=1`).
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import mangrovedb as mg

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "deploy" / "kafka"))
import brokers as kafka  # noqa: E402

COMMAND = [sys.executable, "-m", "mangrovedb.cli"]
BATCH, SHARDS, SEED = 100_000, 4, 1
CLIENTS, SECONDS = 32, 8


def rmat(scale, edges, chance):
    """Edges of an RMAT graph (a, b, c = 0.57, 0.19, 0.19), as two columns."""
    source, target = np.zeros(edges, np.int64), np.zeros(edges, np.int64)
    for _ in range(scale):
        draw = chance.random(edges)
        source = source * 2 + (draw >= 0.76)
        target = target * 2 + ((draw >= 0.57) & (draw < 0.76) | (draw >= 0.95))
    return source, target


def cpu_s(process):
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Clock:
    """Wall time, and CPU time of this process, of the nodes and of the brokers."""

    def __init__(self, nodes, brokers):
        self.nodes, self.brokers, self.began = nodes, brokers, None

    def now(self):
        own = resource.getrusage(resource.RUSAGE_SELF)
        return np.array([time.perf_counter(), own.ru_utime + own.ru_stime, sum(map(cpu_s, self.nodes)), sum(map(cpu_s, self.brokers))])

    def __enter__(self):
        self.began = self.now()
        return self

    def __exit__(self, *_):
        self.wall, self.client, self.of_nodes, self.of_brokers = self.now() - self.began

    def row(self, what, where, count):
        each = 1e6 / count
        parts = f"{self.client * each:12.1f} {self.of_nodes * each:12.1f} {self.of_brokers * each:12.1f}"
        print(f"{what:28} {where:10} {count / self.wall:12,.0f} {parts}", flush=True)


def firehose(db, where, clock, vertices, edges):
    source, target = edges
    weight, when = np.random.default_rng(SEED).random(len(source)), np.arange(len(source))
    with clock:
        with db.ingest() as rows:
            for first in range(0, vertices, BATCH):
                ids = np.arange(first, min(first + BATCH, vertices))
                rows.add_vertices("n", {"~id": ids, "age": ids % 97})
        assert db.query("g.V().count()").one() == vertices
    clock.row("vertices, 100,000 a batch", where, vertices)
    with clock:
        with db.ingest() as rows:
            for first in range(0, len(source), BATCH):
                part = slice(first, first + BATCH)
                rows.add_edges("e", {"~from": source[part], "~to": target[part], "w": weight[part], "t": when[part]})
        assert db.query("g.E().count()").one() == len(source)
    clock.row("edges, 100,000 a batch", where, len(source))


def ask(db, where, clock, what, query, parameters, **options):
    """Runs a query with each of some parameters, and returns the answers."""
    answers = [sorted(map(str, db.query(query, {"x": parameters[0]}, **options).to_list()))]
    with clock:
        for x in parameters:
            answers.append(sorted(map(str, db.query(query, {"x": x}, **options).to_list())))
    clock.row(what, where, len(parameters))
    return answers


def write_alone(db, where, clock):
    query = "g.V(i).as('a').V(0).addE('by').from('a')"
    took, end = [], time.perf_counter() + SECONDS
    with clock:
        while time.perf_counter() < end:
            began = time.perf_counter()
            db.query(query, {"i": len(took)})
            took.append(time.perf_counter() - began)
    clock.row("a durable edge, alone", where, len(took))
    p50, p95, p99 = np.percentile(np.array(took) * 1e3, [50, 95, 99])
    print(f"{'':28} {where:10} p50 {p50:.2f} ms, p95 {p95:.2f} ms, p99 {p99:.2f} ms", flush=True)


def write_together(db, where, clock):
    counts, end = [0] * CLIENTS, time.perf_counter() + SECONDS

    def client(number):
        while time.perf_counter() < end:
            db.query("g.V(i).as('a').V(0).addE('by').from('a')", {"i": number})
            counts[number] += 1

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    with clock:
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    clock.row(f"a durable edge, {CLIENTS} clients", where, sum(counts))


QUERIES = [
    ("1 property by id", "g.V(x).values('age')", 2_000),
    ("1 hop by id", "g.V(x).out('e').count()", 2_000),
    ("3 hops, distinct", "g.V(x).out('e').out('e').out('e').dedup().count()", 5),
    ("BFS to depth 4", "g.V(x).repeat(out('e').dedup()).times(4).dedup().count()", 5),
]


def measured(db, where, clock, vertices, edges):
    firehose(db, where, clock, vertices, edges)
    starts = np.unique(edges[0])
    chosen = np.random.default_rng(SEED + 1).choice(starts, 2_000).tolist()
    answers = [ask(db, where, clock, what, query, chosen[:count]) for what, query, count in QUERIES]
    if where == "nodes":
        # The same, with each hop by way of the client.
        for at, (what, query, count) in enumerate(QUERIES[2:], 2):
            if ask(db, "by client", clock, what, query, chosen[:count], rules_off="mesh") != answers[at]:
                sys.exit(f"error: other answers to {what} by way of the client")
        for what, query, _ in QUERIES[2:]:
            steps = db.profile(query, {"x": chosen[0]}).to_dict()["steps"]
            sent, size = (sum(step[name] for step in steps) for name in ("sent", "bytes"))
            print(f"{what:28} {'nodes':10} {sent} messages, {size:,} bytes", flush=True)
    write_alone(db, where, clock)
    write_together(db, where, clock)
    return answers


def log_bytes(directory):
    return sum(file.stat().st_size for file in directory.rglob("mangrove.bench*/*.log"))


def certificates(home):
    """Certificates for all processes, the options of brokers and those of commands."""
    subprocess.run([*COMMAND, "cluster", "certs", str(home / "certs"), "all", "127.0.0.1"], check=True, stderr=subprocess.DEVNULL)
    own, config = home / "certs" / "all", home / "kafka.conf"
    files = {"ca": "ca.pem", "certificate": "cert.pem", "key": "key.pem"}
    config.write_text("security.protocol=SSL\n" + "".join(f"ssl.{what}.location={own / file}\n" for what, file in files.items()))
    return {"tls": own}, ["--tls", str(own), "--log-config", str(config)]


def run(options, home):
    vertices, count = 1 << options.scale, 16 << options.scale
    edges = rmat(options.scale, count, np.random.default_rng(SEED))
    print(f"RMAT-{options.scale}: {vertices:,} vertices, {count:,} edges; {options.nodes} nodes, {SHARDS} shards, {options.brokers} brokers; "
          f"{os.cpu_count()} cores\n")
    print(f"{'work':28} {'where':10} {'each second':>12} {'client us':>12} {'nodes us':>12} {'brokers us':>12}")
    before = {process for process in os.listdir("/proc") if process.isdigit()}
    of_brokers, of_commands = certificates(home) if options.tls else ({}, [])
    with kafka.Brokers(home / "kafka", options.brokers, **of_brokers) as started:
        java = [int(process) for process in os.listdir("/proc") if process.isdigit() and process not in before and is_broker(process)]
        arguments = ["cluster", "up", "bench", "--log", f"kafka://{started.addresses}", "--copies", str(options.brokers)]
        arguments += ["--shards", str(SHARDS), "--nodes", str(options.nodes), "--data", str(home / "nodes"), *of_commands]
        up = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=True)
        address = up.stdout.strip()
        try:
            clock = Clock([int(process) for process in re.findall(r"process (\d+)", up.stderr)], java)
            answers = measured(mg.connect(address), "nodes", clock, vertices, edges)
            print(f"{'':28} {'nodes':10} the log has {log_bytes(home / 'kafka') / options.brokers / (count + vertices):.1f} bytes for each vertex and edge")
        finally:
            subprocess.run([*COMMAND, "cluster", "down", address], check=True, stderr=subprocess.DEVNULL)
    embedded = measured(mg.open(home / "embedded.mg"), "embedded", Clock([], []), vertices, edges)
    for (what, _, _), ours, theirs in zip(QUERIES, answers, embedded):
        if ours != theirs:
            sys.exit(f"error: other answers to {what}")
    print("\nall answers are equal")


def is_broker(process):
    try:
        return b"kafka.Kafka" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=18, help="the graph has 2^SCALE vertices, and 16 times as many edges (default: 18)")
    parser.add_argument("--nodes", type=int, default=1, help="node processes (default: 1)")
    parser.add_argument("--brokers", type=int, default=1, help="brokers, and copies of the log (default: 1)")
    parser.add_argument("--tls", action="store_true", help="all connections over TLS")
    with tempfile.TemporaryDirectory(prefix="mangrove-bench-") as home:
        try:
            run(parser.parse_args(), Path(home))
        except kafka.Missing as missing:
            print(f"left out: {missing}")


if __name__ == "__main__":
    main()
