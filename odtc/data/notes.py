"""Remarks on a table before a tree is fitted to it, one sentence each.

Each remark is a function of a data set in `REMARKS`; a new remark is a new function. Remarks never stop a run: it
continues with the data as it was read.
"""

import contextlib
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from odtc.algorithms.equal_rows import distinct_values
from odtc.base import deadline, phases
from odtc.base.text import first_few, show_number
from odtc.base.value_class import value_class
from odtc.base.wording import option
from odtc.data.cells import written_numbers
from odtc.data.cells.column_types import (
    MISSING_CELLS,
    are_numbers,
    numbers_of,
    numbers_of_dates,
    values_of,
    words_among_numbers,
)
from odtc.data.cells.written_numbers import APOSTROPHES, BLANKS, DASHES, MINUS
from odtc.data.cost_matrix import lost_weights
from odtc.data.dataset import CATEGORICAL, NUMERIC, Dataset, Feature
from odtc.data.reading_spec import CLASSIFICATION, LINEAR, SIGNS
from odtc.data.table.coded_columns import distinct
from odtc.data.table.level_orders import is_range, order_of_words, order_text
from odtc.data.task import TASKS
from odtc.errors import TimeLimitReached

GRADES, CODES = 10, 20  # up to this many classes that are numbers, or whole numbers, cause no remark
FEW = 3  # a class with at least this many rows causes no remark
# Remarks on a table in memory, by kind, without anything that differs from one part of the rows to the next, because
# Python shows a warning of the same text once. For columns that should not be categories:
OF_WORDS = {
    "identifier": "holds a level of its own for nearly each row, and no rule learned from it holds for new rows; leave "
    "it out",
    "date": "looks like dates, times or durations, and each is a separate category; turn it into numbers (a year, a "
    "month, days since a day), or leave it out",
    "number": "looks like numbers with a unit, a sign or words among them, and each is a separate category; write "
    "plain numbers",
    "levels": "has so many levels that there are few rows for each; group the levels, or leave it out",
}
OF_NUMBERS = {
    "identifier": "holds whole numbers that differ in nearly each row, as identifiers do, and no rule learned from one "
    "holds for new rows; leave it out if it is one",
    "missing mark": "holds a number of nines far from all its others, as marks of missing cells are; replace it by NaN "
    "if it is one",
}
LEAK = "decides the label by itself; remove it if it would not be known at prediction time"
MOST_MARKED = 10**10  # only smaller numbers may be marks of missing cells: 9, 99, 999, …
MEASURES = 5  # in a column of measures, at least one number in this many is written with a unit or a mark
MIN_LEVELS_SHARE = 0.8  # share of the levels of a column that must look like dates, or like numbers with a unit
EXAMINED_ROWS = 1000  # rows of a column that are examined first
IDENTIFIER = 20  # rows from which on a column without repeated values causes a remark
NAMED_IDENTIFIER = re.compile(r"(?i:(.*[_. -])?(id|ids|uuid|guid|nr|no|number|nummer))|.*[a-z0-9](I[dD]|N[rR])")
OF_TIMES = {"time", "times", "days", "months", "weeks", "years", "duration", "futime", "survival_time", "followup", "t"}
OF_EVENTS = {"event", "events", "status", "cens", "censor", "censored", "death", "dead", "died", "fustat", "observed"}
OF_COUNTS = {"freq", "frequency", "count", "counts"}  # names of columns that contain numbers of equal rows
DWARFS = 10**5  # a number this many times farther from the median than any other decides nearly the whole error
IMBALANCE = 0.05  # if the smaller of two classes has less than this share, the best tree may never predict it
MARKS = {"-", "--", ".", "n/a", "n.a.", "n.a", "na", "none", "nil", "missing", "unknown", "nan", "null"}
MARKS |= {"k.a.", "k. a.", "keine angabe", "s/d", "n/d", "n.d.", "nd", "inconnu", "unbekannt"}
MARKS |= {"not available", "(blank)", "#n/a", "#value!", "#ref!", "#name?", "#div/0!", "#num!", "#null!"}  # of Excel
DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?([T ]\d{1,2}:\d{2}.*)?"
    r"|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})([T ]\d{1,2}:\d{2}.*)?"
    r"|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}|[A-Za-z]{3,9} \d{1,2}, ?\d{4}"
)
OTHER_DATES = ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%Y", "%d-%b-%Y", "%d %b %Y")
TIME = re.compile(r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AaPp]\.?[Mm]\.?)?")
DURATION = re.compile(r"-?\d+ days?(,? -?\d{1,2}:\d{2}.*)?|-?P(\d+D)?T[\dHMS.]+|(\d+(d|h|m|s|ms|us|µs|ns) ?)+")
# A number before or behind a short sign: "$1,200.50", "12 %", "3.5kg", "1.200,50 €", "1,234", "(1.20)", "1.20-", "5.-".
MEASURE = re.compile(
    rf"\(?[-+{MINUS}]?(?P<before>[€$£¥]|USD|EUR|GBP|CHF)?[{BLANKS}]?\(?[-+{MINUS}]?\d[\d,.{BLANKS}{APOSTROPHES}]*"
    rf"((?<=[.,])[{DASHES}]{{1,2}})?\)?(?P<behind>[{BLANKS}]?(%|°?[A-Za-z€$£¥µ]{{1,4}}[²³]?(/[A-Za-z]{{1,3}}[²³]?)?))?\)?"
    rf"((?<=[.,]\d\d)[-{MINUS}])?"
)
MANNERS = (",", "(", ")", MINUS, *DASHES, *BLANKS, *APOSTROPHES)  # signs that programs do not write in numbers


