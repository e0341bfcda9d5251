"""Results of queries over a graph on nodes, which come over Arrow Flight shard by shard."""

import json
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pyarrow as pa
import pytest
from served import users
from test_cluster import brokers, graph, log  # noqa: F401
from test_serve_flight import flight, flying, ticket

import mangrovedb as mg

SHARDS = 4
PEOPLE = 400
QUERIES = [
    ("g.V().hasLabel('person').values('age')", {}),
    ("g.V().has('person', 'age', gt(low)).project('id', 'friends').by(id).by(out('knows').count())", {"low": 60}),
    ("g.V().has('person', 'age', 7).out('knows').id()", {}),
    ("g.V().out('knows').has('age', lt(30)).out('knows').id()", {}),
    ("g.E().hasLabel('knows').has('since', gt(2010)).inV().values('age')", {}),
    ("g.V().hasLabel('nobody').id()", {}),
]


def described(gremlin, **more):
    return flight.FlightDescriptor.for_command(json.dumps({"gremlin": gremlin, **more}))


def rows(tables):
    """The rows of some tables, without order."""
    return sorted(json.dumps(row, sort_keys=True) for table in tables for row in table.to_pylist())


def together(client, info, options=None):
    """The rows of all endpoints, which are read at the same time."""
    assert all(not endpoint.locations for endpoint in info.endpoints), "they are at the same server"
    with ThreadPoolExecutor(len(info.endpoints)) as pool:
        return rows(pool.map(lambda endpoint: client.do_get(endpoint.ticket, options).read_all(), info.endpoints))


def people(db):
    with db.ingest() as w:
        w.add_vertices("person", {"~id": list(range(PEOPLE)), "age": [at * 7 % 97 for at in range(PEOPLE)]})
        edges = [(at, at * step % PEOPLE, 2000 + at % 20) for at in range(PEOPLE) for step in (3, 5, 11)]
        w.add_edges("knows", edges, columns=["from", "to", "since"])


@contextmanager
def writing(address):
    """Somebody adds pairs of vertices meanwhile, each pair in one transaction."""
    stopped, failed = threading.Event(), []

    def write():
        db = mg.connect(address)
        number = 0
        try:
            while not stopped.is_set():
                number += 1
                db.query("g.addV('pair').property('n', n).addV('pair').property('n', n)", {"n": number})
                db.query("g.addV('person').property('age', 7).as('a').V(1).addE('knows').from('a').property('since', 2015)")
        except mg.MangroveError as error:
            failed.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        stopped.set()
        writer.join()
    assert failed == []


def caught_up(client, db, mark):
    """Waits until the server reads all that was written here."""
    db.query("g.addV('mark').property('n', n)", {"n": mark})
    deadline = time.monotonic() + 60
    while not client.do_get(ticket("g.V().has('mark', 'n', n).id()", parameters={"n": mark})).read_all().num_rows:
        assert time.monotonic() < deadline, "the server does not read what was written"
        time.sleep(0.05)


def test_the_shards_of_a_query_make_the_whole_while_others_write(graph):
    db = mg.connect(graph.address)
    people(db)
    with flying(graph.address) as (client, _, _):
        for indexed in (False, True):
            if indexed:
                assert db.create_index("person", "age")
            caught_up(client, db, int(indexed))
            split = []
            for gremlin, parameters in QUERIES:
                info = client.get_flight_info(described(gremlin, parameters=parameters))
                said = json.loads(info.app_metadata)
                assert len(info.endpoints) == said["shards"] == SHARDS and said["at"]
                split.append((info, rows([client.do_get(ticket(gremlin, parameters=parameters)).read_all()])))
                assert together(client, info) == split[-1][1], gremlin
                if indexed or "nobody" in gremlin:
                    continue
                each = [client.do_get(endpoint.ticket).read_all().num_rows for endpoint in info.endpoints]
                assert max(each) < sum(each), "no shard has all of them"
            with writing(graph.address):
                for info, expected in split:
                    assert together(client, info) == expected, "others write after the commit that the tickets name"
                db.query("g.V().hasLabel('person').has('age', 96).drop()")
            people_left = db.query("g.V().hasLabel('person').count()").one()
            assert people_left > PEOPLE - 10


