"""Laws over tasks: the optimum is that of trying every tree on the rows themselves, for policies by any formulation."""

import json
import re
from contextlib import closing
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import odtc
from odtc.data.encoding import sums_over
from odtc.data.reading import read
from odtc.data.tasks import regression
from odtc.evaluation.cross_validation import deal_rows
from odtc.heuristics import cart
from odtc.problem.formulation import FORMULATIONS, Compiled
from odtc.workflow.posing import pose_run
from odtc.workflow.specification import ModelSpec, RunSpec
from tests import pipeline
from tests.command_line import odtc as command
from tests.plain_kernels import bound_one_by_one


def every_tree_costs(columns: np.ndarray, depth: int, leaf, least: int = 1) -> float:
    """The least Σ leaf(rows) of a tree over these columns, bool (rows, tests), by trying all of them."""

    def best(rows: tuple, height: int) -> float:
        found = leaf(list(rows))
        for column in columns.T if height else ():
            left, right = tuple(i for i in rows if column[i]), tuple(i for i in rows if not column[i])
            if min(len(left), len(right)) >= least:
                found = min(found, again(left, height - 1) + again(right, height - 1))
        return found

    again = cache(best)
    return again(tuple(range(len(columns))), depth)


def table(seed: int, n: int, missing: bool = False) -> tuple[list[str], list[list]]:
    """A small table with ties, a category and weights; some cells of x1 are missing."""
    rng = np.random.default_rng(seed)
    rows = [
        [int(rng.integers(4)), round(float(rng.random()), 1), str(rng.choice(list("abc"))), int(rng.integers(1, 4))]
        for _ in range(n)
    ]
    if missing:
        for i in rng.choice(n, 2, replace=False):
            rows[i][1] = ""
    return ["x0", "x1", "colour", "w"], rows


def write(path, header, rows):
    path.write_text("\n".join(",".join(map(str, line)) for line in [header, *rows]) + "\n")
    return path


def said(folder, *words) -> str:
    """What a command prints that ends well."""
    done = command(*words, folder=folder)
    assert done.code in (0, None), done.err
    return done.out


def columns_of(problem, rows: int) -> np.ndarray:
    """What the rows of the file answer to the tests of a problem, bool (rows, tests)."""
    data = problem.encoded.dataset
    X = data.X[data.copies > 0]
    assert len(X) == rows
    return np.stack([split.left(X) for split in problem.encoded.splits], axis=1)


@given(seed=st.integers(0, 10**6), K=st.integers(2, 4), missing=st.booleans(), least=st.integers(1, 3))
@settings(max_examples=15)
def test_a_policy_costs_what_the_best_of_all_trees_costs(tmp_path_factory, seed, K, missing, least):
    folder = tmp_path_factory.mktemp("policy")
    header, rows = table(seed, 10, missing)
    rng = np.random.default_rng(seed + 1)
    costs = rng.integers(-3, 5, (10, K)) / 4
    actions = [f"act{k}" for k in range(K)]
    path = write(folder / "p.csv", header + actions, [a + b for a, b in zip(rows, costs.tolist())])
    if (costs == costs[:, :1]).all():
        return
    spec = {"task": "policy", "actions": tuple(actions), "weights": "w", "missing": "separate" if missing else "drop"}
    done = odtc.fit(path, "dpflow", depth=2, reading=spec, constraints=[f"leaf_rows >= {least}"] if least > 1 else [])
    weight = np.array([line[3] for line in rows], float)
    X = columns_of(done.problem, 10)
    expected = every_tree_costs(X, 2, lambda at: (weight[at, None] * costs[at]).sum(axis=0).min(), least)
    assert done.verified and done.proved
    assert done.metrics["training"]["cost"] == pytest.approx(expected)
    assert done.metrics["training"]["n_rows"] == 10 == sum(sum(leaf.rows) for leaf in done.tree.leaves())


@pytest.mark.parametrize("name", [one for one in FORMULATIONS.names() if FORMULATIONS.get(one).can(Compiled)])
def test_every_formulation_finds_the_best_policy(tmp_path, name):
    if name in ("svm1_odt", "oct_h", "fair"):
        return  # other trees, or another objective
    header, rows = table(3, 12)
    costs = np.random.default_rng(4).integers(0, 5, (12, 3)).astype(float)
    path = write(tmp_path / "p.csv", header[:3] + list("abc"), [a[:3] + b for a, b in zip(rows, costs.tolist())])
    reading = {"task": "policy", "actions": ("a", "b", "c")}
    done = odtc.fit(path, name, depth=1, reading=reading, solver="highs")
    expected = every_tree_costs(columns_of(done.problem, 12), 1, lambda at: costs[at].sum(axis=0).min())
    assert done.verified and done.metrics["training"]["cost"] == pytest.approx(expected)


def test_a_policy_from_data_to_certificate_and_back(tmp_path):
    header, rows = table(5, 40)
    costs = np.random.default_rng(6).integers(0, 90, (40, 3)) / 10
    write(tmp_path / "p.csv", header[:3] + list("abc"), [a[:3] + b for a, b in zip(rows, costs.tolist())])
    words = ["--task", "policy", "--actions", "a,b,c"]
    facts = json.loads(said(tmp_path, "fit", "p.csv", *words, "--test", "p.csv", "-o", "m", "--json"))
    assert facts["certified"] and facts["metrics"]["test"] == facts["metrics"]["training"]
    said(tmp_path, "certify", "p.csv", *words, "-o", "c.cert.json")
    assert "proved" in said(tmp_path, "verify", "--certificate", "c.cert.json")
    tree = odtc.read_tree(tmp_path / "m.tree.json")
    data = read(tmp_path / "p.csv", task="policy", actions=("a", "b", "c"))
    predicted = said(tmp_path, "predict", "m.tree.json", "p.csv").split()[1:]
    paid = sum(costs[i, "abc".index(action)] for i, action in enumerate(predicted))
    assert paid == pytest.approx(facts["metrics"]["training"]["cost"])
    assert [tree.classes[k] for k in tree.predict(data.X[data.copies > 0])] == predicted
    assert "mean cost a" in said(tmp_path, "show", "m.tree.json")
    path = json.loads(said(tmp_path, "explain", "m.tree.json", "p.csv", "--row", 3, "--json"))["rows"][0]
    here, told = np.ones(len(data.X), bool), said(tmp_path, "explain", "m.tree.json", "p.csv", "--row", 3)
    node, leaf = tree.root, path["mean_cost"]
    for step in path["path"]:
        left = node.split.left(data.X)
        here, node = here & (left if step["side"] == "left" else ~left), getattr(node, step["side"])
        mean = costs[here[data.copies > 0]].mean(axis=0)
        assert step["mean_cost"] == pytest.approx(dict(zip("abc", mean)))
        rows = int((here & (data.copies > 0)).sum())
        assert f"here {rows} rows, mean cost " + ", ".join(f"{a} {m:.4g}" for a, m in zip("abc", mean)) in told
    assert leaf == step["mean_cost"] and min(leaf, key=leaf.get) == path["prediction"] and "in this leaf" not in told
    said(tmp_path, "build", "p.csv", *words, "--model", "flowoct", "--depth", "1", "-o", "b")
    said(tmp_path, "solve", "b.mps")
    assert "all" in said(tmp_path, "verify", "b.sol").splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--task", "policy"], "--actions A,B"),
        (["--actions", "a,b"], "an option of --task policy"),
        (["--task", "policy", "--actions", "a"], "two different columns or more, got a"),
        (["--task", "policy", "--actions", "a,zz"], "expected --actions to name a column"),
        (["--task", "policy", "--actions", "a,colour"], "expected a finite number in column 'colour'"),
        (["--task", "policy", "--actions", "a,b", "--treatment", "c"], "either --actions or --treatment"),
        (["--task", "policy", "--actions", "a,b", "--target", "c"], "no --target"),
        (["--task", "policy", "--actions", "a,b", "--goal", "best"], "expected one of min, max, got 'best'"),
        (["--task", "policy", "--actions", "a,b", "--constraint", "accuracy >= 0.5"], "about classes"),
        (["--task", "policy", "--actions", "a,b", "--class-weight", "balanced"], "about classes"),
        (
            ["--task", "policy", "--treatment", "colour", "--outcome", "a", "--scores", "ips", "--propensity", "b"],
            "probabilities above 0",
        ),
        (["--task", "policy", "--treatment", "colour", "--outcome", "a"], "10 rows or more of each action"),
        (["--task", "polcy"], "did you mean 'policy'?"),
    ],
)
def test_what_no_policy_can_be_learnt_from_is_refused_in_a_sentence(tmp_path, words, why):
    header, rows = table(7, 12)
    costs = np.random.default_rng(8).integers(0, 5, (12, 3)).tolist()
    write(tmp_path / "p.csv", header[:3] + list("abc"), [a[:3] + b for a, b in zip(rows, costs)])
    refused = command("fit", "p.csv", *words, folder=tmp_path)
    assert refused.code in (1, 2) and why in refused.err and refused.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["p.csv"]


