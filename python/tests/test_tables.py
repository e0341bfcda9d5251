"""Plain Parquet tables as a graph, queried in place through a mapping."""

import datetime
import json
import os
import shutil
import subprocess
import sysconfig
import time
import uuid
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stores import s3, server, uploaded

import mangrovedb as mg

COMMAND = os.path.join(sysconfig.get_path("scripts"), "mangrove")

PEOPLE = {
    "id": [1, 2, 3, 4],
    "name": ["Ann", "Ben", "Cleo", "Dan"],
    "born": [datetime.date(1990, 1, day) for day in (1, 2, 3, 4)],
    "city_id": [10, 11, None, 10],
    "active": [True, True, False, True],
}
CITIES = {"id": [10, 11], "name": ["Ulm", "Bonn"]}
KNOWS = {"src": [1, 1, 2, 3, 1], "dst": [2, 3, 3, 1, 2], "since": [2001, 2002, 2003, 2004, 2005]}
MAPPING = """
nodes:
  - file: person.parquet
    label: person
    foreign_keys:
      city_id: {label: lives_in, to: city}
  - file: city.parquet
    label: city
edges:
  - file: knows.parquet
    label: knows
    source_label: person
    target_label: person
"""


def write(name, table, **options):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    pq.write_table(pa.table(table), name, **options)


def files(mapping=MAPPING, person=PEOPLE, city=CITIES, knows=KNOWS):
    for name, table in (("person", person), ("city", city), ("knows", knows)):
        if table is not None:
            write(f"{name}.parquet", table, row_group_size=2)
    with open("map.yml", "w") as out:
        out.write(mapping)
    return "map.yml"


def ask(db, query):
    return db.query(query).to_list()


def indexes():
    return sorted(name for name in os.listdir("indexes") if name.endswith(".mangrove-index")) if os.path.isdir("indexes") else []


# Everything that a query may ask for.
QUESTIONS = [
    "g.V().count()",
    "g.E().count()",
    "g.V().label().groupCount()",
    "g.E().label().groupCount()",
    "g.V().hasLabel('person').valueMap().fold()",
    "g.V().has('person', 'id', 1).out('knows').values('name').fold()",
    "g.V().has('person', 'id', 3).in('knows').values('name').fold()",
    "g.V().has('person', 'id', 1).outE('knows').has('since', gt(2001)).inV().values('name').fold()",
    "g.V().has('person', 'id', 2).both().dedup().values('name').fold()",
    "g.V().has('city', 'id', 10).in('lives_in').values('name').fold()",
    "g.V().hasLabel('person').out('lives_in').values('name').groupCount()",
    "g.V().hasLabel('person').where(out('lives_in')).values('name').order().fold()",
    "g.E().hasLabel('knows').has('since', lt(2003)).values('since').order().fold()",
    "g.E().hasLabel('knows').project('a', 'b').by(outV().values('id')).by(inV().values('id')).order().by(select('a')).by(select('b')).fold()",
    "g.V().hasLabel('person').project('n', 'd').by('name').by(bothE().count()).order().by(select('n')).fold()",
    "g.V().has('person', 'born', lt(datetime('1990-01-03'))).values('name').fold()",
    "g.V().has('person', 'id', 1).repeat(out('knows')).times(3).path().by(coalesce(values('name'), constant('?'))).order().by(count(local)).fold()",
]


def assert_same(a, b):
    for query in QUESTIONS:
        ordered = lambda rows: sorted(map(repr, rows[0])) if rows and isinstance(rows[0], list) else rows
        assert ordered(ask(a, query)) == ordered(ask(b, query)), query


def test_tables_answer_as_the_same_data_loaded():
    lake = mg.open_lake(files())
    copy = mg.open("copy.mg", id_space="label")
    report = copy.load_lake("map.yml")
    assert report["vertices"] == {"person": 4, "city": 2} and report["edges"] == {"knows": 5, "lives_in": 3}
    assert_same(lake, copy)
    # The loader itself reads the tables, without the foreign key.
    loaded = mg.open("loaded.mg", id_space="label")
    loaded.load(
        nodes={"person": "person.parquet", "city": "city.parquet"},
        edges={
            ("person", "knows", "person"): "knows.parquet",
            ("person", "lives_in", "city"): [{"from": p, "to": c} for p, c in zip(PEOPLE["id"], PEOPLE["city_id"]) if c],
        },
    )
    loaded.query("g.V().hasLabel('person').properties('city_id').drop()")
    assert_same(lake, loaded)
    assert lake.check() == []


