"""What the searches of dpflow hand in, whichever of them it was."""

from collections.abc import Callable
from dataclasses import dataclass

from odtc.trees.heap_tree import HeapTree


@dataclass(frozen=True)
class Fewest:
    """What is proved of a tree among those of equal objective.

    Attributes
    ----------
    leaves : bool
        Whether none has fewer leaves.
    columns : bool
        Whether none with as few leaves tests fewer distinct columns.
    """

    leaves: bool = False
    columns: bool = False


@dataclass(frozen=True)
class Searched:
    """What a search has come to.

    Attributes
    ----------
    heap : HeapTree or None
        The best tree met that keeps the constraints.
    bound : float
        No such tree has a lower objective.
    infeasible : bool
        Whether it is proved that there is no such tree.
    open_cases, n_cases : int
        Roots with subsets of columns that are not settled, of all.
    phases : str
        What was proved and searched, in words.
    interrupted : bool
        Whether Ctrl-C ended it.
    fewest : Fewest
        What is proved of it among the trees of this objective.
    written : HeapTree or None
        The same tree with tests of fewer columns of the data, that part the rows as tests of the encoding do.
    certificate : callable or None
        Makes the certificate of the tree and the bound (odtc.verification.certificate), if there can be one.
    uncertified : str
        Why there is none, if something is proved, in words.
    off : float
        What a better tree may cost less, if sums of decimals are rounded.
    proved : bool
        Whether the tree is the best one, or there is none.
    exact : bool
        Whether exact costs prove the tree, so that a certificate which bounds it less does not contradict them.
    undecided : bool
        Whether the search has ended, but rounding leaves several trees, of which exact costs have not told the best.
    """

    heap: HeapTree | None
    bound: float
    infeasible: bool
    open_cases: int
    n_cases: int
    phases: str = ""
    interrupted: bool = False
    fewest: Fewest = Fewest()
    written: HeapTree | None = None
    certificate: Callable[[], dict] | None = None
    proved: bool = False
    uncertified: str = ""
    off: float = 0.0
    undecided: bool = False
    exact: bool = False
