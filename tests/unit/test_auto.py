"""`--model auto` takes dpflow if the size allows it, otherwise flowoct, and reports why."""

import subprocess
import sys
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odtc.algorithms.dp.state_expansion import generate
from odtc.algorithms.dp.state_graph import Rows
from odtc.data.dataset import Dataset, Feature
from odtc.data.encoding import encode
from odtc.problem.constraints.kind import CONSTRAINTS, OnPredictions
from odtc.problem.formulation import FORMULATIONS, Estimates
from odtc.workflow.posing import choose
from tests import pipeline
from tests.command_line import MONKS, environment
from tests.command_line import odtc as command


@given(st.integers(2, 7), st.integers(1, 4), st.integers(0, 999))
def test_the_size_it_names_is_never_less_than_the_model(n_candidate_splits, depth, seed):
    random = np.random.default_rng(seed)
    X, y = random.random((40, n_candidate_splits)) < 0.5, random.integers(0, 2, 40)
    levels = depth - max(0, min(2, depth - 2))  # so few tests are folded no further
    graph = generate(Rows.of(X, (np.arange(2) != y[:, None]) * 1.0, np.ones(40)), levels, fold=False)
    columns = sum(level.n_states + len(level.state) for level in graph.levels)
    assert columns <= sum(2**j * comb(n_candidate_splits, j) * (n_candidate_splits - j + 1) for j in range(levels))
    assert (
        f"{sum(2**j * comb(n_candidate_splits, j) * (n_candidate_splits - j + 1) for j in range(levels)):,} variables"
        in choose(n_candidate_splits, depth).why
    )


@pytest.mark.parametrize(
    ("n_candidate_splits", "depth", "name"),
    [(38, 5, "dpflow"), (2000, 2, "dpflow"), (20_000, 3, "flowoct"), (500, 4, "flowoct"), (3, 9, "dpflow")],
)
def test_the_choice(n_candidate_splits, depth, name):
    assert choose(n_candidate_splits, depth).formulation == name


def test_many_thresholds_are_chosen_by_the_search_over_intervals(tmp_path):
    """Almost three thousand tests at depth 3 are too many for single arcs, but not for intervals of them."""
    random = np.random.default_rng(1)
    X, y = random.normal(size=(900, 3)), random.integers(0, 2, 900)
    encoded = encode(
        Dataset(
            "many",
            X,
            y.astype(np.int32),
            tuple(Feature(f"f{j}", "numeric") for j in range(3)),
            ("x", "y"),
            np.ones(900),
        )
    )
    n_candidate_splits = encoded.n_candidate_splits
    assert (
        choose(n_candidate_splits, 3, (), encoded).formulation == "dpflow"
        and "intervals" in choose(n_candidate_splits, 3, (), encoded).why
    )
    assert (
        choose(n_candidate_splits, 3).formulation
        == "flowoct"
        == choose(n_candidate_splits, 3, ("leaf_rows",), encoded).formulation
    )
    assert (
        choose(n_candidate_splits, 5, (), encoded).formulation == "flowoct"
        and "half a minute" in choose(n_candidate_splits, 5, (), encoded).why
    )


def test_a_search_over_intervals_that_ends_at_once_is_chosen_whatever_its_size():
    random = np.random.default_rng(1)
    X = random.normal(size=(900, 3))
    y = ((X[:, 0] > 0) & (X[:, 1] > 0.5)).astype(np.int32)  # a tree of depth 2
    dataset = Dataset("corner", X, y, tuple(Feature(f"f{j}", "numeric") for j in range(3)), ("x", "y"), np.ones(900))
    chosen = choose(encode(dataset).n_candidate_splits, 5, (), encode(dataset))
    assert chosen.formulation == "dpflow" and "ends at once" in chosen.why
    found = pipeline.fit(dataset, "auto", 5)
    assert (found.facts["model"], found.facts["objective"], found.facts["bound"]) == ("dpflow", 0, 0)


def test_command_line(tmp_path):
    words = ("--model", "auto", "--solver", "highs", "--depth", 3, "--json")
    said = command("fit", MONKS / "monks-1.csv", *words, folder=tmp_path)
    assert said.code == 0 and said.facts["model"] == "dpflow" and "--model auto: dpflow" in said.err
    bad = command("fit", MONKS / "monks-1.csv", "--model", "auto", "-p", "speed=1", folder=tmp_path)
    assert bad.code == 2 and "speed" in bad.err


def test_a_constraint_that_dpflow_does_not_take():
    assert choose(20, 3, ("leaf_rows",)).formulation == "dpflow"
    # At depth 2 no level is folded where leaves must have some rows.
    assert choose(15_131, 2).formulation == "dpflow" and choose(15_131, 2, ("leaf_rows",)).formulation == "flowoct"
    assert (
        "a linear program" in choose(300, 3, ("leaf_rows",)).why
        and choose(20_000, 3, ("leaf_rows",)).formulation == "flowoct"
    )


def test_the_size_of_bounded_sums():
    assert (
        choose(110, 3, ("branch_nodes",)).formulation == "dpflow"
        and choose(60, 5, ("branch_nodes",)).formulation == "flowoct"
    )
    assert "a flow of subtrees of at most" in choose(60, 3, ("leaf_rows", "leaves")).why


@pytest.mark.parametrize(("registry", "ability"), [(FORMULATIONS, Estimates), (CONSTRAINTS, OnPredictions)])
def test_the_abilities_that_a_registry_lists_are_those_of_its_members(registry, ability):
    """So that a question for those that have one imports no other: no formulation that says nothing of its size."""
    assert dict(registry.abilities).keys() == {ability.__name__}
    found = tuple(name for name in registry.module_names if registry.get(name).can(ability))
    assert dict(registry.abilities)[ability.__name__] == found == registry.able(ability)[: len(found)]


def test_a_search_imports_no_formulation_that_it_does_not_use(tmp_path):
    words = ["fit", str(MONKS / "monks-1.csv"), "--encoding", "onehot", "-o", str(tmp_path / "m"), "--json"]
    code = f"import sys; sys.argv = {['odtc', *words]!r}\nfrom odtc.cli.app import main\ntry:\n    main()\nfinally:\n"
    code += "    print([n for n in ('svm1_odt', 'cg', 'fair', 'oct_h') if f'odtc.formulations.{n}' in sys.modules], "
    code += "'jinja2' in sys.modules, 'sklearn' in sys.modules, 'highspy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.rstrip().endswith("[] False False False"), done.stdout + done.stderr
