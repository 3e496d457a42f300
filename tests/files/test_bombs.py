"""Small files that would take much memory or time: refused in a sentence before either is taken."""

import base64
import contextlib
import io
import json
import subprocess
import sys
import tracemalloc
import zlib

import numpy as np
import polars as pl
import pytest

from odtc import read as odtc_read
from odtc.base import compression
from odtc.base.compression import TooLargeError
from odtc.data.cells.readers import arrow_buffers
from odtc.errors import OdtcError
from odtc.problem.constraints import constraint
from odtc.verification import certificate
from odtc.workflow.manifest import read_manifest, reselected
from tests.command_line import MONKS, environment, odtc, refused

MANY = 1 << 29  # bytes of zeros, packed into some 700 KB of text
ROOM = 1 << 27  # bytes that reading may take


@pytest.fixture(scope="module")
def zeros() -> str:
    packer, piece = zlib.compressobj(9), bytes(1 << 24)
    packed = b"".join([*(packer.compress(piece) for _ in range(MANY >> 24)), packer.flush()])
    return base64.b64encode(packed).decode("ascii")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model whose manifest has selected rows and separated cuts, and one with blocks of some positions."""
    folder = tmp_path_factory.mktemp("bombs")
    (folder / "d.csv").write_bytes((MONKS / "monks-1.csv").read_bytes())
    assert odtc("build", "d.csv", "--depth", 2, "--select", "convex_hull", "-o", "s", folder=folder).code == 0
    assert odtc("build", "d.csv", "--depth", 2, "-o", "m", folder=folder).code == 0
    return folder


@pytest.fixture
def peak():
    """Memory, in bytes, that was taken at most since the test began."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


def test_packed_bytes_are_unpacked_no_further_than_they_may_be(zeros, peak):
    with pytest.raises(TooLargeError):
        compression.unpack(zeros, 1000)
    with pytest.raises(TooLargeError):
        compression.unpack_text(base64.b64encode(zlib.compress(bytes(1 << 26))).decode())
    assert peak() < ROOM
    assert compression.unpack(compression.pack(b"abc"), 3) == b"abc"
    with pytest.raises(ValueError, match="end too early"):
        compression.unpack(base64.b64encode(zlib.compress(bytes(range(256)))[:40]).decode(), 300)


def test_what_does_not_fit_into_half_of_the_memory_is_not_unpacked(zeros, monkeypatch):
    monkeypatch.setattr("odtc.base.memory.available", lambda: 1 << 28)
    with pytest.raises(OdtcError, match="would take about 1.0 GiB of memory, 0.2 GiB are free"):
        compression.unpack(zeros, MANY)


@pytest.mark.parametrize("place", ["X", "y", "weight", "copies"])
@pytest.mark.parametrize("n", [None, MANY])
def test_rows_of_a_manifest(place, n, files, zeros, peak, tmp_path, monkeypatch):
    monkeypatch.setattr("odtc.base.memory.available", lambda: 1 << 33)
    facts = json.loads((files / "m.odt.json").read_text())
    facts["rows"][place] = zeros
    facts["rows"]["n"] = n or facts["rows"]["n"]
    (tmp_path / "m.odt.json").write_text(json.dumps(facts))
    with pytest.raises(OdtcError):
        read_manifest(tmp_path / "m.odt.json")
    assert peak() < ROOM


@pytest.mark.parametrize("size", [None, 1 << 30, 8 * MANY, 1 << 62, -1])
def test_members_of_a_manifest(size, files, zeros, peak, tmp_path):
    facts = json.loads((files / "m.odt.json").read_text())
    block = facts["model"]["columns"][0]
    block["positions"] = zeros
    if size is not None:
        block["axes"][0]["size"] = size
    (tmp_path / "m.odt.json").write_text(json.dumps(facts))
    with pytest.raises(OdtcError):
        read_manifest(tmp_path / "m.odt.json")
    assert peak() < 2 * ROOM


