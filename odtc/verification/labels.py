"""The body of a certificate of labels: a tree whose leaves predict classes, numbers of a median, or actions.

    "kind": "labels", "columns": [column, ...], "least": N, "loss": [[...]], "penalty": P, "scale": S, "claim": C,
    "bound": B, "states": [text, ...]

All numbers are whole: a row of class k and weight w costs w W loss[k][c] if c is predicted, a branch node costs P, and
the tree costs C, which is S times its objective. A column is all thresholds between neighbouring numbers of a feature,
those under "thresholds", or one other split (odtc.verification.threshold_columns). Every leaf has N rows of the data
or more (1: any). No tree costs less than B; a tree that costs more is not proved optimal, only bounded.

The check counts the tree's cost row by row. Then, for every state, from the last level up, it checks that no tree on
the rows of the state costs less than its bound (odtc.verification.interval_bound). (Sums are computed in float64, which
is exact for whole numbers below 2^53.)
"""

from collections.abc import Callable

import numpy as np

from odtc.base import deadline
from odtc.base.json_schema import TEXT, WHOLE, show_value
from odtc.base.whole_numbers import MAX_EXACT, as_written
from odtc.data.dataset import Dataset
from odtc.errors import CertificateError
from odtc.verification.alike_rows import alike_rows
from odtc.verification.claim import Proof, column_shape, expect, expect_leaf, expect_losses, walk
from odtc.verification.coverage import terms_over
from odtc.verification.interval_bound import IntervalBound
from odtc.verification.node_cuts import Rows
from odtc.verification.threshold_columns import ColumnRanks, distinct_columns, left_of, rank_columns

LISTED = 12  # maximum number of costs that are listed one by one


# The shape of its own parts (odtc.base.json_schema).
SHAPE = {
    **dict.fromkeys(("least", "penalty", "scale", "claim", "bound"), WHOLE),
    "columns": [column_shape],
    "loss": [[WHOLE]],
    "states": [TEXT],
}


def shape(kind: str) -> dict:
    """Return the shape of the parts of a certificate of this kind."""
    return SHAPE


def scales_of(facts: dict) -> tuple[int, int, int, int]:
    """Return (depth, price, scale, scale of weights) of a certificate; raises ValueError if they are not valid."""
    keys = ("depth", "penalty", "scale", "weight_scale")
    depth, price, scale, weight_scale = (_whole(facts[key], key) for key in keys)
    if not 1 <= depth <= 20 or scale < 1 or weight_scale < 1 or scale % weight_scale or not price < scale:
        raise ValueError("its depth, its scales or its penalty are not valid")
    return depth, price, scale, weight_scale


def check(facts: dict, dataset: Dataset, bounds: bool, pause: Callable[[], None]) -> Proof:
    """Check a certificate of labels, and return its proof; without `bounds` its states are not checked."""
    depth, _, scale, _ = scales_of(facts)
    claim, least, bound = (_whole(facts[key], key) for key in ("claim", "least", "bound"))
    look = deadline.check if bounds else pause
    loss, ranks = whole_loss(facts, dataset), rank_columns(facts["columns"], dataset, left_of, look)
    of, *covered = terms_over(dataset, ranks, depth, [f"leaf_rows >= {least}"] if least > 1 else [], check=look)
    expect(facts, of)
    expect_cost(facts, _tree_cost(facts, dataset, loss, least))
    found = _bound(facts, dataset, loss, ranks, pause) if bounds else bound
    if found != bound or found > claim:
        raise CertificateError(
            f"the certificate bounds all trees by {found / scale:.10g}, it states {bound / scale:.10g}, and its own "
            f"tree costs {claim / scale:.10g}"
        )
    entries = [entry for text in facts["states"] for entry in text.split(";")]
    n_states = sum(entry not in ("", "0", "f0") for entry in entries)  # the others claim nothing
    return Proof(claim / scale, bound / scale, {"n_targets": n_states}, terms_of(facts), of, *covered)


