"""Gremlin Server with TinkerGraph, fetched with Maven."""

import subprocess
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import servers
from servers import Server

TINKERGRAPH = "org.apache.tinkerpop.gremlin.tinkergraph"
MAIN = "org.apache.tinkerpop.gremlin.server.GremlinServer"
UTIL = "org.apache.tinkerpop.gremlin.util.ser"

CONFIGURATION = """
host: 127.0.0.1
port: {port}
channelizer: org.apache.tinkerpop.gremlin.server.channel.WsAndHttpChannelizer
graphs: {{graph: {folder}/graph.properties}}
scriptEngines: {{
  gremlin-lang: {{}},
  gremlin-groovy: {{plugins: {{
    org.apache.tinkerpop.gremlin.server.jsr223.GremlinServerGremlinPlugin: {{}},
    {tinkergraph}.jsr223.TinkerGraphGremlinPlugin: {{}},
    org.apache.tinkerpop.gremlin.jsr223.ScriptFileGremlinPlugin: {{files: [{folder}/begin.groovy]}}}}}}}}
serializers:
  - {{className: {util}.GraphSONMessageSerializerV3, config: {{ioRegistries: [{tinkergraph}.structure.TinkerIoRegistryV3]}}}}
  - {{className: {util}.GraphBinaryMessageSerializerV1}}
"""

BEGIN = """
graph.createIndex('id', Vertex)
def globals = [:]
globals << [g: traversal().withEmbedded(graph)]
"""


def fetch():
    """Fetches the server once. Returns why that cannot be done, or an empty text."""
    return servers.fetch("gremlin-server")


@contextmanager
def serving(graph, folder, ids="LONG"):
    """Serves a graph in GraphSON, whose vertices have ids of this kind. Vertices have an index on the property `id`."""
    properties = {
        "gremlin.graph": f"{TINKERGRAPH}.structure.TinkerGraph",
        "gremlin.tinkergraph.vertexIdManager": ids,
        "gremlin.tinkergraph.graphLocation": graph,
        "gremlin.tinkergraph.graphFormat": "graphson",
    }
    folder, port = Path(folder), servers.free_port()
    (folder / "graph.properties").write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    (folder / "begin.groovy").write_text(BEGIN)
    configuration = CONFIGURATION.format(port=port, folder=folder, tinkergraph=TINKERGRAPH, util=UTIL)
    (folder / "server.yaml").write_text(configuration)
    with running("gremlin-server", folder, port, ["-Xmx4g"], "g.V().limit(1).count()") as process:
        yield Server("Gremlin Server", process.pid, f"ws://127.0.0.1:{port}/gremlin", "gremlin")


@contextmanager
def running(name, folder, port, java, query):
    """A process of Gremlin Server with the libraries of `name` and the `server.yaml` of a folder, once it answers a query."""
    command = ["java", *java, "-cp", f"{servers.libraries(name)}/*", MAIN, str(folder / "server.yaml")]
    with (folder / "server.log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            wait(f"http://127.0.0.1:{port}/gremlin?gremlin={query}", process, folder / "server.log")
            yield process
        finally:
            process.kill()


def wait(address, process, log):
    for _ in range(600):
        if process.poll() is not None:
            break
        try:
            urllib.request.urlopen(address, timeout=10).read()
            return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"Gremlin Server did not begin: {log.read_text()[-2000:]}")
