"""An engine on a JVM, in a process of its own. The process exchanges lines of JSON (java/…/Peer.java) and measures time itself."""

import json
import re
import subprocess

import jvm

from . import Engine


class Java(Engine):
    warms_up = True

    def __init__(self, name):
        self.name = name
        self.process = subprocess.Popen(jvm.command(name), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process_id = self.process.pid

    def version(self):
        return re.search(rf"<{self.artifact}.version>(.*?)<", (jvm.FOLDER / "pom.xml").read_text())[1]

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise ConnectionError("the JVM is gone")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def load(self, path, graph):
        vertices = [
            {"label": t.label, "also": t.also, "indexed": t.indexed, "file": t.file, "columns": t.columns} for t in graph.vertices
        ]
        edges = [{"source": t.source, "label": t.label, "target": t.target, "file": t.file, "columns": t.columns} for t in graph.edges]
        tables = {"folder": str(graph.folder), "vertices": vertices, "edges": edges}
        took = self.ask(do="load", path=str(path), graph=tables)
        self.load_seconds, self.peak = (took["wall"], took["cpu"]), took["rss"]

    def peak_memory(self):
        return self.peak

    def open(self, path):
        self.ask(do="open", path=str(path))

    def prepare(self, text):
        return Query(self, self.prepared(text))

    def prepare_change(self, text):
        return Query(self, self.prepared(text), warm=False)

    def prepared(self, text):
        return self.ask(do="prepare", text=text)["id"]

    def throughput(self, text, params, clients, seconds):
        return self.ask(do="throughput", id=self.prepared(text), params=params, clients=clients, seconds=seconds)["per_s"]

    def latencies(self, short, heavy, seconds):
        reads = [(self.prepared(text), params) for text, params in short]
        answer = self.ask(do="latencies", short=reads, heavy=heavy and (self.prepared(heavy[0]), heavy[1]), seconds=seconds)
        return sorted(answer["took"]), answer["heavy"]

    def mix(self, texts, streams, writing, seconds):
        ids = [self.prepared(text) for text in texts]
        answer = self.ask(do="mix", ids=ids, streams=streams, seconds=seconds)
        return answer["per_s"], answer["refused"]

    def close(self):
        self.ask(do="close")
        self.process.stdin.close()
        self.process.wait()


class Query:
    """A prepared query. Its first run warms it up. The JVM times it."""

    def __init__(self, engine, number, warm=True):
        self.engine, self.number, self.warm = engine, number, warm

    def __call__(self, params):
        return self.timed(params, 0)[2]

    def timed(self, params, seconds):
        answer = self.engine.ask(do="run", id=self.number, params=params, seconds=seconds, warm=self.warm)
        self.warm = False
        return answer["wall"], answer["cpu"], answer["rows"]


class Shaped:
    """A query with the parameter x. Its rows get another shape after the clock has stopped."""

    def __init__(self, query, shape):
        self.query, self.shape = query, shape

    def timed(self, x, seconds):
        wall, cpu, rows = self.query.timed({"x": x}, seconds)
        return wall, cpu, self.shape(rows)
