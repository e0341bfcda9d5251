"""NetworkX's functions on Mangrove: its own tests, and those of databases."""

import os
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import networkx as nx
import pytest

import mangrovedb as mg
from mangrovedb import nx_backend
from mangrovedb._nx_info import FUNCTIONS

# The modules of NetworkX's tests that call the functions.
MODULES = [
    "centrality.tests.test_betweenness_centrality",
    "coloring.tests.test_coloring",
    "community.tests.test_leiden",
    "community.tests.test_louvain",
    "components.tests.test_connected",
    "components.tests.test_strongly_connected",
    "components.tests.test_weakly_connected",
    "link_analysis.tests.test_pagerank",
    "shortest_paths.tests.test_generic",
    "shortest_paths.tests.test_unweighted",
    "shortest_paths.tests.test_weighted",
    "tests.test_cluster",
    "tests.test_core",
    "tests.test_matching",
]
# Tests that fail, and why.
ORDER = "the communities are the same; they come in another order"
KNOWN = {
    "test_karate_club_partition": ORDER,
    "test_undirected_selfloops": ORDER,
    "test_none_weight_param": ORDER,
    "TestStronglyConnected::test_condensation_mapping_and_members": "components have the numbers of the order in which they are found",
}


def test_the_tests_of_networkx_pass_on_mangrove(tmp_path):
    log = tmp_path / "log"
    environment = {**os.environ, "NETWORKX_TEST_BACKEND": "mangrove", "NETWORKX_FALLBACK_TO_NX": "True"}
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider", f"--log-file={log}", "--log-file-level=DEBUG", "--pyargs"]
    command += [f"networkx.algorithms.{module}" for module in MODULES]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    failed = {line.split("::", 1)[1].split(" - ")[0] for line in ran.stdout.splitlines() if line.startswith("FAILED")}
    assert failed == set(KNOWN), ran.stdout[-4000:]
    assert int(re.search(r"(\d+) passed", ran.stdout)[1]) > 400, ran.stdout[-2000:]
    # Most tests are about other functions, which run in NetworkX. These have run here, and how often.
    calls = Counter(re.findall(r"Using backend 'mangrove' for call to '(\w+)'", log.read_text()))
    assert set(calls) == {name for name, notes in FUNCTIONS.items() if "of a database" not in (notes or "")}
    assert calls.total() > 250, calls


@pytest.fixture
def pair(tmp_path):
    """A database and the same graph in NetworkX."""
    rng = random.Random(4)
    edges = [(rng.randrange(40), rng.randrange(30), rng.randrange(1, 9)) for _ in range(120)]
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(40))
    graph.add_weighted_edges_from(edge for edge in edges if edge[0] != edge[1])
    with mg.open(tmp_path / "db") as db:
        with db.ingest() as w:
            w.add_vertices("v", [{"~id": vertex} for vertex in range(40)])
            w.add_edges("e", [edge for edge in edges if edge[0] != edge[1]], columns=["from", "to", "weight"])
        yield db, graph


def sets(groups):
    return sorted(map(sorted, groups))


