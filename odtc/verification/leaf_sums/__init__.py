"""The check of a certificate of a tree whose leaves cost a function of sums over their rows: regression, survival,
linear leaves.

    "kind": "regression", "columns": [...], "number_scale": Y, "penalty": "p/q", "claim": "p/q", "tried": [...]

Numbers of many digits have "number_bits" instead of "number_scale" (odtc.verification.leaf_sums.squares).

Costs are in whole units (odtc.verification.leaf_sums.squares, likelihood, lines); a branch node costs `price` of them.
The tree costs `claim`, or for survival between two ends, ["p/q", "p/q"]; its cost is counted row by row. Columns are
as in a certificate over thresholds.

The cost of rows that no column separates is subtracted first, because no tree avoids it. For trees of three levels or
more, `tried` lists cuts of the rows of a state: [column, cut, left, right]. A side is null (no bound), 0 (the checker
bounds it by the best tree of two levels or less), or again such a list. The best tree for more rows costs no less, so a
cut between two tried cuts a < b costs at least the sum of the bounds of the left side of a and the right side of b. So
the checker computes a bound for all trees from the tried cuts only. The tree is optimal if this bound is at least the
lower end of its cost. All rounding is in the direction that keeps the bound valid.

If there are few cuts, `tried` may be "all": all cuts are tried, for trees of three or four levels without limits.

Two parameters limit the trees: `least`, the rows of the data in each leaf, and `leaves`, the number of leaves. With
`leaves`, a tried cut also states the number of leaves on its left side, [column, cut, leaves, left, right], and the
cuts of a column are bounded for each such number. With `least`, the best tree for fewer rows may cost more. So a tried
cut has two more sides, for trees whose leaves may have any number of rows, and these bound the cuts next to it.

`splits`, `features`, `together` and `apart` limit all splits of a tree (odtc.verification.leaf_sums.whole_trees); then
all trees are tried.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from odtc.base import deadline
from odtc.base.json_schema import ANY, TEXT, WHOLE
from odtc.base.value_class import value_class
from odtc.base.wording import option
from odtc.data.dataset import Dataset
from odtc.errors import CertificateError
from odtc.verification.claim import Proof, column_shape, expect, expect_leaf, walk
from odtc.verification.coverage import terms_over
from odtc.verification.leaf_sums import likelihood, lines, squares
from odtc.verification.leaf_sums.bound import ALL, LeafSumsBound
from odtc.verification.leaf_sums.limits import Limit
from odtc.verification.leaf_sums.whole_trees import WholeTrees
from odtc.verification.threshold_columns import left_of, rank_columns

DEEPEST = 8  # maximum depth of a tree
OFF = 0.01  # error of the cost of one tree, relative to the largest error of rounded sums in a check
WIDTH = 1e-10  # relative width of a rounded cost: trees whose costs differ by less are not distinguished
SHAPE = {
    "penalty": TEXT,
    "columns": [column_shape],
    "tried": (ALL, [ANY]),
    **dict.fromkeys(("least?", "leaves?", "splits?", "features?"), WHOLE),
    **dict.fromkeys(("together?", "apart?"), [[TEXT]]),
}
MEASURES = {one.TASK: one for one in (squares, likelihood, lines)}


def measured_tasks() -> tuple[str, ...]:
    """Return the tasks whose leaves a certificate counts; a task of another package has none of its own."""
    return tuple(MEASURES)


def measure_of(task: str):
    """Return the module that computes the costs of the leaves of a task."""
    return MEASURES[task]


def shape(kind: str) -> dict:
    """Return the shape of the parts of a certificate of this kind."""
    return SHAPE | MEASURES[kind].SHAPE


def check(facts: dict, dataset: Dataset, bounds: bool, pause: Callable[[], None]) -> Proof:
    """Check a certificate of sums, and return its proof; without `bounds` the bound of all trees is not checked."""
    law = MEASURES[facts["kind"]]
    if dataset.task != law.TASK:
        raise CertificateError(
            f"the certificate is for {option('task', law.TASK)}, but the data was read for {dataset.task}"
        )
    ends = facts["claim"] if law.ROUNDS else [facts["claim"]] * 2
    depth, price, claim = facts["depth"], Fraction(facts["penalty"]), [Fraction(end) for end in ends]
    if not 1 <= depth <= DEEPEST or price < 0 or len(claim) != 2:
        raise ValueError(f"its depth is {depth}, its penalty {price}, its claim has {len(claim)} ends")
    limit, whole = Limit(facts.get("least", 1), facts.get("leaves", 0)), WholeTrees.of(facts)
    if limit.rows < 1 or limit.leaves < 0:
        raise ValueError(f"its leaves have {limit.rows} rows, its trees {limit.leaves} leaves")
    measure = law.MEASURE(facts, dataset)
    if measure.LAW is None and not whole.nothing:
        raise ValueError(f"limits on all splits of a tree are not supported for {law.TASK}")
    ranks = rank_columns(facts["columns"], dataset, left_of, deadline.check)
    features = whole.features(facts["columns"])
    of, *covered = terms_over(dataset, ranks, depth, limit.words + whole.words, features, deadline.check)
    expect(facts, of)
    low, high = _cost_of_tree(facts, dataset, measure, (limit, whole), price)
    # Objectives are (1 - λ) times the cost, and the penalty is λ / (1 - λ) units.
    unit = measure.unit + price
    if claim != [low, high]:
        raise CertificateError(
            f"the tree of the certificate costs {float(low / unit):.17g} to {float(high / unit):.17g} on the data, the "
            f"certificate claims {float(claim[0] / unit):.17g} to {float(claim[1] / unit):.17g}"
        )
    found = LeafSumsBound(np.ascontiguousarray(ranks.rank, np.int64), measure, price, law.SINGLE)
    bound = _bound_of_all(facts, found, (limit, whole), low) if bounds else low
    low, high, bound = measure.ends(low, high, bound)
    said, exact = [f"lambda {float(price / unit):.10g}"] if price else [], low == high
    if not exact:
        ends = _less(low / unit), -_less(-high / unit)
        said.append(f"the tree costs {ends[0]:.17g} to {ends[1]:.17g}")
    objective = float(high / unit) if exact else ends[1]
    below = min(_less(bound / unit) if bound else 0.0, float(np.nextafter(objective, -np.inf)))
    return LeafSumsProof(
        objective,
        objective if exact and bound >= low else below,
        {"n_targets": found.n_states},
        "; ".join(said),
        of,
        *covered,
        exact,
        OFF * measure.near / float(unit),
        min(1.0, float(measure.high(measure.moments.sum(axis=1)) / unit)),
    )


def _cost_of_tree(facts: dict, dataset: Dataset, measure, limits, price: Fraction) -> tuple[Fraction, Fraction]:
    """Return the two ends of the cost of the tree of a certificate; raise CertificateError if it violates a limit.

    Parameters
    ----------
    facts : dict
    dataset : Dataset
    measure : the measure of its task
    limits : (Limit, WholeTrees)
    price : Fraction, penalty of a branch node
    """
    limit, whole = limits
    leaves, splits = _parts_of_tree(facts, dataset, measure)
    fewest = min(map(len, leaves))
    if fewest < limit.rows or 0 < limit.leaves < len(leaves):
        raise CertificateError(
            f"the tree of the certificate has {len(leaves)} leaves of {fewest} rows and more, which does not "
            f"satisfy {' and '.join(limit.words)}"
        )
    whole.expect_kept(splits)
    sums = [measure.moments[:, rows].sum(axis=1) for rows in leaves]
    low, high = (len(splits) * price + sum(map(end, sums), Fraction(0)) for end in (measure.low, measure.high))
    return low, high


def _bound_of_all(facts: dict, found: LeafSumsBound, limits, low: Fraction) -> Fraction:
    """Return a lower bound on the cost of all trees within the limits; `low` is the bound to reach."""
    (limit, whole), depth = limits, facts["depth"]
    if not whole.nothing:
        return whole.least(found, facts["columns"], depth, limit, low)
    every = np.arange(len(found.rank))
    floor = found.floor(every)
    tried = facts["tried"] if limit.at(depth)[1] > 2 or facts["tried"] else 0
    return floor + Fraction(found.least(every, depth, tried, low - floor, limit))


@value_class
class LeafSumsProof(Proof):
    """A proof whose numbers are rounded outwards, unless they are `exact`: the tree costs no more than `objective`,
    and no tree costs less than `bound`. The cost of a tree by sums in floats may be `off` by this much; rounding is
    relative to the `unit`, 1 or the cost of one leaf if that is less."""

    exact: bool
    off: float
    unit: float

    @property
    def optimal(self) -> bool:
        return self.bound == self.objective or (
            not self.exact and self.bound >= self.objective - WIDTH * max(self.unit, abs(self.objective))
        )


def _less(number: Fraction) -> float:
    """Return a float that is not greater."""
    return float(np.nextafter(float(number), -np.inf))


def _parts_of_tree(facts: dict, dataset: Dataset, measure) -> tuple[list[np.ndarray], list[dict]]:
    """Return the rows of each leaf of the tree, and its splits."""
    leaves: list[np.ndarray] = []
    splits: list[dict] = []

    def leaf(node: dict, rows: np.ndarray) -> None:
        list(dataset.classes).index(node["label"])  # raises ValueError for another label
        if measure.LAW is None:
            measure.expect_line(node.get("line"), rows)
        expect_leaf(node, dataset, rows, lines=measure.LAW is None)
        leaves.append(rows)

    walk(facts, dataset, leaf, lambda node, path, goes: splits.append(node["split"]))
    return leaves, splits
