#!/usr/bin/env python3
"""The official GraphAr library reads what Mangrove writes, and Mangrove reads what the library writes.

    python conformance/graphar.py

The library (Apache GraphAr's C++, in its Python package) is installed into conformance/.cache/graphar, because it brings much and ends
with a crash when it is unloaded. Mangrove comes from the Python that runs this script (`make install`).
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import mangrovedb as mg

VENV = Path(__file__).resolve().parent / ".cache" / "graphar"
PACKAGES = ["graphar==0.13.0.dev1", "pyarrow>=20", "pyyaml>=6"]
PEOPLE, PLACES, KNOWS = 950, 300, 5000
LISTS = ["ordered_by_source", "ordered_by_dest", "unordered_by_source", "unordered_by_dest"]
# Empty and full chunks, several chunks to a part, groups, each list.
EXPORTS = {
    "usual": {},
    "small": {"vertex_chunk": 100, "edge_chunk": 256},
    "full": {"vertex_chunk": 475, "edge_chunk": 5000},
    "groups": {"vertex_chunk": 100, "edge_chunk": 256, "groups": [["name"], ["far", "w"]], "lists": LISTS},
}

READ = """
import json, os, sys
import graphar
from graphar._core import AdjListType, EdgesCollection, VerticesCollection
graph = graphar.graph_info.GraphInfo.load(sys.argv[1])
asked = json.loads(sys.argv[2])
found = {"vertices": {}, "edges": {}}
for label, keys in asked["vertices"].items():
    found["vertices"][label] = [[vertex.id(), *(vertex.property(key) for key in keys)] for vertex in VerticesCollection.Make(graph, label)]
for name in asked["lists"]:
    for ends, keys in asked["edges"]:
        edges = EdgesCollection.Make(graph, *ends, getattr(AdjListType, name))
        found["edges"][" ".join([name, *ends])] = [[edge.source(), edge.destination(), *(edge.property(key) for key in keys)] for edge in edges]
print(json.dumps(found))
sys.stdout.flush()
os._exit(0)  # the library crashes when it is unloaded
"""

WRITE = """
import os, sys
from graphar._core import do_import
from graphar.importer.config import ImportConfig
work = sys.argv[1]
def column(name, kind, primary=False):
    return {"name": name, "data_type": kind, "is_primary": primary, "nullable": not primary}
def source(name, columns):
    return [{"file_type": "parquet", "path": f"{work}/{name}.parquet", "delimiter": ",", "columns": columns}]
config = {
    "graphar": {"path": work + "/official", "name": "official", "vertex_chunk_size": 100, "edge_chunk_size": 256, "file_type": "parquet",
                "adj_list_type": "ordered_by_source", "validate_level": "no", "version": "gar/v1"},
    "import_schema": {
        "vertices": [{"type": "v", "labels": [], "chunk_size": 100, "prefix": "vertex/v/", "validate_level": "no",
                      "property_groups": [{"properties": [column("id", "int64", True), column("twin", "int64"), column("name", "string")], "file_type": "parquet"}],
                      "sources": source("v", {"id": "id", "twin": "twin", "name": "name"})}],
        "edges": [{"edge_type": "e", "src_type": "v", "src_prop": "id", "dst_type": "v", "dst_prop": "twin", "chunk_size": 256, "validate_level": "no",
                   "prefix": "edge/v_e_v/", "property_groups": [],
                   "adj_lists": [{"ordered": True, "aligned_by": "src", "file_type": "parquet"}, {"ordered": True, "aligned_by": "dst", "file_type": "parquet"}],
                   "sources": source("e", {"src": "id", "dst": "twin"})}]}}
