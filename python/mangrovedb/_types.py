"""Python classes that results use beside the element classes of the native module."""

from enum import Enum


class T(Enum):
    """Names for parts of an element. They are keys of the maps that `elementMap` gives and `mergeV` takes.

    >>> db.query("g.V().has('airport', 'code', 'AUS').elementMap('city')").one()[mg.T.label]
    'airport'
    """

    id = "id"
    label = "label"
    key = "key"
    value = "value"

    # Enum's own hash is slower: it hashes the name, in Python. Each member exists once, so its identity suffices.
    __hash__ = object.__hash__

    def __repr__(self):
        return f"T.{self.name}"


class Direction(Enum):
    """The ends of an edge. They are keys of the maps that `elementMap` gives and `mergeE` takes.

    >>> db.query("g.E().hasLabel('route').limit(1).elementMap()").one()[mg.Direction.OUT][mg.T.label]
    'airport'
    >>> edge = {mg.T.label: "route", mg.Direction.OUT: "AUS", mg.Direction.IN: "WLG"}
    >>> db.query("g.mergeE(edge).inV().id()", edge=edge).one()
    'WLG'
    """

    OUT = "OUT"
    IN = "IN"
    BOTH = "BOTH"

    def __repr__(self):
        return f"Direction.{self.name}"


class Merge(Enum):
    """A value in the map that `mergeE` takes. It means that an `option` of the step gives this end of the edge.

    >>> edge = {mg.T.label: "route", mg.Direction.OUT: mg.Merge.outV, mg.Direction.IN: "WLG"}
    >>> db.query("g.mergeE(edge).option(Merge.outV, __.V('AUS')).outV().id()", edge=edge).one()
    'AUS'
    """

    outV = "outV"
    inV = "inV"

    def __repr__(self):
        return f"Merge.{self.name}"


class Tree(dict):
    """The result of `tree()`. It maps each object that a traverser visited to the tree of the objects that followed it.

    >>> tree = db.query("g.V().has('code', 'AUS').out('route').tree().by('code')").one()
    >>> sorted(tree["AUS"])
    ['DFW', 'LHR']
    """


class FrozenDict(dict):
    """A map that cannot change, so that it can be the key of another map.

    >>> {mg.FrozenDict(code="AUS"): 1}[mg.FrozenDict(code="AUS")]
    1
    """

    def __hash__(self):
        return hash(frozenset(self.items()))

    def _refuse(self, *_, **__):
        raise TypeError("a FrozenDict cannot be changed")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse
