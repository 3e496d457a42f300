"""What `--estimate` says beside what is measured: CPU seconds and memory to build a model and write its file.

    python -m benchmarks.estimates [--models flowoct,oct] [--sizes 1000,20,3 5000,40,4] [--folder DIR]

Each model is built and written in a process of its own, of random binary data of a size (rows, columns, depth), after
a small one of its kind, which loads what it needs. What is said holds at the pace of this machine at this moment
(odtc.evaluation.size_table), as `--estimate` says it. Memory is the peak beside what was held before; it is known
where the system tells it (Linux). A ratio is measured / said.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

MODELS = ("flowoct", "bendersoct", "oct", "binoct", "fair", "svm1_odt", "oct_h")
SIZES = ("1000,20,3", "5000,40,4", "20000,60,4")


def problem_of(model: str, size: str):
    from odtc.data.encoding import encode
    from odtc.data.reading import ReadingSpec, from_frame
    from odtc.problem.formulation import FORMULATIONS
    from odtc.problem.parameters import parse_params
    from odtc.problem.problem import Problem
    from odtc.trees.heap_tree import CompleteTree

    n, columns, depth = map(int, size.split(","))
    random = np.random.default_rng(0)
    cells = {f"x{j}": random.integers(0, 2, n).astype(float) for j in range(columns)}
    encoded = encode(from_frame(pl.DataFrame(cells | {"y": random.integers(0, 3, n)}), "random", ReadingSpec()))
    return Problem(encoded, CompleteTree(depth), FORMULATIONS.get(model), parse_params(model, {}))


def memory(key: str) -> int:
    """Bytes that the system tells of this process: VmRSS or VmHWM."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return 1024 * int(lines[key].split()[0])


def one(model: str, size: str, folder: str) -> dict:
    """What is said and what is measured of a model, in this process."""
    from odtc.base.system import return_freed_memory
    from odtc.evaluation.size_table import pace
    from odtc.fileformats.model_files import write_model
    from odtc.problem.counts import counts_of

    path = Path(folder) / f"{model}.mps"
    small = problem_of(model, "60,5,2")
    write_model(small.module.build(small), path)
    problem = problem_of(model, size)
    said, now = counts_of(problem), pace()
    return_freed_memory()  # as a large model does when it is written
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here on
    held, began = memory("VmRSS"), time.process_time()
    written = problem.module.build(problem)
    write_model(written, path, digest=hashlib.sha256())
    return {
        "nonzeros": written.nnz,
        "said": (said.seconds * now, said.memory),
        "pace": now,
        "labels": written.n_rows + written.n_cols,
        "measured": (time.process_time() - began, memory("VmHWM") - held),
    }


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--models", default=",".join(MODELS))
    words.add_argument("--sizes", nargs="+", default=SIZES)
    words.add_argument("--folder", default=None)
    words.add_argument("--one", nargs=3, default=None, help=argparse.SUPPRESS)
    asked = words.parse_args()
    if asked.one:
        print(json.dumps(one(*asked.one)))
        return
    print(f"load {os.getloadavg()[0]:.1f}\n")
    print(
        "| model | rows, columns, depth | nonzeros | pace | CPU s said | measured | ratio "
        "| MB said | measured | ratio |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        for size in asked.sizes:
            for model in asked.models.split(","):
                command = [sys.executable, "-m", "benchmarks.estimates", "--one", model, size, folder]
                found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
                (said, bytes_said), (took, peak) = found["said"], found["measured"]
                print(
                    f"| {model} | {size} | {found['nonzeros']:,} | {found['pace']:.2f} "
                    f"| {said:.2f} | {took:.2f} | {took / said:.2f} "
                    f"| {bytes_said / 1e6:.0f} | {peak / 1e6:.0f} | {peak / bytes_said:.2f} |",
                    flush=True,
                )
                (Path(folder) / f"{model}.mps").unlink()
    print(f"\nload {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
