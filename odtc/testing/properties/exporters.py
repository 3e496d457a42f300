"""Property tests of an exporter: it takes every tree or refuses it with a message; its output predicts the same as the
tree.

A template states in templates/check/NAME.toml how its text is run; a module offers `predict(content, tree, X)`. The
trees have levels that are numerals, and rows with unseen and missing cells, on the thresholds and next to them.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from odtc.base.value_class import value_class
from odtc.data.dataset import NUMERIC, Feature
from odtc.data.splits import Threshold
from odtc.data.task import TASKS
from odtc.errors import ChoiceError, DataError
from odtc.testing.generated_code import how_to_run, run_export
from odtc.testing.property import NotTestedError, Property, Trial
from odtc.testing.random_trees import answering_numbers, plain_names, rows_for, trees
from odtc.testing.random_trees import names as any_names
from odtc.trees.exporting import EXPORTERS, export, suffix, summaries, written
from odtc.trees.tree import Branch, Leaf, Tree

# A name of one line, as classes are printed on lines.
line_names = any_names.filter(lambda name: len(name.splitlines()) == 1 and name.isprintable())


@value_class
class Exporting:
    """A template or a module that exports trees."""

    name: str
    summary: str
    ending: str
    write: Callable
    predict: Callable | None  # (content, tree, X) -> classes, and None for a row that it refuses
    how: dict | None = None


def names(templates=None) -> tuple[str, ...]:
    """Return the names of all exporters."""
    return tuple(summaries(templates))


def find(name: str, templates=None) -> Exporting:
    """Return an exporter by its name; raises ChoiceError if there is none."""
    ending = suffix(name, templates)
    if name in EXPORTERS.names():
        module = EXPORTERS.get(name)
        predict = module.predict if "predict" in vars(module.module) else None
        return Exporting(name, module.SUMMARY, ending, lambda tree: written(module, tree), predict)
    how = how_to_run(name, templates)
    return Exporting(
        name, summaries(templates)[name], ending, lambda tree: _bytes(export(tree, name, templates)), None, how
    )


def _bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode()


def writes(plug_in: Exporting, variant, trial: Trial) -> None:
    tree = trial.draw(trees())
    trial.note("tree", str(tree))
    try:
        content = plug_in.write(tree)
    except ChoiceError as refused:
        trial.expect(len(str(refused).splitlines()) == 1, "expected a refusal in one line")
        return
    trial.expect(isinstance(content, bytes), f"expected bytes, got {type(content).__name__}")
    trial.expect(content == plug_in.write(tree), "expected the same file of the same tree, got another")


def predicts(plug_in: Exporting, variant, trial: Trial) -> None:
    plain = plug_in.how is not None and plug_in.how.get("names") == "plain"
    tree = trial.draw(trees(max_depth=3, names=plain_names if plain else line_names))
    if trial.draw(st.booleans()) and _takes(plug_in, of_numbers := trial.draw(answering_numbers(tree))):
        tree = of_numbers
    _compare(plug_in, tree, trial.draw(rows_for(tree)), trial)


def ties(plug_in: Exporting, variant, trial: Trial) -> None:
    left, right = Leaf(0, (2.0, 0.0), (2, 0)), Leaf(1, (0.0, 2.0), (0, 2))
    tree = Tree(Branch(Threshold(0, 0.5), left, right), (Feature("x", NUMERIC),), ("a", "b"), "y", "error")
    _compare(plug_in, tree, np.array([[0.5], [np.nextafter(0.5, 0)], [np.nextafter(0.5, 1)]]), trial)


def _compare(plug_in: Exporting, tree: Tree, X: np.ndarray, trial: Trial) -> None:
    """Expect the predictions of the tree for these rows."""
    trial.note("tree", str(tree))
    wanted = [expected(tree, row) for row in X]
    taken = np.array([one is not None for one in wanted])
    trial.skip_unless(taken.any())
    X, wanted = X[taken], [one for one in wanted if one is not None]
    trial.note("rows", [dict(zip([feature.name for feature in tree.features], row)) for row in X.tolist()])
    if plug_in.how is not None:
        with tempfile.TemporaryDirectory() as folder:
            got = run_export(plug_in.how, plug_in.write(tree), plug_in.ending, tree, X, Path(folder))
    elif plug_in.predict is not None:
        try:
            got = plug_in.predict(plug_in.write(tree), tree, X)
        except ChoiceError as missing:  # a package that is not installed
            raise NotTestedError(str(missing)) from None
    else:
        raise NotTestedError(f"nothing says how its files are run: templates/check/{plug_in.name}.toml, or `predict`")
    if TASKS.get(tree.task).NUMBERS:
        got = [_number(one) for one in got]
        trial.expect(got == wanted, f"expected the numbers {wanted}, got {got}")
    trial.expect(list(got) == wanted, f"expected the classes {wanted}, got {list(got)}")


def _takes(plug_in: Exporting, tree: Tree) -> bool:
    """Return whether an exporter writes a tree, and does not refuse it."""
    try:
        plug_in.write(tree)
    except ChoiceError:
        return False
    return True


def _number(said) -> float | str:
    """Return a number in the output of a program as float; any other text is returned unchanged."""
    try:
        return float(said)
    except ValueError:
        return said


def expected(tree: Tree, row: np.ndarray) -> str | float | None:
    """Return the class, or the number, that a tree predicts for a row; None if it refuses it."""
    try:
        if TASKS.get(tree.task).NUMBERS:
            return float(tree.answers(row[None, :])[0])
        return tree.classes[tree.predict(row[None, :])[0]]
    except DataError:
        return None


PROPERTIES = (
    Property(
        "writes", "It writes every tree, the same bytes each time, or refuses it in a sentence.", writes, examples=40
    ),
    Property("predicts", "What it writes answers as the tree does: ties, numerals, unseen, missing cells.", predicts),
    Property("ties", "A row on a threshold goes left.", ties, examples=1),
)
