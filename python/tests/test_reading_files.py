"""How files are read: other encodings, nulls, delimiters; what makes a column text; and the mapping a load writes."""

import datetime
import os
import warnings

import pandas as pd
import pytest

import mangrovedb as mg

from test_cli import mangrove


def rows(db, label="p"):
    return db.query(f"g.V().hasLabel('{label}').order().by(id).elementMap()").to_dicts()


@pytest.mark.parametrize("encoding, text", [("latin1", "Zoë,Müller"), ("windows-1252", "€ and “quotes”"), ("utf-16le", "東京 😀"), ("shift_jis", "東京"), ("cp1251", "Москва")])
def test_files_of_other_encodings(tmp_path, empty, encoding, text):
    content = f'id,name\n1,"{text}"\n'
    (tmp_path / "p.csv").write_bytes(content.encode({"utf-16le": "utf-16-le"}.get(encoding, encoding)))
    name = {"cp1251": "windows-1251"}.get(encoding, encoding)
    empty.load(nodes={"p": "p.csv"}, encoding=name)
    assert empty.query("g.V(1).values('name')").one() == text
    done = mangrove("load", tmp_path / "shell.mg", "--nodes", f"p={tmp_path / 'p.csv'}", "--encoding", name)
    assert done.returncode == 0, done.stderr
    with mg.open(tmp_path / "shell.mg") as db:
        assert db.query("g.V(1).values('name')").one() == text


def test_a_byte_order_mark_says_the_encoding(tmp_path, empty):
    (tmp_path / "p.csv").write_bytes("id,name\n1,Łódź\n".encode("utf-16"))
    empty.load(nodes={"p": "p.csv"})
    assert empty.query("g.V(1).values('name')").one() == "Łódź"


def test_what_is_no_text_of_an_encoding_is_refused(tmp_path, empty):
    (tmp_path / "p.csv").write_bytes(b"id,name\n1,Zo\xeb\n")
    with pytest.raises(mg.LoadError, match="p.csv:2:.*not UTF-8"):
        empty.load(nodes={"p": "p.csv"})
    with pytest.raises(mg.LoadError, match="the bytes from byte 13 on are not text in Shift_JIS"):
        empty.load(nodes={"p": "p.csv"}, encoding="shift_jis")
    with pytest.raises(mg.LoadError, match="unknown encoding latin-nine: use utf-8"):
        empty.load(nodes={"p": "p.csv"}, encoding="latin-nine")
    assert empty.query("g.V().count()").one() == 0


def test_nulls(tmp_path, empty):
    (tmp_path / "p.csv").write_text('id,age,city,note\n1,30,NA,"NA"\n2,\\N,Rome, NA \n3,NA,,x\n')
    report = empty.load(nodes={"p": "p.csv"}, null=["NA", "\\N"])
    assert report["warnings"] == []
    assert rows(empty) == [
        {"id": 1, "label": "p", "age": 30, "city": None, "note": "NA"},
        {"id": 2, "label": "p", "age": None, "city": "Rome", "note": None},
        {"id": 3, "label": "p", "age": None, "city": None, "note": "x"},
    ]
    done = mangrove("load", tmp_path / "shell.mg", "--nodes", f"p={tmp_path / 'p.csv'}", "--null", "NA", "--null", "\\N")
    assert done.returncode == 0 and "warning" not in done.stderr
    with mg.open(tmp_path / "shell.mg") as db:
        assert rows(db) == rows(empty)
    (tmp_path / "q.csv").write_text("id,age\nNA,1\n")
    with pytest.raises(mg.LoadError, match="no id"):
        empty.load(nodes={"q": "q.csv"}, null="NA")


def test_a_delimiter(tmp_path, empty):
    (tmp_path / "p.txt").write_text("id name,or\n1 x\n")
    empty.load(nodes={"p": "p.txt"}, delimiter=" ", format="csv")
    assert empty.query("g.V(1).valueMap()").one() == {"id": [1], "name,or": ["x"]}
    with pytest.raises(ValueError, match="a delimiter must be one character"):
        empty.load(nodes={"p": "p.txt"}, delimiter=", ")
    assert mangrove("load", tmp_path / "s.mg", tmp_path / "p.txt", "--delimiter", "ab").returncode == 2


