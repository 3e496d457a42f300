"""Changes for the next commit point (odtc.base.commit): files to rename and files to remove."""

import contextlib
import os
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

PART = ".part"  # the end of the names of temporary files


@dataclass
class Staged:
    """`moves` are files to rename, each as (name now, name then), `removals` files to remove. `held` are handles that
    keep the locks of temporary files."""

    moves: list[tuple[Path, Path]] = field(default_factory=list)
    removals: list[Path] = field(default_factory=list)
    held: list[int] = field(default_factory=list)

    def add(self, path: Path, target: Path) -> None:
        """`path` is to be called `target`."""
        self.removals = [other for other in self.removals if place_of(other) != target]
        self._forget(target)
        self.moves = [move for move in self.moves if move[0] != path]
        self.moves.append((path, target))

    def remove(self, path: Path) -> None:
        """`path` is to go."""
        self._forget(place_of(path))
        self.removals.append(path)

    def discard(self) -> None:
        """Remove the temporary files and release their locks, so that nothing of it happens."""
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
    """Inside, a file is written through a link (True), or replaces the link (False).

    A link in a shared folder must not redirect a default name, while whoever names a link means its target.
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
    """Inside, changes are staged. Inside another such block it yields None, because that block has them. Changes that
    the block has not taken out at its end are discarded."""
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
    """Removes a file, if it is there; in a stage, at its commit point."""
    staged = _staged.get()
    if staged is None:
        Path(path).unlink(missing_ok=True)
    else:
        staged.remove(Path(path))


def rename(path: str | PathLike[str], target: str | PathLike[str]) -> None:
    """Gives a file another name, over an older one; in a stage, at its commit point."""
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
