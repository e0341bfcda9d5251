"""Filters by label: a million vertices with ten labels (GraphAr's Figure 10)."""

import mangrovedb as mg
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from measure import best, mb, ms, table

VERTICES, LABELS = 1_000_000, 10


def run(scratch):
    rows = []
    for name, has in (("in runs", in_runs()), ("at random", at_random())):
        work = scratch / name.replace(" ", "_")
        work.mkdir()
        rows += measured(name, has, work)
    about = f"{VERTICES:,} vertices of one type, {LABELS} further labels. Wall time, CPU time in brackets, with the files read anew each time by the peers:"
    return about + "\n\n" + table(["labels lie", "question", "strings, pyarrow", "booleans (RLE), pyarrow", "Mangrove, first", "Mangrove"], rows)


def in_runs():
    at = np.arange(VERTICES)
    return np.stack([(at // (VERTICES // 50) * (label + 3)) % 7 < 2 for label in range(LABELS)])


def at_random():
    return np.random.default_rng(7).random((LABELS, VERTICES)) < 0.3


def measured(name, has, work):
    names = [f"L{label}" for label in range(LABELS)]
    text = [";".join(["v", *(names[label] for label in np.flatnonzero(column))]) for column in has.T]
    vertices = pa.table({"~id": np.arange(VERTICES), "~label": text})
    pq.write_table(pa.table({"labels": text}), work / "strings.parquet", compression="zstd", use_dictionary=False)
    flags = pa.table({name: column for name, column in zip(names, has)})
    pq.write_table(flags, work / "flags.parquet", compression="none", use_dictionary=False, data_page_version="2.0", column_encoding={n: "RLE" for n in names})
    db = mg.open(work / "db", durability="relaxed")
    db.load(nodes={"v": vertices}, progress=False)
    db.export(work / "lake", "graphar")
    db.close()
    lake_bytes = sum(file.stat().st_size for file in (work / "lake/vertex/v/labels").iterdir())
    rows = [[name, "bytes on disk", mb((work / "strings.parquet").stat().st_size), mb((work / "flags.parquet").stat().st_size), mb(lake_bytes), ""]]
    questions = [
        ("one label", ["L1"], "g.V().hasLabel('L1').count()"),
        ("two labels", ["L1", "L4"], "g.V().hasLabel('L1').hasLabel('L4').count()"),
        ("one of two", ["L1", "L4"], "g.V().hasLabel('L1', 'L4').count()"),
        ("one without another", ["L1", "L4"], "g.V().hasLabel('L1').not(hasLabel('L4')).count()"),
    ]
    for what, wanted, query in questions:
        join = {"one of two": pc.or_, "one without another": pc.and_not}.get(what, pc.and_)

        def strings():
            found = pq.read_table(work / "strings.parquet", memory_map=True)["labels"]
            tests = [pc.match_substring(found, f";{label}") for label in wanted]
            return pc.sum(tests[0] if len(tests) == 1 else join(*tests)).as_py()

        def booleans():
            found = pq.read_table(work / "flags.parquet", columns=wanted, memory_map=True)
            return pc.sum(found[0] if len(wanted) == 1 else join(found[0], found[1])).as_py()

        cells, answers = [], []
        for one in (strings, booleans):
            wall, cpu, got = best(one)
            cells.append(f"{ms(wall)} ({ms(cpu)})")
            answers.append(got)

        def first():
            return mg.open_lake(work / "lake/lake.graph.yml").query(query).one()

        lake = mg.open_lake(work / "lake/lake.graph.yml")
        for one in (first, lambda: lake.query(query).one()):
            wall, cpu, got = best(one)
            cells.append(f"{ms(wall)} ({ms(cpu)})")
            answers.append(got)
        assert len(set(answers)) == 1, (query, answers)
        rows.append([name, what, *cells])
    return rows
