"""Linear leaves: the search is compared with all trees in rational numbers, and predictions with the lines by hand."""

import json
from copy import deepcopy
from fractions import Fraction

import numpy as np
import pytest

import odtc
from odtc.algorithms.moments import lines
from odtc.algorithms.moments.lines import ExactLines
from odtc.data.dataset import Dataset, Feature
from odtc.data.reading import read
from odtc.data.tasks import linear
from odtc.errors import CertificateError, DataError, TimeLimitReached, TreeError
from odtc.trees.tree import Tree
from odtc.verification.certificate import check
from odtc.verification.leaf_sums.lines import Lines, scales_of
from odtc.workflow.posing import pose_run
from odtc.workflow.specification import ModelSpec, RunSpec
from tests.command_line import odtc as run

LINEAR = ["--task", "regression", "--leaf", "linear"]


def line_cost(x, y, w, ridge) -> Fraction:
    """The least Σ w (y - a - b x)² + ridge b² over a and b, by the normal equations."""
    total = sum(w)
    mx, my = (sum(a * b for a, b in zip(w, one)) / total for one in (x, y))
    xx, xy, yy = (
        sum(a * (b - mb) * (c - mc) for a, b, c in zip(w, one, two))
        for one, two, mb, mc in ((x, x, mx, mx), (x, y, mx, my), (y, y, my, my))
    )
    slope = xy / (xx + ridge) if xx else Fraction(0)
    return yy - 2 * slope * xy + slope * slope * (xx + ridge)


def leaf_cost(X, y, w, rows, ridge) -> Fraction:
    return min(line_cost([X[i][j] for i in rows], [y[i] for i in rows], [w[i] for i in rows], ridge) for j in (0, 1))


def best(X, y, w, rows, depth, least, price, ridge, known) -> Fraction:
    """The least cost of a tree by trying all; `known` keeps the costs of leaves by their rows."""
    if tuple(rows) not in known:
        known[tuple(rows)] = leaf_cost(X, y, w, rows, ridge)
    found = known[tuple(rows)]
    for j in (0, 1) if depth else ():
        for cut in sorted({X[i][j] for i in rows})[:-1]:
            sides = [i for i in rows if X[i][j] <= cut], [i for i in rows if X[i][j] > cut]
            if min(map(len, sides)) >= least:
                below = (best(X, y, w, side, depth - 1, least, price, ridge, known) for side in sides)
                found = min(found, price + sum(below))
    return found


