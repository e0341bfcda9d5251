#!/usr/bin/env python3
"""Measures graphs in open files: GraphAr's micro-benchmarks (VLDB'24, Figures 8 to 10, Tables 2 and 3), and plain tables in place.

    python benches/lake/run.py                                    everything, on RMAT-18 and LDBC's network
    python benches/lake/run.py --stages topology --edges web.csv  one more graph: a CSV file with two columns of numbers
    python benches/lake/run.py --markdown docs/lake.md            also rewrites the tables of the page

Stages: topology (size, neighbours, transformation), labels, ends (IS-3, IC-8 and BI-2 end to end), tables (plain tables, first answer and
after), reads (LDBC's short reads on plain tables, here, loaded, and from an S3 server), store (neighbours and labels from that server). Each stage is a process of its own, and so is each measurement of a first answer. The first run installs the peers into
benches/lake/.venv. Mangrove comes from the Python that runs this script (`make install`). The data is that of benches/compare.

A figure is the least of several runs, wall time and CPU time of the same run. Answers are checked against those of a peer.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMPARE = HERE.parent / "compare"
VENV = HERE / ".venv"
PYTHON = VENV / "bin" / "python"
STAGES = ("topology", "labels", "ends", "tables", "reads", "store")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stages", default=",".join(STAGES), help="which, separated by commas (all)")
    parser.add_argument("--scale", type=int, default=18, help="RMAT: 2^SCALE people, 16 edges each (18)")
    parser.add_argument("--persons", type=int, default=1_528, help="LDBC's network: people, 190 messages each (1528, as in SF0.1)")
    parser.add_argument("--edges", type=Path, action="append", default=[], help="topology: one more graph, a CSV file of two numbers a row")
    parser.add_argument("--markdown", type=Path, help="document whose tables to rewrite")
    options = parser.parse_args()
    prepare()
    rmat = ensure("rmat", options.scale)
    snb = ensure("snb", options.persons)
    for stage in options.stages.split(","):
        graphs = [rmat / "edges.bin", *options.edges]
        given = {"topology": graphs, "labels": [], "ends": [snb], "tables": [rmat], "reads": [snb], "store": graphs}[stage]
        with tempfile.TemporaryDirectory(prefix="mangrove-lake-") as scratch:
            text = run(HERE / "stages.py", stage, scratch, *given)
        print(text, flush=True)
        if options.markdown:
            insert(options.markdown, stage, text)


def prepare():
    stamp, requirements = VENV / "installed", (HERE / "requirements.txt").read_text()
    if not stamp.exists() or stamp.read_text() != requirements:
        print(f"==> installing the peers into {VENV}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", HERE / "requirements.txt"], check=True)
        stamp.write_text(requirements)
    import mangrovedb

    linked = VENV / "path" / "mangrovedb"
    linked.parent.mkdir(exist_ok=True)
    linked.unlink(missing_ok=True)
    linked.symlink_to(Path(mangrovedb.__file__).parent)


def run(*arguments):
    environment = {"PYTHONPATH": f"{HERE}:{COMPARE}:{VENV / 'path'}", "PATH": os.environ["PATH"], "HOME": str(Path.home())}
    done = subprocess.run([PYTHON, *map(str, arguments)], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def ensure(suite, size):
    """The folder of a data set of benches/compare, which is made if it is not there."""
    command = "import sys, suites; print(suites.ensure(*sys.argv[1:]))"
    return Path(json.loads(run("-c", command, suite, COMPARE / ".cache", size, ""))["folder"])


def insert(path, stage, text):
    """Puts a table between the marks of its stage."""
    before, rest = path.read_text().split(f"<!-- lake {stage} -->\n")
    after = rest.split("<!-- end -->", 1)[1]
    path.write_text(f"{before}<!-- lake {stage} -->\n{text.strip()}\n<!-- end -->{after}")


if __name__ == "__main__":
    main()
