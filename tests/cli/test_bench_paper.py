"""`odtc bench paper`: protocols of the papers' tables on tiny data, their splits, and the fits that a rerun skips."""

import csv
import hashlib
from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from odtc.evaluation.studies import paper, paper_protocols
from odtc.evaluation.studies.paper_protocols import Split
from odtc.problem.parameters import parse_params
from tests.command_line import odtc, refused

NAMES = ("flowoct-2", "flowoct-3", "cg-5", "cg-6", *(f"s1o-{number}" for number in range(1, 9)))
LIKE_OTHERS = {"s1o-2": "s1o-5", "s1o-3": "s1o-5", "s1o-4": "s1o-5", "s1o-8": "s1o-7"}  # no method that the other lacks


def write(folder, name, n_rows=16):
    """A data file with two numbers, a category and two classes, which the first number decides."""
    lines = ["a,b,colour,class"]
    for row in range(n_rows):
        lines.append(f"{row % 4},{row * 7 % 5},{'rgb'[row % 3]},{'yes' if row % 4 > 1 else 'no'}")
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


def test_the_command_lists_a_table_for_each_name():
    said = odtc("bench", "paper")
    assert said.code == 0
    assert [line.split()[0] for line in said.out.splitlines() if not line.startswith(" ")] == list(NAMES)
    assert set(odtc("bench", "paper", "--json").facts) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_protocol_names_known_data_and_parameters(name):
    one, files = paper_protocols.protocol(name), paper_protocols.data_files()
    assert one.lines and one.methods
    for line in one.lines:
        assert line.data in files and line.depth in (2, 3, 4, 5)
        methods = {method for _, method in line.printed}
        assert methods <= {method.of for method in one.methods}
        for method in one.methods:
            given = {key: f"{value:g}" for key, value in line.given.items()}
            params = {key: value.format(**given) for key, value in method.params.items()}
            for point in method.points:
                tried = {key: str(value) for key, value in point.items() if key != "lambda"}
                parse_params(method.model, params | tried)


def test_a_table_like_another_has_its_methods():
    for name, other in LIKE_OTHERS.items():
        one, two = map(paper_protocols.protocol, (name, other))
        assert all(method in two.methods or method.extra for method in one.methods)
        assert (one.split, one.folds, one.choose, one.refit) == (two.split, two.folds, two.choose, two.refit)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name not in LIKE_OTHERS])
def test_a_small_version_of_each_table_runs(tmp_path, name, monkeypatch):
    whole = paper_protocols.protocol(name)
    small = [replace(method, grid={key: values[:2] for key, values in method.grid.items()}) for method in whole.methods]
    few = replace(whole, methods=tuple(small), folds=min(2, whole.folds))
    monkeypatch.setattr(paper_protocols, "protocol", lambda _: few)
    line = whole.lines[0]
    write(tmp_path, line.data)
    words = ["bench", "paper", name, "--data", tmp_path, "--rows", line.name, "--samples", 1, "--time-limit", 1]
    said = odtc(*words, "--results", tmp_path / "fits", "--json")
    assert said.code == 0, said.err
    notes = [text for text in said.err.splitlines() if text.startswith("note")]
    known = paper_protocols.data_files()[line.data].sha256
    assert notes == [f"note: {line.data}: the data file differs"] * (known is not None)
    methods = [method for method in whole.methods if not method.extra]
    lines = said.facts["lines"]
    assert {one["method"] for one in lines} == {method.name for method in methods}
    for one in lines:
        assert one["note"] in ("", None), one
    again = odtc(*words, "--results", tmp_path / "fits", "--finished", "--json")
    assert again.facts == said.facts
    table = odtc(*words, "--results", tmp_path / "fits", "--finished").out
    assert line.data in table or name == "flowoct-3"


def test_a_figure_is_that_of_scikit_learn_on_the_same_rows(tmp_path):
    write(tmp_path, "iris", 60)
    rows = list(csv.reader((tmp_path / "iris.csv").read_text().splitlines()))[1:]
    X = np.array([[float(a), float(b), *(colour == level for level in "rgb")] for a, b, colour, _ in rows])
    y = np.array([label for *_, label in rows])
    means = []
    for seed in (11, 23, 37, 53, 71):
        rest, test = train_test_split(np.arange(60), test_size=0.25, random_state=seed)
        train, _ = train_test_split(rest, test_size=0.3334, random_state=seed)
        cart = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[train], y[train])
        means.append(cart.score(X[test], y[test]))
    words = ["bench", "paper", "cg-5", "--data", tmp_path, "--rows", "iris@2", "--methods", "CART"]
    said = odtc(*words, "--results", tmp_path / "fits", "--json")
    (line,) = (one for one in said.facts["lines"] if one["figure"] == "test")
    assert line["samples"] == line["of_samples"] == 5 and line["printed"] == 94.7
    assert line["ours"] == pytest.approx(100 * np.mean(means), abs=3.0)  # ties between splits are broken by each alone


