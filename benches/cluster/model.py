"""A model of the time of a query on machines of their own: CPU on the critical path, and α for each message and β for each byte there.

The nodes that a query asks work at the same time. So its path has the messages and bytes of the node with the most of them, and as large a part of the
CPU time of all nodes. That is a lower bound: with several rounds, another node may be the slowest each time. The time of the client counts as it is.
"""

import socket
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np
from nodes import Clock, figure, line

SECONDS, PATHS, PINGS = 1.5, 20, 3_000
ECHO = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as there:
    there.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while said := there.recv(64):
        there.sendall(said)
"""


@dataclass
class Network:
    """Seconds of a message, and of a byte."""

    message_s: float
    byte_s: float

    def time(self, path):
        return path.cpu_s + self.message_s * path.messages + self.byte_s * path.bytes


@dataclass
class Path:
    """What is on the critical path of a query, on average, and how long the query takes here."""

    cpu_s: float
    messages: float
    bytes: float
    wall_s: float


def loopback():
    """The network of this machine: how long a message takes beside the CPU time of both sides. Copying its bytes is a part of that."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        echo = subprocess.Popen([sys.executable, "-c", ECHO, str(listening.getsockname()[1])])
        here, _ = listening.accept()
    with here:
        here.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        own, began = time.process_time(), time.perf_counter()
        for _ in range(PINGS):
            here.sendall(b"ping")
            here.recv(64)
        wall, own = time.perf_counter() - began, time.process_time() - own
    echo.wait()
    # The other side does as much as this one.
    return Network(max(0.0, wall - 2 * own) / PINGS / 2, 0.0)


def path_of(nodes, ask, questions):
    """The path of questions, which `ask` asks one after the other. The nodes are not limited."""
    for question in questions[:PATHS]:
        ask(question)
    count, end = 0, time.perf_counter() + SECONDS
    with Clock(nodes) as clock:
        while time.perf_counter() < end:
            ask(questions[count % len(questions)])
            count += 1
    sums = np.zeros((2, 2))
    for question in questions[:PATHS]:
        before = nodes.traffic()
        ask(question)
        each = np.array([after - before[port] for port, after in nodes.traffic().items()])
        sums += [each.max(axis=0), each.sum(axis=0)]
    (messages, size), (all_messages, _) = sums / len(questions[:PATHS])
    share = messages / all_messages if all_messages else 1.0
    return Path((clock.client + clock.of_nodes * share) / count, messages, size, clock.wall / count)


def heads(network):
    print(f"the model: on the network, a message takes {network.message_s * 1e6:g} us and a byte {network.byte_s * 1e9:g} ns (stated); here a message takes")
    print("what is measured beside CPU time. `wall` is measured with one client and without limits. On this machine, the model should come near it.\n")
    line("queries", "nodes", "CPU us", "messages", "bytes", "wall us", "model us", "by wall", "network us", width=11)


def row(what, count, path, here, network):
    modelled = here.time(path)
    cells = [path.cpu_s * 1e6, path.messages, path.bytes, path.wall_s * 1e6, modelled * 1e6]
    line(what, count, *map(figure, cells), f"{modelled / path.wall_s:.2f}", figure(network.time(path) * 1e6), width=11)
