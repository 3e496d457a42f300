"""Files of a new plug-in: a working one of its type under a new name, a test that runs the property tests, a package.

The plug-ins are in examples/plug-ins of the repository, and in odtc/templates/new of the package; the templates of the
other files are in templates/plug-in.
"""

import importlib.machinery
import keyword
import re
import sys
from pathlib import Path

from odtc.base.atomic_write import write_text
from odtc.base.templates import render, template_folders
from odtc.base.text import did_you_mean
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
        If the type is unknown, or the name is taken, is not a name of Python, or is the name of a module that it
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
    command = "pip install -e '.[test]' && python -m pytest" if package else f"python -m pytest test_{name}.py"
    facts = {"name": name, "kind": kind, "group": registry.group, "package": package, "command": command}
    test = render(f"plug-in/{'test' if kind in FIRST else 'test_task'}.py.jinja", **facts)
    about = {"pyproject.toml": render("plug-in/pyproject.toml.jinja", **facts)} if package else {}
    return about | {f"{name}.py": own, f"test_{name}.py": test}


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
