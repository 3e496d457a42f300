"""The command line: which commands there are, and how errors become one sentence and an exit code.

Results go to stdout, words and progress to stderr. Heavy imports are in the commands, so that `odtc --help` is quick.
"""

import atexit
import difflib
import errno
import os
import sys
import threading
import traceback
import warnings
from importlib import import_module
from typing import Annotated

import typer

from odtc import __version__
from odtc.base import commit, interrupts, system, threads
from odtc.base.commit import tell_by
from odtc.base.plug_ins import place_of_fault, take_option
from odtc.base.wording import on_command_line
from odtc.cli import console
from odtc.cli.help_page import CommandHelp, GroupHelp
from odtc.errors import OdtcError, SetAsideWarning

INTERRUPTED = 130  # 128 + SIGINT, as in shells; some versions of typer return it for Ctrl-C without a message
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}
HANDLES = {errno.EMFILE, errno.ENFILE}
UNMAPPED = ("failed to map segment", "annot allocate memory")  # messages of the loader of libraries without memory
START = """Find provably optimal decision trees, with or without a MIP solver.

\b
Start here:
  odtc inspect DATA              check how odtc reads your file
  odtc fit DATA                  find the best tree of depth 2, with a proof
  odtc report STEM               write a web page about the tree
  odtc COMMAND -h                the options that you need first (--help: all)
"""
NO_MEMORY = "not enough memory; use a smaller --depth, or fewer splits with --encoding thresholds:bins=8"
# Options of other programs -> ours; one that the command lacks is ignored.
MEANT_OPTIONS = {
    **dict.fromkeys(("--sep", "--delimiter", "--delim"), "--separator"),
    **dict.fromkeys(("--out", "--output", "--output-file", "--outfile"), "-o"),
    **dict.fromkeys(("--timeout", "--timelimit", "--time-out", "--max-time", "--seconds"), "--time-limit"),
    **dict.fromkeys(("--min-samples-leaf", "--min-leaf", "--min-leaf-size", "--leaf-rows"), "--min-leaf-rows"),
    **dict.fromkeys(("--max-leaves", "--max-leaf-nodes", "--leaves"), "--constraint 'leaves <= N'"),
    **dict.fromkeys(("--test-size", "--validation", "--split", "--holdout"), "--hold-out"),
    **dict.fromkeys(("--random-state", "--random-seed"), "--seed"),
    **dict.fromkeys(("--n-jobs", "--cores", "--cpus"), "--threads"),
    **dict.fromkeys(("--label", "--y", "--class", "--response", "--outcome-column"), "--target"),
    **dict.fromkeys(("--na-values", "--na", "--null"), "--missing-mark"),
    **dict.fromkeys(("--sample-weight", "--weight"), "--weights"),
    **dict.fromkeys(("--alpha", "--ccp-alpha", "--lambda", "--regularization"), "-p lambda=NUMBER"),
    "--charset": "--text-encoding",
    "--skip-rows": "--skip-lines",
    "--cv": "--folds",
    **dict.fromkeys(("--models", "--model"), "--formulations"),
    **dict.fromkeys(("--formulation", "--formulations"), "--model"),
}
NAMES_OF = {"--ignore", "--categorical", "--numeric", "--auxiliary"}  # options that take several names
USAGE = typer.BadParameter.__mro__[1]  # UsageError, which typer does not name


def top(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    plugin: Annotated[  # read before the words are parsed, because it may follow the command, too
        str | None,
        typer.Option(
            "--plugin", metavar="FILE.py", help="Load your own plug-in, or a folder of plug-ins (docs/extending.md)."
        ),
    ] = None,
) -> None:
    if version:
        print(f"odtc {__version__}")
        raise typer.Exit


FROM_DATA, WITH_FILES, TREES, STUDIES = "Find a tree", "The same in steps", "Use a tree", "Plug-ins and benchmarks"
# Section of the help -> (command, its module in odtc.cli.commands, its function, or the name of a group there).
COMMANDS = {
    FROM_DATA: (
        ("fit", "fit", "fit"),
        ("inspect", "inspect", "inspect"),
        ("refit", "refit", "refit"),
        ("certify", "certify", "certify"),
        ("frontier", "frontier", "frontier"),
        ("tune", "studies", "tune"),
        ("sweep", "studies", "sweep"),
        ("select", "row_selection", "select"),
    ),
    WITH_FILES: (
        ("build", "build", "build"),
        ("solve", "solve", "solve"),
        ("decode", "decode", "decode"),
        ("verify", "decode", "verify"),
    ),
    TREES: (
        ("show", "trees", "show"),
        ("predict", "trees", "predict"),
        ("export", "trees", "export"),
        ("report", "report", "report"),
        ("explain", "report", "explain"),
        ("compare", "compare", "compare"),
        ("import", "import_", "import_"),
    ),
    STUDIES: (
        ("new", "plug_ins", "new"),
        ("check", "plug_ins", "check"),
        ("list", "plug_ins", "list_"),
        ("info", "plug_ins", "info"),
        ("doctor", "doctor", "doctor"),
        ("bench", "bench", "bench"),
        ("plot", "compare", "plot"),
    ),
}


