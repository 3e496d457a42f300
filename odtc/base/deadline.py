"""Deadline of the work in this context, if it has one. Loops check it between blocks:

    with within(seconds):
        for block in blocks:
            check()
            ...

Functions inside need no argument for it, and without a limit a check costs next to nothing. A block should take a
second at most; `product` divides a longer matrix product into blocks.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token

import numpy as np
from numpy.typing import DTypeLike

from odtc.base.threads import for_product
from odtc.base.wording import option
from odtc.errors import ModelError, TimeLimitReached

BLOCK = 4e9  # multiplications of a product between two checks: about half a second
CELLS = 2**24  # cells of `left` that are converted to numbers for one block: 128 MB
ROWS = 2048  # least number of rows of a block, so that matrix products stay efficient
RARE = 64  # a column with entries in fewer than one of this many rows is summed only over these rows

BLOCK_CELLS = 4_000_000  # cells of a temporary table that are filled between two checks: at most 32 MB
KERNEL_STEPS = 30_000_000  # steps of a compiled loop between two checks: some hundredths of a second

MOMENT = 0.01  # seconds that are allowed after a limit has passed, so that the last step can begin
RATE = 1e10  # approximate multiplications per second of one thread
HOPELESS = 24 * 3600.0  # seconds; work that takes longer is refused

GRACE = 2.0  # seconds to complete the result after an interruption
IN_HAND = 0.5  # seconds, of these, for a certificate of the current bound, or for its check

# The end, as time.monotonic(), and the seconds of pauses before it was set, because later pauses move it.
_until: ContextVar[tuple[float, float] | None] = ContextVar("odtc deadline", default=None)
# A budget of work: its seconds, and time.monotonic(), time.process_time() and the pauses when it began.
_work: ContextVar[tuple[float, float, float, float] | None] = ContextVar("odtc work", default=None)
_limit: ContextVar[float | None] = ContextVar("odtc limit", default=None)  # the outermost end, which no pause moves
_paused: list[float] = []  # seconds of the pauses of this process
# The end that an interruption has set, as time.monotonic(); NEVER without one, None outside of any limit.
_interrupted: ContextVar[float | None] = ContextVar("odtc interrupted", default=None)
NEVER = float("inf")


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """Limit the time inside this context: `check` raises TimeLimitReached after `seconds` (None: no limit).

    An outer limit that ends sooner still applies; an interruption inside ends the outer context, too.
    """
    around = _interrupted.get()
    ends = [end for end in (_end(), None if seconds is None else time.monotonic() + seconds) if end is not None]
    token, told = _set(min(ends, default=None)), _interrupted.set(NEVER if around is None else around)
    limit = _limit.set(min(ends, default=None) if around is None else _limit.get())
    try:
        yield
    finally:
        heard = _interrupted.get()
        _limit.reset(limit)
        _until.reset(token)
        _interrupted.reset(told)
        if around is not None and heard is not None and heard != around:
            _end_at(heard)


@contextmanager
def budget(seconds: float | None) -> Iterator[None]:
    """Limit the time as `within` does, but let `pause` move the end even of the outermost limit. For short budgets, and
    for commands that would fail without a result, so that work that a machine does only once does not count."""
    with within(None), within(seconds):
        yield


@contextmanager
def work(seconds: float | None) -> Iterator[None]:
    """Limit the work as `budget` limits time: only seconds in which this process works count, so that the same work is
    done on a busy machine. Enclosing limits are in wall time, and still apply."""
    with within(None):
        token = _work.set(None if seconds is None else (seconds, time.monotonic(), time.process_time(), paused()))
        try:
            yield
        finally:
            _work.reset(token)


def _work_left() -> float:
    """Return the seconds of work that are left. Work is CPU time, but at most wall time if the process uses several
    processors."""
    if (budgeted := _work.get()) is None:
        return NEVER
    seconds, began, at, before = budgeted
    return seconds + paused() - before - min(time.monotonic() - began, time.process_time() - at)


@contextmanager
def put_off() -> Iterator[None]:
    """Suspend the deadline inside this context, for a short piece of work that the result needs."""
    token, work_token, around = _until.set(None), _work.set(None), _interrupted.get()
    try:
        yield
    finally:
        _work.reset(work_token)
        _until.reset(token)
        if (heard := _interrupted.get()) is not None and heard != around:
            _end_at(heard)


def end_soon(seconds: float = GRACE) -> None:
    """After Ctrl-C or SIGTERM, end each enclosing `within` after this many seconds; do nothing outside of one."""
    if (before := _interrupted.get()) is not None:
        _end_at(min(before, time.monotonic() + seconds))


def _end_at(soon: float) -> None:
    end = _end()
    _set(soon if end is None else min(end, soon))
    _interrupted.set(soon)


def _set(end: float | None) -> Token[tuple[float, float] | None]:
    return _until.set(None if end is None else (end, paused()))


def _end() -> float | None:
    """Return the end of this context, as time.monotonic()."""
    if (until := _until.get()) is None:
        return None
    end, before = until
    limit = _limit.get()
    return min(end + paused() - before, NEVER if limit is None else limit)


def pause(seconds: float) -> None:
    """Move all ends by the seconds of work that a machine does only once, such as compiling, because parts of the time
    and short budgets are meant for work that every run does. The outermost end, which the user has set, stays."""
    _paused.append(seconds)


def paused() -> float:
    """Return the seconds of all pauses of this process so far."""
    return sum(_paused)


def check_limit() -> None:
    """Raise TimeLimitReached when the outermost end, or the end after an interruption, has passed: for work that is
    done once on a machine (`pause`)."""
    ends = [end for end in (_limit.get(), _interrupted.get()) if end is not None]
    if _until.get() is not None and time.monotonic() > min(ends, default=NEVER):
        check()


@contextmanager
def cut_short() -> Iterator[None]:
    """End the block without an error at the deadline, when memory runs out, or after Ctrl-C. After Ctrl-C, each
    enclosing `within` has GRACE seconds left (`end_soon`)."""
    try:
        yield
    except (TimeLimitReached, MemoryError):
        pass
    except KeyboardInterrupt:
        end_soon()


def is_interrupted() -> bool:
    """Return whether Ctrl-C or SIGTERM has ended a part of an enclosing `within` (`end_soon`)."""
    return _interrupted.get() not in (None, NEVER)


def what_ends() -> str:
    """Return the cause of an end of this context in words: the time limit, or an interruption (`end_soon`)."""
    return "an interruption" if is_interrupted() else "the time limit"


def seconds_left() -> float | None:
    """Return the seconds until the end, 0 or less when it has passed; None without an end."""
    end = _end()
    left = min(NEVER if end is None else end - time.monotonic(), _work_left())
    return None if left == NEVER else left


def limit_left(began: float, time_limit: float | None) -> float | None:
    """Return the rest of a limit that began at this time.monotonic(), at least MOMENT; None without a limit."""
    return None if time_limit is None else max(MOMENT, began + time_limit - time.monotonic())


def time_share(seconds: float, part: float = 1.0) -> float:
    """Return the smaller of `seconds` and this part of the seconds until the end."""
    end = seconds_left()
    return seconds if end is None else max(0.0, min(seconds, part * end))


def is_over() -> bool:
    """Return whether the end has passed; False if there is none."""
    end = _end()
    return (end is not None and time.monotonic() > end) or _work_left() < 0


def check() -> None:
    """Raise TimeLimitReached when the end has passed."""
    if is_over():
        raise TimeLimitReached(
            f"the time limit came before the work was done; allow more time ({option('time_limit')}), or make it "
            f"smaller: fewer splits ({option('encoding', 'auto:bins=8')}), a smaller {option('depth')}"
        )


def has_waited(began: float, patience: float) -> bool:
    """Return whether the end has passed and work that began at this time.monotonic() has had `patience` seconds. For
    steps that every tree needs, and that are short unless the data is large."""
    return is_over() and time.monotonic() - began > patience


def expect_end(multiplications: float, what: str, instead: str) -> None:
    """Raise ModelError if this many multiplications would take longer than HOPELESS seconds."""
    if multiplications > RATE * HOPELESS:
        raise ModelError(
            f"{what} would take about {multiplications:.1g} multiplications, some "
            f"{multiplications / RATE / 3600:,.0f} hours; {instead}"
        )


def product(left: np.ndarray, right: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    """Return left.T @ right, computed in blocks between which the deadline is checked.

    Parameters
    ----------
    left, right : arrays of shape (rows, a) and (rows, b)
    dtype : the type of the product, and of its sums

    Returns
    -------
    array of shape (a, b); the same to the last digit for any blocks if its sums are exact

    Raises
    ------
    TimeLimitReached
        If the deadline has passed.
    """
    check()
    (n, a), b = left.shape, right.shape[1]
    if n * a * b <= BLOCK and n * a <= CELLS:
        with for_product(n * a * b):
            whole: np.ndarray = left.T.astype(dtype, copy=False) @ right.astype(dtype, copy=False)
        return whole
    many = np.count_nonzero(left, axis=0)
    rare = RARE * many < n
    if 4 * rare.sum() > a:  # for example splits on single levels of a column of names
        apart = np.zeros((a, b), dtype)
        _add_rare(left, right, np.flatnonzero(rare & (many > 0)), apart)
        if not rare.all():
            apart[~rare] = product(left[:, ~rare], right, dtype)
        return apart
    columns = max(1, min(b, int(BLOCK / (min(n, ROWS) * a))))
    rows = max(ROWS, int(min(BLOCK / columns, CELLS) / a))
    out = np.zeros((a, b), dtype)
    for first in range(0, b, columns):
        here = slice(first, first + columns)
        for begin in range(0, n, rows):
            check()
            part = slice(begin, begin + rows)
            out[:, here] += left[part].T.astype(dtype, copy=False) @ right[part, here].astype(dtype, copy=False)
    return out


def _add_rare(left: np.ndarray, right: np.ndarray, rare: np.ndarray, out: np.ndarray) -> None:
    """Compute the lines of `product` for the columns `rare` of `left`, which are 0 except in a few rows, only from
    these rows."""
    at, rows = np.nonzero(left[:, rare].T)
    ends = np.searchsorted(at, np.arange(len(rare) + 1))
    begin, most = 0, max(1, int(BLOCK / ROWS / right.shape[1]))
    while begin < len(rare):
        check()
        end = max(begin + 1, int(np.searchsorted(ends, ends[begin] + most, side="right")) - 1)
        some = rows[ends[begin] : ends[end]]
        factors = left[some, rare[at[ends[begin] : ends[end]]]].astype(out.dtype)
        lines = right[some].astype(out.dtype, copy=False) * factors[:, None]
        out[rare[begin:end]] = np.add.reduceat(lines, ends[begin:end] - ends[begin], axis=0)
        begin = end
