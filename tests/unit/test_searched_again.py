"""Figures of a run that a second search proves, against exhaustive search, and those that remain claims of the run."""

import math
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from odtc.base import deadline
from odtc.data.reading import from_frame
from odtc.formulations.dpflow.searched import Fewest
from odtc.problem.constraints.search_terms import search_problem
from odtc.testing.exhaustive import cheapest, least_losses
from odtc.verification.verify import one_leaf
from odtc.workflow.provenance.searched_again import (
    SearchedAgain,
    claimed_facts,
    claimed_text,
    least_objective,
    least_prices,
    search_again,
    search_solved,
    tree_size,
)
from tests import pipeline
from tests.command_line import MONKS

FIGURES = ["termination", "bound", "gap", "certified", "fewest_leaves", "fewest_columns"]


@cache
def dataset():
    rng = np.random.default_rng(4)
    X = rng.integers(0, 4, (50, 3))
    y = ((X[:, 0] > 1) ^ (X[:, 1] > 2) ^ (rng.random(50) < 0.2)).astype(int)
    return from_frame(pl.DataFrame({**dict(zip("abc", X.T.tolist())), "y": y.tolist()}), "d")


@cache
def done():
    return pipeline.fit(dataset(), "dpflow", 2)


def best_of(problem, price=0.0, share=1.0):
    encoded = problem.encoded
    return cheapest(np.asarray(encoded.X), encoded.y, encoded.weight, problem.topology.depth, price, share)


def test_the_figures_of_a_search_are_derived_again():
    again = search_again(done().problem, done().decoded.heap, 60)
    assert again.bound == done().proof.bound == best_of(done().problem) > 0
    assert again.certified and again.size == tree_size(done().problem, done().decoded.heap)
    assert sorted(again.derived(done())) == sorted(FIGURES)
    (name, heap), facts = again.trees[0], done().facts
    assert done().problem.module.objective(done().problem, heap) == again.bound and "repeated search" in name
    left = claimed_facts(facts, again.derived(done()))
    assert "solver" in left and "seconds" in left and not {*left} & {*FIGURES} and not claimed_text(left, 1)


def test_without_a_search_only_equivalent_points_say_something():
    again = search_again(done().problem, done().decoded.heap, 0)
    assert again == SearchedAgain(done().problem, again.bound) and again.bound < done().proof.bound
    assert again.derived(done()) == []
    left = claimed_facts(done().facts, [])
    assert {*FIGURES} < {*left} and left == [key for key in done().facts if key in left]
    words = claimed_text(left, 2.5)
    assert words.startswith("termination, bound, gap, fewest leaves, fewest columns, certified: claimed by the run")
    assert "costs less than 2.5 " in words


def test_a_word_that_claims_nothing_is_none():
    facts = {"bound": None, "certified": False, "nodes": 0, "gap": 0.0, "start": "", "objective": 3.0, "seconds": 1.0}
    assert claimed_facts(facts, []) == ["nodes", "gap", "seconds"]
    assert claimed_facts(facts, ["gap"]) == ["nodes", "seconds"]
    assert claimed_text(["nodes", "seconds"], 1.0) == ""


def test_what_is_derived_of_figures_that_a_record_changed():
    paid = done().proof.objective
    again = SearchedAgain(done().problem, paid, (), True, tree_size(done().problem, done().decoded.heap))
    every = ["certified", "bound", "gap", "termination", "fewest_leaves", "fewest_columns"]

    def derived(again, **proof):
        return again.derived(replace(done(), proof=replace(done().proof, **proof)))

    assert derived(again) == every
    assert derived(again, bound=paid - 1) == every  # whatever is below what was found
    for bound in (paid + 1, math.inf, math.nan, None):
        assert derived(again, bound=bound) == [key for key in every if key not in ("bound", "gap")]
    assert "termination" not in derived(again, termination="time_limit")
    assert "termination" not in derived(again, objective=paid + 1)
    short = replace(again, bound=paid - 1)
    assert derived(short) == ["certified", "fewest_leaves", "fewest_columns"]
    assert derived(short, bound=paid - 1) == ["certified", "bound", "gap", "fewest_leaves", "fewest_columns"]
    assert derived(replace(again, certified=False)) == every[1:]
    leaves, columns = again.size
    assert derived(replace(again, size=(leaves,))) == every[:-1]
    assert derived(replace(again, size=(leaves, columns + 1))) == every[:-1]
    assert derived(replace(again, size=(leaves - 1, columns))) == every[:-2]
    assert derived(replace(again, size=())) == every[:-2]


