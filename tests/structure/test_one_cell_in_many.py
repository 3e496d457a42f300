"""Which cells of a costly test a plain run has (conftest, `every`)."""

from itertools import product

import pytest

from tests.conftest import one_in


@pytest.mark.parametrize("every", [2, 3, 4, 5])
@pytest.mark.parametrize("sides", [(13, 9), (12, 10), (49, 3), (7, 1)])
def test_each_member_is_met_if_there_are_cells_enough(sides, every):
    cells = list(product(*map(range, sides)))
    chosen = one_in(every, [f"test_x[a{first}-b{second}]" for first, second in cells], "test_x")
    assert len(chosen) == -(-len(cells) // every)
    for place, side in enumerate(sides):
        assert len({cells[at][place] for at in chosen}) == min(side, len(chosen))


def test_each_law_begins_elsewhere():
    names = [f"test[{n}]" for n in range(50)]
    assert len({frozenset(one_in(10, names, law)) for law in ("a", "b", "c", "d")}) > 1
