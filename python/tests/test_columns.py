"""Results in columns: the same values as rows, whatever way the engine has them, and columns that come from the query."""

import datetime
import decimal
import json
import uuid

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import mangrovedb as mg

PEOPLE = [
    {"id": f"p{n}", "name": f"name {n}", "age": n, "score": n / 4, "born": datetime.date(2000, 1, 1 + n % 28), "old": n % 2 == 0}
    for n in range(40)
]
FEW = [{"id": f"f{n}", "nick": f"n{n}"} if n % 3 else {"id": f"f{n}"} for n in range(10)]


@pytest.fixture
def people(empty):
    empty.load(
        nodes={"person": PEOPLE, "friend": FEW},
        edges={("person", "knows", "friend"): [{"from": f"p{n}", "to": f"f{n % 10}", "since": 1990 + n} for n in range(40)]},
    )
    return empty


QUERIES = [
    "g.V().hasLabel('person')",
    "g.V()",
    "g.E()",
    "g.V().out()",
    "g.V().hasLabel('person').valueMap()",
    "g.V().hasLabel('person').valueMap('name', 'age')",
    "g.V().hasLabel('person').valueMap('name', 'age').by(unfold())",
    "g.V().hasLabel('person').valueMap(true, 'age').by(unfold())",
    "g.V().valueMap().with(WithOptions.tokens)",
    "g.V().hasLabel('friend').valueMap('nick', 'none')",
    "g.V().hasLabel('person').elementMap()",
    "g.V().elementMap('name', 'nick')",
    "g.E().elementMap()",
    "g.E().valueMap('since')",
    "g.V().hasLabel('person').project('n', 'a', 'l', 'i', 'deg', 'v').by('name').by('age').by(label).by(id).by(outE().count()).by()",
    "g.V().hasLabel('person').project('one', 'two').by('age')",
    "g.V().hasLabel('person').out().out().project('a').by('x')",
    "g.V().hasLabel('person').out('knows').project('n').by(coalesce(values('nick'), constant('-')))",
    "g.V().hasLabel('friend').project('n').by('nick')",
    "g.V().hasLabel('person').valueMap('name', 'name')",
    "g.V().hasLabel('person').elementMap('name', 'age', 'name')",
    "g.V().hasLabel('person').out().barrier()",
    "g.V().hasLabel('person').out().barrier().elementMap()",
    "g.V().hasLabel('person').union(valueMap('age'), values('name'))",
]


@pytest.mark.parametrize("state", ["tables", "compressed", "changed"])
@pytest.mark.parametrize("query", QUERIES)
def test_columns_have_the_values_of_rows(people, query, state):
    if state != "tables":
        people.compact()
    if state == "changed":
        people.query("g.V('p3').property('age', 1000).property('name', 'other')")
        people.query("g.V('p4').drop()")
    result = people.query(query)
    # Followed by a step of its own, which takes them row by row.
    rows = people.query(f"{query}.fold()").one()
    assert canonical(result.to_list()) == canonical(rows)
    assert [canonical(row) for row in result] == [canonical(row) for row in rows]
    assert list(map(canonical, people.stream(query))) == [canonical(row) for row in rows]
    with people.transaction() as tx:
        assert canonical(tx.query(query).to_list()) == canonical(rows)
        assert tx.query(query).to_arrow().column_names == result.to_arrow().column_names
    dicts = result.to_dicts()
    assert len(dicts) == len(rows)
    assert list(result.to_arrow().column_names) == (list(dicts[0]) if dicts else result.to_arrow().column_names)
    json.loads(result.to_json())


def canonical(value):
    """Elements with their properties, so that those are compared too."""
    if isinstance(value, (mg.Vertex, mg.Edge)):
        return (type(value).__name__, value.id, value.label, value.properties)
    if isinstance(value, dict):
        return {key: canonical(value) for key, value in value.items()}
    if isinstance(value, list):
        return [canonical(item) for item in value]
    return value


def test_columns_go_to_arrow_pandas_and_polars(people):
    result = people.query("g.V().hasLabel('person').order().by('age').elementMap()")
    table = result.to_arrow()
    assert table.column_names == ["id", "label", "name", "age", "score", "born", "old"]
    expected = [{"id": p["id"], "label": "person", **{k: v for k, v in p.items() if k != "id"}} for p in PEOPLE]
    assert table.to_pylist() == expected == result.to_dicts()
    assert pl.DataFrame(result).to_dicts() == expected
    frame = result.to_pandas()
    assert frame["age"].dtype == "int64" and frame["score"].dtype == "float64" and frame["old"].dtype == "bool"
    assert frame["age"].tolist() == list(range(40)) and frame["name"][3] == "name 3"
    vertices = people.query("g.V().hasLabel('person').order().by('age')").to_arrow()
    assert vertices.to_pylist() == expected
    edges = people.query("g.E().hasLabel('knows')").to_arrow()
    assert edges.column_names == ["id", "label", "outV", "inV", "since"]
    assert edges["outV"].to_pylist() == [f"p{n}" for n in range(40)] and edges["since"].type == pa.int64()


