"""A certificate of the best tree under constraints: multipliers that bound most other trees, and cases for the rest.

    "kind": "constraints", "columns": [column, ...], "constraints": ["recall[2] >= 0.6", ...], "loss": [[...]],
    "penalty": P, "scale": S, "claim": C, "bound": B, "multiplier_scale": M, "passes": [[m, ...], ...],
    "cases": [{"root": f, "columns": [...], "multipliers": [m, ...]}, ...]

Columns and numbers are as in odtc.verification.labels; a multiplier is m / M. The splits are the cuts of the columns,
except for cuts that separate the rows in the same way as an earlier one; a root is the position of its split among
these. If claim, bound and tree are null, no tree satisfies the constraints. The proof is then "no tree costs less than
1" with all costs set to 0.

The check needs only the data file and nothing of the compiler. It reads the constraints independently
(stated_constraints, in this package), and counts row by row the tree's cost and whether it satisfies them. Then it
checks that no tree that satisfies them costs less than the bound. At the multipliers of each pass it bounds every case,
which is a root split with a set of columns. Each case that no pass excludes must be listed in "cases". Its trees are
bounded at separate multipliers, and listed if necessary (multiplier_bound, listed_cases). The splits of a column are
swept as chains (swept_sides). From WIDE splits on, every tree of depth 1 is checked without multipliers. From depth 4
on, a case without a root covers all trees over one column with nested splits, which are walks over its ranks
(one_column).
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from odtc.base import deadline, phases
from odtc.base.json_schema import TEXT, WHOLE
from odtc.base.value_class import value_class
from odtc.base.whole_numbers import MAX_DIFFERENCE
from odtc.data.dataset import Dataset
from odtc.errors import CertificateError
from odtc.verification.alike_rows import alike_rows
from odtc.verification.claim import (
    OF_TREE,
    Proof,
    column_shape,
    expect,
    expect_leaf,
    node_shape,
    walk,
)
from odtc.verification.constrained.listed_cases import excluded
from odtc.verification.constrained.multiplier_bound import (
    MOST_APART,
    MOST_SUMS,
    WIDE,
    Problem,
    Weighted,
    surviving,
)
from odtc.verification.constrained.one_column import DEEPEST, holds_one, nested_sets
from odtc.verification.constrained.stated_boxes import Boxes, heap_of, splits_of
from odtc.verification.constrained.stated_constraints import Stated, stated_constraints
from odtc.verification.constrained.stated_order import pairs_of
from odtc.verification.coverage import terms_over
from odtc.verification.labels import expect_cost, scales_of, terms_of, whole_loss, whole_weights
from odtc.verification.threshold_columns import features_of, left_of, rank_columns

MOST_DEPTH = 4  # maximum depth of trees whose pairs of splits are counted
DEEPEST_SWEPT = 3  # maximum depth of trees whose splits are swept column by column
MOST_CELLS = 500_000_000  # maximum of rows of data times splits, stored as one byte each
MOST_SWEPT = 50_000  # maximum number of splits in chains that are swept


SHAPE = {
    "constraints": [TEXT],
    "loss": [[WHOLE]],
    "penalty": WHOLE,
    "scale": WHOLE,
    "claim": (WHOLE, None),
    "bound": (WHOLE, None),
    "columns": [column_shape],
    "tree": (None, {"root": node_shape} | OF_TREE),
    "multiplier_scale": WHOLE,
    "passes": [[WHOLE]],
    "cases": [{"root?": WHOLE, "columns": [TEXT], "multipliers": [WHOLE]}],
}


def shape(kind: str) -> dict:
    """Return the shape of the parts of a certificate of this kind."""
    return SHAPE


@value_class
class Read:
    """The numbers of a certificate with its data: the problem that is bounded, and how the rows of the data map to it.
    The depth of the problem may be lower than the depth of the certificate: its trees then include at least one of the
    best trees."""

    problem: Problem
    depth: int
    loss: np.ndarray  # int64 (rows of the data, classes)
    stated: Stated
    names: list[str]  # the features that splits use, in the order of the problem's columns
    kept: np.ndarray  # int64 (splits of the problem,): the number of its cut among all cuts of the certificate
    row: np.ndarray  # int (rows of the data,): its row in the problem
    walked: dict[int, np.ndarray]  # the sets of columns whose trees are walks, as returned by nested_sets
    of: dict  # the terms of the claim
    covered: list  # how many splits there are, and how many no column contains, as returned by count_left_out


def small_enough(depth: int, n_candidate_splits: int, n_rows: int, apart: Sequence[int] | None = None) -> bool:
    """Return whether a certificate of this depth is possible over this many splits of this many rows of data.

    Parameters
    ----------
    depth, n_candidate_splits, n_rows : int
    apart : sequence of int or None
        The number of splits of each set of columns, if the sets can be checked separately; without the sets whose trees
        are walks over the splits of one column.
    """
    if not 1 <= n_candidate_splits <= MOST_CELLS // max(1, n_rows) or depth < 1:
        return False
    if (depth <= MOST_DEPTH and _counted(depth, n_candidate_splits)) or (
        depth <= DEEPEST_SWEPT and n_candidate_splits <= MOST_SWEPT
    ):
        return True
    if apart is None or n_candidate_splits > MOST_SWEPT or depth > DEEPEST:
        return False
    few = depth <= MOST_DEPTH and max(apart, default=0) <= MOST_APART
    return not len(apart) or (few and sum(2.0 ** (depth - 1) * size**depth for size in apart) <= MOST_SUMS)


def swept(depth: int, n_candidate_splits: int) -> bool:
    """Return whether there are so many splits that a search sweeps the splits of each column, and that every tree of
    depth 1 is checked, without multipliers."""
    return depth <= DEEPEST_SWEPT and n_candidate_splits >= WIDE


def _counted(depth: int, n_candidate_splits: int) -> bool:
    return 2.0 ** (depth - 1) * float(n_candidate_splits) ** depth <= MOST_SUMS


def read_problem(facts: dict, dataset: Dataset) -> Read:
    """Return the problem of a certificate, from its own text and the data.

    Raises
    ------
    CertificateError, ValueError
        If they contradict each other, or the numbers are too large.
    """
    depth, price, scale, weight_scale = scales_of(facts)
    loss = whole_loss(facts, dataset)
    weight = whole_weights(dataset.weight, weight_scale)
    if max(scale, loss.sum(), weight.sum()) >= MAX_DIFFERENCE:
        raise ValueError("its numbers are too large to be added exactly")
    weight, loss = weight.astype(np.int64), loss.astype(np.int64)
    stated = stated_constraints(facts["constraints"], dataset, weight, loss, scale - price)
    ranks = rank_columns(facts["columns"], dataset, left_of, deadline.check)
    features = features_of(facts["columns"])
    if int(ranks.size.sum()) * dataset.n_rows > MOST_CELLS:
        raise CertificateError(
            f"a certificate under constraints is checked by the answers of all rows to all splits, at most "
            f"{MOST_CELLS:,}; got {int(ranks.size.sum()):,} splits of {dataset.n_rows:,} rows"
        )
    if facts["claim"] is None:
        loss, price = np.zeros_like(loss), 0
    row, first = alike_rows(ranks.rank)
    rank = ranks.rank[first]
    X = np.concatenate([rank[:, [at]] <= np.arange(size) for at, size in enumerate(ranks.size)], axis=1)
    of = np.repeat(features, ranks.size)
    kept, boxes = _different(X, of if stated.places.of_columns else np.zeros_like(of)), None
    if stated.everywhere:  # splits that separate the rows alike differ on other inputs
        kept, splits = np.arange(X.shape[1]), splits_of(facts["columns"], dataset)
        boxes = Boxes.of(stated.everywhere, splits, dataset)
    of = of[kept].tolist()
    names, column = _columns_of(of)
    height = _height(depth, stated)
    _expect_size(height, len(kept), dataset, apart=())
    problem = Problem(
        **_counted_rows(loss, stated, row, len(first)),
        X=np.ascontiguousarray(X[:, kept]),
        bound=stated.bound,
        branch_uses=stated.branch_uses,
        leaf_uses=stated.leaf_uses,
        least=stated.least,
        price=price,
        column=column,
        most_columns=stated.places.most_columns,
        apart=tuple(_places(columns, names) for columns in stated.places.apart),
        together=tuple(_places(columns, names) for columns in stated.places.together),
        most_splits=stated.places.most_splits,
        levels=stated.places.levels(of, height),
        below=stated.places.below(of),
        follows=pairs_of(stated.orders, facts["columns"], rank, dataset, row),
        boxes=boxes,
        swept=swept(height, len(kept)),
    )
    walked = nested_sets(problem)
    _expect_size(height, len(kept), dataset, problem.splits_apart(walked))
    of_features = features if stated.orders or stated.everywhere or stated.places.of_columns else None
    claimed, *covered = terms_over(dataset, ranks, depth, facts["constraints"], of_features, deadline.check)
    return Read(problem, depth, loss, stated, list(names), kept, row, walked, claimed, covered)


def _columns_of(features: list) -> tuple[dict, np.ndarray]:
    """Return ({feature: place} in the order of the features of splits, the place of the feature of each split); raises
    ValueError if the splits of a feature are not next to each other."""
    names = {name: place for place, name in enumerate(dict.fromkeys(features))}
    column = np.array([names[name] for name in features], np.int64)
    if (np.diff(column) < 0).any():
        raise ValueError("its columns are not in groups of one feature")
    return names, column


def _different(X: np.ndarray, of: np.ndarray) -> np.ndarray:
    """Return int64 (kept,): the first of the splits of one feature that separate the rows in the same way; X is bool
    (rows, splits), and `of` the feature of each split, or the same name if all features count as one."""
    first: dict[tuple[str, bytes], int] = {}
    for at, key in enumerate(zip(of.tolist(), map(bytes, np.packbits(X ^ X[:1], axis=0).T))):
        first.setdefault(key, at)
    return np.array(list(first.values()), np.int64)


def _counted_rows(loss: np.ndarray, stated: Stated, row: np.ndarray, n_rows: int) -> dict[str, np.ndarray]:
    """Return the fields of `Problem` on its rows; `row` is the row of the problem that each row of the data is.

    Rows with equal costs and uses are of one kind.
    """
    K, sums = loss.shape[1], len(stated.uses)
    used = stated.uses.transpose(1, 0, 2).reshape(len(loss), sums * K)
    table = np.concatenate([loss, used, stated.measures.T], axis=1)
    kind, first = alike_rows(table)
    kinds, members = table[first], np.zeros((n_rows, len(first)))
    np.add.at(members, (row, kind), 1)
    return {
        "members": members,
        "cost": kinds[:, :K],
        "uses": kinds[:, K : K + sums * K].reshape(len(kinds), sums, K).transpose(1, 0, 2),
        "measures": kinds[:, K + sums * K :].T,
    }


def _expect_size(depth: int, n_splits: int, dataset: Dataset, apart: Sequence[int] | None) -> None:
    if not small_enough(depth, n_splits, dataset.n_rows, apart):
        raise CertificateError(
            f"a certificate under constraints has depth 1 to {DEEPEST_SWEPT} over up to {MOST_SWEPT:,} splits, "
            f"of {MOST_DEPTH} over some tens in each set of columns, or up to {DEEPEST} over the thresholds of one "
            f"column; got depth {depth} over {n_splits:,} splits"
        )


def _height(depth: int, stated: Stated) -> int:
    """Return the largest depth that a tree needs to satisfy the constraints at the least cost: no path has more branch
    nodes than the tree may have. A split that is repeated below itself separates no rows: without this node, and
    its leaf without rows, a tree makes the same predictions with fewer nodes and leaves. So a path has as many
    different splits as branch nodes."""
    most = stated.places.most_splits
    more = min(stated.branch_uses, default=0) < 0 or stated.leaf_uses.min(initial=0) < 0  # a sum that needs many nodes
    height = depth if most is None or more else min(depth, max(1, most))
    for uses, bound, node, leaf in zip(stated.uses, stated.bound, stated.branch_uses, stated.leaf_uses):
        if node > 0 and uses.min(initial=0) >= 0 and leaf.min(initial=0) >= 0:  # no node has a negative use
            height = min(height, max(1, bound // node))
    return height


def _places(columns: frozenset[str], names: dict[str, int]) -> frozenset[int]:
    """Return the numbers of columns; for columns without a split, numbers that no column has."""
    return frozenset(names.get(name, -1 - place) for place, name in enumerate(sorted(columns)))


def check(facts: dict, dataset: Dataset, bounds: bool, pause: Callable[[], None]) -> Proof:
    """Check a certificate under constraints, and return its proof; without `bounds` its cases are not checked."""
    found = read_problem(facts, dataset)
    problem, scale, claim, bound = found.problem, facts["scale"], facts["claim"], facts["bound"]
    infeasible = claim is None
    if len({infeasible, facts["tree"] is None, bound is None}) > 1:
        raise CertificateError("the certificate has only some of a tree, a claim and a bound")
    claim, bound = (1, 1) if infeasible else (claim, bound)
    if not (0 <= bound <= claim < MAX_DIFFERENCE and 1 <= facts["multiplier_scale"] < MAX_DIFFERENCE):
        raise ValueError("its claim, its bound or the scale of its multipliers is not valid")
    if not infeasible:
        expect_cost(facts, tree_cost(facts["tree"], dataset, found))
    for k in range(len(dataset.classes)):
        used = found.stated.uses[:, :, k].sum(axis=1) + found.stated.leaf_uses[:, k]
        enough = (found.stated.measures.sum(axis=1) >= found.stated.least[:, k]).all()
        if enough and (used <= problem.bound).all() and found.loss[:, k].sum() < bound:
            less = "" if infeasible else " and costs less"
            raise CertificateError(f"a single leaf of the class {dataset.classes[k]!r} satisfies all{less}")
    if bounds and problem.most_columns != 0:
        _check_cases(facts, found, bound)
    expect(facts, found.of)
    of_column = np.bincount(problem.column)
    sets = [] if problem.most_columns == 0 else problem.column_sets.tolist()
    n_cases = sum(int(of_column[sorted(set(columns))].sum()) for columns in sets)
    return Proof(
        math.inf if infeasible else claim / scale,
        math.inf if infeasible else bound / scale,
        {"n_cases": n_cases, "n_listed": len(facts["cases"]) if sets else 0},
        terms_of(facts),
        found.of,
        *found.covered,
    )


def _check_cases(facts: dict, found: Read, bound: int) -> None:
    """Raise CertificateError if a tree of a case could cost less than the bound."""
    names, problem, scale = found.names, found.problem, facts["multiplier_scale"]
    sets = problem.column_sets
    place = {tuple(sorted(set(columns))): at for at, columns in enumerate(sets.tolist())}
    settled, cases = np.zeros(len(sets), bool), []  # sets of columns whose trees are all checked; other cases
    few = problem.depth <= DEEPEST_SWEPT or _counted(problem.depth, len(problem.column))  # else lists are too long
    for case in facts["cases"]:
        deadline.check()
        columns = tuple(sorted(names.index(name) for name in case["columns"]))
        if columns not in place or not case.get("root", 0) < len(problem.column):
            raise CertificateError(
                "the certificate lists an invalid case: its columns are not one of the sets of columns"
            )
        if "root" in case:
            cases += [(case, place[columns], columns)] if few or place[columns] not in found.walked else []
        elif place[columns] not in found.walked:
            raise CertificateError(
                f"the certificate lists all trees over {', '.join(case['columns'])} as one case, which is identified "
                "by its root: they are not trees over nested splits of one column"
            )
        elif not settled[place[columns]]:
            weighted = Weighted(problem, scale, case["multipliers"])
            _expect_none(holds_one(weighted, found.walked[place[columns]], bound), case, bound / facts["scale"])
            settled[place[columns]] = True
    alive = surviving(problem, scale, facts["passes"], bound, settled)
    for case, at, columns in phases.over(cases, "checking cases"):
        deadline.check()
        if not alive[case["root"], at]:
            continue
        none = excluded(problem, scale, case["root"], np.array(columns), case["multipliers"], bound)
        _expect_none(not none, case, bound / facts["scale"])
        alive[case["root"], at] = False
    if alive.any():
        root, at = (int(found[0]) for found in np.nonzero(alive))
        over = ", ".join(names[column] for column in dict.fromkeys(sets[at].tolist()))
        raise CertificateError(
            f"{int(alive.sum())} cases are neither excluded by multipliers nor listed, the first of them the trees "
            f"over {over} with split {root} at the root"
        )


def _expect_none(left: bool, case: dict, bound: float) -> None:
    """Raise CertificateError if a tree of a case remains."""
    if left:
        raise CertificateError(
            f"a tree over {', '.join(case['columns'])} satisfies the constraints and costs less than {bound:.10g}, or "
            "the multipliers of this case are none that show the contrary"
        )


def tree_cost(tree: dict, dataset: Dataset, found: Read) -> int:
    """Return the cost of a tree, row by row; raises CertificateError if it does not satisfy the constraints."""
    classes, stated, problem = list(dataset.classes), found.stated, found.problem
    uses, splits, paid = np.zeros(len(stated.bound), object), {}, []
    said = np.zeros((2, len(problem.X), len(classes)), bool)  # whether rows are predicted a class, or another one

    def leaf(node: dict, rows: np.ndarray) -> None:
        nonlocal uses
        expect_leaf(node, dataset, rows)
        k = classes.index(node["label"])
        uses = uses + stated.uses[:, rows, k].sum(axis=1) + stated.leaf_uses[:, k]
        said[0, found.row[rows], k] = True
        said[1, found.row[rows]] |= np.arange(len(classes)) != k
        if (stated.measures[:, rows].sum(axis=1) < stated.least[:, k]).any():
            raise CertificateError(
                f"a leaf of the tree of the certificate holds {len(rows)} rows, which do not satisfy its "
                "constraints on leaves"
            )
        paid.append(int(found.loss[rows, k].sum()))

    def branch(node: dict, path: tuple[str, ...], goes: np.ndarray) -> None:
        nonlocal uses
        if wrong := stated.places.violated(path):
            raise CertificateError(wrong)
        uses = uses + np.array(stated.branch_uses, object)
        splits[goes.tobytes(), path[-1]] = path[-1]
        if stated.places.together and node["left"].get("label", 0) == node["right"].get("label", 1):
            raise CertificateError("a node of the tree of the certificate has two leaves of one class")
        paid.append(problem.price)

    walk({"tree": tree, "depth": found.depth}, dataset, leaf, branch)
    if any(use > bound for use, bound in zip(uses, stated.bound)):
        raise CertificateError("the tree of the certificate does not satisfy its constraints")
    low, high, klass = problem.follows.T
    if (said[0, low, klass] & said[1, high, klass]).any():
        raise CertificateError("the tree of the certificate does not rise as its constraints require")
    if stated.everywhere and "split" in tree["root"]:
        heap, own = heap_of(tree["root"], found.depth, classes)
        if not Boxes.of(stated.everywhere, own, dataset).rise(heap).all():
            raise CertificateError("the tree of the certificate does not rise on all inputs as its constraints require")
    if wrong := stated.places.violated_by_all(set(splits.values()), len(splits)):
        raise CertificateError(wrong)
    return sum(paid)
