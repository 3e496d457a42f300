"""From a problem to its certificate: the best tree, and targets of the dynamic program that prove it."""

from fractions import Fraction
from math import lcm

import numpy as np

import odtc
from odtc.data.splits import Oblique
from odtc.errors import ChoiceError
from odtc.formulations.dpflow.forms import form
from odtc.problem.problem import Problem
from odtc.verification.certificate import EXACT, SCHEMA
from odtc.verification.claim import claim_of
from odtc.verification.coverage import count_uncovered

MOST_DIGITS = 6  # of a weight behind its point


def certify(problem: Problem) -> dict:
    """The certificate of a problem of the model "dpflow", as a JSON object (odtc.verification.certificate).

    Raises ChoiceError where the weights have more digits than whole numbers can hold, and for constraints and
    hyperplanes.
    """
    if problem.constraints:
        raise ChoiceError(
            f"a certificate bounds all trees of a depth; leave out the constraint {str(problem.constraints[0])!r}"
        )
    encoded = problem.encoded
    if any(
        isinstance(split, Oblique)
        for f in range(encoded.n_tests)
        for split in (encoded.tests[f], *(other for other, _ in encoded.stands_for[f]))
    ):
        raise ChoiceError(
            f"a certificate holds tests of one column each, as sums of columns are rounded; the encoding "
            f"{encoded.scheme!r} asks "
            "hyperplanes: choose another --encoding, or `odtc fit --model dpflow`, which proves its tree by a solver"
        )
    heap = problem.module.optimal(problem)
    tree = heap.to_tree(encoded)
    weight_scale = _weight_scale(encoded.weight if encoded.dataset is None else encoded.dataset.weight)
    branch = Fraction(str(problem.params.lambda_))
    costs, cost_scale = _whole_costs(encoded.cost)
    price = 1 - branch
    whole = lcm(branch.denominator, price.denominator)
    scale = weight_scale * whole * cost_scale
    if float(encoded.loss.sum() + encoded.weight.sum()) * scale >= EXACT:
        raise ChoiceError(
            "a certificate counts in whole numbers below 2^53; the weights, costs and lambda have too many digits "
            "for that"
        )
    unit = float(scale * price)  # of the graph's loss, in whole numbers
    source = dict(encoded.dataset.source) if encoded.dataset is not None else {}
    facts = {
        "schema": SCHEMA,
        "odtc": odtc.__version__,
        "data": {
            "name": encoded.name,
            "n_rows": int(encoded.copies.sum()),
            "target": encoded.target,
            "missing": encoded.missing,
            **{key: value for key, value in source.items() if key != "path"},
        },
        "classes": list(encoded.classes),
        "encoding": encoded.scheme,
        "tests": [_test(encoded, f) for f in range(encoded.n_tests)],
        "depth": int(problem.topology.depth),
        "weight_scale": weight_scale,
        "loss": [[int(whole * price) * cost for cost in line] for line in costs],
        "price": int(scale * branch),
        "scale": scale,
        "claim": round(problem.module.objective(problem, heap) * scale),
        "tree": tree.to_json(),
        "targets": [
            _entries(wanted, paths, unit, encoded.ones_left) for wanted, paths in form(problem).targets(problem)
        ],
    }
    if encoded.dataset is not None:
        columns = np.stack([split.left(encoded.dataset.X) for split in encoded.tests])
        all_tests = not count_uncovered(encoded.dataset, columns)[1]
        facts["of"] = claim_of(encoded.dataset, facts["depth"], encoded.n_tests, all_tests)
    return facts


def _entries(wanted, path, unit, ones_left) -> str:
    target = np.rint(wanted * unit).astype(np.int64)
    # A literal of a column's 1 is one of the split's left side where the column is 1 there.
    literals = path ^ ~ones_left[path >> 1]
    return ";".join(map(",".join, np.column_stack([target, literals]).astype(str).tolist()))


def _test(encoded, f) -> dict:
    """The split of a test, with those merged into it, as JSON."""
    merged = encoded.stands_for[f]
    facts = encoded.tests[f].to_json(encoded.features)
    for key, kind in (("same", True), ("complement", False)):
        others = [split.to_json(encoded.features) for split, same in merged if same == kind]
        facts |= {key: others} if others else {}
    return facts


def _whole_costs(cost: np.ndarray) -> tuple[list[list[int]], int]:
    """(costs times a scale, this scale), whole numbers; raises ChoiceError where they are no such fractions."""
    parts = [[Fraction(value).limit_denominator(10**MOST_DIGITS) for value in line] for line in cost.tolist()]
    if (np.abs(np.array([[float(part) for part in line] for line in parts]) - cost) > 1e-12 * cost).any():
        raise ChoiceError(
            f"a certificate counts in whole numbers: expected costs that are fractions of numbers up to "
            f"10^{MOST_DIGITS}; round them"
        )
    scale = lcm(*(part.denominator for line in parts for part in line))
    return [[int(part * scale) for part in line] for line in parts], scale


def _weight_scale(weight) -> int:
    """The least power of ten that makes all weights whole."""
    for digits in range(MOST_DIGITS + 1):
        scaled = weight * 10**digits
        if np.abs(scaled - np.rint(scaled)).max() < 1e-6 and ((np.rint(scaled) > 0) | (weight == 0)).all():
            return 10**digits
    raise ChoiceError(
        f"a certificate counts in whole numbers: expected weights of at most {MOST_DIGITS} digits behind the point, "
        f"got {weight[np.abs(weight * 10**MOST_DIGITS - np.rint(weight * 10**MOST_DIGITS)).argmax()]:.12g}; round them"
    )
