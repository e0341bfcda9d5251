"""gremlinpython's own traversals, executed in process."""

import uuid
from datetime import datetime, timedelta, timezone

import pytest
from gremlin_python.process.anonymous_traversal import traversal
from gremlin_python.process.graph_traversal import GraphTraversalSource, __
from gremlin_python.process.strategies import SubgraphStrategy
from gremlin_python.process.traversal import Operator, Order, P, T, TextP, WithOptions
from gremlin_python.statics import long
from gremlin_python.structure.graph import Edge, Path, Property, Vertex, VertexProperty
from gremlin_python.structure.io.graphbinaryV1 import GraphBinaryWriter
from gremlin_python.structure.io.graphsonV3d0 import GraphSONWriter

import mangrovedb as mg
from mangrovedb.gremlin import InProcessConnection


@pytest.fixture
def g(db):
    return db.traversal()


def test_the_source_is_the_stock_one(g):
    assert type(g) is GraphTraversalSource


def test_reads(g):
    assert g.V().count().next() == 5
    assert g.V().has("airport", "code", "AUS").out("route").values("code").order().to_list() == ["DFW", "LHR"]
    assert g.V().has("elev", P.gt(100)).order().by("elev", Order.desc).values("code").to_list() == ["DFW", "AUS"]
    assert g.V().has("city", TextP.starting_with("Lon")).values("code").next() == "LHR"
    assert g.V("AUS").repeat(__.out("route").simple_path()).emit().dedup().values("code").to_set() == {"DFW", "LHR", "WLG"}
    assert g.V("AUS").element_map("city").next() == {T.id: "AUS", T.label: "airport", "city": "Austin"}
    counts = g.V().has_label("airport").group().by("code").by(__.out("route").count()).next()
    assert counts == {"AUS": 2, "DFW": 2, "LHR": 1, "WLG": 0}
    assert not g.V("nobody").has_next()


def test_elements_are_the_librarys_own(g):
    vertex = g.V("AUS").next()
    assert type(vertex) is Vertex and (vertex.id, vertex.label) == ("AUS", "airport")
    assert {p.key: p.value for p in vertex.properties}["city"] == "Austin"
    edge = g.V("AUS").out_e("route").has("dist", 190).next()
    assert type(edge) is Edge and (edge.outV.id, edge.inV.id) == ("AUS", "DFW")
    assert type(g.V("AUS").properties("city").next()) is VertexProperty
    assert type(g.E().has("dist", 190).properties("dist").next()) is Property
    path = g.V("AUS").as_("a").out("route").path().next()
    assert type(path) is Path and path.objects[0] == vertex and path.labels[0] == {"a"}


def test_elements_go_back_in(g):
    vertex = g.V("AUS").next()
    assert g.V(vertex).out("in").values("name").next() == "United States"


def test_writes_are_durable(g, db):
    made = g.add_v("airport").property(T.id, "ZRH").property("code", "ZRH").next()
    g.V("AUS").add_e("route").to(made).property("dist", 8600).iterate()
    assert db.query("g.V('AUS').out('route').has('code', 'ZRH').count()").one() == 1
    g.V("ZRH").drop().iterate()
    assert g.V().count().next() == 5 and g.E().count().next() == 6


def test_transactions(g):
    tx = g.tx()
    gtx = tx.begin()
    gtx.add_v("airport").property(T.id, "ZRH").iterate()
    assert gtx.V("ZRH").has_next() and not g.V("ZRH").has_next()
    tx.commit()
    assert g.V("ZRH").has_next() and not tx.is_open()
    tx = g.tx()
    gtx = tx.begin()
    gtx.V().drop().iterate()
    tx.rollback()
    assert g.V().count().next() == 6


def test_errors_are_mangroves(g):
    with pytest.raises(mg.QueryError):
        g.V().fail("on purpose").iterate()


def test_graphbinary_says_what_graphson_says(g, db):
    day = datetime(2024, 2, 29, 12, 30, tzinfo=timezone(timedelta(hours=2)))
    traversals = [
        g.V().has("airport", "code", P.within("AUS", "LHR")).values("city").order().by(Order.desc),
        g.V().has("elev", P.between(0, 600).and_(P.neq(83)).or_(P.eq(None))).values("code").order(),
        g.V().has("city", TextP.not_starting_with("L")).out_e("route").in_v().path().by("code").by(T.label),
        g.V("AUS").repeat(__.out("route").simple_path()).times(2).emit().value_map("code").with_(WithOptions.tokens),
        g.with_strategies(SubgraphStrategy(vertices=__.has("code", P.neq("DFW")))).V("AUS").out("route").id_(),
        g.with_sack(1).V("AUS").sack(Operator.sum_).by(__.constant(2)).sack(),
        g.inject(day, uuid.UUID(int=7), 1.5, long(5), {"k": [1, {2}]}, timedelta(seconds=90), None, True, bytes(b"\x00\xff")),
        g.V(g.V("LHR").next()).project("id", "n").by(T.id).by(__.both().count()),
    ]
    for traversal in traversals:
        graphson = db.query_bytecode(GraphSONWriter().write_object(traversal.bytecode)).to_list()
        graphbinary = db.query_bytecode(GraphBinaryWriter().write_object(traversal.bytecode)).to_list()
        assert graphson and graphbinary == graphson
    with db.transaction() as tx:
        tx.query_bytecode(bytes(GraphBinaryWriter().write_object(g.add_v("airport").property("code", "OSL").bytecode)))
    assert g.V().has("code", "OSL").count().next() == 1


