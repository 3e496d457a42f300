"""Root tests of one proof in processes apart: the same optimum, and a certificate that the ordinary checker accepts."""

import os
import pickle
import random
import signal
from concurrent.futures import Future

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from odtc.algorithms.thresholds import apart, workers
from odtc.algorithms.thresholds.ranks import rank_rows
from odtc.data.dataset import Dataset, Feature
from odtc.errors import OdtcError
from odtc.formulations.dpflow.interval_states import Named
from odtc.formulations.dpflow.threshold_search import ThresholdSearch
from odtc.formulations.dpflow.write_certificate import certify_search
from odtc.verification.certificate import check
from tests import pipeline
from tests.threshold_problems import draw
from tests.unit.algorithms.teams import make_ready, results, sum_of


class InHere(workers.Team):
    """A team whose processes are this one: parts and what they find travel as bytes, as they do to others."""

    handed = 0

    def begin(self, work, ready, what):
        if self._work is not work:
            self._work, self._ready = work, ready(_sent(what))

    def submit(self, part, task):
        self.handed += 1
        done = Future()
        done.set_result(_sent(part(self._ready, _sent(task))))
        return done


def _sent(what):
    return pickle.loads(pickle.dumps(what))


@pytest.fixture
def team(monkeypatch):
    made = InHere(2)
    monkeypatch.setattr(workers, "present", lambda: made)
    made.cells = 0
    monkeypatch.setattr(apart, "ALONE", 0)
    return made


def test_what_processes_find_is_proved_and_certified_as_what_one_finds(team, monkeypatch):
    handed = 0

    @example(seed=78, few=0)  # tests of two answers alone
    @given(seed=st.integers(0, 10_000), few=st.sampled_from([0, 100]))
    @settings(max_examples=6, deadline=None)
    def holds(seed, few):
        nonlocal handed
        monkeypatch.setattr(apart, "MIN_CUTS", few)  # the cuts of the root, or of its sides
        problem = draw(seed, depths=(3, 4), wide=True)
        search = ThresholdSearch(problem)
        found = search.run()
        handed += team.handed
        with monkeypatch.context() as alone:
            alone.setattr(workers, "present", lambda: None)
            other = ThresholdSearch(problem).run()
        assert problem.module.objective(problem, found.heap) == problem.module.objective(problem, other.heap)
        assert found.bound == other.bound
        proof = check(certify_search(search, found.heap), problem.encoded.dataset)
        assert proof.optimal

    holds()
    assert handed  # parts were in fact handed out


class Lost(InHere):
    """A team whose processes are killed at drawn moments: what they worked on is not told."""

    def __init__(self, seed, share):
        super().__init__(2, lambda sentence: self.said.append(sentence))
        self.cells, self.said = 0, []
        self.random, self.share = random.Random(seed), share

    def done(self, waiting, check):
        if self.random.random() < self.share:
            raise workers.TeamLost("killed")
        self._losses = 0
        return list(waiting)[: self.random.randint(1, len(waiting))]

    def end(self):
        self._work = None


@pytest.mark.parametrize("few", [0, 100])
def test_parts_of_processes_that_were_killed_are_handed_out_again(few, monkeypatch):
    lost = 0
    for name, value in {"MIN_CUTS": few, "ALONE": 0}.items():
        monkeypatch.setattr(apart, name, value)

    @given(seed=st.integers(0, 10_000), share=st.sampled_from([0.2, 0.5, 1.0]))
    @example(seed=6, share=1.0)  # draws alone may hand out nothing, or lose nothing
    @settings(max_examples=6, deadline=None)
    def holds(seed, share):
        nonlocal lost
        team = Lost(seed, share)
        monkeypatch.setattr(workers, "present", lambda: team)
        problem = draw(seed, depths=(3, 4), wide=True)
        search = ThresholdSearch(problem)
        found = search.run()
        lost += len(team.said)
        monkeypatch.setattr(workers, "present", lambda: None)
        other = ThresholdSearch(problem).run()
        assert problem.module.objective(problem, found.heap) == problem.module.objective(problem, other.heap)
        assert check(certify_search(search, found.heap), problem.encoded.dataset).optimal
        assert team.given_up == (workers.GIVEN_UP in " ".join(team.said))
        if share == 1 and team.said:
            assert len(team.said) == 4 and team.said[0] == "killed: its parts are handed out again"

    holds()
    assert lost


def test_intervals_that_processes_made_are_counted_too(team, monkeypatch):
    """What may be looked at for the fewest columns goes by them: with workers it was next to nothing, and the tree
    another one."""
    random_numbers = np.random.default_rng(3)
    X = random_numbers.normal(size=(120, 3)).round(1)
    y = (X[:, 0] * X[:, 1] > 0.2) ^ (random_numbers.random(120) < 0.2)
    columns = tuple(Feature(f"x{j}", "numeric") for j in range(3))
    data = Dataset("some", X, y.astype(np.int32), columns, ("n", "y"), np.ones(120))
    problem = pipeline.pose(data, "dpflow", 4)
    made = []
    for one in (team, None):
        monkeypatch.setattr(workers, "present", lambda one=one: one)
        search = ThresholdSearch(problem)
        search.run()
        made.append(search.search.serial)
    assert team.handed > 20 and made[0] > made[1] / 2


def test_a_state_that_is_named_with_two_bounds_has_the_greater_one():
    named = Named(rank_rows(np.zeros((1, 1), np.uint32), np.eye(2)[:1]), 2)
    assert named.of(b"k", 3, False) == named.of(b"k", 5, False) == named.of(b"k", 4, False) == 1
    assert named.lower == [5] and named.of(b"k", 0, False) == 0


def _end_of_process(ready, task):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_a_process_that_is_killed_is_said_in_a_sentence():
    with workers.team(2):
        team = workers.present()
        team.begin(team, make_ready, 1)
        assert results(team, sum_of, [1, 2, 3]) == {1: 2, 2: 3, 3: 4}
        with pytest.raises(OdtcError, match="a process of `workers` was killed"):
            results(team, _end_of_process, [1, 2])
    assert workers.present() is None
