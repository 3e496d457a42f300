"""Fairness on rows that the search did not see: parity asked of the training rows, and assured for new ones.

    python -m benchmarks.fair_outside [-o fair_outside.jsonl] [--splits 10] [--sets compas_6172,adult] [--depth 2]
    python -m benchmarks.fair_outside -o fair_outside.jsonl --sets made-few,made-many
    python -m benchmarks.fair_outside -o fair_outside.jsonl --table
    python -m benchmarks.fair_outside --file loans.csv:sex:female:granted [--file …]

A set of your own is FILE:GROUP:LEVEL:POSITIVE: a CSV file whose last column is the class, its column of groups, the
level that is compared with all others, and the class that is the good answer. It takes the place of the sets
named above.

Fixed before the first run: 75 % of the complete rows train, drawn by class (scikit-learn train_test_split, the split's
number is its seed), the others test. `dpflow`, --encoding auto:levels=3,bins=8, the group no feature (--auxiliary),
statistical parity of at most --most. free: without the constraint; asked: with it; assured: with --confidence 0.95,
too, which sets a part of the training rows aside by itself. The gap is counted here from predictions and groups.

One line of JSON a fit; what the file has already is not run again. The table: means over the splits with 95 % intervals
(Student's t), the share of splits whose gap on the test rows is above the asked one, and how many were called assured.
Splits of one file overlap, so the intervals are of this file and not of its source.

Two made sets, fixed before their run, too: 4,000 (made-few) and 20,000 (made-many) rows train, 50,000 others of the
same source test; each split is a draw of its own (its seed is 71000 + the split), so that here the intervals are of the
source. Two groups of 40 and 60 %; five columns of noise with deviation 1, of which the first two are 0.8 higher in the
second group; the answer is good if the first three columns and logistic noise add up to more than 0.5.
"""

import argparse
import json
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import t as student
from sklearn.model_selection import train_test_split

import odtc
from benchmarks.constrained import had
from benchmarks.data import data_file, expect_data_files
from odtc.data.reading import fingerprint
from odtc.errors import NoSolutionError
from odtc.workflow.posing import test_rows

# By file: the column of groups, the level that is compared with all others, the class that is the good answer.
SETS = {
    "compas_6172": ("race", "African-American", "0"),
    "german-credit": ("personal_status_sex", "A92", "1"),
    "adult": ("sex", "Female", ">50K"),
    "made-few": ("group", "a", "good"),
    "made-many": ("group", "a", "good"),
}
FILES: dict[str, Path] = {}  # sets of one's own
MADE, MADE_TEST, MADE_SEED = {"made-few": 4000, "made-many": 20_000}, 50_000, 71_000
CONFIDENCE = 0.95
WAYS = ("free", "asked", "assured")


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("-o", "--out", type=Path, default=Path("fair_outside.jsonl"))
    words.add_argument("--sets", help="names of SETS, between commas; by default those that are files")
    words.add_argument("--file", action="append", default=[], metavar="FILE:GROUP:LEVEL:POSITIVE")
    words.add_argument("--splits", type=int, default=10)
    words.add_argument("--depth", type=int, default=2)
    words.add_argument("--most", type=float, default=0.05, help="the gap that is asked for")
    words.add_argument("--table", action="store_true")
    asked = words.parse_args()
    own = [_own(words, text) for text in asked.file]
    usual = ",".join(name for name in SETS if name not in MADE and name not in FILES)
    named = asked.sets if asked.sets is not None or own else usual
    names = [*(named.split(",") if named else []), *own]
    if unknown := sorted(set(names) - set(SETS)):
        words.error(f"expected --sets of {', '.join(SETS)}, got {', '.join(unknown)}")
    if not asked.table and (real := [name for name in names if name not in MADE and name not in FILES]):
        expect_data_files(words, real)
    warnings.simplefilter("ignore")
    found = had(asked.out)
    for split, name, way in [] if asked.table else product(range(asked.splits), names, WAYS):
        key = {"set": name, "depth": asked.depth, "split": split, "way": way, "most": asked.most}
        if name in FILES:
            key["data"] = fingerprint(FILES[name])[:12]
        if any(key.items() <= record.items() for record in found):
            continue
        found.append(key | run(key))
        with asked.out.open("a") as stream:
            stream.write(json.dumps(found[-1]) + "\n")
    print(table(found))


def _own(words: argparse.ArgumentParser, text: str) -> str:
    """The name of a set of one's own, which SETS and FILES then know; ends the command with a sentence for another."""
    parts = text.rsplit(":", 3)
    if len(parts) != 4 or not Path(parts[0]).is_file():
        words.error(f"expected --file FILE:GROUP:LEVEL:POSITIVE with a CSV file, got {text!r}")
    path, name = Path(parts[0]), Path(parts[0]).name
    frame = pl.read_csv(path, infer_schema_length=None, null_values=["", "?"])
    if parts[1] not in frame.columns[:-1]:
        words.error(f"expected a column of groups beside the class in {path}, got {parts[1]!r}")
    for what, column, value in (("a level", parts[1], parts[2]), ("a class", frame.columns[-1], parts[3])):
        if value not in frame[column].cast(pl.String).to_list():
            words.error(f"expected {what} of column {column!r} of {path}, got {value!r}")
    SETS[name], FILES[name] = tuple(parts[1:]), path
    return name


