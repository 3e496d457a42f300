"""What Python asks of the evaluation of trees that are in memory."""

from odtc.evaluation.html_report import Run, render_page
from odtc.trees.tree import tree_of


def render_report(tree, name: str = "tree") -> str:
    """A tree as one page of HTML, as `odtc report` makes it.

    Parameters
    ----------
    tree : Tree or fitted OptimalTreeClassifier
    name : str
        The title.

    Returns
    -------
    str

    Raises
    ------
    TreeError
        If it is neither.
    """
    return render_page(Run(name, tree_of(tree)))
