"""A graph on several nodes: processes that follow a topic of a real Kafka broker, and are killed."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest
from conftest import left_out
from stores import s3  # noqa: F401

import mangrovedb as mg

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "deploy" / "kafka"))
brokers = pytest.importorskip("brokers")

COMMAND = [sys.executable, "-m", "mangrovedb.cli"]


def run(*arguments):
    """What the command writes, once it has ended well."""
    done = subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """The address of a broker."""
    try:
        with brokers.Brokers(tmp_path_factory.mktemp("kafka")) as started:
            address = f"kafka://{started.addresses}"
            made = subprocess.run([*COMMAND, "cluster", "create", "first", "--log", address], capture_output=True, text=True)
            if "has no client for Kafka" in made.stderr:
                left_out("this build has no client for Kafka (make install CLUSTER=1)")
            yield address
    except brokers.Missing as missing:
        left_out(missing)


def has_ended(process):
    """Whether a process has ended, and its parent may not have noticed."""
    state = Path(f"/proc/{process}/stat")
    return not state.exists() or " Z " in state.read_text()


class Graph:
    """A graph on two nodes, each a process."""

    def __init__(self, name, log, directory, *more, nodes=2):
        self.name, self.log, self.directory, self.store = name, log, directory, list(more[more.index("--store") :][:2]) if "--store" in more else []
        self.up("--shards", "4", "--nodes", str(nodes), *more)

    def up(self, *more):
        arguments = ["cluster", "up", self.name, "--log", self.log, "--data", str(self.directory), *more]
        up = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=120)
        started = re.findall(r"(node-\d): process (\d+), (\S+)", up.stderr)
        shards = dict(re.findall(r"(node-\d) has started, with shards (\S+)", up.stderr))
        running = {node: self.nodes[node] for node in re.findall(r"(node-\d) runs already", up.stderr)}
        self.nodes = running | {node: (int(process), address, shards.get(node, "")) for node, process, address in started}
        assert up.returncode == 0, up.stderr
        self.address, self.said = up.stdout.strip(), up.stderr

    def kill(self, node, how=signal.SIGKILL):
        process = self.nodes[node][0]
        os.kill(process, how)
        for _ in range(200):
            try:  # it is our child only if this process started it
                os.waitpid(process, os.WNOHANG)
            except ChildProcessError:
                pass
            if has_ended(process):
                return
            time.sleep(0.05)
        raise AssertionError(f"{node} does not end")

    def start(self, node):
        _, address, shards = self.nodes[node]
        directory = self.directory / node
        arguments = ["node", self.name, "--as", node, "--data", directory, "--shards", shards, "--listen", address, "--log", self.log, *self.store]
        out = open(self.directory / f"{node}.log", "a")
        started = subprocess.Popen([*COMMAND, *map(str, arguments)], stdout=out, stderr=out)
        self.nodes[node] = (started.pid, address, shards)

    def stop(self):
        for node in self.nodes:
            try:
                self.kill(node)
            except ProcessLookupError:
                pass


@pytest.fixture
def graph(log, tmp_path, request):
    name = re.sub(r"\W", "-", request.node.name)
    graph = Graph(name, log, tmp_path / "nodes")
    yield graph
    graph.stop()


def test_a_connected_graph_is_used_like_any_other(graph, tmp_path):
    db = mg.connect(graph.address)
    assert db.query("g.V().count()").one() == 0
    db.query("g.addV('person').property(id, 'ada').property('born', 1815).as('a').addV('person').property(id, 'bob').addE('knows').from('a')")
    assert db.query("g.V('ada').out('knows').id()").to_list() == ["bob"]
    with db.transaction() as tx:
        tx.query("g.V('ada').property('born', 1816)")
        assert tx.query("g.V('ada').values('born')").one() == 1816
        assert mg.connect(graph.address).query("g.V('ada').values('born')").one() == 1815
    assert mg.connect(graph.address).query("g.V('ada').values('born')").one() == 1816
    with pytest.raises(mg.QueryError, match="exists already"):
        db.query("g.addV('person').property(id, 'ada')")
    (tmp_path / "v.csv").write_text("~id,~label,n:int\n" + "".join(f"{at},p,{at % 7}\n" for at in range(1000)))
    (tmp_path / "e.csv").write_text("~from,~to,~label\n" + "".join(f"{at},{at * 7 % 1000},k\n" for at in range(1000)))
    assert db.load(tmp_path / "v.csv", tmp_path / "e.csv")
    with db.ingest() as rows:
        rows.add_vertices("q", {"~id": list(range(5000, 5100))})
    assert db.query("g.V().groupCount().by(label)").one() == {"person": 2, "p": 1000, "q": 100}
    assert db.query("g.V(3).repeat(out('k')).times(2).id()").to_list() == [147]
    assert db.create_index("p", "n") is True
    assert db.query("g.V().has('p', 'n', 3).count()").one() == len([at for at in range(1000) if at % 7 == 3])
    assert db.create_index("p", "n", routed=True) is True
    assert db.create_index("p", "n", routed=True) is False
    assert "index on p.n, asks the directory" in str(db.explain("g.V().has('p', 'n', 3)"))
    assert db.query("g.V().has('p', 'n', 3).count()").one() == len([at for at in range(1000) if at % 7 == 3])
    assert db.check() == []
    assert "1,102 vertices" in run("check", graph.address)
    assert "p" in run("stats", graph.address)
    run("export", graph.address, tmp_path / "out")
    again = mg.open(tmp_path / "again")
    again.load(tmp_path / "out")
    assert again.query("g.V().groupCount().by(label)").one() == {"person": 2, "p": 1000, "q": 100}
    assert len(db.analyze.wcc().to_dict()) == 1102
    assert "{id=" in run("analyze", graph.address, "wcc")
    status = json.loads(run("cluster", "status", graph.address, "--format", "json"))
    assert [node["shards"] for node in status["nodes"]] == [[0, 2], [1, 3]]
    assert [node["writer"] for node in status["nodes"]].count(True) == 1
    assert run("query", graph.address, "g.V('ada').values('born')", "--format", "json").strip() in ("1816", "[1816]")


READER = """
import sys, mangrovedb as mg
db = mg.connect(sys.argv[1])
for bookmark in sys.stdin:
    db.wait_for(bookmark.strip())
    print(db.query("g.V().count()").one(), flush=True)
