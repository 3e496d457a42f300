"""The certificate of a tree whose leaves cost sums (odtc.verification.leaf_sums), from the cuts its search tried."""

import contextlib
import math
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from odtc.algorithms.moments.search import MomentSearch
from odtc.algorithms.moments.tree_limits import Place, fitted
from odtc.base.whole_numbers import whole_numbers
from odtc.base.wording import command, option
from odtc.data.dataset import Dataset
from odtc.data.task import TASKS
from odtc.data.tasks import linear, regression, survival
from odtc.errors import CertificateError, ChoiceError
from odtc.formulations.dpflow.certificate_columns import CertificateColumns
from odtc.formulations.dpflow.forms.moments_limits import by_places
from odtc.formulations.dpflow.write_certificate import head, require_splits_of_columns
from odtc.problem.branch_penalty import exact_share
from odtc.problem.constraints.constraint import least_rows
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree
from odtc.verification.coverage import terms_over
from odtc.verification.leaf_sums import ALL, lines, measure_of, measured_tasks
from odtc.verification.leaf_sums.limits import Limit
from odtc.verification.leaf_sums.squares import MOST_BITS, whole
from odtc.verification.leaf_sums.whole_trees import WholeTrees
from odtc.verification.threshold_columns import left_of, rank_columns

TOGETHER, APART, FEATURES = "together", "never_together", "features"  # the types that limit the columns of a tree
MOST_DIGITS = 12  # maximum number of decimal places
LARGEST = 2.0**52  # maximum size of numbers that are counted in powers of two
MOST_SUM, MOST_SQUARES = 2.0**60, 2.0**96  # maximum sums of these numbers and of their squares


def certify_leaf_sums(problem: Problem, engine: MomentSearch, scales, heap: HeapTree) -> dict:
    """Return the certificate of a search that has ended, as a JSON object.

    Raises
    ------
    ChoiceError
        For a task without a measure of whole numbers, for weights of more than twelve digits behind the point, for
        hyperplanes, and for constraints that it does not state.
    """
    require_splits_of_columns(problem.encoded)
    dataset, limits = problem.encoded.dataset, engine.limits
    together, apart = (tuple(one.args for one in problem.constraints if one.name == name) for name in (TOGETHER, APART))
    columns_of = [int(given.bound) for given in problem.constraints if given.name == FEATURES]
    whole = WholeTrees(limits.distinct, together, min(columns_of, default=None), apart)
    limit = Limit(least_rows(problem), limits.leaves or 0)
    _expect_certifiable(problem, limit, whole)
    law, lam = measure_of(dataset.task), exact_share(problem.params.lambda_)
    scales_of, measure = _measured(law, dataset)
    price, moments = lam / (1 - lam) * measure.unit, measure.moments
    columns = CertificateColumns(problem.encoded, scales, np.arange(scales.n))
    ranks = rank_columns(columns.facts, dataset, left_of)
    depth = int(problem.topology.depth)
    if engine.at_once:
        tried: str | list = ALL
    else:
        every = np.arange(problem.encoded.n_rows)
        cuts = _TriedCuts(engine, columns, scales.rank)
        tried = (whole.nothing and cuts.entries(every, depth, engine.limits.root, engine)) or []
    ends = heap.reach(problem.encoded.X)[problem.encoded.row_of]
    leaves = [moments[:, ends == end].sum(axis=1) for end in np.unique(ends)]
    paid = heap.n_branch_nodes * price
    claim = [paid + sum(map(end, leaves), Fraction(0)) for end in (measure.low, measure.high)]
    return (
        head(problem, law.TASK)
        | scales_of
        | {
            "columns": columns.facts,
            "depth": depth,
            "penalty": str(price),
            "claim": [str(end) for end in claim] if law.ROUNDS else str(claim[0]),
            "tree": _without_curves(heap.to_tree(problem.encoded).to_json()),
            "tried": tried,
            "of": terms_over(dataset, ranks, depth, limit.words + whole.words, whole.features(columns.facts))[0],
        }
        | ({"least": limit.rows} if limit.rows > 1 else {})
        | ({"leaves": limit.leaves} if limit.leaves else {})
        | ({} if whole.splits is None else {"splits": whole.splits})
        | ({} if whole.columns is None else {"features": whole.columns})
        | {key: list(map(list, groups)) for key, groups in (("together", together), ("apart", apart)) if groups}
    )


