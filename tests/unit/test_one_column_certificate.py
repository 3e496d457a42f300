"""Certificates of trees over the thresholds of one column from depth 4 on: both checkers look at all of their walks."""

import copy
import json
import random
import shutil
from itertools import product

import numpy as np
import pytest

import odtc
from odtc.algorithms.constrained.constrained_problem import only
from odtc.data.dataset import Dataset
from odtc.data.reading import read
from odtc.errors import CertificateError
from odtc.formulations.dpflow.write_constrained_certificate import _arrays, certify_constrained
from odtc.verification.certificate import check
from odtc.verification.constrained.constrained_certificate import read_problem
from tests import pipeline
from tests.unit.algorithms.every_tree import cheapest_feasible
from tests.unit.test_constrained_certificate import cheapest_by_trying, corrupted, is_true
from tests.unit.test_second_checker import asked, ours

BESIDE = (
    ("recall[yes] >= 0.7",),
    ("leaf_rows >= 2", "statistical_parity[group=side:p,positive=yes] <= 0.2"),
    ("precision[yes] >= 0.7", "recall[yes] >= 0.5"),
    ("leaf_class_rows[yes] >= 2", "leaves <= 6"),
    ("class_leaves[no] <= 1",),
    ("accuracy >= 0.97", "branch_nodes <= 4"),
    (),
)


def drawn(seed: int, folder, words: bool = False) -> Dataset:
    """Rows of a file: two columns of few numbers, of which some lack, or one of words, and an auxiliary column."""
    rng, file = np.random.default_rng(seed), folder / f"drawn{seed}.csv"
    n = int(rng.integers(8, 12))
    a, b, side = rng.integers(0, 5, n), rng.integers(0, 4, n), rng.choice(list("pq"), n)
    y = np.where((a % 2 + b % 2 + rng.integers(0, 2, n)) > 1, "yes", "no")
    y[:2], side[:2] = ("no", "yes"), ("p", "q")
    first = ["" if one else str(value) for one, value in zip(rng.random(n) < 0.1, a)]
    second = ["uvw"[value % 3] if words else str(value) for value in b]
    weight = rng.choice([1, 1, 2, 0.5], n)
    lines = [f"{one},{two},{s},{w:g},{k}" for one, two, s, w, k in zip(first, second, side, weight, y)]
    file.write_text("\n".join(["a,b,side,w,class", *lines]) + "\n")
    return read(file, "class", weights="w", auxiliary=("side",), missing="separate")


def cheapest(facts: dict, data: Dataset) -> int | None:
    """The least cost of every tree that satisfies what a certificate states, column by column if it may test one."""
    read_in = read_problem(facts, data)
    if read_in.problem.most_columns != 1 or read_in.problem.together or read_in.problem.most_splits is not None:
        return cheapest_by_trying(facts, data)
    arrays = _arrays(read_in, np.ones(len(read_in.problem.column), bool))
    each = [cheapest_feasible(only(arrays, np.flatnonzero(arrays.column == c))) for c in np.unique(arrays.column)]
    return min((cost for cost in each if cost is not None), default=None)


def certificate(data: Dataset, depth: int, *constraints: str, **words) -> dict:
    problem = pipeline.pose(data, "dpflow", depth, encoding="auto", constraints=constraints, **words)
    return json.loads(json.dumps(certify_constrained(problem)[0]))


