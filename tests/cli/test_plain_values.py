"""Options without pydantic are parsed as typer does, with the same errors."""

import subprocess
import sys

import pytest
import typer
from typer.main import get_command

from odtc.cli import app, help_page
from tests.command_line import MONKS, environment

TYPED = (
    "",
    "a",
    "3",
    "-3",
    " 3",
    "3.0",
    "1e3",
    "0x3",
    "1_000",
    "٣",
    "12345678901",
    "nan",
    "true",
    "no",
    "-",
    "there.csv",
)
GIVEN = (None, *TYPED, 3, 2.5, True, False, [], (), ["a"], ["a", "b,c"], ("x",))


def means(reader, value, parameter, context):
    try:
        found = reader.coerce(value, param=parameter, ctx=context)
    except typer.BadParameter as problem:
        return "wrong", str(problem)
    return type(found), repr(found)


def test_each_option_of_each_command_reads_what_typer_reads(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.csv").write_text("a,y\n")
    read, plain = 0, 0
    commands = [get_command(app.command_line()), *get_command(app.command_line()).commands.values()]
    for command in commands:
        context = typer.Context(command)
        for parameter in command.get_params(context):
            if not hasattr(parameter, "get_runtime_param"):
                pytest.skip("this typer makes no adapters of pydantic")
            own = parameter.get_runtime_param()
            for value in GIVEN:
                theirs = means(own, value, parameter, context)
                ours = means(help_page.PlainFirst(lambda own=own: own), value, parameter, context)
                assert ours == theirs, (command.name, parameter.name, value)
                read, plain = read + 1, plain + (help_page._plain(value, parameter) is not help_page.UNREAD)
    assert read > 5 * len(GIVEN) and plain > read / 10


def test_a_file_that_may_not_be_read_is_left_to_typer(tmp_path, monkeypatch):
    (tmp_path / "shut.csv").touch()
    monkeypatch.setattr(help_page.os, "access", lambda path, mode: False)  # root may read every file
    command = get_command(app.command_line("fit")).commands["fit"]
    data = next(one for one in command.params if one.name == "data")
    assert help_page._plain(str(tmp_path / "shut.csv"), data) is help_page.UNREAD


@pytest.mark.parametrize("more", [(), ("--time-limit", "60", "--hold-out", "25%", "--gap", "0.01")])
def test_a_fit_loads_no_pydantic(more, tmp_path):
    words = ["odtc", "fit", str(MONKS / "monks-1.csv"), "--depth", "1", "--json", "-o", str(tmp_path / "m"), *more]
    code = f"import sys; sys.argv = {words!r}\nfrom odtc.cli.app import main\ntry:\n    main()\nfinally:\n"
    code += "    print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("False")
