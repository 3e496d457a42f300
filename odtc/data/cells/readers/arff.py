"""Reads ARFF files (Weka), dense or sparse, with numeric, nominal and string attributes."""

import re
from collections.abc import Iterator

import polars as pl

from odtc.base.whole_numbers import MAX_EXACT
from odtc.data.cells.data_files import INSTANCE_WEIGHT, check_names, expect_time
from odtc.data.cells.text_pieces import read_text
from odtc.errors import DataError, TimeLimitReached

NAME = "arff"
TEXT = True
OPTIONS = ("text_encoding",)
SUFFIXES = (".arff", ".arff.gz")
SUMMARY = "ARFF (Weka), dense or sparse; nominal attributes are categorical"
DATE = re.compile(r"""(?im)^[ \t]*@attribute[ \t]+('[^'\n]*'|"[^"\n]*"|\S+)[ \t]+date([ \t].*)?$""")
# Levels between commas, quoted or without blanks, as liac-arff takes them for a nominal attribute in the end. Its own
# pattern tries 2^n ways to take n commas apart before it refuses them, or takes a quoted level that holds them.
_LEVEL = r"""(?:"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|[^,\s"'{}]++)"""
NOMINAL = re.compile(rf"\{{\s*+(?:{_LEVEL}\s*+)?+(?:,\s*+(?:{_LEVEL}\s*+)?+)*+\}}$")
BRACES = re.compile(r"(?i)^(\s*@attribute\s+(?:'[^']*'|\"[^\"]*\"|[^\s{]+))\{")
QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
CELLS = re.compile(rf"(?:{QUOTED.pattern}|[^\s'\"])+")
# Behind a blank outside of quotes; a line that begins with % is left to the reader.
COMMENT = re.compile(rf"(?s)^(\s*[^\s%](?:{QUOTED.pattern}|(?<=\S)%|[^'\"%])*+)(?<=\s)%.*")
WEIGHT = re.compile(r"\s*,\s*\{\s*([0-9.eE+-]+)\s*\}\s*$")
SPARSE_WEIGHT = re.compile(rf"(?<=\}}){WEIGHT.pattern}")
# KEEL adds the range of a number, and lines that name the columns of the target, to ARFF.
RANGE = re.compile(
    r"""(?i)^([ \t]*@attribute[ \t]+(?:'[^']*'|"[^"]*"|\S+)[ \t]+(?:real|integer|numeric))[ \t]*\[[^\]]*\][ \t]*$"""
)
ROLES = re.compile(r"(?i)^\s*@(inputs?|outputs?)\b")
LOOK = 1 << 20  # signs between two looks at the time limit


def read(path, text_encoding: str | None = None) -> pl.DataFrame:
    """Read numbers as Float64, strings as String, nominals as Categorical; "?" is null. A column with numbers from
    2^53 on, which a double does not distinguish, is the text of the file.

    A nominal {1,2,3} is declared to be categorical, which plain text could not express. Raises DataError for text that
    is not UTF-8 or not ARFF.
    """
    text = _in_plain_form(read_text(path, text_encoding))
    content = _loads(path, _lines(path, text))
    names = [name.strip() for name, _ in content["attributes"]]
    check_names(names, repr(str(path)))
    large = [
        j
        for j, (name, declared) in enumerate(content["attributes"])
        if _dtype(declared) == pl.Float64
        and any(row[j] is not None and abs(row[j]) >= MAX_EXACT for row in content["data"])
    ]
    if large:  # its numbers are doubles already, so it is read again with these columns declared to be text
        content = _loads(path, _as_text(_lines(path, text), large))
    columns = list(zip(*content["data"])) or [()] * len(names)
    series = [
        pl.Series(name, column, dtype=_dtype(declared))
        for name, column, (_, declared) in zip(names, columns, content["attributes"])
    ]
    return pl.DataFrame(sorted(series, key=lambda one: one.name != INSTANCE_WEIGHT))


