#!/usr/bin/env python3
"""A real graph from nothing: fetch the air-routes data, load it with the `mangrove` command, and ask it questions.

    demo.py [DIR]       DIR (default: demo) keeps the download, the CSV files and the database

The data (3.5k airports, their countries and continents, 50k+ routes between them; by Kelvin R. Lawrence) ships as Gremlin
scripts inside the Python package `graph-notebook`. The wheel is fetched once with pip; after that no network is needed.
"""

import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import convert

import mangrovedb as mg

# A wheel of this package holds the scripts; only that one file is fetched, nothing of it is installed.
SOURCE = "graph-notebook>=4.6,<6"
# What the scripts are known to hold, as (file, at least so many).
EXPECTED = [
    ("vertices_airport.csv", 3_400),
    ("vertices_country.csv", 230),
    ("vertices_continent.csv", 7),
    ("edges_route.csv", 50_000),
    ("edges_contains.csv", 6_900),
]

SHELL_QUERIES = [
    ("What is in the graph?", "g.V().groupCount().by(label)"),
    (
        "The longest non-stop flights",
        "g.E().hasLabel('route').order().by('dist', desc).limit(6)"
        ".project('from', 'to', 'miles').by(outV().values('city')).by(inV().values('city')).by('dist')",
    ),
    (
        "The airports with most routes",
        "g.V().hasLabel('airport').project('code', 'city', 'routes').by('code').by('city').by(out('route').count())"
        ".order().by('routes', desc).limit(5)",
    ),
    (
        "Fewest stops from Austin to Wellington",
        "g.V().has('airport', 'code', 'AUS').repeat(out('route').simplePath()).until(has('code', 'WLG'))"
        ".limit(3).path().by('code')",
    ),
]


def say(text):
    print(f"\n==> {text}", flush=True)


def fetch(cache):
    """The wheel with the scripts, from the cache if it is there."""
    cached = sorted(cache.glob("graph_notebook-*.whl"))
    if cached:
        say(f"air-routes scripts: {cached[-1]} (fetched before)")
        return cached[-1]
    say(f"fetching the air-routes scripts: pip download '{SOURCE}' into {cache}")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--ignore-requires-python"]
    subprocess.run([*pip, "--dest", str(cache), SOURCE], check=True)
    return sorted(cache.glob("graph_notebook-*.whl"))[-1]


def check(counts):
    for name, least in EXPECTED:
        if counts.get(name, 0) < least:
            sys.exit(f"error: {name} has {counts.get(name, 0):,} rows where at least {least:,} were expected")


COMMAND = Path(sys.executable).with_name("mangrove")


def quoted(argument):
    """An argument as one would type it: Gremlin is full of single quotes."""
    if "'" in argument and not set(argument) & set('"$`\\!'):
        return f'"{argument}"'
    return shlex.quote(argument)


def mangrove(*arguments):
    """Runs the installed command, showing it first."""
    print("$ mangrove", *map(quoted, arguments), flush=True)
    subprocess.run([str(COMMAND), *arguments], check=True, stdin=subprocess.DEVNULL)


def shown(path):
    """A path as short as it can be typed from here."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def load(database, csv_dir):
    say(f"loading {csv_dir}/*.csv into {database}")
    shutil.rmtree(database, ignore_errors=True)
    mangrove("load", str(database), *(str(file) for file in sorted(csv_dir.glob("*.csv"))))


def query_from_the_shell(database):
    for question, query in SHELL_QUERIES:
        say(question)
        mangrove("query", str(database), query)
    say("Non-stop from a parameter's airport to places above 6,000 feet, as JSON lines")
    above = "g.V().has('airport', 'code', x).out('route').has('elev', gt(6000)).valueMap('code', 'city', 'elev')"
    mangrove("query", str(database), above, "--param", "x=DEN", "--format", "json")


def query_from_python(database):
    say("The same from Python")
    db = mg.open(str(database))
    db.create_index("airport", "code")
    print(">>> db = mg.open(...); db.create_index('airport', 'code')")
    for text, parameters in [
        ("g.V().has('airport', 'code', x).out('route').dedup().count()", {"x": "AUS"}),
        ("g.V().has('airport', 'code', x).repeat(out('route').dedup()).times(2).dedup().count()", {"x": "AUS"}),
        ("g.V().has('country', 'code', x).out('contains').values('city').dedup().limit(5)", {"x": "NZ"}),
    ]:
        started = time.perf_counter()
        answer = db.query(text, parameters).to_list()
        took_ms = (time.perf_counter() - started) * 1000
        bound = ", ".join(f"{k}={v!r}" for k, v in parameters.items())
        print(f">>> db.query({text!r}, {bound}).to_list()\n{answer}      # {took_ms:.1f} ms", flush=True)
    db.close()


def main():
    directory = Path(sys.argv[1] if len(sys.argv) > 1 else "demo")
    cache, csv_dir, database = directory / "cache", directory / "csv", directory / "air.mg"
    cache.mkdir(parents=True, exist_ok=True)
    wheel = fetch(cache)
    say(f"converting its Gremlin scripts to CSV in {csv_dir}")
    counts = convert.convert(csv_dir, [wheel])
    for name, count in counts.items():
        print(f"{name:26}{count:>8,}")
    check(counts)
    load(database, csv_dir)
    query_from_the_shell(database)
    query_from_python(database)
    say("What to try next")
    command, python = shown(COMMAND), shown(Path(sys.executable))
    print(f"  {command} shell {database}        type Gremlin; Tab completes, :help helps")
    print(f"  {command} stats {database}")
    print(f"  {command} query {database} \"g.V().has('code','LHR').out().values('city')\" --format csv")
    print(f"  {python} -c \"import mangrovedb as mg; print(mg.open('{database}').schema())\"")


if __name__ == "__main__":
    main()
