"""Edges that have a time stand in its order, and are found by it."""

import json
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
            with pytest.raises(mg.MangroveError, match="`since` is the time that orders knows edges.*remove the edge"):
                db.query(f"{edge}.{change}").to_list()
        assert db.query(f"{edge}.property('since', 500).property('n', 1).values('n')").to_list() == [1]
        # Of several the last holds.
        made = "g.V(0).addE('knows').to(__.V(1)).property('since', 7).property('since', 5000).values('since')"
        assert db.query(made).to_list() == [5000]
        # What is no time cannot be one, neither with the edge nor later; none at all can.
        with pytest.raises(mg.MangroveError, match="the time of a knows edge must be an integer, a date or a date-time, not the string once"):
            db.query("g.V(0).addE('knows').to(__.V(1)).property('since', 'once')")
        db.query("g.V(0).addE('knows').to(__.V(1)).property('n', -1)")
        with pytest.raises(mg.MangroveError, match="`since` is the time"):
            db.query("g.V(0).outE('knows').has('n', -1).property('since', 'then')")
        assert db.query("g.V(0).outE('knows').has('since', gte(2998)).values('since')").to_list() == [2999, 5000]
        assert db.query("g.V(0).outE('knows').has('n', -1).values('since')").to_list() == []
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


NO_TIME = r"not a time, which is an integer, a date or a date-time \(column `since`\)"


@pytest.mark.parametrize("bad", ["last year", "7.5", "007", "2020-13-01", "true"])
@pytest.mark.parametrize("row", [0, 3, 40_000])
def test_what_is_no_time_is_a_bad_row_and_others_are_loaded(tmp_path, bad, row):
    """Wherever it stands: in the sample the types of columns are found by, at its beginning, or beyond."""
    times = [str(at) for at in range(50_000)]
    times[row] = bad
    (tmp_path / "p.csv").write_text("id\n0\n1\n")
    (tmp_path / "e.csv").write_text("from,to,since\n" + "".join(f"0,1,{time}\n" for time in times))
    tables = {"nodes": {"p": tmp_path / "p.csv"}, "edges": {("p", "knows", "p"): tmp_path / "e.csv"}, "edge_time": "since"}
    with mg.open(tmp_path / "g.mg") as db:
        with pytest.raises(mg.LoadError, match=f"e.csv:{row + 2}:5: `{bad}` – {NO_TIME}"):
            db.load(**tables)
        assert db.query("g.V().count()").one() == 0
        done = db.load(**tables, on_error="skip", rejects=tmp_path / "bad.csv")
        assert (done["edges"], done["rejects"]) == ({"knows": 49_999}, 1)
        assert bad in (tmp_path / "bad.csv").read_text()
        assert db.query("g.V(0).outE('knows').values('since')").to_list() == [at for at in range(50_000) if at != row]


def test_times_of_several_types_may_stand_in_one_file(tmp_path):
    (tmp_path / "p.csv").write_text("id\n0\n1\n")
    (tmp_path / "e.csv").write_text("from,to,since\n0,1,2020-01-02\n0,1,\n0,1,7\n0,1,2020-01-01T12:00:00Z\n")
    with mg.open(tmp_path / "g.mg") as db:
        db.load(nodes={"p": tmp_path / "p.csv"}, edges={("p", "knows", "p"): tmp_path / "e.csv"}, edge_time="since")
        found = db.query("g.V(0).outE('knows').valueMap('since')").to_list()
        assert [str(edge.get("since", ""))[:10] for edge in found] == ["", "7", "2020-01-01", "2020-01-02"]


@pytest.mark.parametrize("bad", ["soon", 2.5, [7], 2**70])
def test_values_that_are_no_times_are_bad_rows(tmp_path, bad):
    edges = [{"from": 0, "to": 1, "since": since} for since in (5, None, bad, 3)]
    people = [{"id": 0}, {"id": 1}]
    lines = tmp_path / "knows.jsonl"
    lines.write_text("".join(json.dumps(edge) + "\n" for edge in edges))
    for table, place in ((edges, "row 3"), (lines, "knows.jsonl:3")):
        with mg.open(tmp_path / f"{place[:3]}.mg") as db:
            tables = {"nodes": {"p": people}, "edges": {("p", "knows", "p"): table}, "edge_time": "since"}
            with pytest.raises(mg.LoadError, match=f"{place}.*{NO_TIME}"):
                db.load(**tables)
            assert db.load(**tables, on_error="skip", rejects=tmp_path / "bad.csv")["edges"] == {"knows": 3}
            assert db.query("g.V(0).outE('knows').values('since')").to_list() == [3, 5]
    with mg.open(tmp_path / "ingested.mg") as db:
        with pytest.raises(mg.LoadError, match=f"row 3.*{NO_TIME}"), db.ingest(edge_time="since") as w:
            w.add_vertices("p", people)
            w.add_edges(("p", "knows", "p"), edges)
        assert db.query("g.V().count()").one() == 0


