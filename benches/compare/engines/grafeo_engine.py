"""Grafeo: batches of nodes and edges by its own ids, GQL with parameters, an index on the id property."""

import grafeo

from graph import dicts, read

from . import Engine

HOP2 = (
    "MATCH (p:Person {id: $x})-[:knows]->(r:Person) WITH DISTINCT r MATCH (r)-[:knows]->(q:Person) RETURN count(DISTINCT q)",
    "MATCH (p:Person {id: $x})-[:knows]->()-[:knows]->(q) RETURN count(DISTINCT q)",
)
HOP3 = (
    "MATCH (p:Person {id: $x})-[:knows]->(r:Person) WITH DISTINCT r MATCH (r)-[:knows]->(s:Person)"
    " WITH DISTINCT s MATCH (s)-[:knows]->(q:Person) RETURN count(DISTINCT q.id)",
)
BFS4 = "MATCH (p:Person {id: $x})-[:knows]->{0,4}(q:Person) RETURN count(DISTINCT q.id)"
EDGES_AT_ONCE = 500_000


class Grafeo(Engine):
    name = "grafeo"
    languages = ("cypher", "grafeo.cypher")
    durable = False
    note = "its import_csv reads only nodes and only strings, so Python reads the rows; commits do not wait for the disk"

    def load(self, path, graph):
        database = grafeo.GrafeoDB(str(path))
        ids = {}
        for table in graph.vertices:
            rows, key = list(dicts(graph.folder, table)), table.header()[0]
            nodes = database.batch_create_nodes_with_props([table.label, *table.also], rows)
            ids[table.label] = {row[key]: node for row, node in zip(rows, nodes)}
        database.create_property_index("id")
        for table in graph.edges:
            keys, batch = tuple(table.columns), []
            sources, targets = ids[table.source], ids[table.target]
            for source, target, *values in read(graph.folder, table):
                batch.append((sources[source], targets[target], table.label, dict(zip(keys, values))))
                if len(batch) == EDGES_AT_ONCE:
                    database.batch_create_edges(batch)
                    batch = []
            if batch:
                database.batch_create_edges(batch)
        database.close()

    def open(self, path):
        self.database = grafeo.GrafeoDB.open(str(path))
        if not self.database.has_property_index("id"):
            self.database.create_property_index("id")
        self.ids = {}

    def prepare(self, text):
        execute = self.database.execute_cypher
        return lambda params: execute(text, params).to_list()

    def rows(self, text):
        """In GQL, its first language."""
        execute = self.database.execute
        if "$x" in text:
            return lambda x: execute(text, {"x": x}).to_list()
        return lambda _: execute(text).to_list()

    def queries(self):
        def scalar(text):
            rows = self.rows(text)
            return lambda x: rows(x)[0]["n"]

        point = self.rows("MATCH (p:Person {id: $x}) RETURN p.name AS name, p.age AS age")
        hop1 = self.rows("MATCH (p:Person {id: $x})-[:knows]->(q) RETURN q.id AS id")
        group = self.rows("MATCH (p:Person) RETURN p.age AS age, count(p) AS n")
        return {
            "point": [lambda x: list(point(x)[0].values())],
            "hop1": [lambda x: [row["id"] for row in hop1(x)]],
            "hop2": [scalar(text + " AS n") for text in HOP2],
            "hop3": [scalar(text + " AS n") for text in HOP3],
            "bfs4": [scalar(BFS4 + " AS n")],
            "filter_count": [scalar("MATCH (p:Person) WHERE p.age > $x RETURN count(p) AS n")],
            "group_count": [lambda _: {row["age"]: row["n"] for row in group(None)}],
        }

    def node(self, person):
        """Grafeo's own id of a person. It is looked up once, because a program that inserts would remember it."""
        if person not in self.ids:
            self.ids[person] = self.database.find_nodes_by_property("id", person)[0]
        return self.ids[person]

    def insert_edge(self, source, target, ts, weight):
        self.database.create_edge(self.node(source), self.node(target), "knows", {"ts": ts, "weight": weight})

    def insert_batch(self, source, target, ts, weight):
        rows = zip(source.tolist(), target.tolist(), ts.tolist(), weight.tolist())
        edges = [(self.node(s), self.node(t), "knows", {"ts": when, "weight": w}) for s, t, when, w in rows]
        self.database.batch_create_edges(edges)

    def edge_count(self):
        return self.database.edge_count

    def close(self):
        self.database.close()


def make():
    return Grafeo()
