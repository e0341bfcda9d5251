"""NetworkX's functions on Mangrove's algorithms: `nx.pagerank(G, backend="mangrove")`.

`G` is a NetworkX graph, whose edges are copied into arrays once; or an open database, which is read where it is; or a part of it:
`db.analyze.networkx(edges="knows", directed=False)`. The results are NetworkX's: dicts by node, or sets of nodes.
"""

import uuid

import networkx as nx

from . import _convert
from . import _mangrove as native


class Graph:
    """A graph that NetworkX passes on to Mangrove. It has no more of NetworkX's methods than its dispatcher needs."""

    __networkx_backend__ = "mangrove"

    def __init__(self, directed, multigraph):
        self._directed, self._multigraph = directed, multigraph

    def is_directed(self):
        return self._directed

    def is_multigraph(self):
        return self._multigraph

    def __contains__(self, node):
        return self.key(node) is not None

    def run(self, algorithm, weight=None, **options):
        """The values of the nodes, in order, and the summary."""
        found = self.analyze(algorithm, weight, {name: value for name, value in options.items() if value is not None})
        return found.to_dict(), found.summary


class DatabaseGraph(Graph):
    """A part of an open database. Vertices are known by their ids. Functions need not mind that several edges may join two vertices."""

    def __init__(self, db, directed=True, **part):
        super().__init__(directed, False)
        self.db, self.part = db, part

    def __repr__(self):
        return f"a graph of {self.db!r} for NetworkX"

    def __len__(self):
        return len(self.db.analyze.project(**self.part))

    def __iter__(self):
        return iter(self.db.analyze.project(**self.part).ids.to_pylist())

    def labels(self, of):
        labels = self.part.get(of)
        return [labels] if isinstance(labels, str) else labels

    def key(self, node):
        if not isinstance(node, (int, str, uuid.UUID)):
            return None
        labels = self.labels("vertices")
        test = f".hasLabel({', '.join(map(repr, labels))})" if labels else ""
        test += f".{where}" if (where := self.part.get("vertices_where")) else ""
        return node if self.db.query(f"g.V(node){test}.limit(1).count()", node=node).one() else None

    def analyze(self, algorithm, weight, options):
        named = {} if weight is None else {"weight": weight}
        return getattr(self.db.analyze, algorithm)(**options, **named, directed=self._directed, **self.part)

    def weight(self, name):
        # NetworkX's functions look for an attribute of this name by default, and do without.
        labels, edges = self.labels("edges"), self.db.schema()["edges"]
        has_weight = any("weight" in edges[label]["properties"] for label in labels or edges if label in edges)
        return name if name != "weight" or has_weight else None

    def node(self, number):
        return number

    def has_loops(self):
        label = ", ".join(map(repr, self.labels("edges") or []))
        return bool(self.db.query(f"g.V().as('v').out({label}).where(eq('v')).limit(1).count()").one())

    def shortest_paths(self, source, target, weight, end):
        """What `end` makes of the shortest paths between two vertices; the end is the Gremlin text after the search."""
        edges = f"__.{'outE' if self._directed else 'bothE'}({', '.join(map(repr, self.labels('edges') or []))})"
        lengths = "__.coalesce(__.values(weight), __.constant(1))"
        text = f"g.V(a).shortestPath().with(ShortestPath.edges, {edges}).with(ShortestPath.target, __.hasId(b))"
        text += f".with(ShortestPath.distance, {lengths})" if weight else ""
        return self.db.query(text + end, a=source, b=target, **({"weight": weight} if weight else {})).to_list()

    def shortest_path(self, source, target, weight):
        """The ids along a shortest path, and its length; nothing if there is none."""
        end = ".with(ShortestPath.includeEdges)" if weight else ""
        end += ".limit(1).project('path', 'edges').by(unfold().is(typeOf(GType.VERTEX)).id().fold())"
        end += ".by(unfold().is(typeOf(GType.EDGE)).coalesce(values(weight), constant(1)).fold())" if weight else ".by(constant([]))"
        found = self.shortest_paths(source, target, weight, end)
        return [(one["path"], sum(one["edges"]) if weight else len(one["path"]) - 1) for one in found]


