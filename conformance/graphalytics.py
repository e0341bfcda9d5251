#!/usr/bin/env python3
"""Judges Mangrove by LDBC Graphalytics' validation graphs and reference outputs: six algorithms, directed and undirected.

    python conformance/graphalytics.py FOLDER

FOLDER holds the folders `bfs`, `cdlp`, `lcc`, `pr`, `sssp` and `wcc`, each with `dir-input`, `dir-output`, `undir-input` and
`undir-output`, and `example` with the two example graphs, as LDBC publishes them. Each graph is asked as written, compressed, and as a
lake of open files, on one thread and on two. Outputs must be equal; those of `pr`, `sssp` and `lcc` within 0.0001 of the right one.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import mangrovedb as mg

UNREACHED = {"9223372036854775807", "infinity", "Infinity", "inf"}
# The parameters of LDBC's own tests, which ask PageRank of the undirected graph for more iterations.
PARAMETERS = {"bfs": {"source": 1}, "cdlp": {"iterations": 5}, "lcc": {}, "pr": {"iterations": 14}, "sssp": {"source": 1}, "wcc": {}}
EXAMPLE = {"cdlp": {"iterations": 2}, "lcc": {}, "pr": {"iterations": 2}, "wcc": {}}
EXAMPLE_SOURCE = {"directed": 1, "undirected": 2}
UNDIRECTED_PR = {"iterations": 26}
NEAR = ("pr", "sssp", "lcc")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    passed, failed = 0, []
    for name, directed, graph, questions in graphs(folder):
        with tempfile.TemporaryDirectory() as scratch:
            for form, db in forms(Path(scratch), *graph):
                for algorithm, parameters, expected in questions:
                    for threads in (1, 2):
                        wrong = difference(db, algorithm, parameters, directed, threads, expected)
                        passed += wrong is None
                        if wrong:
                            failed.append(f"{name} {algorithm} ({form}, threads={threads}): {wrong}")
    print("\n".join(failed), f"{passed} outputs agree, {len(failed)} differ", sep="\n")
    return 1 if failed or not passed else 0


def graphs(folder):
    """Each graph: its name, whether it is directed, its vertices and edges, and the questions with their answers."""
    for algorithm in PARAMETERS:
        for kind in ("dir", "undir"):
            parameters = UNDIRECTED_PR if (algorithm, kind) == ("pr", "undir") else PARAMETERS[algorithm]
            work = folder / algorithm
            if (work / f"{kind}-input.v").exists():
                graph = tables(work / f"{kind}-input.v", work / f"{kind}-input.e")
            else:
                graph = lists(work / f"{kind}-input", kind == "dir")
            yield f"{algorithm}/{kind}", kind == "dir", graph, [(algorithm, parameters, answers(work / f"{kind}-output"))]
    for kind in ("directed", "undirected"):
        work = folder / "example"
        graph = tables(work / f"example-{kind}.v", work / f"example-{kind}.e")
        source = {"source": EXAMPLE_SOURCE[kind]}
        parameters = {**EXAMPLE, "bfs": source, "sssp": source}
        asked = [(name, one, answers(work / f"example-{kind}-{name.upper()}")) for name, one in parameters.items()]
        yield f"example-{kind}", kind == "directed", graph, asked


def words(path):
    return [line.split() for line in path.read_text().splitlines() if line.split() and not line.startswith("#")]


def tables(vertices, edges):
    ends = [(int(row[0]), int(row[1]), float(row[2]) if len(row) > 2 else 1.0) for row in words(edges)]
    return [int(row[0]) for row in words(vertices)], ends


def lists(path, directed):
    """A vertex and its neighbours to a line. Undirected edges are in both lists, and count once."""
    rows = [[int(word) for word in row] for row in words(path)]
    ends = [(row[0], other) for row in rows for other in row[1:]]
    if not directed:
        ends = sorted({(min(pair), max(pair)) for pair in ends})
    return sorted({vertex for row in rows for vertex in row}), [(*pair, 1.0) for pair in ends]


def answers(path):
    return {int(row[0]): row[1] for row in words(path)}


def forms(scratch, vertices, edges):
    db = mg.open(scratch / "db")
    with db.ingest() as w:
        w.add_vertices("v", [{"~id": vertex} for vertex in vertices])
        w.add_edges("e", edges, columns=["from", "to", "weight"])
    yield "as written", db
    db.compact()
    yield "compressed", db
    db.export(scratch / "lake", "graphar")
    yield "lake", mg.open_lake(scratch / "lake/lake.graph.yml")


def difference(db, algorithm, parameters, directed, threads, expected):
    """What is wrong; `None` if all is right."""
    method = getattr(db.analyze, "pagerank" if algorithm == "pr" else algorithm)
    weight = {"weight": "weight"} if algorithm == "sssp" else {}
    found = method(**parameters, **weight, directed=directed, threads=threads).to_dict()
    if found.keys() != expected.keys():
        return f"{len(found)} vertices, not {len(expected)}"
    if algorithm == "wcc":
        pairs = {(found[vertex], expected[vertex]) for vertex in found}
        return None if len(pairs) == len(set(found.values())) == len(set(expected.values())) else "other components"
    for vertex, right in expected.items():
        got = found[vertex]
        if right in UNREACHED:
            same = got is None
        elif algorithm in NEAR:
            same = got is not None and abs(got - float(right)) <= 1e-4 * abs(float(right))
        else:
            same = got == int(right)
        if not same:
            return f"vertex {vertex} has {got}, not {right}"
    return None


if __name__ == "__main__":
    sys.exit(main())
