"""`odtc verify` derives the encoding again: a changed encoding in a manifest is refused, even if no split uses it."""

import json
from dataclasses import replace

import numpy as np
import pytest

import odtc
from odtc.base import compression
from odtc.data.encoding import encode
from odtc.data.reading import fingerprint
from odtc.verification.encoding_again import check_encoding
from tests.command_line import odtc as command

# The classes follow from "a" alone, so that no tree asks "b" or "kind".
ROWS = "a,b,kind,y\n" + "".join(f"{i % 2},{i % 5},{'uvw'[i % 3]},{'np'[i % 2]}\n" for i in range(30))


def other_numbers(text: str, kind: str, change) -> str:
    values = np.frombuffer(compression.unpack(text, 1 << 20), kind).copy()
    change(values)
    return compression.pack(values.tobytes())


def asked(facts, feature):
    return next(test for test in facts["encoding"]["splits"] if test["feature"] == feature)


def threshold(facts):
    """Another number, which separates the same rows."""
    asked(facts, "b")["threshold"] += 0.25


def level(facts):
    asked(facts, "kind")["values"] = ["v" if asked(facts, "kind")["values"] != ["v"] else "w"]


def merged(facts):
    asked(facts, "b")["same"].append({"feature": "b", "kind": "threshold", "threshold": 1.25})


def copies(facts):
    def more(values):
        values[0] += 1

    facts["rows"]["copies"] = other_numbers(facts["rows"]["copies"], "<i8", more)


def column(facts):
    next(feature for feature in facts["features"] if feature["name"] == "kind")["levels"].append("z")


def weight(facts):
    """Of two rows of one class one weighs more, the other less."""

    def more(values):
        values[0], values[2] = values[0] + 0.5, values[2] - 0.5

    facts["rows"]["weight"] = other_numbers(facts["rows"]["weight"], "<f8", more)


ALTERED = {
    threshold: "the splits",
    level: "the splits",
    merged: "the splits that represent others",
    copies: "the numbers of equal rows",
    column: "the columns",
    weight: "the weights of the rows",
}


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("again")
    (folder / "d.csv").write_text(ROWS)
    words = ("d.csv", "--model", "flowoct", "--depth", 1, "--solver", "highs", "-o", "m")
    assert command("fit", *words, folder=folder).code == 0
    return folder


def test_what_is_not_altered_is_derived_again(solved):
    said = command("verify", "m.sol", "--json", folder=solved)
    assert said.code == 0 and said.facts["verified"], said.err
    (own,) = (check for check in said.facts["checks"] if check["check"] == "encoding")
    assert own["passed"] and own["text"].endswith("are recomputed from the data file")


def test_tests_that_one_stands_for_have_no_order(tmp_path):
    """The row without "a" is the one below every other in "b" (the sides are changed about), and the only "v"."""
    (tmp_path / "d.csv").write_text("a,b,kind,y\n1,5,u,p\n2,6,w,n\n1,5,w,n\n2,6,u,n\n,-7,v,n\n")
    words = ("d.csv", "--missing", "separate", "--model", "flowoct", "--solver", "highs", "-o", "m")
    assert command("fit", *words, folder=tmp_path).code == 0
    merged = [
        test["same"] and test["complement"]
        for test in json.loads((tmp_path / "m.odt.json").read_text())["encoding"]["splits"]
    ]
    assert any(merged)  # both of them of one test
    said = command("verify", "m.sol", folder=tmp_path)
    assert said.code == 0, said.err


@pytest.mark.parametrize("alter", ALTERED, ids=lambda alter: alter.__name__)
def test_what_is_altered_is_refused(alter, solved):
    """The identity is left out, as whoever alters a manifest can also make it anew."""
    facts = json.loads((solved / "m.odt.json").read_text())
    for key in ("identity", "content"):
        facts.pop(key, None)
    alter(facts)
    (solved / "other.odt.json").write_text(json.dumps(facts))
    said = command("verify", "m.sol", "--manifest", "other.odt.json", "--json", folder=solved)
    assert said.code == 1 and not said.facts["verified"], said.err
    refusing = {check["check"]: check["text"] for check in said.facts["checks"] if not check["passed"]}
    assert ALTERED[alter] in refusing["encoding"]
    assert set(refusing) <= {"encoding", "data", "least rows"}