def simulated(n: int, seed: int):
    """Treatments given by a known chance, and outcomes whose best policy is a tree: 1 if x0 > 0.5 and x1 <= 0.4."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3)).round(3)
    better = (X[:, 0] > 0.5) & (X[:, 1] <= 0.4)
    chance = 0.2 + 0.6 * X[:, 2]
    treatment = (rng.random(n) < chance).astype(int)
    effect = np.where(better, 2.0, -1.0)
    outcome = X[:, 2] + treatment * effect + rng.normal(0, 0.5, n)
    return X, better, chance, treatment, outcome


@pytest.mark.parametrize("scores", ["doubly-robust", "ips", "direct"])
def test_the_best_policy_of_a_simulation_is_found(scores):
    X, better, chance, treatment, outcome = simulated(600, 1)
    given = np.where(treatment == 1, chance, 1 - chance)
    fitted = odtc.OptimalPolicyTree(2, scores=scores).fit(X, treatment, outcome, given)
    new, best, *_ = simulated(2000, 2)
    assert (fitted.predict(new) == best).mean() > 0.95 and fitted.is_optimal_


def test_the_interval_of_a_value_holds_the_true_value_as_often_as_it_says():
    X, better, chance, treatment, outcome = simulated(200, 3)
    fitted = odtc.OptimalPolicyTree(1, scores="ips").fit(
        X, treatment, outcome, np.where(treatment == 1, chance, 1 - chance)
    )
    X, better, *_ = simulated(200_000, 4)
    truth = np.mean(X[:, 2] + fitted.predict(X) * np.where(better, 2.0, -1.0))
    held = 0
    for seed in range(300):
        X, _, chance, treatment, outcome = simulated(400, 1000 + seed)
        mean, error = fitted.value(X, treatment, outcome=outcome, propensity=np.column_stack([1 - chance, chance]))
        held += abs(-mean - truth) <= 1.96 * error  # outcomes of which more is better are costs below 0
    assert 0.91 <= held / 300 <= 0.985


def test_the_estimator_of_policies_costs_what_it_says():
    rng = np.random.default_rng(0)
    X, costs = rng.random((60, 3)), rng.random((60, 3)).round(2)
    fitted = odtc.OptimalPolicyTree(2, min_samples_leaf=5).fit(X, costs)
    paid = costs[np.arange(60), fitted.predict(X)]
    assert fitted.cost_ == pytest.approx(paid.sum()) and set(fitted.predict(X)) <= {0, 1, 2}
    mean, error = fitted.value(X, costs)
    assert mean == pytest.approx(paid.mean()) and error == pytest.approx(paid.std(ddof=1) / np.sqrt(60))
    with pytest.raises(ValueError, match="expected costs of shape"):
        fitted.fit(X, costs[:, 0])


def test_pose_refuses_what_speaks_of_classes(tmp_path):
    header, rows = table(7, 12)
    costs = np.random.default_rng(8).integers(0, 5, (12, 2)).tolist()
    path = write(tmp_path / "p.csv", header[:3] + list("ab"), [a[:3] + b for a, b in zip(rows, costs)])
    data = read(path, task="policy", actions=["a", "b"])
    with pytest.raises(odtc.OdtcError, match="`select` is about classes"):
        pose_run(RunSpec(model=ModelSpec("dpflow", 2, select="convex_hull")), data)


def error_of(y: np.ndarray, w: np.ndarray):
    """The squared error of a leaf on some rows, by its definition."""
    return lambda at: float((w[at] * (y[at] - np.average(y[at], weights=w[at])) ** 2).sum())


@given(
    seed=st.integers(0, 10**6),
    depth=st.integers(1, 3),
    missing=st.booleans(),
    least=st.integers(1, 3),
    price=st.sampled_from(["0", "0.25"]),
    size=st.sampled_from([1.0, 1e-3, 1e6]),
)
@settings(max_examples=12)
def test_a_regression_tree_errs_as_little_as_the_best_of_all_trees(
    tmp_path_factory, seed, depth, missing, least, price, size
):
    folder = tmp_path_factory.mktemp("regression")
    price = "0" if size > 1 else price  # beside squares of 1e16 a price of 1/3 is rounding
    header, rows = table(seed, 9, missing)
    y = (np.random.default_rng(seed + 2).integers(-5, 6, 9) / 2 + 100) * size
    y[0] += size
    path = write(folder / "r.csv", [*header, "y"], [a + [b] for a, b in zip(rows, y.tolist())])
    reading = {"task": "regression", "weights": "w", "missing": "separate" if missing else "drop"}
    given = [f"leaf_rows >= {least}"] if least > 1 else []
    done = odtc.fit(path, depth=depth, reading=reading, constraints=given, params={"lambda": price})
    columns, w, lam = columns_of(done.problem, 9), np.array([line[3] for line in rows], float), float(price)
    leaf, nodes = error_of(y, w), lam / (1 - lam)

    def costs(height, at):
        found = leaf(at)
        for column in columns.T if height else ():
            left, right = [i for i in at if column[i]], [i for i in at if not column[i]]
            if min(len(left), len(right)) >= least:
                found = min(found, nodes + costs(height - 1, left) + costs(height - 1, right))
        return found

    expected = (1 - lam) * costs(depth, list(range(9)))
    assert done.verified and done.proved and done.certified
    assert done.proof.objective == pytest.approx(expected, rel=1e-9, abs=1e-9 * size**2)


@pytest.mark.parametrize("form", [{}, {"fold": "false"}, {"proof": "true"}, {"lambda": "0.3"}])
def test_the_linear_program_of_a_regression_has_the_same_optimum(tmp_path, form):
    header, rows = table(11, 14)
    y = np.random.default_rng(12).normal(size=14).round(2)
    data = read(
        write(tmp_path / "r.csv", [*header[:3], "y"], [a[:3] + [b] for a, b in zip(rows, y)]), task="regression"
    )
    searched = odtc.fit(data, "dpflow", depth=2, params={key: form[key] for key in form if key == "lambda"})
    solved = odtc.fit(data, "dpflow", depth=2, params=form, solver="highs")
    assert solved.verified and solved.proof.objective == pytest.approx(searched.proof.objective, rel=1e-9)
    assert solved.model is not None and not solved.model.integrality.any()


def test_a_regression_tree_is_that_of_streed_over_the_same_tests():
    streed = pytest.importorskip("pystreed", reason="pystreed is not installed")
    from sklearn.datasets import load_diabetes, load_wine

    diabetes, wine = load_diabetes(), load_wine()
    for X, y in ((diabetes.data, diabetes.target), (wine.data[:, 1:], wine.data[:, 0])):
        cuts = np.stack(
            [X[:, j] > q for j in range(X.shape[1]) for q in np.quantile(X[:, j], (0.25, 0.5, 0.75))], axis=1
        )
        cuts = np.unique(cuts, axis=1).astype(float)
        for depth in (2, 3):
            peer = streed.STreeDRegressor("regression", max_depth=depth).fit(cuts.astype(int), y)
            theirs = ((y - peer.predict(cuts.astype(int))) ** 2).sum()
            ours = odtc.OptimalTreeRegressor(depth).fit(cuts, y)
            assert ours.is_optimal_ and ours.objective_ == pytest.approx(theirs, rel=1e-9)
            assert ((y - ours.predict(cuts)) ** 2).sum() == pytest.approx(ours.objective_, rel=1e-9)


def test_a_regression_from_data_to_numbers_in_sql_and_python(tmp_path):
    import sqlite3
    import subprocess
    import sys

    header, rows = table(13, 40)
    y = (np.random.default_rng(14).normal(size=40) + [line[0] for line in rows]).round(2)
    write(tmp_path / "r.csv", [*header[:3], "y"], [a[:3] + [b] for a, b in zip(rows, y)])
    facts = json.loads(said(tmp_path, "fit", "r.csv", "--task", "regression", "--test", "r.csv", "-o", "m", "--json"))
    assert facts["metrics"]["test"] == facts["metrics"]["training"] and facts["termination"] == "optimal"
    assert facts["certified"] is True and facts["solver"] == "odtc"
    assert facts["metrics"]["training"]["squared_error"] == pytest.approx(facts["objective"])
    numbers = [float(word) for word in said(tmp_path, "predict", "m.tree.json", "r.csv").split()[1:]]
    assert ((y - numbers) ** 2).sum() == pytest.approx(facts["objective"])
    assert "(95 %)" in said(tmp_path, "show", "m.tree.json")
    (tmp_path / "m.py").write_text(said(tmp_path, "export", "m.tree.json", "--to", "python"))
    with (tmp_path / "r.csv").open() as stream:
        done = subprocess.run([sys.executable, "m.py"], cwd=tmp_path, stdin=stream, capture_output=True, check=True)
    assert [float(word) for word in done.stdout.split()] == numbers
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute("CREATE TABLE data (x0 REAL, x1 REAL, colour TEXT)")
        base.executemany("INSERT INTO data VALUES (?, ?, ?)", [line[:3] for line in rows])
        query = base.execute(said(tmp_path, "export", "m.tree.json", "--to", "sql"))
        at = [column[0] for column in query.description].index("prediction")
        assert [line[at] for line in query] == pytest.approx(numbers, rel=1e-12)
    assert command("export", "m.tree.json", "--to", "png", "-o", "m.png", folder=tmp_path).code == 0
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")


def test_two_tasks_of_one_table_keep_their_files(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n" + "1,0\n2,0\n3,1\n4,1\n")
    classes = said(tmp_path, "fit", "t.csv", "--depth", "1")
    numbers = said(tmp_path, "fit", "t.csv", "--depth", "1", "--task", "regression")
    assert classes and numbers
    assert sorted(path.name for path in tmp_path.glob("*.tree.json")) == [
        "t_dpflow_d1.tree.json",
        "t_regression_dpflow_d1.tree.json",
    ]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--model", "flowoct"], "use --model dpflow"),
        (["--target", "colour"], "expected a finite number in column 'colour'"),
        (["--constraint", "accuracy >= 0.5"], "about classes"),
        (["--constraint", "recall[1] >= 0.5"], "the constraint 'recall[1] >= 0.5' is about classes"),
        (["--constraint", "leaves <= 2", "--format", "lp"], "`odtc fit` without a solver and without --format"),
        (["--class-weight", "balanced"], "about classes"),
        (["-p", "tail=2"], "-p tail=2 folds costs of rows"),
        (["--pool", "3", "--constraint", "leaves <= 3"], "leave out 'leaves <= 3'\n"),
    ],
)
def test_what_no_regression_can_take_is_refused_in_a_sentence(tmp_path, words, why):
    header, rows = table(7, 12)
    write(tmp_path / "r.csv", [*header[:3], "y"], [a[:3] + [b] for a, b in zip(rows, range(12))])
    refused = command("fit", "r.csv", "--task", "regression", *words, folder=tmp_path)
    assert refused.code in (1, 2) and why in refused.err
    assert not list(tmp_path.glob("*.tree.json"))


def test_equal_numbers_and_huge_ones_are_refused(tmp_path):
    header, rows = table(7, 12)
    for y, why in ((2.5, "expected numbers that differ"), (1e200, "scale them down")):
        write(tmp_path / "r.csv", [*header[:3], "y"], [a[:3] + [y * (1 + (y > 3) * i)] for i, a in enumerate(rows)])
        refused = command("fit", "r.csv", "--task", "regression", folder=tmp_path)
        assert refused.code == 1 and why in refused.err


def test_no_digits_of_a_cost_are_lost_where_rows_with_large_numbers_are_one(tmp_path):
    """Σ w (y - m)² - (Σ w (y - m))² / Σ w of three rows of a million each was 2.4e-4, and so was the bound."""
    rows = "0,0,.1,0 0,1,1.25,0 1,0,1.25,1 0,3,1.25,1e6 0,3,.1,1e6 1,2,.7,1 0,,.2,1e6 ,2,.1,1e6 0,0,.2,0 1,3,.7,1"
    path = tmp_path / "t.csv"
    path.write_text("a,b,w,y\n" + rows.replace(" ", "\n") + "\n")
    fit = odtc.fit(path, task="regression", weights="w", missing="separate", depth=3)
    assert fit.proved and fit.solution.objective == fit.solution.bound == 0
    assert {fit.tree.words_of(leaf).split(",")[0] for leaf in fit.tree.leaves()} == {"sd 0"}


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from([0, 1, 7, 10**6, 10**6 + 1]), st.sampled_from([0.1, 0.7, 1.25])),
        min_size=2,
        max_size=12,
    )
)
def test_parts_of_rows_that_were_merged_cost_what_fractions_say(rows):
    group, y, w = (np.array(column) for column in zip(*rows))
    exact = 0
    for one in set(group.tolist()):
        held = [(Fraction(b), Fraction(c)) for a, b, c in rows if a == one]
        mean = sum(c * b for b, c in held) / sum(c for _, c in held)
        exact += sum(c * (b - mean) ** 2 for b, c in held)
    sums = regression.sums_of(y.astype(float), w)
    own = regression.part_costs(sums, group, 5)
    merged = regression.part_costs(
        sums_over(group, sums, 5)[np.unique(group)], np.arange(len(set(group))), 5, own[np.unique(group)]
    )
    assert own.sum() == pytest.approx(float(exact), rel=1e-9, abs=1e-9)
    assert merged.sum() == pytest.approx(float(exact), rel=1e-9, abs=1e-9)


def test_at_a_time_limit_a_regression_has_a_tree_and_a_bound():
    rng = np.random.default_rng(3)
    X, y = rng.random((400, 6)), rng.random(400)
    with pytest.warns(Warning, match="time limit"):
        fitted = odtc.OptimalTreeRegressor(5, time_limit=1).fit(X, y)
    assert 0 < fitted.bound_ < fitted.objective_ < ((y - y.mean()) ** 2).sum()
    assert all(check.passed for check in fitted.verify(X, y))


@given(seed=st.integers(0, 10**6), law=st.integers(0, 1))
@settings(max_examples=12)
def test_no_partition_of_the_rows_costs_less_than_the_best_one_by_order(seed, law):
    from itertools import product

    from odtc.algorithms.moments import laws
    from odtc.algorithms.moments.partition_bound import partition_costs

    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    w, told = rng.integers(1, 5, n) / 2, rng.integers(-3, 4, n) if law == laws.SQUARE else rng.integers(0, 2, n)
    moments = np.stack([w, w * told, w * told**2] if law == laws.SQUARE else [w, told, told]).astype(float)
    found = partition_costs(law, moments, laws.smallest(law, moments), 3)
    for k in (1, 2, 3):
        every = (np.array(groups) for groups in product(range(k), repeat=n))
        costs = [
            sum(float(laws.leaf_costs(law, moments[:, groups == g].sum(axis=1)[:, None])[0]) for g in set(groups))
            for groups in every
        ]
        assert found[k - 1] == pytest.approx(max(0.0, min(costs)), abs=1e-9)


@pytest.mark.slow
@parametrize_with_checks([odtc.OptimalTreeRegressor()])
def test_the_regressor_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def certified(folder, depth: int = 3, seed: int = 21, lam: str = "0"):
    """(the certificate of a regression on a small table, its data)."""
    from odtc.problem.problem import Problem

    header, rows = table(seed, 24)
    y = (np.random.default_rng(seed).normal(size=24) + [line[0] for line in rows]).round(1)
    path = write(folder / "r.csv", [*header, "y"], [a + [b] for a, b in zip(rows, y)])
    data = read(path, task="regression", weights="w")
    problem = pose_run(RunSpec(model=ModelSpec("dpflow", depth, params={"lambda": lam})), data)
    assert isinstance(problem, Problem)
    return problem.module.certificate(problem), data


@pytest.mark.parametrize(("depth", "lam"), [(1, "0"), (2, "0.1"), (3, "0"), (3, "0.2"), (4, "0")])
def test_the_certificate_of_a_regression_proves_the_best_tree_in_rationals(tmp_path, depth, lam):
    from odtc.verification.certificate import check

    facts, data = certified(tmp_path, depth, lam=lam)
    proof = check(json.loads(json.dumps(facts)), data)
    fitted = odtc.fit(data, depth=depth, params={"lambda": lam})
    assert proof.objective == pytest.approx(fitted.proof.objective, rel=1e-12)
    assert proof.optimal and proof.bound == proof.objective  # also if rows that no test tells apart cost a third of one


def of_nested_tests(seed: int, depth: int):
    """(a certificate over binary columns of which some lie within others and some are equal, its data)."""
    from odtc.data.dataset import Dataset, Feature
    from odtc.data.tasks import regression

    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, (30, 2))
    X = np.column_stack([x[:, j] > cut for j in range(2) for cut in rng.permutation(3)]).astype(float)
    X = np.column_stack([X, X[:, 1], 1 - X[:, 4], rng.random(30) > 0.5])
    y = (x[:, 0] * x[:, 1] + rng.normal(size=30)).round(1)
    features = tuple(Feature(f"c{j}", "numeric", ()) for j in range(X.shape[1]))
    rows = Dataset("X", X, np.zeros(30, np.int32), features, (), np.ones(30), "y", task="regression")
    data = regression.measured(rows, y, "y")
    problem = pose_run(RunSpec(model=ModelSpec("dpflow", depth)), data)
    return problem.module.certificate(problem), data


@pytest.mark.parametrize("at_once", [False, True])
def test_a_certificate_over_nested_and_equal_tests_proves_the_tree(monkeypatch, at_once):
    from odtc.errors import CertificateError
    from odtc.verification.certificate import check

    if not at_once:
        bound_one_by_one(monkeypatch)
    facts, data = of_nested_tests(1, 3)
    nested = [column for column in facts["columns"] if column["kind"] == "nested"]
    assert nested and check(facts, data).optimal
    nested[0]["splits"] = nested[0]["splits"][::-1]
    with pytest.raises(CertificateError, match="not nested"):
        check(facts, data)


def test_a_cut_that_two_columns_make_alike_has_the_better_bound_in_every_state(tmp_path):
    """On some rows a cut of one column stands for another one, which some other column makes on all rows."""
    x = [[0, 22], [2, 10], [3, 20], [12, 26], [33, 31], [38, 31]]
    lines = [[*a, y] for a, y in zip(x, (995, 1005, 996, 1005, 1001, 996))]
    write(tmp_path / "r.csv", ["a", "b", "y"], lines)
    done = odtc.fit(tmp_path / "r.csv", depth=4, reading={"task": "regression"}, params={"lambda": "0.5"})
    assert done.proved and done.certified


def test_a_certificate_of_large_numbers_is_of_the_tree_whose_floats_are_rounded():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 3, (20, 2)).astype(float)
    y = 6000.0 * X[:, 0] - 5000.0 * X[:, 1] + 1e6
    fitted = odtc.OptimalTreeRegressor(4, params={"lambda": "0.1"}).fit(X, y)
    assert fitted.is_optimal_ and fitted.objective_ == pytest.approx(0.1 * (len(np.unique(y)) - 1), abs=1e-5)


def roots_by_every_tree(rank, rows, leaf, price: float, least: int, most: int) -> dict:
    """{(column, cut): the least cost of a tree with this root and at most one split on either side}, by trying each."""

    def parts(own):
        for g, column in enumerate(rank.T):
            for cut in np.unique(column[own])[:-1]:
                yield (g, int(cut)), own[column[own] <= cut], own[column[own] > cut]

    def cost(own) -> float:
        return leaf(own) if len(own) >= least else np.inf

    def of_leaves(own) -> tuple[float, float]:
        """The least costs with one leaf and with two."""
        split = (price + cost(low) + cost(high) for _, low, high in parts(own))
        return cost(own), min(split, default=np.inf)

    found = {}
    for root, low, high in parts(rows):
        if min(len(low), len(high)) >= least:
            sides = product(enumerate(of_leaves(low)), enumerate(of_leaves(high)))
            allowed = (one + two for (i, one), (j, two) in sides if not most or i + j + 2 <= most)
            found[root] = price + min(allowed)
    return found


@pytest.mark.parametrize("law", [0, 1])
@pytest.mark.parametrize("limit", [(1, 0), (3, 0), (1, 3), (4, 3)])
def test_roots_of_two_levels_cost_as_much_as_their_best_trees(law, limit):
    from fractions import Fraction
    from types import SimpleNamespace

    from odtc.verification.leaf_sums.bound import LeafSumsBound
    from odtc.verification.leaf_sums.likelihood import Likelihood
    from odtc.verification.leaf_sums.limits import Limit
    from odtc.verification.leaf_sums.squares import Squares

    rng = np.random.default_rng(law)
    rank, w, t = rng.integers(0, 4, (20, 3)), rng.integers(1, 4, 20), rng.integers(-5, 9, 20)
    rank = np.column_stack([rank[:, :2], rank[:, 0] == 1, rank[:, 2], rank[:, 2] != 3])  # some of two ranks
    moments = np.stack([w, w * t, w * t * t] if law == 0 else [w * rng.integers(1, 9, 20), rng.integers(0, 2, 20), w])
    costs = Squares.costs if law == 0 else Likelihood.costs
    measure = SimpleNamespace(moments=moments, near=1e-9, LAW=law, root_unit=8.0, bits=3, low=lambda sums: Fraction(0))
    measure.rounded, measure.TOLD = moments.astype(float), 2 - law
    measure.costs = lambda *sums: costs(measure, *sums)
    state, rows = LeafSumsBound(rank, measure, Fraction(1, 4), False), np.arange(2, 18)

    def leaf(own) -> float:
        return float(measure.costs(*measure.rounded[:, own].sum(axis=1)[:, None])[0])

    found = state._roots(rows, 2, Limit(*limit))
    wanted = roots_by_every_tree(rank, rows, leaf, 0.25, *limit)
    assert list(zip(found[0].tolist(), found[1].tolist())) == list(wanted)
    assert found[2].tolist() == pytest.approx(list(wanted.values()), rel=1e-9)
    wanted = {}
    for g in range(rank.shape[1]):
        for cut in np.unique(rank[rows, g])[:-1].tolist():
            sides = rows[rank[rows, g] <= cut], rows[rank[rows, g] > cut]
            if min(map(len, sides)) >= limit[0]:
                wanted[g, cut] = 0.25 + sum(map(leaf, sides))
    columns, cuts, costs = state._roots(rows, 1, Limit(limit[0]))
    assert list(zip(columns.tolist(), cuts.tolist())) == list(wanted)
    assert costs.tolist() == pytest.approx(list(wanted.values()), rel=1e-9)


@pytest.mark.parametrize("seed", range(60))
def test_two_levels_in_numpy_have_the_numbers_of_the_loops(seed, monkeypatch):
    """To the last digit, or the tree would depend on what is on disk; so blocks of any size."""
    from odtc.algorithms.moments import kernels, laws
    from tests.references import depth_two_of_moments

    rng = np.random.default_rng(seed)
    monkeypatch.setattr(depth_two_of_moments, "CELLS", (1, 20, 1 << 16)[seed % 3])
    n, law = int(rng.integers(1, 40)), seed // 3 % 2
    code = rng.integers(0, rng.integers(1, 15), (int(rng.integers(1, 5)), n)).astype(np.int32)
    levels = rng.integers(0, 4, n) == np.arange(4)[:, None]  # columns of two ranks, either of them the rarer one
    code = rng.permutation(np.concatenate([code, levels ^ (rng.random((4, 1)) < 0.5)])[seed % 2 * 4 :]).astype(np.int32)
    w, s = rng.choice([1.0, 0.5, 1.3], n), np.round(rng.normal(size=n), 2)
    if law == laws.LIKELIHOOD:
        w, s = rng.random(n) + 0.01, rng.integers(0, 2, n).astype(float)
    moments = np.stack([w, s * w if law == laws.SQUARE else s, rng.integers(1, 3, n).astype(float)])
    rows = np.sort(rng.choice(n, rng.integers(1, n + 1), replace=False))
    ends = float(rng.choice([1, 1, 2, 4])), float(rng.choice([3, 4])), np.zeros((0, 0))
    given = code, code.max(axis=1).astype(np.int64) + 1, moments, rows, ends, float(rng.choice([0.0, 0.1])), law
    given = *given, laws.smallest(law, moments)
    found = depth_two_of_moments.depth_two(*given[:5], given[5:])
    assert found[1:] == kernels.depth_two(*given)[1:]
    assert found[0] == pytest.approx(kernels.depth_two(*given)[0], rel=0 if law == laws.SQUARE else 1e-12, abs=0)


@pytest.mark.parametrize("seed", [0, 4, 10])
def test_trees_of_five_levels_are_proved_and_certified(seed):
    """A subtree that was left at a limit is searched again under a higher one."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, rng.integers(3, 5), (70, rng.integers(3, 5))).astype(float)
    fitted = odtc.OptimalTreeRegressor(5).fit(X, np.round(10 * rng.normal(size=70) + X[:, 0], 2))
    assert fitted.is_optimal_


