"""Measures one engine in a process of its own: `worker.py STAGE SUITE ENGINE DATA DATABASE OUT [OP…]`.

Stages: load (the bulk load), query (the given queries), write (single edges, then batches), change (single writes in the engine's
language), clients (reads by one thread and by eight), mix (streams of reads and writes, by one thread, two and eight), beside (short
reads while a heavy one runs), ablate (queries with parts of the engine switched off). Each measurement is appended to OUT at once
as a line of JSON, so a crash loses none of the earlier ones.
"""

import contextlib
import json
import resource
import shutil
import statistics
import sys
import time
import traceback
from pathlib import Path

import answers
import engines
import rmat
import suites
import tao_mix
import texts
from serving import percentiles

WARM_SECONDS, WARM_SECONDS_MAX = 2.0, 60.0
ABLATE_SECONDS = 1.0
TRIALS, TRIAL_SECONDS = 10, 2.0  # to find the fastest form of a query
REPEAT_SECONDS = 0.002  # short queries are repeated for this long
SINGLES_SECONDS, WARM_SINGLES = 5.0, 200
CHANGES, CHANGES_SECONDS = 200, 3.0
MIX_SECONDS = 4.0
MIX_WARM_UPS = 15
CLIENTS, CLIENTS_SECONDS = 8, 1.0
BESIDE_SECONDS = 4.0
HEAVY = ("IC5", "IC9")  # the first one available: forums, or messages, of everyone two friendships away


class Timer:
    """Wall and CPU seconds (of all threads) since its creation."""

    def __init__(self):
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def read(self):
        return time.perf_counter() - self.wall, time.process_time() - self.cpu


def load(suite, engine, source, database, report):
    shutil.rmtree(database.parent, ignore_errors=True)
    database.parent.mkdir(parents=True)
    timer = Timer()
    engine.load(database, suite.data.describe(source))
    wall, cpu = engine.load_seconds or timer.read()
    edges = json.loads((source / "params.json").read_text())["edges"]
    rss = engine.peak_memory() or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    disk = engines.disk_bytes(database) if engine.persistent else None
    of_csv = {"of_csv": disk / suite.data.describe(source).csv_bytes()} if disk else {}
    report(op="load", wall_s=wall, cpu_s=cpu, edges=edges, rss_bytes=rss, disk_bytes=disk, **of_csv)


def query(suite, engine, source, database, report, ops):
    reopen(suite, engine, source, database)
    asked = suites.questions(suite, engine, source)
    warm_up(engine, asked, report)
    for op in ops:
        attempt(report, op, lambda: measure(engine, asked[op], suite.seconds))
    with contextlib.suppress(OSError):  # some systems do not report it
        held, anonymous, files = engine.resident_memory()
        report(op="memory", rss_bytes=held, anonymous_bytes=anonymous, file_bytes=files)
    engine.close()


def warm_up(engine, asked, report):
    """A first pass, for an engine that compiles its code while it runs. It ends early for slow queries, which warm up by
    themselves."""
    start = time.perf_counter()
    for question in asked.values() if engine.warms_up else ():
        if time.perf_counter() - start < WARM_SECONDS_MAX:
            report(op="warm-up", started=True)
            with contextlib.suppress(Exception):
                measure(engine, question, WARM_SECONDS)


def attempt(report, op, work):
    """Reports the result of the work, or why there is none."""
    report(op=op, started=True)
    try:
        report(op=op, **work())
    except BaseException as error:  # an engine's panic is a BaseException too
        if isinstance(error, KeyboardInterrupt):
            raise
        report(op=op, failed=describe(error))


def measure(engine, question, seconds):
    """Medians over the parameters, for the fastest right form of the query. Wrong answers are counted."""
    form = fastest(engine, question)
    times, wrong, start = [], 0, time.perf_counter()
    for param, answer in zip(question.params, question.answers):
        wall, cpu, got = timed(form, param)
        times.append((wall, cpu))
        wrong += not question.right(got, answer)
        if time.perf_counter() - start > seconds:
            break
    walls, cpus = sorted(t[0] for t in times), sorted(t[1] for t in times)
    p95 = cpus[min(len(cpus) - 1, int(0.95 * len(cpus)))]
    return {"cpu_us": statistics.median(cpus) * 1e6, "wall_us": statistics.median(walls) * 1e6, "cpu_p95_us": p95 * 1e6,
            "n": len(times), "wrong": wrong}


def fastest(engine, question):
    return min(question.forms(engine), key=lambda form: trial(form, question))


