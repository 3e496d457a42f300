"""STEM.run.json: a drawn record is read back unchanged, and only for its own solution file."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from odtc.model.solution import EDITED, Options, Racer, Solution, Termination
from odtc.workflow.run_record import DEFAULT_START, add_to_run, read_run, read_solving, record_of, rename_run, write_run
from odtc.workflow.specification import SolvingSpec

ENDS = list(Termination)


def drawn(seed: int) -> Solution:
    random = np.random.default_rng(seed)

    def maybe(value):
        return None if random.random() < 0.3 else float(value)

    racers = tuple(
        Racer(
            name, f"{name} 1", random.choice(ENDS), maybe(3), maybe(2), maybe(1), ("bound",) * int(random.integers(2))
        )
        for name in ("one", "two")[: random.integers(3)]
    )
    return Solution(
        None,
        ENDS[random.integers(len(ENDS))],
        maybe(random.integers(1, 50)),
        maybe(random.integers(0, 50)),
        maybe(random.random()),
        "HiGHS 1",
        None if random.random() < 0.5 else int(random.integers(99)),
        maybe(5),
        str(random.choice(["none", "accepted", "rejected"])),
        tuple((float(at), maybe(9), maybe(at)) for at in range(random.integers(3))),
        "a word",
        None,
        racers,
        str(random.choice(["", "ab"])),
        str(random.choice(["", "cd"])),
        str(random.choice(["", EDITED])),
        None,
        maybe(random.integers(0, 9)),
    )


@pytest.mark.parametrize("seed", range(12))
def test_a_run_is_read_back_and_of_no_other_file(seed, tmp_path):
    run, path = drawn(seed), tmp_path / "m.sol"
    path.write_bytes(b"x 1\n")
    record = write_run(run, Options(), path, tmp_path / "m", more={"note": seed})
    assert record == tmp_path / "m.run.json"
    assert read_run(path) == replace(run, scope=run.scope if run.overall is not None else "")
    facts = record_of(path)
    assert facts == json.loads(record.read_text()) and facts["note"] == seed
    assert facts["gap"] == (
        None
        if None in (run.objective, run.bound)
        else pytest.approx(abs(run.objective - run.bound) / max(1, abs(run.objective)))
    )
    assert (facts["model"], facts["content"]) == (run.model or None, run.content or None)
    assert facts["sha256"] == hashlib.sha256(b"x 1\n").hexdigest() and facts["solution_file"] == "m.sol"
    assert ("race" in facts, "scope" in facts, "overall" in facts) == (bool(run.race), *[run.overall is not None] * 2)
    (tmp_path / "other.sol").write_bytes(b"x 1\n")
    assert read_run(tmp_path / "other.sol") is None and record_of(tmp_path / "other.sol") is None
    path.write_bytes(b"x 0\n")
    assert read_run(path) is None and record_of(path) is None


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "odtc.run/0"},
        {"termination": "perhaps"},
        {"termination": 5},
        {"objective": "1"},
        {"history": [[1, 2]]},
        {"history": [[1, 2, 3, 4]]},
        {"history": 1},
        {"race": [{"name": "one"}]},
        {"sha256": None},
        {"solution_file": None},
        {"solver": None},
    ],
    ids=str,
)
def test_a_record_that_cannot_be_read_is_none(change, tmp_path):
    path = tmp_path / "m.sol"
    path.write_bytes(b"x 1\n")
    write_run(drawn(0), Options(), path, tmp_path / "m")
    add_to_run(tmp_path / "m", change)
    assert read_run(path) is None and record_of(path) is None
    write_run(drawn(1), Options(), path, tmp_path / "n")  # another record of the same file is at hand
    assert read_run(path) is not None


def test_a_file_that_is_renamed_keeps_its_record(tmp_path):
    for stem in ("never", "m"):
        rename_run(tmp_path / stem)
        add_to_run(tmp_path / stem, {"a": 1})
        assert not list(tmp_path.iterdir())  # nothing is made of nothing
    (tmp_path / "old.sol").write_bytes(b"x 1\n")
    run = drawn(3)
    write_run(run, Options(), tmp_path / "old.sol", tmp_path / "m")
    (tmp_path / "old.sol").rename(tmp_path / "m.sol")
    assert read_run(tmp_path / "m.sol") is None
    rename_run(tmp_path / "m")
    assert read_run(tmp_path / "m.sol").objective == run.objective
    add_to_run(tmp_path / "m", {"a": 1})
    assert record_of(tmp_path / "m.sol")["a"] == 1
    write_run(replace(run, termination=Termination.INFEASIBLE), Options(), None, tmp_path / "m")
    facts = json.loads((tmp_path / "m.run.json").read_text())
    assert facts["solution_file"] is None and facts["sha256"] is None
    rename_run(tmp_path / "m")  # of a run without a point there is no file
    assert json.loads((tmp_path / "m.run.json").read_text())["solution_file"] is None


@pytest.mark.parametrize(
    ("given", "told", "start"),
    [
        (Options(), SolvingSpec(), None),
        (Options(3.0, 2, 7, 0.5), SolvingSpec(3.0, 2, 7, 0.5), None),
        (SolvingSpec(solver="cbc", time_limit=2.0), SolvingSpec(solver="cbc", time_limit=2.0), "cart"),
        (SolvingSpec(), SolvingSpec(solver="highs"), "none"),
        (SolvingSpec(template=Path("t.toml")), SolvingSpec(template="t.toml"), Path("s.mst")),
        (SolvingSpec(solver="scip", program="/bin/scip"), SolvingSpec(solver="scip", program="/bin/scip"), None),
    ],
    ids=str,
)
def test_how_a_run_was_solved_is_read_back(given, told, start, tmp_path):
    write_run(drawn(0), given, None, tmp_path / "m", start)
    assert read_solving(tmp_path / "m") == (told, DEFAULT_START if start is None else str(start))
    for damage in ({"seconds": "long"}, {"seconds": None, "history": [1]}, {"history": 1}, {"options": 1}):
        add_to_run(tmp_path / "m", damage)
        assert read_solving(tmp_path / "m") == (SolvingSpec(), DEFAULT_START)
    assert read_solving(tmp_path / "absent") == (SolvingSpec(), DEFAULT_START)
