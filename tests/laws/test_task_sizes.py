"""Targets and costs of any size: a few far from the others, in large and in small units."""

import json
from fractions import Fraction

import numpy as np
import pytest

import odtc
from odtc.data.dataset import NUMERIC, Dataset, Feature
from odtc.data.tasks import policy
from tests.command_line import odtc as run_cli


def written(path, header, rows):
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def error(y, groups):
    return sum(((y[groups == g] - y[groups == g].mean()) ** 2).sum() for g in np.unique(groups))


def test_an_outlier_hides_no_error_of_the_other_rows():
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 6, (40, 2)).astype(float), rng.normal(size=40)
    y[0] = 1e9
    tree = odtc.OptimalTreeRegressor(2).fit(X, y)
    assert tree.objective_ == pytest.approx(error(y, tree.apply(X)), rel=1e-6)
    # No sums of floats tell such trees apart, and nothing is claimed that another tree contradicts.
    assert not tree.is_optimal_ or tree.objective_ == tree.bound_


def test_large_whole_numbers_have_a_certificate():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 8, (60, 2)).astype(float)
    y = np.round(X[:, 0] * 3e8 + rng.normal(size=60) * 1e8)
    tree = odtc.OptimalTreeRegressor(2).fit(X, y)
    small = odtc.OptimalTreeRegressor(2).fit(X, y / 1e8)
    assert tree.is_optimal_
    assert tree.objective_ / 1e16 == pytest.approx(small.objective_, rel=1e-9)
    assert tree.objective_ == pytest.approx(error(y, tree.apply(X)), rel=1e-9)


def test_a_number_that_is_far_away_is_proved_in_whole_numbers(tmp_path):
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 12, 40), rng.integers(0, 9, 40)
    y = np.round((a > 5) + 0.5 * (b > 4) + 0.1 * rng.normal(size=40), 3)
    y[0] = 1e5
    data = written(tmp_path / "far.csv", "a,b,y", zip(a, b, y))
    fitted = odtc.fit(data, "dpflow", depth=3, task="regression")
    assert fitted.proved and fitted.certified


def test_decimals_that_doubles_round_have_a_certificate(tmp_path):
    rng = np.random.default_rng(8)
    a, y = rng.integers(0, 5, 24), np.round(rng.normal(size=24), 3)
    data = written(tmp_path / "above.csv", "a,y", zip(a, [f"{1000000000 + one:.3f}" for one in y]))
    fitted = odtc.fit(data, "dpflow", depth=1, task="regression")
    assert fitted.proved and fitted.certified
    least = min(error(y, a <= cut) for cut in range(4))
    assert fitted.proof.objective == pytest.approx(least, rel=1e-6) and fitted.proof.objective != least


@pytest.mark.parametrize("task", ["policy", "survival"])
def test_a_certificate_states_how_its_target_was_read(tmp_path, task):
    rng = np.random.default_rng(2)
    table = zip(rng.integers(0, 6, 24), rng.integers(1, 9, 24), rng.integers(0, 2, 24))
    data = written(tmp_path / "d.csv", "a,y,z", table)
    words = ["--time", "y", "--event", "z"] if task == "survival" else ["--actions", "y,z", "--goal", "max"]
    assert run_cli("certify", data, "--task", task, *words, "--depth", 1, "-o", tmp_path / "c.json").code == 0
    facts = json.loads((tmp_path / "c.json").read_text())
    forged = [facts | {"of": facts["of"] | {"requested": {}}}, facts | {"of": facts["of"] | {"task": "median"}}]
    if task == "survival":
        forged.append(facts | {"claim": [facts["claim"][0], str(Fraction(facts["claim"][1]) * 10**24)]})
        root = facts["tree"]["root"]
        curved = root | {"left": root["left"] | {"curve": [[1.0, -5.0]]}}
        forged.append(facts | {"tree": facts["tree"] | {"root": curved}})
    for one in forged:
        (tmp_path / "f.json").write_text(json.dumps(one))
        assert run_cli("verify", "--certificate", tmp_path / "f.json").code == 1
    assert run_cli("verify", "--certificate", tmp_path / "c.json").code == 0


def test_small_units_keep_the_branch_nodes_that_rows_need():
    x = np.arange(6.0)[:, None]
    tree = odtc.OptimalTreeRegressor(1).fit(x, np.array([2, 1, 1, 5, 6, 5]) * 1e-3)
    assert tree.objective_ == pytest.approx(4 / 3 * 1e-6, rel=1e-9)


