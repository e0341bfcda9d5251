"""The data sets of the benchmark. Each is a folder with tables of vertices and of edges, as CSV files.

    Person.csv                  id,firstName,…           a label's vertices; the first column is their id
    Person_knows_Person.csv     src,dst,creationDate     edges of one label between two labels, by those ids

Fields are never quoted, because the engines disagree on how to read quotes. `write` removes the characters that would need quotes
from texts (commas, quotes, line breaks, backslashes). An empty field means no value.
"""

from dataclasses import dataclass
from pathlib import Path

INT, FLOAT, TEXT = "int", "float", "text"
PARSERS = {INT: int, FLOAT: float, TEXT: str}
UNSAFE = str.maketrans({mark: " " for mark in ',"\\\n\r|;'})


@dataclass(frozen=True)
class Vertices:
    label: str
    columns: dict  # name: type; the first is the id
    name: str = ""
    also: tuple = ()  # further labels, for engines whose vertices may have several
    indexed: tuple = ()  # columns to index, for engines that can, beside the id

    @property
    def file(self):
        return f"{self.name or self.label}.csv"

    def header(self):
        return list(self.columns)


@dataclass(frozen=True)
class Edges:
    source: str
    label: str
    target: str
    columns: dict  # of the properties
    name: str = ""

    @property
    def file(self):
        return f"{self.name or '_'.join((self.source, self.label, self.target))}.csv"

    def header(self):
        return ["src", "dst", *self.columns]


@dataclass(frozen=True)
class Graph:
    """A data set on the disk. With `shared_ids`, one id may name a vertex in each of several labels. Queries read the edges of a
    vertex in the order of the property `time`; engines that can store them in that order do so."""

    folder: Path
    vertices: tuple
    edges: tuple
    shared_ids: bool = False
    time: str = ""

    def path(self, table):
        return self.folder / table.file

    def edges_by_label(self):
        """Maps each edge label to its tables, one for each pair of labels it joins."""
        found = {}
        for table in self.edges:
            found.setdefault(table.label, []).append(table)
        return found

    def csv_bytes(self):
        return sum(self.path(table).stat().st_size for table in (*self.vertices, *self.edges))


def write(folder, table, rows):
    """Writes rows, in the order of the table's header. None means no value."""
    with (Path(folder) / table.file).open("w") as out:
        out.write(",".join(table.header()) + "\n")
        out.writelines(",".join(map(field, row)) + "\n" for row in rows)


def field(value):
    if value is None:
        return ""
    return value.translate(UNSAFE) if isinstance(value, str) else str(value)


def read(folder, table):
    """The rows of a table, with the values of their types."""
    types = list(table.columns.values())
    parsers = [PARSERS[t] for t in (types if isinstance(table, Vertices) else [INT, INT, *types])]
    with (Path(folder) / table.file).open() as file:
        next(file)
        for line in file:
            yield [parse(text) if text else None for parse, text in zip(parsers, line.rstrip("\n").split(","))]


def dicts(folder, table):
    """The rows of a table as dictionaries, without missing values."""
    for row in read(folder, table):
        yield {key: value for key, value in zip(table.header(), row) if value is not None}


def vertices(folder, table):
    """The vertices of a table by their ids, as dictionaries."""
    key = table.header()[0]
    return {row[key]: row for row in dicts(folder, table)}