def _bound(facts: dict, dataset: Dataset, loss: np.ndarray, ranks: ColumnRanks, pause: Callable[[], None]) -> float:
    """Return the lower bound on the cost of any tree that the states of a certificate prove."""
    # Rows of equal ranks are one row: no tree separates them. Above the cheapest label, some cost nothing at all.
    kind, first = alike_rows(ranks.rank)
    rank, least = ranks.rank[first], max(1, facts["least"])
    merged = np.stack([np.bincount(kind, column) for column in loss.T], axis=1)
    count = np.bincount(kind, dataset.copies)
    floor = merged.min(axis=1)
    merged -= floor[:, None]
    if least == 1:
        kept = merged.max(axis=1) > 0
        rank, merged, count = rank[kept], merged[kept], count[kept]
    rows = Rows(distinct_columns(rank, deadline.check), merged, count, float(facts["penalty"]), least)
    return IntervalBound(facts["states"], rows, facts["depth"], pause).of_root() + float(floor.sum())


def expect_cost(facts: dict, cost: int) -> None:
    """Raise CertificateError if the tree of a certificate costs something other than it claims."""
    claim, scale = facts["claim"], facts["scale"]
    if cost != claim:
        raise CertificateError(
            f"the tree of the certificate costs {cost / scale:.10g} on the data, the certificate claims "
            f"{claim / scale:.10g}"
        )


def terms_of(facts: dict) -> str:
    """Describe the objective of the certificate, if it is not the weight of errors."""
    price, scale, weight_scale = facts["penalty"], facts["scale"], facts["weight_scale"]
    costs = {
        (a, b): value * weight_scale / (scale - price)
        for a, line in zip(facts["classes"], facts["loss"])
        for b, value in zip(facts["classes"], line)
        if a != b
    }
    said = [f"lambda {price / scale:.10g}"] if price else []
    if any(abs(value - 1) > 1e-12 for value in costs.values()):
        listed = [f"{a}:{b}={value:.10g}" for (a, b), value in costs.items()]
        more = f" and {len(listed) - LISTED:,} more pairs" if len(listed) > LISTED else ""
        said.append("costs " + ", ".join(listed[:LISTED]) + more)
    return " and ".join(said)


def _whole(value: int, what: str) -> int:
    if not 0 <= value < MAX_EXACT:
        raise ValueError(
            f"expected {what} from 0 to below 2^53, where whole numbers are added exactly, got {show_value(value)}"
        )
    return value


def whole_loss(facts: dict, dataset: Dataset) -> np.ndarray:
    """Return the cost of each label on each row, float64 of whole numbers (rows, classes)."""
    n_labels, lines = len(facts["classes"]), facts["loss"]
    alike = len({len(line) for line in lines}) == 1
    prices = np.array([[_whole(value, "a loss") for value in line] for line in lines] if alike else [[1]], float)
    if prices.shape != (n_labels,) * 2 or prices.diagonal().any() or (n_labels > 1 and not prices.any()):
        raise ValueError("its losses are not a square table with zeros only where the label is correct")
    expect_losses(facts, dataset)
    loss = whole_weights(dataset.weight, _whole(facts["weight_scale"], "the scale of weights"))[:, None]
    loss = loss * prices[dataset.y]
    if loss.sum() >= MAX_EXACT:
        raise ValueError("its numbers are too large to be added exactly")
    return loss


def whole_weights(weight: np.ndarray, scale: int) -> np.ndarray:
    """Return weights, as the decimals that they were written as, times a scale: float64 of whole numbers (rows,)."""
    distinct, place = np.unique(weight, return_inverse=True)
    scaled = [as_written(value) * scale for value in distinct.tolist()]
    if any(value.denominator > 1 for value in scaled):
        raise CertificateError(
            "the weights of the data are not whole numbers at the scale of the certificate; it was made for other "
            "weights"
        )
    return np.array([float(value) for value in scaled])[place]


def _tree_cost(facts, dataset, loss, least) -> int:
    """Return the cost of the tree, row by row."""
    classes, paid = list(dataset.classes), []

    def leaf(node: dict, rows: np.ndarray) -> None:
        if (held := int(dataset.copies[rows].sum())) < least:
            raise CertificateError(f"a leaf of the tree of the certificate has {held} rows, expected {least} or more")
        expect_leaf(node, dataset, rows)
        paid.append(float(loss[rows, classes.index(node["label"])].sum()))

    walk(facts, dataset, leaf, lambda *_: paid.append(facts["penalty"]))
    return int(sum(paid))
