"""Gremlin Server with TinkerGraph, fetched with Maven."""

import shutil
import subprocess
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIBRARIES = HERE / ".cache" / "gremlin-server"
TINKERGRAPH = "org.apache.tinkerpop.gremlin.tinkergraph"
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


def fetch():
    """Fetches the server once. Returns why that cannot be done, or an empty text."""
    for tool in ("java", "mvn"):
        if not shutil.which(tool):
            return f"{tool} is not there"
    if any(LIBRARIES.glob("gremlin-server-*.jar")):
        return ""
    command = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={LIBRARIES}"]
    done = subprocess.run(command, cwd=HERE / "gremlin-server", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout.strip()[:300] if done.returncode else ""


@contextmanager
def serving(graph, folder, port):
    """Serves a graph in GraphSON: the process, and the address."""
    properties = {
        "gremlin.graph": f"{TINKERGRAPH}.structure.TinkerGraph",
        "gremlin.tinkergraph.vertexIdManager": "LONG",
        "gremlin.tinkergraph.graphLocation": graph,
        "gremlin.tinkergraph.graphFormat": "graphson",
    }
    folder = Path(folder)
    (folder / "graph.properties").write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    (folder / "begin.groovy").write_text("def globals = [:]\nglobals << [g: traversal().withEmbedded(graph)]\n")
    configuration = CONFIGURATION.format(port=port, folder=folder, tinkergraph=TINKERGRAPH, util=UTIL)
    (folder / "server.yaml").write_text(configuration)
    main = "org.apache.tinkerpop.gremlin.server.GremlinServer"
    command = ["java", "-Xmx4g", "-cp", f"{LIBRARIES}/*", main, str(folder / "server.yaml")]
    with (folder / "server.log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            wait(f"http://127.0.0.1:{port}/gremlin?gremlin=g.V().limit(1).count()", process, folder / "server.log")
            yield process, f"ws://127.0.0.1:{port}/gremlin"
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
