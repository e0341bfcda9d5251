"""A client process that asks as fast as it can, or writes.

    asking.py ADDRESS ask FILE SEED THREADS SECONDS      questions of a file, each with its text, parameters and right answer
    asking.py ADDRESS write FIRST COUNT VERTICES         COUNT edges between vertices 0 to VERTICES, in batches

It says `ready`, waits for a line, works, and says as JSON how often it has asked or how much it has written, its CPU seconds, and how long that took.
"""

import json
import random
import sys
import threading
import time

import numpy as np
from questions import suites

import mangrovedb as mg

CHECKED, BATCH = 25, 5_000


def rows_of(db, text, params):
    return db.query(text, params).to_list()


def check(db, questions):
    """Also warms up."""
    for op, text, params, right, ordered, sparse in questions[:CHECKED]:
        question = suites.Question(op, [params], [right], ordered, sparse)
        if not question.right(rows_of(db, text, params), right):
            sys.exit(f"error: a wrong answer to {op}")


def ask(db, file, seed, threads, seconds):
    questions = json.loads(open(file).read())
    random.Random(int(seed)).shuffle(questions)
    check(db, questions)
    counts, seconds = [0] * int(threads), float(seconds)

    def client(at):
        turn, end = at * len(questions) // len(counts), time.perf_counter() + seconds
        while True:
            _, text, params, *_ = questions[turn % len(questions)]
            rows_of(db, text, params)
            if time.perf_counter() > end:
                return
            counts[at], turn = counts[at] + 1, turn + 1

    def work():
        running = [threading.Thread(target=client, args=(at,)) for at in range(len(counts))]
        [thread.start() for thread in running]
        [thread.join() for thread in running]
        return sum(counts)

    return work


def write(db, first, count, vertices):
    first, count, chance = int(first), int(count), np.random.default_rng(int(first))

    def work():
        with db.ingest(batch_rows=BATCH) as rows:
            for begin in range(first, first + count, BATCH):
                some = min(BATCH, first + count - begin)
                source, target = chance.integers(0, int(vertices), (2, some))
                rows.add_edges("saw", {"~from": source, "~to": target, "at": np.arange(begin, begin + some)})
        return count

    return work


def main(address, what, *more):
    db = mg.connect(address)
    work = {"ask": ask, "write": write}[what](db, *more)
    print("ready", flush=True)
    sys.stdin.readline()
    began, cpu = time.perf_counter(), time.process_time()
    count = work()
    print(json.dumps({"count": count, "cpu_s": time.process_time() - cpu, "took_s": time.perf_counter() - began}), flush=True)
    db.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
