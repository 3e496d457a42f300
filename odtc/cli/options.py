"""Options of the command line: options of a run are derived from its specification, the others are defined here once
if several commands have them."""

import functools
import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import field, replace
from pathlib import Path
from typing import Annotated

import typer

from odtc.base import cluster as clusters
from odtc.base.spec_fields import NAMES, PAIRS, REPEATED, SEVERAL, default_of, fields_by_name
from odtc.base.value_class import frozen_class
from odtc.base.wording import SWITCHES, flag
from odtc.cli.console import say
from odtc.cli.help_page import CONSTRAINTS, DATA, SOLVER
from odtc.cli.help_page import MODEL as MODEL_SECTION
from odtc.data.reading_spec import CLASSIFICATION, LAYOUT, OF_ALL_FORMATS
from odtc.errors import ChoiceError
from odtc.workflow.specification import (
    SHARES,
    SHORT_CONSTRAINTS,
    ModelSpec,
    ReadingSpec,
    RunSpec,
    SolvingSpec,
    short_constraint,
    specified,
)


def value_option(name: str, metavar: str, help: str, **more):
    """Return an option that takes a value, as typer.Option."""
    return typer.Option(name, metavar=metavar, help=help, **more)


def time_limit_option(help: str):
    """Return the option --time-limit of a command that is not a fit, with its own help."""
    return value_option("--time-limit", "S", help, min=0.0)


def completing(kind: str):
    """Return the completions of a name of this registry in a shell; after a comma, of the last name."""

    def complete(incomplete: str) -> list[str]:
        from odtc.cli.catalogue import names_of

        before, comma, last = incomplete.rpartition(",")
        return [before + comma + name for name in names_of(kind) if name.startswith(last)]

    return complete


def among(*words: str):
    """Return the completions in a shell if only these words are valid."""
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


def _of_standard_input(path: Path) -> Path:
    """Return the path of a data file; for - the path of a file with the bytes of the standard input."""
    if str(path) != "-":
        return path
    from odtc.data.cells.data_files import standard_input

    return standard_input()


DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Data file: CSV, TSV or other text (also .gz), Excel, Parquet, Arrow, ARFF or JSON lines; - for stdin.",
        callback=_of_standard_input,
    ),
]
Pricing = Annotated[
    str | None,
    value_option(
        "--pricing",
        "leaf=N[,class=LABEL]",
        "Also write the pricing problem of a leaf at the current dual values (--model cg); with -p literal=true, "
        "of a leaf and a class.",
    ),
]


def stem_option(usual: str):
    """Return the option for the stem of the output files, whose default has this form."""
    return value_option("-o", "STEM", f"Stem of the output files (default: {usual}).")


Stem = Annotated[str | None, stem_option("DATA_MODEL_dDEPTH")]
DialectName = Annotated[
    str | None,
    value_option(
        "--dialect",
        "SOLVER|all",
        "Write starts and cuts in the format of this solver.",
        autocompletion=completing("solvers"),
    ),
]
Encodings = Annotated[
    list[str],
    value_option(
        "--encoding",
        "NAME[:KEY=VALUE,…]",
        "Candidate splits; see `odtc list encodings`. Repeatable.",
        autocompletion=completing("encodings"),
    ),
]
Folds = Annotated[int, value_option("--folds", "K", "Number of folds of the cross-validation.")]
Score = Annotated[
    str,
    value_option(
        "--score",
        "accuracy|balanced_accuracy|robust_accuracy",
        "Score that compares the settings. robust_accuracy counts rows as moved within the boxes of -p robust=….",
        autocompletion=among("accuracy", "balanced_accuracy", "robust_accuracy"),
    ),
]
Rule = Annotated[
    str,
    value_option(
        "--rule",
        "best|1se",
        "best, or 1se: the smallest trees within one standard error of the best.",
        autocompletion=among("best", "1se"),
    ),
]
ClusterAddress = Annotated[str | None, value_option("--cluster", clusters.METAVAR, clusters.HELP.format("--jobs"))]
NoSimplify = Annotated[
    bool, typer.Option("--no-simplify", help="Keep branch nodes that separate no rows, as the solver returned them.")
]
Jobs = Annotated[int, value_option("--jobs", "N", "Number of fits in parallel; -1 for all cores.")]
ArrayScript = Annotated[
    str | None,
    value_option(
        "--script",
        "sh|slurm",
        "Only write a script for a job array of --jobs parts.",
        autocompletion=among("sh", "slurm"),
    ),
]
ArrayPart = Annotated[
    str | None, value_option("--part", "I/N", "Run only every N-th fit, starting with fit I (counted from 0).")
]
Depths = Annotated[
    str, typer.Option("--depths", "--depth", metavar="D,E", help="Depths to try, for example 1,2,3 or 1:3.")
]
ExplainPlan = Annotated[
    bool,
    typer.Option(
        "--explain-plan",
        help="Only print the plan: search or model, solver, splits, limits and proof, each with the reason.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout, and nothing else.")]
