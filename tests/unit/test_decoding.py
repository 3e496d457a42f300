"""Claims about the tree of a run, for each way in which it was found, and refusals in one sentence."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

import odtc
from odtc.base import deadline
from odtc.data.dataset import Dataset, Feature
from odtc.errors import ChoiceError, ManifestError, NoSolutionError, SolutionError, TimeLimitReached, TreeError
from odtc.model.solution import EDITED, Racer, Round, Solution, Termination, gap, gap_in_words, is_proved, proof
from odtc.trees.heap_tree import HeapTree, blank_arrays, settle
from odtc.verification.verify import one_leaf
from odtc.workflow import decoding, first_trees
from odtc.workflow.compiling import Prepared
from odtc.workflow.decoding import (
    decode,
    learn,
    no_solution,
    out_of_time,
    proved,
    tree_of,
    unfinished,
    without_model,
)
from odtc.workflow.results.fit import Unsolved, settled, tree_cost
from odtc.workflow.row_selection.selection import take_rows
from tests import pipeline
from tests.command_line import MONKS

OPTIMAL, TIME_LIMIT = Termination.OPTIMAL, Termination.TIME_LIMIT
XOR = "a,b,y\n" + "".join(f"{i % 2},{i // 2 % 2},{'pq'[(i % 2) ^ (i // 2 % 2)]}\n" for i in range(8))


@pytest.fixture(scope="module")
def model():
    """All trees of depth 1 over monks-1; none is right everywhere."""
    return odtc.build(MONKS / "monks-1.csv", "flowoct", 1, encoding="onehot")


@pytest.fixture
def found(model):
    """CART's tree as a solution without a claim."""
    _, point = pipeline.start(model)
    return Solution(point, TIME_LIMIT, model.objective(point), model=model.identity)


@pytest.fixture(scope="module")
def xor(tmp_path_factory):
    """A problem whose best tree of depth 2 costs nothing, which is the floor."""
    file = tmp_path_factory.mktemp("xor") / "xor.csv"
    file.write_text(XOR)
    return odtc.build(file, "flowoct", 2, encoding="onehot")


def right(problem) -> HeapTree:
    """The tree of depth 2 that is right on all rows of XOR."""
    return settle(np.array([-1, 0, 1, 1, -1, -1, -1, -1], np.int32), problem.encoded)


def test_only_a_model_of_ours_and_its_solution_are_decoded(model, found):
    for given in ((replace(model, problem=None), found), (model, "a.sol"), (model, MONKS), (object(), found)):
        with pytest.raises(ChoiceError, match="expected a model of odtc.build and its solution"):
            decode(*given)
    with pytest.raises(SolutionError, match="the solution belongs to the model"):
        decode(model, replace(found, model="f" * 64))
    for unknown in ("", model.identity):
        assert decode(model, replace(found, model=unknown)).verified
    assert decode(replace(model, identity=""), replace(found, model="f" * 64)).verified
    with pytest.raises(NoSolutionError) as refused:
        decode(model, Solution(None, TIME_LIMIT, None))
    assert refused.value.outcome.model is model and refused.value.outcome.solution.termination == TIME_LIMIT


def test_a_bound_is_held_against_trees_in_hand_if_there_is_one(model, found):
    best = tree_cost(model.problem, decode(model, found).heap)
    names = [check.name for check in decode(model, replace(found, bound=best + 1)).checks if not check.passed]
    assert names == ["bound"]
    assert decode(model, replace(found, bound=best)).verified
    assert decode(model, found).solution.termination == TIME_LIMIT


def failed(said) -> list[str]:
    return [check.name for check in said.checks if not check.passed]


def test_every_claimed_bound_is_held_against_cart(model, found):
    """Of a poor tree, whose own cost is no less than the bound."""
    problem = model.problem
    leaf = settle(np.full(4, -1, np.int32), problem.encoded)
    point = model.join(problem.module.start(problem, leaf))
    poor = Solution(point, TIME_LIMIT, model.objective(point), model=model.identity)
    assert found.objective < poor.objective
    assert failed(decode(model, replace(poor, bound=poor.objective))) == ["bound"]
    assert failed(decode(model, replace(poor, overall=poor.objective))) == ["bound of all trees"]
    assert failed(decode(model, replace(poor, bound=found.objective, overall=found.objective))) == []


def test_a_tree_whose_cost_is_not_known_is_decoded_without_a_claim(model, found, monkeypatch):
    monkeypatch.setattr(decoding, "tree_cost", lambda *_: None)
    for bound in (None, 0.0):
        said = decode(model, replace(found, bound=bound))
        assert said.verified and said.solution.termination == TIME_LIMIT