def test_at_a_limit_a_certificate_bounds_all_trees_of_a_regression():
    from odtc.base import deadline
    from odtc.verification.certificate import check

    rng = np.random.default_rng(3)
    fitted = odtc.OptimalTreeRegressor(1).fit(X := rng.random((60, 3)).round(2), y := rng.random(60).round(2))
    rows, targets = fitted._rows(X, y, None)
    data = fitted._measured(rows, targets)
    problem = pose_run(RunSpec(model=ModelSpec("dpflow", 4)), data)
    with deadline.within(0.0):
        facts = problem.module.certificate(problem)
    proof = check(facts, data)
    assert 0 <= proof.bound < proof.objective and not proof.optimal


def corruptions(facts: dict, seed: int, count: int):
    """(text, certificate): so many with a digit changed, of which some lack a cut that was tried, too."""
    text = json.dumps({key: facts[key] for key in facts if key not in ("of", "data", "odtc")})
    rng = np.random.default_rng(seed)
    digits = [at for at, sign in enumerate(text) if sign.isdigit()]
    for _ in range(count):
        at = int(rng.choice(digits))
        changed = text[:at] + str((int(text[at]) + int(rng.integers(1, 10))) % 10) + text[at + 1 :]
        try:
            corrupted = facts | json.loads(changed)
        except ValueError:
            continue
        if rng.random() < 0.2 and corrupted["tried"]:
            del corrupted["tried"][int(rng.integers(len(corrupted["tried"])))]
        yield changed, corrupted


