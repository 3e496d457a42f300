"""The manifest STEM.odt.json next to a model, which makes decoding possible later, anywhere, without other files.

It contains the encoded rows, the candidate splits in original units, the formulation with its parameters and the
blocks of columns; the data file is recorded only by its path and SHA-256. It contains no times and no machine names, so
the same input gives the same bytes.
"""

import json
import re
import zlib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

import odtc
from odtc.algorithms.moments.lines import ExactLines
from odtc.base import compression
from odtc.base.atomic_write import write_text
from odtc.base.compression import RATIO, TooLargeError
from odtc.base.json_schema import FLAG, NOT_WHOLE, NUMBER, TEXT, WHOLE, explain_error, read_object, show_value, validate
from odtc.base.memory import require_memory
from odtc.base.value_class import value_class
from odtc.base.whole_numbers import (
    SAME_WEIGHT,
    common_unit,
    exact_weights,
    narrowed,
    nearest_floats,
    product,
    rounded_weights,
    whole_numbers,
)
from odtc.data.cells.data_files import stated_path
from odtc.data.codebook import codebook_of
from odtc.data.cost_matrix import cost_matrix
from odtc.data.dataset import GIVEN_SHAPE, LAYOUT_SHAPE, Codebook, Feature, codebook_shape, feature_shape
from odtc.data.encoding import ENCODINGS, Encoded
from odtc.data.label_types import LABEL_TYPES
from odtc.data.label_types import TEXT as AS_TEXT
from odtc.data.reading_spec import CLASSIFICATION, POLICIES
from odtc.data.splits import split_from_json, split_shape
from odtc.data.task import TASKS, lines_of, priced
from odtc.errors import ManifestError, OdtcError, SolutionError
from odtc.fileformats.solution_files import RawPoint
from odtc.model.blocks import Block, blocks_from_json
from odtc.model.milp import Model
from odtc.model.points import align, point_at
from odtc.problem.constraints.constraint import parse
from odtc.problem.constraints.groups import Groups
from odtc.problem.constraints.kind import CONSTRAINTS
from odtc.problem.cuts import separation
from odtc.problem.cuts.cut import CUTS
from odtc.problem.formulation import FORMULATIONS
from odtc.problem.identity import identity_of, short
from odtc.problem.parameters import params_to_json, parse_params
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import DEEPEST, CompleteTree
from odtc.workflow.row_selection.selection import take_rows

SCHEMA = "odtc.manifest/1"
SUFFIX = ".odt.json"

BLOCK = {"name": TEXT, "role": TEXT, "axes": [{"name": TEXT, "size": WHOLE, "first": WHOLE}], "positions?": TEXT}
EXACT = {"unit": TEXT, "weight": TEXT}
SEPARATED = {"matrix": {"indptr": TEXT, "indices": TEXT, "data": TEXT}, "lower": TEXT, "upper": TEXT, "cut": TEXT}


def _rows_shape(value, place):
    return BLOCK | (SEPARATED if isinstance(value, dict) and "cut" in value else {})


def _split_shape(value, place):
    return split_shape(value, place) | {"ones_left": FLAG, "same": [split_shape], "complement": [split_shape]}


# The shape of a manifest (odtc.base.json_schema). The first version has no "cost" and no "constraints".
SHAPE = {
    "identity?": TEXT,
    "content?": (TEXT, None),
    "own?": {"rows": [TEXT], "columns": [TEXT]},
    "plug_ins?": [{"type": TEXT, "name": TEXT, "origin": TEXT}],
    "data": {
        "name": TEXT,
        "target": TEXT,
        "missing": POLICIES,
        "n_rows": WHOLE,
        "n_rows_dropped": WHOLE,
        **dict.fromkeys(("path?", "sha256?", "weights?"), (TEXT, None)),
        **GIVEN_SHAPE,
        **LAYOUT_SHAPE,
        "hold_out?": NUMBER,
        "task?": TEXT,
        "selection?": (None, {"rows": TEXT, "weight": TEXT, "scheme": TEXT, "n_undecided?": WHOLE}),
    },
    "features": [feature_shape],
    "labels?": codebook_shape,
    "classes": [TEXT],
    "label_type?": LABEL_TYPES,
    "encoding": {"scheme": TEXT, "by_column?": FLAG, "radius?": [NUMBER], "merge?": FLAG, "splits": [_split_shape]},
    "rows": {
        **{"n": WHOLE, "X": TEXT, "y": TEXT, "weight": TEXT, "copies": TEXT, "values?": TEXT, "sums?": TEXT},
        "exact?": EXACT,
        "lines?": {"row_of": TEXT, "columns": [WHOLE], "cells": TEXT},
    },
    "cost?": [[NUMBER]],
    "groups?": [{"text": TEXT, "names": [TEXT], "weight": TEXT, "exact?": EXACT}],
    "model": {
        **dict.fromkeys(("formulation", "requested?", "version?"), TEXT),
        **dict.fromkeys(("depth", "n_cols", "n_rows", "nnz"), WHOLE),
        "params": {},
        "constraints?": [TEXT],
        "cuts?": [TEXT],
        "columns": [BLOCK],
        "rows": [_rows_shape],
    },
}

