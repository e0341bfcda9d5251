"""What test_ray.py runs in namespaces of its own: nodes under Ray, which are killed, and so are their actors and machines.

    launched.py one|two DIRECTORY       how many machines Ray has

It exits with 77, and says why, if this build has no client for Kafka.

Two machines are two addresses of `lo`. The second one has processes and files of its own:

    Ray at 10.77.0.1   this program, the brokers, nodes   their files are in DIRECTORY/machine
    Ray at 10.77.0.2   nodes                              they see DIRECTORY/second there
"""

import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "deploy" / "kafka"))
import brokers
import ray

import mangrovedb as mg

COMMAND = [sys.executable, "-m", "mangrovedb.cli"]
SKIPPED = 77
PATIENCE_S = 30
FIRST, SECOND = "10.77.0.1", "10.77.0.2"
# Ray asks machines more often whether they are there. Otherwise, it takes 15 s to miss one.
HASTE = {"RAY_health_check_initial_delay_ms": "500", "RAY_health_check_period_ms": "500", "RAY_health_check_failure_threshold": "4"}
RAY = [sys.executable, "-c", "from ray.scripts.scripts import main; main()", "start", "--block", "--disable-usage-stats", "--num-cpus=1"]
# Processes that see one directory in place of another, and end together.
THERE = 'mount --bind "$0" "$1" && shift && "$@"; exit $?'
ELSEWHERE = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", THERE]
AGAIN = """
import sys
import mangrovedb as mg
c = mg.cluster("air", shards=4, log=sys.argv[1], data=sys.argv[2], store=sys.argv[3])
print(c.address, c.connect().query("g.V().count()").one())
"""


def network(*addresses):
    """Starts the network interface `lo`, the only one there is, and gives it further addresses."""
    up_and_running, set_flags, set_address = 0x41, 0x8914, 0x8916
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sh14x", b"lo", up_and_running))
        for at, address in enumerate(addresses):
            packed = struct.pack("hH4s8x", socket.AF_INET, 0, socket.inet_aton(address))
            fcntl.ioctl(any_socket, set_address, struct.pack("16s16s", f"lo:{at}".encode(), packed))


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
            is_numbered = b"--number" in words  # a node of a lake has a name
            name = f"node-{words[words.index(b'--number') + 1].decode()}" if is_numbered else words[words.index(b"--as") + 1].decode()
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


def port_taken(c, writer, arguments):
    """A node whose port is taken when it starts again listens elsewhere, and is found there."""
    before, (node, _) = c.address, process_of("node-0")
    host, port = before.removeprefix("mangrove://").split(",")[0].split(":")
    os.kill(node, signal.SIGKILL)
    with first_at(host, int(port)) as taken:
        threading.Thread(target=hang_up, args=[taken], daemon=True).start()
        assert mg.cluster(**arguments).address == c.address != before
        taken.shutdown(socket.SHUT_RDWR)
    writer.write(20)
    writer.check(c.connect())


def backups_fail(c, place):
    """An error says why, and not what the command was about to do."""
    place.write_text("no directory")
    try:
        c.backup()
    except mg.OpenError as error:
        assert "copying" not in str(error) and str(place) in str(error), error
    else:
        raise AssertionError("a backup without a place")
    place.unlink()


def backed_up(c, writer):
    """Makes two backups: the log does not begin at its beginning any more. Gives the name of the second."""
    first = c.backup(keep_log=True)
    writer.write(20)
    second = c.backup()
    assert first["name"] < second["name"] and first["commit"] < second["commit"] and second["size_mb"] > 0
    writer.write(20)
    return second["name"]


def comes_from(backup, log):
    """Whether a node has said that it has shards from a backup."""
    return f"comes from the backup {backup}" in log.read_text()


def shards(c):
    """The shards of each node, as the log says."""
    return {node["name"]: node["shards"] for node in c.status()["nodes"]}


