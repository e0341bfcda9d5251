"""Who may use a server, how often, and what it tells of its work."""

import json
import subprocess
import sys
import urllib.request

import pytest

from conftest import airports
from served import MANGROVE, basic, client, fetch, guarded, post, serving, users  # noqa: F401
from test_serve_api import call, done, ended, refused

from gremlin_python.driver.protocol import GremlinServerError


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def log_in(address, name):
    status, _, body = call(address, "POST", "/tokens", {"name": name, "password": f"secret of {name}"})
    assert status == 201, body
    return json.loads(body)


def metrics(address, **headers):
    """The value of each metric, by its name and labels."""
    status, text = fetch(urllib.request.Request(f"http://{address}/metrics", headers=headers))
    assert status == 200, text
    lines = text.decode().splitlines()
    assert lines[-1] == "# EOF"
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}


def test_a_login_gives_a_token_until_it_ends(guarded):
    assert refused(guarded, "POST", "/tokens", {"name": "eve", "password": "wrong password"}) == (401, "name or password is wrong")
    token = log_in(guarded, "eve")
    assert token["role"] == "read" and token["seconds"] == 12 * 3600
    headers = bearer(token["token"])
    assert done(guarded, "GET", "/databases", **headers)["user"] == "eve"
    assert post(guarded, {"gremlin": "g.V().count()"}, **headers)[0] == 200
    assert refused(guarded, "POST", "/databases/g/query", {"gremlin": "g.addV()"}, **headers)[0] == 403
    # It is no password for a new one, so that a stolen one ends.
    assert refused(guarded, "POST", "/tokens", {"name": "eve", "password": token["token"]})[0] == 400
    assert call(guarded, "DELETE", "/tokens", **headers)[0] == 204
    assert refused(guarded, "GET", "/databases", **headers)[0] == 401
    assert refused(guarded, "DELETE", "/tokens", **headers)[0] == 404
    assert refused(guarded, "GET", "/databases", **bearer("mangrove_" + "0" * 64))[0] == 401


def test_a_server_without_users_has_no_tokens(air_alone):
    status, detail = refused(air_alone, "POST", "/tokens", {"name": "ada", "password": "secret of ada"})
    assert status == 409 and "no users" in detail


@pytest.fixture
def air_alone(tmp_path):
    airports(tmp_path / "air.mg").close()
    with serving(tmp_path / "air.mg") as (_, address):
        yield address


def test_a_token_of_the_file_stands_for_its_user(tmp_path):
    path, file = tmp_path / "air.mg", tmp_path / "users.json"
    airports(path).close()
    users(file, "add", "bob", "--role", "write", password="secret of bob")
    high = users(file, "token", "bob", "--role", "admin")
    assert high.returncode != 0 and "bob has the role write" in high.stderr
    made = users(file, "token", "bob", "--role", "read", "--days", "7")
    assert made.returncode == 0 and "a token of bob with the role read, until 20" in made.stderr
    token = made.stdout.strip()
    assert token.startswith("mangrove_") and token not in file.read_text()
    assert users(file, "list").stdout == "bob\twrite\t1 token\n"
    with serving(path, "--users", file) as (_, address):
        about = done(address, "GET", "/databases", **bearer(token))
        assert (about["user"], about["role"]) == ("bob", "read")
        with client(address, username="bob", password=token) as c:
            assert c.submit("g.V().count()").all().result() == [5]
            with pytest.raises(GremlinServerError, match="403"):
                c.submit("g.addV()").all().result()
        assert refused(address, "GET", "/databases", **basic("eve", token))[0] == 401
    assert "removed 1 token of bob" in users(file, "revoke", "bob").stderr
    users(file, "token", "bob")
    assert "changed bob, and ended 1 token;" in users(file, "add", "bob", "--role", "read", password="another secret").stderr
    assert users(file, "list").stdout == "bob\tread\n"
    with serving(path, "--users", file) as (_, address):
        assert refused(address, "GET", "/databases", **bearer(token))[0] == 401


def test_a_page_is_not_asked_by_the_browser(guarded):
    _, headers, _ = call(guarded, "GET", "/databases")
    assert headers["WWW-Authenticate"].startswith("Basic")
    _, headers, _ = call(guarded, "GET", "/databases", **{"Sec-Fetch-Mode": "cors", "Sec-Fetch-Site": "same-origin"})
    assert "WWW-Authenticate" not in headers