@pytest.mark.parametrize(
    ("rows", "weight"),
    [
        ("zeros", "zeros"),
        (compression.pack(np.array([-1], "<i8").tobytes()), compression.pack(np.ones(1).tobytes())),
        (compression.pack(np.array([10**9], "<i8").tobytes()), compression.pack(np.ones(1).tobytes())),
        (compression.pack(b""), compression.pack(b"")),
        (compression.pack(b"abc"), compression.pack(b"abc")),
        (7, None),
        ("é", "é"),
    ],
)
def test_selected_rows_of_a_manifest(rows, weight, files, zeros, peak):
    from odtc.data.reading import read

    manifest, dataset = read_manifest(files / "s.odt.json"), read(files / "d.csv")
    assert 0 < reselected(manifest, dataset).n_rows <= dataset.n_rows
    manifest.facts["data"]["selection"] |= {"rows": zeros if rows == "zeros" else rows, "weight": weight}
    with pytest.raises(OdtcError, match="does not name valid rows"):
        reselected(manifest, dataset)
    assert peak() < ROOM


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    """A certificate of depth 2 over thousands of thresholds."""
    folder, random = tmp_path_factory.mktemp("certified"), np.random.default_rng(5)
    X = random.normal(size=(1500, 4)).round(4)
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    lines = [",".join(map(str, [*row, label])) for row, label in zip(X, y)]
    (folder / "d.csv").write_text("\n".join(["a,b,c,d,y", *lines]))
    assert odtc("certify", "d.csv", "--depth", 2, "-o", "c", folder=folder).code == 0
    return folder


@pytest.mark.parametrize("depth", [3, 4, 20])
def test_a_certificate_of_another_depth_takes_no_memory(depth, certified, peak):
    facts = json.loads((certified / "c.certificate.json").read_text())
    facts["depth"] = depth
    (certified / "x.certificate.json").write_text(json.dumps(facts))
    refused(odtc("verify", "--certificate", "x.certificate.json", folder=certified))
    assert peak() < 2 * ROOM


def test_the_check_of_a_certificate_has_limits(certified, monkeypatch):
    words = ("verify", "--certificate", "c.certificate.json")
    assert "the check had not ended after 1e-06 seconds" in refused(
        odtc(*words, "--time-limit", 1e-6, folder=certified)
    )

    def hungry(*given):
        np.ones(1 << 28)

    monkeypatch.setattr("odtc.base.memory.available", lambda: 1 << 30)
    monkeypatch.setattr(certificate, "check", hungry)
    assert "needs more memory than 0.5 GiB, half of the free memory" in refused(odtc(*words, folder=certified))
    monkeypatch.undo()
    assert odtc(*words, folder=certified).code == 0


@pytest.fixture(scope="module")
def separated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("separated")
    (folder / "d.csv").write_bytes((MONKS / "monks-1.csv").read_bytes())
    words = ("build", "d.csv", "--depth", 2, "--model", "flowoct", "-p", "bottom=flow", "--cuts", "paper4:rounds=2")
    assert odtc(*words, "-o", "m", folder=folder).code == 0
    return folder


@pytest.mark.parametrize("key", ["indptr", "indices", "data", "lower", "upper"])
@pytest.mark.parametrize("value", ["zeros", np.array([10**9] * 40, "<i4"), np.array([-5] * 40, "<i4"), None])
def test_separated_rows_of_a_manifest(key, value, separated, zeros, tmp_path, peak):
    """Too many numbers, places that are none of the model's, and no numbers at all."""
    kept = isinstance(value, np.ndarray) and key in ("data", "lower", "upper")  # any numbers may stand there
    facts = json.loads((separated / "m.odt.json").read_text())
    block = next(block for block in facts["model"]["rows"] if "cut" in block)
    inside = block if key in block else block["matrix"]
    if isinstance(value, np.ndarray):
        there = np.frombuffer(compression.unpack(inside[key], 1 << 20), np.uint8)
        value = compression.pack(np.resize(value.view(np.uint8), there.size).tobytes())
    inside[key] = (
        zeros if isinstance(value, str) and value == "zeros" else compression.pack(b"") if value is None else value
    )
    facts.pop("identity")
    (tmp_path / "m.odt.json").write_text(json.dumps(facts))
    manifest = read_manifest(tmp_path / "m.odt.json")
    model = constraint.built(manifest.problem)
    with contextlib.nullcontext() if kept else pytest.raises(OdtcError, match="is damaged"):
        manifest.with_separated(model)
    assert peak() < 2 * ROOM


