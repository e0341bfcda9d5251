"""Queries that take long are logged."""

import logging
import threading

import pytest

import mangrovedb as mg

WORK = "g.inject(1).repeat(identity()).times(n).count()"


def logged(caplog):
    return [record.getMessage() for record in caplog.records if record.name == "mangrovedb"]


def test_every_query_is_slow_if_the_limit_is_zero(tmp_path, caplog):
    with mg.open(tmp_path / "a.mg", slow_query=0) as db, caplog.at_level(logging.WARNING):
        db.query("g.addV('secret').property('code', x)", x="hunter2")
        db.query("g.V().hasLabel('secret').count()")
        with db.transaction() as tx:
            tx.query("g.inject(1, 2, 3)")
        with pytest.raises(mg.QueryError):
            db.query("g.inject('x').math('_ + 1')")
        first, *_ = db.stream("g.inject(7, 8)")
        db.paths("?x likes $who", who="hunter2")
        db.count_paths("?x likes ?y")
    texts = logged(caplog)
    assert [text.split(": ", 2)[2] for text in texts] == [
        "g.addV('secret').property('code', x)", "g.V().hasLabel('secret').count()", "g.inject(1, 2, 3)", "g.inject('x').math('_ + 1')",
        "g.inject(7, 8)", "?x likes $who", "?x likes ?y",
    ]  # fmt: skip
    assert "3 results" in texts[2] and "not completed" in texts[3] and "2 results" in texts[4]
    assert "0 results" in texts[5] and "1 result:" in texts[6]
    assert not any("hunter2" in text for text in texts)


def test_only_slow_queries_are_logged(caplog):
    with mg.open(":memory:", slow_query=0.05) as db, caplog.at_level(logging.WARNING):
        db.query("g.V().count()")
        assert logged(caplog) == []
        with pytest.raises(mg.TimeoutError):
            db.query(WORK, n=10**9, timeout=0.2)
    assert len(logged(caplog)) == 1 and "not completed" in logged(caplog)[0]


def test_a_write_that_waits_in_vain_is_slow(tmp_path, caplog):
    with mg.open(tmp_path / "a.mg", slow_query=0.1) as db, mg.open(tmp_path / "a.mg") as other, caplog.at_level(logging.WARNING):
        held, done = threading.Event(), threading.Event()

        def hold():
            with other.transaction() as tx:
                tx.query("g.addV('x')")
                held.set()
                done.wait(30)

        holder = threading.Thread(target=hold)
        holder.start()
        held.wait(30)
        with pytest.raises(mg.TimeoutError):
            db.query("g.addV('y')", timeout=0.2)
        done.set()
        holder.join()
    assert len(logged(caplog)) == 1 and "not completed: g.addV('y')" in logged(caplog)[0]


def test_without_the_option_nothing_is_logged(caplog):
    with mg.open(":memory:") as db, caplog.at_level(logging.WARNING):
        with pytest.raises(mg.TimeoutError):
            db.query(WORK, n=10**9, timeout=0.1)
    assert logged(caplog) == []
    with pytest.raises(ValueError, match="slow_query"):
        mg.open(":memory:", slow_query=-1)
