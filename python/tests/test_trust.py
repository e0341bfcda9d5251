"""What goes wrong around a database: files that are deleted, left over or unreadable; and messages that name things users know."""

import fcntl
import os
import pathlib
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mangrovedb as mg

COMMAND = pathlib.Path(sys.executable).with_name("mangrove")


def test_a_writer_whose_lock_was_deleted_writes_no_more(tmp_path):
    db = mg.open(tmp_path / "db")
    db.query("g.addV('n')")
    (tmp_path / "db" / "writer.lock").unlink()
    for write in (lambda: db.query("g.addV('n')"), db.compact, lambda: db.transaction().__enter__().query("g.addV('n')")):
        with pytest.raises(mg.MangroveError, match="writer.lock was deleted or replaced.*close every handle"):
            write()
    assert db.query("g.V().count()").one() == 1
    other = [sys.executable, "-c", f"import mangrovedb as mg; mg.open({str(tmp_path / 'db')!r}).query('g.addV()')"]
    assert subprocess.run(other).returncode == 0
    assert db.query("g.V().count()").one() == 2
    db.close()
    db = mg.open(tmp_path / "db")
    db.query("g.addV('n')")
    assert (db.query("g.V().count()").one(), db.check()) == (3, [])


def test_a_backup_that_was_killed_is_named_and_made_again(tmp_path):
    db = mg.open(tmp_path / "db")
    db.query("g.addV('n')")
    db.compact()
    db.backup(tmp_path / "copy")
    assert not (tmp_path / "copy" / "backup.unfinished").exists()
    # As a kill in the middle leaves it.
    (tmp_path / "copy" / "backup.unfinished").touch()
    (tmp_path / "copy" / "mangrove.json").unlink()
    os.truncate(tmp_path / "copy" / "hot" / "data.mdb", 5000)
    for read_only in (True, False):
        with pytest.raises(mg.MangroveError, match="a backup into it did not finish: make the backup again, or delete"):
            mg.open(tmp_path / "copy", read_only=read_only)
    db.backup(tmp_path / "copy")
    assert mg.open(tmp_path / "copy").query("g.V().count()").one() == 1
    with pytest.raises(mg.MangroveError, match="already holds a database"):
        db.backup(tmp_path / "copy")


def test_a_backup_removes_nothing_that_is_not_its_own(tmp_path):
    db = mg.open(tmp_path / "db")
    (tmp_path / "copy" / "hot").mkdir(parents=True)
    (tmp_path / "copy" / "hot" / "thesis.txt").write_text("mine")
    (tmp_path / "copy" / "backup.unfinished").touch()
    with pytest.raises(mg.MangroveError, match="thesis.txt"):
        db.backup(tmp_path / "copy")
    assert (tmp_path / "copy" / "hot" / "thesis.txt").read_text() == "mine"


def test_an_empty_graph_comes_back_from_an_export(tmp_path):
    for format in ("csv", "graphson", "graphml", "parquet"):
        mg.open(tmp_path / "db").export(tmp_path / format, format)
        report = mg.open(tmp_path / f"{format}.mg").load(tmp_path / format)
        assert (report["vertices"], report["edges"]) == ({}, {}), report


@pytest.mark.filterwarnings("ignore:no element has")
@pytest.mark.filterwarnings("ignore:the graph has no")
def test_a_property_whose_traversal_gives_nothing_is_an_error(db):
    count = db.query("g.V().count()").one()
    for query in (
        "g.V('AUS').property('k', __.values('nothing'))",
        "g.addV('n').property('k', __.V('nobody').id())",
        "g.V('AUS').property(__.values('nothing'), 1)",
    ):
        with pytest.raises(mg.QueryError, match="does not map to a value|a property key must be a string"):
            db.query(query)
    assert db.query("g.V().count()").one() == count
    assert db.query("g.V('AUS').property('k', coalesce(values('nothing'), constant(5))).values('k')").one() == 5


