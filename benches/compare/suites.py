"""The suites. Each is a data set with its questions.

    rmat      two tables, seven reads, bulk load and writes
    grasper   a graph of citations and Grasper's queries Q1 to Q8, light and heavy
    snb       LDBC's social network and its interactive reads, by one client, by eight, and beside a heavy one
    tao       users with many properties, TAO's operations one by one and in two mixes, and ZipG's graph searches
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import answers
import citations
import rmat
import snb
import tao
import texts


@dataclass(frozen=True)
class Suite:
    name: str
    data: ModuleType  # describe(folder) gives the graph, OPS the queries
    engines: tuple
    seconds: float  # for each kind of query


JVM = ("tinkergraph", "neo4j")
EMBEDDED = ("mangrove", "kuzu", "ladybug", "neug", "grafeo")
SUITES = {
    suite.name: suite
    for suite in (
        Suite("rmat", rmat, (*EMBEDDED, "duckdb", "neo4j", "networkx", "tables"), 15.0),
        Suite("grasper", citations, (*EMBEDDED, "duckdb", *JVM), 4.0),
        Suite("snb", snb, (*EMBEDDED, *JVM), 4.0),
        Suite("tao", tao, ("mangrove", "direct", "kuzu", "ladybug", "duckdb", *JVM), 4.0),
    )
}


@dataclass(frozen=True)
class Form:
    """One way to write a query."""

    run: Callable
    text: str = ""


@dataclass
class Question:
    """One kind of query, with its parameters and right answers."""

    op: str
    params: list
    answers: list
    ordered: bool = True
    sparse: bool = False
    texts: tuple = ()
    types: tuple = ()  # the edge labels that `<type>` in a text stands for

    def right(self, got, answer):
        shown = answers.canonical(got, self.ordered, self.sparse) if self.op not in rmat.OPS else rmat.canonical(self.op, got)
        return shown == answer

    def forms(self, engine):
        """The forms of the query that the engine offers. Of several texts, those that it accepts."""
        if self.op in rmat.OPS:
            return [Form(run) for run in engine.queries()[self.op]]
        forms, refused = [], LookupError("there is no text in this engine's language")
        for text in self.texts:
            try:
                run = texts.prepare(engine.prepare, text, self.types)
                run(self.params[0])
                forms.append(Form(run, text))
            except Exception as error:
                refused = error
        if not forms:
            raise refused
        return forms


def questions(suite, engine, source):
    """Maps each op to its question, in the suite's order. It omits questions that the data set cannot answer."""
    asked = json.loads((source / "params.json").read_text())
    if suite.name == "rmat":
        return {op: Question(op, asked["params"][op], asked["answers"][op]) for op in rmat.OPS}
    told, found = texts.load(suite.name, engine.languages), {}
    for op in (op for op in suite.data.OPS if op in asked["ops"]):
        one = asked["ops"][op]
        ordered, sparse = one["ordered"], one.get("sparse", False)
        found[op] = Question(op, one["params"], one["answers"], ordered, sparse, tuple(told.get(op, ())), getattr(suite.data, "TYPES", ()))
    return found


def ensure(name, directory, size, source=""):
    """Makes the data set unless it exists. Returns what the runner must know about it, as JSON."""
    suite = SUITES[name]
    options = {"source": source} if source else {}
    folder = suite.data.ensure(directory, int(size), **options)
    asked, graph = json.loads((folder / "params.json").read_text()), suite.data.describe(folder)
    size = f"{asked['vertices']:,} vertices, {asked['edges']:,} edges, {graph.csv_bytes() / 1e6:.0f} MB of CSV"
    return json.dumps({
        "folder": str(folder),
        "engines": suite.engines,
        "ops": [op for op in suite.data.OPS if op in asked.get("ops", suite.data.OPS)],
        "left_out": asked.get("left_out", {}),
        "data": f"{folder.name}: {size}" + ("" if source else f" (seed in benches/compare/{suite.data.__name__}.py)"),
        "csv_bytes": graph.csv_bytes(),
    })
