"""Warnings that name the line of the caller of an estimator, however deep inside they are raised."""

import contextlib
import sys
import warnings

OWN = ("odtc", contextlib.__name__)  # `fit` is wrapped in a context (odtc.base.threads)


def warn_caller(text: str, category: type[Warning]) -> None:
    """Warn at the nearest line outside of odtc and of the wrappers of its methods.

    Parameters
    ----------
    text : str
    category : subclass of Warning
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OWN:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
