"""What test_cluster_tls.py runs in a network of its own: brokers and nodes at an address that is not loopback, and who may speak to them.

Called with a directory. Ends with "all is well", or with exit code 77 and a word if something is missing.
"""

import fcntl
import json
import shutil
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import mangrovedb as mg

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "deploy" / "kafka"))
import brokers

SKIPPED = 77
COMMAND = [sys.executable, "-m", "mangrovedb.cli"]
HERE, BEYOND = "127.0.0.1", "10.77.0.1"
UP_AND_RUNNING, SET_FLAGS, SET_ADDRESS = 0x41, 0x8914, 0x8916


def network():
    """Starts the interface `lo`, the only one there is, and gives it a second address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sh14x", b"lo", UP_AND_RUNNING))
        address = struct.pack("hH4s8x", socket.AF_INET, 0, socket.inet_aton(BEYOND))
        fcntl.ioctl(any_socket, SET_ADDRESS, struct.pack("16s16s", b"lo:1", address))


def run(*arguments):
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def done(*arguments):
    ended = run(*arguments)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def refused(code, why, *arguments):
    ended = run(*arguments)
    assert ended.returncode == code and why in ended.stderr, (ended.returncode, ended.stderr)


def not_connected(why, address):
    try:
        mg.connect(address)
    except mg.OpenError as error:
        assert why in str(error), error
    else:
        raise AssertionError(f"{address} lets somebody in who has no business there")


class Nodes:
    """Processes of nodes."""

    def __init__(self, directory, log):
        self.directory, self.log, self.running = directory, log, []

    def start(self, number, host, tls):
        port = brokers.free_ports(1)[0]
        where = ["--listen", f"{host}:{port}", "--data", self.directory / f"node-{number}", "--tls", tls]
        arguments = ["node", "air", "--number", number, "--of", 2, "--replicas", 2, *where, *self.log]
        out = (self.directory / f"node-{number}-{port}.log").open("w")
        node = subprocess.Popen([*COMMAND, *map(str, arguments)], stdout=out, stderr=out)
        self.running.append(node)
        end = time.monotonic() + 60
        while "listening" not in (said := Path(out.name).read_text()):
            assert node.poll() is None and time.monotonic() < end, said
            time.sleep(0.05)
        return f"{host}:{port}"

    def stop(self):
        for node in self.running:
            node.terminate()
        assert [node.wait(20) for node in self.running] == [0] * len(self.running)
        self.running.clear()


def certificates(directory):
    """Of our authority, and of another."""
    ours, theirs = directory / "certs", directory / "theirs"
    done("cluster", "certs", ours, "broker", BEYOND)
    done("cluster", "certs", ours, "node", BEYOND, HERE)
    done("cluster", "certs", ours, "elsewhere", "node-9.example.com")
    done("cluster", "certs", ours, "me")
    done("cluster", "certs", theirs, "me")
    refused(1, "--renew replaces it", "cluster", "certs", ours, "me")
    refused(1, f"give its hosts again, which were {BEYOND} {HERE}", "cluster", "certs", ours, "node", "--renew")
    refused(1, "give no hosts", "cluster", "certs", ours, "me", HERE, "--renew")
    first = (ours / "me" / "cert.pem").read_text()
    done("cluster", "certs", ours, "me", "--renew")
    assert (ours / "me" / "cert.pem").read_text() != first
    assert [path.stat().st_mode & 0o077 for path in (ours / "ca.key", ours / "me" / "key.pem")] == [0, 0]
    refused(2, "is no host", "cluster", "certs", ours, "x", "a b")
    (theirs / "ca.key").unlink()
    refused(1, "ca.key is not", "cluster", "certs", theirs, "you")
    return ours, theirs


def log_options(directory, certs, addresses):
    config = directory / "kafka.conf"
    identity = certs / "me"
    lines = ["security.protocol=SSL", f"ssl.ca.location={identity}/ca.pem", f"ssl.certificate.location={identity}/cert.pem"]
    config.write_text("\n".join([*lines, f"ssl.key.location={identity}/key.pem"]))
    return ["--log", f"kafka://{addresses}", "--log-config", config]


def all_of_it(directory):
    ours, theirs = certificates(directory)
    with brokers.Brokers(directory / "kafka", tls=ours / "broker", host=BEYOND) as started:
        log = log_options(directory, ours, started.addresses)
        if "has no client for Kafka" in (made := run("cluster", "create", "air", "--shards", 4, *log)).stderr:
            print(made.stderr)
            sys.exit(SKIPPED)
        assert made.returncode == 0, made.stderr
        refused(2, "is not on this machine", "cluster", "create", "other", *log[:2])
        refused(1, "has a graph air already", "cluster", "create", "air", *log)
        done("cluster", "create", "air", "--if-missing", *log)
        node = ["node", "air", "--number", 0, "--of", 1, "--data", directory / "x", *log]
        refused(2, "a node needs certificates", *node, "--listen", f"{BEYOND}:7701")
        refused(2, "say with --advertise", *node, "--listen", "0.0.0.0:7701", "--tls", ours / "node")
        refused(2, "the numbers 0 to 0, not 1", *[1 if word == 0 else word for word in node], "--listen", f"{HERE}:7701")
        nodes = Nodes(directory, log)
        try:
            who_may_connect(nodes, ours, theirs)
        finally:
            nodes.stop()


def who_may_connect(nodes, ours, theirs):
    there, here = nodes.start(0, BEYOND, ours / "node"), nodes.start(1, HERE, ours / "node")
    both = f"mangrove://{there},{here}/air"
    with mg.connect(f"{both}?tls={ours}/me") as db:
        db.query("g.addV('p').property(id, 'a').as('a').addV('p').property(id, 'b').addE('k').from('a')")
        assert db.query("g.V('a').out('k').id()").to_list() == ["b"]
        assert db.check() == []
    status = json.loads(done("cluster", "status", f"mangrove://{there}/air?tls={ours}/me", "--format", "json"))
    assert {node["address"] for node in status["nodes"]} == {there, here}
    assert [node["shards"] for node in status["nodes"]] == [[0, 1, 2, 3]] * 2
    assert done("query", f"{both}?tls={ours}/me", "g.V().count()", "--format", "json").strip() in ("2", "[2]")
    not_connected("name a directory with your certificates", f"mangrove://{there}/air")
    not_connected("it may want certificates", f"mangrove://{here}/air")
    not_connected("no agreement on TLS", f"mangrove://{there}/air?tls={theirs}/me")
    shutil.copy(ours / "ca.pem", theirs / "me" / "ca.pem")
    not_connected("it may not accept these certificates", f"mangrove://{there}/air?tls={theirs}/me")
    assert "a connection without a certificate that counts here was refused" in (nodes.directory / f"node-0-{there.split(':')[1]}.log").read_text()
    not_connected("ca.pem", f"mangrove://{there}/air?tls={ours}/nobody")
    # The certificate is for addresses, and not for this name.
    not_connected("not valid for name", f"mangrove://localhost:{here.split(':')[1]}/air?tls={ours}/me")
    node = ["node", "air", "--number", 0, "--of", 1, "--data", nodes.directory / "x", *nodes.log, "--listen", f"{BEYOND}:0"]
    for wrong, why in (("elsewhere", "certificate not valid for name"), ("me", "does not allow extended key usage")):
        refused(1, why, *node, "--tls", ours / wrong)
    shutil.copy(theirs / "ca.pem", ours / "elsewhere" / "ca.pem")
    refused(1, "invalid peer certificate", *node, "--tls", ours / "elsewhere", "--advertise", "node-9.example.com:7701")


if __name__ == "__main__":
    network()
    try:
        all_of_it(Path(sys.argv[1]))
    except brokers.Missing as missing:
        print(missing)
        sys.exit(SKIPPED)
    print("all is well")
