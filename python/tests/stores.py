"""Object stores that tests start: a web server that answers ranges, and an S3 server."""

import http.server
import threading
import time
import urllib.parse
from pathlib import Path

import pytest


class RangeServer(http.server.SimpleHTTPRequestHandler):
    """Serves files below `root`, whole or in ranges. Counts requests, and can be slow, or fail."""

    root, delay, failing, log = Path(), 0.0, False, []

    def do_GET(self):
        time.sleep(self.delay)
        path = self.root / urllib.parse.unquote(self.path).lstrip("/")
        self.log.append((self.path, self.headers.get("Range")))
        if self.failing:
            return self.send_error(503)
        if not path.is_file():
            return self.send_error(404)
        data = path.read_bytes()
        start, end = 0, len(data)
        if wanted := self.headers.get("Range"):
            first, last = wanted.removeprefix("bytes=").split("-")
            start, end = (max(0, end - int(last)), end) if not first else (int(first), int(last) + 1)
        end = min(end, len(data))
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(data)}")
        self.send_header("Content-Length", str(end - start))
        self.send_header("ETag", f'"{path.stat().st_mtime_ns}"')
        self.end_headers()
        self.wfile.write(data[start:end])

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(tmp_path):
    handler = type("Handler", (RangeServer,), {"root": tmp_path, "log": []})
    # Many requests come at once.
    listening = type("Server", (http.server.ThreadingHTTPServer,), {"request_queue_size": 128})
    running = listening(("127.0.0.1", 0), handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_port}", handler
    running.shutdown()


@pytest.fixture
def s3(monkeypatch):
    moto = pytest.importorskip("moto.server")
    running = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    import boto3

    client = boto3.client("s3", endpoint_url=f"http://{host}:{port}", region_name="us-east-1")
    client.create_bucket(Bucket="graphs")
    yield client
    running.stop()


def uploaded(client, directory, prefix):
    for file in (file for file in directory.rglob("*") if file.is_file()):
        client.upload_file(str(file), "graphs", f"{prefix}/{file.relative_to(directory)}")
