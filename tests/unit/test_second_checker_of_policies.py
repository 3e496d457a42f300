"""The checker in JavaScript agrees with ours on certificates of policies, and of files of which rows are set aside."""

import copy
import json
import shutil
import subprocess

import numpy as np
import pytest

from odtc.base.text import show_number
from odtc.data.reading import SPLIT_SEED, read
from odtc.formulations.dpflow.write_constrained_certificate import certify_constrained
from odtc.verification.claim import words
from tests import pipeline
from tests.command_line import CHECKOUT
from tests.unit.test_second_checker import CHECKER, forgeries, told_otherwise
from tests.unit.test_second_checker_of_sums import certificate, expect_same

pytestmark = pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
KINDS = {
    "costs": {"actions": ("a", "b", "c")},
    "gains": {"actions": ("a", "b", "c"), "goal": "max"},
    "one propensity": {"treatment": "T", "outcome": "a", "scores": "ips", "propensity": ("p",), "goal": "min"},
    "each propensity": {"treatment": "T", "outcome": "a", "scores": "ips", "propensity": ("p", "q")},
}


def table(folder, seed: int, n: int = 18, **more):
    """A file of numbers, words that are few, flags and weights, some of them 0, with the columns of a policy."""
    rng = np.random.default_rng(seed)
    columns = {
        "x": rng.integers(0, 4, n),
        "word": [*rng.choice(["1", "2"], n - 2), "other", "1"],
        "flag": [*rng.choice(["true", "False"], n - 1), "no"],
        "number": np.where(rng.random(n) < 0.1, "?", rng.integers(-4, 9, n) / 8),
        "w": rng.choice([0, 0.25, 1, 2], n),
        "T": ["t", "s", *rng.choice(["s", "t"], n - 2)],
        **{name: rng.integers(-9, 30, n) / 4 for name in "abc"},
        **{name: rng.choice([0.125, 0.25, 0.5, 1], n) for name in "pq"},
        **more,
    }
    file = folder / "d.csv"
    file.write_text("\n".join(",".join(map(str, line)) for line in [list(columns), *zip(*columns.values())]) + "\n")
    return file


def changed_in_a_leaf(facts, key: str, change):
    """The certificate of which the last leaf tells something else."""
    forged = copy.deepcopy(facts)
    leaf = forged["tree"]["root"]
    while "split" in leaf:
        leaf = leaf["right"]
    leaf[key] = change(leaf[key])
    return forged


@pytest.mark.parametrize("kind", KINDS)
def test_both_say_the_same_of_policies(kind, tmp_path):
    unused = {"ignore": tuple(name for name in "Tabcpq" if not any(name in given for given in KINDS[kind].values()))}
    file, made = table(tmp_path, len(kind)), []
    for weights, missing, depth in ((None, "drop", 2), ("w", "separate", 3)):
        own = unused if weights else {"ignore": (*unused["ignore"], "w")}
        data = read(file, task="policy", weights=weights, missing=missing, **KINDS[kind], **own)
        made.append(certificate(data, depth, lam="0" if weights else "0.25"))
    forged = [one for facts in made for one in told_otherwise(facts) if one != facts]
    forged += [one for _, one in forgeries(made[0], 20)]
    forged += [changed_in_a_leaf(made[0], "sums", lambda sums: [*sums[:-1], sums[-1] + 0.25])]
    said = expect_same([(facts, file) for facts in (*made, *forged)])
    assert [line.split()[0] for line in said[:2]] == ["proved"] * 2 and said[-1].startswith("refused a leaf")


def test_a_cost_that_forbids_an_action_counts_as_much_as_all_others(tmp_path):
    file = table(tmp_path, 5, b=[10**9 if i % 5 == 0 else i % 3 for i in range(18)], c=[1] * 18)
    data = read(file, task="policy", actions=("a", "b", "c"), ignore=("T", "p", "q", "w"))
    assert data.weight.max() <= 10**4
    assert expect_same([(certificate(data, 2), file)])[0].startswith("proved")


def test_policies_of_estimated_costs_are_not_checked_by_the_second_checker(tmp_path):
    data = read(table(tmp_path, 1, 60), task="policy", treatment="T", outcome="a", scores="ips")
    facts = certificate(data, 1)
    (tmp_path / "p.json").write_text(json.dumps(facts | {"data": facts["data"] | {"path": "d.csv"}}))
    done = subprocess.run(["node", CHECKER, tmp_path / "p.json"], capture_output=True, text=True)
    assert done.returncode == 1 and "its costs are estimates of random forests" in done.stderr


@pytest.mark.parametrize(
    "task, target", [("classification", "T"), ("regression", "a"), ("median", "a"), ("policy", None)]
)
def test_both_leave_out_the_same_rows_that_are_set_aside(task, target, tmp_path):
    """Of a word among them its column is one of categories."""
    file, pairs = table(tmp_path, 3), []
    of_target = {"target": target} if target else {"actions": ("a", "b")}
    for share in (0.1, 0.25, 0.5):
        data = read(file, task=task, hold_out=share, weights="w", ignore=("c", "p", "q"), **of_target)
        facts = certificate(data, 2)
        less = {key: value for key, value in facts["data"].items() if key != "hold_out"}
        pairs += [facts, facts | {"data": facts["data"] | {"hold_out": 0.8}}, facts | {"data": less}]
        untold = {key: value for key, value in facts["of"].items() if key not in ("hold_out", "n_set_aside")}
        pairs += [facts | {"of": untold}, facts | {"of": facts["of"] | {"n_set_aside": 0}}]
        assert f"{facts['of']['n_set_aside']} set aside at random (hold_out={share:g})" in words(facts["of"])
    said = [line.split()[0] for line in expect_same([(facts, file) for facts in pairs])]
    assert said == ["proved", *["refused"] * 4] * 3


