"""The graph that is in the databases beside this file, each written by an earlier version of Mangrove.

Each was written by running this file with that version, `python graph.py NAME`, which makes NAME.tar.xz. The same graph made by the version of
today says what has to be in them. `python graph.py NAME wide` makes the one of a label with many keys.
"""

import inspect
import sys
import tarfile
import tempfile
import time
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import mangrovedb as mg

PEOPLE, CITIES, CHANGES = 400, 12, 20
START = datetime(2021, 3, 1, tzinfo=timezone.utc)


def make(path):
    """Loaded and compacted, then changed; a version that seals beside its writer does so now and then, and the rest stays in tables."""
    seals = "seal_mb" in inspect.signature(mg.open).parameters
    with mg.open(path, **({"seal_mb": 0.01} if seals else {})) as db:
        db.load(nodes={"person": people(), "city": cities()}, edges={("person", "knows", "person"): friends()}, edge_time="since", compact=True)
        db.create_index("person", "name")
        with db.ingest() as w:
            w.add_edges("lives in", [{"from": i, "to": f"city {i % CITIES}", "rent": 100.5 + i} for i in range(0, PEOPLE, 3)])
        for at in range(CHANGES):
            change(db, at)
            if seals and at == CHANGES // 2:
                time.sleep(1)  # which is more than it takes


def people():
    return [
        {
            "id": i, "name": f"name {i % 50}", "age": None if i % 7 == 0 else 20 + i % 60, "score": i / 8, "active": i % 3 == 0,
            "born": date(1950, 1, 1) + timedelta(days=17 * i), "seen": START + timedelta(minutes=i),
            "bio": f"Person {i} likes {'tea' if i % 4 else 'coffee, and cake'} · {'ж' * (i % 5)}",
        }
        for i in range(PEOPLE)
    ]


def cities():
    return [{"id": f"city {i}", "people": i * 1_000_003, "area": 2.0**i} for i in range(CITIES)]


def friends():
    """Not in the order of their times; some have none."""
    return [
        {"from": i * i % PEOPLE, "to": i * 7 % PEOPLE, "since": None if i % 11 == 5 else 5_000 - i * 3 % 1_000, "n": i, "note": f"n{i % 9}" if i % 2 else None}
        for i in range(4 * PEOPLE)
    ]


def change(db, at):
    """Of everything something is added, changed and removed."""
    i = 13 * at
    db.query("g.V(i).property('age', at).property('bio', bio)", i=i, at=at, bio=f"changed at {at}")
    db.query("g.V(i).properties('score').drop()", i=i + 1)
    db.query("g.V(i).drop()", i=i + 2)
    db.query("g.addV('person').property(T.id, i).property('name', name).property('tall', true)", i=10_000 + at, name=f"name {at}")
    db.query("g.V(a).addE('knows').to(__.V(b)).property('since', t).property('n', n)", a=i, b=10_000 + at, t=4_500 + at, n=10_000 + at)
    db.query("g.V(i).outE('knows').order().by('n').limit(1).drop()", i=i + 3)
    db.query("g.V(i).outE('knows').property('note', 'changed')", i=i + 4)


KEYS = 150


def make_wide(path):
    """Vertices and edges that have a few each of many keys: some in a segment, some in tables."""
    with mg.open(path) as db:
        db.query("g.addV('thing').property(T.id, 'hub')")
        for at in range(60):
            add_wide(db, at)
        db.compact()
        for at in range(60, 90):
            add_wide(db, at)
        change_wide(db, 0)


def add_wide(db, at):
    keys = "".join(f".property('k{(at * 7 + n) % KEYS}', {n})" for n in range(6))
    db.query(f"g.addV('thing').property(T.id, 't{at}'){keys}.as('t').V('hub').addE('has').to('t'){keys}")


def change_wide(db, at):
    db.query("g.V(t).property('k1', 'changed').property('k149', at)", t=f"t{at + 3}", at=at)
    db.query("g.V(t).properties('k14', 'k15').drop()", t=f"t{at + 2}")
    db.query("g.V(t).drop()", t=f"t{at + 5}")
    db.query("g.V(t).inE().property('k77', at)", t=f"t{at + 61}", at=at)


def seen_wide(db):
    things = sorted(repr((v.id, sorted(v.properties.items(), key=str))) for v in db.query("g.V()"))
    return {"things": things, "edges": sorted(map(repr, db.query("g.E().order().by(inV().id()).valueMap()").to_list())),
            "maps": sorted(map(repr, db.query("g.V().valueMap()").to_list()))}


def seen(db):
    """All there is, by several ways, in an order that does not hang on how it is stored. Ids of edges are a version's own, and whether an id
    is a property, too."""
    ask = lambda text, **params: db.query(text, params).to_list()
    some = range(0, PEOPLE, 7)
    return {
        "vertices": sorted(repr((v.id, v.label, sorted((k, w) for k, w in v.properties.items() if k != "id"))) for v in ask("g.V()")),
        "edges": sorted(map(repr, ask("g.E().project('out', 'in', 'label', 'of').by(outV().id()).by(inV().id()).by(label()).by(valueMap())"))),
        "in order": [ask("g.V(i).bothE('knows').values('n')", i=i) for i in some],
        "window": [ask("g.V(i).outE('knows').has('since', between(4300, 4700)).values('n')", i=i) for i in some],
        "counts": ask("g.V().groupCount().by(bothE('knows').count())"),
        "by name": [sorted(map(str, ask("g.V().has('person', 'name', name).id()", name=f"name {k}"))) for k in range(50)],
        "texts": sorted(map(str, ask("g.V().has('bio', containing('cake')).id()"))),
        "ages": ask("g.V().hasLabel('person').groupCount().by('age')"),
        "sums": ask("g.V().hasLabel('city').values('area').sum()"),
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        (make_wide if "wide" in sys.argv[2:] else make)(Path(folder) / "graph.mg")
        with tarfile.open(Path(__file__).parent / f"{sys.argv[1]}.tar.xz", "w:xz") as archive:
            archive.add(Path(folder) / "graph.mg", "graph.mg", filter=lambda file: None if "lock" in file.name else file)
