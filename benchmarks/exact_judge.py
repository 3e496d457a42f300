"""Compare every claim of odtc on drawn tiny tables with exact exhaustive search.

    python -m benchmarks.exact_judge --draws 1000 --seed 1 [--tasks classification,median] [--models auto,flowoct]
                                     [--keep FOLDER]

The reference (benchmarks.exact_reference) shares no code with odtc. It reads the text of the CSV file as fractions and
tries all trees of depth 1 or 2 in exact arithmetic; logarithms of survival have 60 digits. Draws mix magnitudes from
1e-9 to 1e15, exact ties, bounds of constraints that a tree just reaches, thresholds between adjacent doubles, missing
cells, and targets far from 0. Most draws run in memory, some through an estimator, and 3 of 100 through the command
line; there the run is also verified, changed by 1e-12 of its objective or bound, and verified again.

A claim is false if "optimal" is printed with another objective or bound than the reference has, if the tree breaks a
constraint or costs something else, if "infeasible" is printed although a tree exists, if the nearest value of a
constraint cannot be reached, if a bound is above the optimum, or if odtc fails. "Best found" is allowed, and counted.
The exit code is 1 if there was a false claim; each is printed with its command, and its table is kept in FOLDER.
"""

import argparse
import contextlib
import io
import json
import math
import random
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from pathlib import Path

from benchmarks.exact_reference import Case, Reference, drawn_constraints, nearest_faults

TASKS = {"classification": 10, "regression": 4, "median": 3, "survival": 2, "policy": 2}  # how often each is drawn
MODELS = {"auto": 60, "dpflow": 6, "cg": 5, "flowoct": 4, "bendersoct": 3, "oct": 3, "binoct": 3, "fair": 3}
SOLVERS = {"dpflow": ["highs", "highs", "scip", "cbc", "glpk"], "flowoct": ["highs", "highs", "scip", "cbc"]}
MAGNITUDES = ["none", "whole", "whole", "tenths", "sums", "digits", "mixed", "huge", "offset"]
LOGARITHM = Fraction(1, 10**45)  # of a weight: the reference takes logarithms to 60 digits
LAST_PLACES = 4e-16  # relative difference of two neighbouring floats, with room for one rounding


def numbers(draw: random.Random, kind: str, count: int, signed: bool = False) -> list[str]:
    """Decimal texts of one kind of magnitudes, each the shortest text of its double."""

    def one() -> str:
        if kind in ("none", "whole"):
            return str(draw.randint(1, 9))
        if kind == "tenths":
            return repr(draw.randint(1, 9) / 10)
        if kind == "sums":
            return draw.choice(["0.1", "0.2", "0.3", repr(0.1 + 0.2), "0.6", repr(0.1 * 3 + 0.3), "0.7", repr(0.1 * 7)])
        if kind == "digits":
            return repr(draw.random() * 10 ** draw.randint(-3, 3))
        if kind == "mixed":
            return repr(float(f"{draw.randint(1, 9)}e{draw.randint(-9, 15)}"))
        if kind == "huge":
            return draw.choice(["1", "2", "3", "1000000000000000", "100000000000000", "0.5"])
        base = draw.choice([10**9, 10**10, 10**12])
        return repr(base + draw.randint(0, 9) * draw.choice([1, 0.125]))

    found = [one() for _ in range(count)]
    if kind == "adjacent":
        start = draw.choice([0.1, 1.0, 1e9, 1e-7, 1e15])
        near = [start, math.nextafter(start, math.inf)]
        near += [math.nextafter(near[1], math.inf), start * 2]
        found = [repr(draw.choice(near)) for _ in range(count)]
    if kind == "outlier" and count:
        found = [repr(round(draw.random(), 3)) for _ in range(count)]
        found[draw.randrange(count)] = draw.choice(["1000000000.0", "1000000000000.0"])
    return [f"-{text}" if signed and draw.random() < 0.3 else text for text in found]


