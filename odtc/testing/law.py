"""Property tests (laws) of plug-ins, tried with random cases down to the smallest that fails.

A law is a function of a plug-in and a Trial. It draws its input from the trial (`trial.draw(strategy)`), records it in
words (`trial.note("data", …)`), and states what it expects (`trial.expect(condition, sentence)`). hypothesis draws the
cases and makes a failing one as small as it can; the notes of that one are shown.
"""

import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import SkipTest

from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from hypothesis.errors import FailedHealthCheck, Flaky, Unsatisfiable

from odtc.errors import OdtcError

_most: int | None = None  # limit on the examples of a law, whatever it or its caller requests
LONGEST = 1500  # characters of a note that are shown
NO_DATABASE = None  # a law is tried from the beginning each time: the same member breaks it in the same way


def limit_examples(most: int | None) -> None:
    """Limit the random cases of every law to this many from now on; None: as many as requested."""
    global _most
    _most = most


class NotTriedError(Exception):
    """Why a law cannot be tried here, as that a program is not on this machine."""


class LawBrokenError(AssertionError):
    """A violation of a law by a plug-in; the text is that of the Outcome."""


@dataclass
class Trial:
    """One random case of a law."""

    draw: Callable[[Any], Any]
    notes: dict[str, str] = field(default_factory=dict)

    def note(self, what: str, value: Any) -> None:
        """Record a part of the case in words."""
        self.notes[what] = str(value)

    def expect(self, condition: Any, sentence: str) -> None:
        """Raise LawBrokenError with a sentence (what was expected, what came) unless the condition is true."""
        if not condition:
            raise LawBrokenError(sentence)

    def skip_unless(self, condition: Any) -> None:
        """Draw another case unless the condition is true."""
        assume(bool(condition))


@dataclass(frozen=True)
class Law:
    """A law of a kind.

    Attributes
    ----------
    name : str
        One word.
    says : str
        The law as a sentence.
    holds : function
        `holds(member, under, trial)` raises if the law is violated.
    under : function
        `under(member)` yields (words, value) for each way in which the law is tried, such as the parameter sets of a
        formulation.
    examples : int
        Random cases of each.
    """

    name: str
    says: str
    holds: Callable[[Any, Any, Trial], None]
    under: Callable[[Any], Any] = lambda member: [("", None)]
    examples: int = 20


@dataclass(frozen=True)
class Outcome:
    """The result of a law: `broken` is "" if it passes; `notes` are the smallest case that fails."""

    case: "Case"
    tried: int
    broken: str = ""
    notes: dict[str, str] = field(default_factory=dict)
    not_tried: str = ""

    @property
    def text(self) -> str:
        """All that is known of it, for people."""
        how = f" ({self.case.words})" if self.case.words else ""
        if self.not_tried:
            return f"{self.case.law.name}{how}: not tried: {self.not_tried}"
        if not self.broken:
            return f"{self.case.law.name}{how}: holds, {self.tried} case{'s' * (self.tried != 1)}"
        lines = [
            f"{self.case.law.name}{how}: broken at case {self.tried}",
            f"  law: {self.case.law.says}",
            f"  what came: {self.broken}",
        ]
        for what, value in self.notes.items():
            shown = value if len(value) <= LONGEST else value[:LONGEST] + " …"
            if "\n" in shown:
                lines += [f"  {what}:", *(f"    {line}" for line in shown.splitlines())]
            else:
                lines.append(f"  {what}: {shown}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Case:
    """A law of a member, in one of the ways in which it is tried."""

    kind: str
    name: str
    member: Any
    law: Law
    words: str
    value: Any

    def __str__(self) -> str:
        return "-".join(filter(None, [self.law.name, self.name, self.words.replace(" ", ",")]))

    def run(self, examples: int | None = None) -> Outcome:
        """Try the law.

        Parameters
        ----------
        examples : int or None
            The number of random cases; None is the law's own.

        Returns
        -------
        Outcome
        """
        trial, tried = Trial(lambda strategy: None), [0]

        @settings(
            max_examples=min(examples or self.law.examples, _most or 10**6),
            deadline=None,
            database=NO_DATABASE,
            derandomize=True,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            print_blob=False,
        )
        @given(data=st.data())
        def attempt(data):
            trial.draw, trial.notes = data.draw, {}
            self.law.holds(self.member, self.value, trial)
            tried[0] += 1

        try:
            attempt()
        except (Unsatisfiable, FailedHealthCheck):
            return Outcome(self, 0, not_tried="no random case fits the declarations of the plug-in")
        except Flaky:
            return Outcome(self, tried[0] + 1, "the same case holds once and is broken once", trial.notes)
        except NotTriedError as problem:
            return Outcome(self, 0, not_tried=str(problem))
        except LawBrokenError as problem:
            return Outcome(self, tried[0] + 1, str(problem), trial.notes)
        except Exception as problem:
            return Outcome(self, tried[0] + 1, _raised(problem), trial.notes)
        return Outcome(self, tried[0])

    def expect(self, examples: int | None = None) -> None:
        """Raise LawBrokenError if the law is violated, and skip the test if it cannot be tried; for pytest."""
        outcome = self.run(examples)
        if outcome.not_tried:
            raise SkipTest(outcome.text)
        if outcome.broken:
            raise LawBrokenError(f"{self.kind} {self.name!r}\n{outcome.text}")


def cases_of(kind: str, name: str, member: Any, laws: tuple[Law, ...]) -> Iterator[Case]:
    """Yield each law in each way in which it is tried."""
    for law in laws:
        for words, value in law.under(member):
            yield Case(kind, name, member, law, words, value)


def _raised(problem: Exception) -> str:
    """Describe an exception in a line, with the innermost position outside odtc and its libraries, or the innermost
    one."""
    frames = traceback.extract_tb(problem.__traceback__)
    home, libraries = str(Path(__file__).parents[1]), str(Path(sys.prefix))
    own = [frame for frame in frames if not frame.filename.startswith((home, libraries))]
    frame = (own or frames)[-1]
    words = " ".join(str(problem).split()) or type(problem).__name__
    if isinstance(problem, OdtcError):
        return words
    if isinstance(problem, AssertionError):
        return f"{words} ({Path(frame.filename).name}:{frame.lineno})"
    return f"{type(problem).__name__}: {words} ({Path(frame.filename).name}:{frame.lineno})"
