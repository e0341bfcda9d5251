"""What somebody looks for in the documentation."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"


def text(*names):
    return "\n".join((DOCS / name).read_text() for name in names)


def test_the_commands_stand_in_the_readme():
    readme = (ROOT / "README.md").read_text()
    assert "make demo" in readme and "make test" in readme and "## Limits" in readme


@pytest.mark.parametrize("sought, page", [
    ("edge list", "recipes.md"), ("on_exists=", "recipes.md"), ("FastAPI", "recipes.md"), ("Notebook", "recipes.md"), ("restore", "recipes.md"),
    ("Upgrade", "recipes.md"), ("smaller", "recipes.md"), ("--workers", "recipes.md"), ("unique", "recipes.md"), ("rename_label", "recipes.md"),
    ("mergeV", "from-cypher.md"), ("GROUP BY", "from-sql.md"), ("networkx", "from-networkx.md"), ('id_space="label"', "gremlin.md"),
])
def test_every_task_has_its_page(sought, page):
    assert sought in text(page)


def test_the_index_leads_to_every_page():
    index = text("index.md")
    missing = [page.name for page in DOCS.glob("*.md") if page.name != "index.md" and page.name not in index]
    assert missing == []
