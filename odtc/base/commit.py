"""Replace several files of one stem at one commit point, so that a reader finds either all old or all new files.

Inside `together`, files are written under temporary names and removals are recorded. At its end a journal,
`.STEM.odtc-journal`, appears in one step: this is the commit point. Then the files get their names, removals are made,
and the journal is deleted. A process that is killed before the commit point has changed nothing. If a process is killed
after it, commands that write files of the stem finish its work first (`settle`) and print a note; commands that read
them change nothing and stop with an error (`expect_settled`). The journal is locked while its process lives
(odtc.base.system), so no other process finishes its work.

Anybody may have put a journal in a folder. So it may name only files that odtc writes, with the same stem, in the same
folder, and with the SHA-256 of their content. Nothing else is renamed or removed: no data file, no link, and no file
that was changed since.
"""

import contextlib
import errno
import glob
import hashlib
import io
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from odtc.base import interrupts, system
from odtc.errors import OutputError

PART = ".part"  # the end of the names of temporary files


@dataclass
class Staged:
    """Staged changes: `moves` are files to rename, each as (current name, new name), `removals` are files to remove.
    `held` are handles that keep the locks of temporary files."""

    moves: list[tuple[Path, Path]] = field(default_factory=list)
    removals: list[Path] = field(default_factory=list)
    held: list[int] = field(default_factory=list)

    def add(self, path: Path, target: Path) -> None:
        """Record that `path` is to be renamed to `target`."""
        self.removals = [other for other in self.removals if place_of(other) != target]
        self._forget(target)
        self.moves = [move for move in self.moves if move[0] != path]
        self.moves.append((path, target))

    def remove(self, path: Path) -> None:
        """Record that `path` is to be removed."""
        self._forget(place_of(path))
        self.removals.append(path)

    def discard(self) -> None:
        """Remove the temporary files and release their locks, so that none of the changes is made."""
        for _, target in list(self.moves):
            self._forget(target)
        for handle in self.held:
            with contextlib.suppress(OSError):
                os.close(handle)
        self.held = []

    def _forget(self, target: Path) -> None:
        for path, _ in [move for move in self.moves if move[1] == target]:
            if path.suffix == PART:
                with contextlib.suppress(OSError):
                    path.unlink()
        self.moves = [move for move in self.moves if move[1] != target]


_staged: ContextVar[Staged | None] = ContextVar("odtc staged files", default=None)


_follows: list[bool] = [True]  # whether a file that is written through a link replaces the target of the link


@contextlib.contextmanager
def links_followed(follows: bool) -> Iterator[None]:
    """Write files through links (True), or let them replace the links (False), inside this context.

    A user who names a link means its target, but a link in a shared folder must not redirect a default name.
    """
    _follows.append(follows)
    try:
        yield
    finally:
        _follows.pop()


def follows_links() -> bool:
    return _follows[-1]


def place_of(path: str | PathLike[str]) -> Path:
    """Return the file that is replaced if `path` is written: the target of a link, or the link (`links_followed`)."""
    if follows_links():
        return Path(os.path.realpath(path))
    return Path(os.path.realpath(Path(path).parent)) / Path(path).name


def open_stage() -> Staged | None:
    """Return the staged changes of this context; None if files change at once."""
    return _staged.get()


@contextlib.contextmanager
def staging() -> Iterator[Staged | None]:
    """Stage the changes made inside this context. A nested context yields None, because its changes belong to the outer
    one. Changes that the caller has not taken out at the end of the context are discarded."""
    if _staged.get() is not None:
        yield None
        return
    staged = Staged()
    token = _staged.set(staged)
    try:
        yield staged
    finally:
        _staged.reset(token)
        staged.discard()


def remove(path: str | PathLike[str]) -> None:
    """Remove a file, if it exists; while changes are staged, at the commit point."""
    staged = _staged.get()
    if staged is None:
        Path(path).unlink(missing_ok=True)
    else:
        staged.remove(Path(path))


