"""Hyperplanes that held-out rows choose: valid candidates, the majority of noise, numbers far out."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import odtc
from odtc.algorithms.hyperplanes.held_out import FOLDS, SURE, choose_tree, error_of_mean
from odtc.algorithms.hyperplanes.penalised import Grower
from odtc.data.dataset import Dataset, Feature
from odtc.data.encoding import encode
from odtc.data.linear_terms import LinearTerms
from odtc.errors import ChoiceError
from odtc.formulations import oblique_search
from odtc.heuristics.heuristic import grow
from odtc.heuristics.regularised import candidates, choose
from odtc.heuristics.separating_hyperplanes import build_tree, split_by_hyperplane
from odtc.problem.formulation import FORMULATIONS
from odtc.trees.heap_tree import CompleteTree
from odtc.workflow.row_selection.selection import select_rows
from tests.command_line import odtc as run

SLOW = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}


def dataset(X, y) -> Dataset:
    classes = tuple(str(k) for k in range(int(y.max()) + 1))
    features = tuple(Feature(f"x{j}", "numeric") for j in range(X.shape[1]))
    return Dataset("made", np.asarray(X, float), np.asarray(y, np.int32), features, classes, np.ones(len(y)))


def chosen(X, y, depth: int = 2, **how):
    encoded = encode(dataset(X, y))
    return choose(encoded, CompleteTree(depth), seconds=300, **how)


def blobs(n: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 2)
    return rng.normal(size=(n, 3)) + 2.5 * y[:, None] * [1, 1, 0], y


@pytest.fixture
def one_repeat(monkeypatch):
    """Five folds: what a test of them finds does not hang on dealing the rows out twice."""
    monkeypatch.setattr("odtc.algorithms.hyperplanes.held_out.REPEATS", 1)


@given(data=st.data())
@settings(max_examples=8, **SLOW)
def test_every_candidate_is_a_tree_with_its_loss_and_the_last_is_the_majority(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    n, classes, depth = data.draw(st.integers(2, 40)), data.draw(st.integers(1, 4)), data.draw(st.integers(0, 2))
    Z, loss = (
        rng.random((n, 3)).round(1),
        (1.0 - np.eye(classes)[rng.integers(0, classes, n)]) * rng.integers(1, 4, (n, 1)),
    )
    for path in Grower(depth, 0, False).paths(Z, loss, np.inf).values():
        assert path[-1].leaves == 1 and path[-1].loss == pytest.approx(loss.sum(axis=0).min())
        for larger, tree in zip([None, *path], path):
            label = tree.predict(Z)
            assert 1 <= tree.leaves <= 2**depth and loss[np.arange(n), label].sum() == pytest.approx(tree.loss)
            inside = {t for t in tree.nodes() if not tree.ends[t]}
            assert all(t == 1 or t // 2 in inside for t in tree.nodes())
            if larger is not None:
                assert larger.leaves > tree.leaves and larger.loss <= tree.loss + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_a_tree_that_was_cut_back_to_two_leaves_asks_what_one_hyperplane_would(seed):
    rng = np.random.default_rng(seed)
    Z = rng.random((150, 3))
    y = ((Z @ [1.0, 1, 0] > 1) ^ (rng.random(150) < 0.1)).astype(int)
    paths = Grower(2, 0, False).paths(Z, 1.0 - np.eye(2)[y], np.inf, (1.0,))
    two, one = (next(tree for tree in paths[family, 1.0] if tree.leaves == 2) for family in ("tree", "plane"))
    assert (two.predict(Z) == one.predict(Z)).all()
    assert abs(two.H[1]) == pytest.approx(abs(one.H[1]), rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_of_pure_noise_the_majority_is_handed_in_and_said(seed):
    rng = np.random.default_rng(seed)
    heap, seen = chosen(rng.normal(size=(120, 4)), (rng.random(120) < 0.4).astype(int))
    assert heap.n_branch_nodes == 0 and not seen.better and seen.folds == 10


def test_a_gain_that_is_alike_in_all_folds_is_no_surer_than_its_rows():
    gains = [np.repeat([1.0, -1.0, 0.0], [6, 5, 9]) for _ in range(2 * FOLDS)]  # 0.05 in each: no deviation of means
    ones = [np.ones(20) for _ in gains]
    rows, repeats = 100, 2
    variance = (11 / 20 - 0.05**2) / (repeats * rows)
    error = error_of_mean(gains, ones)
    assert error == pytest.approx((variance * (1 + repeats * FOLDS / (FOLDS - 1))) ** 0.5)
    assert 0.05 < SURE * error
    assert error_of_mean(gains, [3 * one for one in ones]) == pytest.approx(error / 3)
    assert error_of_mean([0.2 * one for one in ones], ones) == pytest.approx(0)  # all rows alike


@pytest.mark.usefixtures("one_repeat")
def test_rows_that_come_again_are_dealt_out_to_the_folds_one_by_one():
    """Of 500 rows no more than eight differ: the class of each quarter is known only by the copies that train."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (500, 2))
    encoded = encode(dataset(X, X[:, 0] ^ (rng.random(500) < 0.1)))
    heap, seen = choose(encoded, CompleteTree(1), seconds=300)
    assert encoded.n_rows == 8 and seen.better and seen.folds == 5
    assert heap.errors(encoded) == pytest.approx(500 * seen.held_out) and seen.held_out < 0.13