def test_whole_numbers_stay_whole_where_some_are_missing(people):
    people.query("g.V().hasLabel('person').has('age', lt(3)).properties('age', 'old').drop()")
    frame = people.query("g.V().hasLabel('person').elementMap()").to_pandas()
    assert frame["age"].dtype == "Int64" and frame["age"].sum() == sum(range(3, 40))
    assert frame["old"].dtype == "boolean" and frame["old"].isna().sum() == 3


def test_values_of_every_type_leave_in_columns(empty):
    values = {
        "i": 5, "f": 0.25, "s": "text", "b": True, "y": b"\x00\xff", "u": uuid.uuid4(), "d": datetime.date(1969, 1, 2),
        "t": datetime.datetime(2020, 5, 6, 7, 8, 9, 10, tzinfo=datetime.timezone.utc), "p": datetime.timedelta(seconds=3),
        "m": decimal.Decimal("1.25"), "l": [1, 2], "big": 2**70,
    }  # fmt: skip
    for n in range(10):
        keys = ", ".join(f"'{key}', {key}" for key in values)
        empty.query(f"g.addV('x').property('n', {n})" + "".join(f".property(single, '{k}', {k})" for k in values), values)
    for query in ("g.V().hasLabel('x').elementMap()", "g.V().hasLabel('x')"):
        result = empty.query(query)
        for row in result.to_dicts():
            assert {key: row[key] for key in values} == values
        assert result.to_arrow()["u"].type in (pa.uuid(), pa.binary(16))
        frame = result.to_pandas()
        assert frame["u"][0] == values["u"] and frame["l"][0] == [1, 2] and frame["m"][0] == values["m"]
        assert frame["t"][0] == pd.Timestamp(values["t"]) and frame["p"][0] == pd.Timedelta(values["p"])


EMPTY = {
    "g.V().hasLabel('person').has('age', -1).project('a', 'b').by('name').by('age')": ["a", "b"],
    "g.V().hasLabel('person').has('age', -1).valueMap('name', 'x')": ["name", "x"],
    "g.V().hasLabel('person').has('age', -1).elementMap('name')": ["id", "label", "name"],
    "g.E().has('since', -1).elementMap('since')": ["id", "label", "inV", "outV", "since"],
    "g.V().hasLabel('person').has('age', -1)": ["id", "label", "name", "age", "score", "born", "old"],
    "g.V().hasLabel('person').has('age', -1).out('knows')": ["id", "label", "nick"],
    "g.V().hasLabel('friend').has('nick', '-').limit(3).order().by('nick').dedup()": ["id", "label", "nick"],
    "g.V().hasLabel('person').has('age', -1).as('a').out().as('b').select('a', 'b')": ["a", "b"],
    "g.V().hasLabel('person').has('age', -1).groupCount().by('name')": ["key", "value"],
    "g.V().hasLabel('person').has('age', -1).values('name')": ["value"],
    "g.V().hasLabel('person').has('age', -1).properties('name')": ["key", "value"],
}


@pytest.mark.parametrize("query", EMPTY)
def test_a_result_without_rows_has_its_columns(people, query):
    result = people.query(query)
    assert result.to_arrow().column_names == EMPTY[query]
    assert list(result.to_pandas().columns) == EMPTY[query] and result.to_dicts() == []


def test_columns_do_not_depend_on_the_rows(people):
    before = people.query("g.V().hasLabel('person').limit(9)").to_arrow().column_names
    assert before == people.query("g.V().hasLabel('person').limit(1)").to_arrow().column_names
    assert people.query("g.V().hasLabel('person').limit(2).valueMap('age', 'nick')").to_arrow().column_names == ["age", "nick"]


def test_a_property_called_as_a_part_of_an_element_keeps_its_name(empty):
    empty.load(nodes={"x": [{"id": n, "label_": n, "label": f"l{n}"} for n in range(20)]}, key={"x": "id"})
    for query in ("g.V()", "g.V().has('label', 'no')", "g.V().elementMap()"):
        names = empty.query(query).to_arrow().column_names
        assert "label" in names and "T.label" in names, query