@value_class
class Note:
    """A remark on a column (`column` "" for the whole table): the observation, and possible actions."""

    column: str
    kind: str
    text: str
    of_many: str = ""  # the remark for several columns, without an example; "" if each column has its own remark

    def to_json(self) -> dict:
        """Return the note as an object of JSON: column, kind, text."""
        return {"column": self.column, "kind": self.kind, "text": self.text}


def _of_column(name: str, kind: str, text: str, of_many: str = "") -> Note:
    """Return a remark that begins with the name of its column."""
    return Note(name, kind, f"column {name!r} {text}", of_many)


def _of_target(dataset: Dataset, kind: str, text: str) -> Note:
    """Return a remark that begins with the name of the target."""
    return Note(dataset.target, kind, f"the target {dataset.target!r} {text}")


def notes_on(dataset: Dataset) -> list[Note]:
    """Return the remarks on a data set. With a deadline, remarks for which there is no time are left out.

    Parameters
    ----------
    dataset : Dataset
        As it was read; auxiliary columns are not examined.

    Returns
    -------
    list of Note
        In the order of `REMARKS`.
    """
    found = []
    with contextlib.suppress(TimeLimitReached):
        for remark in phases.over(REMARKS, "remarks on the columns"):
            if remark in OF_CLASSES and dataset.task != CLASSIFICATION:
                continue
            for note in remark(dataset):
                found.append(note)
    return list(_folded(found))


def _folded(notes: list[Note]) -> Iterator[Note]:
    """Return the remarks in their order; if more than FEW columns have the same remark, it is merged into one at the
    position of the first."""
    columns: dict[str, list[str]] = {}
    for note in notes:
        if note.of_many:
            columns.setdefault(note.of_many, []).append(note.column)
    for note in notes:
        same = columns.get(note.of_many, [])
        if len(same) <= FEW:
            yield note
        elif note.column == same[0]:
            names = list(map(repr, same))
            yield Note("", note.kind, f"{len(same)} columns {note.of_many}: {first_few(names, 5)}")


def notes_on_columns(X: np.ndarray, features: tuple[Feature, ...]) -> list[Note]:
    """Return remarks on columns that should be changed or left out before a rule is learnt from them, such as dates,
    names of rows, and numbers mixed with words or with marks of missing cells.

    Parameters
    ----------
    X : float64 (rows, columns)
        Coded as in a data set.
    features : tuple of Feature, one a column

    Returns
    -------
    list of Note
        Their texts mention neither command-line options nor values.
    """
    rows = Dataset("X", X, np.zeros(len(X), np.int32), features, (), np.ones(len(X)))
    texts = {feature.name: OF_WORDS if feature.kind == CATEGORICAL else OF_NUMBERS for feature in features}
    found = [note for remark in (_identifiers, _levels, _numbers_for_missing) for note in remark(rows)]
    return [
        _of_column(note.column, note.kind, texts[note.column][note.kind])
        for note in found
        if note.kind in texts[note.column]
    ]


def notes_on_classes(dataset: Dataset) -> list[Note]:
    """Return the remarks on columns that determine the class, and on a rare class of two.

    Parameters
    ----------
    dataset : Dataset
        A data set for classification.

    Returns
    -------
    list of Note
        Of the kinds "leak" and "imbalance"; their texts name no option of a command line.
    """
    leaks = [_of_column(note.column, note.kind, LEAK) for note in _telling(dataset)]
    if not (rare := [note for note in _rare_classes(dataset) if note.kind == "imbalance"]):
        return leaks
    name = dataset.classes[int(np.bincount(dataset.y, minlength=2).argmin())]
    text = (
        f"class {name!r} has less than {100 * IMBALANCE:g} % of the rows, so that a tree is correct on nearly all "
        f'without it; class_weight="balanced" or constraints="recall[{name}] >= 0.8" requires it'
    )
    return [*leaks, replace(rare[0], text=text)]


