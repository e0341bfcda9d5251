#!/usr/bin/env python3
"""Kills and freezes processes of a graph on nodes at random, while clients write and read, and counts what was acknowledged.

    faults.py [--faults N] [--seed N] [--replicas N] [--only KINDS] [--other-binary PATH] [--namespaces] [--keep DIRECTORY]

Three brokers, three nodes with two copies of each shard and a store of backups, two processes that write and two threads that read: all on this
machine. Shards move from node to node meanwhile, and backups are made. After each fault the process starts again, and writes and reads must go on. It
prints how long they did not. One fault is an upgrade node by node: each ends well, and starts again, from the program of --other-binary if there
is one, and at the next upgrade from this one. At the end, it restores a backup into another log while the clients go on, and damages one, which must be refused.
With --namespaces, it runs in a network of its own, loses packets between processes, and fills disks; that needs root, `ip` and `iptables`.

It exits with 1 if anything acknowledged is lost or doubled, if a reader missed something or saw half of a write, or if the graph does not pass its
check. It needs Java and Maven, and a build with a client for Kafka (`make install CLUSTER=1`).
"""

import argparse
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import mangrovedb as mg

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "deploy" / "kafka")]
import brokers as kafka  # noqa: E402
import network  # noqa: E402
from clients import Beats, Checks, Looking, Reads, Writer, Writes, commit_of  # noqa: E402

COMMAND = [sys.executable, "-m", "mangrovedb.cli"]
NAME = "faults"
NODES, SHARDS, BROKERS, WRITERS = 3, 6, 3, 2
# After a fault, so many writes and reads must be made, within this time.
WRITES, READS, PATIENCE_S = 20, 5, 120
FROZEN_S = 10
# Then all goes on for so long at most, before the next one.
CALM_S = 1.0
# What is promised. Longer pauses are told as they come.
WRITE_PAUSE_S, READ_PAUSE_S = 8.0, 0.5
DISK_MB = 256


class Wrong(Exception):
    """Something is not as it was promised."""


def command(*words):
    """Runs a command of Mangrove."""
    return subprocess.run([*COMMAND, *map(str, words)], capture_output=True, text=True, timeout=300)


def told(*words):
    """What a command gives that must not fail. It may say that it is too early."""
    done = command(*words)
    for _ in range(5):
        if not done.returncode or "Try again" not in done.stderr:
            break
        time.sleep(1)
        done = command(*words)
    if done.returncode:
        raise Wrong(f"mangrove {' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


def wait_until(holds, what):
    deadline = time.monotonic() + PATIENCE_S
    while not (found := holds()):
        if time.monotonic() > deadline:
            raise Wrong(f"{what}: not within {PATIENCE_S} s")
        time.sleep(0.2)
    return found


def killed(process):
    process.kill()
    process.wait()


class Nodes:
    """The processes of the nodes."""

    def __init__(self, log, ports, directory, replicas, has_network, other_binary):
        self.directory, self.store, self.processes = directory, directory / "backups", {}
        # What starts each node, and where the next upgrades go, in turn.
        self.programs, self.upgrades = {}, itertools.cycle([[str(other_binary.resolve())], COMMAND] if other_binary else [COMMAND])
        up = ["cluster", "up", NAME, "--log", log, "--data", directory / "nodes", "--copies", BROKERS, "--nodes", NODES, "--shards", SHARDS]
        printed = told(*up, "--replicas", replicas, "--store", self.store, "--launcher", "print")
        self.commands = [line.split()[1:] for line in printed.splitlines()]
        self.addresses = [command[command.index("--listen") + 1] for command in self.commands]
        self.address = f"mangrove://{','.join(self.addresses)}/{NAME}"
        self.network = network.Network(ports, [int(address.rpartition(":")[2]) for address in self.addresses]) if has_network else None
        for node in range(NODES):
            self.data(node).mkdir(parents=True)
            if has_network:  # a small disk for each
                subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", self.data(node)], check=True)
            self.start(node)

    def data(self, node):
        return self.directory / "nodes" / f"node-{node}"

    def start(self, node):
        group = {"group": self.network.group(node)} if self.network else {}
        with (self.directory / f"node-{node}.log").open("a") as out:
            words = [*self.programs.get(node, COMMAND), "--trace", "info", *self.commands[node]]
            self.processes[node] = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, **group)

    def upgrade(self, node, program):
        """Ends a node well, and starts it from a program."""
        process = self.processes[node]
        process.terminate()
        try:
            code = process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise Wrong(f"node-{node} does not end {PATIENCE_S} s after SIGTERM") from None
        if code:
            raise Wrong(f"node-{node} ends with {code} after SIGTERM")
        self.programs[node] = program
        self.start(node)

    def status(self):
        """The nodes as they are, by their numbers, or nothing."""
        done = command("cluster", "status", self.address, "--format", "json")
        found = json.loads(done.stdout)["nodes"] if done.returncode == 0 else []
        return {int(node["name"].removeprefix("node-")): node for node in found}

    def writer(self):
        """The number of the node that writes."""
        return next((number for number, node in self.status().items() if node["writer"]), 0)

    def settled(self):
        """The nodes, once all of them answer and have no trouble."""

        def is_well(node):
            return "error" not in node and not any(shard["trouble"] for shard in node["applied"])

        def well():
            for node, process in self.processes.items():
                if process.poll() is not None:
                    raise Wrong(f"node-{node} has ended by itself, with {process.returncode}")
            status = self.status()
            return status if len(status) == NODES and all(map(is_well, status.values())) else None

        try:
            return wait_until(well, "all nodes answer")
        except Wrong as wrong:
            raise Wrong(f"{wrong}: {json.dumps(self.status())}") from wrong

    def stop(self):
        for process in self.processes.values():
            killed(process)
        if self.network:
            for node in range(NODES):
                subprocess.run(["umount", "-l", self.data(node)], check=False)


