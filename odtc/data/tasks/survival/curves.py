"""Estimates from censored times: Nelson-Aalen, Kaplan-Meier, Harrell's concordance and the integrated Brier score.

Arrays are float64 (rows,): `time`, `event` (1, or 0 if censored), `weight` above 0, `risk`. At equal times events come
before the ends of censored rows.
"""

import numpy as np


def nelson_aalen(time, event, weight) -> tuple[np.ndarray, np.ndarray]:
    """Return (times of events in rising order, the cumulative hazard from each on): Σ_{t_j <= t} events at t_j /
    weight at risk."""
    at, died, risk = _at_risk(time, event, weight)
    return at, np.cumsum(died / risk)


def hazard_at(steps: tuple[np.ndarray, np.ndarray], time: np.ndarray) -> np.ndarray:
    """Return the cumulative hazard at these times; 0 before the first event."""
    at, hazard = steps
    return np.append(0.0, hazard)[np.searchsorted(at, time, side="right")]


def kaplan_meier(time, event, weight) -> tuple[np.ndarray, np.ndarray]:
    """Return (times, survival from each on): at each event, and at the end of the last row; (empty, empty) for no
    rows."""
    if not len(time):
        return np.zeros(0), np.zeros(0)
    at, died, risk = _at_risk(time, event, weight)
    survival = np.cumprod(np.maximum(1 - died / risk, 0.0))
    end = float(np.max(time))
    if at.size and at[-1] == end:
        return at, survival
    return np.append(at, end), np.append(survival, survival[-1] if at.size else 1.0)


def _at_risk(time, event, weight) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (times of events, weight of the events at each, weight of the rows seen until it or longer)."""
    every, place = np.unique(time, return_inverse=True)
    whole = np.bincount(place, weight, len(every))
    died = np.bincount(place, weight * event, len(every))
    left = np.cumsum(whole[::-1])[::-1]
    held = died > 0
    return every[held], died[held], left[held]


def concordance(time, event, risk, weight) -> float | None:
    """Return, among the pairs of rows whose order is known, the share in which the row of higher risk has its event
    first; equal risks count half. None if no pair is known. A pair is known if the earlier time is the time of an
    event, or if the times are equal and one is."""
    levels, level = np.unique(risk, return_inverse=True)
    order = np.lexsort((-event, time))
    time, event, level, weight = time[order], event[order], level[order], weight[order]
    n, K = len(time), len(levels)
    # later[i]: weight by risk of the rows after row i in this order; rows of one time and event are not a pair.
    first = np.flatnonzero(np.append(True, (np.diff(time) != 0) | (np.diff(event) != 0)))
    ends = np.append(first[1:], n)
    at_once = np.repeat(ends, ends - first)
    table = np.zeros((n + 1, K))
    table[np.arange(n), level] = weight
    later = np.cumsum(table[::-1], axis=0)[::-1]
    died = np.flatnonzero(event > 0)
    behind, own = later[at_once[died]], level[died]
    lower = np.cumsum(behind, axis=1)
    tied = behind[np.arange(len(died)), own]
    known = float((weight[died] * lower[:, -1]).sum())
    right = float((weight[died] * (lower[np.arange(len(died)), own] - tied / 2)).sum())
    return right / known if known > 0 else None


def integrated_brier(time, event, risk, hazard, weight) -> float | None:
    """Return the mean over time of the squared error of exp(-θ Λ(t)) for "no event until t", between the first event
    and the last one before the end of the rows, weighted by the inverse probability of not being censored (Graf et
    al. 1999).

    `risk` is θ and `hazard` Λ at the time of each row. None if there are fewer than two such times.
    """
    at = np.unique(time[event > 0])
    at = at[at < time.max()]
    if len(at) < 2:
        return None
    share = _uncensored(time, event, weight)
    own, then = share(time), share(at)
    base = np.maximum.accumulate(hazard[np.argsort(time, kind="stable")])
    base = base[np.searchsorted(np.sort(time), at, side="right") - 1]  # Λ at the times
    score, total = np.zeros(len(at)), float(weight.sum())
    for level in np.unique(risk):
        alike = risk == level
        died = np.exp(-level * base)
        ended = np.sort(time[alike & (event > 0)])
        places = np.argsort(time[alike & (event > 0)], kind="stable")
        inverse = (weight / np.where(own > 0, own, np.inf))[alike & (event > 0)][places]
        before = np.append(0.0, np.cumsum(inverse))[np.searchsorted(ended, at, side="right")]
        seen = np.sort(time[alike])
        behind = np.append(np.cumsum(weight[alike][np.argsort(time[alike], kind="stable")][::-1])[::-1], 0.0)
        after = behind[np.searchsorted(seen, at, side="right")] / np.where(then > 0, then, np.inf)
        score += before * died**2 + after * (1 - died) ** 2
    return float(np.trapezoid(score / total, at) / (at[-1] - at[0]))


def _uncensored(time, event, weight):
    """Return the Kaplan-Meier estimate of not being censored until a time; events leave before the censored rows of
    their time."""
    every, place = np.unique(time, return_inverse=True)
    whole = np.bincount(place, weight, len(every))
    died = np.bincount(place, weight * event, len(every))
    left = np.cumsum(whole[::-1])[::-1] - died
    lost = whole - died
    steps = np.cumprod(1 - np.divide(lost, left, out=np.zeros_like(lost), where=(left > 0) & (lost > 1e-12 * whole)))
    return lambda asked: np.append(1.0, steps)[np.searchsorted(every, asked, side="right")]
