"""A graph follows a topic of a real Kafka broker. Followers and nodes are killed, and each record is there once."""

import json
import random
import re
import signal
import subprocess
import threading
import time

import pytest
from test_cluster import COMMAND, brokers, connected, graph, log, run  # noqa: F401

import mangrovedb as mg

EDGES = ["--edges", "person:follows:page", "--create-missing"]
KILLS = 12


def edge(number):
    return json.dumps({"src": number % 50, "dst": f"page-{number % 31}", "n": number})


def tool(name, *arguments, lines=""):
    """Runs a tool of Kafka."""
    command = [*brokers.JAVA, "-cp", f"{brokers.fetch()}/*", f"org.apache.kafka.tools.{name}", *map(str, arguments)]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


class Topic:
    """A topic of a user, with JSON objects."""

    def __init__(self, log, name, partitions):  # noqa: F811
        self.brokers, self.name, self.address = log.removeprefix("kafka://"), name, f"{log}/{name}"
        create = ["--create", "--topic", name, "--partitions", partitions, "--replication-factor", 1]
        tool("TopicCommand", "--bootstrap-server", self.brokers, *create)

    def add(self, *lines):
        text = "".join(f"{line}\n" for line in lines)
        tool("ConsoleProducer", "--bootstrap-server", self.brokers, "--topic", self.name, lines=text)

    def delete(self, before, directory):
        """Deletes the records of partition 0 before an offset."""
        file = directory / "offsets.json"
        file.write_text(json.dumps({"partitions": [{"topic": self.name, "partition": 0, "offset": before}], "version": 1}))
        tool("DeleteRecordsCommand", "--bootstrap-server", self.brokers, "--offset-json-file", file)


