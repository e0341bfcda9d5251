"""Shards go from node to node, while others read and write and nodes are killed."""

import json
import os
import random
import signal
import subprocess
import threading
import time

import pytest
from test_cluster import COMMAND, Graph, brokers, log, run  # noqa: F401

import mangrovedb as mg


def shards(graph):
    """The shards of each node, as the log says."""
    nodes = json.loads(run("cluster", "status", graph.address, "--format", "json"))["nodes"]
    return {node["name"]: node["shards"] for node in nodes}


def refused(*arguments):
    """What a command says that fails."""
    done = subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, (done.stdout, done.stderr)
    return done.stderr


def start(graph, node, *more, wait=True):
    """Starts a node with arguments of its own, at the address that it had."""
    _, address, _ = graph.nodes.get(node, (0, "127.0.0.1:0", ""))
    name = [] if "--number" in more else ["--as", node]
    arguments = ["node", graph.name, *name, "--data", graph.directory / node, "--listen", address, "--log", graph.log, *graph.store, *more]
    out = open(graph.directory / f"{node}.log", "a+")
    begin = out.tell()
    process = subprocess.Popen([*COMMAND, *map(str, arguments)], stdout=out, stderr=out)
    graph.nodes[node] = (process.pid, address, "")
    for _ in range(600 if wait else 0):
        out.seek(begin)
        said = out.read()
        if "listening on " in said:
            address = said.split("listening on ")[1].split()[0]
            graph.nodes[node] = (process.pid, address, "")
            return
        assert process.poll() is None, said
        time.sleep(0.05)
    assert not wait, "the node does not listen"


class Clients(threading.Thread):
    """Writes numbered edges and reads them, until it is told to stop. Errors and pauses stay."""

    def __init__(self, address):
        super().__init__()
        self.db, self.stopped, self.written, self.longest, self.failed = mg.connect(address), threading.Event(), 0, 0.0, None
        self.db.query("g.addV('hub').property(id, 'hub')")

    def run(self):
        try:
            while not self.stopped.is_set():
                began, number = time.monotonic(), self.written + 1
                self.db.query(f"g.addV('p').property(id, {number}).addE('k').to(__.V('hub'))")
                self.written = number
                counts = self.db.query("g.V('hub').in('k').count()").one(), self.db.query("g.V().hasLabel('p').count()").one()
                assert counts == (number, number)
                self.longest = max(self.longest, time.monotonic() - began)
        except Exception as error:  # the test raises it
            self.failed = error

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.join()
        if self.failed:
            raise self.failed


@pytest.fixture
def graph(log, tmp_path, request):  # noqa: F811
    graph = Graph(request.node.name.replace("_", "-"), log, tmp_path / "nodes")
    yield graph
    graph.stop()


def test_a_graph_grows_to_a_new_node_and_shrinks_again(graph):
    address = graph.address
    with Clients(address) as clients:
        start(graph, "node-2")
        assert shards(graph) == {"node-0": [0, 2], "node-1": [1, 3], "node-2": []}
        planned = run("cluster", "rebalance", address, "--dry-run").splitlines()
        assert len(planned) == 1 and planned[0].startswith("move ") and " node-2 --from node-" in planned[0]
        assert shards(graph)["node-2"] == []
        run("cluster", "rebalance", address)
        assert sorted(map(len, shards(graph).values())) == [1, 1, 2]
        assert run("cluster", "rebalance", address, "--dry-run") == ""
        run("cluster", "rebalance", address, "--without", "node-0")
        assert shards(graph)["node-0"] == [] and sorted(sum(shards(graph).values(), [])) == [0, 1, 2, 3]
        assert "node-0 runs: end it first" in refused("cluster", "remove", address, "node-0")
        written = clients.written
        graph.kill("node-0", signal.SIGTERM)
        others = f"mangrove://{graph.nodes['node-1'][1]},{graph.nodes['node-2'][1]}/{graph.name}"
        run("cluster", "remove", others, "node-0")
        graph.address = others
        assert set(shards(graph)) == {"node-1", "node-2"}
        run("cluster", "rebalance", others, "--replicas", "2")
        assert shards(graph) == {"node-1": [0, 1, 2, 3], "node-2": [0, 1, 2, 3]}
        deadline = time.monotonic() + 30
        while clients.written < written + 20 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert clients.written >= written + 20
    print(f"{clients.written} edges, longest time for a write and two reads: {clients.longest:.2f} s")
    assert mg.connect(graph.address).check() == []


