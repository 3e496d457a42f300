"""The plan of a run: the engine that will find the tree of a problem, and why; decided here and nowhere else.

A run performs its plan (odtc.workflow.run); `odtc fit --explain-plan` and `odtc.plan` only show it. What can be known
before the rows are encoded is decided by `may_search`, because a search takes more splits than a model.
"""

from dataclasses import field
from functools import cached_property

from odtc.base.text import count_of, in_notebook
from odtc.base.value_class import frozen_class
from odtc.base.wording import option
from odtc.data.encoding import ENCODINGS
from odtc.problem.formulation import FORMULATIONS, Learner, SearchesItself, loop_of, searches
from odtc.problem.problem import Problem
from odtc.workflow.messages import held_out_text
from odtc.workflow.specification import RunSpec

LEARNER, SEARCH, LOOP, MODEL = "learner", "search", "loop", "model"  # the engines


def may_search(spec: RunSpec) -> bool:
    """Return whether the tree is found without a model, as far as that is known before the rows are encoded."""
    if spec.needs_model:
        return False
    if spec.model.model == "auto":
        return not spec.model.params.get("robust")
    return spec.model.model in FORMULATIONS.able(SearchesItself)


@frozen_class
class Decision:
    """One decision of a plan: its subject (`of`), the choice, and the reason in one sentence."""

    of: str
    choice: str
    why: str

    def to_json(self) -> dict:
        return {"of": self.of, "choice": self.choice, "why": self.why}


@frozen_class
class Plan:
    """The way in which a run finds a tree.

    Attributes
    ----------
    engine : str
        "search", the formulation's own; "model", which a solver solves; "loop", a model that grows while it is solved;
        or "learner", which needs neither.
    why : str
        Why it is this engine, in one sentence.
    problem : Problem
    spec : RunSpec
    more : tuple of Decision
        Those of a run that consists of several, such as a frontier.
    others : tuple of Plan
        The plans of the other models, if several are tried.
    """

    engine: str
    why: str
    problem: Problem = field(repr=False)
    spec: RunSpec = field(repr=False)
    more: tuple[Decision, ...] = ()
    others: tuple["Plan", ...] = ()

    @classmethod
    def of(cls, problem: Problem, spec: RunSpec, model_for: str = "") -> "Plan":
        """Decide how the tree of a problem is found; `model_for` names a purpose, in addition to the specification, for
        which a model is needed, such as a requested file of it."""
        engine, why = _engine(problem, spec, spec.needs_model or model_for)
        return cls(engine, why, problem, spec)

    @cached_property
    def decisions(self) -> tuple[Decision, ...]:
        """The decisions in the order of the run."""
        found = (
            _rows(self.problem, self.spec),
            _encoding(self.problem, self.spec),
            _model(self.problem, self.spec),
            Decision("engine", self.engine, self.why),
            self._solver(),
            _start(self.problem, self.spec, self.engine),
            self._limits(),
            self._proof(),
            _confidence(self.problem, self.spec),
        )
        return (*(one for one in found if one is not None), *self.more)

    def to_json(self) -> dict:
        """Return the plan as `odtc fit --explain-plan --json` prints it."""
        facts = {
            "data": self.problem.encoded.name,
            "model": self.problem.formulation,
            "engine": self.engine,
            "decisions": [one.to_json() for one in self.decisions],
        }
        return facts | ({"others": [one.to_json() for one in self.others]} if self.others else {})

    def __str__(self) -> str:
        width = max(len(one.of) for one in self.decisions)
        lines = [f"{one.of.ljust(width)}  {one.choice}: {one.why}" for one in self.decisions]
        return "\n\n".join(["\n".join(lines), *map(str, self.others)])

    def _repr_html_(self) -> str:
        return in_notebook(str(self))

    def _solver(self) -> Decision | None:
        if self.engine in (LEARNER, SEARCH):
            return None
        if not self.spec.fitting:
            return Decision("solver", "none", "the model is only written; any solver reads the file")
        from odtc.workflow.solving import choose_solver  # a search needs no module of solvers

        solving = self.spec.solving
        chosen = choose_solver(solving)
        why = f"{option('solver')} names none, and this one is always installed"
        if solving.names_solver:
            why = "they run in parallel until the first proof" if chosen.racers else "it is named"
        return Decision("solver", chosen.label, why)

    def _limits(self) -> Decision:
        solving, pieces = self.spec.solving, []
        limit = solving.time_limit
        pieces.append("no time limit" if limit is None else count_of(limit, "second", "g"))
        if solving.threads is not None:
            pieces.append(count_of(solving.threads, "thread"))
        if solving.workers > 1:
            pieces.append(count_of(solving.workers, "process"))
        if self.engine == LEARNER:
            why = "the heuristic ends by itself"
        elif not self.spec.fitting:
            why = "only a complete model is written"
        elif limit is None:
            why = f"the run ends with its proof, or after Ctrl-C with the best tree; {option('time_limit')} ends it"
        else:
            why = "all steps are included; the best tree by then and its bound are the result"
        return Decision("limits", ", ".join(pieces), why)

    def _proof(self) -> Decision:
        rows = self.problem.encoded.dataset
        of = "the selected rows" if rows is not None and rows.selected is not None else "the rows"
        if self.engine == LEARNER:
            return Decision("proof", "none", "a learner has no bound on other trees")
        if not self.spec.fitting:
            return Decision("proof", "by the solver", "`odtc decode` checks its solution, the tree and the bound")
        module = self.problem.module
        if self.engine == SEARCH and (none := module.uncertified(self.problem)):
            return Decision("proof", "by the search", f"there is no certificate: {none}")
        if self.engine == SEARCH:
            why = f"the search makes it, and a checker that shares no code with the search counts {of} again"
            return Decision("proof", "certificate", why)
        why = f"its bound is compared with the exact objective of the tree on {of}; only a search makes a certificate"
        return Decision("proof", "by the solver", why)


