"""Every block and every query of the recipes, and of the pages for those who know other languages, does what the page says."""

import contextlib
import io
import re
import warnings
from pathlib import Path

import networkx as nx
import pytest

import mangrovedb as mg

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


def promised(block):
    """What the comments behind a block's `print` say it prints."""
    return [line.rsplit("# ", 1)[1].strip() for line in block.splitlines() if line.lstrip().startswith("print(") and "# " in line]


@pytest.mark.parametrize("page", ["recipes.md", "from-networkx.md"])
def test_blocks_run_and_print_what_they_say(page):
    scope = {"mg": mg}
    assert blocks(page)
    for block in blocks(page):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(block, scope)
        lines = printed.getvalue().splitlines()
        assert len(lines) == len(promised(block)), block
        for line, promise in zip(lines, promised(block)):
            parts = promise.split("…")
            assert line.startswith(parts[0]) and line.endswith(parts[-1]), (line, promise)


def queries(page):
    rows = [line for line in (DOCS / page).read_text().splitlines() if line.startswith("| `") or line.startswith("| ")]
    answers = [row.rsplit(" | ", 1)[1] for row in rows if " | " in row]
    return [query for answer in answers for query in re.findall(r"`(g\..*?)`", answer)]


@pytest.mark.parametrize("page, least", [("from-cypher.md", 20), ("from-sql.md", 18), ("from-networkx.md", 12)])
def test_queries_of_a_page_run(empty, page, least):
    if page == "from-networkx.md":
        empty.load(nx.karate_club_graph())
    else:
        people = [{"id": "ada", "name": "Ada", "age": 36, "city": "Oslo"}, {"id": "bob", "name": "Bob", "age": 20, "city": "Rome"}]
        empty.load(nodes={"person": people}, edges={("person", "knows", "person"): [{"from": "ada", "to": "bob", "since": 2001}]})
    assert len(queries(page)) >= least
    for query in queries(page):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            empty.query(query, timeout=20)
    assert empty.check() == []


def test_every_page_is_in_the_index():
    text = (DOCS / "index.md").read_text()
    pages = {path.name for path in DOCS.glob("*.md")} - {"index.md"}
    assert pages == set(re.findall(r"\]\(([\w-]+\.md)\)", text))
    links = [link for page in DOCS.glob("*.md") for link in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", page.read_text())]
    assert all((DOCS / link).exists() for link in links), [link for link in links if not (DOCS / link).exists()]


def test_what_the_page_for_networkx_pairs_is_the_same(empty):
    page = (DOCS / "from-networkx.md").read_text()
    pairs = {left: right for left, right in re.findall(r"^\| `([^`]+)` \| `([^`]+)`[^|]*\|$", page, re.MULTILINE)}
    graph = nx.karate_club_graph()
    empty.load(graph)
    ask = lambda call: empty.query(pairs[call])
    ego = ask("nx.ego_graph(G, 0, 2)").one()
    assert len(ego.edges) == nx.ego_graph(graph, 0, 2).number_of_edges() and len(ego.vertices) == 26
    lengths = nx.single_source_shortest_path_length(graph, 0, 3)
    assert ask("nx.single_source_shortest_path_length(G, 0, 3)").one() == lengths
    assert len(ask("nx.shortest_path(G, 0, 33)").one()) == len(nx.shortest_path(graph, 0, 33))
    assert ask("dict(G.degree)").to_dicts() == [{"id": node, "degree": degree} for node, degree in graph.degree]
    assert ask("G.number_of_edges()").one() == graph.number_of_edges()