class _TriedCuts:
    """The cuts that a search tried, as entries of its certificate: [column, cut, left side, right side].

    A side is the list of its own entries, 0 if the checker counts it without any, or None if the search did not need
    it. With a limit on leaves, the number of leaves of the left side is before the sides; if a second search gives
    bounds without the limits of this one (`MomentSearch.free`), the two sides of that search follow.
    """

    def __init__(self, engine: MomentSearch, columns: CertificateColumns, rank: np.ndarray):
        self.engine, self.columns = engine, columns
        self.values = [np.unique(line)[:-1] for line in rank.T]
        self.column_and_cut = cache(self._column_and_cut)

    def _column_and_cut(self, column: int, cut: int) -> tuple[int, int, bool]:
        """Return (column of the certificate, number of the cut, whether its left side is the right one of the search)
        of a cut of the search."""
        return self.columns.place(column, int(np.searchsorted(self.values[column], cut)))

    def entries(self, rows: np.ndarray, depth: int, place: Place, search: MomentSearch) -> list | int:
        """Return the entries of the cuts that a search tried on some rows, or 0 if the checker counts these itself."""
        place, depth = fitted(place, depth)
        if depth < 2 or search.is_shallow(len(rows), depth, place):
            return 0
        tried = search.tried.get(self.engine.key_of(rows, depth, place))
        if tried is None:
            return 0
        has_limits = search.free is not None or self.engine.limits.leaves is not None
        if not has_limits and search.is_shallow(len(rows), depth - 1, place):  # no side needs its own list of cuts
            return [self._last_entry(*cut) for cut in tried]
        return [self._entry(rows, depth, place, search, cut) for cut in tried]

    def _last_entry(self, column: int, cut: int, solved: tuple[bool, bool], _) -> list:
        at, own, is_turned = self.column_and_cut(column, cut)
        return [at, own, *(0 if solved[side] else None for side in ((1, 0) if is_turned else (0, 1)))]

    def _entry(self, rows: np.ndarray, depth: int, place: Place, search: MomentSearch, tried: tuple) -> list:
        column, cut, solved, n_leaves = tried
        at, own, is_turned = self.column_and_cut(column, cut)
        parts, places = self.engine.sides(rows, column, cut), self.engine.limits.sides(place, column, n_leaves)
        sides = [(solved[side], parts[side], depth - 1, places[side]) for side in ((1, 0) if is_turned else (0, 1))]
        entry = [at, own] if n_leaves is None else [at, own, sides[0][-1].leaves]
        entry += [self.entries(*side, search) if is_solved else None for is_solved, *side in sides]
        if search.free is not None:
            entry += [self.entries(*side, search.free) for _, *side in sides]
        return entry


def _expect_certifiable(problem: Problem, limit: Limit, whole: WholeTrees) -> None:
    """Raise ChoiceError for a problem whose certificate cannot be checked."""
    encoded = problem.encoded
    if encoded.dataset is None or by_places(problem):
        raise ChoiceError(
            f"a certificate of {option('task', encoded.task)} supports limits on the leaves of a tree, on the numbers "
            "of splits and columns and on columns used together or not, and no other constraints; leave them out, or "
            f"let {command('fit')} prove the tree by its search only"
        )
    if TASKS.get(encoded.task).LINES and not whole.nothing:
        raise ChoiceError(
            f"a certificate of linear leaves supports limits on the rows of a leaf and on leaves, not "
            f"{' and '.join(whole.words)}: the search is the only proof"
        )
    n_columns = len({feature for split in encoded.splits for feature in split.features})
    if why := whole.why_not(problem.topology.depth, limit.leaves, encoded.n_candidate_splits, n_columns):
        raise ChoiceError(f"{why}: the search is the only proof")
    if encoded.task not in measured_tasks():
        raise ChoiceError(
            f"certificates can be checked for the tasks {', '.join(measured_tasks())}, not of "
            f"{option('task', encoded.task)}: the search is the only proof"
        )


def _without_curves(facts: dict) -> dict:
    """Return the JSON of a tree without the curves of its leaves, which prove nothing."""
    kept = {key: value for key, value in facts.items() if key != "curve"}
    return {key: _without_curves(value) if isinstance(value, dict) else value for key, value in kept.items()}


def _measured(law, dataset: Dataset) -> tuple[dict, Any]:
    """Return the scales at which weights and numbers are whole, and the costs of leaves at these. Numbers are counted
    in a power of ten if that makes them whole, otherwise in a power of two."""
    if law.TASK == linear.NAME:
        tries = [lines.scales_of(dataset)]
    else:
        weights = {"weight_scale": _scale(dataset.weight, "weights")}
        tries = [weights]
    if law.TASK == regression.NAME:
        numbers, tries = dataset.sums[:, -1], []
        with contextlib.suppress(ChoiceError):
            tries.append(weights | {"number_scale": _scale(numbers, "numbers")})
        tries.append(weights | {"number_bits": _bits(numbers, dataset.weight * weights["weight_scale"])})
    for at, scales in enumerate(tries, 1):
        try:
            measure = law.MEASURE(scales, dataset)
            if law.TASK == survival.NAME and (measure.moments[0] == 0)[measure.moments[1] > 0].any():
                raise CertificateError("the hazard of a row with an event is too small to differ from 0")
            return scales, measure
        except CertificateError as refused:
            if at == len(tries):
                raise ChoiceError(f"{refused}: the search is the only proof") from None
    raise AssertionError("a task has scales")


def _bits(numbers: np.ndarray, weight: np.ndarray) -> int:
    """Return the largest power of two by which numbers can be multiplied so that they are whole doubles below LARGEST
    and can be added up with their squares; at least 0, and no more than makes them whole."""
    apart = np.abs(numbers - np.median(numbers))
    with np.errstate(divide="ignore", over="ignore"):  # numbers near 0 can be multiplied by any power
        room = (
            LARGEST / np.abs(numbers).max(),
            MOST_SUM / (weight * apart).sum(),
            (MOST_SQUARES / (weight * apart**2).sum()) ** 0.5,
        )
    most = max(0, min(math.floor(math.log2(min(share, 2.0**MOST_BITS))) for share in room))
    least = next((bits for bits in range(most) if not np.mod(numbers * 2.0**bits, 1).any()), most)
    return least if whole(numbers, 2**least)[1] else most  # the decimals that print as these doubles may have more


def _scale(numbers: np.ndarray, what: str) -> int:
    """Return the least power of ten that makes all numbers whole, of decimals of at most MOST_DIGITS places."""
    below = whole_numbers(numbers)[1].denominator
    for places in range(MOST_DIGITS + 1):
        if 10**places % below == 0:
            return 10**places
    raise ChoiceError(
        f"a certificate counts in whole numbers: expected {what} of at most {MOST_DIGITS} decimals; round them"
    )