def test_the_log_says_which_shards_a_node_has(graph):
    address = graph.address
    mg.connect(address).query("g.addV('p').property(id, 1).addV('p').property(id, 2)")
    for node, own in (("node-0", "0,2"), ("node-1", "1,3")):
        graph.kill(node)
        start(graph, node, "--shards", own)
    run("cluster", "copy", address, 0, "node-1")
    run("cluster", "drop", address, 0, "node-0")
    moved = {"node-0": [2], "node-1": [0, 1, 3]}
    assert shards(graph) == moved
    for node, own in (("node-0", "0,2"), ("node-1", "1,3")):
        graph.kill(node)
        start(graph, node, "--shards", own)
        assert shards(graph) == moved, "the same arguments as before change nothing"
    assert not (graph.directory / "node-0" / "shard-0000").exists()
    graph.kill("node-0")
    start(graph, "node-0", "--shards", "1-2")
    assert shards(graph) == {**moved, "node-0": [1, 2]}, "other arguments add shards"
    graph.kill("node-1")
    (graph.directory / "node-1").rename(graph.directory / "lost")
    start(graph, "node-1", "--shards", "1,3")
    assert shards(graph)["node-1"] == [0, 1, 3], "a node that has lost its disk gets what the log says"
    db = mg.connect(address)
    assert sorted(db.query("g.V().id()").to_list()) == [1, 2]
    assert db.check() == []


def test_what_cannot_move_says_so(graph):
    address = graph.address
    assert "there is no shard 4: the graph has the shards 0 to 3" in refused("cluster", "move", address, 4, "node-1")
    assert "the graph has no node node-7: it has node-0, node-1" in refused("cluster", "copy", address, 0, "node-7")
    assert "node-0 has shard 0 already" in refused("cluster", "move", address, 0, "node-0")
    assert "node-1 does not have shard 0: node-0 has it" in refused("cluster", "move", address, 0, "node-0", "--from", "node-1")
    assert "no other node that answers has shard 0" in refused("cluster", "drop", address, 0, "node-0")
    assert "2 nodes have 1 to 2 replicas of a shard, not 3" in refused("cluster", "rebalance", address, "--replicas", 3)
    run("cluster", "copy", address, 0, "node-1")
    start(graph, "node-2")
    assert "several nodes have shard 0: node-0, node-1. Name one with --from" in refused("cluster", "move", address, 0, "node-2")
    assert "shards have 1 to 2 nodes: say --replicas" in refused("cluster", "rebalance", address)
    graph.kill("node-2")
    assert "node-2 does not answer" in refused("cluster", "copy", address, 0, "node-2")
    assert "say --without node-2" in refused("cluster", "rebalance", address, "--replicas", 1)
    run("cluster", "rebalance", address, "--replicas", 1, "--without", "node-2")
    left = shards(graph)
    assert sorted(left["node-0"] + left["node-1"]) == [0, 1, 2, 3]
    assert left["node-2"] == []


def test_a_node_is_killed_while_it_takes_a_shard(graph):
    address, dice = graph.address, random.Random(5)
    with Clients(address) as clients:
        for turn in range(4):
            shard = turn % 2  # shard 0 is on node-0, and shard 1 on node-1
            to = f"node-{1 - shard}"
            taking = subprocess.Popen([*COMMAND, "cluster", "copy", address, str(shard), to], stderr=subprocess.PIPE)
            time.sleep(dice.random() * 0.4)
            graph.kill(to)
            taking.communicate(timeout=60)
            start(graph, to)
            if shard not in shards(graph)[to]:
                run("cluster", "copy", address, shard, to)
            run("cluster", "drop", address, shard, to)
    assert clients.written > 0
    assert shards(graph) == {"node-0": [0, 2], "node-1": [1, 3]}
    assert mg.connect(address).check() == []


def add_and_count(address, count):
    """Adds so many vertices in a row. Gives the client, and what says whether a client finds them and their edges."""
    db = mg.connect(address)
    with db.ingest() as rows:
        rows.add_vertices("p", {"~id": list(range(count))})
        rows.add_edges("k", {"~from": list(range(1, count)), "~to": list(range(count - 1))})
    return db, lambda db: (db.query("g.V().count()").one(), db.query("g.V().both('k').count()").one()) == (count, 2 * (count - 1))


