"""Which check of depth 2 a certificate gets, in numpy or by loops: each says the same, and time spent is told."""

import numpy as np
import pytest

from odtc.errors import CertificateError
from odtc.verification import compiled_pairs, pair_kernel
from odtc.verification.compiled_pairs import PairCheck
from odtc.verification.constrained import sweep_kernel, sweep_numpy
from tests.unit.test_two_tests_after_each_other import cheapest, drawn


class Loops:
    """Loops that are there once they were asked for so often."""

    def __init__(self, after: int):
        self.after, self.asked, self.called, self.spent = after, 0, 0, []

    def loops(self, ahead: float):
        self.asked += 1
        return self.run if self.asked > self.after else None

    def run(self, *given):
        self.called += 1
        return pair_kernel.least_pair(*given)

    def spend(self, seconds: float) -> None:
        self.spent.append(seconds)


@pytest.mark.parametrize("least", [1, 2, 3])
@pytest.mark.parametrize("after", [0, 1, 2, 10**6])
@pytest.mark.parametrize("seed", range(3))
def test_a_target_is_refused_by_each_check_just_if_a_tree_costs_less(seed, after, least, monkeypatch):
    check, tables = PairCheck(), []
    for more in (0, 50):  # of two tables by turns
        rows, members, cells = drawn(200 + seed + more, 2 + seed % 2, least)
        best = cheapest(rows, members, cells)
        tables.append((rows, members, int(best) if np.isfinite(best) else None))
    for rows, members, best in (*tables, *tables):
        if best is None:
            continue
        for target, refused in ((best, False), (best + 1, True)):
            loops = Loops(after)
            monkeypatch.setattr(compiled_pairs, "COMPILED", loops)
            if refused:
                with pytest.raises(CertificateError, match=f"two splits after each other costs {best} there"):
                    check.require(rows, members, float(target))
            else:
                check.require(rows, members, float(target))
            if least > 1:
                assert not loops.called and not loops.asked  # numpy alone knows of rows in leaves
            elif after == 0:
                assert loops.called == 1 and not loops.spent
            elif after == 10**6:
                assert not loops.called and len(loops.spent) == 1 and loops.spent[0] >= 0
            else:
                assert len(loops.spent) == 1  # what numpy began with


def test_loops_are_compiled_on_data_that_they_take(monkeypatch):
    loops = Loops(0)
    monkeypatch.setattr(compiled_pairs, "COMPILED", loops)
    compiled_pairs.compile_now()
    assert loops.called == 1
    given = []
    monkeypatch.setattr(sweep_kernel, "least_of_two_levels", lambda *words: given.append(words))
    sweep_kernel.compile_now()
    (words,) = given
    found = []
    for two_levels in (sweep_kernel.two_levels, sweep_numpy.two_levels):
        out = np.full(1, np.nan)
        two_levels(*words[:11], out, *words[12:])
        found.append(float(out[0]))
    assert found[0] == found[1] < np.inf
