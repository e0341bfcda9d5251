"""Dates and date-times: equal where they are the same moment, and written from Gremlin text."""

import datetime as dt
import warnings
from decimal import Decimal

import pytest

import mangrovedb as mg

DAY = dt.date(2024, 5, 5)
MIDNIGHT = dt.datetime(2024, 5, 5, tzinfo=dt.timezone.utc)


@pytest.fixture(params=["tables", "segment", "index"])
def dated(request, empty, tmp_path):
    """Three vertices with dates, one of them with a date-time, however they are stored."""
    (tmp_path / "p.csv").write_text("id,d,t\n1,2024-05-05,2024-05-05T00:00:00Z\n2,2024-05-06,2024-05-05T00:00:01Z\n")
    empty.load(nodes={"p": tmp_path / "p.csv"})
    if request.param == "segment":
        empty.compact()
    if request.param == "index":
        empty.create_index("p", "d")
        empty.create_index("p", "t")
    return empty


@pytest.mark.parametrize(
    "test",
    [
        "eq(x)",
        "within([x, datetime('1999-01-01')])",
        "gte(x).and(lte(x))",
        "between(x, datetime('2024-05-05T00:00:00.5Z'))",
        "not(neq(x))",
    ],
)
@pytest.mark.parametrize("key", ["d", "t"])
@pytest.mark.parametrize("x", [DAY, MIDNIGHT])
def test_a_date_equals_the_midnight_it_begins_with(dated, test, key, x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dated.query(f"g.V().has('p', '{key}', {test}).id()", x=x).to_list() == [1]


def test_values_compare_as_properties_do(dated):
    assert dated.query("g.V().values('d').is(datetime('2024-05-05')).count()").to_list() == [1]
    assert dated.query("g.V().has('d', neq(datetime('2024-05-05'))).id()").to_list() == [2]
    many = [dt.datetime(2000 + n, 1, 1, tzinfo=dt.timezone.utc) for n in range(24)] + [MIDNIGHT]
    assert dated.query("g.V().has('d', within(x)).id()", x=many).to_list() == [1]


def test_gremlin_text_writes_dates(empty, tmp_path):
    empty.load(nodes={"p": [{"id": 1, "d": DAY}]})
    empty.query("g.V(1).property('d', datetime('2024-06-01'))")
    assert empty.query("g.V().values('d')").to_list() == [dt.date(2024, 6, 1)]
    empty.declare_property("p", "d", "date")
    empty.query("g.addV('p').property('id', 2).property('d', datetime('2024-06-02'))")
    assert empty.query("g.V(2).values('d')").to_list() == [dt.date(2024, 6, 2)]
    with pytest.raises(mg.QueryError, match=r"datetime\('2024-05-31'\)"):
        empty.query("g.V(1).property('d', '2024-06-01')")
    with pytest.raises(mg.QueryError, match="declared date"):
        empty.query("g.V(1).property('d', datetime('2024-06-01T12:00:00Z'))")


def test_the_time_of_an_edge_takes_the_type_of_the_others(empty):
    edge = {("p", "since", "p"): [{"src": 1, "dst": 1, "at": DAY}]}
    empty.load(nodes={"p": [{"id": 1}]}, edges=edge, edge_time="at")
    empty.query("g.V().as('a').addE('since').to('a').property('at', datetime('2024-05-06'))")
    assert empty.query("g.E().values('at').order()").to_list() == [DAY, dt.date(2024, 5, 6)]


def test_days_are_added_to_dates(empty):
    empty.load(nodes={"p": [{"id": 1, "d": DAY}]})
    ask = lambda step: empty.query(f"g.V().values('d').{step}").to_list()
    assert ask("dateAdd(DT.day, 1)") == [dt.date(2024, 5, 6)]
    assert ask("dateAdd(DT.hour, 1)") == [MIDNIGHT + dt.timedelta(hours=1)]
    assert ask("dateDiff(datetime('2024-05-04'))") == [86_400_000]
    with pytest.raises(mg.QueryError, match="works on dates and date-times"):
        empty.query("g.inject(1).dateAdd(DT.day, 1)")


def test_traversals_of_gremlinpython_take_dates_and_decimals(empty):
    empty.load(nodes={"p": [{"id": 1, "d": DAY, "price": Decimal("1.50")}]})
    g = empty.traversal()
    assert g.V().has("d", DAY).count().next() == 1
    assert g.V().has("price", Decimal("1.5")).count().next() == 1
    assert g.inject(DAY).next() == DAY
    assert g.inject(MIDNIGHT).next() == MIDNIGHT


@pytest.mark.parametrize(
    "test, outcome",
    [
        ("gte('2024-05-05')", "no `d` matches"),
        ("between('2024-05-05', '2024-05-06')", "no `d` matches"),
        ("inside(1, 2)", "no `d` matches"),
        ("outside('a', 'b')", "no `d` matches"),
        ("eq('x').or(eq(1))", "no `d` matches"),
        ("neq('2024-05-05')", "every `d` passes"),
        ("without('a', 'b')", "every `d` passes"),
        ("not(gte('2024-05-05'))", "every `d` passes"),
    ],
)
def test_a_test_that_tells_nothing_is_warned_of(empty, test, outcome):
    empty.load(nodes={"p": [{"id": 1, "d": DAY}]}, edges={("p", "e", "p"): [{"src": 1, "dst": 1, "d": DAY}]})
    for query in [f"g.V().has('p', 'd', {test})", f"g.E().has('e', 'd', {test})", f"g.V().outE('e').has('d', {test})"]:
        with pytest.warns(mg.QueryWarning, match=outcome):
            empty.query(query).to_list()


def test_dates_come_back_from_graphml(empty, tmp_path):
    (tmp_path / "gm.csv").write_text("src,dst,since\n1,2,2024-05-05\n")
    empty.load(edges={("p", "k", "p"): tmp_path / "gm.csv"}, missing="create", edge_time="since")
    empty.declare_property("p", "joined", "date")
    empty.query("g.V(1).property('joined', x)", x=DAY)
    empty.export(tmp_path / "out", "graphml")
    with mg.open(tmp_path / "again.mg") as again:
        again.load(tmp_path / "out")
        assert again.query("g.E().values('since')").to_list() == [DAY]
        assert again.query("g.V().values('joined')").to_list() == [DAY]


def test_graphml_keeps_the_white_space_of_declared_texts(empty, tmp_path):
    empty.declare_property("p", "note", "string")
    empty.query("g.addV('p').property('note', '  two\n ')")
    empty.export(tmp_path / "out", "graphml")
    with mg.open(tmp_path / "again.mg") as again:
        again.load(tmp_path / "out")
        assert again.query("g.V().values('note')").to_list() == ["  two\n "]