@pytest.mark.parametrize(
    ("formulation", "params", "price", "share"),
    [
        ("flowoct", {}, 0.0, 1.0),
        ("flowoct", {"lambda": 0.25}, 0.25, 0.75),
        ("binoct", {}, 0.0, 1.0),
        ("oct", {"alpha": 0.1}, "alpha", 1.0),
        ("dpflow", {"tail": "0"}, 0.0, 1.0),
        ("cart", {}, 0.0, 1.0),
    ],
)
def test_the_search_of_all_trees_bounds_other_formulations_at_their_prices(formulation, params, price, share):
    make = pipeline.fit if formulation == "cart" else pipeline.build
    problem = make(dataset(), formulation, 2, params=params, encoding="onehot").problem
    if price == "alpha":
        price = 0.1 * float(problem.encoded.loss.sum(axis=0).min())
    best = best_of(problem, price, share)
    again = search_again(problem, None, 60)
    assert again.bound == pytest.approx(best, rel=1e-9) and least_prices(problem) == pytest.approx((share, price))
    assert not again.certified and again.size == () and len(again.trees) == 1
    assert problem.module.objective(problem, again.trees[0][1]) >= best - 1e-9


def test_of_another_tree_than_the_best_nothing_but_the_bound_is_derived():
    """The fewest leaves of the best trees say nothing of one that costs more."""
    problem = done().problem
    leaf = one_leaf(problem)
    again = search_again(problem, leaf, 60)
    assert problem.module.objective(problem, leaf) > again.bound == done().proof.bound
    assert not again.certified and again.size == ()


def test_less_than_a_second_is_searched_too():
    assert search_again(done().problem, None, 0.9).trees and not search_again(done().problem, None, 0.0).trees


def test_prices_that_do_not_tell_what_a_leaf_costs_bound_nothing():
    plain = done().problem
    module = SimpleNamespace(objective=lambda *_: 7.5, unit_costs=lambda _: (1.0, 0.5), can=lambda _: True)
    lost = one_leaf(plain).loss(plain.encoded)
    for paid, told in ((lost, (1.0, 0.5)), (lost * (1 + 1e-3), (0.0, 0.0)), (lost / 2, (0.0, 0.0))):
        module.objective = lambda *_, paid=paid: paid
        assert least_prices(SimpleNamespace(encoded=plain.encoded, topology=plain.topology, module=module)) == told


def test_constraints_that_the_search_keeps_are_kept():
    free = pipeline.build(dataset(), "flowoct", 2, encoding="onehot").problem
    kept = pipeline.build(dataset(), "flowoct", 2, encoding="onehot", constraints=("leaves <= 2",)).problem
    stump = pipeline.build(dataset(), "flowoct", 1, encoding="onehot").problem
    assert search_again(kept, None, 60).bound == best_of(stump) > search_again(free, None, 60).bound == best_of(free)


@pytest.mark.parametrize("formulation", ["oct_h", "fair"])
def test_hyperplanes_and_sets_of_levels_are_bounded_by_no_search_over_tests(formulation):
    problem = pipeline.build(dataset(), formulation, 1).problem
    assert search_again(problem, None, 60) == SearchedAgain(problem, 0.0)


