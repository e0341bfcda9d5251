#!/usr/bin/env python3
"""A graph on four nodes under Ray, with three brokers and an S3 server: load it, ask it, kill its processes, and count what was acknowledged.

    demo.py [DIR] [--edges N] [--replicas N]       DIR (default: demo-cluster) keeps the downloads and the CSV files

Everything runs in namespaces of its own (`unshare`), with no network but loopback, and ends with this program. Data of the graph
is in a temporary directory. It needs Linux, Java, Maven (once, to fetch Kafka), and the extra `demo`.

A backup goes to the S3 server while others write and read. At the end, it begins another log, and its graph is compared with what was written.

It exits with 1 if anything acknowledged is lost or doubled, or if two ways to ask give different answers.
"""

import argparse
import fcntl
import json
import os
import random
import re
import secrets
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "examples" / "air_routes"), str(ROOT / "deploy" / "kafka")]
import brokers  # noqa: E402
import convert  # noqa: E402
import demo as air_routes  # noqa: E402 - the one of air_routes

import mangrovedb as mg  # noqa: E402

# The shell is the first process in there, because it waits for all that others leave behind.
ALONE = ["unshare", "--map-root-user", "--net", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", '"$@"; exit $?', "sh"]
COMMAND = [sys.executable, "-m", "mangrovedb.cli"]
NODES, SHARDS, BROKERS = 4, 16, 3
# The place of backups, and an S3 server that has it. It says at which port, and ends with its standard input.
BUCKET, STORE = "graphs", "s3://graphs/of/the/demo"
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1", "NO_PROXY": "127.0.0.1"}
S3 = f"""
import sys
import boto3
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
boto3.client("s3", endpoint_url=f"http://{{host}}:{{port}}", region_name="us-east-1").create_bucket(Bucket="{BUCKET}")
print(port, flush=True)
sys.stdin.read()
"""
# What a graph has, as another process sees it.
EVERYTHING = """
import json
import sys
import mangrovedb as mg

db = mg.connect(sys.argv[1])
numbers, linked = (db.query(query).to_list() for query in ("g.V().hasLabel('number').values('n')", "g.V('hub').out('to').values('n')"))
links = db.query("g.E().hasLabel('route', 'link').groupCount().by(label)").one()
print(json.dumps({"numbers": numbers, "linked": linked, "links": links, "check": db.check()}))
"""
# Edges of a generated vertex, and the first of their ids: those of the airports are below.
DEGREE, FIRST_ID, SEED = 10, 10_000_000, 1
# A load is one transaction, and the log takes no more than about twice as many edges in one.
EDGES_OF_FILE = 1_000_000
# How many writes there are to be after each kill, and how long they may take.
WRITES, PATIENCE_S = 50, 180
QUERIES = [
    *(query for _, query in air_routes.SHELL_QUERIES),
    "g.V().has('airport', 'code', 'DEN').out('route').has('elev', gt(6000)).valueMap('code', 'city', 'elev')",
    "g.V().has('airport', 'code', 'AUS').repeat(out('route').dedup()).times(2).dedup().count()",
    "g.V().has('country', 'code', 'NZ').out('contains').values('city').order().dedup().limit(5)",
    f"g.V({FIRST_ID}).repeat(out('link').dedup()).times(3).dedup().count()",
    "g.E().hasLabel('link').count()",
]
say = air_routes.say


class Wrong(Exception):
    """Something is not as it was promised."""


# What needs the network, and what does not change: outside


def prepare(directory, edges):
    """Fetches Kafka and the air-routes data, and writes the CSV files."""
    say("fetching Kafka, if it is not there")
    brokers.fetch()
    cache = directory / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    air_routes.check(convert.convert(directory / "csv", [air_routes.fetch(cache)]))
    folder = directory / f"links-{edges}"
    if not folder.exists():
        say(f"generating {edges:,} edges in {folder}")
        generate(folder, edges)


def generate(folder, edges):
    new, count, chance = folder.with_name(f"{folder.name}.new"), max(1, edges // DEGREE), random.Random(SEED)
    new.mkdir(exist_ok=True)
    with (new / "points.csv").open("w") as file:
        file.write("~id,~label,n:int\n")
        file.writelines(f"{FIRST_ID + at},point,{at}\n" for at in range(count))
    for part, begin in enumerate(range(0, edges, EDGES_OF_FILE)):
        with (new / f"links-{part:03}.csv").open("w") as file:
            file.write("~from,~to,~label\n")
            part = range(begin, min(edges, begin + EDGES_OF_FILE))
            file.writelines(f"{FIRST_ID + at % count},{FIRST_ID + chance.randrange(count)},link\n" for at in part)
    new.rename(folder)


def go_inside(directory, edges, replicas):
    """Runs this program again in namespaces of its own. Returns its exit code."""
    with tempfile.TemporaryDirectory(prefix="mg-", dir="/tmp", ignore_cleanup_errors=True) as short:
        token = Path(short, "token")
        token.write_text(secrets.token_hex(32))
        ray = {"RAY_TMPDIR": short, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token), "RAY_worker_niceness": "0"}
        command = [*ALONE, sys.executable, __file__, str(directory), "--edges", str(edges), "--replicas", str(replicas), "--inside", short]
        return subprocess.run(command, env={**os.environ, **ray}).returncode


# The rest happens inside


def loopback():
    """Starts the network interface `lo`, the only one there is."""
    with socket.socket() as any_socket:
        up_and_running = 0x41
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", up_and_running))


def load(c, directory, edges):
    """Loads all files in other processes, and waits until this one sees what they hold."""
    started, csv, folder = time.perf_counter(), directory / "csv", directory / f"links-{edges}"
    first = [*csv.glob("vertices_*.csv"), *csv.glob("edges_*.csv"), folder / "points.csv"]
    for files in first, *([part] for part in sorted(folder.glob("links-*"))):
        print("$ mangrove load", c.address, *(file.name for file in files), flush=True)
        subprocess.run([*COMMAND, "load", "--quiet", c.address, *map(str, files)], check=True, stdin=subprocess.DEVNULL)
    loaded, db = time.perf_counter(), c.connect()
    while db.query("g.E().hasLabel('link').count()").one() < edges:
        if time.perf_counter() > loaded + PATIENCE_S:
            raise Wrong(f"what was loaded is not there after {PATIENCE_S} s")
        time.sleep(0.01)
    print(f"      # {loaded - started:.1f} s, and seen by another process {time.perf_counter() - loaded:.1f} s later", flush=True)


@contextmanager
def object_store():
    """An S3 server. All processes that start from here on find it, and its keys, in their environment."""
    environment = os.environ | KEYS
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", S3], env=environment, **pipes) as process:
        try:
            port = process.stdout.readline().strip()
            if not port:
                raise Wrong(f"the S3 server does not start: {process.stderr.read()}")
            threading.Thread(target=process.stderr.read, daemon=True).start()
            os.environ.update(KEYS, AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


@contextmanager
def serving(address, port=0):
    """The address of a server for drivers."""
    command = [*COMMAND, "serve", address, "--port", str(port), "--timeout", "120s"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            said = process.stderr.readline()
            found = re.search(r"ws://\S+/gremlin", said)
            if not found:
                raise Wrong(f"the server does not start: {said}{process.stderr.read()}")
            threading.Thread(target=process.stderr.read, daemon=True).start()
            yield found[0]
        finally:
            process.kill()


def ask(c):
    """Asks every query by connect(), and by a driver of TinkerPop through a server. Returns where they differ."""
    from gremlin_python.driver.client import Client
    from gremlin_python.driver.protocol import GremlinServerError

    say("The same queries by mg.connect(), and by gremlinpython through `mangrove serve`")
    db, different = c.connect(), []
    with serving(c.address) as server:
        client = Client(server, "g")
        for query in QUERIES:
            ours, ours_ms = timed(lambda query=query: db.query(query).to_list())
            shown = str(plain(ours))
            print(f">>> {query}\n{shown[:300]}{'…' * (len(shown) > 300)}")
            try:
                theirs, theirs_ms = timed(lambda query=query: client.submit(query).all().result())
            except GremlinServerError as error:
                theirs, theirs_ms = [str(error)], 0
            print(f"      # connect {ours_ms:.0f} ms, driver {theirs_ms:.0f} ms", flush=True)
            if sorted(map(repr, plain(ours))) != sorted(map(repr, plain(theirs))):
                different.append(f"{query} by a driver: {theirs}")
        client.close()
    return different


def timed(function):
    started = time.perf_counter()
    return function(), (time.perf_counter() - started) * 1000


def plain(value):
    """Values in lists and dictionaries, so that those of two libraries can be compared."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if hasattr(value, "objects"):
        return plain(value.objects)
    return [plain(item) for item in value] if isinstance(value, (list, tuple, set)) else value


class Writer(threading.Thread):
    """Adds numbered vertices, each with an edge from a hub. A number is never used again."""

    def __init__(self, db):
        super().__init__(daemon=True)
        self.db, self.stopped, self.moments, self.acknowledged, self.errors = db, threading.Event(), [], [], []
        db.query("g.addV('hub').property(id, 'hub').addV('number').property('n', 0).as('a').V('hub').addE('to').to('a')")
        self.acknowledged.append(0)
        self.tried = 0

    def run(self):
        while not self.stopped.is_set():
            number = self.tried = self.tried + 1
            try:
                self.db.query("g.addV('number').property('n', i).as('a').V('hub').addE('to').to('a')", {"i": number}, timeout=60)
            except mg.MangroveError as error:
                self.errors.append(error)
                time.sleep(0.05)
            else:
                self.acknowledged.append(number)
                self.moments.append(time.monotonic())


class Reader(threading.Thread):
    """Counts the numbered vertices. It never finds fewer than were acknowledged before it began."""

    def __init__(self, db, writer):
        super().__init__(daemon=True)
        self.db, self.writer, self.stopped, self.moments, self.errors, self.missed = db, writer, threading.Event(), [], [], []

    def run(self):
        while not self.stopped.is_set():
            least = len(self.writer.acknowledged)
            try:
                found = self.db.query("g.V().hasLabel('number').count()", timeout=60).one()
            except mg.MangroveError as error:
                self.errors.append(error)
                time.sleep(0.05)
                continue
            self.moments.append(time.monotonic())
            if found < least:
                self.missed.append((least, found))
            time.sleep(0.01)


def longest_pause(moments, begin, end):
    inside = [begin, *(moment for moment in moments if begin < moment < end), end]
    return max(after - before for before, after in zip(inside, inside[1:], strict=False))


def observe(what, writer, reader, kill):
    """Kills something, waits until writes and reads go on, and prints how long they did not."""
    begin, written, read, failures = time.monotonic(), len(writer.moments), len(reader.moments), len(writer.errors) + len(reader.errors)
    kill()
    while len(writer.moments) < written + WRITES or len(reader.moments) < read + 5 or time.monotonic() < begin + 10:
        if time.monotonic() > begin + PATIENCE_S:
            errors = {str(error)[:200] for error in [*writer.errors[-3:], *reader.errors[-3:]]}
            raise Wrong(f"{what}: no writes or no reads for {PATIENCE_S} s. The last errors: {errors}")
        time.sleep(0.05)
    end = time.monotonic()
    pauses = [longest_pause(of.moments, begin, end) for of in (writer, reader)]
    failures = len(writer.errors) + len(reader.errors) - failures
    print(f"{what:38}{pauses[0]:>8.1f} s{pauses[1]:>8.1f} s{failures:>8}", flush=True)


def found(find, what):
    """What a search finds that may find nothing (or 0) for a moment."""
    end = time.monotonic() + PATIENCE_S
    while not (it := find()):
        if time.monotonic() > end:
            raise Wrong(f"there is not {what}")
        time.sleep(0.1)
    return it


def process_of(node):
    """The process of a node, and the one of its actor."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            state, parent = (folder / "stat").read_text().rsplit(")", 1)[1].split()[:2]
            if b"node" in words and b"--number" in words and f"node-{words[words.index(b'--number') + 1].decode()}" == node and state != "Z":
                return int(folder.name), int(parent)
    raise Wrong(f"{node} does not run")


def kill_each_kind(c, kafka, writer, reader):
    topic = f"mangrove.{c.name}.commit"

    def node(writes):
        """The process of a node that writes, or of one that does not, and that of its actor."""
        name = found(lambda: [node["name"] for node in c.status()["nodes"] if node["writer"] == writes], "such a node")[0]
        return process_of(name)

    def broker(leads):
        leader = found(lambda: 1 + brokers.leader_of(kafka.ports[0], topic), "a broker that leads") - 1
        return leader if leads else (leader + 1) % BROKERS

    say(f"Kill each kind of process, while others write and read\n{'killed':38}{'no write':>10}{'no read':>10}{'errors':>8}")
    observe("nothing", writer, reader, lambda: None)
    observe("a node", writer, reader, lambda: os.kill(node(writes=False)[0], signal.SIGKILL))
    observe("the node that writes", writer, reader, lambda: os.kill(node(writes=True)[0], signal.SIGKILL))
    observe("the actor of the node that writes", writer, reader, lambda: os.kill(node(writes=True)[1], signal.SIGKILL))
    for leads in (False, True):
        killed = broker(leads)
        observe(f"{'the broker that leads' if leads else 'a broker of three'}", writer, reader, lambda killed=killed: kafka.kill(killed))
        observe("nothing: that broker comes back", writer, reader, lambda killed=killed: kafka.restart(killed))


def kill_the_gateway(c, writer):
    """A server for drivers keeps nothing: one that starts at the same port answers the same driver."""
    from gremlin_python.driver.client import Client

    def count(server):
        least, client = len(writer.acknowledged), Client(server, "g")

        def enough():
            counted = client.submit("g.V().hasLabel('number').count()").all().result()[0]
            return counted if counted >= least else 0

        try:  # another process sees a write a little later
            return found(enough, f"a driver that counts {least} vertices")
        finally:
            client.close()

    (port,) = brokers.free_ports(1)
    with serving(c.address, port) as server:
        before = count(server)
    began = time.monotonic()
    with serving(c.address, port) as server:
        after = count(server)
    print(f"{'the server for drivers':38}a driver counts {before:,}, and {after:,} from the next server {time.monotonic() - began:.1f} s later", flush=True)


def back_up(c, writer, reader):
    """Makes a backup while others write and read. Gives it, and how many writes were acknowledged before it began."""
    made, acknowledged = [], len(writer.acknowledged)
    observe("nothing: a backup is made", writer, reader, lambda: made.append(c.backup()))
    return made[0], acknowledged


def restored(writer, backup, acknowledged, before, directory):
    """Begins another log with a backup: the graph there has all that was acknowledged before it, and nothing else."""
    say(f"The log is lost: another one begins with the backup {backup['name']} in {STORE}")
    with brokers.Brokers(directory / "kafka-restored", count=1) as kafka:
        log = ["--log", f"kafka://{kafka.addresses}"]
        told("cluster", "restore", "air", "--store", STORE, "--backup", backup["name"], *log)
        data = ["--data", directory / "restored", "--nodes", 1, "--store", STORE]
        address = told("cluster", "up", "air", *log, *data, "--shards", SHARDS).strip()
        try:
            done = subprocess.run([sys.executable, "-c", EVERYTHING, address], capture_output=True, text=True)
        finally:
            told("cluster", "down", address)
    if done.returncode:
        raise Wrong(f"the restored graph cannot be read: {done.stderr}")
    there = json.loads(done.stdout)
    numbers = there["numbers"]
    lost, doubled = set(writer.acknowledged[:acknowledged]) - set(numbers), len(numbers) - len(set(numbers))
    strange = set(numbers) - set(range(writer.tried + 1))
    print(f"commit {backup['commit']:,}, {backup['size_mb']} MB: {len(numbers):,} of the vertices, of which {acknowledged:,} were acknowledged before; lost {len(lost)}, doubled {doubled}, never written {len(strange)}")
    links = {label: before[label] for label in ("route", "link")}
    if lost or doubled or strange or sorted(numbers) != sorted(there["linked"]) or there["links"] != links or there["check"]:
        raise Wrong(f"the restored graph: lost {sorted(lost)[:10]}, never written {sorted(strange)[:10]}, edges {len(there['linked'])}, {there['links']}, not {links}, {there['check']}")


def told(*words):
    """What a command of Mangrove writes."""
    print("$ mangrove", *words, flush=True)
    done = subprocess.run([*COMMAND, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise Wrong(f"mangrove {words[0]} {words[1]}: {done.stderr.strip()}")
    return done.stdout


def judge(c, writer, reader, before):
    db = c.connect()
    numbers = db.query("g.V().hasLabel('number').values('n')").to_list()
    linked = db.query("g.V('hub').out('to').values('n')").to_list()
    lost, doubled = set(writer.acknowledged) - set(numbers), len(numbers) - len(set(numbers))
    say("What was written")
    print(f"acknowledged {len(writer.acknowledged):,}, found {len(numbers):,}, lost {len(lost)}, doubled {doubled}")
    print(f"errors of writes {len(writer.errors)}, of which made nevertheless: {len(set(numbers) - set(writer.acknowledged))}")
    print(f"errors of reads {len(reader.errors)}; counts of {len(reader.moments):,} that missed something: {len(reader.missed)}")
    for error in sorted({re.sub(r"\d+", "N", str(error))[:250] for error in [*writer.errors, *reader.errors]}):
        print(f"  {error}")
    after = {label: count for label, count in counts(db).items() if label in before}
    broken = db.check()
    if lost or doubled or reader.missed or sorted(linked) != sorted(numbers) or after != before or broken:
        raise Wrong(f"lost {sorted(lost)[:10]}, reads {reader.missed[:3]}, edges {len(linked)}, before {before}, after {after}, {broken}")


def counts(db):
    return db.query("g.V().groupCount().by(label)").one() | db.query("g.E().hasLabel('route', 'link').groupCount().by(label)").one()


def run(directory, edges, replicas, short):
    import ray

    loopback()
    with object_store() as s3, brokers.Brokers(short / "kafka", count=BROKERS) as kafka:
        say(f"{BROKERS} brokers: {kafka.addresses}, and an S3 server: {s3}")
        ray.init(include_dashboard=False, num_cpus=2, _temp_dir=str(short), log_to_driver=False)
        log = f"kafka://{kafka.addresses}"
        c = mg.cluster("air", nodes=NODES, shards=SHARDS, log=log, data=short / "data", replicas=replicas, copies=BROKERS, store=STORE)
        try:
            say(f"{NODES} nodes under Ray: {c.address}")
            load(c, directory, edges)
            different = ask(c)
            before = counts(c.connect())
            writer = Writer(c.connect())
            reader = Reader(c.connect(), writer)
            for thread in (writer, reader):
                thread.start()
            kill_each_kind(c, kafka, writer, reader)
            kill_the_gateway(c, writer)
            backup, acknowledged = back_up(c, writer, reader)
            for thread in (writer, reader):
                thread.stopped.set()
                thread.join()
            judge(c, writer, reader, before)
            c.down()
            restored(writer, backup, acknowledged, before, short)
        except BaseException:
            for out in sorted(short.glob("*/node-*.log")):
                print(f"{out} ends with:\n{out.read_text()[-2000:]}", file=sys.stderr)
            try:
                c.down()
            except Exception as error:  # the first error says more
                print(f"the nodes do not end: {error}", file=sys.stderr)
            raise
        finally:
            ray.shutdown()
    if different:
        raise Wrong("\n".join(different))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", nargs="?", type=Path, default=Path("demo-cluster"))
    parser.add_argument("--edges", type=int, default=1_000_000, help="how many edges are generated and loaded (default: 1,000,000)")
    parser.add_argument("--replicas", type=int, default=1, help="how many nodes have each shard (default: 1)")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside is None:
        prepare(options.directory, options.edges)
        sys.exit(go_inside(options.directory, options.edges, options.replicas))
    try:
        run(options.directory, options.edges, options.replicas, options.inside)
    except Wrong as wrong:
        sys.exit(f"error: {wrong}")
    say("nothing acknowledged is lost or doubled")


if __name__ == "__main__":
    main()
