"""Laws 1, 2, 4 and 7 under constraints: the optimum is that of the trees that keep them, a start is complete
and keeps them, cuts hold, and the manifest rebuilds them."""

import contextlib
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from odtc.errors import ChoiceError
from odtc.problem.constraints import constraint
from odtc.problem.constraints.constraint import able_models, broken, built, complete, posed
from odtc.problem.constraints.kind import CONSTRAINTS, Subject
from odtc.problem.cuts import cut
from odtc.problem.cuts.cut import AN_OPTIMUM, CUTS
from odtc.workflow import pipeline
from odtc.workflow.manifest import read_manifest, write_manifest
from tests.arrays import assert_point_of, assert_rows_kept, optimum
from tests.laws.problems import (
    ALL_FORMS,
    BY_CONSTRAINT,
    TOGETHER,
    alone,
    constrained,
    form_id,
    heaps,
    kept_kinds,
    least_kept,
    problems,
)
from tests.laws.test_starts import assert_parts_alike

SLOW = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}
# Discrimination is no sum over leaves: the judge of these trees tries every labelling, and knows no other limit.
SUMS = [(form, kind) for form, kind in BY_CONSTRAINT if "rho" not in form[1]]
MANY, FEW = 12, 5  # examples; what one module writes for many kinds has cases enough


def case_id(case) -> str:
    return f"{form_id(case[0])}-{case[1]}"


@pytest.mark.parametrize("case", [case for case in SUMS if case[1] not in TOGETHER], ids=case_id)
@given(data=st.data())
@settings(max_examples=MANY, **SLOW)
def test_the_optimum_is_that_of_the_trees_that_keep_them(case, data):
    expect_optimum(case, data)


@pytest.mark.parametrize("case", alone(SUMS), ids=case_id)
@given(data=st.data())
@settings(max_examples=FEW, **SLOW)
def test_the_optimum_is_that_of_the_trees_that_keep_what_they_answer_or_ask(case, data):
    expect_optimum(case, data)


def expect_optimum(case, data):
    problem = data.draw(constrained(*case, most_rows=10))
    value, point = optimum(built(problem))
    assert value == pytest.approx(least_kept(problem), abs=1e-6)
    if point is None:
        return
    heap = problem.module.decode(problem, point)
    assert not broken(problem, heap)
    assert problem.module.objective(problem, heap) == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("case", [case for case in BY_CONSTRAINT if case[1] not in TOGETHER], ids=case_id)
@given(data=st.data())
@settings(max_examples=15, **SLOW)
def test_a_tree_that_keeps_them_is_a_complete_point(case, data):
    expect_point(case, data)


@pytest.mark.parametrize("case", alone(BY_CONSTRAINT), ids=case_id)
@given(data=st.data())
@settings(max_examples=FEW, **SLOW)
def test_a_tree_that_keeps_what_it_answers_or_asks_is_a_complete_point(case, data):
    expect_point(case, data)


def expect_point(case, data):
    problem = data.draw(constrained(*case, depths=(1, 2, 3)))
    heap = data.draw(heaps(problem))
    ends = np.bincount(heap.reach(problem.encoded.X), problem.encoded.copies)
    assume(ends[ends > 0].min() >= getattr(problem.params, "n_min", 0))  # trees that this form has
    model = built(problem)
    x = complete(problem, model, heap)
    assert_point_of(problem, model, heap, x)
    back = problem.module.decode(problem, model.split(x))
    if problem.module.WEIGHS:
        assert_parts_alike(back, heap, problem.encoded)
    else:
        np.testing.assert_array_equal(back.test, heap.test)
        np.testing.assert_array_equal(back.label, heap.label)
    assert set(model.user_cuts) == set()


@pytest.mark.parametrize("form", ALL_FORMS, ids=form_id)
def test_what_a_form_cannot_say_it_refuses_in_a_sentence(form):
    for kind in CONSTRAINTS.names():
        problem = _posed(_drawn(form), kind)
        if kind in kept_kinds(form):
            built(problem)
            continue
        if CONSTRAINTS.get(kind).SUBJECT == Subject.SETTLED:
            with pytest.raises(ChoiceError, match="is satisfied by the compiler's own search alone"):
                built(problem)
            continue
        said = re.escape(repr(str(problem.constraints[0])))
        words = f"constraint {said} needs columns of the roles .*; {form[0]} .*has .*; "
        try:
            built(problem)
        except ChoiceError as refused:
            assert re.search(words, str(refused), re.S)
        else:
            subject = CONSTRAINTS.get(kind).SUBJECT
            pytest.fail(
                f"{form_id(form)} has the columns that {kind} needs, but its `subjects` does not declare {subject!r}: "
                f"declare it, or leave the roles of these columns out"
            )


