"""`odtc tune`: fair folds, scores as counted by hand, the choice by its rules, and a refitted tree that verifies."""

import json
import re
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import odtc as package
from odtc.cli.commands.studies import nested_text
from odtc.cli.options import whole_numbers
from odtc.data.dataset import NUMERIC, Dataset, Feature
from odtc.data.task import TASKS
from odtc.errors import ChoiceError, DataError
from odtc.evaluation import cross_validation
from odtc.evaluation.cross_validation import Fold, Result, Setting
from odtc.evaluation.studies.engine import local, run_tasks
from odtc.evaluation.studies.study import Study, TableRows
from odtc.evaluation.studies.tuning import Majority
from odtc.workflow.run import run as run_spec
from tests.command_line import odtc, refused

LINES = [
    "a,b,class",
    *(f"{a},{b},{'yes' if (a > 2) != (b > 3 and a != 4) else 'no'}" for a in range(6) for b in range(6)),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("tune")
    (path / "rows.csv").write_text("\n".join(LINES) + "\n")
    return path


@given(y=st.lists(st.integers(0, 3), min_size=4, max_size=60), n=st.integers(2, 6), seed=st.integers(0, 9))
def test_each_class_is_dealt_out_evenly(y, n, seed):
    y = np.array(y)
    counts = np.sort(np.bincount(y)[np.bincount(y) > 0])
    if len(counts) < 2 or counts[-2] < n:
        few = len(counts) < 2 or counts[-2] < 2  # then no number of folds would do, and none is named
        with pytest.raises(ChoiceError, match="two classes of 2 rows" if few else rf"from 2 to {counts[-2]} folds?"):
            cross_validation.deal_folds(y, n, seed)
        return
    fold = cross_validation.deal_folds(y, n, seed)
    for label in np.unique(y):
        held = np.bincount(fold[y == label], minlength=n)
        assert held.max() - held.min() <= 1
    assert np.ptp(np.bincount(fold, minlength=n)) <= 1 and np.array_equal(fold, cross_validation.deal_folds(y, n, seed))


def test_a_grid_of_the_command_line(folder):
    said = odtc("tune rows.csv --model dpflow --depths 1,2 -p lambda=0,0.05 --folds 3 --json -o t", folder=folder)
    assert said.code == 0, said.err
    facts = said.facts
    assert [entry["name"] for entry in facts["results"]] == [
        "dpflow, depth 1, lambda=0",
        "dpflow, depth 1, lambda=0.05",
        "dpflow, depth 2, lambda=0",
        "dpflow, depth 2, lambda=0.05",
    ]
    scores = [entry["score"] for entry in facts["results"]]
    assert facts["results"][facts["best"]]["score"] == max(scores) and "fits: 12 of 12" in said.err
    assert facts["fit"]["verified"] and odtc("verify", "t", folder=folder).code == 0
    assert odtc("report", "t", folder=folder).code == 0
    assert odtc("plot", "tuning", "t.tune.json", "-o", "t.svg", folder=folder).code == 0
    again = odtc(
        "tune rows.csv --model dpflow --depths 1,2 -p lambda=0,0.05 --folds 3 --jobs 2 --json -o t", folder=folder
    ).facts
    assert [entry["score"] for entry in again["results"]] == scores
    priced = odtc("tune rows.csv --model oct_h --depths 1 -p alpha=0.01 --folds 2 -o h", folder=folder)
    assert priced.code == 0, priced.err  # whose objective was a number of numpy's, which JSON has not
    table = odtc("tune", "rows.csv", "--model", "cart", "--depths", "2", "--folds", "2", "-o", "c", folder=folder)
    assert table.code == 0 and "*  cart, depth 2" in table.out and (folder / "c.tree.json").exists()


@dataclass(frozen=True)
class Meeting:
    """Tasks come in pairs: the first waits for the second, a short while."""

    folder: Path
    number: int
    key = ""

    def run(self) -> dict:
        if self.number < 0:
            return {"met": True}
        (self.folder / str(self.number)).touch()
        until = time.monotonic() + 5.0
        while self.number % 2 == 0 and not (self.folder / str(self.number + 1)).exists() and time.monotonic() < until:
            time.sleep(0.005)
        return {"met": time.monotonic() < until}


def test_no_fit_waits_behind_another_while_a_worker_has_none(tmp_path):
    """After many quick fits joblib gave dozens of slow ones to one worker as a batch, said nothing until the last of
    them, and left the other worker without any: a run stood still."""
    tasks = [Meeting(tmp_path, number) for number in [*[-1] * 700, *range(24)]]
    assert all(result["met"] for result in run_tasks(tasks, local(2)))


def study_of(data: Dataset, settings, folds: int, seed: int) -> Study:
    return Study((TableRows.of(data),), settings, cross_validation.PLAIN, folds, ((seed,),))


def scored(study: Study):
    """The results of all settings of each table."""
    return study.results(dict(enumerate(run_tasks(study.tasks, local(1)))), "accuracy")


def test_a_score_is_that_of_the_rows_left_out(folder):
    data = package.read(folder / "rows.csv")
    fold = cross_validation.deal_folds(data.y, 3, seed=1)
    ((found,),) = scored(study_of(data, [Setting("dpflow", 2)], 3, 1))
    for k, one in enumerate(found.folds):
        train = Dataset(
            "train",
            data.X[fold != k].copy(),
            data.y[fold != k].copy(),
            data.features,
            data.classes,
            data.weight[fold != k].copy(),
        )
        tree = package.fit(train, "dpflow", 2).tree
        assert (
            one.accuracy == (tree.predict(data.X[fold == k]) == data.y[fold == k]).mean()
            and one.n_leaves == tree.n_leaves
            and one.proved
        )


def result(score, leaves, deviation=0.1, folds=4):
    return Result(Setting("x", 1), score, deviation, leaves, 0, 0.0, (Fold(0, 0, score, score, 1, True, 0.0),) * folds)


def test_the_best_is_the_smaller_of_equals_and_one_standard_error_away_by_the_other_rule():
    results = [result(0.8, 5.0), result(0.9, 8.0), result(0.9, 6.0), result(0.86, 3.0), result(None, None)]
    assert cross_validation.best_setting(results) == 2 and cross_validation.best_setting(results, "1se") == 3
    with pytest.raises(DataError, match="no setting has a tree in every fold"):
        cross_validation.best_setting([result(None, None)])
    lost = replace(result(None, None), folds=(Fold(0, 0, None, None, None, False, None, error="the solver died"),))
    with pytest.raises(DataError, match="in every fold: the solver died"):
        cross_validation.best_setting([result(None, None), lost])


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("rule", ["best", "1se"])
def test_the_choice_does_not_depend_on_the_unit_of_an_error(rule, unit):
    """A squared error of 1e-16 is 0 in no unit: targets may be in mol. Equal scores differ by their rounding only."""
    results = [result(-3.0 * unit, 2.0, 0.1 * unit), result(-1.0 * unit, 4.0, 0.1 * unit)]
    assert cross_validation.best_setting(results, rule) == 1
    results[0] = result(-1.0 * unit * (1 + 1e-15), 2.0, 0.1 * unit)
    assert cross_validation.best_setting(results, rule) == 0


@pytest.mark.parametrize("text", ["1:3", "1,2:3", "1:2,3:3"])
def test_a_range_of_depths_is_all_its_numbers(text):
    assert whole_numbers(text, "--depths") == (1, 2, 3)


@pytest.mark.parametrize("text", ["3:1", "1:99999999999999", "1:", ":", "", "1-3"])
def test_a_range_without_numbers_is_refused(text):
    with pytest.raises(ChoiceError, match="as in 1,2,3 or 1:3, got"):
        whole_numbers(text, "--depths")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--depths", "two"), "whole numbers between commas, as in 1,2,3 or 1:3, got 'two'"),
        (("-p", "lambda"), "KEY=VALUE,VALUE"),
        (("--folds", "99"), "expected from 2 to"),
        (("--score", "figure"), "--score: expected one of accuracy"),
        (("--score", "f1"), "--score: expected one of accuracy, balanced_accuracy, robust_accuracy, got 'f1'"),
        (("--rule", "2se"), "--rule: expected one of best, 1se, got '2se'"),
        (("--jobs", "0"), "--jobs"),
        (("--min-leaf-rows", "0"), "at least 1 row"),
        (("--model", "cart,nosuch"), "unknown model 'nosuch'"),
        (
            ("--try-constraint", "leaf_row >= 2"),
            "unknown constraint 'leaf_row' (did you mean 'leaf_rows', or --min-leaf-rows?)",
        ),
        (("--model", "svm1_odt", "-p", "epsilon=0.01,2"), "'epsilon': expected a number"),
    ],
)
def test_a_bad_option_is_said_before_the_work(folder, words, sentence):
    said = odtc("tune", "rows.csv", *words, "-o", "bad", folder=folder)
    assert said.code in (1, 2) and sentence in said.err and "fits:" not in said.err and not list(folder.glob("bad*"))


