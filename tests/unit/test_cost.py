"""Costs: read from words, files and mappings; what they do to trees, figures and manifests; bad ones refused."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import balanced_accuracy_score

import odtc
from odtc.base import deadline
from odtc.data import cost_matrix as cost_module
from odtc.data.cost_matrix import cost_matrix
from odtc.data.encoding import encode
from odtc.errors import ChoiceError, DataError, TimeLimitReached
from odtc.testing.exhaustive import cheapest
from odtc.trees.heap_tree import settle
from odtc.workflow.manifest import read_manifest, write_manifest
from tests import pipeline
from tests.command_line import CHECKOUT, MONKS, refused
from tests.command_line import odtc as run

ABC, WEIGHTS = ("a", "b", "c"), np.array([6.0, 3.0, 1.0])
UNIT = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]


@pytest.mark.parametrize(
    "words, matrix",
    [
        ({}, UNIT),
        ({"cost": "a:b=5, c:a=0.5"}, [[0, 5, 1], [1, 0, 1], [0.5, 1, 0]]),
        ({"cost": {("a", "b"): 5, ("c", "a"): 0.5}}, [[0, 5, 1], [1, 0, 1], [0.5, 1, 0]]),
        ({"cost": [[0, 1, 2], [3, 0, 4], [5, 6, 0]]}, [[0, 1, 2], [3, 0, 4], [5, 6, 0]]),
        ({"class_weight": "c=4,a=2"}, [[0, 2, 2], [1, 0, 1], [4, 4, 0]]),
        ({"class_weight": {"c": 4}}, [[0, 1, 1], [1, 0, 1], [4, 4, 0]]),
        ({"class_weight": "c=4", "cost": "c:a=3"}, [[0, 1, 1], [1, 0, 1], [12, 4, 0]]),
        ({"class_weight": "balanced"}, np.array(UNIT) * 10 / (3 * WEIGHTS[:, None])),
    ],
)
def test_what_is_said_is_what_is_priced(words, matrix):
    np.testing.assert_allclose(cost_matrix(ABC, WEIGHTS, **words), matrix)


@pytest.mark.parametrize(
    "text",
    [
        "true,a,b,c\na,0,1,2\nb,3,0,4\nc,5,6,0\n",
        ",b,a,c\nc,6,5,\nb,,3,4\na,1,,2\n",
        '\ufeff"x, y","a","b","c"\r\n a , 0 , 1 , 2 \r\n\r\nb,3,0,4\r\nc,5,6,0\r\n',
    ],
)
def test_a_file_in_any_order(tmp_path, text):
    (tmp_path / "cost.csv").write_text(text, newline="")
    for given in (tmp_path / "cost.csv", str(tmp_path / "cost.csv")):
        assert cost_matrix(ABC, WEIGHTS, cost=given).tolist() == [[0, 1, 2], [3, 0, 4], [5, 6, 0]]


@pytest.mark.parametrize(
    "weights, words, factors",
    [
        ([5.0, 1.1, 2.0], {"class_weight": "balanced"}, "27/50 27/11 27/20"),
        ([0.3, 0.7, 2.0], {"class_weight": "balanced"}, "10/3 10/7 1/2"),
        (WEIGHTS, {"class_weight": "a=3,b=1.1", "cost": [[0, 0.1, 0.1], [0.7, 0, 0.7], [1, 1, 0]]}, "0.3 0.77 1"),
    ],
)
def test_products_and_quotients_are_the_nearest_doubles(weights, words, factors):
    """A double stands for a decimal or a quotient only if it is the nearest one, and only then costs have a unit."""
    exact = [[float(Fraction(text)) * (k != c) for c in range(3)] for k, text in enumerate(factors.split())]
    assert cost_matrix(ABC, np.array(weights), **words).tolist() == exact


def test_balanced_weights_of_decimals_leave_a_solver_its_proof():
    """Class c weighs 9.9 / (3 · 1.6) = 2.0625, which is 2.0624999999999996 in doubles."""
    rows = [("p", "a", 2.0), ("q", "a", 3.0), ("q", "b", 0.1), ("r", "b", 1.0), ("p", "b", 2.2), ("r", "c", 1.6)]
    frame = pl.DataFrame(rows, schema=["f", "y", "w"], orient="row")
    done = odtc.fit(frame, "oct", 1, target="y", weights="w", class_weight="balanced", solver="highs", n_min=1)
    assert done.proved and "does not count" not in done.solution.message


def test_balanced_weights_of_classes_without_rows():
    """W / (K W_k) of the classes that have rows; one without any counts 1, and is none of the K."""
    found = cost_matrix(("a", "b", "c"), np.array([2.0, 0.0, 6.0]), "balanced")
    assert found.max(axis=1).tolist() == [2.0, 1.0, 8 / 12] and np.isfinite(found).all()
    assert cost_matrix(("a", "b"), np.array([5.0, 0.0]), "balanced").max(axis=1).tolist() == [1.0, 1.0]


def test_names_with_signs():
    names = ("a:b", "c", "a", "x=1", "y,z")
    priced = cost_matrix(names, np.ones(5), cost='a:b:c=2,c:a:b=3,a:c=4,x=1:c=5,"y,z:c=6"')
    assert [priced[0, 1], priced[1, 0], priced[2, 1], priced[3, 1], priced[4, 1]] == [2, 3, 4, 5, 6]
    for text in ('"y,z":c=6', '"y,z":"c"=6', '"y,z" : "c" = 6'):  # each name in quotes, or the whole part
        assert cost_matrix(names, np.ones(5), cost=text)[4, 1] == 6
    with pytest.raises(ChoiceError, match="write a name with a comma in double quotes"):
        cost_matrix(names, np.ones(5), cost="y,z:c=6")
    assert cost_matrix(names, np.ones(5), '"y,z=3",x=1=2')[:, 1].tolist() == [1, 0, 1, 2, 3]


@pytest.mark.parametrize(
    "words, part",
    [
        ({"class_weight": "blanced"}, "CLASS=W"),
        ({"class_weight": "A=2"}, "unknown class 'A' in `class_weight` (did you mean 'a'?); the classes are a, b, c"),
        ({"class_weight": "a=-1"}, "0 or more as the weight of class 'a', got '-1'"),
        ({"class_weight": "a=nan"}, "finite"),
        ({"class_weight": "a=2,a=3"}, "twice"),
        ({"class_weight": ""}, "CLASS=W"),
        ({"class_weight": "a=0,b=0,c=0"}, "above 0"),
        ({"cost": "a=2"}, "TRUE:PREDICTED=COST"),
        ({"cost": "a:d=2"}, "unknown class 'd'"),
        ({"cost": "a:a=2"}, "correct prediction"),
        ({"cost": "a:b=much"}, "'much'"),
        ({"cost": [[0, 1], [1, 0]]}, "3 x 3"),
        ({"cost": [[0, 1, 1], [1, 0, float("inf")], [1, 1, 0]]}, "finite"),
        ({"cost": "absent.csv"}, "absent.csv"),
    ],
)
def test_bad_costs_are_refused_in_a_sentence(words, part):
    with pytest.raises(DataError if words.get("cost") == "absent.csv" else ChoiceError) as said:
        cost_matrix(ABC, WEIGHTS, **words)
    assert part in str(said.value) and "\n" not in str(said.value)


@pytest.mark.parametrize(
    "text, part",
    [
        ("", "empty"),
        ("t,a,b\na,0,1\nb,1,0\n", "one column for each class"),
        ("t,a,b,c\na,0,1,2\nb,3,0,4\n", "one line for each class"),
        ("t,a,b,c\na,0,1\nb,3,0,4\nc,5,6,0\n", "4 cells"),
        ("t,a,b,d\na,0,1,2\nb,3,0,4\nc,5,6,0\n", "unknown class 'd'"),
        ("t,a,b,c\na,0,,2\nb,3,0,4\nc,5,6,0\n", "'a' predicted as 'b'"),
        ('t,a,b,c\n"a,0,1,2\n', "comma separated"),
    ],
)
def test_bad_cost_files_are_refused_in_a_sentence(tmp_path, text, part):
    (tmp_path / "cost.csv").write_text(text)
    with pytest.raises(DataError) as said:
        cost_matrix(ABC, WEIGHTS, cost=tmp_path / "cost.csv")
    assert part in str(said.value) and "cost.csv" in str(said.value)


def test_the_columns_and_lines_of_a_cost_file_are_in_any_order(tmp_path):
    (tmp_path / "cost.csv").write_text("true,c,a,b\nb,4,3,\na,2,,1\nc,,5.5,6\n")
    assert cost_matrix(ABC, WEIGHTS, cost=tmp_path / "cost.csv").tolist() == [[0, 1, 2], [3, 0, 4], [5.5, 6, 0]]


def test_a_long_cost_file_is_read_within_the_limit(tmp_path):
    """One of 1,500 classes took as long as all else, whatever the limit was."""
    many = tuple(f"k{at}" for at in range(cost_module.LINES + 1))
    lines = [f"{name},{','.join('0' if name == other else '1' for other in many)}" for name in many]
    (tmp_path / "cost.csv").write_text("\n".join([f"true,{','.join(many)}", *lines]))
    with deadline.within(0.0), pytest.raises(TimeLimitReached):
        cost_matrix(many, np.ones(len(many)), cost=tmp_path / "cost.csv")
    matrix = cost_matrix(many, np.ones(len(many)), cost=tmp_path / "cost.csv")
    assert matrix.sum() == len(many) * (len(many) - 1) and not np.diagonal(matrix).any()
    (tmp_path / "short.csv").write_text("true,a,b,c\na,0,1,1\nb,1,0,1\nc,1,1,0\n")
    with deadline.within(0.0):  # no tree could come without it
        assert cost_matrix(ABC, WEIGHTS, cost=tmp_path / "short.csv").sum() == 6


@pytest.mark.parametrize("model", ["flowoct", "bendersoct", "oct", "binoct", "fair", "dpflow"])
def test_balanced_maximises_balanced_accuracy(model):
    """On data of which one class is rare, against an exhaustive search and scikit-learn's own figure."""
    dataset = rare()
    fitted = odtc.fit(dataset, model, 1, class_weight="balanced", threads=1)
    score = balanced_accuracy_score(dataset.y, fitted.tree.predict(dataset.X))
    encoded = encode(dataset)
    W = np.array([(dataset.y == k).sum() for k in range(3)])
    cost = (np.ones((3, 3)) - np.eye(3)) * (W.sum() / (3 * W))[:, None]
    best = cheapest(encoded.X, encoded.y, encoded.weight, 1, cost=cost.tolist())
    assert fitted.facts["verified"] and fitted.facts["objective"] == pytest.approx(best) == pytest.approx(
        fitted.facts["loss"]
    )
    assert fitted.facts["train_balanced_accuracy"] == pytest.approx(score) == pytest.approx(1 - best / W.sum())
    assert score > balanced_accuracy_score(dataset.y, odtc.fit(dataset, model, 1, threads=1).tree.predict(dataset.X))


