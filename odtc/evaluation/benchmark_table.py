"""Results of `odtc bench models` as Markdown: a line for each cell, with the peers, and a summary by variant."""

import math
from collections.abc import Sequence

# Shorter solves cannot be distinguished, so their ratios are not computed.
LEAST_SECONDS = 0.01
NOT_KNOWN = "–"
# If a solver had less of a core when its limit came, its result does not characterise the formulation.
BUSY = 0.8


def markdown(results: list[dict]) -> str:
    """Return these results as Markdown; if a cell was measured more than once, the last."""
    results = labelled(latest(results))
    pairs = {id(result): peer for result, peer in pair_results(results)}
    parts = [*conditions(results), ""]
    parts += _table([_cells(result, pairs.get(id(result))) for result in sorted(results, key=_order)])
    summary = _summary(results) if pairs or len({result["data"] for result in results}) > 1 else []
    return "\n".join([*parts, *[""] * bool(summary), *summary, *_notes(results)]) + "\n"


def latest(results: list[dict]) -> list[dict]:
    """Return the last result of each cell. If data files of one name have different content, the first digits of their
    SHA-256 follow the name."""
    last = list({_place(result): result for result in results}.values())
    contents: dict[str, set[str]] = {}
    for result in last:
        contents.setdefault(result["data"], set()).add(result["key"]["data"])
    return [
        result | {"data": f"{result['data']} {result['key']['data'][:8]}"}
        if len(contents[result["data"]]) > 1
        else result
        for result in last
    ]


def labelled(results: list[dict]) -> list[dict]:
    """Return results with the names that tables print: the data with its constraints and with each setting in which
    these results differ, and the formulation with its start."""
    settings = [_settings(result) for result in results]
    own = [words for words, result in zip(settings, results) if not result["peer"]]
    every = dict.fromkeys(name for words in own for name in words)
    varied = [name for name in every if len({words.get(name) for words in own}) > 1]
    named = []
    for result, words in zip(results, settings):
        remarks = [*result["key"].get("constraints", ()), *(words[name] for name in varied if name in words)]
        start = result["key"].get("start")
        data = " ".join([result["data"], *(f"({remark})" for remark in remarks)])
        form = result["formulation"] + (f" (start: {start})" if start not in (None, "auto") else "")
        named.append(result | {"data": data, "formulation": form})
    return named


def _settings(result: dict) -> dict[str, str]:
    """Return the settings of a cell that are not in every line of a table, in words."""
    key = result["key"]
    reading = {name: ",".join(value) if isinstance(value, list) else value for name, value in key["reading"].items()}
    named = reading | {name: key[name] for name in ("encoding", "seed", "threads", "gap", "solver") if name in key}
    limits = {"time_limit": f"{key['time_limit']:g} s", "lp_limit": f"root LP {key['lp_limit']:g} s"}
    return {name: f"{name.replace('_', ' ')} {value}" for name, value in named.items()} | limits


def in_order(results: list[dict]) -> list[dict]:
    """Return the latest results by depth and data, peers behind the others."""
    return sorted(latest(results), key=_order)


def conditions(results: list[dict]) -> list[str]:
    """Return a sentence for each solver and limit of these results."""
    return [_conditions(group) for group in _groups(results)]


def pair_results(results: list[dict]) -> list[tuple[dict, dict]]:
    """Return pairs (a variant's result, a peer's result) of the same data and depth under the same solver and
    limits."""
    peers = {}
    for result in results:
        if result["peer"]:
            peers.setdefault(_rows_and_limits(result), []).append(result)
    own = [result for result in results if not result["peer"]]
    return [(result, peer) for result in own for peer in peers.get(_rows_and_limits(result), ())]


def optima_agree(result: dict, peer: dict) -> bool:
    """Return whether two proven optima are equal: a peer may count the rows that are correct, negated."""
    own, theirs = result["objective"], peer["objective"]
    return any(math.isclose(own, value, rel_tol=1e-6, abs_tol=1e-6) for value in (theirs, result["n_rows"] + theirs))


def is_proved(result: dict) -> bool:
    return result["termination"] == "optimal"


