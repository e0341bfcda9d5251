"""The asynchronous API: the calls of a `Database`, to be awaited. `mangrovedb.open_async` opens one.

The engine runs on threads, so the event loop never waits for it. Queries that read share a pool of threads and run side by side.
All writes go through one thread. A task that waits for its turn to write holds no thread, so any number of tasks may wait.
Cancelling a task stops its query; the task ends once the query has stopped.
"""

import asyncio
import functools
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

from . import _mangrove as native


class open_async:
    """Opens a database for `await`. The arguments are those of `open`. Await it, or use it in `async with`.

    >>> import asyncio
    >>> async def main():
    ...     async with mg.open_async("fresh.mg") as db:
    ...         await db.query("g.addV('person').property(id, 'ada')")
    ...         return (await db.query("g.V().count()")).one()
    >>> asyncio.run(main())
    1
    """

    def __init__(self, path, *arguments, **named):
        self._open = functools.partial(native.open, path, *arguments, **named)
        self._database = None

    async def _opened(self):
        with ThreadPoolExecutor(1, "mangrove") as opener:
            self._database = AsyncDatabase(await _call(opener, self._open))
        return self._database

    def __await__(self):
        return self._opened().__await__()

    async def __aenter__(self):
        return await self._opened()

    async def __aexit__(self, *exception):
        await self._database.close()


class open_lake_async(open_async):
    """Opens a graph in open files for `await`. The arguments are those of `open_lake`. Await it, or use it in `async with`.

    >>> import asyncio
    >>> db.export("async_lake", "graphar")
    {'vertices': 5, 'edges': 6}
    >>> async def main():
    ...     async with mg.open_lake_async("async_lake/async_lake.graph.yml") as lake:
    ...         return (await lake.query("g.V().count()")).one()
    >>> asyncio.run(main())
    5
    """

    def __init__(self, path, **named):
        self._open = functools.partial(native.open_lake, path, **named)
        self._database = None


class connect_async(open_async):
    """Connects to a graph on many nodes for `await`. The arguments are those of `connect`. Await it, or use it in `async with`.

    >>> import asyncio
    >>> async def main():
    ...     await mg.connect_async("mangrove://127.0.0.1:1/air")
    >>> asyncio.run(main())
    Traceback (most recent call last):
    mangrovedb.OpenError: cannot reach the node at 127.0.0.1:1: Connection refused (os error 111). Try again
    """

    def __init__(self, address, **named):
        self._open = functools.partial(native.connect, address, **named)
        self._database = None


