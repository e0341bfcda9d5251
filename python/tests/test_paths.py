"""Regular path queries: which vertices are joined by paths whose labels match."""

import asyncio
import json
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import mangrovedb as mg

COMMAND = Path(sys.executable).with_name("mangrove")


@pytest.fixture
def people(tmp_path):
    db = mg.open(tmp_path / "people.mg")
    db.load(
        nodes={"person": [{"id": name} for name in "abcde"], "post": [{"id": 1}, {"id": 2}]},
        edges={
            ("person", "knows", "person"): [{"from": one, "to": other} for one, other in ("ab", "bc", "cd", "ca")],
            ("person", "has written", "post"): [{"from": "c", "to": 1}, {"from": "d", "to": 2}],
            ("person", "likes", "post"): [{"from": "a", "to": 1}, {"from": "e", "to": 2}],
        },
    )
    return db


def rows(result):
    return [tuple(row.values()) for row in result.to_list()]


def test_answers_are_sets_in_the_order_of_ids(people):
    assert rows(people.paths("'a' knows+ ?x")) == [("a",), ("b",), ("c",), ("d",)]
    assert rows(people.paths("?x likes/^`has written` ?y")) == [("a", "c"), ("e", "d")]
    assert rows(people.paths("(?y) <- ?x knows* ?y, ?y likes ?z")) == [("a",), ("e",)]
    assert rows(people.paths("?x likes ?z ; ?x `has written` ?z")) == [("a", 1), ("c", 1), ("d", 2), ("e", 2)]
    assert rows(people.paths("?x:post ^likes ?y")) == [(1, "a"), (2, "e")]
    assert rows(people.paths("?x knows{3} ?x")) == [("a",), ("b",), ("c",)]
    assert people.paths("() <- 'a' knows+ 'd'").to_list() == [{}]
    assert people.paths("() <- 'd' knows+ 'a'").to_list() == []
    assert people.count_paths("?x _* ?y") == len(people.paths("?x _* ?y")) == 24
    assert people.paths("?x knows ?y").to_arrow().column_names == ["x", "y"]
    assert people.paths("?x knows ?y").to_pandas().shape == (4, 2)


def test_parameters_may_be_ids_or_vertices(people):
    vertex = people.query("g.V('c')").one()
    assert rows(people.paths("$one knows ?x", one=vertex)) == rows(people.paths("$one knows ?x", {"one": "c"})) == [("a",), ("d",)]
    with pytest.raises(mg.QueryError, match=r"the parameter `\$one` has no value"):
        people.paths("$one knows ?x")
    with pytest.warns(mg.QueryWarning, match=r"no parameter `\$two`"):
        people.paths("?x knows ?y", two=1)


def test_mistakes_are_shown(people):
    with pytest.raises(mg.QueryError, match=r"\n1 \| \?x \(knows \?y\n  \|           \^"):
        people.paths("?x (knows ?y")
    with pytest.warns(mg.QueryWarning, match="no edge label `know`; did you mean `knows`"):
        assert people.paths("?x know ?y").to_list() == []
    with pytest.warns(mg.QueryWarning, match="no vertex label `persn`; did you mean `person`"):
        assert people.count_paths("?x:persn knows ?y") == 0
    with pytest.warns(mg.QueryWarning, match="no vertex with the id z"):
        assert people.paths("'z' knows* ?x").to_list() == []


def test_columns_do_not_depend_on_the_rows(people):
    nothing = people.paths("'b' likes ?x")
    assert nothing.to_list() == [] and list(nothing.to_pandas()) == ["x"] and nothing.to_arrow().column_names == ["x"]


def test_a_vertex_that_is_gone_is_found_nowhere(people):
    vertex = people.query("g.V('a')").one()
    people.query("g.V('a').drop()")
    with pytest.warns(mg.QueryWarning, match="no vertex with the id"):
        assert people.paths("$one knows* ?x", one=vertex).to_list() == []


def test_gremlin_calls_it(people):
    call = "g.call('mangrove.paths').with('query', \"'a' knows+ ?x\").select('x').id()"
    assert people.query(call).to_list() == ["a", "b", "c", "d"]
    given = "g.call('mangrove.paths').with('query', '$one likes ?x').with('parameters', [one: 'e']).select('x').label()"
    assert people.query(given).to_list() == ["post"]
    with pytest.warns(mg.QueryWarning, match="did you mean `likes`"):
        assert people.query("g.call('mangrove.paths').with('query', '?x like ?y')").to_list() == []
    with pytest.warns(mg.QueryWarning, match="has no parameter `.two`"):
        people.query("g.call('mangrove.paths').with('query', '?x likes ?y').with('parameters', [two: 'e'])")
    with pytest.raises(mg.QueryError, match="expected an edge label"):
        people.query("g.call('mangrove.paths').with('query', '?x / ?y')")
    many = " , ".join(f"?a{n} knows|likes ?b{n}" for n in range(9))
    with pytest.raises(mg.MemoryLimitError, match="memory budget of 1 MB"):
        people.query(f"g.call('mangrove.paths').with('query', '{many}')", memory_mb=1)
    with pytest.raises(mg.QueryError, match="`query` is a text"):
        people.query("g.call('mangrove.paths')")


