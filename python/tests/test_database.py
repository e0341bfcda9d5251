"""Opening, transactions, indexes, errors, threads and processes."""

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings

import pytest

import mangrovedb as mg


def test_what_is_committed_is_there_when_reopened(db, tmp_path):
    db.query("g.addV('airport').property(id, 'ZRH')")
    db.close()
    with mg.open(tmp_path / "air.mg", read_only=True) as again:
        assert again.query("g.V('ZRH').count()").one() == 1
    with pytest.raises(mg.OpenError, match="closed"):
        db.query("g.V()")


def test_read_only_makes_nothing_and_writes_nothing(db, tmp_path):
    with pytest.raises(mg.OpenError):
        mg.open(tmp_path / "nothing.mg", read_only=True)
    assert not (tmp_path / "nothing.mg").exists()
    db.close()
    with mg.open(tmp_path / "air.mg", read_only=True) as reader:
        with pytest.raises(mg.MangroveError, match="read-only"):
            reader.query("g.addV()")


def test_words_that_are_no_option_are_refused(tmp_path):
    with pytest.raises(ValueError, match="durability must be one of full, relaxed"):
        mg.open(tmp_path / "x.mg", durability="maybe")
    with pytest.raises(ValueError, match="id_space must be one of"):
        mg.open(tmp_path / "x.mg", id_space="universe")


def test_a_second_writer_is_told_who_has_it(db, tmp_path):
    program = f"import mangrovedb as mg; mg.open({str(tmp_path / 'air.mg')!r})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode != 0
    assert "LockedError" in done.stderr and str(os.getpid()) in done.stderr


