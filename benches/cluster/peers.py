"""A node beside JanusGraph with BerkeleyDB, which Maven fetches: the same reads and writes, one client, each by its own client library.

JanusGraph spreads a graph over machines by its store (Cassandra, HBase). With BerkeleyDB it is one server, which is what fits here.
"""

import importlib.util
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from edges import Edges
from nodes import Clock, cpu_s, line, running

import mangrovedb as mg

sys.path.append(str(Path(__file__).resolve().parents[1] / "serve"))
import janusgraph_server  # noqa: E402

SCALE = 12
WARM_S, SECONDS, LEAST = 8.0, 4.0, 5
# The first words find a vertex. Answers are sorted and compared.
QUERIES = [
    ("1 property", ".values('age')"),
    ("1 hop", ".out('e').count()"),
    ("3 hops, distinct", ".out('e').out('e').out('e').dedup().count()"),
    ("an edge", ".as('a'){zero}.addE('by').from('a').count()"),
]


@dataclass
class System:
    """`find` and `zero` are the texts for the vertex x and for vertex 0; `ask` runs a text with x. `cpu` gives the CPU seconds of the servers."""

    name: str
    find: str
    zero: str
    ask: callable
    cpu: callable

    def text(self, query):
        return "g" + self.find + query.replace("{zero}", self.zero)


def asked_for(system, text, starts, seconds):
    """How often a query was asked in a while, the wall seconds, and the CPU seconds of this program and of the servers."""
    count, end = 0, time.perf_counter() + seconds
    with Clock() as clock:
        servers = system.cpu()
        while time.perf_counter() < end or count < LEAST:
            system.ask(text, starts[count % len(starts)])
            count += 1
        servers = system.cpu() - servers
    return count, clock.wall, clock.client, servers


def measured(system, what, query, starts):
    """A row of the table, and the answers. It warms up first: Java compiles what runs."""
    text = system.text(query)
    is_write = "addE" in query
    answers = [] if is_write else [sorted(system.ask(text, x)) for x in starts[:20]]
    before = system.ask("g.E().count()", 0)[0]
    warm, *_ = asked_for(system, text, starts, WARM_S if system.name == "JanusGraph" else WARM_S / 8)
    count, wall, client, servers = asked_for(system, text, starts, SECONDS)
    line(what, system.name, f"{count / wall:,.0f}", f"{client / count * 1e6:,.0f}", f"{servers / count * 1e6:,.0f}", width=16)
    if is_write and system.ask("g.E().count()", 0)[0] != before + warm + count:
        sys.exit(f"error: {system.name} does not have the edges that it took")
    return answers


def files(graph, home):
    vertices, edges = home / "vertices", home / "edges"
    vertices.write_text("".join(f"{vid},{vid % 97}\n" for vid in range(graph.vertices)))
    edges.write_text("".join(f"{source},{target}\n" for source, target in zip(graph.source.tolist(), graph.target.tolist())))
    return {"vertices": str(vertices), "edges": str(edges)}


def run(options, home):
    if not importlib.util.find_spec("gremlin_python"):
        return print("left out: gremlinpython is not there (pip install gremlinpython)")
    if why := janusgraph_server.fetch():
        return print(f"left out: JanusGraph cannot be fetched: {why}")
    from gremlin_python.driver.client import Client
    from gremlin_python.statics import long

    graph = Edges(options.scale or SCALE)
    starts = graph.starts(200)
    (home / "janusgraph").mkdir()
    print(f"{graph}; one server each, one client. CPU in us for each operation; with Mangrove, servers are the node and the broker\n")
    line("work", "", "each second", "client CPU", "servers' CPU", width=16)
    with running(home) as nodes, janusgraph_server.serving(home / "janusgraph") as server:
        db, client = mg.connect(nodes.address), Client(server.address, "g", pool_size=1)
        graph.put(db)
        client.submit(janusgraph_server.LOAD, files(graph, home)).all().result()
        of_nodes = lambda: sum(map(cpu_s, [*nodes.pids, *filter(None, nodes.brokers.pids)]))
        theirs = lambda text, x: client.submit(text, {"x": long(x)}).all().result()
        systems = [
            System("Mangrove", ".V(x)", ".V(0)", lambda text, x: db.query(text, {"x": x} if "(x)" in text else {}).to_list(), of_nodes),
            System("JanusGraph", ".V().has('vid', x)", ".V().has('vid', 0L)", theirs, lambda: cpu_s(server.pid)),
        ]
        for what, query in QUERIES:
            ours, other = (measured(system, what, query, starts) for system in systems)
            if ours != other:
                sys.exit(f"error: JanusGraph gives other answers to {what}")
        client.close()
        db.close()
    print("\nall answers are equal, and each edge is there")
