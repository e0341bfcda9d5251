"""NetworKit: parallel, in memory."""

import networkit as nk

from . import Common


class Engine(Common):
    def __init__(self, data, threads, file):
        nk.setNumberOfThreads(threads)
        self.first = int(data["first"])
        ends = (data["source"], data["target"])
        self.graph = nk.GraphFromCoo(ends, n=int(data["vertices"]))
        self.weighted = nk.GraphFromCoo((data["weight"].astype(float), ends), n=int(data["vertices"]), weighted=True)

    def pagerank(self):
        ranks = nk.centrality.PageRank(self.graph, damp=0.85, tol=1e-12)
        ranks.maxIterations = 20
        return ranks.run().scores()

    def bfs(self):
        return nk.distance.BFS(self.graph, self.first, storePaths=False).run().getDistances()

    def sssp(self):
        return nk.distance.Dijkstra(self.weighted, self.first, storePaths=False).run().getDistances()

    def cc(self):
        return nk.components.ParallelConnectedComponents(self.graph).run().numberOfComponents()

    def tc(self):
        self.graph.indexEdges()
        return sum(nk.sparsification.TriangleEdgeScore(self.graph).run().scores()) / 3
