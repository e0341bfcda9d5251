"""The second day: loads and ingests that meet what is in the graph already."""

import subprocess
import sys
import warnings
from pathlib import Path

import pandas as pd
import pytest

import mangrovedb as mg

COMMAND = Path(sys.executable).with_name("mangrove")


@pytest.fixture
def db(tmp_path):
    with mg.open(tmp_path / "db") as db:
        db.load(
            nodes={"p": pd.DataFrame({"id": [1, 2, 3], "name": ["a", "b", "c"], "age": [10, 20, 30]})},
            edges={("p", "knows", "p"): pd.DataFrame({"src": [1, 1, 2], "dst": [2, 3, 3], "since": [7, 8, 9]})},
        )
        yield db


def vertices(db):
    rows = db.query("g.V().order().by(id).valueMap().by(unfold())").to_list()
    return {row.pop("id"): row for row in rows}


def edges(db):
    rows = db.query("g.E().project('s', 't', 'p').by(outV().id()).by(inV().id()).by(valueMap())").to_list()
    return sorted((row["s"], row["t"], sorted(row["p"].items())) for row in rows)


DAY_2 = pd.DataFrame({"id": [2, 3, 4], "age": [20, 31, 40], "city": ["x", None, "y"]})


@pytest.mark.parametrize("compacted", [False, True])
def test_vertices_are_updated_and_new_ones_made(db, compacted):
    if compacted:
        db.compact()
    report = db.load(nodes={"p": DAY_2}, on_exists="update")
    assert report["vertices"] == {"p": 1}
    assert report["merged_vertices"] == {"updated": 2, "unchanged": 0, "skipped": 0}
    assert vertices(db) == {
        1: {"name": "a", "age": 10},
        2: {"name": "b", "age": 20, "city": "x"},
        3: {"name": "c", "age": 31},
        4: {"age": 40, "city": "y"},
    }
    again = db.load(nodes={"p": DAY_2}, on_exists="update")
    assert again["vertices"] == {} and again["merged_vertices"] == {"updated": 0, "unchanged": 3, "skipped": 0}
    assert db.check() == []


def test_vertices_are_replaced_or_skipped(db):
    report = db.load(nodes={"p": DAY_2}, on_exists="replace")
    assert report["merged_vertices"] == {"updated": 2, "unchanged": 0, "skipped": 0}
    assert vertices(db)[2] == {"age": 20, "city": "x"} and vertices(db)[3] == {"age": 31}
    assert len(edges(db)) == 3, "edges stay"
    report = db.load(nodes={"p": pd.DataFrame({"id": [1, 9], "name": ["z", "i"]})}, on_exists="skip")
    assert (report["vertices"], report["merged_vertices"]["skipped"]) == ({"p": 1}, 1)
    assert vertices(db)[1] == {"name": "a", "age": 10} and vertices(db)[9] == {"name": "i"}
    with pytest.raises(mg.LoadError, match='a vertex labelled p with this id exists already: choose what happens to it with on_exists="update"'):
        db.load(nodes={"p": DAY_2})


def test_generated_ids_of_another_database_are_no_silent_match(tmp_path):
    for name in ("a", "b"):
        with mg.open(tmp_path / name) as db:
            db.query("g.addV('person').property('name', name)", name=name)
    with mg.open(tmp_path / "a") as a, mg.open(tmp_path / "b") as b:
        a.export(tmp_path / "files")
        with pytest.warns(mg.QueryWarning, match="generated: they name the same vertices only if"):
            report = b.load(tmp_path / "files", on_exists="skip")
        assert len([warning for warning in report["warnings"] if "generated" in warning]) == 1


def test_of_several_rows_of_one_vertex_the_last_wins(db):
    rows = [{"id": 5, "a": 1, "b": 1}, {"id": 5, "a": 2}, {"id": 1, "a": 3}, {"id": 5, "a": 4}]
    with db.ingest(on_exists="update") as w:
        w.add_vertices("p", rows)
        assert w.report()["vertices"] == {}, "nothing was committed so far"
    report = w.report()
    assert (report["vertices"], report["merged_vertices"]["updated"]) == ({"p": 1}, 3)
    assert vertices(db)[5] == {"a": 4, "b": 1} and vertices(db)[1]["a"] == 3


def test_many_rows_of_one_vertex_cost_no_stack(db):
    with db.ingest(on_exists="update") as w:
        w.add_vertices("p", [{"id": 77, "a": at} for at in range(20_000)])
    assert (w.report()["vertices"], w.report()["merged_vertices"]["updated"]) == ({"p": 1}, 19_999)
    assert vertices(db)[77] == {"a": 19_999}