"""


def test_another_process_reads_what_a_bookmark_names(graph):
    with mg.connect(graph.address) as db:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen([sys.executable, "-c", READER, graph.address], **pipes) as reader:
            for count in range(1, 51):
                db.query("g.addV('p').property(id, n)", {"n": count})
                reader.stdin.write(f"{db.bookmark()}\n")
                reader.stdin.flush()
                assert int(reader.stdout.readline()) == count
            reader.stdin.close()
        of_graph, number = db.bookmark().split("-")
        with pytest.raises(mg.MangroveError, match="a bookmark of another graph"):
            db.wait_for(f"{'0' * 16}-{number}")
        with pytest.raises(mg.MangroveError, match="0.3 s"):
            db.wait_for(f"{of_graph}-{int(number) + 1000}", timeout=0.3)
        assert db.query("g.V().count()").one() == 50
        with pytest.raises(ValueError, match="is no bookmark"):
            db.wait_for("12")


def test_nodes_are_killed_and_nothing_acknowledged_is_lost(graph):
    acknowledged, stopped, failed = [], threading.Event(), []

    def write():
        db = mg.connect(graph.address)
        number = 0
        while not stopped.is_set():
            number += 1
            try:
                db.query("g.addV('n').property(id, i).as('a').V(0).as('hub').addE('to').from('a').addE('back').from('hub').to('a')", {"i": number})
                acknowledged.append(number)
            except mg.MangroveError as error:
                if "Try again" not in str(error):
                    failed.append(error)

    db = mg.connect(graph.address)
    db.query("g.addV('hub').property(id, 0)")
    writer = threading.Thread(target=write)
    writer.start()
    deadline = time.monotonic() + 60
    for node in ("node-0", "node-1", "node-0"):
        before = len(acknowledged)
        while len(acknowledged) < before + 20 and time.monotonic() < deadline:
            time.sleep(0.05)
        graph.kill(node)
        graph.start(node)
    before = len(acknowledged)
    while len(acknowledged) < before + 20 and time.monotonic() < deadline:
        time.sleep(0.05)
    stopped.set()
    writer.join()
    assert failed == []
    assert len(acknowledged) > before, "nothing was written after the last kill"
    db = mg.connect(graph.address)
    there = db.query("g.V().hasLabel('n').id()").to_list()
    assert len(set(there)) == len(there) and set(acknowledged) <= set(there)
    for direction in ("g.V(0).in('to').id()", "g.V(0).out('back').id()", "g.V().hasLabel('n').where(out('to')).id()"):
        assert sorted(db.query(direction).to_list()) == sorted(there)
    assert db.check() == []


def test_a_graph_goes_down_and_up_again(graph):
    db = mg.connect(graph.address)
    db.query("g.addV('n').property(id, 1)")
    first, second = json.loads(run("cluster", "status", graph.address, "--format", "json"))["nodes"]
    assert [shard["shard"] for node in (first, second) for shard in node["applied"]] == [0, 2, 1, 3]
    assert {node["commit"] for node in (first, second)} == {1} and max(node["term"] for node in (first, second)) == 1
    assert all(shard["trouble"] is None and shard["bytes"] > 0 for node in (first, second) for shard in node["applied"])
    graph.kill("node-1")
    status = json.loads(run("cluster", "status", graph.address, "--format", "json"))
    assert "error" not in status["nodes"][0] and "node" in status["nodes"][1]["error"]
    assert "cannot reach" in run("cluster", "status", graph.address) or "did not answer" in run("cluster", "status", graph.address)
    down = subprocess.run([*COMMAND, "cluster", "down", graph.address], capture_output=True, text=True, timeout=60)
    assert down.returncode == 0 and "ended: node-0" in down.stderr
    with pytest.raises(mg.MangroveError, match="cannot reach the node"):
        mg.connect(graph.address.replace("mangrove://", "mangrove://127.0.0.1:1,"))
    with pytest.raises(mg.MangroveError, match=r"no node can write, since \d+ s: cannot reach|no node can write, since \d+ s: the node"):
        db.query("g.addV('n')", timeout=1)
    before = dict(graph.nodes)
    graph.up("--nodes", "3")
    assert "going on with it" in graph.said and len(graph.nodes) == 3
    # They have the addresses that they had, unless something else of this machine has taken one.
    assert any(graph.nodes[node][1] == address for node, (_, address, _) in before.items())
    assert mg.connect(graph.address).query("g.V().id()").to_list() == [1]
    other = ["cluster", "up", graph.name, "--log", graph.log, "--data", graph.directory, "--shards", "8"]
    refused = subprocess.run([*COMMAND, *map(str, other)], capture_output=True, text=True, timeout=60)
    assert "with 4 shards, which never change" in refused.stderr
    commands = run("cluster", "up", graph.name, "--log", graph.log, "--data", graph.directory, "--launcher", "print")
    assert commands.startswith(f"mangrove node {graph.name} --number 0 --of 2 --replicas 1 --data {graph.directory}/node-0 ")


def test_nodes_are_upgraded_one_by_one(graph):
    """Each ends and starts again while others write. Once all run the same Mangrove, the graph allows what they read."""
    acknowledged, stopped = [], threading.Event()

    def write():
        db, number = mg.connect(graph.address), 0
        while not stopped.is_set():
            number += 1
            try:
                db.query("g.addV('n').property(id, i)", {"i": number})
                acknowledged.append(number)
            except mg.MangroveError as error:
                assert "Try again" in str(error), error

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for node in graph.nodes:
            graph.kill(node, signal.SIGTERM)
            graph.start(node)
            before, deadline = len(acknowledged), time.monotonic() + 60
            while len(acknowledged) < before + 20 and time.monotonic() < deadline:
                time.sleep(0.05)
            assert len(acknowledged) >= before + 20, "writes go on"
    finally:
        stopped.set()
        writer.join()
    db = mg.connect(graph.address)
    there = db.query("g.V().hasLabel('n').id()").to_list()
    assert len(set(there)) == len(there) and set(acknowledged) <= set(there) and db.check() == []
    status = json.loads(run("cluster", "status", graph.address, "--format", "json"))
    assert {node["software"] for node in status["nodes"]} == {mg.__version__}
    assert {node["records"] for node in status["nodes"]} == {status["records"]}
    assert f"Mangrove {mg.__version__}" in run("cluster", "status", graph.address)
    done = subprocess.run([*COMMAND, "cluster", "finalize", graph.address], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and f"all nodes read records of version {status['records']}" in done.stderr, done.stderr
    graph.kill("node-1")
    done = subprocess.run([*COMMAND, "cluster", "finalize", graph.address], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "node-1 does not say which Mangrove it is" in done.stderr, done.stderr


def test_nodes_that_run_are_not_started_again(graph):
    mg.connect(graph.address).query("g.addV('n').property(id, 1)")
    before, address = dict(graph.nodes), graph.address
    graph.up()
    assert graph.nodes == before and graph.address == address and ": process" not in graph.said
    assert f"node-1 runs already: {before['node-1'][1]}, shards 1,3" in graph.said
    graph.kill("node-1")
    arguments = ["cluster", "up", graph.name, "--log", graph.log, "--data", graph.directory, "--nodes", "1"]
    refused = subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert refused.returncode != 0 and "no node would have shard 1" in refused.stderr, refused.stderr
    graph.up()
    assert "node-0 runs already" in graph.said and "node-1: process" in graph.said and graph.nodes["node-0"] == before["node-0"]
    db = mg.connect(graph.address)
    assert db.query("g.V().id()").to_list() == [1] and db.check() == []


def test_reads_go_on_without_a_node(log, tmp_path):
    graph = Graph("replicas", log, tmp_path / "nodes", "--replicas", "2")
    try:
        assert [shards for _, _, shards in graph.nodes.values()] == ["0,1,2,3"] * 2
        db = mg.connect(graph.address)
        with db.ingest() as rows:
            rows.add_vertices("n", {"~id": list(range(5000))})
        for node in graph.nodes:
            result = iter(db.query("g.V().hasLabel('n').id()"))
            first = next(result)
            graph.kill(node)
            assert len({first, *result}) == 5000, "the query goes on at its number"
            assert db.query("g.V().count()").one() == 5000
            graph.start(node)
            deadline = time.monotonic() + 60
            while "cannot" in run("cluster", "status", graph.address) and time.monotonic() < deadline:
                time.sleep(0.1)
        assert db.query("g.addV('n').property(id, 5000)") is not None
        assert db.check() == []
    finally:
        graph.stop()


def test_a_query_begins_again_until_it_has_given_something(graph):
    db = mg.connect(graph.address)
    with db.ingest() as rows:
        rows.add_vertices("n", {"~id": list(range(20000))})
    [killed] = [node for node, (*_, shards) in graph.nodes.items() if "0" in shards.split(",")]  # results begin with that shard
    queries = ["g.V().hasLabel('n').id()", "g.V().hasLabel('n').count()", "g.V().hasLabel('n')"]
    begun = [db.stream(query) for query in queries]
    first = iter(db.stream(queries[0]))
    given = [next(first)]
    writing = threading.Thread(target=db.query, args=("g.V().hasLabel('n').property('seen', 1).count()",))
    writing.start()
    graph.kill(killed)
    graph.start(killed)
    ids, count, vertices = ([*stream] for stream in begun)
    assert sorted(ids) == list(range(20000)) and count == [20000] and {vertex.id for vertex in vertices} == set(ids)
    with pytest.raises(mg.MangroveError, match="ended"):
        given.extend(first)
    assert len(set(given)) == len(given) < 20000, "what was given is not given again"
    writing.join(timeout=60)
    assert db.query("g.V().has('n', 'seen', 1).count()").one() == 20000


def connected(address):
    """A connection, once nodes that have just started answer."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return mg.connect(address)
        except mg.MangroveError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.1)


