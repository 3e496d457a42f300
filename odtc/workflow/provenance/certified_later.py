"""The certificate of a run that was proved, made later from its files, as by `odtc certify STEM`.

The settings are read from the record next to the tree, the rows from the data file that it names. The certificate is
for the tree of the run; it is made by a search of the bound, which takes about as long as the search of the run took.
"""

from dataclasses import replace
from pathlib import Path

from odtc.base.commit import together
from odtc.base.deadline import limit_left
from odtc.base.json_schema import SchemaError, read_object, validate
from odtc.base.value_class import value_class
from odtc.base.wording import option
from odtc.errors import CertificateError, ChoiceError, DataError, OdtcError, TreeError
from odtc.model.feasibility import is_close
from odtc.model.solution import is_proved
from odtc.problem.formulation import FORMULATIONS, Certifies
from odtc.problem.parameters import params_to_json, parse_params
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree
from odtc.trees.tree import Tree, read_tree
from odtc.verification import certificate
from odtc.workflow import artifacts
from odtc.workflow.manifest import SUFFIX as MANIFEST
from odtc.workflow.posing import pose_run
from odtc.workflow.provenance import certifying
from odtc.workflow.provenance.run_of_tree import RECORD, TREE, RunOfTree
from odtc.workflow.provenance.settings import data_of_tree, settings_of
from odtc.workflow.run_record import SHAPE, add_to_run
from odtc.workflow.specification import RunSpec

SOON = 60.0  # seconds of a search that starts without a time limit
LAMBDA = "lambda"  # the parameter that other formulations share with the one whose search certifies


@value_class
class ProvedRun:
    """A run that was proved: its problem for a certificate, its tree, its data file, the cost of the tree, and the
    seconds of its search (None if they are not known)."""

    stem: str
    problem: Problem
    tree: Tree
    data: Path
    objective: float
    seconds: float | None

    @property
    def path(self) -> Path:
        """The file of the certificate."""
        return Path(self.stem + certificate.SUFFIX)


def stem_of_run(given: str | Path) -> str | None:
    """Return the stem of the run that a path names: STEM, STEM.run.json or STEM.tree.json; None for any other file."""
    text = str(given)
    for ending in (RECORD, TREE):
        if text.endswith(ending):
            return text.removesuffix(ending)
    return text if not Path(text).exists() and Path(text + RECORD).is_file() else None


def is_of_run(tree: Path, spec: RunSpec, data: Path) -> bool:
    """Return whether a certificate by a specification is for the problem of the run that left a tree: the same data
    file, read alike, with the same depth, splits, costs and constraints."""
    run, file = settings_of(tree), data_of_tree(tree)
    if run is None or file is None or not file.samefile(data):
        return False
    mine = {name: getattr(spec.model, name) for name in ("model", "params", "cuts", "start")}
    penalties = [float(one.model.params.get(LAMBDA, 0.0)) for one in (run, spec)]
    return run.reading == spec.reading and replace(run.model, **mine) == spec.model and penalties[0] == penalties[1]


def open_proved(stem: str, data: Path | None = None) -> ProvedRun:
    """Read a run that was proved, to certify it.

    Parameters
    ----------
    stem : str
    data : Path or None
        The data file, if it is no longer where the record says.

    Raises
    ------
    TreeError
        If the tree, its record or its data is not there.
    DataError
        If the run was not proved.
    ChoiceError
        If certificates do not support such a run.
    """
    path = Path(stem + TREE)
    tree, spec = read_tree(path), settings_of(path)
    if spec is None or not Path(stem + RECORD).is_file():  # a certificate next to the tree states its settings, too
        found = "found the record of another tree" if RunOfTree(path).of_another else "found none"
        raise TreeError(
            f"expected a record {stem}{RECORD} of the run that wrote {path}, {found}; `odtc certify DATA` searches "
            "again"
        )
    record = read_object(f"{stem}{RECORD}", "record of a run", TreeError)
    try:
        validate(record, SHAPE)
    except SchemaError as problem:
        raise TreeError(f"the record {stem}{RECORD} is damaged: {problem}; fit again") from None
    objective, bound = record.get("objective"), record.get("bound")
    if not is_proved(objective, bound):
        known = "no bound" if bound is None else f"the bound {bound:.10g}"
        again = option("model", "auto") if bound is None else f"a longer {option('time_limit')}"
        again += f", or without {option('solver')}" if spec.solving.names_solver else ""
        raise DataError(
            f"expected a run that proved its tree, got one with {known} for a tree that costs {objective}; fit again "
            f"with {again}"
        )
    if spec.confidence is not None:
        spec = _as_searched(spec, stem, record)
    data = data or data_of_tree(path)
    if data is None:
        raise TreeError(f"the data file of {path} is not there as it was; name it with --data")
    model = FORMULATIONS.able(Certifies)[0]
    params = dict(spec.model.params)
    if spec.model.model != model:
        if others := _changed(spec.model.model, params):
            raise ChoiceError(
                f"a certificate does not support {', '.join(others)} of {option('model', spec.model.model)}"
            )
        params = {LAMBDA: params.get(LAMBDA, 0.0)}
    if spec.model.select is not None:
        raise ChoiceError(
            f"a certificate covers all rows of the file, but {option('select')} left some out; fit without it"
        )
    posed = replace(spec.with_model(model=model, params=params, cuts=None), fitting=True)
    problem = pose_run(posed.with_solving(time_limit=None), data)
    return ProvedRun(stem, problem, tree, Path(data), objective, record.get("seconds"))


