"""Brings the answers of all engines into one form, in which they are compared.

An answer is a list of rows, and a row is a list of plain values. Gremlin's maps become their values in order, nested maps too.
Collected lists are sorted, because no engine promises their order; empty ones count as no value. Rows are sorted unless the query
orders them.
"""

import hashlib
import json

ROWS_KEPT = 100


def canonical(rows, ordered, sparse=False):
    """Rows in the common form. `sparse` rows hold all that an element has. They omit absent values, and the id and label of
    Gremlin's `elementMap`, which have no property name."""
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