def rare():
    rng = np.random.default_rng(7)
    y = np.repeat([0, 1, 2], [30, 8, 5])
    X = np.stack([rng.integers(0, 4, len(y)) + (y == 2), rng.integers(0, 3, len(y)) + (y == 1)], axis=1).astype(float)
    features = tuple(odtc.data.dataset.Feature(name, "numeric") for name in "uv")
    return odtc.Dataset("rare", X, y.astype(np.int32), features, ABC, np.ones(len(y)))


def test_a_formulation_of_right_and_wrong_refuses_prices_by_pair():
    with pytest.raises(
        ChoiceError,
        match="bendersoct counts a row only as correct or misclassified.*use model=.flowoct. or .oct. or .binoct. or "
        ".fair. or .dpflow",
    ):
        odtc.build(rare(), "bendersoct", 1, cost="a:b=5")
    odtc.build(rare(), "bendersoct", 1, cost="a:b=5,a:c=5")


def test_flowoct_routes_every_row_where_the_class_predicted_has_a_price():
    """Else only rows that are right flow."""
    roles = [
        {block.role for block in odtc.build(rare(), "flowoct", 1, **words).columns}
        for words in ({"cost": "a:b=5"}, {"cost": "a:b=5,a:c=5"}, {"rows": "all"})
    ]
    assert ["predicted" in found for found in roles] == [True, False, True] == ["flow" not in found for found in roles]


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["cart", "cart_tuned"])
def test_learners_weigh_what_errors_cost(learner):
    params = {"folds": 3} if learner == "cart_tuned" else {}
    plain, priced = (odtc.fit(rare(), learner, 1, params=params, **words) for words in ({}, {"cost": "b:a=9,c:a=20"}))
    cost = np.array(priced.facts["cost"])
    wrong = cost[rare().y, plain.tree.predict(rare().X)].sum()
    assert priced.facts["verified"] and priced.facts["objective"] == priced.facts["loss"] < wrong


