"""Mangrove: a property-graph database that runs inside your program and answers Gremlin.

>>> import mangrovedb as mg
>>> db = mg.open("people.mg")
>>> with db.ingest() as w:
...     _ = w.add_vertices("person", [{"id": "ada", "born": 1815}, {"id": "charles", "born": 1791}])
...     _ = w.add_edges("knows", [{"from": "ada", "to": "charles", "since": 1833}])
>>> db.query("g.V('ada').out('knows').values('born')").to_list()
[1791]

`open` returns a `Database`. Its `query` returns a `Result`, its `stream` a `Stream`. Elements are objects of the classes `Vertex`,
`Edge`, `VertexProperty`, `Property`, `Path`, `Graph` and `Tree`; everything else is a plain Python value. Errors are
`MangroveError`s. An argument that makes no sense raises a `TypeError` or `ValueError`.
"""

from typing import TYPE_CHECKING

from ._mangrove import (
    Analysis,
    ConstraintError,
    Database,
    Direct,
    Edge,
    EdgeData,
    EdgeRecord,
    Explanation,
    Graph,
    Ingest,
    InternalError,
    LoadError,
    LockedError,
    MangroveError,
    MemoryLimitError,
    OpenError,
    OutcomeUnknownError,
    Path,
    Profile,
    Property,
    QueryError,
    QueryWarning,
    Result,
    StorageError,
    Stream,
    TimeoutError,
    Transaction,
    TransactionError,
    Vertex,
    VertexProperty,
    __version__,
    connect,
    docs,
    trace,
    open,
    open_lake,
    propose_mapping,
)
from .analyze import Analyze, Projection
from ._types import Direction, FrozenDict, Merge, T, Tree

if TYPE_CHECKING:
    from .aio import AsyncDatabase, connect_async, open_async, open_lake_async
    from .launch import cluster
    from .moves import nodes


def __getattr__(name):
    # Importing asyncio takes longer than everything else.
    if name in ("AsyncDatabase", "connect_async", "open_async", "open_lake_async"):
        from . import aio

        return getattr(aio, name)
    if name == "cluster":
        from . import launch

        return launch.cluster
    if name == "nodes":
        from . import moves

        return moves.nodes
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return __all__


__all__ = [
    "Analysis",
    "Analyze",
    "AsyncDatabase",
    "ConstraintError",
    "Database",
    "Direct",
    "Direction",
    "Edge",
    "EdgeData",
    "EdgeRecord",
    "Explanation",
    "FrozenDict",
    "Graph",
    "Ingest",
    "InternalError",
    "LoadError",
    "LockedError",
    "MangroveError",
    "MemoryLimitError",
    "Merge",
    "OpenError",
    "OutcomeUnknownError",
    "Path",
    "Profile",
    "Projection",
    "Property",
    "QueryError",
    "QueryWarning",
    "Result",
    "StorageError",
    "Stream",
    "T",
    "TimeoutError",
    "Transaction",
    "TransactionError",
    "Tree",
    "Vertex",
    "VertexProperty",
    "__version__",
    "cluster",
    "connect",
    "connect_async",
    "docs",
    "nodes",
    "trace",
    "open",
    "open_async",
    "open_lake",
    "open_lake_async",
    "propose_mapping",
]
