"""Certificates: the claim is the optimum of exhaustive search, and no corrupted certificate proves a false claim."""

import json
import random
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import odtc
from odtc.cli.commands.certify import _steps
from odtc.data.dataset import Dataset, Feature
from odtc.data.encoding import encode
from odtc.errors import CertificateError, ChoiceError, TimeLimitReached
from odtc.formulations.dpflow import forms, interval_states
from odtc.formulations.dpflow.threshold_search import ThresholdSearch, certify
from odtc.testing.exhaustive import cheapest
from odtc.testing.problems import problems
from odtc.verification.certificate import check
from odtc.verification.claim import words as in_words
from odtc.verification.coverage import count_left_out
from odtc.verification.threshold_columns import left_of, rank_columns
from tests import pipeline
from tests.command_line import CHECKOUT
from tests.command_line import MONKS as EXAMPLES
from tests.command_line import odtc as command
from tests.command_line import refused as sentence
from tests.threshold_problems import accepted, corrupt, of_splits, splits_of

MONKS = EXAMPLES / "monks-1.csv"


@pytest.mark.parametrize("form", [{}, {"lambda": 0.25}, {"intervals": "true", "lambda": 0.25}], ids=str)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_the_claim_is_the_optimum(form, data):
    problem = data.draw(problems(("dpflow", form), depths=(1, 2, 3)))
    proof = check(json.loads(json.dumps(certify(problem))), problem.encoded.dataset)
    price = form.get("lambda", 0)
    encoded = problem.encoded
    best = cheapest(
        encoded.X, encoded.y, encoded.weight, problem.topology.depth, price, 1 - price, cost=encoded.cost.tolist()
    )
    assert proof.objective == pytest.approx(best, abs=1e-9)


def test_a_check_can_be_ended_between_its_states(monkeypatch):
    """It went on to its end whatever the time limit was: 27 s where the check may take six."""
    monkeypatch.setattr(interval_states, "is_quick", lambda *size: False)
    problem = pipeline.pose(MONKS, "dpflow", 3, encoding="onehot")
    facts, left = json.loads(json.dumps(certify(problem))), [5]

    def pause():
        left[0] -= 1
        if not left[0]:
            raise TimeLimitReached("enough")

    with pytest.raises(TimeLimitReached, match="enough"):
        check(facts, problem.encoded.dataset, pause)
    assert sum(text.count(";") + 1 for text in facts["states"]) > 5


@pytest.mark.slow
@pytest.mark.parametrize("counted", [False, True], ids=["side by side", "counted"])
@pytest.mark.parametrize("numeric", [False, True], ids=["onehot", "thresholds"])
def test_corruptions_are_refused_or_still_true(numeric, counted, monkeypatch, long_run):
    if not counted:
        monkeypatch.setattr(interval_states, "is_quick", lambda *size: False)
    dataset, encoding = (_numbers(), "thresholds") if numeric else (odtc.read(MONKS), "onehot")
    form = {"intervals": "true"} if numeric else {}
    facts = json.loads(json.dumps(certify(pipeline.pose(dataset, "dpflow", 3, encoding=encoding, params=form))))
    assert facts["claim"] == facts["bound"] == check(facts, dataset).objective
    rnd, refused, truth = random.Random(1), 0, {}
    many = 500 if long_run else 125
    for _ in range(many):
        changed, rows = corrupt(facts, dataset, rnd)
        proof = accepted(changed, rows)
        if proof is None:
            refused += 1
            continue
        # Accepted: then the bound must be one of these very rows, splits, losses and depth, and a tree costs that much.
        key = (rows.X.tobytes(), rows.y.tobytes(), *(str(changed[name]) for name in ("columns", "loss", "depth")))
        if key not in truth:
            truth[key] = _best(changed, rows)
        assert proof.bound * changed["scale"] <= truth[key] <= proof.objective * changed["scale"]
    assert refused > many / 2


