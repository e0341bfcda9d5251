"""Traces of requests to a server lead to what the nodes do for them."""

from contextlib import ExitStack

from served import post
from test_cluster_metrics import brokers, graph, log, node  # noqa: F401
from test_serve_traces import collector, facts, traced

import mangrovedb as mg

CALLER, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def test_the_trace_of_a_request_has_what_the_nodes_do(graph, log, tmp_path):  # noqa: F811
    with collector() as (url, sent):
        with ExitStack() as running:
            options = ["--metrics", "127.0.0.1:0", "--traces", url]
            nodes = [running.enter_context(node(graph, log, tmp_path, number, *options)) for number in range(2)]
            address = f"mangrove://{nodes[0].address}/{graph}"
            db = mg.connect(address)
            for size in range(8):
                db.query("g.addV('n').property('size', size)", {"size": size})
            with traced(address, url) as served:
                body = {"gremlin": "g.V().hasLabel('n').values('size').sum()"}
                assert post(served, body, traceparent=f"00-{CALLER}-{SPAN}-01")[0] == 200
            for there in nodes:  # when it ends, it sends the rest
                there.process.terminate()
                there.process.wait(30)
        spans = [span for _, span in sent]
        (request,) = (span for span in spans if span.parent_span_id.hex() == SPAN)
        calls = {span.span_id: span for span in spans if "mangrove.node" in facts(span)}
        # What came without a trace has none.
        assert calls and {span.trace_id.hex() for span in calls.values()} == {CALLER}
        assert {facts(span)["mangrove.node"] for span in calls.values()} == {"node-0", "node-1"}
        for span in calls.values():
            assert span.parent_span_id == request.span_id or span.parent_span_id in calls, span.name
            assert request.start_time_unix_nano <= span.end_time_unix_nano
        assert {span.name for span in calls.values()} & {"ask", "fragment", "rounds"}, "a call that reads"
