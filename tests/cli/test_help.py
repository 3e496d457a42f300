"""Help: every command's whole sentence, and the options of a large command by what they are about."""

import re

import pytest
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
        ("Tree", "--depth"),
        ("Constraints", "--min-leaf-rows"),
        ("Output", "-o "),
    ):
        assert place[title] < shown.index(f"  {option}") and shown.index(f"  {option}") < min(
            [at for at in place.values() if at > place[title]] + [len(shown)]
        )


def test_an_unknown_model_is_told_of_auto():
    assert "known: auto, " in refused(odtc("fit", MONKS / "monks-1.csv", "--model", "nope"))


@pytest.mark.parametrize("command", [("sweep",), ("compare",), ("fit",), ("export",)])
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
