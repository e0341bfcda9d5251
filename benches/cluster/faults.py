#!/usr/bin/env python3
"""Kills and freezes processes of a graph on nodes at random, while clients write and read, and counts what was acknowledged.

    faults.py [--faults N] [--seed N]

Three brokers, three nodes with two copies of each shard and a store of backups, two processes that write and one that reads: all on this machine. After
each fault the process starts again, and writes and reads must go on. It prints how long they did not. It exits with 1 if anything acknowledged is
lost or doubled, if a reader missed something, or if the graph does not pass its check. It needs Java and Maven, and a build with a client for
Kafka (`make install CLUSTER=1`).
"""

import argparse
import itertools
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import mangrovedb as mg

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "deploy" / "kafka"))
import brokers as kafka  # noqa: E402

COMMAND = [sys.executable, "-m", "mangrovedb.cli"]
NODES, SHARDS, BROKERS, WRITERS = 3, 6, 3, 2
# After a fault, so many writes and reads must be made, within this time.
WRITES, READS, PATIENCE_S = 20, 5, 120
FROZEN_S = 10

WRITER = """
import sys, mangrovedb as mg
address, writer, number, path = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
query = "g.addV('number').property(id, i).as('a').V('hub').addE('to').to('a')"
with open(path, "a", buffering=1) as said:
    db = None
    while True:
        number += 1
        said.write(f"try {number}\\n")
        try:
            db = db or mg.connect(address)
            db.query(query, {"i": number * 10 + writer}, timeout=60)
        except mg.MangroveError as error:
            said.write(f"failed {number} {error}\\n")
        else:
            said.write(f"made {number} {db.bookmark()}\\n")
"""


class Wrong(Exception):
    """Something is not as it was promised."""


class Writer:
    """A process that writes numbers, each once, and says which were acknowledged."""

    def __init__(self, number, address, directory):
        self.number, self.address, self.path = number, address, directory / f"writer-{number}.txt"
        self.path.touch()
        self.start()

    def lines(self, word):
        # The last line may not be whole.
        lines = self.path.read_text().rpartition("\n")[0].splitlines()
        return [line.split()[1:] for line in lines if line.startswith(word)]

    def numbers(self, word):
        return [int(number) for number, *_ in self.lines(word)]

    def start(self):
        last = max(self.numbers("try"), default=0)
        with self.path.open("a") as said:  # a line that was cut off
            said.write("\n")
        arguments = [self.address, str(self.number), str(last), str(self.path)]
        self.process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", WRITER, *arguments], stderr=subprocess.DEVNULL)


class Watch(threading.Thread):
    """Notes when each write was acknowledged, and when reads succeed."""

    def __init__(self, writers, address):
        super().__init__(daemon=True)
        self.writers, self.address, self.stopped = writers, address, threading.Event()
        self.writes, self.reads, self.errors = [], [], []
        self.made, self.seen = 0, (0, None)

    def look(self):
        made = [bookmark for writer in self.writers for _, bookmark in writer.lines("made")]
        self.writes.extend([time.monotonic()] * (len(made) - self.made))
        self.made = len(made)
        self.seen = len(made), max(made, key=lambda bookmark: int(bookmark.split("-")[1]), default=None)

    def run(self):
        db = None
        while not self.stopped.is_set():
            self.look()
            try:
                db = db or mg.connect(self.address)
                db.query("g.V('hub').count()", timeout=60).one()
                self.reads.append(time.monotonic())
            except mg.MangroveError as error:
                self.errors.append(str(error))
                time.sleep(0.05)
            time.sleep(0.02)


class Checker(threading.Thread):
    """Waits for the last acknowledged write, again and again. Then it must find as many as were acknowledged by then."""

    def __init__(self, watch):
        super().__init__(daemon=True)
        self.watch, self.checks, self.missed = watch, 0, []

    def run(self):
        db = None
        while not self.watch.stopped.is_set():
            least, bookmark = self.watch.seen
            with suppress(mg.MangroveError):
                db = db or mg.connect(self.watch.address)
                if bookmark:
                    db.wait_for(bookmark, timeout=60)
                    found = db.query("g.V().hasLabel('number').count()", timeout=60).one()
                    self.checks += 1
                    if found < least:
                        self.missed.append((least, found))
            time.sleep(0.1)


