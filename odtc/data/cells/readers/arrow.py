"""Reads Arrow IPC files (Feather, version 2), every column in its own type."""

import io

import polars as pl

from odtc.base.memory import require_memory
from odtc.base.system import STDERR
from odtc.data.cells.readers.arrow_buffers import MAGIC, unpacked_size
from odtc.errors import DataError

NAME = "arrow"
SUFFIXES = (".arrow", ".feather", ".ipc")
FAULTS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)
SUMMARY = "Apache Arrow IPC (Feather), with its own column types; dictionary columns are categorical"
STREAM = b"\xff\xff\xff\xff"  # the beginning of a message of an IPC stream, in which tables are sent
END = STREAM + b"\0\0\0\0"  # its end: without it rows may have been cut off


def read(path) -> pl.DataFrame:
    """Return the columns in their native types; raises DataError if the file is not whole Arrow IPC."""
    try:
        with open(path, "rb") as stream, STDERR.away():
            data = stream.read()
            if data.startswith(STREAM) and not data.endswith(END):
                raise ValueError("a stream without its end")
            if data.startswith((STREAM, MAGIC)):
                require_memory(2 * unpacked_size(data), f"the table in {str(path)!r}", "is it a table of yours?")
            return pl.read_ipc_stream(data) if data.startswith(STREAM) else pl.read_ipc(data)
    except FAULTS as problem:
        reason = str(problem).partition("\n")[0]
        raise DataError(
            f"expected a whole Arrow file in {str(path)!r}, got bytes that cannot be read as one ({reason}); write the "
            "file again"
        ) from None


def sample(table: pl.DataFrame) -> bytes:
    """Return the table as a whole file."""
    stream = io.BytesIO()
    table.write_ipc(stream)
    return stream.getvalue()
