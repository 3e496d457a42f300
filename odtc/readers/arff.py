"""Reads ARFF files (Weka), dense or sparse, with numeric, nominal and string attributes."""

import polars as pl

from odtc.errors import DataError
from odtc.reader import check_names, read_text

NAME = "arff"
SUFFIXES = (".arff", ".arff.gz")
SUMMARY = "ARFF (Weka), dense or sparse; nominal attributes are categorical"


def read(path) -> pl.DataFrame:
    """Numbers as Float64, strings as String, nominals as Categorical; "?" is null.

    A nominal {1,2,3} is declared to be categorical, which plain text could not tell. Raises
    DataError for text that is not UTF-8 or not ARFF.
    """
    import arff

    text = read_text(path)
    try:
        content = arff.loads(text)
    # liac-arff raises its own exceptions for the errors it foresees, bare ones for the others.
    except Exception as problem:
        raise DataError(
            f"expected ARFF in {str(path)!r}, got text that is not ({str(problem).strip().rstrip('.')}); "
            "correct the line, or save the data as CSV"
        ) from None
    names = [name.strip() for name, _ in content["attributes"]]
    check_names(names, repr(str(path)))
    columns = list(zip(*content["data"])) or [()] * len(names)
    return pl.DataFrame([
        pl.Series(name, column, dtype=_dtype(declared))
        for name, column, (_, declared) in zip(names, columns, content["attributes"])
    ])


def _dtype(declared):
    if isinstance(declared, list):
        return pl.Categorical
    return pl.String if declared == "STRING" else pl.Float64
