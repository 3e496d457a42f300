"""One run, described once: how to read the data, which model to build, and how to solve it.

The command line, the keywords of `odtc.fit` and `odtc.build`, the estimator, `odtc tune`, `odtc bench` and the
command on a report are derived from the fields of these records. Nothing that is slow to load is imported here.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odtc.base import cluster as clusters
from odtc.base.spec_fields import PAIRS, REPEATED, command_words, fields_by_name, plain, spec_field
from odtc.base.text import did_you_mean
from odtc.base.value_class import frozen_class, value_class
from odtc.base.wording import in_command, option
from odtc.data.reading_spec import ReadingSpec
from odtc.errors import ChoiceError
from odtc.model.options import Options

if TYPE_CHECKING:
    from odtc.problem.constraints.kind import Constraint
    from odtc.problem.problem import Problem

DEFAULT_SOLVER = "highs"  # if one is needed and none is named
# Short options for frequent constraints: field of the option -> (the constraint's words, help).
SHORT_CONSTRAINTS = {
    "min_leaf_rows": ("leaf_rows >=", "Same as --constraint 'leaf_rows >= N'; 2% or 0.02 is a share of the rows."),
    "max_branch_nodes": ("branch_nodes <=", "Same as --constraint 'branch_nodes <= N'."),
    "max_features": ("features <=", "Same as --constraint 'features <= N'."),
}
SHARES = ("min_leaf_rows",)  # those whose number may be a share


def short_constraint(name: str, number: int | str) -> str:
    """Return the constraint of a short option: ("min_leaf_rows", 5) is "leaf_rows >= 5"."""
    return f"{SHORT_CONSTRAINTS[name][0]} {number}"


LEAF_ONLY = "branch_nodes <= 0"  # the constraint by which a problem of depth 1 is one of depth 0


def specified(problem: "Problem") -> "tuple[int, tuple[Constraint, ...]]":
    """Return the depth and the constraints of a problem as its run specified them, which may be depth 0."""
    depth, constraints = int(problem.topology.depth), tuple(problem.constraints)
    if depth == 1 and LEAF_ONLY in map(str, constraints):
        return 0, tuple(given for given in constraints if str(given) != LEAF_ONLY)
    return depth, constraints


@value_class
class ModelSpec:
    """Specification of the model to compile."""

    model: str = spec_field(
        "flowoct",
        "Formulation or learner; see `odtc list models`. auto chooses by the size of the data.",
        metavar="NAME|auto",
        completes="models",
    )
    depth: int = spec_field(
        2, "Largest number of splits from the root to a leaf; 0 for a leaf only.", metavar="N", group="Tree", short="-d"
    )
    params: dict = spec_field(
        {},
        "Parameter of the formulation, for example lambda=0.01; see `odtc info MODEL`.",
        metavar="KEY=VALUE",
        form=PAIRS,
    )
    encoding: str = spec_field(
        "auto",
        "Candidate splits of the tree; see `odtc list encodings`.",
        metavar="NAME[:KEY=VALUE,…]",
        completes="encodings",
        group="Tree",
    )
    cuts: str | tuple | None = spec_field(
        None,
        "Families of cutting planes; see `odtc list cuts`. A:rounds=N separates them at the root relaxation.",
        metavar="A,B|all|none",
        type=str | None,
        completes="cuts",
    )
    start: str | Path | None = spec_field(
        "auto",
        "First tree of the search (MIP start); see `odtc list starts`. auto chooses one for the formulation.",
        metavar="NAME|none|TREE.json",
        type=str,
        completes="starts",
    )
    class_weight: object = spec_field(
        None,
        "Cost of an error on a row of each class; balanced gives all classes the same weight.",
        metavar="balanced|CLASS=W,…",
        type=str | None,
        completes=("balanced",),
        group="Tree",
    )
    cost: object = spec_field(
        None,
        "Cost of predicting one class for another, for example no:yes=5.",
        metavar="FILE.csv|TRUE:PREDICTED=COST,…",
        type=str | None,
        group="Tree",
    )
    constraints: tuple[str, ...] = spec_field(
        (),
        "Condition that the tree must satisfy, for example 'leaf_rows >= 5'; repeatable. See `odtc list constraints`.",
        metavar="'NAME[…] OP NUMBER'",
        form=REPEATED,
        completes="constraints",
        group="Constraints",
    )
    select: str | None = spec_field(
        None,
        "Train on a selection of the rows; see `odtc list selections`.",
        metavar="NAME[:KEY=VALUE,…]",
        completes="selections",
        group="Data",
    )

    def __post_init__(self):
        given = self.constraints
        object.__setattr__(self, "constraints", (given,) if isinstance(given, str) else tuple(given))
        object.__setattr__(self, "params", dict(self.params or {}))


@frozen_class
class SolvingSpec(Options):
    """Specification of the solution: the solvers and the limits."""

    solver: str | None = spec_field(
        None,
        "Solver; see `odtc list solvers`. Several run in parallel until the first proof. By default, odtc proves the "
        "tree without a solver if the model can do that, and otherwise uses HiGHS.",
        metavar="NAME[,NAME…]",
        type=str | None,
        completes="solvers",
    )
    template: Path | None = spec_field(
        None, "Description of another solver; see examples/my-solver.", metavar="FILE.toml"
    )
    program: str | None = spec_field(None, "Executable of the solver, if it is not on PATH.", metavar="FILE")
    workers: int = spec_field(
        1,
        "Processes that prove one tree together, if the search runs over thresholds without a solver.",
        metavar="N",
        wanted="a whole number from 1 to 1024",
        fits=lambda value: 1 <= value <= 1024,
    )
    cluster: str | None = spec_field(
        None, "Run the proof on a Dask cluster. " + clusters.HELP.format("--workers"), metavar=clusters.METAVAR
    )

    @property
    def named_solver(self) -> str:
        """The solver, or solvers between commas; the solver that the template describes replaces a single solver, and
        is added to a race; HiGHS if none is named. Raises ChoiceError for a template of another kind."""
        if self.template is None:
            return self.solver or DEFAULT_SOLVER
        if Path(self.template).suffix != ".toml":
            raise ChoiceError(
                f"{option('template')}: expected a file that ends in .toml, got {str(self.template)!r}; see "
                f"examples/my-solver"
            )
        return f"{self.solver},{self.template}" if "," in str(self.solver) else str(self.template)

    @property
    def names_solver(self) -> bool:
        """Return whether a solver was named."""
        return bool(self.solver or self.template or self.program)

    @property
    def options(self) -> Options:
        """The options that every solver receives."""
        return Options(self.time_limit, self.threads, self.seed, self.gap)


@value_class
class RunSpec:
    """Specification of a whole run. With `fitting` the loop of a formulation that has one is run, and its parameters
    have the defaults of `odtc fit`; otherwise its one model is made, as `odtc build` writes it. With `simplify`
    needless branch nodes of the tree are removed (odtc.workflow.decoding). `confidence` is the one of `odtc fit
    --confidence`."""

    reading: ReadingSpec = ReadingSpec()
    model: ModelSpec = ModelSpec()
    solving: SolvingSpec = SolvingSpec()
    fitting: bool = True
    simplify: bool = True
    confidence: float | None = None

    @property
    def parts(self) -> dict[str, Any]:
        """The records whose fields are options, by the names that they have here."""
        return {name: getattr(self, name) for name in PARTS}

    @classmethod
    def from_keywords(cls, model: str, depth: int, keywords: dict, fitting: bool = True) -> "RunSpec":
        """Return the specification of the keywords of `odtc.fit` (with `fitting`) or `odtc.build`.

        Fields of the records are keywords by their names, the keywords of `odtc.read` may also be in the dict
        `reading`, and all others are parameters of the formulation. `odtc.build` has no solver, so `seed` is a
        parameter there.
        """
        keywords = dict(keywords)
        reading = ReadingSpec(**take_reading(keywords))
        simplify = bool(keywords.pop("simplify", True)) if fitting else True
        params = dict(keywords.pop("params", None) or {})
        of_model = _pick(ModelSpec, keywords, leave=() if fitting else ("start",))
        of_solving = _pick(SolvingSpec, keywords) if fitting else {}
        _expect_no_misspelt(model, keywords, fitting)
        spec = ModelSpec(model, depth, params | keywords, **of_model)
        return cls(reading, spec, SolvingSpec(**of_solving), fitting, simplify)

    @property
    def needs_model(self) -> str:
        """The reason why a model is needed, so that the own search of a formulation cannot prove the tree; "" if
        nothing in the specification needs one."""
        if not self.fitting:
            return "a model file is requested"
        if self.solving.names_solver:
            named = next(name for name in ("solver", "template", "program") if getattr(self.solving, name))
            return f"{option(named)} names a solver, which solves a model"
        return f"{option('cuts')} adds constraints to a model" if self.model.cuts not in (None, "none", ()) else ""

    def with_model(self, **fields) -> "RunSpec":
        """Return the specification with other fields of its ModelSpec."""
        return replace(self, model=replace(self.model, **fields))

    def with_solving(self, **fields) -> "RunSpec":
        """Return the specification with other fields of its SolvingSpec."""
        return replace(self, solving=replace(self.solving, **fields))

    def command(self, data, stem: str) -> list[str]:
        """Return the command line that runs it: `odtc fit DATA … -o STEM`."""
        data = in_command(data)
        data = "-" if Path(data).name == "standard input" else data
        parts = [word for part in (self.model, self.reading, self.solving) for word in command_words(part)]
        if "--model" not in parts:  # the default of `odtc fit` differs from the default of a specification
            parts = ["--model", self.model.model, *parts]
        parts += [] if self.simplify else ["--no-simplify"]
        parts += [] if self.confidence is None else ["--confidence", plain(self.confidence)]
        return ["odtc", "fit", data, *parts, "-o", stem]


PARTS = {"reading": ReadingSpec, "model": ModelSpec, "solving": SolvingSpec}


def take_reading(keywords: dict) -> dict:
    """Take the keywords of `odtc.read` out of `keywords`: from the dict `reading`, and from `keywords` itself."""
    return (keywords.pop("reading", None) or {}) | _pick(ReadingSpec, keywords)


def _expect_no_misspelt(model: str, keywords: dict, fitting: bool) -> None:
    """Raise ChoiceError for a keyword that is not a parameter of any formulation and is almost a field of a record."""
    if not keywords:
        return
    # It loads all formulations, and most runs have no parameter.
    from odtc.problem.parameters import MEANT, able_models, has_parameter

    records = (ModelSpec, ReadingSpec, SolvingSpec) if fitting else (ModelSpec, ReadingSpec)
    known = [name for record in records for name in fields_by_name(record)]
    for name in keywords:
        key = name.rstrip("_")
        is_one = name in known or key in MEANT or able_models(key) or (model != "auto" and has_parameter(model, key))
        if not is_one and (hint := did_you_mean(name, known)):
            raise ChoiceError(f"unknown keyword {name!r}{hint}")


def _pick(cls, keywords: dict, leave=()) -> dict:
    """Take the fields of a record out of the keywords."""
    names = [name for name in fields_by_name(cls) if name in keywords and name not in leave]
    return {name: keywords.pop(name) for name in names}
