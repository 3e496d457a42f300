"""Phases of the work in this context, in words, for a listener: the live line of a command.

    with heard(take):
        ...
        begin("encoding")                              # anywhere inside
        for column in over(columns, "reading columns"):
            ...

No function inside needs an argument for it, and without a listener a phase takes nearly no time.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from odtc.base.value_class import value_class

Item = TypeVar("Item")


@value_class
class Phase:
    """A piece of work, and the number of its finished parts; `total` is 0 if it has no parts to count. One that
    `stays` takes seconds for any data, so users without a live line see it, too."""

    words: str
    done: int = 0
    total: int = 0
    stays: bool = False

    def __str__(self) -> str:
        return self.words + (f", {self.done:,} of {self.total:,}" if self.total else "")


_hearer: ContextVar[Callable[[Phase], None] | None] = ContextVar("odtc phases", default=None)


@contextmanager
def heard(take: Callable[[Phase], None], beside: bool = False) -> Iterator[None]:
    """Call `take` inside with each phase as it begins, and with each part of it, instead of an outer listener, or in
    addition to it (`beside`)."""
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
    """Report that a piece of work begins."""
    if (take := _hearer.get()) is not None:
        take(Phase(words, stays=stays))


def over(items: Sequence[Item], words: str) -> Iterator[Item]:
    """Return the items one by one, and report before each how many are finished."""
    take = _hearer.get()
    for done, item in enumerate(items):
        if take is not None:
            take(Phase(words, done, len(items)))
        yield item
