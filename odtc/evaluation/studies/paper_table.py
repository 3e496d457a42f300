"""Our figures of a paper's table next to the printed ones, as Markdown or CSV."""

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from odtc.errors import ChoiceError
from odtc.evaluation.benchmark_table import markdown_lines
from odtc.evaluation.studies.paper import Cell
from odtc.evaluation.studies.paper_protocols import DataFile, Line, Protocol

PERCENT = ("test", "train", "kept")
LOWER, HIGHER = "lower", "higher"
SLACK = 5.0  # seconds beyond its limit in which a solver may end
COLUMNS = ("study", "data", "depth", "figure", "method", "printed", "ours", "error", "difference", "mark")
COLUMNS += ("samples", "of_samples", "proved", "seconds", "time_limit", "note")
INSTANCES = ("study", "data", "depth", "method", "lambda", "seed", "n_train", "termination", "proved", "gap")
INSTANCES += ("seconds", "cpu_seconds", "time_limit", "note")


def lines_of(protocol: Protocol, cells: Sequence[Cell], found: dict[str, dict]) -> list[dict[str, Any]]:
    """Return a line for each figure of each cell of a table, with COLUMNS; None for unknown values.

    `ours` is the mean over the samples that are finished, `error` its standard error, `proved` the number of trees
    that are proved (of `cg`: the best over its splits), `seconds` the mean of the last fit. A `mark` shows that a
    figure differs from the printed one by more than the tolerance.
    """
    groups: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.line.name, cell.method.name].append(cell)
    lines = []
    for mine in groups.values():
        cell, results = mine[0], [found.get(fit.key) for fit in (one.last(found) for one in mine) if fit is not None]
        ended = [result for result in results if result is not None]
        for figure in _figures(protocol, cell):
            values = [result[figure] for result in ended if result.get(figure) is not None]
            values = [100 * value for value in values] if figure in PERCENT else values
            printed = cell.line.printed.get((figure, cell.method.of))
            facts = {
                "study": protocol.name,
                "data": cell.line.data,
                "depth": cell.line.depth,
                "figure": figure,
                "method": cell.method.name,
                "printed": printed,
                "ours": float(np.mean(values)) if values else None,
                "error": float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None,
                "samples": len(values),
                "of_samples": len(mine),
                "proved": sum(bool(result.get("proved")) for result in ended),
                "seconds": float(np.mean([result["seconds"] for result in ended])) if ended else None,
                "time_limit": cell.spec.solving.time_limit,
                "note": next((result["error"] for result in ended if result["error"]), ""),
            }
            lines.append(facts | _difference(facts, protocol.tolerance))
    return [{name: line[name] for name in COLUMNS} for line in lines]


def _figures(protocol: Protocol, cell: Cell) -> list[str]:
    """Return the figures that the table prints of a method; for a method that the paper does not have, the figures of
    the table."""
    printed = [figure for figure, method in cell.line.printed if method == cell.method.of]
    every = dict.fromkeys(figure for line in protocol.lines for figure, _ in line.printed)
    return printed or [figure for figure in every if figure != "kept" or cell.method.select]


def _difference(facts: dict[str, Any], tolerance: float) -> dict[str, Any]:
    if facts["printed"] is None or facts["ours"] is None:
        return {"difference": None, "mark": ""}
    apart = round(facts["ours"], 1) - facts["printed"]
    mark = "" if abs(apart) <= tolerance + 1e-9 or facts["figure"] == "seconds" else HIGHER if apart > 0 else LOWER
    return {"difference": round(apart, 4), "mark": mark}


def instances_of(protocol: Protocol, cells: Sequence[Cell], found: dict[str, dict]) -> list[dict[str, Any]]:
    """Return a line for each finished fit that chooses λ, with INSTANCES: the data of a figure of proofs."""
    lines = []
    for cell in cells:
        for fit in (fit for fits in cell.choosing for fit in fits):
            if (result := found.get(fit.key)) is not None:
                own = {
                    "study": protocol.name,
                    "data": cell.line.data,
                    "depth": cell.line.depth,
                    "method": cell.method.name,
                    "lambda": fit.penalty[1] if fit.penalty else 0.0,
                    "seed": fit.split.seeds[0],
                    "time_limit": fit.spec.solving.time_limit,
                    "note": result["error"],
                }
                lines.append({name: (result | own).get(name) for name in INSTANCES})
    return lines


