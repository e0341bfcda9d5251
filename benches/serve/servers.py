"""What the servers share: where they are, and how Maven fetches them."""

import shutil
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Server:
    name: str
    pid: int
    address: str
    language: str


def libraries(name):
    """Where the libraries of a folder with a pom.xml are."""
    return HERE / ".cache" / name


def fetch(name):
    """Fetches the libraries once. Returns why that cannot be done, or an empty text."""
    for tool in ("java", "mvn"):
        if not shutil.which(tool):
            return f"{tool} is not there"
    stamp, pom = libraries(name) / "fetched", HERE / name / "pom.xml"
    if stamp.exists() and stamp.stat().st_mtime > pom.stat().st_mtime:
        return ""
    shutil.rmtree(libraries(name), ignore_errors=True)
    command = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={libraries(name)}"]
    done = subprocess.run(command, cwd=pom.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        return done.stdout.strip()[:300] or "Maven failed"
    stamp.touch()
    return ""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]
