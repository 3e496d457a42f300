"""Specification of how a data file is read: the roles of columns, and the policy for missing cells."""

import codecs
import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date, datetime
from numbers import Real
from typing import Any

from odtc.base.spec_fields import NAMES, REPEATED, changes_of, check_ranges, default_of, fields_by_name, spec_field
from odtc.base.text import did_you_mean, some
from odtc.base.value_class import value_class
from odtc.base.wording import option
from odtc.errors import ChoiceError

NUMERIC, CATEGORICAL, BOOLEAN = "numeric", "categorical", "boolean"  # kinds of columns
POLICIES = ("drop", "error", "separate")
CLASSIFICATION = "classification"  # the task, if none is named
MISSING_CELLS = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL")
EMPTY_CELL = ("",)  # the part of them that is missing if an option names all others
SIGNS = (".", ",")  # before decimals, where numbers are as people write them
SCORES = ("doubly-robust", "direct", "ips")  # how the cost of an action is estimated that a row did not receive
GOALS = ("min", "max")
LEAVES = CONSTANT, LINEAR = "constant", "linear"  # of regression; the last is also the name of its own task
FILE, POLICY, SURVIVAL, REGRESSION = "Data file", "Policy task", "Survival task", "Regression task"  # sections of help
# Of some tasks only:
TASK_FIELDS = ("actions", "treatment", "outcome", "propensity", "scores", "goal", "time", "event", "leaf", "ridge")
SPACE, TAB = "space", "\t"  # separators: any run of blanks and tabs, and one tab
BAD_LINES = ("error", "skip")  # lines with another number of cells than the first one
ONLY_MISSING, DATES = OF_ALL_FORMATS = ("only_missing", "dates")  # of the layout
# Encodings of Python that are of names, of escapes or of one machine.
NOT_OF_FILES = ("idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem", "utf-7")
LAYOUT = (
    "header",
    "separator",
    "comment",
    "skip_lines",
    "on_bad_line",
    "text_encoding",
    "sheet",
    *OF_ALL_FORMATS,
)  # of the file
NEEDED = ("target", "missing", "weights", "categorical", "numeric")  # of a manifest; it may lack the other fields
ON_MISSING = ("refuse", "blank", "majority")  # how to handle a missing number in a column that the tree uses


