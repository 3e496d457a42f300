"""From a problem to its certificate: the best tree, and the states of the search by ranks that prove it
(odtc.verification.certificate)."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import lcm
from typing import Protocol

import odtc
from odtc.algorithms.thresholds.rank_search import RankSearch
from odtc.base.whole_numbers import MAX_EXACT, whole_numbers
from odtc.base.wording import option
from odtc.data.encoding import Encoded
from odtc.data.splits import Oblique, Splits
from odtc.errors import ChoiceError
from odtc.formulations.dpflow.certificate_columns import CertificateColumns
from odtc.formulations.dpflow.forms import ROWS
from odtc.formulations.dpflow.interval_states import interval_states
from odtc.heuristics.ranked_splits import RankedSplits
from odtc.problem.branch_penalty import exact_share
from odtc.problem.constraints.constraint import least_rows
from odtc.problem.exact_objective import exact_objective, search_costs
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree
from odtc.trees.tree import Tree
from odtc.verification.certificate import LABELS, SCHEMA
from odtc.verification.coverage import terms_over
from odtc.verification.threshold_columns import left_of, rank_columns


class EndedSearch(Protocol):
    """A search over thresholds (odtc.formulations.dpflow.threshold_search) that ended, or was interrupted.

    Attributes
    ----------
    problem : Problem
    splits : RankedSplits, the ordered features of its splits
    search : RankSearch, with its results
    """

    problem: Problem
    splits: RankedSplits
    search: RankSearch


class Numbers:
    """The whole numbers in which the costs of a problem are counted.

    Attributes
    ----------
    facts : dict, the depth with the scales and costs that a certificate states
    scale : int, units of an objective of 1
    unit : int, units of one unit of the search

    Raises
    ------
    ChoiceError
        If the weights, costs or penalties have more digits than whole numbers can represent.
    """

    def __init__(self, problem: Problem):
        encoded = problem.encoded
        _, of_weight = whole_numbers(encoded.weight if encoded.dataset is None else encoded.dataset.weight)
        whole, of_cost = whole_numbers(encoded.cost)
        branch = exact_share(problem.params.lambda_)
        of_cost *= 1 - branch
        below = lcm(of_cost.denominator, branch.denominator)
        self.scale = of_weight.denominator * below
        most = Fraction(float(encoded.loss.sum() + encoded.weight.sum()))  # a scale may be beyond all doubles
        rounded = search_costs(problem).parts is not None
        # The scale itself and the penalty of a node are such numbers, too.
        if rounded or max(most, 1) * self.scale >= MAX_EXACT:
            from odtc.problem.constraints.search_units import TOO_FINE

            raise ChoiceError(TOO_FINE)
        self.unit = int(search_costs(problem).step * self.scale)
        self.facts = {
            "depth": int(problem.topology.depth),
            "weight_scale": of_weight.denominator,
            "loss": [[cost * int(of_cost * below) for cost in line] for line in whole.tolist()],
            "penalty": int(self.scale * branch),
            "scale": self.scale,
        }


def certify_search(search: EndedSearch, heap: HeapTree, look: Callable[[], None] = lambda: None) -> dict:
    """Return the certificate of a search over thresholds: of its tree, and of the bound of all trees.

    Parameters
    ----------
    search : EndedSearch
    heap : HeapTree, the best tree known
    look : called now and then; raises to end the writing

    Returns
    -------
    dict

    Raises
    ------
    ChoiceError
        As in odtc.formulations.dpflow.threshold_search.certify.
    """
    problem = search.problem
    require_certifiable(problem)
    if problem.encoded.dataset is None:
        raise ChoiceError(
            "expected a problem that was read from a file or from arrays, because a certificate covers their rows"
        )
    numbers, depth, ranked = Numbers(problem), problem.topology.depth, search.splits.ranked
    unit = int(ranked.unit * ranked.scale) * numbers.unit
    if not unit:  # costs that are less than one unit of the certificate
        from odtc.problem.constraints.search_units import TOO_FINE

        raise ChoiceError(TOO_FINE)
    claim, floor = int(exact_objective(problem).cost(heap) * numbers.scale), int(ranked.floor) * numbers.unit
    bound = min(search.search.lower(depth) // ranked.scale, (claim - floor) // unit)
    columns = CertificateColumns(problem.encoded, search.splits.scales, ranked.columns)
    states = [
        ";".join(columns.entry(lower * unit, free, points) for lower, free, points in level)
        for level in interval_states(search.search, depth, bound * ranked.scale, look)
    ]
    facts = (
        head(problem, LABELS)
        | numbers.facts
        | {
            "columns": columns.facts,
            "least": least_rows(problem),
            "claim": claim,
            "tree": tree_facts(heap.to_tree(problem.encoded)),
            "bound": floor + bound * unit,
            "states": states,
        }
    )
    dataset = problem.encoded.dataset
    ranks = rank_columns(columns.facts, dataset, left_of, look)
    given = [f"leaf_rows >= {facts['least']}"] if facts["least"] > 1 else []
    return facts | {"of": terms_over(dataset, ranks, depth, given, check=look)[0]}


def require_certifiable(problem: Problem) -> None:
    """Raise ChoiceError for splits and constraints that no certificate states."""
    require_splits_of_columns(problem.encoded)
    for given in problem.constraints:
        if given.name not in ROWS:
            raise ChoiceError(f"a certificate bounds all trees of a depth; leave out the constraint {str(given)!r}")


def require_splits_of_columns(encoded: Encoded) -> None:
    """Raise ChoiceError for hyperplanes, which no certificate states."""
    merged = (other for others in encoded.stands_for for other, _ in others)
    if any(isinstance(split, Oblique) for split in (*Splits.of(encoded.splits).others.values(), *merged)):
        raise ChoiceError(
            "a certificate supports splits on one column only, because sums of columns are rounded; the encoding "
            f"{encoded.scheme!r} uses hyperplanes: choose another {option('encoding')}, or `odtc fit --model dpflow`, "
            "which proves its tree by a solver"
        )


def head(problem: Problem, kind: str) -> dict:
    """Return the description of the certified problem."""
    encoded = problem.encoded
    source = dict(encoded.dataset.source) if encoded.dataset is not None else {}
    return {
        "schema": SCHEMA,
        "kind": kind,
        "odtc": odtc.__version__,
        "data": {
            "name": encoded.name,
            "n_rows": int(encoded.copies.sum()),
            "target": encoded.target,
            "missing": encoded.missing,
            **{key: value for key, value in source.items() if key != "path"},
        },
        "classes": list(encoded.classes),
        "encoding": encoded.scheme,
    }


def tree_facts(tree: Tree) -> dict:
    """Return the JSON of a tree as a certificate states it: in costs, also if these are negated values of the goal."""
    return replace(tree, goal="").to_json()
