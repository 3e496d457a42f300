"""What a killed process would leave: a folder's state before every change that a command makes to it.

kill -9 leaves what the disk has at that moment. So one run of a command gives all its points: before each operation of
the file system the folder is copied. Locks end with their process, and nobody holds a copy.
"""

import contextlib
import io
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

CHANGES = ("replace", "rename", "unlink", "remove", "link", "chmod", "dup", "mkdir", "rmdir", "symlink", "truncate")


class Stream(io.RawIOBase):
    """A file whose every write is a change."""

    def __init__(self, stream, point):
        self._stream, self._point = stream, point

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def write(self, data):
        self._point()
        half = len(data) // 2
        self._stream.write(data[:half])
        self._stream.flush()
        self._point()  # half of it is written
        return self._stream.write(data[half:]) + half

    def flush(self):
        self._stream.flush()

    def fileno(self):
        return self._stream.fileno()

    def close(self):
        if not self._stream.closed:
            self._point()
            self._stream.close()


@contextlib.contextmanager
def states(folder: Path, into: Path) -> Iterator[tuple[list[Path], list[int]]]:
    """Inside, `folder` is copied before each change to it, if it differs from the last copy; yields the copies, and a
    list with the number of changes."""
    copies, last, count, busy = [], None, [0], [False]

    def point() -> None:
        nonlocal last
        if busy[0]:
            return
        busy[0] = True
        try:
            count[0] += 1
            now = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
            if now != last:
                last, copy = now, into / f"point{len(copies):03}"
                copy.mkdir(parents=True)
                for name, data in now.items():
                    (copy / name).write_bytes(data)
                    os.utime(copy / name, (1, 1))
                copies.append(copy)
        finally:
            busy[0] = False

    def before(function):
        def changed(*given, **named):
            point()
            return function(*given, **named)

        return changed

    real = os.fdopen

    def opened(handle, mode="r", *more, **named):
        stream = real(handle, mode, *more, **named)
        return Stream(stream, point) if mode == "wb" else stream

    with contextlib.ExitStack() as patched:
        for name in CHANGES:
            patched.enter_context(mock.patch.object(os, name, before(getattr(os, name))))
        patched.enter_context(mock.patch.object(tempfile, "mkstemp", before(tempfile.mkstemp)))
        patched.enter_context(mock.patch.object(os, "fdopen", opened))
        yield copies, count
        point()