def add_chain(db, first, count):
    with db.ingest() as rows:
        rows.add_vertices("n", {"~id": list(range(first, first + count))})
        rows.add_edges("next", {"~from": list(range(first, first + count - 1)), "~to": list(range(first + 1, first + count))})


@pytest.fixture(params=["directory", "s3"])
def store(request, tmp_path):
    """A place for backups."""
    if request.param == "directory":
        return str(tmp_path / "backups")
    request.getfixturevalue("s3")
    return "s3://graphs/of/nodes"


def test_a_graph_comes_back_from_its_backups(log, tmp_path, store):
    """Shards come back when their nodes have lost them, and the graph when the log is lost."""
    name = f"backups-{len(store)}"
    graph = Graph(name, log, tmp_path / "nodes", "--store", store)
    try:
        db = mg.connect(graph.address)
        add_chain(db, 0, 1000)
        first = run("cluster", "backup", graph.address)
        assert re.fullmatch(r"\d{20}-[0-9a-f]{16}: commit \d+, [\d.]+ MB\n", first)
        db.query("g.addV('n').property(id, 'between')")
        second = run("cluster", "backup", graph.address).split(":")[0]
        before = db.query("g.V().count()").one()
        add_chain(db, 2000, 100)
        db.query("g.V(5).drop()")
        db.close()
        for node in graph.nodes:  # they lose all they had, and the log does not begin at its beginning any more
            graph.kill(node)
            shutil.rmtree(graph.directory / node)
            graph.start(node)
        db = connected(graph.address)
        assert db.query("g.V().count()").one() == before + 100 - 1
        assert db.query("g.E().count()").one() == 999 - 2 + 99
        assert db.check() == []
        assert "comes from the backup" in (graph.directory / "node-0.log").read_text()
        refused = subprocess.run([*COMMAND, "cluster", "restore", name, "--store", store, "--log", log], capture_output=True, text=True)
        assert refused.returncode != 0 and "the log has records already" in refused.stderr
        db.close()
        graph.stop()
        with brokers.Brokers(tmp_path / "other") as others:  # the log is lost
            address = f"kafka://{others.addresses}"
            unknown = subprocess.run(
                [*COMMAND, "cluster", "restore", name, "--store", store, "--log", address, "--backup", "x"],
                capture_output=True,
                text=True,
            )
            assert unknown.returncode != 0 and second in unknown.stderr
            assert run("cluster", "restore", name, "--store", store, "--log", address) == f"{name}: 4 shards\n"
            again = Graph(name, address, tmp_path / "again", "--store", store)
            try:
                db = connected(again.address)
                assert db.query("g.V().count()").one() == before
                add_chain(db, 5000, 10)
                run("cluster", "backup", again.address)
                assert db.query("g.V().count()").one() == before + 10 and db.check() == []
            finally:
                again.stop()
    finally:
        graph.stop()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_node_that_missed_what_the_log_has_no_more(log, tmp_path, how):
    name = f"missed-{how.name}"
    graph = Graph(name, log, tmp_path / "nodes", "--replicas", "2", "--store", str(tmp_path / "backups"))
    try:
        db = mg.connect(graph.address)
        add_chain(db, 0, 1000)
        if how == signal.SIGKILL:
            graph.kill("node-1")
        else:
            os.kill(graph.nodes["node-1"][0], how)
        for count in range(3):
            db.query("g.addV('later').property(id, n)", {"n": f"later-{count}"})
            run("cluster", "backup", graph.address)
        if how == signal.SIGSTOP:  # it goes on, finds that it has missed something, and ends
            graph.kill("node-1", signal.SIGCONT)
            assert "the log was cut before this node had read it" in (graph.directory / "node-1.log").read_text()
        graph.start("node-1")
        graph.kill("node-0")
        db.close()
        db = connected(graph.nodes["node-1"][1].join(("mangrove://", f"/{name}")))
        assert db.query("g.V().hasLabel('later').count()").one() == 3 and db.query("g.E().count()").one() == 999
        assert (graph.directory / "node-1.log").read_text().count("comes from the backup") == 4
        assert not list((graph.directory / "node-1").glob("*.old"))
    finally:
        graph.stop()


