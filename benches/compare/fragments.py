#!/usr/bin/env python3
"""Measures over how many fragments updates scatter the data of a vertex, with and without merges (ZipG, appendix A).

    python benches/compare/fragments.py --markdown docs/benchmarks.md --plot docs/fragments.svg

Runs crates/testkit/examples/fragments.rs, which documents the work and the measurements. Needs cargo.
"""

import argparse
import csv
import io
import subprocess
from pathlib import Path

import report

ROOT = Path(__file__).resolve().parent.parent.parent
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 640, 320, 60, 50, 20, 130
COLOURS = {"without merges": "#b5483a", "with merges": "#2f6f4f"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vertices", type=int, default=50_000)
    parser.add_argument("--operations", type=int, default=200_000)
    parser.add_argument("--every", type=int, default=10_000, help="operations between two seals")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    command = ["cargo", "run", "--release", "-q", "-p", "mangrove-testkit", "--example", "fragments", "--"]
    command += [str(n) for n in (options.vertices, options.operations, options.every)]
    print("$", " ".join(command), flush=True)
    printed = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    scattered, beside = (list(csv.DictReader(io.StringIO(part))) for part in printed.split("\n\n"))
    runs = {"without merges": [], "with merges": []}
    for row in scattered:
        runs["with merges" if row["merging"] == "true" else "without merges"].append(row)
    text = markdown(" ".join(command), runs, beside)
    print(text)
    if options.markdown:
        report.insert(options.markdown, "fragments", text)
    if options.plot:
        options.plot.write_text(plot(runs))


def markdown(command, runs, beside):
    lines = [f"`{command}` at commit `{commit()}`.", ""]
    lines += ["| operations | | segments | fragments of a vertex, mean | most | read, median, µs | read, 99%, µs |"]
    lines += ["|---:|---|---:|---:|---:|---:|---:|"]
    for name, rows in runs.items():
        for row in {id(row): row for row in (rows[0], rows[len(rows) // 2], rows[-1])}.values():
            figures = [f"{float(row['fragments_mean']):.2f}", row["fragments_max"], row["read_us_median"], row["read_us_p99"]]
            lines.append(f"| {int(row['operations']):,} | {name} | {row['segments']} | {' | '.join(figures)} |")
    lines += ["", "| reads beside | reads | median, µs | 99%, µs | 99.9%, µs |", "|---|---:|---:|---:|---:|"]
    for row in beside:
        figures = [row["read_us_median"], row["read_us_p99"], row["read_us_p999"]]
        lines.append(f"| {row['beside']} | {int(row['reads']):,} | {' | '.join(figures)} |")
    return "\n".join(lines) + "\n"


def commit():
    git = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(git, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False).stdout.strip()


def plot(runs):
    """An SVG of the mean number of fragments over operations, with one line per run."""
    most = max(float(row["fragments_mean"]) for rows in runs.values() for row in rows)
    last = max(int(row["operations"]) for rows in runs.values() for row in rows)
    x = lambda operations: LEFT + (WIDTH - LEFT - RIGHT) * operations / last
    y = lambda fragments: HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * fragments / most
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">']
    out.append(f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>')
    for step in range(5):
        operations, fragments = last * step // 4, most * step / 4
        out.append(f'<text x="{x(operations)}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{operations:,}</text>')
        out.append(f'<text x="{LEFT - 8}" y="{y(fragments) + 4}" text-anchor="end">{fragments:.1f}</text>')
        out.append(f'<path d="M{LEFT} {y(fragments)}H{WIDTH - RIGHT}" stroke="#ddd"/>')
    for name, rows in runs.items():
        points = [(x(int(row["operations"])), y(float(row["fragments_mean"]))) for row in rows]
        path = "L".join(f"{px:.1f} {py:.1f}" for px, py in points)
        out.append(f'<path d="M{path}" fill="none" stroke="{COLOURS[name]}" stroke-width="2"/>')
        out.append(f'<text x="{points[-1][0] + 6}" y="{points[-1][1] + 4}" fill="{COLOURS[name]}">{name}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    out.append(f'<text x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">operations</text>')
    turned = f'transform="rotate(-90 14 {HEIGHT / 2})"'
    out.append(f'<text x="14" y="{HEIGHT / 2}" text-anchor="middle" {turned}>fragments of a vertex, mean</text>')
    return "\n".join(out) + "\n</svg>\n"


if __name__ == "__main__":
    main()
