"""A study for a paper: the cells of `odtc bench models` as CSV and LaTeX, and performance profiles.

The form of a file follows from its name: .md (odtc.evaluation.benchmark_table), .csv and .parquet with every number in
full, .tex with a table of the package booktabs.
"""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from odtc.base.templates.filters import tex
from odtc.base.text import did_you_mean
from odtc.data.frames import write_parquet
from odtc.errors import ChoiceError
from odtc.evaluation.benchmark_table import (
    LEAST_SECONDS,
    NOT_KNOWN,
    by_problem,
    conditions,
    figures,
    in_order,
    is_proved,
    kept_columns,
    labelled,
    markdown,
    number_text,
)
from odtc.trees.drawing import PALETTE

COLUMNS = {
    "data": str,
    "depth": int,
    **dict.fromkeys(("formulation", "constraints", "reading", "encoding", "start", "solver"), str),
    **dict.fromkeys(("time_limit", "lp_limit"), float),
    **dict.fromkeys(("threads", "seed"), int),
    **dict.fromkeys(("columns", "rows", "nonzeros"), int),
    **dict.fromkeys(("build_seconds", "lp_bound"), float),
    **dict.fromkeys(("lp_termination", "termination"), str),
    **dict.fromkeys(("objective", "bound", "gap"), float),
    "nodes": int,
    **dict.fromkeys(("cpu_seconds", "seconds"), float),
    "verified": bool,
    "message": str,
}
KEYS = ("encoding", "start", "solver", "time_limit", "lp_limit", "threads", "seed")  # of the key of a cell, as they are
NOT_IN_LATEX = ("build s", "result", "gap", "wall s", "verified")  # columns of Markdown


def render_study(results: list[dict], path: Path | None) -> str | bytes:
    """Return the table of these cells in the form of the file's name; Markdown without one.

    Raises
    ------
    ChoiceError
        For a name that ends otherwise.
    """
    suffix = ".md" if path is None else path.suffix.lower()
    if suffix not in WRITERS:
        raise ChoiceError(f"-o: expected a table that ends in {', '.join(WRITERS)}, got {str(path)!r}")
    return WRITERS[suffix](results)


def _rows(results: list[dict]) -> list[dict]:
    """Return COLUMNS of each cell, numbers as they were measured; None for unknown values."""
    rows = []
    for result in in_order(results):
        key = result["key"]
        own = {
            "constraints": "; ".join(key.get("constraints") or ()),
            "reading": json.dumps(key["reading"]),
        }
        own |= {name: key.get(name) for name in KEYS}
        rows.append({name: (result | own)[name] for name in COLUMNS})
    return rows


