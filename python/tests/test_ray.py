"""Nodes that Ray keeps running, and Ray Data that reads them. Ray runs in namespaces of its own, with no network but loopback: see launched.py."""

import importlib.util
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import mangrovedb as mg

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "deploy" / "kafka"))
brokers = pytest.importorskip("brokers")

SKIPPED = 77
# Processes in there end with the first of them. The shell is the first, because it waits for all that others leave behind.
ALONE = ["unshare", "--map-root-user", "--net", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", '"$@"; exit $?', "sh"]
GOOD = {"name": "air", "log": "kafka://127.0.0.1:1", "data": "data"}


@pytest.fixture
def short_path():
    """A directory for Ray, whose sockets take no long paths."""
    path = Path(tempfile.mkdtemp(prefix="mg-", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


def needed():
    """What is missing here, or None."""
    if not importlib.util.find_spec("ray"):
        return "Ray is not installed (pip install 'mangrovedb[cluster]')"
    if not shutil.which("unshare") or subprocess.run([*ALONE, "true"], capture_output=True).returncode:
        return "this machine makes no namespaces (unshare)"
    try:
        brokers.fetch()
    except brokers.Missing as missing:
        return str(missing)


def alone(program, *arguments, short_path, logs):
    """Runs a program with Ray in namespaces of its own."""
    if missing := needed():
        pytest.skip(f"left out: {missing}")
    (short_path / "token").write_text(secrets.token_hex(32))
    ray = {"RAY_TMPDIR": str(short_path), "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(short_path / "token")}
    command = [*ALONE, sys.executable, str(Path(__file__).with_name(program)), *map(str, arguments)]
    done = subprocess.run(command, env={**os.environ, **ray}, capture_output=True, text=True, timeout=420)
    if done.returncode == SKIPPED:
        pytest.skip(f"left out: {done.stdout.strip()}")
    said = "".join(f"\n{log}: {log.read_text()[-2000:]}" for log in logs.glob("**/node-*.log"))
    assert done.returncode == 0, done.stdout + done.stderr + said
    assert done.stdout.endswith("all is well\n")


@pytest.mark.parametrize("machines", ["one", "two"])
def test_nodes_under_ray_are_killed_and_come_back(tmp_path, short_path, machines):
    alone("launched.py", machines, tmp_path, short_path=short_path, logs=tmp_path)


def test_ray_data_reads_the_shards_of_a_query(tmp_path, short_path):
    pytest.importorskip("pyarrow.flight", reason="left out: pyarrow is not installed")
    alone("ray_reads.py", tmp_path, short_path=short_path, logs=tmp_path)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"nodes": 3, "shards": 2}, ValueError, "shards=2 are for 1 to 2 nodes, not nodes=3"),
        ({"nodes": 0}, ValueError, "nodes is 1 or more, not 0"),
        ({"shards": "4"}, TypeError, "shards is a number, not '4'"),
        ({"replicas": 3}, ValueError, "replicas=3 need as many nodes, not nodes=2"),
        ({"name": "a b"}, ValueError, "letters, digits, - and _: 'a b' is none"),
        ({"log": "127.0.0.1:9092"}, ValueError, "log is kafka://host:port,host:port, not '127.0.0.1:9092'"),
        ({"id_space": "all"}, ValueError, "id_space is 'graph' or 'label', not 'all'"),
        ({"tls": "nowhere"}, ValueError, "tls is a directory from `mangrove cluster certs`, but nowhere/ca.pem, .* is not there"),
        ({"store": ""}, ValueError, "store is s3://bucket/path, .* or a directory, not ''"),
        ({"store": 7}, ValueError, "store is s3://bucket/path, .* or a directory, not 7"),
        ({"log": None}, ValueError, "log is kafka://host:port,host:port, not None"),
        ({"lake": "air.graph.yml"}, ValueError, "a lake has no log and no shards: leave out log"),
        ({"lake": "air.graph.yml", "log": None, "shards": 4}, ValueError, "a lake has no log and no shards: leave out shards"),
        ({"lake": "", "log": None}, ValueError, "lake is the file of a graph in open files, a path or an address, not ''"),
    ],
)
def test_wrong_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        mg.cluster(**{**GOOD, **arguments})


def test_without_ray_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r'this needs Ray: pip install "mangrovedb\[cluster\]"'):
        mg.cluster(**GOOD)


