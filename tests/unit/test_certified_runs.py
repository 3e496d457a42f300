"""Certificates of searches: which proofs are accepted for the tree of a run, and within which time."""

import time
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

from odtc.base import deadline
from odtc.errors import CertificateError, ChoiceError, TimeLimitReached
from odtc.model.solution import Termination
from odtc.verification import certificate
from odtc.workflow.provenance import certificates
from odtc.workflow.provenance.certificates import Certified, certify_run

PROBLEM = SimpleNamespace(encoded=SimpleNamespace(dataset="the rows", task="classification"))


@pytest.fixture(autouse=True)
def errors_of_rows(monkeypatch):
    """Objectives count rows."""

    def settled(problem, bound, paid):
        return paid if paid - 1e-9 * max(1.0, abs(paid)) <= bound < np.inf else bound

    monkeypatch.setattr(certificates, "settled_bound", settled)


def proof(objective=5.0, bound=None, **more):
    bound = objective if bound is None else bound
    return SimpleNamespace(objective=objective, bound=bound, optimal=bound == objective, **more)


def ran(monkeypatch, found, paid=5.0, sums=False) -> Certified:
    """What becomes of a certificate whose check finds this, or raises it."""

    def checked(facts, dataset):
        assert (facts, dataset) == ({"made": True}, "the rows")
        if isinstance(found, BaseException):
            raise found
        return found, sums

    monkeypatch.setattr(certificates, "_checked", checked)
    return certify_run(PROBLEM, lambda: {"made": True}, paid)


def test_without_a_certificate_or_its_rows_nothing_is_checked():
    def never():
        raise AssertionError("it was made")

    assert certify_run(PROBLEM, None, 5.0) == Certified(None)
    assert certify_run(SimpleNamespace(encoded=SimpleNamespace(dataset=None)), never, 5.0) == Certified(None)


def test_a_limit_that_has_come_makes_none():
    """A proof that came with the limit had its certificate made for seconds before anything looked at the clock."""

    def never():
        raise AssertionError("it was made")

    with deadline.within(-1.0):
        found = certify_run(PROBLEM, never, 5.0)
    assert found.accepted is None and "no time was left to check" in found.why


