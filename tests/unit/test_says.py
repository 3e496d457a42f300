"""A formulation without roles, which states the meaning of its variables by `says`, works like any other."""

import numpy as np
import pytest

from odtc.errors import ModelError
from odtc.fileformats.model_files import write_model
from odtc.problem.constraints.constraint import built, takes
from odtc.problem.constraints.kind import CONSTRAINTS
from odtc.problem.cuts import cut
from odtc.problem.expressions import Expression
from odtc.problem.support import small_problem
from odtc.testing import cases
from odtc.testing.problems import posed_first
from tests.command_line import CHECKOUT

PLUG_INS = CHECKOUT / "examples" / "plug-ins"
SAYS = """

def says(problem: Problem, model):
    b, w, s = (next(block for block in model.columns if block.name == name) for name in "bws")
    ends = s.axes[1].first + np.arange(s.axes[1].size)
    return {
        Statement.SPLITS_ON: Expression.of(b, "node", "split"),
        Statement.PREDICTS: Expression.of(w, "node", "class"),
        Statement.CORRECT: Expression(s.axes[:1], (Part(s, ("row", ends)),)),
    }
"""


def test_an_axis_of_another_name_is_said():
    block = built(small_problem("flowoct", {})).columns[0]
    with pytest.raises(ModelError, match="expected an axis 'split' of an expression, got 'node', 'test'"):
        Expression.of(block, "node", "test").axis("split")


@pytest.fixture
def both(tmp_path, monkeypatch):
    """Two formulations of the same rows: by roles, and by `says`."""
    text = (PLUG_INS / "cut_based.py").read_text()
    for role in ("BRANCH", "LABEL", "SINK"):
        assert f", role=Role.{role}" in text
        text = text.replace(f", role=Role.{role}", "")
    text = text.replace("    Axis,\n", "    Axis,\n    Expression,\n    Part,\n    Statement,\n", 1)
    text = text.replace('"cut_based"', '"without_roles"').replace('f"{NAME}_d', 'f"cut_based_d')
    (tmp_path / "without_roles.py").write_text(text + SAYS)
    files = PLUG_INS / "cut_based.py", tmp_path / "without_roles.py"
    monkeypatch.setenv("ODTC_PLUGINS", ":".join(map(str, files)))
    return small_problem("cut_based", {}), small_problem("without_roles", {})


def test_the_same_rows_of_cuts_and_constraints(both, tmp_path):
    def written(problem, model):
        lines = write_model(model, tmp_path / "m.lp", "lp").read_text().splitlines()
        return [line for line in lines if not line.startswith("\\")]  # comments explain columns by their roles

    by_role, by_word = both
    models = [built(problem) for problem in both]
    assert "branch" in {block.role for block in models[0].columns} and not {
        block.role for block in models[1].columns
    } & {"branch", "label", "sink"}
    families = [[name for name in cut.CUTS.names() if not cut.why_unfit(name, *one)] for one in zip(both, models)]
    assert families[0] == families[1] and len(families[0]) == 5
    for name in families[0]:
        one, two = (written(problem, cut.add(problem, model, (name,))) for problem, model in zip(both, models))
        assert one == two, name
    kinds = [[name for name in CONSTRAINTS.names() if takes(problem, CONSTRAINTS.get(name))] for problem in both]
    assert kinds[0] == kinds[1] and len(kinds[0]) == 18
    for name in kinds[0]:
        one, two = (written(problem, built(problem)) for problem in (posed_first(by, name) for by in both))
        assert one == two, name
    assert np.isfinite(models[0].c).all()


def test_the_laws_find_what_it_takes(both):
    """Nothing is declared: which constraints it satisfies is found by building, and its optimum under them is true."""
    found = cases("formulation", "without_roles", property="constraints")
    kinds = {case.words.split()[-1] for case in found}
    assert {"answers", "branch_nodes", "columns", "places"} <= kinds and "leaf_rows" not in kinds
    for case in found:
        case.expect(1)


def test_a_kind_of_a_stranger_is_tried_where_the_model_says_what_it_needs(tmp_path, monkeypatch):
    """dpflow declares the subject of `leaf_rows`, which it keeps by its columns, and says nothing of single rows."""
    text = (PLUG_INS / "predicted_share.py").read_text().replace("Subject.PREDICTIONS", "Subject.LEAF_ROWS")
    (tmp_path / "by_leaf.py").write_text(text.replace('"predicted_share"', '"by_leaf"'))
    monkeypatch.setenv("ODTC_PLUGINS", str(tmp_path / "by_leaf.py"))
    kind = CONSTRAINTS.get("by_leaf")
    assert takes(small_problem("flowoct", {}), kind)
    assert not takes(small_problem("svm1_odt", {}), kind)
