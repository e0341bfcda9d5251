"""`mangrove serve`, as drivers see it."""

import base64
import contextlib
import datetime
import decimal
import http.client
import ipaddress
import json
import shlex
import signal
import socket
import ssl
import struct
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request
import uuid
from contextlib import contextmanager
from pathlib import Path

import mangrovedb as mg
import pytest

from conftest import airports

pytest.importorskip("gremlin_python.driver.client")
from gremlin_python.driver.client import Client  # noqa: E402
from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection  # noqa: E402
from gremlin_python.driver.protocol import GremlinServerError  # noqa: E402
from gremlin_python.process.anonymous_traversal import traversal  # noqa: E402
from gremlin_python.process.graph_traversal import __  # noqa: E402
from gremlin_python.process.traversal import P, T  # noqa: E402
from gremlin_python.statics import bigint, long  # noqa: E402

from served import FORMS, MANGROVE, air, basic, certificate, client, guarded, own, serving, users  # noqa: E402, F401


@contextmanager
def source(address, form="graphbinary", scheme="ws", **options):
    connection = DriverRemoteConnection(f"{scheme}://{address}/gremlin", "g", message_serializer=FORMS[form](), **options)
    try:
        yield traversal().with_remote(connection)
    finally:
        connection.close()


@pytest.mark.parametrize("form", FORMS)
def test_a_driver_runs_text_and_traversals(air, form):
    with client(air, form) as c:
        assert c.submit("g.V().count()").all().result() == [5]
        assert sorted(c.submit("g.V().has('elev', gt(low)).id()", {"low": 500}).all().result()) == ["AUS", "DFW"]
        assert c.submit("").all().result() == []
    with source(air, form) as g:
        assert g.V("AUS").out("route").order().by("elev").values("city").to_list() == ["London", "Dallas"]
        assert g.V().has("airport", "elev", P.gt(500)).count().next() == 2
        assert g.V("AUS").repeat(__.out("route").simple_path()).emit().id_().to_set() == {"DFW", "LHR", "WLG"}
        assert g.V("nowhere").to_list() == []


@pytest.mark.parametrize("form", FORMS)
def test_elements_come_whole(air, form):
    with source(air, form) as g:
        vertex = g.V("AUS").next()
        assert (vertex.id, vertex.label) == ("AUS", "airport")
        edge = g.V("AUS").out_e("route").has("dist", 190).next()
        assert (edge.label, edge.outV.id, edge.inV.id, edge.inV.label) == ("route", "AUS", "DFW", "airport")
        assert [(p.key, p.value) for p in g.V("AUS").properties("city").to_list()] == [("city", "Austin")]
        assert [(p.key, p.value) for p in g.E(edge.id).properties("dist").to_list()] == [("dist", 190)]
        path = g.V("AUS").as_("a").out("route").as_("b").has("city", "Dallas").path().next()
        assert [v.id for v in path.objects] == ["AUS", "DFW"] and [set(names) for names in path.labels] == [{"a"}, {"b"}]
        maps = g.V("AUS").element_map("city").next()
        if form != "graphson2":
            assert maps[T.id] == "AUS" and maps["city"] == "Austin"
        assert g.V("AUS").value_map("city", "elev").next() == {"city": ["Austin"], "elev": [542]}
        assert g.V().group_count().by(T.label).next() == {"airport": 4, "country": 1}
    with client(air, form) as c:
        assert [p.key for p in c.submit("g.V('AUS')").one()[0].properties] == ["code", "city", "elev"]
        tokens = c.submit("g.V('AUS')", request_options={"materializeProperties": "tokens"}).one()[0]
        assert not tokens.properties


VALUES = [True, 7, 1.5, "h\u00e9\n\"'\u0001\U0001f600", [1, ["x", None]]]
# gremlinpython sends the parameters of texts as plain JSON if it speaks GraphSON.
BINARY = [long(1 << 40), bigint(1 << 80), float("inf"), uuid.UUID(int=5), datetime.timedelta(seconds=5), {1, 2}, {"a": {"b": [1]}}]


