"""Help: each command has whole sentences, and the options of a large command are grouped by subject."""

import re
from typing import Annotated

import pytest
import typer
from typer.main import get_command

from odtc.cli.app import app
from odtc.cli.help_page import GROUPS
from tests.command_line import MONKS, environment, odtc, refused, started


@pytest.mark.parametrize("words", [(), ("bench",), ("plot",)])
def test_no_sentence_of_a_command_is_cut(words):
    lines = started(*words, "--help", env=environment(COLUMNS="80")).out.splitlines()
    assert not [line for line in lines if line.startswith("  ") and line.endswith("...")]
    assert lines and max(map(len, lines)) <= 80


@pytest.mark.parametrize("command", ["fit", "build"])
def test_the_options_of_a_large_command_stand_in_sections(command):
    shown = odtc(command, "--help").out
    titles = [line.removesuffix(":") for line in shown.splitlines() if re.fullmatch(r"[A-Z]\w+:", line)]
    assert [title for title in titles if title in GROUPS] == [title for title in GROUPS if title in titles]
    assert "Options" not in titles and {"Data", "Tree", "Model", "Constraints", "Output"} <= set(titles)
    place = {title: shown.index(f"\n{title}:\n") for title in titles}
    for title, option in (
        ("Data", "--target"),
        ("Tree", "-d, --depth"),
        ("Constraints", "--min-leaf-rows"),
        ("Output", "-o "),
    ):
        assert place[title] < shown.index(f"  {option}") and shown.index(f"  {option}") < min(
            [at for at in place.values() if at > place[title]] + [len(shown)]
        )


def test_an_unknown_model_is_told_of_auto():
    assert "known: auto, " in refused(odtc("fit", MONKS / "monks-1.csv", "--model", "nope"))


@pytest.mark.parametrize(
    "command",
    [("sweep",), ("compare",), ("fit",), ("export",), ("plot", "size"), ("plot", "regions"), ("bench", "table")],
)
def test_an_argument_is_shown_without_a_type_of_python(command):
    shown = odtc(*command, "--help").out
    arguments = shown.partition("Arguments:\n")[2].partition("\n\n")[0]
    assert arguments.strip() and "<" not in arguments and "[[" not in shown


@pytest.mark.parametrize("command", [("tune",), ("sweep",), ("bench", "models")])
def test_depths_of_a_grid_go_by_the_name_that_fit_has_too(command):
    assert "--depths, --depth D,E" in odtc(*command, "--help").out


def test_no_option_is_shown_with_a_type_of_python():
    """`--target <str>` beside `--weights COL`, `--time-limit <float range>` beside `--time-limit S`."""
    commands, shown = [(("odtc",), get_command(app))], []
    while commands:
        name, command = commands.pop()
        commands += [((*name, one), inner) for one, inner in getattr(command, "commands", {}).items()]
        for option in command.params:
            if option.param_type_name == "option" and not (option.is_flag or option.metavar or option.hidden):
                shown.append((*name, option.opts[0]))
    assert not shown


def test_the_short_help_has_about_twelve_options_in_the_order_of_need():
    shown = odtc("fit", "-h").out
    options = re.findall(r"^  (?:-\w, )?(-[-\w]+)", shown, re.M)
    assert options[:3] == ["--target", "--depth", "--constraint"] and options[-1] == "--help"
    assert 10 <= len(options) <= 16 and len(set(options)) == len(options) and "odtc fit --help" in shown
    assert len(odtc("fit", "--help").out.splitlines()) > 2 * len(shown.splitlines())
    assert odtc("fit", "-h", "--help").out == odtc("fit", "--help").out  # of both, the longer one


def test_a_command_with_few_options_has_one_help():
    assert odtc("explain", "-h").out == odtc("explain", "--help").out


@pytest.mark.parametrize("task", ["policy", "survival"])
def test_options_of_a_task_appear_with_the_task(task):
    own = {"policy": ("--actions", "--propensity", "--goal"), "survival": ("--time", "--event")}
    plain = odtc("fit", "--help").out
    for words in (("--task", task), (f"--task={task}",), ("--task", "regression", "--task", task)):
        shown = odtc("fit", *words, "--help").out
        for name, options in own.items():
            for option in options:
                assert (f"  {option} " in shown) == (name == task) and f"  {option} " not in plain
    assert "--task policy --help" in " ".join(plain.split())


def test_the_first_help_says_where_to_start():
    lines = odtc("--help").out.splitlines()
    assert lines[0].startswith("Usage: odtc") and "  Start here:" in lines[:6]
    assert lines.index("  Start here:") < lines.index("Options:")


@pytest.mark.parametrize("words", [("--max-depth", 1), ("--max-depth=1",), ("-d", 1), ("--depth", 1)])
def test_a_natural_guess_of_the_depth_is_taken(words, tmp_path):
    said = odtc("fit", MONKS / "monks-1.csv", *words, "--json", "-o", tmp_path / "m")
    assert said.code == 0 and said.facts["depth"] <= 1 and said.facts["n_leaves"] == 2


@pytest.mark.parametrize("word", ["--exclude", "--ignore"])
def test_a_natural_guess_of_a_column_to_leave_out_is_taken(word, tmp_path):
    said = odtc("inspect", MONKS / "monks-1.csv", word, "a1,a2", "--json")
    assert said.code == 0 and {"a1", "a2"}.isdisjoint(column["name"] for column in said.facts["columns"])


def test_a_guess_is_an_option_only_before_the_end_of_options(tmp_path):
    (tmp_path / "--exclude").write_text("a,y\n1,n\n2,p\n")
    assert odtc("inspect", "--json", "--", "--exclude", folder=tmp_path).code == 0


def keeps_help() -> bool:
    """Return whether commands keep the help of their arguments: the oldest typer with the newest click drops it."""
    tiny = typer.Typer()

    @tiny.command()
    def command(word: Annotated[str, typer.Argument(help="A word.")]) -> None:
        """Has one argument."""

    return bool(get_command(tiny).params[0].help)


@pytest.mark.skipif(not keeps_help(), reason="this typer drops the help of arguments with this click")
def test_every_argument_is_described():
    commands, bare = [("odtc", get_command(app))], []
    while commands:
        name, command = commands.pop()
        commands += [(f"{name} {one}", inner) for one, inner in getattr(command, "commands", {}).items()]
        arguments = [one for one in command.params if one.param_type_name == "argument"]
        bare += [f"{name} {one.name}" for one in arguments if not one.help]
    assert not bare


@pytest.mark.parametrize(("command", "usual"), [("tune", "tuned"), ("refit", "refit"), ("fit", "MODEL_dDEPTH")])
def test_the_usual_name_of_the_files_is_the_one_of_the_command(command, usual):
    assert f"(default: DATA_{usual})" in " ".join(odtc(command, "--help").out.split())
