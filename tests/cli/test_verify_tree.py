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


@pytest.fixture(scope="module")
def without_model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("without")
    assert odtc("fit", MONKS / "monks-1.csv", "--depth", 1, "--encoding", "onehot", "-o", "m", folder=folder).code == 0
    return folder


@pytest.mark.parametrize(
    ("change", "check"),
    [
        ({"bound": float("inf")}, "bound"),
        ({"bound": 35.0, "gap": 1 / 34}, "bound"),
        ({"objective": 33.0, "bound": 33.0}, "objective"),
        ({"bound": 33.0}, "run record"),
        ({"termination": "infeasible"}, "run record"),
        ({"fit": {"model": {"params": {"lambda": 0.5, "tail": "auto"}}}}, "objective"),
        ({"fit": {"model": {"constraints": ["leaves <= 1"]}}}, "constraint"),
    ],
    ids=str,
)
def test_a_forged_record_proves_nothing(without_model, change, check, tmp_path):
    """The check that refuses is named, and the page does not call the tree optimal."""
    for path in without_model.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    record = json.loads((tmp_path / "m.run.json").read_text())
    record |= {key: value for key, value in change.items() if key != "fit"}
    record["fit"]["model"] |= change.get("fit", {}).get("model", {})
    record["fit"]["data"]["path"] = str(MONKS / "monks-1.csv")
    (tmp_path / "m.run.json").write_text(json.dumps(record))
    said = odtc("verify", "m.tree.json", folder=tmp_path)
    assert said.code == 1 and f"failed: {check} (" in said.err, said.err
    assert odtc("report", "m", "-o", "m.html", folder=tmp_path).code == 0
    page = (tmp_path / "m.html").read_text(encoding="utf-8")
    assert "Not proved: " in page and check in page
    assert "<span>proof</span><strong>not proved</strong>" in page and "Nothing of this is proved" in page
    for claim in ("has fewer leaves", "contradict none", "which a program that shares no code with it has checked"):
        assert claim not in page


def test_what_a_run_says_of_its_search_is_called_its_word(without_model, tmp_path):
    """Nothing of it is computed again: two words in a JSON file would say it of any tree."""
    for path in without_model.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    record = json.loads((tmp_path / "m.run.json").read_text())
    record["fit"]["data"]["path"] = str(MONKS / "monks-1.csv")
    (tmp_path / "m.run.json").write_text(json.dumps(record))
    assert odtc("report", "m", "-o", "m.html", folder=tmp_path).code == 0
    page = (tmp_path / "m.html").read_text(encoding="utf-8")
    assert "The run says that its search gave a certificate of the bound" in page
    assert "It is proved that" not in page and "The search gave" not in page
    assert ("has fewer leaves" in page) == ("The run says that no tree of this objective has fewer leaves" in page)


MODELS = [{"cost": "0:1=2"}, {"cost": [["a"]]}, {"class_weight": "0=5"}, {"encoding": None}, {"select": 1}]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_record_of_other_types(without_model, model, tmp_path):
    for path in without_model.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    record = json.loads((tmp_path / "m.run.json").read_text())
    record["fit"]["model"] |= model
    record["fit"]["data"]["path"] = str(MONKS / "monks-1.csv")
    (tmp_path / "m.run.json").write_text(json.dumps(record))
    assert "fit.model" in refused(odtc("verify", "m.tree.json", folder=tmp_path))
    assert odtc("report", "m", "-o", "m.html", folder=tmp_path).code == 0
