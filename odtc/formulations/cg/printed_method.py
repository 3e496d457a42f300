"""The method of the paper: CART's paths, a restricted master, random paths, pricing problems, and a final master.

Firat et al. (2020), sections 4.2 and 5, Figure 2. Threshold sampling chooses the splits S_j of each node; the paths of
CART's tree are the first columns. A round solves the relaxation of the master. Then the pricing heuristic draws random
paths to the leaves that were promising in the last round, and adds the best of its pool. When several draws find
nothing, the pricing problem (11)-(18) of every leaf and class is solved; when these find nothing either, the relaxation
is solved over all paths. The master over the generated paths, as a whole, gives the tree.
"""

from collections.abc import Callable

import numpy as np

from odtc.base.value_class import value_class
from odtc.formulations.cg.printed_paths import PrintedDuals, PrintedPaths
from odtc.model.feasibility import TOLERANCE
from odtc.model.in_packages import growing_lp, new_highs, pass_to_highs, solve_growing_lp
from odtc.model.milp import Model

FINAL = 0.2  # fraction of the time limit for the final master


@value_class
class Settings:
    """The parameters of the method: size of the pool, number of promising leaves, most new columns in a round, draws
    without success before the pricing problems are solved, most rounds."""

    pool: int
    leaves: int
    added: int
    tries: int
    rounds: int
    heuristic: bool
    programs: bool


class PrintedMaster:
    """The relaxation of the master in HiGHS, which continues from its last basis when paths were added."""

    def __init__(self, paths: PrintedPaths):
        model = paths.master(integer=False)
        self.paths, self.h = paths, growing_lp(model, strategy=4)
        self.first = next(block.start for block in model.columns if block.name == "x")
        self.known = len(paths)

    def _add(self) -> None:
        paths, n_leaves, n_rows = self.paths, len(self.paths.leaves), len(self.paths.X)
        new = paths.paths[self.known :]
        starts, index = [], []
        for leaf, way in new:
            ways = np.array([way], np.int32).reshape(1, paths.depth)
            starts.append(len(index))
            index.append(leaf - n_leaves)
            index += (n_leaves + np.flatnonzero(paths.rows(leaf, ways)[0])).tolist()
            index += (n_leaves + n_rows + paths.links(leaf, ways)[0]).tolist()
        n = len(new)
        if n:
            costs = np.array(paths.costs[self.known :]) * paths.unit
            bounds = np.zeros(n), np.full(n, 1e30)
            arrays = np.array(starts, np.int32), np.array(index, np.int32), np.ones(len(index))
            self.h.addCols(n, costs, *bounds, len(index), *arrays)
        self.known += n

    def solve(self, seconds: float | None) -> tuple[float, np.ndarray, PrintedDuals] | None:
        """Return (value, x, dual values), in units; None if the time came first. Raises SolverError."""
        self._add()
        value = solve_growing_lp(self.h, seconds)
        if value is None:
            return None
        point, unit, n = self.h.getSolution(), self.paths.unit, len(self.paths.leaves)
        values, dual = np.array(point.col_value), np.array(point.row_dual) / unit
        m = n + len(self.paths.X)
        return value / unit, values[self.first :], PrintedDuals(dual[:n], dual[n:m], dual[m:])


