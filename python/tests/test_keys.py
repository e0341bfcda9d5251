"""Ids: the key of a label is the id of its vertices, however they are made, named and found."""

import pandas as pd
import pytest

import mangrovedb as mg


@pytest.fixture
def db(tmp_path):
    with mg.open(tmp_path / "db") as db:
        yield db


def access(db, text, **parameters):
    return db.explain(text, parameters).to_dict()["steps"][0]["access"]


def people(db):
    with db.ingest() as w:
        w.add_vertices("person", [{"id": "ada", "born": 1815}, {"id": "charles", "born": 1791}])


def test_the_column_of_ids_is_the_key_and_found_without_a_scan(db):
    people(db)
    for text in ("g.V().has('person', 'id', 'ada')", "g.V().has('id', 'ada')", "g.V().hasLabel('person').has('id', within('ada', 'x'))"):
        assert access(db, text) == "by id", text
        assert [v.id for v in db.query(text)] == ["ada"]
    assert db.query("g.V('ada').valueMap()").one() == {"id": ["ada"], "born": [1815]}
    assert access(db, "g.V().has('person', 'id', gt('b'))") == "SCAN of 2 vertices labelled person"
    assert access(db, "g.mergeV([(T.label): 'person', 'id': 'ada'])") == "by id"
    db.compact()
    assert db.query("g.V().has('person', 'id', 'ada').values('id', 'born')").to_list() == ["ada", 1815]
    assert db.check() == []


def test_a_query_names_vertices_by_their_key(db):
    people(db)
    db.query("g.addV('person').property('id', 'bob').property('born', 1900)")
    assert db.query("g.V('bob').values('id', 'born')").to_list() == ["bob", 1900]
    with db.ingest() as w:
        w.add_edges("knows", [{"from": "ada", "to": "bob"}])
    assert db.query("g.V('ada').out('knows').id()").one() == "bob"
    for made in range(2):
        db.query("g.mergeV([(T.label): 'person', 'id': 'carl']).option(onCreate, ['made': 0]).option(onMatch, ['made': 1])")
        assert db.query("g.V('carl').values('made')").to_list() == [made]
    assert db.query("g.V().has('person', 'id', 'carl').count()").one() == 1
    assert db.query("g.addV('person').property(T.id, 'dan').property('id', 'dan').id()").one() == "dan"
    with pytest.raises(mg.QueryError, match="cannot have two, dan2 and other"):
        db.query("g.addV('person').property(T.id, 'dan2').property('id', 'other')")
    with pytest.raises(mg.MangroveError, match="person is keyed by `id`: the id of a vertex, here ada, cannot be changed"):
        db.query("g.V('ada').property('id', 'ADA')")
    db.query("g.V('ada').property('id', 'ada')")


def test_a_key_is_declared_as_what_ids_are(db):
    people(db)
    db.declare_property("person", "id", "string")
    for declared, reason in [(("int32",), "a key is an int64, a string or a uuid"), (("string", "set"), "a key has one value")]:
        with pytest.raises(mg.MangroveError, match=f"person.id is declared {declared[-1]}, and {reason}"):
            db.declare_property("person", "id", *declared)
        db.declare_property("thing", "code", *declared)
        with pytest.raises(mg.MangroveError, match=f"thing.code is declared {declared[-1]}, and {reason}"):
            db.declare_key("thing", "code")
    assert db.check() == []


def test_a_map_may_have_the_key(db):
    people(db)
    made = db.query("g.addV('person').property(map)", map={"id": "eve", "born": 1990}).one()
    assert made.id == "eve" and db.query("g.V('eve').values('born')").to_list() == [1990]


def test_a_further_label_hides_no_key(db, tmp_path):
    people(db)
    (tmp_path / "robots.csv").write_text("id:ID,:LABEL\nr2,robot;person\n")
    db.load(tmp_path / "robots.csv")
    assert access(db, "g.V().has('id', 'ada')") == access(db, "g.V().has('robot', 'id', 'r2')") == "by id"
    for text in ("g.V().has('id', 'r2')", "g.V().has('robot', 'id', 'r2')", "g.V().has('person', 'id', 'r2')"):
        assert [v.id for v in db.query(text)] == ["r2"], text
    assert access(db, "g.V().has('person', 'id', 'r2')").startswith("SCAN")


def test_an_ordinary_property_called_id_is_warned_of(db):
    with pytest.warns(mg.QueryWarning, match=r"`id` is an ordinary property of thing.*property\(T.id, .*declare_key\('thing', 'id'\)"):
        db.query("g.addV('thing').property('id', 'x')")
    with pytest.raises(mg.MangroveError, match=r"`id` cannot be the key of thing: the vertex with the id #0:0 has x there"):
        db.declare_key("thing", "id")


def test_an_ordinary_property_called_label_is_warned_of(db):
    with pytest.warns(mg.QueryWarning, match=r"`label` is an ordinary property here, and the vertex is labelled vertex; in a map .*T.label"):
        db.query("g.mergeV(['label': 'user', 'n': 1])")


