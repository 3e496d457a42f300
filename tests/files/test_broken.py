"""Solution files that are not as they should be: read right, or refused in one sentence, and nothing else.

`tests/files/broken` holds files of our own making, `python -m tests.files.test_broken` makes them again. The
mutations are drawn anew from fixed seeds, a thousand for each format.
"""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from odtc.base.registry import Registry
from odtc.errors import SolutionError
from odtc.fileformats.solution_files import POINTS, read_point
from odtc.model.blocks import NamedBlock
from odtc.model.feasibility import check_claim, check_point
from odtc.model.milp import Model
from tests.point_texts import text

FOLDER = Path(__file__).parent / "broken"
FORMATS = POINTS.names()

NAMES = ("x_0_1", "b2", "y", "z", "w", "u", "a_name_of_twenty_one")
X = np.array([0.0, 1, 10, -5, 8, 9, 0.25])


def model(A, lower, upper) -> Model:
    return Model(
        "OPT",
        np.array([3.0, -1.5, -2, 1, 0.5, 0.75, 1.25]),
        0.0,
        lower,
        upper,
        np.full(7, -9.0),
        np.full(7, 19.0),
        np.array([1, 1, 1, 1, 1, 1, 0], np.uint8),
        (NamedBlock(NAMES),),
        (NamedBlock(("c1", "c2")),),
        matrix=sp.csc_array(A),
    )


# Its rows hold for nearly any point, so that it is the stated objective that tells a wrong one …
MODEL = model([[1.0] * 7, [0.0, 1, 0, 1, 0, 1, 0]], np.zeros(2), np.full(2, np.inf))
# … and where none is stated, equations, such as those of a flow, must.
TIED = np.array([[1.0] * 7, [1.0, 2, 4, 8, 16, 32, 64]])
TIED = model(TIED, TIED @ X, TIED @ X)

SENTENCE = "cut off|damaged|expected|not in the model|twice|cannot detect|belongs to another"


def value_line(data: bytes, name: bytes) -> bytes:
    """The line, or the two lines, of a column."""
    found = re.findall(rb"^[^\n]*(?<![\w])" + name + rb"(?!\w)[^\n]*\n(?: {20}[^\n]*\n)?", data, re.M)
    return found[0]


def cut(data):
    return data[: data.index(b"\n", data.index(value_line(data, b"w"))) - 1]


def cut_at_line(data):
    line = value_line(data, b"w")
    return data[: data.index(line) + len(line)]


def twice(data):
    return data.replace(value_line(data, b"y"), value_line(data, b"y") * 2, 1)


def foreign(data):
    return data.replace(b"b2", b"q2", 1)


def nan(data):
    return data.replace(value_line(data, b"y"), re.sub(rb"\b10(\.0+)?\b", b"nan", value_line(data, b"y"), count=1), 1)


def reordered(data):
    first, second = value_line(data, b"y"), value_line(data, b"u")
    return data.replace(first, b"<>", 1).replace(second, first, 1).replace(b"<>", second, 1)


def crlf(data):
    return data.replace(b"\n", b"\r\n")


DAMAGE = {
    "cut": cut,
    "cut-at-line": cut_at_line,
    "twice": twice,
    "foreign": foreign,
    "nan": nan,
    "reordered": reordered,
    "crlf": crlf,
}
PLACED = {"highs-table", "glpk-table", "xpress-ascii"}  # their lines are counted
READS = {("crlf", format) for format in FORMATS} | {("reordered", format) for format in FORMATS if format not in PLACED}
# Without names there are no foreign ones; a zero left out and a line cut off look the same, and only the
# objective, which verification compares, tells them apart.
SILENT = {("cut-at-line", "scip"), ("cut-at-line", "name-value"), ("cut-at-line", "cbc")}


