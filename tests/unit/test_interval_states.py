"""The states of a certificate over thresholds, level by level, against trying every tree of three levels."""

from functools import cache

import numpy as np
import pytest

from odtc.errors import CertificateError
from odtc.formulations.dpflow.threshold_search import ThresholdSearch
from odtc.formulations.dpflow.write_certificate import certify_search
from odtc.verification.certificate import check
from odtc.verification.interval_bound import IntervalBound
from odtc.verification.node_cuts import Rows
from odtc.verification.threshold_columns import distinct_columns
from tests.threshold_problems import draw


class Drawn:
    """Rows with three columns and a fourth that mirrors the first, and what their best trees cost."""

    def __init__(self, seed: int, least: int):
        rng = np.random.default_rng(seed)
        n, labels = int(rng.integers(12, 20)), int(rng.integers(2, 4))
        cells = np.stack([rng.integers(0, most, n) for most in (5, 2, 3)], axis=1)
        self.cells = np.column_stack([cells, 4 - cells[:, 0]])
        loss = np.ones((n, labels)) * rng.integers(1, 5, n)[:, None]
        loss[np.arange(n), rng.integers(0, labels, n)] = 0
        self.loss, self.least, self.price = loss, least, float(rng.choice([0, 1]))
        self.count = rng.integers(1, 3, n) if least > 1 else np.ones(n, np.int64)
        self.rows = Rows(distinct_columns(self.cells), loss, self.count.astype(np.int64), self.price, least)
        self.every = tuple(range(n))
        self.best = cache(self._best)

    def _best(self, here: tuple, height: int, least: int) -> float:
        members = np.array(here, int)
        costs = [self.loss[members].sum(axis=0).min() if self.count[members].sum() >= least else np.inf]
        if height:
            costs += [
                self.price + self.best(one, height - 1, least) + self.best(two, height - 1, least)
                for _, _, one, two in self.cuts(here)
            ]
        return float(min(costs))

    def cuts(self, here: tuple, columns=(0, 1, 2)):
        """(column, cut, the rows on the left, those on the right) of each cut that has rows on both sides."""
        for column in columns:
            numbers = self.cells[list(here), column]
            for cut in sorted(set(numbers.tolist()))[:-1]:
                left = self.cells[:, column] <= cut
                yield column, cut, tuple(i for i in here if left[i]), tuple(i for i in here if not left[i])

    def states(self, claim: int, points, free: str = "") -> list[str]:
        """Texts of a certificate whose root names a state of its own for each side of these points, with what the best
        tree of two levels costs there."""
        root, below = [f"{claim}"], []
        for column, cut, *sides in points:
            named = []
            for side in sides:
                paid = self.best(side, 2, 1 if free else self.least)
                below += [f"{free}{paid:.0f}"] if np.isfinite(paid) else []
                named.append(len(below) if np.isfinite(paid) else 0)
            root.append(f"{column},{cut},{named[0]},{named[1]}")
        return [",".join(root), ";".join(below)]

    def accepts(self, texts: list[str]) -> bool:
        try:
            IntervalBound(texts, self.rows, 3).of_root()
        except CertificateError:
            return False
        return True


@pytest.mark.parametrize("columns", [(0, 1, 2), (3, 1, 2)], ids=["as it is", "mirrored"])
@pytest.mark.parametrize("least", [1, 4])
@pytest.mark.parametrize("seed", range(6))
def test_the_best_tree_is_claimed_and_no_dearer_one(seed, least, columns):
    drawn = Drawn(seed, least)
    best = int(drawn.best(drawn.every, 3, least))
    points = list(drawn.cuts(drawn.every, columns))
    assert drawn.accepts(drawn.states(best, points))
    assert not drawn.accepts(drawn.states(best + 1, points))
    texts = drawn.states(best, points)
    for at, paid in list(enumerate(texts[1].split(";")))[::5]:  # each state is as dear as it can be
        forged = [*texts[1].split(";")[:at], f"{int(paid) + 1}", *texts[1].split(";")[at + 1 :]]
        assert not drawn.accepts([texts[0], ";".join(forged)])


@pytest.mark.parametrize("columns", [(0, 1, 2), (3, 1, 2)], ids=["as it is", "mirrored"])
@pytest.mark.parametrize("least", [1, 3, 5])
@pytest.mark.parametrize("seed", range(10))
def test_what_follows_for_cuts_that_are_not_named_is_no_more_than_they_cost(seed, least, columns):
    """With a least number of rows in leaves fewer rows may cost more, so that bounds of such trees carry less far."""
    drawn, rng = Drawn(100 + seed, least), np.random.default_rng(seed)
    best = int(drawn.best(drawn.every, 3, least))
    for share in (0.2, 0.4, 0.6, 0.8, 0.9, 0.9):
        points = [point for point in drawn.cuts(drawn.every, columns) if rng.random() < share]
        for free in ("", "f")[: 1 + (least > 1)]:
            assert not drawn.accepts(drawn.states(best + 1, points, free))