@pytest.mark.usefixtures("one_repeat")
def test_merged_rows_are_chosen_for_like_the_rows_of_the_data():
    rng = np.random.default_rng(1)
    Z, copies = rng.random((40, 2)), rng.integers(1, 5, 40)
    loss = (1.0 - np.eye(2)[(Z.sum(axis=1) > 1).astype(int) ^ (rng.random(40) < 0.1)]) * rng.integers(1, 3, (40, 1))
    columns = Grower(2, 0, False, alone=2)  # what a penalty is worth hangs on the number of rows
    merged = choose_tree(Z, loss * copies[:, None], copies * 1.0, columns, copies, seconds=300)
    each = np.repeat(np.arange(40), copies)
    alone = choose_tree(Z[each], loss[each], np.ones(len(each)), columns, seconds=300)
    parts = choose_tree(Z, loss, np.ones(40), columns, np.zeros(40, int), seconds=300)
    assert parts.held_out == choose_tree(Z, loss, np.ones(40), columns, seconds=300).held_out
    assert merged.better and (merged.tree.predict(Z) == alone.tree.predict(Z)).all()
    assert [merged.held_out, merged.error, merged.majority, merged.tree.loss] == pytest.approx(
        [alone.held_out, alone.error, alone.majority, alone.tree.loss]
    )


@pytest.mark.usefixtures("one_repeat")
def test_two_groups_are_parted_whatever_one_number_far_out_says():
    X, y = blobs(120)
    X[7] = [1e7, -1e7, 0]
    heap, seen = chosen(X, y)
    assert seen.better and heap.errors(encode(dataset(X, y))) <= 8


@pytest.mark.parametrize("ticks", [150, 400, 1500])
def test_a_short_time_is_for_fewer_penalties_and_folds_but_a_choice_is_made(monkeypatch, ticks):
    """Each look at the clock takes a second, so that nothing hangs on how fast the machine is; the search whose time
    is looked at elsewhere is left out."""
    now = iter(range(10**6))
    monkeypatch.setattr(Grower, "_searched", lambda self, Z, loss: [])
    ticking = Grower(2, 0, False, clock=lambda: next(now))
    X, y = blobs(120)
    Z, loss = (X - X.min(axis=0)) / np.ptp(X, axis=0), 1.0 - np.eye(2)[y]
    whole = choose_tree(Z, loss, np.ones(120), Grower(2, 0, False), seconds=1e6)
    seen = choose_tree(Z, loss, np.ones(120), ticking, seconds=ticks)
    assert 2 <= seen.folds <= whole.folds == 10 and seen.better and not whole.over
    assert seen.over or seen.folds == 10
    assert abs(seen.held_out - whole.held_out) <= 0.1
    assert next(now) <= 1.5 * ticks


