"""Weights, costs and targets far from 1: the trees are those of trying every cut, counted in fractions."""

from fractions import Fraction
from math import log

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import odtc
from odtc.data.reading import read_arrays
from odtc.data.tasks import policy
from odtc.workflow.results.fit import Fit

X = [0.0, 1, 1, 2, 3, 3, 4, 5]


def least(leaf, price=Fraction(0)) -> float:
    """The least that a leaf alone, or a cut of X with a leaf on each side, costs; `leaf` takes places of rows."""
    rows = range(len(X))
    cuts = [([i for i in rows if X[i] <= cut], [i for i in rows if X[i] > cut]) for cut in sorted(set(X))[:-1]]
    return float(min(leaf(list(rows)), *(leaf(low) + leaf(high) + price for low, high in cuts)))


def fit(columns: dict, lam: float = 0.0, **how) -> Fit:
    params = {"params": {"lambda": lam}} if lam else {}
    done = odtc.fit(pl.DataFrame({"x": X} | columns), depth=1, **how, **params)
    assert done.proved and done.verified
    return done


@pytest.mark.parametrize("lam", [0.0, 0.5])
@pytest.mark.parametrize("scale", [1e-100, 1e-12, 1e12])
def test_costs_of_actions(scale, lam):
    """The numbers of a certificate of costs of 1e-100 are not those that it is counted in: it was refused, and with it
    the proof of the search."""
    go, stay = (np.array(costs) * scale for costs in ([0, 3, 1, 0, 2, 5, 1, 4], [2, 0, 1, 3, 1, 0, 0, 1]))
    above = [
        (Fraction(a) - min(Fraction(a), Fraction(b)), Fraction(b) - min(Fraction(a), Fraction(b)))
        for a, b in zip(go, stay)
    ]
    share = 1 - Fraction(lam)
    want = least(lambda rows: share * min(sum(above[i][k] for i in rows) for k in (0, 1)), Fraction(lam))
    done = fit({"go": go, "stay": stay}, lam, task="policy", actions=("go", "stay"))
    assert done.proof.objective == pytest.approx(want, rel=1e-9, abs=0)


def test_costs_of_actions_beside_what_each_of_them_costs():
    """Votes had 14 digits of the costs, so that quarters beside 10^12 became tenths: 17.8 in place of 17.75."""
    go, stay = np.array([0, 3.25, 1, 0, 2.5, 5, 1, 4]), np.array([2.25, 0, 1, 3.5, 1, 0, 0.75, 1])
    want = least(
        lambda rows: min(sum(Fraction(c[i]) - Fraction(min(go[i], stay[i])) for i in rows) for c in (go, stay))
    )
    done = fit({"go": go + 1e12, "stay": stay + 1e12}, task="policy", actions=("go", "stay"))
    assert done.proof.objective == want


PAIRS = st.tuples(st.decimals(0, 10**9, places=4), st.decimals("0.01", "99.99", places=2), st.booleans())


@given(st.lists(PAIRS, min_size=2, max_size=20))
def test_a_vote_is_the_difference_of_two_decimals(pairs):
    """What doubles leave behind the last place of 0.3 - 0.1 is no vote."""
    costs = np.array([(less, less + more)[:: 1 - 2 * turned] for less, more, turned in pairs], float)
    rows = read_arrays(np.arange(len(costs), dtype=float)[:, None], np.arange(len(costs)) % 2)
    told = policy.cast(rows, ("go", "stay"), costs, "the costs")
    assert sorted(told.weight[told.weight > 0]) == sorted(float(more) for _, more, _ in pairs)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30])
def test_targets_of_regression(scale):
    """Of squares that no double holds the certificate asked for the logarithm of infinity."""
    y = np.array([1, 1, 2, 1, 7, 6, 7, 9]) * scale
    exact = list(map(Fraction, y))

    def squares(rows):
        mean = sum(exact[i] for i in rows) / len(rows)
        return sum((exact[i] - mean) ** 2 for i in rows)

    done = fit({"y": y}, target="y", task="regression")
    assert done.proof.objective == pytest.approx(least(squares), rel=1e-9, abs=0)