class AsyncDatabase:
    """A database whose calls are awaited. It belongs to the event loop that uses it first.

    `sync` is the `Database` it works on, for calls that do not wait.
    """

    def __init__(self, database):
        self.sync = database
        self._readers = ThreadPoolExecutor(thread_name_prefix="mangrove reader")
        self._writer = Writer()
        self._transactions = weakref.WeakSet()

    async def query(self, text, params=None, **named):
        """As `Database.query`."""
        return await self._either(self.sync.query, text, params, named)

    async def profile(self, text, params=None, **named):
        """As `Database.profile`."""
        return await self._either(self.sync.profile, text, params, named)

    async def explain(self, text, params=None, **named):
        """As `Database.explain`."""
        return await _call(self._readers, self.sync.explain, text, params, **named)

    def stream(self, text, params=None, **named):
        """As `Database.stream`, for `async for`. It does not take queries that write."""
        if self.sync._writes(text):
            raise native.QueryError("an asynchronous stream can only read: use await query() to write")
        return AsyncStream(self._readers, functools.partial(self.sync.stream, text, params, **named))

    def transaction(self, timeout=None):
        """As `Database.transaction`, for `async with`."""
        transaction = AsyncTransaction(self._writer, self.sync.transaction(timeout), timeout)
        self._transactions.add(transaction)
        return transaction

    def ingest(self, **named):
        """As `Database.ingest`, for `async with`."""
        return AsyncIngest(self._writer, self.sync.ingest(**named))

    async def load(self, *files, **named):
        """As `Database.load`."""
        return await self._writer.run(self.sync.load, *files, **named)

    async def query_bytecode(self, bytecode, **named):
        """As `Database.query_bytecode`. The bytecode may write, so it waits for other writers."""
        return await self._writer.run(self.sync.query_bytecode, bytecode, timeout=named.pop("timeout", None), timed=True, **named)

    @property
    def analyze(self):
        """As `Database.analyze`; its calls are awaited.

        >>> import asyncio
        >>> async def main():
        ...     return (await mg.AsyncDatabase(db).analyze.wcc()).summary
        >>> asyncio.run(main())
        {'components': 1}
        """
        return AsyncAnalyze(self)

    async def paths(self, text, params=None, **named):
        """As `Database.paths`."""
        return await _call(self._readers, self.sync.paths, text, params, **named)

    async def count_paths(self, text, params=None, **named):
        """As `Database.count_paths`."""
        return await _call(self._readers, self.sync.count_paths, text, params, **named)

    def direct(self):
        """As `Database.direct`; its calls are awaited."""
        return AsyncDirect(self)

    def traversal(self):
        """A stock gremlinpython traversal source. Pass its traversals to `query`, `stream`, `explain` or `profile`. Their own
        last steps, such as `to_list()`, would stop the event loop, so they are errors. Needs the extra `gremlin`.

        >>> import asyncio
        >>> async def main():
        ...     async with mg.open_async(":memory:") as db:
        ...         g = db.traversal()
        ...         await db.query(g.add_v("person").property("name", "ada"))
        ...         return (await db.query(g.V().values("name"))).to_list()
        >>> asyncio.run(main())
        ['ada']
        """
        from . import gremlin

        return gremlin.awaited_source(self.sync)

    async def to_networkx(self, **named):
        """As `Database.to_networkx`."""
        return await _call(self._readers, self.sync.to_networkx, **named)

    def register_procedure(self, name, function, **named):
        """As `Database.register_procedure`. It does not wait, so there is nothing to await."""
        self.sync.register_procedure(name, function, **named)

    def unregister_procedure(self, name):
        """As `Database.unregister_procedure`. There is nothing to await."""
        return self.sync.unregister_procedure(name)

    async def compact(self):
        """As `Database.compact`. Others read and write meanwhile."""
        return await _call(self._readers, self.sync.compact)

    async def backup(self, destination):
        """As `Database.backup`."""
        return await _call(self._readers, self.sync.backup, destination)

    async def relayout(self, destination, layout="community", **options):
        """As `Database.relayout`. Others read and write meanwhile."""
        return await _call(self._readers, self.sync.relayout, destination, layout, **options)

    async def layouts(self):
        """As `Database.layouts`."""
        return await _call(self._readers, self.sync.layouts)

    async def load_lake(self, path, **options):
        """As `Database.load_lake`."""
        return await self._writer.run(self.sync.load_lake, path, **options)

    async def refresh(self):
        """As `Database.refresh`."""
        return await _call(self._readers, self.sync.refresh)

    async def bookmark(self):
        """As `Database.bookmark`."""
        return await _call(self._readers, self.sync.bookmark)

    async def wait_for(self, bookmark, **options):
        """As `Database.wait_for`."""
        return await _call(self._readers, self.sync.wait_for, bookmark, **options)

    async def index_edges(self, **options):
        """As `Database.index_edges`."""
        return await _call(self._readers, self.sync.index_edges, **options)

    async def export(self, directory, format="csv", **options):
        """As `Database.export`."""
        return await _call(self._readers, self.sync.export, directory, format, **options)

    async def check(self):
        """As `Database.check`."""
        return await _call(self._readers, self.sync.check)

    async def stats(self):
        """As `Database.stats`."""
        return await _call(self._readers, self.sync.stats)

    async def schema(self):
        """As `Database.schema`."""
        return await _call(self._readers, self.sync.schema)

    async def create_index(self, label, key, *, unique=False, routed=False, kind=None):
        """As `Database.create_index`."""
        return await self._writer.run(self.sync.create_index, label, key, unique=unique, routed=routed, kind=kind)

    async def drop_index(self, label, key, *, kind=None):
        """As `Database.drop_index`."""
        return await self._writer.run(self.sync.drop_index, label, key, kind=kind)

    async def rename_label(self, label, name, *, kind=None):
        """As `Database.rename_label`."""
        return await self._writer.run(self.sync.rename_label, label, name, kind=kind)

    async def drop_label(self, label, *, kind=None):
        """As `Database.drop_label`."""
        return await self._writer.run(self.sync.drop_label, label, kind=kind)

    async def drop_property(self, label, key, *, kind=None):
        """As `Database.drop_property`."""
        return await self._writer.run(self.sync.drop_property, label, key, kind=kind)

    async def drop_unused(self):
        """As `Database.drop_unused`."""
        return await self._writer.run(self.sync.drop_unused)

    async def declare_time(self, label, key):
        """As `Database.declare_time`."""
        return await self._writer.run(self.sync.declare_time, label, key)

    async def declare_key(self, label, key):
        """As `Database.declare_key`."""
        return await self._writer.run(self.sync.declare_key, label, key)

    async def declare_property(self, label, key, *arguments, **named):
        """As `Database.declare_property`."""
        return await self._writer.run(self.sync.declare_property, label, key, *arguments, **named)

    async def set_encoding(self, label, key, encoding):
        """As `Database.set_encoding`."""
        return await self._writer.run(self.sync.set_encoding, label, key, encoding)

    @property
    def path(self):
        return self.sync.path

    @property
    def closed(self):
        return self.sync.closed

    async def close(self):
        """Waits for running calls, rolls back what is not committed, and closes the database."""
        for transaction in list(self._transactions):
            if not transaction.closed:
                await transaction.rollback()
        with ThreadPoolExecutor(1, "mangrove") as closer:
            await _call(closer, self._shut)

    def _shut(self):
        self._readers.shutdown()
        self._writer.shutdown()
        self.sync.close()

    async def _either(self, method, text, params, named):
        if self.sync._writes(text):
            return await self._writer.run(method, text, params, timeout=named.pop("timeout", None), timed=True, **named)
        return await _call(self._readers, method, text, params, **named)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exception):
        await self.close()

    def __repr__(self):
        return f"<asynchronous mangrove database {self.path}>"


