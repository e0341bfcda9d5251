"""The traces that a server sends to a collector of OpenTelemetry."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from conftest import airports
from served import client, post, serving
from test_serve_api import done

pytest.importorskip("opentelemetry.proto.trace.v1.trace_pb2")
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest  # noqa: E402


@contextmanager
def collector():
    """A collector: its address, and the spans that came, by service."""
    spans = []

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/v1/traces":
                for sent in ExportTraceServiceRequest.FromString(body).resource_spans:
                    service = next(a.value.string_value for a in sent.resource.attributes if a.key == "service.name")
                    spans.extend((service, span) for scope in sent.scope_spans for span in scope.spans)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Taking)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", spans
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def traced(path, url, **environment):
    """A server that sends traces. When this ends, they have come."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        with serving(path, "--traces", url) as (process, address):
            yield address
            process.terminate()
            process.wait(30)


def facts(span):
    return {a.key: a.value.string_value or a.value.int_value for a in span.attributes}


def below(spans, parent):
    return sorted((s for s in spans if s.parent_span_id == parent.span_id), key=lambda s: s.start_time_unix_nano)


def test_traces_lead_from_a_request_to_its_steps(tmp_path):
    airports(tmp_path / "air.mg").close()
    caller = "0af7651916cd43dd8448eb211c80319c"
    with collector() as (url, sent):
        with traced(tmp_path / "air.mg", url) as address:
            with client(address) as c:
                c.submit("g.V().has('airport', 'city', x).out('route').values('city')", {"x": "secret city"}).all().result()
            body = {"gremlin": "g.V().hasLabel('airport').out().count()"}
            assert post(address, body, traceparent=f"00-{caller}-b7ad6b7169203331-01")[0] == 200
            done(address, "POST", "/databases/g/query", {"gremlin": "g.addV('x').values('nothing')"})
            post(address, {"gremlin": "g.V(1"})
    assert {service for service, _ in sent} == {"mangrove"}
    spans = [span for _, span in sent]
    assert "secret" not in str(spans)
    requests = {facts(span).get("db.query.text"): span for span in spans if span.kind == span.SPAN_KIND_SERVER}
    socket = requests["g.V().has('airport', 'city', x).out('route').values('city')"]
    assert socket.name == "websocket" and facts(socket)["db.namespace"] == "g" and facts(socket)["mangrove.status"] == 204
    for request in (span for text, span in requests.items() if text):
        (query,) = below(spans, request)
        assert query.name == "query" and query.trace_id == request.trace_id
        assert request.start_time_unix_nano <= query.start_time_unix_nano <= query.end_time_unix_nano <= request.end_time_unix_nano
        steps = below(spans, query)
        assert steps and all(step.name.isalnum() for step in steps)
        for step, after in zip(steps, steps[1:]):
            assert step.end_time_unix_nano <= after.start_time_unix_nano
    http = requests["g.V().hasLabel('airport').out().count()"]
    assert http.trace_id.hex() == caller and http.parent_span_id.hex() == "b7ad6b7169203331"
    (query,) = below(spans, http)
    assert facts(query)["db.response.returned_rows"] == 1
    api = requests["g.addV('x').values('nothing')"]
    assert facts(api)["http.request.method"] == "POST" and facts(api)["url.path"] == "/api/databases/g/query"
    assert api.status.code == api.status.STATUS_CODE_UNSET
    failed = next(span for text, span in requests.items() if text is None and span.status.code == span.status.STATUS_CODE_ERROR)
    assert failed.name == "http" and below(spans, failed) == []


def test_the_environment_says_what_is_traced(tmp_path):
    airports(tmp_path / "air.mg").close()
    sampler = {"OTEL_TRACES_SAMPLER": "parentbased_always_off", "OTEL_SERVICE_NAME": "graph"}
    with collector() as (url, sent):
        with traced(tmp_path / "air.mg", url, **sampler) as address:
            for _ in range(3):
                post(address, {"gremlin": "g.V().count()"})
            post(address, {"gremlin": "g.V().limit(1)"}, traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    assert [facts(span)["db.query.text"] for _, span in sent if span.kind == span.SPAN_KIND_SERVER] == ["g.V().limit(1)"]
    assert {service for service, _ in sent} == {"graph"}


def test_a_collector_that_is_not_there_harms_nobody(tmp_path):
    airports(tmp_path / "air.mg").close()
    with traced(tmp_path / "air.mg", "http://127.0.0.1:9") as address:
        status, body = post(address, {"gremlin": "g.V().count()"})
        assert status == 200 and json.loads(body)["status"]["code"] == 200


def test_a_wrong_address_of_a_collector_is_refused(tmp_path):
    airports(tmp_path / "air.mg").close()
    with pytest.raises(AssertionError, match="cannot send traces to not a url"), serving(tmp_path / "air.mg", "--traces", "not a url"):
        pass