@pytest.mark.usefixtures("one_repeat")
def test_heavy_tails_cost_at_most_a_point():
    X, y = blobs(400)
    tails = X.copy()
    far = np.random.default_rng(1).random(X.shape) < 0.02
    tails[far] *= 1e4
    fresh, label = blobs(2000, 5)
    right = []
    for rows in (X, tails):
        data = dataset(rows, y)
        tree = choose(encode(data), CompleteTree(1), seconds=300)[0].to_tree(encode(data))
        right.append((tree.predict(fresh) == label).mean())
    assert right[1] >= right[0] - 0.01 and right[0] > 0.93


def plane_of(X, y):
    """(h in units of X, whether it sends each row to a leaf of its class), of one penalised hyperplane."""
    low, high = np.quantile(X, [0.05, 0.95], axis=0)
    Z = (X - low) / (high - low)
    one = Grower(1, 0, False).paths(Z, 1.0 - np.eye(2)[y], np.inf, (10.0,))["tree", 10.0][0]
    return one.H[1] / (high - low), one.predict(Z) == y


@pytest.mark.parametrize("seed", range(3))
def test_rows_with_a_number_far_out_turn_a_hyperplane_only_if_they_tell_the_classes_apart(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3))
    y = (X @ [1.0, -2, 0.5] + rng.normal(size=200) * 0.3 > 0).astype(int)
    clean = plane_of(X, y)[0]
    tails = plane_of(X * np.where(rng.random(X.shape) < 0.04, 1e4, 1), y)[0]
    assert clean @ tails > 0.995 * np.linalg.norm(clean) * np.linalg.norm(tails)
    far = np.arange(200) < 8
    X[far, 0] = 1e6
    assert plane_of(X, np.where(far, 1, y))[1][far].all()


@pytest.mark.parametrize("seed", range(3))
def test_a_column_that_says_nothing_and_is_far_out_in_some_rows_is_not_weighed(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 8))
    y = (X[:, 0] - X[:, 1] + rng.normal(size=300) * 0.5 > 0).astype(int)
    far = rng.random(X.shape) < 0.04
    far[:, :2] = False
    tails = np.where(far, 1e4 * X, X)
    h, right = plane_of(tails, y)
    assert not h[2:].any() and h[:2].all()
    assert right.mean() >= plane_of(X[:, :2], y)[1].mean() - 0.02
    fresh = rng.normal(size=(2000, 8))
    label = fresh[:, 0] > fresh[:, 1]
    hit = np.where(rng.random(fresh.shape) < 0.04 * (np.arange(8) > 1), 1e4 * fresh, fresh)
    clean = plane_of(X, y)[0]
    share = lambda h, rows: max(np.mean((rows @ h > 0) == label), np.mean((rows @ h < 0) == label))
    assert share(h, hit) > share(clean, hit) + 0.03


def test_scaling_by_quantiles_leaves_the_numbers_what_they_are():
    X = np.array([[1.0, 5], [2, 5], [3, 5], [4, 5], [1e9, 7]] * 3)
    terms = LinearTerms.of(X, (Feature("a", "numeric"), Feature("b", "numeric")))
    scaled = terms.by_quantiles(0.25)
    assert scaled.Z * scaled.span + scaled.low == pytest.approx(X)
    assert np.ptp(scaled.Z[X[:, 0] < 10, 0]) >= 1 and (scaled.Z[:, 1] == terms.Z[:, 1]).all()


@pytest.mark.usefixtures("one_repeat")
def test_an_exclusive_or_keeps_all_its_leaves_and_a_line_only_two():
    rng = np.random.default_rng(3)
    X = rng.random((160, 2))
    assert chosen(X, ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)).astype(int))[1].tree.leaves >= 3
    heap, seen = chosen(X, (X.sum(axis=1) > 1).astype(int))
    assert heap.n_branch_nodes == 1 and seen.tree.leaves == 2


