"""Property tests of a reader: the table of its `sample` is returned, whole or in batches; any bytes are read or
refused."""

import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from hypothesis import strategies as st

from odtc.data.reading import from_frame
from odtc.data.reading_spec import ReadingSpec
from odtc.errors import DataError
from odtc.testing.property import NotTestedError, Property, Trial, refuses

WORDS = ("a", "b", "it's", "two words", "a,b", 'say "no"', "ä", "x;y", "100%", "{1}")


@st.composite
def tables(draw) -> pl.DataFrame:
    """Draw a table of numbers, words and missing cells, with labels in the last column."""
    n = draw(st.integers(2, 8))
    columns = {}
    for place in range(draw(st.integers(1, 3))):
        if draw(st.booleans()):
            numbers = st.none() | st.floats(-1e6, 1e6) | st.integers(-5, 5).map(float)
            columns[f"x {place}"] = pl.Series(draw(st.lists(numbers, min_size=n, max_size=n)), dtype=pl.Float64)
        else:
            words = st.none() | st.sampled_from(WORDS)
            columns[f"x {place}"] = pl.Series(draw(st.lists(words, min_size=n, max_size=n)), dtype=pl.String)
    labels = ["yes", "no", *draw(st.lists(st.sampled_from(["yes", "no"]), min_size=n - 2, max_size=n - 2))]
    return pl.DataFrame({**columns, "label": labels})


def read_back(plug_in, variant, trial: Trial) -> None:
    table = trial.draw(tables())
    trial.note("table", table.write_csv().rstrip())
    data = plug_in.sample(table)
    if data is None:
        raise NotTestedError("it declares no `sample`, a file of a table")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"d *[1]{plug_in.SUFFIXES[0]}"
        path.write_bytes(data)
        read, parts = plug_in.read(path), list(plug_in.batches(path, trial.draw(st.integers(1, 200))))
    trial.expect(read.columns == table.columns, f"expected the columns {table.columns}, got {read.columns}")
    try:
        wanted = from_frame(table, "d", _separate())
    except DataError:  # such as a column without a known cell
        trial.skip_unless(False)
    got = from_frame(read, "d", _separate())
    same = got.features == wanted.features and got.classes == wanted.classes
    trial.expect(same, f"expected {wanted.features}, {wanted.classes}, got {got.features}, {got.classes}")
    cells = np.array_equal(got.X, wanted.X, equal_nan=True) and np.array_equal(got.y, wanted.y)
    trial.expect(cells, f"expected the cells {wanted.X.tolist()}, got {got.X.tolist()}")
    together = sum(part.height for part in parts) == read.height
    trial.expect(together and all(part.columns == read.columns for part in parts), "expected all rows in its batches")


def _separate():
    return ReadingSpec(target="label", missing="separate")


def _read(plug_in, data: bytes):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"d{plug_in.SUFFIXES[0]}"
        path.write_bytes(data)
        return plug_in.read(path)


PROPERTIES = (
    Property("table", "The table that its `sample` wrote comes back, whole or in batches.", read_back, examples=30),
    refuses(_read, DataError, 60),
)