def _changed(model: str, params: dict) -> list[str]:
    """Return the parameters of a model, except the penalty, that differ from their defaults: a manifest has all."""
    others = {key: value for key, value in params.items() if key != LAMBDA}
    if not others or model not in FORMULATIONS.names():
        return sorted(others)
    given, usual = (params_to_json(parse_params(model, some)) for some in (others, {}))
    return sorted(key for key in others if given.get(key) != usual.get(key))


def _as_searched(spec: RunSpec, stem: str, record: dict) -> RunSpec:
    """Return the specification of a run with a confidence as its search had it: with stricter constraints, and without
    the rows that were set aside."""
    if "fit" in record:
        model, reading = record["fit"]["model"], record["fit"]["reading"]
    else:
        facts = read_object(f"{stem}{MANIFEST}", "manifest", TreeError)
        model, reading = facts["model"], facts["data"]
    tested = replace(spec.reading, hold_out=reading["hold_out"])
    return replace(spec.with_model(constraints=tuple(model["constraints"])), reading=tested)


def certify_later(run: ProvedRun, time_limit: float | None, began: float) -> certifying.Certificate:
    """Make and check the certificate of a run, and write it; the record then states that there is one.

    Parameters
    ----------
    run : ProvedRun
    time_limit : float or None
        Seconds from `began`, of time.monotonic().

    Raises
    ------
    CertificateError
        If the certificate does not prove the tree of the run.
    ChoiceError
        If the search is expected to be long, and `time_limit` is None.
    """
    if time_limit is None and (run.seconds or 0.0) > SOON:
        raise ChoiceError(
            f"the search of this run took {run.seconds:,.0f} seconds, and its certificate takes about as long; start "
            f"it with a limit, for example {option('time_limit', round(2 * run.seconds))}"
        )
    heap = HeapTree.from_tree(run.tree, run.problem.encoded, run.problem.topology, True, True)
    paid = run.problem.module.objective(run.problem, heap)
    if not is_close(paid, run.objective):  # a solver's objective is rounded
        raise CertificateError(f"the tree of the run costs {paid:.10g}, and its record says {run.objective:.10g}")
    found = certifying.certify(run.problem, limit_left(began, time_limit), run.data)
    if not found.checked:
        raise CertificateError(
            f"the check of the certificate did not end in time; allow more time ({option('time_limit')})"
        )
    if not found.optimal or not certifying.is_certified_cost(run.problem, found.objective, paid):
        reached = f"{found.bound:.10g}" if found.bound is not None else "none"
        raise CertificateError(
            f"the certificate proves the bound {reached}, and the tree of the run costs {paid:.10g}; allow "
            f"more time ({option('time_limit')})"
        )
    found = _of_tree(found, run.tree, run.problem)
    with together(run.stem):
        artifacts.write_certificate(found.facts, run.data, run.path)
        fit = read_object(f"{run.stem}{RECORD}", "record of a run", TreeError).get("fit")
        if fit is not None:
            add_to_run(run.stem, {"fit": fit | {"certified": True}})
    return found


def _of_tree(found: certifying.Certificate, tree: Tree, problem: Problem) -> certifying.Certificate:
    """Return the certificate with the tree of the run in place of an equally good one, if its check accepts that."""
    facts = found.facts | {"tree": {key: one for key, one in tree.to_json().items() if key != "labels"}}
    try:
        certificate.check(facts, problem.encoded.dataset)
    except OdtcError:
        return found
    return replace(found, facts=facts)