def _numbers() -> Dataset:
    """Columns of many values, of which a certificate names few thresholds."""
    random = np.random.default_rng(5)
    X = random.integers(0, 25, (45, 2)).astype(float)
    y = ((X[:, 0] > 12) ^ (X[:, 1] > 9) ^ (random.random(45) < 0.2)).astype(np.int32)
    return Dataset("numbers", X, y, (Feature("a", "numeric"), Feature("b", "numeric")), ("x", "y"), np.ones(45))


@pytest.mark.parametrize("classes", [2, 3])
@given(seed=st.integers(0, 10**6), depth=st.sampled_from([2, 3]), price=st.sampled_from([0.0, 0.05]))
@settings(max_examples=25, deadline=None)
def test_thresholds_that_no_target_names_are_bounded_by_others(classes, seed, depth, price):
    """The check accepts the bounds of intervals, and none that is higher than the optimum."""
    random = np.random.default_rng(seed)
    X, y = random.integers(0, 30, (25, 2)).astype(float), random.integers(0, classes, 25).astype(np.int32)
    weight = random.choice([1.0, 1.0, 2.5], 25)
    dataset = Dataset(
        "numbers", X, y, (Feature("a", "numeric"), Feature("b", "numeric")), tuple("xyz"[:classes]), weight
    )
    problem = pipeline.pose(dataset, "dpflow", depth, params={"intervals": "true", "lambda": price})
    facts = json.loads(json.dumps(certify(problem)))
    plain = pipeline.pose(dataset, "dpflow", depth, params={"intervals": "false", "lambda": price})
    best = problem.module.objective(plain, forms.form(plain).optimal(plain))
    assert check(facts, dataset).objective == pytest.approx(best, abs=1e-9)
    target, *points = facts["states"][0].split(",")
    facts["claim"] += 1
    facts["bound"] += 1
    facts["states"][0] = ",".join([str(int(target) + 1), *points])
    with pytest.raises(CertificateError):
        check(facts, dataset)


def _best(facts, rows) -> float:
    """The optimum by the search that the starts use, with the certificate's own losses and splits; trees of which some
    leaf has fewer rows than it says cost no less."""
    from odtc.algorithms.dp.shallow_trees import ShallowTreeSearch

    X = splits_of(facts, rows)
    loss = np.array(facts["loss"], float)[rows.y]
    gain = loss.max() - loss
    return float(loss.max() * len(X) - ShallowTreeSearch(X, gain).best(np.arange(len(X)), facts["depth"])[0])


def test_command_line(tmp_path):
    file = tmp_path / "m.certificate.json"
    solved = odtc.fit(MONKS, "dpflow", 3, encoding="onehot", tail="0").facts["objective"]
    made = command("certify", MONKS, "--depth", 3, "--encoding", "onehot", "-o", file, "--json")
    assert made.code == 0 and made.facts["objective"] == solved
    checked = command("verify", "--certificate", file, "--json")
    assert checked.code == 0 and checked.facts["verified"] and checked.facts["objective"] == solved
    facts = json.loads(file.read_text())
    facts["states"][0] = str(int(solved) + 1)
    file.write_text(json.dumps(facts))
    refused = command("verify", "--certificate", file)
    assert refused.code == 1 and "entry 1 of states[0]" in refused.err and "Traceback" not in refused.err
    assert command("verify").code == 2
    other = command("verify", "--certificate", MONKS)
    assert other.code == 1 and "certificate in JSON" in other.err


def test_a_certificate_in_python_is_that_of_the_command(tmp_path):
    """The same file from a path; arrays have one that names no file; sets without a tree are proved, too."""
    asked = {"depth": 2, "encoding": "onehot", "constraints": ["recall[1] >= 0.8"]}
    found = odtc.certify(MONKS, **asked)
    options = ("--depth", 2, "--encoding", "onehot", "--constraint", "recall[1] >= 0.8")
    said = command("certify", MONKS, *options, "-o", tmp_path / "command.certificate.json")
    assert found.optimal and found.checked and said.out.startswith(str(found))
    assert found.objective == found.bound == odtc.fit(MONKS, **asked).facts["objective"]
    rows = odtc.read(MONKS)
    assert (found.tree.predict(rows.X) != rows.y).sum() == found.objective
    for name in ("python", "python.certificate.json"):
        file = found.write(tmp_path / name)
        assert file.read_bytes() == (tmp_path / "command.certificate.json").read_bytes()
    assert (tmp_path / "python.tree.json").read_bytes() == (tmp_path / "command.tree.json").read_bytes()
    priced = odtc.certify(rows.X, rows.y, 1, lambda_=0.25).write(tmp_path / "arrays")
    assert "path" not in json.loads(priced.read_text())["data"]
    none = odtc.certify(MONKS, depth=1, constraints=["recall[1] >= 0.99", "recall[0] >= 0.99"])
    assert none.infeasible and not none.optimal and none.tree is None and str(none).startswith("proved: no tree")
    assert command("verify", "--certificate", none.write(tmp_path / "none")).code == 0


