"""Pages for contributors name files that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "tests/README.md")
LINKED = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "benchmarks/**/*.md", "docs/**/*.md", "examples/**/*.md", "tests/*.md")
    for path in ROOT.glob(pattern)
)
NAMED = re.compile(r"`([\w./-]+(?:\.py|\.md|\.toml|/))`")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
MADE = ("dist/",)  # what a command writes


def places(page: Path, name: str) -> list[Path]:
    """Where a name on a page may be: in the checkout, beside the page, in the package."""
    return [ROOT / name, page.parent / name, ROOT / "odtc" / name]


@pytest.mark.parametrize("name", PAGES)
def test_a_file_that_a_page_names_is_there(name):
    page = ROOT / name
    if not (ROOT / "odtc").is_dir():
        pytest.skip("odtc is installed: the checkout is not beside these tests")
    named = [one for one in NAMED.findall(page.read_text(encoding="utf-8")) if "NAME" not in one and one not in MADE]
    assert named
    gone = [one for one in named if not any(place.exists() for place in places(page, one))]
    assert not gone, f"{name} names {gone}"


@pytest.mark.parametrize("name", LINKED)
def test_a_page_links_to_files_that_are_there(name):
    page = ROOT / name
    folder = (
        ROOT / "docs" / "reference" if name.startswith("docs/formulas/") else page.parent
    )  # they are part of formulations.md
    gone = [one for one in LINK.findall(page.read_text(encoding="utf-8")) if not (folder / one).exists()]
    assert not gone, f"{name} links to {gone}"
