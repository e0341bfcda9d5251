"""Runs the algorithms of one library. `python measure.py ENGINE DATA THREADS ALGORITHMS` prints JSON."""

import importlib
import json
import resource
import sys
import time

import numpy as np

RUNS = 3
SECONDS_MAX = 60.0


def timed(work):
    wall, used = time.perf_counter(), time.process_time()
    got = work()
    return (time.perf_counter() - wall, time.process_time() - used), got


def main(engine, file, threads, wanted):
    data = {name: array[()] if array.ndim == 0 else array for name, array in np.load(file).items()}
    module = importlib.import_module(f"engines.{engine}")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ready, library = timed(lambda: module.Engine(data, int(threads), file))
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    times, answers = {}, {}
    for name in wanted.split(","):
        work = getattr(library, name, None)
        if work is None:
            continue
        best, spent = None, 0.0
        for _ in range(RUNS):
            took, got = timed(work)
            spent += took[0]
            best = min(best or took, took)
            if spent > SECONDS_MAX:
                break
        times[name], answers[name] = getattr(library, "times", {}).get(name, best), library.answer(name, got)
    entries = 2 * len(data["source"])
    about = f"{int(data['vertices']):,} vertices, {len(data['source']):,} edges, {entries:,} entries"
    print(json.dumps({"about": about, "bytes": held * 1024, "ready": ready, "times": times, "answers": answers}))


if __name__ == "__main__":
    main(*sys.argv[1:])
