"""`--model auto`: the formulation that proves the tree soonest on this data, and why.

Each formulation may state, for the sizes of a problem, whether it fits and about how much work its proof takes
(odtc.problem.formulation.Estimates). Of those that fit, the one with the least work is chosen. One that cannot
estimate its work, because only a search can find out, comes last.
"""

from odtc.base.wording import option
from odtc.data.encoding import Encoded
from odtc.problem.estimates import Estimate, Sizes
from odtc.problem.formulation import FORMULATIONS, Estimates
from odtc.problem.problem import Choice


def choose(
    n_candidate_splits: int,
    depth: int,
    constraints: tuple[str, ...] = (),
    encoded: Encoded | None = None,
    fitting: bool = False,
) -> Choice:
    """Return the formulation for a problem of these sizes (odtc.problem.estimates.Sizes), and why: its own statement,
    and the statement of the one that is next in order or does not fit."""
    sizes = Sizes(n_candidate_splits, depth, constraints, encoded, fitting)
    estimates: dict[str, Estimate] = {}
    for name in reversed(
        FORMULATIONS.able(Estimates)
    ):  # the search is asked first: a model that cannot win is not loaded
        estimates = {name: FORMULATIONS.get(name).estimate(sizes)} | estimates
        if estimates[name].fits and not estimates[name].sums:
            break
    best, *others = sorted(estimates, key=lambda name: (not estimates[name].fits, estimates[name].sums))
    why = f"{best} {estimates[best].words}"
    for other in others[:1]:
        said = estimates[other]
        why += f"; {option('model', other)} {said.words} instead" if said.fits else f"; {other} {said.words}"
    return Choice(best, why)
