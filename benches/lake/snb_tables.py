"""LDBC's network as plain Parquet tables, and the mapping of them."""

from pathlib import Path

import pyarrow.csv as csv
import pyarrow.parquet as pq
import snb


def write(folder, work):
    """Writes a Parquet file for each table, and `map.yml`. Returns the description of the graph."""
    graph = snb.describe(folder)
    lines = ["nodes:"]
    for table in graph.vertices:
        copy(folder / table.file, work)
        lines.append(f"  - {{file: {stem(table)}.parquet, label: {table.label}}}")
    lines.append("edges:")
    for table in graph.edges:
        copy(folder / table.file, work)
        ends = f"source_label: {table.source}, target_label: {table.target}"
        lines.append(f"  - {{file: {stem(table)}.parquet, label: {table.label}, {ends}}}")
    (work / "map.yml").write_text("\n".join(lines) + "\n")
    return graph


def copy(file, work):
    pq.write_table(csv.read_csv(file), work / f"{file.stem}.parquet", compression="zstd", row_group_size=131_072)


def stem(table):
    return Path(table.file).stem
