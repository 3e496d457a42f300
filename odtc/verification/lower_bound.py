"""The lower bound that the targets of a certificate prove, checked from the last level up.

For every state with a target t no label may cost less than t, and for every split the two sides must cost at least t -
P together, where P is the penalty of a branch node. The cost of a side is at least its own target; with two levels
left it is the cost of its best split, which is computed. It is also at least the bound of the same side of another
threshold of the feature: all of that bound if the side of the other threshold has fewer rows; if it has more, that
bound minus the largest cost of the additional rows. All of this is counted above the unavoidable cost of rows with
equal results for all splits. Sums are of whole numbers, and exact (odtc.verification.certificate).
"""

import re
from collections.abc import Callable

import numpy as np

from odtc.base import phases
from odtc.base.json_schema import show_value
from odtc.base.threads.matrix_products import for_product
from odtc.errors import CertificateError

BLOCK = 1 << 22  # results that are floats at once
FIRST = 6  # thresholds of a feature are tried out first
ENTRY = re.compile(r"[0-9]{1,16}(,[0-9]{1,9})*")


class LowerBound:
    """The bound of a certificate over X, bool (splits, rows), of rows that differ in some split, and loss float64 of
    whole numbers (rows, classes). Raises ValueError if its targets are not written as numbers between commas."""

    def __init__(self, facts, X, loss, price, depth):
        self.X, self.price, self.depth = X, float(price), depth
        # Sums of whole numbers are exact below 2^24 in float32, which multiplies twice as fast.
        real = np.float32 if float(loss.sum()) < 2**24 else np.float64
        self.floor = loss.min(axis=1)
        self.splits, self.answers = (
            facts["splits"],
            np.ascontiguousarray(X.T),
        )  # real numbers of a block of rows at once
        self.loss = (loss - self.floor[:, None]).astype(real)
        self.most = self.loss.max(axis=1)
        features = {}
        for f, split in enumerate(self.splits):
            if split["kind"] == "threshold":
                features.setdefault(split["feature"], []).append(f)
        # The splits of a feature by rising threshold: the left side of each contains those of the splits before it.
        self.chains = [
            np.array(sorted(splits, key=lambda f: float(self.splits[f]["threshold"])))
            for splits in features.values()
            if len(splits) > 1
        ]
        self.first = np.ones(len(X), bool)
        for chain in self.chains:
            self.first[chain[np.arange(len(chain)) % max(1, len(chain) // FIRST) > 0]] = False
        self.packed = np.packbits(X, axis=1)
        self.outside = np.packbits(~X, axis=1)
        texts = facts["targets"]
        if len(texts) > max(1, depth - 1):
            raise ValueError("it has targets below the last level but one")
        self.levels = [_entries(text, j) for j, text in enumerate(texts)]
        self.n_targets = sum(map(len, self.levels))

    def of_root(self, pause: Callable[[], None] = lambda: None) -> float:
        """Return a lower bound on the cost of any tree, by the targets; raises CertificateError if one does not
        follow. `pause` is called between targets, and may raise."""
        below, sides = {}, self._sides_of_splits()
        for j in range(len(self.levels) - 1, -1, -1):
            here = {}
            for target, *literals in phases.over(self.levels[j], f"checking targets of level {j}"):
                pause()
                if (
                    len(literals) != j
                    or len({at >> 1 for at in literals}) != j
                    or not all(0 <= at < 2 * len(self.X) for at in literals)
                ):
                    raise ValueError(f"a state of level {j} has other than {j} literals of different splits")
                cover = np.ones(self.X.shape[1], bool)
                for at in literals:
                    cover &= self.X[at >> 1] == bool(at & 1)
                rows = np.flatnonzero(cover)
                if sides is None or j != 1 or not len(rows) or sides[literals[0]] < target:
                    self._hold(target, rows, np.packbits(cover), self.depth - j, below, literals)
                key = np.packbits(cover).tobytes()
                here[key] = max(here.get(key, 0.0), target - float(self.floor[rows].sum()))
            below = here
        whole = np.packbits(np.ones(self.X.shape[1], bool)).tobytes()
        return float(self.floor.sum()) + below.get(whole, 0.0)

    def _sides_of_splits(self) -> np.ndarray | None:
        """Return float64 (2 splits,): the cost of the best tree of two levels on either side of each split in trees of
        three levels, by literals; None if it is counted state by state."""
        labels = self.loss.shape[1]
        if self.depth != 3 or len(self.levels) < 2 or not 2 <= labels <= 3:
            return None
        from odtc.verification.leaf_sums import every_tree  # most checks never need it

        if not every_tree.repays(len(self.levels[1]) * self.X.shape[1] * len(self.X) ** 2 / 2):
            return None
        sides = every_tree.least_sides(self.X, self.loss.astype(float) + self.floor[:, None], self.price)
        return None if sides is None else sides.ravel()

    def _hold(self, target, rows, packed, height, below, literals) -> None:
        """Raise an error if a target does not follow from the data and the targets of the next level."""
        if not len(rows):
            raise ValueError("a state holds no rows")
        floor = float(self.floor[rows].sum())
        alone = float(self.loss[rows].sum(axis=0).min()) + floor
        if alone < target:
            raise CertificateError(
                f"{self._place(literals)} the certificate claims a cost of at least {target}, but a single label costs "
                f"{alone:.0f}"
            )
        loss = self.loss[rows]  # (rows, classes)
        blocks = Blocks(self.answers, rows, loss.dtype)
        count = blocks.ones()
        parts = (count > 0) & (count < len(rows))
        sides = np.zeros((2, len(parts)))  # lower bounds on the costs of the left and the right side of each split
        moved = blocks.sums(self.most[rows, None])[:, 0]
        left_out, at = parts.copy(), np.flatnonzero(parts & self.first if height == 2 else parts)
        while True:
            left_out[at] = False
            if height == 1:
                left = blocks.sums(loss)[at]
                sides[:, at] = left.min(axis=1), (loss.sum(axis=0) - left).min(axis=1)
            elif height == 2:
                sides[:, at] = self._stumps(blocks, loss, at)
            else:
                for side, column in enumerate((self.packed, self.outside)):
                    sides[side, at] = [below.get(there.tobytes(), 0.0) for there in packed & column[at]]
            worth = self._carried(sides, moved).sum(axis=0) + self.price + floor
            short = np.flatnonzero(parts & (worth < target))
            at = short[left_out[short]][::4]
            if not len(at):
                break
        if len(short):
            f = int(short[0])
            raise CertificateError(
                f"{self._place(literals)} the certificate claims a cost of at least {target}, but by its own numbers "
                f"asking {read_split(self.splits[f])} leaves {worth[f]:.0f}"
            )

    def _carried(self, sides, moved) -> np.ndarray:
        """Return the bounds of both sides, raised by those that follow from other thresholds of a feature; `moved` is
        the largest cost of the rows left of each split."""
        sides, most = sides.copy(), np.maximum.accumulate
        for chain in self.chains:
            (left, right), gone = sides[:, chain], moved[chain]
            sides[0, chain] = np.maximum(most(left), most((left - gone)[::-1])[::-1] + gone)
            sides[1, chain] = np.maximum(most(right[::-1])[::-1], most(right + gone) - gone)
        return sides

    def _stumps(self, blocks: "Blocks", loss, splits) -> tuple[np.ndarray, np.ndarray]:
        """Return per split the least cost of the left and of the right side, each with at most one more split."""
        total, ones = loss.sum(axis=0), blocks.sums(loss)
        if loss.shape[1] == 2:  # min(a, b) = (a + b - |a - b|) / 2
            gap = loss[:, 0] - loss[:, 1]
            both, one, here = blocks.pairs(splits, gap), blocks.sums(gap[:, None])[:, 0], ones[splits]
            return tuple(
                self._halves(sums.sum(axis=1), own, table)
                for sums, own, table in ((here, one[splits], both), (total - here, gap.sum() - one[splits], one - both))
            )
        most = [np.full((len(splits), len(ones)), np.inf) for _ in range(4)]
        for k in range(loss.shape[1]):
            both, here = blocks.pairs(splits, loss[:, k]), ones[splits, k, None]
            for table, side in zip(most, (both, here - both, ones[:, k] - both, total[k] - here - ones[:, k] + both)):
                np.minimum(table, side, out=table)
        one = np.minimum(ones[splits].min(axis=1), (most[0] + most[1]).min(axis=1) + self.price)
        zero = np.minimum((total - ones[splits]).min(axis=1), (most[2] + most[3]).min(axis=1) + self.price)
        return one, zero

    def _halves(self, total, gap, table) -> np.ndarray:
        """Return per split the least cost of one side with at most one more split: `table` is the gap between the two
        classes on that side, divided by each other split."""
        # |t| + |g - t| is the greater of |g| and |2t - g|, which is greatest at the ends of t.
        parted = np.maximum(np.abs(gap), np.maximum(2 * table.max(axis=1) - gap, gap - 2 * table.min(axis=1)))
        return (total - np.maximum(np.abs(gap), parted - 2 * self.price)) / 2

    def _place(self, literals) -> str:
        said = " and ".join(("" if at & 1 else "not ") + read_split(self.splits[at >> 1]) for at in literals)
        return f"where {said}," if said else "at the root"


class Blocks:
    """Sums over rows by their results for splits, in floats of a few rows at a time, because floats of all rows at
    once would take as much memory as everything else together. Whole numbers add up the same in any order.

    Parameters
    ----------
    answers : bool (all rows, splits)
    rows : int (rows,), rising, those of a state
    real : type of the sums, which are exact in it
    """

    def __init__(self, answers: np.ndarray, rows: np.ndarray, real: np.dtype):
        self.answers, self.rows, self.real = answers, rows, real
        self.step = max(1, BLOCK // max(1, answers.shape[1]))

    def _each(self):
        for begin in range(0, len(self.rows), self.step):
            here = slice(begin, begin + self.step)
            yield here, self.answers[self.rows[here]].astype(self.real)

    def ones(self) -> np.ndarray:
        """Return int64 (splits,): the number of rows on side 1."""
        return self.sums(np.ones((len(self.rows), 1)))[:, 0].astype(np.int64)

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return (splits, k): the sums of values (rows, k) over the rows on side 1."""
        found = np.zeros((self.answers.shape[1], values.shape[1]), values.dtype)
        for here, X in self._each():
            found += X.T @ values[here]
        return found

    def pairs(self, splits: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return (len(splits), all splits): the sums of values (rows,) over the rows on side 1 of both."""
        found = np.zeros((len(splits), self.answers.shape[1]), values.dtype)
        for here, X in self._each():
            with for_product(X.size * len(splits)):
                found += (X[:, splits] * values[here, None]).T @ X
        return found


def _entries(text: str, level: int) -> list[list[int]]:
    """Return the targets of a level with their literals."""
    entries = []
    for at, entry in enumerate(text.split(";"), 1):
        if not entry:
            continue
        if not ENTRY.fullmatch(entry):
            raise ValueError(
                f"expected whole numbers of at most 16 digits between commas in entry {at} of targets[{level}], got "
                f"{show_value(entry)}"
            )
        entries.append([int(word) for word in entry.split(",")])
    return entries


def read_split(split) -> str:
    """Return the split of a certificate in readable form."""
    if split["kind"] == "threshold":
        return f"{split['feature']} <= {split['threshold']:.10g}"
    return (
        f"{split['feature']} is missing"
        if split["kind"] == "missing"
        else f"{split['feature']} in {{{', '.join(map(str, split['values']))}}}"
    )
