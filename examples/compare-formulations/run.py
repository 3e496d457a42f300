"""Compare formulations for a paper: the same data, tests, start and time limit; a table, and optima cross-checked.

    python run.py [FOLDER]

writes iris.csv (from scikit-learn), cells.jsonl (one line a run, which a rerun continues), table.md, and one model as a
file with its manifest, which any solver reads and `odtc decode` turns back into a tree.
"""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
from sklearn.datasets import load_iris

FORMS = ("dpflow", "flowoct", "binoct", "oct")


def odtc(*words, folder: Path) -> str:
    """What a command prints; an error ends the script with its sentence."""
    done = subprocess.run(
        [sys.executable, "-m", "odtc", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def main(folder: Path) -> None:
    iris = load_iris()
    frame = pl.DataFrame(iris.data, schema=iris.feature_names)
    frame = frame.with_columns(species=pl.Series(iris.target_names[iris.target].tolist()))
    frame.write_csv(folder / "iris.csv")

    # Three intervals a column keep every cell of the table under a second or two.
    study = ("--data", "iris.csv", "--depths", "2", "--encoding", "auto:bins=3", "--time-limit", "30")
    odtc(
        "bench",
        "models",
        *study,
        "--formulations",
        ",".join(FORMS),
        "--results",
        "cells.jsonl",
        "-o",
        "table.md",
        folder=folder,
    )
    print((folder / "table.md").read_text(encoding="utf-8"))

    # Formulations of one problem must agree: each proved and checked optimum is the same number of errors.
    cells = [json.loads(line) for line in (folder / "cells.jsonl").read_text(encoding="utf-8").splitlines()]
    errors = {
        cell["formulation"]: cell["objective"]
        for cell in cells
        if cell["termination"] == "optimal" and cell["verified"]
    }
    print("errors of the proved trees:", errors)
    if len(errors) < len(FORMS) or max(errors.values()) - min(errors.values()) > 1e-6:
        sys.exit("the formulations disagree, or not all were proved")

    # The model of one of them for any solver, and what came of it as a tree.
    odtc(
        "build", "iris.csv", "--model", "binoct", "--depth", "2", "--encoding", "auto:bins=3", "-o", "m", folder=folder
    )
    odtc("solve", "m.mps", folder=folder)
    print(odtc("verify", "m.sol", folder=folder))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
