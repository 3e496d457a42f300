"""STEM.run.json: facts about the run of the solver that a solution file cannot contain, and the settings of the run.

It names the solution file by its SHA-256, so it is never taken for the record of another one.
"""

import hashlib
import json
import os
import shlex
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from odtc.base.atomic_write import write_text
from odtc.base.commit import current, expect_settled, remains
from odtc.base.json_schema import (
    FLAG,
    NOT_WHOLE,
    NUMBER,
    REAL,
    TEXT,
    WHOLE,
    SchemaError,
    explain_error,
    list_of,
    read_object,
    schema_of,
    validate,
)
from odtc.base.registry import did_you_mean
from odtc.base.spec_fields import command_words, fields_by_name, plain
from odtc.base.system import read_file
from odtc.base.wording import flag
from odtc.data.cost_matrix import cost_text
from odtc.data.reading import fingerprint
from odtc.errors import ChoiceError, OdtcError, TreeError
from odtc.model.solution import Options, Racer, Solution, Termination
from odtc.problem.problem import Problem
from odtc.workflow.provenance.run_of_tree import MANIFEST, RECORD, RunOfTree
from odtc.workflow.specification import PARTS, ModelSpec, ReadingSpec, RunSpec, SolvingSpec

SCHEMA = "odtc.run/1"
DEFAULT_START = ModelSpec().start
MAYBE = (REAL, None)


SHAPE = {
    "schema": TEXT,
    "solution_file": (TEXT, None),
    "sha256": (TEXT, None),
    "model?": (TEXT, None),
    "content?": (TEXT, None),
    "solver": TEXT,
    "termination": TEXT,
    "objective": MAYBE,
    "claimed": MAYBE,
    "bound": MAYBE,
    "overall?": MAYBE,
    "gap?": MAYBE,
    "scope?": TEXT,
    "nodes": MAYBE,
    "seconds": MAYBE,
    "start": TEXT,
    "message": TEXT,
    "history": [list_of(3, MAYBE)],  # seconds, incumbent, bound
    "options?": {
        "time_limit?": MAYBE,
        "threads?": (WHOLE, None),
        "seed?": WHOLE,
        "gap?": NUMBER,
        "solver?": TEXT,
        "template?": (TEXT, None),
        "program?": (TEXT, None),
        "start?": TEXT,
    },
    "race?": [
        {
            "name": TEXT,
            "solver": TEXT,
            "termination": TEXT,
            "objective": MAYBE,
            "bound": MAYBE,
            "seconds": MAYBE,
            "gave": [TEXT],
            "message": TEXT,
        }
    ],
}


