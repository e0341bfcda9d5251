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
into benches/analytics/.venv. Mangrove comes from the Python that runs this script (`make install`).
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENV, CACHE = HERE / ".venv", HERE / ".cache"
PYTHON = VENV / "bin" / "python"
ENGINES = ("mangrove", "networkit", "igraph", "scipy", "graphblas")
ALGORITHMS = ("pagerank", "bfs", "sssp", "cc", "tc")
NAMES = {"pagerank": "PageRank, 20 iterations", "bfs": "BFS", "sssp": "shortest paths, weights 1 to 255", "cc": "components", "tc": "triangles"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=20, help="2^SCALE vertices, 16 edges each before loops and doubles go (20)")
    parser.add_argument("--edges", type=Path, action="append", default=[], help="one more graph: a CSV file of two numbers a row")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--slow", choices=("yes", "no"), default="yes", help="whether to count triangles")
    parser.add_argument("--markdown", type=Path, help="document whose tables to rewrite")
    options = parser.parse_args()
    prepare()
    for name, data in [kron(options.scale), *map(real, options.edges)]:
        text = table(name, data, options)
        print(text, flush=True)
        if options.markdown:
            insert(options.markdown, name.split(",")[0], text)


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
    CACHE.mkdir(exist_ok=True)


def peer(*arguments, threads=1):
    environment = {"PYTHONPATH": f"{HERE}:{VENV / 'path'}", "PATH": os.environ["PATH"], "HOME": str(Path.home()), "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run([PYTHON, *map(str, arguments)], env=environment, stdout=subprocess.PIPE, text=True)
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


def table(name, data, options):
    # So that it is no part of any measurement.
    run = "import sys, numpy; from engines.mangrove import database; database(numpy.load(sys.argv[1]), sys.argv[1]); print('{}')"
    peer("-c", run, data)
    wanted = [one for one in ALGORITHMS if one != "tc" or options.slow == "yes"]
    found, about = {}, None
    for engine in options.engines.split(","):
        for threads in options.threads.split(","):
            found[engine, threads] = peer(HERE / "measure.py", engine, data, threads, ",".join(wanted), threads=threads)
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


def check(found):
    """All that answer a question answer the same."""
    for question in sorted({key for one in found.values() for key in one["answers"]}):
        answers = {who: one["answers"][question] for who, one in found.items() if question in one["answers"]}
        first = next(iter(answers.values()))  # Mangrove's; an empty one says nothing
        near = lambda a, b: abs(a - b) <= 1e-3 * max(abs(a), abs(b))
        assert all(near(a, b) for answer in answers.values() for a, b in zip(answer, first)), (question, answers)


def insert(path, mark, text):
    before, rest = path.read_text().split(f"<!-- analytics {mark} -->\n")
    path.write_text(f"{before}<!-- analytics {mark} -->\n{text.strip()}\n<!-- end -->{rest.split('<!-- end -->', 1)[1]}")


if __name__ == "__main__":
    main()