def test_of_several_rows_of_one_edge_the_last_wins(db):
    for last in (7, 8, 7):
        with db.ingest(on_duplicate="update") as w:
            w.add_edges("knows", [{"from": 1, "to": 2, "since": 100}, {"from": 1, "to": 2, "since": last}])
        assert [edge for edge in edges(db) if edge[:2] == (1, 2)] == [(1, 2, [("since", last)])]


def test_rows_of_known_vertices_declare_the_key_too(tmp_path):
    with mg.open(tmp_path / "new") as db:
        db.query("g.addV('u').property(T.id, 1)")
        report = db.load(nodes={"u": pd.DataFrame({"id": [1], "x": [2]})}, on_exists="update")
        assert report["merged_vertices"]["updated"] == 1
        assert db.query("g.V().has('u', 'id', 1).values('x')").to_list() == [2]
        with pytest.raises(mg.LoadError, match="cannot make `email` the key of u: its key is already `id`"):
            db.load(nodes={"u": pd.DataFrame({"email": [1]})}, key={"u": "email"}, on_exists="update")


def test_ends_that_are_made_have_the_key_that_was_given(tmp_path):
    follows = pd.DataFrame({"src": ["a@x"], "dst": ["b@x"]})
    with mg.open(tmp_path / "new") as db:
        db.load(edges={("user", "follows", "user"): follows}, missing="create", key={"user": "email"})
        assert db.query("g.V().has('user', 'email', 'a@x').out('follows').values('email')").to_list() == ["b@x"]


def test_what_becomes_text_late_leaves_vertices_without_rows_alone(tmp_path):
    with mg.open(tmp_path / "new") as db:
        db.load(nodes={"p": pd.DataFrame({"id": range(70_000), "x": 0})})
        db.query("g.addV('p').property('id', 70001).property('x', 5)")
        lines = [f"{at},{at}" for at in range(69_999)] + ["69999,abc", "70000,7"]
        (tmp_path / "p.csv").write_text("id,x\n" + "\n".join(lines) + "\n")
        with pytest.warns(mg.QueryWarning, match="several types and is loaded as string"):
            db.load(nodes={"p": tmp_path / "p.csv"}, on_exists="update")
        found = [vertices(db)[at] for at in (3, 69_999, 70_000, 70_001)]
        assert found == [{"x": "3"}, {"x": "abc"}, {"x": "7"}, {"x": 5}]


def test_numbers_of_any_type_tell_edges_apart(db):
    for kind in ("int64", "int32", "float64"):
        rows = pd.DataFrame({"src": [1], "dst": [2], "since": pd.Series([7], dtype=kind)})
        report = db.load(edges={("p", "knows", "p"): rows}, on_duplicate="update", edge_key="since")
        assert (report["edges"], report["merged_edges"]["unchanged"]) == ({}, 1)


def test_an_id_tells_its_edge(tmp_path):
    header = "from:START_ID,to:END_ID,:EDGE_ID,w:int,:TYPE\n"
    with mg.open(tmp_path / "new") as db:
        db.load(nodes={"p": pd.DataFrame({"id": [1, 2]})})
        (tmp_path / "e.csv").write_text(header + "1,2,a,1,k\n1,2,b,2,k\n")
        (tmp_path / "f.csv").write_text(header + "1,2,b,3,k\n1,2,c,4,k\n1,2,c,5,k\n")
        (tmp_path / "g.csv").write_text(header + "2,1,a,3,k\n")
        db.load(edges={"k": tmp_path / "e.csv"})
        report = db.load(edges={"k": tmp_path / "f.csv"}, on_duplicate="update")
        assert (report["edges"], report["merged_edges"]["updated"]) == ({"k": 1}, 2)
        found = db.query("g.E().project('id', 'w').by(id()).by('w')").to_list()
        assert sorted((row["id"], row["w"]) for row in found) == [("a", 1), ("b", 3), ("c", 5)]
        with pytest.raises(mg.LoadError, match="an edge with this id exists already"):
            db.load(edges={"k": tmp_path / "g.csv"}, on_duplicate="update")


def test_a_column_that_tells_nothing_apart_is_refused(db):
    with pytest.raises(mg.LoadError, match="on_duplicate="):
        db.load(edges={("p", "knows", "p"): MORE}, edge_key="since")