def rename(path: str | PathLike[str], target: str | PathLike[str]) -> None:
    """Rename a file, and replace an older one of this name; while changes are staged, at the commit point."""
    staged = _staged.get()
    if staged is None:
        os.replace(path, target)
    else:
        staged.add(current(path), place_of(target))


def current(path: str | PathLike[str]) -> Path:
    """Return the path of a file's current content: a staged file still has its temporary name."""
    staged, real = _staged.get(), place_of(path)
    moves = [] if staged is None else staged.moves
    return next((now for now, then in moves if then == real), Path(path))


def remains(path: str | PathLike[str]) -> bool:
    """Return whether a file exists once the staged changes are made."""
    staged, real = _staged.get(), place_of(path)
    removals = [] if staged is None else staged.removals
    return real not in map(place_of, removals) and current(path).exists()


JOURNAL = ".odtc-journal"
SCHEMA = "odtc.journal/2"
LONGEST = 200  # largest number of bytes of a stem in the name of its journal
LARGEST = 1 << 20  # largest size of a journal in bytes; a journal that odtc writes has a few lines
# Suffixes of the files that a journal may rename or remove; files with other suffixes are changed one by one.
REMOVED = (
    *(
        ".odt.json",
        ".run.json",
        ".tree.json",
        ".pool.json",
        ".near-optimal.json",
        ".certificate.json",
        ".frontier.json",
    ),
    *(".columns.json", ".sol", ".slx", ".mst", ".html"),
)
MODELS = (".mps", ".lp", ".mps.gz", ".lp.gz")  # ends of the names of model files
MOVED = (*REMOVED, *MODELS, ".log")
PATIENCE = 10.0  # seconds to wait for another process that is replacing the same files

_tell: list[Callable[[str], object]] = []


@contextlib.contextmanager
def together(stem: str | PathLike[str]) -> Iterator[None]:
    """Change all files that are written or removed inside this context (odtc.base.atomic_write) at one commit point, if
    it ends without an error.

    A nested context is part of the outer one. Files of other stems, or in other folders because of a link, are replaced
    one by one, before the commit point. Raises OutputError.
    """
    stem = Path(stem)
    with staging() as staged:
        if staged is None:
            yield
            return
        if os.path.lexists(_journal(stem)):
            _finish(stem)
        yield
        try:
            _change(stem, staged)
        except OSError as problem:
            raise OutputError(
                f"cannot write the files of {str(stem)!r}: {problem.strerror or problem}; choose another place with -o"
            ) from None


def _change(stem: Path, staged: Staged) -> None:
    """Make all staged changes: first those that a journal may not name, and then all others at one commit point."""
    removals = [path for path in staged.removals if os.path.lexists(path)]
    several = len(staged.moves) + len(removals) > 1
    moves = [move for move in staged.moves if several and _belongs(move[1], stem, MOVED)]
    for temporary, target in [move for move in staged.moves if move not in moves]:
        os.replace(temporary, target)
        interrupts.wrote(target)
    removed = {path: _digest(path) for path in removals if several and _belongs(path, stem, REMOVED)}
    for path in removals:
        if not removed.get(path):
            path.unlink(missing_ok=True)
    if moves or removed:
        for path in (*(target for _, target in moves), *removed):
            system.expect_replaceable(path)
        facts = {
            "schema": SCHEMA,
            "moves": {temporary.name: [target.name, _digest(temporary)] for temporary, target in moves},
            "removals": {path.name: digest for path, digest in removed.items() if digest},
        }
        with interrupts.held():
            _commit(stem, facts, staged)
    with contextlib.suppress(OSError):  # for example without free file handles; all changes are made
        sweep(stem)


def tell_by(say: Callable[[str], object]) -> None:
    """Have `say(sentence)` report the replacements that `settle` finishes; without it nothing is reported."""
    _tell[:] = [say]


def settle(path: str | PathLike[str]) -> None:
    """Finish a replacement that was killed after its commit point, for any stem that the file may belong to.

    For commands that write files of that stem. Raises OutputError if another process works on it for longer than
    PATIENCE, or if it cannot be finished.
    """
    for stem in _stems_with_journals(path):
        _finish(stem)


