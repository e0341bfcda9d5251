#!/usr/bin/env python3
"""Compares Mangrove with the engines that people choose today: same machine, same run, same data, same answers.

    python benches/compare/run.py                                  every suite, every engine
    python benches/compare/run.py --suite rmat --scale 12 --engines mangrove,kuzu
    python benches/compare/run.py --suite snb --snb FOLDER         LDBC's own tables instead of generated ones
    python benches/compare/run.py --markdown docs/benchmarks.md
    python benches/compare/run.py --suite snb --engines mangrove --before ../other/python     beside another build of Mangrove

Suites: rmat (262k people, 4.2M edges), grasper (Grasper's queries over citations), snb (LDBC's interactive reads), tao (TAO's operations
and ZipG's graph searches over users with 40 properties); see suites.py.

It needs only Python. The first run installs the engines into benches/compare/.venv. Mangrove comes from the Python that runs this
script (`make install`). Maven, if it is there, builds the engines that need a JVM. Each engine works in processes of its own. If
one crashes or takes too long, only its current work fails. If cargo is there, rmat also measures LMDB itself with the same
adjacency blocks (crates/testkit/examples/lmdb_raw.rs).
"""

import argparse
import importlib.util
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import jvm
import report

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CACHE = HERE / ".cache"
VENV = HERE / ".venv"
PYTHON = VENV / "bin" / "python"
SUITES = ("rmat", "grasper", "snb", "tao")
WRITES = ("singles", "batches")
CHANGES = ("obj_add", "obj_update", "assoc_add", "assoc_update", "assoc_del")
MIXES = ("TAO mix", "LinkBench mix")


def main():
    options = arguments()
    prepare(options.python)
    kept = json.loads(options.json.read_text()) if options.json.exists() else {}
    wrong = 0
    for suite in options.suite.split(","):
        results = kept[suite] = run_suite(suite, options)
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(kept, indent=1) + "\n")
        print(report.text(suite, results))
        if options.markdown:
            report.insert(options.markdown, suite, report.markdown(suite, results))
            say(f"wrote the tables into {options.markdown}")
        wrong += report.wrong_answers(results, "mangrove")
    say(f"every figure is in {options.json}")
    return 1 if wrong else 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default=",".join(SUITES), help="which, separated by commas (all)")
    parser.add_argument("--scale", type=int, default=18, help="rmat: 2^SCALE people, 16 edges each (18)")
    parser.add_argument("--vertices", type=int, default=100_000, help="grasper: vertices, ten edges each (100000)")
    parser.add_argument("--persons", type=int, default=1_528, help="snb: people, 190 messages each (1528, as in SF0.1)")
    parser.add_argument("--users", type=int, default=200_000, help="tao: users, 4.35 edges each (200000)")
    parser.add_argument("--snb", type=Path, help="snb: a folder of LDBC's own tables, read instead")
    parser.add_argument("--engines", help="which, separated by commas (all)")
    parser.add_argument("--timeout", type=int, default=600, help="seconds a stage may take, or one kind of query of rmat; others a fifth of it (600)")
    parser.add_argument("--no-raw", action="store_true", help="leave raw LMDB out")
    parser.add_argument("--before", type=Path, help="a folder with the package mangrovedb of another build, measured beside this one")
    parser.add_argument("--ablate", action="store_true", help="also Mangrove with each rule and each way of spreading work switched off")
    parser.add_argument("--json", type=Path, default=CACHE / "results.json", help="where the figures go; those of other suites stay")
    parser.add_argument("--markdown", type=Path, help="document whose tables to rewrite")
    parser.add_argument("--scratch", type=Path, default=None, help="folder for the databases (the system's temporary one)")
    parser.add_argument("--python", default=python_3_12(), help="Python to make the engines' environment with (3.12 suits all of them)")
    return parser.parse_args()


def run_suite(suite, options):
    say(f"suite {suite}")
    size = {"rmat": options.scale, "grasper": options.vertices, "snb": options.persons, "tao": options.users}[suite]
    ensure = "import sys, suites; print(suites.ensure(*sys.argv[1:]))"
    told = json.loads(python("-c", ensure, suite, CACHE, size, options.snb.resolve() if suite == "snb" and options.snb else ""))
    told["folder"] = Path(told["folder"])
    engines = [name for name in told["engines"] if not options.engines or name in options.engines.split(",")]
    results = {"about": about(suite, options, told), "left_out": told["left_out"], "engines": {}}
    with tempfile.TemporaryDirectory(prefix="mangrove-bench-", dir=options.scratch) as scratch:
        if suite == "rmat" and not options.no_raw:
            say("raw LMDB")
            results["engines"]["raw LMDB"] = raw_lmdb(told["folder"], Path(scratch))
        for name in engines + (["mangrove before"] if options.before else []):
            results["engines"][name] = run_engine(suite, name, told, Path(scratch), options)
    return results


def say(text):
    print(f"==> {text}", flush=True)


# ---- the environment


def python_3_12():
    """Python 3.12 if it is there: grafeo needs at least that, and neug has no build for later ones. Otherwise this Python."""
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
    """Makes the environment of the engines, with the mangrovedb of this Python."""
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


