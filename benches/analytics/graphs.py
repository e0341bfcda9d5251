"""Makes graphs: undirected, each pair of vertices once, without loops, with weights from 1 to 255."""

import sys

import numpy as np

SEED = 27


def kron(scale):
    """Graph500's Kronecker graph (A = 0.57, B = C = 0.19, 16 edges for each vertex), with vertices in random order."""
    vertices, edges = 1 << scale, 16 << scale
    rng = np.random.default_rng(SEED)
    source, target = np.zeros(edges, np.uint32), np.zeros(edges, np.uint32)
    for bit in range(scale):
        drawn = rng.random(edges, dtype=np.float32)
        source |= (drawn >= 0.76).astype(np.uint32) << bit
        target |= (((drawn >= 0.57) & (drawn < 0.76)) | (drawn >= 0.95)).astype(np.uint32) << bit
    order = rng.permutation(vertices).astype(np.uint32)
    return vertices, order[source], order[target]


def csv(path):
    import gzip

    with (gzip.open(path, "rt") if path.endswith(".gz") else open(path)) as lines:
        pairs = [line.split(",")[:2] for line in lines if line[0].isdigit()]
    found, ends = np.unique(np.array(pairs, dtype=np.int64), return_inverse=True)
    source, target = ends.reshape(-1, 2).T.astype(np.uint32)
    return len(found), source, target


def plain(file, given):
    """The count of vertices, the first vertex, and source, target and weight of each edge."""
    data = np.load(given)
    edges = np.stack([data["source"], data["target"], data["weight"]], axis=1)
    with open(file, "wb") as out:
        np.array([data["vertices"], data["first"]], dtype="<u4").tofile(out)
        edges.astype("<u4").tofile(out)
    print("{}")


def main(kind, file, given):
    if kind == "plain":
        return plain(file, given)
    vertices, source, target = kron(int(given)) if kind == "kron" else csv(given)
    kept = source != target
    low, high = np.minimum(source, target)[kept].astype(np.uint64), np.maximum(source, target)[kept].astype(np.uint64)
    pairs = np.unique(low << np.uint64(32) | high)
    source, target = (pairs >> np.uint64(32)).astype(np.int64), (pairs & np.uint64(0xFFFF_FFFF)).astype(np.int64)
    weight = np.random.default_rng(SEED).integers(1, 256, len(pairs))
    first = int(np.bincount(source, minlength=vertices).argmax())
    np.savez(file, vertices=vertices, source=source, target=target, weight=weight, first=first)
    print("{}")


if __name__ == "__main__":
    main(*sys.argv[1:])