def test_an_open_database_is_a_graph_of_networkx(pair):
    db, graph = pair
    both, flat = db.analyze.networkx(directed=False), graph.to_undirected()
    for function in nx.weakly_connected_components, nx.strongly_connected_components:
        assert sets(function(db)) == sets(function(graph))
    for function in nx.number_weakly_connected_components, nx.is_strongly_connected, nx.number_strongly_connected_components:
        assert function(db) == function(graph)
    assert sets(nx.connected_components(both)) == sets(nx.connected_components(flat))
    assert nx.node_connected_component(both, 0) == nx.node_connected_component(flat, 0)
    assert nx.single_source_shortest_path_length(db, 0, cutoff=2) == nx.single_source_shortest_path_length(graph, 0, cutoff=2)
    assert nx.single_source_dijkstra_path_length(db, 0) == nx.single_source_dijkstra_path_length(graph, 0)
    assert nx.single_source_dijkstra_path_length(db, 0, weight="weight", backend="mangrove")[0] == 0
    simple = nx.Graph(flat)
    assert nx.triangles(both) == nx.triangles(simple)
    assert nx.clustering(both, [1, 2, 3]) == pytest.approx(nx.clustering(simple, [1, 2, 3]))
    assert nx.average_clustering(both) == pytest.approx(nx.average_clustering(simple))
    for weight in (None, "weight"):
        ranks = nx.pagerank(db, weight=weight, tol=1e-12, dangling={3: 1, 4: 2}, nstart={1: 1}, max_iter=500)
        assert ranks == pytest.approx(nx.pagerank(graph, weight=weight, tol=1e-12, dangling={3: 1, 4: 2}, max_iter=500), abs=1e-9)
    with_uneven_start = nx.pagerank(db, personalization={3: 1, 99: 5}, weight=None, max_iter=300)
    assert with_uneven_start == pytest.approx(nx.pagerank(graph, personalization={3: 1}, weight=None, max_iter=300), abs=1e-4)
    assert nx.core_number(both) == nx.core_number(simple)
    assert nx.is_maximal_matching(simple, nx.maximal_matching(both))
    assert nx.betweenness_centrality(both) == pytest.approx(nx.betweenness_centrality(simple))
    colors = nx.greedy_color(both)
    assert all(colors[one] != colors[other] for one, other in simple.edges())
    for communities in (nx.community.louvain_communities, nx.community.leiden_communities):
        assert sorted(node for part in communities(both, backend="mangrove") for node in part) == list(range(40))
    assert len(db.analyze.networkx(vertices="v")) == 40 and list(db.analyze.networkx())[:3] == [0, 1, 2]


def test_paths_in_a_database_are_searched_from_both_ends(pair):
    db, graph = pair
    for target in range(40):
        for part, whole in ((db, graph), (db.analyze.networkx(edges="e", directed=False), graph.to_undirected())):
            for weight in (None, "weight"):
                if not nx.has_path(whole, 0, target):
                    for search in nx.shortest_path, nx.bidirectional_dijkstra, lambda *ends, **of: next(nx.all_shortest_paths(*ends, **of)):
                        with pytest.raises(nx.NetworkXNoPath):
                            search(part, 0, target, weight=weight)
                    assert not nx.has_path(part, 0, target)
                    continue
                path = nx.shortest_path(part, 0, target, weight=weight)
                length = nx.shortest_path_length(whole, 0, target, weight=weight)
                assert path[0] == 0 and path[-1] == target and nx.is_path(nx.Graph(whole) if part is not db else nx.DiGraph(whole), path)
                assert nx.shortest_path_length(part, 0, target, weight=weight) == length
                assert sorted(nx.all_shortest_paths(part, 0, target, weight)) == sorted(nx.all_shortest_paths(whole, 0, target, weight))
                assert nx.bidirectional_dijkstra(part, 0, target, weight)[0] == length and nx.has_path(part, 0, target)
                assert len(nx.bidirectional_shortest_path(part, 0, target)) == nx.shortest_path_length(whole, 0, target) + 1
    with pytest.raises(nx.NodeNotFound, match="Target 99 is not in G"):
        nx.shortest_path(db, 0, 99)
    with pytest.raises(NotImplementedError):
        nx.shortest_path(db, 0)


def test_what_mangrove_does_not_have_is_refused_or_left_to_networkx(pair):
    db, graph = pair
    with pytest.raises(NotImplementedError, match="not implemented by 'mangrove' backend for the given arguments"):
        nx.betweenness_centrality(nx.path_graph(4), endpoints=True, backend="mangrove")
    with pytest.raises(NotImplementedError, match="not implemented by"):
        nx.diameter(db)
    with pytest.raises(nx.NetworkXNotImplemented, match="not implemented for directed type"):
        nx.triangles(db)
    with pytest.raises(nx.NodeNotFound):
        nx.single_source_shortest_path_length(db, "nobody")
    with pytest.raises(nx.PowerIterationFailedConvergence):
        nx.pagerank(graph, max_iter=1, tol=1e-12, backend="mangrove")
    with nx.config(backend_priority=["mangrove"]):
        line = nx.path_graph(4)
        assert nx.betweenness_centrality(line, endpoints=True)[0] == 0.5
        assert nx.core_number(line) == dict.fromkeys(range(4), 1)


