"""A graph on many nodes, kept running by Ray: `mangrovedb.cluster`. Only this file imports Ray.

One detached actor keeps each node. A node is a process of its own, `mangrove node`: no data goes through Ray.

    Ray ── actor mangrove.air.node-0 ── process: mangrove node air --number 0 --attached
      └─── actor mangrove.air.node-1 ── process: mangrove node air --number 1 --attached

- The actor starts the process again if it ends. Ray starts the actor again if that ends.
- The process ends with its actor, because it reads a pipe from it until the end (`--attached`).
- The process has its log file locked while it lives. So an actor that was started again waits for the end of the process of the last one.
- An actor stays on its machine, where the shards are, and the node keeps its port. If Ray has lost the machine, it starts the actor on
  another one: the node gets its shards from a backup there, or reads the whole log. Should the lost one still run for a while, only the
  last of the two counts.
"""

import os
import random
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from . import _mangrove as native
from .moves import COMMAND, Nodes, run

NAMESPACE = "mangrove"
# How long nodes may take to start once they have read the log, and to end, and how long their actors may take to answer.
START_S, STOP_S, ANSWER_S = 60, 30, 3
POLL_S = 0.1
# How long an actor waits before it starts its process again: longer if the process ends at once, several times in a row.
PAUSE_S, PAUSE_MAX_S = 0.5, 8
# Where a node says that it listens, and what an error shows: the beginning and the end of its output.
HEAD_BYTES, TAIL_BYTES = 100_000, 2_000
CERTIFICATES = ("ca.pem", "cert.pem", "key.pem")
# Systems give outgoing connections ports above these.
PORTS = range(20_000, 32_000)
LOCAL_ONLY = "without certificates, nodes listen on one machine only: give tls=DIRECTORY, from `mangrove cluster certs`"


def cluster(name, *, nodes=2, shards=16, log=None, data, replicas=1, copies=1, id_space="graph", tls=None, log_config=None, store=None, lake=None):
    """Runs a graph on many nodes under Ray, and returns a handle once all nodes answer. Needs the extra `cluster`.

    `log` is the address of the log, `kafka://host:port,host:port`. `data` is a directory for the shards and the output of the nodes.
    Each shard lives on `replicas` nodes. `copies` and `id_space` count if the log has no such graph yet: see `mangrove cluster create`.
    The same call again, also from another program, finds the nodes that run. It uses the Ray that `ray.init()` has found or started,
    or else the one on this machine.

    Without `tls`, Ray has one machine, and the nodes listen on loopback. With it, they go to all machines of Ray that have CPUs, and
    listen at the addresses that Ray has for these. `tls` is a directory from `mangrove cluster certs`, with ca.pem, cert.pem and key.pem.
    The certificate of a machine must name its address. `log_config` is the file of `mangrove node --log-config`, for brokers on other
    machines. `data`, `tls` and `log_config` are the same paths on each machine. This program reads the last two as well.

    `store` is where the nodes keep backups: `s3://bucket/path`, `gs://bucket/path`, `az://container/path`, or a directory that all
    machines reach. A node gets shards that it does not have from there. It finds its credentials (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL …)
    in the environment in which Ray was started on its machine.

    `lake` is the file of a graph in open files, as `open_lake` takes it: a path that is the same on each machine, or an address. The nodes
    then read the lake, and keep nothing but their output in `data`. There is no log, and nothing to write, to move or to back up. `log`,
    `shards`, `replicas`, `copies`, `id_space`, `log_config` and `store` do not go with it.

    The handle has `connect()`, `backup()`, `down()`, and all that `nodes` has: `address`, `status()`, `rebalance()` and others. The nodes
    run until `down()`, or until Ray ends. If one ends otherwise, it starts again: on its machine, or on another one if Ray has lost that
    machine. To have more nodes, call `down()`, then `cluster` with a larger number, and then `rebalance()`.

    A Ray that a program started by `ray.init()` ends with it. One that `ray start --head` started stays. Set RAY_worker_niceness=0 before
    you start Ray: it gives its workers, and so the nodes, a low priority otherwise.

    >>> mg.cluster("air", nodes=4, shards=2, log="kafka://127.0.0.1:9092", data="/data/air")
    Traceback (most recent call last):
    ValueError: shards=2 are for 1 to 2 nodes, not nodes=4
    """
    _check(name, nodes, shards, log, replicas, copies, id_space, tls, store, lake, log_config)
    tls, log_config, data = (None if path is None else str(Path(path).absolute()) for path in (tls, log_config, data))
    settings = {"name": name, "nodes": nodes, "shards": shards, "log": log, "data": data, "replicas": replicas}
    settings |= {"tls": tls, "log_config": log_config, "store": _place(store), "lake": _place(lake)}
    ray = _ray()
    machines = _machines(ray, tls)
    first = _running(ray, name, 0)
    if first is None:
        if lake is None:
            _create(settings, copies, id_space)
    else:
        _compare(settings, _made_with(ray, [first])[0][0])
    return _started(ray, settings, machines, is_new=first is None)