def test_a_name_without_an_ending_is_a_stem(tmp_path):
    """As of other commands, and of `Certificate.write`; a file without an ending was written, which nothing else of
    odtc knew. Of a name with an ending it is the file as before."""
    for name, file in (("stem", "stem.certificate.json"), ("own.txt", "own.txt")):
        said = command("certify", MONKS, "--depth", 1, "-o", name, "--json", folder=tmp_path)
        assert said.code == 0 and said.facts["certificate"] == file and (tmp_path / file).is_file()
        assert command("verify", "--certificate", name, folder=tmp_path).code == 0
    assert not (tmp_path / "stem").exists() and (tmp_path / "stem.tree.json").is_file()


def test_balanced_classes_are_certified():
    """Their prices are no decimal fractions, but fractions of whole numbers."""
    problem = pipeline.pose(EXAMPLES / "monks-3.csv", "dpflow", 2, encoding="onehot", class_weight="balanced")
    facts = certify(problem)
    proof = check(facts, problem.encoded.dataset)
    assert proof.objective == pytest.approx(
        odtc.fit(problem.encoded.dataset, "flowoct", 2, encoding="onehot", class_weight="balanced").facts["objective"]
    )
    assert facts["loss"][0][1] != facts["loss"][1][0]


@pytest.mark.parametrize("seed", [498, *range(3000, 3012)])
def test_weights_of_all_sizes_are_certified(seed):
    """Of weights from 1e-6 to 1e6 the rounding that sums were allowed was more than a unit: 498 was refused by two."""
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(20, 80)), int(rng.integers(2, 4))
    X = rng.integers(0, int(rng.integers(2, 12)), (n, int(rng.integers(1, 3)))).astype(float)
    y = rng.integers(0, n_classes, n).astype(np.int32)
    y[:n_classes] = range(n_classes)
    weight = np.array([float(f"1e{digits}") for digits in rng.integers(-6, 7, n)]) * rng.integers(1, 10, n)
    features = tuple(Feature(f"x{j}", "numeric") for j in range(X.shape[1]))
    dataset = Dataset("drawn", X, y, features, tuple("pqr"[:n_classes]), np.round(weight, 6), "y")
    problem = pipeline.pose(dataset, "dpflow", 3, encoding="thresholds", cost="p:q=3,q:p=0.5")
    try:
        facts = json.loads(json.dumps(certify(problem)))
    except ChoiceError as reason:  # the sums are beyond what whole numbers hold
        assert "counts in whole numbers" in str(reason) and seed != 498
    else:
        assert check(facts, dataset).optimal


FORGERIES = [
    {"weight_scale": 0, "claim": 0, "bound": 0, "states": ["0"]},
    {"loss": [[0, 0], [0, 0]], "claim": 0, "bound": 0, "states": ["0"]},
    {"penalty": 1000},
    {"scale": 0},
    {"columns": [{"kind": "threshold", "feature": "a1", "thresholds": [float("nan")]}]},
]


@pytest.mark.parametrize("forged", FORGERIES, ids=lambda forged: next(iter(forged)))
def test_forged_terms_are_refused(forged):
    dataset = odtc.read(MONKS)
    facts = json.loads(json.dumps(certify(pipeline.pose(dataset, "dpflow", 2, encoding="onehot"))))
    with pytest.raises(CertificateError):
        check(facts | forged, dataset)