@pytest.mark.parametrize("seed", range(36))
def test_no_tree_costs_less(seed):
    rng = np.random.default_rng(seed)
    n, depth, least, ridge = int(rng.integers(6, 12)), 1 + seed % 2, 1 + seed % 3, [0.0, 0.5, 2.25][seed // 6 % 3]
    X = np.round(rng.normal(size=(n, 2)), [17, 1][seed % 2]) if seed % 4 else rng.integers(0, 4, (n, 2)).astype(float)
    y, w = np.round(rng.normal(size=n), 2), rng.integers(1, 4, n) / 2
    lam = 0.25 if seed % 5 == 0 else 0.0
    done = odtc.fit(
        X=X,
        y=y,
        weights=w,
        depth=depth,
        task="regression",
        leaf="linear",
        ridge=ridge,
        constraints=f"leaf_rows >= {least}",
        params={"lambda": lam},
    )
    exact = (
        [[Fraction(repr(x)) for x in row] for row in X.tolist()],
        *([Fraction(repr(one)) for one in part.tolist()] for part in (y, w)),
    )
    price, ridge = Fraction(lam) / (1 - Fraction(lam)), Fraction(repr(ridge))
    found = best(*exact, range(n), depth, least, price, ridge, {})
    assert done.proved and done.certified
    assert done.proof.objective / (1 - lam) == pytest.approx(float(found), rel=1e-12, abs=1e-12)


def test_costs_keep_their_digits_far_from_zero():
    x = [1e7 + 0.001, 1e7 + 0.002, 1e7 + 0.003, 1e7 + 0.004]
    y = [5e6 + 1, 5e6 + 3, 5e6 + 2, 5e6 + 4]
    found = ExactLines(np.array(y), np.array([x]).T, Fraction(1, 8), np.ones(4), np.arange(4))
    exact = ([Fraction(repr(one)) for one in part] for part in (x, y))
    assert found.leaf(np.arange(4)) * found.unit == line_cost(*exact, [Fraction(1)] * 4, Fraction(1, 8))


@pytest.fixture
def rents(tmp_path):
    """Rents that are linear in the area in A, and in the rooms elsewhere."""
    rows = [("A", a, a % 3, 2 * a + 5) for a in range(20, 40)]
    rows += [("B", 70 - a, a % 4, 100 - 7 * (a % 4)) for a in range(20, 40)]
    lines = ["city,area,rooms,rent", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "rents.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_lines_are_found_shown_and_predicted(rents):
    done = run("fit", "rents.csv", *LINEAR, "--depth", 1, "-o", "r", folder=rents)
    assert done.code == 0 and "proved optimal, certified: objective 0," in done.out
    assert "5 + 2 area" in done.out and "100 - 7 rooms" in done.out
    (rents / "new.csv").write_text("city,area,rooms\nA,100,1\nB,1,1000\nA,,2\n")
    refused = run("predict", "r.tree.json", "new.csv", folder=rents)
    assert refused.code == 1 and "row 3 has no value for 'area', which this tree weighs" in refused.err
    blank = run("predict", "r.tree.json", "new.csv", "--on-missing", "blank", folder=rents)
    assert blank.out.split() == ["prediction", "205.0", "-6900.0", '""']
    majority = run("predict", "r.tree.json", "new.csv", "--on-missing", "majority", folder=rents)
    assert majority.out.split()[3] == "64.0"  # the mean of the rows of the leaf
    assert run("verify", "r.tree.json", folder=rents).code == 0


def test_a_tree_with_lines_is_read_back_equal(rents):
    run("fit", "rents.csv", *LINEAR, "--depth", 1, "-o", "r", folder=rents)
    facts = json.loads((rents / "r.tree.json").read_text())
    tree = Tree.from_json(facts)
    assert tree.to_json() == facts and sorted(leaf.line.slope for leaf in tree.leaves()) == [-7.0, 2.0]
    facts["root"]["left"]["line"]["feature"] = "city"
    with pytest.raises(TreeError, match="expected a line in a numeric feature of the tree, got 'city'"):
        Tree.from_json(facts)


def test_costs_in_doubles_are_within_their_bound_of_the_exact_ones():
    rng = np.random.default_rng(5)
    for number in range(60):
        n = int(rng.integers(2, 40))
        X = [rng.normal(size=(n, 2)), rng.normal(size=(n, 2)) * 1e-3 + 1e6, np.round(rng.normal(size=(n, 2)), 3)][
            number % 3
        ]
        y, w = rng.normal(size=n), [np.ones(n), rng.random(n)][number % 2]
        costs = ExactLines(y, X, Fraction(number % 2, 3), w, np.arange(n))
        table = costs.for_search()
        rows = np.sort(rng.choice(n, int(rng.integers(1, n + 1)), replace=False))
        exact = float(costs.leaf(rows) * costs.unit / table.unit)
        assert abs(lines.leaf_cost(table.sums, table.ridges, rows) - exact) <= table.off < 1e-6 * table.sums[:, 2].sum()


@pytest.mark.parametrize("seed", range(30))
def test_the_bounds_of_the_checker_are_below_the_exact_costs_and_near_them(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    X = rng.normal(size=(n, 3)) * [1, 1e-3, 1e4][seed % 3] + [0, 1e6, 1e12][seed // 3 % 3]
    X[:, 2] = rng.integers(0, 3, n)
    y, w = rng.normal(size=n), [np.ones(n), rng.random(n) + 0.01][seed % 2]
    if seed % 5 < 2:  # whose sums have one part
        X, y, w = np.round(X, 2), np.round(y, 1), np.ceil(w)
    data = of_numbers(X, y, w, [0.0, 0.3][seed % 2])
    costs = Lines(scales_of(data), data)
    for size in range(1, n + 1):
        rows = np.sort(rng.choice(n, size, replace=False))
        exact, found = costs.low(costs.moments[:, rows].sum(axis=1)), costs.leaf(rows)
        by_definition = min(
            line_cost(*([Fraction(repr(float(one))) for one in part[rows]] for part in (X[:, j], y, w)), ridge_of(data))
            for j in range(3)
        )
        assert exact == by_definition * costs.unit and float(exact) - costs.near <= found <= exact


def of_numbers(X, y, w, ridge: float):
    """A data set of linear leaves."""
    features = tuple(Feature(f"x{j}", "numeric", ()) for j in range(X.shape[1]))
    rows = Dataset("X", X, np.zeros(len(X), np.int32), features, (), w, "y", task="linear", source={"ridge": ridge})
    return linear.measured(rows, y, "y")


def ridge_of(data) -> Fraction:
    return Fraction(repr(data.source["ridge"]))


@pytest.fixture
def certified(tmp_path):
    """(the certificate of a tree with linear leaves, its data)."""
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(30, 2)), 1)
    y = np.round(np.where(X[:, 0] > 0, 3 * X[:, 1], X[:, 0]) + rng.normal(size=30), 2)
    np.savetxt(tmp_path / "r.csv", np.column_stack([X, y]), "%g", ",", header="a,b,y", comments="")
    data = read(tmp_path / "r.csv", task="linear", ridge=0.25)
    problem = pose_run(RunSpec(model=ModelSpec("dpflow", 2)), data)
    return json.loads(json.dumps(problem.module.certificate(problem))), data


def leaf_of(facts: dict) -> dict:
    """The leftmost leaf of the tree of a certificate."""
    node = facts["tree"]["root"]
    while "split" in node:
        node = node["left"]
    return node


def test_a_certificate_with_other_facts_is_refused(certified):
    facts, data = certified
    assert check(facts, data).optimal

    def refused(said: str, edit) -> None:
        other = deepcopy(facts)
        edit(other)
        with pytest.raises(CertificateError, match=said):
            check(other, data)

    refused("predicts another line than the best", lambda one: leaf_of(one)["line"].update(intercept=100.0))
    refused("predicts another line than the best", lambda one: leaf_of(one).pop("line"))
    refused("a line in no numeric column", lambda one: leaf_of(one)["line"].update(feature="y"))
    refused("the certificate claims", lambda one: one.update(claim="1/7"))
    refused("the columns of the lines of the certificate", lambda one: one["lines"].pop())
    refused("not whole numbers at the scales", lambda one: one["lines"][0].update(scale=1))
    refused("too many digits", lambda one: one["lines"][0].update(scale=-10))
    refused("the options of its task", lambda one: one["of"].update(requested={"ridge": 0.5}))
    refused("limits on all splits of a tree", lambda one: one.update(splits=2))
    refused("it was read for linear|for linear", lambda one: one.update(kind="regression"))


def test_a_certificate_with_fewer_tried_cuts_proves_less(certified):
    facts, data = certified
    for at in range(len(facts["tried"])):
        fewer = facts | {"tried": facts["tried"][:at] + facts["tried"][at + 1 :]}
        proof = check(fewer, data)
        assert proof.bound <= proof.objective == check(facts, data).objective
    assert not check(facts | {"tried": facts["tried"][:1]}, data).optimal
    assert check(facts | {"tried": []}, data).optimal  # the checker tries all cuts of two levels itself


def test_a_bound_in_doubles_and_a_price_in_ninths_are_added_exactly():
    """As doubles they were less than the cost of the tree by the rounding of one sum."""
    a = [1, -20, 3, -12, -15, 5, 11, 8, 14, 15, 12, 11, 15, 14, -22]
    b = [2, -19, 5, -3, 11, -16, 2, -1, 10, 1, 10, 15, -6, -10, -10]
    X, y = 1e4 * np.column_stack([a, b]) + 1e9, 1e7 + np.array([4, 2, 3, 3, 7, 1, 4, 6, 3, 5, 2, 1, 8, 1, 7])
    done = odtc.fit(X=X, y=y, depth=3, task="regression", leaf="linear", params={"lambda": "0.1"})
    assert done.proved and done.certified


def test_a_steep_line_far_from_zero_is_certified_within_the_digits_of_its_intercept():
    x = 1e6 + np.array([2, 3, 5, 7, 11, 13, 17, 19]) * 1e-7
    y = np.array([1.5, 4.25, 2.0, 6.5, 5.0, 9.75, 8.0, 12.5])
    done = odtc.fit(X=x[:, None], y=y, depth=1, task="regression", leaf="linear", constraints="leaf_rows >= 3")
    assert max(abs(leaf.line.intercept) for leaf in done.tree.leaves()) > 1e12
    assert done.proved and done.certified


def test_a_tree_that_is_not_the_best_is_not_certified(certified):
    facts, data = certified
    problem = pose_run(RunSpec(model=ModelSpec("dpflow", 1)), data)
    shallow = problem.module.certificate(problem)
    proof = check(facts | {key: shallow[key] for key in ("tree", "claim")}, data)
    assert not proof.optimal and proof.bound == pytest.approx(check(facts, data).objective)


def test_few_splits_are_proved_by_the_search_only(rents):
    done = run("fit", "rents.csv", *LINEAR, "--depth", 2, "--constraint", "splits <= 1", "-o", "r", folder=rents)
    assert done.code == 0 and "not splits <= 1: the search is the only proof" in done.out


def test_a_tree_with_lines_is_that_of_streed_over_the_same_splits():
    streed = pytest.importorskip("pystreed", reason="pystreed is not installed")
    from sklearn.datasets import load_diabetes, load_wine

    for X, y in (
        (load_diabetes(scaled=False).data, load_diabetes().target),
        (load_wine().data[:, 1:], load_wine().data[:, 0]),
    ):
        for depth in (1, 2):
            given = {
                "encoding": "auto:bins=4",
                "constraints": "leaf_rows >= 20",
                "task": "regression",
                "leaf": "linear",
            }
            done = odtc.fit(X=X, y=y, depth=depth, **given)
            binary = done.problem.encoded.X[done.problem.encoded.row_of].astype(int)
            peer = streed.STreeDPiecewiseLinearRegressor(True, depth, min_leaf_node_size=20, cost_complexity=0.0)
            predicted = peer.fit(binary, y, continuous_columns=X).predict(binary, X)
            assert done.certified and done.proof.objective == pytest.approx(((y - predicted) ** 2).sum(), rel=1e-9)


@pytest.mark.parametrize(
    ("form", "ridge", "least"),
    [({}, 0.0, 1), ({"fold": "false"}, 0.5, 1), ({"lambda": "0.3"}, 2.0, 1), ({"proof": "true"}, 0.0, 1), ({}, 0.5, 3)],
)
def test_the_linear_program_of_lines_has_the_same_optimum(form, ridge, least):
    rng = np.random.default_rng(4)
    given = {"X": np.round(rng.normal(size=(14, 2)), 1), "y": np.round(rng.normal(size=14), 2), "depth": 2}
    given |= {"task": "regression", "leaf": "linear", "ridge": ridge, "constraints": f"leaf_rows >= {least}"}
    searched = odtc.fit(model="dpflow", params={key: form[key] for key in form if key == "lambda"}, **given)
    solved = odtc.fit(model="dpflow", params=form, solver="highs", **given)
    assert solved.verified and solved.proof.objective == pytest.approx(searched.proof.objective, rel=1e-9)
    assert solved.model is not None and not solved.model.integrality.any()


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_a_pool_has_the_trees_of_least_cost(tmp_path, ridge):
    rng = np.random.default_rng(0)
    X, y = np.round(rng.normal(size=(8, 2)), 1), np.round(rng.normal(size=8), 1)
    np.savetxt(tmp_path / "r.csv", np.column_stack([X, y]), "%g", ",", header="a,b,y", comments="")
    run("fit", "r.csv", *LINEAR, "--ridge", ridge, "--depth", 1, "--pool", 6, "-o", "r", folder=tmp_path)
    exact = [[Fraction(repr(x)) for x in row] for row in X.tolist()], [Fraction(repr(one)) for one in y.tolist()]
    parts = {frozenset([part, frozenset(range(8)) - part]) for part in lower_sides(X)}
    costs = [sum(leaf_cost(*exact, [1] * 8, sorted(part), Fraction(repr(ridge))) for part in both) for both in parts]
    found = [one["objective"] for one in json.loads((tmp_path / "r.pool.json").read_text())["trees"]]
    assert found == pytest.approx([float(cost) for cost in sorted(costs)[:6]], rel=1e-9)


def lower_sides(X) -> list[frozenset]:
    """The rows on the lower side of each threshold."""
    return [frozenset(np.flatnonzero(column <= cut).tolist()) for column in X.T for cut in np.unique(column)[:-1]]


def test_cells_that_are_nearly_equal_are_proved_by_the_certificate_only(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (40, 1)) + rng.normal(size=(40, 1)) * 1e-13
    y = X[:, 0] * (X[:, 0] > 1) + rng.normal(size=40)
    np.savetxt(tmp_path / "long.csv", np.column_stack([X, y]), "%.17g", ",", header="a,y", comments="")
    done = run("fit", "long.csv", *LINEAR, "--depth", 1, "-o", "long", folder=tmp_path)
    assert done.code == 0 and "proved optimal, certified:" in done.out
    few = "--depth", 2, "--constraint", "splits <= 1"
    done = run("fit", "long.csv", *LINEAR, *few, "-o", "long", folder=tmp_path)
    assert done.code == 0 and "proved" not in done.out.partition("objective")[0]
    assert "round the numbers to fewer digits for a proof" in done.out + done.err
    assert run("verify", "long.tree.json", folder=tmp_path).code == 0


def test_lines_over_large_numbers_are_proved_once_a_constant_is_subtracted(tmp_path):
    """As the message proposes: 1e12 + 0.001 k has no digit left for a line."""
    cells, parts = [0, 0, 4, 1, 1, 2], [4, 2, 3, 1, 1, 0]
    for name, base in (("large.csv", "1000000000000.00"), ("small.csv", "0.00")):
        rows = [f"{x},{base}{part}" for x, part in zip(cells, parts)]
        (tmp_path / name).write_text("\n".join(["x,y", *rows]) + "\n")
    words = (*LINEAR, "--depth", 1)
    done = run("fit", "large.csv", *words, folder=tmp_path)
    assert done.code == 1 and "subtract a constant from the target" in done.err
    assert "proved optimal" in run("fit", "small.csv", *words, folder=tmp_path).out


def test_a_line_that_doubles_cannot_express_is_not_proved(tmp_path):
    """Two neighbouring doubles: by the slope and the intercept that are written, the tree loses more than its line."""
    cells, numbers = [0.3, 0.30000000000000004] * 4, [1, 9, 1, 9, 1, 9, 2, 10]
    lines_of_file = [f"{x!r},{y}" for x, y in zip(cells, numbers)]
    (tmp_path / "near.csv").write_text("\n".join(["x,y", *lines_of_file]) + "\n")
    done = run("fit", "near.csv", *LINEAR, "--depth", 0, folder=tmp_path)
    assert done.code == 1 and "proved" not in done.out
    assert "round them to fewer digits" in done.err
    rounded = [f"{round(10 * (x - 0.3), 15)!r},{y}" for x, y in zip(cells, numbers)]
    (tmp_path / "apart.csv").write_text("\n".join(["x,y", *rounded]) + "\n")
    facts = run("fit", "apart.csv", *LINEAR, "--depth", 0, "--json", folder=tmp_path).facts
    assert facts["claim"].startswith("proved optimal") and facts["objective"] == pytest.approx(1.5)


def test_a_time_limit_is_not_said_to_be_rounding(rents, monkeypatch):
    from odtc.formulations.dpflow import search_by_sums

    def late(engine, depth):
        raise TimeLimitReached("the limit")

    monkeypatch.setattr(search_by_sums, "_best_exactly", late)
    done = run("fit", "rents.csv", *LINEAR, "--depth", 2, "--ridge", 1, "-o", "r", folder=rents)
    assert done.code == 0 and "best found" in done.out and "cost the same" not in done.out + done.err


def test_the_report_draws_the_lines(rents):
    run("fit", "rents.csv", *LINEAR, "--depth", 1, "-o", "r", folder=rents)
    assert run("report", "r.tree.json", "-o", "r.html", folder=rents).code == 0
    page = (rents / "r.html").read_text(encoding="utf-8")
    assert "Lines of the leaves" in page and page.count('class="curve"') == 2 and page.count("<circle") == 40


def test_rows_are_explained_by_their_line(rents):
    run("fit", "rents.csv", *LINEAR, "--depth", 1, "-o", "r", folder=rents)
    (rents / "new.csv").write_text("city,area,rooms\nA,100,1\n")
    said = run("explain", "r.tree.json", "new.csv", folder=rents).out
    assert "so rent 205: 20 training rows" in said and "line 5 + 2 area" in said


def test_the_estimator():
    rng = np.random.default_rng(1)
    X, w = rng.integers(0, 30, (40, 2)).astype(float), rng.integers(1, 3, 40).astype(float)
    y = np.where(X[:, 0] > 14, 3 * X[:, 1], 50 - X[:, 0])
    fitted = odtc.OptimalTreeRegressor(1, leaf="linear", ridge=0.5).fit(X, y, sample_weight=w)
    slopes = np.array([leaf.line.slope for leaf in fitted.tree_.leaves()])
    squared = (w * (fitted.predict(X) - y) ** 2).sum()
    assert fitted.is_optimal_ and fitted.objective_ == pytest.approx(squared + 0.5 * (slopes**2).sum())
    assert all(check.passed for check in fitted.verify(X, y, sample_weight=w))
    assert fitted.predict([[np.nan, np.nan]])[0] in fitted.leaf_values_  # the mean of the rows of a leaf
    alone = odtc.OptimalTreeRegressor(0, leaf="linear").fit(X, 2 * X[:, 0] + 1)
    assert alone.objective_ == 0 and alone.predict([[100.0, 0.0]]) == [201.0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ridge": 1}, 'ridge needs leaf="linear"'),
        ({"leaf": "line"}, "expected leaf as constant or linear, got 'line'"),
        ({"leaf": "linear", "criterion": "absolute_error"}, 'leaf="linear" needs criterion="squared_error"'),
        ({"leaf": "linear", "monotonic_cst": [1, 0]}, 'leaf="linear" knows no monotonic_cst'),
    ],
)
def test_the_estimator_refuses_what_does_not_go_together(given, said):
    with pytest.raises(ValueError, match=said):
        odtc.OptimalTreeRegressor(1, **given).fit([[0, 1], [1, 0], [2, 2]], [1, 2, 3])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--leaf", "linear"], "--leaf linear needs --task regression, got it with --task classification"),
        (["--task", "regression", "--ridge", 1], "--ridge needs --task regression --leaf linear"),
        ([*LINEAR, "--ridge", -1], "--ridge: expected a number, 0 or more, got -1.0"),
        ([*LINEAR, "--model", "flowoct"], "--task linear has leaves whose cost is not a sum over rows"),
    ],
)
def test_bad_options_are_refused_in_a_sentence(rents, words, said):
    done = run("fit", "rents.csv", *words, folder=rents)
    assert done.code == 2 and said in done.err


