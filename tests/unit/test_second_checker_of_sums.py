"""The checker in JavaScript agrees with ours on certificates of trees whose leaves cost sums, and on forgeries."""

import copy
import json
import random
import shutil
import subprocess
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from odtc.data.reading import read
from odtc.verification.certificate import check
from odtc.verification.leaf_sums.likelihood import _log
from tests import pipeline
from tests.laws.test_tasks import corruptions
from tests.unit.test_forged_leaf_sums import without_the_copy
from tests.unit.test_second_checker import CHECKER, ours, told_otherwise, verdicts
from tests.unit.test_second_checker import forgeries as of_classes

pytestmark = pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
LIMITS = ((), ("leaf_rows >= 2",), ("leaves <= 5",), ("leaf_rows >= 3", "leaves <= 3"), ("leaves <= 1",))


def drawn(folder, seed: int, task: str, **words):
    """(data, file) of a table with ties, decimals, missing cells, levels, codes and weights."""
    rng, n = np.random.default_rng(seed), int(words.get("n", 22))
    columns = {
        "x": rng.integers(0, 5, n).astype(str),
        "number": np.where(rng.random(n) < 0.1, "?", (rng.integers(-4, 9, n) / 8).astype(str)),
        "kind, of it": rng.choice(["a", "é", ' b "c"', ""], n, p=[0.4, 0.3, 0.25, 0.05]),
        "on": rng.choice(["True", "false"], n),
        "code": rng.choice(["01", "1", "2"], n),
        "w": words.get("weights", rng.choice(["0.25", "1", "1.5", "0", "2"], n)),
        "site": rng.choice(["p", "q"], n),
        "y": (rng.normal(scale=words.get("scale", 1), size=n).round(2) + rng.integers(0, 2, n))
        .round(words.get("decimals", 17))
        .astype(str),
        "time": (rng.integers(0, 9, n) / 2).astype(str),
        "event": rng.choice(words.get("events", ["1", "0", "no", "Yes", "1.0"]), n),
    }
    del columns["y" if task == "survival" else "event"]
    file = folder / f"{task}{seed}.csv"
    lines = [list(columns), *zip(*columns.values())]
    cells = [[_quoted(cell) for cell in line] for line in lines]
    file.write_text("\n".join(map(",".join, cells)) + "\n")
    how = {"task": task, "missing": "separate" if seed % 2 else "drop"}
    how |= {"weights": "w"} if seed % 3 else {}
    how |= {"auxiliary": ("site",)} if seed % 4 == 1 else {"categorical": ("x",)} if seed % 4 == 2 else {}
    how |= {"time": "time", "event": words.get("event", "event")} if task == "survival" else {"target": "y"}
    how |= {"ridge": 0.3 * (seed % 2)} if task == "linear" else {}
    return read(file, **how), file


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if set(cell) & set(', "') else cell


def certificate(data, depth: int, constraints=(), lam: str = "0") -> dict:
    """The certificate of the best tree."""
    problem = pipeline.pose(data, "dpflow", depth, constraints=constraints, params={"lambda": lam})
    return json.loads(json.dumps(problem.module.certificate(problem)))


def expect_same(pairs) -> list[str]:
    """Asserts that both checkers say the same of each certificate; gives what the second says of it."""
    second, first = verdicts(pairs), [ours(facts, file) for facts, file in pairs]
    assert len(first) == len(second)
    for one, two, (facts, _) in zip(first, second, pairs):
        assert one.split()[0] == two.split()[0], (one, two, facts)
        if one.startswith("proved"):
            # A bound that proves no tree the best is not counted again in fractions by ours.
            numbers = [list(map(float, said.split()[1:])) for said in (one, two)]
            assert numbers[0] == pytest.approx(numbers[1], rel=1e-7, abs=1e-7), (one, two, facts)
    return second


TASKS = pytest.mark.parametrize("task", ["regression", "linear", "survival"])


