"""Pictures of runs by matplotlib: incumbent and bound over time, accuracy against size, decision regions.

Each takes `ax`, the axes to draw on; `save` makes a file of one. Needs matplotlib (extra "plot").
"""

from collections.abc import Callable

import numpy as np

from odtc.base.text import did_you_mean, first_few
from odtc.base.wording import command
from odtc.data.dataset import NUMERIC, Dataset
from odtc.data.splits import Subset
from odtc.data.task import TASKS
from odtc.errors import ChoiceError, DataError
from odtc.trees.drawing import PALETTE, figure_bytes
from odtc.trees.exporting import need
from odtc.trees.tree import Branch, Tree

FORMATS = ("png", "svg", "pdf")
INCHES = (6.4, 4.2)  # width and height of a picture
UNKNOWN = "#999999"  # of points
POINTS = 300  # of each side of a picture of regions


def expect_format(format: str) -> None:
    """Raise ChoiceError for a picture that cannot be drawn: another format, or no matplotlib."""
    if format not in FORMATS:
        raise ChoiceError(
            f"expected a picture that ends in .{', .'.join(FORMATS)}, got {f'.{format}' if format else 'none'}"
        )
    need("matplotlib", "a picture")


def save(draw: Callable, format: str = "png", inches: tuple[float, float] = INCHES) -> bytes:
    """Return the picture that `draw(ax)` makes, as a file of this size; raises ChoiceError as `expect_format`."""
    expect_format(format)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=inches, layout="constrained")
    FigureCanvasAgg(figure)
    draw(figure.add_subplot())
    return figure_bytes(figure, format, dpi=150)


def progress(history, ax, title: str = "") -> None:
    """Draw incumbent and bound over time, from `Solution.history`. Raises DataError if it is empty."""
    best = [(seconds, value) for seconds, value, _ in history if value is not None]
    bounds = [(seconds, max(value, 0.0)) for seconds, _, value in history if value is not None]
    if not best and not bounds:
        raise DataError(
            "expected a run that recorded incumbents or bounds on the way, got one without them; use a run of a search "
            f"or a solver ({command('fit')}, `odtc solve`)"
        )
    last = max(seconds for seconds, _ in best + bounds)
    for points, label, colour, style in (
        (best, "best tree", "#d55e00", "-"),
        (bounds, "lower bound", "#0072b2", "--"),
    ):
        if points:
            x, y = zip(*points, (last, points[-1][1]))
            ax.step(x, y, where="post", label=label, color=colour, linestyle=style)
    ax.set(xlabel="seconds", ylabel="objective", title=title, ylim=(0, None))
    ax.legend(frameon=False)
    ax.grid(alpha=0.25)


def pareto(points, ax, size: str = "leaves", title: str = "", task=None, brings: bool = False) -> list[int]:
    """Draw accuracy against size of trees, `points` of (name, size, accuracy), and return the positions of those on
    the Pareto front: no other is as small and more accurate, or smaller and as accurate. If `task` is not
    classification (odtc.data.task), its figure is used instead: `points` have it with the sign with which more is
    better, and it is drawn with its own sign; with `brings` these are costs that are negated gains, drawn as gains."""
    front = on_front([(leaves, accuracy) for _, leaves, accuracy in points])
    classes = task is None or task.CLASSES
    figure = "accuracy" if classes else task.headline({"goal": "max" if brings else "min"})[0]
    sign = -1 if not classes and task.LESS_IS_BETTER and not brings else 1
    points = [(name, leaves, sign * accuracy) for name, leaves, accuracy in points]
    sizes = [leaves for _, leaves, _ in points]
    middle = (min(sizes) + max(sizes)) / 2
    for place, (name, leaves, accuracy) in enumerate(points):
        ax.plot(leaves, accuracy, "o", color=PALETTE[0] if place in front else PALETTE[7])
        beside = {"ha": "right", "xytext": (-5, -11)} if leaves > middle else {"ha": "left", "xytext": (5, -11)}
        ax.annotate(name, (leaves, accuracy), textcoords="offset points", fontsize=8, parse_math=False, **beside)
    line = sorted((points[place][1], points[place][2]) for place in front)
    ax.step(*zip(*line), where="post", color=PALETTE[0], alpha=0.6, label="Pareto front")
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set(xlabel=size, ylabel=figure, title=title)
    ax.margins(0.12)
    ax.legend(frameon=False, loc="best")
    ax.grid(alpha=0.25)
    return front


def frontier(points: list[dict], ax, title: str = "") -> None:
    """Draw the objective of the best tree against the number of a constraint.

    Parameters
    ----------
    points : list of dict
        As in `odtc frontier --json`: `requested`, `ended`, `objective`, `bound`.
    ax : matplotlib axes
    title : str

    Raises
    ------
    ChoiceError
        If no number has a tree.
    """
    kept = [point for point in points if point["objective"] is not None]
    if not kept:
        raise ChoiceError("expected a number of the constraint that some tree satisfies, got none")
    proved = [point for point in kept if point["ended"] == "optimal"]
    left = [point for point in kept if point["ended"] != "optimal"]
    if proved:
        ax.plot(*_against(proved, "objective"), "o-", color=PALETTE[0], label="best tree, proved")
    if left:
        ax.plot(*_against(left, "objective"), "o", mfc="none", color="#d55e00", label="best tree so far")
        ax.plot(*_against(left, "bound"), "_", color="#0072b2", label="lower bound")
    for place, point in enumerate(one for one in points if one["ended"] == "infeasible"):
        ax.axvline(point["requested"], color="#999999", linestyle=":", label=None if place else "no tree")
    ax.set(xlabel="number of the constraint", ylabel="objective", title=title)
    ax.legend(frameon=False)
    ax.grid(alpha=0.25)


