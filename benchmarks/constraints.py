"""Trees under constraints on real tables, proved by the compiler's own search: eight sets of constraints a table.

    python -m benchmarks.constraints [-o constraints.jsonl] [--encoding auto:levels=3,bins=8] [--only german-credit]
                                     [--depth 2,3] [--sets 3,7] [--time-limit 60] [--mip] [--tenth]

One line of JSON a cell. CPU seconds are those of the search, from the encoded table to the proved tree, on one
thread; reading the file, encoding it and starting Python come before. `--mip` gives the same cells to FlowOCT and the
embedded HiGHS. `--sets` takes some of the eight by their place, from 1. `--tenth` runs a tenth of the cells, drawn
with a seed. The table of all lines that are there is printed at the end.
"""

import argparse
import json
import random
import statistics
import time
from datetime import date
from pathlib import Path

import odtc
from benchmarks.data import data_folder
from odtc.errors import NoSolutionError
from odtc.formulations.dpflow.constrained import Posed
from tests import pipeline

TENTH = 16  # the seed
BUDGET = ("features <= 3", "leaf_rows >= 20")
# table -> (file, class of the recall, group, positive class, columns that are no features)
TABLES = {
    "german-credit": ("german-credit.csv", "2", "personal_status_sex:A92", "1", ("personal_status_sex",)),
    "compas_6172": ("compas_6172.csv", "1", "race:African-American", "0", ("race",)),
    "adult": ("adult.csv.gz", ">50K", "sex", ">50K", ("sex",)),
    "pima-diabetes": ("pima-diabetes.csv", "1", "age<=30", "0", ()),
}


def sets_of(table: str) -> dict[str, tuple[str, ...]]:
    """The eight sets, as they are typed."""
    _, recall, group, positive, _ = TABLES[table]
    low, high = f"recall[{recall}] >= 0.6", f"recall[{recall}] >= 0.7"
    parity = f"statistical_parity[group={group},positive={positive}] <= 0.05"
    equal = f"equal_opportunity[group={group},positive={positive}] <= 0.05"
    sets = {
        "recall .6": (low,),
        "recall .7": (high,),
        "parity": (parity,),
        "opportunity": (equal,),
        "recall .6, parity": (low, parity),
        "recall .7, parity": (high, parity),
        "recall .6, opportunity": (low, equal),
        "recall .7, opportunity": (high, equal),
    }
    return {name: (*constraints, *BUDGET) for name, constraints in sets.items()}


def cell(table: str, depth: int, encoding: str, constraints: tuple[str, ...], time_limit: float) -> dict:
    """One search, measured."""
    file, *_, auxiliary = TABLES[table]
    problem = pipeline.pose(
        data_folder() / file,
        "dpflow",
        depth,
        encoding=encoding,
        reading={"auxiliary": auxiliary},
        constraints=constraints,
        fitting=True,
    )
    began = time.process_time()
    if not pipeline.searches(problem):
        return {"ended": "refused"}
    engine = problem.derived(Posed).search
    engine.watch(lambda: time.process_time() - began > time_limit, lambda bound, cost: None)
    found = engine.run()
    ended = "infeasible" if found.infeasible else "optimal" if found.proved else "open"
    return {"ended": ended, "cost": found.cost, "bound": found.bound, "cpu": round(time.process_time() - began, 2)}


def mip(table: str, depth: int, encoding: str, constraints: tuple[str, ...], time_limit: float) -> dict:
    """FlowOCT with the same constraints, by the embedded HiGHS."""
    file, *_, auxiliary = TABLES[table]
    try:
        facts = odtc.fit(
            data_folder() / file,
            "flowoct",
            depth,
            encoding=encoding,
            reading={"auxiliary": auxiliary},
            constraints=constraints,
            time_limit=time_limit,
            threads=1,
        ).facts
    except NoSolutionError as error:
        facts = error.outcome.to_json()
    return {"ended": str(facts["termination"]), "cost": facts["objective"], "bound": facts["bound"]}


def table_of(lines: list[dict]) -> str:
    """The lines as Markdown."""
    head = ["| table | encoding | depth | constraints | ended | errors | CPU s |", "|---|---|---|---|---|---|---|"]
    keys = ("table", "encoding", "depth", "set", "ended", "cost", "cpu")
    return "\n".join(head + [f"| {' | '.join(str(one.get(key, '')) for key in keys)} |" for one in lines])


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("-o", "--out", type=Path, default=Path("constraints.jsonl"))
    words.add_argument("--encoding", default="auto:levels=3,bins=8")
    words.add_argument("--only", default="german-credit,compas_6172,adult")
    words.add_argument("--depth", default="2,3")
    words.add_argument("--sets", default="1,2,3,4,5,6,7,8")
    words.add_argument("--time-limit", type=float, default=60)
    words.add_argument("--mip", action="store_true")
    words.add_argument("--tenth", action="store_true")
    asked = words.parse_args()
    if not data_folder().is_dir():
        print(f"no folder {data_folder()}: nothing is measured ($ODTC_DATA names another)")
        return
    lines = [json.loads(line) for line in asked.out.read_text().splitlines()] if asked.out.exists() else []
    cells = [
        (table, depth, name, constraints)
        for table in asked.only.split(",")
        for depth in map(int, asked.depth.split(","))
        for place, (name, constraints) in enumerate(sets_of(table).items(), 1)
        if place in set(map(int, asked.sets.split(",")))
    ]
    if asked.tenth:
        cells = random.Random(TENTH).sample(cells, -(-len(cells) // 10))
    for table, depth, name, constraints in cells:
        by = "mip" if asked.mip else "search"
        key = {"table": table, "encoding": asked.encoding, "depth": depth, "set": name, "by": by}
        if any(key.items() <= line.items() for line in lines):
            continue
        run = mip if asked.mip else cell
        found = run(table, depth, asked.encoding, constraints, asked.time_limit)
        lines.append(key | {"date": date.today().isoformat()} | found)
        with asked.out.open("a") as stream:
            stream.write(json.dumps(lines[-1]) + "\n")
    print(table_of(lines))
    taken = [line["cpu"] for line in lines if "cpu" in line]
    if taken:
        proved = sum(line["ended"] in ("optimal", "infeasible") for line in lines)
        seconds = f"median {statistics.median(taken):.2f}, most {max(taken):.2f}"
        print(f"\n{proved} of {len(lines)} proved; CPU seconds: {seconds}")


if __name__ == "__main__":
    main()