def drawn(draw: random.Random, tasks: list[str], models: list[str]) -> Case:
    """Draw a case."""
    task = draw.choices(tasks, [TASKS[name] for name in tasks])[0]
    model = draw.choices(models, [MODELS[name] for name in models])[0]
    if task in ("regression", "survival") and model not in ("auto", "dpflow"):
        model = "auto"
    bound = draw.random() < 0.4
    n, classes = draw.randint(3, 6 if bound else 8), 2 if bound else draw.choice([2, 2, 3])
    table: list[dict[str, str]] = [{} for _ in range(n)]
    case = Case(task, table, draw.choice([1, 2, 2]), {"task": task}, {"model": model})

    def put(name: str, cells: list[str]) -> None:
        for row, cell in zip(table, cells):
            row[name] = cell

    for j in range(draw.randint(1, 2 if bound else 3)):
        kind = draw.choice(["few", "few", "adjacent", "mixed", "digits", "level"])
        few = [str(draw.randint(0, 3)) for _ in range(n)]
        levels = [draw.choice("rgb") for _ in range(n)]
        put(
            f"x{j}", few if kind == "few" else levels if kind == "level" else numbers(draw, kind, n, kind != "adjacent")
        )
    if draw.random() < 0.15:
        case.reading["missing"] = draw.choice(["separate", "drop"])
        draw.choice(table)["x0"] = ""
    weights, kind = draw.choice(MAGNITUDES), draw.choice([*MAGNITUDES[1:], "outlier", "adjacent"])
    case.magnitudes = (weights, kind)
    if weights != "none":
        put("w", numbers(draw, weights, n))
        case.reading["weights"] = "w"
    if task in ("regression", "median"):
        put("y", numbers(draw, kind, n, signed=True))
    elif task == "policy":
        case.reading["actions"] = ("a", "b", "c")[:classes]
        for name in case.reading["actions"]:
            put(name, numbers(draw, kind, n))
    elif task == "survival":
        put("t", numbers(draw, kind, n))
        put("e", [draw.choice("011") for _ in range(n)])
        case.reading |= {"time": "t", "event": "e"}
    else:
        put("g", [draw.choice("ab") for _ in range(n)])
        put("y", [f"c{draw.randrange(classes)}" for _ in range(n)])
        case.reading["auxiliary"] = ("g",)
        labels = sorted({row["y"] for row in table})
        if draw.random() < 0.4 and model != "cg":
            pairs = list(permutations(labels, 2))
            costs = zip(pairs, numbers(draw, kind, len(pairs)))
            case.how["cost"] = ",".join(f"{true}:{said}={cost}" for (true, said), cost in costs)
        elif draw.random() < 0.3:
            costs = zip(labels, numbers(draw, kind, len(labels)))
            case.how["class_weight"] = ",".join(f"{label}={cost}" for label, cost in costs)
    solver = (
        draw.choice(SOLVERS.get(model, ["highs"])) if model not in ("auto", "dpflow") or draw.random() < 0.7 else ""
    )
    if model != "auto" and solver:
        case.how["solver"] = solver if task not in ("regression", "survival") else "highs"
    if draw.random() < 0.35 and model in ("auto", "dpflow", "flowoct", "bendersoct"):
        case.how["params"] = {"lambda": draw.choice(["0.1", "0.5", "1e-7", "1e-9", "0.30000000000000004", "0.999"])}
    elif draw.random() < 0.4 and model == "oct":
        case.how["params"] = {"alpha": draw.choice(["0.1", "1e-7"])}
    used = [name for name in table[0] if name != "w" and name != "g"]
    settled = all(row.get("x0") != "" or case.reading["missing"] != "drop" for row in table)
    if bound and used and settled and len({row.get("y") for row in table}) > 1 and model != "cg":
        case.how["constraints"] = drawn_constraints(draw, case)
    plain = not {"cost", "class_weight", "missing"} & {*case.how, *case.reading} and task not in ("policy", "survival")
    plain = plain and all(cell not in "rgb" for row in table for name, cell in row.items() if name.startswith("x"))
    case.way = draw.choices(["memory", "estimator", "command", "files"], [87, 10 * plain, 2, model != "auto"])[0]
    if case.way == "estimator":  # the table in memory has no column for groups
        case.how["constraints"] = tuple(text for text in case.how.get("constraints", ()) if "group=" not in text)
    return case


@dataclass
class Outcome:
    """What odtc claimed: "optimal", "infeasible", "best", "not verified" or "refused"; `text` is its message."""

    claim: str
    objective: float | None = None
    bound: float | None = None
    tree: dict | None = None
    text: str = ""


