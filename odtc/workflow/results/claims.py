"""The claim about a tree, in three words that screen, JSON, Python and reports share: proved optimal, certified, best
found.

"Proved optimal" needs a bound that is settled at the objective in exact numbers (odtc.problem.exact_objective),
"certified" also a certificate that was written and checked. Everything else is "best found".
"""

from odtc.base.value_class import frozen_class
from odtc.model.solution import Termination, bound_text, figure_text

PROVED, CERTIFIED, BEST, REFUSED = "proved optimal", "certified", "best found", "NOT VERIFIED"
REASONS = {
    Termination.TIME_LIMIT: "the time limit came before a proof",
    Termination.INTERRUPTED: "it was interrupted before a proof",
    Termination.UNKNOWN: "no proof was found",
    Termination.ERROR: "the solver failed before a proof",
}
CLOSEST = "chosen because it is closer to the old tree"


@frozen_class
class Claim:
    """Claim about a tree.

    Attributes
    ----------
    objective, bound : float or None
    verified : bool
        Whether every check passed.
    proved : bool
        Whether the bound proves the objective.
    certified : bool
        Whether a certificate of that was written and checked.
    reason : str
        Why the tree is not proved, or not certified.
    found_by, proved_by : str
        The solver or search that found the tree, and the one that proved it; "" for the same.
    scope : str
        The trees or the model of the claim, if these are not all trees of the problem.
    """

    objective: float | None
    bound: float | None
    verified: bool
    proved: bool
    certified: bool = False
    reason: str = ""
    found_by: str = ""
    proved_by: str = ""
    scope: str = ""

    @property
    def word(self) -> str:
        """The claim without its numbers."""
        if not self.verified:
            return REFUSED
        of = f" for {self.scope}" if self.scope else ""
        return f"{PROVED}{f', {CERTIFIED}' * self.certified}{of}" if self.proved else f"{BEST}{of}"

    @property
    def uncertified(self) -> str:
        """Why a tree that is proved is not certified; "" for any other tree."""
        return self.reason if self.proved and self.verified else ""

    @property
    def by(self) -> str:
        """Who found the tree, and who proved it if that was another."""
        if not self.proved or self.proved_by in ("", self.found_by):
            return self.found_by
        return f"tree by {self.found_by}, proof by {self.proved_by}"

    @property
    def numbers(self) -> str:
        """Objective, bound and gap."""
        return f"objective {figure_text(self.objective)}{bound_text(self.objective, self.bound)}"

    def to_json(self) -> dict:
        """Return the claim under the keys of `odtc fit --json`."""
        more = {"claim_reason": self.reason} if self.reason else {}
        return {"claim": self.word} | more | ({"proved_by": self.proved_by} if self.proved and self.proved_by else {})


def reason_of(termination: str, bound: float | None, solver: str) -> str:
    """Return why a tree with this bound is not proved."""
    if termination == Termination.OPTIMAL:
        return f"{solver} calls it optimal, but {'states no bound' if bound is None else 'its bound leaves a gap'}"
    return REASONS.get(Termination(termination), f"{solver} ended as {termination.replace('_', ' ')}")
