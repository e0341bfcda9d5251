"""igraph: one thread."""

import numpy as np

import igraph

from . import Common


class Engine(Common):
    def __init__(self, data, threads, file):
        self.graph = igraph.Graph(n=int(data["vertices"]), edges=np.column_stack((data["source"], data["target"])))
        self.weight, self.first = data["weight"].astype(float).tolist(), int(data["first"])

    def answer(self, name, got):
        # Its PageRank goes on until it converges, so it has no answer after 20 iterations.
        return [] if name == "pagerank" else super().answer(name, got)

    def pagerank(self):
        return self.graph.pagerank(damping=0.85)

    def bfs(self):
        return self.graph.distances(source=self.first)[0]

    def sssp(self):
        return self.graph.distances(source=self.first, weights=self.weight)[0]

    def cc(self):
        return len(self.graph.connected_components(mode="weak"))