def test_the_command_runs_it(people, tmp_path):
    people.close()

    def run(*arguments):
        done = subprocess.run([COMMAND, "paths", tmp_path / "people.mg", *arguments], capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    assert run("?x likes ?y", "--format", "csv") == (0, "x,y\na,1\ne,2\n", "")
    assert run("$who knows ?y", "--param", "who=a", "--format", "json")[1] == json.dumps({"y": "b"}, separators=(",", ":")) + "\n"
    assert run("?x knows+ ?y", "--count")[1] == "12\n"
    code, _, err = run("?x like ?y")
    assert code == 0 and "did you mean `likes`" in err
    code, _, err = run("?x likes")
    assert code == 1 and "the query ends where a variable" in err


def test_every_tier_gives_the_same(tmp_path):
    rng = random.Random(2)
    edges = {label: [{"from": rng.randrange(60), "to": rng.randrange(60)} for _ in range(70)] for label in "pqr"}
    queries = ["?x p+/q ?y", "?x (p|^q)* ?y", "?x p ?y, ?y q+ ?z, ?x r ?z", "7 (p/q|r)+ ?y", "?x:n _{2} ?x", "(?x) <- ?x p ?y ; (?y) <- ?x q ?y"]
    table = mg.open(tmp_path / "table.mg")
    table.load(nodes={"n": [{"id": at} for at in range(60)]}, edges={("n", label, "n"): rows for label, rows in edges.items()}, compact=False)
    expected = [rows(table.paths(text)) for text in queries]
    assert all(expected)
    table.export(tmp_path / "lake", "graphar")
    lake = mg.open_lake(tmp_path / "lake" / "lake.graph.yml")
    assert [sorted(rows(lake.paths(text))) for text in queries] == [sorted(answer) for answer in expected]
    table.compact()
    assert [rows(table.paths(text)) for text in queries] == expected
    table.query("g.V(7).outE('p').drop()")
    table.query("g.V(7).as('a').addE('p').to(V(8))")
    fresh = rows(table.paths("7 p ?y"))
    assert fresh == [(8,)]


def test_what_was_read_is_of_the_last_commit(people):
    assert people.count_paths("?x knows ?y") == 4
    people.query("g.V('d').addE('knows').to(__.V('e'))")
    assert people.count_paths("?x knows ?y") == 5 and ("d", "e") in rows(people.paths("?x knows ?y"))
    people.query("g.addV('person').property(id, 'f').addE('knows').to(__.V('a'))")
    assert ("f", "e") in rows(people.paths("?x knows+ ?y"))
    people.query("g.V('d').drop()")
    assert people.count_paths("?x knows ?y") == 4 and people.count_paths("?x knows ?y, ?y likes ?z") == 2
    assert people.count_paths("?x:post _* ?x") == 2


def test_limits_stop_it(tmp_path):
    rng = random.Random(1)
    db = mg.open(tmp_path / "large.mg")
    edges = [{"from": rng.randrange(20_000), "to": rng.randrange(20_000)} for _ in range(60_000)]
    db.load(nodes={"n": [{"id": at} for at in range(20_000)]}, edges={("n", "e", "n"): edges})
    with pytest.raises(mg.MemoryLimitError):
        db.paths("?x e* ?y", memory_mb=100)
    with pytest.raises(mg.TimeoutError):
        db.paths("?x e* ?y, ?y e* ?z, ?z e* ?x", timeout=0.3)
    assert db.count_paths("?x e* ?y", memory_mb=100) > 100_000_000
    with pytest.raises(mg.TimeoutError):
        db.count_paths("?a e{1,200} ?b", timeout=0.3)
    with pytest.raises((mg.MemoryLimitError, mg.TimeoutError)):
        db.count_paths("?a e ?b, ?c e ?d", memory_mb=50, timeout=5)
    assert db.count_paths("(?a, ?b) <- ?a e ?b, ?c e ?d", memory_mb=50) == db.count_paths("?a e ?b")
    result = []
    thread = threading.Thread(target=lambda: result.append(db.count_paths("7 e+ ?y")))
    begin = time.monotonic()
    thread.start()
    thread.join()
    assert result[0] > 10_000 and time.monotonic() - begin < 60


def test_it_can_be_awaited(tmp_path):
    async def main():
        async with mg.open_async(tmp_path / "awaited.mg") as db:
            await db.query("g.addV('n').property(id, 1).as('a').addE('e').to('a')")
            return (await db.paths("?x e+ ?y")).to_list(), await db.count_paths("?x e* ?y")

    assert asyncio.run(main()) == ([{"x": 1, "y": 1}], 1)