def test_exporters_of_numbers_refuse_lines(rents):
    run("fit", "rents.csv", *LINEAR, "--depth", 1, "-o", "r", folder=rents)
    for name in ("excel", "sklearn"):
        done = run("export", "r.tree.json", "--to", name, folder=rents)
        assert done.code == 2 and "the leaves of this tree predict lines; use --to python, sql, c" in done.err


def test_a_refit_inherits_lines_and_measures_the_old_ones(rents):
    run("fit", "rents.csv", *LINEAR, "--ridge", 0.5, "--depth", 1, "-o", "r", folder=rents)
    done = run("refit", "r.tree.json", "rents.csv", "-o", "new", "--json", folder=rents)
    assert done.code == 0 and "--task linear --ridge 0.5" in done.err
    figures = done.facts["drift"]["figures"]
    assert len(set(figures.values())) == 1 and max(figures.values()) < 1  # the old tree then and now, and the new one


def test_c_of_one_leaf_with_a_line_compiles_without_warnings(rents):
    """Its function `leaf` needs no row, because there is no branch node."""
    run("fit", "rents.csv", *LINEAR, "--depth", 0, "-o", "r", folder=rents)
    assert run("export", "r.tree.json", "--to", "c", "-o", "r.c", folder=rents).code == 0
    code = (rents / "r.c").read_text(encoding="utf-8")
    assert code.index("(void)row;") < code.index("return 0;") and "case 0: return isnan(row->x0)" in code


