"""Choice of the next multipliers, by cutting planes (Kelley 1960).

Every tree found is a cut: for all μ ≥ 0,

    θ(μ) = min over trees of cost + μ · (uses - bound)  ≤  cost_t + μ · (uses_t - bound).

The next multipliers maximise the least of the cuts found so far, within a box. With one constraint this is an
intersection of lines; with more it is a linear program in few columns. All searches use the loop `Cuts.rounds`: the
caller finds the cheapest tree at the given multipliers, and reports its cut and θ.
"""

from collections.abc import Iterable, Iterator

import numpy as np

NEAR = 1e-6  # relative to θ: multipliers that promise a smaller gain are not tried
TINY = 1e-9  # relative: smaller differences are rounding errors of the simplex method
MOST_PIVOTS = 200  # limit for one linear program, in case rounding prevents termination


class Cuts:
    """Cuts found so far, and the greatest θ.

    Parameters
    ----------
    largest : float64 (constraints,)
        The box: no multiplier is larger.
    near : float
        Fraction of θ; multipliers that promise a smaller gain are not tried.
    whole : bool
        Whether a bound may be rounded up to the next whole number, because all costs are whole.
    """

    def __init__(self, largest: np.ndarray, near: float = NEAR, whole: bool = False):
        self.largest, self.near, self.whole = np.asarray(largest, float), near, whole
        self.cost, self.slope, self.owner = [], [], []
        self.reached = -np.inf
        self._vertex: Vertex | None = None

    def rounds(self, first: np.ndarray, most: int) -> Iterator[np.ndarray]:
        """Yield multipliers until none promise a greater θ than the greatest reached.

        After each of them, the caller adds the cut of a cheapest tree (`add`), and reports its θ (`reach`) if the
        rounds may stop because of it. If there are still no cuts after that, the rounds end.

        Parameters
        ----------
        first : float64 (constraints,)
            The first multipliers, if no cuts were added before.
        most : int
            The maximum number of rounds.

        Yields
        ------
        float64 (constraints,)
        """
        multipliers = first
        for _ in range(most if len(self.largest) else 1):
            if self.cost and len(self.largest):
                promised, multipliers = self.best()
                if not self.promises(promised):
                    return
            yield multipliers
            if not self.cost:
                return

    def promises(self, value: float) -> bool:
        """Return whether a value of θ is greater than the greatest reached, by more than rounding."""
        if self.whole:
            return bool(np.ceil(value - self.near) > np.ceil(self.reached - self.near))
        near = self.near * max(1.0, abs(self.reached)) if np.isfinite(self.reached) else 0.0
        return value > self.reached + near

    def reach(self, value: float) -> bool:
        """Take the θ of some multipliers; return whether it is the greatest so far."""
        greater = value > self.reached
        self.reached = max(self.reached, float(value))
        return greater

    def within(self, largest: np.ndarray) -> None:
        """Take another box, float64 (constraints,)."""
        self.largest, self._vertex = np.asarray(largest, float), None

    def add(self, cost: float, slope: np.ndarray, owner: int = 0) -> None:
        """Add one tree: its cost, uses - bound, float64 (constraints,), and its owner, such as its root."""
        self.cost.append(float(cost))
        self.slope.append(np.asarray(slope, float))
        self.owner.append(owner)

    def among(self, owners: Iterable[int]) -> "Cuts":
        """Return only the cuts of some owners."""
        some, kept = Cuts(self.largest, self.near, self.whole), set(owners)
        for cost, slope, owner in zip(self.cost, self.slope, self.owner):
            if owner in kept:
                some.add(cost, slope, owner)
        return some

    def value(self, multipliers: np.ndarray) -> float:
        """Return the value of the least cut at some multipliers, float64 (constraints,)."""
        return float((np.array(self.cost) + np.array(self.slope) @ multipliers).min())

    def best(self) -> tuple[float, np.ndarray]:
        """Return (θ, μ float64 (constraints,)): the greatest value of the least cut, and the multipliers there."""
        cost, slope = np.array(self.cost), np.array(self.slope)
        if len(self.largest) == 1:
            return _envelope(cost, slope[:, 0], self.largest[0])
        if self._vertex is None:
            self._vertex = Vertex(len(self.largest))
        found = self._vertex.best(cost, slope * self.largest)
        if found is None:
            self._vertex = None
            return _program(cost, slope, self.largest)
        return found[0], np.clip(found[1], 0, 1) * self.largest


