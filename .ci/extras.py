#!/usr/bin/env python3
"""Prints the requirements of one extra of pyproject.toml, extras of our own spelt out: so that tools and libraries can be
installed without building the package a second time."""

import re
import sys
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib

PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]


def requirements(extra):
    for requirement in PROJECT["optional-dependencies"][extra]:
        own = re.fullmatch(PROJECT["name"] + r"\[(.*)\]", requirement)
        if own:
            for name in own[1].split(","):
                yield from requirements(name)
        else:
            yield requirement


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1])))
