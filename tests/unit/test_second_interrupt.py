"""Waiting for a child process: the effect of the first and second Ctrl-C, and the end of each limit."""

import queue
from types import SimpleNamespace

import pytest

from odtc.solvers import child_process


class Scripted:
    """A child whose events are a script: Ctrl-C, what it says, or nothing."""

    def __init__(self, *script):
        self.script, self.events = list(script), self
        self.process = SimpleNamespace(returncode=0, poll=lambda: None)  # whoever asks whether it has ended hears: no

    def get(self, timeout):
        event = self.script.pop(0) if self.script else pytest.fail("it was waited for what never comes")
        if event == "ctrl-c":
            raise KeyboardInterrupt
        if event == "nothing":
            raise queue.Empty
        return event


def attended(*script, takes=lambda event: False, limit=None, **words):
    told = []
    ended = child_process.attend(Scripted(*script), takes, lambda: told.append("told"), limit, True, **words)
    return ended, len(told)


def test_a_second_interrupt_waits_no_longer():
    assert attended("ctrl-c", "ctrl-c") == ("interrupted", 1)
    assert attended("nothing", "ctrl-c", "nothing", "ctrl-c") == ("interrupted", 1)


def test_after_the_first_interrupt_the_child_may_end_by_itself():
    assert attended("ctrl-c", "nothing", None) == ("interrupted", 1)
    assert attended("ctrl-c", "answer", takes=lambda event: event == "answer") == ("interrupted", 1)


def test_without_an_interrupt_nothing_is_told():
    assert attended("nothing", None) == (None, 0)
    assert attended("answer", takes=lambda event: True) == (None, 0)


def test_at_the_limit_it_is_told_once_and_then_left(monkeypatch):
    monkeypatch.setattr(child_process, "NUDGE", 0.0)
    assert attended(*["nothing"] * 3, None, limit=0.0, grace=1e6) == ("time_limit", 1)
    assert attended(limit=0.0, grace=0.0) == ("time_limit", 1)  # it never ends: no event is waited for
    assert attended("ctrl-c", limit=0.0, grace=1e6) == ("interrupted", 1)  # one Ctrl-C after the limit ends the wait


class Deaf:
    """A child that says nothing and never ends; waiting for it moves the clock."""

    def __init__(self, clock, keys=()):
        self.clock, self.keys, self.events, self.process = clock, list(keys), self, None

    def get(self, timeout):
        self.clock.now += timeout
        if self.keys and self.clock.now >= self.keys[0]:
            self.keys.pop(0)
            raise KeyboardInterrupt
        raise queue.Empty


@pytest.mark.parametrize("limit", [0.0, 2.0, 20.0, 3600.0])
@pytest.mark.parametrize("keys", [(), (1.0,), (19.9,)])
def test_two_seconds_after_its_limit_a_deaf_solver_is_left(limit, keys, monkeypatch):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(child_process, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(child_process.system, "has_ended", lambda process: False)
    told = []
    ended = child_process.attend(Deaf(clock, keys), lambda event: False, lambda: told.append(clock.now), limit, True)
    assert clock.now <= limit + 2 + child_process.POLL and len(told) == 1
    assert ended == ("interrupted" if keys and keys[0] <= limit + child_process.NUDGE else "time_limit")
