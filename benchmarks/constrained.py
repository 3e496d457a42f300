"""Trees under side constraints at depth 3: FlowOCT as printed beside dpflow, the same data, solver and limit.

    python -m benchmarks.constrained -o constrained.jsonl [--only compas,recall] [--models dpflow,flowoct]
    [--time-limit 60]

One line of JSON a cell and model, appended when it is done; what the file has already is not run again, so
a stopped run goes on, and the table of all that is there is printed at the end. FlowOCT is `literal=true`; where a
constraint asks what each row is predicted (parity), that form routes every row by itself (`rows=all`). Numeric
columns have 4 quantile bins, the group is no feature (--auxiliary). The embedded HiGHS on one thread, CART's tree
as start where it can be made to keep the constraint. Seconds are wall time from rows in memory to the checked
tree, the compiler included; CPU seconds are those of this process and of the solver's.
"""

import argparse
import json
import os
import time
from pathlib import Path

from benchmarks.data import data_folder
from odtc import read
from odtc.errors import OdtcError
from tests import pipeline

RACE, SEX = "race:African-American", "personal_status_sex:A92"  # against the others; A92 are the women in the data
SETS = {
    "compas": (
        "compas_6172",
        "auto:levels=3,bins=4",
        {"auxiliary": ("race",)},
        {
            "recall": "recall[1] >= 0.7",
            "budget": "features <= 3",
            "parity": f"statistical_parity[group={RACE},positive=0] <= 0.05",
            "opportunity": f"equal_opportunity[group={RACE},positive=0] <= 0.05",
        },
    ),
    "german": (
        "german-credit",
        "auto:levels=3,bins=4",
        {"auxiliary": ("personal_status_sex",)},
        {
            "recall": "recall[2] >= 0.6",
            "budget": "features <= 3",
            "parity": f"statistical_parity[group={SEX},positive=1] <= 0.05",
            "opportunity": f"equal_opportunity[group={SEX},positive=1] <= 0.05",
        },
    ),
    "balance": (
        "balance-scale",
        "onehot",
        {},
        {
            "recall": f"recall[B] >= {12 / 49!r}",
            "budget": "splits <= 3",
            "leaf_rows": "leaf_rows >= 40",
        },
    ),
    "tic-tac-toe": ("tic-tac-toe", "onehot", {}, {"budget": "splits <= 3"}),
}
MODELS = {"dpflow": {}, "flowoct": {"literal": True}}


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("-o", "--out", type=Path, default=Path("constrained.jsonl"))
    words.add_argument("--only", default="", help="sets and cells, between commas: only those that are all named")
    words.add_argument("--models", default=",".join(MODELS))
    words.add_argument("--depth", type=int, default=3)
    words.add_argument("--time-limit", type=float, default=60)
    asked = words.parse_args()
    only, found = {word for word in asked.only.split(",") if word}, had(asked.out)
    for name, (file, encoding, reading, cells) in SETS.items():
        for cell, constraint in cells.items():
            if not only <= {name, cell}:
                continue
            for model in asked.models.split(","):
                key = {
                    "data": file,
                    "constraint": constraint,
                    "model": model,
                    "depth": asked.depth,
                    "time_limit": asked.time_limit,
                }
                if not any(key.items() <= record.items() for record in found):
                    dataset = read(data_folder() / f"{file}.csv", **reading)
                    found.append(key | run(dataset, encoding, constraint, model, asked.depth, asked.time_limit))
                    with asked.out.open("a") as stream:
                        stream.write(json.dumps(found[-1]) + "\n")
    print(table(found))


def had(path: Path) -> list[dict]:
    """The records of a file, without a last line that was cut off."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    if lines and not lines[-1].endswith("\n"):
        path.write_text("".join(lines := lines[:-1]))
    return [json.loads(line) for line in lines]


def run(dataset, encoding: str, constraint: str, model: str, depth: int, limit: float) -> dict:
    """One cell: what `odtc fit` says of it, with the seconds of all of it."""
    began, cpu = time.monotonic(), sum(os.times()[:4])
    try:
        facts = pipeline.fit(
            dataset,
            model,
            depth,
            encoding=encoding,
            params=MODELS[model],
            constraints=(constraint,),
            threads=1,
            time_limit=limit,
        ).facts
        keys = (
            "termination",
            "objective",
            "bound",
            "n_cols",
            "n_model_rows",
            "nnz",
            "n_rows_merged",
            "n_features_encoded",
            "verified",
        )
        result = {key: facts.get(key) for key in keys}
    except OdtcError as problem:
        result = {"termination": type(problem).__name__, "message": str(problem)}
    return result | {"seconds": round(time.monotonic() - began, 3), "cpu_seconds": round(sum(os.times()[:4]) - cpu, 3)}


def table(found: list[dict]) -> str:
    lines = [
        "| set | constraint | depth | model | columns | rows | ended | objective | bound | s | CPU s |",
        "|---" * 11 + "|",
    ]
    for record in sorted(found, key=lambda record: (record["data"], record["constraint"], record["model"])):
        cells = [
            record["data"],
            f"`{record['constraint']}`".replace("|", "\\|"),
            record["depth"],
            record["model"],
            show(record.get("n_cols")),
            show(record.get("n_model_rows")),
            record["termination"],
            show(record.get("objective")),
            show(record.get("bound")),
            f"{record['seconds']:.2f}",
            f"{record['cpu_seconds']:.2f}",
        ]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def show(value: float | None) -> str:
    return "–" if value is None else f"{value:,.10g}"


if __name__ == "__main__":
    main()
