"""LDBC's short reads on plain Parquet tables: in place, here and in a store, and beside engines that load the tables first."""

import json
import time
from pathlib import Path

import duckdb
import ladybug
import mangrovedb as mg
import snb
import snb_tables
import suites
import texts
from answers import canonical
from lance_graph import CypherQuery, GraphConfig
from measure import mb, ms, once, table
from s3 import BUCKET, Store

from engines.kuzu_engine import declared

DELAY = 30
READS = tuple(f"IS{n}" for n in range(1, 8))


def run(scratch, network):
    graph = snb_tables.write(network, scratch)
    asked = json.loads((network / "params.json").read_text())["ops"]
    return "\n\n".join([beside_loading(scratch, graph, asked), from_afar(scratch, asked)])


def right(name, rows, asked):
    """Whether an answer is that of a plain program in Python."""
    return canonical(rows, asked[name]["ordered"]) == asked[name]["answers"][0]


def beside_loading(scratch, graph, asked):
    engines = {
        "Mangrove, in place": InPlace(scratch, asked),
        "Mangrove, loaded": Loaded(scratch),
        "DuckDB, loaded": Duck(scratch, graph, load=True),
        "DuckDB, on the files": Duck(scratch, graph, load=False),
        "Ladybug, loaded": Ladybug(scratch, graph),
        "lance-graph": Lance(scratch, graph),
    }
    cells = {name: [ms(once(engine.prepare)[0])] for name, engine in engines.items()}
    for read in READS:
        for name, engine in engines.items():
            cells[name].append(first(engine, read, asked))
    rows = [[name, *cells[name]] for name in engines]
    about = "LDBC's short reads on plain tables on this machine: what must happen before (for a lake, the footers), and then the first answer to each. `in place` has its indexes; the next table shows answers without them:"
    return about + "\n\n" + table(["", "before", *READS], rows)


def first(engine, read, asked):
    try:
        wall, _, rows = once(lambda: engine.read(read, asked[read]["params"][0]))
    except Exception:
        return "refused"
    assert right(read, rows, asked), (type(engine), read)
    return ms(wall)


class InPlace:
    """Indexes are made by an earlier run of all reads. Opening reads footers."""

    def __init__(self, folder, asked):
        self.folder, self.told = folder, texts.load("snb", ("gremlin",))
        self.prepare()
        for read in READS:
            self.read(read, asked[read]["params"][0])

    def prepare(self):
        self.graph = mg.open_lake(self.folder / "map.yml", cache=self.folder / "warm")

    def read(self, read, parameters):
        return self.graph.query(self.told[read][0], parameters).to_list()


class Loaded(InPlace):
    def __init__(self, folder):
        self.folder, self.told = folder, texts.load("snb", ("gremlin",))

    def prepare(self):
        self.graph = mg.open(self.folder / "db", durability="relaxed", id_space="label")
        self.graph.load_lake(self.folder / "map.yml", progress=False)


class Duck:
    def __init__(self, folder, graph, load):
        self.folder, self.load = folder, load
        self.names = [Path(one.file).stem for one in (*graph.vertices, *graph.edges)]
        self.told = texts.read((Path(__file__).parent / "reads.sql").read_text())

    def prepare(self):
        self.connection = duckdb.connect(str(self.folder / "duck.db") if self.load else ":memory:")
        kind = "TABLE" if self.load else "VIEW"
        for name in self.names:
            self.connection.execute(f"CREATE {kind} {name} AS SELECT * FROM '{self.folder}/{name}.parquet'")

    def read(self, read, parameters):
        return self.connection.execute(self.told[read][0], parameters).fetchall()


class Ladybug:
    def __init__(self, folder, graph):
        self.folder, self.tables = folder, graph
        self.told = texts.load("snb", ("cypher", "kuzu.cypher"))

    def prepare(self):
        self.connection = ladybug.Connection(ladybug.Database(str(self.folder / "ladybug")))
        for one in self.tables.vertices:
            key, *others = declared(one.columns)
            self.connection.execute(f"CREATE NODE TABLE {one.label}({', '.join([key + ' PRIMARY KEY', *others])})")
            self.connection.execute(f"COPY {one.label} FROM '{self.folder}/{Path(one.file).stem}.parquet'")
        for label, tables in self.tables.edges_by_label().items():
            ends = [f"FROM {one.source} TO {one.target}" for one in tables]
            self.connection.execute(f"CREATE REL TABLE {label}({', '.join(ends + declared(tables[0].columns))})")
            for one in tables:
                self.connection.execute(f"COPY {label} FROM '{self.folder}/{Path(one.file).stem}.parquet' (from='{one.source}', to='{one.target}')")

    def read(self, read, parameters):
        found = self.connection.execute(self.told[read][0].replace(":Message", ":Post:Comment"), parameters)
        return [row for row in iter(lambda: found.get_next() if found.has_next() else None, None)]


class Lance:
    """Its Cypher knows neither several labels of one vertex nor paths of any length from a table to itself, so it refuses some reads."""

    def __init__(self, folder, graph):
        self.folder, self.tables = folder, graph
        self.told = texts.load("snb", ("cypher",))

    def prepare(self):
        import pyarrow.parquet as pq

        self.data, config = {}, GraphConfig.builder()
        for one in self.tables.vertices:
            config = config.with_node_label(one.label, "id")
            self.data[one.label] = pq.read_table(self.folder / f"{Path(one.file).stem}.parquet")
        for one in self.tables.edges:
            config = config.with_relationship(one.label, "src", "dst")
            self.data[one.label] = pq.read_table(self.folder / f"{Path(one.file).stem}.parquet")
        self.config = config.build()

    def read(self, read, parameters):
        text = self.told[read][-1]
        for name, value in parameters.items():
            text = text.replace(f"${name}", str(value))
        return [list(row.values()) for row in CypherQuery(text).with_config(self.config).execute(self.data).to_pylist()]


def from_afar(scratch, asked):
    told, rows = texts.load("snb", ("gremlin",)), []
    with Store(DELAY) as store:
        for file in scratch.glob("*.parquet"):
            store.client.upload_file(str(file), BUCKET, f"snb/{file.name}")
        far = scratch / "far"
        far.mkdir()
        (far / "map.yml").write_text(f"root: s3://{BUCKET}/snb\n" + (scratch / "map.yml").read_text())
        for read in READS:
            cells = []
            for place in (scratch, far):
                for state in ("from nothing", "with indexes"):
                    cells.append(opened(read, told[read][0], place, scratch / f"indexes {read} {place.name}", state, store, asked))
            rows.append([read, *cells])
    about = f"LDBC's short reads on plain tables in place: opening and the first answer, from nothing and with the indexes there; on this machine, and from an S3 server that answers {DELAY} ms late:"
    return about + "\n\n" + table(["read", "here, from nothing", "here, with indexes", "S3, from nothing", "S3, with indexes"], rows)


def opened(read, text, place, cache, state, store, asked):
    store.counts()
    wall = time.perf_counter()
    lake = mg.open_lake(place / "map.yml", cache=cache)
    opening, before = time.perf_counter() - wall, store.counts()
    wall = time.perf_counter()
    rows = lake.query(text, asked[read]["params"][0]).to_list()
    wall, after = opening + time.perf_counter() - wall, store.counts()
    assert right(read, rows, asked), read
    if place.name != "far":
        return ms(wall)
    sums = f"{ms(wall)}, {before['requests'] + after['requests']} requests, {mb(before['bytes'] + after['bytes'])}"
    return sums + (f", {after['rounds']} rounds after opening" if state == "with indexes" else "")
