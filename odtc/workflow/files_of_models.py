"""Write the files of a model and of its solution, and open them again in a later command."""

import contextlib
import hashlib
import json
import zlib
from dataclasses import replace
from glob import escape
from pathlib import Path

import numpy as np

from odtc.base import phases
from odtc.base.atomic_write import stem_of
from odtc.base.commit import remove, together
from odtc.base.system import read_file
from odtc.base.value_class import value_class
from odtc.base.wording import option
from odtc.data.cells.data_files import STANDARD_INPUT, recorded_data
from odtc.data.dataset import Dataset
from odtc.data.reading import fingerprint, read_as, unlike_recorded
from odtc.data.reading_spec import CLASSIFICATION, ReadingSpec
from odtc.data.task import TASKS
from odtc.errors import ChoiceError, DataError, ManifestError, ModelError, OdtcError, SolutionError
from odtc.fileformats.model_files import FORMATS, read_model, write_model
from odtc.fileformats.solution_files import RawPoint, read_point, write_point
from odtc.model.feasibility import printed_objective
from odtc.model.milp import Model
from odtc.model.solution import Options, Progress, Solution, Termination, proof
from odtc.model.vectors import replaced
from odtc.problem.identity import identified, short
from odtc.solvers.external import point_by_pattern
from odtc.solvers.log_parser import LogFacts
from odtc.solvers.solve import said_in_log
from odtc.solvers.solver import SOLVERS, find_solver
from odtc.trees.heap_tree import HeapTree
from odtc.trees.tree import read_tree
from odtc.verification.certificate import SUFFIX as CERTIFICATE
from odtc.workflow.artifacts import NEAR_BEST, OF_A_START
from odtc.workflow.decoding import tree_of
from odtc.workflow.manifest import SUFFIX, Manifest, describe, find_manifest, read_manifest, reselected, write_manifest
from odtc.workflow.provenance.claims import point_of, settled_claim
from odtc.workflow.provenance.described_model import described
from odtc.workflow.results.facts import ProblemFacts
from odtc.workflow.run_record import read_run, write_run

OF_A_MODEL = (
    ".sol",
    ".run.json",
    ".tree.json",
    OF_A_START,
    *NEAR_BEST,
    CERTIFICATE,
    ".html",
)  # files that a run of a model writes next to it


def write_build(
    model: Model,
    stem,
    format: str | None = "mps",
    gzip: bool = False,
    point=None,
    dialect: str | None = None,
    keep: tuple = (),
) -> list[Path]:
    """Write STEM.mps (or .lp), the manifest STEM.odt.json, and the start.

    Older starts next to a new model file are removed, because they belong to another model. The solution, record,
    tree and page of the model that this one replaces are removed, too.

    Parameters
    ----------
    model : Model
        A model of `odtc.build`.
    stem : path
        The path of the files, without the suffixes.
    format : str or None
        A format of `odtc list formats`; None writes no model file.
    gzip : bool
        Whether the model file is compressed.
    point : float64 (columns,) or None
        The start, as returned by `odtc.start`. It goes to STEM.start.sol (HiGHS) and STEM.mst (`name value`).
    dialect : str or None
        A solver, whose start file STEM.start.NAME.SUFFIX is written instead; "all" writes every solver's.
    keep : tuple of path
        Files of the replaced model that stay.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    ModelError
        If the format cannot express the model.
    OutputError
        If a file cannot be written.

    Examples
    --------
    >>> import odtc
    >>> model = odtc.build("examples/monks/monks-1.csv", "flowoct", depth=1, encoding="onehot")
    >>> sorted(path.name for path in odtc.write_build(model, "monks"))
    ['monks.mps', 'monks.odt.json']
    """

    model = identified(model)
    with together(stem):
        return _write_build(model, stem, format, gzip, point, dialect, keep)


def _write_build(model: Model, stem, format, gzip, point, dialect, keep) -> list[Path]:

    files = []
    for old in outdated(model, stem, keep):
        remove(old)
    if format is not None:
        suffix = FORMATS.get(format).SUFFIX + (".gz" if gzip else "")
        cuts = dialect not in (None, "all") and find_solver(dialect).DIALECT.cuts
        digest = hashlib.sha256()
        files.append(write_model(model, f"{stem}{suffix}", format, cuts, digest))
        model = replaced(model, content=digest.hexdigest())
    files.append(write_manifest(model.problem, model, f"{stem}{SUFFIX}"))
    if point is not None:
        # A format that cannot write the model's names uses its own, and a start refers to columns by name.
        model = FORMATS.get(format).renamed(model) if format is not None else model
        files += [write_point(model, point, f"{stem}{suffix}", name) for name, suffix in _start_forms(dialect)]
    if format is not None:
        endings = {find_solver(name).DIALECT.start_suffix for name in SOLVERS.names()}
        beside = Path(stem).parent.glob(f"{escape(Path(stem).name)}.start.*")
        for old in [Path(f"{stem}.mst"), *(path for path in beside if path.suffix in endings)]:
            if old not in files:
                remove(old)
    return files


