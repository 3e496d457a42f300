"""Writes pumps.csv: 300 pumps, how many days each ran, and whether it failed or still ran when it was last seen.

    python examples/survival/make.py

Pumps above 60 degrees fail six times as often; of the others those of maker "b" do above a
load of 50. Days are drawn, and every third pump or so was still running when the study ended.
"""

import csv
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def pumps(n: int = 300, seed: int = 7) -> list[dict]:
    """A row for each pump."""
    draw = np.random.default_rng(seed)
    degrees, load, maker = draw.integers(30, 91, n), draw.integers(20, 101, n), draw.choice(["a", "b", "c"], n)
    risk = np.where(degrees > 60, 6.0, np.where((maker == "b") & (load > 50), 6.0, 1.0))
    fails, seen = draw.exponential(1200 / risk), draw.uniform(50, 700, n)
    return [
        {
            "degrees": int(degrees[i]),
            "load": int(load[i]),
            "maker": str(maker[i]),
            "days": max(1, round(min(fails[i], seen[i]))),
            "failed": int(fails[i] <= seen[i]),
        }
        for i in range(n)
    ]


def main() -> None:
    """Writes the file."""
    rows = pumps()
    with (HERE / "pumps.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
