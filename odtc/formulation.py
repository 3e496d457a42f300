"""What a formulation is: functions that obey laws, in one module of `formulations/`.

    NAME, TITLE, PAPER      words for `odtc list models` and `odtc info`
    Params                  a frozen dataclass; its fields are the keys of `-p key=value`
    build(problem)          -> Model
    start(problem, heap)    -> {column block: values}, a complete feasible point for this tree
    decode(problem, point)  -> HeapTree, from the tree's columns alone; `point` is {block: values}
    objective(problem, heap) -> the model's minimised value of this tree, in exact terms
    branch_price(problem)   -> how much loss a branch node must save to be worth it
    ANY_COST = True         where the price of an error may depend on the class predicted (Encoded.cost);
                            others take `price_of_errors`
    route_of(problem)       optional, where rows of columns of the role ROUTE are not the encoded rows: int64
                            (rows,), which of them each encoded row is
    hinders(problem, given) optional -> the parameter for which a constraint is refused that would be kept without it, in words
    instead(problem, given) optional -> the parameter that asks for the same as a constraint that has no rows here, in words; ""
    prices_answers(problem) optional -> whether what leaves predict is priced by more than each row's own loss
    BEYOND                  optional: True where its trees may ask what no test of the encoding asks
    WEIGHS                  optional: True where it needs the numbers of the rows (Encoded.values), not their tests
                            alone; the manifest then holds them

A tree is one of numbers on a heap, whatever its splits are: the numbers from `n_tests` on are
splits that the formulation found itself (a set of levels, a hyperplane), and `HeapTree.beyond` holds
them as a `Split` in the units of the data and as the answers of the encoded rows. `decode` makes
those answers from `problem.encoded` alone, `start` takes them as it takes the columns of tests, and
routing, errors, words, verification and the laws are the same for all. So oblique formulations
need one class in odtc/split.py and no other tree.

What its parameters name and a manifest could not hold (a file, the end of a search) it takes in itself:
`prepared(problem) -> Problem`, called once the problem is posed. `pricing(problem, leaf) -> Model` is a pricing
problem, for `odtc build --pricing`. `beside(problem) -> {suffix: text}` are
files that `odtc fit` writes beside the tree. `advice(problem)` are sentences about parameters that are no good for
this data; `misrouted(problem, point)` is the weight of the rows that a point sends elsewhere than its own splits do.

A formulation that does not represent every tree has also `trimmed(problem, heap) -> HeapTree`: a
tree that it does represent, made of a heuristic's.

A formulation that keeps some constraints by what its columns are names the kinds in `keeps(problem)`;
no rows are written for them (odtc.constraint), and all its functions heed them.

`notes(problem) -> {name: value}`, optional, is what else the manifest says of the model, as JSON.

A loop has also `fit(model, solve, start, tell) -> (Model, Solution)`: `odtc fit` calls it with what
`build` made (and the rows of cut families) instead of solving that once; `solve(model, start=None)`
is any solver, handed in with the time that is left, `tell` takes a Round when one has ended (odtc.loop);
with TIMED = True it is also given `left`, a function that says how many seconds there are (None: no limit); with
GROWS = True its last model has other columns than the first, and parameters that say so;
`loops(problem)` says whether these parameters leave it anything to add; FIT_DEFAULTS are parameters that differ under `fit`. A learner (CART) has
`tree(problem) -> HeapTree` and no model at all; CONSTRAINTS names the kinds that it keeps (odtc.constraint).

Laws (tests/laws): a start is feasible, costs what the tree costs and decodes to the tree;
the optimum is that of an exhaustive search; decoding from the manifest is decoding in memory.
"""

import dataclasses
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from odtc.encoding import Encoded
from odtc.errors import ChoiceError
from odtc.registry import Registry, did_you_mean
from odtc.topology import Topology

FORMULATIONS = Registry(
    "model", "odtc.formulations", ("flowoct", "bendersoct", "oct", "binoct", "fair", "dpflow", "cg", "svm1_odt", "oct_h", "cart", "cart_tuned", "oblique_search"),
    ("NAME", "TITLE", "PAPER", "Params"),
)


