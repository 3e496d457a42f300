"""`odtc refit`: a tree for new data close to an old one; and starts that do not fit, which are projected."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import odtc
from odtc.base.spec_fields import fields_by_name
from odtc.base.wording import flag
from odtc.data.reading_spec import ReadingSpec
from odtc.data.splits import Threshold
from odtc.errors import ChoiceError, DataError
from odtc.evaluation.drift import column_psi, drift_facts, leaf_drift, psi
from odtc.evaluation.refitting import read_new, recoded, refit
from odtc.problem.projection import project_tree
from odtc.trees.tree import Branch, Leaf
from odtc.workflow.artifacts import write_tree
from odtc.workflow.posing import pose
from odtc.workflow.provenance.settings import OF_OLD_ROWS, inherited, inherited_texts, settings_of
from odtc.workflow.run_record import WHOLE_RUN, write_settings
from odtc.workflow.specification import PARTS, ModelSpec, RunSpec
from tests.command_line import MONKS, refused
from tests.command_line import odtc as command


def months(seed, shift=0.0, n=80):
    draw = np.random.default_rng(seed)
    age, income = draw.integers(20, 60, n) + shift, draw.integers(1, 9, n) * 1000.0
    region = draw.choice(["north", "south", "west"], n)
    risk = (age + shift > 40) ^ (income > 4000) ^ (draw.random(n) < 0.1)
    return pd.DataFrame({"age": age, "income": income, "region": region, "y": np.where(risk, "bad", "good")})


@pytest.fixture(scope="module")
def old():
    return odtc.fit(odtc.read(months(1)), depth=2).tree


def test_on_its_own_data_a_tree_is_its_own_projection(old):
    problem = pose(odtc.read(months(1)), "dpflow", 2)
    found = project_tree(old, problem)
    assert found.changes == () and found.heap.to_tree(problem.encoded) == old


@pytest.mark.parametrize("model", ["dpflow", "flowoct"])
def test_a_threshold_is_moved_to_the_test_that_moves_the_fewest_rows(old, model):
    frame = months(2, 0.5)
    leaves = Leaf(0, (3, 1), (3, 1)), Leaf(1, (1, 3), (1, 3))
    old = odtc.Tree(
        Branch(Threshold(0, 33.3), Branch(Threshold(1, 6200.0), *leaves), leaves[1]), old.features, old.classes, "y"
    )
    problem = pose(odtc.read(frame), model, 2, encoding="auto:bins=3")
    found, X = project_tree(old, problem), problem.encoded.dataset.X
    moved = [change for change in found.changes if change.after]
    assert moved
    for change in moved:
        name, _, value = change.before.split()
        place = list(frame.columns).index(name)
        cuts = [test.threshold for test in problem.encoded.splits if test.kind == "threshold" and test.feature == place]
        least = min(int(((X[:, place] <= float(value)) != (X[:, place] <= cut)).sum()) for cut in cuts)
        assert change.why.startswith(f"{least} of 80 rows")
    assert found.heap.n_branch_nodes <= old.n_branch_nodes


def test_a_column_that_is_gone_takes_its_test_along_and_a_deep_tree_is_cut(old):
    asked = {old.features[j].name for j in old.used}
    for name in asked:
        problem = pose(odtc.read(months(1).drop(columns=name)), "dpflow", 2)
        found = project_tree(old, problem)
        assert any(change.after == "" and name in change.why for change in found.changes)
    assert asked
    flat = project_tree(old, pose(odtc.read(months(1)), "dpflow", 1))
    assert flat.heap.n_branch_nodes == 1 and any("below depth 1" in change.why for change in flat.changes)


def test_rows_in_the_codes_of_other_features():
    one = odtc.read(pd.DataFrame({"c": ["p", "q", "r"], "n": [1.0, None, 3.0], "y": [0, 1, 0]}), missing="separate")
    other = odtc.read(pd.DataFrame({"n": [1.0, 2.0], "z": [1, 2], "c": ["q", "r"], "y": [0, 1]})).features
    X = recoded(one, other)
    np.testing.assert_array_equal(X, [[1, np.nan, -1], [np.nan, np.nan, 0], [3, np.nan, 1]])


def test_the_chosen_tree_is_the_closest_of_all_that_are_near_enough(tmp_path):
    """Depth 1: all stumps with all labels are tried."""
    old = odtc.fit(odtc.read(months(1)), "dpflow", depth=1).tree
    write_tree(old, tmp_path / "old.tree.json")
    dataset = odtc.read(months(3, 2.0))
    spec = RunSpec(model=ModelSpec("dpflow", 1)).with_model(start=str(tmp_path / "old.tree.json"))
    codes = {name: code for code, name in enumerate(dataset.classes)}
    said = np.array([codes[old.classes[k]] for k in range(2)])[old.predict(recoded(dataset, old.features))]
    encoded = pose(dataset, "dpflow", 1).encoded
    stumps = [np.where(test.left(dataset.X), a, b) for test, a, b in product(encoded.splits, range(2), range(2))]
    best = min(int((stump != dataset.y).sum()) for stump in stumps)
    for given in (0, "20%", 3, 12):
        done = refit(spec, old, dataset, given)
        within = best / 5 if given == "20%" else given
        assert done.within == pytest.approx(within)
        near = [stump for stump in stumps if (stump != dataset.y).sum() <= best + within]
        least = min((stump != said).mean() for stump in near)
        assert done.best.proof.objective == best and done.chosen.verified
        assert done.chosen.proof.objective <= best + within
        assert least <= done.distance.rows <= done.best_distance.rows
    assert done.distance.rows == pytest.approx(least)


@pytest.mark.parametrize("seed", range(8))
def test_labels_may_differ_from_the_cheapest_as_long_as_the_budget_lasts(seed, tmp_path):
    """Depth 1: all labels of all stumps that save something, and of the leaf; many leaves have tied classes."""
    draw = np.random.default_rng(seed)
    tables = [
        pd.DataFrame({"a": draw.integers(0, 4, 9), "b": draw.integers(0, 4, 9), "y": draw.permutation([*"pqrpqrpqr"])})
        for _ in range(2)
    ]
    old = odtc.fit(odtc.read(tables[0]), "dpflow", depth=1).tree
    write_tree(old, tmp_path / "old.tree.json")
    dataset, X = odtc.read(tables[1]), tables[1][["a", "b"]].to_numpy()
    said = np.array([*old.classes])[old.predict(recoded(dataset, old.features))]
    y = tables[1].y.to_numpy()
    sides = [X[:, j] <= cut for j in range(2) for cut in np.unique(X[:, j])[:-1]]

    def cheapest(rows):
        errors = {label: (y[rows] != label).sum() for label in "pqr"}
        return {label for label in errors if errors[label] == min(errors.values())}

    saving = [side for side in sides if not cheapest(side) & cheapest(~side)]
    answers = [np.where(side, a, b) for side in [np.ones(9, bool), *saving] for a, b in product("pqr", repeat=2)]
    best = min((answer != y).sum() for answer in answers)
    spec = RunSpec(model=ModelSpec("dpflow", 1)).with_model(start=str(tmp_path / "old.tree.json"))
    for within in (0, 1, 2):
        done = refit(spec, old, dataset, within)
        near = [answer for answer in answers if (answer != y).sum() <= best + within]
        assert done.complete and done.chosen.verified and done.best.proof.objective == best
        assert done.distance.rows <= min((answer != said).mean() for answer in near) + 1e-12


@pytest.mark.parametrize("seed", [5, 8, 9])
def test_the_closest_tree_is_the_same_in_each_unit_of_a_number(seed):
    """With numbers of the order of 1e-13 all distances counted as 0, so the tree that shares most splits was called the
    closest."""

    def table(seed, unit):
        draw = np.random.default_rng(seed)
        a, b = draw.integers(0, 7, 40), draw.integers(0, 4, 40)
        y = ((a > 3) + (b > 1) * 0.5 + draw.random(40).round(2)) * unit
        return odtc.read(pd.DataFrame({"a": a, "b": b, "y": y}), task="regression")

    def distance(unit):
        spec = RunSpec(ReadingSpec(task="regression"), ModelSpec(model="auto", depth=2))
        old = odtc.fit(table(seed, unit), depth=2).tree
        found = refit(spec, old, table(seed + 100, unit), "40%", 200).distance
        return found.rows / unit, found.splits

    assert distance(2.0**-44) == pytest.approx(distance(1.0))


@pytest.mark.parametrize("written", ["petal width (cm)", "petal length (cm)"])
def test_on_its_own_rows_a_tree_stays_as_it_was_written(written, tmp_path):
    """Two columns separate the first class from the others: the column of the old tree is kept, whichever it is."""
    dataset = odtc.read(MONKS.parent / "iris" / "iris.csv")
    best = odtc.fit(dataset, "dpflow", depth=2).tree
    names = [feature.name for feature in best.features]
    cuts = {"petal width (cm)": 0.8, "petal length (cm)": 2.45}
    root = replace(best.root, split=Threshold(names.index(written), cuts[written]))
    assert {best.root.split.features[0], root.split.features[0]} <= {names.index(name) for name in cuts}
    old = replace(best, root=root)
    write_tree(old, tmp_path / "old.tree.json")
    done = refit(RunSpec(model=ModelSpec("dpflow", 2)).with_model(start=str(tmp_path / "old.tree.json")), old, dataset)
    assert (done.distance.rows, done.distance.splits) == (done.best_distance.rows, done.best_distance.splits) == (0, 0)
    assert done.chosen.tree == old and done.chosen.verified and done.chosen.proved


def test_a_constraint_holds_in_the_tree_that_is_chosen(old, tmp_path):
    write_tree(old, tmp_path / "old.tree.json")
    spec = RunSpec(model=ModelSpec("flowoct", 1, encoding="auto:bins=4", constraints=("leaf_rows >= 15",)))
    said = []

    class Listener(odtc.workflow.reporting.Reporter):
        def say(self, sentence):
            said.append(sentence)

    done = refit(
        spec.with_model(start=str(tmp_path / "old.tree.json")), old, odtc.read(months(4, n=30)), reporter=Listener()
    )
    assert done.chosen.verified
    assert min(sum(leaf.rows) for leaf in done.chosen.tree.leaves()) >= 15
    assert any("the start" in sentence for sentence in said)


@pytest.mark.parametrize("model", ["auto", "flowoct", "oct", "binoct"])
def test_a_start_of_other_data_ends_in_a_result(old, tmp_path, model):
    write_tree(old, tmp_path / "old.tree.json")
    frame = months(5, n=16).drop(columns="income")
    frame.to_csv(tmp_path / "new.csv", index=False)
    words = ("fit", "new.csv", "--model", model, "--depth", 1, "--start", "old.tree.json", "-o", "m", "--json")
    said = command(*words, "--encoding", "auto:bins=4", folder=tmp_path)
    assert said.code == 0 and said.facts["verified"], said.err
    assert (
        "the start 'old.tree.json' is adapted to these data: " in said.err and "'income ≤ 4500' is dropped" in said.err
    )


def test_a_start_of_other_data_is_projected_without_the_states_of_the_model(old, tmp_path, monkeypatch):
    """The search needs no model, whose states do not fit into memory at depth 3 over all thresholds."""
    monkeypatch.setattr("odtc.formulations.dpflow.resources.generate", lambda *_, **__: pytest.fail("states are made"))
    write_tree(old, tmp_path / "old.tree.json")
    spec = RunSpec(model=ModelSpec("dpflow", 2, constraints=("recall[bad] >= 0.3", "features <= 2")))
    new = odtc.read(months(6).drop(columns="income"))
    done = refit(spec.with_model(start=str(tmp_path / "old.tree.json")), old, new)
    assert done.best.proved and done.chosen.verified


def test_the_constraints_of_the_old_tree_are_counted_on_the_new_rows(old, tmp_path):
    """The recall of the old tree is counted here from its predictions; it is violated after the shift."""
    new = months(7, 8.0)
    predicted = [old.classes[at] for at in old.predict(odtc.read(new).X)]
    pairs = list(zip(predicted, new["y"]))
    recall = sum(pair == ("bad", "bad") for pair in pairs) / sum(y == "bad" for _, y in pairs)
    spec = RunSpec(model=ModelSpec("dpflow", 2, constraints=(f"recall[bad] >= {recall + 0.01:.6f}",)))
    write_tree(old, tmp_path / "old.tree.json")
    (entry,) = drift_facts(refit(spec.with_model(start=str(tmp_path / "old.tree.json")), old, odtc.read(new)))[
        "constraints"
    ]
    assert entry["value"] == pytest.approx(recall) and not entry["satisfied"]
    new.to_csv(tmp_path / "new.csv", index=False)
    words = ("refit", "old.tree.json", "new.csv", "--constraint", f"recall[bad] >= {recall + 0.01:.6f}", "-o", "new")
    said = command(*words, "--depth", 2, folder=tmp_path)
    assert said.code == 0 and "new rows; it violates recall[bad] >= " in said.out, said.err
    page = (tmp_path / "new.drift.html").read_text(encoding="utf-8")
    assert "On the new rows the old tree violates recall[bad]" in page


def test_trees_that_cannot_be_listed_under_a_constraint_are_reported_missing(tmp_path):
    """Only the best and the old tree are compared then, and without a reason `--pool` had no effect."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.random(700), "b": rng.random(700)})
    frame["y"] = np.where(frame.a + rng.random(700) > 1, "p", "q")
    frame[:300].to_csv(tmp_path / "old.csv", index=False)
    frame.to_csv(tmp_path / "new.csv", index=False)
    fitted = command("fit", "old.csv", "--depth", 1, "--constraint", "recall[p] >= 0.6", "-o", "old", folder=tmp_path)
    assert fitted.code == 0
    said = command("refit", "old.tree.json", "new.csv", "--pool", 50, "-o", "r", folder=tmp_path)
    assert "; there may be more" in said.out and "only the best tree and the old one were compared: " in said.err
    assert "600 splits" in said.err and "--encoding auto:bins=8" in said.err
    words = ["refit", "old.tree.json", "new.csv", "--forget", "constraint", "-o", "r", "--json"]
    facts = command(*words, folder=tmp_path).facts["refit"]
    assert facts["unlisted"] is None and facts["n_trees"] > 1