def command_line(only: str | None = None) -> typer.Typer:
    """Return the command line with all commands, or with only one: the modules of the others are not loaded.

    Parameters
    ----------
    only : str or None
        The name of a command; another word, or None, means all.
    """
    whole = typer.Typer(
        name="odtc",
        cls=GroupHelp,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode=None,
        help=START,
        epilog="Exit codes: 0 success, 1 error, 2 wrong usage, 3 no solution found, 130 interrupted (143 by SIGTERM).",
    )
    whole.callback(invoke_without_command=True)(top)
    names = {name for commands in COMMANDS.values() for name, _, _ in commands}
    for section, commands in COMMANDS.items():
        for name, module, function in commands:
            if only in names and name != only:
                continue
            found = getattr(import_module(f"odtc.cli.commands.{module}"), function)
            if isinstance(found, typer.Typer):
                whole.add_typer(found, name=name, rich_help_panel=section)
            else:
                whole.command(name, cls=CommandHelp, rich_help_panel=section)(found)
    return whole


def __getattr__(name: str):
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return command_line()


def program() -> None:
    """Run the command line as the only task of this process, and end the process. Python's own end, which destroys
    each object, would take a fifth of the CPU seconds of a short command."""
    system.shut_out_working_directory()
    try:
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
        if threading.active_count() > 1:  # Python waits for a thread that is not a daemon
            raise
        atexit._run_exitfuncs()
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):  # Python has words for it
            raise ended from None
        os._exit(code)


def main() -> None:
    """Run the command line: errors of odtc are one sentence on stderr and their exit code."""
    threads.one_thread()
    interrupts.hear()  # SIGTERM like Ctrl-C: the best tree so far is kept
    interrupts.begin()
    tell_by(console.say)
    sys.stdout = sys.stdout or console.ClosedStream()  # a shell's >&- leaves none
    sys.stderr = sys.stderr or console.ClosedStream(drops=True)  # who closes it wants no messages
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show a sign gets it escaped
            stream.reconfigure(errors="backslashreplace")
    with console.readable_streams() as messages:
        try:
            with on_command_line():
                code = _exit_code()
        except KeyboardInterrupt:  # also while another error was reported
            console.say(f"odtc: error: {interrupts.words()}")
            code = INTERRUPTED
        if (kernels := sys.modules.get("odtc.base.kernels")) and (words := kernels.report()):
            console.say(f"odtc: {words}")
        code = interrupts.exit_code(code or int(messages.has_lost))
        interrupts.part(code)
    if _goes_on():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _goes_on() -> bool:
    """Return whether a thread is running that nobody waits for: a solver that ignores interrupts, or work of numba
    after Ctrl-C."""
    solve = sys.modules.get("odtc.solvers.solve")
    left = solve is not None and any(thread.is_alive() for thread in solve.LEFT)
    return left or threads.is_apart()


