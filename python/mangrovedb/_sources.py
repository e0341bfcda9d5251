"""Turns data of other libraries, and files that they read, into tables for a load. A library is imported only if the program has
imported it already, or if a file needs it."""

import json
import operator
import os

# The readers of networkx, by file extension.
READERS = {".gexf": "read_gexf", ".gml": "read_gml", ".net": "read_pajek", ".paj": "read_pajek", ".pajek": "read_pajek"}
COMPRESSED = (".gz", ".bz2")
HEAD = 1 << 16


def read(path):
    """The graph in a file that networkx reads; `None` if it is another file."""
    name = os.fspath(path)
    if isinstance(name, bytes):
        return None
    stem = name.lower()
    for end in COMPRESSED:
        stem = stem.removesuffix(end)
    end = os.path.splitext(stem)[1]
    if end == ".json":
        return node_link(name)
    if end not in READERS:
        return None
    graph = getattr(networkx(name), READERS[end])(name)
    if READERS[end] == "read_pajek":
        # Pajek numbers vertices itself; their names are the ids.
        for _, data in graph.nodes(data=True):
            data.pop("id", None)
    return graph


def read_table(path, of_edges):
    """The nodes or the edges of a graph in a file, or the rows of a folder of partitions; `None` if it is neither."""
    graph = read(path)
    if graph is None:
        return partitioned(path)
    return edges(graph) if of_edges else nodes(graph)


def node_link(name):
    """The graph in a file as `networkx.node_link_data` writes it."""
    try:
        with open(name, encoding="utf-8") as file:
            # A file of JSON Lines may be large. Its head suffices to see that it is no such graph.
            head = file.read(HEAD)
            if head.lstrip()[:1] != "{" or not any(f'"{word}"' in head for word in ("nodes", "links", "edges", "directed")):
                return None
            file.seek(0)
            data = json.load(file)
    except (OSError, ValueError):
        return None  # the loader reports what is wrong, and where
    links = "links" if "links" in data else "edges"
    if not isinstance(data.get("nodes"), list) or not isinstance(data.get(links), list):
        return None
    return networkx(name).node_link_graph(data, edges=links)


def networkx(name):
    try:
        import networkx
    except ModuleNotFoundError:
        raise ModuleNotFoundError(f"reading {name} needs networkx: pip install 'mangrovedb[networkx]'", name="networkx") from None
    return networkx


def is_graph(given):
    return all(hasattr(given, name) for name in ("nodes", "edges", "is_directed", "is_multigraph"))


def nodes(graph):
    """The nodes of a networkx graph as rows."""
    name = "~id" if any(data.get("id", node) != node for node, data in graph.nodes(data=True)) else "id"
    return [{name: checked(node), **attributes(data, name)} for node, data in graph.nodes(data=True)]


def edges(graph):
    """The edges of a networkx graph as rows. An undirected edge gives one row."""
    rows = graph.edges(data=True)
    return [{"~from": checked(source), "~to": checked(target), **attributes(data, "~from", "~to")} for source, target, data in rows]


def attributes(data, *taken):
    return {str(key): value for key, value in data.items() if key not in taken}


def checked(node):
    if isinstance(node, str):
        return node
    try:
        if not isinstance(node, bool):
            return operator.index(node)
    except TypeError:
        pass
    raise TypeError(f"node ids must be integers or texts, not {node!r}: rename the nodes with networkx.relabel_nodes()")


def table(given, of_edges):
    """A table from data that is no table yet. `None` if the data needs no conversion."""
    if hasattr(given, "read") and hasattr(given, "seek"):
        raise TypeError("an open file has no name that tells its format: give its path, or a table read from it")
    if type(given).__name__ == "Series":
        raise TypeError("a Series is one column: give a data frame, as in series.to_frame('id')")
    if is_graph(given):
        return edges(given) if of_edges else nodes(given)
    if of_edges and hasattr(given, "tocoo") and hasattr(given, "nnz"):
        return matrix(given.tocoo())
    if type(given).__name__ == "LazyFrame" and hasattr(given, "collect"):
        return given.collect()
    if hasattr(given, "scanner") and hasattr(given, "to_batches"):
        return given.scanner().to_reader()
    if of_edges and getattr(given, "ndim", None) == 2 and hasattr(given, "dtype") and hasattr(given, "T"):
        return pairs(given)
    return None


def matrix(sparse):
    """The entries of a sparse matrix as edges from row to column, with the value of the entry."""
    return {"src": sparse.row.astype("int64"), "dst": sparse.col.astype("int64"), "weight": sparse.data}


def pairs(array):
    """The rows of a NumPy array as edges: source, target and, if there is a third column, weight."""
    rows, columns = array.shape
    if columns in (2, 3) and rows == columns:
        raise TypeError(
            f"an array of {rows} × {columns} may be a list of edges or a matrix of adjacency: for edges, give a dict of columns, "
            '{"src": array[:, 0], "dst": array[:, 1]}; for a matrix, scipy.sparse.coo_array(array)'
        )
    if columns not in (2, 3):
        raise TypeError(
            f"an array of {rows} × {columns} is not a list of edges: that has two columns, or three with a weight. For an "
            "adjacency matrix, give scipy.sparse.coo_array(array); for other tables, a dict of columns"
        )
    named = {"src": array[:, 0], "dst": array[:, 1]}
    if columns == 3:
        whole = {name: column.astype("int64") for name, column in named.items()}
        if any((whole[name] != named[name]).any() for name in named):
            raise TypeError("the first two columns are the ends of edges, and must be whole numbers")
        return {**whole, "weight": array[:, 2]}
    return named


def partitioned(path):
    """The rows of a folder in Hive's layout, with subfolders called `column=value`. `None` for any other folder."""
    try:
        inside = os.listdir(path) if os.path.isdir(path) else []
    except OSError:
        return None
    if not any("=" in name and os.path.isdir(os.path.join(path, name)) for name in inside):
        return None
    try:
        import pyarrow.dataset
    except ModuleNotFoundError:
        raise ModuleNotFoundError(f"partitions in {path} need pyarrow: pip install 'mangrovedb[arrow]'", name="pyarrow") from None
    kinds = {os.path.splitext(name)[1].lstrip(".") for _, _, names in os.walk(path) for name in names if not name.startswith((".", "_"))}
    kind = kinds.pop() if len(kinds) == 1 else "parquet"
    return pyarrow.dataset.dataset(path, format=kind, partitioning="hive").scanner().to_reader()