@pytest.mark.parametrize("seed", range(14))
def test_the_claim_is_the_least_of_every_tree(seed, tmp_path):
    data, texts = drawn(seed, tmp_path), BESIDE[seed % len(BESIDE)]
    facts = certificate(data, 4, "features <= 1", *texts, params={"lambda": [0.0, 0.1][seed // 7]})
    assert facts["cases"] and all("root" not in case for case in facts["cases"]) and not facts["passes"]
    assert facts["claim"] == cheapest(facts, data)
    assert ours(facts, data.source["path"]).startswith("proved")


@pytest.mark.parametrize("depth", [4, 5])
def test_walks_may_be_told_by_their_roots_as_other_trees_are(depth, tmp_path):
    """Where the tests are few: each root of a column is a case then, with the same multipliers."""
    data = drawn(0, tmp_path)
    facts = certificate(data, depth, "features <= 1", "recall[yes] >= 0.7")
    found = read_problem(facts, data)
    cases = [
        case | {"root": root}
        for case in facts["cases"]
        for root, column in enumerate(found.problem.column.tolist())
        if [found.names[column]] == case["columns"]
    ]
    assert len(cases) > len(facts["cases"])
    assert check(facts | {"cases": cases}, data).steps["n_listed"] == len(cases)
    with pytest.raises(CertificateError, match="neither excluded by multipliers nor listed"):
        check(facts | {"cases": cases[:-1]}, data)
    if shutil.which("node"):
        each = [facts | {"cases": some} for some in (cases, cases[:-1])]
        assert [one.split()[0] for one in asked(each, data.source["path"])] == ["proved", "refused"]


@pytest.mark.parametrize("seed", range(3))
def test_words_are_told_by_their_roots_beside_it(seed, tmp_path):
    data = drawn(20 + seed, tmp_path, words=True)
    facts = certificate(data, 4, "features <= 1", *BESIDE[seed])
    assert [case for case in facts["cases"] if case["columns"] == ["a"]][0].keys() == {"columns", "multipliers"}
    assert facts["claim"] == cheapest(facts, data)
    forged = copy.deepcopy(facts)
    forged["cases"].insert(0, {"columns": ["b"], "multipliers": forged["cases"][0]["multipliers"]})
    assert ours(forged, data.source["path"]).startswith("refused the certificate lists all trees over b as one case")
    assert not shutil.which("node") or asked([forged], data.source["path"])[0].startswith(
        "refused it lists all trees over b"
    )


def test_corruptions_are_refused_or_still_true_and_both_say_the_same(tmp_path):
    draw, seen = random.Random(3), 0
    for seed in range(4):
        data = drawn(seed, tmp_path)
        facts = certificate(data, 4, "features <= 1", *BESIDE[seed])
        lower = {"claim": 1 if facts["claim"] is None else facts["claim"] + 1}
        every = [facts, facts | lower, facts | {"cases": facts["cases"][1:]}]
        every += [corrupted(draw, facts) for _ in range(6)]
        every = [one for one in every if one.get("data") == facts["data"]]
        mine = [ours(one, data.source["path"]) for one in every]
        for one, told in zip(every, mine):
            assert told.startswith("refused") or is_true(one, cheapest(one, data)), one
        assert [told.split()[0] for told in mine[:3]] == ["proved", "refused", "refused"], mine[:3]
        seen += sum(told.startswith("refused") for told in mine[3:])
        if shutil.which("node"):
            theirs = asked(every, data.source["path"])
            assert [one.split()[0] for one in theirs] == [one.split()[0] for one in mine], (theirs, mine)
    assert seen > 8


def many(folder, n: int = 110) -> Dataset:
    """A table of two columns, one of them of as many numbers as rows."""
    rng, file = np.random.default_rng(n), folder / "many.csv"
    a, b = rng.permutation(n), rng.integers(0, 30, n)
    y = np.where(np.sin(a / 9) + rng.normal(0, 0.6, n) > 0, "yes", "no")
    file.write_text("a,b,class\n" + "".join(f"{one},{two},{k}\n" for one, two, k in zip(a, b, y)))
    return read(file, "class")


def least_of_intervals(rank: np.ndarray, y: np.ndarray, leaves: int, recalled: int) -> int:
    """The fewest errors of at most so many intervals of ranks with so many rows of class 1 that are predicted it."""
    ones, rows = (np.bincount(rank, of) for of in (y, np.ones(len(y))))
    states = {(0, 1): {0: 0}, (1, 1): {0: 0}}  # (label of the last interval, intervals): {recalled: errors}
    for one, n in zip(ones.astype(int).tolist(), rows.astype(int).tolist()):
        new: dict = {}
        for (label, count), known in states.items():
            for other in (0, 1):
                more = count + (other != label)
                if more > leaves:
                    continue
                own = new.setdefault((other, more), {})
                for got, errors in known.items():
                    key, cost = got + one * other, errors + (n - one if other else one)
                    own[key] = min(cost, own.get(key, cost))
        states = new
    return min(errors for known in states.values() for got, errors in known.items() if got >= recalled)


def test_more_tests_than_may_be_counted_have_a_certificate(tmp_path):
    """At depth 4 there was one over 125 tests at most."""
    data = many(tmp_path)
    done = odtc.fit(data, None, "dpflow", 4, constraints=("features <= 1", "recall[yes] >= 0.9"))
    ranks = [np.unique(column, return_inverse=True)[1] for column in data.X.T]
    best = min(least_of_intervals(rank, data.y, 16, -(-9 * int(data.y.sum()) // 10)) for rank in ranks)
    assert done.problem.encoded.n_candidate_splits > 125 and done.certified and done.facts["objective"] == best


def test_both_check_many_tests(tmp_path):
    data = many(tmp_path)
    facts = certificate(data, 4, "features <= 1", "recall[yes] >= 0.9", "leaf_rows >= 3")
    assert facts["of"]["n_candidate_splits"] > 125
    by_root = [{"root": 0, "columns": ["a"], "multipliers": facts["cases"][0]["multipliers"]}]
    forged = [facts | {"claim": facts["claim"] + 1}, facts | {"cases": by_root}, facts | {"depth": 5}]
    forged.append(facts | {"passes": [[0]], "cases": []})
    mine = [ours(one, data.source["path"]).split()[0] for one in (facts, *forged)]
    assert mine == ["proved", *["refused"] * 4]
    assert not shutil.which("node") or [one.split()[0] for one in asked([facts, *forged], data.source["path"])] == mine


def test_many_tests_of_small_sets_of_columns_have_a_certificate_of_depth_4(tmp_path):
    """132 tests of words, four of a column, where at most 125 tests were counted: a tree over one column labels each
    of its words by itself."""
    rng, file = np.random.default_rng(8), tmp_path / "words.csv"
    X, y = rng.integers(0, 4, (40, 33)), rng.permutation(np.arange(40) % 2)
    lines = [",".join(["stuv"[word] for word in row] + [("no", "yes")[k]]) for row, k in zip(X, y)]
    file.write_text(",".join([*(f"c{j}" for j in range(33)), "class"]) + "\n" + "\n".join(lines) + "\n")
    data, best = read(file, "class"), 40
    for column in X.T:
        both = np.array([np.bincount(column[y == k], minlength=4) for k in (0, 1)])
        for labels in product((0, 1), repeat=4):
            said = np.array(labels)
            if both[1] @ said >= 16:
                best = min(best, int(both[0] @ said + both[1] @ (1 - said)))
    done = odtc.fit(data, None, "dpflow", 4, constraints=("features <= 1", "recall[yes] >= 0.8"))
    assert done.problem.encoded.n_candidate_splits == 132 and done.facts["objective"] == best and done.certified
    facts = certificate(data, 4, "features <= 1", "recall[yes] >= 0.8")
    forged = [facts | {"claim": facts["claim"] + 1}, facts | {"passes": [], "cases": []}]
    forged.append(facts | {"passes": [[0]], "cases": facts["cases"][:-1]})
    mine = [ours(one, data.source["path"]).split()[0] for one in (facts, *forged)]
    assert mine[:3] == ["proved", "refused", "refused"]
    assert not shutil.which("node") or [one.split()[0] for one in asked([facts, *forged], data.source["path"])] == mine