@pytest.mark.parametrize("form, value", [(form, value) for form in FORMS for value in VALUES] + [("graphbinary", value) for value in BINARY])
def test_values_go_there_and_back(air, form, value):
    with client(air, form) as c:
        (back,) = c.submit("g.inject(x)", {"x": value}).all().result()
        assert back == value and isinstance(back, bool) == isinstance(value, bool)


def test_values_of_the_database_have_the_types_of_the_driver(own):
    address, _ = own
    with client(address) as c:
        c.submit("g.addV('thing').property('at', datetime('2024-05-31T10:00:00+02:00')).property('price', 1.25m)").all().result()
        at, price = c.submit("g.V().hasLabel('thing').values('at', 'price')").all().result()
        assert at == datetime.datetime(2024, 5, 31, 8, tzinfo=datetime.timezone.utc)
        assert decimal.Decimal(price.unscaled_value).scaleb(-price.scale) == decimal.Decimal("1.25")


def test_many_results_come_in_batches(air):
    query = "g.inject(1).repeat(union(identity(), identity())).times(12)"
    with client(air) as c:
        assert [len(batch) for batch in c.submit(query, request_options={"batchSize": 1000})] == [1000] * 4 + [96]
        assert [len(batch) for batch in c.submit(query + ".limit(128)")] == [64, 64]
        assert sum(c.submit(query).all().result()) == 4096


def status(address, query, form="graphbinary", **options):
    with client(address, form) as c, pytest.raises(GremlinServerError) as failed:
        c.submit(query, **options).all().result()
    return failed.value.status_code, failed.value.status_message


@pytest.mark.parametrize("form", FORMS)
def test_errors_have_the_codes_that_drivers_know(air, form):
    assert status(air, "g.V().nonsense()", form)[0] == 597
    code, message = status(air, "g.V(", form)
    assert code == 597 and "g.V(" in message and "^" in message
    code, message = status(air, "g.V().fail('no luck')", form)
    assert code == 595 and "no luck" in message
    assert status(air, "g.V(missing)", form)[0] == 597
    assert status(air, "g.V()", form, request_options={"batchSize": 0})[0] == 499
    with client(air, form, source="elsewhere") as c, pytest.raises(GremlinServerError, match="no traversal source named"):
        c.submit("g.V()").all().result()


def test_a_query_has_limited_time(own):
    address, _ = own
    endless = "g.inject(1).repeat(identity()).until(is(2)).count()"
    code, message = status(address, endless, request_options={"evaluationTimeout": 200})
    assert code == 598 and "200ms" in message


def test_writes_are_kept(own):
    address, path = own
    with source(address) as g:
        g.add_v("airport").property(T.id, "CDG").property("city", "Paris").iterate()
        g.V("CDG").add_e("route").to(__.V("AUS")).property("dist", 8200).iterate()
        assert g.V("CDG").out("route").id_().to_list() == ["AUS"]
    with mg.open(path, read_only=True) as beside:
        assert beside.query("g.V('CDG').outE().values('dist')").to_list() == [8200]


@pytest.mark.parametrize("form", ["graphbinary", "graphson3"])
def test_a_transaction_is_kept_or_undone_as_a_whole(own, form):
    address, _ = own
    with source(address, form) as g:
        tx = g.tx()
        gtx = tx.begin()
        gtx.add_v("airport").property(T.id, "OSL").iterate()
        gtx.add_v("airport").property(T.id, "ARN").iterate()
        assert gtx.V("OSL", "ARN").count().next() == 2
        assert g.V("OSL").count().next() == 0
        tx.rollback()
        assert g.V("OSL").count().next() == 0
        tx = g.tx()
        gtx = tx.begin()
        gtx.add_v("airport").property(T.id, "OSL").iterate()
        tx.commit()
        assert g.V("OSL").count().next() == 1