@value_class
class ReadingSpec:
    """The keywords of `odtc.read`; names of columns as in the file."""

    target: str | None = spec_field(None, "Column to predict (default: the last one).", metavar="COL")
    categorical: tuple[str, ...] = spec_field((), "Columns to read as categories.", metavar="A,B", form=NAMES)
    numeric: tuple[str, ...] = spec_field((), "Columns to read as numbers.", metavar="A,B", form=NAMES)
    missing: str = spec_field(
        "drop",
        "Missing cells: drop the rows, stop with an error, or allow splits such as 'age is missing'.",
        metavar="|".join(POLICIES),
        completes=POLICIES,
    )
    weights: str | None = spec_field(
        None,
        "Column of row weights.",
        metavar="COL",
        in_python="With a data frame also the weights themselves, float (rows,).",
    )
    auxiliary: tuple[str, ...] = spec_field(
        (),
        "Columns that the tree may not split on but constraints use, for example a protected attribute.",
        metavar="A,B",
        form=NAMES,
    )
    ignore: tuple[str, ...] = spec_field(
        (), "Columns to leave out, for example an identifier.", metavar="A,B", form=NAMES
    )
    ordered: tuple[str, ...] = spec_field(
        (),
        "Column whose levels are ordered, for example size=S<M<L (default order: sorted). Splits divide them in two.",
        metavar="COL[=A<B<…]",
        form=REPEATED,
    )
    decimal: str | None = spec_field(
        None,
        "Decimal sign of numbers in text: , reads 1.234,50 € and 5 %; . reads $1,234.50.",
        metavar=".|,",
        wanted="the sign before decimals, a point or a comma",
        fits=lambda sign: sign in (None, *SIGNS),
        completes=SIGNS,
        group=FILE,
    )
    missing_mark: tuple[str, ...] = spec_field(
        (),
        "Text that marks a missing cell, such as -999 or unknown; with COL= only in that column.",
        metavar="[COL=]TEXT",
        form=REPEATED,
        group=FILE,
    )
    only_missing: str | None = spec_field(
        None,
        "Texts that mark a missing cell, instead of ?, NA and the other built-in ones. An empty cell is always "
        "missing.",
        metavar="TEXT,TEXT",
        wanted="texts between commas, or an empty text",
        fits=lambda texts: isinstance(texts, str | None),
        group=FILE,
    )
    dates: str | None = spec_field(
        None,
        "Columns of dates to read as numbers: 2019-03-14 and 14.03.2019 become 20190314. A format such as %m/%d/%Y "
        "describes other dates.",
        metavar="COL[=FORMAT],…",
        wanted="names of columns between commas, each with a format such as %m/%d/%Y if its dates need one",
        fits=lambda text: text is None or (isinstance(text, str) and all(map(_is_format, date_columns(text).values()))),
        group=FILE,
    )
    labels: str | None = spec_field(
        None,
        "Table with the columns column, value and text: readable names for columns, levels and classes.",
        metavar="FILE",
        type=str | None,
        wanted="the path of a table",
        fits=lambda path: path is None or bool(str(path)),
    )
    hold_out: float = spec_field(
        0.0,
        "Share of the rows, chosen at random, that is kept for testing the tree, for example 0.2.",
        metavar="SHARE",
        wanted="a share of the rows from 0 to less than 1",
        fits=lambda share: 0 <= share < 1,
    )
    task: str = spec_field(
        CLASSIFICATION,
        "What a leaf predicts; see `odtc list tasks`. --task policy --help shows the options of that task.",
        metavar="NAME",
        completes="tasks",
    )
    actions: tuple[str, ...] = spec_field(
        (), "Columns with the cost of each action for each row.", metavar="A,B", form=NAMES, group=POLICY
    )
    treatment: str | None = spec_field(
        None, "Column with the action that each row received.", metavar="COL", group=POLICY
    )
    outcome: str | None = spec_field(None, "Column with the outcome, a number.", metavar="COL", group=POLICY)
    propensity: tuple[str, ...] = spec_field(
        (),
        "Column with the probability of the action that the row received, or one column per action in the order of "
        "their names (default: estimated).",
        metavar="COL[,COL…]",
        form=NAMES,
        group=POLICY,
    )
    scores: str = spec_field(
        SCORES[0],
        "How to estimate the costs of the actions that a row did not receive.",
        metavar="|".join(SCORES),
        completes=SCORES,
        group=POLICY,
    )
    goal: str | None = spec_field(
        None,
        "Minimise or maximise (default: min for costs of actions, max for outcomes).",
        metavar="|".join(GOALS),
        completes=GOALS,
        group=POLICY,
    )
    time: str | None = spec_field(
        None, "Column with the time of the event, or of the last observation.", metavar="COL", group=SURVIVAL
    )
    event: str | None = spec_field(
        None,
        "Column that is 1 for an event and 0 for a censored row, or the value that means an event.",
        metavar="COL[=VALUE]",
        group=SURVIVAL,
    )
    leaf: str = spec_field(
        CONSTANT,
        "What a leaf predicts: a number, or a line in the numeric column that fits its rows best.",
        metavar="|".join(LEAVES),
        wanted=" or ".join(LEAVES),
        fits=lambda leaf: leaf in LEAVES,
        completes=LEAVES,
        group=REGRESSION,
    )
    ridge: float = spec_field(
        0.0,
        "With linear leaves: penalty R of each leaf's slope b, added to the squared error as R b².",
        metavar="R",
        wanted="a number, 0 or more",
        fits=lambda ridge: 0 <= ridge < float("inf"),
        group=REGRESSION,
    )

    header: bool = spec_field(
        True,
        "The first line contains the names of the columns; otherwise they are c1, c2, …",
        group=FILE,
        wanted="true or false",
        fits=lambda value: isinstance(value, bool),
    )
    separator: str | None = spec_field(
        None,
        "Separator of the cells: one character, tab, or space for any run of blanks and tabs (default: detected).",
        metavar="SIGN",
        group=FILE,
        wanted="one character that is not a quote or a line end, or tab or space",
        fits=lambda sign: sign is None or _is_separator(sign),
        completes=("tab", SPACE),
    )
    comment: str | None = spec_field(
        None,
        "Ignore lines that begin with this text, for example #.",
        metavar="SIGN",
        group=FILE,
        wanted="the text that a comment begins with, not blank",
        fits=lambda sign: sign is None or bool(sign.strip()),
    )
    skip_lines: int = spec_field(
        0,
        "Number of lines to skip before the table.",
        metavar="N",
        group=FILE,
        wanted="a number of lines, 0 or more",
        fits=lambda lines: isinstance(lines, int) and lines >= 0,
    )
    on_bad_line: str = spec_field(
        BAD_LINES[0],
        "What to do with a line whose number of cells differs from the first line: stop, or skip and count it.",
        metavar="|".join(BAD_LINES),
        group=FILE,
        wanted="error or skip",
        fits=lambda word: word in BAD_LINES,
        completes=BAD_LINES,
    )
    text_encoding: str | None = spec_field(
        None,
        "Encoding of a text file, for example cp1252 (default: UTF-8, or UTF-16 with a byte order mark).",
        metavar="NAME",
        group=FILE,
        wanted="the name of a text encoding of Python, such as utf-8, cp1252, latin-1 or utf-16-le",
        fits=lambda name: name is None or _is_encoding(name),
    )
    sheet: str | None = spec_field(
        None,
        "Sheet of a workbook (default: the first).",
        metavar="NAME",
        group=FILE,
        wanted="the name of a sheet",
        fits=lambda name: isinstance(name, str | None),
    )

    def __post_init__(self):
        for name, field in fields_by_name(ReadingSpec).items():
            if default_of(field) == ():  # in Python also a list, or a single text
                given = getattr(self, name)
                texts = [given] if isinstance(given, str | Real) else given
                object.__setattr__(self, name, tuple(map(str, texts)))
        if self.separator == " ":
            object.__setattr__(self, "separator", SPACE)
        if self.task in ("regression", LINEAR) and self.leaf == LINEAR:  # linear leaves are a task of their own
            object.__setattr__(self, "task", LINEAR)
            object.__setattr__(self, "leaf", CONSTANT)
        check_ranges(self)

    @classmethod
    def of(cls, **keywords: Any) -> "ReadingSpec":
        """Return the specification of the keywords of `odtc.read`; raises ChoiceError for one that it does not have."""
        known = fields_by_name(cls)
        for name in keywords:
            if name not in known:
                raise ChoiceError(f"unknown option {name!r}{did_you_mean(name, known)}; known: {', '.join(known)}")
        return cls(**keywords)

    @classmethod
    def from_manifest(cls, facts: Mapping[str, Any]) -> "ReadingSpec":
        """Return how the data of a manifest was read; `facts` is its object "data". Raises KeyError, TypeError for one
        that does not state it."""
        known = {name: facts[name] for name in fields_by_name(cls) if name in facts and name != "labels"}
        known |= {name: facts[name] for name in NEEDED}
        if {"actions", "treatment", "time"} & known.keys():
            known["target"] = None  # the name of the answer, which is not named by --target
        return cls(**known)

    def to_source(self) -> dict[str, Any]:
        """Return the record of the reading in a data set, and then in a manifest; the target and `missing` have keys
        of their own there, and the labels are in the features."""
        told = {name: getattr(self, name) for name in NEEDED} | changes_of(self)
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in told.items()
            if name not in ("target", "missing", "labels")
        }

    @property
    def missing_texts(self) -> tuple[str, ...]:
        """The built-in texts that mean a missing cell."""
        return missing_texts(self.layout)

    @property
    def only_missing_marks(self) -> list[str]:
        """The texts of `only_missing`."""
        cells = next(csv.reader([self.only_missing or ""], skipinitialspace=True), [])
        return [cell for cell in map(str.strip, cells) if cell]

    @property
    def layout(self) -> dict[str, Any]:
        """The options that describe the form of the file, without those that have their defaults."""
        return {key: value for key, value in changes_of(self).items() if key in LAYOUT}

    @property
    def keywords(self) -> dict:
        """The keywords of `odtc.read`."""
        return asdict(self)