class Role(StrEnum):
    """What a block of columns means, whatever its paper calls it; cut families ask for roles."""

    BRANCH = "branch"  # [node, test] 1: this node asks this test
    LABEL = "label"  # [node, class] 1: this node predicts this class
    STUMP = "stump"  # [node, test, side, class] 1: bottom node asks the test, its child on that side predicts the class
    FLOW = "flow"  # [row, node] 1: the row passes through the edge into this node, and is classified right
    SINK = "sink"  # [row, node] 1: the row ends at this node, classified right
    CORRECT = "correct"  # [row] 1: the row is classified right
    WRONG = "wrong"  # [row] at least 1 where the row is classified wrong
    SPLIT = "split"  # [node] 1: this node branches
    FEATURE = "feature"  # [node, scale] 1: this node asks a threshold of this scale (odtc.scale)
    ROUTE = "route"  # [row, node] 1: the row ends at this node, right or wrong; of every row exactly one
    PREDICTED = "predicted"  # [row, node, class] 1: the row ends at this node, and is predicted as this class
    USED = "used"  # [node] 1: a row ends at this node
    STOP = "stop"  # [state] the flow into a state of the dynamic program that ends there
    PATH = "path"  # [path] 1: the tree has this path, with what is below its end
    ARC = "arc"  # [state, test] the flow that asks this test at this state
    BOUND = "bound"  # [state, test] the flow that asks an ordered test from this one to the next of the block; it costs no more than any does
    SUM = "sum"  # a sum of other columns, which its own rows define (odtc.answers); nobody reads it
    CONSTANT = "constant"  # fixed to 1; its cost is the constant of the objective


@dataclass(frozen=True)
class Problem:
    """What is compiled: encoded rows, a shape of tree, a formulation and its parameters."""

    encoded: Encoded
    topology: Topology
    formulation: str
    params: object  # the formulation's own Params
    constraints: tuple = ()  # what a tree must keep (odtc.constraint)
    # What the formulation worked out of this problem once, by name; never carried to another one.
    memo: dict = dataclasses.field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def module(self):
        return FORMULATIONS.get(self.formulation)


def price_of_errors(problem: Problem) -> np.ndarray:
    """float64 (rows,): what an error on each row costs. Raises ChoiceError where that depends on the class
    predicted, which a formulation that counts a row only as right or wrong cannot say."""
    price = problem.encoded.price
    if price is None:
        able = [name for name in FORMULATIONS.names() if getattr(FORMULATIONS.get(name), "ANY_COST", False)]
        raise ChoiceError(
            f"{problem.formulation} counts a row only as right or wrong, so it cannot take costs that depend on the class "
            f"predicted; use --model {' or '.join(able)}, or costs by true class alone (--class-weight)"
        )
    return price


def parameter(default, help: str, least=None, below=None, choices=None):
    """A field of a Params class: its default, its meaning, and the values it takes."""
    return dataclasses.field(
        default=default, metadata={"help": help, "least": least, "below": below, "choices": choices}
    )


def parameter_key(field) -> str:
    """The public key of a field: `lambda_` is written `lambda`."""
    return field.name.rstrip("_")


def parse_params(formulation: str, given: dict):
    """The Params of a formulation from texts or values; raises ChoiceError for an unknown key,
    or a value of another type or out of range."""
    cls = FORMULATIONS.get(formulation).Params
    fields = {parameter_key(field): field for field in dataclasses.fields(cls)}
    values = {}
    for key, value in given.items():
        key = key.rstrip("_")
        if key not in fields:
            known = ", ".join(fields) or "it has none"
            raise ChoiceError(
                f"model {formulation!r} has no parameter {key!r}{did_you_mean(key, fields)}; known: {known}"
            )
        values[fields[key].name] = _parse(key, fields[key], value)
    return cls(**values)


def params_to_json(params) -> dict:
    return {parameter_key(field): getattr(params, field.name) for field in dataclasses.fields(params)}


def _parse(key, field, value):
    least, below, choices = (field.metadata.get(word) for word in ("least", "below", "choices"))
    kind = type(field.default)
    try:
        if kind is bool:
            if not isinstance(value, bool):
                value = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[
                    str(value).lower()
                ]
        else:
            value = kind(value)
        fits = (least is None or value >= least) and (below is None or value < below)
        if not fits or (choices and value not in choices):
            raise ValueError
    except (ValueError, KeyError, TypeError):
        if choices:
            wanted = "one of " + ", ".join(choices)
        else:
            wanted = {"bool": "true or false", "int": "a whole number", "float": "a number"}.get(
                kind.__name__, kind.__name__
            )
            wanted += f" of at least {least}" if least is not None else ""
            wanted += f" and below {below}" if below is not None else ""
        raise ChoiceError(f"parameter {key!r}: expected {wanted}, got {value!r}") from None
    return value