def test_a_session_of_texts_has_a_transaction(own):
    address, _ = own
    with client(address, session=str(uuid.uuid4())) as session, client(address) as beside:
        session.submit("g.addV('airport').property(T.id, 'OSL')").all().result()
        assert session.submit("g.V('OSL').count()").all().result() == [1]
        assert beside.submit("g.V('OSL').count()").all().result() == [0]
        session.submit("g.tx().commit()").all().result()
        assert beside.submit("g.V('OSL').count()").all().result() == [1]
        session.submit("g.V('OSL').drop()").all().result()
    # The session was closed before its transaction was.
    with client(address) as beside:
        assert beside.submit("g.V('OSL').count()").all().result() == [1]
        beside.submit("g.addV('airport').property(T.id, 'later')").all().result()


def test_a_session_may_keep_each_request_by_itself(own):
    address, _ = own
    with client(address, session=str(uuid.uuid4())) as session, client(address) as beside:
        managed = {"manageTransaction": True}
        session.submit("g.addV('airport').property(T.id, 'OSL')", request_options=managed).all().result()
        assert beside.submit("g.V('OSL').count()").all().result() == [1]
        # Nothing waits for a transaction of the session.
        beside.submit("g.addV('airport').property(T.id, 'ARN')").all().result()


def test_a_session_whose_first_write_fails_keeps_nobody_waiting(own):
    address, _ = own
    with client(address, session=str(uuid.uuid4())) as session, client(address) as beside:
        with pytest.raises(GremlinServerError, match="597"):
            session.submit("g.addV('airport').none()").all().result()
        beside.submit("g.addV('airport')", request_options={"evaluationTimeout": 5000}).all().result()
        # What was sent in the belief that the first write succeeded is not kept without it.
        for later in ("g.addV('airport').property(T.id, 'half')", "g.tx().commit()"):
            with pytest.raises(GremlinServerError, match="500.*roll it back"):
                session.submit(later).all().result()
        assert beside.submit("g.V('half').count()").all().result() == [0]


@pytest.mark.parametrize("form", FORMS)
def test_older_drivers_get_times_that_they_read(own, form, monkeypatch):
    address, _ = own
    monkeypatch.setattr("gremlin_python.driver.useragent.userAgent", "NotAvailable Gremlin-Python.3.7.4 3.11 Linux.5 x86_64")
    with client(address, form) as c:
        found = c.submit("g.inject(datetime('2024-05-31T10:00:00+02:00'))").all().result()
        assert found == [datetime.datetime(2024, 5, 31, 8)]


def test_a_client_that_goes_ends_its_query_and_its_transaction(own):
    address, _ = own
    with bare_socket(address) as raw:
        ask(raw, "g.addV('airport').property(T.id, 'half')", session="s")
        receive(raw, {200: 1})
        ask(raw, "g.inject(1).repeat(identity()).until(is(2))", session="s")
    # The next writer need not wait for the end of the time of the query, which is 20 s.
    with client(address) as c:
        soon = {"evaluationTimeout": 5000}
        c.submit("g.addV('airport').property(T.id, 'whole')", request_options=soon).all().result()
        assert c.submit("g.V('half', 'whole').id()").all().result() == ["whole"]


@contextmanager
def bare_socket(address):
    """A WebSocket without a driver."""
    host, port = address.split(":")
    with socket.create_connection((host, int(port)), timeout=30) as raw:
        head = f"GET /gremlin HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        raw.sendall(f"{head}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode())
        assert b" 101 " in raw.recv(1000)
        yield raw


def ask(raw, gremlin, **options):
    """Sends a query as text; with a `session`, in that session."""
    processor = "session" if "session" in options else ""
    args = {"gremlin": gremlin, **options}
    request = {"requestId": str(uuid.uuid4()), "op": "eval", "processor": processor, "args": args}
    raw.sendall(frame(json.dumps(request).encode()))


