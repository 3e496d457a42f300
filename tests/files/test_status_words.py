"""Status texts of solvers, one by one, and the termination that each means."""

import pytest

from odtc.fileformats.solution_files import read_point
from odtc.solvers.solver import SOLVERS

CBC = "Welcome to the CBC MILP Solver \nVersion: 2.10.8\n\n{}\n\nObjective value: 12\n"
# The lines of the solvers' own programs.
LOGS = [
    ("cbc", CBC, "Result - Optimal solution found", "optimal"),
    ("cbc", CBC, "Result - Optimal solution found (within gap tolerance)", "optimal"),
    ("cbc", CBC, "Result - Stopped on time limit", "time_limit"),
    ("cbc", CBC, "Result - User ctrl-c", "interrupted"),
    ("cbc", CBC, "Result - Problem proven infeasible", "infeasible"),
    ("cbc", CBC, "Result - Linear relaxation infeasible", "infeasible"),
    ("cbc", CBC, "Result - Linear relaxation unbounded", "unbounded"),
    ("cbc", CBC, "Result - Stopped on node limit", "unknown"),
    ("cbc", CBC, "Result - Stopped on iterations limit", "unknown"),
    ("cbc", CBC, "Pre-processing says infeasible or unbounded", "infeasible_or_unbounded"),
    ("scip", "SCIP version 9.2.0\nSCIP Status        : {}\n", "problem is solved [optimal solution found]", "optimal"),
    (
        "scip",
        "SCIP version 9.2.0\nSCIP Status        : {}\n",
        "solving was interrupted [time limit reached]",
        "time_limit",
    ),
    (
        "scip",
        "SCIP version 9.2.0\nSCIP Status        : {}\n",
        "solving was interrupted [user interrupt]",
        "interrupted",
    ),
    ("scip", "SCIP version 9.2.0\nSCIP Status        : {}\n", "problem is solved [infeasible]", "infeasible"),
]
# Words of the same meaning for the rest, in the manuals' spelling: the log's and, if there is a file, the file's.
CBC_MORE = [
    ("Problem is infeasible - 0.00 seconds", "infeasible"),
    ("Bound tightening: infeasibility proved", "infeasible"),
    ("Problem is unbounded - 0.00 seconds", "unbounded"),
]
HIGHS = [
    ("Optimal", "optimal"),
    ("Infeasible", "infeasible"),
    ("Unbounded", "unbounded"),
    ("Primal infeasible or unbounded", "infeasible_or_unbounded"),
    ("Time limit reached", "time_limit"),
    ("Interrupted by user", "interrupted"),
    ("Unknown", "unknown"),
]
SCIP = [
    ("optimal solution found", "optimal"),
    ("gap limit reached", "optimal"),
    ("infeasible", "infeasible"),
    ("unbounded", "unbounded"),
    ("infeasible or unbounded", "infeasible_or_unbounded"),
    ("time limit reached", "time_limit"),
    ("user interrupt", "interrupted"),
    ("termination signal received", "interrupted"),
    ("node limit reached", "unknown"),
]
LP_SOLVE = [
    ("This problem is infeasible", "infeasible"),
    ("This problem is unbounded", "unbounded"),
    ("SUBOPTIMAL solution", "time_limit"),
    ("The model is sub-optimal. Only a faster solution was found.", "time_limit"),
    ("TIMEOUT", "time_limit"),
]
SYMPHONY = [
    ("Optimal Solution Found", "optimal"),
    ("Optimal Solution Found in Preprocessing", "optimal"),
    ("Target Gap Achieved", "optimal"),
    ("Problem Infeasible", "infeasible"),
    ("Problem Found Infeasible in Preprocessing", "infeasible"),
    ("Problem Found Unbounded in Preprocessing", "unbounded"),
    ("Problem Unbounded", "unbounded"),
    ("Relaxation Unbounded", "unbounded"),
    ("Time Limit Reached", "time_limit"),
    ("User Terminated", "interrupted"),
]
CUOPT = [
    ("Optimal", "optimal"),
    ("FeasibleFound", "time_limit"),
    ("Feasible", "time_limit"),
    ("Infeasible", "infeasible"),
    ("PrimalInfeasible", "infeasible"),
    ("Unbounded", "unbounded"),
    ("DualInfeasible", "unbounded"),
    ("Unbounded or infeasible", "infeasible_or_unbounded"),
    ("TimeLimit", "time_limit"),
    ("NumericalError", "error"),
]
STARS = "\n==  Welcome to the SYMPHONY MILP Solver \n\n* {:48} *\n"
WORDS = {
    "cbc": (CBC, CBC_MORE),
    "highs": ("Running HiGHS 1.15.1\nSolving report\n  Status            {}\n", HIGHS),
    "scip": ("SCIP version 9.2.0\nSCIP Status        : solving ended [{}]\n", SCIP),
    "lp_solve": ("\n{}\n", LP_SOLVE),
    "symphony": (STARS, SYMPHONY),
    "cuopt": ("cuOpt version: 25.10\nStatus: {}, Objective: 5\n", CUOPT),
}
POINTS = {
    "highs": (
        "Model status\n{}\n\n# Primal solution values\nFeasible\nObjective 5\n# Columns 1\nx 1\n# Rows 0\n",
        HIGHS,
    ),
    "scip": ("solution status: {}\nobjective value: 5\nx 1 (obj:1)\n", SCIP),
    "cuopt": ("# Status: {}\n# Objective value: 5\nx 1\n", CUOPT),
    "lp-solve": (
        "\n{}\n\nValue of objective function: 5\n\nActual values of the variables:\nx 1\n\n"
        "Actual values of the constraints:\n",
        LP_SOLVE,
    ),
    "symphony": (
        STARS
        + "\nSolution Cost: 5\n++++++++++\nColumn names and values of nonzeros in the solution\n++++++++++\nx 1\n\n",
        SYMPHONY,
    ),
}
FILES = [
    ("Optimal - objective value 5.00000000", "optimal"),
    ("Stopped on time - objective value 5.00000000", "time_limit"),
    ("Stopped on ctrl-c - objective value 5.00000000", "interrupted"),
    ("Stopped on iterations - objective value 5.00000000", "unknown"),
    ("Stopped on difficulties - objective value 5.00000000", "unknown"),
    ("Infeasible - objective value 5.00000000", "infeasible"),
    ("Integer infeasible - objective value 5.00000000", "infeasible"),
    ("Unbounded - objective value 5.00000000", "unbounded"),
    ("Status unknown - objective value 5.00000000", "unknown"),
]


