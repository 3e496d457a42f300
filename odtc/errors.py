"""The exceptions of odtc, each a sentence: what was expected, what came, where, what to do.

    OdtcError
    ├── DataError        a data file, or a value in it
    │   └── NotClassesError      a target of numbers that are no classes
    ├── ChoiceError      a name or a parameter that does not exist or is out of range
    ├── ModelError       a model that cannot be built, written or read
    ├── SolutionError    a solution file, or a point that is not of this model
    ├── ManifestError    a manifest that is missing, foreign, or of other data
    ├── TreeError        a tree file, or a tree that a formulation cannot represent
    ├── CertificateError  a certificate that does not prove its tree on the data
    ├── SolverError      a solver that could not be run
    │   └── ContradictionError   solvers that cannot both be right
    ├── TimeLimitReached        the time limit came before there was a result
    ├── NoSolutionError  the solver ended without a point (exit code 3)
    └── OutputError      a file that cannot be written

Data and choices are also ValueErrors, as scikit-learn and its users expect of `fit`.
"""

LONGEST, END = 3000, 500  # signs of a message, and of its end, which says what to do


class SetAsideWarning(UserWarning):
    """A member of another package that is left out: it cannot be loaded, or its name is taken."""


class DataWarning(UserWarning):
    """A column of a table in memory that no rule should be learnt from as it stands, such as dates or names of rows."""


class OdtcError(Exception):
    """Base of all; the command line prints its text and exits with `exit_code`."""

    exit_code = 1

    def __str__(self) -> str:
        """The sentence; what it quotes of a file may be of any length, so its middle goes."""
        text = super().__str__()
        return text if len(text) <= LONGEST else f"{text[: LONGEST - END]} … {text[-END:]}"


class DataError(OdtcError, ValueError):
    pass


class NotClassesError(DataError):
    """A target of numbers most of which are different, so that they are no classes; `rows` and `numbers` count them."""

    def __init__(self, message: str, rows: int, numbers: int):
        super().__init__(message)
        self.rows, self.numbers = rows, numbers


class ChoiceError(OdtcError, ValueError):
    pass


class SaysNothingError(ChoiceError):
    """A constraint on a column that every tree satisfies, whatever it predicts; `column` is its name."""

    def __init__(self, message: str, column: str):
        super().__init__(message)
        self.column = column


class SearchOnlyError(ChoiceError):
    """A constraint that no rows of a model tell, of a problem that the compiler's own search does not take."""


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
    """`outcome` is what is known of the run (odtc.workflow.results.Unsolved), None if nothing is."""

    exit_code = 3
    outcome = None


class NotProvedError(OdtcError):
    """A certificate was asked for, and the search was ended before; `heap` is the best tree met
    (odtc.trees.heap_tree.HeapTree), None if there is none; `interrupted`, whether Ctrl-C or SIGTERM ended it."""

    heap, interrupted = None, False


class OutputError(OdtcError):
    """`result` is the Fit (odtc.workflow.results.Fit) whose files cannot be written, None if there was none yet."""

    result = None
