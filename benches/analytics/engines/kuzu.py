"""Kuzu: a graph database with algorithms, on a graph that it projects."""

import shutil
import tempfile
from pathlib import Path

import kuzu
import numpy as np
import pyarrow as pa

from . import Common


class Engine(Common):
    def __init__(self, data, threads, file):
        self.folder = Path(tempfile.mkdtemp())
        self.connection = kuzu.Connection(kuzu.Database(str(self.folder / "graph")), num_threads=threads)
        vertices = pa.table({"id": np.arange(int(data["vertices"]), dtype=np.int64)})
        # Its PageRank follows edges one way.
        ends = np.concatenate((data["source"], data["target"])), np.concatenate((data["target"], data["source"]))
        edges = pa.table({"from": ends[0].astype(np.int64), "to": ends[1].astype(np.int64)})
        for text in (
            "CREATE NODE TABLE v(id INT64 PRIMARY KEY)",
            "CREATE REL TABLE e(FROM v TO v)",
            "COPY v FROM vertices",
            "COPY e FROM edges",
            "LOAD algo",
            "CALL project_graph('all', ['v'], ['e'])",
        ):
            assert vertices and edges  # the texts name them
            self.connection.execute(text)

    def __del__(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def column(self, text):
        return self.connection.execute(text).get_as_arrow()[0].to_numpy()

    def pagerank(self):
        text = "CALL page_rank('all', dampingFactor := 0.85, maxIterations := 20, tolerance := 0.0) RETURN rank"
        return self.column(text)

    def cc(self):
        return len(np.unique(self.column("CALL weakly_connected_components('all') RETURN group_id")))
