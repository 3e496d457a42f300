"""From coarse to fine: a sample, a search, then more of the rows on which the last tree may change.

    round 1   of each class a sample, of weights that add up to the class
    round t   the rows of round t - 1, and up to as many more: of the wrong rows of a leaf any, of its right ones those
              nearest to a split. The rows drawn of a class in a leaf stand for all that were not; near ones for
              themselves.

`share` is what the last round may have, so the first begins with share / 2^(rounds - 1). The best tree on all rows is
handed in. What the rows that are not selected can change has a bound (odtc.workflow.row_selection.rest_bound): as no
row costs less than nothing, no tree loses less of all rows than the best of the selected ones loses of these. A small
sample proves little so; `parts` cuts all rows into that many disjoint parts after the rounds, whose bounds add up.
"""

import numpy as np

from odtc.errors import ChoiceError
from odtc.workflow.row_selection.selection import Cluster, KeptRows

NAME = "coarse_to_fine"
SUMMARY = "a sample, then in rounds its tree's wrong rows and those near its splits, with a bound for all rows"
OPTIONS = {
    "share": (float, "of all rows, that the last round may have (default 0.1)"),
    "rounds": (int, "of `odtc fit`, at most (default 4), which share the time limit; each has up to twice the rows"),
    "parts": (int, "disjoint parts of all rows that are searched after the rounds for a bound; 0: none (default)"),
    "gap": (float, "share of all weight by which the tree may lose more than the bound to end early (default 0)"),
}
GROWS = True
SHARE, ROUNDS = 0.1, 4
LEAST = 10  # rows of a class to begin with, and of a cluster to grow by
SEED = 0


def expect(dimensions: int, share: float = SHARE, rounds: int = ROUNDS, parts: int = 0, gap: float = 0.0) -> None:
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


def select(cluster: Cluster, share: float = SHARE, rounds: int = ROUNDS, parts: int = 0, gap: float = 0.0) -> KeptRows:
    n, random = len(cluster.rows), np.random.default_rng([SEED, int(cluster.rows[0]), len(cluster.rows)])
    if cluster.right is None:
        first = random.permutation(n)[: min(n, max(LEAST, int(share * n / 2 ** (rounds - 1))))]
        return _kept(np.sort(first), np.zeros(0, np.int64), n)
    before = np.flatnonzero(cluster.before)
    others = np.flatnonzero(~cluster.before)
    more = max(LEAST, len(before))
    if not cluster.right:
        return _kept(np.union1d(before, random.permutation(others)[:more]), np.zeros(0, np.int64), n)
    if not len(before):  # a leaf without a row of the last round: one that stands for the others
        before, others = np.split(random.permutation(others), [1])
    near = others[np.argsort(cluster.near[others], kind="stable")[: more // 2]]
    return _kept(before, near, n)


def _kept(drawn: np.ndarray, near: np.ndarray, n: int) -> KeptRows:
    """Rows of which `drawn` stand for all of the n but `near`, in whole numbers that differ by 1 at most."""
    each, over = divmod(n - len(near), len(drawn))
    places = np.concatenate([drawn, near])
    stands_for = np.concatenate([each + (np.arange(len(drawn)) < over), np.ones(len(near))])
    order = np.argsort(places, kind="stable")
    return KeptRows(places[order], np.zeros(n, bool)[places], {"n_near": len(near)}, stands_for[order].astype(float))
