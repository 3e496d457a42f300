"""Laws over tasks: the optimum is that of trying every tree on the rows themselves, for policies by any formulation."""

import json
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import odtc
from odtc.data.reading import read
from odtc.problem.formulation import FORMULATIONS, Compiled
from odtc.workflow.posing import pose_run
from odtc.workflow.specification import ModelSpec, RunSpec
from tests.command_line import odtc as command


def every_tree_costs(columns: np.ndarray, depth: int, leaf, least: int = 1) -> float:
    """The least Σ leaf(rows) of a tree over these columns, bool (rows, tests), by trying all of them."""

    def best(rows: tuple, height: int) -> float:
        found = leaf(list(rows))
        for column in columns.T if height else ():
            left, right = tuple(i for i in rows if column[i]), tuple(i for i in rows if not column[i])
            if min(len(left), len(right)) >= least:
                found = min(found, again(left, height - 1) + again(right, height - 1))
        return found

    again = cache(best)
    return again(tuple(range(len(columns))), depth)


def table(seed: int, n: int, missing: bool = False) -> tuple[list[str], list[list]]:
    """A small table with ties, a category and weights; some cells of x1 are missing."""
    rng = np.random.default_rng(seed)
    rows = [
        [int(rng.integers(4)), round(float(rng.random()), 1), str(rng.choice(list("abc"))), int(rng.integers(1, 4))]
        for _ in range(n)
    ]
    if missing:
        for i in rng.choice(n, 2, replace=False):
            rows[i][1] = ""
    return ["x0", "x1", "colour", "w"], rows


def write(path, header, rows):
    path.write_text("\n".join(",".join(map(str, line)) for line in [header, *rows]) + "\n")
    return path


def said(folder, *words) -> str:
    """What a command prints that ends well."""
    done = command(*words, folder=folder)
    assert done.code in (0, None), done.err
    return done.out


def columns_of(problem, rows: int) -> np.ndarray:
    """What the rows of the file answer to the tests of a problem, bool (rows, tests)."""
    data = problem.encoded.dataset
    X = data.X[data.copies > 0]
    assert len(X) == rows
    return np.stack([split.left(X) for split in problem.encoded.tests], axis=1)


@given(seed=st.integers(0, 10**6), K=st.integers(2, 4), missing=st.booleans(), least=st.integers(1, 3))
@settings(max_examples=15)
def test_a_policy_costs_what_the_best_of_all_trees_costs(tmp_path_factory, seed, K, missing, least):
    folder = tmp_path_factory.mktemp("policy")
    header, rows = table(seed, 10, missing)
    rng = np.random.default_rng(seed + 1)
    costs = rng.integers(-3, 5, (10, K)) / 4
    actions = [f"act{k}" for k in range(K)]
    path = write(folder / "p.csv", header + actions, [a + b for a, b in zip(rows, costs.tolist())])
    if (costs == costs[:, :1]).all():
        return
    spec = {"task": "policy", "actions": tuple(actions), "weights": "w", "missing": "separate" if missing else "drop"}
    done = odtc.fit(path, "dpflow", depth=2, reading=spec, constraints=[f"leaf_rows >= {least}"] if least > 1 else [])
    weight = np.array([line[3] for line in rows], float)
    X = columns_of(done.problem, 10)
    expected = every_tree_costs(X, 2, lambda at: (weight[at, None] * costs[at]).sum(axis=0).min(), least)
    assert done.verified and done.proved
    assert done.judged["training"]["cost"] == pytest.approx(expected)
    assert done.judged["training"]["n_rows"] == 10 == sum(sum(leaf.rows) for leaf in done.tree.leaves())


@pytest.mark.parametrize("name", [one for one in FORMULATIONS.names() if FORMULATIONS.get(one).can(Compiled)])
def test_every_formulation_finds_the_best_policy(tmp_path, name):
    if name in ("svm1_odt", "oct_h", "fair"):
        return  # other trees, or another objective
    header, rows = table(3, 12)
    costs = np.random.default_rng(4).integers(0, 5, (12, 3)).astype(float)
    path = write(tmp_path / "p.csv", header[:3] + list("abc"), [a[:3] + b for a, b in zip(rows, costs.tolist())])
    reading = {"task": "policy", "actions": ("a", "b", "c")}
    done = odtc.fit(path, name, depth=1, reading=reading, solver="highs")
    expected = every_tree_costs(columns_of(done.problem, 12), 1, lambda at: costs[at].sum(axis=0).min())
    assert done.verified and done.judged["training"]["cost"] == pytest.approx(expected)


