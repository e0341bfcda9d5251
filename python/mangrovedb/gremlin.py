"""A stock gremlinpython traversal source whose traversals run in this process.

gremlinpython writes a traversal as GraphSON bytecode. This module passes it to the engine, and returns the results as
gremlinpython's own classes. There is no server, and the library is unchanged.
"""

import datetime
from concurrent.futures import Future
from decimal import Decimal

try:
    from gremlin_python.driver.remote_connection import RemoteConnection, RemoteTraversal
    from gremlin_python.process.anonymous_traversal import traversal
    from gremlin_python.process.traversal import Direction, T, Traverser
    from gremlin_python.structure import graph
    from gremlin_python.structure.io.graphsonV3d0 import GraphSONWriter
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"{error}; traversals need gremlinpython: pip install 'mangrovedb[gremlin]'", name=error.name
    ) from None

from . import _mangrove as native
from . import _types


def source(database):
    """The traversal source `g` of a database."""
    return traversal().with_(InProcessConnection(database))


def awaited_source(database):
    """The traversal source `g` of a database whose queries are awaited."""
    return traversal().with_(AwaitedConnection(database))


def bytecode(made):
    """A traversal as GraphSON."""
    return _written(made.bytecode)


def _written(bytecode):
    return GraphSONWriter({datetime.date: _Text("gx:LocalDate"), Decimal: _Text("gx:BigDecimal")}).write_object(bytecode)


class _Text:
    """Writes values of a type that gremlinpython cannot write: as text, with the name of the type."""

    def __init__(self, graphson_type):
        self._type = graphson_type

    def dictify(self, value, _writer):
        return {"@type": self._type, "@value": str(value)}


class InProcessConnection(RemoteConnection):
    """The connection that gremlinpython sends bytecode to: a database. Each traversal is a transaction of its own."""

    def __init__(self, database):
        super().__init__("in-process", "g")
        self._graph = database

    def submit(self, bytecode):
        # Strategies such as with_("evaluationTimeout", …) are inside the bytecode, where the engine reads them.
        results = self._graph.query_bytecode(_written(bytecode))
        return RemoteTraversal(Traverser(stock(result), 1) for result in results)

    def submit_async(self, bytecode):
        future = Future()
        try:
            future.set_result(self.submit(bytecode))
        except Exception as error:  # the code that waits for the future gets it
            future.set_exception(error)
        return future

    def is_closed(self):
        return self._graph.closed

    def close(self):
        """Does nothing. The code that opened the database closes it."""

    def create_session(self):
        return Session(self._graph.transaction())

    def remove_session(self, session):
        session.close()


class Session(InProcessConnection):
    """The connection behind `g.tx().begin()`: one transaction of the database."""

    def is_session_bound(self):
        return True

    def create_session(self):
        raise native.TransactionError("a transaction cannot begin inside another")

    def commit(self):
        self._graph.commit()

    def rollback(self):
        self._graph.rollback()

    def close(self):
        if not self._graph.closed:
            self._graph.rollback()


class AwaitedConnection(InProcessConnection):
    """The connection of a source whose traversals only describe queries. It refuses to run them."""

    def submit(self, bytecode):
        raise native.QueryError("this would stop the event loop: pass the traversal to query(), as in await db.query(g.V())")

    def submit_async(self, bytecode):
        self.submit(bytecode)

    def create_session(self):
        raise native.TransactionError("this would stop the event loop: use async with db.transaction() as tx")


def stock(result):
    """A result as gremlinpython's own classes."""
    convert = _CONVERSIONS.get(type(result))
    return convert(result) if convert else result


def _vertex(vertex):
    properties = []
    for key, value in vertex.properties.items():
        values = value if isinstance(value, list) else [value]
        for number, one in enumerate(values):
            properties.append(graph.VertexProperty(f"{vertex.id}/{key}/{number}", key, one, None, []))
    return graph.Vertex(vertex.id, vertex.label, properties)


def _reference(vertex):
    return graph.Vertex(vertex.id, vertex.label)


def _edge(edge):
    made = graph.Edge(edge.id, _reference(edge.outV), edge.label, _reference(edge.inV))
    made.properties = [graph.Property(key, value, None) for key, value in edge.properties.items()]
    return made


def _vertex_property(of):
    made = graph.VertexProperty(of.id, of.key, of.value, _reference(of.vertex))
    made.properties = [graph.Property(key, value, None) for key, value in of.properties.items()]
    return made


def _dict(items):
    return {stock(key): stock(value) for key, value in items.items()}


_CONVERSIONS = {
    native.Vertex: _vertex,
    native.Edge: _edge,
    native.VertexProperty: _vertex_property,
    native.Property: lambda of: graph.Property(of.key, of.value, None),
    native.Path: lambda path: graph.Path(path.labels, [stock(item) for item in path.objects]),
    list: lambda items: [stock(item) for item in items],
    tuple: lambda items: tuple(stock(item) for item in items),
    set: lambda items: {stock(item) for item in items},
    frozenset: lambda items: frozenset(stock(item) for item in items),
    dict: _dict,
    _types.Tree: lambda tree: _types.Tree(_dict(tree)),
    _types.FrozenDict: lambda items: _types.FrozenDict(_dict(items)),
    _types.T: lambda token: T[token.name],
    _types.Direction: lambda token: Direction[token.name],
}