def test_a_solved_model_is_searched_if_a_bound_is_claimed_of_it():
    from odtc.model.solution import Solution, Termination

    model = pipeline.build(dataset(), "flowoct", 1, encoding="onehot")
    said = Solution(None, Termination.OPTIMAL, 20.0, 20.0, 1.0, "X")
    assert search_solved(model, said, 60).trees and search_solved(model, said, 60).bound == best_of(model.problem)
    assert not search_solved(model, replace(said, bound=None), 60).trees
    assert not search_solved(model, replace(said, scope="some trees"), 60).trees
    assert not search_solved(replace(model, edited=model), said, 60).trees


def test_what_a_learner_counts_has_no_price_of_nodes():
    assert least_prices(pipeline.pose(MONKS / "monks-1.csv", "cart", 1, encoding="onehot")) == (1, 0)


@pytest.mark.parametrize("looks", [0, 1, 2, 9])
def test_an_interruption_of_any_part_ends_it_unless_a_result_is_in_hand(looks, monkeypatch):
    """The search looks for one after it, and, if its tree is proved, after the check of its certificate."""
    problem, heap = done().problem, done().decoded.heap

    def came(count):
        seen = []
        monkeypatch.setattr(deadline, "is_interrupted", lambda: seen.append(1) or len(seen) > count)
        return seen

    for known, parts in ((heap, 2), (None, 1)):
        seen = came(looks)
        if looks < parts:
            with pytest.raises(KeyboardInterrupt):
                search_again(problem, known, 60)
            assert len(seen) == looks + 1
        else:
            assert search_again(problem, known, 60).bound == done().proof.bound
        came(looks)
        assert search_again(problem, known, 60, in_hand=True).bound == done().proof.bound


@pytest.mark.parametrize("price", [0.12345678912345, 0.5])
def test_a_bound_of_sums_that_are_rounded_is_below_every_tree(price):
    """Weights of so many digits that the price of a node is rounded; the trees are tried with the price itself."""
    weight = np.random.default_rng(0).integers(10**7, 3 * 10**7, 50).astype(float)
    problem = pipeline.pose(
        replace(dataset(), weight=weight), "dpflow", 2, params={"lambda": price}, constraints=("leaves <= 3",)
    )
    encoded, off = problem.encoded, search_problem(problem).off
    losses = least_losses(np.asarray(encoded.X), encoded.y, encoded.weight, 2, encoded.cost, encoded.copies)
    best = min((1 - price) * loss + price * nodes for (nodes, _), loss in losses.items() if nodes <= 2)
    assert (off > 0.5) == (price != 0.5)
    assert best - 2 * off - 1e-6 <= search_again(problem, None, 60).bound <= best + 1e-6


@pytest.mark.parametrize(("leaves", "columns", "proved"), [(1, 1, 2), (1, 0, 1), (0, 1, 0), (0, 0, 0)])
def test_of_a_size_no_more_is_told_than_the_search_has_proved(leaves, columns, proved):
    problem, heap = done().problem, done().decoded.heap

    class Partly:
        def __getattr__(self, name):
            return getattr(problem.module, name)

        def search(self, *given):
            return replace(problem.module.search(*given), fewest=Fewest(bool(leaves), bool(columns)))

    again = search_again(replace(problem, module=Partly()), heap, 60)
    assert again.size == tree_size(problem, heap)[:proved] and again.bound == done().proof.bound


@pytest.mark.parametrize("formulation", ["dpflow", "flowoct", "oct_h", "fair"])
def test_rows_that_no_test_tells_apart_bound_every_tree(formulation):
    """Of each kind of rows all but the commonest class are wrong in any tree; hyperplanes and sets of levels part
    more, so nothing is known of theirs."""
    problem = pipeline.build(dataset(), formulation, 1).problem
    kinds = {}
    for cells, y in zip(dataset().X.tolist(), dataset().y.tolist()):
        kinds.setdefault(tuple(cells), [0, 0])[y] += 1
    lost = sum(min(counts) for counts in kinds.values())
    assert lost > 0 and least_objective(problem) == (lost if formulation in ("dpflow", "flowoct") else 0)
    assert search_again(problem, None, 0).bound == least_objective(problem)


