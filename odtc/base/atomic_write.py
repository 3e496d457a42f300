"""Atomic writes: a file is written to a temporary name next to the target and renamed when complete.

Several files that belong together are replaced at one commit point (odtc.base.commit). A name that the user gave for a
pipe or a device, such as /dev/stdout, is written to directly instead, because a rename would replace the device; a
link that the user named is followed. A link, a pipe or a device with a default name is replaced, so that nothing
outside of the folder is written (odtc.base.commit.links_followed).
"""

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from odtc.base import commit, interrupts, system
from odtc.base.commit import PART, settle, sweep
from odtc.errors import OutputError


@contextlib.contextmanager
def new_file(path: str | PathLike[str], option: str = "-o") -> Iterator[BinaryIO]:
    """A binary stream whose content appears at `path` only if the block ends well.

    Raises OutputError, which names the `option` of the path, if the folder or the disk refuses; nothing is then left
    behind.
    """
    path = Path(path)
    try:
        if path.is_dir() and (commit.follows_links() or not path.is_symlink()):
            raise OutputError(f"cannot write {str(path)!r}: it is a folder; name a file")
        if commit.follows_links() and _is_special(path):
            if commit.open_stage() is not None:  # several files, of which the user named only the stem
                raise _no_file(path)
            with open(path, "wb") as stream:
                yield stream
            return
        target = commit.place_of(path)
        if commit.follows_links() and target.is_symlink():  # Python 3.13 no longer raises for such a link
            raise OutputError(f"cannot write {str(path)!r}: it is a link that leads to itself; remove it")
        if commit.open_stage() is None:
            settle(target)
        name = ""
        try:
            with interrupts.held():  # a file that nobody knows the name of would stay
                handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", suffix=PART, dir=target.parent)
            system.hold(handle)  # until it is closed: what nobody holds was left by a process that was killed
            sweep(target)
            with os.fdopen(handle, "wb") as stream:
                yield stream
                stream.flush()
                if system.WINDOWS:  # an open file has no other name there
                    stream.close()
                os.chmod(name, _mode(target))
                if (staged := commit.open_stage()) is None:
                    os.replace(name, target)
                    interrupts.wrote(path)
                else:
                    if not system.WINDOWS:
                        staged.held.append(os.dup(handle))
                    staged.add(Path(name), target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except OSError as problem:
        raise OutputError(
            f"cannot write {str(path)!r}: {problem.strerror or problem}; choose another place with {option}"
        ) from None


def require_writable(path: str | PathLike[str], *read: str | PathLike[str] | None) -> None:
    """Refuse a `path` that could not be written later, before the work begins.

    Raises OutputError if the folder does not exist, if a folder has the name, if the name is "-", which elsewhere is
    the standard output, or if `path` is one of the files `read`, which no command overwrites. None among these is a
    file that was not given.
    """
    path = Path(path)
    _expect_no_dash(path)
    settle(path)
    _expect_place(path, repr(str(path)))
    for other in read:
        if other is not None and path.exists() and Path(other).exists() and path.samefile(other):
            raise OutputError(f"cannot write {str(path)!r}: this command reads that file; name another with -o")


def require_writable_stem(stem: str | PathLike[str], suffix: str) -> None:
    """Refuse the stem of files that could not be written later, as `require_writable`; the file with this suffix is
    tried for all of them, and no folder, pipe or device may have the name of it, of the tree or of the record.

    Raises OutputError.
    """
    settle(f"{stem}{suffix}")
    for ending in (suffix, ".tree.json", ".run.json"):
        path = Path(f"{stem}{ending}")
        _expect_place(path, repr(f"{stem}.*"))
        if commit.follows_links() and _is_special(path):
            raise _no_file(path)


def _is_special(path: Path) -> bool:
    """Return whether a pipe or a device has this name, or a link leads to one."""
    return path.exists() and not path.is_dir() and not path.is_file()


def _no_file(path: Path) -> OutputError:
    return OutputError(f"cannot write {str(path)!r}: it is a pipe or a device; remove it, or name others with -o")


def _expect_place(path: Path, named: str) -> None:
    """Raise OutputError with the name of what is to be written if `path` is a folder, or cannot be made or replaced."""
    if path.parent.exists() and not path.parent.is_dir():
        raise OutputError(f"cannot write {named}: {str(path.parent)!r} is not a folder; choose another with -o")
    if not path.parent.is_dir():
        raise OutputError(
            f"cannot write {named}: {str(path.parent)!r} does not exist; make the folder, or choose another with -o"
        )
    if path.is_dir() and (commit.follows_links() or not path.is_symlink()):
        raise OutputError(f"cannot write {str(path)!r}: it is a folder; name a file")
    if not path.exists() or path.is_file():
        try:
            system.expect_replaceable(path.resolve() if path.is_symlink() else path)
        except OSError as problem:
            raise OutputError(f"cannot write {named}: {problem.strerror}; choose another place with -o") from None


def require_beside(path: str | PathLike[str]) -> None:
    """Refuse a `path` next to which other files are to be written, if it has no name, is "-", is a device, or is in
    the folder of devices.

    Raises OutputError.
    """
    path = Path(path)
    _expect_no_dash(path)
    if not path.name or path.is_char_device() or path.is_block_device() or system.is_among_devices(path):
        told = "it is a device" if path.name else "it has no name"
        raise OutputError(f"cannot write files next to {str(path)!r}: {told}; name a file with -o")


def _expect_no_dash(path: Path) -> None:
    """Raise OutputError for "-"."""
    if str(path) == "-":
        raise OutputError("cannot write to '-': here -o names files, and none goes to the standard output; name one")


def write_text(path: str | PathLike[str], text: str, option: str = "-o") -> None:
    """Write text as UTF-8; raises OutputError, which names the `option` of the path.

    Characters that UTF-8 cannot encode (a file name of other bytes) are escaped; JSON reads them back.
    """
    with new_file(path, option) as stream:
        stream.write(text.encode("utf-8", "backslashreplace"))


def write_bytes(path: str | PathLike[str], data: bytes) -> None:
    """Write bytes to a file; raises OutputError."""
    with new_file(path) as stream:
        stream.write(data)


def _mode(target: Path) -> int:
    if target.is_file() and not target.is_symlink():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def stem_of(path: str | PathLike[str]) -> str:
    """m of m.mps.gz, with its folder."""
    bare = str(path).removesuffix(".gz")
    return bare.removesuffix(Path(bare).suffix)
