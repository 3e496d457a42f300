"""A run as one self-contained page of HTML: the tree, how it was proved, and how to get it again.

No statement in the run's files is taken on trust: the model is built again from the manifest, the point checked
against it, the tree decoded and counted, and the bound searched again, as by `odtc verify`.
"""

import json
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np

import odtc
from odtc.base import phases
from odtc.base.templates import render, template_folders
from odtc.base.text import first_few, of, percent
from odtc.base.value_class import value_class
from odtc.base.wording import option
from odtc.data.cost_matrix import cost_text
from odtc.data.dataset import Dataset
from odtc.data.reading_rows import read_rows
from odtc.data.splits import Splits
from odtc.data.task import TASKS, expect_classes
from odtc.errors import CertificateError, ChoiceError, DataError, TreeError
from odtc.evaluation import board
from odtc.evaluation.assured_record import AssuredRecord, counted_again, read_assured
from odtc.evaluation.leaf_curves import leaf_curves, leaf_lines
from odtc.problem.parameters import params_to_json, parse_params
from odtc.problem.problem import Problem
from odtc.trees.places import Place
from odtc.trees.rendering import render_tree
from odtc.trees.tree import Tree, read_tree, tree_of
from odtc.verification.certificate import read_certificate
from odtc.workflow.constrained.assurance import rate_interval, share_interval
from odtc.workflow.manifest import SUFFIX
from odtc.workflow.near_optimal_set import SUFFIX as NEAR
from odtc.workflow.near_optimal_set import NearOptimalSet, read_near_optimal_set
from odtc.workflow.posing import default_params, held_out_rows, test_rows
from odtc.workflow.provenance.named_files import OF_A_STEM
from odtc.workflow.provenance.tree_file import SolvedRun
from odtc.workflow.provenance.without_model import OpenedFit, open_record
from odtc.workflow.results.facts import kept_facts, score, score_of
from odtc.workflow.results.fit import Fit
from odtc.workflow.results.lines import robust_lines, smallest_text

LONGEST = 200  # characters of a parameter that a command on a page shows
LARGEST_CERTIFICATE = 2**20  # bytes of a certificate that a page contains; most have some thousands
WIDTH, HEIGHT, MARGIN = 640, 240, 64  # of the plot of bound and incumbent, in pixels


@value_class
class Run:
    """A run as far as it is known: its tree always; the rest if its record, or the manifest and the solution, are
    there."""

    name: str
    tree: Tree
    opened: OpenedFit = OpenedFit()
    said: board.StatedProof | None = None  # the known proof of a tree without a fit
    assured: AssuredRecord | None = None  # the claims about new rows, if the run had a confidence
    certificate: str = ""  # the name of the certificate next to the run, if there is one
    proof: dict | None = None  # the certificate itself, if it can be read and a page can contain it
    near: NearOptimalSet | None = None  # the near-optimal trees, if they were counted (STEM.near-optimal.json)

    @property
    def fit(self) -> Fit | None:
        """The run, computed again."""
        return self.opened.fit

    @property
    def note(self) -> str:
        """Why its data was not read, or why nothing but its tree is known; "" if neither is so."""
        return self.opened.note

    @property
    def rows_in_leaves(self) -> str:
        """The rows in the leaves of its tree, in words."""
        return "all rows" if "all_rows" in self.facts else "selected rows" if self.opened.selected else "training"

    @property
    def facts(self) -> dict:
        return self.fit.facts if self.fit else {}

    @property
    def derived(self) -> list[str]:
        """The keys of its figures that a search has recomputed."""
        again = self.opened.again
        return [] if self.fit is None or again is None else again.derived(self.fit)

    @property
    def stated(self) -> board.StatedProof | None:
        """The proof of the tree; None if nothing is known."""
        if self.fit is None:
            return self.said
        proof, checks = self.fit.proof, self.fit.decoded.checks
        failed = tuple(dict.fromkeys(check.name for check in checks if not check.passed))
        return board.StatedProof(self.fit.proved, proof.objective, proof.bound, failed, "bound" not in self.derived)


def open_run(given, data=None, seconds: float | None = 0.0) -> Run:
    """Read the run of a stem, or of one of its files; `data` is the data file, if it moved, `seconds` are for a search
    that derives its bound again (odtc.workflow.provenance.searched_again), by default none. Raises the errors of
    `odtc verify`, TreeError if there is no run."""
    run = _open(given, data, seconds)
    path = Path(given).with_name(run.name + NEAR)
    proof = path.with_name(f"{run.name}.certificate.json")
    run = replace(
        run,
        assured=read_assured(path.with_name(f"{run.name}.run.json")),
        certificate=proof.name if proof.is_file() else "",
        proof=_proof(proof),
    )
    return replace(run, near=read_near_optimal_set(path)) if path.is_file() else run


