"""What NetworkX asks about the backend when it is imported itself. So this module does not import it."""

_BETWEEN = "between two vertices of a database: searched from both ends"

FUNCTIONS = {
    "all_shortest_paths": _BETWEEN,
    "average_clustering": "undirected graphs without weights",
    "betweenness_centrality": "all sources, no weights, endpoints left out",
    "bidirectional_dijkstra": _BETWEEN,
    "bidirectional_shortest_path": _BETWEEN,
    "clustering": "undirected graphs without weights",
    "connected_components": None,
    "core_number": "undirected graphs",
    "greedy_color": "the strategy largest_first, without interchange; of nodes with as many neighbours, another may be first",
    "has_path": _BETWEEN,
    "is_connected": None,
    "is_strongly_connected": None,
    "is_weakly_connected": None,
    "leiden_communities": "all levels; the seed changes nothing",
    "louvain_communities": "undirected graphs, all levels; the seed and the threshold change nothing",
    "maximal_matching": None,
    "node_connected_component": None,
    "number_connected_components": None,
    "number_strongly_connected_components": None,
    "number_weakly_connected_components": None,
    "pagerank": None,
    "shortest_path": _BETWEEN,
    "shortest_path_length": _BETWEEN,
    "single_source_dijkstra_path_length": "a property as weight, no function",
    "single_source_shortest_path_length": None,
    "strongly_connected_components": None,
    "triangles": None,
    "weakly_connected_components": None,
}


def info():
    """The description of the backend, in NetworkX's form."""
    functions = {name: {"additional_docs": f"Mangrove runs it for {notes}."} if notes else {} for name, notes in FUNCTIONS.items()}
    return {
        "backend_name": "mangrove",
        "project": "mangrovedb",
        "package": "mangrovedb",
        "short_summary": "Algorithms on several threads, on NetworkX graphs and on open databases.",
        "functions": functions,
    }
