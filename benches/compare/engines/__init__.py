"""The compared engines, one module each. `Engine` is their interface."""

import importlib
import importlib.metadata
import re
import subprocess
from pathlib import Path

import serving


def make(name):
    return importlib.import_module(f"engines.{name}_engine").make()


class Engine:
    """One engine, used as its own documentation recommends. Queries are prepared if it can prepare them, and parameters are
    bound."""

    name = ""
    # Whether data survive the end of the process.
    persistent = True
    # Whether a single commit is on the disk when it returns (strace shows one fdatasync or fsync per commit).
    durable = True
    # A note to show beside the results.
    note = ""
    # The files in queries/ with its texts. A later file takes precedence.
    languages = ()
    # Wall and CPU seconds of the load, if the engine runs in another process.
    load_seconds = None
    # Whether it must run for a while before it is at full speed.
    warms_up = False
    # Whether several threads of a process may query at once.
    threads = True
    # Whether a write fails while another thread writes. The program must then prevent concurrent writes.
    one_writer = False
    # Whether threads may write at the same time, or wait for each other in the engine.
    concurrent_writes = True
    # How many operations of a mix are drawn for all its clients together.
    mix_operations = 200_000
    # The process that holds the data.
    process_id = "self"

    def version(self):
        return importlib.metadata.version(self.name)

    def load(self, path, graph):
        """Creates a database at `path` from a graph's CSV files, ready for every query. It can find a vertex by label and id. If
        the engine has such indexes, it also finds vertices by the columns that the graph marks as indexed."""
        raise NotImplementedError

    def open(self, path):
        """Opens the database for queries on one thread."""
        raise NotImplementedError

    def peak_memory(self):
        """Bytes, if the engine runs in another process."""
        return None

    def resident_memory(self):
        """Bytes in memory now: all, those that are not pages of files, and those that are."""
        lines = Path(f"/proc/{self.process_id}/status").read_text().splitlines()
        held = dict(line.split(":", 1) for line in lines if line.startswith(("VmRSS", "RssAnon", "RssFile")))
        return [int(held[name].split()[0]) * 1024 for name in ("VmRSS", "RssAnon", "RssFile")]

    def serve(self, path):
        """Opens the database for queries on many threads."""
        self.open(path)

    def session(self):
        """An engine on the same database, for another thread."""
        return self

    def prepare(self, text):
        """A function that takes the parameters by name and returns the rows of the query."""
        raise NotImplementedError

    def prepare_change(self, text):
        """Like `prepare`, for a query that changes the graph. It must run only when the function is called."""
        return self.prepare(text)

    def throughput(self, text, params, clients, seconds):
        """Queries per second that `clients` threads complete together."""
        return serving.throughput(self, text, params, clients, seconds)

    def latencies(self, short, heavy, seconds):
        """Wall µs of each (text, params), run in turn, and how often the heavy query beside them completed."""
        return serving.latencies(self, short, heavy, seconds)

    def mix(self, texts, streams, writing, seconds):
        """Operations per second that the clients complete, and how many were refused. Each client takes operations (number of a
        text, parameters) from a stream of its own. `writing` holds the numbers of texts that change the graph."""
        return serving.mix(self, texts, streams, writing, seconds)

    def variants(self):
        """Parts that can be switched off, by name: the arguments of open, and those of every query."""
        return {}

    def queries(self):
        """The forms of the RMAT suite's queries: functions of one parameter. All forms of a query must return the same.

        They return: point (name, age) · hop1 a list of ids, repeated ones too · hop2, hop3 the number of distinct people after
        exactly two or three hops · bfs4 the number of people within four hops, the start included · filter_count the number of
        people older than the parameter · group_count {age: number}.
        """
        raise NotImplementedError

    def rows(self, text):
        """Like `prepare`, for a query whose only parameter is x."""
        run = self.prepare(text)
        if re.search(r"[$(]x\b", text):
            return lambda x: run({"x": x})
        return lambda _: run({})

    def insert_edge(self, source, target, ts, weight):
        """Adds one edge in a transaction of its own."""
        raise NotImplementedError

    def insert_batch(self, source, target, ts, weight):
        """Adds edges from NumPy arrays in one transaction. Returns wall and CPU seconds if the engine runs in another process,
        otherwise None."""
        raise NotImplementedError

    def edge_count(self):
        raise NotImplementedError

    def close(self):
        raise NotImplementedError


def disk_bytes(path):
    """The bytes on the disk of `path`, and of files beside it with the same name (a WAL)."""
    path = Path(path)
    found = [p for p in path.parent.glob(path.name + "*")]
    out = subprocess.run(["du", "-sk", *map(str, found)], stdout=subprocess.PIPE, text=True, check=True).stdout
    return sum(int(line.split()[0]) for line in out.splitlines()) * 1024