def test_a_subgraph_of_vertices_has_paths_of_vertices(db):
    path = "withStrategies(new SubgraphStrategy({}: hasLabel('{}'))).V('AUS').out('route').limit(1).path().count(local)"
    assert db.query("g." + path.format("vertices", "airport")).one() == 2
    assert db.query("g." + path.format("edges", "route")).one() == 3


def test_keys_that_hold_lists_and_paths_can_be_fetched(db):
    ((path, n),) = db.query("g.inject([1, 2, 2]).path().groupCount()").one().items()
    assert (path.objects, n, {path: 1}[path]) == ([[1, 2, 2]], 1, 1)
    (key,) = db.query("g.inject([1: [2]]).path().groupCount()").one()
    assert key.objects == [{1: [2]}]
    tree = db.query("g.inject([1, 2]).map(unfold().fold()).tree()").one()
    assert list(tree) == [(1, 2)] and list(tree[(1, 2)]) == [(1, 2)]
    (tree,) = db.query("g.inject([1, 2]).tree().groupCount()").one()
    assert list(tree) == [(1, 2)]
    result = db.query("g.inject([1, [2]]).path().groupCount()")
    assert "path" in repr(result.to_list()) and result._repr_html_() and len(result.to_pandas()) == 1


def test_messages_name_no_numbers_of_the_store(db):
    for query in (
        "g.V().order().by(identity()).fold().max(local).min(local)",
        "g.V().fold().inject(1).unfold().max()",
        "g.V('AUS').asDate()",
        "g.V('AUS').asBool()",
        "g.V('AUS').property('k', identity())",
        "g.V('AUS').property('k', identity().fold())",
        "g.V('AUS').as('v').addE('e').to(__.path())",
        "g.V('AUS').math('_ + 1')",
        "g.V('AUS').concat('a')",
        "g.V('AUS').out().path().unfold().values().sum()",
    ):
        try:
            db.query(query)
        except mg.MangroveError as error:
            assert "[0:" not in str(error) and "[1:" not in str(error), error
        else:
            assert "max" in query or "sum" in query


def test_a_small_file_that_is_large_in_memory_is_loaded_in_pieces(empty, tmp_path):
    text = "x" * 200_000
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 2_000, pa.int32()), pa.array([text]))
    pq.write_table(pa.table({"id": list(range(2_000)), "x": column}), tmp_path / "n.parquet")
    assert (tmp_path / "n.parquet").stat().st_size < 300_000
    empty.load(nodes={"n": tmp_path / "n.parquet"}, compact=True)
    assert empty.query("g.V().count()").one() == 2_000
    assert empty.query("g.V(1999).values('x')").one() == text


READER = """
import sys, mangrovedb as mg
stream = mg.open(sys.argv[1], read_only=True).stream("g.V().values('t')")
next(iter(stream))
print("reading", flush=True)
sys.stdin.readline()
print(sum(1 for _ in stream), flush=True)
"""


def reader_of(path):
    command = [sys.executable, "-c", READER, path]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "reading\n"
    return process


def fill(db, round, rows=20_000):
    with db.ingest() as ingest:
        ids = list(range(rows))
        ingest.add_vertices("n", {"id": ids, "t": [f"{round} {at} " + "x" * 1000 for at in ids]})


def rewrite(db, round):
    db.query("g.V().property(single, 't', concat)", concat=f"{round} " + "y" * 1000)