@TASKS
def test_both_try_all_cuts_of_three_and_four_levels(tmp_path, task):
    data, file = drawn(tmp_path, 4, task, n=7)
    made = [certificate(data, depth, lam="0.02") | {"tried": "all"} for depth in (3, 4)]
    limited = certificate(data, 3, ("leaf_rows >= 2",)) | {"tried": "all"}
    forged = [made[0] | {"depth": depth, "of": made[0]["of"] | {"depth": depth}} for depth in (2, 5)]
    said = expect_same([(facts, file) for facts in (*made, *forged, limited)])
    for line in said[:2]:
        cost, bound = map(float, line.removeprefix("proved").split())
        assert bound == pytest.approx(cost, rel=1e-10, abs=1e-10)
    assert all(line.startswith("refused") for line in said[2:])


@TASKS
@pytest.mark.parametrize("seed", range(3))
def test_both_prove_what_is_proved_and_the_same_of_corruptions(tmp_path, task, seed):
    data, file = drawn(tmp_path, seed, task, n=14)
    kinds = list(product((1, 2, 3), LIMITS))[seed::5]
    made = [certificate(data, depth, given, ("0", "0.1", "0.35")[depth - 1]) for depth, given in kinds]
    forged = [one for at, facts in enumerate(made) for _, one in corruptions(facts, at, 4)]
    said = expect_same([(facts, file) for facts in made + forged])
    for line in said[: len(made)]:
        cost, bound = map(float, line.removeprefix("proved").split())
        assert bound == pytest.approx(cost, rel=1e-10, abs=1e-10)
    assert any(line.startswith("refused") for line in said)


WHOLE = (
    (2, ("splits <= 1",)),
    (2, ("splits <= 2", "leaf_rows >= 2")),
    (3, ("splits <= 3",)),
    (4, ("splits <= 2", "leaves <= 3")),
    (3, ("splits <= 0",)),
    (1, ("together[number,code]",)),
    (2, ("together[number,code]",)),
    (2, ("together[number,on]", "together[on,code]")),
    (3, ('together[number,"kind, of it"]', "leaf_rows >= 2")),
    (1, ("features <= 0",)),
    (2, ("features <= 1",)),
    (3, ("features <= 2", "leaf_rows >= 2")),
    (2, ("never_together[number,code]",)),
    (3, ("never_together[number,code,on]", "features <= 2")),
    (2, ("together[number,on]", "never_together[on,code]")),
)


@pytest.mark.parametrize(("task", "seed"), [("regression", 0), ("survival", 1)])
def test_both_try_all_trees_under_a_limit_on_all_tests(tmp_path, task, seed):
    """And refuse a tree, or terms, that are not those of the limit."""
    data, file = drawn(tmp_path, seed, task, n=14)
    made = [certificate(data, depth, given, ("0", "0.02")[depth % 2]) for depth, given in WHOLE]
    forged = [one for at, facts in enumerate(made) for _, one in corruptions(facts, at, 3)]
    free = certificate(data, 3)
    for given, words in (
        ({"splits": 1}, "splits <= 1"),
        ({"splits": -1}, "splits <= -1"),
        ({"together": [["number", "w"]]}, "together[number,w]"),
        ({"together": [["on"]]}, "together[on]"),
        ({"features": 0}, "features <= 0"),
        ({"features": -1}, "features <= -1"),
        ({"apart": [["on"]]}, "never_together[on]"),
        ({"splits": 1, "features": 9}, "splits <= 1"),
    ):
        forged.append(free | given | {"of": free["of"] | {"constraints": [words]}})
        forged.append(free | given)
    forged.append(made[2] | {"together": [["number", "code"]]})
    forged.append(made[2] | {"splits": 2, "of": made[2]["of"] | {"constraints": ["splits <= 2"]}})
    loose = {"splits": 2, "of": made[0]["of"] | {"constraints": ["splits <= 2"]}}  # the best of one test, of two
    said = expect_same([(facts, file) for facts in (*made, *forged, made[0] | loose)])
    for line in said[: len(made)]:
        cost, bound = map(float, line.removeprefix("proved").split())
        assert bound == pytest.approx(cost, rel=1e-10, abs=1e-10)
    assert all(line.startswith("refused") for line in said[-17:-2])
    cost, bound = map(float, said[-1].removeprefix("proved").split())
    assert bound < cost - 0.01