def test_the_terms_are_told(tmp_path):
    """Another scale is another objective: the costs that it means are said."""
    dataset = odtc.read(MONKS)
    facts = json.loads(json.dumps(certify(pipeline.pose(dataset, "dpflow", 2, encoding="onehot"))))
    assert check(facts, dataset).terms == ""
    assert "costs 0:1=0.5" in check(facts | {"scale": 2}, dataset).terms
    priced = certify(pipeline.pose(dataset, "dpflow", 2, encoding="onehot", params={"lambda": 0.25}, cost="0:1=3"))
    assert check(priced, dataset).terms == "lambda 0.25 and costs 0:1=3, 1:0=1"


@pytest.mark.parametrize(
    "weights", [(1e10, 2, 1, 7, 1), (1e12, 2, 0.1, 0.7, 1), (3e-7, 1e-7, 2e-7, 3e-7, 1e-7)], ids=str
)
def test_weights_far_apart_lose_no_error(weights):
    """A tolerance relative to the whole would swallow the errors of all rows but one."""
    X, y = np.array([[0, 1], [1, 0], [1, 1], [0, 0], [0, 0]], float), np.array([0, 1, 0, 1, 0], np.int32)
    features = (Feature("a", "numeric"), Feature("b", "numeric"))
    dataset = Dataset("far", X, y, features, ("x", "y"), np.array(weights, float))
    encoded = encode(dataset)
    best = cheapest(encoded.X, encoded.y, encoded.weight, 2)
    fitted = odtc.fit(dataset, "dpflow", 2, start_from="none")
    assert fitted.tree is not None and fitted.decoded.heap.errors(encoded) == pytest.approx(best, rel=1e-9)
    if weights[0] > 1:
        assert check(
            json.loads(json.dumps(certify(pipeline.pose(dataset, "dpflow", 2)))), dataset
        ).objective == pytest.approx(best)


def test_certify_says_what_a_fit_does_and_writes_the_tree(tmp_path):
    """docs/reference/json.md, and the tree beside the certificate."""
    said = command("certify", MONKS, "--depth", 2, "--encoding", "onehot", "--json", folder=tmp_path)
    facts = said.facts
    fitted = command(
        "fit", MONKS, "--depth", 2, "--encoding", "onehot", "--model", "dpflow", "--json", "-o", "m", folder=tmp_path
    ).facts
    for key in (
        "model",
        "depth",
        "termination",
        "n_rows",
        "n_rows_merged",
        "n_features_encoded",
        "objective",
        "bound",
        "gap",
        "verified",
        "train_correct",
        "n_leaves",
        "claim",
        "certified",
    ):
        assert facts[key] == fitted[key], key
    assert (
        facts["seconds"] >= 0
        and facts["tree"] == "monks-1_d2.tree.json"
        and facts["files"] == ["monks-1_d2.certificate.json", facts["tree"]]
    )
    proved = json.loads((tmp_path / facts["files"][0]).read_text())
    assert json.loads((tmp_path / facts["tree"]).read_text()) == proved["tree"]
    assert command("show", facts["tree"], folder=tmp_path).code == 0


NUMBERS = "x,y,kind,label\n" + "".join(
    f"{x},{y},{kind},{label}\n"
    for x, y, kind, label in [
        (1, 5, "a", "p"),
        (2, 5, "b", "q"),
        (3, 7, "c", "p"),
        (4, 9, "a", "q"),
        (5, 9, "b", "p"),
        (6, 5, "c", "q"),
        (7, 7, "a", "p"),
        (8, 9, "b", "p"),
    ]
)


