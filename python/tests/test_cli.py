"""The installed command."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("mangrove")


def mangrove(*arguments, **options):
    return subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)


@pytest.fixture
def path(db, tmp_path):
    db.close()
    return tmp_path / "air.mg"


def test_query_prints_json_lines(path):
    done = mangrove("query", path, "g.V().hasLabel('airport').has('elev', gt(x)).order().by('code')", "--param", "x=500", "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["id"], row["label"], row["type"]) for row in rows] == [("AUS", "airport", "vertex"), ("DFW", "airport", "vertex")]


def test_exit_codes(path, tmp_path):
    assert mangrove("--version").returncode == 0
    failed = mangrove("query", path, "g.V(")
    assert failed.returncode == 1 and failed.stdout == "" and "^" in failed.stderr
    assert mangrove("query", tmp_path / "nothing.mg", "g.V()").returncode == 1
    assert mangrove("bogus").returncode == 2


def test_load_stats_check_backup_and_export(path, tmp_path):
    (tmp_path / "more.csv").write_text("~id,~label,name:String\nNZ,country,New Zealand\n")
    assert mangrove("load", path, tmp_path / "more.csv").returncode == 0
    stats = mangrove("stats", path)
    assert stats.returncode == 0 and "country" in stats.stdout
    assert mangrove("check", path).returncode == 0
    assert mangrove("backup", path, tmp_path / "copy.mg").returncode == 0
    assert "New Zealand" in mangrove("query", tmp_path / "copy.mg", "g.V('NZ').values('name')").stdout
    assert mangrove("export", path, tmp_path / "out", "--format", "csv").returncode == 0
    assert list((tmp_path / "out").iterdir())


def test_analyze_prints_values_or_writes_them(path):
    found = mangrove("analyze", path, "bfs", "source=AUS", "--format", "csv")
    assert (found.returncode, found.stdout) == (0, "id,value\nAUS,0\nDFW,1\nLHR,1\nWLG,2\nUS,1\n")
    assert found.stderr == "reached 5, depth 2\n"
    assert json.loads(mangrove("analyze", path, "lcc", "--format", "json").stdout.splitlines()[0]) == {"id": "AUS", "value": 0.0}
    shortest = mangrove("analyze", path, "sssp", "source=LHR", "--weight", "dist", "--edges", "route", "--vertices", "airport")
    assert shortest.returncode == 0 and "13011" in shortest.stdout and "US" not in shortest.stdout.replace("AUS", "")
    written = mangrove("analyze", path, "pagerank", "iterations=20", "damping=0.9", "--undirected", "--write", "rank")
    assert (written.returncode, written.stdout, written.stderr) == (0, "", "wrote `rank` of 5 vertices\niterations 20\n")
    assert mangrove("query", path, "g.V().has('rank').count()", "--format", "json").stdout == "5\n"
    again = mangrove("analyze", path, "bfs", "source=AUS", "--write", "rank")
    assert again.stderr == "wrote `rank` of 5 vertices; 5 vertices had one before\nreached 5, depth 2\n"


def test_analyze_says_what_there_is_and_what_is_wrong(path):
    listed = mangrove("analyze", path).stdout
    assert "pagerank" in listed and "damping=…" in listed and "(needed)" in listed
    for arguments, code, message in (
        (("bsf", "source=AUS"), 1, "there is no algorithm `bsf`; did you mean `bfs`?"),
        (("bfs",), 1, "bfs needs `source`"),
        (("bfs", "AUS"), 2, "AUS: expected OPTION=VALUE"),
        (("bfs", "source=AUZ"), 1, 'no vertex has the id "AUZ"'),
        (("wcc", "--weight", "dist"), 1, "wcc looks at no weights"),
        (("wcc", "--memory", "0"), 1, "0 MB are allowed: choose fewer labels, or allow more with --memory"),
    ):
        done = mangrove("analyze", path, *arguments)
        assert done.returncode == code and message in done.stderr, done.stderr


def test_control_c_ends_an_analysis(path):
    command = [COMMAND, "analyze", path, "pagerank", "iterations=1000000000000", "--write", "rank"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(0.5)
        os.kill(process.pid, signal.SIGINT)
        _, messages = process.communicate(timeout=10)
    assert (process.returncode, messages) == (130, "error: interrupted; nothing was written\n")


def test_control_c_ends_a_query_without_a_traceback(path):
    slow = "g.inject(0).repeat(math('_ + 1')).times(2000000000).count()"
    with subprocess.Popen([COMMAND, "query", path, slow], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(0.5)
        os.kill(process.pid, signal.SIGINT)
        _, messages = process.communicate(timeout=10)
    assert process.returncode == 130 and "Traceback" not in messages and "interrupted" in messages
