"""Sentences that name options, in the words of their reader."""

import inspect
import pickle
import threading

import pytest

import odtc
from odtc.base.wording import as_here, command, in_keywords, on_command_line, option, param
from odtc.errors import ChoiceError
from odtc.model.solution import Solution, Termination
from odtc.workflow.messages import no_solution_text
from tests.command_line import odtc as run

BOTH, LEAVES = ['missing="drop" or "separate"'] * 2, ['constraints="leaves <= 3"'] * 2
OF_ESTIMATOR = {"depth": "max_depth", "start": "start"}


@pytest.mark.parametrize(
    ("made", "on_line", "in_python", "in_estimator"),
    [
        (lambda: option("time_limit"), "--time-limit", "`time_limit`", "`time_limit`"),
        (lambda: option("depth"), "--depth", "`depth`", "`max_depth`"),
        (lambda: option("depth", 2), "--depth 2", "depth=2", "max_depth=2"),
        (lambda: option("hold_out", 0.3), "--hold-out 0.3", "hold_out=0.3", "hold_out=0.3"),
        (lambda: option("start", "cart"), "--start cart", 'start_from="cart"', 'start="cart"'),
        (lambda: option("missing", "drop", "separate"), "--missing drop or separate", *BOTH),
        (lambda: option("ignore", ["a b", "c"]), "--ignore 'a b,c'", *['ignore=["a b", "c"]'] * 2),
        (lambda: option("constraints", "leaves <= 3"), "--constraint 'leaves <= 3'", *LEAVES),
        (lambda: option("decimal", ","), "--decimal ,", *['decimal=","'] * 2),
        (lambda: option("template"), "--solver-template", "`template`", "`template`"),
        (lambda: param("fold", False), "-p fold=false", "fold=False", "fold=False"),
        (lambda: param("lambda", 0.1), "-p lambda=0.1", "lambda_=0.1", "lambda_=0.1"),
        (lambda: param("splits", ...), "-p splits=…", "splits=…", "splits=…"),
        (lambda: param("robust"), "-p robust", "`robust`", "`robust`"),
        (lambda: command("fit"), "`odtc fit`", "`odtc.fit`", "`odtc.fit`"),
        (lambda: command("show"), "`odtc show`", "`odtc show`", "`odtc show`"),
    ],
)  # fmt: skip
def test_an_option_is_named_as_its_reader_writes_it(made, on_line, in_python, in_estimator):
    assert made() == in_python
    with on_command_line():
        assert made() == on_line
    with in_keywords(OF_ESTIMATOR):
        assert made() == in_estimator
    assert made() == in_python


def test_a_start_is_a_keyword_of_fit():
    assert option("start").strip("`") in inspect.signature(odtc.fit).parameters


def test_threads_of_the_command_line_speak_its_words():
    said = []
    with on_command_line():
        thread = threading.Thread(target=lambda: said.append(option("depth")))
        thread.start()
        thread.join()
    assert said == ["--depth"]


def test_a_function_of_another_process_speaks_to_the_reader_of_this_one():
    with on_command_line():
        sent = pickle.dumps(as_here(option))
    assert pickle.loads(sent)("depth", 2) == "--depth 2" and option("depth", 2) == "depth=2"


def test_the_command_line_and_python_name_one_fault_in_their_own_words(tmp_path):
    (tmp_path / "d.csv").write_text("a,y\n1,u\n2,v\n")
    with pytest.raises(ChoiceError, match="^`time_limit`: expected seconds above 0"):
        odtc.fit(tmp_path / "d.csv", depth=1, time_limit=0)
    said = run("fit", tmp_path / "d.csv", "--time-limit", 0, folder=tmp_path)
    assert said.code and "--time-limit: expected seconds above 0" in said.err
    with pytest.raises(
        ChoiceError, match="^`time_limit`: expected seconds above 0"
    ):  # as before it ran in this process
        odtc.fit(tmp_path / "d.csv", depth=1, time_limit=0)


@pytest.mark.parametrize(("from_file", "start"), [(True, "--start FILE"), (False, "--start cart")])
def test_a_solver_without_a_start_leads_to_the_start_that_its_command_takes(from_file, start):
    """`odtc solve` takes a start file, `odtc fit` the name of a heuristic."""
    with on_command_line():
        text = no_solution_text(
            Solution(None, Termination.TIME_LIMIT, solver="Other", start="none"), from_file=from_file
        )
    assert text.count("--start") == 1 and start in text
