"""`odtc fit` without a model or a solver: the search proves the tree, or hands in the best one and a bound."""

import json
import re

import numpy as np
import pytest

from odtc.algorithms.thresholds.rank_search import RankSearch
from odtc.algorithms.thresholds.ranks import rank_columns, rank_rows
from odtc.formulations.dpflow import constrained
from odtc.formulations.dpflow.forms import intervals
from tests.command_line import MONKS, hearing, signalled
from tests.command_line import odtc as command


@pytest.fixture
def wide(tmp_path):
    """Five numeric columns of noise: depth 4 takes minutes."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 60, (1200, 5)), rng.integers(0, 3, 1200)]).tolist()
    (tmp_path / "wide.csv").write_text("\n".join(["a,b,c,d,e,y", *(",".join(map(str, row)) for row in rows)]) + "\n")
    return tmp_path


def test_the_tree_is_proved_without_a_solver_and_a_named_one_runs(tmp_path):
    ours = command("fit", MONKS / "monks-1.csv", "--encoding", "onehot", "-o", "a", "--json", folder=tmp_path).facts
    assert (ours["solver"], ours["termination"], ours["objective"], ours["bound"]) == ("odtc", "optimal", 27, 27)
    assert ours["fewest_leaves"] and ours["verified"] and ours["files"] == ["a.run.json", "a.tree.json"]
    words = ("--encoding", "onehot", "--solver", "highs", "-o", "b", "--json")
    theirs = command("fit", MONKS / "monks-1.csv", *words, folder=tmp_path).facts
    assert theirs["solver"].startswith("HiGHS") and theirs["objective"] == 27 and "b.sol" in theirs["files"]
    assert ours["certified"] and "certified" not in theirs


def test_no_tree_is_smaller_than_a_leaf(tmp_path):
    """The record says so, too, and `verify` derives it."""
    said = command("fit", MONKS / "monks-1.csv", "--depth", 0, "-o", "a", "--json", folder=tmp_path)
    assert said.facts["fewest_leaves"] is said.facts["fewest_columns"] is True
    assert "fewer leaves" not in command("show", "a.tree.json", folder=tmp_path).out
    checked = command("verify", "a", "--json", folder=tmp_path)
    assert checked.code == 0 and "fewest_leaves" not in checked.facts.get("claimed", [])


def test_the_record_holds_incumbents_and_bounds_over_time_and_a_plot_shows_them(wide):
    ended = command("fit", "wide.csv", "--depth", 3, "--time-limit", 1, "-o", "w", "--json", folder=wide).facts
    history = json.loads((wide / "w.run.json").read_text())["history"]
    incumbents = [incumbent for _, incumbent, _ in history if incumbent is not None]
    assert incumbents == sorted(incumbents, reverse=True) and history == sorted(history, key=lambda entry: entry[0])
    assert history[-1][1:] == [ended["objective"], ended["bound"]]
    assert command("verify", "w.tree.json", folder=wide).code == 0
    assert command("plot", "progress", "w", "-o", "w.svg", folder=wide).code == 0 and (wide / "w.svg").exists()


@pytest.mark.parametrize("more", [(), ("--constraint", "leaf_rows >= 20")])
def test_verify_searches_no_tree_of_its_own(wide, monkeypatch, more):
    """It proved the best tree, without a limit, to hold the bound of a run that a limit had ended against CART's."""
    command("fit", "wide.csv", "--depth", 3, "--time-limit", 0.5, "-o", "w", *more, folder=wide)
    monkeypatch.setattr(intervals, "optimal", None)
    assert command("verify", "w.tree.json", folder=wide).code == 0  # its search of some seconds may derive the bound
    said = command("verify", "w.tree.json", "--time-limit", 0, folder=wide)
    assert said.code == 0 and "claimed by the run" in said.err, said.err


def test_the_model_is_recorded_as_asked_and_as_chosen(tmp_path):
    words = (MONKS / "monks-1.csv", "--encoding", "onehot", "--json")
    ours = command("fit", *words, "-o", "a", folder=tmp_path).facts
    assert (ours["model_requested"], ours["model"]) == ("auto", "dpflow")
    built = command("build", *words, "--model", "auto", "-o", "b", folder=tmp_path).facts
    record = json.loads((tmp_path / "b.odt.json").read_text())["model"]
    assert (
        (record["requested"], record["formulation"]) == (built["model_requested"], built["model"]) == ("auto", "dpflow")
    )
    assert "model_requested" not in command("build", *words, "--model", "dpflow", "-o", "c", folder=tmp_path).facts
    assert "requested" not in json.loads((tmp_path / "c.odt.json").read_text())["model"]


def test_of_the_best_trees_it_has_the_fewest_leaves(tmp_path):
    (tmp_path / "a.csv").write_text("x,z,y\n" + "".join(f"{x},{x * 7 % 10},{int(x > 4)}\n" for x in range(10)))
    facts = command("fit", "a.csv", "--depth", 3, "--json", folder=tmp_path).facts
    assert (facts["objective"], facts["n_leaves"], facts["fewest_leaves"]) == (0, 2, True)


def test_at_a_limit_it_has_a_tree_no_worse_than_carts_and_a_bound(wide):
    said = command("fit", "wide.csv", "--depth", 4, "--time-limit", 2, "--json", folder=wide)
    facts, words = said.facts, r"note: (depth \d proved, )?depth (\d): objective ([\d.]+), bound ([\d.]+); more time"
    assert facts["termination"] == "time_limit" and facts["verified"]
    assert 0 <= facts["bound"] <= facts["objective"] and facts["train_correct"] >= facts["cart_train_correct"]
    _, height, cost, bound = re.search(words, said.err).groups()
    assert float(bound) <= float(cost) and (height != "4" or float(cost) == facts["objective"])


def test_least_rows_of_leaves_over_many_thresholds_are_searched_by_ranks(tmp_path, monkeypatch):
    """Not by multipliers, which prove little of that in the same time."""
    monkeypatch.setattr(constrained, "search", None)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 100, (150, 2))
    rows = np.column_stack([X, (X[:, 0] > 50) ^ (X[:, 1] > 50) ^ (rng.random(150) < 0.1)]).tolist()
    (tmp_path / "a.csv").write_text("\n".join(["a,b,y", *(",".join(map(str, row)) for row in rows)]) + "\n")
    facts = command("fit", "a.csv", "--depth", 2, "--constraint", "leaf_rows>=10", "--json", folder=tmp_path).facts
    ranked = rank_rows(rank_columns(X.astype(float))[0], np.eye(2)[[1 - row[2] for row in rows]], least=10)
    assert (facts["termination"], facts["objective"]) == ("optimal", ranked.cost(RankSearch(ranked).solve(2).upper))


def test_ctrl_c_hands_in_what_is_known(wide):
    begins = (
        "from odtc.formulations.dpflow import threshold_search as t; run = t.ThresholdSearch._phases; "
        "t.ThresholdSearch._phases = lambda self: (open('begun', 'w').close(), run(self)); "
    )
    words = hearing("fit", "wide.csv", "--depth", 4, "-o", "m", "--json", first=begins)
    said = signalled(words, wide, (wide / "begun").exists, rest=1)
    assert said.code == 130, said.err
    assert said.facts["termination"] == "interrupted" and said.facts["verified"]
    assert 0 <= said.facts["bound"] <= said.facts["objective"]
