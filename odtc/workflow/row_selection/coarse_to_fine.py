"""From coarse to fine: a sample, a search, then more of the rows on which the last tree may change.

    round 1   of each class a sample, of weights that add up to the class
    round t   of each class in each leaf a sample at half of the rate r_t; a quarter of r_t of all rows are more of the
              wrong ones, and a quarter are right ones nearest to a split. The rows that are drawn stand for all of
              their class in their leaf that were not; near ones for themselves.

The last round has the rate `share`, each one before it half of the next. Rows are drawn by a number of their own, so
that a sample of a higher rate has that of a lower one. The best tree on all rows is handed in. What the rows that are
not selected can change has a bound (odtc.workflow.row_selection.rest_bound): as no row costs less than nothing, no tree
loses less of all rows than the best of the selected ones loses of these. A small sample proves little so; `parts` cuts
all rows into that many disjoint parts after the rounds, whose bounds add up.
"""

import numpy as np

from odtc.errors import ChoiceError
from odtc.workflow.row_selection.selection import Cluster, KeptRows

NAME = "coarse_to_fine"
SUMMARY = "a sample, then in rounds its tree's wrong rows and those near its splits, with a bound for all rows"
OPTIONS = {
    "share": (float, "of all rows, that the last round may have (default 0.1, and 1,000 rows in any case)"),
    "rounds": (
        int,
        "of `odtc fit` and `select`, at most (default 3), which share the time limit; each has up to twice the rows",
    ),
    "parts": (int, "disjoint parts of all rows that are searched after the rounds for a bound; 0: none (default)"),
    "gap": (float, "share of all weight by which the tree may lose more than the bound to end early (default 0)"),
}
GROWS = True
SHARE, ROUNDS = 0.1, 3
FEW = 1000  # rows that the last round may have whatever their share: of fewer a tree follows the noise
LEAST = 5  # rows of a class to begin with


def expect(dimensions: int, share: float | None = None, rounds: int = ROUNDS, parts: int = 0, gap: float = 0.0) -> None:
    share = SHARE if share is None else share
    if not 0 < share <= 1 or rounds < 1 or parts < 0 or parts == 1 or not 0 <= gap < 1:
        raise ChoiceError(
            "expected share in (0, 1], rounds of 1 or more, parts of 2 or more, or 0, and gap in [0, 1), got "
            f"share={share:g}, rounds={rounds}, parts={parts}, gap={gap:g}"
        )


def rounds(**options) -> int:
    expect(1, **options)
    return options.get("rounds", ROUNDS)


def parts(**options) -> int:
    return options.get("parts", 0)


def enough(**options) -> float:
    return options.get("gap", 0.0)


def select(
    cluster: Cluster, share: float | None = None, rounds: int = ROUNDS, parts: int = 0, gap: float = 0.0
) -> KeptRows:
    n, order = len(cluster.rows), np.argsort(_number(cluster.rows), kind="stable")
    if share is None:
        share = max(SHARE, min(1.0, FEW / max(1, n, cluster.n_all)))  # 0: the cluster is all that is known
    rate, none = share / 2 ** max(0, rounds - cluster.round), np.zeros(0, np.int64)
    if cluster.right is None:
        return _kept(order[: min(n, max(LEAST, int(rate * n)))], none, n)
    more = rate / 4 * cluster.n_all * n / cluster.n_alike
    drawn = order[: min(n, int(rate / 2 * n + (0 if cluster.right else more)))]
    if not len(drawn):  # fewer rows than one stands for: that of the round before, if it has one
        drawn = order[:1][cluster.before[order[:1]]]
    others = np.setdiff1d(np.arange(n), drawn)
    near = others[np.argsort(cluster.near[others], kind="stable")[: int(more)]] if cluster.right else none
    return _kept(drawn, near, n)


def _number(rows: np.ndarray) -> np.ndarray:
    """uint64 (rows,): a number that looks drawn and that a row keeps in all rounds (Steele, Lea & Flood 2014)."""
    with np.errstate(over="ignore"):
        z = (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _kept(drawn: np.ndarray, near: np.ndarray, n: int) -> KeptRows:
    """Rows of which `drawn` stand for all of the n but `near`, in whole numbers that differ by 1 at most."""
    each, over = divmod(n - len(near), max(1, len(drawn)))
    places = np.concatenate([drawn, near])
    stands_for = np.concatenate([each + (np.arange(len(drawn)) < over), np.ones(len(near))])
    order = np.argsort(places, kind="stable")
    return KeptRows(places[order], np.zeros(len(places), bool), {"n_near": len(near)}, stands_for[order].astype(float))
