"""Writes iris.csv from the set that comes with scikit-learn: 150 flowers, four lengths, three species."""

import csv
from pathlib import Path

from sklearn.datasets import load_iris


def main() -> None:
    iris = load_iris()
    path = Path(__file__).resolve().parent / "iris.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*iris.feature_names, "species"])
        for row, label in zip(iris.data.tolist(), iris.target):
            writer.writerow([*row, iris.target_names[label]])
    print(f"{path.name}: {len(iris.target)} rows")


if __name__ == "__main__":
    main()