class Faults:
    """What may happen. Each ends once the process runs again."""

    def __init__(self, nodes, brokers, writers, chance):
        self.nodes, self.brokers, self.writers, self.chance = nodes, brokers, writers, chance
        self.kills, self.notes = 0, defaultdict(int)

    def any_node(self):
        return self.chance.randrange(NODES)

    def kill(self, node):
        killed(self.nodes.processes[node])
        self.kills += 1

    def leader(self):
        return wait_until(lambda: self.leading() + 1, "a broker leads") - 1

    def leading(self):
        for port in self.brokers.ports:
            with suppress(OSError, kafka.struct.error):
                return kafka.leader_of(port, f"mangrove.{NAME}.commit")
        return -1

    # Processes end.

    def kill_a_node(self):
        node = self.any_node()
        self.kill(node)
        self.nodes.start(node)

    def kill_the_writing_node(self):
        node = self.nodes.writer()
        self.kill(node)
        self.nodes.start(node)

    def lose_the_disk_of_a_node(self):
        node = self.any_node()
        self.kill(node)
        for entry in self.nodes.data(node).iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        self.nodes.start(node)

    def kill_a_broker(self, broker=None):
        broker = self.chance.randrange(BROKERS) if broker is None else broker
        self.brokers.kill(broker)
        self.kills += 1
        self.brokers.restart(broker)

    def kill_the_leading_broker(self):
        self.kill_a_broker(self.leader())

    def kill_a_client(self):
        writer = self.chance.choice(self.writers)
        killed(writer.process)
        self.kills += 1
        writer.start()

    def kill_a_backup(self):
        backup = subprocess.Popen([*COMMAND, "cluster", "backup", self.nodes.address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(self.chance.uniform(0.2, 1.5))
        killed(backup)
        self.kills += 1

    # Nodes are upgraded.

    def upgrade_node_by_node(self):
        program = next(self.nodes.upgrades)
        for node in range(NODES):
            self.nodes.upgrade(node, program)
            self.nodes.settled()
            self.notes["nodes that were upgraded"] += 1
        self.must_pass_the_check()

    # Processes freeze.

    @staticmethod
    def freeze(process):
        process.send_signal(signal.SIGSTOP)
        time.sleep(FROZEN_S)
        process.send_signal(signal.SIGCONT)

    def freeze_a_node(self):
        self.freeze(self.nodes.processes[self.any_node()])

    def freeze_the_writing_node(self):
        self.freeze(self.nodes.processes[self.nodes.writer()])

    def freeze_a_client(self):
        self.freeze(self.chance.choice(self.writers).process)

    def freeze_a_broker(self, broker=None):
        broker = self.chance.randrange(BROKERS) if broker is None else broker
        self.brokers.pause(broker)
        time.sleep(FROZEN_S)
        self.brokers.resume(broker)

    def freeze_the_leading_broker(self):
        self.freeze_a_broker(self.leader())

    # Shards move, and backups are made.

    def make_a_backup(self):
        self.nodes.settled()
        told("cluster", "backup", self.nodes.address)

    def holders(self):
        return {number: node["shards"] for number, node in self.nodes.settled().items()}

    def one_to_move(self):
        """A shard, a node that has it, and one that has not, if there are such."""
        holders = self.holders()
        able = [(shard, have, lack) for have in holders for shard in holders[have] for lack in holders if shard not in holders[lack]]
        return self.chance.choice(able) if able else None

    def must_pass_the_check(self):
        self.nodes.settled()
        if wrong := mg.connect(self.nodes.address).check():
            raise Wrong(f"the check: {wrong[:3]}")

    def move_a_shard(self):
        if way := self.one_to_move():
            shard, have, lack = way
            told("cluster", "move", self.nodes.address, shard, f"node-{lack}", "--from", f"node-{have}")
        self.must_pass_the_check()

    def add_and_drop_a_replica(self):
        if way := self.one_to_move():
            shard, have, lack = way
            told("cluster", "copy", self.nodes.address, shard, f"node-{lack}")
            self.nodes.settled()
            told("cluster", "drop", self.nodes.address, shard, f"node-{have}")
        self.must_pass_the_check()

    def rebalance(self):
        self.nodes.settled()
        told("cluster", "rebalance", self.nodes.address)
        self.must_pass_the_check()

    def kill_a_node_while_a_shard_moves(self):
        """The move may fail then. The next rebalance makes it whole."""
        holders = self.holders()
        copies = sum(map(len, holders.values())) // SHARDS
        if way := self.one_to_move():
            shard, have, lack = way
            words = ["cluster", "move", self.nodes.address, str(shard), f"node-{lack}", "--from", f"node-{have}"]
            moving = subprocess.Popen([*COMMAND, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            time.sleep(self.chance.uniform(0.1, 1.0))
            node = self.chance.choice([have, lack, self.any_node()])
            self.kill(node)
            self.nodes.start(node)
            moving.communicate(timeout=PATIENCE_S)
            self.notes["moves that failed because a node was killed"] += moving.returncode != 0
        self.nodes.settled()
        told("cluster", "rebalance", self.nodes.address, "--replicas", copies)
        self.must_pass_the_check()

    # Packets are lost.

    def lose(self, *matches):
        with self.nodes.network.without(*matches):
            time.sleep(FROZEN_S)

    def cut_a_node_off_from_kafka(self, node=None):
        node = self.any_node() if node is None else node
        self.lose(self.nodes.network.to_kafka(node), self.nodes.network.from_kafka(node))

    def cut_the_writing_node_off_from_kafka(self):
        self.cut_a_node_off_from_kafka(self.nodes.writer())

    def lose_what_the_writing_node_sends_to_kafka(self):
        self.lose(self.nodes.network.to_kafka(self.nodes.writer()))

    def lose_what_kafka_sends_to_the_writing_node(self):
        self.lose(self.nodes.network.from_kafka(self.nodes.writer()))

    def cut_clients_off_from_a_node(self):
        node = self.any_node()
        self.lose(self.nodes.network.to_node(node), self.nodes.network.from_node(node))

    def cut_clients_off_from_the_writing_node(self):
        node = self.nodes.writer()
        self.lose(self.nodes.network.to_node(node), self.nodes.network.from_node(node))

    def lose_what_a_node_sends_to_clients(self):
        self.lose(self.nodes.network.from_node(self.any_node()))

    def cut_a_node_off_from_all(self):
        self.lose(*self.nodes.network.all_of(self.any_node()))

    # A disk is full.

    def fill_the_disk_of_a_node(self):
        node = self.any_node()
        self.nodes.settled()
        filler = self.nodes.data(node) / "filler"
        with filler.open("wb", buffering=0) as out, suppress(OSError):
            while out.write(bytes(1 << 16)):
                pass
        try:
            deadline = time.monotonic() + 2 * FROZEN_S
            while time.monotonic() < deadline and not self.troubles(node):
                time.sleep(0.5)
            self.notes["full disks that the node told of"] += bool(self.troubles(node))
        finally:
            filler.unlink()
        self.nodes.settled()

    def troubles(self, node):
        return [shard["trouble"] for shard in self.nodes.status().get(node, {}).get("applied", []) if shard["trouble"]]

    # By how often each happens.
    KINDS = [*[kill_a_node] * 8, *[kill_the_writing_node] * 6, *[kill_a_client] * 6, *[kill_a_broker] * 2, kill_the_leading_broker]
    KINDS += [lose_the_disk_of_a_node, freeze_a_node, freeze_the_writing_node, freeze_a_client, freeze_a_broker, freeze_the_leading_broker]
    KINDS += [upgrade_node_by_node, make_a_backup, kill_a_backup, move_a_shard, add_and_drop_a_replica, rebalance, kill_a_node_while_a_shard_moves]
    # These need a network and disks of our own.
    OWN = [cut_a_node_off_from_kafka, cut_the_writing_node_off_from_kafka, lose_what_the_writing_node_sends_to_kafka]
    OWN += [lose_what_kafka_sends_to_the_writing_node, cut_clients_off_from_a_node, cut_clients_off_from_the_writing_node]
    OWN += [lose_what_a_node_sends_to_clients, cut_a_node_off_from_all, fill_the_disk_of_a_node]


def longest_pause(moments, begin, end):
    """The longest pause, and when it began, from `begin` on."""
    inside = [begin, *(moment for moment in moments if begin < moment < end), end]
    return max((after - before, before - begin) for before, after in itertools.pairwise(inside))


class Judge:
    """Notes pauses around faults, and what was acknowledged."""

    def __init__(self, nodes, writers):
        self.nodes, self.address, self.writers, self.pauses = nodes, nodes.address, writers, defaultdict(list)
        self.writes, self.reads = Writes(writers), Reads(nodes.address)
        self.checks, self.beats = Checks(self.writes, nodes.address), Beats()
        for thread in (self.writes, self.reads, self.checks, self.beats):
            thread.start()

    def observe(self, number, name, fault):
        """The longest times without a write and without a read around a fault, until all nodes are back."""
        begin = time.monotonic()
        clock = time.strftime("%H:%M:%S", time.gmtime())
        fault()
        ended, writes, reads = time.monotonic(), len(self.writes.moments), len(self.reads.moments)
        while len(self.writes.moments) < writes + WRITES or len(self.reads.moments) < reads + READS:
            if time.monotonic() > ended + PATIENCE_S:
                raise Wrong(f"no writes or no reads for {PATIENCE_S} s after {name}: {self.reads.errors[-3:]}")
            time.sleep(0.02)
        self.nodes.settled()
        end = time.monotonic()
        *found, (machine, _) = [longest_pause(looking.moments, begin, end) for looking in (self.writes, self.reads, self.beats)]
        self.pauses[name].append([pause for pause, _ in found])
        for (pause, since), most, what in zip(found, (WRITE_PAUSE_S, READ_PAUSE_S), ("write", "read"), strict=True):
            if pause > most:
                print(f"fault {number} at {clock}, {name}: no {what} for {pause:.1f} s, from {since:.1f} s after it on; the machine was busy for {machine:.1f} s", file=sys.stderr, flush=True)

    def stop(self):
        for writer in self.writers:
            killed(writer.process)
        Looking.stopped.set()
        for thread in (self.writes, self.reads, self.checks, self.beats):
            thread.join()
        self.writes.look()

    def made(self, until=None):
        """What was acknowledged, up to a commit."""
        return {number * 10 + writer.number for writer in self.writers for number, _, bookmark in writer.made if until is None or commit_of(bookmark) <= until}

    def tried(self):
        return set().union(*(writer.ids(writer.tried) for writer in self.writers))

    def count(self):
        """Fails unless everything acknowledged is there once, with its edge, and nothing else but what was tried."""
        newest = self.writes.seen[1]
        if newest:
            mg.connect(self.address).wait_for(newest, timeout=PATIENCE_S)
        found, linked, wrong = everything(self.address)
        made = self.made()
        failures = [
            f"{len(made - set(found))} of {len(made)} acknowledged are lost" if made - set(found) else "",
            *whole(found, linked, self.tried()),
            *self.checks.wrong[:3],
            *wrong,
        ]
        unknown, failed = len(set(found) - made), sum(len(writer.failed) for writer in self.writers)
        print(f"{len(made):,} acknowledged, {len(found):,} found, of which {unknown} had an unknown outcome; {failed} writes failed")
        print(f"{len(self.reads.errors)} of {len(self.reads.moments) + len(self.reads.errors):,} reads failed; {self.checks.count:,} reads after a bookmark")
        for error in sorted({what for writer in self.writers for *_, what in writer.failed} | set(self.reads.errors))[:10]:
            print(f"  {error}")
        if any(failures):
            raise Wrong("; ".join(filter(None, failures)))

    def show(self):
        print(f"{'fault':44}{'times':>6}   longest time without a write      without a read\n{'':44}{'':6}{'p50':>9}{'p99':>9}{'max':>9}{'p50':>9}{'p99':>9}{'max':>9}")
        everything = [pauses for of_kind in self.pauses.values() for pauses in of_kind]
        for kind, all_of_kind in [*sorted(self.pauses.items()), *([("all", everything)] if everything else [])]:
            columns = []
            for of in zip(*all_of_kind, strict=True):
                ordered = sorted(of)
                columns += [ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)], ordered[-1]]
            print(f"{kind.replace('_', ' '):44}{len(all_of_kind):>6}" + "".join(f"{seconds:>7.2f} s" for seconds in columns))


def everything(address):
    """The vertices of a graph, those with an edge, and what its check finds."""
    db = mg.connect(address)
    return db.query("g.V().hasLabel('number').id()").to_list(), db.query("g.V('hub').out('to').id()").to_list(), db.check()


def whole(found, linked, tried):
    doubled, strange = len(found) - len(set(found)), len(set(found) - tried)
    return [
        f"{doubled} are doubled" if doubled else "",
        "edges and vertices differ" if sorted(found) != sorted(linked) else "",
        f"{strange} were never tried" if strange else "",
    ]


@contextmanager
def another_log(directory):
    with kafka.Brokers(directory, 1) as broker:
        yield f"kafka://{broker.addresses}"


def restore(nodes, judge, directory):
    """Begins another log with a backup, while clients go on: it must have what was acknowledged up to then, and nothing else."""
    nodes.settled()
    name, _, commit = told("cluster", "backup", nodes.address).split()[:3]
    commit = int(commit.rstrip(","))
    with another_log(directory / "kafka-restored") as log:
        told("cluster", "restore", NAME, "--store", nodes.store, "--backup", name.rstrip(":"), "--log", log)
        words = ["node", NAME, "--number", 0, "--of", 1, "--data", directory / "restored", "--listen", nodes.addresses[0].rpartition(":")[0] + ":0"]
        out = directory / "restored.log"
        with out.open("w") as said:
            process = subprocess.Popen([*COMMAND, *map(str, words), "--log", log, "--store", str(nodes.store)], stdout=said, stderr=said)
        try:
            address = wait_until(lambda: out.read_text().partition("listening on ")[2].partition("\n")[0], "the restored node listens")
            # A process of its own: this one is connected to the graph already.
            script = "import faults, json, sys; print(json.dumps(faults.everything(sys.argv[1])))"
            done = subprocess.run([sys.executable, "-c", script, f"mangrove://{address}/{NAME}"], cwd=Path(__file__).parent, capture_output=True, text=True)
        finally:
            killed(process)
    if done.returncode:
        raise Wrong(f"the restored graph cannot be read: {done.stderr}")
    found, linked, wrong = json.loads(done.stdout)
    time.sleep(1)  # what was acknowledged was noted by now
    lost, later = judge.made(commit) - set(found), set(found) & (judge.made() - judge.made(commit))
    failures = [f"{len(lost)} are lost" if lost else "", f"{len(later)} came later" if later else "", *whole(found, linked, judge.tried()), *wrong]
    print(f"a backup was restored into another log while clients wrote: {len(found):,} vertices, up to commit {commit:,}")
    if any(failures):
        raise Wrong(f"the restored graph: {'; '.join(filter(None, failures))}")


def flip(file, chance):
    content = bytearray(file.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    file.write_bytes(content)


def damage(nodes, chance, directory):
    """Flips a byte in the log of a backup, and one in its manifest. Who restores it hears of it."""
    whole = json.loads(told("cluster", "backups", NAME, "--store", nodes.store, "--format", "json"))["backups"]
    name = next(backup["name"] for backup in whole if backup["state"] == "whole")
    for wanted in ("log", "manifest"):
        store = directory / f"damaged-{wanted}"
        shutil.copytree(nodes.store / NAME / name, store / NAME / name)
        file = next(file for file in sorted((store / NAME / name).rglob("*")) if file.is_file() and wanted in str(file.relative_to(store / NAME / name)))
        flip(file, chance)
        with another_log(directory / f"kafka-{wanted}") as log:
            done = command("cluster", "restore", NAME, "--store", store, "--log", log)
        if not done.returncode or name not in done.stderr:
            raise Wrong(f"a damaged {file.relative_to(store)} was not refused: {done.stderr}")
        print(f"a byte of {file.name} was flipped: {done.stderr.strip().splitlines()[-1]}")


def chosen(arguments):
    kinds = Faults.KINDS + (Faults.OWN if network.is_inside() else [])
    if arguments.only:
        kinds = [kind for kind in kinds if kind.__name__ in arguments.only.split(",")]
    return kinds or sys.exit(f"there are no such kinds: {arguments.only}")


def ready(address):
    """Once somebody can write."""

    def is_written():
        with suppress(mg.MangroveError):
            mg.connect(address).query("g.addV('hub').property(id, 'hub')")
            return True

    wait_until(is_written, "a first write")


def run(arguments, directory):
    chance, kinds = random.Random(arguments.seed), chosen(arguments)
    if network.is_inside():
        os.setegid(network.CLIENTS)
    with kafka.Brokers(directory / "kafka", BROKERS) as brokers:
        nodes, writers = Nodes(f"kafka://{brokers.addresses}", brokers.ports, directory, arguments.replicas, network.is_inside(), arguments.other_binary), []
        try:
            ready(nodes.address)
            writers += [Writer(number, nodes.address, directory) for number in range(WRITERS)]
            judge, faults, began = Judge(nodes, writers), Faults(nodes, brokers, writers, chance), time.monotonic()
            try:
                for at in range(arguments.faults):
                    kind = chance.choice(kinds).__name__
                    (directory / "last.txt").write_text(f"fault {at}, {kind}\n")  # for who keeps the directory
                    judge.observe(at, kind, getattr(faults, kind))
                    time.sleep(chance.uniform(0, CALM_S))
                    if at % 20 == 19:
                        print(f"{at + 1} faults in {time.monotonic() - began:.0f} s, {len(judge.writes.moments):,} writes", file=sys.stderr, flush=True)
                if arguments.restore:
                    restore(nodes, judge, directory)
                    damage(nodes, chance, directory)
            finally:
                judge.stop()
                judge.show()
                (directory / "pauses.json").write_text(json.dumps(judge.pauses))  # for who keeps the directory
                print(f"{sum(map(len, judge.pauses.values()))} faults, {faults.kills} processes were killed by SIGKILL", *(f"; {count} {what}" for what, count in faults.notes.items()), sep="")
            judge.count()
        finally:
            for writer in writers:
                killed(writer.process)
            nodes.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--faults", type=int, default=300, help="how many (default: 300)")
    parser.add_argument("--seed", type=int, default=1, help="the order of the faults (default: 1)")
    parser.add_argument("--replicas", type=int, default=2, help="nodes that have each shard (default: 2)")
    parser.add_argument("--only", metavar="KINDS", help="only these, as in kill_a_node,move_a_shard")
    parser.add_argument("--other-binary", type=Path, metavar="PATH", help="a `mangrove` of another version: upgrades go to it and back, node by node")
    parser.add_argument("--no-restore", dest="restore", action="store_false", help="restore and damage no backup at the end")
    parser.add_argument("--namespaces", action="store_true", help="lose packets and fill disks, too: in a network of its own, as root")
    parser.add_argument("--keep", type=Path, metavar="DIRECTORY", help="where all files stay, in place of a directory that is removed")
    arguments = parser.parse_args()
    if arguments.namespaces and not network.is_inside():
        why = network.missing()
        if not why:
            sys.exit(network.run_inside())
        print(f"no packets are lost, and no disks are full: {why}")
    if arguments.keep:
        arguments.keep.mkdir(parents=True)
    place = nullcontext(arguments.keep) if arguments.keep else tempfile.TemporaryDirectory(prefix="mg-faults-", ignore_cleanup_errors=True)
    with place as directory:
        try:
            run(arguments, Path(directory).resolve())
        except Wrong as wrong:
            sys.exit(f"wrong: {wrong}")


if __name__ == "__main__":
    main()
