"""Graphs in open files: GraphAr directories, queried in place on this machine and in object stores."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stores import s3, server, uploaded

import mangrovedb as mg

QUERIES = [
    "g.V().count()",
    "g.E().groupCount().by(label)",
    "g.V().hasLabel('person').order().by('age').by('name').limit(5).valueMap('name', 'age')",
    "g.V().has('person', 'id', 7).out('knows').values('name').order()",
    "g.V().has('person', 'id', 7).in('knows').id().order()",
    "g.V().has('person', 'age', gt(40)).count()",
    "g.E().hasLabel('knows').has('since', lt(1990)).values('since').sum()",
    "g.V().has('person', 'id', 3).outE('knows').has('since', gte(1980)).inV().id().order()",
    "g.V().hasLabel('person').out('lives').groupCount().by('id')",
    "g.V().hasLabel('young').count()",
    "g.V().hasLabel('ein Körper').id()",
    "g.V().has('place', 'id', 'x2').in('lives').out('knows').dedup().count()",
    "g.V().hasLabel('person').group().by(bothE('knows').count()).by(count())",
    "g.V().has('person', 'id', within(1, 2, 3)).repeat(out('knows')).times(2).dedup().count()",
]


def filled(path):
    db = mg.open(path)
    with db.ingest() as w:
        people = [{"id": n, "name": f"p{n}" if n % 5 else None, "age": n * 7 % 90} for n in range(300)]
        w.add_vertices("person", people)
        w.add_vertices("place", [{"id": f"x{n}"} for n in range(5)])
        w.add_vertices("ein Körper", [{"id": "k"}])
        w.add_edges("knows", [{"from": n * 13 % 300, "to": n * n % 300, "since": 1950 + n % 70} for n in range(3000)])
        w.add_edges("lives", [{"from": n, "to": f"x{n % 4}"} for n in range(0, 300, 2)])
    db.query("g.V().hasLabel('person').has('age', lt(20)).addLabel('young')").to_list()
    return db


@pytest.fixture
def db(tmp_path):
    return filled(tmp_path / "db")


def exported(db, directory, **options):
    db.export(directory, "graphar", **options)
    return str(directory / f"{directory.name}.graph.yml")


def answers(db):
    return [db.query(query).to_list() for query in QUERIES]


@pytest.mark.parametrize("options", [{}, {"vertex_chunk": 64, "edge_chunk": 100}])
def test_files_answer_as_the_database_does(db, tmp_path, options):
    lake = mg.open_lake(exported(db, tmp_path / "lake", **options))
    assert answers(lake) == answers(db)
    assert lake.check() == []
    assert lake.stats()["disk_bytes"] > 1000
    assert "young" in str(lake.schema())
    copy = tmp_path / "copy"
    assert lake.export(copy, "graphar", **options) == {"vertices": 306, "edges": 3150}
    assert answers(mg.open_lake(copy / "copy.graph.yml")) == answers(db)


@pytest.mark.parametrize("seen", [0, 1])
def test_a_lake_is_loaded_with_all_it_holds(db, tmp_path, seen):
    file = exported(db, tmp_path / "lake", vertex_chunk=64, edge_chunk=100)
    copy = mg.open(tmp_path / "copy")
    if seen:  # a database with other data takes it, too
        copy.query("g.addV('other')").to_list()
    report = copy.load_lake(file)
    assert (report["vertices"], report["edges"]) == ({"person": 300, "place": 5, "ein Körper": 1}, {"knows": 3000, "lives": 150})
    if seen:
        copy.query("g.V().hasLabel('other').drop()").to_list()
    assert answers(copy) == answers(db)
    assert copy.schema()["vertices"]["person"] == db.schema()["vertices"]["person"]
    assert copy.check() == []
    with pytest.raises(mg.MangroveError, match="already"):
        copy.load_lake(file)
    assert answers(copy) == answers(db), "a load that fails changes nothing"


def test_groups_have_their_own_files_and_lists_are_chosen(db, tmp_path):
    file = exported(db, tmp_path / "lake", groups=[["name", "since"], ["age"]], lists=["unordered_by_dest", "ordered_by_source"])
    folders = {path.name for path in (tmp_path / "lake/vertex/person").iterdir() if path.is_dir()}
    assert folders == {"properties", "name", "age", "labels"}
    assert pq.read_schema(tmp_path / "lake/vertex/person/age/chunk0").names == ["_graphArVertexIndex", "age"]
    edges = tmp_path / "lake/edge/person_knows_person"
    assert {path.name for path in edges.iterdir()} == {"unordered_by_dest", "ordered_by_source"}
    assert (edges / "ordered_by_source/offset").exists() and not (edges / "unordered_by_dest/offset").exists()
    assert answers(mg.open_lake(file)) == answers(db)
    for call, message in [
        ({"groups": [["nam"]]}, "a group names `nam`, but the graph has no such property"),
        ({"groups": [["name"], ["age", "name"]]}, "two groups name `name`"),
        ({"lists": []}, "name at least one list"),
        ({"groups": [["_graphArVertexIndex"]]}, "has no such property"),
        ({"lists": ["ordered_by_source"] * 2}, "each once"),
        ({"lists": ["by_source"]}, "must be one of ordered_by_source"),
    ]:
        with pytest.raises((mg.MangroveError, ValueError), match=message):
            db.export(tmp_path / "none", "graphar", **call)
    assert not (tmp_path / "none").exists()


def test_names_of_the_formats_own_files_and_columns_are_no_trouble(tmp_path):
    db = mg.open(tmp_path / "db")
    db.query("g.addV('v').property('vertex_count', 1).property('edge_count0', 2).property('labels', 3)").to_list()
    file = exported(db, tmp_path / "lake", groups=[["vertex_count"], ["edge_count0"], ["labels"]])
    assert mg.open_lake(file).query("g.V().values('vertex_count', 'edge_count0', 'labels').sum()").one() == 6
    db.query("g.addV('v').property('_graphArVertexIndex', 5)").to_list()
    with pytest.raises(mg.MangroveError, match="`_graphArVertexIndex`, which is a column of GraphAr's own"):
        db.export(tmp_path / "other", "graphar")


def test_labels_of_a_store_are_read_together(tmp_path, server):
    address, handler = server
    db = mg.open(tmp_path / "db")
    db.load(nodes={"p": [{"id": n} for n in range(1000)]})
    db.query("g.V().has('p', 'id', lt(500)).addLabel('low')").to_list()
    db.query("g.V().has('p', 'id', gt(300)).addLabel('high')").to_list()
    exported(db, tmp_path / "lake", vertex_chunk=100)
    lake = mg.open_lake(f"{address}/lake/lake.graph.yml")
    handler.delay, began = 0.1, time.monotonic()
    assert lake.query("g.V().hasLabel('low').not(hasLabel('high')).count()").one() == 301
    assert time.monotonic() - began < 1.5, "ten files, each read on its own, would take two seconds"


LABEL_TESTS = [
    "hasLabel('a').hasLabel('b')",
    "not(hasLabel('b'))",
    "hasLabel('a').not(or(hasLabel('b'), hasLabel('c')))",
    "not(not(hasLabel('c')))",
    "or(hasLabel('b'), hasLabel('c')).not(hasLabel('a', 'd'))",
    "and(hasLabel('a'), not(hasLabel('d')))",
    "or(hasLabel('b'), not(hasLabel('a')))",
    "hasLabel('nobody').not(hasLabel('a'))",
    "hasLabel('p').has('n', lt(50)).not(hasLabel('c'))",
]


@pytest.mark.filterwarnings("ignore::mangrovedb.QueryWarning")
def test_tests_of_labels_answer_in_the_scan_as_they_do_one_by_one(tmp_path):
    db = mg.open(tmp_path / "db")
    db.load(nodes={"p": [{"id": n, "n": n} for n in range(200)]})
    for label, test in {"a": "lt(120)", "b": "between(60, 150)", "c": "gt(90)", "d": "lt(10)"}.items():
        db.query(f"g.V().has('p', 'n', {test}).addLabel('{label}')").to_list()
    lake = mg.open_lake(exported(db, tmp_path / "lake", vertex_chunk=64))
    db.create_index("p", "n")
    for test in LABEL_TESTS:
        expected = db.query(f"g.V().barrier().{test}.id().order()").to_list()
        for graph in (db, lake):
            assert graph.query(f"g.V().{test}.id().order()").to_list() == expected, test
            assert graph.query(f"g.V().{test}.count()").one() == len(expected), test
    assert "not b or c" in str(lake.explain("g.V().hasLabel('a').not(or(hasLabel('b'), hasLabel('c'))).count()"))


def test_generated_ids_stay_as_they_were(tmp_path):
    db = mg.open(tmp_path / "db")
    db.query("g.inject(1, 2, 3, 4).addV('n')").to_list()
    db.query("g.V('#0:1').drop()").to_list()
    copy = mg.open(tmp_path / "copy")
    copy.load_lake(exported(db, tmp_path / "lake"))
    assert copy.query("g.V().id().order()").to_list() == db.query("g.V().id().order()").to_list() == ["#0:0", "#0:2", "#0:3"]


def test_required_properties_stay_required(tmp_path):
    db = mg.open(tmp_path / "db")
    with db.ingest() as w:
        w.add_vertices("n", [{"id": 1, "name": "x"}])
    db.declare_property("n", "name", required=True)
    copy = mg.open(tmp_path / "copy")
    copy.load_lake(exported(db, tmp_path / "lake"))
    with pytest.raises(mg.ConstraintError):
        copy.query("g.addV('n').property('id', 2)").to_list()


def test_times_and_ids_of_edges_survive_a_load(tmp_path):
    db = mg.open(tmp_path / "db")
    with db.ingest(edge_time="at") as w:
        w.add_vertices("n", [{"id": n} for n in range(50)])
        w.add_edges("e", [{"from": n % 50, "to": n * 7 % 50, "at": 1000 - n, "w": n / 2} for n in range(400)])
    copy = mg.open(tmp_path / "copy")
    copy.load_lake(exported(db, tmp_path / "lake"))
    for query in ("g.V().outE('e').values('at').fold()", "g.V(3).outE('e').has('at', gt(700)).values('w').fold()"):
        assert copy.query(query).one() == db.query(query).one()


def test_others_read_the_files(db, tmp_path):
    exported(db, tmp_path / "lake")
    table = pq.read_table(tmp_path / "lake/vertex/person/properties/chunk0")
    assert table.column_names == ["_graphArVertexIndex", "id", "name", "age"]
    assert table["id"].to_pylist() == list(range(300)) and table["name"].null_count == 60
    topology = pq.ParquetFile(tmp_path / "lake/edge/person_knows_person/ordered_by_source/adj_list/part0/chunk0")
    assert "DELTA_BINARY_PACKED" in topology.metadata.row_group(0).column(1).encodings
    ends = topology.read().to_pylist()
    assert ends == sorted(ends, key=lambda edge: (edge["_graphArSrcIndex"], edge["_graphArDstIndex"])) and len(ends) == 3000
    labels = pq.ParquetFile(tmp_path / "lake/vertex/person/labels/chunk0")
    assert labels.schema_arrow.names == ["young"] and "RLE" in labels.metadata.row_group(0).column(0).encodings
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".part")]


def test_a_lake_is_read_and_never_written(db, tmp_path):
    lake = mg.open_lake(exported(db, tmp_path / "lake"))
    for write in (
        lambda: lake.query("g.addV('x')"),
        lambda: lake.ingest().__enter__(),
        lambda: lake.create_index("person", "age"),
        lambda: lake.compact(),
        lambda: lake.backup(tmp_path / "backup"),
    ):
        with pytest.raises(mg.MangroveError, match="read, never written|read-only|others may use"):
            write()
    assert answers(lake) == answers(db)


def test_the_command_reads_a_lake(db, tmp_path):
    file = exported(db, tmp_path / "lake")
    run = lambda *arguments: subprocess.run(
        [Path(sys.executable).parent / "mangrove", *arguments], capture_output=True, text=True, timeout=60
    )
    counted = run("query", file, "g.V().hasLabel('person').count()", "--format", "json")
    assert counted.stdout.strip() == "300", counted.stderr
    assert "SCAN" in run("query", file, "g.V().hasLabel('person').has('age', 7)", "--explain").stdout
    refused = run("query", file, "g.addV('x')")
    assert refused.returncode != 0 and "never written" in refused.stderr
    out = run("export", str(tmp_path / "db"), str(tmp_path / "again"), "--format", "graphar", "--vertex-chunk", "100")
    assert out.returncode == 0 and "again.graph.yml" in out.stderr, out.stderr
    again = tmp_path / "again/again.graph.yml"
    assert answers(mg.open_lake(again)) == answers(db)
    loaded = run("load", str(tmp_path / "new"), str(again), "--quiet")
    assert loaded.returncode == 0 and "306 vertices and 3,150 edges" in loaded.stderr, loaded.stderr
    assert answers(mg.open(tmp_path / "new")) == answers(db)
    refused = run("load", str(tmp_path / "newer"), str(again), "--key", "person:name")
    assert refused.returncode == 2 and "leave out all options but" in refused.stderr
    assert not (tmp_path / "newer").exists()


def test_what_the_format_cannot_hold_is_said_first(db, tmp_path):
    db.query("g.V().has('person', 'id', 1).property('mixed', 1)").to_list()
    db.query("g.V().has('person', 'id', 2).property('mixed', 'one')").to_list()
    with pytest.raises(mg.StorageError, match="`mixed` of vertices `person`.*\n.*lossy=True"):
        db.export(tmp_path / "lake", "graphar")
    assert not (tmp_path / "lake").exists()
    with pytest.warns(mg.QueryWarning, match="written as text"):
        db.export(tmp_path / "lake", "graphar", lossy=True)
    lake = mg.open_lake(tmp_path / "lake/lake.graph.yml")
    assert lake.query("g.V().has('mixed').values('mixed').order()").to_list() == ["1", "one"]
    with pytest.raises(ValueError, match='for the format "graphar"'):
        db.export(tmp_path / "csv", "csv", lossy=True)


def rewritten(path, old, new):
    path.write_text(path.read_text().replace(old, new))


# What is done to a directory, and the start of the error that names the file.
DAMAGE = {
    "bad yaml": (lambda at: (at / "person.vertex.yml").write_text("type: [person\n"), "person.vertex.yml:"),
    "a prefix that leads out": (
        lambda at: rewritten(at / "person.vertex.yml", "prefix: vertex/person/", "prefix: ../../etc/"),
        "person.vertex.yml:3:9: the prefix",
    ),
    "an absolute prefix": (
        lambda at: rewritten(at / "person.vertex.yml", "prefix: vertex/person/", "prefix: /etc/"),
        "person.vertex.yml:3:9: the prefix",
    ),
    "a file that leads out": (
        lambda at: rewritten(at / "lake.graph.yml", "- person.vertex.yml", "- ../person.vertex.yml"),
        "lake.graph.yml:3:5: `../person.vertex.yml` is not a file",
    ),
    "an unknown format": (
        lambda at: rewritten(at / "lake.graph.yml", "gar/v1", "gar/v9"),
        "lake.graph.yml:.*gar/v9 is not known",
    ),
    "a count of 7 bytes": (lambda at: (at / "vertex/person/vertex_count").write_bytes(b"1234567"), "person/vertex_count: it has 7"),
    "an enormous count": (
        lambda at: (at / "vertex/person/vertex_count").write_bytes(b"\xff" * 7 + b"\x7f"),
        "person.vertex.yml: 9223372036854775807 vertices",
    ),
    "a negative count": (lambda at: (at / "vertex/person/vertex_count").write_bytes(b"\xff" * 8), "-1 is no count"),
    "a count too large by one": (
        lambda at: (at / "vertex/person/vertex_count").write_bytes((301).to_bytes(8, "little")),
        "chunk0: it has 300 rows, not 301",
    ),
    "a missing chunk": (lambda at: (at / "vertex/person/properties/chunk0").unlink(), "properties/chunk0: there is no such file"),
    "an empty chunk": (lambda at: (at / "vertex/person/properties/chunk0").write_bytes(b""), "properties/chunk0: no Parquet file"),
    "a truncated chunk": (
        lambda at: (at / "vertex/person/properties/chunk0").write_bytes(
            (at / "vertex/person/properties/chunk0").read_bytes()[:-20]
        ),
        "properties/chunk0: no Parquet file",
    ),
    "noise in a page": (
        lambda at: (at / "vertex/person/properties/chunk0").write_bytes(
            noisy((at / "vertex/person/properties/chunk0").read_bytes())
        ),
        "properties/chunk0:",
    ),
    "columns of another type": (
        lambda at: rewritten(at / "person.vertex.yml", "data_type: string", "data_type: date"),
        "column `name` holds",
    ),
    "offsets of another part": (
        lambda at: shutil.copy(
            at / "edge/person_knows_person/ordered_by_source/adj_list/part0/chunk0",
            at / "edge/person_knows_person/ordered_by_source/offset/chunk0",
        ),
        "offset/chunk0: .* are no offsets",
    ),
}


def test_a_page_that_unpacks_to_gigabytes_is_refused(db, tmp_path):
    file = exported(db, tmp_path / "lake")
    chunk = tmp_path / "lake/vertex/person/properties/chunk0"
    rows = 1_000_000
    text = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), ["x" * 2000])
    columns = {"_graphArVertexIndex": range(rows), "id": range(rows), "name": text, "age": [1] * rows}
    pq.write_table(pa.table(columns), chunk, row_group_size=rows)
    (tmp_path / "lake/vertex/person/vertex_count").write_bytes(rows.to_bytes(8, "little"))
    rewritten(tmp_path / "lake/person.vertex.yml", "chunk_size: 262144", f"chunk_size: {rows}")
    lake = mg.open_lake(file)
    assert lake.query("g.V().hasLabel('person').count()").one() == rows
    with pytest.raises(mg.QueryError, match="properties/chunk0: a page unpacks to more than 512 MB"):
        lake.query("g.V().hasLabel('person').limit(1).values('name')").to_list()


def noisy(data):
    return data[:40] + bytes(b ^ 0x55 for b in data[40:400]) + data[400:]


@pytest.mark.parametrize("what", DAMAGE)
def test_damaged_files_give_an_error_that_names_them(db, tmp_path, what):
    damage, message = DAMAGE[what]
    file = exported(db, tmp_path / "lake")
    damage(tmp_path / "lake")
    with pytest.raises(mg.MangroveError, match=message):
        lake = mg.open_lake(file)
        problems = lake.check()
        lake.query("g.V().hasLabel('person').valueMap()").to_list()
        lake.query("g.V().hasLabel('person').both('knows').count()").to_list()
        assert not problems, problems
        raise mg.MangroveError("\n".join(problems))


def test_a_file_that_changes_ends_the_query(db, tmp_path):
    file = exported(db, tmp_path / "lake")
    lake = mg.open_lake(file)
    assert lake.query("g.V().hasLabel('person').values('age').max()").one() == 89
    chunk = tmp_path / "lake/vertex/person/properties/chunk0"
    os.utime(chunk, ns=(1, 1))
    with pytest.raises(mg.QueryError, match="chunk0 has changed since the graph was opened: call refresh"):
        lake.query("g.V().hasLabel('person').values('name').max()").one()
    assert mg.open_lake(file).query("g.V().hasLabel('person').values('name').count()").one() == 240


def test_a_lake_stays_where_it_was_opened(db, tmp_path, monkeypatch):
    exported(db, tmp_path / "lake")
    monkeypatch.chdir(tmp_path)
    lake = mg.open_lake("lake/lake.graph.yml")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert answers(lake) == answers(db)
    assert lake.check() == []


def test_check_reads_the_files_anew(db, tmp_path):
    lake = mg.open_lake(exported(db, tmp_path / "lake"))
    assert answers(lake) == answers(db) and lake.check() == []
    (tmp_path / "lake/edge/person_knows_person/ordered_by_dest/edge_count0").unlink()
    assert "ordered_by_dest/edge_count0: there is no such file" in "".join(lake.check())
    changed = filled(tmp_path / "changed")
    changed.query("g.V().has('person', 'id', 0).outE('lives').drop()").to_list()
    changed.query("g.V().has('person', 'id', 0).addE('lives').to(__.V().has('place', 'id', 'x3'))").to_list()
    mixed = tmp_path / "mixed"
    file = exported(changed, mixed)
    exported(db, tmp_path / "other")
    lists = "edge/person_lives_place/ordered_by_dest"
    shutil.rmtree(mixed / lists)
    shutil.copytree(tmp_path / "other" / lists, mixed / lists)
    assert mg.open_lake(file).check()[0].endswith("person_lives_place/: its lists hold different edges")


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda at: mg.open_lake(at / "lake"), "is a directory: name the file .*lake.graph.yml"),
        (lambda at: mg.open_lake(at / "db"), "is a directory: a graph in open files has a file NAME.graph.yml"),
        (lambda at: mg.open(at / "lake/lake.graph.yml"), "lake.graph.yml: a database is a directory on this machine; .*open_lake"),
        (lambda at: mg.open("s3://bucket/x"), "s3://bucket/x: a database is a directory on this machine"),
        (lambda at: mg.open(":memory:").load(at / "lake"), "lake.graph.yml describes a graph in open files: load_lake"),
        (lambda at: mg.open(":memory:").load(at / "lake/lake.graph.yml"), "describes a graph in open files: load_lake"),
        (lambda at: mg.open(at / "db").export("s3://bucket/x", "graphar"), "an export goes to a directory on this machine"),
        (lambda at: mg.open(at / "db").export(at / "file", "graphar"), "there is a file or a link of that name"),
        (lambda at: mg.open(at / "db").export(at / "lake", "graphar"), "the directory is not empty"),
        (lambda at: mg.open(at / "twins").export(at / "new", "graphar", lossy=True), "would both have the text 1 as their id"),
    ],
)
def test_what_a_user_most_likely_did_not_mean_is_refused(db, tmp_path, call, message):
    exported(db, tmp_path / "lake")
    (tmp_path / "file").write_text("x")
    with mg.open(tmp_path / "twins").ingest() as w:
        w.add_vertices("n", [{"id": 1}])
        w.add_vertices("n", [{"id": "1"}])
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(mg.MangroveError, match=message):
        call(tmp_path)
    assert sorted(os.listdir(tmp_path)) == before


def test_ids_that_are_unique_within_labels_need_such_a_database(tmp_path):
    db = mg.open(tmp_path / "db", id_space="label")
    with db.ingest() as w:
        w.add_vertices("a", [{"id": 1}])
        w.add_vertices("b", [{"id": 1}])
    file = exported(db, tmp_path / "lake")
    with pytest.raises(mg.LoadError, match='unique only within a label: create the database with id_space="label"'):
        mg.open(tmp_path / "graph").load_lake(file)
    copy = mg.open(tmp_path / "label", id_space="label")
    copy.load_lake(file)
    assert sorted(copy.query("g.V().id()").to_list()) == ["a/1", "b/1"]


def test_a_web_server_answers_in_few_requests(db, tmp_path, server):
    address, handler = server
    exported(db, tmp_path / "lake")
    lake = mg.open_lake(f"{address}/lake/lake.graph.yml")
    opened = len(handler.log)
    assert answers(lake) == answers(db)
    assert lake.check() == []
    handler.log.clear()
    assert answers(lake) == answers(db)
    assert not handler.log, "all pages are in memory"
    assert opened < 20


def test_pages_of_a_store_are_read_ahead(tmp_path, server):
    address, handler = server
    people = pa.table({"id": range(200_000)})
    friends = range(1, 200_000, 20)
    with mg.open(tmp_path / "db", durability="relaxed") as db:
        ends = pa.table({"src": [0] * len(friends), "dst": friends})
        db.load(nodes={"person": people}, edges={("person", "knows", "person"): ends}, progress=False)
        db.export(tmp_path / "lake", "graphar")
    lake = mg.open_lake(f"{address}/lake/lake.graph.yml")
    handler.log.clear()
    assert lake.query("g.V().has('person', 'id', 0).out('knows').values('id')").to_list() == list(friends)
    properties = [wanted for path, wanted in handler.log if path.endswith("properties/chunk0")]
    assert len(properties) <= 8, "10,000 neighbours come in batches, which lie on 49 pages"


def test_pages_of_a_store_are_kept_on_this_machine(db, tmp_path, server):
    address, handler = server
    exported(db, tmp_path / "lake")
    cache, pages = tmp_path / "cache", tmp_path / "cache/pages"

    def opened(**options):
        lake = mg.open_lake(f"{address}/lake/lake.graph.yml", cache=cache, **options)
        found = answers(lake)
        return found, [(path, wanted) for path, wanted in handler.log if not (wanted or "").startswith("bytes=-")]

    assert opened()[0] == answers(db)
    assert not pages.exists(), "only if somebody wants it"
    handler.log.clear()
    found, fetched = opened(pages_mb=10)
    assert (found, bool(fetched), pages.exists()) == (answers(db), True, True)
    handler.log.clear()
    assert opened(pages_mb=10) == (answers(db), [])
    if os.name == "posix":
        assert pages.stat().st_mode & 0o777 == 0o700
        assert {file.stat().st_mode & 0o777 for file in pages.rglob("*.mangrove-page")} == {0o600}
    for file in pages.rglob("*.mangrove-page"):
        file.write_bytes(file.read_bytes()[:-9] + b"damaged!!")
    handler.log.clear()
    assert opened(pages_mb=10) == (answers(db), fetched)
    # Another version of the files is another set of pages.
    shutil.rmtree(tmp_path / "lake")
    db.query("g.V().has('person', 'id', 7).out('knows').property('name', 'new')").to_list()
    exported(db, tmp_path / "lake")
    assert opened(pages_mb=10)[0] == answers(db)


def test_the_bound_of_kept_pages_must_be_a_number(db, tmp_path, monkeypatch):
    file = exported(db, tmp_path / "lake")
    monkeypatch.setenv("MANGROVE_PAGES_MB", "")
    mg.open_lake(file)
    monkeypatch.setenv("MANGROVE_PAGES_MB", "much")
    with pytest.raises(mg.OpenError, match="MANGROVE_PAGES_MB must be a number of megabytes"):
        mg.open_lake(file)


def test_a_store_that_hangs_or_fails_is_an_error(db, tmp_path, server):
    address, handler = server
    exported(db, tmp_path / "lake")
    lake = mg.open_lake(f"{address}/lake/lake.graph.yml")
    handler.delay = 3
    began = time.monotonic()
    with pytest.raises(mg.TimeoutError):
        lake.query("g.V().values('name')", timeout=0.3).to_list()
    assert time.monotonic() - began < 2.5
    handler.delay, handler.failing = 0, True
    with pytest.raises(mg.QueryError, match="chunk0: the store of files does not answer.*503"):
        lake.query("g.V().values('name')", timeout=60).to_list()
    handler.failing = False
    assert lake.query("g.V().values('name').count()").one() == 240
    with pytest.raises(mg.OpenError, match="nothing.graph.yml: there is no such file"):
        mg.open_lake(f"{address}/lake/nothing.graph.yml")


def test_an_s3_store_answers_as_the_database_does(db, tmp_path, s3):
    exported(db, tmp_path / "lake", vertex_chunk=64, edge_chunk=100)
    uploaded(s3, tmp_path / "lake", "some/lake")
    lake = mg.open_lake("s3://graphs/some/lake/lake.graph.yml")
    assert answers(lake) == answers(db)
    assert lake.check() == []
    assert lake.stats()["disk_bytes"] == sum(f.stat().st_size for f in (tmp_path / "lake").rglob("*") if f.is_file())
    fresh = mg.open_lake("s3://graphs/some/lake/lake.graph.yml")
    s3.put_object(Bucket="graphs", Key="some/lake/vertex/person/properties/chunk0", Body=b"something else")
    with pytest.raises(mg.QueryError, match="chunk0: no Parquet file"):
        fresh.query("g.V().hasLabel('person').values('name')").to_list()
    s3.delete_object(Bucket="graphs", Key="some/lake/vertex/person/properties/chunk0")
    with pytest.raises(mg.QueryError, match="chunk0: there is no such file"):
        fresh.query("g.V().hasLabel('person').values('name')").to_list()
    with pytest.raises(mg.OpenError, match="s3://graphs/none/lake.graph.yml: there is no such file"):
        mg.open_lake("s3://graphs/none/lake.graph.yml")


def test_an_s3_store_is_found_by_a_profile(db, tmp_path, s3, monkeypatch):
    exported(db, tmp_path / "lake")
    uploaded(s3, tmp_path / "lake", "lake")
    endpoint = os.environ["AWS_ENDPOINT_URL"]
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.delenv(name)
    (tmp_path / "config").write_text(f"[profile work]\nregion = us-east-1\nendpoint_url = {endpoint}\n")
    (tmp_path / "credentials").write_text("[work]\naws_access_key_id = key\naws_secret_access_key = secret\n")
    monkeypatch.setenv("AWS_PROFILE", "work")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    assert mg.open_lake("s3://graphs/lake/lake.graph.yml").query("g.V().count()").one() == 306


def test_addresses_that_are_none_are_refused():
    with pytest.raises(mg.OpenError, match="ftp://host/x.graph.yml|begin with s3://|ftp"):
        mg.open_lake("ftp://host/x.graph.yml")
    with pytest.raises(mg.OpenError, match="nowhere/x.graph.yml: there is no such file"):
        mg.open_lake("/nowhere/x.graph.yml")