def test_a_generated_id_that_another_label_has_is_passed_over(tmp_path):
    with mg.open(tmp_path / "new") as db:
        db.query("g.addV('a')")
        db.query("g.addV('b').property(T.id, '#0:1')")
        assert db.query("g.addV('a').id()").to_list() == ["#0:1.1"]
        assert db.query("g.V().count()").to_list() == [3]


def test_an_id_of_another_label_is_a_bad_row(db):
    with pytest.raises(mg.LoadError, match=r'a vertex labelled p already has this id.*If you mean the label p, say so: nodes=\{"p": …\}'):
        db.load(nodes={"q": pd.DataFrame({"id": [1]})}, on_exists="update")


MORE = pd.DataFrame({"src": [1, 2, 3, 3], "dst": [2, 3, 1, 1], "since": [70, 9, 5, 6]})


def test_edges_are_added_skipped_or_updated(db):
    report = db.load(edges={("p", "knows", "p"): MORE}, on_duplicate="update")
    assert report["edges"] == {"knows": 1}
    assert report["merged_edges"] == {"updated": 2, "unchanged": 1, "skipped": 0}
    assert edges(db) == [(1, 2, [("since", 70)]), (1, 3, [("since", 8)]), (2, 3, [("since", 9)]), (3, 1, [("since", 6)])]
    report = db.load(edges={("p", "knows", "p"): MORE}, on_duplicate="skip")
    assert (report["edges"], report["merged_edges"]["skipped"]) == ({}, 4)
    assert len(edges(db)) == 4
    db.load(edges={("p", "knows", "p"): MORE})
    assert len(edges(db)) == 8


def test_a_column_tells_edges_of_the_same_ends_apart(db):
    rows = pd.DataFrame({"src": [1, 1, 1], "dst": [2, 2, 2], "since": [7, 8, 8], "n": [1, 2, 3]})
    report = db.load(edges={("p", "knows", "p"): rows}, on_duplicate="update", edge_key="since")
    assert (report["edges"], report["merged_edges"]["updated"]) == ({"knows": 1}, 2)
    assert [edge for edge in edges(db) if edge[:2] == (1, 2)] == [(1, 2, [("n", 1), ("since", 7)]), (1, 2, [("n", 3), ("since", 8)])]
    with pytest.raises(mg.LoadError, match="no table of edges has the column `when`, which should tell them apart"):
        db.load(edges={("p", "knows", "p"): rows}, on_duplicate="update", edge_key="when")


def test_ends_that_are_not_there_are_made(tmp_path):
    with mg.open(tmp_path / "new") as db:
        follows = pd.DataFrame({"src": [0, 1, 0], "dst": [1, 2, 3]})
        with pytest.raises(mg.LoadError, match='`0` – there is no vertex labelled user with this id, the source of the edge.*Load the vertices first, or add missing="create"'):
            db.load(edges={("user", "trusts", "user"): follows})
        report = db.load(edges={("user", "trusts", "user"): follows}, missing="create")
        assert (report["vertices"], report["edges"]) == ({"user": 4}, {"trusts": 3})
        assert db.query("g.V().has('user', 'id', 0).out('trusts').id().order()").to_list() == [1, 3]
        # The only label there is will do.
        assert db.load(edges={"trusts": pd.DataFrame({"src": [9], "dst": [0]})}, missing="create")["vertices"] == {"user": 1}
        db.query("g.addV('other')")
        with pytest.raises(mg.LoadError, match="the label of the source is unknown"):
            db.load(edges={"trusts": pd.DataFrame({"src": [10], "dst": [0]})}, missing="create")


def test_text_beside_numbers_is_warned_of(db):
    with pytest.warns(mg.QueryWarning, match="ids of this load are text, such as '2', but ids in the graph are numbers, such as 2"):
        db.load(nodes={"p": pd.DataFrame({"id": ["x", "2"]})}, on_exists="update")


def test_a_key_that_cannot_be_meant_is_refused(db):
    with pytest.raises(mg.LoadError, match="the key q:name has no effect: no table of this load has the label q"):
        db.load(nodes={"p": DAY_2}, key={"q": "name"}, on_exists="update")
    with pytest.raises(TypeError, match="key must be a dict from labels to columns.*not 'name'"):
        db.load(nodes={"p": DAY_2}, key="name")


def test_a_table_its_own_library_cannot_hand_over_is_named(db):
    mixed = pd.DataFrame({"id": [7, 8], "x": ["a", 3]})
    with pytest.raises(mg.LoadError, match="cannot read the DataFrame: .*Give each column one type"):
        db.load(nodes={"p": mixed})


