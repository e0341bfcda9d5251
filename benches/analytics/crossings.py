"""Counts the values that cross between partitions. `python crossings.py DATA PARTITIONS…` prints JSON."""

import json
import sys

import numpy as np
from engines.mangrove import database

import mangrovedb as mg


def main(file, given):
    data = np.load(file)
    vertices, source, target = int(data["vertices"]), data["source"], data["target"]
    db = mg.open(database(data, file), read_only=True)
    rows = []
    for partitions in map(int, given.split(",")):
        owner = owners(np.arange(vertices), partitions)
        there = owner[source] != owner[target]
        readers = pairs(source[there], owner[target][there], partitions)
        sent = db.analyze.pagerank(iterations=0, partitions=partitions).summary["values_sent"]
        assert sent == len(readers), (sent, len(readers))
        around = pairs(np.concatenate((source[there], target[there])), np.concatenate((owner[target][there], owner[source][there])), partitions)
        of_edge = owners((source * 2_654_435 + target) & 0xFFFF_FFFF, partitions)
        replicas = pairs(np.concatenate((source, target)), np.concatenate((of_edge, of_edge)), partitions)
        out, every = np.bincount(source, minlength=vertices), np.bincount(np.concatenate((source, target)), minlength=vertices)
        reached = lambda degrees: 1 - (1 - 1 / partitions) ** degrees
        counts = {
            "LFGraph": (len(readers), ((partitions - 1) * reached(out)).sum()),
            "GraphLab": (len(around), ((partitions - 1) * reached(every)).sum()),
            "PowerGraph": (2 * (len(replicas) - (every > 0).sum()), 2 * (partitions * reached(every) - (every > 0)).sum()),
            "Pregel": (there.sum(), (out * (1 - 1 / partitions)).sum()),
        }
        edges, received = np.bincount(owner[target], minlength=partitions), np.bincount(readers % partitions, minlength=partitions)
        row = {rule: {"counted": counted / vertices, "expected": expected / vertices} for rule, (counted, expected) in counts.items()}
        rows.append({"partitions": partitions, **row, "edges": edges.max() / edges.mean(), "received": received.max() / received.mean()})
    print(json.dumps({"about": f"{vertices:,} vertices, {len(source):,} edges", "rows": rows}, default=float))


def owners(numbers, partitions):
    """As `Placement::Hashed` places vertices."""
    return (((numbers.astype(np.uint64) * 0x9E37_79B1) & 0xFFFF_FFFF) * partitions >> 32).astype(np.int64)


def pairs(vertices, owners, partitions):
    """Each vertex with each owner once."""
    return np.unique(vertices * partitions + owners)


if __name__ == "__main__":
    main(*sys.argv[1:])
