"""Streams of operations in the proportions of TAO and of LinkBench (ZipG, Table 2), and single writes.

Users are drawn by Zipf's law. For operations on edges, users with more edges are more frequent (skew 0.8 for reads, 0.741 for
writes). For operations on users, the order is independent of the edges (0.625 and 0.606). Edge labels are drawn evenly. A stream
deletes only objects that it has added itself, so the other operations still find theirs. A stream never lacks what an operation
needs.
"""

from itertools import count as numbers

import numpy as np

from tao import BEGIN, PAYLOAD_BYTES, PROPERTIES, SPAN, TYPES, Lists
from tao_answers import WINDOW

MIXES = {
    "TAO": {"assoc_range": 40.8, "obj_get": 28.8, "assoc_get": 15.7, "assoc_count": 11.7, "assoc_time_range": 2.8, "assoc_add": 0.1,
            "obj_update": 0.04, "obj_add": 0.03, "assoc_del": 0.02, "obj_del": 0.01, "assoc_update": 0.01},
    "LinkBench": {"assoc_range": 50.6, "obj_get": 12.9, "assoc_get": 0.52, "assoc_count": 4.9, "assoc_time_range": 0.15, "assoc_add": 9.0,
                  "obj_update": 7.4, "obj_add": 2.6, "assoc_del": 3.0, "obj_del": 1.0, "assoc_update": 8.0},
}
WRITES = ("obj_add", "obj_update", "assoc_add", "assoc_update", "assoc_del")
CHANGES = (*WRITES, "obj_del")
SKEWS = {"assoc read": 0.8, "assoc write": 0.741, "obj read": 0.625, "obj write": 0.606}
FIRST_NEW, NEW_EACH = 1_000_000_000, 1_000_000


class Operations:
    """Draws streams of operations on the data of a folder."""

    def __init__(self, folder):
        self.source, self.type, self.target, self.ts = np.load(folder / "edges.npy").T
        with (folder / "users.csv").open() as file:
            self.users = sum(1 for _ in file) - 1
        self.lists = Lists(self.source, self.type, self.users)
        self.by_degree = np.argsort(-self.lists.degrees(), kind="stable")
        self.by_fame = np.random.default_rng(1).permutation(self.users)

    def stream(self, shares, count, seed):
        """A stream of `count` operations, each (op, edge label, parameters). The label is empty if the op does not concern edges of
        one label. Streams with different seeds add different users."""
        rng = np.random.default_rng(seed)
        weights = np.array(list(shares.values()))
        drawn = rng.choice(len(shares), count, p=weights / weights.sum()).tolist()
        ranks = {use: zipf(rng, self.users, skew, count) for use, skew in SKEWS.items()}
        users = {use: (self.by_degree if use.startswith("assoc") else self.by_fame)[rank].tolist() for use, rank in ranks.items()}
        labels, others = rng.integers(0, len(TYPES), count).tolist(), rng.integers(0, self.users, count).tolist()
        moments = (BEGIN + (SPAN * rng.random(count))).astype(np.int64).tolist()
        new, added, names = numbers(FIRST_NEW + seed * NEW_EACH), [], list(shares)
        for at, number in enumerate(drawn):
            op = names[number]
            if op == "obj_del" and not added:
                op = "obj_add"
            use = f"{op.partition('_')[0]} {'write' if op in CHANGES else 'read'}"
            x, label, other = users[use][at], labels[at], others[at]
            if op == "obj_get":
                yield op, "", {"x": x}
            elif op == "obj_add":
                added.append(next(new))
                yield op, "", self.new_user(added[-1])
            elif op == "obj_del":
                yield op, "", {"x": added.pop()}
            elif op == "obj_update":
                yield op, "", {"x": x, "status": f"what user {x} does now at {seed}:{at}", "updated": moments[at], "last_seen": moments[at]}
            elif op in ("assoc_range", "assoc_count"):
                yield op, TYPES[label], {"x": x}
            elif op == "assoc_get":
                yield op, TYPES[label], {"x": x, "ids": [*self.target[self.lists.of(x, label)[:3]].tolist(), other]}
            elif op == "assoc_time_range":
                yield op, TYPES[label], {"x": x, "lo": moments[at] - WINDOW, "hi": moments[at]}
            elif op == "assoc_add":
                yield op, TYPES[label], {"x": x, "y": other, "ts": BEGIN + SPAN + at, "payload": payload("added", seed, at)}
            else:
                there = self.lists.of(x, label)
                edge = int(there[other % len(there)] if len(there) else other % len(self.source))
                ends = {"x": int(self.source[edge]), "y": int(self.target[edge])}
                more = {"payload": payload("changed", seed, at)} if op == "assoc_update" else {}
                yield op, TYPES[self.type[edge]], ends | more

    def new_user(self, x):
        values = {"int": x % 1000, "float": 1.0}
        return {"x": x} | {key: values.get(kind, f"the {key} of {x}") for key, kind in PROPERTIES.items()}


def payload(what, seed, at):
    return f"{what}:{seed}:{at}:".ljust(PAYLOAD_BYTES, ".")


def zipf(rng, below, skew, count):
    """Ranks, drawn by the inverse of the continuous law."""
    return (below * rng.random(count) ** (1 / (1 - skew))).astype(np.int64)


def look(op, label, params):
    """A read that shows whether a write was done, and a value that its answer must have. None means that the answer must be
    empty."""
    x = params["x"]
    if op == "obj_add":
        return "obj_get", "", {"x": x}, params["token"]
    if op == "obj_update":
        return "obj_get", "", {"x": x}, params["status"]
    return "assoc_get", label, {"x": x, "ids": [params["y"]]}, params.get("payload")
