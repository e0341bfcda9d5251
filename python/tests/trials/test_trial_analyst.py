"""What an analyst tries first, who comes from NetworkX, pandas and notebooks."""

import gzip

import pytest

import mangrovedb as mg

networkx = pytest.importorskip("networkx")
pandas = pytest.importorskip("pandas")

from test_cli import mangrove

KARATE = networkx.karate_club_graph()


def count(db):
    return db.query("g.V().count()").one(), db.query("g.E().count()").one()


@pytest.fixture
def loaded(tmp_path):
    """Loads a file by name with the command, as far as it can be, and gives how many vertices and edges there are."""

    def load(name, *options):
        path = tmp_path / f"{name}.mg"
        done = mangrove("load", path, tmp_path / name, *options)
        if done.returncode:
            return done.stderr
        with mg.open(path) as db:
            return count(db)

    return load


def test_an_edge_list_is_loaded_and_its_ends_are_made(tmp_path, loaded, empty):
    with gzip.open(tmp_path / "soc.csv.gz", "wt") as file:
        file.write("src,dst\n" + "".join(f"{a},{b}\n" for a, b in KARATE.edges))
    failed = mangrove("load", tmp_path / "x.mg", "--edges", f"user:trusts:user={tmp_path / 'soc.csv.gz'}")
    assert failed.returncode == 1 and "--create-missing" in failed.stderr
    skipped = mangrove("load", tmp_path / "x.mg", "--edges", f"user:trusts:user={tmp_path / 'soc.csv.gz'}", "--on-error", "skip")
    assert skipped.returncode == 1, "every row was skipped"
    done = mangrove("load", tmp_path / "y.mg", "--edges", f"user:trusts:user={tmp_path / 'soc.csv.gz'}", "--create-missing")
    assert done.returncode == 0, done.stderr
    empty.load(edges={("user", "trusts", "user"): pandas.DataFrame(KARATE.edges, columns=["src", "dst"])}, missing="create")
    with mg.open(tmp_path / "y.mg") as db:
        assert count(db) == count(empty) == (34, 78)


@pytest.mark.parametrize("write, name", [
    (lambda path: networkx.write_edgelist(KARATE, path, data=False), "k.edgelist"),
    (lambda path: path.write_text("# FromNodeId\tToNodeId\n" + "".join(f"{a}\t{b}\n" for a, b in KARATE.edges)), "snap.txt"),
    (lambda path: path.write_text(f"%%MatrixMarket matrix coordinate pattern general\n34 34 78\n" + "".join(f"{a + 1} {b + 1}\n" for a, b in KARATE.edges)), "k.mtx"),
])
def test_files_of_edges_hold_edges(tmp_path, loaded, write, name):
    write(tmp_path / name)
    assert loaded(name) == (34, 78)


def test_what_is_something_else_is_not_loaded_as_a_table(tmp_path, loaded, empty):
    networkx.write_gexf(KARATE, tmp_path / "k.gexf")
    assert loaded("k.gexf") == (34, 78)
    empty.load(tmp_path / "k.gexf")
    assert count(empty) == (34, 78) and empty.query("g.V().has('club', 'Officer').count()").one() == 17
    networkx.write_adjlist(KARATE, tmp_path / "k.adjlist")
    assert isinstance(loaded("k.adjlist"), str), "refused"
    (tmp_path / "follows.csv").write_text("user,follows\n1,2\n")
    assert isinstance(loaded("follows.csv"), str), "no column is called id"


def test_columns_are_not_guessed_silently(empty):
    frame = pandas.DataFrame({"w": [3], "source_id": [1], "target_id": [2]})
    empty.load(edges={("n", "e", "n"): frame}, missing="create")
    assert empty.query("g.E().project('a', 'b', 'w').by(outV().id()).by(inV().id()).by('w')").to_dicts() == [{"a": 1, "b": 2, "w": 3}]
    with pytest.raises(mg.LoadError, match="none is called `id`"):
        empty.load(nodes={"p": [{"name": "zoe", "age": 5}]})
    with pytest.raises(mg.LoadError):
        empty.load(nodes={"p": pandas.DataFrame({"age": [5]}, index=pandas.Index(["zoe"], name="name"))})
    empty.load(nodes={"p": pandas.DataFrame({"age": [5]}, index=pandas.Index(["zoe"], name="name"))}, key={"p": "name"})
    assert empty.query("g.V('zoe').values('age')").one() == 5