def trial(form, question):
    """Whether some of a form's first answers are wrong, and the CPU seconds per answer. This also warms up the engine."""
    start, cpus, wrong = time.perf_counter(), [], False
    for param, answer in zip(question.params[:TRIALS], question.answers):
        _, cpu, got = timed(form, param, repeat_seconds=0)
        wrong |= not question.right(got, answer)
        cpus.append(cpu)
        if time.perf_counter() - start > TRIAL_SECONDS:
            break
    return wrong, statistics.median(cpus)


def timed(form, param, repeat_seconds=REPEAT_SECONDS):
    """Wall and CPU seconds of a run, and its answer. An engine in another process measures them itself."""
    run = form.run
    if hasattr(run, "timed"):
        return run.timed(param, repeat_seconds)
    timer = Timer()
    got = run(param)
    wall, cpu = timer.read()
    if wall < repeat_seconds:
        count = min(100, int(repeat_seconds / max(wall, 1e-6)) + 1)
        timer = Timer()
        for _ in range(count):
            run(param)
        wall, cpu = (t / count for t in timer.read())
    return wall, cpu, got


def clients(suite, engine, source, database, report, ops):
    """Reads per second, by one thread and by eight, in the fastest form of each."""
    reopen(suite, engine, source, database, engine.serve)
    asked = suites.questions(suite, engine, source)
    warm_up(engine, {op.removesuffix(" clients"): asked[op.removesuffix(" clients")] for op in ops}, report)

    def work(op):
        text, params = fastest(engine, asked[op]).text, asked[op].params
        one, many = (engine.throughput(text, params, n, CLIENTS_SECONDS) for n in (1, CLIENTS))
        return {"per_s_1": one, "per_s": many, "clients": CLIENTS}

    for op in ops:
        if not engine.threads:
            report(op=op, failed="one thread at a time")
            continue
        attempt(report, op, lambda: work(op.removesuffix(" clients")))
    engine.close()


def beside(suite, engine, source, database, report, ops):
    """How long short reads take while another thread runs a heavy one over and over."""
    reopen(suite, engine, source, database, engine.serve)
    asked = suites.questions(suite, engine, source)

    def work():
        short = [(fastest(engine, question).text, question.params) for op, question in asked.items() if op.startswith("IS")]
        name = next(op for op in HEAVY if op in asked)
        heavy = (fastest(engine, asked[name]).text, asked[name].params)
        alone, _ = engine.latencies(short, None, BESIDE_SECONDS / 2)
        busy, count = engine.latencies(short, heavy, BESIDE_SECONDS)
        found = {f"alone_{key}": value for key, value in percentiles(alone).items()} | percentiles(busy)
        return found | {"heavy": name, "heavy_per_s": count / BESIDE_SECONDS}

    for op in ops:
        if engine.threads:
            attempt(report, op, work)
        else:
            report(op=op, failed="one thread at a time")
    engine.close()


def ablate(suite, engine, source, database, report, ops):
    """Runs queries with parts switched off. Each op is `QUERY | VARIANT`, and a variant names the parts of the engine to switch
    off."""
    variants, opened = engine.variants(), None
    for op in ops:
        name, variant = op.split(" | ")
        if variant != opened:
            if opened:
                engine.close()
            engine.open(database, **variants[variant][0])
            engine.options, opened = variants[variant][1], variant
            asked = suites.questions(suite, engine, source)
        attempt(report, op, lambda: measure(engine, asked[name], ABLATE_SECONDS))
    engine.close()


def write(suite, engine, source, database, report, ops):
    asked = json.loads((source / "params.json").read_text())
    reopen(suite, engine, source, database)
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
    columns = (column.tolist() for column in rmat.new_edges(vertices, rmat.SINGLES, seed=1))
    edges, first = list(zip(*columns)), WARM_SINGLES if engine.warms_up else 0  # these are not counted
    for edge in edges[:first]:
        engine.insert_edge(*edge)
    count, timer = 0, Timer()
    for edge in edges[first:]:
        engine.insert_edge(*edge)
        count += 1
        if timer.read()[0] > SINGLES_SECONDS:
            break
    wall, cpu = timer.read()
    report(op="singles", per_s=count / wall, **spent(engine, cpu / count), n=count, durable=engine.durable)
    return first + count