def outdated(model: Model, stem, keep=()) -> list[Path]:
    """Return the solution, record, tree and page of STEM if they belong to another model than this one; an empty list
    if the manifest is missing, or describes the same model."""

    manifest = Path(f"{stem}{SUFFIX}")
    try:
        facts = json.loads(read_file(manifest))
        same = isinstance(facts, dict) and facts.get("identity") == identified(model).identity
    except OSError:
        return []
    except (ValueError, RecursionError):
        same = False
    if same:
        return []
    there = [path for suffix in OF_A_MODEL if (path := Path(f"{stem}{suffix}")).is_file()]
    kept = [Path(path) for path in keep if path is not None and Path(path).is_file()]
    return [path for path in there if not any(path.samefile(other) for other in kept)]


def write_pricing(model: Model, stem, format: str = "mps", gzip: bool = False) -> list[Path]:
    """Write a pricing problem as STEM.pricing_N.mps (.lp), and return its path."""

    suffix = FORMATS.get(format).SUFFIX + (".gz" if gzip else "")
    return [write_model(model, f"{stem}.{model.name}{suffix}", format)]


def _start_forms(dialect: str | None) -> list[tuple[str, str]]:
    """Return (point format, suffix) of the start files to write."""

    if dialect is None:
        return [("highs", ".start.sol"), ("name-value", ".mst")]
    names = SOLVERS.names() if dialect == "all" else (dialect,)
    chosen = [(name, find_solver(name).DIALECT) for name in names]
    return [(which.start, f".start.{_file_word(name)}{which.start_suffix}") for name, which in chosen if which.start]


def _file_word(solver: str) -> str:
    """Return the name of a solver as part of a file name; if a file describes the solver, the stem of that file."""
    return Path(solver).stem if solver.endswith(".toml") else solver


def write_solution(model: Model, solution: Solution, options: Options, path, start=None) -> list[Path]:
    """Write the solution file (in the format of HiGHS) and STEM.run.json next to it, and return the paths. Objectives
    have the sign of the model file, which may maximise. `start` is the name of the requested start, if it is known.

    Without a solution, an older file of this name is removed, because it could be mistaken for the solution.
    """

    if not solution.model:
        model = identified(model)
        solution = replace(solution, model=model.identity, content=model.content)
    path, solution = Path(path), in_own_sense(model, solution)
    model = replace(model, c=-model.c, offset=-model.offset) if model.maximised else model
    files = []
    # Next to a pipe or a device that the user names, no record is written, so there is nothing to write together.
    with together(stem_of(path)) if path.suffix == ".sol" else contextlib.nullcontext():
        if solution.has_solution:
            files.append(write_point(model, solution.x, path, "highs", solution.termination))
        elif path.is_file():
            remove(path)
        if path.suffix == ".sol":
            files.append(write_run(solution, options, files[0] if files else None, path.with_suffix(""), start))
    return files


def in_own_sense(model: Model, said: Solution | Progress):
    """Return a solution or progress with every objective and bound as in the model file. Every Model minimises, so if
    the file maximises, they are negated, and the bound is an upper bound."""
    if not model.maximised:
        return said
    turned = lambda value: None if value is None else 0.0 - value  # noqa: E731
    if isinstance(said, Progress):
        return replace(said, incumbent=turned(said.incumbent), bound=turned(said.bound))
    history = tuple((seconds, turned(incumbent), turned(bound)) for seconds, incumbent, bound in said.history)
    racers = tuple(replace(racer, objective=turned(racer.objective), bound=turned(racer.bound)) for racer in said.race)
    return replace(
        said,
        objective=turned(said.objective),
        bound=turned(said.bound),
        claimed=turned(said.claimed),
        history=history,
        race=racers,
    )


@value_class
class Opened:
    """A model file read back, with the start next to it, and the facts of its manifest, if there is one."""

    model: Model
    start: np.ndarray | None
    stem: str
    facts: dict
    own_rows: tuple[str, ...] = ()  # names of the rows that the user added, from the manifest


