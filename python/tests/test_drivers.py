"""The drivers for Python, JavaScript, Java and Go, and that of TinkerPop 4 for Python, get the answers of `mangrovedb` to queries as in the air-routes tutorial.

`drivers/queries.json` lists the queries. `drivers/<language>/` has a program that asks them all, and some of them as traversals of its language.
"""

import hashlib
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import mangrovedb as mg
import pytest

from served import serving

DRIVERS = Path(__file__).parent / "drivers"
LIST = DRIVERS / "queries.json"
QUERIES = {query["name"]: query for query in json.loads(LIST.read_text(encoding="utf-8"))}
# For each language: its tools, what fetches its driver, what builds the program, and what runs it.
LANGUAGES = {
    "python": ([], None, None, [sys.executable, "run.py"]),
    "python4": ([], f"{sys.executable} -m pip install -q --target lib -r requirements.txt", None, [sys.executable, "run.py"]),
    "javascript": (["node", "npm"], "npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=1", None, ["node", "run.js"]),
    "java": (["java", "mvn"], "mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib", None, ["java", "-cp", "lib/*", "src/main/java/Run.java"]),
    "go": (["go"], "go mod download", "go build -buildvcs=false -o run", ["./run"]),
}

COUNTRIES = {"US": "NA", "CA": "NA", "MX": "NA", "BR": "SA", "CL": "SA", "GB": "EU", "FR": "EU", "JP": "AS", "IN": "AS", "NZ": "OC"}
FIRST = ["San", "New", "Port", "Lake", "Fort", "Mount", "Grand", "East", "Villa", "Kings"]
SECOND = ["Austin", "Bristol", "Clinton", "Dayton", "Essen", "Franklin", "Geneva", "Hudson", "Irving", "Jackson"]


def air_routes(path):
    """A hundred airports, routes between most of them, and the countries and continents that contain them; ids are codes."""
    rng = random.Random(8)
    airports = []
    for first in FIRST:
        for second in SECOND:
            code = (first[0] + second[:2]).upper()
            place = {"country": rng.choice(list(COUNTRIES)), "lat": round(rng.uniform(-60, 70), 2), "lon": round(rng.uniform(-180, 180), 2)}
            size = {"runways": rng.randint(1, 6), "longest": rng.randint(4000, 16000), "elev": rng.randint(0, 6000)}
            airports.append({"~id": code, "code": code, "city": f"{first} {second}", **place, **size})
    connected = [airport["code"] for airport in airports[:-2]]
    pairs = rng.sample([(a, b) for a in connected for b in connected if a < b], 350)
    routes = [route for (a, b), miles in zip(pairs, rng.sample(range(100, 9000), 350)) for route in ((a, b, miles), (b, a, miles))]
    contains = [(place, airport["code"]) for airport in airports for place in (airport["country"], COUNTRIES[airport["country"]])]
    with mg.open(path) as db, db.ingest() as w:
        w.add_vertices("airport", airports)
        for label, codes in (("country", COUNTRIES), ("continent", set(COUNTRIES.values()))):
            w.add_vertices(label, [{"~id": code, "code": code, "desc": f"the {label} {code}"} for code in sorted(codes)])
        w.add_edges("route", routes, columns=["from", "to", "dist"])
        w.add_edges("contains", contains, columns=["from", "to"])


def plain(value):
    """A value in the form that the programs of all languages print."""
    match value:
        case mg.Vertex():
            return {"vertex": value.id}
        case mg.Edge():
            return {"edge": value.id}
        case mg.VertexProperty():
            return {"property": [value.key, value.value]}
        case mg.Path():
            return {"path": plain(value.objects)}
        case dict():
            return {"map": [[plain(key), plain(each)] for key, each in value.items()]}
        case set():
            return {"set": [plain(each) for each in value]}
        case list() | tuple():
            return [plain(each) for each in value]
        case mg.T() | mg.Direction():
            return value.name
    return value


def comparable(value):
    """The same for every order of what has none. JavaScript has no whole numbers, so they equal those with a decimal point."""
    match value:
        case {"map": items} | {"set": items}:
            return {kind: in_any_order(items) for kind in value}
        case dict():
            return {kind: comparable(each) for kind, each in value.items()}
        case list():
            return [comparable(each) for each in value]
        case float() if value.is_integer():
            return int(value)
    return value


