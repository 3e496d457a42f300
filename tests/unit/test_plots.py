"""Texts on a plot are readable."""

import pytest

from odtc.evaluation.plots import pareto


@pytest.mark.parametrize("sizes", [(2, 4, 8), (2, 2, 2), (1, 3, 4)])
def test_names_of_points_stay_within_the_frame(sizes):
    """That of the rightmost point ran over it."""
    canvases = pytest.importorskip("matplotlib.backends.backend_agg")
    figure = pytest.importorskip("matplotlib.figure").Figure(figsize=(6.4, 4.2), layout="constrained")
    canvases.FigureCanvasAgg(figure)
    ax = figure.add_subplot()
    points = [(f"a setting of depth {place}", size, 0.5 + place / 10) for place, size in enumerate(sizes)]
    assert pareto(points, ax)
    figure.canvas.draw()
    frame = ax.get_window_extent()
    for text in ax.texts:
        extent = text.get_window_extent()
        assert frame.x0 <= extent.x0 and extent.x1 <= frame.x1 and frame.y0 <= extent.y0, text.get_text()
