"""The tests of an encoding as arrays: the same as a list of them."""

import numpy as np
import pytest

from odtc.data.encoding import encode
from odtc.data.reading import read_arrays
from odtc.data.splits import Missing, SplitList, Splits, Subset, Threshold
from odtc.data.threshold_scales import Scales

GIVEN = [Threshold(1, 0.5), Missing(0), Threshold(0, -1.0), Subset(2, (1.0,)), Threshold(1, 2.5), Threshold(2, 3.0)]
LEFT = [False, True, False, True, False, True]


def test_it_is_a_sequence_of_the_splits():
    splits = Splits.of(GIVEN)
    assert list(splits) == GIVEN and splits == tuple(GIVEN) and tuple(GIVEN) == splits and len(splits) == len(GIVEN)
    assert [splits[at] for at in range(-6, 6)] == GIVEN * 2 and splits[1:4] == tuple(GIVEN[1:4])
    assert splits != Splits.of(GIVEN[::-1]) and splits != GIVEN[:5] and splits != 3
    assert splits.index(GIVEN[3]) == 3 and GIVEN[4] in splits
    with pytest.raises(IndexError):
        splits[6]


def test_the_kept_ones_keep_their_places():
    kept = np.array([0, 3, 4])
    assert Splits.of(GIVEN).features == [split.features for split in GIVEN]
    assert Splits.of(GIVEN).first_feature.tolist() == [split.features[0] for split in GIVEN]
    assert list(Splits.of(GIVEN).taken(kept)) == [GIVEN[at] for at in kept]
    assert Splits.of(GIVEN).per_feature(4).tolist() == [2, 2, 2, 0]


def test_scales_are_numbered_as_they_are_met():
    tests = SplitList.of(zip(GIVEN, LEFT))
    assert list(tests) == list(zip(GIVEN, LEFT)) and tests[2:4] == list(zip(GIVEN, LEFT))[2:4]
    assert tests.scales.tolist() == [0, 1, 2, 3, 0, 4]  # a threshold with ones on its left is a scale by itself
    assert list(SplitList.joined([tests, [], list(zip(GIVEN, LEFT))])) == 2 * list(zip(GIVEN, LEFT))
    assert list(SplitList.joined([])) == []


def test_an_encoding_of_many_numbers_makes_no_threshold(monkeypatch):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(2_000, 3)), random.integers(0, 2, 2_000)
    made, init = [], Threshold.__init__
    monkeypatch.setattr(Threshold, "__init__", lambda self, *given: made.append(given) or init(self, *given))
    encoded = encode(read_arrays(X, y))
    assert encoded.n_candidate_splits > 5_000 and len(made) <= 3  # one for each scale at most
    assert encoded.splits[7] == Threshold(0, float(encoded.splits.cut[7]))


def test_scales_of_random_tests_are_those_of_a_list():
    rng = np.random.default_rng(4)
    for n in [0, 1, *rng.integers(2, 60, 30).tolist()]:
        features, left = rng.integers(0, 4, n), rng.random(n) < 0.2
        missing = rng.random(n) < 0.3
        given = [
            Missing(f) if absent else Threshold(f, 0.5 * at) for at, (f, absent) in enumerate(zip(features, missing))
        ]
        met: list = []
        for at, (split, turned) in enumerate(zip(given, left)):
            key = at if turned or isinstance(split, Missing) else ("thresholds of", split.feature)
            met.append(key)
        numbers = {key: number for number, key in enumerate(dict.fromkeys(met))}
        found = SplitList(Splits.of(given), left).scales
        assert found.tolist() == [numbers[key] for key in met]


def test_a_cut_of_a_scale_is_found_whatever_the_order_of_the_tests():
    rng = np.random.default_rng(5)
    for shuffled in (False, True):
        scale = np.repeat([0, 1, 2], [4, 1, 7])
        place = np.concatenate([np.arange(4), np.arange(1), np.arange(7)])
        order = rng.permutation(12) if shuffled else np.arange(12)
        scales = Scales(scale[order], place[order], np.array([4, 1, 7]), np.zeros((1, 3), np.int32))
        assert scales.split(scale[order], place[order]).tolist() == list(range(12))
