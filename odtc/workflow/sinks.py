"""Destinations of the files of a run: nowhere, or files of one stem."""

import glob
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from odtc.base.atomic_write import new_file, write_text
from odtc.base.commit import together
from odtc.base.wording import option
from odtc.errors import ChoiceError, ContradictionError
from odtc.model.solution import Solution
from odtc.problem.formulation import Learner, SearchesItself, loop_of
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree
from odtc.verification.certificate import SUFFIX as CERTIFICATE
from odtc.workflow import artifacts
from odtc.workflow.provenance.certificates import certify_bound
from odtc.workflow.reporting import ChosenSolver, Hearing
from odtc.workflow.results.fit import Fit
from odtc.workflow.run_record import write_record, write_settings
from odtc.workflow.specification import RunSpec

if TYPE_CHECKING:
    from odtc.model.milp import Model
    from odtc.workflow.rounds import Keeper


class Sink:
    """Sink that writes no file; the base of all others. The functions are called in this order."""

    keeper: "Keeper | None" = None  # writes every round of a loop
    files: list = []
    search_part = 1.0  # of the time limit that the search for the best tree may take
    wants_model = ""  # why a model has to be solved, even if the formulation could search without one; "" if not

    def for_round(self, number: int) -> "Sink":
        """Return the sink of one round of a selection that selects again."""
        return self

    def posed(self, problem: Problem, spec: RunSpec) -> None:
        """Take the problem; raises ChoiceError for files that it cannot have."""

    @contextmanager
    def logs(self, solver: ChosenSolver):
        """Yield the listener that writes the logs while the model is compiled and solved inside."""
        yield Hearing()

    def built(self, model: "Model") -> Path | None:
        """Take the model that is solved; return the path of its file, if one was written."""

    def solved(self, first: "Model", last: "Model", solution: Solution, spec: RunSpec) -> None:
        """Take the result of the solver: the model of the first round and of the last, the same without a loop."""

    def unsolved(self, problem: Problem, start: HeapTree) -> str:
        """Take note that the solver failed, and this tree was its start; return the place of that tree in words, or
        ""."""
        return ""

    def no_model(self) -> None:
        """Take note that no model was built: the formulation learns, or the time limit came first."""

    def finished(self, problem: Problem, left: float | None, known: HeapTree | None = None) -> str:
        """Take the tree `known` with `left` seconds left of the time limit (None: no limit); return a sentence for the
        reader, or ""."""
        return ""

    def chosen(self, sink: "Sink", others: "list[Sink]") -> None:
        """Take note that this round of a selection is the result."""

    def write_tree(self, done: Fit, spec: RunSpec) -> None:
        """Take the result."""