def test_the_same_seed_gives_the_same_tree_and_prices_of_columns_leave_some_out():
    rng = np.random.default_rng(4)
    Z = rng.random((150, 12))
    loss = 1.0 - np.eye(2)[(Z[:, 0] + Z[:, 1] > 1).astype(int)]
    first, again = (choose_tree(Z, loss, np.ones(150), Grower(1, 0, False), seconds=300) for _ in range(2))
    assert (first.tree.H == again.tree.H).all() and first.held_out == again.held_out
    sparse = choose_tree(Z, loss, np.ones(150), Grower(1, 0, True), seconds=300, se=3.0)
    assert (sparse.tree.H[1] != 0).sum() < 12 and (first.tree.H[1] != 0).all()


def test_without_time_or_rows_there_is_a_tree_and_it_is_said(tmp_path):
    X, y = blobs(60)
    heap, few = chosen(X[:6], y[:6])
    assert few.folds == 0 and heap.n_branch_nodes == 0
    (tmp_path / "b.csv").write_text("a,b,c,y\n" + "".join(f"{a},{b},{c},{k}\n" for (a, b, c), k in zip(X.tolist(), y)))
    ran = run("fit", "b.csv", "--model", "oblique_search", "--depth", 1, "-p", "seconds=0", folder=tmp_path)
    assert ran.code == 0 and "time limit reached: only single columns" in ran.out + ran.err
    with pytest.raises(ChoiceError, match="of 0 or more for the start 'regularised'"):
        grow("regularised:se=-1", encode(dataset(X, y)), CompleteTree(1))


def test_the_words_tell_held_out_figures_beside_the_majority_and_a_linear_model(tmp_path):
    X, y = blobs(80)
    made = dataset(X, y)
    found = odtc.fit(made, "oblique_search", 1, params={"seconds": 300.0})
    note = found.decoded.solution.message
    assert "2 leaves" in note and "majority" in note and "a linear model without a tree" in note
    assert "of the folds that chose it" in note
    noise = dataset(X, np.random.default_rng(0).permutation(y))
    assert odtc.fit(noise, "oblique_search", 1).decoded.solution.message.startswith("WARNING: no tree is surely better")


def line_with_gaps(n: int, seed: int, columns: int = 3):
    """One column tells the class, and one cell of it is missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, columns))
    y = (X[:, 0] > 0).astype(int)
    X[5, 0] = np.nan
    return X, y


def test_a_column_with_a_missing_cell_is_asked():
    X, y = line_with_gaps(80, 0)
    made = dataset(X, y)
    fitted = odtc.fit(made, "oblique_search", 1, missing="separate", params={"seconds": 300.0})
    fresh = np.random.default_rng(1).normal(size=(500, 3))
    assert (fitted.tree.predict(fresh) == (fresh[:, 0] > 0)).mean() > 0.9


@pytest.mark.usefixtures("one_repeat")
def test_one_missing_cell_costs_one_row_and_not_a_column():
    """A stranger's table: the column was left out of all hyperplanes, and ten points were lost."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 3))
    y = (X @ [1, -1, 0.5] + rng.normal(size=400) * 0.3 > 0).astype(int)
    gaps = X.copy()
    gaps[3, 0] = np.nan
    fresh = rng.normal(size=(2000, 3))
    right = []
    for rows in (X, gaps):
        fitted = odtc.fit(dataset(rows, y), "oblique_search", 1, missing="separate", params={"seconds": 300.0})
        right.append((fitted.tree.predict(fresh) == (fresh @ [1, -1, 0.5] > 0)).mean())
    assert right[1] >= right[0] - 0.01 and right[0] > 0.95
    note = fitted.decoded.solution.message
    assert "a row with no 'x0' goes right there" in note and fitted.verified
    linear = float(note.split("a linear model without a tree ")[1].split(" %")[0])
    assert linear > 85  # of all columns, with middles in place of missing cells


