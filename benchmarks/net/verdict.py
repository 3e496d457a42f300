"""The conclusions of the net: equal answers, CPU seconds no higher, trees and bounds at a limit no worse."""

import csv
import math
from dataclasses import dataclass, field
from pathlib import Path
from statistics import geometric_mean, mean, median

ANSWERS = Path(__file__).with_name("answers.csv")
FIELDS = ("cell", "exit", "ended", "objective", "bound", "leaves", "certified", "verified", "more", "exhaustive", "bug")
CLOSE = 1e-9  # relative; objectives are sums of at most some thousand numbers in double precision
ROUNDED = 1e-6  # relative; by how much the sums of numbers with an offset may be rounded
PROVED = ("optimal", "infeasible")
SLOWER = 1.25  # ratio of a cell's CPU seconds
MEASURABLE = 0.05  # CPU seconds, below which no ratio of a cell is judged
LEEWAY = 0.005  # of means: equal commits differ by this much by chance


@dataclass
class Verdict:
    """Reasons why a comparison is red, and notes that do not make it so."""

    reasons: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def red(self) -> bool:
        return bool(self.reasons)

    def __str__(self) -> str:
        lines = [f"note: {note}" for note in self.notes] + [f"RED: {reason}" for reason in self.reasons]
        return "\n".join([*lines, "verdict: red" if self.red else "verdict: green"])


def read_answers(path: Path = ANSWERS) -> dict[str, dict]:
    """{cell: stored answer}, with numbers and None in place of texts."""
    if not path.is_file():
        return {}
    with path.open(newline="") as stream:
        return {row["cell"]: {key: _value(key, text) for key, text in row.items()} for row in csv.DictReader(stream)}


def write_answers(answers: dict[str, dict], path: Path = ANSWERS) -> None:
    """Write the stored answers, one line for each cell, in the order of their names."""
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        for name in sorted(answers):
            shown = {key: "" if value is None else value for key, value in answers[name].items()}
            writer.writerow({key: f"{value!r}" if isinstance(value, float) else value for key, value in shown.items()})


def _value(key: str, text: str):
    if key in ("cell", "ended", "more", "bug") or text == "":
        return text if key in ("cell", "ended") else text or None
    if text in ("True", "False"):
        return text == "True"
    return text if text == "infeasible" else int(text) if key in ("exit", "leaves") else float(text)


def same(one, two) -> bool:
    """Whether two numbers agree but for rounding."""
    if one is None or two is None:
        return one is two
    return math.isclose(one, two, rel_tol=CLOSE, abs_tol=0.0)


def differences(expected: dict, answer: dict) -> list[str]:
    """Reasons why an answer is not the expected one; a repaired bug, and a proof where there was none, are none.

    Parameters
    ----------
    expected : dict, a stored answer; with `exhaustive`, the exact optimum ("infeasible" if no tree satisfies the
        constraints), if it is known, and `bug` if the stored answer contradicts that
    answer : dict, see benchmarks.net.measure.answer_of
    """
    optimum = expected.get("exhaustive")
    if expected.get("bug"):
        if not _off(expected, answer, True) or _nearer(expected, answer):
            return []  # the known bug, or less of it
        expected = _right(expected)
    found = _off(expected, answer, expected["ended"] in PROVED)
    bound, paid = answer.get("bound"), answer.get("objective")
    if isinstance(optimum, float):
        if bound is not None and bound > optimum + CLOSE * abs(optimum):
            found.append(f"the bound {bound!r} is above the optimum {optimum!r}, which exhaustive search finds")
        if paid is not None and paid < optimum - CLOSE * abs(optimum):
            found.append(f"the objective {paid!r} is below the optimum {optimum!r}, which exhaustive search finds")
    return found


def _nearer(expected: dict, answer: dict) -> bool:
    """Whether an objective is nearer to the optimum than the stored one, as with less rounding."""
    numbers = (optimum := expected.get("exhaustive"), expected.get("objective"), answer.get("objective"))
    if not all(isinstance(number, float) for number in numbers) or answer["ended"] not in PROVED:
        return False
    off, before = abs(numbers[2] - optimum), abs(numbers[1] - optimum)
    return off < before and off <= ROUNDED * abs(optimum)


def _right(expected: dict) -> dict:
    optimum = expected["exhaustive"]
    if optimum == "infeasible":
        return expected | {"ended": "infeasible", "objective": None, "bound": None, "exit": 3, "leaves": None}
    right = {"ended": "optimal", "objective": optimum, "bound": optimum, "exit": 0, "leaves": None, "verified": True}
    return expected | right | {"more": None, "certified": None}


