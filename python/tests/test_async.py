"""Tasks, threads of pools and web applications that share a database."""

import asyncio
import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import mangrovedb as mg

ENDLESS = "g.V().repeat(both()).times(1000).count()"
ADD_ONE = "g.V('counter').property('n', n)"


def run(main, path="async.mg"):
    """Runs a coroutine function over a database with a counter in it; gives what it returns."""

    async def with_database():
        async with mg.open_async(path) as db:
            await db.query("g.addV('counter').property(id, 'counter').property('n', 0)")
            return await asyncio.wait_for(main(db), 60)

    return asyncio.run(with_database())


async def count_up(db):
    async with db.transaction() as tx:
        n = (await tx.query("g.V('counter').values('n')")).one()
        await asyncio.sleep(0)
        await tx.query(ADD_ONE, n=n + 1)


def test_any_number_of_tasks_write_in_turn():
    async def main(db):
        await asyncio.gather(*(count_up(db) for _ in range(300)))
        return (await db.query("g.V('counter').values('n')")).one()

    assert run(main) == 300


def test_queries_are_answered_while_tasks_wait_to_write():
    async def main(db):
        async with db.transaction() as tx:
            await tx.query(ADD_ONE, n=1)
            waiting = [asyncio.create_task(db.query(ADD_ONE, n=2)) for _ in range(100)]
            seen = [(await db.query("g.V('counter').values('n')")).one() for _ in range(3)]
            assert not any(task.done() for task in waiting)
        await asyncio.gather(*waiting)
        return seen + [(await db.query("g.V('counter').values('n')")).one()]

    assert run(main) == [0, 0, 0, 2]


def test_tasks_may_use_one_transaction_side_by_side():
    async def main(db):
        async with db.transaction() as tx:
            await asyncio.gather(*(tx.query("g.addV('n')") for _ in range(20)))
            return (await tx.query("g.V().count()")).one()

    assert run(main) == 21


def test_a_wait_to_write_ends_with_its_timeout():
    async def main(db):
        async with db.transaction() as tx:
            await tx.query(ADD_ONE, n=1)
            with pytest.raises(mg.TimeoutError, match="another task is writing"):
                await db.query(ADD_ONE, n=2, timeout=0.05)
            with pytest.raises(mg.TimeoutError, match="another task is writing"):
                async with db.transaction(timeout=0.05) as late:
                    await late.query(ADD_ONE, n=3)
        await db.query(ADD_ONE, n=4, timeout=5)
        return (await db.query("g.V('counter').values('n')")).one()

    assert run(main) == 4


def test_a_cancelled_task_stops_its_query_and_lets_others_write():
    async def main(db):
        await db.query("g.V('counter').addE('self').to(__.V('counter'))")

        async def forever():
            async with db.transaction() as tx:
                await tx.query(ADD_ONE, n=99)
                await tx.query("g.V('counter').repeat(out()).until(has('n', -1))")

        for endless in (forever(), db.query("g.V('counter').repeat(out()).until(has('n', -1))")):
            task = asyncio.create_task(endless)
            await asyncio.sleep(0.2)
            task.cancel()
            started = time.monotonic()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert time.monotonic() - started < 10
        waiting = asyncio.create_task(count_up(db))
        await waiting
        return (await db.query("g.V('counter').values('n')")).one()

    assert run(main) == 1


def test_a_task_cancelled_while_it_waits_leaves_the_turn_to_others():
    async def main(db):
        async with db.transaction() as tx:
            await tx.query(ADD_ONE, n=1)
            waiting = [asyncio.create_task(count_up(db)) for _ in range(10)]
            await asyncio.sleep(0.05)
            for task in waiting[::2]:
                task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return (await db.query("g.V('counter').values('n')")).one()

    assert run(main) == 6


def test_a_forgotten_transaction_is_rolled_back():
    async def main(db):
        tx = db.transaction()
        await tx.query(ADD_ONE, n=7)
        del tx
        gc.collect()
        await db.query("g.addV('n')", timeout=10)
        return (await db.query("g.V('counter').values('n')")).one()

    assert run(main) == 0


def test_a_transaction_ends_once():
    async def main(db):
        tx = db.transaction()
        await tx.query(ADD_ONE, n=7)
        await tx.commit()
        with pytest.raises(mg.TransactionError, match="has ended"):
            await tx.query(ADD_ONE, n=8)
        async with db.transaction() as tx:
            await tx.query(ADD_ONE, n=9)
            await tx.rollback()
        with pytest.raises(ZeroDivisionError):
            async with db.transaction() as tx:
                await tx.query(ADD_ONE, n=10)
                raise ZeroDivisionError
        async with db.transaction() as tx:
            with pytest.raises(mg.QueryError):
                await tx.query("g.addV('x').fail()")
            await tx.rollback()
        return (await db.query("g.V('counter').values('n')", timeout=5)).one()

    assert run(main) == 7


