"""Processes that write, and threads that read meanwhile. They note what was acknowledged, and when."""

import subprocess
import sys
import threading
import time
from contextlib import suppress

import mangrovedb as mg

# The clock is that of the system: all processes of a machine read the same one.
WRITER = """
import sys, time, mangrovedb as mg
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
            said.write(f"failed {number} {time.monotonic()} {' '.join(str(error).split())}\\n")
        else:
            said.write(f"made {number} {time.monotonic()} {db.bookmark()}\\n")
"""


def commit_of(bookmark):
    return int(bookmark.split("-")[1])


class Writer:
    """A process that writes numbers, each once, and says which were acknowledged."""

    def __init__(self, number, address, directory):
        self.number, self.address, self.path = number, address, directory / f"writer-{number}.txt"
        self.tried, self.made, self.failed, self.looking = [], [], [], threading.Lock()
        self.path.touch()
        self.read, self.rest = self.path.open(), ""
        self.start()

    def look(self):
        """Takes in what it has said since the last look. `made` has the number, the time and the bookmark of each write."""
        with self.looking:
            *lines, self.rest = (self.rest + self.read.read()).split("\n")
            for word, *said in (line.split(maxsplit=3) for line in lines if line):
                if word == "try" and len(said) == 1:
                    self.tried.append(int(said[0]))
                elif word == "made" and len(said) == 3:
                    self.made.append((int(said[0]), float(said[1]), said[2]))
                elif word == "failed" and len(said) == 3:
                    self.failed.append((int(said[0]), float(said[1]), said[2]))

    def start(self):
        with self.path.open("a") as said:  # a line that was cut off
            said.write("\n")
        self.look()
        arguments = [self.address, str(self.number), str(max(self.tried, default=0)), str(self.path)]
        self.process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", WRITER, *arguments], stderr=subprocess.DEVNULL)

    def ids(self, numbers):
        return {number * 10 + self.number for number in numbers}


class Looking(threading.Thread):
    """A thread that goes on until all are stopped."""

    stopped = threading.Event()

    def __init__(self, pause_s):
        super().__init__(daemon=True)
        self.pause_s = pause_s

    def run(self):
        while not self.stopped.wait(self.pause_s):
            self.look()


class Writes(Looking):
    """Notes when each write was acknowledged."""

    def __init__(self, writers):
        super().__init__(0.05)
        self.writers, self.moments, self.seen, self.counts = writers, [], (0, None), [0] * len(writers)

    def look(self):
        new = []
        for at, writer in enumerate(self.writers):
            writer.look()
            made = writer.made[self.counts[at] :]
            self.counts[at] += len(made)
            new += made
        if new:
            count, newest = self.seen
            bookmarks = [bookmark for *_, bookmark in new] + [newest] * (newest is not None)
            self.seen = count + len(new), max(bookmarks, key=commit_of)
            self.moments = sorted(self.moments + [moment for _, moment, _ in new])


class Beats(Looking):
    """Does nothing. When that takes long, the machine has not run who waits."""

    def __init__(self):
        super().__init__(0.01)
        self.moments = []

    def look(self):
        self.moments.append(time.monotonic())


class Reads(Looking):
    """Reads all the time, and notes when that succeeds."""

    def __init__(self, address):
        super().__init__(0.02)
        self.address, self.db, self.moments, self.errors = address, None, [], []

    def look(self):
        try:
            self.db = self.db or mg.connect(self.address)
            self.db.query("g.V('hub').count()", timeout=60).one()
            self.moments.append(time.monotonic())
        except mg.MangroveError as error:
            self.errors.append(str(error))


class Checks(Looking):
    """Waits for the last acknowledged write, again and again. Then it must find as many as were acknowledged by then, each with its edge."""

    QUERY = "g.inject(1).union(__.V().hasLabel('number').count(), __.V('hub').out('to').count())"

    def __init__(self, writes, address):
        super().__init__(0.3)
        self.writes, self.address, self.db, self.count, self.wrong = writes, address, None, 0, []

    def look(self):
        least, bookmark = self.writes.seen
        if bookmark is None:
            return
        with suppress(mg.MangroveError):
            self.db = self.db or mg.connect(self.address)
            self.db.wait_for(bookmark, timeout=60)
            vertices, edges = self.db.query(self.QUERY, timeout=60).to_list()
            self.count += 1
            if vertices < least or vertices != edges:
                self.wrong.append(f"{least} were acknowledged, and a read found {vertices} vertices and {edges} edges")