def _in_plain_form(text: str) -> str:
    """Return the text as liac-arff reads it: no comments after rows, a blank before a type in braces, commas between
    cells, dates as words, no ranges, and the weights of instances, which Weka writes in braces after a row, as the
    attribute INSTANCE_WEIGHT: the first one, or the last one for sparse rows, whose cells are numbered."""
    head, data, rows = _parted(text)
    if not data:
        return text
    head = [re.sub(r"\t", " ", line) if line.lstrip()[:1] == "@" else line for line in head]
    head = [BRACES.sub(r"\1 {", line) for line in head]
    head = [DATE.sub(lambda found: f"@attribute {found[1]} string", line) for line in head]
    head = [RANGE.sub(r"\1", line) for line in head if not ROLES.match(line)]
    is_sparse = any(line.lstrip()[:1] == "{" for line in rows)
    found = [(SPARSE_WEIGHT if is_sparse else WEIGHT).search(line) for line in rows]
    rows = [line[: one.start()] if one else line for one, line in zip(found, rows)]
    rows = [line if line.strip()[:1] in ("", "%", "{") else _with_commas(line) for line in rows]
    if any(found):
        declared = [at for at, line in enumerate(head) if line.lower().lstrip().startswith("@attribute")]
        head.insert(len(head) if is_sparse else declared[0], f"@attribute {INSTANCE_WEIGHT} numeric")
        for at, (line, one) in enumerate(zip(rows, found)):
            if line.strip()[:1] in ("", "%"):
                continue
            weight, cells = one[1] if one else "1", line.rstrip().removesuffix("}").rstrip()
            numbered = f"{cells}{'' if cells.endswith('{') else ','}{len(declared)} {weight}}}"
            rows[at] = numbered if is_sparse else f"{weight},{line}"
    return "\n".join([*head, data, *rows])


def _parted(text: str) -> tuple[list[str], str, list[str]]:
    """Return (the lines of the header, the line @data, the lines after it)."""
    lines = [COMMENT.sub(r"\1", line) if "%" in line else line for line in text.replace("\r\n", "\n").split("\n")]
    at = next((at for at, line in enumerate(lines) if line.strip().lower().startswith("@data")), None)
    return (lines, "", []) if at is None else (lines[:at], lines[at], lines[at + 1 :])


def _with_commas(line: str) -> str:
    """Return a row with commas instead of blanks or tabs between its cells."""
    cells = CELLS.findall(line)
    return ",".join(cells) if len(cells) > 1 and "," not in QUOTED.sub("", line) else line


def _loads(path, lines: Iterator[str]) -> dict:
    """Return the result of arff.load for the lines of a text, in which some types may have been replaced."""
    import arff

    arff._RE_TYPE_NOMINAL = NOMINAL
    try:
        return arff.load(lines)
    except TimeLimitReached:
        raise
    # liac-arff raises its own exceptions for the errors it foresees, bare ones for the others.
    except Exception as problem:
        try:
            said = str(problem)
        except (TypeError, ValueError):  # it fills the line into a text with %, which the line may hold itself
            said = type(problem).__name__
        raise DataError(
            f"expected ARFF in {str(path)!r}, got text that is not ({' '.join(said.split()).rstrip('.')}); "
            "correct the line, or save the data as CSV"
        ) from None


def _lines(path, text: str) -> Iterator[str]:
    """Yield the lines of a text as arff.loads splits them, and check the time limit now and then."""
    seen = 0
    for number, line in enumerate(text.strip("\r\n ").replace("\r\n", "\n").split("\n")):
        if seen >= LOOK:
            expect_time(repr(str(path)), number)
            seen = 0
        seen += len(line)
        yield line


def _as_text(lines: Iterator[str], which: list[int]) -> Iterator[str]:
    """Yield the lines of a file with these attributes, of numbers, declared as STRING. As for the reader, a line that
    begins with @attribute declares one, whatever follows without a blank."""
    attribute, in_data = -1, False
    for line in lines:
        word = line.strip(" \r\n").upper()
        in_data = in_data or word.startswith("@DATA")
        if not in_data and word.startswith("@ATTRIBUTE"):
            attribute += 1
            if attribute in which:
                line = re.sub(r"\S+\s*$", "STRING", line)
        yield line


def _dtype(declared):
    if isinstance(declared, list):
        return pl.Categorical
    return pl.String if declared == "STRING" else pl.Float64


def sample(table: pl.DataFrame) -> bytes:
    """Return the table with attributes of the types numeric and string."""
    lines = ["@relation sample"]
    for name, dtype in table.schema.items():
        lines.append(f"@attribute {_quoted(name)} {'numeric' if dtype == pl.Float64 else 'string'}")
    cells = [
        ",".join("?" if cell is None else repr(cell) if isinstance(cell, float) else _quoted(cell) for cell in row)
        for row in table.iter_rows()
    ]
    return "\n".join([*lines, "@data", *cells, ""]).encode()


def _quoted(word: str) -> str:
    return "'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'"
