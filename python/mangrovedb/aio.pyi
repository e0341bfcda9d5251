"""The calls of a `Database`, to be awaited."""

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal

from typing_extensions import Self

from ._mangrove import Analysis, Database, Explanation, Ingest, Profile, Result, Stream, Transaction, _Files, _Query, _Table

class open_async:
    def __init__(
        self,
        path: _Files,
        read_only: bool = False,
        durability: str = "full",
        id_space: str | None = None,
        *,
        seal_mb: float = 64.0,
        verify_mb: float = 256.0,
        stream_timeout: float | None = None,
        workers: int | None = None,
        region_workers: int = 4,
        pin: bool = False,
        steal: bool = True,
        slow_query: float | None = None,
    ) -> None: ...
    def __await__(self) -> Generator[Any, None, AsyncDatabase]: ...
    async def __aenter__(self) -> AsyncDatabase: ...
    async def __aexit__(self, *exception: object) -> None: ...

class open_lake_async(open_async):
    def __init__(
        self, path: _Files, *, cache: _Files | None = None, cache_mb: float | None = None, pages_mb: float | None = None
    ) -> None: ...

class AsyncAnalyze:
    def __init__(self, database: AsyncDatabase) -> None: ...
    def __getattr__(self, name: str) -> Callable[..., Awaitable[Analysis]]: ...

class AsyncDatabase:
    sync: Database
    @property
    def analyze(self) -> AsyncAnalyze: ...
    def __init__(self, database: Database) -> None: ...
    async def query(
        self,
        text: _Query,
        params: dict[str, Any] | None = None,
        *,
        timeout: float | None = None,
        memory_mb: int | None = None,
        rules_off: str | Sequence[str] | None = None,
        **named: Any,
    ) -> Result: ...
    def stream(
        self,
        text: _Query,
        params: dict[str, Any] | None = None,
        *,
        timeout: float | None = None,
        memory_mb: int | None = None,
        rules_off: str | Sequence[str] | None = None,
        **named: Any,
    ) -> AsyncStream: ...
    async def explain(
        self, text: _Query, params: dict[str, Any] | None = None, *, rules_off: str | Sequence[str] | None = None, **named: Any
    ) -> Explanation: ...
    async def profile(
        self,
        text: _Query,
        params: dict[str, Any] | None = None,
        *,
        timeout: float | None = None,
        memory_mb: int | None = None,
        rules_off: str | Sequence[str] | None = None,
        **named: Any,
    ) -> Profile: ...
    def transaction(self, timeout: float | None = None) -> AsyncTransaction: ...
    def ingest(
        self,
        *,
        batch_rows: int = 100_000,
        edge_time: str | None = None,
        on_exists: str = "error",
        on_duplicate: str = "add",
        edge_key: str | None = None,
        missing: str = "error",
    ) -> AsyncIngest: ...
    async def load(
        self,
        *files: _Files,
        nodes: Mapping[str, _Files | Sequence[_Files] | _Table] | None = None,
        edges: Mapping[str | tuple[str, str, str], _Files | Sequence[_Files] | _Table] | None = None,
        format: str = "auto",
        mapping: _Files | None = None,
        write_mapping: _Files | None = None,
        delimiter: str | None = None,
        null: str | Sequence[str] | None = None,
        encoding: str | None = None,
        key: Mapping[str, str] | None = None,
        on_exists: str = "error",
        on_duplicate: str = "add",
        edge_key: str | None = None,
        missing: str = "error",
        edge_time: str | None = None,
        on_error: str = "fail",
        rejects: _Files | None = None,
        max_rejects: int | None = None,
        compact: bool | None = None,
        searchable: str | Sequence[str] | None = None,
        indexes: str | Sequence[str] | None = None,
        layout: str = "none",
        ties: str = "uniform",
        progress: bool | Callable[[int, int, int], Any] | None = None,
    ) -> dict[str, Any]: ...
    async def query_bytecode(
        self, bytecode: str | bytes | bytearray, *, timeout: float | None = None, memory_mb: int | None = None
    ) -> Result: ...
    def traversal(self) -> Any: ...
    async def to_networkx(self, *, directed: bool = True, multigraph: bool = True) -> Any: ...
    def register_procedure(
        self,
        name: str,
        function: Callable[[dict[str, Any], Any], Iterable[Any] | None],
        *,
        description: str | None = None,
        parameters: Mapping[str, str] | None = None,
        columns: Sequence[str] | None = None,
    ) -> None: ...
    def unregister_procedure(self, name: str) -> bool: ...
    async def create_index(
        self, label: str, key: str, *, unique: bool = False, kind: Literal["vertex", "edge"] | None = None
    ) -> bool: ...
    async def drop_index(self, label: str, key: str, *, kind: Literal["vertex", "edge"] | None = None) -> bool: ...
    async def rename_label(self, label: str, name: str, *, kind: Literal["vertex", "edge"] | None = None) -> None: ...
    async def drop_label(self, label: str, *, kind: Literal["vertex", "edge"] | None = None) -> None: ...
    async def drop_property(self, label: str, key: str, *, kind: Literal["vertex", "edge"] | None = None) -> None: ...
    async def drop_unused(self) -> list[str]: ...
    async def declare_key(self, label: str, key: str) -> None: ...
    async def declare_property(
        self,
        label: str,
        key: str,
        value_type: str | None = None,
        cardinality: str = "single",
        kind: str = "vertex",
        *,
        unique: bool | None = None,
        required: bool | None = None,
    ) -> None: ...
    async def set_encoding(self, label: str, key: str, encoding: str) -> None: ...
    async def schema(self) -> dict[str, Any]: ...
    async def stats(self) -> dict[str, Any]: ...
    async def check(self) -> list[str]: ...
    async def compact(self) -> int: ...
    async def backup(self, destination: _Files) -> None: ...
    async def relayout(self, destination: _Files, layout: str = "community", **options: Any) -> dict[str, Any]: ...
    async def layouts(self) -> dict[str, dict[str, float]]: ...
    async def export(self, directory: _Files, format: str = "csv") -> dict[str, int]: ...
    @property
    def path(self) -> Any: ...
    @property
    def closed(self) -> bool: ...
    async def close(self) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *exception: object) -> None: ...

class AsyncTransaction:
    def __init__(self, writer: Any, transaction: Transaction, timeout: float | None) -> None: ...
    async def query(
        self,
        text: _Query,
        params: dict[str, Any] | None = None,
        *,
        timeout: float | None = None,
        memory_mb: int | None = None,
        **named: Any,
    ) -> Result: ...
    async def commit(self) -> None: ...
    async def rollback(self) -> None: ...
    @property
    def closed(self) -> bool: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

class AsyncIngest:
    def __init__(self, writer: Any, ingest: Ingest) -> None: ...
    async def add_vertices(
        self, label: str, data: _Table, *, columns: Sequence[str] | None = None, key: str | None = None
    ) -> int: ...
    async def add_edges(
        self, label: str | tuple[str, str, str], data: _Table, *, columns: Sequence[str] | None = None
    ) -> int: ...
    async def commit(self) -> None: ...
    def report(self) -> dict[str, Any]: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *exception: object) -> None: ...

class AsyncStream(AsyncIterator[Any]):
    def __init__(self, readers: Any, begin: Callable[[], Stream]) -> None: ...
    async def __anext__(self) -> Any: ...
    async def close(self) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *exception: object) -> None: ...
