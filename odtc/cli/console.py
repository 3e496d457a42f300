"""Output for a person or a program: results and JSON on stdout, messages and the live line on stderr."""

import errno
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any, TextIO

from odtc.base import interrupts, phases
from odtc.base.text import ESCAPES, as_remark, count_of, percent_text, table_text, visible
from odtc.errors import ChoiceError, OdtcError, SolutionError


class ReadableStream:
    """Text stream for readers: control characters written to it are visible escapes (`visible`).

    `plain` is the stream itself, for data that a program reads, and for control characters that move the cursor on
    purpose.
    """

    def __init__(self, plain: Any) -> None:
        self.plain = plain

    def write(self, text: str) -> int:
        self.plain.write(visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)


class MessageStream(ReadableStream):
    """The stream of messages: no command ends because it is closed or its disk is full, but `has_lost` is then true."""

    has_lost = False

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError:
            self.has_lost = True
            return len(text)

    def flush(self) -> None:
        try:
            self.plain.flush()
        except OSError:
            self.has_lost = True


class ClosedStream:
    """Standard stream that was closed before the command began.

    Parameters
    ----------
    drops : bool
        Whether text is dropped, because nobody wants to read it; otherwise writing raises OSError.
    """

    encoding, errors = "utf-8", "backslashreplace"

    def __init__(self, drops: bool = False):
        self.drops = drops

    @property
    def buffer(self) -> "ClosedStream":
        return self

    def write(self, text: str | bytes) -> int:
        if text and not self.drops:
            raise OSError(errno.EBADF, "it is closed")
        return len(text)

    def flush(self) -> None:
        """Do nothing: there is nothing to flush."""

    def isatty(self) -> bool:
        return False


@contextmanager
def readable_streams() -> Iterator[MessageStream]:
    """Make both standard streams readable inside (`ReadableStream`); yield the stream of messages."""
    own = sys.stdout, sys.stderr
    messages = MessageStream(sys.stderr)
    sys.stdout, sys.stderr = ReadableStream(sys.stdout), messages
    try:
        yield messages
    finally:
        sys.stdout, sys.stderr = own


def data_stream() -> TextIO:
    """Return the standard output for data such as predictions and code: as they are, unless a terminal shows them."""
    return sys.stdout if sys.stdout.isatty() else getattr(sys.stdout, "plain", sys.stdout)


def say(*texts: str) -> None:
    """Print messages, a line each."""
    files = sys.modules.get("odtc.data.cells.data_files")  # without it no data file was named
    for text in texts:
        for path in files.STORED if files is not None else ():
            text = text.replace(f"'{path}'", str(path)).replace(str(path), f"the {files.STANDARD_INPUT}")
        print(visible(text), file=sys.stderr)


def remark(text: str) -> None:
    """Print a remark on a line of its own: a warning if its text begins with WARNING, otherwise a note."""
    say(as_remark(text))


def print_json(facts: dict) -> None:
    with interrupts.held(last=True):
        text = json.dumps(facts, ensure_ascii=False, indent=2, allow_nan=False)
        print(text.translate({code: f"\\u{code:04x}" for code in ESCAPES}))  # the same text to a program


def of_run(read: Callable[[], Any], otherwise: Any = None) -> Any:
    """Return what `read` finds about the run of a tree that is used; if a file of the run is broken, print a note, and
    return `otherwise`."""
    try:
        return read()
    except OdtcError as problem:
        say(f"note: {problem}")
        return otherwise


def say_replaced(paths) -> None:
    """Report which files are removed because they belong to the model that is replaced."""
    if paths:
        say(f"removed {', '.join(map(str, paths))}: of the model that is replaced")


def print_plan(plan, as_json: bool) -> None:
    """Print the plan of a run (odtc.workflow.plan)."""
    print_json(plan.to_json()) if as_json else print(plan)


def print_no_solution(problem, files, as_json: bool) -> None:
    """Print the facts on a run without a tree, before the message of its NoSolutionError."""
    facts = problem.outcome.to_json() | {"files": [str(path) for path in files]}
    print_json(facts) if as_json else print_race(facts)


def print_tree_result(done, facts: dict, as_json: bool) -> None:
    """Print the tree of a Fit with its figures; `facts` are these as JSON, with the files. Raises SolutionError if a
    check failed, after the output."""
    from odtc.workflow.results.lines import figures, is_remark, size_lines

    with interrupts.held(last=True):
        if as_json:
            print_json(facts)
        else:
            _print_tree(done)
            print_race(facts)
            for line in figures(done):
                (say if is_remark(line) else print)(line)
            print("\n".join(size_lines(done)))
            if facts["files"]:
                say(f"wrote {', '.join(facts['files'])}")
        remark_apart = done.verified and done.solution.message != done.claimed.uncertified
        if as_json or remark_apart:
            say_note(done.solution)
    refuse_failed(done.decoded.checks, note="" if as_json else done.solution.message)


def _print_tree(done) -> None:
    """Print the tree and its claim."""
    sys.stdout.write(done.tree.drawing())
    print(f"\n{done.claim}")