def receive(raw, codes):
    """Reads until there are so many responses of each code, in whatever order."""
    received = b""
    while any(received.count(b'"code":%d' % code) < count for code, count in codes.items()):
        chunk = raw.recv(65536)
        assert chunk, received
        received += chunk
    return received


def frame(payload, opcode=1):
    """A WebSocket frame of a client, masked by zeros."""
    size = bytes([0x80 | len(payload)]) if len(payload) < 126 else bytes([0xFE]) + struct.pack(">H", len(payload))
    return bytes([0x80 | opcode]) + size + bytes(4) + payload


def test_a_transaction_is_in_one_database(tmp_path):
    airports(tmp_path / "air.mg").close()
    mg.open(tmp_path / "other.mg").close()
    with serving(f"first={tmp_path / 'air.mg'}", f"second={tmp_path / 'other.mg'}") as (_, address):
        with client(address, session=str(uuid.uuid4())) as session, client(address) as beside:
            session.submit("g.addV('one')").all().result()
            with pytest.raises(GremlinServerError, match="499.*transaction in first"):
                session.submit("g.addV('two')", request_options={"aliases": {"g": "second"}}).all().result()
            session.submit("g.tx().commit()").all().result()
            # `g` stands for the first, whatever its name.
            assert beside.submit("g.V().count()").all().result() == [6]
            second = {"aliases": {"g": "second"}}
            assert beside.submit("g.V().count()", request_options=second).all().result() == [0]


def test_several_databases_have_names(tmp_path):
    airports(tmp_path / "air.mg").close()
    with mg.open(tmp_path / "other.mg") as other:
        other.query("g.addV('only')")
    with serving(tmp_path / "air.mg", f"second={tmp_path / 'other.mg'}") as (_, address):
        with client(address) as first, client(address, source="second") as second:
            assert first.submit("g.V().count()").all().result() == [5]
            assert second.submit("g.V().label()").all().result() == ["only"]


def test_a_server_may_refuse_writes(tmp_path):
    path = tmp_path / "air.mg"
    airports(path).close()
    with serving(path, "--read-only") as (_, address):
        code, message = status(address, "g.addV('airport')")
        assert code == 597 and "read-only" in message
        with client(address) as c:
            assert c.submit("g.V().count()").all().result() == [5]


def test_what_is_no_request_is_refused_and_the_next_one_answered(air):
    bad = [b"\x21", b"", b"\x05abcde", b" application/vnd.graphbinary-v1.0\x81", bytes(range(200, 100, -1))]
    with bare_socket(air) as raw:
        for message in bad:
            raw.sendall(frame(message, opcode=2))
        raw.sendall(frame(b"{]"))
        ask(raw, "g.V().count()")
        # The one in GraphBinary has its answer in GraphBinary.
        receive(raw, {498: len(bad), 200: 1})
    # A frame that is too long ends its connection, and no other.
    with bare_socket(air) as raw:
        raw.sendall(bytes([0x82, 0xFF]) + struct.pack(">Q", 1 << 40) + bytes(4))
        while raw.recv(1000):
            pass
    with client(air) as c:
        assert c.submit("g.V().count()").all().result() == [5]


def test_the_end_of_a_connection_is_answered(air):
    with bare_socket(air) as raw:
        raw.sendall(frame(struct.pack(">H", 1000), opcode=8))
        assert raw.recv(2)[0] == 0x88


def fragment(payload, opcode, is_last=False):
    return bytes([0x80 * is_last | opcode, 0xFF]) + struct.pack(">Q", len(payload)) + bytes(4) + payload


def has_ended(raw):
    """Whether the server has ended a connection, or does so soon."""
    raw.settimeout(2)
    try:
        while raw.recv(65536):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


def test_pings_within_a_message_do_not_hide_it(guarded):
    # Those who have not logged in share 32 MB for requests that are not whole.
    with contextlib.ExitStack() as open_sockets:
        sockets = [open_sockets.enter_context(bare_socket(guarded)) for _ in range(6)]
        for raw in sockets:
            with contextlib.suppress(ConnectionError):
                for part in range(120):
                    raw.sendall(fragment(bytes(60_000), 0 if part else 2) + frame(b"", opcode=9))
        assert [has_ended(raw) for raw in sockets].count(True) in range(1, 6)


