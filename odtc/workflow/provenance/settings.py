"""The settings of the run that wrote a tree, its data file, and the settings that a new run inherits from it.

All fields of a specification are recorded as they were requested (odtc.workflow.run_record), so that "balanced" is
balanced again on other rows.
"""

import os
import shlex
from collections.abc import Collection
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from odtc.base.json_schema import FLAG, NOT_WHOLE, REAL, TEXT, explain_error, read_object, schema_of, validate
from odtc.base.spec_fields import command_words, fields_by_name, plain
from odtc.base.text import did_you_mean
from odtc.base.wording import flag
from odtc.data.cells.data_files import recorded_data
from odtc.data.cost_matrix import cost_text
from odtc.data.reading import fingerprint
from odtc.data.reading_spec import CLASSIFICATION
from odtc.errors import ChoiceError, OdtcError, TreeError
from odtc.problem.problem import Problem
from odtc.trees.tree import read_tree
from odtc.workflow.manifest import read_manifest
from odtc.workflow.provenance.run_of_tree import MANIFEST, RECORD, RunOfTree
from odtc.workflow.run_record import FILES, KEY, WHOLE_RUN, read_solving
from odtc.workflow.specification import PARTS, ModelSpec, ReadingSpec, RunSpec, SolvingSpec

SPECIFIED = {
    **{name: schema_of(record) for name, record in PARTS.items()},
    "model": schema_of(ModelSpec) | dict.fromkeys(("class_weight", "cost"), (TEXT, None)),
    **dict.fromkeys(("fitting", "simplify"), FLAG),
    "confidence": (REAL, None),
}
OF_OLD_ROWS = {
    "start": "the new run starts from the old tree",
    "select": "all new rows count",
}
ALL = "all"


def settings_of(tree_path: str | Path) -> RunSpec | None:
    """Return the specification of the run that left a tree, by the record, the manifest or the certificate next to
    it; None if none states it. Raises TreeError or ManifestError if the record or the manifest is broken."""
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
    from odtc.workflow.provenance.certifying import is_certified_tree  # loads the search, and few trees have no record

    try:
        facts = read_object(f"{run.stem}.certificate.json", "certificate", TreeError)
        return of_certificate(facts) if is_certified_tree(facts, read_tree(path)) else None
    except (OdtcError, KeyError, TypeError, ValueError):
        return None


def data_of_tree(tree_path: Path) -> Path | None:
    """Return the data file that a tree was trained on, by the record or the manifest next to it; None if neither names
    one that is there and unchanged. Raises TreeError if one of them is broken."""
    stated = RunOfTree(tree_path).told.get("data", {})
    path = recorded_data(tree_path, stated.get("path") or "")
    same = path.is_file() and stated.get("sha256") == fingerprint(path)
    return Path(os.path.relpath(path)) if same else None


def reading_of_tree(tree_path: Path) -> dict:
    """Return the keywords with which the data of a tree was read, by the record or the manifest next to it; {} if
    neither states them. Raises TreeError if one of them is broken."""
    told = RunOfTree(tree_path).told
    try:
        read_so = ReadingSpec(**told["reading"]) if "reading" in told else ReadingSpec.from_manifest(told["data"])
    except (KeyError, TypeError):  # neither is there, or another version has written it
        return {}
    return read_so.keywords | {"labels": None}


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
    of_classes = facts["data"].get("task", CLASSIFICATION) == CLASSIFICATION  # others have no --cost
    if "loss" in facts:  # (1-λ) loss + λ branch nodes, in units of `scale`
        penalty = Fraction(facts["penalty"]) / Fraction(facts["scale"])
        unit = (Fraction(facts["scale"]) - Fraction(facts["penalty"])) / Fraction(facts["weight_scale"])
        matrix = [[float(Fraction(one) / unit) for one in row] for row in facts["loss"]]
        cost = (cost_text(matrix, classes) or None) if of_classes else None
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
