"""An export is loaded back as it was: elements, types, times, labels, and all that is declared."""

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest

import mangrovedb as mg

from test_cli import mangrove

FORMATS = ["csv", "parquet", "graphml", "graphson"]
ALL_BUT_GRAPHML = ["csv", "parquet", "graphson"]
UTC = datetime(2021, 3, 4, 5, 6, 7, 891, timezone.utc)


def seen(db):
    """All there is, with the types of the values."""
    typed = lambda value: (type(value).__name__, repr(value))
    vertices = {
        repr(v.id): (v.label, sorted(db.query("g.V(v).properties()", v=v).to_list(), key=repr).__repr__())
        for v in db.query("g.V()")
    }
    edges = [
        (e.label, repr(e.outV.id), repr(e.inV.id), sorted((k, typed(w)) for k, w in e.properties.items()))
        for e in db.query("g.V().outE()")
    ]
    return vertices, sorted(edges)


def declared(db):
    schema = db.schema()
    return schema | {"indexes": sorted(schema["indexes"])}


def order_of_edges(db):
    return {repr(v.id): db.query("g.V(v).outE('knows').values('since')", v=v).to_list() for v in db.query("g.V()")}


def plain(path):
    """What all formats can hold."""
    db = mg.open(path)
    people = [{"email": f"p{n}@x.org", "name": f"name {n % 7}", "age": 20 + n, "bio": f"likes {n} and\n\"quotes\"; and more"} for n in range(40)]
    knows = [{"src": f"p{n}@x.org", "dst": f"p{n * 3 % 40}@x.org", "since": 1000 - n * 7 % 50, "w": n / 4} for n in range(40)]
    db.load(
        nodes={"person": people, "city": [{"id": n, "people": 10**n} for n in range(3)]},
        edges={("person", "knows", "person"): knows, ("person", "lives in", "city"): [{"src": "p1@x.org", "dst": 2}]},
        key={"person": "email"},
        edge_time="since",
        compact=True,
    )
    db.query("g.V(2).addE('near').to(V(1))")
    db.create_index("person", "name")
    db.create_index("knows", "w", unique=False)
    db.declare_property("person", "age", "int64", required=True)
    db.declare_property("person", "bio", "string", unique=True)
    db.declare_property("person", "nobody has it", "date", "set")
    db.set_encoding("person", "bio", "searchable:16")
    with db.transaction() as tx:
        tx.query("g.addV('gone')")
        tx.query("g.V().hasLabel('gone').drop()")
    return db


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("how", ["python", "shell"])
def test_everything_comes_back(tmp_path, format, how):
    with plain(tmp_path / "g.mg") as db:
        out = tmp_path / "out"
        assert db.export(out, format) == {"vertices": 43, "edges": 42}
        if how == "shell":
            done = mangrove("load", tmp_path / "copy.mg", out)
            assert done.returncode == 0, done.stderr
            copy = mg.open(tmp_path / "copy.mg")
        else:
            copy = mg.open(":memory:")
            copy.load(out)
        with copy:
            assert seen(copy) == seen(db)
            assert declared(copy) == declared(db)
            assert order_of_edges(copy) == order_of_edges(db)
            assert copy.check() == []
            assert copy.explain("g.V().has('person', 'email', 'p3@x.org')").to_dict()["steps"][0]["access"] == "by id"
            with pytest.raises(mg.ConstraintError, match="age is required"):
                copy.query("g.addV('person').property('email', 'new')")


def rich(path, **options):
    """Values of every type, several values, meta-properties, further labels, ids of edges."""
    db = mg.open(path, **options)
    (path.parent / "things.csv").write_text("id:ID,:LABEL\n1,thing;red;old\n2,thing\n3,thing;red\n")
    db.load(path.parent / "things.csv")
    values = {
        "bool": True, "i64": 2**62, "big": 2**70, "f": 0.1, "text": "a;b,\"c\"\n", "empty": "", "bytes": b"\x00\xff",
        "uuid": UUID(int=7), "day": date(1969, 12, 31), "at": UTC, "zoned": datetime(2020, 1, 1, tzinfo=timezone(timedelta(hours=2))),
        "took": timedelta(days=-1, microseconds=3), "cost": Decimal("1.50"), "list": [1, "a", [2.5]], "map": {"k": 1, "l": [2]}, "set": {1, 2},
    }
    for n in (1, 2):
        for key, value in values.items():
            db.query("g.V(n).property(k, x)", n=n, k=key, x=value)
    db.query("g.V(1).property(list, 'tags', 'a').property(list, 'tags', 'b').property(list, 'tags', 'a')")
    db.query("g.V(2).property(list, 'days', d).property(list, 'days', e)", d=date(2020, 1, 1), e=date(2021, 1, 1))
    db.query("g.V(3).property(set, 'codes', 3).property(set, 'codes', 1)")
    db.query("g.V(2).property('name', 'x', 'since', 2001, 'by', 'me')")
    db.query("g.V(1).property('mixed', 1)"), db.query("g.V(2).property('mixed', 'one')"), db.query("g.V(3).property('nothing', null)")
    db.query("g.V(1).property('a:int', 5).property('src', 'here')")
    db.query("g.V(1).addE('to').to(V(2)).property(id, 'e1').property('src', 1).property('_id', 2).property('any', l)", l=[1, "x"])
    db.query("g.V(2).addE('to').to(V(1)).property('at', t)", t=UTC)
    return db


