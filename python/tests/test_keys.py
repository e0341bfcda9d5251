"""Ids: the key of a label is the id of its vertices, however they are made, named and found."""

import warnings

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


def expected(db, text):
    return db.explain(text).to_dict()["steps"][0]["expected"]


def test_an_explanation_expects_what_an_id_or_an_index_finds(db):
    rows = [{"id": number, "email": f"u{number}", "kind": number % 4, "age": number % 90} for number in range(2000)]
    db.load(nodes={"user": rows}, indexes=["user.email", "user.kind"])
    assert expected(db, "g.V().has('user', 'id', 5)") == 1
    assert expected(db, "g.V().has('id', within(5, 6))") == 2
    assert expected(db, "g.V().has('user', 'email', 'u7')") == 1
    assert expected(db, "g.V().has('user', 'kind', 1)") == 500
    assert expected(db, "g.V().has('user', 'email', 'nobody')") == 0
    assert expected(db, "g.V().has('user', 'kind', 1).has('user', 'email', 'u7')") == pytest.approx(0.1)
    for predicate in ("between(1, 3)", "inside(1, 3)", "outside(1, 3)", "gt(1).and(lt(3))", "lt(1).or(gt(3))"):
        step = db.explain(f"g.V().has('user', 'age', {predicate})").to_dict()["steps"][0]
        assert "create_index('user', 'age')" in step["hint"], predicate
    hint = db.explain("g.V().hasLabel('user').has('nothing', 1)").to_dict()["steps"][0]["hint"]
    assert hint is None


def test_a_count_of_labels_reads_the_stored_count(db):
    db.load(nodes={"user": [{"id": number} for number in range(300)], "page": [{"id": "a"}]}, edges={})
    assert access(db, "g.V().hasLabel('user').count()") == "stored count of 300 vertices labelled user"
    assert db.query("g.V().hasLabel('user', 'user').count()").one() == 300
    assert db.query("g.V().count()").one() == 301
    assert db.query("g.V().hasLabel('user').hasLabel('page').count()").one() == 0
    with db.transaction() as tx:
        tx.query("g.V(1, 2, 3).drop()")
        assert tx.query("g.V().hasLabel('user').count()").one() == 297
        tx.rollback()
    # A label that other vertices carry as well is counted by a scan.
    db.query("g.V('a').addLabel('user')")
    assert access(db, "g.V().hasLabel('user').count()").startswith("SCAN of")
    assert db.query("g.V().hasLabel('user').count()").one() == 301
    db.query("g.V(1).addE('likes').to(__.V('a'))")
    assert db.query("g.E().hasLabel('likes').count()").one() == 1


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
    with pytest.raises(mg.QueryError, match="cannot have two ids, dan2 and other"):
        db.query("g.addV('person').property(T.id, 'dan2').property('id', 'other')")
    with pytest.raises(mg.MangroveError, match="cannot change or remove `id` of the vertex ada: it is the key of person"):
        db.query("g.V('ada').property('id', 'ADA')")
    db.query("g.V('ada').property('id', 'ada')")


def test_a_key_is_declared_as_what_ids_are(db):
    people(db)
    db.declare_property("person", "id", "string")
    for declared, reason in [(("int32",), "a key must be an int64, a string or a uuid"), (("string", "set"), "a key must have one value")]:
        with pytest.raises(mg.MangroveError, match=f"person.id is declared {declared[-1]}, but {reason}"):
            db.declare_property("person", "id", *declared)
        db.declare_property("thing", "code", *declared)
        with pytest.raises(mg.MangroveError, match=f"thing.code is declared {declared[-1]}, but {reason}"):
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
    with pytest.warns(mg.QueryWarning, match=r"`label` is an ordinary property here, and the vertex is labelled vertex; .* in a map, use .*T.label"):
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
    with pytest.raises(mg.LoadError, match="the key of user is `email`, but this table has no such column"):
        db.load(nodes={"user": tmp_path / "other.csv"})
    with pytest.raises(mg.MangroveError, match="the key of user: its key is already `email`"):
        db.declare_key("user", "age")


