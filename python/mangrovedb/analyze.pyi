"""The algorithms on the whole graph, as methods of `db.analyze`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

from typing_extensions import Unpack

from ._mangrove import Analysis, Database

class _Common(TypedDict, total=False):
    vertices: str | Sequence[str] | None
    edges: str | Sequence[str] | None
    vertices_where: str | None
    edges_where: str | None
    directed: bool
    write: str | None
    threads: int | None
    partitions: int | None
    memory_mb: float | None
    timeout: float | None
    checkpoint_every: float | None
    progress: Callable[[str, int, int], object] | bool | None

class _Chosen(TypedDict, total=False):
    vertices: str | Sequence[str] | None
    edges: str | Sequence[str] | None
    vertices_where: str | None
    edges_where: str | None
    directed: bool
    threads: int | None
    memory_mb: float | None
    timeout: float | None
    progress: Callable[[str, int, int], object] | bool | None

class Projection:
    ids: Any
    out_degrees: Any
    def __init__(self, db: Database, projected: Any) -> None: ...
    def __len__(self) -> int: ...
    def gather(self, values: Any, reduce: str = "sum", along: str | None = None) -> Any: ...
    def write(self, key: str, values: Any) -> dict[str, int]: ...

class Analyze:
    def project(self, weight: str | None = None, **common: Unpack[_Chosen]) -> Projection: ...
    def __init__(self, db: Database) -> None: ...
    def betweenness(
        self, samples: int | None = None, seed: int = 0, normalized: bool = True, **common: Unpack[_Common]
    ) -> Analysis: ...
    def coloring(self, **common: Unpack[_Common]) -> Analysis: ...
    def kcore(self, **common: Unpack[_Common]) -> Analysis: ...
    def leiden(self, resolution: float = 1.0, weight: str | None = None, **common: Unpack[_Common]) -> Analysis: ...
    def louvain(self, resolution: float = 1.0, weight: str | None = None, **common: Unpack[_Common]) -> Analysis: ...
    def matching(self, weight: str | None = None, **common: Unpack[_Common]) -> Analysis: ...
    def scc(self, **common: Unpack[_Common]) -> Analysis: ...
    def similarity(self, top: int = 10, at_least: float | None = None, **common: Unpack[_Common]) -> Analysis: ...
    def walks(
        self,
        length: int = 80,
        per_vertex: int = 10,
        p: float = 1.0,
        q: float = 1.0,
        seed: int = 0,
        weight: str | None = None,
        **common: Unpack[_Common],
    ) -> Analysis: ...
    def bfs(self, source: Any, **common: Unpack[_Common]) -> Analysis: ...
    def cdlp(self, iterations: int = 10, **common: Unpack[_Common]) -> Analysis: ...
    def lcc(self, **common: Unpack[_Common]) -> Analysis: ...
    def networkx(
        self,
        vertices: str | Sequence[str] | None = None,
        edges: str | Sequence[str] | None = None,
        directed: bool = True,
        vertices_where: str | None = None,
        edges_where: str | None = None,
    ) -> Any: ...
    def pagerank(
        self,
        damping: float = 0.85,
        iterations: int | None = None,
        tolerance: float | None = None,
        personalization: Mapping[Any, float] | None = None,
        start: Mapping[Any, float] | None = None,
        dangling: Mapping[Any, float] | None = None,
        weight: str | None = None,
        **common: Unpack[_Common],
    ) -> Analysis: ...
    def sssp(self, source: Any, weight: str | None = None, delta: float | None = None, **common: Unpack[_Common]) -> Analysis: ...
    def triangles(self, **common: Unpack[_Common]) -> Analysis: ...
    def wcc(self, **common: Unpack[_Common]) -> Analysis: ...
