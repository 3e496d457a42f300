"""Write breast-cancer.csv from the table that comes with scikit-learn: 569 tumours, 30 numbers each, two classes."""

import csv
from pathlib import Path

from sklearn.datasets import load_breast_cancer


def main() -> None:
    table = load_breast_cancer()
    path = Path(__file__).resolve().parent / "breast-cancer.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*table.feature_names, "diagnosis"])
        for row, label in zip(table.data.tolist(), table.target):
            writer.writerow([*row, table.target_names[label]])
    print(f"{path.name}: {len(table.target)} rows")


if __name__ == "__main__":
    main()