def test_the_stability_index_by_hand():
    assert psi(np.array([50, 50]), np.array([50, 50])) == 0
    by_hand = (0.75 - 0.5) * np.log(0.75 / 0.5) + (0.25 - 0.5) * np.log(0.25 / 0.5)
    assert psi(np.array([50, 50]), np.array([75, 25])) == pytest.approx(by_hand)
    assert np.isfinite(psi(np.array([10, 0]), np.array([0, 10])))
    then = np.repeat(np.arange(10.0), 10)
    assert column_psi(then, then, True) == 0 and column_psi(then, then + 5, True) > 0.25
    levels = np.array([0.0] * 50 + [1.0] * 50)
    assert column_psi(levels, np.array([0.0] * 75 + [1.0] * 25), False) == pytest.approx(by_hand)


def test_the_leaves_then_and_now(old):
    dataset = odtc.read(months(1))
    for leaf, node in zip(leaf_drift(old, dataset), old.leaves()):
        assert (leaf.rows_then, leaf.share_then, leaf.accuracy_then) == (
            leaf.rows_now,
            leaf.share_now,
            leaf.accuracy_now,
        )
        assert leaf.rows_now == sum(node.rows)
    silent = odtc.Tree(Branch(old.root.split, Leaf(0), Leaf(1)), old.features, old.classes, old.target)
    assert [leaf.rows_then for leaf in leaf_drift(silent, dataset)] == [None, None]