# Bytes that a character of packed text can represent: base64 stores 3/4 of a byte, and zlib packs at most to 1/1000.
PACKED_MOST = compression.HIGHEST
ROW_BYTES = 40  # memory for a row in addition to its splits and cells: label, weight, copies, place and sums
PLACES = 2**31  # largest number of columns of a block, because 32 bits number them
MOST_SUMS = 8  # largest number of sums of a row, and as many again for each class
FIXED_NAME = re.compile(r"C\d{7}$")


@value_class
class Manifest:
    """A manifest: `facts` is the JSON object, from which the other fields are read when the manifest is opened."""

    facts: dict
    problem: Problem
    columns: tuple[Block, ...]
    path: Path | None = None

    @property
    def cuts(self) -> tuple[str, ...]:
        """The cut families whose rows the model has."""
        return tuple(self.facts["model"].get("cuts", ()))

    @property
    def identity(self) -> str:
        """The identity of the model (odtc.problem.identity); "" for an older version without it."""
        return self.facts.get("identity") or ""

    @property
    def content(self) -> str:
        """SHA-256 of the unpacked bytes of the model file that was built; "" if none was written."""
        return self.facts.get("content") or ""

    def expect_model(self, identity: str, whose: str) -> None:
        """Raise ManifestError if `whose`, a file or object with the `identity` of a model, belongs to another model."""
        if identity and self.identity and identity != self.identity:
            other = "this model" if self.path is None else f"the manifest {str(self.path)!r}"
            raise ManifestError(
                f"{whose} belongs to another model, {short(identity)}…, than {other}, {short(self.identity)}…; build "
                "and solve it again, or name its own manifest (--manifest)"
            )

    @property
    def n_cols(self) -> int:
        return self.columns[-1].stop

    def with_separated(self, model: Model) -> Model:
        """Return a model that was built again with the separated constraints of the manifest added, because a new build
        does not produce them."""
        for block in self.facts["model"]["rows"]:
            if "cut" in block:
                n, part = block["axes"][0]["size"], block["matrix"]
                shape = n, model.n_cols
                import scipy.sparse as sp  # only rows that were separated need it

                if n > self.facts["model"]["n_rows"]:
                    raise ManifestError(f"the manifest {str(self.path)!r} separates {n} rows, more than its model has")
                try:
                    indptr, nnz = _unpack(part["indptr"], "<i4", n + 1), self.facts["model"]["nnz"]
                    most = max(compression.LEAST, RATIO * len(part["indices"])) // 4  # distinct numbers pack no better
                    indices = _unpack(part["indices"], "<i4", most=min(most, nnz))
                    data = _unpack(part["data"], "<f8", len(indices))
                    A = sp.csr_array((data, indices, indptr), shape=shape)
                    A.check_format()
                    lower, upper = _unpack(block["lower"], "<f8", n), _unpack(block["upper"], "<f8", n)
                except ValueError as problem:
                    raise ManifestError(f"the manifest {str(self.path)!r} is damaged: {problem}") from None
                model = separation.append(model, block["cut"], block["name"], A, lower, upper)
        return replace(model, cuts=self.cuts)

    def point(self, raw: RawPoint) -> np.ndarray | None:
        """Return the point of a solution file in the model's column order, None if it has none.

        Raises SolutionError if the file has other columns.
        """
        if raw.values is None:
            return None
        if raw.n_columns is not None and raw.n_columns != self.n_cols:
            raise SolutionError(
                f"the solution has {raw.n_columns} columns, the model of the manifest {self.n_cols}; "
                "it is cut off or belongs to another model: name its manifest with --manifest"
            )
        if raw.names is not None and len(raw.names) and FIXED_NAME.match(raw.names[0]):
            places = raw.names.places("C", [(7, 0, self.n_cols)], mark="")
            return point_at(places, raw.names, raw.values, self.n_cols)
        return align(self.columns, raw.names, raw.values)

    def expect(self, model, whose: str = f"odtc {odtc.__version__} builds") -> None:
        """Raise ManifestError if a model has another size than the manifest records: it was built by another version,
        or the reader of its file silently dropped a part (docs/reference/file-formats.md)."""
        for key, size in (("n_cols", model.n_cols), ("n_rows", model.n_rows), ("nnz", model.nnz)):
            if self.facts["model"][key] != size:
                raise ManifestError(
                    f"the manifest {str(self.path)!r} (of odtc {self.facts.get('odtc')}) records {key} = "
                    f"{self.facts['model'][key]}, {whose} {size}; build the model again"
                )
        if model.problem is not None and model.columns != self.columns:
            raise ManifestError(
                f"the manifest {str(self.path)!r} records other columns than {whose}; build the model again"
            )