def open_model(path, start_path=None, solvers=()) -> Opened:
    """Read a model file, and compare it with its manifest if there is one next to it.

    `start_path` is a start file, None for the one next to the model (`start_beside`), "none" for no start; `solvers`
    are the names of the solvers that will solve it. Raises ModelError for a file that cannot be read or that lost
    nonzeros on the way, SolutionError for a start of another model.
    """

    model = read_model(path)
    stem = stem_of(path)
    if not model.n_cols:
        raise ModelError(f"expected a model in {str(path)!r}, got a file without columns; write it again")
    facts = dict.fromkeys(("model", "depth", "n_rows", "n_rows_merged", "n_features_encoded"))
    own_rows: tuple[str, ...] = ()
    facts |= {"n_cols": model.n_cols, "n_model_rows": model.n_rows, "nnz": model.nnz}
    if Path(stem + SUFFIX).exists():
        manifest = read_manifest(stem + SUFFIX)
        manifest.expect_model(model.identity, f"the model file {str(path)!r}")
        if "own" not in manifest.facts and (not manifest.content or manifest.content == model.content):
            manifest.expect(model, f"there stands in {str(path)!r}")
        own_rows = tuple(manifest.facts.get("own", {}).get("rows", ()))
        size = model.n_cols, model.n_rows, model.nnz
        facts = ProblemFacts.of(manifest.problem, size, manifest.facts["data"]["n_rows_dropped"]).to_json()
    start_path = start_beside(path, solvers) if start_path is None else start_path
    point = None
    if start_path is not None and str(start_path) != "none":
        raw = read_point(start_path)
        if raw.model and model.identity and raw.model != model.identity:
            raise SolutionError(
                f"the start {str(start_path)!r} belongs to the model {short(raw.model)}…, but the file {str(path)!r} "
                f"is the model {short(model.identity)}…; name another start, or none ({option('start', 'none')})"
            )
        if raw.values is not None:
            try:
                point = raw.on(model.columns)
            except SolutionError as problem:
                raise SolutionError(
                    f"the start {str(start_path)!r} does not fit: {problem}; name another, or none "
                    f"({option('start', 'none')})"
                ) from None
    return Opened(model, point, stem, facts, own_rows)


def start_beside(path, solvers) -> Path | None:
    """Find the start file that `build` wrote next to a model file: the file of the first of these solvers which has
    one in its own format (`build --dialect`), otherwise STEM.start.sol or STEM.mst; None if there is none."""

    stem = stem_of(path)
    own = [f".start.{_file_word(name)}{find_solver(name).DIALECT.start_suffix}" for name in solvers]
    return next((file for ending in (*own, ".start.sol", ".mst") if (file := Path(stem + ending)).exists()), None)


def gzip_words(dialect: str | None) -> str:
    """Return a remark on `--gzip` with a dialect; "" if there is none. Raises ChoiceError if the solver of the dialect
    cannot read the file."""

    if dialect == "all":
        plain = [name for name in SOLVERS.names() if not SOLVERS.get(name).DIALECT.gzip]
        return f"{', '.join(plain)} read no .gz: unpack the model file for them" if plain else ""
    if dialect is not None and not find_solver(dialect).DIALECT.gzip:
        raise ChoiceError(f"--gzip: {dialect} reads no .gz; leave --gzip out, or --dialect")
    return ""


def cut_words(model: Model, dialect: str | None) -> str:
    """Return a sentence on how lazy constraints and user cuts are written in this dialect; "" if the model has none, or
    if no dialect is named."""

    kinds = [(names, section) for names, section in ((model.user_cuts, "USERCUTS"), (model.lazy, "LAZYCONS")) if names]
    if not kinds or dialect is None:
        return ""
    if dialect != "all" and find_solver(dialect).DIALECT.cuts:
        placed = " and ".join(f"constraints {', '.join(names)} are in {section}" for names, section in kinds)
        return f"{placed}, as {dialect} reads them"
    why = "not every solver has" if dialect == "all" else f"{dialect} has no"
    names = ", ".join(name for names, _ in kinds for name in names)
    return f"constraints {names} are written like all others, because {why} sections for cuts"