def launcher(monkeypatch, capsys, what, settings):
    """What the module says that the command runs."""
    from mangrovedb import _launcher

    monkeypatch.setattr(sys, "argv", ["_launcher", what, json.dumps(settings)])
    _launcher.main()
    return json.loads(capsys.readouterr().out)


def test_without_ray_the_command_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ray", None)
    missing = {"error": 'this needs Ray: pip install "mangrovedb[cluster]"'}
    assert launcher(monkeypatch, capsys, "check", {}) == missing
    assert launcher(monkeypatch, capsys, "up", GOOD) == missing
    assert launcher(monkeypatch, capsys, "down", {"name": "air", "addresses": ["127.0.0.1:7701"]}) == {"ended": []}
    assert "shards=2 are for" in launcher(monkeypatch, capsys, "up", {**GOOD, "nodes": 3, "shards": 2})["error"]


def test_the_command_makes_no_graph_if_no_ray_runs(tmp_path):
    (tmp_path / "ray.py").write_text('raise ModuleNotFoundError("there is none here", name="ray")')
    words = ["cluster", "up", "air", "--log", "kafka://127.0.0.1:9", "--data", str(tmp_path / "data"), "--launcher", "ray"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-m", "mangrovedb.cli", *words], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and 'this needs Ray: pip install "mangrovedb[cluster]"' in done.stderr, done.stderr
    assert not (tmp_path / "data").exists()


def test_a_store_is_found_from_any_directory(tmp_path, monkeypatch):
    from mangrovedb.launch import _arguments, _place

    monkeypatch.chdir(tmp_path)
    assert _place("s3://bucket/graphs") == "s3://bucket/graphs" and _place(None) is None
    assert _place("backups") == _place(Path("backups")) == str(tmp_path / "backups")
    settings = {**GOOD, "nodes": 2, "replicas": 1, "tls": None, "log_config": None}
    words = _arguments({**settings, "store": "s3://bucket/graphs"}, 0, "127.0.0.1:7701")
    assert words[words.index("--store") + 1] == "s3://bucket/graphs"
    assert "--store" not in _arguments(settings, 0, "127.0.0.1:7701"), "settings of an actor from before there were backups"


def test_nodes_of_a_lake_get_no_log(tmp_path, monkeypatch):
    from mangrovedb.launch import Cluster, _arguments, _place

    monkeypatch.chdir(tmp_path)
    settings = {"name": "air", "nodes": 2, "data": "data", "tls": None, "lake": _place("air.graph.yml")}
    lake = str(tmp_path / "air.graph.yml")
    alone = ["node", "air", "--as", "node-1", "--lake", lake, "--listen", "127.0.0.1:7702"]
    assert _arguments(settings, 1, "127.0.0.1:7702") == [*alone, "--attached"]
    assert _arguments(settings, 1, "127.0.0.1:7702", ["127.0.0.1:7701"]) == [*alone, "--join", "127.0.0.1:7701", "--attached"]
    with pytest.raises(ValueError, match="the nodes of a lake only read its files: copy their directory for a backup"):
        Cluster(settings).backup()


def test_without_a_store_the_error_says_how_to_get_one():
    from mangrovedb.launch import Cluster

    with pytest.raises(ValueError, match=r"these nodes keep no backups: call down\(\), and then mg.cluster\(\) with store="):
        Cluster({"name": "air", "nodes": 2, "tls": None, "store": None}).backup()


def test_nodes_with_the_same_shards_are_on_different_machines():
    from mangrovedb.launch import _places

    assert _places(1, 3, 2) == [0, 0, 0]
    assert _places(2, 4, 2) == [0, 1, 0, 1]
    assert _places(3, 4, 2) == [0, 1, 2, 1]  # node 3 has a shard of node 0
    assert _places(3, 6, 3) == [0, 1, 2, 0, 1, 2]
    assert _places(8, 4, 1) == [0, 1, 2, 3]
    for machines, nodes, replicas in (5, 7, 2), (4, 12, 3), (3, 8, 2), (4, 7, 3):
        places = _places(machines, nodes, replicas)
        assert all(len({places[(at + next_to) % nodes] for next_to in range(replicas)}) == replicas for at in range(nodes))
        assert max(map(places.count, range(machines))) <= -(-nodes // machines) + 1
