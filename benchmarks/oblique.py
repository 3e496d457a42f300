"""Oblique trees as in the tables of papers/000 and 003: training and test accuracy beside S1O and OCT-H of the papers.

    python -m benchmarks.oblique -o oblique.jsonl [--sets iris,avila@3] [--models svm1_odt,cart] [--seeds 0,1,2]
                                 [--jobs 2] [--time-limit 60] [--cv-limit 5]
    python -m benchmarks.oblique --file FILE.csv@DEPTH [--file …]

--file is a set of your own, whose last column is the class; it takes the place of the sets named below.

By default the eight sets EIGHT and one seed, which is about an hour of a core; --sets all --seeds 0,1,2 is the whole
study, ten hours, in as many runs as one likes. The data is looked for in $ODTC_DATA or ../shared/data.

One line of JSON a cell (set, depth, seed, model and limits), appended when it is done; what the file has already is
not run again, so a stopped run goes on; the tables of what is there of the cells asked for are printed at the
end (--table: at once). The rows that a selection keeps stay beside the file, in a folder of its name. 75 % of the
complete rows train, drawn by class with the seed (scikit-learn's train_test_split), the others test. Numbers that
stand for categories are numbers, as in the paper.

Fixed before the first run, for all sets alike: of each model's grid the point with the best mean accuracy over 3
folds of the training rows (odtc.evaluation.cross_validation.deal_folds, seed of the split; of equals the first; a fold
without a tree counts as 0
right) is fitted to all training rows. Each fit has --cv-limit seconds in the folds and --time-limit at the end:

    svm1_odt        margin=hard with alpha2 in {0, 0.1} and ε by the compiler, whose search for it takes up to 3 s
    beyond
                    the limit; margin=soft with alpha1=1000, alpha2=0.1 and ε in {0.01, 0.1}
    oct_h           mu in {0.005, 0.05} x alpha in {0, 0.01}
    oblique_search  -p choice=training; leaves of 1 row, or of 5 % of the rows, at least
    dpflow          --encoding oblique, pool in {25, 100} x leaves of 1 row, or of 5 % of the rows, from --start
    local_search
    cart            nothing to choose: the greedy tree of the depth, on all rows
    majority, cart_tuned, logistic
                    as in benchmarks.beside, on all rows, with folds of their own

svm1_odt and oct_h start from --start oblique, whose search has a quarter of the limit, as has that of the encoding;
oblique_search has all of it. Where the folds chose another than the first point of oblique_search or svm1_odt, that
one, which has leaves of 1 row or only errors to count, is fitted as well: what training can reach. The embedded HiGHS
on one thread. The sets of Tables 7 and 8 are trained on the rows of --select convex_hull with the paper's β1 and β2
(ε' = 0: exact), chosen anew for each fold and not for cart; numbers have 32 bins there in dpflow and 256 in cart.
Leaves predict what most of all training rows in them are, and training accuracy is that of all, selected or not.
Seconds are wall time of the last fit, the choice of rows included; those of cross-validation are a column of their
own.
"""

import argparse
import json
import time
import warnings
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split

from benchmarks.beside import beside
from benchmarks.constrained import had
from benchmarks.data import data_file, expect_data_files
from odtc import read
from odtc.data.reading import fingerprint
from odtc.errors import OdtcError
from odtc.evaluation.cross_validation import deal_folds
from odtc.evaluation.studies.paper_protocols import data_files, protocol
from odtc.workflow.row_selection.selection import select_rows, take_rows
from tests import pipeline

FOLDS = 3
OTHERS = ("majority", "cart_tuned", "logistic")  # scikit-learn's, on all rows
MODELS = ("cart", "oblique_search", "dpflow", "svm1_odt", "oct_h", *OTHERS)
FREE = {
    "oblique_search": "leaves of 1 row",
    "svm1_odt": "hard margins and alpha2 = 0",
}  # the first point of the grid, whatever the folds say


@dataclass(frozen=True)
class Paper:
    """What the paper prints, in %: (training, test) accuracy; None where the text is unsure or says N/A."""

    table: str
    s1o: tuple
    cart: tuple
    oct_h: tuple
    seconds: float | None = None  # of S1O
    kept: float | None = None  # selected rows
    beta: tuple | None = None  # β1, β2


def _sets() -> dict[str, Paper]:
    """By NAME@DEPTH, the printed figures of `odtc bench paper s1o-1` to `s1o-8` (without Table 6) whose data are known.
    Tables 3 to 8 are column by column out of order in papers/003: see benchmarks/results/oblique-tables-1-5.csv."""
    found, files = {}, data_files()
    for number in (2, 3, 4, 5, 1, 7, 8):
        for line in protocol(f"s1o-{number}").lines:
            if files[line.data].sha256 is None:
                continue
            own = "S1O-DS" if ("kept", "S1O-DS") in line.printed else "S1O"
            pairs = [
                tuple(line.printed.get((figure, method)) for figure in ("train", "test"))
                for method in (own, "CART", "OCT-H")
            ]
            beta = (line.given["beta1"], line.given["beta2"]) if line.given else None
            more = line.printed.get(("seconds", own)), line.printed.get(("kept", own)), beta
            found[line.name] = Paper(str(number), *pairs, *more)
    return found