def expect_settled(path: str | PathLike[str]) -> None:
    """Raise OutputError if a replacement that the file may belong to was killed after its commit point.

    For commands that only read the file: nothing is changed. A journal that odtc did not write is ignored; if the
    process of a journal lives, this waits for it.
    """
    for stem in _stems_with_journals(path):
        names: list[str] = []
        with contextlib.suppress(FileNotFoundError, PermissionError, NotOurs), _left_journal(stem) as facts:
            if any(os.path.lexists(stem.parent / name) for name in (*facts["moves"], *facts["removals"])):
                names = sorted({target for target, _ in facts["moves"].values()} | facts["removals"].keys())
        if names:
            raise OutputError(
                f"odtc was killed while it replaced the files of {stem.name!r} ({', '.join(names)}); run that command "
                f"again, or `odtc report {stem}`: each finishes that first"
            )


class NotOurs(OutputError):
    """A file has the name of a journal, but this user's odtc has not written it for these files."""


def _stems_with_journals(path: str | PathLike[str]) -> list[Path]:
    path = Path(path)
    parts, folder = path.name.split("."), str(path.parent)
    stems = [".".join(parts[:end]) for end in range(len(parts), 0, -1)] if parts[0] else []
    # False also for a name that is too long
    return [path.with_name(stem) for stem in stems if os.path.lexists(os.path.join(folder, _journal_name(stem)))]


def _journal(stem: Path) -> Path:
    return stem.with_name(_journal_name(stem.name))


def _journal_name(stem: str) -> str:
    name = os.fsencode(stem)
    word = stem if len(name) <= LONGEST else f"{stem[:40]}-{hashlib.sha256(name).hexdigest()[:12]}"
    return f".{word}{JOURNAL}"


def _belongs(path: Path, stem: Path, endings: Sequence[str]) -> bool:
    """Return whether a journal of the stem may name a file."""
    return _is_named(path.name, stem.name, endings) and path.parent.resolve() == stem.parent.resolve()


def _is_named(name: str, stem: str, endings: Sequence[str]) -> bool:
    return name.startswith(f"{stem}.") and name.endswith(tuple(endings)) and not set(name) & set("/\\\0")


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal; "" for a link, a missing file, or anything that is not a regular
    file."""
    try:
        with system.open_file(path, follow=False) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""


def sweep(stem: str | PathLike[str]) -> None:
    """Remove the temporary files of a stem that a killed process has left, except for those that a journal names."""
    stem = Path(stem)
    left = [old for old in stem.parent.glob(f".{glob.escape(stem.name[:40])}.*{PART}") if system.left_behind(old)]
    journals = [path.read_bytes() for path in stem.parent.glob(f".*{JOURNAL}") if path.is_file()] if left else []
    for old in left:
        if not any(json.dumps(old.name).encode() in text for text in journals):
            old.unlink(missing_ok=True)


def _commit(stem: Path, facts: dict[str, Any], staged: Staged) -> None:
    journal = _journal(stem)
    handle, name = tempfile.mkstemp(prefix=f".{stem.name[:40]}.", suffix=PART, dir=stem.parent)
    with os.fdopen(handle, "wb") as stream:
        try:
            system.hold(stream.fileno())
            stream.write(json.dumps(facts).encode())
            stream.flush()
            if system.WINDOWS:  # an open file cannot be renamed there
                stream.close()
            while not system.publish(Path(name), journal):  # the commit point
                _finish(stem)
            moves, staged.moves = staged.moves, []  # from now on these files must not be discarded
        finally:
            with contextlib.suppress(OSError):
                os.unlink(name)
        try:
            _apply(journal, facts)
        except OSError:
            if all(os.path.lexists(stem.parent / temporary) for temporary in facts["moves"]):  # nothing has changed
                journal.unlink(missing_ok=True)
                staged.moves = moves
            raise
        for target, _ in facts["moves"].values():
            interrupts.wrote(stem.parent / target)


def _apply(journal: Path, facts: dict[str, Any]) -> None:
    """Make the changes of the journal, which is safe to repeat; then delete the journal."""
    folder = journal.parent
    for temporary, (target, _) in facts["moves"].items():
        if os.path.lexists(folder / temporary):
            os.replace(folder / temporary, folder / target)
    for name in facts["removals"]:
        (folder / name).unlink(missing_ok=True)
    journal.unlink(missing_ok=True)


def _finish(stem: Path) -> None:
    """Make the changes of a stem's journal, unless its process is still alive; do nothing if there is none."""
    journal = _journal(stem)
    try:
        with _left_journal(stem) as facts:
            _apply(journal, _unchanged(journal, facts))
            names = ", ".join(sorted(target for target, _ in facts["moves"].values()))
            if _tell and names:
                _tell[0](f"note: finished the replacement of {names}, during which odtc was killed")
    except FileNotFoundError:
        return
    except OSError as problem:
        raise OutputError(
            f"the files of {stem.name!r} in {str(journal.parent)!r} were being replaced when odtc was killed, and "
            f"that cannot be finished: {problem.strerror or problem}; make the folder writable"
        ) from None


