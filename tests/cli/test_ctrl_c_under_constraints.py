"""Ctrl-C and SIGTERM under constraints, by real signals: the best tree and bound so far are the result."""

import json
import signal

import pytest

from tests.command_line import Said, hearing, odtc, signalled

# A call of a function writes the file "begun", and waits there for the signal.
WAITS = """
import time
from odtc.algorithms.constrained.{module} import {owner}
run, calls = {owner}.{name}, []
def waits(self, *given, **keywords):
    calls.append(1)
    if len(calls) == {call}:
        open("begun", "w").close()
        time.sleep(60)
    return run(self, *given, **keywords)
{owner}.{name} = waits
"""
FIRST = ("frontier_search", "Target", "globally", 2)
EACH = ("constrained_search", "ConstrainedSearch", "run", 2)


@pytest.fixture
def table(tmp_path):
    rows = [f"{i % 5},{(i * 7) % 4},{'yes' if (i % 5 > 2) != (i % 7 == 0) else 'no'}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,y", *rows]) + "\n")
    return tmp_path


# The search runs before any model is built, however small that would be.
BEFORE_MODELS = "from odtc.formulations.dpflow import search_before_model; search_before_model.WHOLE_VARIABLES = 0\n"


def interrupted(folder, where, sent, *words, first="") -> Said:
    """Return the output of a command that gets a signal in a call of a function."""
    module, owner, name, call = where
    waits = WAITS.format(module=module, owner=owner, name=name, call=call)
    said = signalled(hearing(*words, first=first + waits), folder, (folder / "begun").exists, sent)
    assert (folder / "begun").exists(), "the function is not called any more"
    return said


@pytest.mark.parametrize(
    ("where", "vary", "sent"),
    [
        (FIRST, "recall[yes] >= 0.5:0.9:0.1", signal.SIGINT),
        (EACH, "leaf_precision >= 0.5:0.9:0.1", signal.SIGTERM),
    ],
)
def test_a_frontier_keeps_the_points_that_are_done(where, vary, sent, table):
    said = interrupted(table, where, sent, "frontier", "t.csv", "--depth", 2, "--vary", vary, "--json")
    assert said.code == 128 + sent and "interrupted" in said.err, said.err
    points = json.loads(said.out)["points"]
    assert len(points) == 5 and any(point["objective"] is not None for point in points)
    for point in points:
        assert point["ended"] in ("optimal", "open", "infeasible")
        if point["objective"] is not None:
            assert point["bound"] <= point["objective"] and point["reached"] >= point["requested"] - 1e-9
    bounds = [point["bound"] for point in points if point["bound"] is not None]
    assert bounds == sorted(bounds)


def test_a_model_is_whole_or_not_there(table):
    where = ("constrained_search", "ConstrainedSearch", "_globally", 1)
    words = ("--depth", 2, "--constraint", "recall[yes] >= 0.6")
    said = interrupted(
        table, where, signal.SIGINT, "build", "t.csv", "--model", "dpflow", *words, "-o", "m", first=BEFORE_MODELS
    )
    files = {path.name for path in table.iterdir()} - {"t.csv", "begun"}
    assert said.code == 130 and (not files or {"m.mps", "m.odt.json"} <= files), said.err
    assert "Traceback" not in said.err


def test_a_solver_after_the_search_hands_in_the_tree(table):
    where = ("constrained_search", "ConstrainedSearch", "_globally", 1)
    words = ("--depth", 2, "--constraint", "recall[yes] >= 0.6", "--solver", "highs", "--json")
    said = interrupted(table, where, signal.SIGTERM, "fit", "t.csv", "--model", "dpflow", *words, first=BEFORE_MODELS)
    assert said.code == 143, said.err
    facts = json.loads(said.out)
    assert facts["verified"] and facts["termination"] in ("interrupted", "optimal")
    assert 0 <= facts["bound"] <= facts["objective"]


def test_a_certificate_that_is_interrupted_is_of_a_bound(table):
    """With the best tree met, which keeps the constraint; without it a tree costs less, so it is not proved."""
    where = ("constrained_search", "ConstrainedSearch", "_globally", 1)
    words = ("--depth", 2, "--constraint", "recall[yes] >= 0.9", "-o", "c.json")
    said = interrupted(table, where, signal.SIGTERM, "certify", "t.csv", *words)
    assert said.code == 143 and "the bound is proved, not the tree" in said.out, said.err
    assert "with or without the constraints" in said.out
    assert json.loads((table / "c.tree.json").read_text())["root"]
    again = odtc("verify", "--certificate", "c.json", folder=table)
    assert again.code == 0 and "the bound is proved, not the tree" in again.out