def test_generated_ids_are_out_of_the_way(db):
    made = [db.query("g.addV('a').id()").one() for _ in range(2)]
    assert made == ["#0:0", "#0:1"]
    db.query("g.addV('a').property(T.id, 0).addV('a').property(T.id, 1)")
    db.query("g.V('#0:0').addE('to').to(__.V('#0:1'))")
    assert db.query("g.E().id()").one() == "#0:0"
    assert db.query("g.E('#0:0').inV().id()").one() == "#0:1"
    with pytest.raises(mg.MangroveError, match="the database generates ids of this form"):
        db.query("g.V('#0:0').addE('to').to(__.V('#0:1')).property(T.id, '#0:5')")


def test_an_id_names_nothing_of_another_type(db):
    with db.ingest() as w:
        w.add_vertices("n", [{"id": 1}, {"id": 2}])
    with pytest.warns(mg.QueryWarning, match="no vertex with the id '2'; there is one with 2, the number, but that is a different id"):
        db.query("g.V('2').drop()")
    with pytest.warns(mg.QueryWarning, match="the graph has no vertex with the id 9 .nor with 1 other id"):
        assert db.query("g.V(1, 9, 10).count()").one() == 1
    assert db.query("g.V().count()").one() == 2
    with pytest.warns(mg.QueryWarning, match="no `id` matches: '1' is a string, but all values under that key are of type int64"):
        assert db.query("g.V().has('n', 'id', '1')").to_list() == []
    edges = pd.DataFrame({"src": ["1"], "dst": ["2"]})
    with pytest.raises(mg.LoadError, match="there is one with the number 1, but that is a different id: convert the column"):
        db.load(edges={"e": edges})


def test_ids_that_are_unique_within_labels(tmp_path):
    with mg.open(tmp_path / "label", id_space="label") as db:
        for name in ("7", "'P/7'"):
            assert [v.id for v in db.query(f"g.mergeV([(T.label): 'P', (T.id): {name}])")] == ["P/7"]
        assert db.query("g.addV('P').property(T.id, 'P/9').id()").one() == "P/9"
        assert [v.id for v in db.query("g.mergeV([(T.label): 'P', (T.id): 9])")] == ["P/9"]
        db.query("g.mergeE([(T.label): 'e', (Direction.OUT): 'P/7', (Direction.IN): 'P/9'])")
        assert db.query("g.V('P/7').out('e').id()").one() == "P/9"
        with pytest.warns(mg.QueryWarning, match="in this database, write ids with their label, as in 'P/7'"):
            db.query("g.V(7)")
        with pytest.warns(mg.QueryWarning, match="the graph has no vertex with the id 'P/8'"):
            db.query("g.V('P/8')")
        with pytest.warns(mg.QueryWarning, match="with the id 'long name/8'; there is no such vertex label"):
            db.query("g.V('long name/8')")
        with db.ingest() as w:
            w.add_vertices("P", [{"id": 8}])
            w.add_edges(("P", "e", "P"), [{"from": 7, "to": 8}])
        assert sorted(v.id for v in db.query("g.V('P/7').out('e')")) == ["P/8", "P/9"]


def test_ids_as_users_see_them_name_what_is_there(tmp_path):
    with mg.open(tmp_path / "label", id_space="label") as db:
        db.load(nodes={"P": [{"id": 7, "n": 1}, {"id": "a/b"}], "Q": [{"id": 7}]}, edges={("P", "e", "Q"): [{"src": 7, "dst": 7}]})
        report = db.load(nodes={"P": [{"id": "P/7", "n": 2}]}, on_exists="update")
        assert report["merged_vertices"]["updated"] == 1 and db.query("g.V('P/7').values('n')").one() == 2
        table = db.query("g.E().project('src', 'dst').by(outV().id()).by(inV().id())").to_dicts()
        assert table == [{"src": "P/7", "dst": "Q/7"}]
        for label in ("again", ("P", "again", "Q")):
            db.load(edges={label: table})
        assert db.query("g.E().hasLabel('again').count()").one() == 2
        with pytest.raises(mg.LoadError, match="Q/7"):
            db.load(edges={("P", "again", "P"): table})
        db.load(edges={("P", "new", "Q"): [{"src": "P/8", "dst": "Q/7"}]}, missing="create")
        assert sorted(db.query("g.V().id()")) == ["P/7", "P/8", "P/a/b", "Q/7"]
        for key in ("'id'", "(T.id)"):
            assert db.query(f"g.mergeV([(T.label): 'P', {key}: 'P/7']).id()").one() == "P/7"
        with pytest.raises(mg.QueryError, match="write ids with their label, as in 'P/7'"):
            db.query("g.mergeE([(T.label): 'e', (Direction.OUT): 7, (Direction.IN): 'Q/7'])")
        assert db.query("g.V().count()").one() == 4


