"""The stages of the benchmark. `python stages.py STAGE SCRATCH DATA…` prints tables in Markdown."""

import sys
from pathlib import Path

import ends
import labels
import reads
import store
import tables
import topology

if __name__ == "__main__":
    stage, scratch, *data = sys.argv[1:]
    stages = {"topology": topology.run, "labels": labels.run, "ends": ends.run, "tables": tables.run, "reads": reads.run, "store": store.run}
    print(stages[stage](Path(scratch), *map(Path, data)))