def without_tree(text: str) -> str:
    """Return the claim of a message that there is no tree; a solver's claim that its start contradicts is none."""
    return "infeasible" if ("proved: " in text or "infeasible" in text) and "ended as error" not in text else "best"


def in_memory(case: Case, path: Path) -> Outcome:
    import odtc

    how = {**case.reading, **case.how}
    try:
        done = odtc.fit(str(path), depth=case.depth, **how)
    except odtc.NoSolutionError as none:
        return Outcome(without_tree(str(none)), text=str(none))
    except odtc.OdtcError as refused:
        return Outcome("refused", text=str(refused))
    claim = "optimal" if done.proved else "best" if done.verified else "not verified"
    return Outcome(claim, done.proof.objective, done.proof.bound, done.tree.to_json(), done.solution.message)


def by_estimator(case: Case, path: Path) -> Outcome:
    """Fit a classifier or a regressor of the interface of scikit-learn to the numbers of a table."""
    import odtc

    names = [name for name in case.table[0] if name.startswith("x")]
    X = [[float(row[name]) for name in names] for row in case.table]
    how = {key: value for key, value in case.how.items() if key in ("params", "solver", "model", "constraints")}
    if case.task == "classification":
        kind, y = odtc.OptimalTreeClassifier, [row["y"] for row in case.table]
    else:
        name = "absolute_error" if case.task == "median" else "squared_error"
        kind, y = odtc.OptimalTreeRegressor, [float(row["y"]) for row in case.table]
        how["criterion"] = name
    weight = [float(row["w"]) for row in case.table] if "weights" in case.reading else None
    try:
        done = kind(max_depth=case.depth, **how).fit(X, y, sample_weight=weight)
    except odtc.NoSolutionError as none:
        return Outcome(without_tree(str(none)), text=str(none))
    except odtc.OdtcError as refused:
        return Outcome("refused", text=str(refused))
    return Outcome("optimal" if done.is_optimal_ else "best", done.objective_, done.bound_)


def by_files(case: Case, path: Path) -> Outcome:
    """Run the command line: fit and verify and two forgeries, or build, solve and decode."""

    def odtc(*words: str) -> subprocess.CompletedProcess:
        given = [sys.executable, "-P", "-m", "odtc", *words]
        return subprocess.run(given, cwd=path.parent, capture_output=True, text=True, timeout=300)

    words = case.words(path.name)
    for old in path.parent.glob("run.*"):
        old.unlink()
    if case.way == "files":
        solver = ["--solver", case.how.get("solver", "highs")]
        rest = [word for pair in zip(words[2::2], words[3::2]) if pair[0] != "--solver" for word in pair]
        ended = [odtc("build", path.name, *rest, "-o", "run"), odtc("solve", "run.mps", *solver)]
        ended += [odtc("decode", "run.sol", "--json")] if not any(done.returncode for done in ended) else []
        done = next((done for done in ended if done.returncode), ended[-1])
    else:
        done = odtc(*words, "-o", "run", "--json")
    if done.returncode not in (0, 1, 2, 3) or "Traceback" in done.stderr:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr[-500:]}")
    if done.returncode:
        return Outcome(without_tree(done.stderr) if done.returncode == 3 else "refused", text=done.stderr)
    facts = json.loads(done.stdout)
    proved = facts["objective"] == facts["bound"]
    claim = "not verified" if not facts["verified"] else "optimal" if proved else "best"
    tree = json.loads((path.parent / "run.tree.json").read_text())
    record = path.parent / "run.run.json"
    if case.way == "command":
        checked = odtc("verify", "run")
        if facts["verified"] and checked.returncode:
            raise RuntimeError(f"verify refuses an honest run: {checked.stdout[-500:]} {checked.stderr[-500:]}")
        honest, kept = json.loads(record.read_text()), record.read_text()
        for changed in (("objective",), ("bound",), ("objective", "bound")):
            if claim != "optimal" or not facts["objective"]:
                continue
            forged = {name: honest[name] * (1 + 1e-12) for name in changed}
            if "bound" in changed and "objective" not in changed:
                forged["bound"] = honest["bound"] + abs(honest["bound"])
            if honest | forged == honest:  # a solver's point may cost 0 where the tree does not
                continue
            record.write_text(json.dumps(honest | forged))
            if not (checked := odtc("verify", "run")).returncode:
                raise RuntimeError(f"verify accepts a forged run: {forged} {checked.stdout[-300:]}")
        record.write_text(kept)
    return Outcome(claim, facts["objective"], facts["bound"], tree, done.stderr)


