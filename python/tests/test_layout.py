"""Orders of vertices: of loads, of databases that are written anew, and of exports."""

import json
import random
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mangrovedb as mg

COMMAND = Path(sys.executable).with_name("mangrove")
COMMUNITIES, SIZE = 30, 20


@pytest.fixture
def friends():
    """People of communities under shuffled ids, and who knows whom: mostly within a community."""
    rng = random.Random(3)
    ids = list(range(COMMUNITIES * SIZE))
    rng.shuffle(ids)
    edges = []
    for person in range(len(ids)):
        for _ in range(6):
            other = person // SIZE * SIZE + rng.randrange(SIZE) if rng.random() < 0.9 else rng.randrange(len(ids))
            edges.append({"from": ids[person], "to": ids[other], "since": rng.randrange(2000, 2030)})
    return [{"id": person, "name": f"p{person}"} for person in range(len(ids))], edges


def loaded(path, friends, **options):
    people, edges = friends
    db = mg.open(path)
    return db, db.load(nodes={"person": people}, edges={("person", "knows", "person"): edges}, **options)


def knows(db):
    return sorted(map(tuple, db.query("g.E().project('a', 'b', 'c').by(outV().id()).by(inV().id()).by('since').select(values)").to_list()))


def test_a_load_by_communities_puts_friends_together(tmp_path, friends):
    plain, _ = loaded(tmp_path / "plain", friends)
    ordered, report = loaded(tmp_path / "ordered", friends, layout="community")
    worth = report["layout"]
    assert worth["name"] == "community" and worth["after"]["cost"] < 0.3 * worth["before"]["cost"]
    assert worth["after"]["bits_per_edge"] < worth["before"]["bits_per_edge"]
    assert worth["after"]["blocks_per_list"] < worth["before"]["blocks_per_list"]
    assert ordered.stats()["layout"] == "community" and plain.stats()["layout"] is None
    assert ordered.layouts()["now"] == pytest.approx(worth["after"]) and plain.layouts()["now"] == pytest.approx(worth["before"])
    assert plain.layouts()["community"] == worth["after"]
    assert knows(ordered) == knows(plain) and ordered.check() == []
    # Vertices come in the order in which they lie.
    first = ordered.query("g.V().limit(20).id()").to_list()
    assert first != list(range(20)) and sorted(ordered.query("g.V().id()").to_list()) == list(range(COMMUNITIES * SIZE))
    for ties in "preferential", "overlap":
        _, report = loaded(tmp_path / ties, friends, layout="community", ties=ties)
        assert report["layout"]["after"]["cost"] < 0.4 * worth["before"]["cost"]