def test_the_command_reads_tables(tmp_path):
    files()
    run = lambda *arguments: subprocess.run(
        [COMMAND, *arguments], capture_output=True, text=True, check=True, timeout=60
    )
    query = "g.V().has('person', 'id', 1).out('knows').values('name').dedup()"
    assert [json.loads(line) for line in run("query", "map.yml", query, "--format", "json").stdout.splitlines()] == ["Ben", "Cleo"]
    assert "2 types of edges have indexes" in run("lake", "index", "map.yml").stderr
    assert "person" in run("stats", "map.yml").stdout
    run("check", "map.yml")
    run("load", "loaded.mg", "map.yml")
    with mg.open("loaded.mg") as db:
        assert ask(db, "g.E().count()") == [8]


def test_a_column_of_foreign_keys_is_a_property_only_if_it_is_listed():
    assert ask(mg.open_lake(files()), "g.V().has('person', 'id', 1).values('city_id')") == []
    listed = MAPPING.replace("    foreign_keys:", "    properties: {city_id: {name: city}}\n    foreign_keys:")
    assert ask(mg.open_lake(files(listed)), "g.V().has('person', 'id', 1).values('city')") == [10]


def test_foreign_keys_go_either_way():
    lake = mg.open_lake(files(MAPPING.replace("to: city}", "to: city, direction: in}").replace("lives_in", "has")))
    assert sorted(ask(lake, "g.V().has('city', 'id', 10).out('has').values('name')")) == ["Ann", "Dan"]
    assert ask(lake, "g.E().hasLabel('has').count()") == [3]


def test_row_filters_leave_vertices_and_edges_out():
    where = MAPPING.replace("    label: person\n    foreign", "    label: person\n    where: {active: true}\n    foreign")
    where = where.replace("    label: knows", "    label: knows\n    where: {since: {gte: 2002, neq: 2003}}\n    missing: skip")
    lake = mg.open_lake(files(where))
    assert ask(lake, "g.V().hasLabel('person').values('name')") == ["Ann", "Ben", "Dan"]
    assert ask(lake, "g.V().hasLabel('person').count()") == [3]
    assert ask(lake, "g.V().has('person', 'id', 3)") == []
    assert ask(lake, "g.V().has('person', 'id', within(1, 2, 3)).count()") == [2]
    assert ask(lake, "g.E().hasLabel('knows').values('since')") == [2005]
    assert ask(lake, "g.E().count()") == [4]
    assert ask(lake, "g.V().has('person', 'id', 2).in('knows').values('name')") == ["Ann"]
    copy = mg.open(":memory:", id_space="label")
    copy.load_lake("map.yml")
    assert_same(lake, copy)
    assert lake.check() == []


@pytest.mark.parametrize(
    "condition, names",
    [
        ("{name: [Ann, Dan, Nobody]}", ["Ann", "Dan"]),
        ("{name: {without: [Ann, Dan]}}", ["Ben", "Cleo"]),
        ("{born: {gt: '1990-01-02'}}", ["Cleo", "Dan"]),
        ("{born: '1990-01-02'}", ["Ben"]),
        ("{id: {lt: 3}, active: true}", ["Ann", "Ben"]),
        ("{id: {lt: 2.5}}", ["Ann", "Ben"]),
        ("{city_id: 10}", ["Ann", "Dan"]),
        ("{name: Nobody}", []),
        ("{city_id: null}", ["Cleo"]),
        ("{city_id: {eq: ~}}", ["Cleo"]),
        ("{city_id: {neq: null}, id: {gt: 1}}", ["Ben", "Dan"]),
    ],
)
def test_row_filters_compare_as_queries_do(condition, names):
    mapping = f"nodes:\n  - {{file: person.parquet, label: person, where: {condition}}}\n"
    lake = mg.open_lake(files(mapping))
    assert ask(lake, "g.V().values('name')") == names
    assert ask(lake, "g.V().count()") == [len(names)]