def damaged(format: str, kind: str) -> bytes | None:
    data = text(MODEL, X, format)
    if format == "glpk":  # by place: the lines are `j 5 8`
        lines = {"w": b"j 5 8", "y": b"j 3 10", "u": b"j 6 9"}
        for name, line in lines.items():
            data = re.sub(rb"^" + re.sub(rb" ", rb" +", line) + rb" *$", line + b" " + name.encode(), data, flags=re.M)
        return None if kind == "foreign" else re.sub(rb" [wyu](?=\r?$)", b"", DAMAGE[kind](data), flags=re.M)
    return DAMAGE[kind](data)


def make() -> None:
    FOLDER.mkdir(exist_ok=True)
    for format in FORMATS:
        for kind in DAMAGE:
            data = damaged(format, kind)
            if data is not None:
                (FOLDER / f"{format}.{kind}{POINTS.get(format).SUFFIX}").write_bytes(data)


FILES = sorted(path.name for path in FOLDER.iterdir()) if FOLDER.is_dir() else []


@pytest.mark.parametrize("name", FILES)
def test_a_broken_file_is_read_right_or_refused(name):
    format, kind = name.split(".")[:2]
    try:
        x = read_point(FOLDER / name).on(MODEL.columns)
    except SolutionError as problem:
        assert (kind, format) not in READS, problem
        assert re.search(SENTENCE, str(problem)) and "\n" not in str(problem)
        return
    if (kind, format) in SILENT:
        assert np.abs(x - X).max() > 0 and MODEL.objective(x) != MODEL.objective(X)
    else:
        assert (kind, format) in READS
        np.testing.assert_array_equal(x, X)


def test_no_kind_of_damage_is_missing():
    assert len(FILES) == len(FORMATS) * len(DAMAGE) - 1


def mutate(data: bytes, draw: np.random.Generator, other: bytes) -> tuple[bytes, bool]:
    """(mutated, harmless): whether it must still read as the same point."""
    kind = draw.integers(15)
    at, to = sorted(draw.integers(0, len(data) + 1, 2).tolist())
    lines = data.splitlines(keepends=True)
    line = int(draw.integers(len(lines)))
    numbers = list(re.finditer(rb"-?\d+(\.\d+)?", data))
    one, two = sorted(draw.integers(0, len(numbers), 2).tolist())
    one, two = numbers[one], numbers[two]
    match kind:
        case 0:
            return data[:at], False
        case 1:
            return data[:at] + data[min(to, at + 30) :], False
        case 2:
            return data[:at] + bytes(draw.integers(0, 256, draw.integers(1, 6)).tolist()) + data[at:], False
        case 3:
            return data[:at] + bytes([draw.integers(256)]) + data[at + 1 :], False
        case 4:
            return b"".join(lines[:line] + [lines[line]] + lines[line:]), False
        case 5:
            return b"".join(lines[:line] + lines[line + 1 :]), False
        case 6:
            return b"".join(draw.permutation(np.array(lines, object)).tolist()), False
        case 7:
            words = [
                b"nan",
                b"-inf",
                b"1e400",
                b"",
                b"--1",
                b"1_0",
                b"0x1",
                b"#",
                b'"',
                b"<",
                b"&",
                b",",
                b"-0",
                b"99999999999999999999",
            ]
            return data[: one.start()] + words[draw.integers(len(words))] + data[one.end() :], False
        case 8:
            return data.replace(b"\n", b"\r\n"), True
        case 9:
            return data[:at] + other[draw.integers(len(other)) :], False
        case 10:
            return data[to:] + data[at:to] + data[:at], False
        case 11:  # another number, and not one that looks strange
            return data[: one.start()] + b"%d" % draw.integers(-9, 20) + data[one.end() :], False
        case 12:  # two numbers change places
            if one is two:
                return data, True
            return data[: one.start()] + two[0] + data[one.end() : two.start()] + one[0] + data[two.end() :], False
        case 13:  # one column takes another's name
            old, new = (NAMES[at].encode() for at in draw.integers(0, 7, 2))
            return re.sub(rb"(?<![\w])" + old + rb"(?!\w)", new, data, count=1), old == new
        case _:  # two lines change places
            first, second = sorted((line, int(draw.integers(len(lines)))))
            lines[first], lines[second] = lines[second], lines[first]
            return b"".join(lines), False


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_mutations(tmp_path, monkeypatch, format, long_run):
    """Each is refused in one sentence, or read as the same point, or as one that a check finds wrong."""
    monkeypatch.setattr(Registry, "_foreign", lambda self: {})  # looking for them takes longer than reading
    draw = np.random.default_rng(FORMATS.index(format))
    texts = [text(MODEL, X, other) for other in FORMATS]
    data, path, outcomes = text(MODEL, X, format), tmp_path / "x.sol", Counter()
    many = 1000 if long_run else 250
    for _ in range(many):
        mutated, harmless = mutate(data, draw, texts[draw.integers(len(texts))])
        path.write_bytes(mutated)
        try:
            raw = read_point(path)
            x = raw.on(MODEL.columns)
        except SolutionError as problem:
            assert not harmless and "\n" not in str(problem) and len(str(problem)) < 600, problem
            outcomes["refused"] += 1
            continue
        if x is None:  # what is said to be no solution, by a file that says no more than that
            assert raw.termination is None and raw.objective is None, mutated
            continue
        assert raw.objective is None or np.isfinite(raw.objective)
        if np.array_equal(x, X):
            outcomes["read"] += 1
            continue
        told = MODEL if raw.objective is not None else TIED
        checks = check_point(told, x) + check_claim(told, x, raw.objective)
        assert not all(check.passed for check in checks) or np.abs(x - X).max() < 1e-6, mutated
        assert not harmless
        outcomes["caught"] += 1
    assert outcomes["read"] > many / 20 and outcomes["refused"] > 0.3 * many and outcomes["caught"] > 0, outcomes


