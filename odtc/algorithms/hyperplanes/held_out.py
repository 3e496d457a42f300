"""Choice of a tree of hyperplanes by held-out rows: repeated cross-validation over penalties and numbers of leaves.

Of the candidates within `se` standard errors of the best mean, those with the fewest leaves are taken, and of these
the one with the best mean (the one-standard-error rule, Breiman et al. 1984, section 3.4.3, with the error of the
paired differences). The majority and one hyperplane are always candidates; a tree that does not surely beat the
majority is not returned.

A row here may represent several identical data rows (`copies`). Folds consist of data rows: if a row were held out
with all its copies, the training rows would have no information about its class where the same numbers occur again.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from odtc.algorithms.hyperplanes.penalised import CART, NEAR, PENALTIES, Grower, PrunedTree, clipped
from odtc.base.value_class import value_class

FOLDS, REPEATS = 5, 2  # of the cross-validation
LEAST_ROWS = 10  # of the data: fewer, or fewer than FOLDS of the most frequent class, cannot show which tree is better
FOLD_ROWS = 2500  # that cross-validation uses, at most
FOLD_CELLS = 500_000  # the same if the time is over and only single columns are used
FIT_ROWS = 8000  # that a tree is settled on, at most
FIRST = 0.25  # of the time, in which the first fold ends
SURE = 1.8  # corrected standard errors by which a tree has to beat the majority


@value_class
class Choice:
    """The tree that cross-validation chose, and the results for held-out rows.

    `penalty` is the C of its nodes, None for a tree of single columns. For the held-out rows: `held_out` is the mean
    loss of trees like this one per unit of weight, `error` the standard error of that mean, `majority` and `linear`
    the mean losses of the majority and of a multinomial logistic regression, which is not a tree (NaN if there is
    none); `folds` is how many folds were evaluated, 0 if there are too few rows. `held_out` is the mean of the folds
    that the choice was made by, so it is a little too good; `error` accounts for the training rows that the folds
    share. `better` is true if some tree with more than one leaf surely beats the majority, `over` if the time was over
    before all penalties were evaluated on all folds, and `alone` if it was enough only for single columns.
    """

    tree: PrunedTree
    penalty: float | None
    held_out: float = np.nan
    error: float = np.nan
    majority: float = np.nan
    linear: float = np.nan
    folds: int = 0
    better: bool = False
    over: bool = False
    alone: bool = False

    def in_units(self, loss: float, weight: float) -> "Choice":
        """Return the same for losses and weights that are this many times as large."""
        each = {name: getattr(self, name) * loss / weight for name in ("held_out", "error", "majority", "linear")}
        return replace(self, tree=replace(self.tree, loss=self.tree.loss * loss), **each)


def choose_tree(
    Z: np.ndarray,
    loss: np.ndarray,
    weight: np.ndarray,
    grower: Grower,
    copies: np.ndarray | None = None,
    *,
    se: float = 1.0,
    seconds: float = 10.0,
) -> Choice:
    """Return the tree of 1 to 2^depth leaves that repeated cross-validation chooses.

    Parameters
    ----------
    Z : ndarray of float64, (rows, terms)
        Scaled so that most of a column is within [0, 1]; numbers far outside are clipped where nodes are fitted.
    loss : ndarray of float64, (rows, classes)
        The cost of predicting this class for this row.
    weight : ndarray of float64, (rows,)
    grower : Grower
        Of the candidates; its seed is also used for the folds and samples.
    copies : ndarray of int64, (rows,) or None
        How many data rows each row represents, of `loss` and `weight` together; None for one each, and 0 counts as one,
        too (a further part of a data row).
    se : float
        Standard errors (of the paired differences to the best candidate) that fewer leaves may be worse; 0 for the
        best mean.
    seconds : float
        Time limit. If it is short there are fewer penalties, folds and rows; if there is no time for two folds, the
        choice is among trees of single columns, which take little time. With fewer than LEAST_ROWS rows it is the
        majority.

    Returns
    -------
    Choice
    """
    rng = np.random.default_rng(grower.seed)
    whole = loss
    cheapest, rows, loss, weight = _data_rows(loss, weight, copies)
    fitted = rows[_sample(cheapest[rows], FIT_ROWS, rng)]
    until = grower.clock() + seconds
    if len(rows) < LEAST_ROWS or np.bincount(cheapest[rows]).max() < FOLDS:
        return Choice(grower.paths(Z, whole, np.inf, ())[CART][-1], None)
    wanted = PENALTIES if grower.depth and grower.weighed(Z).shape[1] else ()
    held, rate = [], np.inf
    if seconds > 0 and wanted:
        seen = rows[_sample(cheapest[rows], FOLD_ROWS, rng)]
        held, rate = _held_out(Z, loss, weight, grower, seen, until, wanted)
    alone = bool(wanted) and len(held) < 2
    if len(held) < 2:
        most, rate, until = max(200, min(FOLD_ROWS, FOLD_CELLS // max(1, Z.shape[1]))), np.inf, np.inf
        held, _ = _held_out(Z, loss, weight, grower, rows[_sample(cheapest[rows], most, rng)], until, ())
    if np.isfinite(rate):
        in_time = max(LEAST_ROWS, int(rate * (until - grower.clock())))
        fitted = fitted[_sample(cheapest[fitted], in_time, rng)]
    full = _grown(grower, Z, loss, fitted, until, _penalties(held[0].lost))
    choice = _choice(held, full, wanted, se)
    over = choice.over or alone
    return replace(choice, tree=_whole(choice.tree, Z, whole), over=over, alone=alone)


def _choice(held: "list[_Fold]", full: dict, wanted: tuple[float, ...], se: float) -> Choice:
    """Return the choice among trees of all rows, `full` by penalty, by the losses of trees like them in the folds;
    `wanted` are the penalties that were to be evaluated."""
    keys = [(family, k) for family, path in full.items() for k in sorted({tree.leaves for tree in path})]
    lost = [np.column_stack([fold.lost[family][:, leaves - 1] for family, leaves in keys]) for fold in held]
    weights = [fold.weight for fold in held]
    losses = np.array([each.sum(axis=0) / max(float(of.sum()), NEAR) for each, of in zip(lost, weights)])

    def error(at: int, other: int) -> float:
        return error_of_mean([each[:, other] - each[:, at] for each in lost], weights)

    at, better = _chosen(losses, keys, se, error)
    family, leaves = keys[at]
    return Choice(
        _at(full[family], leaves),
        None if family == CART else family[1],
        float(losses[:, at].mean()),
        error_of_mean([each[:, at] for each in lost], weights),
        float(losses[:, _majority(keys)].mean()),
        float(np.mean([fold.linear for fold in held])),
        len(held),
        better,
        bool(wanted) and (len(held) < FOLDS * REPEATS or len(_penalties(held[0].lost)) < len(wanted)),
    )


def grown_candidates(
    Z: np.ndarray, loss: np.ndarray, grower: Grower, copies: np.ndarray | None = None, *, seconds: float
) -> list[tuple[float | None, PrunedTree]]:
    """Return (penalty, None for single columns; tree) of each tree that `choose_tree` would choose from, for all rows
    and without folds, for callers that choose by other rows; arguments as there."""
    cheapest, rows, _, _ = _data_rows(loss, loss.max(axis=1), copies)
    fitted = rows[_sample(cheapest[rows], FIT_ROWS, np.random.default_rng(grower.seed))]
    each = np.maximum(1, np.ones(len(loss), int) if copies is None else copies)
    paths = _grown(grower, Z, loss / each[:, None], fitted, grower.clock() + seconds, PENALTIES)
    return [(None if family == CART else family[1], tree) for family, path in paths.items() for tree in path]


@value_class
class PriceChoice:
    """The objective that held-out rows choose: the position `place` of its penalties, the `tree` of all rows that it
    ranks first, and the mean losses on held-out rows of such trees and of the majority over `folds` folds."""

    place: int
    tree: PrunedTree
    held_out: float
    majority: float
    folds: int


def choose_prices(
    Z: np.ndarray,
    loss: np.ndarray,
    weight: np.ndarray,
    grower: Grower,
    cost: Callable[[PrunedTree, np.ndarray], np.ndarray],
    copies: np.ndarray | None = None,
    *,
    seconds: float = 10.0,
) -> PriceChoice | None:
    """Return which of several objectives makes the trees of `choose_tree` generalise: on each fold every objective
    takes the candidate with the least cost on the training rows, which is then evaluated on the others.

    Parameters
    ----------
    Z, loss, weight, grower, copies, seconds
        As for `choose_tree`.
    cost : callable
        (tree, rows) -> float64 (objectives,), the cost of the tree on these rows, one copy of a row each time that it
        is named; objectives that follow single rows least come first, and the first within a standard error of the
        best mean is chosen.

    Returns
    -------
    PriceChoice or None
        None if there are too few rows, or there was no time for two folds.
    """
    until = grower.clock() + seconds
    cheapest, rows, loss, weight = _data_rows(loss, weight, copies)
    if len(rows) < LEAST_ROWS or np.bincount(cheapest[rows]).max() < FOLDS or not seconds > 0:
        return None

    def preferred(paths: dict, rows: np.ndarray) -> list[PrunedTree]:
        trees = [tree for path in paths.values() for tree in path]
        costs = np.array([cost(tree, rows) for tree in trees])
        return [trees[at] for at in costs.argmin(axis=0)]

    rows = rows[_sample(cheapest[rows], FOLD_ROWS, np.random.default_rng(grower.seed))]
    losses, majority, families = [], [], {}
    for train, split, paths in grown_folds(Z, loss, grower, rows, until):
        losses.append([_held_out_loss(tree, Z, loss, weight, split) for tree in preferred(paths, train)])
        majority.append(_held_out_loss(paths[CART][-1], Z, loss, weight, split))
        families = families or paths
    if len(losses) < 2:
        return None
    seen = np.array(losses)
    mean = seen.mean(axis=0)
    apart = seen - seen[:, [int(mean.argmin())]]
    near = apart.mean(axis=0) <= apart.std(axis=0, ddof=1) / np.sqrt(len(seen)) + NEAR
    place = int(np.flatnonzero(near)[0])
    full = _grown(grower, Z, loss, rows, until, _penalties(families))
    tree = preferred(full, rows)[place]
    return PriceChoice(place, tree, float(mean[place]), float(np.mean(majority)), len(seen))


def _majority(keys: list) -> int:
    return next(at for at, (_, leaves) in enumerate(keys) if leaves == 1)


def _chosen(losses: np.ndarray, keys: list, se: float, error_of: Callable[[int, int], float]) -> tuple[int, bool]:
    """Return (position of the chosen candidate, whether it surely beats the majority). `error_of` gives the standard
    error of the gain of one candidate compared with another. The best of many candidates looks better than it is,
    hence SURE errors."""
    mean = losses.mean(axis=0)
    best = int(mean.argmin())
    apart = losses - losses[:, [best]]
    error = apart.std(axis=0, ddof=1) / np.sqrt(len(losses))
    near = [at for at in range(len(keys)) if apart[:, at].mean() <= se * error[at] + NEAR]
    fewest = min(keys[at][1] for at in near)
    at = min((at for at in near if keys[at][1] == fewest), key=lambda at: (mean[at], keys[at][0][1]))
    majority = _majority(keys)
    better = keys[at][1] > 1 and mean[majority] - mean[at] > SURE * error_of(at, majority) + NEAR
    return (at if better else majority), bool(better)


def error_of_mean(values: list[np.ndarray], weights: list[np.ndarray]) -> float:
    """Return the standard error of the mean loss or gain of held-out rows, per unit of weight.

    J folds of k parts share training rows, so their mean has 1/J + 1/(k - 1) of the variance of one fold's, not 1/J of
    it (Nadeau & Bengio 2003). The variance of a fold is estimated from its rows, because so few means estimate it
    badly.

    Parameters
    ----------
    values : list of ndarray of float64, (held-out rows,)
        One array for each fold.
    weights : list of ndarray of float64, (held-out rows,)

    Returns
    -------
    float
    """
    value, weight = np.concatenate(values), np.concatenate(weights)
    total = max(float(weight.sum()), NEAR)
    apart = value - weight * (float(value.sum()) / total)
    return float(np.sqrt((apart**2).sum() * (1 + len(values) / (FOLDS - 1)))) / total


def _sample(cheapest: np.ndarray, most: int, rng) -> np.ndarray:
    """Return rows (indices): all, or `most` of them at random, at least one of each class."""
    n = len(cheapest)
    if n <= most:
        return np.arange(n)
    first = np.unique(cheapest, return_index=True)[1]
    return np.union1d(first, rng.permutation(n)[:most])


def _data_rows(
    loss: np.ndarray, weight: np.ndarray, copies: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return (cheapest class of each row, the row of each data row, loss and weight of one copy of each row)."""
    of = np.ones(len(loss), int) if copies is None else np.maximum(copies, 1)
    return loss.argmin(axis=1), np.repeat(np.arange(len(loss)), of), loss / of[:, None], weight / of


