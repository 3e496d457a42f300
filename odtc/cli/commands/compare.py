"""`odtc compare` and `odtc plot`: comparison of trees and runs, and pictures of them."""

import re
from pathlib import Path
from typing import Annotated

import typer

from odtc.base.text import count_of, percent_text, table_text, verb
from odtc.base.wording import option
from odtc.cli import console
from odtc.cli.help_page import CommandHelp, GroupHelp
from odtc.cli.options import LAYOUT_PART, DataFile, Json, TreeFile, described, labelled, takes, value_option
from odtc.errors import ChoiceError


class PictureKinds(GroupHelp):
    """Group of commands that lists the types of pictures if a file is given in place of one."""

    def resolve_command(self, ctx, args: list[str]):
        if args and "." in args[0]:
            kinds = ", ".join(self.list_commands(ctx))
            ctx.fail(
                f"expected the kind of picture before the files ({kinds}), got {args[0]!r}; "
                "`odtc export TREE.json --to png -o FILE.png` draws a tree"
            )
        return super().resolve_command(ctx, args)


plot = typer.Typer(
    cls=PictureKinds,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Draw runs and trees with matplotlib: FILE.png, .svg or .pdf.",
)
Picture = Annotated[Path, value_option("-o", "FILE", "Output file: .png, .svg or .pdf.")]
MAX_INCHES = 50  # a picture of 7,500 points a side
Inches = Annotated[str | None, value_option("--size", "WIDTHxHEIGHT", "Size of the picture in inches (6.4x4.2).")]
Runs = Annotated[list[str], typer.Argument(metavar="A B …", help="Stems of runs, or files of trees.")]