ManifestFile = Annotated[
    Path | None, value_option("--manifest", "STEM.odt.json", "Manifest (default: the one next to the solution).")
]
MovedData = Annotated[Path | None, value_option("--data", "DATA", "Data file, if it was moved.")]
RawOf = Annotated[
    Path | None, value_option("--solver-template", "SOLVER.toml", "Description of the solver that wrote the file.")
]
Templates = Annotated[Path | None, value_option("--templates", "DIR", "Folder with your own templates.")]
Labels = Annotated[
    Path | None,
    value_option("--labels", "FILE", "Table with readable names (columns column, value and text), as for `odtc fit`."),
]


def named_by_stem(*endings: str) -> Callable[[Path], Path]:
    """Return a function that returns the only file with one of these endings for the STEM of a run, and any other path
    as it is."""

    def named(given: Path) -> Path:
        found = [] if given.is_file() else [path for end in endings if (path := Path(f"{given}{end}")).is_file()]
        return found[0] if len(found) == 1 else given

    return named


TreeFile = Annotated[
    Path,
    typer.Argument(
        metavar="TREE.json|STEM", callback=named_by_stem(".tree.json"), help="File of a tree, or the stem of its run."
    ),
]


PARTS = ("hold_out", "gap")  # fields whose numbers are shares


def share(text: str | float) -> float:
    """Return a number that is written as a share or in percent: 0.25 or 25%; raises BadParameter."""
    try:
        number = str(text).strip()
        return float(number[:-1]) / 100 if number.endswith("%") else float(number)
    except ValueError:
        raise typer.BadParameter(f"expected a number such as 0.25 or 25%, got {text!r}") from None


SECTIONS = {ReadingSpec: DATA, ModelSpec: MODEL_SECTION, SolvingSpec: SOLVER}  # of help, unless a field names one


@frozen_class
class Part:
    """Options for the fields of a specification that a command has: the fields `only`, by default all except `leave`.
    With `short` also the short options for constraints; `changed` is the default or the help of a field, if the
    command has its own: {"time_limit": {"default": 60.0}}; `hidden` are those that no help shows, because the
    command refuses them with a message of its own."""

    of: type
    only: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()
    short: bool = False
    changed: dict = field(default_factory=dict)
    hidden: tuple[str, ...] = ()

    @property
    def fields(self) -> dict:
        """The fields that are options of the command, by name."""
        return {
            name: one
            for name, one in fields_by_name(self.of).items()
            if name not in self.leave and (not self.only or name in self.only)
        }

    def parameters(self) -> list[inspect.Parameter]:
        """The parameters of a function of typer, one an option."""
        found = []
        for name, one in self.fields.items():
            default = self.changed.get(name, {}).get("default", written_default(one))
            help, hidden = self.changed.get(name, {}).get("help"), name in self.hidden
            found.append(_parameter(name, default, _option(one, SECTIONS[self.of], help, hidden)))
            if name == "constraints" and self.short:
                for word, (_, help) in SHORT_CONSTRAINTS.items():
                    option = typer.Option(
                        f"--{word.replace('_', '-')}", metavar="N", help=help, rich_help_panel=CONSTRAINTS
                    )
                    kind = str if word in SHARES else int
                    found.append(_parameter(word, None, Annotated[kind | None, option]))
        return found

    def taken(self, given: dict):
        """The specification of the values that were given; takes them out of `given`."""
        values = {name: _value(one, given.pop(name)) for name, one in self.fields.items()}
        numbers = {word: given.pop(word) for word in SHORT_CONSTRAINTS} if self.short else {}
        short = [short_constraint(word, number) for word, number in numbers.items() if number is not None]
        if short:
            values["constraints"] = (*values["constraints"], *short)
        return self.of(**values)