def original_data(manifest: Manifest, data_path=None) -> tuple[Dataset | None, str]:
    """Read the data file of a manifest again in the same way; return None and the reason if this is not possible.

    Raises ManifestError if the file is not the one that the model was built from.
    """

    facts, path = manifest.facts["data"], _data_path(manifest, data_path)
    instead = "checked against the rows in the manifest"
    if "selection" in facts:
        instead += "; its leaves count and predict only the selected rows, not all rows"
    if facts.get("sha256") is None:
        return None, f"the model was built from data in memory: {instead}"
    if path is None:
        return None, f"the manifest does not name a data file: {instead} (--data names it)"
    if data_path is None and facts["path"] == STANDARD_INPUT:
        return None, f"the model was built from the standard input: {instead} (--data names a file of it)"
    why = unlike_recorded(path, facts["sha256"], "the model")
    if why and data_path is None and not path.exists():
        return None, f"{instead}: {why}"
    if why:
        raise ManifestError(f"{why}; name that one with --data, or build the model again" if path.exists() else why)
    try:
        how = ReadingSpec.from_manifest(facts)
    except (KeyError, TypeError) as problem:
        raise ManifestError(
            f"the manifest {str(manifest.path)!r} does not say how its data was read ({type(problem).__name__}: "
            f"{problem}); "
            "build the model again"
        ) from None
    try:
        return reselected(manifest, read_as(path, how)), ""
    except (KeyError, TypeError, ValueError, IndexError, zlib.error) as problem:
        raise ManifestError(
            f"the manifest {str(manifest.path)!r} does not say which rows were selected ({type(problem).__name__}: "
            f"{problem}); build the model again"
        ) from None


def selected_data(manifest: Manifest, data_path=None) -> tuple[Dataset | None, str]:
    """Return `original_data` if decoding the model needs it: if its rows were selected, because the tree gets all rows
    in its leaves, or if the figures of its task need each row, because a model merges equal rows. For other models
    return None, unless the data is requested, and a sentence if the file has changed."""
    facts = manifest.facts["data"]
    selected, merged = "selection" in facts, not TASKS.get(facts.get("task", CLASSIFICATION)).CLASSES
    if data_path is None and not (selected or merged):
        return None, _change(manifest)
    try:
        return original_data(manifest, data_path)
    except (ManifestError, DataError) as problem:
        if data_path is not None:
            raise
        left = (
            "the leaves count and predict only the selected rows"
            if selected
            else "figures that need each row are left out"
        )
        return None, f"{problem}; {left}"


def _change(manifest: Manifest) -> str:
    """Return a sentence if the data file that a manifest names has changed, is missing, or cannot be compared;
    otherwise ""."""
    path, same, counted = _data_path(manifest), same_file(manifest), "the counts use the rows in the manifest"
    if same:
        return ""
    if manifest.facts["data"].get("sha256") is None or path is None:
        return f"the manifest names no data file that its rows could be held against: {counted}"
    if same is None and path.name == STANDARD_INPUT:
        return f"the model was built from the standard input: {counted} (--data names a file of it)"
    try:
        return f"{counted}: {unlike_recorded(path, manifest.facts['data']['sha256'], 'the model')}"
    except (DataError, OSError, ValueError) as problem:
        return f"{counted}: {problem}"


def same_file(manifest: Manifest, data_path: str | Path | None = None) -> bool | None:
    """Return whether the model was built from the data file at the path of the manifest, or at `data_path`; None if the
    file is missing, or if the manifest does not name a file."""
    stated, path = manifest.facts["data"].get("sha256"), _data_path(manifest, data_path)
    try:
        return None if stated is None or path is None or not path.is_file() else fingerprint(path) == stated
    except (DataError, OSError, ValueError):
        return None


def _data_path(manifest: Manifest, moved: str | Path | None = None) -> Path | None:
    """Return the path of the data file of a manifest, or its new path `moved`; None if the manifest names no file."""
    stated = manifest.facts["data"].get("path")
    if moved is None and not isinstance(stated, str):
        return None
    return recorded_data(manifest.path, stated, moved)


def selection_facts(manifest: Manifest) -> dict:
    """Return {"selection": the manifest's record of how rows were selected}; {} without a selection."""
    facts = manifest.facts["data"].get("selection")
    shown = {key: value for key, value in (facts or {}).items() if key not in ("rows", "weight")}
    return {} if facts is None else {"selection": shown}


def raw_point(path, template=None) -> RawPoint:
    """Read a solution file without interpreting it.

    Parameters
    ----------
    path : path
    template : path or None
        The TOML file that describes the solver (examples/my-solver), if the file has a format of its own.

    Returns
    -------
    RawPoint

    Raises
    ------
    SolutionError
        If the file cannot be read, has no known format, or has no line of the template's `pattern`.
    """

    module = find_solver(str(template)) if template is not None else None
    if module is None or module.PATTERN is None:
        return read_point(path)
    try:
        found = point_by_pattern(module, Path(path))
    except OSError as problem:
        raise SolutionError(f"cannot read the solution {str(path)!r}: {problem.strerror}") from None
    if found is None:
        raise SolutionError(
            f"expected lines in {str(path)!r} that fit `pattern` of {str(template)!r}, got none; is it what this "
            "solver wrote?"
        )
    return found


