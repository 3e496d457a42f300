"""Accuracy per share of the rows: what selections keep, and what a tree of these rows is worth on all and on new rows.

    python -m benchmarks.selection -o selection.jsonl [--sets avila,htru2] [--depths 2] [--shares 0.01,0.1] [--papers]
    python -m benchmarks.selection -o selection.jsonl --table

Fixed before the first run: 75 % of the rows train, drawn by class (scikit-learn's train_test_split, seed 0), the others
test. `dpflow` over all thresholds, 20 s a fit and one thread, of the rows that each selection keeps of the share; `all`
is of all rows. random is a sample drawn by class with the share, unweighted. coarse_to_fine has its defaults otherwise.
Each share is that of all training rows which the last round had.

With --papers instead the ten cells of Tables 7 and 8 of papers/000 and 003 whose data is in the folder: no more rows
than theirs (`kept` of benchmarks/oblique.py), their β1 and β2 for convex_hull, by oblique_search with 20 s and -p
choice=training, which is the nearest to the papers' own models, or with --choice folds its default, which
cross-validates over the rows that were kept (fixed before its first run, too), or with --choice dpflow by the exact
search over all thresholds of the rows that were kept, 20 s (tried on avila and htru2 at depth 3 before). A file with
both training and dpflow has a table of the better of the two: that with fewer errors on all training rows.

With --draws N instead means over N draws: of random with the seeds 0 to N - 1, and of coarse_to_fine with the training
rows in N orders, which its draws hang on (fixed on 2026-11-28, after one draw of each had been seen in the curves).
With --papers --draws N the papers' cells likewise, and in how many of the N draws test accuracy is at least theirs.

One line of JSON a cell, appended when it is done; what the file has already is not run again. Seconds are CPU time of
the selection, the search and the choice together.
"""

import argparse
import json
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.constrained import had
from benchmarks.data import data_file, expect_data_files
from benchmarks.oblique import SETS as PRINTED
from odtc import read
from odtc.errors import OdtcError
from odtc.workflow import pipeline
from odtc.workflow.row_selection.selection import take_rows

SETS = ("avila", "htru2", "pendigits", "skin-segmentation", "statlog-shuttle", "magic04")
PAPERS = ("paper", "papers")  # one draw, several
SECONDS = 20.0


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("-o", "--out", type=Path, default=Path("selection.jsonl"))
    words.add_argument("--sets", default=",".join(SETS), help="names between commas")
    words.add_argument("--depths", default="2")
    words.add_argument("--shares", default="0.01,0.03,0.1")
    words.add_argument("--selects", default="all,random,convex_hull,coarse_to_fine", help="what selects the rows")
    words.add_argument("--papers", action="store_true", help="the cells of the papers' tables")
    words.add_argument("--draws", type=int, default=0, help="of random and coarse_to_fine, for means")
    ways = ("training", "folds", "dpflow")
    words.add_argument("--choice", default="training", choices=ways, help="of the papers' cells")
    words.add_argument("--table", action="store_true", help="run nothing, print the tables")
    asked = words.parse_args()
    if not asked.table:
        expect_data_files(words, asked.sets.split(","))
    warnings.simplefilter("ignore")
    found = had(asked.out)
    for key in [] if asked.table else cells(asked):
        if any(key.items() <= record.items() and record.get("choice") == key.get("choice") for record in found):
            continue
        found.append(key | run(key))
        with asked.out.open("a") as stream:
            stream.write(json.dumps(found[-1]) + "\n")
    print(tables(found))


def cells(asked) -> list[dict]:
    """The cells asked for, smaller sets of a table first."""
    names, depths = asked.sets.split(","), list(map(int, asked.depths.split(",")))
    selects = asked.selects.split(",")
    if asked.papers:
        paper = [(name.partition("@"), printed) for name, printed in PRINTED.items() if printed.kept]
        return [
            {"set": name, "depth": int(depth), "share": printed.kept / 100, "select": select}
            | ({"of": "papers", "draw": draw} if asked.draws else {"of": "paper"})
            | ({} if asked.choice == "training" else {"choice": asked.choice})
            for draw in range(max(1, asked.draws))
            for (name, _, depth), printed in paper
            if name in names and int(depth) in depths
            for select in ("convex_hull", "coarse_to_fine")
            if select in selects
        ]
    shares = list(map(float, asked.shares.split(",")))
    if asked.draws:
        several = product(names, depths, shares, ("random", "coarse_to_fine"), range(asked.draws))
        return [
            {"set": name, "depth": depth, "share": share, "select": select, "of": "draws", "draw": draw}
            for name, depth, share, select, draw in several
            if select in selects
        ]
    return [
        {"set": name, "depth": depth, "share": share, "select": select, "of": "curve"}
        for name, depth in product(names, depths)
        for share, select in [(1.0, "all"), *product(shares, ("random", "convex_hull", "coarse_to_fine"))]
        if select in selects
    ]