def test_the_line_that_makes_a_column_text_is_named(tmp_path, empty):
    (tmp_path / "p.csv").write_text('id,age,day\n1,30,2020-01-01\n2,"x, ""y""",2020-01-02\n3,,?\n4,31,\n')
    warnings = empty.load(nodes={"p": "p.csv"})["warnings"]
    assert len(warnings) == 2
    assert 'p.csv:3:3: `x, "y"` makes `age` a column of text; other rows hold int64' in warnings[0] and "`age:int64`" in warnings[0]
    assert "p.csv:4:4: `?` makes `day` a column of text; other rows hold date" in warnings[1]
    # Behind the sample, too.
    lines = [f"{n + 10},{n}" for n in range(20_000)]
    lines[15_000] = "15010,abc"
    (tmp_path / "q.csv").write_text("id,age\n" + "\n".join(lines) + "\n")
    warnings = empty.load(nodes={"q": "q.csv"})["warnings"]
    assert any("q.csv:15002:7: `abc` makes `age` a column of text; other rows hold int64" in warning for warning in warnings)
    assert empty.query("g.V().hasLabel('q').has('id', 13).values('age')").one() == "3"


def test_a_mapping_is_written_and_loads_the_same(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "person.csv").write_text("id;age;seen\na;30;2020-01-01\nb;NA;\n")
    (tmp_path / "in" / "city.tsv").write_text("id\tpeople:long\n1\t5\n")
    (tmp_path / "in" / "neo.csv").write_text("key:ID(Thing),size:int,:LABEL\n7,3,Thing;Big\n")
    (tmp_path / "in" / "lives.csv").write_text("src,dst,since\na,1,2001\n")
    arguments = [
        "--nodes", f"person={tmp_path}/in/person.csv", "--nodes", f"city={tmp_path}/in/city.tsv", tmp_path / "in" / "neo.csv",
        "--edges", f"person:lives in:city={tmp_path}/in/lives.csv", "--null", "NA", "--edge-time", "since",
    ]
    assert mangrove("load", tmp_path / "a.mg", *arguments).returncode == 0
    done = mangrove("load", tmp_path / "b.mg", *arguments, "--write-mapping", tmp_path / "m.yaml")
    assert done.returncode == 0 and "nothing was loaded" in done.stderr and not (tmp_path / "b.mg").exists()
    text = (tmp_path / "m.yaml").read_text()
    assert 'file: "in/person.csv"' in text and '"age": "int64"' in text and 'delimiter: ";"' in text and 'nulls: ["NA"]' in text
    assert mangrove("load", tmp_path / "b.mg", "--mapping", tmp_path / "m.yaml").returncode == 0
    with mg.open(tmp_path / "a.mg") as a, mg.open(tmp_path / "b.mg") as b:
        seen = lambda db: sorted(map(repr, db.query("g.V().union(identity(), outE()).elementMap()").to_list()))
        assert seen(a) == seen(b) != []
        assert a.schema()["edges"] == b.schema()["edges"]
        report = a.load(tmp_path / "in" / "city.tsv", write_mapping=tmp_path / "py.yaml")
        assert report["vertices"] == {} and '"in/city.tsv"' in (tmp_path / "py.yaml").read_text()
        with pytest.raises(mg.LoadError, match="not tables in memory"):
            a.load(nodes={"x": [{"id": 1}]}, write_mapping=tmp_path / "no.yaml")


def test_a_written_mapping_keeps_what_the_options_said(tmp_path):
    (tmp_path / "weight.txt").write_text("1 2 0.5\n2 3 0.7\n")
    (tmp_path / "words.txt").write_text("alice bob\nbob carl\n")
    (tmp_path / "counts.csv").write_text("1,2,3,4\n5,6,7,8\n")
    (tmp_path / "ends.csv").write_text("src,dst\n1,9\n")
    options = [
        "--edges", f"user:trusts:user={tmp_path}/weight.txt", "--edges", f"person:calls:person={tmp_path}/words.txt", "--format", "edgelist",
        "--index", "user.name", "--searchable", "user.name",
    ]  # fmt: skip
    mapping = tmp_path / "m.yaml"
    assert mangrove("load", tmp_path / "a.mg", *options, "--write-mapping", mapping).returncode == 0
    text = mapping.read_text()
    assert '"name": {index: true, encoding: searchable}' in text and "  vertices:\n" in text
    mapping.write_text(text[: text.index("schema:")])
    done = mangrove("load", tmp_path / "a.mg", "--mapping", mapping)
    assert done.returncode == 0, done.stderr
    with mg.open(tmp_path / "a.mg") as db:
        assert db.query("g.V(1).hasLabel('user').outE('trusts').values('weight')").one() == 0.5
        assert db.query("g.V('alice').hasLabel('person').out('calls').id()").one() == "bob"
    again = mangrove("load", tmp_path / "a.mg", *options, "--write-mapping", mapping)
    assert again.returncode == 1 and "exists" in again.stderr.lower()
    some = mangrove("load", tmp_path / "b.mg", tmp_path / "counts.csv", tmp_path / "ends.csv", "--write-mapping", tmp_path / "some.yaml")
    assert some.returncode == 0 and "# left out: " in (tmp_path / "some.yaml").read_text(), some.stderr
    none = mangrove("load", tmp_path / "b.mg", tmp_path / "counts.csv", "--write-mapping", tmp_path / "none.yaml")
    assert none.returncode == 1 and "counts.csv" in none.stderr and not (tmp_path / "none.yaml").exists()


