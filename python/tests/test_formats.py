"""GraphAr directories whose files are CSV, JSON or ORC: they answer as those in Parquet do."""

import datetime
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.orc
import pyarrow.parquet as pq
import pytest
from stores import s3, uploaded

import mangrovedb as mg

UTC = datetime.timezone.utc
FORMATS = ["csv", "json", "orc"]
QUERIES = [
    "g.V().count()",
    "g.V().has('thing', 'n', 7).valueMap()",
    "g.V().hasLabel('thing').has('n', lt(40)).order().by('n').valueMap()",
    "g.V().has('thing', 'when', gt(datetime('1990-05-01T00:00:00Z'))).count()",
    "g.V().hasLabel('thing').order().by('day', desc).limit(20).values('day', 'n')",
    "g.V().has('thing', 'id', 12).out('to').id().order()",
    "g.V().has('thing', 'id', 12).in('to').id().order()",
    "g.E().hasLabel('to').values('weight').sum()",
    "g.V().hasLabel('even').count()",
]


@pytest.fixture
def db(tmp_path):
    db = mg.open(tmp_path / "db")

    def thing(n):
        return {
            "id": n,
            "n": n if n % 7 else None,
            "small": n % 100,
            "name": ("" if n % 3 else f"a \"quoted\", name {n}") if n % 5 else None,
            "flag": n % 3 == 0,
            "ratio": n / 8,
            "day": datetime.date(1970, 1, 1) + datetime.timedelta(days=n * 50),
            "when": datetime.datetime(1970, 1, 1, tzinfo=UTC) + datetime.timedelta(days=n * 50, milliseconds=n),
        }

    with db.ingest() as w:
        w.add_vertices("thing", [thing(n) for n in range(300)])
        w.add_edges("to", [{"from": n * 13 % 300, "to": n * n % 300, "weight": n / 4} for n in range(2000)])
    db.query("g.V().hasLabel('thing').filter(values('flag').is(true)).addLabel('even')").to_list()
    return db


def written_as(file_format, table, path):
    if file_format == "csv":
        pyarrow.csv.write_csv(table, path)
    elif file_format == "orc":
        pyarrow.orc.write_table(table, path)
    else:
        rows = (json.dumps({k: v for k, v in row.items() if v is not None}, default=str) for row in table.to_pylist())
        Path(path).write_text("\n".join(rows) + "\n")


def converted(db, directory, file_format, **options):
    """An export of which all files but those of labels are in another format."""
    db.export(directory, "graphar", vertex_chunk=64, edge_chunk=100, **options)
    for path in directory.rglob("chunk*"):
        if path.is_file() and "labels" not in path.parts:
            written_as(file_format, pq.read_table(path), path)
    for path in directory.glob("*.yml"):
        path.write_text(re.sub(r"file_type: parquet", f"file_type: {file_format}", path.read_text()))
    return str(directory / f"{directory.name}.graph.yml")


def answers(db):
    return [db.query(query).to_list() for query in QUERIES]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MANGROVE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize("file_format", FORMATS)
def test_other_formats_answer_as_parquet_does(db, tmp_path, cache, file_format):
    file = converted(db, tmp_path / "lake", file_format)
    lake = mg.open_lake(file)
    assert answers(lake) == answers(db)
    assert lake.check() == []
    kept = {path.name for path in cache.iterdir()}
    assert kept, "converted files are kept"
    assert answers(mg.open_lake(file)) == answers(db)
    assert {path.name for path in cache.iterdir()} == kept
    copy = mg.open(tmp_path / "copy")
    assert copy.load_lake(file)["edges"] == {"to": 2000}
    assert answers(copy) == answers(db)


@pytest.mark.parametrize("file_format", ["json", "orc"])
def test_lists_are_read_from_formats_that_have_them(tmp_path, file_format):
    db = mg.open(tmp_path / "db")
    db.query("g.addV('a').property(list, 'tags', 'x').property(list, 'tags', 'y').addV('a')").to_list()
    file = converted(db, tmp_path / "lake", file_format)
    assert mg.open_lake(file).query("g.V().values('tags').order()").to_list() == ["x", "y"]


def chunk_of(directory, word):
    """The first file of vertices whose text has a word."""
    found = (path for path in sorted((directory / "vertex").rglob("chunk0")) if word.encode() in path.read_bytes())
    return next(found)


