"""Lower bounds on the costs of both sides of a root, or of an interval of roots, by sweeps over chains of nested
splits.

Splits of a column are a chain if side 1 of each contains all rows on side 1 of the next one; the code of a row is the
number of splits, from the first, on whose side 1 it is. Let x < f < y be positions of a chain, zero(f) and one(f) the
rows on the sides 0 and 1 of f, and W(S, C) the least weighted cost of a subtree of rows S over the columns C. Then

    W(zero(f), C) + W(one(f), C)  ≥  W(zero(y), C) + W(one(x), C) - Σ over rows with codes in (x, y] of max_l w_l,

because a tree of zero(f) is also a tree of zero(y) ⊇ zero(f), where it costs at most max_l w_l more for each added row;
the same is true of one(f) ⊆ one(x). Conditions on leaves that more rows could violate are left out of this bound. A
split that separates no rows below a root is left out, too, because the tree without it costs no more, and is allowed
wherever the tree with it is allowed.
"""

import numpy as np

from odtc.base import deadline
from odtc.base.value_class import value_class
from odtc.verification.constrained import sweep_kernel


@value_class
class Chains:
    """Splits of a problem as chains.

    Attributes
    ----------
    splits : tuple of int (splits of the chain,)
        From the one with the most rows on side 1.
    codes : int32 (rows, chains)
    column : int64 (chains,)
    begin : int64 (chains + 1,)
        Where the splits of each chain begin, one chain after the other.
    """

    splits: tuple[np.ndarray, ...]
    codes: np.ndarray
    column: np.ndarray
    begin: np.ndarray

    @staticmethod
    def of(X: np.ndarray, column: np.ndarray) -> "Chains":
        """Return chains: each split is in the first chain of its column in which it is nested in all before it; X is
        bool (rows, splits)."""
        found: list[list[int]] = []
        for of in range(int(column.max(initial=-1)) + 1):
            mine = np.flatnonzero(column == of)
            begun: list[list[int]] = []
            for split in mine[np.argsort(-X[:, mine].sum(axis=0), kind="stable")].tolist():
                deadline.check()
                chain = next((one for one in begun if not (X[:, split] & ~X[:, one[-1]]).any()), None)
                if chain is None:
                    begun.append([split])
                else:
                    chain.append(split)
            found += begun
        splits = tuple(np.array(chain) for chain in found)
        codes = np.array([X[:, chain].sum(axis=1) for chain in splits], np.int32).reshape(len(splits), len(X))
        begin = np.append(0, np.cumsum([len(chain) for chain in splits])).astype(np.int64)
        columns = column[[chain[0] for chain in splits]].astype(np.int64)
        return Chains(splits, np.ascontiguousarray(codes.T), columns, begin)


