"""How many threads a search may use."""

import pytest

from odtc.base import threads


@pytest.mark.parametrize(
    "said, cores, wanted", [("", 4, 4), ("1", 4, 1), ("8", 4, 4), ("2,1", 4, 2), ("many", 4, 4), ("0", 4, 4)]
)
def test_the_cores_count_and_what_the_environment_says(said, cores, wanted, monkeypatch):
    monkeypatch.setattr(threads.system, "cores", lambda: cores)
    monkeypatch.setenv(threads.SAID, said)
    assert threads.allowed() == wanted


def test_what_is_asked_for_holds_inside_and_no_longer(monkeypatch):
    monkeypatch.setenv(threads.SAID, "1")
    with threads.at_most(3):
        with threads.at_most(None):
            assert threads.allowed() == 3
        with threads.at_most(2):
            assert threads.allowed() == 2
    assert threads.allowed() == 1
    assert threads.pool(2) is threads.pool(2)
