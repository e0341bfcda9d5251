"""A lake on several nodes: processes that read the same files, keep nothing, and are killed. They need no log."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from served import post, serving
from stores import s3, server, uploaded  # noqa: F401

import mangrovedb as mg

COMMAND = [sys.executable, "-m", "mangrovedb.cli"]
PATIENCE_S = 60
QUERIES = [
    "g.V().count()",
    "g.V().id()",
    "g.V().hasLabel('young').values('name')",
    "g.V().has('person', 'id', 7).out('knows').values('name')",
    "g.V().has('person', 'age', gt(40)).valueMap('name', 'age')",
    "g.E().hasLabel('knows').has('since', lt(1990)).values('since')",
    "g.V().hasLabel('person').out('knows').where(outE('lives')).values('age')",
    "g.V().has('place', 'id', 'x2').in('lives').id()",
]


def command(*arguments):
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def run(*arguments):
    """What the command writes, once it has ended well."""
    done = command(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def answers(db):
    return [db.query(query).to_list() for query in QUERIES]


def has_ended(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    with suppress(OSError, IndexError):
        return open(f"/proc/{process}/stat").read().rsplit(")", 1)[1].split()[0] == "Z"
    return False


def until(is_so, what):
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end, what
        time.sleep(0.1)


@pytest.fixture
def lake(tmp_path):
    """The file of a lake."""
    with mg.open(tmp_path / "db") as db:
        with db.ingest() as w:
            w.add_vertices("person", [{"id": n, "name": f"p{n}" if n % 5 else None, "age": n * 7 % 90} for n in range(300)])
            w.add_vertices("place", [{"id": f"x{n}"} for n in range(5)])
            w.add_edges("knows", [{"from": n * 13 % 300, "to": n * n % 300, "since": 1950 + n % 70} for n in range(3000)])
            w.add_edges("lives", [{"from": n, "to": f"x{n % 4}"} for n in range(0, 300, 2)])
        db.query("g.V().hasLabel('person').has('age', lt(20)).addLabel('young')").to_list()
        db.export(tmp_path / "air", "graphar")
    return tmp_path / "air" / "air.graph.yml"


class Nodes:
    """Three nodes of a lake, each a process."""

    def __init__(self, lake, directory, *more):
        self.lake, self.directory, self.more, self.processes = lake, directory, more, {}
        self.up()

    def up(self):
        done = command("cluster", "up", "air", "--lake", self.lake, "--nodes", 3, "--data", self.directory, *self.more)
        self.processes |= {node: int(process) for node, process in re.findall(r"(node-\d): process (\d+), ", done.stderr)}
        assert done.returncode == 0, done.stderr
        self.address, self.said = done.stdout.strip(), done.stderr

    def kill(self, node):
        process = self.processes[node]
        os.kill(process, signal.SIGKILL)
        until(lambda: has_ended(process), f"{node} does not end")

    def end(self):
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


@pytest.fixture
def nodes(lake, tmp_path):
    started = Nodes(lake, tmp_path / "nodes")
    yield started
    started.end()


def test_processes_read_a_lake_and_may_be_killed(lake, nodes):
    expected = answers(mg.open_lake(lake))
    assert sorted(nodes.processes) == ["node-0", "node-1", "node-2"]
    db = mg.connect(nodes.address)
    assert answers(db) == expected
    said = json.loads(run("cluster", "status", nodes.address, "--format", "json"))
    assert said["lake"] == "air" and [node["name"] for node in said["nodes"]] == ["node-0", "node-1", "node-2"]
    assert sum(node["calls"] for node in said["nodes"]) > 0 and sum(node["chunks"] for node in said["nodes"]) > 0
    assert re.search(r"^lake air$\s+^node-0  127.0.0.1:\d+  \d+ calls, \d+ chunks$", run("cluster", "status", nodes.address), re.MULTILINE)
    assert "305" in run("query", nodes.address, "g.V().count()")

    nodes.kill("node-1")
    assert answers(db) == expected
    assert answers(mg.connect(nodes.address)) == expected
    before = nodes.processes["node-1"]
    nodes.up()
    assert "node-0 runs already" in nodes.said and "node-1 has started" in nodes.said and nodes.processes["node-1"] != before
    nodes.kill("node-0")
    nodes.kill("node-2")
    until(lambda: attempt(db) == expected, "the node that came back is not found")

    run("cluster", "down", nodes.address)
    until(lambda: has_ended(nodes.processes["node-1"]), "down leaves a process")
    with pytest.raises(mg.MangroveError, match="no node of the lake"):
        db.query("g.V().values('code').limit(1)").one()


def test_what_reads_a_graph_reads_a_lake_on_nodes(lake, nodes, tmp_path):
    here, there = mg.open_lake(lake), mg.connect(nodes.address)
    assert there.stats() == here.stats()
    assert there.analyze.wcc().to_dict() == here.analyze.wcc().to_dict()
    there.export(tmp_path / "copy", "graphar")
    copy = mg.open_lake(tmp_path / "copy" / "copy.graph.yml")
    assert [sorted(map(str, found)) for found in answers(copy)] == [sorted(map(str, found)) for found in answers(here)]
    assert there.refresh() == {"added": [], "changed": [], "removed": []}
    assert answers(there) == answers(here)


def test_commands_that_read_take_a_lake_on_nodes(lake, nodes, tmp_path):
    here = mg.open_lake(lake)
    assert all(label in run("stats", nodes.address) for label in ("person", "place", "knows"))
    run("export", nodes.address, tmp_path / "out")
    copy = mg.open(tmp_path / "copy")
    copy.load(tmp_path / "out")
    counted = "g.V().groupCount().by(label)"
    assert copy.query(counted).one() == here.query(counted).one()
    assert "{id=" in run("analyze", nodes.address, "wcc")
    with serving(nodes.address) as (_, address):
        status, body = post(address, {"gremlin": "g.V().count()"})[:2]
        assert status == 200 and "305" in str(body)


def test_nodes_read_a_lake_in_a_store(lake, tmp_path, s3):
    uploaded(s3, lake.parent, "some/air")
    started = Nodes("s3://graphs/some/air/air.graph.yml", tmp_path / "nodes")
    try:
        db = mg.connect(started.address)
        assert answers(db) == answers(mg.open_lake(lake))
        assert db.stats()["disk_bytes"] == sum(file.stat().st_size for file in lake.parent.rglob("*") if file.is_file())
    finally:
        started.end()


def test_a_server_need_not_list_the_files(lake, tmp_path, server):
    address, _ = server
    started = Nodes(f"{address}/air/air.graph.yml", tmp_path / "nodes")
    try:
        assert answers(mg.connect(started.address)) == answers(mg.open_lake(lake))
    finally:
        started.end()


def test_nodes_and_clients_show_certificates(lake, tmp_path):
    certs = tmp_path / "certs"
    run("cluster", "certs", certs, "here", "127.0.0.1")
    started = Nodes(lake, tmp_path / "nodes", "--tls", certs / "here")
    try:
        assert started.address.endswith(f"/air?tls={certs / 'here'}")
        assert answers(mg.connect(started.address)) == answers(mg.open_lake(lake))
        with pytest.raises(mg.MangroveError):
            mg.connect(started.address.split("?")[0])
    finally:
        started.end()


def test_nodes_that_run_keep_their_lake(lake, nodes, tmp_path):
    other = tmp_path / "other" / "air.graph.yml"
    shutil.copytree(lake.parent, other.parent)
    done = command("cluster", "up", "air", "--lake", other, "--nodes", 3, "--data", nodes.directory)
    assert done.returncode != 0 and f"reads another lake: {lake}" in done.stderr, done.stderr
    nodes.up()
    assert all(f"node-{node} runs already" in nodes.said for node in range(3)), nodes.said


def test_down_names_a_node_that_does_not_end(nodes):
    frozen = nodes.processes["node-1"]
    os.kill(frozen, signal.SIGSTOP)
    done = command("cluster", "down", nodes.address)
    address = nodes.address.removeprefix("mangrove://").split("/")[0].split(",")[1]
    assert done.returncode != 0 and "still there" in done.stderr and address in done.stderr, done.stderr
    until(lambda: all(has_ended(process) for process in nodes.processes.values() if process != frozen), "others are not ended")
    os.kill(frozen, signal.SIGCONT)


def attempt(db):
    with suppress(mg.MangroveError):
        return answers(db)


def test_what_a_lake_has_no_use_for_is_refused(nodes):
    db = mg.connect(nodes.address)
    with pytest.raises(mg.MangroveError, match="never written|read-only"):
        db.query("g.addV('person')").to_list()
    with pytest.raises(mg.MangroveError, match="check them where they are"):
        db.check()
    for arguments in ["backup"], ["move", "0", "node-1"], ["remove", "node-1"], ["rebalance"], ["finalize"]:
        done = command("cluster", arguments[0], nodes.address, *arguments[1:])
        assert done.returncode != 0 and "air is a lake: its nodes keep no shards and no log" in done.stderr, done.stderr
    with pytest.raises(mg.StorageError, match="air is a lake"):
        mg.nodes(nodes.address).copy(0, "node-1")
    run("cluster", "down", nodes.address)
    until(lambda: all(map(has_ended, nodes.processes.values())), "down leaves processes")


def test_a_node_needs_a_lake_or_a_log(lake, tmp_path):
    listen = ["--listen", "127.0.0.1:0"]
    for wrong, what in [
        (["node", "air", "--as", "a", *listen], "--log"),
        (["node", "air", "--lake", lake, *listen], "--as"),
        (["node", "air", "--lake", lake, "--as", "a", "--log", "kafka://127.0.0.1:1", *listen], "cannot be used with"),
        (["node", "air", "--lake", lake, "--as", "a", "--metrics", "127.0.0.1:0", *listen], "cannot be used with"),
        (["node", "air", "--lake", lake, "--as", "a", "--traces", "http://127.0.0.1:1", *listen], "cannot be used with"),
        (["cluster", "up", "air", "--data", tmp_path / "nodes"], "--log"),
        (["cluster", "up", "air", "--lake", lake, "--shards", "4", "--data", tmp_path / "nodes"], "cannot be used with"),
        (["node", "air", "--lake", tmp_path / "nothing.graph.yml", "--as", "a", *listen], "nothing.graph.yml"),
    ]:
        done = command(*wrong)
        assert done.returncode != 0 and what in done.stderr, (wrong, done.stderr)
    shown = run("cluster", "up", "air", "--lake", lake, "--nodes", 2, "--data", tmp_path / "nodes", "--launcher", "print")
    assert re.match(r"mangrove node air --as node-0 --lake \S+air.graph.yml --listen (\S+) --join (\S+)\n", shown), shown
    assert shown.count("\n") == 2 and not (tmp_path / "nodes").exists()