@pytest.mark.parametrize(("encoding", "left_out"), [("auto", {}), ("auto:bins=3", {"x": 5}), ("onehot", {"x": 5})])
def test_a_proof_says_whether_it_is_over_all_midpoints(tmp_path, encoding, left_out):
    """x has 7 midpoints, y 2, kind 3 levels; of a single level of x the first and the last are thresholds as well."""
    (tmp_path / "n.csv").write_text(NUMBERS)
    assert command("certify", "n.csv", "--encoding", encoding, "-o", "n.json", folder=tmp_path).code == 0
    facts = command("verify", "--certificate", "n.json", "--json", folder=tmp_path).facts
    assert {name: absent for name, (absent, _) in facts["left_out"].items()} == left_out and facts[
        "n_possible_splits"
    ] == 12
    assert facts["all_midpoints"] == (not left_out)
    words = command("verify", "--certificate", "n.json", folder=tmp_path).out
    assert ("these include all" in words) == (not left_out) and ("x: 5 of 7" in words) == bool(left_out)


def test_numbers_of_very_many_digits_are_refused_in_a_sentence(tmp_path):
    dataset = odtc.read(MONKS)
    facts = json.loads(json.dumps(certify(pipeline.pose(dataset, "dpflow", 3, encoding="onehot"))))
    for many in ("9" * 40, "9" * 5000):
        levels = [many + facts["states"][0], *facts["states"][1:]]
        with pytest.raises(CertificateError, match=r"four whole numbers for each cut in entry 1 of states\[0\]"):
            check(facts | {"states": levels}, dataset)
    for key in ("claim", "penalty", "scale", "weight_scale", "depth"):
        with pytest.raises(CertificateError, match="very many digits"):
            check(facts | {key: 10**100}, dataset)
    (tmp_path / "c.json").write_text('{"schema": "odtc.proof/1", "kind": "labels", "claim": ' + "9" * 5000 + "}")
    refused = command("verify", "--certificate", "c.json", folder=tmp_path)
    assert refused.code == 1 and "thousands of digits" in refused.err and "c.json" in refused.err


def test_an_auxiliary_column_is_no_split_of_a_certificate(tmp_path):
    rows = "a,b,g,y\n" + "".join(
        f"{i % 4},{i % 3},{'u' if i % 2 else 'v'},{'yes' if i % 2 else 'no'}\n" for i in range(24)
    )
    (tmp_path / "d.csv").write_text(rows)
    with_it, without = (
        command("certify", "d.csv", "--depth", 1, "--json", "-o", f"{name}.certificate.json", *words, folder=tmp_path)
        for name, words in (("g", ()), ("no", ("--auxiliary", "g")))
    )
    assert with_it.facts["objective"] == 0 < without.facts["objective"]
    said = command("verify", "--certificate", "no.certificate.json", folder=tmp_path)
    assert said.code == 0 and "these include all" in said.out, said.out + said.err


def test_data_of_another_certificate_are_told_so(tmp_path):
    (tmp_path / "d.csv").write_text("a,b,y\n0,0,n\n1,0,p\n0,1,p\n1,1,p\n")
    (tmp_path / "e.csv").write_text("a,b,z\n0,0,n\n1,0,p\n")
    assert command("certify", "d.csv", "--depth", 1, "-o", "c.json", folder=tmp_path).code == 0
    said = sentence(command("verify", "--certificate", "c.json", "--data", "e.csv", folder=tmp_path))
    assert "'e.csv' is not the data of the certificate 'c.json', which expects the target 'y'" in said
    assert said.endswith("name its data with --data")


def test_hyperplanes_are_refused_before_the_search(tmp_path, monkeypatch):
    monkeypatch.setattr(ThresholdSearch, "run", lambda search: pytest.fail("searched first"))
    (tmp_path / "d.csv").write_text(
        "a,b,y\n" + "".join(f"{i % 5},{i % 7},{'u' if i % 5 + i % 7 > 5 else 'v'}\n" for i in range(35))
    )
    said = command("certify", "d.csv", "--encoding", "oblique", folder=tmp_path)
    assert (
        said.code == 2
        and "a certificate supports splits on one column only" in said.err
        and "--encoding" in said.err
        and "'oblique" in said.err
    )


MIXED = "size,kind,on,w,site,y\n" + "".join(
    f"{i % 5},{'' if i % 7 == 3 else 'ab'[i % 2]},{'?' if i % 6 == 1 else 'uv'[i % 3 > 0]},"
    f"{1 + i % 3},{i % 2},{'np'[i % 4 > 1]}\n"
    for i in range(40)
)