def test_from_the_command_line_to_the_page(old, tmp_path):
    write_tree(old, tmp_path / "old.tree.json")
    for name, frame in (("then.csv", months(1)), ("now.csv", months(6, 8.0))):
        frame.to_csv(tmp_path / name, index=False)
    words = ("refit", "old.tree.json", "now.csv", "-o", "new")
    said = command(*words, "--old-data", "then.csv", "--json", folder=tmp_path)
    assert said.code == 0, said.err
    assert said.facts["files"] == ["new.run.json", "new.tree.json", "new.drift.html"] and said.facts["verified"]
    assert set(said.facts["drift"]["psi"]) == {"age", "income", "region"} and said.facts["drift"]["psi"]["age"] > 0.1
    page = (tmp_path / "new.drift.html").read_text()
    assert "<script" not in page and "http" not in page.replace("http-equiv", "")
    for words_there in ("Population stability index", "The leaves of the old tree", "What changed, and why", "(large)"):
        assert words_there in page
    for change in said.facts["refit"]["changes"]:  # what was moved is told once, as moved
        assert f"No longer a split: “{change['before']}”" not in page and change["why"] in page
    assert odtc.read_tree(tmp_path / "new.tree.json").depth <= old.depth
    said = command(*words, folder=tmp_path)
    assert said.code == 0 and "old tree  " in said.out and "distance  " in said.out
    assert "--old-data" in (tmp_path / "new.drift.html").read_text()
    assert "at least 0" in refused(command(*words, "--within", "-1", folder=tmp_path))
    assert "no-such.json" in refused(command("refit", "no-such.json", "now.csv", folder=tmp_path))


