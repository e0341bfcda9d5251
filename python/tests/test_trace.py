"""Traces: what the library shows of its work on standard error."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import mangrovedb as mg

WORK = """
import mangrovedb as mg
{first}
db = mg.open("t.mg")
db.load(nodes={{"person": [{{"id": 1}}, {{"id": 2}}]}})
db.query("g.V(1).addE('knows').to(__.V(2))")
db.compact()
"""


def traced(folder, first):
    done = subprocess.run([sys.executable, "-c", WORK.format(first=first)], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout == ""
    return done.stderr


def test_nothing_is_shown_unless_asked_for(tmp_path):
    assert traced(tmp_path, "") == ""


def test_info_shows_loads_and_segments(tmp_path):
    shown = traced(tmp_path, "mg.trace('info')")
    assert "loaded vertices=2 edges=0 rejects=0" in shown
    assert "the new segment is in place" in shown
    assert "time.busy=" in shown, "how long it took"
    assert "addE" not in shown


def test_debug_shows_each_call(tmp_path):
    shown = traced(tmp_path, "mg.trace('debug')")
    assert "call{what=running g.V(1).addE('knows').to(__.V(2))}" in shown
    numbers = [set(re.findall(span + r"{query=(\d+)}", shown)) for span in ("plan", "run")]
    assert len(numbers[0]) == 1 and numbers[0] == numbers[1], "one query, one number"


def test_the_level_can_change(tmp_path):
    assert traced(tmp_path, "mg.trace('debug'); mg.trace('off')") == ""


def test_a_level_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="debug"):
        mg.trace("verbose")


def test_the_command_traces(tmp_path):
    (tmp_path / "people.csv").write_text("id\n1\n")
    command = [Path(sys.executable).parent / "mangrove", "load", "t.mg", "people.csv", "--trace", "info"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "loaded vertices=1" in done.stderr