class ArrayGraph(Graph):
    """The edges of a NetworkX graph. Nodes are known by their numbers."""

    def __init__(self, graph, edge_attrs):
        import numpy

        super().__init__(graph.is_directed(), graph.is_multigraph())
        self.nodes = list(graph)
        self.numbers = {node: number for number, node in enumerate(self.nodes)}
        pairs = numpy.array([(self.numbers[a], self.numbers[b]) for a, b in graph.edges()], dtype=numpy.uint32).reshape(-1, 2)
        self.ends = numpy.ascontiguousarray(pairs[:, 0]), numpy.ascontiguousarray(pairs[:, 1])
        self.weights = {name: [weight for *_, weight in graph.edges(data=name, default=default)] for name, default in edge_attrs.items()}
        self.arrays = {}

    def __len__(self):
        return len(self.nodes)

    def __iter__(self):
        return iter(self.nodes)

    def key(self, node):
        try:
            return self.numbers.get(node)
        except TypeError:  # it cannot be a node
            return None

    def analyze(self, algorithm, weight, options):
        if weight not in self.arrays:
            import numpy
            import pyarrow

            columns = {"source": self.ends[0], "target": self.ends[1]}
            if weight is not None:
                columns["weight"] = _numbers(self.weights[weight])
            self.arrays[weight] = native._Arrays(len(self.nodes), pyarrow.table(columns), self._directed)
        try:
            return self.arrays[weight].analyze(algorithm, options)
        except native.QueryError as error:
            # NetworkX itself may have an answer.
            raise NotImplementedError(str(error)) from error

    def run(self, algorithm, weight=None, **options):
        values, summary = super().run(algorithm, weight, **options)
        return dict(zip(self.nodes, values.values())), summary

    def weight(self, name):
        return name

    def node(self, number):
        return self.nodes[number]

    def has_loops(self):
        return bool((self.ends[0] == self.ends[1]).any())


def _numbers(weights):
    import numpy

    # NetworkX hides edges whose weight is None.
    if any(weight is None for weight in weights):
        raise NotImplementedError("weights that are None")
    return numpy.array(weights, dtype=float)


def _graph(graph):
    if isinstance(graph, native.Database):
        return DatabaseGraph(graph)
    return graph if isinstance(graph, Graph) else convert_from_nx(graph)


def convert_from_nx(graph, *, edge_attrs=None, preserve_edge_attrs=False, **kwargs):
    """NetworkX calls it."""
    if preserve_edge_attrs and edge_attrs is None:
        raise NotImplementedError("weights that are functions")
    return ArrayGraph(graph, edge_attrs or {})


def convert_to_nx(result, **kwargs):
    """NetworkX calls it. No function here gives a graph."""
    return result


def can_run(name, args, kwargs):
    """Whether Mangrove has the function for these arguments; otherwise, why not."""
    refuses = _REFUSALS.get(name)
    try:
        return True if refuses is None else refuses(*args, **kwargs) or True
    except TypeError as error:  # arguments that the function does not have
        return str(error)


def _known(graph, node, what="Source"):
    key = graph.key(node)
    if key is None:
        raise nx.NodeNotFound(f"{what} {node} is not in G")
    return key


def pagerank(G, alpha=0.85, personalization=None, max_iter=100, tol=1.0e-6, nstart=None, weight="weight", dangling=None):
    graph = _graph(G)
    nodes = len(graph)
    if nodes == 0:
        return {}

    def known(weights, name):
        if weights is None:
            return None
        weights = {key: float(weights[node]) for node in weights if (key := graph.key(node)) is not None}
        if sum(weights.values()) == 0:
            raise ZeroDivisionError(f"the weights of {name} sum to 0")
        return weights

    options = {"personalization": known(personalization, "personalization"), "start": known(nstart, "nstart")}
    options["dangling"] = known(dangling, "dangling")
    ranks, summary = graph.run(
        "pagerank", graph.weight(weight), damping=alpha, iterations=max_iter, tolerance=nodes * tol, **options
    )
    if not summary["converged"]:
        raise nx.PowerIterationFailedConvergence(max_iter)
    return ranks


