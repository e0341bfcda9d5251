"""What nodes say of their work, as Prometheus reads it, and what a server says of its nodes."""

import http.client
import re
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from test_cluster import COMMAND, brokers, log, run  # noqa: F401

import mangrovedb as mg

PATIENCE_S = 60
LABEL = r'[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*"'
NUMBER = re.compile(rf"([a-zA-Z_:][\w:]*(?:{{{LABEL}(?:,{LABEL})*}})?) (-?\d+(?:\.\d+)?(?:e-?\d+)?)")
ABOUT = re.compile(r"# (?:TYPE [a-zA-Z_:][\w:]* (?:counter|gauge|histogram|info)|HELP [a-zA-Z_:][\w:]* \S.*|UNIT [a-zA-Z_:][\w:]* \S+)")


def fetch(url, **how):
    """The status and the text of a page."""
    try:
        with urllib.request.urlopen(url, timeout=30, **how) as page:
            return page.status, page.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def numbers(text):
    """The numbers of a page for Prometheus, by their names with labels. Each line must have its form."""
    *lines, last = text.splitlines()
    assert last == "# EOF"
    found = {}
    for line in lines:
        if line.startswith("#"):
            assert ABOUT.fullmatch(line), line
            continue
        parts = NUMBER.fullmatch(line)
        assert parts and parts[1] not in found, line
        found[parts[1]] = float(parts[2])
    return found


def scraped(url, **how):
    status, text = fetch(url, **how)
    assert status == 200, text
    return numbers(text)


def until(is_so, what):
    end = time.monotonic() + PATIENCE_S
    while not (found := is_so()):
        assert time.monotonic() < end, what
        time.sleep(0.1)
    return found


class Node:
    """A process, where it listens, and where it says how it is."""

    def __init__(self, process, output):
        self.process, self.output = process, output
        self.metrics = self.said(r"metrics at (\S+)")
        self.address = self.said(r"listening on (\S+)")

    def said(self, pattern):
        def look():
            assert self.process.poll() is None, self.output.read_text()
            return re.search(pattern, self.output.read_text())

        return until(look, pattern)[1]

    def scrape(self):
        return scraped(self.metrics)


@contextmanager
def node(graph, log, directory, number, *more):  # noqa: F811
    output = directory / f"node-{number}.log"
    arguments = ["node", graph, "--number", number, "--of", 2, "--data", directory / f"node-{number}", "--listen", "127.0.0.1:0", "--log", log, *more]
    with open(output, "w") as out, subprocess.Popen([*COMMAND, *map(str, arguments)], stdout=out, stderr=out) as process:
        try:
            yield Node(process, output)
        finally:
            process.kill()


@pytest.fixture
def graph(log, request):  # noqa: F811
    """The name of a graph with four shards."""
    name = re.sub(r"\W", "-", request.node.name)
    run("cluster", "create", name, "--log", log, "--shards", 4)
    return name


@pytest.fixture
def nodes(graph, log, tmp_path):  # noqa: F811
    """Its two nodes, with two shards each."""
    with ExitStack() as running:
        yield [running.enter_context(node(graph, log, tmp_path, number, "--metrics", "127.0.0.1:0")) for number in range(2)]


def grown(before, after, name, *labels):
    """By how much numbers of a name with these labels have grown, together."""
    is_one = re.compile(rf"{name}(?:{{.*}})?")
    wanted = [key for key in after if is_one.fullmatch(key) and all(label in key for label in labels)]
    assert wanted, (name, labels)
    return sum(after[key] - before.get(key, 0) for key in wanted)


def settled(nodes):
    """What both nodes say once each of their shards has applied all that they have read, and they have read the same."""

    def look():
        all_of_them = [node.scrape() for node in nodes]
        lags = [value for of in all_of_them for key, value in of.items() if key.startswith("mangrove_node_shard_lag_commits{")]
        commits = {of["mangrove_node_commit"] for of in all_of_them}
        return all_of_them if len(lags) == 4 and not any(lags) and len(commits) == 1 else None

    return until(look, "the shards do not apply the log")


