"""Regular path queries drawn as gMark draws them, beside DuckDB.

    python benches/paths/run.py [--vertices 100000 1000000] [--queries 50] [--timeout 60] [--markdown docs/paths.md]

`mangrove bench paths` makes the graph, draws the queries and counts their rows. DuckDB gets the same edges, as a table for each label, and
each query as SQL. The SQL goes as a person would write it: from what is given towards what is asked for, each variable once, a recursive
common table expression for a path that is repeated without bound. Both count distinct rows, and the counts must be equal.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import duckdb
import mangrovedb as mg

ROOT = Path(__file__).resolve().parent.parent.parent
MANGROVE = Path(sys.executable).with_name("mangrove")


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
    header = ["| vertices | queries | Mangrove, s | DuckDB, s | median ratio | Mangrove ahead | stopped: Mangrove, DuckDB |", "|---:|---|---:|---:|---:|---:|---:|"]
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    told = (f"`python benches/paths/run.py` at commit `{commit}`, {time.strftime('%Y-%m-%d')}, {os.cpu_count()} threads, DuckDB {duckdb.__version__}. Wall time; "
            f"a stopped query counts with its timeout of {options.timeout} s.")
    text = "\n".join([told, "", *header, *lines])
    print(text)
    if options.markdown:
        between(options.markdown, text)


def measure(home, vertices, options):
    """Rows of the table for one graph."""
    command = [MANGROVE, "bench", "paths", home / "graph.mg", "--vertices", vertices, "--queries", options.queries]
    out = subprocess.run([*map(str, command), "--timeout", f"{options.timeout}s", "--format", "json", "--quiet"], capture_output=True, text=True, check=True)
    queries = json.loads(out.stdout)
    peer = load(home)
    for query in queries:
        rows, seconds = timed(peer, sql(query), options.timeout)
        query["peer_rows"], query["peer_seconds"] = rows, seconds
        if None not in (rows, query["rows"]) and rows != query["rows"]:
            raise SystemExit(f"{query['query']}: {query['rows']} rows, and DuckDB counts {rows}")
        print(f"{query['shape']:10} {query['seconds']:8.3f} {seconds:8.3f} {query['rows']!s:>10} {query['query'][:100]}", file=sys.stderr, flush=True)
    lines = []
    for shape in ("linear", "branched", "recursive"):
        some = [query for query in queries if query["shape"] == shape]
        ratios = [query["peer_seconds"] / query["seconds"] for query in some]
        stopped = [sum(query[key] is None for query in some) for key in ("rows", "peer_rows")]
        lines.append(
            f"| {vertices:,} | {len(some)} {shape} | {sum(q['seconds'] for q in some):.2f} | {sum(q['peer_seconds'] for q in some):.2f} "
            f"| {statistics.median(ratios):.1f}× | {sum(ratio >= 1 for ratio in ratios)} of {len(some)} | {stopped[0]}, {stopped[1]} |"
        )
    return lines


def load(home):
    """The graph in DuckDB: a table of ids, and one of pairs of numbers for each label."""
    files = home / "files"
    mg.open(home / "graph.mg", read_only=True).export(files, "parquet")
    peer = duckdb.connect(str(home / "peer.duckdb"))
    peer.execute(f"CREATE TABLE v AS SELECT row_number() OVER () AS n, _id AS id FROM read_parquet('{files}/vertices_*.parquet', union_by_name=true)")
    for file in sorted(files.glob("edges_*.parquet")):
        label = file.stem.removeprefix("edges_")
        pairs = f"SELECT DISTINCT a.n AS s, b.n AS t FROM '{file}' e JOIN v a ON a.id = e.src JOIN v b ON b.id = e.dst ORDER BY s, t"
        peer.execute(f'CREATE TABLE "{label}" AS {pairs}')
    peer.execute("ANALYZE")
    return peer


def sequence(edges):
    """The pairs of a sequence of edges."""
    tables = [f'(SELECT t AS s, s AS t FROM "{label}")' if back else f'"{label}"' for label, back in edges]
    joins = "".join(f" JOIN {table} e{at + 1} ON e{at}.t = e{at + 1}.s" for at, table in enumerate(tables[1:]))
    return f"SELECT DISTINCT e0.s, e{len(tables) - 1}.t FROM {tables[0]} e0{joins}"


def sql(query):
    """The query as SQL that counts its rows."""
    parts = [(f"p{at}", " UNION ".join(sequence(choice) for choice in path["choices"])) for at, path in enumerate(query["paths"])]
    start = f"(SELECT n AS x, n AS y FROM v WHERE id = '{query['start']}')" if query["start"] else "(SELECT n AS x, n AS y FROM v)"
    if query["shape"] == "branched":
        last = len(parts) - 1
        exist = "".join(f" AND EXISTS (SELECT 1 FROM {name} WHERE {name}.s = a.x)" for name, _ in parts[:-1])
        tables = ", ".join(f"{name} AS ({text})" for name, text in parts)
        return f"WITH {tables} SELECT count(*) FROM (SELECT DISTINCT a.x, p{last}.t FROM {start} a JOIN p{last} ON p{last}.s = a.x WHERE true{exist})"
    tables, before = [f"r AS (SELECT * FROM {start})"], "r"
    for at, (name, text) in enumerate(parts):
        tables.append(f"{name} AS ({text})")
        if query["paths"][at]["repeated"]:
            tables.append(f"r{at} AS (SELECT x, y FROM {before} UNION SELECT r{at}.x, {name}.t FROM r{at} JOIN {name} ON r{at}.y = {name}.s)")
        else:
            tables.append(f"r{at} AS (SELECT DISTINCT {before}.x, {name}.t AS y FROM {before} JOIN {name} ON {before}.y = {name}.s)")
        before = f"r{at}"
    return f"WITH RECURSIVE {', '.join(tables)} SELECT count(*) FROM {before}"


def timed(peer, text, timeout):
    """The count and the seconds; no count if it ran too long or needed too much memory."""
    watch = threading.Timer(timeout, peer.interrupt)
    watch.start()
    begin = time.perf_counter()
    try:
        rows = peer.execute(text).fetchone()[0]
    except (duckdb.InterruptException, duckdb.OutOfMemoryException):
        return None, float(timeout)
    finally:
        watch.cancel()
    return rows, time.perf_counter() - begin


def between(page, text):
    """Puts the text between the two marks of a page."""
    begin, end = "<!-- paths: begin -->", "<!-- paths: end -->"
    head, rest = page.read_text().split(begin)
    page.write_text(f"{head}{begin}\n{text}\n{end}{rest.split(end)[1]}")


if __name__ == "__main__":
    main()
