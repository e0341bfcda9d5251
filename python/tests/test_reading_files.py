"""How files are read: other encodings, nulls, delimiters; what makes a column text; and the mapping a load writes."""

import os

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
    with pytest.raises(mg.LoadError, match="byte 13 and the next are no text in Shift_JIS"):
        empty.load(nodes={"p": "p.csv"}, encoding="shift_jis")
    with pytest.raises(mg.LoadError, match="latin-nine is no encoding; there are utf-8"):
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
    with pytest.raises(ValueError, match="a delimiter is one character"):
        empty.load(nodes={"p": "p.txt"}, delimiter=", ")
    assert mangrove("load", tmp_path / "s.mg", tmp_path / "p.txt", "--delimiter", "ab").returncode == 2


def test_the_line_that_makes_a_column_text_is_named(tmp_path, empty):
    (tmp_path / "p.csv").write_text('id,age,day\n1,30,2020-01-01\n2,"x, ""y""",2020-01-02\n3,,?\n4,31,\n')
    warnings = empty.load(nodes={"p": "p.csv"})["warnings"]
    assert len(warnings) == 2
    assert 'p.csv:3:3: `x, "y"` makes `age` a column of text; before, it holds int64' in warnings[0] and "`age:int64`" in warnings[0]
    assert "p.csv:4:4: `?` makes `day` a column of text; before, it holds date" in warnings[1]
    # Behind the sample, too.
    lines = [f"{n + 10},{n}" for n in range(20_000)]
    lines[15_000] = "15010,abc"
    (tmp_path / "q.csv").write_text("id,age\n" + "\n".join(lines) + "\n")
    warnings = empty.load(nodes={"q": "q.csv"})["warnings"]
    assert any("q.csv:15002:7: `abc` makes `age` a column of text; before, it holds int64" in warning for warning in warnings)
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
