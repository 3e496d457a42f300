"""A model as every solver reads it alike (docs/reference/file-formats.md), and a check whether a file is such a model.

A file that odtc did not write may contain constructs that solvers read in different ways: OBJSENSE, a constant of the
objective, integer columns without bounds, and more (tests/solvers/dialects shows them). A solver gets such a model as
odtc writes it, with the same columns in the same order.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from odtc.base.compression import GZIP, unpacked
from odtc.base.value_class import value_class
from odtc.fileformats.model_files import FORMATS, form_of
from odtc.model.blocks import Axis, Block, NamedBlock
from odtc.model.milp import Model
from odtc.model.own_parts import RESERVED

# What every reader of MPS and LP takes for a name (docs/reference/file-formats.md); CBC loses longer names in LP.
NAME = re.compile(r"(?:(?![eE]\d)[A-Za-z_][A-Za-z0-9_]{0,59}(?:\n(?=.)|\Z))++")
# A comment line behind the first line, which every solver passes over.
COMMENT = re.compile(rb"\n[*\\][ -~]{0,159}$", re.M)
CUT_SECTIONS = re.compile(rb"^(USERCUTS|LAZYCONS|User Cuts|Lazy Constraints)[ \t\r]*$", re.M)


def portable(model: Model) -> Model:
    """Return the same columns in the same order in the portable subset (docs/reference/file-formats.md).

    A range becomes two rows, and rows without a side are left out. The objective has no constant, the bounds of integer
    columns are whole (GLPK 5.0 refuses others), names are letters and digits. A model that is in the subset is
    returned itself. A point of one model is a point of the other, at a cost that is less by `model.offset`.
    """
    return _made_so(model)[0]


def _made_so(model: Model) -> tuple[Model, list[str]]:
    """Return (the model in the subset, the parts that were not, in words)."""
    words = []
    if model.offset:
        model = replace(model, offset=0.0, matrix=model.A)
        words.append("a constant in the objective")
    whole = model.integrality.astype(bool)
    lower = np.where(whole, np.ceil(model.col_lower), model.col_lower)
    upper = np.where(whole, np.floor(model.col_upper), model.col_upper)
    if (lower != model.col_lower).any() or (upper != model.col_upper).any():
        model = replace(model, col_lower=lower, col_upper=upper, matrix=model.A)
        words.append("a whole column with a bound that is not")
    low, up = np.isfinite(model.row_lower), np.isfinite(model.row_upper)
    both, none, named = low & up & (model.row_lower != model.row_upper), ~low & ~up, _named(model.rows)
    words += ["a row with two sides"] * bool(both.any()) + ["a row without a side"] * bool(none.any())
    if both.any() or none.any() or not named:
        model = _rows_anew(model, both, none)
    if not named or not _named(model.columns) or not NAME.fullmatch(model.name):
        words.append("a name that not all solvers take")
    if not _named(model.columns):
        model = replace(model, columns=(Block("C", (Axis("column", model.n_cols),), 0),), matrix=model.A)
    if not NAME.fullmatch(model.name):
        model = replace(model, name="model")
    return model, words


def _rows_anew(model: Model, both: np.ndarray, none: np.ndarray) -> Model:
    """Return the rows with names by position; a range becomes its upper side, and its lower side after the rows of its
    block."""
    places, lower_only, blocks, marks, start = [], [], [], {}, 0
    for at, block in enumerate(model.rows):
        here = np.arange(block.start, block.stop)
        kept, again = here[~none[here]], here[both[here]]
        places += [kept, again]
        lower_only += [np.zeros(len(kept), bool), np.ones(len(again), bool)]
        size = len(kept) + len(again)
        if size:
            marks.setdefault(block.name, []).append(f"R{at}")
            blocks.append(Block(f"R{at}", (Axis("row", size),), start))
        start += size
    place = np.concatenate([np.zeros(0, np.int64), *places])
    second = np.concatenate([np.zeros(0, bool), *lower_only])
    first = both[place] & ~second
    named = lambda names: tuple(new for name in names for new in marks.get(name, ()))  # noqa: E731
    return replace(
        model,
        rows=tuple(blocks),
        lazy=named(model.lazy),
        user_cuts=named(model.user_cuts),
        terms=(),
        row_lower=np.where(first, -np.inf, model.row_lower[place]),
        row_upper=np.where(second, np.inf, model.row_upper[place]),
        matrix=model.A.tocsr()[place].tocsc(),
    )


def _named(blocks: Sequence[Block | NamedBlock]) -> bool:
    for block in blocks:
        names = block.table if isinstance(block, NamedBlock) else (block.name,)
        if names and (
            not NAME.fullmatch("\n".join(names)) or block.width > 60 or not RESERVED.isdisjoint(map(str.lower, names))
        ):
            return False
    return True


@value_class
class ModelFile:
    """Facts of a model file: its form ("mps", "lp", "fixed-mps"), whether it is gzip, whether it has sections for
    cuts, and the differences from a file that odtc writes, in words ("" if there are none)."""

    form: str
    packed: bool
    cuts: bool
    astray: str


def compare(path: str | Path, model: Model) -> ModelFile:
    """Compare a model's file with the file that odtc would write for the model, except for blanks: if nothing differs,
    all solvers read it alike. Nothing is written. Raises OSError if the file cannot be read."""
    data = Path(path).read_bytes()
    packed, data = data.startswith(GZIP), unpacked(data)
    form, cuts = form_of(data, Path(path).name), CUT_SECTIONS.search(data) is not None
    if words := ["it maximises"] * model.maximised + _made_so(model)[1]:
        return ModelFile(form, packed, cuts, ", ".join(words))
    # A file whose NAME does not say FREE is of the fixed form, or one that some solvers take for it.
    for written in (form, "mps") if form == "fixed-mps" else (form,):
        against = _Compared(data, SQUEEZED[written])
        try:
            FORMATS.get(written).write(model, against, cuts)
            against.end()
        except _Differs:
            continue
        return ModelFile(form, packed, cuts, "")
    return ModelFile(form, packed, cuts, against.words())


class _Differs(Exception):
    pass


class _Compared:
    """A stream that compares a text with a file and stops the writer at a difference, apart from the parts that
    `squeezed` removes from both."""

    def __init__(self, data: bytes, squeezed: Callable[[bytes], bytes]) -> None:
        self.squeezed, self.text = squeezed, squeezed(COMMENT.sub(b"", data.rstrip()))
        self.data = COMMENT.sub(lambda found: b"\n" + b" " * (len(found[0]) - 1), data)  # for the numbers of lines
        self.at, self.rest = 0, b""

    def write(self, piece: Any) -> None:
        piece = self.rest + (piece if isinstance(piece, bytes) else np.ascontiguousarray(piece).tobytes())
        # Up to the last line end: a run of blanks may go on in the next piece.
        end = max(piece.rfind(b"\n"), 0)
        self.rest = piece[end:]
        self._compare(self.squeezed(COMMENT.sub(b"", piece[:end])))

    def end(self) -> None:
        self._compare(self.squeezed(COMMENT.sub(b"", self.rest.rstrip())))
        if self.at < len(self.text):
            raise _Differs

    def _compare(self, piece: bytes) -> None:
        part = self.text[self.at : self.at + len(piece)]
        if part != piece:
            same = np.frombuffer(part, np.uint8) == np.frombuffer(piece[: len(part)], np.uint8)
            self.at += len(part) if same.all() else int(same.argmin())
            raise _Differs
        self.at += len(piece)

    def words(self) -> str:
        """Return the line of the file at which the comparison stopped."""
        # There are fewer blanks, so the place is found by the letters before it; a line that ends too early is
        # the one that its last letter stands on.
        codes = np.frombuffer(self.data, np.uint8)
        letters = np.flatnonzero((codes != ord(" ")) & (codes != ord("\n")))
        before = len(self.text[: self.at].translate(None, b" \n"))
        place = int(letters[max(before - (self.text[self.at : self.at + 1] in b"\n"), 0)])
        begin, end = self.data.rfind(b"\n", 0, place) + 1, self.data.find(b"\n", place)
        line = self.data[begin : end if end >= 0 else None].decode("ascii", "backslashreplace")
        number = self.data.count(b"\n", 0, begin) + 1
        return f"line {number}: {' '.join(line.split())[:60]!r}"


# The words of both texts are the same already, as the model was read from the one and written to the
# other; what is left to compare is all else, and at that the fewest passes over the bytes.
def _of_cards(text: bytes) -> bytes:
    """Free MPS without its blanks."""
    return text.translate(None, b" ")


def _of_columns(text: bytes) -> bytes:
    """Fixed MPS, where every field has its place, without the blanks at the end of a line."""
    return re.sub(rb" +$", b"", text, flags=re.M)


def _of_sums(text: bytes) -> bytes:
    """Return LP text with one blank for a run of them, none at the end of a line, and no new line before a sign that
    continues a sum: some solvers need the blank in 3 x, and none the line."""
    codes = np.frombuffer(text, np.uint8)
    blank = codes == ord(" ")
    kept = np.ones(len(codes), bool)
    kept[1:] = ~(blank[1:] & blank[:-1])
    text = codes[kept].tobytes().replace(b" \n", b"\n")
    return text.replace(b"\n +", b" +").replace(b"\n -", b" -").rstrip(b" ")


SQUEEZED = {"mps": _of_cards, "fixed-mps": _of_columns, "lp": _of_sums}
