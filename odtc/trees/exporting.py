"""Trees for other programs: a template of `templates/tree/` writes text (odtc.trees.rendering), a module of
`exporters/` writes other files."""

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from odtc.base.registry import Contract, Member, Registry
from odtc.base.text import did_you_mean
from odtc.data.task import TASKS
from odtc.errors import ChoiceError
from odtc.trees.rendering import exporters as templates_by_name
from odtc.trees.rendering import no_lines, no_numbers, render_tree
from odtc.trees.rendering import suffix as template_suffix
from odtc.trees.tree import Tree, steps_before_tree, tree_of


class Exporter(Protocol):
    """The definitions of an exporter that is not a template."""

    NAME: str
    SUMMARY: str
    SUFFIX: str  # the ending of its files, without the dot
    NUMBERS: bool = False  # whether it also writes trees whose leaves predict numbers
    LINES: bool = False  # whether it also writes trees whose leaves predict lines

    @abstractmethod
    def write(self, tree: Tree) -> bytes:
        """Return the file. Raises ChoiceError if the tree has a split that the format cannot express, or if a package
        is not installed."""
        ...

    def remarks(self, tree: Tree, X: np.ndarray) -> list[str]:
        """Return remarks for the user on the file, from the training rows of the tree, float64 (rows, features) as for
        `Tree.predict`; by default none."""
        return []

    def predict(self, content: bytes, tree: Tree, X: np.ndarray) -> list[str]:
        """Return the class of each row, float64 (rows, features) as for `Tree.predict`, by running a file that `write`
        made, for the property tests. Leave it out if the file cannot be run."""
        raise NotImplementedError


EXPORTERS = Registry(
    "exporter",
    "odtc.trees.exporters",
    ("sklearn", "onnx", "png", "excel"),
    Contract(always=(Exporter,)),
    "odtc.exporters",
)

# Names of programs and file types that people try, and where they find them.
SPREADSHEET = "'excel' writes a CSV file of formulas, which spreadsheets open"
ELSEWHERE = {
    "html": "`odtc report` writes a page",
    "json": "a TREE.json is the tree as JSON already",
    "xlsx": SPREADSHEET,
    "xls": SPREADSHEET,
    "ods": SPREADSHEET,
    "cpp": "'c' is C++, too",
    "c++": "'c' is C++, too",
    "pdf": "'svg' is a picture, 'latex' a figure for LaTeX",
}


def summaries(templates=None) -> dict[str, str]:
    """Return the summary of each exporter by its name; raises ChoiceError if `templates` is not a folder."""
    return dict(
        sorted(
            (templates_by_name(templates) | {name: EXPORTERS.get(name).SUMMARY for name in EXPORTERS.names()}).items()
        )
    )


def named(to: str, templates=None) -> str:
    """Return the name of the exporter with this name, or with this ending of its files ("js" or ".js" for javascript);
    `to` itself if there is none."""
    known, ending = summaries(templates), to.lower().removeprefix(".")
    return to if to in known else next((name for name in known if suffix(name, templates).lower() == ending), to)


def suffix(to: str, templates=None) -> str:
    """Return the file name ending of an exporter, without the dot; raises ChoiceError for an unknown one."""
    return EXPORTERS.get(to).SUFFIX if _is_module(to, templates) else template_suffix(to, templates)


def export(tree: Tree, to: str, templates=None, about: Sequence[str] = ()) -> str | bytes:
    """Export a tree to another format or language.

    Parameters
    ----------
    tree : Tree, Fit, estimator, or scikit-learn's Pipeline or search with an estimator
        Of a Pipeline only the tree is exported, so a warning names the other steps.
    to : str
        An exporter of `odtc list exporters`, or the ending of its files, such as "js". A template comes before a module
        of the same name.
    templates : path or None
        A folder whose templates replace odtc's templates of the same name.
    about : sequence of str
        Lines on the run for a comment at the top of code.

    Returns
    -------
    str or bytes
        Text of a template, bytes of a module.

    Raises
    ------
    ChoiceError
        If the exporter is unknown, or cannot express the tree.
    OutputError
        If the template fails.

    Examples
    --------
    >>> import odtc
    >>> tree = odtc.fit("examples/monks/monks-1.csv", depth=1, encoding="onehot").tree
    >>> "SELECT" in odtc.export(tree, "sql")
    True
    """
    to = named(to, templates)
    if before := steps_before_tree(tree):
        warnings.warn(
            f"the export contains only the tree, and its columns are the output of {', '.join(before)}; apply "
            f"{'this step' if len(before) == 1 else 'these steps'} of the pipeline to new rows first",
            stacklevel=2,
        )
    if not _is_module(to, templates):
        return render_tree(tree, to, templates, about)
    made = written(EXPORTERS.get(to), tree_of(tree))
    if (dataset := getattr(tree, "dataset", None)) is not None:  # of a Fit
        for text in remarks(tree_of(tree), to, dataset.X, templates):
            warnings.warn(text, stacklevel=2)
    return made


def remarks(tree: Tree, to: str, X: np.ndarray, templates=None) -> list[str]:
    """Return remarks for the user on an export, from the training rows of the tree, float64 (rows, features)."""
    return EXPORTERS.get(to).remarks(tree, X) if _is_module(to, templates) else []


def written(exporter: Member, tree: Tree) -> bytes:
    """Return the file of a module. Raises ChoiceError if it cannot express the tree: numbers, unless it has NUMBERS."""
    if TASKS.get(tree.task).NUMBERS and not exporter.NUMBERS:
        raise no_numbers(exporter.name)
    if tree.has_lines and not exporter.LINES:
        raise no_lines(exporter.name)
    return exporter.write(tree)


def need(package: str, what: str):
    """Import an optional package; raises ChoiceError with the command that installs it."""
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError:
        raise ChoiceError(
            f"{what} needs the package {package.split('.')[0]!r}, which is not installed: pip install {package}"
        ) from None


def _is_module(to: str, templates) -> bool:
    if to in templates_by_name(templates):
        return False
    if to in EXPORTERS.names():
        return True
    known = summaries(templates)
    hint = f" ({ELSEWHERE[to]})" if to in ELSEWHERE else did_you_mean(to, known)
    raise ChoiceError(f"unknown exporter {to!r}{hint}; known: {', '.join(known)}")
