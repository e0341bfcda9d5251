"""Kuzu: CSV by COPY, prepared Cypher. Its successor Ladybug has the same interface."""

import importlib
import importlib.util  # kuzu's own Arrow scan needs it imported
import warnings
from functools import cached_property

import pyarrow as pa

from graph import FLOAT, INT, TEXT

from . import Engine

POINT = "MATCH (p:Person) WHERE p.id = $x RETURN p.name, p.age"
HOP1 = "MATCH (p:Person)-[:knows]->(q:Person) WHERE p.id = $x RETURN q.id"
HOP2 = (
    "MATCH (p:Person)-[:knows]->(:Person)-[:knows]->(q:Person) WHERE p.id = $x RETURN count(DISTINCT q)",
    "MATCH (p:Person)-[:knows]->(r:Person) WHERE p.id = $x WITH DISTINCT r MATCH (r)-[:knows]->(q:Person) RETURN count(DISTINCT q)",
)
HOP3 = (
    "MATCH (p:Person)-[:knows]->(r:Person) WHERE p.id = $x WITH DISTINCT r MATCH (r)-[:knows]->(s:Person)"
    " WITH DISTINCT s MATCH (s)-[:knows]->(q:Person) RETURN count(DISTINCT q)",
    "MATCH (p:Person)-[:knows]->(:Person)-[:knows]->(:Person)-[:knows]->(q:Person) WHERE p.id = $x RETURN count(DISTINCT q)",
)
BFS4 = "MATCH (p:Person)-[:knows* SHORTEST 1..4]->(q:Person) WHERE p.id = $x RETURN count(*)"
FILTER = "MATCH (p:Person) WHERE p.age > $x RETURN count(*)"
GROUP = "MATCH (p:Person) RETURN p.age, count(*)"
INSERT = (
    "MATCH (a:Person), (b:Person) WHERE a.id = $source AND b.id = $target"
    " CREATE (a)-[:knows {ts: $ts, weight: $weight}]->(b)"
)


TYPES = {INT: "INT64", FLOAT: "DOUBLE", TEXT: "STRING"}


def declared(columns):
    return [f"{name} {TYPES[kind]}" for name, kind in columns.items()]


class Kuzu(Engine):
    languages = ("cypher", "kuzu.cypher")
    one_writer = True

    def __init__(self, name):
        warnings.simplefilter("ignore", DeprecationWarning)  # prepare(), which is faster than passing the text each time
        self.name = name
        self.module = importlib.import_module(name)

    def load(self, path, graph):
        database = self.module.Database(str(path))
        connection = self.module.Connection(database)
        for table in graph.vertices:
            key, *others = declared(table.columns)
            connection.execute(f"CREATE NODE TABLE {table.label}({', '.join([key + ' PRIMARY KEY', *others])})")
            connection.execute(f"COPY {table.label} FROM '{graph.path(table)}' (HEADER=true)")
        for label, tables in graph.edges_by_label().items():
            ends = [f"FROM {table.source} TO {table.target}" for table in tables]
            connection.execute(f"CREATE REL TABLE {label}({', '.join(ends + declared(tables[0].columns))})")
            for table in tables:
                options = f"HEADER=true, from='{table.source}', to='{table.target}'"
                connection.execute(f"COPY {label} FROM '{graph.path(table)}' ({options})")
        connection.close()
        database.close()

    def open(self, path):
        self.database = self.module.Database(str(path))
        self.connection = self.module.Connection(self.database, num_threads=1)

    def session(self):
        other = Kuzu(self.name)
        other.database, other.connection = self.database, self.module.Connection(self.database, num_threads=1)
        return other

    def prepare(self, text):
        statement = self.connection.prepare(text.replace(":Message", ":Post:Comment"))

        def run(params):
            result = self.connection.execute(statement, params)
            out = []
            while result.has_next():
                out.append(result.get_next())
            return out

        return run

    def queries(self):
        def scalar(text, plus=0):
            rows = self.rows(text)
            return lambda x: rows(x)[0][0] + plus

        point, hop1, group = self.rows(POINT), self.rows(HOP1), self.rows(GROUP)
        return {
            "point": [lambda x: point(x)[0]],
            "hop1": [lambda x: [row[0] for row in hop1(x)]],
            "hop2": [scalar(text) for text in HOP2],
            "hop3": [scalar(text) for text in HOP3],
            "bfs4": [scalar(BFS4, 1)],
            "filter_count": [scalar(FILTER)],
            "group_count": [lambda _: dict(group(None))],
        }

    @cached_property
    def insert(self):
        return self.connection.prepare(INSERT)

    def insert_edge(self, source, target, ts, weight):
        self.connection.execute(self.insert, {"source": source, "target": target, "ts": ts, "weight": weight})

    def insert_batch(self, source, target, ts, weight):
        rows = pa.table({"from": source, "to": target, "ts": ts, "weight": weight})  # COPY refers to this variable by name
        self.connection.execute("COPY knows FROM rows")

    def edge_count(self):
        return self.connection.execute("MATCH ()-[k:knows]->() RETURN count(k)").get_next()[0]

    def close(self):
        self.connection.close()
        self.database.close()


def make():
    return Kuzu("kuzu")
