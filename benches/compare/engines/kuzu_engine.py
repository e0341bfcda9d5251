"""Kuzu: CSV by COPY, prepared Cypher; ladybug, its successor, has the same interface."""

import importlib
import importlib.util  # kuzu's own Arrow scan looks for it
import warnings

import pyarrow as pa

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


class Kuzu(Engine):
    def __init__(self, name):
        warnings.simplefilter("ignore", DeprecationWarning)  # prepare(), which is faster than passing the text each time
        self.name = name
        self.module = importlib.import_module(name)

    def load(self, path, people, knows):
        database = self.module.Database(str(path))
        connection = self.module.Connection(database)
        connection.execute("CREATE NODE TABLE Person(id INT64 PRIMARY KEY, name STRING, age INT64)")
        connection.execute("CREATE REL TABLE knows(FROM Person TO Person, ts INT64, weight DOUBLE)")
        connection.execute(f"COPY Person FROM '{people}' (HEADER=true)")
        connection.execute(f"COPY knows FROM '{knows}' (HEADER=true)")
        connection.close()
        database.close()

    def open(self, path):
        self.database = self.module.Database(str(path))
        self.connection = self.module.Connection(self.database, num_threads=1)
        self.insert = self.connection.prepare(INSERT)

    def rows(self, text):
        statement = self.connection.prepare(text)
        takes_parameter = "$x" in text

        def run(x):
            result = self.connection.execute(statement, {"x": x} if takes_parameter else {})
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

    def insert_edge(self, source, target, ts, weight):
        self.connection.execute(self.insert, {"source": source, "target": target, "ts": ts, "weight": weight})

    def insert_batch(self, source, target, ts, weight):
        rows = pa.table({"from": source, "to": target, "ts": ts, "weight": weight})  # COPY finds it by its name
        self.connection.execute("COPY knows FROM rows")

    def edge_count(self):
        return self.connection.execute("MATCH ()-[k:knows]->() RETURN count(k)").get_next()[0]

    def close(self):
        self.connection.close()
        self.database.close()


def make():
    return Kuzu("kuzu")
