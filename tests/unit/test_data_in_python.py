"""What `odtc.fit` and `odtc.build` take in Python: labels, the column that holds them, and how data are to be read."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import odtc
from odtc.errors import ChoiceError
from odtc.problem.formulation import FORMULATIONS
from odtc.problem.parameters import parameter_key
from odtc.workflow.specification import ModelSpec, ReadingSpec, SolvingSpec

FRAME = pd.DataFrame({"a": [1.0, 2.0, 3.0, np.nan], "kind": ["x", "x", "y", "y"], "n": [1, 2, 3, 4]})


def test_the_column_of_the_labels_is_named_in_each_way():
    fits = [
        odtc.fit(FRAME, "kind", depth=1),
        odtc.fit(FRAME, target="kind", depth=1),
        odtc.fit(FRAME, reading={"target": "kind"}, depth=1),
    ]
    assert all(one.tree == fits[0].tree and one.tree.target == "kind" for one in fits)
    assert odtc.build(FRAME, "kind", "flowoct", 1).problem.encoded.target == "kind"


def test_keywords_of_reading_stand_beside_those_of_a_fit(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    assert odtc.fit(FRAME, "kind", depth=1).problem.encoded.n_rows == 3  # the cell that is missing
    for kept in (
        odtc.fit(FRAME, "kind", depth=1, missing="separate"),
        odtc.fit(FRAME[["a", "n"]], FRAME.kind, depth=1, missing="separate"),
        odtc.fit(tmp_path / "t.csv", target="kind", depth=1, missing="separate"),
    ):
        assert kept.problem.encoded.n_rows == 4
    assert odtc.fit(tmp_path / "t.csv", depth=1, task="regression").problem.encoded.task == "regression"


def test_no_keyword_has_two_meanings():
    reading = {field.name for field in dataclasses.fields(ReadingSpec)}
    others = {field.name for cls in (ModelSpec, SolvingSpec) for field in dataclasses.fields(cls)}
    params = {
        parameter_key(field)
        for name in FORMULATIONS.names()
        for field in dataclasses.fields(FORMULATIONS.get(name).Params)
    }
    assert not reading & (others | params)


@pytest.mark.parametrize("given", [{"y": FRAME.kind, "target": "n"}, {"y": "knd"}, {"y": "flowcot"}])
def test_a_wrong_second_argument_is_refused_in_a_sentence(given):
    with pytest.raises(ChoiceError, match="expected labels.*got"):
        odtc.fit(FRAME, **given)


def test_a_result_is_printed_as_its_tree_and_its_claim():
    done = odtc.fit(FRAME, "kind", depth=1)
    assert str(done).startswith(f"{done.tree}\n\n{done.claim}\n") and str(done.tree).splitlines()[0] == "kind: x, y"
    assert done.claim.startswith("proved optimal: objective 0, bound 0")
    assert done.claim in repr(done) and len(repr(done).splitlines()) == 1
    model = odtc.build(FRAME, "kind", "flowoct", 1)
    decoded = odtc.decode(model, odtc.solve(model, time_limit=20))
    assert f"{len(decoded.checks)} of {len(decoded.checks)} checks passed" in str(decoded) and "2 leaves" in repr(
        decoded
    )


def test_a_result_says_how_many_rows_were_left_out():
    assert "dropped 1 row of 4: 1 with missing cells" in str(odtc.fit(FRAME, "kind", depth=1))
    assert "dropped" not in str(odtc.fit(FRAME, "kind", depth=1, missing="separate"))


def test_a_tree_says_its_size_in_a_line():
    tree = odtc.fit(FRAME, "kind", depth=1).tree
    assert repr(tree) == "<Tree of kind: 2 leaves, depth 1>"


def test_notebooks_show_trees_and_results_as_they_are_printed():
    frame = FRAME.replace({"kind": {"x": "<b>x & y</b>"}})
    done = odtc.fit(frame, "kind", depth=1)
    for shown in (done, done.tree, done.decoded):
        page = shown._repr_html_()
        assert page.startswith("<pre") and "&lt;b&gt;x &amp; y&lt;/b&gt;" in page and "<b>" not in page
        assert "├── " in page or "└── " in page
