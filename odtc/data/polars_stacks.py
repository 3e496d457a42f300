"""Reads by polars without what its threads print.

A thread of polars that comes to its end prints its stack to file descriptor 2, beside the exception that reaches us.
"""

from contextlib import AbstractContextManager

from odtc.base.system import STDERR


def without_stacks() -> AbstractContextManager[None]:
    """Inside, what is written to file descriptor 2 is dropped; Python's own messages of other threads are, too."""
    return STDERR.away()
