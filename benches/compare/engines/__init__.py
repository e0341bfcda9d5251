"""The engines compared, one a module. What each has to offer is in `Engine`."""

import importlib
import importlib.metadata
import re
import subprocess
from pathlib import Path

import serving


def make(name):
    return importlib.import_module(f"engines.{name}_engine").make()


class Engine:
    """One engine, written to as its own documentation recommends, queries prepared where it can prepare, parameters bound."""

    name = ""
    # Whether the data outlive the process.
    persistent = True
    # Whether a single commit is on the disk when it returns (seen with strace: one fdatasync or fsync a commit).
    durable = True
    # Said beside the results.
    note = ""
    # The files in queries/ its texts are taken from; a later one goes before an earlier.
    languages = ()
    # Wall and CPU seconds of the load, where the engine is in another process.
    load_seconds = None
    # Whether it has to run for a while until it is as fast as it gets.
    warms_up = False
    # Whether several threads of a process may query at once.
    threads = True
    # Whether a write fails while another thread writes, so that the program has to see to it that none does.
    one_writer = False
    # The process that holds the data.
    process_id = "self"

    def version(self):
        return importlib.metadata.version(self.name)

    def load(self, path, graph):
        """Makes a database at `path` of a graph's CSV files, ready for every query, with what it needs to find a vertex by label and id,
        and by the columns the graph says are indexed if it has such indexes."""
        raise NotImplementedError

    def open(self, path):
        """Opens the database for queries on one thread."""
        raise NotImplementedError

    def peak_memory(self):
        """Bytes, where the engine is in another process."""
        return None

    def resident_memory(self):
        """Bytes held now: all, those that are not pages of files, and those that are."""
        lines = Path(f"/proc/{self.process_id}/status").read_text().splitlines()
        held = dict(line.split(":", 1) for line in lines if line.startswith(("VmRSS", "RssAnon", "RssFile")))
        return [int(held[name].split()[0]) * 1024 for name in ("VmRSS", "RssAnon", "RssFile")]

    def serve(self, path):
        """Opens the database for queries on many threads."""
        self.open(path)

    def session(self):
        """What another thread may query through: an engine on the same database."""
        return self

    def prepare(self, text):
        """A function of the parameters, by name, that gives the rows of the query."""
        raise NotImplementedError

    def prepare_change(self, text):
        """`prepare`, for a query that changes the graph: run when it is asked and never else."""
        return self.prepare(text)

    def throughput(self, text, params, clients, seconds):
        """Queries a second that so many threads get answered."""
        return serving.throughput(self, text, params, clients, seconds)

    def latencies(self, short, heavy, seconds):
        """Wall µs of (text, params) asked by turns, and how often the heavy one beside them was answered."""
        return serving.latencies(self, short, heavy, seconds)

    def mix(self, texts, streams, writing, seconds):
        """Operations a second that so many clients get done, each from a stream of its own of (number of a text, parameters), and how many
        were refused. `writing` are the numbers of texts that change the graph."""
        return serving.mix(self, texts, streams, writing, seconds)

    def variants(self):
        """What can be switched off, by name: the arguments of open, and those of every query."""
        return {}

    def queries(self):
        """The forms of the RMAT suite's queries: functions of one parameter, which must all return the same.

        They return: point (name, age) · hop1 a list of ids, repeated ones too · hop2, hop3 the number of distinct people after exactly
        so many hops · bfs4 that of people within four hops, the first included · filter_count the number of people older than the
        parameter · group_count {age: number}.
        """
        raise NotImplementedError

    def rows(self, text):
        """`prepare`, for a query of no parameter but x."""
        run = self.prepare(text)
        if re.search(r"[$(]x\b", text):
            return lambda x: run({"x": x})
        return lambda _: run({})

    def insert_edge(self, source, target, ts, weight):
        """Adds one edge in a transaction of its own."""
        raise NotImplementedError

    def insert_batch(self, source, target, ts, weight):
        """Adds edges given as NumPy arrays, in one transaction. Returns wall and CPU seconds where the engine is in another process, else
        nothing."""
        raise NotImplementedError

    def edge_count(self):
        raise NotImplementedError

    def close(self):
        raise NotImplementedError


def disk_bytes(path):
    """What is at `path` and beside it under the same name (a WAL), on the disk."""
    path = Path(path)
    found = [p for p in path.parent.glob(path.name + "*")]
    out = subprocess.run(["du", "-sk", *map(str, found)], stdout=subprocess.PIPE, text=True, check=True).stdout
    return sum(int(line.split()[0]) for line in out.splitlines()) * 1024
