"""Two workers beside one process, on the clock: a sweep of 60 fits and one long proof, in alternating pairs.

    python -m benchmarks.two_workers [--pairs 5] [--what sweep,proof] [--by processes,dask] [--rows 800]
                                     [--columns 9] [--swept 2000,10]

Rules, written before the run of five pairs; one pair of each had told how many rows give fits of about a second and a
proof of about a minute. The table is made (normal numbers of two decimals, y = [x0 x1 + x2 > 0.3], 15 % flipped, seed
1). sweep: 2,000 rows of 10 columns, depth 3, 12 seeds of five folds, so 60 fits of which none says anything of
another, by `odtc sweep --jobs 1` and `--jobs 2`. proof: depth 4 by `odtc fit` and `odtc fit --workers 2`. `dask` adds
`--cluster local`, whose scheduler and start are counted. Whole commands, kernels on disk, one after the other; the one
that comes first changes from pair to pair. A pair tells both times, their ratio, the CPU seconds of all processes
together (by the accounts of the children that ended) and the load before it. The results of both must be the same.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

SEEDS, FOLDS = 12, 5


def made(folder: Path, rows: int, columns: int) -> Path:
    """The table of the docstring, as a file."""
    random = np.random.default_rng(1)
    X = np.round(random.normal(size=(rows, columns)), 2)
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0.3) ^ (random.random(rows) < 0.15)
    table = pl.DataFrame({f"x{j}": X[:, j] for j in range(columns)} | {"y": np.where(y, "yes", "no")})
    table.write_csv(folder / f"{rows}x{columns}.csv")
    return folder / f"{rows}x{columns}.csv"


def sweep(data: Path, folder: Path, workers: int, dask: bool) -> tuple[list[str], Path]:
    """The command, and the file that it leaves."""
    seeds = ",".join(map(str, range(SEEDS)))
    words = ["sweep", str(data), "--model", "dpflow", "--depths", "3", "--seeds", seeds, "--folds", str(FOLDS)]
    words += ["--jobs", str(workers), "-o", str(folder)] + (["--cluster", "local"] if dask else [])
    return words, folder / "results.parquet"


def proof(data: Path, folder: Path, workers: int, dask: bool) -> tuple[list[str], Path]:
    """The command, and the file that it leaves."""
    words = ["fit", str(data), "--depth", "4", "--threads", "1", "-o", str(folder / "x")]
    words += ["--workers", str(workers)] if workers > 1 else []
    return words + (["--cluster", "local"] if dask else []), folder / "x.tree.json"


def timed(words: list[str]) -> tuple[float, float]:
    """(Seconds on the clock, CPU seconds of the command and all that it waited for.)"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    ended = subprocess.run([sys.executable, "-m", "odtc", *words], capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode:
        raise SystemExit(f"odtc {' '.join(words)}: {ended.stderr}")
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def content(path: Path) -> object:
    """What both ways must agree on: scores of every fit, or the proved tree."""
    if path.suffix == ".parquet":
        table = pl.read_parquet(path)
        return table.drop([c for c in table.columns if "seconds" in c]).sort(by=table.columns[:6]).rows()
    tree = json.loads(path.read_text())
    return {key: value for key, value in tree.items() if "seconds" not in key}


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--pairs", type=int, default=5)
    words.add_argument("--what", default="sweep,proof")
    words.add_argument("--by", default="processes,dask")
    words.add_argument("--rows", type=int, default=800, help="of the proof")
    words.add_argument("--columns", type=int, default=9)
    words.add_argument("--swept", default="2000,10", help="rows and columns of the sweep")
    asked = words.parse_args()
    swept = tuple(map(int, asked.swept.split(",")))
    print("| what | workers | pair | load | one, s | two, s | ratio | one, CPU s | two, CPU s |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for what in asked.what.split(","):
            data = made(root, *(swept if what == "sweep" else (asked.rows, asked.columns)))
            command = {"sweep": sweep, "proof": proof}[what]
            for by in asked.by.split(","):
                pairs(what, by, command, data, root, asked.pairs)


def pairs(what: str, by: str, command, data: Path, root: Path, n: int) -> None:
    ratios = []
    for k in range(n):
        load, found = os.getloadavg()[0], {}
        for workers in (1, 2) if k % 2 == 0 else (2, 1):
            folder = root / f"{what}-{by}-{k}-{workers}"
            folder.mkdir()
            given, written = command(data, folder, workers, by == "dask" and workers == 2)
            found[workers] = (*timed(given), content(written))
        (one, one_cpu, first), (two, two_cpu, second) = found[1], found[2]
        if first != second:
            print(f"{what} by {by}, pair {k + 1}: the results differ", file=sys.stderr)
        ratios.append(one / two)
        cells = f"{one:.1f} | {two:.1f} | {one / two:.2f} | {one_cpu:.1f} | {two_cpu:.1f}"
        print(f"| {what} | {by} | {k + 1} | {load:.1f} | {cells} |", flush=True)
    print(f"| {what} | {by} | median of {n} | | | | {statistics.median(ratios):.2f} | | |", flush=True)


if __name__ == "__main__":
    main()
