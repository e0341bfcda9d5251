#!/usr/bin/env python3
"""Holds the direction of dependencies between our crates, the licences of everyone else's, and that each is built once.

Asks cargo; needs nothing but Python. The licence list is deny.toml's, so `cargo deny` agrees where it is installed.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent

# What each crate may depend on among ours. Data flows one way: stores and queries meet in `graph` and nowhere else.
MAY_USE = {
    "mangrove-graph": set(),
    "mangrove-segment": {"mangrove-graph"},
    "mangrove-hot": {"mangrove-graph", "mangrove-segment"},
    "mangrove-ingest": {"mangrove-graph"},
    # It reads YAML and tables, and reports progress, as the loader does. Its indexes of edges are segments.
    "mangrove-lake": {"mangrove-graph", "mangrove-ingest", "mangrove-segment"},
    # It finds communities as an analysis does.
    "mangrove-layout": {"mangrove-analytics", "mangrove-graph"},
    # Shards are stores behind traits.
    "mangrove-cluster": {"mangrove-graph"},
    # gRPC between the processes of a cluster.
    "mangrove-link": {"mangrove-cluster", "mangrove-graph"},
    # A topic of Kafka as a log, and those of users as topics that a load follows.
    "mangrove-kafka": {"mangrove-cluster", "mangrove-graph", "mangrove-ingest"},
    # It is the store of a shard, too.
    "mangrove-directory": {"mangrove-cluster", "mangrove-graph", "mangrove-hot"},
    "mangrove-analytics": {"mangrove-graph"},
    # Some steps of Gremlin are algorithms on the whole graph.
    "mangrove-query": {"mangrove-analytics", "mangrove-graph"},
    "mangrove": {
        "mangrove-analytics",
        "mangrove-cluster",
        "mangrove-graph",
        "mangrove-hot",
        "mangrove-ingest",
        "mangrove-lake",
        "mangrove-layout",
        "mangrove-link",
        "mangrove-directory",
        "mangrove-query",
    },
    # What people type. It completes and checks Gremlin before it runs it.
    "mangrove-cli": {"mangrove", "mangrove-kafka", "mangrove-mcp", "mangrove-query", "mangrove-server"},
    "mangrove-mcp": {"mangrove"},
    # It reads the requests of drivers, which hold queries as bytecode.
    "mangrove-server": {"mangrove", "mangrove-query"},
    # Its interpreter of Gremlin reads the engine's plans; tests of the engine use the test kit in turn.
    "mangrove-testkit": {"mangrove-graph", "mangrove-query"},
    "mangrove-python": {"mangrove", "mangrove-cli", "mangrove-graph", "mangrove-ingest"},
    # A tool for developers; it ships with nothing.
    "mangrove-conformance": {
        "mangrove",
        "mangrove-server",
        "mangrove-graph",
        "mangrove-ingest",
        "mangrove-lake",
        "mangrove-cluster",
        "mangrove-directory",
        "mangrove-hot",
        "mangrove-query",
        "mangrove-testkit",
    },
}
# Tests of a crate may also use these. Nothing ships with the test kit in it.
TESTS_MAY_USE = {"mangrove-testkit"}
# The test kit's own tests (crash driver, one suite over every store) drive the finished product.
TESTKIT_TESTS_MAY_USE = set(MAY_USE)


def run(*command):
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def metadata():
    host = re.search(r"^host: (.*)$", run("rustc", "-vV"), re.M)[1]
    return json.loads(run("cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", host))


def wrong_directions(ours):
    for package in ours:
        name = package["name"]
        if name not in MAY_USE:
            yield f"{name}: a new crate; say in {Path(__file__).name} what it may depend on"
            continue
        tests_may_use = TESTKIT_TESTS_MAY_USE if name == "mangrove-testkit" else MAY_USE[name] | TESTS_MAY_USE
        for dependency in package["dependencies"]:
            allowed = tests_may_use if dependency["kind"] == "dev" else MAY_USE[name]
            if dependency["name"] in MAY_USE and dependency["name"] not in allowed:
                kind = "tests of " if dependency["kind"] == "dev" else ""
                yield f"{kind}{name} may not depend on {dependency['name']} (allowed: {', '.join(sorted(allowed)) or 'none of ours'})"


def is_allowed(expression, allowed):
    """Whether an SPDX expression (or the old `A/B`) can be met with allowed licences only."""
    tokens = re.findall(r"\(|\)|[^\s()]+(?: WITH [^\s()]+)?", expression.replace("/", " OR "))
    python = [{"(": "(", ")": ")", "OR": "or", "AND": "and"}.get(t) or str(t in allowed) for t in tokens]
    return eval(" ".join(python), {"__builtins__": {}})  # only True, False, and, or, parentheses can be in it


def wrong_licences(others):
    licences = tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]
    excepted = {entry["crate"]: entry["allow"] for entry in licences.get("exceptions", [])}
    for package in others:
        allowed = {*licences["allow"], *excepted.get(package["name"], [])}
        if not package["license"] or not is_allowed(package["license"], allowed):
            yield f"{package['name']} {package['version']}: licence {package['license']} is not on the list of deny.toml"


def features(*selection):
    """Each dependency that `cargo build` of the selection compiles, with its features."""
    tree = run("cargo", "tree", "--locked", *selection, "--prefix", "none", "--format", "{p}|{f}")
    rows = (line.removesuffix(" (*)").rpartition("|") for line in tree.splitlines() if line)
    return {(package.split(" (")[0], features) for package, _, features in rows}


def built_twice():
    """Dependencies that the Python module and the tests would compile with different features, and so twice."""
    everything = features("--workspace", "--edges", "normal,build,dev")
    for package, wanted in sorted(features("--package", "mangrove-python", "--edges", "normal,build") - everything):
        have = " or ".join(sorted(f for p, f in everything if p == package))
        yield f"{package} would be built twice, for the Python module with features [{wanted}] and for tests with [{have}]: see python/Cargo.toml"


def main():
    packages = metadata()["packages"]
    ours = [p for p in packages if p["source"] is None]
    others = [p for p in packages if p["source"] is not None]
    problems = [*wrong_directions(ours), *wrong_licences(others), *built_twice()]
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    if not problems:
        print(f"dependency directions of {len(ours)} crates and licences of {len(others)} dependencies are as declared; each is built once")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
