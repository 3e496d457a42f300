"""From coarse to fine: a sample, a search, then samples that are drawn by its tree.

    coarse rounds   of each class a sample; each has half of the rows of the next
    tries           the whole share each: a plain sample by class, then samples that are drawn by the best tree so far

A tree allots rows to each class in each leaf, half in proportion to its rows and half to their square root, so
misclassified rows, which are few, are drawn more often. The rows of a class, leaf by leaf and the nearest to a split
first, are divided into as many zones as rows are allotted. One row is drawn from each zone and represents all of it. So
the selected rows of a class have the weight of all of its rows, the loss on the selected rows is an unbiased estimate
of the loss on all rows, and no row represents much more than twice as many rows as in a plain sample.

Trees of few rows differ by chance, so they are compared on all rows: the tree with the least loss is the result, which
is never worse on all rows than the tree of a plain sample of the share. The effect of the rows that are not selected
has a bound (odtc.workflow.row_selection.rest_bound): because no row has a negative cost, the loss of any tree on all
rows is at least the least loss on the selected rows. This proves little if the sample is small; `parts` cuts all rows
into that many disjoint parts after the rounds, whose bounds add up.
"""

import numpy as np

from odtc.errors import ChoiceError
from odtc.workflow.row_selection.selection import Cluster, KeptRows

NAME = "coarse_to_fine"
SUMMARY = "samples in rounds, each drawn by the best tree so far, weighed as all rows are, with a bound for all rows"
OPTIONS = {
    "share": (float, "of all rows, that each of the last rounds has (default 0.1, and 1,000 rows in any case)"),
    "tries": (int, "rounds that have the whole share, the last ones (default 3)"),
    "rounds": (
        int,
        "of `odtc fit` and `select`, at most (default: tries + 1), which share the time limit; those before the tries "
        "have half of the rows of the next",
    ),
    "parts": (int, "disjoint parts of all rows that are searched after the rounds for a bound; 0: none (default)"),
    "gap": (float, "share of all weight by which the tree may lose more than the bound to end early (default 0)"),
}
GROWS = True
FIRST_SHARE = 0.1  # of the rows, in the first round
TRIES = 3  # the better of two trees of as many rows is often far better
DRAWS, TIES = 2**24, 2**23  # numbers of draws; the one that orders rows as near as each other
MIN_FIRST_ROWS = 1000  # rows that such a round has at least: with fewer, a tree follows the noise


def expect(
    dimensions: int,
    share: float | None = None,
    tries: int = TRIES,
    rounds: int | None = None,
    parts: int = 0,
    gap: float = 0.0,
) -> None:
    share, rounds = FIRST_SHARE if share is None else share, tries + 1 if rounds is None else rounds
    if not 0 < share <= 1 or tries < 1 or rounds < 1 or parts < 0 or parts == 1 or not 0 <= gap < 1:
        raise ChoiceError(
            "expected share in (0, 1], tries and rounds of 1 or more, parts of 2 or more, or 0, and gap in [0, 1), got "
            f"share={share:g}, tries={tries}, rounds={rounds}, parts={parts}, gap={gap:g}"
        )


def rounds(**options) -> int:
    expect(1, **options)
    return options.get("rounds", options.get("tries", TRIES) + 1)


def parts(**options) -> int:
    return options.get("parts", 0)


def enough(**options) -> float:
    return options.get("gap", 0.0)


def select(
    cluster: Cluster,
    share: float | None = None,
    tries: int = TRIES,
    rounds: int | None = None,
    parts: int = 0,
    gap: float = 0.0,
) -> KeptRows:
    n, rounds = len(cluster.rows), tries + 1 if rounds is None else rounds
    label, leaf = (np.zeros(n, np.int64) if of is None else of for of in (cluster.label, cluster.leaf))
    near, later = cluster.near, cluster.round - max(1, rounds - tries + 1)  # than the plain sample
    if later == 0:
        leaf, near = np.zeros(n, np.int64), np.zeros(n)
    if share is None:
        share = max(FIRST_SHARE, min(1.0, MIN_FIRST_ROWS / n))
    of_class = np.bincount(label)
    most = max(np.count_nonzero(of_class), int(share / 2 ** max(0, -later) * n))
    _, group, rows = np.unique(leaf * len(of_class) + label, return_inverse=True, return_counts=True)
    roots = np.sqrt(rows) if leaf.any() else rows
    due = filled(rows / n + roots / roots.sum(), rows, most)
    rate = (due / rows)[group]
    zones = whole_numbers(np.bincount(label, rate), of_class, most)
    # Ties in distance are broken by another random number than the draw, which would otherwise prefer the next ones.
    order = np.lexsort((drawn_number(cluster.rows, TIES), near, leaf, label))
    zone = _zones(rate[order], label[order], zones)
    drawn = np.lexsort((drawn_number(cluster.rows, later)[order], zone))
    first = np.flatnonzero(np.diff(zone[drawn], prepend=-1))
    places, stands_for = order[drawn[first]], np.diff(first, append=n).astype(float)
    rising = np.argsort(places)
    return KeptRows(places[rising], np.zeros(len(places), bool), {"n_clusters": len(rows)}, stands_for[rising])


def filled(due: np.ndarray, most: np.ndarray, total: float) -> np.ndarray:
    """Return float64 numbers in proportion to `due` that add up to `total`, each at most `most`, whose sum is at least
    `total`."""
    found, free = np.zeros(len(due)), due > 0
    while free.any():
        found[free] = due[free] * max(0.0, total - found[~free].sum()) / due[free].sum()
        over = free & (found > most)
        if not over.any():
            break
        found[over], free = most[over], free & ~over
    return found


def whole_numbers(due: np.ndarray, most: np.ndarray, total: int) -> np.ndarray:
    """Return `filled` in whole numbers, int64, by largest remainder; every class that has rows (`most`) has at least
    one."""
    share = filled(due, most, total)
    found = np.clip(np.floor(share).astype(np.int64), np.minimum(most, 1), most)
    while left := total - int(found.sum()):
        step = 1 if left > 0 else -1
        open_ = np.flatnonzero(found < most if left > 0 else found > 1)
        if not len(open_):
            break
        found[open_[np.argsort(step * (found - share)[open_], kind="stable")[: abs(left)]]] += step
    return found


def _zones(rate: np.ndarray, label: np.ndarray, zones: np.ndarray) -> np.ndarray:
    """Return the zone of each row, int64 (rows,), for rows in the order of their classes; each class has as many zones
    as `zones` states, with equal sums of rates."""
    of_class = np.bincount(label, minlength=len(zones))
    upto = np.append(0.0, rate.cumsum())
    starts = of_class.cumsum() - of_class
    begins, ends = upto[starts], upto[starts + of_class]
    middle = (upto[:-1] + upto[1:]) / 2 - begins[label]
    zone = np.floor(middle / (ends - begins)[label] * zones[label]).astype(np.int64)
    return np.clip(zone, 0, zones[label] - 1) + (zones.cumsum() - zones)[label]


def drawn_number(rows: np.ndarray, draw: int) -> np.ndarray:
    """Return uint64 (rows,): a pseudo-random number for each row and draw (Steele, Lea & Flood 2014)."""
    with np.errstate(over="ignore"):
        z = rows.astype(np.uint64) + (np.uint64(draw % DRAWS) << np.uint64(40))
        z = (z + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
