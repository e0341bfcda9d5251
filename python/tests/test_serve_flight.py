"""Arrow Flight: record batches out of queries and into the graph."""

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import mangrovedb as mg
import pyarrow as pa
import pytest

from conftest import airports
from served import certificate, serving, users  # noqa: F401

flight = pytest.importorskip("pyarrow.flight")


@contextmanager
def flying(path, *arguments, scheme="grpc", **options):
    """A client of a server, and the server's process."""
    with serving(path, *arguments, "--flight", "0") as (process, _):
        line = process.stderr.readline()
        found = re.search(rf"Arrow Flight at {re.escape(scheme)}://(\S+)", line)
        assert found, line
        with flight.FlightClient(f"{scheme}://{found[1]}", **options) as client:
            yield client, process, found[1]


@pytest.fixture
def air(tmp_path):
    airports(tmp_path / "air.mg").close()
    return tmp_path / "air.mg"


def ticket(gremlin, **more):
    return flight.Ticket(json.dumps({"gremlin": gremlin, **more}))


def put(client, table, what, options=None, batch_rows=None):
    """Sends rows, and gives what the server says of them."""
    descriptor = flight.FlightDescriptor.for_command(json.dumps(what))
    writer, reader = client.do_put(descriptor, table.schema, options)
    with writer:
        writer.write_table(table, batch_rows)
        writer.done_writing()
        return json.loads(reader.read().to_pybytes())


def test_results_come_as_record_batches(air):
    with flying(air) as (client, _, _):
        query = "g.V().has('elev', gt(low)).order().by('elev').project('city', 'elev').by('city').by('elev')"
        table = client.do_get(ticket(query, parameters={"low": 500}, database="g")).read_all()
        assert table.to_pydict() == {"city": ["Austin", "Dallas"], "elev": [542, 607]}
        many = client.do_get(ticket("g.inject(0).repeat(union(identity(), identity())).times(14).count(local)")).read_all()
        assert many.num_rows == 2**14
        none = client.do_get(ticket("g.V().hasLabel('none').id()")).read_all()
        assert none.num_rows == 0
        info = client.get_flight_info(flight.FlightDescriptor.for_command(json.dumps({"gremlin": "g.V().count()"})))
        assert client.do_get(info.endpoints[0].ticket).read_all().column(0).to_pylist() == [5]
        # An embedded database has no shards, whatever the query.
        info = client.get_flight_info(flight.FlightDescriptor.for_command(json.dumps({"gremlin": "g.V().id()"})))
        assert len(info.endpoints) == 1 and "no graph on nodes" in json.loads(info.app_metadata)["whole"]
        assert client.do_get(info.endpoints[0].ticket).read_all().num_rows == 5


def test_errors_say_what_is_wrong(air):
    with flying(air) as (client, _, _):
        with pytest.raises(pa.ArrowInvalid, match="did you mean `out`"):
            client.do_get(ticket("g.V().outt()")).read_all()
        with pytest.raises(pa.ArrowInvalid, match="a ticket is JSON"):
            client.do_get(flight.Ticket(b"g.V()")).read_all()
        with pytest.raises(pa.ArrowInvalid, match="unknown field"):
            client.do_get(ticket("g.V()", timeout=3)).read_all()
        with pytest.raises(pa.ArrowKeyError, match="no database"):
            client.do_get(ticket("g.V()", database="other")).read_all()
        with pytest.raises(pa.ArrowNotImplementedError, match="DoGet for queries"):
            list(client.list_flights())
        # A query that fails on the way breaks its results off, and says why.
        late = "g.inject(0).repeat(union(identity(), identity())).times(14).map(choose(is(0), constant(1), constant(1))).fold().fail('late')"
        with pytest.raises(pa.ArrowException, match="late"):
            client.do_get(ticket(late)).read_all()
        assert client.do_get(ticket("g.V().count()")).read_all().num_rows == 1


def test_rows_are_stored_whole(air):
    people = pa.table({"id": [f"p{n}" for n in range(30_000)], "age": list(range(30_000))})
    with flying(air) as (client, process, _):
        told = put(client, people, {"vertices": "person", "key": "id"}, batch_rows=1000)
        assert told["vertices"] == 30_000 and told["rejects"] == 0
        knows = pa.table({"source": ["p0", "p1"], "target": ["p1", "p2"], "since": [2001, 2002]})
        assert put(client, knows, {"edges": "person:knows:person"})["edges"] == 2
        # One row that is wrong keeps all of them out.
        twice = pa.table({"id": ["new", "p0"], "age": [1, 2]})
        with pytest.raises(pa.ArrowException, match="p0"):
            put(client, twice, {"vertices": "person", "key": "id"})
        assert put(client, twice, {"vertices": "person", "key": "id", "onExists": "skip"})["vertices"] == 1
        with pytest.raises(pa.ArrowInvalid, match="command of a descriptor"):
            put(client, twice, {"vertices": "person", "keys": "id"})
        with pytest.raises(pa.ArrowException, match="what the rows are"):
            put(client, twice, {})
        process.send_signal(signal.SIGKILL)
        process.wait(30)
    with mg.open(air, read_only=True) as db:
        assert db.query("g.V().hasLabel('person').count()").to_list() == [30_001]
        assert db.query("g.V('p0').out('knows').values('age')").to_list() == [1]


