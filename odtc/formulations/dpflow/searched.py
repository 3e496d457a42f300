"""The result of a search of dpflow, the same for all of them."""

from collections.abc import Callable

from odtc.base.value_class import value_class
from odtc.trees.heap_tree import HeapTree

REPORT_SECONDS = 0.05  # seconds between two reports of a search on its progress


@value_class
class Fewest:
    """Proved facts about a tree among the trees of equal objective.

    Attributes
    ----------
    leaves : bool
        Whether none has fewer leaves.
    columns : bool
        Whether none with as few leaves splits on fewer distinct columns.
    stopped : bool
        Whether the search for fewer leaves was ended because it took its part of the work; the parameter `fewest`
        lets it go on.
    """

    leaves: bool = False
    columns: bool = False
    stopped: bool = False


@value_class
class Searched:
    """Result of a search.

    Attributes
    ----------
    heap : HeapTree or None
        The best tree found that satisfies the constraints.
    bound : float
        No such tree has a lower objective.
    infeasible : bool
        Whether it is proved that no tree satisfies the constraints.
    open_cases, n_cases : int
        Roots with subsets of columns that are not settled, and their total number.
    phases : str
        The proved and searched parts, as text.
    interrupted : bool
        Whether Ctrl-C ended it.
    fewest : Fewest
        Proved facts about the tree among the trees of this objective.
    written : HeapTree or None
        The same tree with splits on fewer columns of the data, which separate the rows as splits of the encoding do.
    certificate : callable or None
        Makes the certificate of the tree and the bound (odtc.verification.certificate), if there can be one.
    uncertified : str
        Why a proved result has no certificate, as text.
    off : float
        By how much a better tree may cost less, if sums of decimals are rounded.
    proved : bool
        Whether the tree is the best one, or there is none.
    rounded : str
        Why it is undecided, as text, if the reason is another one.
    exact : bool
        Whether exact costs prove the tree, so that a certificate with a lower bound does not contradict them.
    undecided : bool
        Whether the search has ended, but rounding leaves several trees, of which exact costs did not find the best.
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
    rounded: str = ""
    exact: bool = False
