"""Shows results as text and as Markdown tables, with the ratio of every engine to Mangrove."""

from pathlib import Path

BASE = "mangrove"
THREADS = "threads: "

# The op, figure, heading, factor to the displayed unit, and whether more is better.
LOAD = (
    ("load", "edges_per_cpu_s", "bulk load, edges per CPU-s", 1, True),
    ("load", "edges_per_s", "bulk load, edges/s", 1, True),
    ("load", "rss_bytes", "bulk load, peak memory, MB", 1e-6, False),
    ("load", "disk_bytes", "on disk, MB", 1e-6, False),
)
RMAT = (
    ("memory", "rss_bytes", "held after the queries, MB", 1e-6, False),
    ("point", "cpu_us", "point lookup with properties, µs", 1, False),
    ("hop1", "cpu_us", "1-hop neighbours, µs", 1, False),
    ("hop2", "cpu_us", "2-hop distinct, µs", 1, False),
    ("hop3", "cpu_us", "3-hop distinct, ms", 1e-3, False),
    ("bfs4", "cpu_us", "bounded BFS, depth 4, ms", 1e-3, False),
    ("filter_count", "cpu_us", "filter count, ms", 1e-3, False),
    ("group_count", "cpu_us", "group count, ms", 1e-3, False),
    ("singles", "per_s", "single durable edges/s", 1, True),
    ("batches", "per_s", "batched ingest, edges/s", 1, True),
)
GRASPER = {
    "Q1": "properties of what a filter keeps", "Q2": "two filters and a key", "Q3": "latest that cites",
    "Q4": "edges, their distinct sources", "Q5": "edges grouped", "Q6": "two conditions on neighbours",
    "Q7": "co-authors by one or two ways, first 20", "Q8": "cited along, but not these",
}
SHORT = {
    "IS1": "profile", "IS2": "latest messages", "IS3": "friends", "IS4": "a message", "IS5": "its creator", "IS6": "its forum", "IS7": "its replies",
}
COMPLEX = {
    "IC1": "namesakes within 3", "IC2": "friends' messages", "IC3": "two countries", "IC4": "new topics", "IC5": "new groups", "IC6": "tags beside a tag",
    "IC7": "likers", "IC8": "replies", "IC9": "messages within 2", "IC10": "whom to meet", "IC11": "who works where", "IC12": "experts",
    "IC13": "shortest path", "IC14": "all shortest paths",
}
TAO = {
    "obj_get": "all properties", "obj_property": "one property", "assoc_range": "latest ten edges", "assoc_get": "edges to some users",
    "assoc_count": "how many edges", "assoc_time_range": "latest ten of a window", "GS1": "friends of any kind and their names",
    "GS2": "friends in a city", "GS3": "everyone in a city with an interest", "GS4": "friends of one kind", "GS5": "the data of all edges",
    "find_equal": "by an indexed property", "find_scan": "by a property without index", "find_text": "by a part of a text",
}
TAO_SIZES = (
    ("load", "of_csv", "on disk, of the CSV files", 1, False),
    ("memory", "rss_bytes", "held after the queries, MB", 1e-6, False),
)
TAO_WRITES = ("obj_add", "obj_update", "assoc_add", "assoc_update", "assoc_del")
BESIDE = (
    ("beside", "alone_p50_us", "median alone, µs", 1, False),
    ("beside", "alone_p99_us", "p99 alone, µs", 1, False),
    ("beside", "p50_us", "median beside a heavy read, µs", 1, False),
    ("beside", "p99_us", "p99 beside a heavy read, µs", 1, False),
    ("beside", "heavy_per_s", "heavy reads/s meanwhile", 1, True),
)


def timings(ops, key):
    """Short reads in µs, complex ones in ms."""
    units = {op: ("ms", 1e-3) if op in COMPLEX else ("µs", 1) for op in ops}
    return tuple((op, key, f"{op} {what}, {units[op][0]}", units[op][1], False) for op, what in ops.items())