def test_nothing_is_searched_of_a_tree_whose_cost_is_not_known_or_that_has_a_bound(model, found, monkeypatch):
    """A bound that is known is not given up for what a moment proves."""
    monkeypatch.setattr(decoding, "quick_floor", lambda problem: 0.0)
    model, unknown = replace(model, identity=""), replace(found, termination=Termination.UNKNOWN, model="")
    assert decode(model, replace(unknown, bound=found.objective)).solution.bound == found.objective
    monkeypatch.setattr(decoding, "tree_cost", lambda *_: None)
    assert decode(model, unknown).solution.termination == Termination.UNKNOWN


def test_only_of_a_tree_of_which_nothing_else_is_known_a_search_speaks(model, found, monkeypatch):
    """It is one of all trees: what is told of a part of them, or of a model that was solved, is left as it is."""
    bare = Solution(found.x, Termination.UNKNOWN, found.objective)
    paid = found.objective
    assert decoding._searched(model.problem, bare, paid).bound is not None
    for told in ({"model": model.identity}, {"scope": "a part"}, {"overall": 1.0}):
        known = replace(bare, **told)
        assert decoding._searched(model.problem, known, paid) is known


def test_a_search_of_a_moment_under_constraints_hands_in_what_is_there(monkeypatch):
    """After Ctrl-C, too: the tree is in hand."""
    model = odtc.build(MONKS / "monks-1.csv", "flowoct", 1, encoding="onehot", constraints=("leaves <= 1",))
    leaf = one_leaf(model.problem)
    paid = tree_cost(model.problem, leaf)
    point = Solution(None, Termination.UNKNOWN, paid)
    monkeypatch.setattr(deadline, "is_interrupted", lambda: True)
    said = decoding._searched(model.problem, point, paid)
    least = min(
        tree_cost(model.problem, settle(leaf.split, model.problem.encoded, label))
        for label in (np.array([-1, k, -1, -1], np.int32) for k in range(2))
    )
    assert said.bound <= least <= paid


@pytest.mark.parametrize("came", [False, True])
def test_a_learner_that_is_interrupted_says_so(came, monkeypatch):
    cart = pipeline.pose(MONKS / "monks-2.csv", "cart", 1, encoding="onehot")
    monkeypatch.setattr(deadline, "is_interrupted", lambda: came)
    said = learn(cart)
    assert said.interrupted is came
    assert said.solution.termination == (Termination.INTERRUPTED if came else Termination.UNKNOWN)


def test_leaves_hold_the_curves_of_the_rows_that_come_to_them(tmp_path):
    """Of a manifest, which holds equal rows together, with its data file beside it; a task of classes has none."""
    rng = np.random.default_rng(3)
    a, time, event = rng.integers(0, 2, 30), rng.integers(1, 9, 30), rng.integers(0, 2, 30)
    rows = "".join(f"{one},{t},{e}\n" for one, t, e in zip(a, time, event))
    (tmp_path / "d.csv").write_text("a,time,event\n" + rows)
    data = odtc.read(tmp_path / "d.csv", time="time", event="event", task="survival")
    problem = pipeline.pose(data, "dpflow", 1)
    heap = settle(np.array([-1, 0, -1, -1], np.int32), problem.encoded)
    bare = replace(problem, encoded=replace(problem.encoded, dataset=None))
    given = Solution(None, Termination.UNKNOWN, problem.module.objective(problem, heap))
    own = decoding._decoded(problem, heap, heap, [], given, data, False).tree
    assert all(leaf.curve for leaf in own.leaves())
    assert decoding._decoded(bare, heap, heap, [], given, data, False).tree == own
    assert not any(leaf.curve for leaf in decoding._decoded(bare, heap, heap, [], given, None, False).tree.leaves())


def test_of_several_trees_that_keep_their_rows_where_they_belong_the_cheapest_is_taken(model, found, monkeypatch):
    """Of a point whose rows go elsewhere than its splits send them: its own tree, the start, or CART's."""
    problem = model.problem
    poor, good = (settle(test, problem.encoded) for test in (np.full(4, -1, np.int32), tree_of(model, found.x).split))
    x = model.join(problem.module.start(problem, poor))
    monkeypatch.setattr(type(problem.module), "misrouted", lambda *_: 1.0, raising=False)
    given = replace(found, x=x, objective=model.objective(x))
    least = tree_cost(problem, good)
    assert least < tree_cost(problem, poor)
    assert decoding.by_own_splits(model, given) is given  # the tree costs what its point does
    monkeypatch.setattr(decoding, "tree_cost", lambda *_: None)  # one that is none of the model's
    said = decoding.by_own_splits(model, given, start=good)
    assert said.objective == least == model.objective(said.x)


