"""A tree that splits on one of these columns splits on all of them.

The constraint is about the final tree: nodes that separate no rows, or lead to one class only, are removed, so an
incidental split on the other column does not count. No constraint of a model expresses this, so only the built-in
search supports this kind, by a check of every candidate tree.
"""

from typing import Any

from odtc.data.encoding import Encoded
from odtc.problem.constraints.by_definition import Reference, feature_name
from odtc.problem.constraints.kind import Constraint, Terms
from odtc.problem.constraints.on_features import asked, of_columns, two_columns
from odtc.problem.constraints.searched_only import KNOWS, NEEDS, SUBJECT, early, rows
from odtc.trees.heap_tree import HeapTree

NAME = "together"
SUMMARY = "together[FEATURE,FEATURE,…]: a tree that splits on one of these columns splits on all of them"
OPS = ()


def read(encoded: Encoded, given: Constraint) -> Constraint:
    two_columns(encoded, given)
    return given


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
    missing = set(two_columns(encoded, given)) - set(asked(encoded, heap).tolist())
    return float(len(missing)) if len(missing) < len(two_columns(encoded, given)) else 0.0


def terms(encoded: Encoded, given: Constraint) -> Terms:
    columns = two_columns(encoded, given)
    return Terms(all_or_none=tuple(of_columns(encoded, [column]) for column in columns), checked=True)


def reference(encoded: Encoded, given: Constraint) -> Reference:
    def counts(n: int, splits: Any) -> bool:
        mine = {feature_name(encoded, split) for split in splits} & set(given.args)
        return not mine or mine == set(given.args)

    return Reference(counts=counts)
