"""A warning that names the line of who called an estimator, however deep inside it is said."""

import contextlib
import sys
import warnings

OWN = ("odtc", contextlib.__name__)  # `fit` is wrapped in a context (odtc.base.threads)


def warn_caller(text: str, category: type[Warning]) -> None:
    """Warns at the nearest line that is neither of odtc nor of what wraps its methods.

    Parameters
    ----------
    text : str
    category : subclass of Warning
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OWN:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