@pytest.mark.every(3)
@pytest.mark.parametrize("share", [0.02, 0.2, 0.6])
def test_rows_with_missing_cells_go_where_the_tree_of_the_arrays_sends_them(one_repeat, monkeypatch, share):
    monkeypatch.setattr("odtc.algorithms.hyperplanes.penalised.RESTARTS", 1)
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 3)).round(1)
        y = (X.sum(axis=1) > 0).astype(int)
        X[rng.random(X.shape) < share] = np.nan
        made = replace(dataset(X, y), missing="separate")
        encoded = encode(made)
        heap, seen = choose(encoded, CompleteTree(2), seconds=300)
        assert heap.loss(encoded) <= seen.tree.loss + 1e-9
        assert (heap.to_tree(encoded).predict(made.X) != made.y).sum() == heap.errors(encoded)


def test_without_a_time_limit_the_choice_does_not_look_at_the_wall_clock(monkeypatch):
    now = iter(range(0, 10**9, 1000))
    monkeypatch.setattr("time.monotonic", lambda: next(now))
    X, y = blobs(60)
    assert choose(encode(dataset(X, y)), CompleteTree(1), seconds=1e6)[1].folds == 10


def test_that_numbers_are_too_small_for_the_tree_that_was_chosen_is_said():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    fitted = odtc.fit(dataset(X * 1e-310, (X[:, 0] > 0).astype(int)), "oblique_search", 1, params={"seconds": 300.0})
    assert fitted.tree.n_leaves == 2 or "give the columns another unit" in fitted.decoded.solution.message


@pytest.mark.usefixtures("one_repeat")
def test_a_set_of_levels_that_parts_the_rows_alike_stands_for_a_hyperplane():
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.integers(0, 3, 150), rng.normal(size=150), rng.normal(size=150)])
    features = Feature("colour", "categorical", tuple("rgb")), Feature("a", "numeric"), Feature("b", "numeric")
    made = Dataset("made", X, (X[:, 0] == 0).astype(np.int32), features, ("0", "1"), np.ones(150))
    encoded = encode(made)
    heap, _ = choose(encoded, CompleteTree(2), seconds=300)
    assert heap.n_branch_nodes == 1 and heap.split_at(1, encoded)[0].features == (0,)


@pytest.mark.usefixtures("one_repeat")
def test_categories_that_are_asked_alone_send_each_level_where_the_folds_saw_it_go():
    rng = np.random.default_rng(0)
    level, number = rng.integers(0, 4, 120).astype(float), rng.normal(size=120)
    number[3] = np.nan
    y = np.isin(level, [1, 2]).astype(np.int32)
    features = Feature("kind", "categorical", tuple("abcd")), Feature("x", "numeric")
    made = Dataset("made", np.column_stack([level, number]), y, features, ("0", "1"), np.ones(120))
    encoded = encode(made)
    heap, seen = choose(encoded, CompleteTree(2), seconds=300)
    assert seen.better and heap.errors(encoded) == 0


@pytest.mark.every(2)
@pytest.mark.parametrize("gaps", [False, True])
def test_noise_in_few_rows_or_with_gaps_everywhere_gives_the_majority_and_the_warning(gaps):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(28, 4)), (rng.random(28) < 0.4).astype(int)
    if gaps:
        X[rng.permutation(28)[:4], np.arange(4)] = np.nan
    made = dataset(X, y)
    fitted = odtc.fit(made, "oblique_search", 2, missing="separate", params={"seconds": 300.0})
    assert fitted.tree.n_leaves == 1 and fitted.decoded.solution.message.startswith("WARNING: ")


def test_the_hyperplane_of_the_folds_is_kept_where_a_threshold_parts_the_training_rows_alike():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2)) + 6 * (np.arange(100) % 2)[:, None]
    encoded = encode(dataset(X, np.arange(100) % 2))
    weighed, h, g = LinearTerms.encoded(encoded).by_quantiles(), np.array([1.0, 0.7]), 0.8
    fresh = 3 + 2 * rng.normal(size=(4000, 2))
    of_folds = (fresh - weighed.low) / weighed.span @ h > g

    def alike(kept: bool) -> float:
        heap = build_tree(
            encoded, CompleteTree(1), lambda _, rows: split_by_hyperplane(weighed, h, g, rows, kept=kept), kept
        )
        return (heap.to_tree(encoded).predict(fresh) == of_folds).mean()

    assert alike(True) > 0.97 > alike(False)


