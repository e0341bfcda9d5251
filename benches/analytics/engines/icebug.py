"""icebug: NetworKit on Arrow arrays. It has a Python environment of its own, because its module bears NetworKit's name."""

import networkit as nk
import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from .networkit import Engine as NetworKit


class Engine(NetworKit):
    def __init__(self, data, threads, file):
        nk.setNumberOfThreads(threads)
        self.first, vertices = int(data["first"]), int(data["vertices"])
        half = sp.coo_array((data["weight"].astype(float), (data["source"], data["target"])), shape=(vertices, vertices)).tocsr()
        both = (half + half.T).tocsr()
        arrays = pa.array(both.indices.astype(np.uint64)), pa.array(both.indptr.astype(np.uint64))
        self.graph = nk.graph.Graph.fromCSR(vertices, False, *arrays)
        self.weighted = nk.graph.Graph.fromCSR(vertices, False, *arrays, out_weights=pa.array(both.data))

    tc = None  # its edges cannot be numbered