def test_what_cannot_be_backed_up_says_so(graph, tmp_path, monkeypatch):
    def fails(*arguments):
        done = subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=120)
        assert done.returncode != 0
        return done.stderr

    assert "keeps no backups: start it with --store" in fails("cluster", "backup", graph.address)
    assert "has no backup of a graph lost" in fails("cluster", "restore", "lost", "--store", tmp_path, "--log", graph.log)
    assert "write s3://bucket/path, or a directory" in fails("cluster", "backups", "lost", "--store", "s3:/bucket")
    assert run("cluster", "backups", "lost", "--store", tmp_path) == ""
    assert json.loads(run("cluster", "backups", "lost", "--store", tmp_path, "--format", "json")) == {"graph": "lost", "backups": []}
    for name, value in {"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "us-east-1"}.items():
        monkeypatch.setenv(name, value)
    said = fails("cluster", "backups", "lost", "--store", "s3://graphs/of/nodes")
    assert "cannot list s3://graphs/of/nodes/lost: " in said and "Can this machine reach the store?" in said and "Generic" not in said, said


def test_backups_are_listed_and_damage_is_named(log, tmp_path):
    store = tmp_path / "backups"
    graph = Graph("listed", log, tmp_path / "nodes", "--store", str(store))
    restore = [*COMMAND, "cluster", "restore", "listed", "--store", str(store), "--log", log]
    try:
        mg.connect(graph.address).query("g.addV('n')")
        first, second = [run("cluster", "backup", graph.address).split(":")[0] for _ in range(2)]
        (store / "listed" / "notes.txt").write_text("others put things there, too")
        (store / "listed" / f"{0:020}-{0:016x}").mkdir()
        listed = run("cluster", "backups", "listed", "--store", store).splitlines()
        assert [line.split()[0] for line in listed] == [second, first, f"{0:020}-{0:016x}"]
        assert re.search(r"\d{4}-\d\d-\d\dT[\d:]+Z  commit 1, [\d.]+ MB", listed[0]) and "not finished" in listed[2]
        whole, _, unfinished = json.loads(run("cluster", "backups", "listed", "--store", store, "--format", "json"))["backups"]
        assert (whole["name"], whole["state"], whole["commit"]) == (second, "whole", 1) and whole["made"] in listed[0] and whole["bytes"] > 0
        assert unfinished == {"name": f"{0:020}-{0:016x}", "state": "unfinished"}
        assert not [file for file in (store / "listed" / second).rglob("*") if file.name == "lock.mdb"]
        manifest = store / "listed" / second / "manifest"
        manifest.write_bytes(manifest.read_bytes().replace(b'"number":1', b'"number":2', 1))
        assert f"{second}  damaged" in run("cluster", "backups", "listed", "--store", store)
        refused = subprocess.run(restore, capture_output=True, text=True, timeout=60)
        assert refused.returncode != 0 and f"the backup {second}" in refused.stderr and f"--backup: {first}" in refused.stderr
        largest = max((store / "listed" / first).rglob("data.mdb"), key=lambda file: file.stat().st_size)
        largest.write_bytes(b"x" + largest.read_bytes()[1:])
        refused = subprocess.run([*restore, "--backup", first], capture_output=True, text=True, timeout=60)
        assert refused.returncode != 0 and f"the backup {first} is damaged" in refused.stderr
    finally:
        graph.stop()


def test_the_newest_backup_is_the_one_that_was_made_last(log, tmp_path):
    """Not the one that begins last in the log: after a restore from an older backup, the log is shorter."""
    store = tmp_path / "backups"

    def restored(number, *more):
        address = f"kafka://{logs[number].addresses}"
        run("cluster", "restore", "histories", "--store", store, "--log", address, *more)
        return Graph("histories", address, tmp_path / f"nodes-{number}", "--store", str(store))

    first = Graph("histories", log, tmp_path / "nodes", "--store", str(store))
    try:
        db = mg.connect(first.address)
        older = run("cluster", "backup", first.address).split(":")[0]
        for number in range(50):
            db.query("g.addV('abandoned').property(id, n)", {"n": number})
        abandoned = run("cluster", "backup", first.address).split(":")[0]
        db.close()
    finally:
        first.stop()
    with brokers.Brokers(tmp_path / "b") as one, brokers.Brokers(tmp_path / "c") as two:
        logs = [one, two]
        graph = restored(0, "--backup", older)
        try:
            connected(graph.address).query("g.addV('kept').property(id, 'k')")
            time.sleep(1)  # backups know the second in which they were made
            newest = run("cluster", "backup", graph.address).split(":")[0]
            assert older < newest < abandoned
            assert run("cluster", "backups", "histories", "--store", store).split()[0] == newest
        finally:
            graph.stop()
        graph = restored(1)
        try:
            assert connected(graph.address).query("g.V().label()").to_list() == ["kept"]
        finally:
            graph.stop()


def test_nodes_with_different_stores_make_no_backup(log, tmp_path):
    graph = Graph("apart", log, tmp_path / "nodes", "--store", str(tmp_path / "one"))
    try:
        graph.kill("node-1")
        graph.store[1] = str(tmp_path / "another")
        graph.start("node-1")
        connected(graph.address).query("g.addV('n')")
        made = subprocess.run([*COMMAND, "cluster", "backup", graph.address], capture_output=True, text=True, timeout=60)
        assert made.returncode != 0 and "all nodes need the same place" in made.stderr
    finally:
        graph.stop()


def test_reads_and_writes_go_on_while_a_node_is_frozen(log, tmp_path):
    graph = Graph("frozen", log, tmp_path / "nodes", "--replicas", "2")
    db = mg.connect(graph.address)
    try:
        for node, (process, _, _) in graph.nodes.items():
            db.query("g.addV('n').property(id, i)", {"i": node})
            os.kill(process, signal.SIGSTOP)
            try:
                assert node in db.query("g.V().id()").to_list()
                db.query("g.addV('n').property(id, i)", {"i": f"beside {node}"})  # the other node becomes the writer
            finally:
                os.kill(process, signal.SIGCONT)
        assert sorted(db.query("g.V().id()").to_list()) == ["beside node-0", "beside node-1", "node-0", "node-1"]
        assert db.check() == []
    finally:
        graph.stop()


def test_a_write_whose_outcome_nobody_knows_says_so(graph):
    db = mg.connect(graph.address)
    db.query("g.addV('n')")
    processes = [process for process, _, _ in graph.nodes.values()]
    try:
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        with pytest.raises(mg.OutcomeUnknownError, match="look before you repeat it"):
            db.query("g.addV('n')", timeout=0.2)
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)
    assert issubclass(mg.OutcomeUnknownError, mg.StorageError)
    assert db.query("g.V().count()").one() in (1, 2)


