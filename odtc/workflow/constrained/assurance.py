"""Constraints that new rows satisfy, with a confidence: exact tests on rows that had no part in the search.

Every rate that a constraint compares is a share of rows. If k of n independent rows are counted, the share in the
population is at least the number p at which k or more have a probability of α (Clopper and Pearson 1934), except with
a probability of α or less; the bound from above is found in the same way. All bounds of all constraints share 1 -
confidence evenly (Bonferroni), so everything that is called assured is true at once with this confidence. The tree may
depend on the training rows in any way.
"""

from dataclasses import replace
from functools import partial
from math import ceil

import numpy as np

from odtc.base.text import show_figure
from odtc.base.value_class import value_class
from odtc.base.wording import option
from odtc.data.dataset import NUMERIC, Dataset
from odtc.errors import ChoiceError, OdtcError
from odtc.problem.constraints.groups import Groups, groups, members
from odtc.problem.constraints.kind import Constraint, OnLeafProportions, OnPredictions, OnProportions, Share, ShareSum
from odtc.problem.problem import Problem
from odtc.trees.tree import Tree
from odtc.verification.verify import RowPredictions

ASSUMPTION = (
    "new rows are drawn independently from the source of the test rows, and the test rows had no part in the choice of "
    "the tree"
)

INTERVAL_CONFIDENCE = 0.95  # confidence of the interval of one share
MOST_SCALE = 1e5  # if more than this many times the test rows are needed, the number is not reported
SOME = 0.5  # if more than this share of the test rows are training rows, too, this is reported
FINE = 1.01  # relative precision of the number of rows needed
SLACK = 1e-12  # amount by which a sum of rounded shares may exceed the required number


@value_class
class Assured:
    """Result of the test of one constraint.

    Attributes
    ----------
    constraint : Constraint
    figure : float or None
        The bound from the test: the figure on new rows is this or better. None if no test is known.
    why : str
        Why the constraint cannot be assured; "" if it is assured.
    test : float or None
        The figure on the test rows themselves.
    rows, rows_needed : int or None
        The number of test rows, and about how many with the same shares would assure the constraint; None if no number
        would.
    """

    constraint: Constraint
    figure: float | None
    why: str = ""
    test: float | None = None
    rows: int | None = None
    rows_needed: int | None = None

    @property
    def holds(self) -> bool:
        return not self.why

    def to_json(self) -> dict:
        """Return the entry as JSON."""
        return {
            "constraint": str(self.constraint),
            "assured": self.holds,
            "figure": self.figure,
            "test": self.test,
            "rows": self.rows,
            "rows_needed": self.rows_needed,
            "why": self.why or None,
        }


def no_rows() -> ChoiceError:
    """Return the error for a confidence without test rows, which must have had no part in the choice of the tree."""
    return ChoiceError(
        "a confidence needs rows that had no part in the choice of the tree: set some aside "
        f"({option('hold_out', 0.3)}), or name their file with {option('test')}"
    )


def assurances(
    problem: Problem,
    tree: Tree,
    labelled: Dataset | None,
    confidence: float,
    asked: tuple[Constraint, ...] | None = None,
) -> list[Assured]:
    """Return one entry for each constraint on new rows.

    Parameters
    ----------
    problem : Problem
        The problem that the tree was fitted for.
    tree : Tree
    labelled : Dataset or None
        Rows that had no part in the choice of the tree.
    confidence : float
        The probability, before the rows are drawn, that all results that are then called assured are true.
    asked : tuple of Constraint or None
        The constraints to assure; by default the constraints of the problem.

    Raises
    ------
    ChoiceError
        If there are no such rows, or the confidence is not a probability.
    """
    expect_share(confidence)
    if labelled is None:
        raise no_rows()
    given = [one for one in asked or problem.constraints if speaks_of_new_rows(one)]
    found = _sums_of_each(given, problem, tree, labelled)
    alpha = _of_each_bound(found, confidence)
    return [_assured(one, found[one], alpha, labelled.n_rows) for one in given]


def speaks_of_new_rows(given: Constraint) -> bool:
    """Return whether a constraint is on predictions or on shares of rows. Other constraints are on the tree itself, or
    count training rows, so they say nothing about new rows."""
    return given.module.can(OnPredictions) or given.module.can(OnLeafProportions)


