"""Every public name of odtc has a docstring that begins with a verb phrase, and its example runs."""

import doctest
import subprocess
import sys

import pytest

import odtc
from tests.docs.test_readme import environment, folder  # noqa: F401

RUN = """
import doctest, sys, odtc
name = sys.argv[1]
(test,) = doctest.DocTestFinder(recurse=False).find(getattr(odtc, name), name, globs={})
result = doctest.DocTestRunner().run(test)
sys.exit(0 if result.attempted and not result.failed else 1)
"""
CLASSES = ("Dataset", "Model", "Solution", "Tree", "OdtcError", "NoSolutionError")
ESTIMATORS = tuple(name for name in odtc._HOMES if name.startswith("Optimal"))
FUNCTIONS = tuple(name for name in odtc._HOMES if name not in CLASSES and name not in ESTIMATORS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_example_of_a_public_function_runs(name, folder):  # noqa: F811
    if name == "plot_tree":
        pytest.importorskip("matplotlib")
    done = subprocess.run(
        [sys.executable, "-c", RUN, name],
        cwd=folder,
        env=environment() | {"MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_begins_with_a_verb_and_names_parameters_and_results(name):
    text = getattr(odtc, name).__doc__
    first = text.split()[0]
    assert first.lower() not in ("a", "an", "the", "all", "what", "whether", "which", "how", "of", "that"), first
    for section in ("Parameters", "Returns", "Examples"):
        assert f"{section}\n" in text, (name, section)
    assert doctest.DocTestParser().get_examples(text)
