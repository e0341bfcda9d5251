"""What test_ray.py runs in namespaces of its own: nodes under Ray, which are killed, and so are their actors.

    launched.py DIRECTORY

It exits with 77, and says why, if this build has no client for Kafka.
"""

import fcntl
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "deploy" / "kafka"))
import brokers
import ray

import mangrovedb as mg

SKIPPED = 77
PATIENCE_S = 30
AGAIN = """
import sys
import mangrovedb as mg
c = mg.cluster("air", shards=4, log=sys.argv[1], data=sys.argv[2])
print(c.address, c.connect().query("g.V().count()").one())
"""


def loopback():
    """Starts the network interface `lo`, the only one there is."""
    with socket.socket() as any_socket:
        up_and_running = 0x41
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", up_and_running))


def nodes(graph="air"):
    """The processes that run nodes of a graph: process and parent by the name of the node."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            state, parent = (folder / "stat").read_text().rsplit(")", 1)[1].split()[:2]
        except OSError:
            continue
        if b"mangrovedb.cli" in words and b"node" in words and graph.encode() in words and state != "Z":
            name = f"node-{words[words.index(b'--number') + 1].decode()}"
            found.setdefault(name, []).append((int(folder.name), int(parent)))
    return found


def until(is_so, what):
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end, f"{what}; nodes: {nodes()}"
        time.sleep(0.1)


def process_of(node):
    """The process of a node, which has just one, and the one of its actor."""
    until(lambda: len(nodes().get(node, [])) == 1, f"{node} has not one process")
    return nodes()[node][0]


class Writer:
    """Adds vertices with numbers, each with an edge from vertex 0."""

    def __init__(self, database):
        self.database, self.number, self.acknowledged = database, 0, []
        database.query("g.addV('hub').property(id, 0)")

    def write(self, count):
        end = time.monotonic() + PATIENCE_S
        for _ in range(count):
            self.number += 1
            try:
                self.database.query("g.addV('n').property(id, i).as('a').V(0).addE('to').to('a')", {"i": self.number})
                self.acknowledged.append(self.number)
            except mg.MangroveError as error:
                assert "Try again" in str(error) and time.monotonic() < end, error

    def check(self, database):
        there = database.query("g.V().hasLabel('n').id()").to_list()
        assert len(set(there)) == len(there) and set(self.acknowledged) <= set(there)
        assert sorted(database.query("g.V(0).out('to').id()").to_list()) == sorted(there)
        assert database.check() == []


def killed(c, writer, arguments):
    """A node is killed, and its actor; then an actor alone, whose node must not outlive it."""
    writer.write(20)
    node, actor = process_of("node-0")
    os.kill(node, signal.SIGKILL)
    writer.write(20)
    until(lambda: not alive(node) and process_of("node-0"), "node-0 is not started again")
    assert process_of("node-0")[1] == actor, "the actor has changed, too"
    node, actor = process_of("node-1")
    os.kill(actor, signal.SIGKILL)
    writer.write(20)
    until(lambda: not alive(node), "node-1 outlives its actor")
    until(lambda: process_of("node-1")[1] != actor, "the actor of node-1 is not started again")
    assert mg.cluster(**arguments).address == c.address  # waits until all nodes are back
    before = len(writer.acknowledged)
    writer.write(20)
    assert len(writer.acknowledged) == before + 20
    writer.check(c.connect())


def alive(process):
    return any(process == pid for pids in nodes().values() for pid, _ in pids)


def refused(what, error, **arguments):
    try:
        mg.cluster(**arguments)
    except error as raised:
        assert what in str(raised), raised
    else:
        raise AssertionError(f"not refused: {arguments}")


def main(directory):
    loopback()
    with brokers.Brokers(directory / "kafka") as kafka:
        log, data = f"kafka://{kafka.addresses}", directory / "data"
        refused("no Ray runs here: start one with `ray start --head`", mg.OpenError, name="air", log=log, data=data)
        ray.init(include_dashboard=False, num_cpus=2, _temp_dir=os.environ["RAY_TMPDIR"], log_to_driver=False)
        arguments = {"name": "air", "nodes": 2, "shards": 4, "log": log, "data": data}
        try:
            c = mg.cluster(**arguments)
        except mg.OpenError as error:
            if "has no client for Kafka" in str(error):
                print("this build has no client for Kafka (make install CLUSTER=1)")
                sys.exit(SKIPPED)
            raise
        assert [node["shards"] for node in c.status()["nodes"]] == [[0, 2], [1, 3]]
        assert mg.cluster(**arguments).address == c.address
        refused("runs already, with nodes=2, not 3", ValueError, **{**arguments, "nodes": 3})
        writer = Writer(c.connect())
        killed(c, writer, arguments)
        other = [sys.executable, "-c", AGAIN, log, str(data)]
        said = subprocess.run(other, capture_output=True, text=True, timeout=60)
        assert said.stdout.split() == [c.address, str(c.connect().query("g.V().count()").one())], said
        c.down()
        assert nodes() == {}, "down() leaves processes"
        c.down()
        refused("has a graph air already, with 4 shards, which never change", mg.OpenError, **{**arguments, "shards": 2})
        refused("has a graph air already, with another id space", mg.OpenError, **{**arguments, "id_space": "label"})
        nodes_of_ray, ray.nodes = ray.nodes, lambda: [{"Alive": True, "NodeManagerAddress": f"10.0.0.{at}"} for at in range(2)]
        refused("nodes listen on one machine only: TLS between nodes is not there yet, and this Ray has 2", mg.OpenError, **arguments)
        ray.nodes = nodes_of_ray
        (directory / "other").mkdir()
        (directory / "other" / "node-1").write_text("no directory")
        refused("node-1 does not start.", mg.OpenError, **{**arguments, "data": directory / "other"})
        assert nodes() == {}, "a start that failed leaves processes"
        back = mg.cluster(**arguments)
        writer.check(back.connect())
        back.down()
        ray.shutdown()
    print("all is well")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
