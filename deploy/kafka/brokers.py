"""Real Kafka brokers on this machine, for tests and for a demo.

    python deploy/kafka/brokers.py --directory DIR [--count 3]

prints the addresses of the brokers as one line, and stops them on Ctrl-C or when its standard input closes. In Python:

    with Brokers(directory, count=3) as brokers:
        use(brokers.addresses)
        brokers.kill(0)

Maven fetches Kafka once, into the user's cache. The directory holds a folder for each broker, with its settings, data and log:

    DIR/cluster-id
    DIR/broker-0/server.properties, broker.log, data/

Each broker is a controller too (KRaft, combined mode), and its number is its `node.id`. It listens on 127.0.0.1 only. Brokers
that start again in the same directory find their data, but get new ports; only `restart` keeps the ports.

The brokers end when Python exits. They stay if a signal ends Python without cleaning up: SIGKILL, or a SIGTERM that nobody handles.
The command line handles SIGTERM.
"""

import argparse
import atexit
import hashlib
import os
import random
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

POM = Path(__file__).resolve().with_name("pom.xml")
START_S, STOP_S = 60, 15
# Systems give outgoing connections ports above these. A port from there could be taken while its broker is down.
PORTS = range(20_000, 32_000)
# Only warnings, so that the end of a log tells why a broker ended.
LOG = [f"-Dorg.slf4j.simpleLogger.{key}" for key in ("defaultLogLevel=warn", "showDateTime=true", "dateTimeFormat=HH:mm:ss.SSS")]
# Little memory and a quick start, at the cost of speed later.
JAVA = ["java", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", *LOG]
# What ends this process.
ENDINGS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
# A Metadata request of version 1 about no topics, with the client id "brokers".
METADATA = struct.pack(">ihhih7si", 21, 3, 1, 0, 7, b"brokers", 0)

# Who connects needs a certificate of the same authority.
TLS = """
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port},TLS://{host}:{tls_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},TLS://{host}:{tls_port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,TLS:SSL
ssl.client.auth=required
ssl.keystore.type=PEM
ssl.keystore.location={keys}
ssl.truststore.type=PEM
ssl.truststore.location={tls}/ca.pem
"""

SETTINGS = """
process.roles=broker,controller
node.id={number}
controller.quorum.voters={voters}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={data}

auto.create.topics.enable=false
unclean.leader.election.enable=false
default.replication.factor={count}
min.insync.replicas={majority}
offsets.topic.replication.factor={count}
offsets.topic.num.partitions=4
transaction.state.log.replication.factor={count}
transaction.state.log.min.isr={majority}
transaction.state.log.num.partitions=4
log.retention.ms=-1
log.retention.bytes=-1

broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=500
controller.quorum.election.timeout.ms=1000
controller.quorum.election.backoff.max.ms=500
controller.quorum.fetch.timeout.ms=1500
controller.quorum.request.timeout.ms=1500
group.initial.rebalance.delay.ms=0

num.network.threads=2
num.io.threads=2
background.threads=2
log.cleaner.dedupe.buffer.size=8388608
"""


class Missing(Exception):
    """Something is missing on this machine: tells what to install. Tests skip on it."""


class Brokers:
    """`count` brokers that keep their files in `directory`. `cache` is the folder for Kafka's jars.

    `tls` is a directory with ca.pem, cert.pem and key.pem. With it, clients speak TLS, at `host`. The brokers themselves go on without.
    """

    def __init__(self, directory, count=1, cache=None, tls=None, host="127.0.0.1"):
        self.directory, self.count, self.cache, self.tls, self.host = Path(directory).resolve(), count, cache, tls, host
        ports = free_ports(3 * count)
        self.ports, self._controller_ports, self._tls_ports = ports[:count], ports[count : 2 * count], ports[2 * count :]
        self._processes = [None] * count

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def addresses(self):
        """The bootstrap servers, as a client takes them."""
        return ",".join(f"{self.host}:{port}" for port in (self._tls_ports if self.tls else self.ports))

    @property
    def pids(self):
        """The process of each broker, or None if it does not run."""
        return [process.pid if process and process.poll() is None else None for process in self._processes]

    def start(self):
        """Starts all brokers, and returns once each knows all others."""
        assert not any(self.pids), "the brokers run already"
        self._lib = fetch(self.cache)
        try:
            atexit.register(self.stop)
            self._format()
            for number in range(self.count):
                self._spawn(number, "kafka.Kafka", self._settings(number))
            for number in range(self.count):
                self._wait(number, set(range(self.count)))
        except BaseException:
            self.stop(0)
            raise

    def stop(self, patience_s=STOP_S):
        """Stops all brokers, by SIGKILL if they take too long. Three take 5 s, because the last one waits for the others."""
        self._end(self._processes, patience_s)
        atexit.unregister(self.stop)

    def kill(self, number):
        """Ends a broker at once (SIGKILL)."""
        self._end([self._processes[number]], 0)

    def pause(self, number):
        """Freezes a broker (SIGSTOP): it accepts connections, but does not answer."""
        self._processes[number].send_signal(signal.SIGSTOP)

    def resume(self, number):
        self._processes[number].send_signal(signal.SIGCONT)

    def restart(self, number):
        """Starts a broker again, on its ports and data, and returns once it is back in the cluster. Stops it first if it runs."""
        self._end([self._processes[number]], STOP_S)
        self._spawn(number, "kafka.Kafka", self._settings(number))
        self._wait(number, {number})

    def _folder(self, number):
        return self.directory / f"broker-{number}"

    def _settings(self, number):
        return self._folder(number) / "server.properties"

    def _format(self):
        """Writes the settings, and formats what is not formatted yet."""
        there = len([*self.directory.glob("broker-*")])
        if there not in (0, self.count):
            raise ValueError(f"{self.directory} belongs to a cluster of {there} brokers, not {self.count}")
        voters = ",".join(f"{number}@127.0.0.1:{port}" for number, port in enumerate(self._controller_ports))
        for number in range(self.count):
            self._folder(number).mkdir(parents=True, exist_ok=True)
            ports = {"port": self.ports[number], "controller_port": self._controller_ports[number]}
            quorum = {"voters": voters, "count": self.count, "majority": self.count // 2 + 1}
            text = SETTINGS.format(number=number, data=self._folder(number) / "data", **ports, **quorum)
            self._settings(number).write_text(text + self._tls_settings(number, ports))
        cluster = self.directory / "cluster-id"
        if not cluster.exists():
            cluster.write_text("M" + secrets.token_urlsafe(16)[1:])  # an id that begins with "-" would look like an option
        new = [number for number in range(self.count) if not (self._folder(number) / "data" / "meta.properties").exists()]
        for number in new:
            self._spawn(number, "kafka.tools.StorageTool", "format", "-t", cluster.read_text(), "-c", self._settings(number))
        for number in new:
            if self._processes[number].wait(START_S):
                raise self._failure(number, "cannot be formatted")

    def _tls_settings(self, number, ports):
        """Later settings replace earlier ones."""
        if not self.tls:
            return ""
        keys = self._folder(number) / "keys.pem"
        keys.touch(mode=0o600)
        keys.write_text("".join(Path(self.tls, file).read_text() for file in ("key.pem", "cert.pem")))
        return TLS.format(host=self.host, tls_port=self._tls_ports[number], keys=keys, tls=Path(self.tls).resolve(), **ports)

    def _spawn(self, number, main, *arguments):
        command = [*JAVA, "-cp", f"{self._lib}/*", main, *map(str, arguments)]
        # Ctrl-C has to wait until the process is noted. In a session of its own, the broker does not hear it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)
        try:
            with (self._folder(number) / "broker.log").open("ab") as log:
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
                self._processes[number] = process
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _wait(self, number, wanted):
        """Waits until a broker knows the wanted ones."""
        end = time.monotonic() + START_S
        while not wanted <= known(self.ports[number]):
            if self._processes[number].poll() is not None:
                raise self._failure(number, "ended")
            if time.monotonic() > end:
                raise self._failure(number, f"was not ready after {START_S} s")
            time.sleep(0.05)

    def _failure(self, number, what):
        log = self._folder(number) / "broker.log"
        return RuntimeError(f"broker {number} {what}. {log} ends with:\n{log.read_text(errors='replace')[-3000:]}")

    @staticmethod
    def _end(processes, patience_s):
        """Ends processes. `send_signal` and `kill` never signal the pid of a process that has ended: it may be another's by now."""
        processes, end = [process for process in processes if process], time.monotonic() + patience_s
        try:
            for process in processes if patience_s else ():
                process.send_signal(signal.SIGTERM)
                process.send_signal(signal.SIGCONT)
            with suppress(subprocess.TimeoutExpired):
                for process in processes:
                    process.wait(max(0, end - time.monotonic()))
        finally:
            for process in processes:
                process.kill()
            for process in processes:
                process.wait()


def known(port):
    """The numbers of the brokers that the one at this port knows to be ready. Empty if it does not answer."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection, connection.makefile("rb") as stream:
            connection.sendall(METADATA)
            _size, _correlation, count = struct.unpack(">iii", stream.read(12))
            found = set()
            for _ in range(count):
                number, host = struct.unpack(">ih", stream.read(6))
                _host, _port, rack = struct.unpack(f">{host}sih", stream.read(host + 6))
                stream.read(max(0, rack))
                found.add(number)
            return found
    except (OSError, struct.error):
        return set()


def leader_of(port, topic):
    """The number of the broker that leads the one partition of a topic: a Metadata request of version 1."""
    name = topic.encode()
    request = struct.pack(f">hhih7sih{len(name)}s", 3, 1, 0, 7, b"brokers", 1, len(name), name)
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection, connection.makefile("rb") as stream:
        connection.sendall(struct.pack(">i", len(request)) + request)

        def take(form):
            return struct.unpack(form, stream.read(struct.calcsize(form)))

        def text():
            stream.read(max(0, take(">h")[0]))

        *_, count = take(">iii")
        for _ in range(count):
            take(">i"), text(), take(">i"), text()
        take(">iih"), text()
        _internal, _partitions, _error, _partition, leader = take(">bihii")
        return leader


def fetch(cache=None):
    """The folder with Kafka's jars, which Maven fetches if they are not there."""
    if not shutil.which("java"):
        raise Missing("java is not there: install Java 17 or newer")
    cache = Path(cache or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mangrove" / "kafka").resolve()
    lib = cache / f"lib-{hashlib.sha256(POM.read_bytes()).hexdigest()[:12]}"
    if lib.exists():
        return lib
    if not shutil.which("mvn"):
        raise Missing("mvn is not there: install Maven, which fetches Kafka")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        command = ["mvn", "-q", "-B", "-f", POM, "dependency:copy-dependencies", f"-DoutputDirectory={folder}/lib"]
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise Missing(f"Maven could not fetch Kafka: {done.stdout.strip()[:1000]}")
        with suppress(OSError):  # another process was faster
            Path(folder, "lib").rename(lib)
    return lib


def free_ports(count):
    found = []
    while len(found) < count:
        port = random.choice(PORTS)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            found += [port] if port not in found else []
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--directory", required=True, help="where the brokers keep their files")
    parser.add_argument("--count", type=int, default=1, help="the number of brokers: 1 or 3")
    parser.add_argument("--cache", help="where the jars of Kafka are kept (default: the user's cache)")
    options = parser.parse_args()
    for number in ENDINGS:
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        with Brokers(options.directory, options.count, options.cache) as brokers:
            print(brokers.addresses, flush=True)
            sys.stdin.read()
    except Missing as missing:
        sys.exit(str(missing))


if __name__ == "__main__":
    main()
