"""`mangrove mcp`: a database as tools of the Model Context Protocol."""

import json
import subprocess
from contextlib import contextmanager

import mangrovedb as mg
import pytest

from conftest import airports
from served import MANGROVE


class Assistant:
    """A client that speaks the protocol line by line."""

    def __init__(self, process):
        self.process, self.last = process, 0
        client = {"name": "test", "version": "1"}
        self.server = self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def write(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def answer(self, method, **params):
        self.last += 1
        self.write({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.last:
                return answer

    def ask(self, method, **params):
        return self.answer(method, **params)["result"]

    def call(self, tool, **arguments):
        """What a tool gives, or the text of its error."""
        result = self.ask("tools/call", name=tool, arguments=arguments)
        if result.get("isError"):
            return result["content"][0]["text"]
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        return result["structuredContent"]


@contextmanager
def assistant(path, *options):
    command = [MANGROVE, "mcp", str(path), *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Assistant(process)
            process.stdin.close()
            assert process.wait(20) == 0
        finally:
            process.kill()


@pytest.fixture
def air(tmp_path):
    path = tmp_path / "air.mg"
    airports(path).close()
    return path


def test_an_assistant_finds_tools(air):
    with assistant(air) as found:
        assert found.server["serverInfo"]["name"] == "mangrove" and "only read" in found.server["instructions"]
        tools = {tool["name"]: tool for tool in found.ask("tools/list")["tools"]}
        assert tools.keys() == {"schema", "query", "explain", "search"}
        for tool in tools.values():
            assert tool["description"] and tool["inputSchema"]["type"] == "object" and tool["annotations"]["readOnlyHint"]
        assert "use schema, query" in found.answer("tools/call", name="nothing", arguments={})["error"]["message"]


def test_the_schema_says_what_there_is(air):
    with assistant(air) as found:
        schema = found.call("schema")
        assert schema["vertexLabels"]["airport"]["count"] == 4 and "city" in schema["vertexLabels"]["airport"]["properties"]
        assert {"from": "airport", "label": "route", "to": "airport"} in schema["edgesBetween"]
        assert "no argument" in found.call("schema", label="airport")


def test_queries_give_bounded_results(air):
    with assistant(air) as found:
        gremlin = "g.V().has('elev', gt(low)).order().by('elev').values('city')"
        assert found.call("query", gremlin=gremlin, parameters={"low": 500}) == {"results": ["Austin", "Dallas"], "truncated": False}
        cut = found.call("query", gremlin="g.V()", limit=2)
        assert len(cut["results"]) == 2 and cut["truncated"] and "limit()" in cut["note"]
        assert len(found.call("query", gremlin="g.inject(1..50000).unfold()", limit=1_000_000)["results"]) == 1000
        large = found.call("query", gremlin="g.inject(1..50).unfold().constant(x)", parameters={"x": "x" * 10_000})
        assert large["truncated"] and len(json.dumps(large)) < 110_000
        assert found.call("query", gremlin="g.V('nowhere')")["warnings"]
        assert "nonsense" in found.call("query", gremlin="g.V().nonsense()")
        assert "gremlin" in found.call("query", text="g.V()")


def test_queries_only_read_unless_they_may_write(air):
    with assistant(air) as found:
        assert "only reads" in found.call("query", gremlin="g.V().drop()")
        # Another process may write meanwhile.
        with mg.open(air) as db:
            db.query("g.addV('airport')")
        assert found.call("query", gremlin="g.V().count()")["results"] == [6]
    with assistant(air, "--write") as found:
        tools = {tool["name"]: tool["annotations"]["readOnlyHint"] for tool in found.ask("tools/list")["tools"]}
        assert tools == {"schema": True, "query": False, "explain": True, "search": True}
        assert found.call("query", gremlin="g.addV('airport').label()")["results"] == ["airport"]
    with mg.open(air, read_only=True) as db:
        assert db.query("g.V().count()").one() == 7


def test_plans_and_searches(air):
    with assistant(air) as found:
        assert "1 by id" in found.call("explain", gremlin="g.V('AUS').out()")["plan"]
        assert [vertex["id"] for vertex in found.call("search", text="ondo")["results"]] == ["LHR"]
        assert found.call("search", text="nowhere") == {"results": [], "truncated": False}
        assert found.call("search", text="ustin", label="country")["results"] == []
        assert "vertices have airport" in found.call("search", text="x", label="airprot")


def test_a_query_takes_no_longer_than_it_may(air):
    with assistant(air, "--timeout", "200ms") as found:
        gremlin = "g.inject(1..50000).unfold().as('a').V().as('b').repeat(both()).times(9).path().count()"
        assert "timeout" in found.call("query", gremlin=gremlin)
        assert found.call("query", gremlin="g.V().count()")["results"] == [5]
