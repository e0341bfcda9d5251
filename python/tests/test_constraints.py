"""Unique and required properties: declared, kept by every way to write, and told of by loads with their rows."""

import pytest

import mangrovedb as mg

USERS = [{"id": n, "email": f"u{n}@x.org"} for n in range(5)]


@pytest.fixture
def users(empty):
    empty.load(nodes={"user": USERS})
    empty.create_index("user", "email", unique=True)
    return empty


def emails(db):
    return db.query("g.V().hasLabel('user').order().by(id).values('email')").to_list()


def test_a_unique_property_is_kept_by_queries(users):
    assert not users.create_index("user", "email", unique=True)
    for query in (
        "g.addV('user').property('email', 'u1@x.org')",
        "g.V(2).property('email', 'u1@x.org')",
        "g.mergeV([(T.label): 'user', (T.id): 9]).option(onCreate, ['email': 'u1@x.org'])",
    ):
        with pytest.raises(mg.ConstraintError, match="user.email must be unique, but the vertex 1 already has the value u1@x.org"):
            users.query(query)
    assert emails(users) == [user["email"] for user in USERS]
    users.query("g.V(1).property('email', 'new@x.org')")
    users.query("g.V(2).property('email', 'u1@x.org')")
    with users.transaction() as tx:
        tx.query("g.V(2).drop()")
        tx.query("g.addV('user').property(id, 7).property('email', 'u1@x.org')")
    assert users.check() == []
    assert users.schema()["vertices"]["user"]["properties"]["email"]["unique"]


def test_what_repeats_is_named(empty):
    empty.load(nodes={"user": [{"id": n, "email": f"u{n % 3}@x.org", "name": "same"} for n in range(6)]})
    with pytest.raises(mg.MangroveError, match="the vertices 0 and 3 both have u0@x.org|and 2 other values repeat"):
        empty.create_index("user", "email", unique=True)
    with pytest.raises(mg.MangroveError, match="user.name cannot be unique"):
        empty.declare_property("user", "name", unique=True)
    assert empty.schema()["indexes"] == []


def test_a_load_names_the_rows_that_repeat(users, tmp_path):
    (tmp_path / "more.csv").write_text("id,email\n10,new@x.org\n11,u3@x.org\n12,new@x.org\n13,other@x.org\n")
    with pytest.raises(mg.LoadError) as caught:
        users.load(nodes={"user": "more.csv"})
    assert "more.csv:3" in str(caught.value) and "`email` must be unique, but the vertex 3 already has this value" in str(caught.value)
    assert len(emails(users)) == 5
    report = users.load(nodes={"user": "more.csv"}, on_error="skip", rejects="rejects.csv")
    assert report["vertices"] == {"user": 2} and report["rejects"] == 2
    assert "`email` must be unique, but an earlier row already has this value" in (tmp_path / "rejects.csv").read_text()
    assert emails(users)[5:] == ["new@x.org", "other@x.org"]


def test_an_update_may_change_unique_values_about(users):
    swapped = [{"id": 0, "email": "u1@x.org"}, {"id": 1, "email": "u0@x.org"}]
    users.load(nodes={"user": swapped}, on_exists="update")
    assert emails(users)[:2] == ["u1@x.org", "u0@x.org"]
    with pytest.raises(mg.LoadError, match="`email` must be unique, but the vertex 4 already has this value"):
        users.load(nodes={"user": [{"id": 0, "email": "u4@x.org"}]}, on_exists="update")
    report = users.load(
        nodes={"user": [{"id": 0, "email": "u4@x.org"}, {"id": 1, "email": "mine"}]}, on_exists="update", on_error="skip"
    )
    assert report["merged_vertices"]["updated"] == 1 and emails(users)[:2] == ["u1@x.org", "mine"]


def test_ingest_keeps_unique_properties(users):
    with pytest.raises(mg.LoadError, match="must be unique"):
        with users.ingest() as w:
            w.add_vertices("user", [{"id": 20, "email": "a"}, {"id": 21, "email": "a"}])
    assert len(emails(users)) == 5


def test_constraints_are_declared_before_the_first_data(empty):
    empty.declare_property("user", "email", "string", unique=True, required=True)
    large = [{"id": n, "email": f"{n}@x.org", "text": "x" * 100} for n in range(50_000)]
    with pytest.raises(mg.LoadError, match="`email` must be unique, but an earlier row already has this value"):
        empty.load(nodes={"user": [*large, {"id": 50_000, "email": "7@x.org"}]}, compact=True)
    with pytest.raises(mg.LoadError, match="no value for `email`, which is required"):
        empty.load(nodes={"user": [*large, {"id": 50_000, "text": ""}]}, compact=True)
    assert empty.query("g.V().count()").one() == 0
    empty.load(nodes={"user": large}, compact=True)
    with pytest.raises(mg.ConstraintError, match="must be unique"):
        empty.query("g.addV('user').property('email', '49999@x.org')")
    assert empty.check() == []


