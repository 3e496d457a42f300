"""Every kind of constraint through `build`, `solve`, `decode`, `verify` and `report`: right by trying every tree, or a
sentence says why not.

The kinds are those of the registry, and none is named here. In the suite one of two models takes each;
ODTC_ALL_CELLS=1 has both.
"""

import html
import os
import random
from dataclasses import replace

import numpy as np
import pytest

from odtc.problem.constraints.kind import CONSTRAINTS
from odtc.testing.optima import least_of_every_tree
from tests import pipeline
from tests.command_line import odtc, refused

ROWS = 18
MODELS = ("auto", "flowoct")
TRIED = 3  # texts of a kind, of which the first that some tree satisfies is taken through
CASES = [
    (model, kind)
    for place, kind in enumerate(CONSTRAINTS.names())
    for model in (MODELS if os.environ.get("ODTC_ALL_CELLS") else MODELS[place % 2 :][:1])
]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A small table of a number, three levels, missing cells and a group, with classes that are words."""
    rng = np.random.default_rng(5)
    age, job = rng.choice(["25", "40", "61", ""], ROWS, p=[0.35, 0.3, 0.25, 0.1]), rng.choice(["clerk", "cook"], ROWS)
    sex = rng.choice(["f", "m"], ROWS)
    good = (age == "61") ^ (job == "cook") ^ (rng.random(ROWS) < 0.2)
    path = tmp_path_factory.mktemp("commands") / "credit.csv"
    lines = [",".join(cells) for cells in zip(age, job, sex, np.where(good, "good risk", "bad"))]
    path.write_text("\n".join(["age,job,sex,risk", *lines]) + "\n")
    return path


def texts(kind: str, path) -> list[str]:
    encoded = pipeline.pose(path, "flowoct", 2, reading=READING).encoded
    drawn = CONSTRAINTS.get(kind).tries(encoded)
    return random.Random(kind).sample(drawn, min(TRIED, len(drawn)))


READING = {"missing": "separate"}


@pytest.mark.parametrize(("model", "kind"), CASES)
def test_each_kind_is_right_in_all_commands_or_refused_in_a_sentence(model, kind, table, tmp_path):
    words = ["--missing", "separate", "--depth", 2, "--model", model]
    for place, text in enumerate(texts(kind, table)):
        file = tmp_path / f"m{place}.mps"
        built = odtc("build", table, *words, "--constraint", text, "-o", file, "--json")
        if built.code:
            *notes, last = built.err.splitlines(keepends=True)
            assert all(note.startswith("--model auto: ") for note in notes), built.err
            assert refused(replace(built, err=last))
            continue
        problem = pipeline.pose(table, built.facts["model"], 2, reading=READING, constraints=(text,))
        least = least_of_every_tree(problem)
        solved = odtc("solve", file, "--solver", "highs", "--json")
        if not np.isfinite(least):
            assert refused(solved, 3)
            continue
        assert solved.code == 0, solved.err
        decoded = odtc("decode", file.with_suffix(".sol"), "--json")
        assert decoded.code == 0, decoded.err
        assert decoded.facts["objective"] == pytest.approx(least) and decoded.facts["verified"], text
        assert odtc("verify", file.with_suffix(".sol")).code == 0
        page = odtc("report", tmp_path / f"m{place}")
        assert page.code == 0, page.err
        assert text in html.unescape((tmp_path / f"m{place}.html").read_text())
        return