def no_column(role: str, name: object, names: Sequence[str], place: str, hint: str = "") -> ChoiceError:
    """Return the error for the text of an option that names none of the columns `names` of a file; `hint` replaces the
    nearest one."""
    near = hint or did_you_mean(str(name), names) or f"; it has {some(names)}"
    return ChoiceError(f"expected {option(role)} to name a column of {place}, got {name!r}{near}")


def date_columns(dates: str | None) -> dict[str, str | None]:
    """Return the columns that the option `dates` names, with the format of their dates if it is given."""
    parts = [one.strip() for one in next(csv.reader([dates or ""], skipinitialspace=True), [])]
    found = [re.fullmatch(r"(?s)(.*?)(?:=(.*%.*))?", part) for part in parts if part]
    return {one[1]: one[2] for one in found}


def dates_of_columns(dates: str | None, names: Sequence[str]) -> str:
    """Return the option `dates` with these columns in addition."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return ",".join(filter(None, [dates, line.getvalue()]))


def missing_texts(layout: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the built-in texts that mean a missing cell in a file of this layout."""
    return EMPTY_CELL if ONLY_MISSING in layout else MISSING_CELLS


def _is_separator(sign: str) -> bool:
    return sign in ("tab", "\\t", SPACE) or (len(sign) == 1 and sign not in '"\r\n\0 ')


def _is_format(text: str | None) -> bool:
    try:
        day = date(2019, 3, 14)
        return text is None or datetime.strptime(day.strftime(text), text).date() == day
    except ValueError:
        return False


def _is_encoding(name: str) -> bool:
    try:
        found = codecs.lookup(name)
        return found._is_text_encoding and found.name not in NOT_OF_FILES
    except (LookupError, ValueError):  # a zero in the name
        return False


def one_target(columns: Sequence[str], how: ReadingSpec, place: str) -> tuple[str, ...]:
    """Return the column that is named as the target, or the last one that is neither a weight nor set aside, as a
    tuple. Raises ChoiceError if it is not there."""
    others = [name for name in columns if name != how.weights and name not in how.auxiliary]
    target = how.target if how.target is not None else others[-1] if others else how.weights
    if target not in columns:
        raise no_column("target", target, columns, place)
    return (str(target),)
