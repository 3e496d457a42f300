"""The one jinja2 environment: trees, commands and reports as text that people may change.

jinja2 is imported when the first template is filled: a fit fills none, and its import takes a tenth of a CPU second.
"""

import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from odtc.base.plug_ins import named_places
from odtc.base.registry import offered
from odtc.base.templates.filters import FILTERS
from odtc.errors import ChoiceError, OutputError

if TYPE_CHECKING:
    import jinja2

# What `odtc.data.cells.column_types` takes for a missing cell, so that an exported tree does; a test compares them.
MISSING_WORDS = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL")


GROUP = "odtc.templates"
KINDS = ("tree", "check", "command", "options")  # folders of templates that a plug-in may bring

# Errors that a template of a user may raise; the last two for numbers as Jinja writes them in Python (1e999, digits of
# other scripts).
PYTHON_FAULTS = (
    *(ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError),
    *(NameError, SyntaxError),
)


def render(name: str, /, templates: str | Path | None = None, **facts: object) -> str:
    """Return the template of this name (`command/highs.jinja`) filled with facts.

    Raises ChoiceError for an unknown template, OutputError for one that fails.
    """
    import jinja2

    folders = template_folders(templates)
    try:
        return _environment(folders).get_template(name).render(facts)
    except ChoiceError:  # of a filter, about a name that the target cannot have
        raise
    except jinja2.TemplateNotFound as problem:
        looked = ", ".join(map(str, folders))
        raise ChoiceError(f"expected a template {str(problem)!r} in {looked}, found none; check its name") from None
    except (jinja2.TemplateError, *PYTHON_FAULTS) as problem:
        line = f", line {problem.lineno}" if isinstance(problem, jinja2.TemplateSyntaxError) else ""
        raise OutputError(f"the template {name!r} cannot be filled{line}: {problem}") from problem


def render_line(text: str, **facts: object) -> str:
    """Return a template of one line, as in a solver's description; raises OutputError."""
    import jinja2

    try:
        return _environment(()).from_string(text).render(**facts)
    except (jinja2.TemplateError, *PYTHON_FAULTS) as problem:
        raise OutputError(f"the template {text!r} fails: {problem}") from None


def template_folders(templates: str | Path | None) -> tuple[Path, ...]:
    """Return the folders of templates: the user's folder, if any, then the folders of plug-ins, then odtc's own.

    Raises ChoiceError if `templates` is not a folder.
    """
    here = Path(__file__).resolve().parents[2]  # the package odtc
    packaged, checkout = here / "templates", here.parent / "templates"
    # Next to an installed package a folder `templates` would belong to something else.
    own = packaged if packaged.is_dir() else checkout
    if templates is None:
        return *brought_folders(), own
    if not Path(templates).is_dir():
        raise ChoiceError(f"expected a folder of templates, got {str(templates)!r}, which is not a folder")
    return Path(templates), *brought_folders(), own


def brought_folders() -> tuple[Path, ...]:
    """Return the folders of templates that plug-ins bring.

    A folder that ODTC_PLUGINS names may hold `tree/`, `check/` or `command/`, or a folder `templates` that does; so may
    the folder of a plug-in file. A package names its folder by an entry point of the group "odtc.templates", whose
    value is the package.

    Returns
    -------
    tuple of Path
    """
    named = [
        (place, place / "templates") if place.is_dir() else (place.parent / "templates",) for place in named_places()
    ]
    found = [folder for folders in named for folder in folders if _has_any(folder)]
    return tuple(dict.fromkeys([*found, *_packaged(tuple(sys.path))]))


def _has_any(folder: Path) -> bool:
    return any((folder / kind).is_dir() for kind in KINDS)


@lru_cache
def _packaged(path: tuple[str, ...]) -> tuple[Path, ...]:
    """Return the folders of installed packages on this path; looked for once, which takes some hundredths of a
    second."""
    from importlib.util import find_spec

    found = []
    for point in sorted(offered(GROUP), key=lambda point: point.name):
        try:
            spec = find_spec(point.module)
        except (ImportError, ValueError):
            continue
        found += [Path(place) for place in (spec and spec.submodule_search_locations) or ()]
    return tuple(folder for folder in found if _has_any(folder))


@lru_cache
def _environment(folders: tuple[Path, ...]) -> "jinja2.Environment":
    import jinja2
    import jinja2.sandbox

    # A template comes from a folder that somebody made: it fills in text, and reaches nothing of Python.
    environment = jinja2.sandbox.SandboxedEnvironment(
        loader=jinja2.FileSystemLoader([str(folder) for folder in folders]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters |= {function.__name__: function for function in FILTERS}
    environment.globals |= {"MISSING_WORDS": MISSING_WORDS}
    return environment