@takes(LAYOUT_PART)
def compare(
    runs: Runs,
    spec,
    data: Annotated[Path | None, value_option("--data", "DATA", "Rows on which to compare the predictions.")] = None,
    rows: Annotated[int, value_option("--rows", "N", "Number of rows with different predictions to show.")] = 10,
    o: Annotated[
        Path | None, value_option("-o", "FILE", "Also draw accuracy against size (.png, .svg or .pdf).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare trees or runs: size, accuracy, recorded objective and bound, and different predictions."""
    from odtc.evaluation.compare import compare as compared

    if rows < 0:
        raise ChoiceError(f"--rows: expected a number of rows, 0 or more, got {rows}")
    if o is not None:
        _expect_picture(o)
    found = compared(runs, data, _reading(data, spec))
    for entry in found.entries:
        if entry.run.note:
            console.say(f"note: {entry.name}: {entry.run.note}")
        failed = [] if entry.run.fit is None else [one for one in entry.run.fit.decoded.checks if not one.passed]
        if failed:
            names = ", ".join(dict.fromkeys(check.name for check in failed))
            console.say(
                f"note: {entry.name} does not pass these checks, so that its proof is none: {names}; see odtc verify"
            )
    files = [_picture(o, _sized(found))] if o else []
    if as_json:
        console.print_json(found.to_json() | {"files": files})
        return
    words, sign = _figure(found)
    _say_notes(found, words, data is not None)
    _print_sizes(found, words, sign)
    if found.agreement is not None:
        _print_agreement(found, rows)
    for path in files:
        console.say(f"wrote {path}")


def _figure(found) -> tuple[str, float]:
    """Return (the figure of the task in words, the sign with which it is shown)."""
    from odtc.data.task import TASKS

    task = TASKS.get(found.entries[0].run.tree.task)
    brings = all(entry.run.tree.goal for entry in found.entries)  # shown with its own sign: it is the negated cost
    return task.headline({"goal": "max" if brings else "min"})[0], -1.0 if brings else 1.0


def _say_notes(found, words: str, has_data: bool) -> None:
    """Print notes on figures that do not compare; `words` are the figure of the task."""
    from odtc.evaluation.board import SAME_ROWS

    if len(set(filter(None, found.training_scored))) > 1:
        told = "; ".join(f"{entry.name} {way}" for entry, way in zip(found.entries, found.training_scored) if way)
        console.say(
            f"note: the training costs use different scores: {told}"
            + ("" if has_data else "; --data FILE counts all by one")
        )
    if found.other_rows:
        sizes = ", ".join(f"{entry.name} {rows:,}" for entry, (rows, _) in zip(found.entries, found.trained_on) if rows)
        console.say(
            f"note: these trees were trained on other rows (numbers of rows: {sizes}), so that training figures, "
            "objectives and bounds do not "
            "compare" + ("" if has_data else "; --data FILE tests all of them on the same rows")
        )
    held = [
        (entry.name, entry.facts["n_rows_set_aside"]) for entry in found.entries if "n_rows_set_aside" in entry.facts
    ]
    if held:
        told = ", ".join(f"{name} {rows:,}" for name, rows in held)
        console.say(f"note: each run is tested on its own held-out rows ({told}; --hold-out)")
    if found.n_rows_missing:
        of = count_of(found.n_rows + found.n_rows_missing, "row")
        console.say(
            f"note: {found.n_rows_missing:,} of {of} {verb(found.n_rows_missing, 'is', 'are')} left out, without a "
            f"number that one of these trees needs; trees fitted with {option('missing', 'separate')} need none"
        )
    if found.scored:
        console.say(f"note: test {words}: {found.scored}, for all trees")
    for entry in found.entries:
        if (seen := entry.facts.get("n_training_rows", 0)) > SAME_ROWS * entry.facts.get("n_rows", 0):
            console.say(
                f"note: {seen:,} of the {count_of(entry.facts['n_rows'], 'row')} {verb(seen, 'is', 'are')} equal to "
                f"training rows of {entry.name}: the test figure is not an estimate for new rows"
            )


def _print_sizes(found, words: str, sign: float) -> None:
    """Print the table of sizes, figures and proofs."""
    from odtc.data.task import TASKS

    classes = TASKS.get(found.entries[0].run.tree.task).CLASSES
    own = "" if classes else f" {words}"
    header = ["tree", "leaves", "depth", f"training{own}", f"test{own}", "objective", "bound", "model", "columns"]
    lines = [
        [
            entry.name,
            str(entry.facts["n_leaves"]),
            str(entry.facts["depth"]),
            _number(entry.facts["train_figure"], sign) if own else _share(entry.facts.get("train_accuracy")),
            _number(entry.facts.get("test_figure"), sign) if own else _share(entry.facts.get("accuracy")),
            _number(entry.facts["objective"]),
            _number(entry.facts["bound"]),
            entry.facts["model"] or "-",
            ", ".join(entry.facts["features"]),
        ]
        for entry in found.entries
    ]
    print(table_text([header, *lines], "lrrrrrrll"))


def _print_agreement(found, rows: int) -> None:
    """Print how alike the trees predict, and the first of the rows that they predict differently."""
    numbers = found.difference is not None
    print(
        f"\nmean difference of the answers on {count_of(found.n_rows, 'row', '')}"
        if numbers
        else f"\nshare of {count_of(found.n_rows, 'row', '')} predicted alike"
    )
    names = [entry.name for entry in found.entries]
    pairs, shown = (found.difference, _number) if numbers else (found.agreement, _share)
    shares = ([name, *map(shown, line)] for name, line in zip(names, pairs))
    print(table_text([["", *names], *shares], "l" + "r" * len(names)))
    if found.differing:
        some = f"the {rows} furthest apart" if numbers else f"the first {rows}"
        print(
            f"\n{count_of(len(found.differing), 'row', '')} differ"
            + (f", {some}" if len(found.differing) > rows else "")
        )
        lines = ([str(row), label or "-", *words] for row, label, words in found.differing[:rows])
        print(table_text([["row", found.label, *names], *lines], "rl"))
    else:
        print("\nno row differs")


@plot.command(cls=CommandHelp)
def progress(
    run: Annotated[str, typer.Argument(metavar="STEM", help="Stem of a run by a solver.")],
    o: Picture,
    inches: Inches = None,
) -> None:
    """Draw incumbent and bound over time."""
    from odtc.evaluation import plots as pictures
    from odtc.evaluation.html_report import open_run

    _expect_picture(o)
    opened = open_run(run)
    if opened.fit is None:
        raise ChoiceError(
            f"expected a run with its solution, got only a tree in {run!r}; use the stem that you gave to `odtc fit -o`"
        )
    print(_picture(o, lambda ax: pictures.progress(opened.fit.solution.history, ax, opened.name), inches))


@plot.command(cls=CommandHelp)
@takes(LAYOUT_PART)
def size(
    runs: Runs,
    spec,
    o: Picture,
    inches: Inches = None,
    data: Annotated[Path | None, value_option("--data", "DATA", "Labelled rows (default: the training rows).")] = None,
) -> None:
    """Draw accuracy, or the figure of another task, against the number of leaves, with the Pareto front."""
    from odtc.evaluation.compare import compare as compared

    _expect_picture(o)
    print(_picture(o, _sized(compared(runs, data, _reading(data, spec))), inches))


@plot.command(cls=CommandHelp)
def tuning(
    file: Annotated[Path, typer.Argument(metavar="STEM.tune.json", help="Result of `odtc tune`.")],
    o: Picture,
    inches: Inches = None,
) -> None:
    """Draw score against the number of leaves for the settings of `odtc tune`, with the Pareto front."""
    from odtc.data.task import TASKS
    from odtc.evaluation import plots as pictures
    from odtc.evaluation.studies.tuning import read_tuned

    _expect_picture(o)
    facts, points = read_tuned(file if file.suffix == ".json" or file.is_file() else Path(f"{file}.tune.json"))
    title, figure = f"{facts['data']}, {count_of(facts['folds'], 'fold', '')}", facts["score"]
    of = next((one for one in map(TASKS.get, TASKS.names()) if figure and one.HEADLINE == figure), None)
    print(_picture(o, lambda ax: pictures.pareto(points, ax, "leaves (mean)", title, of), inches))


@plot.command(cls=CommandHelp)
def profile(
    results: Annotated[Path, typer.Argument(metavar="RESULTS.jsonl", help="Results of `odtc bench models`.")],
    o: Picture,
    metric: Annotated[
        str, value_option("--metric", "cpu|wall|nodes", "CPU seconds, seconds or nodes of a proof.")
    ] = "cpu",
    inches: Inches = None,
) -> None:
    """Draw performance profiles: how many problems each formulation proves within a factor of the best one."""
    from odtc.evaluation.benchmark import expect_results
    from odtc.evaluation.benchmark_formats import draw_profiles, profiles

    _expect_picture(o)
    found = profiles(expect_results(results), metric)
    print(_picture(o, lambda ax: draw_profiles(found, ax, metric), inches))


@plot.command(cls=CommandHelp)
@takes(LAYOUT_PART)
def regions(
    tree: TreeFile,
    data: DataFile,
    spec,
    o: Picture,
    x: Annotated[str, value_option("--x", "COL", "Numeric column of the horizontal axis.")],
    y: Annotated[str, value_option("--y", "COL", "Numeric column of the vertical axis.")],
    inches: Inches = None,
) -> None:
    """Draw the predictions over two numeric columns, with the rows as points."""
    from odtc.data.reading_rows import read_numbers, read_rows
    from odtc.data.task import TASKS
    from odtc.evaluation import plots as pictures
    from odtc.trees.tree import read_tree

    _expect_picture(o)
    loaded = described(read_tree(tree), data, spec.reading)
    shown = {j for j, feature in enumerate(loaded.features) if feature.name in (x, y)}
    rows = read_rows(data, loaded.features, loaded.classes, loaded.target, used=shown | set(loaded.used))
    values = read_numbers(data, loaded.target, loaded.features) if TASKS.get(loaded.task).NUMBERS else None
    print(_picture(o, lambda ax: pictures.regions(loaded, rows, x, y, ax, values), inches))


def _sized(found):
    """Return a function that draws accuracy, or the figure of another task, against the number of leaves."""
    from odtc.data.task import TASKS
    from odtc.evaluation import plots as pictures

    task = TASKS.get(found.entries[0].run.tree.task)
    test, training = ("accuracy", "train_accuracy") if task.CLASSES else ("test_figure", "train_figure")
    tested = all(entry.facts.get(test) is not None for entry in found.entries)
    key = test if tested else training
    if lacking := next((entry.name for entry in found.entries if entry.facts.get(key) is None), None):
        raise ChoiceError(
            "expected trees that know their training rows, or labelled rows with --data, to show accuracy"
            if task.CLASSES
            else f"expected runs with their training data, or labelled rows with --data, to show the "
            f"{task.HEADLINE_WORDS}, got none of {lacking!r}; use the stems that you gave to `odtc fit -o`"
        )
    sign = -1 if task.LESS_IS_BETTER and not task.CLASSES else 1
    points = [(entry.name, entry.facts["n_leaves"], sign * entry.facts[key]) for entry in found.entries]
    title, brings = "test rows" if tested else "training rows", all(entry.run.tree.goal for entry in found.entries)
    return lambda ax: pictures.pareto(points, ax, title=title, task=task, brings=brings)


def _reading(data: Path | None, spec):
    """Return a function that makes a tree read a file by the options of the command; ChoiceError for such options
    without a file."""
    if data is not None:
        return lambda tree: described(tree, data, spec.reading)
    if of_file := [*spec.reading.layout, *(["decimal"] if spec.reading.decimal else [])]:
        name = of_file[0]
        raise ChoiceError(f"{option(name)} is about the file of --data; name that, too")
    return lambda tree: labelled(tree, spec.reading.labels)


def _picture(path: Path, draw, inches: str | None = None) -> str:
    from odtc.base.atomic_write import write_bytes
    from odtc.evaluation.plots import INCHES, save

    size = INCHES if inches is None else _inches(inches)
    write_bytes(path, save(draw, path.suffix.lstrip(".").lower(), size))
    return str(path)


def _inches(text: str) -> tuple[float, float]:
    """Return the width and the height that --size names."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*[xX×*,]\s*(\d+(?:\.\d+)?)\s*", text)
    if found is None or not all(1 <= float(side) <= MAX_INCHES for side in found.groups()):
        raise ChoiceError(
            f"--size: expected a width and a height from 1 to {MAX_INCHES} inches, such as 6.4x4.2, got {text!r}"
        )
    return float(found[1]), float(found[2])


def _expect_picture(path: Path) -> None:
    """Raise errors that would prevent writing a picture before the work."""
    from odtc.base.atomic_write import require_writable
    from odtc.evaluation.plots import expect_format

    expect_format(path.suffix.lstrip(".").lower())
    require_writable(path)


def _share(value) -> str:
    return "-" if value is None else f"{percent_text(value)}"


def _number(value, sign: float = 1.0) -> str:
    return "-" if value is None else f"{sign * value:.6g}"
