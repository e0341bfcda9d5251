"""Requests that nobody sends by mistake: random damage, floods, slow clients, bombs. A server goes on, and lets nobody in."""

import base64
import contextlib
import gzip
import json
import os
import random
import socket
import struct
import sys
import uuid

import pyarrow as pa
import pytest

from conftest import airports
from served import basic, client, post, serving, users
from test_serve_api import call, refused

from gremlin_python.driver.request import RequestMessage
from gremlin_python.driver.serializer import GraphBinarySerializersV1, GraphSONSerializersV3d0

SEED = int(os.environ.get("MANGROVE_HOSTILE_SEED", "1"))
ROUNDS = int(os.environ.get("MANGROVE_HOSTILE_ROUNDS", "400"))


@pytest.fixture
def watched(tmp_path):
    """A server with users, whose standard error a test can read at its end."""
    path, file = tmp_path / "air.mg", tmp_path / "users.json"
    airports(path).close()
    for name, role in (("ada", "admin"), ("eve", "read")):
        users(file, "add", name, "--role", role, password=f"secret of {name}")
    with serving(path, "--users", file, "--flight", "0", "--timeout", "5s") as (process, address):
        flight = process.stderr.readline().split("//")[-1].strip()
        yield process, address, flight
        assert process.poll() is None, "the server ended"
        # What came in did not change the graph.
        ada = basic("ada", "secret of ada")
        status, body = post(address, {"gremlin": "g.V().count()"}, **ada)
        assert status == 200 and json.loads(body)["result"]["data"]["@value"][0]["@value"] == 5
        process.terminate()
        said = process.stderr.read()
        assert "panicked" not in said and "bug" not in said, said


def resident(process):
    """The memory of a process, in MB."""
    with open(f"/proc/{process.pid}/status") as status:
        return int(next(line.split()[1] for line in status if line.startswith("VmRSS"))) / 1024


def damaged(rng, message):
    """The same bytes after some accidents."""
    message = bytearray(message)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at = rng.randrange(len(message) + 1)
        match rng.randrange(5):
            case 0:
                message[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                del message[at : at + rng.randrange(1, 9)]
            case 2:
                message[at:at] = rng.randbytes(rng.randrange(1, 9))
            case 3:
                # A length that is not there.
                message[at : at + 4] = struct.pack(">i", rng.choice((-1, -(2**31), 2**31 - 1, 2**20, 0)))
            case 4:
                message[at:at] = message[: rng.randrange(len(message) + 1)]
    return bytes(message)


def requests():
    """Good requests as drivers send them, in both forms."""
    arguments = [
        ("eval", "", {"gremlin": "g.V(x).out().values('code')", "bindings": {"x": "AUS"}, "aliases": {"g": "g"}, "batchSize": 2}),
        ("eval", "session", {"gremlin": "g.V().count()", "session": "s", "aliases": {"g": "g"}}),
        ("authentication", "", {"sasl": "AGV2ZQB3cm9uZw=="}),
        ("close", "session", {"session": "s"}),
    ]
    for op, processor, args in arguments:
        for serializer in (GraphBinarySerializersV1(), GraphSONSerializersV3d0()):
            message = serializer.serialize_message(str(uuid.UUID(int=7)), RequestMessage(processor, op, dict(args)))
            yield bytes(message)


def websocket(address, head=b""):
    host, port = address.split(":")
    raw = socket.create_connection((host, int(port)), timeout=30)
    upgrade = "GET /gremlin HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    raw.sendall(upgrade.encode() + b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n" + head + b"\r\n")
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += raw.recv(4096)
    assert b" 101 " in answer
    return raw


def frame(payload, code=0x82):
    length = len(payload)
    size = bytes([0x80 | length]) if length < 126 else b"\xfe" + struct.pack(">H", length) if length < 65536 else b"\xff" + struct.pack(">Q", length)
    return bytes([code]) + size + bytes(4) + payload


