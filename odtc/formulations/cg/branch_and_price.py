"""Column generation, and branch and price on ρ: from a few columns to the best tree over the splits, with its proof.

Firat et al. (2020), section 4, Figure 2. A round solves the relaxation over the current columns, prices the paths, and
adds those with negative reduced cost. The restricted master as a whole, which gives the tree, is solved in every round
over all paths whose cost is known, by dynamic programming (odtc.formulations.cg.pricing.subtree_values); the same over
the bounds of all paths is a bound, in addition to the Lagrangian one. Paths that cannot be part of a better tree than
the best so far are not considered any more. Work is counted instead of timed, so that the same data leads to the same
result.

If the relaxation is solved and leaves a gap, `exact` branches: of the splits with fractional ρ at a node, each child
forbids a part with about half of their ρ.
"""

import heapq
from collections.abc import Callable

import numpy as np

from odtc.base.value_class import value_class
from odtc.formulations.cg.column_pool import Columns
from odtc.formulations.cg.decision_paths import Paths
from odtc.formulations.cg.pricing import Allowed, best_splits, lagrangian, price, subtree_values, tree_costs_through
from odtc.formulations.cg.restricted_master import RelaxedPoint, RestrictedMaster
from odtc.model.feasibility import TOLERANCE

MOST_NEW = 60  # maximum number of columns added for one end in a round
WORK = 1e10  # multiplications for the evaluations of one round: about a second


@value_class
class State:
    """State of a search after a round: fields as in odtc.model.solution.Round, costs in units."""

    phase: str
    columns: int
    added: int
    incumbent: float
    bound: float


class PricingStopped(Exception):
    """End of the time or of the rounds; the results so far are kept."""


