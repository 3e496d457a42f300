"""Certificates over thresholds: they prove the optimum, at an interruption a bound, and nothing that is false."""

import itertools
import json
import random
from types import SimpleNamespace

import numpy as np
import pytest

from odtc.algorithms.thresholds import binary_nodes, common_rows, ranks
from odtc.algorithms.thresholds.common_rows import CommonRows
from odtc.base import deadline
from odtc.data.dataset import Dataset, Feature
from odtc.errors import CertificateError, TimeLimitReached
from odtc.formulations.dpflow import interval_states, threshold_search
from odtc.formulations.dpflow.threshold_search import ThresholdSearch, certify
from odtc.formulations.dpflow.write_certificate import certify_search
from odtc.problem.branch_penalty import objective
from odtc.verification import interval_bound, pair_kernel
from odtc.verification.certificate import check
from odtc.verification.node_cuts import Rows
from odtc.verification.threshold_columns import distinct_columns
from tests import pipeline
from tests.command_line import odtc as command
from tests.threshold_problems import accepted, certificate, corrupt, draw, interrupted, is_true, optimum


@pytest.mark.parametrize("seed", range(20))
def test_the_certificate_of_a_search_proves_the_optimum(seed):
    problem = draw(seed)
    proof = check(certificate(interrupted(problem, None)), problem.encoded.dataset)
    assert proof.optimal and proof.objective == pytest.approx(optimum(problem), abs=1e-9)
    assert proof.of["constraints"] == [str(given) for given in problem.constraints]


@pytest.mark.parametrize("seed", [1, 4, 13])
def test_a_certificate_is_written_when_the_time_has_passed(seed, monkeypatch):
    """In numpy a bound that the search had dropped was sought anew, and looked at the clock that had ended it."""
    monkeypatch.setattr(binary_nodes.BinaryNodes, "solves", lambda self, height: False)
    problem = draw(seed, depths=(3,), wide=True)
    search = ThresholdSearch(problem)
    found = search.run()
    for key in [key for key in search.search.memo if key[0] == 2]:
        del search.search.memo[key]
    with deadline.within(-1.0):
        facts = json.loads(json.dumps(certify_search(search, found.heap)))
    assert accepted(facts, problem.encoded.dataset) is not None


@pytest.mark.parametrize("seed", range(10))
def test_a_bound_by_common_rows_has_a_certificate(seed, monkeypatch):
    """It states the very bound, and with one thing changed it is refused or still true."""
    monkeypatch.setattr(binary_nodes.BinaryNodes, "solves", lambda self, height: False)
    monkeypatch.setattr(common_rows, "MARGIN", 1.0 + seed % 4)
    problem, rnd = draw(seed, depths=(3 + (seed % 5 == 3),)), random.Random(seed)
    search, depth = ThresholdSearch(problem), problem.topology.depth
    common = CommonRows(search.search)
    for need in (1, 2, 5, 30):
        common.bound(depth, need)
    heap = search.splits.tree(search.search, problem.topology)
    facts = json.loads(json.dumps(certify_search(search, heap)))
    proof = check(facts, problem.encoded.dataset)
    assert proof.bound == pytest.approx(search.bound, abs=1e-9) and search.bound <= optimum(problem) + 1e-9
    for _ in range(4):
        changed, data = corrupt(facts, problem.encoded.dataset, rnd)
        if (proof := accepted(changed, data)) is not None:
            assert is_true(changed, proof, data)