class Nodes:
    """The processes of the nodes."""

    def __init__(self, log, directory):
        self.log, self.directory, self.store, self.processes = log, directory, directory / "backups", {}
        up = [*COMMAND, "cluster", "up", "faults", "--log", log, "--data", str(directory / "nodes"), "--copies", str(BROKERS)]
        up += ["--nodes", str(NODES), "--shards", str(SHARDS), "--replicas", "2", "--store", str(self.store), "--launcher", "print"]
        printed = subprocess.run(up, check=True, capture_output=True, text=True).stdout
        self.commands = [line.split()[1:] for line in printed.splitlines()]
        addresses = [command[command.index("--listen") + 1] for command in self.commands]
        self.address = f"mangrove://{','.join(addresses)}/faults"
        for node in range(NODES):
            self.start(node)

    def start(self, node):
        (self.directory / "nodes").mkdir(exist_ok=True)
        with (self.directory / f"node-{node}.log").open("a") as out:
            self.processes[node] = subprocess.Popen([*COMMAND, *self.commands[node]], stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def writer(self):
        """The number of the node that writes."""
        status = subprocess.run([*COMMAND, "cluster", "status", self.address, "--format", "json"], capture_output=True, text=True).stdout
        found = re.search(r'"name":"node-(\d)"[^{}]*"writer":true', status)
        return int(found[1]) if found else 0


def killed(process):
    process.kill()
    process.wait()


class Faults:
    """What may happen. Each ends once the process runs again."""

    def __init__(self, nodes, brokers, writers, chance):
        self.nodes, self.brokers, self.writers, self.chance = nodes, brokers, writers, chance

    def any_node(self):
        return self.chance.randrange(NODES)

    def kill_a_node(self):
        node = self.any_node()
        killed(self.nodes.processes[node])
        self.nodes.start(node)

    def kill_the_writing_node(self):
        node = self.nodes.writer()
        killed(self.nodes.processes[node])
        self.nodes.start(node)

    def lose_the_disk_of_a_node(self):
        node = self.any_node()
        killed(self.nodes.processes[node])
        shutil.rmtree(self.nodes.directory / "nodes" / f"node-{node}")
        self.nodes.start(node)

    def freeze_a_node(self):
        process = self.nodes.processes[self.any_node()]
        process.send_signal(signal.SIGSTOP)
        time.sleep(FROZEN_S)
        process.send_signal(signal.SIGCONT)

    def kill_a_broker(self):
        broker = self.chance.randrange(BROKERS)
        self.brokers.kill(broker)
        self.brokers.restart(broker)

    def freeze_a_broker(self):
        broker = self.chance.randrange(BROKERS)
        self.brokers.pause(broker)
        time.sleep(FROZEN_S)
        self.brokers.resume(broker)

    def kill_a_client(self):
        writer = self.chance.choice(self.writers)
        killed(writer.process)
        writer.start()

    def kill_a_backup(self):
        backup = subprocess.Popen([*COMMAND, "cluster", "backup", self.nodes.address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(self.chance.uniform(0.2, 1.5))
        killed(backup)

    def make_a_backup(self):
        subprocess.run([*COMMAND, "cluster", "backup", self.nodes.address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    # By how often each happens.
    KINDS = [*[kill_a_node] * 5, *[kill_the_writing_node] * 4, *[kill_a_client] * 4, *[kill_a_broker] * 2]
    KINDS += [lose_the_disk_of_a_node, freeze_a_node, freeze_a_broker, kill_a_backup, make_a_backup]


def longest_pause(moments, begin, end):
    inside = [begin, *(moment for moment in moments if begin < moment < end), end]
    return max(after - before for before, after in itertools.pairwise(inside))


def observe(watch, fault):
    """The longest times without a write and without a read around a fault."""
    begin = time.monotonic()
    fault()
    ended, after = time.monotonic(), (len(watch.writes), len(watch.reads))
    while len(watch.writes) < after[0] + WRITES or len(watch.reads) < after[1] + READS:
        if time.monotonic() > ended + PATIENCE_S:
            raise Wrong(f"no writes or no reads for {PATIENCE_S} s after {fault.__name__}: {watch.errors[-3:]}")
        time.sleep(0.02)
    end = time.monotonic()
    return longest_pause(watch.writes, begin, end), longest_pause(watch.reads, begin, end)


def count(address, writers, watch, checker):
    """Fails unless everything acknowledged is there once, with its edge, and nothing else but what was tried."""
    db = mg.connect(address)
    found = db.query("g.V().hasLabel('number').id()").to_list()
    linked = db.query("g.V('hub').out('to').id()").to_list()
    tried = {number * 10 + writer.number for writer in writers for number in writer.numbers("try")}
    made = {number * 10 + writer.number for writer in writers for number in writer.numbers("made")}
    failures = [
        f"{len(made - set(found))} of {len(made)} acknowledged are lost" if made - set(found) else "",
        f"{len(found) - len(set(found))} are doubled" if len(found) > len(set(found)) else "",
        "edges and vertices differ" if sorted(found) != sorted(linked) else "",
        f"{len(set(found) - tried)} were never tried" if set(found) - tried else "",
        f"reads missed what was acknowledged: {checker.missed[:3]}" if checker.missed else "",
        *db.check(),
    ]
    unknown = len(set(found) - made)
    print(f"{len(made):,} acknowledged, {len(found):,} found, of which {unknown} had an unknown outcome; {len(watch.errors)} of {len(watch.reads):,} reads failed; {checker.checks:,} reads after a bookmark")
    if any(failures):
        raise Wrong("; ".join(filter(None, failures)))


def run(arguments, directory):
    chance = random.Random(arguments.seed)
    with kafka.Brokers(directory / "kafka", BROKERS) as brokers:
        nodes = Nodes(f"kafka://{brokers.addresses}", directory)
        writers = []
        try:
            deadline = time.monotonic() + PATIENCE_S
            while not writers:
                try:
                    mg.connect(nodes.address).query("g.addV('hub').property(id, 'hub')")
                except mg.MangroveError:
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.2)
                else:
                    writers = [Writer(number, nodes.address, directory) for number in range(WRITERS)]
            watch = Watch(writers, nodes.address)
            checker = Checker(watch)
            watch.start()
            checker.start()
            faults, pauses, began = Faults(nodes, brokers, writers, chance), defaultdict(list), time.monotonic()
            for at in range(arguments.faults):
                kind = chance.choice(Faults.KINDS)
                pauses[kind.__name__].append(observe(watch, getattr(faults, kind.__name__)))
                if at % 20 == 19:
                    print(f"{at + 1} faults in {time.monotonic() - began:.0f} s, {watch.made:,} writes", file=sys.stderr, flush=True)
            for writer in writers:
                killed(writer.process)
            watch.stopped.set()
            watch.join()
            checker.join()
            watch.look()
            show(pauses)
            count(nodes.address, writers, watch, checker)
        finally:
            for process in [*nodes.processes.values(), *(writer.process for writer in writers)]:
                killed(process)


def show(pauses):
    print(f"{'fault':28}{'times':>6}   longest time without a write      without a read\n{'':28}{'':6}{'p50':>9}{'p99':>9}{'max':>9}{'p50':>9}{'p99':>9}{'max':>9}")
    for kind, all_of_kind in sorted(pauses.items()):
        columns = []
        for of in zip(*all_of_kind, strict=True):
            ordered = sorted(of)
            columns += [ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)], ordered[-1]]
        print(f"{kind.replace('_', ' '):28}{len(all_of_kind):>6}" + "".join(f"{seconds:>7.1f} s" for seconds in columns))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--faults", type=int, default=300, help="how many (default: 300)")
    parser.add_argument("--seed", type=int, default=1, help="the order of the faults (default: 1)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mg-faults-", ignore_cleanup_errors=True) as directory:
        try:
            run(arguments, Path(directory))
        except Wrong as wrong:
            sys.exit(f"wrong: {wrong}")


if __name__ == "__main__":
    main()
