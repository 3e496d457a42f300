"""Policies: a leaf predicts an action, and a row has the cost of that action.

With c_ia the cost of action a on row i, of weight w_i, a tree that sends row i to the action a(i) costs Σ_i w_i
c_i,a(i). Each row votes for the actions, with the saving of each compared with its highest cost:

    v_ia = w_i (max_b c_ib - c_ia) >= 0,        Σ_i w_i c_i,a(i) = Σ_i w_i max_b c_ib - Σ_i v_i,a(i)

so the best policy has the most votes. In the data set a row of the file becomes one row of class a and weight v_ia for
each action that it has a vote for; only the row of its best action is counted (`copies`). The weight of the errors of a
tree, Σ_i Σ_{a != a(i)} v_ia, differs from the cost of the policy by the same number for every tree. So every
formulation, search, bound and certificate for weighted rows is valid for policies. The row of the best action also
carries weight and costs as sums: n, Σ w, Σ w c_a, Σ w min_a c_a.

The costs are columns of the file (`--actions`), or estimated from the observed treatment and outcome
(odtc.data.tasks.policy.causal_scores).
"""

from dataclasses import replace
from fractions import Fraction
from itertools import count

import numpy as np

from odtc.base.text import did_you_mean, in_list, show_figure, some
from odtc.base.whole_numbers import MAX_DIGITS, narrowed, nearest_floats, product, whole_numbers
from odtc.base.wording import option
from odtc.data.cost_matrix import expect_addable
from odtc.data.dataset import Dataset
from odtc.data.reading_spec import GOALS, SCORES, no_column
from odtc.data.tasks.policy.causal_scores import estimated
from odtc.errors import ChoiceError, DataError

NAME = "policy"
SUMMARY = "a leaf predicts an action; the cost of a row is the cost of that action"
HEADLINE, HEADLINE_WORDS = "mean_cost", "cost"
FIELDS = ("actions", "treatment", "outcome", "propensity", "scores", "goal")
TARGET = "action"
FORBIDS = 10**6  # multiple of the cost of the best single action for all rows: a cost that forbids its action
PIECES = "votes"
MOST = "max"  # the goal for which costs are minus the values of actions
ESTIMATED = 6  # of votes that are estimates, relative to the largest of all


def target_columns(columns, how, place: str) -> tuple[str, ...]:
    """Return the columns of costs, or treatment, outcome and propensities."""
    observed = {"treatment": how.treatment, "outcome": how.outcome}
    for name, known in (("scores", SCORES), ("goal", (None, *GOALS))):
        if getattr(how, name) not in known:
            raise ChoiceError(
                f"{option(name)}: expected one of {', '.join(filter(None, known))}, got {getattr(how, name)!r}"
                f"{did_you_mean(str(getattr(how, name)), list(filter(None, known)))}"
            )
    if how.target is not None:
        raise ChoiceError(
            f"a policy has no {option('target')}: name the columns of costs with {option('actions')}, or "
            f"{option('treatment')} and {option('outcome')}"
        )
    if how.actions:
        if given := [name for name in ("treatment", "outcome", "propensity") if getattr(how, name)]:
            raise ChoiceError(
                f"expected either {option('actions')} or {option('treatment')} and {option('outcome')}, got "
                f"{option('actions')} and {option(given[0])}"
            )
        if len(how.actions) < 2 or len(set(how.actions)) < len(how.actions):
            in_one = len(how.actions) == 1 and "," in how.actions[0]
            hint = f" as one name; in Python they are a list, {how.actions[0].split(',')}" if in_one else ""
            raise ChoiceError(
                f"{option('actions')}: expected two different columns or more, got {', '.join(how.actions)}{hint}"
            )
        wanted = {"actions": how.actions}
    elif absent := [name for name, column in observed.items() if column is None]:
        raise ChoiceError(
            f"{option('task', 'policy')}: expected {option('actions')} A,B (columns of costs) or {option('treatment')} "
            f"and {option('outcome')}, got no {option(absent[0])}"
        )
    else:
        wanted = {name: (column,) for name, column in observed.items()} | {"propensity": how.propensity}
    for role, names in wanted.items():
        for name in names:
            if name not in columns:
                raise no_column(role, name, columns, place)
    found = tuple(name for names in wanted.values() for name in names)
    if len(set(found)) < len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise ChoiceError(f"expected different columns for {', '.join(map(option, wanted))}, got {twice!r} twice")
    return found