def test_the_rows_of_the_old_tree_are_found_by_its_record(tmp_path):
    for name, frame in (("then.csv", months(1)), ("now.csv", months(6, 8.0))):
        frame.to_csv(tmp_path / name, index=False)
    assert command("fit", "then.csv", "--encoding", "auto:bins=4", "-o", "old", folder=tmp_path).code == 0
    words = ("refit", "old.tree.json", "now.csv", "--encoding", "auto:bins=4", "-o", "new", "--json")
    said = command(*words, folder=tmp_path)
    assert said.code == 0 and "compared with those of then.csv" in said.err
    named = command(*words, "--old-data", "then.csv", folder=tmp_path)
    assert said.facts["drift"]["psi"] == named.facts["drift"]["psi"] and set(said.facts["drift"]["psi"]) > {"age"}
    # The page of the new tree tells its bound, and no command that would make another tree.
    assert command("report", "new", folder=tmp_path).code == 0
    page = (tmp_path / "new.html").read_text()
    assert "nothing is known" not in page and "FAILED" not in page and "odtc fit" not in page
    with (tmp_path / "then.csv").open("a") as stream:
        stream.write("33,3,south,good\n")
    said = command(*words, folder=tmp_path)
    assert said.code == 0 and "measured from" not in said.err and said.facts["drift"]["psi"] is None