def run(key: dict) -> dict:
    """Accuracy and gap on training and on test rows of one fit, and CPU seconds."""
    name, depth, split, way, most = (key[word] for word in ("set", "depth", "split", "way", "most"))
    group, level, positive = SETS[name]
    train, test = made(MADE[name], MADE_SEED + split) if name in MADE else parted(name, split)
    text = f"statistical_parity[group={group}:{level},positive={positive}] <= {most}"
    began, words = time.process_time(), {"encoding": "auto:levels=3,bins=8", "time_limit": 60.0, "threads": 1}
    if way != "free":
        words["constraints"] = (text,)
    if way == "assured":
        words["confidence"] = CONFIDENCE
    try:
        done = odtc.fit(train, "dpflow", depth, reading={"auxiliary": (group,)}, **words)
    except NoSolutionError as problem:
        return {"error": str(problem)}

    def figures(some: pl.DataFrame) -> tuple[float, float]:
        rows = test_rows(done.problem, some)
        predicted = np.array(rows.classes)[done.tree.predict(rows.X)]
        truth, of_group = some["class"].cast(pl.String).to_numpy(), (some[group].cast(pl.String) == level).to_numpy()
        shares = [(predicted[at] == positive).mean() for at in (of_group, ~of_group)]
        return float((predicted == truth).mean()), float(abs(shares[0] - shares[1]))

    told = dict(zip(("train", "train_gap", "test", "test_gap"), (*figures(train), *figures(test))))
    assured = [one.holds for one in done.assured(CONFIDENCE)] if way == "assured" else [None]
    return told | {"assured": assured[0], "proved": done.proved, "cpu": round(time.process_time() - began, 2)}


def parted(name: str, split: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of a file that train and that test."""
    path = FILES.get(name) or data_file(name)
    frame = pl.read_csv(path, infer_schema_length=None, null_values=["", "?"]).drop_nulls()
    if name in FILES:
        frame = frame.rename({frame.columns[-1]: "class"})
    inside, outside = train_test_split(
        np.arange(frame.height), test_size=0.25, stratify=frame["class"].to_list(), random_state=split
    )
    return frame[np.sort(inside)], frame[np.sort(outside)]


def made(n: int, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A draw of the source: n rows that train, and others that test."""
    rng, rows = np.random.default_rng(seed), n + MADE_TEST
    second = rng.random(rows) < 0.6
    X = rng.normal(size=(rows, 5)) + 0.8 * second[:, None] * (np.arange(5) < 2)
    good = X[:, :3].sum(axis=1) + rng.logistic(size=rows) > 0.5
    columns = {f"x{j}": X[:, j] for j in range(5)}
    frame = pl.DataFrame(columns | {"group": np.where(second, "b", "a"), "class": np.where(good, "good", "bad")})
    return frame[:n], frame[n:]


def table(found: list[dict]) -> str:
    """One line a file, depth and way."""
    lines = [
        "| set@depth | asked | way | splits | training % | gap on training | test % | gap on test | above it on test "
        "| assured | CPU s |",
        "|---" * 11 + "|",
    ]
    words = ("set", "depth", "most", "way")
    for cell in sorted({tuple(one[word] for word in words) for one in found}, key=str):
        name, depth, most, way = cell
        mine = [one for one in found if tuple(one[word] for word in words) == cell]
        some = [one for one in mine if "error" not in one]
        if not some:
            lines.append(f"| {name}@{depth} | {most:g} | {way} | no tree in {len(mine)} splits |")
            continue
        shown = [interval([100 * one[word] for one in some], 1) for word in ("train", "test")]
        gaps = [interval([one[word] for one in some], 3) for word in ("train_gap", "test_gap")]
        assured = f"{sum(one['assured'] for one in some)} of {len(some)}" if way == "assured" else "–"
        lines.append(
            f"| {name}@{depth} | {most:g} | {way} | {len(some)} of {len(mine)} | {shown[0]} | {gaps[0]} | {shown[1]} "
            f"| {gaps[1]} | {sum(one['test_gap'] > most for one in some)} of {len(some)} | {assured} | "
            f"{np.mean([one['cpu'] for one in some]):.1f} |"
        )
    return "\n".join(lines)


def interval(values: list[float], digits: int) -> str:
    """The mean and its 95 % interval by Student's t."""
    if len(values) < 2:
        return f"{values[0]:.{digits}f}"
    half = student.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):.{digits}f} ± {half:.{digits}f}"


if __name__ == "__main__":
    main()