def run(key: dict) -> dict:
    """Shares, accuracies and CPU seconds of one cell."""
    dataset = read(data_file(key["set"]))
    inside, outside = train_test_split(np.arange(dataset.n_rows), test_size=0.25, stratify=dataset.y, random_state=0)
    train, test = dataset.taken(np.sort(inside)), dataset.taken(np.sort(outside))
    if draw := key.get("draw", 0):
        train = train.taken(np.random.default_rng(draw).permutation(train.n_rows))
    options = f"share={key['share']:g}"
    of_paper = key["of"] in PAPERS
    if of_paper and key["select"] == "convex_hull":
        beta1, beta2 = PRINTED[f"{key['set']}@{key['depth']}"].beta
        options += f",beta1={beta1:g},beta2={beta2:g}"
    model = {"model": "dpflow", "time_limit": SECONDS}
    if of_paper and key.get("choice") != "dpflow":
        model = {"model": "oblique_search", "params": {"choice": key.get("choice", "training"), "seconds": SECONDS}}
    scheme = None if key["select"] in ("all", "random") else f"{key['select']}:{options}"
    rows = train
    if key["select"] == "random":
        kept, _ = train_test_split(
            np.arange(train.n_rows), train_size=key["share"], stratify=train.y, random_state=draw
        )
        kept = np.sort(kept)
        rows = take_rows(train, kept, train.weight[kept], {"scheme": "random"})
    began = time.process_time()
    try:
        done = pipeline.fit(rows, depth=key["depth"], select=scheme, threads=1, **model)
    except OdtcError as problem:
        return {"error": str(problem)}
    right = lambda some: float((done.tree.predict(some.X) == some.y).mean())
    return {
        "kept": done.dataset.n_rows / train.n_rows,
        "train": right(train),
        "test": right(test),
        "errors": int((done.tree.predict(train.X) != train.y).sum()),
        "bound": done.all_rows.bound if done.all_rows else done.proof.bound,
        "cpu": round(time.process_time() - began, 1),
    }


def tables(found: list[dict]) -> str:
    """The curves, and the papers' cells beside the papers."""
    head = "| set@depth | rows of | kept % | training % | test % | errors of all | no tree below | CPU s |"
    lines = [head, "|---" * 8 + "|"]
    for record in (record for record in found if record["of"] == "curve" and "error" not in record):
        bound = "–" if record["bound"] is None else f"{record['bound']:.0f}"
        lines.append(
            f"| {record['set']}@{record['depth']} | {record['select']} {record['share']:g} | "
            f"{100 * record['kept']:.2f} | {100 * record['train']:.1f} | {100 * record['test']:.1f} | "
            f"{record['errors']} | {bound} | {record['cpu']} |"
        )
    lines += [
        "",
        "| set@depth | rows of | choice | kept %, paper | kept % | test %, paper | test % | training % | CPU s |",
        "|---" * 9 + "|",
    ]
    for record in (record for record in found if record["of"] == "paper" and "error" not in record):
        paper = PRINTED[f"{record['set']}@{record['depth']}"]
        lines.append(
            f"| {record['set']}@{record['depth']} | {record['select']} | {record.get('choice', 'training')} | "
            f"{paper.kept} | {100 * record['kept']:.2f} | "
            f"{paper.s1o[1]} | {100 * record['test']:.1f} | {100 * record['train']:.1f} | {record['cpu']} |"
        )
    lines += better(found) + over_draws(found)
    for record in (record for record in found if "error" in record):
        lines.append(f"{record['set']}@{record['depth']}, {record['select']}, {record['of']}: {record['error']}")
    return "\n".join(lines)


def over_draws(found: list[dict]) -> list[str]:
    """Means of the cells of several draws, with standard errors."""
    cells: dict[tuple, list[dict]] = {}
    for record in (record for record in found if "draw" in record and "error" not in record):
        what = record["of"], record["set"], record["depth"], record["share"], record["select"]
        cells.setdefault((*what, record.get("choice", "training")), []).append(record)
    head = "| set@depth | rows of | draws | kept % | test % | test at least the paper's | errors of all | CPU s |"
    lines = ["", head, "|---" * 8 + "|"]
    for (of, name, depth, share, select, choice), mine in cells.items():
        reached = "–"
        if of in PAPERS:
            least = PRINTED[f"{name}@{depth}"].s1o[1]
            reached = f"{sum(round(100 * one['test'], 1) >= least for one in mine)} ({least}, {choice})"
        kept, test, cpu = (np.mean([one[key] for one in mine]) for key in ("kept", "test", "cpu"))
        wrong = np.array([one["errors"] for one in mine])
        error = wrong.std(ddof=min(1, len(mine) - 1)) / np.sqrt(len(mine))
        lines.append(
            f"| {name}@{depth} | {select} {share:g} | {len(mine)} | {100 * kept:.2f} | {100 * test:.1f} | "
            f"{reached} | {wrong.mean():.0f} ± {error:.0f} | {cpu:.1f} |"
        )
    return lines if cells else []


def better(found: list[dict]) -> list[str]:
    """Of each of the papers' cells that has both choices the one with fewer errors on all training rows."""
    lines = ["", "| set@depth | rows of | choice | kept %, paper | kept % | test %, paper | test % | errors of both |"]
    lines.append("|---" * 8 + "|")
    papers = [record for record in found if record["of"] == "paper" and "error" not in record]
    both = {(one["set"], one["depth"], one["select"], one.get("choice", "training")): one for one in papers}
    reached: dict[str, list[bool]] = {}
    for name, depth, select, _ in [key for key in both if key[3] == "training" and (*key[:3], "dpflow") in both]:
        pair = [both[name, depth, select, choice] for choice in ("training", "dpflow")]
        one = min(pair, key=lambda one: one["errors"])
        paper = PRINTED[f"{name}@{depth}"]
        reached.setdefault(select, []).append(
            round(100 * one["test"], 1) >= paper.s1o[1] and all(100 * each["kept"] <= paper.kept for each in pair)
        )
        lines.append(
            f"| {name}@{depth} | {select} | {one.get('choice', 'training')} | {paper.kept} | {100 * one['kept']:.2f} | "
            f"{paper.s1o[1]} | {100 * one['test']:.1f} | {' and '.join(str(each['errors']) for each in pair)} |"
        )
    return (
        []
        if not reached
        else lines + [f"{select}: {sum(each)} of {len(each)} as the issue asks" for select, each in reached.items()]
    )


if __name__ == "__main__":
    main()