def labelled(rows: Dataset, cells, how, place: str) -> Dataset:
    """Return the votes of the rows."""
    if how.actions:
        actions = tuple(how.actions)
        costs = np.column_stack([cells[name].numbers().cells() for name in actions])
        costs = -costs if how.goal == "max" else costs
    else:
        actions, costs, told = estimated(rows, cells, how, place)
        rows = replace(rows, told=told)
    target = how.treatment or TARGET
    while any(target == feature.name for feature in rows.features):
        target += "_"
    return voting(replace(rows, target=target), actions, costs, place, None if how.actions else ESTIMATED)


def voting(
    rows: Dataset, actions: tuple[str, ...], costs: np.ndarray, place: str, digits: int | None = None
) -> Dataset:
    """Return the data set of the votes of rows for actions.

    Parameters
    ----------
    rows : Dataset
        Features and weights.
    actions : tuple of str
        Their names.
    costs : float64 (rows, actions)
        The cost of each action on each row.
    place : str
        Where the costs come from, for messages.
    digits : int or None
        Digits of the largest vote to which votes are rounded; None if they are not rounded.
    """
    votes = _finite_votes(costs, rows.weight, place)
    if not votes.any():
        raise DataError(
            f"expected costs that differ between the actions {', '.join(actions)} in some row of {place}, got the same "
            "for all: every policy would cost the same"
        )
    return cast(rows, actions, costs, place, digits)


def cast(rows: Dataset, actions: tuple[str, ...], costs: np.ndarray, place: str, digits: int | None = None) -> Dataset:
    """Return the same for costs that may not differ."""
    n, votes = rows.n_rows, _finite_votes(costs, rows.weight, place)
    exact = _exact_votes(costs, rows.weight) if digits is None else None
    if digits is not None:  # so that a certificate can count them
        votes = _decimal(votes, np.full(n, votes.max()), digits)
    best = votes.argmax(axis=1)
    voted = votes > 0
    voted[np.arange(n), best] = True  # a row without a vote stays as a row of weight 0
    of, action = np.nonzero(voted)
    copies = action == best[of]
    sums = sums_of(costs, rows.weight)
    return replace(
        rows,
        X=rows.X[of],
        auxiliary_X=rows.auxiliary_X[of],
        y=action.astype(np.int32),
        weight=votes[of, action],
        exact_weight=None if exact is None else (exact[0][of, action], exact[1]),
        classes=actions,
        sums=np.where(copies[:, None], sums[of], 0.0),
        copies=copies.astype(np.int64),
    )


def _finite_votes(costs: np.ndarray, weight: np.ndarray, place: str) -> np.ndarray:
    """Return `_votes`; raises DataError if they are too large."""
    try:
        votes = _votes(costs, weight)
    except OverflowError:
        raise DataError(f"expected costs whose differences are finite numbers in {place}; scale them down") from None
    expect_addable(votes.max(axis=1), "votes (differences of costs, times weights)", place)
    return votes