def _ended(name, addresses):
    """Ends the nodes that Ray keeps of the graph with nodes at these addresses. Returns their names: none if Ray keeps none."""
    try:
        ray = _ray()
    except (ModuleNotFoundError, native.OpenError):
        return []
    except Exception as error:  # that of another user, for example
        print(f"Ray does not say whether it keeps nodes: {error}", file=sys.stderr)
        return []
    there = {actor["name"] for actor in ray.util.list_named_actors(all_namespaces=True) if actor["namespace"] == NAMESPACE}
    numbers = [int(found[1]) for actor in there if (found := re.fullmatch(rf"mangrove\.{re.escape(name)}\.node-(\d+)", actor))]
    keepers = {at: keeper for at in sorted(numbers) if (keeper := _running(ray, name, at))}
    # Nodes of another log may have a graph of this name.
    if not set(_ask(ray, keepers, "address", ANSWER_S).values()) & set(addresses):
        return []
    _end(ray, name, keepers)
    return [f"node-{at}" for at in keepers]


class Cluster(Nodes):
    """A graph on nodes that Ray keeps running: see `cluster`."""

    def __init__(self, settings):
        self.name, self._settings, self._addresses = settings["name"], settings, {}

    @property
    def address(self):
        """The address of the graph, with the nodes where they are now. Those whose actors do not say so come last, where they were."""
        ray = _ray()
        found = _ask(ray, self._keepers(ray), "address", ANSWER_S)
        self._addresses |= found
        nodes = sorted(self._addresses, key=lambda at: (at not in found, at))
        tls = f"?tls={self._settings['tls']}" if self._settings["tls"] else ""
        return f"mangrove://{','.join(self._addresses[at] for at in nodes)}/{self.name}{tls}"

    def connect(self, **options):
        """The graph, as `connect` gives it."""
        return native.connect(self.address, **options)

    def backup(self, *, keep_log=False):
        """Makes a backup in `store`, while others read and write: `mangrove cluster backup`.

        Then it deletes the log before the last backup but one, unless you say `keep_log`. Returns the name of the backup, the number of its
        last commit, and its size in MB, as in `{"name": "00000000000000000008-5f71854127f1aa87", "commit": 12, "size_mb": 3.2}`.
        """
        if self._settings.get("lake"):
            raise ValueError("the nodes of a lake only read its files: copy their directory for a backup")
        if not self._settings.get("store"):
            raise ValueError("these nodes keep no backups: call down(), and then mg.cluster() with store=")
        said = run("cluster", "backup", self.address, *(["--keep-log"] if keep_log else []))
        name, commit, size_mb = re.fullmatch(r"(\S+): commit (\d+), ([\d.]+) MB\n", said).groups()
        return {"name": name, "commit": int(commit), "size_mb": float(size_mb)}

    def down(self):
        """Ends all nodes, and returns once they have ended. The log and the shards stay, or the lake, and `cluster` continues with them."""
        ray = _ray()
        _end(ray, self.name, self._keepers(ray))

    def _keepers(self, ray):
        """The actors that there are, by the number of the node."""
        found = {at: _running(ray, self.name, at) for at in range(self._settings["nodes"])}
        return {at: keeper for at, keeper in found.items() if keeper}

    def _missing(self):
        """The nodes that do not answer, by number, and why."""
        there, why = {}, "it is not among the nodes of the graph"
        try:
            there = {node["address"]: node.get("error") for node in self.status()["nodes"]}
        except native.OpenError as error:
            why = str(error)
        return {at: said for at in range(self._settings["nodes"]) if (said := there.get(self._addresses.get(at), why))}

    def __repr__(self):
        return f"<mangrove cluster {self.name} of {self._settings['nodes']} nodes>"


