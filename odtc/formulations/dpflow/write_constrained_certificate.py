"""From a problem with constraints to its certificate: the best tree, and the multipliers that bound all others."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import numpy as np

from odtc.algorithms.constrained.constrained_problem import (
    ConstrainedProblem,
    TooLarge,
    fixed_point,
    named,
    with_splits,
)
from odtc.algorithms.constrained.constrained_search import ConstrainedSearch, Found
from odtc.algorithms.constrained.engines import Engine, engine_of
from odtc.algorithms.constrained.one_column.interval_trees import IntervalTrees, nested_subsets
from odtc.algorithms.constrained.one_split import OneSplitSearch
from odtc.base import deadline
from odtc.base.text import count_of
from odtc.base.wording import command, option
from odtc.data.encoding import Encoded
from odtc.data.splits import Oblique
from odtc.errors import CertificateError, ChoiceError, NotProvedError, TimeLimitReached
from odtc.formulations.dpflow.certificate_columns import columns_by_feature
from odtc.formulations.dpflow.write_certificate import Numbers, head, require_splits_of_columns, tree_facts
from odtc.problem.constraints.search_terms import accepting, refined, search_problem, terms_of
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree, settle
from odtc.verification.certificate import CONSTRAINTS
from odtc.verification.constrained.constrained_certificate import Read, read_problem, small_enough, swept, tree_cost
from odtc.verification.constrained.listed_cases import excluded
from odtc.verification.constrained.multiplier_bound import Weighted, surviving
from odtc.verification.constrained.one_column import FROM_DEPTH, holds_one
from odtc.verification.constrained.stated_constraints import readable

# Types of constraints that a search checks for every tree.
LISTED_ONLY = ("together", "splits", "monotone", "monotone_everywhere")


def certify_constrained(problem: Problem) -> tuple[dict, HeapTree | None]:
    """Return (the certificate as a JSON object, the best tree) of a problem of the model "dpflow" with constraints;
    the tree is None if it certifies that none satisfies them.

    Raises
    ------
    ChoiceError
        For a constraint, a depth or an encoding that a certificate does not support, and if the search did not end.
    """
    encoded = problem.encoded
    require_splits_of_columns(encoded)
    facts, source = _head(problem)
    try:
        read, order, arrays = _read(problem, facts, source)
        search, found = _searched(problem, order, read, arrays)
    except CertificateError as refused:
        raise ChoiceError(str(refused)) from None
    if found.infeasible:
        same = np.eye(len(arrays.bound))
        return _infeasible(problem, facts, source, search, order, lambda proof, arrays: same), None
    heap = settle(named(found.split, order), encoded, found.label)
    facts |= {"tree": tree_facts(heap.to_tree(encoded)), "claim": int(found.cost), "bound": int(found.cost)}
    return facts | _evidence(read, arrays, search, int(found.cost)) | {"of": read.of}, heap


def _ones_left(encoded: Encoded, read: Read, order: np.ndarray) -> np.ndarray:
    """Return bool (splits of the checker,): whether the rows on the checker's left side have outcome 1 for the same
    split of the encoding, or for the split that it is merged into."""
    first = encoded.dataset.X[:1]
    left = np.array([encoded.splits[at].left(first)[0] for at in order.tolist()], bool)
    return (left == encoded.ones_left[order]) == read.problem.X[read.row[0]]


def _evidence(
    read: Read,
    arrays: ConstrainedProblem,
    search: Engine,
    claim: int,
    order: np.ndarray | None = None,
    factor: np.ndarray | None = None,
) -> dict:
    """Return the multipliers of a search, and the cases that they leave.

    Parameters
    ----------
    order : int (splits,) or None
        For each split of the arrays, its number in the search; None if these are the same.
    factor : float64 (constraints of the arrays, constraints of the search) or None
        The matrix that converts multipliers of the search to multipliers of the arrays; None if these are the same.
    """
    scale = int(fixed_point(arrays)[0])
    found: dict = {"multiplier_scale": scale, "passes": [], "cases": []}
    if read.problem.most_columns == 0:
        return found
    walked = _walked_cases(read, arrays, scale, claim)
    found["cases"] = list(walked.values())
    if len(walked) < len(arrays.subsets):
        order = np.arange(arrays.X.shape[1]) if order is None else order
        known = _Multipliers(search, arrays, order, np.eye(len(arrays.bound)) if factor is None else factor)
        found["passes"] = known.passes
        found["cases"] += _listed(read, list(walked), known, scale, claim)
    return found


def _read(problem: Problem, facts: dict, source: np.ndarray) -> tuple[Read, np.ndarray, ConstrainedProblem]:
    """Return the problem as the checker reads it, the splits of the encoding that its splits are, and its arrays."""
    read = read_problem(facts, problem.encoded.dataset)
    order = source[read.kept]
    return read, order, _arrays(read, _ones_left(problem.encoded, read, order), _accepting(problem, order))


def _searched(problem: Problem, order: np.ndarray, read: Read, arrays: ConstrainedProblem) -> tuple[Engine, Found]:
    """Return a search over the arrays that has reached its end, and its result."""
    try:
        if swept(arrays.depth, arrays.X.shape[1]) or len(read.walked) == len(arrays.subsets):
            search = engine_of(arrays, search_problem(problem).scale[order])
            search.watch(deadline.is_over, lambda bound, cost: None)
        else:
            search = ConstrainedSearch(arrays, deadline.is_over)
        try:
            found = search.run()
        except KeyboardInterrupt:
            deadline.end_soon()
            found = search.found
    except TooLarge as refused:
        raise ChoiceError(f"no certificate can be made: {refused}") from None
    if found.proved:
        return search, found
    if not deadline.is_over() and not deadline.is_interrupted():
        raise ChoiceError(f"the search ended without a proof; take fewer splits ({option('encoding', 'auto:bins=8')})")
    raise _unproved(problem, found, order)


def _unproved(problem: Problem, found: Found, order: np.ndarray) -> NotProvedError:
    """Return the error for a search that was ended, with its tree."""
    error = NotProvedError(
        f"{deadline.what_ends()} came before the proof, so no certificate was written; allow more time, or use fewer "
        f"splits ({option('encoding', 'auto:bins=8')}) or a smaller {option('depth')}"
    )
    error.interrupted = deadline.is_interrupted()
    if found.split is not None:
        error.heap = settle(named(found.split, order), problem.encoded, found.label)
    return error


def _infeasible(
    problem: Problem,
    facts: dict,
    source: np.ndarray,
    search: Engine,
    splits: np.ndarray,
    factor_of: Callable[[Engine, ConstrainedProblem], np.ndarray],
) -> dict:
    """Return the certificate that no tree satisfies the constraints: if all trees cost 0, none costs less than 1.

    A search proves it by W(μ) > U, where W(μ) is the least cost of a tree together with its priced excess of the
    constraints, and U the most that a tree costs. Then the priced excess of each tree is positive without its cost, so
    the same multipliers prove it. If they fail because they are rounded, another search finds others.

    Parameters
    ----------
    search : Engine
        The search that has proved it.
    splits : int (splits of the search,)
        The splits of the encoding that those of the search are.
    factor_of : Callable
        Returns the matrix that converts multipliers of a search to multipliers of a problem, if 1 is one unit of both.
    """
    facts = facts | {"tree": None, "claim": None, "bound": None}
    read, order, arrays = _read(problem, facts, source)
    whole = search if isinstance(search, ConstrainedSearch) else search.whole
    number = np.full(int(max(order.max(initial=-1), splits.max(initial=-1))) + 1, -1)
    number[splits] = np.arange(len(splits))
    if whole is not None and (number[order] >= 0).all():
        proof = whole.witness or whole
        with suppress(ChoiceError):
            factor = fixed_point(arrays)[0] / proof.scale * factor_of(proof, arrays)
            return facts | _evidence(read, arrays, proof, 1, number[order], factor) | {"of": read.of}
    search, found = _searched(problem, order, read, arrays)
    if not found.infeasible:
        raise ChoiceError("the constraints can be satisfied")
    return facts | _evidence(read, arrays, search, 1) | {"of": read.of}


class _Multipliers:
    """Multipliers that a search has for the cases of a certificate.

    Parameters
    ----------
    search : Engine
    arrays : ConstrainedProblem
        The problem of the checker.
    order : int (splits,)
        For each split of the arrays, its number in the search.
    factor : float64 (constraints of the arrays, constraints of the search)
        The matrix that converts multipliers of the search to multipliers of the arrays.
    """

    def __init__(self, search: Engine, arrays: ConstrainedProblem, order: np.ndarray, factor):
        mine = search.original if isinstance(search, ConstrainedSearch) else search.problem
        self.known, self.order, self.factor = search.settled(), order, factor
        self.largest = fixed_point(arrays)[1]
        # Pairs of a column of the search and a column of the arrays with the same splits. The search may have only one
        # column.
        theirs, own = np.unique([mine.column[order], arrays.column], axis=1)
        self.subset = {frozenset(own[subset[theirs]].tolist()): at for at, subset in enumerate(mine.subsets)}

    @property
    def passes(self) -> list[list[int]]:
        """Return the multipliers of all cases."""
        return [] if self.known is None else [self._named(m) for m in self.known.passes]

    def of(self, root: int, columns: frozenset[int]) -> list[int]:
        """Return the multipliers of a case; without separate ones, the first multipliers for all cases, or 0."""
        subset = self.subset.get(columns)
        found = None if subset is None or self.known is None else self.known.of(int(self.order[root]), subset)
        return next(iter(self.passes), [0] * len(self.largest)) if found is None else self._named(found)

    def _named(self, multipliers: np.ndarray) -> list[int]:
        return [int(m) for m in np.clip(np.rint(self.factor @ multipliers), 0, self.largest)]


def certificate_of(
    problem: Problem, engine: Engine, heap: HeapTree | None, unit: float
) -> tuple[Callable[[], dict] | None, str]:
    """Return (a function that makes the certificate of a search that has ended, "") or (None, the reason as text).

    Parameters
    ----------
    problem : Problem
    engine : Engine
        The search; one over all splits at once has the multipliers of every case.
    heap, unit
        As in certify_found.
    """
    depth, n_candidate_splits = _height(problem), problem.encoded.n_candidate_splits
    search = engine if isinstance(engine, ConstrainedSearch) else engine.whole
    apart = None if depth < FROM_DEPTH else _apart(engine)
    if swept(depth, n_candidate_splits):
        search = engine if heap is None or engine.settled() is not None else None
    elif apart == []:
        search = engine
    if search is not None and (make := certify_found(problem, search, heap, unit, apart)) is not None:
        return make, ""
    if isinstance(engine, OneSplitSearch) and _may_be_certified(problem, apart):
        return lambda: _certified_again(problem, heap), ""
    return None, only_proof(problem, apart)


def _may_be_certified(problem: Problem, apart: list[int] | None) -> bool:
    """Return whether a certificate supports a problem of this size."""
    n_candidate_splits, rows = problem.encoded.n_candidate_splits, problem.encoded.dataset.n_rows
    return _holds(problem) and small_enough(_height(problem), n_candidate_splits, rows, apart)


def only_proof(problem: Problem, apart: list[int] | None = None) -> str:
    """Return why a search that has no multipliers for every case makes no certificate, and what to do.

    Parameters
    ----------
    problem : Problem
    apart : list of int or None
        The number of splits of each set of columns, if the sets can be checked separately.
    """
    alone = "the search is the only proof"
    if not _holds(problem):
        return f"{alone}: no certificate supports these constraints, this depth or this encoding"
    if not _may_be_certified(problem, apart):
        n_candidate_splits, rows = problem.encoded.n_candidate_splits, problem.encoded.dataset.n_rows
        return (
            f"{alone}: {count_of(n_candidate_splits, 'split')} of {count_of(rows, 'row')} are too many for a "
            f"certificate of depth {_height(problem)} under constraints; use fewer "
            f"({option('encoding', 'auto:bins=8')})"
        )
    return (
        f"{alone}: it did not store multipliers for every case; {command('certify')} searches again, which may take "
        "much longer, and writes a certificate"
    )


def _certified_again(problem: Problem, heap: HeapTree | None) -> dict:
    """Return the certificate of another search, which must have the same result as this one."""
    try:
        facts = certify_constrained(problem)[0]
    except NotProvedError as ended:
        raise TimeLimitReached(str(ended)) from None
    claim = None if heap is None else round(problem.module.objective(problem, heap) * facts["scale"])
    if facts["claim"] != claim:
        raise ChoiceError(
            "the search is the only proof: a constraint is satisfied within rounding, and a certificate uses exact "
            "decimals"
        )
    return facts


def _height(problem: Problem) -> int:
    """Return the largest depth that a tree needs: a path has no split twice, and no more branch nodes than the tree
    may have."""
    most = [int(given.bound) for given in problem.constraints if given.name in ("splits", "branch_nodes")]
    most += [int(given.bound) - 1 for given in problem.constraints if given.name == "leaves"]
    return max(1, min([problem.topology.depth, *most]))


def _holds(problem: Problem) -> bool:
    """Return whether a certificate supports such splits and constraints."""
    single = not any(isinstance(split, Oblique) for split in problem.encoded.splits)
    texts = [str(given) for given in problem.constraints]
    return problem.encoded.dataset is not None and single and all(map(readable, texts))


def _apart(engine: Engine) -> list[int] | None:
    """Return the number of splits of each set of columns of a search, except for sets whose trees are covered by
    intervals of one column; None if a constraint refers to splits."""
    arrays = engine.original if isinstance(engine, ConstrainedSearch) else engine.problem
    sets = np.delete(arrays.subsets, list(nested_subsets(arrays)), axis=0)
    if len(sets) and not (arrays.allowed.all() and arrays.below is None):
        return None
    return (sets @ np.bincount(arrays.column, minlength=sets.shape[1])).tolist()


def certify_found(
    problem: Problem, search: Engine, heap: HeapTree | None, unit: float, apart: list[int] | None = None
) -> Callable[[], dict] | None:
    """Return a function that makes the certificate of a search that has ended, from its own multipliers; None if there
    can be none. If no tree satisfies the constraints, multipliers of another search prove it.

    Parameters
    ----------
    problem : Problem
    search : Engine
        Over the splits of the problem's encoding.
    heap : HeapTree or None
        The best tree, proved; None if it is proved that there is none.
    unit : float
        The part of the objective that one unit of cost of the search is.
    apart : list of int or None
        As in `small_enough`.
    """
    encoded = problem.encoded
    if not (
        _holds(problem) and small_enough(_height(problem), encoded.n_candidate_splits, encoded.dataset.n_rows, apart)
    ):
        return None

    def make() -> dict:
        facts, source = _head(problem)
        try:
            if heap is None:
                every = np.arange(encoded.n_candidate_splits)
                factor = partial(_factor, problem)
                return _infeasible(problem, facts, source, search, every, factor)
            read, order, arrays = _read(problem, facts, source)
        except (CertificateError, TooLarge, ValueError) as refused:  # the latter of numbers that are too large for it
            raise ChoiceError(f"a certificate counts in whole numbers: {refused}") from None
        facts["tree"] = tree_facts(heap.to_tree(encoded))
        facts["claim"] = facts["bound"] = round(problem.module.objective(problem, heap) * facts["scale"])
        try:  # the checker uses exact decimals, so a number that is satisfied only within rounding does not count
            tree_cost(facts["tree"], encoded.dataset, read)
            needed = len(read.walked) < len(arrays.subsets)
            factor = None
            if needed:
                scales = fixed_point(arrays)[0] / search.settled().scale
                factor = facts["scale"] * unit * scales * _factor(problem, search, arrays)
            return facts | _evidence(read, arrays, search, facts["claim"], order, factor) | {"of": read.of}
        except (CertificateError, TooLarge) as refused:
            raise ChoiceError(str(refused)) from None

    return make


def _factor(problem: Problem, search: Engine, arrays: ConstrainedProblem) -> np.ndarray:
    """Return float64 (constraints of the arrays, constraints of the search): the matrix that converts multipliers of
    the search to multipliers of the arrays, if both have the same unit of cost and the same scale.

    Raises
    ------
    ChoiceError
        If a certificate has other sums than the search.
    """
    # The search may have sums for constraints that a certificate checks for every tree.
    stated = np.flatnonzero(_stated(problem))
    if len(stated) != len(arrays.bound):
        raise ChoiceError("the certificate has other sums than the search")
    # A multiplier is a cost for one unit of use, and the search and the arrays have different units of use.
    used, here = (
        np.abs(one.uses).sum(axis=(1, 2)) + np.abs(one.branch_uses) + np.abs(one.leaf_uses).sum(axis=1)
        for one in (search.problem, arrays)
    )
    factor = np.zeros((len(here), len(used)))
    factor[np.arange(len(here)), stated] = used[stated] / np.maximum(here, 1)
    return factor


def _stated(problem: Problem) -> list[bool]:
    """Return for each sum of the search whether a certificate contains it as a sum."""
    found, encoded = [], refined(problem.encoded, problem.constraints)
    for given in problem.constraints:
        terms = terms_of(encoded, given)
        n = len(terms.lines) + (terms.nodes is not None) + len(terms.leaves)
        found += [given.name not in LISTED_ONLY] * n
    return found


def _head(problem: Problem) -> tuple[dict, np.ndarray]:
    """Return all parts that do not need the search, and the split of the encoding that each cut of the columns is."""
    numbers = Numbers(problem)
    rises = any(given.name == "monotone" for given in problem.constraints)  # it depends on the columns of a split
    columns, source = columns_by_feature(problem.encoded, rises)
    facts = {
        "columns": columns,
        "constraints": [str(given) for given in problem.constraints],
        "claim": 0,
    }
    return head(problem, CONSTRAINTS) | numbers.facts | facts, source


def _accepting(problem: Problem, order: np.ndarray) -> Callable[[np.ndarray, np.ndarray], bool] | None:
    """Return a function that reports whether a tree, with splits in this order, satisfies the constraints that sums
    and sets do not express; None if they express all."""
    checked = [given for given in problem.constraints if given.name in LISTED_ONLY]
    accepts = accepting(problem, checked)

    def mine(split: np.ndarray, label: np.ndarray) -> bool:
        return accepts(named(split, order), label)

    return mine if checked else None


def _arrays(read: Read, ones_left: np.ndarray, accepts=None) -> ConstrainedProblem:
    """Return the problem of the checker in the form that the search uses."""
    mine = read.problem
    sets = mine.column_sets if mine.most_columns != 0 else np.zeros((1, 0), int)
    subsets = np.zeros((len(sets), int(mine.column.max()) + 1), bool)
    np.put_along_axis(subsets, sets, True, axis=1)
    row, kind = np.nonzero(mine.members)  # a row of the search has one kind
    copies = mine.members[row, kind].astype(np.int64)
    return ConstrainedProblem(
        X=mine.X[row] ^ ~ones_left,
        cost=mine.cost[kind] * copies[:, None],
        depth=mine.depth,
        uses=mine.uses[:, kind] * copies[:, None],
        bound=np.array(mine.bound, np.int64),
        branch_cost=mine.price,
        branch_uses=np.array(mine.branch_uses, np.int64),
        leaf_uses=mine.leaf_uses,
        measures=mine.measures[:, kind] * copies,
        least=mine.least,
        column=mine.column,
        subsets=subsets,
        allowed=mine.levels,
        below=None if mine.below.all() else mine.below,
        accepts=accepts,
    )


def _walked_cases(read: Read, arrays: ConstrainedProblem, scale: int, claim: int) -> dict[int, dict]:
    """Return a case for each set of columns whose trees are walks over the splits of one column, with the multipliers
    that give the best bound on these trees."""
    found = {}
    row = np.nonzero(read.problem.members)[0]  # of each row of the arrays
    for subset, cells in read.walked.items():
        mine = cells[row]
        splits = np.arange(mine.max(initial=0))
        nested = with_splits(
            arrays,
            X=mine[:, None] > splits,
            column=np.zeros(len(splits), int),
            allowed=np.ones((arrays.depth, len(splits)), bool),
            below=None,
            subsets=np.ones((1, 1), bool),
            accepts=None,
        )
        trees = IntervalTrees(nested, splits, deadline.check)
        trees.bound(claim)
        multipliers = [int(m) for m in [*np.zeros((1, len(arrays.bound))), *trees.multipliers][-1]]
        if holds_one(Weighted(read.problem, scale, multipliers), cells, claim):
            raise ChoiceError("a tree over one column costs less than the tree that the search has found")
        name = read.names[int(read.problem.column_sets[subset][0])]
        found[subset] = {"columns": [name], "multipliers": multipliers}
    return found


def _listed(read: Read, walked: list[int], known: _Multipliers, scale: int, claim: int) -> list[dict]:
    """Return the cases that the passes leave open, one set of columns after the other, with multipliers at which their
    lists show that none of their trees costs less; the `walked` sets are settled."""
    names, passes = np.array(read.names), known.passes
    sets, cases = read.problem.column_sets, []
    alive = surviving(read.problem, scale, passes, claim, np.isin(np.arange(len(sets)), walked))
    for subset, root in np.argwhere(alive.T).tolist():
        deadline.check()
        columns = np.unique(sets[subset])
        every = [known.of(root, frozenset(columns.tolist())), *passes]
        multipliers = next((m for m in every if excluded(read.problem, scale, root, columns, m, claim)), None)
        if multipliers is None:
            raise ChoiceError("the lists of subtrees are too long for a certificate; take fewer splits")
        cases.append({"root": root, "columns": names[columns].tolist(), "multipliers": multipliers})
    return cases