def test_columns_are_read_as_the_mapping_says():
    mapping = """
nodes:
  - file: item.parquet
    label: item
    id: code
    id_type: string
    properties:
      price: double
      when: datetime
      n: {name: count, type: int}
      junk: ignore
      tags: {type: 'string[]', cardinality: set}
      key: uuid
"""
    own = uuid.UUID("67e55044-10b1-426f-9247-bb680e5fe0c8")
    item = {
        "code": [1, 2],
        "price": ["1.5", "2"],
        "when": ["2024-05-06T07:08:09Z", None],
        "n": [3, 4],
        "junk": ["a", "b"],
        "tags": [["a", "b", "a"], None],
        "key": [str(own), None],
        "amount": pa.array([Decimal("1.20"), None], pa.decimal128(10, 2)),
        "gap": pa.array([datetime.timedelta(seconds=3), None], pa.duration("us")),
        "kind": pa.array(["x", "y"]).dictionary_encode(),
        "big": pa.array([2**64 - 1, 1], pa.uint64()),
    }
    write("item.parquet", item)
    with open("map.yml", "w") as out:
        out.write(mapping)
    lake = mg.open_lake("map.yml")
    assert ask(lake, "g.V().has('item', 'code', '1').values('count')") == [3]
    assert sorted(ask(lake, "g.V().has('item', 'code', '1').values('tags')")) == ["a", "b"]
    copy = mg.open(":memory:", id_space="label")
    copy.load(mapping="map.yml")
    everything = "g.V().order().by('code').valueMap('price', 'when', 'count', 'key', 'amount', 'gap', 'kind', 'big', 'junk')"
    assert ask(lake, everything) == ask(copy, everything)
    assert ask(lake, "g.V().values('key')") == [own] and ask(lake, "g.V().values('junk')") == []
    assert ask(lake, "g.V().has('price', gt(1.7)).values('code')") == ["2"]


def test_files_are_named_by_folder_and_by_pattern():
    for part in range(3):
        write(f"data/person/part-{part}.parquet", {"id": [part * 2, part * 2 + 1], "name": [f"p{part}", f"q{part}"]})
        write(f"data/knows-{part}.parquet", {"src": [part], "dst": [part * 2 + 1]})
    open("data/person/_SUCCESS", "w").close()
    write("data/other.parquet", {"id": [1]})
    with open("map.yml", "w") as out:
        out.write("root: data\nnodes:\n  - {file: person/, label: person}\nedges:\n  - {file: 'knows-*.parquet', label: knows}\n")
    lake = mg.open_lake("map.yml")
    assert ask(lake, "g.V().count()") == [6] and ask(lake, "g.E().count()") == [3]
    assert ask(lake, "g.V().has('id', 2).out().values('name')") == ["q2"]
    # Spark gives such folders the names of files.
    os.rename("data/person", "data/person.parquet")
    with open("map.yml", "w") as out:
        out.write(f"root: {os.getcwd()}/data\nnodes:\n  - {{file: person.parquet, label: person}}\n")
    assert ask(mg.open_lake("map.yml"), "g.V().count()") == [6]


