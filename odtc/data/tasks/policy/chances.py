"""Columns that look like the probability of an action, but are read as something else: each in one sentence.

A column p of numbers between 0 and 1 looks like the probability of an action if it predicts the actions: in each group
of rows with neighbouring p, about Σ p of them received the action, to within chance, and p is far more likely than one
probability for all rows.
"""

import re

import numpy as np

from odtc.base import deadline
from odtc.base.wording import option
from odtc.data.dataset import NUMERIC, Dataset

LEAST = 50  # rows from which on a column is judged
GROUPS = 10  # of rows with neighbouring probabilities
NEAR = 3.5  # standard errors that rows may be away from what p says
AHEAD = 5.0  # of log likelihoods: p before one probability for all rows
NAMED_AHEAD = 0.5  # the same for a column whose name suggests it
NAMES = re.compile("propens|chance|prob", re.IGNORECASE)


# How arguments of an estimator's `fit` are named, in place of options: what to do, and what takes the columns.
OF_ESTIMATOR = ("give {} as propensity to fit, and leave it out of X", "fit")


def _of_options() -> tuple[str, str]:
    return f"name {{}} with {option('propensity')}, or leave it out with {option('ignore')}", option("propensity")


def told_of_propensity(
    rows: Dataset,
    known: np.ndarray | None,
    name: str,
    actions: tuple[str, ...],
    taken: np.ndarray,
    words: tuple[str, str] | None = None,
) -> tuple[tuple[str, str], ...]:
    """Return remarks on columns that look like probabilities of actions, but are read as something else.

    Parameters
    ----------
    rows : Dataset
    known : float64 (rows,) or (rows, actions), or None
        The stated probabilities: of the action received, or of each; None if there are none.
    name : str
        What states them.
    actions : tuple of str
    taken : int (rows,)
        The action that each row received, from 0.
    words : tuple of str, or None
        OF_ESTIMATOR; None for options.

    Returns
    -------
    tuple of (column, sentence)
    """
    if known is None:
        return _of_features(rows, actions, taken, words)
    return _of_received(name, known, actions, taken, words) if known.ndim == 1 else ()


def _of_features(
    rows: Dataset, actions: tuple[str, ...], taken: np.ndarray, words: tuple[str, str] | None = None
) -> tuple[tuple[str, str], ...]:
    """Return remarks on features that look like probabilities, if no column is named as such."""
    found = []
    for at, feature in enumerate(rows.features):
        deadline.check()
        if feature.kind != NUMERIC:
            continue
        if (action := _action_of(feature.name, rows.X[:, at], taken, len(actions))) is not None:
            of = "the action that a row received" if action < 0 else repr(actions[action])
            named = "it" if action < 0 else f"a column for each action, in the order {', '.join(actions)},"
            text = f"column {feature.name!r} looks like the probability of {of}, and is read as a feature"
            found.append((feature.name, f"{text}; {(words or _of_options())[0].format(named)}"))
    return tuple(found)


def _of_received(
    name: str, chance: np.ndarray, actions: tuple[str, ...], taken: np.ndarray, words: tuple[str, str] | None = None
) -> tuple[tuple[str, str], ...]:
    """Return a remark on one column of probabilities, float64 (rows,), that belong to one action in all rows, and not
    to the action that each row received."""
    action = _action_of(name, chance, taken, len(actions))
    if action is None or action < 0:
        return ()
    if _is_received(chance, taken, len(actions)):
        return ()
    text = (
        f"column {name!r} looks like the probability of {actions[action]!r} in all rows, and is read as the "
        f"probability of the action which each row received; give {(words or _of_options())[1]} a column for each "
        f"action, in the order {', '.join(actions)}"
    )
    return ((name, text),)


def _action_of(name: str, chance: np.ndarray, taken: np.ndarray, n_actions: int) -> int | None:
    """Return the action whose probability in all rows a column looks like; -1 for the action received;
    otherwise None."""
    if len(chance) < LEAST or not ((chance > 0) & (chance < 1)).all() or np.ptp(chance) == 0:
        return None
    # How far each meaning that the rows do not contradict is ahead of plain shares: on few rows several may be.
    found = {action: _gain(chance, taken == action) for action in range(n_actions)}
    if _is_received(chance, taken, n_actions):
        plain = np.bincount(taken, minlength=n_actions) / len(taken)
        found[-1] = np.log(chance).sum() - np.log(plain[taken]).sum()
    best = max(found, key=found.__getitem__)
    return best if found[best] > (NAMED_AHEAD if NAMES.search(name) else AHEAD) else None


def _is_received(chance: np.ndarray, taken: np.ndarray, n_actions: int) -> bool:
    """Return whether numbers may be the probabilities of the actions received: then the rows of each action, counted
    by 1 / p, add up to all rows."""
    for action in range(n_actions):
        mine = chance[taken == action]
        error = np.sqrt(((1 - mine) / mine**2).sum())
        if abs((1 / mine).sum() - len(chance)) > NEAR * error:
            return False
    return True


def _gain(chance: np.ndarray, received: np.ndarray) -> float:
    """Return the gain of log likelihood of numbers between 0 and 1 as probabilities of the events in `received` over
    one probability for all rows; minus infinity if they are not plausible."""
    share = received.mean()
    if share in (0, 1):
        return -np.inf
    likely = np.log(np.where(received, chance, 1 - chance)).sum()
    alike = len(chance) * (share * np.log(share) + (1 - share) * np.log(1 - share))
    ends = np.unique(np.quantile(chance, np.linspace(0, 1, GROUPS + 1)[1:-1], method="lower"))
    group = np.searchsorted(ends, chance)
    said, spread = np.bincount(group, chance), np.bincount(group, chance * (1 - chance))
    seen = np.bincount(group, received, len(said))
    return likely - alike if (np.abs(seen - said) <= NEAR * np.sqrt(spread)).all() else -np.inf
