"""Values so long that no chunk of them is in memory as a whole."""

import random

import mangrovedb as mg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

DOCUMENTS, LENGTH = 150, 1_000_000
WORDS = ["harbour", "lantern", "meadow", "thistle", "orchard", "river", "stone", "amber"]


def text(number):
    rng = random.Random(number)
    return (f"{number} " + " ".join(rng.choices(WORDS, k=500)) * (LENGTH // 3000))[:LENGTH]


def noise(number):
    return random.Random(number).randbytes(LENGTH // 2)


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """150 documents of 1.5 MB in a segment. Memory holds 64 MB of cells of a chunk."""
    path = tmp_path_factory.mktemp("long")
    numbers = range(DOCUMENTS)
    table = pa.table({"id": numbers, "text": [text(n) for n in numbers], "noise": [noise(n) for n in numbers]})
    pq.write_table(table, path / "document.parquet", row_group_size=40)
    with mg.open(path / "db") as db:
        db.load(path / "document.parquet", compact=True, progress=False)
    return path


def test_long_values_are_read_from_a_segment(documents):
    with mg.open(documents / "db", read_only=True) as db:
        for number in (0, 63, 149):
            found = db.query("g.V(x).valueMap().by(unfold())", x=number).one()
            assert found["text"] == text(number) and bytes(found["noise"]) == noise(number)
        assert db.query("g.V().has('text', startingWith('149 ')).id()").to_list() == [149]
        assert db.check() == []
    size = sum(file.stat().st_size for file in (documents / "db").rglob("*.seg"))
    assert 75e6 < size < 150e6  # the noise as it is, and the texts by symbols


def test_long_values_are_copied_and_changed(documents, tmp_path):
    with mg.open(documents / "db") as db:
        db.query("g.V(7).property('text', 'short')").to_list()
        db.relayout(tmp_path / "new", "degree", progress=False)
        db.query("g.V(7).property('text', x)", x=text(7)).to_list()
    with mg.open(tmp_path / "new") as new:
        assert new.query("g.V(7).values('text')").one() == "short"
        new.query("g.V(8, 148).property('text', 'shorter')").to_list()
        new.compact()
        assert new.query("g.V().values('text').length().sum()").one() == 147 * LENGTH + len("short") + 2 * len("shorter")
        assert new.query("g.V(9).values('text')").one() == text(9) and new.check() == []


@pytest.mark.parametrize(
    "query",
    [
        "g.V().values('text')",
        "g.V().has('id', gte(0)).values('text')",
        "g.V().project('id', 'text').by('id').by('text')",
        "g.V().valueMap('text').by(unfold())",
        "g.V().elementMap('text')",
        "g.V().barrier().values('text')",
        "g.V().barrier().project('id', 'text').by('id').by('text')",
        "g.V()",
    ],
)
def test_a_stream_of_long_values_needs_memory_for_few(documents, query):
    """The scan, the properties and the elements of results are each read in parts: all together they take 150 MB and more."""
    with mg.open(documents / "db", read_only=True) as db:
        found = [text_of(row) for row in db.stream(query, memory_mb=90)]
    assert len(found) == DOCUMENTS and found[149] == text(149)


def test_long_values_may_follow_many_short_ones(tmp_path):
    """The parts have grown to thousands of rows when the long values come, and 8,192 of them take 330 MB."""
    short, long = 30_000, 9_000
    with mg.open(tmp_path / "db") as db:
        rows = [{"id": n, "text": "short" if n < short else WORDS[n % 8] * 6_000} for n in range(short + long)]
        db.load(nodes={"note": rows}, compact=True, progress=False)
        lengths = [len(text) for text in db.stream("g.V().values('text')", memory_mb=100)]
    assert len(lengths) == short + long and sum(lengths) == sum(len(row["text"]) for row in rows)


def text_of(row):
    match row:
        case str():
            return row
        case dict():
            return row["text"]
        case vertex:
            return vertex["text"]