@contextlib.contextmanager
def _left_journal(stem: Path) -> Iterator[dict[str, Any]]:
    """Yield the content of a journal that a killed process has left, and keep it locked inside this context.

    Raises FileNotFoundError if the journal is gone, OutputError if its process takes longer than PATIENCE, NotOurs and
    OSError.
    """
    journal, end = _journal(stem), time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with _opened(journal) as stream:
            facts = _read(stream.read(LARGEST + 1), journal, stem.name)
            if system.abandoned(stream.fileno(), journal):
                if system.WINDOWS:  # an open file cannot be removed there
                    stream.close()
                if not journal.exists():  # another process was faster
                    raise FileNotFoundError
                yield facts
                return
        time.sleep(0.05)
    raise OutputError(
        f"another process is replacing the files of {stem.name!r} in {str(journal.parent)!r}; wait for it, or name "
        f"other files"
    )


def _opened(journal: Path) -> io.BufferedReader:
    """Open a journal. Raises NotOurs for a link, a pipe, a folder, and a file of another user."""
    try:
        stream = system.open_file(journal, follow=False)
    except OSError as problem:
        if problem.errno in (errno.ELOOP, errno.EINVAL, errno.EISDIR, errno.ENXIO):
            raise _not_ours(journal) from None
        raise
    if not system.is_own(stream.fileno()):
        stream.close()
        raise _not_ours(journal)
    return stream


def _not_ours(journal: Path) -> NotOurs:
    return NotOurs(
        f"expected a journal of odtc, written by you, in {str(journal)!r}, got another file; remove it, or name other "
        "files"
    )


def _read(data: bytes, journal: Path, stem: str) -> dict[str, Any]:
    """Return the content of a journal, which may only name files of its own stem. Raises OutputError."""
    try:
        facts = json.loads(data) if len(data) <= LARGEST else {}
        moves, removals, fits = dict(facts["moves"]), dict(facts["removals"]), facts["schema"] == SCHEMA
        for temporary, (target, digest) in moves.items():
            fits &= _is_named(temporary, f".{stem[:40]}", (PART,)) or _is_named(temporary, stem, MOVED)
            fits &= _is_named(target, stem, MOVED) and isinstance(digest, str)
        for name, digest in removals.items():
            fits &= _is_named(name, stem, REMOVED) and isinstance(digest, str)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        fits = False
    if not fits:
        raise _not_ours(journal)
    return {"moves": moves, "removals": removals}


def _unchanged(journal: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Return the changes whose files are the same as at the commit point. A file that was written again since then is
    not removed.

    Raises OutputError if a file that is to be renamed was replaced by another file or by a link.
    """
    folder = journal.parent
    for temporary, (target, digest) in facts["moves"].items():
        if os.path.lexists(folder / temporary) and _digest(folder / temporary) != digest:
            raise OutputError(
                f"{temporary!r} in {str(folder)!r} was to become {target!r} when odtc was killed, and has changed "
                f"since; remove it and {journal.name!r}"
            )
    removals = {name: digest for name, digest in facts["removals"].items() if _digest(folder / name) == digest}
    return facts | {"removals": removals}
