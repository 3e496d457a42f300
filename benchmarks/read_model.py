"""Reading a model file: ours beside HiGHS's readModel, in one process.

    python -m benchmarks.read_model [--data kr-vs-kp.csv] [--depth 5]

FlowOCT of the data set (one-hot) in every format, plain and gzip; CPU seconds, the best of three.
The data file is looked for in $ODTC_DATA or ../shared/data.
"""

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks.data import data_folder
from benchmarks.highs import opened
from odtc.fileformats.model_files import FORMATS, read_model, write_model
from tests import pipeline


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--data", type=Path, default=data_folder() / "kr-vs-kp.csv")
    words.add_argument("--depth", type=int, default=5)
    asked = words.parse_args()
    model = pipeline.build(asked.data, "flowoct", asked.depth, encoding="onehot")
    print(
        f"{asked.data.name}, depth {asked.depth}: {model.n_cols:,} columns, {model.n_rows:,} rows, {model.nnz:,} "
        f"nonzeros\n"
    )
    print("| file | MB | ours, s | HiGHS, s | ratio |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for format in FORMATS.names():
            for packed in ("", ".gz"):
                path = write_model(model, Path(folder) / f"model{FORMATS.get(format).SUFFIX}{packed}", format)
                ours, theirs = fastest(partial(read_model, path)), fastest(partial(opened, path))
                print(
                    f"| {format}{packed} | {path.stat().st_size / 1e6:.0f} | {ours:.2f} | {theirs:.2f} | "
                    f"{theirs / ours:.1f}x |",
                    flush=True,
                )


def fastest(read) -> float:
    seconds = []
    for _ in range(3):
        began = time.process_time()
        read()
        seconds.append(time.process_time() - began)
    return min(seconds)


if __name__ == "__main__":
    main()