def assumption(problem: Problem, labelled: Dataset, asked: tuple[Constraint, ...] | None = None) -> str:
    """Return the assumption on new rows, as a text to follow "if"."""
    given = [one for one in asked or problem.constraints if speaks_of_new_rows(one)]
    unspoken = []
    if any(one.module.compared(one) for one in given):
        unspoken.append("groups that neither training nor test rows have")
    if labelled.n_dropped:
        unspoken.append(f"rows with missing cells, of which {labelled.n_dropped:,} were left out of the test")
    return "; it says nothing of ".join([ASSUMPTION, " and ".join(unspoken)] if unspoken else [ASSUMPTION])


def seen_before(trained: Dataset, labelled: Dataset) -> str:
    """Return a remark on test rows that are training rows, too; "" if chance explains them.

    Rows with few different cells are equal by chance, so equal rows are counted only if most training rows differ from
    each other.

    Parameters
    ----------
    trained, labelled : Dataset
        With columns of the same coding.

    Raises
    ------
    ChoiceError
        If all test rows are training rows.
    """
    of_training, of_test = (_row_texts(some) for some in (trained, labelled))
    known = set(of_training)
    seen = sum(row in known for row in of_test)
    if len(known) <= SOME * len(of_training) or seen <= SOME * len(of_test):
        return ""
    if seen == len(of_test):
        raise ChoiceError(
            f"expected test rows that had no part in the choice of the tree, got {seen:,} that are training rows, too; "
            f"name another file with {option('test')}, or set rows aside with {option('hold_out', 0.3)}"
        )
    return (
        f"{seen:,} of the {len(of_test):,} test rows are training rows, too: their results are not assured, unless the "
        "rows were drawn again"
    )


def _row_texts(rows: Dataset) -> list[bytes]:
    cells = np.column_stack([rows.X, rows.auxiliary_X, rows.y.astype(float)])
    return [row.tobytes() for row in np.ascontiguousarray(cells)]


def expect_share(confidence: float) -> None:
    """Raise ChoiceError for a confidence that is not a probability."""
    if not 0 < confidence < 1:
        raise ChoiceError(f"expected a {option('confidence')} between 0 and 1, such as 0.95, got {confidence:g}")


def widths(problem: Problem, tree: Tree, n_rows: int, confidence: float) -> dict[Constraint, float]:
    """Return the width of the test of each constraint on `n_rows` rows: by how much its bound would be worse than the
    figure, if the shares of the tree were the same as on its training rows; 0 if no test is known.

    Parameters
    ----------
    problem : Problem
    tree : Tree
        Of the problem.
    n_rows : int
        Rows of the test.
    confidence : float
    """
    trained = problem.encoded.dataset
    given = [one for one in problem.constraints if speaks_of_new_rows(one)]
    found = _sums_of_each(given, problem, tree, trained)
    alpha, scale = _of_each_bound(found, confidence), n_rows / trained.n_rows
    short = dict.fromkeys(problem.constraints, 0.0)
    for one, sums in found.items():
        if not isinstance(sums, str):
            short[one] = max((_bound_of(each, alpha, scale) - _value_of(each) for each in sums), default=0.0)
    return short


def never_assured(problem: Problem, labelled: Dataset, confidence: float) -> list[str]:
    """Find the constraints that a test on these rows cannot assure for any tree; state the rows that are too few, and
    how many are needed.

    The best lower bound on a share is α^(1/n), which is reached if all of n rows are counted. The difference of two
    shares has a bound in both directions; the widths of both shares add up to at most twice the required number, and
    each is at least 1 - α^(1/n).

    Parameters
    ----------
    problem : Problem
    labelled : Dataset
        The rows of the test.
    confidence : float

    Returns
    -------
    list of str
        One sentence each.
    """
    given = [one for one in problem.constraints if one.module.can(OnProportions)]
    rows = RowPredictions(problem.encoded, labelled, np.zeros(labelled.n_rows, np.int32))  # shares of all such rows
    found = {one: _sums(one, problem, rows) for one in given}
    alpha = _of_each_bound(found, confidence)
    told = {}
    for one, sums in found.items():
        counted = [] if isinstance(sums, str) else [(each, [int(s.among.sum()) for s in each.shares]) for each in sums]
        for each, counts in sorted(counted, key=lambda of: min(of[1])):
            if min(counts) and _least(each, counts, alpha) > each.upper + SLACK:
                told.setdefault(one, _never_text(one, each, counts, alpha))
    return list(told.values())