def _near(values, source, cutoff):
    """The values there are, the least first."""
    is_near = lambda node, value: value is not None and (cutoff is None or value <= cutoff or node == source)
    found = [(value, node) for node, value in values.items() if is_near(node, value)]
    return {node: value for value, node in sorted(found, key=lambda pair: pair[0])}


def single_source_shortest_path_length(G, source, cutoff=None):
    graph = _graph(G)
    return _near(graph.run("bfs", source=_known(graph, source))[0], source, cutoff)


def single_source_dijkstra_path_length(G, source, cutoff=None, weight="weight"):
    graph = _graph(G)
    return _near(graph.run("sssp", graph.weight(weight), source=_known(graph, source, "Node"))[0], source, cutoff)


def _two_ends(G, source, target, method="dijkstra"):
    if method not in ("dijkstra", "bellman-ford"):
        raise ValueError(f"method not supported: {method}")
    graph = _graph(G)
    for node, what in (source, "Source"), (target, "Target"):
        _known(graph, node, what)
    return graph


def _shortest_path(G, source, target, weight=None, method="dijkstra"):
    graph = _two_ends(G, source, target, method)
    found = graph.shortest_path(source, target, weight and graph.weight(weight))
    if not found:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return found[0]


def shortest_path(G, source=None, target=None, weight=None, method="dijkstra"):
    return _shortest_path(G, source, target, weight, method)[0]


def shortest_path_length(G, source=None, target=None, weight=None, method="dijkstra"):
    return _shortest_path(G, source, target, weight, method)[1]


def bidirectional_shortest_path(G, source, target):
    return _shortest_path(G, source, target)[0]


def bidirectional_dijkstra(G, source, target, weight="weight"):
    path, length = _shortest_path(G, source, target, weight)
    return length, path


def has_path(G, source, target):
    return bool(_two_ends(G, source, target).shortest_path(source, target, None))


def all_shortest_paths(G, source, target, weight=None, method="dijkstra"):
    graph = _two_ends(G, source, target, method)
    # Several edges may join two vertices.
    found = graph.shortest_paths(source, target, weight and graph.weight(weight), ".map(unfold().id().fold()).dedup()")
    if not found:
        raise nx.NetworkXNoPath(f"Target {target} cannot be reached from given sources")
    yield from found


def _groups(values):
    groups = {}
    for node, group in values.items():
        groups.setdefault(group, set()).add(node)
    return groups


def _components(algorithm):
    def components(G):
        yield from _groups(_graph(G).run(algorithm)[0]).values()

    def number(G):
        return _graph(G).run(algorithm)[1]["components"]

    def is_one(G):
        graph = _graph(G)
        values, summary = graph.run(algorithm)
        if not values:
            raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
        return summary["components"] == 1

    return components, number, is_one


connected_components, number_connected_components, is_connected = _components("wcc")
weakly_connected_components, number_weakly_connected_components, is_weakly_connected = _components("wcc")
strongly_connected_components, number_strongly_connected_components, is_strongly_connected = _components("scc")


def node_connected_component(G, n):
    graph = _graph(G)
    if graph.key(n) is None:
        raise KeyError(n)
    values = graph.run("wcc")[0]
    return {node for node, group in values.items() if group == values[n]}


def _of_nodes(graph, values, nodes):
    """The value of one node, or of several."""
    if nodes is None:
        return values
    if graph.key(nodes) is not None:
        return values[nodes]
    return {node: values[node] for node in nodes if node in values}


def triangles(G, nodes=None):
    graph = _graph(G)
    return _of_nodes(graph, graph.run("triangles")[0], nodes)