class Keeper:
    """The actor that keeps one node running."""

    def __init__(self, settings, number, port):
        self._settings, self._number, self._wanted = settings, number, port
        self._log = Path(settings["data"], f"node-{number}.log")
        self._host = _own_host() if settings["tls"] else "127.0.0.1"
        self._address = f"{self._host}:{port}"
        self._process, self._begin, self._ends, self._said, self._ending = None, 0, 0, "", threading.Event()
        self._keeping = threading.Thread(target=self._keep, daemon=True)
        self._keeping.start()

    def made_with(self):
        return self._settings, self._wanted

    def address(self):
        return self._address

    def state(self):
        """How often the node has ended, whether it still reads the log, where its output is, and what it wrote last."""
        is_reading = self._process is not None and self._process.poll() is None and not _listens(self._log, self._begin)
        return self._ends, is_reading, f"{self._log} on {self._host}", self._said or _tail(self._log, self._begin)

    def end(self):
        """Ends the node, by SIGKILL if it takes too long, and then the actor. Returns only what goes wrong."""
        import ray

        self._ending.set()
        if not _wait(STOP_S, self._has_ended):
            if self._process:
                self._process.kill()
            if not _wait(STOP_S, self._has_ended):
                return f"the node of {self._log} on {self._host} does not end"
        ray.actor.exit_actor()

    def _has_ended(self):
        if self._process:
            self._process.stdin.close()
        return not self._keeping.is_alive()

    def _keep(self):
        pause = PAUSE_S
        while not self._ending.is_set():
            began = time.monotonic()
            try:
                self._said = self._run_once()
            except Exception as error:
                self._said = f"{type(error).__name__}: {error}"
            self._ends += 1
            pause = PAUSE_S if time.monotonic() - began > PAUSE_MAX_S else min(2 * pause, PAUSE_MAX_S)
            self._ending.wait(pause)

    def _run_once(self):
        """Runs the node until it ends, and returns what it wrote."""
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as out:
            while not _lock(out):
                time.sleep(POLL_S)
            if self._ending.is_set():
                return ""
            self._begin = out.seek(0, os.SEEK_END)
            self._address = f"{self._host}:{_free_port(self._host, self._wanted)}"
            others = self._others() if self._settings.get("lake") else []
            command = [*COMMAND, *_arguments(self._settings, self._number, self._address, others)]
            # The process inherits the file, and its lock. In a session of its own, it does not hear Ctrl-C.
            options = {"stdin": subprocess.PIPE, "stdout": out, "stderr": out, "start_new_session": True}
            self._process = subprocess.Popen(command, **options)
        self._process.wait()
        self._process.stdin.close()
        return _tail(self._log, self._begin)

    def _others(self):
        """Where the other nodes are, as their actors say. Nodes of a lake have no log that tells it."""
        import ray

        keepers = {at: _running(ray, self._settings["name"], at) for at in range(self._settings["nodes"]) if at != self._number}
        return list(_ask(ray, {at: keeper for at, keeper in keepers.items() if keeper}, "address", ANSWER_S).values())


def _check(name, nodes, shards, log, replicas, copies, id_space, tls, store, lake, log_config):
    for what, count in {"nodes": nodes, "shards": shards, "replicas": replicas, "copies": copies}.items():
        if not isinstance(count, int) or isinstance(count, bool):
            raise TypeError(f"{what} is a number, not {count!r}")
        if count < 1:
            raise ValueError(f"{what} is 1 or more, not {count}")
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        raise ValueError(f"a name of a graph has letters, digits, - and _: {name!r} is none")
    if lake is not None:
        _check_lake(lake, {"log": log, "log_config": log_config, "store": store}, {"shards": shards, "replicas": replicas, "copies": copies, "id_space": id_space})
    elif nodes > shards:
        raise ValueError(f"shards={shards} are for 1 to {shards} nodes, not nodes={nodes}")
    if replicas > nodes:
        raise ValueError(f"replicas={replicas} need as many nodes, not nodes={nodes}")
    if lake is None and (not isinstance(log, str) or not log.startswith("kafka://")):
        raise ValueError(f"log is kafka://host:port,host:port, not {log!r}")
    if id_space not in ("graph", "label"):
        raise ValueError(f"id_space is 'graph' or 'label', not {id_space!r}")
    if store is not None and not (isinstance(store, (str, os.PathLike)) and str(store)):
        raise ValueError(f"store is s3://bucket/path, gs://bucket/path, az://container/path or a directory, not {store!r}")
    missing = [] if tls is None else [str(path) for file in CERTIFICATES if not (path := Path(tls, file)).is_file()]
    if missing:
        raise ValueError(f"tls is a directory from `mangrove cluster certs`, but {', '.join(missing)} is not there")