def test_a_required_property_is_there_when_a_query_ends(empty):
    empty.declare_property("user", "email", "string", required=True)
    with pytest.raises(mg.ConstraintError, match="user.email is required, but the vertex .* has no value for it"):
        empty.query("g.addV('user').property(id, 'a')")
    empty.query("g.addV('user').property(id, 'a').property('email', 'a@x.org')")
    with pytest.raises(mg.ConstraintError, match="is required"):
        with empty.transaction() as tx:
            tx.query("g.addV('user').property(id, 'b')")
    with empty.transaction() as tx:
        tx.query("g.addV('user').property(id, 'b')")
        tx.query("g.V('b').property('email', 'b@x.org')")
    with pytest.raises(mg.ConstraintError, match="is required"):
        empty.query("g.V('b').properties('email').drop()")
    empty.query("g.V('b').drop()")
    assert empty.query("g.V().count()").one() == 1
    assert empty.schema()["vertices"]["user"]["properties"]["email"]["required"]
    empty.declare_property("user", "email", "string")
    with pytest.raises(mg.ConstraintError, match="is required"):
        empty.query("g.V('a').properties('email').drop()")
    empty.declare_property("user", "email", "string", required=False)
    empty.query("g.V('a').properties('email').drop()")


def test_what_is_missing_cannot_be_required(users):
    users.query("g.addV('user').property(id, 'none')")
    with pytest.raises(mg.MangroveError, match="user.email is required, but the vertex none has no value for it"):
        users.declare_property("user", "email", required=True)


def test_properties_of_edges_can_be_required(users):
    users.declare_property("follows", "since", "int64", kind="edge", required=True)
    with pytest.raises(mg.ConstraintError, match="follows.since is required, but the edge"):
        users.query("g.V(0).addE('follows').to(__.V(1))")
    users.query("g.V(0).addE('follows').to(__.V(1)).property('since', 5L)")
    with pytest.raises(mg.LoadError, match="`since`, which is required"):
        users.load(edges={("user", "follows", "user"): [{"from": 1, "to": 2, "since": 4}, {"from": 1, "to": 3}]})
    assert users.query("g.E().count()").one() == 1


def test_constraints_outlive_the_process(users, tmp_path):
    users.declare_property("user", "email", "string", unique=True, required=True)
    users.compact()
    users.close()
    with mg.open(users.path) as again:
        with pytest.raises(mg.ConstraintError, match="must be unique"):
            again.query("g.V(0).property('email', 'u1@x.org')")
        with pytest.raises(mg.ConstraintError, match="is required"):
            again.query("g.V(0).properties('email').drop()")
        again.backup(tmp_path / "copy.mg")
    with mg.open(tmp_path / "copy.mg") as copy:
        with pytest.raises(mg.ConstraintError, match="is required"):
            copy.query("g.addV('user')")
        assert copy.drop_index("user", "email")
        copy.query("g.V(0).property('email', 'u1@x.org')")


def test_a_row_that_is_rejected_gives_its_values_back(users):
    users.declare_property("user", "name", required=False)
    rows = [{"id": 0, "email": "u4@x.org"}, {"id": 1, "email": "u0@x.org"}, {"id": 2, "email": "2"}]  # the first is refused, so the second is too
    report = users.load(nodes={"user": rows}, on_exists="update", on_error="skip")
    assert report["rejects"] == 2 and emails(users) == ["u0@x.org", "u1@x.org", "2", "u3@x.org", "u4@x.org"]
    rows = [{"id": 0, "email": "u1@x.org"}, {"id": 0, "email": "u4@x.org"}, {"id": 3, "email": "3"}]  # neither the last nor the first can be
    report = users.load(nodes={"user": rows}, on_exists="update", on_error="skip")
    assert report["rejects"] == 2 and emails(users) == ["u0@x.org", "u1@x.org", "2", "3", "u4@x.org"]


def test_a_row_rejected_for_another_reason_claims_nothing(empty):
    empty.declare_property("user", "email", unique=True)
    empty.declare_property("user", "nick", unique=True)
    empty.declare_property("user", "name", required=True)
    rows = [
        {"id": 1, "email": "x", "nick": "a", "name": None},
        {"id": 2, "email": "x", "nick": "b", "name": "two"},
        {"id": 3, "email": "y", "nick": "b", "name": "three"},
        {"id": 4, "email": "y", "nick": "c", "name": "four"},
    ]
    report = empty.load(nodes={"user": rows}, on_error="skip")
    assert report["rejects"] == 2
    assert sorted(empty.query("g.V().id()")) == [2, 4]
    replaced = [{"id": 2, "email": "z"}, {"id": 4, "email": "w", "name": "FOUR"}]
    report = empty.load(nodes={"user": replaced}, on_exists="replace", on_error="skip")
    assert report["rejects"] == 1 and empty.query("g.V(4).values('name')").one() == "FOUR"
    assert empty.query("g.V(2).values('name')").one() == "two"


def test_null_is_no_value_of_a_required_property(empty):
    empty.declare_property("r", "k", "string", required=True)
    for query in (
        "g.addV('r').property('k', x)",
        "g.mergeV([(T.label): 'r', (T.id): 1]).option(onCreate, ['k': x])",
        "g.addV('r').property('k', 'a').property(single, 'k', x)",
    ):
        with pytest.raises(mg.ConstraintError, match="r.k is required"):
            empty.query(query, x=None)
    assert empty.query("g.V().count()").one() == 0
    empty.query("g.addV('s').property('k', x)", x=None)
    with pytest.raises(mg.ConstraintError, match="s.k is required, but the vertex"):
        empty.declare_property("s", "k", required=True)
