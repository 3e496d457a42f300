"""Survival: a leaf predicts the risk of an event relative to all rows, from times of which some are censored.

With w, t and δ the weight, the time and the event (1, or 0 if the row was only seen until t) of a row, and Λ the
Nelson-Aalen estimate of the cumulative hazard of all rows, the hazard of a leaf is θ times the hazard of all rows. The
likelihood of a leaf with D = Σ w δ events and the hazard H = Σ w Λ(t) is greatest for θ = D/H, and minus its
logarithm, except for a number that all trees share, is the cost (LeBlanc & Crowley 1992)

    D - D log(D/H),    0 if D = 0

A leaf without an event predicts the θ of half an event, as in that paper. A state of the dynamic program carries n, Σ
w, H, D and the time Σ t. Because a leaf has one θ for all of its rows, no tree on rows A and B costs less than the best
tree on A and the best tree on B together. Bounds by the weight of rows are not valid.

A leaf also contains the Kaplan-Meier curve of its rows (`curve`).
"""

import math
from dataclasses import replace

import numpy as np

from odtc.algorithms.moments import laws
from odtc.algorithms.moments.exact_costs import Undecided
from odtc.algorithms.moments.exact_likelihood import ExactLikelihood
from odtc.base.text import some
from odtc.base.wording import option
from odtc.data.dataset import Dataset
from odtc.data.reading_spec import no_column
from odtc.data.tasks.survival.curves import concordance, hazard_at, integrated_brier, kaplan_meier, nelson_aalen
from odtc.errors import ChoiceError, DataError

NAME = "survival"
SUMMARY = "a leaf predicts the risk of an event relative to all rows, and a survival curve; times may be censored"
HEADLINE, HEADLINE_WORDS = "concordance", "concordance"
LESS_IS_BETTER = False
FIELDS = ("time", "event")
MOMENTS = True
NUMBERS = True
SURVIVES = True
LOSS = "likelihood"
LABEL = "risk"  # the one class of its leaves
ANSWER = "risk of an event, 1 for all rows"
QUANTITY = "risk of an event"
WORDS = {"0": 0.0, "1": 1.0, "false": 0.0, "true": 1.0, "no": 0.0, "yes": 1.0}  # of a column of events
SHOWN = 3  # values of a column of events that a message proposes
HALF = 0.5  # events of a leaf without one


def target_columns(columns, how, place: str) -> tuple[str, ...]:
    """Return the columns of times and of events."""
    if how.target is not None:
        raise ChoiceError(
            f"a survival tree has no {option('target')}: name its columns with {option('time')} and {option('event')}"
        )
    wanted = {"time": how.time, "event": _event_column(columns, how.event)}
    for role, name in wanted.items():
        if name is None:
            raise ChoiceError(
                f"{option('task', 'survival')}: expected {option('time')} COL and {option('event')} COL, got no "
                f"{option(role)}"
            )
        if name not in columns:
            raise no_column(role, name, columns, place)
    if wanted["time"] == wanted["event"]:
        raise ChoiceError(
            f"expected different columns for {option('time')} and {option('event')}, got {how.time!r} twice"
        )
    return tuple(wanted.values())


def _event_column(columns, asked: str | None) -> str | None:
    """Return the column of `--event COL` or `--event COL=VALUE`."""
    return asked if asked is None or asked in columns else asked.partition("=")[0]


def expect(cells, how, place: str) -> None:
    """Raise DataError if no row has an event."""
    _, ended = cells.values()
    expect_event(_events(ended, how.event, place), f"column {ended.name!r} of {place}")


def expect_event(event: np.ndarray, place: str) -> None:
    """Raise DataError if no row has an event."""
    if not event.any():
        raise DataError(
            f"expected an event in some row of {place}, got none in {len(event)} rows: nothing to learn from"
        )


def labelled(rows: Dataset, cells, how, place: str) -> Dataset:
    """Return the rows with their times and events as sums."""
    (time, at), (_, ended) = cells.items()
    where = f"columns {time!r} and {ended.name!r} of {place}"
    return timed(rows, at.numbers().cells(), _events(ended, how.event, place), where)