def test_the_oldest_snapshot_is_told_and_its_room_comes_back(tmp_path):
    db = mg.open(tmp_path / "db", seal_mb=1000)
    fill(db, 0)
    small = db.stats()["disk_bytes"]
    assert db.stats()["oldest_snapshot"] is None
    with reader_of(tmp_path / "db") as reader:
        for round in range(5):
            rewrite(db, round)
        stats = db.stats()
        oldest = stats["oldest_snapshot"]
        assert (oldest["process"], "-c" in oldest["command"]) == (reader.pid, True)
        assert oldest["age_seconds"] >= 0 and small < oldest["pinned_bytes"] <= stats["free_bytes"]
        told = subprocess.run([COMMAND, "stats", tmp_path / "db"], capture_output=True, text=True).stdout
        assert f"the oldest snapshot, in process {reader.pid}" in told
        # Nothing of what the reader needs is given back, and it reads on.
        db.compact()
        reader.stdin.write("\n")
        reader.stdin.flush()
        assert reader.stdout.readline() == "19999\n"
    assert db.stats()["oldest_snapshot"] is None
    db.compact()
    stats = db.stats()
    assert stats["disk_bytes"] - stats["segment_bytes"] < 8 << 20, stats
    assert (db.query("g.V().count()").one(), db.check()) == (20_000, [])


@pytest.mark.parametrize("seal_mb", [0, 1000])
def test_room_comes_back_in_the_background(tmp_path, seal_mb):
    db = mg.open(tmp_path / "db", seal_mb=seal_mb)
    fill(db, 0)
    with reader_of(tmp_path / "db") as reader:
        for round in range(5):
            rewrite(db, round)
        wide = db.stats()["disk_bytes"]
        reader.kill()
    deadline = time.monotonic() + 30
    while db.stats()["disk_bytes"] > wide / 2 and time.monotonic() < deadline:
        db.query("g.addV('m')")
        time.sleep(0.05)
    assert db.stats()["disk_bytes"] < wide / 2
    assert db.check() == []


def test_many_unfinished_streams_stop_nobody(tmp_path):
    db = mg.open(tmp_path / "db")
    fill(db, 0, rows=3000)
    streams = []
    with pytest.raises(mg.MangroveError, match="this process has [0-9]+ streams of the database open"):
        while True:
            streams.append(db.stream("g.V().values('t')"))
            next(iter(streams[-1]))
    assert len(streams) >= 500
    assert db.query("g.V().count()").one() == 3000
    db.query("g.addV('m')")
    other = [sys.executable, "-c", f"import mangrovedb as mg; print(mg.open({str(tmp_path / 'db')!r}, read_only=True).query('g.V().count()').one())"]
    assert subprocess.run(other, capture_output=True, text=True).stdout == "3001\n"
    del streams[:]
    assert len(list(db.stream("g.V()"))) == 3001


def test_a_stream_that_nobody_reads_ends_with_its_time(tmp_path):
    db = mg.open(tmp_path / "db", seal_mb=1000)
    fill(db, 0, rows=3000)
    reading = mg.open(tmp_path / "db", stream_timeout=0.3)
    forgotten, own, endless = reading.stream("g.V()"), reading.stream("g.V()", timeout=60), db.stream("g.V()")
    for stream in (forgotten, own, endless):
        next(stream)
    endless.close()
    own.close()
    rewrite(db, 1)
    assert db.stats()["oldest_snapshot"]["process"] == os.getpid()
    deadline = time.monotonic() + 10
    while db.stats()["oldest_snapshot"] is not None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert db.stats()["oldest_snapshot"] is None
    with pytest.raises(mg.TimeoutError, match="longer than its timeout of 300ms"):
        list(forgotten)
    assert list(own) == list(endless) == []
    with pytest.raises(ValueError, match="stream_timeout must be a number of seconds"):
        mg.open(tmp_path / "db", stream_timeout=-1)


