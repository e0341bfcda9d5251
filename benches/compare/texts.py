"""The queries of a suite, one file a language in queries/: a line `// NAME` (`-- NAME` in SQL) heads each text.

A query with several texts under one name is measured with the fastest that is right. An engine whose dialect differs has a file of its
own, whose texts take the place of those of the same name.
"""

import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "queries"
HEADING = re.compile(r"^(?://|--) ?(I[SC]\d+|Q\d[LH])$", re.MULTILINE)


def load(suite, languages):
    """Name → texts; of several languages a later one goes before an earlier."""
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
