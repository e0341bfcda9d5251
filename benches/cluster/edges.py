"""The graph of the suites that need no other: RMAT edges with a weight and a time, and vertices with an age."""

import numpy as np

BATCH, SEED = 100_000, 1
EDGES_PER_VERTEX = 16


class Edges:
    def __init__(self, scale):
        self.scale, self.vertices = scale, 1 << scale
        chance, count = np.random.default_rng(SEED), EDGES_PER_VERTEX << scale
        self.source, self.target = rmat(scale, count, chance)
        self.weight, self.time = np.random.default_rng(SEED).random(count), np.arange(count)

    def __len__(self):
        return len(self.source)

    def __str__(self):
        return f"RMAT-{self.scale}: {self.vertices:,} vertices, {len(self):,} edges"

    def starts(self, count):
        """Vertices with edges, drawn evenly."""
        return np.random.default_rng(SEED + 1).choice(np.unique(self.source), count).tolist()

    def put_vertices(self, db):
        with db.ingest() as rows:
            for first in range(0, self.vertices, BATCH):
                ids = np.arange(first, min(first + BATCH, self.vertices))
                rows.add_vertices("n", {"~id": ids, "age": ids % 97})
        assert db.query("g.V().count()").one() == self.vertices

    def put_edges(self, db):
        with db.ingest() as rows:
            for first in range(0, len(self), BATCH):
                part = slice(first, first + BATCH)
                rows.add_edges("e", {"~from": self.source[part], "~to": self.target[part], "w": self.weight[part], "t": self.time[part]})
        assert db.query("g.E().count()").one() == len(self)

    def put(self, db):
        self.put_vertices(db)
        self.put_edges(db)


def rmat(scale, edges, chance):
    """Edges of an RMAT graph (a, b, c = 0.57, 0.19, 0.19), as two columns."""
    source, target = np.zeros(edges, np.int64), np.zeros(edges, np.int64)
    for _ in range(scale):
        draw = chance.random(edges)
        source = source * 2 + (draw >= 0.76)
        target = target * 2 + ((draw >= 0.57) & (draw < 0.76) | (draw >= 0.95))
    return source, target


def answer(db, query, x, **options):
    return sorted(map(str, db.query(query, {"x": x}, **options).to_list()))


def sent(db, query, params, **options):
    """The messages and bytes that `profile` counts: those of steps that nodes run."""
    steps = db.profile(query, params, **options).to_dict()["steps"]
    return [sum(step[name] for step in steps) for name in ("sent", "bytes")]
