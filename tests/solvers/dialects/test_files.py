"""Every solver found on every file of traps/ and portable/: what it makes of a trap is written down, and what
is portable means the same to all (docs/reference/file-formats.md)."""

import os
import tomllib

import pytest

from odtc.errors import ModelError
from odtc.fileformats.model_files import read_model
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
