"""The command line of the net; see the docstring of benchmarks.net."""

import argparse
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import benchmarks.net
from benchmarks.net import reference
from benchmarks.net.cells import AT_LIMIT, CPU_LIMIT, Cell, cells
from benchmarks.net.measure import Run, Tree, compile_kernels, listed, run
from benchmarks.net.names import Names
from benchmarks.net.tables import ROOT, table_file
from benchmarks.net.verdict import (
    CLOSE,
    SLOWER,
    Verdict,
    judge_answers,
    judge_limits,
    judge_times,
    ratios,
    read_answers,
    write_answers,
)

FOLDER = ROOT / ".venv/net"  # checkouts with their kernels, tables, and what was measured
ROUNDS = 5
PAIR = 2  # processes of the reduced form


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.net",
        description=benchmarks.net.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("revisions", nargs="*", help="none, or two: REV1 REV2")
    parser.add_argument("--quick", action="store_true", help="the reduced form: answers of some cells, two at a time")
    parser.add_argument("--first", action="store_true", help="first runs: no kernels on disk; only the base install")
    parser.add_argument("--cells", default="", metavar="TEXT", help="only cells whose names contain this text")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="runs of each cell and commit")
    parser.add_argument("--no-limits", action="store_true", help="leave out the tables at a time limit")
    parser.add_argument("--store", action="store_true", help="write answers.csv, confirmed by exhaustive search")
    parser.add_argument("-o", "--out", type=Path, help="write the table as CSV")
    parser.add_argument("--resume", type=Path, help="JSONL file of finished cells, which are not measured again")
    given = parser.parse_args()
    chosen = [cell for cell in cells() if given.cells in cell.name and (cell.quick or not given.quick)]
    if len(given.revisions) == 2:
        verdict = compare(*given.revisions, chosen, given)
    elif given.revisions:
        parser.error("expected no revision or two")
    else:
        verdict = first_runs() if given.first else this_checkout(chosen, given)
    print(verdict)
    sys.exit(verdict.red)


def measure(tree: Tree, cell: Cell, **how) -> Run | None:
    """One run of a cell; None if its table is not there."""
    path = table_file(cell.table, _folder("tables"))
    # A solver in another process has its own clock.
    cpu_clock = "--solver" not in cell.options
    return None if path is None else run(tree, cell.words(path), cpu_clock=cpu_clock, **how)


def _folder(name: str) -> Path:
    path = FOLDER / name
    path.mkdir(parents=True, exist_ok=True)
    return path


def this_checkout(chosen: list[Cell], given) -> Verdict:
    """Run the cells from this checkout, and compare their answers with the stored ones."""
    tree = Tree(ROOT, Names.of(ROOT, sys.executable))
    verdict, done = Verdict(), _finished(given.resume)

    def one(cell: Cell):
        return done[cell.name][0][0] if cell.name in done else measure(tree, cell)

    found: dict[str, Run] = {}
    with ThreadPoolExecutor(PAIR if given.quick else 1) as pool:
        for cell, result in zip(chosen, pool.map(one, chosen)):
            if result is None:
                verdict.notes.append(f"{cell.name}: its table is not in $ODTC_DATA")
                continue
            found[cell.name] = result
            _finish(given.resume, cell.name, [[result]], done)
    answers = {name: result.answer for name, result in found.items()}
    if given.store:
        write_answers(read_answers() | confirmed(chosen, answers))
    judge_answers(read_answers(), answers, verdict)
    if not given.quick:
        lines = table(found)
        print("\n".join(",".join(line) for line in lines[: 1 + 20]))
        if given.out:
            given.out.write_text("\n".join(",".join(line) for line in lines) + "\n")
    print(f"{len(found)} cells, {sum(one.cpu for one in found.values()):.0f} CPU s")
    return verdict


