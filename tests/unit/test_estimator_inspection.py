"""Inspection of a fitted estimator, and its parameters on scikit-learn's scale."""

import warnings
from fractions import Fraction
from html import escape
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.tree import DecisionTreeClassifier

import odtc
from odtc.estimators.cost_complexity import Corner, envelope
from odtc.trees.monotone_order import falling_pairs


def rows(n=40, seed=0):
    draw = np.random.default_rng(seed)
    X = draw.integers(0, 5, (n, 3)).astype(float)
    return X, ((X[:, 0] > 2) ^ (X[:, 1] > 3) ^ (draw.random(n) < 0.15)).astype(int)


def fewest_wrong(X, y, weight, K=2):
    """{leaves: least weight wrong} of all trees of depth 2, by trying every test at every node."""
    tests = [X[:, j] <= cut for j in range(X.shape[1]) for cut in np.unique(X[:, j])[:-1]]

    def leaf(part):
        return weight[part].sum() - max(weight[part & (y == k)].sum() for k in range(K))

    def under(part):
        split = min((leaf(part & test) + leaf(part & ~test) for test in tests), default=np.inf)
        return {1: leaf(part), 2: min(split, leaf(part))}

    every = np.ones(len(y), bool)
    best = {1: leaf(every)}
    for test in tests:
        left, right = under(test), under(~test)
        for a, b in product((1, 2), (1, 2)):
            best[a + b] = min(best.get(a + b, np.inf), left[a] + right[b])
    return best


@pytest.mark.parametrize("weighted", [False, True])
def test_the_path_is_the_hull_of_the_fewest_errors_by_leaves(weighted):
    X, y = rows()
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float) if weighted else np.ones(len(y))
    best, whole = fewest_wrong(X, y, weight), weight.sum()
    path = odtc.OptimalTreeClassifier(2).cost_complexity_pruning_path(X, y, weight if weighted else None)
    grid = [*np.linspace(0, 0.5, 101), *path.ccp_alphas]
    for alpha in grid:  # at each alpha the tree of the path costs what the best of all trees does
        at = np.searchsorted(path.ccp_alphas, alpha, "right") - 1
        ours = path.impurities[at] + alpha * path.n_leaves[at]
        assert ours == pytest.approx(min(wrong / whole + alpha * k for k, wrong in best.items()), abs=1e-12)
    assert path.ccp_alphas[0] == 0 and (np.diff(path.ccp_alphas) > 0).all() and (np.diff(path.n_leaves) < 0).all()


def test_a_price_of_leaves_is_that_of_scikit_learn():
    X, y = rows(60, 2)
    best = fewest_wrong(X, y, np.ones(60))
    for alpha in (0.0, 0.02, 0.06, 0.3):
        tree = odtc.OptimalTreeClassifier(2, ccp_alpha=alpha).fit(X, y)
        paid = (tree.predict(X) != y).mean() + alpha * tree.get_n_leaves()
        assert paid == pytest.approx(min(wrong / 60 + alpha * k for k, wrong in best.items()))
        assert tree.is_optimal_
    pruned = DecisionTreeClassifier(max_depth=2, ccp_alpha=0.02).fit(X, y)
    assert (tree.get_n_leaves(), pruned.get_depth() <= 2) == (1, True)


def test_the_most_leaves_are_kept():
    X, y = rows(50, 3)
    best = fewest_wrong(X, y, np.ones(50))
    for most in (2, 3, 4):
        tree = odtc.OptimalTreeClassifier(2, max_leaf_nodes=most).fit(X, y)
        assert tree.get_n_leaves() <= most
        assert (tree.predict(X) != y).sum() == min(wrong for k, wrong in best.items() if k <= most)
    for wrong in ({"max_leaf_nodes": 1}, {"ccp_alpha": -1}, {"ccp_alpha": 0.1, "params": {"lambda_": 0.1}}):
        with pytest.raises(ValueError):
            odtc.OptimalTreeClassifier(2, **wrong).fit(X, y)


def test_the_envelope_of_lines_by_hand():
    lines = {8: 0.1, 5: 0.1, 3: 0.3, 2: 0.35, 1: 0.9}  # 3 lies on no edge: from 5 to 2 by 0.25 / 3 a leaf

    def solve(alpha):
        k = min(lines, key=lambda k: (lines[k] + alpha * k, -k))
        return Corner(k, lines[k])

    found = envelope(solve, 2.0)
    assert [(corner.leaves, round(alpha, 12)) for alpha, corner in found] == [
        (5, 0.0), (2, round(0.25 / 3, 12)), (1, 0.55),
    ]  # fmt: skip


