"""Several files of one stem replaced at one commit point: whoever reads them finds all old or all new.

Inside `together`, files are written to their temporary names and removals are noted. At its end a journal,
`.STEM.odtc-journal`, appears in one step: that is the commit point. Then the files get their names, what is to go is
removed, and the journal goes. A process that is killed before the commit point has changed nothing; after one that is
killed behind it, `settle` finishes the work: every reader calls it, and every writer. The journal is locked while its
process lives (odtc.base.system), so nobody finishes what somebody else is about to finish.
"""

import contextlib
import glob
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from odtc.base import interrupts, system
from odtc.base.staging import PART, Staged, staging
from odtc.errors import OutputError

JOURNAL = ".odtc-journal"
SCHEMA = "odtc.journal/1"
LONGEST = 200  # bytes of a stem in the name of its journal
PATIENCE = 10.0  # seconds to wait for another process that is replacing the same files


@contextlib.contextmanager
def together(stem: str | PathLike[str]) -> Iterator[None]:
    """Files written and removed inside (odtc.base.atomic_write) change at one commit point, if the block ends well.

    Inside another such block it is a part of that. Files of other stems, or in other folders by a link, are replaced
    one by one, before the commit point. Raises OutputError.
    """
    stem = Path(stem)
    with staging() as staged:
        if staged is None:
            yield
            return
        if os.path.exists(_journal(stem)):
            _finish(stem)
        yield
        try:
            apart = [move for move in staged.moves if not _belongs(move[1], stem)]
            for temporary, target in apart:
                os.replace(temporary, target)
                interrupts.wrote(target)
            moves = {str(one.name): target.name for one, target in staged.moves if (one, target) not in apart}
            removals = []
            for path in staged.removals:
                if _belongs(path, stem):
                    removals.append(path.name)
                else:
                    path.unlink(missing_ok=True)
            if moves or removals:
                with interrupts.held():
                    _commit(stem, {"schema": SCHEMA, "moves": moves, "removals": removals}, staged)
        except OSError as problem:
            raise OutputError(
                f"cannot write the files of {str(stem)!r}: {problem.strerror or problem}; choose another place with -o"
            ) from None


def settle(path: str | PathLike[str]) -> None:
    """Finishes a replacement that was killed behind its commit point, of any stem that the file may belong to.

    Raises OutputError if another process is at it for longer than PATIENCE, or if it cannot be finished.
    """
    path = Path(path)
    parts, folder = path.name.split("."), str(path.parent)
    for end in range(len(parts), 0, -1) if parts[0] else ():
        stem = ".".join(parts[:end])
        if os.path.exists(os.path.join(folder, _journal_name(stem))):  # False also for a name that is too long
            _finish(path.with_name(stem))


def _journal(stem: Path) -> Path:
    return stem.with_name(_journal_name(stem.name))


def _journal_name(stem: str) -> str:
    name = os.fsencode(stem)
    word = stem if len(name) <= LONGEST else f"{stem[:40]}-{hashlib.sha256(name).hexdigest()[:12]}"
    return f".{word}{JOURNAL}"


def _belongs(path: Path, stem: Path) -> bool:
    return path.name.startswith(f"{stem.name}.") and path.parent.resolve() == stem.parent.resolve()


def sweep(stem: str | PathLike[str]) -> None:
    """Removes the temporary files of a stem that a process left which was killed."""
    stem = Path(stem)
    for old in stem.parent.glob(f".{glob.escape(stem.name[:40])}*{PART}"):
        if system.left_behind(old):
            old.unlink(missing_ok=True)


def _commit(stem: Path, facts: dict[str, Any], staged: Staged) -> None:
    journal = _journal(stem)
    handle, name = tempfile.mkstemp(prefix=f".{stem.name[:40]}.", suffix=PART, dir=stem.parent)
    with os.fdopen(handle, "wb") as stream:
        try:
            system.hold(stream.fileno())
            stream.write(json.dumps(facts).encode())
            stream.flush()
            if system.WINDOWS:  # an open file has no other name there
                stream.close()
            while not system.publish(Path(name), journal):  # the commit point
                _finish(stem)
            staged.moves = []  # whatever happens now, these files are needed
        finally:
            with contextlib.suppress(OSError):
                os.unlink(name)
        _apply(journal, facts)
        for target in facts["moves"].values():
            interrupts.wrote(stem.parent / target)
        with contextlib.suppress(OSError):  # as without file handles; all is done
            sweep(stem)


def _apply(journal: Path, facts: dict[str, Any]) -> None:
    """What the journal says, as often as need be; then the journal goes."""
    folder = journal.parent
    for temporary, target in facts["moves"].items():
        if (folder / temporary).exists():
            os.replace(folder / temporary, folder / target)
    for name in facts["removals"]:
        (folder / name).unlink(missing_ok=True)
    journal.unlink(missing_ok=True)


def _finish(stem: Path) -> None:
    journal = _journal(stem)
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with open(journal, "rb") as stream:
                if system.abandoned(stream.fileno(), journal):
                    facts = _read(stream.read(), journal, stem.name)
                    if system.WINDOWS:
                        stream.close()
                    if journal.exists():  # else another was quicker
                        _apply(journal, facts)
                    return
        except FileNotFoundError:
            return
        except OSError as problem:
            raise OutputError(
                f"the files of {stem.name!r} in {str(journal.parent)!r} were being replaced when odtc was killed, and "
                f"that cannot be finished: {problem.strerror or problem}; make the folder writable"
            ) from None
        if time.monotonic() > end:
            raise OutputError(
                f"another process is replacing the files of {stem.name!r} in {str(journal.parent)!r}; wait for it, or "
                f"name other files"
            )
        time.sleep(0.05)


def _read(data: bytes, journal: Path, stem: str) -> dict[str, Any]:
    """The journal; it may speak of files of its own stem alone. Raises OutputError."""
    try:
        facts = json.loads(data)
        moves, removals = dict(facts["moves"]), list(facts["removals"])
        fits = facts["schema"] == SCHEMA
        for name in [*moves, *moves.values(), *removals]:
            fits &= isinstance(name, str) and os.path.basename(name) == name and "\0" not in name
            temporary = name in moves and name.startswith(f".{stem[:40]}.") and name.endswith(PART)
            fits &= temporary or name.startswith(f"{stem}.")
    except (ValueError, KeyError, TypeError, RecursionError):
        fits = False
    if not fits:
        raise OutputError(f"expected a journal of odtc in {str(journal)!r}, got another file; remove it")
    return {"moves": moves, "removals": removals}
