"""Which of all thresholds between neighbouring values, and of all single levels, the tests of a certificate are.

A proof is one over its tests. Whether it is one over all that the data could be asked is counted here from
the raw data, by how each split parts the rows: two that part them alike are one, whatever their words.
"""

from collections.abc import Sequence

import numpy as np

from odtc.data.dataset import NUMERIC, Dataset


def count_uncovered(
    dataset: Dataset, columns: np.ndarray, of: Sequence[str] | None = None
) -> tuple[int, dict[str, tuple[int, int]]]:
    """(splits, {feature: (left out, splits)}): how many splits by a midpoint, a level, or whether a cell is
    missing part the rows of the data, each in its own way; and of which features some are not among `columns`,
    bool (tests, rows), what each test sends left. With `of`, the feature of each test, only tests of the same feature
    count: where a constraint speaks of features, one of another is another test."""
    names = [None] * len(columns) if of is None else of
    have = {
        (name, _key(column))
        for packed in (np.packbits(columns, axis=1), np.packbits(~columns, axis=1))
        for name, column in zip(names, packed)
    }
    total, lacking = 0, {}
    for at, feature in enumerate(dataset.features):
        cells = dataset.X[:, at]
        known = ~np.isnan(cells)
        values = np.unique(cells[known])
        # Of two levels one says the other, unless missing cells are on the other side of both.
        ordered = feature.kind == NUMERIC
        sides = (
            (cells <= value) if ordered else (cells == value)
            for value in (values[:-1] if ordered or (len(values) == 2 and known.all()) else values)
        )
        keys = {key for side in sides if (key := _key(np.packbits(side))) and 0 < side.sum() < len(cells)}
        if known.any() and not known.all() and dataset.missing == "separate":
            keys.add(_key(np.packbits(~known)))
        total += len(keys)
        own = None if of is None else feature.name
        if absent := sum((own, key) not in have for key in keys):
            lacking[feature.name] = absent, len(keys)
    return total, lacking


def _key(packed: np.ndarray) -> bytes:
    return packed.tobytes()


def words(total: int, lacking: dict[str, tuple[int, int]]) -> str:
    """What the tests of a proof are, in words."""
    if not lacking:
        return (
            f"these are all: thresholds between neighbouring values, and single levels, part the rows of the data "
            f"in {total:,} ways, those of each column counted by themselves"
        )
    missing = sum(absent for absent, _ in lacking.values())
    most = sorted(lacking.items(), key=lambda item: -item[1][0])[:3]
    named = ", ".join(f"{name}: {absent:,} of {each:,}" for name, (absent, each) in most) + (
        ", …" if len(lacking) > 3 else ""
    )
    return (
        f"not among them are {missing:,} of the {total:,} ways in which thresholds between neighbouring values, and "
        f"single levels, "
        f"part the rows of the data ({named}), so a tree that asks these may cost less"
    )
