"""Results read as Arrow record batches, with memory for one of them."""

import subprocess
import sys

import pytest

import mangrovedb as mg

pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture
def people(empty):
    rows = [{"id": n, "name": f"name {n}", "late": n if n > 5000 else None, "score": n / 2} for n in range(10_000)]
    empty.load(nodes={"person": rows}, edges={("person", "knows", "person"): [{"src": n, "dst": n + 1} for n in range(9999)]})
    return empty


@pytest.mark.parametrize("query", ["g.V()", "g.E()", "g.V().valueMap().by(unfold())", "g.V().values('score')", "g.V().project('n').by('name')"])
def test_batches_make_the_table(people, query):
    reader = people.stream(query).batches(1000)
    batches = list(reader)
    assert len(batches) >= 10 and all(batch.schema == reader.schema and batch.num_rows <= 1000 for batch in batches)
    table, whole = pyarrow.Table.from_batches(batches), people.query(query).to_arrow()
    assert table.column_names == whole.column_names
    assert table.to_pylist() == whole.to_pylist()


def test_a_column_that_begins_with_nothing_has_its_type(people):
    reader = people.stream("g.V().order().by(id)").batches(100)
    assert str(reader.schema.field("late").type) == "int64"
    assert sum(batch.column("late").null_count for batch in reader) == 5001


def test_no_results_have_columns_too(people):
    reader = people.stream("g.V().hasLabel('person').has('name', 'nobody')").batches()
    assert reader.schema.names == ["id", "label", "name", "late", "score"] and reader.read_all().num_rows == 0
    with pytest.warns(mg.QueryWarning, match="nope"):
        people.stream("g.V().hasLabel('nope')").batches()


def test_other_libraries_read_a_stream(people):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(people.stream("g.V()"))
    assert frame.shape == (10_000, 5)
    import duckdb

    reader = people.stream("g.V().order().by(id)").batches()
    assert duckdb.sql("select count(*), max(late) from reader").fetchall() == [(10_000, 9999)]


def test_types_that_do_not_fit_are_named(empty):
    empty.load(nodes={"t": [{"id": n, "x": n} for n in range(30_000)]})
    empty.query("g.V(29999).property('x', 'text')")
    with pytest.raises(pyarrow.ArrowInvalid, match="after row [0-9]+, the column `x` is Utf8 here, but Int64 in the rows before"):
        list(empty.stream("g.V().project('x').by('x')").batches(100))
    assert len(list(empty.stream("g.V()").batches(100_000))) >= 1


def test_an_error_ends_the_batches_with_its_message(people):
    reader = people.stream("g.V().values('score').math('_ + 1')").batches(500)
    assert reader.read_next_batch().num_rows >= 500
    with pytest.raises(mg.QueryError):
        people.stream("g.V().values('name').math('_ + 1')").batches()


def test_memory_is_that_of_a_batch(people, tmp_path):
    path = people.path
    people.close()
    code = f"""
import resource, mangrovedb as mg, pyarrow
db = mg.open({str(path)!r}, read_only=True)
reader = db.stream("g.V().limit(150).as('a').V().values('name')").batches(10_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rows = 0
for batch in reader:
    rows += batch.num_rows
assert rows == 1_500_000, rows
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
assert grown < 60_000, grown
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
