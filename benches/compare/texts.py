"""The queries of a suite: one file per language in queries/. A line `// NAME` (`-- NAME` in SQL) heads each text.

`<type>` in a text stands for an edge label, because few languages take a label as a parameter. Such a text is prepared once for
each label. Its parameters have the form {"type": label, "with": parameters}.

If a query has several texts under one name, the fastest right one is measured. An engine with its own dialect has a file of its
own. The texts in it replace those of the same name.
"""

import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "queries"
HEADING = re.compile(r"^(?://|--) ?(I[SC]\d+|Q\d[LH]|GS\d|(?:obj|assoc|find)_\w+)$", re.MULTILINE)
TYPE = "<type>"


def load(suite, languages):
    """Maps each name to its texts. If several languages have it, the later one wins."""
    found = {}
    for language in languages:
        file = FOLDER / f"{suite}.{language}"
        if file.exists():
            found.update(read(file.read_text()))
    return found


def read(text):
    found = {}
    parts = HEADING.split(text)
    for name, body in zip(parts[1::2], parts[2::2]):
        lines = [line for line in body.splitlines() if not line.startswith(("//", "--"))]
        found.setdefault(name, []).append(" ".join(line.strip() for line in lines if line.strip()))
    return found


def prepare(how, text, types):
    """A function of the parameters, with or without an edge label. `how` is an engine's `prepare` or `prepare_change`."""
    return ByType({label: how(text.replace(TYPE, label)) for label in types}) if TYPE in text else how(text)


class ByType:
    """A query for each edge label."""

    def __init__(self, runs):
        self.runs = runs
        if all(hasattr(run, "timed") for run in runs.values()):
            self.timed = lambda params, seconds: self.runs[params["type"]].timed(params["with"], seconds)

    def __call__(self, params):
        return self.runs[params["type"]](params["with"])
