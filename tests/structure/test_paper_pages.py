"""Pages on papers (docs/papers): every file and function that a page names exists, and every equation has both."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "papers").glob("*.md"))
NAMED = re.compile(r"`((?:[\w.-]+/)+[\w.=,-]+\.\w+)(?:::([\w.]+))?`")
TABLE = "| equation | built in | tested in |"


@cache
def defined(path: Path) -> set[str]:
    """The functions, classes, methods and constants of a module; a method as Class.method."""
    found = set()

    def walk(body, before):
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(before + node.name)
            if isinstance(node, ast.ClassDef):
                walk(node.body, f"{before}{node.name}.")
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            found.update(before + target.id for target in targets if isinstance(target, ast.Name))

    walk(ast.parse(path.read_text(encoding="utf-8")).body, "")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_names_exists(page):
    named = NAMED.findall(page.read_text(encoding="utf-8"))
    assert named
    for file, name in named:
        assert (ROOT / file).is_file(), f"{page.name} names {file}, which does not exist"
        assert not name or name in defined(ROOT / file), f"{page.name} names {name}, which {file} does not define"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_equation_names_where_it_is_built_and_where_it_is_tested(page):
    text = page.read_text(encoding="utf-8")
    assert TABLE in text, f"{page.name} has no table with the head {TABLE!r}"
    rows = text.split(TABLE)[1].split("\n\n")[0].splitlines()[2:]
    assert rows
    for row in rows:
        equation, built, tested = (cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1])
        assert equation and NAMED.search(built), f"{page.name}: {equation} does not say where it is built"
        assert any(file.startswith("tests/") for file, _ in NAMED.findall(tested)), f"{page.name}: {equation}: no test"