def test_all_endpoints_are_of_one_commit(graph):
    db = mg.connect(graph.address)
    people(db)
    with flying(graph.address) as (client, _, _), writing(graph.address):
        seen, deadline = 0, time.monotonic() + 60
        while seen < 10 and time.monotonic() < deadline:
            numbers = Counter(together(client, client.get_flight_info(described("g.V().hasLabel('pair').values('n')"))))
            assert set(numbers.values()) <= {2}, "half of a transaction"
            seen += bool(numbers)
        assert seen == 10


def test_what_cannot_be_split_comes_from_one_endpoint(graph):
    people(mg.connect(graph.address))
    with flying(graph.address) as (client, _, _):
        for gremlin, why in [
            ("g.V().hasLabel('person').order().by('age').limit(3).values('age')", "together"),
            ("g.V().count()", "together"),
            ("g.V(1).out('knows').id()", "by id"),
            ("g.addV('person').property('age', 1).values('age')", "change the graph"),
        ]:
            info = client.get_flight_info(described(gremlin, database="g"))
            assert len(info.endpoints) == 1 and why in json.loads(info.app_metadata)["whole"]
            assert client.do_get(info.endpoints[0].ticket).read_all().num_rows > 0


def test_a_wrong_ticket_says_what_is_wrong(graph):
    db = mg.connect(graph.address)
    people(db)
    with flying(graph.address) as (client, _, _):
        at = json.loads(client.get_flight_info(described("g.V().id()")).app_metadata)["at"]
        of_graph, number = at.split("-")
        for more, match in [
            ({"shard": 1}, "take both"),
            ({"shard": -1, "at": at}, "take both"),
            ({"shard": 1, "at": "17"}, "is no bookmark"),
            ({"shard": SHARDS, "at": at}, f"no shard {SHARDS}"),
            ({"shard": 1, "at": f"{'0' * 16}-{number}"}, "another graph"),
        ]:
            with pytest.raises(pa.ArrowException, match=match):
                client.do_get(ticket("g.V().id()", **more)).read_all()
        with pytest.raises(pa.ArrowException, match="as a whole"):
            client.do_get(ticket("g.V().out().dedup()", shard=0, at=at)).read_all()
        # Nobody keeps an old commit for long.
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            db.query("g.addV('later')")
            try:
                client.do_get(ticket("g.V().id()", shard=0, at=f"{of_graph}-0")).read_all()
            except pa.ArrowException as error:
                assert "is gone: it is kept for ten minutes at most. Split the query again" in str(error)
                break
            time.sleep(0.1)
        else:
            raise AssertionError("commit 0 is still there")
        assert client.do_get(ticket("g.V().hasLabel('person').id()", shard=0, at=at)).read_all().num_rows > 0


def test_a_ticket_gives_no_rights(graph, tmp_path):
    people(mg.connect(graph.address))
    file = tmp_path / "users.json"
    assert users(file, "add", "eve", "--role", "read", password="secret of eve").returncode == 0
    with flying(graph.address, "--users", file) as (client, _, _):
        eve = flight.FlightCallOptions(headers=[client.authenticate_basic_token("eve", "secret of eve")])
        info = client.get_flight_info(described("g.V().hasLabel('person').id()"), eve)
        assert len(together(client, info, eve)) == PEOPLE
        with pytest.raises(flight.FlightUnauthenticatedError):
            client.do_get(info.endpoints[0].ticket).read_all()
        at = json.loads(info.app_metadata)["at"]
        with pytest.raises(flight.FlightUnauthorizedError, match="role `write`"):
            client.do_get(ticket("g.addV('person')", shard=0, at=at), eve).read_all()
        with pytest.raises(flight.FlightUnauthorizedError, match="role `write`"):
            client.get_flight_info(described("g.addV('person')"), eve)