def tiny(folder, unit, digits=17):
    """A table of numbers of the size of `unit`, and the numbers in units."""
    rng = np.random.default_rng(11)
    rows, y = rng.integers(0, 5, (30, 2)), np.round(rng.normal(size=30), 2)
    return written(folder / "tiny.csv", "a,b,y", [(a, b, f"{v * unit:.{digits}g}") for (a, b), v in zip(rows, y)])


@pytest.mark.parametrize("unit", [1e-5, 1e-7, 1e-9, 1e-30])
def test_numbers_far_below_one_have_the_same_proved_tree(tmp_path, unit):
    plain = odtc.fit(tiny(tmp_path, 1.0), "dpflow", depth=3, task="regression")
    small = odtc.fit(tiny(tmp_path, unit), "dpflow", depth=3, task="regression")
    assert small.proved and small.certified and small.verified
    assert [str(node.split) for node, _ in small.tree.walk() if hasattr(node, "split")] == [
        str(node.split) for node, _ in plain.tree.walk() if hasattr(node, "split")
    ]
    assert small.proof.objective == pytest.approx(plain.proof.objective * unit**2, rel=1e-6)
    answers = [np.array([tree.answer(leaf) for leaf in tree.leaves()]) for tree in (small.tree, plain.tree)]
    assert answers[0] == pytest.approx(answers[1] * unit, rel=1e-6, abs=1e-6 * unit)


def test_a_search_that_is_cut_is_not_called_proved_because_its_costs_are_small(tmp_path):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(400, 12)).round(3), rng.normal(size=400) * 1e-7
    table = [(*row, f"{one:.17g}") for row, one in zip(X.tolist(), y)]
    data = written(tmp_path / "cut.csv", ",".join("abcdefghijkl") + ",y", table)
    fitted = odtc.fit(data, "dpflow", depth=5, task="regression", time_limit=1.5)
    assert not fitted.proved and fitted.proof.termination == "time_limit"
    assert fitted.proof.bound < fitted.proof.objective and "proved" not in fitted.claim


def test_files_of_costs_far_below_one_are_told_from_forged_ones(tmp_path):
    data, words = tiny(tmp_path, 1e-7), ["--task", "regression", "--depth", 2]
    assert run_cli("fit", data, *words, "-o", tmp_path / "t").code == 0
    assert run_cli("verify", tmp_path / "t").code == 0
    record = tmp_path / "t.run.json"
    facts = json.loads(record.read_text())
    for name, share in (("objective", 0.5), ("bound", 1.5)):
        record.write_text(json.dumps(facts | {name: facts[name] * share}))
        assert run_cli("verify", tmp_path / "t").code == 1
    certificate = tmp_path / "c.json"
    assert run_cli("certify", data, *words, "-o", certificate).code == 0
    assert run_cli("verify", "--certificate", certificate).code == 0
    scaled = json.loads(certificate.read_text())
    certificate.write_text(json.dumps(scaled | {"number_scale": 1, "claim": "0"}))
    assert run_cli("verify", "--certificate", certificate).code == 1


def test_trees_near_the_best_and_frontiers_know_costs_far_below_one_apart(tmp_path):
    words = {"depth": 2, "task": "regression"}
    plain, small = tiny(tmp_path, 1.0), tmp_path / "small"
    small.mkdir()
    small = tiny(small, 1e-7)
    costs, points = [], []
    for data in (plain, small):
        pool = run_cli(
            "fit", data, "--task", "regression", "--depth", 2, "--pool", 4, "-o", data.with_suffix(""), "--json"
        )
        assert pool.code == 0, pool.err
        near = json.loads(data.with_suffix(".pool.json").read_text())
        costs.append([entry["objective"] for entry in near["trees"]])
        points.append(odtc.frontier(data, vary="leaves <= 1:4:1", **words))
    assert costs[1] == pytest.approx([cost * 1e-14 for cost in costs[0]], rel=1e-6) and len(set(costs[1])) > 1
    assert [point.objective for point in points[1]] == pytest.approx(
        [one.objective * 1e-14 for one in points[0]], rel=1e-6
    )
    assert [point.ended for point in points[1]] == ["optimal"] * 4 and len({p.objective for p in points[1]}) == 4


def test_no_model_of_costs_that_solvers_take_for_equal_is_written(tmp_path):
    result = run_cli("build", tiny(tmp_path, 1e-7), "--model", "dpflow", "--task", "regression", "--depth", 2)
    assert result.code == 1 and "leave --solver and --format out" in result.err.replace("\n", " ")


