"""A graph on many nodes, kept running by Ray."""

from typing import Any, Literal

from ._mangrove import Database, _Files

def cluster(
    name: str,
    *,
    nodes: int = 2,
    shards: int = 16,
    log: str,
    data: _Files,
    replicas: int = 1,
    copies: int = 1,
    id_space: Literal["graph", "label"] = "graph",
) -> Cluster: ...

class Cluster:
    name: str
    address: str
    def __init__(self, settings: dict[str, Any], keepers: list[Any], addresses: list[str]) -> None: ...
    def connect(self, *, stream_timeout: float | None = None, slow_query: float | None = None) -> Database: ...
    def status(self) -> dict[str, Any]: ...
    def down(self) -> None: ...

class Keeper:
    def __init__(self, settings: dict[str, Any], number: int, address: str) -> None: ...
    def settings(self) -> dict[str, Any]: ...
    def address(self) -> str: ...
    def state(self) -> tuple[int | None, int, str]: ...
