"""Plain Parquet tables: the first answer from nothing, answers after it, and LDBC's short reads here and from afar."""

import http.server
import json
import os
import threading
import time
import urllib.parse

import mangrovedb as mg
import pyarrow.csv as csv
import pyarrow.parquet as pq
import snb_tables
import suites
import texts
from measure import apart, best, mb, ms, table

MAPPING = """nodes:
  - {file: person.parquet, label: Person}
edges:
  - {file: knows.parquet, label: knows}
"""
HOPS = "g.V().has('Person', 'id', x).out('knows').out('knows').out('knows').count()"
DELAY = 0.03

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


def run(scratch, rmat, network):
    return "\n\n".join([first_answers(scratch, rmat), short_reads(scratch, network)])


def first_answers(scratch, rmat):
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


class Ranges(http.server.BaseHTTPRequestHandler):
    """Serves files in ranges, 30 ms late. Counts requests, bytes, and rounds: times at which it had nothing to do before."""

    protocol_version = "HTTP/1.1"
    root, requests, bytes, rounds, active, lock = None, 0, 0, 0, 0, threading.Lock()

    def do_GET(self):
        kind = type(self)
        with kind.lock:
            kind.rounds += kind.active == 0
            kind.active += 1
        try:
            self.answer(kind)
        finally:
            with kind.lock:
                kind.active -= 1

    def answer(self, kind):
        time.sleep(DELAY)
        path = kind.root / urllib.parse.unquote(self.path).lstrip("/")
        data = path.read_bytes()
        first, last = self.headers["Range"].removeprefix("bytes=").split("-")
        start, end = (max(0, len(data) - int(last)), len(data)) if not first else (int(first), min(len(data), int(last) + 1))
        with kind.lock:
            kind.requests += 1
            kind.bytes += end - start
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(data)}")
        self.send_header("Content-Length", str(end - start))
        self.send_header("ETag", f'"{path.stat().st_mtime_ns}"')
        self.end_headers()
        self.wfile.write(data[start:end])

    def log_message(self, *arguments):
        pass


def short_reads(scratch, network):
    snb_tables.write(network, scratch)
    server = type("Server", (Ranges,), {"root": scratch})
    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), server)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    far = scratch / "far"
    far.mkdir()
    (far / "map.yml").write_text(f"root: http://127.0.0.1:{running.server_port}\n" + (scratch / "map.yml").read_text())
    suite = suites.SUITES["snb"]
    asked, told = json.loads((network / "params.json").read_text())["ops"], texts.load("snb", ("gremlin",))
    rows = []
    for op in (f"IS{n}" for n in range(1, 8)):
        parameters, text = asked[op]["params"], told[op][0]
        expected = None
        cells = []
        for place, name in ((scratch, op), (far, f"{op} from afar")):
            for cache in ("nothing", "index"):
                folder = scratch / f"indexes {op} {place.name}"
                server.requests = server.bytes = server.rounds = 0
                wall = time.perf_counter()
                lake = mg.open_lake(place / "map.yml", cache=folder)
                opened = time.perf_counter() - wall
                rounds = server.rounds
                got = lake.query(text, parameters[0]).to_list()
                wall = time.perf_counter() - wall
                assert expected is None or got == expected, op
                expected = got
                cell = ms(wall)
                if place is far:
                    cell += f", {server.requests} requests, {mb(server.bytes)}" + (f", {server.rounds - rounds} rounds after opening" if cache == "index" else "")
                cells.append(cell)
        rows.append([op, *cells])
    running.shutdown()
    about = "LDBC's short reads on plain tables: opening and the first answer, from nothing and with the indexes there; on this machine, and from a web server that answers 30 ms late:"
    return about + "\n\n" + table(["read", "here, from nothing", "here, with indexes", "afar, from nothing", "afar, with indexes"], rows)