@pytest.mark.parametrize(("solver", "log", "line", "end"), LOGS, ids=[f"{who}: {line}" for who, _, line, _ in LOGS])
def test_a_line_of_a_log_is_the_end_that_it_says(solver, log, line, end):
    assert SOLVERS.get(solver).read_log(log.format(line)) == end


@pytest.mark.parametrize(("line", "end"), FILES)
def test_the_first_line_of_a_file_of_cbc_is_the_end_that_it_says(line, end, tmp_path):
    (tmp_path / "m.sol").write_text(f"{line}\n      0 x      1      1\n")
    assert read_point(tmp_path / "m.sol").termination == end


def test_the_last_line_of_a_log_holds():
    two = CBC.format("Result - Optimal solution found\n\nResult - Stopped on time limit")
    assert SOLVERS.get("cbc").read_log(two) == "time_limit"


def each(table):
    return [
        pytest.param(who, text, words, end, id=f"{who}: {words}")
        for who, (text, pairs) in table.items()
        for words, end in pairs
    ]


@pytest.mark.parametrize(("solver", "log", "words", "end"), each(WORDS))
def test_every_word_of_a_log_is_known(solver, log, words, end):
    assert SOLVERS.get(solver).read_log(log.format(words)) == end


@pytest.mark.parametrize(("form", "text", "words", "end"), each(POINTS))
def test_every_word_of_a_file_is_known(form, text, words, end, tmp_path):
    path = tmp_path / f"m{'.out' if form in ('lp-solve', 'symphony') else '.sol'}"
    path.write_text(text.format(words))
    found = read_point(path)
    assert found.termination == end
    assert found.within_gap == (words.lower() in ("gap limit reached", "target gap achieved"))
