"""What an application developer tries first, who comes from Neo4j, Kùzu and SQL."""

import asyncio
import json
import threading

import pytest

import mangrovedb as mg
from mangrovedb.aio import AsyncDatabase


def test_an_upsert_that_would_do_nothing_is_an_error(empty):
    rows = [{"m": {mg.T.label: "user", mg.T.id: n}, "c": {"country": "XX"}} for n in range(3)]
    empty.query("g.addV('user').property(T.id, 1).property('country', 'old')")
    with pytest.raises(mg.QueryError, match="does not map to a value"):
        empty.query("g.inject(rows).unfold().mergeV(select('m')).option(onMatch, select('c')).option(onCreate, select('c'))", rows=rows)
    assert empty.query("g.V().values('country')").to_list() == ["old"], "nothing was changed"
    empty.query(
        "g.inject(rows).unfold().as('r').mergeV(select('m')).option(onMatch, select('r').select('c')).option(onCreate, select('c'))", rows=rows
    )
    assert empty.query("g.V().has('country', 'XX').count()").one() == 3


@pytest.mark.parametrize("id", [7, "P/7"])
def test_an_upsert_by_id_within_a_label(tmp_path, id):
    with mg.open(tmp_path / "x.mg", id_space="label") as db:
        for _ in range(2):
            db.query("g.mergeV([(T.label): 'P', (T.id): x])", x=id)
        assert db.query("g.V().id()").to_list() == ["P/7"]
        db.query("g.addV('P').property(id, 'P/9')")
        db.query("g.mergeE([(T.label): 'e', (from): 'P/7', (to): 'P/9'])")
        assert db.query("g.V('P/7').out('e').id()").to_list() == ["P/9"]


@pytest.mark.parametrize("style", ["depends", "async"])
def test_a_web_application_at_any_concurrency(tmp_path, style):
    fastapi = pytest.importorskip("fastapi")
    httpx = pytest.importorskip("httpx")
    db = mg.open(tmp_path / "web.mg")
    db.query("g.addV('counter').property(id, 'c').property('n', 0)")
    app, awaited = fastapi.FastAPI(), AsyncDatabase(db)

    def transaction():
        with db.transaction() as tx:
            yield tx

    add = "g.V('c').property('n', __.values('n').math('_ + 1'))"
    if style == "depends":

        @app.post("/add")
        def endpoint(tx=fastapi.Depends(transaction)):
            tx.query(add)

    else:

        @app.post("/add")
        async def endpoint():
            async with awaited.transaction() as tx:
                await tx.query(add)
                await asyncio.sleep(0)

    @app.get("/all")
    def everything():
        return db.query("g.V()").to_list()

    async def run():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://t") as client:
            answers = await asyncio.gather(*(client.post("/add") for _ in range(80)))
            return [answer.status_code for answer in answers], (await client.get("/all")).json()

    codes, everything = asyncio.run(run())
    assert codes == [200] * 80
    assert [(vertex["id"], vertex["label"], vertex["n"]) for vertex in everything] == [("c", "counter", 80)]
    db.close()


def test_constraints(empty):
    empty.query("g.addV('user').property(id, 1).property('email', 'a@x.org')")
    assert empty.create_index("user", "email", unique=True)
    empty.declare_property("user", "email", "string", required=True)
    with pytest.raises(mg.ConstraintError, match="user.email must be unique, but the vertex 1 already has the value a@x.org"):
        empty.query("g.addV('user').property(id, 2).property('email', 'a@x.org')")
    with pytest.raises(mg.ConstraintError, match="email is required"):
        empty.query("g.addV('user').property(id, 3)")


def test_results_are_json(db):
    assert json.loads(json.dumps(db.query("g.V('AUS').elementMap('code')").to_dicts())) == [{"id": "AUS", "label": "airport", "code": "AUS"}]
    assert json.loads(db.query("g.V('AUS')").to_json())[0]["properties"]["code"] == "AUS"
    json.dumps(db.query("g.V('AUS')").one().to_dict())


@pytest.mark.parametrize("typed, answer", [
    ("MATCH (n:product {sku:'SKU1'}) RETURN n", "has('product', 'sku', 'SKU1')"),
    ("CREATE (n:Person {name:'x'})", "addV('Person')"),
    ("SELECT count(*) FROM product", "g.V().hasLabel('product').count()"),
    ("g.V().has('airport', 'code', 'O'Hare')", "parameter"),
    ("g.V().value('code')", "values('"),
    ("g.V().where(elev > 3)", "gt(3)"),
    ("g.V().has('airport', 'code', $x)", "write x in the query, and pass it as in x=…"),
])
def test_habits_of_other_languages_are_answered(db, typed, answer):
    with pytest.raises(mg.QueryError) as caught:
        db.query(typed)
    assert answer in str(caught.value)


def test_names_that_are_not_there_are_told(db):
    with pytest.warns(mg.QueryWarning, match="nosuch"):
        db.query("g.V('nosuch').property('a', 1)")
    with pytest.raises(mg.MangroveError, match="did you mean"):
        db.create_index("airprt", "code")
    assert mg.open(":memory:").query("g.V().count()").one() == 0


def test_a_typo_in_a_declaration_is_told(db):
    with pytest.warns(mg.QueryWarning, match="did you mean `airport`?"):
        db.declare_property("airprt", "code", "string")


def test_vectors_of_lists(empty):
    empty.declare_property("doc", "emb", "vector")
    empty.query("g.addV('doc').property('emb', x)", x=[0.5] * 384)
    assert len(empty.query("g.V().values('emb')").one()) == 384


def test_procedures_return_what_queries_return(db):
    db.register_procedure("same", lambda params, value: [value])
    for query in ("g.V('AUS').properties('code')", "g.V('AUS').out().path()", "g.E().subgraph('s').cap('s')"):
        assert len(db.query(query + ".call('same')")) == len(db.query(query)) > 0


def test_the_schema_changes(db):
    db.rename_label("airport", "aerodrome")
    db.query("g.V('AUS').addLabel('hub')")
    assert db.query("g.V().hasLabel('aerodrome', 'hub').dedup().count()").one() == 4
    db.query("g.V().hasLabel('country').drop()")
    assert "country" in db.drop_unused() and "country" not in db.schema()["vertices"]


def test_an_export_is_loaded_back(db, tmp_path):
    db.create_index("airport", "code", unique=True)
    for format in ("csv", "parquet"):
        db.export(tmp_path / format, format)
        with mg.open(":memory:") as copy:
            copy.load(tmp_path / format)
            assert copy.schema() == db.schema()


def test_writers_of_many_threads_lose_nothing(empty):
    empty.query("g.addV('c').property(id, 1).property('n', 0)")

    def work():
        for _ in range(25):
            with empty.transaction() as tx:
                tx.query("g.V(1).property('n', __.values('n').math('_ + 1'))")

    threads = [threading.Thread(target=work) for _ in range(8)]
    [thread.start() for thread in threads], [thread.join() for thread in threads]
    assert empty.query("g.V(1).values('n')").one() == 200
