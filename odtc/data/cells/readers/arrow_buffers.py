"""The sizes that the compressed buffers of an Arrow IPC file state.

polars allocates as much memory as the stated unpacked size of a buffer: for 2^60 bytes it ends the process without an
exception. So these numbers are checked before. A message is a flatbuffer (https://flatbuffers.dev/internals); its
tables are defined in https://github.com/apache/arrow/blob/main/format/Message.fbs and File.fbs.
"""

import struct
from collections.abc import Iterator

MAGIC = b"ARROW1"
CONTINUED = b"\xff\xff\xff\xff"  # before the length of a message
DICTIONARY, BATCH = 2, 3  # types of messages with buffers
HEADER_TYPE, HEADER, BODY = 1, 2, 3  # fields of a message
DATA, BUFFERS, COMPRESSION = 1, 2, 3  # fields of a dictionary (the first) and of a record batch
DICTIONARIES, BATCHES = 2, 3  # fields of the footer
PLAIN = -1  # in place of a size: this buffer was left as it is


def unpacked_size(data: bytes) -> int:
    """Return the stated unpacked size, in bytes, of all compressed buffers of a file or stream.

    Raises
    ------
    ValueError
        If a size is below 0, or if the bytes are not whole messages.
    """
    total = 0
    try:
        for message, body in _in_file(data) if data.startswith(MAGIC) else _in_stream(data):
            for size in _sizes(data, message, body):
                if size < PLAIN:
                    raise ValueError(f"a buffer says to hold {size} bytes")
                total += max(0, size)
    except struct.error:
        raise ValueError("the header of a message is damaged") from None
    return total


def _sizes(data: bytes, message: int, body: int) -> Iterator[int]:
    """Yield the sizes that the buffers of a message state, if they are compressed."""
    kind, place = _field(data, message, HEADER_TYPE), _field(data, message, HEADER)
    of = _number(data, "<B", kind) if kind and place else 0
    if of not in (DICTIONARY, BATCH):
        return
    batch = _target(data, place)
    if of == DICTIONARY:
        batch = _target(data, _field(data, batch, DATA))
    buffers = _field(data, batch, BUFFERS)
    if not buffers or not _field(data, batch, COMPRESSION):
        return
    for at in _entries(data, buffers, 16):
        offset, length = struct.unpack_from("<qq", data, at)
        if length >= 8:
            yield _number(data, "<q", body + offset)


def _in_file(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield (message, body) of each message with buffers, as the footer lists them."""
    end = len(data) - len(MAGIC) - 4
    footer = end - _number(data, "<i", end)
    footer = _target(data, footer)
    for field in (DICTIONARIES, BATCHES):
        if blocks := _field(data, footer, field):
            for at in _entries(data, blocks, 24):
                offset, size = struct.unpack_from("<qi", data, at)
                begin = offset + (8 if data[offset : offset + 4] == CONTINUED else 4)
                yield _target(data, begin), offset + size


def _in_stream(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield (message, body) of each message, one after the other."""
    at = 0
    while at + 8 <= len(data) and (size := _number(data, "<i", at + 4)) > 0:
        message, body = _target(data, at + 8), at + 8 + size
        yield message, body
        place = _field(data, message, BODY)
        length = _number(data, "<q", place) if place else 0
        if length < 0:
            raise ValueError(f"a message says to be followed by {length} bytes")
        at = body + length


def _field(data: bytes, table: int, number: int) -> int:
    """Return where a field of a table is; 0 if it has none."""
    names = table - _number(data, "<i", table)
    if 4 + 2 * number >= _number(data, "<H", names):
        return 0
    offset = _number(data, "<H", names + 4 + 2 * number)
    return table + offset if offset else 0


def _entries(data: bytes, field: int, size: int) -> range:
    """Return where the entries of a vector are."""
    at = _target(data, field)
    return range(at + 4, at + 4 + size * _number(data, "<I", at), size)


def _target(data: bytes, at: int) -> int:
    """Return the position to which an offset leads."""
    return at + _number(data, "<I", at)


def _number(data: bytes, form: str, at: int) -> int:
    if at < 0:
        raise struct.error("before the first byte")
    return int(struct.unpack_from(form, data, at)[0])