def test_nodes_count_what_they_do(graph, nodes):
    address = f"mangrove://{nodes[0].address}/{graph}"
    db = mg.connect(address)
    db.query("g.addV('n').property(id, 100)")
    assert db.query("g.V().count()").one() == 1
    before = settled(nodes)
    for number, of in enumerate(before):
        assert [value for key, value in of.items() if key.startswith(f'mangrove_node_info{{graph="{graph}",node="node-{number}",version="')] == [1]
        assert of["mangrove_node_answers"] == 1 and of["mangrove_node_term"] >= 1 and of["mangrove_node_heard_seconds"] < PATIENCE_S
        shards = {key for key in of if key.startswith("mangrove_node_shard_commit{")}
        assert shards == {f'mangrove_node_shard_commit{{shard="{shard}"}}' for shard in (number, number + 2)}
        assert of[f'mangrove_node_shard_disk_bytes{{shard="{number}"}}'] > 0 and of[f'mangrove_node_shard_cuts{{shard="{number}"}}'] >= 1
        assert of[f'mangrove_node_shard_in_trouble{{shard="{number}"}}'] == 0
        assert of['mangrove_node_log_held_bytes{of="records"}'] > 0
        if sys.platform == "linux":
            assert of["process_resident_memory_bytes"] > 1_000_000
        assert fetch(nodes[number].metrics.replace("/metrics", "/healthz")) == (200, "ok\n")
        assert fetch(nodes[number].metrics.replace("/metrics", "/"))[0] == 404
    writers = [number for number, of in enumerate(before) if of["mangrove_node_writer"]]
    assert len(writers) == 1 and before[0]["mangrove_node_term"] == before[1]["mangrove_node_term"]
    for number in range(20):
        db.query("g.addV('n').property(id, i).property('size', i)", {"i": number})
    assert db.query("g.V().hasLabel('n').values('size').sum()").one() == sum(range(20))
    after = settled(nodes)
    assert [of["mangrove_node_writer"] for of in after] == [of["mangrove_node_writer"] for of in before]
    assert all(new["mangrove_node_commit"] > old["mangrove_node_commit"] for old, new in zip(before, after))
    [writer], [other] = writers, {0, 1} - {*writers}
    of_writer, of_other = (before[writer], after[writer]), (before[other], after[other])
    assert grown(*of_writer, "mangrove_node_transactions_total", 'outcome="made"') >= 20
    assert grown(*of_other, "mangrove_node_transactions_total") == 0
    assert 1 <= grown(*of_writer, "mangrove_node_commits_written_total") <= grown(*of_writer, "mangrove_node_log_records_written_total")
    assert grown(*of_writer, "mangrove_node_log_written_bytes_total") > 100
    for both in (of_writer, of_other):
        assert grown(*both, "mangrove_node_log_records_read_total") >= 1 and grown(*both, "mangrove_node_log_read_bytes_total") > 100
        # Each node answers for its shards.
        assert grown(*both, "mangrove_node_calls_total", 'side="answered"', 'call="hold"') >= 1
        for name in ("call_bytes", "replies", "reply_bytes", "call_duration_seconds"):
            assert grown(*both, f"mangrove_node_{name}_total", 'side="answered"', 'call="hold"') > 0
    written = sum(grown(*of_writer, "mangrove_node_calls_total", 'side="answered"', f'call="{kind}"') for kind in ("run", "commit"))
    assert written >= 20
    # The writer reads the shards of the other node, too.
    assert grown({}, after[writer], "mangrove_node_calls_total", 'side="asked"') > 0
    assert grown({}, after[writer], "mangrove_node_reply_bytes_total", 'side="asked"') > 0
    assert 'mangrove_node_calls_failed_total{side="answered",call="fragment"}' in after[0]
    assert after[0]['mangrove_node_calls_running{side="answered",call="fragment"}'] == 0 and after[0]["mangrove_node_parts_running"] == 0
    of_a_server(address, after[writer], f"node-{writer}")


def of_a_server(address, node, writer):
    """What `mangrove serve` says of the nodes."""
    command = [*COMMAND, "serve", address, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = process.stderr.readline()
            found = re.search(r"ws://(\S+)/gremlin", line)
            assert found, line + process.stderr.read()
            served = scraped(f"http://{found[1]}/metrics")
        finally:
            process.kill()
    assert served['mangrove_cluster_commit{database="g"}'] >= node["mangrove_node_commit"]
    assert served['mangrove_cluster_term{database="g"}'] == node["mangrove_node_term"]
    assert [served[f'mangrove_cluster_node_answers{{database="g",node="node-{number}"}}'] for number in range(2)] == [1, 1]
    writers = [key for key, value in served.items() if key.startswith("mangrove_cluster_node_writer{") and value]
    assert writers == [f'mangrove_cluster_node_writer{{database="g",node="{writer}"}}']
    assert len([key for key in served if key.startswith("mangrove_cluster_node_heard_seconds{")]) == 2
    lags = {key for key in served if key.startswith("mangrove_cluster_shard_lag_commits{")}
    assert lags == {f'mangrove_cluster_shard_lag_commits{{database="g",node="node-{at % 2}",shard="{at}"}}' for at in range(4)}


def test_metrics_are_for_this_machine_alone_or_need_certificates(graph, log, tmp_path):  # noqa: F811
    wide = ["node", graph, "--as", "node-0", "--data", tmp_path / "d", "--listen", "127.0.0.1:0", "--log", log, "--metrics", "0.0.0.0:0"]
    refused = subprocess.run([*COMMAND, *map(str, wide)], capture_output=True, text=True, timeout=60)
    assert refused.returncode == 2 and "beyond this machine, metrics need certificates: --tls" in refused.stderr
    run("cluster", "certs", tmp_path / "certs", "node-0", "127.0.0.1")
    run("cluster", "certs", tmp_path / "certs", "watcher")
    with node(graph, log, tmp_path, 0, "--tls", tmp_path / "certs" / "node-0", "--metrics", "0.0.0.0:0") as there:
        assert there.metrics.startswith("https://0.0.0.0:")
        url = there.metrics.replace("0.0.0.0", "127.0.0.1")
        assert "mangrove_node_term" in scraped(url, context=certified(tmp_path / "certs" / "watcher"))
        stranger = certified(None)
        stranger.load_verify_locations(tmp_path / "certs" / "watcher" / "ca.pem")
        with pytest.raises((OSError, http.client.HTTPException)):
            fetch(url, context=stranger)
        with pytest.raises((OSError, http.client.HTTPException)):
            fetch(url.replace("https", "http"))


def certified(directory: Path | None):
    """Who shows the certificate of a directory, and believes its authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if directory:
        context.load_verify_locations(directory / "ca.pem")
        context.load_cert_chain(directory / "cert.pem", directory / "key.pem")
    return context


def test_pages_of_other_sites_read_no_metrics(nodes):
    url = nodes[0].metrics
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        status, text = fetch(urllib.request.Request(url, headers=headers))
        assert status == 403 and "mangrove_node" not in text, headers
