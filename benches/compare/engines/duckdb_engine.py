"""DuckDB, for scale: the graph as two tables with indexes, queries in SQL."""

from pathlib import Path

import duckdb
import pyarrow as pa

from graph import FLOAT, INT, TEXT

from . import Engine

TYPES = {INT: "BIGINT", FLOAT: "DOUBLE", TEXT: "VARCHAR"}

HOP = "SELECT DISTINCT k.dst AS id FROM knows k WHERE k.src IN ({})"
HOP1 = "SELECT dst FROM knows WHERE src = ?"
HOP2 = HOP.format("SELECT dst FROM knows WHERE src = ?")
BFS4 = """
    WITH RECURSIVE reached(id, depth) USING KEY (id) AS (
        SELECT CAST(? AS BIGINT), 0
        UNION
        SELECT DISTINCT k.dst, r.depth + 1 FROM reached r JOIN knows k ON k.src = r.id
        WHERE r.depth < 4 AND NOT EXISTS (SELECT 1 FROM recurring.reached seen WHERE seen.id = k.dst)
    )
    SELECT count(*) FROM reached"""


class DuckDb(Engine):
    name = "duckdb"
    languages = ("sql",)
    note = "a relational engine: tables with an index on the source of edges"

    def load(self, path, graph):
        connection = duckdb.connect(str(path))
        for table in (*graph.vertices, *graph.edges):
            name = Path(table.file).stem
            types = [TYPES[kind] for kind in table.columns.values()]
            types = [f"{types[0]} PRIMARY KEY", *types[1:]] if table in graph.vertices else ["BIGINT", "BIGINT", *types]
            connection.execute(f"CREATE TABLE {name}({', '.join(map(' '.join, zip(table.header(), types)))})")
            connection.execute(f"COPY {name} FROM '{graph.path(table)}' (HEADER)")
            if table in graph.edges:
                connection.execute(f"CREATE INDEX {name}_src ON {name}(src)")
            for column in getattr(table, "indexed", ()):
                connection.execute(f"CREATE INDEX {name}_{column} ON {name}({column})")
        connection.close()

    def open(self, path):
        self.connection = duckdb.connect(str(path))
        self.connection.execute("SET threads = 1")

    def session(self):
        other = DuckDb()
        other.connection = self.connection.cursor()
        return other

    def prepare(self, text):
        run = self.connection.execute
        return lambda params: run(text, params).fetchall()

    def queries(self):
        def rows(text):
            run = self.connection.execute
            return lambda x: run(text, [x]).fetchall()

        def scalar(text):
            run = rows(text)
            return lambda x: run(x)[0][0]

        point, hop1 = rows("SELECT name, age FROM person WHERE id = ?"), rows(HOP1)
        group = self.connection.execute
        return {
            "point": [lambda x: point(x)[0]],
            "hop1": [lambda x: [row[0] for row in hop1(x)]],
            "hop2": [scalar(f"SELECT count(*) FROM ({HOP2})")],
            "hop3": [scalar(f"SELECT count(*) FROM ({HOP.format(HOP2)})")],
            "bfs4": [scalar(BFS4)],
            "filter_count": [scalar("SELECT count(*) FROM person WHERE age > ?")],
            "group_count": [lambda _: dict(group("SELECT age, count(*) FROM person GROUP BY age").fetchall())],
        }

    def insert_edge(self, source, target, ts, weight):
        self.connection.execute("INSERT INTO knows VALUES (?, ?, ?, ?)", [source, target, ts, weight])

    def insert_batch(self, source, target, ts, weight):
        rows = pa.table({"src": source, "dst": target, "ts": ts, "weight": weight})  # the query refers to this variable by name
        self.connection.execute("INSERT INTO knows SELECT * FROM rows")

    def edge_count(self):
        return self.connection.execute("SELECT count(*) FROM knows").fetchall()[0][0]

    def close(self):
        self.connection.close()


def make():
    return DuckDb()