def _against(points: list[dict], key: str) -> tuple[list[float], list[float]]:
    return [point["requested"] for point in points], [point[key] for point in points]


def on_front(points) -> list[int]:
    """Return the places of (size, accuracy) that no other point dominates."""
    return [
        i
        for i, (size, good) in enumerate(points)
        if not any(other <= size and better >= good and (other, better) != (size, good) for other, better in points)
    ]


def regions(tree: Tree, rows: Dataset, across: str, up: str, ax, values: np.ndarray | None = None) -> None:
    """Draw the predictions of the tree over two columns of numbers, all others as in the median row (the commonest
    level), with the rows as points; if a tree predicts numbers, `values` are the numbers of the rows, float64 (rows,),
    if they are known. Raises ChoiceError for a column that is not numeric."""
    if across == up:
        raise ChoiceError(f"expected two columns of numbers, got {across!r} for both --x and --y")
    places = [_numbers(tree, name) for name in (across, up)]
    typical = np.array([_typical(feature.kind, rows.X[:, j]) for j, feature in enumerate(tree.features)])
    alone = {
        node.split.feature for node, _ in tree.walk() if isinstance(node, Branch) and isinstance(node.split, Subset)
    }
    grids = []
    for place in places:
        known = rows.X[np.isfinite(rows.X[:, place]), place]
        if not len(known):
            raise ChoiceError(f"expected numbers in the column {tree.features[place].name!r} of the rows, got none")
        pad = 0.05 * (known.max() - known.min()) or 0.5
        # A number with a split of its own is between the steps, so then the steps are the numbers.
        grids.append(np.unique(known) if place in alone else np.linspace(known.min() - pad, known.max() + pad, POINTS))
    wide, high = map(len, grids)
    cells = np.tile(typical, (wide * high, 1))
    cells[:, places[0]], cells[:, places[1]] = np.tile(grids[0], high), np.repeat(grids[1], wide)
    answers, points = tree.answers(cells).reshape(high, wide), rows.X[:, places]
    draw = _shades if TASKS.get(tree.task).NUMBERS else _colours
    draw(tree, (*grids, answers), points, values if TASKS.get(tree.task).NUMBERS else rows.y, ax)
    others = [feature.name for j, feature in enumerate(tree.features) if j not in places and j in tree.used]
    ax.set(xlabel=across, ylabel=up, title=f"{first_few(others, 3)} as in a typical row" if others else "")


POINT = {"markersize": 4, "markeredgecolor": "white", "markeredgewidth": 0.5}


def _colours(tree: Tree, mesh: tuple, points: np.ndarray, label: np.ndarray, ax) -> None:
    """Draw a colour for each class, or action; rows whose label is not known are grey."""
    from matplotlib.colors import ListedColormap

    K = len(tree.classes)
    colours = [PALETTE[k % len(PALETTE)] for k in range(K)]
    limits = {"cmap": ListedColormap(colours), "vmin": -0.5, "vmax": K - 0.5}
    ax.pcolormesh(*mesh, shading="nearest", alpha=0.3, rasterized=True, **limits)
    for k, name in enumerate(tree.classes):
        ax.plot(*points[label == k].T, "o", color=colours[k], label=name, **POINT)
    if (label < 0).any():
        ax.plot(*points[label < 0].T, "o", color=UNKNOWN, label="not known", **POINT)
    ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1))


def _shades(tree: Tree, mesh: tuple, points: np.ndarray, values: np.ndarray | None, ax) -> None:
    """Draw a shade for each number, of answers and rows alike; rows without one are grey."""
    known = np.zeros(0) if values is None else values[np.isfinite(values)]
    every = np.concatenate([mesh[2].ravel(), known])
    limits = {"cmap": "viridis", "vmin": every.min(), "vmax": every.max()}
    shown = ax.pcolormesh(*mesh, shading="nearest", alpha=0.6, rasterized=True, **limits)
    told = np.zeros(len(points), bool) if values is None else np.isfinite(values)
    if told.any():
        ax.scatter(*points[told].T, c=values[told], s=16, edgecolors="white", linewidths=0.5, **limits)
    ax.plot(*points[~told].T, "o", color=UNKNOWN, **POINT)
    ax.figure.colorbar(shown, ax=ax, label=tree.target)


def _numbers(tree: Tree, name: str) -> int:
    numeric = {feature.name: j for j, feature in enumerate(tree.features) if feature.kind == NUMERIC}
    if name not in numeric:
        raise ChoiceError(
            f"expected a column of numbers, got {name!r}{did_you_mean(name, numeric)}; the tree has "
            f"{', '.join(numeric) or 'none'}"
        )
    return numeric[name]


def _typical(kind: str, column: np.ndarray) -> float:
    known = column[np.isfinite(column)]
    if not len(known):
        return 0.0
    if kind == NUMERIC:
        return float(np.median(known))
    values, counts = np.unique(known, return_counts=True)
    return float(values[counts.argmax()])