def test_weights_and_missing_cells_stay_with_their_rows():
    X = np.array([[0.0, np.nan], [1, 0], [2, 1], [3, np.nan], [4, 1], [5, 0], [6, 1], [7, 0]])
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1], dtype=np.int32)
    data = Dataset(
        "m",
        X,
        y,
        (Feature("x", NUMERIC), Feature("z", NUMERIC)),
        ("no", "yes"),
        np.arange(1.0, 9.0),
        missing="separate",
    )
    ((found,),) = scored(study_of(data, [Setting("dpflow", 1)], 2, 0))
    assert all(one.accuracy is not None for one in found.folds)


def test_prices_and_constraints_hold_in_every_fold_and_in_the_refitted_tree(tmp_path):
    # In each half of x one row of ten is "rare": counted by rows no split pays, at a price of 20 one does.
    rows = [(x, g, "rare" if x >= 30 and x % 5 == 0 else "usual") for x in range(40) for g in "uv"]
    (tmp_path / "d.csv").write_text("x,g,y\n" + "".join(f"{x},{g},{y}\n" for x, g, y in rows))
    words = (
        "tune",
        "d.csv",
        "--depths",
        "1",
        "--folds",
        "2",
        "--model",
        "flowoct",
        "--encoding",
        "auto:bins=4",
        "--json",
    )
    plain, priced, balanced, kept = (
        odtc(*words, *more, "-o", f"t{k}", folder=tmp_path).facts
        for k, more in enumerate(
            (
                (),
                ("--cost", "rare:usual=20"),
                ("--class-weight", "balanced", "--auxiliary", "g"),
                ("--constraint", "recall[rare] >= 0.9"),
            )
        )
    )
    recalls = [facts["results"][0]["folds"][0]["balanced_accuracy"] for facts in (plain, priced, balanced, kept)]
    assert recalls[0] == 0.5 and min(recalls[1:]) > 0.8
    assert plain["fit"]["n_leaves"] == 1 and all(facts["fit"]["n_leaves"] == 2 for facts in (priced, balanced, kept))
    assert kept["fit"]["constraints"] and priced["fit"]["cost"] is not None
    said = odtc(*words[:-1], "--class-weight", "nosuch=2", folder=tmp_path)
    assert said.code == 1 and "unknown class 'nosuch' in --class-weight" in said.err


