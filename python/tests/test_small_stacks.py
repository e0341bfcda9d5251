"""Queries as long as they may be on threads with little stack. A process that overflows its stack ends."""

import subprocess
import sys
import threading

import pytest

import mangrovedb as mg

LONG = "g.V().limit(1)" + ".optional(out('none'))" * 990 + ".count()"


@pytest.fixture
def on_a_small_stack():
    before = threading.stack_size(256 << 10)
    yield run_in_a_thread
    threading.stack_size(before)


def run_in_a_thread(work):
    outcome = []
    thread = threading.Thread(target=lambda: outcome.append(work()))
    thread.start()
    thread.join()
    assert outcome, "it raised, see the warning"
    return outcome[0]


@pytest.mark.filterwarnings("ignore:the graph has no edge label")
def test_long_queries_run(db, on_a_small_stack):
    assert on_a_small_stack(lambda: db.query(LONG).one()) == 1
    assert on_a_small_stack(lambda: list(db.stream(LONG))) == [1]
    assert on_a_small_stack(lambda: str(db.explain(LONG))).count("none") >= 990
    assert on_a_small_stack(lambda: str(db.profile(LONG))).count("none") >= 990
    assert on_a_small_stack(lambda: db.query("g.V()" + ".as('a').out().in()" * 660 + ".limit(1).count()").one()) == 1


@pytest.mark.filterwarnings("ignore:the graph has no")
@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("g.V('none')" + ".project('a')" * 1500, ["a"]),
        # Each step would double the type of its results.
        ("g.V('none')" + ".project('a', 'b')" * 300, ["a", "b"]),
        ("g.V('none')" + ".group().by('x').unfold()" * 500, ["key", "value"]),
        ("g.V('none')." + "repeat(__.out().inE()." * 40 + "outV()" + ").times(1)" * 40 + ".values('x')", ["value"]),
    ],
)
def test_long_queries_have_columns(db, on_a_small_stack, query, columns):
    assert on_a_small_stack(lambda: db.query(query).to_arrow().column_names) == columns


def test_values_as_deep_as_they_may_be_come_back(db, on_a_small_stack):
    deep = on_a_small_stack(lambda: db.query("g.inject(1).repeat(fold()).times(60)").one())
    for _ in range(60):
        (deep,) = deep
    assert deep == 1
    assert on_a_small_stack(lambda: len(db.query("g.inject(1).repeat(identity()).times(90).tree()").one())) == 1
    with pytest.raises(mg.QueryError, match="nested more than 64"):
        db.query("g.inject(1)" + ".fold()" * 1_900)


def test_a_procedure_at_the_bottom_of_a_long_query(db, on_a_small_stack):
    def twice(params, value):
        yield value
        yield value

    db.register_procedure("twice", twice)
    text = "g.inject(1).call('twice')" + ".coalesce(is(0), identity())" * 600
    assert on_a_small_stack(lambda: db.query(text).to_list()) == [1, 1]

    def fails(params, value):
        raise ValueError("of its own")

    db.register_procedure("fails", fails)
    raised = on_a_small_stack(lambda: pytest.raises(mg.QueryError, db.query, text.replace("twice", "fails")).value)
    assert isinstance(raised.__cause__, ValueError)


def test_control_c_stops_a_long_query_of_a_main_thread_with_a_small_stack(tmp_path):
    program = f"""
import os, resource, signal, sys, threading
if len(sys.argv) == 1:
    resource.setrlimit(resource.RLIMIT_STACK, (600 << 10, resource.RLIM_INFINITY))
    os.execv(sys.executable, [sys.executable, __file__, "again"])
import mangrovedb as mg
db = mg.open({str(tmp_path / "db")!r})
endless = "g.inject(0).repeat(math('_ + 1')).times(2000000000)" + ".identity().optional(out())" * 900
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    db.query(endless)
except KeyboardInterrupt:
    print("stopped", db.query("g.inject(1)").one())
"""
    path = tmp_path / "program.py"
    path.write_text(program)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "stopped 1\n"), done.stderr


def test_a_procedure_that_writes_at_the_bottom_of_a_long_write_is_refused(db, on_a_small_stack):
    db.register_procedure("writes", lambda params, value: db.query("g.addV('n')").to_list())
    text = "g.addV('n').call('writes')" + ".coalesce(is(0), identity())" * 600
    raised = on_a_small_stack(lambda: pytest.raises(mg.QueryError, db.query, text).value)
    assert isinstance(raised.__cause__, mg.TransactionError), repr(raised.__cause__)
