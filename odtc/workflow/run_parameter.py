"""What is told of the run that a tree is of by the files beside it, without what decoding it loads."""

import json
from pathlib import Path

from odtc.base.system import read_file

TREE, MANIFEST, RECORD = ".tree.json", ".odt.json", ".run.json"


def run_parameter(tree: str | Path, key: str) -> str | None:
    """What the formulation of a run was given for a parameter.

    Parameters
    ----------
    tree : path
        STEM.tree.json, or STEM.
    key : str
        As of `-p key=…`.

    Returns
    -------
    str or None
        None of a tree by itself, and if the parameter is empty or not there.
    """
    try:
        manifest = read_file(str(tree).removesuffix(TREE) + MANIFEST)
        if f'"{key}"'.encode() not in manifest:  # it may hold millions of rows
            return None
        return str(json.loads(manifest)["model"]["params"].get(key) or "") or None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # a tree by itself, or beside a file that is no manifest


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
