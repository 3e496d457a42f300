"""A model file as HiGHS reads it, against ours: where they differ, and which differences are known and why.

HiGHS reads in a process of its own: of some damaged files its reader never comes back, or ends the process. What it
may take is CPU time, so that a run with one seed finds the same on a busy machine.
"""

import multiprocessing
import signal

import numpy as np

from odtc.model.points import name_list


def difference(ours, theirs) -> str:
    """What differs, "" if nothing does, or if HiGHS is known to read such a file in a way of its own."""
    endless = lambda v: np.where(np.abs(v) >= 1e20, np.copysign(np.inf, v), v)  # noqa: E731
    if any(" " in name for name in name_list(ours.columns) + name_list(ours.rows)):
        return ""  # told apart by the columns of the fixed form, of which HiGHS does not take all
    for mine, its in ((ours.columns, theirs.columns), (ours.rows, theirs.rows)):
        mine, its = name_list(mine), [name.removeprefix("HiGHS_") for name in name_list(its)]  # R7 of a nameless row
        if mine != its:
            return f"names: {[pair for pair in zip(mine, its) if pair[0] != pair[1]][:3]}, {len(mine)} and {len(its)}"
    for side in ("row_lower", "row_upper", "col_lower", "col_upper", "c", "integrality"):
        mine, its = getattr(ours, side), endless(getattr(theirs, side))
        if side == "c":  # costs from 1e20 on are endless to HiGHS
            mine = endless(mine)
        if not np.array_equal(mine, its):
            return f"{side}: {mine.tolist()} and {its.tolist()}"
    if ours.offset != theirs.offset:
        return f"offset: {ours.offset} and {theirs.offset}"
    apart = ours.A - theirs.A
    apart.eliminate_zeros()
    return f"{apart.nnz} coefficients" if apart.nnz else ""


class HighsReader:
    """A process in which HiGHS reads one file after another; a new one after it did not answer."""

    CPU_SECONDS = 1.0  # for a file of some kilobytes
    PATIENCE = 60.0  # seconds of the clock, if it waits

    def __init__(self):
        self.process = self.ours = None
        self.lost = 0  # files of which it never came back

    def read(self, path):
        """The Model of a file; None if HiGHS refuses it, hangs or ends."""
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.ours, theirs = context.Pipe()
            self.process = context.Process(target=_serve, args=(theirs,), daemon=True)
            self.process.start()
            theirs.close()
            self.ours.recv()  # it has begun
        try:
            self.ours.send(str(path))
            if self.ours.poll(self.PATIENCE):
                return self.ours.recv()
        except (EOFError, OSError):
            pass
        self.lost += 1
        self.close()
        return None

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.ours.close()
            self.process = None


def _serve(theirs) -> None:
    from odtc.errors import ModelError
    from tests import highs_reader

    theirs.send("begun")
    while True:
        try:
            path = theirs.recv()
        except (EOFError, OSError):
            return
        signal.setitimer(signal.ITIMER_PROF, HighsReader.CPU_SECONDS)  # SIGPROF ends the process
        try:
            answer = highs_reader.read_model(path)
        except (ModelError, UnicodeDecodeError):  # it takes any bytes for names
            answer = None
        signal.setitimer(signal.ITIMER_PROF, 0)
        theirs.send(answer)


HIGHS = HighsReader()