def in_any_order(items):
    return sorted(map(comparable, items), key=json.dumps)


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("drivers") / "air.mg"
    air_routes(path)
    return path


@pytest.fixture(scope="module")
def answers(database):
    """What `mangrovedb` answers to each query."""
    with mg.open(database, read_only=True) as db:
        found = {name: plain(db.query(query["text"], query.get("bindings")).to_list()) for name, query in QUERIES.items()}
    assert [name for name, results in found.items() if not results] == ["nothing"]
    return found


def run(command, folder, seconds=60):
    # Windows finds npm and mvn by their whole names only.
    return subprocess.run([shutil.which(command[0]) or command[0], *command[1:]], cwd=folder, capture_output=True, text=True, timeout=seconds)


def fetch(language, command, folder):
    """Fetches a driver. Without a network there are no tests of it."""
    try:
        done = run(command, folder, 170)
        why = done.stdout + done.stderr if done.returncode else None
    except subprocess.TimeoutExpired:
        why = "it took too long"
    if why is not None:
        pytest.skip(f"`{' '.join(command)}` could not fetch the driver for {language}: {' '.join(why.split())[:300]}")


def program(language):
    """The folder of a language's program, with all it needs. It is made once, and again after a file of the program has changed."""
    tools, fetching, building, _ = LANGUAGES[language]
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing:
        pytest.skip(f"the driver for {language} needs {' and '.join(missing)}")
    source, folder = DRIVERS / language, DRIVERS / ".cache" / language
    files = [(path.relative_to(source).as_posix(), path.read_bytes()) for path in sorted(source.rglob("*")) if path.is_file()]
    digest, made_of = hashlib.sha256(repr(files).encode()).hexdigest(), folder / "made-of"
    if not made_of.exists() or made_of.read_text() != digest:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(source, folder)
        if fetching:
            fetch(language, fetching.split(), folder)
        if building:
            built = run(building.split(), folder, 170)
            assert built.returncode == 0, built.stdout + built.stderr
        made_of.write_text(digest)
    return folder


@pytest.fixture(scope="module", params=LANGUAGES)
def driver(request, database, answers, tmp_path_factory):
    """A language, what its program printed, and the database that it changed."""
    folder = program(request.param)
    own = tmp_path_factory.mktemp(request.param) / "air.mg"
    shutil.copytree(database, own)
    scheme = "http" if request.param == "python4" else "ws"
    with serving(own) as (_, address):
        done = run([*LANGUAGES[request.param][-1], f"{scheme}://{address}/gremlin", str(LIST)], folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return request.param, json.loads(done.stdout), own


def differences(found, answers):
    """The answers that are not those of `mangrovedb`, each before the one of `mangrovedb`."""

    def text(name, results):
        # As text, true is not 1.
        return json.dumps(comparable(results) if QUERIES[name].get("ordered") else in_any_order(results))

    return {name: (results, answers[name]) for name, results in found.items() if text(name, results) != text(name, answers[name])}


def test_texts_get_the_answers_of_mangrovedb(driver, answers):
    _, printed, _ = driver
    assert printed["texts"].keys() == QUERIES.keys()
    assert differences(printed["texts"], answers) == {}


def test_traversals_get_the_answers_of_mangrovedb(driver, answers):
    _, printed, _ = driver
    assert len(printed["traversals"]) == 8
    assert differences(printed["traversals"], answers) == {}


def test_transactions_are_kept_or_undone(driver):
    _, printed, own = driver
    assert printed["committed"] == [1, 0, 1]
    assert printed["rolled back"] == [1, 0, 0]
    with mg.open(own, read_only=True) as db:
        assert db.query("g.V().hasLabel('airport').id().is(within('kept', 'undone'))").to_list() == ["kept"]


def test_errors_have_their_codes(driver):
    language, printed, _ = driver
    # Those of HTTP for TinkerPop 4.
    codes = [500, 500] if language == "python4" else [595, 597]
    # The driver for Go keeps the last eight bits.
    assert printed["codes"] == ([code % 256 for code in codes] if language == "go" else codes)