@pytest.mark.usefixtures("one_repeat")
def test_a_cell_of_1e300_hides_neither_the_others_nor_the_class():
    X, y = blobs(120)
    X[7] = [1e300, -1e300, 0]
    encoded = encode(dataset(X, y))
    heap, seen = choose(encoded, CompleteTree(1), seconds=300)
    assert seen.better and heap.errors(encoded) <= 8


def test_the_estimator_tells_what_the_folds_said_and_warns_of_a_majority():
    X, y = blobs(80)
    kept = {"model": "oblique_search", "max_depth": 1, "params": {"seconds": 300.0}}
    assert "chosen by 10 folds" in odtc.OptimalTreeClassifier(**kept).fit(X, y).message_
    noise = np.random.default_rng(0).permutation(y)
    with pytest.warns(UserWarning, match="no tree is surely better than the most frequent class"):
        tree = odtc.OptimalTreeClassifier(**kept).fit(X, noise)
    assert tree.message_.startswith("WARNING: ")


def selected(share: float, seed: int = 0, noise: bool = False):
    """Weighed rows of three classes, and a share of them, weighed as all are."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 3))
    y = rng.integers(0, 3, 300) if noise else np.digitize(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=300), [-0.5, 0.7])
    whole = replace(dataset(X, y), weight=rng.integers(1, 4, 300).astype(float))
    return whole, select_rows(whole, f"coarse_to_fine:share={share},rounds=1", 2)


def test_rows_that_were_not_selected_choose_the_tree_that_loses_least_of_them():
    whole, part = selected(0.2)
    cost = np.array([[0.0, 1, 5], [1, 0, 1], [2, 1, 0]])
    problem = odtc.build(part, "dpflow", 2, cost=cost).problem
    encoded, depth = problem.encoded, CompleteTree(2)
    problem = replace(problem, module=FORMULATIONS.get("oblique_search"), params=oblique_search.Params())
    others = np.setdiff1d(np.arange(300), part.selected.rows)

    def lost(heap) -> float:
        at, total = heap.to_tree(encoded).apply(whole.X), 0.0
        for leaf in np.unique(at):
            here = np.flatnonzero(at == leaf)
            all_of = [sum(whole.weight[i] * cost[whole.y[i], k] for i in here) for k in range(3)]
            total += sum(whole.weight[i] * cost[whole.y[i], np.argmin(all_of)] for i in np.intersect1d(here, others))
        return total

    heap, words = oblique_search.learned(problem)
    how = {"seconds": np.inf, "seed": 0, "sparse": True, "part": 0.9}
    found = [(one.leaves, lost(one.heap)) for one in candidates(encoded, depth, **how)]
    least, alone = min(value for _, value in found), max(value for leaves, value in found if leaves == 1)
    assert lost(heap) == pytest.approx(least) and least < alone
    mean = least / whole.weight[others].sum()
    assert "chosen by the 240 rows that were not selected: " in words and f"mean cost on them {mean:.4g}" in words


@pytest.mark.parametrize(
    ("share", "choice", "says"),
    [
        (0.2, "held-out", "chosen by the 240 rows that were not selected"),
        (0.2, "folds", "chosen by 10 folds"),
        (0.8, "held-out", "chosen by 10 folds"),
        (0.8, "rest", "chosen by the 60 rows that were not selected"),
        (1.0, "held-out", "chosen by 10 folds"),
    ],
)
def test_folds_choose_if_the_others_are_fewer_than_the_selected(share, choice, says):
    _, part = selected(share)
    assert says in odtc.fit(part, "oblique_search", 1, choice=choice).solution.message


def test_no_tree_of_noise_surely_beats_the_majority_on_the_rest_and_without_a_rest_that_is_said():
    whole, part = selected(0.2, noise=True)
    done = odtc.fit(part, "oblique_search", 2)
    assert done.tree.n_leaves == 1
    assert "WARNING: no tree surely beats the majority on the 240 rows" in done.solution.message
    with pytest.raises(ChoiceError, match="there are none"):
        odtc.fit(whole, "oblique_search", 2, choice="rest")
