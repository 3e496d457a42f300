"""From a problem with constraints to its certificate: the best tree, and the multipliers that bound all others."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from math import lcm

import numpy as np

from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem, TooLarge, fixed_point
from odtc.algorithms.constrained.constrained_search import ConstrainedSearch
from odtc.base import deadline
from odtc.data.splits import Oblique
from odtc.errors import CertificateError, ChoiceError
from odtc.formulations.dpflow.write_certificate import head
from odtc.problem.constraints.search_units import whole
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree, settle
from odtc.verification.claim import claim_of
from odtc.verification.constrained_certificate import MOST_DEPTH, SCHEMA, Read, read_problem, tree_cost
from odtc.verification.coverage import count_uncovered
from odtc.verification.listed_cases import excluded
from odtc.verification.multiplier_bound import MOST_TESTS, surviving
from odtc.verification.multiplier_bound import Problem as CheckedProblem
from odtc.verification.stated_constraints import readable

LEAST = 3
FEW = 1000  # a pass at multipliers that exclude fewer than one of so many cases costs more than to list these cases


def certify_constrained(problem: Problem) -> tuple[dict, HeapTree | None]:
    """(the certificate as a JSON object, the best tree) of a problem of the model "dpflow" with constraints; the tree
    is None if it certifies that none satisfies them.

    Raises
    ------
    ChoiceError
        For a constraint, a depth or an encoding that a certificate does not hold, and if the search did not end.
    """
    encoded = problem.encoded
    if any(isinstance(test, Oblique) for test in encoded.tests):
        raise ChoiceError(
            f"a certificate holds tests of one column each; the encoding {encoded.scheme!r} has hyperplanes: choose "
            "another --encoding"
        )
    order = np.argsort([test.features[0] for test in encoded.tests], kind="stable")
    facts = _head(problem, order) | {"claim": 0}
    try:
        read = read_problem(facts, encoded.dataset)
    except CertificateError as refused:
        raise ChoiceError(str(refused)) from None
    ones_left = encoded.ones_left[order]
    arrays = _arrays(read, ones_left)
    try:
        search = ConstrainedSearch(arrays)
        found = search.run()
    except TooLarge as refused:
        raise ChoiceError(f"no certificate can be made: {refused}") from None
    if found.infeasible:
        return _infeasible(problem, facts), None
    if not found.proved:
        raise ChoiceError("the search ended without a proof; take fewer tests (--encoding auto:bins=8)")
    test = np.where(found.test >= 0, order[np.maximum(found.test, 0)], -1).astype(np.int32)
    heap = settle(test, encoded, found.label)
    facts["tree"], facts["claim"] = heap.to_tree(encoded).to_json(), int(found.cost)
    evidence = {(root, subset): tuple(map(int, m)) for root, subset, m in search.evidence()}
    cases = _cases(facts, read, arrays, evidence, search.scale, int(found.cost))
    facts |= {"multiplier_scale": int(search.scale)} | cases
    facts["of"] = _terms(problem, facts)
    return facts, heap


def _infeasible(problem: Problem, facts: dict) -> dict:
    """The certificate that no tree satisfies the constraints: where all trees cost 0, none costs less than 1."""
    facts |= {"tree": None, "claim": None}
    order = np.argsort([test.features[0] for test in problem.encoded.tests], kind="stable")
    read = read_problem(facts, problem.encoded.dataset)
    arrays = _arrays(read, problem.encoded.ones_left[order])
    search = ConstrainedSearch(arrays)
    if not search.run().infeasible:
        raise ChoiceError("the search ended without a proof; take fewer tests (--encoding auto:bins=8)")
    evidence = {(root, subset): tuple(map(int, m)) for root, subset, m in search.evidence()}
    facts |= {"multiplier_scale": int(search.scale)} | _cases(facts, read, arrays, evidence, search.scale, 1)
    facts["of"] = _terms(problem, facts)
    return facts


def certify_found(
    problem: Problem, search: ConstrainedSearch, heap: HeapTree, unit: float
) -> Callable[[], dict] | None:
    """Makes the certificate of a search that has ended, from its own multipliers; None if there can be none.

    Parameters
    ----------
    problem : Problem
    search : ConstrainedSearch
        Over the tests of the problem's encoding.
    heap : HeapTree
        The best tree, proved.
    unit : float
        What one unit of cost of the search is of the objective.
    """
    encoded = problem.encoded
    texts = [str(given) for given in problem.constraints]
    single = not any(isinstance(test, Oblique) for test in encoded.tests)
    small = 1 <= problem.topology.depth <= MOST_DEPTH and 0 < encoded.n_tests <= MOST_TESTS
    if encoded.dataset is None or not (single and small and all(map(readable, texts))):
        return None

    def make() -> dict:
        order = np.argsort([test.features[0] for test in encoded.tests], kind="stable")
        facts = _head(problem, order) | {"claim": 0}
        try:
            read = read_problem(facts, encoded.dataset)
            arrays = _arrays(read, encoded.ones_left[order])
            scale, largest = fixed_point(arrays)
        except (CertificateError, TooLarge) as refused:
            raise ChoiceError(str(refused)) from None
        mine = search.original
        if len(mine.bound) != len(arrays.bound) or len(mine.subsets) != len(arrays.subsets):
            raise ChoiceError("the certificate has other sums than the search")
        # A multiplier is a price of what is used in units of cost; both have other units here.
        used, stated = (np.abs(one.uses).sum(axis=(1, 2)) + np.abs(one.branch_uses) for one in (mine, arrays))
        factor = used / np.maximum(stated, 1) * facts["scale"] * unit * scale / search.scale
        known = {(int(np.flatnonzero(order == root)[0]), subset): m for root, subset, m in search.evidence()}
        evidence = {case: tuple(map(int, np.clip(np.rint(m * factor), 0, largest))) for case, m in known.items()}
        facts["tree"] = heap.to_tree(encoded).to_json()
        facts["claim"] = round(problem.module.objective(problem, heap) * facts["scale"])
        try:  # a number that is satisfied within rounding only is none to a checker of exact decimals
            tree_cost(facts["tree"], encoded.dataset, read)
            facts |= {"multiplier_scale": int(scale)} | _cases(facts, read, arrays, evidence, scale, facts["claim"])
        except CertificateError as refused:
            raise ChoiceError(str(refused)) from None
        facts["of"] = _terms(problem, facts)
        return facts

    return make


def _terms(problem: Problem, facts: dict) -> dict:
    """The terms of the claim."""
    encoded = problem.encoded
    columns = np.stack([split.left(encoded.dataset.X) for split in encoded.tests])
    all_tests = not count_uncovered(encoded.dataset, columns)[1]
    return claim_of(encoded.dataset, facts["depth"], encoded.n_tests, all_tests, facts["constraints"])


def _head(problem: Problem, order: np.ndarray) -> dict:
    """All that does not need the search."""
    encoded, branch = problem.encoded, Fraction(str(problem.params.lambda_))
    try:
        weight_scale = whole(encoded.dataset.weight)[1]
        costs, cost_scale = whole(encoded.cost)
    except TooLarge as refused:
        raise ChoiceError(f"a certificate counts in whole numbers: {refused}") from None
    price = 1 - branch
    unit = lcm(branch.denominator, price.denominator)
    scale = weight_scale * unit * cost_scale
    return head(problem, SCHEMA) | {
        "tests": [encoded.tests[f].to_json(encoded.features) for f in order],
        "depth": int(problem.topology.depth),
        "constraints": [str(given) for given in problem.constraints],
        "weight_scale": int(weight_scale),
        "loss": [[int(unit * price) * int(cost) for cost in line] for line in costs.tolist()],
        "price": int(scale * branch),
        "scale": int(scale),
    }


def _arrays(read: Read, ones_left: np.ndarray) -> ConstrainedProblem:
    """The problem of the checker as the search takes it."""
    mine, K = read.problem, read.problem.cost.shape[1]
    sets = mine.column_sets if mine.most_columns != 0 else np.zeros((1, 0), int)
    subsets = np.zeros((len(sets), int(mine.column.max()) + 1), bool)
    np.put_along_axis(subsets, sets, True, axis=1)
    held = mine.least_rows > 0
    row, kind = np.nonzero(mine.members)  # a row of the search is of one kind
    copies = mine.members[row, kind].astype(np.int64)
    return ConstrainedProblem(
        X=mine.X[row] ^ ~ones_left,
        cost=mine.cost[kind] * copies[:, None],
        depth=mine.depth,
        uses=mine.uses[:, kind] * copies[:, None],
        bound=np.array(mine.bound, np.int64),
        branch_cost=mine.price,
        branch_uses=np.array(mine.branch_uses, np.int64),
        measures=copies[None, :] if held else None,
        least=np.full((1, K), float(mine.least_rows)) if held else None,
        column=mine.column,
        subsets=subsets,
        allowed=_allowed(mine),
    )


def _allowed(mine: CheckedProblem) -> np.ndarray | None:
    """bool (depth, tests): which tests may be asked at each level; None for all."""
    if mine.roots is None:
        return None
    allowed = np.ones((mine.depth, len(mine.roots)), bool)
    allowed[0] = mine.roots
    return allowed


def _cases(facts: dict, read: Read, arrays: ConstrainedProblem, evidence: dict, scale: int, claim: int) -> dict:
    """The multipliers of passes over all cases, and the cases that these leave, with their own multipliers."""
    if read.problem.most_columns == 0:
        return {"passes": [], "cases": []}
    counted = Counter(evidence.values()).most_common()
    passes = [list(m) for m, count in counted if count > max(LEAST, len(evidence) / FEW)]
    alive = surviving(read.problem, scale, passes, claim)
    names = np.array(list(dict.fromkeys(test["feature"] for test in facts["tests"])))
    cases = []
    for root, subset in np.argwhere(alive).tolist():
        deadline.check()
        columns = np.flatnonzero(arrays.subsets[subset])
        own = list(evidence[root, subset])
        tried = (m for m in [own, *passes] if excluded(read.problem, scale, root, columns, m, claim))
        multipliers = next(tried, None)
        if multipliers is None:
            raise ChoiceError("the lists of subtrees are too long for a certificate; take fewer tests")
        cases.append({"root": root, "columns": names[columns].tolist(), "multipliers": multipliers})
    return {"passes": passes, "cases": cases}