@pytest.mark.parametrize(
    ("raised", "accepted", "ended", "words"),
    [
        (ChoiceError("no such certificate"), None, Termination.OPTIMAL, "no such certificate"),
        (CertificateError("it lies"), False, Termination.UNKNOWN, "the certificate of the search was refused: it lies"),
        (
            TimeLimitReached("late"),
            None,
            Termination.OPTIMAL,
            "but a check would take longer than the search",
        ),
        (KeyboardInterrupt(), None, Termination.OPTIMAL, "but the check was interrupted"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_a_check_that_does_not_end_in_a_proof(raised, accepted, ended, words, monkeypatch):
    soon = []
    monkeypatch.setattr(deadline, "end_soon", lambda: soon.append(True))
    found = ran(monkeypatch, raised)
    assert (found.accepted, found.ended, found.bound) == (accepted, ended, None) and words in found.why
    assert bool(soon) == isinstance(raised, KeyboardInterrupt)
    if isinstance(raised, TimeLimitReached):  # of a limit, if there is one
        with deadline.within(60.0):
            assert "no time was left to check it" in ran(monkeypatch, raised).why
        with deadline.within(6000.0):  # hours are left: it was not the limit that ended the check
            assert words in ran(monkeypatch, raised).why


@pytest.mark.parametrize(
    ("found", "paid", "sums", "accepted", "bound"),
    [
        (proof(), 5.0, False, True, None),
        (proof(), 5.0, True, True, None),
        (proof(), 5.0 + 1e-12, False, True, None),
        (proof(), 5.0 - 1e-12, False, True, None),
        (proof(float("inf")), float("inf"), False, True, None),
        # It proves another cost than that of the tree: less, or more, which contradicts it.
        (proof(), 5.1, False, False, None),
        (proof(), 5.1, True, False, 5.0),
        (proof(), 4.9, False, False, None),
        (proof(), 4.9, True, False, None),
        # It bounds its own tree only.
        (proof(bound=4.0), 5.0, False, False, None),
        (proof(bound=4.0), 5.0, True, False, 4.0),
        # Sums that are no whole numbers of a unit are rounded outwards.
        (proof(bound=5.0 - 1e-12), 5.0, True, True, None),
        (proof(bound=5.0 - 1e-12), 5.0, False, False, None),
        (proof(off=1e-2), 5.005, True, True, None),
        (proof(off=1e-2), 4.995, True, True, None),
        (proof(off=1e-4), 5.005, True, False, 5.0),
        (proof(off=0.5), 5.5, True, True, None),
        (proof(), 5.000002, False, False, None),  # rounding of solvers is none of searches
        (proof(5.1, 5.0), 5.0, True, False, 5.0),
        (proof(off=1e-4), 4.995, True, False, None),
    ],
)
def test_which_proofs_are_that_of_the_tree(found, paid, sums, accepted, bound, monkeypatch):
    said = ran(monkeypatch, found, paid, sums)
    assert (said.accepted, said.bound) == (accepted, bound)
    assert said.ended == (Termination.OPTIMAL if accepted else Termination.UNKNOWN)
    assert said.why == "" if accepted else f"bounds all trees by {found.bound:.10g}, the tree costs" in said.why


def test_sums_over_leaves_are_told_from_other_costs(monkeypatch):
    monkeypatch.setattr(certificates, "check", lambda facts, dataset, pause: ("check", callable(pause)))
    for kind in certificate.KINDS:
        sums = kind in ("regression", "survival", "linear")
        assert certificates._checked({"kind": kind}, "rows") == (("check", True), sums)


def test_the_check_has_as_long_as_the_search_and_some_seconds_at_least(monkeypatch):
    given = []
    monkeypatch.setattr(certificates, "_checked", lambda *_: given.append(deadline.seconds_left()) or (proof(), False))
    for searched, least, most in ((0.0, certificates.LEAST - 0.5, certificates.LEAST), (100.0, 99.0, 100.0)):
        assert certify_run(PROBLEM, dict, 5.0, searched).accepted
        assert least < given.pop() <= most


def test_the_check_has_a_minute_of_what_is_left_of_a_limit(monkeypatch):
    """A search of 1 s left it 6 of 60 s; names and dates of rows take longer to check than to search."""
    given = []
    monkeypatch.setattr(certificates, "_checked", lambda *_: given.append(deadline.seconds_left()) or (proof(), False))
    with deadline.within(60.0):
        assert certify_run(PROBLEM, dict, 5.0, 1.0).accepted
    assert 50.0 < given.pop() <= 60.0
    with deadline.within(7200.0):
        assert certify_run(PROBLEM, dict, 5.0, 1.0).accepted and certify_run(PROBLEM, dict, 5.0, 600.0).accepted
    assert 50.0 < given[0] <= 60.0 and 590.0 < given[1] <= 600.0


def test_on_a_busy_machine_the_check_has_the_same_work(monkeypatch):
    """Others take the machine for an hour between any two looks; the check itself works for a moment."""
    hours, real = count(), time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: real() + 3600.0 * next(hours))
    monkeypatch.setattr(certificates, "_checked", lambda *_: deadline.check() or (proof(), False))
    assert certify_run(PROBLEM, dict, 5.0).accepted
    with deadline.within(1800.0):  # a limit is of the clock
        assert "no time was left" in certify_run(PROBLEM, dict, 5.0).why


@pytest.mark.parametrize(("clock", "worked", "over"), [(9.0, 1.0, False), (9.0, 3.0, True), (1.0, 9.0, False)])
def test_work_is_time_of_this_process_and_no_more_than_passes(clock, worked, over, monkeypatch):
    at = {"monotonic": 100.0, "process_time": 7.0}
    for name in at:
        monkeypatch.setattr(time, name, lambda name=name: at[name])
    with deadline.work(2.0):
        at["monotonic"] += clock
        at["process_time"] += worked
        assert deadline.is_over() == over
        assert deadline.seconds_left() == 2.0 - min(clock, worked)
        with deadline.put_off():
            assert not deadline.is_over() and deadline.seconds_left() is None
        deadline.pause(8.0)
        assert not deadline.is_over()
    assert deadline.seconds_left() is None
    with deadline.work(None):
        assert deadline.seconds_left() is None


def paced(monkeypatch, n_states: int, left: float | None, took) -> int:
    """After how many states the pace ends a check of so many, of which each takes so long, or number k took(k); 0 if it
    lets it end."""
    clock = [5.0]
    monkeypatch.setattr(certificates, "time", SimpleNamespace(process_time=lambda: clock[0]))
    monkeypatch.setattr(deadline, "seconds_left", lambda: None if left is None else left + 5.0 - clock[0])
    texts = [";".join("0" for _ in range(n_states - 1)), "0", 7]
    look = certificates._pace({"states": texts} if n_states > 1 else {})
    for state in range(n_states):
        clock[0] += took(state) if callable(took) else took
        try:
            look()
        except TimeLimitReached:
            return state + 1
    return 0


@pytest.mark.parametrize(
    ("n_states", "left", "took", "ended"),
    [
        (10, None, 50.0, 0),
        (10, 100.0, 9.0, 0),  # 90 s in all
        (10, 100.0, 10.0, 0),  # to the second
        (10, 100.0, 11.0, 3),  # 110 s, of which the first one may be that of a kernel
        (1000, 10.0, 0.1, 31),  # 100 s: known as soon as some of the time has passed
        (1000, 2.0, 0.1, 11),
        (1000, 10.0, 0.009, 0),
        (138, 6.0, lambda state: (1.3, 0.15, 0.15, 0.02)[min(state, 3)], 0),  # 4.3 s, by the first three states 22 s
        (138, 6.0, lambda state: (0.02, 0.15, 1.3)[min(state // 40, 2)], 47),  # 87 s: known in the second part
    ],
)
def test_a_check_that_will_take_too_long_ends_early(n_states, left, took, ended, monkeypatch):
    """Who looks at the deadline only then has the whole time of the search in vain."""
    assert paced(monkeypatch, n_states, left, took) == pytest.approx(ended, abs=1 if ended > 1 else 0)


def test_each_look_is_one_at_the_deadline(monkeypatch):
    looked = []
    monkeypatch.setattr(deadline, "check", lambda: looked.append(1))
    look = certificates._pace({})
    look()
    look()
    assert len(looked) == 2


@pytest.mark.parametrize(
    ("unproved", "interrupted", "words", "made"),
    [
        (None, False, "the tree is not proved", False),
        ({"made": True}, False, "the certificate proves a bound: no tree costs less than 4", True),
        ({"made": True}, True, "the certificate proves a bound: no tree costs less than 4", True),
        (ChoiceError("too many tests"), False, "too many tests", False),
        (CertificateError("it does not hold"), False, "it does not hold", False),
        (TimeLimitReached("late"), False, "it was not made and checked in a moment", False),
        (KeyboardInterrupt(), True, "it was not made and checked in a moment", False),
    ],
    ids=str,
)
def test_the_certificate_of_a_bound_is_made_in_a_moment_or_told_why_not(
    monkeypatch, unproved, interrupted, words, made
):
    left = []

    def make():
        left.append(deadline.seconds_left())
        if isinstance(unproved, BaseException):
            raise unproved
        return unproved

    monkeypatch.setattr(certificates, "AT_LIMIT", 50.0)
    monkeypatch.setattr(certificates, "_checked", lambda facts, dataset: (proof(5.0, 4.0), False))
    done = SimpleNamespace(unproved=unproved and make, uncertified=None, interrupted=interrupted, problem=PROBLEM)
    facts, told = certificates.certify_bound(done)
    assert told.startswith(words) and facts == (unproved if made else None)
    if left:
        assert left[0] == pytest.approx(deadline.IN_HAND if interrupted else 50.0, abs=5.0 if not interrupted else 0.5)
    if unproved is None:
        done.uncertified = "for a reason"
        assert certificates.certify_bound(done) == (None, "for a reason")