def _proof(path: Path) -> dict | None:
    """Return the certificate of this name; None without one, if it cannot be read, or if it is too large for a page."""
    try:
        small = path.is_file() and path.stat().st_size <= LARGEST_CERTIFICATE
        return read_certificate(path) if small else None
    except (OSError, CertificateError):
        return None


def _open(given, data, seconds: float | None) -> Run:
    text = str(given)
    stem = next((text[: -len(ending)] for ending in OF_A_STEM if text.endswith(ending)), text)
    if Path(stem + ".sol").exists() and Path(stem + SUFFIX).exists():
        run, tree_path = SolvedRun.open(stem + ".sol", (stem + SUFFIX,), data, seconds), Path(stem + ".tree.json")
        fit = run.with_tree(tree_path)[0] if tree_path.is_file() else run.fit(simplify=True)
        return Run(Path(stem).name, fit.tree, run.opened(fit))
    path = next(
        (path for path in (Path(stem + ".tree.json"), Path(text)) if path.is_file() and path.suffix == ".json"), None
    )
    if path is None and Path(text).is_file():
        raise TreeError(
            f"expected a run or a tree in JSON, got the file {text!r}; name a file of rows with {option('data')}"
        )
    if path is None:
        raise TreeError(
            f"found no run {stem!r}: neither STEM.tree.json nor STEM.sol with STEM{SUFFIX} is there; give the STEM of "
            "`odtc fit -o STEM`, or a file with a tree in JSON"
        )
    tree, opened = read_tree(path), open_record(stem, path, data, seconds)
    return Run(Path(stem).name, tree if opened.fit is None else opened.fit.tree, opened)


def render_page(run: Run, test: str | Path | None = None, templates=None, groups: tuple[str, ...] = ()) -> str:
    """Return the page; `test` is a file with labelled rows, instead of those that the run has set aside; `groups` are
    compared in the file (otherwise in the training rows). Raises DataError for a file that does not fit,
    ChoiceError for groups that do not exist."""
    phases.begin("drawing the page")
    tree, rows = run.tree, run.rows_in_leaves
    task, own = TASKS.get(tree.task), tree
    tree = tree.with_answers()[0].shown
    labelled = _test_rows(run, test) if test is not None else rows_set_aside(run)
    scores = _scores(tree, rows, labelled, test) if task.CLASSES else []
    found = tree.places()
    training = run.fit.dataset if run.fit and not run.opened.selected else None
    satisfied = kept_facts(run.fit.problem, run.fit.decoded.heap, own, labelled) if run.fit else []
    assured = run.assured
    if assured is not None and run.fit:
        assured = counted_again(assured, run.fit.problem, own, labelled)
    facts = {
        "version": odtc.__version__,
        "run": run,
        "near": run.near,
        "tree": tree,
        "facts": run.facts,
        "claim": run.stated,
        "constrained": bool(run.facts.get("constraints")),
        "compared": _compared(run, tree, training if test is None else labelled, groups),
        "compared_in": "training rows" if test is None else "test rows",
        "verdict": _verdict(run, rows, satisfied, labelled, scores, test),
        "missed": any(entry["satisfied_on_test"] is False for entry in satisfied),
        "scores": [(name, score, _rates(score, name.startswith("test"))) for name, score in scores],
        "metrics": moved_lines(run, labelled) if task.CLASSES else metric_lines(run, labelled),
        "of_classes": task.CLASSES,
        "pieces": task.PIECES,
        "warnings": board.warnings(
            run.stated, run.fit.dataset if run.fit else None, None if test is None else labelled
        ),
        "satisfied": _satisfied(run, satisfied, own, labelled),
        "assured": assured,
        "cart_constraints": board.constraints_of_cart(run.fit),
        "matter": board.columns_that_matter(found),
        "rules": board.rules(found, tree),
        "curves": leaf_curves(found, tree, training),
        "leaf_lines": leaf_lines(found, tree, training),
        "histograms": _embedded(board.histograms(found, training, tree.features)),
        "nodes": _embedded([_node(place, task.CLASSES) for place in found]),
        "columns": _embedded(_columns(found)),
        "classes": _embedded(list(tree.classes)),
        "separate": tree.missing == "separate",
        "smallest": smallest_text(run.fit) if run.fit else "",
        "checks": run.fit.decoded.checks if run.fit else [],
        "plot": progress_plot(run.fit.solution.history) if run.fit else None,
        "families": families(run.fit.model) if run.fit and run.fit.model else ([], []),
        "commands": commands(run),
        "checker": None if run.proof is None else _checker(run.proof, own),
        "features": _features(run),
        "text": render_tree(own),
        "picture": render_tree(own, "svg", templates),
    }
    return render("report/page.html.jinja", templates, **facts)


