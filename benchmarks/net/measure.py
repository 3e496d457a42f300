"""Run one command line of odtc in a fresh process, and measure it: answer, CPU seconds, parts, peak memory."""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.net.names import Names

PROBE = Path(__file__).parent / "probe"
HANGS = 900.0  # seconds on the clock, after which a command is ended


@dataclass(frozen=True)
class Run:
    """One measured command.

    Attributes
    ----------
    answer : dict, see `answer_of`
    cpu : float, CPU seconds of the command and its children
    search : float, those of the search or solver alone
    memory : float, peak megabytes
    parts : dict, CPU seconds of each part
    """

    answer: dict
    cpu: float
    search: float
    memory: float
    parts: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Tree:
    """A checkout of odtc that commands run from.

    Attributes
    ----------
    path : Path
    names : Names, how its options, keys and functions are called
    python : str
    """

    path: Path
    names: Names
    python: str = sys.executable


def compile_kernels(tree: Tree) -> None:
    """Compile all kernels of a checkout into its own __pycache__ folders."""
    words = [tree.python, "-m", "odtc", "doctor", "--solver", "highs", "--compile"]
    subprocess.run(words, cwd=tree.path, env=_environment(tree, {}), check=True, stdout=subprocess.DEVNULL)


def _environment(tree: Tree, asked: dict, **more: str) -> dict:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": f"{PROBE}:{tree.path}", **more}
    for name in ("ODTC_COMPILED", "PYTHONDONTWRITEBYTECODE"):  # a user has neither
        if name not in more:
            environment.pop(name, None)
    return environment | {"ODTC_NET": json.dumps(asked)}


def run(tree: Tree, words: list[str], cpu_clock: bool = False, patch: Path | None = None, **more: str) -> Run:
    """Run `odtc WORDS --json` of a checkout in a folder of its own.

    Parameters
    ----------
    tree : Tree
    words : list of str, in the names of the first commit; with absolute paths of files
    cpu_clock : bool, whether time limits count CPU seconds
    patch : Path or None, a Python file that is run in the process first
    more : variables of the environment
    """
    with tempfile.TemporaryDirectory() as folder:
        out, text, errors = (Path(folder) / name for name in ("parts.json", "stdout", "stderr"))
        asked = {"out": str(out), "parts": tree.names.parts, "cpu_clock": cpu_clock, "patch": patch and str(patch)}
        stem = "net.frontier.json" if words[0] == "frontier" else "net"
        command = [tree.python, "-m", "odtc", *tree.names.words(words), "--json", "-o", stem]
        with text.open("w") as stdout, errors.open("w") as stderr:
            process = subprocess.Popen(
                command, cwd=folder, env=_environment(tree, asked, **more), stdout=stdout, stderr=stderr
            )
            status, usage = _waited(process)
        parts = json.loads(out.read_text())["parts"] if out.is_file() else {}
        answer = answer_of(status, text.read_text(), errors.read_text(), Path(folder), tree.names)
        for path in Path(folder).glob("*.certificate.json"):
            again = [tree.python, "-m", "odtc", "verify", "--certificate", str(path)]
            checked = subprocess.run(again, cwd=folder, env=_environment(tree, {}), capture_output=True)
            answer["more"] = f"certificate {'refused' if checked.returncode else 'accepted'}"
    cpu = usage.ru_utime + usage.ru_stime
    return Run(answer, cpu, parts.get("search", 0.0), usage.ru_maxrss / 1024, parts)


def _waited(process: subprocess.Popen):
    """(exit code, resource usage) of a process, which is ended after HANGS seconds."""
    until = time.monotonic() + HANGS
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage
        if time.monotonic() > until:
            process.kill()
        time.sleep(0.01)


def answer_of(status: int, text: str, errors: str, folder: Path, names: Names) -> dict:
    """Return the answer of a command: exit code, how it ended, objective, bound, leaves, certified, verified, and more.

    `more` is what a command returns besides one tree: objectives of a pool or frontier, counts of a near-optimal set,
    scores of a study, whether `odtc verify` accepts a written certificate.
    """
    try:
        facts = names.facts(json.loads(text))
    except ValueError:
        return {"exit": status, "ended": "error", "message": (errors or text)[-300:]}
    shown = facts.get("fit", facts)
    answer = {"exit": status, "ended": shown.get("termination")}
    for key, name in (("objective", "objective"), ("bound", "bound"), ("leaves", "n_leaves"), ("verified", "verified")):
        answer[key] = shown.get(name)
    answer["certified"] = shown.get("certified", shown.get("checked"))
    if more := _more(facts, folder):
        answer["more"] = more
    return answer


def _more(facts: dict, folder: Path) -> str:
    """Objectives and counts of pools, near-optimal sets, frontiers and studies, as one short text."""
    found = []
    if "points" in facts:
        found.append(listed(point.get("objective") for point in facts["points"]))
    if "results" in facts:
        found.append(listed(result.get("score") for result in facts["results"]))
    for path in sorted([*folder.glob("*.pool.json"), *folder.glob("*.near*.json")]):
        held = json.loads(path.read_text())
        found += [listed(tree.get("objective") for tree in held["trees"])] if path.match("*.pool.json") else []
        found += [f"count {held[key]}" for key in ("count", "n_trees") if key in held]
    return " ".join(found)


def listed(values) -> str:
    """Numbers in order, as a text; None comes last, as "none"."""
    known = sorted((value is None, value or 0.0) for value in values)
    return " ".join("none" if missing else f"{value:.9g}" for missing, value in known)
