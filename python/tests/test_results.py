"""Results: values, elements, and the ways into other libraries."""

import datetime as dt
import decimal
import math
import pickle
import uuid

import numpy as np
import pyarrow as pa
import pytest

import mangrovedb as mg

VALUES = [
    None,
    True,
    0,
    -(2**63),
    2**63,
    -(10**30),
    1.5,
    math.inf,
    "",
    "Zürich ✈",
    b"\x00\xff",
    uuid.UUID(int=7),
    decimal.Decimal("12.340"),
    dt.date(1815, 12, 10),
    dt.datetime(2024, 2, 29, 10, 11, 12, 345678, dt.timezone.utc),
    dt.datetime(1950, 1, 1, 1, 2, 3, tzinfo=dt.timezone(dt.timedelta(hours=-5, minutes=-30))),
    dt.timedelta(days=-2, hours=3, microseconds=1),
    [1, "a", [2.5, None]],
    {1, 2},
    {"a": 1, "b": {"c": [True]}},
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_go_in_and_come_back(empty, value):
    back = empty.query("g.inject(x)", x=[value]).one()
    assert back == [value] and type(back[0]) is type(value)


@pytest.mark.parametrize("value", [v for v in VALUES if v is not None], ids=repr)
def test_values_are_kept_as_properties(empty, value):
    empty.query("g.addV('kept').property('value', x)", x=value)
    back = empty.query("g.V().values('value')").one()
    assert back == value and type(back) is type(value)


def test_a_datetime_keeps_its_offset(empty):
    written = dt.datetime(2024, 6, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    back = empty.query("g.inject(x)", x=written).one()
    assert (back, back.utcoffset()) == (written, dt.timedelta(hours=2))
    naive = dt.datetime(2024, 6, 1, 12)
    assert empty.query("g.inject(x)", x=naive).one() == naive.replace(tzinfo=dt.timezone.utc)


def test_numpy_scalars_and_arrays_are_values(empty):
    assert empty.query("g.inject(x)", x=np.int32(5)).one() == 5
    assert empty.query("g.inject(x)", x=np.float32(0.5)).one() == 0.5
    assert empty.query("g.inject(x)", x=[np.array([0.5, 1.5], dtype="f4")]).one() == [[0.5, 1.5]]


def test_what_is_no_value_is_refused_by_name(empty):
    with pytest.raises(TypeError, match="object cannot be a value"):
        empty.query("g.inject(x)", x=object())


def test_vertices(db):
    vertex = db.query("g.V('AUS')").one()
    assert (vertex.id, vertex.label, vertex.labels) == ("AUS", "airport", ("airport",))
    assert vertex.properties == {"code": "AUS", "city": "Austin", "elev": 542}
    assert (vertex["city"], repr(vertex)) == ("Austin", "v[AUS]")
    again = db.query("g.V().has('city', 'Austin')").one()
    assert vertex == again and hash(vertex) == hash(again) and len({vertex, again}) == 1
    assert vertex != db.query("g.V('LHR')").one()
    with pytest.raises(KeyError):
        vertex["nothing"]


def test_edges_and_their_ends(db):
    edge = db.query("g.V('AUS').outE('route').has('dist', 190)").one()
    assert (edge.label, edge.outV.id, edge.inV.id, edge.properties) == ("route", "AUS", "DFW", {"dist": 190})
    assert edge.inV == db.query("g.V('DFW')").one()
    assert repr(edge) == f"e[{edge.id}][AUS-route->DFW]"
    assert db.query("g.E(x)", x=edge.id).one() == edge


def test_elements_are_parameters(db):
    aus = db.query("g.V('AUS')").one()
    assert db.query("g.V(x).out('in').values('name')", x=aus).one() == "United States"
    edge = db.query("g.E().has('dist', 7900)").one()
    assert db.query("g.E(x).values('dist')", x=edge).one() == 7900


def test_properties_are_elements_of_their_own(db):
    of_vertex = db.query("g.V('AUS').properties('city')").one()
    assert (of_vertex.key, of_vertex.label, of_vertex.value, of_vertex.vertex.id) == ("city", "city", "Austin", "AUS")
    assert of_vertex.id is not None and repr(of_vertex) == "vp[city->Austin]"
    of_edge = db.query("g.V('AUS').outE('in').properties()").to_list()
    assert of_edge == []
    of_edge = db.query("g.E().has('dist', 7900).properties()").one()
    assert (of_edge.key, of_edge.value, hasattr(of_edge, "id"), repr(of_edge)) == ("dist", 7900, False, "p[dist->7900]")


def test_several_values_and_their_own_properties(empty):
    empty.query("g.addV('p').property(list, 'name', 'a', 'since', 1).property(list, 'name', 'b').property('one', 1)")
    vertex = empty.query("g.V()").one()
    assert vertex.properties == {"name": ["a", "b"], "one": 1}
    first = empty.query("g.V().properties('name').has('since', 1)").one()
    assert (first.value, first.properties) == ("a", {"since": 1})


def test_paths(db):
    path = db.query("g.V('AUS').as('start').outE('route').has('dist', 190).as('leg').inV().path()").one()
    assert [type(item).__name__ for item in path.objects] == ["Vertex", "Edge", "Vertex"]
    assert path.labels == [{"start"}, {"leg"}, set()]
    assert (len(path), path[0].id, path[-1].id, path["leg"]["dist"]) == (3, "AUS", "DFW", 190)
    assert [item for item in path] == path.objects
    again = db.query("g.V('AUS').as('start').outE('route').has('dist', 190).as('leg').inV().path()").one()
    assert path == again and hash(path) == hash(again)
    for wrong in (3, -4, "nowhere"):
        with pytest.raises(LookupError):
            path[wrong]


def test_maps_have_tokens_and_hashable_keys(db):
    row = db.query("g.V('AUS').elementMap('city')").one()
    assert row == {mg.T.id: "AUS", mg.T.label: "airport", "city": "Austin"}
    assert (type(mg.T.id).__name__, mg.T.id.name) == ("T", "id")
    counts = db.query("g.V().hasLabel('airport').group().by(out('route').values('code').order().fold()).by(count())").one()
    assert counts[("DFW", "LHR")] == 1
    grouped = db.query("g.V('AUS').group().by(project('a').by('code')).by('elev')").one()
    assert grouped[mg.FrozenDict(a="AUS")] in (542, [542])
    by_vertex = db.query("g.V('AUS').out('route').groupCount()").one()
    assert {vertex.id: n for vertex, n in by_vertex.items()} == {"DFW": 1, "LHR": 1}


def test_trees_and_subgraphs(db):
    tree = db.query("g.V('AUS').out('route').tree()").one()
    assert isinstance(tree, mg.Tree)
    assert {vertex.id: sorted(b.id for b in below) for vertex, below in tree.items()} == {"AUS": ["DFW", "LHR"]}
    graph = db.query("g.V('AUS').outE('route').subgraph('s').cap('s')").one()
    assert sorted(v.id for v in graph.vertices) == ["AUS", "DFW", "LHR"]
    assert {(e.outV.id, e.inV.id) for e in graph.edges} == {("AUS", "DFW"), ("AUS", "LHR")}


def test_a_result_is_a_sequence(db):
    result = db.query("g.V().hasLabel('airport').values('code').order()")
    assert (len(result), result[0], result[-1], bool(result)) == (4, "AUS", "WLG", True)
    assert list(result) == list(result) == result.to_list()
    with pytest.raises(IndexError):
        result[4]
    with pytest.raises(ValueError, match="has 4 results"):
        result.one()
    assert not db.query("g.V('nobody')")


def test_a_slice_is_a_list(db):
    result = db.query("g.V().values('name').order()")
    everything = result.to_list()
    assert result[1:3] == everything[1:3] and result[::-1] == everything[::-1] and result[9:] == []
    with pytest.raises(TypeError):
        result["name"]


def test_results_leave_through_arrow(db):
    result = db.query("g.V().hasLabel('airport').order().by('code').project('code', 'elev').by('code').by('elev')")
    table = result.to_arrow()
    assert table.to_pydict() == {"code": ["AUS", "DFW", "LHR", "WLG"], "elev": [542, 607, 83, 41]}
    assert table.schema.field("elev").type == pa.int64()
    assert pa.table(result).equals(table)
    elements = db.query("g.V().hasLabel('airport').order().by('code')").to_arrow()
    assert elements.column_names[:2] == ["id", "label"] and elements["city"][0].as_py() == "Austin"
    assert db.query("g.V('nobody')").to_arrow().num_rows == 0


def test_results_as_frames(db):
    result = db.query("g.V().hasLabel('airport').order().by('code').valueMap('code', 'elev').by(unfold())")
    frame = result.to_pandas()
    assert list(frame.columns) == ["code", "elev"] and frame["elev"].sum() == 1273
    assert result.to_polars()["code"].to_list() == ["AUS", "DFW", "LHR", "WLG"]


def test_results_as_networkx(db):
    graph = db.query("g.E().hasLabel('route')").to_networkx()
    assert graph.number_of_edges() == 5 and graph["AUS"]["DFW"]
    assert [data["dist"] for _, _, data in graph.out_edges("AUS", data=True)].count(190) == 1
    paths = db.query("g.V('AUS').outE('route').inV().path()").to_networkx()
    assert paths.nodes["AUS"]["city"] == "Austin" and sorted(paths.successors("AUS")) == ["DFW", "LHR"]


def test_a_result_outlives_its_database(db):
    result = db.query("g.V().hasLabel('airport')")
    db.close()
    assert {vertex["code"] for vertex in result} == {"AUS", "DFW", "LHR", "WLG"}


def test_tokens_survive_pickling():
    assert pickle.loads(pickle.dumps(mg.T.id)) is mg.T.id


def test_networkx_keeps_properties_of_any_name(empty):
    names = ["key", "label", "node_for_adding", "u_for_edge", "v_for_edge", "self"]
    for id in ("a", "b"):
        empty.query("g.addV('thing').property(id, x)", x=id)
        for name in names:
            empty.query("g.V(x).property(single, name, name)", x=id, name=name)
    empty.query("g.V('a').addE('joins').to(__.V('b'))")
    for name in names:
        empty.query("g.E().property(name, name)", name=name)
    graph = empty.query("g.V('a').outE().inV().path().by(identity())").to_networkx()
    own = {name: name for name in names}
    assert dict(graph.nodes["a"]) == {**own, "T.label": "thing"} == dict(graph.nodes["b"])
    ((_, _, attributes),) = graph.edges(data=True)
    assert attributes == {**own, "T.label": "joins"}
    empty.query("g.V().properties('label').drop()")
    assert empty.query("g.V('a')").to_networkx().nodes["a"]["label"] == "thing"


def test_numbers_out_of_bounds_are_refused_and_large_ones_are_short_texts(empty, tmp_path):
    large = decimal.Decimal("12E9000")
    assert empty.query("g.inject(x)", x=large).one() == large
    assert "12E9000" in mg_json(empty.query("g.inject(x)", x=large))
    for parameter in (decimal.Decimal("1E999999999"), decimal.Decimal("1E-999999999"), 10**10_001):
        with pytest.raises(ValueError, match="at most|exponent"):
            empty.query("g.inject(x)", x=parameter)
    with pytest.raises(mg.QueryError, match="out of bounds"):
        empty.query("g.withSack(x).inject(x).sack(mult).sack()", x=large)
    (tmp_path / "n.csv").write_text("id,x:decimal\n1,1e999999999\n")
    with pytest.raises(mg.LoadError, match="n.csv:2"):
        empty.load(nodes={"n": "n.csv"})
    text = '{"id":{"@type":"g:Int64","@value":1},"label":"n","properties":{"x":[{"id":1,"value":{"@type":"gx:BigDecimal","@value":"1e999999999"}}]}}'
    (tmp_path / "n.graphson").write_text(text)
    with pytest.raises(mg.LoadError, match="BigDecimal"):
        empty.load("n.graphson", format="graphson")
    (tmp_path / "n.jsonl").write_text('{"id": 1, "x": ' + "9" * 10_002 + "}\n")
    with pytest.raises(mg.LoadError, match="digits"):
        empty.load(nodes={"n": "n.jsonl"})
    assert empty.query("g.V().count()").one() == 0


def mg_json(result):
    return str(result.to_arrow().to_pylist())


def test_values_nested_without_end_are_refused(empty):
    itself = []
    itself.append(itself)
    pair = {}
    pair["pair"] = (pair,)
    deep = 1
    for _ in range(100_000):
        deep = [deep]
    for value in (itself, pair, deep):
        with pytest.raises(ValueError, match="nested more than 64"):
            empty.query("g.inject(x)", x=value)
    with pytest.raises(ValueError, match="nested"):
        with empty.ingest() as w:
            w.add_vertices("n", [{"id": 1, "x": itself}])
    allowed = 1
    for _ in range(64):
        allowed = [allowed]
    assert empty.query("g.inject(x)", x=[allowed[0]]).one() == [allowed[0]]


@pytest.mark.parametrize(
    "query",
    [
        "g.inject(1).repeat(fold()).times(1000000)",
        "g.inject(1).repeat(project('a').by()).times(1000000)",
        "g.inject(1).repeat(path()).times(1000000)",
        "g.withSack(1).inject(1).repeat(sack(assign).by(sack().fold())).times(1000000).sack()",
        "g.inject(1).repeat(aggregate('x').select('x')).times(1000000)",
        "g.inject(1).repeat(aggregate('x').by(select('x'))).times(1000000).cap('x')",
        "g.inject(1).repeat(group('m').by(constant('k')).by(select('m').fold())).times(1000000).cap('m')",
        "g.inject(1).repeat(union(identity(), identity()).fold()).times(60)",
        "g.inject(1).repeat(identity()).times(1000000).tree()",
        "g.inject(1)" + ".fold()" * 1_900,
        "g.inject(1)" + ".fold()" * 200_000,
        "g.inject(1)" + ".identity()" * 2_000,
    ],
)
def test_a_query_cannot_nest_values_without_end(empty, query):
    try:
        empty.query(query, timeout=20, memory_mb=256)
    except mg.QueryError as error:
        assert any(word in str(error) for word in ("nested", "memory", "collection", "at most", "more than 2000 steps")), error
    assert empty.query("g.inject(1)").one() == 1


def test_dates_too_far_apart_are_an_error(empty):
    with pytest.raises(mg.QueryError, match="too far apart"):
        empty.query("g.inject(9223372036854775807L).asDate().dateDiff(constant(-9223372036854775807L).asDate())")


def test_a_stream_gives_results_as_they_come(db):
    endless = db.stream("g.inject(1).repeat(identity()).emit()")
    assert [next(endless) for _ in range(3)] == [1, 1, 1]
    endless.close()
    assert list(endless) == []
    with db.stream("g.V().hasLabel('airport').order().by('code')") as airports:
        first = next(airports)
        assert (first.label, first["code"]) == ("airport", "AUS")
        db.query("g.V().hasLabel('airport').drop()")
        assert [airport["code"] for airport in airports] == ["DFW", "LHR", "WLG"], "it is of the graph as it was"
    assert list(db.stream("g.V().hasLabel('airport')")) == []


def test_a_stream_ends_with_the_error_of_its_query(db):
    numbers = db.stream("g.inject(1, 2, 'three').math('_ * 2')")
    with pytest.raises(mg.QueryError, match="must resolve to a Number"):
        list(numbers)
    assert list(numbers) == []
    with pytest.warns(mg.QueryWarning, match="no vertex label"):
        list(db.stream("g.V().hasLabel('aiport')"))
    with pytest.raises(mg.QueryError):
        db.stream("g.V(")


def test_entries_whose_keys_are_one_to_python_are_not_lost(db):
    assert db.query("g.inject(1, 1.0, 2).groupCount()").one() == [(1, 1), (1.0, 1), (2, 1)]
    assert db.query("g.inject(1, 2, 2).groupCount()").one() == {1: 1, 2: 2}


def test_a_collection_of_endless_repetitions_is_refused_at_once(empty):
    empty.query("g.addV('n').as('a').addV('n').as('b').addE('e').from('a').to('b').addE('e').from('b').to('a')")
    with pytest.raises(mg.MemoryLimitError):
        empty.query("g.V().repeat(both()).times(60).aggregate('x').cap('x')", memory_mb=64, timeout=60)


def test_a_path_ends_where_a_modulator_gives_nothing(empty):
    empty.query("g.addV('software').property('name', 'lop').property('lang', 'java')")
    assert empty.query("g.V().values('name').path().by('age').by('lang')").to_list() == []
    with pytest.raises(mg.QueryError, match="can only be applied"):
        empty.query("g.V().values('name').path().by('lang').by('lang')")
    assert empty.query("g.V().out().simplePath().by('age')").to_list() == []


def test_a_modulator_in_turn_runs_for_each_key(empty):
    empty.query("g.addV('n').property('x', 1)")
    assert empty.query("g.V().project('a', 'b').by(aggregate('seen').count()).cap('seen').unfold().count()").one() == 2
    assert empty.query("g.V().project('a', 'b').by(addV('made').count())").one() == {"a": 1, "b": 1}
    assert empty.query("g.V().hasLabel('made').count()").one() == 2
    query = "g.V().has('x').project('before', 'set', 'after').by('x').by(property(single, 'x', 9).values('x')).by('x')"
    assert empty.query(query).one() == {"before": 1, "set": 9, "after": 9}


def test_many_values_with_properties_of_their_own_are_read_once(empty):
    empty.query("g.addV('n').property(T.id, 'a')")
    with empty.transaction() as transaction:
        for i in range(3000):
            transaction.query("g.V('a').property(list, 'log', i, 'since', i)", {"i": i})
    since = empty.query("g.V('a').properties('log').values('since').sum()", memory_mb=64).one()
    assert since == sum(range(3000))
    logs = empty.query("g.V('a').properties('log')", memory_mb=64).to_list()
    assert sorted(log.properties["since"] for log in logs) == list(range(3000))
    assert empty.query("g.V('a').properties('log').has('since', gt(2997)).value()").to_list() == [2998, 2999]
    assert empty.query("g.V('a').properties('log').order().by('since', desc).limit(1).valueMap()").one() == {"since": 2999}


def test_columns_of_several_types_join_in_order(empty):
    rows = [{"id": i, "code": i % 7} for i in range(20_000)]
    empty.load(nodes={"a": rows, "b": [{"id": 20_000 + i, "code": f"t{i}"} for i in range(20_000)]})
    both = empty.query("g.V().values('code').order()").to_list()
    assert both == sorted(row["code"] for row in rows) + sorted(f"t{i}" for i in range(20_000))
    assert empty.query("g.V().values('code').tail(20005).limit(6)").to_list() == [3, 4, 5, 6, 0, "t0"]
    assert empty.query("g.V().values('code').barrier().count()").one() == 40_000


def test_an_index_search_tries_its_other_filters_on_every_candidate(empty):
    rows = [{"id": i, "active": i % 10 != 0, "bio": f"{'needle' if i % 4999 == 0 else 'hay'} {i}"} for i in range(20_000)]
    empty.load(nodes={"p": rows}, indexes=["p.active"])
    query = "g.V().has('p', 'active', true).has('bio', containing('needle')).id()"
    assert "index" in str(empty.explain(query)).lower()
    assert empty.query(query).to_list() == [4999, 9998, 14997, 19996]
