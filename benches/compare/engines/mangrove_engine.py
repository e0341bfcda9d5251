"""Mangrove: CSV by load, Gremlin text with parameters."""

import mangrovedb as mg

from . import Engine


class Mangrove(Engine):
    name = "mangrovedb"

    def version(self):
        return mg.__version__

    def load(self, path, people, knows):
        database = mg.open(str(path))
        database.load(nodes={"Person": str(people)}, edges={("Person", "knows", "Person"): str(knows)})
        database.close()

    def open(self, path):
        self.database = mg.open(str(path))

    def rows(self, text):
        query = self.database.query
        if "(x)" in text:
            return lambda x: query(text, x=x).to_list()
        return lambda _: query(text).to_list()

    def queries(self):
        def scalar(text):
            rows = self.rows(text)
            return lambda x: rows(x)[0]

        def person(x):
            found = point(x)[0]
            return found["name"], found["age"]

        point = self.rows("g.V(x).elementMap('name', 'age')")
        ages = scalar("g.V().hasLabel('Person').groupCount().by('age')")
        return {
            "point": [person],
            "hop1": [self.rows("g.V(x).out('knows').id()")],
            "hop2": [scalar("g.V(x).out('knows').out('knows').dedup().count()")],
            "hop3": [scalar("g.V(x).out('knows').out('knows').out('knows').dedup().count()")],
            "bfs4": [scalar("g.V(x).emit().repeat(__.out('knows').dedup()).times(4).dedup().count()")],
            "filter_count": [scalar("g.V().hasLabel('Person').has('age', P.gt(x)).count()")],
            "group_count": [ages],
        }

    def insert_edge(self, source, target, ts, weight):
        self.database.query(
            "g.V(a).addE('knows').to(__.V(b)).property('ts', ts).property('weight', w)", a=source, b=target, ts=ts, w=weight
        )

    def insert_batch(self, source, target, ts, weight):
        with self.database.ingest() as w:
            w.add_edges(("Person", "knows", "Person"), {"src": source, "dst": target, "ts": ts, "weight": weight})

    def edge_count(self):
        return self.database.query("g.E().hasLabel('knows').count()").to_list()[0]

    def close(self):
        self.database.close()


def make():
    return Mangrove()