def test_what_the_tree_of_a_certificate_says_of_the_data_is_bound(tmp_path):
    from odtc.errors import CertificateError
    from odtc.verification.certificate import check

    facts, data = certified(tmp_path, 1)
    for changed in ({"target": "z"}, {"features": facts["tree"]["features"][:-1]}, {"task": "policy"}, {"schema": "x"}):
        with pytest.raises(CertificateError, match="the tree of the certificate states its"):
            check(facts | {"tree": facts["tree"] | changed}, data)
    assert check(facts, data).optimal


def test_no_corrupted_certificate_of_a_regression_proves_more_than_is_true(tmp_path):
    """Whatever is changed in it, it is refused, or states no bound above the optimum and no tree below it."""
    from odtc.errors import CertificateError
    from odtc.verification.certificate import check

    facts, data = certified(tmp_path)
    best = check(facts, data).objective
    refused = 0
    for changed, corrupted in corruptions(facts, 5, 100):
        try:
            proof = check(corrupted, data)
        except CertificateError:
            refused += 1
            continue
        assert proof.bound <= best * (1 + 1e-12) or corrupted["penalty"] != facts["penalty"], changed
        assert proof.objective >= best * (1 - 1e-12) or corrupted["penalty"] != facts["penalty"], changed
    assert refused > 20


