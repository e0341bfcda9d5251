"""NetworkX: Python objects in memory, for scale."""

from collections import Counter

import networkx as nx

from graph import read

from . import Engine


class NetworkX(Engine):
    name = "networkx"
    persistent = False
    durable = False
    note = "in memory only; loads again in every process"

    def load(self, path, graph):
        people, knows = *graph.vertices, *graph.edges
        self.graph = nx.MultiDiGraph()
        self.graph.add_nodes_from((i, {"name": name, "age": age}) for i, name, age in read(graph.folder, people))
        self.graph.add_edges_from((s, t, {"ts": ts, "weight": weight}) for s, t, ts, weight in read(graph.folder, knows))

    def open(self, path):
        pass

    def queries(self):
        graph = self.graph

        def point(x):
            data = graph.nodes[x]
            return data["name"], data["age"]

        def hops(depth):
            def run(x):
                frontier = {x}
                for _ in range(depth):
                    frontier = {target for vertex in frontier for target in graph.adj[vertex]}
                return len(frontier)

            return run

        return {
            "point": [point],
            "hop1": [lambda x: [target for _, target in graph.out_edges(x)]],
            "hop2": [hops(2)],
            "hop3": [hops(3)],
            "bfs4": [lambda x: sum(1 for _ in nx.single_source_shortest_path_length(graph, x, cutoff=4))],
            "filter_count": [lambda x: sum(age > x for _, age in graph.nodes(data="age"))],
            "group_count": [lambda _: dict(Counter(age for _, age in graph.nodes(data="age")))],
        }

    def insert_edge(self, source, target, ts, weight):
        self.graph.add_edge(source, target, ts=ts, weight=weight)

    def insert_batch(self, source, target, ts, weight):
        rows = zip(source.tolist(), target.tolist(), ts.tolist(), weight.tolist())
        self.graph.add_edges_from((s, t, {"ts": when, "weight": w}) for s, t, when, w in rows)

    def edge_count(self):
        return self.graph.number_of_edges()

    def close(self):
        pass


def make():
    return NetworkX()
