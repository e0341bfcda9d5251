"""Timing, and tables of figures."""

import json
import subprocess
import sys
import time

SECONDS = 2.0
RUNS_MAX = 200


def best(work, seconds=SECONDS, warm=True):
    """The least wall time of several runs, the CPU time of that run, and what the last one gave. Times are in seconds."""
    if warm:
        work()
    least, cpu, end, runs = float("inf"), 0.0, time.perf_counter() + seconds, 0
    while runs < 3 or (time.perf_counter() < end and runs < RUNS_MAX):
        wall, used = time.perf_counter(), time.process_time()
        got = work()
        wall, used = time.perf_counter() - wall, time.process_time() - used
        if wall < least:
            least, cpu = wall, used
        runs += 1
    return least, cpu, got


def once(work):
    wall, used = time.perf_counter(), time.process_time()
    got = work()
    return time.perf_counter() - wall, time.process_time() - used, got


def apart(code, *arguments, seconds=600):
    """Runs a program in a process of its own. It prints JSON."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=seconds)
    except subprocess.TimeoutExpired:
        return {"failed": f"no answer in {seconds} s"}
    if done.returncode != 0:
        return {"failed": (done.stderr.strip() or "it crashed").splitlines()[-1][:100]}
    return json.loads(done.stdout.splitlines()[-1])


def ms(seconds):
    return f"{seconds * 1e3:,.3g} ms" if seconds < 1 else f"{seconds:,.2f} s"


def mb(size):
    return f"{size / 1e6:,.2f} MB" if size < 1e7 else f"{size / 1e6:,.1f} MB"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])