@pytest.mark.parametrize("formulation", ["flowoct", "binoct"])
def test_a_search_of_all_trees_certifies_nothing_of_another_formulations_tree(formulation):
    """Though it bounds that tree, which is the best one: its certificate and its size are of other trees."""
    problem = pipeline.build(dataset(), formulation, 2, encoding="onehot").problem
    (_, heap), *_ = search_again(problem, None, 60).trees
    again = search_again(problem, heap, 60)
    assert problem.module.objective(problem, heap) == again.bound == best_of(problem)
    assert not again.certified and again.size == ()


@cache
def two_names():
    """y is one of four values of a: two tests of a tell it, one of which c asks as well."""
    a = np.random.default_rng(1).permutation(np.repeat([0, 1, 2, 3], 6))
    return from_frame(pl.DataFrame({"c": (a > 1).astype(int), "a": a, "y": (a == 2).astype(int)}), "d")


def test_the_columns_of_the_tree_that_is_met_are_the_fewest():
    """c > 0 and a > 2 are right on all rows, and so are two tests of a alone."""
    done = pipeline.fit(two_names(), "dpflow", 2)
    again = search_again(done.problem, done.decoded.heap, 60)
    assert again.bound == 0 and again.size == (3, 1) == tree_size(done.problem, again.trees[0][1])


@pytest.mark.parametrize("formulation", ["flowoct", "binoct"])
def test_the_tree_that_is_met_is_one_of_another_formulation(formulation):
    """It has no tests beyond those of the encoding, whatever the search says of columns."""
    problem = pipeline.build(two_names(), formulation, 2).problem
    again = search_again(problem, None, 60)
    assert again.bound == 0 and [problem.module.objective(problem, heap) for _, heap in again.trees] == [0]
    assert again.trees[0][1].beyond is None


@pytest.mark.parametrize("formulation", ["dpflow", "flowoct"])
def test_a_search_that_finds_no_tree_bounds_nothing(formulation):
    """No tree keeps the constraints, though that is not told of its data before: no number is made of that."""
    asked = ("recall[0] >= 0.99", "recall[1] >= 0.99")
    problem = pipeline.pose(dataset(), formulation, 1, encoding="onehot", constraints=asked)
    again = search_again(problem, None, 60)
    assert again.trees == () and math.isfinite(again.bound) and again.bound >= 0


@pytest.mark.parametrize("formulation", ["flowoct", "binoct", "cart"])
def test_where_nothing_can_be_lost_no_price_is_searched_for(formulation):
    """Rows of one class: a leaf costs nothing, which does not tell the price of a row."""
    alone = replace(dataset(), y=np.zeros_like(dataset().y), classes=dataset().classes[:1])
    problem = pipeline.pose(alone, formulation, 1, encoding="onehot")
    assert search_again(problem, None, 60).bound == 0


def test_a_price_that_is_not_known_is_none():
    """Prices of a formulation whose leaf costs otherwise than they say: nothing is searched for them."""
    plain = pipeline.build(dataset(), "flowoct", 1, encoding="onehot").problem

    class Other:
        def __getattr__(self, name):
            return getattr(plain.module, name)

        def objective(self, problem, heap):
            return plain.module.objective(problem, heap) + 3.0

    problem = replace(plain, module=Other()) if "module" in vars(plain) else plain
    assert least_prices(problem) == (0.0, 0.0)
    assert not search_again(problem, None, 60).trees


@pytest.mark.parametrize("bound", [math.inf, -math.inf, math.nan])
def test_a_bound_that_is_no_number_is_none(bound):
    """And the tree that is met is the one of the search if none of fewer columns is told."""
    problem = done().problem

    class Partly:
        def __getattr__(self, name):
            return getattr(problem.module, name)

        def search(self, *given):
            return replace(problem.module.search(*given), bound=bound, written=None)

    again = search_again(replace(problem, module=Partly()), None, 60)
    assert again.bound == least_objective(problem)
    assert [problem.module.objective(problem, heap) for _, heap in again.trees] == [done().proof.objective]