def _starved(result: dict) -> str:
    """Return a remark on a solve that the limit ended while it had less than BUSY of one core."""
    if result["cpu_seconds"] is None:  # not counted by every system
        return ""
    share = result["cpu_seconds"] / max(result["seconds"] or 0, LEAST_SECONDS)
    limited = result["termination"] == "time_limit" and share < BUSY
    return f" (had {100 * share:.0f} % of a core)" if limited else ""


def by_problem(results: list[dict]) -> dict[tuple, list[dict]]:
    """Return results by their problem, solver and limits. The model of a peer does not state its splits, so it belongs
    to every encoding of its data."""
    problems: dict[tuple, list[dict]] = {}
    for result in results:
        if not result["peer"]:
            problems.setdefault((*_rows_and_limits(result), result["key"].get("encoding")), []).append(result)
    for result in results:
        if result["peer"]:
            own = _rows_and_limits(result)
            for problem in [one for one in problems if one[:-1] == own] or [(*own, None)]:
                problems.setdefault(problem, []).append(result)
    return problems


def _rows_and_limits(result: dict) -> tuple:
    """Return the data, depth and constraints of a cell, and its solver and limits."""
    key = result["key"]
    return (
        key["data"],
        str(key["reading"]),
        key["depth"],
        key["solver"],
        key["time_limit"],
        key["threads"],
        str(key.get("constraints")),
    )


def _place(result: dict) -> str:
    return str({name: value for name, value in result["key"].items() if name != "odtc"})


def _order(result: dict) -> tuple:
    return result["depth"], result["data"], result["peer"]


def _groups(results: list[dict]) -> list[tuple]:
    names = ("solver", "threads", "time_limit", "gap", "lp_limit", "odtc")
    return list(dict.fromkeys(tuple(result["key"][name] for name in names) for result in results))


def _conditions(group: tuple) -> str:
    solver, threads, limit, gap, lp_limit, code = group
    return (
        f"{solver}, {threads or 'its own number of'} thread{'s' * (threads != 1)}, {limit:g} s a solve, gap {gap:g}; "
        f"root LP by HiGHS within {lp_limit:g} s; odtc {code}."
    )


def figures(result: dict) -> dict[str, str]:
    """Return the figures of a cell as tables show them, by the heads of their columns."""
    return {
        "data": result["data"],
        "depth": str(result["depth"]),
        "formulation": result["formulation"],
        **{name: whole_text(result[name]) for name in ("columns", "rows", "nonzeros")},
        "build s": number_text(result["build_seconds"], 3),
        "root LP": number_text(result["lp_bound"]),
        "result": result["termination"],
        "objective": number_text(result["objective"]),
        "bound": number_text(result["bound"]),
        "gap": NOT_KNOWN if result["gap"] is None else f"{100 * result['gap']:.1f} %",
        "nodes": whole_text(result["nodes"]),
        "CPU s": number_text(result["cpu_seconds"], 3),
        "wall s": number_text(result["seconds"], 3),
        "verified": {True: "yes", False: "NO", None: NOT_KNOWN}[result["verified"]],
    }


def _cells(result: dict, peer: dict | None) -> dict[str, str]:
    """Return the figures of a cell with remarks on what was not finished, and its ratios to a peer."""
    cells = figures(result) | {"nonzeros peer/this": NOT_KNOWN, "CPU peer/this": NOT_KNOWN}
    cells["result"] += _starved(result)
    if result["lp_termination"] not in (None, "optimal"):
        cells["root LP"] = f"not finished ({result['lp_termination']})"
    if peer and result["nonzeros"] and peer["nonzeros"]:
        cells["nonzeros peer/this"] = f"{peer['nonzeros'] / result['nonzeros']:.2f}"
        if is_proved(result) and is_proved(peer):
            agree = optima_agree(result, peer)
            cells["CPU peer/this"] = f"{_faster(result, peer):.2f}" if agree else "OPTIMA DIFFER"
    return cells