def cells(facts):
    """A number that stays between the same thresholds: another may be where an adversary moves it."""

    def moved(values):
        of = values.reshape(facts["rows"]["n"], -1)
        of[int(np.argmax(of[:, 0])), 0] += 0.125

    facts["rows"]["values"] = other_numbers(facts["rows"]["values"], "<f8", moved)


def radius(facts):
    """Not the one of the parameters."""
    facts["encoding"]["radius"][1] += 0.0625


OTHERS = {
    cells: ("the cells of the rows", ("--encoding", "auto:bins=2", "-p", "robust=b:0.25")),
    radius: ("how far numbers may be moved", ("--encoding", "auto:bins=2", "-p", "robust=b:0.25")),
}


@pytest.mark.parametrize("alter", OTHERS, ids=lambda alter: alter.__name__)
def test_what_some_runs_alone_hold_of_the_rows_is_compared(alter, tmp_path):
    words, given = OTHERS[alter]
    (tmp_path / "d.csv").write_text(ROWS)
    fit = ("fit", "d.csv", "--model", "flowoct", "--depth", 1, "--solver", "highs", *given, "-o", "m")
    assert command(*fit, folder=tmp_path).code == 0
    assert command("verify", "m.sol", folder=tmp_path).code == 0
    facts = json.loads((tmp_path / "m.odt.json").read_text())
    for key in ("identity", "content"):
        facts.pop(key, None)
    alter(facts)
    (tmp_path / "other.odt.json").write_text(json.dumps(facts))
    said = command("verify", "m.sol", "--manifest", "other.odt.json", "--json", folder=tmp_path)
    assert said.code == 1, said.err
    refusing = {check["check"]: check["text"] for check in said.facts["checks"] if not check["passed"]}
    assert words in refusing["encoding"], refusing


# What a run of other rows is called that have the same features: the words of its fit, and its data file.
COSTS = "a,b,kind1,kind2\n" + "".join(f"{i % 2},{i % 5},{i % 3},{(i * 7) % 4}\n" for i in range(30))
OF_OTHERS = {
    "the groups of the rows": (
        ("--auxiliary", "kind", "--constraint", "statistical_parity[group=kind,positive=p] <= 1"),
        "a,b,kind,y\n" + "".join(f"{i % 2},{i % 5},{'uvw'[i * i // 7 % 3]},{'np'[i % 2]}\n" for i in range(30)),
    ),
    "the sums of the rows that the leaves add up": (("--task", "policy", "--actions", "kind1,kind2"), COSTS),
}


@pytest.mark.parametrize("words", OF_OTHERS)
def test_a_run_of_rows_that_differ_beside_the_features_alone_is_refused(words, tmp_path):
    """The cells of the third column are those of the row before, and the manifest names this file."""
    given, text = OF_OTHERS[words]
    (tmp_path / "d.csv").write_text(text)
    fit = ("fit", "d.csv", "--model", "flowoct", "--depth", 1, "--solver", "highs", *given, "-o", "m")
    assert command(*fit, folder=tmp_path).code == 0
    head, *rows = [line.split(",") for line in text.splitlines()]
    moved = [[*row[:2], before[2], *row[3:]] for row, before in zip(rows, [rows[-1], *rows])]
    (tmp_path / "d.csv").write_text("\n".join(map(",".join, [head, *moved])) + "\n")
    facts = json.loads((tmp_path / "m.odt.json").read_text())
    facts["data"]["sha256"] = fingerprint(tmp_path / "d.csv")
    (tmp_path / "m.odt.json").write_text(json.dumps(facts))
    said = command("verify", "m.sol", "--json", folder=tmp_path)
    refusing = {check["check"]: check["text"] for check in said.facts["checks"] if not check["passed"]}
    assert said.code == 1 and words in refusing["encoding"], refusing


def test_answers_and_sides_are_compared_each_by_itself(solved):
    """In a manifest they change the model's size, too, so that it is refused before."""
    dataset = odtc.read(solved / "d.csv")
    encoded = encode(dataset)
    X, ones_left = encoded.X.copy(), encoded.ones_left.copy()
    X[3, -1] ^= True
    ones_left[-1] ^= True
    assert check_encoding(encoded, dataset).passed
    for changed, words in (({"X": X}, "answers of the rows"), ({"ones_left": ones_left}, "sides of the splits")):
        check = check_encoding(replace(encoded, **changed), dataset)
        assert (check.name, check.passed) == ("encoding", False) and check.text.endswith(f": the {words}")
    strange = check_encoding(replace(encoded, scheme="thresholds"), dataset)
    assert not strange.passed and "cannot be recomputed" in strange.text