def clustering(G, nodes=None, weight=None):
    graph = _graph(G)
    return _of_nodes(graph, graph.run("lcc")[0], nodes)


def average_clustering(G, nodes=None, weight=None, count_zeros=True):
    values = clustering(G, nodes).values()
    counted = [value for value in values if count_zeros or abs(value) > 0]
    return sum(counted) / len(counted)


def core_number(G):
    graph = _graph(G)
    if graph.has_loops():
        message = "Input graph has self loops which is not permitted; Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        raise nx.NetworkXNotImplemented(message)
    return graph.run("kcore")[0]


def betweenness_centrality(G, k=None, normalized=True, weight=None, endpoints=False, seed=None):
    return _graph(G).run("betweenness", normalized=normalized)[0]


def _communities(algorithm, G, weight, resolution):
    graph = _graph(G)
    values = graph.run(algorithm, graph.weight(weight) if weight is not None else None, resolution=resolution)[0]
    return list(_groups(values).values())


def louvain_communities(G, weight="weight", resolution=1, threshold=0.0000001, max_level=None, seed=None):
    return _communities("louvain", G, weight, resolution)


def leiden_communities(G, weight="weight", resolution=1, max_level=None, seed=None):
    return _communities("leiden", G, weight, resolution)


def maximal_matching(G):
    graph = _graph(G)
    partners = graph.run("matching")[0]
    pairs = set()
    for node, partner in partners.items():
        other = None if partner is None else graph.node(partner)
        if other is not None and (other, node) not in pairs:
            pairs.add((node, other))
    return pairs


def greedy_color(G, strategy="largest_first", interchange=False):
    return _graph(G).run("coloring")[0]


def _refuses_weights(G, nodes=None, weight=None, **_):
    if G.is_directed():
        return "directed graphs have another definition"
    return None if weight is None else "weights are not supported"


def _refuses_betweenness(G, k=None, normalized=True, weight=None, endpoints=False, seed=None):
    if k is not None:
        return "NetworkX draws its own sample"
    return "neither weights nor endpoints are supported" if weight is not None or endpoints else None


def _refuses_path(G, source=None, target=None, weight=None, method="dijkstra"):
    if not isinstance(G, (native.Database, DatabaseGraph)):
        return "paths between two vertices are searched in databases only"
    if set(getattr(G, "part", ())) - {"edges"}:
        return "paths between two vertices are searched in parts chosen by labels of edges only"
    if source is None or target is None:
        return "both source and target must be given"
    return None if weight is None or isinstance(weight, str) else "weights that are functions are not supported"


def _refuses_levels(G, weight="weight", resolution=1, threshold=None, max_level=None, seed=None):
    if G.is_directed():
        return "directed graphs have another definition"
    return None if max_level is None else "the number of levels cannot be bounded"


_REFUSALS = {
    "all_shortest_paths": _refuses_path,
    "average_clustering": lambda G, nodes=None, weight=None, count_zeros=True: _refuses_weights(G, nodes, weight),
    "betweenness_centrality": _refuses_betweenness,
    "bidirectional_dijkstra": lambda G, source, target, weight="weight": _refuses_path(G, source, target, weight),
    "bidirectional_shortest_path": _refuses_path,
    "clustering": _refuses_weights,
    "core_number": lambda G: "directed graphs have another definition" if G.is_directed() else None,
    "greedy_color": lambda G, strategy="largest_first", interchange=False: (
        None if strategy == "largest_first" and not interchange else "only largest_first, without interchange"
    ),
    "has_path": _refuses_path,
    "leiden_communities": lambda G, weight="weight", resolution=1, max_level=None, seed=None: (
        None if max_level is None else "the number of levels cannot be bounded"
    ),
    "louvain_communities": _refuses_levels,
    "shortest_path": _refuses_path,
    "shortest_path_length": _refuses_path,
    "single_source_dijkstra_path_length": lambda G, source, cutoff=None, weight="weight": (
        "weights that are functions are not supported" if callable(weight) else None
    ),
}