GOES = """
import json, sys, time
import pyarrow as pa, pyarrow.flight as flight

client = flight.FlightClient(sys.argv[1])
descriptor = flight.FlightDescriptor.for_command(json.dumps({"vertices": "person", "key": "id"}))
table = pa.table({"id": ["a", "b"]})
writer, _ = client.do_put(descriptor, table.schema)
writer.write_table(table)
print("sent", flush=True)
time.sleep(60)
"""


def test_a_client_that_goes_stores_nothing(air):
    with flying(air) as (client, _, address):
        with subprocess.Popen([sys.executable, "-c", GOES, f"grpc://{address}"], stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout.readline() == "sent\n"
            other.kill()
        # The next rows wait for their turn after those.
        assert put(client, pa.table({"id": ["c"]}), {"vertices": "person", "key": "id"})["vertices"] == 1
        assert client.do_get(ticket("g.V().hasLabel('person').id()")).read_all().column(0).to_pylist() == ["c"]


def test_users_and_roles_hold(air, tmp_path):
    file = tmp_path / "users.json"
    for name, role in (("bob", "write"), ("eve", "read")):
        users(file, "add", name, "--role", role, password=f"secret of {name}")
    rows = pa.table({"id": ["a"]})
    with flying(air, "--users", file, "--log", tmp_path / "log") as (client, process, _):
        with pytest.raises(flight.FlightUnauthenticatedError):
            client.do_get(ticket("g.V()")).read_all()
        with pytest.raises(flight.FlightUnauthenticatedError):
            client.authenticate_basic_token("bob", "wrong password")
        eve, bob = (
            flight.FlightCallOptions(headers=[client.authenticate_basic_token(name, f"secret of {name}")]) for name in ("eve", "bob")
        )
        assert client.do_get(ticket("g.V().count()"), eve).read_all().column(0).to_pylist() == [5]
        # A token gives no other, so that it ends.
        token = dict(eve.headers if hasattr(eve, "headers") else [client.authenticate_basic_token("eve", "secret of eve")])[b"authorization"]
        with pytest.raises(pa.ArrowInvalid, match="only a name and a password"):
            client.authenticate_basic_token("eve", token.decode().removeprefix("Bearer "))
        with pytest.raises(flight.FlightUnauthorizedError, match="role `write`"):
            put(client, rows, {"vertices": "person", "key": "id"}, eve)
        with pytest.raises(flight.FlightUnauthorizedError, match="role `write`"):
            client.do_get(ticket("g.addV()"), eve).read_all()
        assert put(client, rows, {"vertices": "person", "key": "id"}, bob)["vertices"] == 1
        process.terminate()
        process.wait(30)
    told = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    calls = [(line.get("call"), line.get("user"), line["status"]) for line in told if line["over"] == "flight"]
    assert (None, None, 401) in calls and ("DoGet", "eve", 200) in calls
    assert ("DoPut", "eve", 403) in calls and ("DoPut", "bob", 200) in calls
    assert "secret" not in (tmp_path / "log").read_text()


def test_a_server_without_users_gives_no_tokens(air):
    with flying(air) as (client, _, _):
        with pytest.raises(pa.ArrowException, match="no users"):
            client.authenticate_basic_token("bob", "secret of bob")


def test_a_batch_has_a_largest_size(air):
    with flying(air) as (client, _, _):
        with pytest.raises(pa.ArrowException, match="too large"):
            put(client, pa.table({"id": ["x" * (40 << 20)]}), {"vertices": "person", "key": "id"})
        with pytest.raises(pa.ArrowException, match="too large"):
            client.do_get(ticket("g.inject('" + "x" * (2 << 20) + "')")).read_all()
        assert client.do_get(ticket("g.V().count()")).read_all().num_rows == 1


@pytest.mark.parametrize(
    "hello",
    [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 64, b"\x16\x03\x01" + bytes(200)],
)
def test_bytes_that_are_no_calls_end_their_connection(air, hello):
    with flying(air) as (client, _, address):
        host, port = address.split(":")
        with socket.create_connection((host, int(port)), timeout=30) as other:
            other.sendall(hello)
            with contextlib.suppress(ConnectionResetError):
                while other.recv(4096):
                    pass
        assert client.do_get(ticket("g.V().count()")).read_all().num_rows == 1


def test_messages_that_are_no_rows_are_refused(air):
    """A descriptor with a schema that says nothing, as a client of one's own may send it."""
    with flying(air) as (client, _, _):
        empty = pa.table({})
        with pytest.raises(pa.ArrowException):
            put(client, empty, {"vertices": "person", "key": "id"})
        nested = pa.table({"id": pa.array([{"a": 1}])})
        with pytest.raises(pa.ArrowException, match="id"):
            put(client, nested, {"vertices": "person", "key": "id"})
        assert client.do_get(ticket("g.V().count()")).read_all().column(0).to_pylist() == [5]


def test_tls_holds_for_record_batches(air, certificate):
    tls = ["--tls-cert", certificate / "cert.pem", "--tls-key", certificate / "key.pem"]
    root = (certificate / "cert.pem").read_bytes()
    with flying(air, *tls, scheme="grpc+tls", tls_root_certs=root) as (client, _, _):
        assert client.do_get(ticket("g.V().count()")).read_all().column(0).to_pylist() == [5]
