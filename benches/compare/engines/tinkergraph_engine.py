"""TinkerGraph, Apache TinkerPop's own graph in memory."""

from .java_engine import Java


class TinkerGraph(Java):
    artifact = "tinkerpop"
    languages = ("gremlin",)
    persistent = False
    note = "in memory only; warm; CPU of the querying thread alone, parsing left out, as in a Java program"


def make():
    return TinkerGraph("tinkergraph")
