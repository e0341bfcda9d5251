"""DuckDB: a table for each edge label, and each query as SQL.

The SQL goes as a person would write it: from what is given towards what is asked for, each variable once, a recursive common table
expression for a path that is repeated without bound.
"""

import threading
import time

import duckdb


class DuckDb:
    name, version = "DuckDB", duckdb.__version__

    def load(self, home):
        """Makes a table of ids, and one of pairs of numbers for each label."""
        files = home / "files"
        self.connection = duckdb.connect(str(home / "duckdb"))
        run = self.connection.execute
        run(f"CREATE TABLE v AS SELECT row_number() OVER () AS n, _id AS id FROM read_parquet('{files}/vertices_*.parquet', union_by_name=true)")
        for file in sorted(files.glob("edges_*.parquet")):
            label = file.stem.removeprefix("edges_")
            pairs = f"SELECT DISTINCT a.n AS s, b.n AS t FROM '{file}' e JOIN v a ON a.id = e.src JOIN v b ON b.id = e.dst ORDER BY s, t"
            run(f'CREATE TABLE "{label}" AS {pairs}')
        run("ANALYZE")

    def count(self, query, timeout):
        """The rows, the seconds and the CPU seconds. No rows if the query ran too long or needed too much memory."""
        watch = threading.Timer(timeout, self.connection.interrupt)
        watch.start()
        begin, cpu = time.perf_counter(), time.process_time()
        try:
            rows = self.connection.execute(sql(query)).fetchone()[0]
        except (duckdb.InterruptException, duckdb.OutOfMemoryException):
            return None, float(timeout), time.process_time() - cpu
        finally:
            watch.cancel()
        return rows, time.perf_counter() - begin, time.process_time() - cpu

    def close(self):
        self.connection.close()


def sequence(edges):
    """The pairs of a sequence of edges."""
    tables = [f'(SELECT t AS s, s AS t FROM "{label}")' if back else f'"{label}"' for label, back in edges]
    joins = "".join(f" JOIN {table} e{at + 1} ON e{at}.t = e{at + 1}.s" for at, table in enumerate(tables[1:]))
    return f"SELECT DISTINCT e0.s, e{len(tables) - 1}.t FROM {tables[0]} e0{joins}"


def sql(query):
    """The query as SQL that counts its rows."""
    parts = [(f"p{at}", " UNION ".join(sequence(choice) for choice in path["choices"])) for at, path in enumerate(query["paths"])]
    start = f"(SELECT n AS x, n AS y FROM v WHERE id = '{query['start']}')" if query["start"] else "(SELECT n AS x, n AS y FROM v)"
    if query["shape"] == "branched":
        last = len(parts) - 1
        exist = "".join(f" AND EXISTS (SELECT 1 FROM {name} WHERE {name}.s = a.x)" for name, _ in parts[:-1])
        tables = ", ".join(f"{name} AS ({text})" for name, text in parts)
        return f"WITH {tables} SELECT count(*) FROM (SELECT DISTINCT a.x, p{last}.t FROM {start} a JOIN p{last} ON p{last}.s = a.x WHERE true{exist})"
    tables, before = [f"r AS (SELECT * FROM {start})"], "r"
    for at, (name, text) in enumerate(parts):
        tables.append(f"{name} AS ({text})")
        if query["paths"][at]["repeated"]:
            tables.append(f"r{at} AS (SELECT x, y FROM {before} UNION SELECT r{at}.x, {name}.t FROM r{at} JOIN {name} ON r{at}.y = {name}.s)")
        else:
            tables.append(f"r{at} AS (SELECT DISTINCT {before}.x, {name}.t AS y FROM {before} JOIN {name} ON {before}.y = {name}.s)")
        before = f"r{at}"
    return f"WITH RECURSIVE {', '.join(tables)} SELECT count(*) FROM {before}"
