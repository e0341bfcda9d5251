"""Results as the objects of other libraries, each imported only when it is asked for."""

from . import _mangrove as native


def _library(name, extra):
    try:
        return __import__(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ModuleNotFoundError(f"this needs {name}: pip install 'mangrovedb[{extra}]'", name=name) from None


def to_arrow(result):
    return _library("pyarrow", "arrow").table(result)


def to_polars(result):
    return _library("polars", "polars").DataFrame(result)


def to_pandas(result):
    names, rows = result._table(None)
    frame = _library("pandas", "pandas").DataFrame
    return frame({name: [row[at] for row in rows] for at, name in enumerate(names)})


def to_networkx(result):
    """Vertices, edges, paths and subgraphs among the results as a directed multigraph; nodes are vertex ids."""
    graph = _library("networkx", "networkx").MultiDiGraph()

    def add(item):
        if isinstance(item, native.Vertex):
            known = graph.nodes.get(item.id, {})
            graph.add_node(item.id, **{**known, "label": item.label, **item.properties})
        elif isinstance(item, native.Edge):
            add(item.outV)
            add(item.inV)
            graph.add_edge(item.outV.id, item.inV.id, key=item.id, **{"label": item.label, **item.properties})
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
    return graph
