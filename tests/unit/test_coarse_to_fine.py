"""Selections that select: shares that are kept, rounds that grow, and bounds on all rows from some of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import odtc
from odtc.errors import ChoiceError
from odtc.workflow.row_selection.rest_bound import asks_all
from odtc.workflow.row_selection.selection import first_tree, select_rows
from tests.unit.test_row_selection import data

MANY = np.random.default_rng(0).normal(size=(300, 14))  # nearly every point is extreme


def made(seed: int, n: int = 120, noise: float = 0.2):
    """Two columns of few values, a class by their exclusive or, and some of the classes turned round."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, (n, 2)).astype(float)
    y = (X[:, 0] > 4) ^ (X[:, 1] > 3) ^ (rng.random(n) < noise)
    y[:2] = [False, True]
    return data(X, y, weight=rng.integers(1, 4, n))


def least_loss(dataset) -> float:
    """The least loss of a tree of depth 1, by trying each threshold and each answer."""
    total = np.bincount(dataset.y, dataset.weight)
    best = total.sum() - total.max()
    for column in dataset.X.T:
        for cut in np.unique(column)[:-1]:
            sides = [np.bincount(dataset.y[at], dataset.weight[at], 2) for at in (column <= cut, column > cut)]
            best = min(best, sum(side.sum() - side.max() for side in sides))
    return best


@pytest.mark.parametrize(
    ("scheme", "share"), [("convex_hull:share=0.05", 0.05), ("convex_hull:share=0.2", 0.2), ("balanced:part=20", 0.2)]
)
def test_no_more_than_the_share_is_kept_where_hulls_say_nothing(scheme, share):
    dataset = data(MANY, MANY[:, 0] + MANY[:, 1] > 0)
    part = select_rows(dataset, scheme, 1, jobs=1)
    assert 0 < part.n_rows <= share * dataset.n_rows + part.selected.facts["n_clusters"]
    assert part.n_rows < select_rows(dataset, "convex_hull:share=1", 1, jobs=1).n_rows


@given(seed=st.integers(0, 2**32), share=st.sampled_from((0.2, 0.5, 1.0)), rounds=st.integers(1, 4))
@settings(max_examples=12, deadline=None, derandomize=True)
def test_each_round_has_the_share_and_its_rows_weigh_as_those_that_they_stand_for(seed, share, rounds):
    dataset = made(seed, 300)
    scheme, tree = f"coarse_to_fine:share={share},rounds={rounds}", None
    for number in range(1, rounds + 1):
        part = select_rows(dataset, scheme, 2, tree, 1, number)
        stands_for = part.weight / dataset.weight[part.selected.rows]
        of_round = share / (2 if number == rounds - 3 else 1)
        assert part.n_rows == of_round * dataset.n_rows and (stands_for >= 1).all()
        assert stands_for.max() <= 2 / of_round + 2
        for k in (0, 1):
            assert stands_for[part.y == k].sum() == (dataset.y == k).sum()
        tree = odtc.fit(part, "cart", 2).tree


@pytest.mark.parametrize("depth", [0, 2])
def test_what_rows_that_were_drawn_weigh_is_unbiased_and_no_further_off_than_a_plain_sample(depth):
    """Of the rows that another tree has wrong, and of a corner of the columns, over many draws."""
    dataset, other, share, draws = made(4, 400), made(8, 400), 0.1, 500
    tree = odtc.fit(dataset, "cart", depth).tree if depth else None
    wrong = odtc.fit(other, "cart", 2).tree.predict(dataset.X) != dataset.y
    for rows in (wrong, (dataset.X < 4).all(axis=1)):
        found = []
        for number in range(1, draws + 1):
            part = select_rows(dataset, f"coarse_to_fine:rounds=1,share={share}", 2, tree, 1, number + bool(depth))
            at = part.selected.rows
            found.append((part.weight / dataset.weight[at])[rows[at]].sum())
        deviation = np.std(found)
        assert abs(np.mean(found) - rows.sum()) < 4 * deviation / np.sqrt(draws)
        plain = np.sqrt(rows.mean() * (1 - rows.mean()) / (share * dataset.n_rows)) * dataset.n_rows
        assert deviation < 1.1 * plain


def test_rows_with_missing_numbers_are_drawn_as_all_others():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1000, 3))
    y = X[:, 0] > 0
    X[rng.random(X.shape) < 0.2] = np.nan
    assert select_rows(data(X, y), "coarse_to_fine:share=0.05", 2, jobs=1).n_rows == 50