def test_rows_that_cost_nothing_leave_cart_a_leaf():
    encoded = encode(rare())
    cost = np.array([[0, 0, 0], [1, 0, 1], [1, 1, 0.0]])
    free = replace(encoded, weight=np.where(encoded.y == 0, 1.0, 0.0), cost=cost)
    from odtc.heuristics.heuristic import grow
    from odtc.trees.heap_tree import CompleteTree

    assert grow("cart", free, CompleteTree(2)).n_branch_nodes == 0 == settle(np.full(8, -1), free).n_branch_nodes


def test_the_manifest_keeps_the_cost_and_knows_manifests_without(tmp_path):
    model = pipeline.build(rare(), "binoct", 1, cost="a:b=0.1,b:c=3", class_weight="balanced")
    path = write_manifest(model.problem, model, tmp_path / "m.odt.json")
    assert read_manifest(path).problem.encoded.cost.tolist() == model.problem.encoded.cost.tolist()
    facts = json.loads(path.read_text())
    for key in ("cost", "identity", "content"):  # those of the first version have none of these
        del facts[key]
    path.write_text(json.dumps(facts))
    assert read_manifest(path).problem.encoded.cost.tolist() == UNIT


def test_from_the_command_line_to_a_check_against_the_data(tmp_path):
    (tmp_path / "cost.csv").write_text("true,1,0\n1,,7\n0,1,\n")
    built = run(
        "build",
        MONKS / "monks-3.csv",
        "--encoding",
        "onehot",
        "--cost",
        "cost.csv",
        "--depth",
        "1",
        "-o",
        "m",
        "--json",
        folder=tmp_path,
    )
    assert built.facts["cost"] == [[0, 1], [7, 0]]
    assert run("solve", "m.mps", folder=tmp_path).code == 0
    said = run("verify", "m.sol", "--json", folder=tmp_path).facts
    data = next(check for check in said["checks"] if check["check"] == "data")
    assert said["verified"] and "cost" in data["text"] and said["loss"] == said["objective"]
    words = run(
        "fit",
        MONKS / "monks-3.csv",
        "--encoding",
        "onehot",
        "--cost",
        "1:0=7",
        "--depth",
        "1",
        "-o",
        "n",
        folder=tmp_path,
    )
    assert f"loss      {said['loss']:g}, CART" in words.out and "balanced accuracy" in words.out


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (2, ("--class-weight", "nosuch=2")),
        (1, ("--cost", "absent.csv")),
        (2, ("--cost", "setosa:virginika=5")),
    ],
)
def test_the_command_line_refuses_in_a_sentence(tmp_path, code, words):
    assert refused(run("fit", CHECKOUT / "examples" / "iris" / "iris.csv", *words, folder=tmp_path), code)


