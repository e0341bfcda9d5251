"""Every example in the documentation runs, every public name has one, and the type stubs agree with the module."""

import ast
import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import airports

import mangrovedb as mg
import mangrovedb._types

ROOT = Path(__file__).parents[2]
PACKAGE = Path(mg.__file__).parent


def public_documentation():
    """(name, documentation) of every public function, class and method."""
    yield "mangrovedb", mg.__doc__
    for name in mg.__all__:
        thing = getattr(mg, name)
        if not callable(thing) or (inspect.isclass(thing) and issubclass(thing, BaseException)):
            continue
        yield name, thing.__doc__
        if inspect.isclass(thing):
            for member in vars(thing):
                if not member.startswith("_") and hasattr(getattr(thing, member), "__doc__"):
                    yield f"{name}.{member}", inspect.getattr_static(thing, member).__doc__


EXAMPLES = [
    test
    for name, text in public_documentation()
    if (test := doctest.DocTestParser().get_doctest(text or "", {}, name, None, None)).examples
]
# Classes that only results make, and plain ones; the examples of those that make them, and their own, show them.
EXAMPLE_OF_CLASS = {"AsyncDatabase", "EdgeData", "Vertex", "Edge", "VertexProperty", "Property", "Path", "Graph", "T", "Direction", "Merge", "Tree", "FrozenDict"}
NEEDS_NONE = {"Database.path"}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_example(example, tmp_path):
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL | doctest.NORMALIZE_WHITESPACE
    example.globs.update(mg=mg, db=airports(tmp_path / "air.mg"))
    report = []
    result = doctest.DocTestRunner(optionflags=flags).run(example, out=report.append, clear_globs=False)
    assert result.failed == 0, "".join(report)


def test_every_public_function_has_an_example():
    with_example = {example.name for example in EXAMPLES}
    names = {name for name, _ in public_documentation() if name.split(".")[0] not in EXAMPLE_OF_CLASS}
    assert names - with_example == NEEDS_NONE


def test_every_public_name_is_documented():
    undocumented = [name for name in mg.__all__ if name != "__version__" and not (getattr(mg, name).__doc__ or "").strip()]
    assert not undocumented


def test_stubs_agree_with_the_module():
    command = [sys.executable, "-m", "mypy.stubtest", "mangrovedb._mangrove", "mangrovedb.aio", "mangrovedb.analyze", "mangrovedb.launch", "mangrovedb.moves", "--ignore-missing-stub"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_name_all_that_is_public():
    trees = [ast.parse((PACKAGE / stub).read_text()) for stub in ("_mangrove.pyi", "aio.pyi", "analyze.pyi", "launch.pyi", "moves.pyi")]
    stubbed = {node.name for tree in trees for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert set(mg.__all__) - set(vars(mangrovedb._types)) - {"__version__"} <= stubbed


def test_typed_programs_pass_a_type_checker(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import mangrovedb as mg\n"
        "db: mg.Database = mg.open('x.mg', read_only=True)\n"
        "names: list[object] = db.query('g.V()', x=1, timeout=2.0).to_list()\n"
        "with db.transaction() as tx:\n"
        "    tx.query('g.addV()')\n"
        "    tx.nothing_of_the_kind()\n"
    )
    done = subprocess.run([sys.executable, "-m", "mypy", str(program)], capture_output=True, text=True)
    assert "nothing_of_the_kind" in done.stdout and "Found 1 error" in done.stdout, done.stdout + done.stderr


def readme_programs():
    return re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)


def test_readme_programs_run(tmp_path):
    first, second = readme_programs()
    done = subprocess.run([sys.executable, "-c", first], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "[1791]\n"), done.stderr
    program = "import mangrovedb as mg\n" + second + "\nprint(r.to_list(), db.query('g.V().count()').one())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    plan, profile = done.stdout.split("\n\nstep ", 1)
    assert "CountScan" not in plan and "Degree" in plan
    assert "1 result in" in profile and done.stdout.endswith("['DFW'] 3\n")


def test_readme_names_only_files_that_exist():
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", (ROOT / "README.md").read_text())
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize(("name", "least"), [("analytics", 20), ("gremlin", 12), ("layout", 8), ("social", 12), ("paths", 10)])
def test_the_examples_of_a_page_run(tmp_path, monkeypatch, name, least):
    monkeypatch.chdir(tmp_path)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    page = (ROOT / "docs" / f"{name}.md").read_text()
    report = []
    test = doctest.DocTestParser().get_doctest(page.replace("```", ""), {"mg": mg}, name, None, None)
    result = doctest.DocTestRunner(optionflags=flags).run(test, out=report.append)
    assert result.failed == 0 and result.attempted >= least, "".join(report)


def test_the_page_on_algorithms_names_all():
    page = (ROOT / "docs/analytics.md").read_text()
    table = page[page.index("## The algorithms") : page.index("## NetworkX")]
    methods = {name for name in vars(mg.Analyze) if not name.startswith("_")} - {"networkx", "project"}
    assert methods == set(re.findall(r"^\| `(\w+)` \| ", table, re.M))