@pytest.mark.parametrize("seed", range(4))
def test_more_rounds_are_never_worse_on_all_rows_than_a_plain_sample(seed):
    dataset = made(seed, 400)
    one, more = (
        odtc.fit(dataset, "dpflow", 2, select=f"coarse_to_fine:share=0.1,rounds={rounds}") for rounds in (1, 5)
    )
    assert more.all_rows.loss <= one.all_rows.loss == more.rounds[2].loss


@given(seed=st.integers(0, 2**32), classes=st.integers(2, 12), share=st.sampled_from((0.01, 0.028, 0.1, 0.37)))
@settings(max_examples=12, deadline=None, derandomize=True)
def test_a_hull_keeps_no_more_than_its_share_of_all_rows_however_many_clusters(seed, classes, share):
    rng = np.random.default_rng(seed)
    y = np.sort(rng.integers(0, classes, 1300) ** 3 % classes)
    y[:classes] = np.arange(classes)
    dataset = data(rng.normal(size=(1300, 3)), y)
    part = select_rows(dataset, f"convex_hull:share={share},beta1=0.1,beta2=0.1", 3, jobs=1)
    assert part.n_rows <= max(classes, share * dataset.n_rows) and set(part.y) == set(range(classes))
    at = first_tree(dataset, 3).apply(dataset.X) * classes + dataset.y
    rows, kept = np.bincount(at), np.bincount(at[part.selected.rows], minlength=at.max() + 1)
    assert (kept < share * rows + 1).all()  # in proportion, but for rounding


def test_rare_classes_and_few_rows_do_not_exceed_the_share():
    """Twelve classes in the leaves of a tree are many clusters; of most no row is needed."""
    rng = np.random.default_rng(1)
    y = np.sort(rng.integers(0, 12, 3000) ** 3 % 12)
    y[:12] = np.arange(12)
    dataset = data(rng.normal(size=(3000, 4)), y)
    done = odtc.fit(dataset, "dpflow", 2, select="coarse_to_fine:share=0.03")
    assert done.dataset.n_rows <= 0.03 * dataset.n_rows and set(done.dataset.y) == set(range(12))


@pytest.mark.parametrize(("n", "least", "most"), [(400, 200, 400), (3000, 500, 1000), (30_000, 1500, 3000)])
def test_without_a_share_the_last_round_may_have_a_tenth_or_a_thousand_rows(n, least, most):
    dataset = made(5, n)
    done = odtc.fit(dataset, "dpflow", 1, select="coarse_to_fine")
    assert least <= done.rounds[-1].n_selected <= most


@pytest.mark.parametrize("seed", range(4))
def test_few_rows_are_enough_for_a_noisy_exclusive_or(seed):
    """Of 400 rows a tenth would be 40, which noise of a fifth hides the classes in."""
    dataset = made(seed, 400)
    done = odtc.fit(dataset, "dpflow", 2, select="coarse_to_fine")
    X = np.random.default_rng(seed + 100).integers(0, 9, (2000, 2)).astype(float)
    assert (done.tree.predict(X) == ((X[:, 0] > 4) ^ (X[:, 1] > 3))).mean() > 0.9  # a cut off by a value costs .05


@given(
    seed=st.integers(0, 2**32),
    scheme=st.sampled_from(
        ("coarse_to_fine:share=0.3", "coarse_to_fine:share=0.2,parts=3", "convex_hull:share=0.1", "iterative")
    ),
)
@settings(max_examples=12, deadline=None, derandomize=True)
def test_the_bound_of_all_rows_never_exceeds_the_least_loss_of_any_tree(seed, scheme):
    dataset = made(seed)
    done = odtc.fit(dataset, "dpflow", 1, select=scheme)
    assert done.verified and done.all_rows.bound is not None
    assert 0 <= done.all_rows.bound <= least_loss(dataset) <= done.all_rows.loss


def test_disjoint_parts_prove_more_than_one_sample():
    dataset = made(1, 400)
    least = least_loss(dataset)
    bounds = [
        odtc.fit(dataset, "dpflow", 1, select=f"coarse_to_fine:share=0.2{more}").all_rows.bound
        for more in ("", ",parts=4")
    ]
    assert bounds[0] < bounds[1] <= least


