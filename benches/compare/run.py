#!/usr/bin/env python3
"""Mangrove beside the engines people pick today: same machine, same run, same data, same answers.

    python benches/compare/run.py                        all engines on RMAT-18 (262k people, 4.2M edges)
    python benches/compare/run.py --scale 12 --engines mangrove,kuzu
    python benches/compare/run.py --markdown docs/benchmarks.md

Needs nothing but Python: the engines are installed into benches/compare/.venv at the first run; Mangrove is taken from the Python
this is run with (`make install`). Each engine works in processes of its own; one that crashes or takes too long fails only what
it was doing. LMDB itself (crates/testkit/examples/lmdb_raw.rs), with the same adjacency blocks, is measured in the same run where
cargo is there.
"""

import argparse
import importlib.util
import json
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import report

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CACHE = HERE / ".cache"
VENV = HERE / ".venv"
PYTHON = VENV / "bin" / "python"
ENGINES = ("mangrove", "kuzu", "ladybug", "neug", "grafeo", "duckdb", "networkx")
QUERIES = ("point", "hop1", "hop2", "hop3", "bfs4", "filter_count", "group_count")
WRITES = ("singles", "batches")


def main():
    options = arguments()
    prepare(options.python)
    folder = Path(python("-c", f"import data; print(data.ensure({str(CACHE)!r}, {options.scale}))").strip())
    results = {"about": about(options, folder), "engines": {}}
    with tempfile.TemporaryDirectory(prefix="mangrove-bench-", dir=options.scratch) as scratch:
        if not options.no_raw:
            say("raw LMDB")
            results["engines"]["raw LMDB"] = raw_lmdb(folder, Path(scratch))
        for name in options.engines.split(","):
            results["engines"][name] = run_engine(name, folder, Path(scratch), options)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(results, indent=1) + "\n")
    print(report.text(results))
    say(f"every figure is in {options.json}")
    if options.markdown:
        report.insert(options.markdown, report.markdown(results))
        say(f"wrote the tables into {options.markdown}")
    return 1 if report.wrong_answers(results, "mangrove") else 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=18, help="2^SCALE people, 16 edges each (18)")
    parser.add_argument("--engines", default=",".join(ENGINES), help="which, separated by commas")
    parser.add_argument("--timeout", type=int, default=600, help="seconds a stage, or one kind of query, may take (600)")
    parser.add_argument("--no-raw", action="store_true", help="leave raw LMDB out")
    parser.add_argument("--json", type=Path, default=CACHE / "results.json", help="where the figures go")
    parser.add_argument("--markdown", type=Path, help="document whose tables to rewrite")
    parser.add_argument("--scratch", type=Path, default=None, help="folder for the databases (the system's temporary one)")
    parser.add_argument("--python", default=python_3_12(), help="Python to make the engines' environment with (3.12 suits all of them)")
    return parser.parse_args()


def say(text):
    print(f"==> {text}", flush=True)


# ---- the environment


def python_3_12():
    """A Python 3.12 if there is one: grafeo wants no older one, neug has nothing for later ones. Else this Python."""
    installed = sorted((Path.home() / ".pyenv/versions").glob("3.12*/bin/python"))
    for candidate in ["python3.12", *map(str, installed)]:
        try:
            done = subprocess.run([candidate, "-c", "import sys, venv; print(sys.version_info[:2] == (3, 12))"], capture_output=True, text=True)
        except OSError:
            continue
        if done.stdout.strip() == "True":
            return candidate
    return sys.executable


