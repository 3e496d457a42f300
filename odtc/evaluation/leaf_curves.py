"""The survival curves of the leaves of a tree side by side, as steps in pixels with the rows that are still watched."""

from collections.abc import Sequence

import numpy as np

from odtc.data.dataset import Dataset
from odtc.data.task import TASKS
from odtc.trees.drawing import PALETTE
from odtc.trees.rendering import Place
from odtc.trees.tree import Tree

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 300, 46, 14, 12, 34  # pixels
TICKS = 6  # times at most under the picture
DASHES = ("", "7 4", "2 3", "9 3 2 3")  # of more leaves than colours


def leaf_curves(found: Sequence[Place], tree: Tree, training: Dataset | None) -> dict | None:
    """Return the picture of the Kaplan-Meier curves of the leaves.

    Parameters
    ----------
    found : sequence of Place
        The nodes of the tree (odtc.trees.rendering.places).
    tree : Tree
    training : Dataset or None
        Its training rows; without them the numbers of watched rows are unknown.

    Returns
    -------
    dict or None
        `lines`, one for each leaf from left to right: `rule`, `colour`, `dash`, `path` (an SVG path), `words` and
        `watched` (the rows of the leaf that were seen until each of the `ticks` or longer; None if the rows are not
        known); `ticks` and `shares`, lists of (pixel, text). None for a task whose leaves have no such curve.
    """
    task, leaves = TASKS.get(tree.task), [place for place in found if place.is_leaf]
    last = max((place.node.curve[-1][0] for place in leaves if place.node.curve), default=0.0)
    if not task.SURVIVES or last <= 0:
        return None
    across = lambda time: LEFT + time / last * (WIDTH - LEFT - RIGHT)  # noqa: E731
    up = lambda share: HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)  # noqa: E731
    times = round_times(last)
    watched = None if training is None else task.watched(training.sums, times, tree.apply(training.X), len(leaves))
    lines = [
        {
            "rule": place.rule,
            "colour": PALETTE[place.leaf % len(PALETTE)],
            "dash": DASHES[place.leaf // len(PALETTE) % len(DASHES)],
            "path": _path([(across(time), up(share)) for time, share in place.node.curve], across(0.0), up(1.0)),
            "words": tree.words_of(place.node),
            "watched": None if watched is None else watched[place.leaf].tolist(),
        }
        for place in leaves
    ]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "left": LEFT,
        "lines": lines,
        "ticks": [(across(time), f"{time:.6g}") for time in times],
        "shares": [(up(share), f"{100 * share:.0f} %") for share in (0, 0.25, 0.5, 0.75, 1)],
        "middle": up(0.5),
    }


def round_times(last: float) -> list[float]:
    """Return 0 and round times up to the last one, at most TICKS of them."""
    power = 10.0 ** np.floor(np.log10(last))
    step = next(
        step for step in power * np.array([0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 5.0]) if last / step < TICKS - 1 + 1e-9
    )
    return [float(f"{step * k:.12g}") for k in range(int(last / step + 1e-9) + 1)]


def _path(points: list[tuple[float, float]], x: float, y: float) -> str:
    """Return steps from (x, y) to each point, as an SVG path; steps of less than a tenth of a pixel are combined."""
    found, at = [f"M{x:.1f},{y:.1f}"], (f"{x:.1f}", f"{y:.1f}")
    for across, up in points:
        new = f"{across:.1f}", f"{up:.1f}"
        found += [f"H{new[0]}"] if new[0] != at[0] else []
        found += [f"V{new[1]}"] if new[1] != at[1] else []
        at = new
    return "".join(found)
