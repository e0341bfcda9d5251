"""Asks a server with the driver for Python: run.py ADDRESS QUERIES. Prints the answers as JSON."""

import json
import sys
from enum import Enum
from pathlib import Path

from gremlin_python.driver.client import Client
from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection
from gremlin_python.process.anonymous_traversal import traversal
from gremlin_python.process.graph_traversal import __
from gremlin_python.process.traversal import Order, P, T, TextP
from gremlin_python.structure.graph import Edge, Path as Walk, Vertex, VertexProperty

try:
    from gremlin_python.driver.protocol import GremlinServerError
except ImportError:
    # TinkerPop 4 has no protocol but HTTP.
    from gremlin_python.driver.connection import GremlinServerError


def plain(value):
    """A value as JSON. Objects of one key say what is no value of JSON."""
    match value:
        case Vertex():
            return {"vertex": value.id}
        case Edge():
            return {"edge": value.id}
        case VertexProperty():
            return {"property": [value.key, plain(value.value)]}
        case Walk():
            return {"path": [plain(each) for each in value.objects]}
        case dict():
            return {"map": [[plain(key), plain(each)] for key, each in value.items()]}
        case set():
            return {"set": [plain(each) for each in value]}
        case list():
            return [plain(each) for each in value]
        case Enum():
            return value.name
    return value


def texts(client, queries):
    return {query["name"]: plain(client.submit(query["text"], query.get("bindings")).all().result()) for query in queries}


def traversals(g):
    """Queries of the list, written in this language."""
    airports = g.V().has_label("airport")
    written = {
        "and or": airports.clone()
        .and_(__.has("runways", P.gt(3)), __.or_(__.has("elev", P.lt(500)), __.has("longest", P.gt(12000))))
        .values("code"),
        "coalesce": g.V()
        .has("airport", "city", TextP.starting_with("Kings "))
        .order()
        .by("code")
        .coalesce(__.out("route").values("code").order().limit(1), __.constant("none")),
        "element map": g.V("SAU").element_map(),
        "group": airports.clone().group().by("country").by(__.values("code").order().fold()),
        "order": airports.clone().order().by("runways", Order.desc).by("code").range_(5, 15).values("code"),
        "path of elements": g.V("SAU").out_e("route").in_v().path(),
        "until": g.V("SAU")
        .repeat(__.out("route").simple_path())
        .until(__.or_(__.has("code", "KDA"), __.loops().is_(3)))
        .has("code", "KDA")
        .path()
        .by("code"),
        "where": g.V("SAU").as_("a").out("route").as_("b").where("a", P.lt("b")).by("elev").values("code"),
    }
    return {name: plain(steps.to_list()) for name, steps in written.items()}


def transaction(g, name, end):
    """How many see a new vertex: the transaction, others meanwhile, and others after its end."""
    tx = g.tx()
    within = tx.begin()
    within.add_v("airport").property(T.id, name).iterate()
    seen = [source.V(name).count().next() for source in (within, g)]
    end(tx)
    return [*seen, g.V(name).count().next()]


def status(client, query):
    try:
        client.submit(query).all().result()
    except GremlinServerError as error:
        return error.status_code


address, queries = sys.argv[1:]
client, connection = Client(address, "g"), DriverRemoteConnection(address, "g")
g = traversal().with_(connection)
answers = {
    "texts": texts(client, json.loads(Path(queries).read_text(encoding="utf-8"))),
    "traversals": traversals(g),
    "committed": transaction(g, "kept", lambda tx: tx.commit()),
    "rolled back": transaction(g, "undone", lambda tx: tx.rollback()),
    "codes": [status(client, query) for query in ("g.V().fail('no luck')", "g.V().nonsense()")],
}
client.close()
connection.close()
print(json.dumps(answers))
