"""Neo4j embedded, community edition."""

import re
from functools import cached_property

from .java_engine import Java, Shaped
from .kuzu_engine import FILTER, GROUP, HOP1, HOP2, POINT

# One MATCH never follows an edge twice. Two hops never do, because nobody knows themselves. Three hops may, so they need two or
# three MATCHes.
HOP3 = (
    "MATCH (p:Person)-[:knows]->(r:Person) WHERE p.id = $x WITH DISTINCT r MATCH (r)-[:knows]->(s:Person)"
    " WITH DISTINCT s MATCH (s)-[:knows]->(q:Person) RETURN count(DISTINCT q)",
    "MATCH (p:Person)-[:knows]->()-[:knows]->(s:Person) WHERE p.id = $x WITH DISTINCT s MATCH (s)-[:knows]->(q:Person)"
    " RETURN count(DISTINCT q)",
)
BFS4 = "MATCH (p:Person)-[:knows*0..4]->(q:Person) WHERE p.id = $x RETURN count(DISTINCT q)"
INSERT = (
    "UNWIND $rows AS row MATCH (a:Person {id: row[0]}), (b:Person {id: row[1]}) CREATE (a)-[:knows {ts: row[2], weight: row[3]}]->(b)"
)


ANYONE = re.compile(r"\(([qrs]?):Person\)")


class Neo4j(Java):
    artifact = "neo4j"
    languages = ("cypher", "neo4j.cypher")
    note = (
        "embedded, community edition; loaded in transactions, because only the server edition has the offline import; old transaction logs"
        " are deleted; warm; CPU of the querying thread alone"
    )

    def queries(self):
        def shaped(text, shape):
            return Shaped(self.prepare(text), shape)

        def scalars(*texts):
            """Each text also in a form that does not test the label of vertices on the way, which are all people."""
            texts = dict.fromkeys(form for text in texts for form in (text, ANYONE.sub(r"(\1)", text)))
            return [shaped(text, lambda rows: rows[0][0]) for text in texts]

        return {
            "point": [shaped(POINT, lambda rows: rows[0])],
            "hop1": [shaped(HOP1, lambda rows: [row[0] for row in rows])],
            "hop2": scalars(*HOP2),
            "hop3": scalars(*HOP3),
            "bfs4": scalars(BFS4),
            "filter_count": scalars(FILTER),
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