def _finished(path: Path | None) -> dict[str, list[list[Run]]]:
    """{cell: runs of each commit} of a file of finished cells."""
    lines = path.read_text().splitlines() if path and path.is_file() else []
    held = [json.loads(line) for line in lines]
    return {one["cell"]: [[Run(**fields) for fields in runs] for runs in one["rounds"]] for one in held}


def _finish(path: Path | None, name: str, rounds: list[list[Run]], done) -> None:
    """Append a cell to the file of finished ones."""
    if path and name not in done:
        with path.open("a") as stream:
            stream.write(json.dumps({"cell": name, "rounds": [[vars(one) for one in runs] for runs in rounds]}) + "\n")


def confirmed(chosen: list[Cell], answers: dict[str, dict]) -> dict[str, dict]:
    """The answers, with the optimum of exhaustive search where that is possible, and `bug` where they contradict it."""
    found = {}
    for cell in chosen:
        if cell.name not in answers:
            continue
        answer = found[cell.name] = {"cell": cell.name} | answers[cell.name]
        if cell.command == "tune" or cell.table.startswith("data:"):
            continue
        path = table_file(cell.table, _folder("tables"))
        try:
            if cell.command == "frontier":
                values = reference.frontier(path, cell.options)
                shown = listed(None if value is None else float(value) for value in values)
                answer["bug"] = None if shown == answer.get("more") else f"right are {shown}"
                continue
            optimum = reference.least(path, cell.options)
        except reference.Unknown:
            continue
        paid = answer.get("objective")
        right = paid is None and answer["ended"] == "infeasible"
        if optimum is not None:
            right = paid is not None and abs(paid - optimum) <= CLOSE * abs(optimum)
        answer["exhaustive"] = "infeasible" if optimum is None else float(optimum)
        proved = answer["ended"] in ("optimal", "infeasible", "error")
        answer["bug"] = _contradiction(paid, optimum) if proved and not right else None
    return found


def _contradiction(paid: float | None, optimum) -> str:
    """The text of the column `bug`."""
    if paid is None or not optimum:
        return "contradicts exhaustive search"
    return f"contradicts exhaustive search, relative difference {float((paid - optimum) / optimum):.1g}"


def table(found: dict[str, Run]) -> list[list[str]]:
    """A line for each cell, command and search next to each other, sorted by their ratio."""
    header = ["cell", "ended", "objective", "bound", "leaves", "certified", "command_s", "search_s", "ratio", "peak_mb"]
    lines = []
    for name, one in sorted(found.items(), key=lambda pair: -pair[1].cpu / max(pair[1].search, 1e-3)):
        answer, parts = one.answer, sorted(one.parts.items(), key=lambda part: -part[1])
        facts = ["" if (value := answer.get(key)) is None else str(value) for key in header[1:6]]
        numbers = f"{one.cpu:.3f} {one.search:.3f} {one.cpu / max(one.search, 1e-3):.1f} {one.memory:.0f}".split()
        shown = " + ".join(f"{part} {seconds:.2f}" for part, seconds in parts if seconds >= 0.01)
        lines.append([f'"{name}"', *facts, *numbers, shown])
    return [[*header, "parts_s"], *lines]