def test_errors_of_all_kinds_are_problem_documents(guarded):
    ada = basic("ada", "secret of ada")
    status, detail = refused(guarded, "PUT", "/databases/g", **ada)
    assert status == 405 and "Allow" in detail
    assert refused(guarded, "GET", "/jobs/first", **ada)[0] == 400
    assert refused(guarded, "GET", "/databases/g/vertices/AUS/edges?limit=many", **ada)[0] == 400
    status, detail = refused(guarded, "POST", "/databases/g/query", b"x" * (9 << 20), **ada)
    assert status == 413 and "`ingest`" in detail
    status, detail = refused(guarded, "GET", "/databases")
    assert status == 401 and "say who you are" in detail
    status, detail = refused(guarded, "GET", "/databases", **basic("ada", "wrong password"))
    assert status == 401 and "wrong" in detail
    assert refused(guarded, "GET", "/databases", Origin="http://evil.example", **ada)[0] == 403
    status, detail = refused(guarded, "POST", "/tokens", {"name": "ada", "password": "x" * 5000})
    assert status == 413 and "MB" not in detail


def test_a_user_may_send_so_many_requests_a_second(tmp_path):
    airports(tmp_path / "air.mg").close()
    with serving(tmp_path / "air.mg", "--rate", "5") as (_, address):
        answers = [call(address, "GET", "/databases") for _ in range(200)]
        assert all(status == 200 for status, _, _ in answers[:5])
        headers = next(headers for status, headers, _ in answers if status == 429)
        assert headers["Retry-After"] == "1" and headers["Content-Type"] == "application/problem+json"
        with client(address) as c:
            with pytest.raises(GremlinServerError, match="429"):
                for _ in range(200):
                    c.submit("g.V().count()").all().result()
        assert 429 in {post(address, {"gremlin": "g.V().count()"})[0] for _ in range(200)}


def test_the_log_has_a_line_for_each_request(tmp_path):
    path, file, log = tmp_path / "air.mg", tmp_path / "users.json", tmp_path / "requests.log"
    airports(path).close()
    users(file, "add", "ada", "--role", "admin", password="secret of ada")
    with serving(path, "--users", file, "--log", log, "--slow", "0ms") as (process, address):
        ada = basic("ada", "secret of ada")
        with client(address, username="ada", password="secret of ada") as c:
            c.submit("g.V().limit(x)", {"x": 3}).all().result()
            with pytest.raises(GremlinServerError):
                c.submit("g.V().fail('no')").all().result()
        with client(address, username="ada", password="wrong password") as c, pytest.raises(GremlinServerError, match="401"):
            c.submit("g.V()").all().result()
        assert post(address, {"gremlin": "g.V().count()"}, **ada)[0] == 200
        assert post(address, {"gremlin": "g.V().count()"})[0] == 401
        lines = {"Accept": "application/x-ndjson", **ada}
        _, _, body = call(address, "POST", "/databases/g/query", {"gremlin": "g.V().id()"}, **lines)
        assert refused(address, "GET", "/databases/none", **ada)[0] == 404
        process.terminate()
        process.wait(30)
    told = [json.loads(line) for line in log.read_text().splitlines()]
    requests = [line for line in told if line["event"] == "request"]
    # A line is written once its request is done with, which may be after the next one has begun.
    requests.sort(key=lambda line: line["status"] or 0)
    for line in requests:
        assert line["from"] == "127.0.0.1" and line["seconds"] >= 0 and line["time"].startswith("20")
    sockets, http, api = ([line for line in requests if line["over"] == over] for over in ("websocket", "http", "api"))
    assert all(line["status"] for line in sockets)
    asked = [line for line in sockets if "query" in line]
    assert [(line["user"], line["database"], line["status"], line["results"]) for line in asked] == [("ada", "g", 200, 3), ("ada", "g", 595, 0)]
    assert asked[0]["query"] == "g.V().limit(x)" and asked[0]["bytes"] > 100
    assert [(line["status"], line.get("user")) for line in http] == [(200, "ada"), (401, None)]
    assert [(line["method"], line["path"], line["status"], line["user"]) for line in api] == [
        ("POST", "/api/databases/g/query", 200, "ada"),
        ("GET", "/api/databases/none", 404, "ada"),
    ]
    assert api[0]["query"] == "g.V().id()" and api[0]["bytes"] == len(body)
    slow = [line for line in told if line["event"] == "slow query"]
    assert {"g.V().limit(x)", "g.V().count()", "g.V().id()"} <= {line["query"] for line in slow}
    assert "secret" not in log.read_text()


