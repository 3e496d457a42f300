"""Run, JSON, screen and estimator make the same claim about a tree, however a solver ends; and the claim is true."""

import contextlib
import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import odtc
from odtc.cli import console
from odtc.model.solution import Solution, Termination
from odtc.testing.exhaustive import cheapest
from odtc.workflow.provenance.searched_again import SearchedAgain
from tests import pipeline
from tests.command_line import MONKS
from tests.command_line import odtc as command

ENDS = ("optimal", "time_limit", "interrupted", "unknown", "error")


@pytest.fixture(scope="module")
def near():
    """A model of 60 rows, the point of CART's tree, which is not the best one, and what the best one costs."""
    dataset = odtc.read(MONKS / "monks-2.csv")
    rows = np.arange(0, dataset.n_rows, 3)
    dataset = dataset.taken(rows)
    model = pipeline.build(dataset, "flowoct", 2, encoding="onehot")
    encoded = model.problem.encoded
    best = cheapest(encoded.X, encoded.y, encoded.weight, 2)
    heap, point = pipeline.start(model)
    assert heap.errors(encoded) > best > 1
    return dataset, model, point, best


@pytest.fixture(autouse=True)
def unsearched(monkeypatch):
    """Bounds between the best tree and the one in hand are claimed here, to see what is said of them: no search of our
    own contradicts them (test_lying_solver.py)."""
    monkeypatch.setattr("odtc.workflow.first_trees.MOMENT_WORK", 0)
    monkeypatch.setattr("odtc.workflow.provenance.searched_again.SECONDS", 0.0)


def fitted(monkeypatch, done, dataset, **keywords):
    """The estimator of a run that ended so."""
    monkeypatch.setattr("odtc.workflow.run.run", lambda spec, data, reporter: done)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator = odtc.OptimalTreeClassifier(2, time_limit=1, **keywords)
        with contextlib.suppress(KeyboardInterrupt):  # of a run that was interrupted
            estimator.fit(dataset.X, dataset.y)
        return estimator


@pytest.mark.parametrize("bound", [None, "floor", "best", "short", "close", "equal"])
@pytest.mark.parametrize("end", ENDS)
def test_all_that_tells_of_a_run_tells_the_same(end, bound, near, monkeypatch, capsys):
    dataset, model, point, best = near
    paid = model.objective(point)
    # Rows weigh 1: no tree costs between paid - 1 and paid, so a bound there is a proof.
    stated = {None: None, "floor": -5.0, "best": best, "short": paid - 1, "close": paid - 0.1, "equal": paid}[bound]
    done = pipeline.finish(model, Solution(point, Termination(end), paid, stated, 1.0, "X 1.0", model=model.identity))
    facts, known = done.facts, bound in ("close", "equal")
    assert done.verified == (stated is None or stated <= paid)
    assert facts["objective"] == done.decoded.heap.errors(model.problem.encoded) == paid
    assert facts["gap"] == pytest.approx(abs(facts["objective"] - facts["bound"]) / max(1, paid))
    assert facts["bound"] == {None: 0, "floor": 0, "close": paid}.get(bound, stated)
    assert done.proved == known == (facts["gap"] == 0) and facts["termination"] == end
    console._print_tree(done)
    words = capsys.readouterr().out.splitlines()[-1]
    word = "NOT VERIFIED" if not done.verified else "proved optimal" if known else "best found"
    assert words.startswith(f"{word}: objective") and facts["claim"] == word
    assert f"objective {paid:.10g}, bound {facts['bound']:.10g}, gap {100 * facts['gap']:.2f} %" in words
    said = fitted(monkeypatch, done, dataset)
    assert said.status_ == end and said.is_optimal_ is known
    assert (said.objective_, said.bound_, said.gap_) == (facts["objective"], facts["bound"], facts["gap"])