@pytest.mark.parametrize("seed", range(10))
def test_a_bound_without_a_least_number_of_rows_is_of_all_trees(seed):
    drawn = Drawn(300 + seed, 3)
    for column, cut, *sides in drawn.cuts(drawn.every):
        for names, side in (("1,0", sides[0]), ("0,1", sides[1])):
            free, bound = drawn.best(side, 2, 1), drawn.best(side, 2, 3)
            assert drawn.accepts([f"0,{column},{cut},{names}", f"f{free:.0f}"])
            assert not drawn.accepts([f"0,{column},{cut},{names}", f"f{free + 1:.0f}"])
            if free < bound < np.inf:
                assert drawn.accepts([f"0,{column},{cut},{names}", f"{bound:.0f}"])
                assert not drawn.accepts([f"0,{column},{cut},{names}", f"f{bound:.0f}"])


@pytest.mark.parametrize("least", [2, 3])
def test_a_bound_of_all_trees_follows_from_none_of_trees_with_a_least_number_of_rows(least):
    drawn = Drawn(5, least)
    column, cut, left, _ = next(drawn.cuts(drawn.every))
    below = next(drawn.cuts(left, (1, 2)))
    texts = [f"0,{column},{cut},1,0", f"f0,{below[0]},{below[1]},1,0"]
    IntervalBound([*texts, "f0"], drawn.rows, 4).of_root()
    with pytest.raises(ValueError, match="a bound without a least number of rows follows from no bound with one"):
        IntervalBound([*texts, "0"], drawn.rows, 4).of_root()


@pytest.mark.parametrize("least", [1, 3])
@pytest.mark.parametrize("seed", range(6))
def test_trees_of_all_rows_with_one_level_less_bound_both_sides_of_each_cut(seed, least):
    drawn = Drawn(500 + seed, least)
    shallow, best = (int(drawn.best(drawn.every, height, least)) for height in (2, 3))
    assert drawn.accepts(["0,4,0,0,1", f"{shallow}"])
    assert not drawn.accepts(["0,4,0,0,1", f"{shallow + 1}"])
    points = list(drawn.cuts(drawn.every))
    for share in (0.0, 0.3, 0.6):
        root, below = drawn.states(best + 1, points[: int(share * len(points))])
        number = below.count(";") + 2 if below else 1
        assert not drawn.accepts([f"{root},4,0,0,{number}", f"{below}{';' if below else ''}{shallow}"])
    cheap = int(min(shallow - drawn.loss.max(axis=1).sum() + drawn.price, best))
    assert cheap <= 0 or drawn.accepts([f"{cheap},4,0,0,1", f"{shallow}"])


@pytest.mark.parametrize("seed", range(6))
def test_three_levels_are_counted_from_the_data_if_no_state_is_named(seed):
    """And no deeper ones."""
    drawn = Drawn(600 + seed, 1)
    free, deeper = (int(drawn.best(drawn.every, levels, 1)) for levels in (3, 4))
    assert drawn.accepts([f"{free}"]) and drawn.accepts([f"f{free}"])
    assert not drawn.accepts([f"{free + 1}"]) and not drawn.accepts([f"f{free + 1}"])
    if deeper < free:
        with pytest.raises(CertificateError, match="by its own numbers"):
            IntervalBound([f"{free}"], drawn.rows, 4).of_root()


@pytest.mark.parametrize("least", [1, 4])
@pytest.mark.parametrize("seed", range(6))
def test_trees_of_one_test_and_of_two_after_each_other_need_no_states(seed, least):
    drawn = Drawn(400 + seed, least)
    for depth in (1, 2):
        best = int(drawn.best(drawn.every, depth, least))
        assert IntervalBound([f"{best}"], drawn.rows, depth).of_root() == best
        with pytest.raises(CertificateError):
            IntervalBound([f"{best + 1}"], drawn.rows, depth).of_root()


def shared(drawn: Drawn):
    """(texts of a state that two cuts of a column lead to, its exact bound): the rows that both leave."""
    for column in range(3):
        cuts = [cut for cut in drawn.cuts(drawn.every) if cut[0] == column]
        for one, two in zip(cuts, cuts[1:]):
            for side, (fewer, more) in ((2, (one, two)), (3, (two, one))):
                paid = [int(drawn.best(cut[side], 2, 1)) for cut in (fewer, more)]
                if paid[0] < paid[1]:
                    ends = ("1,0", "0,1")[side - 2]
                    root = ",".join(["0", *(f"{cut[0]},{cut[1]},{ends}" for cut in (fewer, more))])
                    yield root, paid


@pytest.mark.parametrize("seed", range(12))
def test_a_state_that_several_cuts_lead_to_holds_the_rows_that_all_leave(seed):
    drawn = Drawn(200 + seed, 1)
    found = list(shared(drawn))
    assert found
    for root, (paid, more) in found:
        assert drawn.accepts([root, f"{paid}"])
        assert not drawn.accepts([root, f"{more}"])


