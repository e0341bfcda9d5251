"""The nodes of a graph, and shards that go from node to node: `mangrovedb.nodes`, and what `mangrovedb.cluster` returns."""

import json
import re
import subprocess
import sys

from . import _mangrove as native

COMMAND = [sys.executable, "-m", "mangrovedb.cli"]


def nodes(address):
    """The nodes of a graph, to move shards between them while others read and write.

    `address` is that of `connect`: `mangrove://host:7701,other:7701/air`. The handle has `address`, `status()`, `move()`, `copy()`,
    `drop()`, `rebalance()` and `remove()`. What `cluster` returns has them, too. They raise a `StorageError` that says what cannot be
    done. If one is stopped or fails, call it again: a shard is then on one node more than it should, or nothing has moved.

    `progress` is called with the name of the shard, the commit that the new copy has, and the last one. Instead of a function, `True`
    shows a line on standard error, and `False` none. By default, there is one on a terminal. Ctrl-C stops a move.

    >>> mg.nodes("mangrove://127.0.0.1:1/air").rebalance(replicas=2, dry_run=True)
    Traceback (most recent call last):
    mangrovedb.StorageError: cannot reach the node at 127.0.0.1:1: Connection refused (os error 111). Try again
    """
    return Nodes(address)


class Nodes:
    """The nodes of a graph: see `nodes`."""

    def __init__(self, address):
        self._address = address

    @property
    def address(self):
        """The address of the graph."""
        return self._address

    def status(self):
        """The nodes and their shards, as `mangrove cluster status --format json` shows them."""
        return json.loads(run("cluster", "status", self.address, "--format", "json"))

    def move(self, shard, to, *, from_node=None, progress=None):
        """Gives a shard to another node. If several nodes have it, `from_node` names the one that gives it away.

        Returns what was done, as in `{"shard": 3, "from": "node-0", "to": "node-2"}`.
        """
        given = native.move_shard(self.address, shard, to, from_node, progress)
        return {"shard": shard, "from": given, "to": to}

    def copy(self, shard, to, *, progress=None):
        """Gives a shard to one more node."""
        native.copy_shard(self.address, shard, to, progress)
        return {"shard": shard, "from": None, "to": to}

    def drop(self, shard, from_node):
        """Takes a shard from a node, if another one that answers has it."""
        native.drop_shard(self.address, shard, from_node)
        return {"shard": shard, "from": from_node, "to": None}

    def rebalance(self, *, replicas=None, without=(), dry_run=False, progress=None):
        """Moves shards until all nodes have about as many: to a new node, or away from one that is to end.

        Each shard is on `replicas` nodes then: as many as now by default. `without` names one node or several that are to have no shards.
        Returns what was done, one shard after the other: a list of what `move`, `copy` and `drop` return. With `dry_run=True`, nothing
        is done.
        """
        steps = native.plan_moves(self.address, replicas, [without] if isinstance(without, str) else list(without))
        return steps if dry_run else [self._carry_out(step, progress) for step in steps]

    def _carry_out(self, step, progress):
        shard, from_node, to = step["shard"], step["from"], step["to"]
        if from_node is None:
            return self.copy(shard, to, progress=progress)
        if to is None:
            return self.drop(shard, from_node)
        return self.move(shard, to, from_node=from_node, progress=progress)

    def remove(self, node):
        """Takes a node that has ended off the list of nodes, for good. Others must have its shards."""
        native.remove_node(self.address, node)

    def __repr__(self):
        return f"<mangrove nodes {self.address}>"


def run(*arguments):
    """What the command writes. Its message as an error if it fails: on standard error, what it says on its way comes before."""
    done = subprocess.run([*COMMAND, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise native.OpenError(re.split("^error: ", done.stderr.strip(), flags=re.MULTILINE)[-1])
    return done.stdout
