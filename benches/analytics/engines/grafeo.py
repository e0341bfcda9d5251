"""grafeo: a graph database with algorithms. Only its PageRank and its components look at edges both ways."""

import grafeo
import numpy as np

from . import Common

EDGES_AT_ONCE = 100_000


class Engine(Common):
    def __init__(self, data, threads, file):
        self.database, count = grafeo.GrafeoDB(), int(data["vertices"])
        nodes = self.database.batch_create_nodes_with_props("v", [{} for _ in range(count)])
        for first in range(0, len(data["source"]), EDGES_AT_ONCE):
            ends = zip(data["source"][first : first + EDGES_AT_ONCE].tolist(), data["target"][first : first + EDGES_AT_ONCE].tolist())
            self.database.batch_create_edges([(nodes[source], nodes[target], "e", {}) for source, target in ends])

    def pagerank(self):
        # Without a tolerance that it can meet, it makes all iterations.
        ranks = self.database.algorithms.pagerank(max_iterations=20, tolerance=0.0, directed=False)
        return np.fromiter(ranks.values(), dtype=float)

    def cc(self):
        return self.database.algorithms.connected_component_count()

    def tc(self):
        return self.database.algorithms.total_triangles()
