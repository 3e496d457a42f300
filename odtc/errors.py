"""Exceptions of odtc. Each message is one sentence: what was expected, what was found, where, what to do.

    OdtcError
    ├── DataError        a data file, or a value in it
    │   ├── NotClassesError      a target of numbers that are not classes
    │   └── OneValueError        a target whose rows all have the same class or number
    ├── ChoiceError      a name or a parameter that does not exist or is out of range (exit code 2)
    ├── ModelError       a model that cannot be built, written or read
    ├── SolutionError    a solution file, or a point that does not belong to this model
    ├── ManifestError    a manifest that is missing, foreign, or of other data
    ├── TreeError        a tree file, or a tree that a formulation cannot represent
    ├── CertificateError  a certificate that does not prove its tree on the data
    ├── SolverError      a solver that could not be run
    │   └── ContradictionError   solvers whose results contradict each other
    ├── TimeLimitReached        the time limit ended the run before there was a result
    ├── NoSolutionError  the solver ended without a point (exit code 3)
    └── OutputError      a file that cannot be written

Data and choices are also ValueErrors, as scikit-learn and its users expect from `fit`.
"""

LONGEST, END = 3000, 500  # signs of a message, and of its end, which says what to do


class SetAsideWarning(UserWarning):
    """A member of another package that is left out: it cannot be loaded, or its name is taken."""


class DataWarning(UserWarning):
    """Warning about a column of a table in memory that is unsuitable for splits, such as dates or names of rows."""


class OdtcError(Exception):
    """Base of all; the command line prints its text and exits with `exit_code`."""

    exit_code = 1

    def __str__(self) -> str:
        """Return the sentence. Text that it quotes from a file may be long, so its middle is left out."""
        text = super().__str__()
        return text if len(text) <= LONGEST else f"{text[: LONGEST - END]} … {text[-END:]}"


class DataError(OdtcError, ValueError):
    pass


class NotClassesError(DataError):
    """A numeric target with mostly different values, so the values are not classes; `rows` and `numbers` are the
    counts, and `decimal` is the decimal sign by which they are numbers, if they are not plain ones."""

    def __init__(self, message: str, rows: int, numbers: int, decimal: str | None = None):
        super().__init__(message)
        self.rows, self.numbers, self.decimal = rows, numbers, decimal


class OneValueError(DataError):
    """A target whose rows all have the same `value`, such as "class 'good'" or "number 5"."""

    def __init__(self, message: str, value: str):
        super().__init__(message)
        self.value = value


class ChoiceError(OdtcError, ValueError):
    exit_code = 2


class SaysNothingError(ChoiceError):
    """A constraint on a column that every tree satisfies, whatever it predicts; `column` is its name."""

    def __init__(self, message: str, column: str):
        super().__init__(message)
        self.column = column


class SearchOnlyError(ChoiceError):
    """A constraint that no model can express, for a problem that the built-in search does not support."""


class ModelError(OdtcError):
    pass


class SolutionError(OdtcError):
    pass


class ManifestError(OdtcError):
    pass


class TreeError(OdtcError):
    pass


class CertificateError(OdtcError):
    pass


class SolverError(OdtcError):
    pass


class ContradictionError(SolverError):
    pass


class TimeLimitReached(OdtcError):
    pass


class NoSolutionError(OdtcError):
    """The solver found no tree; `outcome` has the facts of the run (odtc.workflow.results.fit.Unsolved), or None."""

    exit_code = 3
    outcome = None


class NotProvedError(OdtcError):
    """The search for a certificate ended early; `heap` is the best tree found (odtc.trees.heap_tree.HeapTree) or None;
    `interrupted` is true after Ctrl-C or SIGTERM."""

    heap, interrupted = None, False


class OutputError(OdtcError):
    """`result` is the Fit (odtc.workflow.results.fit) whose files cannot be written, None if there was none yet."""

    result = None
