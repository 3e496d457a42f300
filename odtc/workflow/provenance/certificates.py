"""Certificates of searches, made and checked against the data before a tree is called proved.

The check is the same as `odtc verify --certificate` (odtc.verification.certificate), which uses nothing of the search.
It may work as long as the search, and LEAST at least, or TIMED within the time that is left of a limit: seconds of
work (odtc.base.deadline.work), so that a run has the same end on a busy machine. If it does not end by then, the proof
is only the search's own, and the run reports this. A certificate that is refused is not a proof.
"""

import time
from collections.abc import Callable
from dataclasses import field
from math import isfinite

from odtc.base import deadline
from odtc.base.value_class import value_class
from odtc.base.wording import command
from odtc.data.dataset import Dataset
from odtc.errors import CertificateError, ChoiceError, NotProvedError, TimeLimitReached
from odtc.model.solution import Termination, is_proved
from odtc.problem.exact_objective import settled_bound
from odtc.problem.problem import Problem
from odtc.verification.certificate import SUMS, check
from odtc.verification.claim import Proof
from odtc.workflow.results.fit import Fit

AT_LIMIT = 2.0  # seconds for it after a limit
# Seconds of work that the check has however soon the search had ended: nobody waits for it unasked, and who has set a
# limit waits, but hardly an hour for a proof of a second.
LEAST, TIMED = 6.0, 60.0
TOLD = 1.0  # seconds, after which the checked states show how long the others take
TRIED = 0.3  # of the time, which is spent before that, because the first states have the most rows


@value_class
class Certified:
    """Result of making and checking a certificate.

    Attributes
    ----------
    accepted : bool or None
        Whether the check accepts it as the proof of the tree; None if there can be no certificate, or if its check did
        not end in time.
    ended : Termination
        How the run has ended, given the check.
    why : str
        Why it was not accepted, or why there is none.
    bound : float or None
        The lower bound on all trees that the certificate proves, if that is less than the cost of the tree.
    facts : dict or None
        The certificate that was accepted, as `odtc verify --certificate` reads it.
    exact : bool
        Whether the certificate counts without rounding, so that it proves the tree without the search.
    """

    accepted: bool | None
    ended: Termination = Termination.OPTIMAL
    why: str = ""
    bound: float | None = None
    facts: dict | None = field(default=None, repr=False)
    exact: bool = True


def _by_hand() -> str:
    return f"{command('certify')} writes it and `odtc verify --certificate` checks it"


def _pace(facts: dict) -> Callable[[], None]:
    """Return a function that the checker calls between states. It ends the check at the deadline, and sooner if the
    times of the latter half of the checked states show that the others will take too long: the first ones have the
    most rows. The longest one does not count, because it loads kernels."""
    listed = facts.get("states", ())
    total = sum(text.count(";") + 1 for text in listed if isinstance(text, str))
    began, longest, place = time.process_time(), 0.0, 0
    ends = [began]

    def look() -> None:
        nonlocal longest, place
        deadline.check()
        ends.append(time.process_time())
        done, last = len(ends) - 1, ends[-1] - ends[-2]
        longest, place = max((longest, place), (last, done))
        left, took = deadline.seconds_left(), ends[-1] - began
        if left is None or took <= max(TOLD, TRIED * (took + left)):
            return
        first = done // 2
        counted = place > first
        latter = ends[-1] - ends[first] - counted * longest
        if latter * (total - done) > left * (done - first - counted):
            raise TimeLimitReached("the check would take longer than it may")

    return look


def _checked(facts: dict, dataset: Dataset) -> tuple[Proof, bool]:
    """Return (proof, whether its costs are sums over leaves)."""
    return check(facts, dataset, _pace(facts)), facts["kind"] in SUMS


def certify_bound(done: Fit) -> tuple[dict | None, str]:
    """Make and check, in a moment, the certificate of the bound of a search that was ended before its proof.

    Parameters
    ----------
    done : Fit

    Returns
    -------
    tuple of (dict or None, str)
        The certificate, and a statement of what it proves; or None and the reason.
    """
    if done.unproved is None:
        return None, done.uncertified or "the tree is not proved"
    try:
        with deadline.budget(deadline.IN_HAND if done.interrupted else AT_LIMIT):
            facts = done.unproved()
            proof, _ = _checked(facts, done.problem.encoded.dataset)
    except (ChoiceError, CertificateError) as reason:
        return None, str(reason)
    except (TimeLimitReached, KeyboardInterrupt):
        return None, f"it was not made and checked in a moment; {_by_hand()}"
    return facts, f"the certificate proves a bound: no tree costs less than {proof.bound:.10g}"


def certify_run(problem: Problem, make: Callable[[], dict] | None, paid: float, searched: float = 0.0) -> Certified:
    """Make a certificate and check it, until the deadline of this context.

    Parameters
    ----------
    problem : Problem
    make : callable or None, makes the certificate; None if the search has none
    paid : float, the objective of the tree that it has to prove; infinite if it has to prove that there is none
    searched : float, the seconds that the search worked; the check has as many

    Returns
    -------
    Certified
    """
    if make is None or problem.encoded.dataset is None:
        return Certified(None)
    shown = "the tree" if isfinite(paid) else "that there is none"
    left = deadline.seconds_left()
    own = max(LEAST if left is None else TIMED, searched)
    try:
        with deadline.work(own):
            deadline.check()
            facts = make()
            deadline.check()
            proof, sums = _checked(facts, problem.encoded.dataset)
    except ChoiceError as reason:
        return Certified(None, why=str(reason))
    except CertificateError as reason:
        return Certified(False, Termination.UNKNOWN, f"the certificate of the search was refused: {reason}")
    except (TimeLimitReached, NotProvedError):  # the latter from a search that the certificate of no tree needs
        ended = left is not None and left < own
        cut = "no time was left to check it" if ended else "a check would take longer than the search"
        return Certified(None, why=f"the search proved {shown}, but {cut}; {_by_hand()}")
    except KeyboardInterrupt:
        deadline.end_soon()
        return Certified(None, why=f"the search proved {shown}, but the check was interrupted; {_by_hand()}")
    # With sums that are not whole numbers of a unit, trees may differ by less than any proof can distinguish.
    near = sums and is_proved(proof.objective, settled_bound(problem, proof.bound, proof.objective))
    same = paid == proof.objective or abs(paid - proof.objective) <= getattr(proof, "off", 0.0)
    # A tree that costs less than the least that is proved contradicts the proof.
    same = same or (
        settled_bound(problem, proof.objective, paid) == paid
        and settled_bound(problem, paid, proof.objective) == proof.objective
    )
    same = same or (sums and proof.bound <= paid <= proof.objective)
    if not (proof.optimal or near) or not same:
        why = f"the certificate of the search bounds all trees by {proof.bound:.10g}, the tree costs {paid:.10g}"
        return Certified(False, Termination.UNKNOWN, why, proof.bound if sums and proof.bound <= paid else None)
    return Certified(True, facts=facts, exact=not sums or (getattr(proof, "exact", False) and proof.optimal))