def test_places_of_readers_that_were_killed_are_used_again(tmp_path):
    db = mg.open(tmp_path / "db")
    fill(db, 0, rows=100)
    program = f"""
import mangrovedb as mg, os, signal
db = mg.open({str(tmp_path / "db")!r}, read_only=True)
streams = [db.stream("g.V().values('t')") for _ in range(990)]
for stream in streams:
    next(stream)
print(len(streams), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    for _ in range(6):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert done.stdout == "990\n", done.stderr
    db.query("g.addV('m')")
    assert db.query("g.V().count()").one() == 101


def test_two_backups_into_one_place_do_not_mix(tmp_path):
    db = mg.open(tmp_path / "db")
    (tmp_path / "copy").mkdir()
    lock = open(tmp_path / "copy" / "backup.unfinished", "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    with pytest.raises(mg.MangroveError, match="another backup is being written there"):
        db.backup(tmp_path / "copy")
    lock.close()
    db.backup(tmp_path / "copy")
    assert mg.open(tmp_path / "copy").check() == []


def test_results_of_a_write_do_not_expire(db):
    stream = db.stream("g.addV('n').id()", timeout=0.2)
    time.sleep(0.5)
    assert len(list(stream)) == 1


COMPACT = """
import sys, mangrovedb as mg
db = mg.open(sys.argv[1], seal_mb=0)
print("open", flush=True)
db.compact()
"""


def test_a_writer_whose_lock_was_deleted_removes_no_segment_of_another(tmp_path):
    path = tmp_path / "db"
    with mg.open(path, seal_mb=0) as db, db.ingest() as w:
        w.add_vertices("n", {"id": list(range(200_000)), "t": [f"text {i * 7919}" for i in range(200_000)]})
    first = subprocess.Popen([sys.executable, "-c", COMPACT, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first.stdout.readline()
    while not list((path / "hot").glob("*.unfinished")):
        assert first.poll() is None
        time.sleep(0.001)
    first.send_signal(signal.SIGSTOP)
    try:
        (path / "writer.lock").unlink()
        with mg.open(path, seal_mb=0) as db:
            db.compact()
            db.query("g.addV('later')")
    finally:
        first.send_signal(signal.SIGCONT)
    assert b"Error" in first.communicate()[1]
    with mg.open(path) as db:
        assert (db.query("g.V().count()").one(), db.check()) == (200_001, [])


HOLD_A_TRANSACTION = """
import sys, mangrovedb as mg
with mg.open(sys.argv[1]).transaction() as tx:
    tx.query("g.addV('n')")
    print("begun", flush=True)
    sys.stdin.readline()
