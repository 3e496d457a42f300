"""Every solver found on every file of traps/ and portable/: what it makes of a trap is written down, and what
is portable means the same to all (docs/reference/file-formats.md)."""

import os
import tomllib

import pandas as pd
import pytest

import odtc
from odtc.errors import ModelError
from odtc.fileformats.model_files import FORMATS, read_model, write_model
from odtc.fileformats.portable_subset import compare
from tests.solvers.dialects import ask

TABLE = tomllib.loads((ask.HERE / "traps.toml").read_text(encoding="utf-8"))
SEEN = tomllib.loads((ask.HERE / "seen.toml").read_text(encoding="utf-8"))
VERSIONS = SEEN.pop("versions")
OPEN = {"highs-cli", "cbc", "scip", "glpk", "lp_solve", "symphony", "ortools"}
PORTABLE = sorted((ask.HERE / "portable").iterdir())
# By hand. mixed: x + 2y is least under x + y >= -3 at x = -3, y = 0; -z - 2u under u <= 3, z + u <= 4 at u = 3, z = 1;
# 2v + w = 7 has v = 3, w = 1: -3 - 7 + 30 - 100 + 1000. numbers: 3 for the next whole number, -15 for a million
# times -1.5e-05, and
# 3.7e-06 for the smallest b.
OPTIMUM = {"mixed": "920", "squeezed": "920", "fixed_mixed": "920", "numbers": "-12"}
ALIKE = {"infeasible or unbounded": ("infeasible", "unbounded")}  # what presolve leaves open


@pytest.mark.every(4)
@pytest.mark.parametrize("solver", VERSIONS)
def test_what_a_solver_makes_of_every_file(solver):
    found = ask.solvers()
    if solver not in found:
        if solver in OPEN and os.environ.get("ODTC_REQUIRE_SOLVERS"):
            pytest.fail(f"the open solver {solver} is not on this machine")
        pytest.skip(f"{solver} is not on this machine")
    # All at once: the start of some takes longer than a solve.
    answers, module = ask.answers(solver, [*ask.TRAPS, *PORTABLE]), ask.module_of(solver)
    read = [path for path in PORTABLE if solver == ask.ODTC or module.DIALECT.gzip or path.suffix != ".gz"]
    assert {path.name: answers[path.name] for path in read if answers[path.name]} == {
        path.name: OPTIMUM[path.name.split(".")[0]] for path in read if solver == ask.ODTC or reads(module, path)
    }
    if found[solver] != VERSIONS[solver]:
        pytest.skip(
            f"traps were seen with {solver} {VERSIONS[solver]}, here is {found[solver]}: `python -m "
            f"tests.solvers.dialects.ask` "
            "writes the table anew"
        )
    assert {path.name: answers[path.name] for path in ask.TRAPS} == {
        name: seen.get(solver, "") for name, seen in SEEN.items()
    }


def reads(module, path) -> bool:
    return "lp" in module.DIALECT.reads or ".lp" not in path.suffixes


@pytest.mark.parametrize("path", PORTABLE, ids=lambda path: path.name)
def test_what_is_portable_is_linked_as_it_is(path):
    assert compare(path, read_model(path)).astray == ""


@pytest.mark.parametrize("path", ask.TRAPS, ids=lambda path: path.name)
def test_odtc_reads_a_trap_as_it_is_meant_or_refuses_it(path):
    answer = ask.answers(ask.ODTC, [path])[path.name]
    assert answer in ("refused", TABLE[path.name].get("means", "refused"))


@pytest.mark.parametrize("path", ask.TRAPS, ids=lambda path: path.name)
def test_every_misreading_is_explained_and_every_explanation_is_needed(path):
    entry, seen = TABLE[path.name], SEEN[path.name]
    means, misread = entry.get("means"), entry.get("misread", {})
    strange = {
        answer
        for answer in seen.values()
        if answer not in ("refused", "crashed", means) and means not in ALIKE.get(answer, ())
    }
    assert strange == set(misread) and means not in misread
    assert set(entry) <= {"trap", "means", "misread"} and set(seen) <= set(VERSIONS)


def test_the_tables_are_of_these_files():
    names = {path.name for path in ask.TRAPS}
    assert set(TABLE) == set(SEEN) == names


@pytest.mark.parametrize("path", ask.TRAPS, ids=lambda path: path.name)
def test_a_file_that_is_handed_on_as_it_is_is_misread_by_none(path):
    try:
        if compare(path, read_model(path)).astray:
            return
    except ModelError:
        return
    means = TABLE[path.name]["means"]
    assert all(answer in (means, "refused") or means in ALIKE.get(answer, ()) for answer in SEEN[path.name].values())


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS.names())
def test_comments_in_models_that_odtc_writes_change_no_answer(format, tmp_path):
    """Names that are sections, signs and control characters of MPS and LP, or longer than a line."""
    names = ["End", "\\ * : <= 3", "größe ≤ 5", "a\nb\x1bc", "x" * 300]
    X = pd.DataFrame([[1, 0, 0, 0, 1], [0, 1, 0, 0, 1], [0, 0, 1, 0, 1], [0, 0, 0, 1, 0]] * 2, columns=names)
    model = odtc.build(X, [0, 1, 1, 1, 1, 0, 1, 0], "flowoct", depth=1)
    path = write_model(model, tmp_path / f"{format}-model{FORMATS.get(format).SUFFIX}", format)
    if format == "fixed-mps":
        path = path.rename(tmp_path / "fixed.mps")
    assert path.read_bytes().isascii() and max(map(len, path.read_text().splitlines())) < 160
    assert path.read_text().count("split 0: End") == 1 and "gr\\xf6\\xdfe" in path.read_text()
    optimum = f"{odtc.solve(model).objective:.6g}"
    for solver in ask.solvers():
        assert set(ask.answers(solver, [path]).values()) <= {optimum, ""}, solver
    assert compare(path, read_model(path)).astray == "" and compare(path, model).astray == ""


def test_the_line_that_differs_is_counted_with_the_comments_before_it(tmp_path):
    path = write_model(odtc.build([[0], [1]], [0, 1], "flowoct", depth=1), tmp_path / "a.mps", "mps")
    lines = path.read_text().splitlines(keepends=True)
    assert lines[2].startswith("* ")
    name = next(line.split()[1] for line in lines if line.startswith(" L "))
    at = lines.index("BOUNDS\n")
    path.write_text("".join([*lines[:at], f"    RHS       {name}  0\n", *lines[at:]]))
    assert compare(path, read_model(path)).astray.startswith(f"line {at + 1}: ")