def test_a_certificate_of_a_regression_is_written_and_checked_by_the_commands(tmp_path):
    certified(tmp_path)
    words = ["--task", "regression", "--weights", "w", "--depth", "3", "-o", "c.json"]
    said(tmp_path, "certify", "r.csv", *words)
    assert "proved" in said(tmp_path, "verify", "--certificate", "c.json")
    lines = (tmp_path / "r.csv").read_text().splitlines()
    (tmp_path / "r.csv").write_text("\n".join([*lines[:-1], lines[-1] + "9"]) + "\n")
    assert command("verify", "--certificate", "c.json", folder=tmp_path).code == 1


@pytest.mark.parametrize("task", ["policy", "regression", "median"])
def test_the_page_of_a_run_tells_its_own_figures_and_no_accuracy(tmp_path, task):
    header, rows = table(31, 30)
    costs = np.random.default_rng(32).integers(0, 9, (30, 2)).tolist()
    write(tmp_path / "d.csv", [*header[:3], "a", "b"], [line[:3] + cost for line, cost in zip(rows, costs)])
    words = ["--task", "policy", "--actions", "a,b"] if task == "policy" else ["--task", task, "--auxiliary", "a"]
    said(tmp_path, "fit", "d.csv", *words, "-o", "m")
    said(tmp_path, "report", "m")
    page = (tmp_path / "m.html").read_text()
    assert ("a row of 30" in page) and "accuracy" not in page.split("<script")[0] and "of them correct" not in page
    refused = command("report", "m", "--group", "colour", folder=tmp_path)
    assert refused.code in (1, 2) and "--group is about classes" in refused.err


def absolute_error_of(y: np.ndarray, w: np.ndarray):
    """The absolute error of a leaf on some rows, by its definition: around the best of their numbers."""
    return lambda at: min(float((w[at] * np.abs(y[at] - v)).sum()) for v in y[at])


@given(
    seed=st.integers(0, 10**6), missing=st.booleans(), least=st.integers(1, 3), size=st.sampled_from([1.0, 1e-3, 1e6])
)
@settings(max_examples=12)
def test_a_median_tree_errs_as_little_as_the_best_of_all_trees(tmp_path_factory, seed, missing, least, size):
    folder = tmp_path_factory.mktemp("median")
    header, rows = table(seed, 9, missing)
    y = (np.random.default_rng(seed + 2).integers(-5, 6, 9) / 2 + 3) * size
    y[0] += size
    path = write(folder / "r.csv", [*header, "y"], [a + [b] for a, b in zip(rows, y.tolist())])
    reading = {"task": "median", "weights": "w", "missing": "separate" if missing else "drop"}
    if (y == y[0]).all():
        return
    done = odtc.fit(path, depth=2, reading=reading, constraints=[f"leaf_rows >= {least}"] if least > 1 else [])
    w = np.array([line[3] for line in rows], float)
    expected = every_tree_costs(columns_of(done.problem, 9), 2, absolute_error_of(y, w), least)
    assert done.verified and done.proved and done.proof.objective == pytest.approx(expected, rel=1e-9)
    assert done.metrics["training"]["absolute_error"] == pytest.approx(expected, rel=1e-9)
    for number, leaf in enumerate(done.tree.leaves()):
        at = np.flatnonzero(done.tree.apply(done.dataset.X) == number)
        own = [
            w[at] @ np.abs(y[at] - v) for v in (done.tree.answer(leaf), np.median(np.repeat(y[at], w[at].astype(int))))
        ]
        assert own[0] == pytest.approx(own[1])  # a median of its rows


