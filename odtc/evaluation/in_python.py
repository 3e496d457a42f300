"""Evaluation of trees in memory, for Python."""

from odtc.evaluation.board import Claim
from odtc.evaluation.html_report import Run, render_page
from odtc.trees.tree import tree_of
from odtc.workflow.telling.figures import Fit


def render_report(tree, name: str = "tree") -> str:
    """Write a tree as one HTML page, as `odtc report` does.

    Parameters
    ----------
    tree : Tree, Fit or fitted estimator
        For a fit the page states the proof.
    name : str
        The title.

    Returns
    -------
    str

    Raises
    ------
    TreeError
        If it is neither.

    Examples
    --------
    >>> import odtc
    >>> fitted = odtc.fit("examples/monks/monks-1.csv", depth=1, encoding="onehot")
    >>> odtc.render_report(fitted, "monks")[:15]
    '<!DOCTYPE html>'
    """
    proved, said = getattr(tree, "is_optimal_", None), None
    if isinstance(tree, Fit):
        said = Claim(tree.proved, tree.proof.objective, tree.proof.bound)
    elif proved is not None:
        said = Claim(proved, tree.objective_, tree.bound_)
    return render_page(Run(name, tree_of(tree), said=said))
