"""How long a solution file of many columns takes to read, per format, with the place of every name found.

    python -m benchmarks.points [COLUMNS]        1,000,000 by default; prints a table

Nine columns of ten are 0, nine of ten others 1, the rest numbers of 17 digits. What odtc itself does
not write is made by tests/point_texts.py.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from odtc.fileformats.solution_files import POINTS, read_point
from odtc.model.blocks import Axis
from odtc.model.builder import ModelBuilder
from tests.point_texts import text


def main(n: int) -> None:
    builder = ModelBuilder("benchmark")
    builder.columns("z", Axis("i", n // 10), Axis("t", 10, first=1), integer=True)
    builder.rows("r", Axis("k", 1), lower=0.0)
    model, draw = builder.finish(), np.random.default_rng(0)
    fractional, nonzero = draw.random(model.n_cols) < 0.1, draw.random(model.n_cols) < 0.1
    x = np.where(nonzero, np.where(fractional, draw.random(model.n_cols), 1.0), 0.0)
    print(f"{model.n_cols:,} columns\n\n| format | MB | read, s | with places, s |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "point"
        for format in POINTS.names():
            path.write_bytes(text(model, x, format))
            began = time.perf_counter()
            raw = read_point(path)
            read = time.perf_counter() - began
            back = raw.on(model.columns)
            whole = time.perf_counter() - began
            assert np.abs(back - x).max() <= 1e-6, format
            print(f"| {format} | {path.stat().st_size / 1e6:.0f} | {read:.2f} | {whole:.2f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
