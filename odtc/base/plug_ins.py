"""Plug-ins in single files: from `--plugin FILE.py` or a folder, or from ODTC_PLUGINS.

    ODTC_PLUGINS=~/my-odtc:cuts/mine.py

A file is one plug-in with the name of the file; `TYPE = "encoding"` states its type: the name of an entry point group
without "odtc." and the plural. Processes that this one starts have the same plug-ins, because they inherit the
environment. Code in these files runs, so name only files that you trust.
"""

import contextlib
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

from odtc.base.text import did_you_mean
from odtc.base.value_class import value_class
from odtc.errors import ChoiceError

VARIABLE = "ODTC_PLUGINS"
OPTION = "--plugin"

# The type that a file may state -> the entry point group without "odtc." and the plural.
KINDS = {
    kind: kind
    for kind in (
        "formulation",
        "encoding",
        "cut",
        "constraint",
        "solver",
        "exporter",
        "reader",
        "selection",
        "heuristic",
        "format",
        "point",
        "task",
    )
} | {"model": "formulation", "cut family": "cut", "start": "heuristic", "point format": "point"}  # words of messages


@value_class
class PlugInFile:
    """A file that offers a member, as an entry point does."""

    path: Path
    dist: None = None

    @property
    def name(self) -> str:
        """The name of the member."""
        return self.path.stem

    @property
    def kind(self) -> str:
        """Return its type, as the name of an entry point group; raises ChoiceError if the file does not state it, or
        cannot be loaded."""
        found = getattr(self.load(), "TYPE", None)
        kind = KINDS.get(found) if isinstance(found, str) else None
        if kind is None:
            raise ChoiceError(
                f"expected TYPE = {', '.join(map(repr, dict.fromkeys(KINDS.values())))} in the plug-in "
                f"{str(self.path)!r}, got "
                + ("nothing" if found is None else f"{found!r}{did_you_mean(str(found), KINDS)}")
            )
        return kind

    def load(self) -> ModuleType:
        """Return the module of the file, which is run once; its NAME is that of the file unless it has another. Raises
        ChoiceError if it cannot be."""
        name = f"odtc_plug_in_{self.path.stem}"
        known = sys.modules.get(name)
        if known is not None and known.__file__ == str(self.path):
            return known
        spec = importlib.util.spec_from_file_location(name, self.path)
        if spec is None or spec.loader is None or not self.path.is_file():
            raise ChoiceError(f"expected a Python file as a plug-in, got {str(self.path)!r}")
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        with loading(f"the plug-in {str(self.path)!r}"):
            try:
                spec.loader.exec_module(module)
            except BaseException:
                del sys.modules[name]
                raise
        vars(module).setdefault("NAME", self.name)
        return module


@contextlib.contextmanager
def loading(what: str) -> Iterator[None]:
    """While code of others is loaded, its output goes to stderr, because stdout is for results; if it fails or ends
    the program, ChoiceError reports that for `what`."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except (Exception, SystemExit) as problem:
        why = " ".join(f"{type(problem).__name__}: {problem}".split())
        raise ChoiceError(f"{what} cannot be loaded: {why:.300}") from None


def named_files() -> Iterator[PlugInFile]:
    """Yield the files that ODTC_PLUGINS names, in their order; of a folder all Python files but tests and those that
    begin with _."""
    for path in named_places():
        inside = [path]
        if path.is_dir():
            inside = [
                file for file in sorted(path.glob("[!_]*.py")) if not file.match("test_*") and file.stem != "conftest"
            ]
        yield from map(PlugInFile, inside)


def place_of_fault(problem: BaseException) -> str:
    """Return the plug-in file and the line where an exception was raised or through which it came, as "file, line N";
    "" if it did not come from a plug-in file."""
    from traceback import extract_tb  # a command that ends well does not need it

    files = {str(file.path) for file in named_files()}
    lines = [
        f"{str(frame.filename)!r}, line {frame.lineno}"
        for frame in extract_tb(problem.__traceback__)
        if frame.filename in files
    ]
    return lines[-1] if lines else ""


def named_places() -> Iterator[Path]:
    """Yield the files and folders that ODTC_PLUGINS names, in their order."""
    for text in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        yield Path(text).expanduser().absolute()


def take_option(words: Sequence[str]) -> list[str]:
    """Return the words of a command line without `--plugin FILE` (or a folder), wherever it is; the files are loaded,
    and named in the environment.

    Raises
    ------
    ChoiceError
        If a file is not a plug-in.
    """
    rest: list[str] = []
    files: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            rest += words[at:]
            break
        if word == OPTION or word.startswith(f"{OPTION}="):
            at += word == OPTION
            if at == len(words):
                raise ChoiceError(f"expected a file or folder behind {OPTION}, got nothing")
            files.append(words[at].removeprefix(f"{OPTION}="))
        else:
            rest.append(word)
        at += 1
    name_files(files)
    return rest


def name_files(texts: Iterable[str | os.PathLike[str]]) -> None:
    """Name files and folders in the environment, before those that it names already, and load them.

    Raises
    ------
    ChoiceError
        If a file is not a plug-in.
    """
    places = [Path(text).expanduser().absolute() for text in texts]
    for place in places:
        if not place.is_dir():  # one of a folder that cannot be loaded is set aside
            _ = PlugInFile(place).kind
    known = list(named_places())
    added = [place for at, place in enumerate(places) if place not in known and place not in places[:at]]
    if added:
        os.environ[VARIABLE] = os.pathsep.join(map(str, [*added, *known]))