def test_many_clients_at_once(own):
    address, _ = own
    failed = []

    def work(number):
        try:
            with client(address) as c:
                for at in range(20):
                    c.submit("g.addV('thing').property('by', n)", {"n": number}).all().result()
                    assert c.submit("g.V().has('thing', 'by', n).count()", {"n": number}).all().result() == [at + 1]
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_a_server_stops_when_it_is_asked(tmp_path):
    airports(tmp_path / "air.mg").close()
    for number in (signal.SIGINT, signal.SIGTERM):
        with serving(tmp_path / "air.mg") as (process, address):
            with client(address) as c:
                assert c.submit("g.V().count()").all().result() == [5]
            process.send_signal(number)
            assert process.wait(15) == 0


def as_user(name):
    return {"username": name, "password": f"secret of {name}"}


@pytest.mark.parametrize("form", FORMS)
def test_users_say_who_they_are(guarded, form):
    with client(guarded, form, **as_user("bob")) as c:
        c.submit("g.addV('airport').property(T.id, 'OSL')").all().result()
        assert c.submit("g.V('OSL').count()").all().result() == [1]
    with source(guarded, form, **as_user("eve")) as g:
        assert g.V().count().next() == 6
        with pytest.raises(GremlinServerError, match="403.*may read"):
            g.V("OSL").drop().iterate()
        tx = g.tx()
        with pytest.raises(GremlinServerError, match="403.*may read"):
            tx.begin().add_v("airport").iterate()
    for wrong in ({"username": "bob", "password": "secret of ada"}, {"username": "nobody", "password": "secret"}):
        with client(guarded, form, **wrong) as c, pytest.raises(GremlinServerError, match="401"):
            c.submit("g.V().count()").all().result()
    with client(guarded, form) as c, pytest.raises(Exception, match="requires authentication"):
        c.submit("g.V().count()").all().result()


def test_requests_before_the_login_are_answered_after_it(guarded):
    with bare_socket(guarded) as raw:
        for _ in range(40):
            ask(raw, "g.V().count()")
        sasl = base64.b64encode(b"\0ada\0secret of ada").decode()
        login = {"requestId": str(uuid.uuid4()), "op": "authentication", "processor": "", "args": {"sasl": sasl}}
        raw.sendall(frame(json.dumps(login).encode()))
        # One question, and no more waiting requests than a client may have.
        receive(raw, {200: 32, 407: 1, 401: 8})


def test_a_client_has_a_bounded_number_of_sessions(air):
    with bare_socket(air) as raw:
        for number in range(17):
            ask(raw, "g.V().count()", session=f"s{number}")
        receive(raw, {200: 16, 429: 1})


def test_a_client_has_a_bounded_number_of_open_requests(tmp_path):
    airports(tmp_path / "air.mg").close()
    # So many that none is refused because of the others.
    with serving(tmp_path / "air.mg", "--queries", "20") as (_, address):
        with bare_socket(address) as raw:
            for _ in range(257):
                ask(raw, "g.inject(1).repeat(identity()).until(is(2))")
            with contextlib.suppress(ConnectionResetError):
                while raw.recv(1000):
                    pass
        # Its queries have ended with it, and nobody waits for them.
        with client(address) as c:
            assert c.submit("g.V().count()", request_options={"evaluationTimeout": 5000}).all().result() == [5]


