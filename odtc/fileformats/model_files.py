"""Formats of model files (`ModelFormat`): one module of odtc.fileformats.models each.

All formats stay in the subset that every solver reads alike (docs/reference/file-formats.md): minimisation, bounds for
every variable, the constant of the objective as a fixed variable, no ranges, names of letters, digits and _. They read
more, namely everything with one meaning, and refuse constructs that solvers read in different ways.

Lines are built as tables of bytes with a fixed width per table, because numpy gathers rows of a table at the speed of
memory and the files become aligned.
"""

import hashlib
import re
import zlib
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from odtc.base.atomic_write import new_file
from odtc.base.byte_stream import ByteStream, ParallelGzip
from odtc.base.commit import MODELS, expect_settled
from odtc.base.compression import TooLargeError, unpacked
from odtc.base.registry import Contract, Registry, of_this_stem
from odtc.base.system import return_freed_memory
from odtc.base.text import show_number, visible
from odtc.base.wording import kind_by_name, option
from odtc.errors import ModelError
from odtc.fileformats.direct_file import DirectFile
from odtc.model import vectors
from odtc.model.blocks import Block, NamedBlock
from odtc.model.milp import UNCHECKED_SIZE, Model
from odtc.model.points import name_list


class ModelFormat(Protocol):
    """Functions and constants that a format of model files defines."""

    NAME: str
    SUFFIX: str  # the ending of its files, ".mps"
    SUMMARY: str

    @abstractmethod
    def write(self, model: Model, stream: ByteStream, cuts: bool) -> None:
        """Write the model to a binary stream, with the same bytes every time."""
        ...

    @abstractmethod
    def read(self, data: bytes, name: str) -> None:
        """The Model of a file's bytes; `name` is the file's, for errors and for a model without a name.

        Rows of the sections for cuts are blocks "usercuts" and "lazycons", named in the model's `user_cuts` and
        `lazy`. Raises ModelError with the line.
        """
        ...

    def renamed(self, model: Model) -> Model:
        """Return the model with the names that its file has."""
        return model


FORMATS = Registry(
    "format", "odtc.fileformats.models", ("mps", "lp", "fixed-mps"), Contract(always=(ModelFormat,)), "odtc.formats"
)


def names_in_file(model: Model, holds: Callable[[str], bool]) -> list[str]:
    """Return the names of the variables of a model in a file: fixed MPS has names of its own.

    Parameters
    ----------
    model : Model
    holds : function of str
        Whether a variable of the file has this name.

    Returns
    -------
    list of str
        In the order of the model.
    """
    names = name_list(model.columns)
    if not names or holds(names[0]):
        return names
    fixed = name_list(FORMATS.get("fixed-mps").renamed(model).columns)
    return [name if holds(name) else other for name, other in zip(names, fixed)]  # a user's own may be in words


BLANK = ord(" ")
AT_ONCE = 1 << 16  # names that are made together
SHEET = 1 << 13  # cards made at once: they stay in the cache until the file has taken them
LARGEST = 1e20  # solvers take this and more for infinite

