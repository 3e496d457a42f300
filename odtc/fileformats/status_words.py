"""Words by which solvers report how a run ended, for words that files and logs share.

All are in lower case. If a solver does not report something, the status is `unknown`. "Optimal" within a gap is
distinguished by WITHIN_GAP of the solver and of the point format.
"""

from odtc.model.solution import Termination

# HighsModelStatus in words: solution files (style 0 and 1), and the report at the end of the log.
HIGHS = {
    "optimal": Termination.OPTIMAL,
    "infeasible": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
    "primal infeasible or unbounded": Termination.INFEASIBLE_OR_UNBOUNDED,
    "time limit reached": Termination.TIME_LIMIT,
    "interrupted by user": Termination.INTERRUPTED,
    "unknown": Termination.UNKNOWN,
}

# SCIPprintStatus: the first line of the solution file, and "SCIP Status" in the log.
SCIP = {
    "optimal solution found": Termination.OPTIMAL,
    "gap limit reached": Termination.OPTIMAL,
    "infeasible": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
    "infeasible or unbounded": Termination.INFEASIBLE_OR_UNBOUNDED,
    "time limit reached": Termination.TIME_LIMIT,
    "user interrupt": Termination.INTERRUPTED,
    "termination signal received": Termination.INTERRUPTED,
}

# The first line of CBC's solution file begins so …
CBC_FILE = {
    "optimal": Termination.OPTIMAL,
    "infeasible": Termination.INFEASIBLE,
    "integer infeasible": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
    "stopped on time": Termination.TIME_LIMIT,
    "stopped on ctrl-c": Termination.INTERRUPTED,
    "stopped on iterations": Termination.UNKNOWN,
    "stopped on difficulties": Termination.UNKNOWN,
    "status unknown": Termination.UNKNOWN,
}
# … and so a line of its log.
CBC_LOG = {
    "result - optimal solution found": Termination.OPTIMAL,
    "result - stopped on time limit": Termination.TIME_LIMIT,
    "result - user ctrl-c": Termination.INTERRUPTED,
    "result - problem proven infeasible": Termination.INFEASIBLE,
    "result - linear relaxation infeasible": Termination.INFEASIBLE,
    "result - linear relaxation unbounded": Termination.UNBOUNDED,
    "result - stopped on": Termination.UNKNOWN,  # nodes, iterations, solutions
    "pre-processing says infeasible or unbounded": Termination.INFEASIBLE_OR_UNBOUNDED,
    "problem is infeasible": Termination.INFEASIBLE,
    "bound tightening: infeasibility proved": Termination.INFEASIBLE,  # the development version
    "problem is unbounded": Termination.UNBOUNDED,
}

# lp_solve prints its solution, so file and log are one. odtc sets no other limit than that of time.
LP_SOLVE = {
    "this problem is infeasible": Termination.INFEASIBLE,
    "this problem is unbounded": Termination.UNBOUNDED,
    "suboptimal solution": Termination.TIME_LIMIT,
    "the model is sub-optimal. only a faster solution was found.": Termination.TIME_LIMIT,
    "timeout": Termination.TIME_LIMIT,
}

# SYMPHONY prints its solution too; these stand in its box of stars.
SYMPHONY = {
    "optimal solution found": Termination.OPTIMAL,
    "optimal solution found in preprocessing": Termination.OPTIMAL,  # and "The problem is infeasible!" behind it
    "target gap achieved": Termination.OPTIMAL,
    "problem infeasible": Termination.INFEASIBLE,
    "problem found infeasible in preprocessing": Termination.INFEASIBLE,
    "problem found unbounded in preprocessing": Termination.UNBOUNDED,
    "problem unbounded": Termination.UNBOUNDED,
    "relaxation unbounded": Termination.UNBOUNDED,
    "time limit reached": Termination.TIME_LIMIT,
    "user terminated": Termination.INTERRUPTED,
}

# cuOpt, without the blanks: "# Status:" in its file, and the same in its log.
CUOPT = {
    "optimal": Termination.OPTIMAL,
    "feasiblefound": Termination.TIME_LIMIT,  # stopped with a point, before the proof
    "feasible": Termination.TIME_LIMIT,
    "infeasible": Termination.INFEASIBLE,
    "primalinfeasible": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
    "dualinfeasible": Termination.UNBOUNDED,
    "unboundedorinfeasible": Termination.INFEASIBLE_OR_UNBOUNDED,
    "timelimit": Termination.TIME_LIMIT,
    "numericalerror": Termination.ERROR,
}
