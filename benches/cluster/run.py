#!/usr/bin/env python3
"""A graph on nodes beside the same graph in one embedded database, on this machine: what the work costs.

    run.py [--suite NAMES] [--scale N] [--nodes N] …

    work        loading, reads, searches and writes of an RMAT graph: rates, and the CPU time of every process
    tao         TAO's operations on users with 40 properties: CPU, messages and bytes of each operation
    is          LDBC's short reads IS1 to IS7, in the same way
    analytics   PageRank, shortest paths and triangles on four nodes, and over four partitions of one process: time, CPU, bytes
    restore     how fast an empty node reads the log, and a backup with the log after it
    scale       what 1, 2, 4 and 8 nodes of a twentieth of a core do each second, and a model of their time on a real network
    delay       how many round trips queries take, by nodes that are far away
    peers       a few queries and writes beside JanusGraph

The same data and queries go to both, and the answers must be equal. On two cores this says what a call costs, not how fast many machines are.
It needs Java and Maven, and a build with a client for Kafka (`make install CLUSTER=1`). `scale` needs root. All processes end with it.
"""

import argparse
import importlib
import signal
import sys
import tempfile
from pathlib import Path

import nodes

# The module of each suite.
SUITES = {"work": "work", "tao": "accounts", "is": "accounts", "analytics": "algorithms", "restore": "restoring", "scale": "scaling",
          "delay": "delays", "peers": "peers"}


def names(text):
    wrong = [name for name in text.split(",") if name not in SUITES]
    if wrong:
        raise argparse.ArgumentTypeError(f"no suite {', '.join(wrong)}: there are {', '.join(SUITES)}")
    return text.split(",")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=names, default=["work"], help="which, separated by commas (default: work)")
    parser.add_argument("--scale", type=int, help="the RMAT graph has 2^SCALE vertices, and 16 times as many edges; each suite has its own")
    parser.add_argument("--nodes", type=int, help="node processes (1; analytics and delay: 4)")
    parser.add_argument("--brokers", type=int, default=1, help="work: brokers, and copies of the log (default: 1)")
    parser.add_argument("--tls", action="store_true", help="work: all connections over TLS")
    parser.add_argument("--users", type=int, help="tao, scale: users, 4.35 edges each (40000, 10000)")
    parser.add_argument("--persons", type=int, help="is, scale: people, 190 messages each (400, 150)")
    parser.add_argument("--log-seconds", type=int, default=60, help="restore: how long clients write after the backup (60)")
    parser.add_argument("--quota", type=float, default=0.05, help="scale: cores of each node, at least 0.01 (0.05)")
    parser.add_argument("--counts", default="1,2,4,8", help="scale: how many nodes (1,2,4,8)")
    parser.add_argument("--message-us", type=float, default=50, help="scale: the time of a message on the network of the model (50)")
    parser.add_argument("--gb-per-s", type=float, default=1, help="scale: its bandwidth (1)")
    parser.add_argument("--delay-ms", type=float, default=10, help="delay: in each direction (10)")
    return parser.parse_args()


def main():
    options, code = arguments(), 0
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    for name in options.suite:
        print(f"==> {name}", flush=True)
        options.name = name
        with tempfile.TemporaryDirectory(prefix="mangrove-bench-") as home:
            try:
                code = importlib.import_module(SUITES[name]).run(options, Path(home)) or code
            except nodes.kafka.Missing as missing:
                print(f"left out: {missing}")
        print()
    return code


if __name__ == "__main__":
    sys.exit(main())
