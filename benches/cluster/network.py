"""A network of our own, in which packets between processes can be lost: in both directions, or in one.

All stay on 127.0.0.1. A process belongs to the group of its kind. What a group sends on connections that it has opened bears a mark, and rules drop
packets by marks and ports. It needs root, `ip` and `iptables`.
"""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager

NAME = "MANGROVE_FAULTS_NETWORK"
CLIENTS, NODES = 50_200, 50_100


def missing():
    """Why there can be no such network here, or None."""
    if os.geteuid():
        return "it needs root"
    absent = [command for command in ("ip", "iptables") if not shutil.which(command)]
    return f"{' and '.join(absent)} is not there" if absent else None


def is_inside():
    return NAME in os.environ


def run_inside():
    """Runs this command again in a new network, and gives its exit code. The network goes with it."""
    name = f"mangrove-faults-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
        return subprocess.run(["ip", "netns", "exec", name, sys.executable, *sys.argv], env={**os.environ, NAME: name}).returncode
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


def rule(table, chain, match, *action, change="-A"):
    subprocess.run(["iptables", "-w", "-t", table, change, chain, "-p", "tcp", *match.split(), "-j", *action], check=True)


class Network:
    """`brokers` are the ports of brokers, and `nodes` that of each node."""

    def __init__(self, brokers, nodes):
        self.brokers, self.nodes = ",".join(map(str, brokers)), nodes
        others = ",".join(map(str, nodes))
        for group, ports in [(CLIENTS, others), *((self.group(node), f"{self.brokers},{others}") for node in range(len(nodes)))]:
            rule("mangle", "OUTPUT", f"-m owner --gid-owner {group} -m multiport --dports {ports}", "CONNMARK", "--set-mark", str(group))

    @staticmethod
    def group(node):
        """A node must run with this group."""
        return NODES + node

    @contextmanager
    def without(self, *matches):
        """Meanwhile these packets are lost."""
        for match in matches:
            rule("filter", "INPUT", match, "DROP")
        try:
            yield
        finally:
            for match in matches:
                rule("filter", "INPUT", match, "DROP", change="-D")

    def to_kafka(self, node):
        return f"-m multiport --dports {self.brokers} -m connmark --mark {self.group(node)}"

    def from_kafka(self, node):
        return f"-m multiport --sports {self.brokers} -m connmark --mark {self.group(node)}"

    def to_node(self, node):
        """What clients send to it."""
        return f"--dport {self.nodes[node]} -m connmark --mark {CLIENTS}"

    def from_node(self, node):
        return f"--sport {self.nodes[node]} -m connmark --mark {CLIENTS}"

    def all_of(self, node):
        """What comes to a node, and what it sends."""
        return f"--dport {self.nodes[node]}", f"--sport {self.nodes[node]}", f"-m connmark --mark {self.group(node)}"