@pytest.mark.parametrize("kind", CONSTRAINTS.names())
def test_every_kind_declares_what_the_laws_need(kind):
    module = CONSTRAINTS.get(kind)
    assert module.SUBJECT in set(Subject), f"the constraint {kind!r} declares no SUBJECT, one of {[*Subject]}"
    problem = _posed(_drawn(("flowoct", {})), kind)
    judge = module.judged(problem.encoded, problem.constraints[0])
    said = [judge.allowed, judge.counts, judge.predictions, judge.least_rows, judge.leaf, judge.leaves]
    assert any(said), f"the constraint {kind!r} declares no `judged`: the laws cannot tell which trees satisfy it"
    assert able_models(module) != "no model takes it", f"no model declares that it takes {module.SUBJECT!r}"


def _posed(problem, kind):
    """The problem with the first constraint of this kind that this data takes, after the least bound."""
    tried = CONSTRAINTS.get(kind).tries(problem.encoded)
    assert tried, f"the constraint {kind!r} declares no `tries`: the laws have no text of it to draw"
    for text in tried[1:] + tried[:1]:
        with contextlib.suppress(ChoiceError):
            return posed(problem, [text])
    raise AssertionError(f"the data here takes none of the texts of {kind!r}: {tried[0]}, …")


def _drawn(form):
    """One data set of several thresholds, for every form."""
    from odtc.data.dataset import Dataset, Feature
    from odtc.data.encoding import encode
    from odtc.problem.parameters import parse_params
    from odtc.problem.problem import Problem
    from odtc.trees.complete_tree import CompleteTree

    X = np.array([[0.0, 0], [0, 1], [1, 0], [2, 1], [2, 2], [1, 2]])
    features = (Feature("size", "numeric"), Feature("colour", "categorical", ("blue", "red", "white")))
    dataset = Dataset("small", X, np.array([0, 1, 1, 0, 1, 0], np.int32), features, ("no", "yes"), np.ones(6))
    return Problem(encode(dataset), CompleteTree(2), form[0], parse_params(*form))


@given(data=st.data())
@settings(max_examples=60, **SLOW)
def test_cuts_hold_beside_constraints_or_are_refused(data):
    problem = data.draw(constrained(*data.draw(st.sampled_from(SUMS)), depths=(1, 2, 2), most_rows=8))
    plain = built(problem)
    model = cut.add(problem, plain, cut.choose(problem, plain, "all"))
    assert all(CUTS.get(name).VALID != AN_OPTIMUM for name in model.cuts)
    assert optimum(model)[0] == pytest.approx(optimum(plain)[0], abs=1e-6)
    x = complete(problem, model, data.draw(heaps(problem)))
    assert_rows_kept(model, x)
    for name in CUTS.names():
        if CUTS.get(name).VALID == AN_OPTIMUM:
            with pytest.raises(
                ChoiceError, match="keeps some optimum of all trees, which need not keep the constraint"
            ):
                cut.choose(problem, plain, (name,))


@given(data=st.data())
@settings(max_examples=30, **SLOW)
def test_the_manifest_rebuilds_them(data, tmp_path_factory):
    problem = data.draw(constrained(*data.draw(st.sampled_from(BY_CONSTRAINT))))
    model, path = built(problem), tmp_path_factory.mktemp("m") / "m.odt.json"
    write_manifest(problem, model, path)
    manifest = read_manifest(path)
    assert manifest.problem.constraints == problem.constraints
    manifest.expect(built(manifest.problem))


@pytest.mark.parametrize("start", ["cart", "local_search"])
@given(data=st.data())
@settings(max_examples=30, **SLOW)
def test_starts_are_mended(start, data):
    problem = data.draw(constrained(*data.draw(st.sampled_from(BY_CONSTRAINT)), depths=(1, 2, 3)))
    model = pipeline.compile_model(problem)
    begun = pipeline.start(model, start)
    assume(begun is not None)  # some of these no tree keeps
    heap, x = begun
    assert not broken(problem, heap) and not broken(problem, problem.module.decode(problem, model.split(x)))
    assert_rows_kept(model, x)


@pytest.mark.parametrize("form", [("flowoct", {}), ("bendersoct", {"cuts": "none"}), ("cart", {})], ids=form_id)
@given(data=st.data())
@settings(max_examples=8, **SLOW)
def test_fits_keep_them_and_are_verified(form, data):
    problem = data.draw(problems(form, by_class=True, most_rows=10))
    problem = posed(problem, [data.draw(st.sampled_from(["branch_nodes <= 1", "leaves <= 3", "branch_nodes <= 2"]))])
    assert constraint.early(problem)
    if form[0] == "cart":
        decoded = pipeline.learn(problem).decoded
    else:
        model, solution = pipeline.solve_or_loop(pipeline.compile_model(problem), pipeline.SolvingSpec(threads=1))
        assert solution.objective == pytest.approx(least_kept(problem), abs=1e-5)
        decoded = pipeline.decode(model, solution)
    assert decoded.verified and [check.name for check in decoded.checks].count("constraint") == 1