def test_counts_by_group_are_rows(people):
    result = people.query("g.V().hasLabel('person').groupCount().by('old')")
    assert len(result) == 1 and result.one() == {True: 20, False: 20}
    frame = result.to_pandas()
    assert dict(zip(frame["key"], frame["value"])) == {True: 20, False: 20}
    assert "key" in str(result)


def test_a_result_prints_its_first_rows(people):
    text = str(people.query("g.V().hasLabel('person').order().by('age').valueMap('name', 'age').by(unfold())"))
    assert "name 0" in text and "name 19" in text and "name 20" not in text and "40 results, of which 20 are shown" in text
    assert "no results" in repr(people.query("g.V().hasLabel('person').has('age', -1)"))
    assert "1 result" in repr(people.query("g.V().count()"))
    people.query("g.V('p1').property('name', x)", x="long " * 1000)
    assert len(repr(people.query("g.V('p1')"))) < 5000


def test_the_first_result_is_at_hand(people):
    assert people.query("g.V().hasLabel('person').order().by('age').values('name')").first() == "name 0"
    assert people.query("g.V().hasLabel('person').has('age', -1)").first() is None


def test_memory_of_columns_counts(people):
    people.load(nodes={"big": [{"id": n, "text": "x" * 1000} for n in range(20_000)]})
    with pytest.raises(mg.MemoryLimitError):
        people.query("g.V().hasLabel('big').elementMap()", memory_mb=5)
    with pytest.raises(mg.MemoryLimitError):
        people.query("g.V().hasLabel('big')", memory_mb=5)


def test_memory_of_what_many_traversers_share_counts(people):
    people.load(nodes={"big": [{"id": "hub", "text": "x" * 100_000}]})
    people.query("g.V().hasLabel('person').addE('at').to(__.V('hub'))")
    for end in ("", ".project('t').by('text')", ".elementMap()"):
        query = "g.V().hasLabel('person').out('at').as('a').repeat(in('at').out('at')).times(2).barrier()" + end
        with pytest.raises(mg.MemoryLimitError):
            people.query(query, memory_mb=50)
    assert people.stream("g.V().hasLabel('person').out('at').barrier().project('t').by('text')").__next__()


def test_groups_by_elements_are_rows_too(people):
    dicts = people.query("g.V().hasLabel('friend').limit(3).groupCount()").to_dicts()
    assert len(dicts) == 3 and all(isinstance(row["key"], mg.Vertex) and row["value"] == 1 for row in dicts)


def test_names_that_are_taken_twice_do_not_shift_rows(empty):
    for n in range(20):
        empty.query("g.addV('x').property(id, n).property('id', 'own').property('T.id', n)", n=n)
    for query in ("g.V()", "g.V().limit(3)"):
        result = empty.query(query)
        assert result.to_arrow().num_rows == len(result)
        assert all(row["id"] == "own" for row in result.to_dicts())


def test_uuids_in_lists_stay_uuids(empty):
    for n in range(20):
        empty.query("g.addV('x').property('u', u)", u=uuid.UUID(int=n))
    for limit in (5, 20):
        cells = empty.query(f"g.V().limit({limit}).valueMap('u')").to_dicts()
        assert all(isinstance(row["u"][0], uuid.UUID) for row in cells)


SAME_WITHOUT_RESULTS = [
    "g.V().hasLabel('person').limit(n).repeat(both()).times(2)",
    "g.V().limit(n).repeat(both()).emit().times(2)",
    "g.V().hasLabel('person').as('a').limit(n).out().select('a')",
    "g.V().limit(n).optional(out())",
    "g.V().limit(n).union(out(), in())",
    "g.V().limit(n).union(outE(), inE())",
    "g.V().limit(n).coalesce(out('knows'), identity())",
    "g.V().limit(n).local(out())",
    "g.V().limit(n).flatMap(out())",
    "g.V().limit(n).map(valueMap())",
    "g.V().hasLabel('person').limit(n).local(outE().elementMap())",
    "g.V().limit(n).fold().unfold()",
    "g.V().limit(n).group().by(label).unfold()",
    "g.V().limit(n).union(values('name'), values('nick'))",
]


@pytest.mark.parametrize("query", SAME_WITHOUT_RESULTS)
def test_an_empty_result_has_the_columns_of_a_full_one(people, query):
    full, none = (people.query(query, n=n).to_arrow() for n in (40, 0))
    assert full.num_rows > 0 and none.num_rows == 0
    assert none.column_names == full.column_names != []