def _plug_ins(problem: Problem, model) -> dict:
    """Return the plug-ins of other packages or files that made the model, with their versions; {} if all are odtc's."""
    used = [
        (FORMULATIONS, problem.module.name),
        (ENCODINGS, problem.encoded.scheme.partition(":")[0]),
        *((CUTS, word.partition(":")[0]) for word in model.cuts),
        *((CONSTRAINTS, given.module.name) for given in problem.constraints),
    ]
    found = [
        {"type": registry.kind, "name": name, "origin": origin}
        for registry, name in dict.fromkeys(used)
        if (origin := registry.origin(name))
    ]
    return {"plug_ins": found} if found else {}


def describe(problem: Problem, model, folder: Path | None = None) -> dict:
    """Return the manifest of a model, as a JSON object; data paths are relative to `folder`. If a user added rows and
    columns to the model, the manifest describes the part that odtc built, and lists the names of the added ones."""
    if (built := model.as_built) is not model:
        own = {"rows": model.row_names[built.n_rows :], "columns": model.column_names[built.n_cols :]}
        return describe(problem, replace(built, content=""), folder) | {"own": own}
    encoded = problem.encoded
    return {
        "schema": SCHEMA,
        "odtc": odtc.__version__,
        "identity": model.identity or identity_of(problem, model.cuts),
        "content": model.content or None,
        **_plug_ins(problem, model),
        "data": describe_data(encoded, folder),
        "features": [feature.to_json() for feature in encoded.features],
        **({} if (codebook := codebook_of(encoded.features)) is None else {"labels": codebook.to_json()}),
        "classes": list(encoded.classes),
        **({"label_type": encoded.label_type} if encoded.label_type != AS_TEXT else {}),
        "encoding": _describe_encoding(encoded),
        "rows": _describe_rows(problem),
        "cost": encoded.cost.tolist(),
        **({"groups": _describe_groups(encoded)} if encoded.groups else {}),
        "model": {
            "name": model.name,
            "formulation": problem.formulation,
            **({"requested": problem.choice.requested} if problem.choice is not None else {}),
            **({"version": problem.module.VERSION} if problem.module.VERSION else {}),
            "depth": int(problem.topology.depth),
            "params": params_to_json(problem.params),
            "constraints": [str(given) for given in problem.constraints],
            "n_cols": model.n_cols,
            "n_rows": model.n_rows,
            "nnz": model.nnz,
            "cuts": list(model.cuts),
            "columns": [block.to_json() for block in model.columns],
            "rows": _rows(model),
            **problem.module.notes(problem),
        },
    }


def _describe_encoding(encoded: Encoded) -> dict:
    """Return the splits of an encoding, each with the splits that separate the rows in the same way."""
    return {
        "scheme": encoded.scheme,
        **({"by_column": True} if encoded.by_column else {}),
        **({"radius": list(encoded.radius)} if encoded.radius else {}),
        **({} if encoded.merge else {"merge": False}),
        "splits": [
            {
                **split.to_json(encoded.features),
                "ones_left": bool(ones_left),
                "same": [s.to_json(encoded.features) for s, same in merged if same],
                "complement": [s.to_json(encoded.features) for s, same in merged if not same],
            }
            for split, ones_left, merged in zip(encoded.splits, encoded.ones_left, encoded.stands_for)
        ],
    }


