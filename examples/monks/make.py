"""Writes the three MONK's problems from their published rules: all 432 rows, and training samples.

The training samples are of the published sizes, but drawn here with a fixed seed. S. B. Thrun et
al., The MONK's Problems, Carnegie Mellon University, CMU-CS-91-197, 1991.
"""

import itertools
import random
from pathlib import Path

HERE = Path(__file__).resolve().parent
SIZES = (3, 3, 2, 3, 4, 2)  # the values of a1 to a6, numbered from 1
ROWS = list(itertools.product(*(range(1, size + 1) for size in SIZES)))


def monks_1(row) -> bool:
    a1, a2, _, _, a5, _ = row
    return a1 == a2 or a5 == 1


def monks_2(row) -> bool:
    """Exactly two attributes have their first value."""
    return row.count(1) == 2


def monks_3(row) -> bool:
    _, a2, _, a4, a5, _ = row
    return (a5 == 3 and a4 == 1) or (a5 != 4 and a2 != 3)


def write(path: Path, labelled) -> None:
    lines = ["a1,a2,a3,a4,a5,a6,class"]
    lines += [",".join(map(str, (*row, int(label)))) for row, label in labelled]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    print(f"{path.name}: {len(labelled)} rows")


def main() -> None:
    # Only monks-3 has noise: 6 of its 122 training labels are wrong.
    for name, rule, size, flips in (
        ("monks-1", monks_1, 124, 0),
        ("monks-2", monks_2, 169, 0),
        ("monks-3", monks_3, 122, 6),
    ):
        dice = random.Random(name)
        sample = sorted(dice.sample(ROWS, size))
        flipped = set(dice.sample(sample, flips))
        write(HERE / f"{name}.csv", [(row, rule(row) != (row in flipped)) for row in sample])
        write(HERE / f"{name}_test.csv", [(row, rule(row)) for row in ROWS])


if __name__ == "__main__":
    main()
