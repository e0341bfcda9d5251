#!/usr/bin/env python3
"""TinkerPop's scenarios over a graph on three nodes: processes that follow a topic of a real Kafka broker.

    python conformance/nodes.py [--verbose] [--only PART] …

It passes its options to `conformance`, which compares the failures with the same list as on every other store. Each run spreads the vertices over the
shards in another way. Scenarios that depend on their order are in `may-fail-on-nodes.txt`. Then it checks the shards. Mangrove comes from the Python
that runs this script (`make install CLUSTER=1`). Without Java, Maven or a client for Kafka, it says so and does nothing.

It says what it does, and how that ended. If something fails, or a node has ended meanwhile, it fails, and shows what the nodes have said.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "deploy" / "kafka"))
import brokers as kafka  # noqa: E402

COMMAND = [sys.executable, "-m", "mangrovedb.cli"]
SCENARIOS = ["cargo", "run", "--release", "-q", "--bin", "conformance", "--", "--if-available", "--store", "nodes"]
SCENARIOS += ["--may-fail", str(ROOT / "conformance" / "may-fail-on-nodes.txt")]
NODES, SHARDS = 3, 6
# How long the nodes may take to start, and how much is shown of what each has said.
START_S, TAIL_BYTES = 180, 3_000


def start(log, directory):
    """The address of a graph on nodes that have just started."""
    arguments = ["cluster", "up", "scenarios", "--log", log, "--shards", str(SHARDS), "--nodes", str(NODES), "--data", str(directory)]
    print(f"starting {NODES} nodes with the log {log}", flush=True)
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as up:
        late = threading.Timer(START_S, up.kill)
        late.start()
        address, said = up.communicate()
        late.cancel()
    if "has no client for Kafka" in said:
        raise kafka.Missing("this build has no client for Kafka (make install CLUSTER=1)")
    processes = re.findall(r"process (\d+)", said)
    if up.returncode or len(set(processes)) != NODES or not address.startswith("mangrove://"):
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGTERM)
        fail(f"the nodes do not start within {START_S} s: `cluster up` ended with {up.returncode}, and said\n{address}{said}", directory)
    print(f"{NODES} nodes: processes {', '.join(processes)}", flush=True)
    return address.strip()


def fail(why, directory):
    """Ends with why, and with what the nodes have said."""
    for log in sorted(directory.glob("*.log")):
        print(f"{log.name} ends with:\n{log.read_text(errors='replace')[-TAIL_BYTES:]}", file=sys.stderr)
    sys.exit(f"error: {why}")


def silent(address):
    """The nodes that do not answer, and why."""
    done = subprocess.run([*COMMAND, "cluster", "status", address, "--format", "json"], capture_output=True, text=True)
    if done.returncode:
        return [done.stderr.strip()]
    return [f"{node['name']}: {node['error']}" for node in json.loads(done.stdout)["nodes"] if "error" in node]


def run(home, options):
    """Fails unless the scenarios pass and fail as listed, and the shards agree."""
    with kafka.Brokers(home / "kafka") as started:
        address = start(f"kafka://{started.addresses}", home / "nodes")
        try:
            steps = {"the scenarios": [*SCENARIOS, "--address", address, *options], "the check": [*COMMAND, "check", address]}
            ended = {what: subprocess.run(words, cwd=ROOT).returncode for what, words in steps.items()}
            wrong = [f"{what} ended with {code}" for what, code in ended.items() if code] + silent(address)
        finally:
            down = subprocess.run([*COMMAND, "cluster", "down", address], capture_output=True, text=True)
        if down.returncode:
            wrong.append(f"the nodes do not end: {down.stderr.strip()}")
        if wrong:
            fail("; ".join(wrong), home / "nodes")
    print("the scenarios pass and fail as listed, the shards pass the check, and all nodes have ended", flush=True)


def main():
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(f"error: ended by {signal.Signals(number).name}"))
    with tempfile.TemporaryDirectory(prefix="mangrove-scenarios-") as home:
        try:
            run(Path(home), sys.argv[1:])
        except kafka.Missing as missing:
            print(f"left out: {missing}")


if __name__ == "__main__":
    main()