def _summary(results: list[dict]) -> list[str]:
    """Return a table of formulations: their solved cells, and sums and geometric means over pairs with a peer."""
    lines = []
    pairs = pair_results(results)
    depths = sorted({result["depth"] for result in results})
    for depth in [*depths, None] if len(depths) > 1 else depths:
        mine = [result for result in results if depth in (None, result["depth"])]
        for form in dict.fromkeys(result["formulation"] for result in mine if not result["peer"]):
            own = [result for result in mine if result["formulation"] == form]
            beside = [(a, b) for a, b in pairs if a["formulation"] == form and depth in (None, a["depth"])]
            both = [(a, b) for a, b in beside if is_proved(a) and is_proved(b)]
            sizes = [b["nonzeros"] / a["nonzeros"] for a, b in beside if a["nonzeros"] and b["nonzeros"]]
            with_peer = {
                "pairs with a peer": len(beside),
                "solved by this": sum(is_proved(a) for a, _ in beside),
                "by the peer": sum(is_proved(b) for _, b in beside),
                "by both": len(both),
            }
            lines.append(
                {
                    "formulation": form,
                    "depth": "all" if depth is None else str(depth),
                    "cells": str(len(own)),
                    "proven optimal": str(sum(map(is_proved, own))),
                    **{head: str(many) if pairs else NOT_KNOWN for head, many in with_peer.items()},
                    "nonzeros peer/this": _mean(sizes),
                    "CPU peer/this where both solve": _mean([_faster(a, b) for a, b in both]),
                }
            )
    return _table(lines)


def _notes(results: list[dict]) -> list[str]:
    said = [
        f"* {result['data']} depth {result['depth']} {result['formulation']}: {result['message']}"
        for result in results
        if result["message"]
    ]
    words = ["CPU seconds are the solver's own, without reading or building."]
    if pair_results(results):
        words.append("Ratios are geometric means; above 1, the formulation of odtc is smaller or faster than the peer.")
    if any(":fit" in result["formulation"] for result in results):
        words.append("Those of a loop (`:fit`) include all its rounds and its own work.")
    if any(result["termination"] == "refused" for result in results):
        words.append("`refused`: no model was solved, for the reason below.")
    said += _different_optima(results)
    return ["", " ".join(words), *[""] * bool(said), *said]


def _different_optima(results: list[dict]) -> list[str]:
    """Report the problems for which formulations prove different optima, because their times are not comparable."""
    said = []
    for cells in by_problem(results).values():
        proved = {r["formulation"]: r["objective"] for r in cells if is_proved(r) and not r["peer"]}
        if proved and max(proved.values()) - min(proved.values()) > 1e-6 * max(1.0, *map(abs, proved.values())):
            optima = ", ".join(f"{form} {number_text(value)}" for form, value in proved.items())
            said.append(
                f"* {cells[0]['data']} depth {cells[0]['depth']}: the proved optima differ ({optima}), because these "
                "formulations have different trees or penalties (`odtc info NAME`); do not compare their times."
            )
    return said


def _faster(result: dict, peer: dict) -> float:
    counted = None not in (peer["cpu_seconds"], result["cpu_seconds"])  # not by every system
    what = "cpu_seconds" if counted else "seconds"
    return max(peer[what], LEAST_SECONDS) / max(result[what], LEAST_SECONDS)


def _mean(ratios: list[float]) -> str:
    return f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}" if ratios else NOT_KNOWN


def _table(lines: list[dict[str, str]]) -> list[str]:
    """Return the lines of a table, without the columns in which no cell is known."""
    kept = kept_columns(lines)
    return markdown_lines(kept, [[cells[head] for head in kept] for cells in lines])


def markdown_lines(head: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """Return a table as lines of Markdown."""
    escaped = [[cell.replace("|", "\\|") for cell in cells] for cells in (head, ["---"] * len(head), *lines)]
    return [f"| {' | '.join(cells)} |" for cells in escaped]


def kept_columns(lines: list[dict[str, str]]) -> list[str]:
    """Return the heads of the columns in which some cell is known."""
    return [head for head in lines[0] if any(cells[head] != NOT_KNOWN for cells in lines)] if lines else []


def number_text(value, digits: int = 6) -> str:
    """Return a figure of a cell as tables show it."""
    if value is None:
        return NOT_KNOWN
    return f"{0.0 if abs(value) < 1e-9 else value:.{digits}g}"


def whole_text(value) -> str:
    """Return a count of a cell as tables show it."""
    return NOT_KNOWN if value is None else f"{value:,}"
