"""Neo4j embedded, community edition."""

from .java_engine import Java


class Neo4j(Java):
    artifact = "neo4j"
    languages = ("cypher", "neo4j.cypher")
    note = "embedded, community edition; warm; CPU of the querying thread alone"


def make():
    return Neo4j("neo4j")
