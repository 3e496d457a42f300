"""Lower bounds on the costs of the two sides of roots, by sweeps over chains of nested splits; and of intervals of
roots at once.

Splits of a column are a chain if the rows on side 1 of each contain those of the next one; the code of a row is the
number of splits, from the first, on whose side 1 it is. Let x < f < y be positions of a chain, zero(f) and one(f) the
rows on the sides 0 and 1 of f, and W(S, C) the least weighted cost of a subtree of rows S over the columns C. Then

    W(zero(f), C) + W(one(f), C)  ≥  W(zero(y), C) + W(one(x), C) - Σ over rows with codes in (x, y] of max_l w_l,

because a tree of zero(f) is one of zero(y) ⊇ zero(f), which costs at most max_l w_l more for each added row; likewise
a tree of one(f) ⊆ one(x). Conditions on leaves that more rows could violate are left out of that bound. A split that
separates no rows below a root is left out, too: the tree without it costs no more, and is allowed wherever the other
one is.
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
    """

    splits: tuple[np.ndarray, ...]
    codes: np.ndarray
    column: np.ndarray

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
        return Chains(splits, np.ascontiguousarray(codes.T), column[[chain[0] for chain in splits]].astype(np.int64))

    @property
    def begin(self) -> np.ndarray:
        """Return int64 (chains + 1,): where the splits of each chain begin, one chain after the other."""
        return np.append(0, np.cumsum([len(chain) for chain in self.splits])).astype(np.int64)


class SweptSides:
    """Sides of one problem at multipliers.

    Parameters
    ----------
    problem : Problem (multiplier_bound)
    kind : float64 (kinds, labels)
        The weighted cost of a row of each kind.
    beside : float64 (labels,)
        The weighted cost of a leaf in addition to that of its rows; 0 or more.
    node : float
        The weighted cost of a branch node; 0 or more.
    """

    def __init__(self, problem, kind: np.ndarray, beside: np.ndarray, node: float):
        self.problem, self.chains, self.beside, self.node = problem, problem.chains, beside, node
        weight = problem.members @ kind
        self.base, self.dearest = weight[:, 0], weight.max(axis=1)
        self.gain, self.held = weight[:, 1:] - weight[:, :1], problem.members @ problem.measures.T
        self.lasting = (problem.measures >= 0).all(axis=1)  # conditions that more rows cannot break
        self._asked: dict[tuple[int, ...], np.ndarray] = {}

    def least(self, rows: np.ndarray, path, sets: np.ndarray, lasting: bool = False, each=None) -> np.ndarray:
        """Return float64 (sets,): the least weighted cost of a subtree of these rows at the end of a path.

        Parameters
        ----------
        rows : int (rows,)
        path : sequence of int
            The splits above.
        sets : int (sets, width), of columns
        lasting : bool
            Whether the conditions that more rows could violate are left out.
        each : float64 (2, splits) or None
            Output: least cost of the subtree on each side of a split at its root, over the first set; infinite where
            a split separates no rows. The splits are those of the chains, one chain after the other.
        """
        problem, chains = self.problem, self.chains
        kept = self.lasting if lasting else np.ones(len(self.lasting), bool)
        value = np.ascontiguousarray(np.concatenate([self.gain, self.held[:, kept]], axis=1))
        least, first = problem.least[kept], self._may(path)
        if problem.depth - len(path) == 1:
            return float(self.base[rows].sum()) + self._one_level(rows, value, least, first, sets)
        member = (sets[:, :, None] == np.arange(int(problem.column.max()) + 1)).any(axis=1)
        used = np.flatnonzero(member.any(axis=0)[chains.column])
        second = np.stack([self._may((*path, int(chains.splits[a][0])))[used] for a in used])
        out = np.empty(len(sets))
        sweep_kernel.two_levels(
            np.ascontiguousarray(chains.codes[:, used]),
            rows,
            value,
            self.beside,
            np.ascontiguousarray(least),
            self.node,
            chains.column[used],
            first[used],
            second,
            member,
            np.ascontiguousarray(sets, np.int64),
            out,
            np.empty((2, 0)) if each is None else each,
            chains.begin[used],
        )
        base = float(self.base[rows].sum())
        if each is not None:
            split = np.concatenate(chains.splits)
            for chain, start in zip(chains.splits, chains.begin):
                here = slice(start, start + len(chain))
                one = problem.X[np.ix_(rows, chain)]
                each[1, here] += self.base[rows] @ one
                each[0, here] += self.base[rows] @ ~one
            each[:, split] = each.copy()
        return base + out

    def _may(self, path) -> np.ndarray:
        """Return bool (chains,): whether the splits of a chain may be at the end of a path."""
        key = tuple(self.problem.column[list(path)].tolist())  # what may be is a matter of columns
        if key not in self._asked:
            self._asked[key] = self.problem.may(tuple(path))[[int(chain[0]) for chain in self.chains.splits]]
        return self._asked[key]

    def _one_level(self, rows, value, least, first, sets) -> np.ndarray:
        chains, best = self.chains, np.full(int(self.problem.column.max()) + 1, np.inf)
        begin = chains.begin + np.arange(len(chains.splits) + 1)  # of codes 0 to the number of splits
        place = (chains.codes[rows] + begin[:-1]).ravel()
        size, mine, total = len(chains.splits), value[rows], value[rows].sum(axis=0)
        behind = np.array([np.bincount(place, np.repeat(one, size), begin[-1]) for one in mine.T]).reshape(
            -1, begin[-1]
        )
        behind = np.append(behind.cumsum(axis=1), np.zeros((len(behind), 1)), axis=1)
        of = np.repeat(np.arange(size), np.diff(chains.begin))  # the chain of each split
        # Rows on side 0 of split f of a chain have codes up to f.
        zero = behind[:, np.arange(len(of)) + of] - behind[:, begin[of] - 1]
        stump = self._leaves(zero, least) + self._leaves(total[:, None] - zero, least)
        np.minimum.at(best, chains.column[first], np.minimum.reduceat(stump, chains.begin[:-1])[first])
        return np.minimum(self._leaves(total[:, None], least)[0], self.node + best[sets].min(axis=1))

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