@pytest.mark.parametrize("least", [2, 3])
def test_with_a_least_number_of_rows_no_two_cuts_lead_to_one_state(least):
    drawn = Drawn(1, least)
    found = list(shared(drawn))
    assert found
    for root, _ in found:
        with pytest.raises(ValueError, match="different cuts lead to state 1, which leave other rows"):
            IntervalBound([root, "0,0,0,0,0"], drawn.rows, 4).of_root()


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["1,4,0,0,0", "1"], "without a split all rows are on the right"),
        (["1,4,0,1,1", "1"], "without a split all rows are on the right"),
        (["1,5,0,0,1", "1"], "it evaluates column 5 of 4"),
        (["0,0,9,0,1", "1"], "separates no rows"),
        (["0,0,1,0,2", "1"], "names state 2 of a level that has 1"),
        (["0,0,1,0,1", "0;0"], "nothing leads to entry 2"),
        (["0,0,1,0,1", "0,0,1,0,0"], "a state of the last levels names other states"),
        (["1;1", "1"], "expected one state of all rows"),
        (["1", "1", "1"], "expected states of the levels"),
        (["1,0,1", "1"], "expected a bound and four whole numbers"),
        (["-1", "1"], "expected a bound and four whole numbers"),
    ],
    ids=str,
)
def test_states_that_are_no_states_are_refused_in_words(texts, words):
    with pytest.raises(ValueError, match=words):
        IntervalBound(texts, Drawn(0, 1).rows, 3).of_root()


def test_without_a_least_number_of_rows_a_bound_of_all_trees_is_one_like_others():
    drawn = Drawn(5, 1)
    column, cut, left, _ = next(drawn.cuts(drawn.every))
    below = next(drawn.cuts(left, (1, 2)))
    for one, two, three in (("", "f", ""), ("f", "", "f"), ("f", "f", ""), ("", "", "f")):
        texts = [f"{one}0,{column},{cut},1,0", f"{two}0,{below[0]},{below[1]},1,0", f"{three}0"]
        assert IntervalBound(texts, drawn.rows, 4).of_root() == 0


def test_a_state_without_rows_is_bounded_by_nothing():
    """The two sides of a cut have no row in common."""
    drawn = Drawn(5, 1)
    column, cut, *_ = next(drawn.cuts(drawn.every))
    assert IntervalBound([f"0,{column},{cut},1,1", "0"], drawn.rows, 3).of_root() == 0
    for texts in ([f"0,{column},{cut},1,1", "1"], [f"0,{column},{cut},1,1", f"0,{column},{cut},0,0", ""]):
        with pytest.raises(ValueError, match="a state holds no rows"):
            IntervalBound(texts, drawn.rows, 4).of_root()


def test_a_cut_that_separates_no_row_of_a_state_says_nothing_of_it():
    """All rows of the state would be on one side of it, which would bound the other cuts of a column."""
    drawn = Drawn(5, 1)
    values = sorted(set(drawn.cells[:, 0].tolist()))
    low, high = values[0], values[-2]
    for root, again in ((f"0,0,{low},1,0", high), (f"0,0,{high},0,1", low), (f"0,0,{low},1,0", low)):
        for names in ("1,0", "0,1", "0,0"):
            with pytest.raises(ValueError, match="it evaluates a split that separates no rows"):
                IntervalBound([root, f"0,0,{again},{names}", "0"], drawn.rows, 4).of_root()


@pytest.mark.parametrize("seed", range(4))
def test_with_a_least_number_of_rows_the_same_cut_may_lead_to_a_state_twice(seed):
    drawn = Drawn(seed, 2)
    for column, cut, left, _ in list(drawn.cuts(drawn.every))[:4]:
        paid = drawn.best(left, 2, 2)
        if np.isfinite(paid):
            assert drawn.accepts([f"0,{column},{cut},1,0,{column},{cut},1,0", f"{paid:.0f}"])
    for root, (paid, more) in shared(drawn):  # a bound of all trees is one of fewer rows
        assert drawn.accepts([root, f"f{paid}"]) and not drawn.accepts([root, f"f{more}"])


def test_the_end_is_looked_for_before_each_state():
    drawn, looks = Drawn(0, 1), []
    texts = drawn.states(0, list(drawn.cuts(drawn.every)))
    IntervalBound(texts, drawn.rows, 3, lambda: looks.append(1)).of_root()
    assert len(looks) == 2 + texts[1].count(";")


@pytest.mark.parametrize("seed", [292, 919, 938])
def test_bounds_without_a_least_number_of_rows_are_explained_where_a_kernel_found_them(seed):
    """A kernel found them over few binary columns, so no splits were noted, and the certificate was refused."""
    problem = draw(seed, depths=(3, 4), wide=True)
    search = ThresholdSearch(problem)
    found = search.run()
    assert search.search.relaxed is not None and search.search.relaxed.nodes.solves(3)
    assert check(certify_search(search, found.heap), problem.encoded.dataset).optimal
