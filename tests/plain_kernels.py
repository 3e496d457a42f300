"""Kernels as the plain functions that they are, for tests of little data: nothing is compiled for their types."""

from odtc.base.kernels import Kernel
from odtc.verification.leaf_sums.bound import LeafSumsBound


def run_plain(patch) -> None:
    """Let Python run all kernels."""
    patch.setattr(Kernel, "__call__", lambda self, *given: self.function(*given))


def bound_one_by_one(patch) -> None:
    """Let the sides of all cuts be bounded one by one, not by one call of a kernel."""
    patch.setattr(LeafSumsBound, "_all_sides", lambda *given: None)
