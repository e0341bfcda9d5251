"""What a newcomer types first: small databases, other languages' habits, and traversals of gremlinpython."""

import gc
import os
import re
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

import mangrovedb as mg

from test_cli import mangrove


def test_a_database_in_memory_is_gone_when_it_is_closed():
    with mg.open(":memory:") as db, mg.open(":memory:") as other:
        db.load(nodes={"person": [{"id": "ada"}]})
        path = db.query("g.V().count()").one(), db.stats()["disk_bytes"]
        assert path[0] == 1 and other.query("g.V().count()").one() == 0
        assert str(db.path) == ":memory:" and not os.path.exists(":memory:")
        db.backup("kept.mg")
    assert mg.open("kept.mg").query("g.V('ada').count()").one() == 1
    with pytest.raises(mg.OpenError, match="nothing to read"):
        mg.open(":memory:", read_only=True)


def test_temporary_files_of_a_database_in_memory_are_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    db = mg.open(":memory:")
    db.query("g.addV()")
    assert len(list(tmp_path.glob("mangrove-*"))) == 1
    if hasattr(os, "fork"):
        child = os.fork()
        if child == 0:
            del db
            gc.collect()
            os._exit(0)
        os.waitpid(child, 0)
        assert len(list(tmp_path.glob("mangrove-*"))) == 1
    db.close()
    assert list(tmp_path.glob("mangrove-*")) == []


def test_traversals_of_gremlinpython_are_queries(db):
    g = db.traversal()
    traversal = g.V().has("airport", "code", "AUS").out("route").values("code")
    assert sorted(db.query(traversal)) == ["DFW", "LHR"] == sorted(db.stream(traversal))
    assert db.query(g.V().has_label("airport").value_map("code")).to_arrow().num_rows == 4
    assert db.explain(traversal).to_dict()["steps"]
    assert db.profile(traversal).results == 2
    with db.transaction() as tx:
        tx.query(g.add_v("airport").property("code", "OSL"))
    assert db.query(g.V().has("airport", "code", "OSL").count()).one() == 1
    with pytest.raises(TypeError, match="a query must be a str or a gremlinpython traversal, not a int"):
        db.query(5)


@pytest.mark.parametrize(
    "query, advice",
    [
        ("MATCH (n:airport {code:'AUS'}) RETURN n", "this looks like Cypher.*\n.*\n.*\n.*g.V().has('airport', 'code', 'AUS')"),
        ("SELECT count(*) FROM airport", "this looks like SQL.*\n.*\n.*\n.*g.V().hasLabel('airport').count()"),
        ("SELECT code FROM airport WHERE runways > 3", "g.V().has('airport', 'runways', gt(3)).valueMap('code').by(unfold())"),
        ("UPDATE airport SET runways = 3 WHERE code = 'AUS'", "g.V().has('airport', 'code', 'AUS').property('runways', 3)"),
        ("INSERT INTO airport (code, runways) VALUES ('X', 1)", "g.addV('airport').property('code', 'X').property('runways', 1)"),
        ("SHOW TABLES", "schema() in Python"),
        ("MATCH (n:airport) WHERE n.runways > 3 RETURN n", "`mangrove docs from-cypher` translates more"),
        ("g.V().has('elev', > 3)", "has('price', gt(3))"),
        ("g.V().has('airport', 'city', 'O'Brien')", "pass the text as a parameter"),
        ("g.V().value('city')", "values('name')"),
    ],
)
def test_habits_of_other_languages_are_answered(db, query, advice):
    with pytest.raises(mg.QueryError) as caught:
        db.query(query)
    parts = advice.split(".*\n.*\n.*\n.*")
    assert all(part in str(caught.value) for part in parts), caught.value


def test_a_parameter_with_the_name_of_an_argument_goes_into_a_dict(db):
    with pytest.raises(mg.QueryError, match=r'in a dict: query\(text, {"timeout": …}\)'):
        db.query("g.V().limit(timeout)", timeout=1)
    assert len(db.query("g.V().limit(timeout)", {"timeout": 2})) == 2


@pytest.mark.parametrize("columns", [("weight", "b"), ("w", "a"), ("a", "count"), ("label", "b")])
def test_a_weight_is_no_end_of_an_edge(columns):
    with mg.open(":memory:") as db, pytest.raises(mg.LoadError, match="needs a source and a target column"):
        db.load(edges={"e": {columns[0]: [3], columns[1]: [2]}}, missing="create")


def test_a_procedure_does_not_keep_its_database_alive():
    db = mg.open(":memory:")
    db.register_procedure("count", lambda params, value: [db.query("g.V().count()").one()])
    assert db.query("g.inject(1).call('count')").one() == 0
    known = weakref.ref(db)
    del db
    gc.collect()
    assert known() is None


MANY = """
import resource, mangrovedb as mg
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
open_now = [mg.open(f"{n}.mg", workers=0) for n in range(400)]
for n, db in enumerate(open_now):
    db.query("g.addV('n').property('n', x)", x=n)
print(sum(db.query("g.V().values('n')").one() for db in open_now))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of open files to be raised")
def test_four_hundred_databases_can_be_open(tmp_path):
    done = subprocess.run([sys.executable, "-c", MANY], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.strip() == str(sum(range(400))), done.stderr


def test_the_documentation_comes_with_the_package():
    assert "recipes" in mg.docs() and "gremlin" in mg.docs()
    assert mg.docs("load").startswith("# Loading and exporting")
    with pytest.raises(ValueError, match="recipes"):
        mg.docs("recipe")
    listed = mangrove("docs")
    assert listed.returncode == 0 and "from-cypher" in listed.stdout
    assert mangrove("docs", "gremlin").stdout.startswith("# Gremlin in Mangrove")
    failed = mangrove("docs", "recipies")
    assert failed.returncode == 1 and "did you mean recipes?" in failed.stderr
    with pytest.raises(mg.QueryError, match="`mangrove docs gremlin` lists"):
        mg.open(":memory:").query("g.V().read()")


def test_completion_leaves_out_what_no_query_can_use():
    source = Path(mg.__file__).parents[2] / "crates" / "query" / "src" / "gremlin" / "steps.rs"
    described = dict(re.findall(r'step\(\s*"(\w+)",\s*Plain,\s*"([^"]*)"', source.read_text()))
    not_run = {name for name, description in described.items() if description.startswith(("refused", "not yet"))}
    db = mg.open(":memory:")
    unsupported = set()
    for name in described:
        for arguments in ("", "'a'", "'a', 'b'", "0, 1", "__.identity()"):
            try:
                db.query(f"g.V().{name}({arguments})")
                break
            except mg.QueryError as error:
                if f"the step `{name}` is not supported" not in str(error):
                    break
        else:
            unsupported.add(name)
    assert unsupported == not_run - {"profile"} == {"read", "write"}
