"""`mangrove serve`, and a graph to serve."""

import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from servers import Server

MANGROVE = Path(sys.executable).with_name("mangrove")


@contextmanager
def serving(path):
    with subprocess.Popen([MANGROVE, "serve", path, "--port", "0"], stderr=subprocess.PIPE, text=True) as process:
        try:
            address = re.search(r"ws://\S+?/gremlin", process.stderr.readline())[0]
            yield Server("Mangrove", process.pid, address, "gremlin")
        finally:
            process.kill()


def export(path, folder):
    """The graph in GraphSON."""
    subprocess.run([MANGROVE, "export", path, folder, "--format", "graphson"], check=True, capture_output=True)
    return Path(folder) / "graph.graphson"