@pytest.mark.parametrize("scale", [1e-100, 1e-10, 1.0, 1e9])
def test_weights_of_events(scale):
    """Events that weigh less than 1e-6 in all were refused."""
    time, event = [1, 2, 2, 3, 5, 4, 6, 6], [1, 1, 0, 1, 0, 1, 1, 0]
    weight = np.array([1, 2, 1, 1, 3, 1, 1, 2]) * scale
    w = list(map(Fraction, weight))
    hazard = [Fraction(0)] * len(X)
    for at in sorted({t for t, one in zip(time, event) if one}):
        died = sum(w[i] for i in range(8) if time[i] == at and event[i])
        step = died / sum(w[i] for i in range(8) if time[i] >= at)
        hazard = [h + step * (t >= at) for h, t in zip(hazard, time)]

    def likelihood(rows):
        events, seen = sum(w[i] * event[i] for i in rows), sum(w[i] * hazard[i] for i in rows)
        return events * (1 - Fraction(log(events / seen))) if events else Fraction(0)

    done = fit({"t": time, "e": event, "w": weight}, task="survival", time="t", event="e", weights="w")
    assert done.proof.objective == pytest.approx(least(likelihood), rel=1e-9, abs=0)


@pytest.mark.parametrize("alpha", [0.0, 0.02, 2.0, 1e25])
@pytest.mark.parametrize("scale", [2.0**-100, 2.0**30])
def test_weights_of_a_survival_tree_with_a_price_of_leaves(scale, alpha):
    """As (1-λ) of the price of a branch node of rows that weigh 1e9 has lost its digits, the tree was not proved; a
    greater price was no λ below 1."""
    rng = np.random.default_rng(0)
    x, weight = rng.integers(0, 6, (52, 2)).astype(float), rng.integers(1, 4, 52).astype(float)
    y = np.array(list(zip(rng.random(52) < 0.6, rng.exponential(size=52))), dtype=[("e", bool), ("t", float)])
    tree = odtc.OptimalSurvivalTree(2, ccp_alpha=alpha).fit(x, y, sample_weight=scale * weight)
    plain = odtc.OptimalSurvivalTree(2, ccp_alpha=alpha).fit(x, y, sample_weight=weight)
    assert tree.is_optimal_ and plain.is_optimal_
    assert all(check.passed for check in tree.verify(x, y, sample_weight=scale * weight))
    nodes, price = len(tree.leaf_rows_) - 1, alpha * weight.sum()
    assert nodes == len(plain.leaf_rows_) - 1 and (nodes == 0) == (alpha > 1)
    paid = [leaf.sums[3] for leaf in tree.tree_.leaves()]
    assert paid == pytest.approx([scale * leaf.sums[3] for leaf in plain.tree_.leaves()], rel=1e-12)
    loss = sum(d - d * log(d / h) for _, _, h, d, _ in (leaf.sums for leaf in tree.tree_.leaves()) if d)
    own = scale * price
    assert tree.objective_ == pytest.approx((loss + own * nodes) / (1 + own), rel=1e-9, abs=0)


def test_weights_of_classes_with_a_price_of_leaves():
    """λ = α W / (1 + α W) of rows that weigh 1e30 is 1 in doubles."""
    rng = np.random.default_rng(1)
    x, scale = rng.integers(0, 6, (40, 2)).astype(float), 2.0**100
    y = (x[:, 0] > 2).astype(int) ^ (rng.random(40) < 0.1)
    tree = odtc.OptimalTreeClassifier(2, ccp_alpha=0.05).fit(x, y, sample_weight=np.full(40, scale))
    wrong, nodes = (tree.predict(x) != y).sum(), tree.get_n_leaves() - 1
    plain = odtc.OptimalTreeClassifier(2, ccp_alpha=0.05).fit(x, y)
    assert (wrong, nodes) == ((plain.predict(x) != y).sum(), plain.get_n_leaves() - 1) and nodes > 0
    assert tree.is_optimal_ and all(check.passed for check in tree.verify(x, y, sample_weight=np.full(40, scale)))
    assert tree.objective_ == pytest.approx((wrong + 2 * nodes) / 2, rel=1e-9)
    with pytest.raises(ValueError, match="max_depth=0 for a single leaf"):
        odtc.OptimalTreeClassifier(2, ccp_alpha=1e20).fit(x, y)


def policy_fit(tmp_path, text, depth=1, **how):
    (tmp_path / "p.csv").write_text(text)
    names = tuple(text.partition("\n")[0].split(",")[-3:])
    return odtc.fit(tmp_path / "p.csv", depth=depth, task="policy", actions=names, **how)


def test_a_policy_keeps_small_differences_next_to_weights_of_1e15(tmp_path):
    """By hand: action c costs 1e9 in the heavy rows and b 1e12, so no tree may take b there; votes of heavy rows were
    rounded away next to their costs, and a tree of 1e27 was proved where c for all costs 3e24."""
    rows = "0,2,10000000003,1000000000.125,1000000000.25\n0,1000000000000000,10000000001,1000000000006,1000000000\n"
    rows += "1,1000000000000000,1000000000000,1000000000000.875,1000000000.625\n"
    done = policy_fit(tmp_path, f"x,w,a,b,c\n{rows}", weights="w")
    assert done.proved and done.predict(tmp_path / "p.csv").tolist() == ["c", "c", "c"]


