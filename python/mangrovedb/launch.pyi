"""A graph on many nodes, kept running by Ray."""

from typing import Any, Literal

from ._mangrove import Database, _Files
from .moves import Nodes

def cluster(
    name: str,
    *,
    nodes: int = 2,
    shards: int = 16,
    log: str | None = None,
    data: _Files,
    replicas: int = 1,
    copies: int = 1,
    id_space: Literal["graph", "label"] = "graph",
    tls: _Files | None = None,
    log_config: _Files | None = None,
    store: _Files | None = None,
    lake: _Files | None = None,
) -> Cluster: ...

class Cluster(Nodes):
    name: str
    def __init__(self, settings: dict[str, Any]) -> None: ...
    @property
    def address(self) -> str: ...
    def connect(self, *, stream_timeout: float | None = None, slow_query: float | None = None) -> Database: ...
    def backup(self, *, keep_log: bool = False) -> dict[str, Any]: ...
    def down(self) -> None: ...

class Keeper:
    def __init__(self, settings: dict[str, Any], number: int, port: int) -> None: ...
    def made_with(self) -> tuple[dict[str, Any], int]: ...
    def address(self) -> str: ...
    def state(self) -> tuple[int, bool, str, str]: ...
    def end(self) -> str: ...