def _check_lake(lake, given, numbers):
    """A lake has no log and no shards."""
    if not (isinstance(lake, (str, os.PathLike)) and str(lake)):
        raise ValueError(f"lake is the file of a graph in open files, a path or an address, not {lake!r}")
    usual = {"shards": 16, "replicas": 1, "copies": 1, "id_space": "graph"}
    wrong = [key for key, value in given.items() if value is not None] + [key for key, value in numbers.items() if value != usual[key]]
    if wrong:
        raise ValueError(f"a lake has no log and no shards: leave out {', '.join(wrong)}")


def _place(store):
    """Where backups or a lake are. A path becomes a path from the root, because actors work in another directory."""
    return store if store is None or "://" in str(store) else str(Path(store).absolute())


def _ray():
    """Ray, connected."""
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
    return ray


def _machines(ray, tls):
    """The machines for nodes: their ids in Ray, in the order of their addresses. One without CPUs only serves Ray itself."""
    alive = sorted((machine for machine in ray.nodes() if machine["Alive"]), key=lambda machine: machine["NodeManagerAddress"])
    if not tls and len(alive) > 1:
        addresses = ", ".join(machine["NodeManagerAddress"] for machine in alive)
        raise native.OpenError(f"{LOCAL_ONLY}. This Ray has {len(alive)}: {addresses}")
    if not tls and ray.util.client.ray.is_connected():
        raise native.OpenError(f"{LOCAL_ONLY}. And ray:// may lead to another: call ray.init() without it on that machine")
    return [machine["NodeID"] for machine in alive if machine["Resources"].get("CPU")] or [machine["NodeID"] for machine in alive]


def _running(ray, name, number):
    """The actor that keeps a node, or None."""
    try:
        return ray.get_actor(f"mangrove.{name}.node-{number}", namespace=NAMESPACE)
    except ValueError:
        return None


def _create(settings, copies, id_space):
    """Makes the graph, unless the log has it. One that is made otherwise is refused."""
    what = ["--shards", str(settings["shards"]), "--copies", str(copies), "--id-space", id_space]
    run("cluster", "create", settings["name"], *_log_options(settings), *what, "--if-missing")


def _compare(wanted, there):
    """The nodes that run are those that are wanted."""
    different = [f"{key}={there.get(key)!r}, not {wanted[key]!r}" for key in wanted if wanted[key] != there.get(key)]
    if different:
        raise ValueError(f"the graph {wanted['name']} runs already, with {', '.join(different)}")


def _started(ray, settings, machines, is_new):
    """A handle, once all nodes answer. Actors that are missing are started first."""
    places = _places(len(machines), settings["nodes"], settings["replicas"])
    ports, keepers, made = random.sample(PORTS, settings["nodes"]), {}, {}
    try:
        for at, port in enumerate(ports):
            keepers[at] = _running(ray, settings["name"], at)
            if not keepers[at]:
                keepers[at] = made[at] = _keeper(ray, settings, at, machines[places[at]], port)
        there = _made_with(ray, keepers.values())
        # With another port, another program was faster.
        made = {at: keeper for at, keeper in made.items() if there[at][1] == ports[at]}
        for found, _ in there:
            _compare(settings, found)
        started = Cluster(settings)
        _wait_until_all_answer(ray, started, keepers, is_new)
        return started
    except BaseException:
        _end(ray, settings["name"], made)
        raise


def _made_with(ray, keepers):
    """The settings and the port with which each actor was made. Waits until all have started."""
    try:
        return ray.get([keeper.made_with.remote() for keeper in keepers], timeout=START_S)
    except ray.exceptions.GetTimeoutError:
        raise native.OpenError(f"Ray has not started all actors after {START_S} s: see `ray status`") from None