def sums_of(costs: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return float64 (rows, 3 + actions): 1, w, w c_a and w min_a c_a of each row."""
    by_weight = weight[:, None] * costs
    return np.column_stack([np.ones(len(costs)), weight, by_weight, weight * costs.min(axis=1)])


def _votes(costs: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return `_exact_votes` as float64 (rows, actions)."""
    return nearest_floats(*_exact_votes(costs, weight))


def _exact_votes(costs: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, Fraction]:
    """Return (whole numbers (rows, actions), unit): the saving of an action compared with the highest cost of the row.

    With costs that forbid an action, such as 10^9, sums of the others would be lost to rounding. A policy that pays
    more for one row than the best single action pays for all rows, each counted above the row's least cost, is not
    optimal. So such a cost counts as a number above that.
    """
    # Differences of the decimals that were written, because those of doubles lose digits next to large costs.
    whole, unit = whole_numbers(costs)
    scale, of_weight = whole_numbers(weight)
    above = product(whole - whole.min(axis=1, keepdims=True), scale[:, None])
    unit *= of_weight
    single = min(sum(column) for column in above.T.tolist()) or int(above[above > 0].min(initial=above.max()))
    if single * FORBIDS < int(above.max()):
        most = Fraction(10) ** next(power for power in count(-400) if Fraction(10) ** power >= 4 * single * unit) / unit
        above = narrowed(np.minimum(product(above, most.denominator), most.numerator))
        unit /= most.denominator
    return above.max(axis=1, keepdims=True) - above, unit


def _decimal(votes: np.ndarray, size: np.ndarray, digits: int) -> np.ndarray:
    """Return the votes of each row, rounded to as many decimal places as a number of its size has with this many
    digits."""
    places, found = _places(size, digits), votes.copy()
    for some_places in np.unique(places[np.abs(places) < 300]).tolist():
        rows = places == some_places
        found[rows] = np.round(votes[rows], some_places)
    return found


def _places(size: np.ndarray, digits: int) -> np.ndarray:
    """Return int64: the decimal places of numbers of these sizes, with this many digits."""
    return digits - 1 - np.floor(np.log10(np.where(size > 0, size, 1.0))).astype(int)


def leaf_words(sums, classes, curve=(), goal="") -> str:
    """Return the mean cost of each action on a row of the leaf, or its mean value."""
    each = _each(sums, classes, goal)
    return each and f"mean {'value' if goal == MOST else 'cost'} {each}"


def mean_costs(sums, classes) -> dict[str, float]:
    """Return the mean cost of each action; none of rows without weight."""
    return {name: cost / sums[1] + 0.0 for name, cost in zip(classes, sums[2:-1])} if len(sums) and sums[1] else {}


def _each(sums, classes, goal: str) -> str:
    sign = -1 if goal == MOST else 1
    means = mean_costs(sums, classes)
    return ", ".join(f"{in_list(name)} {show_figure(sign * cost + 0.0)}" for name, cost in means.items())


def figures(sums: np.ndarray, answers: np.ndarray, classes) -> dict:
    """Return the cost of the policy on these rows, its mean per row with the standard error of that mean, and for
    comparison the best action for all rows, and the best for each row."""
    known = sums[:, 0] > 0
    sums, label = sums[known], answers[known]
    if not len(sums) or not sums[:, 1].any():
        return {"n_rows": len(sums), "cost": None}
    weight, costs, least = sums[:, 1], sums[:, 2:-1], sums[:, -1]
    paid = costs[np.arange(len(sums)), label]
    total, mean = float(weight.sum()), float(paid.sum() / weight.sum())
    # The mean is a ratio of sums over rows: its error is that of the linearised ratio.
    error = float(np.sqrt(((paid - mean * weight) ** 2).sum() * len(sums) / max(1, len(sums) - 1)) / total)
    single = costs.sum(axis=0)
    return {
        "n_rows": len(sums),
        "cost": float(paid.sum()),
        "mean_cost": mean,
        "standard_error": error if len(sums) > 1 else None,
        "best_action": classes[int(single.argmin())],
        "best_action_cost": float(single.min()),
        "least_cost": float(least.sum()),
    }


def terms(source) -> dict:
    """Return `goal`, "max" if costs are minus the values of actions; and `scores`, how costs are estimated, if they
    are."""
    outcome = source.get("outcome")
    told = {"goal": source.get("goal") or ("max" if outcome else "min")}
    return told | ({"scores": source.get("scores") or SCORES[0]} if outcome else {})


def baseline_figures(sums: np.ndarray, trained: np.ndarray, classes) -> dict:
    """Return the best action for all training rows, and its cost on these rows, because nobody could choose the action
    on them."""
    best = int(trained[:, 2:-1].sum(axis=0).argmin())
    costs = sums[sums[:, 0] > 0, 2:-1].sum(axis=0)
    return {"best_action": classes[best], "best_action_cost": float(costs[best])}


def loss_again(sums: np.ndarray, answers: np.ndarray) -> float:
    """Return Σ over rows of Σ_{b != a(i)} w_i (max_c c_ic - c_ib)."""
    weight = sums[:, 1]
    held = weight > 0
    saved = _votes(_costs(sums[held]), weight[held])
    return float(saved.sum() - saved[np.arange(len(saved)), answers[held]].sum())


def _costs(sums: np.ndarray) -> np.ndarray:
    """Return float64 (rows, actions): the costs of rows with these sums, as they were written if they have at most
    MAX_DIGITS digits."""
    weight, costs = sums[:, 1], sums[:, 2:-1] / sums[:, 1:2]
    for row in np.flatnonzero(weight != 1).tolist():
        short = np.array([float(f"{cost:.{MAX_DIGITS}g}") for cost in costs[row].tolist()])
        costs[row] = np.where(weight[row] * short == sums[row, 2:-1], short, costs[row])
    return costs


def rounding(sums: np.ndarray, weight: np.ndarray) -> float:
    """Return the rounding error of costs that are derived from their products with weights; or, if all weights are
    multiples of the unit to which votes of estimates are rounded, half a unit for each vote if that is more."""
    sums = sums[sums[:, 1] > 0]
    most = float((sums[:, 1] * np.ptp(sums[:, 2:-1] / sums[:, 1:2], axis=1)).max(initial=0.0))
    if not most:
        return 0.0
    long = (sums[:, 1] != 1) & (_costs(sums) == sums[:, 2:-1] / sums[:, 1:2]).any(axis=1)
    own = 4 * float(np.abs(sums[long, 2:-1]).sum()) * float(np.finfo(float).eps)
    unit = float(10.0 ** (np.floor(np.log10(most)) - ESTIMATED + 1))
    if not unit:  # numbers below 1e-300
        return own
    whole = np.abs(weight / unit - np.rint(weight / unit)).max() < 1e-6
    return max(own, 0.5 * unit * len(sums) * (sums.shape[1] - 3) if whole else 0.0)


def headline(facts) -> tuple[str, float | None]:
    """Return the mean cost per row; or, for outcomes of which more is better, the mean value."""
    cost = facts.get("mean_cost")
    if facts.get("goal") == MOST:
        return "value", None if cost is None else -cost + 0.0
    return HEADLINE_WORDS, cost


def figure_lines(facts) -> list[str]:
    """Return one line; for outcomes of which more is better, it states values, which are minus the costs."""
    if facts["cost"] is None:
        return ["no row has a weight"]
    brings = facts.get("goal") == MOST
    word, mean, all_rows, single, best = (
        "value" if brings else "cost",
        *(-facts[key] if brings else facts[key] for key in ("mean_cost", "cost", "best_action_cost", "least_cost")),
    )
    error = "" if facts["standard_error"] is None else f" ± {show_figure(facts['standard_error'])}"
    return [
        f"{word} {all_rows:.10g}, {mean:.6g}{error} a row of {facts['n_rows']}; "
        f"{facts['best_action']} for all {single:.10g}, the best of each row {best:.10g}"
        + (" by its own score" if "scores" in facts else "")
    ]


def target_words(sums, classes, goal="") -> str:
    """Return the cost of each action on a row, or its value; "" for one without weight."""
    return _each(sums, classes, goal)


def scored_words(how) -> str:
    """Return where the costs of actions come from."""
    if how.actions:
        return f"costs of the file ({how.goal or 'min'})"
    chance = f"propensity {'of ' + some(how.propensity) if how.propensity else 'estimated'}"
    return f"{how.scores} scores of {how.outcome!r} ({how.goal or 'max'})" + (
        "" if how.scores == "direct" else f", {chance}"
    )