def test_a_gap_is_not_proved(near, monkeypatch, capsys):
    """At every gap from a tenth down to rounding: is_optimal_, the run and the words say no, where the weights have no
    unit."""
    dataset, _, _, _ = near
    dataset = replace(dataset, weight=np.sqrt(np.arange(2.0, 2 + dataset.n_rows)))
    model = pipeline.build(dataset, "flowoct", 2, encoding="onehot")
    _, point = pipeline.start(model)
    paid = model.objective(point)
    # The compiler's own search takes the place of a proof by a solver that its tolerance hides.
    ended = Solution(point, Termination.OPTIMAL, paid, paid - 0.1 * paid, 1.0, "X 1.0", model=model.identity)
    own, encoded = pipeline.finish(model, ended), model.problem.encoded
    least = cheapest(encoded.X, encoded.y, encoded.weight, 2)
    assert own.proved and own.proof.objective == own.proof.bound == pytest.approx(least, rel=1e-12) and least < paid
    # Without it, what is left of the solver's bound is told.
    monkeypatch.setattr("odtc.workflow.decoding.by_own_search", lambda problem, solution, tree: (solution, tree))
    for gap in (0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8):
        bound = paid - gap * paid
        claimed = Solution(point, Termination.OPTIMAL, paid, bound, 1.0, "X 1.0", model=model.identity)
        done = pipeline.finish(model, claimed)
        said = fitted(monkeypatch, done, dataset)
        console._print_tree(done)
        assert not done.proved and not said.is_optimal_ and "proved" not in capsys.readouterr().out
        assert 0 < said.gap_ == pytest.approx(gap, rel=1e-4, abs=1e-5)
        assert bound - 1e-5 * paid <= said.bound_ <= bound < said.objective_ <= paid


@pytest.mark.parametrize("own", [0.0, 0.7, 0.9])
def test_the_larger_of_two_bounds_remains_and_names_who_gave_it(near, monkeypatch, own):
    """The compiler's own search ends early, and the solver's proof does not count, because the weights have no unit."""
    dataset, _, _, _ = near
    dataset = replace(dataset, weight=np.sqrt(np.arange(2.0, 2 + dataset.n_rows)))
    model = pipeline.build(dataset, "flowoct", 2, encoding="onehot")
    _, point = pipeline.start(model)
    paid = model.objective(point)
    monkeypatch.setattr(
        "odtc.workflow.provenance.searched_again.search_again",
        lambda problem, *_, **__: SearchedAgain(problem, own * paid),
    )
    ended = Solution(point, Termination.OPTIMAL, paid, 0.8 * paid, 1.0, "X 1.0", model=model.identity)
    done = pipeline.finish(model, ended)
    assert not done.proved and done.proof.bound <= max(own, 0.8) * paid
    assert done.proof.bound == pytest.approx(max(own, 0.8) * paid, rel=1e-5)
    assert ("the bound is from X 1.0, lowered by" in done.solution.message) == (own < 0.8)


@pytest.mark.parametrize("stated", [1.0, 1e15])
def test_a_bound_above_a_known_tree_does_not_count(near, monkeypatch, stated):
    """The solver states a bound above the best tree by more than its tolerance, as CBC does with numbers of 1e15."""
    dataset, _, _, _ = near
    dataset = replace(dataset, weight=np.sqrt(np.arange(2.0, 2 + dataset.n_rows)))
    model = pipeline.build(dataset, "flowoct", 2, encoding="onehot")
    _, point = pipeline.start(model)
    paid, encoded = model.objective(point), model.problem.encoded
    least = cheapest(encoded.X, encoded.y, encoded.weight, 2)
    best = pipeline.fit(dataset, "flowoct", 2, encoding="onehot").decoded.heap
    assert model.problem.module.objective(model.problem, best) == pytest.approx(least) and least < paid
    monkeypatch.setattr(
        "odtc.workflow.provenance.searched_again.search_again",
        lambda problem, *_, **__: SearchedAgain(problem, 0.5 * least, heap=best),
    )
    ended = Solution(point, Termination.OPTIMAL, paid, stated * paid, 1.0, "X 1.0", model=model.identity)
    done = pipeline.finish(model, ended)
    assert done.proof.objective == pytest.approx(least) and not done.proved
    assert done.proof.bound == pytest.approx(0.5 * least)
    assert "the bound of X 1.0 does not count" in done.solution.message and "lowered by" not in done.solution.message


