"""Edges that have a time stand in its order, and are found by it."""

from datetime import datetime, timedelta, timezone

import pytest

import mangrovedb as mg

LATEST = "order().by('since', desc).limit({}).values('n')"
START = datetime(2020, 1, 1, tzinfo=timezone.utc)
PREDICATES = {
    "int": ["500", "gte(2990)", "lt(20)", "between(700, 720)", "inside(-5, 3)", "within(1, 2500, 9999)", "neq(3)", "gt(10.5).and(lt(11.5))",
            "gt('text')", "outside(5, 2994)", "P.not(lt(2995))"],
    "datetime": ["datetime('2020-01-01T00:08:20Z')", "gte(datetime('2020-01-01T00:49:50Z'))", "lt(datetime('2020-01-01T00:00:20Z'))",
                 "between(datetime('2020-01-01T00:11:40Z'), datetime('2020-01-01T00:12:00Z'))", "gt(3)"],
}


def load(path, kind, **options):
    """Vertex 0 knows vertex 0 to 99 in turn, later ones first; every fifth edge has no time."""
    db = mg.open(path, seal_mb=0)
    time = (lambda i: i) if kind == "int" else (lambda i: START + timedelta(seconds=i))
    edges = [{"from": 0, "to": i % 100, "n": i, "since": None if i % 5 == 3 else time(i)} for i in reversed(range(3000))]
    db.load(nodes={"person": [{"id": i} for i in range(100)]}, edges={("person", "knows", "person"): edges}, edge_time="since", **options)
    return db


def windows(db, kind):
    """What every predicate finds, which has to be the same without the rule; the whole of it for comparison."""
    found = []
    for direction, start in (("out", 0), ("in", 0), ("in", 7), ("both", 0)):
        whole = f"g.V({start}).{direction}E('knows')"
        for edges in (whole, *(f"{whole}.has('since', {predicate})" for predicate in PREDICATES[kind])):
            for rest in ("values('n')", "count()", "limit(3).values('n')", "otherV().id()", *map(LATEST.format, (1, 4, 130, 2500))):
                answer = db.query(f"{edges}.{rest}").to_list()
                assert answer == db.query(f"{edges}.{rest}", rules_off=["edge-filters", "latest"]).to_list(), (edges, rest)
                found.append(answer)
    return found


@pytest.mark.parametrize("kind", ["int", "datetime"])
def test_windows_of_time_are_those_of_a_filter(tmp_path, kind):
    with load(tmp_path / "hot.mg", kind, compact=False) as db:
        loaded = windows(db, kind)
        assert any(loaded)
    with load(tmp_path / "sealed.mg", kind, compact=True) as db:
        assert len(db.stats()["segments"]) == 1
        assert windows(db, kind) == loaded
        # Some go, and others come before, among and after those that are sealed.
        for n in (-3, 11, 705, 705, 2995, 5000):
            time = n if kind == "int" else START + timedelta(seconds=n)
            db.query("g.V(0).addE('knows').to(__.V(7)).property('since', time).property('n', n)", time=time, n=n)
        db.query("g.V(0).outE('knows').has('n', within(11, 700, 2992, 2994)).drop()")
        changed = windows(db, kind)
        assert changed != loaded
        db.compact()
        assert windows(db, kind) == changed
        assert db.check() == []


def test_the_latest_are_found_from_the_end(tmp_path):
    with load(tmp_path / "sealed.mg", "int", compact=True) as db:
        text = "g.V(0).outE('knows').order().by('since', desc).limit(3)"
        assert db.query(text + ".values('since')").to_list() == [2999, 2997, 2996]
        # No others are read: of 2,400 edges with a time the hop gives these.
        hop = db.profile(text).to_dict()["steps"][1]
        assert "the 3 of each with the greatest since at least" in hop["step"] and hop["traversers"] == 3


def test_a_window_is_read_by_the_hop(tmp_path):
    with load(tmp_path / "g.mg", "int") as db:
        steps = db.explain("g.V(0).outE('knows').has('since', between(5, 9)).has('n', gt(2)).inV()").to_dict()["steps"]
        assert [step["step"].split("(")[0] for step in steps] == ["Scan", "Hop", "Has", "End"]
        assert "since" in steps[1]["step"] and "since" not in steps[2]["step"]
        counted = db.explain("g.V(0).outE('knows').has('since', gt(5)).count()").to_dict()["steps"]
        assert any(step["step"].startswith("Degree(Out, knows, since > 5") for step in counted)
        # Of a key that orders nothing the filter stays one.
        plain = db.explain("g.V(0).outE('knows').has('n', gt(5))").to_dict()["steps"]
        assert plain[-1]["step"].startswith("Has")


