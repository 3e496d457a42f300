"""STEM.run.json: facts about the run of the solver that a solution file cannot contain, and the settings of the run.

It names the solution file by its SHA-256, so it is never taken for the record of another one.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from odtc.base.atomic_write import write_text
from odtc.base.commit import current, expect_settled, remains
from odtc.base.json_schema import FLAG, NUMBER, REAL, TEXT, WHOLE, SchemaError, list_of, validate
from odtc.base.spec_fields import fields_by_name
from odtc.base.system import read_file
from odtc.data.cells.data_files import stated_path
from odtc.data.reading import fingerprint
from odtc.model.solution import Options, Racer, Solution, Termination
from odtc.workflow.posing import model_to_json
from odtc.workflow.results.fit import Fit
from odtc.workflow.specification import ModelSpec, RunSpec, SolvingSpec

SCHEMA = "odtc.run/1"
DEFAULT_START = ModelSpec().start
MAYBE = (REAL, None)
# Keys of the record that are fields of the solution.
FIGURES = ("objective", "claimed", "bound", "gap", "nodes", "seconds", "start", "message", "history")


SHAPE = {
    **dict.fromkeys(("schema", "solver", "termination", "start", "message", "scope?"), TEXT),
    **dict.fromkeys(("solution_file", "sha256", "model?", "content?"), (TEXT, None)),
    **dict.fromkeys(("objective", "claimed", "bound", "overall?", "gap?", "nodes", "seconds"), MAYBE),
    "is_unsupported?": FLAG,
    "history": [list_of(3, MAYBE)],  # seconds, incumbent, bound
    "options?": {
        **dict.fromkeys(("solver?", "start?"), TEXT),
        **dict.fromkeys(("template?", "program?"), (TEXT, None)),
        "time_limit?": MAYBE,
        "threads?": (WHOLE, None),
        "seed?": WHOLE,
        "gap?": NUMBER,
    },
    "race?": [
        {
            **dict.fromkeys(("name", "solver", "termination", "message"), TEXT),
            **dict.fromkeys(("objective", "bound", "seconds"), MAYBE),
            "gave": [TEXT],
        }
    ],
}


def write_run(solution: Solution, options: Options, solution_path, stem, start=None, more: dict | None = None) -> Path:
    """Write STEM.run.json for this solution file (None without a point).

    `options` is a SolvingSpec if the solver's name is known; `start` is the name of the requested start; `more` are
    additional keys of the record.
    """
    path = Path(f"{stem}.run.json")
    facts = {
        "schema": SCHEMA,
        "solution_file": Path(solution_path).name if solution_path else None,
        "sha256": _digest(solution_path) if solution_path else None,
        "model": solution.model or None,
        "content": solution.content or None,
        "solver": solution.solver,
        "options": _options_to_json(options) | ({} if start is None else {"start": str(start)}),
        "termination": str(solution.termination),
        **{name: getattr(solution, name) for name in FIGURES},
    }
    if solution.overall is not None:
        facts |= {"scope": solution.scope, "overall": solution.overall}
    if solution.is_unsupported:
        facts["is_unsupported"] = True
    if solution.race:
        facts["race"] = [racer.to_json() for racer in solution.race]
    facts |= more or {}
    write_text(path, json.dumps(facts, indent=1) + "\n")
    return path


def write_record(done: Fit, spec: RunSpec, stem: str, tree_path: str | Path, repeats: bool = True) -> Path | None:
    """Write STEM.run.json for a run without a model. None, and no file, for data in memory, and for rounds of a
    selection, which another run does not find again. `repeats` is whether `odtc fit` makes the same tree, which is
    not the case for a tree that was chosen among the nearly best."""
    dataset = done.dataset
    source = dict(dataset.source) if dataset is not None else {}
    if source.get("path") is None:
        return None
    if spec.model.select is not None:
        from odtc.workflow.row_selection.selection import rounds_of

        if rounds_of(spec.model.select) > 1:
            return None
    folder = Path(tree_path).resolve().parent
    more = {
        "objective": done.proof.objective,
        "bound": done.proof.bound,
        "gap": done.proof.gap,
        "termination": done.proof.termination,
        "fit": {
            "tree": {"file": Path(tree_path).name, "sha256": fingerprint(current(tree_path))},
            "data": {
                "name": dataset.name,
                "path": stated_path(source["path"], folder),
                "sha256": source["sha256"],
            },
            "reading": asdict(spec.reading) | {"labels": from_folder(spec.reading.labels, folder)},
            "model": model_to_json(done.problem, spec.model),
            "certified": done.certified,
            "fewest_leaves": done.fewest_leaves,
            "fewest_columns": done.fewest_columns,
            "repeats": repeats,
        },
    }
    return write_run(done.solution, spec.solving, None, stem, spec.model.start, more)


def _options_to_json(options: Options) -> dict:
    texts = ("solver", "template", "program")
    if isinstance(options, SolvingSpec) and options.solver is None and options.template is None:
        options = replace(options, solver=options.named_solver)  # the solver that ran
    return {
        name: str(value) if name in texts and value is not None else value
        for name, value in asdict(options).items()
        if name != "solver" or value is not None
    }


def rename_run(stem) -> None:
    """Update STEM.run.json, if there is one, to the new name STEM.sol of its solution file."""
    _edit_run(stem, lambda facts: {"solution_file": facts["solution_file"] and Path(f"{stem}.sol").name})


def add_to_run(stem, more: dict) -> None:
    """Add keys to STEM.run.json, if there is one."""
    _edit_run(stem, lambda _: more)


def _edit_run(stem, new: Callable[[dict], dict]) -> None:
    path = Path(f"{stem}.run.json")
    if remains(path):
        facts = json.loads(read_file(current(path)))
        write_text(path, json.dumps(facts | new(facts), indent=1) + "\n")


def read_run(solution_path) -> Solution | None:
    """Return the record of exactly this solution file, without its point; None if there is none."""
    return next((run for _, run in _records(solution_path)), None)


def record_of(solution_path) -> dict | None:
    """Return the record of exactly this solution file as its JSON; None if there is none."""
    return next((facts for facts, _ in _records(solution_path)), None)


def _records(solution_path) -> Iterator[tuple[dict, Solution]]:
    path = Path(solution_path)
    expect_settled(path)
    for record in sorted(path.parent.glob("*.run.json")):
        try:
            facts = json.loads(read_file(record))
            validate(facts, SHAPE)
            if facts["schema"] != SCHEMA or facts["solution_file"] != path.name or facts["sha256"] != _digest(path):
                continue
            run = solution_of(facts)
        except (OSError, ValueError, KeyError, TypeError, RecursionError, SchemaError):
            continue  # a record that cannot be read is ignored
        yield facts, run


def solution_of(facts: dict) -> Solution:
    """Return the solution of a record, without its point. Raises KeyError, TypeError or ValueError for facts of another
    kind."""
    stated = {name: facts[name] for name in ("solver", *FIGURES) if name != "gap"}
    stated |= {name: facts.get(name) or "" for name in ("model", "content", "scope")}
    stated |= {"history": tuple(map(tuple, facts["history"])), "overall": facts.get("overall")}
    race = tuple(map(Racer.from_json, facts.get("race", ())))
    stated |= {"is_unsupported": facts.get("is_unsupported", False)}
    return Solution(None, Termination(facts["termination"]), race=race, **stated)


def read_solving(stem) -> tuple[SolvingSpec, str]:
    """Return the options of the run of STEM.run.json, and the name of its start; the defaults if the record is missing
    or cannot be read."""
    expect_settled(f"{stem}.run.json")
    try:
        facts = json.loads(read_file(f"{stem}.run.json"))
        validate(facts, SHAPE)
        options = facts.get("options", {})
        known = {name: options[name] for name in fields_by_name(SolvingSpec) if name in options}
        start = options.get("start", DEFAULT_START)
        if Path(start).exists() and not Path(start).is_file():  # a pipe or a device may never end
            start = DEFAULT_START
        return SolvingSpec(**known), start
    except (OSError, ValueError, RecursionError, SchemaError):
        return SolvingSpec(), DEFAULT_START


def _digest(path) -> str:
    return hashlib.sha256(current(path).read_bytes()).hexdigest()


KEY = "specification"
WHOLE_RUN = ("fitting", "simplify", "confidence")  # fields of RunSpec itself
FILES = {"reading": ("labels",), "model": ("cost", "start"), "solving": ("template",)}  # fields that may name a file


def write_settings(stem: str, spec: RunSpec, tree_path: str | Path) -> Path:
    """Add the specification of a run to STEM.run.json, with the SHA-256 of its tree, and return the path of the
    record."""
    path, folder = Path(f"{stem}.run.json"), Path(tree_path).resolve().parent
    facts: dict[str, Any] = {name: asdict(part) for name, part in spec.parts.items()}
    for part, names in FILES.items():
        for name in names:
            facts[part][name] = from_folder(facts[part][name], folder)
    facts |= {name: getattr(spec, name) for name in WHOLE_RUN}
    more = {KEY: facts | {"tree": fingerprint(current(tree_path))}}
    if not remains(path):
        write_text(path, json.dumps({"schema": SCHEMA}) + "\n")
    add_to_run(stem, more)
    return path


def from_folder(given, folder: Path):
    """Return a value as JSON; the name of a file relative to a folder."""
    if isinstance(given, str | Path):
        return os.path.relpath(Path(given).resolve(), folder) if Path(given).is_file() else str(given)
    return given