def batches(engine, vertices, report):
    size = min(rmat.BATCH, vertices * rmat.EDGES_PER_VERTEX // 10)
    walls, cpus = [], []
    for batch in range(rmat.BATCHES):
        edges = rmat.new_edges(vertices, size, seed=2 + batch)
        timer = Timer()
        wall, cpu = engine.insert_batch(*edges) or timer.read()
        walls.append(wall)
        cpus.append(cpu)
    report(op="batches", per_s=size / statistics.median(walls), per_cpu_s=size / statistics.median(cpus), size=size,
           n=rmat.BATCHES, durable=engine.durable)
    return size * rmat.BATCHES


def change(suite, engine, source, database, report, ops):
    """Single writes, each a transaction. At the end the engine must find the last one."""
    reopen(suite, engine, source, database)
    drawn, told = tao_mix.Operations(source), texts.load(suite.name, engine.languages)
    first = CHANGES if engine.warms_up else 1  # these are not counted

    def work(op):
        stream = list(drawn.stream({op: 1}, first + CHANGES, seed=100 + tao_mix.WRITES.index(op)))
        run, asked = texts.prepare(engine.prepare_change, told[op][0], suite.data.TYPES), [arguments(*one[1:]) for one in stream]
        for params in asked[:first]:
            run(params)
        count, timer = 0, Timer()
        for params in asked[first:]:
            run(params)
            count += 1
            if timer.read()[0] > CHANGES_SECONDS:
                break
        wall, cpu = timer.read()
        read, label, params, value = tao_mix.look(op, *stream[first + count - 1][1:])
        rows = texts.prepare(engine.prepare, told[read][0], suite.data.TYPES)(arguments(label, params))
        seen = any(value in answers.cells(row) for row in rows) if value else not rows
        return {"per_s": count / wall, **spent(engine, cpu / count), "n": count, "wrong": int(not seen), "durable": engine.durable}

    for op in ops:
        attempt(report, op, lambda: work(op))
    engine.close()


def spent(engine, seconds):
    """The CPU seconds of this process as a measurement in µs, if the engine runs in this process."""
    return {"cpu_us": seconds * 1e6} if engine.process_id == "self" else {}


def arguments(label, params):
    return {"type": label, "with": params} if label else params


def mix(suite, engine, source, database, report, ops):
    """Operations per second of a stream of reads and writes, by one thread, by two and by eight."""
    reopen(suite, engine, source, database, engine.serve)
    drawn, asked = tao_mix.Operations(source), suites.questions(suite, engine, source)
    told = texts.load(suite.name, engine.languages)
    numbers, written = {}, []  # (op, edge label) → number of its text
    for op in dict.fromkeys(op for shares in tao_mix.MIXES.values() for op in shares):
        report(op="warm-up", started=True)
        text = fastest(engine, asked[op]).text if op in asked else told[op][0]
        for label in suite.data.TYPES if texts.TYPE in text else ("",):
            numbers[op, label] = len(written)
            written.append(text.replace(texts.TYPE, label))
    writing = {number for (op, _), number in numbers.items() if op in tao_mix.CHANGES}

    def work(op, turn):
        def run(clients, seed):
            streams = [drawn.stream(tao_mix.MIXES[op.split()[0]], engine.mix_operations // clients, seed + client) for client in range(clients)]
            streams = [[(numbers[name, label], params) for name, label, params in stream] for stream in streams]
            return engine.mix(written, streams, writing, MIX_SECONDS)

        before = 0.0
        for again in range(MIX_WARM_UPS if engine.warms_up else 0):  # while it still gets faster
            report(op="warm-up", started=True)
            rate, _ = run(1, 300 + 100 * turn + again)
            if rate < 1.1 * before:
                break
            before = rate
        several = (1, 2, CLIENTS) if engine.concurrent_writes else (1,)
        runs = {clients: run(clients, 320 + 100 * turn + 10 * at) for at, clients in enumerate(several)}
        rates = {"per_s" if clients == CLIENTS else f"per_s_{clients}": rate for clients, (rate, _) in runs.items()}
        refused = sum(refused for _, refused in runs.values())
        return {**rates, "clients": CLIENTS, "refused": refused, "durable": engine.durable}

    for turn, op in enumerate(ops):
        if engine.threads:
            attempt(report, op, lambda: work(op, turn))
        else:
            report(op=op, failed="one thread at a time")
    engine.close()


def reopen(suite, engine, source, database, how=None):
    if not engine.persistent:
        engine.load(database, suite.data.describe(source))
    (how or engine.open)(database)


def describe(error):
    text = " ".join(str(error).split()) or "no message"
    if isinstance(error, (TypeError, AttributeError, KeyError, IndexError)):
        text += f" ({traceback.extract_tb(error.__traceback__)[-1]})"
    return f"{type(error).__name__}: {text}"[:300]


def main():
    stage, suite, name, source, database, out, *ops = sys.argv[1:]

    def report(**line):
        with open(out, "a") as file:
            file.write(json.dumps(line) + "\n")

    engine = engines.make(name)
    report(op="engine", version=engine.version(), note=engine.note)
    given = (suites.SUITES[suite], engine, Path(source), Path(database), report)
    if stage == "load":
        load(*given)
    else:
        stages = {"query": query, "write": write, "change": change, "clients": clients, "mix": mix, "beside": beside, "ablate": ablate}
        stages[stage](*given, ops)


if __name__ == "__main__":
    main()