def told_right_or_refused(path, data: bytes) -> str:
    """What becomes of a file that has one line damaged: "refused" in one sentence, "read" as the same point, "none",
    or "caught", as a check finds it wrong."""
    path.write_bytes(data)
    try:
        raw = read_point(path)
        x = raw.on(MODEL.columns)
    except SolutionError as problem:
        assert re.search(f"{SENTENCE}|is empty", str(problem)) and "\n" not in str(problem), data
        return "refused"
    if x is None:
        return "none"
    if np.array_equal(x, X):
        return "read"
    told = MODEL if raw.objective is not None else TIED
    checks = check_point(told, x) + check_claim(told, x, raw.objective)
    assert not all(check.passed for check in checks), data
    return "caught"


@pytest.mark.parametrize("format", FORMATS)
def test_each_line_left_out_doubled_or_cut_is_refused_or_found_wrong(tmp_path, monkeypatch, format):
    monkeypatch.setattr(Registry, "_foreign", lambda self: {})  # looking for them takes longer than reading
    data, path, outcomes = text(MODEL, X, format), tmp_path / "x.sol", Counter()
    lines = data.splitlines(keepends=True)
    for at, line in enumerate(lines):
        before, after, words = b"".join(lines[:at]), b"".join(lines[at + 1 :]), line.split()
        damaged = [before + after, before + line + line + after, before + line, before, before + line[:-1]]
        damaged += [before + b" ".join(words[:k] + words[k + 1 :]) + b"\n" + after for k in range(len(words))]
        damaged += [before + b" ".join(words[:k]) + b"\n" for k in range(1, len(words))]
        damaged += [before + b" ".join([*words[:k], b"7", *words[k:]]) + b"\n" + after for k in range(len(words) + 1)]
        outcomes.update(told_right_or_refused(path, other) for other in damaged)
    assert outcomes["refused"] > sum(outcomes.values()) / 10, outcomes


if __name__ == "__main__":
    make()
