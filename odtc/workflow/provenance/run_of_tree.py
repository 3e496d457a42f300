"""The run that left a tree, by the record and the manifest next to it, without the modules that decoding loads."""

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from odtc.base.json_schema import REAL, TEXT, SchemaError, read_object, validate
from odtc.base.system import read_file
from odtc.errors import OdtcError, TreeError
from odtc.model.solution import is_proved
from odtc.workflow.results.claims import BEST, CERTIFIED, PROVED

TREE, MANIFEST, RECORD = ".tree.json", ".odt.json", ".run.json"
MAYBE = (REAL, None)
OF_A_FILE = {"name": TEXT, "path": TEXT, "sha256": TEXT}
# What is read here of both files; the modules that read more of them have the whole shapes.
SHAPES = {
    RECORD: {
        "fit?": {
            "tree": {"sha256": TEXT},
            "data": OF_A_FILE,
            "reading": {},
            "model": {"constraints": [TEXT]},
        },
        "specification?": {"tree": TEXT},
        "objective?": MAYBE,
        "bound?": MAYBE,
        "solver?": TEXT,
    },
    MANIFEST: {
        "data": {"name": TEXT, "path?": (TEXT, None), "sha256?": (TEXT, None)},
        "model": {"params": {}},
    },
}


class RunOfTree:
    """The record and the manifest of the run that left a tree, as far as they are next to it.

    Parameters
    ----------
    tree : path
        STEM.tree.json.
    say : callable or None
        Called with a note for a file that is there and is broken, which then counts as absent; None raises TreeError.
    """

    def __init__(self, tree: str | Path, say: Callable[[str], None] | None = None):
        self.tree, self.stem, self._say = Path(tree), str(tree).removesuffix(TREE), say

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the tree."""
        return hashlib.sha256(read_file(self.tree)).hexdigest()

    @cached_property
    def record(self) -> dict[str, Any]:
        """STEM.run.json if it is the record of this tree; {} without one, or if it is the record of another."""
        if self.of_another and self._say is not None:
            self._say(f"note: {self.of_another}, so it is ignored; restore the record of this tree, or remove it")
        return self._found if self._digests and not self.of_another else {}

    @property
    def of_another(self) -> str:
        """Sentence that STEM.run.json is the record of another tree; "" if it is not, or names no tree."""
        names = bool(self._digests) and self.digest not in self._digests
        return f"{Path(self.stem + RECORD).name} is the record of another tree than {self.tree.name}" * names

    @cached_property
    def _found(self) -> dict[str, Any]:
        return self._read(RECORD)

    @property
    def _digests(self) -> set[str]:
        """The SHA-256 of the trees that the record names."""
        of = self._found.get("fit", {}).get("tree", {}).get("sha256"), self._found.get("specification", {}).get("tree")
        return set(filter(None, of))

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """STEM.odt.json; {} without one."""
        return self._read(MANIFEST)

    @property
    def told(self) -> dict[str, Any]:
        """The statements of the run about its rows: `fit` of a record without a model, otherwise the manifest; {}
        without either."""
        return self.record.get("fit") or self.manifest

    @property
    def training_sha256(self) -> str | None:
        """The SHA-256 of the file that the tree was trained on; None if it is not known."""
        return self.told.get("data", {}).get("sha256")

    def parameter(self, key: str) -> str | None:
        """Return the value of a parameter of the formulation, as in `-p KEY=…`; None if the manifest is missing, or
        does not state the parameter."""
        with suppress(OSError):  # which the sentence on a broken manifest reports, unless there is none
            if f'"{key}"'.encode() not in read_file(self.stem + MANIFEST):  # it may hold millions of rows
                return None
        return str(self.manifest.get("model", {}).get("params", {}).get(key) or "") or None

    def lines(self) -> list[str]:
        """Return lines for a comment of an export: the data, the date and the claim of the run, and the digest of the
        tree; none if no record belongs to it."""
        record, data = self.record, self.told.get("data", {}) if self.record else {}
        if record.get("objective") is None or not data.get("sha256"):
            return []
        return [
            f"Data:  {Path(data.get('path') or data['name']).name}, SHA-256 {data['sha256']}",
            f"Date:  {self._day}",
            f"Claim: {_claim_of(record)}",
            f"Tree:  {self.tree.name}, SHA-256 {self.digest}",
        ]

    @property
    def _day(self) -> str:
        """The day of the record: the day of SOURCE_DATE_EPOCH if it is set, so that builds can be repeated."""
        epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
        seconds = int(epoch) if epoch.isdecimal() else os.stat(self.stem + RECORD).st_mtime
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()

    def _read(self, ending: str) -> dict[str, Any]:
        path = Path(self.stem + ending)
        if not os.path.lexists(path):
            return {}
        try:
            facts = read_object(path, "manifest" if ending == MANIFEST else "record of a run", TreeError, named=False)
            validate(facts, SHAPES[ending])
            return facts
        except SchemaError as problem:
            words = f"{str(path)!r} is damaged: {problem}"
        except OdtcError as problem:
            words = str(problem)
        words += f"; it is next to {str(self.tree)!r}, whose run it has to describe: restore it, or remove it"
        if self._say is None:
            raise TreeError(words)
        self._say(f"note: {words}")
        return {}


def _claim_of(record: dict[str, Any]) -> str:
    """Return the claim of a run by its record, with its numbers."""
    objective, bound = record["objective"], record.get("bound")
    certified = record.get("fit", {}).get("certified") is True
    word = PROVED + f", {CERTIFIED}" * certified if is_proved(objective, bound) else BEST
    gap = "" if bound is None else f", bound {bound:.10g}"
    return f"{word}: objective {objective:.10g}{gap}, by {record.get('solver')}"
