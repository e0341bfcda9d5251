"""The columns of a result depend on the query and the schema, never on the rows."""

import pytest

import mangrovedb as mg

QUERIES = {
    "g.V().choose(has('age'), project('x').by('name'), project('y').by('name'))": ["x", "y"],
    "g.V().union(project('x').by('name'), project('y').by('name'))": ["x", "y"],
    "g.V().coalesce(project('x').by('name'), constant(1))": ["value"],
    "g.V().union(identity(), outE())": ["id", "label", "outV", "inV", "name", "age", "since"],
    "g.V().union(outE('knows'), outE('likes'))": ["id", "label", "outV", "inV", "since"],
    "g.V().out('knows').hasLabel('pet')": ["id", "label", "name"],
    "g.V().index()": ["value"],
    "g.V().group('m').by('name').by(count()).cap('m')": ["key", "value"],
    "g.V().group().by('name').by(count()).order(local).by(values, desc)": ["key", "value"],
    "g.V().local(out().groupCount().by('name'))": ["value"],
    "g.V().group().by('name').unfold().select(values).unfold()": ["id", "label", "name", "age"],
    "g.V().properties().valueMap()": ["value"],
    "g.V().properties().element()": ["id", "label", "name", "age"],
    "g.V().as('a').out().as('b').select('a', 'b')": ["a", "b"],
    "g.V().project('v').by(identity()).select('v')": ["id", "label", "name", "age"],
    "g.V().match(__.as('a').out('knows').as('b'), __.as('b').values('name').as('n'))": ["a", "b", "n"],
    "g.V().out().path().unfold()": ["id", "label", "name", "age"],
    "g.V().aggregate('all').cap('all')": ["value"],
    "g.V().repeat(out()).times(2).emit().valueMap('name')": ["name"],
    "g.V().hasLabel('pet').path().unfold()": ["id", "label", "name"],
    "g.inject([a: 1, b: 2])": ["a", "b"],
    "g.inject(1)": ["value"],
    "g.call('mangrove.indexes')": ["kind", "label", "key"],
    "g.call('--list').with('verbose')": ["name", "description", "params"],
}


@pytest.fixture(scope="module")
def people():
    with mg.open(":memory:") as db:
        db.query("""
            g.addV('person').property('name', 'ann').property('age', 31).as('a')
             .addV('pet').property('name', 'rex').as('r').addE('likes').from('a').to('r')
             .addE('knows').from('r').to('a').property('since', 2001)
        """)
        db.query("g.V().has('name', 'rex').as('r').addE('knows').to('r')")
        yield db


@pytest.mark.parametrize(("query", "columns"), QUERIES.items())
def test_the_query_determines_the_columns(people, query, columns):
    assert people.query(query).to_arrow().column_names == columns
    for nothing in (f"{query}.limit(0)", query.replace("g.V()", "g.V('nobody')")):
        assert people.query(nothing).to_arrow().column_names == columns


def test_maps_of_several_branches_share_their_columns(people):
    result = people.query("g.V().choose(has('age'), project('x').by('name'), project('y').by('name'))")
    assert sorted(map(str, result.to_dicts())) == ["{'x': 'ann', 'y': None}", "{'x': None, 'y': 'rex'}"]


def test_the_ids_of_labels_keyed_by_id_are_shown_once():
    with mg.open(":memory:") as db:
        db.declare_key("keyed", "id")
        db.query("g.addV('keyed').property(id, 'k').addV('other')")
        assert db.query("g.V()").to_arrow().column_names == ["id", "label"]
        assert db.query("g.V('nobody')").to_arrow().column_names == ["id", "label"]
        assert db.query("g.V().elementMap()").to_dicts()[0]["id"] == "k"


def test_a_procedure_names_its_columns(people):
    def double(params, value):
        yield {"half": 1, "whole": 2}

    people.register_procedure("plain", double)
    assert people.query("g.call('plain')").to_arrow().column_names == ["value"]
    people.register_procedure("named", double, columns=["half", "whole"])
    assert people.query("g.call('named')").to_dicts() == [{"half": 1, "whole": 2}]
    assert people.query("g.call('named').limit(0)").to_arrow().column_names == ["half", "whole"]
    people.register_procedure("wrong", double, columns=["half"])
    with pytest.raises(mg.QueryError, match="the key `whole`, which is not one of its columns"):
        people.query("g.call('wrong')")
    people.register_procedure("no_map", lambda params, value: [1], columns=["half"])
    with pytest.raises(mg.QueryError, match="must give maps"):
        people.query("g.call('no_map')")


def test_lists_of_ids_stay_beside_the_ids():
    with mg.open(":memory:") as db:
        db.declare_key("keyed", "id")
        db.query("g.addV('keyed').property(id, 'k')")
        assert db.query("g.V().valueMap(true)").to_dicts() == [{"T.id": "k", "label": "keyed", "id": ["k"]}]


def test_a_vertex_with_two_further_labels_keeps_its_columns():
    with mg.open(":memory:") as db:
        db.query("g.addV('stone').property('weight', 5).addLabel('place', 'thing')")
        for query in ("g.V().hasLabel('place').hasLabel('thing')", "g.V().hasLabel('thing').hasLabel('place')"):
            assert db.query(query).to_arrow().column_names == ["id", "label", "weight"], query
