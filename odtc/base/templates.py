"""The one jinja2 environment: trees, commands and reports as text that people may change.

jinja2 is imported when the first template is filled: a fit fills none, and its import takes a tenth of a CPU second.
"""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from odtc.base.template_filters import FILTERS
from odtc.errors import ChoiceError, OutputError

if TYPE_CHECKING:
    import jinja2

# What `odtc.data.column_types` takes for a missing cell, so that an exported tree does; a test compares them.
MISSING_WORDS = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL")


# What a template of a user may raise.
PYTHON_FAULTS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)


def render(name: str, /, templates: str | Path | None = None, **facts: object) -> str:
    """The template of this name (`command/highs.jinja`) filled with facts.

    Raises ChoiceError for an unknown template, OutputError for one that fails.
    """
    import jinja2

    folders = template_folders(templates)
    try:
        return _environment(folders).get_template(name).render(facts)
    except jinja2.TemplateNotFound as problem:
        looked = ", ".join(map(str, folders))
        raise ChoiceError(f"expected a template {str(problem)!r} in {looked}, found none; check its name") from None
    except (jinja2.TemplateError, *PYTHON_FAULTS) as problem:
        line = f", line {problem.lineno}" if isinstance(problem, jinja2.TemplateSyntaxError) else ""
        raise OutputError(f"the template {name!r} cannot be filled{line}: {problem}") from problem


def render_line(text: str, **facts: object) -> str:
    """A template of one line, as in a solver's description; raises OutputError."""
    import jinja2

    try:
        return _environment(()).from_string(text).render(**facts)
    except (jinja2.TemplateError, *PYTHON_FAULTS) as problem:
        raise OutputError(f"the template {text!r} fails: {problem}") from None


def template_folders(templates: str | Path | None) -> tuple[Path, ...]:
    """Where templates are looked for: the user's folder, if there is one, then that of odtc.

    Raises ChoiceError if `templates` is not a folder.
    """
    here = Path(__file__).resolve().parent.parent  # the package odtc
    packaged, checkout = here / "templates", here.parent / "templates"
    # Beside an installed package a folder `templates` would be a stranger's.
    own = packaged if packaged.is_dir() else checkout
    if templates is None:
        return (own,)
    if not Path(templates).is_dir():
        raise ChoiceError(f"expected a folder of templates, got {str(templates)!r}, which is not a folder")
    return Path(templates), own


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
