"""Property tests of a formulation: starts, optima, files, manifests, cuts, constraints; of a learner: its trees.

It is tried under each of its VARIANTS. The optimum is found by trying every tree with its `unit_costs`, `least_rows`
and `paid_for`.
"""

import dataclasses
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from odtc.errors import ChoiceError
from odtc.fileformats import mps_writer
from odtc.fileformats.model_files import FORMATS, write_model
from odtc.fileformats.solution_files import read_point, write_point
from odtc.model.feasibility import TOLERANCE
from odtc.model.points import name_list
from odtc.problem.constraints.constraint import built, complete
from odtc.problem.constraints.kind import CONSTRAINTS, Subject
from odtc.problem.counts import counts_of
from odtc.problem.cuts import cut
from odtc.problem.formulation import Compiled
from odtc.problem.parameters import parameter_key
from odtc.testing import optima
from odtc.testing.optima import assert_point_of, assert_rows_kept, optimum
from odtc.testing.problems import (
    constrained,
    constraint_words,
    data_of_all_kinds,
    drawn_problem,
    drawn_tree,
    kept_kinds,
    note_heap,
    note_problem,
    posed_first,
)
from odtc.testing.property import Property, Trial
from odtc.workflow.compiling import compile_model
from odtc.workflow.manifest import read_manifest, write_manifest
from odtc.workflow.pipeline import decode
from odtc.workflow.solving import solve


def forms(plug_in):
    """Yield (words, (name, parameters)) of each variant that a formulation with a model declares."""
    declared = plug_in.VARIANTS if plug_in.can(Compiled) else ({},)
    for form in declared:
        yield " ".join(f"{key}={value}" for key, value in form.items()), (plug_in.name, form)


def constrained_forms(plug_in):
    """Yield (words, (form, kind of constraint)) for all that the variants satisfy."""
    if not plug_in.can(Compiled):
        return
    for words, form in forms(plug_in):
        for kind in constraint_words(form):
            yield f"{words} {kind}".strip(), (form, kind)


def declares(plug_in, form, trial: Trial) -> None:
    if not plug_in.can(Compiled):
        return
    trial.expect(plug_in.VARIANTS, "expected VARIANTS, parameter sets under which the property tests try it, got none")
    keys = {parameter_key(field) for field in dataclasses.fields(plug_in.Params)}
    unknown = set(form[1]) - keys
    trial.expect(not unknown, f"expected names of Params in VARIANTS, got {', '.join(sorted(unknown))}")


def is_known(plug_in, form, trial: Trial) -> None:
    trial.expect(plug_in.module.NAME == plug_in.name, f"expected NAME = {plug_in.name!r}, got {plug_in.module.NAME!r}")


def start(plug_in, form, trial: Trial) -> None:
    problem = drawn_problem(trial, form, depths=(1, 2, 3))
    heap = drawn_tree(trial, problem)
    model = plug_in.build(problem)
    x = model.join(plug_in.start(problem, heap))
    assert_point_of(problem, model, heap, x)
    stated, cost = plug_in.objective(problem, heap), cost_of(problem, heap)
    trial.expect(np.isclose(stated, cost), f"expected objective = {cost!r}, counted row by row, got {stated!r}")
    back = plug_in.decode(problem, model.split(x))
    expect_tree(trial, problem, back, heap)


def counts(plug_in, form, trial: Trial) -> None:
    problem = drawn_problem(trial, form, depths=(1, 2, 3))
    said, model = counts_of(problem, None, mps_writer.size), compile_model(problem)
    if said.columns is None:
        trial.expect(said.words, "expected words where there are no numbers, got none")
        return
    sizes, came = (said.columns, said.rows, said.nonzeros), (model.n_cols, model.n_rows, model.nnz)
    holds = sizes == came if said.exact else all(most >= size for most, size in zip(sizes, came))
    trial.expect(holds, f"expected {'' if said.exact else 'at most '}{sizes} columns, rows, nonzeros, got {came}")
    if said.file is not None:
        size = _Length()
        FORMATS.get("mps").write(model, size, False)
        trial.expect(
            abs(said.file - size.bytes) <= 0.3 * size.bytes + 300, f"expected {said.file} bytes, got {size.bytes}"
        )


