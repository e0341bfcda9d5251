#!/usr/bin/env python3
"""Measures algorithms on whole graphs beside other libraries: PageRank, BFS, shortest paths, components, triangles.

    python benches/analytics/run.py                          a Kronecker graph of scale 20, as Graph500 and GAP define it
    python benches/analytics/run.py --scale 22 --slow no     a greater one, without what takes minutes
    python benches/analytics/run.py --edges web.csv          also a real graph, a CSV file with two columns of numbers
    python benches/analytics/run.py --markdown docs/analytics.md

Each library and number of threads is a process of its own. It builds its graph from arrays of edges (Mangrove from a compressed
database), and then runs each algorithm three times; the least wall time counts, with the CPU time of that run if the library does nothing else
meanwhile. Graphs are undirected.
Answers are compared: reached vertices and sums of depths and lengths, components, triangles, ranks. The first run installs the peers
into benches/analytics/.venv, icebug into a folder of its own, and builds the crate `graph` if cargo is there. Mangrove comes from the Python that runs this script (`make install`).
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENV, ICEBUG, CACHE = HERE / ".venv", HERE / ".venv-icebug", HERE / ".cache"
PYTHON = VENV / "bin" / "python"
ENGINES = ("mangrove", "graph", "networkit", "icebug", "igraph", "scipy", "graphblas", "kuzu", "grafeo")
# What of them are databases. They get graphs of a few million edges only.
DATABASES = ("kuzu", "grafeo")
EDGES_MAX = 4_000_000
ALGORITHMS = ("pagerank", "bfs", "sssp", "cc", "tc")
NAMES = {"pagerank": "PageRank, 20 iterations", "bfs": "BFS", "sssp": "shortest paths, weights 1 to 255", "cc": "components", "tc": "triangles"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=20, help="2^SCALE vertices, 16 edges each before loops and doubles go (20); 0 for none")
    parser.add_argument("--edges", type=Path, action="append", default=[], help="one more graph: a CSV file of two numbers a row")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--slow", choices=("yes", "no"), default="yes", help="whether to count triangles")
    parser.add_argument("--python", default=sys.executable, help="Python to make the peers' environments with; grafeo needs 3.12")
    parser.add_argument("--markdown", type=Path, help="document whose tables to rewrite")
    options = parser.parse_args()
    prepare(options.python)
    for name, data in [*([kron(options.scale)] if options.scale else []), *map(real, options.edges)]:
        text = table(name, data, options)
        print(text, flush=True)
        if options.markdown:
            insert(options.markdown, name.split(",")[0], text)


def prepare(interpreter):
    install(VENV, (HERE / "requirements.txt").read_text().split("\n\n")[0], interpreter)
    install(ICEBUG, (HERE / "requirements.txt").read_text().split("\n\n")[1], interpreter)
    if shutil.which("cargo"):
        environment = {**os.environ, "CARGO_TARGET_DIR": str(CACHE / "graph_crate")}
        subprocess.run(["cargo", "build", "--release", "-q"], cwd=HERE / "graph_crate", env=environment, check=True)
    import mangrovedb

    linked = VENV / "path" / "mangrovedb"
    linked.parent.mkdir(exist_ok=True)
    linked.unlink(missing_ok=True)
    linked.symlink_to(Path(mangrovedb.__file__).parent)
    CACHE.mkdir(exist_ok=True)


def install(folder, requirements, interpreter):
    stamp = folder / "installed"
    if not stamp.exists() or stamp.read_text() != requirements:
        print(f"==> installing peers into {folder}", flush=True)
        subprocess.run([interpreter, "-m", "venv", "--clear", folder], check=True)
        packages = [line for line in requirements.splitlines() if line and not line.startswith("#")]
        subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages], check=True)
        stamp.write_text(requirements)


def peer(*arguments, threads=1, python=PYTHON):
    environment = {"PYTHONPATH": f"{HERE}:{VENV / 'path'}", "PATH": os.environ["PATH"], "HOME": str(Path.home()), "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run([python, *map(str, arguments)], env=environment, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


def kron(scale):
    file = CACHE / f"kron{scale}.npz"
    if not file.exists():
        peer(HERE / "graphs.py", "kron", file, scale)
    return f"kron-{scale}, ", file


def real(path):
    file = CACHE / f"{path.name.split('.')[0]}.npz"
    if not file.exists():
        peer(HERE / "graphs.py", "csv", file, path)
    return f"{path.name.split('.')[0]}, ", file


def measured(engine, data, threads, wanted):
    """What a process of the library finds; `None` if it fails."""
    if engine == "graph":
        program = CACHE / "graph_crate" / "release" / "graph-crate"
        if not program.exists():
            return None
        # It counts triangles on as many threads as it finds cores.
        cores = lambda: os.sched_setaffinity(0, range(int(threads)))
        command = [program, plain(data), threads, ",".join(wanted)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, preexec_fn=cores)
        return json.loads(done.stdout) if done.returncode == 0 else None
    python = ICEBUG / "bin" / "python" if engine == "icebug" else PYTHON
    return peer(HERE / "measure.py", engine, data, threads, ",".join(wanted), threads=threads, python=python)


def plain(data):
    """The edges as numbers of 32 bits, for programs without NumPy."""
    file = data.with_suffix(".u32")
    if not file.exists():
        peer(HERE / "graphs.py", "plain", file, data)
    return file


def table(name, data, options):
    # So that it is no part of any measurement.
    run = "import sys, numpy; from engines.mangrove import database; database(numpy.load(sys.argv[1]), sys.argv[1]); print('{}')"
    peer("-c", run, data)
    wanted = [one for one in ALGORITHMS if one != "tc" or options.slow == "yes"]
    found, about = {}, None
    edges = peer("-c", "import sys, numpy; print(len(numpy.load(sys.argv[1])['source']))", data)
    engines = [engine for engine in options.engines.split(",") if engine not in DATABASES or edges <= EDGES_MAX]
    for engine in engines:
        for threads in options.threads.split(","):
            found[engine, threads] = measured(engine, data, threads, wanted)
            about = about or found[engine, threads]["about"]
    check({who: one for who, one in found.items() if one})
    heads = ["", "threads", "memory", "graph ready", *(NAMES[one] for one in wanted)]
    rows = []
    for (engine, threads), one in found.items():
        cells = [engine, threads, *(["failed"] if one is None else [f"{one['bytes'] / 1e6:,.0f} MB", shown(one["ready"])])]
        rows.append(cells + [shown(one["times"].get(each)) for each in wanted] if one else cells)
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return f"{name}{about}:\n\n" + "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def shown(times):
    if times is None:
        return ""
    form = lambda seconds: f"{seconds:,.2f} s" if seconds >= 1 else f"{seconds * 1e3:,.3g} ms"
    return form(times[0]) if times[1] is None else f"{form(times[0])} ({form(times[1])})"


# These compute other ranks: `graph` in place, so that a vertex may read new values in the same iteration; and Kuzu by a rule of its own.
OTHER_RANKS = ("graph", "kuzu")


def check(found):
    """All that answer a question answer the same."""
    for question in sorted({key for one in found.values() for key in one["answers"]}):
        answers = {who: one["answers"][question] for who, one in found.items() if question in one["answers"]}
        if question == "pagerank":
            answers = {who: answer for who, answer in answers.items() if who[0] not in OTHER_RANKS}
        first = next(iter(answers.values()))  # Mangrove's; an empty one says nothing
        near = lambda a, b: abs(a - b) <= 1e-3 * max(abs(a), abs(b))
        assert all(near(a, b) for answer in answers.values() for a, b in zip(answer, first)), (question, answers)


def insert(path, mark, text):
    before, rest = path.read_text().split(f"<!-- analytics {mark} -->\n")
    path.write_text(f"{before}<!-- analytics {mark} -->\n{text.strip()}\n<!-- end -->{rest.split('<!-- end -->', 1)[1]}")


if __name__ == "__main__":
    main()
