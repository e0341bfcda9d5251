"""Lists of edges as other tools write them, and files that are nothing Mangrove reads."""

import gzip

import networkx as nx
import pytest

import mangrovedb as mg


@pytest.fixture
def db(tmp_path):
    with mg.open(tmp_path / "db") as db:
        yield db


def edges(db, key=None):
    by = f".by(coalesce(values('{key}'), constant(0)))" if key else ".by(constant(0))"
    rows = db.query(f"g.E().project('s', 't', 'w').by(outV().id()).by(inV().id()){by}").to_list()
    return sorted((row["s"], row["t"], row["w"]) for row in rows)


KARATE = nx.karate_club_graph()


def test_a_list_that_networkx_wrote(db, tmp_path):
    nx.write_edgelist(KARATE, tmp_path / "karate.edgelist")
    report = db.load(tmp_path / "karate.edgelist")
    assert (report["vertices"], report["edges"]) == ({"vertex": 34}, {"karate": 78})
    assert edges(db, "weight") == sorted((s, t, data["weight"]) for s, t, data in KARATE.edges(data=True))
    assert db.explain("g.V().has('id', 0)").to_dict()["steps"][0]["access"] == "by id"


def test_a_weighted_list(db, tmp_path):
    nx.write_weighted_edgelist(KARATE, tmp_path / "k.txt")
    db.load(edges={("member", "knows", "member"): tmp_path / "k.txt"})
    assert edges(db, "weight") == sorted((s, t, data["weight"]) for s, t, data in KARATE.edges(data=True))
    assert db.query("g.V().groupCount().by(label)").one() == {"member": 34}


def test_a_list_of_snap(db, tmp_path):
    text = "# Directed graph\n# FromNodeId\tToNodeId\n0\t4\n0\t5\n\n4\t5\n"
    (tmp_path / "snap.txt.gz").write_bytes(gzip.compress(text.encode()))
    db.load(tmp_path / "snap.txt.gz")
    assert edges(db) == [(0, 4, 0), (0, 5, 0), (4, 5, 0)]


def test_a_matrix(db, tmp_path):
    (tmp_path / "m.mtx").write_text("%%MatrixMarket matrix coordinate real general\n% a comment\n4 4 2\n2 1 0.5\n3 1 2\n")
    report = db.load(tmp_path / "m.mtx")
    assert (report["vertices"], edges(db, "weight")) == ({"vertex": 4}, [(2, 1, 0.5), (3, 1, 2.0)])
    for wrong, why in (("array real general", "first line must be"), ("coordinate real general\n3 4 1", "not square")):
        (tmp_path / "w.mtx").write_text(f"%%MatrixMarket matrix {wrong}\n1 1 1\n")
        with pytest.raises(mg.LoadError, match=why):
            db.load(tmp_path / "w.mtx")


def test_ids_that_are_words_and_bad_lines(db, tmp_path):
    (tmp_path / "words").write_text("ada charles\nada mary {'since': 1833, 'kind': 'friend'}\n")
    with pytest.raises(mg.LoadError, match='the header `ada charles` is one column with blanks in its name.*format="edgelist"'):
        db.load(tmp_path / "words")
    db.load(tmp_path / "words", format="edgelist")
    assert db.query("g.V('ada').outE().has('since', 1833).inV().id()").one() == "mary"
    (tmp_path / "bad.edgelist").write_text("1 2\n3\n")
    with pytest.raises(mg.LoadError, match=r"bad.edgelist:2:1: expected an edge: two ids"):
        db.load(tmp_path / "bad.edgelist")
    (tmp_path / "more.edgelist").write_text("1 2 x y\n")
    with pytest.raises(mg.LoadError, match=r"more.edgelist:1:1: after the two ids, expected a number"):
        db.load(tmp_path / "more.edgelist")


def test_xml_that_is_no_graphml_is_refused(db, tmp_path):
    nx.write_gexf(KARATE, tmp_path / "k.graphml")
    with pytest.raises(mg.LoadError, match="the root element is `gexf`, but the only XML that Mangrove reads is GraphML. The Python package"):
        db.load(tmp_path / "k.graphml")
    assert db.query("g.V().count()").one() == 0


def test_an_adjacency_list_is_refused(db, tmp_path):
    nx.write_adjlist(KARATE, tmp_path / "k.adjlist")
    with pytest.raises(mg.LoadError):
        db.load(tmp_path / "k.adjlist")
    assert db.query("g.V().count()").one() == 0


def test_a_matrix_that_claims_too_many_rows_is_refused(db, tmp_path):
    (tmp_path / "big.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n900000000000000000 900000000000000000 1\n1 2\n")
    with pytest.raises(mg.LoadError, match="claims 900000000000000000 rows, but has only 1 entries"):
        db.load(tmp_path / "big.mtx")


@pytest.mark.parametrize("write", ["write_adjlist", "write_multiline_adjlist"])
def test_a_list_of_neighbours_is_no_table_of_vertices(tmp_path, write):
    graph, path = nx.path_graph(3), tmp_path / "neighbours.adj"
    getattr(nx, write)(graph, path)
    header = path.read_text().splitlines()[0]
    with mg.open(":memory:") as db:
        for key in (None, {"neighbours": header}):
            with pytest.raises(mg.LoadError, match=r"looks like a comment.*networkx.read_adjlist\(\)"):
                db.load(path, key=key)
        with pytest.raises(mg.LoadError, match="looks like a comment"):
            db.load(nodes={"thing": path}, key={"thing": header})
        assert db.query("g.V().count()").one() == 0
        db.load(getattr(nx, write.replace("write", "read"))(path))
        assert db.query("g.V().count()").one() == 3