def test_what_states_rows_that_are_not_set_aside_is_refused(tmp_path):
    file = table(tmp_path, 3)
    facts = certificate(read(file, target="T", ignore=("w", *"abcpq")), 1)
    said = expect_same([(facts | {"of": facts["of"] | {key: 1}}, file) for key in ("hold_out", "n_set_aside")])
    assert all(line.startswith("refused it states") for line in said)


def test_both_take_the_groups_of_a_column_in_the_order_of_its_levels(tmp_path):
    """However they come in the file: multipliers belong to differences by their place."""
    head, *lines = (CHECKOUT / "examples/monks/monks-2.csv").read_text().splitlines()
    (tmp_path / "d.csv").write_text("\n".join([head, *lines[::-1]]) + "\n")
    data, texts = read(tmp_path / "d.csv"), ("recall[1] >= 0.5", "statistical_parity[group=a4,positive=1] <= 0.05")
    facts = json.loads(json.dumps(certify_constrained(pipeline.pose(data, "dpflow", 2, constraints=texts))[0]))
    assert any(facts["passes"][0])
    assert expect_same([(facts, tmp_path / "d.csv")])[0].startswith("proved")


def test_a_number_is_written_as_odtc_writes_it():
    numbers = [0.0, 3.0, -2.5, 1e-4, 9.5e-5, 1e-7, 1e15, 123456789012345678.0, 1e16, 1.5e300, 0.1]
    script = "const { showNumber } = require(process.argv[1]);"
    script += " for (const v of JSON.parse(process.argv[2])) console.log(showNumber(v));"
    words = ["node", "-e", script, str(CHECKER.parent / "values.js"), json.dumps(numbers)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.stdout.split() == list(map(show_number, numbers)), done.stderr


def test_its_sentence_says_what_is_priced_and_of_what_it_is(tmp_path):
    file = table(tmp_path, 3)
    data = read(file, target="T", weights="w", hold_out=0.25, missing="separate", ignore=tuple("abcpq"))
    problem = pipeline.pose(data, "dpflow", 1, cost="s:t=7,t:s=2", params={"lambda": 0.2})
    facts = json.loads(json.dumps(problem.module.certificate(problem)))
    (tmp_path / "p.json").write_text(json.dumps(facts | {"data": facts["data"] | {"path": "d.csv", "sha256": "0"}}))
    done = subprocess.run(["node", CHECKER, tmp_path / "p.json"], capture_output=True, text=True)
    assert done.returncode == 0 and "(lambda 0.2 and costs s:t=7, t:s=2)" in done.stdout
    terms = words(facts["of"]).replace(" (hold_out=0.25)", "")
    assert f"of: {terms}\n" in done.stdout and "its SHA-256 differs" in done.stderr


def test_the_same_rows_are_set_aside_of_tables_of_any_length():
    sizes = [1, 2, 3, 10, 33, 1000]
    script = "const { heldOut } = require(process.argv[1]); for (const n of JSON.parse(process.argv[2])) {"
    script += " console.log(JSON.stringify(heldOut(n, 0.25).map((out, i) => out ? i : -1).filter((i) => i >= 0))); }"
    done = subprocess.run(
        ["node", "-e", script, str(CHECKER.parent / "held-out.js"), json.dumps(sizes)], capture_output=True, text=True
    )
    wanted = [np.random.default_rng(SPLIT_SEED).permutation(n)[: round(0.25 * n)] for n in sizes]
    assert list(map(json.loads, done.stdout.splitlines())) == [sorted(rows.tolist()) for rows in wanted], done.stderr


def test_what_a_leaf_of_a_median_tells_beside_its_counts_is_bound(tmp_path):
    file = table(tmp_path, 2)
    facts = certificate(read(file, task="median", target="a", ignore=("w", *"Tbcpq")), 2)
    forged = [
        changed_in_a_leaf(facts, "sums", lambda sums: [*sums[:-1], sums[-1] + 1]),
        changed_in_a_leaf(facts, "curve", lambda curve: [*curve[:-1], [1.0, curve[-1][1] + 1]]),
        changed_in_a_leaf(facts, "curve", lambda curve: curve[:-1]),
    ]
    said = expect_same([(one, file) for one in (facts, *forged)])
    assert said[0].startswith("proved") and all(line.startswith("refused a leaf") for line in said[1:])


def test_blanks_at_the_ends_of_cells_and_names_are_the_same_to_both(tmp_path):
    """U+0085 is one and U+FEFF none, other than to JavaScript; U+001C is one of names alone."""
    pairs = []
    for number, blank in enumerate("\x85\ufeff\x1c\u3000"):
        file = tmp_path / f"{number}.csv"
        lines = [("x" + blank, "k", "y")] + [
            (f"{i % 4}", "ab"[i % 2] + blank * (i % 3 < 1), "np"[i % 3]) for i in (0, 1, 3, 4, 6, 7)
        ]
        lines += [("2" + blank * (blank == "\x85"), "a", "n" + blank)] * 2
        file.write_text("\n".join(map(",".join, lines)) + "\n", encoding="utf-8")
        pairs.append((certificate(read(file, "y"), 2), file))
    assert all(line.startswith("proved") for line in expect_same(pairs))
