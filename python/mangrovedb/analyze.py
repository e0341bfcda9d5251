"""The algorithms on the whole graph, as methods of `db.analyze`."""

import difflib

from . import _convert
from . import _mangrove as native


class Analyze:
    """Algorithms on the whole graph. Each returns an `Analysis`: a value for each vertex, and a summary.

    All take these arguments, too:

    vertices    a label or labels of vertices; without it, all
    edges       a label or labels of edges; without it, all. Edges that end at other vertices are left out
    vertices_where, edges_where
                tests of properties that they must pass, as text of a query: "has('age', gt(30))". Those of edges test one property
    directed    whether edges lead one way only; with False, each can be followed both ways
    write       a property of vertices to write the values to, in one transaction. A vertex without a value loses an older one
    threads     how many threads work; without it, one for each core
    partitions  runs the algorithm as a vertex program over so many partitions, as on many machines. The summary then also says how
                many values and bytes crossed between them
    memory_mb   the most memory; without it, what the machine has left. Too little is an error before the work begins
    timeout     seconds after which the work stops, and nothing is written
    checkpoint_every
                seconds after which the nodes of a graph keep what they have, in the place of their backups; without it, 60
    progress    a callable that gets (stage, done, of); True or False for a line on the terminal or none

    `weight` names a property of edges. An edge without it weighs 1, as all do without `weight`.

    >>> db.analyze.pagerank(vertices="airport", edges="route", write="rank")
    pagerank: 4 vertices, ...
    >>> db.query("g.V().hasLabel('airport').order().by('rank', desc).limit(1).values('code')").to_list()
    ['AUS']
    """

    def __init__(self, db):
        self._db = db

    def __repr__(self):
        names = ", ".join(name for name in vars(Analyze) if not name.startswith("_"))
        return f"the algorithms of {self._db!r}: {names}"

    def _run(self, name, options, **common):
        given = {option: value for option, value in options.items() if value is not None}
        unknown = next((argument for argument in common if argument not in _COMMON), None)
        if unknown is not None:
            known = sorted({*options, *_COMMON})
            near = difflib.get_close_matches(unknown, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"its arguments are {', '.join(known)}"
            raise TypeError(f"{name}() got an unexpected keyword argument {unknown!r}; {hint}")
        return native.analyze(self._db, name, given, **{**_COMMON, **common})

    def betweenness(self, samples=None, seed=0, normalized=True, **common):
        """Betweenness centrality: which share of the shortest paths between other vertices lead through a vertex. Edges count one each.

        `samples` draws so many vertices from which paths begin, and scales the sums up: an estimate. `normalized` divides by the number
        of pairs of other vertices. O(E) for each of these vertices.

        >>> round(db.analyze.betweenness().to_dict()["AUS"], 3)
        0.417
        """
        return self._run("betweenness", {"samples": samples, "seed": seed, "normalized": normalized}, **common)

    def bfs(self, source, **common):
        """Breadth-first search: the least number of edges from the vertex with the id `source` to each. O(V + E).

        >>> db.analyze.bfs(source="AUS").to_dict()
        {'AUS': 0, 'DFW': 1, 'LHR': 1, 'WLG': 2, 'US': 1}
        """
        return self._run("bfs", {"source": source}, **common)

    def cdlp(self, iterations=10, **common):
        """Communities by label propagation, as LDBC Graphalytics defines it: the value is the id that names the community.
        O(E) for each iteration.

        >>> db.analyze.cdlp(iterations=3, directed=False).summary["communities"]
        2
        """
        return self._run("cdlp", {"iterations": iterations}, **common)

    def coloring(self, **common):
        """Colours, as numbers from 0, such that no two linked vertices have the same. Vertices with most links choose first.
        O(V·log V + E).

        >>> db.analyze.coloring().summary
        {'colors': 2}
        """
        return self._run("coloring", {}, **common)

    def kcore(self, **common):
        """Core numbers: the greatest k for which a vertex is among those that are linked with k others among them. Directions,
        parallel edges and loops do not matter. O(V + E).

        >>> db.analyze.kcore().to_dict()
        {'AUS': 1, 'DFW': 1, 'LHR': 1, 'WLG': 1, 'US': 1}
        """
        return self._run("kcore", {}, **common)

    def lcc(self, **common):
        """The local clustering coefficient: which share of a vertex's pairs of neighbours are linked. O(E^1.5).

        >>> db.analyze.lcc().summary
        {'average': 0.0}
        """
        return self._run("lcc", {}, **common)

    def leiden(self, resolution=1.0, weight=None, **common):
        """Communities by modularity, none of which falls apart. Greater values of `resolution` give smaller ones. Directions do not
        matter. The value is a number from 0. O(E) for each level.

        >>> db.analyze.leiden().summary["communities"]
        2
        """
        return self._run("leiden", {"resolution": resolution}, weight=weight, **common)

    def louvain(self, resolution=1.0, weight=None, **common):
        """Communities by modularity, as Louvain finds them; `leiden` finds better ones. O(E) for each level.

        >>> db.analyze.louvain().summary["levels"]
        1
        """
        return self._run("louvain", {"resolution": resolution}, weight=weight, **common)

    def matching(self, weight=None, **common):
        """A matching: edges of which no two share a vertex, heaviest first. The value is the id of the vertex that each is matched
        with. Its weight is at least half of the greatest possible. O(E·log E).

        >>> db.analyze.matching(weight="dist").summary
        {'edges': 2, 'weight': 12821.0}
        """
        return self._run("matching", {}, weight=weight, **common)

    def networkx(self, vertices=None, edges=None, directed=True, vertices_where=None, edges_where=None):
        """A part of the graph for NetworkX's functions, which then run on Mangrove: `nx.connected_components(part)`. It is read anew by
        each function. Needs the extra `networkx`.

        >>> import networkx as nx
        >>> routes = db.analyze.networkx(vertices="airport", edges="route", directed=False)
        >>> sorted(next(nx.connected_components(routes)))
        ['AUS', 'DFW', 'LHR', 'WLG']
        """
        from .nx_backend import DatabaseGraph

        part = {"vertices": vertices, "edges": edges, "vertices_where": vertices_where, "edges_where": edges_where}
        return DatabaseGraph(self._db, directed, **{name: value for name, value in part.items() if value is not None})

    def pagerank(
        self,
        damping=0.85,
        iterations=None,
        tolerance=None,
        personalization=None,
        start=None,
        dangling=None,
        weight=None,
        **common,
    ):
        """PageRank. Ranks sum to 1. A walk that cannot go on begins anew anywhere, as LDBC Graphalytics defines it.

        It ends after `iterations`, or when all ranks together change by less than `tolerance` (0.000001, after at most 100
        iterations). With both, it ends when either says so. `personalization` maps ids to weights: walks begin there. `start` gives
        the ranks of the first iteration, and `dangling` says where walks go on that cannot follow an edge. O(E) for each iteration.

        >>> round(db.analyze.pagerank(iterations=30).to_dict()["AUS"], 3)
        0.311
        """
        options = {"damping": damping, "iterations": iterations, "tolerance": tolerance}
        options |= {"personalization": personalization, "start": start, "dangling": dangling}
        return self._run("pagerank", options, weight=weight, **common)

    def project(self, weight=None, **common):
        """The chosen part of the graph as arrays, for vertex programs of your own: a `Projection`. It is a snapshot. It takes the
        arguments of all algorithms except `write`, `partitions` and `checkpoint_every`.

        >>> len(db.analyze.project(vertices="airport"))
        4
        """
        return Projection(self._db, native.project(self._db, **{**_PROJECTED, "weight": weight, **common}))

    def scc(self, **common):
        """Strongly connected components: the value is the id of the component's first vertex. O(V + E).

        >>> db.analyze.scc().to_dict()
        {'AUS': 'AUS', 'DFW': 'AUS', 'LHR': 'AUS', 'WLG': 'WLG', 'US': 'US'}
        """
        return self._run("scc", {}, **common)

    def similarity(self, top=10, at_least=None, **common):
        """Pairs of vertices that have many targets of edges in common, by Jaccard's measure: the columns `id`, `other` and `value`. For
        each vertex come the most similar others, at most `top`. O(Σ degree²).

        >>> db.analyze.similarity(top=1).to_arrow().slice(0, 1).to_pylist()
        [{'id': 'DFW', 'other': 'LHR', 'value': 0.5}]
        """
        return self._run("similarity", {"top": top, "at_least": at_least}, **common)

    def sssp(self, source, weight=None, delta=None, **common):
        """Single-source shortest paths: the length of the shortest path from the vertex with the id `source` to each. Weights are 0
        or more. `delta` changes the speed only.

        >>> db.analyze.sssp(source="LHR", weight="dist", edges="route").to_dict()["WLG"]
        13011.0
        """
        return self._run("sssp", {"source": source, "delta": delta}, weight=weight, **common)

    def triangles(self, **common):
        """The number of triangles that a vertex is part of, whatever the direction of edges. O(E^1.5).

        >>> db.analyze.triangles().summary
        {'triangles': 0}
        """
        return self._run("triangles", {}, **common)

    def walks(self, length=80, per_vertex=10, p=1.0, q=1.0, seed=0, weight=None, **common):
        """Random walks, as node2vec takes them: the columns `id` and `value`, a list of ids. `length` is the most vertices of a walk. A
        greater `p` goes back less often, a greater `q` stays near more often. The same `seed` gives the same walks. O(steps).

        >>> db.analyze.walks(length=2, per_vertex=1, vertices="airport").to_arrow()["value"][2].as_py()
        ['LHR', 'AUS']
        """
        options = {"length": length, "per_vertex": per_vertex, "p": p, "q": q, "seed": seed}
        return self._run("walks", options, weight=weight, **common)

    def wcc(self, **common):
        """Weakly connected components: the value is the id of the component's first vertex. O(V + E).

        >>> db.analyze.wcc(edges="route").to_dict()
        {'AUS': 'AUS', 'DFW': 'AUS', 'LHR': 'AUS', 'WLG': 'AUS', 'US': 'US'}
        """
        return self._run("wcc", {}, **common)


_COMMON = dict(
    vertices=None,
    edges=None,
    vertices_where=None,
    edges_where=None,
    weight=None,
    directed=True,
    write=None,
    threads=None,
    partitions=None,
    memory_mb=None,
    timeout=None,
    checkpoint_every=None,
    progress=None,
)
_PROJECTED = dict(vertices=None, edges=None, vertices_where=None, edges_where=None, directed=True, threads=None, memory_mb=None, timeout=None, progress=None)


class Projection:
    """A part of the graph as arrays, for vertex programs over whole arrays. `gather` brings the values of neighbours together; NumPy does
    the rest. Nothing is called for each vertex. It needs NumPy and pyarrow.

    >>> import numpy as np
    >>> graph = db.analyze.project(edges="route", vertices="airport")
    >>> rank = np.full(len(graph), 1 / len(graph))
    >>> for _ in range(30):
    ...     given = np.divide(rank, graph.out_degrees, out=np.zeros(len(graph)), where=graph.out_degrees > 0)
    ...     lost = rank[graph.out_degrees == 0].sum()
    ...     rank = (0.15 + 0.85 * lost) / len(graph) + 0.85 * graph.gather(given)
    >>> graph.write("my_rank", rank)
    {'written': 4, 'replaced': 0}
    >>> db.query("g.V().hasLabel('airport').order().by('my_rank', desc).values('code').limit(1)").one()
    'AUS'
    """

    def __init__(self, db, projected):
        self._db, self._projected = db, projected
        table = _convert.to_arrow(projected.out_degrees())
        self.ids = table["id"]
        self.out_degrees = table["value"].to_numpy()

    def __len__(self):
        return len(self._projected)

    def __repr__(self):
        return f"a projection of {len(self):,} vertices of {self._db!r}"

    def gather(self, values, reduce="sum", along=None):
        """For each vertex, the values of its in-neighbours as one: their "sum", "min" or "max". `values` has one for each vertex, in the
        order of `ids`. On its way a value may be multiplied by the weight of the edge (`along="times"`), or the weight is added
        (`along="plus"`). Without in-neighbours a sum is 0, a minimum infinite, and a maximum minus infinite. O(E).

        >>> import numpy as np
        >>> graph = db.analyze.project(edges="route", weight="dist")
        >>> far = np.where(np.array(graph.ids.to_pylist()) == "LHR", 0.0, np.inf)
        >>> while (nearer := np.minimum(far, graph.gather(far, "min", along="plus"))).sum() < far.sum() or (nearer < far).any():
        ...     far = nearer
        >>> dict(zip(graph.ids.to_pylist(), far.tolist()))["WLG"]
        13011.0
        """
        return _convert.to_arrow(self._projected.gather(_table(values, float), reduce, along))["value"].to_numpy()

    def write(self, key, values):
        """Writes a value for each vertex to a property, in one transaction. Nulls remove it. Vertices that were removed meanwhile are
        passed over. Returns how many vertices got a value, and how many of the property's values it replaced or removed.

        >>> graph = db.analyze.project(vertices="airport")
        >>> graph.write("degree", graph.out_degrees)
        {'written': 4, 'replaced': 0}
        >>> db.query("g.V('AUS').values('degree')").one()
        2.0
        """
        written, replaced = self._projected.write(self._db, key, _table(values, None))
        return {"written": written, "replaced": replaced}


def _table(values, kind):
    import numpy
    import pyarrow

    if kind is not None:
        values = numpy.asarray(values, dtype=kind)
    return pyarrow.table({"value": values})
