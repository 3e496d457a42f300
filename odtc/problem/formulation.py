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
    hinders(problem, given) optional -> the parameter for which a constraint is refused that would be kept without
    it, in words
    instead(problem, given) optional -> the parameter that asks for the same as a constraint that has no rows here,
    in words; ""
    prices_answers(problem) optional -> whether what leaves predict is priced by more than each row's own loss
    BEYOND                  optional: True where its trees may ask what no test of the encoding asks
    WEIGHS                  optional: True where it needs the numbers of the rows (Encoded.values), not their tests
                            alone; the manifest then holds them

A tree is one of numbers on a heap, whatever its splits are: the numbers from `n_tests` on are
splits that the formulation found itself (a set of levels, a hyperplane), and `HeapTree.beyond` holds
them as a `Split` in the units of the data and as the answers of the encoded rows. `decode` makes
those answers from `problem.encoded` alone, `start` takes them as it takes the columns of tests, and
routing, errors, words, verification and the laws are the same for all. So oblique formulations
need one class in odtc/data/splits.py and no other tree.

What its parameters name and a manifest could not hold (a file, the end of a search) it takes in itself:
`prepared(problem) -> Problem`, called once the problem is posed. `pricing(problem, leaf) -> Model` is a pricing
problem, for `odtc build --pricing`. `beside(problem) -> {suffix: text}` are
files that `odtc fit` writes beside the tree. `advice(problem)` are sentences about parameters that are no good for
this data; `misrouted(problem, point)` is the weight of the rows that a point sends elsewhere than its own splits do.

A formulation that does not represent every tree has also `trimmed(problem, heap) -> HeapTree`: a
tree that it does represent, made of a heuristic's.

A formulation that keeps some constraints by what its columns are names the kinds in `keeps(problem)`;
no rows are written for them (odtc.problem.constraints.constraint), and all its functions heed them.

A formulation whose compiler proves some trees by itself says of a problem `searches(problem) -> bool`, and then
`search(problem, start, progress, floor)` is the tree, its bound and whether there is none at all; `fit` takes that
where nothing asks for a solver or a model file.

`notes(problem) -> {name: value}`, optional, is what else the manifest says of the model, as JSON.

A loop has also `fit(model, solve, start, tell) -> (Model, Solution)`: `odtc fit` calls it with what
`build` made (and the rows of cut families) instead of solving that once; `solve(model, start=None)`
is any solver, handed in with the time that is left, `tell` takes a Round when one has ended (odtc.workflow.rounds);
with TIMED = True it is also given `left`, a function that says how many seconds there are (None: no limit); with
GROWS = True its last model has other columns than the first, and parameters that say so;
`loops(problem)` says whether these parameters leave it anything to add; FIT_DEFAULTS are parameters that differ
under `fit`. A learner (CART) has
`tree(problem) -> HeapTree` and no model at all; CONSTRAINTS names the kinds that it keeps
(odtc.problem.constraints.constraint).

Laws (tests/laws): a start is feasible, costs what the tree costs and decodes to the tree;
the optimum is that of an exhaustive search; decoding from the manifest is decoding in memory.
"""

from odtc.base.registry import Registry

FORMULATIONS = Registry(
    "model",
    "odtc.formulations",
    (
        "flowoct",
        "bendersoct",
        "oct",
        "binoct",
        "fair",
        "dpflow",
        "cg",
        "svm1_odt",
        "oct_h",
        "cart",
        "cart_tuned",
        "oblique_search",
    ),
    ("NAME", "TITLE", "PAPER", "Params"),
    group="odtc.formulations",
)