def test_a_policy_counts_costs_of_17_digits(tmp_path):
    """By hand: the middle row costs 0.3 with b and 0.30000000000000004 with a; a difference of 4e-17 was rounded
    away."""
    rows = "0,0.30000000000000004,0.3,0.7\n1,0.1,0.6,0.6\n"
    done = policy_fit(tmp_path, f"x,a,b,c\n{rows}")
    assert done.predict(tmp_path / "p.csv").tolist() == ["b", "a"]


def test_a_policy_with_one_action_that_is_best_everywhere_takes_it(tmp_path):
    """By hand: c is the cheapest in each row, next to costs of 1e15; a tree that costs 4.8 was the best found."""
    rows = (
        "0,0.1,2000000000000000,1e-07\n1,0.2,1000000000000000,1.0000000000000002e-07\n2,0.1,1000000000000000.1,2e-07\n"
    )
    done = policy_fit(tmp_path, f"x,a,b,c\n{rows}", depth=2)
    assert done.proved and set(done.predict(tmp_path / "p.csv").tolist()) == {"c"}


def test_squared_errors_with_a_penalty_are_rounded_once(tmp_path):
    """The squared error and the penalty of the branch node are added in fractions."""
    rows = [("1", "0.1"), ("1", "0.4"), ("2", "3.7"), ("2", "3.3"), ("2", "0.9")]
    (tmp_path / "r.csv").write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in rows))
    exact = Fraction(0)
    for side in "12":
        y = [Fraction(y) for x, y in rows if x == side]
        exact += sum((one - sum(y) / len(y)) ** 2 for one in y)
    done = odtc.fit(tmp_path / "r.csv", depth=1, task="regression", lambda_=0.1)
    assert done.proved and done.proof.objective == done.proof.bound == float(exact * Fraction(9, 10) + Fraction(1, 10))


def test_a_hazard_that_no_certificate_holds_leaves_the_proof_of_the_search():
    """The check of a certificate that the run itself had made was refused, and with it the proof."""
    columns = {"x": [0.0, 1, 2, 3, 3], "t": [4, 9, 7, 4, 9], "e": [1, 0, 1, 0, 1], "w": [0.006, 0.0009, 7e3, 6e7, 800]}
    done = odtc.fit(pl.DataFrame(columns), depth=2, task="survival", time="t", event="e", weights="w")
    assert done.proved and done.verified and not done.certified
    assert "too small to differ from 0" in done.solution.message


@pytest.mark.parametrize("seed", [1, 8, 9, 19, 23])
def test_medians_of_numbers_of_seventeen_digits_have_the_nearest_objective(seed):
    """Differences of such numbers have no double, so costs of answers that are doubles add up to another number."""
    random = np.random.default_rng(seed)
    y = random.random(len(X)) * 10.0 ** random.integers(-3, 4, len(X))
    exact = [Fraction(repr(float(value))) for value in y]
    done = fit({"y": y}, target="y", task="median")
    absolute = lambda rows: min(sum(abs(exact[i] - exact[k]) for i in rows) for k in rows)  # noqa: E731
    assert done.proof.objective == done.proof.bound == least(absolute)


@pytest.mark.parametrize("forbidding", [50.0, 1e9, 3e15])
def test_three_actions_have_the_objective_of_the_documentation(forbidding):
    """docs/how-to/policy.md: the votes that are lost, where a forbidding cost counts as a power of ten."""
    costs = np.array([[1, 2.5, 7], [0, 3, 1], [4, 0.5, 9], [2, 2, 5], [6, 1, 0], [3, 8, 1], [1, 1, 2], [0.25, 5, 3]])
    costs[2, 2] = costs[5, 0] = forbidding
    above = [[Fraction(cost) - Fraction(min(row)) for cost in row] for row in costs.tolist()]
    single = min(map(sum, zip(*above)))
    if (most := max(map(max, above))) > 10**6 * single:
        most = next(Fraction(10**power) for power in range(30) if 10**power >= 4 * single)
    votes = [[min(most, max(row)) - min(most, cost) for cost in row] for row in above]
    lost = lambda rows: min(sum(sum(votes[i]) - votes[i][k] for i in rows) for k in range(3))  # noqa: E731
    done = fit(dict(zip("uvw", costs.T)), task="policy", actions=("u", "v", "w"))
    assert done.proof.objective == done.proof.bound == least(lost)