def _engine(problem: Problem, spec: RunSpec, model_for: str) -> tuple[str, str]:
    """Return (the engine, why); `model_for` names a purpose for which a model is needed, "" without one."""
    module, name = problem.module, problem.formulation
    if problem.module.can(Learner):
        return LEARNER, f"{name} learns its tree without a model"
    if not model_for and searches(problem):
        return SEARCH, f"{name} has {module.engine(problem)}, and neither a solver nor a model is requested"
    engine, so = MODEL, "one model is built and solved"
    if spec.fitting and loop_of(problem) is not None:
        engine, so = LOOP, "its model grows in rounds, each of which is solved"
    if not spec.fitting:
        return engine, model_for
    if model_for and module.can(SearchesItself):
        return engine, f"{model_for}; {so}"
    if module.can(SearchesItself):
        return engine, f"the search of {name} does not support this problem; {so}"
    return engine, f"{name} has no search of its own; {so}"


def _rows(problem: Problem, spec: RunSpec) -> Decision | None:
    rows = problem.encoded.dataset
    if rows is None:
        return None
    choice = f"{count_of(rows.n_rows, 'row', '')} of {problem.encoded.name}"
    if rows.selected is not None:
        whole = count_of(rows.selected.whole.n_rows, "row")
        return Decision("rows", choice, f"{option('select', spec.model.select)} chose them among {whole}")
    why = "all rows that can be used"
    if rows.n_dropped:
        why += f"; {rows.n_dropped:,} are left out"
    return Decision("rows", choice, "; ".join(filter(None, [why, held_out_text(rows)])))


def _encoding(problem: Problem, spec: RunSpec) -> Decision:
    encoded = problem.encoded
    choice = f"{encoded.scheme}, {count_of(encoded.n_candidate_splits, 'split')}"
    why = ENCODINGS.parse(encoded.scheme)[0].SUMMARY
    if encoded.scheme != spec.model.encoding:
        why += "; its options are those that a search of this depth can afford"
    return Decision("encoding", choice, why)


def _model(problem: Problem, spec: RunSpec) -> Decision:
    name = problem.formulation
    why = f"{option('model', name)} names it" if problem.choice is None else problem.choice.why
    if problem.constraints:
        why += f"; the tree must satisfy {', '.join(map(str, problem.constraints))}"
    return Decision("model", f"{name} of depth {problem.topology.depth}", why)


def _confidence(problem: Problem, spec: RunSpec) -> Decision | None:
    if spec.confidence is None:
        return None
    why = "a first search measures the test; then stricter constraints are tried until a tree satisfies them"
    return Decision("confidence", f"{spec.confidence:g}", why)


def _start(problem: Problem, spec: RunSpec, engine: str) -> Decision | None:
    name = spec.model.start
    if engine == LEARNER:
        return None
    if name in (None, "none"):
        return Decision("start", "none", f"{option('start', 'none')} leaves it out")
    if name == "auto":
        return Decision("start", problem.module.START, f"the heuristic that suits {problem.formulation}")
    return Decision("start", str(name), f"{option('start')} names it")
