"""A server with much to do: many writers when it is killed, many idle clients, and work that is stopped half way."""

import contextlib
import json
import sys
import threading
import time
import uuid
from http.client import HTTPException
from pathlib import Path

import mangrovedb as mg
import pytest

from conftest import airports
from served import client, fetch, own, post, serving  # noqa: F401
from test_serve import ask, bare_socket
from test_serve_api import call, done, ended, refused

WRITERS = 7


def test_a_server_that_is_killed_under_load_has_kept_what_it_acknowledged(tmp_path):
    path = tmp_path / "air.mg"
    airports(path).close()
    for round_number in range(3):
        with serving(path) as (process, address):
            acknowledged = write_until_killed(process, address, round_number)
        assert min(acknowledged) >= 20 * (round_number + 1)
        with mg.open(path, read_only=True) as db:
            for number, count in enumerate(acknowledged):
                found = db.query("g.V().has('kept', 'by', who).count()", who=f"{round_number}/{number}").one()
                # The last write may be kept though its answer was lost.
                assert count <= found <= count + 1
            # A transaction that was not committed left nothing, and one that was left both of its parts.
            halves = db.query("g.V().hasLabel('half').groupCount().by('pair')").one()
            assert set(halves.values()) <= {2}
            assert db.check() == []


def write_until_killed(process, address, round_number):
    """Has clients write one by one, and one of them in a session, beside a compaction. Returns how many writes of each were acknowledged."""
    acknowledged = [0] * WRITERS
    is_over = threading.Event()

    def write(number):
        with contextlib.suppress(OSError), bare_socket(address) as raw:
            while True:
                ask(raw, f"g.addV('kept').property('by', '{round_number}/{number}')")
                if not raw.recv(65536):
                    return
                acknowledged[number] += 1

    def write_pairs():
        session = str(uuid.uuid4())
        with contextlib.suppress(OSError), bare_socket(address) as raw:
            for pair in range(1_000_000):
                add = f"g.addV('half').property('pair', '{round_number}/{pair}')"
                for query in (add, add, "g.tx().commit()"):
                    ask(raw, query, session=session)
                    if not raw.recv(65536):
                        return

    def compact():
        with contextlib.suppress(OSError, HTTPException):
            while not is_over.is_set():
                call(address, "POST", "/databases/g/jobs", {"do": "compact"})

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    threads += [threading.Thread(target=write_pairs), threading.Thread(target=compact)]
    for thread in threads:
        thread.start()
    while min(acknowledged) < 20 * (round_number + 1):
        time.sleep(0.01)
    process.kill()
    process.wait()
    is_over.set()
    for thread in threads:
        thread.join()
    return acknowledged


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is read from /proc")
def test_ten_thousand_idle_connections_take_little_memory(tmp_path):
    import resource

    count = 10_000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < count + 1000:
        pytest.skip(f"this machine lets a process open {hard} files, and {count + 1000} are wanted")
    airports(tmp_path / "air.mg").close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        with serving(tmp_path / "air.mg") as (process, address), contextlib.ExitStack() as opened:
            sockets = [opened.enter_context(bare_socket(address)) for _ in range(count)]
            for raw in sockets[:: count // 10]:
                ask(raw, "g.V().count()")
                assert b'"code":200' in raw.recv(65536)
            pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
            assert pages * resource.getpagesize() < 200_000_000
            assert b"mangrove_connections 10001\n" in fetch(f"http://{address}/metrics")[1]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_load_that_is_stopped_has_stored_nothing(own):
    address, _ = own
    rows = "id,text\n" + "".join(f"{at},text number {at}\n" for at in range(1_500_000))
    what = "/databases/g/ingest?vertices=row&background=true"
    job = json.loads(call(address, "POST", what, rows.encode(), **{"Content-Type": "text/csv"})[2])
    seen = []
    while job["state"] == "running" and not seen:
        seen = [progress for progress in [job.get("progress")] if progress and progress["done"] > 0]
        job = done(address, "GET", f"/jobs/{job['id']}")
    assert seen and seen[0]["done"] <= seen[0]["of"]
    assert call(address, "DELETE", f"/jobs/{job['id']}")[0] == 202
    assert ended(address, job)["state"] == "cancelled"
    assert done(address, "POST", "/databases/g/query", {"gremlin": "g.V().hasLabel('row').count()"})["results"] == [0]


def test_a_query_may_hold_so_much_memory(tmp_path):
    airports(tmp_path / "air.mg").close()
    with serving(tmp_path / "air.mg", "--memory", "16") as (_, address):
        query = {"gremlin": "g.V().repeat(both()).times(12).path().fold().count(local)"}
        status, body = post(address, query)
        assert status == 500 and json.loads(body)["status"]["code"] == 597 and b"memory" in body
        status, detail = refused(address, "POST", "/databases/g/query", query)
        assert status == 413 and "memory" in detail
        assert done(address, "POST", "/databases/g/query", {"gremlin": "g.V().count()"})["results"] == [5]


def test_open_files_are_served_to_those_who_read(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"id": [1, 2, 3], "name": ["Ada", "Bob", "Cyd"]}), tmp_path / "person.parquet")
    pq.write_table(pa.table({"src": [1, 2], "dst": [2, 3], "since": [2001, 2002]}), tmp_path / "knows.parquet")
    mapping = tmp_path / "people.yaml"
    files = "nodes:\n  - {file: person.parquet, label: person}\nedges:\n  - {file: knows.parquet, label: knows, source_label: person, target_label: person}\n"
    mapping.write_text(files)
    with serving(mapping) as (_, address):
        with client(address) as c:
            assert c.submit("g.V().has('name', 'Ada').out('knows').values('name')").all().result() == ["Bob"]
            with pytest.raises(Exception, match="597.*never written"):
                c.submit("g.addV('person')").all().result()
        assert done(address, "GET", "/databases")["databases"] == [{"name": "g", "readOnly": True}]
        assert done(address, "GET", "/databases/g")["vertices"] == 3
        job = done(address, "POST", "/databases/g/jobs", {"do": "analyze", "algorithm": "wcc"}, code=202)
        assert ended(address, job)["summary"]["components"] == 1
        status, detail = refused(address, "POST", "/databases/g/ingest?vertices=person", b"id\n4\n", kind="text/csv")
        assert status == 422 and "never written" in detail
