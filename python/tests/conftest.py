"""What the tests share: a small graph of airports, and a directory of its own for every test."""

import os

import pytest

import mangrovedb as mg


def left_out(why):
    """Leaves a test out for want of something. With the variable MANGROVE_NO_SKIPS, that is a failure."""
    (pytest.fail if os.environ.get("MANGROVE_NO_SKIPS") else pytest.skip)(f"left out: {why}")


def airports(path):
    """Four airports, five routes between them, and the country one of them is in; ids are codes."""
    db = mg.open(path)
    with db.ingest() as w:
        w.add_vertices(
            "airport",
            [
                {"~id": "AUS", "code": "AUS", "city": "Austin", "elev": 542},
                {"~id": "DFW", "code": "DFW", "city": "Dallas", "elev": 607},
                {"~id": "LHR", "code": "LHR", "city": "London", "elev": 83},
                {"~id": "WLG", "code": "WLG", "city": "Wellington", "elev": 41},
            ],
        )
        w.add_vertices("country", [{"~id": "US", "name": "United States"}])
        routes = [("AUS", "DFW", 190), ("AUS", "LHR", 4921), ("DFW", "AUS", 190), ("LHR", "AUS", 4921), ("DFW", "WLG", 7900)]
        w.add_edges("route", routes, columns=["from", "to", "dist"])
        w.add_edges("in", [{"from": "AUS", "to": "US"}])
    return db


@pytest.fixture(autouse=True)
def in_a_directory_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Indexes of open files stay there, too.
    monkeypatch.setenv("MANGROVE_CACHE", str(tmp_path / "indexes"))


@pytest.fixture
def db(tmp_path):
    database = airports(tmp_path / "air.mg")
    yield database
    database.close()


@pytest.fixture
def empty(tmp_path):
    database = mg.open(tmp_path / "empty.mg")
    yield database
    database.close()