def test_a_tree_under_a_share_of_the_weight_is_claimed_for_what_it_is():
    """Rows of one weight: the share is a number of rows, proved, and costs no less than no limit."""
    random = np.random.default_rng(3)
    X = random.integers(0, 4, (60, 3)).astype(float)
    y = ((X[:, 0] > 1) ^ (X[:, 1] > 2)).astype(int)
    paid = []
    for share in (0.0, 0.05, 0.1, 0.2, 0.3, 0.45):
        cut = odtc.OptimalTreeClassifier(2, min_weight_fraction_leaf=share).fit(X, y)
        assert cut.leaf_weights_.sum(axis=1).min() >= share * len(y)
        assert cut.objective_ == (cut.predict(X) != y).sum() == cut.bound_
        assert cut.is_optimal_ and cut.status_ == "optimal" and cut.gap_ == 0
        paid.append(cut.objective_)
    assert paid == sorted(paid) and paid[0] < paid[-1]


def test_a_leaf_alone_is_optimal_at_what_it_costs():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 1, 1])
    said = odtc.OptimalTreeClassifier(0).fit(X, y, sample_weight=[2, 1, 1, 1])
    assert (said.status_, said.is_optimal_, said.objective_, said.bound_, said.gap_) == ("optimal", True, 2, 2, 0)
    assert said.predict([[0.0]])[0] == 1 and said.leaf_rows_.tolist() == [[1, 3]]
    dear = odtc.OptimalTreeClassifier(0, cost={(0, 1): 5}).fit(X, y)
    assert (dear.objective_, dear.predict([[3.0]])[0]) == (3, 0)


@pytest.mark.parametrize(
    ("words", "ends", "proved"),
    [
        ((), ("optimal",), True),
        (("--gap", 0.9), ("optimal",), None),
        (("--model", "cart"), ("unknown",), False),
        (("--model", "flowoct", "--time-limit", "0.001"), ("time_limit",), False),
    ],
    ids=["proof", "gap", "cart", "limit"],
)
def test_screen_json_and_files_of_a_run_agree(words, ends, proved, tmp_path):
    words = ["fit", MONKS / "monks-2.csv", "--depth", 2, "--model", "flowoct", "--encoding", "onehot", *words]
    run = command(*words, "-o", "m", "--json", folder=tmp_path)
    facts = run.facts
    assert run.code == 0 and facts["verified"] and facts["termination"] in ends, run.err
    assert facts["bound"] is None or facts["bound"] <= facts["objective"]
    tight = facts["gap"] is not None and facts["gap"] <= 1e-9
    assert proved is None or tight == proved
    screen = command(*words, "-o", "n", folder=tmp_path).out
    assert ("proved optimal" in screen) == (tight and facts["termination"] == "optimal")
    assert f"objective {facts['objective']:.10g}" in screen
    record = tmp_path / "m.run.json"
    if record.exists():
        told = json.loads(record.read_text())
        assert told["termination"] == facts["termination"]
        assert told["objective"] == pytest.approx(facts["objective"])
        # The record has the solver's word, the run the next number that a tree of these rows can cost.
        if facts["bound"] is None:
            assert told["bound"] is None
        else:
            assert facts["bound"] - 1 < told["bound"] <= facts["bound"] + 1e-6


@pytest.mark.parametrize(
    ("end", "bound"),
    [(end, bound) for end in ENDS for bound in ("short", "close")]
    + [("optimal", None), ("time_limit", "best"), ("optimal", "above"), ("interrupted", "above")],
)
def test_a_command_its_record_and_its_words_agree_however_a_solver_ends(end, bound, near, tmp_path, monkeypatch):
    """The files are read again by `verify`, which claims the same; a bound above the tree is believed by none."""
    dataset, model, point, best = near
    paid = model.objective(point)
    stated = {None: None, "best": best, "short": paid - 1, "close": paid - 0.1, "above": paid + 1}[bound]
    said = Solution(point, Termination(end), paid, stated, 1.0, "X 1.0", nodes=7, model=model.identity)
    monkeypatch.setattr("odtc.workflow.solving.run_solver", lambda *_: said)
    names = [feature.name for feature in dataset.features]
    lines = [",".join([*names, "class"])] + [
        ",".join([*(feature.show(cell) for feature, cell in zip(dataset.features, row)), dataset.classes[y]])
        for row, y in zip(dataset.X, dataset.y)
    ]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    words = ("fit", "d.csv", "--depth", 2, "--model", "flowoct", "--encoding", "onehot", "--solver", "highs")
    run, screen = command(*words, "-o", "m", "--json", folder=tmp_path), command(*words, "-o", "n", folder=tmp_path)
    if bound == "above":
        assert run.code == screen.code == 1 and "proved" not in run.out + screen.out
        return
    assert run.code == screen.code == 0, run.err
    facts, record = run.facts, json.loads((tmp_path / "m.run.json").read_text())
    tight = facts["bound"] == facts["objective"] == paid
    assert tight == (bound == "close")  # rows weigh 1: no tree costs a fraction
    assert facts["termination"] == record["termination"] == end
    assert record["objective"] == paid and (record["bound"] or 0) <= facts["bound"] <= paid
    assert ("proved optimal" in screen.out) == tight
    assert f"objective {paid:.10g}, bound {facts['bound']:.10g}" in screen.out
    again = command("verify", "m.sol", "--json", folder=tmp_path)
    assert again.code == 0, again.err
    assert {name: again.facts[name] for name in ("objective", "bound", "termination")} == {
        name: facts[name] for name in ("objective", "bound", "termination")
    }