class Vertex:
    """max θ, θ - μ · slope_t ≤ cost_t, 0 ≤ μ ≤ 1, by the dual simplex method, starting where it ended last time.

    A basis is R + 1 of the rows "cut", "μ_r ≤ 1" and "-μ_r ≤ 0" that determine (μ, θ), and for which e_θ is a sum with
    coefficients y ≥ 0: so θ is the maximum under only these rows. The row that is violated most enters, and the row
    with the least ratio of y leaves.

    Parameters
    ----------
    n_constraints : int
        R.
    """

    def __init__(self, n_constraints: int):
        R = self.R = n_constraints
        box = np.vstack([np.eye(R), -np.eye(R)])
        self.box = np.hstack([box, np.zeros((2 * R, 1))]), np.append(np.ones(R), np.zeros(R))
        self.basis: np.ndarray | None = None

    def best(self, cost: np.ndarray, slope: np.ndarray) -> tuple[float, np.ndarray] | None:
        """Return (θ, μ float64 (R,)) of cuts, the cuts of the last call first; None if rounding prevents an end."""
        R = self.R
        rows = np.vstack([self.box[0], np.hstack([-slope, np.ones((len(cost), 1))])])
        right = np.concatenate([self.box[1], cost])
        if self.basis is None:  # the first cut, at the corner of the box where it is greatest
            self.basis = np.append(np.where(slope[0] > 0, np.arange(R), R + np.arange(R)), 2 * R)
        goal, slack = np.append(np.zeros(R), 1.0), TINY * np.maximum(1.0, np.abs(right))
        try:
            for _ in range(MOST_PIVOTS):
                matrix = rows[self.basis]
                point = np.linalg.solve(matrix, right[self.basis])
                over = rows @ point - right - slack
                over[self.basis] = 0
                enters = int(over.argmax())
                if over[enters] <= 0:
                    return float(point[R]), point[:R]
                price, share = np.linalg.solve(matrix.T, np.stack([goal, rows[enters]], axis=1)).T
                ratio = np.where(share > TINY, np.maximum(price, 0) / np.where(share > TINY, share, 1), np.inf)
                leaves = int(ratio.argmin())
                if not np.isfinite(ratio[leaves]):
                    return None
                self.basis[leaves] = enters
        except np.linalg.LinAlgError:
            return None
        return None


def _envelope(cost: np.ndarray, slope: np.ndarray, most: float) -> tuple[float, np.ndarray]:
    """Return the top of the lower envelope of lines on [0, most]."""
    rising, falling = slope > 0, slope <= 0
    points = [0.0, most]
    if rising.any() and falling.any():
        gap = slope[rising][:, None] - slope[falling]
        crossing = (cost[falling] - cost[rising][:, None]) / gap
        points += crossing[(crossing > 0) & (crossing < most)].tolist()
    points = np.array(points)
    value = (cost[:, None] + slope[:, None] * points).min(axis=0)
    place = int(value.argmax())
    return float(value[place]), points[place : place + 1]


def _program(cost: np.ndarray, slope: np.ndarray, largest: np.ndarray) -> tuple[float, np.ndarray]:
    """Solve max θ, θ - μ · slope_t ≤ cost_t, 0 ≤ μ ≤ largest, each multiplier in units of its box."""
    from scipy.optimize import linprog

    R = len(largest)
    objective = np.append(np.zeros(R), -1.0)
    rows = np.hstack([-slope * largest, np.ones((len(cost), 1))])
    found = linprog(objective, A_ub=rows, b_ub=cost, bounds=[(0, 1)] * R + [(None, None)], method="highs-ds")
    if found.x is None:
        return -np.inf, np.zeros(R)
    return float(found.x[-1]), np.clip(found.x[:-1], 0, 1) * largest