def test_users_are_listed_and_removed(tmp_path):
    file = tmp_path / "users.json"
    assert users(file, "add", "ada", "--role", "admin", password="secret of ada").returncode == 0
    assert users(file, "add", "bob", "--role", "read", password="short").stderr.startswith("error: a password has at least 8")
    assert users(file, "list").stdout == "ada\tadmin\n"
    assert "ada" in file.read_text() and "secret" not in file.read_text() and file.stat().st_mode & 0o777 == 0o600
    assert users(file, "remove", "bob").returncode == 1
    assert users(file, "remove", "ada").returncode == 0
    airports(tmp_path / "air.mg").close()
    ran = subprocess.run([MANGROVE, "serve", "air.mg", "--users", file], cwd=tmp_path, capture_output=True, text=True, timeout=20)
    assert ran.returncode == 1 and "has no users" in ran.stderr


def test_a_server_with_users_and_tls_listens_anywhere(tmp_path, certificate):
    path, file = tmp_path / "air.mg", tmp_path / "users.json"
    airports(path).close()
    users(file, "add", "ada", "--role", "admin", password="secret of ada")
    tls = ["--tls-cert", certificate / "cert.pem", "--tls-key", certificate / "key.pem"]
    with serving(path, "--users", file, *tls, "--host", "0.0.0.0") as (_, address):
        port = address.split(":")[1]
        context = ssl.create_default_context(cafile=certificate / "cert.pem")
        found = Client(f"wss://127.0.0.1:{port}/gremlin", "g", ssl_options=context, **as_user("ada"))
        try:
            assert found.submit("g.V().count()").all().result() == [5]
        finally:
            found.close()
        request = urllib.request.Request(f"https://localhost:{port}/gremlin?gremlin=g.V().count()", headers=basic("ada", "secret of ada"))
        with urllib.request.urlopen(request, context=context, timeout=30) as response:
            assert json.loads(response.read())["result"]["data"]["@value"][0]["@value"] == 5
        with pytest.raises((OSError, http.client.HTTPException)):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=30)


@pytest.mark.parametrize("arguments", [["--users", "users.json"], ["--tls-cert", "cert.pem", "--tls-key", "key.pem"]])
def test_users_alone_or_tls_alone_do_not_open_a_server_to_others(tmp_path, certificate, arguments):
    airports(tmp_path / "air.mg").close()
    users(tmp_path / "users.json", "add", "ada", "--role", "admin", password="secret of ada")
    for name in ("cert.pem", "key.pem"):
        (tmp_path / name).write_bytes((certificate / name).read_bytes())
    command = [MANGROVE, "serve", "air.mg", "--host", "0.0.0.0", "--port", "0", *arguments]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=20)
    assert ran.returncode == 1 and "--users, --tls-cert and --tls-key" in ran.stderr


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["air.mg", "--users", "none.json"], "none.json"),
        (["air.mg", "--tls-cert", "none.pem", "--tls-key", "none.pem"], "none.pem: "),
        (["air.mg", "--tls-cert", "none.pem"], "--tls-key"),
        (["no.mg"], "no.mg"),
        (["air.mg", "--host", "0.0.0.0"], "give users and TLS"),
        (["air.mg", "other.mg"], "name the traversal source"),
        (["g=air.mg", "g=air.mg"], "two databases"),
    ],
)
def test_what_cannot_be_served_is_refused(tmp_path, arguments, says):
    airports(tmp_path / "air.mg").close()
    ran = subprocess.run([MANGROVE, "serve", *arguments, "--port", "0"], cwd=tmp_path, capture_output=True, text=True, timeout=20)
    assert ran.returncode in (1, 2) and says in ran.stderr


