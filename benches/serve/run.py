"""`mangrove serve` beside Gremlin Server with TinkerGraph and Neo4j's community edition over Bolt.

    python benches/serve/run.py [--seconds 5] [--vertices 100000]

All answer the same queries on the same graph, and their answers are compared. A peer that cannot be fetched is left out.

Single queries: the client for Gremlin is `mangrove bench requests`, which speaks GraphBinary and counts the results without reading
them. The client for Bolt is the official Java driver, which reads them. Clients and servers share the processors, so compare also
the processor time that a server takes for a request. The mix and the Python drivers have stock drivers on all sides.
"""

import argparse
import random
import tempfile
from contextlib import ExitStack
from pathlib import Path

import clients
import gremlin_server
import mangrove_server
import neo4j_server
import short_reads
from clients import CLIENTS
from engines.mangrove_engine import Mangrove
from graph import INT, TEXT, Edges, Graph, Vertices, write

KNOWS = "MATCH (:Person {id: $x})-[:knows]->(p)"
# Two MATCHes, because one would not follow an edge from a person to itself twice.
KNOWS_2 = f"{KNOWS} MATCH (p)-[:knows]->(q) RETURN count(DISTINCT q)"
# The name of each query, its text in Gremlin and in Cypher, and whether it has the parameter x.
QUERIES = [
    ("point", "g.V(x).values('name')", "MATCH (p:Person {id: $x}) RETURN p.name", True),
    ("1 hop", "g.V(x).out('knows').values('name')", f"{KNOWS} RETURN p.name", True),
    ("1 hop, count", "g.V(x).out('knows').count()", f"{KNOWS} RETURN count(*)", True),
    ("2 hops, count", "g.V(x).out('knows').out('knows').dedup().count()", KNOWS_2, True),
    ("10,000 rows", "g.V().limit(10000).values('name')", "MATCH (p) RETURN p.name LIMIT 10000", False),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--vertices", type=int, default=100_000)
    options = parser.parse_args()
    drivers = clients.fetch()
    peers = {"Gremlin Server": gremlin_server.fetch(), "Neo4j": drivers or neo4j_server.fetch()}
    for name, why in peers.items():
        if why:
            print(f"{name} is left out, because it cannot be fetched: {why}")
    peers = [name for name, why in peers.items() if not why]
    with tempfile.TemporaryDirectory() as folder:
        people(Path(folder), peers, options)
    if drivers:
        print(f"the mix of short reads is left out, because the Java drivers cannot be fetched: {drivers}")
    else:
        with tempfile.TemporaryDirectory() as folder:
            mix(Path(folder), peers, options)


def people(folder, peers, options):
    with ExitStack() as stack:
        servers = serve(stack, make(folder, options.vertices), folder, peers)
        with clients.connect(servers[0]) as ask:
            values = ask(clients.VALUES, None)
        compare(servers, values)
        for query in QUERIES:
            show(query[0], {server.name: lean(server, query, values, options.seconds, folder) for server in servers})
        rates = {server.name: {} for server in servers}
        for server in servers:
            for count in CLIENTS:
                rate = clients.python(server, text_of(QUERIES[1], server), values, count, options.seconds)
                rates[server.name][count] = {"per_second": rate}
        show("1 hop, with gremlinpython and neo4j's Python driver", rates)
        overload(servers[0], options.seconds)


def make(folder, vertices):
    """People, each of whom knows ten others."""
    rng = random.Random(1)
    person = Vertices("Person", {"id": INT, "name": TEXT, "age": INT})
    knows = Edges("Person", "knows", "Person", {"since": INT})
    write(folder, person, ((i, f"name{i}", i % 90) for i in range(vertices)))
    write(folder, knows, ((i, rng.randrange(vertices), 2000 + i % 25) for i in range(vertices) for _ in range(10)))
    return Graph(folder, (person,), (knows,))


def serve(stack, graph, folder, peers):
    """The servers, Mangrove first, with a graph."""
    path = folder / "graph.mg"
    Mangrove().load(path, graph)
    running = [stack.enter_context(mangrove_server.serving(path))]
    if "Gremlin Server" in peers:
        exported = mangrove_server.export(path, folder / "exported")
        running.append(stack.enter_context(gremlin_server.serving(exported, folder, "ANY" if graph.shared_ids else "LONG")))
    if "Neo4j" in peers:
        running.append(stack.enter_context(neo4j_server.serving(graph, folder)))
    return running


def text_of(query, server):
    return query[1 if server.language == "gremlin" else 2]


def compare(servers, values):
    """Ends the program if the servers give different answers."""
    ours, *theirs = [answers(server, values) for server in servers]
    for server, found in zip(servers[1:], theirs):
        if wrong := [name for name in ours if found[name] != ours[name]]:
            raise SystemExit(f"{server.name} gives other answers than Mangrove: {', '.join(wrong)}")
    print("all answers are equal")


def answers(server, values):
    """Some answers to each query, in any order."""
    with clients.connect(server) as ask:
        found = {query[0]: [sorted(ask(text_of(query, server), x)) for x in (values[:50] if query[3] else [None])] for query in QUERIES}
    # Which rows come first is left to the engine.
    return found | {"10,000 rows": [len(rows) for rows in found["10,000 rows"]]}


def lean(server, query, values, seconds, folder):
    text = text_of(query, server)
    if server.language == "gremlin":
        return clients.rust(server, text, query[3], seconds)
    return clients.java(server, [(text, x) for x in (values if query[3] else [None])], seconds, folder)


def overload(server, seconds):
    """Sends as many requests as the server answers, and then four times as many. Those that it takes should not wait much longer."""
    text = "g.V().limit(10000).values('name').dedup().count()"
    capacity = int(clients.rated(server, text, 64, None, seconds)["per_second"])
    print(f"\nas many requests as {server.name} answers ({capacity} a second), and four times as many, from 800 clients")
    seen = [clients.rated(server, text, 800, capacity * times, seconds) for times in (1, 4)]
    for times, now in zip((1, 4), seen):
        print(f"{times}×: {now['requests']:,} answered, {now['refused']:,} refused; p50 {now['p50_us']:,.0f} µs, p99 {now['p99_us']:,.0f} µs")
    print(f"p99 at four times the capacity is {seen[1]['p99_us'] / seen[0]['p99_us']:.1f} times that at the capacity")


def mix(folder, peers, options):
    graph = short_reads.graph()
    with ExitStack() as stack:
        seen = {}
        for server in serve(stack, graph, folder, peers):
            with clients.connect(server) as ask:
                requests = short_reads.requests(ask, server.language, graph.folder)
            seen[server.name] = clients.java(server, requests, options.seconds, folder)
        show("LDBC's short reads IS1 and IS3 to IS7, with the official Java drivers", seen)


def show(title, seen):
    """A table of one query: what each server (Mangrove is the first) has for each number of clients."""
    ours, *theirs = seen
    print(f"\n{title}: requests a second (p50 µs, p99 µs; µs of server CPU a request)")
    print(f"{'clients':>7}  " + "".join(f"{name:34}" for name in seen) + "".join(f"ours/{name}  " for name in theirs))
    for count in seen[ours]:
        ratios = (seen[ours][count]["per_second"] / seen[name][count]["per_second"] for name in theirs)
        shown = (f"{f'{ratio:.1f}×':{len(name) + 7}}" for name, ratio in zip(theirs, ratios))
        print(f"{count:7}  " + "".join(f"{cell(seen[name][count]):34}" for name in seen) + "".join(shown), flush=True)


def cell(seen):
    rate = f"{seen['per_second']:,.0f}"
    return rate if "p50_us" not in seen else f"{rate} ({seen['p50_us']:,.0f}, {seen['p99_us']:,.0f}; {seen['server_cpu_us']:,.0f})"


if __name__ == "__main__":
    main()