def test_depth_zero_encodings_and_constraints_are_settings():
    settings = cross_validation.grid(["dpflow"], [0, 1], {}, encodings=("auto", "onehot"), tries=("features <= 1",))
    assert [str(one) for one in settings] == [
        "depth 0, a single leaf",
        "dpflow, depth 1, auto",
        "dpflow, depth 1, auto, features <= 1",
        "dpflow, depth 1, onehot",
        "dpflow, depth 1, onehot, features <= 1",
    ]
    data = grid_data()
    done = run_spec(settings[0].of(cross_validation.PLAIN), data)
    assert done.verified and done.tree.n_leaves == 1
    assert done.facts["train_correct"] == np.bincount(data.y).max()
    constrained = settings[2].of(cross_validation.PLAIN).model
    assert constrained.encoding == "auto" and constrained.constraints == ("features <= 1",)


def test_a_parameter_is_varied_for_the_models_that_have_it_and_this_is_said(tmp_path):
    settings = cross_validation.grid(
        ["cart", "oblique_search", "dpflow"], [1], {"seconds": ["1", "2"], "lambda": ["0.5"]}
    )
    assert [str(one) for one in settings] == [
        "cart, depth 1",
        "oblique_search, depth 1, seconds=1",
        "oblique_search, depth 1, seconds=2",
        "dpflow, depth 1, lambda=0.5",
    ]
    of_auto = cross_validation.grid(["auto", "oblique_search"], [1], {"seconds": ["1"], "lambda": ["0.5"]})
    assert [one.params for one in of_auto] == [(("lambda", "0.5"),), (("seconds", "1"),)]  # of dpflow, say
    with pytest.raises(ChoiceError, match="model 'cart' has no parameter 'secnds'"):
        cross_validation.grid(["cart", "oblique_search"], [1], {"secnds": ["1"]})
    (tmp_path / "rows.csv").write_text("\n".join(LINES) + "\n")
    words = ["tune", "rows.csv", "--model", "cart,dpflow", "--depths", "1", "-p", "lambda=0", "--folds", "2"]
    said = odtc(*words, folder=tmp_path)
    assert said.code == 0 and "-p lambda: of dpflow; cart has none" in said.err + said.out