def test_whole_doubles_are_the_integers_they_are(tmp_path):
    """As pandas keeps integers of which some are missing."""
    pd = pytest.importorskip("pandas")
    knows = pd.DataFrame({"from": [0, 0, 0], "to": [1, 1, 1], "since": [7, None, 5]})
    assert knows["since"].dtype == "float64"
    with mg.open(tmp_path / "g.mg") as db:
        db.load(nodes={"p": [{"id": 0}, {"id": 1}]}, edges={("p", "knows", "p"): knows}, edge_time="since")
        found = db.query("g.V(0).outE('knows').values('since')").to_list()
        assert found == [5, 7] and {type(time) for time in found} == {int}


def test_a_column_that_cannot_be_of_times_is_refused(tmp_path):
    (tmp_path / "p.csv").write_text("id\n0\n1\n")
    (tmp_path / "e.csv").write_text("from,to,since:string\n0,1,7\n")
    (tmp_path / "load.yaml").write_text("nodes: [{file: p.csv, label: p}]\nedges: [{file: e.csv, label: knows, time: sinse}]\n")
    with mg.open(tmp_path / "g.mg") as db:
        with pytest.raises(mg.LoadError, match="e.csv: the column `since` has the type string.*as in `since:long`"):
            db.load(nodes={"p": tmp_path / "p.csv"}, edges={("p", "knows", "p"): tmp_path / "e.csv"}, edge_time="since")
        with pytest.raises(mg.LoadError, match="e.csv: the mapping says that `sinse` is the time of the edges, but the table has no such property"):
            db.load(mapping=tmp_path / "load.yaml")
        assert db.query("g.V().count()").one() == 0


def test_a_time_that_no_edges_have_is_told_when_the_ingest_ends(tmp_path):
    knows = [{"from": 0, "to": 1, "since": 7}]
    with mg.open(tmp_path / "g.mg") as db:
        with pytest.raises(mg.LoadError, match="no table of edges has the column `sinse`.*the columns are: since"):
            with db.ingest(edge_time="sinse") as w:
                w.add_vertices("p", [{"id": 0}, {"id": 1}])
                w.add_edges(("p", "knows", "p"), knows)
        assert db.query("g.V().count()").one() == 0
        with db.ingest(edge_time="since") as w:  # of some edges it is enough
            w.add_vertices("p", [{"id": 0}, {"id": 1}])
            w.add_edges(("p", "likes", "p"), [{"from": 0, "to": 1}])
            w.add_edges(("p", "knows", "p"), knows)
        assert db.query("g.E().values('since')").to_list() == [7]
        with pytest.raises(mg.LoadError, match="no table of edges has the column `sinse`"):
            with db.ingest(edge_time="sinse") as w:
                w.add_vertices("q", [{"id": "there"}])
                w.commit()  # what is committed stays
                w.add_edges(("p", "sees", "p"), knows)
        assert db.query("g.V().hasLabel('q').count()").one() == 1
        assert db.schema()["edges"].keys() == {"likes", "knows"}


def test_a_time_that_comes_late_in_json_lines_is_one(tmp_path):
    """Beyond the lines a table's columns are told by."""
    (tmp_path / "p.csv").write_text("id\n0\n1\n")
    edges = [{"from": 0, "to": 1, "n": at} | ({"since": 2000 - at} if at >= 1500 else {}) for at in range(1600)]
    (tmp_path / "e.jsonl").write_text("".join(json.dumps(edge) + "\n" for edge in edges))
    (tmp_path / "load.yaml").write_text("nodes: [{file: p.csv, label: p}]\nedges: [{file: e.jsonl, label: knows, time: since}]\n")
    with mg.open(tmp_path / "g.mg") as db:
        db.load(mapping=tmp_path / "load.yaml")
        assert db.query("g.V(0).outE('knows').values('n')").to_list() == [*range(1500), *reversed(range(1500, 1600))]
