"""Free memory, so that data and models that cannot fit are refused in a sentence before the machine suffers."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from odtc.base.system import address_space_left, address_space_limited
from odtc.base.wording import option
from odtc.errors import ModelError


def available() -> int | None:
    """Return the bytes that are free: the least of the limits of the system, the container and the process (`ulimit
    -v`); None if none of them reports it."""
    found = []
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                found.append(int(line.split()[1]) * 1024)
    except (OSError, ValueError):
        try:
            found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        except (AttributeError, ValueError, OSError):
            pass
    try:
        group = Path("/sys/fs/cgroup")
        found.append(int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
    except (OSError, ValueError):  # no container, or one without a limit ("max")
        pass
    found += [left for left in [address_space_left()] if left is not None]
    return min(found, default=None)


UNCHECKED_BYTES = 2**22  # bytes
FREE_SHARE = 0.5  # of the free memory, for the check of a file that anybody may have written


@contextlib.contextmanager
def limited(what: str, error: type[Exception]) -> Iterator[None]:
    """Inside, this process may take FREE_SHARE of the memory that is free, and no more.

    Raises `error` with a sentence that names `what` takes more. Systems without such a limit (Windows, macOS) end the
    process if there is none left.
    """
    room = available()
    try:
        with address_space_limited(None if room is None else int(room * FREE_SHARE)):
            yield
    except MemoryError:
        told = "" if room is None else f" than {room * FREE_SHARE / 2**30:,.1f} GiB, half of the free memory"
        raise error(
            f"{what} needs more memory{told}; close other programs, or use a machine with more memory"
        ) from None


def smaller() -> str:
    """Return advice for a model that is too large, in words."""
    return f"use a smaller {option('depth')}, or fewer splits (for instance {option('encoding', 'auto:bins=8')})"


def require_memory(size: float, what: str, instead: str = "") -> None:
    """Raise ModelError if `size` bytes are more than the free memory."""
    room = available() if size > UNCHECKED_BYTES else None  # the query takes longer than filling so little
    if room is not None and size > room:
        raise ModelError(
            f"{what} would take about {size / 2**30:,.1f} GiB of memory, {max(room, 0) / 2**30:,.1f} GiB are free; "
            f"{instead or smaller()}"
        )