def _scores(tree: Tree, rows: str, labelled: Dataset | None, test) -> list[tuple[str, dict]]:
    """Return the scores of a tree of classes with their names: on the rows to test on first, because new rows can be
    expected to score like these, and on its training rows."""
    found = [] if labelled is None else [(labelled, "rows set aside" if test is None else Path(test).name)]
    scores = [(f"test ({whose})", score(tree, given)) for given, whose in found]
    return scores + ([(rows, training_score(tree))] if all(leaf.rows for leaf in tree.leaves()) else [])


def _compared(run: Run, tree: Tree, rows: Dataset | None, groups: tuple[str, ...]) -> list[dict]:
    """Return the figures of groups of some rows; raises ChoiceError for groups without rows or classes."""
    if rows is None and groups:
        raise ChoiceError(
            f"--group: expected rows to compare groups in, got none; name a file of them with {option('test')}"
        )
    if groups:
        expect_classes(run.tree.task, "--group")
    if rows is None or not TASKS.get(tree.task).CLASSES:
        return []
    of_constraints = tuple(of.text for of in run.fit.problem.encoded.groups) if run.fit else ()
    return board.compared_groups(tree, rows, groups, of_constraints)


def _verdict(run: Run, rows: str, kept: list[dict], labelled: Dataset | None, scores: list, test) -> str:
    """Return the sentences on top of the page."""
    n_rows = sum(sum(leaf.rows) for leaf in run.tree.leaves())
    trained = of(n_rows, f"{rows} row" if rows == "training" else rows.removesuffix("s")) if n_rows else ""
    unseen, labelled = None, None if labelled is None else labelled.with_known_labels()
    if labelled is not None and labelled.n_rows:
        seen = 0 if test is None else board.shared_rows(run.fit.dataset if run.fit else None, labelled)
        what = "test row" if seen >= board.SAME_ROWS * labelled.n_rows else "unseen row"
        figures = "; ".join(line for name, line in metric_lines(run, labelled) if name == "test")
        if scores:
            score = scores[0][1]
            figures = f"{percent(score['correct'], score['n_rows'])} are classified correctly"
        unseen = board.Unseen(of(labelled.n_rows, what), figures)
    given = run.fit.problem.constraints if run.fit else ()
    names = {
        name: f"class {name}" if text == name else text for name, text in zip(run.tree.classes, run.tree.shown.classes)
    }
    return " ".join(board.verdict(run.stated, trained, list(zip(given, kept)), unseen, names))


def _rates(score: dict, tested: bool) -> list[dict]:
    """Return the rates of a confusion matrix, with their intervals if they are rates of test rows."""
    return [
        {
            "name": name,
            "counted": counted,
            "among": among,
            "interval": share_interval(counted, among) if tested else None,
        }
        for name, counted, among in board.class_rates(score)
    ]


def _satisfied(run: Run, kept: list[dict], tree: Tree, labelled: Dataset | None) -> list[dict]:
    """Return the entries of `kept_facts` with their figures as the page shows them."""
    shown = []
    for given, entry in zip(run.fit.problem.constraints if run.fit else (), kept):
        figures = {
            key: "–" if entry[key] is None else board.shown_figure(given, entry[key])
            for key in ("requested", "training", "test")
        }
        interval = None if entry["test"] is None else rate_interval(given, run.fit.problem, tree, labelled)
        shown.append(entry | figures | {"interval": interval})
    return shown


def training_score(tree: Tree) -> dict:
    """Accuracy and confusion matrix from the rows in the leaves, under the keys of `report.score`."""
    K = len(tree.classes)
    table = np.zeros((K, K), dtype=int)
    for leaf in tree.leaves():
        table[:, leaf.label] += leaf.rows
    return score_of(table, 0, tree.classes)


def _test_rows(run: Run, test) -> Dataset:
    if run.fit:
        return test_rows(_with_data(run.fit), test)
    return read_rows(test, run.tree.features, run.tree.classes, run.tree.target, require_labels=True)


