"""`mangrove serve` beside Gremlin Server with TinkerGraph, over WebSocket: a lean client in Rust, and gremlinpython.

    python benches/serve/run.py [--seconds 5] [--vertices 100000]

Both answer the same queries on the same graph, and their answers are compared. `mangrove bench requests` is the lean client: it speaks GraphBinary, and counts the results without reading them.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import gremlin_server
import mangrovedb as mg
from gremlin_python.driver.client import Client

MANGROVE = Path(sys.executable).with_name("mangrove")
CLIENTS = (1, 8, 64)
VALUES = "g.V().order().by(id).limit(1000).id()"
# The name of each query, its text, and whether it has the parameter x.
QUERIES = [
    ("point", "g.V(x).values('name')", True),
    ("1 hop", "g.V(x).out('knows').values('name')", True),
    ("1 hop, count", "g.V(x).out('knows').count()", True),
    ("2 hops, count", "g.V(x).out('knows').out('knows').dedup().count()", True),
    ("10,000 rows", "g.V().limit(10000).values('name')", False),
]


def make(path, vertices):
    """People, each of whom knows ten others."""
    rng = random.Random(1)
    with mg.open(path) as db, db.ingest() as w:
        w.add_vertices("Person", [{"~id": i, "name": f"name{i}", "age": i % 90} for i in range(vertices)])
        edges = [(i, rng.randrange(vertices), 2000 + i % 25) for i in range(vertices) for _ in range(10)]
        w.add_edges("knows", edges, columns=["from", "to", "since"])


@contextmanager
def mangrove(path):
    with subprocess.Popen([MANGROVE, "serve", path, "--port", "0"], stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process, re.search(r"ws://\S+?/gremlin", process.stderr.readline())[0]
        finally:
            process.kill()


def lean(process, address, text, has_value, seconds):
    """What `mangrove bench requests` measures, by number of clients."""
    command = [MANGROVE, "bench", "requests", address, text, "--process", process.pid, "--time", f"{seconds}s", "--format", "json"]
    command += ["--values", VALUES] if has_value else []
    done = subprocess.run([*map(str, command), "--clients", ",".join(map(str, CLIENTS))], capture_output=True, text=True, check=True)
    return {seen["clients"]: seen for seen in json.loads(done.stdout)}


def python(address, text, values, clients, seconds):
    """Requests a second by so many threads, each with a connection of gremlinpython."""
    ready, done = threading.Barrier(clients + 1), [0] * clients

    def ask(at):
        client = Client(address, "g", pool_size=1)
        request = lambda turn: client.submit(text, {"x": values[turn % len(values)]} if values else None).all().result()
        request(at)
        ready.wait()
        end, turn = time.perf_counter() + seconds, at * 100
        while time.perf_counter() < end:
            request(turn)
            turn, done[at] = turn + 1, done[at] + 1
        client.close()

    threads = [threading.Thread(target=ask, args=(at,)) for at in range(clients)]
    for thread in threads:
        thread.start()
    ready.wait()
    for thread in threads:
        thread.join()
    return sum(done) / seconds


def answers(address, values):
    """Some answers to each query, in any order."""
    client = Client(address, "g", pool_size=1)
    try:
        found = {}
        for name, text, has_value in QUERIES:
            asked = [{"x": value} for value in values[:50]] if has_value else [None]
            found[name] = [sorted(client.submit(text, given).all().result()) for given in asked]
        # Which rows come first is left to the engine.
        found["10,000 rows"] = [len(rows) for rows in found["10,000 rows"]]
        return found
    finally:
        client.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--vertices", type=int, default=100_000)
    options = parser.parse_args()
    if why := gremlin_server.fetch():
        sys.exit(f"Gremlin Server cannot be fetched: {why}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.mg"
        make(path, options.vertices)
        exported = Path(folder) / "exported"
        subprocess.run([MANGROVE, "export", path, exported, "--format", "graphson"], check=True, capture_output=True)
        graph = exported / "graph.graphson"
        with mangrove(path) as ours, gremlin_server.serving(graph, folder, 8199) as theirs:
            client = Client(ours[1], "g", pool_size=1)
            values = client.submit(VALUES).all().result()
            client.close()
            if answers(ours[1], values) != answers(theirs[1], values):
                sys.exit("the two servers give different answers")
            print("answers are equal; a number of requests a second each, p50 and p99 in µs, and µs of server CPU a request")
            for name, text, has_value in QUERIES:
                # The first run warms the Java machine.
                lean(*theirs, text, has_value, options.seconds)
                both = [lean(*server, text, has_value, options.seconds) for server in (ours, theirs)]
                for clients in CLIENTS:
                    show(f"{name}, {clients} clients", *(seen[clients] for seen in both))
            for clients in (1, 8):
                rates = [python(server[1], QUERIES[1][1], values, clients, options.seconds) for server in (ours, theirs)]
                print(f"{'gremlinpython, 1 hop, ' + str(clients) + ' clients':34} {rates[0]:9.0f} {rates[1]:9.0f} {rates[0] / rates[1]:5.1f}×")


def show(name, ours, theirs):
    cells = [f"{seen['per_second']:9.0f} ({seen['p50_us']:.0f}, {seen['p99_us']:.0f}; {seen['server_cpu_us']:.0f})" for seen in (ours, theirs)]
    print(f"{name:34} {cells[0]:36} {cells[1]:36} {ours['per_second'] / theirs['per_second']:5.1f}×")


if __name__ == "__main__":
    main()
