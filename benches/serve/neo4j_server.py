"""Neo4j's community edition over Bolt, fetched with Maven."""

import importlib.util
import subprocess
from contextlib import contextmanager
from pathlib import Path

import servers
from servers import Server

SERVE = servers.HERE / "neo4j" / "Serve.java"


def fetch():
    """Fetches the server once. Returns why that cannot be done, or an empty text."""
    if not importlib.util.find_spec("neo4j"):
        return "the Python driver is not there (pip install neo4j)"
    return servers.fetch("neo4j")


@contextmanager
def serving(graph, folder):
    """Serves a graph in CSV files (see benches/compare/graph.py)."""
    folder = Path(folder) / "neo4j"
    folder.mkdir()
    tables, port = folder / "tables", servers.free_port()
    tables.write_text("".join(f"{line}\n" for line in describe(graph)))
    opens = ("java.nio", "java.lang", "sun.nio.ch", "java.util.concurrent")
    options = ["-Xmx4g", *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in opens), "-cp", f"{servers.libraries('neo4j')}/*"]
    command = ["java", *options, SERVE, folder / "database", port, graph.folder, tables]
    command = [*map(str, command)]
    with (folder / "log").open("w") as log, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process:
        try:
            if not any(line.strip() == "ready" for line in process.stdout):
                raise RuntimeError(f"Neo4j did not begin: {(folder / 'log').read_text()[-2000:]}")
            yield Server("Neo4j", process.pid, f"bolt://127.0.0.1:{port}", "cypher")
        finally:
            process.kill()


def describe(graph):
    """The tables as Serve.java reads them."""
    tables = [(table, ":".join((table.label, *table.also))) for table in graph.vertices]
    tables += [(table, f"{table.source} {table.label} {table.target}") for table in graph.edges]
    for table, what in tables:
        yield "\t".join((table.file, what, " ".join(f"{key}:{type}" for key, type in table.columns.items())))
