"""Measures one engine in a process of its own: `worker.py STAGE ENGINE DATA DATABASE OUT [OP…]`.

Stages: load (the bulk load), query (the queries named), write (single edges, then batches). Every measurement is a line of JSON
appended to OUT as soon as it is made, so that a crash loses none before it.
"""

import json
import resource
import shutil
import statistics
import sys
import time
import traceback
from pathlib import Path

import data
import engines

QUERY_SECONDS = 15.0  # for each kind of query
TRIALS, TRIAL_SECONDS = 10, 2.0  # to find the fastest form of a query
REPEAT_SECONDS = 0.002  # short queries are repeated for so long
SINGLES_SECONDS = 5.0


class Timer:
    """Wall and CPU seconds (of all threads) since it was made."""

    def __init__(self):
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def read(self):
        return time.perf_counter() - self.wall, time.process_time() - self.cpu


def load(engine, source, database, report):
    shutil.rmtree(database.parent, ignore_errors=True)
    database.parent.mkdir(parents=True)
    timer = Timer()
    engine.load(database, source / "person.csv", source / "knows.csv")
    wall, cpu = timer.read()
    edges = json.loads((source / "params.json").read_text())["edges"]
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    disk = engines.disk_bytes(database) if engine.persistent else None
    report(op="load", wall_s=wall, cpu_s=cpu, edges=edges, rss_bytes=rss, disk_bytes=disk)


def query(engine, source, database, report, ops):
    asked = json.loads((source / "params.json").read_text())
    reopen(engine, source, database)
    queries = engine.queries()
    for op in ops:
        report(op=op, started=True)
        try:
            report(op=op, **measure(op, queries[op], asked["params"][op], asked["answers"][op]))
        except BaseException as error:  # an engine's panic is a BaseException too
            if isinstance(error, KeyboardInterrupt):
                raise
            report(op=op, failed=describe(error))
    engine.close()


def measure(op, forms, params, answers):
    """Medians over the parameters, of the fastest form of the query that is right; wrong answers are counted."""
    form = min(forms, key=lambda form: trial(op, form, params, answers))
    times, wrong, start = [], 0, time.perf_counter()
    for param, answer in zip(params, answers):
        wall, cpu, got = timed(form, param)
        times.append((wall, cpu))
        wrong += canonical(op, got) != answer
        if time.perf_counter() - start > QUERY_SECONDS:
            break
    walls, cpus = sorted(t[0] for t in times), sorted(t[1] for t in times)
    p95 = cpus[min(len(cpus) - 1, int(0.95 * len(cpus)))]
    return {"cpu_us": statistics.median(cpus) * 1e6, "wall_us": statistics.median(walls) * 1e6, "cpu_p95_us": p95 * 1e6,
            "n": len(times), "wrong": wrong}


def trial(op, form, params, answers):
    """Whether some of a form's first answers are wrong, and the CPU seconds it takes for one. Warms the engine up as well."""
    start, cpus, wrong = time.perf_counter(), [], False
    for param, answer in zip(params[:TRIALS], answers):
        timer = Timer()
        wrong |= canonical(op, form(param)) != answer
        cpus.append(timer.read()[1])
        if time.perf_counter() - start > TRIAL_SECONDS:
            break
    return wrong, statistics.median(cpus)


def timed(form, param):
    timer = Timer()
    got = form(param)
    wall, cpu = timer.read()
    if wall < REPEAT_SECONDS:
        count = min(100, int(REPEAT_SECONDS / max(wall, 1e-6)) + 1)
        timer = Timer()
        for _ in range(count):
            form(param)
        wall, cpu = (t / count for t in timer.read())
    return wall, cpu, got


def canonical(op, got):
    """An engine's answer as params.json has it."""
    if op == "point":
        return list(got)
    if op == "hop1":
        return data.digest(got)
    if op == "group_count":
        return {str(age): count for age, count in got.items()}
    return got


def write(engine, source, database, report, ops):
    asked = json.loads((source / "params.json").read_text())
    reopen(engine, source, database)
    before, added = engine.edge_count(), 0
    for op in ops:
        report(op=op, started=True)
        try:
            inserted = (single_edges if op == "singles" else batches)(engine, asked["vertices"], report)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            report(op=op, failed=describe(error))
            return
        added += inserted
        if engine.edge_count() != before + added:
            report(op=op, failed=f"{before} edges and {added} more make {engine.edge_count()}")
    engine.close()


def single_edges(engine, vertices, report):
    columns = (column.tolist() for column in data.new_edges(vertices, data.SINGLES, seed=1))
    count, timer = 0, Timer()
    for edge in zip(*columns):
        engine.insert_edge(*edge)
        count += 1
        if timer.read()[0] > SINGLES_SECONDS:
            break
    wall, cpu = timer.read()
    report(op="singles", per_s=count / wall, cpu_us=cpu / count * 1e6, n=count, durable=engine.durable)
    return count


def batches(engine, vertices, report):
    size = min(data.BATCH, vertices * data.EDGES_PER_VERTEX // 10)
    walls, cpus = [], []
    for batch in range(data.BATCHES):
        edges = data.new_edges(vertices, size, seed=2 + batch)
        timer = Timer()
        engine.insert_batch(*edges)
        wall, cpu = timer.read()
        walls.append(wall)
        cpus.append(cpu)
    report(op="batches", per_s=size / statistics.median(walls), per_cpu_s=size / statistics.median(cpus), size=size,
           n=data.BATCHES, durable=engine.durable)
    return size * data.BATCHES


def reopen(engine, source, database):
    if not engine.persistent:
        engine.load(database, source / "person.csv", source / "knows.csv")
    engine.open(database)


def describe(error):
    text = " ".join(str(error).split()) or "no message"
    if isinstance(error, (TypeError, AttributeError, KeyError, IndexError)):
        text += f" ({traceback.extract_tb(error.__traceback__)[-1]})"
    return f"{type(error).__name__}: {text}"[:300]


def main():
    stage, name, source, database, out, *ops = sys.argv[1:]

    def report(**line):
        with open(out, "a") as file:
            file.write(json.dumps(line) + "\n")

    engine = engines.make(name)
    report(op="engine", version=engine.version(), note=engine.note)
    arguments = (engine, Path(source), Path(database), report)
    if stage == "load":
        load(*arguments)
    else:
        {"query": query, "write": write}[stage](*arguments, ops)


if __name__ == "__main__":
    main()
