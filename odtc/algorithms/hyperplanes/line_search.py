"""Exact search for the best point of each of many lines through a hyperplane, in memory that is reused.

Along a line with values v_i + δ s_i each row changes its side once, at δ = -v_i / s_i. So one sort of these δ, and one
sum over the rows in their order, give the cost of every δ. The number of a row is sorted with it, in the last bits of
its δ, and costs are added as whole numbers of a unit. The arrays are kept from call to call: new ones of this size are
pages that the system clears first, which takes longer than all computations in them.
"""

import numpy as np

FAR = 1e200  # no row changes its side there
STILL = 1e-12  # the slope of a row that stays where it is, at most
NEAR = 1e-9  # changes nearer than this, or than this share of them, are one


class LineSearch:
    """Search along lines, for the rows that `rows` was last called with."""

    def __init__(self):
        self._memory = {}

    def rows(self, sign: np.ndarray, base: float) -> None:
        """Set the rows. Going right costs `sign` more than going left, float64 (rows,); `base` is the cost of all rows
        on the left."""
        self.sign, self.base, self.total, n = sign, base, sign.sum(), len(sign)
        self.bits = (n - 1).bit_length()
        self.near = max(NEAR, 2.0 ** (self.bits - 49))
        self.unit = int(np.frexp(np.abs(sign).sum())[1]) - 60
        # By code: rising rows go right, falling ones left, and those that stay, of either sign, do neither.
        self.gain = np.zeros((4, 1 << self.bits), np.int64)
        self.gain[0, :n] = np.rint(np.ldexp(sign, -self.unit))
        self.gain[1, :n] = -self.gain[0, :n]

    def best(self, v: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (δ, cost), float64 (lines,): the δ of least cost of each line, if rows of v + δ slope <= 0 go left.

        `v` is float64 (rows,), `slopes` float64 (lines, rows). Between two neighbouring changes of sides δ is the
        middle; changes too near to be distinguished are one.
        """
        m, n = slopes.shape
        at = self.memory("at", m, n)
        code = self.memory("code", m, n, np.int64)
        change = self.memory("change", m, n, np.int64)
        still = np.less_equal(np.abs(slopes, out=at), STILL, out=self.memory("still", m, n, bool))
        # The code of a row: its number, then a bit that it falls, then one that it stays.
        np.right_shift(slopes.view(np.int64), 63, out=code)
        code &= 1 << self.bits
        code |= np.arange(n)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            np.divide(-v, slopes, out=at)
        np.clip(at, -FAR, FAR, out=at)
        stay = right = 0.0
        if still.any():
            np.copyto(at, FAR, where=still)
            code |= np.left_shift(still, self.bits + 1, out=change, casting="unsafe")
            staying = self.memory("wide", m, n)
            np.copyto(staying, still)
            stay, right = (staying @ np.stack([self.sign, np.where(v > 0, self.sign, 0.0)], axis=1)).T
        key, last = at.view(np.int64), (4 << self.bits) - 1
        key &= ~last
        key |= code
        at.sort(axis=1)
        # The cost of the first k changes, in addition to δ = -∞, where falling rows are on the right.
        cost = self.memory("cost", m, n + 1, np.int64)
        cost[:, 0] = 0
        np.take(self.gain.ravel(), np.bitwise_and(key, last, out=code), out=change, mode="clip")
        np.cumsum(change, axis=1, out=cost[:, 1:])
        # Rows that move either rise or fall; the sum of all changes is the sum of rising less falling ones.
        falling = (self.total - stay - np.ldexp(cost[:, n].astype(float), self.unit)) / 2
        k = cost.argmin(axis=1)
        low, high = _ends(at, k)
        if (high - low <= self.near * np.maximum(1.0, np.abs(high))).any():
            self._bar_near(at, cost)
            k = cost.argmin(axis=1)
            low, high = _ends(at, k)
        delta = np.where(
            low <= -FAR / 2,
            np.where(high >= FAR / 2, 0.0, high - np.maximum(1.0, np.abs(high))),
            np.where(high >= FAR / 2, low + np.maximum(1.0, np.abs(low)), (low + high) / 2),
        )
        return delta, self.base + right + falling + np.ldexp(cost[np.arange(m), k].astype(float), self.unit)

    def _bar_near(self, at, cost) -> None:
        """Exclude every δ between two changes that count as one."""
        m, n = at.shape
        gap, size = self.memory("gap", m, n + 1), self.memory("wide", m, n + 1)
        size[:, :n], size[:, n] = at, FAR
        np.subtract(size[:, 1:], at, out=gap[:, 1:])
        np.add(at[:, 0], FAR, out=gap[:, 0])
        np.maximum(np.abs(size, out=size), 1.0, out=size)
        size *= self.near
        np.copyto(cost, np.iinfo(np.int64).max, where=np.less_equal(gap, size, out=self.memory("near", m, n + 1, bool)))

    def memory(self, name: str, lines: int, width: int, kind=np.float64) -> np.ndarray:
        """Return an array (lines, width) of this name, with its earlier contents."""
        size = lines * width
        if name not in self._memory or self._memory[name].size < size:
            self._memory[name] = np.empty(size, kind)
        return self._memory[name][:size].reshape(lines, width)


def _ends(at: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the changes before and after the k-th of each line."""
    n, line = at.shape[1], np.arange(len(at))
    return np.where(k == 0, -FAR, at[line, k - 1]), np.where(k == n, FAR, at[line, np.minimum(k, n - 1)])