def test_new_rows_in_a_file_of_another_form_are_reported_as_read(tmp_path):
    """The file of the old rows has a title, another text encoding and another decimal sign."""
    frame = months(1).assign(income=lambda rows: rows.income + 0.5)
    names = {"region": "région"}
    text = frame.rename(columns=names).to_csv(index=False, sep=";", decimal=",")
    (tmp_path / "then.csv").write_text("Sales\n\n" + text, encoding="cp1252")
    frame.rename(columns=names).to_csv(tmp_path / "now.csv", index=False)
    words = ("--skip-lines", 2, "--text-encoding", "cp1252", "--decimal", ",", "--encoding", "auto:bins=4")
    assert command("fit", "then.csv", *words, "-o", "old", folder=tmp_path).code == 0
    said = command("refit", "old.tree.json", "now.csv", "--decimal", ".", "-o", "new", "--json", folder=tmp_path)
    assert said.code == 0, said.err
    inherited, differs = (line for line in said.err.splitlines() if "the run of the old tree: " in line)
    assert "--skip-lines" not in inherited and "--text-encoding" not in inherited
    assert "--skip-lines 0 instead of --skip-lines 2; no --text-encoding instead of --text-encoding cp1252" in differs
    assert said.facts["drift"]["psi"]["income"] == 0  # the old rows are read with their own decimal sign


