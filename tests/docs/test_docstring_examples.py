"""Every public name of odtc has a docstring that begins with a verb phrase, and its example runs."""

import doctest

import pytest

import odtc
from tests.docs.test_readme import folder  # noqa: F401

CLASSES = ("Dataset", "Model", "Solution", "Tree", "OdtcError", "NoSolutionError")
ESTIMATORS = tuple(name for name in odtc._HOMES if name.startswith("Optimal"))
FUNCTIONS = tuple(name for name in odtc._HOMES if name not in CLASSES and name not in ESTIMATORS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_example_of_a_public_function_runs(name, folder, monkeypatch):  # noqa: F811
    if name == "plot_tree":
        pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(folder)
    (test,) = doctest.DocTestFinder(recurse=False).find(getattr(odtc, name), name, globs={})
    said = []
    result = doctest.DocTestRunner().run(test, out=said.append)
    assert result.attempted and not result.failed, "".join(said)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_begins_with_a_verb_and_names_parameters_and_results(name):
    text = getattr(odtc, name).__doc__
    first = text.split()[0]
    assert first.lower() not in ("a", "an", "the", "all", "what", "whether", "which", "how", "of", "that"), first
    for section in ("Parameters", "Returns", "Examples"):
        assert f"{section}\n" in text, (name, section)
    assert doctest.DocTestParser().get_examples(text)