SETS = _sets()
EIGHT = "balance-scale@2,heart-cleveland@2,ionosphere@2,iris@2,monks-1@2,parkinsons@2,sonar@2,wine@2"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("-o", "--out", type=Path, default=Path("oblique.jsonl"))
    words.add_argument("--sets", help="NAME (all its depths) or NAME@DEPTH, between commas, or all; by default eight")
    words.add_argument("--file", action="append", default=[], metavar="FILE@DEPTH", help="a file that no paper names")
    words.add_argument("--models", default=",".join(MODELS))
    words.add_argument("--seeds", default="0")
    words.add_argument("--time-limit", type=float, default=60)
    words.add_argument("--cv-limit", type=float, default=5)
    words.add_argument("--jobs", type=int, default=1, help="cells at once")
    words.add_argument("--table", action="store_true", help="run nothing, print the tables")
    asked = words.parse_args()
    limits = {"time_limit": asked.time_limit, "cv_limit": asked.cv_limit}
    chosen = "" if asked.sets is None and asked.file else asked.sets or EIGHT
    sets = list(SETS) if chosen == "all" else chosen.split(",") if chosen else []
    named = [cell for word in sets for cell in known(word, SETS, words)]
    if named and not asked.table:
        expect_data_files(words, (cell.partition("@")[0] for cell in named))
    files = dict(own(text, words) for text in asked.file)
    SETS.update({cell: Paper("own", *[(None, None)] * 3) for cell in files})
    named += files
    models = [model for word in asked.models.split(",") for model in known(word, MODELS, words)]
    keys = [
        {"set": cell, "seed": int(seed), "model": model}
        | limits
        | ({"data": fingerprint(files[cell])[:12]} if cell in files else {})
        for seed, cell, model in product(asked.seeds.split(","), named, models)
    ]
    found = [record for record in had(asked.out) if any(key.items() <= record.items() for key in keys)]
    todo = [] if asked.table else [key for key in keys if not any(key.items() <= record.items() for record in found)]
    for record in Parallel(asked.jobs, return_as="generator_unordered", batch_size=1)(
        delayed(run)(key, asked.out.with_suffix(".rows"), files.get(key["set"])) for key in todo
    ):
        found.append(record)
        with asked.out.open("a") as stream:
            stream.write(json.dumps(record) + "\n")
    print(tables(found))


def known(word: str, names, words) -> list[str]:
    """The names that are this word, or this word with a depth."""
    fitting = [name for name in names if word in (name, name.partition("@")[0])]
    return fitting or words.error(f"expected one of {', '.join(names)}, got {word!r}")


def grid(model: str, n: int, limit: float, large: bool) -> list[dict]:
    """The points of a model's grid for `n` training rows, as words of pipeline.fit."""
    leaves = ((), (f"leaf_rows >= {max(1, round(0.05 * n))}",))
    if model == "cart":
        return [{"encoding": "auto:bins=256"} if large else {}]  # all thresholds of htru2 took minutes
    if model == "oblique_search":
        training = {"choice": "training", "seconds": limit, "restarts": 10**6}
        return [{"params": training, "constraints": least} for least in leaves]
    if model == "dpflow":
        bins = ",bins=32" if large else ""
        return [
            {
                "encoding": f"oblique:pool={pool},seconds={limit / 4:g}{bins}",
                "start_from": "local_search",
                "constraints": least,
            }
            for pool, least in product((25, 100), leaves)
        ]
    start = {"start_from": f"oblique:seconds={limit / 4:g}"}
    if model == "oct_h":
        return [start | {"params": {"mu": mu, "alpha": alpha}} for mu, alpha in product((0.005, 0.05), (0.0, 0.01))]
    soft = {"margin": "soft", "alpha1": 1000.0, "alpha2": 0.1}
    points = [
        {"margin": "hard", "alpha2": 0.0},
        {"margin": "hard", "alpha2": 0.1},
        soft | {"epsilon": 0.01},
        soft | {"epsilon": 0.1},
    ]
    return [start | {"params": point} for point in points]


def own(text: str, words) -> tuple[str, Path]:
    """(NAME@DEPTH, file) of a set that no paper names; ends the command with a sentence for another text."""
    file, _, depth = text.rpartition("@")
    if not depth.isdecimal() or not Path(file).is_file():
        words.error(f"expected --file FILE@DEPTH with a file of data, got {text!r}")
    return f"{Path(file).name}@{depth}", Path(file)