def kept_of_run(tree: str | Path) -> list[dict]:
    """Return the constraints of a fit without a model, by the record next to its tree, and the figures of the tree on
    its training rows and on the rows that the run set aside.

    Parameters
    ----------
    tree : path
        STEM.tree.json.

    Returns
    -------
    list of dict
        As of `kept_facts`; empty without constraints, and if the data of the run is not there.

    Raises
    ------
    OdtcError
        If a file of the run is broken.
    """
    run = open_run(tree)
    if run.fit is None:
        return []
    try:
        labelled = rows_set_aside(run)
    except (DataError, ChoiceError):  # rows without labels
        labelled = None
    return kept_facts(run.fit.problem, run.fit.decoded.heap, run.tree, labelled)


def rows_set_aside(run: Run) -> Dataset | None:
    """Return the rows of the data file that the run has set aside before the search; None without any."""
    return held_out_rows(_with_data(run.fit)) if run.fit and run.fit.dataset is not None else None


def _with_data(fit: Fit) -> Problem:
    """Return the problem with its data set: a manifest's knows the rows, but not the auxiliary columns."""
    return replace(fit.problem, encoded=replace(fit.problem.encoded, dataset=fit.dataset))


def _checker(proof: dict, tree: Tree) -> dict:
    """Return the second checker and a certificate as a page contains them, and whether it is for the page's tree."""
    (*_, own) = template_folders(None)
    folders = (own / "certificate-checker", own.parent / "examples" / "certificate-checker")  # installed, in a checkout
    folder = next(folder for folder in folders if folder.is_dir())
    modules = {path.name: path.read_text("utf-8").removeprefix("#!/usr/bin/env node\n") for path in folder.glob("*.js")}
    certified = proof.get("tree")
    return {
        "modules": dict(sorted(modules.items())),
        "certificate": json.dumps(proof).replace("<", "\\u003c"),  # in ASCII
        "same": isinstance(certified, dict) and certified.get("root") == tree.to_json()["root"],
    }


def _embedded(value) -> str:
    """Return JSON that a script of a page can contain."""
    return (
        json.dumps(value, ensure_ascii=False)
        .replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )


def metric_lines(run: Run, labelled: Dataset | None) -> list[tuple[str, str]]:
    """Return (rows, a line of figures) for a run whose task is not classification; the rows to test on come first."""
    if run.fit is None:
        return []
    metrics = replace(run.fit, labelled=labelled).metrics or {}
    task = TASKS.get(run.tree.task)
    rows = {"test": "test", "cart_test": "CART, test", "training": "training", "cart": "CART"}
    return [
        (words, line) for name, words in rows.items() if name in metrics for line in task.figure_lines(metrics[name])
    ]


def moved_lines(run: Run, labelled: Dataset | None) -> list[tuple[str, str]]:
    """Return (rows, a line of figures) for a run whose rows may be moved (odtc.trees.attack)."""
    lines = robust_lines(replace(run.fit, labelled=labelled)) if run.fit is not None else []
    return [(f"robust accuracy, {name} rows", line) for name, line in lines]


def _node(place: Place, of_classes: bool) -> dict:
    """Return a node in the form with which the script of the page draws it and routes through it; its rows are counted
    by class."""
    label = place.node.label if place.is_leaf else int(np.argmax(place.node.counts)) if place.node.counts else None
    return {
        "id": place.number,
        "parent": place.parent,
        "side": place.side,
        "asks": place.asks,
        "words": place.words,
        "leaf": place.is_leaf,
        "label": label,
        "rows": list(place.node.rows) if of_classes else [],
        "weights": list(place.node.counts) if of_classes else [],
        "rule": list(place.conditions),
        "question": _question(place.question) if place.question else None,
    }


def _question(question) -> dict:
    terms = [[weight, _question(part)] for weight, part in question.terms]
    return {
        "kind": question.kind,
        "feature": question.feature.name if question.feature else None,
        "values": list(question.values),
        "terms": terms,
    }


def _columns(found: list[Place]) -> list[dict]:
    """Return the columns that the tree uses, each once."""
    asked = [part.feature for place in found if place.question for part in place.question.parts]
    return [
        {"name": feature.name, "kind": feature.kind, "levels": list(feature.levels)} for feature in dict.fromkeys(asked)
    ]