def test_whoever_connects_after_a_load_sees_it(graph, tmp_path):
    assert mg.connect(graph.address).path == graph.address
    (tmp_path / "v.csv").write_text("~id,~label,n:int\n" + "".join(f"{at},p,{at % 7}\n" for at in range(200_000)))
    run("load", graph.address, tmp_path / "v.csv")
    assert run("query", graph.address, "g.V().count()", "--format", "json").strip() in ("200000", "[200000]")
    # Ids of 300 bytes: more than one record takes. Parts of the transaction come before its commit.
    (tmp_path / "w.csv").write_text("~id,~label\n" + "".join(f"{at:0>300},w\n" for at in range(200_000)))
    run("load", graph.address, tmp_path / "w.csv")
    assert run("query", graph.address, "g.V().hasLabel('w').count()", "--format", "json").strip() in ("200000", "[200000]")
    run("query", graph.address, "g.addV('q')")
    assert run("query", graph.address, "g.V().hasLabel('q').count()", "--format", "json").strip() in ("1", "[1]")


def test_a_server_gives_a_connected_graph(graph):
    db = mg.connect(graph.address)
    db.query("g.addV('person').property(id, 'ada').property('born', 1815)")
    server = subprocess.Popen([*COMMAND, "serve", graph.address, "--port", "0"], stderr=subprocess.PIPE, text=True)
    try:
        address = re.search(r"ws://(127\.0\.0\.1:\d+)", next(line for line in server.stderr if "ws://" in line)).group(1)
        for _ in range(20):
            body = json.dumps({"gremlin": "g.V('ada').values('born')"}).encode()
            with urllib.request.urlopen(urllib.request.Request(f"http://{address}/gremlin", body), timeout=60) as reply:
                assert "1815" in reply.read().decode()
    finally:
        server.terminate()
        server.wait(timeout=60)


