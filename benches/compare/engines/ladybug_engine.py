"""Ladybug, which carries Kuzu on and has its interface."""

from .kuzu_engine import Kuzu


def make():
    return Kuzu("ladybug")