def size(db):
    return os.stat(os.path.join(db.path, "hot", "data.mdb")).st_size


def test_a_load_that_fails_gives_its_room_back(tmp_path):
    text = "x" * 900
    (tmp_path / "big.csv").write_text("id,text\n" + "".join(f"{n},{text}{n}\n" for n in range(200_000)) + "bad\n")
    with mg.open(tmp_path / "g.mg") as db:
        db.query("g.addV('p').property('x', 1)")
        before = size(db)
        with pytest.raises(mg.LoadError, match="big.csv:200002"):
            db.load(nodes={"p": "big.csv"})
        assert size(db) < before + (2 << 20)
        assert db.check() == [] and db.query("g.V().count()").one() == 1
        db.load(nodes={"p": "big.csv"}, on_error="skip", compact=False)
        assert db.query("g.V().count()").one() == 200_001 and db.check() == []
        assert size(db) > 150 << 20


def test_a_second_day_of_another_type_is_told(empty, tmp_path):
    (tmp_path / "d1.csv").write_text("id,age,code\n1,30,a\n2,31,b\n")
    (tmp_path / "d2.csv").write_text("id,age,code\n3,unknown,17\n4,40.5,18\n")
    empty.load(nodes={"p": "d1.csv"})
    with pytest.warns(mg.QueryWarning, match="d2.csv:2:1: `age` gets the string unknown, but `p` has only int64 there so far"):
        empty.load(nodes={"p": "d2.csv"})
    assert empty.query("g.V(3).values('code')").one() == "17", "a column of text stays one"
    empty.load(nodes={"q": [{"id": 8, "age": 1}]})
    with pytest.warns(mg.QueryWarning, match="row 1: `age` gets the date 2020-01-01"):
        empty.load(nodes={"q": pd.DataFrame({"id": [9], "age": [datetime.date(2020, 1, 1)]})})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        empty.load(nodes={"q": [{"id": 10, "age": 2.5}]})


