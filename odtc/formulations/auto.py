"""`--model auto`: the formulation that proves the tree soonest on this data, and why.

Each formulation may say of a problem's sizes whether it fits and about how much work its proof takes
(odtc.problem.formulation.Estimates). Of those that fit, the one with the least work is taken; one that cannot say, as
only a search can tell, comes last.
"""

from odtc.base.wording import option
from odtc.data.encoding import Encoded
from odtc.problem.estimates import Sizes
from odtc.problem.formulation import FORMULATIONS, Estimates
from odtc.problem.problem import Choice


def choose(
    n_candidate_splits: int,
    depth: int,
    constraints: tuple[str, ...] = (),
    encoded: Encoded | None = None,
    fitting: bool = False,
) -> Choice:
    """The formulation for a problem of these sizes (odtc.problem.estimates.Sizes), and why: what it says of itself, and
    what the next says that would have been taken, or that does not fit."""
    sizes = Sizes(n_candidate_splits, depth, constraints, encoded, fitting)
    estimates = {name: FORMULATIONS.get(name).estimate(sizes) for name in FORMULATIONS.able(Estimates)}
    best, *others = sorted(estimates, key=lambda name: (not estimates[name].fits, estimates[name].sums))
    why = f"{best} {estimates[best].words}"
    for other in others[:1]:
        said = estimates[other]
        why += f"; {option('model', other)} {said.words} instead" if said.fits else f"; {other} {said.words}"
    return Choice(best, why)
