"""The encoding of a manifest against the one that is derived again from the data file, whole: also the tests that the
tree does not ask, which no other check looks at."""

from collections.abc import Callable
from typing import Any

import numpy as np

from odtc.data.dataset import Dataset
from odtc.data.encoding import Encoded, encode
from odtc.errors import OdtcError
from odtc.model.feasibility import Check

# The parts that are compared, each with what it is called.
PARTS = {
    "target": "the target",
    "classes": "the classes",
    "features": "the columns",
    "missing": "the policy for missing cells",
    "tests": "the tests",
    "ones_left": "the sides of the tests",
    "stands_for": "the tests that others stand for",
    "X": "the answers of the rows",
    "y": "the classes of the rows",
    "weight": "the weights of the rows",
    "copies": "the numbers of equal rows",
}


def check_encoding(
    encoded: Encoded, dataset: Dataset, prepared: Callable[[Encoded], Encoded] = lambda again: again
) -> Check:
    """The check "encoding" of the rows and tests of a model.

    Parameters
    ----------
    encoded : Encoded
        What the model was built from, as its manifest holds it.
    dataset : Dataset
        The data file, read anew; if rows were selected, these rows.
    prepared : callable
        What the formulation makes of an encoding before it builds its model.

    Returns
    -------
    Check
    """
    try:
        again = prepared(encode(dataset, encoded.scheme, encoded.by_column, encoded.radius))
    except OdtcError as problem:
        return Check("encoding", False, f"it cannot be derived again from the data file: {problem}")
    wrong = [words for name, words in PARTS.items() if not _same(getattr(encoded, name), getattr(again, name))]
    if wrong:
        return Check(
            "encoding", False, f"of the manifest, other than derived again from the data file: {', '.join(wrong)}"
        )
    return Check("encoding", True, f"{again.n_tests} tests on {again.n_rows} rows are derived again from the data file")


def _same(one: Any, other: Any) -> bool:
    if isinstance(other, (tuple, str)):
        return bool(one == other)
    return bool(np.array_equal(np.asarray(one), np.asarray(other)))