def test_a_formulation_that_reads_other_columns_than_it_did_is_named(model, found, monkeypatch):
    def stumbles(fault):
        def stumble(*_):
            raise fault

        monkeypatch.setattr(type(model.problem.module), "decode", stumble, raising=False)

    stumbles(IndexError("no such block"))
    with pytest.raises(IndexError, match="no such block"):
        decode(model, found)
    old = replace(model, recorded="built by flowoct 0: other columns")
    with pytest.raises(ManifestError, match=r"the model was built by flowoct 0, which .*IndexError: no such block"):
        decode(old, found)
    stumbles(TreeError("no label"))
    with pytest.raises(TreeError, match="no label"):
        decode(old, found)


def test_a_tree_at_the_floor_is_optimal_and_nothing_else_is_claimed(xor):
    problem, module = xor.problem, xor.problem.module
    point = xor.join(module.start(problem, right(problem)))
    scoped = Solution(point, TIME_LIMIT, 0.0, None, scope="these columns", overall=-1.0, scope_objective=0.0)
    for told in (Solution(point, TIME_LIMIT, 0.0), Solution(point, Termination.UNKNOWN, 0.0, -5.0), scoped):
        said = decode(xor, told).solution
        assert (said.termination, said.objective, said.bound) == (OPTIMAL, 0, 0)
        assert (said.scope, said.overall, said.scope_objective) == ("", None, None)


def test_a_tree_above_the_floor_is_what_the_solver_says(model, found, monkeypatch):
    monkeypatch.setattr(first_trees, "MOMENT_WORK", 0)
    for end in (TIME_LIMIT, Termination.UNKNOWN, Termination.INTERRUPTED):
        said = decode(model, replace(found, termination=end)).solution
        assert (
            said.termination == end and said.objective == found.objective and not is_proved(said.objective, said.bound)
        )


def test_the_scope_of_a_formulation_is_stated_unless_one_is_known(model, found, monkeypatch):
    monkeypatch.setattr(type(model.problem.module), "scope", lambda *_: "a part", raising=False)
    assert decode(model, found).solution.scope == "a part"
    assert decode(model, replace(found, scope=EDITED)).solution.scope == EDITED
    assert decode(model, replace(found, overall=1.0)).solution.scope == ""


def test_a_smaller_tree_below_the_bound_is_a_contradiction_and_not_taken(model, found, monkeypatch):
    """The bound is not one of trees that are none of the model's."""
    leaf = settle(np.full(4, -1, np.int32), model.problem.encoded)
    monkeypatch.setattr(decoding, "simplified", lambda problem, heap: leaf)
    paid = tree_cost(model.problem, leaf)
    said = decode(model, found, simplify=True)
    assert said.heap is leaf is not said.point_heap and "simplified" in {check.name for check in said.checks}
    assert decode(model, found).heap is not leaf
    for above, taken in ((1e-3, False), (1e-9, True), (-1, True)):
        said = decode(model, replace(found, bound=paid + above), simplify=True)
        assert (said.heap is leaf) == taken
    for simplify in (True, False):
        told = {check.name: check.text for check in decode(model, replace(found, bound=0.0), simplify=simplify).checks}
        assert ("without needless branch nodes" in told["bound"]) == simplify
    assert pipeline.finish(model, found).decoded.heap is not leaf


def test_a_learner_claims_nothing_above_the_floor_and_all_at_it(xor):
    cart = pipeline.pose(MONKS / "monks-2.csv", "cart", 1, encoding="onehot")
    said = learn(cart)
    assert (said.solution.termination, said.solution.bound, said.model) == (Termination.UNKNOWN, None, None)
    assert said.interrupted is False
    assert said.proof.has_solution and 0 <= said.solution.seconds < 600
    assert said.facts["verified"] and said.facts["objective"] == tree_cost(cart, said.decoded.heap)
    done = without_model(xor.problem, right(xor.problem), Solution(None, Termination.UNKNOWN, 0.0), None)
    assert (done.solution.termination, done.solution.bound) == (OPTIMAL, 0)


def ready(model, heap, **more) -> Prepared:
    return Prepared(model.problem, None, None, heap, 0.0, 1.0, **more)


class Found:
    """What a search before the model found."""

    def __init__(self, bound, proved):
        self.bound, self.proved, self.heap, self.infeasible = bound, proved, None, False


