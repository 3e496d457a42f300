"""The pool holds all trees near the best, in order, and none twice."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.pool import near_optimal, read_pool
from tests.command_line import MONKS
from tests.command_line import odtc as command
from tests.laws.problems import problems


def every_tree(encoded, rows, depth, price, share):
    """(cost, tests as nested tuples) of all trees whose every subtree costs less than one label would."""
    loss = encoded.loss[rows].sum(axis=0)
    leaf = share * float(loss.min())
    yield leaf, None
    if depth == 0 or leaf <= share * float(groups(encoded, rows)) + 1e-9:
        return
    for f in range(encoded.n_tests):
        ones = encoded.X[rows, f]
        if ones.all() or not ones.any():
            continue
        zero = list(every_tree(encoded, rows[~ones], depth - 1, price, share))
        one = list(every_tree(encoded, rows[ones], depth - 1, price, share))
        for (a, left), (b, right) in itertools.product(zero, one):
            if a + b + price < leaf - 1e-9:
                yield a + b + price, (f, left, right)


def groups(encoded, rows) -> float:
    """What no tree can avoid on these rows."""
    sums = {}
    for i in rows:
        sums.setdefault(encoded.X[i].tobytes(), []).append(encoded.loss[i])
    return sum(min(map(sum, zip(*losses))) for losses in sums.values())


@pytest.mark.parametrize("form", [{}, {"lambda": 0.25}], ids=str)
@given(data=st.data(), most=st.integers(1, 40))
@settings(max_examples=40, deadline=None)
def test_the_best_trees_in_order(form, data, most):
    problem = data.draw(problems(("dpflow", form), most_rows=9))
    encoded, price = problem.encoded, form.get("lambda", 0)
    truth = sorted(cost for cost, _ in every_tree(encoded, np.arange(encoded.n_rows), problem.topology.depth, price, 1 - price))
    pool = near_optimal(problem, most)
    assert pool.objectives == pytest.approx(truth[:most], abs=1e-9)
    assert pool.complete == (len(truth) <= most)
    texts = [str(tree.to_json()["root"]) for tree in pool.trees]
    assert len(set(texts)) == len(texts)
    near = near_optimal(problem, 10_000, within=1.0)
    assert near.complete and len(near.trees) == sum(cost <= truth[0] + 1 + 1e-9 for cost in truth)


def test_command_line(tmp_path):
    said = command("fit", MONKS / "monks-1.csv", "--model", "dpflow", "--depth", 3, "--encoding", "onehot", "--pool", 20, "--within", 1,
                   "-o", "m", "--json", folder=tmp_path)
    assert said.code == 0 and "m.pool.json" in str(said.facts["files"])
    pool = read_pool(tmp_path / "m.pool.json")
    assert pool.objectives[0] == said.facts["objective"] and pool.objectives[-1] <= said.facts["objective"] + 1
    shown = command("show", "m.pool.json", folder=tmp_path)
    assert shown.code == 0 and f"{len(pool.trees)} trees" in shown.out and next(iter(pool.feature_use())) in shown.out
    assert command("show", "m.pool.json", "--tree", 1, folder=tmp_path).out == command("show", "m.tree.json", folder=tmp_path).out or len(pool.trees) > 1
    beyond = command("show", "m.pool.json", "--tree", 999, folder=tmp_path)
    assert beyond.code == 1 and "999" in beyond.err
    refused = command("fit", MONKS / "monks-1.csv", "--pool", 3, "-o", "n", folder=tmp_path)
    assert refused.code == 1 and "dpflow" in refused.err and not list(tmp_path.glob("n.*"))
