"""Loading files and tables, and batched ingest."""

import gzip
import json
import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import mangrovedb as mg

PEOPLE = [("ada", "Ada", 36), ("bob", "Bob", None), ("cyd", "Cyd", 51)]
NAMES = ["id", "name", "age"]


def people(db):
    return db.query("g.V().hasLabel('person').order().by(id).project('i', 'n', 'a').by(id).by('name').by(coalesce(values('age'), constant('none')))").to_list()


EXPECTED = [{"i": "ada", "n": "Ada", "a": 36}, {"i": "bob", "n": "Bob", "a": "none"}, {"i": "cyd", "n": "Cyd", "a": 51}]

TABLES = {
    "list of dicts": [{k: v for k, v in zip(NAMES, row) if v is not None} for row in PEOPLE],
    "list of dicts with None": [dict(zip(NAMES, row)) for row in PEOPLE],
    "dict of lists": dict(zip(NAMES, map(list, zip(*PEOPLE)))),
    "pyarrow": pa.table(dict(zip(NAMES, map(list, zip(*PEOPLE))))),
    "polars": pl.DataFrame(PEOPLE, schema=NAMES, orient="row"),
    "pandas": pd.DataFrame(PEOPLE, columns=NAMES).astype({"age": "Int64"}),
    "generator": (dict(zip(NAMES, row)) for row in PEOPLE),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
def test_ingest_takes_every_kind_of_table(empty, table):
    with empty.ingest() as w:
        assert w.add_vertices("person", table) == 3
    assert people(empty) == EXPECTED


@pytest.mark.parametrize("rows", [PEOPLE, [list(row) for row in PEOPLE], [np.array(row, dtype=object) for row in PEOPLE]])
def test_rows_without_names_need_columns(empty, rows):
    with empty.ingest() as w:
        with pytest.raises(TypeError, match="columns="):
            w.add_vertices("person", rows)
        w.add_vertices("person", rows, columns=NAMES)
    assert people(empty) == EXPECTED


def test_numpy_arrays(empty):
    with empty.ingest() as w:
        structured = np.array([(1, 0.5), (2, 1.5)], dtype=[("id", "i4"), ("weight", "f8")])
        w.add_vertices("thing", structured)
        w.add_edges("to", {"from": np.array([1, 2]), "to": np.array([2, 1]), "n": np.array([7, 8], dtype="u2")})
        with pytest.raises(TypeError, match="field names"):
            w.add_vertices("thing", np.zeros((2, 2)))
    assert sorted(empty.query("g.V().values('weight')")) == [0.5, 1.5]
    assert empty.query("g.V(1).outE().as('e').inV().id().as('i').select('e', 'i').by('n').by()").one() == {"e": 7, "i": 2}


def test_ids_and_ends_are_found_by_name_or_are_told(empty):
    with empty.ingest() as w:
        w.add_vertices("person", [{"born": 1815, "id": "x"}, {"born": 1791, "id": "y"}])
        with pytest.raises(mg.LoadError, match=r"none is called `id`; it has `code`, `name`.*key=\"code\" in add_vertices"):
            w.add_vertices("place", [("p", "Pisa")], columns=["code", "name"])
        w.add_vertices("place", [("p", "Pisa")], columns=["code", "name"], key="code")
        w.add_edges("knows", [{"since": 1833, "dst": "y", "src": "x"}])
        with pytest.warns(mg.QueryWarning, match="edges go from `who` to `where`"):
            w.add_edges(("person", "in", "place"), {"who": ["x"], "where": ["p"]})
            w.report()
        with pytest.raises(mg.LoadError, match="needs a source and a target column"):
            w.add_edges("in", {"who": ["x"], "where": ["p"], "since": [1]})
    assert empty.query("g.V('x').out('knows').id()").one() == "y"
    assert empty.query("g.V('x').out('in').values('name')").one() == "Pisa"


def test_types_of_a_column(empty):
    with empty.ingest() as w:
        w.add_vertices("t", [{"id": 1, "mixed": 1, "real": 1}, {"id": 2, "mixed": "one", "real": 2.5}, {"id": 3, "real": 3}])
        w.add_vertices("t", [{"id": 4, "flag": True, "list": [1, 2], "big": 2**70}])
    assert empty.query("g.V(1, 2).order().by(id).values('mixed')").to_list() == [1, "one"]
    assert empty.query("g.V(1, 2, 3).order().by(id).values('real')").to_list() == [1.0, 2.5, 3.0]
    assert empty.query("g.V(4).valueMap('flag', 'list', 'big').by(unfold().fold())").one()["big"] == [2**70]


def test_a_wrong_row_is_named(empty):
    with empty.ingest() as w:
        with pytest.raises(ValueError, match="row 1 has 1 fields, but columns names 2"):
            w.add_vertices("t", [(1, 2), (3,)], columns=["id", "n"])
        with pytest.raises(TypeError, match="row 1 is a tuple, but the first row is a dict"):
            w.add_vertices("t", [{"id": 1}, (2,)])
        with pytest.raises(ValueError, match="column n has 1 rows, but the first column has 2"):
            w.add_vertices("t", {"id": [1, 2], "n": [1]})
        with pytest.raises(TypeError, match="int is not a table"):
            w.add_vertices("t", 5)
        w.add_edges("e", [{"from": "nobody", "to": "nobody"}])
        with pytest.raises(mg.LoadError, match="nobody"):
            w.commit()


def test_an_exception_leaves_what_was_not_committed(empty):
    with pytest.raises(RuntimeError):
        with empty.ingest() as w:
            w.add_vertices("kept", [{"id": 1}])
            w.commit()
            w.add_vertices("lost", [{"id": 2}])
            raise RuntimeError
    assert empty.query("g.V().label()").to_list() == ["kept"]
    assert empty.check() == []


def test_ingest_of_many_rows(empty):
    count = 50_000
    with empty.ingest() as w:
        w.add_vertices("n", {"id": np.arange(count)})
        for start in range(0, count, 10_000):
            w.add_edges("to", [(i, (i * 7) % count, i / 2) for i in range(start, start + 10_000)], columns=["from", "to", "w"])
    assert empty.stats()["edges"] == {"to": count}
    assert empty.query("g.V(3).out('to').id()").one() == 21


def test_a_directory_says_which_files_it_leaves_out(empty, tmp_path):
    write_csv(tmp_path)
    (tmp_path / "more.txt").write_text("1 2\n")
    (tmp_path / ".hidden").write_text("")
    report = empty.load(tmp_path)
    assert report["vertices"] == {"person": 3}
    assert [warning for warning in report["warnings"] if "leaves out more.txt: give their names" in warning]
    assert not any("hidden" in warning for warning in report["warnings"])


def write_csv(directory):
    (directory / "person.csv").write_text("id,name,age\nada,Ada,36\nbob,Bob,\ncyd,Cyd,51\n")
    (directory / "knows.csv").write_text("src,dst,since\nada,bob,2001\nbob,cyd,2002\n")


def test_plain_files(empty, tmp_path):
    write_csv(tmp_path)
    report = empty.load(nodes={"person": "person.csv"}, edges={("person", "knows", "person"): tmp_path / "knows.csv"})
    assert (report["vertices"], report["edges"], report["rejects"]) == ({"person": 3}, {"knows": 2}, 0)
    assert people(empty) == EXPECTED
    assert empty.query("g.V('ada').repeat(out('knows')).emit().values('name')").to_list() == ["Bob", "Cyd"]


def test_files_with_headers_globs_and_compression(empty, tmp_path):
    for part, rows in enumerate(["ada,person,36\n", "bob,person,\n"]):
        with gzip.open(tmp_path / f"part-{part}.csv.gz", "wt") as file:
            file.write("~id,~label,age:Int\n" + rows)
    assert empty.load("part-*.csv.gz")["vertices"] == {"person": 2}


def test_tables_load_beside_files(empty, tmp_path):
    write_csv(tmp_path)
    knows = pl.DataFrame({"src": ["ada"], "dst": ["cyd"], "since": [1999]})
    report = empty.load(nodes={"person": ["person.csv"]})
    report = empty.load(edges={("person", "knows", "person"): knows})
    assert report["edges"] == {"knows": 1}
    empty.load(nodes={"place": pa.table({"id": [1, 2], "name": ["x", "y"]}), "thing": [{"id": 9}]})
    assert empty.stats()["vertices"] == {"person": 3, "place": 2, "thing": 1}
    assert empty.query("g.V('ada').outE('knows').values('since')").one() == 1999


def test_a_bad_row_is_named_and_leaves_nothing(empty, tmp_path):
    (tmp_path / "person.csv").write_text("~id,~label,age:Int\nada,person,36\nbob,person,old\n")
    with pytest.raises(mg.LoadError, match=r"person.csv:3:\d+.*old"):
        empty.load("person.csv")
    assert empty.query("g.V().count()").one() == 0
    report = empty.load("person.csv", on_error="skip", rejects="rejects.csv")
    assert (report["vertices"], report["rejects"]) == ({"person": 1}, 1)
    assert "old" in (tmp_path / "rejects.csv").read_text()


def test_missing_files_and_words_that_are_no_option(empty):
    with pytest.raises(mg.LoadError, match="nothing.csv"):
        empty.load("nothing.csv")
    with pytest.raises(ValueError, match="on_error must be one of fail, skip"):
        empty.load("x.csv", on_error="ignore")
    with pytest.raises(ValueError, match="format must be one of"):
        empty.load("x.csv", format="xlsx")


def test_a_load_is_compressed_on_request(empty, tmp_path):
    (tmp_path / "person.csv").write_text("id,born:int\n" + "".join(f"{i},{1800 + i}\n" for i in range(300)))
    report = empty.load(nodes={"person": tmp_path / "person.csv"}, compact=True, indexes="person.born")
    assert report["vertices"] == {"person": 300}
    stats = empty.stats()
    assert stats["segment_bytes"] > 0
    parts = {part["part"]: part for part in stats["compressed"]}
    assert parts["born"]["form"] == "integers" and parts["(index on born)"]["bytes"] > 0
    assert empty.schema()["indexes"] == [("person", "born")]
    with pytest.raises(mg.LoadError, match="LABEL.KEY"):
        empty.load(nodes={"person": [{"id": 1000}]}, indexes=["born"])
    assert empty.query("g.V(7).values('born')").one() == 1807
    empty.query("g.V(7).property('born', 5)")
    assert empty.query("g.V().values('born').sum()").one() == sum(range(1800, 2100)) - 1807 + 5


def test_text_can_be_searchable_and_sealing_is_told(tmp_path):
    with pytest.raises(ValueError, match="seal_mb"):
        mg.open(tmp_path / "wrong.mg", seal_mb=-1)
    with mg.open(tmp_path / "texts.mg", seal_mb=0.1) as db:
        (tmp_path / "note.csv").write_text("id,text\n" + "".join(f"{i},the lantern {i * i} of meadow {i % 7}\n" for i in range(3000)))
        db.load(nodes={"note": tmp_path / "note.csv"}, searchable=["note.text"], compact=True)
        found = db.query("g.V().has('note', 'text', containing('rn 1444 of')).id()").to_list()
        assert found == [38]
        with pytest.raises(ValueError, match="encoding must be one of"):
            db.set_encoding("note", "text", "zip")
        db.set_encoding("note", "text", "symbols")
        db.compact()
        assert db.query("g.V().has('note', 'text', containing('rn 1444 of')).id()").to_list() == [38]
        for batch in range(200):
            db.query("g.inject(range).unfold().as('i').addV('more').property(id, select('i'))", range=list(range(10_000 + 100 * batch, 10_100 + 100 * batch)))
            if len(db.stats()["segments"]) > 1:
                break
        for _ in range(1000):
            stats = db.stats()
            if len(stats["segments"]) > 1 or stats["sealing_error"]:
                break
            time.sleep(0.05)
        assert stats["sealing_error"] is None
        assert len(stats["segments"]) > 1
        assert sum(stats["segments"]) == stats["segment_bytes"]
        assert db.check() == []


def test_progress_is_told_and_control_c_stops_a_load(empty, tmp_path):
    with open(tmp_path / "n.csv", "w") as file:
        file.write("~id,~label,name:String\n")
        file.writelines(f"{i},n,name {i}\n" for i in range(1_500_000))
    told = []

    def tell(*status):
        told.append(status)
        if len(told) == 2:
            threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()

    with pytest.raises(KeyboardInterrupt):
        empty.load("n.csv", progress=tell)
    assert told[-1][1] < told[-1][2] == (tmp_path / "n.csv").stat().st_size
    assert empty.query("g.V().count()").one() == 0


def test_rejects_overwrite_nothing(empty, tmp_path):
    (tmp_path / "person.csv").write_text("id,born:int\n1,1815\n2,old\n")
    source = (tmp_path / "person.csv").read_text()
    report = empty.load(nodes={"person": "person.csv"}, on_error="skip", rejects="person.csv")
    assert (report["rejects"], report["rejects_file"]) == (1, "person-2.csv")
    assert (tmp_path / "person.csv").read_text() == source
    assert "old" in (tmp_path / "person-2.csv").read_text()
    (tmp_path / "more.csv").write_text("id,born:int\n3,young\n4,1850\n")
    report = empty.load(nodes={"person": "more.csv"}, on_error="skip", rejects="person.csv")
    assert report["rejects_file"] == "person-3.csv"
    assert "old" in (tmp_path / "person-2.csv").read_text()


LARGE = 2**53 + 1


@pytest.mark.parametrize("values", [[LARGE, 0.5], [0.5, LARGE], [1, 0.5, LARGE], [LARGE, 1, None, 0.5]])
def test_large_integers_beside_floats_stay_exact(empty, tmp_path, values):
    rows = [{"id": n, "x": value} for n, value in enumerate(values)]
    with empty.ingest() as w:
        w.add_vertices("rows", rows)
        w.add_vertices("columns", {"id": [n + 10 for n in range(len(values))], "x": values})
    (tmp_path / "json.jsonl").write_text("".join(json.dumps({**row, "id": row["id"] + 20}) + "\n" for row in rows))
    csv = "".join(f"{row['id'] + 30},{'' if row['x'] is None else row['x']}\n" for row in rows)
    (tmp_path / "csv.csv").write_text("id,x\n" + csv)
    empty.load(nodes={"json": "json.jsonl", "csv": "csv.csv"})
    for label in ("rows", "columns", "json", "csv"):
        found = list(empty.query("g.V().hasLabel(l).values('x')", l=label))
        assert found == [value for value in values if value is not None], label
        assert LARGE in [int(value) for value in found]


def bomb(path, head, piece, count):
    """A small compressed file of which `piece` makes much."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(head)
        for _ in range(count):
            file.write(piece)


BLANK = b"x" * (1 << 20)
GRAPHML = b'<graphml><graph edgedefault="directed"><node id="1">'


@pytest.mark.parametrize(
    "name, head, piece, count, reason",
    [
        ("a.jsonl.gz", b'{"id": "', BLANK, 140, "more than 128 MB"),
        ("b.jsonl.gz", b'{"id": 1, "x": [1', b",1" * (1 << 19), 34, "values within one"),
        ("c.graphml.gz", GRAPHML + b'<data key="d">', BLANK, 70, "more than 64 MB"),
        ("d.graphml.gz", GRAPHML + b'<data key="d">', BLANK[: 1 << 19] + b"&amp;", 270, "more than 128 MB of data"),
        ("e.graphml.gz", b"<graphml>", b"<a>", 1000, "levels deep"),
        ("f.graphml.gz", b"<graphml>", b'<key id="k" attr.name="%s"/>' % BLANK, 70, "keys"),
        ("g.graphson.gz", b'{"id": 1, "label": "', BLANK, 140, "more than 128 MB"),
    ],
)
def test_a_small_file_that_holds_too_much_is_refused(empty, tmp_path, name, head, piece, count, reason):
    bomb(tmp_path / name, head, piece, count)
    assert (tmp_path / name).stat().st_size < 2_000_000
    with pytest.raises(mg.LoadError, match=reason):
        empty.load(name)
    assert empty.query("g.V().count()").one() == 0


def test_rows_that_share_no_columns_are_loaded_in_small_batches(empty, tmp_path):
    rows = 4000
    (tmp_path / "wide.jsonl").write_text("".join(json.dumps({"id": n, f"k{n}": n}) + "\n" for n in range(rows)))
    assert empty.load(nodes={"n": "wide.jsonl"})["vertices"] == {"n": rows}
    assert empty.query("g.V().has('k3999', 3999).count()").one() == 1


def test_an_object_of_many_members_is_read_in_the_time_it_takes_to_read_them(empty, tmp_path):
    members = {f"k{n}": n for n in range(100_000)}
    (tmp_path / "one.jsonl").write_text(json.dumps({"id": 1, "x": members}) + "\n")
    empty.load(nodes={"n": "one.jsonl"})
    assert empty.query("g.V().values('x')").one() == members


def test_every_bad_row_is_told_in_words_of_python(empty):
    empty.load(nodes={"a": [{"id": 1}, {"id": 2}]})
    with pytest.raises(mg.LoadError) as caught:
        with empty.ingest() as w:
            w.add_vertices("b", [{"id": 1}, {"id": 2}])
    assert "--" not in str(caught.value) and str(caught.value).count('nodes={"a": …}') == 2