class SweptSides:
    """Sides of one problem at multipliers.

    Parameters
    ----------
    problem : Problem (multiplier_bound)
    kind : float64 (kinds, labels)
        The weighted cost of a row of each kind.
    beside : float64 (labels,)
        The weighted cost of a leaf in addition to the cost of its rows; 0 or more.
    node : float
        The weighted cost of a branch node; 0 or more.
    """

    def __init__(self, problem, kind: np.ndarray, beside: np.ndarray, node: float):
        self.problem, self.chains, self.beside, self.node = problem, problem.chains, beside, node
        weight = problem.members @ kind
        self.base, self.dearest = weight[:, 0], weight.max(axis=1)
        self.gain, self.held = weight[:, 1:] - weight[:, :1], problem.members @ problem.measures.T
        self.lasting = (problem.measures >= 0).all(axis=1)  # conditions that more rows cannot break
        self.every = np.unique(problem.column)[None]  # the set of all columns
        self._asked: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]] = {}  # results of `_places`
        self._used: dict[bytes, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}  # results of `_of_sets`
        self._known: dict[bool, tuple[np.ndarray, np.ndarray]] = {}  # results of `_values`

    def least(self, rows: np.ndarray, path: tuple[int, ...], sets: np.ndarray, lasting: bool = False) -> np.ndarray:
        """Return float64 (sets,): the least weighted cost of a subtree of these rows at the end of a path.

        Parameters
        ----------
        rows : int (rows,)
        path : tuple of int
            The splits above.
        sets : int (sets, width), of columns
        lasting : bool
            Whether the conditions that more rows could violate are left out.
        """
        height, base = self.problem.depth - len(path), float(self.base[rows].sum())
        if height == 2:
            return base + self._two_levels(rows, path, sets, lasting)
        value, least = self._values(lasting)
        found = np.full(len(sets), base + self._leaves(value[rows].sum(axis=0)[:, None], least)[0])
        if height == 1:
            both = self._pairs_of_leaves(rows, lasting).sum(axis=0)
            best = np.full(int(self.problem.column.max()) + 1, np.inf)
            np.minimum.at(best, self.problem.column, np.where(self.problem.may(path), both, np.inf))
            return np.minimum(found, base + self.node + best[sets].min(axis=1))
        for split in np.flatnonzero(self.problem.parting(rows, path)).tolist() if height else ():
            here, one = (sets == self.problem.column[split]).any(axis=1), self.problem.X[rows, split]
            if here.any():
                below = [self.least(side, (*path, split), sets[here], lasting) for side in (rows[~one], rows[one])]
                found[here] = np.minimum(found[here], self.node + sum(below))
        return found

    def each(self, rows: np.ndarray, path: tuple[int, ...]) -> np.ndarray:
        """Return float64 (2, splits): the least weighted cost of the subtree on side 0 or 1 of a split at the end of a
        path, over all columns; infinite where the split may not be or separates no rows."""
        problem, height = self.problem, self.problem.depth - len(path)
        found, may, every = np.full((2, len(problem.column)), np.inf), problem.parting(rows, path), self.every
        if height <= 2:
            if height == 1:
                found[:] = self._pairs_of_leaves(rows, False)
            else:
                self._two_levels(rows, path, every, False, found)
            zero = self._on_side_0(rows, self.base[:, None])[0]
            found += np.stack([zero, self.base[rows].sum() - zero])
        for split in np.flatnonzero(may).tolist() if height > 2 else ():
            one = problem.X[rows, split]
            found[:, split] = [self.least(side, (*path, split), every)[0] for side in (rows[~one], rows[one])]
        found[:, ~may] = np.inf
        return found

    def _values(self, lasting: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return float64 (rows, labels - 1 + conditions), the cost of each label above label 0 and the amounts that
        rows count, and float64 (conditions, labels), the least amounts."""
        if lasting not in self._known:
            kept = self.lasting if lasting else np.ones(len(self.lasting), bool)
            value = np.ascontiguousarray(np.concatenate([self.gain, self.held[:, kept]], axis=1))
            self._known[lasting] = value, np.ascontiguousarray(self.problem.least[kept])
        return self._known[lasting]

    def _two_levels(self, rows, path, sets, lasting: bool, each=None) -> np.ndarray:
        """Return the least cost of a subtree of two levels over each set, above label 0; with `each` also the costs of
        the sides of each split at its root, over the first set, float64 (2, splits)."""
        chains, (value, least), (used, member, codes) = self.chains, self._values(lasting), self._of_sets(sets)
        first, second = self._places(path)
        out, of_chains = np.empty(len(sets)), np.full((2, 0 if each is None else chains.begin[-1]), np.inf)
        sweep_kernel.two_levels(
            codes,
            rows,
            value,
            self.beside,
            least,
            self.node,
            chains.column[used],
            first[used],
            second[np.ix_(used, used)],
            member,
            sets,
            out,
            of_chains,
            chains.begin[used],
        )
        if each is not None:
            each[:, np.concatenate(chains.splits)] = of_chains
        return out

    def _of_sets(self, sets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the chains of some sets of columns, int (used,), bool (sets, columns), and the codes of these chains,
        int32 (rows, used)."""
        if (key := sets.tobytes()) not in self._used:
            member = (sets[:, :, None] == np.arange(int(self.problem.column.max()) + 1)).any(axis=1)
            used = np.flatnonzero(member.any(axis=0)[self.chains.column])
            self._used[key] = used, member, np.ascontiguousarray(self.chains.codes[:, used])
        return self._used[key]

    def _places(self, path) -> tuple[np.ndarray, np.ndarray]:
        """Return bool (chains,), whether the splits of a chain may be at the end of a path, and bool (chains, chains),
        whether the splits of another one may be below them."""
        columns = self.problem.column
        if (key := tuple(columns[list(path)].tolist())) not in self._asked:  # it depends only on columns
            first = np.array([int(chain[0]) for chain in self.chains.splits])
            below = [self.problem.may((*path, split))[first] for split in first.tolist()]
            self._asked[key] = self.problem.may(path)[first], np.stack(below)
        return self._asked[key]

    def _pairs_of_leaves(self, rows, lasting: bool) -> np.ndarray:
        """Return float64 (2, splits): the least costs of the leaves on the sides of each split, above label 0."""
        value, least = self._values(lasting)
        zero, total = self._on_side_0(rows, value), value[rows].sum(axis=0)
        return np.stack([self._leaves(zero, least), self._leaves(total[:, None] - zero, least)])

    def _on_side_0(self, rows, value: np.ndarray) -> np.ndarray:
        """Return float64 (numbers, splits): sums of numbers (rows, numbers) over the rows on side 0 of each split."""
        chains = self.chains
        begin = chains.begin + np.arange(len(chains.splits) + 1)  # of codes 0 to the number of splits
        place = (chains.codes[rows] + begin[:-1]).ravel()
        sums = [np.bincount(place, np.repeat(one, len(chains.splits)), begin[-1]) for one in value[rows].T]
        upto = np.zeros((value.shape[1], begin[-1] + 1))
        np.cumsum(np.reshape(sums, (-1, begin[-1])), axis=1, out=upto[:, 1:])
        of = np.repeat(np.arange(len(chains.splits)), np.diff(chains.begin))  # the chain of each split
        found = np.empty((value.shape[1], len(of)))
        # Rows on side 0 of split f of a chain have codes up to f.
        found[:, np.concatenate(chains.splits)] = upto[:, np.arange(len(of)) + of + 1] - upto[:, begin[of]]
        return found

    def _leaves(self, sums: np.ndarray, least: np.ndarray) -> np.ndarray:
        """Return float64 (leaves,): the least cost of leaves with sums (labels - 1 + conditions, leaves), above label
        0."""
        K = len(self.beside)
        cost = np.concatenate([np.zeros((1, sums.shape[1])), sums[: K - 1]]) + self.beside[:, None]
        for line, bound in zip(sums[K - 1 :], least):
            cost[line[None, :] < bound[:, None]] = np.inf
        return cost.min(axis=0)


def exclude(sides: SweptSides, alive: np.ndarray, limit: float) -> None:
    """Remove from `alive`, bool (roots, sets), all cases whose least weighted cost exceeds a limit, intervals first."""
    for j, chain in enumerate(sides.chains.splits):
        of, code = _SidesOfChain(sides, j), sides.chains.codes[:, j]
        stack = [(-1, len(chain))]
        while stack:
            deadline.check()
            x, y = stack.pop()
            roots = chain[x + 1 : y]
            live = np.flatnonzero(alive[roots].any(axis=0))
            if not len(live):
                continue
            rest = sides.node - sides.dearest[(code > x) & (code <= y)].sum()
            if of.most(y, 0) + of.most(x, 1) + rest > limit:  # otherwise the bound of no set can exceed it
                bound = of.least(y, 0, live, True) + of.least(x, 1, live, True) + rest
                alive[np.ix_(roots, live[bound > limit])] = False
                live = live[bound <= limit]
                if not len(live):
                    continue
            some = np.flatnonzero(alive[roots].any(axis=1))
            f = x + 1 + int(some[len(some) // 2])
            value = of.least(f, 0, live, False) + of.least(f, 1, live, False) + sides.node
            alive[chain[f], live[value > limit]] = False
            stack += [(x, f), (f, y)]


class _SidesOfChain:
    """The sides of the positions of one chain, each computed once."""

    def __init__(self, sides: SweptSides, chain: int):
        self.sides, self.code = sides, sides.chains.codes[:, chain]
        self.root, self.sets = int(sides.chains.splits[chain][0]), sides.problem.column_sets
        self.strict = not sides.lasting.all()
        self._known: dict[tuple[int, int, bool], np.ndarray] = {}

    def most(self, f: int, answer: int) -> float:
        """Return an upper bound on `least` over every set, without the conditions that more rows could violate: the
        cost of a leaf."""
        rows, kept = (self.code > f) == bool(answer), self.sides.lasting
        sums = np.concatenate([self.sides.gain[rows], self.sides.held[np.ix_(rows, kept)]], axis=1).sum(axis=0)
        return float(self.sides.base[rows].sum() + self.sides._leaves(sums[:, None], self.sides.problem.least[kept])[0])

    def least(self, f: int, answer: int, live: np.ndarray, lasting: bool) -> np.ndarray:
        """Return float64 (live,): W of the rows on this side of position f, over some sets, int (live,); position -1
        is before the first split, and the number of splits is after the last."""
        key = f, answer, lasting or not self.strict
        if key not in self._known or np.isneginf(self._known[key][live]).any():
            rows = np.flatnonzero((self.code > f) == bool(answer))
            found = np.full(len(self.sets), -np.inf)
            found[live] = self.sides.least(rows, (self.root,), self.sets[live], lasting)
            self._known[key] = found
        return self._known[key][live]