def prepare(interpreter):
    """The engines' environment, and in it this Python's mangrovedb."""
    stamp = VENV / "installed"
    requirements = (HERE / "requirements.txt").read_text()
    if not stamp.exists() or stamp.read_text() != requirements:
        say(f"installing the engines into {VENV}")
        subprocess.run([interpreter, "-m", "venv", VENV], check=True)
        subprocess.run([PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", HERE / "requirements.txt"], check=True)
        stamp.write_text(requirements)
    found = importlib.util.find_spec("mangrovedb")
    linked = CACHE / "path" / "mangrovedb"
    linked.parent.mkdir(parents=True, exist_ok=True)
    linked.unlink(missing_ok=True)
    if found and found.origin:
        linked.symlink_to(Path(found.origin).parent)
    else:
        say("this Python has no mangrovedb: run `make install`, then this with .venv/bin/python")


def environment():
    return {"PYTHONPATH": f"{HERE}:{CACHE / 'path'}", "PATH": "/usr/bin:/bin", "HOME": str(Path.home()), "PYTHONWARNINGS": "ignore"}


def python(*arguments):
    done = subprocess.run([PYTHON, *arguments], cwd=HERE, env=environment(), stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


# ---- running engines


def run_engine(name, folder, scratch, options):
    say(name)
    database = scratch / name / "graph"
    lines = stage("load", name, folder, database, options.timeout)
    loaded = any(line.get("op") == "load" and "failed" not in line for line in lines)
    if loaded:
        lines += stages("query", QUERIES, name, folder, database, options.timeout)
        lines += stages("write", WRITES, name, folder, database, options.timeout)
    shutil.rmtree(scratch / name, ignore_errors=True)
    return collect(lines)


def stages(stage_name, ops, name, folder, database, timeout):
    """Runs the ops in one process, and again from the next one whenever the process is lost."""
    lines, left = [], list(ops)
    while left:
        got = stage(stage_name, name, folder, database, timeout, left)
        lines += got
        begun = [line["op"] for line in got if line.get("op") in left]
        done = left.index(begun[-1]) + 1 if begun else len(left)
        left = left[done:]
    return lines


def stage(stage_name, name, folder, database, timeout, ops=()):
    """One process. Its measurements, and a failure for what it had begun when it was lost."""
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as out, tempfile.TemporaryFile() as log:
        command = [PYTHON, HERE / "worker.py", stage_name, name, folder, database, out.name, *ops]
        process = subprocess.Popen(list(map(str, command)), env=environment(), stdout=log, stderr=log)
        why = watch(process, Path(out.name), timeout)
        lines = [json.loads(line) for line in Path(out.name).read_text().splitlines()]
        if why:
            log.seek(0)
            said = log.read().decode(errors="replace").strip().splitlines()
            begun = next((line["op"] for line in reversed(lines) if line.get("started")), ops[0] if ops else "load")
            lines.append({"op": begun, "failed": f"{why}{': ' + said[-1][:200] if said and why != 'took too long' else ''}"})
    for line in lines:
        if not line.get("started") and line.get("op") != "engine":
            print(f"    {report.brief(line)}", flush=True)
    return lines


def watch(process, out, timeout):
    """Waits until the process ends, or makes no further line for `timeout` seconds; why it was lost, if it was."""
    size, since = -1, time.monotonic()
    while process.poll() is None:
        now = out.stat().st_size
        if now != size:
            size, since = now, time.monotonic()
        if time.monotonic() - since > timeout:
            process.kill()
            process.wait()
            return "took too long"
        time.sleep(0.1)
    code = process.returncode
    return "" if code == 0 else f"killed by signal {-code}" if code < 0 else f"exit code {code}"


def collect(lines):
    engine = {}
    for line in lines:
        if not line.get("started"):
            engine[line["op"]] = {key: value for key, value in line.items() if key != "op"}
    return engine


def raw_lmdb(folder, scratch):
    """The same adjacency in LMDB alone: what the storage engine gives, in Rust."""
    if not shutil.which("cargo"):
        return {"load": {"failed": "cargo is not there"}}
    command = ["cargo", "run", "--release", "-q", "-p", "mangrove-testkit", "--example", "lmdb_raw", "--", folder, scratch / "raw"]
    done = subprocess.run(list(map(str, command)), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        return {"load": {"failed": done.stderr.strip().splitlines()[-1][:200] if done.stderr.strip() else "failed"}}
    return collect([json.loads(line) for line in done.stdout.splitlines()])


# ---- what it was run on


def about(options, folder):
    asked = json.loads((folder / "params.json").read_text())
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout.strip()
    cpu = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")] if Path("/proc/cpuinfo").exists() else []
    csv = sum(f.stat().st_size for f in folder.glob("*.csv"))
    return {
        "command": f"python benches/compare/run.py --scale {options.scale} --engines {options.engines}",
        "commit": commit or "unknown",
        "data": f"RMAT-{options.scale}, seed of benches/compare/data.py: {asked['vertices']:,} vertices with id, name of 32 characters"
        f" and age; {asked['edges']:,} edges with time and weight; {csv / 1e6:.0f} MB of CSV",
        "csv_bytes": csv,
        "machine": f"{len(cpu) or '?'} × {cpu[0].split(':', 1)[1].strip() if cpu else platform.processor()}, {platform.system()} {platform.release()}",
        "date": time.strftime("%Y-%m-%d"),
    }


if __name__ == "__main__":
    sys.exit(main())