def near(claimed: float | None, exact: Fraction) -> bool:
    return claimed is not None and abs(Fraction(claimed) - exact) <= Fraction(LAST_PLACES) * abs(exact)


def faults(case: Case, outcome: Outcome) -> list[str]:
    """What of an outcome the reference contradicts."""
    if outcome.claim in ("refused", "not verified"):
        return []
    reference, found = Reference(case), []
    optimum = reference.optimum()
    if outcome.claim == "infeasible":
        found += ["infeasible, but there is a tree"] if optimum is not None else nearest_faults(reference, outcome.text)
        return found
    if outcome.claim == "best" and outcome.objective is None:
        return []
    if optimum is None:
        return [f"a tree of objective {outcome.objective}, but none keeps the constraints"]
    if outcome.claim == "optimal":
        for name, value in (("objective", outcome.objective), ("bound", outcome.bound)):
            found += [f"{name} {value!r}, right is {float(optimum)!r}"] if not near(value, optimum) else []
    elif outcome.bound is not None and outcome.bound > optimum and not near(outcome.bound, optimum):
        found.append(f"bound {outcome.bound!r} above the optimum {float(optimum)!r}")
    if outcome.tree is None:
        return found
    tree = reference.routed(outcome.tree["root"])
    if not reference.keeps(tree, reference.constraints):
        found.append("the tree breaks a constraint")
    cost = reference.objective(tree)
    if not near(outcome.objective, cost):
        found.append(f"objective {outcome.objective!r}, but the tree costs {float(cost)!r}")
    if outcome.claim == "optimal" and cost - optimum > (
        LOGARITHM * sum(reference.weight) if case.task == "survival" else 0
    ):
        found.append(f"the tree costs {float(cost)!r}, the best {float(optimum)!r}")
    return found


def judged(case: Case, folder: Path) -> tuple[Outcome, list[str]]:
    """Run a case, and compare it with the reference."""
    path = folder / "case.csv"
    case.write(path)
    run = {"memory": in_memory, "estimator": by_estimator}.get(case.way, by_files)
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            outcome = run(case, path)
            return outcome, faults(case, outcome)
        except Exception as failed:  # every failure is a finding
            return Outcome("failed"), [f"{type(failed).__name__}: {failed!s:.600}"]


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--draws", type=int, default=1000)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--tasks", default=",".join(TASKS))
    words.add_argument("--models", default=",".join(MODELS))
    words.add_argument("--keep", type=Path, help="folder for the tables of false claims")
    given = words.parse_args()
    counts: Counter = Counter()
    open_ended: Counter = Counter()
    false = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(given.draws):
            draw = random.Random(f"{given.seed}/{number}")
            case = drawn(draw, given.tasks.split(","), given.models.split(","))
            outcome, found = judged(case, Path(folder))
            model = f"{case.how['model']}{'+' + case.how['solver'] if 'solver' in case.how else ''}"
            counts[case.task, model, case.way, outcome.claim] += 1
            if outcome.claim in ("best", "not verified"):
                open_ended[case.task, "solver" if "solver" in case.how else "search", *sorted({*case.magnitudes})] += 1
            if given.keep and outcome.claim == "refused":
                print(outcome.text[:200])
            if not found:
                continue
            false += 1
            print(f"{given.seed}/{number} [{case.way}]: {'; '.join(found)}", flush=True)
            name = f"false-{given.seed}-{number}.csv"
            print("   odtc", " ".join(f"'{word}'" for word in case.words(name)), flush=True)
            if given.keep:
                given.keep.mkdir(parents=True, exist_ok=True)
                case.write(given.keep / name)
    for key, count in sorted(counts.items()):
        print(f"{count:6}  {'  '.join(key)}")
    for key, count in open_ended.most_common():
        print(f"{count:6}  open: {'  '.join(key)}")
    print(f"{given.draws} draws, {false} false claims")
    return int(false > 0)


if __name__ == "__main__":
    sys.exit(main())
