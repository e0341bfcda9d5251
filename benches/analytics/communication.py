#!/usr/bin/env python3
"""How many values cross between partitions, under the rules of four systems, and how even the work is (LFGraph, TRIOS 2013, section 5).

    python benches/analytics/communication.py --edges FILE.csv --markdown docs/analytics.md --plot docs/partitions.svg

For each graph and number of partitions, vertices are placed by Mangrove's hash. A value crosses
    LFGraph      once to each other partition that reads it
    Pregel       once along each edge to another partition
    GraphLab     once to each other partition that has a neighbour, in either direction
    PowerGraph   twice for each further partition that has an edge of the vertex, where edges are placed by a hash
The counts for LFGraph's rule must equal what the engine counts. Beside each stands what the rule expects of a random placement, from the
degrees alone. Uses the Python environment of run.py; run that once before.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import run

PARTITIONS = (2, 4, 8, 16, 32, 64, 128, 256)
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 640, 320, 50, 40, 20, 120
COLOURS = {"LFGraph": "#2f6f4f", "GraphLab": "#b5483a", "PowerGraph": "#8a6d1d", "Pregel": "#3b5b92"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=16, help="of the synthetic graph: 2^SCALE vertices (16)")
    parser.add_argument("--edges", type=Path, action="append", default=[], help="one more graph: a CSV file of two numbers a row")
    parser.add_argument("--markdown", type=Path, help="document whose tables to rewrite")
    parser.add_argument("--plot", type=Path, help="picture of the first graph, as SVG")
    options = parser.parse_args()
    run.prepare()
    texts = []
    for number, (name, data) in enumerate([run.kron(options.scale), *map(run.real, options.edges)]):
        found = run.peer(Path(__file__).with_name("crossings.py"), data, ",".join(map(str, PARTITIONS)))
        texts.append(f"{name}{found['about']}:\n\n{table(found['rows'])}")
        if options.plot and number == 0:
            options.plot.write_text(plot(found["rows"]))
    print("\n\n".join(texts))
    if options.markdown:
        run.insert(options.markdown, "partitions", "\n\n".join(texts))


def table(rows):
    lines = ["| partitions | LFGraph | GraphLab | PowerGraph | Pregel | most edges, by average | most values received, by average |", "|" + "---|" * 7]
    for row in rows:
        cells = [f"{row[rule]['counted']:.2f} ({row[rule]['expected']:.2f})" for rule in COLOURS]
        lines.append(f"| {row['partitions']} | {' | '.join(cells)} | {row['edges']:.2f} | {row['received']:.2f} |")
    return "\n".join(lines)


def plot(rows):
    most = max(row[rule]["counted"] for row in rows for rule in COLOURS)
    x = lambda at: LEFT + at * (WIDTH - LEFT - RIGHT) / (len(rows) - 1)
    y = lambda value: HEIGHT - BOTTOM - value / most * (HEIGHT - BOTTOM - TOP)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">']
    out.append(f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>')
    for part in range(5):
        value = most * part / 4
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#dddddd"/>')
        out.append(f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.0f}</text>')
    for at, row in enumerate(rows):
        out.append(f'<text x="{x(at):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{row["partitions"]}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">partitions; values sent for each vertex</text>')
    for rule, colour in COLOURS.items():
        points = " ".join(f"{x(at):.1f},{y(row[rule]['counted']):.1f}" for at, row in enumerate(rows))
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out.append(f'<text x="{WIDTH - RIGHT + 6}" y="{y(rows[-1][rule]["counted"]) + 4:.1f}" fill="{colour}">{rule}</text>')
    return "\n".join(out) + "\n</svg>\n"


if __name__ == "__main__":
    main()
