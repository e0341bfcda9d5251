"""Builds the peers that want a JVM: one Java program with TinkerGraph and Neo4j in it, by Maven."""

import shutil
import subprocess
from pathlib import Path

ENGINES = ("tinkergraph", "neo4j")
FOLDER = Path(__file__).resolve().parent / "java"
TARGET = FOLDER / "target"
CLASSPATH = f"{TARGET / 'classes'}:{TARGET / 'lib'}/*"


def build(say):
    """Why it cannot be built; nothing if it is there."""
    for tool in ("java", "mvn"):
        if not shutil.which(tool):
            return f"{tool} is not there"
    sources = [*FOLDER.rglob("*.java"), FOLDER / "pom.xml"]
    stamp = TARGET / "built"
    if stamp.exists() and all(source.stat().st_mtime < stamp.stat().st_mtime for source in sources):
        return ""
    say("building the Java peers (the first time downloads some 140 MB)")
    command = ["mvn", "-q", "-B", "compile", "dependency:copy-dependencies", "-DoutputDirectory=target/lib"]
    done = subprocess.run(command, cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        return f"Maven failed: {done.stdout.strip().splitlines()[0][:200] if done.stdout.strip() else 'no message'}"
    stamp.touch()
    return ""


def command(engine, memory="4g"):
    opens = ("java.base/java.nio", "java.base/java.lang", "java.base/sun.nio.ch", "java.base/java.util.concurrent")
    return ["java", f"-Xmx{memory}", *(f"--add-opens={package}=ALL-UNNAMED" for package in opens), "-cp", CLASSPATH, "mangrove.compare.Peer", engine]