def test_up_starts_a_node_with_the_shards_that_the_log_says(graph):
    address = graph.address
    db, are_all_there = add_and_count(address, 100)
    run("cluster", "move", address, 0, "node-1")
    assert shards(graph) == {"node-0": [2], "node-1": [0, 1, 3]}
    run("cluster", "move", address, 1, "node-0", "--from", "node-1")
    moved = {"node-0": [1, 2], "node-1": [0, 3]}
    assert shards(graph) == moved and are_all_there(db) and are_all_there(mg.connect(address))
    before = dict(graph.nodes)
    graph.kill("node-0")
    graph.up()
    assert f"node-1 runs already: {before['node-1'][1]}, shards 0,3" in graph.said
    assert "node-0: process" in graph.said and "node-0 has started, with shards 1,2" in graph.said
    assert shards(graph) == moved
    run("cluster", "down", graph.address)
    graph.up()  # nobody but the log knows
    assert {node: own for node, (_, _, own) in graph.nodes.items()} == {"node-0": "1,2", "node-1": "0,3"}
    db = mg.connect(graph.address)
    assert shards(graph) == moved and are_all_there(db) and db.check() == []


def test_a_graph_grows_when_its_nodes_start_with_a_larger_number(graph):
    _, are_all_there = add_and_count(graph.address, 100)
    for number in range(3):
        if number < 2:
            graph.kill(f"node-{number}", signal.SIGTERM)
        start(graph, f"node-{number}", "--number", number, "--of", 3)
    # Of three nodes, the first would have shards 0 and 3. It keeps 2, too.
    assert shards(graph) == {"node-0": [0, 2, 3], "node-1": [1, 3], "node-2": [2]}
    run("cluster", "rebalance", graph.address, "--replicas", 1)
    after = shards(graph)
    assert sorted(map(len, after.values())) == [1, 1, 2] and sorted(sum(after.values(), [])) == [0, 1, 2, 3]
    graph.kill("node-0")
    start(graph, "node-0", "--number", 0, "--of", 3)
    assert shards(graph) == after, "the same number changes nothing"
    db = mg.connect(graph.address)
    assert are_all_there(db) and db.check() == []


def test_python_moves_shards_and_ctrl_c_stops_it(log, tmp_path):  # noqa: F811
    del log  # it says whether there can be brokers; this one is to stand still
    with brokers.Brokers(tmp_path / "kafka") as kafka:
        graph = Graph("python", f"kafka://{kafka.addresses}", tmp_path / "nodes")
        try:
            moves_of_python(graph)
            ctrl_c(graph, kafka)
        finally:
            graph.stop()


def moves_of_python(graph):
    db, are_all_there = add_and_count(graph.address, 100)
    nodes, seen = mg.nodes(graph.address), []
    assert nodes.status()["shards"] == 4
    assert nodes.move(0, "node-1", progress=lambda *told: seen.append(told)) == {"shard": 0, "from": "node-0", "to": "node-1"}
    assert seen and all(what == "shard 0" and 0 <= done <= of for what, done, of in seen)
    assert nodes.copy(0, "node-0") == {"shard": 0, "from": None, "to": "node-0"}
    with pytest.raises(mg.StorageError, match="several nodes have shard 0: node-0, node-1. Name one with from_node="):
        nodes.move(0, "node-1")
    with pytest.raises(mg.StorageError, match="shards have 1 to 2 nodes: say replicas="):
        nodes.rebalance()
    assert nodes.drop(0, "node-1") == {"shard": 0, "from": "node-1", "to": None}
    assert shards(graph) == {"node-0": [0, 2], "node-1": [1, 3]}
    planned = nodes.rebalance(without="node-1", dry_run=True)
    assert planned == [{"shard": shard, "from": "node-1", "to": "node-0"} for shard in (1, 3)]
    assert shards(graph) == {"node-0": [0, 2], "node-1": [1, 3]}, "a dry run does nothing"
    assert nodes.rebalance(without=["node-1"]) == planned
    assert shards(graph) == {"node-0": [0, 1, 2, 3], "node-1": []}
    with pytest.raises(mg.StorageError, match="node-1 runs: end it first"):
        nodes.remove("node-1")
    with pytest.raises(ValueError, match="shard must be a number from 0 to 65535, not -1"):
        nodes.copy(-1, "node-1")
    with pytest.raises(mg.OpenError, match="is no address of a graph"):
        mg.nodes("somewhere").rebalance()
    assert are_all_there(db) and db.check() == []


def ctrl_c(graph, kafka):
    """A copy cannot come to an end while the log stands still. Ctrl-C ends the call, and then the shard can be copied."""
    nodes = mg.nodes(graph.address)
    kafka.pause(0)
    try:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            nodes.copy(1, "node-1")
    finally:
        kafka.resume(0)
    try:
        nodes.copy(1, "node-1")
    except mg.StorageError as error:
        assert "node-1 has shard 1 already" in str(error)  # the record that says so was on its way to the log
    assert shards(graph) == {"node-0": [0, 1, 2, 3], "node-1": [1]}
    nodes.drop(1, "node-1")
    graph.kill("node-1")
    nodes.remove("node-1")
    assert shards(graph) == {"node-0": [0, 1, 2, 3]}