def families(model) -> tuple[list, list]:
    """Return (constraint families, variable families) of a model: (name, how many, nonzeros) and (name, how many,
    role, whether integer)."""
    A = model.A.tocsr()
    rows = [(block.name, block.size, int(A.indptr[block.stop] - A.indptr[block.start])) for block in model.rows]
    whole = model.integrality.astype(bool)
    columns = [
        (block.name, block.size, str(block.role or ""), bool(whole[block.start : block.stop].any()))
        for block in model.columns
    ]
    return rows, columns


def _features(run: Run) -> list[tuple[str, str, str, int]]:
    """Return (name, kind, levels, splits) of each column of the data; -1 splits if the encoding is not known."""
    encoded = run.fit.problem.encoded if run.fit else None
    n = len(run.tree.features)
    counted = Splits.of(encoded.splits).per_feature(n).tolist() if encoded else [0] * n
    return [
        (
            shown.name if shown.name == feature.name else f"{shown.name} ({feature.name})",
            feature.kind,
            first_few(shown.levels, 12),
            count if encoded else -1,
        )
        for feature, shown, count in zip(run.tree.features, run.tree.shown.features, counted)
    ]


def commands(run: Run) -> list[str]:
    """Return the commands that make the run again, from the current folder."""
    if not run.fit:
        return []
    spec, cost = run.opened.spec, run.opened.spec.model.cost
    cost = cost_text(cost, run.tree.classes) if isinstance(cost, list) else cost
    again = spec.with_model(params=_chosen_params(run.fit.problem), cost=cost)
    fit = [shlex.join(again.command(run.opened.data_path, run.name))] if run.opened.repeats else []
    checks = [shlex.join(["odtc", "verify", f"{run.name}.sol"])] if run.fit.model is not None else []
    return [*fit, *checks, shlex.join(["odtc", "report", run.name])]


def _chosen_params(problem) -> dict:
    """Return the parameters that `odtc fit` has other defaults of."""
    usual = params_to_json(parse_params(problem.formulation, default_params(problem.formulation, fitting=True)))
    return {
        key: value
        for key, value in params_to_json(problem.params).items()
        if value != usual.get(key)
        and len(str(value)) <= LONGEST  # longer ones were made by the run itself, such as the columns of cg
    }


def progress_plot(history) -> dict | None:
    """Return bound and incumbent over time as the corners of two lines in pixels, None without two points in time. A
    bound below 0 is trivial and is drawn at 0."""
    if len(history) < 2:
        return None
    last = max(entry[0] for entry in history) or 1.0
    incumbents = [(seconds, value) for seconds, value, _ in history if value is not None]
    bounds = [(seconds, max(value, 0.0)) for seconds, _, value in history if value is not None]
    top = max([value for _, value in [*incumbents, *bounds]], default=1.0) or 1.0

    def steps(points):
        corners, before = [], None
        for seconds, value in [*points, *([(last, points[-1][1])] if points else [])]:
            if before is not None:
                corners.append((seconds, before))
            corners.append((seconds, value))
            before = value
        return " ".join(
            f"{MARGIN + x / last * (WIDTH - MARGIN - 12):.1f},{HEIGHT - 28 - y / top * (HEIGHT - 44):.1f}"
            for x, y in corners
        )

    ticks = [(HEIGHT - 28 - share * (HEIGHT - 44), f"{top * share:.4g}") for share in (0, 0.25, 0.5, 0.75, 1)]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "margin": MARGIN,
        "incumbent": steps(incumbents),
        "bound": steps(bounds),
        "ticks": ticks,
        "seconds": last,
        "rows": [
            (f"{s:.2f}", "–" if i is None else f"{i:.6g}", "–" if b is None else f"{b:.6g}") for s, i, b in history
        ],
    }


def render_report(tree, name: str = "tree") -> str:
    """Write a tree as one HTML page, as `odtc report` does.

    Parameters
    ----------
    tree : Tree, Fit or fitted estimator
        For a fit the page states the proof.
    name : str
        The title.

    Returns
    -------
    str

    Raises
    ------
    TreeError
        If it is neither.

    Examples
    --------
    >>> import odtc
    >>> fitted = odtc.fit("examples/monks/monks-1.csv", depth=1, encoding="onehot")
    >>> odtc.render_report(fitted, "monks")[:15]
    '<!DOCTYPE html>'
    """
    proved, said = getattr(tree, "is_optimal_", None), None
    if isinstance(tree, Fit):
        said = board.StatedProof(tree.proved, tree.proof.objective, tree.proof.bound)
    elif proved is not None:
        said = board.StatedProof(proved, tree.objective_, tree.bound_)
    return render_page(Run(name, tree_of(tree), said=said))
