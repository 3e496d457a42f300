"""A study in parts elsewhere: an array of jobs for a queue, or a script that runs the parts at once on one machine.

Each part leaves the files of its fits in the folder of the study, and whoever comes last, the command without a part,
finds them there and ends the study. So a part that was killed can be run again, or its fits are left to the last.
"""

import shlex
from collections.abc import Sequence
from pathlib import Path

from odtc.base.atomic_write import write_text
from odtc.base.templates import render
from odtc.errors import ChoiceError

KINDS = {"slurm": "slurm_array", "sh": "parts"}
BESIDE = 30  # seconds of a fit with a limit that are not the solver's


def expect_kind(kind: str) -> None:
    """Raise ChoiceError for an unknown type of script."""
    if kind not in KINDS:
        raise ChoiceError(f"--script: expected {' or '.join(KINDS)}, got {kind!r}")


def part_of(text: str | None) -> tuple[int, int]:
    """Return (I, N) of --part I/N; (0, 1), which is all of it, without one. Raises ChoiceError."""
    if text is None:
        return 0, 1
    first, slash, many = text.partition("/")
    if not (slash and first.isdecimal() and many.isdecimal() and int(first) < int(many)):
        raise ChoiceError(f"--part: expected I/N with I from 0 to N - 1, got {text!r}")
    return int(first), int(many)


def write_script(
    kind: str,
    path: Path,
    words: Sequence[str],
    jobs: int,
    n_tasks: int,
    time_limit: float | None,
    folder: Path | None = None,
) -> int:
    """Write the script.

    Parameters
    ----------
    kind : str
        slurm or sh.
    path : Path
        The path of the script.
    words : sequence of str
        The command of odtc that runs all of it.
    jobs : int
        Parts, at most one for each fit; its sign does not count.
    n_tasks : int
        Fits.
    time_limit : float or None
        Seconds of each.
    folder : Path or None
        Where the command runs; None for the folder of the script, wherever that is moved to.

    Returns
    -------
    int
        The parts.

    Raises
    ------
    ChoiceError
        If the kind is unknown.
    OutputError
        If the script cannot be written.
    """
    expect_kind(kind)
    parts = max(1, min(abs(jobs), n_tasks))
    minutes = None if time_limit is None else int(-(-n_tasks // parts) * (time_limit + BESIDE) // 60) + 5
    text = render(
        f"script/{KINDS[kind]}.jinja",
        name=path.parent.resolve().name if folder is None else path.name.partition(".")[0],
        study=words[0],
        words=shlex.join(words),
        folder=None if folder is None else shlex.quote(str(folder.resolve())),
        parts=parts,
        minutes=minutes,
    )
    write_text(path, text)
    return parts