def grown(writer, arguments):
    """The graph goes to a third node, which stays when all start again."""
    arguments = {**arguments, "nodes": 3}
    c = mg.cluster(**arguments)
    # Of three nodes, the first would have shards 0 and 3. It keeps 2, too.
    assert shards(c) == {"node-0": [0, 2, 3], "node-1": [1, 3], "node-2": [2]}
    planned = c.rebalance(replicas=1, dry_run=True)
    assert len(planned) == 2 and c.rebalance(replicas=1) == planned
    assert sorted(map(len, shards(c).values())) == [1, 1, 2] and sorted(sum(shards(c).values(), [])) == [0, 1, 2, 3]
    giver = next(name for name, own in shards(c).items() if 0 in own)
    to = "node-1" if giver == "node-2" else "node-2"
    assert c.move(0, to) == {"shard": 0, "from": giver, "to": to}
    moved = shards(c)
    assert 0 in moved[to] and 0 not in moved[giver]
    writer.database = c.connect()
    writer.write(20)
    writer.check(writer.database)
    c.down()
    c = mg.cluster(**arguments)
    assert shards(c) == moved, "the log says which shards a node has"
    writer.check(c.connect())
    c.down()


def by_command(writer, arguments):
    """The command starts the nodes under Ray, too. They come back when they are killed, and end when the command says so."""
    words = [["--" + key.replace("_", "-"), str(value)] for key, value in arguments.items() if key != "name"]
    up = [*COMMAND, "cluster", "up", arguments["name"], "--launcher", "ray", *sum(words, [])]
    said = subprocess.run(up, capture_output=True, text=True, timeout=120)
    assert said.returncode == 0, said
    address = said.stdout.strip()
    assert sorted(nodes()) == ["node-0", "node-1", "node-2"]
    again = subprocess.run(up, capture_output=True, text=True, timeout=120)
    assert again.stdout.strip() == address, again
    node, actor = process_of("node-1")
    os.kill(node, signal.SIGKILL)
    until(lambda: not alive(node) and process_of("node-1")[1] == actor, "node-1 is not started again")
    assert mg.cluster(**{**arguments, "nodes": 3}).status()["records"] is not None  # waits until all nodes are back
    writer.database = mg.connect(address)
    writer.write(20)
    writer.check(writer.database)
    down = subprocess.run([*COMMAND, "cluster", "down", address], capture_output=True, text=True, timeout=120)
    assert down.returncode == 0 and "ended: node-0, node-1, node-2" in down.stderr, down
    until(lambda: nodes() == {}, "`cluster down` leaves processes")


def first_at(host, port):
    """A server at a port, as soon as it is free."""
    end = time.monotonic() + PATIENCE_S
    while True:
        with suppress(OSError):
            return socket.create_server((host, port))
        assert time.monotonic() < end, f"port {port} does not get free"


def hang_up(server):
    with suppress(OSError):
        while True:
            server.accept()[0].close()


def alive(process):
    return any(process == pid for pids in nodes().values() for pid, _ in pids)


def refused(what, error, **arguments):
    try:
        mg.cluster(**arguments)
    except error as raised:
        assert what in str(raised), raised
    else:
        raise AssertionError(f"not refused: {arguments}")


def first_start(arguments):
    """The nodes of a new graph, unless this build cannot have any."""
    try:
        return mg.cluster(**arguments)
    except mg.OpenError as error:
        if "has no client for Kafka" in str(error):
            print("this build has no client for Kafka (make install CLUSTER=1)")
            sys.exit(SKIPPED)
        raise