class PrintedMethod:
    """Generation of paths; `upper` and `best` are the cost, in units, and the splits of the best tree found, `bound`
    is a lower bound on the cost of every tree over the splits S_j."""

    def __init__(self, paths: PrintedPaths, settings: Settings, seed: int, left: Callable[[], float | None]):
        self.paths, self.settings, self.left = paths, settings, left
        self.rng = np.random.default_rng(seed)
        self.master = PrintedMaster(paths)
        self.best = paths.best()
        self.upper = sum(paths.costs[at] for at in paths.numbers(self.best))
        self.bound = float(paths.loss.min(axis=1).sum())
        self.finished, self.programs, self.rounds = False, 0, 0
        self.found_by = "the first columns"
        self.promising = paths.leaves
        self._pool: dict[int, np.ndarray] = {}
        seconds = left()
        self.reserve = 0.0 if seconds is None else FINAL * seconds

    @property
    def proved(self) -> bool:
        return self.bound >= self.upper - self.paths.near

    def take(self, split: np.ndarray, found_by: str) -> None:
        """Use the splits of a tree, if it is better."""
        cost = sum(self.paths.costs[at] for at in self.paths.numbers(split))
        if cost < self.upper - self.paths.near:
            self.best, self.upper, self.found_by = split, cost, found_by

    def run(self, tell: Callable[[int, float], None] = lambda added, value: None) -> None:
        """Generate paths until none is promising, or until the time or the rounds are over. `tell` is called with the
        number of new paths and the value of the relaxation after each round. May be interrupted at any moment."""
        while self.rounds < self.settings.rounds and self._seconds() != 0:
            relaxed = self.master.solve(self._seconds())
            if relaxed is None:
                return
            self.rounds += 1
            value, x, duals = relaxed
            if np.abs(x - np.round(x)).max(initial=0.0) < TOLERANCE:
                self.take(self.paths.tree_at(x), "the relaxation of the master")
            added = self._draw(duals) if self.settings.heuristic else 0
            if not added and self.settings.programs:
                added = self._solve_programs(duals, value)
            tell(added, value)
            if not added:
                return

    def _seconds(self) -> float | None:
        seconds = self.left()
        return None if seconds is None else max(0.0, seconds - self.reserve)

    def _draw(self, duals: PrintedDuals) -> int:
        """Add the most promising paths of the pool (the pricing heuristic); return their number.

        The first draw goes to the promising leaves of the last round, the others to all.
        """
        for number in range(self.settings.tries):
            if self._seconds() == 0:
                return 0
            drawn = self.rng.choice(self.paths.leaves if number else self.promising, self.settings.pool)
            for leaf in np.unique(drawn).tolist():
                ways = self._random(leaf, int((drawn == leaf).sum()))
                self._pool[leaf] = np.append(self._pool.get(leaf, ways[:0]), ways, axis=0)
            added = self._add_best(duals)
            if added:
                return added
        return 0

    def _random(self, leaf: int, n: int) -> np.ndarray:
        sets = [self.paths.splits[self.paths.node(leaf, level)] for level in range(self.paths.depth)]
        return np.stack([self.rng.choice(own_splits, n) for own_splits in sets], axis=1)

    def _add_best(self, duals: PrintedDuals) -> int:
        """Add the paths of the pool with the least reduced costs; the others stay, up to its size."""
        paths, settings = self.paths, self.settings
        leaf = np.concatenate([np.full(len(ways), one) for one, ways in self._pool.items()])
        ways = np.concatenate(list(self._pool.values()))
        reduced = np.concatenate([paths.reduced(one, some, duals) for one, some in self._pool.items()])
        order = np.argsort(reduced, kind="stable")
        chosen = order[: settings.added][reduced[order[: settings.added]] < -TOLERANCE]
        rest = order[len(chosen) : len(chosen) + settings.pool]
        self._pool = {one: ways[rest[leaf[rest] == one]] for one in np.unique(leaf[rest]).tolist()}
        added = sum(paths.add(one, ways[chosen[leaf[chosen] == one]]) for one in np.unique(leaf[chosen]).tolist())
        if added:
            self.promising = np.array(list(dict.fromkeys(leaf[chosen].tolist()))[: settings.leaves])
        return added

    def _solve_programs(self, duals: PrintedDuals, value: float) -> int:
        """Solve the pricing problem of every leaf and class, and empty the pool; return the number of new paths. If
        none is promising, the value of the relaxation is a bound."""
        found, whole, paths = [], True, self.paths
        for leaf in paths.leaves.tolist():
            for label in range(paths.loss.shape[1]):
                seconds = self._seconds()
                if seconds == 0:
                    whole = False
                    break
                ways, ended = self._solve_program(paths.pricing(duals, leaf, label), leaf, seconds)
                whole &= ended
                # All labels are tried on the rows of the path, because another may be better.
                if len(ways) and (reduced := float(paths.reduced(leaf, ways, duals)[0])) < -TOLERANCE:
                    found.append((reduced, leaf, ways))
        self._pool = {}
        added = sum(paths.add(leaf, ways) for _, leaf, ways in found)
        if added:
            order = sorted(range(len(found)), key=lambda at: found[at][0])
            self.promising = np.array(list(dict.fromkeys(found[at][1] for at in order))[: self.settings.leaves])
        elif whole:
            self.finished = True
            bound = float(np.ceil(value - TOLERANCE)) if paths.whole else value - TOLERANCE * (1 << paths.depth)
            self.bound = max(self.bound, bound)
        return added

    def _solve_program(self, model: Model, leaf: int, seconds: float | None) -> tuple[np.ndarray, bool]:
        """Return the path of a pricing problem, int (paths, levels), and whether it was solved to the end."""
        paths, h = self.paths, new_highs()
        h.setOptionValue("threads", 1)
        h.setOptionValue("mip_rel_gap", 0.0)
        pass_to_highs(h, model)
        if seconds is not None:
            h.setOptionValue("time_limit", seconds)
        h.run()
        self.programs += 1
        point, at, way = np.array(h.getSolution().col_value), 0, []
        ended = h.getModelStatus().name in ("kOptimal", "kInfeasible")
        if not len(point) or h.getInfo().primal_solution_status != 2:
            return np.zeros((0, paths.depth), np.int32), ended
        for level in range(paths.depth):
            own_splits = paths.splits[paths.node(leaf, level)]
            way.append(int(own_splits[point[at : at + len(own_splits)].argmax()]))
            at += len(own_splits)
        return np.array([way], np.int32).reshape(1, paths.depth), ended
