"""A solver that reports as optimal the optimum of a part of the model."""

import numpy as np
import pytest

import odtc

FORMS = ["flowoct", "bendersoct", "binoct", "oct", "dpflow"]


@pytest.mark.parametrize("form", FORMS)
def test_a_claim_above_the_best_tree_of_a_short_search_is_contradicted(form):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (70, 6)).astype(bool)
    y = ((X[:, 0] ^ X[:, 1]) & X[:, 2]) | (rng.random(70) < 0.2)
    model = odtc.build(X, y, form, 2)
    problem = model.problem
    best = odtc.fit(X, y, "dpflow", 2).proof.objective
    heap, point = odtc.start(model, "cart")
    paid = problem.module.objective(problem, heap)
    assert best < paid  # what CART alone cannot contradict
    lie = odtc.Solution(point, "optimal", model.objective(point), paid, solver="liar", model=model.identity)
    checks = {check.name: check for check in odtc.decode(model, lie).checks}
    assert not checks["bound"].passed and f"{best:g}" in checks["bound"].text