class FileSink(Sink):
    """Files of one stem, in one folder.

    Parameters
    ----------
    stem_of : callable
        Returns the stem of a Problem, as text; called once.
    format : str or None
        Format of the model file; None for none.
    gzip : bool
        Whether the model file is compressed.
    keep : bool
        Whether the model and the solution of every round of a loop are kept, and the files of every round of a
        selection.
    pool, within : int or None, float, str or None
        How many near-optimal trees STEM.pool.json contains, and their distance from the best; without `pool`,
        STEM.near-optimal.json counts the trees within it, or if constraints forbid that, STEM.pool.json lists them.
    log : bool
        Whether the solver's log is kept.
    certificate : bool
        Whether to write the certificate of the search to STEM.certificate.json.

    After the run `files` are the paths, `tree` is the path of the tree (None if a check failed), and `uncertified` is
    the reason why the requested certificate does not prove the tree.
    """

    def __init__(
        self,
        stem_of,
        format: str | None = None,
        gzip=False,
        keep=False,
        pool=None,
        within=None,
        log=True,
        certificate=False,
    ):
        self._stem_of, self.format, self.gzip, self.keep = stem_of, format, gzip, keep
        self.pool, self.within, self.log, self.certificate = pool, within, log, certificate
        self.stem, self.files, self.tree, self.uncertified = "", [], None, ""
        self._mark, self._built, self._logs, self._start = "", [], [], None
        self._modelless = False
        self._near_optimal: dict[str, str] = {}  # text by suffix, which replaces older trees with the new tree

    @property
    def search_part(self) -> float:
        return 0.5 if self.within is not None or self.pool is not None else 1.0  # the rest is for near-optimal trees

    @property
    def wants_model(self) -> str:
        asked = {"--format": self.format, "--keep": self.keep}
        return next((f"{name} needs a model" for name, stands in asked.items() if stands), "")

    def for_round(self, number: int) -> "FileSink":
        """Return a sink with a stem of its own, so that the files of the best round are not overwritten."""
        sink = FileSink(self._stem_of, self.format, self.gzip, self.keep, self.pool, self.within, self.log)
        sink._mark = f".select{number}"
        return sink

    def posed(self, problem: Problem, spec: RunSpec) -> None:
        self.stem = self._stem_of(problem) + self._mark
        self._start = spec.model.start
        if self.pool is not None or self.within is not None:
            from odtc.workflow import near_optimal  # imported only if needed, so that the command starts sooner

            self.pool = near_optimal.pool_size(problem, self.pool, self.within)
            near_optimal.expect_pool_options(problem, self.pool, self.within)
        self._refuse_what_cannot_be(problem, spec)
        if self.certificate:
            self._expect_certificate(problem, spec)
        if self.keep:
            from odtc.workflow.rounds import Keeper

            self.keeper = Keeper(self.stem, self.format or "mps", self.gzip)

    def _refuse_what_cannot_be(self, problem: Problem, spec: RunSpec) -> None:
        cuts, model = spec.model.cuts, spec.model.model
        if problem.module.can(Learner):
            for asked, stands in (
                (option("cuts"), cuts not in (None, "none")),
                ("--format", self.format),
                ("--keep", self.keep),
            ):
                if stands:
                    raise ChoiceError(
                        f"{asked}: {problem.formulation!r} learns its tree without a solver and without a model; "
                        f"leave the option out"
                    )
            return
        loops = loop_of(problem)
        if self.keep:
            from odtc.workflow.compiling import separates  # it loads the modules of models

            if not (loops or separates(cuts)):
                raise ChoiceError(
                    f"--keep keeps the rounds of a loop, and {problem.module.name} is solved once; "
                    f"--format {self.format or 'mps'} keeps its model"
                )
            if problem.module.GROWS:
                raise ChoiceError(
                    f"--keep keeps the models of rounds that a solver solves; `odtc fit --model {model}` keeps its "
                    "columns in STEM.columns.json, and --format mps its last master"
                )
        if self.format and loops and not self.keep and not problem.module.GROWS:
            raise ChoiceError(
                f"--format: `odtc fit --model {model}` solves one model a round; --keep keeps them all, and "
                f"`odtc build --model {model}` writes the one that needs no rounds"
            )

    def _expect_certificate(self, problem: Problem, spec: RunSpec) -> None:
        """Raise ChoiceError if no certificate can be made: it needs odtc's own search, over the rows of the file."""
        asked, solving = "--certificate writes the proof of odtc's own search", spec.solving
        if not problem.module.can(SearchesItself):
            raise ChoiceError(
                f"{asked}, which {option('model', spec.model.model)} does not have; leave {option('model')} out"
            )
        options = {option("solver"): solving.solver, "--format": self.format, "--keep": self.keep}
        for other, stands in options.items():
            if stands:
                raise ChoiceError(f"{asked}, and with {other} a solver proves the tree; leave {other} out")
        if spec.model.select is not None:
            raise ChoiceError(
                f"{asked}, and {option('select')} leaves rows of the file out; leave {option('select')} out"
            )

    @contextmanager
    def logs(self, solver: ChosenSolver):
        with open_logs(self.stem if self.log else None, solver.racers, self._logs) as hearing:
            yield hearing

    def built(self, model: "Model") -> Path | None:
        """Write the model, if its file is wanted and replaces no run of another model; otherwise it is written with the
        solution, so that a full disk, or a process that is killed while it solves, keeps the older files."""
        from odtc.workflow import files_of_models

        if self.format is None or loop_of(model.problem) or files_of_models.outdated(model, self.stem, (self._start,)):
            return None
        self._built = self._write_build(model, self.format)
        return self._built[0]

    def _write_build(self, model: "Model", format: str | None) -> list[Path]:
        from odtc.workflow import files_of_models  # with the writers of models, which a search does not need

        return files_of_models.write_build(model, self.stem, format, self.gzip, keep=(self._start,))

    def solved(self, first: "Model", last: "Model", solution: Solution, spec: RunSpec) -> None:
        from odtc.workflow import files_of_models

        with together(self.stem):
            if last.problem is not first.problem:  # the loop has made columns, which the first manifest has not
                point = solution.x if self.format else None
                self._built = files_of_models.write_build(last, self.stem, self.format, self.gzip, point)
            elif not self._built:
                self._built = self._write_build(first, None if loop_of(first.problem) else self.format)
            beside = artifacts.write_beside(last.problem, self.stem)
            of, named = spec.solving, f"{self.stem}.sol"
            solution_files = files_of_models.write_solution(last, solution, of, named, spec.model.start)
        rounds = self.keeper.files if self.keeper else ()
        self.files = [*self._built, *beside, *self._logs, *rounds, *solution_files]

    def unsolved(self, problem: Problem, start: HeapTree) -> str:
        path = artifacts.write_tree(start.to_tree(problem.encoded), f"{self.stem}{artifacts.OF_A_START}")
        self.files.append(path)
        paid = problem.module.objective(problem, start)
        return f"the tree of the start, of which nothing is proved, is in {path} (objective {paid:.10g})"

    def no_model(self) -> None:
        self._modelless = True  # an older solution is removed with the new tree: if that fails, nothing is lost
        self.files = [*self._built, *self._logs]

    def finished(self, problem: Problem, left: float | None, known: HeapTree | None = None) -> str:
        if self.pool is None and self.within is None:
            return ""
        from odtc.workflow import near_optimal, near_optimal_set

        if self.pool is None:
            suffix = near_optimal_set.SUFFIX
            text, words = near_optimal_set.near_optimal_text(problem, self.within, left, known)
        else:
            suffix = near_optimal.SUFFIX
            text, words = near_optimal.pool_text(problem, self.pool, self.within, left)
        self._near_optimal = {} if text is None else {suffix: text}
        return words

    def chosen(self, sink: "FileSink", others: "list[FileSink]") -> None:
        self.stem, self._near_optimal = sink.stem.removesuffix(sink._mark), sink._near_optimal
        moved = artifacts.move_run(sink.files, sink.stem, self.stem)
        lost = [path for other in others for path in other.files]
        if not self.keep:  # the rounds that lost are not needed
            for other in (sink, *others):
                for path in Path(other.stem).parent.glob(f"{glob.escape(Path(other.stem).name)}.*"):
                    path.unlink(missing_ok=True)
        self.files = [*moved, *lost] if self.keep else moved

    def write_tree(self, done: Fit, spec: RunSpec) -> None:
        """Write STEM.tree.json, unless a check failed: such a tree replaces no file. A run without a model writes its
        record next to it, STEM.run.json."""
        if done.verified:
            self.tree = f"{self.stem}.tree.json"
            with together(self.stem):
                artifacts.write_tree(done.tree, self.tree)
                artifacts.forget_proofs(self.stem, done.certificate, self._data(done))
                for suffix, text in self._near_optimal.items():
                    write_text(f"{self.stem}{suffix}", text)
                    self.files.append(Path(f"{self.stem}{suffix}"))
                if self._modelless:
                    artifacts.forget_solution(self.stem)
                if self.certificate:
                    self._write_certificate(done)
                if done.model is None or self._modelless:
                    write_record(done, spec, self.stem, self.tree)
                record = write_settings(self.stem, spec, self.tree)
            self.files += [record] * (record not in self.files)
            self.files.append(self.tree)

    def _write_certificate(self, done: Fit) -> None:
        facts, self.uncertified, path = done.certificate, "", f"{self.stem}{CERTIFICATE}"
        if facts is None:
            facts, words = certify_bound(done)
            self.uncertified = f"no certificate was written: {words}" if facts is None else words
        if facts is not None:
            self.files.append(artifacts.write_certificate(facts, self._data(done), path))

    @staticmethod
    def _data(done: Fit):
        """Return the path of the data file of a run; None for data in memory."""
        return None if done.dataset is None else done.dataset.source.get("path")


@contextmanager
def open_logs(stem: str | None, racers: tuple[str, ...], files: list):
    """Return a Hearing that writes STEM.log, and in a race STEM.NAME.log for each solver; nothing for stem None. The
    paths are appended to `files`. The files stay also if solvers contradict each other, because they are the
    evidence."""
    from odtc.solvers.log_buffer import LogFile

    if stem is None:
        yield Hearing()
        return
    paths = [Path(f"{stem}.log"), *(Path(f"{stem}.{name}.log") for name in racers)]
    crossed = None
    with ExitStack() as stack:
        stream, *others = [stack.enter_context(new_file(path)) for path in paths]
        files.extend(paths)
        log, heard = LogFile(stream), {name: LogFile(other) for name, other in zip(racers, others)}

        def logs(name: str, text: str) -> None:
            heard[name].add(text)

        try:
            yield Hearing(None, log.add, logs if racers else None)
        except ContradictionError as problem:
            crossed = problem
        for one in (log, *heard.values()):
            one.end()
    if crossed is not None:
        raise crossed
