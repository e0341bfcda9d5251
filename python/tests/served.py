"""A server for tests, and clients of it."""

import base64
import datetime
import ipaddress
import json
import re
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import airports

pytest.importorskip("gremlin_python.driver.client")
from gremlin_python.driver.client import Client  # noqa: E402
from gremlin_python.driver.serializer import GraphBinarySerializersV1, GraphSONSerializersV2d0, GraphSONSerializersV3d0  # noqa: E402

MANGROVE = Path(sys.executable).with_name("mangrove")
FORMS = {"graphbinary": GraphBinarySerializersV1, "graphson2": GraphSONSerializersV2d0, "graphson3": GraphSONSerializersV3d0}


@contextmanager
def serving(*arguments):
    """A server on a free port: the process, and its address without the scheme."""
    command = [MANGROVE, "serve", *map(str, arguments), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = process.stderr.readline()
            found = re.search(r"wss?://(\S+)/gremlin", line)
            assert found, line + process.stderr.read()
            yield process, found[1]
        finally:
            process.kill()


@contextmanager
def client(address, form="graphbinary", source="g", **options):
    opened = Client(f"ws://{address}/gremlin", source, message_serializer=FORMS[form](), **options)
    try:
        yield opened
    finally:
        opened.close()


def basic(name, password):
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


def post(address, body, path="/gremlin", **headers):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return fetch(urllib.request.Request(f"http://{address}{path}", data, {"Content-Type": "application/json", **headers}))


def get(address, **arguments):
    return fetch(f"http://{address}/gremlin?{urllib.parse.urlencode(arguments)}")


def fetch(request):
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


@pytest.fixture(scope="module")
def air(tmp_path_factory):
    """A server that all tests that only read share."""
    path = tmp_path_factory.mktemp("served") / "air.mg"
    airports(path).close()
    with serving(path) as (_, address):
        yield address


@pytest.fixture
def own(tmp_path):
    """A server for one test, and the path of its database."""
    path = tmp_path / "own.mg"
    airports(path).close()
    with serving(path, "--timeout", "20s") as (_, address):
        yield address, path


def users(file, *arguments, password=""):
    return subprocess.run([MANGROVE, "users", file, *arguments], input=password + "\n", capture_output=True, text=True, timeout=30)


@pytest.fixture
def guarded(tmp_path):
    """A server with three users."""
    path, file = tmp_path / "air.mg", tmp_path / "users.json"
    airports(path).close()
    for name, role in (("ada", "admin"), ("bob", "write"), ("eve", "read")):
        assert users(file, "add", name, "--role", role, password=f"secret of {name}").returncode == 0
    with serving(path, "--users", file) as (_, address):
        yield address


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate of this machine, signed by itself, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    folder = tmp_path_factory.mktemp("certificate")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    built = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
    built = built.not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    built = built.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost"), address]), critical=False)
    (folder / "cert.pem").write_bytes(built.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (folder / "key.pem").write_bytes(key.private_bytes(pem, form, serialization.NoEncryption()))
    return folder