def one_machine(directory):
    network()
    with brokers.Brokers(directory / "kafka") as kafka:
        log, data = f"kafka://{kafka.addresses}", directory / "data"
        refused("no Ray runs here: start one with `ray start --head`", mg.OpenError, name="air", log=log, data=data)
        ray.init(include_dashboard=False, num_cpus=2, _temp_dir=os.environ["RAY_TMPDIR"], log_to_driver=False)
        arguments = {"name": "air", "nodes": 2, "shards": 4, "log": log, "data": data, "store": directory / "backups"}
        c = first_start(arguments)
        assert [node["shards"] for node in c.status()["nodes"]] == [[0, 2], [1, 3]]
        assert mg.cluster(**arguments).address == c.address
        refused("runs already, with nodes=2, not 3", ValueError, **{**arguments, "nodes": 3})
        refused("runs already, with store=", ValueError, **{**arguments, "store": None})
        writer = Writer(c.connect())
        killed(c, writer, arguments)
        port_taken(c, writer, arguments)
        other = [sys.executable, "-c", AGAIN, log, str(data), str(arguments["store"])]
        said = subprocess.run(other, capture_output=True, text=True, timeout=60)
        assert said.stdout.split() == [c.address, str(c.connect().query("g.V().count()").one())], said
        backups_fail(c, arguments["store"])
        backup = backed_up(c, writer)
        c.down()
        assert nodes() == {}, "down() leaves processes"
        c.down()
        refused("has a graph air already, with 4 shards, which never change", mg.OpenError, **{**arguments, "shards": 2})
        refused("has a graph air already, with another id space", mg.OpenError, **{**arguments, "id_space": "label"})
        (directory / "other").mkdir()
        (directory / "other" / "node-1").write_text("no directory")
        refused("node-1 does not start", mg.OpenError, **{**arguments, "data": directory / "other"})
        assert nodes() == {}, "a start that failed leaves processes"
        assert not comes_from(backup, data / "node-0.log")
        shutil.rmtree(data / "node-0")
        back = mg.cluster(**arguments)
        assert comes_from(backup, data / "node-0.log")
        writer.check(back.connect())
        back.down()
        grown(writer, arguments)
        assert nodes() == {}, "down() leaves processes"
        by_command(writer, {**arguments, "nodes": 3})
        reads_a_lake(directory)
        ray.shutdown()


def reads_a_lake(directory):
    """Nodes that read a lake need no log. One that is killed comes back, and the others know where it is."""
    with mg.open(directory / "rivers.mg") as db:
        with db.ingest() as w:
            w.add_vertices("river", [{"id": n, "length": n * 7 % 90} for n in range(300)])
            w.add_edges("into", [{"from": n, "to": n * 13 % 300} for n in range(300)])
        db.export(directory / "rivers", "graphar")
    lake = directory / "rivers" / "rivers.graph.yml"
    c = mg.cluster("rivers", nodes=2, lake=lake, data=directory / "rivers-data")
    queries = ["g.V().out().id()", "g.V().has('length', gt(40)).values('length')", "g.E().count()"]
    answers = [mg.open_lake(lake).query(query).to_list() for query in queries]
    connected = c.connect()
    assert [connected.query(query).to_list() for query in queries] == answers
    process, _ = nodes("rivers")["node-0"][0]
    os.kill(process, signal.SIGKILL)
    assert [connected.query(query).to_list() for query in queries] == answers
    until(lambda: [node for node, _ in nodes("rivers").get("node-0", [])] not in ([], [process]), "node-0 of the lake is not started again")
    assert mg.cluster("rivers", nodes=2, lake=lake, data=directory / "rivers-data").address == c.address
    assert [c.connect().query(query).to_list() for query in queries] == answers
    try:
        c.move(0, "node-1")
    except mg.StorageError as error:
        assert "rivers is a lake" in str(error), error
    else:
        raise AssertionError("a lake has shards")
    c.down()
    assert nodes("rivers") == {}, "down() leaves processes"
    # The command starts and ends them, too.
    up = [*COMMAND, "cluster", "up", "rivers", "--launcher", "ray", "--nodes", "2", "--lake", lake, "--data", directory / "rivers-data"]
    said = subprocess.run(up, capture_output=True, text=True, timeout=120)
    assert said.returncode == 0 and sorted(nodes("rivers")) == ["node-0", "node-1"], said
    address = said.stdout.strip()
    assert [mg.connect(address).query(query).to_list() for query in queries] == answers
    down = subprocess.run([*COMMAND, "cluster", "down", address], capture_output=True, text=True, timeout=120)
    assert down.returncode == 0 and "ended: node-0, node-1" in down.stderr, down
    until(lambda: nodes("rivers") == {}, "`cluster down` leaves processes of the lake")


def certificates(directory):
    """Each machine has its own, at the same path. Returns those of a broker."""
    certs, tls = directory / "certs", directory / "machine" / "tls"
    for name, address in ("broker", FIRST), ("machine", FIRST), ("second", SECOND):
        command = [*COMMAND, "cluster", "certs", certs, name, address]
        subprocess.run(command, check=True, capture_output=True)
    files = {"ssl.ca.location": "ca.pem", "ssl.certificate.location": "cert.pem", "ssl.key.location": "key.pem"}
    lines = ["security.protocol=SSL", *(f"{key}={tls / file}" for key, file in files.items())]
    for name in "machine", "second":
        shutil.copytree(certs / name, directory / name / "tls")
        (directory / name / "kafka.conf").write_text("\n".join(lines))
    return certs / "broker"