class Producer(threading.Thread):
    """Adds numbered edges to a topic until it is stopped. Java ends well, so each number is in the topic once."""

    def __init__(self, topic):
        super().__init__()
        self.topic, self.count, self.stopped = topic, 0, threading.Event()

    def run(self):
        command = [*brokers.JAVA, "-cp", f"{brokers.fetch()}/*", "org.apache.kafka.tools.ConsoleProducer"]
        arguments = ["--bootstrap-server", self.topic.brokers, "--topic", self.topic.name]
        with subprocess.Popen([*command, *arguments], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as java:
            while not self.stopped.is_set():
                for _ in range(20):
                    java.stdin.write(edge(self.count) + "\n")
                    self.count += 1
                java.stdin.flush()
                time.sleep(0.05)
            java.stdin.close()
        self.code = java.returncode

    def stop(self):
        self.stopped.set()
        self.join()
        assert self.code == 0


def follow(address, topic, *more):
    """What a follower says that reads to the end."""
    command = [*COMMAND, "follow", str(address), topic.address, *EDGES, "--until-end", *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stderr


def offsets(address):
    """The offsets that a graph has, by source."""
    sources = json.loads(run("follow", address, "--show", "--format", "json"))
    return {name: position["offsets"] for name, position in sources.items()}


def numbers(db):
    """The numbers of all edges, from both of their ends."""
    leaving, entering = (sorted(db.query(f"g.V().{way}('follows').values('n')").to_list()) for way in ("outE", "inE"))
    assert leaving == entering
    return leaving


def stored(db):
    """How many edges there are, once nodes answer."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return db.query("g.E().count()").one()
        except mg.MangroveError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.1)


def grows(db, follower):
    """Waits until a follower has stored something."""
    before, deadline = stored(db), time.monotonic() + 150
    while stored(db) == before:
        assert follower.poll() is None, follower.stderr.read()
        assert time.monotonic() < deadline, "a follower stores nothing"
        time.sleep(0.05)


def test_followers_and_nodes_are_killed_and_each_record_is_there_once(graph, log):  # noqa: F811
    topic, chance = Topic(log, "killed", 3), random.Random(29)
    producer, db = Producer(topic), connected(graph.address)
    small = ["--batch", "40", "--batch-wait-ms", "50", "--quiet"]
    command = [*COMMAND, "follow", graph.address, topic.address, *EDGES, *small]
    producer.start()
    try:
        for kill in range(KILLS):
            with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as follower:
                if kill % 4:  # the others are killed while they begin
                    grows(db, follower)
                if kill in (5, 9):
                    node = f"node-{kill % 2}"
                    graph.kill(node)
                    graph.start(node)
                    grows(db, follower)
                time.sleep(chance.uniform(0, 0.4))
                follower.kill()
    finally:
        producer.stop()
    code, said = follow(graph.address, topic)
    assert code == 0, said
    assert numbers(db) == list(range(producer.count))
    assert sum(offsets(graph.address)["killed"].values()) == producer.count
    assert db.check() == []
    run("check", graph.address)


def test_two_followers_double_nothing_and_a_signal_ends_one_well(graph, log):  # noqa: F811
    topic = Topic(log, "two", 2)
    topic.add(*map(edge, range(500)))
    db, command = connected(graph.address), [*COMMAND, "follow", graph.address, topic.address, *EDGES, "--batch", "7"]
    ways = {"stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **ways) as first, subprocess.Popen(command, **ways) as second:
        deadline = time.monotonic() + 120
        while stored(db) < 500:
            assert time.monotonic() < deadline, "both followers have stopped"
            # Each may stop the other one: the offsets say where to go on.
            if first.poll() is not None and second.poll() is not None:
                assert follow(graph.address, topic)[0] == 0
            time.sleep(0.1)
        said = []
        for follower in (first, second):
            if follower.poll() is None:
                follower.send_signal(signal.SIGTERM)
            said.append((follower.wait(timeout=60), follower.stderr.read()))
    for code, text in said:
        assert (code == 0 and "the graph has read partition 0" in text) or (code == 1 and "another one follows it, too" in text), text
    assert numbers(db) == list(range(500))


def test_a_database_of_one_process_follows_a_topic(log, tmp_path):  # noqa: F811
    topic, path = Topic(log, "embedded", 1), tmp_path / "air.mg"
    topic.add(*map(edge, range(10)))
    code, said = follow(path, topic)
    assert code == 0, said
    assert re.search(r"took 10 records of embedded in 1 transaction and .*: \d+ vertices and 10 edges", said), said
    assert "the graph has read partition 0 up to offset 10" in said
    topic.add("no JSON", edge(11))
    code, said = follow(path, topic)
    assert code == 1 and "embedded, partition 0, offset 10: not JSON" in said and "--skip 0:10" in said, said
    code, said = follow(path, topic, "--skip", "0:10")
    assert code == 0 and "left out 1 record" in said, said
    with mg.open(path) as db:
        assert numbers(db) == [*range(10), 11]
    assert offsets(path) == {"embedded": {"0": 12}}
    assert "embedded" in run("follow", path, "--show")
    backup = tmp_path / "backup.mg"
    run("backup", path, backup)
    assert offsets(backup) == offsets(path)


def test_partitions_that_are_added_are_read_too(log, tmp_path):  # noqa: F811
    topic, path = Topic(log, "grown", 1), tmp_path / "air.mg"
    topic.add(*map(edge, range(10)))
    assert follow(path, topic)[0] == 0
    command = [*COMMAND, "follow", str(path), topic.address, *EDGES, "--quiet"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as follower:
        try:
            tool("TopicCommand", "--bootstrap-server", topic.brokers, "--alter", "--topic", topic.name, "--partitions", 4)
            topic.add(*map(edge, range(10, 4000)))
            deadline = time.monotonic() + 150
            # It looks for new partitions every 30 seconds.
            while sum(offsets(path)["grown"].values()) < 4000:
                assert follower.poll() is None, follower.stderr.read()
                assert time.monotonic() < deadline, offsets(path)
                time.sleep(0.5)
        finally:
            follower.send_signal(signal.SIGINT)
        assert follower.wait(timeout=60) == 0, follower.stderr.read()
    assert sorted(offsets(path)["grown"]) == ["0", "1", "2", "3"]
    with mg.open(path) as db:
        assert numbers(db) == list(range(4000))


def test_records_that_are_gone_are_told(log, tmp_path):  # noqa: F811
    topic, path = Topic(log, "gone", 1), tmp_path / "air.mg"
    topic.add(*map(edge, range(10)))
    assert follow(path, topic)[0] == 0
    topic.add(*map(edge, range(10, 20)))
    topic.delete(15, tmp_path)
    code, said = follow(path, topic)
    assert code == 1 and "partition 0, offsets 10 to 14" in said and "--skip-lost" in said, said
    code, said = follow(path, topic, "--skip-lost")
    assert code == 0, said
    with mg.open(path) as db:
        assert numbers(db) == [*range(10), *range(15, 20)]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["kafka://127.0.0.1:9/events", "--nodes", "a", "--edges", "b"], "cannot be used with"),
        (["kafka://127.0.0.1:9/events"], "required"),
        (["kafka://127.0.0.1:9", "--nodes", "a"], "a topic is kafka://host:port,host:port/NAME"),
        (["kafka://elsewhere:9/events", "--nodes", "a"], "--topic-config"),
    ],
)
def test_what_is_not_clear_is_refused(log, tmp_path, arguments, why):  # noqa: F811
    done = subprocess.run([*COMMAND, "follow", str(tmp_path / "db"), *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and why in done.stderr, done.stderr
    assert not (tmp_path / "db").exists()
