"""Databases that earlier versions wrote are read as they were written, changed, and compacted into what is written today."""

import importlib.util
import tarfile
from pathlib import Path

import pytest

import mangrovedb as mg

FOLDER = Path(__file__).parent / "written_before"


def the_graph():
    spec = importlib.util.spec_from_file_location("graph", FOLDER / "graph.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The same graph as this version writes it; and after some more changes."""
    graph, path = the_graph(), tmp_path_factory.mktemp("today") / "graph.mg"
    graph.make(path)
    with mg.open(path) as db:
        before = graph.seen(db)
        assert all(before.values())
        graph.change(db, graph.CHANGES)
        after = graph.seen(db)
        assert after != before
        return before, after


# The formats of segments and of tables, by the commit that wrote them.
@pytest.mark.parametrize("name", ["segments-1-65b5bd0", "segments-2-21cf326", "tables-4-fbb41d5", "tables-5-be0b325", "tables-6-04bba07", "tables-8-4ec5221", "tables-9-2850ced"])
def test_a_database_of_before(tmp_path, expected, name):
    graph, (before, after) = the_graph(), expected
    with tarfile.open(FOLDER / f"{name}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    with mg.open(tmp_path / "graph.mg", read_only=True) as db:
        assert graph.seen(db) == before
    with mg.open(tmp_path / "graph.mg", seal_mb=0) as db:
        assert len(db.stats()["segments"]) >= 1
        assert graph.seen(db) == before
        assert db.check() == []
        graph.change(db, graph.CHANGES)
        assert graph.seen(db) == after
        if name < "tables-8":  # before, the id was a property too
            assert db.query("g.V(0).values('id')").to_list() == db.query("g.V(10003).values('id')").to_list() + [0]
        db.declare_key("person", "id")
        assert db.query("g.V(10003).values('id')").to_list() == [10003]
        assert db.explain("g.V().has('person', 'id', 0)").to_dict()["steps"][0]["access"] == "by id"
        assert graph.seen(db) == after
        db.compact()
        assert graph.seen(db) == after
        assert db.create_index("city", "people", unique=True)
        with pytest.raises(mg.ConstraintError):
            db.query("g.V('city 1').property('people', 0)")
        assert db.query("g.V().has('person', 'id', within(0, 10003)).id()").to_list() == [0, 10003]
        assert db.check() == []


def test_a_wide_label_of_before(tmp_path):
    graph = the_graph()
    graph.make_wide(tmp_path / "today.mg")
    with tarfile.open(FOLDER / "wide-6-04bba07.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    with mg.open(tmp_path / "graph.mg", read_only=True) as old, mg.open(tmp_path / "today.mg", read_only=True) as today:
        assert graph.seen_wide(old) == graph.seen_wide(today)
        assert old.check() == []
    with mg.open(tmp_path / "graph.mg") as old, mg.open(tmp_path / "today.mg") as today:
        for compact in (False, True):
            for db in (old, today):
                graph.change_wide(db, 10 + 20 * compact)
                if compact:
                    db.compact()
                assert db.check() == []
            assert graph.seen_wide(old) == graph.seen_wide(today)