"""


def test_opening_does_not_wait_for_a_writer_without_a_lock(tmp_path):
    mg.open(tmp_path / "db").close()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    writer = subprocess.Popen([sys.executable, "-c", HOLD_A_TRANSACTION, str(tmp_path / "db")], **pipes)
    writer.stdout.readline()
    (tmp_path / "db" / "writer.lock").unlink()
    for read_only in (False, True):
        with pytest.raises(mg.MangroveError, match="without the lock of the database, so the lock file was probably deleted"):
            mg.open(tmp_path / "db", read_only=read_only)
    writer.communicate(b"\n")
    with mg.open(tmp_path / "db") as db:
        assert db.check() == []


def peak_mb():
    """What this process took at most since it was last asked, in MB."""
    status = pathlib.Path("/proc/self/status").read_text()
    peak = int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) >> 10
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    return peak


LARGE_WRITES = [
    "g.V().property(single, 't', p)",
    "g.V().property(['t': p])",
    "g.V().addV('m').property('t', p)",
    "g.V().as('v').addE('e').to('v').property('t', p)",
    "g.V().as('v').mergeV([(T.label): 'n', 'new': 1]).option(onMatch, ['t': p])",
    "g.V().addV('m').property('t', constant('a').concat(p))",
]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize("query", LARGE_WRITES)
def test_a_budget_of_memory_binds_what_a_query_writes(tmp_path, query):
    db = mg.open(tmp_path / "db", seal_mb=0)
    with db.ingest() as w:
        w.add_vertices("n", {"id": list(range(3000)), "new": [1] * 3000})
    peak_mb()
    before = peak_mb()
    with pytest.raises(mg.MemoryLimitError, match="memory budget of 50 MB"):
        db.query(query, p="x" * 200_000, memory_mb=50)
    assert peak_mb() - before < 250, "600 MB were to be written"
    assert db.query("g.V().has('t').count()").one() == 0
    assert db.query(query + ".limit(1)", p="y", memory_mb=50).to_list()


def test_a_timeout_ends_a_query_that_writes(tmp_path):
    db = mg.open(tmp_path / "db")
    with db.ingest() as w:
        w.add_vertices("n", {"id": list(range(2000))})
    for query in ("g.V().V().addV('m')", "g.V().sideEffect(V().addV('m'))", "g.V().V().property('a', 1)"):
        began = time.monotonic()
        with pytest.raises(mg.TimeoutError):
            db.query(query, timeout=0.3)
        assert time.monotonic() - began < 20
    assert db.query("g.V().count()").one() == 2000


def test_values_written_one_by_one_count_once(tmp_path):
    # Some 64 vertices share an entry of the tables, which is written anew for each.
    db = mg.open(tmp_path / "db")
    db.load(nodes={"n": pa.table({"id": list(range(20_000))})})
    db.query("g.V().property('s', t)", t="x" * 200, memory_mb=64)
    assert db.query("g.V().has('s').count()").one() == 20_000


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize("compact", [False, True])
def test_a_small_file_of_large_values_takes_no_more_memory_than_they_do(tmp_path, compact):
    # 800 MB of text in a file of a few kB: each row has the same long value.
    table = pa.table({"id": list(range(4000)), "t": pa.DictionaryArray.from_arrays([0] * 4000, ["x" * 200_000])})
    pq.write_table(table.cast(pa.schema({"id": pa.int64(), "t": pa.string()})), tmp_path / "n.parquet")
    del table
    pa.default_memory_pool().release_unused()
    db = mg.open(tmp_path / "db", seal_mb=0)
    peak_mb()
    before = peak_mb()
    db.load(nodes={"n": tmp_path / "n.parquet"}, compact=compact)
    # In tables the values wait in memory for the commit; in a segment a column is made of them.
    assert peak_mb() - before < (3000 if compact else 1400)
    assert db.query("g.V().values('t').dedup().count()").one() == 1


def test_values_of_a_row_that_are_large_together_are_a_bad_row(tmp_path):
    text = pa.array(["x" * (50 << 20)])
    db = mg.open(tmp_path / "db")
    with pytest.raises(mg.LoadError, match="row 1.*take more than 128 MB"), db.ingest() as w:
        w.add_vertices("n", pa.table({"id": [1], "a": text, "b": text, "c": text}))
    assert db.query("g.V().count()").one() == 0


def test_what_maps_to_nothing_is_an_error(tmp_path):
    db = mg.open(tmp_path / "db")
    db.query("g.addV('n').property(T.id, 1).property('a', 1)")
    for query in (
        "g.V(1).property('k', 1, 'meta', __.values('none'))",
        "g.V(1).mergeV([(T.id): 1]).option(onMatch, __.values('none'))",
        "g.mergeV([(T.id): 2]).option(onCreate, __.select('none'))",
        "g.V(1).mergeV(__.select('none'))",
    ):
        with pytest.raises(mg.QueryError, match="does not map to a value"):
            db.query(query)
    assert db.query("g.V().valueMap()").to_list() == [{"a": [1]}]


def test_texts_grow_and_shrink_past_the_border_of_the_allocators(tmp_path):
    """Pieces of 192 kB and more come from another allocator. A text that grows or shrinks past that size moves between the two."""
    db = mg.open(tmp_path / "db")
    border = 192 << 10
    parts = ["".join(chr(97 + (i * 7 + n) % 26) for i in range(n)) for n in (1, border // 3, border // 2, border - 1, border)]
    for a in parts:
        for b in parts:
            assert db.query("g.inject(a).concat(b)", a=a, b=b).one() == a + b
            assert db.query("g.inject(s).substring(0, n)", s=a + b, n=len(a)).one() == a
    with db.ingest() as w:
        w.add_vertices("n", {"id": list(range(len(parts))), "t": parts})
    assert db.query("g.V().order().by(id).values('t')").to_list() == parts
