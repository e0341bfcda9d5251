#!/usr/bin/env python3
"""TinkerPop's scenarios over a graph on three nodes: processes that follow a topic of a real Kafka broker.

    python conformance/nodes.py [--verbose] [--only PART] …

It passes its options to `conformance`, which compares the failures with the same list as on every other store. Each run spreads the vertices over the
shards in another way. Scenarios that depend on their order are in `may-fail-on-nodes.txt`. Then it checks the shards. Mangrove comes from the Python
that runs this script (`make install CLUSTER=1`). Without Java, Maven or a client for Kafka, it says so and does nothing.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "deploy" / "kafka"))
import brokers as kafka  # noqa: E402

COMMAND = [sys.executable, "-m", "mangrovedb.cli"]
SCENARIOS = ["cargo", "run", "--release", "-q", "--bin", "conformance", "--", "--if-available", "--store", "nodes"]
SCENARIOS += ["--may-fail", str(ROOT / "conformance" / "may-fail-on-nodes.txt")]
NODES, SHARDS = 3, 6


def start(log, directory):
    """The address of a graph on nodes that have just started."""
    arguments = ["cluster", "up", "scenarios", "--log", log, "--shards", str(SHARDS), "--nodes", str(NODES), "--data", str(directory)]
    up = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True)
    if "has no client for Kafka" in up.stderr:
        raise kafka.Missing("this build has no client for Kafka (make install CLUSTER=1)")
    processes = re.findall(r"process (\d+)", up.stderr)
    if up.returncode or len(set(processes)) != NODES:
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGTERM)
        sys.exit(f"error: the nodes do not start\n{up.stderr}")
    print(f"{NODES} nodes: processes {', '.join(processes)}", flush=True)
    return up.stdout.strip()


def run(home, options):
    """Whether the scenarios pass and fail as listed, and the shards agree."""
    with kafka.Brokers(home / "kafka") as started:
        address = start(f"kafka://{started.addresses}", home / "nodes")
        try:
            scenarios = subprocess.run([*SCENARIOS, "--address", address, *options], cwd=ROOT)
            check = subprocess.run([*COMMAND, "check", address])
        finally:
            subprocess.run([*COMMAND, "cluster", "down", address], check=True, stderr=subprocess.DEVNULL)
    return scenarios.returncode == 0 and check.returncode == 0


def main():
    with tempfile.TemporaryDirectory(prefix="mangrove-scenarios-") as home:
        try:
            return 0 if run(Path(home), sys.argv[1:]) else 1
        except kafka.Missing as missing:
            print(f"left out: {missing}")
            return 0


if __name__ == "__main__":
    sys.exit(main())
