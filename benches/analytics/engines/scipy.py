"""SciPy: sparse matrices, one thread."""

import numpy as np
import scipy.sparse as sparse
from scipy.sparse import csgraph

from . import Common


class Engine(Common):
    def __init__(self, data, threads, file):
        vertices, self.first = int(data["vertices"]), int(data["first"])
        ends = (np.concatenate((data["source"], data["target"])), np.concatenate((data["target"], data["source"])))
        self.weighted = sparse.csr_matrix((np.tile(data["weight"].astype(float), 2), ends), shape=(vertices, vertices))
        self.matrix = sparse.csr_matrix((np.ones(self.weighted.nnz), self.weighted.indices, self.weighted.indptr), shape=self.weighted.shape)

    def pagerank(self):
        degrees = np.diff(self.matrix.indptr)
        vertices = len(degrees)
        ranks = np.full(vertices, 1 / vertices)
        for _ in range(20):
            shares = np.divide(ranks, degrees, out=np.zeros(vertices), where=degrees > 0)
            ranks = (0.15 + 0.85 * ranks[degrees == 0].sum()) / vertices + 0.85 * (self.matrix @ shares)
        return ranks

    def sssp(self):
        return csgraph.dijkstra(self.weighted, directed=True, indices=self.first)

    def cc(self):
        return csgraph.connected_components(self.matrix, directed=False)[0]