def test_an_attached_node_ends_with_its_input(log, tmp_path):
    run("cluster", "create", "attached", "--log", log, "--shards", "1")
    arguments = ["node", "attached", "--as", "a", "--data", tmp_path, "--shards", "0", "--listen", "127.0.0.1:0", "--log", log, "--attached"]
    node = subprocess.Popen([*COMMAND, *map(str, arguments)], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "listening on" in node.stderr.readline()
    node.stdin.close()
    assert node.wait(timeout=60) == 0


def test_of_two_nodes_with_one_name_the_first_ends(graph, tmp_path):
    with mg.connect(graph.address) as db:
        db.query("g.addV('n').property(id, 1)")
        first = graph.nodes["node-0"]
        arguments = ["node", graph.name, "--number", "0", "--of", "2", "--data", tmp_path / "other", "--listen", "127.0.0.1:0", "--log", graph.log]
        with open(graph.directory / "other.log", "w") as out:
            second = subprocess.Popen([*COMMAND, *map(str, arguments)], stdout=out, stderr=out)
        try:
            for _ in range(300):
                if has_ended(first[0]):
                    break
                time.sleep(0.1)
            assert "another process is this node now" in (graph.directory / "node-0.log").read_text()
            db.query("g.addV('n').property(id, 2)")
            assert sorted(db.query("g.V().id()").to_list()) == [1, 2] and db.check() == []
        finally:
            second.kill()
            second.wait()
    graph.kill("node-1")
    with pytest.raises(mg.MangroveError, match="cannot reach the node"):
        mg.connect(graph.address)


def test_a_node_is_removed(log, tmp_path):
    graph = Graph("removed", log, tmp_path / "nodes", "--replicas", "2", nodes=3)
    try:
        # A client that knows all nodes, and the address of one that stays.
        db, stays = mg.connect(graph.address), f"mangrove://{graph.nodes['node-0'][1]}/removed"
        db.query("g.addV('n').property(id, 1)")

        def names():
            return [node["name"] for node in json.loads(run("cluster", "status", stays, "--format", "json"))["nodes"]]

        assert db.stats()["disk_bytes"] > 0
        for node, why in (("node-1", "node-1 runs: end it first"), ("node-7", "has no node node-7: it has node-0, node-1, node-2")):
            refused = subprocess.run([*COMMAND, "cluster", "remove", stays, node], capture_output=True, text=True, timeout=60)
            assert refused.returncode == 1 and why in refused.stderr
        graph.kill("node-2")
        assert names() == ["node-0", "node-1", "node-2"] and db.stats()["disk_bytes"] > 0
        run("cluster", "remove", stays, "node-2")
        assert names() == ["node-0", "node-1"]
        assert db.query("g.V().id()").to_list() == [1] and db.check() == []
        refused = subprocess.run([*COMMAND, "cluster", "remove", stays, "node-1"], capture_output=True, text=True, timeout=60)
        assert "without node-1, no node has shard" in refused.stderr
        graph.start("node-2")
        for _ in range(100):
            if "node-2" in names():
                break
            time.sleep(0.2)
        assert names() == ["node-0", "node-1", "node-2"]
    finally:
        graph.stop()


def test_a_topic_that_would_lose_records_is_refused(log, tmp_path):
    name = "mangrove.lossy.commit"
    settings = ["--partitions", "1", "--config", "retention.ms=1000", "--config", "max.message.bytes=1000000"]
    made = ["org.apache.kafka.tools.TopicCommand", "--bootstrap-server", log.removeprefix("kafka://"), "--create", "--topic", name, *settings]
    subprocess.run([*brokers.JAVA, "-cp", f"{brokers.fetch()}/*", *made], check=True, capture_output=True, timeout=60)
    where = ["--data", tmp_path, "--listen", "127.0.0.1:0", "--log", log]
    for arguments in (["cluster", "create", "lossy", "--log", log], ["node", "lossy", "--number", "0", "--of", "1", *where]):
        done = subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1
        assert "would lose records: it has retention.ms=1000 and not -1, max.message.bytes=1000000 and not 67108864" in done.stderr
    # Who looks for a graph that is not there makes no topic.
    for _ in range(2):
        done = subprocess.run([*COMMAND, "node", "nobody", "--number", "0", "--of", "1", *map(str, where)], capture_output=True, text=True, timeout=60)
        assert "there is no topic mangrove.nobody.commit" in done.stderr


def test_what_cannot_be_is_refused(log, tmp_path):
    with pytest.raises(mg.OpenError, match="is no address of a graph: write mangrove://host:port/NAME"):
        mg.connect("localhost:7701")
    with pytest.raises(mg.OpenError, match="cannot reach the node at 127.0.0.1:1"):
        mg.connect("mangrove://127.0.0.1:1/air")
    refusals = [
        (["node", "nothing", "--as", "a", "--data", tmp_path, "--shards", "0", "--listen", "127.0.0.1:0", "--log", log], "has no graph nothing"),
        (["node", "x", "--as", "a", "--data", tmp_path, "--shards", "0", "--listen", "0.0.0.0:0", "--log", log], "a node needs certificates"),
        (["cluster", "create", "x", "--log", "kafka://example.com:9092"], "is not on this machine"),
        (["cluster", "create", "first", "--log", log, "--copies", "3"], "has 1 of 3 copies"),
        (["cluster", "create", "x", "--log", log, "--shards", "5000"], "a graph has 1 to 4096 shards"),
    ]
    for arguments, said in refusals:
        done = subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=60)
        assert done.returncode != 0 and said in done.stderr, done.stderr
    run("cluster", "create", "once", "--log", log)
    again = subprocess.run([*COMMAND, "cluster", "create", "once", "--log", log], capture_output=True, text=True)
    assert "has a graph once already" in again.stderr


def test_a_shard_is_no_database(graph):
    shard = next((graph.directory / "node-0").iterdir())
    graph.kill("node-0", signal.SIGTERM)
    with pytest.raises(mg.OpenError, match="is shard .* of the 4 of graph .*: reach it through the node that has it"):
        mg.open(shard)
    shutil.rmtree(graph.directory / "node-0")
    graph.start("node-0")  # it reads the whole log again
    assert mg.connect(graph.address).query("g.V().count()").one() == 0