def test_both_miss_tests_of_a_column_that_another_one_stands_for(tmp_path):
    facts, data = without_the_copy()
    lines = ["a,copy,b,y", *(",".join(f"{cell:g}" for cell in (*row, y)) for row, y in zip(data.X, data.sums[:, 2]))]
    (tmp_path / "copy.csv").write_text("\n".join(lines) + "\n")
    facts["data"] = certificate(read(tmp_path / "copy.csv", task="regression"), 1)["data"]
    assert expect_same([(facts, tmp_path / "copy.csv")])[0].startswith("refused")


def forgeries(facts: dict):
    """Certificates of which one thing is not so."""
    for key, value in facts["of"].items():
        other = value + 1 if type(value) is int else not value if type(value) is bool else [*value, "z"]
        other = other if type(value) in (int, bool, list) else {"time": "w"} if type(value) is dict else f"{value}z"
        yield facts | {"of": facts["of"] | {key: other}}
    yield facts | {"of": facts["of"] | {"categorical": ["x"]}}
    yield from (forged for forged in told_otherwise(facts) if forged != facts)
    for change in (
        {"classes": ["other"]},
        {"depth": 0},
        {"depth": 9},
        {"penalty": "-1"},
        {"penalty": "1/0"},
        {"weight_scale": 0},
        {"weight_scale": 3},
        {"least": 0},
        {"leaves": 1},
        {"columns": []},
        {"columns": facts["columns"][1:]},
        {"kind": "regression" if facts["of"]["task"] == "survival" else "survival"},
        {"tried": None},
        {"tried": [*facts["tried"], facts["tried"][0]]},
        {"tried": [*facts["tried"], [len(facts["columns"]), 0, 0, 0]]},
        {"tried": [[*facts["tried"][0][:2], 0], *facts["tried"][1:]]},
        {"tried": [[*facts["tried"][0][:2], "0", 0], *facts["tried"][1:]]},
    ):
        yield facts | change
    if "lines" in facts:
        yield facts | {"lines": facts["lines"][1:]}
        yield facts | {"lines": [facts["lines"][0] | {"scale": 0}, *facts["lines"][1:]]}
        yield facts | {"lines": [facts["lines"][0] | {"feature": "x0"}, *facts["lines"][1:]]}
        yield facts | {"splits": 3}
    line = {"feature": "number", "slope": 1.5, "intercept": 0.25}
    for changed in ({"label": "z"}, {"curve": [[0.0, 1.0]]}, {"sums": []}, {"line": line}):
        forged = copy.deepcopy(facts)
        leaf = forged["tree"]["root"]
        while "split" in leaf:
            leaf = leaf["right"]
        leaf |= changed
        yield forged


@TASKS
def test_both_refuse_every_forgery(tmp_path, task):
    data, file = drawn(tmp_path, 1, task, n=14)
    facts = certificate(data, 3)
    assert facts["tried"]
    said = expect_same([(facts, file), *((forged, file) for forged in forgeries(facts))])
    assert said[0].startswith("proved") and all(line.startswith("refused") for line in said[1:])


def test_both_take_columns_of_nested_tests(tmp_path):
    """Of levels whose right sides lie within one another; of a turned one its left side counts."""
    file = tmp_path / "d.csv"
    lines = [f"{'uv'[i > 3]},{'uv'[i > 5]},{'uv'[i % 2]},{int(i > 3)}\n" for i in range(9)]
    file.write_text("c,d,e,y\n" + "".join(lines))
    facts = certificate(read(file, task="regression"), 3)
    other = copy.deepcopy(facts)
    other["columns"][0]["turned"][0] = 1 - facts["columns"][0]["turned"][0]
    assert facts["columns"][0]["kind"] == "nested"
    assert [line.split()[0] for line in expect_same([(facts, file), (other, file)])] == ["proved", "refused"]