@pytest.mark.slow
@pytest.mark.parametrize("depth", [3, 4, 5])
@pytest.mark.parametrize("values", [2, 4])
def test_the_certificate_of_what_kernels_found(depth, values, monkeypatch):
    """Kernels of height 3 and 4 keep no evaluated tests: those that a certificate needs are evaluated again."""
    monkeypatch.setattr(ranks, "LEAST", 0)
    monkeypatch.setattr(binary_nodes, "LONG", 1e8 * (depth % 2))
    rng, n = np.random.default_rng(depth), 90
    features = tuple(Feature(f"x{j}", "numeric") for j in range(8 if values == 2 else 4))
    X, y = rng.integers(0, values, (n, len(features))).astype(float), rng.integers(0, 2 + depth % 2, n).astype(np.int32)
    dataset = Dataset("drawn", X, y, features, tuple("pqr"[: y.max() + 1]), np.ones(n), "y", "drop")
    search = ThresholdSearch(pipeline.pose(dataset, "dpflow", depth))
    found = search.run()
    assert search.search.nodes.solves(3)
    proof = check(json.loads(json.dumps(certify_search(search, found.heap))), dataset)
    assert proof.optimal and proof.bound == found.bound > 0
    ended = interrupted(search.problem, 3)
    found = ended.run()
    proof = check(json.loads(json.dumps(found.certificate())), dataset)
    assert proof.bound == pytest.approx(found.bound)


@pytest.mark.slow
def test_few_binary_tests_have_states_like_all_others(monkeypatch):
    """Of the dynamic program there was another kind of certificate: 115 CPU s of check instead of 3."""
    rng, n = np.random.default_rng(4), 120
    X, y = rng.integers(0, 2, (n, 9)).astype(float), rng.integers(0, 2, n).astype(np.int32)
    features = tuple(Feature(f"x{j}", "numeric") for j in range(9))
    dataset = Dataset("drawn", X, y, features, ("p", "q"), np.ones(n), "y", "drop")
    problem = pipeline.pose(dataset, "dpflow", 4)
    found, best, states = threshold_search.search(problem), optimum(problem), {}
    for quick in (True, False):
        monkeypatch.setattr(interval_states, "is_quick", lambda *size, quick=quick: quick)
        for facts in (certify(problem), found.certificate()):
            proof = check(json.loads(json.dumps(facts)), dataset)
            assert proof.optimal and proof.objective == found.bound == best
            states[quick] = proof.steps["n_targets"]
    assert states[True] < states[False]
    with deadline.within(-1.0):
        facts = certify(pipeline.pose(dataset, "dpflow", 4))
    assert 0 <= check(facts, dataset).bound <= found.bound


@pytest.mark.parametrize(
    "seed", [*range(100, 140), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(140, 200))]
)
def test_at_an_interruption_the_bound_is_proved(seed, monkeypatch):
    """Of the 1,000 of benchmarks/proofs.py: the bound is never above the optimum, no tree is below it."""
    if seed % 2:  # by sums over pairs of tests
        monkeypatch.setattr(ranks, "LEAST", 0)
    problem, rnd = draw(seed, depths=(3,)), random.Random(seed)
    search = interrupted(problem, rnd.randrange(40))
    found = search.run()
    best = optimum(problem)
    assert found.bound <= best + 1e-9 and objective(problem, found.heap) >= best - 1e-9
    proof = check(json.loads(json.dumps(found.certificate())), problem.encoded.dataset)
    assert proof.bound == pytest.approx(found.bound, abs=1e-9)
    assert proof.objective == pytest.approx(objective(problem, found.heap), abs=1e-9)


def test_fifty_corruptions_are_refused_or_still_true():
    """Of the 1,000 of benchmarks/proofs.py."""
    refused = 0
    for seed in range(300, 350):
        problem, rnd = draw(seed), random.Random(seed)
        looks = rnd.choice([None, rnd.randrange(30)])
        facts, rows = corrupt(certificate(interrupted(problem, looks)), problem.encoded.dataset, rnd)
        proof = accepted(facts, rows)
        assert proof is None or is_true(facts, proof, rows), seed
        refused += proof is None
    assert refused > 25


@pytest.mark.parametrize("seed", range(500, 510))
def test_no_bound_above_the_optimum_is_accepted(seed):
    problem = draw(seed)
    facts = certificate(interrupted(problem, None))
    words = facts["states"][0].split(",")
    facts["states"][0] = ",".join([str(int(words[0]) + 1), *words[1:]])
    facts["bound"] += 1
    facts["claim"] += 1
    with pytest.raises(CertificateError):
        check(facts, problem.encoded.dataset)