def say_note(solution) -> None:
    """Print the remark on a solution, if there is one."""
    if solution.message:
        remark(solution.message)


def refuse_failed(checks, of: str = "the solution", note: str = "") -> None:
    """Raise SolutionError if some checks failed; `note` is a remark on the solution that may explain it."""
    failed = [check for check in checks if not check.passed]
    if failed:
        words = "; ".join(f"{check.name} ({check.text})" for check in failed)
        if "integrality" in [check.name for check in failed]:
            words += "; if this is a solution of the linear relaxation, solve the model with its integer variables"
        more = f" ({note})" if note else ""
        raise SolutionError(f"{len(failed)} of {count_of(len(checks), 'check', '')} of {of} failed: {words}{more}")


def print_checks(checks) -> None:
    width = max(len(check.name) for check in checks)
    for check in checks:
        print(f"{'ok  ' if check.passed else 'FAIL'}  {check.name:<{width}}  {check.text}")
    failed = sum(not check.passed for check in checks)
    print(
        f"{failed} of {count_of(len(checks), 'check', '')} failed"
        if failed
        else f"all {count_of(len(checks), 'check', '')} passed"
    )


def print_score(facts: dict) -> None:
    """Print accuracy and confusion matrix, and a warning if the most frequent class of the training rows is correct as
    often."""
    accuracy = "no row has a known label" if facts["accuracy"] is None else f"{percent_text(facts['accuracy'])}"
    print(f"accuracy  {accuracy}  ({facts['correct']} of {count_of(facts['n_rows'], 'row', '')} correct)")
    if facts["n_rows_without_known_label"]:
        print(f"left out  {count_of(facts['n_rows_without_known_label'], 'row', '')} whose label is missing or unknown")
    robust = facts.get("robust")
    if robust and robust["robust_accuracy"] is not None:
        words = f"{percent_text(robust['robust_accuracy'])} correct wherever moved ({robust['boxes']})"
        print(f"robust    {words}, {robust['robust_errors']} not")
    rows = ([name, *map(str, row)] for name, row in zip(facts["classes"], facts["confusion"]))
    print(table_text([["true \\ predicted", *facts["classes"]], *rows], "l" + "r" * len(facts["classes"])))
    most = facts.get("majority_accuracy")
    if most is not None and facts["accuracy"] <= most:
        from odtc.workflow.results.lines import no_better_text

        say(no_better_text(facts["majority"], most))


def print_race(facts: dict) -> None:
    """Print a line for each solver of a race, if there was one: how it ended, and its result."""
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


def _terminal():
    """The console of rich for lines that change in place: its own control characters go to the terminal as they are."""
    from rich.console import Console

    return Console(file=getattr(sys.stderr, "plain", sys.stderr))


@contextmanager
def counted(total: int, what: str):
    """Yield a function to call with a word for each of `total` finished pieces: a bar on stderr if that is a terminal,
    otherwise a line for every tenth of them."""
    if sys.stderr.isatty():
        from rich.markup import escape
        from rich.progress import Progress as Bar

        with Bar(console=_terminal()) as bar:
            task = bar.add_task(what, total=total)
            yield lambda word: bar.update(task, advance=1, description=escape(visible(word)))
        return
    done = 0

    def tell(word: str) -> None:
        nonlocal done
        done += 1
        if done * 10 // total > (done - 1) * 10 // total:
            say(f"{what}: {done} of {total}" + (f" ({word})" if word != what else ""))

    yield tell


@contextmanager
def counting(what: str):
    """Yield a function of (done, total), as `counted`, for a total that is known with the first piece."""
    with ExitStack() as stack:
        told = None

        def tell(done: int, total: int) -> None:
            nonlocal told
            told = told or stack.enter_context(counted(total, what))
            told(what)

        yield tell


class ConsoleReporter:
    """Reporter (odtc.workflow.solving) on stderr: sentences, and a live line while the solver runs, with the time
    limit in seconds, if there is one."""

    def __init__(self, limit: float | None = None) -> None:
        self.limit, self.began = limit, time.monotonic()

    def say(self, sentence: str) -> None:
        say(sentence)

    @contextmanager
    def reading(self):
        with live("reading", self.limit, self.began):
            yield

    @contextmanager
    def solving(self, solver):
        from odtc.workflow.reporting import Hearing

        with live(solver.label, self.limit, self.began) as progress:
            # The log of a race is each solver's own.
            yield Hearing(progress, None if solver.racers else say_own, hear_racer if solver.racers else None)


def say_own(text: str, whose: str = "") -> None:
    """Print a line of a log that comes from odtc: its changes to the model, before the solver's own log."""
    if text.startswith("odtc: "):
        say(whose + text.rstrip())


def hear_racer(name: str, text: str) -> None:
    """Call `say_own` for one solver of a race."""
    say_own(text, f"{name}: ")