@pytest.mark.parametrize("seed", [1, 2])
def test_both_say_the_same_of_medians(tmp_path, seed):
    """Whose classes are numbers: to answer one for another costs how far they are apart, whatever is stated."""
    _, file = drawn(tmp_path, seed, "regression", n=14, decimals=2)  # a certificate of medians counts to 2^53
    data = read(file, task="median", target="y", weights="w", missing=("drop", "separate")[seed % 2])
    facts = certificate(data, 2)
    doubled = facts | {"loss": [[2 * price for price in line] for line in facts["loss"]], "claim": 2 * facts["claim"]}
    doubled |= {"states": [";".join(map(_twice, text.split(";"))) for text in facts["states"]]}
    doubled |= {"bound": 2 * facts["bound"]}
    forged = [
        doubled,
        *(one for one in told_otherwise(facts) if one != facts),
        *(one for _, one in of_classes(facts, 20)),
    ]
    said = expect_same([(one, file) for one in (facts, *forged)])
    assert said[0].startswith("proved") and said[1] == "refused its losses are not those of its task"


def test_both_leave_out_columns_that_are_ignored(tmp_path):
    _, file = drawn(tmp_path, 0, "regression", n=14)
    facts = certificate(read(file, task="regression", target="y", ignore=("number", "site")), 1)
    forged = [
        facts | {"of": facts["of"] | {"ignore": ["site"]}},
        facts | {"data": facts["data"] | {"ignore": ["site"]}},
    ]
    said = [line.split()[0] for line in expect_same([(one, file) for one in (facts, *forged)])]
    assert said == ["proved", "refused", "refused"]


@pytest.mark.parametrize("task", ["regression", "median", "survival"])
def test_rows_of_weight_0_are_said_to_be_left_out(tmp_path, task):
    """No leaf counts them; they vanished, and the claim said that no rows were left out."""
    file = tmp_path / "d.csv"
    file.write_text("x,w,e,y\n1,1,1,1\n1,0,0,1\n2,1,1,2\n3,0,1,3\n3,1,0,3\n,0,1,4\n2,2,1,\n")
    words = {"time": "y", "event": "e"} if task == "survival" else {"target": "y", "ignore": ["e"]}
    data = read(file, task=task, weights="w", **words)
    assert (data.n_rows, data.n_dropped, data.n_unlabelled) == (3, 4, 4)
    facts = certificate(data, 2)
    assert (facts["of"]["n_rows"], facts["of"]["n_dropped_missing"], facts["of"]["n_dropped_unlabelled"]) == (3, 0, 4)
    untold = facts | {"of": facts["of"] | {"n_dropped_unlabelled": 1}}
    said = expect_same([(facts, file), (untold, file)])
    assert said[0].startswith("proved") and said[1].startswith("refused")


def exact_costs(rows, numbers: list, weights: list, depth: int) -> Fraction:
    """The least cost of all trees of a depth, of doubles as the fractions that they are, by trying each test."""

    def leaf(part):
        total = sum((weights[i] for i in part), Fraction(0))
        mean = sum((weights[i] * numbers[i] for i in part), Fraction(0)) / total
        return sum((weights[i] * (numbers[i] - mean) ** 2 for i in part), Fraction(0))

    def best(part, levels):
        found = [leaf(part)]
        for column in range(rows.shape[1]) if levels else ():
            for cut in sorted({int(rows[i, column]) for i in part})[:-1]:
                left, right = ([i for i in part if (rows[i, column] <= cut) == side] for side in (True, False))
                found.append(best(left, levels - 1) + best(right, levels - 1))
        return min(found)

    return best(list(range(len(rows))), depth)


