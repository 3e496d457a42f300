"""Facts about the run of a tree from the files next to it, without the modules that decoding loads."""

import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path

from odtc.base.system import read_file
from odtc.errors import OdtcError
from odtc.model.solution import is_proved
from odtc.workflow.claims import BEST, CERTIFIED, PROVED

TREE, MANIFEST, RECORD = ".tree.json", ".odt.json", ".run.json"


def run_parameter(tree: str | Path, key: str) -> str | None:
    """Return the value of a parameter of the formulation in a run.

    Parameters
    ----------
    tree : path
        STEM.tree.json, or STEM.
    key : str
        As in `-p key=…`.

    Returns
    -------
    str or None
        None for a tree without a manifest, and if the parameter is empty or not there.
    """
    try:
        manifest = read_file(str(tree).removesuffix(TREE) + MANIFEST)
        if f'"{key}"'.encode() not in manifest:  # it may hold millions of rows
            return None
        return str(json.loads(manifest)["model"]["params"].get(key) or "") or None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # a tree by itself, or next to a file that is not a manifest


def about_run(tree: str | Path) -> list[str]:
    """Return lines for a comment of an export: the data, the date and the claim of the run that left a tree, and the
    digest of the tree; none if no record next to it belongs to it.

    Parameters
    ----------
    tree : path
        STEM.tree.json.
    """
    path = Path(str(tree).removesuffix(TREE) + RECORD)
    try:
        record, digest = json.loads(read_file(path)), hashlib.sha256(read_file(tree)).hexdigest()
        fit = record.get("fit") or {}
        if digest not in (fit.get("tree", {}).get("sha256"), record.get("specification", {}).get("tree")):
            return []
        data = fit.get("data") or json.loads(read_file(str(path).removesuffix(RECORD) + MANIFEST))["data"]
        source = Path(data["path"]).name if data.get("path") else data["name"]
        return [
            f"Data:  {source}, SHA-256 {data['sha256']}",
            f"Date:  {_day_of(path)}",
            f"Claim: {_claim_of(record, fit)}",
            f"Tree:  {Path(tree).name}, SHA-256 {digest}",
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OdtcError):
        return []


def _day_of(record: Path) -> str:
    """Return the day of a record: the day of SOURCE_DATE_EPOCH if it is set, so that builds can be repeated."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    seconds = int(epoch) if epoch.isdecimal() else record.stat().st_mtime
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


def _claim_of(record: dict, fit: dict) -> str:
    """The claim of a run by its record, with its numbers."""
    objective, bound = record["objective"], record["bound"]
    word = PROVED + f", {CERTIFIED}" * (fit.get("certified") is True) if is_proved(objective, bound) else BEST
    gap = "" if bound is None else f", bound {bound:.10g}"
    return f"{word}: objective {objective:.10g}{gap}, by {record['solver']}"


def training_file(tree: str | Path) -> str | None:
    """The SHA-256 of the file that a tree was trained on; None of a tree by itself.

    Parameters
    ----------
    tree : path
        STEM.tree.json, or STEM.
    """
    stem = str(tree).removesuffix(TREE)
    for ending, keys in ((RECORD, ("fit", "data")), (MANIFEST, ("data",))):
        try:
            facts = json.loads(read_file(stem + ending))
            for key in keys:
                facts = facts[key]
            return str(facts["sha256"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
    return None