DAMAGE = {
    "text for a number": ("csv", lambda text: text.replace(",0.875,", ",seven,", 1), "line 9: `seven` in column `ratio` is no Float64"),
    "a row with too many fields": ("csv", lambda text: text + "1,2,3,4,5,6,7,8,9,10,11,12\n", "line 66: it has 12 fields"),
    "rows that are missing": ("csv", lambda text: "".join(text.splitlines(True)[:-3]), "rows"),
    "a header that is missing": ("csv", lambda text: text.split("\n", 1)[1], "its first line must name the columns"),
    "another delimiter": ("csv", lambda text: text.replace(",", ";", text.split("\n")[0].count(",")), "line 1: |its first line"),
    "a quote that never ends": ("csv", lambda text: text.replace("0.875", '"0.875'), "line 9: "),
    "a fraction for an integer": ("json", lambda text: text.replace('"id": 7,', '"id": 7.5,'), "`7.5` in column `id` is no Int64"),
    "values that nest": ("json", lambda text: text + '{"id": ' + "[" * 200_000, "nest deeper than 64"),
    "a list of objects": ("json", lambda text: "[" + text.replace("\n", ",") + "]", "it is a list; write its objects one to a line"),
    "half an object": ("json", lambda text: text[: len(text) // 2 + 5], "cannot be read as JSON|rows"),
    "a list for a number": ("json", lambda text: re.sub(r'"id": 7\b', '"id": [7]', text, count=1), "cannot be read as JSON.*expected"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damaged_files_give_an_error_that_names_them(db, tmp_path, what):
    file_format, change, message = DAMAGE[what]
    file = converted(db, tmp_path / "lake", file_format)
    path = chunk_of(tmp_path / "lake", "ratio")
    text = path.read_text()
    assert change(text) != text
    path.write_text(change(text))
    with pytest.raises(mg.QueryError, match=message) as error:
        mg.open_lake(file).query("g.V().valueMap().with('~tinkerpop.valueMap.tokens')").to_list()
    assert path.relative_to(tmp_path).as_posix() in str(error.value)
    assert len(str(error.value)) < 700


def one_type(directory, file_format, write, properties, count, group="p/"):
    """A GraphAr directory with one type of vertices and one file."""
    (directory / "vertex/a" / group).mkdir(parents=True)
    (directory / "vertex/a/vertex_count").write_bytes(count.to_bytes(8, "little"))
    write(directory / "vertex/a" / group / "chunk0")
    declared = "".join(f"      - {{name: {name}, data_type: {kind}, is_primary: {str(name == 'id').lower()}}}\n" for name, kind in properties.items())
    (directory / "a.vertex.yml").write_text(
        f"type: a\nchunk_size: 100\nprefix: vertex/a/\nproperty_groups:\n  - prefix: {group}\n    file_type: {file_format}\n    properties:\n{declared}version: gar/v1\n"
    )
    (directory / "g.graph.yml").write_text("name: g\nvertices: [a.vertex.yml]\nedges: []\nversion: gar/v1\n")
    return mg.open_lake(directory / "g.graph.yml")


def test_texts_that_are_empty_times_that_are_fine_and_columns_in_any_order(tmp_path):
    text = '\ufeffextra,t,name,id\r\nx,1969-12-31 23:59:59.123456,"",1\r\ny,2020-01-01T00:00:00+02:00,,2\r\n'
    lake = one_type(tmp_path / "csv", "csv", lambda path: path.write_text(text, newline=""), {"id": "int64", "name": "string", "t": "timestamp"}, 2)
    assert lake.query("g.V('a/1').values('name', 't')").to_list() == ["", datetime.datetime(1969, 12, 31, 23, 59, 59, 123456, UTC)]
    assert lake.query("g.V('a/2').valueMap('name', 't')").one() == {"t": [datetime.datetime(2019, 12, 31, 22, tzinfo=UTC)]}
    text = '\ufeff{"id": 1, "t": "1969-12-31T23:59:59.123456", "other": {"a": []}}\n{"id": 2, "name": null}\n'
    lake = one_type(tmp_path / "json", "json", lambda path: path.write_text(text), {"id": "int64", "name": "string", "t": "timestamp"}, 2)
    assert lake.query("g.V('a/1').values('t')").one() == datetime.datetime(1969, 12, 31, 23, 59, 59, 123456, UTC)
    assert lake.query("g.V().values('name').count()").one() == 0


def test_a_blank_line_is_a_row_where_there_is_one_column(tmp_path):
    lake = one_type(tmp_path / "csv", "csv", lambda path: path.write_text("x\n1\n\n3\n\n"), {"x": "int32"}, 4)
    assert lake.query("g.V().values('x')").to_list() == [1, 3]


def test_only_declared_columns_of_orc_are_read(tmp_path):
    large = pa.table({"id": range(20_000), **{f"x{at}": ["y" * 20_000] * 20_000 for at in range(2)}})
    lake = one_type(tmp_path / "orc", "orc", lambda path: pyarrow.orc.write_table(large.slice(0, 100), path, compression="zstd"), {"id": "int64"}, 100)
    assert lake.query("g.V().count()", memory_mb=1).one() == 100
    assert lake.query("g.V().values('id').sum()", memory_mb=1).one() == 4950
    path = tmp_path / "orc/vertex/a/p/chunk0"
    pyarrow.orc.write_table(large.slice(0, 100).rename_columns(["id", "x0", "x1"]), path)
    lake = one_type(tmp_path / "more", "orc", lambda path: pyarrow.orc.write_table(large.slice(0, 100), path), {"id": "int64", "x0": "string"}, 100)
    with pytest.raises(mg.MemoryLimitError):
        lake.query("g.V().values('x0').count()", memory_mb=1).one()


def test_folders_inside_each_other_have_their_own_formats(tmp_path):
    directory = tmp_path / "nested"
    (directory / "vertex/a/y").mkdir(parents=True)
    (directory / "vertex/a/labels").mkdir()
    (directory / "vertex/a/vertex_count").write_bytes((2).to_bytes(8, "little"))
    (directory / "vertex/a/chunk0").write_text("id\n1\n2\n")
    pq.write_table(pa.table({"y": ["u", "v"]}), directory / "vertex/a/y/chunk0")
    pq.write_table(pa.table({"other": [True, False], "b": [False, True]}), directory / "vertex/a/labels/chunk0")
    groups = "".join(
        f"  - prefix: {prefix}\n    file_type: {kind}\n    properties:\n      - {{name: {name}, data_type: {data}, is_primary: false}}\n"
        for prefix, kind, name, data in [("./", "csv", "id", "int64"), ("y/", "parquet", "y", "string")]
    )
    (directory / "a.vertex.yml").write_text(f"type: a\nchunk_size: 100\nprefix: vertex/a/\nlabels: [b, c]\nproperty_groups:\n{groups}version: gar/v1\n")
    (directory / "g.graph.yml").write_text("name: g\nvertices: [a.vertex.yml]\nedges: []\nversion: gar/v1\n")
    lake = mg.open_lake(directory / "g.graph.yml")
    assert lake.query("g.V().order().by('id').values('id', 'y')").to_list() == [1, "u", 2, "v"]
    # A name is missing, so both labels are found by their place.
    assert lake.query("g.V().hasLabel('b').values('id')").to_list() == [1]
    assert lake.query("g.V().hasLabel('c').values('id')").to_list() == [2]


@pytest.mark.parametrize("change", [lambda data: data[: len(data) // 2], lambda data: bytes(len(data)), lambda _: b""])
def test_a_damaged_orc_file_is_an_error(db, tmp_path, change):
    file = converted(db, tmp_path / "lake", "orc")
    for path in (tmp_path / "lake").rglob("chunk0"):
        path.write_bytes(change(path.read_bytes()))
    with pytest.raises(mg.QueryError, match="chunk0"):
        mg.open_lake(file).query("g.V().valueMap()").to_list()


def test_a_file_that_changes_is_converted_anew(db, tmp_path):
    file = converted(db, tmp_path / "lake", "csv")
    question = "g.V().has('thing', 'id', 12).values('name')"
    opened = mg.open_lake(file)
    before = opened.query(question).to_list()
    path = chunk_of(tmp_path / "lake", "ratio")
    path.write_text(path.read_text().replace("name 12", "name of 12", 1))
    assert opened.query(question).to_list() == before, "an open lake keeps what it has read"
    assert mg.open_lake(file).query(question).to_list() == [before[0].replace("name 12", "name of 12")]


def test_a_store_may_hold_them_too(db, tmp_path, s3):
    converted(db, tmp_path / "lake", "csv")
    uploaded(s3, tmp_path / "lake", "csv")
    assert answers(mg.open_lake("s3://graphs/csv/lake.graph.yml")) == answers(db)