def test_weighted_rows_are_told_by_number_and_by_weight(tmp_path):
    """x > 3.5 is b: 3 of 5 rows correct, 16 of 19 by weight."""
    (tmp_path / "w.csv").write_text("x,w,y\n1,10,a\n2,1,b\n3,1,a\n4,5,b\n1,2,b\n")
    said = run("fit", "w.csv", "--weights", "w", "--depth", 1, "-o", "m", folder=tmp_path).out
    assert "training  3 of 5 rows correct (60.00 %, by weight 84.21 %), CART 3 (60.00 %, by weight 84.21 %)" in said
    assert "by weight" not in run("fit", "w.csv", "--depth", 1, "-o", "m", folder=tmp_path).out


def test_errors_that_cost_less_than_solvers_tell_apart_are_refused(tmp_path):
    """With weights of 1e-9 a leaf was proved optimal where a test makes no error."""
    for weight in ("1e-9", "1e-6", "0.001"):
        lines = [f"{x},{weight},{'ab'[x > 3]}" for x in range(1, 7)]
        (tmp_path / f"{weight}.csv").write_text("\n".join(["x,w,y", *lines]) + "\n")
    words = ["--weights", "w", "--target", "y", "--depth", 1, "-o", tmp_path / "m"]
    for model in ("auto", "flowoct", "oct"):
        if model != "auto":
            said = refused(run("fit", tmp_path / "1e-9.csv", *words, "--model", model))
            assert "got 1e-09 at most" in said and "multiply the weights or costs by 1e+09" in said
        facts = run("fit", tmp_path / "0.001.csv", *words, "--model", model, "--json").facts
        assert facts["objective"] == 0 and facts["n_leaves"] == 2
    assert "got 1e-06 at most" in refused(run("fit", tmp_path / "1e-6.csv", *words, "--model", "flowoct"))
    for weight in ("1e-6", "1e-9"):  # no solver has to tell these apart
        searched = run("fit", tmp_path / f"{weight}.csv", *words, "--json").facts
        assert (searched["objective"], searched["termination"], searched["n_leaves"]) == (0, "optimal", 2)
    prices = ["--model", "oct", "--cost", "a:b=1e-7,b:a=2e-7", "--depth", 1, "--target", "y", "--auxiliary", "w"]
    assert "2e-07 at most" in refused(run("fit", tmp_path / "0.001.csv", *prices, "-o", tmp_path / "m"))