def small_costs(tmp_path, task, exponent):
    """The table of whole costs of two actions, or of a number, in units of a power of ten; and the words of a fit."""
    rng = np.random.default_rng(4)
    a, b = rng.integers(0, 6, 40), rng.integers(0, 4, 40)
    y, z = (a > 2) * 9 + rng.integers(0, 5, 40), (b > 1) * 7 + rng.integers(0, 5, 40)
    folder = tmp_path / f"{task}{exponent}"
    folder.mkdir()
    lines = [(one, two, f"{u}e-{exponent}", f"{v}e-{exponent}") for one, two, u, v in zip(a, b, y, z)]
    data = written(folder / "costs.csv", "a,b,y,z", lines)
    target = ["--actions", "y,z"] if task == "policy" else ["--target", "y", "--auxiliary", "z"]
    return data, ["--task", task, *target, "--depth", 2]


@pytest.mark.parametrize("task", ["median", "policy"])
def test_costs_far_below_one_have_their_proof_and_their_certificate(tmp_path, task):
    found = []
    for exponent in (0, 9):
        data, words = small_costs(tmp_path, task, exponent)
        done = run_cli("fit", data, *words, "-o", data.with_suffix(""), "--json")
        assert done.code == 0, done.err
        facts = json.loads(done.out)
        assert facts["termination"] == "optimal" and facts["bound"] == facts["objective"]
        assert run_cli("verify", data.with_suffix("")).code == 0
        certificate = data.with_suffix(".certificate.json")
        assert run_cli("certify", data, *words, "-o", certificate).code == 0
        assert run_cli("verify", "--certificate", certificate).code == 0
        found.append(facts["objective"])
        record = data.with_suffix(".run.json")
        said = json.loads(record.read_text())
        record.write_text(json.dumps(said | {"objective": said["objective"] / 2, "bound": said["bound"] / 2}))
        assert run_cli("verify", data.with_suffix("")).code == 1
    assert found[0] > 0 and found[1] == pytest.approx(found[0] * 1e-9, rel=1e-9)


@pytest.mark.parametrize("task, within", [("median", "30%"), ("policy", "200%")])
def test_trees_near_the_best_of_costs_far_below_one_are_counted_by_their_costs(tmp_path, task, within):
    tables = []
    for exponent in (0, 9, 18):
        data, words = small_costs(tmp_path, task, exponent)
        done = run_cli("fit", data, *words, "--within", within, "-o", data.with_suffix(""))
        assert done.code == 0, done.err
        tables.append(json.loads(data.with_suffix(".near-optimal.json").read_text())["objectives"])
    costs = [[cost for cost, _ in table] for table in tables]
    assert len(set(costs[0])) > 3
    plain, small, smaller = ([trees for _, trees in table] for table in tables)
    assert plain == small == smaller
    assert costs[1] == pytest.approx([cost * 1e-9 for cost in costs[0]], rel=1e-9)
    assert costs[2] == pytest.approx([cost * 1e-18 for cost in costs[0]], rel=1e-9)


@pytest.mark.parametrize("task", ["median", "policy"])
def test_no_model_of_such_costs_is_written(tmp_path, task):
    data, words = small_costs(tmp_path, task, 12)
    result = run_cli("build", data, "--model", "flowoct", *words)
    assert result.code == 1 and "leave --solver and --format out" in result.err.replace("\n", " ")


def forbidding():
    """Costs of three actions, of which one forbids an action in one row."""
    rng = np.random.default_rng(5)
    a = rng.integers(0, 12, 40)
    costs = np.column_stack([(a > 5) + np.round(rng.normal(size=40), 2), 1.0 - (a > 5), np.full(40, 0.5)])
    costs[0] = 1e12, 0, 0
    return a[:, None].astype(float), costs


def test_a_cost_that_forbids_an_action_hides_no_other():
    X, costs = forbidding()
    tree = odtc.OptimalPolicyTree(1).fit(X, costs)
    sides = [X[:, 0] <= cut for cut in np.unique(X)]
    best = min(costs[s].sum(axis=0).min() + (costs[~s].sum(axis=0).min() if (~s).any() else 0) for s in sides)
    assert tree.is_optimal_ and tree.cost_ == pytest.approx(best, abs=1e-9)
    assert all(one.passed for one in tree.verify(X, costs))


