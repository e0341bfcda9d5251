"""The algorithms on the whole graph, as methods of `db.analyze`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

from typing_extensions import Unpack

from ._mangrove import Analysis, Database

class _Common(TypedDict, total=False):
    vertices: str | Sequence[str] | None
    edges: str | Sequence[str] | None
    directed: bool
    write: str | None
    threads: int | None
    partitions: int | None
    memory_mb: float | None
    timeout: float | None
    progress: Callable[[str, int, int], object] | bool | None

class Analyze:
    def __init__(self, db: Database) -> None: ...
    def bfs(self, source: Any, **common: Unpack[_Common]) -> Analysis: ...
    def cdlp(self, iterations: int = 10, **common: Unpack[_Common]) -> Analysis: ...
    def lcc(self, **common: Unpack[_Common]) -> Analysis: ...
    def pagerank(
        self,
        damping: float = 0.85,
        iterations: int | None = None,
        tolerance: float | None = None,
        personalization: Mapping[Any, float] | None = None,
        weight: str | None = None,
        **common: Unpack[_Common],
    ) -> Analysis: ...
    def sssp(self, source: Any, weight: str | None = None, delta: float | None = None, **common: Unpack[_Common]) -> Analysis: ...
    def triangles(self, **common: Unpack[_Common]) -> Analysis: ...
    def wcc(self, **common: Unpack[_Common]) -> Analysis: ...
