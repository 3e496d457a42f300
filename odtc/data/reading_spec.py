"""How a data file is read: which column is what, and what becomes of missing cells."""

import codecs
import csv
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from odtc.base.spec_fields import NAMES, REPEATED, changes_of, check_ranges, spec_field

POLICIES = ("drop", "error", "separate")
CLASSIFICATION = "classification"  # the task, if none is named
MISSING_CELLS = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL")
EMPTY_CELL = ("",)  # what is missing of them if an option names all others
SIGNS = (".", ",")  # before decimals, where numbers are as people write them
SCORES = ("doubly-robust", "direct", "ips")  # how the cost of an action is estimated that a row did not receive
GOALS = ("min", "max")
TASK_FIELDS = ("actions", "treatment", "outcome", "propensity", "scores", "goal", "time", "event")  # of some tasks only
SPACE, TAB = "space", "\t"  # separators: any run of blanks and tabs, and one tab
BAD_LINES = ("error", "skip")  # lines with another number of cells than the first one
ONLY_MISSING = "only_missing"  # of the layout of all formats
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
    ONLY_MISSING,
)  # of the file
ON_MISSING = ("refuse", "blank", "majority")  # what a missing number does to a tree that asks for it


@dataclass(frozen=True)
class ReadingSpec:
    """The keywords of `odtc.read`; names of columns as in the file."""

    target: str | None = spec_field(None, "Column to predict; by default the last one.", metavar="COL")
    categorical: tuple[str, ...] = spec_field((), "Columns to take as categories.", metavar="A,B", form=NAMES)
    numeric: tuple[str, ...] = spec_field((), "Columns to take as numbers.", metavar="A,B", form=NAMES)
    missing: str = spec_field("drop", "Treatment of missing cells.", metavar="|".join(POLICIES), completes=POLICIES)
    weights: str | None = spec_field(None, "Column of row weights.", metavar="COL")
    auxiliary: tuple[str, ...] = spec_field(
        (), "Columns that no split uses, but that constraints may name.", metavar="A,B", form=NAMES
    )
    ignore: tuple[str, ...] = spec_field(
        (), "Columns that are not read, whatever is in them.", metavar="A,B", form=NAMES
    )
    ordered: tuple[str, ...] = spec_field(
        (),
        "A column whose levels have an order, so that splits divide it in two; without levels the sorted one.",
        metavar="COL[=A<B<…]",
        form=REPEATED,
    )
    decimal: str | None = spec_field(
        None,
        "Numbers are as people write them, with this decimal sign: , reads 1.234,50 € and 5 %, . reads $1,234.50.",
        metavar=".|,",
        wanted="the sign before decimals, a point or a comma",
        fits=lambda sign: sign in (None, *SIGNS),
        completes=SIGNS,
    )
    missing_mark: tuple[str, ...] = spec_field(
        (),
        "A text that means a missing cell, as -999 or unknown; with COL= in that column alone.",
        metavar="[COL=]TEXT",
        form=REPEATED,
    )
    only_missing: str | None = spec_field(
        None,
        "The texts that mean a missing cell, in place of ?, NA and the other built-in ones; an empty cell always does.",
        metavar="TEXT,TEXT",
        wanted="texts between commas, or an empty text",
        fits=lambda texts: isinstance(texts, str | None),
    )
    labels: str | None = spec_field(
        None,
        "A table with the columns column, value and text: names of columns, levels and classes for people to read.",
        metavar="FILE",
        type=str | None,
        wanted="the path of a table",
        fits=lambda path: path is None or bool(str(path)),
    )
    hold_out: float = spec_field(
        0.0,
        "Share of the rows to set aside before all else, by chance, and to test the tree on.",
        metavar="SHARE",
        wanted="a share of the rows from 0 to less than 1",
        fits=lambda share: 0 <= share < 1,
    )
    task: str = spec_field(
        CLASSIFICATION, "What a leaf answers; see `odtc list tasks`.", metavar="NAME", completes="tasks"
    )
    actions: tuple[str, ...] = spec_field(
        (), "Of a policy: columns with the cost of each action on each row.", metavar="A,B", form=NAMES
    )
    treatment: str | None = spec_field(
        None, "Of a policy: the column of the action that each row received.", metavar="COL"
    )
    outcome: str | None = spec_field(None, "Of a policy: the column of the number that came of it.", metavar="COL")
    propensity: tuple[str, ...] = spec_field(
        (),
        "Of a policy: the column of the probability of the action received, or one column per action in the order "
        "of their names; by default estimated.",
        metavar="COL[,COL…]",
        form=NAMES,
    )
    scores: str = spec_field(
        SCORES[0], "Of a policy: how costs are estimated.", metavar="|".join(SCORES), completes=SCORES
    )
    goal: str | None = spec_field(
        None,
        "Of a policy: whether less or more is better; by default min for --actions, max for --outcome.",
        metavar="|".join(GOALS),
        completes=GOALS,
    )
    time: str | None = spec_field(None, "Of survival: the column of times, of events or last seen.", metavar="COL")
    event: str | None = spec_field(
        None,
        "Of survival: the column that is 1 for an event and 0 for a censored row, or the value that is the event.",
        metavar="COL[=VALUE]",
    )

    header: bool = spec_field(
        True,
        "Whether the first line has the names of the columns; without them they are called c1, c2, …",
        wanted="true or false",
        fits=lambda value: isinstance(value, bool),
    )
    separator: str | None = spec_field(
        None,
        "Separator of the cells of a text file: one character, tab, or space for any run of blanks and tabs; by "
        "default detected.",
        metavar="SIGN",
        wanted="one character that is not a quote or a line end, or tab or space",
        fits=lambda sign: sign is None or _is_separator(sign),
        completes=("tab", SPACE),
    )
    comment: str | None = spec_field(
        None,
        "Lines of a text file that begin so are left out, for example #.",
        metavar="SIGN",
        wanted="the text that a comment begins with, not blank",
        fits=lambda sign: sign is None or bool(sign.strip()),
    )
    skip_lines: int = spec_field(
        0,
        "Number of lines (of a sheet: rows) above the table to leave out.",
        metavar="N",
        wanted="a number of lines, 0 or more",
        fits=lambda lines: isinstance(lines, int) and lines >= 0,
    )
    on_bad_line: str = spec_field(
        BAD_LINES[0],
        "What to do with a line that has another number of cells than the first one: skip leaves it out and counts it.",
        metavar="|".join(BAD_LINES),
        wanted="error or skip",
        fits=lambda word: word in BAD_LINES,
        completes=BAD_LINES,
    )
    text_encoding: str | None = spec_field(
        None,
        "Encoding of a text file, for example cp1252; by default UTF-8, or UTF-16 with its mark.",
        metavar="NAME",
        wanted="the name of a text encoding of Python, such as utf-8, cp1252, latin-1 or utf-16-le",
        fits=lambda name: name is None or _is_encoding(name),
    )
    sheet: str | None = spec_field(
        None,
        "Sheet of a workbook to read; by default its first.",
        metavar="NAME",
        wanted="the name of a sheet",
        fits=lambda name: isinstance(name, str | None),
    )

    def __post_init__(self):
        check_ranges(self)

    @classmethod
    def from_manifest(cls, facts: dict) -> "ReadingSpec":
        """How the data of a manifest was read; `facts` is its object "data". Raises KeyError, TypeError for one that
        does not say."""
        listed = {key: tuple(facts[key]) for key in ("categorical", "numeric")} | {
            key: tuple(facts.get(key, ())) for key in ("auxiliary", "ignore", "ordered", "missing_mark")
        }
        asked = {key: value for key, value in facts.items() if key in ("task", *TASK_FIELDS)}
        told = {key: tuple(value) if isinstance(value, list) else value for key, value in asked.items()}
        if {"actions", "treatment", "time"} & told.keys():
            told["target"] = None  # the name of the answer, which is not named by --target
        rows = {"hold_out": facts.get("hold_out", 0.0), "decimal": facts.get("decimal")}
        rows |= {key: facts[key] for key in LAYOUT if key in facts}
        return cls(**{key: facts[key] for key in ("target", "missing", "weights")} | listed | rows | told)

    def to_source(self) -> dict:
        """What a data set remembers of its reading, and a manifest then says; the target and `missing` have keys of
        their own there."""
        source = {"weights": self.weights, "categorical": list(self.categorical), "numeric": list(self.numeric)}
        changed = {key: value for key, value in changes_of(self).items() if key in ("task", *TASK_FIELDS)}
        told = {key: list(value) if isinstance(value, tuple) else value for key, value in changed.items()}
        more = {"auxiliary": self.auxiliary, "hold_out": self.hold_out, "decimal": self.decimal} | {
            key: list(getattr(self, key)) for key in ("ignore", "ordered", "missing_mark")
        }
        return source | {key: value for key, value in more.items() if value} | self.layout | told

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


def missing_texts(layout: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the built-in texts that mean a missing cell in a file of this layout."""
    return EMPTY_CELL if ONLY_MISSING in layout else MISSING_CELLS


def _is_separator(sign: str) -> bool:
    return sign in ("tab", "\\t", SPACE) or (len(sign) == 1 and sign not in '"\r\n\0 ')


def _is_encoding(name: str) -> bool:
    try:
        found = codecs.lookup(name)
        return found._is_text_encoding and found.name not in NOT_OF_FILES
    except (LookupError, ValueError):  # a zero in the name
        return False
