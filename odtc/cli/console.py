"""What a person or a program sees: results and JSON on stdout, words and the live line on stderr."""

import json
import sys
import time
from contextlib import contextmanager
from pathlib import Path


def say(text: str) -> None:
    print(text, file=sys.stderr)


def print_json(facts: dict) -> None:
    print(json.dumps(facts, ensure_ascii=False, indent=2, allow_nan=False))


def csv_column(title: str, cells: list[str]) -> str:
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([[title], *([cell] for cell in cells)])
    return text.getvalue()


def say_dropped(dataset) -> None:
    """How many rows of the data file are not in the data set, and why."""
    if dataset.n_dropped:
        say(f"dropped {dataset.n_dropped} rows of {dataset.n_dropped + dataset.n_rows}: {why_dropped(dataset)}")


def why_dropped(dataset) -> str:
    """Why rows were left out; which of them --missing separate would keep."""
    incomplete = dataset.n_dropped - dataset.n_unlabelled
    words = [f"{incomplete} with missing cells (--missing separate keeps them)"] if incomplete else []
    words += [f"{dataset.n_unlabelled} without a label or a weight"] if dataset.n_unlabelled else []
    return ", ".join(words)


def on_one_line(text: str) -> str:
    """The text with what is no sign to print escaped, so that it stays in its cell of a table."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def proof(solution) -> str:
    if solution.bound is None:
        return ""
    return f", bound {solution.bound:.10g}, gap {100 * solution.gap:.2f} %"


def refuse_no_solution(facts, solution, files, as_json, quiet: bool = False) -> None:
    """Raises NoSolutionError, and prints what there is to say first, unless another result will be printed."""
    from odtc.errors import NoSolutionError
    from odtc.workflow import pipeline, run_facts

    facts = facts | run_facts.solve_facts(solution) | {"files": [str(f) for f in files]}
    if quiet:
        pass
    elif as_json:
        print_json(facts)
    else:
        print_race(facts)
    raise NoSolutionError(
        pipeline.no_solution_text(
            solution, facts["model"] is not None, facts.get("constraints", ()), "selection" in facts
        )
    )


def print_tree_result(tree, decoded, facts, as_json) -> None:
    from odtc.trees.rendering import render_tree

    if as_json:
        print_json(facts)
    else:
        sys.stdout.write(render_tree(tree))
        print()
        proved = {"optimal": _optimal(facts["gap"]), "unknown": "not proved"}.get(
            facts["termination"], facts["termination"].replace("_", " ")
        )
        proved = proved if decoded.verified else "NOT VERIFIED"
        bound = f", bound {facts['bound']:.10g}, gap {100 * facts['gap']:.2f} %" if facts["bound"] is not None else ""
        seconds = f", {facts['seconds']:.2f} s" if facts["seconds"] is not None else ""
        nodes = f", {facts['nodes']} nodes" if facts["nodes"] is not None else ""
        print(f"{proved}: objective {facts['objective']:.10g}{bound}{nodes}{seconds}, {facts['solver']}")
        print_race(facts)
        of_all = "all_rows" in facts
        weighted = "train_weighted_accuracy" in facts
        ours, theirs = (
            f", by weight {100 * facts[key]:.2f} %" if weighted else ""
            for key in ("train_weighted_accuracy", "cart_train_weighted_accuracy")
        )
        print(
            f"{'selected' if of_all else 'training'}  {facts['train_correct']} of {facts['n_rows']} "
            f"{'rows ' * weighted}right ({100 * facts['train_accuracy']:.2f} %{ours}), "
            f"CART {facts['cart_train_correct']} ({100 * facts['cart_train_accuracy']:.2f} %{theirs})"
        )
        if facts["cost"] is not None:
            print(
                f"loss      {facts['loss']:.10g}, CART {facts['cart_loss']:.10g}; balanced accuracy "
                f"{100 * facts['train_balanced_accuracy']:.2f} %"
            )
        if of_all:
            _print_all_rows(facts)
        if facts.get("test_accuracy") is not None:
            print(
                f"test      {100 * facts['test_accuracy']:.2f} % of {facts['n_test_rows']} rows right, "
                f"CART {100 * facts['cart_test_accuracy']:.2f} %"
                + (f" ({facts['n_test_rows_dropped']} more have missing cells)" if facts["n_test_rows_dropped"] else "")
            )
        print(f"verified  {sum(c.passed for c in decoded.checks)} of {len(decoded.checks)} checks passed")
        if facts["files"]:
            say(f"wrote {', '.join(facts['files'])}")
    say_note(decoded.solution)
    refuse_failed(decoded)


def _print_all_rows(facts) -> None:
    """The figures of all rows that those of the tree were selected from."""
    every, cart = facts["all_rows"], facts["cart_all_rows"]
    ours, theirs = (
        f", by weight {100 * one['weighted_accuracy']:.2f} %" if one["weighted_accuracy"] is not None else ""
        for one in (every, cart)
    )
    print(
        f"all rows  {every['correct']} of {every['n_rows']} right ({100 * every['accuracy']:.2f} %{ours}), "
        f"CART of the selected rows {cart['correct']} ({100 * cart['accuracy']:.2f} %{theirs})"
    )
    if facts["cost"] is not None:
        print(
            f"          loss {every['loss']:.10g}, CART {cart['loss']:.10g}; balanced accuracy "
            f"{100 * every['balanced_accuracy']:.2f} %"
        )
    if every["relabelled"]:
        print(
            f"          {every['relabelled']} of {facts['n_leaves']} leaves predict what loses least of all their "
            f"rows, not of the selected"
        )
    if heavy := facts["selection"].get("n_heavy"):
        say(
            f"note: {heavy} of the selected rows weigh as much as all errors of the first tree, so that they stay "
            f"right: objective, loss and constraints of the "
            "selected rows are by these weights, those of all rows are not"
        )
    if facts["cost"] is None and every["accuracy"] < facts["train_accuracy"]:
        say(
            f"note: {100 - 100 * facts['train_accuracy']:.2f} % of the selected rows are wrong, but "
            f"{100 - 100 * every['accuracy']:.2f} % of all: "
            "behind a wrong row that was selected others may stand that were not; select more of them, or train on all"
        )
    for broken in every["breaks"]:
        say(f"note: the constraint is kept on the selected rows only: {broken}")


def say_note(solution) -> None:
    """What is to be known of a solution besides its numbers."""
    if solution.message:
        say(f"note: {' '.join(solution.message.split())}")


def _optimal(gap: float | None) -> str:
    if gap is None:
        return "optimal, by its word alone"
    return "proved optimal" if gap <= 1e-6 else "optimal within the gap"


def refuse_failed(decoded) -> None:
    from odtc.errors import SolutionError

    failed = [check for check in decoded.checks if not check.passed]
    if failed:
        words = "; ".join(f"{check.name} ({check.text})" for check in failed)
        raise SolutionError(f"{len(failed)} of {len(decoded.checks)} checks of the solution failed: {words}")


def print_checks(checks) -> None:
    width = max(len(check.name) for check in checks)
    for check in checks:
        print(f"{'ok  ' if check.passed else 'FAIL'}  {check.name:<{width}}  {check.text}")
    failed = sum(not check.passed for check in checks)
    print(f"{failed} of {len(checks)} checks failed" if failed else f"all {len(checks)} checks passed")


def print_score(facts: dict) -> None:
    accuracy = "no row has a known label" if facts["accuracy"] is None else f"{100 * facts['accuracy']:.2f} %"
    print(f"accuracy  {accuracy}  ({facts['correct']} of {facts['n_rows']} rows right)")
    if facts["n_rows_without_known_label"]:
        print(f"left out  {facts['n_rows_without_known_label']} rows whose label is missing or unknown")
    names = list(map(on_one_line, facts["classes"]))
    cells = [["true \\ predicted", *names]]
    cells += [[name, *map(str, row)] for name, row in zip(names, facts["confusion"])]
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]
    for row in cells:
        print("  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]))


def print_race(facts: dict) -> None:
    """A line for each solver of a race, where there was one: how it ended, with what."""
    racers = facts.get("race", ())
    width = max((len(racer["name"]) for racer in racers), default=0)
    for at, racer in enumerate(racers):
        if not racer["solver"]:
            words = f"left out: {racer['message']}"
        else:
            has = [f"{what} {racer[what]:.10g}" for what in ("objective", "bound") if racer[what] is not None]
            ended = {"interrupted": "stopped", "error": f"failed ({racer['message']})"}.get(
                racer["termination"], racer["termination"].replace("_", " ")
            )
            gave = f"; it gave the {' and the '.join(racer['gave'])}" if racer["won"] else ""
            words = f"{ended} after {racer['seconds']:.2f} s with {', '.join(has) or 'neither point nor bound'}{gave}"
        print(f"{'' if at else 'race':<8}  {racer['name']:<{width}}  {words}")


@contextmanager
def counted(total: int, what: str):
    """A function to call with a word for each of `total` pieces that is done: a bar on stderr where that is
    a terminal, else a line for every tenth of them."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import Progress as Bar

        with Bar(console=Console(stderr=True)) as bar:
            task = bar.add_task(what, total=total)
            yield lambda word: bar.update(task, advance=1, description=word)
        return
    done = 0

    def tell(word: str) -> None:
        nonlocal done
        done += 1
        if done * 10 // total > (done - 1) * 10 // total:
            say(f"{what}: {done} of {total} ({word})")

    yield tell


