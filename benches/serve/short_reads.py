"""A mix of short reads of LDBC's social network: IS1 and IS3 to IS7 in equal shares, of people and messages drawn at random.

The network, the texts and the right answers are those of benches/compare. The servers load the tables that the mix reads.
"""

import dataclasses
import json
import random
import sys
import time

from servers import HERE

COMPARE = HERE.parent / "compare"
sys.path.append(str(COMPARE))

import snb  # noqa: E402
import texts  # noqa: E402
from answers import canonical  # noqa: E402

READS = ("IS1", "IS3", "IS4", "IS5", "IS6", "IS7")
VERTICES = {"Person", "Post", "Comment", "Forum", "City"}
EDGES = {"knows", "hasCreator", "replyOf", "containerOf", "hasModerator", "isLocatedIn"}
SEED = 1


def graph():
    """The tables that the reads need. The first call makes the network, which takes a minute."""
    whole = snb.describe(snb.ensure(COMPARE / ".cache"))
    edges = tuple(table for table in whole.edges if table.label in EDGES and {table.source, table.target} <= VERTICES)
    return dataclasses.replace(whole, vertices=tuple(table for table in whole.vertices if table.label in VERTICES), edges=edges)


def requests(ask, language, folder):
    """Texts and ids in a random order. Each read has the text that this server answers fastest, and its answers are right."""
    asked = json.loads((folder / "params.json").read_text())["ops"]
    found = texts.load("snb", (language,))
    chosen = []
    for read in READS:
        ids = [next(iter(params.values())) for params in asked[read]["params"]]
        text = min((with_x(text) for text in found[read]), key=lambda text: seconds(ask, text, ids))
        for x, right in zip(ids, asked[read]["answers"]):
            if canonical(ask(text, x), asked[read]["ordered"]) != right:
                raise ValueError(f"{read} of {x} has a wrong answer")
        chosen += [(text, x) for x in ids]
    random.Random(SEED).shuffle(chosen)
    return chosen


def with_x(text):
    for name in ("personId", "messageId"):
        text = text.replace(name, "x")
    return text


def seconds(ask, text, ids):
    """How long a text takes, once it is warm."""
    for x in ids:
        ask(text, x)
    begin = time.perf_counter()
    for x in ids:
        ask(text, x)
    return time.perf_counter() - begin