def test_a_choice_that_there_is_not_is_named(db):
    for wrong in ({"on_exists": "merge"}, {"on_duplicate": "replace"}, {"missing": "make"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            db.load(nodes={"p": DAY_2}, **wrong)


def test_too_many_bad_rows_are_an_error(db, tmp_path):
    (tmp_path / "bad.csv").write_text("id,age:int\n10,1\n11,x\n12,y\n13,2\n")
    options = {"on_error": "skip", "rejects": tmp_path / "r.csv"}
    with pytest.raises(mg.LoadError, match="more than 1 rows are bad, so nothing was loaded"):
        db.load(nodes={"p": tmp_path / "bad.csv"}, max_rejects=1, **options)
    assert 10 not in vertices(db)
    assert db.load(nodes={"p": tmp_path / "bad.csv"}, max_rejects=2, **options)["rejects"] == 2
    with pytest.raises(mg.LoadError, match="all 2 rows are bad, so nothing was loaded"):
        db.load(edges={("p", "knows", "p"): pd.DataFrame({"src": [50, 51], "dst": [1, 2]})}, **options)


def test_the_command_merges_and_says_what_it_did(tmp_path):
    (tmp_path / "e.csv").write_text("src,dst\n0,1\n1,2\n")
    (tmp_path / "u.csv").write_text("email,age\n0,5\n7,6\n")
    load = [COMMAND, "load", tmp_path / "x.mg", "-q"]
    edges = ["--edges", f"user:trusts:user={tmp_path / 'e.csv'}"]
    failed = subprocess.run([*load, *edges], capture_output=True, text=True)
    assert failed.returncode == 1 and "add --create-missing" in failed.stderr
    assert subprocess.run([*load, *edges, "--create-missing"], capture_output=True, text=True).returncode == 0
    done = subprocess.run([*load, *edges, "--create-missing", "--on-duplicate", "skip"], capture_output=True, text=True)
    assert "2 edges existed already: 0 updated, 0 unchanged, 2 skipped" in done.stderr
    keyed = ["--nodes", f"account={tmp_path / 'u.csv'}", "--key", "account:email", "--on-exists", "update", "--id-space", "graph"]
    clash = subprocess.run([*load, *keyed], capture_output=True, text=True)
    assert clash.returncode == 1 and "a vertex labelled user already has this id" in clash.stderr
    again = [*load[:2], tmp_path / "y.mg", "-q", *keyed]
    assert subprocess.run(again, capture_output=True).returncode == 0
    done = subprocess.run(again, capture_output=True, text=True)
    assert "2 vertices existed already: 0 updated, 2 unchanged, 0 skipped" in done.stderr


def test_parallel_edges_without_a_key_are_warned_of(tmp_path):
    with mg.open(tmp_path / "p.mg") as db:
        edges = lambda *rows: {("p", "buys", "p"): [dict(zip(("src", "dst", "order"), row)) for row in rows]}
        db.load(nodes={"p": [{"id": 1}, {"id": 2}, {"id": 3}]}, edges=edges((1, 2, "A"), (1, 2, "B"), (2, 3, "C")))
        with pytest.warns(UserWarning, match="parallel edges of buys.*a row updates several edges"):
            db.load(edges=edges((1, 2, "B"), (2, 3, "C")), on_duplicate="update")
        with pytest.warns(UserWarning, match="several rows update one edge"):
            db.load(edges=edges((2, 3, "C"), (2, 3, "D")), on_duplicate="update")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            db.load(edges=edges((2, 3, "D")), on_duplicate="update")
            db.load(edges=edges((1, 2, "X"), (1, 2, "Y")), on_duplicate="update", edge_key="order")


def test_numbers_that_another_program_wrote_as_text_are_warned_of(tmp_path):
    (tmp_path / "n.csv").write_text("id,n\n1,a\n2,b\n")
    (tmp_path / "e.csv").write_text("src,dst\n1.0,2.0\n")
    with mg.open(tmp_path / "n.mg") as db:
        db.load(nodes={"p": tmp_path / "n.csv"})
        with pytest.raises(mg.LoadError, match="there is one with the number 1"):
            db.load(edges={("p", "e", "p"): tmp_path / "e.csv"})
        with pytest.warns(UserWarning, match="such as '1.0', but ids in the graph are numbers"):
            db.load(edges={("p", "e", "p"): tmp_path / "e.csv"}, missing="create")
