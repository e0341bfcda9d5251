"""SuiteSparse:GraphBLAS by python-graphblas."""

import graphblas as gb
import numpy as np
from graphblas import Matrix, Vector, semiring

from . import Common


class Engine(Common):
    def __init__(self, data, threads, file):
        gb.ss.config["nthreads"] = threads
        self.vertices = int(data["vertices"])
        source, target = np.concatenate((data["source"], data["target"])), np.concatenate((data["target"], data["source"]))
        self.matrix = Matrix.from_coo(source, target, 1.0, nrows=self.vertices, ncols=self.vertices)
        self.degrees = np.bincount(source, minlength=self.vertices)
        lower = source > target
        self.lower = Matrix.from_coo(source[lower], target[lower], 1, nrows=self.vertices, ncols=self.vertices)

    def pagerank(self):
        ranks, degrees = np.full(self.vertices, 1 / self.vertices), self.degrees
        for _ in range(20):
            shares = np.divide(ranks, degrees, out=np.zeros(self.vertices), where=degrees > 0)
            received = self.matrix.mxv(Vector.from_dense(shares), semiring.plus_second).new().to_dense(fill_value=0.0)
            ranks = (0.15 + 0.85 * ranks[degrees == 0].sum()) / self.vertices + 0.85 * received
        return ranks

    def tc(self):
        found = self.lower.mxm(self.lower.T, semiring.plus_pair).new(mask=self.lower.S)
        return found.reduce_scalar("plus").new().value