def facts_of(protocol: Protocol, cells: Sequence[Cell], found: dict[str, dict]) -> dict[str, Any]:
    """Return the table as JSON."""
    lines = instances_of(protocol, cells, found) if protocol.proved else lines_of(protocol, cells, found)
    return {"study": protocol.name, "title": protocol.title, "source": protocol.source, "lines": lines}


def render(protocol: Protocol, cells: Sequence[Cell], found: dict[str, dict], path: Path | None) -> str:
    """Return the table in the format of the file's name, Markdown without one. Raises ChoiceError for another name."""
    suffix = ".md" if path is None else path.suffix.lower()
    if suffix not in (".md", ".csv"):
        raise ChoiceError(f"-o: expected a table that ends in .md or .csv, got {str(path)!r}")
    lines = facts_of(protocol, cells, found)["lines"]
    if suffix == ".csv":
        stream = io.StringIO()
        writer = csv.DictWriter(stream, INSTANCES if protocol.proved else COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in line.items()} for line in lines)
        return stream.getvalue()
    head = [f"# {protocol.title}", "", f"{protocol.source}. {protocol.note}".strip(), "", *_conditions(cells), ""]
    body = _proofs(protocol, lines) if protocol.proved else _comparison(protocol, lines)
    return "\n".join([*head, *body]) + "\n"


def _cell(value: Any) -> Any:
    return "" if value is None else round(value, 4) if isinstance(value, float) else value


def _conditions(cells: Sequence[Cell]) -> list[str]:
    if not cells:
        return ["No data set of this table is in the folder."]
    limits = {cell.method.name: cell.spec.solving.time_limit for cell in cells}
    told = [f"{limit:g} s a fit for {', '.join(_named(limits, limit))}" for limit in dict.fromkeys(limits.values())]
    solver = next((cell.spec.solving.solver for cell in cells if not cell.method.own), None)
    return [f"{'; '.join(told)} (paper: {cells[0].protocol.time_limit:g} s); {solver or 'no solver'}, one thread."]


def _named(limits: dict[str, float], limit: float) -> list[str]:
    return [name for name, own in limits.items() if own == limit]


def _comparison(protocol: Protocol, lines: list[dict[str, Any]]) -> list[str]:
    """Return the lines as Markdown, and for each method how many of its figures are near the printed ones."""
    head = ("set", "depth", "figure", "method", "printed", "ours", "difference", "samples", "proved", "s")
    table: list[list[str]] = []
    for line in lines:
        error = "" if line["error"] is None else f" ± {line['error']:.1f}"
        ours = "–" if line["ours"] is None else f"{line['ours']:.1f}{error}"
        apart = "–" if line["difference"] is None else f"{line['difference']:+.1f} {line['mark']}".rstrip()
        counts = f"{line['samples']}/{line['of_samples']}", str(line["proved"]), _number(line["seconds"])
        own = line["data"], str(line["depth"]), line["figure"], line["method"], _number(line["printed"])
        table.append([*own, ours, apart, *counts])
    notes = dict.fromkeys(
        f"* {line['data']}@{line['depth']}, {line['method']}: {line['note']}" for line in lines if line["note"]
    )
    wins = _wins(lines) if protocol.wins else []
    return [*markdown_lines(head, table), "", *_summary(protocol, lines), *wins, *([""] if notes else []), *notes]


