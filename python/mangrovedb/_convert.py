"""Converts results to objects of other libraries. Each library is imported only when needed."""

import contextlib
import gc
import warnings

from . import _mangrove as native


def _library(name, extra):
    try:
        return __import__(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ModuleNotFoundError(f"this needs {name}: pip install 'mangrovedb[{extra}]'", name=name) from None


@contextlib.contextmanager
def _no_collection():
    """Pauses Python's garbage collector. While millions of objects are made, it searches all of them again and again. That takes
    half of the time, and none of them can be garbage yet."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def to_arrow(result):
    return _library("pyarrow", "arrow").table(result)


def batches(stream):
    return _library("pyarrow", "arrow").RecordBatchReader.from_stream(stream)


def to_polars(result):
    return _library("polars", "polars").DataFrame(result)


def to_dicts(result):
    names, rows = result._table(None)
    return [dict(zip(names, row)) for row in rows]


def to_pandas(result):
    pandas = _library("pandas", "pandas")
    try:
        table = to_arrow(result)
    except ModuleNotFoundError:
        names, rows = result._table(None)
        return pandas.DataFrame({name: _series(pandas, [row[at] for row in rows]) for at, name in enumerate(names)})
    made = {name: _column(pandas, table.column(name)) for name in table.column_names}
    cells = result._cells([name for name, column in made.items() if column is None])
    return pandas.DataFrame({name: _series(pandas, cells[name]) if column is None else column for name, column in made.items()})


def _column(pandas, column):
    """An Arrow column as a pandas series. Numbers are as wide as Python's, and integers stay integers even if some are missing.
    `None` for values that pandas keeps as Python objects."""
    import pyarrow.types as types

    of = column.type
    if types.is_integer(of):
        wide = column.cast("int64")
        return wide.to_pandas(types_mapper={wide.type: pandas.Int64Dtype()}.get if column.null_count else None)
    if types.is_boolean(of):
        return column.to_pandas(types_mapper={of: pandas.BooleanDtype()}.get if column.null_count else None)
    if types.is_floating(of):
        return column.cast("float64").to_pandas()
    if types.is_string(of) or types.is_timestamp(of) or types.is_duration(of):
        return column.to_pandas()
    return None


def _series(pandas, cells):
    if any(cell is None for cell in cells) and all(cell is None or type(cell) in (int, bool) for cell in cells):
        kinds = {type(cell) for cell in cells} - {type(None)}
        names = {frozenset([int]): "Int64", frozenset([bool]): "boolean"}
        return pandas.Series(cells, dtype=names.get(frozenset(kinds), object))
    return pandas.Series(cells)


def _attributes(element):
    """The properties of an element, and its label as `label`. If a property has that name, the label is `T.label`."""
    name = "T.label" if "label" in element.properties else "label"
    return {name: element.label, **element.properties}


def to_networkx(result, directed=True, multigraph=True):
    """The vertices, edges, paths and subgraphs among the results as a graph. Its nodes are vertex ids."""
    networkx = _library("networkx", "networkx")
    kinds = {(True, True): networkx.MultiDiGraph, (True, False): networkx.DiGraph, (False, True): networkx.MultiGraph}
    graph = kinds.get((directed, multigraph), networkx.Graph)()
    with _no_collection():
        parts = result._nodes_and_edges()
        if parts is not None:
            nodes, edges = parts
            graph.add_nodes_from(nodes)
            graph.add_edges_from(edges if multigraph else ((source, target, of) for source, target, _, of in edges))
            return graph

    def add(item):
        if isinstance(item, native.Vertex):
            # A vertex that comes as the end of an edge has no properties. It adds nothing to a known vertex.
            if item.id not in graph or item.properties:
                graph.add_node(item.id)
                # Not as keyword arguments: properties may have the names of add_node's own parameters.
                graph.nodes[item.id].update(_attributes(item))
        elif isinstance(item, native.Edge):
            add(item.outV)
            add(item.inV)
            ends = (item.outV.id, item.inV.id)
            graph.add_edges_from([(*ends, item.id, _attributes(item)) if multigraph else (*ends, _attributes(item))])
        elif isinstance(item, native.Path):
            for part in item.objects:
                add(part)
        elif isinstance(item, native.Graph):
            for part in (*item.vertices, *item.edges):
                add(part)
        elif isinstance(item, (list, set, tuple)):
            for part in item:
                add(part)
        elif isinstance(item, dict):
            for key, value in item.items():
                add(key)
                add(value)

    for item in result:
        add(item)
    if len(result) and not len(graph):
        what = "the results have no vertices and no edges, so the graph is empty: query them, as in db.query('g.E()').to_networkx()"
        warnings.warn(what, native.QueryWarning, stacklevel=2)
    return graph
