"""The documentation builds without a warning; its commands, its Python code and its plug-ins run as printed."""

import json
import re
import shutil
import subprocess
import sys
import tomllib

import pytest

from odtc.base.registry import Registry
from tests.browser import CHROMIUM, Browser
from tests.command_line import EXTRA, without
from tests.docs.test_readme import PYTHON, ROOT, environment, folder  # noqa: F401

PAGES = sorted((ROOT / "docs").glob("**/*.md"))
# What `python -c` runs: each block for itself in a folder of its own, in one process, which imports odtc once.
ALONE = """
import os, sys
for folder, block in zip(sys.argv[1::2], sys.argv[2::2]):
    os.chdir(folder)
    exec(compile(block, folder, "exec"), {"__name__": "__main__"})
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    for package in ("material", "mkdocstrings", "latex2mathml"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    where = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-f", ROOT / "mkdocs.yml", "-d", where]
    done = subprocess.run(
        words, env=environment() | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return where


def test_the_site_builds_and_holds_every_member(site):
    from odtc.cli.catalogue import REGISTRIES, registered

    for page, kind in (
        ("reference/formulations", "models"),
        ("reference/solvers", "solvers"),
        ("how-to/sql", "exporters"),
        ("reference/constraints", "constraints"),
        ("explanation/concepts", "encodings"),
        ("reference/files", "formats"),
    ):
        text = (site / page / "index.html").read_text(encoding="utf-8")
        for name, _ in registered(kind):
            assert f">{name}<" in text, (page, name)
    assert isinstance(REGISTRIES["models"], Registry)
    text = (site / "reference" / "commands" / "index.html").read_text(encoding="utf-8")
    assert "odtc plot regions" in text and "--time-limit" in text
    assert not list(site.rglob("hooks*"))


def test_formulas_are_set_and_the_names_of_odtc_described(site):
    import odtc

    text = (site / "reference" / "formulations" / "index.html").read_text(encoding="utf-8")
    formulas = sorted((ROOT / "docs" / "formulas").glob("*.md"))
    blocks = sum(path.read_text(encoding="utf-8").count("```math") for path in formulas)
    assert len(formulas) == 9 and text.count('display="block"') == blocks and "$`" not in text
    assert re.search(r"\\(sum|min|begin|le)\b", text) is None  # what the converter does not know it leaves as it is
    pages = sorted((site / "reference" / "python").rglob("*.html"))
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    for name in odtc._HOMES:
        assert f'id="{odtc._HOMES[name]}.{name}"' in text, name
    assert "{parameters}" not in text and "ccp_alpha" in text and "cost_complexity_pruning_path" in text
    for name in ("report", "explain", "verify", "compare"):
        assert f"OptimalTreeClassifier.{name}" in text, name


def test_no_page_asks_the_network_for_anything(site):
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r'(?:src|<link[^>]*href)="(?:https?:)?//', text), path.name


@pytest.mark.parametrize("width", [400, 1100])
def test_nothing_on_a_page_is_cut_off_at_the_side(site, width):
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    wide = (
        "[...document.querySelectorAll('.md-content table, .md-content pre, .md-content pre code')].filter(e "
        "=> e.scrollWidth > e.clientWidth + 2).map(e => e.textContent.trim().slice(0, 50))"
    )
    with Browser() as browser:
        for name in (
            "reference/formulations",
            "reference/commands",
            "how-to/trees",
            "reference/solvers",
            "reference/files",
        ):
            assert browser.open((site / name / "index.html").as_uri(), width=width).evaluate(wide) == [], name


def test_every_command_of_the_documentation_is_one():
    """Also those that are not run: in text and tables."""
    from odtc.cli.app import app

    known = {command.name or command.callback.__name__.rstrip("_") for command in app.registered_commands} | {
        group.name for group in app.registered_groups
    }
    for page in [*PAGES, ROOT / "README.md"]:
        for name in re.findall(r"[`$] ?odtc ([a-z]+)", page.read_text(encoding="utf-8")):
            assert name in known, (page.name, name)


def test_python_of_the_documentation_runs(tmp_path):
    words, bare = [sys.executable, "-W", "error", "-c", ALONE], without(*EXTRA, folder=tmp_path / "absent")
    for page in PAGES:
        for block in PYTHON.findall(page.read_text(encoding="utf-8")):
            own = tmp_path / f"{page.stem} {len(words)}"
            shutil.copytree(ROOT / "examples", own / "examples")
            words += [own, block]
    assert len(words) > 20
    done = subprocess.run(words, env=bare, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_example_of_an_encoding_stands_beside_the_others(tmp_path):
    project = tomllib.loads((ROOT / "examples" / "my-encoding" / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    (points,) = project["entry-points"].values()
    about = tmp_path / "my_encoding-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    (about / "entry_points.txt").write_text(
        "[odtc.encodings]\n" + "".join(f"{name} = {module}\n" for name, module in points.items())
    )
    (tmp_path / "my_encoding.py").write_bytes((ROOT / "examples" / "my-encoding" / "my_encoding.py").read_bytes())
    paths = environment() | {"PYTHONPATH": f"{tmp_path}:{ROOT}"}

    def odtc(*words):
        return subprocess.run(
            [sys.executable, "-m", "odtc", *map(str, words)],
            cwd=tmp_path,
            env=paths,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )

    assert "cutoffs" in odtc("list", "encodings").stdout
    done = odtc(
        "fit",
        ROOT / "examples" / "iris" / "iris.csv",
        "--model",
        "dpflow",
        "--encoding",
        "cutoffs:places=1",
        "--depth",
        "1",
        "-o",
        "iris",
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"≤ \d\.\d  ", done.stdout) and "proved optimal" in done.stdout


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*/*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_execute_from_top_to_bottom(path, folder):  # noqa: F811
    pytest.importorskip("matplotlib")
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert cells and not any(cell["outputs"] for cell in cells), "outputs are not kept"
    code = "import matplotlib; matplotlib.use('agg')\n" + "\n".join("".join(cell["source"]) for cell in cells)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=(folder / path.relative_to(ROOT)).parent,
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "optimal errors: " in done.stdout and "CASE" in done.stdout