@pytest.mark.parametrize("format", ALL_BUT_GRAPHML)
@pytest.mark.parametrize("compact", [False, True])
def test_values_of_every_type_come_back(tmp_path, format, compact):
    with rich(tmp_path / "g.mg") as db:
        if compact:
            db.compact()
        db.export(tmp_path / "out", format)
        with mg.open(tmp_path / "copy.mg") as copy:
            copy.load(tmp_path / "out")
            assert seen(copy) == seen(db)
            assert declared(copy) == declared(db)
            for label in ("red", "old"):
                ids = f"g.V().hasLabel('{label}').id()"
                assert copy.query(ids).to_list() == db.query(ids).to_list() != []
            meta = "g.V().properties().as('p').properties().project('p', 'k', 'v').by(select('p').value()).by(key()).by(value())"
            assert sorted(map(repr, copy.query(meta))) == sorted(map(repr, db.query(meta))) != []
            assert copy.query("g.E('e1').inV().id()").to_list() == [2]


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_ids_unique_within_labels_come_back(tmp_path, format):
    with mg.open(tmp_path / "g.mg", id_space="label") as db:
        db.load(
            nodes={"a": [{"id": 1}, {"id": 2}], "b": [{"id": 1}, {"id": "x"}] if format == "csv" else [{"id": "1"}, {"id": "x"}]},
            edges={("a", "to", "b"): [{"src": 1, "dst": "x"}], ("b", "to", "a"): [{"src": "x", "dst": 2}]},
        )
        db.export(tmp_path / "out", format)
        done = mangrove("load", tmp_path / "copy.mg", tmp_path / "out")
        assert done.returncode == 0, done.stderr
        with mg.open(tmp_path / "copy.mg") as copy:
            assert seen(copy) == seen(db) and declared(copy) == declared(db)
        with mg.open(tmp_path / "wrong.mg") as wrong, pytest.raises(mg.LoadError, match='id_space="label"'):
            wrong.load(tmp_path / "out")


def test_parquet_is_read_by_others(tmp_path):
    import pyarrow.parquet as pq

    with plain(tmp_path / "g.mg") as db:
        db.export(tmp_path / "out", "parquet")
        table = pq.read_table(tmp_path / "out" / "vertices_person.parquet")
        assert table.column_names == ["email", "name", "age", "bio"] and table.num_rows == 40
        assert [str(t) for t in table.schema.types] == ["string", "string", "int64", "string"]
        edges = pq.read_table(tmp_path / "out" / "edges_knows.parquet")
        assert edges.column_names == ["src", "dst", "since", "w"] and edges.num_rows == 40
    with rich(tmp_path / "rich.mg") as db:
        db.export(tmp_path / "rich", "parquet")
        types = dict(zip(*(lambda s: (s.names, map(str, s.types)))(pq.read_schema(tmp_path / "rich" / "vertices_thing.parquet"))))
        assert types["at"] == "timestamp[us, tz=UTC]" and types["day"] == "date32[day]" and types["bytes"] == "binary"
        assert types["codes"].startswith("list<") and types["tags"].startswith("list<")


def test_an_export_that_fails_leaves_nothing(tmp_path):
    with mg.open(tmp_path / "g.mg") as db:
        db.query("g.addV('a').property(id, 1).addV('a').property(id, 'x').addV('b').property(id, 5)")
        with pytest.raises(mg.MangroveError, match="whose ids have several types"):
            db.export(tmp_path / "out", "parquet")
        assert not (tmp_path / "out").exists()
        (tmp_path / "there").mkdir()
        with pytest.raises(mg.MangroveError):
            db.export(tmp_path / "there", "parquet")
        assert list((tmp_path / "there").iterdir()) == []
        with pytest.raises(ValueError, match="parquet"):
            db.export(tmp_path / "out", "parket")


def test_a_mapping_that_nobody_named_stays_in_its_directory(tmp_path, empty):
    (tmp_path / "secret.csv").write_text("id\n1\n")
    (tmp_path / "gift").mkdir()
    (tmp_path / "gift" / "mangrove.yaml").write_text("nodes:\n  - file: ../secret.csv\n    label: s\n")
    with pytest.raises(mg.LoadError, match="mangrove.yaml:2:.*outside the directory"):
        empty.load(tmp_path / "gift")
    empty.load(mapping=tmp_path / "gift" / "mangrove.yaml")
    assert empty.query("g.V().count()").one() == 1


def test_a_mapping_declares(tmp_path, empty):
    (tmp_path / "m.yaml").write_text(
        "schema:\n  vertices:\n    user:\n      key: email\n      properties:\n"
        "        age: {type: int64, required: true}\n        nick: {unique: true, encoding: plain}\n"
        "  edges:\n    knows: {time: since, properties: {w: {index: true}}}\n"
    )
    empty.load(mapping=tmp_path / "m.yaml")
    schema = empty.schema()
    assert schema["vertices"]["user"]["key"] == "email" and schema["edges"]["knows"]["time"] == "since"
    user = schema["vertices"]["user"]["properties"]
    assert user["age"]["declared"] == "int64" and user["age"]["required"] and user["nick"]["unique"]
    assert schema["indexes"] == [("user", "nick"), ("knows", "w")]
    for wrong, at in [
        ("schema: {vertices: {user: {time: x}}}", "unknown key `time`"),
        ("schema: {edges: {e: {properties: {w: {typ: int}}}}}", "did you mean `type`?"),
        ("schema: {edges: {e: {properties: {w: {type: txt}}}}}", "not a type"),
        ("schema: {id_space: labels}", "expected graph or label"),
    ]:
        (tmp_path / "w.yaml").write_text(wrong)
        with pytest.raises(mg.LoadError, match="w.yaml:1:") as caught:
            empty.load(mapping=tmp_path / "w.yaml")
        assert at in str(caught.value)
