"""Builds the peers that need a JVM, with Maven: one Java program that contains TinkerGraph and Neo4j."""

import shutil
import subprocess
from pathlib import Path

ENGINES = ("tinkergraph", "neo4j")
FOLDER = Path(__file__).resolve().parent / "java"
TARGET = FOLDER / "target"


def build(say):
    """Builds the program. Returns why it cannot be built, or None if it is there."""
    for tool in ("java", "mvn"):
        if not shutil.which(tool):
            return f"{tool} is not there"
    sources = [*FOLDER.rglob("*.java"), FOLDER / "pom.xml"]
    stamp = TARGET / "built"
    if stamp.exists() and all(source.stat().st_mtime < stamp.stat().st_mtime for source in sources):
        return ""
    say("building the Java peers (the first time downloads some 140 MB)")
    goals = [["compile", "-P", ",".join(ENGINES)]]
    goals += [["dependency:copy-dependencies", "-P", engine, f"-DoutputDirectory=target/{engine}"] for engine in ENGINES]
    for goal in goals:
        done = subprocess.run(["mvn", "-q", "-B", *goal], cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            return f"Maven failed: {done.stdout.strip().splitlines()[0][:200] if done.stdout.strip() else 'no message'}"
    stamp.touch()
    return ""


def command(engine, memory="6g"):
    opens = ("java.base/java.nio", "java.base/java.lang", "java.base/sun.nio.ch", "java.base/java.util.concurrent")
    opened = [f"--add-opens={package}=ALL-UNNAMED" for package in opens]
    return ["java", f"-Xmx{memory}", *opened, "-cp", f"{TARGET / 'classes'}:{TARGET / engine}/*", "mangrove.compare.Peer", engine]