@pytest.mark.parametrize("cells", [(1e308, 1.0, 2.0, 3.0), (5e-324, 0.0, 1.0, 2.0), (1e200, 1e-200, 3.0, 4.0)])
def test_columns_whose_lines_no_double_holds_are_refused_by_name(cells):
    with pytest.raises(DataError, match="expected numbers below 1e.150, more than 1e-150 apart, in column 'x0'"):
        odtc.fit(X=[[x] for x in cells * 2], y=[1.0, 4, 2, 8, 5, 7, 0, 3], task="regression", leaf="linear")


@pytest.mark.parametrize("cells", [(1e149, 1e-149, 0.0, 3.0), (1e149, 0.0, -1e149, 1.0), (1e-149, 2e-149, 0.0, 5e-150)])
@pytest.mark.parametrize("how", [{}, {"ridge": 1e12}, {"params": {"lambda": 0.3}}])
def test_columns_of_all_other_sizes_have_lines(cells, how):
    y = np.array([1.0, 4, 2, 8, 5, 7, 0, 3])
    for unit in (1e140, 1.0, 1e-160):
        done = odtc.fit(X=[[x] for x in cells * 2], y=y * unit, depth=1, task="regression", leaf="linear", **how)
        assert done.verified
        assert done.proved or max(cells) > 1  # others differ too little, compared with their range


@pytest.mark.parametrize("task", [{"task": "regression"}, {"task": "regression", "leaf": "linear"}, {"task": "median"}])
def test_a_penalty_far_above_all_costs_leaves_one_leaf(task):
    """In units of such costs it is no double."""
    y = np.array([1.0, 4, 2, 8, 5, 7, 0, 3]) * (1e-300 if task["task"] == "median" else 1e-160)
    done = odtc.fit(X=np.arange(8.0)[:, None], y=y, params={"lambda": 0.3}, **task)
    assert done.proved and done.verified and done.tree.n_leaves == 1