def test_a_tree_that_was_cut_back_claims_less(near):
    """A leaf of too little weight is joined with its sibling: neither the optimum nor the fewest leaves are proved."""
    rng = np.random.default_rng(2)
    X, weight = rng.integers(0, 4, (40, 2)).astype(float), np.ones(40)
    y = ((X[:, 0] > 1) ^ (X[:, 1] > 2)).astype(int)
    weight[::7] = 5.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        whole = odtc.OptimalTreeClassifier(2).fit(X, y, sample_weight=weight)
        cut = odtc.OptimalTreeClassifier(2, min_weight_fraction_leaf=0.3).fit(X, y, sample_weight=weight)
    assert whole.is_optimal_ and whole.status_ == "optimal" and whole.fewest_leaves_
    assert cut.leaf_weights_.sum(axis=1).min() >= 0.3 * weight.sum() - 1e-9 > whole.leaf_weights_.sum(axis=1).min()
    assert cut.status_ == "unknown" and not cut.is_optimal_
    assert not cut.fewest_leaves_ and not cut.fewest_columns_
    assert cut.bound_ <= whole.objective_ <= cut.objective_ == weight[cut.predict(X) != y].sum()


@pytest.mark.parametrize("size", [1e-7, 1.0, 1e9])
def test_what_is_claimed_of_numbers_is_in_their_own_units(size):
    """The numbers are fitted in a unit of theirs; cost and bound are squares of the numbers as they are."""
    X = np.array([[0.0], [0.0], [1.0], [1.0], [2.0], [2.0]])
    y = size * np.array([1.0, 2.0, 5.0, 7.0, 6.0, 9.0])
    fitted = odtc.OptimalTreeRegressor(1).fit(X, y)
    paid = float(((y - fitted.predict(X)) ** 2).sum())
    sides = [(y[:at], y[at:]) for at in (2, 4)]
    best = min(sum(float(((side - side.mean()) ** 2).sum()) for side in both) for both in sides)
    assert fitted.objective_ == pytest.approx(paid, rel=1e-9, abs=0) == pytest.approx(best, rel=1e-9, abs=0)
    assert fitted.is_optimal_ and fitted.bound_ == pytest.approx(best, rel=1e-9, abs=0)


def test_limits_of_leaves_are_kept_as_they_are_told():
    """Four levels of ten rows each, or a row less in one: as many leaves as may be, and of as many rows as must be."""
    X = np.repeat([[0.0], [1.0], [2.0], [3.0]], [3, 2, 3, 2], axis=0)
    y = np.repeat([0.0, 10.0, 20.0, 40.0], [3, 2, 3, 2])
    for most in (2, 3, 4):
        fitted = odtc.OptimalTreeRegressor(2, max_leaf_nodes=most).fit(X, y)
        assert fitted.tree_.n_leaves == most and fitted.is_optimal_
    for share, least in ((0.2, 2), (0.25, 3), (0.3, 3)):
        fitted = odtc.OptimalTreeRegressor(2, min_weight_fraction_leaf=share).fit(X, y)
        counts = np.unique(fitted.predict(X), return_counts=True)[1]
        assert counts.min() >= least and fitted.is_optimal_
        assert (fitted.objective_ == 0) == (least == 2)
