"""Gzip by members is gzip: any reader has the content back, and the same content gives the same bytes."""

import gzip
import io
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.base import byte_stream
from odtc.base.byte_stream import ParallelGzip
from odtc.base.compression import gunzip


def packed(pieces) -> bytes:
    stream = io.BytesIO()
    with ParallelGzip(stream) as packing:
        for piece in pieces:
            packing.write(piece)
    return stream.getvalue()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.binary(max_size=60), max_size=12))
def test_members_of_any_cut_unpack_to_the_content(pieces):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(byte_stream, "MEMBER", 32)
        data = packed(pieces)
        assert data == packed([b"".join(pieces)])  # however it was written
    whole = b"".join(pieces)
    assert gzip.decompress(data) == gunzip(data) == whole
    assert data.count(b"\x1f\x8b\x08") >= max(1, -(-len(whole) // 32))


def test_arrays_in_the_order_in_which_they_were_written():
    rows = np.random.default_rng(0).integers(0, 256, (2300, 10_000), dtype=np.uint8)
    data = packed([rows[:7], rows[7:]])
    assert gunzip(data) == rows.tobytes()
    first = zlib.decompressobj(wbits=31)
    assert len(first.decompress(data)) == byte_stream.MEMBER and first.eof  # more than one member


def test_an_error_on_the_way_ends_the_threads():
    class Full(io.BytesIO):
        def write(self, data):
            raise OSError("no space")

    import threading

    before = threading.active_count()
    with pytest.raises(OSError, match="no space"), ParallelGzip(Full()) as packing:
        packing.write(b"x")
    with pytest.raises(ZeroDivisionError), ParallelGzip(io.BytesIO()) as packing:
        packing.write(bytes(byte_stream.MEMBER))
        1 / 0  # noqa: B018
    assert threading.active_count() <= before