def grid_data(noise: bool = False) -> Dataset:
    rng = np.random.default_rng(5)
    X = rng.integers(0, 4, (60, 3)).astype(float)
    y = (rng.random(60) < 0.4 if noise else X[:, 0] > 1).astype(np.int32)
    return Dataset("made", X, y, tuple(Feature(f"x{j}", NUMERIC) for j in range(3)), ("0", "1"), np.ones(60))


def test_nested_folds_are_not_those_of_the_choice():
    data = grid_data()
    same = cross_validation.deal_rows(data, 5, 3), cross_validation.outer_folds(data, 5, 3)
    together = [fold[:, None] == fold[None, :] for fold in same]
    assert (together[0] != together[1]).any()


def test_nested_scores_are_those_of_choices_made_without_the_rows():
    """What each outer fold says is counted here anew: the choice by its own folds, a fit, the rows left out."""
    data = grid_data(noise=True)
    settings = cross_validation.grid(["dpflow"], [0, 1, 2], {})
    outer = cross_validation.deal_folds(data.y, 3, 1)
    study = replace(study_of(data, settings, 2, 0), nested=3)
    ((found,),) = study.nested_choices(
        run_tasks(study.inner_tasks, local(1)), "accuracy", "best", lambda tasks: run_tasks(tasks, local(1))
    )
    for k in range(3):
        train, test = data.taken(outer != k), data.taken(outer == k)
        fold = cross_validation.deal_folds(train.y, 2, 0)
        means = []
        for one in settings:
            rights = []
            for part in range(2):
                tree = run_spec(one.of(cross_validation.PLAIN), train.taken(fold != part)).tree
                held = train.taken(fold == part)
                rights.append((tree.predict(held.X) == held.y).mean())
            means.append(np.mean(rights))
        assert found.inner[k] == pytest.approx(max(means)) and means[found.chosen[k]] == pytest.approx(max(means))
        tree = run_spec(settings[found.chosen[k]].of(cross_validation.PLAIN), train).tree
        assert found.scores[k] == pytest.approx((tree.predict(test.X) == test.y).mean())
    assert found.optimism == pytest.approx(np.mean(found.inner) - np.mean(found.scores))
    assert found.to_json()["folds"] == 3


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        ((1, 1, 1), "1 of 3 settings was chosen, most often b, 3 of 3 times"),
        ((2, 1, 2), "2 of 3 settings were chosen, most often c, 2 of 3 times"),
        ((0, 1, 2), "3 of 3 settings were chosen, each once"),
    ],
)
def test_how_often_a_setting_was_chosen_is_said(chosen, says):
    honest = cross_validation.Nested((0.5, 0.7, 0.6), (0.6, 0.6, 0.6), chosen, 1.0)
    assert nested_text(honest, "abc", TASKS.get("classification"), {}).endswith(says)


def test_nested_goes_on_where_it_was_stopped(folder):
    words = ("tune", "rows.csv", "--model", "dpflow", "--depths", "0,1", "--folds", "2", "--nested", "2", "-o", "n")
    said = odtc(*words, "--json", folder=folder)
    assert said.code == 0 and said.facts["nested"]["folds"] == 2 and "fits: 12 of 12" in said.err
    assert not (folder / "n.tune.fits").exists()
    said = odtc(*words, "--nested", "1", folder=folder)
    assert said.code == 2 and "--nested" in said.err


