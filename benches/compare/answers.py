"""Answers in the one form they are compared in, whatever engine gave them.

An answer is a list of rows, a row a list of plain values. Gremlin's maps become their values in their order, maps in maps likewise;
collected lists are sorted, since no engine promises an order there, and empty ones are no value; rows are sorted too unless the query orders them.
"""

import hashlib
import json

ROWS_KEPT = 100


def canonical(rows, ordered, sparse=False):
    """`sparse` rows hold whatever an element has: what is absent is left out, and so are the id and label of Gremlin's `elementMap`, which
    are under no name."""
    rows = [list(cells(present(row) if sparse else row)) for row in rows]
    if not ordered:
        rows.sort(key=json.dumps)
    if len(rows) <= ROWS_KEPT:
        return rows
    return [len(rows), hashlib.blake2b(json.dumps(rows).encode(), digest_size=8).hexdigest()]


def present(row):
    if isinstance(row, dict):
        row = [value for key, value in row.items() if isinstance(key, str)]
    return [value for value in row if value is not None]


def cells(row):
    if isinstance(row, dict):
        for value in row.values():
            yield from cells(value) if isinstance(value, dict) else (cell(value),)
    elif isinstance(row, (list, tuple)):
        for value in row:
            yield from cells(value) if isinstance(value, dict) else (cell(value),)
    else:
        yield cell(row)


def cell(value):
    if isinstance(value, (list, tuple, set)):
        return sorted((cell(item) for item in value), key=json.dumps) or None
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return int(value) if value == int(value) else round(value, 6)
    return value
