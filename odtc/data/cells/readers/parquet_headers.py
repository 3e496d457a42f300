"""A check that the headers of the pages of a Parquet file state as many values as the columns have.

polars trusts these numbers: for a page with a stated number of -53 values it allocates 2^61 bytes, which ends the
process without an exception. So they are checked before. Headers are in Thrift's compact protocol
(https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md), their fields are defined in
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift. A file without valid headers is
refused, because polars reads a field as the type that it should have, whatever its stated type is, and so accepts
invalid headers.
"""

import mmap
from operator import index
from typing import Any

from odtc.base.memory import require_memory

# Numbers of fields; the first of each page is how many values it has.
ROW_GROUPS, COLUMNS, META_DATA = 4, 1, 3  # FileMetaData, RowGroup, ColumnChunk
VALUES, BYTES, DATA_AT, DICTIONARY_AT = 5, 7, 9, 11  # ColumnMetaData
UNPACKED, PACKED, DATA_PAGE, DICTIONARY_PAGE, DATA_PAGE_2 = 2, 3, 5, 7, 8  # PageHeader
MAGIC = b"PAR1"
DEEPEST = 16  # structs in one another
UNREAD = (AttributeError, IndexError, KeyError, TypeError, ValueError)  # for bytes that are not such headers

Struct = dict[int, Any]


def expect_counts(path) -> None:
    """Raise ValueError if a page states a negative number of values, or more than its column has, and if a header
    cannot be read; ModelError if a page does not fit into half of the memory."""
    with open(path, "rb") as stream:
        try:
            data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):  # no file of bytes, or an empty one
            return
        with data:
            _expect_counts(data)


def _expect_counts(data: mmap.mmap) -> None:
    if data[-4:] != MAGIC:  # polars says so
        return
    length = int.from_bytes(data[-8:-4], "little")
    try:
        footer, _ = struct(data, len(data) - 8 - length)
        chunks = [chunk[META_DATA] for group in footer[ROW_GROUPS] for chunk in group[COLUMNS]]
        known = [[*map(index, (chunk[VALUES], _begin(chunk), chunk[BYTES]))] for chunk in chunks]
        largest = 0
    except UNREAD:
        raise ValueError("its footer is damaged") from None
    for values, at, size in known:
        end = at + size
        while 0 <= at < min(end, len(data)):
            try:
                page, behind = struct(data, at)
                of_data = sum(page[field].get(1, 0) for field in (DATA_PAGE, DATA_PAGE_2) if field in page)
                of_levels, packed = page.get(DICTIONARY_PAGE, {}).get(1, 0), page[PACKED]
                least = min(map(index, (of_data, of_levels, packed, page.get(UNPACKED, 0))))
                largest = max(largest, page.get(UNPACKED, 0))
            except UNREAD:
                raise ValueError("the header of a page is damaged") from None
            if least < 0 or of_data > values:
                told = least if least < 0 else of_data
                raise ValueError(f"a page of a column of {values} values says {told}")
            values, at = values - of_data, behind + packed
    require_memory(2 * largest, "a page of a Parquet file", "is it a table of yours?")


def _begin(chunk: Struct) -> int:
    """Return the position of the first page of a column, which is its dictionary page, if it has one."""
    return min(chunk[DATA_AT], chunk.get(DICTIONARY_AT) or chunk[DATA_AT])


def struct(data, at: int, deep: int = 0) -> tuple[Struct, int]:
    """Return the fields of a struct by their numbers, and the position after it.

    Raises
    ------
    IndexError, ValueError
        If these bytes are none.
    """
    if at < 0:
        raise IndexError("no struct")
    found: Struct = {}
    number = 0
    while head := data[at]:
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            number, at = _whole(data, at)
        found[number], at = (head & 15 == 1, at) if head & 15 <= 2 else _value(data, at, head & 15, deep)
    return found, at + 1


def _value(data, at: int, kind: int, deep: int) -> tuple[Any, int]:
    """Return a value of a kind, and the position after it."""
    if deep > DEEPEST or at >= len(data):
        raise ValueError("no value")
    if kind in (1, 2, 3):  # a truth value of a list, a byte
        return data[at], at + 1
    if kind in (4, 5, 6):
        return _whole(data, at)
    if kind == 7:
        return data[at : at + 8], at + 8
    if kind == 8:
        size, at = _varint(data, at)
        return None, at + size
    if kind in (9, 10):
        size, of = data[at] >> 4, data[at] & 15
        size, at = _varint(data, at + 1) if size == 15 else (size, at + 1)
        values = []
        for _ in range(size):
            value, at = _value(data, at, of, deep + 1)
            values.append(value)
        return values, at
    if kind == 11:
        size, at = _varint(data, at)
        kinds = data[at] if size else 0
        at += size > 0
        pairs = {}
        for number in range(size):
            key, at = _value(data, at, kinds >> 4, deep + 1)
            value, at = _value(data, at, kinds & 15, deep + 1)
            pairs[number] = key, value
        return pairs, at
    if kind == 12:
        return struct(data, at, deep + 1)
    raise ValueError("a kind that Thrift has not")


def _varint(data, at: int) -> tuple[int, int]:
    """Return a number of seven bits a byte, the lowest first."""
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")


def _whole(data, at: int) -> tuple[int, int]:
    """Return a signed number: 0, -1, 1, -2 … as 0, 1, 2, 3 …"""
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at