def test_a_setting_that_the_data_refuse_is_told_and_the_rest_chosen_from(tmp_path):
    rows = ["size,colour,answer", *(f"{i},{'red' if i % 3 else 'blue'},{'yes' if i > 20 else 'no'}" for i in range(40))]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    grid = ("--model", "cart", "--depths", "1", "--folds", "3", "--encoding", "thresholds", "--encoding", "auto")
    said = odtc("tune", "t.csv", *grid, "-o", "m", folder=tmp_path)
    assert said.code == 0, said.err
    assert "no tree   cart, depth 1, thresholds: expected numeric columns only for --encoding thresholds" in said.out
    assert (tmp_path / "m.tree.json").exists()
    least = odtc("tune", "t.csv", *grid[:-2], "--min-leaf-rows", "1000", "-o", "n", folder=tmp_path)
    assert least.code == 1 and "no setting has a tree in every fold: " in least.err
    assert not (tmp_path / "n.tree.json").exists()


def test_of_noise_a_leaf_alone_is_chosen_for_numbers_too(tmp_path):
    rng = np.random.default_rng(0)
    rows = ["size,answer", *(f"{x:.2f},{v:.2f}" for x, v in rng.normal(size=(40, 2)))]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    grid = ("--task", "regression", "--depths", "0,1", "--folds", "3", "--rule", "1se")
    said = odtc("tune", "t.csv", *grid, "-o", "m", folder=tmp_path)
    assert said.code == 0, said.err
    assert re.search(r"^\*  depth 0, a single leaf +\S+ +\S+ +1\.0 +3 of 3", said.out, re.M)
    mean = np.mean([float(row.split(",")[1]) for row in rows[1:]])
    assert f"always  → {mean:.6g}" in said.out


def fits(*scores):
    return Result(
        Setting("auto", 1), 0.0, 0.0, 1.0, 0, 0.0, tuple(Fold(0, k, a, a, 2, True, 0.0) for k, a in enumerate(scores))
    )


def test_the_majority_is_that_of_the_other_folds_counted_by_weight():
    y, fold = np.array([0, 0, 0, 1, 1, 1, 1, 1]), np.array([0, 0, 0, 0, 1, 1, 1, 1])
    rows = Dataset("t", np.zeros((8, 1)), y, (Feature("x", NUMERIC),), ("a", "b"), np.ones(8))
    found = Majority.of(rows, [fold], "accuracy")
    assert (found.label, found.scores) == ("b", (0.25, 0.0))  # b is right on 1 of 4; a, on none
    assert Majority.of(rows, [fold], "balanced_accuracy").scores == (0.5, 0.0)
    heavy = replace(rows, weight=np.array([9.0, 1, 1, 1, 1, 1, 1, 1]))
    assert Majority.of(heavy, [fold, 1 - fold], "accuracy").scores == (0.25, 0.0, 0.0, 0.25)
    assert Majority.of(heavy, [fold], "accuracy").label == "a"


def test_a_setting_beats_the_majority_by_two_corrected_errors():
    majority = Majority("a", "accuracy", (0.5,) * 5, 5)
    ahead, error = majority.lead(fits(0.6, 0.7, 0.6, 0.7, 0.65))
    assert ahead == pytest.approx(0.15) and error == pytest.approx(0.05 * (1 / 5 + 1 / 4) ** 0.5)
    assert majority.is_surely_beaten(fits(0.6, 0.7, 0.6, 0.7, 0.65))
    assert not majority.is_surely_beaten(fits(0.6, 0.5, 0.6, 0.5, 0.55))
    assert not majority.is_surely_beaten(fits(0.5, 0.5, 0.5, 0.5, 0.5))
    assert Majority("a", "accuracy", (0.55, 0.5, 0.3), 3).lead(fits(0.5, 0.55, 0.3))[0] == 0  # exactly, not almost
    assert Majority("a", "accuracy", (0.2, 0.5, 0.6), 3).lead(fits(0.3, 0.6, 0.7)) == (0.1, 0)
    assert majority.is_surely_beaten(fits(0.6, None, 0.6, 0.5, 0.5))  # nothing is said of it


