"""The engines compared, one a module. What each has to offer is in `Engine`."""

import importlib
import importlib.metadata
import subprocess
from pathlib import Path

NAMES = ("mangrove", "kuzu", "ladybug", "neug", "grafeo", "duckdb", "networkx")

# In the order they are measured.
QUERIES = ("point", "hop1", "hop2", "hop3", "bfs4", "filter_count", "group_count")


def make(name):
    return importlib.import_module(f"engines.{name}_engine").make()


class Engine:
    """One engine, written to as its own documentation recommends, queries prepared where it can prepare, parameters bound.

    `queries` gives for each of QUERIES one or more functions of one parameter, which must all return the same; the runner
    takes the fastest. They return: point (name, age) · hop1 a list of ids, repeated ones too · hop2, hop3 the number of distinct
    people after exactly so many hops · bfs4 that of people within four hops, the first included · filter_count the number of
    people older than the parameter · group_count {age: number}.
    """

    name = ""
    # Whether the data outlive the process.
    persistent = True
    # Whether a single commit is on the disk when it returns (seen with strace: one fdatasync or fsync a commit).
    durable = True
    # Said beside the results.
    note = ""

    def version(self):
        return importlib.metadata.version(self.name)

    def load(self, path, people, knows):
        """Makes a database at `path` of two CSV files, ready for every query, with what it needs to find a person by id."""
        raise NotImplementedError

    def open(self, path):
        """Opens the database for queries on one thread."""
        raise NotImplementedError

    def queries(self):
        raise NotImplementedError

    def insert_edge(self, source, target, ts, weight):
        """Adds one edge in a transaction of its own."""
        raise NotImplementedError

    def insert_batch(self, source, target, ts, weight):
        """Adds edges given as NumPy arrays, in one transaction."""
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
