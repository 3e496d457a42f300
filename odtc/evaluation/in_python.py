"""What Python asks of the evaluation of trees that are in memory."""

from odtc.evaluation.board import Claim
from odtc.evaluation.html_report import Run, render_page
from odtc.trees.tree import tree_of


def render_report(tree, name: str = "tree") -> str:
    """A tree as one page of HTML, as `odtc report` makes it.

    Parameters
    ----------
    tree : Tree or fitted OptimalTreeClassifier
        Of the estimator the page says what is proved.
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
    proved = getattr(tree, "is_optimal_", None)
    said = None if proved is None else Claim(proved, tree.objective_, tree.bound_)
    return render_page(Run(name, tree_of(tree), said=said))
