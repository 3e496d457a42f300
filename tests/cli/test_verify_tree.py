"""`odtc verify TREE.json`: a tree with wrong counts, or of another run than the files next to it, is refused."""

import hashlib
import io
import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import odtc as odtc_package
from odtc.data.dataset import Feature
from odtc.errors import SolutionError, TreeError
from odtc.problem.constraints.constraint import parse
from odtc.trees.heap_tree import HeapTree
from odtc.trees.tree import Leaf, Tree
from odtc.verification.certificate import check
from odtc.workflow.provenance import tree_file
from odtc.workflow.provenance.settings import data_of_tree, reading_of_tree
from odtc.workflow.provenance.tree_file import check_of_tree
from odtc.workflow.provenance.without_model import open_record
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


def test_the_stem_of_a_run(folder):
    """Without a solver there is no solution file: the stem stands for the tree then."""
    said = odtc("verify", "m", "--json", folder=folder)
    assert said.code == 0 and said.facts["verified"] and said.facts["objective"] == 34
    assert "certificate" not in said.facts


def test_the_stem_of_a_run_with_a_certificate(tmp_path):
    assert odtc("fit", MONKS / "monks-1.csv", "--certificate", "--depth", 1, "-o", "m", folder=tmp_path).code == 0
    said = odtc("verify", "m", "--json", folder=tmp_path)
    assert said.code == 0 and said.facts["verified"] and said.facts["certificate"]["optimal"]
    assert said.facts["certificate"]["objective"] == said.facts["objective"]
    words = odtc("verify", "m", folder=tmp_path)
    assert words.code == 0 and "tree file" in words.out and "proved: no tree of depth 1" in words.out
    assert "claimed by the run" not in words.err  # the certificate has just proved the bound
    alone = odtc("verify", "m.tree.json", "--time-limit", 0, folder=tmp_path)  # the tree, and no search again
    assert (
        alone.code == 0 and "termination, bound, gap, fewest leaves" in alone.err and "claimed by the run" in alone.err
    )
    (tmp_path / "m.tree.json").unlink()
    left = odtc("verify", "m", folder=tmp_path)  # only the certificate
    assert left.code == 0 and left.out.startswith("proved: no tree of depth 1") and "tree file" not in left.out


def test_a_run_without_a_model_whose_cuts_were_named(tmp_path):
    (tmp_path / "d.csv").write_text("a,b,y\n1,2,0\n2,3,1\n3,1,1\n4,2,0\n5,1,0\n")
    assert odtc("fit", "d.csv", "--cuts", "none", "-o", "m", folder=tmp_path).code == 0
    said = odtc("verify", "m", "--json", folder=tmp_path)
    assert said.code == 0 and said.facts["verified"], said.err


def test_no_file_of_a_stem(tmp_path):
    said = refused(odtc("verify", "m", folder=tmp_path))
    assert "neither m.sol nor m.tree.json" in said


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


@pytest.mark.parametrize("forge", [_swapped, _counted, _more_rows])
def test_another_tree_of_a_stem(folder, forge, tmp_path):
    """A stem is all that was written of it, also if its solution file is right."""
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    assert odtc("verify", "m", folder=tmp_path).code == 0
    tree = json.loads((tmp_path / "m.tree.json").read_text())
    forge(tree)
    (tmp_path / "m.tree.json").write_text(json.dumps(tree))
    said = refused(odtc("verify", "m", folder=tmp_path))
    assert "tree file (m.tree.json holds another tree" in said or "the record of another tree" in said


def test_the_tree_of_a_stem_may_be_simplified_or_not_be_there(tmp_path):
    words = (MONKS / "monks-1.csv", *SOLVED, "--depth", 1, "-o", "m")
    assert odtc("fit", *words, folder=tmp_path).code == 0
    assert odtc("decode", "m.sol", folder=tmp_path).code == 0
    for expected in (True, False):
        said = odtc("verify", "m", "--json", folder=tmp_path)
        assert said.code == 0 and ("tree file" in [one["check"] for one in said.facts["checks"]]) == expected, said.err
        (tmp_path / "m.tree.json").unlink(missing_ok=True)


def test_a_tree_of_another_target_is_none_of_the_solution_beside_it(folder, tmp_path):
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    tree = json.loads((tmp_path / "m.tree.json").read_text())
    (tmp_path / "m.tree.json").write_text(json.dumps(tree | {"target": "another"}))
    said = refused(odtc("verify", "m.tree.json", folder=tmp_path))
    assert "'m.tree.json' is not a tree of 'm.sol'" in said or "the record of another tree" in said


def test_a_tree_alone(folder, tmp_path):
    (tmp_path / "m.tree.json").write_bytes((folder / "m.tree.json").read_bytes())
    assert "found none of them" in refused(odtc("verify", "m.tree.json", folder=tmp_path))


