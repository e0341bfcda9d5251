"""TinkerGraph, Apache TinkerPop's own graph in memory."""

from .java_engine import Java


class TinkerGraph(Java):
    artifact = "tinkerpop"
    languages = ("gremlin", "tinkergraph.gremlin")
    persistent = False
    durable = False
    concurrent_writes = False  # its maps are not made for that
    mix_operations = 20_000  # it parses them all before the clock runs
    note = "in memory only; warm; CPU of the querying thread alone, parsing left out, as in a Java program"


def make():
    return TinkerGraph("tinkergraph")
