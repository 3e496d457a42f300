"""Shapes of the trees that a search looks for: all trees of a height, or only those with few branch nodes."""

from typing import TypeAlias

from odtc.base.value_class import value_class


@value_class
class Limited:
    """Trees of at most `height` levels of splits and at most `nodes` branch nodes, fewer than such a tree may have.

    Attributes
    ----------
    height : int
    nodes : int, from `height` to 2^height - 2
    """

    height: int
    nodes: int


@value_class
class Sides:
    """Trees whose sides below the first split are of two shapes.

    Attributes
    ----------
    left, right : int or Limited
    """

    left: "int | Limited"
    right: "int | Limited"


Shape: TypeAlias = int | Limited


def limited(height: int, nodes: int) -> Shape:
    """Return the shape of the trees of at most this height with at most this number of branch nodes.

    Parameters
    ----------
    height, nodes : int

    Returns
    -------
    int or Limited
        An int if each tree of this height is allowed.
    """
    height = min(height, nodes)
    return height if nodes >= 2**height - 1 else Limited(height, nodes)


def levels(shape: Shape | Sides) -> int:
    """Return the height of the trees of a shape."""
    if isinstance(shape, Sides):
        return 1 + max(levels(shape.left), levels(shape.right))
    return shape if isinstance(shape, int) else shape.height


def named(shape: Shape) -> str:
    """Return a shape as text: its height, and the limit of its branch nodes if it has one."""
    return str(shape) if isinstance(shape, int) else f"{shape.height}, {shape.nodes} branch nodes"


def heights_within(shape: Shape) -> range:
    """Return the lesser heights of which each tree is one of this shape."""
    return range(shape) if isinstance(shape, int) else range((shape.nodes + 1).bit_length())


def sides_of(shape: Shape | Sides) -> tuple[Shape, Shape]:
    """Return the shapes on the left and the right of the first split, for trees of a height or of `Sides`."""
    if isinstance(shape, Sides):
        return shape.left, shape.right
    assert isinstance(shape, int)
    return shape - 1, shape - 1


def divisions(shape: Limited) -> list[Sides]:
    """Return the ways to divide the branch nodes below the first split between both sides."""
    below, rest = shape.height - 1, shape.nodes - 1
    most = min(rest, 2**below - 1)
    return [Sides(limited(below, n), limited(below, rest - n)) for n in range(rest - most, most + 1)]
