"""A large file has the bytes that were written to it, whichever way the system takes them."""

import errno
import mmap
import os
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.base import system
from odtc.fileformats import direct_file
from odtc.fileformats.direct_file import DirectFile

PIECE = 4096


@pytest.fixture
def small(monkeypatch):
    """Pieces of 4 KB, of which those from the third on pass the cache."""
    monkeypatch.setattr(direct_file, "PIECE_BYTES", PIECE)
    monkeypatch.setattr(direct_file, "CACHED_BYTES", 2 * PIECE)
    return monkeypatch


def write(path, data, cuts=()) -> bytes:
    with open(path, "wb") as stream, DirectFile(stream) as pieces:
        for begin, end in zip([0, *cuts], [*cuts, len(data)]):
            assert pieces.write(data[begin:end]) == end - begin
    return path.read_bytes()


@settings(max_examples=12, deadline=None)
@given(size=st.integers(0, 7 * PIECE), cuts=st.lists(st.integers(0, 7 * PIECE), max_size=5))
def test_any_cuts_of_any_size_give_the_bytes(tmp_path_factory, size, cuts):
    data = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(direct_file, "PIECE_BYTES", PIECE)
        patch.setattr(direct_file, "CACHED_BYTES", PIECE)
        path = tmp_path_factory.mktemp("direct") / "file"
        assert write(path, data, sorted(min(cut, size) for cut in cuts)) == data.tobytes()


def test_a_file_system_that_refuses_is_written_through_the_cache(small, tmp_path):
    turned, plain = [], os.write
    small.setattr(system, "past_the_cache", lambda handle, direct: turned.append(direct) or direct)

    def refuse(handle, data):
        if turned and turned[-1]:
            raise OSError(errno.EINVAL, "Invalid argument")
        return plain(handle, data)

    small.setattr(os, "write", refuse)
    data = bytes(range(256)) * 120
    assert write(tmp_path / "file", data) == data
    assert turned == [True, False]


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="no large pages of the system's")
def test_pieces_past_the_cache_begin_where_a_large_page_does(small, tmp_path):
    plain, places = os.write, []

    def seen(handle, data):
        places.append(np.frombuffer(data, np.uint8).ctypes.data)
        return plain(handle, data)

    small.setattr(os, "write", seen)
    small.setattr(system, "past_the_cache", lambda handle, direct: direct)
    data = bytes(range(256)) * 16 * 9
    assert write(tmp_path / "file", data) == data
    # Two pieces through the cache, and the third, were filled before the file was known to be large.
    assert len(places) == 9 and [place % (1 << 21) for place in places[3:]] == [0] * 6


def test_without_large_pages_memory_is_as_ever(monkeypatch):
    monkeypatch.delattr(mmap, "MADV_HUGEPAGE", raising=False)
    held = system.memory_in_large_pages(PIECE)
    held[:] = bytes(range(256)) * 16
    assert bytes(held) == bytes(range(256)) * 16


def test_a_part_of_a_piece_is_followed_by_the_rest(small, tmp_path):
    plain = os.write
    small.setattr(os, "write", lambda handle, data: plain(handle, data[: max(1, len(data) // 3)]))
    small.setattr(system, "past_the_cache", lambda handle, direct: direct)
    data = bytes(range(256)) * 120
    assert write(tmp_path / "file", data) == data


def test_a_disk_that_does_not_keep_up_is_left_to_the_cache(small, tmp_path):
    turned = []
    small.setattr(system, "past_the_cache", lambda handle, direct: turned.append(direct) or direct)
    small.setattr(direct_file, "SLOW_BYTES_PER_SECOND", float("inf"))
    small.setattr(direct_file, "JUDGED_PIECES", 2)
    data = bytes(range(256)) * 200
    assert write(tmp_path / "file", data) == data
    assert turned == [True, False]


def test_a_full_disk_is_an_error_of_the_next_call(small, tmp_path):
    plain, written = os.write, []

    def full(handle, data):
        if len(written) > 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(len(data))
        return plain(handle, data)

    small.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left"):
        write(tmp_path / "file", bytes(20 * PIECE))
    assert not any(thread.name.startswith("ThreadPool") and thread.is_alive() for thread in threading.enumerate())


def test_a_pipe_is_no_file_to_be_written_past_the_cache(small):
    turned = []
    small.setattr(system, "past_the_cache", lambda handle, direct: turned.append(direct) or direct)
    data = bytes(range(256)) * 120
    reading, writing = os.pipe()
    found = []

    def read():
        with open(reading, "rb") as stream:
            found.append(stream.read())

    reader = threading.Thread(target=read)
    reader.start()
    with open(writing, "wb") as stream, DirectFile(stream) as pieces:
        pieces.write(data)
    reader.join()
    assert found == [data] and not turned