@pytest.mark.parametrize("seed", [800, 802, 803, 806, 808, 809, 810, 811])
def test_three_levels_are_counted_from_the_data(seed):
    """A state without points holds the optimum by trying every tree, and no more."""
    problem = draw(seed, (3,), wide=seed % 2 == 0)
    facts = certificate(interrupted(problem, None))
    assert not problem.constraints  # with a least number of rows in a leaf states name others
    best = int(facts["states"][0].split(",")[0])
    assert check(facts | {"states": [str(best)]}, problem.encoded.dataset).optimal
    with pytest.raises(CertificateError, match="three levels|a single label"):
        check(facts | {"states": [str(best + 1)], "bound": facts["bound"] + 1}, problem.encoded.dataset)


def test_of_two_bounds_of_a_side_one_of_all_trees_is_enough():
    """Of pima-diabetes with 10 rows in each leaf the check counted 710 states instead of 415, in six times the time."""
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 30, (120, 3)).astype(float), rng.integers(0, 2, 120).astype(np.int32)
    features = tuple(Feature(f"x{j}", "numeric") for j in range(3))
    dataset = Dataset("drawn", X, y, features, ("p", "q"), np.ones(120), "y", "drop")
    problem = pipeline.pose(dataset, "dpflow", 3, constraints=["leaf_rows >= 8"])
    facts = certify(problem)
    assert check(json.loads(json.dumps(facts)), dataset).optimal
    root, below = (text.split(";") for text in facts["states"])
    sides: dict[tuple[int, int, int], dict[bool, int]] = {}
    numbers = list(map(int, root[0].split(",")[1:]))
    for column, cut, *named in zip(*(numbers[at::4] for at in range(4))):
        for side, number in enumerate(named):
            if number and column < len(facts["columns"]):
                entry = below[number - 1]
                sides.setdefault((column, cut, side), {})[entry[0] == "f"] = int(entry.removeprefix("f"))
    twice = [bounds for bounds in sides.values() if len(bounds) > 1]
    idle = [bounds for bounds in twice if bounds[False] <= bounds[True]]  # another split may name more
    assert twice and len(idle) < len(twice) / 4, (len(idle), len(twice))


@pytest.mark.parametrize("seed", [20024, 20150, 20153, 20249])
def test_a_cut_that_another_column_has_too_is_closed_there(seed):
    """Of equal tests of two columns the search evaluates one."""
    problem = draw(seed, (3,), wide=True)
    assert check(certificate(interrupted(problem, None)), problem.encoded.dataset).optimal


