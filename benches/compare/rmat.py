"""The benchmark's data: an RMAT graph of people who know each other, written as CSV, with parameters and the right answers.

    person.csv   id,name,age           2^scale people, names of 32 characters, ages 18 to 89
    knows.csv    src,dst,ts,weight     16 edges a person (Graph500's 0.57, 0.19, 0.19, 0.05; no loops; repeated pairs stay)
    edges.bin    the same edges as pairs of little-endian uint32, for the raw store
    params.json  the parameters of the queries, and the right answers

Everything follows from the scale and a fixed seed. Starting points of hops are drawn evenly from the people who know anyone, so the
graph's own skew decides how much work they are. NumPy computes the answers here, not an engine.
"""

import hashlib
import json
from pathlib import Path

import numpy as np

from graph import FLOAT, INT, TEXT, Edges, Graph, Vertices
from graph import write as write_rows

SEED = 20_240_229
EDGES_PER_VERTEX = 16
AGES = (18, 90)
POINTS, SHALLOW, DEEP, FILTERS = 1_000, 200, 40, 10
BATCH, BATCHES, SINGLES = 100_000, 5, 2_000

PERSON = Vertices("Person", {"id": INT, "name": TEXT, "age": INT}, name="person")
KNOWS = Edges("Person", "knows", "Person", {"ts": INT, "weight": FLOAT}, name="knows")
OPS = ("point", "hop1", "hop2", "hop3", "bfs4", "filter_count", "group_count")


def describe(folder):
    return Graph(Path(folder), (PERSON,), (KNOWS,))


def ensure(directory, scale):
    """Writes the data set unless it exists. Returns its folder."""
    folder = Path(directory) / f"rmat-{scale}"
    if not (folder / "params.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        write(folder, scale)
    return folder


def write(folder, scale):
    rng = np.random.default_rng(SEED + scale)
    count = 1 << scale
    source, target = rmat(rng, scale, EDGES_PER_VERTEX * count)
    age = rng.integers(*AGES, size=count)
    ts = 1_600_000_000 + rng.permutation(len(source))
    weight = np.round(rng.random(len(source)), 4)
    write_rows(folder, PERSON, ((v, name(v), a) for v, a in enumerate(age.tolist())))
    write_rows(folder, KNOWS, zip(source.tolist(), target.tolist(), ts.tolist(), weight.tolist()))
    np.stack([source, target], axis=1).astype("<u4").tofile(folder / "edges.bin")
    (folder / "params.json").write_text(json.dumps(parameters(rng, source, target, age)))


def rmat(rng, scale, count):
    """`count` edges between 2^scale vertices. The ids are shuffled, so that they do not reveal the degree."""
    source, target = np.zeros(count, np.int64), np.zeros(count, np.int64)
    pending = np.arange(count)
    while len(pending):
        s, t = np.zeros(len(pending), np.int64), np.zeros(len(pending), np.int64)
        for _ in range(scale):
            r = rng.random(len(pending))
            s = 2 * s + (r >= 0.76)
            t = 2 * t + (((r >= 0.57) & (r < 0.76)) | (r >= 0.95))
        source[pending], target[pending] = s, t
        pending = pending[s == t]
    shuffled = rng.permutation(1 << scale)
    return shuffled[source], shuffled[target]


def name(vertex):
    return hashlib.blake2b(str(vertex).encode(), digest_size=16).hexdigest()


def parameters(rng, source, target, age):
    graph = Neighbours(source, target, len(age))
    knowing = np.flatnonzero(np.diff(graph.offsets))
    points = rng.choice(len(age), POINTS).tolist()
    shallow = rng.choice(knowing, SHALLOW).tolist()
    deep = shallow[:DEEP]
    ages = rng.integers(*AGES, size=FILTERS).tolist()
    counts = np.bincount(age)
    return {
        "vertices": len(age),
        "edges": len(source),
        "params": {"point": points, "hop1": shallow, "hop2": shallow, "hop3": deep, "bfs4": deep, "filter_count": ages,
                   "group_count": [None] * 5},
        "answers": {
            "point": [[name(v), int(age[v])] for v in points],
            "hop1": [digest(graph.of([v])) for v in shallow],
            "hop2": [len(graph.hops(v, 2)) for v in shallow],
            "hop3": [len(graph.hops(v, 3)) for v in deep],
            "bfs4": [len(graph.within(v, 4)) for v in deep],
            "filter_count": [int((age > a).sum()) for a in ages],
            "group_count": [{str(a): int(n) for a, n in enumerate(counts) if n}] * 5,
        },
    }


class Neighbours:
    """Outgoing edges by vertex."""

    def __init__(self, source, target, vertices):
        order = np.argsort(source, kind="stable")
        self.targets = target[order]
        self.offsets = np.searchsorted(source[order], np.arange(vertices + 1))

    def of(self, vertices):
        return np.concatenate([self.targets[self.offsets[v]:self.offsets[v + 1]] for v in vertices])

    def hops(self, vertex, depth):
        frontier = np.array([vertex])
        for _ in range(depth):
            frontier = np.unique(self.of(frontier)) if len(frontier) else frontier
        return frontier

    def within(self, vertex, depth):
        """The vertex and all vertices within `depth` hops of it."""
        seen = frontier = np.array([vertex])
        for _ in range(depth):
            frontier = np.setdiff1d(self.of(frontier), seen) if len(frontier) else frontier
            seen = np.union1d(seen, frontier)
        return seen


def digest(neighbours):
    """A digest of a list of neighbours that does not depend on its order."""
    ids = np.sort(np.asarray(neighbours, dtype=np.int64))
    return [len(ids), hashlib.blake2b(ids.tobytes(), digest_size=8).hexdigest()]


def canonical(op, got):
    """An engine's answer in the form of params.json."""
    if op == "point":
        return list(got)
    if op == "hop1":
        return digest(got)
    if op == "group_count":
        return {str(age): count for age, count in got.items()}
    return got


def new_edges(vertices, count, seed):
    """Edges to insert, as arrays source, target, ts, weight."""
    rng = np.random.default_rng(SEED + seed)
    source, target = rng.integers(0, vertices, count), rng.integers(0, vertices, count)
    return source, target, 1_700_000_000 + np.arange(count), np.round(rng.random(count), 4)
