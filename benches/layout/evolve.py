"""How a layout fares while the graph grows.

    python benches/layout/evolve.py --edges DIR [--markdown docs/layout.md]

Vertices arrive in random order, each with its links to those that are there. Half of the graph is loaded in the order `community`. The rest
comes later, a tenth of the vertices at a time, and lies behind. Beside it: the same graph in the order of arrival, and written anew.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import mangrovedb as mg
import numpy as np
from shared import between, described, read

SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
MEASURES = (("distance", "distance"), ("bits_per_edge", "bits an edge"), ("blocks_per_list", "blocks a list"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=Path, required=True, help="directory of edge lists")
    parser.add_argument("--markdown", type=Path, help="also rewrite the table in this page")
    options = parser.parse_args()
    lines = ["| graph | measure | order | " + " | ".join(f"{share:.0%}" for share in SHARES) + " |", "|---|---|---|" + "---:|" * len(SHARES)]
    for file in sorted(options.edges.glob("*.csv.gz")):
        lines += rows(file.name.removesuffix(".csv.gz"), read(file))
    text = "\n".join([described("python benches/layout/evolve.py --edges DIR"), "", *lines])
    print(text)
    if options.markdown:
        between(options.markdown, "growth", "evolve.py", text)


def rows(name, edges):
    ids = np.random.default_rng(3).permutation(np.unique(edges))
    arrival = np.empty(ids.max() + 1, dtype=np.int64)
    arrival[ids] = np.arange(len(ids))
    edges = edges[np.argsort(arrival[edges].max(axis=1), kind="stable")]
    last = arrival[edges].max(axis=1)
    found = []
    with tempfile.TemporaryDirectory() as home, mg.open(Path(home) / "laid out", durability="relaxed") as db, mg.open(Path(home) / "arrival", durability="relaxed") as arrived:
        before = 0
        for share in SHARES:
            now = int(len(ids) * share)
            some = edges[np.searchsorted(last, before) : np.searchsorted(last, now)]
            tables = {"nodes": {"v": {"~id": ids[before:now]}}, "edges": {("v", "e", "v"): {"from": some[:, 0], "to": some[:, 1]}}}
            db.load(**tables, layout="community" if before == 0 else "none", progress=False)
            arrived.load(**tables, progress=False)
            orders = db.layouts()
            found.append((arrived.layouts()["now"], orders["now"], orders["community"]))
            print(name, share, *found[-1], file=sys.stderr)
            before = now
    out = []
    for key, measure in MEASURES:
        for at, order in enumerate(("as they arrive", "laid out at half", "written anew")):
            values = [orders[at][key] for orders in found]
            cells = [f"{value:,.0f}" if key == "distance" else f"{value:.2f}" for value in values]
            out.append(f"| {name if not out else ''} | {measure if at == 0 else ''} | {order} | " + " | ".join(cells) + " |")
    return out


if __name__ == "__main__":
    main()
