"""The files that `odtc verify` checks if one of them, or the stem of a run, is named.

The kind of a file is the schema that it states, or the end of its name. Files that state nothing about a tree, such as
a model or a record, stand for the solution or the tree of their run.
"""

import os
import re
from dataclasses import replace
from pathlib import Path

from odtc.base.commit import MODELS, expect_settled
from odtc.base.value_class import value_class
from odtc.base.wording import what_it_is
from odtc.errors import ChoiceError
from odtc.verification.certificate import SCHEMA
from odtc.verification.certificate import SUFFIX as CERTIFICATE
from odtc.workflow.artifacts import NEAR_BEST
from odtc.workflow.constrained.frontier import SUFFIX as FRONTIER

STATED = re.compile(rb'"schema"\s*:\s*"odtc\.([a-z-]+)')
PROOF = SCHEMA.removeprefix("odtc.").partition("/")[0]  # the schema of certificates
HEAD = 4096  # bytes of a file in which its schema is found, because it is the first key
TREE, SOLUTION = ".tree.json", ".sol"
# Ends of names of files that stand for their run, by the schema of those that state one.
OF_RUN = {"manifest": ".odt.json", "run": ".run.json", "columns": ".columns.json", "tune": ".tune.json"}
ENDINGS = (*OF_RUN.values(), ".drift.html", ".html", ".log", *MODELS)
RANKED = {"pool": ".pool.json", "near-optimal": ".near-optimal.json"}
OF_A_STEM = (TREE, *RANKED.values(), *ENDINGS, ".start.sol", SOLUTION)  # files of which a name gives the stem
UNREAD = ".svg", ".png", ".pdf", ".xlsx", ".py", ".c", ".java", ".js", ".r", ".sql", ".pmml", ".onnx", ".pkl", ".tex"


@value_class
class NamedFiles:
    """Files to check: a solution or a tree (`main`), and files of the same stem; None or () for none. Without `main`,
    `tree` is the tree that `odtc certify` wrote with the certificate. `note` is a remark if the given file is not
    checked itself."""

    main: Path | None = None
    certificate: Path | None = None
    near_best: tuple[Path, ...] = ()
    frontier: Path | None = None
    note: str = ""
    tree: Path | None = None


def files_to_verify(given: Path) -> NamedFiles:
    """Return the files that are checked for a file or a stem: a solution, tree, certificate or frontier by itself,
    near-optimal trees with their run, other files by the solution or tree of their run, and a stem with all its files.

    Raises
    ------
    ChoiceError
        If there is nothing to check.
    """
    expect_settled(given)
    if os.path.isdir(given):
        raise ChoiceError(_of_folder(given))
    if not os.path.exists(given):
        return _of_stem(given)
    kind = _kind(given)
    if kind == PROOF:
        return NamedFiles(certificate=given)
    if kind == "frontier" or given.name.endswith(FRONTIER):
        return NamedFiles(frontier=given)
    if kind == "sweep":
        raise ChoiceError(_of_folder(given.parent))
    ending = next((end for end in (*RANKED.values(), *ENDINGS) if given.name.endswith(end)), OF_RUN.get(kind))
    ending = ending or RANKED.get(kind)
    if ending is not None and kind != "tree":
        return _of_run(given, ending)
    if given.suffix.lower() in UNREAD:
        raise ChoiceError(
            f"{str(given)!r} is {what_it_is(given)}; name the tree or the solution that it was made from, or the STEM "
            "of the run"
        )
    return _certified_tree(given) or NamedFiles(given)


def _certified_tree(tree: Path) -> NamedFiles | None:
    """Return the certificate of a tree that `odtc certify` wrote, which has no other record of its run; None for any
    other tree. A model that `odtc build` wrote next to it has no tree."""
    stem = str(tree).removesuffix(TREE)
    of_a_run = any(os.path.isfile(f"{stem}{end}") for end in (SOLUTION, OF_RUN["run"]))
    certificate = Path(f"{stem}{CERTIFICATE}")
    if of_a_run or not tree.name.endswith(TREE) or not certificate.is_file():
        return None
    return NamedFiles(certificate=certificate, tree=tree)


def _kind(path: Path) -> str:
    """Return the schema that a regular file states, without its version; "" for none."""
    if not path.is_file():  # a pipe is read once
        return ""
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD)
    except OSError:  # whose reader says so
        return ""
    found = STATED.search(head) if head.lstrip().startswith(b"{") else None
    return found[1].decode() if found else ""


def _main(stem: str) -> Path | None:
    """Return the solution of a stem, or its tree if no solver wrote one; None if there is neither."""
    return next((path for end in (SOLUTION, TREE) if (path := Path(f"{stem}{end}")).is_file()), None)


def _of_run(given: Path, ending: str) -> NamedFiles:
    """Return the solution or tree of the run of a file whose kind has names that end so."""
    stem = str(given).removesuffix(ending)
    main = _main(stem) or (_main(os.path.splitext(stem)[0]) if ending == ".log" else None)  # STEM.SOLVER.log of a race
    if main is None:
        model = next((end for end in MODELS if os.path.isfile(f"{stem}{end}")), None)
        if model is not None and ending in (*MODELS, OF_RUN["manifest"]):
            raise ChoiceError(
                f"{str(given)!r} describes a model without a solution: `odtc solve {stem}{model}` writes "
                f"{stem}{SOLUTION}, which `odtc verify {stem}{SOLUTION}` checks"
            )
        raise ChoiceError(
            f"expected {stem}{TREE} or {stem}{SOLUTION} next to {str(given)!r}, because it is "
            f"{what_it_is(given, ending)}, found neither; name the tree or the solution of the run"
        )
    if ending in NEAR_BEST:
        return NamedFiles(main, near_best=(given,))
    unread = {OF_RUN["tune"]: "the scores of the cross-validation are not", ".html": "the text of the page is not"}
    note = next((words for end, words in unread.items() if ending.endswith(end)), "")
    return NamedFiles(main, note=f"{note} computed again; these are the checks of {main}" if note else "")


def _of_stem(given: Path) -> NamedFiles:
    """Return all files of a stem."""
    near_best = tuple(path for path in (Path(f"{given}{end}") for end in NEAR_BEST) if path.is_file())
    others = [path if path.is_file() else None for path in (Path(f"{given}{end}") for end in (CERTIFICATE, FRONTIER))]
    main = _main(str(given))
    if main is not None and (found := _certified_tree(main)) is not None:
        return replace(found, frontier=others[1])
    if main is not None or any(others):
        return NamedFiles(main, others[0], near_best if main is not None else (), others[1])
    manifest = Path(f"{given}{OF_RUN['manifest']}")
    if manifest.is_file():
        return _of_run(manifest, OF_RUN["manifest"])
    if given.suffix:  # a file was meant, and its reader reports the error
        return NamedFiles(given)
    raise ChoiceError(
        f"expected a solution or tree file, or the stem of one, got {str(given)!r}, and there is neither "
        f"{given}{SOLUTION} nor {given}{TREE}; name the file, or the STEM of the run"
    )


def _of_folder(folder: Path) -> str:
    """Return advice on the files to verify instead of a folder."""
    trees = sorted(folder.glob(f"*{TREE}")) or sorted(folder.glob(f"best/*{TREE}"))
    if not trees:
        return f"expected a file or the STEM of a run, got the folder {str(folder)!r}; name a file in it"
    of_study = " of a study, whose scores are not computed again" if folder.joinpath("best").is_dir() else ""
    return f"{str(folder)!r} is a folder{of_study}; its trees are verified one by one: `odtc verify {trees[0]}`"