def test_a_script_gives_the_results_of_its_last_query(own):
    address, _ = own
    with client(address) as c:
        script = "g.addV('town').property(id, 'a').iterate(); // the first; and only\ng.addV('town').property(id, \"b;\").next()\ng.V().hasLabel('town').id();"
        assert sorted(c.submit(script).all().result()) == ["a", "b;"]
        assert c.submit("g.V().count().next(); g.V().hasLabel(kind).count()", {"kind": "town"}).all().result() == [2]
        # All or nothing.
        with pytest.raises(GremlinServerError, match="597|595"):
            c.submit("g.addV('lost').iterate(); g.V().fail('no')").all().result()
        with pytest.raises(GremlinServerError, match="595"):
            c.submit("g.addV('lost').iterate(); g.addV('lost').fail('no').iterate(); g.V()").all().result()
        assert c.submit("g.V().hasLabel('lost').count()").all().result() == [0]
        for script, part in [
            ("g.addV('x'); g.V()", "nothing runs this statement"),
            ("g.addV('x').iterate(); g.V().nonsense()", "statement 2 of the script: .*nonsense"),
            ("g.addV('x').iterate(); g.V().out(5)", "statement 2 of the script: "),
            ("g.addV('x').iterate(); g.V(", "expected"),
            ("g.addV('x').iterate() g.V()", "expected `.` and a step"),
            ("g.V().limit(1)\n  values('city')", "expected `.` and a step"),
            ("g.tx().commit(); g.V()", "cannot begin or end a transaction"),
            ("g.addV('x').iterate(); g.tx().commit()", "cannot begin or end a transaction"),
            ("g.V().next();" * 10_001, "more than 10000 statements"),
        ]:
            with pytest.raises(GremlinServerError, match=part):
                c.submit(script).all().result()
        assert c.submit("g.V().hasLabel('x').count()").all().result() == [0]
    with client(address, session="one") as c:
        assert c.submit("g.addV('held').iterate(); g.V().hasLabel('held').count()").all().result() == [1]
        with pytest.raises(GremlinServerError, match="595"):
            c.submit("g.addV('held').iterate(); g.V().fail('no')").all().result()
        assert c.submit("g.V().hasLabel('held').count()").all().result() == [2]
        # A script has the status of its query.
        with client(address) as other:
            for script in ("g.addV()", "g.addV().iterate(); g.V()"):
                with pytest.raises(GremlinServerError, match="598"):
                    other.submit(script, request_options={"evaluationTimeout": 300}).all().result()
        c.submit("g.tx().rollback()").all().result()
        assert c.submit("g.V().hasLabel('held').count()").all().result() == [0]


def test_a_script_that_writes_needs_the_role(guarded):
    with client(guarded, username="eve", password="secret of eve") as c:
        assert c.submit("g.V().next(); g.V().count()").all().result() == [5]
        with pytest.raises(GremlinServerError, match="403"):
            c.submit("g.addV('x').iterate(); g.V()").all().result()


def test_a_script_cannot_write_to_a_server_that_only_reads(tmp_path):
    airports(tmp_path / "air.mg").close()
    with serving(tmp_path / "air.mg", "--read-only") as (_, address), client(address) as c:
        for script in ("g.addV()", "g.addV().iterate(); g.V()"):
            with pytest.raises(GremlinServerError, match="597.*read-only"):
                c.submit(script).all().result()


def test_the_page_leads_to_a_server_with_tls_and_users(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "server.md").read_text()
    line = next(line for line in page.splitlines() if line.startswith("openssl req "))
    subprocess.run(shlex.split(line.replace("graph.example", "localhost")), cwd=tmp_path, check=True, capture_output=True, timeout=60)
    airports(tmp_path / "air.mg").close()
    assert users(tmp_path / "users.json", "add", "ada", "--role", "admin", password="secret of ada").returncode == 0
    files = ["--users", tmp_path / "users.json", "--tls-cert", tmp_path / "cert.pem", "--tls-key", tmp_path / "key.pem"]
    with serving(tmp_path / "air.mg", *files) as (_, address):
        trust = ssl.create_default_context(cafile=tmp_path / "cert.pem")
        port = address.rsplit(":", 1)[1]
        with source(f"localhost:{port}", scheme="wss", ssl_options=trust, **as_user("ada")) as g:
            assert g.V().count().next() == 5
        url = f"https://localhost:{port}/api/databases"
        curl = ["curl", "-sf", "--noproxy", "*", "--cacert", tmp_path / "cert.pem", "-u", "ada:secret of ada", url]
        assert '"admin"' in subprocess.run(curl, check=True, capture_output=True, text=True, timeout=60).stdout