class BranchAndPrice:
    """Search for the best tree over `paths`, beginning with `columns`. After each round `tell(State)` is called.

    `best` are the splits of the best tree so far (columns of paths.X, heap order), `upper` is its cost and `bound` a
    lower bound on the cost of all trees, in units. `left()` returns the seconds that are left, None if there is no
    limit; `rounds` is a limit, too. With `dynamic` False the bounds of the dynamic program are not used.
    """

    def __init__(
        self,
        paths: Paths,
        columns: Columns,
        exact: bool,
        tell: Callable[[State], None] | None = None,
        left: Callable[[], float | None] | None = None,
        rounds: int | None = None,
        dynamic: bool = True,
    ):
        self.paths, self.columns, self.exact, self.tell = paths, columns, exact, tell
        self.left, self.rounds, self.dynamic = left or (lambda: None), rounds, dynamic
        self.best, self.upper, self.bound, self.nodes = None, np.inf, 0.0, 0
        self.relaxed: RelaxedPoint | None = None  # the last solved relaxation
        self.finished = False  # whether the relaxation of the root was solved over all paths
        self._open: list = []
        self._improve({})

    @property
    def proven(self) -> bool:
        return self.bound >= self.upper - self.paths.near

    @property
    def worth(self) -> float:
        """Cost below which a tree is better than the best so far."""
        return self.upper - 1 + TOLERANCE if self.paths.whole else self.upper - self.paths.near

    def take(self, split: np.ndarray) -> None:
        """Add the paths of a tree (columns of paths.X, heap order), and update the best tree."""
        self.columns.add_tree(split)
        self._improve({})

    def learn(self, bound: float) -> None:
        """Use a bound on all trees over the paths, in units, that another search has proved."""
        self.bound = max(self.bound, min(self._rounded(bound), self.upper))

    def run(self) -> None:
        """Search until the best tree is proved, until the relaxation is solved if not `exact`, or until the time or
        the rounds are over; may be interrupted at any moment."""
        if self.columns.settle():  # subtrees that the pool only claims to be the best
            self._improve({})
        master, count = RestrictedMaster(self.columns), 0
        try:
            self._open = [(self.bound, 0, {})]
            while self._open:
                bound, _, allowed = heapq.heappop(self._open)
                self._raise_bound(bound)
                if self.proven:
                    break
                self.nodes += 1
                master.restrict(allowed)
                bound = self._generate(master, allowed, bound)
                if self._hopeless(bound):
                    continue
                sides = self._branches(allowed) if self.exact or not self.nodes else []
                if not sides:
                    heapq.heappush(self._open, (bound, count, allowed))
                    self._raise_bound(bound)
                    return
                for side in sides:
                    count += 1
                    heapq.heappush(self._open, (bound, count, side))
            self._raise_bound(np.inf)
        except PricingStopped:
            pass

    def _hopeless(self, bound: float) -> bool:
        return bound > self.worth if self.paths.whole else bound >= self.worth

    def _raise_bound(self, here: float) -> None:
        """Raise the bound to the least bound of the open nodes and the current one."""
        self.learn(min([here, *(entry[0] for entry in self._open)]))

    def _rounded(self, bound: float) -> float:
        """Return the bound rounded up to whole units, if all losses are whole numbers of units."""
        return float(np.ceil(bound - TOLERANCE)) if self.paths.whole and np.isfinite(bound) else bound

    def _check(self) -> float | None:
        seconds = self.left()
        if (seconds is not None and seconds <= 0) or (self.rounds is not None and self.rounds <= 0):
            raise PricingStopped
        return seconds

    def _generate(self, master: RestrictedMaster, allowed: Allowed, bound: float) -> float:
        """Solve the relaxation of a node over all of its paths that may be in a better tree; return its bound."""
        paths, phase = self.paths, "branch" if allowed else "columns"
        while True:
            seconds = self._check()
            found = subtree_values(paths, paths.low, allowed)
            if self.dynamic:
                bound = max(bound, self._rounded(float(found[1][0])))
            if self._hopeless(bound):
                self._say(phase, 0, bound)
                return bound
            relaxed = master.solve(seconds)
            if relaxed is None:
                raise PricingStopped
            self.relaxed, least = relaxed, tree_costs_through(paths, found, allowed)
            priced = self._price(relaxed, allowed, least)
            bound = max(bound, self._rounded(min(lagrangian(paths, relaxed.duals, priced, allowed), self.upper)))
            more = self._evaluate(priced, least)
            if more:
                priced = self._price(relaxed, allowed, least)
            new = {e: self._worth_it(e, priced[e].full) for e in least}
            added = self.columns.add(new) + self.columns.add_stops(
                one.stop for one in priced.values() if one.stopped < -TOLERANCE
            )
            added += self._improve(allowed)
            if self.rounds is not None:
                self.rounds -= 1
            if not added and not more:
                groups = master.violated(relaxed) if relaxed.feasible else []
                if not len(groups):
                    self.finished |= not allowed
                    self._say(phase, added, bound)
                    return bound
                master.add_cover(groups)
            self._say(phase, added, bound)

    def _price(self, relaxed: RelaxedPoint, allowed: Allowed, least: dict[int, np.ndarray]) -> dict:
        """Return the reduced costs of every end, inf for paths that no better tree has."""
        low = {
            e: np.where(least[e] <= self.worth, self.paths.low[e], np.inf) if self.dynamic else self.paths.low[e]
            for e in least
        }
        return {e: price(self.paths, relaxed.duals, e, allowed, low[e]) for e in least}

    def _worth_it(self, e: int, reduced: np.ndarray) -> np.ndarray:
        """Return the paths of an end whose cost is known, and that lower the relaxation most."""
        some = np.flatnonzero((reduced < -TOLERANCE) & self.paths.known(e))
        return some[np.argsort(reduced[some], kind="stable")[:MOST_NEW]]

    def _evaluate(self, priced: dict, least: dict[int, np.ndarray]) -> int:
        """Evaluate paths for about WORK multiplications: those whose bound is negative, the most promising first; if
        these are few, also others that a better tree may have. Return the number of paths with negative bounds."""
        paths, chosen, asked = self.paths, {}, 0
        for e, one in priced.items():
            most = max(1, int(WORK / len(least) / paths.work(e)))
            unknown = np.flatnonzero(~paths.known(e) & np.isfinite(one.full))
            some = unknown[np.argsort(one.full[unknown], kind="stable")]
            negative = int((one.full[some] < -TOLERANCE).sum())
            chosen[e] = some[: most if self.dynamic else min(most, negative)]
            asked += negative
        if asked:
            paths.evaluate(chosen)
        return asked

    def _improve(self, allowed: Allowed) -> int:
        """Use the best tree over the paths whose cost is known, if it is better; return the number of columns added."""
        paths = self.paths
        known = {e: np.where(np.isnan(paths.cost[e]), np.inf, paths.cost[e]) for e in paths.ends.tolist()}
        found = subtree_values(paths, known, allowed)
        if found[1][0] >= self.upper - paths.near:
            return 0
        self.upper, self.best = float(found[1][0]), best_splits(paths, found, allowed)
        return self.columns.add_tree(self.best)

    def _branches(self, allowed: Allowed) -> list[Allowed]:
        """Return two parts of the splits of the first node with fractional ρ; [] if no node has one."""
        for j, rho in (self.relaxed.rho if self.relaxed else {}).items():
            if rho.max() < 1 - TOLERANCE:
                mask = allowed.get(j, np.ones(len(rho), bool))
                order = np.argsort(-rho, kind="stable")
                order = order[mask[order]]
                mass = np.cumsum(rho[order])
                first = max(1, int(np.searchsorted(mass, 0.5)))
                rest = order[first:]
                asked = rest[rho[rest] > TOLERANCE]
                if not len(asked):
                    continue
                idle = rest[len(asked) :]
                # Unused splits are divided between the children, so that each has half as many splits.
                here = np.append(order[:first], idle[::2])
                one = np.zeros(len(rho), bool)
                one[here] = True
                return [allowed | {j: one}, allowed | {j: mask & ~one}]
        return []

    def _say(self, phase: str, added: int, bound: float) -> None:
        self._raise_bound(bound)
        if self.tell:
            self.tell(State(phase, len(self.columns), added, self.upper, self.bound))