def sections(suite, results):
    """The tables of a suite, each with a heading and rows."""
    if suite == "rmat":
        yield "", LOAD + RMAT
    if suite == "grasper":
        for form, what in (("L", "light: one vertex or edge"), ("H", "heavy: a tenth of them")):
            ops = {f"{op}{form}": does for op, does in GRASPER.items()}
            yield f"CPU time, {what}", (LOAD if form == "L" else ()) + timings(ops, "cpu_us")
    if suite == "tao":
        yield from tao_sections()
    if suite == "snb":
        yield "CPU time, median", LOAD + timings(SHORT | COMPLEX, "cpu_us")
        yield "CPU time, 95th percentile", timings(SHORT | COMPLEX, "cpu_p95_us")
        for key, what in (("per_s_1", "one client"), ("per_s", "eight clients")):
            of_reads = (SHORT | COMPLEX).items()
            yield f"Reads a second, {what}", tuple((f"{op} clients", key, f"{op} {does}", 1, True) for op, does in of_reads)
        yield "Wall time of IS1 to IS7, while another thread repeats a heavy read (IC5, or IC9 where the data lacks what IC5 needs)", BESIDE


def tao_sections():
    yield "CPU time, median", LOAD + TAO_SIZES + timings(TAO, "cpu_us")
    yield "CPU time, 95th percentile", timings(TAO, "cpu_p95_us")
    mixes = [(f"{mix} mix", key, f"{mix}, {who}", 1, True)
             for mix in ("TAO", "LinkBench") for key, who in (("per_s_1", "one client"), ("per_s_2", "two clients"), ("per_s", "eight clients"))]
    yield "Operations a second, reads and writes as they come", tuple(mixes)
    yield "Single writes a second, one client", tuple((op, "per_s", op, 1, True) for op in TAO_WRITES)


def figure(engine, op, key):
    """A figure of an engine, or the reason for its absence."""
    measured = engine.get(op)
    if measured is None:
        return None, "—"
    if "failed" in measured:
        return None, "failed"
    if op == "load" and key.startswith("edges_per"):
        return measured["edges"] / measured["cpu_s" if "cpu" in key else "wall_s"], ""
    value = measured.get(key)
    return value, "" if value is not None else "—"


def number(value):
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def cell(engines, name, row):
    op, key, _, factor, more_is_better = row
    value, why = figure(engines[name], op, key)
    if value is None:
        return why
    text = number(value * factor)
    if engines[name][op].get("wrong"):
        text += " wrong"
    if engines[name][op].get("durable") is False:
        text += " (not durable)"
    base = figure(engines.get(BASE, {}), op, key)[0]
    if name == BASE or not base:
        return text
    ratio = base / value if more_is_better else value / base
    return f"{text} ({ratio:.0f}×)" if ratio >= 10 else f"{text} ({ratio:.2g}×)"


def table(results, rows):
    engines = {name: engine for name, engine in results["engines"].items() if any(row[0] in engine for row in rows)}
    yield ["", *engines]
    for row in rows:
        if any(row[0] in engine for engine in engines.values()):
            yield [row[2], *(cell(engines, name, row) for name in engines)]


def ablation(results, spread):
    """Mangrove's queries with parts switched off, relative to the first column. Rules use CPU time, threads use wall time."""
    found, key = {}, "wall_us" if spread else "cpu_us"
    for op, measured in results["engines"].get(BASE, {}).items():
        query, _, variant = op.partition(" | ")
        if variant and variant.startswith(THREADS) == spread:
            found.setdefault(query, {})[variant.removeprefix(THREADS)] = measured
    if found:
        variants = list(dict.fromkeys(variant for one in found.values() for variant in one))
        yield ["", f"{variants[0]}, µs", *variants[1:]]
        for query, one in found.items():
            base = one[variants[0]].get(key)
            yield [query, number(base) if base else "failed", *(switched(one.get(variant, {}), base, key) for variant in variants[1:])]


