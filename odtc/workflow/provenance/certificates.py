"""The certificate of what a search has found, made and held against the data before a tree is called proved.

The check is that of `odtc verify --certificate` (odtc.verification.certificate), which uses nothing of the search.
"""

from collections.abc import Callable
from dataclasses import dataclass

from odtc.base import deadline
from odtc.errors import CertificateError, ChoiceError, TimeLimitReached
from odtc.model.solution import Termination
from odtc.problem.problem import Problem
from odtc.verification.certificate import check
from odtc.verification.constrained_certificate import SCHEMA as CONSTRAINED
from odtc.verification.constrained_certificate import check_constrained


@dataclass(frozen=True)
class Certified:
    """What became of a certificate.

    Attributes
    ----------
    accepted : bool or None
        Whether the check accepts it as the proof of the tree; None if there can be no certificate.
    ended : Termination
        How the run has ended by that.
    why : str
        Why it was not accepted, or why there is none.
    """

    accepted: bool | None
    ended: Termination = Termination.OPTIMAL
    why: str = ""


def certify_run(problem: Problem, make: Callable[[], dict] | None, paid: float) -> Certified:
    """Makes a certificate and checks it, until the deadline of this context.

    Parameters
    ----------
    problem : Problem
    make : callable or None, makes the certificate; None if the search has none
    paid : float, the objective of the tree that it has to prove

    Returns
    -------
    Certified
    """
    if make is None or problem.encoded.dataset is None:
        return Certified(None)
    try:
        facts = make()
        if facts["schema"] == CONSTRAINED:
            proof = check_constrained(facts, problem.encoded.dataset)
        else:
            proof = check(facts, problem.encoded.dataset, deadline.check)
    except ChoiceError as reason:
        return Certified(None, why=str(reason))
    except CertificateError as reason:
        return Certified(False, Termination.UNKNOWN, f"the certificate of the search was refused: {reason}")
    except TimeLimitReached:
        return Certified(False, Termination.TIME_LIMIT, "the time limit came before the certificate was checked")
    except KeyboardInterrupt:
        return Certified(False, Termination.INTERRUPTED, "an interruption came before the certificate was checked")
    if not proof.optimal or abs(proof.objective - paid) > 1e-9 * max(1.0, abs(paid)):
        why = f"the certificate of the search bounds all trees by {proof.bound:.10g}, the tree costs {paid:.10g}"
        return Certified(False, Termination.UNKNOWN, why)
    return Certified(True)
