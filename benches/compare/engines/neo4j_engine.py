"""Neo4j embedded, community edition."""

from functools import cached_property

from .java_engine import Java, Shaped
from .kuzu_engine import FILTER, GROUP, HOP1, HOP2, HOP3, POINT

# A MATCH goes along no edge twice, so that three hops have to be three of them.
HOP3 = HOP3[:1]
BFS4 = "MATCH (p:Person)-[:knows*0..4]->(q:Person) WHERE p.id = $x RETURN count(DISTINCT q)"
INSERT = (
    "UNWIND $rows AS row MATCH (a:Person {id: row[0]}), (b:Person {id: row[1]}) CREATE (a)-[:knows {ts: row[2], weight: row[3]}]->(b)"
)


class Neo4j(Java):
    artifact = "neo4j"
    languages = ("cypher", "neo4j.cypher")
    note = "embedded, community edition; warm; CPU of the querying thread alone"

    def queries(self):
        def shaped(text, shape):
            return Shaped(self.prepare(text), shape)

        def scalar(text):
            return shaped(text, lambda rows: rows[0][0])

        return {
            "point": [shaped(POINT, lambda rows: rows[0])],
            "hop1": [shaped(HOP1, lambda rows: [row[0] for row in rows])],
            "hop2": [scalar(text) for text in HOP2],
            "hop3": [scalar(text) for text in HOP3],
            "bfs4": [scalar(BFS4)],
            "filter_count": [scalar(FILTER)],
            "group_count": [shaped(GROUP, dict)],
        }

    @cached_property
    def insert(self):
        return self.prepare_change(INSERT)

    def insert_edge(self, *edge):
        self.insert({"rows": [edge]})

    def insert_batch(self, *columns):
        return self.insert.timed({"rows": list(zip(*(column.tolist() for column in columns)))}, 0)[:2]

    def edge_count(self):
        return self.prepare_change("MATCH ()-[k:knows]->() RETURN count(k)")({})[0][0]


def make():
    return Neo4j("neo4j")
