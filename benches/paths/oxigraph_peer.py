"""Oxigraph: a triple for each edge, and each query as SPARQL with the property paths that were drawn.

A vertex is an IRI, and so is an edge label. Each vertex also has a triple with its type: a repeated path that opens a query starts from these,
because the graph has other terms, too.

The engine keeps duplicates between patterns and runs a path again for each. So each path of a chain extends the distinct rows of those before,
and a branch is a subquery for the distinct vertices that have it. This was faster than one pattern with `FILTER EXISTS`, which remains for
the branches of a given vertex.
"""

import multiprocessing
import time

import pyoxigraph
from pyarrow import parquet

# A fork would lack DuckDB's threads and keep its locks.
SPAWN = multiprocessing.get_context("spawn")


class Oxigraph:
    name, version = "Oxigraph", pyoxigraph.__version__

    def load(self, home):
        """Loads the triples into a store on disk, and opens it in a worker."""
        self.path, text = home / "oxigraph", home / "graph.nt"
        with text.open("w") as out:
            out.writelines(triples(home / "files"))
        store = pyoxigraph.Store(self.path)
        store.bulk_load(path=text, format=pyoxigraph.RdfFormat.N_TRIPLES)
        store.optimize()
        del store
        self.start()

    def start(self):
        """Starts a worker: nothing but the end of its process interrupts a query."""
        self.pipe, theirs = SPAWN.Pipe()
        self.worker = SPAWN.Process(target=work, args=(str(self.path), theirs), daemon=True)
        self.worker.start()
        theirs.close()
        self.pipe.recv()

    def count(self, query, timeout):
        """The rows, the seconds and the CPU seconds. No rows if the query ran too long or needed too much memory."""
        self.pipe.send(sparql(query))
        try:
            if self.pipe.poll(timeout):
                return self.pipe.recv()
            self.worker.kill()
        except EOFError:
            pass
        self.close()
        if self.worker.exitcode > 0:
            raise SystemExit(f"{query['query']}: Oxigraph failed")
        self.start()
        return None, float(timeout), float(timeout)

    def close(self):
        self.pipe.close()
        self.worker.join()


def triples(files):
    """A line of N-Triples for each vertex and for each edge."""
    for file in sorted(files.glob("vertices_*.parquet")):
        for name in parquet.read_table(file, columns=["_id"])["_id"].to_pylist():
            yield f"<v:{name}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <t:vertex> .\n"
    for file in sorted(files.glob("edges_*.parquet")):
        label, edges = file.stem.removeprefix("edges_"), parquet.read_table(file, columns=["src", "dst"])
        for source, target in zip(edges["src"].to_pylist(), edges["dst"].to_pylist()):
            yield f"<v:{source}> <e:{label}> <v:{target}> .\n"


def work(path, pipe):
    """Answers queries until the other end is closed."""
    store = pyoxigraph.Store.read_only(path)
    pipe.send("ready")
    try:
        while text := pipe.recv():
            begin, cpu = time.perf_counter(), time.process_time()
            rows = int(next(store.query(text))["n"].value)
            pipe.send((rows, time.perf_counter() - begin, time.process_time() - cpu))
    except EOFError:
        pass


def sparql(query):
    """The query as SPARQL that counts its rows."""
    first = f"<v:{query['start']}>" if query["start"] else "?x0"
    ends = [first, *(f"?x{path['target']}" for path in query["paths"])]
    parts = [f"{ends[path['source']]} {expression(path)} {ends[path['target']]}" for path in query["paths"]]
    if query["paths"][0]["repeated"] and not query["start"]:
        parts[0] = f"?x0 a <t:vertex> . {parts[0]}"
    if query["shape"] == "branched":
        exist = "FILTER EXISTS {{ {} }}" if query["start"] else "{{ SELECT DISTINCT ?x0 WHERE {{ {} }} }}"
        rows = distinct(query, query["last"], " ".join([*map(exist.format, parts[:-1]), parts[-1]]))
    else:
        rows = distinct(query, 1, parts[0])
        for at, part in enumerate(parts[1:], start=2):
            rows = distinct(query, at, f"{{ {rows} }} {part}")
    return f"SELECT (COUNT(*) AS ?n) WHERE {{ {rows} }}"


def distinct(query, last, text):
    """The different pairs of the first and the last variable. A start that is given is no variable."""
    return f"SELECT DISTINCT {'' if query['start'] else '?x0 '}?x{last} WHERE {{ {text} }}"


def expression(path):
    """The property path."""
    edges = ("/".join(f"{'^' if back else ''}<e:{label}>" for label, back in choice) for choice in path["choices"])
    return f"({'|'.join(edges)}){'*' if path['repeated'] else ''}"
