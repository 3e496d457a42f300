"""Explain a tree to a board, deploy it, refit it monthly.

    python run.py [FOLDER]

makes loans of two months, fits a tree that finds at least 60 % of the bad ones, writes a page for the board
(january.html), SQL for the database (january.sql), predictions of a file with gaps (answers.csv), and in February a
tree that stays close to the one in use (february.tree.json) with a page on the drift (february.drift.html).
"""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

COLUMNS = ("age", "income", "region", "loan")


def loans(month: int, n: int = 300) -> list[list]:
    """Loans of a month: the young and those with low incomes fail; incomes rise from month to month."""
    draw = np.random.default_rng(month)
    age, income = draw.integers(20, 70, n), draw.integers(1, 9, n) * 500 + 400 * month
    region = draw.choice(["north", "south", "west"], n)
    risk = 1 / (1 + np.exp(0.15 * (age - 35) + 0.002 * (income - 2000)))
    bad = np.where(draw.random(n) < risk, "bad", "good")
    return [list(row) for row in zip(age.tolist(), income.tolist(), region.tolist(), bad.tolist())]


def write(path: Path, rows: list[list]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([COLUMNS, *rows])


def odtc(*words, folder: Path) -> str:
    """What a command prints; an error ends the script with its sentence."""
    done = subprocess.run(
        [sys.executable, "-m", "odtc", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(done.stderr)
    print(done.stderr, end="")
    return done.stdout


def main(folder: Path) -> None:
    january = loans(1)
    write(folder / "january.csv", january[:200])
    write(folder / "january_test.csv", january[200:])
    write(folder / "february.csv", loans(2))

    # A tree that a person can read, under a floor that the board has set, tested on rows that it has not seen.
    floor = ("--constraint", "recall[bad] >= 0.6", "--min-leaf-rows", "10")
    fit = ("fit", "january.csv", "--depth", "2", "--encoding", "auto:bins=6", *floor, "--test", "january_test.csv")
    print(odtc(*fit, "-o", "january", folder=folder))
    odtc("report", "january.tree.json", "--test", "january_test.csv", "-o", "january.html", folder=folder)
    print(odtc("explain", "january.tree.json", "january_test.csv", "--row", "1", folder=folder))

    # Into the database; and a file in which a cell is empty and another is no number, which must not stop the run.
    odtc("export", "january.tree.json", "--to", "sql", "-o", "january.sql", folder=folder)
    gaps = [["", row[1], row[2], ""] if at == 3 else [row[0], "unknown", row[2], ""] if at == 5 else [*row[:3], ""]
            for at, row in enumerate(january[200:220])]  # fmt: skip
    write(folder / "new.csv", gaps)
    odtc("predict", "january.tree.json", "new.csv", "--on-missing", "majority", "-o", "answers.csv", folder=folder)

    # Next month: of the trees that are nearly the best for the new rows, the closest to the one in use.
    refit = ("refit", "january.tree.json", "february.csv", "--encoding", "auto:bins=6", "--old-data", "january.csv")
    facts = json.loads(odtc(*refit, *floor, "-o", "february", "--json", folder=folder))
    near, best = facts["refit"]["distance"], facts["refit"]["best_distance"]
    print(f"predicted otherwise: {near['rows']:.1%} of the rows by the new tree, {best['rows']:.1%} by the best one")
    print("shift of the columns:", {name: round(value, 2) for name, value in facts["drift"]["psi"].items()})
    print(*sorted(path.name for path in folder.iterdir() if path.name.startswith(("january", "february", "answers"))))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
