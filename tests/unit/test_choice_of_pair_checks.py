"""The checks of depth 2 of a certificate, in numpy or by the kernel, agree."""

import numpy as np
import pytest

from odtc.errors import CertificateError
from odtc.verification import pair_kernel
from odtc.verification.interval_bound import PairCheck
from tests.unit.test_two_tests_after_each_other import cheapest, drawn


@pytest.mark.parametrize("least", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_a_target_is_refused_by_each_check_just_if_a_tree_costs_less(seed, least, monkeypatch):
    check, tables, called, least_pair = PairCheck(), [], [], pair_kernel.least_pair.function
    monkeypatch.setattr(pair_kernel, "least_pair", lambda *given: called.append(1) or least_pair(*given))
    for more in (0, 50):  # of two tables by turns
        rows, members, cells = drawn(200 + seed + more, 2 + seed % 2, least)
        best = cheapest(rows, members, cells)
        tables.append((rows, members, int(best) if np.isfinite(best) else None))
    for rows, members, best in (*tables, *tables):
        if best is None:
            continue
        for target, refused in ((best, False), (best + 1, True)):
            called.clear()
            if refused:
                with pytest.raises(CertificateError, match=f"two splits after each other costs {best} there"):
                    check.require(rows, members, float(target))
            else:
                check.require(rows, members, float(target))
            assert bool(called) == (least == 1)  # numpy alone knows of rows in leaves