def test_reader_processes_beside_the_writer(db, tmp_path):
    program = (
        f"import mangrovedb as mg; print(mg.open({str(tmp_path / 'air.mg')!r}, read_only=True).query('g.V().count()').one())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "5\n"), done.stderr


def test_ids_of_their_own_for_each_label(tmp_path):
    with mg.open(tmp_path / "l.mg", id_space="label") as db:
        with db.ingest() as w:
            w.add_vertices("a", [{"id": 1}])
            w.add_vertices("b", [{"id": 1}])
        assert sorted(db.query("g.V().id()")) == ["a/1", "b/1"]


def test_a_transaction_is_kept_or_not_at_all(db):
    with pytest.raises(RuntimeError):
        with db.transaction() as tx:
            tx.query("g.addV('airport').property(id, 'ZRH')")
            assert tx.query("g.V().count()").one() == 6
            assert db.query("g.V().count()").one() == 5
            raise RuntimeError
    assert db.query("g.V().count()").one() == 5
    with db.transaction() as tx:
        tx.query("g.addV('airport').property(id, 'ZRH')")
    assert db.query("g.V().count()").one() == 6
    with pytest.raises(mg.TransactionError, match="ended"):
        tx.query("g.V()")


def test_a_failed_query_ends_its_transaction(db):
    with pytest.raises(mg.MangroveError):
        with db.transaction() as tx:
            tx.query("g.addV('airport').property(id, 'ZRH')")
            with pytest.raises(mg.QueryError):
                tx.query("g.addV('airport').property(id, 'OSL').fail()")
            tx.query("g.V()")
    assert db.query("g.V().count()").one() == 5


def test_a_thread_cannot_wait_for_itself(db):
    with db.transaction() as tx:
        db.query("g.addV()")  # nothing was asked of the transaction, so it holds nothing
        tx.query("g.addV()")
        with pytest.raises(mg.TransactionError, match="this thread"):
            db.query("g.addV()")
    assert db.query("g.V().count()").one() == 7


def test_a_transaction_may_be_used_and_ended_on_any_thread(db):
    with db.transaction() as tx:
        thread = threading.Thread(target=tx.query, args=("g.addV('airport').property(id, 'ZRH')",))
        thread.start()
        thread.join()
        assert tx.query("g.V().count()").one() == 6
    assert db.query("g.V().count()").one() == 6
    tx = db.transaction()
    thread = threading.Thread(target=tx.commit)
    thread.start()
    thread.join()
    assert tx.closed


def test_a_transaction_that_is_forgotten_is_rolled_back_wherever_that_happens(db):
    held = [db.transaction()]
    held[0].query("g.V().drop()")
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    db.query("g.addV('airport').property(id, 'ZRH')", timeout=10)
    assert db.query("g.V().count()").one() == 6

    # Begun on a thread that has ended since.
    begin = threading.Thread(target=lambda: held.append(db.transaction()))
    begin.start()
    begin.join()
    held.clear()
    db.query("g.addV('airport').property(id, 'OSL')", timeout=10)
    assert db.query("g.V().count()").one() == 7


def waiting_for_another(db, wait):
    """What is raised by `wait` while another thread holds a transaction open."""
    begun, done = threading.Event(), threading.Event()

    def hold():
        with db.transaction() as tx:
            tx.query("g.V()")
            begun.set()
            done.wait(30)

    holder = threading.Thread(target=hold, name="holder")
    holder.start()
    begun.wait(30)
    try:
        with pytest.raises(BaseException) as caught:
            wait()
    finally:
        done.set()
        holder.join()
    return caught.value


def test_a_timeout_ends_the_wait_for_another_writer(db):
    for wait in (lambda: db.query("g.addV()", timeout=0.1), lambda: db.transaction(timeout=0.1).query("g.V()")):
        error = waiting_for_another(db, wait)
        assert isinstance(error, mg.TimeoutError) and "holder" in str(error)
    db.query("g.addV()")


def test_control_c_ends_the_wait_for_another_writer(db, tmp_path):
    (tmp_path / "n.csv").write_text("id\n1\n")
    waits = (
        lambda: db.query("g.addV()"),
        lambda: db.transaction().query("g.V()"),
        lambda: db.create_index("airport", "code"),
        lambda: db.load(nodes={"n": tmp_path / "n.csv"}),
        lambda: db.ingest().__enter__().add_vertices("n", [{"id": i} for i in range(100_001)]),
    )
    for wait in waits:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        assert isinstance(waiting_for_another(db, wait), KeyboardInterrupt)
    db.query("g.addV()")


def test_control_c_stops_a_query_of_a_transaction_and_not_the_next(db):
    with db.transaction() as tx:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            tx.query(ENDLESS)
        assert tx.query("g.V().count()").one() == 5


def test_a_second_handle_must_not_ask_for_more(tmp_path):
    with mg.open(tmp_path / "r.mg", durability="relaxed"):
        with pytest.raises(mg.OpenError, match="relaxed durability"):
            mg.open(tmp_path / "r.mg")
        mg.open(tmp_path / "r.mg", read_only=True).close()
    with mg.open(tmp_path / "r.mg") as db:
        mg.open(tmp_path / "r.mg").query("g.addV()")
        assert db.query("g.V().count()").one() == 1


def test_a_database_deleted_under_a_handle_loses_nothing_unsaid(db, tmp_path):
    shutil.rmtree(tmp_path / "air.mg")
    with pytest.raises(mg.StorageError, match="deleted or replaced"):
        db.query("g.addV()")
    with pytest.raises(mg.OpenError, match="deleted or replaced"):
        mg.open(tmp_path / "air.mg")
    db.close()
    with mg.open(tmp_path / "air.mg") as new:
        new.query("g.addV()")
    with mg.open(tmp_path / "air.mg") as again:
        assert again.query("g.V().count()").one() == 1


def in_a_fork(work):
    """What `work` returns, or raises, in a forked child."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = repr(work())
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return said


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_cannot_use_or_harm_what_its_parent_has_open(db, tmp_path):
    path = tmp_path / "air.mg"
    tx = db.transaction()
    tx.query("g.addV('airport').property(id, 'ZRH')")
    for work in (
        lambda: db.query("g.V().count()").one(),
        lambda: db.query("g.addV()"),
        lambda: db.stats(),
        lambda: tx.query("g.V().count()"),
        lambda: tx.commit(),
        lambda: mg.open(path, read_only=True),
    ):
        assert "forked" in in_a_fork(work)
    assert "LockedError" in in_a_fork(lambda: mg.open(path))

    def let_go():
        nonlocal tx
        tx = None
        db.close()

    assert in_a_fork(let_go) == "None"
    tx.commit()
    # The parent's lock outlived its child's handle.
    test_a_second_writer_is_told_who_has_it(db, tmp_path)

    def open_anew():
        db.close()
        return mg.open(path, read_only=True).query("g.V().count()").one()

    assert in_a_fork(open_anew) == "6"
    assert db.query("g.V().count()").one() == 6 and db.check() == []


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_worker_of_multiprocessing_is_told_to_open_for_itself(db):
    inherited[db.path] = db
    with multiprocessing.get_context("fork").Pool(1) as pool:
        with pytest.raises(mg.MangroveError, match="open the database in this process"):
            pool.apply(count_with, (db.path,))
    db.query("g.addV()")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_does_not_wait_for_threads_it_has_not(tmp_path):
    many = mg.open(tmp_path / "many.mg", workers=2)
    with many.ingest() as w:
        w.add_vertices("person", {"id": list(range(3000))})
        w.add_edges("knows", {"src": list(range(3000)), "dst": [i * 7 % 3000 for i in range(3000)]})
    # Heavy enough for the threads to be there.
    assert many.query("g.V().out('knows').where(__.out('knows')).count()").one() == 3000
    assert in_a_fork(lambda: many.close()) == "None"
    assert many.query("g.V().out('knows').out('knows').count()").one() == 3000


# What a forked process has of its parent.
inherited = {}


def count_with(path):
    return inherited[path].query("g.V().count()").one()


def test_threads_write_in_turn_and_read_at_once(db):
    def write(thread):
        for i in range(20):
            db.query("g.addV('n').property('thread', t)", t=thread)
            assert db.query("g.V().hasLabel('n').has('thread', t).count()", t=thread).one() == i + 1

    threads = [threading.Thread(target=write, args=(t,)) for t in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert db.query("g.V().hasLabel('n').count()").one() == 80


def test_indexes(db):
    assert db.create_index("airport", "code")
    assert not db.create_index("airport", "code")
    assert db.schema()["indexes"] == [("airport", "code")]
    assert db.query("g.V().has('airport', 'code', x).values('city')", x="LHR").one() == "London"
    assert db.drop_index("airport", "code")
    with pytest.raises(mg.MangroveError, match="did you mean"):
        db.create_index("airprot", "code")


def test_an_error_shows_the_place(db):
    with pytest.raises(mg.QueryError) as caught:
        db.query("g.V().hasLable('airport')")
    text = str(caught.value)
    assert "g.V().hasLable('airport')" in text and "^" in text and "hasLabel" in text


def test_unknown_labels_are_a_warning(db):
    with pytest.warns(mg.QueryWarning, match="airprot"):
        result = db.query("g.V().hasLabel('airprot')")
    assert len(result) == 0 and len(result.warnings) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        db.query("g.V().hasLabel('airport')")


def test_a_parameter_the_query_does_not_use_is_a_warning(db):
    with pytest.warns(mg.QueryWarning, match="no variable `memory`"):
        assert db.query("g.V().count()", memory=5).one() == 5
    with pytest.warns(mg.QueryWarning, match="no variable `y`") as caught:
        db.query("g.V().has('airport', 'code', x)", x="AUS", y=1)
    assert [warning.filename for warning in caught] == [__file__]


def test_limits_that_are_none_are_refused(db):
    for memory_mb in (0, -5):
        with pytest.raises(ValueError, match="memory_mb"):
            db.query("g.V()", memory_mb=memory_mb)
    with pytest.raises(ValueError, match="timeout"):
        db.query("g.V()", timeout=-1)
    with pytest.raises(ValueError, match='no rule "bulkin"'):
        db.query("g.V()", rules_off="bulkin")
    assert db.query("g.V().count()", rules_off="bulking").one() == 5


# What each of the queries below may take, in megabytes, and what the process may then have taken more of.
BUDGET, TAKEN = 64, 2 * 64

HUNGRY = """
import random, re, sys
import mangrovedb as mg

db = mg.open(sys.argv[1])
random.seed(1)
with db.ingest() as w:
    w.add_vertices("n", [{"id": f"v{i}"} for i in range(2000)])
    ends = [(random.randrange(2000), random.randrange(2000)) for _ in range(10_000)]
    w.add_edges("e", [{"from": f"v{a}", "to": f"v{b}"} for a, b in ends])
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) // 1024
before = peak()
try:
    db.query(sys.argv[2], memory_mb=int(sys.argv[3]))