@pytest.fixture
def mixed(tmp_path):
    """Numbers, two columns of two levels with missing cells, weights, an auxiliary column."""
    (tmp_path / "d.csv").write_text(MIXED)
    return tmp_path / "d.csv"


def certificate_of(file, depth=2, encoding="auto", **reading):
    dataset = odtc.read(file, **reading)
    return json.loads(json.dumps(certify(pipeline.pose(dataset, "dpflow", depth, encoding=encoding)))), dataset


def swapped(node, names):
    """The tree with every label replaced by the other one."""
    if "label" in node:
        return node | {"label": names[1 - names.index(node["label"])]}
    return node | {side: swapped(node[side], names) for side in ("left", "right")}


def test_classes_in_another_order_are_refused():
    """With the classes reversed and all labels swapped, a tree that is wrong everywhere costs as little as the best."""
    facts, dataset = certificate_of(MONKS, encoding="onehot")
    names = facts["classes"]
    facts |= {"classes": names[::-1], "tree": {"root": swapped(facts["tree"]["root"], names)}}
    with pytest.raises(CertificateError, match="in this order"):
        check(facts, dataset)
    facts.pop("of")
    with pytest.raises(CertificateError, match="the certificate is damaged: 'of' is missing"):
        check(facts, dataset)


def test_a_test_of_two_levels_with_missing_cells_that_is_left_out_is_seen(mixed):
    facts, dataset = certificate_of(mixed, target="y", missing="separate", weights="w")
    assert check(facts, dataset).left_out == {} and facts["of"]["all_splits"]
    kept = list(facts["columns"])
    kept.remove(next(column for column in kept if (column["feature"], column["kind"]) == ("on", "subset")))
    assert count_left_out(dataset, rank_columns(kept, dataset, left_of))[1].keys() == {"on"}


def every_split(dataset):
    """All ways in which a threshold between neighbours, a level, or a missing cell separates the rows, by trying."""
    found = set()
    for at, feature in enumerate(dataset.features):
        cells = dataset.X[:, at].tolist()
        known = sorted({cell for cell in cells if cell == cell})
        sides = [[cell != cell for cell in cells]] if dataset.missing == "separate" else []
        for value in known:
            sides.append([(cell <= value if feature.kind == "numeric" else cell == value) for cell in cells])
        for side in sides:
            if 0 < sum(side) < len(side):
                found.add(min(tuple(side), tuple(not left for left in side)))
    return found


@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_splits_that_no_test_is_are_counted_as_by_sets_of_all_sides(data):
    n, of_cells = data.draw(st.integers(1, 8)), st.sampled_from([np.nan, 0.0, 1.0, 2.0])
    X = np.array([data.draw(st.lists(of_cells, min_size=n, max_size=n)) for _ in range(2)]).T
    kinds = data.draw(st.lists(st.sampled_from(["numeric", "categorical"]), min_size=2, max_size=2))
    features = tuple(Feature(f"f{j}", kind, () if kind == "numeric" else tuple("abc")) for j, kind in enumerate(kinds))
    policy = data.draw(st.sampled_from(["drop", "separate"]))
    dataset = Dataset("d", X, np.zeros(n, np.int32), features, ("n", "p"), np.ones(n), missing=policy)
    sides = [side for j in range(2) for v in X[:, j] for side in (X[:, j] <= v, X[:, j] == v, np.isnan(X[:, j]))]
    columns = np.array(
        [
            np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n))),
            *(side ^ flip for side, flip in data.draw(st.lists(st.tuples(st.sampled_from(sides), st.booleans())))),
        ]
    )
    have = {tuple(one) for column in columns for one in (column.tolist(), (~column).tolist())}
    total, lacking = 0, {}
    for j, kind in enumerate(kinds):
        known = X[~np.isnan(X[:, j]), j]
        found = {tuple((X[:, j] <= v if kind == "numeric" else X[:, j] == v).tolist()) for v in known}
        if kind == "numeric" or (len(found) == 2 and len(known) == n):  # all known cells: whether one is missing
            found -= (
                {tuple((X[:, j] <= max(known)).tolist() if kind == "numeric" else (X[:, j] == max(known)).tolist())}
                if len(known)
                else set()
            )
        found |= {tuple(np.isnan(X[:, j]).tolist())} if policy == "separate" else set()
        found = {side for side in found if 0 < sum(side) < n}
        total += len(found)
        if found - have:
            lacking[f"f{j}"] = len(found - have), len(found)
    assert count_left_out(dataset, of_splits(columns)) == (total, lacking)


