"""`odtc verify TREE.json`: a tree is the one of the run beside it, with the counts of its data, or it is refused."""

import json

import pytest

from tests.command_line import MONKS, odtc, refused

SOLVED = ("--model", "flowoct", "--encoding", "onehot", "--solver", "highs")


@pytest.fixture(scope="module", params=[SOLVED, ()], ids=["a model", "none"])
def folder(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    assert odtc("fit", MONKS / "monks-1.csv", *request.param, "--depth", 1, "-o", "m", folder=folder).code == 0
    return folder


def test_the_tree_of_a_run(folder):
    said = odtc("verify", "m.tree.json", "--json", folder=folder)
    assert said.code == 0 and said.facts["verified"] and said.facts["objective"] == 34
    assert {"check": "tree file", "passed": True} in [
        {key: one[key] for key in ("check", "passed")} for one in said.facts["checks"]
    ]


def _swapped(tree):
    left, right = tree["root"]["left"], tree["root"]["right"]
    left["label"], right["label"] = right["label"], left["label"]


def _counted(tree):
    tree["root"]["left"]["counts"][0] += 1


def _more_rows(tree):
    tree["root"]["left"]["rows"][0] += 1


@pytest.mark.parametrize("forge", [_swapped, _counted, _more_rows])
def test_another_tree(folder, forge, tmp_path):
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    tree = json.loads((tmp_path / "m.tree.json").read_text())
    forge(tree)
    (tmp_path / "m.tree.json").write_text(json.dumps(tree))
    said = refused(odtc("verify", "m.tree.json", folder=tmp_path))
    assert "tree file" in said or "the record of another tree" in said


def test_a_tree_alone(folder, tmp_path):
    (tmp_path / "m.tree.json").write_bytes((folder / "m.tree.json").read_bytes())
    assert "found neither" in refused(odtc("verify", "m.tree.json", folder=tmp_path))


def test_options_of_solutions(folder):
    assert "--confirm is of a solution file" in refused(
        odtc("verify", "m.tree.json", "--confirm", "cbc", folder=folder)
    )
