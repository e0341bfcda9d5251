"""NeuG: CSV by COPY, Cypher with parameters and the access mode given."""

import logging
import tempfile
from pathlib import Path

import neug
import pyarrow as pa
import pyarrow.csv

from . import Engine
from .kuzu_engine import declared

HOP2 = (
    "MATCH (p:Person {id: $x})-[:knows]->(:Person)-[:knows]->(q:Person) RETURN count(DISTINCT q)",
    "MATCH (p:Person {id: $x})-[:knows]->(r:Person) WITH DISTINCT r MATCH (r)-[:knows]->(q:Person) RETURN count(DISTINCT q)",
)
HOP3 = (
    "MATCH (p:Person {id: $x})-[:knows]->(r:Person) WITH DISTINCT r MATCH (r)-[:knows]->(s:Person)"
    " WITH DISTINCT s MATCH (s)-[:knows]->(q:Person) RETURN count(DISTINCT q)",
)
BFS4 = "MATCH (p:Person {id: $x})-[:knows* SHORTEST 1..4]->(q:Person) RETURN count(q)"
INSERT = (
    "MATCH (a:Person {id: $source}), (b:Person {id: $target}) CREATE (a)-[:knows {ts: $ts, weight: $weight}]->(b)"
)
COPY = 'COPY {} FROM "{}" (from="{}", to="{}", header=true, delim=",")'


class Neug(Engine):
    name = "neug"
    languages = ("cypher", "neug.cypher")
    threads = False
    note = "batches by COPY from CSV files, its documented bulk path; every query in one thread"

    def connect(self, path):
        logging.getLogger("neug").setLevel(logging.WARNING)
        self.database = neug.Database(str(path), mode="rw")
        self.connection = self.database.connect()

    def load(self, path, graph):
        self.connect(path)
        execute = self.connection.execute
        for table in graph.vertices:
            execute(f"CREATE NODE TABLE {table.label}({', '.join(declared(table.columns))}, PRIMARY KEY({table.header()[0]}));")
            execute(f'COPY {table.label} FROM "{graph.path(table)}" (header=true, delim=",")')
        for table in graph.edges:
            ends = f"FROM {table.source} TO {table.target}"
            execute(f"CREATE REL TABLE {table.label}({', '.join([ends, *declared(table.columns)])});")
            execute(COPY.format(table.label, graph.path(table), table.source, table.target))
        self.close()

    def open(self, path):
        self.connect(path)

    def prepare(self, text):
        execute, text = self.connection.execute, text.replace(":Message", ":Post:Comment")
        if "RETURN nodes(" in text:  # NeuG cannot return their ids
            return lambda params: [[[vertex["id"] for vertex in row[0]]] for row in execute(text, "r", params)]
        return lambda params: list(execute(text, "r", params))

    def queries(self):
        def scalar(text, plus=0):
            rows = self.rows(text)
            return lambda x: rows(x)[0][0] + plus

        point = self.rows("MATCH (p:Person) WHERE p.id = $x RETURN p.name, p.age")
        hop1 = self.rows("MATCH (p:Person {id: $x})-[:knows]->(q:Person) RETURN q.id")
        group = self.rows("MATCH (p:Person) RETURN p.age, count(p)")
        return {
            "point": [lambda x: point(x)[0]],
            "hop1": [lambda x: [row[0] for row in hop1(x)]],
            "hop2": [scalar(text) for text in HOP2],
            "hop3": [scalar(text) for text in HOP3],
            "bfs4": [scalar(BFS4, 1)],
            "filter_count": [scalar("MATCH (p:Person) WHERE p.age > $x RETURN count(p)")],
            "group_count": [lambda _: {age: count for age, count in group(None)}],
        }

    def insert_edge(self, source, target, ts, weight):
        self.connection.execute(INSERT, "i", {"source": source, "target": target, "ts": ts, "weight": weight})

    def insert_batch(self, source, target, ts, weight):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "batch.csv"
            pa.csv.write_csv(pa.table({"src": source, "dst": target, "ts": ts, "weight": weight}), file)
            self.connection.execute(COPY.format("knows", file, "Person", "Person"))

    def edge_count(self):
        return list(self.connection.execute("MATCH (:Person)-[k:knows]->(:Person) RETURN count(k)", "r"))[0][0]

    def close(self):
        self.connection.close()
        self.database.close(log=False)


def make():
    return Neug()
