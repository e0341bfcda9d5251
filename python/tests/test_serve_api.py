"""The resources of `mangrove serve` below /api."""

import contextlib
import io
import json
import socket
import struct
import time
import urllib.error
import urllib.parse
import urllib.request

import mangrovedb as mg
import pyarrow as pa
import pytest

from conftest import airports
from served import air, basic, guarded, own, serving  # noqa: F401

ARROW = "application/vnd.apache.arrow.stream"
LINES = "application/x-ndjson"


def call(address, method, path, body=None, kind="application/json", **headers):
    """The status, the headers and the body of a response."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(f"http://{address}/api{path}", data, {"Content-Type": kind, **headers}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def done(address, method, path, body=None, code=200, **more):
    """The document of a response that must have this status."""
    status, _, document = call(address, method, path, body, **more)
    assert status == code, document
    return json.loads(document) if document else None


def refused(address, method, path, body=None, **more):
    """The status of a problem, and what it says."""
    status, headers, document = call(address, method, path, body, **more)
    assert status >= 400 and headers["Content-Type"] == "application/problem+json", (status, document)
    problem = json.loads(document)
    assert problem["status"] == status and problem["title"]
    return status, problem["detail"]


def ended(address, job):
    """A job once it has ended."""
    while job["state"] == "running":
        time.sleep(0.02)
        job = done(address, "GET", f"/jobs/{job['id']}")
    return job


def test_databases_say_what_they_hold(air):
    assert done(air, "GET", "/databases") == {"databases": [{"name": "g", "readOnly": False}], "role": "admin"}
    about = done(air, "GET", "/databases/g")
    assert about["vertices"] == 5 and about["vertexLabels"]["airport"]["count"] == 4
    assert "city" in about["vertexLabels"]["airport"]["properties"]
    status, detail = refused(air, "GET", "/databases/other")
    assert status == 404 and "this server has g" in detail
    assert refused(air, "GET", "/nothing")[0] == 404


def test_results_come_as_json_lines_and_arrow(air):
    query = {"gremlin": "g.V().has('elev', gt(low)).order().by('elev').valueMap('city', 'elev')", "parameters": {"low": 500}}
    found = done(air, "POST", "/databases/g/query", query)
    assert found == {"results": [{"city": ["Austin"], "elev": [542]}, {"city": ["Dallas"], "elev": [607]}], "warnings": []}
    status, headers, lines = call(air, "POST", "/databases/g/query", {"gremlin": "g.V().order().by(id).id()"}, Accept=LINES)
    assert status == 200 and headers["Content-Type"] == LINES
    assert [json.loads(line) for line in lines.splitlines()] == ["AUS", "DFW", "LHR", "US", "WLG"]
    query = {"gremlin": "g.inject(1..90000).unfold().project('n', 'text').by().by(constant('x'))"}
    status, headers, stream = call(air, "POST", "/databases/g/query", query, Accept=ARROW)
    table = pa.ipc.open_stream(io.BytesIO(stream)).read_all()
    assert status == 200 and table.column_names == ["n", "text"] and table["n"].to_pylist() == list(range(1, 90001))
    nothing = done(air, "POST", "/databases/g/query", {"gremlin": "g.V('nowhere')"})
    assert nothing == {"results": [], "warnings": ["the graph has no vertex with the id 'nowhere'"]}
    assert call(air, "POST", "/databases/g/query", {"gremlin": "g.V('nowhere')"}, Accept=LINES)[2] == b""
    assert refused(air, "POST", "/databases/g/query", {"gremlin": "g.V()"}, Accept="image/png")[0] == 406


@pytest.mark.parametrize(
    "body, status, says",
    [
        ({"gremlin": "g.V().nonsense()"}, 400, "nonsense"),
        ({"gremlin": "g.V().fail('no way')"}, 422, "no way"),
        ({"gremlin": "g.inject(1..50000).unfold().as('a').V().as('b').repeat(both()).times(9).path().count()", "timeoutMs": 100}, 504, "timeout"),
        ({"query": "g.V()"}, 400, "query"),
        ({"gremlin": "g.inject(x)", "parameters": {"x": 123456789012345678901234567890}}, 400, "all digits"),
        (b"{", 400, "the body"),
        (b"\xff", 400, "UTF-8"),
    ],
)
def test_problems_say_what_is_wrong(air, body, status, says):
    for accept in ("application/json", LINES, ARROW):
        code, detail = refused(air, "POST", "/databases/g/query", body, Accept=accept)
        assert code == status and says in detail


def test_a_stream_that_fails_is_broken_off(air):
    query = {"gremlin": "g.inject(1..90000).unfold().map(choose(is(lt(89000)), constant('x'), fail('late')))"}
    with pytest.raises(Exception, match="IncompleteRead|Incomplete"):
        call(air, "POST", "/databases/g/query", query, Accept=LINES)
    assert done(air, "POST", "/databases/g/query", {"gremlin": "g.V().count()"})["results"] == [5]


@pytest.mark.parametrize("accept", [LINES, ARROW])
def test_a_stream_that_is_taken_too_late_is_broken_off(air, accept):
    query = {"gremlin": "g.inject(1..90000).unfold().constant(x)", "parameters": {"x": "x" * 1000}, "timeoutMs": 1000}
    body = json.dumps(query).encode()
    head = f"POST /api/databases/g/query HTTP/1.1\r\nHost: {air}\r\nAccept: {accept}\r\nContent-Length: {len(body)}\r\n\r\n"
    host, port = air.split(":")
    with socket.create_connection((host, int(port)), timeout=30) as raw:
        raw.sendall(head.encode() + body)
        time.sleep(2)
        received = bytearray()
        with contextlib.suppress(ConnectionError):
            while part := raw.recv(1 << 20):
                received += part
    assert received.startswith(b"HTTP/1.1 200") and not received.endswith(b"0\r\n\r\n")


def test_a_document_has_a_bounded_number_of_values(air):
    body = b'{"gremlin": "g.inject(x).count()", "parameters": {"x": [%s0]}}' % (b"0," * 2_000_000)
    status, detail = refused(air, "POST", "/databases/g/query", body)
    assert status == 400 and "values" in detail


def test_plans_and_profiles(air):
    query = {"gremlin": "g.V().has('code', 'AUS').out()"}
    assert done(air, "POST", "/databases/g/explain", query)
    assert "steps" in json.dumps(done(air, "POST", "/databases/g/profile", query))
    # Explaining does not run it.
    done(air, "POST", "/databases/g/explain", {"gremlin": "g.V().drop()"})
    assert done(air, "POST", "/databases/g/query", {"gremlin": "g.V().count()"})["results"] == [5]


def test_vertices_and_edges_one_at_a_time(own):
    address, path = own
    new = {"id": "BER", "label": "airport", "properties": {"city": "Berlin", "elev": 157}}
    made = done(address, "POST", "/databases/g/vertices", new, code=201)
    assert made["id"] == "BER" and made["label"] == "airport" and made["properties"] == {"city": "Berlin", "elev": 157}
    assert done(address, "GET", "/databases/g/vertices/BER") == made
    assert refused(address, "POST", "/databases/g/vertices", new)[0] == 422
    changed = done(address, "PATCH", "/databases/g/vertices/BER", {"properties": {"elev": None, "runways": 2}})
    assert changed["properties"] == {"city": "Berlin", "runways": 2}
    edge = {"label": "route", "from": "AUS", "to": "BER", "properties": {"dist": 5300}}
    made = done(address, "POST", "/databases/g/edges", edge, code=201)
    assert (made["outV"], made["inV"], made["properties"]) == ("AUS", "BER", {"dist": 5300})
    edge_path = f"/databases/g/edges/{urllib.parse.quote(json.dumps(made['id']), safe='')}"
    assert done(address, "GET", edge_path) == made
    assert done(address, "PATCH", edge_path, {"properties": {"dist": 5301}})["properties"] == {"dist": 5301}
    assert len(done(address, "GET", "/databases/g/vertices/BER/edges")) == 1
    assert len(done(address, "GET", "/databases/g/vertices/BER/edges?direction=out")) == 0
    assert len(done(address, "GET", "/databases/g/vertices/AUS/edges?direction=out&label=route&limit=2")) == 2
    done(address, "DELETE", edge_path, code=204)
    assert refused(address, "GET", edge_path)[0] == 404
    done(address, "DELETE", "/databases/g/vertices/BER", code=204)
    for method in ("GET", "DELETE"):
        assert refused(address, method, "/databases/g/vertices/BER")[0] == 404
    assert refused(address, "GET", "/databases/g/vertices/BER/edges")[0] == 404
    assert refused(address, "POST", "/databases/g/edges", {**edge, "to": "nowhere"})[0] == 400
    assert refused(address, "POST", "/databases/g/edges", {"label": "route", "from": "AUS"})[0] == 400
    for ends in ({"from": ["AUS", "DFW"], "to": "LHR"}, {"from": "AUS", "to": ["LHR"]}):
        assert refused(address, "POST", "/databases/g/edges", {"label": "route", **ends})[0] == 400
    # A number and its text are two ids.
    done(address, "POST", "/databases/g/vertices", {"id": 7, "label": "n"}, code=201)
    assert done(address, "GET", "/databases/g/vertices/7")["id"] == 7
    assert refused(address, "GET", "/databases/g/vertices/%227%22")[0] == 404


def test_indexes(own):
    address, _ = own
    index = {"label": "airport", "key": "city"}
    before = done(address, "GET", "/databases/g/indexes")
    done(address, "POST", "/databases/g/indexes", index, code=201)
    done(address, "POST", "/databases/g/indexes", index)
    made = [of for of in done(address, "GET", "/databases/g/indexes") if of not in before]
    assert made == [{"kind": "vertex", "label": "airport", "key": "city", "unique": False, "routed": False}]
    done(address, "POST", "/databases/g/indexes", {**index, "routed": True}, code=201)
    assert {**made[0], "routed": True} in done(address, "GET", "/databases/g/indexes")
    done(address, "DELETE", "/databases/g/indexes?label=airport&key=city", code=204)
    assert done(address, "GET", "/databases/g/indexes") == before
    assert refused(address, "DELETE", "/databases/g/indexes?label=airport&key=city")[0] == 404
    assert refused(address, "POST", "/databases/g/indexes", {"label": "airprot", "key": "city"})[0] == 422


PEOPLE = "id,name,age\n1,Ada,36\n2,Bob,41\n"


def test_rows_come_in_bulk(own):
    address, _ = own
    loaded = done(address, "POST", "/databases/g/ingest?vertices=person", PEOPLE.encode(), kind="text/csv")
    assert loaded["state"] == "done" and loaded["summary"]["vertices"] == 2
    rows = b'{"id": 3, "name": "Cyd", "age": 28}\n'
    done(address, "POST", "/databases/g/ingest?vertices=person", rows, kind=LINES)
    table = pa.table({"src": [1, 2], "dst": [2, 3], "since": [2001, 2002]})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    edges = done(address, "POST", "/databases/g/ingest?edges=person:knows:person", sink.getvalue(), kind=ARROW)
    assert edges["summary"]["edges"] == 2
    query = {"gremlin": "g.V().has('person', 'name', 'Ada').out('knows').out('knows').values('name')"}
    assert done(address, "POST", "/databases/g/query", query)["results"] == ["Cyd"]
    # All or none: one of these exists.
    both = b"id,name\n9,Eve\n1,Ada\n"
    status, detail = refused(address, "POST", "/databases/g/ingest?vertices=person", both, kind="text/csv")
    assert status == 422 and "1" in detail
    assert refused(address, "GET", "/databases/g/vertices/9")[0] == 404
    done(address, "POST", "/databases/g/ingest?vertices=person&onExists=skip", both, kind="text/csv")
    assert refused(address, "POST", "/databases/g/ingest?vertices=person", b"x", kind="text/plain")[0] == 415
    for unclear, part in [("?vertices=a&edges=b", "not both"), ("", "vertices=LABEL"), ("?edges=a::b", "edges=SOURCE:LABEL:TARGET")]:
        status, detail = refused(address, "POST", f"/databases/g/ingest{unclear}", PEOPLE.encode(), kind="text/csv")
        assert status == 400 and part in detail
    background = done(address, "POST", "/databases/g/ingest?vertices=guest&background=true", PEOPLE.encode(), kind="text/csv", code=202)
    assert ended(address, background)["state"] in ("done", "failed")


def test_a_load_is_told_in_the_words_of_its_address(own):
    address, _ = own

    def load(what, rows):
        return call(address, "POST", f"/databases/g/ingest?{what}", rows.encode(), **{"Content-Type": "text/csv"})

    for what, rows, wanted in [
        ("vertices=airport", "id\nAUS\n", "onExists=update (skip, replace)"),
        ("vertices=town", "id\nAUS\n", "vertices=airport"),
        ("vertices=town", "code\nx\n", "key=code"),
        ("edges=airport:route:airport", "src,dst\nAUS,nowhere\n", "createMissing=true"),
        ("edges=airport:route:airport", "1,2\n3,4\n", "begin with the line source,target"),
    ]:
        status, _, body = load(what, rows)
        detail = json.loads(body)["detail"]
        assert status == 422 and wanted in detail and " --" not in detail.replace("`mangrove load --id-space label`", "") and detail.startswith("rows:"), detail
    numbers = "\n".join(f"{n},{n}" for n in range(50))
    status, _, body = load("vertices=thing", f"id,size\n{numbers}\n50,n/a\n")
    (warning,) = json.loads(body)["summary"]["warnings"]
    assert status == 200 and warning.startswith("rows:52:") and warning.endswith("leave it empty, not 'n/a'")


def test_an_algorithm_that_cannot_run_begins_no_job(own):
    address, _ = own
    for todo, part in [
        ({"algorithm": "pagernk"}, "pagerank"),
        ({"algorithm": "pagerank", "options": {"dampening": 1}}, "damping"),
        ({"algorithm": "bfs"}, "source"),
        ({"algorithm": "wcc", "vertices": ["airprot"]}, "airport"),
    ]:
        status, detail = refused(address, "POST", "/databases/g/jobs", {"do": "analyze", **todo})
        assert status == 400 and part in detail
    assert done(address, "GET", "/jobs")["jobs"] == []


def test_record_batches_that_say_they_are_huge_are_refused(own):
    address, _ = own
    table = pa.table({"id": [1, 2, 3]})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    stream = sink.getvalue()
    reader = pa.ipc.MessageReader.open_stream(io.BytesIO(stream))
    reader.read_next_message()
    body = reader.read_next_message().body.size
    huge = stream[: stream.rindex(struct.pack("<q", body))] + struct.pack("<q", 1 << 45) + stream[stream.rindex(struct.pack("<q", body)) + 8 :]
    for damaged in (huge, stream[:-20], b"\xff\xff\xff\xff\xff\xff\xff\x7f", b""):
        assert refused(address, "POST", "/databases/g/ingest?vertices=n", damaged, kind=ARROW)[0] == 422
    assert done(address, "POST", "/databases/g/ingest?vertices=n", stream, kind=ARROW)["summary"]["vertices"] == 3


def test_jobs_run_without_their_client(tmp_path):
    path, backups = tmp_path / "own.mg", tmp_path / "backups"
    airports(path).close()
    backups.mkdir()
    with serving(path, "--backups", backups) as (_, address):
        ranks = ended(address, done(address, "POST", "/databases/g/jobs", {"do": "analyze", "algorithm": "pagerank"}, code=202))
        assert ranks["state"] == "done" and ranks["hasValues"]
        table = pa.ipc.open_stream(call(address, "GET", f"/jobs/{ranks['id']}/values")[2]).read_all()
        assert table.column_names == ["id", "value"] and sum(table["value"].to_pylist()) == pytest.approx(1)
        todo = {"do": "analyze", "algorithm": "wcc", "write": "part"}
        assert ended(address, done(address, "POST", "/databases/g/jobs", todo, code=202))["summary"]["written"] == 5
        check = ended(address, done(address, "POST", "/databases/g/jobs", {"do": "check"}, code=202))
        assert check["summary"]["violations"] == [] and check["summary"]["vertices"] == 5
        assert ended(address, done(address, "POST", "/databases/g/jobs", {"do": "compact"}, code=202))["state"] == "done"
        backup = {"do": "backup", "name": "monday"}
        assert ended(address, done(address, "POST", "/databases/g/jobs", backup, code=202))["state"] == "done"
        assert refused(address, "POST", "/databases/g/jobs", backup)[0] == 409
        for name in ("../out", "/tmp/out", "", ".hidden", "a/b", "a\\b"):
            assert refused(address, "POST", "/databases/g/jobs", {"do": "backup", "name": name})[0] == 400
        done(address, "POST", "/databases/g/query", {"gremlin": "g.E().limit(1).property('toll', 'much')"})
        todo = {"do": "analyze", "algorithm": "pagerank", "weight": "toll"}
        failed = ended(address, done(address, "POST", "/databases/g/jobs", todo, code=202))
        assert failed["state"] == "failed" and "`much`, which is no number" in failed["error"]
        assert refused(address, "POST", "/databases/g/jobs", {"do": "nothing"})[0] == 400
        assert refused(address, "DELETE", f"/jobs/{check['id']}")[0] == 409
        assert refused(address, "GET", "/jobs/999")[0] == 404
        assert [job["do"] for job in done(address, "GET", "/jobs")["jobs"]][:3] == ["analyze", "analyze", "check"]
    with mg.open(backups / "monday", read_only=True) as copy:
        assert copy.query("g.V().count()").one() == 5


def test_a_job_can_be_stopped(own):
    address, _ = own
    query = {"gremlin": "g.inject(1..3000).unfold().addV('n').as('a').V().hasLabel('airport').addE('to').from('a')"}
    done(address, "POST", "/databases/g/query", query)
    todo = {"do": "analyze", "algorithm": "pagerank", "options": {"iterations": 1_000_000, "tolerance": 1e-300}}
    job = done(address, "POST", "/databases/g/jobs", todo, code=202)
    done(address, "DELETE", f"/jobs/{job['id']}", code=202)
    assert ended(address, job)["state"] == "cancelled"


def test_each_role_may_do_its_part(guarded):
    ada, eve = (basic(name, f"secret of {name}") for name in ("ada", "eve"))
    status, headers, _ = call(guarded, "GET", "/databases")
    assert status == 401 and "Basic" in headers["WWW-Authenticate"]
    assert done(guarded, "GET", "/databases", **eve)["role"] == "read"
    assert done(guarded, "POST", "/databases/g/query", {"gremlin": "g.V().count()"}, **eve)["results"]
    for method, path, body in [
        ("POST", "/databases/g/query", {"gremlin": "g.addV()"}),
        ("POST", "/databases/g/vertices", {"label": "x"}),
        ("PATCH", "/databases/g/vertices/AUS", {"properties": {}}),
        ("DELETE", "/databases/g/vertices/AUS", None),
        ("POST", "/databases/g/ingest?vertices=x", b"id\n1\n"),
        ("POST", "/databases/g/indexes", {"label": "airport", "key": "city"}),
        ("POST", "/databases/g/jobs", {"do": "compact"}),
        ("POST", "/databases/g/jobs", {"do": "analyze", "algorithm": "wcc", "write": "part"}),
    ]:
        assert refused(guarded, method, path, body, **eve)[0] == 403
    assert done(guarded, "GET", "/databases/g/vertices/AUS", **eve)["id"] == "AUS"
    done(guarded, "POST", "/databases/g/vertices", {"label": "x"}, code=201, **ada)


def test_pages_of_other_sites_reach_no_resource(own):
    address, _ = own
    status, _, _ = call(address, "POST", "/databases/g/vertices", {"label": "x"}, Origin="http://evil.example")
    assert status == 403


def test_the_description_names_what_is_there(air):
    paths = done(air, "GET", "/openapi.json")["paths"]
    assert len(paths) >= 15
    for path, operations in paths.items():
        for method in ("get", "post", "put", "patch", "delete"):
            place = path.replace("{database}", "nowhere").replace("{id}", "0")
            status, _, _ = call(air, method.upper(), place, {} if method in ("post", "put", "patch") else None)
            # Whatever it says, another method is not allowed.
            assert (status == 405) == (method not in operations), (method, path, status)


def test_results_that_came_before_a_failure_are_sent(air):
    """They come, and then the response breaks off."""
    late = "g.inject(0).repeat(math('_ + 1')).emit().until(is(gte(9000))).map(choose(is(gte(8900)), __.fail('late'), identity()))"
    host, port = air.split(":")
    body = json.dumps({"gremlin": late}).encode()
    with socket.create_connection((host, int(port)), timeout=30) as raw:
        head = f"POST /api/databases/g/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: {LINES}\r\n"
        raw.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 200 OK") and b"\n100.0\n" in answer and b"\n8950.0\n" not in answer
    # The last chunk of a whole response has no bytes.
    assert not answer.endswith(b"\r\n0\r\n\r\n")
    # All results in one document, or the reason why there is none.
    status, detail = refused(air, "POST", "/databases/g/query", {"gremlin": late})
    assert status == 422 and detail.startswith("late")


def test_a_body_that_comes_after_its_response_is_read(air):
    """A client that sends all before it reads sees the response, and the connection serves the next request."""
    host, port = air.split(":")
    head = f"POST /api/databases/g/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {9 << 20}\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=30) as raw:
        raw.sendall(head.encode() + b"x" * ((8 << 20) + 1))
        assert raw.recv(65536).startswith(b"HTTP/1.1 413 ")
        raw.sendall(b"x" * ((1 << 20) - 1))
        raw.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert b"HTTP/1.1 200 OK" in b"".join(iter(lambda: raw.recv(65536), b""))


def test_encodings_are_set_while_it_serves(own):
    address, path = own
    set_to = {"label": "airport", "key": "city", "encoding": "searchable"}
    assert call(address, "PUT", "/databases/g/encodings", set_to)[0] == 204
    about = done(address, "GET", "/databases/g")
    assert about["vertexLabels"]["airport"]["properties"]["city"]["encoding"].startswith("searchable")
    assert ended(address, done(address, "POST", "/databases/g/jobs", {"do": "compact"}, code=202))["state"] == "done"
    assert done(address, "POST", "/databases/g/query", {"gremlin": "g.V().has('city', containing('all')).values('city')"})["results"] == ["Dallas"]
    status, detail = refused(address, "PUT", "/databases/g/encodings", set_to | {"encoding": "best"})
    assert status == 400 and "searchable" in detail
    assert refused(address, "PUT", "/databases/g/encodings", set_to | {"label": "none"})[0] == 422


def test_compressed_record_batches_are_refused(own):
    address, _ = own
    sink, table = io.BytesIO(), pa.table({"id": ["a" * 100] * 100})
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table)
    status, detail = refused(address, "POST", "/databases/g/ingest?vertices=v&key=id", sink.getvalue(), kind=ARROW)
    assert status == 422 and "compressed" in detail