def send_all(raw, data, patience=0.02):
    """Sends, and reads what comes until the server has nothing more to say for a moment."""
    received = b""
    with contextlib.suppress(OSError):
        raw.sendall(data)
        raw.settimeout(patience)
        while part := raw.recv(65536):
            received += part
            raw.settimeout(0.02)
    return received


LOGIN = GraphBinarySerializersV1().serialize_message(
    str(uuid.UUID(int=8)), RequestMessage("", "authentication", {"sasl": base64.b64encode(b"\0eve\0secret of eve").decode()})
)


@pytest.mark.parametrize("is_known", [False, True])
def test_damaged_messages_over_websocket(watched, is_known):
    process, address, _ = watched
    rng, good = random.Random(SEED + is_known), list(requests())
    before, answers = resident(process), 0

    def connect():
        raw = websocket(address)
        if is_known:
            assert b"\x00\x00\x00\xcc" in send_all(raw, frame(bytes(LOGIN)), 2), "204 was wanted"
        return raw

    raw = connect()
    for _ in range(ROUNDS):
        received = send_all(raw, frame(damaged(rng, rng.choice(good))))
        answers += b"DFW" in received or b"LHR" in received
        if rng.random() < 0.02 or not received:
            raw.close()
            raw = connect()
    raw.close()
    # Nothing is told to those who have not said who they are. Some accidents leave a query as it was.
    assert bool(answers) == is_known
    assert resident(process) - before < 200