def test_wrong_graphbinary_says_where(db):
    with pytest.raises(mg.QueryError, match="byte 2: 4 bytes should follow, but there are 2"):
        db.query_bytecode(b"\x15\x00\x7f\xff")
    with pytest.raises(mg.QueryError, match="argument 1 of map.*: lambdas are not supported"):
        db.query_bytecode(GraphBinaryWriter().write_object(db.traversal().V().map(lambda: "it").bytecode))
    with pytest.raises(TypeError):
        db.query_bytecode(5)


def test_asynchronous_submission(g):
    assert g.V().count().promise(lambda t: t.next()).result() == 5


def test_any_source_can_use_the_connection(db):
    assert traversal().with_(InProcessConnection(db)).V().count().next() == 5


def test_shortest_paths_are_those_of_networkx(tmp_path):
    import random

    import networkx as nx

    rng = random.Random(3)
    edges = [(rng.randrange(40), rng.randrange(40), rng.randrange(1, 9)) for _ in range(110)]
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(40))
    graph.add_weighted_edges_from(edges)
    db = mg.open(tmp_path / "paths")
    with db.ingest() as w:
        w.add_vertices("v", [{"~id": vertex} for vertex in range(40)])
        w.add_edges("e", edges, columns=["from", "to", "weight"])
    flat = nx.Graph(graph)
    for target in range(40):
        for name, given, weight, of in (
            ("", "", None, flat),
            (".with(ShortestPath.edges, __.outE())", "", None, nx.DiGraph(graph)),
            (".with('~tinkerpop.shortestPath.edges', Direction.OUT)", ".with('~tinkerpop.shortestPath.distance', 'weight')", "weight", graph),
        ):
            query = f"g.V(0).shortestPath().with(ShortestPath.target, __.hasId({target})){name}{given}"
            found = [tuple(vertex.id for vertex in path.objects) for path in db.query(query).to_list()]
            expected = set(map(tuple, nx.all_shortest_paths(of, 0, target, weight=weight))) if nx.has_path(of, 0, target) else set()
            assert len(found) == len(set(found)) and set(found) == expected
    near = db.query("g.V(0).shortestPath().with(ShortestPath.maxDistance, 2).count(local).max()").one()
    assert near == 3
    with_edges = db.query("g.V(0).shortestPath().with(ShortestPath.includeEdges).limit(2)").to_list()[1]
    assert [type(item).__name__ for item in with_edges.objects] == ["Vertex", "Edge", "Vertex"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("g.V().shortestPath().with('depth', 1)", "shortestPath\\(\\) has the options target, edges, distance, maxDistance and includeEdges"),
        ("g.V().shortestPath().with(ShortestPath.maxDistance, -1)", "maxDistance must be a number of 0 or more, not -1"),
        ("g.V().shortestPath().with(ShortestPath.edges, __.out())", "edges works on an edge, but got the vertex"),
        ("g.V().shortestPath().with(ShortestPath.distance, 'city')", "the distance of an edge must be a number of 0 or more"),
        ("g.E().shortestPath()", "shortestPath works on a vertex"),
        ("g.V().pageRank().with(PageRank.propertyName, 'code')", "the graph has the property `code` already"),
        ("g.V().pageRank().property('rank', 1)", "so the query cannot change it"),
    ],
)
def test_shortest_paths_that_make_no_sense_are_refused(db, query, message):
    with pytest.raises(mg.QueryError, match=message):
        db.query(query)


def test_the_driver_has_steps_for_algorithms(db):
    from gremlin_python.process.graph_traversal import __
    from gremlin_python.process.traversal import Order
    from gremlin_python.process.traversal import T as GremlinT

    g = db.traversal()
    ranked = g.V().page_rank().with_("~tinkerpop.pageRank.propertyName", "rank").with_("~tinkerpop.pageRank.edges", __.out_e("route"))
    first = ranked.order().by("rank", Order.desc).limit(1).id_().next()
    ranks = db.analyze.pagerank(edges=["route"]).to_dict()
    assert first == max(ranks, key=ranks.get)
    components = g.V().connected_component().with_("~tinkerpop.connectedComponent.propertyName", "part").group_count().by("part").next()
    assert sum(components.values()) == db.query("g.V().count()").one()
    assert g.V().peer_pressure().with_("~tinkerpop.peerPressure.propertyName", "c").values("c").dedup().count().next() >= 1
    assert g.V().shortest_path().with_("~tinkerpop.shortestPath.target", __.has(GremlinT.id, first)).count().next() >= 1