@contextmanager
def _log_files(paths, files: list):
    """Binary streams, which become files also where solvers contradict each other: as evidence."""
    from contextlib import ExitStack

    from odtc.base.atomic_write import new_file
    from odtc.errors import ContradictionError

    crossed = None
    with ExitStack() as stack:
        streams = [stack.enter_context(new_file(path)) for path in paths]
        files.extend(paths)
        try:
            yield streams
        except ContradictionError as problem:
            crossed = problem
    if crossed is not None:
        raise crossed


@contextmanager
def race_logs(stem, names, files: list):
    """What hears the logs of the solvers of a race, each in its STEM.NAME.log (nowhere for stem None);
    None where there is no race."""
    if not names:
        yield None
        return
    with _log_files([Path(f"{stem}.{name}.log") for name in names] if stem is not None else [], files) as streams:
        heard = dict(zip(names, streams))

        def hear(name: str, text: str) -> None:
            _say_own(text, f"{name}: ")
            if name in heard:
                heard[name].write(text.encode("utf-8"))

        yield hear


def _say_own(text: str, whose: str = "") -> None:
    """Says a line of a log that is odtc's own: what it did with the model, before the solver's words."""
    if text.startswith("odtc: "):
        say(whose + text.rstrip())


@contextmanager
def live(solver: str, stem, files: list, racers=()):
    """(progress, log): a live line on stderr where it is a terminal, and the log in STEM.log. The
    rounds of a loop, and the lines of the log that are odtc's own, are lines that stay, on any stderr."""
    from contextlib import ExitStack

    with ExitStack() as stack:
        stream = None
        if stem is not None:
            (stream,) = stack.enter_context(_log_files([Path(f"{stem}.log")], files))

        def log(text: str) -> None:
            if not racers:
                _say_own(text)
            if stream is not None:
                stream.write(text.encode("utf-8"))
                stream.flush()  # who follows it sees what the solver says now

        if not sys.stderr.isatty():
            yield (lambda progress: say(str(progress.round)) if progress.round else None), log
            return
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        began, last = time.monotonic(), [None]

        def line() -> Text:
            said = last[0]
            words = [solver, f"{time.monotonic() - began:.1f} s"]
            if said is not None:
                # Before its first relaxation is solved a solver's bound says nothing.
                known = said.gap is not None and said.gap < 10
                show = lambda value: "-" if value is None else f"{value:.6g}"  # noqa: E731
                words += [
                    f"incumbent {show(said.incumbent)}",
                    f"bound {show(said.bound) if known else '-'}",
                    f"gap {f'{100 * said.gap:.2f} %' if known else '-'}",
                    f"nodes {show(said.nodes)}",
                ]
            return Text("  ".join(words))

        console = Console(stderr=True)
        stack.enter_context(Live(get_renderable=line, console=console, refresh_per_second=4, transient=True))

        def take(progress) -> None:
            last[0] = progress
            if progress.round:
                console.print(Text(str(progress.round)))

        yield take, log