def test_rows_of_a_policy_are_counted_once_in_its_certificate(tmp_path):
    rng = np.random.default_rng(3)
    X, costs = rng.integers(0, 3, (20, 3)), rng.integers(0, 40, (20, 3)) / 10
    data = written(tmp_path / "p.csv", "a,b,c,u,v,w", np.column_stack([X, costs]))
    reading = {"task": "policy", "actions": ("u", "v", "w")}
    fitted = odtc.fit(data, "dpflow", depth=2, reading=reading, constraints=["leaf_rows >= 4"], params={"lambda": 0.5})
    assert fitted.proved and fitted.certified


def test_equal_weights_change_no_risk():
    rng = np.random.default_rng(4)
    x = np.arange(50.0)[:, None] % 10
    event = (x[:, 0] >= 3) & (rng.random(50) < 0.8)
    y = np.array(list(zip(event, rng.exponential(size=50) + 0.1)), dtype=[("event", bool), ("time", float)])
    plain = odtc.OptimalSurvivalTree(1).fit(x, y)
    weighted = odtc.OptimalSurvivalTree(1).fit(x, y, sample_weight=np.full(50, 0.02))
    assert weighted.predict(x) == pytest.approx(plain.predict(x), rel=1e-9)
    assert weighted.score(x, y) == pytest.approx(plain.score(x, y))


def test_a_large_offset_is_no_contradiction():
    X, y = np.arange(8.0)[:, None], np.array([1.1, 0.9, 1, 1.2, 3, 3.2, 2.9, 3.1])
    plain, moved = (odtc.OptimalTreeRegressor(1).fit(X, y + by) for by in (0, 1e12))
    assert moved.apply(X).tolist() == plain.apply(X).tolist()
    assert moved.objective_ == pytest.approx(plain.objective_, abs=1e-3)


@pytest.mark.parametrize("task", ["regression", "median", "survival", "policy"])
def test_labelled_rows_are_scored_by_the_figures_of_the_task(tmp_path, task):
    rng = np.random.default_rng(2)
    a, y = rng.integers(0, 6, 24), rng.integers(1, 9, 24)
    data = written(tmp_path / "d.csv", "a,y,z", zip(a, y, rng.integers(0, 2, 24)))
    targets = {
        "regression": ["--target", "y", "--auxiliary", "z"],
        "median": ["--target", "y", "--auxiliary", "z"],
        "survival": ["--time", "y", "--event", "z"],
        "policy": ["--actions", "y,z"],
    }[task]
    said = run_cli("fit", data, "--task", task, *targets, "--depth", 1, "-o", tmp_path / "t", "--json")
    told = run_cli("predict", tmp_path / "t.tree.json", data, "--score", "--json")
    assert told.code == 0, told.err
    training = said.facts["metrics"]["training"]
    assert {key: told.facts[key] for key in training} == pytest.approx(training)
    assert run_cli("export", tmp_path / "t.tree.json", "--to", "png", "-o", tmp_path / "t.png").code == 0


def test_a_policy_is_valued_on_other_rows_by_what_was_observed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    treated = rng.random(400) < 0.5
    outcome = np.where(treated, np.sign(X[:, 0]), 0.0) + 0.1 * rng.normal(size=400)
    fitted = odtc.OptimalPolicyTree(1, scores="ips").fit(X[:200], treated[:200], outcome[:200], np.full(200, 0.5))
    rest = X[200:], treated[200:]
    cost, error = fitted.value(*rest, outcome=outcome[200:], propensity=np.full(200, 0.5))
    assert abs(cost + 0.5) < 4 * error


def test_the_single_action_beside_test_rows_is_that_of_the_training_rows(tmp_path):
    train = written(tmp_path / "a.csv", "x,u,v", [(i, 0, 1 + i % 2) for i in range(8)])
    test = written(tmp_path / "b.csv", "x,u,v", [(i, 3, i % 2) for i in range(8)])
    said = run_cli(
        "fit",
        train,
        "--task",
        "policy",
        "--actions",
        "u,v",
        "--test",
        test,
        "--depth",
        1,
        "--json",
        "-o",
        tmp_path / "t",
    )
    told = said.facts["metrics"]["test"]
    assert (told["best_action"], told["best_action_cost"]) == ("u", 24)