def _least(each: ShareSum, counts: list[int], alpha: float) -> float:
    """Return the least bound that a sum can have with `counts` rows for each share, for any number of counted rows."""
    certain = [alpha ** (1 / n) for n in counts]
    coefs = [share.coef for share in each.shares]
    if min(coefs) < 0 < max(coefs):  # a difference; another sum has it the other way round
        return sum(abs(coef) * (1 - sure) for coef, sure in zip(coefs, certain)) / 2
    return sum(coef * (1 - sure if coef > 0 else sure) for coef, sure in zip(coefs, certain))


def _never_text(given: Constraint, each: ShareSum, counts: list[int], alpha: float) -> str:
    few = min(counts)
    of = next(share.of for share, n in zip(each.shares, counts) if n == few)

    def may(n: int) -> bool:
        return _least(each, [max(n, count) for count in counts], alpha) <= each.upper + SLACK

    low, high = few, few
    while not may(high) and high < MOST_SCALE * few:
        low, high = high, 2 * high
    if not may(high):
        return f"{given}: no number of test rows can assure it; require less"
    while high > low + 1:
        middle = (low + high) // 2
        low, high = (low, middle) if may(middle) else (middle, high)
    return (
        f"{given}: this test cannot assure it for any tree, because it has {few:,} {'row' if few == 1 else 'rows'} "
        f"{of}; it needs {high:,} or more: use more rows, or require less"
    )


def _sums_of_each(
    given: list[Constraint], problem: Problem, tree: Tree, labelled: Dataset
) -> "dict[Constraint, list[ShareSum] | str]":
    rows = RowPredictions(problem.encoded, labelled, tree.predict(labelled.X))
    return {one: _sums(one, problem, rows, tree) for one in given}


def _of_each_bound(found: "dict[Constraint, list[ShareSum] | str]", confidence: float) -> float:
    """Return the probability with which each bound may fail, if all together fail with a probability of at most 1 -
    confidence."""
    told = [each for sums in found.values() if not isinstance(sums, str) for each in sums]
    return (1 - confidence) / max(1, len({id(share) for each in told for share in each.shares}))


def assured_text(entry: Assured, confidence: float) -> str:
    """Return an entry in words, to follow "assured" or "unsure"."""
    if entry.figure is None:
        return f"{entry.constraint}: {entry.why}"
    side = "or more" if entry.constraint.op == ">=" else "or less"
    figure = (
        f"{show_figure(entry.figure)} {side} on new rows with confidence {confidence:g} ({show_figure(entry.test)} on "
        "the test rows)"
    )
    return f"{entry.constraint}: {figure}{f', {entry.why}' if entry.why else ''}"


def lower_bound(counted: float, among: float, alpha: float) -> float:
    """Return the Clopper-Pearson bound from below: the share is less with a probability of at most alpha."""
    from scipy.special import betaincinv

    return 0.0 if not counted else float(betaincinv(counted, among - counted + 1, alpha))


def upper_bound(counted: float, among: float, alpha: float) -> float:
    """Return the Clopper-Pearson bound from above."""
    return 1.0 - lower_bound(among - counted, among, alpha)


def share_interval(counted: int, among: int) -> tuple[float, float] | None:
    """Return the exact binomial interval of a share at 95 % (Clopper and Pearson 1934).

    Parameters
    ----------
    counted, among : int
        This many of the rows are counted.

    Returns
    -------
    tuple of float or None
        Its ends, between 0 and 1; None without rows.
    """
    outside = (1 - INTERVAL_CONFIDENCE) / 2
    return (lower_bound(counted, among, outside), upper_bound(counted, among, outside)) if among else None


def rate_interval(
    given: Constraint, problem: Problem, tree: Tree, labelled: Dataset | None
) -> tuple[float, float] | None:
    """Return the interval of the rate of a constraint on test rows (`share_interval`); None if it does not compare one
    rate of unweighted rows, such as a difference of groups."""
    labelled = None if labelled is None else labelled.with_known_labels()
    if labelled is None or not given.module.can(OnProportions):
        return None
    sums = _sums(given, problem, RowPredictions(problem.encoded, labelled, tree.predict(labelled.X)), tree)
    if isinstance(sums, str) or len(sums) != 1 or len(sums[0].shares) != 1:
        return None
    (share,) = sums[0].shares
    return share_interval(int((share.among & share.counted).sum()), int(share.among.sum()))


