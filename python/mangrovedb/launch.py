"""A graph on many nodes, kept running by Ray: `mangrovedb.cluster`. Only this file imports Ray.

One detached actor keeps each node. A node is a process of its own, `mangrove node`: no data goes through Ray.

    Ray ── actor mangrove.air.node-0 ── process: mangrove node air --number 0 --attached
      └─── actor mangrove.air.node-1 ── process: mangrove node air --number 1 --attached

- The actor starts the process again if it ends. Ray starts the actor again if that ends.
- The process ends with its actor, because it reads a pipe from it until the end (`--attached`).
- A node keeps its name, directory and address, so clients find it again.
- The process has its log file locked while it lives. So an actor that was started again waits for the end of the process of the last one.
"""

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from . import _mangrove as native

COMMAND = [sys.executable, "-m", "mangrovedb.cli"]
NAMESPACE = "mangrove"
# How long nodes may take to start, and to end.
START_S, STOP_S = 60, 30
POLL_S = 0.1
# How long an actor waits before it starts its process again: longer if the process ends at once, several times in a row.
PAUSE_S, PAUSE_MAX_S = 0.5, 8
# What an error shows of the output of a node.
TAIL_BYTES = 2_000
GONE = -1
LOCAL_ONLY = "nodes listen on one machine only: TLS between nodes is not there yet"


def cluster(name, *, nodes=2, shards=16, log, data, replicas=1, copies=1, id_space="graph"):
    """Runs a graph on many nodes under Ray, and returns a handle once all nodes answer. Needs the extra `cluster`.

    `log` is the address of the log, `kafka://host:port,host:port`. `data` is a directory for the shards and the output of the nodes.
    Each shard lives on `replicas` nodes. `copies` and `id_space` count if the log has no such graph yet: see `mangrove cluster create`.
    The same call again, also from another program, finds the nodes that run. It uses the Ray that `ray.init()` has found or started,
    or else the one on this machine.

    The handle has `address`, `connect()`, `status()` and `down()`. The nodes run until `down()`, or until Ray ends; if one ends
    otherwise, it starts again. A Ray that a program started by `ray.init()` ends with it. One that `ray start --head` started stays.
    Set RAY_worker_niceness=0 before you start Ray: it gives its workers, and so the nodes, a low priority otherwise.

    >>> mg.cluster("air", nodes=4, shards=2, log="kafka://127.0.0.1:9092", data="/data/air")
    Traceback (most recent call last):
    ValueError: shards=2 are for 1 to 2 nodes, not nodes=4
    """
    _check(name, nodes, shards, log, replicas, copies, id_space)
    data = str(Path(data).absolute())
    settings = {"name": name, "nodes": nodes, "shards": shards, "log": log, "data": data, "replicas": replicas}
    ray = _ray()
    first = _running(ray, name, 0)
    if first is None:
        _create(name, log, shards, copies, id_space)
        Path(data).mkdir(parents=True, exist_ok=True)
    else:
        _compare(settings, ray.get(first.settings.remote()))
    return _started(ray, settings, is_new=first is None)


class Cluster:
    """A graph on nodes that Ray keeps running: see `cluster`."""

    def __init__(self, settings, keepers, addresses):
        self.name, self._settings, self._keepers, self._addresses = settings["name"], settings, keepers, addresses
        self.address = f"mangrove://{','.join(addresses)}/{self.name}"

    def connect(self, **options):
        """The graph, as `connect` gives it."""
        return native.connect(self.address, **options)

    def status(self):
        """The nodes and their shards, as `mangrove cluster status --format json` shows them."""
        return json.loads(_run("cluster", "status", self.address, "--format", "json"))

    def down(self):
        """Ends all nodes, and returns once they have ended. The log and the shards stay, and `cluster` continues with them."""
        _end(_ray(), self._settings, dict(enumerate(self._keepers)))

    def _missing(self):
        """The numbers of the nodes that do not answer."""
        try:
            there = {node["address"] for node in self.status()["nodes"] if "error" not in node}
        except native.OpenError:
            there = set()
        return [at for at, address in enumerate(self._addresses) if address not in there]

    def __repr__(self):
        return f"<mangrove cluster {self.address}>"