def open_solution(
    path, manifest_path=None, log_path=None, template=None, of: Model | None = None
) -> tuple[Model, Solution, Manifest]:
    """Read a solution file and its manifest; return (model, solution, manifest). The model is `of`, if it is given,
    otherwise it is built again from the manifest.

    `log_path` is the solver's log, used for facts that are missing in the file itself: how the run ended, and the
    bound. The termination of a solution that is optimal only within a gap is `unknown` if no bound is stated.
    `template` is the TOML file of a solver that odtc does not know, if the file and the log are in its own format.

    Raises SolutionError, ManifestError.
    """

    phases.begin("reading the solution and the model")
    raw = raw_point(path, template)
    # If the file does not state how the run ended, the log decides: a ray or a relaxation looks like a solution.
    solver = find_solver(str(template)) if template is not None else None
    said = said_in_log(log_path, solver) if log_path is not None else LogFacts()
    raw = raw.under(said.termination, said.has_point)
    if manifest_path is not None:
        manifest = read_manifest(manifest_path)
    else:
        manifest = find_manifest(path, raw) if of is None else _manifest_of(of, path)
    record = read_run(path)
    if of is not None and of.as_built is not of and "own" not in manifest.facts:
        x = raw.on(of.columns)  # a point of the edited model, because it is unknown which file was solved
        return of, Solution(x, Termination.UNKNOWN, solver=raw.format, claimed=raw.objective), manifest
    named, content = (record.model, record.content) if record is not None else (raw.model, raw.content)
    manifest.expect_model(named, f"the solution {str(path)!r}")
    problem = manifest.problem
    model = described(manifest, Path(path)) if of is None else of.as_built
    model = replace(model, identity=manifest.identity, content=manifest.content)
    x = point_of(manifest, model, raw, content, Path(path))
    if x is not None and not model.rowless:
        raw.expect_nonzero(model, x)
    claimed = record.claimed if record is not None else raw.objective
    objective = printed_objective(model, x[: model.n_cols], claimed) if x is not None else None
    if x is not None and model.rowless:  # the costs of its columns are not known, but the cost of the tree is
        objective = problem.module.objective(problem, tree_of(model, x))
    if record is not None:
        solution = replace(record, x=x, objective=objective)
    else:
        termination, bound, doubt = raw.termination or Termination.UNKNOWN, said.bound, ""
        if x is not None:
            termination, bound, doubt = proof(termination, objective, bound, raw.within_gap or said.within_gap)
        if doubt and log_path is None:
            doubt += "; --log FILE names its log, which may"
        solution = Solution(
            x, termination, objective, bound, solver=raw.format, nodes=said.nodes, claimed=raw.objective, message=doubt
        )
    remarks = [model.recorded if not model.rowless else "", raw.left_out(model.n_cols) if x is not None else ""]
    solution = replace(solution, message="; ".join(filter(None, [*remarks, solution.message])))
    model, solution = settled_claim(manifest, model, replace(solution, model=named, content=content), Path(path))
    return model, solution, manifest


def _manifest_of(model: Model, path) -> Manifest:
    """Return the manifest of a model in memory: the file with the stem of the solution file if it describes this model,
    otherwise a new manifest without a file."""

    built = identified(model.as_built)
    beside = Path(stem_of(path) + SUFFIX)
    if beside.is_file():
        manifest = read_manifest(beside)
        if manifest.identity == built.identity:
            return manifest
    return Manifest(describe(built.problem, built), built.problem, built.columns)


def known_trees(model: Model, solution_path, manifest: Manifest) -> list[tuple[str, HeapTree]]:
    """Return (file name, tree) of the trees next to a solution and its manifest: the starts, and the tree of the last
    run. Files that cannot be read, or belong to another model, are left out."""

    problem, found = model.problem, []
    stems = dict.fromkeys([stem_of(solution_path), str(manifest.path).removesuffix(SUFFIX)])
    for path in (Path(stem + ending) for stem in stems for ending in (".start.sol", ".mst", ".tree.json")):
        if not path.is_file():
            continue
        try:
            if path.suffix == ".json":
                heap = HeapTree.from_tree(read_tree(path), problem.encoded, problem.topology)
            else:
                raw = read_point(path)
                if raw.model != manifest.identity or (x := manifest.point(raw)) is None:
                    continue
                heap = tree_of(model, x)
            found.append((path.name, heap))
        except OdtcError:
            continue
    return found