def test_a_column_that_is_missing_everywhere_has_no_test_to_leave_out():
    X = np.array([[np.nan, 0], [np.nan, 1]])
    features = Feature("a", "numeric"), Feature("b", "numeric")
    dataset = Dataset("d", X, np.array([0, 1], np.int32), features, ("n", "p"), np.ones(2), missing="separate")
    assert count_left_out(dataset, of_splits(np.array([[True, False]]))) == (1, {})


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_all_tests_are_one_set_to_the_encoder_and_to_the_checker(data):
    n = data.draw(st.integers(2, 12))
    kinds = data.draw(st.lists(st.sampled_from([1, 2, 3, 5]), min_size=1, max_size=3))
    policy = data.draw(st.sampled_from(["drop", "separate"]))
    cell = st.sampled_from([np.nan, 0, 1, 2, 3, 4] if policy == "separate" else [0, 1, 2, 3, 4])
    columns = [
        [min(v, kind - 1) if v == v else v for v in data.draw(st.lists(cell, min_size=n, max_size=n))] for kind in kinds
    ]
    X = np.array(columns, float).T
    named = data.draw(st.lists(st.booleans(), min_size=len(kinds), max_size=len(kinds)))
    features = tuple(
        Feature(f"f{j}", "categorical", tuple("abcde"[:kind])) if words else Feature(f"f{j}", "numeric")
        for j, (kind, words) in enumerate(zip(kinds, named))
    )
    y = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)), np.int32)
    dataset = Dataset("d", X, y, features, ("n", "p"), np.ones(n), missing=policy)
    try:
        encoded = encode(dataset)
    except odtc.errors.DataError:  # no test separates the rows
        assert not every_split(dataset)
        return
    splits = [
        split for at, test in enumerate(encoded.splits) for split in (test, *(s for s, _ in encoded.stands_for[at]))
    ]
    asked = {min(tuple(left), tuple(~left)) for left in (split.left(X) for split in splits)}
    wanted = every_split(dataset)
    assert {tuple(map(bool, one)) for one in asked} == wanted
    columns = np.stack([split.left(X) for split in encoded.splits])
    assert count_left_out(dataset, of_splits(columns))[1] == {}
    for at in range(len(columns)):  # one that is left out is missed
        assert count_left_out(dataset, of_splits(np.delete(columns, at, axis=0)))[1]


FORGED_TERMS = {
    "target": "z",
    "classes": ["p", "n"],
    "columns": ["size"],
    "auxiliary": ["size"],
    "weights": "site",
    "missing": "drop",
    "n_rows": 39,
    "n_dropped_missing": 1,
    "n_dropped_unlabelled": 2,
    "rows_of_class": [1, 39],
    "depth": 3,
    "n_candidate_splits": 4,
    "all_splits": False,
    "constraints": ["leaf_rows >= 5"],
}


@pytest.mark.parametrize("key", FORGED_TERMS)
def test_every_term_of_the_claim_is_bound(key, mixed):
    facts, dataset = certificate_of(mixed, target="y", missing="separate", weights="w", auxiliary=("site",))
    assert set(facts["of"]) == set(FORGED_TERMS) and facts["of"][key] != FORGED_TERMS[key]
    assert check(facts, dataset).of == facts["of"]
    forged = facts | {"of": facts["of"] | {key: FORGED_TERMS[key]}}
    with pytest.raises(CertificateError, match="the certificate states"):
        check(forged, dataset)


