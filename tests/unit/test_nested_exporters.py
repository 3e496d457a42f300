"""The base of exporters of nested if and else, and folders of templates that plug-ins bring."""

import re
import shutil
from pathlib import Path

import pytest

from odtc.testing import cases
from odtc.trees.exporting import export, summaries
from odtc.trees.tree import read_tree
from tests.command_line import CHECKOUT, MONKS, odtc

RUST = CHECKOUT / "examples" / "my-exporter"
OURS = CHECKOUT / "templates" / "tree"
KINDS = ("at_most", "one_of", "none_of", "missing", "term", "sum", "when", "end")


@pytest.mark.parametrize("path", [*sorted(OURS.glob("*.jinja")), RUST / "tree" / "rust.rs.jinja"], ids=lambda p: p.name)
def test_a_language_defines_one_macro_for_each_kind_of_question(path):
    text = path.read_text()
    if '{% extends "tree/_nested.jinja" %}' not in text:
        assert path.name.split(".")[0] not in ("c", "java", "javascript", "r", "rust")
        return
    defined = re.findall(r"{% macro (\w+)\(", text)
    assert set(KINDS) <= set(defined) and len(defined) == len(set(defined))
    assert "place.path" not in text  # the walk is that of the base


@pytest.fixture
def tree(tmp_path):
    said = odtc("fit", MONKS / "monks-1.csv", "--depth", 2, "-o", "m", folder=tmp_path)
    assert said.code == 0, said.err
    return tmp_path / "m.tree.json"


def test_a_folder_named_as_plug_in_brings_templates(tree, monkeypatch):
    monkeypatch.setenv("ODTC_PLUGINS", str(RUST))
    assert {"rust", "rules"} <= set(summaries())
    assert "pub fn predict(row: &Row)" in export(read_tree(tree), "rust")
    assert odtc("export", tree, "--to", "rules", folder=tree.parent).out.startswith("IF ")
    monkeypatch.setenv("ODTC_PLUGINS", "")
    assert "rust" not in summaries()


def test_a_package_and_a_file_bring_templates(tree, tmp_path, monkeypatch):
    site = tmp_path / "site"
    shutil.copytree(RUST, site / "my_languages")
    about = site / "my_languages-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-languages\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[odtc.templates]\nlanguages = my_languages\n")
    monkeypatch.setenv("ODTC_PLUGINS", "")
    monkeypatch.syspath_prepend(site)
    assert "rust" in summaries()
    monkeypatch.undo()
    assert "rust" not in summaries()
    shutil.copytree(RUST, tmp_path / "mine" / "templates")
    shutil.copy(CHECKOUT / "examples" / "plug-ins" / "medians.py", tmp_path / "mine")
    monkeypatch.setenv("ODTC_PLUGINS", str(tmp_path / "mine" / "medians.py"))
    assert "rust" in summaries()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is not on this machine")
def test_rust_predicts_as_the_tree_does():
    for case in cases("exporter", "rust", templates=Path(RUST)):
        outcome = case.run(6)
        assert not outcome.failure and not outcome.not_tested, outcome.text