def run(key: dict, folder: Path, file: Path | None = None) -> dict:
    """One cell: the grid by cross-validation, the best point on the training rows, and both accuracies; `file` is that
    of a set of one's own."""
    warnings.simplefilter("ignore")
    name, model, seed, depth = key["set"], key["model"], key["seed"], int(key["set"].partition("@")[2])
    dataset = read(file or data_file(name.partition("@")[0]))
    inside, outside = train_test_split(np.arange(dataset.n_rows), test_size=0.25, stratify=dataset.y, random_state=seed)
    if model in OTHERS:
        began = time.monotonic()
        ((on_train, on_test),) = beside(dataset, np.sort(inside), np.sort(outside), depth, (model,)).values()
        spent = {"seconds": round(time.monotonic() - began, 2), "cv_seconds": 0.0}
        rows = {"n_train": len(inside), "n_test": len(outside)}
        return key | rows | spent | {"train": round(on_train, 6), "test": round(on_test, 6)}
    train, test = dataset.taken(np.sort(inside)), dataset.taken(np.sort(outside))
    large = file is None and SETS[name].beta is not None
    scheme = "convex_hull:beta1={:g},beta2={:g}".format(*SETS[name].beta) if large and model != "cart" else None
    facts = {"n_train": train.n_rows, "n_test": test.n_rows}
    try:
        began = time.monotonic()
        scores, place = [], 0
        if len(grid(model, train.n_rows, 1, large)) > 1:
            fold = deal_folds(train.y, FOLDS, seed)
            for k in range(FOLDS):
                rows, held = train.taken(np.flatnonzero(fold != k)), train.taken(np.flatnonzero(fold == k))
                kept, _ = chosen(rows, scheme, depth, folder / f"{name}-{seed}-{k}.json")
                scores.append(
                    [
                        right(fitted(kept, model, depth, point, key["cv_limit"], seed), held)
                        for point in grid(model, kept.n_rows, key["cv_limit"], large)
                    ]
                )
            place = int(np.argmax(np.round(np.mean(scores, axis=0), 12)))
            facts["cv_scores"] = np.mean(scores, axis=0).round(4).tolist()
        facts["cv_seconds"] = round(time.monotonic() - began, 2)
        kept, selecting = chosen(train, scheme, depth, folder / f"{name}-{seed}.json")
        point, began = grid(model, kept.n_rows, key["time_limit"], large)[place], time.monotonic()
        done = fitted(kept, model, depth, point, key["time_limit"], seed, must=True)
        facts |= {
            "seconds": round(selecting + time.monotonic() - began, 2),
            "select_seconds": round(selecting, 2),
            "n_kept": kept.n_rows,
            "point": place,
            "words": {name: value for name, value in point.items() if value},
            "train": right(done, train),
            "test": right(done, test),
        }
        facts |= {name: done.facts.get(name) for name in ("termination", "objective", "bound", "verified")}
        if model in FREE:
            free = (
                done
                if place == 0
                else fitted(
                    kept, model, depth, grid(model, kept.n_rows, key["time_limit"], large)[0], key["time_limit"], seed
                )
            )
            facts["train_free"] = right(free, train)
    except OdtcError as problem:
        facts |= {"termination": type(problem).__name__, "message": str(problem)}
    return key | facts


def chosen(dataset, scheme: str | None, depth: int, file: Path):
    """The rows that the selection keeps and the seconds that it took, from the file where it was made before."""
    if scheme is None:
        return dataset, 0.0
    if not file.exists():
        began = time.monotonic()
        rows = select_rows(dataset, scheme, depth, jobs=1).selected.rows
        file.parent.mkdir(parents=True, exist_ok=True)
        half = file.with_suffix(f".{time.monotonic_ns()}")
        half.write_text(json.dumps({"scheme": scheme, "seconds": time.monotonic() - began, "rows": rows.tolist()}))
        half.rename(file)
    facts = json.loads(file.read_text())
    rows = np.array(facts["rows"])
    return take_rows(dataset, rows, dataset.weight[rows], {"scheme": scheme}), facts["seconds"]


def fitted(dataset, model: str, depth: int, point: dict, limit: float, seed: int, must: bool = False):
    """The fit, or None where there is no tree and there need be none."""
    try:
        return pipeline.fit(dataset, model, depth, threads=1, time_limit=limit, seed=seed, **point)
    except OdtcError:
        if must:
            raise
        return None


def right(done, dataset) -> float:
    return 0.0 if done is None else round(float((done.tree.predict(dataset.X) == dataset.y).mean()), 6)