def _sums(given: Constraint, problem: Problem, rows: RowPredictions, tree: Tree | None = None) -> list[ShareSum] | str:
    """Return the sums of shares of a constraint, or why there are none; shares of leaves need the tree."""
    data = rows.dataset
    by_leaf = given.module.can(OnLeafProportions)
    if not by_leaf and not given.module.can(OnProportions):
        return f"no exact test of {given.name} is known"
    if (data.y < 0).any():
        return "test rows have labels that no class of the tree is"
    if (data.weight != 1).any() or (
        problem.encoded.dataset is not None and (problem.encoded.dataset.weight != 1).any()
    ):
        return "rows count by weight, and the test is one of rows"
    for text in given.module.compared(given):
        for features, cells in ((data.features, data.X), (data.auxiliary, data.auxiliary_X)):
            for feature, column in zip(features, cells.T):
                if text.startswith(feature.name) and feature.kind != NUMERIC and (column < 0).any():
                    return f"test rows have levels of {feature.name!r} that no training row has"
    predicted = np.asarray(rows.predicted)
    if by_leaf:
        labels = np.array([leaf.label for leaf in tree.leaves()])
        return given.module.leaf_proportions(rows.rowwise, given, predicted, tree.apply(data.X), labels)
    try:
        found = tuple(_groups_of_both(problem, data, text) for text in given.module.compared(given))
    except OdtcError as refused:
        return f"the test rows do not show its groups ({refused})"
    return given.module.proportions(replace(rows.rowwise, groups=found), given, predicted)


def _groups_of_both(problem: Problem, data: Dataset, text: str) -> Groups:
    """Return the groups of rows of this data set, together with groups that only the training rows or the levels of the
    column have. Without rows, the rates of such groups cannot be tested."""
    of, names = members(data, text)
    known = list(groups(problem.encoded, text).names)
    for feature in (*data.features, *data.auxiliary):
        if feature.name == text and feature.kind != NUMERIC:
            known += map(feature.show, range(len(feature.levels)))
    weight = {name: np.zeros(data.n_rows) for name in known}
    for at, name in enumerate(names):
        if (here := of == at).any():
            weight[name] = here.astype(float)
    return Groups(text, tuple(weight), np.stack(list(weight.values()), axis=1))


def _assured(given: Constraint, sums: list[ShareSum] | str, alpha: float, n_rows: int) -> Assured:
    if isinstance(sums, str):
        return Assured(given, None, sums)
    if unseen := dict.fromkeys(share.of for each in sums for share in each.shares if not share.among.any()):
        return Assured(given, None, f"as there is no test row {' and none '.join(unseen)}", rows=n_rows)

    def assures(scale: float) -> bool:
        return all(_bound_of(each, alpha, scale) <= each.upper + SLACK for each in sums)

    best = -1.0 if given.op == ">=" else 0.0  # of no shares, for example of leaves that predict a class
    reached, shown = (max(map(of, sums), default=best) for of in (partial(_bound_of, alpha=alpha), _value_of))
    figure, test = (abs(value) if given.op == ">=" else value for value in (reached, shown))
    if assures(1.0):
        return Assured(given, figure, "", test, n_rows, n_rows)
    if not assures(MOST_SCALE):
        if any(_value_of(each) > each.upper + SLACK for each in sums):
            return Assured(given, figure, "as the test rows themselves do not satisfy it", test, n_rows)
        return Assured(given, figure, "as the test rows satisfy it with nothing to spare", test, n_rows)
    low, high = 1.0, MOST_SCALE
    while high > low * FINE:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if assures(middle) else (middle, high)
    needed = ceil(n_rows * high)
    why = f"as {n_rows} test rows are too few, and about {needed:,} with the same shares would be enough"
    return Assured(given, figure, why, test, n_rows, needed)


def _value_of(each: ShareSum) -> float:
    """Return the sum of coef · share on the rows themselves."""
    return sum(share.coef * share.value for share in each.shares)


def _bound_of(each: ShareSum, alpha: float, scale: float = 1.0) -> float:
    """Return the sum of the bounds of its shares (`_bound`)."""
    return sum(_bound(share, alpha, scale) for share in each.shares)


def _bound(share: Share, alpha: float, scale: float = 1.0) -> float:
    """Return the greatest value of coef · share, except with a probability of at most alpha, if there were `scale`
    times as many rows."""
    among, counted = scale * int(share.among.sum()), scale * int((share.among & share.counted).sum())
    return share.coef * (upper_bound if share.coef > 0 else lower_bound)(counted, among, alpha)