def test_the_tree_that_was_known_at_the_limit_says_how_it_came_about(model):
    heap = pipeline.start(model)[0]
    paid = tree_cost(model.problem, heap)
    at_limit = unfinished(ready(model, heap)).solution
    assert (at_limit.termination, at_limit.objective) == (TIME_LIMIT, paid) and "time limit" in at_limit.message
    stopped = unfinished(ready(model, heap, interrupted=True)).solution
    assert stopped.termination == Termination.INTERRUPTED and stopped.message != at_limit.message
    for bound, is_it in ((paid, True), (paid - 1, False), (paid + 5, False)):
        said = unfinished(ready(model, heap, searched=Found(bound, is_it))).solution
        assert said.termination == (OPTIMAL if is_it else TIME_LIMIT)
        assert said.bound == pytest.approx(min(bound, paid)) and said.objective == paid
        assert ("search proved the tree" if is_it else "came before the model was built") in said.message
    ended = Solution(None, Termination.ERROR, None, message="it fell over", claimed=3.0)
    told = unfinished(ready(model, heap, searched=Found(paid, True)), found=ended).solution
    assert told.termination == Termination.ERROR and told.message.endswith(": it fell over")
    assert told.message.startswith("the solver had no solution yet")
    with pytest.raises(NoSolutionError):
        unfinished(ready(model, None))


def test_the_ends_of_runs_without_a_solver(model):
    assert out_of_time(ready(model, None)).termination == TIME_LIMIT
    assert out_of_time(ready(model, None, interrupted=True)).termination == Termination.INTERRUPTED
    assert 0 <= out_of_time(replace(ready(model, None), began=decoding.time.monotonic())).seconds < 60
    heap = pipeline.start(model)[0]
    paid = tree_cost(model.problem, heap)
    # Rows weigh 1: no tree costs a fraction.
    for bound, end in ((paid, OPTIMAL), (paid - 1, Termination.UNKNOWN)):
        done = proved(model.problem, heap, bound, 2.5)
        assert (done.solution.termination, done.solution.bound, done.solution.seconds) == (end, bound, 2.5)


def test_the_error_without_a_tree_names_constraints_and_selected_rows(model):
    bound = pipeline.pose(MONKS / "monks-2.csv", "flowoct", 1, encoding="onehot", constraints=("leaf_rows >= 80",))
    told = no_solution(Unsolved(bound, None, Solution(None, Termination.INFEASIBLE)))
    assert "leaf_rows >= 80" in str(told) and "selected" not in str(told)
    chosen = pipeline.pose(
        MONKS / "monks-2.csv",
        "flowoct",
        1,
        encoding="onehot",
        select="balanced:part=3",
        constraints=("leaf_rows >= 9",),
    )
    assert "select" in str(no_solution(Unsolved(chosen, None, Solution(None, Termination.INFEASIBLE))))
    lost = replace(bound, encoded=replace(bound.encoded, dataset=None))
    for certified in (None, False, True):
        told = str(no_solution(Unsolved(lost, None, Solution(None, Termination.INFEASIBLE), certified)))
        assert "selected" not in told and ("proof was checked on the data" in told) == bool(certified)


def test_the_rows_of_a_file_are_taken_as_they_were_only_if_all_are_at_hand(model):
    """A data set of its own, one of which rows were selected already, and none."""
    data = odtc.read(MONKS / "monks-2.csv")
    own = model.problem.encoded.dataset
    assert decoding._read_anew(model.problem, data) is data and decoding._read_anew(model.problem, None) is own
    lost = replace(model.problem, encoded=replace(model.problem.encoded, dataset=None))
    assert decoding._read_anew(lost, data) is data and decoding._read_anew(lost, None) is None
    chosen = pipeline.pose(data, "flowoct", 1, encoding="onehot", select="balanced:part=3")
    part = chosen.encoded.dataset
    assert part.n_rows < data.n_rows == part.selected.whole.n_rows
    taken = decoding._read_anew(chosen, data)
    assert np.array_equal(taken.X, part.X) and taken.selected is not None
    again = replace(data, selected=part.selected)
    assert decoding._read_anew(chosen, again) is again


