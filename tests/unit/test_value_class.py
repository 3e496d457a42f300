"""A value class is a frozen dataclass for all that a program sees, but for the refusal to set a field."""

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import odtc
from odtc.base.value_class import frozen_class, value_class
from odtc.model.solution import Options


def _made(mark) -> type:
    class Pair:
        """A pair."""

        left: int
        right: Any = None
        note: str = field(default="", compare=False)
        hidden: list = field(default_factory=list, compare=False, repr=False)

        def __post_init__(self):
            assert self.hidden is not None

    return mark(Pair)


OURS, THEIRS = _made(value_class), _made(dataclass(frozen=True))
ENTRY = st.one_of(st.integers(0, 2), st.none(), st.sampled_from(["", "a"]), st.tuples(st.integers(0, 1)))
VALUES = st.tuples(st.integers(0, 2), ENTRY, st.sampled_from(["", "b"]))


@given(VALUES, VALUES)
def test_equality_hash_and_text_are_those_of_a_frozen_dataclass(one, other):
    ours, theirs = [OURS(*given) for given in (one, other)], [THEIRS(*given) for given in (one, other)]
    assert (ours[0] == ours[1]) == (theirs[0] == theirs[1])
    assert (ours[0] != ours[1]) == (theirs[0] != theirs[1])
    assert len(set(ours)) == len(set(theirs))
    assert [repr(given) for given in ours] == [repr(given) for given in theirs]
    assert ours[0] != theirs[0] and ours[0] != one


@given(VALUES, st.integers())
def test_fields_and_replace_work(values, left):
    assert [given.name for given in fields(OURS)] == [given.name for given in fields(THEIRS)]
    changed = replace(OURS(*values), left=left)
    assert (changed.left, changed.right, changed.note) == (left, *values[1:])


def test_a_frozen_class_refuses_as_a_frozen_dataclass_does():
    for kind in (_made(frozen_class), THEIRS):
        value = kind(1, "a")
        for name in ("left", "hidden", "other"):
            with pytest.raises(FrozenInstanceError):
                setattr(value, name, 2)
            with pytest.raises(FrozenInstanceError):
                delattr(value, name)
        assert vars(value) == {"left": 1, "right": "a", "note": "", "hidden": []}
        assert copy.copy(value) == replace(value, left=1) == value
    assert pickle.loads(pickle.dumps(Options(seed=3))) == Options(seed=3)


def test_own_methods_and_those_of_a_class_below_it_hold():
    @value_class
    class Named:
        name: str

        def __repr__(self):
            return f"<{self.name}>"

    @value_class
    class Numbered(Named):
        number: int = 0

    assert repr(Named("a")) == "<a>" and repr(Numbered("a", 1)).endswith("Numbered(name='a', number=1)")
    assert Numbered("a") != Named("a") and Numbered("a", 1) == Numbered("a", 1) != Numbered("a", 2)


def test_a_class_without_fields_has_equal_values():
    @value_class
    class Nothing:
        pass

    assert Nothing() == Nothing() and len({Nothing(), Nothing()}) == 1


def test_a_class_of_one_array_is_compared_as_a_dataclass_is():
    @value_class
    class Row:
        cells: np.ndarray

    cells = np.arange(3)
    assert (Row(cells) == Row(cells)) is True


def test_a_value_that_holds_itself_has_a_text():
    held = OURS(1)
    held.hidden.append(held)
    around: list = []
    cyclic = OURS(1, around)
    around.append(cyclic)
    assert "..." in repr(cyclic)


def test_nobody_sets_a_field_of_a_result(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{n % 5},{n % 2}\n" for n in range(20)))
    certificate = odtc.certify(tmp_path / "t.csv", depth=1)
    fitted = certificate.fit
    for held in (certificate, fitted, fitted.proof, fitted.training, fitted.claimed, fitted.decoded.checks[0]):
        with pytest.raises(FrozenInstanceError):
            setattr(held, fields(held)[0].name, None)
