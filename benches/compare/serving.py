"""Runs many clients at once, and short reads beside a heavy one. Clients are threads of one process, each with its own session."""

import contextlib
import statistics
import threading
import time


def throughput(engine, text, params, clients, seconds):
    """Queries per second that `clients` threads complete together."""
    return sum(together(engine, [(text, params)] * clients, seconds)) / seconds


def latencies(engine, short, heavy, seconds):
    """Wall µs of short reads, run in turn. If `heavy` is given, another thread runs it over and over. Returns also how often it
    completed."""
    stop, heavies, ready = threading.Event(), [0], threading.Event()

    def work():
        run, params = engine.session().prepare(heavy[0]), heavy[1]
        run(params[0])
        ready.set()
        while not stop.is_set():
            run(params[heavies[0] % len(params)])
            heavies[0] += 1

    runs = [(engine.prepare(text), params) for text, params in short]
    for run, params in runs:
        run(params[0])
    thread = threading.Thread(target=work)
    if heavy:
        thread.start()
        ready.wait(60)
    took, end, turn = [], time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        run, params = runs[turn % len(runs)]
        begin = time.perf_counter()
        run(params[turn // len(runs) % len(params)])
        took.append((time.perf_counter() - begin) * 1e6)
        turn += 1
    stop.set()
    if heavy:
        thread.join()
    return sorted(took), heavies[0]


def together(engine, work, seconds):
    """How many queries each thread completed before the time was up."""
    begin, done, failed = threading.Barrier(len(work)), [0] * len(work), []

    def client(at, text, params):
        try:
            run = engine.session().prepare(text)
            run(params[0])
            begin.wait(60)
            end, turn = time.perf_counter() + seconds, at * len(params) // len(work)
            while time.perf_counter() < end:
                run(params[turn % len(params)])
                turn, done[at] = turn + 1, done[at] + 1
        except BaseException as error:  # an engine's panic is a BaseException too
            failed.append(error)
            begin.abort()

    threads = [threading.Thread(target=client, args=(at, *one)) for at, one in enumerate(work)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise next((error for error in failed if not isinstance(error, threading.BrokenBarrierError)), failed[0])
    return done


def mix(engine, texts, streams, writing, seconds):
    """Operations per second that the clients complete, and how many were refused. Each client takes operations (number of a text,
    parameters) from a stream of its own. `writing` holds the numbers of texts that change the graph."""
    turn = threading.Lock() if engine.one_writer else contextlib.nullcontext()
    begin, rates, refused, failed = threading.Barrier(len(streams)), [0.0] * len(streams), [0] * len(streams), []

    def client(at, stream):
        try:
            session = engine.session()
            runs = [session.prepare(text) for text in texts]
            begin.wait(120)
            done, start = 0, time.perf_counter()
            end = start + seconds
            for number, params in stream:
                try:
                    with turn if number in writing else contextlib.nullcontext():
                        runs[number](params)
                    done += 1
                except Exception:
                    refused[at] += 1
                if time.perf_counter() > end:
                    break
            rates[at] = done / (time.perf_counter() - start)
        except BaseException as error:  # an engine's panic is a BaseException too
            failed.append(error)
            begin.abort()

    threads = [threading.Thread(target=client, args=one) for one in enumerate(streams)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise next((error for error in failed if not isinstance(error, threading.BrokenBarrierError)), failed[0])
    return sum(rates), sum(refused)


def percentiles(took):
    return {"p50_us": statistics.median(took), "p99_us": took[min(len(took) - 1, int(0.99 * len(took)))], "n": len(took)}