def test_a_file_read_anew_keeps_the_rows_that_were_selected():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 30, (60, 2)).astype(float)
    features = (Feature("a", "numeric"), Feature("b", "numeric"))
    whole = Dataset("points", X, (X[:, 0] > X[:, 1]).astype(np.int32), features, ("u", "v"), np.ones(60))
    chosen = odtc.build(whole, "flowoct", 1, select="convex_hull")
    assert chosen.problem.encoded.copies.sum() < 60
    _, point = pipeline.start(chosen)
    given = Solution(point, TIME_LIMIT, chosen.objective(point), model=chosen.identity)
    own, anew = decode(chosen, given), decode(chosen, given, whole)
    for said in (own, anew):
        assert said.verified and sum(sum(leaf.counts) for leaf in said.tree.leaves()) == 60
    assert [check.name for check in own.checks] == [check.name for check in anew.checks]
    assert own.tree == anew.tree
    # Other labels on the rows that were selected, and another number of rows.
    assert not decode(chosen, given, replace(whole, y=1 - whole.y)).verified
    few = whole.taken(np.arange(30))
    assert not decode(chosen, given, few).verified


def test_a_point_and_an_edited_model_are_decoded_as_what_they_are(model, found, monkeypatch):
    """A vector is a point without a claim; with rows of its user the tree is one of the edited model."""
    monkeypatch.setattr(first_trees, "MOMENT_WORK", 0)
    best = tree_cost(model.problem, decode(model, found).heap)
    plain = decode(model, np.asarray(found.x))
    assert plain.verified and plain.solution.termination == Termination.UNKNOWN and plain.solution.bound <= best
    longer = model.add_rows(np.ones((1, len(model.c))), lower=0)
    said = decode(longer, np.asarray(found.x)).solution
    assert (said.termination != OPTIMAL and said.bound is None) or said.bound <= best


def test_a_tree_is_held_against_its_smaller_one_only_if_there_is_one(model, found, monkeypatch):
    names = [check.name for check in decode(model, found, simplify=True).checks]
    assert "simplified" not in names and names == [check.name for check in decode(model, found).checks]
    cart, leaf = pipeline.start(model)[0], settle(np.full(4, -1, np.int32), model.problem.encoded)
    given = Solution(None, Termination.UNKNOWN, tree_cost(model.problem, cart))
    monkeypatch.setattr(decoding, "simplified", lambda problem, heap: leaf)
    for simplify, objective in ((False, given.objective), (True, tree_cost(model.problem, leaf))):
        done = without_model(model.problem, cart, given, None, simplify)
        assert done.solution.objective == objective and (done.decoded.heap is leaf) == simplify
        assert ("simplified" in {check.name for check in done.decoded.checks}) == simplify
    assert given.objective < objective


# The record of a solution.


@pytest.mark.parametrize(
    ("objective", "bound", "is_it"),
    [
        (10.0, 10.0, True), (10.0, 11.0, True), (10.0, 10 - 2e-15, False), (10.0, 10 - 2e-8, False),
        (-10.0, -10.0, True), (-10.0, -10 - 9e-9, False), (1e15, 1e15 - 1, False),
        (None, 1.0, False), (1.0, None, False), (10.0, math.inf, False), (10.0, math.nan, False),
    ],
)  # fmt: skip
def test_proved_is_no_gap(objective, bound, is_it):
    assert is_proved(objective, bound) is is_it


def test_a_gap_is_relative_and_of_one_at_least():
    assert [gap(10, 5), gap(0.5, 0.25), gap(-4, -6), gap(None, 1), gap(1, None)] == [0.5, 0.25, 0.5, None, None]


def test_a_gap_that_its_unit_would_hide_is_told_of_the_objective():
    told = [gap_in_words(*ends) for ends in ((10, 5), (0.5, 0.25), (4e-6, 1e-6), (4e-6, 4e-6), (0.0, 0.0), (3e6, 3e6))]
    assert told[:3] == ["gap 50.00 %", "gap 25.00 %", "gap 75.00 % of the objective"]
    assert set(told[3:]) == {"gap 0.00 %"}
    # 0.003 and 0.002 per cent are told as nothing, 0.03 per cent are not.
    assert [gap_in_words(0.1, 0.09997), gap_in_words(0.5, 0.49999)] == ["gap 0.03 % of the objective", "gap 0.00 %"]


