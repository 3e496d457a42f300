"""Property tests of an encoding: its splits are splits on the data's own columns, the same each time, each described
in words."""

import numpy as np
from hypothesis import strategies as st

from odtc.data.encoding import encode
from odtc.errors import DataError
from odtc.testing.problems import datasets, note_data
from odtc.testing.property import Property, Trial
from odtc.trees.heap_tree import CompleteTree, settle


def _drawn(plug_in, trial: Trial):
    data = trial.draw(datasets())
    note_data(trial, data)
    try:
        return data, encode(data, plug_in.name)
    except DataError as refused:  # no split separates rows
        trial.expect(len(str(refused).splitlines()) == 1, "expected a refusal in one line")
        trial.note("refused", refused)
        trial.skip_unless(False)


def splits(plug_in, variant, trial: Trial) -> None:
    data, encoded = _drawn(plug_in, trial)
    for j, (split, ones_left) in enumerate(zip(encoded.splits, encoded.ones_left)):
        words = split.words(data.features)
        trial.note("split", words[0] if isinstance(words, tuple) else words)
        column = np.asarray(encoded.X[:, j])[encoded.row_of]
        left = np.asarray(split.left(data.X))
        trial.expect(
            (column == (left == ones_left)).all(), "expected column j to be the answers to split j, got others"
        )
    again = encode(data, plug_in.name)
    same = again.splits == encoded.splits and np.array_equal(np.asarray(again.X), np.asarray(encoded.X))
    trial.expect(same, "expected the same splits of the same data, got others")


def trees(plug_in, variant, trial: Trial) -> None:
    data, encoded = _drawn(plug_in, trial)
    topology = CompleteTree(2)
    test = np.full(len(topology.nodes) + 1, -1, np.int32)
    chosen = st.integers(-1, encoded.n_candidate_splits - 1)
    test[1:4] = [trial.draw(st.integers(0, encoded.n_candidate_splits - 1)), trial.draw(chosen), trial.draw(chosen)]
    heap = settle(test, encoded)
    tree = heap.to_tree(encoded)
    on_heap = heap.label[heap.reach(encoded.X)][encoded.row_of]
    trial.expect((tree.predict(data.X) == on_heap).all(), "expected a tree in words to predict as its splits do")


def weights(plug_in, variant, trial: Trial) -> None:
    data, encoded = _drawn(plug_in, trial)
    total = np.isclose(encoded.weight.sum(), data.weight.sum()) and encoded.copies.sum() == data.n_rows
    trial.expect(total, "expected merged rows to keep the number of rows and their weight")


PROPERTIES = (
    Property(
        "splits",
        "Each column of the encoded data is the answers to its split, the same each time.",
        splits,
        examples=40,
    ),
    Property("trees", "A tree over its splits predicts in words as on the encoded rows.", trees, examples=25),
    Property("weights", "Rows that are merged keep their number and weight.", weights, examples=15),
)
