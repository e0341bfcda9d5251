"""Mangrove through `db.direct()`: calls for one vertex or one list of edges, without a query language.

Python makes the calls of single operations, and their answers are compared. The mixes run the same calls from Rust, as the other
embedded engines run theirs in their own language: crates/mangrove/examples/mix.rs.
"""

import json
import re
import subprocess
import tempfile
from pathlib import Path

from .mangrove_engine import Mangrove

ROOT = Path(__file__).resolve().parents[3]
CALL = re.compile(r"g\.(\w+)\((?:'User', )?x(?:, '(\w+)')?")


class Direct(Mangrove):
    languages = ("direct",)
    mix_operations = 400_000
    note = "mangrove, through db.direct() instead of Gremlin; the mixes run in Rust"

    def prepare(self, text):
        """The text is an expression of Python. `g` is the graph; all other names are parameters."""
        code, graph = compile(text, "<direct>", "eval"), {"g": self.database.direct()}

        def run(params):
            return eval(code, graph, params)

        return run

    def serve(self, path):
        self.path = path
        super().serve(path)

    def mix(self, texts, streams, writing, seconds):
        calls = [CALL.search(text).groups(default="") for text in texts]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump([[(*calls[number], params) for number, params in stream] for stream in streams], file)
            file.flush()
            self.database.close()  # one process writes
            command = ["cargo", "run", "--release", "-q", "-p", "mangrove", "--example", "mix", "--", self.path, file.name, seconds]
            try:
                done = subprocess.run([str(part) for part in command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            finally:
                super().serve(self.path)
        if done.returncode:
            raise RuntimeError(done.stderr)
        answer = json.loads(done.stdout)
        return answer["per_s"], answer["refused"]


def make():
    return Direct()