def write_run(solution: Solution, options: Options, solution_path, stem, start=None, more: dict | None = None) -> Path:
    """Write STEM.run.json for this solution file (None if there is no point).

    `options` is a SolvingSpec if the solver's name is known; `start` is the name of the requested start; `more` are
    keys of the record in addition to those of the solution.
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
        "objective": solution.objective,
        "claimed": solution.claimed,
        "bound": solution.bound,
        "gap": solution.gap,
        "nodes": solution.nodes,
        "seconds": solution.seconds,
        "start": solution.start,
        "message": solution.message,
        "history": solution.history,
    }
    if solution.overall is not None:
        facts |= {"scope": solution.scope, "overall": solution.overall}
    if solution.race:
        facts["race"] = [racer.to_json() for racer in solution.race]
    facts |= more or {}
    write_text(path, json.dumps(facts, indent=1) + "\n")
    return path


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
            run = Solution(
                None,
                Termination(facts["termination"]),
                facts["objective"],
                facts["bound"],
                facts["seconds"],
                facts["solver"],
                facts["nodes"],
                facts["claimed"],
                facts["start"],
                tuple(tuple(entry) for entry in facts["history"]),
                facts["message"],
                race=tuple(Racer.from_json(entry) for entry in facts.get("race", ())),
                model=facts.get("model") or "",
                content=facts.get("content") or "",
                scope=facts.get("scope", ""),
                overall=facts.get("overall"),
            )
        except (OSError, ValueError, KeyError, TypeError, RecursionError, SchemaError):
            continue  # a record that cannot be read is ignored
        yield facts, run


def read_solving(stem) -> tuple[SolvingSpec, str]:
    """Return the options of the run of STEM.run.json, and the name of its start; the defaults if there is no such
    record, or one that cannot be read."""
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


# The settings of a run: recorded with its tree in STEM.run.json, and inherited by a run that starts from that tree.
#
# All fields of a specification are recorded as they were requested, so that "balanced" is balanced again on other rows.


KEY = "specification"
WHOLE_RUN = ("fitting", "simplify", "confidence")  # fields of RunSpec itself
SPECIFIED = {
    **{name: schema_of(record) for name, record in PARTS.items()},
    "model": schema_of(ModelSpec) | dict.fromkeys(("class_weight", "cost"), (TEXT, None)),
    **dict.fromkeys(("fitting", "simplify"), FLAG),
    "confidence": (REAL, None),
}
FILES = {"reading": ("labels",), "model": ("cost", "start"), "solving": ("template",)}  # fields that may name a file
OF_OLD_ROWS = {
    "start": "the new run starts from the old tree",
    "select": "all new rows count",
}
ALL = "all"


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


def settings_of(tree_path: str | Path) -> RunSpec | None:
    """Return the specification of the run that left a tree, by the record, the manifest or the certificate next to
    it; None if none states it. Raises TreeError or ManifestError if the record or the manifest is broken."""
    from odtc.workflow.manifest import read_manifest

    path, run = Path(tree_path), RunOfTree(tree_path)
    record, manifest = Path(run.stem + RECORD), Path(run.stem + MANIFEST)
    if KEY in run.record:
        facts = run.record[KEY]
        try:
            validate(facts, SPECIFIED)
            return _specification(facts, path.resolve().parent)
        except (OdtcError, *NOT_WHOLE) as problem:
            raise TreeError(f"the settings in {str(record)!r} are damaged: {explain_error(problem)}") from None
    if manifest.is_file():  # a tree that `odtc decode` wrote
        found, (solving, start) = read_manifest(manifest), read_solving(run.stem)
        return of_manifest(found.facts, found.problem, start, solving)
    try:
        facts = read_object(f"{run.stem}.certificate.json", "certificate", TreeError)
        return of_certificate(facts) if facts["tree"] == read_object(path, "tree", TreeError) else None
    except (OdtcError, KeyError, TypeError, ValueError):
        return None


def _specification(facts: dict, folder: Path) -> RunSpec:
    parts: dict[str, dict] = {}
    for name in PARTS:
        parts[name] = {key: tuple(one) if isinstance(one, list) else one for key, one in facts[name].items()}
        for key in FILES.get(name, ()):
            if isinstance(given := parts[name][key], str) and (folder / given).is_file():
                parts[name][key] = os.path.relpath(folder / given)
    whole = {name: facts[name] for name in WHOLE_RUN}
    return RunSpec(**{name: record(**parts[name]) for name, record in PARTS.items()}, **whole)


def of_manifest(facts: dict, problem: Problem, start, solving: SolvingSpec) -> RunSpec:
    """Return the specification of a model by its manifest, with the start and the solving of its run."""
    data, cost = {"categorical": [], "numeric": [], "weights": None} | facts["data"], problem.encoded.cost
    model = ModelSpec(
        model=problem.formulation,
        depth=int(problem.topology.depth),
        params=facts["model"]["params"],
        encoding=problem.encoded.scheme,
        cuts=tuple(facts["model"].get("cuts", ())) or None,
        start=start,
        cost=(cost_text(cost.tolist(), problem.encoded.classes) or None) if cost is not None else None,
        constraints=tuple(map(str, problem.constraints)),
        select=(data.get("selection") or {}).get("scheme"),
    )
    return RunSpec(ReadingSpec.from_manifest(data), model, solving)


def of_certificate(facts: dict) -> RunSpec:
    """Return the specification of the trees that a certificate is about: how the rows are read, the splits, the costs
    and the constraints."""
    classes, cost = facts["classes"], None
    if "loss" in facts:  # (1-λ) loss + λ branch nodes, in units of `scale`
        penalty = Fraction(facts["penalty"]) / Fraction(facts["scale"])
        unit = (Fraction(facts["scale"]) - Fraction(facts["penalty"])) / Fraction(facts["weight_scale"])
        matrix = [[float(Fraction(one) / unit) for one in row] for row in facts["loss"]]
        cost = cost_text(matrix, classes) or None
    else:  # loss + λ/(1-λ) branch nodes, in units of the square of a number for regression
        price = Fraction(facts["penalty"]) / Fraction(facts.get("number_scale", 1)) ** 2
        penalty = price / (1 + price)
    model = ModelSpec(
        model="auto",
        depth=facts["depth"],
        params={"lambda": float(penalty)} if penalty else {},
        encoding=facts["encoding"],
        cost=cost,
        constraints=tuple(facts["of"]["constraints"]),
    )
    return RunSpec(ReadingSpec.from_manifest(facts["data"]), model)


def inherited(given: RunSpec, named: Collection[str], old: RunSpec, forget: Collection[str]) -> RunSpec:
    """Return the specification of an old run with the fields that are `named` as they are in `given`, and without the
    settings to `forget`: fields by name, or all.

    Raises ChoiceError for a setting to forget that does not exist.
    """
    fields = {name for record in PARTS.values() for name in fields_by_name(record)} | set(WHOLE_RUN)
    dropped = {option_name(one) for one in forget}
    for one in sorted(dropped - fields - {ALL}):
        raise ChoiceError(f"--forget: expected names of options, or {ALL}, got {one!r}{did_you_mean(one, fields)}")
    own = {*named, *OF_OLD_ROWS, *(fields if ALL in dropped else dropped)}
    parts = {
        name: replace(
            part, **{field: getattr(given.parts[name], field) for field in fields_by_name(part) if field in own}
        )
        for name, part in old.parts.items()
    }
    whole = {name: getattr(given if name in own else old, name) for name in WHOLE_RUN}
    return RunSpec(**parts, **whole)


def option_name(text: str) -> str:
    """Return the field of an option: "--time-limit" is time_limit, "-p" params, and "constraint" constraints."""
    by_flag = {flag(name).lstrip("-"): name for record in PARTS.values() for name in fields_by_name(record)}
    word = text.strip().lstrip("-")
    return by_flag.get(word, word.replace("-", "_").removeprefix("no_"))


def inherited_texts(old: RunSpec, new: RunSpec) -> list[str]:
    """Return the settings that a run inherits from an old one, and those that differ, a sentence each."""
    kept, differ = [], []
    for name, part in old.parts.items():
        usual, now = type(part)(), new.parts[name]
        for field in fields_by_name(part):
            was, is_ = getattr(part, field), getattr(now, field)
            if was == is_ and was != getattr(usual, field):
                kept += _words(usual, field, was)
            elif was != is_ and (field not in OF_OLD_ROWS or was != getattr(usual, field)):
                why = f", because {OF_OLD_ROWS[field]}" if field in OF_OLD_ROWS else ""
                differ.append(f"{_told(usual, field, is_)} instead of {_told(usual, field, was)}{why}")
    for name, words in (("simplify", ["--no-simplify"]), ("confidence", ["--confidence", f"{old.confidence}"])):
        was, is_, usual = (getattr(spec, name) for spec in (old, new, RunSpec()))
        if was != usual and was == is_:
            kept += words
        elif was != is_:
            differ.append(f"{flag(name)} {is_} instead of {was}")
    found = [f"inherited from the run of the old tree: {shlex.join(kept)}"] if kept else []
    return [*found, *([f"not as in the run of the old tree: {'; '.join(differ)}"] if differ else [])]


def _words(usual, field: str, value) -> list[str]:
    return command_words(replace(usual, **{field: value}))


def _told(usual, field: str, value) -> str:
    """Return a field with its value as on the command line, or that it has none."""
    if value == getattr(usual, field) and value in (None, (), {}):
        return f"no {flag(field)}"
    return shlex.join(_words(usual, field, value)) or f"{flag(field)} {plain(value)}"
