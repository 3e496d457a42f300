"""Every leaf that predicts a class has at least N rows of the data of this class.

    Σ_{i of c} copies_i z_itc ≥ N u_t;   z_itc ≤ u_t            t a node where rows end, i

z_itc is 1 if row i ends in t and is predicted c, u_t if any row does, so it need not be integer. Rows of the data are
counted, whatever their weights.
"""

import numpy as np

from odtc.data.encoding import Encoded
from odtc.errors import ChoiceError
from odtc.problem.constraints.by_definition import Reference
from odtc.problem.constraints.kind import Constraint, Subject
from odtc.problem.constraints.on_leaves import KNOWS, NEEDS, early, leaves_of, mend, rows, summed, terms, values
from odtc.problem.constraints.rates import named_class, of_class
from odtc.trees.heap_tree import HeapTree

NAME = "leaf_class_rows"
SUMMARY = "leaf_class_rows[CLASS] >= N: at least N rows of a class in every leaf that predicts it"
OPS = (">=",)
SUBJECT = Subject.LEAVES


def read(encoded: Encoded, given: Constraint) -> Constraint:
    named_class(encoded, given)
    most = int(encoded.copies.sum())  # more than the class has is kept by trees that never predict it
    if given.bound != int(given.bound) or not 0 <= given.bound <= most:
        raise ChoiceError(
            f"expected a whole number up to the {most:,} rows of the data in {str(given)!r}, got {float(given.bound):g}"
        )
    return given


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
    ((measure, k, _),) = leaf_sums(encoded, given)
    found = summed(encoded, heap, measure)[leaves_of(encoded, heap)[1] == k]
    return float(found.min()) if len(found) else max(float(given.bound), float(measure.sum()))


def leaf_sums(encoded: Encoded, given: Constraint) -> list[tuple[np.ndarray, int, int]]:
    measure = (encoded.copies * of_class(encoded, given.args[0])).astype(np.int64)
    return [(measure, named_class(encoded, given), int(given.bound))]


def reference(encoded: Encoded, given: Constraint) -> Reference:
    truth, k = encoded.dataset.y.tolist(), encoded.classes.index(given.args[0])
    return Reference(leaf=lambda label, held: label != k or sum(truth[row] == k for row in held) >= given.bound)
