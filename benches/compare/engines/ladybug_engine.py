"""Ladybug, the successor of Kuzu, with the same interface."""

from .kuzu_engine import Kuzu


def make():
    return Kuzu("ladybug")