def test_a_policy_from_data_to_certificate_and_back(tmp_path):
    header, rows = table(5, 40)
    costs = np.random.default_rng(6).integers(0, 90, (40, 3)) / 10
    write(tmp_path / "p.csv", header[:3] + list("abc"), [a[:3] + b for a, b in zip(rows, costs.tolist())])
    words = ["--task", "policy", "--actions", "a,b,c"]
    facts = json.loads(said(tmp_path, "fit", "p.csv", *words, "--test", "p.csv", "-o", "m", "--json"))
    assert facts["certified"] and facts["judged"]["test"] == facts["judged"]["training"]
    said(tmp_path, "certify", "p.csv", *words, "-o", "c.cert.json")
    assert "proved" in said(tmp_path, "verify", "--certificate", "c.cert.json")
    tree = odtc.read_tree(tmp_path / "m.tree.json")
    data = read(tmp_path / "p.csv", task="policy", actions=("a", "b", "c"))
    predicted = said(tmp_path, "predict", "m.tree.json", "p.csv").split()[1:]
    paid = sum(costs[i, "abc".index(action)] for i, action in enumerate(predicted))
    assert paid == pytest.approx(facts["judged"]["training"]["cost"])
    assert [tree.classes[k] for k in tree.predict(data.X[data.copies > 0])] == predicted
    assert "mean cost a" in said(tmp_path, "show", "m.tree.json")
    said(tmp_path, "build", "p.csv", *words, "--model", "flowoct", "--depth", "1", "-o", "b")
    said(tmp_path, "solve", "b.mps")
    assert "all" in said(tmp_path, "verify", "b.sol").splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--task", "policy"], "--actions A,B"),
        (["--actions", "a,b"], "an option of --task policy"),
        (["--task", "policy", "--actions", "a"], "two different columns or more, got a"),
        (["--task", "policy", "--actions", "a,zz"], "expected --actions to name a column"),
        (["--task", "policy", "--actions", "a,colour"], "expected a finite number in column 'colour'"),
        (["--task", "policy", "--actions", "a,b", "--treatment", "c"], "either --actions or --treatment"),
        (["--task", "policy", "--actions", "a,b", "--target", "c"], "no --target"),
        (["--task", "policy", "--actions", "a,b", "--goal", "best"], "expected one of min, max, got 'best'"),
        (["--task", "policy", "--actions", "a,b", "--constraint", "accuracy >= 0.5"], "about classes"),
        (["--task", "policy", "--actions", "a,b", "--class-weight", "balanced"], "about classes"),
        (
            ["--task", "policy", "--treatment", "colour", "--outcome", "a", "--scores", "ips", "--propensity", "b"],
            "probabilities above 0",
        ),
        (["--task", "policy", "--treatment", "colour", "--outcome", "a"], "10 rows or more of each action"),
        (["--task", "polcy"], "did you mean 'policy'?"),
    ],
)
def test_what_no_policy_can_be_learnt_from_is_refused_in_a_sentence(tmp_path, words, why):
    header, rows = table(7, 12)
    costs = np.random.default_rng(8).integers(0, 5, (12, 3)).tolist()
    write(tmp_path / "p.csv", header[:3] + list("abc"), [a[:3] + b for a, b in zip(rows, costs)])
    refused = command("fit", "p.csv", *words, folder=tmp_path)
    assert refused.code == 1 and why in refused.err and refused.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["p.csv"]


def simulated(n: int, seed: int):
    """Treatments given by a known chance, and outcomes whose best policy is a tree: 1 if x0 > 0.5 and x1 <= 0.4."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3)).round(3)
    better = (X[:, 0] > 0.5) & (X[:, 1] <= 0.4)
    chance = 0.2 + 0.6 * X[:, 2]
    treatment = (rng.random(n) < chance).astype(int)
    effect = np.where(better, 2.0, -1.0)
    outcome = X[:, 2] + treatment * effect + rng.normal(0, 0.5, n)
    return X, better, chance, treatment, outcome


@pytest.mark.parametrize("scores", ["doubly-robust", "ips"])
def test_the_best_policy_of_a_simulation_is_found(scores):
    X, better, chance, treatment, outcome = simulated(600, 1)
    given = np.where(treatment == 1, chance, 1 - chance)
    fitted = odtc.OptimalPolicyTree(2, scores=scores).fit(X, treatment, outcome, given)
    new, best, *_ = simulated(2000, 2)
    assert (fitted.predict(new) == best).mean() > 0.95 and fitted.is_optimal_


def test_the_estimator_of_policies_costs_what_it_says():
    rng = np.random.default_rng(0)
    X, costs = rng.random((60, 3)), rng.random((60, 3)).round(2)
    fitted = odtc.OptimalPolicyTree(2, min_samples_leaf=5).fit(X, costs)
    paid = costs[np.arange(60), fitted.predict(X)]
    assert fitted.cost_ == pytest.approx(paid.sum()) and set(fitted.predict(X)) <= {0, 1, 2}
    mean, error = fitted.value(X, costs)
    assert mean == pytest.approx(paid.mean()) and error == pytest.approx(paid.std(ddof=1) / np.sqrt(60))
    with pytest.raises(ValueError, match="expected finite costs of shape"):
        fitted.fit(X, costs[:, 0])


def test_pose_refuses_what_speaks_of_classes(tmp_path):
    header, rows = table(7, 12)
    costs = np.random.default_rng(8).integers(0, 5, (12, 2)).tolist()
    path = write(tmp_path / "p.csv", header[:3] + list("ab"), [a[:3] + b for a, b in zip(rows, costs)])
    data = read(path, task="policy", actions=["a", "b"])
    with pytest.raises(odtc.OdtcError, match="--select is about classes"):
        pose_run(RunSpec(model=ModelSpec("dpflow", 2, select="convex_hull")), data)