class AsyncAnalyze:
    """The algorithms on the whole graph, to be awaited: those of `Analyze`."""

    def __init__(self, database):
        self._database = database

    def __getattr__(self, name):
        method = getattr(self._database.sync.analyze, name)

        async def run(*arguments, **named):
            if named.get("write") is None:
                return await _call(self._database._readers, method, *arguments, **named)
            return await self._database._writer.run(method, *arguments, timeout=named.pop("timeout", None), timed=True, **named)

        return functools.wraps(method)(run)

    def __dir__(self):
        return dir(self._database.sync.analyze)


class AsyncDirect:
    """The graph without a query language, to be awaited: the calls of `Direct`. An `EdgeRecord` is read without waiting."""

    _READS = ("obj_get", "assoc_get", "assoc_count", "assoc_range", "assoc_time_range")

    def __init__(self, database):
        self._database = database

    def __getattr__(self, name):
        method = getattr(self._database.sync.direct(), name)

        async def run(*arguments, **named):
            if name.startswith("get_") or name in self._READS:
                return await _call(self._database._readers, method, *arguments, **named)
            return await self._database._writer.run(method, *arguments, **named)

        return functools.wraps(method)(run)

    def __dir__(self):
        return dir(self._database.sync.direct())


class AsyncTransaction:
    """A transaction whose calls are awaited: see `Transaction`. It begins with its first query."""

    def __init__(self, writer, transaction, timeout):
        self._writer, self._transaction, self._timeout = writer, transaction, timeout
        self._turn = Turn(writer)
        # If the program drops it without ending it, others must not wait for ever.
        weakref.finalize(self, Turn.abandon, self._turn, transaction)

    async def query(self, text, params=None, **named):
        """As `Transaction.query`."""
        await self._turn.take(self._timeout)
        try:
            return await _call(self._writer.thread, self._transaction.query, text, params, **named)
        finally:
            if self.closed:
                self._turn.give_back()

    async def commit(self):
        """As `Transaction.commit`."""
        await self._end(self._transaction.commit)

    async def rollback(self):
        """As `Transaction.rollback`."""
        await self._end(self._transaction.rollback)

    async def _end(self, end):
        # A commit or rollback is not stopped. Otherwise others would wait for ever.
        try:
            await _finished(_submitted(self._writer.thread, end))
        finally:
            if self.closed:
                self._turn.give_back()

    @property
    def closed(self):
        return self._transaction.closed

    async def __aenter__(self):
        return self

    async def __aexit__(self, kind, error, traceback):
        if kind is not None:
            await self.rollback()
        elif not self.closed:
            await self.commit()


class AsyncIngest:
    """Batches of vertices and edges whose calls are awaited: see `Ingest`."""

    def __init__(self, writer, ingest):
        self._writer, self._ingest = writer, ingest

    async def add_vertices(self, label, data, **named):
        """As `Ingest.add_vertices`."""
        return await self._writer.run(self._ingest.add_vertices, label, data, **named)

    async def add_edges(self, label, data, **named):
        """As `Ingest.add_edges`."""
        return await self._writer.run(self._ingest.add_edges, label, data, **named)

    async def commit(self):
        """As `Ingest.commit`."""
        return await self._writer.run(self._ingest.commit)

    def report(self):
        """As `Ingest.report`."""
        return self._ingest.report()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exception):
        await self._writer.run(self._ingest.__exit__, *exception)