class Machine:
    """A Ray at an address. The first machine has the head."""

    def __init__(self, directory, address, port):
        which = ["--head", f"--port={port}", "--include-dashboard=false"] if address == FIRST else [f"--address={FIRST}:{port}"]
        alone = [] if address == FIRST else [*ELSEWHERE, directory / "second", directory / "machine"]
        with (directory / f"ray-{address}.log").open("ab") as out:
            command = [*alone, *RAY, f"--node-ip-address={address}", *which]
            self.process = subprocess.Popen([*map(str, command)], env=os.environ | HASTE, stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def lose(self):
        self.process.kill()
        self.process.wait()


def machines():
    return sorted(machine["NodeManagerAddress"] for machine in ray.nodes() if machine["Alive"])


def hosts(c):
    """Where the nodes are that answer."""
    return [node["address"].split(":")[0] for node in sorted(c.status()["nodes"], key=lambda node: node["name"]) if "error" not in node]


def lost(c, writer, machine):
    """A machine is lost: what its nodes had, others have, too. Then its nodes are on the other machine."""
    count, began = c.connect().query("g.V().count()").one(), time.monotonic()
    machine.lose()
    assert writer.database.query("g.V().count()").one() == count
    read = time.monotonic() - began
    writer.write(20)
    wrote = time.monotonic() - began
    until(lambda: hosts(c) == [FIRST] * 4, "the nodes of the machine that is lost are not on the other one")
    print(f"a machine is lost: read after {read:.1f} s, 20 writes after {wrote:.1f} s, nodes back after {time.monotonic() - began:.1f} s")
    writer.write(20)
    writer.check(c.connect())


def two_machines(directory):
    network(FIRST, SECOND)
    broker, (port,) = certificates(directory), brokers.free_ports(1)
    Machine(directory, FIRST, port)
    with brokers.Brokers(directory / "kafka", tls=broker, host=FIRST) as kafka:
        ray.init(address=f"{FIRST}:{port}", log_to_driver=False)
        log = {"log": f"kafka://{kafka.addresses}", "log_config": directory / "machine" / "kafka.conf"}
        arguments = {"name": "air", "nodes": 4, "shards": 4, "replicas": 2, "data": directory / "machine" / "data", **log}
        arguments["store"] = directory / "backups"
        spread(directory, arguments, port)
        ray.shutdown()


def spread(directory, arguments, port):
    second = Machine(directory, SECOND, port)
    until(lambda: machines() == [FIRST, SECOND], "the second machine is not there")
    refused("give tls=DIRECTORY", mg.OpenError, **arguments)
    arguments |= {"tls": directory / "machine" / "tls"}
    c = first_start(arguments)
    assert hosts(c) == [FIRST, SECOND, FIRST, SECOND]
    assert {path.name for path in (directory / "second" / "data").iterdir()} == {"node-1", "node-1.log", "node-3", "node-3.log"}
    writer = Writer(c.connect())
    killed(c, writer, arguments)
    assert hosts(c) == [FIRST, SECOND, FIRST, SECOND]
    backup = backed_up(c, writer)
    lost(c, writer, second)
    assert all(comes_from(backup, arguments["data"] / f"node-{at}.log") for at in (1, 3))
    assert mg.cluster(**arguments).address == c.address
    c.down()
    assert nodes() == {}, "down() leaves processes"
    Machine(directory, SECOND, port)
    until(lambda: machines() == [FIRST, SECOND], "the second machine is not back")
    c = mg.cluster(**arguments)
    assert hosts(c) == [FIRST, SECOND, FIRST, SECOND]
    writer.check(c.connect())
    c.down()
    assert nodes() == {}, "down() leaves processes"


if __name__ == "__main__":
    {"one": one_machine, "two": two_machines}[sys.argv[1]](Path(sys.argv[2]))
    print("all is well")
