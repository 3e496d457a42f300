"""The tables of the net: generated from fixed seeds, bundled with scikit-learn, or real ones of $ODTC_DATA.

A name describes a table. `small-N` and the like are drawn by `random.Random(name)`, whose numbers are the same on every
machine; the generated ones of `benchmarks.made_tables` have names such as `planted-3000x10x3`.
"""

import csv
import os
import random
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("ODTC_DATA", ROOT.parent / "shared/data"))
# name -> rows, columns of numbers, values of each, columns of names, levels of each, classes
SMALL = {
    "tiny": (12, 2, 4, 0, 0, 2),
    "small": (40, 3, 4, 1, 3, 2),
    "three": (36, 2, 4, 1, 3, 3),
    "numbers": (60, 4, 8, 0, 0, 2),
    "names": (48, 0, 0, 4, 3, 2),
    "wide": (50, 12, 3, 0, 0, 2),
    "many": (300, 5, 60, 2, 4, 3),
    "tall": (3000, 6, 12, 1, 4, 2),
}
NOISE = 0.2  # share of rows with a class drawn by lot
BUNDLED = ("iris", "wine", "breast_cancer", "digits", "diabetes")


def table_file(name: str, folder: Path) -> Path | None:
    """Write the table into the folder unless it is there, and return its path; None if $ODTC_DATA lacks it.

    Parameters
    ----------
    name : str
        A name of this module, or data:FILE for a file of $ODTC_DATA.
    folder : Path
        Where tables are written.
    """
    if name.startswith("data:"):
        path = DATA / name.removeprefix("data:")
        return path if path.is_file() else None
    path = folder / f"{name}.csv"
    if not path.is_file():
        # In a process of its own: the peak memory of a process begins with that of the one that starts it.
        subprocess.run([sys.executable, "-m", __name__, name, str(path)], cwd=ROOT, check=True)
    return path


