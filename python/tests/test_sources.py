"""Graphs, matrices, frames and folders of other libraries, loaded as they are."""

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

import mangrovedb as mg
from test_cli import mangrove

KARATE = nx.karate_club_graph()


def edges_of(db):
    return sorted(db.query("g.E().project('a', 'b').by(outV().id()).by(inV().id())").to_dicts(), key=lambda e: (e["a"], e["b"]))


def test_a_networkx_graph_is_loaded_whole(empty):
    report = empty.load(KARATE)
    assert report["vertices"] == {"node": 34} and report["edges"] == {"edge": 78}
    assert empty.query("g.V(0).values('club')").one() == "Mr. Hi"
    assert edges_of(empty) == sorted(({"a": a, "b": b} for a, b in KARATE.edges()), key=lambda e: (e["a"], e["b"]))
    assert empty.query("g.E().values('weight').sum()").one() == sum(w for _, _, w in KARATE.edges(data="weight"))
    back = empty.query("g.V().union(identity(), outE())").to_networkx().to_undirected()
    assert nx.utils.graphs_equal(nx.Graph(back.edges()), nx.Graph(KARATE.edges()))


def test_a_graph_may_be_given_labels(empty):
    graph = nx.MultiDiGraph()
    graph.add_node("ada", born=1815)
    graph.add_edge("ada", "charles", since=1833)
    graph.add_edge("ada", "charles", since=1834)
    empty.load(nodes={"person": graph}, edges={("person", "knows", "person"): graph})
    assert empty.query("g.V().hasLabel('person').count()").one() == 2
    assert sorted(empty.query("g.V('ada').outE('knows').values('since')")) == [1833, 1834]
    with pytest.raises(TypeError, match="relabel_nodes"):
        empty.load(nx.grid_2d_graph(2, 2))


def write_node_link(graph, path):
    import json

    with open(path, "w") as file:
        json.dump(nx.node_link_data(graph, edges="links"), file)


@pytest.mark.parametrize(
    "name, write",
    [("k.gexf", nx.write_gexf), ("k.gml", nx.write_gml), ("k.json", write_node_link), ("k.gml.gz", nx.write_gml)],
)
def test_files_of_other_programs(empty, name, write):
    write(KARATE, name)
    report = empty.load(name)
    assert report["vertices"] == {"node": 34} and report["edges"] == {"edge": 78}
    assert empty.query("g.V().has('club', 'Officer').count()").one() == 17
    assert empty.query("g.E().values('weight').sum()").one() == 231


def test_the_command_reads_them_too(tmp_path):
    graphs = [("k.gexf", nx.write_gexf), ("k.gml", nx.write_gml), ("k.json", write_node_link), ("k.net", nx.write_pajek)]
    for name, write in graphs:
        write(KARATE, tmp_path / name)
        done = mangrove("load", tmp_path / f"{name}.mg", tmp_path / name)
        assert done.returncode == 0 and "loaded 34 vertices and 78 edges" in done.stderr, (name, done.stderr)
    for month, rows in [("05", "id\n1\n2\n"), ("06", "id\n3\n")]:
        (tmp_path / "days" / f"month={month}").mkdir(parents=True)
        (tmp_path / "days" / f"month={month}" / "part.csv").write_text(rows)
    done = mangrove("load", tmp_path / "d.mg", "--nodes", f"day={tmp_path}/days")
    assert done.returncode == 0, done.stderr
    assert mangrove("query", tmp_path / "d.mg", "g.V(3).values('month')", "--format", "json").stdout == "6\n"


def test_a_damaged_graph_is_an_error_that_names_the_file(empty, tmp_path):
    (tmp_path / "bad.gexf").write_text("<gexf><graph>")
    with pytest.raises(mg.LoadError, match="bad.gexf: cannot be read: ParseError") as caught:
        empty.load(tmp_path / "bad.gexf")
    assert caught.value.__cause__ is not None
    done = mangrove("load", tmp_path / "x.mg", tmp_path / "bad.gexf")
    assert done.returncode == 1 and "bad.gexf: cannot be read: ParseError" in done.stderr and not (tmp_path / "x.mg").exists()
    nx.write_gexf(KARATE, tmp_path / "k.gexf")
    done = mangrove("load", tmp_path / "x.mg", tmp_path / "k.gexf", "--write-mapping", tmp_path / "m.yaml")
    assert done.returncode == 1 and "another library reads" in done.stderr and not (tmp_path / "m.yaml").exists()


def test_the_nodes_and_edges_of_a_file_take_the_given_labels(empty, tmp_path):
    nx.write_gexf(KARATE, tmp_path / "k.gexf")
    ends = ("member", "meets", "member")
    empty.load(nodes={"member": tmp_path / "k.gexf"}, edges={ends: tmp_path / "k.gexf"})
    assert empty.query("g.V().hasLabel('member').count()").one() == 34
    assert empty.query("g.E().hasLabel('meets').count()").one() == 78
    done = mangrove("load", tmp_path / "x.mg", "--nodes", f"member={tmp_path}/k.gexf")
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "k.gexf") as file, pytest.raises(TypeError, match="give its path"):
        empty.load(nodes={"member": file})