def test_a_cell_can_be_run_twice(empty):
    for _ in range(2):
        report = empty.load(
            nodes={"person": [{"id": "ada"}, {"id": "bob"}]},
            edges={("person", "knows", "person"): [{"from": "ada", "to": "bob"}]},
            on_exists="update",
            on_duplicate="skip",
        )
    assert count(empty) == (2, 1) and report["vertices"] == {}


def test_there_is_one_id(empty):
    with empty.ingest() as w:
        w.add_vertices("person", [{"id": "ada"}])
    empty.query("g.addV('person').property('id', 'bob')")
    with empty.ingest() as w:
        w.add_edges("knows", [{"from": "ada", "to": "bob"}])
    assert empty.query("g.V('bob').in('knows').values('id')").to_list() == ["ada"]
    for query in ("g.V('ada')", "g.V().has('person', 'id', 'ada')", "g.V().has('id', within('ada', 'x'))"):
        assert empty.query(query + ".id()").to_list() == ["ada"]
        assert empty.explain(query).to_dict()["steps"][0]["access"] == "by id"
    with pytest.raises(mg.QueryError):
        empty.query("g.V('ada').property('id', 'ADA')")
    made = empty.query("g.addV('thing').id()").one()
    assert made.startswith("#"), "numbers are the user's"


def test_a_scan_says_so_and_how_to_spare_it(db):
    step = db.explain("g.V().has('airport', 'city', 'Austin')").to_dict()["steps"][0]
    assert step["access"].startswith("SCAN of") and "create_index('airport', 'city')" in step["hint"]


def test_columns_depend_on_the_query_alone(db):
    empty = db.query("g.V().hasLabel('airport').has('code', 'nope').project('a', 'b').by('code').by('city')")
    assert list(empty.to_pandas().columns) == ["a", "b"]
    assert list(db.query("g.V().hasLabel('airport').groupCount().by('city')").to_pandas().columns) == ["key", "value"]
    frame = db.query("g.V().project('elev').by(values('elev'))").to_pandas()
    assert str(frame["elev"].dtype) == "Int64" and frame["elev"].isna().any()


def test_plain_python_shows_results(db):
    assert "Austin" in repr(db.query("g.V('AUS').values('city')"))
    result = db.query("g.V('AUS')")
    assert result.first().get("city") == "Austin" and result.to_dicts()[0]["code"] == "AUS"


@pytest.mark.filterwarnings("ignore::mangrovedb.QueryWarning")
def test_ids_keep_their_type(empty):
    empty.load(nodes={"n": [{"id": 1}, {"id": 2}]})
    with pytest.raises(mg.LoadError, match="1"):
        empty.load(edges={("n", "e", "n"): pandas.DataFrame({"src": ["1"], "dst": ["2"]})})
    assert empty.query("g.V('2')").to_list() == []
    empty.query("g.V('2').drop()")
    assert empty.query("g.V().count()").one() == 2


@pytest.mark.parametrize("typed, expected", [
    (":timing on", "times are shown"), ("help", ":explain"), ("MATCH (n) RETURN n LIMIT 5", "g.V()"), (":profile g.V().count()", "µs"),
    ("g.tx().rollback()", ":begin, :commit and :rollback"), ("schema", "airport"), ("x = 5\nx", "5"), ("exit()", ""), (":begin\ng.addV('x')", "ended before :commit"),
])
def test_the_shell_understands(db, tmp_path, typed, expected):
    path = db.path
    db.close()
    import subprocess

    from test_cli import COMMAND

    done = subprocess.run([COMMAND, "shell", path], input=typed + "\n", capture_output=True, text=True)
    assert expected in done.stdout + done.stderr


def test_results_leave_in_columns(empty):
    empty.load(edges={("n", "e", "n"): pandas.DataFrame({"src": range(20_000), "dst": [(n * 7) % 20_000 for n in range(20_000)]})}, missing="create")
    table = empty.query("g.E()").to_arrow()
    assert table.num_rows == 20_000 and {"id", "label"} <= set(table.column_names)
    assert empty.query("g.E().limit(0)").to_arrow().column_names == table.column_names
    graph = empty.to_networkx(multigraph=False)
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (20_000, 20_000)


def test_pictures_draw_an_edge_in_its_direction(empty):
    empty.query("g.addV('p').property(T.id, 'Ann').as('a').addV('p').property(T.id, 'Bob').addE('knows').to('a')")
    walked = empty.query("g.V('Ann').in('knows').path()")._repr_html_()
    known = empty.query("g.V('Ann').inE('knows').outV().path()")._repr_html_()
    assert "marker-end" not in walked, "the order of a walk is not the direction of an edge"
    assert "marker-end" in known
