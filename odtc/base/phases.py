"""What is at work in this context, in words, for whoever listens: the live line of a command.

    with heard(take):
        ...
        begin("encoding")                              # anywhere inside
        for column in over(columns, "reading columns"):
            ...

No function inside takes an argument for it, and if nobody listens a word costs next to nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class Phase:
    """What is done, and how many of its parts are done; `total` is 0 if it has no parts to count. One that `stays`
    takes seconds of any data, so that who sees no live line hears of it, too."""

    words: str
    done: int = 0
    total: int = 0
    stays: bool = False

    def __str__(self) -> str:
        return self.words + (f", {self.done:,} of {self.total:,}" if self.total else "")


_hearer: ContextVar[Callable[[Phase], None] | None] = ContextVar("odtc phases", default=None)


@contextmanager
def heard(take: Callable[[Phase], None], beside: bool = False) -> Iterator[None]:
    """Inside, `take` is called with each phase as it begins, and with each part of it, in the place of whoever listens
    outside, or `beside` it."""
    outer = _hearer.get() if beside else None

    def both(phase: Phase) -> None:
        take(phase)
        if outer is not None:
            outer(phase)

    token = _hearer.set(both)
    try:
        yield
    finally:
        _hearer.reset(token)


def begin(words: str, stays: bool = False) -> None:
    """Tells that a piece of work begins."""
    if (take := _hearer.get()) is not None:
        take(Phase(words, stays=stays))


def over(items: Sequence[Item], words: str) -> Iterator[Item]:
    """The items one by one, and tells before each how many are done."""
    take = _hearer.get()
    for done, item in enumerate(items):
        if take is not None:
            take(Phase(words, done, len(items)))
        yield item
