#!/usr/bin/env python3
"""Turns scripts of Gremlin `addV`/`addE` steps into CSV files with Neptune headers, one file a label.

    convert.py OUT_DIR SCRIPT…        (a script may be a text file, or a wheel or zip holding the air-routes scripts)

Written for the air-routes graph of the `graph-notebook` package, whose scripts are chains such as

    g.addV("airport").property(id,"3").property("code","AUS").property("runways",2).property("lat",30.19d)
    g.addE("route").property(id,"3749").from(V("1")).to(V("3")).property("dist",809)

and reads any script made of these steps and nothing else; what it does not understand is an error with its place.
"""

import csv
import re
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

SEED = "/gremlin/airports/"

TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
          |(?P<number>[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?P<suffix>[dDfFmMiIlLsSbBnN]?)(?!\w)
          |(?P<name>[A-Za-z_]\w*)
          |(?P<mark>[().,;]))""",
    re.X | re.S,
)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def unquote(literal):
    def character(match):
        escape = match[1]
        return chr(int(escape[1:], 16)) if len(escape) > 1 else ESCAPES.get(escape, escape)

    return re.sub(r"\\(u[0-9a-fA-F]{4}|.)", character, literal[1:-1], flags=re.S)


class ScriptError(Exception):
    """A script holds something that is not a chain of addV and addE steps."""


class Name(str):
    """A bare word such as `id`, as opposed to a quoted string."""


@dataclass
class Call:
    name: str
    arguments: list


@dataclass
class Element:
    label: str
    id: str | None = None
    source: str | None = None
    target: str | None = None
    properties: dict = field(default_factory=dict)


class Script:
    """Reads the calls of one script, left to right."""

    def __init__(self, text, where):
        self.text, self.where, self.at = text, where, 0

    def error(self, what):
        line = self.text.count("\n", 0, self.at) + 1
        return ScriptError(f"{self.where}:{line}: {what}, found {self.text[self.at:self.at + 40]!r}")

    def next(self):
        match = TOKEN.match(self.text, self.at)
        if not match:
            if self.text[self.at:].strip():
                raise self.error("expected a Gremlin step")
            return None
        self.at = match.end()
        return match

    def expect(self, mark):
        token = self.next()
        if not token or token["mark"] != mark:
            raise self.error(f"expected {mark!r}")

    def calls(self):
        """Every call of the chains, `g` and the dots between left out."""
        while token := self.next():
            if token["name"] and token["name"] != "g":
                yield self.call(token["name"])
            elif not token["name"] and token["mark"] not in (".", ";"):
                raise self.error("expected a step")

    def call(self, name):
        self.expect("(")
        arguments = []
        while True:
            token = self.next()
            if not token:
                raise self.error(f"the arguments of {name} do not end")
            if token["mark"] == ")":
                return Call(name, arguments)
            if token["mark"] == ",":
                continue
            arguments.append(self.argument(token))

    def argument(self, token):
        if token["string"] is not None:
            return unquote(token["string"])
        if token["number"] is not None:
            is_float = token["suffix"] in tuple("dDfFmM") or any(c in token["number"] for c in ".eE")
            return float(token["number"]) if is_float else int(token["number"])
        if token["name"] in ("true", "false"):
            return token["name"] == "true"
        if token["name"] == "V":
            return self.call("V").arguments[0]
        if token["name"]:
            return Name(token["name"])
        raise self.error("expected a value")


def elements(script):
    """The vertices and edges a script adds, in its order."""
    element = None
    for call in script.calls():
        match call:
            case Call("addV" | "addE", [str(label)]):
                if element:
                    yield element
                element = Element(label)
            case Call("property", [key, value]) if element:
                if isinstance(key, Name):
                    element.id = str(value)
                else:
                    element.properties[key] = value
            case Call("from", [end]) if element:
                element.source = str(end)
            case Call("to", [end]) if element:
                element.target = str(end)
            case Call("next" | "iterate", []):
                pass
            case _:
                raise script.error(f"step {call.name} is not one of addV, addE, property, from, to")
    if element:
        yield element


def header_type(values):
    if all(isinstance(v, bool) for v in values):
        return "Bool"
    if all(isinstance(v, int) and not isinstance(v, bool) for v in values):
        return "Int"
    if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
        return "Double"
    return "String"


def text(value):
    return str(value).lower() if isinstance(value, bool) else value


def write(path, rows):
    """One CSV file of one label: system columns first, then every property any of its elements has."""
    is_edge = rows[0].source is not None
    keys = list(dict.fromkeys(key for row in rows for key in row.properties))
    types = [header_type([row.properties[key] for row in rows if key in row.properties]) for key in keys]
    system = ["~id", "~from", "~to", "~label"] if is_edge else ["~id", "~label"]
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(system + [f"{key}:{kind}" for key, kind in zip(keys, types)])
        for row in rows:
            ids = [row.id, row.source, row.target, row.label] if is_edge else [row.id, row.label]
            out.writerow(ids + [text(row.properties.get(key, "")) for key in keys])


def scripts(path):
    """The scripts at `path`, vertices' before edges'."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            names = sorted(n for n in archive.namelist() if SEED in n and n.endswith(".txt") and "cypher" not in n)
            if not names:
                raise ScriptError(f"{path}: no air-routes scripts ({SEED}*.txt) inside")
            for name in names:
                yield Script(archive.read(name).decode("utf-8"), name.rsplit("/", 1)[1])
    else:
        yield Script(Path(path).read_text(encoding="utf-8"), str(path))


def convert(out_dir, paths):
    """Writes `vertices_LABEL.csv` and `edges_LABEL.csv` to `out_dir`; returns the number of elements by file name."""
    tables = {}
    for path in paths:
        for script in scripts(path):
            for element in elements(script):
                kind = "vertices" if element.source is None else "edges"
                tables.setdefault(f"{kind}_{element.label}.csv", []).append(element)
    out_dir = Path(out_dir)
    out_dir.mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        write(out_dir / name, rows)
    return {name: len(rows) for name, rows in sorted(tables.items())}


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    try:
        for file_name, count in convert(sys.argv[1], sys.argv[2:]).items():
            print(f"{file_name}: {count:,}")
    except (OSError, ScriptError) as error:
        sys.exit(f"error: {error}")