def compressed(kind: str, form: str, n: int = 400) -> bytes:
    """A table as an Arrow file or stream, with a column of each kind; `n` is its number of rows."""
    cells = {"word": ["red", "blue", None, "a, b"], "size": [1.0, 2.5, None, 4.0], "y": ["p", "q", "p", "q"]}
    table = pl.DataFrame({name: four * (n // 4) for name, four in cells.items()})
    table = table.with_columns(pl.col("word").cast(pl.Categorical).alias("level")).select("word", "level", "size", "y")
    stream = io.BytesIO()
    (table.write_ipc if form == "file" else table.write_ipc_stream)(stream, compression=kind)
    return stream.getvalue()


@pytest.mark.parametrize("form", ["file", "stream"])
@pytest.mark.parametrize("kind", ["zstd", "lz4"])
def test_sizes_that_compressed_arrow_buffers_state(kind, form, tmp_path):
    """polars took the memory that a buffer said to hold, which ended the process."""
    data = compressed(kind, form)
    assert arrow_buffers.unpacked_size(data) >= 400 * 8
    (tmp_path / "d.arrow").write_bytes(data)
    assert odtc_read(tmp_path / "d.arrow").n_rows == 300  # those without a missing cell
    sizes = [at for at in range(0, len(data) - 8, 8) if int.from_bytes(data[at : at + 8], "little") == 400 * 8]
    assert sizes
    for at in sizes:
        for size in (1 << 40, 1 << 61, -5, -(1 << 62)):
            (tmp_path / "d.arrow").write_bytes(data[:at] + size.to_bytes(8, "little", signed=True) + data[at + 8 :])
            with pytest.raises(OdtcError, match="GiB of memory|cannot be read as one"):
                odtc_read(tmp_path / "d.arrow")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["file", "stream"])
def test_no_number_in_an_arrow_file_ends_the_process(form, tmp_path):
    """Each word in turn is set to absurd numbers, in a process with little memory."""
    (tmp_path / "d.arrow").write_bytes(compressed("zstd", form))
    script = """
import pathlib, resource, sys
import odtc
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
path = pathlib.Path(sys.argv[1])
data, tried = path.read_bytes(), 0
for at in range(0, len(data) - 8, 4):
    for number in (1 << 31, 1 << 40, 1 << 61, -5):
        path.write_bytes(data[:at] + number.to_bytes(8, "little", signed=True) + data[at + 8 :])
        try:
            odtc.read(path)
        except odtc.OdtcError:
            pass
        tried += 1
print(tried)
"""
    words = [sys.executable, "-c", script, str(tmp_path / "d.arrow")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, env=environment())
    assert done.returncode == 0, done.stderr[-500:]
    assert int(done.stdout) > 1000


def test_a_parquet_page_that_does_not_fit_into_half_of_the_memory(tmp_path, monkeypatch):
    pl.DataFrame({"a": range(4000), "y": ["p", "q"] * 2000}).write_parquet(tmp_path / "d.parquet")
    assert odtc_read(tmp_path / "d.parquet").n_rows == 4000
    monkeypatch.setattr("odtc.base.memory.UNCHECKED_BYTES", 0)
    monkeypatch.setattr("odtc.base.memory.available", lambda: 1 << 12)
    with pytest.raises(OdtcError, match="a page of a Parquet file would take"):
        odtc_read(tmp_path / "d.parquet")