def test_all_calls_of_a_database_can_be_awaited(tmp_path):
    async def main(db):
        report = await db.load(nodes={"person": [{"id": "ada", "born": 1815}]})
        assert report["vertices"] == {"person": 1}
        async with db.ingest() as w:
            assert await w.add_vertices("person", [{"id": i, "born": i} for i in range(5000)]) == 5000
            await w.add_edges("knows", [{"from": "ada", "to": 3}])
            await w.commit()
        assert w.report()["vertices"] == {"person": 5000}
        assert await db.create_index("person", "born")
        assert (await db.explain("g.V().has('person', 'born', 1815)")).to_dict()["steps"][0]["access"] == "index on person.born"
        assert (await db.profile("g.V().hasLabel('person')")).results == 5001
        seen = [i async for i in db.stream("g.V().hasLabel('person').values('born').order()")]
        assert seen == sorted([1815, *range(5000)])
        async with db.stream("g.V()") as some:
            await some.__anext__()
        assert [v async for v in some] == []
        with pytest.raises(mg.QueryError, match="can only read"):
            db.stream("g.addV()")
        assert await db.drop_index("person", "born")
        await db.declare_property("person", "born", "int64")
        await db.set_encoding("person", "born", "plain")
        await db.declare_key("thing", "code")
        assert await db.compact() > 0
        await db.backup(tmp_path / "copy.mg")
        assert (await db.export(tmp_path / "files"))["vertices"] == 5002
        assert await db.check() == []
        assert (await db.stats())["vertices"]["person"] == 5001
        assert (await db.schema())["vertices"]["person"]["properties"]["born"]["declared"] == "int64"
        with pytest.warns(mg.QueryWarning, match="persn") as warned:
            await db.query("g.V().hasLabel('persn')")
        assert warned[0].filename == __file__
        return db

    db = run(main)
    assert db.closed and str(db.path) == "async.mg"


def test_the_event_loop_runs_while_a_query_does():
    async def main(db):
        await db.query("g.addV('a').as('a').addE('self').to('a')")
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.create_task(tick())
        with pytest.raises(mg.TimeoutError):
            await db.query("g.V().hasLabel('a').repeat(out()).until(has('n', -1))", timeout=0.5)
        ticking.cancel()
        return ticks

    assert run(main) > 10


def test_a_thread_of_an_event_loop_does_not_wait_for_itself(db):
    async def hold(held, done):
        with db.transaction() as tx:
            tx.query("g.addV('n')")
            held.set()
            await done.wait()

    async def main():
        held, done = asyncio.Event(), asyncio.Event()
        holder = asyncio.create_task(hold(held, done))
        await held.wait()
        started = time.monotonic()
        with pytest.raises(mg.TransactionError, match="this thread"):
            db.query("g.addV('n')")
        assert time.monotonic() - started < 2
        done.set()
        await holder

    asyncio.run(main())


def test_a_thread_of_a_pool_waits_for_a_transaction_it_handed_on(db):
    """A pool's thread begins a transaction, another ends it, and the first is given new work meanwhile."""
    begun, pool = threading.Event(), ThreadPoolExecutor(1)

    def begin():
        tx = db.transaction()
        tx.query("g.addV('n')")
        return tx

    tx = pool.submit(begin).result()
    waiting = pool.submit(lambda: (begun.set(), db.query("g.addV('n')")))
    begun.wait(30)
    time.sleep(0.2)
    assert not waiting.done()
    tx.commit()
    waiting.result(30)
    assert db.query("g.V().hasLabel('n').count()").one() == 2


def requests_side_by_side(application, paths):
    """The answers of an application to requests that are made at once."""
    httpx = pytest.importorskip("httpx")

    async def main():
        transport = httpx.ASGITransport(app=application)
        async with httpx.AsyncClient(transport=transport, base_url="http://app", timeout=60) as client:
            return await asyncio.gather(*(client.get(path) for path in paths))

    return asyncio.run(main())


def test_a_web_application_writes_from_a_pool_of_threads(db):
    fastapi = pytest.importorskip("fastapi")
    application = fastapi.FastAPI()
    db.query("g.addV('counter').property(id, 'counter').property('n', 0)")

    def transaction():
        with db.transaction() as tx:
            yield tx

    def count(tx=fastapi.Depends(transaction)):  # noqa: B008
        n = tx.query("g.V('counter').values('n')").one()
        tx.query(ADD_ONE, n=n + 1)
        return n

    application.get("/count")(count)
    # More than the pool has threads.
    answers = requests_side_by_side(application, ["/count"] * 150)
    assert [answer.status_code for answer in answers] == [200] * 150
    assert sorted(answer.json() for answer in answers) == list(range(150))
    assert db.query("g.V('counter').values('n')").one() == 150