def test_damaged_frames_and_heads(watched):
    process, address, _ = watched
    rng, good = random.Random(SEED + 1), list(requests())
    host, port = address.split(":")
    heads = [
        b"GET /gremlin?gremlin=g.V() HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n\r\n",
        b"POST /api/databases/g/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 30\r\n\r\n" + b'{"gremlin": "g.V().values(1)"}',
        b"POST /gremlin HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1f\r\n" + b'{"gremlin": "g.V().values(1)"}\n' + b"\r\n0\r\n\r\n",
    ]
    for _ in range(ROUNDS // 2):
        with socket.create_connection((host, int(port)), timeout=30) as raw:
            received = send_all(raw, damaged(rng, rng.choice(heads)))
            assert b" 200 OK" not in received or b"<!doctype html>" in received or b"ok\n" in received, received
    for _ in range(ROUNDS // 4):
        with websocket(address) as raw:
            assert b"DFW" not in send_all(raw, damaged(rng, frame(rng.choice(good))))


def test_damaged_calls_of_flight(watched):
    process, _, flight = watched
    rng = random.Random(SEED + 2)
    host, port = flight.split(":")
    settings = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
    # A call with a header block of static and literal fields, and a message.
    block = b"\x83\x86" + b"\x44\x2a" + b"/arrow.flight.protocol.FlightService/DoGet" + b"\x41\x09localhost"
    head = struct.pack(">I", len(block))[1:] + b"\x01\x04" + struct.pack(">I", 1) + block
    data = struct.pack(">I", 12)[1:] + b"\x00\x01" + struct.pack(">I", 1) + b"\x00\x00\x00\x00\x07\x0a\x05g.V()"
    good = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings + head + data
    for _ in range(ROUNDS // 4):
        with socket.create_connection((host, int(port)), timeout=30) as raw:
            assert b"DFW" not in send_all(raw, damaged(rng, good))


def test_damaged_rows_are_refused_or_stored_whole(tmp_path):
    airports(tmp_path / "air.mg").close()
    rng = random.Random(SEED + 3)
    table = pa.table({"id": [f"n{n}" for n in range(50)], "age": list(range(50))})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    arrow = sink.getvalue().to_pybytes()
    import pyarrow.parquet as parquet

    parquet.write_table(table, tmp_path / "rows.parquet")
    forms = {
        "application/vnd.apache.arrow.stream": arrow,
        "application/vnd.apache.parquet": (tmp_path / "rows.parquet").read_bytes(),
        "text/csv": "id,age\n".encode() + b"".join(b"n%d,%d\n" % (n, n) for n in range(50)),
    }
    with serving(tmp_path / "air.mg") as (process, address):
        before = resident(process)
        for turn in range(ROUNDS // 4):
            kind = rng.choice(list(forms))
            status, _, body = call(address, "POST", f"/databases/g/ingest?vertices=v{turn}&key=id", damaged(rng, forms[kind]), kind=kind)
            assert status in (200, 400, 413, 422), (status, body)
            told = json.loads(body)
            found = call(address, "POST", "/databases/g/query", {"gremlin": f"g.V().hasLabel('v{turn}').count()"})
            count = json.loads(found[2])["results"][0]
            # All of them or none.
            assert count == (told["summary"]["vertices"] if status == 200 else 0), body
        assert resident(process) - before < 400
        process.terminate()
        assert "panicked" not in process.stderr.read()


def test_bombs_do_not_go_off(watched):
    process, address, _ = watched
    ada = basic("ada", "secret of ada")
    before = resident(process)
    # The server decompresses no body, so a zipped query is no query.
    bomb = gzip.compress(b'{"gremlin": "g.V()", "x": "' + bytes(50 << 20) + b'"}')
    assert refused(address, "POST", "/databases/g/query", bomb, **ada, **{"Content-Encoding": "gzip"})[0] == 400
    # A column of one value, ten million times, takes few bytes in Parquet.
    import pyarrow.parquet as parquet

    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table({"id": pa.array(["same" * 25]).take(pa.array([0] * 5_000_000))}), sink, compression="zstd")
    small = sink.getvalue().to_pybytes()
    assert len(small) < 1 << 20
    status, detail = refused(address, "POST", "/databases/g/ingest?vertices=bomb&key=id", small, kind="application/vnd.apache.parquet", **ada)
    assert status == 422 and "same" in detail
    # Many brackets are no stack.
    deep = b'{"gremlin": "g.V()", "parameters": {"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}"
    assert refused(address, "POST", "/databases/g/query", deep, **ada)[0] == 400
    nested = "g.V()" + ".where(__.not(" * 5000 + "__.out()" + "))" * 5000
    assert refused(address, "POST", "/databases/g/query", {"gremlin": nested}, **ada)[0] == 400
    assert resident(process) - before < 600


@pytest.mark.parametrize(
    "path",
    ["/explorer/../../../../etc/passwd", "/explorer/..%2f..%2f..%2fetc%2fpasswd", "/explorer/%2e%2e/users.json", "//etc/passwd", "/explorer/index.html%00.js"],
)
def test_paths_lead_nowhere(watched, path):
    _, address, _ = watched
    host, port = address.split(":")
    with socket.create_connection((host, int(port)), timeout=30) as raw:
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: raw.recv(4096), b""))
    assert answer.split(b" ", 2)[1] in (b"404", b"400") and b"root:" not in answer


def test_many_wrong_passwords_let_nobody_in_and_keep_nobody_out(watched):
    process, address, _ = watched
    before = resident(process)
    wrong = base64.b64encode(b"\0eve\0secret of ada").decode()
    message = GraphBinarySerializersV1().serialize_message(str(uuid.UUID(int=9)), RequestMessage("", "authentication", {"sasl": wrong}))
    guessers = [websocket(address) for _ in range(50)]
    for raw in guessers:
        raw.sendall(frame(bytes(message)))
    for guess in ("", "secret", "secret of ada", "mangrove_" + "0" * 64):
        assert refused(address, "POST", "/tokens", {"name": "eve", "password": guess})[0] in (400, 401)
    for raw in guessers:
        assert b"\x00\x00\x01\x91" in raw.recv(4096), "401 was wanted"
        raw.close()
    # A check takes 19 MB, and at most two run at a time.
    assert resident(process) - before < 100
    with client(address, username="eve", password="secret of eve") as c:
        assert c.submit("g.V().count()").all().result() == [5]


if sys.platform != "linux":
    pytest.skip("the memory of a process is read from /proc", allow_module_level=True)
