"""Exit codes of all commands: 2 for wrong usage, 1 for a bad input, 130 for Ctrl-C (tests/cli/test_signals.py)."""

import shlex

import pytest
from typer.main import get_command

from odtc.cli.app import app
from tests.cli.mistakes_folder import make
from tests.command_line import odtc, refused

USAGE, INPUT = 2, 1
CASES = {
    # unknown names
    "fit shop.csv --model flo": USAGE,
    "fit shop.csv --solver higs": USAGE,
    "fit shop.csv --target chrun": USAGE,
    "fit shop.csv --ignore agee": USAGE,
    "fit shop.csv --task clasification": USAGE,
    "fit shop.csv --encoding tresholds": USAGE,
    "fit shop.csv --model flowoct -p lamda=0.1": USAGE,
    "fit shop.csv --constraint 'recal[yes] >= 0.5'": USAGE,
    "fit shop.csv --start carte": USAGE,
    "build shop.csv --format msp": USAGE,
    "select shop.csv --select conve_hull": USAGE,
    "export t.tree.json --to pythn": USAGE,
    "tune shop.csv --score accurracy": USAGE,
    "list model": USAGE,
    "info flwoct": USAGE,
    "check flwoct": USAGE,
    "new encodin mine": USAGE,
    "plot progess m -o p.svg": USAGE,
    "doctor --solver higs": USAGE,
    # values out of range
    "fit shop.csv --depth 21": USAGE,
    "fit shop.csv --time-limit 0": USAGE,
    "fit shop.csv --threads -2": USAGE,
    "fit shop.csv --hold-out 1.5": USAGE,
    "fit shop.csv --gap -1": USAGE,
    "fit shop.csv --confidence 1.5 --constraint 'recall[yes] >= 0.1' --hold-out 0.3": USAGE,
    "fit shop.csv --min-leaf-rows 100": USAGE,
    "fit shop.csv --pool 0": USAGE,
    "nearest shop.csv": USAGE,
    "explain t.tree.json shop.csv --row 0": USAGE,
    "tune shop.csv --folds 1": USAGE,
    "tune shop.csv --depths 3:1": USAGE,
    "solve m.mps --time-limit -1": USAGE,
    "certify shop.csv --depth 99": USAGE,
    "check cart --type heuristic --examples 0": USAGE,
    # options that contradict each other
    "fit shop.csv --model cart --certificate": USAGE,
    "fit shop.csv --confidence 0.9": USAGE,
    "fit shop.csv --target city --ignore city": USAGE,
    "fit shop.csv --model cart --keep": USAGE,
    "select shop.csv --select convex_hull --test shop.csv": USAGE,
    "compare t": USAGE,
    "verify t.tree.json --log m.log": USAGE,
    "predict t.tree.json shop.csv --on-missing skip": USAGE,
    # bad inputs
    "fit absent.csv": INPUT,
    "fit empty.csv": INPUT,
    "fit one_class.csv": INPUT,
    "fit shop.csv --test other.csv": INPUT,
    "fit shop.csv --cost cost.csv": INPUT,
    "fit shop.csv --start n.odt.json": INPUT,
    "inspect absent.csv": INPUT,
    "solve absent.mps": INPUT,
    "solve shop.csv": INPUT,
    "solve m.mps --solver-template group.toml": INPUT,
    "decode cut.sol": INPUT,
    "verify absent.tree.json": INPUT,
    "show shop.csv": INPUT,
    "predict notes.json shop.csv": INPUT,
    "report absent": INPUT,
    "refit shop.csv t.tree.json": INPUT,
    "import notes.txt --data shop.csv": INPUT,
    "bench table notes.json": INPUT,
    "plot progress c -o p.svg": INPUT,
    "fit shop.csv -o nowhere/run": INPUT,
    # no tree
    "fit shop.csv --depth 1 --constraint 'recall[yes] >= 0.9' --constraint 'recall[no] >= 0.9'": 3,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("codes")
    make(path)
    return path


def commands(command, words=()):
    inner = getattr(command, "commands", {})
    if not inner:
        yield words, command
    for name, one in inner.items():
        yield from commands(one, (*words, name))


COMMANDS = {" ".join(words): command for words, command in commands(get_command(app))}


@pytest.mark.parametrize("words", COMMANDS)
def test_an_unknown_option_is_wrong_usage(words, folder):
    assert "No such option: --depht" in refused(odtc(*words.split(), "--depht", "3", folder=folder), USAGE)


def _expects_words(command) -> bool:
    return any(one.required and one.param_type_name == "argument" for one in command.params)


@pytest.mark.parametrize("words", [words for words, command in COMMANDS.items() if _expects_words(command)])
def test_a_missing_argument_is_wrong_usage(words, folder):
    said = odtc(*words.split(), folder=folder)
    assert said.code == USAGE and "Traceback" not in said.err, said.err


@pytest.mark.parametrize("words", CASES)
def test_the_code_says_who_is_wrong(words, folder):
    said = odtc(*shlex.split(words), folder=folder)
    assert said.code == CASES[words] and "Traceback" not in said.err and "a fault in odtc" not in said.err, said.err