class _Length:
    """A stream that counts the bytes written."""

    bytes = 0

    def write(self, data) -> None:
        self.bytes += memoryview(data).nbytes


def cost_of(problem, heap) -> float:
    """Return the cost of a tree, counted row by row with its splits in words."""
    tree, dataset, encoded = heap.to_tree(problem.encoded), problem.encoded.dataset, problem.encoded
    predicted = tree.predict(dataset.X)
    lost = sum(w * encoded.cost[k, p] for w, k, p in zip(dataset.weight, dataset.y, predicted))
    per_error, per_branch_node, _ = optima.terms(problem)
    return per_error * lost + per_branch_node * tree.n_branch_nodes + problem.module.paid_for(problem, predicted)


def expect_tree(trial: Trial, problem, back, heap) -> None:
    """Check that the decoded tree is the one that was used as start. Many hyperplanes separate the rows in the same
    way, and either side may be the left one, so with these it must end the same rows together with the same labels."""
    if problem.module.WEIGHS:
        ends = [tree.reach(problem.encoded.X) for tree in (back, heap)]
        alike = np.array_equal(*[end[:, None] == end for end in ends])
        same = alike and np.array_equal(back.label[ends[0]], heap.label[ends[1]])
    else:
        beyond = (back.beyond and back.beyond.splits) == (heap.beyond and heap.beyond.splits)
        same = beyond and np.array_equal(back.split, heap.split) and np.array_equal(back.label, heap.label)
    if not same:
        note_heap(trial, problem, back, "decoded")
    trial.expect(same, "expected decode(start(tree)) to be the tree, got another")


def optimum_by(solve, plug_in, form, trial: Trial) -> None:
    problem = drawn_problem(trial, form)
    best = optima.exhaustive_cost(problem)
    solve(problem, best, trial)


def by_arrays(problem, best: float, trial: Trial) -> None:
    """Solve the arrays of the model by scipy, and check the result."""
    value, _ = optimum(problem.module.build(problem))
    close = abs(value - best) <= TOLERANCE
    trial.expect(close, f"expected the optimum {best:.10g} of trying every tree, got {value:.10g}")


def by_solver(solver: str, problem, best: float, trial: Trial) -> None:
    """Check the whole run with a solver, decoded and verified."""
    model = replace(problem.module.build(problem), problem=problem)
    solution = solve(model, solver, threads=1)
    # A proof that the solver's tolerance does not support is withdrawn: the tree must be the best one all the same.
    ended = solution.termination == "optimal" or solution.is_unsupported
    trial.expect(ended, f"expected {solver} to end optimal, got {solution.termination}")
    told = f"{solver} states {solution.objective!r} with the bound {solution.bound!r}"
    trial.expect(abs(solution.objective - best) <= 1e-5, f"expected the optimum {best!r} of trying every tree; {told}")
    trial.expect((solution.bound or 0.0) <= best + 1e-5, f"expected a bound of at most {best!r}; {told}")
    decoded = decode(model, solution)
    failed = "; ".join(f"{check.name}: {check.text}" for check in decoded.checks if not check.passed)
    trial.expect(decoded.verified, f"expected a tree that passes every check, got {failed}")
    found = problem.module.objective(problem, decoded.heap)
    trial.expect(abs(found - best) <= TOLERANCE, f"expected a decoded tree that costs {best!r}, got {found!r}")


def files(plug_in, form, trial: Trial) -> None:
    problem = drawn_problem(trial, form)
    model = plug_in.build(problem)
    names = name_list(model.columns)
    trial.expect(len(set(names)) == len(names), "expected columns with distinct names")
    bad = [name for name in names + name_list(model.rows) if not name.isidentifier() or name[0] in "eE"]
    trial.expect(not bad, f"expected names of letters, digits and _ that do not begin with e, got {bad[:1]}")
    again = expect_read_back(trial, FORMATS.get("mps"), model, lambda: plug_in.build(problem))
    trial.expect(name_list(again.columns) == names, "expected the names of columns back from the file, got others")