def test_slow_queries_go_to_standard_error_without_a_log(tmp_path):
    airports(tmp_path / "air.mg").close()
    with serving(tmp_path / "air.mg", "--slow", "0ms") as (process, address):
        post(address, {"gremlin": "g.V().count()"})
        line = json.loads(process.stderr.readline())
    assert line["event"] == "slow query" and line["query"] == "g.V().count()" and line["complete"]


def test_metrics_count_what_is_done(guarded):
    assert fetch(f"http://{guarded}/metrics")[0] == 401
    eve = basic("eve", "secret of eve")
    before = metrics(guarded, **eve)
    # Its own connection, and perhaps those of requests just before.
    assert 1 <= before["mangrove_connections"] <= 2
    assert before["mangrove_sessions"] == 0 and before['mangrove_database_disk_bytes{database="g"}'] > 1000
    with client(guarded, username="bob", password="secret of bob", session="one") as c:
        c.submit("g.addV('extra').property(id, 'x')").all().result()
        during = metrics(guarded, **eve)
        assert during["mangrove_sessions"] == 1 and during["mangrove_connections"] >= 2
    post(guarded, {"gremlin": "g.V(0"}, **eve)
    call(guarded, "GET", "/databases", **eve)
    after = metrics(guarded, **eve)
    assert after['mangrove_requests_total{over="websocket",status="200"}'] >= 1
    assert after['mangrove_requests_total{over="http",status="597"}'] == 1
    assert after['mangrove_requests_total{over="api",status="200"}'] == 1
    assert after['mangrove_request_duration_seconds_count{over="http"}'] == 1
    assert after['mangrove_response_bytes_total{over="api"}'] > 20


def test_a_page_can_help_to_write_queries_and_jobs(air_alone):
    language = done(air_alone, "GET", "/language")
    steps = {step["name"]: step["description"] for step in language["steps"]}
    assert steps["out"] and "g" in language["words"]
    assert "gt" in language["members"]["P"] and language["members"]["Order"] == ["asc", "desc", "shuffle"]
    algorithms = {about["name"]: about for about in done(air_alone, "GET", "/algorithms")["algorithms"]}
    damping = next(option for option in algorithms["pagerank"]["options"] if option["name"] == "damping")
    assert damping["kind"] == "real" and damping["default"] == "0.85" and damping["description"]


def test_the_largest_values_of_a_job_come_as_json(air_alone):
    job = done(air_alone, "POST", "/databases/g/jobs", {"do": "analyze", "algorithm": "pagerank"}, code=202)
    job = ended(air_alone, job)
    values = f"/jobs/{job['id']}/values"
    found = done(air_alone, "GET", values, Accept="application/json")["values"]
    assert len(found) == 5 and {"id", "value"} == set(found[0])
    two = done(air_alone, "GET", f"{values}?largest=2", Accept="application/json")["values"]
    assert two == sorted(found, key=lambda row: -row["value"])[:2]
    assert call(air_alone, "GET", values)[1]["Content-Type"] == "application/vnd.apache.arrow.stream"


@pytest.mark.skipif(sys.platform != "linux", reason="the limits of a process are read from /proc")
def test_a_server_may_open_as_many_files_as_the_system_allows(tmp_path):
    import resource

    airports(tmp_path / "air.mg").close()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    command = [MANGROVE, "serve", tmp_path / "air.mg", "--port", "0"]
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 256), hard))  # noqa: E731
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=few) as process:
        try:
            assert "serving" in process.stderr.readline()
            assert resource.prlimit(process.pid, resource.RLIMIT_NOFILE) == (hard, hard)
        finally:
            process.kill()
