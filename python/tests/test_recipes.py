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
