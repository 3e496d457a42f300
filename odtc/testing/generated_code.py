"""Run the output of an exporter as a TOML file next to its template describes: templates/check/NAME.toml.

    run = ["{python}", "{driver}", "{file}"]    # the program and its arguments; {folder} is theirs
    prepare = [["rustc", "{file}"]]             # commands that come before
    rows = "csv"                                # or "json": the format of the rows on stdin
    driver = '''…'''                            # a text that is written to {driver}
    names = "plain"                             # columns and classes have names of letters

The program prints the class of each row on a line. Rows of "csv" have the form of data files: a header, "?" for a
missing cell. Rows of "json" are a list of objects: numbers, texts, truth values, null for a missing cell.
"""

import csv
import io
import json
import math
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np

from odtc.base import system
from odtc.base.templates import template_folders
from odtc.data.dataset import CATEGORICAL, NUMERIC
from odtc.errors import ChoiceError
from odtc.testing.property import NotTestedError
from odtc.trees.places import Question

KEYS = {"run": list, "prepare": list, "rows": str, "driver": str, "names": str}
LONGEST_RUN = 60  # seconds


def how_to_run(name: str, templates: str | Path | None = None) -> dict | None:
    """Return the content of templates/check/NAME.toml; None if there is none. Raises ChoiceError for one that does not
    fit."""
    for folder in template_folders(templates):
        path = folder / "check" / f"{name}.toml"
        if path.is_file():
            return _read(path)
    return None


def _read(path: Path) -> dict:
    try:
        facts = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as problem:
        raise ChoiceError(f"expected TOML in {str(path)!r}: {problem}") from None
    for key, value in facts.items():
        if key not in KEYS or not isinstance(value, KEYS[key]):
            raise ChoiceError(f"expected {', '.join(KEYS)} in {str(path)!r}, got {key} = {value!r}")
    if "run" not in facts or facts.get("rows") not in ("csv", "json"):
        raise ChoiceError(f'expected run = ["PROGRAM", …] and rows = "csv" or "json" in {str(path)!r}')
    return facts


def run_export(how: dict, content: bytes, suffix: str, tree, X: np.ndarray, folder: Path) -> list[str]:
    """Return the class of each row by the exported file. Raises NotTestedError if its program is not here."""
    file, driver = folder / f"tree.{suffix}", folder / f"driver.{suffix}"
    file.write_bytes(content)
    driver.write_text(how.get("driver", ""), encoding="utf-8")
    words = {"python": sys.executable, "file": file.name, "driver": driver.name, "folder": str(folder)}
    given = as_csv(tree, X) if how["rows"] == "csv" else json.dumps(as_objects(tree, X))
    done = None
    for command in (*how.get("prepare", ()), how["run"]):
        parts = [part.format(**words) for part in command]
        if shutil.which(parts[0], path=None) is None and not (folder / parts[0]).is_file():
            raise NotTestedError(f"{parts[0]} is not on this machine")
        alone = {"cwd": folder, "env": system.program_environment()}
        done = subprocess.run(
            parts, input=given.encode(), capture_output=True, timeout=LONGEST_RUN, check=False, **alone
        )
        if done.returncode:
            said = " ".join(done.stderr.decode("utf-8", "replace").split())
            raise AssertionError(f"expected {' '.join(parts)!r} to end well, it ended with {done.returncode}: {said}")
    return done.stdout.decode("utf-8").splitlines()


def kind_of_cell(feature) -> str:
    """Return how a program reads a cell: "number", "numeral", "boolean" or "text"."""
    return Question("in", feature).cell


def cell_of(feature, value: float):
    """Return a cell in the form for a program: a number, a text, a truth value; None if it is missing."""
    if math.isnan(value):
        return None
    kind = kind_of_cell(feature)
    if kind == "number":
        return value
    if value < 0:
        return {"numeral": 1234.5, "boolean": unseen(feature), "text": unseen(feature)}[kind]
    level = feature.levels[int(value)]
    return {"numeral": lambda: float(level), "boolean": lambda: level == "true", "text": lambda: level}[kind]()


def unseen(feature) -> str:
    """Return a level that a feature does not have."""
    word = "unseen"
    while word in feature.levels:
        word += "!"
    return word


def as_objects(tree, X: np.ndarray) -> list[dict]:
    """Return rows as objects by the names of columns."""
    return [{feature.name: cell_of(feature, value) for feature, value in zip(tree.features, row)} for row in X]


def as_csv(tree, X: np.ndarray) -> str:
    """Return rows as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([feature.name for feature in tree.features])
    for row in X:
        cells = []
        for feature, value in zip(tree.features, row):
            cell = cell_of(feature, value)
            words = feature.kind in (NUMERIC, CATEGORICAL) or cell is None
            cells.append("?" if cell is None else str(cell) if words else str(cell).lower())
        writer.writerow(cells)
    return text.getvalue()
