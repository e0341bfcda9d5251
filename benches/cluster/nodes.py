"""The nodes of a graph as processes on this machine, and what they use: time, CPU, messages and bytes.

All of them end with `Nodes`. A node reads a pipe from this program until its end, and so it ends even if this program is killed.
"""

import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from proxy import Proxy

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "deploy" / "kafka"))
import brokers as kafka  # noqa: E402

COMMAND = [sys.executable, "-m", "mangrovedb.cli"]
NAME = "bench"
# How long a node may read the log before it answers, and how long it may take to end.
START_S, STOP_S = 600, 20
# What a node says once it answers.
READY = "listening on"


def command(*words):
    """What a command of Mangrove gives."""
    done = subprocess.run([*COMMAND, *map(str, words)], capture_output=True, text=True)
    if "has no client for Kafka" in done.stderr:
        raise kafka.Missing("this build has no client for Kafka (make install CLUSTER=1)")
    if done.returncode:
        raise RuntimeError(f"mangrove {' '.join(map(str, words[:2]))}: {done.stderr.strip()[-2000:]}")
    return done.stdout


class Nodes:
    """`count` nodes of a new graph. With `is_delayed`, all that comes to a node goes through `proxy`, which can hold it up."""

    def __init__(self, home, brokers, count=1, shards=4, more=(), is_delayed=False, name=NAME):
        self.home, self.brokers, self.name, self.processes, self.proxy = Path(home) / name, brokers, name, [None] * count, None
        up = ["cluster", "up", name, "--log", f"kafka://{brokers.addresses}", "--copies", brokers.count, "--data", self.home]
        printed = command(*up, "--nodes", count, "--shards", shards, "--launcher", "print", *more)
        self.commands = [shlex.split(line)[1:] for line in printed.splitlines()]
        self.ports = [int(words[words.index("--listen") + 1].rpartition(":")[2]) for words in self.commands]
        self.tls = f"?tls={more[more.index('--tls') + 1]}" if "--tls" in more else ""
        if is_delayed:
            self.proxy = Proxy(self.ports)
            self.ports = self.proxy.ports
            for words, port in zip(self.commands, self.ports):
                words += ["--advertise", f"127.0.0.1:{port}"]

    @property
    def address(self):
        return f"mangrove://{','.join(f'127.0.0.1:{port}' for port in self.ports)}/{self.name}{self.tls}"

    @property
    def pids(self):
        return [process.pid for process in self.processes if process]

    def __enter__(self):
        try:
            for at in range(len(self.commands)):
                self.begin(at)
            for at in range(len(self.commands)):
                self.wait(at)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for at in range(len(self.commands)):
            self.end(at)
        if self.proxy:
            self.proxy.close()

    def data(self, at):
        return self.home / f"node-{at}"

    def output(self, at):
        return self.home / f"node-{at}.log"

    def begin(self, at):
        self.data(at).mkdir(parents=True, exist_ok=True)
        with self.output(at).open("w") as out:
            self.processes[at] = subprocess.Popen([*COMMAND, *self.commands[at], "--attached"], stdin=subprocess.PIPE, stdout=out, stderr=out)

    def wait(self, at):
        """Waits until a node answers: then it has read the log."""
        end = time.monotonic() + START_S
        while READY not in self.output(at).read_text(errors="replace"):
            if self.processes[at].poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"node-{at} does not start: {self.output(at).read_text(errors='replace')[-2000:]}")
            time.sleep(0.01)

    def end(self, at):
        process, self.processes[at] = self.processes[at], None
        if process is None:
            return
        process.stdin.close()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def traffic(self):
        """For each node, the messages and bytes that have gone over connections to it, in both directions, since they were opened. A message
        is a TCP segment with data; on loopback, one write of up to 32 kB is one."""
        found = {port: np.zeros(2) for port in self.ports}
        if shutil.which("ss"):
            wanted = " or ".join(f"dport = :{port}" for port in self.ports)
            lines = subprocess.run(["ss", "-tinH", "state", "established", f"( {wanted} )"], capture_output=True, text=True).stdout.splitlines()
            for about, counted in zip(lines[::2], lines[1::2]):
                sums = [sum(map(int, re.findall(rf"\b{what}:(\d+)", counted))) for what in ("data_segs_(?:out|in)", "bytes_(?:sent|received)")]
                found[int(about.split()[-1].rpartition(":")[2])] += sums
        return found


def cpu_s(process):
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Clock:
    """What passes in a `with` block: wall seconds, CPU seconds of this program, of the nodes and of the brokers, messages and bytes."""

    def __init__(self, nodes=None):
        self.nodes = nodes

    def times(self):
        own, nodes = resource.getrusage(resource.RUSAGE_SELF), self.nodes
        of_nodes, of_brokers = (nodes.pids, filter(None, nodes.brokers.pids)) if nodes else ([], [])
        return np.array([time.perf_counter(), own.ru_utime + own.ru_stime, sum(map(cpu_s, of_nodes)), sum(map(cpu_s, of_brokers))])

    def traffic(self):
        return sum(self.nodes.traffic().values()) if self.nodes else np.zeros(2)

    def __enter__(self):
        self.before = self.traffic()
        self.began = self.times()
        return self

    def __exit__(self, *_):
        self.wall, self.client, self.of_nodes, self.of_brokers = self.times() - self.began
        self.messages, self.bytes = self.traffic() - self.before


@contextmanager
def running(home, count=1, brokers=1, of_brokers=None, **options):
    """Nodes with brokers of their own."""
    with kafka.Brokers(Path(home) / "kafka", brokers, **(of_brokers or {})) as started, Nodes(home, started, count, **options) as nodes:
        yield nodes


def line(what, *cells, width=12):
    print(f"{what:30}" + "".join(f"{cell:>{width}}" for cell in cells), flush=True)


def figure(value):
    """A number with three digits or more."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.3g}"
