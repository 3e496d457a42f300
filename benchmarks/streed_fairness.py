"""STreeD's two fairness tasks beside the constrained search: the same rows, tests, group and limit.

    python -m benchmarks.streed_fairness [-o streed.jsonl] [--only german-credit,compas_6172] [--depth 2,3]
                                         [--time-limit 60]

Tests are those of `--encoding auto:levels=3,bins=8`, the group is no test (`--auxiliary`), leaves hold one row or more
and there is no budget. Both differences are at most 0.05. CPU seconds are those of this process: of STreeD its `fit`,
of ours from the encoded table to the proved tree. The errors and the gap of STreeD's tree are counted from its
predictions.
"""

import argparse
import json
import time
from datetime import date
from pathlib import Path

import numpy as np

from benchmarks.constraints import TABLES, cell
from benchmarks.data import data_folder
from odtc.problem.constraints.groups import members
from tests import pipeline

ENCODING, LIMIT = "auto:levels=3,bins=8", 0.05
TASKS = {"group-fairness": "statistical_parity", "equality-of-opportunity": "equal_opportunity"}


def peer(table: str, depth: int, task: str, time_limit: float) -> dict:
    """STreeD on the tests of a table."""
    from pystreed import STreeDGroupFairnessClassifier

    file, _, group, positive, auxiliary = TABLES[table]
    problem = pipeline.pose(data_folder() / file, "dpflow", depth, encoding=ENCODING, reading={"auxiliary": auxiliary})
    data, encoded = problem.encoded.dataset, problem.encoded
    inside = members(data, group)[0] == 0
    y = (data.y == data.classes.index(positive)).astype(int)
    X = np.column_stack([inside, encoded.X[encoded.row_of]]).astype(int)
    model = STreeDGroupFairnessClassifier(
        optimization_task=task, discrimination_limit=LIMIT, max_depth=depth, time_limit=time_limit
    )
    began = time.process_time()
    try:
        model.fit(X, y)
        said = np.asarray(model.predict(X)).astype(int)
    except Exception as problem:  # it raises where it comes to no tree in time
        return {"cpu": round(time.process_time() - began, 2), "ended": type(problem).__name__}
    seconds = round(time.process_time() - began, 2)
    counted = np.ones(len(y), bool) if task == "group-fairness" else y == 1
    gap = abs(said[counted & inside].mean() - said[counted & ~inside].mean())
    ended = "optimal" if model.fit_result.is_optimal() else "open"
    return {"cpu": seconds, "ended": ended, "cost": int((said != y).sum()), "gap": round(float(gap), 4)}


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("-o", "--out", type=Path, default=Path("streed.jsonl"))
    words.add_argument("--only", default="german-credit,compas_6172")
    words.add_argument("--depth", default="2,3")
    words.add_argument("--time-limit", type=float, default=60)
    asked = words.parse_args()
    lines = [json.loads(line) for line in asked.out.read_text().splitlines()] if asked.out.exists() else []
    for table in asked.only.split(","):
        _, _, group, positive, _ = TABLES[table]
        for depth in map(int, asked.depth.split(",")):
            for task, kind in TASKS.items():
                key = {"table": table, "depth": depth, "task": task}
                if any(key.items() <= line.items() for line in lines):
                    continue
                text = f"{kind}[group={group},positive={positive}] <= {LIMIT}"
                ours = cell(table, depth, ENCODING, (text,), asked.time_limit)
                theirs = peer(table, depth, task, asked.time_limit)
                lines.append(key | {"date": date.today().isoformat(), "ours": ours, "streed": theirs})
                with asked.out.open("a") as stream:
                    stream.write(json.dumps(lines[-1]) + "\n")
                print(json.dumps(lines[-1]), flush=True)
    print("| table | depth | task | ours | CPU s | STreeD | CPU s |\n" + "|---" * 7 + "|")
    for line in lines:
        told = [
            f"{line[who].get('cost')} errors, {line[who]['ended']} | {line[who]['cpu']}" for who in ("ours", "streed")
        ]
        print(f"| {line['table']} | {line['depth']} | {line['task']} | {' | '.join(told)} |")


if __name__ == "__main__":
    main()