class Keeper:
    """The actor that keeps one node running."""

    def __init__(self, settings, number, address):
        self._settings, self._number, self._address = settings, number, address
        self._process, self._ends, self._said = None, 0, ""
        threading.Thread(target=self._keep, daemon=True).start()

    def settings(self):
        return self._settings

    def address(self):
        return self._address

    def state(self):
        """The process of the node if it runs, how often one has ended, and what the last of those wrote."""
        process = self._process
        return process.pid if process and process.poll() is None else None, self._ends, self._said

    def _keep(self):
        pause = PAUSE_S
        while True:
            began = time.monotonic()
            try:
                self._said = self._run_once()
            except Exception as error:
                self._said = f"{type(error).__name__}: {error}"
            self._ends += 1
            pause = PAUSE_S if time.monotonic() - began > PAUSE_MAX_S else min(2 * pause, PAUSE_MAX_S)
            time.sleep(pause)

    def _run_once(self):
        """Runs the node until it ends, and returns what it wrote."""
        log = _output(self._settings, self._number)
        with log.open("ab") as out:
            while not _lock(out):
                time.sleep(POLL_S)
            begin = out.seek(0, os.SEEK_END)
            command = [*COMMAND, *_arguments(self._settings, self._number, self._address)]
            # The process inherits the file, and its lock. In a session of its own, it does not hear Ctrl-C.
            options = {"stdin": subprocess.PIPE, "stdout": out, "stderr": out, "start_new_session": True}
            self._process = subprocess.Popen(command, **options)
        self._process.wait()
        self._process.stdin.close()
        return _tail(log, begin)


def _check(name, nodes, shards, log, replicas, copies, id_space):
    for what, count in {"nodes": nodes, "shards": shards, "replicas": replicas, "copies": copies}.items():
        if not isinstance(count, int) or isinstance(count, bool):
            raise TypeError(f"{what} is a number, not {count!r}")
        if count < 1:
            raise ValueError(f"{what} is 1 or more, not {count}")
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        raise ValueError(f"a name of a graph has letters, digits, - and _: {name!r} is none")
    if nodes > shards:
        raise ValueError(f"shards={shards} are for 1 to {shards} nodes, not nodes={nodes}")
    if replicas > nodes:
        raise ValueError(f"replicas={replicas} need as many nodes, not nodes={nodes}")
    if not isinstance(log, str) or not log.startswith("kafka://"):
        raise ValueError(f"log is kafka://host:port,host:port, not {log!r}")
    if id_space not in ("graph", "label"):
        raise ValueError(f"id_space is 'graph' or 'label', not {id_space!r}")


def _ray():
    """Ray, connected to the one node that it has."""
    try:
        import ray
    except ModuleNotFoundError:
        raise ModuleNotFoundError('this needs Ray: pip install "mangrovedb[cluster]"', name="ray") from None
    if not ray.is_initialized():
        try:
            ray.init(address="auto", log_to_driver=False)
        except ConnectionError:
            message = "no Ray runs here: start one with `ray start --head`, or call ray.init() first, and its Ray ends with the program"
            raise native.OpenError(message) from None
    machines = [node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]]
    if len(machines) > 1:
        raise native.OpenError(f"{LOCAL_ONLY}, and this Ray has {len(machines)}: {', '.join(machines)}")
    if ray.util.client.ray.is_connected():
        raise native.OpenError(f"{LOCAL_ONLY}, and ray:// may lead to another: call ray.init() without it on that machine")
    return ray


def _running(ray, name, number):
    """The actor that keeps a node, or None."""
    try:
        return ray.get_actor(f"mangrove.{name}.node-{number}", namespace=NAMESPACE)
    except ValueError:
        return None


def _create(name, log, shards, copies, id_space):
    """Makes the graph, unless the log has it. One that is made otherwise is refused."""
    arguments = ["cluster", "create", name, "--log", log, "--shards", str(shards), "--copies", str(copies), "--id-space", id_space]
    try:
        _run(*arguments)
    except native.OpenError as error:
        if not str(error).endswith(f"has a graph {name} already"):
            raise


def _compare(wanted, there):
    """The nodes that run are those that are wanted."""
    different = [f"{key}={there[key]!r}, not {wanted[key]!r}" for key in wanted if wanted[key] != there[key]]
    if different:
        raise ValueError(f"the graph {wanted['name']} runs already, with {', '.join(different)}")


