"""A small model in the LP format, for each formulation in each form, as a reader of a diff wants to see it.

Written anew with `ODTC_GOLDEN=write python -m pytest tests/files/test_golden.py`; then read the diff.
"""

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest

from odtc.data.dataset import Dataset, Feature
from odtc.data.encoding import encode
from odtc.fileformats.model_files import FORMATS, write_model
from odtc.problem.constraints.constraint import built, takes
from odtc.problem.constraints.kind import CONSTRAINTS
from odtc.problem.cuts import cut
from odtc.problem.formulation import FORMULATIONS
from odtc.problem.parameters import parse_params
from odtc.problem.problem import Problem
from odtc.testing.problems import ALL_VARIANTS, COMPILED, form_id, posed_first
from odtc.trees.heap_tree import CompleteTree

GOLDEN = Path(__file__).parent / "golden"


def small(form) -> Problem:
    """Four kinds of rows, one of them twice, over one number and one category."""
    X = np.array([[1.0, 0], [1.0, 0], [2.0, 1], [3.0, 1], [3.0, 2]])
    features = (Feature("size", "numeric"), Feature("colour", "categorical", ("blue", "red", "white")))
    dataset = Dataset("small", X, np.array([0, 0, 1, 0, 1], np.int32), features, ("no", "yes"), np.ones(5))
    return Problem(encode(dataset), CompleteTree(2), FORMULATIONS.get(form[0]), parse_params(*form))


@pytest.mark.parametrize("form", ALL_VARIANTS, ids=form_id)
def test_formulation(form, tmp_path):
    compare(write_model(built(small(form)), tmp_path / "model.lp", "lp"), f"{form_id(form)}.lp")


@pytest.mark.parametrize("format", FORMATS.names())
def test_format(format, tmp_path):
    suffix = FORMATS.get(format).SUFFIX
    compare(write_model(built(small(ALL_VARIANTS[0])), tmp_path / f"model{suffix}", format), f"{format}{suffix}")


def compare(path, name):
    golden, text = GOLDEN / name, path.read_bytes()
    if os.environ.get("ODTC_GOLDEN") == "write":
        golden.write_bytes(text)
    assert golden.exists(), f"{golden} is not there: write it with ODTC_GOLDEN=write, then read it"
    assert text.decode() == golden.read_bytes().decode()


@pytest.mark.parametrize("name", COMPILED)
def test_rows_of_cuts_and_constraints(name, tmp_path):
    """The SHA-256 of each file with the rows of one cut family, or of one constraint: no byte changes unseen."""
    problem = small((name, {}))
    model, found = problem.module.build(problem), {}
    for word in cut.CUTS.names():
        if not cut.why_unfit(word, problem, model):
            found[word] = cut.add(problem, model, (word,))
    for word in CONSTRAINTS.module_names:
        if takes(problem, CONSTRAINTS.get(word)):
            found[word] = built(posed_first(problem, word))
    digests = {}
    for word, longer in found.items():
        data = write_model(longer, tmp_path / "model.lp", "lp").read_bytes()
        title, *lines = data.splitlines()
        lines = [title, *(line for line in lines if not line.startswith(b"\\"))]  # comments aside
        digests[word] = hashlib.sha256(b"\n".join(lines)).hexdigest()[:16]
    path = GOLDEN / "rows.json"
    golden = json.loads(path.read_text()) if path.exists() else {}
    if os.environ.get("ODTC_GOLDEN") == "write":
        path.write_text(json.dumps(golden | {name: digests}, indent=1, sort_keys=True) + "\n")
        return
    assert digests == golden[name]