def _places(machines, nodes, replicas):
    """The machine of each node, by number. Nodes that are neighbours in the ring have the same shards, so they are kept apart."""
    places = []
    for at in range(nodes):
        near = {places[other % nodes] for other in range(at - replicas + 1, at + replicas) if other % nodes < at}
        places.append(min(range(machines), key=lambda machine: (machine in near, places.count(machine), machine)))
    return places


def _keeper(ray, settings, number, machine, port):
    """Starts the actor that keeps a node, on a machine. Returns the actor of that name if there is one."""
    there = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(machine, soft=settings["tls"] is not None)
    actor = ray.remote(Keeper).options(
        name=f"mangrove.{settings['name']}.node-{number}",
        namespace=NAMESPACE,
        get_if_exists=True,
        lifetime="detached",
        max_restarts=-1,
        max_task_retries=-1,
        num_cpus=0,
        memory=1,  # Ray starts an actor that needs nothing anywhere, whatever the strategy says
        scheduling_strategy=there,
    )
    return actor.remote(settings, number, port)


def _end(ray, name, keepers):
    """Ends nodes, and the actors that keep them."""
    trouble = _ask(ray, keepers, "end", 2 * STOP_S + ANSWER_S)
    for keeper in keepers.values():
        ray.kill(keeper, no_restart=True)
    _wait(STOP_S, lambda: not any(_running(ray, name, at) for at in keepers))
    if trouble:
        raise native.OpenError(", ".join(trouble.values()))


def _ask(ray, keepers, what, patience_s):
    """What actors answer in time, by the number of the node. One that has ended, or is about to start again, says nothing."""
    until, found = time.monotonic() + patience_s, {}
    calls = {at: getattr(keeper, what).options(max_task_retries=0).remote() for at, keeper in keepers.items()}
    for at, call in calls.items():
        with suppress(ray.exceptions.GetTimeoutError, ray.exceptions.RayActorError):
            found[at] = ray.get(call, timeout=max(0, until - time.monotonic()))
    return found


def _arguments(settings, number, address, others=()):
    """What starts a node. `others` are the addresses of other nodes of a lake."""
    if settings.get("lake"):
        tls = ["--tls", settings["tls"]] if settings["tls"] else []
        join = ["--join", ",".join(others)] if others else []
        which = ["--as", f"node-{number}", "--lake", settings["lake"], "--listen", address]
        return ["node", settings["name"], *which, *join, *tls, "--attached"]
    which = ["--number", str(number), "--of", str(settings["nodes"]), "--replicas", str(settings["replicas"])]
    place = ["--data", str(Path(settings["data"], f"node-{number}")), "--listen", address]
    tls = ["--tls", settings["tls"]] if settings["tls"] else []
    store = ["--store", settings["store"]] if settings.get("store") else []
    return ["node", settings["name"], *which, *place, *tls, *_log_options(settings), *store, "--attached"]


def _log_options(settings):
    config = ["--log-config", settings["log_config"]] if settings["log_config"] else []
    return ["--log", settings["log"], *config]


def _wait_until_all_answer(ray, started, keepers, is_new):
    """Waits for the nodes, as long as any reads the log. New ones are to start at once; others may be about to start again."""
    end = time.monotonic() + START_S
    while missing := started._missing():
        states = _ask(ray, {at: keepers[at] for at in missing}, "state", ANSWER_S)
        is_late = time.monotonic() > end
        for at, why in missing.items():
            ends, is_reading, log, said = states.get(at, (0, False, "its output", ""))
            if (is_new and ends) or (is_late and not is_reading):
                raise native.OpenError(f"node-{at} does not start: {why}. {log} ends with:\n{said}")
            if is_reading:
                end = time.monotonic() + START_S
        time.sleep(POLL_S)


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


def _listens(log, begin):
    """Whether a node has said so."""
    with log.open("rb") as file:
        file.seek(begin)
        return b"listening on " in file.read(HEAD_BYTES)


def _tail(log, begin):
    """The end of a file, from `begin` at the earliest."""
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(begin, file.seek(0, os.SEEK_END) - TAIL_BYTES))
        return file.read().decode(errors="replace").strip()


def _own_host():
    """The address of this machine, as Ray knows it."""
    import ray

    return ray.util.get_node_ip_address()


def _free_port(host, wanted):
    """A port that is free just now: the wanted one, or else another."""
    for port in (wanted, *random.sample(PORTS, 100)):
        with suppress(OSError), socket.create_server((host, port)):
            return port
    raise OSError(f"no port is free at {host}")
