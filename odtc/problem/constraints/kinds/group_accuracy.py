"""In every group, at least this share of the rows is classified correctly: Σ_i w_ig [row i is correct] ≥ R W_g for
each group g.

w_ig is the weight of the rows of group g that encoded row i represents, W_g the sum of these. Groups are written
`group=COLUMN`, `COLUMN:LEVEL|LEVEL` for these levels and all others, or `COLUMN<=NUMBER`; the column may be an
auxiliary one (--auxiliary).
"""

from fractions import Fraction
from math import ceil

import numpy as np

from odtc.data.encoding import Encoded
from odtc.problem.constraints.by_definition import BOUNDS, group_texts, rate_reference
from odtc.problem.constraints.constraint import Constraint
from odtc.problem.constraints.groups import groups as groups_of
from odtc.problem.constraints.kind import Subject
from odtc.problem.constraints.on_predictions import KNOWS, NEEDS, early, knows, mend, needs, predicted, rows, values
from odtc.problem.constraints.proportions import ShareSum, at_least, members_of
from odtc.problem.constraints.rates import share
from odtc.trees.heap_tree import HeapTree

NAME = "group_accuracy"
SUMMARY = "group_accuracy[group=G] >= R: at least this share of the rows of every group is correct"
OPS = (">=",)
SUBJECT = Subject.RIGHT


def compared(given: Constraint) -> tuple[str, ...]:
    """Return the groups that a constraint of this kind compares, as a text."""
    return (given.keyed("group")[0],)


def read(encoded: Encoded, given: Constraint) -> Constraint:
    groups_of(encoded, given.keyed("group")[0])
    return share(given)


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> Fraction:
    mass = groups_of(encoded, given.keyed("group")[0]).whole
    right = predicted(encoded, heap) == encoded.y
    return min(map(Fraction, mass[right].sum(axis=0).tolist(), mass.sum(axis=0).tolist()))


def answers(encoded: Encoded, given: Constraint) -> list[tuple[np.ndarray, int]]:
    mass = groups_of(encoded, given.keyed("group")[0]).whole
    right = encoded.y[:, None] == np.arange(len(encoded.classes))
    return [(-one[:, None] * right, -ceil(given.bound * int(one.sum()))) for one in mass.T]


def proportions(encoded: Encoded, given: Constraint, predicted: np.ndarray) -> list[ShareSum]:
    every = members_of(encoded, given.keyed("group")[0])
    return [at_least(group, predicted == encoded.y, given.bound, of) for of, group in every.items()]


def tries(encoded: Encoded) -> list[str]:
    return [f"{NAME}[group={text}] >= {bound}" for text in group_texts(encoded) for bound in BOUNDS]


reference = rate_reference