# A value of every field of a specification that is not its default.
OTHER = {
    **{
        "target": "y",
        "categorical": ("a",),
        "numeric": ("b",),
        "missing": "separate",
        "weights": "w",
        "auxiliary": ("g",),
    },
    **{"ignore": ("i",), "ordered": ("s=a<b",), "decimal": ",", "missing_mark": ("-9",), "hold_out": 0.25},
    **{"header": False, "separator": ";", "comment": "#", "skip_lines": 2, "on_bad_line": "skip", "only_missing": "-9"},
    **{"text_encoding": "cp1252", "sheet": "two", "labels": "codes.csv", "dates": "d"},
    **{"task": "survival", "actions": ("a", "b"), "treatment": "t", "outcome": "o", "propensity": ("p",)},
    **{"scores": "ips", "goal": "max", "time": "t", "event": "e", "leaf": "linear", "ridge": 0.5},
    **{
        "model": "dpflow",
        "depth": 3,
        "params": {"lambda": "0.1"},
        "encoding": "onehot",
        "cuts": "all",
        "start": "none",
        "class_weight": "balanced",
    },
    **{"cost": "a:b=2", "constraints": ("leaves <= 3", "leaf_rows >= 5"), "select": "uniform", "time_limit": 9.0},
    **{"threads": 2, "seed": 5, "gap": 0.01, "solver": "cbc", "template": Path("s.toml"), "program": "x"},
    **{"workers": 2, "cluster": "local", "fitting": False, "simplify": False, "confidence": 0.9},
}
FIELDS = [*(name for record in PARTS.values() for name in fields_by_name(record)), *WHOLE_RUN]


def specified(**values) -> RunSpec:
    parts = {
        part: record(**{n: values[n] for n in fields_by_name(record) if n in values}) for part, record in PARTS.items()
    }
    return RunSpec(**parts, **{name: values[name] for name in WHOLE_RUN if name in values})


def value_of(spec: RunSpec, name: str):
    return next(getattr(part, name) for part in (*spec.parts.values(), spec) if hasattr(part, name))


def test_every_field_of_a_run_is_recorded_inherited_and_can_be_overridden(old, tmp_path):
    assert set(FIELDS) == set(OTHER) and set(RunSpec.__dataclass_fields__) == {*PARTS, *WHOLE_RUN}
    write_tree(old, tmp_path / "m.tree.json")
    whole, plain = specified(**{name: OTHER[name] for name in FIELDS}), RunSpec()
    write_settings(str(tmp_path / "m"), whole, tmp_path / "m.tree.json")
    recorded = settings_of(tmp_path / "m.tree.json")
    new = inherited(plain, (), recorded, ())
    told = " ".join(inherited_texts(recorded, new))
    for name in FIELDS:
        want = "s.toml" if name == "template" else OTHER[name]
        assert value_of(recorded, name) == want and want != value_of(plain, name), name
        assert value_of(new, name) == (value_of(plain, name) if name in OF_OLD_ROWS else want), name
        assert name == "fitting" or flag(name) in told or f"no-{name}" in told, name
        forgotten = inherited(plain, (), recorded, (flag(name),))
        assert value_of(forgotten, name) == value_of(plain, name), name
        overridden = inherited(plain, (name,), recorded, ())
        assert value_of(overridden, name) == value_of(plain, name), name
        others = [other for other in FIELDS if other != name and value_of(overridden, other) != value_of(new, other)]
        assert others == [], name
    assert inherited(plain, (), recorded, ("all",)) == plain
    with pytest.raises(ChoiceError, match="time_limit"):
        inherited(plain, (), recorded, ("time-limt",))
    with (tmp_path / "m.tree.json").open("a") as stream:
        stream.write(" ")
    assert settings_of(tmp_path / "m.tree.json") is None


def grouped(folder):
    for name, seed in (("then.csv", 1), ("now.csv", 2)):
        frame = months(seed)
        frame.insert(0, "g", np.random.default_rng(seed).choice(["m", "f"], len(frame)))
        frame.to_csv(folder / name, index=False)


CONSTRAINED = (
    "--auxiliary",
    "g",
    "--constraint",
    "leaf_rows >= 12",
    "--constraint",
    "leaves <= 3",
    "--time-limit",
    "40",
)