def to_csv(results: list[dict]) -> str:
    """Return a line for each cell; unknown values are empty."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in _rows(results):
        writer.writerow(["" if value is None else value for value in row.values()])
    return stream.getvalue()


def to_parquet(results: list[dict]) -> bytes:
    """Write a row for each cell, each column of one type."""
    stream = io.BytesIO()
    write_parquet(_rows(results), COLUMNS, stream)
    return stream.getvalue()


def to_latex(results: list[dict]) -> str:
    """Return a table of booktabs; the quickest of the proofs of one data set and depth is bold."""
    results = labelled(in_order(results))
    quickest = set()
    for cells in by_problem([result for result in results if is_proved(result)]).values():
        least = min(map(_seconds, cells))
        quickest |= {id(result) for result in cells if _seconds(result) <= least}
    rows = []
    for result in results:
        proved, seconds = is_proved(result), number_text(result["cpu_seconds"], 3)
        if id(result) in quickest:
            seconds = f"\\textbf{{{seconds}}}"
        elif not proved:
            seconds = tex(result["termination"].replace("_", " "))
        cells = {head: text for head, text in figures(result).items() if head not in NOT_IN_LATEX}
        rows.append(cells | {"data": tex(result["data"]), "formulation": tex(result["formulation"]), "CPU s": seconds})
    kept = kept_columns(rows)
    table = [kept, *([cells[head].replace(NOT_KNOWN, "--") for head in kept] for cells in rows)]
    lines = [f"{' & '.join(cells)} \\\\" for cells in table]
    shape = "".join("l" if head in ("data", "formulation") else "r" for head in kept)
    head = [f"% {line}" for line in conditions(results)]
    head += ["% \\usepackage{booktabs}", f"\\begin{{tabular}}{{{shape}}}", "\\toprule", lines[0], "\\midrule"]
    return "\n".join([*head, *lines[1:], "\\bottomrule", "\\end{tabular}"]) + "\n"


WRITERS: dict[str, Callable[[list[dict]], str | bytes]] = {
    ".md": markdown,
    ".csv": to_csv,
    ".tex": to_latex,
    ".parquet": to_parquet,
}


METRICS = {"cpu": "CPU seconds", "wall": "seconds", "nodes": "nodes"}  # of a solve, and their words


def profiles(results: list[dict], metric: str = "cpu") -> dict[str, np.ndarray]:
    """Performance profiles (Dolan & Moré 2002) of the formulations of a study.

    With t_pf the CPU seconds, or another metric, of the proof of problem p by formulation f, ∞ without one:

        r_pf = t_pf / min_g t_pg,      ρ_f(τ) = |{p : r_pf ≤ τ}| / |{p}|

    Parameters
    ----------
    results : list of dict
        Cells of `odtc bench models`.
    metric : str
        A key of METRICS. A proof without a count of nodes, such as the proof of a linear program, has 1 node.

    Returns
    -------
    dict of str to float64 (problems,)
        r of each formulation in rising order, over the problems for which all of them have a cell; infinite if it has
        no proof.

    Raises
    ------
    ChoiceError
        If there are fewer than two formulations, or no problem that all have; or for another metric.
    """
    if metric not in METRICS:
        known = ", ".join(METRICS)
        raise ChoiceError(f"--metric: expected one of {known}, got {metric!r}{did_you_mean(metric, METRICS)}")
    times: dict[str, dict[tuple, float]] = {}
    for problem, cells in by_problem(labelled(in_order(results))).items():
        for result in cells:
            proved = _measured(result, metric) if is_proved(result) else np.inf
            times.setdefault(result["formulation"], {})[problem] = proved
    if len(times) < 2:
        raise ChoiceError(
            "expected results of two or more formulations to compare, got results of one; name more with --formulations"
        )
    common = sorted(set.intersection(*(set(of) for of in times.values())))
    if not common:
        raise ChoiceError(f"expected a data set and depth that all of {', '.join(times)} have a cell of, got none")
    table = np.array([[of[problem] for problem in common] for of in times.values()])
    best = table.min(axis=0)
    with np.errstate(invalid="ignore"):
        ratio = np.where(np.isinf(table), np.inf, table / np.where(np.isinf(best), 1.0, best))
    return {form: np.sort(line) for form, line in zip(times, ratio)}


def _measured(result: dict, metric: str) -> float:
    """Return the measure of a proof; infinite if it is not known."""
    if metric == "nodes":
        return max(float(result["nodes"] or 0), 1.0)
    return _seconds(result if metric == "cpu" else result | {"cpu_seconds": None})


def draw_profiles(found: dict[str, np.ndarray], ax, metric: str = "cpu") -> None:
    """Draw the profiles as steps: how many of the problems are proved within τ times the least of a metric."""
    finite = np.concatenate([line[np.isfinite(line)] for line in found.values()])
    last = 1.2 * max(2.0, finite.max(initial=1.0))
    for place, (form, ratios) in enumerate(found.items()):
        known = ratios[np.isfinite(ratios)]
        x = np.concatenate([[1.0], known, [last]])
        share = np.concatenate([[(known <= 1).sum()], np.arange(1, len(known) + 1), [len(known)]]) / len(ratios)
        style = ("-", "--", ":", "-.")[place // len(PALETTE) % 4]
        label = f"{form} (proved {len(known)} of {len(ratios)})"
        ax.step(x, share, where="post", label=label, color=PALETTE[place % len(PALETTE)], linestyle=style)
    ax.set(xscale="log", xlabel=f"τ: {METRICS[metric]} over the fewest", ylabel="share of problems proved within τ")
    ax.set(ylim=(0, 1.03), xlim=(1, last))
    ax.legend(frameon=False, loc="lower right", fontsize=8)
    ax.grid(alpha=0.25)


def _seconds(result: dict) -> float:
    """Return the CPU seconds of a solve; its wall seconds if only these are known; infinity if neither is."""
    taken = result["cpu_seconds"] if result["cpu_seconds"] is not None else result["seconds"]
    return np.inf if taken is None else max(taken, LEAST_SECONDS)