# The first word of a model file, behind blank lines and comments (* in MPS, a backslash in LP).
FIRST_WORD = re.compile(rb"(?:[ \t\r]*\n|\*[^\n]*\n|[ \t]*\\[^\n]*\n)*[ \t]*([^\s:]+)")
FREE_NAME = re.compile(rb"^NAME[ \t].*[ \t]FREE(?:MPS)?[ \t\r]*$", re.M | re.I)
MPS_WORDS = (b"NAME", b"ROWS", b"OBJSENSE", b"OBJNAME")
LP_WORDS = (b"MIN", b"MAX", b"MINIMIZE", b"MAXIMIZE", b"MINIMISE", b"MAXIMISE", b"MINIMUM", b"MAXIMUM")
# The comment by which a file names the model that it is, or is a point of: its identity, and the content of its file.
IDENTITY = re.compile(rb"odtc model ([0-9a-f]{64})(?: file ([0-9a-f]{64}))?")
MAX_COMMENT = 150  # characters: readers of fixed lines take fewer than 160 at once
IDENTITY_WITHIN = 1 << 13  # bytes from the begin of a file, or from the end of one
PACKED = {b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip"}


def identity_words(model: Model, file: bool = False) -> str:
    """Return the text of the comment that identifies a model; with `file` also the model file. "" if it has no
    identity."""
    if not model.identity:
        return ""
    return f"odtc model {model.identity}" + (f" file {model.content}" if file and model.content else "")


def head_comments(model: Model, mark: str) -> str:
    """Return the comment lines at the top of a model file: the model's identity, and its problem in words."""
    words = [text] if (text := identity_words(model)) else []
    if model.described is not None:
        axes = [axis for block in model.columns if isinstance(block, Block) for axis in block.axes]
        words += model.described.lines(axes)
    return "".join(comment(mark, text) for text in words)


def block_comment(model: Model, block: Block | NamedBlock, names: np.ndarray, mark: str) -> bytes:
    """Return the comment line before a family of variables or constraints, with the names of its first and last."""
    if model.described is None or not block.size:
        return b""
    first, last = (bytes(name).decode("ascii").strip(" :") for name in (names[0], names[-1]))
    axes = ["split" if axis.name == "test" else axis.name for axis in getattr(block, "axes", ())]
    family = block.name + (f"[{', '.join(axes)}]" if axes else "")
    what = "variables" if any(block is one for one in model.columns) else "constraints"
    meaning = model.described.meaning(block.role)
    names_of = f", {first} to {last}" if block.size > 1 else ""
    text = f"{what} {family}{names_of}{': ' * bool(meaning)}{meaning}"
    return comment(mark, text).encode("ascii")


def comment(mark: str, text: str) -> str:
    """Return a line that all solvers pass over: printable ASCII, and short."""
    text = " ".join(text.replace("\u2264", "<=").replace("\u2260", "!=").split())
    plain = visible(text).encode("ascii", "backslashreplace").decode()
    return f"{mark} {plain if len(plain) <= MAX_COMMENT else plain[: MAX_COMMENT - 3] + '...'}\n"


def identity_in(data: bytes) -> tuple[str, str]:
    """(identity, content) that a comment in the first or the last lines of a file names; "" if there is none."""
    found = IDENTITY.search(data, 0, IDENTITY_WITHIN) or IDENTITY.search(data, max(0, len(data) - IDENTITY_WITHIN))
    return (found[1].decode(), (found[2] or b"").decode()) if found else ("", "")


class _Hashed:
    """A binary stream that hashes everything written to it."""

    def __init__(self, stream: ByteStream, digest: Any) -> None:
        self.stream, self.digest = stream, digest

    def write(self, data: Any) -> None:
        self.digest.update(data)
        self.stream.write(data)


def write_model(model: Model, path: str | Path, format: str = "mps", cuts: bool = False, digest: Any = None) -> Path:
    """Write a model file; a path that ends in .gz is compressed.

    Parameters
    ----------
    model : Model
    path : path
    format : str
        A format of `odtc list formats`.
    cuts : bool
        Whether the rows of `model.user_cuts` and `model.lazy` go to the sections for them, which some solvers know
        (docs/reference/file-formats.md); else they are rows like all others.
    digest : hash object of hashlib or None
        Is given the bytes before they are compressed.

    Returns
    -------
    Path

    Raises
    ------
    ModelError
        If the format cannot express the model; no format takes a constant in the objective.
    OutputError
        If the file cannot be written.

    Examples
    --------
    >>> import odtc
    >>> model = odtc.build("examples/monks/monks-1.csv", "flowoct", depth=1, encoding="onehot")
    >>> odtc.write_model(model, "monks.mps", "mps").name
    'monks.mps'
    """
    module = FORMATS.get(format)
    if model.offset:
        raise ModelError(
            f"the objective has the constant {show_number(model.offset)}, which solvers read in different ways; "
            "add a column fixed to 1 with this cost (ModelBuilder.constant)"
        )
    if model.n_rows + model.n_cols > UNCHECKED_SIZE:  # else what reading and encoding have freed stays beside the names
        return_freed_memory()
    with new_file(path) as stream:
        if str(path).endswith(".gz"):
            with ParallelGzip(stream) as packed:
                module.write(model, packed if digest is None else _Hashed(packed, digest), cuts)
        else:
            with DirectFile(stream) as pieces:
                module.write(model, pieces if digest is None else _Hashed(pieces, digest), cuts)
    return Path(path)


def row_sections(model: Model, cuts: bool) -> list[tuple[str, list[Any]]]:
    """(section, row blocks) in the order in which all solvers take them: plain rows, user cuts, lazy
    rows ("rows", "user", "lazy"); without `cuts` all are plain, in the model's order."""
    if not cuts or not (model.user_cuts or model.lazy):
        return [("rows", list(model.rows))]
    kind = {
        block.name: "user" if block.name in model.user_cuts else "lazy" if block.name in model.lazy else "rows"
        for block in model.rows
    }
    return [
        (section, blocks)
        for section in ("rows", "user", "lazy")
        if (blocks := [block for block in model.rows if kind[block.name] == section]) or section == "rows"
    ]


def read_model(path: str | Path) -> Model:
    """Read a model from a file: free or fixed MPS or LP, also compressed by gzip. The content determines the format.

    Parameters
    ----------
    path : path

    Returns
    -------
    Model
        Its blocks have the names of the file; `identity` comes from the comment in the file, if there is one.

    Raises
    ------
    ModelError
        If the file is not such a model; the message names the line.
    """
    path = Path(path)
    expect_settled(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelError(
            f"expected a model file (MPS or LP, also .gz), got {str(path)!r}: "
            f"{error.strerror}{of_this_stem(path, *MODELS)}"
        ) from None
    try:
        data = unpacked(data)
    except TooLargeError as error:
        raise ModelError(f"{path.name}: expected a packed model file, but {error}") from None
    except (EOFError, zlib.error) as error:
        raise ModelError(f"{path.name}: expected a whole gzip file, got a damaged one ({error})") from None
    for magic, kind in PACKED.items():
        if data.startswith(magic):
            raise ModelError(f"{path.name}: expected a model file, plain or as gzip, got one packed by {kind}")
    identity = identity_in(data[:IDENTITY_WITHIN])[0]
    return replace(_parsed(data, path.name), identity=identity, content=hashlib.sha256(data).hexdigest())


def _parsed(data: bytes, name: str) -> Model:
    kind = _kind(data, name)
    if kind == "lp" or FREE_NAME.search(data, 0, 1 << 16):
        return FORMATS.get(kind).read(data, name)
    try:
        return FORMATS.get("mps").read(data, name)
    except ModelError as as_free:
        # Names with blanks can only be distinguished in the columns of the fixed form.
        try:
            return FORMATS.get("fixed-mps").read(data, name)
        except ModelError:
            raise as_free from None


def form_of(data: bytes, name: str) -> str:
    """Return the format of a model file by its content: "lp", "mps" or "fixed-mps". Raises ModelError."""
    kind = _kind(data, name)
    return "fixed-mps" if kind == "mps" and not FREE_NAME.search(data, 0, 1 << 16) else kind


def _kind(data: bytes, name: str) -> str:
    """Return "mps" or "lp" by the first word, or by the suffix if that word does not decide."""
    found = FIRST_WORD.match(data, 0, 1 << 20)
    word = found[1] if found else b""
    if word.upper() in MPS_WORDS:
        return "mps"
    if word.upper() in LP_WORDS:
        return "lp"
    suffix = name.lower().removesuffix(".gz").rsplit(".", 1)[-1]
    if word and suffix in ("mps", "lp"):
        return suffix
    came = word[:40].decode("ascii", "backslashreplace")
    raise ModelError(
        f"{name}: expected a model file that begins with NAME or ROWS (MPS), Minimize or Maximize (LP), got {came!r}"
        f"{kind_by_name(name, '.mps', '.lp')}"
        if came
        else f"{name}: expected a model file (MPS or LP), got an empty one"
    )


def name_table(blocks: Sequence[Block | NamedBlock], end: str = "", wide: int = 0) -> np.ndarray:
    """Names of all members of these blocks, each followed by `end`, blank-padded: uint8 of shape
    (members, widest), or of `wide` bytes if that is more."""
    size = sum(block.size for block in blocks)
    widest = max((block.width for block in blocks), default=1)
    table = np.full((size, max(wide, widest + len(end))), ord(" "), np.uint8)
    for block in blocks:
        for begin in range(block.start, block.stop, AT_ONCE):
            part = slice(begin, min(begin + AT_ONCE, block.stop))
            names = table[part]
            names[:, : block.width] = block.name_table(begin - block.start, part.stop - block.start)
            if end:
                names[np.arange(len(names)), (names != ord(" ")).sum(axis=1)] = ord(end)
    return table


def names_by_part(blocks: Sequence[Block | NamedBlock]) -> Callable[[int, int], np.ndarray]:
    """Return a function of (begin, end), positions within one block, that returns their names as `name_table` does.

    Names are made when they are needed, so that they are never all in memory.
    """
    widest = max((block.width for block in blocks), default=1)
    starts = np.array([block.start for block in blocks], np.int64)

    def names(begin: int, end: int) -> np.ndarray:
        block = blocks[int(np.searchsorted(starts, begin, "right")) - 1]
        table = np.full((end - begin, widest), BLANK, np.uint8)
        table[:, : block.width] = block.name_table(begin - block.start, end - block.start)
        return table

    return names


def expect_finite(values: np.ndarray) -> None:
    """Raise ModelError for numbers of a model, float64, that no solver takes as finite."""
    if not (np.abs(values) < LARGEST).all():
        raise ModelError(
            f"expected finite numbers below {LARGEST:g} in a model, because solvers take that and more for infinite, "
            f"got {float(np.abs(values).max()):.4g}; divide the weights or costs by a power of ten, or leave out "
            f"{option('solver')} and {option('format')}, so that odtc's own search finds the tree"
        )


def number_table(values: np.ndarray, show: Callable[[float], str] = show_number) -> tuple[np.ndarray, np.ndarray]:
    """Return (table, code): value i reads table[code[i]], by default the shortest text of that double.

    Raises ModelError for a number that no solver takes as finite.
    """
    values = np.asarray(values, float)
    code = np.zeros(len(values), np.intp)
    known = np.array([1.0, -1.0])  # nearly all coefficients, found without sorting
    rest = np.flatnonzero((values != 1) & (values != -1))
    code[values == -1] = 1
    if rest.size:
        expect_finite(values[rest])
        others, places = np.unique(values[rest], return_inverse=True)
        code[rest] = places + 2
        known = np.concatenate([known, others])
    return text_table([show(value) for value in known]), code


def text_table(texts: list[str]) -> np.ndarray:
    """ASCII texts, blank-padded on the right: uint8 of shape (texts, longest)."""
    packed = np.array([text.encode("ascii") for text in texts])
    table = packed.view(np.uint8).reshape(len(texts), -1).copy()
    table[table == 0] = ord(" ")
    return table


def lines(*fields: str | np.ndarray | tuple[np.ndarray, int]) -> np.ndarray:
    """Lines of one width: each field is a text for every line, or a table with one row a line; uint8 (lines, width).

    A table with a width is padded with blanks, which the next fields overwrite: rows of 16 bytes are moved several
    times as fast as rows of 15.
    """
    parts = [_field(field) for field in fields]
    sizes = [len(part) for part, _ in parts]
    count = max(sizes) if all(sizes) else 0
    ends = np.cumsum([width for _, width in parts]).tolist()
    out = np.empty((count, ends[-1]), np.uint8)
    if not count:
        return out
    # What all lines share is copied from line to line, twice as many each time.
    shared, varying = np.full(ends[-1], BLANK, np.uint8), []
    for (part, width), end in zip(parts, ends):
        if len(part) == 1:
            shared[end - width : end] = part[0, :width]
        else:
            varying.append((part, end - width, width))
    out[0] = shared
    copy_first(out)
    spilled: set[int] = set()
    for part, at, width in varying:
        # Each text is one item, which numpy moves twice as fast as its bytes.
        item = f"V{part.shape[1]}"
        cells = np.ndarray(count, item, out, at, (out.shape[1],))
        cells[:] = np.ascontiguousarray(part).view(item).reshape(-1)
        spilled.difference_update(range(at, at + width))
        spilled.update(place for place in range(at + width, at + part.shape[1]) if shared[place] != BLANK)
    for place in spilled:
        out[:, place] = shared[place]
    return out


def copy_first(sheet: np.ndarray) -> None:
    """Copy the first line of a table to all others, doubling their number each time."""
    known = 1
    while known < len(sheet):
        sheet[known : 2 * known] = sheet[: min(known, len(sheet) - known)]
        known *= 2


def _field(field: str | np.ndarray | tuple[np.ndarray, int]) -> tuple[np.ndarray, int]:
    """Return a field of a line as (table, width)."""
    if isinstance(field, tuple):
        return field
    table = np.frombuffer(field.encode("ascii"), np.uint8)[None, :] if isinstance(field, str) else field
    return table, table.shape[1]


def gather(table: np.ndarray, places: np.ndarray) -> np.ndarray:
    """table[places] for a table of bytes: rows are moved as single items, which numpy does fastest."""
    items = np.ascontiguousarray(table).view(f"V{table.shape[1]}").reshape(-1)
    return np.take(items, places).view(np.uint8).reshape(-1, table.shape[1])


def repeated(table: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return a table of bytes with each row repeated `counts` times."""
    items = np.ascontiguousarray(table).view(f"V{table.shape[1]}").reshape(-1)
    return np.repeat(items, counts).view(np.uint8).reshape(-1, table.shape[1])


def finite_sides(model: Model, begin: int = 0, end: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return (kind, rhs) of each row from `begin` to `end`: kind is "L", "G" or "E" as bytes; raises ModelError for a
    range or a free row, which files express in too many ways."""
    lower, upper = (vectors.part(model, side, begin, end) for side in ("row_lower", "row_upper"))
    has_lower, has_upper = np.isfinite(lower), np.isfinite(upper)
    bad = (has_lower & has_upper & (lower != upper)) | ~(has_lower | has_upper)
    if bad.any():
        raise ModelError(
            f"row {begin + int(bad.argmax())} has {'two different sides' if has_lower[bad.argmax()] else 'no side'}; "
            "the portable formats hold rows with one side: write a range as two rows"
        )
    kind = np.where(has_lower & has_upper, b"E", np.where(has_upper, b"L", b"G"))
    return kind, np.where(has_upper, upper, lower)
