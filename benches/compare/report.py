"""Results as text and as Markdown tables, with the ratio of every engine to Mangrove."""

from pathlib import Path

BEGIN = "<!-- compare: begin; written by benches/compare/run.py, do not edit -->"
END = "<!-- compare: end -->"
BASE = "mangrove"

# op, figure, heading, factor to the unit shown, whether more is better.
ROWS = (
    ("load", "edges_per_cpu_s", "bulk load, edges per CPU-s", 1, True),
    ("load", "edges_per_s", "bulk load, edges/s", 1, True),
    ("load", "rss_bytes", "bulk load, peak memory, MB", 1e-6, False),
    ("load", "disk_bytes", "on disk, MB", 1e-6, False),
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


def figure(engine, op, key):
    """A figure of an engine, or why there is none."""
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


def table(results):
    engines = results["engines"]
    yield ["", *engines]
    for row in ROWS:
        yield [row[2], *(cell(engines, name, row) for name in engines)]


def text(results):
    rows = list(table(results))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))) for row in rows]
    return "\n".join(["", *lines, "", EXPLANATION, *failures(results), ""])


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


def notes(results):
    for name, engine in results["engines"].items():
        about = engine.get("engine", {})
        parts = [about.get("version", ""), about.get("note", "")]
        yield f"- {name} {'; '.join(part for part in parts if part)}".rstrip()


def markdown(results):
    about = results["about"]
    rows = list(table(results))
    lines = [
        f"`{about['command']}` at commit `{about['commit']}`, {about['date']}.",
        f"Data: {about['data']}. Machine: {about['machine']}.",
        "",
        "| " + " | ".join(rows[0]) + " |",
        "|---|" + "---:|" * (len(rows[0]) - 1),
        *("| " + " | ".join(row) + " |" for row in rows[1:]),
        "",
        EXPLANATION,
        "",
        *notes(results),
    ]
    failed = list(failures(results))
    return "\n".join(lines + (["", "What failed:", "", *failed] if failed else [])) + "\n"


def insert(path, tables):
    """Puts the tables between the markers of a document."""
    path = Path(path)
    text = path.read_text()
    if BEGIN not in text or END not in text:
        raise SystemExit(f"{path} lacks the markers for the tables:\n{BEGIN}\n{END}")
    before, rest = text.split(BEGIN, 1)
    _, after = rest.split(END, 1)
    path.write_text(f"{before}{BEGIN}\n{tables}{END}{after}")


def wrong_answers(results, name):
    return sum(measured.get("wrong", 0) for measured in results["engines"].get(name, {}).values())


def brief(line):
    if "failed" in line:
        return f"{line['op']:<13} FAILED: {line['failed']}"
    shown = [f"{key} {number(value)}" for key, value in line.items() if isinstance(value, (int, float)) and not isinstance(value, bool)]
    return f"{line['op']:<13} {', '.join(shown)}"
