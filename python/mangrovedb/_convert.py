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


def _attributes(element):
    """The properties of an element, and its label as `label`; as `T.label` where a property has that name."""
    name = "T.label" if "label" in element.properties else "label"
    return {name: element.label, **element.properties}


def to_networkx(result):
    """Vertices, edges, paths and subgraphs among the results as a directed multigraph; nodes are vertex ids."""
    graph = _library("networkx", "networkx").MultiDiGraph()

    def add(item):
        if isinstance(item, native.Vertex):
            # A vertex that was seen as the end of an edge has no properties, and says nothing new of one that is known.
            if item.id not in graph or item.properties:
                graph.add_node(item.id)
                # Not as arguments, some of whose names properties may have.
                graph.nodes[item.id].update(_attributes(item))
        elif isinstance(item, native.Edge):
            add(item.outV)
            add(item.inV)
            ends = (item.outV.id, item.inV.id)
            graph.add_edge(*ends, key=item.id)
            graph.edges[(*ends, item.id)].update(_attributes(item))
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