def takes(*parts: Part, **records: type):
    """Give a command the options of specifications: its parameter `spec` is a RunSpec of their values. A parameter that
    `records` names is a value of that class, each field of which is an option of typer."""

    def wrap(function):
        @functools.wraps(function)
        def command(**given):
            specs = {type(one): one for one in (part.taken(given) for part in parts)}
            spec = RunSpec(*(specs.get(cls, cls()) for cls in (ReadingSpec, ModelSpec, SolvingSpec)))
            values = {
                name: cls(**{one: given.pop(one) for one in fields_by_name(cls)}) for name, cls in records.items()
            }
            return function(spec=spec, **values, **given)

        expanded = {"spec": [one for part in parts for one in part.parameters()]} | {
            name: [_parameter(one.name, default_of(one), one.type) for one in fields_by_name(cls).values()]
            for name, cls in records.items()
        }
        parameters = []
        for parameter in inspect.signature(function).parameters.values():
            options = expanded.get(parameter.name, [parameter])
            parameters += [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in options]
        command.__signature__ = inspect.Signature(parameters)
        command.__annotations__ = {one.name: one.annotation for one in parameters}
        del command.__wrapped__
        return command

    return wrap


def given_names(context: typer.Context) -> set[str]:
    """Return the parameters of a command that are on its command line."""
    return {name for name in context.params if str(context.get_parameter_source(name)).endswith("COMMANDLINE")}


def words_without(*options: str) -> list[str]:
    """Return the words of this command line, without these options and their values."""
    kept, words = [], iter(sys.argv[1:])
    for word in words:
        if word == "--":
            return [*kept, word, *words]
        if word in options:
            next(words, None)
        elif word.partition("=")[0] not in options:
            kept.append(word)
    return kept


def written_default(one):
    """The default of a field as the command line has it: an empty list for an option that may be repeated."""
    return [] if one.metadata.get("form") in SEVERAL else default_of(one)


def _option(one, section: str, help: str | None = None, hidden: bool = False):
    form, completes = one.metadata.get("form"), one.metadata.get("completes")
    kind = list[str] if form in SEVERAL else one.metadata.get("type", one.type)
    complete = among(*completes) if isinstance(completes, tuple) else completing(completes) if completes else None
    metavar, help = one.metadata["metavar"], help or one.metadata["help"]
    group = one.metadata.get("group", section)
    word = f"{flag(one.name)}/{flag(f'no_{one.name}')}" if one.name in SWITCHES else flag(one.name)
    written = word, *filter(None, [one.metadata.get("short")])
    return Annotated[
        kind,
        typer.Option(
            *written,
            metavar=metavar,
            help=help,
            autocompletion=complete,
            rich_help_panel=group,
            hidden=hidden,
            parser=share if one.name in PARTS else None,
        ),
    ]


def _parameter(name: str, default, annotation) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _value(one, given):
    """Return the text given as the value of a field."""
    form = one.metadata.get("form")
    if form == NAMES:
        return tuple(name for text in given for name in names(text))
    if form == REPEATED:
        return tuple(given)
    return pairs(given) if form == PAIRS else given


def pairs(given: list[str]) -> dict[str, str]:
    """Return the KEY=VALUE of -p; raises ChoiceError."""
    found = {}
    for pair in given:
        key, equals, value = pair.partition("=")
        if not equals:
            raise ChoiceError(f"-p: expected KEY=VALUE, got {pair!r}; `odtc info MODEL` lists the keys")
        found[key] = value
    return found


READING, MODEL, SOLVING = Part(ReadingSpec, leave=("hold_out",)), Part(ModelSpec, short=True), Part(SolvingSpec)
MOST_IN_A_RANGE = 1000  # numbers of A:B
# Of the commands that read the data of a tree.
LAYOUT_PART = Part(ReadingSpec, only=(*(name for name in LAYOUT if name not in OF_ALL_FORMATS), "decimal", "labels"))
SPLITTING = Part(ReadingSpec)  # of the commands that may set rows aside


def names(text: str | None) -> tuple[str, ...]:
    """Split names at commas; a name that contains a comma is in double quotes, as in CSV."""
    import csv

    cells = next(csv.reader([text], skipinitialspace=True), []) if text else []
    return tuple(name.strip() for name in cells if name.strip())