def planted(communities, size, shuffled):
    """A graph of communities as columns, with numbers in their order or shuffled."""
    rng, count = random.Random(8), communities * size
    ids = list(range(count))
    if shuffled:
        rng.shuffle(ids)
    ends = [(p, p // size * size + rng.randrange(size) if rng.random() < 0.9 else rng.randrange(count)) for p in range(count) for _ in range(10)]
    rng.shuffle(ends)
    people = pa.table({"id": list(range(count))})
    return people, pa.table({"from": [ids[a] for a, _ in ends], "to": [ids[b] for _, b in ends]})


@pytest.mark.parametrize("shuffled", [True, False])
def test_a_load_says_whether_another_order_would_pay(tmp_path, shuffled):
    people, knows = planted(220, 100, shuffled)
    db = mg.open(tmp_path / "people")
    report = db.load(nodes={"person": people}, edges={("person", "knows", "person"): knows}, compact=True)
    assert db.stats()["layout"] is None
    if not shuffled:
        assert "layout" not in report
        return
    tried = report["layout"]
    assert tried["name"] == "community" and 500 < tried["sample"] < 15_000
    assert tried["after"]["blocks_per_list"] < 0.5 * tried["before"]["blocks_per_list"]
    # The whole graph gains somewhat less.
    whole = db.layouts()
    gains = [after["blocks_per_list"] / before["blocks_per_list"] for before, after in ((tried["before"], tried["after"]), (whole["now"], whole["community"]))]
    assert gains[0] < gains[1] < gains[0] + 0.3


def test_the_command_says_whether_another_order_would_pay(tmp_path):
    people, knows = planted(220, 100, True)
    pq.write_table(people, tmp_path / "people.parquet")
    pq.write_table(knows, tmp_path / "knows.parquet")
    files = ["--nodes", f"person={tmp_path}/people.parquet", "--edges", f"person:knows:person={tmp_path}/knows.parquet"]
    done = subprocess.run([COMMAND, "load", tmp_path / "db", *files, "--compact", "yes", "-q"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "another order would probably pay: on a sample of" in done.stderr and "with --layout community" in done.stderr
    assert f"mangrove relayout {tmp_path}/db DEST" in done.stderr


def test_a_database_that_is_written_anew_is_the_same(tmp_path):
    db = mg.open(tmp_path / "db")
    db.declare_key("person", "name")
    db.declare_property("person", "mail", "string", unique=True)
    db.declare_property("person", "nick", "string", cardinality="set")
    db.declare_property("person", "age", "int", required=True)
    db.set_encoding("person", "mail", "searchable")
    with db.ingest(edge_time="since") as w:
        w.add_vertices("person", [{"name": name, "age": 1, "mail": name} for name in "xy"], key="name")
        w.add_edges("knows", [{"from": "x", "to": "y", "since": 1}])
    db.query("g.V('x', 'y').drop()")
    with db.transaction() as tx:
        for name, age in (("ada", 36), ("ben", 7), ("cleo", 39)):
            tx.query("g.addV('person').property('name', n).property('age', a).property('mail', m)", n=name, a=age, m=f"{name}@x.org")
        tx.query("g.V('ada').property(set, 'nick', 'a', 'source', 'school').property(set, 'nick', 'aa')")
        tx.query("g.addV('city').property('name', 'Ulm').property('size', null)")
        tx.query("g.V('ada').addE('knows').to(__.V('ben')).property('since', 3).property('how', 'well')")
        tx.query("g.V('ada').addE('knows').to(__.V('cleo')).property('since', 1).property(T.id, 'e1')")
        tx.query("g.V('cleo').addE('knows').to(__.V('ben')).property('since', null)")
        tx.query("g.V('ben').addE('lives').to(__.V().hasLabel('city'))")
    db.create_index("person", "age")
    city = db.query("g.V().hasLabel('city').id()").one()
    before = db.schema()
    report = db.relayout(tmp_path / "new", "degree", progress=False)
    assert report["vertices"] == {"person": 3, "city": 1} and report["edges"] == {"knows": 3, "lives": 1}
    with mg.open(tmp_path / "new") as new:
        assert new.schema() == before and new.check() == [] and new.stats()["layout"] == "degree"
        assert new.query("g.V().hasLabel('city').id()").one() == city, "vertices keep their ids, generated ones too"
        assert new.query("g.V('ada').out('knows').id()").to_list() == ["cleo", "ben"], "edges are ordered by time"
        assert new.query("g.E('e1').inV().id()").one() == "cleo"
        assert new.query("g.V('cleo').outE('knows').valueMap()").one() == db.query("g.V('cleo').outE('knows').valueMap()").one() == {"since": None}
        assert new.query("g.V('ada').properties('nick').has('source', 'school').value()").one() == "a"
        assert new.query("g.V('ada').outE('knows').has('how', 'well').values('since')").one() == 3
        assert new.query("g.V().has('size').count()").one() == db.query("g.V().has('size').count()").one()
        assert new.query("g.V().has('person', 'age', gt(30)).id().order()").to_list() == ["ada", "cleo"]
        with pytest.raises(mg.MangroveError, match="ada@x.org"):
            new.query("g.addV('person').property('name', 'x').property('age', 1).property('mail', 'ada@x.org')")
        new.query("g.addV('person').property('name', 'dan').property('age', 1)")
        assert new.query("g.V().hasLabel('person').count()").one() == 4


def test_others_read_and_write_while_a_database_is_written_anew(tmp_path, friends):
    db, _ = loaded(tmp_path / "db", friends)
    done, counted = threading.Event(), []

    def read():
        while not done.is_set():
            counted.append(db.query("g.V().hasLabel('person').count()").one())

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for turn in range(4):
            db.query("g.addV('late').property('turn', t)", t=turn)
            db.relayout(tmp_path / f"new{turn}", progress=False)
    finally:
        done.set()
        reader.join()
    assert counted and set(counted) == {COMMUNITIES * SIZE}
    for turn in range(4):
        with mg.open(tmp_path / f"new{turn}", read_only=True) as new:
            assert new.query("g.V().hasLabel('late').count()").one() == turn + 1 and knows(new) == knows(db)


def test_a_degraded_order_is_mended(tmp_path, friends):
    db, report = loaded(tmp_path / "db", friends, layout="community")
    good = report["layout"]["after"]["cost"]
    rng = random.Random(5)
    # New people lie at the end, far from their friends.
    with db.transaction() as tx:
        for person in range(1000, 1200):
            tx.query("g.addV('person').property(T.id, p).as('p').V(friends).addE('knows').from('p')", p=person, friends=rng.sample(range(600), 3))
    before = db.layouts()
    assert before["now"]["cost"] > 2 * good and db.stats()["layout"] == "community"
    report = db.relayout(tmp_path / "new", progress=False)
    assert report["layout"]["before"] == pytest.approx(before["now"]) and report["layout"]["after"]["cost"] < 0.6 * before["now"]["cost"]


@pytest.mark.parametrize("format", ["csv", "parquet", "graphson", "graphml", "graphar"])
def test_files_have_the_order_of_a_layout(tmp_path, friends, format):
    db, _ = loaded(tmp_path / "db", friends)
    db.export(tmp_path / "files", format, layout="bfs")
    copy = mg.open(tmp_path / "copy")
    copy.load_lake(tmp_path / "files" / "files.graph.yml") if format == "graphar" else copy.load(tmp_path / "files")
    assert knows(copy) == knows(db)
    order = copy.query("g.V().id()").to_list()
    db.relayout(tmp_path / "new", "bfs", progress=False)
    assert order == mg.open(tmp_path / "new").query("g.V().id()").to_list() != sorted(order)


def test_what_cannot_be_ordered_is_refused(tmp_path, friends):
    db, _ = loaded(tmp_path / "db", friends)
    with pytest.raises(mg.MangroveError, match="the database is not empty. Load first, and then write it anew with relayout"):
        db.load(nodes={"x": [{"id": 1}]}, layout="community")
    assert db.query("g.V().hasLabel('x').count()").one() == 0
    with pytest.raises(mg.MangroveError, match="not to be compacted"):
        loaded(tmp_path / "other", friends, layout="community", compact=False)
    with pytest.raises(ValueError, match="layout must be one of none, community, partition, degree, bfs, not \"best\""):
        db.relayout(tmp_path / "new", "best")
    with pytest.raises(ValueError, match="ties must be one of uniform, preferential, overlap"):
        db.relayout(tmp_path / "new", ties="strong")
    with pytest.raises(ValueError, match='ties is for layout="community"'):
        db.relayout(tmp_path / "new", "bfs", ties="overlap")
    with pytest.raises(mg.MangroveError, match="a new layout is written to a directory"):
        db.relayout(":memory:")
    db.relayout(tmp_path / "new", progress=False)
    with pytest.raises(mg.MangroveError, match="the database is not empty. Name a new or empty directory"):
        db.relayout(tmp_path / "new")
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "mine.txt").write_text("mine")
    with pytest.raises(mg.OpenError):
        db.relayout(tmp_path / "files")
    assert (tmp_path / "files" / "mine.txt").read_text() == "mine"
    empty = mg.open(tmp_path / "empty")
    assert empty.relayout(tmp_path / "empty2", progress=False)["layout"]["after"]["cost"] == 0


def test_progress_can_stop_it_and_nothing_is_left(tmp_path, friends):
    db, _ = loaded(tmp_path / "db", friends)

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        db.relayout(tmp_path / "new", progress=stop)
    assert not (tmp_path / "new").exists()
    (tmp_path / "empty").mkdir()
    with pytest.raises(KeyboardInterrupt):
        db.relayout(tmp_path / "empty", progress=stop)
    assert list((tmp_path / "empty").iterdir()) == []


def test_ids_that_look_generated_stay_those_of_the_files(tmp_path):
    people = [{"~id": f"#0:{number}"} for number in (0, 2, 3, 1)]
    edges = [{"from": "#0:0", "to": "#0:3"}, {"from": "#0:2", "to": "#0:1"}]
    db, _ = loaded(tmp_path / "db", ([], []))
    db.load(nodes={"v": people}, edges={("v", "e", "v"): edges}, layout="degree")
    found = db.query("g.E().project('a', 'b').by(outV().id()).by(inV().id()).select(values)").to_list()
    assert sorted(found) == [["#0:0", "#0:3"], ["#0:2", "#0:1"]]


def test_a_lake_is_written_to_a_database_with_its_times(tmp_path, friends):
    people, edges = friends
    db = mg.open(tmp_path / "db")
    db.load(nodes={"person": people}, edges={("person", "knows", "person"): edges}, edge_time="since")
    db.export(tmp_path / "lake", "graphar")
    mg.open_lake(tmp_path / "lake" / "lake.graph.yml").relayout(tmp_path / "new", progress=False)
    with mg.open(tmp_path / "new") as new:
        assert knows(new) == knows(db) and new.schema()["edges"] == db.schema()["edges"]
        times = new.query("g.V(p).outE().values('since')", p=people[0]["id"]).to_list()
        assert times == sorted(times) != []


def command(*arguments):
    ran = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True)
    return ran.returncode, ran.stdout, ran.stderr


def test_the_command_line_orders_too(tmp_path, friends):
    db, _ = loaded(tmp_path / "db", friends)
    db.export(tmp_path / "files")
    db.close()
    code, _, err = command("load", tmp_path / "ordered", tmp_path / "files", "--layout", "community", "--ties", "overlap")
    assert code == 0 and "layout community: neighbours are " in err, err
    code, _, err = command("relayout", tmp_path / "db", tmp_path / "new")
    assert code == 0 and "wrote 600 vertices and 3,600 edges to" in err and "layout community" in err, err
    code, out, err = command("stats", tmp_path / "new")
    assert code == 0 and "layout: community, at the load" in out and "(now)" in out and "blocks/list" in out, err
    code, out, _ = command("stats", tmp_path / "db", "--format", "json")
    layout = json.loads(out)["layout"]
    assert layout["name"] is None and layout["measures"]["community"]["bitsPerEdge"] < layout["measures"]["now"]["bitsPerEdge"]
    code, _, err = command("load", tmp_path / "x", tmp_path / "files", "--ties", "overlap")
    assert code == 2 and "--ties is for --layout community" in err
    code, _, err = command("export", tmp_path / "db", tmp_path / "out", "--layout", "degree")
    assert code == 0, err


def test_stats_measures_other_layouts_of_large_graphs_only_if_asked(tmp_path):
    rng = random.Random(2)
    ids = range(20_001)
    edges = [{"from": at, "to": (at + rng.randrange(40)) % 20_001} for at in ids for _ in range(9)]
    with mg.open(tmp_path / "db") as db:
        db.load(nodes={"v": [{"id": at} for at in ids]}, edges={("v", "e", "v"): edges}, progress=False)
    code, out, _ = command("stats", tmp_path / "db")
    assert code == 0 and "(now)" in out and "community" not in out and "--layouts measures what others would give" in out
    code, out, _ = command("stats", tmp_path / "db", "--layouts")
    assert code == 0 and "(now)" in out and "community" in out and "--layouts" not in out
