"""Reads and writes without a query language, and the workloads of social graphs."""

import ast
import asyncio
import json
import random
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

import pytest

import mangrovedb as mg

COMMAND = Path(sys.executable).with_name("mangrove")


@pytest.fixture
def social(tmp_path):
    db = mg.open(tmp_path / "social.mg")
    db.declare_time("friend", "since")
    db.declare_time("liked", "at")
    g = db.direct()
    for number in range(20):
        g.append_node("person", number, {"city": ("Ithaca", "Rome")[number % 2], "age": 20 + number})
    g.append_node("page", "home", {"city": "Ithaca"})
    return db


def test_calls_agree_with_gremlin_over_tables_and_segments(social):
    g, rng = social.direct(), random.Random(5)
    for day in range(300):
        source, other = rng.randrange(20), rng.randrange(20)
        g.append_edge(source, rng.choice(("friend", "liked")), other, day // 2, {"note": f"n{day}"})
        if day in (99, 199):
            social.compact()
    for person in range(20):
        assert g.get_node_property(person) == social.query("g.V(x).valueMap().by(unfold())", x=person).one()
        for kind, time in (("friend", "since"), ("liked", "at")):
            text = f"g.V(x).outE('{kind}').order().by('{time}').project('to', 'at').by(inV().id()).by('{time}')"
            edges = social.query(text, x=person).to_list()
            record = g.get_edge_record(person, kind)
            assert [edge.time for edge in record.get_edges()] == [edge["at"] for edge in edges]
            assert sorted((edge.destination, edge.time) for edge in record.get_edges()) == sorted((e["to"], e["at"]) for e in edges)
            assert len(record) == g.assoc_count(person, kind) == len(edges)
            first, end = record.get_edge_range(30, 100)
            assert [edge.time for edge in record.get_edges(first, end)] == [e["at"] for e in edges if 30 <= e["at"] < 100]
            latest = g.assoc_range(person, kind, 1, 3)
            assert latest == list(reversed(record.get_edges()))[1:4]
            assert g.assoc_time_range(person, kind, 30, 100, 2) == list(reversed(record.get_edges(first, end)))[:2]
            others = [edge.destination for edge in record.get_edges()][:2]
            assert g.assoc_get(person, kind, others) == [e for e in reversed(record.get_edges()) if e.destination in others]
            both = social.query(f"g.V(x).out('{kind}').has('city', 'Rome').id()", x=person).to_list()
            assert sorted(g.get_neighbor_ids(person, kind, {"city": "Rome"})) == sorted(both)
        everything = g.get_edge_record(person)
        assert [edge.time for edge in everything.get_edges()] == sorted(edge.time for edge in everything.get_edges())
        assert len(everything) == social.query("g.V(x).outE().count()", x=person).one()
    assert g.get_node_ids({"city": "Ithaca"}) == [*range(0, 20, 2), "home"]
    assert g.get_node_ids({"city": "Ithaca", "age": 24}, "person") == [4]


def test_writes_are_transactions_of_their_own_and_say_what_they_did(social):
    g = social.direct()
    before = g.get_edge_record(1, "friend")
    assert g.assoc_add(1, "friend", 2, 7, {"note": "x"}) and not g.assoc_add(1, "friend", 2, 8, {"note": "y"})
    assert len(before) == 0 and g.assoc_count(1, "friend") == 1  # a record keeps what it saw
    assert g.assoc_update(1, "friend", 2, {"note": "z"}) and not g.assoc_update(2, "friend", 1, {"note": "z"})
    assert g.get_edge_record(1, "friend")[-1].properties == {"note": "z"}
    assert g.assoc_del(1, "friend", 2) and not g.assoc_del(1, "friend", 2)
    assert g.obj_update(1, {"age": None, "city": "Oslo"}) and g.obj_get(1) == {"city": "Oslo"}
    assert not g.obj_update("nobody", {"age": 1}) and g.obj_get("nobody") is None
    assert g.obj_add("person", "new") == "new" and g.obj_del("new") and not g.obj_del("new")
    with pytest.raises(mg.MangroveError, match="exists already"):
        g.obj_add("person", 1)
    with pytest.raises(mg.MangroveError, match="nobody is not in the graph"):
        g.append_edge(1, "friend", "nobody", 1)
    with pytest.warns(mg.QueryWarning, match="did you mean `person`"):
        g.append_node("persn", "typo", {"city": "Rome"})
    generated = g.append_node("person")
    assert g.get_node_property(generated) == {}
    vertex = social.query("g.V(3)").one()
    assert g.get_node_property(vertex, ["age"]) == {"age": 23}
    assert social.check() == []


def test_what_makes_no_sense_is_refused(social):
    g = social.direct()
    with pytest.raises(mg.StorageError, match='did you mean "friend"'):
        g.assoc_count(1, "frend")
    with pytest.raises(mg.StorageError, match='did you mean "city"'):
        g.get_node_property(1, ["cty"])
    with pytest.raises(IndexError, match="the record has 0"):
        g.get_edge_record(1, "friend")[0]
    with pytest.raises(TypeError, match="put it in a list"):
        g.assoc_get(1, "friend", "home")
    with pytest.raises(TypeError, match="a time must be"):
        g.get_edge_record(1, "friend").get_edge_range("yesterday")
    with pytest.raises(mg.StorageError, match=r"vertex \[1\] is not in the graph"):
        g.get_node_property([1])
    for call in (lambda: g.assoc_range(1, "friend", -1, 5), lambda: g.assoc_time_range(1, "friend", 0, 9, -2), lambda: g.get_edge_record(1, "friend").get_edges(-3)):
        with pytest.raises(ValueError, match="is negative: count from 0 on"):
            call()
    with pytest.raises(mg.MangroveError, match="the graph has no edge label `frend`; did you mean `friend`"):
        g.append_edge(1, "frend", 2, 5)
    g.append_edge(1, "friend", 2, 5, {"note": "a"})
    with pytest.warns(mg.QueryWarning, match="did you mean `friend.note`"):
        g.assoc_update(1, "friend", 2, {"notes": "x"})
    g.append_edge(1, "plain", 2)
    with pytest.raises(mg.StorageError, match="declare_time"):
        g.get_edge_record(1, "plain").get_edge_range(1)


def test_ids_and_times_may_be_among_the_properties(tmp_path):
    with mg.open(tmp_path / "keyed.mg") as db:
        db.declare_key("person", "name")
        db.declare_time("met", "at")
        g = db.direct()
        assert [g.append_node("person", properties={"name": name, "age": 30}) for name in ("ada", "bob")] == ["ada", "bob"]
        g.append_edge("ada", "met", "bob", properties={"at": 7, "where": "Rome"})
        assert g.assoc_add("ada", "met", "ada", properties={"at": 9})
        assert [edge.time for edge in g.assoc_time_range("ada", "met", 5, 9, 10)] == [7]
        assert g.get_node_property("ada") == {"name": "ada", "age": 30}
        assert db.check() == []


def test_a_closed_database_is_closed(tmp_path):
    with mg.open(tmp_path / "closed.mg") as db:
        g = db.direct()
        g.append_node("n", 1)
    with pytest.raises(mg.OpenError, match="has been closed"):
        g.append_node("n", 2)


def test_a_record_is_read_in_a_loop(social):
    g = social.direct()
    for day in range(5):
        g.append_edge(1, "friend", 2, day)
    assert [edge.time for edge in g.get_edge_record(1, "friend")] == [0, 1, 2, 3, 4]


def test_dates_and_integers_may_both_be_times(social):
    g = social.direct()
    g.append_edge(1, "friend", 2, 2009)
    g.append_edge(1, "friend", 3, 2014)
    g.append_edge(4, "friend", 3, datetime(2020, 1, 1, tzinfo=timezone.utc))
    assert g.get_edge_record(1, "friend").get_edge_range(2010, None) == (1, 2)
    assert [edge.time for edge in g.assoc_time_range(1, "friend", 2000, 2020, 10)] == [2014, 2009]
    assert g.get_edge_record(4, "friend").get_edge_range(datetime(2019, 1, 1), None) == (0, 1)


def test_times_may_be_dates(tmp_path):
    db = mg.open(tmp_path / "dates.mg")
    db.declare_time("met", "when")
    g = db.direct()
    day = [datetime(2020, 1, number, tzinfo=timezone.utc) for number in range(1, 6)]
    g.append_node("person", "a")
    for when in day:
        g.append_edge("a", "met", "a", when)
    record = g.get_edge_record("a", "met")
    assert record.get_edge_range(day[1], day[4]) == (1, 4)
    assert record[0].time == day[0]
    assert [edge.time for edge in g.assoc_time_range("a", "met", day[1], None, 2)] == [day[4], day[3]]


def test_calls_can_be_awaited(tmp_path):
    async def main():
        async with mg.open_async(tmp_path / "awaited.mg") as db:
            g = db.direct()
            await g.append_node("person", "ada", {"city": "London"})
            await g.append_node("person", "bob")
            await asyncio.gather(*(g.append_edge("ada", "knows", "bob") for _ in range(4)))
            return await g.assoc_count("ada", "knows"), len(await g.get_edge_record("ada"))

    assert asyncio.run(main()) == (4, 4)


WRITER = """
import random, sys
import mangrovedb as mg
db, rng = mg.open(sys.argv[1]), random.Random(3)
g = db.direct()
for line in sys.stdin:
    turn = int(line)
    person, other = rng.randrange(1000), rng.randrange(1000)
    changes = (lambda: g.obj_update(person, {"age": turn}), lambda: g.assoc_add(person, "friend", other, turn, {"note": f"n{turn}"}),
               lambda: g.assoc_del(person, "friend", 0), lambda: g.append_node("person", 1000 + turn, {"age": turn}))
    changes[turn % 4]()
    if turn % 30 == 29:
        db.compact()
    told = [person, g.get_node_property(person), [(e.destination, e.time, e.properties) for e in g.assoc_range(person, "friend", 0, 99)]]
    print(repr(told + [g.assoc_count(person, "friend")]), flush=True)
"""


def test_a_reader_sees_what_another_process_writes_after_many_reads_that_found_no_changes(tmp_path):
    path = tmp_path / "people.mg"
    with mg.open(path) as db:
        db.declare_time("friend", "since")
        with db.ingest() as w:
            w.add_vertices("person", {"id": list(range(1000)), "age": [7] * 1000})
            edges = {"src": list(range(1000)), "dst": [0] * 1000, "since": [1] * 1000, "note": ["old"] * 1000}
            w.add_edges(("person", "friend", "person"), edges)
        db.compact()
    writer = subprocess.Popen([sys.executable, "-c", WRITER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    reader = mg.open(path, read_only=True)
    g, rng = reader.direct(), random.Random(4)
    with writer, reader:
        for turn in range(120):
            for _ in range(40):
                assert g.get_node_property(rng.randrange(1000), ["age"])
                assert g.assoc_count(rng.randrange(1000), "friend") >= 0
            writer.stdin.write(f"{turn}\n")
            writer.stdin.flush()
            person, properties, edges, count = ast.literal_eval(writer.stdout.readline())
            assert g.get_node_property(person) == properties
            assert [(e.destination, e.time, e.properties) for e in g.assoc_range(person, "friend", 0, 99)] == edges
            assert g.assoc_count(person, "friend") == count
            found = reader.query("g.V(x).project('n', 'age').by(outE('friend').count()).by('age')", x=person).one()
            assert found == {"n": count, "age": properties["age"]}
        writer.stdin.close()
    assert writer.returncode == 0


def test_open_files_can_be_read(social, tmp_path):
    social.direct().append_edge(1, "friend", 2, 3)
    social.query("g.V('home').drop()")
    social.export(tmp_path / "files", "graphar")
    g = mg.open_lake(tmp_path / "files" / "files.graph.yml").direct()
    assert g.get_neighbor_ids(1, "friend") == [2] and g.obj_get(1)["city"] == "Rome"
    with pytest.raises(mg.MangroveError, match="never written"):
        g.delete_node(1)


def bench(*arguments):
    done = subprocess.run([COMMAND, "bench", *map(str, arguments)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("workload", ["tao", "linkbench", "graphsearch"])
def test_a_workload_runs_on_a_graph_that_it_makes(workload, tmp_path):
    path = tmp_path / "bench.mg"
    arguments = (workload, path, "--users", 300, "--operations", 3000, "--clients", 2, "--format", "json")
    code, out, err = bench(*arguments)
    assert code == 0, err
    assert "made 300 users and 1,305 edges" in err and "3,000 operations by 2 clients" in err
    found = json.loads(out)
    assert found["operations"] == 3000 and sum(of["count"] for of in found["times"]) == 3000
    assert all(of["medianUs"] <= of["p95Us"] <= of["p99Us"] for of in found["times"])
    shares = {of["operation"]: of["count"] / 3000 for of in found["times"]}
    expected = {
        "tao": {"assoc_range": 0.408, "obj_get": 0.288, "assoc_get": 0.157, "assoc_count": 0.117},
        "linkbench": {"assoc_range": 0.506, "obj_get": 0.129, "assoc_add": 0.09, "assoc_update": 0.08, "obj_update": 0.074},
        "graphsearch": {"GS1": 0.2, "GS2": 0.2, "GS3": 0.2, "GS4": 0.2, "GS5": 0.2},
    }[workload]
    assert all(abs(shares[name] - share) < 0.04 for name, share in expected.items()), shares
    assert all(of["answers"] > 0 for of in found["times"] if of["count"] > 100), found["times"]
    code, again, err = bench(*arguments)  # the same graph again
    assert code == 0 and "made" not in err and "runs on 3" in err and "which" in err
    with mg.open(path) as db:
        assert db.check() == []
        vertices = db.query("g.V().count()").one()
        assert vertices >= 300 if workload == "linkbench" else vertices in range(300, 320)


def test_joins_find_the_same(tmp_path):
    path = tmp_path / "search.mg"
    arguments = ("graphsearch", path, "--users", 400, "--operations", 1000, "--format", "json")
    plain, joined = (json.loads(bench(*arguments, *more)[1])["times"] for more in ((), ("--join",)))
    assert [of["answers"] for of in plain] == [of["answers"] for of in joined]
    assert [of["operation"] for of in joined] == ["GS1", "GS2 joined", "GS3 joined", "GS4", "GS5"]


def test_a_workload_refuses_a_graph_of_others(tmp_path):
    path = tmp_path / "other.mg"
    with mg.open(path) as db:
        db.query("g.addV('n')")
    code, _, err = bench("tao", path)
    assert code == 1 and "name a new directory" in err
    code, _, err = bench("tao", tmp_path / "new.mg", "--join")
    assert code == 2 and "unexpected argument '--join'" in err
    assert not (tmp_path / "new.mg").exists()


def test_regular_path_queries_are_drawn_and_run(tmp_path):
    path = tmp_path / "paths.mg"
    code, out, err = bench("paths", path, "--vertices", 2000, "--queries", 30, "--format", "json")
    assert code == 0 and "made a graph of 2,000 vertices" in err and "30 queries" in err, err
    found = json.loads(out)
    assert {one["shape"] for one in found} == {"linear", "branched", "recursive"} and len(found) == 30
    assert sum(one["rows"] > 0 for one in found) > 20
    with mg.open(path) as db:
        assert [db.count_paths(one["query"]) for one in found] == [one["rows"] for one in found]
    code, again, err = bench("paths", path, "--vertices", 2000, "--queries", 30, "--format", "json")
    assert code == 0 and "made" not in err
    assert [one["rows"] for one in json.loads(again)] == [one["rows"] for one in found]
    code, _, err = bench("paths", tmp_path / "other.mg", "--vertices", 5)
    assert code == 2
