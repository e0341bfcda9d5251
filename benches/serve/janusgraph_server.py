"""JanusGraph with BerkeleyDB behind Gremlin Server, fetched with Maven."""

from contextlib import contextmanager
from pathlib import Path

import servers
from gremlin_server import UTIL, running
from servers import Server

CONFIGURATION = """
host: 127.0.0.1
port: {port}
channelizer: org.apache.tinkerpop.gremlin.server.channel.WsAndHttpChannelizer
evaluationTimeout: 900000
graphs: {{graph: {folder}/graph.properties}}
scriptEngines: {{
  gremlin-groovy: {{plugins: {{
    org.apache.tinkerpop.gremlin.server.jsr223.GremlinServerGremlinPlugin: {{}},
    org.janusgraph.graphdb.tinkerpop.plugin.JanusGraphGremlinPlugin: {{}},
    org.apache.tinkerpop.gremlin.jsr223.ScriptFileGremlinPlugin: {{files: [{folder}/begin.groovy]}}}}}}}}
serializers:
  - {{className: {util}.GraphSONMessageSerializerV3}}
  - {{className: {util}.GraphBinaryMessageSerializerV1}}
"""

# Vertices are found by their key `vid`, which has an index.
BEGIN = """
def schema = graph.openManagement()
if (!schema.containsPropertyKey('vid')) {
    def vid = schema.makePropertyKey('vid').dataType(Long.class).make()
    schema.makePropertyKey('age').dataType(Long.class).make()
    schema.makeVertexLabel('n').make()
    ['e', 'by'].each { schema.makeEdgeLabel(it).make() }
    schema.buildIndex('by_vid', Vertex.class).addKey(vid).buildCompositeIndex()
}
schema.commit()
def globals = [:]
globals << [g: traversal().withEmbedded(graph)]
"""

# Takes files with `vid,age` and `from,to` in each line. Java's ids of vertices stay the same in later transactions.
LOAD = """
known = new HashMap(); rows = 0
new File(vertices).eachLine { row ->
    def (vid, age) = row.split(',').collect { it as long }
    known[vid] = graph.addVertex(T.label, 'n', 'vid', vid, 'age', age).id()
    if (++rows % 10000 == 0) graph.tx().commit()
}
graph.tx().commit()
new File(edges).eachLine { row ->
    def (source, target) = row.split(',').collect { graph.vertices(known[it as long]).next() }
    source.addEdge('e', target)
    if (++rows % 10000 == 0) graph.tx().commit()
}
graph.tx().commit()
rows
"""


def fetch():
    """Fetches the server once. Returns why that cannot be done, or an empty text."""
    return servers.fetch("janusgraph")


@contextmanager
def serving(folder):
    """Serves an empty graph, whose files are in a folder."""
    folder, port = Path(folder), servers.free_port()
    properties = {"gremlin.graph": "org.janusgraph.core.JanusGraphFactory", "storage.backend": "berkeleyje", "storage.directory": folder / "db"}
    (folder / "graph.properties").write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    (folder / "begin.groovy").write_text(BEGIN)
    (folder / "server.yaml").write_text(CONFIGURATION.format(port=port, folder=folder, util=UTIL))
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in ("java.lang", "java.nio", "java.util", "java.util.concurrent", "sun.nio.ch")]
    with running("janusgraph", folder, port, ["-Xmx2g", *opened], "100-1") as process:
        yield Server("JanusGraph", process.pid, f"ws://127.0.0.1:{port}/gremlin", "gremlin")