def test_options_of_solutions(folder):
    assert "--confirm needs a solution file" in refused(
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
        ({"bound": 20.0, "gap": 14 / 34, "history": []}, "run record"),
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
    assert "The run states that its search gave a certificate of the bound" in page
    assert "It is proved that" not in page and "The search gave" not in page
    assert ("has fewer leaves" in page) == ("The run states that no tree with this objective has fewer leaves" in page)


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


def _forged(folder, root, cost):
    """The tree and the record of a run without a model, made fit for another tree and its cost as a bound."""
    tree, record = (json.loads((folder / f"m.{kind}.json").read_text()) for kind in ("tree", "run"))
    tree["root"] = root
    (folder / "m.tree.json").write_text(json.dumps(tree))
    record["fit"]["tree"]["sha256"] = hashlib.sha256((folder / "m.tree.json").read_bytes()).hexdigest()
    record |= {"objective": cost, "bound": cost, "gap": 0.0, "history": [[0.1, cost, cost]]}
    (folder / "m.run.json").write_text(json.dumps(record))
    said = odtc("verify", "m.tree.json", "--json", "--time-limit", 60, folder=folder)
    return {one["check"]: one["text"] for one in said.facts["checks"] if not one["passed"]}


def _leaf(*held):
    return {"label": "no" if held[0] >= held[1] else "yes", "counts": list(map(float, held)), "rows": list(held)}


def _split(feature, threshold, left, right):
    test = {"kind": "threshold", "feature": feature, "threshold": threshold}
    return {"split": test, "left": left, "right": right}


def test_a_bound_that_a_record_claims_is_held_against_trees_in_hand(tmp_path):
    """CART's, that of a search of a moment, that of the certificate of the same stem, and this tree made smaller."""
    cells = [(a, b) for a in range(2) for b in range(2) for _ in range(6)]
    told = [(a, b, "yes" if a != b or (i == 0 and a) else "no") for i, (a, b) in enumerate(cells)]
    (tmp_path / "d.csv").write_text("a,b,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in told))
    assert odtc("fit", "d.csv", "--depth", 2, "--certificate", "-o", "m", folder=tmp_path).code == 0
    assert odtc("verify", "m.tree.json", folder=tmp_path).code == 0
    assert not _forged(tmp_path, json.loads((tmp_path / "m.tree.json").read_text())["root"], 0.0)
    stump = _split("a", 0.5, _leaf(6, 6), _leaf(6, 6))
    failed = _forged(tmp_path, stump, 12.0)
    assert failed.keys() == {"bound", "smallest"}
    assert "costs 0" in failed["bound"] and "this tree without needless splits costs 12" in failed["smallest"]
    (tmp_path / "m.certificate.json").unlink()
    failed = _forged(tmp_path, stump, 12.0)
    assert "but the tree of a short search costs 0" in failed["bound"] or "but CART costs 0" in failed["bound"]


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    """A run of depth 1 and what was certified beside it: other depths, constraints and data, by name."""
    folder = tmp_path_factory.mktemp("certified")
    rows = (MONKS / "monks-1.csv").read_text().splitlines()
    (folder / "data.csv").write_text("\n".join(rows) + "\n")
    (folder / "fewer.csv").write_text("\n".join(rows[:100]) + "\n")
    assert odtc("fit", "data.csv", "--certificate", "--depth", 1, "-o", "m", folder=folder).code == 0
    others = {
        "depth": ("data.csv", "--depth", 2),
        "constraint": ("data.csv", "--depth", 1, "--constraint", "recall[1] >= 0.9"),
        "costs": ("data.csv", "--depth", 1, "--class-weight", "0=3"),
        "price": ("data.csv", "--depth", 1, "-p", "lambda=0.25"),
        "reading": ("data.csv", "--depth", 1, "--ignore", "a1"),
        "data": ("fewer.csv", "--depth", 1),
    }
    for name, words in others.items():
        said = odtc("fit", *words, "--certificate", "-o", name, folder=folder)
        assert said.code == 0, said.err
    return folder


@pytest.mark.parametrize(
    "other, words",
    [
        ("depth", "covers trees of depth 2, and this run has depth 1"),
        ("constraint", "is about trees that satisfy 'recall[1] >= 0.9', which this run does not require"),
        ("costs", "counts other costs of errors than this run"),
        ("price", "counts 0.25 for a branch node, and this run 0"),
        ("reading", "states other terms than this run: 'columns', 'ignore'"),
        ("data", "was made from a data file with the SHA-256"),
    ],
)
def test_the_certificate_of_another_run_is_no_proof_of_this_one(certified, other, words, tmp_path):
    """It is true, and was taken for a proof of whatever run has its stem: all checks passed."""
    for name in ("data.csv", "fewer.csv", "m.tree.json", "m.run.json"):
        (tmp_path / name).write_bytes((certified / name).read_bytes())
    (tmp_path / "m.certificate.json").write_bytes((certified / f"{other}.certificate.json").read_bytes())
    assert odtc("verify", "--certificate", "m.certificate.json", folder=tmp_path).code == 0
    said = odtc("verify", "m", "--json", folder=tmp_path)
    failed = [one for one in said.facts["checks"] if not one["passed"]]
    assert said.code == 1 and not said.facts["verified"] and [one["check"] for one in failed] == ["certificate"]
    assert words in failed[0]["text"]
    assert "FAIL  certificate" in odtc("verify", "m", folder=tmp_path).out


def test_its_own_certificate_is_a_check_of_a_run(certified):
    said = odtc("verify", "m", "--json", folder=certified)
    told = [one for one in said.facts["checks"] if one["check"] == "certificate"]
    assert said.code == 0 and [one["passed"] for one in told] == [True]


def test_fewest_columns_are_held_against_trees_in_hand_whatever_is_said_of_leaves(tmp_path):
    """A run of another tree of the same cost, with a needless column: its record claims the columns alone."""
    rows = ["a,b,c,y", *(f"{a},{b},{a},{a}" for a in (0, 1) for b in (0, 1) for _ in range(3))]
    (tmp_path / "d.csv").write_text("\n".join(rows) + "\n")
    assert odtc("fit", "d.csv", "--depth", 2, "-o", "m", folder=tmp_path).code == 0
    tree, record = (json.loads((tmp_path / f"m.{name}.json").read_text()) for name in ("tree", "run"))
    half = {"0": [3, 0], "1": [0, 3]}  # of the rows of a leaf
    leaves = {
        side: tree["root"][side] | dict.fromkeys(("counts", "rows"), half[tree["root"][side]["label"]])
        for side in ("left", "right")
    }
    split = {key: one for key, one in tree["root"].items() if key not in ("left", "right")}
    needless = json.loads(json.dumps(split).replace('"a"', '"b"'))
    tree["root"] |= {side: needless | {"left": leaf, "right": leaf} for side, leaf in leaves.items()}
    record["fit"] |= {"fewest_leaves": None, "fewest_columns": True}
    data = json.dumps(tree).encode()
    record["fit"]["tree"]["sha256"] = hashlib.sha256(data).hexdigest()
    (tmp_path / "m.tree.json").write_bytes(data)
    (tmp_path / "m.run.json").write_text(json.dumps(record))
    said = odtc("verify", "m", "--json", folder=tmp_path)
    assert said.code == 1, said.err
    assert "smallest" in [one["check"] for one in said.facts["checks"] if not one["passed"]]


def test_a_tree_that_was_decoded_to_another_name_is_held_against_its_solution(tmp_path):
    """`odtc decode -o FOO` left a tree of no run: nothing beside it had its stem."""
    for depth in (1, 2):
        words = ("--model", "flowoct", "--encoding", "onehot", "--solver", "highs", "--format", "mps")
        data = MONKS / "monks-1.csv"
        said = odtc("fit", data, *words, "--depth", depth, "-o", f"m{depth}", folder=tmp_path)
        assert said.code == 0, said.err
    (tmp_path / "m1.tree.json").unlink()
    assert odtc("decode", "m1.sol", "-o", "foo.json", folder=tmp_path).code == 0
    said = odtc("verify", "foo.json", "--json", folder=tmp_path)
    assert said.code == 0 and said.facts["depth"] == 1 and said.facts["objective"] == 34, said.err
    assert odtc("decode", "m2.sol", "-o", "bar.json", folder=tmp_path).code == 0  # that of the second solution
    said = odtc("verify", "bar.json", "--json", folder=tmp_path)
    assert said.code == 0 and said.facts["depth"] == 2, said.err
    tree = json.loads((tmp_path / "foo.json").read_text())
    _counted(tree)
    (tmp_path / "foo.json").write_text(json.dumps(tree))
    words = refused(odtc("verify", "foo.json", folder=tmp_path))
    assert "found none of them, and it is not the tree of 'm1.sol', 'm2.sol'" in words
    tree["target"] = "another"
    (tmp_path / "foo.json").write_text(json.dumps(tree))
    assert "found none of them" in refused(odtc("verify", "foo.json", folder=tmp_path))


@pytest.mark.parametrize(
    "words",
    [
        "monks/monks-1.csv --encoding onehot",
        "survival/pumps.csv --task survival --time days --event failed --encoding auto:bins=5",
        "policy/letters.csv --task policy --treatment letter --outcome paid --propensity chance --scores ips",
        "iris/iris.csv --task median --ignore species",
        "iris/iris.csv --task regression --leaf linear --ignore species --min-leaf-rows 20 --depth 1",
    ],
)
def test_the_stem_of_a_certificate_has_its_tree(words, tmp_path):
    """Whatever its splits, its curves and its goal are: the file has them, and some certificates do not."""
    data, *options = words.split()
    assert odtc("certify", MONKS.parent / data, *options, "-o", "m", folder=tmp_path).code == 0
    said = odtc("verify", "m", folder=tmp_path)
    assert said.code == 0 and "holds the tree of the certificate" in said.out, said.err
    said = odtc("refit", "m.tree.json", MONKS.parent / data, "-o", "n", folder=tmp_path)  # it states all settings
    assert said.code == 0 and "inherited from the run of the old tree" in said.err and "--cost" not in said.err, (
        said.err
    )
    tree = json.loads((tmp_path / "m.tree.json").read_text())
    leaf = tree["root"]
    while "split" in leaf:
        leaf = leaf["right"]
    for key in {"counts", "rows", "sums", "curve"} & set(leaf):
        kept = leaf[key]
        leaf[key] = [*kept[:-1], [kept[-1][0], kept[-1][1] + 1] if key == "curve" else kept[-1] + 1]
        (tmp_path / "m.tree.json").write_text(json.dumps(tree))
        assert "other counts than the data" in refused(odtc("verify", "m", folder=tmp_path)), key
        leaf[key] = kept
    (tmp_path / "m.tree.json").write_text(json.dumps(tree | {"goal": "" if tree.get("goal") else "max"}))
    refused(odtc("verify", "m", folder=tmp_path))


def test_the_certificate_of_a_survival_run_costs_what_its_tree_costs(tmp_path):
    """The search and the certificate add the hazards of the rows in another order."""
    words = MONKS.parent / "survival/pumps.csv", "--task", "survival", "--time", "days", "--event", "failed"
    assert odtc("fit", *words, "--encoding", "auto:bins=5", "-o", "m", folder=tmp_path).code == 0
    said = odtc("certify", "m", folder=tmp_path)
    assert said.code == 0, said.err
    assert odtc("verify", "m", folder=tmp_path).code == 0


def test_a_model_of_linear_leaves_is_decoded_without_its_data(tmp_path):
    """The manifest has the rows that the lines of leaves need, so the data file may be elsewhere."""
    (tmp_path / "iris.csv").write_bytes((MONKS.parent / "iris/iris.csv").read_bytes())
    words = ("iris.csv", "--task", "regression", "--leaf", "linear", "--ignore", "species", "--min-leaf-rows", 20)
    words += ("--depth", 1, "--encoding", "auto:bins=2", "--model", "dpflow")
    assert odtc("fit", *words, "--solver", "highs", "-o", "m", folder=tmp_path).code == 0
    for command in (("verify", "m"), ("decode", "m", "-o", "again"), ("report", "m")):
        assert odtc(*command, folder=tmp_path).code == 0
    assert odtc("build", *words, "-o", "b", folder=tmp_path).code == 0
    assert odtc("solve", "b.mps", folder=tmp_path).code == 0
    (tmp_path / "iris.csv").unlink()
    said = odtc("decode", "b.sol", folder=tmp_path)
    assert said.code == 0 and "proved optimal" in said.out, said.err
    nodes = [json.loads((tmp_path / f"{stem}.tree.json").read_text())["root"] for stem in "mb"]
    assert nodes[0] == nodes[1] and '"line"' in json.dumps(nodes)


def test_a_tree_without_a_run_is_not_checked_as_the_tree_of_another_run(tmp_path):
    """A solution of the same rows in the folder belongs to another stem, so it is no evidence against an imported tree,
    nor against a certified one next to which a model was built."""
    data = MONKS / "monks-1.csv"
    solved = (data, "--encoding", "onehot", "--depth", 1, "--solver", "highs", "--model", "flowoct")
    assert odtc("fit", *solved, "-o", "solved", folder=tmp_path).code == 0
    assert odtc("certify", data, "--encoding", "onehot", "--depth", 2, "-o", "proof", folder=tmp_path).code == 0
    assert odtc("import", "proof.tree.json", "--data", data, "-o", "taken", folder=tmp_path).code == 0
    said = refused(odtc("verify", "taken", folder=tmp_path))
    assert "found none of them, and it is not the tree of 'solved.sol'" in said and "checks" not in said
    assert odtc("build", *solved[:-4], "--model", "flowoct", "-o", "proof", folder=tmp_path).code == 0
    for name in ("proof", "proof.tree.json"):
        said = odtc("verify", name, folder=tmp_path)
        assert said.code == 0 and "of the certificate proof.certificate.json" in said.out, said.err


def test_a_certificate_over_more_tests_is_one_of_a_run_that_costs_as_much(tmp_path):
    """The splits of the certificate are none of the run's tests, and a manifest holds no data to look them up in."""
    rows = "".join(f"{a},{'np'[a > 11]}\n" for a in range(40))
    (tmp_path / "d.csv").write_text("a,y\n" + rows)
    solver = ("--model", "flowoct", "--solver", "highs", "--format", "mps")
    (tmp_path / "few.csv").write_text("a,y\n" + "".join(f"{a % 3},{'np'[a % 3 > 1]}\n" for a in range(30)))
    # With two bins the tree costs more than what is certified; a = 2 is a > 1.5 in other words.
    for data, encoding, code in (("d.csv", "thresholds:bins=2", 1), ("few.csv", "onehot", 0)):
        words = ("--depth", 1, "--encoding", encoding, *solver, "-o", f"m{code}")
        assert odtc("fit", data, *words, folder=tmp_path).code == 0
        name = f"m{code}.certificate.json"
        assert odtc("certify", data, "--depth", 1, "-o", "c.certificate.json", folder=tmp_path).code == 0
        (tmp_path / name).write_bytes((tmp_path / "c.certificate.json").read_bytes())
        said = odtc("verify", f"m{code}", "--json", folder=tmp_path)
        told = [one for one in said.facts["checks"] if one["check"] == "certificate"]
        assert (said.code, [one["passed"] for one in told]) == (code, [not code]), told


def _noisy(path, seed, rows=80):
    """A table of two numbers on which CART of depth 3 is not the best tree, with too many thresholds for a search of a
    moment."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2)).round(3)
    y = (X[:, 0] * X[:, 1] > 0.1) ^ (rng.random(rows) < 0.1)
    path.write_text("a,b,y\n" + "".join(f"{a},{b},{int(c)}\n" for (a, b), c in zip(X.tolist(), y, strict=True)))


WORDS = ["termination", "bound", "gap", "certified", "fewest_leaves", "fewest_columns"]


def test_what_is_not_derived_again_is_called_the_word_of_the_run(tmp_path):
    """`--json` repeated the record's "certified" and "fewest_leaves" as verify's own, whoever had written them."""
    _noisy(tmp_path / "d.csv", 5)
    assert odtc("fit", "d.csv", "--depth", 2, "-o", "m", folder=tmp_path).code == 0
    said = odtc("verify", "m.tree.json", "--json", "--time-limit", 60, folder=tmp_path)
    assert said.code == 0 and said.facts["own_bound"] == said.facts["objective"] == said.facts["bound"]
    assert not {*said.facts["claimed"]} & {*WORDS} and {"solver", "seconds"} < {*said.facts["claimed"]}
    said = odtc("verify", "m.tree.json", "--json", "--time-limit", 0, folder=tmp_path)
    assert said.code == 0 and {*said.facts["claimed"]} >= {*WORDS} and said.facts["own_bound"] == 0
    assert odtc("certify", "d.csv", "--depth", 2, "-o", "m.certificate.json", folder=tmp_path).code == 0
    said = odtc("verify", "m", "--json", "--time-limit", 0, folder=tmp_path)
    assert said.code == 0 and {*said.facts["claimed"]} & {*WORDS} == {"fewest_leaves", "fewest_columns"}


def test_a_record_that_calls_another_tree_optimal_is_refused_by_a_search_again(tmp_path):
    """Its bound was below CART's tree, and the data too large for the search of a moment: all checks passed."""
    _noisy(tmp_path / "d.csv", 5)
    assert odtc("fit", "d.csv", "--model", "cart", "--depth", 3, "-o", "c", folder=tmp_path).code == 0
    assert odtc("fit", "d.csv", "--depth", 3, "-o", "m", folder=tmp_path).code == 0
    best, cart = (json.loads((tmp_path / f"{name}.run.json").read_text())["objective"] for name in "mc")
    assert best < cart
    root = json.loads((tmp_path / "c.tree.json").read_text())["root"]
    record = json.loads((tmp_path / "m.run.json").read_text())
    record["fit"] |= {"certified": True, "fewest_leaves": None, "fewest_columns": None}
    (tmp_path / "m.run.json").write_text(json.dumps(record))
    failed = _forged(tmp_path, root, cart)
    assert failed.keys() == {"bound"} and f"but the tree of a repeated search costs {best:g}" in failed["bound"], failed
    unsearched = odtc("verify", "m.tree.json", "--json", "--time-limit", 0, folder=tmp_path)
    assert unsearched.code == 0 and {"bound", "certified"} < {*unsearched.facts["claimed"]}
    _page_that_refuses(tmp_path)


def _page_that_refuses(folder):
    """The page of a run whose bound a search again contradicts."""
    told = odtc("report", "m", "--json", "--time-limit", 60, folder=folder)
    page = (folder / "m.html").read_text(encoding="utf-8")
    assert told.code == 0 and not told.facts["verified"], told.err
    assert (
        "<strong>not proved</strong>" in page
        and "Nothing of this is proved, because checks below contradict it" in page
    )
    told = odtc("report", "m", "--json", "--time-limit", 0, folder=folder)
    page = (folder / "m.html").read_text(encoding="utf-8")
    assert told.code == 0 and "bound" in told.facts["claimed"] and "are recomputed" not in page


@pytest.mark.parametrize("words", [SOLVED, ()], ids=["a model", "none"])
def test_a_page_says_that_the_bound_was_derived_again(words, tmp_path):
    assert odtc("fit", MONKS / "monks-1.csv", *words, "--depth", 1, "-o", "m", folder=tmp_path).code == 0
    told = odtc("report", "m", "--json", folder=tmp_path)
    assert told.code == 0 and "bound" not in told.facts["claimed"] and "seconds" in told.facts["claimed"]
    sentence = "Objective, bound and gap are recomputed, the bound by a search of odtc"
    assert sentence in (tmp_path / "m.html").read_text(encoding="utf-8")
    assert odtc("report", "m", "--time-limit", 0, folder=tmp_path).code == 0
    assert sentence not in (tmp_path / "m.html").read_text(encoding="utf-8")


def test_a_record_that_calls_the_point_of_a_start_optimal_is_refused_by_a_search_again(tmp_path):
    _noisy(tmp_path / "d.csv", 5)
    words = ("--model", "flowoct", "--depth", 3, "--encoding", "thresholds:bins=40", "--format", "mps")
    assert odtc("build", "d.csv", *words, "-o", "m", folder=tmp_path).code == 0
    (tmp_path / "m.start.sol").rename(tmp_path / "m.sol")
    point = odtc("verify", "m.sol", "--json", folder=tmp_path).facts["objective"]
    record = {"schema": "odtc.run/1", "solution_file": "m.sol", "solver": "HiGHS", "termination": "optimal"}
    record |= dict.fromkeys(("objective", "claimed", "bound"), point) | {"gap": 0.0, "nodes": 1, "seconds": 1.0}
    record |= {"sha256": hashlib.sha256((tmp_path / "m.sol").read_bytes()).hexdigest(), "start": "none"}
    identity = json.loads((tmp_path / "m.odt.json").read_text())["identity"]
    (tmp_path / "m.run.json").write_text(json.dumps(record | {"model": identity, "message": "", "history": []}))
    said = odtc("verify", "m.sol", "--json", "--time-limit", 0, folder=tmp_path)
    assert said.code == 0 and {"bound", "termination"} < {*said.facts["claimed"]}, said.err
    said = odtc("verify", "m.sol", "--json", "--time-limit", 60, folder=tmp_path)
    failed = {one["check"]: one["text"] for one in said.facts["checks"] if not one["passed"]}
    assert failed.keys() == {"bound"} and "but the tree of a repeated search costs" in failed["bound"]
    _page_that_refuses(tmp_path)


def _check_of_certificate(folder):
    said = odtc("verify", "m", "--json", "--time-limit", 0, folder=folder)
    (told,) = [one for one in said.facts["checks"] if one["check"] == "certificate"]
    return told["passed"], told["text"]


def test_a_certificate_over_fewer_tests_is_none_of_a_run(tmp_path):
    """It was: its tree is over tests of the run, too. A record of fewer tests was made one of all by a word."""
    rows = [(a, b, int(b > 8)) for b in range(20) for a in (int(b > 6), int(b > 10))]
    (tmp_path / "d.csv").write_text("a,b,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in rows))
    few = ("--encoding", "auto:bins=4", "--depth", 1, "--certificate", "-o", "m")
    assert odtc("fit", "d.csv", *few, folder=tmp_path).code == 0
    assert _check_of_certificate(tmp_path)[0]
    record = json.loads((tmp_path / "m.run.json").read_text())
    record["fit"]["model"]["encoding"] = "auto"
    assert record["bound"] > 0  # which one of all thresholds costs
    (tmp_path / "m.run.json").write_text(json.dumps(record))
    passed, words = _check_of_certificate(tmp_path)
    assert not passed and "is over splits among which" in words


def test_a_certificate_of_other_data_is_none_of_a_run_whatever_digest_it_states(tmp_path):
    """Its own words were compared with the run, and not the file that its check had read: of as many rows of each class
    it passed."""
    rows = [(i % 2, i // 10, i // 10) for i in range(20)]
    wrong = [(b if i else 1 - b, b, y) for i, (_, b, y) in enumerate(rows)]  # a is wrong once, b never
    noise = [(a, i % 2, y) for i, (a, _, y) in enumerate(wrong)]
    for name, table in (("d", wrong), ("e", noise)):
        (tmp_path / f"{name}.csv").write_text("a,b,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in table))
    assert odtc("fit", "e.csv", "--depth", 1, "--certificate", "-o", "e", folder=tmp_path).code == 0
    assert odtc("fit", "d.csv", "--depth", 1, "--ignore", "b", "-o", "m", folder=tmp_path).code == 0
    record, worse = (json.loads((tmp_path / f"m.{kind}.json").read_text()) for kind in ("run", "tree"))
    assert record["objective"] == 1
    assert odtc("fit", "d.csv", "--depth", 1, "-o", "m", folder=tmp_path).code == 0
    assert "bound" in _forged(tmp_path, worse["root"], 1.0)  # CART finds a better tree
    facts = json.loads((tmp_path / "e.certificate.json").read_text())
    facts["data"]["sha256"] = record["fit"]["data"]["sha256"]
    (tmp_path / "m.certificate.json").write_text(json.dumps(facts))
    passed, words = _check_of_certificate(tmp_path)
    assert not passed and "was made from a data file with the SHA-256" in words


def test_a_certificate_of_all_rows_is_none_of_a_run_of_selected_ones(tmp_path):
    (tmp_path / "d.csv").write_text("a,y\n" + "".join(f"{a},{'np'[a > 11]}\n" for a in range(40)))
    assert odtc("fit", "d.csv", "--depth", 1, "--select", "balanced", "-o", "m", folder=tmp_path).code == 0
    assert odtc("certify", "d.csv", "--depth", 1, "-o", "c.certificate.json", folder=tmp_path).code == 0
    (tmp_path / "m.certificate.json").write_bytes((tmp_path / "c.certificate.json").read_bytes())
    passed, words = _check_of_certificate(tmp_path)
    assert not passed and "covers all rows of a data file, and this run only some of them that were selected" in words


def test_a_certificate_at_another_price_proves_nothing_of_a_solved_model(tmp_path):
    """The price of a branch node was compared for dpflow alone."""
    _noisy(tmp_path / "d.csv", 3, 40)
    words = ("--model", "flowoct", "--depth", 1, "--encoding", "auto:bins=4", "--solver", "highs", "-p", "lambda=0.25")
    assert odtc("fit", "d.csv", *words, "-o", "m", folder=tmp_path).code == 0
    for price in (0, 0.25):
        given = ("--depth", 1, "--encoding", "auto:bins=4", "--lambda", price, "-o", "c.certificate.json")
        assert odtc("certify", "d.csv", *given, folder=tmp_path).code == 0
        (tmp_path / "m.certificate.json").write_bytes((tmp_path / "c.certificate.json").read_bytes())
        passed, told = _check_of_certificate(tmp_path)
        assert passed == bool(price) and (passed or "counts 0 for a branch node, and this run 0.25" in told), told


def test_a_certificate_of_other_rows_is_none_of_a_model_whose_data_nobody_names(tmp_path):
    """Without a digest on one side nothing was compared."""
    _noisy(tmp_path / "d.csv", 3, 40)
    rows = (tmp_path / "d.csv").read_text().splitlines()
    words = ("--model", "flowoct", "--depth", 1, "--encoding", "auto:bins=4", "--solver", "highs", "-o", "m")
    assert odtc("fit", "d.csv", *words, folder=tmp_path).code == 0
    (tmp_path / "e.csv").write_text("\n".join([*rows, *rows[1:]]) + "\n")
    for name, code in (("d", True), ("e", False)):
        given = ("--depth", 1, "--encoding", "auto:bins=4", "-o", "c.certificate.json")
        assert odtc("certify", f"{name}.csv", *given, folder=tmp_path).code == 0
        facts = json.loads((tmp_path / "c.certificate.json").read_text())
        facts["data"]["path"] = "kept.csv"
        (tmp_path / "m.certificate.json").write_text(json.dumps(facts))
        (tmp_path / "kept.csv").write_bytes((tmp_path / f"{name}.csv").read_bytes())
        there = (tmp_path / "d.csv").rename(tmp_path / "away.csv")
        passed, told = _check_of_certificate(tmp_path)
        there.rename(tmp_path / "d.csv")
        assert passed == code, told


def test_a_certificate_counts_weights_and_costs_as_the_run_does(tmp_path):
    rows = [(i % 5, i // 5, "np"[(i % 5 > 2) ^ (i % 7 == 0)], 0.25 + i % 3) for i in range(30)]
    (tmp_path / "d.csv").write_text("a,b,y,w\n" + "".join(f"{a},{b},{y},{w}\n" for a, b, y, w in rows))
    for costs, passes in (("n=1,p=1", True), ("n=1.5,p=1", False)):
        words = ("d.csv", "--depth", 1, "--target", "y", "--weights", "w", "--class-weight", costs)
        assert odtc("fit", *words, "--certificate", "-o", "c", folder=tmp_path).code == 0
        if passes:
            assert odtc("fit", *words, "-o", "m", folder=tmp_path).code == 0
        (tmp_path / "m.certificate.json").write_bytes((tmp_path / "c.certificate.json").read_bytes())
        passed, told = _check_of_certificate(tmp_path)
        assert passed == passes and (passes or "counts other costs of errors" in told), told


def test_a_solver_that_ends_as_optimal_before_its_bound_is_there_is_told(tmp_path):
    """Not if no tree costs what lies between, nor of a bound of an edited model, whose costs nobody knows."""
    data = MONKS / "monks-1.csv"
    words = ("--model", "flowoct", "--depth", 1, "--encoding", "onehot", "--solver", "highs", "--format", "mps")
    assert odtc("fit", data, *words, "-o", "m", folder=tmp_path).code == 0
    record = json.loads((tmp_path / "m.run.json").read_text())
    paid = record["objective"]
    for bound, told in ((paid, False), (paid - 0.5, False), (paid - 1.5, True)):
        record |= {"bound": bound, "gap": (paid - bound) / paid, "history": []}
        (tmp_path / "m.run.json").write_text(json.dumps(record))
        said = odtc("verify", "m.sol", "--time-limit", 0, folder=tmp_path)
        assert said.code == 0 and ("it calls a cost of" in said.out) == told, said.out


def test_the_data_and_the_reading_of_a_tree_are_those_of_its_record_as_long_as_both_are_as_they_were(tmp_path):
    _noisy(tmp_path / "d.csv", 3, 40)
    assert odtc("fit", "d.csv", "--depth", 1, "--ignore", "b", "-o", "m", folder=tmp_path).code == 0
    tree, text = tmp_path / "m.tree.json", (tmp_path / "m.tree.json").read_text()
    assert data_of_tree(tree).resolve() == tmp_path / "d.csv" and reading_of_tree(tree)["ignore"] == ("b",)
    delivered = tmp_path / "elsewhere" / "far" / "delivered"
    delivered.mkdir(parents=True)
    for name in ("m.tree.json", "m.run.json", "d.csv"):
        (delivered / name).write_bytes((tmp_path / name).read_bytes())
    record = delivered / "m.run.json"
    record.write_text(record.read_text().replace('"path": "d.csv"', '"path": "../data/d.csv"'))
    assert data_of_tree(delivered / "m.tree.json").resolve() == delivered / "d.csv"
    tree.write_text(text + " ")  # the record is of another tree
    assert data_of_tree(tree) is None and reading_of_tree(tree) == {}
    assert "the record of another tree" in refused(odtc("verify", "m.tree.json", folder=tmp_path))
    tree.write_text(text)
    (tmp_path / "d.csv").write_text((tmp_path / "d.csv").read_text() + "0,0,1\n")
    assert data_of_tree(tree) is None and reading_of_tree(tree)["ignore"] == ("b",)


def test_a_record_of_a_schema_that_is_not_known_is_not_read(tmp_path):
    assert odtc("fit", MONKS / "monks-1.csv", "--depth", 1, "-o", "m", folder=tmp_path).code == 0
    record = json.loads((tmp_path / "m.run.json").read_text())
    (tmp_path / "m.run.json").write_text(json.dumps(record | {"schema": "odtc.run/9"}))
    said = refused(odtc("verify", "m", folder=tmp_path))
    assert "'odtc.run/1'" in said and "'odtc.run/9'" in said


@pytest.mark.parametrize(
    ("words", "cost"),
    [
        ((), None),
        (("--cost", "0:1=3"), [[0, 3], [1, 0]]),
        (("--class-weight", "1=2"), [[0, 1], [2, 0]]),
        (("--cost", "0:1=3", "--class-weight", "1=2"), [[0, 3], [2, 0]]),
    ],
    ids=str,
)
def test_a_record_without_a_model_holds_what_errors_cost(words, cost, tmp_path):
    """So that the tree is counted again at the same prices."""
    assert odtc("fit", MONKS / "monks-1.csv", "--depth", 1, *words, "-o", "m", folder=tmp_path).code == 0
    told = json.loads((tmp_path / "m.run.json").read_text())["fit"]["model"]
    assert (told["cost"], told["class_weight"]) == (cost, None)
    said = odtc("verify", "m.tree.json", "--json", folder=tmp_path)
    assert said.code == 0 and said.facts["verified"], said.err


def test_a_record_without_a_model_says_how_its_run_was_made(tmp_path):
    words = ("--depth", 1, "--seed", 3, "--threads", 1, "--time-limit", 60, "-o", "m")
    assert odtc("fit", MONKS / "monks-1.csv", *words, folder=tmp_path).code == 0
    opened = open_record(str(tmp_path / "m"), tmp_path / "m.tree.json")
    solving = opened.spec.solving
    assert (solving.seed, solving.threads, solving.time_limit, solving.solver) == (3, 1, 60, None) and opened.repeats
    assert opened.spec.model.depth == 1 and not opened.note and opened.fit.verified


def test_curves_are_asked_of_a_tree_only_if_the_rows_are_there(tmp_path):
    """A manifest holds equal rows together; the same counts and another curve are another tree if each row is known."""

    def tree(curve, count=2.0):
        leaf = Leaf(0, (count,), (2,), (1.0, 2.0, 3.0), curve)
        return Tree(leaf, (Feature("a", "numeric"),), ("y",), "y", "drop", "regression")

    path, curve, other = tmp_path / "m.tree.json", ((0.5, 1.0), (1.0, 2.0)), ((0.5, 1.0), (1.0, 3.0))
    for dataset, held, same in ((None, (), True), ("rows", curve, True), ("rows", other, False), ("rows", (), False)):
        runs = [SimpleNamespace(dataset=dataset, tree=tree(held))]
        assert check_of_tree(tree(curve), path, path, runs)[1].passed == same
        runs = [SimpleNamespace(dataset=dataset, tree=tree(held, 3.0)), *runs]
        done, check = check_of_tree(tree(curve), path, path, runs)
        assert check.passed == same and done is runs[1]  # the one whose tree it is, or the last
        assert ("the tree and the counts" in check.text) == same


def test_the_solutions_of_a_folder_are_its_files_that_are_no_start(tmp_path):
    for name in ("b.sol", "a.sol", "a.start.sol", "c.start.sol", "a.tree.json"):
        (tmp_path / name).write_text("")
    (tmp_path / "d.sol").mkdir()
    assert [one.name for one in tree_file._solutions_beside(tmp_path / "x.tree.json")] == ["a.sol", "b.sol"]


def test_of_several_solutions_the_one_of_the_tree_is_taken(tmp_path, monkeypatch):
    """By the check of the tree file, whatever else fails; one that cannot be read is passed over, unless it is that of
    the stem. If it is the tree of none of them, these solutions say nothing about it."""
    written = {name: (tmp_path / f"{name}.sol").write_text("") for name in "abcd"}
    monkeypatch.setattr(tree_file, "read_tree", lambda path: "the tree")
    monkeypatch.setattr(tree_file, "open_record", lambda *_: SimpleNamespace(fit=None, note=""))
    told: dict = {}

    def held(tree, path, solution, data, seconds):
        if (found := told[solution.stem]) is None:
            raise SolutionError("no solution")
        checks = [SimpleNamespace(name=name, passed=passed) for name, passed in found]
        return SimpleNamespace(name=solution.stem, decoded=SimpleNamespace(checks=checks)), None, ""

    monkeypatch.setattr(tree_file, "_held_against", held)
    whole, own, wrong = [("rows", True), ("tree file", True)], [("rows", False), ("tree file", True)], None
    other = [("rows", True), ("tree file", False)]

    def taken(*found):
        told.update(zip(written, found))
        return tree_file.recheck_tree(tmp_path / "x.tree.json")[0].name

    assert taken(whole, other, other, other) == "a" == taken(own, whole, other, other)
    assert taken(other, wrong, own, whole) == "c"
    with pytest.raises(TreeError, match="it is not the tree of 'a.sol', 'c.sol';"):
        taken(other, wrong, other, wrong)
    assert taken(other, whole, other, other) == "b"
    with pytest.raises(TreeError, match="found none of them"):
        taken(wrong, wrong, wrong, wrong)
    (tmp_path / "x.sol").write_text("")
    told["x"] = wrong
    assert taken(other, whole, other, other) == "b"  # a solution alone is none of a run
    (tmp_path / "x.odt.json").write_text("")
    with pytest.raises(SolutionError):
        taken(whole, whole, whole, whole)
    (tmp_path / "x.sol").unlink()
    assert taken(whole, other, other, other) == "a"


def test_a_certificate_of_another_run_is_told_by_what_it_proves():
    """What is stated is changed one by one; of a formulation that certifies nothing, costs are those of its tree."""
    rows = "".join(f"{a},{b},{(a > 1) ^ (b > 2) ^ (a == b)}\n" for a in range(4) for b in range(4))
    frame = pd.read_csv(io.StringIO("a,b,y\n" + rows))
    done = odtc_package.fit(odtc_package.read(frame), None, "dpflow", depth=1, encoding="onehot")
    facts = done.problem.module.certificate(done.problem)
    proof = check(facts, done.dataset)
    proved = {"depth": 1, "of": dict(proof.of), "data_sha256": "0", "left_out": proof.left_out}
    proved["objective"] = proof.objective
    asked = parse("leaves <= 2", done.problem.encoded)
    constrained = replace(done, problem=replace(done.problem, constraints=(asked,)))
    of_them = proved | {"of": proved["of"] | {"constraints": ["leaves <= 2"]}}
    label = 1 - int(np.argmax(done.tree.root.counts if isinstance(done.tree.root, Leaf) else [0, 1]))
    leaf = HeapTree(*(np.array(part, np.int32) for part in ([-1] * 4, [-1, label, -1, -1])))
    other = facts | {"tree": leaf.to_tree(done.problem.encoded).to_json()}
    costs = done.problem.module.objective(done.problem, leaf)
    assert costs > proof.objective
    for of, given, said, words in (
        (facts, proved, done, ""),
        (facts, of_them, constrained, ""),
        (facts, of_them, done, "is about trees that satisfy 'leaves <= 2', which this run does not require"),
        (facts, proved | {"infeasible": True}, done, "proves that no tree satisfies the constraints, and this run has"),
        (
            facts,
            proved | {"objective": proof.objective + 1},
            done,
            f"states that its tree costs {proof.objective + 1:g}",
        ),
        (other, proved, done, f"has a tree that costs {costs:g}, and the one of this run costs {proof.objective:g}"),
    ):
        told = tree_file._of_another_run(of, given, said)
        assert told.startswith(words) and bool(told) == bool(words), told


@pytest.mark.parametrize("limit", ["branch_nodes <= 1", "leaves <= 2", "branch_nodes <= 0"])
def test_the_certificate_of_a_run_with_few_branch_nodes_is_its_own(limit, tmp_path):
    """The certificate of a regression states "leaves <= 2" for "branch_nodes <= 1", and was that of another run."""
    words = ("fit", MONKS / "monks-1.csv", "--task", "regression", "--target", "a1", "--depth", 2, "-o", "m")
    said = odtc(*words, "--constraint", limit, "--constraint", "leaf_rows >= 5%", "--certificate", folder=tmp_path)
    assert said.code == 0 and (tmp_path / "m.certificate.json").is_file(), said.err
    said = odtc("verify", "m", folder=tmp_path)
    assert said.code == 0 and "certificate" in said.out, said.err
    older = (tmp_path / "m.certificate.json").read_bytes()  # a run with another tree removes it
    assert odtc(*words, "--constraint", "leaves <= 4", folder=tmp_path).code == 0
    (tmp_path / "m.certificate.json").write_bytes(older)
    assert "which this run does not require" in odtc("verify", "m", folder=tmp_path).err


def test_a_tree_of_selected_rows_says_that_its_rows_are_not_there_and_what_to_do(tmp_path):
    """The record that was there was said not to be."""
    monks = MONKS / "monks-1.csv"
    assert odtc("fit", monks, "--select", "coarse_to_fine", "-o", "m", folder=tmp_path).code == 0
    said = refused(odtc("verify", "m", folder=tmp_path), 1)
    assert "--select coarse_to_fine" in said and "`odtc select`" in said and "found none" not in said
    written = odtc("select", monks, "--select", "coarse_to_fine", "-o", "rows.csv", folder=tmp_path)
    weights = re.findall(r"--weights \w+", written.out)
    assert odtc("fit", "rows.csv", *" ".join(weights).split(), "-o", "k", folder=tmp_path).code == 0
    assert odtc("verify", "k", folder=tmp_path).code == 0
