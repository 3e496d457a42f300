"""Property tests of plug-ins, tried with random cases down to the smallest that fails.

A property is checked by a function of a plug-in and a Trial. It draws its input (`trial.draw(strategy)`), records it
for people (`trial.note("data", …)`), and states a condition (`trial.expect(condition, sentence)`). hypothesis draws the
cases and reduces a failing one to the smallest; its notes are printed.
"""

import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import SkipTest

from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from hypothesis.errors import FailedHealthCheck, Flaky, Unsatisfiable

from odtc.base.value_class import value_class
from odtc.errors import OdtcError

_most: int | None = None  # limit on the examples of a property, even if it or its caller requests more
LONGEST = 1500  # characters of a note that are shown
NO_DATABASE = None  # a property is tested from the beginning each time: the same plug-in fails it in the same way


def limit_examples(most: int | None) -> None:
    """Limit the random cases of every property to this many from now on; None: as many as requested."""
    global _most
    _most = most


class NotTestedError(Exception):
    """A property cannot be tested here, for example because a program is not on this machine."""


class PropertyFailedError(AssertionError):
    """A plug-in fails a property test; the message is the text of the Outcome."""


@dataclass
class Trial:
    """One random case of a property."""

    draw: Callable[[Any], Any]
    notes: dict[str, str] = field(default_factory=dict)

    def note(self, what: str, value: Any) -> None:
        """Record a part of the case in words."""
        self.notes[what] = str(value)

    def expect(self, condition: Any, sentence: str) -> None:
        """Raise PropertyFailedError unless the condition is true; the sentence says what was expected and found."""
        if not condition:
            raise PropertyFailedError(sentence)

    def skip_unless(self, condition: Any) -> None:
        """Draw another case unless the condition is true."""
        assume(bool(condition))


@value_class
class Property:
    """A property of the plug-ins of a type.

    Attributes
    ----------
    name : str
        One word.
    statement : str
        A sentence that states the property.
    check : function
        `check(plug_in, variant, trial)` raises if the property is violated.
    variants : function
        `variants(plug_in)` yields (words, value) for each variant in which the property is tested, such as the
        parameter sets of a formulation.
    examples : int
        Random cases of each.
    applies : function
        `applies(plug_in)` is whether the plug-in has the property; all have it by default.
    """

    name: str
    statement: str
    check: Callable[[Any, Any, Trial], None]
    variants: Callable[[Any], Any] = lambda plug_in: [("", None)]
    examples: int = 20
    applies: Callable[[Any], bool] = lambda plug_in: True


@dataclass(frozen=True)
class Outcome:
    """The result of a property: `failure` is "" if it passes; `notes` are the smallest case that fails."""

    case: "Case"
    tried: int
    failure: str = ""
    notes: dict[str, str] = field(default_factory=dict)
    not_tested: str = ""

    @property
    def text(self) -> str:
        """Return the result with the smallest failing case, for people."""
        how = f" ({self.case.words})" if self.case.words else ""
        if self.not_tested:
            return f"{self.case.property.name}{how}: not tested: {self.not_tested}"
        if not self.failure:
            return f"{self.case.property.name}{how}: passed, {self.tried} case{'s' * (self.tried != 1)}"
        lines = [
            f"{self.case.property.name}{how}: failed at case {self.tried}",
            f"  property: {self.case.property.statement}",
            f"  found: {self.failure}",
        ]
        for what, value in self.notes.items():
            shown = value if len(value) <= LONGEST else value[:LONGEST] + " …"
            if "\n" in shown:
                lines += [f"  {what}:", *(f"    {line}" for line in shown.splitlines())]
            else:
                lines.append(f"  {what}: {shown}")
        return "\n".join(lines)


@value_class
class Case:
    """A property of a plug-in, in one of its variants."""

    kind: str
    name: str
    plug_in: Any
    property: Property
    words: str
    value: Any

    def __str__(self) -> str:
        return "-".join(filter(None, [self.property.name, self.name, self.words.replace(" ", ",")]))

    def run(self, examples: int | None = None) -> Outcome:
        """Try the property.

        Parameters
        ----------
        examples : int or None
            The number of random cases; None is the property's own.

        Returns
        -------
        Outcome
        """
        trial, tried = Trial(lambda strategy: None), [0]

        @settings(
            max_examples=min(examples or self.property.examples, _most or 10**6),
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
            self.property.check(self.plug_in, self.value, trial)
            tried[0] += 1

        try:
            attempt()
        except (Unsatisfiable, FailedHealthCheck):
            why = f"; the last one was refused: {refused}" if (refused := trial.notes.get("refused")) else ""
            return Outcome(self, 0, not_tested=f"no random case fits the declarations of the plug-in{why}")
        except Flaky:
            return Outcome(self, tried[0] + 1, "the same case passes once and fails once", trial.notes)
        except NotTestedError as problem:
            return Outcome(self, 0, not_tested=str(problem))
        except PropertyFailedError as problem:
            return Outcome(self, tried[0] + 1, str(problem), trial.notes)
        except Exception as problem:
            return Outcome(self, tried[0] + 1, _raised(problem), trial.notes)
        return Outcome(self, tried[0])

    def expect(self, examples: int | None = None) -> None:
        """For pytest: raise PropertyFailedError if the property fails, and skip the test if it cannot be tested."""
        outcome = self.run(examples)
        if outcome.not_tested:
            raise SkipTest(outcome.text)
        if outcome.failure:
            raise PropertyFailedError(f"{self.kind} {self.name!r}\n{outcome.text}")


def refuses(read: Callable[[Any, bytes], Any], error: type[OdtcError], longest: int) -> Property:
    """Return the property that `read(plug_in, data)` reads any bytes, or refuses them in one line by this error."""

    def check(plug_in, variant, trial: Trial) -> None:
        data = trial.draw(st.binary(max_size=longest))
        trial.note("bytes", repr(data))
        try:
            read(plug_in, data)
        except error as refused:
            trial.expect(len(str(refused).splitlines()) == 1, f"expected a refusal in one line, got {refused}")

    return Property("refuses", "Any bytes are read, or refused in a sentence.", check, examples=40)


def cases_of(kind: str, name: str, plug_in: Any, properties: tuple[Property, ...]) -> Iterator[Case]:
    """Yield each property in each way in which it is tried."""
    for property in properties:
        try:
            variants = list(property.variants(plug_in))
        except Exception as problem:  # a mistake of the plug-in that appears when it is used on a first problem
            variants, property = [("", None)], replace(property, check=partial(_raise, problem))
        for words, value in variants:
            yield Case(kind, name, plug_in, property, words, value)


def _raise(problem: Exception, plug_in: Any, variant: Any, trial: Trial) -> None:
    raise problem


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
