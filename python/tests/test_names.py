"""Many names: what an element has is found, and stays found, however many keys and labels there are."""

import json

import pytest

import mangrovedb as mg

MANY = 60_000


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def keys_of(at):
    """A hundred keys that nothing else has, and one that all have."""
    return {"at": at, **{f"k{n}": n for n in range(100 * at, 100 * at + 100)}}


@pytest.fixture(scope="module")
def many_keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    rows = ({"id": f"v{at}", "label": "thing", **keys_of(at)} for at in range(MANY // 100))
    with mg.open(folder / "keys.mg") as db:
        db.load(write_lines(folder / "rows.jsonl", rows))
        yield db


def properties(db, vertex):
    return {p.key: p.value for p in db.query("g.V(v).properties()", v=vertex) if p.key != "id"}


def test_what_an_element_has_of_many_keys(many_keys):
    for at in (0, 1, 127, 128, 599):
        assert properties(many_keys, f"v{at}") == keys_of(at)
        [vertex] = many_keys.query("g.V(v)", v=f"v{at}").to_list()
        assert dict(vertex.properties.items()) == {"id": f"v{at}", **keys_of(at)}


def test_changes_of_an_element_with_many_keys(many_keys):
    db = many_keys
    db.query("g.V('v7').property('k1', 'one').property('k59999', 'last').property('new', true)")
    db.query("g.V('v7').properties('k700', 'k701').drop()")
    expected = {**keys_of(7), "k1": "one", "k59999": "last", "new": True}
    del expected["k700"], expected["k701"]
    assert properties(db, "v7") == expected
    [made] = db.query("g.addV('thing').property(T.id, 'made').property('k5', 5).property('k30000', 6)").to_list()
    assert dict(made.properties.items()) == {"id": "made", "k5": 5, "k30000": 6}
    db.query("g.V('v8').drop()")
    assert properties(db, "v8") == {} and properties(db, "v9") == keys_of(9)
    db.compact()
    assert properties(db, "v7") == expected and properties(db, "v9") == keys_of(9)
    assert db.check() == []


def test_edges_with_many_keys(tmp_path):
    with mg.open(tmp_path / "edges.mg") as db:
        db.query("g.addV('x').property(T.id, 'a').addV('x').property(T.id, 'b')")
        for at in range(3):
            keys = "".join(f".property('k{n}', {n})" for n in range(50 * at, 50 * at + 50))
            db.query(f"g.V('a').addE('to').to(__.V('b')).property('at', {at}){keys}")
        for _ in range(2):
            [edge] = db.query("g.E().has('at', 1)").to_list()
            assert dict(edge.properties.items()) == {"at": 1, **{f"k{n}": n for n in range(50, 100)}}
            db.compact()


def test_as_many_labels_as_there_can_be(tmp_path):
    rows = ({"id": f"v{at}", "label": f"l{at}", "at": at} for at in range(1 << 16))
    with mg.open(tmp_path / "labels.mg") as db:
        db.load(write_lines(tmp_path / "rows.jsonl", rows))
        assert db.query("g.V('v65535').label()").to_list() == ["l65535"]
        assert db.query("g.V().hasLabel('l40000').values('at')").to_list() == [40_000]
        with pytest.raises(mg.MangroveError, match="65536"):
            db.query("g.addV('one more')")
        assert db.query("g.V().count()").to_list() == [1 << 16]
        assert db.check() == []


def test_one_key_more_than_there_can_be_is_refused(tmp_path):
    with mg.open(tmp_path / "db") as db:
        db.load(nodes={"thing": write_lines(tmp_path / "n.jsonl", [{"id": 0, **{f"k{n}": n for n in range(65_535)}}])})
        with pytest.raises(mg.MangroveError, match="too many property keys: the limit is 65536"):
            db.query("g.V(0).property('one more', 1)")
        db.query("g.V(0).property('k65534', 1)")
        assert db.query("g.V(0).properties().count()").one() == 65_536