def _grown(grower: Grower, Z, loss, rows: np.ndarray, until: float, penalties: tuple[float, ...]):
    """Return the paths of these rows; a row may be named several times."""
    once, times = np.unique(rows, return_counts=True)
    return grower.paths(Z[once], loss[once] * times[:, None], until, penalties)


def grown_folds(
    Z: np.ndarray,
    loss: np.ndarray,
    grower: Grower,
    rows: np.ndarray,
    until: float,
    penalties: tuple[float, ...] = PENALTIES,
) -> Iterator[tuple[np.ndarray, np.ndarray, dict[tuple[str, float], list[PrunedTree]]]]:
    """Yield repeated folds of `rows`, which may contain a row several times: (training rows, held-out rows, {family:
    trees of 1, 2, … leaves}).

    The families are those that the first fold grows in FIRST of the time; there are as many folds as leave time for
    the trees of all rows.
    """
    from sklearn.model_selection import RepeatedStratifiedKFold

    cheapest, families, longest = loss.argmin(axis=1), {}, 0.0
    part = FIRST * (until - grower.clock())
    folds = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=REPEATS, random_state=grower.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes with fewer rows than folds
        parts = list(folds.split(rows, cheapest[rows]))
    for inside, outside in parts:
        began = grower.clock()
        if families and began + 2 * longest > until:
            return
        train = rows[inside]
        ends = began + max(part, longest)
        paths = _grown(grower, Z, loss, train, ends, _penalties(families) if families else penalties)
        if not families.keys() <= paths.keys():
            return
        families = families or paths
        yield train, rows[outside], paths
        longest = max(longest, grower.clock() - began)


