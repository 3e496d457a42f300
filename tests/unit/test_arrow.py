"""Arrow files and streams (Feather) are read as the same table is of Parquet."""

import io

import numpy as np
import polars as pl
import pytest

from odtc.data.reading import read
from odtc.errors import DataError

TABLE = pl.DataFrame(
    {
        "size": [1.5, None, 3.0, float("nan")] * 6,
        "count": list(range(24)),
        "kind": pl.Series(["1", "2", "1", None] * 6, dtype=pl.Categorical),
        "word": ["a", " b ", "NA", "a"] * 6,
        "on": [True, False, None, True] * 6,
        "y": ["p", "q", "q"] * 8,
    }
)


def written(way: str) -> bytes:
    stream = io.BytesIO()
    getattr(TABLE, way)(stream)
    return stream.getvalue()


@pytest.mark.parametrize("name", ["t.arrow", "t.feather", "T.IPC"])
@pytest.mark.parametrize("way", ["write_ipc", "write_ipc_stream"])
def test_a_file_of_arrow_is_read_as_one_of_parquet(tmp_path, name, way):
    TABLE.write_parquet(tmp_path / "t.parquet")
    (tmp_path / name).write_bytes(written(way))
    one, other = (read(tmp_path / file, missing="separate") for file in (name, "t.parquet"))
    assert np.array_equal(one.X, other.X, equal_nan=True) and np.array_equal(one.y, other.y)
    assert (one.features, one.classes) == (other.features, other.classes)
    assert [feature.kind for feature in one.features][2] == "categorical"


@pytest.mark.parametrize("way", ["write_ipc", "write_ipc_stream"])
def test_a_part_of_a_file_of_arrow_is_refused(tmp_path, way):
    whole = written(way)
    for end in (1, 4, 8, 60, len(whole) // 2, len(whole) - 8, len(whole) - 1):
        (tmp_path / "t.arrow").write_bytes(whole[:end])
        with pytest.raises(DataError, match="expected a whole Arrow file in"):
            read(tmp_path / "t.arrow")