def test_a_class_rises_with_its_column():
    X = np.array([[a, b] for a in range(4) for b in range(2)] * 2, float)
    y = np.array([0, 0, 1, 1, 0, 1, 1, 1] * 2)  # falls from a = 1 to a = 2 if b = 0
    free = odtc.OptimalTreeClassifier(2).fit(X, y)
    for cst, sign in (([1, 0], 1), ([-1, 0], -1)):
        tree = odtc.OptimalTreeClassifier(2, monotonic_cst=cst).fit(X, y)
        table = tree.predict(X[:8]).reshape(4, 2)
        assert (np.diff(table, axis=0) * sign >= 0).all() and tree.score(X, y) <= free.score(X, y)
    frame = pd.DataFrame(X, columns=["a", "b"])
    by_name = odtc.OptimalTreeClassifier(2, monotonic_cst={"a": -1}).fit(frame, y)
    assert (by_name.predict(frame) == tree.predict(X)).all()
    for wrong in ([1], [2, 0], {"c": 1}):
        with pytest.raises(ValueError, match="monotonic_cst"):
            odtc.OptimalTreeClassifier(2, monotonic_cst=wrong).fit(frame, y)
    with pytest.raises(ValueError, match="two classes"):
        odtc.OptimalTreeClassifier(2, monotonic_cst=[1, 0]).fit(X, np.arange(16) % 3)


def test_an_order_holds_for_all_inputs_though_no_two_rows_show_it():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(24, 3))
    y = (np.abs(X[:, 1]) + 0.4 * rng.normal(size=24) < 0.7).astype(int)  # it falls as x1 moves away from 0
    free = odtc.OptimalTreeClassifier(2).fit(X, y)
    inputs = rng.normal(size=(500, 3))
    for sign in (1, -1):
        tree = odtc.OptimalTreeClassifier(2, monotonic_cst=[0, sign, 0]).fit(X, y)
        assert tree.is_optimal_ and tree.score(X, y) < free.score(X, y)
        more = inputs + [0, 1, 0] * rng.exponential(size=(500, 1))
        assert (sign * (tree.predict(more) - tree.predict(inputs)) >= 0).all()


def test_an_order_that_no_two_rows_show_is_left_out_of_a_model_with_a_warning():
    X, y = np.random.default_rng(1).normal(size=(40, 3)), np.random.default_rng(2).random(40) < 0.5
    few = {"model": "flowoct", "encoding": "auto:bins=4"}
    with pytest.warns(UserWarning, match="monotonic_cst has no effect on 'x1'"):
        tree = odtc.OptimalTreeClassifier(1, monotonic_cst=[0, -1, 0], model="flowoct").fit(X, y)
    assert tree.score(X, y) == odtc.OptimalTreeClassifier(1, model="flowoct").fit(X, y).score(X, y)
    # Of bins rows are told apart by one column alone, so a model knows an order among them.
    y = (X[:, 1] > 0).astype(int)
    fallen = odtc.OptimalTreeClassifier(1, monotonic_cst=[0, -1, 0], **few).fit(X, y)
    assert fallen.score(X, y) < odtc.OptimalTreeClassifier(1, **few).fit(X, y).score(X, y)


def test_a_tree_of_a_model_that_breaks_the_order_elsewhere_is_said_to():
    """Of a solved model; the compiler's own search, and no model else, knows of all inputs."""
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 4, (14, 2)).astype(float), rng.integers(0, 2, 14)
    for model, kept in (("auto", True), ("flowoct", False)):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            tree = odtc.OptimalTreeClassifier(2, monotonic_cst=[1, 0], model=model).fit(X, y).tree_
        assert (falling_pairs(tree.root, tree.features, 0, 1) == 0) == kept
        assert kept == (not any("monotonic_cst holds for 'x0'" in str(one.message) for one in told))


def test_verify_computes_anew_and_notices_other_rows():
    X, y = rows()
    tree = odtc.OptimalTreeClassifier(2, ccp_alpha=0.01, constraints="leaf_rows >= 3").fit(X, y)
    checks = {check.name: check.passed for check in tree.verify(X, y)}
    assert all(checks.values()) and {"data", "objective", "bound", "constraint", "leaf counts"} <= set(checks)
    assert not all(check.passed for check in tree.verify(X, 1 - y))
    with pytest.raises(ValueError, match="fitted on"):
        tree.verify(X, y + 7)
    assert all(check.passed for check in odtc.OptimalTreeClassifier(0).fit(X, y).verify(X, y))
    weight = np.arange(len(y)) % 3
    weighed = odtc.OptimalTreeClassifier(2, class_weight="balanced").fit(X, y, weight)
    assert all(check.passed for check in weighed.verify(X, y, weight))