def test_medians_from_data_to_certificate_numbers_and_the_estimator(tmp_path):
    header, rows = table(13, 40)
    y = (np.random.default_rng(14).integers(0, 9, 40) / 2 + [line[0] for line in rows]).round(2)
    write(tmp_path / "r.csv", [*header[:3], "y"], [a[:3] + [b] for a, b in zip(rows, y)])
    write(tmp_path / "s.csv", [*header[:3], "y"], [a[:3] + [b + 0.01] for a, b in zip(rows, y)])
    words = ["--task", "median"]
    facts = json.loads(said(tmp_path, "fit", "r.csv", *words, "--test", "s.csv", "-o", "m", "--json"))
    assert facts["certified"] and facts["metrics"]["training"]["absolute_error"] == pytest.approx(facts["objective"])
    told = said(tmp_path, "predict", "m.tree.json", "s.csv").split()[1:]
    numbers = np.array(list(map(float, told)))
    assert np.abs(y + 0.01 - numbers).sum() == pytest.approx(facts["metrics"]["test"]["absolute_error"])
    said(tmp_path, "certify", "r.csv", *words, "-o", "c.cert.json")
    assert "proved" in said(tmp_path, "verify", "--certificate", "c.cert.json")
    sql = said(tmp_path, "export", "m.tree.json", "--to", "sql")
    assert "THEN '" not in sql.split("prediction")[0].split("reason")[-1]  # numbers, no text
    assert "half of them" in said(tmp_path, "show", "m.tree.json")
    frame = np.array([[line[0], line[1]] for line in rows])
    fitted = odtc.OptimalTreeRegressor(2, criterion="absolute_error").fit(frame, y)
    assert np.abs(y - fitted.predict(frame)).sum() == pytest.approx(fitted.objective_) and fitted.is_optimal_
    assert all(check.passed for check in fitted.verify(frame, y))
    alone = odtc.OptimalTreeRegressor(0, criterion="absolute_error").fit(frame, y)
    assert alone.objective_ == pytest.approx(np.abs(y - np.median(y)).sum()) and alone.verify(frame, y)[0].passed
    with pytest.raises(ValueError, match="absolute_error"):
        odtc.OptimalTreeRegressor(1, criterion="mae").fit(frame, y)


def test_cart_of_medians_splits_by_the_order_of_the_numbers(tmp_path):
    """By Gini impurity, which sees no order in two hundred numbers, its tree was worse than no tree of scikit-learn."""
    rng = np.random.default_rng(0)
    X = rng.random((200, 3)).round(3)
    y = (np.where(X[:, 1] < 0.4, 50, 10) + rng.random(200)).round(6)
    write(tmp_path / "r.csv", ["a", "b", "c", "y"], np.column_stack([X, y]).tolist())
    problem = pipeline.pose(read(tmp_path / "r.csv", task="median"), "dpflow", 2)
    encoded = problem.encoded
    tree = cart.tree(encoded, problem.topology).to_tree(encoded)
    assert encoded.dataset.features[tree.root.split.features[0]].name == "b"
    beside = DecisionTreeRegressor(criterion="absolute_error", max_depth=2).fit(X, y).predict(X)
    answers = np.array([tree.answer(leaf) for leaf in tree.leaves()])[tree.apply(X)]
    assert np.abs(y - answers).sum() <= 1.05 * np.abs(y - beside).sum()


@pytest.mark.parametrize(("y", "why"), [(2.5, "expected numbers that differ"), (1e308, "scale them down")])
def test_numbers_that_no_median_can_be_learnt_from_are_refused(tmp_path, y, why):
    header, rows = table(7, 12)
    numbers = [y * (1 if y < 3 else (-1) ** i) for i in range(12)]
    write(tmp_path / "r.csv", [*header[:3], "y"], [a[:3] + [b] for a, b in zip(rows, numbers)])
    refused = command("fit", "r.csv", "--task", "median", folder=tmp_path)
    assert refused.code == 1 and why in refused.err and refused.err.count("\n") == 1


def test_estimators_of_tasks_are_verified_and_compared_in_their_own_figures():
    rng = np.random.default_rng(3)
    X, costs = rng.random((60, 2)).round(1), rng.random((60, 3)).round(2)
    ours, other = (odtc.OptimalPolicyTree(depth).fit(X, costs) for depth in (2, 1))
    assert all(check.passed for check in ours.verify(X, costs))
    beside = ours.compare({"stump": other}, X, costs)
    assert beside.mean_cost == pytest.approx([one.value(X, costs)[0] for one in (ours, other)])
    assert beside.standard_error == pytest.approx([one.value(X, costs)[1] for one in (ours, other)])
    assert ours.compare([other], X).mean_cost is None and beside.leaves == [4, 2]
    other.cost_ += 1
    assert [check.name for check in other.verify(X, costs) if not check.passed] == ["policy cost"]
    assert not all(check.passed for check in ours.verify(X, costs[:, ::-1]))
    with pytest.raises(ValueError, match="expected costs of 3 actions"):
        ours.compare([other], X, costs[:, :2])
    treatment, outcome = rng.integers(0, 2, 60), rng.random(60)
    seen = odtc.OptimalPolicyTree(1).fit(X, treatment, outcome)
    assert all(check.passed for check in seen.verify(X, treatment, outcome))
    y = rng.random(60).round(1)
    numbers = {c: odtc.OptimalTreeRegressor(1, criterion=c).fit(X, y) for c in ("squared_error", "absolute_error")}
    beside = numbers["squared_error"].compare({"median": numbers["absolute_error"]}, X, y)
    assert beside.mean_squared_error == pytest.approx([((y - one.predict(X)) ** 2).mean() for one in numbers.values()])
    assert beside.mean_squared_error[0] <= beside.mean_squared_error[1]
    assert beside.mean_absolute_error[1] <= beside.mean_absolute_error[0]


@pytest.mark.parametrize(
    ("criterion", "error"),
    [
        ("squared_error", lambda y, w: (w * (y - np.average(y, weights=w)) ** 2).sum()),
        ("absolute_error", lambda y, w: min((w * np.abs(y - one)).sum() for one in y)),
    ],
)
def test_importances_are_the_error_that_goes_at_the_splits_of_a_column(criterion, error):
    rng = np.random.default_rng(12)
    X, w = rng.integers(0, 5, (60, 4)).astype(float), rng.integers(1, 4, 60).astype(float)
    y = (X[:, 0] + 2 * (X[:, 2] > 2) + rng.random(60)).round(1)
    fitted = odtc.OptimalTreeRegressor(2, criterion=criterion).fit(X, y, sample_weight=w)
    gone = np.zeros(4)

    def add(node, here):
        if hasattr(node, "split"):
            left = node.split.left(X)
            parts = here & left, here & ~left
            gone[node.split.feature] += error(y[here], w[here]) - sum(error(y[part], w[part]) for part in parts)
            add(node.left, parts[0])
            add(node.right, parts[1])

    add(fitted.tree_.root, np.ones(60, bool))
    assert (gone > 0).sum() > 1
    assert fitted.feature_importances_ == pytest.approx(gone / gone.sum())
    assert odtc.OptimalTreeRegressor(0).fit(X, y).feature_importances_.tolist() == [0.0] * 4


TABLES = {
    "regression": ("--task", "regression"),
    "median": ("--task", "median"),
    "policy": ("--task", "policy", "--actions", "a,b,c"),
}
FIGURES = {"regression": "mean_squared_error", "median": "mean_absolute_error", "policy": "mean_cost"}


@pytest.fixture(scope="module")
def fitted_tasks(tmp_path_factory):
    """A folder with a table of numbers and costs, and two trees of each task: NAME1 and NAME2, of depth 1 and 2."""
    folder = tmp_path_factory.mktemp("tasks")
    header, rows = table(31, 40)
    rng = np.random.default_rng(32)
    # Of three decimals, so that no two trees cost the same: a solver may take either.
    costs, y = rng.integers(0, 999, (40, 3)) / 1000, (rng.random(40) + [line[0] for line in rows]).round(1)
    write(folder / "p.csv", header[:3] + list("abc"), [a[:3] + b for a, b in zip(rows, costs.tolist())])
    write(folder / "r.csv", [*header[:3], "y"], [a[:3] + [b] for a, b in zip(rows, y)])
    for name, words in TABLES.items():
        for depth in (1, 2):
            said(folder, "fit", data_of(name), *words, "--depth", depth, "-o", f"{name}{depth}")
    return folder


def data_of(name: str) -> str:
    return "p.csv" if name == "policy" else "r.csv"