def test_two_blobs_are_proved_by_the_first_sample():
    X = np.concatenate([np.linspace(0, 1, 200), np.linspace(5, 6, 200)])[:, None]
    dataset = data(X, X[:, 0] > 3)
    done = odtc.fit(dataset, "dpflow", 1, select="coarse_to_fine:share=0.2")
    assert done.all_rows.loss == done.all_rows.bound == 0 and done.dataset.n_rows <= 0.2 * dataset.n_rows


def test_nothing_is_said_of_all_rows_under_constraints_a_price_of_nodes_or_some_of_the_thresholds():
    dataset = made(2)
    for more in ({"constraints": ["leaf_rows >= 3"]}, {"params": {"lambda_": 0.01}}, {"encoding": "auto:bins=3"}):
        assert odtc.fit(dataset, "dpflow", 1, select="coarse_to_fine", **more).all_rows.bound is None


def test_all_thresholds_are_told_from_some():
    from odtc.data.encoding import encode

    dataset = data(np.arange(12.0).reshape(6, 2) % 5, [0, 1, 0, 1, 1, 0])
    assert asks_all(encode(dataset, "auto"), dataset)
    assert not asks_all(encode(dataset, "auto:bins=2"), dataset)
    levels = data([[0, 1], [1, 2], [2, 0], [0, 2]], [0, 1, 0, 1], ["categorical", "numeric"])
    assert asks_all(encode(levels, "auto"), levels)


@pytest.mark.parametrize("words", ["share=0", "share=2", "rounds=0", "parts=1", "gap=-1", "gap=1"])
def test_options_that_fit_nothing_are_refused(words):
    with pytest.raises(ChoiceError, match="expected share in"):
        odtc.fit(made(0), "dpflow", 1, select=f"coarse_to_fine:{words}")


def test_tries_have_the_whole_share_behind_one_round_of_half_of_it_and_begin_alike():
    dataset = made(3, 400)
    three, five = (odtc.fit(dataset, "dpflow", 2, select=f"coarse_to_fine:share=0.1,tries={n}") for n in (3, 5))
    assert [one.n_selected for one in five.rounds] == [20, 40, 40, 40, 40, 40]
    assert [one.loss for one in three.rounds] == [one.loss for one in five.rounds[:4]]
    assert five.all_rows.loss == min(one.loss for one in five.rounds)
    with pytest.raises(ChoiceError, match="tries=0"):
        select_rows(dataset, "coarse_to_fine:tries=0", 2)


def test_of_several_models_the_tree_that_loses_least_of_all_rows_is_handed_in():
    """A line that thresholds have to climb in steps, and bands of one column."""
    rng = np.random.default_rng(5)
    X, how = rng.normal(size=(600, 2)), {"select": "coarse_to_fine:share=0.1", "choice": "training"}
    how |= {"restarts": 1, "seconds": 600}
    taken = set()
    for y in (X[:, 0] + X[:, 1] > 0, np.floor(1.4 * X[:, 0]) % 2 == 0):
        dataset = data(X, y)
        done = odtc.fit(dataset, "dpflow,oblique_search", 2, **how)
        alone = odtc.fit(dataset, "dpflow", 2, select=how["select"]), odtc.fit(dataset, "oblique_search", 2, **how)
        assert done.all_rows.loss == min(one.all_rows.loss for one in alone)
        assert [one.loss for one in done.rounds] == [one.loss for each in alone for one in each.rounds]
        assert [one.model for one in done.rounds] == ["dpflow"] * 4 + ["oblique_search"] * 4
        assert done.all_rows.bound == alone[0].all_rows.bound and done.dataset.n_rows <= 60
        taken.add(done.problem.formulation)
    assert taken == {"dpflow", "oblique_search"}


def test_several_models_need_rounds_and_a_parameter_one_of_them():
    dataset = made(0)
    for select in (None, "convex_hull"):
        with pytest.raises(ChoiceError, match="or several with a selection in rounds"):
            odtc.fit(dataset, "dpflow,oblique_search", 2, select=select)
    with pytest.raises(ChoiceError, match="'mu', which none of them has"):
        odtc.fit(dataset, "dpflow,oblique_search", 2, select="coarse_to_fine", params={"mu": 0.1})
    with pytest.raises(ChoiceError, match="did you mean"):
        odtc.fit(dataset, "dpflow,oblique_serch", 2, select="coarse_to_fine")
