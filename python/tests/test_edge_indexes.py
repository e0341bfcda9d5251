"""Indexes of edges' properties: made, kept by every way to write, used by queries, and told of."""

import pytest

import mangrovedb as mg

FOLLOWS = [{"src": n, "dst": (n * 7 + 1) % 100, "since": 2000 + n % 20, "code": f"c{n}"} for n in range(100)]


@pytest.fixture
def users(empty):
    empty.load(nodes={"user": [{"id": n} for n in range(100)]}, edges={("user", "follows", "user"): FOLLOWS})
    return empty


def access(db, query):
    return db.explain(query).to_dict()["steps"][0]["access"]


def test_a_query_uses_the_index(users):
    query = "g.E().has('follows', 'since', 2003)"
    step = users.explain(query).to_dict()["steps"][0]
    assert step["access"] == "SCAN of 100 edges labelled follows"
    assert "create_index('follows', 'since')" in step["hint"]
    before = users.query(query + ".id()").to_list()
    assert users.create_index("follows", "since")
    assert not users.create_index("follows", "since", kind="edge")
    assert access(users, query) == access(users, "g.E().has('since', 2003)") == "index on follows.since"
    assert users.query(query + ".id()").to_list() == before and len(before) == 5
    assert users.query("g.E().has('follows', 'since', between(2018, 2020)).count()").one() == 10
    assert users.query("g.E().has('since', within(2001, 2002)).has('code', 'c21').outV().id()").to_list() == [21]
    assert users.query("g.mergeE([(T.label): 'follows', 'since': 2003]).count()").one() == 5
    assert users.drop_index("follows", "since") and not users.drop_index("follows", "since")
    assert access(users, query).startswith("SCAN")


@pytest.mark.parametrize("compact", [False, True])
def test_the_index_is_kept_in_step(users, compact):
    users.create_index("follows", "since")
    if compact:
        users.compact()
    users.query("g.V(3).outE('follows').property('since', 1999)")
    users.query("g.V(23).outE('follows').drop()")
    users.query("g.V(43).drop()")
    users.query("g.V(1).addE('follows').to(V(2)).property('since', 2003)")
    users.load(edges={("user", "follows", "user"): [{"src": 5, "dst": 36, "since": 2003}]}, on_duplicate="update")
    ends = users.query("g.E().has('follows', 'since', 2003).outV().id().order()").to_list()
    assert ends == [1, 5, 63, 83]
    assert users.query("g.E().has('since', 1999).inV().id()").to_list() == [22]
    assert users.check() == []
    path = users.path
    users.close()
    with mg.open(path, read_only=True) as db:
        assert db.query("g.E().has('follows', 'since', 2003).outV().id().order()").to_list() == ends
        assert access(db, "g.E().has('follows', 'since', 2003)") == "index on follows.since"


def test_a_unique_property_of_edges(users, tmp_path):
    assert users.create_index("follows", "code", unique=True)
    properties = users.schema()["edges"]["follows"]["properties"]
    assert properties["code"]["unique"] and properties["code"]["indexed"] and not properties["since"]["indexed"]
    with pytest.raises(mg.ConstraintError, match="follows.code must be unique, but the edge #0:1 already has the value c1"):
        users.query("g.V(2).addE('follows').to(V(3)).property('code', 'c1')")
    with pytest.raises(mg.MangroveError, match="follows.since cannot be unique: the edges #0:[0-9]+ and #0:[0-9]+ both have .* and 19 other values repeat"):
        users.declare_property("follows", "since", kind="edge", unique=True)
    (tmp_path / "more.csv").write_text("src,dst,code\n1,2,x\n2,3,c7\n3,4,x\n4,5,y\n")
    report = users.load(
        edges={("user", "follows", "user"): str(tmp_path / "more.csv")}, on_error="skip", rejects=str(tmp_path / "bad.csv")
    )
    assert report["edges"] == {"follows": 2} and report["rejects"] == 2
    reasons = (tmp_path / "bad.csv").read_text()
    assert "`code` must be unique, but the edge #0:7 already has this value" in reasons
    assert "`code` must be unique, but an earlier row already has this value" in reasons
    rows = [{"src": 0, "dst": 1, "code": "c1"}, {"src": 1, "dst": 8, "code": "c0"}, {"src": 2, "dst": 15, "code": "c3"}]
    report = users.load(edges={("user", "follows", "user"): rows}, on_duplicate="update", on_error="skip")
    assert report["rejects"] == 1, "two edges may change values in one load"
    assert users.query("g.V(0, 1, 2).outE('follows').has('code').values('code')").to_list() == ["c1", "c0", "x", "c2"]
    assert users.check() == []


def test_a_label_of_vertices_and_edges_needs_a_kind(empty):
    empty.query("g.addV('like').property(id, 1).property('at', 1).addE('like').to(V(1)).property('at', 2)")
    with pytest.raises(mg.MangroveError, match="vertices and edges have the label like"):
        empty.create_index("like", "at")
    assert empty.create_index("like", "at", kind="edge")
    assert access(empty, "g.E().has('like', 'at', 2)") == "index on like.at"
    assert access(empty, "g.V().has('like', 'at', 2)").startswith("SCAN")
    assert empty.create_index("like", "at", kind="vertex")
    assert empty.drop_index("like", "at", kind="edge")
    with pytest.raises(mg.MangroveError, match="like"):
        empty.create_index("lik", "at", kind="edge")
    with pytest.raises(ValueError, match="kind"):
        empty.create_index("like", "at", kind="edges")


def test_a_load_makes_it(tmp_path):
    with mg.open(tmp_path / "g.mg") as db:
        db.load(
            nodes={"user": [{"id": n} for n in range(100)]},
            edges={("user", "follows", "user"): FOLLOWS},
            indexes=["follows.since"],
            compact=True,
        )
        assert access(db, "g.E().has('follows', 'since', 2003)") == "index on follows.since"
        assert db.query("g.E().has('follows', 'since', 2003).count()").one() == 5
        rows = db.query("g.call('mangrove.indexes')").to_list()
        assert rows == [{"kind": "edge", "label": "follows", "key": "since"}]
