"""The contracts of registries: a module is checked whole, in a sentence, and a member has every declared name."""

import pickle
from abc import abstractmethod
from types import ModuleType
from typing import Protocol

import pytest

from odtc.base.registry import Contract, Registry
from odtc.errors import ChoiceError
from odtc.problem.formulation import FORMULATIONS, Compiled, Iterative, Learner


class Thing(Protocol):
    NAME: str
    FAST: bool = False

    def words(self, count):
        return f"{self.NAME} {count}"


class Made(Protocol):
    @abstractmethod
    def build(self, problem): ...

    @abstractmethod
    def decode(self, problem, point): ...


class Learned(Protocol):
    @abstractmethod
    def tree(self, problem, **options): ...


THINGS = Registry("thing", "tests.things", (), Contract((Thing,), one_of=(Made, Learned)), "odtc.things")


def module(source: str) -> ModuleType:
    made = ModuleType("thing")
    exec(source, made.__dict__)
    return made


def test_a_member_has_what_it_defines_and_what_it_leaves_out():
    one = THINGS.admitted(
        "one", module("NAME = 'one'\ndef build(problem): return 1\ndef decode(problem, point): return 2")
    )
    assert (one.name, one.NAME, one.FAST, one.words(3), one.build(None)) == ("one", "one", False, "one 3", 1)
    assert one.can(Made) and not one.can(Learned) and one.abilities == (Thing, Made)
    other = THINGS.admitted("two", module("NAME = 'two'\nFAST = True\ndef tree(problem, seed=0): return seed\n"))
    assert other.FAST and other.can(Learned) and other.tree(None, seed=4) == 4


def test_a_name_that_nobody_declared_is_an_error():
    one = THINGS.admitted("three", module("NAME = 'x'\nEXTRA = 1\ndef tree(problem): pass"))
    with pytest.raises(AttributeError, match="'EXTRA' is not a name of the contract of a thing"):
        one.EXTRA  # noqa: B018
    with pytest.raises(AttributeError, match=r"the thing 'three' has no build\(problem\)"):
        one.build  # noqa: B018


@pytest.mark.parametrize(
    "source, said",
    [
        ("def tree(problem): pass", "is not complete: it lacks NAME"),
        ("NAME = 'x'\ndef build(problem): pass", r"is not complete: it lacks decode\(problem, point\)"),
        (
            "NAME = 'x'\ndef bulid(problem): pass\ndef decode(problem, point): pass",
            r"is not complete: it lacks build\(problem\) \(did you mean its 'bulid'\?\)",
        ),
        ("NAME = 'x'", r"expected build\(problem\), decode\(problem, point\); or tree\(problem, \*\*options\)"),
        ("NAME = 'x'\ndef tree(): pass", r"expected tree\(problem, \*\*options\), got tree\(\)"),
        ("NAME = 'x'\ntree = 3", r"expected a function tree\(problem, \*\*options\), got tree = 3"),
        ("NAME = 3\ndef tree(problem): pass", "expected NAME as str, got 3"),
        (
            "NAME = 'x'\ndef tree(problem): pass\ndef word(count): pass",
            "defines 'word', which odtc does not use; did you mean 'words'",
        ),
        (
            "NAME = 'x'\ndef tree(problem): pass\nFASTT = True",
            "defines 'FASTT', which odtc does not use; did you mean 'FAST'",
        ),
    ],
)
def test_what_does_not_fit_is_told_in_a_sentence(source, said):
    with pytest.raises(ChoiceError, match=f"^thing 'x' .*{said}"):
        THINGS.admitted("x", module(source))


def test_names_of_its_own_are_left_alone():
    THINGS.admitted(
        "y", module("NAME = 'x'\ndef tree(problem): pass\ndef _word(count): pass\ndef grow(x): pass\nMOST = 3")
    )
    # Nearly a hook, but it could not stand for it.
    THINGS.admitted("z", module("NAME = 'x'\ndef tree(problem): pass\ndef word(a, b, c): pass"))


def test_a_misspelt_build_of_a_formulation_is_named():
    flowoct = FORMULATIONS.get("flowoct").module
    wrong = ModuleType("wrong")
    wrong.__dict__.update({name: value for name, value in vars(flowoct).items() if name != "build"})
    exec("def biuld(problem): pass", wrong.__dict__)
    with pytest.raises(ChoiceError, match=r"model 'wrong' is not complete: it lacks build\(problem\) .*its 'biuld'"):
        FORMULATIONS.admitted("wrong", wrong)


def test_abilities_name_members_and_members_are_pickled_by_name():
    assert FORMULATIONS.able(Learner) == ("cart", "cart_tuned", "oblique_search")
    assert FORMULATIONS.able(Iterative) == ("bendersoct", "cg")
    assert set(FORMULATIONS.able(Compiled)) | set(FORMULATIONS.able(Learner)) == set(FORMULATIONS.names())
    again = pickle.loads(pickle.dumps(FORMULATIONS.get("oct")))
    assert again == FORMULATIONS.get("oct") and again.build is FORMULATIONS.get("oct").build