except mg.QueryError as error:
    assert "memory budget" in str(error), error
    print(peak() - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the peak is read from Linux's /proc")
@pytest.mark.parametrize(
    "query",
    [
        "g.V().out().out().out().out().path().order()",
        "g.V().out().out().out().out().path().fold()",
        "g.V().out().out().out().out().dedup().by(path()).count()",
        "g.V().out().out().out().out().path().aggregate('x').count()",
        "g.V().repeat(both()).emit().times(4).groupCount().by(path())",
        "g.V().repeat(both()).emit().times(4).tree()",
    ],
)
def test_a_query_takes_about_the_memory_it_is_given(tmp_path, query):
    command = [sys.executable, "-c", HUNGRY, tmp_path / "hungry.mg", query, str(BUDGET)]
    taken = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert 0 < taken < TAKEN


def test_parameters_given_twice_are_refused(db):
    with pytest.raises(ValueError, match="given twice"):
        db.query("g.V(x)", {"x": 1}, x=2)




# Minutes of work in little memory.
ENDLESS = "g.inject(0).repeat(math('_ + 1')).times(2000000000).count()"


def test_results_that_take_too_much_memory_are_refused(db):
    everywhere = "g.V().repeat(both()).times(20)"
    for query in (everywhere, everywhere + ".path()", "g.V().repeat(both()).times(40).fold().unfold()"):
        with pytest.raises(mg.QueryError, match="memory budget"):
            db.query(query, memory_mb=32)
        with db.transaction() as tx:
            with pytest.raises(mg.QueryError, match="memory budget"):
                tx.query(query, memory_mb=32)
    assert db.query(everywhere + ".count()").one() > 1_000_000
    assert db.query("g.V().count()").one() == 5


def test_a_timeout_may_be_longer_than_any_clock(db):
    for timeout in (1e12, 1e300, float("inf")):
        assert db.query("g.V().count()", timeout=timeout).one() == 5
    for timeout in (-1, float("nan")):
        with pytest.raises(ValueError, match="timeout"):
            db.query("g.V()", timeout=timeout)


def test_a_timeout_stops_a_query(db):
    started = time.monotonic()
    with pytest.raises(mg.TimeoutError):
        db.query(ENDLESS, timeout=0.2)
    assert time.monotonic() - started < 5
    assert db.query("g.V().count()").one() == 5


def test_control_c_stops_a_query(db):
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        db.query(ENDLESS)
    assert time.monotonic() - started < 5
    assert db.query("g.V().count()").one() == 5


def test_other_threads_run_while_the_engine_works(db):
    ticks = []

    def tick():
        for _ in range(10):
            time.sleep(0.01)
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    with pytest.raises(mg.TimeoutError):
        db.query(ENDLESS, timeout=0.5)
    assert len(ticks) == 10
    thread.join()


def test_a_compacted_database_is_read_and_changed_as_before(db, tmp_path):
    def everything(graph):
        vertices = graph.query("g.V().order().by(id).elementMap()").to_list()
        return vertices, sorted(map(str, graph.query("g.E().project('p','e').by(outV().id()).by(valueMap())").to_list()))

    before = everything(db)
    db.create_index("airport", "code")
    assert db.compact() > 0
    assert everything(db) == before
    assert db.query("g.V().has('airport', 'code', 'AUS').out('route').count()").one() == 2
    db.query("g.V().has('airport', 'code', 'AUS').property('elev', 7).outE().drop()")
    db.query("g.addV('airport').property(id, 'ZRH').property('code', 'ZRH')")
    db.query("g.V().has('airport', 'code', 'LHR').drop()")
    changed = everything(db)
    assert changed != before and db.check() == []
    with mg.open(tmp_path / "air.mg", read_only=True) as reader:
        snapshot = everything(reader)
        db.compact()
        assert everything(reader) == snapshot == everything(db) == changed
    assert db.check() == []
    db.backup(tmp_path / "copy.mg")
    with mg.open(tmp_path / "copy.mg") as copy:
        assert everything(copy) == changed and copy.check() == []


def test_a_missing_segment_is_named(tmp_path):
    with mg.open(tmp_path / "g.mg") as db:
        db.load(nodes={"p": [{"id": 0}]}, compact=True)
    (segment,) = (tmp_path / "g.mg" / "hot").glob("*.seg")
    moved = segment.rename(tmp_path / "elsewhere")
    with pytest.raises(mg.MangroveError, match=r"\d\.seg is missing.*restore a backup"), mg.open(tmp_path / "g.mg") as db:
        db.query("g.V().count()").one()
    moved.rename(segment)
    with mg.open(tmp_path / "g.mg") as db:
        assert db.query("g.V().count()").one() == 1


def test_a_damaged_segment_is_not_backed_up(tmp_path):
    with mg.open(tmp_path / "g.mg") as db:
        db.load(nodes={"p": [{"id": 0, "name": "damaged soon"}]}, compact=True)
    (segment,) = (tmp_path / "g.mg" / "hot").glob("*.seg")
    whole = segment.read_bytes()
    segment.write_bytes(whole.replace(b"damaged soon", b"damaged SOON"))
    with mg.open(tmp_path / "g.mg") as db, pytest.raises(mg.MangroveError, match=r"\d\.seg.*damaged"):
        db.backup(tmp_path / "copy.mg")
    assert list((tmp_path / "copy.mg").iterdir()) == []
    segment.write_bytes(whole)
    with mg.open(tmp_path / "g.mg") as db:
        db.backup(tmp_path / "copy.mg")
    with mg.open(tmp_path / "copy.mg") as copy:
        assert copy.query("g.V().values('name')").one() == "damaged soon"


def test_names_that_nothing_has_are_told(db):
    with pytest.raises(mg.StorageError, match='no label named "airprt"; did you mean "airport"'):
        db.create_index("airprt", "code")
    with pytest.raises(mg.StorageError, match='no label named "ship": a name exists once data has it'):
        db.create_index("ship", "code")


def test_check_backup_export_and_stats(db, tmp_path):
    assert db.check() == []
    assert db.stats()["edges"] == {"route": 5, "in": 1}
    db.backup(tmp_path / "copy.mg")
    with mg.open(tmp_path / "copy.mg") as copy:
        assert copy.query("g.E().count()").one() == 6
    for format in ("csv", "graphml", "graphson"):
        assert db.export(tmp_path / format, format) == {"vertices": 5, "edges": 6}
        with mg.open(tmp_path / f"{format}.mg") as again:
            again.load(tmp_path / format)
            assert again.query("g.V().count()").one() == 5
            assert sorted(again.query("g.E().values('dist')")) == [190, 190, 4921, 4921, 7900]


def test_explain_shows_the_plan(db):
    plan = db.explain("g.V().has('code', x).out('route').count()", x="AUS")
    assert "route" in str(plan)
    assert [rule["rule"] for rule in plan.to_dict()["rules"]] == ["scan-filters", "degree"]
    step = plan.to_dict()["steps"][0]
    assert step["access"] == "SCAN of 5 vertices"
    assert "create_index('airport', 'code')" in step["hint"] and step["hint"] in str(plan)
    db.create_index("airport", "code")
    indexed = db.explain("g.V().has('airport', 'code', x).out('route').count()", x="AUS")
    assert indexed.to_dict()["steps"][0]["access"] == "index on airport.code"
    assert indexed.to_dict()["steps"][0]["hint"] is None
    assert "<table" in indexed._repr_html_()


def test_profile_says_what_each_step_did(db):
    profile = db.profile("g.V().has('code', x).repeat(out('route')).times(2).values('city')", x="AUS")
    steps = profile.to_dict()["steps"]
    assert (profile.results, steps[-1]["rows"]) == (len(db.query("g.V('AUS').out().out().values('city')")), 2)
    assert any(step["depth"] == 1 and step["step"].startswith("Hop") for step in steps)
    assert all(step["threads"] == 1 for step in steps)
    assert "Values(city)" in str(profile) and "<table" in profile._repr_html_()


def test_profile_shows_children(db):
    profile = db.profile("g.V().where(out('route').count().is(gt(0))).union(values('city'), out('route').values('city'))")
    steps = [(step["depth"], step["first"], step["step"].split("(")[0]) for step in profile.to_dict()["steps"]]
    children = [(1, True, "Values"), (1, True, "Hop"), (1, False, "Values")]
    assert steps[-4:] == [(0, False, "Union"), *children]
    assert "  └ Hop" in str(profile) and "└ Hop" in profile._repr_html_()


def test_profile_keeps_what_the_query_changed(db):
    assert db.profile("g.addV('airport').property(id, 'OSL')").results == 1
    assert db.query("g.V('OSL').count()").one() == 1


def test_rules_can_be_done_without(db):
    text = "g.V().hasLabel('airport').out('route').count()"
    plain = db.explain(text, rules_off=["degree", "scan-filters"]).to_dict()
    assert all(rule["rule"] not in ("degree", "scan-filters") for rule in plain["rules"])
    assert db.query(text, rules_off=["degree"]).to_list() == db.query(text).to_list()
    with pytest.raises(ValueError, match='there is no rule "fast"'):
        db.query(text, rules_off=["fast"])


def test_results_too_large_to_give_back_undo_the_change(tmp_path):
    with mg.open(tmp_path / "wide.mg") as wide:
        wide.load(nodes={"n": {"id": list(range(5000)), "text": [f"{i} " + "long " * 500 for i in range(5000)]}})
        for changing in (wide.query, lambda *given, **limits: wide.transaction().__enter__().query(*given, **limits)):
            with pytest.raises(mg.MemoryLimitError, match="results"):
                changing("g.V().property('z', 1)", memory_mb=4)
            assert wide.query("g.V().values().count()").one() == 10_000
        wide.query("g.V().property('z', 1).count()", memory_mb=4)
        assert wide.query("g.V().values().count()").one() == 15_000


@pytest.mark.parametrize("wrong", [{"workers": -1}, {"workers": 100_000}, {"region_workers": 0}])
def test_numbers_of_threads_are_checked(tmp_path, wrong):
    with pytest.raises(ValueError, match="must be a number from"):
        mg.open(tmp_path / "w.mg", **wrong)
    assert not (tmp_path / "w.mg").exists()


@pytest.mark.parametrize("crew", [{"workers": 0}, {"workers": 3, "region_workers": 1, "pin": True, "steal": False}])
def test_helped_or_alone_a_query_gives_the_same(tmp_path, crew):
    people = 3000
    with mg.open(tmp_path / "many.mg", **crew) as many:
        with many.ingest() as w:
            w.add_vertices("person", {"id": list(range(people)), "age": [i % 90 for i in range(people)]})
            ends = [(i, i * 7 % people) for i in range(people)] + [(i, i * 13 % people) for i in range(people)]
            w.add_edges("knows", {"src": [s for s, _ in ends], "dst": [t for _, t in ends]})
        ages = many.query("g.V().out('knows').out('knows').values('age')").to_list()
        second = {i: [i * 7 % people, i * 13 % people] for i in range(people)}
        assert sorted(ages) == sorted(c % 90 for i in range(people) for b in second[i] for c in second[b])
        helped = sum(step["helped"] for step in many.profile("g.V().out().out().out().count()").to_dict()["steps"])
        assert helped == 0 or crew["workers"]


def test_many_threads_write_at_once_and_each_write_is_whole(tmp_path):
    """Short writes share syncs with each other. Writes that fail, and transactions between them, do not disturb them."""
    db = mg.open(tmp_path / "busy.mg")
    db.declare_property("person", "email", "string", unique=True)
    db.query("g.addV('person').property('email', 'taken')")
    rejected = []

    def work(thread):
        for n in range(40):
            db.query("g.addV('visit').property(id, x).property('thread', t)", x=f"{thread}.{n}", t=thread)
            if n % 4 == 0:
                try:
                    db.query("g.addV('visit').property(id, x).addV('person').property('email', 'taken')", x=f"lost {thread}.{n}")
                except mg.ConstraintError as error:
                    rejected.append(str(error))
            if n % 10 == 0:
                with db.transaction() as tx:
                    tx.query("g.addV('pair').property('thread', t)", t=thread)
                    tx.query("g.addV('pair').property('thread', t)", t=thread)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(rejected) == 8 * 10
    db.close()
    db = mg.open(tmp_path / "busy.mg")
    assert db.query("g.V().groupCount().by(label)").one() == {"visit": 320, "pair": 64, "person": 1}
    assert db.query("g.V().hasLabel('visit').groupCount().by('thread')").one() == dict.fromkeys(range(8), 40)
    assert db.check() == []


def test_where_edges_lead_is_stored_once_until_an_edge_is_removed(tmp_path):
    def form(db):
        return next(part["form"] for part in db.stats()["compressed"] if part["part"] == "(ends)")

    def seen(db):
        return sorted(db.query("g.E().project('from', 'n', 'to').by(outV().id()).by('n').by(inV().id()).select(values)").to_list())

    ends = [(n * 7 % 300, n, n * 11 % 300) for n in range(2000)]
    db = mg.open(tmp_path / "graph")
    edges = [{"from": one, "to": other, "n": n} for one, n, other in ends]
    db.load(nodes={"v": [{"id": n} for n in range(300)]}, edges={("v", "e", "v"): edges}, compact=True)
    assert form(db) == "sources"
    assert seen(db) == [list(row) for row in sorted(ends)]
    # An edge that is found by its own id, and one that an index finds.
    first = db.query("g.E().has('n', 17)").one()
    assert db.query("g.E(e).project('from', 'to').by(outV().id()).by(inV().id())", e=first.id).one() == {"from": 119, "to": 187}
    db.create_index("e", "n")
    assert db.query("g.E().has('e', 'n', 17).inV().id()").to_list() == [187]
    # The lists of removed edges have gaps, and the tables add some: then the ends are written out.
    db.query("g.E().has('n', 1000).drop()")
    db.query("g.V(5).addE('e').to(__.V(6)).property('n', 2000)")
    left = sorted([list(row) for row in ends if row[1] != 1000] + [[5, 2000, 6]])
    assert seen(db) == left
    db.compact()
    assert form(db) == "ends" and seen(db) == left and db.check() == []
