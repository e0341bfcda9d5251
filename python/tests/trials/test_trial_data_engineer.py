"""What a data engineer tries first, who has files, a schedule and pipelines."""

import os

import pytest

import mangrovedb as mg

pyarrow = pytest.importorskip("pyarrow")
import pyarrow.parquet

from test_cli import mangrove


@pytest.fixture
def day_one(tmp_path):
    (tmp_path / "Person.csv").write_text("id,name,browser\n" + "".join(f"{n},name {n},Firefox\n" for n in range(300)))
    (tmp_path / "knows.csv").write_text("src,dst,creationDate\n" + "".join(f"{n},{(n + 1) % 300},2020-01-01\n" for n in range(300)))
    files = ["--nodes", f"Person={tmp_path}/Person.csv", "--edges", f"Person:knows:Person={tmp_path}/knows.csv"]
    path = tmp_path / "snb.mg"
    assert mangrove("load", path, *files, "--id-space", "label").returncode == 0
    return path


def test_the_second_day(day_one, tmp_path):
    (tmp_path / "day2_person.csv").write_text("id,browser\n" + "".join(f"{n},Chrome\n" for n in range(200)) + "".join(f"{n},Safari\n" for n in range(300, 350)))
    (tmp_path / "day2_knows.csv").write_text("src,dst,creationDate\n" + "".join(f"{n},{n + 1},2020-01-01\n" for n in range(10)) + "".join(f"{n},0,2021-01-01\n" for n in range(300, 350)))
    files = ["--nodes", f"Person={tmp_path}/day2_person.csv", "--edges", f"Person:knows:Person={tmp_path}/day2_knows.csv"]
    refused = mangrove("load", day_one, *files)
    assert refused.returncode == 1 and "--on-exists" in refused.stderr
    done = mangrove("load", day_one, *files, "--on-exists", "update", "--on-duplicate", "update")
    assert done.returncode == 0 and "200 updated" in done.stderr
    with mg.open(day_one) as db:
        assert db.query("g.V().groupCount().by('browser')").one() == {"Chrome": 200, "Firefox": 100, "Safari": 50}
        assert db.query("g.E().count()").one() == 350, "none twice"
        assert db.query("g.V('Person/5').values('name')").one() == "name 5"


def test_dirty_rows(tmp_path):
    (tmp_path / "p.csv").write_bytes("id,age,name\n1,30,Zoë\n2,x,NA\n3,40,Bob\n".encode("latin1"))
    path = tmp_path / "d.mg"
    done = mangrove("load", path, "--nodes", f"p={tmp_path}/p.csv", "--encoding", "latin1", "--null", "NA")
    assert done.returncode == 0 and "p.csv:3:3: `x` makes `age` a column of text" in done.stderr
    (tmp_path / "q.csv").write_text("id,age:int\n1,x\n2,y\n3,z\n4,5\n")
    many = mangrove("load", tmp_path / "q.mg", "--nodes", f"p={tmp_path}/q.csv", "--on-error", "skip", "--max-rejects", "2")
    assert many.returncode == 1
    (tmp_path / "r.csv").write_text("id,age:int\n1,x\n")
    assert mangrove("load", tmp_path / "r.mg", "--nodes", f"p={tmp_path}/r.csv", "--on-error", "skip").returncode == 1, "all were skipped"


def test_parquet_in_and_out(tmp_path, empty):
    table = pyarrow.table({"id": [1, 2], "ym": ["2020-01", "2020-02"], "n": [1.5, None]})
    pyarrow.parquet.write_to_dataset(table, tmp_path / "hive", partition_cols=["ym"])
    empty.load(nodes={"m": tmp_path / "hive"})
    assert empty.query("g.V(2).values('ym')").one() == "2020-02"
    assert mangrove("load", tmp_path / "h.mg", "--nodes", f"m={tmp_path}/hive").returncode == 0
    assert mangrove("query", tmp_path / "h.mg", "g.V(2).values('ym')", "--format", "json").stdout.strip() == '"2020-02"'
    empty.export(tmp_path / "out", "parquet")
    assert pyarrow.parquet.read_table(tmp_path / "out" / "vertices_m.parquet").sort_by("id")["ym"].to_pylist() == ["2020-01", "2020-02"]


def test_a_mapping_is_written_instead_of_typed(tmp_path):
    for name in ("Person", "City"):
        (tmp_path / f"{name}.csv").write_text("id,name\n1,x\n")
    done = mangrove("load", tmp_path / "x.mg", tmp_path / "Person.csv", tmp_path / "City.csv", "--write-mapping", tmp_path / "m.yaml")
    assert done.returncode == 0
    assert mangrove("load", tmp_path / "x.mg", "--mapping", tmp_path / "m.yaml", "--id-space", "label").returncode == 0


def test_operations(day_one, tmp_path):
    assert mangrove("compact", day_one).returncode == 0
    assert mangrove("backup", day_one, tmp_path / "copy.mg").returncode == 0
    assert mangrove("check", tmp_path / "copy.mg").returncode == 0
    done = mangrove("query", day_one, "g.E().has('knows', 'creationDate', gt('2020'))", "--format", "json")
    assert done.returncode == 0
    with mg.open(day_one) as db:
        assert db.create_index("knows", "creationDate")
    text = "x" * 2000
    (tmp_path / "big.csv").write_text("id,text\n" + "".join(f"{n},{text}\n" for n in range(1000, 61_000)) + "bad\n")
    data = day_one / "hot" / "data.mdb"
    before = os.stat(data).st_size
    assert mangrove("load", day_one, "--nodes", f"Big={tmp_path}/big.csv").returncode == 1
    assert os.stat(data).st_size < before + (2 << 20), "a failed load gives its room back"
