"""Estimated costs of actions on rows that received another one: scores from observed treatments and outcomes.

With T_i the action that row i received, Y_i its outcome, e_a(x) the probability that a row x receives action a and
m_a(x) the mean outcome of action a on such rows (Dudík, Langford & Li 2011; Athey & Wager 2021):

    direct          Γ_ia = m_a(x_i)
    ips             Γ_ia = 1[T_i = a] Y_i / e_a(x_i)
    doubly-robust   Γ_ia = m_a(x_i) + 1[T_i = a] (Y_i - m_a(x_i)) / e_a(x_i)

A cost is Γ_ia if less is better, otherwise -Γ_ia. m and e are estimated on the folds that do not contain row i
(cross-fitting): m by a random forest for each action, e by logistic regression, at least LEAST.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from odtc.base import phases
from odtc.base.wording import option
from odtc.data.dataset import CATEGORICAL, NUMERIC, Dataset
from odtc.data.reading_spec import ReadingSpec
from odtc.data.tasks.policy.chances import told_of_propensity
from odtc.errors import DataError

FOLDS = 5  # costs of a fold are estimated by models of the other folds
LEAST = 0.01  # of an estimated probability
TREES, LEAF = 200, 5  # of a forest, and rows of its leaves


def estimated(
    rows: Dataset, cells: Mapping[str, Any], how: ReadingSpec, place: str
) -> tuple[tuple[str, ...], np.ndarray, tuple[tuple[str, str], ...]]:
    """Return (names of the actions, the cost of each on each row, float64 (rows, actions), remarks on columns)."""
    given = cells[how.treatment]
    actions = given.levels
    if len(actions) < 2:
        raise DataError(
            f"expected two actions or more in the column {how.treatment!r} of {place}, got only {actions[0]!r}"
        )
    taken = given.level_codes(actions, CATEGORICAL).cells().astype(int)
    outcome = cells[how.outcome].numbers().cells()
    if how.scores != "ips" or not how.propensity:
        expect_enough(taken, rows.weight, actions, f"the column {how.treatment!r} of {place}")
    columns = [cells[name].numbers().cells() for name in how.propensity]
    known = _known(columns, how, actions, place)
    told = told_of_propensity(rows, known, "".join(how.propensity[:1]), actions, taken)
    scores = scores_of(design(rows), taken, outcome, rows.weight, how.scores, known)
    more_is_better = (how.goal or "max") == "max"
    return actions, -scores if more_is_better else scores, told


def expect_enough(taken: np.ndarray, weight: np.ndarray, actions: tuple[str, ...], place: str) -> None:
    """Raise DataError if an action has too few rows to estimate from."""
    least = np.bincount(taken, weight > 0, len(actions))
    if least.min() < 2 * FOLDS:
        few = int(least.argmin())
        raise DataError(
            f"expected {2 * FOLDS} rows or more of each action to estimate its effect, got {int(least[few])} of "
            f"{actions[few]!r} in {place}; take more rows, leave the action out, or use {option('scores', 'ips')} "
            f"with {option('propensity', ...)}, which need no estimate"
        )


def _known(columns: list[np.ndarray], how: ReadingSpec, actions: tuple[str, ...], place: str) -> np.ndarray | None:
    """Return the propensities that a file states: float64 (rows,) of the action received, or (rows, actions); None if
    there are none."""
    if not columns:
        return None
    if len(columns) not in (1, len(actions)):
        raise DataError(
            f"{option('propensity')}: expected one column, of the action that a row received, or {len(actions)}, one "
            f"for each of {', '.join(actions)}, got {len(columns)}"
        )
    for name, values in zip(how.propensity, columns):
        wrong = ~((values > 0) & (values <= 1))
        if wrong.any():
            row = int(wrong.argmax())
            raise DataError(
                f"expected probabilities above 0 and at most 1 in the column {name!r} of {place}, got "
                f"{values[row]:g} in row {row + 1}; a policy can be learnt only of what had a chance"
            )
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


def scores_of(
    Z: np.ndarray,
    taken: np.ndarray,
    outcome: np.ndarray,
    weight: np.ndarray,
    scores: str = "doubly-robust",
    propensity: np.ndarray | None = None,
) -> np.ndarray:
    """Return the scores Γ of the module's docstring.

    Parameters
    ----------
    Z : float64 (rows, columns)
        The inputs of the estimates (`design`).
    taken : int (rows,)
        The action that each row received, from 0.
    outcome, weight : float64 (rows,)
    scores : {"doubly-robust", "direct", "ips"}
    propensity : float64 (rows,) or (rows, actions), or None
        The probability of the action received, or of each; None if it is estimated.

    Returns
    -------
    float64 (rows, actions)
    """
    every, K = np.arange(len(taken)), int(taken.max()) + 1
    received = taken[:, None] == np.arange(K)
    mean = np.zeros((len(taken), K)) if scores == "ips" else _cross_fitted(Z, taken, outcome, weight, K)
    if scores == "direct":
        return mean
    if propensity is None:
        chance = _cross_fitted_chances(Z, taken, weight, K)[every, taken]
    else:
        chance = propensity if propensity.ndim == 1 else propensity[every, taken]
    return mean + received * ((outcome - mean[every, taken]) / chance)[:, None]


def design(rows: Dataset) -> np.ndarray:
    """Return float64 (rows, columns): numbers in units of their spread, with 0 and an additional column for missing
    ones; a column for each level of a category."""
    parts = []
    for feature, column in zip(rows.features, rows.X.T):
        if feature.kind != NUMERIC:
            parts += [column == code for code in range(len(feature.levels))]
            continue
        absent = np.isnan(column)
        known = column[~absent]
        spread = known.std() if len(known) else 0.0
        parts.append(np.where(absent, 0.0, (column - (known.mean() if len(known) else 0.0)) / (spread or 1.0)))
        parts += [absent] if absent.any() else []
    return np.column_stack(parts).astype(float)


def _folds(taken: np.ndarray):
    from sklearn.model_selection import StratifiedKFold

    return StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(np.zeros(len(taken)), taken)


def _cross_fitted(Z, taken, outcome, weight, K: int) -> np.ndarray:
    """Return float64 (rows, actions): the mean outcome of each action, by forests of the other folds."""
    from sklearn.ensemble import RandomForestRegressor

    mean = np.zeros((len(Z), K))
    what = "estimating the outcomes of each action"
    phases.begin(f"{what}: {FOLDS * K} forests of {TREES} trees", stays=True)
    for learn, held in phases.over([*_folds(taken)], what):
        for action in range(K):
            mine = learn[(taken[learn] == action) & (weight[learn] > 0)]
            forest = RandomForestRegressor(TREES, min_samples_leaf=LEAF, random_state=0, n_jobs=1)
            mean[held, action] = forest.fit(Z[mine], outcome[mine], weight[mine]).predict(Z[held])
    return mean


def _cross_fitted_chances(Z, taken, weight, K: int) -> np.ndarray:
    """Return float64 (rows, actions): the probability of each action, by logistic regression of the other folds."""
    from sklearn.linear_model import LogisticRegression

    chance = np.zeros((len(Z), K))
    for learn, held in phases.over([*_folds(taken)], "estimating the chances of each action"):
        mine = learn[weight[learn] > 0]
        model = LogisticRegression(max_iter=1000).fit(Z[mine], taken[mine], weight[mine])
        chance[np.ix_(held, model.classes_)] = model.predict_proba(Z[held])
    return chance.clip(LEAST)