def test_a_web_application_writes_from_tasks(db):
    fastapi = pytest.importorskip("fastapi")
    application, shared = fastapi.FastAPI(), mg.AsyncDatabase(db)
    db.query("g.addV('counter').property(id, 'counter').property('n', 0)")

    async def count():
        async with shared.transaction() as tx:
            n = (await tx.query("g.V('counter').values('n')")).one()
            await asyncio.sleep(0.001)
            await tx.query(ADD_ONE, n=n + 1)
            return n

    application.get("/count")(count)
    answers = requests_side_by_side(application, ["/count"] * 150)
    assert sorted(answer.json() for answer in answers) == list(range(150))


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_the_end_of_a_transaction_cannot_be_cancelled(end):
    async def main(db):
        for n in range(20):
            tx = db.transaction()
            await tx.query(ADD_ONE, n=n)
            task = asyncio.create_task(getattr(tx, end)())
            for _ in range(n % 3):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            if n % 3:
                assert tx.closed
            else:
                await tx.rollback()  # cancelled before it began
            await db.query("g.addV('n')", timeout=5)

    run(main)


def test_a_stream_loses_no_row_when_its_reader_is_cancelled():
    async def main(db):
        async with db.ingest() as w:
            await w.add_vertices("n", {"id": list(range(60_000))})
        stream, seen = db.stream("g.V().hasLabel('n').id()"), []
        while True:
            try:
                seen.append(await asyncio.wait_for(stream.__anext__(), 0.0005))
            except asyncio.TimeoutError:
                continue
            except StopAsyncIteration:
                return seen

    assert sorted(run(main)) == list(range(60_000))


def test_closing_rolls_back_and_says_so_later():
    async def main():
        db = await mg.open_async("closed.mg")
        tx = db.transaction()
        await tx.query("g.addV('n')")
        await db.close()
        assert tx.closed
        with pytest.raises(mg.OpenError, match="has been closed"):
            await db.query("g.V()")

    asyncio.run(main())
    with mg.open("closed.mg") as db:
        assert db.query("g.V().count()").one() == 0


def test_another_event_loop_is_refused_where_it_would_not_wait():
    db = mg.AsyncDatabase(mg.open(":memory:"))

    async def contend():
        await asyncio.gather(*(db.query("g.addV('n')") for _ in range(5)))

    asyncio.run(contend())
    with pytest.raises(RuntimeError, match="loop"):
        asyncio.run(contend())


def test_a_procedure_that_writes_beside_its_transaction_is_refused(db):
    db.register_procedure("write", lambda params, value: [db.query("g.addV('n')")])
    tx = db.transaction()
    with pytest.raises(mg.QueryError, match="this thread"):
        tx.query("g.addV('n').call('write')")
    tx.rollback()
    assert db.query("g.V().hasLabel('n').count()").one() == 0


def test_every_call_of_a_database_can_be_awaited():
    names = {name for name in dir(mg.Database) if not name.startswith("_")}
    # NetworkX asks for these two, and does not wait.
    assert names - {"is_directed", "is_multigraph"} <= set(dir(mg.AsyncDatabase))

    async def main(db):
        db.register_procedure("twice", lambda params, value: [value, value])
        twice = await db.query("g.V('counter').id().call('twice')")
        assert twice.to_list() == ["counter"] * 2 and db.unregister_procedure("twice")
        added = await db.query_bytecode('{"@type":"g:Bytecode","@value":{"step":[["addV","x"]]}}')
        assert added.one().label == "x"
        return len(await db.to_networkx())

    pytest.importorskip("networkx")
    assert run(main) == 2


def test_a_timeout_of_asyncio_leaves_nothing_in_the_log(caplog):
    async def main(db):
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(db.query("g.inject(1).repeat(identity()).times(1000000000).count()"), 0.1)
        gc.collect()

    run(main)
    assert "never retrieved" not in caplog.text


def test_traversals_of_gremlinpython_are_awaited():
    pytest.importorskip("gremlin_python")

    async def main(db):
        g = db.traversal()
        await db.query(g.add_v("person").property("name", "ada"))
        async with db.transaction() as tx:
            await tx.query(g.add_v("person").property("name", "bob"))
        names = (await db.query(g.V().has_label("person").values("name").order())).to_list()
        streamed = [name async for name in db.stream(g.V().has_label("person").values("name"))]
        assert "SCAN of 2 vertices" in str(await db.explain(g.V().has_label("person").values("name")))
        for stop in (g.V().to_list, g.V().next, g.V().promise):
            with pytest.raises(mg.QueryError, match="pass the traversal to query"):
                stop()
        with pytest.raises(mg.TransactionError, match="async with"):
            g.tx().begin()
        return names, sorted(streamed)

    assert run(main) == (["ada", "bob"],) * 2


def test_the_error_of_two_transactions_of_a_thread_names_the_asynchronous_api(empty):
    with empty.transaction() as tx:
        tx.query("g.addV('x')")
        with pytest.raises(mg.TransactionError, match="open_async"):
            empty.query("g.addV('y')")