def tables(found: list[dict]) -> str:
    """Accuracies, where they meet the papers', and seconds with the selected share."""
    models = [model for model in MODELS if any(record["model"] == model for record in found)]
    cells = {
        (name, model): [record for record in found if (record["set"], record["model"]) == (name, model)]
        for name in SETS
        for model in models
    }
    names = [name for name in SETS if any(cells[name, model] for model in models)]
    lines = [
        "Training / test accuracy, %, means over the seeds (how many, if not the same for all), of the test ± the "
        "standard error:",
        "",
        f"| set@depth | table | {' | '.join(models)} | paper S1O | paper OCT-H | paper CART |",
        "|---" * (5 + len(models)) + "|",
    ]
    most = max((len(records) for records in cells.values()), default=0)
    for name in names:
        paper = SETS[name]
        printed = [
            " / ".join("–" if value is None else f"{value:.1f}" for value in pair)
            for pair in (paper.s1o, paper.oct_h, paper.cart)
        ]
        lines.append(
            f"| {name} | {paper.table} | "
            f"{' | '.join([accuracy(cells[name, model], most) for model in models] + printed)} |"
        )
    shared = [name for name in names if all(any("test" in record for record in cells[name, model]) for model in models)]
    lines += (
        [
            "",
            f"Means of test accuracy over the {len(shared)} sets that all models have: "
            + ", ".join(
                f"{model} {100 * np.mean([mean(cells[name, model], 'test') for name in shared]):.1f}"
                for model in models
            )
            + ("; paper " if any(None not in values for values in printed_tests(shared).values()) else "")
            + ", ".join(
                f"{title} {np.mean(values):.1f}"
                for title, values in printed_tests(shared).items()
                if None not in values
            )
            + ".",
        ]
        if shared
        else []
    )
    printed_names = [name for name in names if SETS[name].s1o[0] is not None]
    for model, fact, words in [(model, "train", "") for model in models] + [
        (model, "train_free", f" with {words}") for model, words in FREE.items()
    ]:
        having = [name for name in printed_names if any(fact in record for record in cells.get((name, model), ()))]
        if not having:
            continue
        reached = {name: 100 * mean(cells[name, model], fact) for name in having}
        least = [
            f"{name} ({reached[name]:.1f}, S1O {SETS[name].s1o[0]})"
            for name in having
            if reached[name] < SETS[name].s1o[0] - 0.05
        ]  # the paper has one decimal
        lines += [
            "",
            f"Training accuracy of {model}{words} at least S1O's on {len(having) - len(least)} of {len(having)}"
            + (f"; below it: {', '.join(least)}" if least else "")
            + ".",
        ]
    lines += [
        "",
        "Seconds of the last fit (of cross-validation), and the rows that it was trained on:",
        "",
        f"| set@depth | {' | '.join(models)} | paper S1O s | kept % | paper kept % |",
        "|---" * (4 + len(models)) + "|",
    ]
    for name in names:
        records = [record for model in models if model != "cart" for record in cells[name, model] if "n_kept" in record]
        share = f"{100 * np.mean([record['n_kept'] / record['n_train'] for record in records]):.2f}" if records else "–"
        printed = [
            f"{SETS[name].seconds:g}" if SETS[name].seconds else "–",
            share,
            f"{SETS[name].kept:g}" if SETS[name].kept else "100",
        ]
        lines.append(f"| {name} | {' | '.join([spent(cells[name, model]) for model in models] + printed)} |")
    failed = [
        f"- {record['set']}, {record['model']}, seed {record['seed']}: {record['termination']}: {record['message']}"
        for record in found
        if "message" in record
    ]
    return "\n".join([*lines, *(["", "Without a tree:", "", *failed] if failed else [])])


def printed_tests(names: list[str]) -> dict[str, list]:
    """The paper's test accuracies of these sets."""
    return {
        "S1O": [SETS[name].s1o[1] for name in names],
        "OCT-H": [SETS[name].oct_h[1] for name in names],
        "CART": [SETS[name].cart[1] for name in names],
    }


def mean(records: list[dict], name: str) -> float:
    return float(np.mean([record[name] for record in records if name in record]))


def accuracy(records: list[dict], most: int) -> str:
    having = [record for record in records if "test" in record]
    if not having:
        return "no tree" if records else "–"
    test = [record["test"] for record in having]
    error = f" ± {100 * np.std(test, ddof=1) / np.sqrt(len(test)):.1f}" if len(test) > 1 else ""
    return f"{100 * mean(having, 'train'):.1f} / {100 * mean(having, 'test'):.1f}{error}" + (
        f" ({len(having)})" if len(having) < most else ""
    )


def spent(records: list[dict]) -> str:
    having = [record for record in records if "seconds" in record]
    return f"{mean(having, 'seconds'):.1f} ({mean(having, 'cv_seconds'):.0f})" if having else "–"


if __name__ == "__main__":
    main()
