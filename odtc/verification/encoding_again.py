"""Comparison of the encoding in a manifest with a new encoding of the data file. It includes splits that the tree does
not use, which no other check covers."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from odtc.base.text import count_of
from odtc.data.dataset import Dataset
from odtc.data.encoding import Encoded, encode
from odtc.errors import OdtcError
from odtc.model.feasibility import Check
from odtc.problem.constraints.groups import regrouped

# The parts that are compared, each with its name in messages.
PARTS = {
    "target": "the target",
    "classes": "the classes",
    "features": "the columns",
    "missing": "the policy for missing cells",
    "splits": "the splits",
    "ones_left": "the sides of the splits",
    "stands_for": "the splits that represent others",
    "X": "the answers of the rows",
    "y": "the classes of the rows",
    "weight": "the weights of the rows",
    "copies": "the numbers of equal rows",
    "sums": "the sums of the rows that the leaves add up",
    "groups": "the groups of the rows",
    "values": "the cells of the rows",
    "radius": "how far numbers may be moved",
}


def check_encoding(
    encoded: Encoded,
    dataset: Dataset,
    prepared: Callable[[Encoded], Encoded] = lambda again: again,
    radius: Sequence[float] | None = None,
) -> Check:
    """Return the check "encoding" of the rows and splits of a model.

    Parameters
    ----------
    encoded : Encoded
        The input of the model, as recorded in its manifest.
    dataset : Dataset
        The data file, read again; if rows were selected, these rows.
    prepared : callable
        The function that the formulation applies to an encoding before it builds its model.
    radius : sequence of float or None
        How far the parameters of the formulation let the numbers of each column be moved; None for the values of the
        encoding.

    Returns
    -------
    Check
    """
    try:
        radius = encoded.radius if radius is None else radius
        again = prepared(encode(dataset, encoded.scheme, encoded.by_column, radius, encoded.merge, encoded.of_leaf))
        again = regrouped(again, [of.text for of in encoded.groups])
    except OdtcError as problem:
        return Check("encoding", False, f"it cannot be recomputed from the data file: {problem}")
    parts = [name for name in PARTS if name != "values" or encoded.values is not None]  # a manifest may lack them
    wrong = [PARTS[name] for name in parts if not _same(*(_part(of, name) for of in (encoded, again)))]
    if wrong:
        return Check(
            "encoding", False, f"of the manifest, other than recomputed from the data file: {', '.join(wrong)}"
        )
    return Check(
        "encoding",
        True,
        f"{count_of(again.n_candidate_splits, 'split', '')} on {count_of(again.n_rows, 'row', '')} are recomputed "
        "from the data file",
    )


def _part(encoded: Encoded, name: str) -> Any:
    """Return a part of an encoding; among the splits that one represents, those with equal results come first, as in a
    manifest."""
    if name != "stands_for":
        return getattr(encoded, name)
    return tuple(tuple(sorted(others, key=lambda other: not other[1])) for others in encoded.stands_for)


def _same(one: Any, other: Any) -> bool:
    if isinstance(other, (tuple, str)):
        return bool(one == other)
    one, other = np.asarray(one), np.asarray(other)
    return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == other.dtype.kind == "f"))