def test_a_label_is_keyed_by_another_column(db, tmp_path):
    (tmp_path / "users.csv").write_text("email,age\na@x.org,30\nb@x.org,40\n")
    db.load(nodes={"user": tmp_path / "users.csv"}, key={"user": "email"})
    assert access(db, "g.V().has('user', 'email', 'a@x.org')") == "by id"
    assert db.query("g.V('a@x.org').values('email', 'age')").to_list() == ["a@x.org", 30]
    # Later tables need not say it again.
    (tmp_path / "more.csv").write_text("age,email\n50,c@x.org\n")
    db.load(nodes={"user": tmp_path / "more.csv"})
    assert db.query("g.V('c@x.org').values('age')").to_list() == [50]
    (tmp_path / "other.csv").write_text("id,age\n1,50\n")
    with pytest.raises(mg.LoadError, match="user is keyed by `email`, which this table lacks"):
        db.load(nodes={"user": tmp_path / "other.csv"})
    with pytest.raises(mg.MangroveError, match="user is keyed by `email` already"):
        db.declare_key("user", "age")


def test_generated_ids_are_out_of_the_way(db):
    made = [db.query("g.addV('a').id()").one() for _ in range(2)]
    assert made == ["#0:0", "#0:1"]
    db.query("g.addV('a').property(T.id, 0).addV('a').property(T.id, 1)")
    db.query("g.V('#0:0').addE('to').to(__.V('#0:1'))")
    assert db.query("g.E().id()").one() == "#0:0"
    assert db.query("g.E('#0:0').inV().id()").one() == "#0:1"
    with pytest.raises(mg.MangroveError, match="has the form of ids that the database generates"):
        db.query("g.V('#0:0').addE('to').to(__.V('#0:1')).property(T.id, '#0:5')")


def test_an_id_names_nothing_of_another_type(db):
    with db.ingest() as w:
        w.add_vertices("n", [{"id": 1}, {"id": 2}])
    with pytest.warns(mg.QueryWarning, match="no vertex with the id '2'; there is one with 2, the number, which is another id"):
        db.query("g.V('2').drop()")
    with pytest.warns(mg.QueryWarning, match="the graph has no vertex with the id 9, nor with one other"):
        assert db.query("g.V(1, 9, 10).count()").one() == 1
    assert db.query("g.V().count()").one() == 2
    with pytest.warns(mg.QueryWarning, match="no `id` matches: '1' is a string, and all values under that key are of type int64"):
        assert db.query("g.V().has('n', 'id', '1')").to_list() == []
    edges = pd.DataFrame({"src": ["1"], "dst": ["2"]})
    with pytest.raises(mg.LoadError, match="there is one with 1 as a number, which is another id: convert the column"):
        db.load(edges={"e": edges})


def test_ids_that_are_unique_within_labels(tmp_path):
    with mg.open(tmp_path / "label", id_space="label") as db:
        for name in ("7", "'P/7'"):
            assert [v.id for v in db.query(f"g.mergeV([(T.label): 'P', (T.id): {name}])")] == ["P/7"]
        assert db.query("g.addV('P').property(T.id, 'P/9').id()").one() == "P/9"
        assert [v.id for v in db.query("g.mergeV([(T.label): 'P', (T.id): 9])")] == ["P/9"]
        db.query("g.mergeE([(T.label): 'e', (Direction.OUT): 'P/7', (Direction.IN): 'P/9'])")
        assert db.query("g.V('P/7').out('e').id()").one() == "P/9"
        with pytest.warns(mg.QueryWarning, match="ids in this database are written with their label, as in 'P/7'"):
            db.query("g.V(7)")
        with pytest.warns(mg.QueryWarning, match="the graph has no vertex with the id 'P/8'"):
            db.query("g.V('P/8')")
        with pytest.warns(mg.QueryWarning, match="with the id 'long name/8'; it has no such label"):
            db.query("g.V('long name/8')")
        with db.ingest() as w:
            w.add_vertices("P", [{"id": 8}])
            w.add_edges(("P", "e", "P"), [{"from": 7, "to": 8}])
        assert sorted(v.id for v in db.query("g.V('P/7').out('e')")) == ["P/8", "P/9"]


@pytest.mark.filterwarnings("error")
def test_an_export_says_what_it_leaves_out(tmp_path):
    with mg.open(tmp_path / "label", id_space="label") as db:
        db.query("g.addV('P').property(T.id, 1).property('name', 'x')")
        db.create_index("P", "name")
        with pytest.warns(mg.QueryWarning, match="become `Label/id` in these files: export csv or parquet"):
            db.export(tmp_path / "out", format="graphson")
        db.export(tmp_path / "csv", format="csv")


def test_ids_of_another_type_than_their_key_are_bad_rows(tmp_path, empty):
    empty.declare_property("user", "id", "int64")
    empty.declare_key("user", "id")
    (tmp_path / "u.csv").write_text("id,name\n1,a\nx,b\n3,c\n")
    with pytest.raises(mg.LoadError, match="u.csv:3:1: `x` – not an? int64"):
        empty.load(nodes={"user": "u.csv"})
    report = empty.load(nodes={"user": "u.csv"}, on_error="skip")
    assert report["vertices"] == {"user": 2} and report["rejects"] == 1
    report = empty.load(nodes={"user": [{"id": 1}, {"id": "y"}]}, on_error="skip", on_exists="update")
    assert report["rejects"] == 1


@pytest.mark.filterwarnings("error")
def test_a_query_that_makes_what_is_missing_does_not_warn_of_it(empty):
    for _ in range(2):
        empty.query("g.V('ada').fold().coalesce(unfold(), addV('person').property(id, 'ada'))")
    assert empty.query("g.V().count()").one() == 1
    with pytest.warns(mg.QueryWarning, match="bob"):
        empty.query("g.V('bob').property('a', 1)")
