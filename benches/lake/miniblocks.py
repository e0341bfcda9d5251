#!/usr/bin/env python3
"""How wide the miniblocks of DELTA_BINARY_PACKED ends are. Those of 1 to 4 bits could be decoded straight to bitmaps (VLDB'24, §4.3).

    benches/lake/.venv/bin/python benches/lake/miniblocks.py edges.bin web.csv.gz …

A block has 128 differences, less the least of them; each of its four miniblocks has one width.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent / ".venv" / "path"))
from measure import table  # noqa: E402
from topology import read  # noqa: E402


def widths(column):
    delta = np.diff(column)
    blocks = delta[: len(delta) // 128 * 128].reshape(-1, 4, 32)
    most = (blocks - blocks.min(axis=(1, 2), keepdims=True)).max(axis=2).ravel()
    return np.where(most > 0, np.floor(np.log2(np.maximum(most, 1))).astype(int) + 1, 0)


rows = []
for path in map(Path, sys.argv[1:]):
    source, target = read(path)
    found = widths(target[np.lexsort((target, source))])
    narrow = (found > 0) & (found <= 4)
    rows.append([path.name, f"{len(found):,}", f"{(found == 0).mean():.1%}", f"{narrow.mean():.1%}", int(np.median(found))])
print(table(["graph", "miniblocks of targets", "of 0 bits", "of 1 to 4 bits", "median width"], rows))