@pytest.mark.parametrize(
    ("kind", "rounded"), [("normal", True), ("logs", True), ("single", True), ("twelve", False), ("weights", True)]
)
def test_numbers_of_all_digits_are_proved_between_exact_ends(tmp_path, kind, rounded):
    """Both checkers bound what the best tree costs of the decimals as they are written; of numbers that a power of ten
    makes whole they state just that."""
    rng, n = np.random.default_rng(7), 14
    x, drawn_numbers = rng.integers(0, 4, (n, 2)), rng.normal(size=n)
    y = {
        "logs": np.log(1000 + 500 * drawn_numbers**2),
        "single": drawn_numbers.astype(np.float32).astype(float),
        "twelve": np.round(drawn_numbers, 12),
    }.get(kind, drawn_numbers)
    weights = np.where(kind == "weights", rng.choice([0.25, 1, 2], n), 1.0)
    file = tmp_path / "d.csv"
    lines = zip(*x.T.tolist(), weights.tolist(), y.tolist())
    file.write_text("a,b,w,y\n" + "".join(f"{a},{b},{w!r},{v!r}\n" for a, b, w, v in lines))
    data = read(file, target="y", task="regression", weights="w")
    facts = certificate(data, 2)
    assert ("number_bits" in facts) == (kind != "twelve")
    proof = check(facts, data)
    digits = [Fraction(f"{v:.12f}") if kind == "twelve" else Fraction(v) for v in y.tolist()]
    least = exact_costs(x, digits, list(map(Fraction, weights.tolist())), 2)
    assert proof.optimal and Fraction(proof.bound) <= least * (1 + Fraction(1, 2**52)) and least > 1
    assert Fraction(proof.objective) >= least * (1 - Fraction(1, 2**52))
    assert proof.exact != rounded and proof.objective - proof.bound <= (1e-10 if rounded else 0.0)
    key = "number_scale" if kind == "twelve" else "number_bits"
    forged = [
        facts | {key: facts[key] - 1},
        facts | {key: facts[key] + 1},
        facts | {"number_scale": 10**12, "number_bits": 3},
        {name: told for name, told in facts.items() if name != key},
        facts | {key: -1},
        facts | {key: 1.5},
        facts | {key: 2**41},
        facts | {"claim": str(Fraction(facts["claim"]) + 1)},
    ]
    said = expect_same([(one, file) for one in (facts, *forged)])
    assert said[0].startswith("proved") and all(line.startswith("refused") for line in said[1:])


def _twice(entry: str) -> str:
    target, *rest = entry.split(",")
    return ",".join([str(2 * int(target)) if target else "", *rest])


def test_a_logarithm_is_that_of_forty_digits():
    draw = random.Random(3)
    pairs = [(draw.randrange(1, 2**90), draw.randrange(1, 2**62)) for _ in range(200)]
    pairs += [(2**61 + k, 2**61) for k in (-1, 0, 1, 2)] + [(1, 2**61), (2**100, 1), (3, 2), (10**39, 10**39 - 1)]
    script = "const { logarithm } = require(process.argv[1]);" + (
        "for (const [a, b] of JSON.parse(process.argv[2])) {"
        " const one = logarithm(BigInt(a), BigInt(b)); console.log(`${one.above}/${one.below}`); }"
    )
    listed = json.dumps([list(map(str, pair)) for pair in pairs])
    done = subprocess.run(
        ["node", "-e", script, str(CHECKER.parent / "leaf-costs.js"), listed], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert list(map(Fraction, done.stdout.split())) == [_log(*pair) for pair in pairs]


def test_it_reads_a_certificate_of_sums_as_a_user_calls_it(tmp_path):
    data, file = drawn(tmp_path, 0, "survival", n=14, event="event=no")
    facts = certificate(data, 2, ("leaf_rows >= 2",))
    facts["data"]["path"] = file.name
    (tmp_path / "p.json").write_text(json.dumps(facts))
    done = subprocess.run(["node", CHECKER, tmp_path / "p.json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "splits that satisfies leaf_rows >= 2 costs less than" in done.stdout and "costs up to" in done.stdout
    facts["data"]["event"] = "event=1"
    (tmp_path / "p.json").write_text(json.dumps(facts))
    done = subprocess.run(["node", CHECKER, tmp_path / "p.json"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("refused: it states requested as")
