"""Mangrove with all data in tables, as before the first seal."""

from .mangrove_engine import Mangrove


class Tables(Mangrove):
    note = "mangrove, nothing compressed into a segment"
    loading = {"compact": False}


def make():
    return Tables()