@value_class
class _Fold:
    """The held-out rows of a fold: the loss of each by the trees of 1, 2, … leaves of each family (float64 (rows,
    trees)), their weight, and the mean loss of a linear model per unit of weight."""

    lost: dict[tuple[str, float], np.ndarray]
    weight: np.ndarray
    linear: float


def _held_out(
    Z, loss, weight, grower: Grower, rows: np.ndarray, until: float, penalties: tuple[float, ...]
) -> tuple[list[_Fold], float]:
    """Return (the folds that were evaluated, rows per second)."""
    from sklearn.linear_model import LogisticRegression

    cheapest, found, longest, least = loss.argmin(axis=1), [], 0.0, np.inf
    began = grower.clock()
    for train, split, paths in grown_folds(Z, loss, grower, rows, until, penalties):
        each = {
            family: np.column_stack(
                [loss[split, _at(path, k).predict(Z[split])] for k in range(1, 2**grower.depth + 1)]
            )
            for family, path in paths.items()
        }
        plane, margin = cheapest[train], np.ptp(loss[train], axis=1) + 1e-12
        if not penalties:
            label = None
        elif len(np.unique(plane)) > 1:
            near = clipped(grower.weighed(Z))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a model that has not converged is reported, too
                linear = LogisticRegression(max_iter=200, tol=1e-3).fit(near[train], plane, margin / margin.mean())
            label = linear.predict(near[split])
        else:
            label = np.full(len(split), plane[0])
        found.append(_Fold(each, weight[split], np.nan if label is None else _mean_loss(label, loss, weight, split)))
        longest, least = max(longest, grower.clock() - began), min(least, len(train))
        began = grower.clock()
    return found, least / max(longest, NEAR)


def _held_out_loss(tree: PrunedTree, Z, loss, weight, rows: np.ndarray) -> float:
    return _mean_loss(tree.predict(Z[rows]), loss, weight, rows)


def _mean_loss(label: np.ndarray, loss, weight, rows: np.ndarray) -> float:
    """Return the cost of these labels of `rows` per unit of weight."""
    return float(loss[rows, label].sum() / max(float(weight[rows].sum()), NEAR))


def _penalties(families) -> tuple[float, ...]:
    """Return the penalties of these families, in the order of PENALTIES."""
    return tuple(C for C in PENALTIES if ("tree", C) in families)


def _at(path: list[PrunedTree], leaves: int) -> PrunedTree:
    """Return the largest tree of the path with at most this many leaves."""
    return max((tree for tree in path if tree.leaves <= leaves), key=lambda tree: tree.leaves)


def _whole(tree: PrunedTree, Z: np.ndarray, loss: np.ndarray) -> PrunedTree:
    """Return the same tree with the loss of all rows."""
    return PrunedTree(tree.H, tree.g, tree.ends, tree.label, float(loss[np.arange(len(Z)), tree.predict(Z)].sum()))
