"""Start of a command: it loads no module of other commands, and no search that its run does not need."""

import json
import subprocess
import sys

import pytest
from typer.main import get_command

from odtc.cli import app
from tests.command_line import MONKS, environment, odtc

SAYS = (
    "import sys, json; from odtc.cli.app import main\n"
    "try:\n    main()\nfinally:\n    print(json.dumps(list(sys.modules)))"
)
IRIS = MONKS.parent / "iris" / "iris.csv"
MOST_MODULES = 190  # of odtc, in a small fit
UNUSED = (
    *("odtc.formulations.flowoct.robust", "odtc.solvers.portfolio"),
    *("sklearn", "numba", "scipy", "dask", "distributed"),
)


def test_a_fit_loads_what_it_uses(tmp_path):
    loaded = _loaded_by(["fit", str(MONKS / "monks-1.csv"), "--json", "-o", str(tmp_path / "m")])
    commands = {name.rpartition(".")[2] for name in loaded if name.startswith("odtc.cli.commands.")}
    assert commands == {"fit"}
    assert not loaded & {"odtc.algorithms.constrained.constrained_search", "odtc.algorithms.moments.search", *UNUSED}
    packages = ("solvers", "fileformats", "data.readers.parquet", "formulations.flowoct")
    assert not [name for name in loaded if name.startswith(tuple(f"odtc.{one}" for one in packages))]


def test_a_fit_of_measurements_loads_no_model(tmp_path):
    loaded = _loaded_by(["fit", str(IRIS), "--depth", "3", "--json", "-o", str(tmp_path / "m")])
    assert "odtc.model.milp" not in loaded
    assert len([name for name in loaded if name.startswith("odtc")]) <= MOST_MODULES


def test_a_tree_is_printed_without_a_template(tmp_path):
    loaded = _loaded_by(["fit", str(MONKS / "monks-1.csv"), "-o", str(tmp_path / "m")])
    assert "odtc.trees.text_drawing" in loaded and not loaded & {"jinja2", *UNUSED}


def test_a_fit_of_numbers_loads_no_form_of_a_model(tmp_path):
    lines = (f"{x},{x * 7 % 31},{x * x % 3}" for x in range(60))
    (tmp_path / "d.csv").write_text("\n".join(("a,b,y", *lines)))
    loaded = _loaded_by(["fit", str(tmp_path / "d.csv"), "--target", "y", "--json", "-o", str(tmp_path / "m")])
    assert not loaded & {"odtc.formulations.dpflow.path_constraints", "numpy.random", *UNUSED}


def _loaded_by(words: list[str]) -> set[str]:
    loaded = _loaded_now(words)
    return _loaded_now(words) if "numba" in loaded else loaded  # the first fit of a checkout compiles its kernels


def _loaded_now(words: list[str]) -> set[str]:
    code = SAYS.replace("import sys", f"import sys; sys.argv = {['odtc', *words]!r}; import sys")
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=True)
    return set(json.loads(said.stdout.splitlines()[-1]))


ENDS = "from odtc.cli.app import program; sys.argv = ['odtc', 'list', 'models']; program()"


def test_the_end_of_a_command_is_that_of_python():
    code = f"import atexit, sys; atexit.register(print, 'what is left for the end'); {ENDS}"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment())
    assert said.returncode == 0 and said.stdout.endswith("what is left for the end\n") and "dpflow" in said.stdout
    said = subprocess.run(
        [sys.executable, "-c", code.replace("models", "nothing")], capture_output=True, text=True, env=environment()
    )
    assert said.returncode == 2 and said.stdout == "what is left for the end\n" and said.stderr.count("\n") == 1


def test_the_end_of_a_command_waits_for_threads():
    ended = "threading.main_thread().join()"  # however long the command takes
    later = f"import threading; threading.Thread(target=lambda: ({ended}, print('at last'))).start()"
    said = subprocess.run(
        [sys.executable, "-c", f"import sys; {later}; {ENDS}"], capture_output=True, text=True, env=environment()
    )
    assert said.returncode == 0 and said.stdout.endswith("at last\n")


def test_each_command_alone_is_that_of_all(tmp_path):
    whole = get_command(app.command_line())
    assert whole.list_commands(None) == [name for commands in app.COMMANDS.values() for name, _, _ in commands]
    for name, command in whole.commands.items():
        (alone,) = get_command(app.command_line(name)).commands.items()
        assert alone[0] == name and [one.opts for one in alone[1].params] == [one.opts for one in command.params]
        assert alone[1].help == command.help and alone[1].rich_help_panel == command.rich_help_panel
    assert len(get_command(app.command_line("--help")).commands) == len(whole.commands)


@pytest.mark.parametrize("words", [["fitt"], ["--depth", "3"], ["fit", "--depht", "3"]])
def test_a_wrong_word_is_a_usage_error(words):
    said = odtc(*words)
    assert said.code == 2 and said.err.count("\n") == 1 and ("fit" in said.err or "--depth" in said.err)