def test_a_pajek_file(empty):
    nx.write_pajek(nx.DiGraph([("a", "b"), ("b", "c")]), "p.net")
    empty.load("p.net")
    assert sorted(empty.query("g.V().out().id()")) == ["b", "c"]
    assert empty.query("g.V().has('node', 'id', 'b').out().id()").one() == "c"


def test_a_sparse_matrix(empty):
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_array(np.array([[0, 2, 0], [0, 0, 3], [0.5, 0, 0]]))
    with pytest.raises(mg.LoadError, match="missing=\"create\""):
        empty.load(edges={("node", "to", "node"): matrix})
    empty.load(edges={("node", "to", "node"): matrix}, missing="create")
    assert edges_of(empty) == [{"a": 0, "b": 1}, {"a": 1, "b": 2}, {"a": 2, "b": 0}]
    assert empty.query("g.E().values('weight').sum()").one() == 5.5


def test_arrays_of_numpy(empty):
    empty.load(edges={("n", "to", "n"): np.array([[1, 2], [2, 3], [3, 4]])}, missing="create")
    empty.load(edges={("n", "costs", "n"): np.array([[1, 2, 0.5], [4, 1, 1.5]])})
    assert empty.query("g.V(4).outE('costs').values('weight')").one() == 1.5
    with pytest.raises(TypeError, match="is not a list of edges"):
        empty.load(edges={("n", "to", "n"): np.ones((4, 5))})
    for unclear in (np.ones((2, 2)), np.ones((3, 3))):
        with pytest.raises(TypeError, match="may be a list of edges or a matrix of adjacency"):
            empty.load(edges={("n", "to", "n"): unclear})
    with pytest.raises(TypeError, match="whole numbers"):
        empty.load(edges={("n", "to", "n"): np.array([[1.5, 2, 3], [1, 2, 3]])})


def test_lazy_frames_and_datasets(empty):
    frame = pl.DataFrame({"id": [1, 2, 3], "name": ["a", "b", "c"]})
    empty.load(nodes={"lazy": frame.lazy().filter(pl.col("id") > 1)})
    pa.parquet.write_table(pa.table({"id": [10, 11]}), "part.parquet")
    empty.load(nodes={"set": pa.dataset.dataset("part.parquet")})
    assert sorted(empty.query("g.V().id()")) == [2, 3, 10, 11]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_folder_of_partitions(empty, kind):
    table = pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"], "month": ["05", "05", "06"]})
    partitioning = pa.dataset.partitioning(pa.schema([("month", pa.string())]), flavor="hive")
    pa.dataset.write_dataset(table, "months", format=kind, partitioning=partitioning)
    empty.load(nodes={"row": "months"})
    assert sorted(map(tuple, empty.query("g.V().project('i', 'm').by(id).by('month')").to_arrow().to_pandas().values.tolist())) == [
        (1, 5), (2, 5), (3, 6)
    ]  # fmt: skip


def test_an_ingest_takes_them_too(empty):
    with empty.ingest(missing="create") as w:
        assert w.add_vertices("lazy", pl.DataFrame({"id": [100, 101]}).lazy()) == 2
        assert w.add_vertices("node", KARATE) == 34
        assert w.add_edges(("node", "edge", "node"), KARATE) == 78
        assert w.add_edges(("node", "next", "node"), np.array([[0, 1], [1, 2], [2, 3]])) == 3
    assert empty.query("g.V().count()").one() == 36 and empty.query("g.E().count()").one() == 81


def test_a_missing_cell_of_pandas_is_missing_in_dicts_too(empty):
    rows = pd.DataFrame({"id": [1, 2], "city": ["Bonn", None], "size": [1.5, None]}).to_dict("records")
    rows[1]["city"] = float("nan")
    empty.load(nodes={"f": rows})
    assert empty.schema()["vertices"]["f"]["properties"]["city"]["types"] == ["string"]
    assert empty.query("g.V().hasNot('city').id()").to_list() == [2]


def test_periods_are_refused_with_the_way(empty):
    frame = pd.DataFrame({"id": [1], "m": pd.period_range("2024-01", periods=1, freq="M")})
    with pytest.raises(mg.LoadError, match=r"column `m`: holds periods of pandas.*dt.to_timestamp"):
        empty.load(nodes={"p": frame})
    empty.load(nodes={"p": frame.assign(m=frame.m.dt.to_timestamp())})


def test_one_row_is_a_list_of_one_dict(empty):
    with pytest.raises(TypeError, match="give a list of one dict"):
        empty.load(nodes={"p": {"id": 1}})


def test_an_empty_list_has_no_rows(empty):
    report = empty.load(nodes={"p": []}, edges={("p", "e", "p"): []})
    assert sum(report["vertices"].values()) == sum(report["edges"].values()) == 0
