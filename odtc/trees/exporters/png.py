"""A drawing in pixels, by matplotlib."""

from odtc.trees.drawing import picture
from odtc.trees.tree import Tree

NAME = "png"
SUMMARY = "a picture in pixels, by matplotlib"
SUFFIX = "png"
NUMBERS = LINES = True


def write(tree: Tree) -> bytes:
    return picture(tree)