@pytest.mark.parametrize("n_rows", [9, 122, 625])
def test_the_parts_are_those_of_scikit_learn(n_rows):
    train, validation, test = paper.parts(n_rows, Split((41,), 0.25, 0.33))
    rest, held = train_test_split(np.arange(n_rows), test_size=0.25, random_state=41)
    first, second = train_test_split(rest, test_size=0.33, random_state=41)
    assert test.tolist() == sorted(held) and train.tolist() == sorted(first) and validation.tolist() == sorted(second)


def test_a_rerun_fits_nothing_and_another_table_shares_the_fits(tmp_path, monkeypatch):
    write(tmp_path, "monks-3")
    words = ["--data", tmp_path, "--rows", "monks-3@2", "--samples", 1, "--methods", "FlowOCT (default)"]
    words += ["--results", tmp_path / "fits", "--time-limit", 5]
    whole = paper_protocols.protocol("flowoct-2")
    few = [
        replace(method, grid={"lambda": [0.0, 0.5]}) for method in whole.methods if method.name == "FlowOCT (default)"
    ]
    protocols = {"flowoct-2": replace(whole, methods=tuple(few))}
    protocols["flowoct-3"] = replace(paper_protocols.protocol("flowoct-3"), methods=tuple(few))
    monkeypatch.setattr(paper_protocols, "protocol", protocols.get)
    first = odtc("bench", "paper", "flowoct-2", *words, "--json").facts
    monkeypatch.setattr(paper, "run", lambda *_: pytest.fail("a finished fit was run again"))
    assert odtc("bench", "paper", "flowoct-2", *words, "--json").facts == first
    proofs = odtc("bench", "paper", "flowoct-3", *words, "--json").facts["lines"]
    assert [line["lambda"] for line in proofs] == [0.0, 0.5]
    assert {line["n_train"] for line in proofs} == {8}


@pytest.mark.parametrize("lam", [0.0, 0.2])
def test_the_optimum_of_our_search_is_that_of_the_printed_models(tmp_path, lam):
    write(tmp_path, "monks-1")
    one, files = paper_protocols.protocol("flowoct-2"), paper_protocols.data_files()
    methods = ("optimum", "FlowOCT", "Benders")
    cells = paper.cells_of(one, files, tmp_path, (("monks-1@2",), methods), paper.SolvingSpec(solver="highs"), 1)
    found = [cell.fit({"lambda": lam}, paper.TRAIN).run() for cell in cells]
    assert [result["proved"] for result in found] == [True] * 3
    assert found[1]["objective"] == pytest.approx(found[0]["objective"], abs=1e-6) == found[2]["objective"]


def test_the_penalty_of_oct_is_that_of_lambda(tmp_path):
    write(tmp_path, "monks-1")
    one, files = paper_protocols.protocol("flowoct-2"), paper_protocols.data_files()
    solving = paper.SolvingSpec(solver="highs")
    cell = paper.cells_of(one, files, tmp_path, (("monks-1@2",), ("OCT",)), solving)[0]
    fit = cell.fit({"lambda": 0.2}, paper.VALIDATION)
    train, _ = fit._parts
    loss = min(np.bincount(train.y))  # two classes: the most frequent one is wrong on the rows of the other
    alpha = float(fit._spec_for(train).model.params["alpha"])
    assert alpha * loss == pytest.approx(0.2 / 0.8)
    assert fit.spec.solving.time_limit == 3600


def test_limits_of_methods_scale_with_the_time_limit():
    one = paper_protocols.protocol("cg-5")
    limits = {method.name: one.limit_of(method, 20.0) for method in one.methods}
    assert limits == {"CART": 20.0, "CART*": 20.0, "OCT": 60.0, "CG": 20.0}


def test_list_data_prints_checksums_and_states(tmp_path):
    write(tmp_path, "iris")
    lines = odtc("bench", "paper", "cg-6", "--list-data", "--data", tmp_path, "--json").facts
    assert [line["state"] for line in lines if line["set"] == "iris"] == ["differs"]
    assert {line["state"] for line in lines if line["set"] != "iris"} == {"missing"}
    assert all(len(line["sha256"]) == 64 for line in lines if line["set"] != "banknote-authentication")
    expected = next(one for one in paper_protocols.data_files().values() if one.name == "iris")
    assert (expected.rows, expected.columns, expected.classes) == (150, 4, 3)
    assert hashlib.sha256((tmp_path / "iris.csv").read_bytes()).hexdigest() != expected.sha256


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["cg-7"], "expected one of flowoct-2"),
        (["cg-6", "--methods", "CARD"], "--methods: expected some of CART, CG"),
        (["cg-6", "--rows", "iris@9"], "--rows: expected some of iris"),
        (["cg-6", "--samples", "0"], "--samples: expected 1 or more, got 0"),
        (["cg-6", "--data", "nowhere"], "--data: expected a folder with data files, got 'nowhere'"),
        (["cg-6", "-o", "table.xlsx"], "expected a table that ends in .md or .csv, got 'table.xlsx'"),
        (["cg-6", "--time-limit", "-1"], "time"),
    ],
)
def test_wrong_words_are_refused_in_a_sentence(tmp_path, words, text):
    write(tmp_path, "iris")
    (tmp_path / "data").mkdir()
    more = [] if "--data" in words else ["--data", "data"]
    assert text in refused(odtc("bench", "paper", *words, *more, folder=tmp_path))
