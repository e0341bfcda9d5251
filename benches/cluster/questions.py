"""The questions of benches/compare, with their right answers, for a database on nodes and for an embedded one."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from edges import sent

import mangrovedb as mg

COMPARE = Path(__file__).resolve().parents[1] / "compare"
sys.path.append(str(COMPARE))
import suites  # noqa: E402
import texts  # noqa: E402
from engines.mangrove_engine import Mangrove  # noqa: E402
from worker import fastest  # noqa: E402

USERS, PERSONS = 40_000, 400


@dataclass
class Data:
    """A data set of benches/compare. The first use makes it, in the cache there."""

    suite: suites.Suite
    folder: Path

    @classmethod
    def of(cls, name, size):
        suite = suites.SUITES[name]
        return cls(suite, suite.data.ensure(COMPARE / ".cache", size))

    @property
    def graph(self):
        return self.suite.data.describe(self.folder)

    def users(self):
        """How many users the data of `tao` have, whose ids count up from 0."""
        return json.loads((self.folder / "params.json").read_text())["vertices"]

    @property
    def of_nodes(self):
        """The options of nodes that may have this graph."""
        return ["--id-space", "label" if self.graph.shared_ids else "graph"]

    def embedded(self, path):
        """An embedded database with the data."""
        engine = Mangrove()
        engine.load(path, self.graph)
        engine.open(path)
        return engine

    def on(self, nodes):
        """The same on nodes."""
        engine = Mangrove()
        engine.database = mg.connect(nodes.address)
        engine.fill(engine.database, self.graph)
        return engine

    def asked(self, engine, ops):
        """The questions, each with the one text that an embedded database answers fastest."""
        found = suites.questions(self.suite, engine, self.folder)
        return [Asked(found[op], fastest(engine, found[op]).text) for op in ops if op in found]


@dataclass
class Asked:
    question: suites.Question
    text: str

    @property
    def op(self):
        return self.question.op

    def prepared(self, engine):
        """A function of parameters."""
        return texts.prepare(engine.prepare, self.text, self.question.types)

    def wrong(self, engine):
        """How many answers are wrong, of all."""
        run, question = self.prepared(engine), self.question
        return sum(not question.right(run(param), answer) for param, answer in zip(question.params, question.answers))

    def plain(self, param):
        """A text without a place for an edge label, and its parameters."""
        return (self.text.replace(texts.TYPE, param["type"]), param["with"]) if texts.TYPE in self.text else (self.text, param)

    def sent(self, engine):
        """The messages and bytes of a question, as `profile` counts them, on average."""
        some = self.question.params[:5]
        counted = [sent(engine.database, *self.plain(param)) for param in some]
        return [sum(column) / len(some) for column in zip(*counted)]