def test_a_refit_inherits_constraints_columns_and_limits_and_prints_what_differs(tmp_path):
    grouped(tmp_path)
    parity = "statistical_parity[group=g,positive=bad] <= 0.3"
    words = (*CONSTRAINED, "--constraint", parity)
    assert command("fit", "then.csv", *words, "-o", "old", folder=tmp_path).code == 0
    said = command("refit", "old.tree.json", "now.csv", "-o", "new", "--json", folder=tmp_path)
    assert said.code == 0, said.err
    assert [one["constraint"] for one in said.facts["constraint_values"]] == ["leaf_rows >= 12", "leaves <= 3", parity]
    tree = odtc.read_tree(tmp_path / "new.tree.json")
    assert tree.n_leaves <= 3 and min(sum(leaf.rows) for leaf in tree.leaves()) >= 12
    assert "g" not in {tree.features[j].name for j in tree.used}
    for part in ("inherited", "leaf_rows >= 12", parity, "--auxiliary g", "--time-limit 40"):
        assert part in said.err
    again = command(
        "refit", "new.tree.json", "now.csv", "-o", "third", "--max-branch-nodes", 1, "--json", folder=tmp_path
    )
    assert [one["constraint"] for one in again.facts["constraint_values"]] == ["branch_nodes <= 1"]
    assert "'branch_nodes <= 1' instead of " in again.err and "leaf_rows >= 12" in again.err
    assert "--start new.tree.json instead of --start old.tree.json" in again.err
    free = command(
        "refit", "old.tree.json", "now.csv", "-o", "free", "--forget", "constraint", "--json", folder=tmp_path
    )
    assert "constraint_values" not in free.facts and "no --constraint instead of" in free.err
    (tmp_path / "old.run.json").unlink()
    alone = command("refit", "old.tree.json", "now.csv", "-o", "alone", folder=tmp_path)
    assert alone.code == 0 and "settings are unknown" in alone.err


@pytest.mark.parametrize("solver", ["highs", None])
def test_a_refit_inherits_from_a_model_that_a_solver_solved(tmp_path, solver):
    grouped(tmp_path)
    words = ("then.csv", "--model", "flowoct", "--encoding", "auto:bins=3", *CONSTRAINED[:-2])
    if solver is None:  # three commands: what is compiled is in the manifest
        assert command("build", *words, "-o", "old", folder=tmp_path).code == 0
        assert command("solve", "old.mps", folder=tmp_path).code == 0
        assert command("decode", "old.sol", folder=tmp_path).code == 0
    else:
        assert command("fit", *words, "--solver", solver, "-o", "old", folder=tmp_path).code == 0
    said = command("refit", "old.tree.json", "now.csv", "-o", "new", "--json", folder=tmp_path)
    assert said.code == 0, said.err
    assert [one["constraint"] for one in said.facts["constraint_values"]] == ["leaf_rows >= 12", "leaves <= 3"]
    assert said.facts["model"] == "flowoct" and "--auxiliary g" in said.err


@pytest.mark.parametrize(
    "words, told",
    [
        (("--constraint", "leaves <= 3", "--lambda", 0.01, "--auxiliary", "g"), ("leaves <= 3", "lambda=0.01", "g")),
        (("--cost", "bad:good=2.5", "--lambda", 0.25), ("bad:good=2.5", "lambda=0.25")),
        (("--encoding", "auto:bins=3", "--class-weight", "bad=2", "--depth", 1), ("bins=3", "bad:good=2", "--depth 1")),
        (("--min-leaf-rows", 7, "--missing", "separate"), ("leaf_rows >= 7", "--missing separate")),
        (("--task", "regression", "--target", "age", "--lambda", 0.02), ("regression", "age", "lambda=0.02")),
        (("--task", "regression", "--target", "age", "--min-leaf-rows", 6), ("leaf_rows >= 6",)),
    ],
)
def test_a_refit_inherits_from_a_certificate(tmp_path, words, told):
    grouped(tmp_path)
    assert command("certify", "then.csv", *words, "-o", "old", folder=tmp_path).code == 0
    said = command("refit", "old.tree.json", "now.csv", "-o", "new", folder=tmp_path)
    assert said.code == 0, said.err
    inherits = next(line for line in said.err.splitlines() if line.startswith("inherited from the run of the old tree"))
    for part in told:
        assert part in inherits