def switched(measured, base, key):
    if key not in measured or not base:
        return "failed" if "failed" in measured else "—"
    return f"{measured[key] / base:.2f}×" + (" wrong" if measured.get("wrong") else "")


def tables(suite, results):
    """The heading and rows of cells of each table that has rows."""
    for heading, rows in sections(suite, results):
        shown = list(table(results, rows))
        if len(shown) > 1:
            yield heading, shown
    for spread, what in ((False, "rules switched off, CPU time"), (True, "its work spread over more threads, wall time")):
        shown = list(ablation(results, spread))
        if shown:
            yield f"Mangrove with {what}; times relative to the first column, below 1 is faster", shown


def aligned(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))) for row in rows]


def text(suite, results):
    lines = []
    for heading, rows in tables(suite, results):
        lines += ["", *([f"{heading}:"] if heading else []), *aligned(rows)]
    return "\n".join([*lines, "", EXPLANATION, *failures(results), ""])


EXPLANATION = (
    "Queries: CPU time of the process, medians over the parameters. In brackets: how many times Mangrove is ahead (below 1: behind)."
)


def failures(results):
    for name, engine in results["engines"].items():
        for op, measured in engine.items():
            if "failed" in measured:
                yield f"- {name}, {op}: {measured['failed']}"
            elif measured.get("wrong"):
                yield f"- {name}, {op}: {measured['wrong']} of {measured['n']} answers are wrong"
            elif measured.get("refused"):
                yield f"- {name}, {op}: {measured['refused']} operations were refused"
    for op, why in results.get("left_out", {}).items():
        yield f"- {op} is left out: {why}"


def notes(results):
    for name, engine in results["engines"].items():
        about = engine.get("engine", {})
        parts = [about.get("version", ""), about.get("note", "")]
        yield f"- {name} {'; '.join(part for part in parts if part)}".rstrip()


def markdown(suite, results):
    about = results["about"]
    lines = [f"`{about['command']}` at commit `{about['commit']}`, {about['date']}.", f"Data: {about['data']}. Machine: {about['machine']}."]
    for heading, rows in tables(suite, results):
        lines += ["", *([f"{heading}:", ""] if heading else [])]
        lines += ["| " + " | ".join(rows[0]) + " |", "|---|" + "---:|" * (len(rows[0]) - 1), *("| " + " | ".join(row) + " |" for row in rows[1:])]
    lines += ["", EXPLANATION, "", *notes(results)]
    failed = list(failures(results))
    return "\n".join(lines + (["", "What failed:", "", *failed] if failed else [])) + "\n"


def markers(suite):
    name = "compare" if suite == "rmat" else f"compare {suite}"
    writer = "fragments.py" if suite == "fragments" else "run.py"
    return f"<!-- {name}: begin; written by benches/compare/{writer}, do not edit -->", f"<!-- {name}: end -->"


def insert(path, suite, shown):
    """Puts a suite's tables between its markers in a document."""
    path, (begin, end) = Path(path), markers(suite)
    text = path.read_text()
    if begin not in text or end not in text:
        raise SystemExit(f"{path} lacks the markers for the tables:\n{begin}\n{end}")
    before, rest = text.split(begin, 1)
    _, after = rest.split(end, 1)
    path.write_text(f"{before}{begin}\n{shown}{end}{after}")


def wrong_answers(results, name):
    return sum(measured.get("wrong", 0) for measured in results["engines"].get(name, {}).values())


def brief(line):
    if "failed" in line:
        return f"{line['op']:<13} FAILED: {line['failed']}"
    shown = [f"{key} {number(value)}" for key, value in line.items() if isinstance(value, (int, float)) and not isinstance(value, bool)]
    return f"{line['op']:<13} {', '.join(shown)}"