def _events(column, asked: str, place: str) -> np.ndarray:
    """Return float64 (rows,): 1 for an event, 0 for a censored row."""
    words = column.words.to_list()
    if asked != column.name:
        value = asked.partition("=")[2]
        marked = {word: float(_same(word, value)) for word in words}
        if not any(marked.values()):
            raise DataError(
                f"expected the value {value!r} of {option('event', asked)} in column {column.name!r} of {place}, got "
                f"{some(words)}"
            )
    else:
        marked = {word: WORDS.get(_plain(word)) for word in words}
        if None in marked.values():
            events = option("event", *(f"{column.name}={word}" for word in words[:SHOWN]))
            raise DataError(
                f"expected 1 for an event and 0 for a censored row in column {column.name!r} of {place}, got "
                f"{some(words)}; name the value that is the event, such as {events}"
            )
    if column.values is not None:
        return np.array([marked[_shown(value)] for value in column.values.tolist()])
    levels = column.cells.cast(str).to_list()
    return np.array([0.0, *(marked.get(word, 0.0) for word in levels)])[column.code]


def _plain(word: str) -> str:
    try:
        return f"{float(word):g}"
    except ValueError:
        return word.strip().lower()


def _same(word: str, value: str) -> bool:
    try:
        return float(word) == float(value)
    except ValueError:
        return word == value


def _shown(value: float) -> str:
    return f"{value:g}"


def timed(rows: Dataset, time: np.ndarray, event: np.ndarray, place: str) -> Dataset:
    """Return the data set of rows with times and events.

    Parameters
    ----------
    rows : Dataset
        Features and weights.
    time : float64 (rows,)
        Until the event, or until the row was last seen without it; 0 or more.
    event : float64 (rows,)
        1 for an event, 0 for a censored row.
    place : str
        Where they come from, for messages.
    """
    weight, sums = rows.weight, sums_of(time, event, rows.weight, place)
    return replace(rows, classes=(LABEL,), sums=sums).where(weight > 0)


def sums_of(time: np.ndarray, event: np.ndarray, weight: np.ndarray, place: str) -> np.ndarray:
    """Return float64 (rows, 5): 1, w, w Λ(t), w δ and t. Raises DataError for times that are below 0 or too large."""
    if (time < 0).any():
        at = int((time < 0).argmax())
        raise DataError(f"expected times of at least 0 in {place}, got {time[at]:.10g} in row {at + 1} of those kept")
    hazard = hazard_at(nelson_aalen(time, event, weight), time)
    sums = np.column_stack([np.ones(len(time)), weight, weight * hazard, weight * event, time])
    if not np.isfinite(sums.sum(axis=0)).all():
        raise DataError(f"expected times that can be added up in {place}; scale them down")
    return sums


def scored_rows(rows: Dataset, trained: Dataset) -> Dataset:
    """Return the rows with the hazard of the training rows at their times."""
    time, event, weight = _observed(trained.sums)
    sums = rows.sums.copy()
    sums[:, 2] = sums[:, 1] * hazard_at(nelson_aalen(time, event, weight), _observed(sums)[0])
    return replace(rows, sums=sums)


