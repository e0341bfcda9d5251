"""Layouts of real and planted graphs, beside recursive METIS.

    python benches/layout/run.py [--edges DIR] [--snb DIR] [--markdown docs/layout.md]

Measures a planted graph, and those of `--edges`. That directory holds one edge list for each graph: `NAME.csv.gz`, with a header and two
columns of numbers. `--snb` adds LDBC's social network, from its own tables. METIS orders vertices of one label only, so it is left out there.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import mangrovedb as mg
import numpy as np
from shared import ROOT, between, described, read

LAYOUTS = ("community", "partition", "degree", "bfs")
# Leaves of METIS's tree are this small, and are then ordered greedily.
LEAF = 64
# The planted graph: as many people and friendships as in the thesis's Facebook graph of New Orleans, in communities.
PEOPLE, FRIENDSHIPS, COMMUNITY, INSIDE = 63_731, 817_090, 130, 0.7


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=Path, help="directory of edge lists")
    parser.add_argument("--snb", type=Path, help="directory of LDBC's tables")
    parser.add_argument("--markdown", type=Path, help="also rewrite the table in this page")
    options = parser.parse_args()
    lines = snb(options.snb) if options.snb else []
    for file in sorted(options.edges.glob("*.csv.gz")) if options.edges else []:
        lines += rows(file.name.removesuffix(".csv.gz"), read(file))
    lines += rows("planted", planted())
    text = "\n".join(["| graph | order | cost | bits an edge | blocks a list | found at, edges/s |", "|---|---|---:|---:|---:|---:|", *lines])
    text = f"{described('python benches/layout/run.py --edges DIR --snb DIR')}\n\n{text}"
    print(text)
    if options.markdown:
        between(options.markdown, "layouts", "run.py", text)


def planted():
    rng = np.random.default_rng(5)
    names = rng.permutation(PEOPLE)
    source = rng.integers(PEOPLE, size=FRIENDSHIPS)
    first = source // COMMUNITY * COMMUNITY
    inside = first + rng.integers(COMMUNITY, size=FRIENDSHIPS) % np.minimum(COMMUNITY, PEOPLE - first)
    target = np.where(rng.random(FRIENDSHIPS) < INSIDE, inside, rng.integers(PEOPLE, size=FRIENDSHIPS))
    return np.stack([names[source], names[target]], axis=1)


def rows(name, edges):
    """The rows of a graph. Vertices are loaded in the order of their numbers."""
    ids = np.unique(edges)
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        db = loaded(home / "db", ids, edges)
        orders = measured(db, home)
        started = time.perf_counter()
        order = metis(ids, edges)
        seconds = time.perf_counter() - started
        orders["METIS"] = (loaded(home / "metis", ids[order], edges).layouts()["now"], seconds)
    links = len(np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0))
    return shown(name, orders, len(ids), links)


def snb(tables):
    """The rows of LDBC's social network: all its labels together."""
    sys.path.insert(0, str(ROOT / "benches/compare"))
    import pyarrow.csv
    import snb

    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        snb.convert(tables, home)
        graph = snb.describe(home)
        nodes = {table.label: pyarrow.csv.read_csv(home / table.file) for table in graph.vertices}
        edges = {(table.source, table.label, table.target): pyarrow.csv.read_csv(home / table.file) for table in graph.edges}
        with mg.open(home / "db", durability="relaxed", id_space="label") as db:
            loaded = db.load(nodes=nodes, edges=edges, compact=True, progress=False)
            orders = measured(db, home)
    # Every edge counts as a link.
    return shown("ldbc-snb-sf0.1", orders, sum(loaded["vertices"].values()), sum(loaded["edges"].values()))


def measured(db, home):
    """What each order gives, and the seconds that it took to find."""
    orders = {"as loaded": (db.layouts()["now"], None)}
    for layout, ties in (*((layout, "uniform") for layout in LAYOUTS), ("community", "preferential"), ("community", "overlap")):
        name = layout if ties == "uniform" else f"{layout}, {ties}"
        report = db.relayout(home / name, layout, ties=ties, progress=False)["layout"]
        orders[name] = (report["after"], report["seconds"])
    return orders


def shown(name, orders, vertices, links):
    first = orders["as loaded"][0]["cost"]
    print(f"{name}: {vertices:,} vertices, {links:,} links", file=sys.stderr)
    out = []
    for order, (found, seconds) in orders.items():
        cost = f"{found['cost'] / 1e6:,.0f} M" if order == "as loaded" else f"{100 * (found['cost'] / first - 1):+.0f}%"
        speed = f"{links / seconds / 1e6:.2f} M" if seconds else ""
        out.append(f"| {name if order == 'as loaded' else ''} | {order} | {cost} | {found['bits_per_edge']:.2f} | {found['blocks_per_list']:.2f} | {speed} |")
    return out


def loaded(path, ids, edges):
    db = mg.open(path, durability="relaxed")
    db.load(nodes={"v": {"~id": ids}}, edges={("v", "e", "v"): {"from": edges[:, 0], "to": edges[:, 1]}}, compact=True, progress=False)
    return db


def metis(ids, edges):
    """Positions in `ids` by recursive bisection, and greedily within its leaves."""
    import pymetis

    ends = np.searchsorted(ids, edges)
    ends = ends[ends[:, 0] != ends[:, 1]]
    both = np.unique(np.concatenate([ends, ends[:, ::-1]]), axis=0)
    starts = np.concatenate([[0], np.cumsum(np.bincount(both[:, 0], minlength=len(ids)))])
    leaves = max(2, len(ids) // LEAF)
    graph = pymetis.CSRAdjacency(adj_starts=starts, adjacent=both[:, 1])
    _, parts = pymetis.part_graph(leaves, adjacency=graph, recursive=True)
    members = [[] for _ in range(leaves)]
    for vertex, part in enumerate(parts):
        members[part].append(vertex)
    lists = np.split(both[:, 1], starts[1:-1])
    return [vertex for part in members for vertex in greedy(part, lists)]


def greedy(part, lists):
    """The next vertex is the one most tied to those placed, on the side that is nearer to them."""
    inside = set(part)
    ties = {vertex: [other for other in lists[vertex].tolist() if other in inside] for vertex in part}
    placed, left, right = {}, [], []
    tied = dict.fromkeys(part, 0)
    while tied:
        vertex = max(tied, key=lambda vertex: (tied[vertex] / max(1, len(ties[vertex])), len(ties[vertex])))
        near = [placed[other] for other in ties[vertex] if other in placed]
        is_left = bool(near) and sum(near) / len(near) < (len(right) - len(left)) / 2
        (left if is_left else right).append(vertex)
        placed[vertex] = -len(left) if is_left else len(right)
        del tied[vertex]
        for other in ties[vertex]:
            if other in tied:
                tied[other] += 1
    return left[::-1] + right


if __name__ == "__main__":
    main()