@pytest.mark.parametrize(
    ("scope", "end", "overall", "said", "bound"),
    [
        ("", OPTIMAL, 3.0, OPTIMAL, 5.0),
        ("some columns", OPTIMAL, 5.0, OPTIMAL, 5.0),
        ("some columns", OPTIMAL, 4.0, Termination.UNKNOWN, 4.0),
        ("some columns", OPTIMAL, None, Termination.UNKNOWN, None),
        ("some columns", TIME_LIMIT, 4.0, TIME_LIMIT, 4.0),
        ("some columns", TIME_LIMIT, 5.0, OPTIMAL, 5.0),
        (EDITED, OPTIMAL, 5.0, Termination.UNKNOWN, 5.0),
        (EDITED, TIME_LIMIT, 5.0, Termination.UNKNOWN, 5.0),
    ],
)
def test_what_is_claimed_of_the_problem_as_stated(scope, end, overall, said, bound):
    given = Solution(None, end, 5.0, 5.0, scope=scope, overall=overall, scope_objective=5.0)
    told = given.of_all
    assert (told.termination, told.bound, told.objective) == (said, bound, 5.0)
    if scope:
        assert (told.scope, told.overall, told.scope_objective) == ("", None, None)


def test_a_racer_is_the_same_from_its_json_and_has_won_by_what_it_gave():
    racer = Racer("a", "highs", OPTIMAL, 1.0, 1.0, 0.5, ("proof",), "words")
    assert Racer.from_json(json.loads(json.dumps(racer.to_json()))) == racer and racer.to_json()["won"] is True
    assert Racer("b", "scip", TIME_LIMIT).to_json()["won"] is False


def test_the_words_of_a_round():
    told = Round(3, "whole", 1200, 4, 7.0, 5.25, 1.25)
    assert str(told) == "round  3 (whole): 1,200 rows, 4 more broken, bound 5.25, best tree 7, 1.2 s"
    other = Round(12, "columns", 5, 0, None, None, 0.0, "columns", -1e-12)
    assert str(other) == "round 12 (columns): 5 columns, 0 more added, bound - (-1e-12 over the chosen splits), 0.0 s"
    assert "bound 0," in str(replace(other, bound=-1e-12, chosen=None))


@pytest.mark.parametrize("within_gap", [False, True])
def test_optimal_is_worth_the_bound_that_comes_with_it(within_gap):
    assert proof(Termination.OPTIMAL, 5.0, 4.0, within_gap) == ("optimal", 4.0, "")
    assert proof(Termination.TIME_LIMIT, 5.0, None, within_gap) == ("time_limit", None, "")
    assert proof(Termination.UNKNOWN, 5.0, 3.0, within_gap) == ("unknown", 3.0, "")
    ended, bound, doubt = proof(Termination.OPTIMAL, 5.0, None, within_gap)
    assert (ended, bound, bool(doubt)) == (("unknown", None, True) if within_gap else ("optimal", 5.0, False))


def test_a_solution_without_a_name_proves_nothing_of_a_named_model(model, found, monkeypatch):
    monkeypatch.setattr(first_trees, "MOMENT_WORK", 0)
    claim = replace(found, termination=OPTIMAL, bound=found.objective)
    known = decode(model, claim).solution
    assert (known.termination, known.bound) == (OPTIMAL, claim.bound)
    nameless = decode(model, replace(claim, model="")).solution
    assert (nameless.termination, nameless.bound) == (
        Termination.UNKNOWN,
        0,
    ) and "does not name its model" in nameless.message
    plain = replace(model, identity="")  # has no name that a solution could say
    assert decode(plain, replace(claim, model="")).solution.termination == OPTIMAL
    edited = replace(model, edited=replace(model, name="e"))  # its claim is of the edited model, and told as that
    assert "does not name its model" not in decode(edited, replace(claim, model="", scope=EDITED)).solution.message


def test_what_a_file_does_not_prove_a_search_of_a_moment_does(model, found, monkeypatch):
    """The tree of a solver's own file, which says nothing of its model, however its solver ended."""
    silent = replace(found, termination=Termination.UNKNOWN, bound=None, model="", claimed=None)
    said = decode(model, silent).solution
    assert (said.termination, said.bound) == (OPTIMAL, found.objective) and "own search" in said.message
    assert decode(model, replace(silent, model=model.identity)).solution.termination == Termination.UNKNOWN
    worse = model.join(model.problem.module.start(model.problem, one_leaf(model.problem)))
    said = decode(model, replace(silent, x=worse, objective=model.objective(worse))).solution
    assert said.termination == Termination.UNKNOWN and said.bound == found.objective < said.objective
    stopped = decode(model, replace(silent, termination=TIME_LIMIT)).solution
    assert (stopped.termination, stopped.bound) == (OPTIMAL, found.objective)
    named = decode(model, replace(silent, termination=TIME_LIMIT, model=model.identity)).solution
    assert named.termination == TIME_LIMIT
    monkeypatch.setattr(first_trees, "MOMENT_WORK", 0)
    assert decode(model, silent).solution.termination == Termination.UNKNOWN