@pytest.mark.parametrize("name", TABLES)
def test_trees_of_a_task_are_compared_by_its_own_figure(fitted_tasks, name):
    words = ("compare", f"{name}1", f"{name}2", "--data", data_of(name))
    facts = json.loads(said(fitted_tasks, *words, "--json"))
    for depth, one in zip((1, 2), facts["trees"]):
        run = json.loads(said(fitted_tasks, "fit", data_of(name), *TABLES[name], "--depth", depth, "--json"))
        assert one["train_figure"] == pytest.approx(run["metrics"]["training"][FIGURES[name]])
        assert run["loss"] == pytest.approx(run["objective"]) and not [key for key in run if "train_" in key]
        assert one["test_figure"] == pytest.approx(one["train_figure"]) and "train_accuracy" not in one
    assert "%" not in said(fitted_tasks, *words).split("share of")[0]
    other = command("compare", "policy1", "median1", folder=fitted_tasks)
    assert other.code in (1, 2) and "trees of one task" in other.err


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("data", [False, True])
def test_trees_of_a_task_are_drawn_by_size_and_its_own_figure(fitted_tasks, name, data):
    beside = ("--data", data_of(name)) if data else ()
    said(fitted_tasks, "plot", "size", f"{name}1", f"{name}2", *beside, "-o", "sizes.svg")
    words = {"regression": "squared error", "median": "absolute error", "policy": "cost"}[name]
    drawn = (fitted_tasks / "sizes.svg").read_text()
    assert words in drawn and ("test rows" if data else "training rows") in drawn and "accuracy" not in drawn
    alone = command("plot", "size", f"{name}1", "alone.tree.json", "-o", "s.svg", folder=fitted_tasks)
    assert alone.code == 1
    (fitted_tasks / "alone.tree.json").write_text((fitted_tasks / f"{name}2.tree.json").read_text())
    alone = command("plot", "size", f"{name}1", "alone.tree.json", "-o", "s.svg", folder=fitted_tasks)
    assert alone.code in (1, 2) and "got none of 'alone'" in alone.err
    (fitted_tasks / "alone.tree.json").unlink()


def test_a_price_where_no_share_is_bounded_is_told_as_none(fitted_tasks):
    words = ("fit", "r.csv", *TABLES["regression"], "--depth", 1, "--constraint", "leaf_rows >= 2", "--price")
    found = command(*words, folder=fitted_tasks)
    assert found.code == 0 and "note: no price: --price needs a --constraint on a share" in found.err
    assert "which --task regression does not have" in found.err


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("to", ["python", "javascript", "java", "r", "c", "sql", "excel"])
def test_exports_speak_of_what_leaves_answer(fitted_tasks, name, to):
    tree = odtc.read_tree(fitted_tasks / f"{name}1.tree.json")
    made = odtc.export(tree, to)
    text = made.decode("utf-8-sig") if isinstance(made, bytes) else made
    assert not re.search(r"(the|one|each) class\b|probability|probabilities are", text)
    if to in ("sql", "excel"):
        assert ("share of votes a" in text) == (name == "policy")
    else:
        assert re.search(f"the {'action' if name == 'policy' else 'number'} (of|that)", text)
        assert name == "policy" or not re.search("share of|probabilities", text)


@pytest.mark.parametrize("name", TABLES)
def test_a_task_is_tuned_by_its_own_figure(fitted_tasks, name):
    words = ("tune", data_of(name), *TABLES[name], "--depths", "1,2", "--folds", "2", "-o", f"t{name}")
    facts = json.loads(said(fitted_tasks, *words, "--json"))
    assert facts["score"] == FIGURES[name]
    best = max(facts["results"], key=lambda one: one["score"])  # minus the figure
    assert facts["results"][facts["best"]]["score"] == best["score"] < (0 if name != "policy" else 1)
    data = read(fitted_tasks / data_of(name), task=name, actions=tuple("abc") if name == "policy" else ())
    fold = deal_rows(data, 2)
    firsts = np.flatnonzero(data.copies > 0)
    for i in range(data.n_rows):  # no row of the file is torn apart
        assert any((data.X[j] == data.X[i]).all() and fold[j] == fold[i] for j in firsts)
    for more, why in ((("--score", "balanced_accuracy"), "needs classes"), (("--folds", "99"), "folds")):
        refused = command(*words, *more, folder=fitted_tasks)
        assert refused.code in (1, 2) and why in refused.err


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_a_task_is_inspected_and_refitted_near_its_old_tree(fitted_tasks, name):
    facts = json.loads(said(fitted_tasks, "inspect", data_of(name), *TABLES[name], "--json"))
    target = next(one for one in facts["columns"] if one["role"] == "target")
    assert facts["n_rows"] == 40 and target["kind"] == ("best action" if name == "policy" else "numbers")
    words = ["refit", f"{name}1.tree.json", data_of(name)]
    again = json.loads(said(fitted_tasks, *words, "-o", f"again_{name}", "--json"))
    assert again["verified"] and again["task"] == name  # columns and task are those of the old tree
    assert again["objective"] <= again["refit"]["best_objective"] + again["refit"]["within"]
    apart = "rows" if name == "policy" else "answers"
    assert again["refit"]["distance"][apart] == again["refit"]["distance"]["splits"] == 0
    old, now = again["drift"]["figures"]["old_now"], again["drift"]["figures"]["new_now"]
    assert old == pytest.approx(now) == again["metrics"]["training"][FIGURES[name]]
    page = (fitted_tasks / f"again_{name}.drift.html").read_text(encoding="utf-8")
    assert "would predict now" in page and "% of the new rows correct" not in page
    refused = command(*words, "--task", "other", folder=fitted_tasks)
    assert refused.code in (1, 2) and f"the task of the old tree, {name}" in refused.err


@pytest.mark.parametrize(("name", "words"), [("regression", "(95 %)"), ("median", "half of them")])
def test_a_number_is_explained_by_how_many_rows_came_there(fitted_tasks, name, words):
    told = said(fitted_tasks, "explain", f"{name}1.tree.json", "r.csv", "--row", 1)
    first, step, last = told.splitlines()[:3]
    number = said(fitted_tasks, "predict", f"{name}1.tree.json", "r.csv").split()[1]
    assert float(first.removeprefix("row 1: y ")) == pytest.approx(float(number))
    rows = step.split("; here ")[1].split()[0]
    assert last.startswith("  so y ") and f": {rows} training rows, " in last and words in last and "label" not in told


def test_an_explained_risk_is_called_so(tmp_path):
    (tmp_path / "s.csv").write_text("x,t,e\n" + "".join(f"{i},{40 - i},{i % 3 and 1}\n" for i in range(30)))
    said(tmp_path, "fit", "s.csv", "--task", "survival", "--time", "t", "--event", "e", "--depth", 1, "-o", "s")
    first, _, last = said(tmp_path, "explain", "s", "s.csv").splitlines()[:3]
    assert first.startswith("row 1: risk of an event ") and last.startswith("  so risk of an event ")
    (row,) = json.loads(said(tmp_path, "explain", "s", "s.csv", "--json"))["rows"]
    assert row["quantity"] == "risk of an event" and first.endswith(f" {row['prediction']:.10g}")


@pytest.mark.parametrize("name", ["regression", "policy"])
def test_a_task_is_swept_by_its_own_figure(fitted_tasks, name):
    words = [data_of(name), *TABLES[name], "--depths", "1", "--folds", "2"]
    told = said(fitted_tasks, "sweep", *words, "-o", f"s{name}")
    tuned = json.loads(said(fitted_tasks, "tune", *words, "-o", f"u{name}", "--json"))
    figures = [-fold["figure"] for fold in tuned["results"][0]["folds"]]  # of a score more is better
    rows = pl.read_parquet(fitted_tasks / f"s{name}" / "results.parquet")
    assert rows["figure"].to_list() == pytest.approx(figures)
    assert rows["accuracy"].null_count() == 2 == rows["error"].null_count()
    assert f"{np.mean(figures):.6g}" in told and "%" not in told
    refused = command("sweep", *words, "--score", "balanced_accuracy", "-o", "never", folder=fitted_tasks)
    assert refused.code in (1, 2) and "needs classes" in refused.err and not (fitted_tasks / "never").exists()