@contextmanager
def live(name: str, limit: float | None = None, began: float | None = None):
    """Yield a function that takes Progress: a live line on stderr if it is a terminal, which reports the phases of the
    work (odtc.base.phases) until there is progress. The rounds of a loop are printed as permanent lines on any stderr;
    without a live line, so are phases that take seconds with any data. `limit` is the time limit in seconds from
    `began` on (of time.monotonic(), by default now)."""
    if not sys.stderr.isatty():
        with phases.heard(lambda one: say(str(one)) if one.stays else None, beside=True):
            yield lambda progress: say(str(progress.round)) if progress.round else None
        return
    from rich.live import Live
    from rich.text import Text

    began, last, phase = time.monotonic() if began is None else began, [None], [None]
    console = _terminal()

    def line() -> Text:
        parts = line_parts(name, time.monotonic() - began, limit, last[0], phase[0], being_compiled())
        line = Text(no_wrap=True, overflow="ellipsis")
        for at, (words, style) in enumerate(fitted(parts, console.width - 1)):
            line.append(SEPARATOR if at else "").append(visible(words), style=style)
        return line

    def take(progress) -> None:
        last[0] = progress
        if progress.round:
            console.print(Text(visible(str(progress.round))))

    def begins(one: phases.Phase) -> None:
        phase[0] = one

    with phases.heard(begins), Live(get_renderable=line, console=console, refresh_per_second=4, transient=True):
        yield take


SEPARATOR = " · "


def line_parts(name: str, seconds: float, limit: float | None, progress, phase, compiling: bool) -> list[tuple]:
    """Return the parts of the live line as (text, style, rank): parts of a high rank are removed first if the line is
    too long.

    Parameters
    ----------
    name : str
        The command or the solver.
    seconds, limit : float
        Seconds that have passed, and the limit, if there is one.
    progress : Progress or None
    phase : odtc.base.phases.Phase or None
        The phase of the work before there is progress.
    compiling : bool
        Whether kernels are being compiled.
    """
    passed = f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.1f}"
    clock = f"{passed} s" if limit is None else f"{passed}/{limit:.4g} s"
    compiled = [("compiling kernels", "yellow", 2)] if compiling else []
    if progress is None:
        doing = [] if phase is None else [(str(phase), "", 1)]
        return [(f"{name} {clock}", "", 0), *doing, *compiled]
    parts = [(clock, "", 0)]
    if progress.incumbent is not None:
        parts.append((f"best {progress.incumbent:.6g}", "green", 0))
    if (gap := progress.shown_gap) is not None:
        shown = f"{100 * gap:.0f}" if gap >= 0.1 or gap == 0 else f"{100 * gap:.2g}"
        parts += [(f"bound {progress.bound:.6g}", "cyan", 1), (f"gap {shown} %", "yellow", 1)]
    done, *doing = progress.phase.split(", ", 1) if progress.phase else [""]
    parts += [(done, "", 2)] if done else []
    parts += [(words, "", 5) for words in doing]
    parts += [] if progress.nodes is None else [(count_of(progress.nodes, "node"), "", 3)]
    return [*parts, *compiled, (name, "", 4)]


def fitted(parts: list[tuple], width: int) -> list[tuple[str, str]]:
    """Return the parts of a live line, as (text, style), that fit into `width` columns of a terminal."""
    from rich.cells import cell_len

    kept = [part for part in parts if part[0]]
    while len(kept) > 1 and cell_len(SEPARATOR.join(visible(words) for words, *_ in kept)) > width:
        last = max(range(1, len(kept)), key=lambda at: (kept[at][2], at))
        kept.pop(last)
    return [(words, style) for words, style, _ in kept]


def being_compiled() -> bool:
    """Return whether kernels are being compiled; a module that was not imported compiles nothing."""
    kernels = sys.modules.get("odtc.base.kernels")
    return kernels is not None and kernels.is_compiling()


def at_work(command: str, as_json: bool):
    """Return a context of work that has no solver: its phases are a live line on stderr if that is a terminal, and
    nothing if the result is JSON. Results are printed after it."""
    return nullcontext() if as_json else live(command)


def print_assured(done) -> None:
    """Print the constraints that new rows satisfy, a line for each constraint on new rows."""
    from odtc.workflow.results.lines import assured_lines, is_remark

    for line in assured_lines(done):
        if is_remark(line):
            say(f'{line} ("all" of "assured" in --json is false)')
        else:
            print(line)


def priced(done, time_limit: float | None) -> list:
    """Return the cost of one more percent of each constraint on a share; [] if the tree is not proved."""
    from odtc.data.task import TASKS
    from odtc.workflow.constrained.prices import prices

    proof = done.proof.to_json()
    if proof["termination"] != "optimal":
        say("note: no prices, because the tree is not proved optimal")
        return []
    try:
        found = prices(done.problem, done.decoded.heap, proof["objective"], time_limit)
        if not found:
            task = done.problem.encoded.task
            none = "" if TASKS.get(task).CLASSES else f", which --task {task} does not have"
            say(
                "note: no price: --price needs a --constraint on a share of predictions, such as 'accuracy >= "
                f"0.8'{none}"
            )
        return found
    except ChoiceError as refused:
        say(f"note: {refused}")
        return []


def print_prices(entries: list) -> None:
    """Print a line for each price."""
    from odtc.workflow.constrained.prices import price_text

    for entry in entries:
        print(f"price     {price_text(entry)}")