def test_noise_is_warned_of_and_a_rule_is_not(folder):
    rng = np.random.default_rng(5)
    noise = "\n".join(
        f"{a:.3f},{b:.3f},{c}" for a, b, c in zip(rng.normal(size=60), rng.normal(size=60), rng.choice(["n", "y"], 60))
    )
    (folder / "noise.csv").write_text("a,b,class\n" + noise + "\n")
    said = odtc("tune", "noise.csv", "--depth", "1", "--folds", 3, "-o", "noise", folder=folder)
    assert said.code == 0 and re.search(
        r"^warning: no setting surely beats the most frequent class '[ny]'", said.err, re.M
    )
    assert re.search(r"the best is (ahead of|behind) it by \d+\.\d\d %", said.err)
    assert re.search(r"^majority  \d\d\.\d\d % by always predicting the most frequent class", said.out, re.M)
    told = json.loads((folder / "noise.tune.json").read_text("utf-8"))["majority"]
    assert len(told["scores"]) == 3 and told["score"] == pytest.approx(np.mean(told["scores"]))
    said = odtc("tune", "rows.csv", "--depth", "3", "--folds", 3, "-o", "rule", folder=folder)
    assert said.code == 0 and "warning" not in said.err
    said = odtc(
        "tune", "noise.csv", "--depth", "1", "--folds", 3, "--class-weight", "balanced", "-o", "b", folder=folder
    )
    assert said.code == 0 and "warning" not in said.err


def test_a_fit_is_warned_of_a_test_that_the_most_frequent_class_passes_as_well(folder):
    rows = [line.split(",") for line in LINES[1:]]
    swapped = [f"{a},{b},{'no' if answer == 'yes' else 'yes'}" for a, b, answer in rows]
    (folder / "swapped.csv").write_text("\n".join([LINES[0], *swapped]) + "\n")
    most = max(["yes", "no"], key=[row[2] for row in rows].count)
    share = sum(line.endswith(f",{most}") for line in swapped) / len(swapped)
    said = odtc("fit", "rows.csv", "--depth", "3", "--test", "swapped.csv", "-o", "h", folder=folder)
    assert f"its most frequent class {most!r} is ({100 * share:.2f} %)" in said.err
    said = odtc("fit", "rows.csv", "--depth", "3", "--test", "swapped.csv", "-o", "h", "--json", folder=folder)
    assert json.loads(said.out)["test_majority_accuracy"] == pytest.approx(share)
    said = odtc("fit", "rows.csv", "--depth", "3", "--test", "rows.csv", "-o", "h", folder=folder)
    assert said.code == 0 and "chance" not in said.err


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("results", [], "a setting with a score"),
        ("results", [{"name": "a", "n_leaves": None, "score": 1}], "a setting with a score"),
        ("results", [{"name": "a", "n_leaves": "2", "score": 1}], "results[0].n_leaves"),
        ("results", [{"name": "a", "n_leaves": 2, "score": [1]}], "results[0].score"),
        ("results", [{"name": "a", "n_leaves": 2, "score": 10**400}], "results[0].score"),
        ("score", 7, "at score"),
    ],
)
def test_a_tune_file_of_another_shape_is_no_picture(key, value, said, tmp_path):
    told = {"data": "d", "folds": 2, "score": "accuracy", "results": [{"name": "a", "n_leaves": 2, "score": 0.5}]}
    (tmp_path / "m.tune.json").write_text(json.dumps(told | {key: value}))
    assert said in refused(odtc("plot", "tuning", "m", "-o", "p.svg", folder=tmp_path))


@pytest.mark.parametrize("scores, is_optimistic", [("direct", True), ("ips", False)])
def test_values_of_policies_from_shared_forests_are_called_optimistic(tmp_path, scores, is_optimistic):
    """With outcomes that are noise, the folds of `direct` promise a value, because forests of all rows estimated both
    sides."""
    cells = [f"{row % 7},{'ab'[row % 2]},{row * 37 % 11},0.5" for row in range(40)]
    (tmp_path / "rows.csv").write_text("\n".join(["x,action,out,p", *cells]) + "\n")
    columns = "--task policy --treatment action --outcome out --propensity p"
    for command in ("tune rows.csv --depths 1 -o t", "sweep rows.csv --depths 1 -o s", "sweep -o s"):
        options = f"{columns} --folds 2 --scores {scores}" if "rows" in command else ""
        said = odtc(f"{command} {options}".strip(), folder=tmp_path)
        assert said.code == 0, said.err
        assert ("scores are too optimistic" in said.err) == is_optimistic
