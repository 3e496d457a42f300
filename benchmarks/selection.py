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
search over all thresholds of the rows that were kept, 20 s (tried on avila and htru2 at depth 3 before), or with
--choice rest by oblique_search whose candidates the rows that were not kept choose from. A file with dpflow and
training or rest has a table of the better of the two: that with fewer errors on all training rows. --tries N: rounds
of coarse_to_fine that have the whole share, and then 20 s a round.

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
from odtc.workflow.row_selection.selection import take_rows
from tests import pipeline

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
    ways = ("training", "folds", "rest", "dpflow")
    words.add_argument("--choice", default="training", choices=ways, help="of the papers' cells")
    words.add_argument("--tries", type=int, help="of coarse_to_fine, as its option")
    words.add_argument("--table", action="store_true", help="run nothing, print the tables")
    asked = words.parse_args()
    if not asked.table:
        expect_data_files(words, asked.sets.split(","))
    warnings.simplefilter("ignore")
    found = had(asked.out)
    for key in [] if asked.table else cells(asked):
        if any(
            key.items() <= record.items() and all(record.get(word) == key.get(word) for word in ("choice", "tries"))
            for record in found
        ):
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
            | ({} if asked.tries is None else {"tries": asked.tries})
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
    seconds = SECONDS
    if "tries" in key and key["select"] == "coarse_to_fine":
        options, seconds = f"{options},tries={key['tries']}", SECONDS * (key["tries"] + 1)
    model = {"model": "dpflow", "time_limit": seconds}
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
        cells.setdefault((*what, record.get("choice", "training"), record.get("tries")), []).append(record)
    head = "| set@depth | rows of | draws | kept % | test % | test at least the paper's | errors of all | CPU s |"
    lines = ["", head, "|---" * 8 + "|"]
    for (of, name, depth, share, select, choice, _), mine in cells.items():
        reached = "–"
        if of in PAPERS:
            least = PRINTED[f"{name}@{depth}"].s1o[1]
            reached = f"{sum(round(100 * one['test'], 1) >= least for one in mine)} ({least}, {choice})"
        kept, test, cpu = (np.mean([one[key] for one in mine]) for key in ("kept", "test", "cpu"))
        spread = _error(100 * np.array([one["test"] for one in mine]))
        wrong = np.array([one["errors"] for one in mine])
        error = wrong.std(ddof=min(1, len(mine) - 1)) / np.sqrt(len(mine))
        lines.append(
            f"| {name}@{depth} | {select} {share:g} | {len(mine)} | {100 * kept:.2f} | {100 * test:.1f}{spread} | "
            f"{reached} | {wrong.mean():.0f} ± {error:.0f} | {cpu:.1f} |"
        )
    return lines if cells else []


def better(found: list[dict]) -> list[str]:
    """Of each of the papers' cells that has dpflow and another choice the one with fewer errors on all training rows;
    means over the draws, if there are several."""
    cells: dict[tuple, dict[str, dict]] = {}
    for one in (one for one in found if one["of"] in PAPERS and "error" not in one):
        at = one["set"], one["depth"], one["select"], one.get("tries"), one.get("draw", 0)
        cells.setdefault(at, {})[one.get("choice", "training")] = one
    lines = []
    for other in ("training", "rest"):
        pairs: dict[tuple, list[tuple[dict, dict]]] = {}
        for at, both in cells.items():
            if other in both and "dpflow" in both:
                pairs.setdefault(at[:-1], []).append((both["dpflow"], both[other]))
        if not pairs:
            continue
        lines += [
            "",
            f"| set@depth | rows of | draws | kept % | test %, paper | dpflow | {other} | better | at least |",
        ]
        lines.append("|---" * 9 + "|")
        total, mean = np.zeros(2, int), 0
        for (name, depth, select, _), mine in pairs.items():
            paper = PRINTED[f"{name}@{depth}"]
            best = [min(pair, key=lambda one: one["errors"]) for pair in mine]
            shown = [100 * np.array([one["test"] for one in some]) for some in (*zip(*mine), best)]
            kept = 100 * np.mean([one["kept"] for one in best])
            no_more = all(100 * one["kept"] <= paper.kept for pair in mine for one in pair)
            reached = sum(no_more and round(value, 1) >= paper.s1o[1] for value in shown[2])
            total, mean = total + (reached, len(mine)), mean + (no_more and round(shown[2].mean(), 1) >= paper.s1o[1])
            of_each = " | ".join(f"{some.mean():.1f}{_error(some)}" for some in shown)
            lines.append(
                f"| {name}@{depth} | {select} | {len(mine)} | {kept:.2f} | {paper.s1o[1]} | {of_each} | {reached} |"
            )
        lines.append(
            f"dpflow or {other}: {total[0]} of {total[1]} as the issue asks, {mean} of {len(pairs)} on average"
        )
    return lines


def _error(values: np.ndarray) -> str:
    return f" ± {values.std(ddof=1) / np.sqrt(len(values)):.1f}" if len(values) > 1 else ""


if __name__ == "__main__":
    main()