def environment(packages=CACHE / "path"):
    cargo = shutil.which("cargo")
    path = [str(Path(cargo).parent)] if cargo else []
    return {"PYTHONPATH": f"{HERE}:{packages}", "PATH": ":".join([*path, "/usr/bin", "/bin"]), "HOME": str(Path.home()), "PYTHONWARNINGS": "ignore"}


def python(*arguments):
    done = subprocess.run([PYTHON, *map(str, arguments)], cwd=HERE, env=environment(), stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


# ---- running engines


def run_engine(suite, name, told, scratch, options):
    say(name)
    why = jvm.build(say) if name in jvm.ENGINES else build_mix() if name == "direct" else ""
    if why:
        print(f"    left out: {why}")
        return {"load": {"failed": why}}
    packages = options.before.resolve() if name == "mangrove before" else CACHE / "path"
    run = Run(suite, name.removesuffix(" before"), told["folder"], scratch / name / "graph", options.timeout, packages)
    lines = run.stage("load")
    if any(line.get("op") == "load" and "failed" not in line for line in lines):
        lines += run.stages("query", told["ops"])
        if options.ablate and name == "mangrove" and suite != "rmat":
            variants = json.loads(python("-c", "import json, engines; print(json.dumps(list(engines.make('mangrove').variants())))"))
            lines += run.stages("ablate", [f"{op} | {variant}" for variant in variants for op in told["ops"]])
        if suite == "rmat":
            lines += run.stages("write", WRITES)
        if suite == "tao":
            lines += run.stages("change", CHANGES)
            lines += run.stages("mix", MIXES)
        if suite == "snb":
            lines += run.stages("clients", [f"{op} clients" for op in told["ops"]])
            lines += run.stages("beside", ["beside"])
    shutil.rmtree(scratch / name, ignore_errors=True)
    return collect(lines)


@dataclass
class Run:
    """One engine on one data set."""

    suite: str
    name: str
    folder: Path
    database: Path
    timeout: int
    packages: Path

    def stages(self, stage, ops):
        """Runs the ops in one process. Whenever the process is lost, a new one continues with the next op."""
        lines, left = [], list(ops)
        while left:
            got = self.stage(stage, left)
            lines += got
            begun = [line["op"] for line in got if line.get("op") in left]
            done = left.index(begun[-1]) + 1 if begun else len(left)
            left = left[done:]
        return lines

    def stage(self, stage, ops=()):
        """Runs one process. Returns its measurements. If it was lost, the op it had begun counts as a failure."""
        with tempfile.NamedTemporaryFile(suffix=".jsonl") as out, tempfile.TemporaryFile() as log:
            command = [PYTHON, HERE / "worker.py", stage, self.suite, self.name, self.folder, self.database, out.name, *ops]
            process = subprocess.Popen(list(map(str, command)), env=environment(self.packages), stdout=log, stderr=log, start_new_session=True)
            why = watch(process, Path(out.name), self.timeout if stage == "load" or self.suite == "rmat" else self.timeout / 5)
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
    """Waits until the process ends, or writes no further line for `timeout` seconds. Returns why it was lost, if it was."""
    size, since = -1, time.monotonic()
    while process.poll() is None:
        now = out.stat().st_size
        if now != size:
            size, since = now, time.monotonic()
        if time.monotonic() - since > timeout:
            os.killpg(process.pid, signal.SIGKILL)  # with the JVM it may have started
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


def build_mix():
    """Builds the program that runs the mixes of direct calls. Returns why it cannot be built, or an empty text."""
    if not shutil.which("cargo"):
        return "cargo is not there"
    done = subprocess.run(["cargo", "build", "--release", "-q", "-p", "mangrove", "--example", "mix"], cwd=ROOT)
    return "cargo failed" if done.returncode else ""


def raw_lmdb(folder, scratch):
    """Measures the same adjacency in LMDB alone, in Rust: the limit of the storage engine."""
    if not shutil.which("cargo"):
        return {"load": {"failed": "cargo is not there"}}
    command = ["cargo", "run", "--release", "-q", "-p", "mangrove-testkit", "--example", "lmdb_raw", "--", folder, scratch / "raw"]
    done = subprocess.run(list(map(str, command)), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        return {"load": {"failed": done.stderr.strip().splitlines()[-1][:200] if done.stderr.strip() else "failed"}}
    return collect([json.loads(line) for line in done.stdout.splitlines()])


# ---- the machine


def about(suite, options, told):
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout.strip()
    cpu = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")] if Path("/proc/cpuinfo").exists() else []
    sizes = {"rmat": f"--scale {options.scale}", "grasper": f"--vertices {options.vertices}", "snb": f"--persons {options.persons}"}
    size = (sizes | {"tao": f"--users {options.users}"})[suite]
    size = f"--snb {options.snb.name}" if suite == "snb" and options.snb else size
    engines = f" --engines {options.engines}" if options.engines else ""
    before = " --before PACKAGES" if options.before else ""
    return {
        "command": f"python benches/compare/run.py --suite {suite} {size}{engines}{before}",
        "commit": commit or "unknown",
        "data": told["data"],
        "csv_bytes": told["csv_bytes"],
        "machine": f"{cpu[0].split(':', 1)[1].strip() if cpu else platform.processor()}, {len(cpu) or '?'} hardware threads, {platform.system()} {platform.release()}",
        "date": time.strftime("%Y-%m-%d"),
    }


if __name__ == "__main__":
    sys.exit(main())
