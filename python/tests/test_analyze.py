"""Algorithms on whole graphs: the same answers as NetworkX, from every form of a graph and on any number of threads."""

import math
import random
import re

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest

import mangrovedb as mg

KINDS = [True, False]


def random_edges(seed, vertices=60, edges=220):
    """Ends and weights, with loops and parallel edges, and vertices that no edge reaches."""
    rng = random.Random(seed)
    return [(rng.randrange(vertices), rng.randrange(vertices) // 2, rng.randrange(1, 40) / 4) for _ in range(edges)]


def skewed_edges(seed, vertices=3_000, edges=20_000):
    rng = np.random.default_rng(seed)
    ends = (vertices * rng.random((edges, 2)) ** 3).astype(int)
    return [(int(source), int(target), float(weight)) for (source, target), weight in zip(ends, rng.integers(1, 50, edges) / 8)]


def graph_of(path, edges, vertices):
    db = mg.open(path)
    with db.ingest() as w:
        w.add_vertices("v", [{"~id": vertex} for vertex in range(vertices)])
        w.add_edges("e", edges, columns=["from", "to", "weight"])
    return db


def forms(tmp_path, edges, vertices):
    """The same graph as written, compressed, changed since, and in open files."""
    db = graph_of(tmp_path / "db", edges[: len(edges) // 2], vertices)
    db.compact()
    with db.ingest() as w:
        w.add_edges("e", edges[len(edges) // 2 :], columns=["from", "to", "weight"])
    yield "mixed", db
    db.compact()
    yield "compressed", db
    db.export(tmp_path / "lake", "graphar")
    yield "lake", mg.open_lake(tmp_path / "lake/lake.graph.yml")
    yield "as written", graph_of(tmp_path / "other", edges, vertices)


def networkx_of(edges, vertices, directed, multi=True):
    kind = {(True, True): nx.MultiDiGraph, (True, False): nx.DiGraph, (False, True): nx.MultiGraph, (False, False): nx.Graph}
    graph = kind[directed, multi]()
    graph.add_nodes_from(range(vertices))
    graph.add_weighted_edges_from(edges)
    return graph


def close(found, expected):
    assert found.keys() == expected.keys()
    for vertex, right in expected.items():
        assert math.isclose(found[vertex], right, rel_tol=1e-6, abs_tol=1e-9), vertex


def communities(values):
    groups = {}
    for vertex, value in values.items():
        groups.setdefault(value, set()).add(vertex)
    return sorted(map(sorted, groups.values()))


@pytest.mark.parametrize("directed", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_paths_are_those_of_networkx(tmp_path, seed, directed):
    edges = random_edges(seed)
    db, graph = graph_of(tmp_path / "db", edges, 60), networkx_of(edges, 60, directed)
    for source in (edges[0][0], 59):
        depths = nx.single_source_shortest_path_length(graph, source)
        assert db.analyze.bfs(source, directed=directed).to_dict() == {vertex: depths.get(vertex) for vertex in range(60)}
        lengths = nx.single_source_dijkstra_path_length(graph, source)
        for delta in (None, 0.3, 100.0):
            found = db.analyze.sssp(source, weight="weight", delta=delta, directed=directed)
            assert found.to_dict() == {vertex: lengths.get(vertex) for vertex in range(60)}
            assert found.summary == {"reached": len(lengths)}


@pytest.mark.parametrize("directed", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_ranks_are_those_of_networkx(tmp_path, seed, directed):
    edges = random_edges(seed)
    assert any(edge[0] == edge[1] for edge in edges)
    db, graph = graph_of(tmp_path / "db", edges, 60), networkx_of(edges, 60, directed)
    for weight in (None, "weight"):
        ranks = nx.pagerank(graph, alpha=0.7, tol=1e-12, max_iter=500, weight=weight)
        found = db.analyze.pagerank(damping=0.7, tolerance=1e-13, weight=weight, directed=directed)
        assert found.summary["converged"] and found.summary["iterations"] <= 100
        close(found.to_dict(), ranks)
        assert math.isclose(sum(found.to_dict().values()), 1.0)
    preferred = {3: 1.0, 5: 3.0}
    personal = nx.pagerank(graph, alpha=0.7, tol=1e-12, max_iter=500, weight=None, personalization=preferred)
    close(db.analyze.pagerank(damping=0.7, tolerance=1e-13, directed=directed, personalization=preferred).to_dict(), personal)


@pytest.mark.parametrize("directed", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_components_and_triangles_are_those_of_networkx(tmp_path, seed, directed):
    edges = random_edges(seed, edges=90 if seed else 300)
    db, graph = graph_of(tmp_path / "db", edges, 60), networkx_of(edges, 60, directed, multi=False)
    found = db.analyze.wcc(directed=directed)
    components = list(nx.weakly_connected_components(graph) if directed else nx.connected_components(graph))
    assert communities(found.to_dict()) == sorted(map(sorted, components))
    assert all(value == min(group) for group in components for value in [found.to_dict()[next(iter(group))]])
    assert found.summary == {"components": len(components)}
    simple = networkx_of([edge for edge in edges if edge[0] != edge[1]], 60, directed, multi=False)
    triangles = nx.triangles(nx.Graph(simple))
    assert db.analyze.triangles(directed=directed).to_dict() == triangles
    coefficients = {}
    for vertex in simple:
        around = set(simple.successors(vertex)) | set(simple.predecessors(vertex)) if directed else set(simple[vertex])
        linked = sum(simple.has_edge(a, b) for a in around for b in around if a != b)
        coefficients[vertex] = linked / (len(around) * (len(around) - 1)) if len(around) > 1 else 0.0
    close(db.analyze.lcc(directed=directed).to_dict(), coefficients)


@pytest.mark.parametrize("directed", KINDS)
def test_labels_spread_as_they_should(tmp_path, directed):
    edges = random_edges(7)
    db = graph_of(tmp_path / "db", edges, 60)
    labels = {vertex: vertex for vertex in range(60)}
    for iterations in range(1, 5):
        around = {vertex: [] for vertex in range(60)}
        for source, target, _ in edges:
            around[source].append(labels[target])
            around[target].append(labels[source])
        labels = {vertex: min((-near.count(label), label) for label in near)[1] if near else labels[vertex] for vertex, near in around.items()}
        assert db.analyze.cdlp(iterations=iterations, directed=directed).to_dict() == labels


@pytest.mark.parametrize("directed", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_structure_is_that_of_networkx(tmp_path, seed, directed):
    edges = random_edges(seed, edges=120 + 60 * seed)
    db, graph = graph_of(tmp_path / "db", edges, 60), networkx_of(edges, 60, directed, multi=False)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    strong = list(nx.strongly_connected_components(graph)) if directed else list(nx.connected_components(graph))
    found = db.analyze.scc(directed=directed)
    assert communities(found.to_dict()) == sorted(map(sorted, strong)) and found.summary == {"components": len(strong)}
    assert all(found.to_dict()[vertex] == min(group) for group in strong for vertex in group)
    flat = nx.Graph(graph)
    assert db.analyze.kcore(directed=directed).to_dict() == nx.core_number(flat)
    colors = db.analyze.coloring(directed=directed)
    assert all(colors.to_dict()[a] != colors.to_dict()[b] for a, b in flat.edges)
    assert colors.summary["colors"] == max(colors.to_dict().values()) + 1 <= max(dict(flat.degree).values()) + 1
    close(db.analyze.betweenness(directed=directed).to_dict(), nx.betweenness_centrality(graph))
    plain = db.analyze.betweenness(directed=directed, normalized=False)
    close(plain.to_dict(), nx.betweenness_centrality(graph, normalized=False))


@pytest.mark.parametrize("directed", KINDS)
def test_a_matching_is_maximal_and_heavy(tmp_path, directed):
    edges = random_edges(11)
    partner = graph_of(tmp_path / "db", edges, 60).analyze.matching(weight="weight", directed=directed)
    matched = {frozenset(pair) for pair in partner.to_dict().items() if pair[1] is not None}
    heaviest = {}
    for source, target, weight in edges:
        if source != target:
            heaviest[frozenset((source, target))] = max(weight, heaviest.get(frozenset((source, target)), 0))
    assert matched <= heaviest.keys() and partner.summary["edges"] == len(matched)
    assert nx.is_maximal_matching(nx.Graph([tuple(pair) for pair in heaviest]), {tuple(pair) for pair in matched})
    assert partner.summary["weight"] == sum(heaviest[pair] for pair in matched)
    best = nx.Graph()
    best.add_weighted_edges_from((*pair, weight) for pair, weight in heaviest.items())
    optimal = sum(heaviest[frozenset(pair)] for pair in nx.max_weight_matching(best))
    assert optimal / 2 <= partner.summary["weight"] <= optimal


@pytest.mark.parametrize("directed", KINDS)
@pytest.mark.parametrize("weight", [None, "weight"])
def test_communities_have_high_modularity(tmp_path, directed, weight):
    blocks = nx.planted_partition_graph(8, 30, 0.3, 0.01, seed=5)
    rng = random.Random(5)
    edges = [(a, b, rng.randrange(4, 12) / 4) for a, b in blocks.edges] + [(3, 3, 2.0)]
    db, graph = graph_of(tmp_path / "db", edges, 240), networkx_of(edges, 240, False)
    theirs = nx.community.modularity(graph, nx.community.louvain_communities(graph, weight=weight, seed=1), weight=weight)
    for method in (db.analyze.louvain, db.analyze.leiden):
        found = method(weight=weight, directed=directed)
        groups = communities(found.to_dict())
        right = nx.community.modularity(graph, groups, weight=weight)
        assert math.isclose(found.summary["modularity"], right, rel_tol=1e-9)
        assert right >= theirs - 0.01 and found.summary["communities"] == len(groups)
        assert len(communities(method(weight=weight, directed=directed, resolution=10.0).to_dict())) > len(groups)
    assert all(nx.is_connected(graph.subgraph(group)) for group in groups), "communities of Leiden hang together"


def test_similar_vertices_share_neighbours(tmp_path):
    edges = random_edges(4)
    db = graph_of(tmp_path / "db", edges, 60)
    around = {vertex: {target for source, target, _ in edges if source == vertex} for vertex in range(60)}
    found = db.analyze.similarity(top=3, at_least=0.1).to_arrow().to_pylist()
    expected = []
    for vertex in range(60):
        others = [(len(around[vertex] & around[other]) / len(around[vertex] | around[other]), other) for other in range(60) if other != vertex and around[vertex] & around[other]]
        best = sorted((-value, other) for value, other in others if value >= 0.1)[:3]
        expected += [{"id": vertex, "other": other, "value": -value} for value, other in best]
    assert found == expected
    with pytest.raises(ValueError, match="similarity gives no single value for each vertex"):
        db.analyze.similarity().to_dict()
    with pytest.raises(mg.QueryError, match="similarity does not give one value for each vertex: leave `write` out"):
        db.analyze.similarity(write="other")


def test_walks_follow_edges_as_often_as_they_should(tmp_path):
    edges = [(0, 1, 3.0), (0, 2, 1.0), (1, 0, 1.0), (2, 3, 1.0)]
    db = graph_of(tmp_path / "db", edges, 5)
    walks = [row["value"] for row in db.analyze.walks(length=4, per_vertex=2_000, weight="weight", seed=9).to_arrow().to_pylist()]
    assert len(walks) == 10_000 and all(len(walk) <= 4 for walk in walks)
    links = {(source, target) for source, target, _ in edges}
    assert all(pair in links for walk in walks for pair in zip(walk, walk[1:]))
    assert [4] in walks and all(walk[-1] == 3 or len(walk) == 4 or walk == [4] for walk in walks)
    from_0 = [walk[1] for walk in walks if walk[0] == 0]
    assert 0.7 < from_0.count(1) / len(from_0) < 0.8
    # A triangle with a tail: with a great p, a walk does not go back; with a great q, it stays near.
    near = graph_of(tmp_path / "near", [(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0), (2, 3, 1.0), (3, 4, 1.0)], 5)
    back = lambda **more: sum(walk[2] == walk[0] for walk in steps(near, **more))
    steps = lambda db, **more: [row["value"] for row in db.analyze.walks(length=3, per_vertex=500, directed=False, **more).to_arrow().to_pylist()]
    assert back(p=50) < back() < back(p=0.02)
    away = lambda **more: sum(walk[:2] == [1, 2] and walk[2] == 3 for walk in steps(near, **more))
    assert away(q=50) < away() < away(q=0.02)


def questions(db, **common):
    yield db.analyze.pagerank(iterations=12, **common)
    yield db.analyze.bfs(1, **common)
    yield db.analyze.sssp(1, weight="weight", **common)
    yield db.analyze.wcc(**common)
    yield db.analyze.triangles(**common)
    yield db.analyze.lcc(**common)
    yield db.analyze.cdlp(iterations=4, **common)
    yield db.analyze.scc(**common)
    yield db.analyze.kcore(**common)
    yield db.analyze.coloring(**common)
    yield db.analyze.matching(weight="weight", **common)
    yield db.analyze.betweenness(samples=70, seed=2, **common)
    yield db.analyze.louvain(weight="weight", **common)
    yield db.analyze.leiden(**common)
    yield db.analyze.similarity(top=2, **common)
    yield db.analyze.walks(length=5, per_vertex=1, q=0.5, **common)


@pytest.mark.parametrize("directed", KINDS)
def test_every_form_of_a_graph_gives_the_same_on_any_number_of_threads(tmp_path, directed):
    edges = skewed_edges(3)
    expected = None
    for form, db in forms(tmp_path, edges, 3_000):
        for threads in (1, 2, 5):
            found = [(one.to_arrow(), one.summary) for one in questions(db, directed=directed, threads=threads)]
            expected = expected or found
            assert found == expected, (form, threads)


@pytest.mark.parametrize("directed", KINDS)
def test_vertex_programs_give_the_same_over_any_number_of_partitions(tmp_path, directed):
    db = graph_of(tmp_path / "db", skewed_edges(5), 3_000)
    asked = [
        lambda **more: db.analyze.pagerank(iterations=12, directed=directed, **more),
        lambda **more: db.analyze.pagerank(weight="weight", personalization={1: 2, 7: 1}, directed=directed, **more),
        lambda **more: db.analyze.bfs(1, directed=directed, **more),
        lambda **more: db.analyze.sssp(1, weight="weight", directed=directed, **more),
        lambda **more: db.analyze.wcc(directed=directed, **more),
        lambda **more: db.analyze.triangles(directed=directed, **more),
        lambda **more: db.analyze.cdlp(iterations=4, directed=directed, **more),
    ]
    for ask in asked:
        kernel = ask()
        for partitions in (1, 2, 7):
            program = ask(partitions=partitions)
            summary = program.summary
            assert (summary.pop("bytes_sent") > 0) == (summary.pop("values_sent") > 0) == (partitions > 1)
            assert summary.pop("steps") > 0
            if "iterations" in summary and "communities" not in summary:
                close(program.to_dict(), kernel.to_dict())
            else:
                assert program.to_dict() == kernel.to_dict()
            assert summary.items() <= kernel.summary.items()


def test_each_value_crosses_once_to_each_partition_that_reads_it(tmp_path):
    edges = random_edges(3)
    db = graph_of(tmp_path / "db", edges, 60)
    # With about a partition for each vertex, a value crosses once for each other reader: before the first step, and when it changes.
    readers = len({(source, target) for source, target, _ in edges if source != target})
    alone = db.analyze.pagerank(iterations=1, partitions=1024).summary
    assert readers * 0.93 * 2 <= alone["values_sent"] <= readers * 2
    assert alone["values_sent"] * 8 < alone["bytes_sent"] <= alone["values_sent"] * 9
    assert db.analyze.bfs(edges[0][0], partitions=1024).summary["values_sent"] < 2 * readers


def test_what_is_no_vertex_program_says_so(db):
    with pytest.raises(mg.QueryError, match="lcc is no vertex program: leave `partitions` out"):
        db.analyze.lcc(partitions=2)
    with pytest.raises(mg.QueryError, match="`partitions` must be from 1 to 1024"):
        db.analyze.wcc(partitions=0)


def test_labels_choose_a_part_of_the_graph(db):
    routes = db.analyze.wcc(vertices="airport")
    assert routes.summary == {"components": 1} and len(routes) == 4
    assert db.analyze.bfs("AUS", edges=["in"]).to_dict() == {"AUS": 0, "DFW": None, "LHR": None, "WLG": None, "US": 1}
    assert db.analyze.wcc(vertices=["airport", "country"], edges="in").summary == {"components": 4}
    with pytest.raises(mg.QueryError, match="there is no vertex label `airprt`; did you mean `airport`?"):
        db.analyze.wcc(vertices="airprt")
    with pytest.raises(mg.QueryError, match="there is no edge label `airport`"):
        db.analyze.wcc(edges="airport")
    with pytest.raises(mg.QueryError, match="the source is not among the chosen vertices"):
        db.analyze.bfs("US", vertices="airport")


def test_values_are_written_in_one_transaction(db):
    db.analyze.bfs("DFW", write="depth")
    assert db.query("g.V().order().by(id).values('depth')").to_list() == [1, 0, 2, 2, 1]
    # WLG and the others cannot be reached from the country: they lose what they had.
    db.analyze.bfs("US", write="depth")
    assert db.query("g.V().has('depth').valueMap('depth')").to_list() == [{"depth": [0]}]
    db.analyze.wcc(write="component")
    assert db.query("g.V().groupCount().by('component')").one() == {"AUS": 5}
    db.declare_property("airport", "name", "string")
    with pytest.raises(mg.StorageError, match="airport.name is declared string and cannot hold"):
        db.analyze.bfs("AUS", write="name")
    assert db.query("g.V().has('name').count()").one() == 1, "nothing was written"
    assert db.check() == []


def test_a_reader_analyses_and_does_not_write(db, tmp_path):
    reader = mg.open(tmp_path / "air.mg", read_only=True)
    assert reader.analyze.wcc().summary == {"components": 1}
    with pytest.raises(mg.StorageError, match="read-only"):
        reader.analyze.wcc(write="component")


def test_ids_may_be_unique_within_labels_only(tmp_path):
    db = mg.open(tmp_path / "db", id_space="label")
    with db.ingest() as w:
        w.add_vertices("a", [{"~id": 1}, {"~id": 2}])
        w.add_vertices("b", [{"~id": 1}])
    db.query("g.V('a/1').addE('to').to(__.V('b/1'))")
    assert db.analyze.bfs("a/1").to_dict() == {"a/1": 0, "a/2": None, "b/1": 1}
    assert db.analyze.wcc().to_dict() == {"a/1": "a/1", "a/2": "a/2", "b/1": "a/1"}


def test_what_makes_no_sense_is_refused(db):
    with pytest.raises(mg.QueryError, match='no vertex has the id "AUZ"'):
        db.analyze.bfs("AUZ")
    with pytest.raises(mg.QueryError, match="damping is 1.5; it must be from 0 to 1"):
        db.analyze.pagerank(damping=1.5)
    both = [db.analyze.pagerank(iterations=3, tolerance=tolerance).summary for tolerance in (1e-12, 10.0)]
    assert both == [{"iterations": 3, "converged": False}, {"iterations": 1, "converged": True}]
    with pytest.raises(mg.QueryError, match="`threads` is 257; at most 256 can work"):
        db.analyze.wcc(threads=257)
    with pytest.raises(mg.QueryError, match="`write` is empty"):
        db.analyze.wcc(write="")
    with pytest.raises(mg.QueryError, match="`iterations` is -1; it must be a whole number, 0 or more"):
        db.analyze.cdlp(iterations=-1)
    with pytest.raises(mg.QueryError, match="there is no property key `dst`; did you mean `dist`?"):
        db.analyze.sssp("AUS", weight="dst")
    with pytest.raises(mg.QueryError, match="delta is 0; it must be greater than 0"):
        db.analyze.sssp("AUS", delta=0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'wieght'; did you mean 'weight'"):
        db.analyze.wcc(wieght="dist")
    with pytest.raises(TypeError, match="vertices is a label or a list of labels"):
        db.analyze.wcc(vertices=3)
    with pytest.raises(mg.QueryError, match="all preferences are 0"):
        db.analyze.pagerank(personalization={"AUS": 0})
    with pytest.raises(mg.MemoryLimitError, match="it needs about 1 MB of memory, and 0 MB are allowed.* memory_mb"):
        db.analyze.wcc(memory_mb=0)


def test_weights_that_make_no_sense_are_refused(tmp_path):
    for weight, message in ((-1.0, "an edge has the weight -1; shortest paths need 0 or more"), (math.nan, "the weight of an edge is NaN")):
        db = graph_of(tmp_path / f"db{weight}", [(0, 1, weight)], 2)
        with pytest.raises(mg.QueryError, match=message):
            db.analyze.sssp(0, weight="weight")
    with pytest.raises(mg.QueryError, match="PageRank needs weights that are finite and not negative"):
        graph_of(tmp_path / "negative", [(0, 1, -1.0)], 2).analyze.pagerank(weight="weight")
    db = mg.open(tmp_path / "text")
    db.query("g.addV('v').property(id, 0).as('a').addE('e').from('a').to('a').property('weight', 'far')")
    with pytest.raises(mg.QueryError, match="the weight of an edge is `far`, which is no number"):
        db.analyze.sssp(0, weight="weight")


def test_a_timeout_beyond_all_time_never_comes(db):
    assert db.analyze.wcc(timeout=1e19).summary == {"components": 1}


def test_an_empty_graph_has_no_values(empty):
    for found in (empty.analyze.pagerank(), empty.analyze.wcc(), empty.analyze.lcc(), empty.analyze.cdlp()):
        assert len(found) == 0 and found.to_dict() == {}


def test_work_can_be_stopped_and_watched(tmp_path):
    db = graph_of(tmp_path / "db", skewed_edges(1), 3_000)
    seen = []
    with pytest.raises(mg.TimeoutError, match="nothing was written"):
        db.analyze.pagerank(iterations=10_000_000, timeout=0.3, progress=lambda *stage: seen.append(stage), write="rank")
    assert ("iterations", 10_000_000) in {(name, of) for name, _, of in seen}
    assert db.query("g.V().has('rank').count()").one() == 0

    def stop(*_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        db.analyze.pagerank(iterations=10_000_000, progress=stop)


def test_the_values_go_to_other_libraries(db):
    found = db.analyze.pagerank()
    table = found.to_arrow()
    assert table.schema == pa.schema([("id", pa.string()), ("value", pa.float64())])
    assert found.to_pandas()["value"].sum() == pytest.approx(1.0)
    assert found.to_polars().shape == (5, 2)
    assert repr(found).startswith("pagerank: 5 vertices, iterations ")
    assert "pagerank" in repr(db.analyze)


def test_algorithms_are_procedures(db):
    ranks = db.analyze.pagerank(iterations=20).to_dict()
    found = db.query("g.call('mangrove.pagerank').with('iterations', 20)").to_list()
    assert {row["vertex"].id: row["value"] for row in found} == ranks
    far = "g.call('mangrove.sssp', [source: 'LHR', weight: 'dist', edges: ['route'], vertices: 'airport']).order().by('value', desc).limit(1)"
    assert db.query(far + ".select('vertex').values('city')").to_list() == ["Wellington"]
    assert db.query("g.call('mangrove.bfs').with('source', 'DFW').with('edges', 'in').select('value')").to_list() == [None, 0, None, None, None]
    pairs = db.query("g.call('mangrove.similarity').with('top', 1).select('vertex', 'other').by('code')").to_list()
    assert {"vertex": "DFW", "other": "LHR"} in pairs
    walk = db.query("g.call('mangrove.walks').with('length', 2).with('per_vertex', 1).limit(3).select('walk')").to_list()[2]
    assert [vertex.id for vertex in walk] == ["LHR", "AUS"]
    assert "mangrove.leiden" in db.query("g.call()").to_list()
    with pytest.raises(mg.QueryError, match="the procedure `mangrove.bfs` failed: bfs needs `source`"):
        db.query("g.call('mangrove.bfs')")
    with pytest.warns(mg.QueryWarning, match="has no parameter `itertions`; did you mean `iterations`?"):
        db.query("g.call('mangrove.cdlp').with('itertions', 3)")
    with pytest.raises(mg.TimeoutError):
        db.query("g.call('mangrove.pagerank').with('iterations', 1000000000)", timeout=0.3)
    with db.transaction() as tx:
        tx.query("g.addV('airport').property(id, 'NEW')")
        assert tx.query("g.call('mangrove.wcc').select('vertex').id().dedup().count()").one() == 6, "it sees what the transaction wrote"


def test_programs_work_on_whole_arrays(tmp_path):
    edges = random_edges(6)
    db = graph_of(tmp_path / "db", edges, 60)
    graph = db.analyze.project(weight="weight")
    assert len(graph) == 60 and graph.ids.to_pylist() == list(range(60))
    values = np.arange(60) / 7
    for reduce, of_all in (("sum", sum), ("min", min), ("max", max)):
        for along, of_one in ((None, lambda v, w: v), ("times", lambda v, w: v * w), ("plus", lambda v, w: v + w)):
            found = graph.gather(values, reduce, along)
            for vertex in range(60):
                around = [of_one(values[source], weight) for source, target, weight in edges if target == vertex]
                empty = {"sum": 0.0, "min": math.inf, "max": -math.inf}[reduce]
                assert math.isclose(found[vertex], of_all(around) if around else empty)
    sums = [sum(weight for source, _, weight in edges if source == vertex) for vertex in range(60)]
    assert np.allclose(graph.out_degrees, sums)
    graph.write("half", values / 2)
    assert db.query("g.V(14).values('half')").one() == 1.0
    graph.write("name", pa.array([None if vertex % 2 else f"v{vertex}" for vertex in range(60)]))
    assert db.query("g.V().has('name').count()").one() == 30 and db.query("g.V(4).values('name')").one() == "v4"


def test_programs_that_make_no_sense_are_refused(db, tmp_path):
    graph = db.analyze.project(vertices="airport")
    with pytest.raises(mg.QueryError, match="there are 3 values for 4 vertices"):
        graph.gather(np.zeros(3))
    with pytest.raises(mg.QueryError, match="the edges have no weights: project the graph with `weight`"):
        graph.gather(np.zeros(4), along="times")
    with pytest.raises(ValueError, match="reduce must be one of sum, min, max, not .mean."):
        graph.gather(np.zeros(4), "mean")
    with pytest.raises(mg.QueryError, match="there are 5 values for 4 vertices"):
        graph.write("x", np.zeros(5))
    db.query("g.V('WLG').drop()")
    graph.write("x", np.ones(4))
    assert db.query("g.V().has('x').count()").one() == 3, "a vertex that is gone is passed over"
    with pytest.raises(mg.StorageError, match="read-only"):
        mg.open(tmp_path / "air.mg", read_only=True).analyze.project().write("x", np.ones(4))


def test_each_analysis_sees_the_last_commit(tmp_path):
    """Arrays that were read are kept until the graph changes."""
    edges = random_edges(8)
    db = graph_of(tmp_path / "db", edges, 60)
    for _ in range(2):
        assert db.analyze.wcc().to_dict() == db.analyze.wcc(partitions=2).to_dict()
        assert db.analyze.scc().summary["components"] >= db.analyze.wcc().summary["components"]
        assert set(db.analyze.cdlp(iterations=1).to_dict()) == set(range(60))
    before = db.analyze.wcc().summary["components"]
    db.query("g.addV('v').property(id, 1000)")
    assert db.analyze.wcc().summary["components"] == before + 1
    other = mg.open(tmp_path / "db", read_only=True)
    assert other.analyze.wcc().summary["components"] == before + 1
    db.query("g.V(1000).addE('e').to(__.V(0))")
    assert db.analyze.wcc().summary["components"] == other.analyze.wcc().summary["components"] == before
    with pytest.raises(mg.TimeoutError):
        db.analyze.pagerank(timeout=0.0, iterations=10_000_000)


def test_reading_a_graph_can_be_stopped(tmp_path):
    db = graph_of(tmp_path / "db", skewed_edges(2), 3_000)
    with pytest.raises(mg.TimeoutError):
        db.analyze.wcc(timeout=0.0)
    with pytest.raises(mg.TimeoutError):
        db.analyze.project(timeout=0.0)


def test_paths_longer_than_all_near_buckets_are_found_on_several_threads(tmp_path):
    rng, clusters, members = np.random.default_rng(5), 40, 200
    edges = [(at * members, (at + 1) * members, 900.0) for at in range(clusters - 1)]
    for first in range(0, clusters * members, members):
        ends = first + rng.integers(0, members, (1_000, 2))
        edges += [(int(source), int(target), float(weight)) for (source, target), weight in zip(ends, rng.integers(1, 4, 1_000) / 4)]
    vertices = clusters * members
    db, graph = graph_of(tmp_path / "db", edges, vertices), networkx_of(edges, vertices, True)
    lengths = nx.single_source_dijkstra_path_length(graph, 0)
    assert max(lengths.values()) > 30_000
    assert db.analyze.sssp(0, weight="weight", threads=1).to_dict() == {vertex: lengths.get(vertex) for vertex in range(vertices)}
    expected = db.analyze.sssp(0, weight="weight", threads=1).to_arrow()
    for delta in (None, 0.01, 0.05, 1.0, 1000.0):
        for threads in (1, 2, 4):
            for _ in range(4):
                assert db.analyze.sssp(0, weight="weight", threads=threads, delta=delta).to_arrow() == expected


def test_ids_of_several_types_stay_what_they_are(tmp_path):
    db = mg.open(tmp_path / "db")
    with db.ingest() as w:
        w.add_vertices("v", [{"~id": 7}, {"~id": "7"}, {"~id": "x"}])
    db.query("g.V(7).addE('e').to(__.V('x'))")
    assert db.analyze.bfs(7).to_dict() == {7: 0, "7": None, "x": 1}
    assert db.analyze.wcc(write="first").to_dict() == {7: 7, "7": "7", "x": 7}
    assert db.query("g.V('x').values('first')").one() == 7
    assert db.query("g.V('7').values('first')").one() == "7"
    assert db.analyze.wcc().to_arrow()["id"].to_pylist() == ["7", "7", "x"]


def test_pairs_and_walks_show_their_ids(tmp_path):
    db = mg.open(tmp_path / "db")
    with db.ingest() as w:
        w.add_vertices("v", [{"~id": 1}])
    assert repr(db.analyze.walks(length=2, per_vertex=3)).splitlines()[1:] == ["1  [1]"] * 3
    assert db.analyze.wcc().to_arrow().to_pylist() == [{"id": 1, "value": 1}]
    with db.ingest() as w:
        w.add_vertices("v", [{"~id": "x"}, {"~id": 2}])
        w.add_edges("e", [(1, 2), ("x", 2)], columns=["from", "to"])
    assert repr(db.analyze.similarity()).count("x") == 2
    assert "x" in repr(db.analyze.walks(length=2, per_vertex=1))


def test_leiden_leaves_no_community_that_falls_apart(tmp_path):
    for seed in range(11, 15):
        graph = nx.powerlaw_cluster_graph(255, 1, 0.3, seed=seed)
        db = graph_of(tmp_path / str(seed), [(a, b, 1.0) for a, b in graph.edges], 255)
        for resolution in (0.3, 1.0):
            groups = communities(db.analyze.leiden(directed=False, resolution=resolution).to_dict())
            assert all(nx.is_connected(graph.subgraph(group)) for group in groups)


def test_walks_have_random_numbers_of_their_own(tmp_path):
    vertices = 400
    db = graph_of(tmp_path / "db", [(at, (at + step) % vertices, 1.0) for at in range(vertices) for step in range(1, 9)], vertices)
    walks = [row["value"] for row in db.analyze.walks(length=30, per_vertex=20).to_arrow().to_pylist() if row["id"] == 0]
    moves = [tuple((b - a) % vertices for a, b in zip(walk, walk[1:])) for walk in walks]
    runs = [move[at : at + 8] for move in moves for at in range(len(move) - 8)]
    assert len(set(runs)) == len(runs), "no walk repeats a part of another"


def test_options_without_sense_are_refused_and_long_walks_stop(tmp_path, db):
    two = graph_of(tmp_path / "two", [(0, 1, 0.0)], 2)
    for call, message in (
        (lambda: db.analyze.pagerank(tolerance=math.nan), "tolerance is NaN"),
        (lambda: db.analyze.pagerank(tolerance=-1.0), "tolerance is -1"),
        (lambda: db.analyze.walks(length=0), "length is 0"),
        (lambda: db.analyze.walks(p=1e-310), "p is 0.0*1; it must be greater than 0|p is .*; it must be greater than 0"),
        (lambda: db.analyze.similarity(at_least=math.nan), "at_least is NaN"),
        (lambda: db.analyze.betweenness(samples=0), "samples is 0"),
        (lambda: db.analyze.sssp("AUS", weight="city"), "none of the chosen edges has the property `city` as its weight"),
        (lambda: db.analyze.walks(per_vertex=2**60), "MB of memory"),
        (lambda: two.analyze.walks(length=10**9, memory_mb=100), "MB of memory"),
    ):
        with pytest.raises(mg.QueryError, match=message):
            call()
    for p, q in ((1e9, 1.0), (1.0, 1e-12), (1e-300, 1e300)):
        walks = two.analyze.walks(length=50, per_vertex=2, p=p, q=q, directed=False, timeout=20).to_arrow()
        assert all(len(walk) == 50 for walk in walks["value"].to_pylist())
    with pytest.raises(mg.TimeoutError, match="it took longer than 0.3 s, and was stopped; nothing was written"):
        two.analyze.walks(length=300_000_000, per_vertex=1, directed=False, timeout=0.3, memory_mb=100_000)
    assert two.analyze.matching(weight="weight").summary == {"edges": 1, "weight": 0.0}
    graph = two.analyze.project()
    graph.write("x", np.ones(2))
    graph.write("x", pa.nulls(2))
    assert two.query("g.V().has('x').count()").one() == 0


def test_steps_of_gremlin_compute_the_same_from_every_form(tmp_path):
    """They see a graph through a view that adds the property."""
    edges = [edge for edge in random_edges(8) if edge[0] != edge[1]]
    ranked = "g.V().pageRank().with(PageRank.propertyName, 'rank').with(PageRank.times, 7)"
    for form, db in forms(tmp_path, edges, 60):
        ranks = db.analyze.pagerank(iterations=7).to_dict()
        above = sorted(vertex for vertex, rank in ranks.items() if rank > 0.02)
        assert 5 < len(above) < 40
        found = {row["id"]: row["rank"] for row in db.query(f"{ranked}.project('id', 'rank').by(id).by('rank')").to_list()}
        close(found, ranks)
        for query in ("has('rank', gt(0.02)).id()", "limit(1).V().hasLabel('v').has('rank', gt(0.02)).id()", "where(values('rank').is(gt(0.02))).id()"):
            assert sorted(db.query(f"{ranked}.{query}")) == above, (form, query)
        assert db.query(f"{ranked}.limit(1).V().has('rank', gt(0.02)).count()").one() == len(above)
        columns = db.query(f"{ranked}.elementMap()").to_arrow()
        close(dict(zip(columns["id"].to_pylist(), columns["rank"].to_pylist())), ranks)
        parts = "g.V().connectedComponent().with(ConnectedComponent.propertyName, 'part').group().by('part').by(id().order().fold())"
        expected = {min(map(str, part)): sorted(part) for part in nx.connected_components(networkx_of(edges, 60, False))}
        assert db.query(parts).one() == expected
        filtered = ranked + ".with(PageRank.edges, inE('e').has('weight', gt(5))).values('rank').sum()"
        assert math.isclose(db.query(filtered).one(), 1.0)


def test_a_step_that_computes_can_be_stopped(tmp_path):
    # The whole rank goes to and fro.
    db = graph_of(tmp_path / "db", [(0, 1, 1.0), (1, 0, 1.0)], 2)
    with pytest.raises(mg.TimeoutError):
        db.query("g.V(0).pageRank(1.0).with(PageRank.times, 1000000000000).count()", timeout=0.2)
    big = graph_of(tmp_path / "big", skewed_edges(5, 40_000, 400_000), 40_000)
    with pytest.raises(mg.MemoryLimitError):
        big.query("g.V().pageRank().count()", memory_mb=1)


def test_tests_of_properties_choose_a_part_of_the_graph(tmp_path):
    with mg.open(tmp_path / "db") as db:
        with db.ingest() as w:
            w.add_vertices("v", [{"~id": vertex, "age": vertex * 10, "name": f"n{vertex}"} for vertex in range(6)])
            w.add_edges("e", [(a, b, a + b) for a in range(6) for b in range(6) if a < b], columns=["from", "to", "weight"])
        edges = [(a, b) for a in range(6) for b in range(6) if a < b]
        old = db.analyze.triangles(vertices_where="has('age', gte(20))")
        assert old.to_dict() == {2: 3, 3: 3, 4: 3, 5: 3}
        both = db.analyze.wcc(vertices_where="has('age', gte(20)).has('name', neq('n5'))", edges_where="has('weight', gt(6))")
        assert both.to_dict() == {2: 2, 3: 3, 4: 3}
        found = db.analyze.bfs(0, edges_where="has('weight', gt(3)).has('weight', lt(6))").to_dict()
        graph = nx.DiGraph([edge for edge in edges if 3 < sum(edge) < 6])
        assert {vertex: depth for vertex, depth in found.items() if depth is not None} == nx.single_source_shortest_path_length(graph, 0)
        assert len(db.analyze.project(vertices_where="has('name', within('n1', 'n3'))")) == 2
        rows = db.query("g.call('mangrove.wcc').with('vertices_where', \"has('age', lt(20))\").select('vertex').id()").to_list()
        assert rows == [0, 1]
        for where, says in [
            ("has('agee', 1)", "there is no property key `agee`; did you mean `age`"),
            ("out('e')", "it takes has(key, value) or has(key, predicate)"),
            ("hasLabel('v')", "it takes has(key, value) or has(key, predicate)"),
            ("has('age', gt(1)).drop()", "it takes has(key, value) or has(key, predicate)"),
            ("has('age', gt(", "`vertices_where` is "),
            ("toList()", "it takes has(key, value) or has(key, predicate)"),
        ]:
            with pytest.raises(mg.QueryError, match=re.escape(says)):
                db.analyze.wcc(vertices_where=where)
        with pytest.raises(mg.QueryError, match="it may test one property only"):
            db.analyze.wcc(edges_where="has('weight', 1).has('age', 2)")