@pytest.mark.parametrize("format", ["csv", "parquet", "graphson", "graphml"])
def test_every_export_of_an_id_space_of_labels_is_loaded(tmp_path, format):
    with mg.open(tmp_path / "label", id_space="label") as db, mg.open(tmp_path / "back", id_space="label" if format in ("csv", "parquet") else "graph") as back:
        db.load(nodes={"P": [{"id": 7}], "Q": [{"id": 7}]}, edges={("P", "e", "Q"): [{"src": 7, "dst": 7}]})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            db.export(tmp_path / "out", format=format)
        back.load(tmp_path / "out")
        assert back.query("g.V('P/7').out('e').id()").one() == "Q/7"


@pytest.mark.filterwarnings("error")
def test_an_export_says_what_it_leaves_out(tmp_path):
    with mg.open(tmp_path / "label", id_space="label") as db:
        db.query("g.addV('P').property(T.id, 1).property('name', 'x')")
        db.create_index("P", "name")
        with pytest.warns(mg.QueryWarning, match="hold them as `Label/id`: to load the graph back, export csv or parquet"):
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


def test_a_declaration_warns_of_a_name_that_is_almost_known(empty):
    empty.query("g.addV('user').property('email', 'a@x')")
    with pytest.warns(mg.QueryWarning, match="no vertex label `usr` so far, and now declares it; did you mean `user`?"):
        empty.declare_property("usr", "email", "string")
    with pytest.warns(mg.QueryWarning, match="no property `user.emial` so far"):
        empty.declare_property("user", "emial", "string")
    with pytest.warns(mg.QueryWarning, match="did you mean `user`?"):
        empty.declare_key("usres", "email")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        empty.declare_property("user", "email", "string")
        empty.declare_property("user", "born", "date")
        empty.declare_property("city", "name", "string")


def test_a_query_warns_of_an_id_that_is_the_text_of_another(empty):
    empty.query("g.addV('u').property(T.id, 1)")
    for query in ("g.mergeV([(T.label): 'u', (T.id): '1'])", "g.addV('u').property(T.id, '01')"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            empty.query(query)
        told = [str(warning.message) for warning in caught]
        assert len(told) == 1 and "the text, beside the vertex with the id 1, the number" in told[0], told


def test_an_id_beside_another_key_is_warned_of(tmp_path):
    with mg.open(tmp_path / "k.mg") as db:
        db.load(nodes={"customer": [{"customer_id": 1, "city": "Bonn"}]}, key={"customer": "customer_id"})
        with pytest.warns(mg.QueryWarning, match="whose key is `customer_id`"):
            db.query("g.mergeV([(T.label): 'customer', 'id': 1]).option(onMatch, ['city': 'Ulm'])")


@pytest.mark.parametrize("query", ["g.addE('k').from(__.V('7')).to(__.V(8))", "g.V(8).addE('k').to(__.V('7'))"])
def test_an_end_of_another_type_is_named_with_the_id_that_exists(query):
    with mg.open(":memory:") as db:
        db.query("g.addV('a').property(id, 7).addV('a').property(id, 8)")
        expected = "no vertex with the id '7'; there is one with 7, the number, but that is a different id"
        with pytest.raises(mg.QueryError, match=expected):
            db.query(query)
        with pytest.raises(mg.QueryError, match="no vertex with the id 99"):
            db.query("g.V(7).addE('k').to(__.V(99))")