def test_an_index_is_made_once_and_used_by_later_opens():
    files()
    lake = mg.open_lake("map.yml")
    assert ask(lake, "g.V().count()") == [6] and ask(lake, "g.E().count()") == [8] and indexes() == []
    assert ask(lake, "g.V().has('person', 'id', 1).out('knows').count()") == [3]
    made = indexes()
    assert len(made) == 1, "one direction of one type"
    again = mg.open_lake("map.yml")
    assert ask(again, "g.V().has('person', 'id', 1).out('knows').count()") == [3] and indexes() == made
    assert again.index_edges(progress=lambda *_: None) == 2 and len(indexes()) == 6
    # Damage is noticed, wherever it is, and the index is made anew.
    for name in indexes():
        with open(f"indexes/{name}", "r+b") as out:
            out.seek(os.path.getsize(f"indexes/{name}") // 2)
            out.write(b"xxxx")
        assert os.stat(f"indexes/{name}").st_mode & 0o77 == 0, "others cannot read it"
    assert ask(mg.open_lake("map.yml"), "g.V().has('person', 'id', 1).out('knows').count()") == [3]


def test_indexes_stay_within_their_bound(tmp_path):
    files()
    lake = mg.open_lake("map.yml", cache=tmp_path / "small", cache_mb=0.001)
    assert ask(lake, "g.V().both().count()") == [16]
    assert len(os.listdir("small")) == 1
    with pytest.raises(ValueError, match="cache_mb"):
        mg.open_lake("map.yml", cache_mb=-1)


def test_indexes_need_no_directory():
    files()
    with open("file", "w") as out:
        out.write("in the way")
    assert ask(mg.open_lake("map.yml", cache="file"), "g.V().both().count()") == [16]


def test_changed_files_are_seen_on_refresh():
    files(MAPPING.replace("file: knows.parquet", "file: 'knows*.parquet'"))
    lake = mg.open_lake("map.yml")
    assert ask(lake, "g.V().has('person', 'id', 4).out('knows').count()") == [0]
    assert lake.refresh() == {"added": [], "changed": [], "removed": []}
    before = indexes()
    write("knows2.parquet", {"src": [4], "dst": [1], "since": [2010]})
    assert ask(lake, "g.V().has('person', 'id', 4).out('knows').count()") == [0], "the files that were there"
    changes = lake.refresh()
    assert [os.path.basename(name) for name in changes["added"]] == ["knows2.parquet"] and not changes["changed"]
    assert ask(lake, "g.V().has('person', 'id', 4).out('knows').count()") == [1]
    assert set(before) <= set(indexes())
    # Cities changed: edges among people keep their indexes.
    before = indexes()
    time.sleep(0.01)
    write("city.parquet", {"id": [11, 10], "name": ["Bonn", "Ulm"]})
    assert [os.path.basename(name) for name in lake.refresh()["changed"]] == ["city.parquet"]
    assert ask(lake, "g.V().has('person', 'id', 4).out('knows').count()") == [1] and indexes() == before
    assert ask(lake, "g.V().has('person', 'id', 2).out('lives_in').values('name')") == ["Bonn"] and len(indexes()) > len(before)
    os.remove("knows2.parquet")
    assert [os.path.basename(name) for name in lake.refresh()["removed"]] == ["knows2.parquet"]
    assert ask(lake, "g.V().has('person', 'id', 4).out('knows').count()") == [0]


def test_a_file_that_changes_ends_the_query_that_needs_it():
    files()
    lake = mg.open_lake("map.yml")
    time.sleep(0.01)
    write("person.parquet", {**PEOPLE, "name": ["A", "B", "C", "D"]})
    with pytest.raises(mg.QueryError, match=r"person\.parquet has changed since the graph was opened: call refresh"):
        ask(lake, "g.V().hasLabel('person').values('name')")
    lake.refresh()
    assert ask(lake, "g.V().has('person', 'id', 2).values('name')") == ["B"]
    os.remove("person.parquet")
    with pytest.raises(mg.MangroveError, match=r"person\.parquet"):
        lake.refresh()


@pytest.mark.parametrize(
    "tables, query, message",
    [
        ({"knows": {"src": [1, 9], "dst": [2, 1]}}, "g.V().out()", r"knows\.parquet: row 2: there is no `person` with the id 9, which column `src` names"),
        ({"knows": {"src": [1, None], "dst": [2, 1]}}, "g.V().out()", r"knows\.parquet: row 2: column `src` names no `person`"),
        ({"person": {**PEOPLE, "city_id": [10, 11, 12, None]}}, "g.V().out('lives_in')", r"person\.parquet: row 3: there is no `city` with the id 12"),
        ({"person": {**PEOPLE, "id": [1, 2, 3, 2]}}, "g.V().out('knows')", r"person\.parquet: row 4: the id 2 in column `id` is that of row 2 of .*person\.parquet, too"),
    ],
)
def test_rows_that_do_not_fit_are_named(tables, query, message):
    lake = mg.open_lake(files(**tables))
    for _ in range(2):
        with pytest.raises(mg.QueryError, match=message):
            ask(lake, query)
    assert any("row" in problem for problem in lake.check())
    # What does not need these rows is answered.
    assert ask(lake, "g.V().hasLabel('city').count()") == [2]


def test_rows_that_do_not_fit_can_be_left_out():
    skip = MAPPING.replace("to: city}", "to: city, missing: skip}").replace("label: knows\n", "label: knows\n    missing: skip\n")
    person = {**PEOPLE, "city_id": [10, 11, 12, None]}
    lake = mg.open_lake(files(skip, person=person, knows={"src": [1, 9, None], "dst": [2, 1, 1]}))
    assert ask(lake, "g.E().label().groupCount()") == [{"knows": 1, "lives_in": 2}]
    assert ask(lake, "g.V().out('knows').values('name')") == ["Ben"]


@pytest.mark.parametrize(
    "mapping, message",
    [
        ("nodes:\n  - {file: none.parquet, label: person}\n", r"none\.parquet: there is no such file"),
        ("nodes:\n  - {file: person.parquet, label: person, where: {age: 3}}\n", r"no column `age` for the condition of `where`"),
        ("nodes:\n  - {file: person.parquet, label: person, where: {born: soon}}\n", r"column `born` holds date, and the condition"),
        ("nodes:\n  - {file: person.parquet, label: person, where: {born: {above: 3}}}\n", r"map\.yml:2:\d+: unknown key `above`"),
        ("nodes:\n  - {file: person.parquet, label: person, id: nam}\n", r"no column `nam` \(did you mean `name`\?\)"),
        ("nodes:\n  - {file: person.parquet, label: person, id: born}\n", r"column `born` holds Date32; ids are integers, strings or UUIDs"),
        ("nodes:\n  - {file: person.parquet, label: person, id: city_id}\n", r"column `city_id` holds the ids, and lacks 1 of them"),
        ("nodes:\n  - {file: person.parquet, label: person, foreign_keys: {city: {label: x}}}\n", r"it has no column `city`, which is a foreign key"),
        ("nodes:\n  - {file: person.parquet, label: person, foreign_keys: {city_id: {label: x, to: town}}}\n", r"no table of vertices has this label; there are `person`"),
        ("nodes:\n  - {file: person.parquet, label: a}\n  - {file: city.parquet, label: b}\nedges:\n  - {file: knows.parquet}\n", r"say which vertices the edges join, with `source_label`: `a`, `b`"),
        ("nodes:\n  - {file: person.parquet, label: a}\n  - {file: city.parquet, label: a}\n", r"two tables of vertices called `a`: give one table all `files`"),
        ("nodes:\n  - {file: person.parquet, label_column: name}\n", r"column `name` would give each row its label"),
        ("nodes:\n  - {files: [person.parquet, city.parquet], label: a}\n", r"city\.parquet: it lacks column `born` of"),
        ("nodes:\n  - {file: other.csv, label: a}\n", r"other\.csv: no Parquet file"),
        ("nodes:\n  - {file: person.parquet, label: a, where: {id: {gt: null}}}\n", r"null stands alone"),
        ("nodes:\n  - {file: person.parquet, label: a, missing: skip}\n", r"`missing` belongs to a foreign key"),
        ("node:\n  - {file: person.parquet, label: a}\n", r"unknown key `node`, did you mean `nodes`"),
        ("edges:\n  - {file: knows.parquet}\n", r"there are no tables of vertices"),
        ("nodes:\n  - {file: delta, label: a}\n", r"delta is a table of Delta, which may hold files that no longer count"),
        ("nodes:\n  - {file: 'delta/*.parquet', label: a}\n", r"is a table of Delta"),
        ("nodes:\n  - {file: iceberg/data, label: a}\n", r"data is a table of Iceberg"),
        ("nodes:\n  - {file: texts.parquet, label: a}\nedges:\n  - {file: knows.parquet}\n", r"column `src` holds int64, but the ids of `a` are string; `id_type: string`"),
        ("nodes:\n  - {file: lz4.parquet, label: a}\n", r"lz4\.parquet: it is compressed with LZ4, which is not read"),
        ("nodes:\n  - {file: person.parquet, label: a, format: csv}\n", r"only Parquet files are queried in place; load others with"),
        ("nodes:\n  - {file: parted, label: a}\n", r"parted is partitioned into folders such as `month=05`"),
        ("nodes:\n  - {file: empty, label: a}\n", r"empty: there are no Parquet files"),
        ("nodes:\n  - {file: broken.parquet, label: a}\n", r"broken\.parquet: no Parquet file"),
        ("nodes:\n  - {file: 's3://bucket/x.parquet', label: a}\n", r"give its folder as `root:` of the mapping"),
        ("nodes: 3\n", r"map\.yml:1:8: expected a list"),
        ("files: [x.graphml]\n", r"cannot be queried in place"),
        ("nodes:\n  - {file: person.parquet, label: a, properties: {name: int}}\n", None),
    ],
)
def test_what_a_mapping_gets_wrong_is_named(mapping, message):
    files(mapping)
    write("parted/month=05/a.parquet", {"id": [1]})
    os.mkdir("empty")
    write("delta/a.parquet", {"id": [1]})
    os.mkdir("delta/_delta_log")
    write("iceberg/data/a.parquet", {"id": [1]})
    os.mkdir("iceberg/metadata")
    write("texts.parquet", {"id": ["1", "2"]})
    write("lz4.parquet", {"id": [1]}, compression="lz4")
    for name in ("broken.parquet", "other.csv"):
        with open(name, "w") as out:
            out.write("id,name\n1,a\n")
    if message is None:
        lake = mg.open_lake("map.yml")
        with pytest.raises(mg.QueryError, match=r"column `name` holds `Ann`, which is no int32"):
            ask(lake, "g.V().values('name')")
        return
    with pytest.raises(mg.MangroveError, match=message):
        mg.open_lake("map.yml")


def test_columns_of_any_shape_are_read():
    rows = 3000
    shapes = {
        "id": list(range(rows)),
        "address": [{"city": f"c{n}", "zip": n} for n in range(rows)],
        "notes": pa.array([[(f"k{n}", n)] for n in range(rows)], pa.map_(pa.string(), pa.int64())),
        "kind": pa.array([f"kind {n // 10}" for n in range(rows)]).dictionary_encode(),
        "nothing": pa.nulls(rows),
        "deep": [[{"a": [n]}] for n in range(rows)],
    }
    write("shape.parquet", shapes, row_group_size=1000, write_page_index=True, data_page_size=2000)
    with open("map.yml", "w") as out:
        out.write("nodes:\n  - {file: shape.parquet, label: shape}\n")
    lake, copy = mg.open_lake("map.yml"), mg.open(":memory:", id_space="label")
    copy.load(mapping="map.yml")
    for query in ["g.V().has('id', within(0, 999, 2345)).valueMap()", "g.V().values('address').count()", "g.V().has('nothing').count()"]:
        assert sorted(map(repr, ask(lake, query))) == sorted(map(repr, ask(copy, query))), query
    assert ask(lake, "g.V().has('kind', 'kind 250').count()") == [10]


def test_ids_beyond_64_bits_are_named():
    write("big.parquet", {"id": pa.array([1, 2**63 + 5], pa.uint64())})
    with open("map.yml", "w") as out:
        out.write("nodes:\n  - {file: big.parquet, label: big}\n")
    lake = mg.open_lake("map.yml")
    with pytest.raises(mg.QueryError, match=r"big\.parquet: column `id` holds `9223372036854775813`, which is no int64"):
        ask(lake, "g.V().id()")
    assert "9223372036854775813" in lake.check()[0]


def test_a_vertex_without_an_id_is_named():
    write("n.parquet", {"id": [1, None, None], "kind": ["a", "a", "b"]})
    with open("map.yml", "w") as out:
        out.write("nodes:\n  - {file: n.parquet, label: n, where: {kind: a}}\n")
    with pytest.raises(mg.QueryError, match=r"n\.parquet: row 2: there is no id in column `id`"):
        ask(mg.open_lake("map.yml"), "g.V().id()")
    with open("map.yml", "w") as out:
        out.write("nodes:\n  - {file: n.parquet, label: n, where: {kind: a, id: {neq: null}}}\n")
    assert ask(mg.open_lake("map.yml"), "g.V().id()") == ["n/1"]


def test_foreign_keys_read_ids_as_their_table_does():
    mapping = "nodes:\n  - file: n.parquet\n    label: n\n    id_type: string\n    foreign_keys: {next: {label: next, to: n}}\n"
    write("n.parquet", {"id": [1, 2], "next": [2, None]})
    with open("map.yml", "w") as out:
        out.write(mapping)
    assert ask(mg.open_lake("map.yml"), "g.V().has('n', 'id', '1').out('next').values('id')") == ["2"]


def test_edges_are_found_by_the_ids_that_filters_leave():
    write("v.parquet", {"id": [1, 2]})
    write("e.parquet", {"id": [10, 11, 10], "src": [1, 2, 2], "dst": [2, 1, 2], "kind": ["a", "b", "b"]})
    edge = "  - {{file: e.parquet, label: {0}, id: id, where: {{kind: {0}}}}}\n"
    with open("map.yml", "w") as out:
        out.write("nodes:\n  - {file: v.parquet, label: v}\nedges:\n" + edge.format("b") + edge.format("a"))
    lake = mg.open_lake("map.yml")
    assert sorted(ask(lake, "g.E().id()")) == [10, 10, 11]
    assert ask(lake, "g.E(11).outV().values('id')") == [2] and ask(lake, "g.E(10).count()") == [1]
    with open("map.yml", "w") as out:
        out.write("nodes:\n  - {file: v.parquet, label: v}\nedges:\n" + edge.format("b").replace("kind: b", "src: 2, dst: 2"))
    assert ask(mg.open_lake("map.yml"), "g.E(10).inV().values('id')") == [2]


def test_a_mapping_in_a_store_does_not_lead_out_of_it(tmp_path, server):
    address, _ = server
    write("secret.parquet", {"id": [1]})
    os.mkdir("web")
    for root in (str(tmp_path), f"file://{tmp_path}", "../..", "s3://bucket", "http://127.0.0.1:1/x"):
        with open("web/map.yml", "w") as out:
            out.write(f"root: {root}\nnodes:\n  - {{file: secret.parquet, label: secret}}\n")
        with pytest.raises(mg.OpenError, match="its mapping leads to"):
            mg.open_lake(f"{address}/web/map.yml")


def test_a_file_that_was_replaced_is_another_one():
    files()
    assert ask(mg.open_lake("map.yml"), "g.V().has('person', 'id', 3).out('knows').values('id')") == [1]
    kept = os.stat("knows.parquet")
    write("knows.parquet", {**KNOWS, "dst": [2, 3, 3, 2, 2]}, row_group_size=2)
    assert os.path.getsize("knows.parquet") == kept.st_size
    os.utime("knows.parquet", ns=(kept.st_atime_ns, kept.st_mtime_ns))
    assert ask(mg.open_lake("map.yml"), "g.V().has('person', 'id', 3).out('knows').values('id')") == [2]


def test_the_loader_refuses_what_is_read_in_place_only():
    files()
    with pytest.raises(mg.LoadError, match=r"map\.yml: `foreign_keys` is for tables that are queried in place: `mangrove load DB map\.yml`"):
        mg.open(":memory:").load(mapping="map.yml")
    with pytest.raises(mg.LoadError, match=r"describes a graph in open files: load_lake\(\) loads it"):
        mg.open(":memory:").load("map.yml")
    with pytest.raises(mg.OpenError, match="open_lake"):
        mg.open("map.yml")


def test_a_mapping_is_proposed():
    write("shop/customers.parquet", {"id": [1, 2, 3], "name": ["a", "b", "c"]})
    write("shop/orders.parquet", {"order_id": [100, 101], "customer_id": [1, 3], "total": [1.5, 2.5]})
    write("shop/items/part-0.parquet", {"order_id": [100, 101], "product_id": ["x", "y"], "count": [1, 2]})
    write("shop/products.parquet", {"id": ["x", "y"], "price": [1.0, 2.0]})
    write("shop/customer_follows_customer.parquet", {"from": [1], "to": [2]})
    write("shop/notes.parquet", {"text": ["what"]})
    for part in range(2):
        write(f"shop/tags/part-{part}.parquet", {"id": [f"t{part}"], "x\nroot: /etc": [1]})
    write("shop/tagged.parquet", {"product_id": ["x", "gone"], "tag_id": ["t0", "t1"]})
    write("shop/twins.parquet", {"src": [1], "dst": [500]})
    write("shop/old/_delta_log/x.parquet", {"id": [1]})
    text = mg.propose_mapping("shop")
    with open("map.yml", "w") as out:
        out.write(text)
    assert '"old" is a table of Delta' in text or "old is a table of Delta" in text
    assert text.count('_label: "?"') == 1, "where twins go is not known"
    text = text.replace('target_label: "?"', "target_label: orders")
    with open("map.yml", "w") as out:
        out.write(text.replace("label: tagged", "label: tagged\n    missing: skip").replace("label: twins", "label: twins\n    missing: skip"))
    assert "root: /etc" not in text.replace("\\nroot: /etc", "")
    assert "# notes.parquet has neither a column of ids nor columns for both ends of edges: text" in text
    lake = mg.open_lake("map.yml")
    assert ask(lake, "g.V().label().groupCount()") == [{"customers": 3, "orders": 2, "products": 2, "tags": 2}]
    assert ask(lake, "g.V().has('products', 'id', 'x').out('tagged').values('id')") == ["t0"]
    assert ask(lake, "g.V().has('orders', 'order_id', 101).out('customer').values('name')") == ["c"]
    assert ask(lake, "g.V().has('orders', 'order_id', 101).out('items').values('price')") == [2.0]
    assert ask(lake, "g.V().has('customers', 'id', 1).out('customer_follows_customer').values('name')") == ["b"]
    done = subprocess.run([COMMAND, "lake", "map", "shop"], capture_output=True, text=True, check=True)
    assert done.stdout == mg.propose_mapping("shop")
    with pytest.raises(mg.OpenError, match="lake map shop"):
        mg.open_lake("shop")
    for folder in ("empty", "missing"):
        if folder == "empty":
            os.mkdir(folder)
        with pytest.raises(mg.OpenError, match=folder):
            mg.propose_mapping(folder)


def test_a_query_stops_while_an_index_is_made():
    size = 400_000
    ids = list(range(size))
    write("person.parquet", {"id": [f"person number {n}" for n in ids]})
    write("knows.parquet", {"src": [f"person number {n}" for n in ids], "dst": [f"person number {n * 7 % size}" for n in ids]})
    with open("map.yml", "w") as out:
        out.write("nodes:\n  - {file: person.parquet, label: person}\nedges:\n  - {file: knows.parquet, label: knows}\n")
    lake = mg.open_lake("map.yml")
    with pytest.raises(mg.TimeoutError):
        lake.query("g.V().limit(1).out().values('id')", timeout=0.001)
    assert ask(lake, "g.V().has('person', 'id', 'person number 3').out().values('id')") == ["person number 21"]


def test_tables_are_exported_and_opened_beside_each_other():
    lake = mg.open_lake(files())
    lake.export("out", "graphar")
    assert ask(mg.open_lake("out/out.graph.yml"), "g.V().has('person', 'id', 1).out('knows').count()") == [3]
    shutil.rmtree("out")
    lake.export("out", "parquet")
    again = mg.open_lake("out/mangrove.yaml")
    for query in QUESTIONS:
        ordered = lambda rows: sorted(map(repr, rows[0])) if rows and isinstance(rows[0], list) else rows
        assert ordered(ask(lake, query)) == ordered(ask(again, query)), query


def test_a_web_server_and_a_local_mapping(tmp_path, server):
    address, handler = server
    os.mkdir("tables")
    os.chdir("tables")
    files()
    os.chdir("..")
    local, far = mg.open_lake("tables/map.yml"), mg.open_lake(f"{address}/tables/map.yml")
    assert_same(local, far)
    with open("far.yml", "w") as out:
        out.write(f"root: {address}/tables\n" + MAPPING)
    lake = mg.open_lake("far.yml")
    assert_same(local, lake)
    handler.log.clear()
    assert_same(local, lake)
    assert not handler.log, "all pages are in memory"
    # The lists of edges and the ids are on this machine now: what is left are the pages of names.
    again = mg.open_lake("far.yml")
    handler.log.clear()
    assert ask(again, "g.V().has('person', 'id', 3).in('knows').values('name')") == ["Ann", "Ben"]
    assert len(handler.log) == 1
    handler.failing = True
    with pytest.raises(mg.QueryError, match=r"person\.parquet: the store of files does not answer.*503"):
        again.query("g.V().hasLabel('person').values('born')", timeout=60).to_list()


def test_an_s3_store_holds_tables(tmp_path, s3):
    for part in range(3):
        write(f"shop/customer/part-{part}.parquet", {"id": [part], "name": [f"c{part}"]})
    write("shop/orders.parquet", {"id": [7, 8], "customer_id": [2, 0]})
    uploaded(s3, tmp_path / "shop", "some/shop")
    text = mg.propose_mapping("s3://graphs/some/shop")
    assert text.splitlines()[1] == "root: \"s3://graphs/some/shop\""
    with open("map.yml", "w") as out:
        out.write(text)
    lake = mg.open_lake("map.yml")
    assert ask(lake, "g.V().has('orders', 'id', 7).out('customer').values('name')") == ["c2"]
    assert lake.stats()["disk_bytes"] == sum(f.stat().st_size for f in (tmp_path / "shop").rglob("*") if f.is_file())
    write("shop/customer/part-3.parquet", {"id": [3], "name": ["c3"]})
    uploaded(s3, tmp_path / "shop/customer", "some/shop/customer")
    changes = lake.refresh()
    assert changes["added"] == ["s3://graphs/some/shop/customer/part-3.parquet"] and changes["removed"] == []
    assert ask(lake, "g.V().hasLabel('customer').count()") == [4]
    s3.upload_file(str(tmp_path / "map.yml"), "graphs", "some/shop/map.yml")
    assert ask(mg.open_lake("s3://graphs/some/shop/map.yml"), "g.V().has('orders', 'id', 8).out().values('name')") == ["c0"]
    s3.delete_object(Bucket="graphs", Key="some/shop/orders.parquet")
    with pytest.raises(mg.MangroveError, match=r"s3://graphs/some/shop/orders\.parquet: there is no such file"):
        lake.refresh()
    assert ask(lake, "g.V().hasLabel('customer').count()") == [4], "it goes on as it was"


def test_a_proposal_says_what_it_leaves_out(tmp_path):
    for folder in ("mixed", "shop"):
        (tmp_path / folder).mkdir()
    pq.write_table(pa.table({"id": [1, 2], "x": [1, 2]}), tmp_path / "good.parquet")
    pq.write_table(pa.table({"id": [1], "x": [1]}), tmp_path / "mixed/a.parquet")
    pq.write_table(pa.table({"id": [2], "x": [1.5]}), tmp_path / "mixed/b.parquet")
    pq.write_table(pa.table({"id": [1]}), tmp_path / "shop/customer.parquet")
    pq.write_table(pa.table({"src": [1], "dst": [1]}), tmp_path / "shop/knows.parquet")
    (tmp_path / "bad.parquet").write_text("no table")
    text = mg.propose_mapping(tmp_path)
    assert "file: good.parquet" in text and text.count("- file:") == 1
    assert "# mixed has files with different columns" in text and "b.parquet: id (Int64), x (Float64)" in text
    assert "# shop has files with different columns; if each file is a table, run `mangrove lake map` for this folder" in text
    assert '# "bad.parquet" cannot be read' in text or "# bad.parquet cannot be read" in text
    (tmp_path / "map.yml").write_text(text)
    assert mg.open_lake(tmp_path / "map.yml").query("g.V().count()").one() == 2
