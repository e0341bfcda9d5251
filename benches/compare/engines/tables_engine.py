"""Mangrove with all of its data in tables, as it is before it is sealed."""

from .mangrove_engine import Mangrove


class Tables(Mangrove):
    note = "mangrove, nothing compressed into a segment"
    loading = {"compact": False}


def make():
    return Tables()
