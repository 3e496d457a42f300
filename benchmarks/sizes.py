"""What `odtc fit` ends in a minute, by rows, columns and depth: the table behind docs/explanation/sizes.md.

    python -m benchmarks.sizes [--limit 60] [--rows 1000,10000] [--columns 5,20] [--depths 2,3] [-o sizes.csv]

Each table is drawn by scikit-learn's make_classification with random_state 0: numbers of six decimals in each column,
two classes, three clusters of each class, 15 of 100 labels by lot, half of the columns (at most 8) with information.
So nearly every value is a threshold, and the best tree makes many errors, which is the hard case. Each cell is a whole
command in a process of its own. Finished cells of the file are not run again.
"""

import argparse
import csv
from pathlib import Path

from benchmarks.large_fits import FOLDER, measured, two_classes, write

NAMES = "rows", "columns", "depth", "cpu", "end", "objective", "bound"


def table(rows: int, columns: int) -> Path:
    """The CSV file of a size, written when it is first needed."""
    path = FOLDER / f"size-{rows}x{columns}.csv"
    if not path.is_file():
        FOLDER.mkdir(parents=True, exist_ok=True)
        write(path, *two_classes(rows, columns, informative=min(8, max(4, columns // 2)), redundant=0))
    return path


def cell(rows: int, columns: int, depth: int, limit: float) -> dict:
    """A line of the table."""
    words = ["fit", str(table(rows, columns)), "--depth", str(depth), "--time-limit", f"{limit:g}"]
    facts = measured(words)
    if "error" in facts:
        raise SystemExit(f"{rows} x {columns}, depth {depth}: {facts['error']}")
    ended = {name: facts[name] for name in ("objective", "bound")}
    size = {"rows": rows, "columns": columns, "depth": depth, "cpu": f"{facts['cpu']:.2f}"}
    return size | {"end": facts["termination"]} | ended


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--limit", type=float, default=60.0)
    words.add_argument("--rows", default="1000,10000,100000")
    words.add_argument("--columns", default="5,20,80")
    words.add_argument("--depths", default="2,3,4")
    words.add_argument("-o", "--output", type=Path, default=Path(".venv/sizes.csv"))
    given = words.parse_args()
    done: list[dict] = []
    if given.output.is_file():
        with open(given.output, encoding="utf-8", newline="") as file:
            done = list(csv.DictReader(file))
    known = {tuple(int(line[name]) for name in ("rows", "columns", "depth")) for line in done}
    rows, columns, depths = (
        [int(part) for part in text.split(",")] for text in (given.rows, given.columns, given.depths)
    )
    for size in [(r, c, d) for d in depths for c in columns for r in rows if (r, c, d) not in known]:
        done.append(cell(*size, given.limit))
        print(*done[-1].values(), flush=True)
        with open(given.output, "w", encoding="utf-8", newline="") as file:
            out = csv.DictWriter(file, NAMES, lineterminator="\n")
            out.writeheader()
            out.writerows(done)


if __name__ == "__main__":
    main()
