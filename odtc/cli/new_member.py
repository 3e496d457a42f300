"""Files of a new plug-in: a working one of its type under a new name, a test that runs the property tests, a package.

The templates are in examples/plug-ins of the repository, and in odtc/templates/new of the package.
"""

import importlib.machinery
import keyword
import re
import sys
from pathlib import Path

from odtc.base.atomic_write import write_text
from odtc.base.registry import did_you_mean
from odtc.base.templates import template_folders
from odtc.cli.catalogue import REGISTRIES
from odtc.errors import ChoiceError, OutputError
from odtc.trees.exporting import EXPORTERS

# Type, as the group of its entry points without "odtc." and the plural -> its registry.
KINDS = {one.group.removeprefix("odtc.").removesuffix("s"): one for one in (*REGISTRIES.values(), EXPORTERS) if one}

# Type -> the file from which a new plug-in begins.
FIRST = {
    "formulation": "cut_based",
    "cut": "class_predicted",
    "constraint": "predicted_share",
    "solver": "scipy_milp",
    "exporter": "nested_json",
    "reader": "json_lines",
    "encoding": "medians",
    "selection": "nearest_rows",
    "heuristic": "one_split",
    "format": "json_model",
    "point": "json_point",
}
# No property test knows the costs of the leaves of a task, so its test counts them by itself.
BEGUN = FIRST | {"task": "poisson_rate"}
TEST = '''"""{name} under the property tests of its type: python -m pytest test_{name}.py"""

from pathlib import Path

import pytest

from odtc.testing import cases

FILE = Path(__file__).with_name("{name}.py")


@pytest.mark.parametrize("case", cases("{kind}", "{name}", plug_in=FILE), ids=str)
def test_property(case):
    case.expect()
'''
TASK_TEST = '''"""{name}: the tree with one split is the best of all such trees: python -m pytest test_{name}.py"""

import math
from pathlib import Path

import odtc

FILE = Path(__file__).with_name("{name}.py")
VALUES = [0, 1, 0, 2, 1, 7, 5, 9, 6, 8]  # of the target, by the rows of one column


def cost(values):
    """Return the cost of a leaf with these values, computed by hand. Change it with the task."""
    mean = sum(values) / len(values)
    return -sum(value * math.log(mean) - mean for value in values) if mean else 0.0


def answer(values):
    """Return the prediction of a leaf with these values. Change it with the task."""
    return sum(values) / len(values)


def test_no_cut_is_better(monkeypatch):
    monkeypatch.setenv("ODTC_PLUGINS", str(FILE))
    rows = [[at] for at in range(len(VALUES))]
    fitted = odtc.fit(rows, VALUES, depth=1, task="{name}")
    assert fitted.verified and fitted.facts["termination"] == "optimal"
    cut = min(range(1, len(VALUES)), key=lambda at: cost(VALUES[:at]) + cost(VALUES[at:]))
    expected = [answer(VALUES[:cut])] * cut + [answer(VALUES[cut:])] * (len(VALUES) - cut)
    assert all(math.isclose(*pair, rel_tol=1e-9) for pair in zip(fitted.predict(rows), expected))
'''
PACKAGE = """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{dashed}"
version = "0.1"
dependencies = ["odtc"]

[project.optional-dependencies]
test = ["odtc[testing]", "pytest"]

[project.entry-points."{group}"]
{name} = "{name}"

[tool.hatch.build.targets.wheel]
include = ["{name}.py"]
"""


def texts_of(kind: str, name: str, package: bool) -> dict[str, str]:
    """Return the texts of a new plug-in by the names of their files.

    Parameters
    ----------
    kind : str
        One of BEGUN.
    name : str
        The name that it is registered by; a name of Python.
    package : bool
        Whether a pyproject.toml with the entry point is among them.

    Returns
    -------
    dict of str to str

    Raises
    ------
    ChoiceError
        If there is no such type, or the name is taken, is not a name of Python, or is the name of a module that it
        would hide.
    """
    if kind not in BEGUN:
        raise ChoiceError(f"unknown type of plug-in {kind!r}{did_you_mean(kind, BEGUN)}; known: {', '.join(BEGUN)}")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise ChoiceError(f"expected a name of small letters, digits and _ that begins with a letter, got {name!r}")
    if keyword.iskeyword(name) or name == "conftest" or name.startswith("test_"):
        raise ChoiceError(f"expected a name that Python and pytest have no use for, got {name!r}: take another name")
    if _is_module(name):
        raise ChoiceError(
            f"{name!r} is the name of a Python module here, which {name}.py would hide: take another name"
        )
    registry = KINDS[kind]
    if name in registry.module_names:
        raise ChoiceError(f"odtc has a {kind} {name!r}: take another name")
    own = re.sub(rf"\b{BEGUN[kind]}\b", name, first_of(kind).read_text(encoding="utf-8"))
    if package:  # an entry point states its type
        own = re.sub(r'^TYPE = "\w+"\n', "", own, flags=re.M)
    test = (TEST if kind in FIRST else TASK_TEST).format(name=name, kind=kind)
    if not package:
        return {f"{name}.py": own, f"test_{name}.py": test}
    installed = re.sub(
        r"from pathlib.*\n\n|FILE = .*\n{1,3}|, plug_in=FILE|    monkeypatch.*\n|\bmonkeypatch\b", "", test
    )
    about = PACKAGE.format(name=name, dashed=name.replace("_", "-"), group=registry.group)
    return {
        "pyproject.toml": about,
        f"{name}.py": own,
        f"test_{name}.py": installed.replace(
            f"python -m pytest test_{name}.py", "pip install -e '.[test]' && python -m pytest"
        ),
    }


def _is_module(name: str) -> bool:
    """Return whether Python has a module of this name, elsewhere than in the current folder."""
    if name in sys.stdlib_module_names:
        return True
    elsewhere = [folder for folder in sys.path if folder and Path(folder).resolve() != Path.cwd()]
    spec = importlib.machinery.PathFinder.find_spec(name, elsewhere)
    return spec is not None and spec.origin is not None  # a folder without code has none


def first_of(kind: str) -> Path:
    """Return the file from which a plug-in of a type begins."""
    (own,) = template_folders(None)
    examples = own.parent / "examples"
    folders = (own / "new", examples / "plug-ins", examples / "my-task")
    return next(path for path in (folder / f"{BEGUN[kind]}.py" for folder in folders) if path.is_file())


def begin(kind: str, name: str, folder: Path, package: bool) -> list[Path]:
    """Write the files of a new plug-in, and overwrite no file.

    Parameters
    ----------
    kind, name, package
        As for `texts_of`.
    folder : path
        Where the files are written; with `package` into a folder of the plug-in's name there.

    Returns
    -------
    list of Path

    Raises
    ------
    ChoiceError
        As `texts_of` does.
    OutputError
        If a file is there already, or cannot be written.
    """
    texts = texts_of(kind, name, package)
    into = folder / name if package else folder
    paths = [into / file for file in texts]
    for path in paths:
        if path.exists():
            raise OutputError(f"{str(path)!r} is there already: take another name or folder")
    try:
        into.mkdir(parents=True, exist_ok=True)
        for path, text in zip(paths, texts.values()):
            write_text(path, text)
    except OSError as problem:
        raise OutputError(f"cannot write to {str(into)!r}: {problem.strerror}") from None
    return paths