def expect_read_back(trial: Trial, format, model, again: Callable):
    """Check that a file of a model, read back, is the model, and that the model of `again()` has the same bytes; return
    the model that was read."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_model(model, Path(folder) / f"m{format.SUFFIX}", format.name)
        first = path.read_bytes()
        write_model(again(), path, format.name)
        trial.expect(path.read_bytes() == first, "expected the same bytes when it is written again, got others")
        back = format.read(first, "m")
    for word in ("c", "col_lower", "col_upper", "row_lower", "row_upper", "integrality"):
        one, two = getattr(model, word), getattr(back, word)
        trial.expect(
            np.array_equal(one, two), f"expected {word} = {one.tolist()} back from the file, got {two.tolist()}"
        )
    trial.expect(model.offset == back.offset, f"expected the constant {model.offset!r}, got {back.offset!r}")
    same = model.A.shape == back.A.shape and (model.A != back.A).nnz == 0
    trial.expect(same, "expected the same coefficients back from the file, got others")
    return back


def manifest(plug_in, form, trial: Trial) -> None:
    problem = drawn_problem(trial, form)
    heap = drawn_tree(trial, problem)
    model = replace(plug_in.build(problem), problem=problem)
    x = model.join(plug_in.start(problem, heap))
    in_memory = plug_in.decode(problem, model.split(x)).to_tree(problem.encoded)
    with tempfile.TemporaryDirectory() as folder:
        stem = Path(folder) / "m"
        write_manifest(problem, model, stem.with_suffix(".odt.json"))
        write_point(model, x, stem.with_suffix(".sol"), "name-value")
        kept = read_manifest(stem.with_suffix(".odt.json"))
        again = kept.problem
        point = kept.point(read_point(stem.with_suffix(".sol")))
    tree = again.module.decode(again, model.split(point)).to_tree(again.encoded)
    trial.expect(tree == in_memory, "expected the manifest and a solution file to decode to the tree, got another")


def cuts(plug_in, form, trial: Trial) -> None:
    problem = drawn_problem(trial, form, depths=(1, 2))
    heap = drawn_tree(trial, problem)
    plain = replace(plug_in.build(problem), problem=problem)
    names = cut.choose(problem, plain, "all")
    trial.note("cuts", ", ".join(names) or "none fits")
    model = cut.add(problem, plain, names)
    arranged = cut.arrange_tree(problem, model, heap)
    assert_rows_kept(model, model.join(plug_in.start(problem, arranged)))
    dearer = plug_in.objective(problem, arranged) - plug_in.objective(problem, heap)
    trial.expect(dearer <= 1e-9, f"expected an arranged tree that costs no more, got {dearer:.10g} more")


def refusals(plug_in, form, trial: Trial) -> None:
    """Check that the constraints that `subjects` declares are accepted, and no others."""
    kept = kept_kinds(form)
    for kind in CONSTRAINTS.names():
        problem = posed_first(data_of_all_kinds(form), kind)
        trial.note("constraint", problem.constraints[0])
        try:
            built(problem)
        except ChoiceError as refused:
            taken = f"`subjects` declares {CONSTRAINTS.get(kind).SUBJECT!r}"
            trial.expect(kind not in kept, f"{taken}, but the constraint is refused: {refused}")
            named = str(problem.constraints[0]) in str(refused) and len(str(refused).splitlines()) == 1
            trial.expect(named, f"expected one sentence that names the constraint, got {refused}")
        else:
            subject = CONSTRAINTS.get(kind).SUBJECT
            known = kind in kept or subject == Subject.SETTLED
            trial.expect(known, f"it takes {kind}, but its `subjects` does not declare {subject!r}")


def kept_optimum(plug_in, variant, trial: Trial) -> None:
    problem = trial.draw(constrained(*variant, most_rows=10))
    note_problem(trial, problem)
    trial.skip_unless(not plug_in.prices_answers(problem))  # the judge of these knows no other sum
    best = optima.least_kept(problem)
    value, point = optimum(built(problem))
    same = value == best or abs(value - best) <= TOLERANCE
    trial.expect(same, f"expected the optimum {best:.10g} of the trees that satisfy it, got {value:.10g}")
    if point is None:
        return
    heap = plug_in.decode(problem, point)
    note_heap(trial, problem, heap)
    for given in problem.constraints:
        number = given.module.value(problem.encoded, given, heap)
        exact = not isinstance(number, float) or np.isinf(number) or number.is_integer()
        trial.expect(exact, f"expected a Fraction or a whole number from value(), which is exact, got {number!r}")
        trial.expect(given.holds(number), f"expected a tree that satisfies it, got one for which value() is {number}")
    found = plug_in.objective(problem, heap)
    trial.expect(abs(found - value) <= TOLERANCE, f"expected a decoded tree that costs {value!r}, got {found!r}")


def kept_start(plug_in, variant, trial: Trial) -> None:
    problem = trial.draw(constrained(*variant, depths=(1, 2, 3)))
    note_problem(trial, problem)
    heap = drawn_tree(trial, problem)
    ends = np.bincount(heap.reach(problem.encoded.X), problem.encoded.copies)
    trial.skip_unless(ends[ends > 0].min() >= plug_in.least_rows(problem))  # trees that this variant has
    model = built(problem)
    x = complete(problem, model, heap)
    assert_point_of(problem, model, heap, x)
    expect_tree(trial, problem, plug_in.decode(problem, model.split(x)), heap)
    trial.expect(not model.user_cuts, "expected rows of constraints to be rows of the model, got cuts")


def learned(plug_in, form, trial: Trial) -> None:
    problem = drawn_problem(trial, form, by_class=True)
    one = grown_twice(trial, problem, plug_in.tree)
    stated, cost = plug_in.objective(problem, one), one.loss(problem.encoded)
    trial.expect(stated >= cost - 1e-9, f"expected an objective of {cost!r} at least, the loss, got {stated!r}")


def grown_twice(trial: Trial, problem, grow: Callable):
    """Return the tree of `grow(problem)`, recorded and checked: a tree of the depth, and the same each time."""
    one, two = (grow(problem) for _ in range(2))
    trial.expect(one is not None, "expected a tree, got None")
    note_heap(trial, problem, one)
    one.expect_depth(problem.topology.depth)
    same = np.array_equal(one.split, two.split) and np.array_equal(one.label, two.label)
    trial.expect(same, "expected the same tree of the same data, got another")
    return one


OF_MODELS = (
    Property("declared", "VARIANTS are parameter sets of Params.", declares, forms, 1),
    Property("start", "A start is feasible, costs what its tree costs, and decodes to its tree.", start, forms, 50),
    Property(
        "optimum",
        "The optimum of the model's arrays equals the best of all trees.",
        partial(optimum_by, by_arrays),
        forms,
        10,
    ),
    Property(
        "run",
        "HiGHS finds and proves the optimum; the decoded tree passes every check and attains it.",
        partial(optimum_by, partial(by_solver, "highs")),
        forms,
        30,
    ),
    Property("counts", "The estimated size is the size of the built model; bounds are valid.", counts, forms, 12),
    Property("files", "A file read back is the model, and the same bytes each time; names are safe.", files, forms, 4),
    Property("manifest", "Manifest and solution file are enough to decode the tree.", manifest, forms, 10),
    Property("cuts", "Each cut family that fits holds for every tree, once arranged.", cuts, forms, 15),
    Property("refusals", "It takes the constraints of its `subjects`, and refuses all others.", refusals, forms, 1),
    Property(
        "constraints",
        "Under a constraint, the optimum equals the best of the trees that satisfy it.",
        kept_optimum,
        constrained_forms,
        8,
    ),
    Property(
        "constrained start",
        "A tree that satisfies a constraint is a complete point of the model with its rows.",
        kept_start,
        constrained_forms,
        8,
    ),
)
LEARNED = Property("tree", "The tree has the requested depth, and is the same each time.", learned, forms, 20)
PROPERTIES = (
    Property("name", "NAME is the registered name.", is_known, examples=1),
    *(replace(one, applies=lambda plug_in: plug_in.can(Compiled)) for one in OF_MODELS),
    replace(LEARNED, applies=lambda plug_in: not plug_in.can(Compiled)),
)