@pytest.mark.parametrize("task", ["regression", "survival"])
def test_a_frontier_holds_the_best_tree_of_each_number_of_leaves(tmp_path, task):
    rng = np.random.default_rng(8)
    a, b = rng.integers(0, 5, (2, 30))
    data = written(tmp_path / "d.csv", "a,b,y,z", zip(a, b, a + rng.integers(1, 5, 30), rng.integers(0, 2, 30)))
    words = ["--time", "y", "--event", "z"] if task == "survival" else ["--target", "y", "--auxiliary", "z"]
    told = run_cli("frontier", data, "--task", task, *words, "--depth", 2, "--vary", "leaves <= 1:4:1", "--json")
    found = {point["requested"]: point for point in told.facts["points"]}
    for leaves in (1, 2, 3, 4):
        constraint = ["--constraint", f"leaves <= {leaves}"]
        one = run_cli("fit", data, "--task", task, *words, "--depth", 2, *constraint, "--json", "-o", tmp_path / "t")
        assert found[leaves]["objective"] == pytest.approx(one.facts["objective"])
        assert found[leaves]["ended"] == "optimal" and found[leaves]["reached"] <= leaves


def shape(node):
    """The tests of a tree, and where they stand."""
    return (node.split, shape(node.left), shape(node.right)) if hasattr(node, "split") else None


def table_of_costs(unit: float, of_weight: float) -> Dataset:
    """Rows that vote for two actions, whose costs and weights are so many times as large."""
    rng = np.random.default_rng(7)
    X = np.column_stack([rng.integers(0, 6, 30), rng.integers(0, 9, 30)]).astype(float)
    costs = rng.random((30, 2)) + np.column_stack([X.sum(axis=1) > 7, X.sum(axis=1) <= 7])
    features = (Feature("a", NUMERIC), Feature("b", NUMERIC))
    rows = Dataset("t", X, np.zeros(30, np.int32), features, (), np.full(30, of_weight), task="policy")
    return policy.voting(rows, ("u", "v"), costs * unit, "t")


@pytest.mark.parametrize(
    ("model", "params", "power"),
    [
        ("dpflow", {}, -30),
        ("dpflow", {}, 30),
        ("cart", {}, -30),
        ("oblique_search", {"choice": "training", "restarts": 3, "seconds": 600}, -30),
        ("oblique_search", {"choice": "training", "restarts": 3, "seconds": 600}, 30),
        ("oblique_search", {"sparse": False, "seconds": 600}, -30),
    ],
)
def test_costs_and_weights_in_another_unit_have_the_same_tree(model, params, power):
    """A power of two changes no digit of a sum: 2^30 is about 1e9."""
    plain = odtc.fit(table_of_costs(1.0, 1.0), model, depth=2, **params)
    for units in ((2.0**power, 1.0), (1.0, 2.0**power)):
        other = odtc.fit(table_of_costs(*units), model, depth=2, **params)
        assert shape(other.tree.root) == shape(plain.tree.root) is not None


@pytest.mark.parametrize("power", [-30, 30])
def test_numbers_risks_and_weights_in_another_unit_have_the_same_tree(power):
    rng, unit = np.random.default_rng(8), 2.0**power
    X = rng.integers(0, 7, (50, 2)).astype(float)
    y, w = X[:, 0] + rng.normal(size=50).round(2), rng.integers(1, 4, 50).astype(float)
    died = np.array(list(zip(rng.random(50) < 0.6, y - y.min() + 1)), dtype=[("died", bool), ("time", float)])
    scaled = np.array(list(zip(died["died"], died["time"] * unit)), dtype=died.dtype)
    label = (y > np.median(y)).astype(int)
    for plain, other in (
        (odtc.OptimalTreeRegressor(2).fit(X, y, w), odtc.OptimalTreeRegressor(2).fit(X, y * unit, w)),
        (odtc.OptimalTreeRegressor(2).fit(X, y, w), odtc.OptimalTreeRegressor(2).fit(X, y, w * unit)),
        *(
            (one().fit(X, y, w), one().fit(X, *given))
            for one in (lambda: odtc.OptimalTreeRegressor(2, criterion="absolute_error"),)
            for given in ((y * unit, w), (y, w * unit))
        ),
        (odtc.OptimalSurvivalTree(2).fit(X, died), odtc.OptimalSurvivalTree(2).fit(X, scaled)),
        *(
            (one().fit(X, answer, w), one().fit(X, answer, w * unit))
            for one, answer in ((lambda: odtc.OptimalSurvivalTree(2), died), (odtc.OptimalTreeClassifier, label))
            if power > 0  # smaller ones are refused in a sentence
        ),
    ):
        assert plain.is_optimal_ and other.is_optimal_
        assert shape(other.tree_.root) == shape(plain.tree_.root) is not None
