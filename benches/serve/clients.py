"""The clients: a lean one in Rust for Gremlin servers, and the stock drivers in Java and Python for Gremlin and Bolt."""

import json
import subprocess
import threading
import time
from contextlib import contextmanager

import servers
from gremlin_python.driver.client import Client
from gremlin_python.statics import long
from mangrove_server import MANGROVE

CLIENTS = (1, 8, 64)
VALUES = "g.V().order().by(id).limit(1000).id()"


def fetch():
    """Fetches the Java drivers once. Returns why that cannot be done, or an empty text."""
    return servers.fetch("drivers")


def rust(server, text, has_value, seconds):
    """What `mangrove bench requests` measures, by number of clients. The values of x are `VALUES`."""
    command = [MANGROVE, "bench", "requests", server.address, text, "--process", server.pid, "--time", f"{seconds}s", "--format", "json"]
    command += ["--values", VALUES] if has_value else []

    def measure(clients):
        done = subprocess.run([*map(str, command), "--clients", ",".join(map(str, clients))], capture_output=True, text=True, check=True)
        return {seen["clients"]: seen for seen in json.loads(done.stdout)}

    if server.name == "Gremlin Server":
        warm(lambda: measure(CLIENTS[-1:])[CLIENTS[-1]]["per_second"])
    return measure(CLIENTS)


def rated(server, text, clients, rate, seconds):
    """What `mangrove bench requests` measures if so many requests a second are sent whether or not the server keeps up; None for as many
    as it answers."""
    command = [MANGROVE, "bench", "requests", server.address, text, "--clients", clients, "--time", f"{seconds}s", "--format", "json"]
    command += ["--rate", rate] if rate else []
    return json.loads(subprocess.run([*map(str, command)], capture_output=True, text=True, check=True).stdout)[0]


def warm(rate):
    """Lets a Java machine compile what runs: for ten seconds, and until two rounds in a row are not 10 % faster than all before."""
    best, slow, end = 0, 0, time.perf_counter() + 10
    while slow < 2 or time.perf_counter() < end:
        now = rate()
        slow = 0 if now > best * 1.1 else slow + 1
        best = max(best, now)


def java(server, requests, seconds, folder):
    """The same with the official Java driver. A request is a text and the value of x, or None."""
    file = folder / "requests"
    file.write_text("".join(f"{'' if x is None else x}\t{text}\n" for text, x in requests))
    command = ["java", "-cp", f"{servers.libraries('drivers')}/*", servers.HERE / "drivers" / "Ask.java"]
    command += [server.address, server.pid, seconds, ",".join(map(str, CLIENTS)), file]
    done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, text=True, check=True)
    return {seen["clients"]: seen for seen in json.loads(done.stdout.splitlines()[-1])}


@contextmanager
def connect(server):
    """A function of a text and the value of x (or None). It returns the rows that a connection of the Python driver gets."""
    if server.language == "gremlin":
        client = Client(server.address, "g", pool_size=1)
        try:
            yield lambda text, x: client.submit(text, None if x is None else {"x": long(x)}).all().result()
        finally:
            client.close()
    else:
        import neo4j

        with neo4j.GraphDatabase.driver(server.address, notifications_min_severity="OFF") as driver, driver.session() as session:
            yield lambda text, x: [row[0] if len(row) == 1 else row for row in session.run(text, x=x).values()]


def python(server, text, values, clients, seconds):
    """Requests a second of so many threads, each with a connection of the Python driver."""
    ready, done = threading.Barrier(clients + 1, timeout=60), [0] * clients

    def work(at):
        with connect(server) as ask:
            ask(text, values[at])
            ready.wait()
            end, turn = time.perf_counter() + seconds, at * 100
            while time.perf_counter() < end:
                ask(text, values[turn % len(values)])
                turn, done[at] = turn + 1, done[at] + 1

    threads = [threading.Thread(target=work, args=(at,)) for at in range(clients)]
    for thread in threads:
        thread.start()
    ready.wait()
    for thread in threads:
        thread.join()
    return sum(done) / seconds