def _describe_rows(problem: Problem) -> dict:
    """Return the encoded rows as packed arrays, with sums and cells if the formulation needs them."""
    encoded = problem.encoded
    keeps_cells = problem.module.WEIGHS or problem.module.holds_cells(problem)
    return {
        "n": encoded.n_rows,
        "X": _pack(np.packbits(encoded.X, axis=1)),
        "y": _pack(encoded.y.astype("<i4")),
        "weight": _pack(encoded.weight.astype("<f8")),
        "copies": _pack(encoded.copies.astype("<i8")),
        **_exact_weights(exact_weights(encoded), rounded_weights(encoded.weight)),
        **({"sums": _pack(encoded.sums.astype("<f8"))} if encoded.sums.size else {}),
        **({"values": _pack(encoded.values.astype("<f8"))} if keeps_cells else {}),
        **({} if (lines := lines_of(encoded)) is None else {"lines": _describe_lines(lines)}),
    }


def _describe_lines(lines: ExactLines) -> dict:
    """Return the rows of the data that the costs of linear leaves need: numbers, weights and columns."""
    return {
        "row_of": _pack(lines.row_of.astype("<i4")),
        "columns": list(map(int, lines.names)),
        "cells": _pack(lines.cells.astype("<f8")),
    }


def _read_lines(facts: dict, n: int, features: int, data: dict) -> ExactLines:
    """Return the costs of linear leaves that `_describe_lines` wrote for n encoded rows. Raises ValueError if they are
    for other rows or features."""
    columns, most = facts["columns"], PACKED_MOST * len(facts["row_of"]) // 4
    row_of = _unpack(facts["row_of"], "<i4", most=most).astype(np.int64)
    numbers, weight, *X = _unpack(facts["cells"], "<f8", (len(columns) + 2) * len(row_of)).reshape(-1, len(row_of))
    fits = set(row_of.tolist()) == set(range(n)) and all(0 <= at < features for at in columns) and (weight > 0).all()
    if not fits or not all(np.isfinite(part).all() for part in (numbers, weight, *X)):
        raise ValueError("the rows of its linear leaves are not those of its rows")
    X = np.stack(X, axis=1) if X else np.zeros((len(row_of), 0))
    return ExactLines(numbers, X, Fraction(repr(float(data.get("ridge", 0.0)))), weight, row_of, columns)


def _describe_groups(encoded: Encoded) -> list[dict]:
    """Return the weight of each group of the constraints in each row."""
    return [
        {"text": of.text, "names": list(of.names), "weight": _pack(of.weight.astype("<f8"))}
        | (_exact_weights(of.summed, whole_numbers(of.weight)) if of.summed is not None else {})
        for of in encoded.groups
    ]


def describe_data(encoded: Encoded, folder: Path | None = None) -> dict:
    """Return the data file of the rows, with its SHA-256, and how it was read, as a JSON object; its path is relative
    to `folder`. ReadingSpec.from_manifest reads it."""
    dataset = encoded.dataset
    source = dict(dataset.source) if dataset is not None else {}
    if source.get("path") is not None and folder is not None:
        source["path"] = stated_path(source["path"], folder.resolve())
    return {
        "name": encoded.name,
        **source,
        **({"task": encoded.task} if encoded.task != CLASSIFICATION else {}),
        "target": encoded.target,
        "missing": encoded.missing,
        "n_rows": int(encoded.copies.sum()),
        "n_rows_dropped": dataset.n_dropped if dataset is not None else 0,
        **_selection(dataset),
    }


def _selection(dataset) -> dict:
    """Return the rows of the data file that the model uses, if it does not use all."""
    if dataset is None or dataset.selected is None:
        return {}
    chosen = dataset.selected
    return {
        "selection": chosen.facts
        | {"rows": _pack(chosen.rows.astype("<i8")), "weight": _pack(dataset.weight.astype("<f8"))}
    }