class AsyncStream:
    """Results of a query for `async for`: see `Stream`. Read it to its end, or use it in `async with`."""

    def __init__(self, readers, begin):
        self._readers, self._begin = readers, begin
        self._stream, self._batch = None, iter(())
        self._call, self._fetching, self._is_closed = native._Call(), None, False

    def __aiter__(self):
        return self

    async def __anext__(self):
        while True:
            for result in self._batch:
                return result
            if self._is_closed:
                raise StopAsyncIteration
            if self._fetching is None:
                self._fetching = _submitted(self._readers, self._call.run, self._fetch)
            # If the task is cancelled here, the fetch goes on, and the next task takes its result. So no row is lost.
            batch = await asyncio.shield(asyncio.wrap_future(self._fetching))
            self._fetching = None
            self._call.warn()
            if batch is None:
                raise StopAsyncIteration
            self._batch = iter(batch)

    def _fetch(self):
        if self._stream is None:
            self._stream = self._begin()
        return self._stream._next_batch()

    async def close(self):
        """As `Stream.close`."""
        self._batch, self._is_closed = iter(()), True
        if self._fetching is not None:
            self._call.cancel()
            await _settled(self._fetching)
        if self._stream is not None:
            await _finished(_submitted(self._readers, self._stream.close))

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exception):
        await self.close()


class Writer:
    """The thread that writes, and the queue of those who wait to use it."""

    def __init__(self):
        self.thread = ThreadPoolExecutor(1, "mangrove writer")
        self.turn = asyncio.Lock()

    async def run(self, function, *arguments, timeout=None, timed=False, **named):
        """Calls a function in a turn of its own. With `timed`, the function gets the rest of the timeout."""
        started, turn = time.monotonic(), Turn(self)
        await turn.take(timeout)
        try:
            if timed and timeout is not None:
                named["timeout"] = max(timeout - (time.monotonic() - started), 0.001)
            return await _call(self.thread, function, *arguments, **named)
        finally:
            turn.give_back()

    def shutdown(self):
        self.thread.shutdown()


class Turn:
    """The right to use the thread that writes. A task waits for it."""

    def __init__(self, writer):
        self._writer, self._loop = writer, None
        self._taking = asyncio.Lock()

    async def take(self, timeout):
        """Waits for the turn, unless it has it already."""
        async with self._taking:
            if self._loop is None:
                await self._wait(timeout)
                self._loop = asyncio.get_running_loop()

    async def _wait(self, timeout):
        waiting = asyncio.ensure_future(self._writer.turn.acquire())
        try:
            await asyncio.wait([waiting], timeout=timeout)
        except asyncio.CancelledError:
            if waiting.done():
                self._writer.turn.release()
            waiting.cancel()
            raise
        if waiting.done():
            waiting.result()  # fails in another event loop than the first
        else:
            waiting.cancel()
            raise native.TimeoutError(f"another task is writing: gave up after waiting {timeout:g} s")

    def give_back(self):
        if self._loop is not None:
            self._loop = None
            self._writer.turn.release()

    def abandon(self, transaction):
        """Rolls back and returns the turn. Any thread may call it."""
        loop = self._loop
        if loop is None or loop.is_closed():
            return
        try:
            rolled_back = self._writer.thread.submit(transaction.rollback)
        except RuntimeError:
            return  # the database is closed, and nobody waits
        rolled_back.add_done_callback(lambda _: loop.call_soon_threadsafe(self.give_back))


async def _call(executor, function, *arguments, **named):
    """Calls a function on a thread. If the task is cancelled, stops it and waits until it has stopped."""
    call = native._Call()
    job = _submitted(executor, call.run, function, *arguments, **named)
    ended = asyncio.wrap_future(job)
    try:
        outcome = await asyncio.shield(ended)
    except asyncio.CancelledError:
        if not job.cancel():
            call.cancel()
            await _settled(job)
            ended.cancelled() or ended.exception()  # retrieve the exception, which nobody else does
        raise
    call.warn()
    return outcome


def _submitted(executor, function, *arguments, **named):
    try:
        return executor.submit(function, *arguments, **named)
    except RuntimeError:
        raise native.OpenError("the database has been closed") from None


async def _finished(job):
    """Waits for a job that must not be stopped. If the task is cancelled meanwhile, the cancellation takes effect afterwards."""
    ended, was_cancelled = asyncio.wrap_future(job), False
    while not ended.done():
        try:
            await asyncio.wait([ended])
        except asyncio.CancelledError:
            was_cancelled = True
    if was_cancelled:
        ended.exception()
        raise asyncio.CancelledError
    return ended.result()


async def _settled(job):
    """Waits for a job to end, even if the task is cancelled several times meanwhile."""
    ended = asyncio.wrap_future(job)
    while not ended.done():
        try:
            await asyncio.wait([ended])
        except asyncio.CancelledError:
            continue
    ended.exception()  # retrieve the exception, which nobody else does