def main(name: str, path: str) -> None:
    """Write a table."""
    if name.partition("-")[0] not in (*BUNDLED, *EXTREME, *SMALL):
        from benchmarks import made_tables

        made_tables.FOLDER = Path(path).parent
        made_tables.made_file(name)
        return
    header, rows = _table(name)
    with open(path, "w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([header, *rows])


def _table(name: str) -> tuple[list[str], list[list]]:
    kind = name.partition("-")[0]
    if kind in BUNDLED:
        return _bundled(kind)
    if kind in EXTREME:
        return EXTREME[kind](random.Random(name))
    return _small(random.Random(name), *SMALL[kind])


def _bundled(name: str) -> tuple[list[str], list[list]]:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    header = [str(feature).replace(" ", "_") for feature in bunch.feature_names]
    named = [str(word) for word in getattr(bunch, "target_names", [])]
    target = [
        named[int(y)] if named and name != "digits" else (f"{y:g}" if name == "diabetes" else f"d{y}")
        for y in bunch.target
    ]
    return [*header, "target"], [[f"{x:.10g}" for x in row] + [y] for row, y in zip(bunch.data, target)]


def _small(draw, rows, numbers, values, names, levels, classes):
    """Columns x0, x1, … of numbers and c0, c1, … of names; y, the class by a hidden tree and noise; g, a group; w, a
    weight; t, a number to predict; p, q, r, costs of actions; time and event."""
    header = [f"x{i}" for i in range(numbers)] + [f"c{i}" for i in range(names)]
    table = []
    for _ in range(rows):
        row = [draw.randrange(values) for _ in range(numbers)]
        text = [draw.randrange(levels) for _ in range(names)]
        cells = row + text
        hidden = (cells[0] > (values or levels) // 2) + 2 * (cells[1] > (values or levels) // 3) + (cells[-1] == 1)
        label = draw.randrange(classes) if draw.random() < NOISE else hidden % classes
        number = f"{hidden + draw.randrange(100) / 100:.2f}"
        costs = [f"{abs(hidden % 3 - action) + draw.randrange(40) / 20:g}" for action in range(3)]
        clock, seen = 1 + draw.randrange(60) // (1 + hidden), int(draw.random() < 0.7)
        group, weight = "ab"[draw.randrange(2)], 1 + draw.randrange(5)
        table.append(
            [f"{value / 2:g}" for value in row]
            + ["uvwz"[level] for level in text]
            + [group, weight, number, *costs, clock, seen, "klm"[label]]
        )
    return header + ["g", "w", "t", "p", "q", "r", "time", "event", "y"], table


def _huge_costs(draw):
    """Two columns; errors one way cost 1e14 and the other way 1: the cheapest tree has no error that costs 1e14."""
    rows = [[draw.randrange(12), draw.randrange(6)] for _ in range(80)]
    return ["a", "b", "y"], [[a, b, "fraud" if a > 8 and draw.random() < 0.6 else "ok"] for a, b in rows]


def _mixed_weights(draw):
    """Row weights from 1e-7 to 1e6."""
    rows = [[draw.randrange(6), draw.randrange(6), draw.randrange(3)] for _ in range(40)]
    weights = [f"{draw.randrange(1, 99)}e{draw.choice([-7, -7, -5, 0, 6])}" for _ in rows]
    return ["a", "b", "c", "w", "y"], [
        [*row, weight, "n" if (row[0] + row[1] > 5) != (draw.random() < 0.25) else "p"]
        for row, weight in zip(rows, weights)
    ]


def _tiny_gain(draw):
    """Classes that a second split separates for one row of 40 only, for tiny penalties of a branch node."""
    rows = [[i % 5, i % 7 // 2, draw.randrange(3)] for i in range(40)]
    return ["a", "b", "c", "y"], [[*row, "p" if row[0] > 2 or i == 7 else "n"] for i, row in enumerate(rows)]


def _offset(draw):
    """Numbers that differ in the last digits after an offset of 1e9, and a target with the same offset."""
    rows = [[draw.randrange(9), draw.randrange(9)] for _ in range(50)]
    return ["a", "b", "w", "t", "y"], [
        [
            f"1000000000.{a:03d}",
            f"{10**9 + b}",
            1 + draw.randrange(4),
            f"{1000000000 + (a > 4) * 3 + (b > 3) + draw.randrange(100) / 100:.2f}",
            "p" if (a > 4) != (draw.random() < 0.1) else "n",
        ]
        for a, b in rows
    ]


def _many_digits(draw):
    """Weights and numbers with 15 to 17 digits, some of which differ in the last digit only."""
    base = "0.12345678901234"
    rows = [(draw.randrange(8), draw.randrange(5)) for _ in range(40)]
    return ["a", "b", "w", "t", "y"], [
        [
            f"{base}{50 + a}",
            f"{b}.5",
            f"0.{draw.randrange(10**14, 10**15)}",
            f"{a * 3 + b}.{draw.randrange(10**13, 10**14)}",
            "p" if a > 3 else "n",
        ]
        for a, b in rows
    ]


def _outlier(draw):
    """A target of a few units with one cell of 1e9."""
    rows = [[draw.randrange(8), draw.randrange(5)] for _ in range(40)]
    target = [f"{2 * (a > 4) + (b > 2) + draw.randrange(30) / 100:.2f}" for a, b in rows]
    return ["a", "b", "t"], [[*row, "1e9" if i == 11 else t] for i, (row, t) in enumerate(zip(rows, target))]


def _tiny_targets(draw):
    """Targets of 1e-6 with row weights of 1 to 1e6."""
    rows = [[draw.randrange(6), draw.randrange(5)] for _ in range(40)]
    return ["a", "b", "w", "t", "y"], [
        [a, b, 10 ** draw.randrange(7), f"{(a > 3) + draw.randrange(100)}e-6", "p" if a > b else "n"] for a, b in rows
    ]


def _exact_bounds(draw):
    """Weights of 1e10 and 1: a constraint on a cost of 9,999,999,999 is exact to the unit."""
    rows = [[i % 4, draw.randrange(3)] for i in range(24)]
    return ["a", "b", "w", "y"], [
        [*row, 10**10 if i < 2 else 1, "p" if row[0] > 1 and draw.random() < 0.8 else "n"] for i, row in enumerate(rows)
    ]


EXTREME = {
    "bigcost": _huge_costs,
    "mixedweights": _mixed_weights,
    "tinygain": _tiny_gain,
    "offset": _offset,
    "digits17": _many_digits,
    "outlier": _outlier,
    "tinytargets": _tiny_targets,
    "exactbounds": _exact_bounds,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