def _started(ray, settings, is_new):
    """A handle, once all nodes answer. Actors that are missing are started first."""
    wanted, made = _free_addresses(settings["nodes"]), {}
    try:
        keepers = [_running(ray, settings["name"], at) or _keeper(ray, settings, at, address) for at, address in enumerate(wanted)]
        addresses = ray.get([keeper.address.remote() for keeper in keepers])
        # With another address, an actor was there, or another program was faster.
        made = {at: keepers[at] for at, address in enumerate(wanted) if address == addresses[at]}
        for keeper in keepers:
            _compare(settings, ray.get(keeper.settings.remote()))
        started = Cluster(settings, keepers, addresses)
        _wait_until_all_answer(ray, started, is_new)
        return started
    except BaseException:
        _end(ray, settings, made)
        raise


def _keeper(ray, settings, number, address):
    """Starts the actor that keeps a node, on this machine. Returns the actor of that name if there is one."""
    here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    actor = ray.remote(Keeper).options(
        name=f"mangrove.{settings['name']}.node-{number}",
        namespace=NAMESPACE,
        get_if_exists=True,
        lifetime="detached",
        max_restarts=-1,
        max_task_retries=-1,
        num_cpus=0,
        scheduling_strategy=here,
    )
    return actor.remote(settings, number, address)


def _end(ray, settings, keepers):
    """Ends actors and their nodes, by SIGKILL if a node takes too long."""
    pids = {at: _pid(ray, keeper) for at, keeper in keepers.items()}
    there = {at: pid for at, pid in pids.items() if pid != GONE}
    for at in there:
        ray.kill(keepers[at], no_restart=True)
    _wait(STOP_S, lambda: not any(_running(ray, settings["name"], at) for at in there))
    for at, pid in there.items():
        _wait_for_the_end(_output(settings, at), pid)


def _pid(ray, keeper):
    """The process of a node, or None if it does not run just now. `GONE` if its actor has ended for good."""
    try:
        return ray.get(keeper.state.remote(), timeout=5)[0]
    except ray.exceptions.GetTimeoutError:
        return None
    except ray.exceptions.RayActorError:
        return GONE


def _arguments(settings, number, address):
    """What starts a node."""
    which = ["--number", str(number), "--of", str(settings["nodes"]), "--replicas", str(settings["replicas"])]
    place = ["--data", str(Path(settings["data"], f"node-{number}")), "--listen", address, "--log", settings["log"]]
    return ["node", settings["name"], *which, *place, "--attached"]


def _wait_until_all_answer(ray, started, is_new):
    """Waits for the nodes. New ones are to start at once; one that runs for long may be about to start again."""
    end = time.monotonic() + START_S
    while missing := started._missing():
        states = ray.get([keeper.state.remote() for keeper in started._keepers])
        is_late = time.monotonic() > end
        for at in missing:
            _process, ends, said = states[at]
            if is_late or (is_new and ends):
                log = _output(started._settings, at)
                raise native.OpenError(f"node-{at} does not start. {log} ends with:\n{said if ends else _tail(log, 0)}")
        time.sleep(POLL_S)


def _wait_for_the_end(log, pid):
    """Waits until nobody holds the lock of a node's log file. A process that does not end is killed."""

    def ended():
        with log.open("ab") as file:
            return _lock(file)

    if not _wait(STOP_S, ended):
        if pid:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not _wait(STOP_S, ended):
            raise native.OpenError(f"the node of {log} does not end (process {pid})")


def _wait(patience_s, is_done):
    end = time.monotonic() + patience_s
    while not is_done():
        if time.monotonic() > end:
            return False
        time.sleep(POLL_S)
    return True


def _lock(file):
    """Locks a file, and returns whether that went well. The lock lasts until all processes that have inherited the file have ended."""
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _output(settings, number):
    return Path(settings["data"], f"node-{number}.log")


def _tail(log, begin):
    """The end of a file, from `begin` at the earliest."""
    with log.open("rb") as file:
        file.seek(max(begin, file.seek(0, os.SEEK_END) - TAIL_BYTES))
        return file.read().decode(errors="replace").strip()


def _run(*arguments):
    """What the command writes. Its message as an error if it fails."""
    done = subprocess.run([*COMMAND, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise native.OpenError(done.stderr.strip().removeprefix("error: "))
    return done.stdout


def _free_addresses(count):
    """Addresses that were free just now. Their ports are below those that systems give to outgoing connections."""
    found = set()
    while len(found) < count:
        port = random.randrange(20_000, 32_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            found.add(f"127.0.0.1:{port}")
    return list(found)