@pytest.mark.parametrize("seed", range(4))
def test_what_is_left_out_of_a_certificate_is_not_needed(seed):
    """Cuts may be closed by others than those beside them, as many are evaluated only so far as they matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 3)).round(1 + seed % 2)
    y = ((X[:, 0] + X[:, 1] > 0.3) ^ (rng.random(90) < 0.2)).astype(np.int32)
    features = tuple(Feature(name, "numeric") for name in "abc")
    dataset = Dataset("drawn", X, y, features, ("p", "q"), np.ones(90))
    assert check(certificate(interrupted(pipeline.pose(dataset, "dpflow", 3), None)), dataset).optimal


@pytest.mark.parametrize("seed", [700, 701, 703, 704])
def test_what_the_search_forgot_is_not_needed(seed):
    """Entries of little height are dropped if the memory ends: their bounds stand with the cuts that asked for them."""
    problem = draw(seed, (3,))
    search = interrupted(problem, None)
    heap = search.run().heap
    for key in [key for key in search.search.memo if key[0] == 2]:
        del search.search.memo[key]
    assert check(certify_search(search, heap), problem.encoded.dataset).optimal


@pytest.mark.parametrize("seed", range(3))
def test_a_certificate_of_a_run_is_not_written_beyond_its_limit(seed):
    search = interrupted(draw(seed, (3,)), None)
    found = search.run()
    with deadline.within(-1), pytest.raises(TimeLimitReached):
        found.certificate()
    assert check(found.certificate(), search.problem.encoded.dataset).optimal


def test_no_bound_comes_from_beyond_the_end_of_a_column():
    """A column with fewer cuts than another took a bound from the empty places behind its last one."""
    problem, rnd = draw(10704, wide=True), random.Random(10704)
    facts = certificate(interrupted(problem, rnd.choice([None, rnd.randrange(60)])))
    changed, rows = corrupt(facts, problem.encoded.dataset, rnd)
    assert accepted(changed, rows) is None


KERNEL = pair_kernel.least_pair.function


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_kernel_that_pauses_at_every_step_finds_what_it_finds_at_once(n_classes, monkeypatch):
    """The least cost of two tests after each other is counted from the data, tree by tree."""
    random = np.random.default_rng(n_classes)
    for _ in range(12):
        table = random.integers(0, 6, (14, 3))
        loss = random.integers(1, 4, (14, 1)) * (1 - np.eye(n_classes)[random.integers(0, n_classes, 14)])
        rows = Rows(distinct_columns(table), loss, np.ones(14, np.int64), float(random.integers(0, 2)), 1)
        members = np.flatnonzero(random.random(14) < 0.8)
        cuts = [table[members, column] <= cut for column in range(3) for cut in range(5)]

        def best(inside, height, cuts=cuts, loss=loss, rows=rows, members=members):
            cost = loss[members][inside].sum(axis=0).min()
            for cut in cuts if height else ():
                cost = min(cost, rows.price + best(inside & cut, height - 1) + best(inside & ~cut, height - 1))
            return cost

        whole = np.ones(len(members), bool)
        least = min(rows.price + best(cut, 1) + best(~cut, 1) for cut in cuts if 0 < cut.sum() < len(cut))
        assert least >= best(whole, 2)
        pauses = []

        def kernel(*given, pauses=pauses):
            pauses.append(KERNEL(*given))
            return pauses[-1]

        monkeypatch.setattr(pair_kernel, "least_pair", kernel)
        for steps in (0, 10, 10**9):
            monkeypatch.setattr(interval_bound, "KERNEL_STEPS", steps)
            interval_bound.PairCheck().require(rows, members, least)
            with pytest.raises(CertificateError, match="a tree of two splits after each other costs"):
                interval_bound.PairCheck().require(rows, members, least + 1)
        assert pair_kernel.PAUSED in pauses


def test_the_deadline_ends_the_check_of_one_tree_of_depth_two(monkeypatch):
    """Of 300 rows and 2,000 columns a fit with a limit of 30 s ended after 44, as nothing ended that check."""
    problem = draw(607, (2,))
    facts, looks = certificate(interrupted(problem, None)), itertools.count(1)

    def passes() -> None:
        if next(looks) == 3:
            raise TimeLimitReached("it has passed")

    monkeypatch.setattr(interval_bound, "KERNEL_STEPS", 0)
    monkeypatch.setattr(interval_bound, "deadline", SimpleNamespace(check=passes))
    with pytest.raises(TimeLimitReached):
        check(facts, problem.encoded.dataset)


def test_the_command_writes_no_table_of_tests(tmp_path, monkeypatch):
    """Over many thresholds a proof is written and read by ranks; at a limit it is one of the bound."""
    monkeypatch.setattr("odtc.data.ranked_answers.MOST_CELLS", 0)
    rng = np.random.default_rng(3)
    rows = np.column_stack([rng.integers(0, 150, (400, 40)), rng.integers(0, 2, 400)]).tolist()
    names = ",".join([*(f"x{j}" for j in range(40)), "y"])
    (tmp_path / "wide.csv").write_text("\n".join([names, *(",".join(map(str, row)) for row in rows)]) + "\n")
    words = ("certify", "wide.csv", "--depth", 3, "--time-limit", 0.5, "-o", "c.json", "--json")
    made = command(*words, folder=tmp_path)
    assert made.code == 0, made.err
    assert made.facts["bound"] < made.facts["objective"] and made.facts["termination"] != "optimal"
    read = command("verify", "--certificate", "c.json", "--json", folder=tmp_path)
    assert read.code == 0 and read.facts["verified"] and not read.facts["optimal"]
    assert (read.facts["bound"], read.facts["objective"]) == (made.facts["bound"], made.facts["objective"])
    assert "the bound is proved, not the tree" in command("verify", "--certificate", "c.json", folder=tmp_path).out


def test_a_check_that_does_not_end_in_time_leaves_the_proof_of_the_search(tmp_path, monkeypatch):
    from odtc.errors import TimeLimitReached
    from odtc.formulations.dpflow import write_certificate

    def late(*given):
        raise TimeLimitReached("late")

    (tmp_path / "a.csv").write_text("x,z,y\n" + "".join(f"{x},{x * 7 % 10},{x * x % 3 % 2}\n" for x in range(40)))
    good = command("fit", "a.csv", "--json", folder=tmp_path).facts
    monkeypatch.setattr(write_certificate, "certify_search", late)
    said = command("fit", "a.csv", "--json", folder=tmp_path)
    assert "certified" not in said.facts and said.facts["termination"] == "optimal"
    assert said.facts["bound"] == said.facts["objective"] == good["objective"]
    assert "but a check would take longer than the search" in said.err


def test_a_search_whose_certificate_is_refused_has_proved_nothing(tmp_path, monkeypatch):
    from odtc.formulations.dpflow import write_certificate

    (tmp_path / "a.csv").write_text("x,z,y\n" + "".join(f"{x},{x * 7 % 10},{x * x % 3 % 2}\n" for x in range(40)))
    good = command("fit", "a.csv", "--json", folder=tmp_path).facts
    assert (good["termination"], good["certified"]) == ("optimal", True)
    make = write_certificate.certify_search

    def forged(*given):
        facts = make(*given)
        return facts | {"bound": facts["bound"] - 1}

    monkeypatch.setattr(write_certificate, "certify_search", forged)
    bad = command("fit", "a.csv", "--json", folder=tmp_path).facts
    assert (bad["termination"], bad["certified"]) == ("unknown", False)
    assert bad["bound"] < bad["objective"] == good["objective"]


@pytest.mark.parametrize("least", [2, 3])
def test_rows_that_cost_the_same_whatever_is_said_count_in_a_leaf(least):
    """Of four numbers the outer two hold a row of each class: without these no leaf would have three rows, and a bound
    of 3 would follow, which is true of leaves of four rows only."""
    cells, y = np.array([[0.0], [0], [1], [2], [3], [3]]), np.array([0, 1, 0, 1, 0, 1], np.int32)
    dataset = Dataset("d", cells, y, (Feature("a", "numeric"),), ("n", "p"), np.ones(6))
    facts, of_four = (
        certificate(
            interrupted(pipeline.pose(dataset, "dpflow", 1, encoding="thresholds", constraints=(constraint,)), None)
        )
        for constraint in (f"leaf_rows >= {least}", "leaf_rows >= 4")
    )
    assert check(facts, dataset).bound == 2 and check(of_four, dataset).bound == 3
    with pytest.raises(CertificateError, match="one split costs less than the target 1"):
        check(of_four | {"least": least, "of": facts["of"]}, dataset)


def test_the_check_ends_at_the_deadline_between_columns():
    """A name and a date for each row are 10,000 columns, and a limit of 20 s was passed by 29."""
    problem = draw(3)
    facts = certificate(interrupted(problem, None))
    with deadline.within(-1.0), pytest.raises(TimeLimitReached):
        check(facts, problem.encoded.dataset)
    assert check(facts, problem.encoded.dataset).optimal
