"""Property tests of a selection of rows: positions in the cluster, each once, the same each time; rows of
every class."""

import numpy as np
from hypothesis import strategies as st

from odtc.base import deadline
from odtc.data.encoding import encode
from odtc.errors import DataError
from odtc.testing.problems import datasets, note_data
from odtc.testing.property import Property, Trial
from odtc.workflow.row_selection.selection import Cluster, select_rows


def keeps(plug_in, variant, trial: Trial) -> None:
    n, d = trial.draw(st.integers(1, 12)), trial.draw(st.integers(1, 3))
    cells = st.lists(st.integers(0, 4), min_size=n * d, max_size=n * d)
    Z = np.array(trial.draw(cells), float).reshape(n, d) / 4
    near = np.array(trial.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), float) / 4
    trial.note("cluster", f"Z = {Z.tolist()}, near = {near.tolist()}")
    cluster = Cluster(np.arange(n) + 5, Z, near)
    one, two = plug_in.select(cluster), plug_in.select(cluster)
    places = np.asarray(one.places)
    trial.expect(len(places) and len(set(places.tolist())) == len(places), f"expected places, each once, got {places}")
    trial.expect(((places >= 0) & (places < n)).all(), f"expected places in the cluster, 0 to {n - 1}, got {places}")
    trial.expect(len(one.heavy) == len(places), "expected `heavy` for each place, got another length")
    trial.expect(np.array_equal(places, two.places), "expected the same rows of the same cluster, got others")


def _drawn(trial: Trial):
    data = trial.draw(datasets())
    note_data(trial, data)
    try:
        encode(data)
    except DataError:  # no split separates rows, so there is no first tree
        trial.skip_unless(False)
    return data


def selects(plug_in, variant, trial: Trial) -> None:
    data = _drawn(trial)
    part = select_rows(data, plug_in.name, 2, jobs=1)
    trial.expect(part.selected is not None, "expected the whole data behind the selected rows")
    rows = part.selected.rows
    same = np.array_equal(part.X, data.X[rows], equal_nan=True) and np.array_equal(part.y, data.y[rows])
    trial.expect(same, "expected rows of the data as they are, got others")
    trial.expect((part.weight >= data.weight[rows]).all(), "expected no row to weigh less than before")
    trial.expect(set(part.y) == set(data.y), "expected a row of every class that occurs")


def ends(plug_in, variant, trial: Trial) -> None:
    data = _drawn(trial)
    with deadline.within(0.0):
        part = select_rows(data, plug_in.name, 2, jobs=1)
    rows = part.selected.rows
    trial.expect(len(rows) == len(set(rows.tolist())), f"expected each row once, got {rows}")
    trial.expect(set(part.y) == set(data.y), "expected a row of every class that occurs")


PROPERTIES = (
    Property("keeps", "It keeps rows of its cluster, each once, and the same each time.", keeps, examples=30),
    Property("selects", "A data set of selected rows has rows of every class, unchanged.", selects, examples=15),
    Property(
        "ends",
        "If the deadline has passed, a data set of selected rows still has rows of every class.",
        ends,
        examples=10,
    ),
)
