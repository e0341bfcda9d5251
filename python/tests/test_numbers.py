"""Numbers take the type of their property where it holds them exactly."""

import numpy as np
import pytest

import mangrovedb as mg

NAMES = {"int": "int32", "long": "int64", "short": "int16"}


def types(db, key="n"):
    return db.schema()["vertices"]["p"]["properties"][key]["types"]


@pytest.mark.parametrize(
    "declared, given, stored",
    [
        ("int", 30, 30),
        ("long", 5, 5),
        ("long", 5.0, 5),
        ("double", 3, 3.0),
        ("float", 0.5, 0.5),
        ("short", 7, 7),
        ("decimal", 3, 3),
        ("bigint", 3, 3),
    ],
)
def test_a_declared_number_takes_other_numbers(empty, declared, given, stored):
    empty.declare_property("p", "n", NAMES.get(declared, declared))
    empty.query("g.addV('p').property(T.id, 1).property('n', x)", x=given)
    with empty.ingest() as w:
        w.add_vertices("p", [{"id": 2, "n": given}])
    empty.load(nodes={"p": [{"id": 3, "n": given}]})
    values = empty.query("g.V().values('n')").to_list()
    assert values == [stored] * 3 and len({type(value) for value in values}) == 1
    assert types(empty) == [NAMES.get(declared, declared)]


@pytest.mark.parametrize(
    "declared, given", [("int32", 1 << 40), ("int64", 1.5), ("double", (1 << 53) + 1), ("string", 5), ("int32", "5")]
)
def test_what_a_declared_type_cannot_hold_is_refused(empty, declared, given):
    empty.declare_property("p", "n", declared)
    with pytest.raises(mg.QueryError, match="is declared .* and cannot hold"):
        empty.query("g.addV('p').property('n', x)", x=given)


def test_numbers_of_queries_join_those_of_loads(empty, tmp_path):
    pandas = pytest.importorskip("pandas")
    (tmp_path / "p.csv").write_text("id,n,x\n1,10,1.5\n2,20,2.5\n")
    empty.load(nodes={"p": "p.csv"})
    empty.query("g.V(1).property('n', 4).property('x', 3)")
    assert types(empty) == ["int64"] and types(empty, "x") == ["double"]
    assert empty.query("g.V(1).values('n', 'x')").to_list() == [4, 3.0]
    empty.export(tmp_path / "out")
    assert pandas.read_csv(tmp_path / "out" / "vertices_p.csv")["n:long"].tolist() == [4, 20]
    empty.query("g.V(1).property('n', 4.5)")
    assert types(empty) == ["int64", "double"], "4.5 is no whole number"


def test_numbers_of_edges(empty):
    empty.declare_property("e", "n", "int64", kind="edge")
    empty.query("g.addV('p').as('a').addE('e').to('a').property('n', 5)")
    assert empty.schema()["edges"]["e"]["properties"]["n"]["types"] == ["int64"]


def test_numpy_numbers(empty):
    empty.declare_property("p", "n", "int32")
    empty.query("g.addV('p').property('n', x)", x=np.int64(3))
    assert empty.query("g.V().values('n')").one() == 3


def test_vectors_take_no_index(empty):
    empty.declare_property("doc", "emb", "vector")
    with pytest.raises(mg.MangroveError, match="doc.emb holds vectors, and an index finds only values equal to a given one"):
        empty.create_index("doc", "emb")
    with pytest.raises(mg.MangroveError, match="no index of near vectors"):
        empty.load(nodes={"doc": [{"id": 1, "emb": [1.0, 2.0]}]}, indexes=["doc.emb"])
    assert empty.query("g.V().count()").one() == 0


def test_lists_of_numbers_become_declared_vectors(empty):
    pandas = pytest.importorskip("pandas")
    empty.declare_property("doc", "emb", "vector")
    empty.query("g.addV('doc').property(T.id, 1).property('emb', x)", x=[0.5, 1, 2])
    empty.load(nodes={"doc": [{"id": 2, "emb": [0.5, 1.0, 2.0]}]})
    empty.load(nodes={"doc": pandas.DataFrame({"id": [3], "emb": [[0.5, 1.0, 2.0]]})})
    with empty.ingest() as w:
        w.add_vertices("doc", [{"id": 4, "emb": np.array([0.5, 1.0, 2.0])}])
    assert empty.query("g.V().values('emb')").to_list() == [[0.5, 1.0, 2.0]] * 4
    assert empty.schema()["vertices"]["doc"]["properties"]["emb"]["types"] == ["vector"]
    for wrong in (["a"], [], "abc"):
        with pytest.raises(mg.QueryError, match="cannot hold"):
            empty.query("g.addV('doc').property('emb', x)", x=wrong)
