"""Property tests of all other plug-ins, of odtc and of the examples."""

from pathlib import Path

import pytest

from odtc.cli.new_member import FIRST
from odtc.data.dataset import NUMERIC, Feature
from odtc.errors import ChoiceError
from odtc.solvers.solver import find_solver, version
from odtc.testing import cases, types
from odtc.testing.suite import KINDS, find, kinds_of
from odtc.trees.exporting import summaries
from odtc.trees.tree import Leaf, Tree

HERE = ("encoding", "heuristic", "selection", "reader", "format", "point")  # the others have test modules of their own
MOST = 4  # cases of a property; `odtc check` draws more
FEW = {"regularised": 3}  # it fits dozens of trees for one; tests/unit/test_regularised.py has more of it
REGISTERED = [(kind, name) for kind in HERE for name in KINDS[kind].module_names]


@pytest.mark.every(3)
@pytest.mark.parametrize("case", [case for one in REGISTERED for case in cases(*one)], ids=str)
def test_a_member_obeys_the_laws_of_its_kind(case):
    case.expect(min(case.property.examples, FEW.get(case.name, MOST)))


@pytest.mark.every(3)
@pytest.mark.parametrize("case", [case for name in summaries() for case in cases("exporter", name)], ids=str)
def test_an_export_is_written_and_predicts_as_the_tree(case):
    case.expect(min(case.property.examples, MOST))


@pytest.mark.every(3)
@pytest.mark.parametrize("name", ["cart", "cart_tuned", "oblique_search"])
def test_a_learner_obeys_its_laws(name):
    for case in cases("formulation", name):
        case.expect(2)


@pytest.mark.every(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in KINDS["solver"].module_names if version(find_solver(name))])
def test_a_solver_obeys_its_laws(name):
    for case in cases("solver", name):
        case.expect(min(case.property.examples, 3))


def test_an_unknown_kind_name_or_law_is_answered_with_the_nearest():
    assert types() == tuple(KINDS) and kinds_of("thresholds") == ["encoding"]
    for words, why in (
        (("encodin", "auto"), "did you mean 'encoding'"),
        (("encoding", "aut"), "did you mean 'auto'"),
        (("exporter", "pyton"), "did you mean 'python'"),
    ):
        with pytest.raises(ChoiceError, match=why):
            cases(*words)
    with pytest.raises(ChoiceError, match="unknown property test 'split' of the type encoding.*did you mean 'splits'"):
        cases("encoding", "auto", property="split")
    with pytest.raises(ChoiceError, match="no plug-in is called 'nobody'"):
        kinds_of("nobody")


# Members of strangers: each one file, no edit elsewhere, under the same suite.
PLUG_INS = Path(__file__).parents[2] / "examples" / "plug-ins"


@pytest.mark.every(4)
@pytest.mark.parametrize("kind", FIRST)
def test_a_member_of_a_stranger_obeys_the_same_laws(kind, monkeypatch):
    monkeypatch.setenv("ODTC_PLUGINS", str(PLUG_INS / f"{FIRST[kind]}.py"))
    found = cases(kind, FIRST[kind])
    assert {case.property.name for case in found} > {"name"} if kind == "formulation" else found
    for case in found:
        case.expect(min(case.property.examples, 3))


def test_an_exporter_that_sends_ties_right_is_found_in_one_case(tmp_path, monkeypatch):
    """The usual mistake, < in place of <=, passed the default number of cases."""
    text = (PLUG_INS / "nested_json.py").read_text(encoding="utf-8")
    for name, sign in (("good", "<="), ("bad", "<")):
        wrong = text.replace('cell <= at["at_most"]', f'cell {sign} at["at_most"]').replace("nested_json", name)
        (tmp_path / f"{name}.py").write_text(wrong)
        monkeypatch.setenv("ODTC_PLUGINS", str(tmp_path / f"{name}.py"))
        [case] = cases("exporter", name, property="ties")
        assert bool(case.run().failure) is (name == "bad")


def test_an_exporter_of_classes_is_not_tried_on_numbers(monkeypatch):
    """A module without NUMBERS need not look at the task: such a tree is refused before it sees it."""
    monkeypatch.setenv("ODTC_PLUGINS", str(PLUG_INS / "nested_json.py"))
    end = Leaf(0, (1.0,), (1,), (1.0, 1.0, 2.5, 0.0, 0.0))
    numbers = Tree(end, (Feature("x", NUMERIC),), ("mean",), "y", "drop", "regression")
    with pytest.raises(ChoiceError, match="nested_json writes classes"):
        find("exporter", "nested_json").write(numbers)
    assert find("exporter", "sklearn").write(numbers)  # says NUMBERS