def whole_numbers(text: str | None, option: str) -> tuple[int, ...]:
    """Whole numbers between commas, 1:3 for 1,2,3; none for None; raises ChoiceError that names the option."""
    if text is None:
        return ()
    try:
        ends = [part.partition(":") for part in text.split(",")]
        parts = [range(int(first), int(last if colon else first) + 1) for first, colon, last in ends]
    except ValueError:
        parts = []
    if not parts or not all(0 < len(part) <= MOST_IN_A_RANGE for part in parts):
        first, dash, last = (part.strip() for part in text.partition("-"))
        near = f" (did you mean {first}:{last}?)" if dash and first.isdecimal() and last.isdecimal() else ""
        raise ChoiceError(f"{option}: expected whole numbers between commas, as in 1,2,3 or 1:3, got {text!r}{near}")
    return tuple(number for part in parts for number in part)


def stem_of(problem, o: str | None, suffix: str = "") -> str:
    """The stem that -o names, without the model file's own suffix; in a folder, or without -o, the
    data's name with model and depth, and with the task if it is not classification, so that two tasks of one table
    keep their files."""
    encoded, (depth, _) = problem.encoded, specified(problem)
    of = encoded.name if encoded.task == CLASSIFICATION else f"{encoded.name}_{encoded.task}"
    return stem_named(o, f"{of}_{problem.formulation}_d{depth}", suffix)


def file_or_stem(o: Path, ending: str) -> Path:
    """Return the file that -o names: the file itself, such as /dev/stdout, or the one of a stem with this ending."""
    return o if o.suffix or o.exists() else Path(f"{o}{ending}")


def tree_path(o: Path) -> Path:
    """Return the file of a tree that -o names, directly or by its stem."""
    return file_or_stem(o, ".tree.json")


def stem_named(o: str | None, usual: str, suffix: str = "") -> str:
    """The stem that -o names, without the suffix of a model file; in a folder, or without -o, the usual one.
    Raises OutputError if its folder is not there."""
    from odtc.base.atomic_write import require_beside, require_writable_stem

    o = o and (o.removesuffix(".tree.json") or usual)  # the name of the tree: it and the others get their suffixes
    inside = o and (o.endswith(("/", os.sep)) or Path(o).is_dir())
    if o and not inside:
        require_beside(o)
    stem = (
        str(Path(o, usual))
        if inside
        else (o or usual).removesuffix(".gz" if suffix and o else "").removesuffix(suffix) or usual
    )
    require_writable_stem(stem, ".odt.json")
    return stem


def labelled(tree, path):
    """The tree with the names of a codebook for readers, if there is one."""
    if path is None:
        return tree
    from odtc.data.codebook import labelled as named
    from odtc.data.codebook import read_codebook, strangers

    codebook = read_codebook(path)
    say(*(f"note: {words}" for _, words in strangers(codebook, tree.features, tree)))
    return replace(tree, features=named(tree.features, codebook))


def described(tree, data: Path, reading: ReadingSpec):
    """Return the tree, which reads this file by the options of the command if there are some, otherwise as its
    training file."""
    from odtc.data.cells.data_files import opened_by
    from odtc.data.dataset import layout_of

    tree = labelled(tree, reading.labels)
    if reading.decimal is not None:
        tree = replace(tree, features=tuple(replace(one, decimal=reading.decimal) for one in tree.features))
    given = reading.layout | ({"header": True} if "--header" in sys.argv else {})  # which replaces a recorded one
    if not given:
        return tree
    opened_by(data, given, strict=True)
    layout = {key: one for key, one in layout_of(tree.features).items() if key in OF_ALL_FORMATS} | given
    return replace(tree, features=tuple(replace(one, layout=layout) for one in tree.features))


TestFile = Annotated[
    Path | None, value_option("--test", "FILE", "Labelled rows for testing the tree.", rich_help_panel=DATA)
]
Gzip = Annotated[bool, typer.Option("--gzip", help="Compress the model file.")]
PoolSize = Annotated[
    int | None, value_option("--pool", "K", "Write the K best trees to STEM.pool.json (model dpflow).")
]
Within = Annotated[
    str | None,
    value_option(
        "--within",
        "E",
        "Count all trees whose objective is at most E (or 5%) above the best, and write the near-optimal set to "
        "STEM.near-optimal.json. With --pool, list at most K of them. With constraints other than leaf_rows, up to "
        "1,000 are listed.",
    ),
]
Using = Annotated[
    list[str], value_option("--using", "COL", "Near-optimal set: only trees that split on this column; repeatable.")
]
Without = Annotated[
    list[str],
    value_option("--without", "COL", "Near-optimal set: only trees that do not split on this column; repeatable."),
]
Leaves = Annotated[int | None, value_option("--leaves", "N", "Near-optimal set: only trees with at most N leaves.")]