def test_text_before_numbers_is_told_too(empty, tmp_path):
    (tmp_path / "p.csv").write_text("id,age\n1,unknown\n2,40\n3,41\n")
    with pytest.warns(mg.QueryWarning, match="p.csv:2:3: `unknown` makes `age` a column of text; other rows hold int64"):
        empty.load(nodes={"p": "p.csv"})
    (tmp_path / "h.csv").write_text("id,house\n5,12a\n6,12b\n7,14\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        empty.load(nodes={"h": "h.csv"})


def test_encodings_are_named_as_people_write_them(empty, tmp_path):
    (tmp_path / "p.csv").write_bytes("id,name\n1,Zoë\n".encode("latin1"))
    with pytest.raises(mg.LoadError, match='encoding="latin1"'):
        empty.load(nodes={"p": "p.csv"})
    assert "--encoding latin1" in mangrove("load", tmp_path / "x.mg", "--nodes", f"p={tmp_path}/p.csv").stderr
    empty.load(nodes={"p": "p.csv"}, encoding="latin-1")
    assert empty.query("g.V(1).values('name')").one() == "Zoë"


def test_partitions_are_not_lost(empty, tmp_path):
    (tmp_path / "days" / "month=05").mkdir(parents=True)
    (tmp_path / "days" / "month=05" / "part.csv").write_text("id\n1\n")
    with pytest.raises(mg.LoadError, match=r"month=05 says a column .* nodes={\"LABEL\": …}"):
        empty.load(nodes={"day": "days/*/*.csv"})
    with pytest.raises(mg.LoadError, match=r"days: this is a folder of partitions: give its label, as in nodes={\"LABEL\": …}"):
        empty.load("days")
    done = mangrove("load", tmp_path / "x.mg", tmp_path / "days")
    assert done.returncode == 1 and "--nodes LABEL=FILE" in done.stderr


def test_edges_in_a_table_without_names(empty, tmp_path):
    (tmp_path / "e.tsv").write_text("1\t2\n2\t3\n")
    (tmp_path / "e.csv").write_text("1,2\n2,3,0.5\n")
    for name in ("e.tsv", "e.csv"):
        with pytest.raises(mg.LoadError, match='give format="edgelist"'):
            empty.load(name)
        empty.load(name, format="edgelist")
    assert empty.query("g.E().count()").one() == 4 and empty.query("g.E().values('weight')").one() == 0.5


def test_what_is_no_table_is_refused_with_the_way(empty):
    for given, match in [
        (dict(edges=pd.DataFrame({"src": [1], "dst": [2]})), "edges is a dict from labels to tables or files, .* not a DataFrame"),
        (dict(nodes="f.csv"), "nodes is a dict from labels .* not a str"),
        (dict(nodes={"p": pd.Series([1, 2])}), r"a Series is one column: give a data frame, as in series.to_frame\('id'\)"),
        (dict(edges={"m": [(1, 2)]}), "give dicts, a dict of columns"),
    ]:
        with pytest.raises(TypeError, match=match):
            empty.load(**given)


def test_a_written_mapping_says_all_that_the_options_say(tmp_path):
    (tmp_path / "person.csv").write_text("id,name\n1,a\n2,b\n")
    (tmp_path / "post.csv").write_text("id,text\n1,hello\n")
    (tmp_path / "knows.csv").write_text("src,dst,since\n1,2,2020-01-01\n")
    (tmp_path / "likes.csv").write_text("src,dst\n1,1\n")
    options = [
        "--nodes", f"Person={tmp_path}/person.csv", "--nodes", f"Post={tmp_path}/post.csv",
        "--edges", f"Person:knows:Person={tmp_path}/knows.csv", "--edges", f"Person:likes:Post={tmp_path}/likes.csv",
        "--id-space", "label", "--index", "Person.name", "--searchable", "Post.text", "--edge-time", "since",
    ]  # fmt: skip
    assert mangrove("load", tmp_path / "a.mg", *options).returncode == 0
    assert mangrove("load", tmp_path / "b.mg", *options, "--write-mapping", tmp_path / "m.yaml").returncode == 0
    done = mangrove("load", tmp_path / "b.mg", "--mapping", tmp_path / "m.yaml")
    assert done.returncode == 0, done.stderr
    with mg.open(tmp_path / "a.mg") as a, mg.open(tmp_path / "b.mg") as b:
        assert a.schema() == b.schema() and a.schema()["indexes"] and b.query("g.V('Person/1').out('likes').id()").one() == "Post/1"
    done = mangrove("load", tmp_path / "c.mg", tmp_path / "knows.csv", "--write-mapping", tmp_path / "n.yaml")
    assert done.returncode == 0 and "# source_label: LABEL" in (tmp_path / "n.yaml").read_text()


def test_addresses_of_other_places_are_refused_with_the_way(empty):
    for address in ("s3://bucket/p.csv", "https://example.org/p.csv"):
        with pytest.raises(mg.LoadError, match="reads local files only. Copy the file"):
            empty.load(nodes={"p": address})


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('[{"id": 1} {"id": 2}]', "expected a comma between two items of the JSON array at line 1, column 12"),
        ('[{"id": 1},\n]', "expected another item of the JSON array after the comma at line 2, column 1"),
        ('[,{"id": 1}]', "expected an item of the JSON array before the comma at line 1, column 2"),
        ('[{"id": 1},,{"id": 2}]', "expected an item of the JSON array before the comma at line 1, column 12"),
    ],
)
def test_misplaced_commas_in_a_json_array_are_refused(empty, tmp_path, text, what):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(mg.LoadError, match=what):
        empty.load(nodes={"thing": tmp_path / "a.json"})
    assert empty.query("g.V().count()").one() == 0


def test_a_json_array_is_a_table(empty, tmp_path):
    (tmp_path / "arr.json").write_text('[\n {"id": 1, "name": "x", "tags": ["a", "b"]},\n {"id": 2, "name": "y"}\n]\n')
    report = empty.load(nodes={"thing": tmp_path / "arr.json"}, key={"thing": "id"})
    assert report["vertices"] == {"thing": 2}
    assert empty.query("g.V(1).values('tags')").to_list() == [["a", "b"]]
    (tmp_path / "cut.json").write_text('[{"id": 3},')
    with pytest.raises(mg.LoadError, match="cut.json.*the JSON array has no end"):
        empty.load(nodes={"thing": tmp_path / "cut.json"})
    (tmp_path / "bad.json").write_text('[{"id": 3},\n {"name": "z"}]')
    with pytest.raises(mg.LoadError, match="bad.json:2:1: no id"):
        empty.load(nodes={"thing": tmp_path / "bad.json"})
    assert empty.query("g.V().count()").to_list() == [2]