@pytest.mark.parametrize(("key", "name"), [("categorical", "size"), ("numeric", "site")])
def test_how_columns_were_read_is_bound_and_said(key, name, tmp_path):
    """A number that is read as a category has other tests, over which another tree is the best."""
    text = "size,site,y\n" + "".join(f"{i % 5},{i % 2},{'np'[i % 5 > 1]}\n" for i in range(40))
    (tmp_path / "d.csv").write_text(text)
    facts, dataset = certificate_of(tmp_path / "d.csv", 1, target="y", **{key: (name,)})
    plain, as_it_is = certificate_of(tmp_path / "d.csv", 1, target="y")
    assert facts["of"][key] == [name] and key not in plain["of"]
    told = f"{name} is read as {'a category' if key == 'categorical' else 'numbers'}"
    assert told in in_words(check(facts, dataset).of) and "is read as" not in in_words(check(plain, as_it_is).of)
    without = {term: value for term, value in facts["of"].items() if term != key}
    for forged in (without, facts["of"] | {key: []}, facts["of"] | {key: ["y"]}):
        with pytest.raises(CertificateError, match=f"states the columns read as {key[0]}"):
            check(facts | {"of": forged}, dataset)
    with pytest.raises(CertificateError, match="the certificate states the columns read as"):
        check(plain | {"of": plain["of"] | {key: [name]}}, as_it_is)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ({"n_targets": 1}, "1 target"),
        ({"n_targets": 1200}, "1,200 targets"),
        ({"n_cases": 1, "n_listed": 1}, "1 case, 1 of them with a list of its trees"),
        ({"n_cases": 17, "n_listed": 12}, "17 cases, 12 of them with a list of their trees"),
        ({"n_cases": 17, "n_listed": 0}, "17 cases"),
    ],
)
def test_what_was_checked_is_counted_in_words(steps, words):
    assert _steps(SimpleNamespace(steps=steps)) == words


def test_what_it_is_of_is_said(mixed):
    words = ["--target", "y", "--missing", "drop", "--weights", "w", "--auxiliary", "site"]
    assert command("certify", "d.csv", *words, "-o", "c.json", folder=mixed.parent).code == 0
    said = command("verify", "--certificate", "c.json", folder=mixed.parent)
    assert said.code == 0, said.err
    for part in ("target 'y' (n, p)", "weights in column 'w'", "no split uses site", "with missing cells"):
        assert part in said.out


def test_the_certificate_of_a_tree_with_the_unavoidable_cost_needs_no_bound():
    problem = pipeline.pose(EXAMPLES / "monks-1.csv", "dpflow", 4, encoding="onehot")
    facts = json.loads(json.dumps(certify(problem)))
    assert facts["states"] == ["0"] and check(facts, problem.encoded.dataset).objective == 0


def example(folder) -> tuple[dict, Path]:
    """The certificate that docs/reference/proof-format.md shows, and its data file."""
    page = (CHECKOUT / "docs" / "reference" / "proof-format.md").read_text(encoding="utf-8")
    rows, facts = (re.search(rf"```{kind}\n(.*?)```", page, re.DOTALL).group(1) for kind in ("csv", "json"))
    (folder / "rows.csv").write_text(rows)
    return json.loads(facts), folder / "rows.csv"


def test_the_example_of_the_page_is_a_proof(tmp_path):
    facts, file = example(tmp_path)
    (tmp_path / "c.json").write_text(json.dumps(facts))
    said = command("verify", "--certificate", "c.json", folder=tmp_path)
    assert said.code == 0 and said.out.startswith(
        "proved: no tree of depth 1 over 5 splits costs less than 1 on 6 rows"
    )
    own = json.loads(json.dumps(certify(pipeline.pose(odtc.read(file), "dpflow", 1))))
    assert {key: own[key] for key in facts.keys() - {"data", "tree"}} == {
        key: value for key, value in facts.items() if key not in ("data", "tree")
    }
    for forged in ({"states": ["2"], "bound": 2}, {"claim": 2}, {"of": facts["of"] | {"all_splits": False}}):
        with pytest.raises(CertificateError):
            check(facts | forged, odtc.read(file))
