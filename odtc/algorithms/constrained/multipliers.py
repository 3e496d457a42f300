"""Which multipliers to try next, by cutting planes (Kelley 1960).

Every tree met is a cut: for all μ ≥ 0,

    θ(μ) = min over trees of cost + μ · (uses - bound)  ≤  cost_t + μ · (uses_t - bound).

The next multipliers maximise the least of the cuts met so far, within a box. With one constraint that is an
intersection of lines.
"""

import numpy as np


class Cuts:
    """Cuts met so far.

    Parameters
    ----------
    largest : float64 (constraints,)
        The box: no multiplier is larger.
    """

    def __init__(self, largest: np.ndarray):
        self.largest = np.asarray(largest, float)
        self.cost, self.slope = [], []

    def add(self, cost: float, slope: np.ndarray) -> None:
        """One tree: its cost, and uses - bound, float64 (constraints,)."""
        self.cost.append(float(cost))
        self.slope.append(np.asarray(slope, float))

    def best(self) -> tuple[float, np.ndarray]:
        """(θ, μ float64 (constraints,)): the greatest value of the least cut, and where it is."""
        cost, slope = np.array(self.cost), np.array(self.slope)
        if len(self.largest) == 1:
            return _envelope(cost, slope[:, 0], self.largest[0])
        return _program(cost, slope, self.largest)


def _envelope(cost: np.ndarray, slope: np.ndarray, most: float) -> tuple[float, np.ndarray]:
    """The top of the lower envelope of lines on [0, most]."""
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
    """max θ,  θ - μ · slope_t ≤ cost_t,  0 ≤ μ ≤ largest, each multiplier in units of its box."""
    from scipy.optimize import linprog

    R = len(largest)
    objective = np.append(np.zeros(R), -1.0)
    rows = np.hstack([-slope * largest, np.ones((len(cost), 1))])
    found = linprog(objective, A_ub=rows, b_ub=cost, bounds=[(0, 1)] * R + [(None, None)], method="highs-ds")
    if found.x is None:
        return -np.inf, np.zeros(R)
    return float(found.x[-1]), np.clip(found.x[:-1], 0, 1) * largest