do_import(ImportConfig(**config).model_dump())
sys.stdout.flush()
os._exit(0)
"""


def main():
    install()
    checks = 0
    with tempfile.TemporaryDirectory(prefix="mangrove-graphar-") as scratch:
        scratch = Path(scratch)
        db = graph(scratch / "db")
        for name, options in EXPORTS.items():
            db.export(scratch / name, "graphar", **options)
            checks += read_by_the_library(db, scratch / name / f"{name}.graph.yml", options.get("lists", LISTS[:2]))
            print(f"the library reads the export `{name}`", flush=True)
        checks += written_by_the_library(scratch)
        print("Mangrove reads what the library imported", flush=True)
    print(f"{checks:,} rows agree")


def install():
    stamp = VENV / "installed"
    if stamp.exists() and stamp.read_text() == str(PACKAGES):
        return
    print(f"==> installing {PACKAGES[0]} into {VENV}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
    subprocess.run([VENV / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", *PACKAGES], check=True)
    stamp.write_text(str(PACKAGES))


def official(script, *arguments):
    done = subprocess.run([VENV / "bin/python", "-c", script, *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"the library failed on {arguments[0]}")
    return done.stdout


def graph(path):
    """Parallel edges, loops, vertices without edges, further labels, chunks without edges."""
    db = mg.open(path)
    pick = random.Random(1)
    with db.ingest() as w:
        w.add_vertices("person", [{"id": n, "name": f"p{n}", "age": n % 90, "far": n * 10**10} for n in range(PEOPLE)])
        w.add_vertices("place", [{"id": f"x{n}"} for n in range(PLACES)])
        ends = [(pick.randrange(300, PEOPLE), pick.randrange(PEOPLE)) for _ in range(KNOWS)]
        w.add_edges("knows", [{"from": a, "to": b, "w": n, "note": f"n{n}"} for n, (a, b) in enumerate(ends)])
        w.add_edges("lives", [{"from": n, "to": f"x{n % 7}"} for n in range(0, PEOPLE, 2)])
    db.query("g.V().hasLabel('person').has('age', lt(20)).addLabel('young')").to_list()
    return db


def read_by_the_library(db, file, lists):
    """The vertices in order, and the edges of each list in any order."""
    asked = {
        "vertices": {"person": ["id", "name", "age", "far"], "place": ["id"]},
        "edges": [[["person", "knows", "person"], ["w", "note"]], [["person", "lives", "place"], []]],
        "lists": lists,
    }
    found = json.loads(official(READ, file, json.dumps(asked)))
    people = [[n, n, f"p{n}", n % 90, n * 10**10] for n in range(PEOPLE)]
    agree(found["vertices"]["person"], people, "people")
    agree(found["vertices"]["place"], [[n, f"x{n}"] for n in range(PLACES)], "places")
    edges = lambda label, keys: db.query(
        f"g.E().hasLabel('{label}').project('a', 'b', {keys}).by(outV().id()).by(inV().id())" + "".join(f".by({key})" for key in keys.split(", "))
    ).to_list()
    knows = sorted([row["a"], row["b"], row["w"], row["note"]] for row in edges("knows", "'w', 'note'"))
    lives = sorted([n, n % 7] for n in range(0, PEOPLE, 2))
    for name in lists:
        agree(sorted(found["edges"][f"{name} person knows person"]), knows, f"knows in {name}")
        agree(sorted(found["edges"][f"{name} person lives place"]), lives, f"lives in {name}")
    return PEOPLE + PLACES + len(lists) * (len(knows) + len(lives))


def written_by_the_library(scratch):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pick = random.Random(2)
    ids = pick.sample(range(10**6), PEOPLE)
    pq.write_table(pa.table({"id": ids, "twin": ids, "name": [f"v{at}" for at in ids]}), scratch / "v.parquet")
    ends = [(pick.choice(ids), pick.choice(ids)) for _ in range(KNOWS)]
    pq.write_table(pa.table({"src": [a for a, _ in ends], "dst": [b for _, b in ends]}), scratch / "e.parquet")
    official(WRITE, scratch)
    # The importer writes no description of the whole.
    described = "name: official\nvertices:\n  - v.vertex.yml\nedges:\n  - v_e_v.edge.yml\nversion: gar/v1\n"
    (scratch / "official/official.graph.yml").write_text(described)
    lake = mg.open_lake(scratch / "official/official.graph.yml", cache=scratch / "cache")
    agree(lake.check(), [], "contradictions")
    names = [[row["id"], row["name"]] for row in lake.query("g.V().hasLabel('v').project('id', 'name').by('id').by('name')").to_list()]
    agree(sorted(names), sorted([at, f"v{at}"] for at in ids), "vertices")
    # Without properties: the importer gives each edge those of the first one.
    for query in ["g.V().outE('e')", "g.V().inE('e')"]:
        rows = lake.query(f"{query}.project('a', 'b').by(outV().values('id')).by(inV().values('id'))").to_list()
        agree(sorted((row["a"], row["b"]) for row in rows), sorted(ends), query)
    return PEOPLE + 2 * KNOWS


def agree(found, expected, what):
    if found != expected:
        at = next((at for at, pair in enumerate(zip(found, expected)) if pair[0] != pair[1]), min(len(found), len(expected)))
        sys.exit(f"{what}: {len(found)} rows and {len(expected)} expected; row {at} is {found[at : at + 1]}, not {expected[at : at + 1]}")


if __name__ == "__main__":
    main()
