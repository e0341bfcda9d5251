"""Labels renamed, added and removed; labels and properties that nobody has, dropped."""

import pytest

import mangrovedb as mg


@pytest.mark.parametrize("compact", [False, True])
def test_a_label_is_renamed(db, compact):
    if compact:
        db.compact()
    db.create_index("airport", "code")
    before = db.query("g.V().hasLabel('airport').order().by(id).id()").to_list()
    db.rename_label("airport", "aerodrome")
    db.rename_label("route", "flies_to")
    assert db.query("g.V().hasLabel('aerodrome').order().by(id).id()").to_list() == before
    assert db.query("g.V('AUS').out('flies_to').count()").one() == 2
    assert db.query("g.V('AUS')").one().label == "aerodrome"
    assert db.explain("g.V().has('aerodrome', 'code', 'AUS')").to_dict()["steps"][0]["access"] == "index on aerodrome.code"
    assert "airport" not in db.schema()["vertices"] and db.schema()["edges"]["flies_to"]["ends"] == [("aerodrome", "aerodrome")]
    with pytest.warns(mg.QueryWarning, match="airport"):
        assert db.query("g.V().hasLabel('airport')").to_list() == []
    with pytest.raises(mg.MangroveError, match="there is already a label country of vertices"):
        db.rename_label("aerodrome", "country")
    with pytest.raises(mg.MangroveError, match='no label named "aerodrom"; did you mean "aerodrome"'):
        db.rename_label("aerodrom", "x")
    path = db.path
    db.close()
    with mg.open(path) as again:
        assert again.query("g.V().hasLabel('aerodrome').count()").one() == len(before) and again.check() == []


def test_vertices_get_and_lose_further_labels(db):
    assert db.query("g.V('AUS', 'DFW').addLabel('hub', 'texan').count()").one() == 2
    assert db.query("g.V('AUS').addLabel('hub').labels()").to_list() == ["airport", "hub", "texan"]
    assert db.query("g.V().hasLabel('texan').id().order()").to_list() == ["AUS", "DFW"]
    assert db.query("g.V('AUS').dropLabel('texan', 'nobody has it').labels()").to_list() == ["airport", "hub"]
    assert db.query("g.V().hasLabel('texan').id()").to_list() == ["DFW"]
    assert db.query("g.E().limit(1).labels()").to_list() == ["route"]
    with pytest.raises(mg.QueryError, match="cannot drop `airport`: it is the label the vertex was added with"):
        db.query("g.V('AUS').dropLabel('airport')")
    with pytest.raises(mg.QueryError, match="addLabel.*vertices"):
        db.query("g.E().limit(1).addLabel('x')")
    with pytest.raises(mg.QueryError, match="at least one label"):
        db.query("g.V().addLabel()")
    assert db.check() == []
    with db.transaction() as tx:
        tx.query("g.V('LHR').addLabel('hub')")
        tx.rollback()
    assert db.query("g.V().hasLabel('hub').count()").one() == 2


def test_what_is_unused_is_dropped(db):
    db.query("g.addV('draft').property('text', 'x').addE('of').to(V('AUS')).property('w', 1)")
    with pytest.raises(mg.MangroveError, match="cannot drop the label draft while it is in use: the vertex #2:0 has it"):
        db.drop_label("draft")
    with pytest.raises(mg.MangroveError, match="cannot drop draft.text while it is in use: the vertex #2:0 has it"):
        db.drop_property("draft", "text")
    assert db.drop_unused() == []
    db.query("g.V().hasLabel('draft').drop()")
    db.query("g.V().hasLabel('airport').properties('elev').drop()")
    db.declare_property("plan", "at", "datetime")
    assert sorted(db.drop_unused()) == ["airport.elev", "draft", "of"]
    schema = db.schema()
    assert "draft" not in schema["vertices"] and "of" not in schema["edges"] and "draft" not in db.stats()["vertices"]
    assert "elev" not in schema["vertices"]["airport"]["properties"] and "plan" in schema["vertices"], "what is declared stays"
    assert "elev" not in db.query("g.V().hasLabel('airport')").to_arrow().column_names
    with pytest.warns(mg.QueryWarning, match="elev"):
        db.query("g.V().has('elev', 1)")
    db.drop_label("plan")
    assert "plan" not in db.schema()["vertices"]
    db.query("g.addV('draft').property('elev', 'text now')")
    assert db.schema()["vertices"]["draft"]["properties"]["elev"]["types"] == ["string"]
    db.compact()
    assert db.check() == [] and db.query("g.V().hasLabel('draft').values('elev')").one() == "text now"
    db.export("out")
    with mg.open(":memory:") as copy:
        copy.load("out")
        assert copy.schema()["vertices"].keys() == db.schema()["vertices"].keys()
