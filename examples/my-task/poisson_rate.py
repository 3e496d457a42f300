"""Counts, such as claims of a year: a leaf predicts the mean count of its rows, by the likelihood of Poisson.

With w and y the weight and the count of a row, and ȳ the mean count of all rows, minus the logarithm of the likelihood
of a leaf is, but for a number that all trees share,

    D - D log(D/H),    0 if D = 0,    D = Σ w y,    H = Σ w ȳ

which is the loss "likelihood" of odtc.algorithms.moments.laws. A state of the dynamic program carries n, Σ w, H and D.
"""

from dataclasses import replace

import numpy as np

from odtc.extend import DataError

TYPE = "task"
NAME = "poisson_rate"
SUMMARY = "a leaf predicts the mean of a count; the cost of a row is that of Poisson's likelihood"
HEADLINE, HEADLINE_WORDS = "deviance", "Poisson deviance"
MOMENTS = True  # a leaf costs a function of sums over its rows
NUMBERS = True  # and predicts a number
LOSS = "likelihood"
LABEL = "mean"  # the one class of its leaves
ANSWER = "a count"


def labelled(rows, cells, how, place: str):
    """The rows with their sums: 1, w, w ȳ, w y."""
    y, w = cells[rows.target].numbers().cells(), rows.weight
    if (y < 0).any() or (y == y[0]).all():
        raise DataError(f"expected counts from 0 on that differ in column {rows.target!r} of {place}")
    mean = (w * y).sum() / w.sum()
    return replace(rows, classes=(LABEL,), sums=np.column_stack([np.ones(len(y)), w, w * mean, w * y]))


def moments(sums: np.ndarray) -> np.ndarray:
    """W, S and Q of the loss: H, D and D."""
    return np.stack([sums[..., 2], sums[..., 3], sums[..., 3]])


def leaf_costs(sums: np.ndarray) -> np.ndarray:
    """D - D log(D/H) of leaves with these sums."""
    h, d = sums[..., 2], sums[..., 3]
    return d - d * np.log(np.divide(d, h, out=np.ones_like(d), where=d > 0))


def answer(sums) -> float:
    """The mean count of a leaf."""
    return float(sums[3] / sums[1])


def figures(sums: np.ndarray, answers: np.ndarray, classes) -> dict:
    """The deviance by the row, 2 (y log(y/answer) - y + answer) each; None if a count came where the leaf has none."""
    w, y = sums[:, 1], sums[:, 3] / sums[:, 1]
    if ((answers == 0) & (y > 0)).any():
        return {"n_rows": len(sums), "deviance": None}
    ratio = np.divide(y, answers, out=np.ones(len(y)), where=y > 0)
    return {"n_rows": len(sums), "deviance": float(2 * (w * (y * np.log(ratio) - y + answers)).sum() / w.sum())}


def figure_lines(facts) -> list[str]:
    """One line."""
    if facts["deviance"] is None:
        return ["Poisson deviance infinite: a row has a count where the tree answers none"]
    return [f"Poisson deviance {facts['deviance']:.6g} a row of {facts['n_rows']}"]