def test_a_refit_inherits_the_confidence(tmp_path):
    grouped(tmp_path)
    words = ("--constraint", "recall[bad] >= 0.2", "--confidence", 0.8, "--time-limit", 40)
    assert command("fit", "then.csv", *words, "-o", "old", folder=tmp_path).code == 0
    said = command("refit", "old.tree.json", "now.csv", "-o", "new", "--json", folder=tmp_path)
    assert said.code == 0, said.err
    assert said.facts["assured"]["confidence"] == 0.8 and "recall[bad] >= 0.2" in said.err


def test_the_figures_of_the_page_add_up(old, tmp_path):
    write_tree(old, tmp_path / "old.tree.json")
    done = refit(
        RunSpec(model=ModelSpec("dpflow", 2)).with_model(start=str(tmp_path / "old.tree.json")),
        old,
        odtc.read(months(7)),
    )
    facts = drift_facts(done)
    assert facts["psi"] is None and facts["unanswered"] == 0 and sum(leaf["rows_now"] for leaf in facts["leaves"]) == 80
    right = (
        np.array(done.dataset.classes)[done.dataset.y]
        == np.array(old.classes)[old.predict(recoded(done.dataset, old.features))]
    )
    assert facts["accuracy"]["old_now"] == pytest.approx(right.mean())


def test_a_tree_as_good_as_the_best_is_proved_and_a_worse_one_says_what_the_best_costs(tmp_path):
    """Of equally good trees the closest is handed in, which was called "not proved" at a gap of nothing."""
    assert command("fit", MONKS / "monks-1.csv", "-o", "old", folder=tmp_path).code == 0
    said = command("refit", "old.tree.json", MONKS / "monks-1_test.csv", "-o", "new", "--json", folder=tmp_path).facts
    assert said["refit"]["distance"]["splits"] == 0 and said["objective"] == said["bound"] == 96
    assert said["termination"] == "optimal" and "`odtc certify STEM`" in said["claim_reason"]
    assert command("certify", "new", folder=tmp_path).code == 0
    for name, frame in (("then.csv", months(1)), ("now.csv", months(6, 8.0))):
        frame.to_csv(tmp_path / name, index=False)
    assert command("fit", "then.csv", "-o", "then", folder=tmp_path).code == 0
    words = ("refit", "then.tree.json", "now.csv", "--within", 30, "-o", "far")
    worse, facts = command(*words, folder=tmp_path), command(*words, "--json", folder=tmp_path).facts
    best = facts["refit"]["best_objective"]
    assert facts["objective"] > best and facts["termination"] == "unknown"
    assert f"the best tree of these rows costs {best:g}, proved" in worse.err
    assert "no proof was found" not in worse.out and facts["claim_reason"] in worse.out


def test_columns_that_the_tree_does_not_test_may_be_gone(tmp_path):
    assert command("fit", MONKS / "monks-1.csv", "-o", "old", folder=tmp_path).code == 0
    table = pl.read_csv(MONKS / "monks-1.csv")
    assert "a4" not in (tmp_path / "old.tree.json").read_text().split('"root"')[1]
    table.drop("a4").write_csv(tmp_path / "less.csv")
    assert command("explain", "old.tree.json", "less.csv", folder=tmp_path).code == 0
    shown = command(
        "plot", "regions", "old.tree.json", "less.csv", "--x", "a1", "--y", "a2", "-o", "p.png", folder=tmp_path
    )
    assert shown.code == 0, shown.err
    again = command("refit", "old.tree.json", "less.csv", "-o", "new", folder=tmp_path)
    assert again.code == 0 and "start from a tree of the same data" not in again.err


def test_data_of_another_table_is_refused(old, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("height,weight,class\n" + "".join(f"{k},{k % 3},{'yes' if k > 9 else 'no'}\n" for k in range(20)))
    with pytest.raises(DataError, match="^expected new rows with the columns of the old tree, got .*other.csv without"):
        read_new(other, ReadingSpec(), old)
