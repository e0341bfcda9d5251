"""An S3 server on this machine (moto), whose answers come late. It counts requests, bytes, and rounds: times at which it had nothing to do before.

    python s3.py MILLISECONDS    prints its port; GET /-/counts gives the counts as JSON and sets them to zero
"""

import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

BUCKET = "graphs"
SIGNED = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}


class Store:
    """The server as a process of its own, so that its work is not counted as a client's."""

    def __init__(self, milliseconds):
        self.process = subprocess.Popen([sys.executable, __file__, str(milliseconds)], stdout=subprocess.PIPE, text=True)
        self.address = f"127.0.0.1:{int(self.process.stdout.readline())}"
        os.environ.update(SIGNED, AWS_ENDPOINT_URL=f"http://{self.address}")
        import boto3

        self.client = boto3.client("s3", endpoint_url=f"http://{self.address}", region_name="us-east-1")
        self.client.create_bucket(Bucket=BUCKET)

    def put(self, folder, prefix):
        for file in (file for file in Path(folder).rglob("*") if file.is_file()):
            self.client.upload_file(str(file), BUCKET, f"{prefix}/{file.relative_to(folder)}")

    def counts(self):
        with urllib.request.urlopen(f"http://{self.address}/-/counts") as answer:
            return json.load(answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


class Late:
    """Delays and counts what an application answers."""

    def __init__(self, application, delay):
        self.application, self.delay, self.active, self.lock = application, delay, 0, threading.Lock()
        self.clear()

    def clear(self):
        self.seen = {"requests": 0, "bytes": 0, "rounds": 0}

    def __call__(self, environment, start):
        if environment["PATH_INFO"] == "/-/counts":
            told = json.dumps(self.seen).encode()
            self.clear()
            start("200 OK", [("Content-Length", str(len(told)))])
            return [told]
        with self.lock:
            self.seen["rounds"] += self.active == 0
            self.active += 1
        try:
            time.sleep(self.delay)
            answer = list(self.application(environment, start))
        finally:
            with self.lock:
                self.active -= 1
                self.seen["requests"] += 1
        self.seen["bytes"] += sum(map(len, answer))
        return answer


def main(milliseconds):
    import logging

    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Handler(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"  # connections stay open

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    application = Late(DomainDispatcherApplication(create_backend_app), milliseconds / 1000)
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=Handler)
    print(server.port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(float(sys.argv[1]))