def test_the_time_of_an_edge_is_given_with_it_and_stays(tmp_path):
    with load(tmp_path / "g.mg", "int") as db:
        edge = "g.V(0).outE('knows').has('n', 500)"
        for change in ("property('since', 501)", "properties('since').drop()", "property('since', 'then')"):
            with pytest.raises(mg.MangroveError, match="`since` is the time edges of knows are ordered by.*remove the edge"):
                db.query(f"{edge}.{change}").to_list()
        assert db.query(f"{edge}.property('since', 500).property('n', 1).values('n')").to_list() == [1]
        # Of several the last holds; what is no time can change.
        made = "g.V(0).addE('knows').to(__.V(1)).property('since', 7).property('since', 5000).values('since')"
        assert db.query(made).to_list() == [5000]
        db.query("g.V(0).addE('knows').to(__.V(1)).property('since', 'once').property('n', -1)")
        assert db.query("g.V(0).outE('knows').has('n', -1).property('since', 'then').values('since')").to_list() == ["then"]
        assert db.query("g.V(0).outE('knows').has('since', gte(2998)).values('since')").to_list() == [2999, 5000]
        assert db.query("g.V(0).outE('knows').has('since', 'then').values('n')").to_list() == [-1]
        assert db.check() == []


def test_a_map_of_properties_brings_the_time_with_it(tmp_path):
    with load(tmp_path / "g.mg", "int") as db:
        db.query("g.V(0).addE('knows').to(__.V(1)).property([since: 4000, n: 4000])")
        assert db.query("g.V(0).outE('knows').has('since', gt(3000)).values('n')").to_list() == [4000]


@pytest.mark.filterwarnings("ignore::mangrovedb.QueryWarning")
def test_times_of_several_types_load_and_come_back(tmp_path):
    """Dates beside date-times become those; integers beside dates stay what they are."""
    people = tmp_path / "people.csv"
    people.write_text("id\n" + "\n".join(map(str, range(4))))
    times = {"a": ["2020-05-01", "2020-04-01"], "b": ["2020-04-15T12:00:00Z"], "c": ["7"]}
    for name, values in times.items():
        (tmp_path / f"{name}.csv").write_text("from,to,since\n" + "".join(f"0,1,{value}\n" for value in values))
    for files, months in (("ab", [4, 4, 5]), ("ac", [None, 4, 5])):
        with mg.open(tmp_path / f"{files}.mg") as db:
            edges = {("p", "knows", "p"): [tmp_path / f"{name}.csv" for name in files]}
            db.load(nodes={"p": people}, edges=edges, edge_time="since")
            found = db.query("g.V(0).outE('knows').values('since')").to_list()
            assert [getattr(value, "month", None) for value in found] == months
            after = "g.V(0).outE('knows').has('since', gt(datetime('2020-04-10T00:00:00Z'))).count()"
            assert db.query(after).one() == (2 if files == "ab" else 1)
            assert db.check() == []
            out = tmp_path / f"{files}-out"
            db.export(out, format="csv")
        with mg.open(tmp_path / f"{files}-back.mg") as back:
            back.load(nodes={"p": out / "vertices_p.csv"}, edges={("p", "knows", "p"): out / "edges_knows.csv"}, edge_time="since")
            assert back.query("g.V(0).outE('knows').values('since')").to_list() == found


def test_a_time_at_the_end_of_the_calendar_comes_back(tmp_path):
    end = datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone.utc)
    with mg.open(tmp_path / "g.mg") as db:
        edges = {("p", "knows", "p"): [{"from": 0, "to": 0, "until": end}]}
        db.load(nodes={"p": [{"id": 0}]}, edges=edges, edge_time="until")
        for format in ("csv", "graphson"):
            db.export(tmp_path / format, format=format)
            with mg.open(tmp_path / f"{format}.mg") as back:
                back.load(tmp_path / format, edge_time="until")
                assert back.query("g.V(0).outE().has('until', end).values('until')", end=end).to_list() == [end]


def test_a_text_where_a_time_should_be_is_told_with_its_line(tmp_path):
    (tmp_path / "p.csv").write_text("id\n0\n1\n")
    (tmp_path / "e.csv").write_text("from,to,since\n0,1,\n1,0,last year\n0,0,\n")
    tables = {"nodes": {"p": tmp_path / "p.csv"}, "edges": {("p", "knows", "p"): tmp_path / "e.csv"}}
    with mg.open(tmp_path / "g.mg") as db:
        with pytest.raises(mg.LoadError, match=r"e.csv:3:1: `last year` – no time \(column `since`\)"):
            db.load(**tables, edge_time="since")
        assert db.query("g.V().count()").one() == 0
        done = db.load(**tables, edge_time="since", on_error="skip", rejects=tmp_path / "bad.csv")
        assert done["edges"] == {"knows": 2}
        assert "last year" in (tmp_path / "bad.csv").read_text()


def test_a_time_that_no_edges_have_is_told_when_the_ingest_ends(tmp_path):
    knows = [{"from": 0, "to": 1, "since": 7}]
    with mg.open(tmp_path / "g.mg") as db:
        with pytest.raises(mg.LoadError, match="no edges have the column `sinse`.*there are: since"):
            with db.ingest(edge_time="sinse") as w:
                w.add_vertices("p", [{"id": 0}, {"id": 1}])
                w.add_edges(("p", "knows", "p"), knows)
        assert db.query("g.V().count()").one() == 0
        with db.ingest(edge_time="since") as w:  # of some edges it is enough
            w.add_vertices("p", [{"id": 0}, {"id": 1}])
            w.add_edges(("p", "likes", "p"), [{"from": 0, "to": 1}])
            w.add_edges(("p", "knows", "p"), knows)
        assert db.query("g.E().values('since')").to_list() == [7]