def reselected(manifest: Manifest, dataset):
    """Return the rows that a manifest selects, from the data set of the file read again."""
    told = dict(manifest.facts["data"].get("selection") or {})
    if not told:
        return dataset
    n = dataset.n_rows
    try:
        rows = _unpack(told.pop("rows"), "<i8", most=n).astype(np.int64)
        weight = _unpack(told.pop("weight"), "<f8", len(rows)).astype(float)
        if not len(rows) or rows.min() < 0 or rows.max() >= n:
            raise ValueError(f"expected rows of the {n} of the data file, got others")
    except NOT_WHOLE as problem:
        raise ManifestError(
            f"the manifest {str(manifest.path)!r} does not name valid rows: {explain_error(problem)}"
        ) from None
    return take_rows(dataset, rows, weight, told)


def _rows(model) -> list[dict]:
    """Return the blocks of rows; separated blocks include their matrix and their sides."""
    families, blocks = dict(model.separated), []
    for at, block in enumerate(model.rows):
        blocks.append(block.to_json())
        if block.name in families:
            A = separation.rows_of(model, at, at + 1)
            matrix = {
                "indptr": _pack(A.indptr.astype("<i4")),
                "indices": _pack(A.indices.astype("<i4")),
                "data": _pack(A.data.astype("<f8")),
            }
            side = slice(block.start, block.stop)
            blocks[-1] |= {
                "cut": families[block.name],
                "matrix": matrix,
                "lower": _pack(model.row_lower[side].astype("<f8")),
                "upper": _pack(model.row_upper[side].astype("<f8")),
            }
    return blocks


def write_manifest(problem: Problem, model, path) -> Path:
    """Write STEM.odt.json and return its path; raises OutputError."""
    path = Path(path)
    facts = describe(problem, model, path.resolve().parent)
    write_text(path, json.dumps(facts, ensure_ascii=False, indent=1) + "\n")
    return path


def read_manifest(path) -> Manifest:
    """Read a manifest; raises ManifestError for a file that is missing, not a manifest, incomplete, or of another
    schema."""
    path = Path(path)
    facts = read_object(path, "manifest", ManifestError)
    if facts.get("schema") != SCHEMA:
        raise ManifestError(
            f"expected a manifest of schema {SCHEMA!r} in {str(path)!r}, got {show_value(facts.get('schema'))}; "
            "build the model again with this version of odtc"
        )
    try:
        validate(facts, SHAPE)
        _expect_sizes(facts)
        manifest = Manifest(facts, _problem(facts), blocks_from_json(facts["model"]["columns"]), path)
        if manifest.identity and facts.get("odtc") == odtc.__version__:
            if identity_of(manifest.problem, manifest.cuts, own=facts["model"].get("version", "")) != manifest.identity:
                raise ValueError("its content does not match its identity, so it was changed after it was written")
        return manifest
    except OdtcError as problem:
        raise ManifestError(f"the manifest {str(path)!r} cannot be used: {problem}{_absent(facts)}") from None
    except (*NOT_WHOLE, zlib.error) as problem:
        raise ManifestError(
            f"the manifest {str(path)!r} is damaged: {explain_error(problem)}; build the model again"
        ) from None


def _absent(facts: dict) -> str:
    """Return the plug-ins of other packages or files that a model needs and that are missing here, as the end of a
    sentence; "" if none."""
    registries = {one.kind: one for one in (FORMULATIONS, ENCODINGS, CUTS, CONSTRAINTS)}
    absent = [
        f"the {one['type']} {one['name']!r} comes from {one['origin']}"
        for one in facts.get("plug_ins", ())
        if one["type"] in registries and one["name"] not in registries[one["type"]].names()
    ]
    return f"; {' and '.join(absent)}: name the file by --plugin, or install the package" if absent else ""


def find_manifest(solution_path, raw: RawPoint) -> Manifest:
    """Find the manifest next to a solution file: the one with the same stem, or the only one with these columns. If
    several have these columns because one model was built under several names, take the first.

    Raises ManifestError, whose message explains how to name the manifest.
    """
    path = Path(solution_path)
    parts = path.name.split(".")
    for end in range(len(parts) - 1, 0, -1):
        same = path.with_name(".".join(parts[:end]) + SUFFIX)
        if same.is_file():
            return read_manifest(same)
    fitting = []
    for candidate in sorted(path.parent.glob(f"*{SUFFIX}")):
        try:
            if not candidate.is_file():
                continue
            manifest = read_manifest(candidate)
            if raw.values is not None:
                manifest.point(raw)
            fitting.append(manifest)
        except OdtcError:
            continue
    if len(fitting) == 1 or (fitting and all(_is_same_build(fitting[0], other) for other in fitting[1:])):
        return fitting[0]
    found = ", ".join(m.path.name for m in fitting) or "none"
    raise ManifestError(
        f"expected one manifest (*{SUFFIX}) next to {str(path)!r} with the columns of the solution, found {found}; "
        f"name it with --manifest FILE{SUFFIX}"
    )