def _observed(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (time, event, weight) of rows with these sums."""
    weight = sums[:, 1]
    return sums[:, 4], sums[:, 3] / weight, weight


def moments(sums: np.ndarray) -> np.ndarray:
    """Return the hazard, the events, and the events, of sums float64 (…, 5)."""
    return np.stack([sums[..., 2], sums[..., 3], sums[..., 3]])


def leaf_costs(sums: np.ndarray) -> np.ndarray:
    """Return D - D log(D/H) of leaves with these sums, float64 (…, 5)."""
    return laws.leaf_costs(laws.LIKELIHOOD, moments(sums))


def exact(dataset: Dataset, row_of: np.ndarray) -> ExactLikelihood | None:
    """Return the costs of leaves to be compared exactly; None if their hazards take too many digits."""
    try:
        return ExactLikelihood(dataset.sums[:, 4], dataset.sums[:, 3] > 0, dataset.weight, row_of)
    except Undecided:
        return None


def answer(sums) -> float:
    """Return θ of a leaf: D/H, with half an event if there is none; 1 if its rows were only seen before any event.
    Weights of 1 and more count rows; with smaller weights, half an event is one of a row of mean weight."""
    return (float(max(sums[3], 0.0)) or _half(sums)) / float(sums[2]) if sums[2] > 0 else 1.0


def _half(sums) -> float:
    """Return the number of events that a leaf without one counts as."""
    return HALF * min(1.0, float(sums[1] / sums[0])) if sums[0] else HALF


def keeping(answer: float, sums: np.ndarray) -> tuple[float, ...]:
    """Return the sums of the rows, with the hazard for which the prediction is the risk of their events."""
    n, weight, _, events, time = sums.sum(axis=0).tolist()
    return n, weight, (events or _half((n, weight))) / answer, events, time


def curve(sums: np.ndarray) -> tuple[tuple[float, float], ...]:
    """Return (time, survival) at each event of the rows of a leaf, and at the end of the time that they were seen."""
    steps = kaplan_meier(*_observed(sums))
    return tuple(zip(*(array.tolist() for array in steps)))


def watched(sums: np.ndarray, times, leaf: np.ndarray, n_leaves: int) -> np.ndarray:
    """Return the number of rows of each leaf whose time is not less than each of these."""
    return np.stack(
        [np.bincount(leaf, sums[:, 0] * (sums[:, 4] >= time), n_leaves).astype(np.int64) for time in times], axis=1
    )


def leaf_words(sums, classes, curve=(), goal="") -> str:
    """Return the events of a leaf, and when a quarter, half and three quarters of its rows have had theirs."""
    told = f"{sums[3]:.10g} event{'' if sums[3] == 1 else 's'}"
    if not curve:
        return told
    reached = {share: next((t for t, left in curve if left <= share + 1e-12), None) for share in (0.75, 0.5, 0.25)}
    if reached[0.5] is None:
        end, left = curve[-1]
        return f"{told}, median above {end:.6g} ({100 * left:.1f} % survive it)"
    last = f"above {curve[-1][0]:.6g}" if reached[0.25] is None else f"{reached[0.25]:.6g}"
    return f"{told}, median {reached[0.5]:.6g}, quartiles {reached[0.75]:.6g} to {last}"


def figures(sums: np.ndarray, answers: np.ndarray, classes) -> dict:
    """Return Harrell's concordance, the integrated Brier score of exp(-θ Λ), and the logarithm of the likelihood; the
    first two are None for rows that were merged."""
    weight, hazard, events = sums[:, 1], sums[:, 2], sums[:, 3]
    single = bool((sums[:, 0] == 1).all())
    time, event, _ = _observed(sums)
    likelihood = float((events * np.log(answers) - answers * hazard).sum())
    return {
        "n_rows": int(sums[:, 0].sum()),
        "events": float(events.sum()),
        "concordance": concordance(time, event, answers, weight) if single else None,
        "integrated_brier": integrated_brier(time, event, answers, hazard / weight, weight) if single else None,
        "log_likelihood": likelihood,
        "log_likelihood_alike": float(-hazard.sum()),
    }


def loss_again(sums: np.ndarray, answers: np.ndarray) -> float:
    """Return Σ w δ (1 - log θ)."""
    return float((sums[:, 3] * (1 - np.log(answers))).sum())


def figure_lines(facts) -> list[str]:
    """Return one line."""
    found = [] if facts["concordance"] is None else [f"concordance {facts['concordance']:.4f}"]
    if facts["integrated_brier"] is not None:
        found.append(f"integrated Brier {facts['integrated_brier']:.4f}")
    better = facts["log_likelihood"] - facts["log_likelihood_alike"]
    if math.isfinite(better):
        found.append(f"log-likelihood {better:+.6g} above one risk for all rows")
    return [f"{', '.join(found)}; {facts['events']:.10g} events in {facts['n_rows']} rows"]


def target_words(sums, classes, goal="") -> str:
    """Return the time of a row, with a + if it was censored."""
    return f"{sums[4]:.10g}" + ("" if sums[3] > 0 else "+")