def checkout(revision: str) -> Tree:
    """A commit in a folder of its own, with its kernels compiled; what is there already is taken."""
    words = ["git", "-C", str(ROOT), "rev-parse", "--short=12", f"{revision}^{{commit}}"]
    commit = subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()
    path = FOLDER / commit
    if not (path / "compiled").is_file():
        path.mkdir(parents=True, exist_ok=True)
        archive = subprocess.run(["git", "-C", str(ROOT), "archive", commit], check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", str(path)], input=archive, check=True)
        compile_kernels(Tree(path, Names()))
        (path / "compiled").touch()
    return Tree(path, Names.of(path, sys.executable))


def compare(one: str, two: str, chosen: list[Cell], given) -> Verdict:
    """Run two commits in turn, cell by cell, and judge the second by the first and by the stored answers."""
    trees, verdict = [checkout(one), checkout(two)], Verdict()
    times: dict[str, dict] = {}
    answers: dict[str, dict] = {}
    stored, done = read_answers(), _finished(given.resume)
    for cell in chosen:
        rounds = done.get(cell.name) or _in_turn(trees, cell, given.rounds)
        if rounds is None:
            verdict.notes.append(f"{cell.name}: its table is not in $ODTC_DATA")
            continue
        if _slower(rounds) and cell.name not in done:  # once more, before it is called slower
            rounds = [old + new for old, new in zip(rounds, _in_turn(trees, cell, max(given.rounds, ROUNDS)))]
        _finish(given.resume, cell.name, rounds, done)
        times[cell.name] = {
            kind: tuple([getattr(run, kind) for run in runs] for runs in rounds) for kind in ("cpu", "search")
        }
        answers[cell.name] = rounds[1][-1].answer
        stored.setdefault(cell.name, rounds[0][-1].answer)
        shown = " ".join(
            f"{kind} {min(before):.2f} to {min(after):.2f} s" for kind, (before, after) in times[cell.name].items()
        )
        print(f"{cell.name}: {shown}", flush=True)
    judge_answers(stored, answers, verdict)
    judge_times(times, verdict)
    if not given.no_limits:
        judge_limits({f"{name} depth {depth}": _at_limit(trees, name, depth) for name, depth in AT_LIMIT}, verdict)
    return verdict


def _in_turn(trees: list[Tree], cell: Cell, rounds: int) -> list[list[Run]] | None:
    found: list[list[Run]] = [[] for _ in trees]
    for _ in range(rounds):
        for place, tree in enumerate(trees):
            result = measure(tree, cell)
            if result is None:
                return None
            found[place].append(result)
    return found


def _seconds(runs: list[Run], kind: str) -> list[float]:
    return [getattr(one, kind) for one in runs]


def _slower(rounds: list[list[Run]]) -> bool:
    pairs = ([_seconds(runs, kind) for runs in rounds] for kind in ("cpu", "search"))
    return any((ratio := ratios(*pair)) is not None and ratio > SLOWER for pair in pairs)


def _at_limit(trees: list[Tree], name: str, depth: int) -> tuple[dict, dict]:
    path = table_file(name, _folder("tables"))
    words = ["fit", str(path), "--depth", str(depth), "--time-limit", str(CPU_LIMIT), "--threads", "1"]
    found = [run(tree, words, cpu_clock=True).answer for tree in trees]
    print(f"at {CPU_LIMIT} CPU s, {name}: {found[0].get('objective')} to {found[1].get('objective')}", flush=True)
    return found[0], found[1]


def first_runs() -> Verdict:
    """A cell without kernels on disk, and one without the packages that are not part of the base install."""
    tree, verdict = Tree(ROOT, Names.of(ROOT, sys.executable)), Verdict()
    cell = next(cell for cell in cells() if cell.name == benchmarks.net.FIRST)
    runs = {"kernels on disk": measure(tree, cell)}
    with tempfile.TemporaryDirectory() as folder:
        runs["no kernels on disk"] = measure(tree, cell, NUMBA_CACHE_DIR=folder)
        patch = Path(folder) / "base_install.py"
        patch.write_text(f"import sys\nsys.modules.update(dict.fromkeys({benchmarks.net.EXTRAS!r}))\n")
        runs["base install"] = measure(tree, cell, patch=patch)
    for name, result in runs.items():
        parts = " + ".join(f"{part} {seconds:.2f}" for part, seconds in result.parts.items() if seconds >= 0.01)
        print(f"{name}: {result.cpu:.2f} CPU s, search {result.search:.2f}, {result.memory:.0f} MB ({parts})")
        judge_answers(read_answers(), {cell.name: result.answer}, verdict)
    return verdict


if __name__ == "__main__":
    main()