def _is_same_build(one: Manifest, other: Manifest) -> bool:
    """Return whether two manifests describe the same data and model: only the bytes of their model files may differ."""
    return bool(one.identity) and one.facts | {"content": ""} == other.facts | {"content": ""}


def _expect_sizes(facts: dict) -> None:
    """Raise ValueError if the sizes that a manifest states contradict each other, before they are used."""
    model, rows, splits = facts["model"], facts["rows"], facts["encoding"]["splits"]
    depth, n, sizes, picked = model["depth"], rows["n"], [], 0
    if not 1 <= depth <= DEEPEST:
        raise ValueError(f"its depth is {depth}")
    for block in model["columns"]:
        size = 1
        for axis in block["axes"]:
            size *= axis["size"]
        sizes.append(size)
        if "positions" in block:  # a part of the grid, as packed bits
            picked += size
            if not 0 <= size < PLACES or size > PACKED_MOST * 8 * len(block["positions"]):
                raise ValueError(f"its block {block['name']!r} has {size} positions, but their list is too short")
    nodes = any(axis["name"] == "node" for block in model["columns"] for axis in block["axes"])
    if nodes and sum(sizes) < 2 ** (depth - 2):  # some formulations have columns of the upper nodes only
        raise ValueError(f"its depth is {depth}, but its nodes have {sum(sizes)} columns in all")
    if not sum(sizes) - picked <= model["n_cols"] <= sum(sizes):
        raise ValueError(f"it records n_cols = {model['n_cols']}, but its blocks hold {sum(sizes)} columns")
    for key, item in (("X", -(-len(splits) // 8)), ("y", 4), ("weight", 8), ("copies", 8)):
        if n * item > PACKED_MOST * len(rows[key]):
            raise ValueError(f"its rows are {n}, for which {key!r} is too short")
    cell = 2 * len(splits) + 8 * len(facts["features"]) + ROW_BYTES
    require_memory(2 * n * cell, f"a manifest of {n:,} rows", "is it a file of odtc?")


def _problem(facts: dict) -> Problem:
    codebook = Codebook(**facts["labels"]) if "labels" in facts else None
    features = tuple(replace(Feature.from_json(one), codebook=codebook) for one in facts["features"])
    classes = tuple(facts["classes"])
    splits = facts["encoding"]["splits"]
    rows, n, model = facts["rows"], int(facts["rows"]["n"]), facts["model"]
    bits = _unpack(rows["X"], np.uint8, n * -(-len(splits) // 8)).reshape(n, -1)
    weight = _unpack(rows["weight"], "<f8", n).astype(float)
    encoded = Encoded(
        name=facts["data"]["name"],
        X=np.unpackbits(bits, axis=1, count=len(splits)).astype(bool),
        y=_unpack(rows["y"], "<i4", n).astype(np.int32),
        weight=weight,
        copies=_unpack(rows["copies"], "<i8", n).astype(np.int64),
        row_of=np.arange(n),
        splits=tuple(split_from_json(split, features) for split in splits),
        ones_left=np.array([split["ones_left"] for split in splits], dtype=bool),
        features=features,
        classes=classes,
        target=facts["data"]["target"],
        missing=facts["data"]["missing"],
        stands_for=tuple(
            tuple(
                (split_from_json(s, features), same)
                for key, same in (("same", True), ("complement", False))
                for s in split[key]
            )
            for split in splits
        ),
        scheme=facts["encoding"]["scheme"],
        by_column=facts["encoding"].get("by_column", False),
        radius=tuple(map(float, facts["encoding"].get("radius", ()))),
        merge=facts["encoding"].get("merge", True),
        dataset=None,
        # Manifests of the first version have no costs: every error costs 1.
        cost=cost_matrix(classes, np.ones(len(classes)), cost=facts.get("cost")) if len(classes) > 1 else None,
        exact_weight=_read_exact_weights(rows, weight),
        cells=_unpack(rows["values"], "<f8", n * len(features)).astype(float).reshape(n, len(features))
        if "values" in rows
        else None,
        task=facts["data"].get("task", CLASSIFICATION),
        label_type=facts.get("label_type", AS_TEXT),
        goal=TASKS.get(facts["data"].get("task", CLASSIFICATION)).terms(facts["data"]).get("goal", ""),
        sums=_unpack_rows(rows["sums"], n, MOST_SUMS + MOST_SUMS * len(classes)) if "sums" in rows else None,
        lines=_read_lines(rows["lines"], n, len(features), facts["data"]) if "lines" in rows else None,
        groups=tuple(_groups(of, n) for of in facts.get("groups", ())),
    )
    if not n == len(encoded.y) == len(encoded.weight) == len(encoded.copies):
        raise ValueError("the rows have different lengths")
    if not n or encoded.y.min() < 0 or encoded.y.max() >= len(encoded.classes):
        raise ValueError("a row has no class")
    encoded, params = priced(encoded), parse_params(model["formulation"], model["params"])
    constraints = tuple(parse(text, encoded) for text in model.get("constraints", ()))
    return Problem(
        encoded, CompleteTree(int(model["depth"])), FORMULATIONS.get(model["formulation"]), params, constraints
    )


def _exact_weights(exact: tuple[np.ndarray, Fraction], rounded: tuple[np.ndarray, Fraction]) -> dict:
    """Return exact weights as whole numbers and their unit; {} if the rounded weights are equal to them."""
    (whole, unit), (other, of_rounded) = exact, rounded
    least = common_unit([unit, of_rounded])
    if (product(whole, int(unit / least)) == product(other, int(of_rounded / least))).all():
        return {}
    text = " ".join(map(str, whole.ravel().tolist())).encode("ascii")
    return {"exact": {"unit": f"{unit.numerator}/{unit.denominator}", "weight": compression.pack(text)}}


def _read_exact_weights(facts: dict, weight: np.ndarray) -> tuple[np.ndarray, Fraction] | None:
    """Return the weights that `_exact_weights` wrote; None if it wrote none. Raises ValueError if they differ from
    `weight` by more than rounding."""
    if "exact" not in facts:
        return None
    above, below = map(int, facts["exact"]["unit"].split("/"))
    each = list(map(int, compression.unpack_text(facts["exact"]["weight"]).decode("ascii").split(" ")))
    unit = Fraction(above, max(1, below))
    if unit > 0 and len(each) == weight.size:
        whole = np.array(each, object).reshape(weight.shape)
        if np.allclose(nearest_floats(whole, unit), weight, SAME_WEIGHT, 0):
            return narrowed(whole), unit
    raise ValueError("the exact weights of its rows are not their weights")


def _groups(facts: dict, n: int) -> Groups:
    weight = _unpack_rows(facts["weight"], n, len(facts["names"]))
    return Groups(facts["text"], tuple(facts["names"]), weight, _read_exact_weights(facts, weight))


def _pack(array: np.ndarray) -> str:
    return compression.pack(np.ascontiguousarray(array).tobytes())


def _unpack_rows(text: str, n: int, most: int) -> np.ndarray:
    """Return the float64 array (n, at most `most`) of a packed text."""
    try:
        data = _unpack(text, "<f8", most=n * most)
        fits = n and len(data) % n == 0
    except TooLargeError:
        fits = False
    if not fits:
        raise ValueError(f"expected {n} rows of at most {most} packed numbers each, got others")
    return data.astype(float).reshape(n, -1)


def _unpack(text: str, dtype, count: int | None = None, most: int | None = None) -> np.ndarray:
    """Return the array of a packed text, of `count` or at most `most` numbers; longer texts are not unpacked."""
    room = count if most is None else most
    if room is None or room < 0:
        raise ValueError(f"expected a number of packed numbers, got {room}")
    try:
        data = compression.unpack(text, room * np.dtype(dtype).itemsize)
    except TooLargeError:
        raise TooLargeError(f"expected {room} packed numbers{'' if most is None else ' at most'}, got more") from None
    except (ValueError, zlib.error):
        raise ValueError(f"expected packed numbers, got the text {show_value(text)}") from None
    if count is not None and len(data) != count * np.dtype(dtype).itemsize:
        raise ValueError(f"expected {count} packed numbers, got fewer")
    return np.frombuffer(data, dtype)