@pytest.mark.parametrize("name", ["flowoct", "dpflow"])
def test_what_a_file_does_not_prove_a_search_under_the_same_constraints_does(name, monkeypatch):
    """All rows of p lie on both sides of each test, so that none is missed only if q is never said: 4 errors, not 2."""
    table = pl.DataFrame({"a": list("uuuuvvvvvv"), "b": list("xyxyxyxyxy"), "y": list("ppppppqqqq")})
    keywords = {"target": "y", "encoding": "onehot", "constraints": ["recall[p] >= 0.9"]}
    model = odtc.build(table, name, 1, **keywords, **({"params": {"fix": "false"}} if name == "dpflow" else {}))
    _, point = pipeline.start(model)
    silent = Solution(point, Termination.UNKNOWN, model.objective(point))
    said = decode(model, silent).solution
    assert (said.termination, said.objective, said.bound) == (OPTIMAL, 4, 4)
    monkeypatch.setattr(decoding, "A_MOMENT", 0.0)
    said = decode(model, silent).solution
    assert (said.termination, said.bound) == (Termination.UNKNOWN, 2)


@settings(max_examples=15)
@drawn(seed=st.integers(0, 10**6), name=st.sampled_from(["flowoct", "oct", "binoct", "dpflow", "fair", "bendersoct"]))
def test_no_tree_costs_less_than_the_floor_of_a_search(seed, name):
    rng = np.random.default_rng(seed)
    table = pl.DataFrame(rng.integers(0, 3, (14, 3)), schema=["a", "b", "c"]).with_columns(
        y=pl.Series(rng.choice(["u", "v", "w"], 14)), weight=pl.Series(rng.choice([0.5, 1.0, 3.0], 14))
    )
    params = {"params": {"lambda": "0.1"}} if name == "flowoct" else {}
    problem = odtc.build(table, model=name, depth=1, target="y", weights="weight", encoding="onehot", **params).problem
    least = first_trees.quick_floor(problem)
    if least is None:
        return
    module, encoded = problem.module, problem.encoded
    costs = []
    for test in range(-1, encoded.n_candidate_splits):
        asked, _ = blank_arrays(problem.topology)
        asked[1] = test
        costs.append(module.objective(problem, settle(asked, encoded)))
    assert least <= min(costs) + 1e-9


def test_only_a_solvers_own_word_is_searched_against(model, found, monkeypatch):
    asked = []
    monkeypatch.setattr(decoding, "quickly_searched", lambda problem, bound: asked.append(bound) or [])
    told = {check.name: check.text for check in decode(model, replace(found, bound=1.0)).checks}
    assert asked == [1.0] and "CART" in told["bound"]
    decode(model, replace(found, bound=1.0, scope="over these splits"))
    decode(model, found)
    assert asked == [1.0]


def test_a_search_of_a_moment_ends(model, monkeypatch):
    """Numbers as classes made the same work many times longer: `predict --score` of medians took 35 CPU s."""
    left = []

    def grown(problem, name):
        left.append(deadline.seconds_left())
        raise TimeLimitReached("it has passed")

    monkeypatch.setattr(first_trees, "known_tree", grown)
    assert first_trees.quickly_searched(model.problem, 1.0) == []
    assert len(left) == 1 and left[0] <= first_trees.MOMENT_SECONDS


def test_leaves_of_all_rows_are_joined_only_if_asked_and_without_constraints(model, found, monkeypatch):
    dataset = model.problem.encoded.dataset
    chosen = take_rows(dataset, np.arange(dataset.n_rows), dataset.weight, {})
    joined = []
    monkeypatch.setattr(decoding, "simplify_tree", lambda tree: joined.append(tree) or tree)
    for constraints in ([], ["leaf_rows >= 1"]):
        problem = pipeline.pose(dataset, "flowoct", 1, encoding="onehot", constraints=constraints)
        heap = pipeline.start(pipeline.compile_model(problem))[0]
        for simplify in (False, True):
            for given in (dataset, chosen):
                decoded = decoding._decoded(problem, heap, heap, [], found, given, simplify)
                assert ("all rows" in {check.name for check in decoded.checks}) == (given is chosen)
                assert len(joined) == (simplify and given is chosen and not constraints)
                joined.clear()
        assert decoding._decoded(problem, heap, heap, [], found, None, True).verified and not joined


def test_no_tree_and_no_certificate_is_told_with_why(model):
    ended = Solution(None, Termination.INFEASIBLE, solver="X 1")
    told = str(no_solution(Unsolved(model.problem, None, ended, uncertified="nothing was checked")))
    assert told.endswith("; nothing was checked") and "every model of odtc has a solution" in told
    assert "checked" not in str(no_solution(Unsolved(model.problem, None, ended)))