def _header(dataset: Dataset) -> Iterator[Note]:
    if "header" in dataset.source:
        return
    places = [int(feature.name) if feature.name.isdecimal() else -1 for feature in dataset.features]
    if not dataset.source.get("path") and -1 not in places and places == sorted(set(places)):
        return  # a data frame without names
    names = [feature.name for feature in dataset.features] + [dataset.target]
    found = values_of(names)
    numbers = [name for name, value in zip(names, found) if value is not None or name in MISSING_CELLS]
    columns = [(name, at.kind == NUMERIC, at.levels) for name, at in zip(names, dataset.features)]
    columns += [(dataset.target, False, dataset.classes)] if dataset.classes else []
    among = [name in numbers if numeric else name in levels for name, numeric, levels in columns]
    is_row = all(among) or (len(numbers) > 0 and sum(among) > max(1, len(among) // 2))
    if len(numbers) == len(names) or len(numbers) > max(1, len(names) // 2) or is_row:
        without = f"if the file has no names of columns, read it with {option('header', False)}"
        yield Note("", "header", f"the header looks like a row of data ({first_few(names, 5)}); {without}")


def _identifiers(dataset: Dataset) -> Iterator[Note]:
    n, leave = dataset.n_rows, f"leave it out with {option('ignore')}"
    since = "since no rule learned from it holds for new rows"
    if n < IDENTIFIER:
        return
    for feature, column in _columns(dataset):
        known = column[~np.isnan(column)]
        if feature.kind == NUMERIC and (known != np.round(known)).any():
            continue
        different = len(distinct_values(known))
        if (
            feature.kind == CATEGORICAL
            and different > 0.9 * n
            and not reads_otherwise(feature.levels)
            and not _left_numbers(dataset, feature)
        ):
            text = f"has {different:,} levels in {n:,} rows, as names or numbers of rows have; {leave}, {since}"
            yield _of_column(feature.name, "identifier", text)
        elif feature.kind == NUMERIC:
            if different == n and known.max() - known.min() < 2 * n:
                text = f"counts the rows ({known.min():.0f} to {known.max():.0f}, each once); if it is an identifier, "
                yield _of_column(feature.name, "identifier", text + leave)
            elif different > n / 2 and NAMED_IDENTIFIER.fullmatch(feature.name):
                text = f"has {different:,} different numbers in {n:,} rows and the name of an identifier; if it is one"
                yield _of_column(feature.name, "identifier", f"{text}, {leave}, {since}")


def _counts(dataset: Dataset) -> Iterator[Note]:
    """Return a remark on a column, or the target, that contains the number of rows that each row represents, as in
    tables of counts."""
    for feature, known in _known_numbers(dataset):
        are_counts = len(known) and (known >= 0).all() and (known == np.round(known)).all() and (known > 1).any()
        if feature.name.lower() in OF_COUNTS and are_counts:
            counted = f"if each row represents that many, {option('weights', feature.name)} counts them"
            yield _of_column(feature.name, "counts", f"has the name and the numbers of counts; {counted}")
    if (target := dataset.target).lower() == "freq":
        counted = f"if each row represents that many, {option('weights', target)} counts them"
        other = f"{option('target')} names the column to predict"
        yield _of_target(dataset, "counts", f"has the name of counts; {counted}, and {other}")


def _times(dataset: Dataset) -> Iterator[Note]:
    """Return a remark on a target of two classes with the name of an event, if a column of numbers has the name of a
    time."""
    if dataset.target.lower() not in OF_EVENTS or len(dataset.classes) != 2:
        return
    for at, feature in enumerate(dataset.features):
        if feature.kind == NUMERIC and feature.name.lower() in OF_TIMES and not (dataset.X[:, at] < 0).any():
            value = "" if set(dataset.classes) == {"0", "1"} else f"={dataset.classes[-1]}"
            time, event = feature.name, f"{dataset.target}{value}"
            options = f"{option('task', 'survival')} {option('time', time)} {option('event', event)}"
            text = (
                f"has the name of an event, and {time!r} the name of a time; if it is the time of observation, "
                f"{options} predicts their risk, and as a feature the time is known only after the event"
            )
            yield _of_target(dataset, "survival", text)


def _levels(dataset: Dataset) -> Iterator[Note]:
    """Yield remarks on columns of levels that may be another type than they are read as."""
    for feature, column in _columns(dataset):
        if feature.kind != CATEGORICAL or not feature.levels:
            continue
        marks = [level for level in feature.levels if level.lower() in MARKS]
        others = [level for level in feature.levels if level not in marks]
        found = _of_form(feature, others)
        if found is None:
            if note := _of_numbers(dataset, feature, column, marks, others):
                yield note  # it names the marks, too
                continue
            found = _of_many_levels(dataset, feature, column)
        yield from found
        if marks:
            also = " in addition to cells that are empty or '?'" if np.isnan(column).any() or dataset.n_dropped else ""
            taken = (
                "which is taken as a level; if it means a missing cell, name it",
                "which are taken as levels; if they mean missing cells, name them",
            )[len(marks) > 1]
            text = f"holds {', '.join(map(repr, marks[:3]))}{also}, {taken} with {_marked(marks, feature.name)}"
            yield _of_column(feature.name, "missing mark", text)
        if twins := _twins(feature.levels):
            words = f"has levels that differ in capitals only ({twins}); they are two categories"
            yield _of_column(feature.name, "spelling", words)


def _of_form(feature: Feature, others: Sequence[str]) -> list[Note] | None:
    """Return the remark on levels that look like dates, times, durations or measures; an empty list for dates whose
    order is given, None for all other levels. `others` are the levels that do not mean a missing cell."""
    shown = f"{feature.levels[0]!r}"
    if _most(others, DATE.fullmatch) and not are_numbers(others, feature.decimal):  # 1026.4 is not a month
        return [] if feature.ordered else [_of_column(feature.name, "date", _of_dates(feature.name, others, shown))]
    for pattern, form, unit in ((TIME, "times", "hours or minutes"), (DURATION, "durations", "days or seconds")):
        if _most(others, pattern.fullmatch):
            each = "each time" if pattern is TIME else "each"
            text = f"looks like {form} ({shown}), and {each} is a separate category; turn it into a number of {unit}"
            return [_of_column(feature.name, "date", f"{text}, or leave it out with {option('ignore')}")]
    if _are_measures(others) and not are_numbers(others, feature.decimal) and not any(map(is_range, others)):
        example = next(filter(_is_measure, others))
        advice, of_many = written_numbers.how_to_read(others, example) or _of_marks_among(others)
        form = "numbers with a decimal comma, a unit, a currency or marks of thousands"
        text = f"looks like {form} ({example!r}), and each is a separate category; {advice}"
        many = f"look like {form}, and each number is a category of its own; {of_many}"
        return [_of_column(feature.name, "number", text, many)]
    return None


def _of_numbers(
    dataset: Dataset, feature: Feature, column: np.ndarray, marks: Sequence[str], others: Sequence[str]
) -> Note | None:
    """Return the remark on levels that are numbers, or would be without some cells; None for all other levels."""
    name, levels = feature.name, feature.levels
    if feature.decimal and numbers_of(levels) and name not in dataset.source.get("categorical", ()):
        text = (
            f"holds numbers, but some have another decimal sign than {feature.decimal!r} ({option('decimal')}), or "
            "rows that are left out contain words, so each number is a separate category; write all numbers of the "
            f"file in one manner, or leave the column out with {option('ignore')}"
        )
    elif marks and others and are_numbers(others, feature.decimal):
        text = (
            f"would be numeric except for {', '.join(map(repr, marks[:3]))}, so each number is a separate category; "
            f"{_marked(marks, name)} takes {_them(marks)} for missing"
        )
    elif words := words_among_numbers(levels, feature.decimal):
        rows = int(np.isin(column, np.flatnonzero(np.isin(levels, words))).sum())
        listed = first_few(list(map(repr, words)), 3)
        text = (
            f"would be numeric except for {rows:,} of {dataset.n_rows:,} cells ({listed}), so each number is a "
            f"separate category; write numbers there, or {_marked(words, name)} takes {_them(words)} for missing"
        )
    elif _left_numbers(dataset, feature):
        text = (
            "has only numbers in the rows that are kept, and each is a separate category; if a row that is left out "
            "has a word there, as a line of totals or of units, remove it from the file"
        )
    else:
        return None
    return _of_column(name, "number", text)


def _of_many_levels(dataset: Dataset, feature: Feature, column: np.ndarray) -> list[Note]:
    """Return the remark on a column if it has few rows for each of its levels."""
    if not (dataset.n_rows >= IDENTIFIER and dataset.n_rows / 2 < len(np.unique(column)) <= 0.9 * dataset.n_rows):
        return []
    text = f"has {len(feature.levels):,} levels in {dataset.n_rows:,} rows, so there are few rows for each"
    return [_of_column(feature.name, "levels", f"{text}; group the levels, or leave it out with {option('ignore')}")]


def _scales(dataset: Dataset) -> Iterator[Note]:
    """Return remarks on columns whose levels are answers or ranges in an order that was not given."""
    for feature in dataset.features:
        levels = [level for level in feature.levels if level.lower() not in MARKS]
        if feature.kind != CATEGORICAL or feature.ordered:
            continue
        # 0.62, 0.63, … and one <0.6 are measurements, and each of them as a level of an order would be a long option
        if words_among_numbers(levels, feature.decimal) or (order := order_of_words(levels)) is None:
            continue
        marks = [level for level in feature.levels if level not in levels]
        told = order_text(feature.name, [*order, *marks])  # marks are levels, too, and an order names all levels
        unless = f"the last unless {option('missing_mark')} names it"
        beside = f" (and {', '.join(map(repr, marks))}, {unless})" if marks else ""
        divided = f"splits divide it in two with {option('ordered', [told])}"
        yield _of_column(
            feature.name,
            "scale",
            f"has levels in an order{beside}, and each is a separate category; {divided}",
            of_many=f"have the levels {told.removeprefix(f'{feature.name}=')} in this order, and each is a separate "
            f"category; {option('ordered', ['COLUMN=…'])} lets splits divide them in two",
        )


def _of_marks_among(words: list[str]) -> tuple[str, str]:
    """Return the same advice for numbers mixed with a few words that may be marks of missing cells."""
    found = {sign: zip(words, written_numbers.values_of(words, sign)) for sign in SIGNS}
    others = {sign: [word for word, value in pairs if value is None] for sign, pairs in found.items()}
    sign = min(others, key=lambda sign: len(others[sign]))
    few = others[sign]
    if not 0 < len(few) <= (1 - MIN_LEVELS_SHARE) * len(words):
        return ("write plain numbers",) * 2
    listed = first_few(list(map(repr, few)), 3)
    means = "means a missing cell" if len(few) == 1 else "mean missing cells"
    told = f"read the file with {option('decimal', sign)}, and with {_marked(few)} if {listed} {means}"
    return (
        told,
        f"read the file with {option('decimal', sign)}, and name texts that are not numbers with "
        f"{option('missing_mark')}",
    )


def _thousands(dataset: Dataset) -> Iterator[Note]:
    """Return remarks on columns of numbers such as 1.040 and 924 next to columns with decimal commas: their points may
    separate thousands."""
    commas = any(
        feature.kind == CATEGORICAL
        and feature.decimal is None
        and _are_measures(list(feature.levels))
        and written_numbers.signs_of(feature.levels) == (",",)
        for feature in dataset.features
    )
    for feature, known in _known_numbers(dataset) if commas else ():
        if (known == np.round(known)).all() or (np.abs(known) >= 1000).any():
            continue
        parted = known[known != np.round(known)]
        thousands = np.round(parted * 1000)
        # 1.500 equals 1.5 and cannot be distinguished from it, but most such cells end in another digit than 0.
        if np.allclose(parted * 1000, thousands, rtol=0, atol=1e-6) and 2 * (thousands % 10 > 0).sum() >= len(parted):
            yield _of_column(
                feature.name,
                "thousands",
                f"is read with points before decimals ({show_number(parted[0])}), and other "
                f"columns have decimal commas; if its points part thousands, {option('decimal', ',')} reads "
                f"{thousands[0]:.0f}",
                of_many="are read with points before decimals, and other columns have decimal commas; if their points "
                f"part thousands, read the file with {option('decimal', ',')}",
            )


def _of_dates(name: str, dates: list[str], shown: str) -> str:
    """Return the text on a column of dates, `shown` being one of them, with the option that reads it as numbers."""
    quoted = f'"{name}"' if "," in name else name
    of_days = list(filter(DATE.fullmatch, dates))
    found = [(form, numbers_of_dates(of_days, form)) for form in (None, *OTHER_DATES)]
    found = [(form, numbers) for form, numbers in found if are_numbers(numbers) and len(set(numbers)) > 1]
    reads = [("" if form is None else f"={form}", numbers[0]) for form, numbers in found][:2]
    options = " or ".join(f"{option('dates', quoted + form)} ({number})" for form, number in reads)
    advice = f"read it as numbers with {options}" if reads else "turn it into numbers (a year, a month, an hour)"
    text = f"looks like dates ({shown}), and each date is a category of its own"
    return f"{text}; {advice}, or leave it out with {option('ignore')}"


def _numbers_for_missing(dataset: Dataset) -> Iterator[Note]:
    """Return remarks on columns of numbers in which a value such as -999 or 9999 is far from all others, because it may
    mark missing cells."""
    for feature, known in _known_numbers(dataset):
        for mark in (known.min(), known.max()) if len(known) else ():
            digits = str(int(abs(mark))) if abs(mark) < MOST_MARKED and mark == int(mark) else ""
            if set(digits) != {"9"}:
                continue
            others = known[known != mark]
            rows = len(known) - len(others)
            if rows < 2 or len(np.unique(others)) < FEW:
                continue
            low, high = others.min(), others.max()
            if (mark < 0 <= low) if mark < 0 else (len(digits) > 1 and mark - high > high - low):
                yield _of_column(
                    feature.name,
                    "missing mark",
                    f"is {mark:.0f} in {rows:,} of {dataset.n_rows:,} rows, and "
                    f"{show_number(low)} to {show_number(high)} in the others; if {mark:.0f} means a missing cell, "
                    f"name it with {_marked([f'{feature.name}={mark:.0f}'])}",
                    of_many=f"hold {mark:.0f}, far from their other numbers; if it means a missing cell, name it with "
                    f"{option('missing_mark', [f'{mark:.0f}'])}, or COLUMN={mark:.0f} for one of them",
                )


def _equal_columns(dataset: Dataset) -> Iterator[Note]:
    """Yield one remark on all columns that are equal to an earlier column."""
    first: dict[bytes, Feature] = {}
    equal = []
    for feature, column in _columns(dataset):
        if dataset.n_rows < 2 or (column == column[0]).all():
            continue
        key = hashlib.sha256(np.ascontiguousarray(column)).digest()
        other = first.setdefault(key, feature)
        if other is not feature and other.levels == feature.levels:
            equal.append((feature.name, other.name))
    if len(equal) == 1:
        name, other = equal[0]
        yield _of_column(name, "equal", f"is equal to {other!r} in every row, so that it adds no split")
    elif equal:
        pairs = first_few([f"{name!r} to {other!r}" for name, other in equal], 3)
        yield Note("", "equal", f"{len(equal)} columns are equal to one before them and add no split: {pairs}")


def _codes(dataset: Dataset) -> Iterator[Note]:
    """Yield remarks on columns of numbers that are written like codes."""
    for name, cell in dataset.padded:
        text = f"has cells with zeros before the number ({cell!r}) and is taken as numbers; if they are codes, "
        yield _of_column(name, "code", f"{text}keep them as they are written with {option('categorical', [name])}")


def _merged(dataset: Dataset) -> Iterator[Note]:
    """Yield remarks on columns of numbers with more digits than doubles have."""
    for name, cell, other in dataset.merged:
        text = f"has numbers that are equal as doubles ({cell} and {other}), so no split separates them"
        yield _of_column(name, "digits", f"{text}; subtract a number from all of them, or round them")


def _told(dataset: Dataset) -> Iterator[Note]:
    """Return the remarks of the task on its columns."""
    for name, text in dataset.told:
        yield Note(name, "target", text)


def _left_out(dataset: Dataset) -> Iterator[Note]:
    """Yield remarks on columns without a cell, and on marks of missing cells that no cell has."""
    for name, kind, text in dataset.left_out:
        yield Note(name, kind, text, of_many="have no cell, and are left out" if name and kind == "empty" else "")


def _twins(words: Sequence[str]) -> str:
    """Return a text on the first two words that differ only in upper and lower case; "" without such words."""
    folded: dict[str, str] = {}
    pairs = ((folded.setdefault(word.casefold(), word), word) for word in words)
    return next((f"{twin!r} and {word!r}" for twin, word in pairs if twin != word), "")


def _left_numbers(dataset: Dataset, feature: Feature) -> bool:
    """Return whether the kept rows have only numbers in a column that was not declared categorical."""
    left_out = dataset.n_dropped or dataset.n_unlabelled
    asked = feature.name in dataset.source.get("categorical", ())
    return bool(left_out) and not asked and are_numbers(feature.levels, feature.decimal)


def _are_measures(levels) -> bool:
    """Return whether most of the levels are numbers, and enough of them are written with a sign, a unit or a thousands
    separator. Not all need one, for example 973.50 next to 1,070.85."""
    if not _most(levels, lambda level: MEASURE.fullmatch(level)):
        return False
    return MEASURES * sum(map(_is_measure, levels)) >= len(levels)


def _marked(marks: list[str], column: str = "") -> str:
    """Return the options that name at most three marks of missing cells; a mark that contains = is named only for its
    column."""
    named = [f"{column}={mark}" if column and "=" in mark else mark for mark in marks[:3]]
    return " ".join(option("missing_mark", [mark]) for mark in named) + (" …" if len(marks) > 3 else "")


def _them(marks: list[str]) -> str:
    return "it" if len(marks) == 1 else "them"


def _most(levels, looks) -> bool:
    """Return whether most of the levels match a pattern."""
    return bool(levels) and sum(map(bool, map(looks, levels))) >= MIN_LEVELS_SHARE * len(levels)


def reads_otherwise(levels) -> bool:
    """Return whether levels look like dates, times, or numbers with a unit or with a few words among them."""
    times = any(_most(levels, form.fullmatch) for form in (DATE, TIME, DURATION))
    return times or _are_measures(levels) or bool(words_among_numbers(levels))


def _is_measure(text: str) -> bool:
    found = MEASURE.fullmatch(text)
    return bool(found) and (
        bool(found["before"] or found["behind"]) or any(sign in text.removeprefix("-") for sign in MANNERS)
    )


def _constants(dataset: Dataset) -> Iterator[Note]:
    """Yield one remark on all columns that contain one value."""
    constant = [
        (feature.name, feature.show(column[0]))
        for feature, column in _columns(dataset)
        if dataset.n_rows > 1 and not np.isnan(column).any() and (column == column[0]).all()
    ]
    if len(constant) == 1:
        name, value = constant[0]
        yield _of_column(name, "constant", f"is {value} in every row, so no split uses it")
    elif constant:
        names = first_few([repr(name) for name, _ in constant], 5)
        text = f"{len(constant)} columns hold one value in every row, so no split uses them: {names}"
        yield Note("", "constant", text)


def _telling(dataset: Dataset) -> Iterator[Note]:
    """Yield a remark on a column that determines the class by one threshold, or by its levels."""
    n = dataset.n_rows
    if n < IDENTIFIER or _names_rows(dataset):
        return
    # On a few rows most columns fail at once.
    few = slice(None, None, n // EXAMINED_ROWS) if n > 2 * EXAMINED_ROWS else None
    for at, feature in enumerate(dataset.features):
        deadline.check()
        if few is not None and not _determines(dataset, at, few):
            continue
        if not _determines(dataset, at, slice(None)):
            continue
        text = f"decides the label {dataset.target!r} by itself; remove it if it would not be known at prediction time"
        yield _of_column(feature.name, "leak", f"{text} ({option('ignore', [feature.name])})")


def _determines(dataset: Dataset, at: int, rows: slice) -> bool:
    """Return whether each value of a column determines the class among these rows. A number must change between the
    classes only a few times, and a category must have far fewer levels than rows. If this is true for all rows, it is
    true for any part of them, so a part is tried first."""
    numeric, y = dataset.features[at].kind == NUMERIC, dataset.y[rows]
    whole = rows == slice(None)
    values, place = distinct(dataset.X, at) if whole else np.unique(dataset.X[rows, at], return_inverse=True)
    if np.isnan(values[-1]) or (whole and (len(values) < 2 or (not numeric and len(values) > len(y) / 2))):
        return False
    label = np.empty(len(values), y.dtype)
    label[place] = y  # the class of the last row with this value; of all its rows if the value determines it
    return not (label[place] != y).any() and (not numeric or np.count_nonzero(np.diff(label)) < len(dataset.classes))


def _names_rows(dataset: Dataset) -> bool:
    """Return whether most rows have a class that no other row has."""
    return dataset.n_rows >= IDENTIFIER and 2 * len(dataset.classes) > dataset.n_rows


def _rare_classes(dataset: Dataset) -> Iterator[Note]:
    if _names_rows(dataset) and numbers_of(dataset.classes) is None:
        text = f"has {len(dataset.classes):,} classes in {dataset.n_rows:,} rows, as names of rows have, and no tree"
        other = f"{option('target')} names the column to predict, by default the last one"
        yield _of_target(dataset, "rows as classes", f"{text} learns them; {other}")
        return
    rows = np.bincount(dataset.y, minlength=len(dataset.classes)).tolist()
    rare = [(name, count) for name, count in zip(dataset.classes, rows) if 0 < count < FEW]
    if len(rare) > 3 and dataset.n_rows >= IDENTIFIER:
        yield Note(
            dataset.target,
            "rare class",
            f"{len(rare)} of the {len(rows)} classes have fewer than {FEW} rows of {dataset.n_rows:,} each "
            f"({', '.join(repr(name) for name, _ in rare[:3])}, …), too few to learn or to test",
        )
    elif dataset.n_rows >= IDENTIFIER:
        for name, count in rare:
            rows_of_it = f"{count} row{'s' if count > 1 else ''} of {dataset.n_rows:,}"
            yield Note(dataset.target, "rare class", f"class {name!r} has {rows_of_it}, too few to learn or to test")
    if len(rows) == 2 and dataset.n_rows >= IDENTIFIER and FEW <= min(rows) < IMBALANCE * dataset.n_rows:
        name, count = min(zip(dataset.classes, rows), key=lambda pair: pair[1])
        recall = f"recall[{name}] >= 0.8"
        yield Note(
            dataset.target,
            "imbalance",
            f"class {name!r} has {count:,} of {dataset.n_rows:,} rows ({100 * count / dataset.n_rows:.2g} %), so that "
            f"a tree is correct on nearly all without it; {option('class_weight', 'balanced')} or "
            f"{option('constraints', recall)} requires it",
        )
    if twins := _twins(dataset.classes):
        yield _of_target(dataset, "spelling", f"has classes that differ in capitals only ({twins}); write them alike")
    marks = [name for name in dataset.classes if name.lower() in MARKS]
    if marks:
        named = _marked([f"{dataset.target}={marks[0]}"])
        text = f"holds {marks[0]!r}, which is taken as a class; if it means a missing label, name it with {named}"
        yield _of_target(dataset, "missing mark", text)


def _lost_weights(dataset: Dataset) -> Iterator[Note]:
    if text := lost_weights(dataset.weight):
        yield Note("", "lost weights", text)


def _dwarfing(dataset: Dataset) -> Iterator[Note]:
    """Yield a remark on a number of the target that is much farther from the median than all others."""
    numbers = TASKS.get(dataset.task).numbers(dataset.sums)
    if numbers is None or len(numbers) < 3:
        return
    apart = np.abs(numbers - np.median(numbers))
    at = int(apart.argmax())
    second = float(np.delete(apart, at).max())
    if apart[at] > DWARFS * second:
        yield Note(
            dataset.target,
            "dwarfing number",
            f"{dataset.target!r} has the number {show_number(float(numbers[at]))} in row {at + 1} of the "
            f"{dataset.n_rows:,} rows that count, at least {DWARFS:,} times as far from the median as any other: it "
            "decides nearly the whole error; correct the cell if it is a mistake"
            + ("" if dataset.task == "median" else f", or take {option('task', 'median')}, which it moves little"),
        )


def _many_numbers(dataset: Dataset) -> Iterator[Note]:
    """Yield a remark on a target of many different numbers, because classification ignores their order."""
    numbers = numbers_of(dataset.classes) if len(dataset.classes) > GRADES else None
    if numbers and (len(numbers) > CODES or any(value != int(value) for value in numbers)):
        text = f"has {len(numbers):,} different numbers, and each is a class of its own; predict the number"
        other = f"put them into ranges, or name another column with {option('target')}"
        yield _of_target(dataset, "numbers as classes", f"{text} ({option('task', 'regression')}), {other}")


def _index(dataset: Dataset) -> Iterator[Note]:
    if not all(name.strip() for name in dataset.source.get("ignore", ())):
        text = "column 1 has no name and is not read: it looks like the names of the rows, as R and pandas write them"
        yield Note("", "row index", f"{text}; if it is a feature, give it a name")


def _columns(dataset: Dataset) -> Iterator[tuple[Feature, np.ndarray]]:
    for at, feature in enumerate(dataset.features):
        deadline.check()
        yield feature, dataset.X[:, at]


def _known_numbers(dataset: Dataset) -> Iterator[tuple[Feature, np.ndarray]]:
    """Yield the columns of numbers without their missing cells."""
    for feature, column in _columns(dataset):
        if feature.kind == NUMERIC:
            yield feature, column[~np.isnan(column)]


def notes_on_lines(X: np.ndarray, features: tuple[Feature, ...]) -> Iterator[Note]:
    """Yield a remark on each column of numbers in which no linear leaf has a line, because cells are missing. The texts
    mention neither command-line options nor values."""
    for at in np.flatnonzero(np.isnan(X).any(axis=0)).tolist():
        if features[at].kind == NUMERIC and not features[at].is_date:
            name, many = features[at].name, int(np.isnan(X[:, at]).sum())
            cells = f"{many:,} missing cell{'s' * (many != 1)}"
            text = f"has {cells}, so no leaf has a line in it; leave these rows out, or fill the cells"
            yield _of_column(name, "no lines", text, "have missing cells, so no leaf has a line in them")


def _without_lines(dataset: Dataset) -> Iterator[Note]:
    if dataset.task == LINEAR:
        yield from notes_on_lines(dataset.X, dataset.features)


REMARKS = (
    _header,
    _index,
    _left_out,
    _many_numbers,
    _identifiers,
    _counts,
    _times,
    _codes,
    _merged,
    _told,
    _levels,
    _scales,
    _thousands,
    _numbers_for_missing,
    _constants,
    _equal_columns,
    _telling,
    _rare_classes,
    _lost_weights,
    _dwarfing,
    _without_lines,
)
OF_CLASSES = (_many_numbers, _telling, _rare_classes, _times)  # remarks that count the rows of classes
