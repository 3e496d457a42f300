"""A certificate: a tree, and a few numbers by which anyone can check that no tree over these splits is better.

    {"schema": "odtc.proof/1", "data": {...}, "classes": [...], "columns": [column, ...], "least": N, "depth": D,
     "weight_scale": W, "loss": [[...]], "penalty": P, "scale": S, "claim": C, "bound": B, "tree": {...},
     "states": [text, ...], "of": {...}}

"of" states the terms of the claim (odtc.verification.claim): the checker derives them from the data and compares them.

All numbers are whole: a row of class k and weight w costs w W loss[k][c] if c is predicted, a branch node costs P, and
the tree costs C, which is S times its objective. A column is all thresholds between neighbouring numbers of a feature,
those under "thresholds", or one other split (odtc.verification.threshold_columns). Every leaf has N rows of the data
or more (1: any). No tree costs less than B; a tree that costs more is not proved optimal, only bounded.

The check needs only the data file and nothing of the compiler. It counts the tree's cost row by row. Then, for every
state, from the last level up, it checks that no tree on the rows of the state costs less than its bound
(odtc.verification.interval_bound). (Sums are computed in float64, which is exact for whole numbers below 2^53.)
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from odtc.base import deadline
from odtc.base.json_schema import (
    NOT_WHOLE,
    NUMBER,
    TEXT,
    WHOLE,
    SchemaError,
    explain_error,
    read_object,
    show_value,
    validate,
)
from odtc.base.value_class import value_class
from odtc.base.whole_numbers import as_written
from odtc.base.wording import command
from odtc.data.dataset import NUMERIC, Dataset
from odtc.data.reading_spec import SIGNS
from odtc.errors import CertificateError
from odtc.verification.alike_rows import alike_rows
from odtc.verification.claim import (
    OF_TREE,
    claim_of,
    expect,
    expect_leaf,
    expect_losses,
    expect_tree,
    node_shape,
    split_shape,
)
from odtc.verification.claim import SHAPE as CLAIM_SHAPE
from odtc.verification.coverage import count_left_out
from odtc.verification.interval_bound import IntervalBound
from odtc.verification.node_cuts import Rows
from odtc.verification.threshold_columns import answered, distinct_columns, rank_columns

SCHEMA = "odtc.proof/1"
SUFFIX = ".certificate.json"
LISTED = 12  # costs that are listed one by one
EXACT = 2.0**53  # below it, doubles hold every whole number


@value_class
class Proof:
    """The statement of a checked certificate: no tree of this depth over these splits has an objective below `bound`,
    and one has `objective`."""

    objective: float
    depth: int
    n_candidate_splits: int
    n_rows: int
    n_targets: int
    terms: str  # costs other than a unit of weight for each error, in words; "" if there are none
    n_possible_splits: int  # ways in which midpoints and single levels divide the rows of the data
    left_out: dict[str, tuple[int, int]]  # by feature: how many are not among the splits, and how many there are
    of: dict  # the terms of the claim (odtc.verification.claim)
    bound: float

    @property
    def optimal(self) -> bool:
        """Return whether no tree is better than the tree of the certificate."""
        return self.bound == self.objective

    @property
    def steps(self) -> dict[str, int]:
        """Return how many numbers were checked."""
        return {"n_targets": self.n_targets}


def _column_shape(value, place):
    if isinstance(value, dict) and value.get("kind") == "threshold":
        return {"feature": TEXT, "kind": TEXT, "thresholds?": [NUMBER]}
    return split_shape(value, place)


# The shape of a certificate (odtc.base.json_schema).
SHAPE = {
    "classes": [TEXT],
    "columns": [_column_shape],
    "least": WHOLE,
    "depth": WHOLE,
    "weight_scale": WHOLE,
    "loss": [[WHOLE]],
    "penalty": WHOLE,
    "scale": WHOLE,
    "claim": WHOLE,
    "bound": WHOLE,
    "tree": {"root": node_shape} | OF_TREE,
    "states": [TEXT],
    "of": CLAIM_SHAPE,
}
SOURCE = {
    "data": {
        "target": TEXT,
        "missing": ("drop", "error", "separate"),
        "path?": TEXT,
        "categorical?": [TEXT],
        "numeric?": [TEXT],
        "weights?": (TEXT, None),
        "auxiliary?": [TEXT],
        "ignore?": [TEXT],
        "ordered?": [TEXT],
        "missing_mark?": [TEXT],
        "decimal?": SIGNS,
        "sha256?": (TEXT, None),
    }
}


def read_certificate(path, schemas: tuple[str, ...] = (SCHEMA,)) -> dict:
    """Return the JSON object of a certificate of one of these schemas; raises CertificateError."""
    facts = read_object(path, "certificate", CertificateError)
    if facts.get("schema") not in schemas:
        raise CertificateError(
            f"expected a certificate of schema {SCHEMA!r} in {str(path)!r}, got "
            f"{show_value(facts.get('schema'))}; "
            f"make it with {command('certify')}"
        )
    try:
        validate(facts, SOURCE)
    except SchemaError as problem:
        raise CertificateError(
            f"the certificate {str(path)!r} does not say how its data was read: {problem}; make it again"
        ) from None
    return facts


def check(facts: dict, dataset: Dataset, pause: Callable[[], None] = lambda: None) -> Proof:
    """Check a certificate against a data set, and return what it proves.

    Parameters
    ----------
    facts : dict, the JSON object of the certificate
    dataset : Dataset
    pause : called between the parts of a long check; may raise to end it

    Returns
    -------
    Proof

    Raises
    ------
    CertificateError
        With the first thing that is not correct.
    """
    try:
        validate(facts, SHAPE)
        return _check(facts, dataset, pause)
    except NOT_WHOLE as problem:
        raise CertificateError(f"the certificate is not whole: {explain_error(problem)}; make it again") from None


def _scales(facts: dict) -> tuple[int, int, int, int, int]:
    """Return (depth, price, claim, scale, scale of weights)."""
    depth, price, claim, scale = (_whole(facts[key], key) for key in ("depth", "penalty", "claim", "scale"))
    weight_scale = _whole(facts["weight_scale"], "weight_scale")
    if not 1 <= depth <= 20 or scale < 1 or weight_scale < 1 or scale % weight_scale or not price < scale:
        raise ValueError("its depth, its scales or its penalty are not valid")
    return depth, price, claim, scale, weight_scale


def stated(facts: dict, dataset: Dataset) -> Proof:
    """Return the claim of a certificate with its bounds unchecked, for an interrupted check."""
    return _stated(facts, dataset, rank_columns(facts["columns"], dataset, left_of))


def _stated(facts: dict, dataset: Dataset, ranks, check: Callable[[], None] = lambda: None) -> Proof:
    depth, price, claim, scale, weight_scale = _scales(facts)
    least, bound = _whole(facts["least"], "least"), _whole(facts["bound"], "bound")
    n_candidate_splits = int(ranks.size.sum())
    n_possible_splits, absent = count_left_out(dataset, ranks, check)
    of = claim_of(dataset, depth, n_candidate_splits, not absent, [f"leaf_rows >= {least}"] if least > 1 else [])
    said = _terms(facts, price, scale, weight_scale)
    n_states = sum(text.count(";") + 1 for text in facts["states"])
    n_rows = dataset.n_file_rows
    return Proof(
        claim / scale, depth, n_candidate_splits, n_rows, n_states, said, n_possible_splits, absent, of, bound / scale
    )


def _check(facts: dict, dataset: Dataset, pause: Callable[[], None]) -> Proof:
    depth, price, claim, scale, _ = _scales(facts)
    least, stated = _whole(facts["least"], "least"), _whole(facts["bound"], "bound")
    loss = _loss(facts, dataset)
    ranks = rank_columns(facts["columns"], dataset, left_of, deadline.check)
    proof = _stated(facts, dataset, ranks, deadline.check)
    expect(facts, proof.of)
    _expect_cost(facts, dataset, loss, least)
    # Rows of equal ranks are one row: no tree separates them. Above the cheapest label, some cost nothing at all.
    kind, first = alike_rows(ranks.rank)
    rank = ranks.rank[first]
    merged = np.stack([np.bincount(kind, column) for column in loss.T], axis=1)
    count = np.bincount(kind, dataset.copies)
    floor = merged.min(axis=1)
    merged -= floor[:, None]
    if least <= 1:
        kept = merged.max(axis=1) > 0
        rank, merged, count = rank[kept], merged[kept], count[kept]
    rows = Rows(distinct_columns(rank, deadline.check), merged, count, float(price), max(1, least))
    found = IntervalBound(facts["states"], rows, depth, pause)
    bound = found.of_root() + float(floor.sum())
    if bound != stated or bound > claim:
        raise CertificateError(
            f"the certificate bounds all trees by {bound / scale:.10g}, it states {stated / scale:.10g}, and its own "
            f"tree costs {claim / scale:.10g}"
        )
    return replace(proof, n_targets=found.n_states)


def _expect_cost(facts: dict, dataset: Dataset, loss: np.ndarray, least: int = 1) -> None:
    """Raise CertificateError if the tree of a certificate costs something other than it claims."""
    expect_tree(facts["tree"], dataset)
    cost, claim, scale = _tree_cost(facts, dataset, loss, least), facts["claim"], facts["scale"]
    if cost != claim:
        raise CertificateError(
            f"the tree of the certificate costs {cost / scale:.10g} on the data, the certificate claims "
            f"{claim / scale:.10g}"
        )


def _terms(facts, price, scale, weight_scale) -> str:
    """Describe the objective of the certificate, if it is not the weight of errors."""
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
    if not 0 <= value < EXACT:
        raise ValueError(
            f"expected {what} from 0 to below 2^53, where whole numbers are added exactly, got {show_value(value)}"
        )
    return value


def _loss(facts, dataset) -> np.ndarray:
    """Return the cost of each label on each row, float64 of whole numbers (rows, classes)."""
    classes = facts["classes"]
    if classes != list(dataset.classes):  # in this order: losses are by place, labels by name
        raise CertificateError(
            f"the certificate has the classes {', '.join(classes)}, in this order, but the data has "
            f"{', '.join(dataset.classes)}"
        )
    prices = np.array([[_whole(value, "a loss") for value in line] for line in facts["loss"]], float)
    if prices.shape != (len(classes),) * 2 or prices.diagonal().any() or (len(classes) > 1 and not prices.any()):
        raise ValueError("its losses are not a square table with zeros only where the label is correct")
    expect_losses(facts, dataset)
    loss = _whole_weights(dataset.weight, _whole(facts["weight_scale"], "the scale of weights"))[:, None]
    loss = loss * prices[dataset.y]
    if loss.sum() >= EXACT:
        raise ValueError("its numbers are too large to be added exactly")
    return loss


def _whole_weights(weight: np.ndarray, scale: int) -> np.ndarray:
    """Return weights, as the decimals that they were written as, times a scale: float64 of whole numbers (rows,)."""
    distinct, place = np.unique(weight, return_inverse=True)
    scaled = [as_written(value) * scale for value in distinct.tolist()]
    if any(value.denominator > 1 for value in scaled):
        raise CertificateError(
            "the weights of the data are not whole numbers at the scale of the certificate; it was made for other "
            "weights"
        )
    return np.array([float(value) for value in scaled])[place]


def left_of(split, dataset) -> np.ndarray:
    """Return the rows that a split sends left, bool (rows,)."""
    names = [feature.name for feature in dataset.features]
    if split["feature"] not in names:
        raise CertificateError(
            f"the certificate splits on the column {split['feature']!r}, which the data does not have"
        )
    feature = dataset.features[at := names.index(split["feature"])]
    if split["kind"] == "threshold":
        if not math.isfinite(threshold := float(split["threshold"])):
            raise ValueError("a threshold is not a finite number")
        return answered(dataset.X, at, lambda cells: cells <= threshold)
    if split["kind"] == "missing":
        return answered(dataset.X, at, np.isnan)
    if split["kind"] != "subset":
        raise ValueError(f"a split has an unknown kind: {split['kind']!r}")
    values = [float(value) if feature.kind == NUMERIC else feature.codes.get(value, -2) for value in split["values"]]
    if len(values) == 1:
        return answered(dataset.X, at, lambda cells: cells == values[0])
    return answered(dataset.X, at, lambda cells: np.isin(cells, values))


def _tree_cost(facts, dataset, loss, least) -> int:
    """Return the cost of the tree, row by row."""
    classes, depth, price = list(dataset.classes), facts["depth"], facts["penalty"]

    def cost(node, rows, left):
        if "label" in node:
            held = int(dataset.copies[rows].sum())
            if held < least:
                raise CertificateError(
                    f"a leaf of the tree of the certificate has {held} rows, expected {least} or more"
                )
            expect_leaf(node, dataset, rows)
            return float(loss[rows, classes.index(node["label"])].sum())
        if not left:
            raise CertificateError(f"the tree of the certificate is deeper than {depth}")
        goes = left_of(node["split"], dataset)[rows]
        return price + cost(node["left"], rows[goes], left - 1) + cost(node["right"], rows[~goes], left - 1)

    return int(cost(facts["tree"]["root"], np.arange(dataset.n_rows), depth))