def test_the_noise_of_a_relaxation_is_no_bound(model, found):
    for bound, told in ((2.8e-14, 0.0), (1e-3, 1.0), (0.0, 0.0)):  # errors are whole numbers
        decoded = decode(model, replace(found, bound=bound))
        assert settled(model, replace(decoded, solution=replace(decoded.solution, bound=bound))).bound == told


@pytest.fixture
def routed(monkeypatch):
    """A model whose points may send rows elsewhere than their splits do: trees are named by what their points cost."""
    module = SimpleNamespace(misrouted=lambda *_: 3.0, represents=lambda *_: True)
    problem = SimpleNamespace(module=module)
    model = SimpleNamespace(
        problem=problem, recorded="", edited=None, n_cols=1, split=lambda x: x, objective=lambda x: float(x[0])
    )
    trees = {"own": 8.0, "start": 6.0, "cart": 7.0}
    monkeypatch.setattr(decoding, "tree_of", lambda model, x: "own")
    monkeypatch.setattr(decoding, "tree_cost", lambda problem, tree: trees.get(tree))
    monkeypatch.setattr(decoding, "greedy", lambda problem: [("cart", "cart")])
    monkeypatch.setattr("odtc.problem.cuts.cut.arrange_tree", lambda problem, model, tree: tree)
    monkeypatch.setattr(
        decoding, "check_point", lambda model, x: [SimpleNamespace(passed=one) for one in (True, x[0] != 99)]
    )

    def complete(problem, model, tree):
        if trees[tree] is None:
            raise TreeError("none of the model")
        return np.array([trees[tree]])

    monkeypatch.setattr(decoding, "complete", complete)
    return model, trees


POINT = Solution(np.array([5.0]), OPTIMAL, 5.0, 5.0, claimed=5.0, message="a word")


def test_a_point_whose_rows_go_their_own_way_is_replaced_by_the_cheapest_tree_at_hand(routed):
    model, trees = routed
    for start, cost in ((None, 8.0), ("start", 6.0)):
        found = decoding.by_own_splits(model, POINT, start)
        assert found.x.tolist() == [cost] and found.objective == cost and found.claimed is None
        assert (found.termination, found.bound) == (Termination.UNKNOWN, 5.0)
        assert found.message.startswith("a word; the solver's point costs 5 by sending rows of weight 3 elsewhere")
        assert found.message.endswith(f"the tree that is handed in costs {cost:g}")
    limit = replace(POINT, termination=TIME_LIMIT)
    assert decoding.by_own_splits(model, limit).termination == TIME_LIMIT
    assert decoding.by_own_splits(model, replace(POINT, bound=8.0)).termination == OPTIMAL  # which proves that tree
    trees.update(start=99.0, cart=None)  # one that breaks a row, and one that is none of the model
    assert decoding.by_own_splits(model, POINT, "start").objective == 8
    trees.update(own=99.0)
    assert decoding.by_own_splits(model, POINT, "start") is POINT


def test_a_point_of_which_nothing_is_to_be_replaced_stays(routed):
    model, trees = routed
    empty = replace(POINT, x=None)
    for other, solution in (
        (SimpleNamespace(**{**vars(model), "recorded": "built: elsewhere"}), POINT),
        (SimpleNamespace(**{**vars(model), "edited": model}), POINT),
        (model, empty),
    ):
        assert decoding.by_own_splits(other, solution) is solution
    for paid in (5.0, 4.0, 5 + 1e-9):  # its tree costs no more
        trees["own"] = paid
        assert decoding.by_own_splits(model, POINT) is POINT
    trees["own"] = 8.0
    model.problem.module.misrouted = lambda problem, values: 0.0
    model.problem.module.represents = lambda problem, heap: True
    assert decoding.by_own_splits(model, POINT) is POINT


def test_a_point_of_a_model_without_a_name_is_searched_against_if_nothing_says_how_it_ended(model, found, monkeypatch):
    monkeypatch.setattr("odtc.problem.identity.stamp_of", lambda model: "")
    silent = replace(found, bound=None, model="", claimed=None)
    for end in (Termination.UNKNOWN, TIME_LIMIT, Termination.INTERRUPTED):
        said = decode(model, replace(silent, termination=end)).solution
        assert said.termination == (OPTIMAL if end == Termination.UNKNOWN else end)
        assert (said.bound == found.objective) == (end == Termination.UNKNOWN)