def _summary(protocol: Protocol, lines: list[dict[str, Any]]) -> list[str]:
    said = []
    for method, figure in dict.fromkeys((line["method"], line["figure"]) for line in lines):
        mine = [line for line in lines if (line["method"], line["figure"]) == (method, figure)]
        both = [line for line in mine if line["difference"] is not None]
        if figure in ("test", "train") and both:
            near = sum(not line["mark"] for line in both)
            least = sum(line["mark"] != LOWER for line in both)
            said.append(
                f"* {method}, {figure}: {near} of {len(both)} figures within {protocol.tolerance:g} points of the "
                f"printed ones, {least} within or above; {len(mine) - len(both)} have nothing to compare"
            )
    return said


def _wins(lines: list[dict[str, Any]]) -> list[str]:
    """Return how often each method has the highest test accuracy, by depth, as printed and by us: over the sets where
    all methods have both figures; methods that tie all win."""
    head = ("depth", "method", "wins, printed", "wins, ours", "sets")
    table: list[list[str]] = []
    for depth in sorted({line["depth"] for line in lines}):
        sets: dict[str, dict[str, dict]] = defaultdict(dict)
        for line in lines:
            if line["figure"] == "test" and line["depth"] == depth and line["printed"] is not None:
                sets[line["data"]][line["method"]] = line
        whole = [own for own in sets.values() if all(line["ours"] is not None for line in own.values())]
        for method in dict.fromkeys(method for own in whole for method in own):
            mine = [own for own in whole if method in own]
            won = [
                sum(own[method][key] >= max(line[key] for line in own.values()) - 1e-9 for own in mine)
                for key in ("printed", "ours")
            ]
            table.append([str(depth), method, *map(str, won), str(len(mine))])
    return ["", *markdown_lines(head, table)] if table else []


def _proofs(protocol: Protocol, lines: list[dict[str, Any]]) -> list[str]:
    """Return proofs within the limit and the mean gap by size, for λ = 0 and λ > 0."""
    head: tuple[str, ...] = ("λ", "method", "instances", "proved", "within the limit of (s)", "printed")
    table: list[list[str]] = []
    groups = dict.fromkeys((line["lambda"] > 0, line["method"]) for line in lines)
    for positive, method in sorted(groups):
        mine = [line for line in lines if (line["lambda"] > 0, line["method"]) == (positive, method)]
        printed = {protocol.time_limit: "–"} | {
            fact["seconds"]: f"{fact['count']} within {fact['seconds']:g} s"
            for fact in protocol.proved
            if (fact["positive"], fact["method"]) == (positive, method)
        }
        for seconds, shown in sorted(printed.items()):
            limit = seconds * mine[0]["time_limit"] / protocol.time_limit
            proved = sum(bool(line["proved"]) and line["seconds"] <= limit + SLACK for line in mine)
            table.append(["> 0" if positive else "0", method, str(len(mine)), str(proved), f"{limit:g}", shown])
    told = [*markdown_lines(head, table), "", "Mean gap in % when a fit ends (100 without a bound):", ""]
    head = ("rows · 2^depth up to", *dict.fromkeys(line["method"] for line in lines))
    gaps: list[list[str]] = []
    sizes: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        if line["n_train"] is not None:
            sizes[int(np.ceil(np.log2(line["n_train"] * 2 ** line["depth"])))].append(line)
    for power, mine in sorted(sizes.items()):
        means = [_gap(line for line in mine if line["method"] == method) for method in head[1:]]
        gaps.append([f"{2**power:,}", *means])
    return [*told, *markdown_lines(head, gaps)]


def _gap(lines: Iterable[dict[str, Any]]) -> str:
    gaps = [0.0 if line["proved"] else min(1.0, 1.0 if line["gap"] is None else line["gap"]) for line in lines]
    return f"{100 * np.mean(gaps):.1f}" if gaps else "–"


def data_table(lines: Sequence[Line], files: dict[str, DataFile], folder: Path) -> list[list[str]]:
    """For each data set of these lines: name, complete rows, columns, classes, SHA-256, and whether the folder has
    it."""
    wanted = dict.fromkeys(line.data for line in lines)
    return [
        [one.name, str(one.rows), str(one.columns), str(one.classes), one.sha256 or "-", one.state(folder)]
        for one in (files[name] for name in wanted)
    ]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"