def _off(expected: dict, answer: dict, proved: bool) -> list[str]:
    found = []
    if answer["ended"] == "error" and expected["ended"] == "error":
        return []
    if answer["ended"] == "error" or answer["exit"] != expected["exit"]:
        return [f"exit code {answer['exit']}, expected {expected['exit']}: {answer.get('message', answer['ended'])!r}"]
    if proved and answer["ended"] != expected["ended"]:
        found.append(f"ended {answer['ended']!r}, expected {expected['ended']!r}")
    known = isinstance(expected.get("exhaustive"), float)  # `differences` compares bounds with it, too
    for key, worse in (("objective", 1), ("bound", -1)):
        one, two = expected.get(key), answer.get(key)
        may_improve = not proved or (key == "bound" and known)
        better = may_improve and None not in (one, two) and (two - one) * worse <= 0
        if not same(one, two) and not better:
            found.append(f"{key} {two!r}, expected {one!r}")
    if expected.get("certified") and not answer.get("certified"):
        found.append("the certificate was accepted, and is not any more")
    if expected.get("certified") and expected.get("leaves") is not None and expected["leaves"] != answer.get("leaves"):
        found.append(f"{answer.get('leaves')} leaves, expected {expected['leaves']}")
    if expected.get("verified") and not answer.get("verified"):
        found.append("the result was verified, and is not any more")
    if expected.get("more") and expected["more"] != answer.get("more"):
        found.append(f"{answer.get('more')!r}, expected {expected['more']!r}")
    return found


def judge_answers(expected: dict[str, dict], answers: dict[str, dict], verdict: Verdict) -> None:
    """Compare the answer of each cell with the stored one."""
    for name, answer in answers.items():
        if name not in expected:
            verdict.notes.append(f"no answer is stored for {name}")
            continue
        off = differences(expected[name], answer)
        verdict.reasons += [f"{name}: {reason}" for reason in off]
        if expected[name].get("bug") and not off:
            known = "is still there" if not _off(expected[name], answer, True) else "is repaired"
            verdict.notes.append(f"known bug {known}: {name}")


def ratios(before: list[float], after: list[float]) -> float | None:
    """Ratio of the medians; None if both are too short to be measured."""
    one, two = median(before), median(after)
    return None if max(one, two) < MEASURABLE else max(two, MEASURABLE / 10) / max(one, MEASURABLE / 10)


def judge_times(times: dict[str, dict], verdict: Verdict) -> None:
    """Compare CPU seconds.

    Parameters
    ----------
    times : dict
        {cell: {"cpu": (before, after), "search": (before, after)}}, lists of CPU seconds, at least five if one is to be
        called slower.
    """
    for name, both in times.items():
        before, after = map(median, both["search"])
        if before > 0 == after:
            verdict.reasons.append(f"{name}: no search was measured; add its function to PARTS of benchmarks.net.names")
    for kind, shown in (("cpu", "command"), ("search", "search")):
        found = {name: ratios(*both[kind]) for name, both in times.items()}
        found = {name: ratio for name, ratio in found.items() if ratio is not None}
        for name, ratio in found.items():
            if ratio > SLOWER:
                one, two = (median(seconds) for seconds in times[name][kind])
                verdict.reasons.append(f"{name}: {shown} {ratio:.2f} times as slow, {one:.3f} s to {two:.3f} s")
        if found:
            overall = geometric_mean(found.values())
            text = f"{shown}: geometric mean of the CPU seconds {overall:.3f} over {len(found)} cells"
            (verdict.reasons if overall > 1 + LEEWAY else verdict.notes).append(text)


def judge_limits(pairs: dict[str, tuple[dict, dict]], verdict: Verdict) -> None:
    """Compare trees and bounds at a time limit: {table: answers before and after}."""
    logs, bounds = [], []
    for name, (one, two) in pairs.items():
        if one.get("objective") is None or two.get("objective") is None:
            verdict.reasons += [f"{name}: no tree at the limit"] * (two.get("objective") is None)
            continue
        logs.append(math.log(max(two["objective"], 0.5) / max(one["objective"], 0.5)))
        bounds.append((two["bound"] or 0) / max(two["objective"], 1) - (one["bound"] or 0) / max(one["objective"], 1))
    if logs:
        text = f"at the limit: mean log ratio of the errors {mean(logs):+.4f} over {len(logs)} tables"
        (verdict.reasons if mean(logs) > LEEWAY else verdict.notes).append(text)
        text = f"at the limit: mean change of bound / errors {mean(bounds):+.4f}"
        (verdict.reasons if mean(bounds) < -LEEWAY else verdict.notes).append(text)
