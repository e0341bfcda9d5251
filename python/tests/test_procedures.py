"""Procedures: `call()` of the built-in ones and of Python functions."""

import gc
import weakref

import pytest

import mangrovedb as mg


def test_built_in_procedures_say_what_the_graph_holds(db):
    assert db.query("g.call('mangrove.labels')").to_list() == ["airport", "country", "route", "in"]
    assert db.query("g.call('mangrove.labels').with('kind', 'edge')").to_list() == ["route", "in"]
    assert db.query("g.call('mangrove.statistics')").one() == {
        "vertices": {"airport": 4, "country": 1},
        "edges": {"route": 5, "in": 1},
    }
    rows = db.query("g.call('mangrove.schema', ['kind': 'vertex'])").to_list()
    assert {"kind": "vertex", "label": "airport", "key": "elev", "types": ["int64"], "cardinality": "single"} in rows
    db.create_index("airport", "code")
    assert db.query("g.call('mangrove.indexes')").to_list() == [{"kind": "vertex", "label": "airport", "key": "code"}]


def test_procedures_are_listed(db):
    names = db.query("g.call()").to_list()
    assert names == db.query("g.call('--list')").to_list() == sorted(names)
    assert {f"mangrove.{n}" for n in ("indexes", "labels", "schema", "statistics", "pagerank", "wcc")} <= set(names)
    assert all(name.startswith("mangrove.") for name in names)

    def double(params, value):
        """Twice the value.

        Not shown."""
        yield 2 * value

    db.register_procedure("double", double, parameters={"times": "how often"})
    assert db.query("g.call().with('service', 'double').with('verbose')").one() == {
        "name": "double",
        "description": "Twice the value.",
        "params": {"times": "how often"},
    }
    assert db.unregister_procedure("double")
    assert not db.unregister_procedure("double")
    assert db.query("g.call()").to_list() == names


def test_a_function_gets_parameters_and_the_value(db):
    seen = []

    def record(params, value):
        seen.append((params, value))
        return [value]

    db.register_procedure("record", record)
    assert db.query("g.call('record', ['a': x, 'b': [1, 2]]).with('c')", x=1.5).to_list() == [None]
    made = "g.V('AUS').as('v').call('record', ['a': 0, 'b': 0], project('a').by('code')).with('b', select('v').values('elev'))"
    assert db.query(made).one() == db.query("g.V('AUS')").one()
    assert seen[0] == ({"a": 1.5, "b": [1, 2], "c": True}, None)
    parameters, vertex = seen[1]
    assert parameters == {"a": "AUS", "b": 542}
    assert isinstance(vertex, mg.Vertex) and vertex["city"] == "Austin"


def test_results_go_on_as_traversers(db):
    def neighbours(params, vertex):
        for other in db.query("g.V(x).out('route').order().by('code')", x=vertex):
            yield other

    db.register_procedure("neighbours", neighbours)
    two_away = "g.V('AUS').call('neighbours').call('neighbours').values('code').dedup().order()"
    assert db.query(two_away).to_list() == db.query("g.V('AUS').out('route').out('route').values('code').dedup().order()").to_list()
    assert db.query("g.V().hasLabel('airport').where(call('neighbours')).count()").one() == 3
    paths = db.query("g.V('AUS').call('neighbours').path().by('code')").to_list()
    assert [list(path) for path in paths] == [["AUS", "DFW"], ["AUS", "LHR"]]
    assert db.query("g.V().hasLabel('airport').local(call('neighbours').count()).sum()").one() == 5
    assert db.query("g.union(call('mangrove.labels'), inject('x')).count()").one() == 5
    with db.transaction() as tx:
        tx.query("g.V('WLG').addE('route').to(__.V('AUS'))")
        assert tx.query("g.V('WLG').call('mangrove.statistics').select('edges').select('route')").one() == 6


def test_no_more_is_taken_than_needed(db):
    given = []

    def count(params, value):
        n = 0
        while True:
            given.append(n)
            yield n
            n += 1

    db.register_procedure("count", count)
    assert db.query("g.call('count').limit(3)").to_list() == [0, 1, 2]
    assert len(given) < 10
    with pytest.raises(mg.TimeoutError):
        db.query("g.call('count').count()", timeout=0.2)


def test_errors_say_which_procedure_and_why(db):
    with pytest.raises(mg.QueryError, match="(?s)no procedure `mangrove.label`.*did you mean `mangrove.labels`"):
        db.query("g.V('nobody').call('mangrove.label')")
    with pytest.raises(mg.QueryError, match=r"(?s)no procedure `algo.pageRank`.*mangrove.pagerank"):
        db.query("g.call('algo.pageRank')")
    with pytest.raises(mg.QueryError, match=r"(?s)unknown step `zzzzzz`.*`mangrove docs gremlin` lists the steps"):
        db.query("g.V().zzzzzz()")
    with pytest.warns(mg.QueryWarning, match="`mangrove.labels` has no parameter `kinds`; did you mean `kind`"):
        db.query("g.call('mangrove.labels').with('kinds', 'edge')")
    with pytest.raises(mg.QueryError, match="`kind` must be 'vertex' or 'edge', not 5"):
        db.query("g.call('mangrove.labels').with('kind', 5)")

    def fails(params, value):
        yield 1
        raise ValueError("no more")

    db.register_procedure("fails", fails)
    with pytest.raises(mg.QueryError, match="the procedure `fails` failed: ValueError: no more") as raised:
        db.query("g.call('fails')")
    assert isinstance(raised.value.__cause__, ValueError)
    for bad, reason in [(lambda p, v: "text", "not a str"), (lambda p, v: 5, "not iterable"), (lambda p, v: [object()], "cannot be a value")]:
        db.register_procedure("bad", bad)
        with pytest.raises(mg.QueryError, match=reason):
            db.query("g.call('bad')")
    for name in ["", "--list", "mangrove.labels"]:
        with pytest.raises(mg.StorageError, match="cannot be called"):
            db.register_procedure(name, fails)
    with pytest.raises(TypeError):
        db.register_procedure("five", 5)


def test_what_ends_the_program_is_not_made_a_query_error(db):
    def interrupted(params, value):
        raise KeyboardInterrupt

    db.register_procedure("interrupted", interrupted)
    with pytest.raises(KeyboardInterrupt):
        db.query("g.call('interrupted')")
    assert db.query("g.V().count()").one() == 5


def test_a_function_is_let_go_of_with_the_database(db):
    class Function:
        def __call__(self, params, value):
            return [1]

    function = Function()
    db.register_procedure("once", function)
    assert db.query("g.call('once')").one() == 1
    reference = weakref.ref(function)
    db.close()
    del function
    gc.collect()
    assert reference() is None