def test_a_loop_is_one_way_in_a_database_too(tmp_path):
    edges = [(0, 0, 5), (0, 1, 1), (1, 2, 1), (1, 2, 2)]
    graph = nx.MultiGraph()
    graph.add_weighted_edges_from(edges)
    with mg.open(tmp_path / "db") as db:
        with db.ingest() as w:
            w.add_vertices("v", [{"~id": vertex} for vertex in range(3)])
            w.add_edges("e", edges, columns=["from", "to", "weight"])
        for weight in (None, "weight"):
            right = pytest.approx(nx.pagerank(graph, weight=weight, tol=1e-12, max_iter=500))
            assert nx.pagerank(db.analyze.networkx(directed=False), weight=weight, tol=1e-12, max_iter=500) == right
            assert nx.pagerank(graph, weight=weight, tol=1e-12, max_iter=500, backend="mangrove") == right


def test_a_part_has_its_own_vertices_and_weights(tmp_path):
    with mg.open(tmp_path / "db") as db:
        with db.ingest() as w:
            w.add_vertices("person", [{"~id": name, "age": age} for name, age in (("ada", 30), ("ben", 40))])
            w.add_vertices("town", [{"~id": "ulm"}])
            w.add_edges("knows", [("ada", "ben", 2)], columns=["from", "to", "weight"])
            w.add_edges("lives", [("ada", "ulm")], columns=["from", "to"])
        assert nx.pagerank(db.analyze.networkx(edges="lives")).keys() == {"ada", "ben", "ulm"}
        people = db.analyze.networkx(vertices="person")
        assert "ada" in people and "ulm" not in people and len(people) == 2 and sorted(people) == ["ada", "ben"]
        with pytest.raises(nx.NodeNotFound):
            nx.single_source_shortest_path_length(people, "ulm")
        old = db.analyze.networkx(vertices="person", vertices_where="has('age', gt(35))")
        assert list(nx.pagerank(old)) == ["ben"] and "ada" not in old
        # An edge without a weight weighs 1.
        assert nx.shortest_path_length(db, "ada", "ulm", weight="weight") == 1
        assert nx.shortest_path_length(db, "ada", "ben", weight="weight") == 2
        with pytest.raises(mg.QueryError, match="there is no property key `nope`"):
            nx.single_source_dijkstra_path_length(db, "ada", weight="nope")
        with pytest.raises(ValueError, match="method not supported: foo"):
            nx.shortest_path(db, "ada", "ben", method="foo")


def test_what_networkx_can_answer_alone_is_left_to_it():
    graph = nx.Graph()
    graph.add_weighted_edges_from([(0, 1, None), (0, 2, 2)])
    negative = nx.Graph()
    negative.add_weighted_edges_from([(0, 1, -1.0), (1, 2, 3.0)])
    with nx.config(backend_priority=["mangrove"]):
        assert nx.single_source_dijkstra_path_length(graph, 0) == {0: 0, 2: 2}
        assert nx.pagerank(negative).keys() == {0, 1, 2}
    with pytest.raises(NotImplementedError) as raised:
        nx.pagerank(negative, backend="mangrove")
    assert "weights that are finite and not negative" in str(raised.value.__cause__)


def test_names_of_nodes_may_be_anything():
    graph = nx.Graph([("a", 1), (1, (2, "b")), (frozenset("x"), "y")])
    assert sets(map(lambda part: map(str, part), nx.connected_components(graph, backend="mangrove"))) == sorted(
        [sorted(["a", "1", "(2, 'b')"]), sorted([str(frozenset("x")), "y"])]
    )
    assert nx.single_source_shortest_path_length(graph, "a", backend="mangrove") == {"a": 0, 1: 1, (2, "b"): 2}
    assert nx.is_maximal_matching(graph, nx.maximal_matching(graph, backend="mangrove"))
    assert nx.pagerank(nx.Graph(), backend="mangrove") == {}


def test_a_graph_is_copied_again_once_it_has_changed():
    graph = nx.path_graph(3)
    assert nx.number_connected_components(graph, backend="mangrove") == 1
    graph.add_node("alone")
    assert nx.number_connected_components(graph, backend="mangrove") == 2


def test_the_documentation_names_every_function():
    text = (Path(__file__).parents[2] / "docs" / "analytics.md").read_text()
    table = text[text.index("## NetworkX") : text.index("## Vertex programs")]
    assert set(re.findall(r"`(\w+)`", "".join(line for line in table.splitlines(True) if line.startswith("| `")))) == set(FUNCTIONS)
    for name, notes in FUNCTIONS.items():
        assert hasattr(nx_backend, name)
        assert notes is None or notes in table, name
