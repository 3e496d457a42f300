"""At most N columns of the data are asked, however often: y_j ≥ Σ_{f of j} b_tf, Σ_j y_j ≤ N.

Of tests of two columns that part the rows alike, the encoding keeps one, and that one counts.
"""

import numpy as np

from odtc.constraint import ASKING, Constraint, Knows, asking, cap_distinct, count_bound, held, least_missed
from odtc.errors import ChoiceError
from odtc.formulation import Role
from odtc.heap import HeapTree
from odtc.scale import Scales

NAME = "features"
SUMMARY = "features <= N: at most N columns of the data are asked"
OPS = ("<=",)
KNOWS = Knows.TESTS
NEEDS = ASKING
HINT = "flowoct, bendersoct, oct, binoct and dpflow with -p tail=0 say which node asks what"


def read(encoded, given: Constraint) -> Constraint:
    if any(len(test.features) > 1 for test in encoded.tests):
        raise ChoiceError(
            f"constraint {str(given)!r} counts the columns of the data that tests ask, one a test; the encoding "
            f"{encoded.scheme!r} has tests that weigh several: leave out one of the two"
        )
    return count_bound(given, 0, "columns of the data")


def groups(encoded) -> np.ndarray:
    return np.unique([test.features[0] for test in encoded.tests], return_inverse=True)[1]


def early(given: Constraint) -> bool:
    return given.bound < 1


def value(encoded, given: Constraint, heap: HeapTree) -> float:
    return float(len(set(_asked(encoded, heap)) - {-1}))


def rows(problem, model, given: Constraint, m, suffix: str) -> None:
    cap_distinct(problem, model, m, suffix, _group(problem, model), given.bound)


def values(problem, model, given: Constraint, point) -> dict[str, np.ndarray]:
    return held(problem, model, point, _group(problem, model), given.bound)


def mend(encoded, given: Constraint, heap: HeapTree) -> HeapTree:
    """Without the column that is missed least, and what its tests lead to, one after another."""
    while value(encoded, given, heap) > given.bound:
        of = np.array(_asked(encoded, heap))
        heap = least_missed(encoded, heap, [np.flatnonzero(of == j) for j in np.unique(of[of >= 0])])
    return heap


def _asked(encoded, heap: HeapTree) -> list[int]:
    """The column of the data that each node asks, -1 where it asks none."""
    return [heap.split(t, encoded)[0].features[0] if heap.test[t] >= 0 else -1 for t in range(len(heap.test))]


def _group(problem, model) -> np.ndarray:
    """The number, from 0, of the column of the data that each test, or each scale, is of."""
    group = groups(problem.encoded)
    if asking(problem, model).role == Role.FEATURE:
        scale = Scales.of(problem.encoded).scale
        group = group[np.unique(scale, return_index=True)[1]]
    return np.unique(group, return_inverse=True)[1]
