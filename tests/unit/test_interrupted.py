"""Ctrl-C and SIGTERM at any time: the best tree so far is the result, and no long step begins."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from odtc.algorithms.thresholds import ranks
from odtc.algorithms.thresholds.rank_search import NONE, RankSearch
from odtc.base import deadline
from odtc.data.reading import read, read_arrays
from odtc.errors import TimeLimitReached
from odtc.evaluation import cross_validation
from odtc.evaluation.studies import engine
from odtc.formulations import oblique_search
from odtc.formulations.dpflow import constrained, threshold_search
from odtc.formulations.dpflow.threshold_search import ThresholdSearch
from odtc.heuristics import oblique
from odtc.heuristics.heuristic import grow
from odtc.model.solution import Termination
from odtc.problem.constraints.constraint import parse
from odtc.verification import certificate
from odtc.workflow import near_optimal_set
from odtc.workflow.constrained import frontier
from odtc.workflow.posing import pose
from odtc.workflow.provenance import certificates
from tests import pipeline
from tests.command_line import odtc as command

# The functions that look at the clock before the search, by stage.
STAGES = {
    "columns": {"_distinct_columns"},
    "rows": {"_codes"},
    "orders": {"order"},
    "bins": {"__init__"},
}


def interrupted(*given, **keywords):
    raise KeyboardInterrupt


def lasts(facts, dataset, pause=deadline.check):
    """A check that would look at its deadline for ever."""
    for _ in range(400):
        pause()
        deadline.time.sleep(0.005)
    raise AssertionError("it was given more than 2 s")


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(3)
    rows = [f"{a:.2f},{b:.2f},{'pq'[int(a * b > 0.2)]}" for a, b in rng.random((60, 2))]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,y", *rows]) + "\n")
    return tmp_path


def interrupt(moment, monkeypatch):
    """Ctrl-C in the search, or after the proof: as trees of fewer leaves are sought, or the certificate is checked."""
    if moment == "search":
        monkeypatch.setattr(ThresholdSearch, "_phases", interrupted)
    elif moment == "fewest leaves":
        solve = RankSearch.solve

        def after_the_cost(self, height, need=NONE, cost_first=False):
            if height == 3 and not cost_first:
                interrupted()
            return solve(self, height, need, cost_first)

        monkeypatch.setattr(RankSearch, "solve", after_the_cost)
    else:
        monkeypatch.setattr(certificates, "check", interrupted)


@pytest.mark.parametrize("moment", ["search", "fewest leaves", "certificate"])
def test_after_an_interruption_trees_near_the_best_have_a_moment(moment, table, monkeypatch):
    interrupt(moment, monkeypatch)
    left, count = [], near_optimal_set.near_optimal_set

    def noted(*given):
        left.append(deadline.seconds_left())
        return count(*given)

    monkeypatch.setattr(near_optimal_set, "near_optimal_set", noted)
    said = command("fit", "t.csv", "--depth", 3, "--within", 1, "-o", "m", "--json", folder=table)
    assert said.code == 0 and said.facts["verified"]
    assert said.facts["termination"] == ("interrupted" if moment == "search" else "optimal")
    assert left != [None] and left[0] < 1


@pytest.mark.parametrize("moment", ["fewest leaves", "search", "check"])
def test_an_interrupted_certify_writes_what_it_has(moment, table, monkeypatch):
    words = ("certify", "t.csv", "--depth", 3, "-o", "c.json")
    with monkeypatch.context() as during:
        during.setattr(certificate, "check", interrupted if moment == "check" else lasts)
        if moment != "check":
            interrupt(moment, during)
        said = command(*words, folder=table)
    assert said.code == 0 and "by the search, no tree" in said.out and "not checked here" in said.out
    checked = command("verify", "--certificate", "c.json", folder=table)
    assert checked.code == 0 and "proved: no tree of depth 3" in checked.out
    assert "not checked" not in command(*words, folder=table).out


def test_no_search_of_a_large_table_begins_when_the_limit_has_passed(monkeypatch):
    """Its rows used to be ranked first: on a million rows that took 2 s of those that the limit did not leave."""
    rng = np.random.default_rng(1)
    X = rng.random((80, 3))
    problem = pipeline.pose(read_arrays(X, X[:, 0] * X[:, 1] > 0.3), "dpflow", 3, encoding="thresholds")
    start = grow("cart", problem.encoded, problem.topology)
    monkeypatch.setattr(threshold_search, "RANKED", 0)
    monkeypatch.setattr(threshold_search, "ThresholdSearch", interrupted)
    with deadline.within(5), pytest.raises(KeyboardInterrupt):  # one begins
        threshold_search.search(problem, start)
    with deadline.within(deadline.MOMENT):
        found = threshold_search.search(problem, start)
    assert found.heap is start and found.bound == 0 and not found.interrupted


@pytest.mark.parametrize("stage", ["columns", "rows", "orders", "bins"])
@pytest.mark.parametrize("interruption", [False, True])
def test_an_end_while_the_rows_of_a_large_table_are_ranked_hands_in_the_start(stage, interruption, monkeypatch):
    """The clock comes to its end at the first look in a stage before the search."""
    rng = np.random.default_rng(1)
    X = rng.random((80, 3))
    problem = pipeline.pose(read_arrays(X, X[:, 0] * X[:, 1] > 0.3), "dpflow", 3, encoding="thresholds")
    start, looked, wanted = grow("cart", problem.encoded, problem.topology), [], STAGES[stage]

    def check():
        if sys._getframe(1).f_code.co_name in wanted or sys._getframe(2).f_code.co_name in wanted:
            looked.append(stage)
            raise KeyboardInterrupt if interruption else TimeLimitReached("the time limit came")

    monkeypatch.setattr(ranks, "TALL_TABLE", 0)
    monkeypatch.setattr(threshold_search, "CELLS_FOR_BINS", 0)
    monkeypatch.setattr(deadline, "check", check)
    with deadline.within(50):
        found = problem.module.search(problem, start, None)
    assert looked and found.bound == 0 and found.interrupted == interruption
    assert problem.module.objective(problem, found.heap) <= problem.module.objective(problem, start)


def test_an_interruption_in_a_part_of_the_time_is_one_of_the_whole():
    with deadline.within(None):
        with deadline.within(60.0), deadline.within(0.001):
            with deadline.cut_short():
                raise KeyboardInterrupt
        assert deadline.is_interrupted() and 0.001 < deadline.seconds_left() <= deadline.GRACE
    assert not deadline.is_interrupted() and deadline.seconds_left() is None
    with deadline.within(60.0):
        with deadline.within(1.0):
            pass
        assert not deadline.is_interrupted() and deadline.seconds_left() > deadline.GRACE


def test_an_interruption_while_the_end_is_put_off_is_heard_after():
    with deadline.within(60.0):
        with deadline.put_off():
            with deadline.cut_short():
                raise KeyboardInterrupt
            assert deadline.seconds_left() <= deadline.GRACE
        assert deadline.is_interrupted() and deadline.seconds_left() <= deadline.GRACE


def test_one_interruption_ends_a_search_under_constraints_in_its_bound_without_them(table, monkeypatch):
    """It came in a search with a part of the time, and the one behind it had no end."""
    ends = []
    monkeypatch.setattr(threshold_search.early_bound.EarlyBound, "by_common_rows", interrupted)
    monkeypatch.setattr(constrained, "needs_floor", lambda problem: True)
    search = constrained.search
    monkeypatch.setattr(constrained, "search", lambda *of: [ends.append(deadline.seconds_left()), search(*of)][1])
    dataset = read(table / "t.csv")
    done = pipeline.fit(dataset, "dpflow", 3, encoding="thresholds", constraints=["leaf_rows >= 3", "recall[p] >= 0.5"])
    assert ends and ends[0] is not None and ends[0] <= deadline.GRACE
    assert done.tree is not None and done.verified


@pytest.mark.parametrize("where", ["at_once", "first", "floor_of", "raised"])
@pytest.mark.parametrize("end", [TimeLimitReached, KeyboardInterrupt])
def test_what_ends_a_part_of_a_search_under_constraints_leaves_the_tree_in_hand(where, end, table, monkeypatch):
    """The limit came as a search without the constraints ranked 100,000 rows, and CART's tree, which kept them, was
    lost: there was no tree."""

    def ended(*_):
        raise end("it has passed")

    monkeypatch.setattr(constrained, "needs_floor", lambda problem: True)
    monkeypatch.setattr(constrained, where, ended)
    with deadline.within(600.0):
        done = pipeline.fit(read(table / "t.csv"), "dpflow", 3, encoding="thresholds", constraints=["recall[p] >= 0.5"])
    assert done.tree is not None and done.verified
    assert done.proof.bound is None or done.proof.bound <= done.proof.objective


@pytest.mark.parametrize("choice", ["folds", "training"])
def test_an_interrupted_search_for_hyperplanes_hands_in_a_tree(table, monkeypatch, choice):
    times = []
    place, name = (oblique_search, "choose") if choice == "folds" else (oblique, "search_hyperplanes")
    first = getattr(place, name)

    def cut_once(*of, **how):
        times.append(1)
        return first(*of, **how) if len(times) > 1 else interrupted()

    monkeypatch.setattr(place, name, cut_once)
    done = pipeline.fit(read(table / "t.csv"), "oblique_search", 2, params={"choice": choice})
    assert done.interrupted and done.verified and "interrupted" in done.solution.message
    assert len(times) == 2


def test_a_fit_that_ctrl_c_ends_is_no_finished_fit_of_a_study(table, monkeypatch):
    times, run = [], cross_validation.run_spec

    def second_is_cut(*of):
        times.append(1)
        done = run(*of)
        if len(times) != 2:
            return done
        return replace(done, proof=replace(done.proof, termination=Termination.INTERRUPTED))

    monkeypatch.setattr(cross_validation, "run_spec", second_is_cut)
    monkeypatch.chdir(table)
    said = command("tune", "t.csv", "--depths", "1,2", "--folds", 2, "-o", "best")
    assert said.code == 130 and "finished fits (1) are kept in best.tune.fits" in said.err and len(times) == 2
    assert len(list((table / "best.tune.fits").iterdir())) == 1
    said = command("tune", "t.csv", "--depths", "1,2", "--folds", 2, "-o", "best")
    assert said.code == 0 and len(times) == 5 and not (table / "best.tune.fits").exists()


def test_an_interruption_of_the_first_fit_leaves_no_empty_folder(table, monkeypatch):
    monkeypatch.setattr("odtc.cli.commands.studies.run_fits", interrupted)
    monkeypatch.chdir(table)
    said = command("tune", "t.csv", "--depths", "1,2", "--folds", 2, "-o", "best")
    assert said.code == 130 and not (table / "best.tune.fits").exists()


@pytest.mark.parametrize("words", [("tune", "-o", "best"), ("sweep", "-o", "study")], ids=lambda words: words[0])
def test_an_interrupted_study_prints_the_settings_that_are_finished(words, table, monkeypatch):
    """Three of four fits are finished, so one of two settings has all of its two folds."""
    for as_json in ((), ("--json",)):
        times, run = [], engine.finish

        def fourth_is_cut(*of, times=times, run=run):
            times.append(1)
            return run(*of) if len(times) < 4 else interrupted()

        with monkeypatch.context() as during:
            during.setattr(engine, "finish", fourth_is_cut)
            command_, *more = words
            place = f"{more[1]}{len(as_json)}"
            said = command(command_, "t.csv", "--depths", "1,2", "--folds", 2, "-o", place, *as_json, folder=table)
        assert said.code == 130 and len(times) == 4, said.err
        assert said.err.count("odtc: error: interrupted; the finished fits") == 1
        if not as_json:
            assert said.out.count(", depth ") == 1 and "leaves" in said.out, said.out
            continue
        assert said.facts["interrupted"]
        results = said.facts["results"] if command_ == "tune" else next(iter(said.facts["data"].values()))
        assert [len(result["folds"]) for result in results] == [2]


def test_an_interrupted_job_of_a_sweep_claims_no_setting(table, monkeypatch):
    """The job has one fold of each depth: its first two fits are not the two folds of the first setting."""
    times, run = [], engine.finish

    def third_is_cut(*of):
        times.append(1)
        return run(*of) if len(times) < 3 else interrupted()

    monkeypatch.setattr(engine, "finish", third_is_cut)
    words = ("sweep", "t.csv", "--depths", "1,2,3", "--folds", 2, "-o", "study", "--part", "0/2", "--json")
    said = command(*words, folder=table)
    assert said.code == 130 and len(times) == 3, said.err
    assert said.facts == {"interrupted": True, "data": {}}
    assert len(list((table / "study" / "tasks").iterdir())) == 2


def test_a_number_that_was_not_searched_has_the_tree_of_a_looser_one_that_keeps_it(table):
    problem = pose(read(table / "t.csv"), "dpflow", 2)
    heap = problem.module.search(problem, None, lambda *told: None).heap
    paid = problem.module.objective(problem, heap)
    kinds = [parse(f"recall[p] >= {number}", problem.encoded) for number in (0.1, 0.2, 1.0)]
    assert kinds[1].holds(value := kinds[0].module.value(problem.encoded, kinds[0], heap)) and value < 1
    points = [frontier.Point(kinds[0], heap, paid, paid, True)]
    points += [frontier.Point(given, None, None, paid, False) for given in kinds[1:]]
    found = frontier._by_trees_met(problem, points)
    assert [point.ended for point in found] == ["optimal", "optimal", "open"]
    assert found[1].heap is heap and found[2].heap is None
