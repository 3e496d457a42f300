"""`odtc verify` derives the encoding again: what is altered of it in a manifest is refused, though no tree asks it."""

import json
from dataclasses import replace

import numpy as np
import pytest

import odtc
from odtc.base.compression import packing
from odtc.data.encoding import encode
from odtc.verification.encoding_again import check_encoding
from tests.command_line import odtc as command

# The classes follow from "a" alone, so that no tree asks "b" or "kind".
ROWS = "a,b,kind,y\n" + "".join(f"{i % 2},{i % 5},{'uvw'[i % 3]},{'np'[i % 2]}\n" for i in range(30))


def other_numbers(text: str, kind: str, change) -> str:
    values = np.frombuffer(packing.unpack(text), kind).copy()
    change(values)
    return packing.pack(values.tobytes())


def asked(facts, feature):
    return next(test for test in facts["encoding"]["tests"] if test["feature"] == feature)


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
    threshold: "the tests",
    level: "the tests",
    merged: "the tests that others stand for",
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
    assert own["passed"] and own["text"].endswith("are derived again from the data file")


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


def test_answers_and_sides_are_compared_each_by_itself(solved):
    """In a manifest they change the model's size, too, so that it is refused before."""
    dataset = odtc.read(solved / "d.csv")
    encoded = encode(dataset)
    X, ones_left = encoded.X.copy(), encoded.ones_left.copy()
    X[3, -1] ^= True
    ones_left[-1] ^= True
    assert check_encoding(encoded, dataset).passed
    for changed, words in (({"X": X}, "answers of the rows"), ({"ones_left": ones_left}, "sides of the tests")):
        check = check_encoding(replace(encoded, **changed), dataset)
        assert (check.name, check.passed) == ("encoding", False) and check.text.endswith(f": the {words}")
    strange = check_encoding(replace(encoded, scheme="thresholds"), dataset)
    assert not strange.passed and "cannot be derived again" in strange.text
