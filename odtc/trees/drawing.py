"""Pictures of a tree by matplotlib, in the manners of scikit-learn's `plot_tree`."""

import io
import warnings

from odtc.base.templates.filters import tint
from odtc.base.text import count_of, of_any_bytes
from odtc.data.task import TASKS
from odtc.trees.exporting import need
from odtc.trees.rendering import render_tree
from odtc.trees.tree import Tree, tree_of

# The colours of Okabe and Ito, which colour-blind people can distinguish.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")
# Entries of matplotlib in a file on the date, or on itself.
OF_THE_DAY = {"png": ("Software",), "svg": ("Date",), "pdf": ("CreationDate",)}
WIDTH = 26  # signs of a question in a line


def plot_tree(tree, *, max_depth=None, filled=True, proportion=False, fontsize=None, ax=None) -> list:
    """Draw a tree with matplotlib (extra "plot").

    Parameters
    ----------
    tree : Tree or OptimalTreeClassifier
        An estimator must be fitted.
    max_depth : int or None
        The last level that is drawn.
    filled : bool
        Whether leaves have the colour of their class, stronger if they are purer.
    proportion : bool
        Whether shares are shown instead of numbers of rows.
    fontsize : float or None
        In points; None fits it to the picture.
    ax : matplotlib Axes or None
        None is the current one.

    Returns
    -------
    list of matplotlib Annotation
        One for each node.

    Raises
    ------
    ChoiceError
        If matplotlib is not installed.

    Examples
    --------
    >>> import odtc
    >>> tree = odtc.fit("examples/monks/monks-1.csv", depth=1, encoding="onehot").tree
    >>> len(odtc.plot_tree(tree))
    3
    """
    need("matplotlib", "plot_tree")
    import matplotlib.pyplot as plt

    tree = _fitted(tree).with_answers()[0].shown
    shown = [place for place in tree.places() if max_depth is None or len(place.path) <= max_depth]
    return _drawn(tree, shown, plt.gca() if ax is None else ax, filled, proportion, fontsize)


def export_text(tree) -> str:
    """Draw a tree for the terminal.

    Parameters
    ----------
    tree : Tree, Fit, estimator, or scikit-learn's Pipeline or search with an estimator
        An estimator must be fitted.

    Returns
    -------
    str

    Examples
    --------
    >>> import odtc
    >>> tree = odtc.fit("examples/monks/monks-1.csv", depth=1, encoding="onehot").tree
    >>> "a5 = 1" in odtc.export_text(tree)
    True
    """
    return render_tree(_fitted(tree))


def picture(tree: Tree, format: str = "png", dpi: int = 144) -> bytes:
    """Return the drawing as a file; needs matplotlib."""
    need("matplotlib", f"--to {format}")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(4.0, 1.9 * tree.n_leaves), max(2.0, 1.15 * (tree.depth + 1))), layout="tight")
    FigureCanvasAgg(figure)
    tree = tree.with_answers()[0].shown
    _drawn(tree, tree.places(), figure.add_subplot(), True, False, 9)
    return figure_bytes(figure, format, dpi)


def figure_bytes(figure, format: str, dpi: int) -> bytes:
    """Return a figure as a file without its creation time: the same picture has the same bytes.

    A sign that is not in the font is drawn as a box, without matplotlib's warning for each.
    """
    import matplotlib
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_text(of_any_bytes(text.get_text()))
        text.set_usetex(False)
    buffer = io.BytesIO()
    # A matplotlibrc of the working directory must not have LaTeX run.
    with warnings.catch_warnings(), matplotlib.rc_context({"svg.hashsalt": "odtc", "text.usetex": False}):
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure.savefig(buffer, format=format, dpi=dpi, metadata=dict.fromkeys(OF_THE_DAY[format]))
    return buffer.getvalue()


def _fitted(given) -> Tree:
    """Return the tree of a tree or estimator; raises scikit-learn's NotFittedError as its own `plot_tree` does."""
    if hasattr(given, "fit"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(given)
    return tree_of(given)


def _drawn(tree: Tree, shown, axes, filled, proportion, fontsize) -> list:
    axes.set_axis_off()
    deepest = max(len(place.path) for place in shown)
    axes.set_xlim(-0.6, tree.n_leaves - 0.4)
    axes.set_ylim(-deepest - 0.5, 0.5)
    for place in shown:
        if place.path:
            parent = next(other for other in shown if other.number == place.parent)
            x, y = (parent.x, place.x), (1 - len(place.path), -len(place.path))
            axes.plot(x, y, color="#888888", linewidth=1, zorder=0)
            axes.text(
                sum(x) / 2,
                sum(y) / 2,
                place.edge,
                ha="center",
                va="center",
                fontsize=(fontsize or 9) - 1,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
            )
    return [
        axes.annotate(
            _words(tree, place, proportion),
            (place.x, -len(place.path)),
            ha="center",
            va="center",
            fontsize=fontsize or 9,
            parse_math=False,
            bbox=_box(place, filled),
        )
        for place in shown
    ]


def _words(tree: Tree, place, proportion) -> str:
    n = place.n_rows
    if not place.is_leaf:
        import textwrap

        lines = textwrap.wrap(place.asks, WIDTH) or [place.asks]
        return "\n".join(lines)
    if TASKS.get(tree.task).NUMBERS:
        return (
            f"{tree.classes[place.node.label]}\n{count_of(n, 'row', '')}"
            if place.node.rows
            else tree.classes[place.node.label]
        )
    counted = (
        f"{100 * place.n_correct / n:.0f} %" if proportion and n else f"{place.n_correct} of {n}" if n else "no rows"
    )
    return f"{tree.classes[place.node.label]}\n{counted}" if place.node.rows else tree.classes[place.node.label]


def _box(place, filled) -> dict:
    box = {"boxstyle": "round,pad=0.4", "facecolor": "white", "edgecolor": "#666666"}
    if place.is_leaf and filled:
        colour = PALETTE[place.node.label % len(PALETTE)]
        box |= {
            "facecolor": tint(colour, 0.1 + 0.5 * (place.n_correct / place.n_rows if place.n_rows else 0)),
            "edgecolor": colour,
        }
    return box
