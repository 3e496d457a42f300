"""Pictures of the leaves of a tree, in pixels: the survival curves of all leaves, with the rows that are still watched,
and the line of each leaf over its training rows."""

from collections.abc import Sequence

import numpy as np

from odtc.data.dataset import Dataset
from odtc.data.task import TASKS
from odtc.trees.drawing import PALETTE
from odtc.trees.places import Place
from odtc.trees.tree import Tree

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 300, 46, 14, 12, 34  # pixels
LINE_WIDTH, LINE_HEIGHT, LINE_LEFT, LINE_BOTTOM, LINE_GAP = 320, 220, 56, 42, 10  # the same of a line
MOST_POINTS = 300  # of a leaf that are drawn
TICKS = 6  # times at most under the picture
DASHES = ("", "7 4", "2 3", "9 3 2 3")  # of more leaves than colours


def leaf_curves(found: Sequence[Place], tree: Tree, training: Dataset | None) -> dict | None:
    """Return the picture of the Kaplan-Meier curves of the leaves.

    Parameters
    ----------
    found : sequence of Place
        The nodes of the tree (odtc.trees.places).
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


def leaf_lines(found: Sequence[Place], tree: Tree, training: Dataset | None) -> dict | None:
    """Return the pictures of the lines of the leaves.

    Parameters
    ----------
    found : sequence of Place
        The nodes of the tree (odtc.trees.places).
    tree : Tree
    training : Dataset or None
        Its training rows.

    Returns
    -------
    dict or None
        `pictures`, one for each leaf with a line from left to right: `rule`, `words`, `column`, `colour`, `points` (a
        list of pixels), `rows` (how many there are), `path` (an SVG path), `ticks` and `steps`, lists of (pixel,
        text). None if no leaf has a line, or the rows are not known.
    """
    if training is None or not tree.has_lines:
        return None
    y, reached = TASKS.get(tree.task).numbers(training.sums), tree.apply(training.X)
    low, high = float(y.min()), float(y.max())
    pictures = []
    for place in found:
        if place.is_leaf and place.node.line is not None:
            rows = np.flatnonzero(reached == place.leaf)
            pictures.append(_picture(place, tree, training.X[rows, place.node.line.feature], y[rows], (low, high)))
    return {
        "width": LINE_WIDTH,
        "height": LINE_HEIGHT,
        "left": LINE_LEFT,
        "right": LINE_WIDTH - LINE_GAP,
        "pictures": pictures,
    }


def _picture(place: Place, tree: Tree, x: np.ndarray, y: np.ndarray, ends: tuple[float, float]) -> dict:
    line, (low, high) = place.node.line, ends
    first, last = float(x.min()), float(x.max())
    across = lambda one: LINE_LEFT + (one - first) / ((last - first) or 1.0) * (LINE_WIDTH - LINE_LEFT - LINE_GAP)  # noqa: E731
    up = lambda one: LINE_GAP + (high - one) / ((high - low) or 1.0) * (LINE_HEIGHT - LINE_GAP - LINE_BOTTOM)  # noqa: E731
    some = np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).astype(int)
    at = np.array([first, last])
    shown = np.clip(line.at(at), low, high)  # the line is drawn where numbers of the training rows are
    at = np.clip((shown - line.intercept) / line.slope, first, last) if line.slope else at
    (x1, x2), (y1, y2) = across(at), up(shown)
    return {
        "rule": place.rule,
        "words": tree.classes[place.node.label],
        "column": tree.features[line.feature].name,
        "colour": PALETTE[place.leaf % len(PALETTE)],
        "points": [(float(across(one)), float(up(two))) for one, two in zip(x[some].tolist(), y[some].tolist())],
        "rows": len(x),
        "path": f"M{x1:.1f},{y1:.1f} L{x2:.1f},{y2:.1f}",
        "ticks": [(across(one), f"{one:.6g}") for one in (first, last)],
        "steps": [(up(one), f"{one:.4g}") for one in (low, (low + high) / 2, high)],
    }