def test_a_row_is_explained_and_the_tree_is_a_page(tmp_path):
    X, y = rows()
    frame = pd.DataFrame(X, columns=["age", "size", "rate"])
    tree = odtc.OptimalTreeClassifier(2).fit(frame, y)
    path = tree.explain(frame[:3])[1]
    assert path.prediction == str(tree.predict(frame[:3])[1]) and path.steps[0].cells[0][0] in frame.columns
    assert tree.report(tmp_path / "tree.html", "risk <b>") is None  # a notebook would show the whole page
    page = (tmp_path / "tree.html").read_text()
    assert page == tree.report(name="risk <b>") and "risk &lt;b&gt;" in page and "age" in page


def test_classifiers_side_by_side():
    X, y = rows()
    tree, other = odtc.OptimalTreeClassifier(2).fit(X, y), DecisionTreeClassifier(max_depth=1).fit(X, y)
    table = tree.compare({"stump": other}, X, y)
    assert table.names == ["this", "stump"] and table.leaves == [tree.get_n_leaves(), 2]
    assert table.accuracy.tolist() == [tree.score(X, y), other.score(X, y)]
    assert table.agreement[0, 1] == (tree.predict(X) == other.predict(X)).mean() and table.agreement[0, 0] == 1
    assert tree.compare([other, other], X).names == ["this", "DecisionTreeClassifier 1", "DecisionTreeClassifier 2"]


def test_a_comparison_is_a_table():
    X, y = rows()
    tree = odtc.OptimalTreeClassifier(2).fit(X, y)
    table = tree.compare({"<b>": DecisionTreeClassifier(max_depth=1).fit(X, y)}, X, y)
    head, this, other = str(table).splitlines()
    assert head.split() == ["accuracy", "leaves", "agrees", "with", "this"] and other.split()[0] == "<b>"
    assert this.split() == ["this", f"{100 * tree.score(X, y):.2f}", "%", str(tree.get_n_leaves()), "100.00", "%"]
    assert "&lt;b&gt;" in table._repr_html_() and "accuracy" not in str(tree.compare([tree], X))
    numbers = odtc.OptimalTreeRegressor(1).fit(X, y.astype(float))
    assert "mean squared error" in str(numbers.compare([numbers], X, y))


@pytest.mark.parametrize("cls", [odtc.OptimalTreeClassifier, odtc.OptimalTreeRegressor])
def test_a_notebook_shows_the_tree_with_its_claim(cls):
    X, y = rows()
    tree = cls(2)
    bare = tree._repr_html_()
    assert "proved" not in bare and tree._repr_mimebundle_()["text/html"].count("<pre style") == 0
    tree.fit(pd.DataFrame(X, columns=["<i>", "size", "rate"]), y)
    for page in (tree._repr_html_(), tree._repr_mimebundle_()["text/html"]):
        assert cls.__name__ in page and f"<b>{tree.claim_}</b>: objective " in page and f"model {tree.model_}" in page
        assert escape(str(tree.tree_), quote=False) in page and "<i>" not in page.split("<b>proved")[1]
    with config_context(display="text"):
        assert not hasattr(tree, "_repr_html_") and list(tree._repr_mimebundle_()) == ["text/plain"]
    assert "proved optimal" in cls(0).fit(X, y)._repr_html_()


@pytest.mark.parametrize("seed", [0, 1, 2, 58, 66, 121, 138, 223])
def test_each_price_of_the_envelope_is_listed_once(seed):
    """Corners on one line: whichever of the best trees a solver hands in, the middle one is best at no interval."""
    rng = np.random.default_rng(seed)
    falls = np.sort(rng.integers(0, 4, 8)) + rng.integers(0, 2, 8) * (seed % 2)  # on a convex line, or near one
    lost = {8 - k: Fraction(int(falls[:k].sum()), 40) for k in range(8)}
    alphas = {Fraction(0)}
    for i, j in combinations(sorted(lost), 2):
        if lost[i] > lost[j]:
            alphas.add((lost[i] - lost[j]) / (j - i))
    ordered, expected = sorted(alphas), []
    for at, later in zip(ordered, [*ordered[1:], ordered[-1] + 1]):
        inside = (at + later) / 2  # one corner is the best between two candidates
        best = min(lost, key=lambda k: lost[k] + inside * k)
        if not expected or expected[-1][1] != best:
            expected.append((at, best))

    def solve(alpha: float) -> Corner:
        worth = {k: float(wrong) + alpha * k for k, wrong in lost.items()}
        ties = [k for k in worth if worth[k] <= min(worth.values()) + 1e-12]
        k = int(rng.choice(ties))
        return Corner(k, float(lost[k]))

    found = envelope(solve, 2.0)
    assert [corner.leaves for _, corner in found] == [k for _, k in expected]
    assert [alpha for alpha, _ in found] == pytest.approx([float(alpha) for alpha, _ in expected])
