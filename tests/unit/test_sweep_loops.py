"""The checker's sums of two levels, by plain loops and in numpy."""

from itertools import combinations, product

import numpy as np
import pytest

from odtc.verification.constrained import sweep_kernel
from tests.references import sweep


def drawn_sums(seed: int) -> list:
    """What `two_levels` takes: rows of some chains, two to four labels, conditions on leaves, places of columns."""
    rng = np.random.default_rng(seed)
    chains, columns, labels, conditions = (int(rng.integers(*ends)) for ends in ((1, 6), (1, 5), (2, 5), (0, 3)))
    size = int(rng.integers(2, 10))
    least = rng.integers(0, 5, (conditions, labels)).astype(float)
    if seed % 2:  # what every leaf counts, whatever it predicts
        least[:] = least[:, :1]
    numbers = rng.integers(-9, 10, (40, labels - 1)), rng.integers(0, 3, (40, conditions))
    sets = np.array(list(combinations(range(columns), int(rng.integers(1, columns + 1)))))
    return [
        rng.integers(0, size, (40, chains)).astype(np.int32),
        np.sort(rng.choice(40, int(rng.integers(1, 30)), replace=False)),
        np.concatenate(numbers, axis=1).astype(float),
        rng.integers(-3, 4, labels).astype(float),
        least,
        float(rng.integers(0, 4)),
        np.sort(rng.integers(0, columns, chains)),
        rng.random(chains) < 0.8,
        rng.random((chains, chains)) < 0.8,
        (sets[:, :, None] == np.arange(columns)).any(axis=1),
        sets,
        np.empty(len(sets)),
        np.full((2, chains * size if rng.random() < 0.5 else 0), 7.0),
        np.arange(chains) * size,
    ]


@pytest.mark.parametrize("seed", range(40))
def test_numpy_tells_the_sums_of_the_loops(seed, monkeypatch):
    monkeypatch.setattr(sweep, "CELLS", [8, 64, 2**16][seed % 3])
    looped, told = drawn_sums(seed), drawn_sums(seed)
    sweep_kernel.two_levels(*looped)
    sweep.two_levels(*told)
    assert looped[-3].tolist() == told[-3].tolist() and looped[-2].tolist() == told[-2].tolist()


def by_definition(words: list) -> tuple[np.ndarray, dict]:
    """(what the best subtree over each set costs; {test: what stands behind its answers, over the first set}), of all
    trees of two tests after each other: rows up to a code are on one side."""
    codes, rows, value, beside, least, price, column, first, second, _, sets, _, _, begin = words
    K, every = len(beside), frozenset(rows.tolist())

    def leaf(part) -> float:
        sums = value[list(part)].sum(axis=0)
        cost = [beside[k] + (sums[k - 1] if k else 0.0) for k in range(K) if (sums[K - 1 :] >= least[:, k]).all()]
        return min(cost, default=np.inf)

    def cuts(chain):
        """(codes of tests that separate these rows so, rows on one side) of a chain."""
        given = sorted({int(codes[row, chain]) for row in every})
        for low, high in zip(given, given[1:]):
            yield range(low, high), frozenset(row for row in every if codes[row, chain] <= low)

    def side(part, above, columns) -> float:
        stumps = [
            price + leaf(part & left) + leaf(part - left)
            for chain in range(codes.shape[1])
            if second[above, chain] and column[chain] in columns
            for _, left in cuts(chain)
        ]
        return min([leaf(part), *stumps])

    out, each = [], {}
    for number, columns in enumerate(sets.tolist()):
        found = [leaf(every)]
        for chain in range(codes.shape[1]):
            if not first[chain] or column[chain] not in columns:
                continue
            for tests, left in cuts(chain):
                both = side(left, chain, columns), side(every - left, chain, columns)
                found.append(price + sum(both))
                if not number:
                    each |= {int(begin[chain]) + test: both for test in tests}
        out.append(min(found))
    return np.array(out), each


OFTEN = [(seed, 2, 1) for seed in range(8, 40)]  # the common case: two labels, one number that every leaf counts


@pytest.mark.parametrize(("seed", "labels", "conditions"), [*product(range(8), (2, 3), (0, 1, 2)), *OFTEN])
def test_both_tell_what_the_best_trees_of_two_levels_cost(seed, labels, conditions):
    """With two labels and one number that every leaf counts, which has a way of its own, and with others."""
    rng = np.random.default_rng(seed)
    chains, size, n = int(rng.integers(2, 5)), int(rng.integers(2, 5)), int(rng.integers(4, 10))
    column = np.sort(rng.integers(0, 3, chains))
    sets = np.array([[0, 1], [1, 1], [0, 2], [2, 1]])
    least = rng.integers(0, n - 1, (conditions, labels)).astype(float)
    if seed % 4:
        least[:] = least[:, :1]
    value = [rng.integers(-4, 5, (12, labels - 1)), rng.integers(0, 3, (12, conditions))]
    words = [rng.integers(0, size, (12, chains)).astype(np.int32), np.sort(rng.choice(12, n, replace=False))]
    if seed % 2:
        words[0][:, -1] = 1  # of one code, so that no test of it parts rows
    words += [np.concatenate(value, axis=1).astype(float), rng.integers(-2, 3, labels).astype(float), least]
    words += [float(seed % 3), column, rng.random(chains) < 0.8, rng.random((chains, chains)) < 0.8]
    words += [(sets[:, :, None] == np.arange(3)).any(axis=1), sets]
    for two_levels in (sweep_kernel.two_levels, sweep.two_levels):
        out, each = np.empty(len(sets)), np.full((2, chains * size), 7.0)
        given = [*words, out, each, np.arange(chains) * size]
        wanted, behind = by_definition(given)
        two_levels(*given)
        assert out.tolist() == wanted.tolist()
        assert {test: tuple(each[:, test]) for test in behind} == behind
        assert (np.delete(each, list(behind), axis=1) == 7).all()
