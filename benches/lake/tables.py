"""Plain Parquet tables: the first answer from nothing, and answers after it."""

import json

import mangrovedb as mg
import pyarrow.csv as csv
import pyarrow.parquet as pq
from measure import apart, best, mb, ms, table

MAPPING = """nodes:
  - {file: person.parquet, label: Person}
edges:
  - {file: knows.parquet, label: knows}
"""
HOPS = "g.V().has('Person', 'id', x).out('knows').out('knows').out('knows').count()"

OURS = """
import json, sys, time
import mangrovedb as mg
folder, cache, start, load = sys.argv[1:]
wall, used = time.perf_counter(), time.process_time()
if load:
    db = mg.open(load, durability="relaxed")
    db.load(nodes={"Person": folder + "/person.parquet"}, edges={("Person", "knows", "Person"): folder + "/knows.parquet"}, progress=False)
else:
    db = mg.open_lake(folder + "/map.yml", cache=cache)
opened = time.perf_counter() - wall
got = db.query("%s", x=int(start)).one()
print(json.dumps({"wall": time.perf_counter() - wall, "cpu": time.process_time() - used, "opened": opened, "got": got}))
""" % HOPS

DUCK = """
import json, sys, time
import duckdb
folder, start, load = sys.argv[1:]
wall, used = time.perf_counter(), time.process_time()
con = duckdb.connect(load or ":memory:")
knows = f"'{folder}/knows.parquet'"
if load:
    con.execute(f"CREATE TABLE person AS SELECT * FROM '{folder}/person.parquet'; CREATE TABLE knows AS SELECT * FROM {knows}")
    knows = "knows"
got = con.execute(f"SELECT count(*) FROM {knows} a JOIN {knows} b ON a.dst = b.src JOIN {knows} c ON b.dst = c.src WHERE a.src = {start}").fetchone()[0]
print(json.dumps({"wall": time.perf_counter() - wall, "cpu": time.process_time() - used, "got": got}))
"""

LADYBUG = """
import json, sys, time
import ladybug
folder, start, load = sys.argv[1:]
wall, used = time.perf_counter(), time.process_time()
con = ladybug.Connection(ladybug.Database(load))
con.execute("CREATE NODE TABLE Person(id INT64, name STRING, age INT64, PRIMARY KEY (id))")
con.execute("CREATE REL TABLE knows(FROM Person TO Person, ts INT64, weight DOUBLE)")
con.execute(f"COPY Person FROM '{folder}/person.parquet'")
con.execute(f"COPY knows FROM '{folder}/knows.parquet'")
got = con.execute(f"MATCH (p:Person)-[:knows]->()-[:knows]->()-[:knows]->(f) WHERE p.id = {start} RETURN count(*)").get_next()[0]
print(json.dumps({"wall": time.perf_counter() - wall, "cpu": time.process_time() - used, "got": got}))
"""

# Ladybug reads Parquet in place, row by row of its plan: each hop is a scan of the file and a join.
LADYBUG_SCAN = """
import json, sys, time
import ladybug
folder, start = sys.argv[1:]
wall, used = time.perf_counter(), time.process_time()
con = ladybug.Connection(ladybug.Database(":memory:"))
knows = f"LOAD FROM '{folder}/knows.parquet'"
text = f"{knows} WITH src AS s, dst AS a WHERE s = {start} {knows} WITH a, src AS b, dst AS c WHERE a = b {knows} WITH c, src AS d WHERE c = d RETURN count(*)"
got = con.execute(text).get_next()[0]
print(json.dumps({"wall": time.perf_counter() - wall, "cpu": time.process_time() - used, "got": got}))
"""

LANCE = """
import json, sys, time
import pyarrow.parquet as pq
from lance_graph import CypherQuery, GraphConfig
folder, start = sys.argv[1:]
wall, used = time.perf_counter(), time.process_time()
config = GraphConfig.builder().with_node_label("Person", "id").with_relationship("knows", "src", "dst").build()
tables = {"Person": pq.read_table(folder + "/person.parquet"), "knows": pq.read_table(folder + "/knows.parquet")}
text = f"MATCH (p:Person)-[:knows]->(a:Person)-[:knows]->(b:Person)-[:knows]->(f:Person) WHERE p.id = {start} RETURN count(f.id) AS n"
got = CypherQuery(text).with_config(config).execute(tables)
print(json.dumps({"wall": time.perf_counter() - wall, "cpu": time.process_time() - used, "got": got.column(0)[0].as_py()}))
"""


def run(scratch, rmat):
    for name in ("person", "knows"):
        pq.write_table(csv.read_csv(rmat / f"{name}.csv"), scratch / f"{name}.parquet", compression="zstd", row_group_size=131_072)
    (scratch / "map.yml").write_text(MAPPING)
    start = json.loads((rmat / "params.json").read_text())["params"]["hop3"][0]
    start = start if isinstance(start, int) else list(start.values())[0]
    cache = scratch / "indexes"
    found = {
        "Mangrove, tables in place": apart(OURS, scratch, cache, start, ""),
        "Mangrove, in place, opened again": apart(OURS, scratch, cache, start, ""),
        "Mangrove, load and query": apart(OURS, scratch, "", start, scratch / "loaded"),
        "DuckDB, SQL on the files": apart(DUCK, scratch, start, ""),
        "DuckDB, load and SQL": apart(DUCK, scratch, start, scratch / "duck.db"),
        "Ladybug, load and query": apart(LADYBUG, scratch, start, scratch / "ladybug"),
        "Ladybug, scans of the files": apart(LADYBUG_SCAN, scratch, start, seconds=60),
        "lance-graph on Arrow tables": apart(LANCE, scratch, start),
    }
    answers = {one["got"] for one in found.values() if "got" in one}
    assert len(answers) == 1, found
    rows = []
    for name, one in found.items():
        rows.append([name, *([one["failed"], "", ""] if "failed" in one else [ms(one["wall"]), ms(one["cpu"]), ms(one["opened"]) if "opened" in one else ""])])
    index = sum(file.stat().st_size for file in cache.iterdir())
    about = f"Three hops over RMAT-18 as two Parquet files, {answers.pop():,} paths, each in a process of its own (the index takes {mb(index)}):"
    rows += warm(scratch, cache, start)
    return about + "\n\n" + table(["first answer from nothing", "wall time", "CPU time", "of it, to open"], rows)


def warm(scratch, cache, start):
    """The same hops again and again, beside a loaded segment."""
    lake, loaded = mg.open_lake(scratch / "map.yml", cache=cache), mg.open(scratch / "loaded", read_only=True)
    rows = []
    for name, db in (("the same again: in place", lake), ("the same again: loaded segment", loaded)):
        wall, cpu, _ = best(lambda: db.query(HOPS, x=start).one())
        rows.append([name, ms(wall), ms(cpu), ""])
    return rows