@pytest.mark.parametrize("name", ["regression", "policy"])
def test_the_models_of_a_task_are_measured(fitted_tasks, name):
    study = ["bench", "models", "--data", data_of(name), *TABLES[name], "--depths", "1", "--encoding", "auto:bins=3"]
    cells = json.loads(
        said(fitted_tasks, *study, "--formulations", "flowoct,dpflow", "--results", f"{name}.jsonl", "--json")
    )
    flow, program = cells["cells"]
    reading = {"task": name, "actions": ("a", "b", "c") if name == "policy" else ()}
    fitted = odtc.fit(fitted_tasks / data_of(name), depth=1, encoding="auto:bins=3", reading=reading)
    assert program["objective"] == pytest.approx(fitted.proof.objective) and program["verified"]
    if name == "regression":
        assert flow["termination"] == "refused" and "--model dpflow" in flow["message"]
    else:
        assert flow["objective"] == pytest.approx(program["objective"])


@pytest.mark.parametrize("name", TABLES)
def test_what_is_of_classes_alone_refuses_a_task_in_a_sentence(fitted_tasks, name):
    given = [data_of(name), *TABLES[name]]
    vary = ["frontier", *given, "--depth", "1"]
    for words, why in (
        (["select", *given], "odtc select is about classes"),
        ([*vary, "--vary", "accuracy >= 0.1:0.3:0.1"], "is about classes"),
        (["fit", *given, "--select", "balanced"], "--select is about classes"),
        (["fit", *given, "--select", "iterative"], "--select is about classes"),
        (["fit", *given, "--select", "coarse_to_fine:parts=2"], "--select is about classes"),
        (["fit", *given, "--confidence", "0.9", "--constraint", "leaf_rows >= 2"], "--confidence is about classes"),
    ):
        refused = command(*words, folder=fitted_tasks)
        assert refused.code in (1, 2) and why in refused.err and len(refused.err.strip().splitlines()) == 1


@pytest.mark.parametrize("name", ["median", "policy", "regression"])
def test_a_frontier_of_a_task_has_the_best_tree_of_each_number(fitted_tasks, name):
    words = [data_of(name), *TABLES[name], "--depth", "2", "--encoding", "auto:bins=3"]
    points = json.loads(said(fitted_tasks, "frontier", *words, "--vary", "leaves <= 2:4:1", "--json"))["points"]
    for point in points:
        one = ["fit", *words, "--constraint", f"leaves <= {point['requested']:.0f}", "-o", "one", "--json"]
        fitted = json.loads(said(fitted_tasks, *one))
        assert point["ended"] == "optimal" and point["objective"] == pytest.approx(fitted["objective"])


@pytest.mark.parametrize("goal", ["max", "min"])
def test_what_outcomes_bring_is_told_with_their_own_sign(goal, tmp_path):
    """More is better by default: the value is what is brought, and the costs are minus that."""
    rng = np.random.default_rng(4)
    x, taken = rng.integers(0, 4, 80), rng.integers(0, 2, 80)
    y = np.round(20 + 5 * np.where(x > 1, taken, -taken) + rng.normal(size=80), 2)
    rows = list(zip(x.tolist(), np.where(taken, "call", "mail").tolist(), y.tolist(), strict=True))
    write(tmp_path / "t.csv", ["x", "a", "y"], rows)
    write(tmp_path / "new.csv", ["x", "a", "y"], rows[:30])
    words = ("--task", "policy", "--treatment", "a", "--outcome", "y", "--depth", "1", "--scores", "ips", "-o", "r")
    done = command("fit", "t.csv", *words, "--goal", goal, "--test", "new.csv", folder=tmp_path)
    word, other = ("value", "cost") if goal == "max" else ("cost", "value")
    lines = [line for line in done.out.splitlines() if " a row of " in line]
    assert len(lines) == 4 and all(f"{word} " in line and f"{other} " not in line for line in lines)
    assert all("-" not in line and "by its own score" in line for line in lines)
    facts = command("predict", "r.tree.json", "new.csv", "--score", "--json", folder=tmp_path).facts
    assert facts["goal"] == goal and facts["scores"] == "ips" and (facts["mean_cost"] < 0) == (goal == "max")
    # Leaves say it with the same sign, wherever they are told: of rows that a model file alone holds, too.
    shown = [line for line in said(tmp_path, "show", "r.tree.json").splitlines() if f"mean {word}" in line]
    assert len(shown) == 2 and not any(f"mean {other}" in line or " -" in line for line in shown)
    told = command("explain", "r.tree.json", "new.csv", "--row", "1", folder=tmp_path).out
    assert told.count(f"mean {word} ") == 2 and "call -" not in told
    path = command("explain", "r.tree.json", "new.csv", "--row", "1", "--json", folder=tmp_path).facts["rows"][0]
    assert min(path[f"mean_{word}"].values()) > 0 and min(path["path"][0][f"mean_{word}"].values()) > 0
    figure = abs(facts["mean_cost"])
    table = said(tmp_path, "compare", "r", "r.tree.json", "--data", "new.csv")
    assert f"test {word}" in table and f"{figure:.6g}" in table and f"-{figure:.6g}" not in table
    grid = [*words[:6], "--goal", goal, *words[8:10], "--depths", "1", "--folds", "2", "-o"]
    tuned = said(tmp_path, "tune", "t.csv", *grid, "tuned").splitlines()
    swept = said(tmp_path, "sweep", "t.csv", *grid, "swept").splitlines()
    for table in (tuned[:2], swept[1:3]):
        assert table[0].split()[:2] == ["setting", word] and "-" not in table[1]
    assert word in (tmp_path / "swept" / "t.svg").read_text()
    said(tmp_path, "fit", "t.csv", *words[:-1], "m", "--goal", goal, "--model", "flowoct", "--solver", "highs")
    (tmp_path / "t.csv").rename(tmp_path / "gone.csv")
    decoded = said(tmp_path, "decode", "m.sol", "-o", "again")
    assert decoded.count(f"mean {word} call") == 2 and f"mean {other}" not in decoded


def test_rows_of_a_policy_are_those_of_the_file_and_no_votes(tmp_path):
    """A row of the file votes for each action but its dearest: votes are no rows that go to the other side."""
    rows = [[i, i % 5, *((1, 0, 2) if i < 7 else (0, 1, 2))] for i in range(20)]
    write(tmp_path / "p.csv", ["x", "z", "a", "b", "c"], rows)
    words = ("--task", "policy", "--actions", "a,b,c", "--depth", "1")
    said(tmp_path, "fit", "p.csv", *words, "-o", "old")
    assert "x ≤ 6.5" in said(tmp_path, "show", "old.tree.json")
    done = command("refit", "old.tree.json", "p.csv", "--encoding", "thresholds:bins=2", "-o", "new", folder=tmp_path)
    assert "'x ≤ 6.5' is moved to 'x ≤ 9.5': 3 of 20 rows go to the other side" in done.err
    built = said(tmp_path, "build", "p.csv", *words, "--model", "dpflow", "-o", "b")
    assert re.search(r"for 20 rows \(\d+ votes after merging\)", built)
    said(tmp_path, "report", "old")
    assert re.search(
        r"20 rows, \d+ votes after merging equal ones", (tmp_path / "old.html").read_text(encoding="utf-8")
    )


def test_a_tree_of_means_and_one_of_medians_are_compared_by_one_figure(fitted_tasks):
    words = ["regression2.tree.json", "median2.tree.json", "--data", "r.csv", "--json"]
    for asked in (words, [words[1], words[0], *words[2:]]):
        found = json.loads(said(fitted_tasks, "compare", *asked))
        figure = FIGURES[asked[0].removesuffix("2.tree.json")]
        for tree, name in zip(found["trees"], asked):
            X = np.loadtxt(fitted_tasks / "r.csv", delimiter=",", skiprows=1, dtype=str)
            apart = np.array(said(fitted_tasks, "predict", name, "r.csv").split()[1:], float) - X[:, -1].astype(float)
            paid = np.mean(apart**2 if figure == "mean_squared_error" else np.abs(apart))
            assert tree["figure"] == figure and tree["train_figure"] == pytest.approx(paid)
            assert tree["test_figure"] == pytest.approx(paid)
    refused = command("compare", words[0], "policy2.tree.json", folder=fitted_tasks)
    assert refused.code == 2 and "trees of one task" in refused.err
