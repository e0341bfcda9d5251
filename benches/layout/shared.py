"""What the measurements of layouts share."""

import csv
import gzip
import os
import subprocess
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent


def read(file):
    """The edges of a list: an array of two columns."""
    with gzip.open(file, "rt") as lines:
        rows = csv.reader(lines)
        next(rows)
        return np.array([(int(source), int(target)) for source, target in rows])


def described(command):
    """The first line of a table: the command, and where and when it ran."""
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return f"`{command}` at commit `{commit}`, {time.strftime('%Y-%m-%d')}, {os.cpu_count()} threads."


def between(page, name, script, text):
    """Rewrites a table of a page."""
    begin, end = f"<!-- {name}: begin; written by benches/layout/{script}, do not edit -->", f"<!-- {name}: end -->"
    old = page.read_text()
    before, after = old.split(begin)[0], old.split(end)[1]
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}")
