#!/usr/bin/env python3
"""Measures what bounds an algorithm that reads the values of neighbours: how fast memory streams, and how fast it gives single values.

    python benches/analytics/bounds.py                       one thread, with NumPy
    python benches/analytics/bounds.py --graph kron20.npz    also in the order in which that graph's vertices read their neighbours
"""

import argparse
import time

import numpy as np

RUNS = 5


def best(work):
    times = []
    for _ in range(RUNS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", help="a graph that run.py has made")
    options = parser.parse_args()
    a, b, c = (np.ones(1 << 25) for _ in range(3))
    print(f"streams {3 * a.nbytes / best(lambda: np.add(a, b, out=c)) / 1e9:.1f} GB/s")
    del a, b, c
    places = np.random.default_rng(1).integers(0, 1 << 20, 1 << 25)
    gather("random places of 8 MB", np.ones(1 << 20), places)
    if options.graph:
        data = np.load(options.graph)
        readers = np.concatenate((data["source"], data["target"]))
        read = np.concatenate((data["target"], data["source"]))
        gather("the neighbours of its vertices, vertex by vertex", np.ones(int(data["vertices"])), read[np.lexsort((read, readers))])


def gather(name, values, places):
    out = np.empty(len(places))
    seconds = best(lambda: np.take(values, places, out=out, mode="clip"))
    print(f"{name}: {len(places) / seconds / 1e6:,.0f} M values/s")


if __name__ == "__main__":
    main()
