"""Elements as dicts and JSON, given back by procedures, and in networkx."""

import json

import pytest

import mangrovedb as mg


def test_elements_are_read_as_dicts(db):
    vertex = db.query("g.V('AUS')").one()
    known = lambda row: {name: value for name, value in row.items() if value is not None}
    assert vertex.to_dict() == dict(vertex) == known(db.query("g.V('AUS')").to_dicts()[0])
    assert list(vertex.to_dict())[:2] == ["id", "label"]
    assert (vertex["id"], vertex["label"], vertex["code"]) == ("AUS", "airport", "AUS")
    assert vertex.get("code") == "AUS" and vertex.get("nothing") is None and vertex.get("nothing", 5) == 5
    assert "code" in vertex and "nothing" not in vertex and ("city", "Austin") in vertex.items()
    with pytest.raises(KeyError):
        vertex["nothing"]
    edge = db.query("g.V('AUS').outE('route').limit(1)").one()
    assert edge.to_dict() == dict(edge) == known(db.query("g.V('AUS').outE('route').limit(1)").to_dicts()[0])
    assert edge["outV"] == "AUS" and edge.keys()[:4] == ["id", "label", "outV", "inV"]


def test_names_that_properties_have_too(empty):
    empty.query("g.addV('a').property(T.id, 1).property('id', 'x').property('label', 'y')")
    vertex = empty.query("g.V(1)").one()
    assert vertex.to_dict() == {"T.id": 1, "T.label": "a", "id": "x", "label": "y"}
    assert vertex.to_dict() == empty.query("g.V(1)").to_dicts()[0]


def test_elements_become_json(db):
    for query in ("g.V()", "g.E()"):
        result = db.query(query)
        assert [json.loads(element.to_json()) for element in result] == json.loads(result.to_json())
    db.query("g.V('AUS').property(list, 'tags', 'a').property(list, 'tags', 'b').addLabel('hub')")
    vertex = json.loads(db.query("g.V('AUS')").one().to_json())
    assert vertex["properties"]["tags"] == ["a", "b"] and vertex["furtherLabels"] == ["hub"]


def test_procedures_give_back_properties(db):
    db.register_procedure("twice", lambda params, value: [value, value])
    assert db.query("g.V('AUS').properties('code').call('twice').value()").to_list() == ["AUS", "AUS"]
    assert db.query("g.V('AUS').properties('code').call('twice').element().id()").to_list() == ["AUS", "AUS"]
    assert db.query("g.V('AUS').outE().limit(1).properties('dist').call('twice').key()").to_list() == ["dist", "dist"]
    with pytest.raises(mg.QueryError):
        db.query("g.V('AUS').property('copy', x)", x=db.query("g.V('AUS').properties('code')").one())


def test_networkx_graphs_of_every_kind(db):
    networkx = pytest.importorskip("networkx")
    edges = db.query("g.E().hasLabel('route')")
    kinds = {(True, True): networkx.MultiDiGraph, (True, False): networkx.DiGraph, (False, True): networkx.MultiGraph, (False, False): networkx.Graph}
    for (directed, multigraph), kind in kinds.items():
        graph = edges.to_networkx(directed=directed, multigraph=multigraph)
        assert type(graph) is kind and set(graph) == {edge.outV.id for edge in edges} | {edge.inV.id for edge in edges}
        assert graph.number_of_edges() <= len(edges)
        assert all("dist" in of and of["label"] == "route" for *_, of in graph.edges(data=True))
    whole = db.query("g.V().union(identity(), outE())").to_networkx()
    assert whole.number_of_nodes() == db.query("g.V().count()").one() and whole.nodes["AUS"]["city"] == "Austin"
    assert whole.number_of_edges() == db.query("g.E().count()").one()
    # Paths go the general way, and come to the same.
    paths = db.query("g.V().outE('route').inV().path()").to_networkx()
    assert sorted(paths.edges(keys=True)) == sorted(edges.to_networkx().edges(keys=True))


def test_procedures_give_back_paths_and_subgraphs(db):
    db.register_procedure("same", lambda params, value: [value])
    query = "g.V('AUS').as('a').out().limit(1).as('b').path()"
    once, again = db.query(query).one(), db.query(query + ".call('same')").one()
    assert list(once) == list(again) and once["b"] == again["b"]
    whole = "g.E().hasLabel('route').subgraph('s').cap('s')"
    once, again = db.query(whole).one(), db.query(whole + ".call('same')").one()
    assert {e.id for e in once.edges} == {e.id for e in again.edges} and len(once.vertices) == len(again.vertices) > 0


def test_the_whole_graph_goes_to_networkx_and_back(db, tmp_path):
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_node("alone", age=7)
    graph.add_edge("a", "b", weight=2.5)
    with mg.open(tmp_path / "n.mg") as other:
        other.load(graph)
        back = other.to_networkx(directed=False, multigraph=False)
    assert type(back) is networkx.Graph and set(back) == {"alone", "a", "b"} and back.nodes["alone"]["age"] == 7
    assert back["a"]["b"]["weight"] == 2.5
    assert len(db.to_networkx()) == db.query("g.V().count()").one()


@pytest.mark.parametrize(
    "query",
    [
        "g.V().properties('name')",
        "g.E().properties('since')",
        "g.V().properties('name').properties('from')",
        "g.V().as('a').outE().as('b', 'c').inV().path()",
        "g.V().valueMap('name').path()",
        "g.V().map(fold()).path()",
    ],
)
def test_properties_and_paths_serialise_as_results_do(query):
    with mg.open(":memory:") as db:
        db.query("g.addV('a').property('name', 'x').as('x').addE('k').to('x').property('since', 7)")
        if "from" in query:
            db.query("g.V().property('name', 'x', 'from', 2001)")
        result = db.query(query)
        assert len(result) > 0
        assert [json.loads(item.to_json()) for item in result] == json.loads(result.to_json())


def test_a_path_that_contains_itself_is_refused():
    with mg.open(":memory:") as db:
        path = db.query("g.inject(1).map(fold()).path()").one()
        path.objects.append(path.objects)
        with pytest.raises(TypeError, match="nests too deep"):
            path.to_json()
