"""Regular path queries drawn as gMark draws them, beside DuckDB and Oxigraph.

    python -m pip install -r benches/paths/requirements.txt
    python benches/paths/run.py [--vertices 100000 1000000] [--queries 50] [--timeout 60] [--markdown docs/paths.md]

`mangrove bench paths` makes the graph, draws the queries and counts their rows. The peers get the same edges, and each query in their language.
All count distinct rows, and the counts must be equal.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import mangrovedb as mg
from duckdb_peer import DuckDb
from oxigraph_peer import Oxigraph

ROOT = Path(__file__).resolve().parent.parent.parent
MANGROVE = Path(sys.executable).with_name("mangrove")
PEERS = (DuckDb, Oxigraph)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vertices", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--timeout", type=int, default=60, help="seconds for a query")
    parser.add_argument("--markdown", type=Path, help="also rewrite the table in this page")
    options = parser.parse_args()
    lines = []
    for vertices in options.vertices:
        with tempfile.TemporaryDirectory() as home:
            lines += measure(Path(home), vertices, options)
    names = ["Mangrove", *(peer.name for peer in PEERS)]
    peers = "".join(f" {name}, s (CPU s) | median ratio | Mangrove ahead |" for name in names[1:])
    header = [f"| vertices | queries | Mangrove, s |{peers} stopped: {', '.join(names)} |", "|---:|---|---:|" + "---:|---:|---:|" * len(PEERS) + "---:|"]
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    versions = ", ".join(f"{peer.name} {peer.version}" for peer in PEERS)
    told = (f"`python benches/paths/run.py` at commit `{commit}`, {time.strftime('%Y-%m-%d')}, {versions}. Mangrove and DuckDB use {os.cpu_count()} threads, "
            f"Oxigraph one. Wall time, and in parentheses CPU time. A stopped query counts with its timeout of {options.timeout} s.")
    text = "\n".join([told, "", *header, *lines])
    print(text)
    if options.markdown:
        between(options.markdown, text)


def measure(home, vertices, options):
    """Rows of the table for one graph."""
    command = [MANGROVE, "bench", "paths", home / "graph.mg", "--vertices", vertices, "--queries", options.queries]
    out = subprocess.run([*map(str, command), "--timeout", f"{options.timeout}s", "--format", "json", "--quiet"], capture_output=True, text=True, check=True)
    queries = json.loads(out.stdout)
    mg.open(home / "graph.mg", read_only=True).export(home / "files", "parquet")
    for peer in PEERS:
        ask(peer(), home, queries, options.timeout)
    shapes = ("linear", "branched", "recursive")
    return [row(vertices, shape, [query for query in queries if query["shape"] == shape]) for shape in shapes]


def ask(peer, home, queries, timeout):
    """Loads the graph into a peer, and notes with each query what it counts and how long that takes."""
    begin = time.perf_counter()
    peer.load(home)
    print(f"{peer.name} loaded the graph in {time.perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)
    for query in queries:
        rows, seconds, cpu = query[peer.name] = peer.count(query, timeout)
        if None not in (rows, query["rows"]) and rows != query["rows"]:
            raise SystemExit(f"{query['query']}: {query['rows']} rows, and {peer.name} counts {rows}")
        told = f"{query['shape']:10} {query['seconds']:8.3f} {seconds:8.3f} {cpu:8.3f} {query['rows']!s:>10} {query['query'][:100]}"
        print(told, file=sys.stderr, flush=True)
    peer.close()


def row(vertices, shape, queries):
    """A row of the table: the queries of a shape."""
    cells = [f"{vertices:,}", f"{len(queries)} {shape}", f"{sum(query['seconds'] for query in queries):.2f}"]
    stopped = [sum(query["rows"] is None for query in queries)]
    for peer in PEERS:
        rows, seconds, cpu = zip(*(query[peer.name] for query in queries))
        ratios = [theirs / query["seconds"] for theirs, query in zip(seconds, queries)]
        ahead = f"{sum(ratio >= 1 for ratio in ratios)} of {len(queries)}"
        cells += [f"{sum(seconds):.2f} ({sum(cpu):.2f})", f"{statistics.median(ratios):.1f}×", ahead]
        stopped.append(rows.count(None))
    return f"| {' | '.join(cells)} | {', '.join(map(str, stopped))} |"


def between(page, text):
    """Puts the text between the two marks of a page."""
    begin, end = "<!-- paths: begin -->", "<!-- paths: end -->"
    head, rest = page.read_text().split(begin)
    page.write_text(f"{head}{begin}\n{text}\n{end}{rest.split(end)[1]}")


if __name__ == "__main__":
    main()
