"""Keeps the rows of each cluster that are nearest to the splits of the first tree: those that may change sides."""

import numpy as np

from odtc.extend import ChoiceError, Cluster, KeptRows

TYPE = "selection"
NAME = "nearest_rows"
SUMMARY = "the rows nearest to the splits of a first tree (nearest_rows:share=0.5)"
OPTIONS = {"share": (float, "the share of each cluster that is kept (default 0.5)")}


def expect(dimensions: int, share: float = 0.5) -> None:
    if not 0 < share <= 1:
        raise ChoiceError(f"expected a share above 0 and up to 1, got share={share:g}")


def select(cluster: Cluster, share: float = 0.5) -> KeptRows:
    most = max(1, round(share * len(cluster.rows)))
    places = np.sort(np.argsort(cluster.near, kind="stable")[:most])
    return KeptRows(places, np.zeros(len(places), bool), {"n_left_out": len(cluster.rows) - len(places)})