def _exit_code() -> int:
    """Run the command and return its exit code, after a sentence if it has failed. Raises KeyboardInterrupt."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", SetAsideWarning)  # the registries report each once
            warnings.showwarning = _shown(warnings.showwarning)
            words = take_option(sys.argv[1:])
            with commit.links_followed(_names_outputs(words)):
                code = command_line(_named(words))(words, standalone_mode=False, prog_name="odtc")
        sys.stdout.flush()
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        return code or 0
    except typer.Abort as stopped:
        if isinstance(stopped.__cause__, EOFError):  # typer takes it for the end of an answer to a question
            return _failed(stopped.__cause__)
        raise KeyboardInterrupt from None
    except OdtcError as problem:
        console.say(f"odtc: error: {_one_line(problem)}")
        return problem.exit_code
    except USAGE as problem:
        if type(problem).__name__ == "NoArgsIsHelpError":
            problem.show()
        else:
            command = problem.ctx.command_path if problem.ctx else "odtc"
            console.say(f"odtc: error: {_one_line(_usage(problem)).rstrip('.')}; see `{command} --help`")
        return 2
    except BrokenPipeError:  # the reader of our output has had enough
        _silence_stdout()
        return 1
    except MemoryError:
        console.say(f"odtc: error: {NO_MEMORY}")
        return 1
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as problem:  # a library in Rust that panics raises none of Python's exceptions
        return _failed(problem)


def _failed(problem: BaseException) -> int:
    """Print a sentence on an exception that no part of odtc foresees, and return the exit code. Raises
    KeyboardInterrupt if it came of a signal."""
    if _came_of_ctrl_c(problem):  # a library replaced the exception
        raise KeyboardInterrupt from None
    if isinstance(problem, OSError) and problem.errno in FULL and problem.filename is None:
        _silence_stdout()  # files of ours raise OutputError
        said = f"cannot write to the standard output: {problem.strerror}; make room, or send it elsewhere"
    elif not (said := _of_the_machine(problem)):
        if os.environ.get("ODTC_TRACEBACK"):
            raise problem
        place, what = place_of_fault(problem), f"({type(problem).__name__}: {_one_line(problem)})"
        said = (
            f"a fault in the plug-in {place} {what}; ODTC_TRACEBACK=1 in the environment prints where it came from"
            if place
            else f"a fault in odtc itself {what}; please report it, with what ODTC_TRACEBACK=1 in the environment "
            "makes it print"
        )
    console.say(f"odtc: error: {said}")
    return 1


def _named(words: list[str]) -> str | None:
    """Return the command that the words begin with; None if a shell requests completions."""
    return None if any(name.startswith("_ODTC") for name in os.environ) else next(iter(words), None)


def _names_outputs(words: list[str]) -> bool:
    """Return whether a command line names its output files, so that these may be links."""
    return any(word.startswith("-o") or word.partition("=")[0] == "--results" for word in words)


def _of_the_machine(problem: BaseException) -> str:
    """Return the message for an error of the machine, or of its files, that is not handled where it occurs; "" for
    another."""
    number = problem.errno if isinstance(problem, OSError) else None
    if number == errno.ENOENT and problem.filename is None:  # of the system call that names the folder
        return "the working directory was removed; change to another folder"
    if number in HANDLES:
        return "too many open files; allow more of them (ulimit -n), or end other programs"
    if number == errno.ENAMETOOLONG:
        return f"cannot use {str(problem.filename)[:60]!r}…: {problem.strerror}; shorten the name"
    if number == errno.ELOOP or (isinstance(problem, RuntimeError) and str(problem).startswith("Symlink loop")):
        return f"cannot use a link that leads to itself: {_one_line(problem)}; remove it"
    if number == errno.ENOMEM or (isinstance(problem, ImportError) and any(one in str(problem) for one in UNMAPPED)):
        return NO_MEMORY
    if path := _damaged_module(problem):
        return f"{path!r} is damaged, as after a full disk; remove it, and Python writes it again"
    return ""


def _damaged_module(problem: BaseException) -> str:
    """Return the path of the compiled module that Python could not import because its bytes are cut off or
    changed; "" for another exception."""
    for frame, _ in traceback.walk_tb(problem.__traceback__):
        if frame.f_code.co_name == "_compile_bytecode" and isinstance(problem, (EOFError, ValueError)):
            return str(frame.f_locals.get("bytecode_path") or "")
    return ""


def _came_of_ctrl_c(problem: BaseException | None) -> bool:
    """Return whether an exception was raised while another one, of Ctrl-C or SIGTERM, was handled, or in its place by
    a library that panics because of it."""
    if interrupts.exit_code(0) and not isinstance(problem, Exception):
        return True
    while problem is not None and not isinstance(problem, KeyboardInterrupt):
        problem = problem.__context__
    return problem is not None


def _shown(otherwise):
    """Return a function that shows warnings: a plug-in of another package that is set aside is a note, once."""

    def show(message, category, *place, **more) -> None:
        if issubclass(category, SetAsideWarning):
            console.say(f"note: {_one_line(message)}")
        else:
            otherwise(message, category, *place, **more)

    return show


def _option_meant(name: str, params) -> str:
    """Return the option of a command that was meant, as the end of a sentence; "" if none is near."""
    known = [one for param in params for one in (*param.opts, *param.secondary_opts) if one.startswith("-")]
    plain = name.replace("_", "-").casefold()
    meant = MEANT_OPTIONS.get(plain, "")
    if meant.partition(" ")[0] not in known:
        begun = [one for one in known if one.startswith(f"{plain}-") or (len(plain) > 4 and one.startswith(plain))]
        near = difflib.get_close_matches(plain, [one for one in known if len(one) > 2], n=1, cutoff=0.75)
        meant = next(iter([one for one in known if one.casefold() == plain] or near or begun[:1]), "")
    return f" (did you mean {meant}?)" if meant else ""


def _usage(problem) -> str:
    """Return the message of a usage error; for an invalid number, with the expected and the given value, which newer
    versions of typer leave out."""
    if type(problem).__name__ == "NoSuchOption" and problem.ctx is not None:
        return f"No such option: {problem.option_name}{_option_meant(problem.option_name, problem.ctx.command.params)}"
    text = problem.format_message()
    if text.startswith("Got unexpected extra argument") and NAMES_OF.intersection(sys.argv) and "." not in text:
        return f"{text}: several names of an option are written with commas, as in --ignore A,B"
    wrong = problem.__cause__.errors()[0] if hasattr(problem.__cause__, "errors") else {}
    wanted = {"int_parsing": "a whole number", "float_parsing": "a number"}.get(wrong.get("type"))
    if wanted is None or problem.param is None:
        return problem.format_message()
    words = [f"{one}{wrong['input']}" for one in problem.param.opts if not one.startswith("--")]
    file = next((f"; for the file {one!r}, write ./{one}" for one in words if one in sys.argv and "." in one), "")
    return f"Invalid value for {problem.param.opts[0]!r}: expected {wanted}, got {wrong['input']!r}{file}"


def _silence_stdout() -> None:
    """Discard output that is not flushed yet, so that Python's own flush at the end is quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _one_line(problem) -> str:
    return " ".join(str(problem).split())
