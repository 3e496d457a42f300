"""What Python asks of the evaluation of trees that are in memory."""

from odtc.evaluation.board import Claim
from odtc.evaluation.html_report import Run, render_page
from odtc.trees.tree import tree_of
from odtc.workflow.results import Fit


def render_report(tree, name: str = "tree") -> str:
    """A tree as one page of HTML, as `odtc report` makes it.

    Parameters
    ----------
    tree : Tree, Fit or fitted estimator
        Of a fit the page says what is proved.
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
    proved, said = getattr(tree, "is_optimal_", None), None
    if isinstance(tree, Fit):
        said = Claim(tree.proved, tree.proof.objective, tree.proof.bound)
    elif proved is not None:
        said = Claim(proved, tree.objective_, tree.bound_)
    return render_page(Run(name, tree_of(tree), said=said))
