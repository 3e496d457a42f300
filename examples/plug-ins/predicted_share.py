"""At most this share of the rows is predicted as a class: Σ_i w_i [row i is predicted k] ≤ r Σ_i w_i."""

import numpy as np

from odtc.extend import ChoiceError, Constraint, Judge, Subject, klass, share
from odtc.problem.constraints.on_predictions import (  # noqa: F401  what is the same for all such kinds
    KNOWS,
    NEEDS,
    early,
    knows,
    mend,
    needs,
    predicted,
    rows,
    values,
)

KIND = "constraint"
NAME = "predicted_share"
SUMMARY = "predicted_share[CLASS] <= R: at most this share of the rows is predicted as a class"
OPS = ("<=",)
SUBJECT = Subject.PREDICTIONS


def read(encoded, given: Constraint) -> Constraint:
    if len(given.args) != 1 or given.args[0] not in encoded.classes:
        raise ChoiceError(f"expected {NAME}[CLASS] with one of {', '.join(encoded.classes)}, got {given}")
    return share(given)


def value(encoded, given: Constraint, heap) -> float:
    said = predicted(encoded, heap) == klass(encoded, given.args[0])
    return float(encoded.weight[said].sum() / encoded.weight.sum())


def answers(encoded, given: Constraint):
    coef = np.zeros((encoded.n_rows, len(encoded.classes)))
    coef[:, klass(encoded, given.args[0])] = encoded.weight
    return [(coef, given.limit * encoded.weight.sum())]


def tries(encoded) -> list[str]:
    return [f"{NAME}[{name}] <= {bound}" for bound in (1, 0.5, 0.25, 0) for name in encoded.classes]


def judged(encoded, given: Constraint) -> Judge:
    data, wanted = encoded.dataset, encoded.classes.index(given.args[0])

    def satisfied(classes) -> bool:
        said = sum(w for w, k in zip(data.weight.tolist(), classes) if k == wanted)
        return said <= given.limit * sum(data.weight.tolist()) + 1e-9

    return Judge(predictions=satisfied)
